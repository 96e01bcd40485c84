/* SPDX-License-Identifier: MIT */
/* The last ends of a session: a short text, searched and written piece by piece. */
#include "lock/ends.h"

#include "base/hash.h"

#include <string.h>

enum { ENDS_FENCE = 8, ENDS_HASH = HF_ENDS_SIZE - ENDS_FENCE };

/* The lowest digits of a number, the highest of them first. */
static void ends_write_digits(uint64_t number, char *out, size_t count)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    for (; count > 0; number /= 64)
        out[--count] = digits[number % 64];
}

static void ends_write(const hf_end *end, char out[HF_ENDS_SIZE])
{
    uint64_t hash = hf_hash_bytes(0, end->request.at, end->request.size);
    hash = hf_hash_bytes(hash, end->type.at, end->type.size);
    hash = hf_hash_bytes(hash, end->id.at, end->id.size);
    ends_write_digits((uint64_t)end->fence, out, ENDS_FENCE);
    ends_write_digits(hash, out + ENDS_FENCE, ENDS_HASH);
}

static bool ends_text_has(hf_slice text, const hf_end *end)
{
    char wanted[HF_ENDS_SIZE];
    size_t skipped = end->fence == 0 ? ENDS_FENCE : 0;
    ends_write(end, wanted);
    for (size_t at = 0; at + HF_ENDS_SIZE <= text.size; at += HF_ENDS_SIZE)
        if (memcmp(text.at + at + skipped, wanted + skipped, HF_ENDS_SIZE - skipped) == 0)
            return true;
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

bool hf_ends_write(hf_arena *arena, hf_ends *ends)
{
    size_t count = ends->count < HF_ENDS_MAX ? ends->count : HF_ENDS_MAX;
    size_t added = count * HF_ENDS_SIZE, older = HF_ENDS_TEXT_MAX - added;
    older = ends->text.size < older ? ends->text.size : older;
    char *text = hf_arena_alloc(arena, added + older + 1);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ends_write(&ends->added[(ends->count - 1 - i) % HF_ENDS_MAX], text + i * HF_ENDS_SIZE);
    if (older > 0)
        memcpy(text + added, ends->text.at, older);
    ends->text = (hf_slice){text, added + older};
    return true;
}
