/* SPDX-License-Identifier: MIT */
/* The order of each session's jobs, and queues of jobs. A job may run when every earlier job that
 * names one of its sessions was answered, or was taken by the same executor (which runs it first).
 * Not thread-safe: the committer calls it under its mutex. */
#ifndef HF_SERVER_COMMIT_SESSION_ORDER_H
#define HF_SERVER_COMMIT_SESSION_ORDER_H

#include "server/commit/committer.h"

/* A FIFO queue, linked by `next`. All zero is empty. */
typedef struct job_list {
    committer_job *first, *last;
} job_list;

void job_list_add(job_list *list, committer_job *job);
committer_job *job_list_take(job_list *list); /* NULL when it is empty */
/* Puts all of `front` at the front of the list. */
void job_list_prepend(job_list *list, job_list *front);

enum { SESSION_ORDER_BUCKETS = 8192 };

typedef struct session_order {
    uint64_t seed;
    committer_link *buckets[SESSION_ORDER_BUCKETS]; /* the first unanswered link of each session */
} session_order;

uint64_t session_order_hash(uint64_t seed, const char *text, size_t max);

/* Finds the sessions a job names. False: out of memory. Needs no mutex; reads the seed alone. */
bool session_order_prepare(const session_order *t, committer_job *job);
/* Undoes that. */
void session_order_forget(committer_job *job);

/* The executor of the last unanswered job of its first session; false: there is none. */
bool session_order_before(const session_order *t, const committer_job *job, unsigned *executor);

/* Puts it behind the earlier jobs of its sessions; job->executor is set. True: it may run now. */
bool session_order_enter(session_order *t, committer_job *job);

/* The job was taken by its executor, or answered: jobs that may run now are added to `ready`. */
void session_order_taken(committer_job *job, job_list *ready);
void session_order_answered(session_order *t, committer_job *job, job_list *ready);

#endif
