/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: sweeping. sweep.c says what goes and in which order. Each step here is
 * committed, or not at all when a row has changed: then the sweep begins again. */
#include "base/error.h"
#include "base/seams.h"
#include "store/kv.h"

#include <stdio.h>
#include <stdlib.h>

/* A set for the next step. */
static bool sweep_reset(kv_work *work, size_t size)
{
    kv_reset(work);
    if (!hf_rows_reset(work->rows, size))
        kv_fail_memory(work);
    return work->status == HF_OK;
}

static hf_status sweep_commit(kv_work *work)
{
    kv_commit_now(work, false);
    if (work->status == HF_OK)
        work->sent = false; /* it is known what became of it */
    return work->status == HF_OK && work->conflict ? HF_RETRY : work->status;
}

static hf_status sweep_save(void *context, hf_rows *rows, int64_t now_us, hf_error *err)
{
    (void)rows;
    (void)now_us;
    (void)err;
    kv_save_rows(context);
    return sweep_commit(context);
}

/* Members that begin with a time, up to that time. */
static kv_range sweep_due(kv_work *work, const char *set, int64_t until_us, size_t limit)
{
    return kv_page(work, hf_slice_of(set), HF_NOTHING, kv_until(work, until_us), limit);
}

/* The resources of these members are to be loaded. */
static void sweep_want(kv_work *work, const kv_range *names, bool timed, size_t limit)
{
    for (size_t i = 0; i < names->count && i < limit; i++) {
        hf_slice member = names->members[i];
        if (timed)
            kv_cut(&member, '\1');
        hf_resource_row *row = kv_named(work, member, NULL);
        if (row != NULL)
            row->wanted = row->wants_requests = true;
    }
}

/* After loading: until when what is decided holds. */
static hf_status sweep_load(kv_work *work)
{
    kv_load(work);
    work->commit.deadline_us = kv_deadline(work);
    return work->status;
}

/* A store that forgets may have lost the row of a session: then it has nothing to be compared with,
 * and what still names it is taken out of the sets. */
static void sweep_forget(kv_work *work, const hf_session_row *row, const char *set, hf_slice member)
{
    if (row->stored)
        return;
    kv_add_change(work, &work->commit.changes, hf_slice_of(set), member, false);
    kv_add_change(work, &work->commit.changes, hf_slice_of("sessions"), kv_id(row), false);
}

/* ---- the dead and the spent ---- */

static hf_status sweep_load_dead(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                 hf_error *err)
{
    kv_work *work = context;
    kv_reset(work);
    kv_range dead = sweep_due(work, "expiry", now_us, 1);
    if (dead.count == 0)
        return work->status;
    hf_slice id = dead.members[0];
    kv_cut(&id, '\1');
    hf_session_row *row = id.size == HF_SESSION_ID_MAX ? hf_rows_session(rows, id.at) : NULL;
    if (row == NULL)
        return hf_fail_memory(err);
    kv_range holds = kv_page(work, KV_KEY(work, "h:", id), HF_NOTHING, HF_NOTHING, SIZE_MAX);
    for (size_t i = 0; i < holds.count; i++)
        kv_cut(&holds.members[i], '\1'); /* in canonical order, not in that of their bounds */
    kv_sort(&holds, HF_NOTHING);
    sweep_want(work, &holds, false, limit);
    if (sweep_load(work) != HF_OK)
        return work->status;
    sweep_forget(work, row, "expiry", dead.members[0]);
    work->conflict = row->ended_us != 0 || row->expires_us > now_us; /* it has just beaten */
    return work->conflict ? HF_RETRY : HF_OK;
}

/* Passes over locks of dead sessions, and over members whose row a store that forgets has lost. */
static hf_status sweep_load_spent(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                  hf_error *err)
{
    kv_work *work = context;
    size_t due = 0;
    kv_range names = {0};
    (void)rows;
    (void)err;
    kv_reset(work);
    do {
        names = kv_page(work, hf_slice_of("bounds"),
                        names.count > 0 ? names.members[names.count - 1] : HF_NOTHING,
                        kv_until(work, now_us), limit);
        sweep_want(work, &names, true, limit);
        sweep_load(work);
        for (size_t i = 0; i < names.count && due < limit && work->status == HF_OK; i++) {
            hf_slice member = names.members[i], session;
            kv_cut(&member, '\1');
            hf_resource_row *row = kv_named(work, member, &session);
            hf_lock_row *lock = row == NULL ? NULL : row->locks;
            while (lock != NULL && !hf_slice_equal(session, kv_id(lock->session)))
                lock = lock->next;
            if (lock == NULL || lock->ends_us == 0 || lock->ends_us > now_us ||
                lock->session->ended_us != 0 || lock->session->expires_us <= now_us)
                continue;
            lock->due = true;
            due++;
        }
    } while (due < limit && names.count == limit && work->status == HF_OK);
    return work->status;
}

