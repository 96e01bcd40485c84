/* SPDX-License-Identifier: MIT */
/* Templates of SQL: {word} is replaced by what the word stands for. A brace that opens no known
 * word stays. */
#ifndef HF_GUARD_FILL_H
#define HF_GUARD_FILL_H

#include "base/buffer.h"

enum { GUARD_WORDS_MAX = 64 };

typedef struct guard_words {
    struct {
        const char *word;
        char *with;
    } all[GUARD_WORDS_MAX];
    size_t count;
    bool failed; /* out of memory */
} guard_words;

/* The last set wins. `word` is borrowed; guard_word_take empties the buffer. */
void guard_word_set(guard_words *words, const char *word, const char *with);
void guard_word_take(guard_words *words, const char *word, hf_buffer *with);
void guard_fill(hf_buffer *out, const char *template, const guard_words *words);
void guard_words_done(guard_words *words);

#endif
