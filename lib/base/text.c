/* SPDX-License-Identifier: MIT */
/* Text: comparing, copying, checking UTF-8, hex. */
#include "base/text.h"

#include <stdio.h>

int hf_slice_compare(hf_slice a, hf_slice b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.at, b.at, common);
    if (order != 0)
        return order;
    return a.size < b.size ? -1 : a.size > b.size;
}

void hf_slice_copy(char *out, size_t size, hf_slice from)
{
    size_t n = from.size < size ? from.size : size - 1;
    if (n > 0)
        memcpy(out, from.at, n);
    out[n] = '\0';
}

size_t hf_utf8_decode(const char *text, size_t left, uint32_t *out)
{
    const unsigned char *at = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80             ? 1
                  : (at[0] & 0xe0) == 0xc0 ? 2
                  : (at[0] & 0xf0) == 0xe0 ? 3
                  : (at[0] & 0xf8) == 0xf0 ? 4
                                           : 0;
    if (size == 0 || size > left)
        return 0;
    uint32_t value = size == 1 ? at[0] : at[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *out = value;
    return size;
}

bool hf_text_is_clean(const char *text, size_t size)
{
    while (size > 0) {
        uint32_t value;
        if (*text >= 0x20 && *text < 0x7f) {
            text++;
            size--;
            continue;
        }
        size_t n = hf_utf8_decode(text, size, &value);
        if (n == 0 || value < 0x20 || (value >= 0x7f && value < 0xa0))
            return false;
        text += n;
        size -= n;
    }
    return true;
}

bool hf_text_is_utf8(const char *text, size_t size)
{
    while (size > 0) {
        uint32_t value;
        size_t n = hf_utf8_decode(text, size, &value);
        if (n == 0)
            return false;
        text += n;
        size -= n;
    }
    return true;
}

bool hf_character_misleads(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x061c ||
           character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

/* Puts `with` in the place of n bytes at `at`. False: there is no room for all of it. */
static bool text_replace(char *text, size_t size, size_t at, size_t n, const char *with)
{
    size_t more = strlen(with), tail = strlen(text + at + n);
    if (at + more >= size) {
        text[at] = '\0';
        return false;
    }
    if (at + more + tail >= size) { /* cut before a character, not in one */
        tail = size - 1 - at - more;
        while (tail > 0 && (text[at + n + tail] & 0xc0) == 0x80)
            tail--;
    }
    memmove(text + at + more, text + at + n, tail);
    memcpy(text + at, with, more);
    text[at + more + tail] = '\0';
    return true;
}

size_t hf_text_odd(const char *text, char shown[HF_ODD_SIZE])
{
    uint32_t character = 0;
    if (*text >= 0x20 && *text < 0x7f)
        return 0;
    size_t size = hf_utf8_decode(text, strnlen(text, 4), &character);
    if (size > 0 && !hf_character_misleads(character))
        return 0;
    if (size == 0)
        snprintf(shown, HF_ODD_SIZE, "?");
    else
        snprintf(shown, HF_ODD_SIZE, "\\u%04x", (unsigned)character);
    return size == 0 ? 1 : size;
}

size_t hf_text_step(const char *text)
{
    uint32_t character;
    size_t size = hf_utf8_decode(text, strnlen(text, 4), &character);
    return size > 0 ? size : 1;
}

void hf_text_show(char *text, size_t size)
{
    char shown[HF_ODD_SIZE];
    for (size_t at = 0; text[at] != '\0';) {
        size_t odd = hf_text_odd(text + at, shown);
        if (odd == 0) {
            at += hf_text_step(text + at);
            continue;
        }
        if (!text_replace(text, size, at, odd, shown))
            return;
        at += strlen(shown);
    }
}

void hf_hex(const void *bytes, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[at[i] >> 4];
        *out++ = digits[at[i] & 15];
    }
    *out = '\0';
}

bool hf_is_hex(const char *text, size_t size)
{
    static const bool is_digit[256] = {['0' ... '9'] = true, ['a' ... 'f'] = true};
    size_t good = 0;
    while (good < size && is_digit[(unsigned char)text[good]])
        good++;
    return good == size;
}

char *hf_number_print(int64_t number, char *end)
{
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--end = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        *--end = '-';
    return end;
}
