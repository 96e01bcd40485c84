/* SPDX-License-Identifier: MIT */
/* The parts of the server that the loop owns, built over a store and its committer. server.c starts
 * and stops it; requests use it.
 *
 * To stop: service_stop, then the loop runs until service_idle, then the committer is stopped, then
 * service_free. */
#ifndef HF_SERVER_SERVICE_H
#define HF_SERVER_SERVICE_H

#include "server/access/authenticate.h"
#include "server/access/denials.h"
#include "server/access/quotas.h"
#include "server/access/rate_limits.h"
#include "server/commit/outage.h"
#include "server/commit/sweeper.h"
#include "server/feed/feed.h"
#include "server/history.h"
#include "server/http/http.h"
#include "server/http/listeners.h"
#include "server/live_counts.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/settings.h"

typedef struct request request;

typedef struct service {
    const settings *settings;
    struct event_base *base;
    hf_store *store;
    committer *committer;
    log_sink *log;
    jobs *jobs;
    jobs *access; /* NULL, unless tokens and notes are in a store of their own */
    http *http;
    framing_limits framing;
    authenticator *authenticator;
    rate_limits *limits;
    quotas *quotas;
    denials *denials;
    feed *feed;
    struct stream *streams;      /* that are open, of route_events.c */
    size_t streams_looks;        /* for their sessions, under way */
    size_t streams_names;        /* bytes of the names that they follow */
    struct event *streams_timer; /* looks whether their tokens and sessions still count */
    metrics *metrics;
    live_counts *live_counts;
    history *history;
    outage *outage;
    sweeper *sweeper;
    const char **route_names;
    char *openapi, *api;
    size_t connections_max;
    int64_t accept_told_us; /* when it was last logged that accepting failed; 0: never */
    int64_t certificate_ends_us; /* the first of those that were read; 0: there is none */
    char hsts[32];               /* the header's value; "": it is not set */
    bool beyond_loopback; /* it listens where other machines can reach it */
    bool stopping;
} service;

typedef struct service_settings {
    const settings *settings;
    struct event_base *base;
    hf_store *store;
    committer *committer;
    log_sink *log;
    listeners *listening; /* their sockets are taken over */
    size_t connections_max; /* less than the setting's, as files allow; 0: the setting's */
    /* Of another store that has the tokens and the notes of who was refused. For tests, which want
     * the first store as they left it; NULL. */
    committer *access;
} service_settings;

/* *out is set even if it fails, unless out of memory: call service_stop and service_free. */
hf_status service_new(const service_settings *settings, service **out, hf_error *err);
/* Reads the certificates again. */
hf_status service_reload(service *s, hf_error *err);
/* Takes nothing new, ends streams; what was accepted is answered. Accepts what is half built. */
void service_stop(service *s);
/* All that was accepted is answered and on its way. */
bool service_idle(const service *s);
/* After committer_stop. Accepts NULL and what is half built. */
void service_free(service *s);

/* ---- for requests ---- */

/* Counts and logs a reply. */
void service_replied(request *req, int status);
/* Counts a refusal, if the code is 401, 403 or 429. */
void service_refused(service *s, int code);

/* How HTTP is spoken: timeouts, errors and limits; without what handles requests. One address gets
 * at most half of connections_max, which files may have lowered. */
http_settings service_http_settings(const settings *set, struct event_base *base,
                                    size_t connections_max, framing_limits *limits);
/* An error of the HTTP layer as problem details. */
const char *service_problem(void *context, int code, const char *sentence, hf_buffer *body);

#endif
