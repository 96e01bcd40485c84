/* SPDX-License-Identifier: MIT */
/* Jobs of the committer, submitted by the loop and finished on the loop. A thread of the committer
 * queues each finished job here and wakes the loop, which calls its `finish`, in order. */
#ifndef HF_SERVER_COMMIT_JOBS_H
#define HF_SERVER_COMMIT_JOBS_H

#include "server/commit/committer.h"
#include <pthread.h>

struct event_base;

typedef struct jobs jobs;
typedef struct loop_job loop_job;

/* Set job.ops and job.count; job.done and job.context are private to jobs.c. */
struct loop_job {
    committer_job job;
    /* Called on the loop, once, with the answers in job.ops and job.status. Call jobs_release when
     * they were read, now or later; then the job may be freed. */
    void (*finish)(loop_job *job);
    jobs *of; /* set by jobs_submit */
};

/* Both are borrowed until jobs_free. */
hf_status jobs_new(struct event_base *base, committer *c, jobs **out, hf_error *err);

/* On the loop only. It is begun at the end of the loop's turn. Not HF_OK: refused, as by
 * committer_submit; `finish` is not called. */
HF_MUST_USE hf_status jobs_submit(jobs *all, loop_job *job, hf_error *err);

/* `look` is called for every finished job, on the loop, before its `finish`. */
void jobs_observe(jobs *all, void (*look)(void *context, const committer_job *job), void *context);

/* A sentence for anyone about a job that failed as a whole. The store's own sentence names hosts,
 * databases, accounts and files: it is for callers with a token, and for the log. */
const char *jobs_told(hf_status status);

/* The answers are no longer used; what they point to is gone. */
void jobs_release(loop_job *job);

/* Submitted and not finished yet. */
size_t jobs_under_way(const jobs *all);

/* Finishes what has been done, without waiting for the loop. After committer_stop: all there is. */
void jobs_drain(jobs *all);

/* The committer has been stopped, and nothing is under way. Accepts NULL. */
void jobs_free(jobs *all);

/* The queue of finished jobs, from the committer's threads to the loop. It is woken only when the
 * queue was empty. */
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
