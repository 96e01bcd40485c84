/* SPDX-License-Identifier: MIT */
/* Group commit: threads that share a store share its transactions. While as many are running as
 * help the database, further batches queue, and run as one batch when one of them has ended. It has
 * no thread of its own and no timer to tune, and a single thread never waits.
 *
 *   T1  Only one short run can be grouped (hf_group_commit_may): acquires, releases, renewals,
 *       downgrades and saves of one caller, all linked. All other batches are executed directly,
 *       beside these.
 *   T2  A run whose resources another transaction is changing is executed by its own thread; the
 *       others of the group do not wait for it. Its time counts from when it came. (MySQL 8 makes
 *       all wait, for up to a second, that insert an anchor which another transaction is just
 *       inserting.)
 *   T3  If a group is unsure, or fails because the store can't be reached, that is the answer to
 *       all its members. After any other failure each member is tried alone.
 *   T4  No group has two runs of the same session and request id: the second must find what the
 *       first has done.
 *   T5  No thread waits for a group that takes long: after long_us the first in the queue runs as a
 *       further group.
 *   T6  A run that names a resource of a running group waits for that group even if a slot is free:
 *       it would only be busy. Of several that wait for the same resource T5 lets one run at a
 *       time.
 *   T7  After a group its threads come again, one by one; the first would run alone, and make all
 *       others wait for it. So where the store gathers, a slot stays free until as many have come
 *       as the last group had and were waiting, at most a third of the time that it took
 *       (or of long_us, if that is less). */
#ifndef HF_STORE_GROUP_COMMIT_H
#define HF_STORE_GROUP_COMMIT_H

#include "lock/batch.h"

#include <holdfast/store.h>

typedef struct hf_group_commit hf_group_commit;

typedef struct hf_group_commit_rule {
    /* Executes a batch. With batch->grouped other threads wait for it: what is busy at the first
     * try is answered busy at once, and HF_UNAVAILABLE means that a single run would fail too. Its
     * time counts from batch->since_us. */
    hf_status (*execute)(hf_store *store, hf_batch *batch, hf_error *err);
    unsigned at_once; /* so many transactions at a time, as a rule */
    bool in_turn;     /* the store lets one in at a time: then T5 would gain nothing, and is void */
    int64_t long_us;  /* of T5 */
    bool gathers;     /* T7: a transaction takes longer than it takes the threads to come again */
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
