/* SPDX-License-Identifier: MIT */
/* Jobs that are done, on their way to the thread of the loop that submitted them. The loop is woken
 * only when there was nothing for it before. */
#ifndef HF_SERVER_COMPLETIONS_H
#define HF_SERVER_COMPLETIONS_H

#include "server/commit/committer.h"

#include <pthread.h>

typedef struct completions {
    pthread_mutex_t mutex;
    committer_job *first, *last;
    void (*wake)(void *context); /* on the thread that adds; writes to an eventfd or the like */
    void *context;
} completions;

void completions_init(completions *queue, void (*wake)(void *context), void *context);

/* Nothing may be left in it, and the committer must have been stopped: its threads are no longer in
 * completions_add. */
void completions_done(completions *queue);

/* Any thread: what a job's `done` does. */
void completions_add(completions *queue, committer_job *job);

/* All there is, in order, linked by `next`; NULL: nothing. Wakes that are left over find nothing,
 * which is harmless. */
committer_job *completions_take(completions *queue);

#endif
