/* SPDX-License-Identifier: MIT */
/* Bytes that come at one end and go at the other: what was read of a request, what a socket has not
 * taken yet. They may hold secrets, so they are wiped wherever they leave memory. */
#ifndef HF_SERVER_BYTES_H
#define HF_SERVER_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is empty. Those from `from` to `size` are there. */
typedef struct bytes {
    char *at;
    size_t from, size, room;
} bytes;

static inline size_t bytes_left(const bytes *b)
{
    return b->size - b->from;
}

/* Adds some at the end; a NUL stands behind it, uncounted. False: memory is out, nothing was added.
 * */
bool bytes_add(bytes *b, const void *more, size_t size);

/* The first `count` have been used. The memory is kept. */
void bytes_drop(bytes *b, size_t count);

/* Wipes all; keeps the memory if it is at most `most` bytes. */
void bytes_clear(bytes *b, size_t most);

#endif
