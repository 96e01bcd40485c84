/* SPDX-License-Identifier: MIT */
/* Who was refused stands in the audit log: each 401 and 403 is written there by a job of its own,
 * which nobody waits for. Bounded: a few a minute for each caller, some more for all together, few
 * at once. What was left out is counted, and told by the next note of that caller. */
#ifndef HF_SERVER_NOTES_H
#define HF_SERVER_NOTES_H

#include "server/jobs.h"
#include "server/rights.h"

typedef struct notes notes;

enum {
    NOTES_CALLER_MAX = 10, /* a minute, for one token, session or address */
    NOTES_ALL_MAX = 600,   /* a minute, for all */
    NOTES_AT_ONCE = 64,    /* under way */
};

typedef struct notes_stats {
    uint64_t written, left_out, failed;
} notes_stats;

/* `by` is borrowed until notes_free. */
hf_status notes_new(jobs *by, notes **out, hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void notes_free(notes *all);

/* Notes that `why` (HF_UNAUTHENTICATED or HF_DENIED; anything else is not noted) was answered. `op`
 * NULL: nothing was asked of the store yet. `peer` is the address it came from. Nothing is
 * borrowed. */
void notes_refusal(notes *all, const caller *who, const char *peer, const hf_op *op,
                   const hf_error *why);

void notes_stats_read(const notes *all, notes_stats *out);

#endif
