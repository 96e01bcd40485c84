/* SPDX-License-Identifier: MIT */
/* The last ends of a session: a short text, searched and written line by line. */
#include "lock/ends.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits off what stands before the separator. */
static hf_slice ends_next(hf_slice *rest, char separator)
{
    const char *at = rest->size == 0 ? NULL : memchr(rest->at, separator, rest->size);
    hf_slice part = {rest->at, at == NULL ? rest->size : (size_t)(at - rest->at)};
    size_t used = part.size + (at != NULL);
    *rest = (hf_slice){rest->at + used, rest->size - used};
    return part;
}

/* Without its end: strtoll stops at the tab that follows. */
static bool ends_fence_fits(hf_slice text, int64_t fence)
{
    return fence == 0 || (text.size > 0 && strtoll(text.at, NULL, 10) == fence);
}

/* The request id is looked for first: it is hardly ever there. */
static bool ends_text_has(hf_slice text, const hf_end *end)
{
    if (text.size == 0 || memmem(text.at, text.size, end->request.at, end->request.size) == NULL)
        return false;
    while (text.size > 0) {
        hf_slice line = ends_next(&text, '\n');
        hf_slice fence = ends_next(&line, '\t'), request = ends_next(&line, '\t');
        hf_slice type = ends_next(&line, '\t');
        if (hf_slice_equal(request, end->request) && hf_slice_equal(type, end->type) &&
            hf_slice_equal(line, end->id) && ends_fence_fits(fence, end->fence))
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
static hf_slice ends_first(hf_slice ends, int lines)
{
    hf_slice rest = ends;
    for (int i = 0; i < lines && rest.size > 0; i++)
        ends_next(&rest, '\n');
    return (hf_slice){ends.at, ends.size - rest.size};
}

static char *ends_put(char *at, hf_slice text, char separator)
{
    if (text.size > 0)
        memcpy(at, text.at, text.size);
    at[text.size] = separator;
    return at + text.size + 1;
}

static size_t ends_size(const hf_end *end)
{
    return 24 + end->request.size + end->type.size + end->id.size + 4;
}

bool hf_ends_write(hf_arena *arena, hf_ends *ends)
{
    size_t count = ends->count < HF_ENDS_MAX ? ends->count : HF_ENDS_MAX;
    hf_slice older = ends_first(ends->text, HF_ENDS_MAX - (int)count);
    size_t size = older.size;
    for (size_t i = 0; i < count; i++)
        size += ends_size(&ends->added[i]);
    char *text = hf_arena_alloc(arena, size + 1), *at = text;
    if (text == NULL)
        return false;
    for (size_t i = 1; i <= count; i++) {
        const hf_end *end = &ends->added[(ends->count - i) % HF_ENDS_MAX];
        char fence[24];
        snprintf(fence, sizeof fence, "%" PRId64, end->fence);
        at = ends_put(at, hf_slice_of(fence), '\t');
        at = ends_put(at, end->request, '\t');
        at = ends_put(at, end->type, '\t');
        at = ends_put(at, end->id, '\n');
    }
    if (older.size > 0)
        memcpy(at, older.at, older.size);
    ends->text = (hf_slice){text, (size_t)(at - text) + older.size};
    return true;
}
