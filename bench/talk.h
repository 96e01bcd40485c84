/* SPDX-License-Identifier: MIT */
/* What clients say to the servers that are measured, and what they want to hear: scripts for the
 * load generator. */
#ifndef HF_BENCH_TALK_H
#define HF_BENCH_TALK_H

#include "load.h"
#include "names.h"

#include <string.h>

/* ---- HTTP ---- */

typedef struct talk_http {
    int status;
    const char *body;
    size_t body_size;
} talk_http;

/* Is the answer complete? LOAD_BAD: it is none, or it doesn't say how long it is. */
load_heard talk_http_read(const char *answer, size_t size, talk_http *out);

/* Asks and waits. `head` is the request's line and headers, each with CR LF; the rest is put behind
 * it. Copies the body; dies when the answer has another status, or on anything else. */
void talk_http_call(const char *address, const char *head, const char *body, int status, char *out,
                    size_t size);

/* ---- putting requests together ---- */

static inline char *talk_put(char *out, const char *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return out + size;
}

/* A literal. */
#define talk_say(out, text) talk_put((out), (text), sizeof(text) - 1)

/* ---- names to work on ---- */

typedef struct talk_names {
    bench_picker *pickers[LOAD_CONNECTIONS];
    bench_pick picks[LOAD_CONNECTIONS];
} talk_names;

/* Each connection gets its part of the working names. */
void talk_names_open(talk_names *names, const bench *b);
void talk_names_close(talk_names *names);
/* What a pair is on: its first step picks. */
const bench_pick *talk_names_at(talk_names *names, size_t connection, size_t step);

#endif
