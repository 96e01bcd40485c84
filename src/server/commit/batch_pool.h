/* SPDX-License-Identifier: MIT */
/* Batches that outlive their run: answers point into a batch's memory, so it stays until the last
 * job that looks at it has been released. Threads may share them. */
#ifndef HF_SERVER_BATCH_POOL_H
#define HF_SERVER_BATCH_POOL_H

#include "server/commit/committer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BATCH_POOL_SPARE = 8 }; /* kept for later; more are freed */

struct pooled_batch {
    hf_batch *batch;
    size_t capacity;
    atomic_size_t pins; /* jobs that look at the answers, and the executor while it works */
    hf_error err;
    pooled_batch *next; /* spare */
};

typedef struct batch_pool {
    pthread_mutex_t mutex;
    pooled_batch *spare;
    size_t spare_count;
    size_t count; /* all there are */
} batch_pool;

void batch_pool_init(batch_pool *all);
/* No slot may be pinned any more. */
void batch_pool_done(batch_pool *all);

/* A slot for HF_BATCH_OPS_MAX ops, or for so many, pinned once. NULL: memory is out. */
pooled_batch *pooled_batch_take(batch_pool *all);
pooled_batch *pooled_batch_new(batch_pool *all, size_t capacity);

/* Accepts NULL. */
void pooled_batch_unpin(batch_pool *all, pooled_batch *slot);

#endif
