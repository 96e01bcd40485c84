/* SPDX-License-Identifier: MIT */
/* Jobs of the committer, asked by the loop and finished on the loop. One of these stands between
 * them: what a thread of the committer has done is queued here, the loop is woken, and calls each
 * job's `finish`, in the order they were done. */
#ifndef HF_SERVER_JOBS_H
#define HF_SERVER_JOBS_H

#include "server/commit/committer.h"
#include <pthread.h>

struct event_base;

typedef struct jobs jobs;
typedef struct loop_job loop_job;

/* What is asked stands in job.ops and job.count; job.done and job.context belong to jobs.c. */
struct loop_job {
    committer_job job;
    /* On the loop, once, with the answers in job.ops and job.status. Whoever is called says
     * jobs_release when it has read them, now or later, and may free the job then. */
    void (*finish)(loop_job *job);
    jobs *of; /* set by jobs_submit */
};

/* Both are borrowed until jobs_free. */
hf_status jobs_new(struct event_base *base, committer *c, jobs **out, hf_error *err);

/* Asks. Not HF_OK: refused, as committer_submit says, and `finish` is not called. On the loop only.
 * */
HF_MUST_USE hf_status jobs_submit(jobs *all, loop_job *job, hf_error *err);

/* Whoever wants to see what every job came to, on the loop, before its `finish`. */
void jobs_observe(jobs *all, void (*look)(void *context, const committer_job *job), void *context);

/* What a job came to that failed as a whole, in a sentence for anyone: the store's own names hosts,
 * databases, accounts and files, which are for those with a token and for the log. */
const char *jobs_told(hf_status status);

/* Gives the answers back: what they point to is gone then. */
void jobs_release(loop_job *job);

/* Submitted and not finished yet. */
size_t jobs_under_way(const jobs *all);

/* Finishes what has been done, without waiting for the loop. After committer_stop: all there is. */
void jobs_drain(jobs *all);

/* The committer has been stopped, and nothing is under way. Accepts NULL. */
void jobs_free(jobs *all);

/* Jobs that are done, on their way to the thread of the loop that submitted them. The loop is woken
 * only when there was nothing for it before. */
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
