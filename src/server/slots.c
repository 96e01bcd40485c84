/* SPDX-License-Identifier: MIT */
/* Slots come back when their last pin is taken out; a few of full size are kept for the next
 * batches, with as much memory as an arena keeps. */
#include "server/slots.h"

#include "base/seams.h"

#include <assert.h>

void slots_init(slots *all)
{
    *all = (slots){.spare = NULL};
    pthread_mutex_init(&all->mutex, NULL);
}

static void slot_free(slots *all, committer_slot *slot)
{
    hf_batch_free(slot->batch);
    hf_free(slot);
    pthread_mutex_lock(&all->mutex);
    all->count--;
    pthread_mutex_unlock(&all->mutex);
}

committer_slot *slot_new(slots *all, size_t capacity)
{
    committer_slot *slot = hf_alloc(sizeof *slot);
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

committer_slot *slot_take(slots *all)
{
    pthread_mutex_lock(&all->mutex);
    committer_slot *slot = all->spare;
    if (slot != NULL) {
        all->spare = slot->next;
        all->spare_count--;
    }
    pthread_mutex_unlock(&all->mutex);
    if (slot == NULL)
        return slot_new(all, HF_BATCH_OPS_MAX);
    atomic_store(&slot->pins, 1);
    return slot;
}

void slot_unpin(slots *all, committer_slot *slot)
{
    if (slot == NULL || atomic_fetch_sub(&slot->pins, 1) != 1)
        return;
    hf_batch_clear(slot->batch);
    pthread_mutex_lock(&all->mutex);
    bool keep = slot->capacity == HF_BATCH_OPS_MAX && all->spare_count < SLOTS_SPARE;
    if (keep) {
        slot->next = all->spare;
        all->spare = slot;
        all->spare_count++;
    }
    pthread_mutex_unlock(&all->mutex);
    if (!keep)
        slot_free(all, slot);
}

void slot_pin(committer_slot *slot)
{
    atomic_fetch_add(&slot->pins, 1);
}

void slots_done(slots *all)
{
    for (committer_slot *slot; (slot = all->spare) != NULL;) {
        all->spare = slot->next;
        slot_free(all, slot);
    }
    assert(all->count == 0); /* else a job was not released */
    pthread_mutex_destroy(&all->mutex);
}
