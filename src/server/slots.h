/* SPDX-License-Identifier: MIT */
/* Batches that outlive their run: answers point into a batch's memory, so it stays until the last
 * job that looks at it has been released. Threads may share them. */
#ifndef HF_SERVER_SLOTS_H
#define HF_SERVER_SLOTS_H

#include "server/committer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SLOTS_SPARE = 8 }; /* kept for later; more are freed */

struct committer_slot {
    hf_batch *batch;
    size_t capacity;
    atomic_size_t pins; /* jobs that look at the answers, and the executor while it works */
    hf_error err;
    committer_slot *next; /* spare */
};

typedef struct slots {
    pthread_mutex_t mutex;
    committer_slot *spare;
    size_t spare_count;
    size_t count; /* all there are */
} slots;

void slots_init(slots *all);
/* No slot may be pinned any more. */
void slots_done(slots *all);

/* A slot for HF_BATCH_OPS_MAX ops, or for so many, pinned once. NULL: memory is out. */
committer_slot *slot_take(slots *all);
committer_slot *slot_new(slots *all, size_t capacity);

void slot_pin(committer_slot *slot);
/* Accepts NULL. */
void slot_unpin(slots *all, committer_slot *slot);

#endif
