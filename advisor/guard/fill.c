/* SPDX-License-Identifier: MIT */
/* Filling in templates. What is filled in is not looked at again, so a name with braces in it does
 * no harm. */
#include "guard/fill.h"

#include "base/seams.h"

#include <assert.h>
#include <string.h>

void guard_word_take(guard_words *words, const char *word, hf_buffer *with)
{
    if (with->size == 0 && !with->failed)
        hf_buffer_add(with, "", 0);
    char *text = hf_buffer_take(with);
    size_t i = 0;
    while (i < words->count && strcmp(words->all[i].word, word) != 0)
        i++;
    assert(i < GUARD_WORDS_MAX);
    if (i == words->count)
        words->count++;
    else
        hf_free(words->all[i].with);
    words->all[i].word = word;
    words->all[i].with = text;
    words->failed |= text == NULL;
}

void guard_word_set(guard_words *words, const char *word, const char *with)
{
    hf_buffer text = {0};
    hf_buffer_add(&text, with, strlen(with));
    guard_word_take(words, word, &text);
}

static size_t fill_word(hf_buffer *out, const char *at, const guard_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        size_t size = strlen(words->all[i].word);
        if (strncmp(at + 1, words->all[i].word, size) != 0 || at[1 + size] != '}')
            continue;
        const char *with = words->all[i].with;
        hf_buffer_add(out, with == NULL ? "" : with, with == NULL ? 0 : strlen(with));
        return size + 2;
    }
    hf_buffer_add(out, at, 1);
    return 1;
}

void guard_fill(hf_buffer *out, const char *template, const guard_words *words)
{
    while (*template != '\0') {
        size_t plain = strcspn(template, "{");
        hf_buffer_add(out, template, plain);
        template += plain;
        if (*template != '\0')
            template += fill_word(out, template, words);
    }
    out->failed |= words->failed;
}

void guard_words_done(guard_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        hf_free(words->all[i].with);
    *words = (guard_words){0};
}
