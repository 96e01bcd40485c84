/* SPDX-License-Identifier: MIT */
/* Refused callers, in the audit log: each 401 and 403 is written by a job of its own, which nobody
 * waits for. Limited: a few a minute for each caller, some more for all together, few at once.
 * Omitted ones are counted; the next note of that caller tells how many. */
#ifndef HF_SERVER_ACCESS_DENIALS_H
#define HF_SERVER_ACCESS_DENIALS_H

#include "server/access/authorize.h"
#include "server/commit/jobs.h"

typedef struct denials denials;

enum {
    DENIALS_CALLER_MAX = 10, /* a minute, for one token, session or address */
    DENIALS_ALL_MAX = 600,   /* a minute, for all */
    DENIALS_AT_ONCE = 64,    /* under way */
};

typedef struct denials_stats {
    uint64_t written, left_out, failed;
} denials_stats;

/* `by` is borrowed until denials_free. */
hf_status denials_new(jobs *by, denials **out, hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void denials_free(denials *all);

/* Notes that `why` (HF_UNAUTHENTICATED or HF_DENIED; anything else is not noted) was answered. `op`
 * NULL: nothing was asked of the store yet. `peer` is the address it came from. Nothing is
 * borrowed. */
void denials_record(denials *all, const caller *who, const char *peer, const hf_op *op,
                    const hf_error *why);

void denials_stats_read(const denials *all, denials_stats *out);

#endif
