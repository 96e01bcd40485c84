/* SPDX-License-Identifier: MIT */
/* Making the words of a guard's templates: what stands for {table}, {same_key}, {root_old} and the
 * like. */
#ifndef HF_GUARD_WRITER_H
#define HF_GUARD_WRITER_H

#include "guard/fill.h"
#include "guard/inside.h"

typedef struct guard_writer {
    guard_db *db;
    hf_db_kind kind;
    const guard *it;
    const guard_table *table;
    const guard_path *path; /* NULL when it is only taken away */
    guard_words words;
} guard_writer;

/* The words that every database's templates have. */
void guard_words_common(guard_writer *w);

/* A name, or a text (NULL for an empty one), in quotes. */
void guard_word_name(guard_writer *w, const char *word, const char *name);
void guard_word_text(guard_writer *w, const char *word, const char *text);

/* A template with the words so far; the same as a name, in quotes. */
void guard_word_filled(guard_writer *w, const char *word, const char *template);
void guard_word_named(guard_writer *w, const char *word, const char *template);

/* SQLite: the row with the key of `row` (NEW, OLD); another row that REPLACE would delete. */
void guard_word_row_is(guard_writer *w, const char *word, const char *prefix, const char *row);
void guard_word_taken(guard_writer *w);

/* The first hex digits of a hash. */
void guard_hash(guard_writer *w, const char *text, char out[13]);

#endif
