/* SPDX-License-Identifier: MIT */
/* Threads that share a store share its transactions: while as many are under way as do the server
 * good, what else is asked waits, and goes as one batch when one of them has ended. No thread of
 * its own and no timer to tune; who is alone is not held up.
 *
 *   T1  Only what is one run and quickly done goes with others (hf_group_commit_may): acquires,
 *       releases, renewals, downgrades of one caller that stand or fall together. All else goes its
 *       own way, beside these.
 *   T2  A run whose resources someone else is changing right now goes on by itself, in its own
 *       thread; its neighbours do not wait for it. Its time counts from when it came. (MySQL 8
 *       makes everyone wait, up to a second, who makes an anchor that someone else is just making.)
 *   T3  A batch that is unsure is so for all of it; one that failed because the store is away, too.
 *       After any other failure each is tried alone.
 *   T4  No run goes with another of the same session and request id: the second must find what the
 *       first has left.
 *   T5  Nobody waits behind a batch that takes long: after long_us what waits goes as a further
 *       one.
 *   T6  What names a resource of a batch under way waits for that one though there were a place: it
 *       would only be busy. Of those who wait for the same T5 lets one go at a time. */
#ifndef HF_STORE_GROUP_COMMIT_H
#define HF_STORE_GROUP_COMMIT_H

#include "lock/batch.h"

#include <holdfast/store.h>

typedef struct hf_group_commit hf_group_commit;

typedef struct hf_group_commit_rule {
    /* What executes a batch. Where batch->grouped is set others wait for it: what is busy at the
     * first try is answered so at once, and HF_UNAVAILABLE means that one alone would not fare
     * better. Its time counts from batch->since_us. */
    hf_status (*execute)(hf_store *store, hf_batch *batch, hf_error *err);
    unsigned at_once; /* so many transactions at a time, as a rule */
    bool in_turn;     /* the store lets one in at a time: then T5 would gain nothing, and is void */
    int64_t long_us;  /* of T5 */
} hf_group_commit_rule;

hf_status hf_group_commit_new(const hf_group_commit_rule *rule, hf_group_commit **out,
                              hf_error *err);
/* Nobody may be in it. Accepts NULL. */
void hf_group_commit_free(hf_group_commit *all);

/* T1. */
bool hf_group_commit_may(const hf_batch *batch);

/* As hf_store_execute. */
hf_status hf_group_commit_execute(hf_group_commit *all, hf_store *store, hf_batch *batch,
                                  hf_error *err);

/* How many stand in line now. */
size_t hf_group_commit_waiting(hf_group_commit *all);

#endif
