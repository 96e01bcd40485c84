/* SPDX-License-Identifier: MIT */
/* Rate limits: a token bucket (rate and burst), and how many requests and streams may run at once,
 * for each token, session and address. Pure but for memory: the caller passes the time, in
 * microseconds of a monotonic clock. Not thread-safe. */
#ifndef HF_SERVER_ACCESS_RATE_LIMITS_H
#define HF_SERVER_ACCESS_RATE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rate_limits rate_limits;

/* Who is limited. */
typedef enum rate_limits_kind {
    RATE_LIMITS_TOKEN,
    RATE_LIMITS_SESSION,
    RATE_LIMITS_PEER,
    RATE_LIMITS_KINDS
} rate_limits_kind;

/* What may run at once. */
typedef enum rate_limits_use {
    RATE_LIMITS_REQUEST,
    RATE_LIMITS_STREAM,
    RATE_LIMITS_USES
} rate_limits_use;

/* 0: no limit, everywhere. */
typedef struct rate_limits_rule {
    int64_t every_us; /* one more each so many microseconds: 1,000,000 / rate */
    unsigned burst;   /* so many at once when it was quiet before; 0 counts as 1 */
    unsigned at_once[RATE_LIMITS_USES]; /* under way */
} rate_limits_rule;

enum { RATE_LIMITS_MAX = 16384 }; /* idle callers that are remembered */

/* callers_max 0: RATE_LIMITS_MAX. NULL: out of memory, or no random bytes. */
rate_limits *rate_limits_new(const rate_limits_rule rules[RATE_LIMITS_KINDS], size_t callers_max);
/* Accepts NULL. */
void rate_limits_free(rate_limits *all);

/* Takes `count` from the caller's bucket, all or none. 0 counts as 1; more than the burst counts as
 * the burst, so a full bucket always suffices. False: not enough in it, or out of memory; try again
 * in *retry_after_us (never NULL). */
bool rate_limits_take(rate_limits *all, rate_limits_kind kind, const char *id, size_t count,
                      int64_t now_us, int64_t *retry_after_us);

/* Gives back one that was taken. */
void rate_limits_give(rate_limits *all, rate_limits_kind kind, const char *id);

/* How often rate_limits_take refused the caller since the last call of this. */
uint64_t rate_limits_refused(rate_limits *all, rate_limits_kind kind, const char *id);

/* A request or stream begins. True: call rate_limits_leave once when it ends. False: the limit is
 * reached. */
bool rate_limits_enter(rate_limits *all, rate_limits_kind kind, const char *id,
                       rate_limits_use use);
void rate_limits_leave(rate_limits *all, rate_limits_kind kind, const char *id,
                       rate_limits_use use);

/* Callers that are remembered now. */
size_t rate_limits_count(const rate_limits *all);

#endif
