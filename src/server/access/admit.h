/* SPDX-License-Identifier: MIT */
/* What the ops of one request want of the quotas (quotas.h), key by key, and which of them fit.
 *
 * An acquire wants a lock of its session, a session-open a session of its token. When not all fit,
 * the store is asked which of the ops make no new one: an acquire of what the session holds, an
 * open of a session that is there (asked again). Those always fit. What was released or closed
 * since is new: at the limit, asking again for it is refused. Nor does a session that replaces
 * another of the same token fit where that is full. */
#ifndef HF_SERVER_ADMIT_H
#define HF_SERVER_ADMIT_H

#include "base/arena.h"
#include "server/access/quotas.h"

typedef struct admission admission;

struct admission {
    quotas *of;
    jobs *jobs;
    /* judged; where they are until admit_leave, but those that admit_fit has been asked about */
    const hf_op *ops;
    size_t count;
    hf_arena *arena;
    void (*done)(admission *c); /* on the loop; perhaps before admit_ops returns */
    void *context;

    /* Found. */
    bool all_fit; /* admit_fit need not be asked */
    bool full;    /* admit_fit has refused something because of a limit: waiting does not help */

    /* Private to claims.c. */
    hf_status status;
    const char *message;
    quotas_claim first, *all; /* by key; `all` is `first` while there is one */
    size_t all_count, at;
    bool *there; /* of each op: it makes no new one; NULL: nobody asked */
};

/* Claims what they want and calls `done`. A admit_ops is followed by one admit_leave; fine on
 * zeroes. */
void admit_ops(admission *c);
void admit_leave(admission *c);

/* Whether the ops from `first` to before `end` fit, all or none; each is to be asked about once, in
 * order. HF_TOO_MANY: the limit of *which is reached; another status: what the store said. */
HF_MUST_USE hf_status admit_fit(admission *c, size_t first, size_t end, size_t *which,
                                hf_error *err);

/* Ops that have been carried out: what they did to sessions and locks counts in the quotas at once.
 * */
void admit_note(quotas *of, const hf_op *ops, size_t count);

#endif
