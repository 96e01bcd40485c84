/* SPDX-License-Identifier: MIT */
/* How many locks and sessions live, counted for the metrics by a read in the background: every
 * CENSUS_INTERVAL_US while someone looks at the metrics, and not at all when nobody has for
 * CENSUS_WANTED_US. A look is answered with the last count; it waits for nothing. Runs on the loop.
 * */
#ifndef HF_SERVER_CENSUS_H
#define HF_SERVER_CENSUS_H

#include "server/jobs.h"
#include "server/metrics.h"

typedef struct census census;

#define CENSUS_INTERVAL_US INT64_C(10000000)
#define CENSUS_WANTED_US   INT64_C(300000000)

typedef struct census_settings {
    struct event_base *base;
    jobs *jobs;
    metrics *metrics;
    int64_t interval_us; /* 0: CENSUS_INTERVAL_US */
} census_settings;

/* Counts for the first time at once, so that the first look finds something. */
hf_status census_new(const census_settings *settings, census **out, hf_error *err);

/* Someone looks at the metrics. */
void census_wanted(census *c);

/* Counts once, unless that is under way or about to be, though nobody looks. */
void census_count(census *c);

/* As those of the sweeper: no count is begun any more; one that is with the committer must be
 * answered before census_free. */
void census_stop(census *c);
bool census_idle(const census *c);
void census_free(census *c);

#endif
