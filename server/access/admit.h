/* SPDX-License-Identifier: MIT */
/* Admission: what the ops of one request need of the quotas (quotas.h), and which of them fit.
 *
 * An acquire needs a lock of its session, a session-open a session of its token. If not all fit,
 * the store is asked which ops create nothing new: an acquire of a lock that the session holds, an
 * open of a session that exists (a repeated request). Those always fit. A lock that was released
 * since, or a session that was closed, is new: at the limit it is refused. So is a session that
 * replaces another of the same token. */
#ifndef HF_SERVER_ACCESS_ADMIT_H
#define HF_SERVER_ACCESS_ADMIT_H

#include "base/arena.h"
#include "server/access/quotas.h"

typedef struct admission admission;

struct admission {
    quotas *of;
    jobs *jobs;
    const hf_op
        *ops; /* authorized; not moved until admit_leave, but for those given to admit_fit */
    size_t count;
    hf_arena *arena;
    void (*done)(admission *c); /* on the loop; perhaps before admit_ops returns */
    void *context;

    /* Results. */
    bool all_fit; /* admit_fit need not be called */
    bool full;    /* admit_fit refused something because of a limit: waiting does not help */

    /* Private to admit.c. */
    hf_status status;
    const char *message;
    quotas_claim first, *all; /* by key; `all` is `first` while there is one */
    size_t all_count, at;
    bool *there; /* of each op: it creates nothing new; NULL: not asked */
};

/* Claims what the ops need and calls `done`. Call admit_leave once afterwards; it accepts
 * zeroes. */
void admit_ops(admission *c);
void admit_leave(admission *c);

/* Whether the ops from `first` to before `end` fit, all or none. To be called once for each op, in
 * order. HF_TOO_MANY: the limit of *which is reached; another status: the store's answer. */
HF_MUST_USE hf_status admit_fit(admission *c, size_t first, size_t end, size_t *which,
                                hf_error *err);

/* Ops that were executed: their changes of sessions and locks count in the quotas at once. */
void admit_note(quotas *of, const hf_op *ops, size_t count);

#endif
