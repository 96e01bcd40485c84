/* SPDX-License-Identifier: MIT */
/* What the server counts, and how Prometheus reads it (text format 0.0.4). Counting is a few
 * additions on the loop's thread; what other threads know (the committer, the store) is handed in
 * when someone looks.
 *
 *   M1  Everything here runs on the loop's thread.
 *   M2  How many series there are has an end whatever is asked: kinds, statuses and methods come
 *       from fixed tables, routes from the table of routes, types of records get METRICS_TYPES_MAX
 *       labels and the rest counts as "other".
 *   M3  A type that has a label keeps it, so a series never changes its meaning. Labels are given
 *       when the store is counted, most locks first, and to what was saved: to types that are in
 *       use, not to whatever name comes in. */
#ifndef HF_SERVER_METRICS_H
#define HF_SERVER_METRICS_H

#include "base/buffer.h"
#include "server/commit/committer.h"
#include "server/commit/sweeper.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OTHER                                                                              \
    "other" /* the label of the rest; a type of that name never has one of its own */
#define METRICS_ROUTE_NONE SIZE_MAX /* the request has no route: "unknown" */

enum {
    METRICS_TYPES_MAX = 64,
    METRICS_INCIDENTS_MAX = 32, /* kinds of incidents that are told apart */
    METRICS_TIMES = 13,         /* bounds of the times of requests */
};

typedef struct metrics metrics;

/* A family, as the table in metrics_text.c has them; docs/operations.md lists the same. */
typedef struct metrics_family {
    const char *name;
    const char *kind;   /* "counter", "gauge", "histogram" */
    const char *labels; /* "op, status"; "": none */
    const char *help;
} metrics_family;

extern const metrics_family metrics_families[];
extern const size_t metrics_families_count;

typedef struct metrics_settings {
    /* "/v1/locks/{type}/{id}" ..., ends with NULL; borrowed until metrics_free */
    const char *const *routes;
    const char *store; /* the scheme of its URL, "sqlite"; copied */
} metrics_settings;

hf_status metrics_new(const metrics_settings *settings, metrics **out, hf_error *err);
/* Accepts NULL. */
void metrics_free(metrics *m);

/* Ops that have been answered, whatever the answer. */
void metrics_ops(metrics *m, const hf_op *ops, size_t count);

/* A request that has been answered. route: its place in settings.routes, or METRICS_ROUTE_NONE.
 * took_us: until its answer was ready, of a stream until it began. */
void metrics_http(metrics *m, size_t route, const char *method, int code, int64_t took_us);

/* Why a caller was turned away before an op was asked. */
typedef enum metrics_refusal {
    METRICS_UNAUTHENTICATED, /* 401 */
    METRICS_DENIED,          /* 403 */
    METRICS_RATE_LIMITED,    /* 429: too fast, or over a quota */
    METRICS_REFUSALS
} metrics_refusal;

void metrics_refused(metrics *m, metrics_refusal why);

/* What happened to a connection, as http_settings.count tells it: "refused_framing" ... A static
 * text, not from outside. */
void metrics_incident(metrics *m, const char *what);

/* The locks and sessions that live: the answer to an HF_OP_COUNT. live_counts.h asks for it. */
void metrics_count(metrics *m, const hf_answer *answer);

/* All types together, since the server started; locks and sessions as they were last counted. */
typedef struct metrics_totals {
    bool counted; /* locks and sessions are known */
    uint64_t locks, sessions;
    uint64_t granted, refused, requested, saved;
} metrics_totals;

metrics_totals metrics_totals_read(const metrics *m);
const char *metrics_store(const metrics *m); /* "sqlite" */
int64_t metrics_started_us(const metrics *m);

/* What is true at the moment someone looks, from wherever it is known. */
typedef struct metrics_look {
    committer_stats committer;
    sweeper_stats sweeper;
    hf_grade grade;
    bool up; /* the store answers */
    size_t connections, requests;
    int64_t certificate_ends_us; /* 0: there is none */
    /* The feed, as feed_stats has it. */
    int64_t events_newest; /* number of the newest event read; below 0: not known */
    /* up to here all who keep up have been given everything; below 0: not known */
    int64_t events_delivered;
    int64_t events_lag_us;    /* how old the oldest of the events read last was by then */
    int64_t events_silent_us; /* since the events were last read; 0 while nobody listens */
    uint64_t events_failures; /* reads that failed */
    size_t followers;
    uint64_t resyncs;
} metrics_look;

/* Adds the whole text to `out`. HF_NO_MEMORY: it is not whole, answer 500. */
hf_status metrics_write(metrics *m, const metrics_look *look, hf_buffer *out, hf_error *err);

#endif
