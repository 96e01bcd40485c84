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

bool hf_ends_have(hf_slice ends, const hf_end *end)
{
    while (ends.size > 0) {
        hf_slice line = ends_next(&ends, '\n');
        hf_slice fence = ends_next(&line, '\t'), request = ends_next(&line, '\t');
        hf_slice type = ends_next(&line, '\t');
        if (hf_slice_equal(request, end->request) && hf_slice_equal(type, end->type) &&
            hf_slice_equal(line, end->id) && ends_fence_fits(fence, end->fence))
            return true;
    }
    return false;
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

bool hf_ends_add(hf_arena *arena, hf_slice *ends, const hf_end *end)
{
    char fence[24];
    hf_slice older = ends_first(*ends, HF_ENDS_MAX - 1);
    snprintf(fence, sizeof fence, "%" PRId64, end->fence);
    size_t size = strlen(fence) + end->request.size + end->type.size + end->id.size + 4;
    char *text = hf_arena_alloc(arena, size + older.size);
    if (text == NULL)
        return false;
    char *at = ends_put(text, hf_slice_of(fence), '\t');
    at = ends_put(at, end->request, '\t');
    at = ends_put(at, end->type, '\t');
    at = ends_put(at, end->id, '\n');
    if (older.size > 0)
        memcpy(at, older.at, older.size);
    *ends = (hf_slice){text, size + older.size};
    return true;
}
