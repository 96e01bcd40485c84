/* SPDX-License-Identifier: MIT */
/* A list under a mutex that is held for a few instructions. The wake is sent after it has been let
 * go, so that the loop does not run into it at once. */
#include "server/commit/completions.h"

#include <assert.h>

void completions_init(completions *queue, void (*wake)(void *context), void *context)
{
    *queue = (completions){.wake = wake, .context = context};
    pthread_mutex_init(&queue->mutex, NULL);
}

void completions_done(completions *queue)
{
    assert(queue->first == NULL);
    pthread_mutex_destroy(&queue->mutex);
}

void completions_add(completions *queue, committer_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    bool was_empty = queue->first == NULL;
    if (was_empty)
        queue->first = job;
    else
        queue->last->next = job;
    queue->last = job;
    pthread_mutex_unlock(&queue->mutex);
    if (was_empty)
        queue->wake(queue->context);
}

committer_job *completions_take(completions *queue)
{
    pthread_mutex_lock(&queue->mutex);
    committer_job *jobs = queue->first;
    queue->first = queue->last = NULL;
    pthread_mutex_unlock(&queue->mutex);
    return jobs;
}
