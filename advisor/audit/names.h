/* SPDX-License-Identifier: MIT */
/* Names in other people's code and databases: compared loosely, split into words, changed into
 * the table names that frameworks derive from them. */
#ifndef HF_AUDIT_NAMES_H
#define HF_AUDIT_NAMES_H

#include "base/arena.h"
#include "base/text.h"

/* Equal but for case and underscores: SavingsAccount, savings_account. Never for empty names. */
bool audit_name_same(hf_slice a, hf_slice b);

/* Equal but for case. */
bool audit_word_is(hf_slice text, const char *word);

/* Whether one of a name's words (split at '_', '-', '.', and where the case changes) is one of
 * those in `words`, which are in lower case with a blank between: not "lock" in "block". */
bool audit_name_has(hf_slice name, const char *words);

/* Whether the name as a whole, loosely compared, is one of `words`. */
bool audit_name_among(hf_slice name, const char *words);

/* Whether `part` stands in the text, whatever the case; and where (NULL: nowhere). */
const char *audit_text_find(hf_slice text, const char *part);

/* Whether the name stands there as a word of its own. */
bool audit_text_names(hf_slice text, hf_slice name);

/* The last part of a dotted or namespaced name ("a.b.C", "A\\B\\C", "A::C"). */
hf_slice audit_name_last(hf_slice name);

/* "SavingsAccount" -> "savings_account"; with `plural` "savings_accounts". In the arena; empty
 * when memory is out. */
hf_slice audit_name_snake(hf_arena *arena, hf_slice name, bool plural);

/* Without blanks at both ends. */
hf_slice audit_trim(hf_slice text);

/* What stands between the first pair of quotes (', " or `) after `from` in the text. */
hf_slice audit_quoted(hf_slice text, const char *from);

#endif
