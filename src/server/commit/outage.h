/* SPDX-License-Identifier: MIT */
/* Whether the store can be used: what /readyz, the metrics and the log say of it. The first job
 * that finds the store away, or its disk full, begins an outage; a probe that finds it back ends
 * the outage, so that no client has to ask for that.
 *
 *   O1  Everything here runs on the loop's thread.
 *   O2  While there is no outage nothing is asked.
 *   O3  The probe takes the path of a change and changes nothing: an acquire by a session that
 *       nobody has. A disk with too little room refuses it as it refuses every acquire. A database
 *       server whose disk is full may still let it pass; then the next change begins another
 *       outage, and outages that follow each other quickly are probed, and told of, less and less
 *       often. */
#ifndef HF_SERVER_OUTAGE_H
#define HF_SERVER_OUTAGE_H

#include "server/commit/jobs.h"

typedef struct outage outage;

typedef struct outage_settings {
    struct event_base *base;
    jobs *jobs; /* probes are asked by them; borrowed until outage_free */
    /* An outage begins (down; why is the store's sentence), or has ended after lasted_us. May be
     * NULL. */
    void (*changed)(void *context, bool down, const char *why, int64_t lasted_us);
    void *context;
} outage_settings;

hf_status outage_new(const outage_settings *settings, outage **out, hf_error *err);

/* What any job came to, for jobs_observe; context is the outage. */
void outage_look(void *context, const committer_job *job);

/* Is there one? */
bool outage_is(const outage *o);

/* As those of the sweeper: no probe is begun any more; one that is with the committer must be
 * answered before outage_free, which accepts NULL. */
void outage_stop(outage *o);
void outage_free(outage *o);

#endif
