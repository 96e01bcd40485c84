/* SPDX-License-Identifier: MIT */
/* Whether the store can be used, for /readyz, the metrics and the log. The first job that finds the
 * store unavailable, or its disk full, begins an outage; a successful probe ends it.
 *
 *   O1  Everything runs on the loop's thread.
 *   O2  Without an outage nothing is probed.
 *   O3  The probe takes the path of a change and changes nothing: an acquire by a session that does
 *       not exist. A full disk refuses it as it refuses every acquire. A database server with a
 *       full disk may still let it pass; then the next change begins another outage, and outages in
 *       quick succession are probed, and logged, less and less often. */
#ifndef HF_SERVER_COMMIT_OUTAGE_H
#define HF_SERVER_COMMIT_OUTAGE_H

#include "server/commit/jobs.h"

typedef struct outage outage;

typedef struct outage_settings {
    struct event_base *base;
    jobs *jobs; /* for the probes; borrowed until outage_free */
    /* An outage begins (down; why is the store's sentence), or has ended after lasted_us. May be
     * NULL. */
    void (*changed)(void *context, bool down, const char *why, int64_t lasted_us);
    void *context;
} outage_settings;

hf_status outage_new(const outage_settings *settings, outage **out, hf_error *err);

/* For jobs_observe: sees every finished job; context is the outage. */
void outage_look(void *context, const committer_job *job);

/* Whether there is one. */
bool outage_is(const outage *o);

/* Starts no more probes; one that was submitted must be answered before outage_free, which accepts
 * NULL. */
void outage_stop(outage *o);
void outage_free(outage *o);

#endif
