/* SPDX-License-Identifier: MIT */
/* Counts live locks and sessions for the metrics, by a background read every
 * LIVE_COUNTS_INTERVAL_US. It pauses when nobody has read the metrics for LIVE_COUNTS_WANTED_US.
 * Readers get the last count and never wait. Runs on the loop. */
#ifndef HF_SERVER_LIVE_COUNTS_H
#define HF_SERVER_LIVE_COUNTS_H

#include "server/commit/jobs.h"
#include "server/metrics.h"

typedef struct live_counts live_counts;

#define LIVE_COUNTS_INTERVAL_US INT64_C(10000000)
#define LIVE_COUNTS_WANTED_US   INT64_C(300000000)

typedef struct live_counts_settings {
    struct event_base *base;
    jobs *jobs;
    metrics *metrics;
    int64_t interval_us; /* 0: LIVE_COUNTS_INTERVAL_US */
} live_counts_settings;

/* Counts for the first time at once, so that the first look finds something. */
hf_status live_counts_new(const live_counts_settings *settings, live_counts **out, hf_error *err);

/* Someone looks at the metrics. */
void live_counts_wanted(live_counts *c);

/* Counts once, unless that is under way or about to be, though nobody looks. */
void live_counts_count(live_counts *c);

/* As those of the sweeper: no count is begun any more; one that is with the committer must be
 * answered before live_counts_free. */
void live_counts_stop(live_counts *c);
bool live_counts_idle(const live_counts *c);
void live_counts_free(live_counts *c);

#endif
