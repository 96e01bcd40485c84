/* SPDX-License-Identifier: MIT */
/* Batches for group commit. Answers point into a batch's memory, so it is kept until the last of
 * its jobs was released. Thread-safe. */
#ifndef HF_SERVER_COMMIT_BATCH_POOL_H
#define HF_SERVER_COMMIT_BATCH_POOL_H

#include "server/commit/committer.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BATCH_POOL_SPARE = 8 }; /* kept for later; more are freed */

struct pooled_batch {
    hf_batch *batch;
    size_t capacity;
    atomic_size_t pins; /* jobs that use the answers, and the executor while it runs */
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
/* No batch may be pinned. */
void batch_pool_done(batch_pool *all);

/* A batch for HF_BATCH_OPS_MAX ops, or for `capacity`, pinned once. NULL: out of memory. */
pooled_batch *pooled_batch_take(batch_pool *all);
pooled_batch *pooled_batch_new(batch_pool *all, size_t capacity);

/* Accepts NULL. */
void pooled_batch_unpin(batch_pool *all, pooled_batch *slot);

#endif
