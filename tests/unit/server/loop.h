/* SPDX-License-Identifier: MIT */
/* A loop with a committer on a store, for tests of what runs on it. */
#ifndef HF_TESTS_UNIT_SERVER_LOOP_H
#define HF_TESTS_UNIT_SERVER_LOOP_H

#include <server/commit/jobs.h>

typedef struct loop {
    struct event_base *base;
    hf_store *store;
    committer *committer;
    jobs *jobs;
} loop;

/* Owns the store. */
void loop_open(loop *l, hf_store *store);

/* Runs it until that is true; fails the test when it does not come about within a minute. */
void loop_until(loop *l, bool (*is_true)(void *context), void *context);

/* Runs it for so long. */
void loop_for(loop *l, int64_t us);

/* Stops the committer and finishes what it answered: nothing is under way any more. */
void loop_stop(loop *l);
void loop_close(loop *l);

/* A store by that URL, or the test fails. */
hf_store *loop_store(const char *url);

/* Runs one op on the store, outside of the loop; the answer has no rows. */
hf_answer loop_ask(hf_store *store, const hf_op *op);

/* Opens `sessions` sessions from the number `first` on, each with so many locks of the type; they
 * die within the hour. */
void loop_people(hf_store *store, unsigned first, unsigned sessions, unsigned locks,
                 const char *type);

#endif
