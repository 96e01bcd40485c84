/* SPDX-License-Identifier: MIT */
/* The background sweep: now and then it asks the store to remove what is dead, and events that are
 * older than they are to be kept. A turn is one HF_OP_SWEEP of bounded work; while there is more
 * the next follows after a short pause, in which what people ask goes first.
 *
 *   W1  Everything here runs on the loop's thread; the store is asked by jobs of the committer.
 *   W2  At most one turn is with the committer.
 *   W3  Nothing but space depends on it. A turn that fails is tried again, later each time, at last
 *       once an interval.
 *   W4  Several servers on one store may all sweep: the intervals are jittered, and what one has
 *       removed the other does not find. */
#ifndef HF_SERVER_SWEEPER_H
#define HF_SERVER_SWEEPER_H

#include "server/commit/jobs.h"

struct event_base;

typedef struct sweeper sweeper;

/* Rows one turn looks at, unless it is said; README.md tells what that costs. */
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
    /* A turn failed, and no other since one went well: to be logged. May be NULL. */
    void (*failed)(void *context, const char *sentence);
    void *context;
} sweeper_settings;

/* Since the start. */
typedef struct sweeper_stats {
    uint64_t sweeps;   /* that came to their end */
    uint64_t turns;    /* answered */
    uint64_t failures; /* of these */
    uint64_t rows;     /* removed or ended */
    int64_t last_us;   /* when a sweep last came to its end, by our own clock; 0: none yet */
    bool behind;       /* one is under way */
} sweeper_stats;

/* The first sweep begins within an interval. HF_INVALID: forced acts would be kept shorter than the
 * rest. */
hf_status sweeper_new(const sweeper_settings *settings, sweeper **out, hf_error *err);

void sweeper_stats_read(const sweeper *s, sweeper_stats *out);

/* No turn is begun from now on. One that is with the committer is still answered; sweeper_free
 * waits for nothing, so stop the committer and run what it answered before. */
void sweeper_stop(sweeper *s);
bool sweeper_idle(const sweeper *s); /* no turn is with the committer */

/* Must be idle. Accepts NULL. */
void sweeper_free(sweeper *s);

#endif
