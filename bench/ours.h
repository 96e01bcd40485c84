/* SPDX-License-Identifier: MIT */
/* Our side of the comparisons: a store, a session and batches of acquires and releases through the
 * public API. */
#ifndef HF_BENCH_OURS_H
#define HF_BENCH_OURS_H

#include "bench.h"
#include "names.h"

#include <holdfast/store.h>

typedef struct ours {
    hf_store *store;
    bool borrowed; /* the store is someone else's to close */
    hf_credentials session;
    hf_batch *batch;
    bench_picker *picker;
    size_t batch_size; /* ops in a batch */
    bool linked;       /* saves of a batch are one set */
    size_t held;       /* locks of the session; ours_keep */
    bench_pick picks[BENCH_BATCH_MAX];
} ours;

/* Opens the store and a session in it that outlives the run. Dies on failure, as everything here.
 * */
ours *ours_open(const bench *b, const char *url);
/* The same on a store that is open, and stays so. */
ours *ours_on(const bench *b, hf_store *store);
void ours_close(ours *o);

/* Opens one more session in the store. */
void ours_session(ours *o, hf_credentials *out);

/* Acquires the first `count` picks in one batch, or releases them. */
void ours_acquire(ours *o, const hf_credentials *session, size_t count);
void ours_release(ours *o, const hf_credentials *session, size_t count);

/* Acquires and releases each working resource once, so that its anchor exists: how a store looks
 * after a while. */
void ours_visit_all(ours *o);

/* Has sessions of 10,000 locks each hold the first `count` names. */
void ours_hold(ours *o, size_t count);

/* Has the session hold `count` names, from `first` on: at most a batch of them. */
void ours_keep(ours *o, size_t first, size_t count);

/* Saves all working names for the first time. */
void ours_save_all(ours *o);

/* bench_work: pairs per second at o->batch_size; and saves by a user, of names that have all been
 * saved before. */
double ours_pairs(void *context, double seconds);
double ours_saves(void *context, double seconds);
/* The same: beats of a session after ours_keep. */
double ours_beats(void *context, double seconds);

/* Runs the batch and insists on HF_OK for it and for every op. */
void ours_execute(ours *o);

#endif
