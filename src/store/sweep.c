/* SPDX-License-Identifier: MIT */
/* Sweeping: dead sessions and their locks, locks past their own bound, then what has been over for a day. Each call does
 * bounded work; nothing but space depends on it. */
#include "store/sweep.h"

#include "base/error.h"

typedef struct sweeper {
    void *context;
    const hf_sweep_ops *ops;
    hf_rows *rows;
    int64_t now_us;
    size_t budget; /* rows it may still look at */
    size_t swept;
} sweeper;

static hf_status end_dead(sweeper *s, hf_error *err)
{
    while (s->budget > 0) {
        if (!hf_rows_reset(s->rows, s->budget < 64 ? s->budget : 64))
            return hf_fail_memory(err);
        hf_status status = s->ops->load_dead(s->context, s->rows, s->now_us, s->budget, err);
        if (status != HF_OK || s->rows->sessions == NULL)
            return status;
        size_t ended = 0;
        hf_rows_settle(s->rows);
        hf_sweep_session(s->rows, s->rows->sessions, s->now_us, s->budget, &ended);
        status = s->rows->failed ? hf_fail_memory(err) : s->ops->save(s->context, s->rows, s->now_us, err);
        if (status != HF_OK)
            return status;
        s->swept += ended;
        s->budget -= ended;
    }
    return HF_OK;
}

static hf_status end_spent(sweeper *s, hf_error *err)
{
    if (s->budget == 0)
        return HF_OK;
    if (!hf_rows_reset(s->rows, s->budget))
        return hf_fail_memory(err);
    hf_status status = s->ops->load_spent(s->context, s->rows, s->now_us, s->budget, err);
    if (status != HF_OK)
        return status;
    size_t ended = 0;
    hf_rows_settle(s->rows);
    for (hf_resource_row *resource = s->rows->resources; resource != NULL; resource = resource->next)
        for (hf_lock_row *lock = resource->locks; lock != NULL; lock = lock->next, ended++)
            hf_sweep_lock(s->rows, lock, s->now_us);
    if (ended == 0)
        return HF_OK;
    status = s->rows->failed ? hf_fail_memory(err) : s->ops->save(s->context, s->rows, s->now_us, err);
    if (status != HF_OK)
        return status;
    s->swept += ended;
    s->budget -= ended;
    return HF_OK;
}

static hf_status drop_old(sweeper *s, bool *end, hf_error *err)
{
    int64_t before_us = s->now_us - HF_KEEP_US;
    size_t dropped = 0;
    if (s->budget > 0) {
        hf_status status = s->ops->drop_sessions(s->context, before_us, s->budget, &dropped, err);
        if (status != HF_OK)
            return status;
        s->swept += dropped;
        s->budget -= dropped;
    }
    dropped = 0;
    if (s->budget == 0)
        return HF_OK;
    hf_status status = s->ops->drop_anchors(s->context, before_us, s->budget, &dropped, end, err);
    s->swept += dropped;
    return status;
}

hf_status hf_sweep(void *context, const hf_sweep_ops *ops, hf_rows *rows, hf_op *op, int64_t now_us,
                   hf_error *err)
{
    sweeper s = {context, ops, rows, now_us, op->limit == 0 ? HF_SWEEP_DEFAULT : op->limit, 0};
    bool end = false;
    hf_status status = end_dead(&s, err);
    if (status == HF_OK)
        status = end_spent(&s, err);
    if (status == HF_OK)
        status = drop_old(&s, &end, err);
    op->answer.swept = s.swept;
    op->answer.more = !end;
    return status;
}
