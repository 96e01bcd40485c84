/* SPDX-License-Identifier: MIT */
/* A batch returns to the pool when its last pin is removed. A few of full size are kept, with as
 * much memory as an arena keeps. */
#include "server/commit/batch_pool.h"

#include "base/seams.h"

#include <assert.h>

void batch_pool_init(batch_pool *all)
{
    *all = (batch_pool){.spare = NULL};
    pthread_mutex_init(&all->mutex, NULL);
}

static void pooled_batch_free(batch_pool *all, pooled_batch *slot)
{
    hf_batch_free(slot->batch);
    hf_free(slot);
    pthread_mutex_lock(&all->mutex);
    all->count--;
    pthread_mutex_unlock(&all->mutex);
}

pooled_batch *pooled_batch_new(batch_pool *all, size_t capacity)
{
    pooled_batch *slot = hf_alloc(sizeof *slot);
    if (slot == NULL || hf_batch_new(capacity, &slot->batch, NULL) != HF_OK) {
        hf_free(slot);
        return NULL;
    }
    slot->capacity = capacity;
    atomic_init(&slot->pins, 1);
    pthread_mutex_lock(&all->mutex);
    all->count++;
    pthread_mutex_unlock(&all->mutex);
    return slot;
}

pooled_batch *pooled_batch_take(batch_pool *all)
{
    pthread_mutex_lock(&all->mutex);
    pooled_batch *slot = all->spare;
    if (slot != NULL) {
        all->spare = slot->next;
        all->spare_count--;
    }
    pthread_mutex_unlock(&all->mutex);
    if (slot == NULL)
        return pooled_batch_new(all, HF_BATCH_OPS_MAX);
    atomic_store(&slot->pins, 1);
    return slot;
}

void pooled_batch_unpin(batch_pool *all, pooled_batch *slot)
{
    if (slot == NULL || atomic_fetch_sub(&slot->pins, 1) != 1)
        return;
    hf_batch_clear(slot->batch);
    pthread_mutex_lock(&all->mutex);
    bool keep = slot->capacity == HF_BATCH_OPS_MAX && all->spare_count < BATCH_POOL_SPARE;
    if (keep) {
        slot->next = all->spare;
        all->spare = slot;
        all->spare_count++;
    }
    pthread_mutex_unlock(&all->mutex);
    if (!keep)
        pooled_batch_free(all, slot);
}

void batch_pool_done(batch_pool *all)
{
    for (pooled_batch *slot; (slot = all->spare) != NULL;) {
        all->spare = slot->next;
        pooled_batch_free(all, slot);
    }
    assert(all->count == 0); /* else a job was not released */
    pthread_mutex_destroy(&all->mutex);
}
