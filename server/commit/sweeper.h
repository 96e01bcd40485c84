/* SPDX-License-Identifier: MIT */
/* The background sweep: at intervals it removes what is dead from the store, and events older than
 * their retention. A turn is one HF_OP_SWEEP of limited work; while there is more, the next follows
 * after a short pause, in which requests go first.
 *
 *   W1  Everything runs on the loop's thread; the store is asked by jobs of the committer.
 *   W2  At most one turn is submitted at a time.
 *   W3  Only disk space depends on it. A failed turn is repeated, later each time, at last once an
 *       interval.
 *   W4  Several servers on one store may all sweep: the intervals are jittered, and what one has
 *       removed the others don't find. */
#ifndef HF_SERVER_COMMIT_SWEEPER_H
#define HF_SERVER_COMMIT_SWEEPER_H

#include "server/commit/jobs.h"

struct event_base;

typedef struct sweeper sweeper;

/* Rows of one turn by default; README.md tells what that costs. */
enum { SWEEPER_LIMIT = 250 };

#define SWEEPER_PAUSE_US INT64_C(20000)

typedef struct sweeper_settings {
    struct event_base *base;
    jobs *jobs;
    int64_t interval_us;    /* between sweeps; more than 0 */
    int64_t pause_us;       /* between the turns of one; 0: SWEEPER_PAUSE_US */
    size_t limit;           /* rows of a turn; 0: SWEEPER_LIMIT */
    int64_t keep_events_us; /* as in hf_op; 0: for ever */
    int64_t keep_forced_us; /* as in hf_op; 0: for ever */
    /* The first failure since a turn succeeded: to be logged. May be NULL. */
    void (*failed)(void *context, const char *sentence);
    void *context;
} sweeper_settings;

/* Since the start. */
typedef struct sweeper_stats {
    uint64_t sweeps;   /* completed */
    uint64_t turns;    /* answered */
    uint64_t failures; /* of these */
    uint64_t rows;     /* removed or ended */
    int64_t last_us;   /* when a sweep was last completed, by our own clock; 0: none yet */
    bool behind;       /* one is running */
} sweeper_stats;

/* The first sweep begins within an interval. HF_INVALID: forced acts would be kept shorter than the
 * rest. */
hf_status sweeper_new(const sweeper_settings *settings, sweeper **out, hf_error *err);

void sweeper_stats_read(const sweeper *s, sweeper_stats *out);

/* Starts no more turns. One that was submitted is still answered; sweeper_free does not wait, so
 * stop the committer and drain the jobs first. */
void sweeper_stop(sweeper *s);
bool sweeper_idle(const sweeper *s); /* no turn is submitted */

/* Must be idle. Accepts NULL. */
void sweeper_free(sweeper *s);

#endif
