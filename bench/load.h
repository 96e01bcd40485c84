/* SPDX-License-Identifier: MIT */
/* A load generator: one thread with epoll, connections that stay open. Each runs its own little
 * script over and over (acquire, then release), asks one thing at a time and waits for the answer.
 * What is said and what a good answer is, a load_talk knows. An answer that isn't good ends the
 * run: no figure comes from requests that failed. */
#ifndef HF_BENCH_LOAD_H
#define HF_BENCH_LOAD_H

#include "bench.h"

#include <sys/types.h>

enum {
    LOAD_CONNECTIONS = 64, /* as the issues of speed are stated */
    LOAD_ROOM = 64 * 1024, /* for a request, and for an answer */
};

typedef enum load_heard { LOAD_MORE, LOAD_GOOD, LOAD_BAD } load_heard;

typedef struct load_talk {
    size_t steps; /* requests of the script */
    /* Writes the request into `out`, LOAD_ROOM bytes; its size. */
    size_t (*ask)(void *context, size_t connection, size_t step, char *out);
    /* Looks at all that has come until now: whether the answer is complete, and good. `answer` is
     * NUL-terminated. */
    load_heard (*hear)(void *context, size_t connection, size_t step, const char *answer,
                       size_t size);
} load_talk;

typedef struct load_settings {
    const char *name;    /* for sentences */
    const char *address; /* "127.0.0.1:7420" or "unix:/path" */
    const load_talk *talk;
    void *context;
    size_t connections;
    size_t units; /* that a run through the script counts for: 1 pair */
    pid_t server; /* whose time on the processors is counted; 0: nobody's */
} load_settings;

typedef struct load load;

/* Connects. Dies on failure, as everything here. */
load *load_open(const load_settings *settings);
void load_close(load *l);

/* bench_work: units per second. What has begun when the time is over is brought to its end,
 * uncounted, so that nothing stays locked. */
double load_work(void *context, double seconds);

/* Of all runs but the first since the last call of load_forget, as bench_interleave makes them:
 * microseconds that half of the requests, and all but a hundredth, took at most; microseconds that
 * the server's process worked for a request. */
typedef struct load_figures {
    bench_series p50, p99, cpu;
} load_figures;
void load_forget(load *l);
const load_figures *load_seen(const load *l);

/* A connection, blocking. Dies on failure. */
int load_connect(const char *address);

#endif
