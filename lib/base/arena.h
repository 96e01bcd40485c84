/* SPDX-License-Identifier: MIT */
/* An arena: many small things allocated together and forgotten together. Memory is zeroed. It keeps
 * its first blocks when it is reset, so a store that works batch after batch stops asking for
 * memory; what one large batch needed beyond that is given back. */
#ifndef HF_BASE_ARENA_H
#define HF_BASE_ARENA_H

#include "base/text.h"

#include <stddef.h>

#define HF_ARENA_MAX ((size_t)1 << 30) /* ceiling of what one arena may hold */
#define HF_ARENA_KEPT                                                                              \
    ((size_t)1 << 22) /* ... and keeps when it is reset: what a full batch of usual ops needs */

typedef struct hf_arena_block hf_arena_block;

/* All zero is an empty arena. */
typedef struct hf_arena {
    hf_arena_block *first;
    hf_arena_block *current;
    size_t used;  /* of current */
    size_t total; /* bytes of all blocks */
    size_t least; /* bytes of the first block; 0: 16 KiB. For whoever has many small arenas */
    /* It is emptied by hf_arena_wipe alone: then what is free is zero, and is not zeroed again. Set
     * before the first allocation. */
    bool wiped;
} hf_arena;

/* Zeroed memory, aligned for anything; NULL when out of memory or the ceiling is reached. */
void *hf_arena_alloc(hf_arena *arena, size_t size);

/* A copy that lives in the arena. False when out of memory. */
bool hf_arena_copy(hf_arena *arena, hf_slice from, hf_slice *out);

/* The same as a NUL-terminated string. */
char *hf_arena_text(hf_arena *arena, hf_slice from);

void hf_arena_reset(hf_arena *arena);

/* The same, and overwrites what was in use: for an arena that held secrets. */
void hf_arena_wipe(hf_arena *arena);

void hf_arena_done(hf_arena *arena);

#endif
