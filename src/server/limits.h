/* SPDX-License-Identifier: MIT */
/* How much one caller may ask for: a rate with a burst, and how many requests and streams at once,
 * for each token, session and address by itself. Pure but for memory: the time is handed in, in
 * microseconds of any clock that does not step. Not thread-safe. */
#ifndef HF_SERVER_LIMITS_H
#define HF_SERVER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct limits limits;

/* Who is limited. */
typedef enum limits_kind { LIMITS_TOKEN, LIMITS_SESSION, LIMITS_PEER, LIMITS_KINDS } limits_kind;

/* What may be under way at once. */
typedef enum limits_use { LIMITS_REQUEST, LIMITS_STREAM, LIMITS_USES } limits_use;

/* 0: no limit, everywhere. */
typedef struct limits_rule {
    int64_t every_us;              /* one more each so many microseconds: 1,000,000 / rate */
    unsigned burst;                /* so many at once when it was quiet before; 0 counts as 1 */
    unsigned at_once[LIMITS_USES]; /* under way */
} limits_rule;

enum { LIMITS_MAX = 16384 }; /* callers with nothing under way that are remembered */

/* callers_max 0: LIMITS_MAX. NULL: memory or randomness is out. */
limits *limits_new(const limits_rule rules[LIMITS_KINDS], size_t callers_max);
/* Accepts NULL. */
void limits_free(limits *all);

/* Takes `count` from the caller's bucket, all or none; 0 counts as 1, and more than the burst as
 * the whole burst, so that a full bucket lets everyone through once. False: there are not so
 * many in it, or memory is out; try again in *retry_after_us (never NULL). */
bool limits_take(limits *all, limits_kind kind, const char *id, size_t count, int64_t now_us,
                 int64_t *retry_after_us);

/* How often the caller was refused by limits_take since this was last asked. */
uint64_t limits_refused(limits *all, limits_kind kind, const char *id);

/* Something begins; every true is followed by one limits_leave. False: as many as may be are under
 * way. */
bool limits_enter(limits *all, limits_kind kind, const char *id, limits_use use);
void limits_leave(limits *all, limits_kind kind, const char *id, limits_use use);

/* Callers that are remembered now. */
size_t limits_count(const limits *all);

#endif
