/* SPDX-License-Identifier: MIT */
/* Growing bytes: room is made by doubling, in new memory, so that no copy of what was there stays
 * behind. */
#include "server/http/bytes.h"

#include "base/digest.h"
#include "base/seams.h"

#include <string.h>

enum { ROOM_MIN = 1024 };

/* Moves what is left to the front of memory that has room for it and `more`. */
static bool bytes_move(bytes *b, size_t more)
{
    size_t left = bytes_left(b), room = b->room > 0 ? b->room : ROOM_MIN;
    if (more > SIZE_MAX / 4 - left)
        return false;
    while (room < left + more + 1)
        room *= 2;
    char *at = hf_realloc(NULL, room);
    if (at == NULL)
        return false;
    if (left > 0)
        memcpy(at, b->at + b->from, left);
    bytes_clear(b, 0);
    *b = (bytes){.at = at, .size = left, .room = room};
    return true;
}

bool bytes_add(bytes *b, const void *more, size_t size)
{
    if (b->room - b->size <= size && !bytes_move(b, size))
        return false;
    if (size > 0)
        memcpy(b->at + b->size, more, size);
    b->size += size;
    b->at[b->size] = '\0';
    return true;
}

void bytes_drop(bytes *b, size_t count)
{
    b->from += count;
    if (b->from == b->size)
        bytes_clear(b, b->room);
}

void bytes_clear(bytes *b, size_t most)
{
    if (b->at == NULL)
        return;
    hf_secret_wipe(b->at, b->size);
    b->from = b->size = 0;
    if (b->room <= most)
        return;
    hf_free(b->at);
    *b = (bytes){0};
}
