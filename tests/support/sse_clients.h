/* SPDX-License-Identifier: MIT */
/* Many followers of /v1/events in one thread of the test. Each hears every event of the store from
 * the first, or from when it began; comes back with Last-Event-ID when its connection ends, or when
 * it leaves by chance; and looks whether it has heard each number once, in order, with the same
 * words as all others. It may know several servers of one store and goes from one to the next. */
#ifndef HF_TESTS_SUPPORT_SSE_CLIENTS_H
#define HF_TESTS_SUPPORT_SSE_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUDIENCE_SERVERS_MAX = 4 };

typedef struct sse_clients sse_clients;

typedef struct sse_clients_options {
    int ports[AUDIENCE_SERVERS_MAX]; /* of 127.0.0.1 */
    size_t servers;
    const char *secret; /* of a token that may observe; borrowed */
    size_t followers;
    /* of them: hear all from the first event on, the others from when they began */
    size_t at_first;
    size_t slow;         /* of them: take nothing while sse_clients_stop_reading says so */
    bool stays_with_one; /* a follower knows one server only, by turns */
} sse_clients_options;

sse_clients *sse_clients_start(const sse_clients_options *options);

/* Until every follower is connected and has been told where it begins; until each has heard all
 * events up to that number. False: not within so many seconds, or something was wrong. */
bool sse_clients_connected(sse_clients *a, unsigned seconds);
bool sse_clients_received(sse_clients *a, int64_t seq, unsigned seconds);

/* From now on each leaves after about this long, and comes back. */
void sse_clients_reconnect(sse_clients *a, int64_t stays_us);

/* The slow ones take nothing any more, or read again. */
void sse_clients_stop_reading(sse_clients *a, bool deaf);

typedef struct sse_clients_report {
    uint64_t events; /* heard, by all */
    uint64_t bytes;
    uint64_t connections;
    uint64_t refused; /* nobody was there to connect to */
    uint64_t cut;     /* streams that ended without their last chunk */
    uint64_t ended;   /* streams that were ended properly by the server */
    uint64_t left;    /* by chance */
    uint64_t resyncs;
    int64_t newest;    /* the last number anybody has heard */
    char problem[512]; /* the first thing that was wrong; "": nothing */
} sse_clients_report;

void sse_clients_read(sse_clients *a, sse_clients_report *out);

/* Ends the thread and its connections. out may be NULL. */
void sse_clients_end(sse_clients *a, sse_clients_report *out);

#endif
