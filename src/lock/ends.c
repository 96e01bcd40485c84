/* SPDX-License-Identifier: MIT */
/* The last ends of a session: a short text, searched and written line by line. */
#include "lock/ends.h"

#include "base/hash.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_HASH = 18 /* "\tHASH\n", behind the fence */ };

static uint64_t ends_hash(const hf_end *end)
{
    uint64_t hash = hf_hash_bytes(0, end->request.at, end->request.size);
    hash = hf_hash_bytes(hash, end->type.at, end->type.size);
    return hf_hash_bytes(hash, end->id.at, end->id.size);
}

static void ends_write_hash(const hf_end *end, char out[ENDS_HASH + 1])
{
    uint64_t hash = htobe64(ends_hash(end));
    out[0] = '\t';
    hf_hex(&hash, sizeof hash, out + 1);
    memcpy(out + ENDS_HASH - 1, "\n", 2);
}

/* Writes its line and a NUL; how long the line is. */
static size_t ends_write(const hf_end *end, char out[HF_ENDS_LINE + 1])
{
    char digits[HF_NUMBER_MAX], *last = digits + sizeof digits;
    const char *first = hf_number_print(end->fence, last);
    size_t size = (size_t)(last - first);
    memcpy(out, first, size);
    ends_write_hash(end, out + size);
    return size + ENDS_HASH;
}

/* How long the line is that the text begins with. */
static size_t ends_line(hf_slice text)
{
    const char *at = memchr(text.at, '\n', text.size);
    return at == NULL ? text.size : (size_t)(at - text.at) + 1;
}

/* The hash is looked for first: it is hardly ever there. */
static bool ends_text_has(hf_slice text, const hf_end *end)
{
    char hash[ENDS_HASH + 1];
    ends_write_hash(end, hash);
    if (text.size == 0 || memmem(text.at, text.size, hash, ENDS_HASH) == NULL)
        return false;
    for (size_t size; text.size > 0; text = (hf_slice){text.at + size, text.size - size}) {
        size = ends_line(text);
        if (memmem(text.at, size, hash, ENDS_HASH) != NULL &&
            (end->fence == 0 || strtoll(text.at, NULL, 10) == end->fence))
            return true;
    }
    return false;
}

bool hf_ends_have(const hf_ends *ends, const hf_end *end)
{
    for (size_t i = 0; i < ends->count && i < HF_ENDS_MAX; i++) {
        const hf_end *one = &ends->added[i];
        if (hf_slice_equal(one->request, end->request) && hf_slice_equal(one->type, end->type) &&
            hf_slice_equal(one->id, end->id) && (end->fence == 0 || end->fence == one->fence))
            return true;
    }
    return ends->count < HF_ENDS_MAX && ends_text_has(ends->text, end);
}

bool hf_ends_add(hf_arena *arena, hf_ends *ends, const hf_end *end)
{
    if (ends->added == NULL)
        ends->added = hf_arena_alloc(arena, HF_ENDS_MAX * sizeof *ends->added);
    if (ends->added == NULL)
        return false;
    ends->added[ends->count++ % HF_ENDS_MAX] = *end;
    return true;
}

/* The first lines of the text, at most so many. */
static hf_slice ends_first(hf_slice ends, size_t lines)
{
    hf_slice rest = ends;
    for (size_t i = 0, size; i < lines && rest.size > 0; i++) {
        size = ends_line(rest);
        rest = (hf_slice){rest.at + size, rest.size - size};
    }
    return (hf_slice){ends.at, ends.size - rest.size};
}

bool hf_ends_write(hf_arena *arena, hf_ends *ends)
{
    size_t count = ends->count < HF_ENDS_MAX ? ends->count : HF_ENDS_MAX;
    hf_slice older = ends_first(ends->text, HF_ENDS_MAX - count);
    size_t size = 0;
    char *text = hf_arena_alloc(arena, count * HF_ENDS_LINE + 1 + older.size);
    if (text == NULL)
        return false;
    for (size_t i = 1; i <= count; i++) {
        const hf_end *end = &ends->added[(ends->count - i) % HF_ENDS_MAX];
        size += ends_write(end, text + size);
    }
    if (older.size > 0)
        memcpy(text + size, older.at, older.size);
    ends->text = (hf_slice){text, size + older.size};
    return true;
}
