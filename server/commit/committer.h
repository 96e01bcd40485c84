/* SPDX-License-Identifier: MIT */
/* Group commit: many callers share the syncs of one store. A job is what one caller asks; while one
 * batch of jobs is in the store, the next fills. There is no timer and nothing to tune. When `done`
 * is called the batch was committed.
 *
 *   C1  A job's ops stay together and in order; a linked run is as atomic as in a batch of its own.
 *   C2  Jobs of one session are executed in the order of submission, whatever lanes and threads
 *       they use.
 *   C3  A job that fails does not fail its neighbours, unless the outcome of all is unknown
 *       (`unsure`) or the store is unavailable.
 *   C4  Jobs that give something back (beats, releases ...) have a lane of their own, which goes
 *       first. Acquires neither fill it up nor delay it by more than the batch in the store and one
 *       more.
 *   C5  Every accepted job is answered once; after a failed sync with `unavailable`, without asking
 *       the store.
 *   C6  No job shares a batch with one of the same session and request id: the store must see the
 *       second as a repetition.
 *   C7  Lookups of authentication have a lane of their own beside other reads, as in C4: a flood of
 *       reads does not delay a beat of a session that is not in the cache. The slower lanes don't
 *       starve: every second batch begins with them if they found no room. */
#ifndef HF_SERVER_COMMIT_COMMITTER_H
#define HF_SERVER_COMMIT_COMMITTER_H

#include <holdfast/store.h>

typedef struct committer committer;
typedef struct committer_job committer_job;
typedef struct pooled_batch pooled_batch;

/* A job's place in the order of one session. Private to session_order.c. */
typedef struct committer_link {
    committer_job *job;
    const char *session;
    uint64_t hash;
    struct committer_link *next;        /* of the same session */
    struct committer_link *last;        /* of the same session; kept by the first */
    struct committer_link *next_bucket; /* another session with the same hash; kept by the first */
    bool turn;                          /* no earlier job of this session is in its way */
} committer_link;

enum { COMMITTER_OWN_LINKS = 2 };

/* Belongs to the committer from submit until `done` is called, with all its ops point to. */
struct committer_job {
    hf_op *ops; /* 1 to HF_BATCH_OPS_MAX; their answers are put into them */
    size_t count;
    /* Called on a thread of the committer: hand the job over, don't work there. A read and a write
     * of one session are executed in order, but two threads may call `done` in another. */
    void (*done)(committer_job *job);
    void *context;
    bool look; /* a lookup of authentication: COMMITTER_LOOKS; all its ops read */

    /* HF_OK: every op has its answer. Else the job as a whole failed, and each op has that
     * status. */
    hf_status status;

    committer_job *next; /* for whoever has the job: a queue of the committer, or jobs.c */

    /* The committer's own. */
    pooled_batch *slot; /* keeps what the answers point to */
    committer_link own_links[COMMITTER_OWN_LINKS];
    committer_link *links; /* one for each session it names */
    size_t links_count;
    size_t waits; /* links whose turn has not come */
    unsigned executor;
    unsigned char lane;
    bool alone; /* a batch of its own */
    bool taken; /* by its executor */
};

/* Which limit a job counts against. */
typedef enum committer_lane {
    COMMITTER_RESERVE,  /* changes that need no new room: beat, close, release, renew ... */
    COMMITTER_ORDINARY, /* other changes */
    COMMITTER_LOOKS,    /* lookups of authentication ... */
    COMMITTER_READS,    /* other reads; both have threads of their own */
    COMMITTER_LANES
} committer_lane;

typedef struct committer_settings {
    hf_store *store; /* borrowed until committer_free */
    /* threads; 0 is 1, as for SQLite and memory, where more would only wait for each other */
    unsigned writers;
    unsigned readers; /* threads; 0 is 1 */
    /* ops that may wait; 0: COMMITTER_..._MAX */
    size_t ordinary_max, reserve_max, looks_max, reads_max;
    /* The store is broken (a sync failed) and answers no more: the process should end, and begin
     * anew from what is on disk. Called once, by a thread of the committer, when the jobs that saw
     * it have been answered. */
    void (*fatal)(void *context, const hf_error *why);
    void *context;
} committer_settings;

enum {
    COMMITTER_THREADS_MAX = 64,
    COMMITTER_ORDINARY_MAX = 16384,
    COMMITTER_RESERVE_MAX = 65536,
    COMMITTER_LOOKS_MAX = 65536,
    COMMITTER_READS_MAX = 16384,
    COMMITTER_SIZES = 11, /* 1, 2 to 3, 4 to 7 ... 1,024 ops */
    COMMITTER_TIMES = 32, /* under 2 us, 2 to 3, 4 to 7 ... */
    COMMITTER_GRADE_US = 1000000,
};

/* Counted since the start. */
typedef struct committer_counts {
    uint64_t batches, ops;
    uint64_t isolated; /* batches that failed as a whole, so that their jobs were run one by one */
    uint64_t sizes[COMMITTER_SIZES];
    uint64_t times[COMMITTER_TIMES]; /* of hf_store_execute */
    uint64_t busy_us;                /* all of these together */
} committer_counts;

typedef struct committer_stats {
    committer_counts writes, reads;
    size_t waiting[COMMITTER_LANES];   /* ops, now */
    uint64_t refused[COMMITTER_LANES]; /* jobs, since the start */
} committer_stats;

hf_status committer_new(const committer_settings *settings, committer **out, hf_error *err);

/* From any thread; never waits for the store. Not HF_OK: refused, `done` is not called.
 * HF_TOO_MANY: the lane is full. HF_UNAVAILABLE: the committer was stopped, or the store is
 * broken. */
hf_status committer_submit(committer *c, committer_job *job, hf_error *err);

/* The same for several jobs: no idle thread is woken for them before committer_wake, so that they
 * share a batch. */
hf_status committer_queue(committer *c, committer_job *job, hf_error *err);
void committer_wake(committer *c);

/* The answers of the job are no longer used; their memory may be reused. From any thread, once,
 * after `done`. */
void committer_release(committer *c, committer_job *job);

void committer_stats_read(committer *c, committer_stats *out);

/* The store's grade as it was last looked up; waits for nothing, though the store may be a server
 * that has to be asked. A thread of the committer looks it up anew before a read is answered (at
 * most once in COMMITTER_GRADE_US) and when something has failed. */
void committer_grade(committer *c, hf_grade *out);

/* Refuses new jobs, answers those that were accepted, ends the threads. Not by `done`. */
void committer_stop(committer *c);

/* Stops it, if that has not been done. Every job must have been released. Accepts NULL. */
void committer_free(committer *c);

#endif
