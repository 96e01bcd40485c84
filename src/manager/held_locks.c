/* SPDX-License-Identifier: MIT */
/* What a session handle believes to hold: a small hash by resource. */
#include "base/seams.h"
#include "lock/rows.h"
#include "manager/manager.h"

static uint64_t held_locks_hash_of(const hf_resource *resource)
{
    return hf_resource_hash(0, hf_slice_of(resource->type), hf_slice_of(resource->id));
}

static hf_held_lock **held_locks_place(const hf_held_locks *holds, uint64_t hash,
                                       const hf_resource *resource)
{
    hf_held_lock **at = &holds->table[hash & (holds->size - 1)];
    while (*at != NULL &&
           ((*at)->hash != hash || hf_resource_compare(&(*at)->resource, resource) != 0))
        at = &(*at)->chain;
    return at;
}

static bool held_locks_grow(hf_held_locks *holds)
{
    size_t size = holds->size == 0 ? 16 : holds->size * 2;
    hf_held_lock **table = hf_alloc(size * sizeof *table);
    if (table == NULL)
        return holds->size > 0;
    for (size_t i = 0; i < holds->size; i++)
        for (hf_held_lock *hold = holds->table[i], *next; hold != NULL; hold = next) {
            next = hold->chain;
            hold->chain = table[hold->hash & (size - 1)];
            table[hold->hash & (size - 1)] = hold;
        }
    hf_free(holds->table);
    holds->table = table;
    holds->size = size;
    return true;
}

void hf_held_locks_note(hf_held_locks *holds, const hf_resource *resource, int64_t fence,
                        int64_t until_boot_us)
{
    if (holds->count >= holds->size && !held_locks_grow(holds))
        return;
    uint64_t hash = held_locks_hash_of(resource);
    hf_held_lock **at = held_locks_place(holds, hash, resource);
    if (*at == NULL) {
        *at = hf_alloc(sizeof **at);
        if (*at == NULL)
            return;
        (*at)->hash = hash;
        (*at)->resource = *resource;
        holds->count++;
    }
    (*at)->fence = fence;
    (*at)->until_boot_us = until_boot_us;
    (*at)->perhaps = false;
}

hf_held_lock *hf_held_locks_find(const hf_held_locks *holds, const hf_resource *resource)
{
    return holds->size == 0 ? NULL
                            : *held_locks_place(holds, held_locks_hash_of(resource), resource);
}

static void held_locks_take_out(hf_held_locks *holds, hf_held_lock **at)
{
    hf_held_lock *hold = *at;
    *at = hold->chain;
    hf_free(hold);
    holds->count--;
}

bool hf_held_locks_drop(hf_held_locks *holds, const hf_resource *resource)
{
    hf_held_lock **at =
        holds->size == 0 ? NULL : held_locks_place(holds, held_locks_hash_of(resource), resource);
    if (at == NULL || *at == NULL)
        return false;
    held_locks_take_out(holds, at);
    return true;
}

void hf_held_locks_clear(hf_held_locks *holds)
{
    for (size_t i = 0; i < holds->size; i++)
        while (holds->table[i] != NULL)
            held_locks_take_out(holds, &holds->table[i]);
    hf_free(holds->table);
    *holds = (hf_held_locks){0};
}

bool hf_held_locks_take_spent(hf_held_locks *holds, int64_t now_boot_us, hf_told *out,
                              bool *perhaps, int64_t *next_us)
{
    for (size_t i = 0; i < holds->size; i++)
        for (hf_held_lock **at = &holds->table[i]; *at != NULL; at = &(*at)->chain) {
            int64_t left_us = (*at)->until_boot_us - now_boot_us;
            if ((*at)->until_boot_us == 0)
                continue;
            if (left_us <= 0) {
                *out = (hf_told){(*at)->resource, (*at)->fence, 0};
                *perhaps = (*at)->perhaps;
                held_locks_take_out(holds, at);
                return true;
            }
            if (left_us < *next_us)
                *next_us = left_us;
        }
    return false;
}
