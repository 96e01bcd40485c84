/* SPDX-License-Identifier: MIT */
/* Text: slices (a pointer and a length, not owned), UTF-8, hex. */
#ifndef HF_BASE_TEXT_H
#define HF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes without a final NUL. size 0: not given. */
typedef struct hf_slice {
    const char *at;
    size_t size;
} hf_slice;

#define HF_NOTHING ((hf_slice){NULL, 0})

static inline hf_slice hf_slice_of(const char *text)
{
    return (hf_slice){text, text == NULL ? 0 : strlen(text)};
}

static inline bool hf_slice_equal(hf_slice a, hf_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

/* As memcmp over the bytes, then by length: canonical order. */
int hf_slice_compare(hf_slice a, hf_slice b);

/* Copies into a zeroed field of `size` bytes, cut if need be (names are checked at the door, so it
 * never is). */
void hf_slice_copy(char *out, size_t size, hf_slice from);

/* Decodes the character at the beginning of `left` bytes (at least 1); its length, or 0 when they
 * are not UTF-8. Overlong forms and surrogates are not. */
size_t hf_utf8_decode(const char *text, size_t left, uint32_t *out);

bool hf_text_is_utf8(const char *text, size_t size);

/* Valid UTF-8 without control characters (C0, DEL, C1), overlong forms or surrogates. */
bool hf_text_is_clean(const char *text, size_t size);

/* Characters by which a text could make what is around it read as something else: control
 * characters (C0, DEL, C1), which move a terminal's cursor; those that turn the direction of what
 * follows (marks, embeddings, overrides, isolates); and line separators. */
bool hf_character_misleads(uint32_t character);

/* What stands at the beginning of the text, which is not empty, if it is such a character or no
 * UTF-8: how many bytes, and how to show it to people: \uXXXX, or '?'. 0: it is neither. */
enum { HF_ODD_SIZE = 8 };
size_t hf_text_odd(const char *text, char shown[HF_ODD_SIZE]);

/* How many bytes the first character of the text has, which is not empty; 1 if it is no UTF-8. */
size_t hf_text_step(const char *text);

/* Makes all of them visible in a text for people, which has room for `size` bytes. What has no room
 * any more is cut. Data is passed on as it is. */
void hf_text_show(char *text, size_t size);

/* Writes 2 * size hex digits and a NUL. */
void hf_hex(const void *bytes, size_t size, char *out);

enum { HF_NUMBER_MAX = 20 }; /* bytes of a number's digits, with its sign */

/* Writes a number's decimal digits up to `end`; where they begin. */
char *hf_number_print(int64_t number, char *end);

/* The value of a hex digit in either case; -1: it is none. */
static inline int hf_hex_digit(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* True when all bytes are hex digits in lower case. */
bool hf_is_hex(const char *text, size_t size);

#endif
