/* SPDX-License-Identifier: MIT */
/* Text that grows, up to a ceiling. Errors stick: write away, look once at the end. */
#ifndef HF_BASE_BUFFER_H
#define HF_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_BUFFER_MAX ((size_t)64 << 20) /* of its room; the text is shorter by its NUL */

/* All zero is an empty buffer. */
typedef struct hf_buffer {
    char *text; /* always ends in NUL once something was added */
    size_t size;
    size_t room;
    bool failed; /* out of memory or the ceiling reached; what was added since is missing */
    bool full;   /* ... it was the ceiling */
} hf_buffer;

void hf_buffer_add(hf_buffer *buffer, const char *bytes, size_t size);
/* Adds bytes that the caller writes: where they go. NULL: it failed. */
char *hf_buffer_extend(hf_buffer *buffer, size_t size);
/* The same without a format, which costs more than what it adds: text up to its NUL, a number. */
void hf_buffer_text(hf_buffer *buffer, const char *text);
void hf_buffer_number(hf_buffer *buffer, int64_t number);
void hf_buffer_print(hf_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Gives the text away (hf_free it), or frees it and answers NULL when it failed. */
char *hf_buffer_take(hf_buffer *buffer);
void hf_buffer_done(hf_buffer *buffer);

#endif