/* ---- what is over ---- */

static void sweep_drop(hf_rows *rows, hf_resource_row *row)
{
    row->changed = true;
    row->present = false;
    if (row->fence > rows->fence_floor) {
        rows->fence_floor = row->fence;
        rows->floor_raised = true;
    }
}

/* What only this session asked for, and is free otherwise, leaves no row. */
static void sweep_drop_request(hf_rows *rows, hf_resource_row *row, const hf_session_row *session)
{
    bool free_now = row->stored && row->version == 0 && row->ended_request.size == 0;
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        free_now &= !lock->present;
    for (hf_request_row *it = row->requests; it != NULL; it = it->next) {
        if (it->session == session) {
            it->changed = row->changed = true;
            it->present = false;
        }
        free_now &= !it->present;
    }
    if (free_now && row->changed)
        sweep_drop(rows, row);
}

static hf_status sweep_drop_session(kv_work *work, hf_slice member)
{
    hf_slice id = member;
    kv_cut(&id, '\1');
    if (id.size != HF_SESSION_ID_MAX || !sweep_reset(work, 16))
        return work->status;
    /* An acquire that ran beside the close may have left a lock, which has been dead since. */
    kv_range left = {.set = KV_KEY(work, "h:", id), .limit = SIZE_MAX},
             asked = {.set = KV_KEY(work, "q:", id), .limit = SIZE_MAX, .next = &left};
    kv_read_ranges(work, &asked);
    hf_session_row *row = hf_rows_session(work->rows, id.at);
    if (row == NULL)
        kv_fail_memory(work);
    else
        row->wants_lost = true;
    sweep_want(work, &asked, false, asked.count);
    sweep_want(work, &left, true, left.count);
    kv_load(work);
    if (work->status != HF_OK)
        return work->status;
    sweep_forget(work, row, "ended", member);
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->session_next)
        hf_sweep_lock(work->rows, lock, work->now_us);
    if (row->locks != NULL)
        hf_rows_drop(work->rows, work->now_us);
    for (hf_resource_row *it = work->rows->resources; it != NULL; it = it->next)
        sweep_drop_request(work->rows, it, row);
    row->changed = true;
    row->present = false;
    return sweep_save(work, work->rows, work->now_us, NULL);
}

static hf_status sweep_drop_sessions(void *context, int64_t before_us, size_t limit,
                                     size_t *dropped, hf_error *err)
{
    kv_work *work = context;
    (void)err;
    kv_range ended = sweep_due(work, "ended", before_us, limit);
    hf_status status = work->status;
    for (size_t i = 0; i < ended.count && status == HF_OK; i++) {
        status = sweep_drop_session(work, ended.members[i]);
        *dropped += status == HF_OK;
    }
    return status;
}

static hf_status sweep_drop_past(void *context, int64_t before_us, size_t limit, size_t *dropped,
                                 hf_error *err)
{
    kv_work *work = context;
    (void)err;
    if (!sweep_reset(work, 1))
        return work->status;
    kv_range old = sweep_due(work, "covered", before_us, limit);
    for (size_t i = 0; i < old.count; i++) {
        hf_slice name = old.members[i];
        kv_cut(&name, '\1');
        kv_put_text(work, KV_KEY(work, "p:", name), HF_NOTHING);
        kv_add_change(work, &work->commit.changes, hf_slice_of("covered"), old.members[i], false);
    }
    hf_status status = old.count == 0 ? work->status : sweep_commit(work);
    *dropped = status == HF_OK ? old.count : 0;
    return status;
}

/* ---- resources ---- */

static bool sweep_is_old(const hf_resource_row *row, int64_t before_us)
{
    return row->stored && row->locks == NULL && row->requests == NULL && row->fence <= before_us &&
           row->ended_us <= before_us &&
           (row->version == 0 ||
            (row->gone && row->saved_us <= before_us + HF_KEEP_US - HF_KEEP_GONE_US));
}

