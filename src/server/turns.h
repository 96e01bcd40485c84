/* SPDX-License-Identifier: MIT */
/* Whose turn it is: the order of the jobs of each session, and queues of jobs. A job may go when
 * every job before it that names one of its sessions has been answered, or has been taken by the
 * same executor (which carries it out first). Not thread-safe: the committer calls it under its
 * mutex. */
#ifndef HF_SERVER_TURNS_H
#define HF_SERVER_TURNS_H

#include "server/committer.h"

/* First come first served, linked by `next`. All zero is empty. */
typedef struct job_list {
    committer_job *first, *last;
} job_list;

void job_list_add(job_list *list, committer_job *job);
committer_job *job_list_take(job_list *list); /* NULL when it is empty */
/* Puts all of `front` before what is there. */
void job_list_prepend(job_list *list, job_list *front);

enum { TURNS_BUCKETS = 8192 };

typedef struct turns {
    uint64_t seed;
    committer_link *buckets[TURNS_BUCKETS]; /* the first unanswered link of each session */
} turns;

uint64_t turns_hash(uint64_t seed, const char *text, size_t max);

/* Finds the sessions a job names. False: memory is out. Needs no mutex; reads the seed alone. */
bool turns_prepare(const turns *t, committer_job *job);
/* Undoes that. */
void turns_forget(committer_job *job);

/* The executor of the job that the first session of this one waits for; false: there is none. */
bool turns_before(const turns *t, const committer_job *job, unsigned *executor);

/* Puts it behind all that came before; job->executor is known. True: it may go at once. */
bool turns_enter(turns *t, committer_job *job);

/* The job has been taken by its executor, or answered: what may go now is added to `ready`. */
void turns_taken(committer_job *job, job_list *ready);
void turns_answered(turns *t, committer_job *job, job_list *ready);

#endif
