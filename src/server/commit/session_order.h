/* SPDX-License-Identifier: MIT */
/* Whose turn it is: the order of the jobs of each session, and queues of jobs. A job may go when
 * every job before it that names one of its sessions has been answered, or has been taken by the
 * same executor (which carries it out first). Not thread-safe: the committer calls it under its
 * mutex. */
#ifndef HF_SERVER_SESSION_ORDER_H
#define HF_SERVER_SESSION_ORDER_H

#include "server/commit/committer.h"

/* First come first served, linked by `next`. All zero is empty. */
typedef struct job_list {
    committer_job *first, *last;
} job_list;

void job_list_add(job_list *list, committer_job *job);
committer_job *job_list_take(job_list *list); /* NULL when it is empty */
/* Puts all of `front` before what is there. */
void job_list_prepend(job_list *list, job_list *front);

enum { SESSION_ORDER_BUCKETS = 8192 };

typedef struct session_order {
    uint64_t seed;
    committer_link *buckets[SESSION_ORDER_BUCKETS]; /* the first unanswered link of each session */
} session_order;

uint64_t session_order_hash(uint64_t seed, const char *text, size_t max);

/* Finds the sessions a job names. False: memory is out. Needs no mutex; reads the seed alone. */
bool session_order_prepare(const session_order *t, committer_job *job);
/* Undoes that. */
void session_order_forget(committer_job *job);

/* The executor of the job that the first session of this one waits for; false: there is none. */
bool session_order_before(const session_order *t, const committer_job *job, unsigned *executor);

/* Puts it behind all that came before; job->executor is known. True: it may go at once. */
bool session_order_enter(session_order *t, committer_job *job);

/* The job has been taken by its executor, or answered: what may go now is added to `ready`. */
void session_order_taken(committer_job *job, job_list *ready);
void session_order_answered(session_order *t, committer_job *job, job_list *ready);

#endif
