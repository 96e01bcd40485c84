/* SPDX-License-Identifier: MIT */
/* Sweeping: dead sessions and their locks, locks past their own bound, what has been over for a
 * day, then old events. Each call does bounded work; nothing but space depends on it. */
#include "store/sweep.h"

#include "base/error.h"

typedef struct sweep_run {
    void *context;
    const hf_sweep_ops *ops;
    hf_rows *rows;
    int64_t now_us;
    size_t budget; /* rows it may still look at */
    size_t swept;
} sweep_run;

static hf_status sweep_end_dead(sweep_run *s, hf_error *err)
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
        hf_rows_drop(s->rows, s->now_us);
        status = s->rows->failed ? hf_fail_memory(err)
                                 : s->ops->save(s->context, s->rows, s->now_us, err);
        if (status != HF_OK)
            return status;
        s->swept += ended;
        s->budget -= ended;
    }
    return HF_OK;
}

static hf_status sweep_end_spent(sweep_run *s, hf_error *err)
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
    for (hf_resource_row *resource = s->rows->resources; resource != NULL;
         resource = resource->next)
        for (hf_lock_row *lock = resource->locks; lock != NULL; lock = lock->next)
            if (lock->due || !s->rows->drops_free) {
                hf_sweep_lock(s->rows, lock, s->now_us);
                ended++;
            }
    if (ended == 0)
        return HF_OK;
    hf_rows_drop(s->rows, s->now_us);
    status =
        s->rows->failed ? hf_fail_memory(err) : s->ops->save(s->context, s->rows, s->now_us, err);
    if (status != HF_OK)
        return status;
    s->swept += ended;
    s->budget -= ended;
    return HF_OK;
}

static hf_status sweep_drop_old(sweep_run *s, hf_error *err)
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
    if (s->budget > 0) {
        hf_status status = s->ops->drop_past(s->context, before_us, s->budget, &dropped, err);
        if (status != HF_OK)
            return status;
        s->swept += dropped;
        s->budget -= dropped;
    }
    return HF_OK;
}

static hf_status sweep_drop_anchors(sweep_run *s, bool *end, hf_error *err)
{
    size_t dropped = 0;
    if (s->budget == 0)
        return HF_OK;
    hf_status status =
        s->ops->drop_anchors(s->context, s->now_us - HF_KEEP_US, s->budget, &dropped, end, err);
    s->swept += dropped;
    return status;
}

/* ---- events ---- */

/* A walk looks at events in their order, from where it may begin up to the first that is too young:
 * what came after it is younger, but for a clock that went back, and waits until that one goes. So
 * it never reads more than it may, and needs no index by time. */
typedef struct walk {
    int64_t before_us; /* older ones are removed ... */
    int64_t audit_us;  /* ... and of what is kept longer, older than this */
    int64_t stop_us;   /* it stops at one that is younger */
} walk;

static hf_status sweep_walk_events(sweep_run *s, const walk *by, hf_sweep_events *over,
                                   hf_event_marks *marks, bool *stopped, hf_error *err)
{
    size_t gone = 0, looked = 0;
    over->limit = s->budget;
    hf_status status = s->ops->read_events(s->context, over, err);
    for (; status == HF_OK && looked < over->count; looked++) {
        hf_old_event event = over->events[looked];
        bool audit = event.kind == HF_EVENT_KINDS || hf_event_is_audit(event.kind);
        if (event.at_us > by->stop_us)
            break;
        if (event.seq >= marks->swept)
            marks->swept = event.seq + 1;
        if (event.at_us > (audit ? by->audit_us : by->before_us))
            continue;
        if (event.seq >= marks->from)
            marks->from = event.seq + 1;
        over->events[gone++] = event;
    }
    *stopped = looked < s->budget;
    if (status == HF_OK && looked > 0)
        status = s->ops->drop_events(s->context, over->events, gone, marks, err);
    s->budget -= looked;
    s->swept += status == HF_OK ? gone : 0;
    return status;
}

/* First what was kept longer, among those that earlier sweeps have passed; then the rest. *end: it
 * came to where both stop. */
static hf_status sweep_drop_events(sweep_run *s, const hf_op *op, bool *end, hf_error *err)
{
    hf_event_marks marks = {0};
    hf_status status = HF_OK;
    bool stopped = true;
    *end = s->budget > 0 || op->keep_events_us == 0;
    if (op->keep_events_us == 0 || s->budget == 0)
        return HF_OK;
    if (!hf_rows_reset(s->rows, 1))
        return hf_fail_memory(err);
    status = s->ops->event_marks(s->context, &marks, err);
    hf_old_event *events = hf_arena_alloc(&s->rows->arena, s->budget * sizeof *events);
    if (status != HF_OK || events == NULL)
        return status != HF_OK ? status : hf_fail_memory(err);
    int64_t before_us = s->now_us - op->keep_events_us, swept = marks.swept,
            audit_us = op->keep_forced_us == 0 ? INT64_MIN : s->now_us - op->keep_forced_us;
    if (op->keep_forced_us != 0)
        status = sweep_walk_events(
            s, &(walk){INT64_MIN, audit_us, audit_us},
            &(hf_sweep_events){.before = swept < marks.last ? swept : marks.last, .events = events},
            &marks, &stopped, err);
    *end = stopped;
    if (status == HF_OK && s->budget > 0) {
        status = sweep_walk_events(
            s, &(walk){before_us, audit_us, before_us},
            &(hf_sweep_events){.after = swept - 1, .before = marks.last, .events = events}, &marks,
            &stopped, err);
        *end &= stopped;
    } else {
        *end = false;
    }
    return status;
}

hf_status hf_sweep(void *context, const hf_sweep_ops *ops, hf_rows *rows, hf_op *op, int64_t now_us,
                   hf_error *err)
{
    sweep_run s = {context, ops, rows, now_us, op->limit == 0 ? HF_SWEEP_DEFAULT : op->limit, 0};
    bool end = false, events_end = false;
    hf_status status = sweep_end_dead(&s, err);
    if (status == HF_OK)
        status = sweep_end_spent(&s, err);
    if (status == HF_OK)
        status = sweep_drop_old(&s, err);
    if (status == HF_OK)
        status = sweep_drop_events(&s, op, &events_end, err);
    if (status == HF_OK)
        status = sweep_drop_anchors(&s, &end, err);
    op->answer.swept = s.swept;
    op->answer.more = !end || !events_end;
    return status;
}
