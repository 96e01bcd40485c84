/* SPDX-License-Identifier: MIT */
/* What clients of a holdfast server say: PUT and DELETE of /v1/locks/{type}/{id}, and batches of
 * 64; each connection with a session of its own, a purpose, and a fresh Idempotency-Key for every
 * request. */
#ifndef HF_BENCH_LOCKERS_H
#define HF_BENCH_LOCKERS_H

#include "talk.h"

enum { LOCKERS_BATCH = 64, LOCKERS_SESSION_SIZE = 160 };

typedef struct lockers {
    talk_names names;
    char sessions[LOAD_CONNECTIONS][LOCKERS_SESSION_SIZE]; /* ID.KEY */
    bench_pick picks[LOAD_CONNECTIONS][LOCKERS_BATCH];     /* of batches */
} lockers;

/* Everyone gets a session that nobody knows. */
lockers *lockers_new(const bench *b);
/* Opens a session for everyone, with a caller's token. */
void lockers_open_sessions(lockers *all, const char *address, const char *token);
void lockers_free(lockers *all);

/* Ends the request line that `out` is at the end of, and adds who asks and a fresh key; no CR LF
 * behind. */
char *lockers_put_headers(char *out, const lockers *all, size_t connection, const bench_pick *pick);
/* Writes an acquire into `out`, LOAD_ROOM bytes; its size. */
size_t lockers_put_acquire(const lockers *all, size_t connection, const bench_pick *pick,
                           char *out);

/* Contexts are lockers. A pair; 64 acquires, then 64 releases. */
extern const load_talk lockers_pair;
extern const load_talk lockers_batch;
/* A pair to a server that only parks: any 200 will do. */
extern const load_talk lockers_parked;

#endif
