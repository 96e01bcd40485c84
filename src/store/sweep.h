/* SPDX-License-Identifier: MIT */
/* Sweeping, once for all stores: what is removed, in which order, how much work a call does. A store brings the few
 * things only it can do. */
#ifndef HF_STORE_SWEEP_H
#define HF_STORE_SWEEP_H

#include "lock/apply.h"
#include "store/store.h"

/* Each gets the store's own context. A store may commit between them. */
typedef struct hf_sweep_ops {
    /* Loads the session that has been dead longest and not been ended (by expires_us, then id) with its first `limit`
     * locks in canonical order and their anchors; none: leaves the set empty. */
    hf_status (*load_dead)(void *context, hf_rows *rows, int64_t now_us, size_t limit, hf_error *err);

    /* Loads at most `limit` locks of live sessions whose own bound has come (by ends_us, type, id, session). */
    hf_status (*load_spent)(void *context, hf_rows *rows, int64_t now_us, size_t limit, hf_error *err);

    /* Saves what changed in the set. */
    hf_status (*save)(void *context, hf_rows *rows, int64_t now_us, hf_error *err);

    /* Deletes at most `limit` sessions ended at or before `before_us` (by ended_us, id), with what they lost and
     * asked for. */
    hf_status (*drop_sessions)(void *context, int64_t before_us, size_t limit, size_t *dropped,
                               hf_error *err);

    /* Looks at the next `limit` anchors in canonical order from where it stopped, and deletes those without lock or
     * request whose fence and last end are at or before `before_us`. *end: it came to the last one. */
    hf_status (*drop_anchors)(void *context, int64_t before_us, size_t limit, size_t *dropped, bool *end,
                              hf_error *err);
} hf_sweep_ops;

/* Carries out HF_OP_SWEEP in a set of the store's own. */
hf_status hf_sweep(void *context, const hf_sweep_ops *ops, hf_rows *rows, hf_op *op, int64_t now_us,
                   hf_error *err);

#endif
