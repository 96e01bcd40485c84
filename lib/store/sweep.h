/* SPDX-License-Identifier: MIT */
/* Sweeping, once for all stores: what is removed, in which order, how much work a call does. A
 * store brings the few things only it can do. */
#ifndef HF_STORE_SWEEP_H
#define HF_STORE_SWEEP_H

#include "lock/apply.h"
#include "store/store.h"

/* An event as a sweep looks at it. */
typedef struct hf_old_event {
    int64_t id; /* the store's own */
    int64_t seq, at_us;
    hf_event_kind kind; /* HF_EVENT_KINDS: one that a newer version wrote */
} hf_old_event;

/* The events after one number and before another, at most `limit`, in their order. */
typedef struct hf_sweep_events {
    int64_t after, before;
    size_t limit;
    hf_old_event *events; /* room for them */
    size_t count;
} hf_sweep_events;

/* How far events were removed. Neither number goes back. */
typedef struct hf_event_marks {
    /* the newest number given; that one is never removed, so that numbers go on from it */
    int64_t last;
    int64_t from;  /* from this number on none was removed; readers are told (first_seq) */
    int64_t swept; /* of those before it only what is kept longer is left */
} hf_event_marks;

/* Each gets the store's own context. A store may commit between them. */
typedef struct hf_sweep_ops {
    /* Loads the session that has been dead longest and not been ended (by expires_us, then id) with
     * its first `limit` locks in canonical order and their anchors; none: leaves the set empty. */
    hf_status (*load_dead)(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                           hf_error *err);

    /* Loads at most `limit` locks of live sessions whose own bound has come (by ends_us, type, id,
     * session), and marks them `due`. */
    hf_status (*load_spent)(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                            hf_error *err);

    /* Saves what changed in the set. */
    hf_status (*save)(void *context, hf_rows *rows, int64_t now_us, hf_error *err);

    /* Deletes at most `limit` sessions ended at or before `before_us` (by ended_us, id), with what
     * they lost and asked for. */
    hf_status (*drop_sessions)(void *context, int64_t before_us, size_t limit, size_t *dropped,
                               hf_error *err);

    /* Deletes at most `limit` covered saves of before_us or earlier (by covered_us, type, id,
     * request id). */
    hf_status (*drop_past)(void *context, int64_t before_us, size_t limit, size_t *dropped,
                           hf_error *err);

    /* Looks at the next `limit` anchors in canonical order from where it stopped, and deletes those
     * without lock or request whose fence and last end are at or before `before_us`, and that were
     * never saved, or are gone for HF_KEEP_GONE_US (before_us is HF_KEEP_US ago). *end: it came to
     * the last one. */
    hf_status (*drop_anchors)(void *context, int64_t before_us, size_t limit, size_t *dropped,
                              bool *end, hf_error *err);

    /* Events, asked for only when some are to be removed. Those without a number yet get one first:
     * none is removed before. */
    hf_status (*event_marks)(void *context, hf_event_marks *out, hf_error *err);
    hf_status (*read_events)(void *context, hf_sweep_events *walk, hf_error *err);

    /* Deletes these and saves the marks `from` and `swept`, in one transaction. */
    hf_status (*drop_events)(void *context, const hf_old_event *gone, size_t count,
                             const hf_event_marks *marks, hf_error *err);
} hf_sweep_ops;

/* Carries out HF_OP_SWEEP in a set of the store's own. */
hf_status hf_sweep(void *context, const hf_sweep_ops *ops, hf_rows *rows, hf_op *op, int64_t now_us,
                   hf_error *err);

#endif