/* Saves that the last one has covered were swept long before. */
static hf_status kv_sweep_anchors(void *context, int64_t before_us, size_t limit, size_t *dropped,
                                  bool *end, hf_error *err)
{
    kv_work *work = context;
    hf_slice from = HF_NOTHING;
    size_t gone = 0;
    (void)err;
    if (!sweep_reset(work, limit < 64 ? limit : 64))
        return work->status;
    kv_want(work, KV_PLAIN, &from, hf_slice_of("swept_to"));
    kv_load_rest(work);
    kv_range names = kv_page(work, hf_slice_of("kept"), from, HF_NOTHING, limit + 1);
    *end = names.count <= limit;
    names.count = *end ? names.count : limit;
    sweep_want(work, &names, false, limit);
    kv_load(work);
    for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
        if (work->status == HF_OK && sweep_is_old(row, before_us)) {
            sweep_drop(work->rows, row);
            gone++;
        }
    if (work->status != HF_OK || (gone == 0 && *end && from.size == 0))
        return work->status;
    kv_put_text(work, hf_slice_of("swept_to"), *end ? HF_NOTHING : names.members[limit - 1]);
    hf_status status = sweep_save(work, work->rows, work->now_us, NULL);
    *dropped = status == HF_OK ? gone : 0;
    return status;
}

/* ---- events ---- */

static hf_status sweep_marks(void *context, hf_event_marks *out, hf_error *err)
{
    kv_work *work = context;
    hf_slice seq = HF_NOTHING, marks = HF_NOTHING;
    (void)err;
    kv_reset(work);
    kv_get *last = kv_want(work, KV_PLAIN, &seq, hf_slice_of("seq"));
    if (last != NULL)
        last->compared = false; /* events may be written meanwhile */
    kv_want(work, KV_PLAIN, &marks, hf_slice_of("marks"));
    kv_load_rest(work);
    *out = (hf_event_marks){0};
    kv_number(seq, &out->last);
    kv_read_marks(marks, out);
    return work->status;
}

static hf_status sweep_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    int64_t *seqs, before = walk->before < 1 ? 1 : walk->before;
    hf_event_row *rows;
    (void)err;
    walk->count = kv_read_events(context, walk->after, before, walk->limit, &seqs, &rows);
    for (size_t i = 0; i < walk->count; i++)
        walk->events[i] = (hf_old_event){seqs[i], seqs[i], rows[i].at_us, rows[i].kind};
    return ((kv_work *)context)->status;
}

static hf_status kv_sweep_events(void *context, const hf_old_event *gone, size_t count,
                                 const hf_event_marks *marks, hf_error *err)
{
    kv_work *work = context;
    char text[48];
    hf_slice written;
    int size =
        snprintf(text, sizeof text, "%lld\t%lld", (long long)marks->from, (long long)marks->swept);
    if (!hf_arena_copy(&work->rows->arena, (hf_slice){text, (size_t)size}, &written))
        return hf_fail_memory(err);
    work->commit = (kv_commit){.gone = gone, .gone_count = count};
    kv_put_text(work, hf_slice_of("marks"), written);
    hf_status status = sweep_commit(work);
    for (kv_get *get = work->gets; get != NULL && status == HF_OK; get = get->next)
        if (get->compared)
            get->value = written; /* for what is dropped next */
    return status;
}

static const hf_sweep_ops kv_sweep_ops = {sweep_load_dead,     sweep_load_spent,  sweep_save,
                                          sweep_drop_sessions, sweep_drop_past,   kv_sweep_anchors,
                                          sweep_marks,         sweep_read_events, kv_sweep_events};

/* What was swept before a conflict stays swept. */
void kv_sweep(kv_work *work, hf_op *op)
{
    size_t limit = op->limit == 0 ? HF_SWEEP_DEFAULT : op->limit, swept = 0;
    for (;;) {
        hf_op part = *op;
        part.limit = limit - swept;
        work->status = HF_OK;
        work->conflict = false;
        hf_status status =
            hf_sweep(work, &kv_sweep_ops, work->rows, &part, work->now_us, work->err);
        swept += part.answer.swept;
        op->answer.swept = swept;
        op->answer.more = part.answer.more;
        if (!work->conflict) {
            if (work->status == HF_OK && status != HF_OK)
                work->status = status;
            return;
        }
        work->status = HF_OK;
        if (swept >= limit || hf_seam.boot_us() >= work->until_us)
            break;
    }
    work->conflict = swept == 0; /* tried again, or busy */
    op->answer.more = true;
}
