/* SPDX-License-Identifier: MIT */
/* The locks that a session handle believes to hold: a hash table by resource. */
#include "base/seams.h"
#include "lock/rows.h"
#include "manager/manager.h"

static uint64_t held_locks_hash_of(const hf_resource *resource)
{
    return hf_resource_hash(0, hf_slice_of(resource->type), hf_slice_of(resource->id));
}

static hf_held_lock *held_locks_find(const hf_hash *held, uint64_t hash,
                                     const hf_resource *resource)
{
    hf_hash_entry *entry = hf_hash_first(held, hash);
    while (entry != NULL && hf_resource_compare(&((hf_held_lock *)entry)->resource, resource) != 0)
        entry = hf_hash_next(entry);
    return (hf_held_lock *)entry;
}

hf_held_lock *hf_held_locks_find(const hf_hash *held, const hf_resource *resource)
{
    return held_locks_find(held, held_locks_hash_of(resource), resource);
}

void hf_held_locks_note(hf_hash *held, const hf_resource *resource, int64_t fence,
                        int64_t until_boot_us)
{
    uint64_t hash = held_locks_hash_of(resource);
    hf_held_lock *lock = held_locks_find(held, hash, resource);
    if (lock == NULL) {
        lock = hf_alloc(sizeof *lock);
        if (lock == NULL || !hf_hash_add(held, &lock->entry, hash)) {
            hf_free(lock);
            return;
        }
        lock->resource = *resource;
    }
    lock->fence = fence;
    lock->until_boot_us = until_boot_us;
    lock->perhaps = false;
}

static void held_locks_free(hf_hash *held, hf_held_lock *lock)
{
    hf_hash_remove(held, &lock->entry);
    hf_free(lock);
}

bool hf_held_locks_drop(hf_hash *held, const hf_resource *resource)
{
    hf_held_lock *lock = hf_held_locks_find(held, resource);
    if (lock != NULL)
        held_locks_free(held, lock);
    return lock != NULL;
}

void hf_held_locks_clear(hf_hash *held)
{
    for (hf_hash_entry *entry; (entry = hf_hash_walk(held, NULL)) != NULL;)
        held_locks_free(held, (hf_held_lock *)entry);
    hf_hash_done(held);
}

bool hf_held_locks_take_spent(hf_hash *held, int64_t now_boot_us, hf_told *out, bool *perhaps,
                              int64_t *next_us)
{
    for (hf_hash_entry *entry = NULL; (entry = hf_hash_walk(held, entry)) != NULL;) {
        hf_held_lock *lock = (hf_held_lock *)entry;
        int64_t left_us = lock->until_boot_us - now_boot_us;
        if (lock->until_boot_us == 0)
            continue;
        if (left_us <= 0) {
            *out = (hf_told){lock->resource, lock->fence, 0};
            *perhaps = lock->perhaps;
            held_locks_free(held, lock);
            return true;
        }
        if (left_us < *next_us)
            *next_us = left_us;
    }
    return false;
}
