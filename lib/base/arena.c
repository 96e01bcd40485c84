/* SPDX-License-Identifier: MIT */
/* The arena: a list of blocks, filled front to back. */
#include "base/arena.h"

#include "base/digest.h"
#include "base/seams.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_MIN = 16 * 1024, ALIGN = 16 };

struct hf_arena_block {
    hf_arena_block *next;
    size_t size;
    _Alignas(ALIGN) unsigned char bytes[];
};

static hf_arena_block *arena_block_new(hf_arena *arena, size_t size)
{
    size_t least = arena->least > 0 ? arena->least : BLOCK_MIN;
    size_t wanted = arena->current == NULL ? least : arena->current->size * 2;
    if (wanted > 4u << 20)
        wanted = 4u << 20;
    if (wanted < size)
        wanted = size;
    if (arena->total + wanted > HF_ARENA_MAX)
        return NULL;
    size_t bytes = sizeof(hf_arena_block) + wanted;
    hf_arena_block *block = arena->wiped ? hf_alloc(bytes) : hf_realloc(NULL, bytes);
    if (block == NULL)
        return NULL;
    block->next = NULL;
    block->size = wanted;
    arena->total += wanted;
    return block;
}

/* Goes on to the next block that has room, making one where there is none. */
static bool arena_advance(hf_arena *arena, size_t size)
{
    for (hf_arena_block *next = arena->current == NULL ? NULL : arena->current->next; next != NULL;
         next = next->next) {
        arena->current = next;
        arena->used = 0;
        if (next->size >= size)
            return true;
    }
    hf_arena_block *block = arena_block_new(arena, size);
    if (block == NULL)
        return false;
    if (arena->current == NULL)
        arena->first = block;
    else
        arena->current->next = block;
    arena->current = block;
    arena->used = 0;
    return true;
}

void *hf_arena_alloc(hf_arena *arena, size_t size)
{
    if (size > HF_ARENA_MAX)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((arena->current == NULL || arena->current->size - arena->used < size) &&
        !arena_advance(arena, size))
        return NULL;
    void *out = arena->current->bytes + arena->used;
    arena->used += size;
    return arena->wiped ? out : memset(out, 0, size);
}

bool hf_arena_copy(hf_arena *arena, hf_slice from, hf_slice *out)
{
    *out = (hf_slice){NULL, 0};
    if (from.size == 0)
        return true;
    char *copy = hf_arena_alloc(arena, from.size);
    if (copy == NULL)
        return false;
    memcpy(copy, from.at, from.size);
    *out = (hf_slice){copy, from.size};
    return true;
}

char *hf_arena_text(hf_arena *arena, hf_slice from)
{
    char *copy = hf_arena_alloc(arena, from.size + 1);
    if (copy != NULL && from.size > 0)
        memcpy(copy, from.at, from.size);
    return copy;
}

static void arena_free_blocks(hf_arena *arena, hf_arena_block *block)
{
    for (hf_arena_block *next; block != NULL; block = next) {
        next = block->next;
        arena->total -= block->size;
        hf_free(block);
    }
}

static void arena_empty(hf_arena *arena)
{
    hf_arena_block **at = &arena->first;
    for (size_t kept = 0; *at != NULL && kept + (*at)->size <= HF_ARENA_KEPT; at = &(*at)->next)
        kept += (*at)->size;
    arena_free_blocks(arena, *at);
    *at = NULL;
    arena->current = arena->first;
    arena->used = 0;
}

void hf_arena_reset(hf_arena *arena)
{
    assert(!arena->wiped);
    arena_empty(arena);
}

void hf_arena_wipe(hf_arena *arena)
{
    for (hf_arena_block *block = arena->first; block != NULL; block = block->next) {
        hf_secret_wipe(block->bytes, block == arena->current ? arena->used : block->size);
        if (block == arena->current)
            break;
    }
    arena_empty(arena);
}

void hf_arena_done(hf_arena *arena)
{
    arena_free_blocks(arena, arena->first);
    *arena = (hf_arena){.least = arena->least, .wiped = arena->wiped};
}
