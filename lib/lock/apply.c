/* SPDX-License-Identifier: MIT */
/* Carrying out a batch: each op in order, linked runs as one, and the steps that all ops share. */
#include "lock/apply.h"

#include "base/digest.h"
#include "base/hash.h"
#include "lock/step.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what ops share ---- */

bool hf_refuse(hf_step *step, hf_status status, const char *format, ...)
{
    char sentence[HF_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    hf_text_show(sentence, sizeof sentence);
    step->op->answer.status = status;
    step->op->answer.message = hf_arena_text(step->arena, hf_slice_of(sentence));
    if (step->op->answer.message == NULL)
        step->rows->failed = true;
    return false;
}

bool hf_key_matches(const hf_credentials *credentials, const hf_session_row *row)
{
    return hf_secret_equal(credentials->key_sha256, row->key_sha256, sizeof row->key_sha256);
}

bool hf_session_lives(const hf_session_row *row, int64_t now_us)
{
    return row->present && hf_rules_live(row->ended_us, row->expires_us, 0, now_us);
}

bool hf_lock_lives(const hf_lock_row *row, int64_t now_us)
{
    return row->present && row->session->present &&
           hf_rules_live(row->session->ended_us, row->session->expires_us, row->ends_us, now_us);
}

bool hf_step_key(hf_step *step)
{
    hf_session_row *row = step->of->session;
    if (!row->present)
        return hf_refuse(step, HF_NOT_FOUND, "Session %s is not known here; open a new one.",
                         row->id);
    if (row->verified != step->op->session && !hf_key_matches(step->op->session, row))
        return hf_refuse(step, HF_DENIED,
                         "The key is not that of session %s; present the key it was opened with.",
                         row->id);
    row->verified = step->op->session;
    return true;
}

bool hf_step_expired(hf_step *step)
{
    return hf_refuse(step, HF_EXPIRED, "Your editing session has expired; reload the record.");
}

bool hf_step_session(hf_step *step)
{
    if (!hf_step_key(step))
        return false;
    return hf_session_lives(step->of->session, step->now_us) || hf_step_expired(step);
}

void hf_lock_event(hf_step *step, hf_event_kind kind, const hf_lock_row *lock, hf_slice actor,
                   hf_slice reason)
{
    hf_event_row *event = hf_rows_event(step->rows);
    if (event == NULL)
        return;
    event->kind = kind;
    event->type = lock->resource->type;
    event->id = lock->resource->id;
    event->session = (hf_slice){lock->session->id, HF_SESSION_ID_MAX};
    event->user = lock->session->user;
    event->actor = actor;
    event->fence = lock->fence;
    event->reason = reason;
}

/* The request id of an end as it is kept: "id", or "id scope", which no plain id looks like. */
hf_slice hf_step_request(hf_step *step)
{
    size_t size = step->request.size + 1 + step->scope.size;
    if (step->scope.at == NULL || step->request.size == 0)
        return step->request;
    char *text = hf_arena_alloc(&step->rows->arena, size);
    if (text == NULL) {
        step->rows->failed = true;
        return HF_NOTHING;
    }
    memcpy(text, step->request.at, step->request.size);
    text[step->request.size] = ' ';
    if (step->scope.size > 0)
        memcpy(text + step->request.size + 1, step->scope.at, step->scope.size);
    return (hf_slice){text, size};
}

void hf_trace_request(hf_step *step, const hf_lock_row *lock)
{
    hf_resource_row *resource = lock->resource;
    memcpy(resource->ended_session, lock->session->id, sizeof resource->ended_session);
    resource->ended_fence = lock->fence;
    resource->ended_us = step->now_us;
    resource->ended_request = hf_step_request(step);
}

static uint64_t apply_hash_text(uint64_t hash, const char *text)
{
    hf_slice slice = hf_slice_of(text);
    return hf_hash_bytes(hash, slice.at == NULL ? "" : slice.at, slice.size);
}

/* The name of a run: a line feed, which no request id has, and a hash of its ends. */
static hf_slice apply_make_run_name(hf_step *step)
{
    size_t ends = 0, asked = 0;
    uint64_t hash = 0;
    const hf_op *op = step->op;
    while (op > step->batch->ops && op[-1].linked)
        op--;
    for (bool more = true; more; op++) {
        more = op->linked;
        if (!hf_op_ends(op->kind) ||
            step->rows->of_op[op - step->batch->ops].session != step->of->session)
            continue;
        int64_t numbers[] = {op->kind, op->fence};
        hash = hf_hash_bytes(hash, numbers, sizeof numbers);
        hash = apply_hash_text(hash, op->request_id);
        hash = apply_hash_text(hash, op->target);
        hash = apply_hash_text(hash, op->type);
        hash = apply_hash_text(hash, op->id);
        ends++;
        asked += hf_op_leaves_end(op);
    }
    char *text = ends < 2 || asked == 0 ? NULL : hf_arena_alloc(&step->rows->arena, 20);
    step->rows->failed |= text == NULL && ends >= 2 && asked > 0;
    return text == NULL ? HF_NOTHING
                        : (hf_slice){text, (size_t)snprintf(text, 20, "\n%016" PRIx64, hash)};
}

hf_slice hf_run_name(hf_step *step)
{
    hf_session_row *session = step->of->session;
    if (step->rows->run == 0)
        return HF_NOTHING;
    if (session->named_run != step->rows->run) {
        session->named_run = step->rows->run;
        session->run_name = apply_make_run_name(step);
    }
    return session->run_name;
}

static void apply_add_end(hf_rows *rows, hf_session_row *session)
{
    session->end_noted = false;
    session->ends_changed = true;
    rows->failed |= !hf_ends_add(&rows->arena, &session->ends, &session->end);
}

void hf_note_end(hf_step *step, const hf_lock_row *lock)
{
    hf_session_row *session = step->of->session;
    if (!step->rows->drops_free || step->request.size == 0)
        return;
    hf_slice run = hf_run_name(step);
    hf_touch(step->rows, session);
    session->rev++;
    session->end = (hf_end){run.size > 0 ? run : hf_step_request(step), HF_NOTHING, HF_NOTHING, 0};
    if (lock != NULL && run.size == 0) {
        session->end.type = lock->resource->type;
        session->end.id = lock->resource->id;
        session->end.fence = lock->fence;
    }
    session->end_noted = true;
    if (step->rows->run == 0)
        apply_add_end(step->rows, session);
}

/* Where anchors go, a forced release has no session to remember it: the anchor keeps the last ones
 * for a day. One line for each op, however many holders it ended. */
static void apply_trace_forced(hf_step *step, const hf_lock_row *last)
{
    hf_resource_row *resource = step->of->resource;
    bool kept = resource->ended_us + HF_KEEP_US > step->now_us; /* those before are not too old */
    hf_ends forced = {.text = kept ? resource->ended_request : HF_NOTHING};
    hf_end end = {hf_step_request(step), resource->type, resource->id, last->fence};
    if (!hf_ends_add(&step->rows->arena, &forced, &end) ||
        !hf_ends_write(&step->rows->arena, &forced)) {
        step->rows->failed = true;
        return;
    }
    hf_trace_request(step, last);
    resource->ended_request = forced.text;
}

static bool apply_was_forced(hf_step *step)
{
    const hf_resource_row *resource = step->of->resource;
    if (!step->rows->drops_free)
        return hf_asked_before(step);
    hf_ends forced = {.text = resource->ended_request};
    hf_end end = {hf_step_request(step), resource->type, resource->id, step->op->fence};
    return step->request.size > 0 && resource->ended_us + HF_KEEP_US > step->now_us &&
           hf_ends_have(&forced, &end);
}

/* Takes the lock row away. Its end is written into the anchor, with the request that asked for it;
 * not where anchors go. */
void hf_end_lock(hf_step *step, hf_lock_row *lock, hf_event_kind kind, hf_slice actor,
                 hf_slice reason)
{
    hf_resource_row *resource = lock->resource;
    hf_lock_event(step, kind, lock, actor, reason);
    hf_touch(step->rows, lock);
    lock->present = false;
    hf_touch(step->rows, resource);
    resource->rev++;
    if (step->rows->drops_free)
        return;
    hf_trace_request(step, lock);
    if (kind == HF_EVENT_EXPIRED)
        resource->ended_request = HF_NOTHING;
}

bool hf_asked_before(const hf_step *step)
{
    const hf_resource_row *resource = step->of->resource;
    hf_slice by = resource->ended_request, id = step->request, scope = step->scope;
    if (id.size == 0 || (step->op->fence != 0 && step->op->fence != resource->ended_fence))
        return false;
    if (scope.at == NULL)
        return hf_slice_equal(by, id);
    return by.size == id.size + 1 + scope.size && memcmp(by.at, id.at, id.size) == 0 &&
           by.at[id.size] == ' ' &&
           hf_slice_equal((hf_slice){by.at + id.size + 1, scope.size}, scope);
}

static void note_lost(hf_step *step, const hf_lock_row *lock, int64_t at_us, const char *why,
                      hf_slice by, hf_slice reason)
{
    hf_lost_row *lost =
        hf_rows_lost(step->rows, lock->session, lock->resource->type, lock->resource->id);
    if (lost == NULL)
        return;
    hf_touch(step->rows, lost);
    lost->present = true;
    lost->fence = lock->fence;
    lost->at_us = at_us;
    lost->why = hf_slice_of(why);
    lost->by = by;
    lost->reason = reason;
}

void hf_expire_lock(hf_step *step, hf_lock_row *lock, const hf_session_row *taken_by)
{
    hf_end_lock(step, lock, HF_EVENT_EXPIRED, HF_NOTHING, HF_NOTHING);
    if (hf_session_lives(lock->session, step->now_us) && taken_by != lock->session)
        note_lost(step, lock, lock->ends_us, "expired",
                  taken_by == NULL ? HF_NOTHING : taken_by->name, HF_NOTHING);
}

void hf_do_force_release(hf_step *step)
{
    hf_op *op = step->op;
    if (op->session != NULL && !hf_step_session(step))
        return;
    hf_slice actor = op->actor != NULL && op->actor[0] != '\0' ? hf_slice_of(op->actor)
                                                               : step->of->session->user;
    hf_resource_row *resource = step->of->resource;
    step->scope = actor.at == NULL ? hf_slice_of("") : actor;
    if (apply_was_forced(step))
        return; /* asked again: done before, and whoever holds it now is left alone */
    size_t held = hf_answer_holders(step, NULL), ended = 0;
    const hf_lock_row *last = NULL;
    hf_lock *locks = (hf_lock *)op->answer.locks;
    for (hf_lock_row *lock = resource->locks; lock != NULL; lock = lock->next) {
        if (!hf_lock_lives(lock, step->now_us) || (op->fence != 0 && lock->fence != op->fence))
            continue;
        hf_end_lock(step, lock, HF_EVENT_FORCED, actor, hf_slice_of(op->text));
        note_lost(step, lock, step->now_us, "forced", actor, hf_slice_of(op->text));
        last = lock;
        ended++;
    }
    if (step->rows->drops_free && last != NULL && step->request.size > 0)
        apply_trace_forced(step, last);
    /* Of several holders only the one named by its fence was ended. */
    for (size_t i = 0; op->fence != 0 && ended > 0 && i < held; i++)
        if (locks[i].fence == op->fence)
            op->answer.locks = &locks[i];
    op->answer.locks_count = ended;
    if (ended == 0)
        hf_refuse_not_held(step, NULL);
}

static int compare_locks(const void *a, const void *b)
{
    const hf_lock_row *x = *(hf_lock_row *const *)a, *y = *(hf_lock_row *const *)b;
    int order = hf_slice_compare(x->resource->type, y->resource->type);
    return order != 0 ? order : hf_slice_compare(x->resource->id, y->resource->id);
}

hf_lock_row **hf_session_locks(hf_rows *rows, const hf_session_row *session, size_t *count)
{
    size_t n = 0;
    for (hf_lock_row *lock = session->locks; lock != NULL; lock = lock->session_next)
        n += lock->present;
    *count = 0;
    hf_lock_row **out = n == 0 ? NULL : hf_arena_alloc(&rows->arena, n * sizeof *out);
    if (out == NULL) {
        rows->failed |= n > 0;
        return NULL;
    }
    for (hf_lock_row *lock = session->locks; lock != NULL; lock = lock->session_next)
        if (lock->present)
            out[(*count)++] = lock;
    qsort(out, n, sizeof *out, compare_locks);
    return out;
}

void hf_session_event(hf_step *step, hf_event_kind kind, const hf_session_row *session,
                      const char *reason)
{
    hf_event_row *event = hf_rows_event(step->rows);
    hf_slice sign_in = hf_slice_of(HF_SIGN_IN);
    if (event == NULL)
        return;
    if (reason == NULL && session->caller.size > sign_in.size &&
        memcmp(session->caller.at, sign_in.at, sign_in.size) == 0)
        reason = kind == HF_EVENT_SESSION_OPENED   ? "signed in"
                 : kind == HF_EVENT_SESSION_CLOSED ? "signed out"
                                                   : NULL;
    event->kind = kind;
    event->session = (hf_slice){session->id, HF_SESSION_ID_MAX};
    event->user = session->user;
    event->reason = hf_slice_of(reason);
}

/* Ends all a session holds; those whose time is over have expired. How many live ones there were.
 * */
size_t hf_end_locks(hf_step *step, hf_session_row *session, const char *reason)
{
    size_t count, released = 0;
    hf_lock_row **locks = hf_session_locks(step->rows, session, &count);
    for (size_t i = 0; i < count; i++) {
        bool live = hf_lock_lives(locks[i], step->now_us);
        hf_end_lock(step, locks[i], live ? HF_EVENT_RELEASED : HF_EVENT_EXPIRED, HF_NOTHING,
                    hf_slice_of(reason));
        released += live;
    }
    return released;
}

/* Ends a session and what it holds; a dead one is recorded as having expired. How many live locks
 * were released. */
size_t hf_end_session(hf_step *step, hf_session_row *session, const char *reason)
{
    bool lived = hf_session_lives(session, step->now_us);
    size_t released = hf_end_locks(step, session, reason);
    hf_session_event(step, lived ? HF_EVENT_SESSION_CLOSED : HF_EVENT_SESSION_EXPIRED, session,
                     reason);
    hf_touch(step->rows, session);
    session->ended_us = step->now_us;
    session->rev++;
    return released;
}

/* ---- sweeping and types ---- */

bool hf_sweep_session(hf_rows *rows, hf_session_row *session, int64_t now_us, size_t budget,
                      size_t *swept)
{
    hf_step step = {.rows = rows, .now_us = now_us};
    size_t count;
    hf_lock_row **locks = hf_session_locks(rows, session, &count);
    for (size_t i = 0; i < count && i < budget; i++, (*swept)++)
        hf_end_lock(&step, locks[i], HF_EVENT_EXPIRED, HF_NOTHING, HF_NOTHING);
    if (count >= budget)
        return false;
    hf_session_event(&step, HF_EVENT_SESSION_EXPIRED, session, NULL);
    hf_touch(rows, session);
    session->ended_us = now_us;
    session->rev++;
    (*swept)++;
    return true;
}

void hf_sweep_lock(hf_rows *rows, hf_lock_row *lock, int64_t now_us)
{
    hf_step step = {.rows = rows, .now_us = now_us};
    hf_expire_lock(&step, lock, NULL);
}

hf_type hf_type_of_op(const hf_op *op)
{
    hf_type type = {.policy = op->policy, .ttl_us = op->ttl_us, .ttl_max_us = op->ttl_max_us};
    hf_slice_copy(type.type, sizeof type.type, hf_slice_of(op->type));
    return type;
}

void hf_apply_type_set(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_type *present,
                       bool live_locks)
{
    hf_step step = {.rows = rows, .arena = arena, .op = op};
    if (!hf_rules_type_may_change(present->policy, op->policy, live_locks)) {
        hf_refuse(
            &step, HF_INVALID,
            "The policy of %s can't become %s while locks of that type live; release them first.",
            op->type, hf_policy_name(op->policy));
        return;
    }
    hf_event_row *event = hf_rows_event(rows);
    if (event == NULL)
        return;
    event->kind = HF_EVENT_TYPE_SET;
    event->type = hf_slice_of(op->type);
    event->actor = hf_slice_of(op->actor);
    event->reason = hf_slice_of(hf_policy_name(op->policy));
}

/* ---- the batch ---- */

typedef void doer(hf_step *step);

static doer *const doers[HF_OP_KINDS] = {
    [HF_OP_SESSION_OPEN] = hf_do_session_open,
    [HF_OP_BEAT] = hf_do_beat,
    [HF_OP_CLOSE] = hf_do_close,
    [HF_OP_ACQUIRE] = hf_do_acquire,
    [HF_OP_RENEW] = hf_do_renew,
    [HF_OP_DOWNGRADE] = hf_do_downgrade,
    [HF_OP_RELEASE] = hf_do_release,
    [HF_OP_RELEASE_ALL] = hf_do_release_all,
    [HF_OP_HOLDS] = hf_do_holds,
    [HF_OP_WHO] = hf_do_who,
    [HF_OP_REQUEST] = hf_do_request,
    [HF_OP_HAND_OVER] = hf_do_hand_over,
    [HF_OP_DECLINE] = hf_do_decline,
    [HF_OP_FORCE_RELEASE] = hf_do_force_release,
    [HF_OP_TYPE_GET] = hf_do_type_get,
    [HF_OP_NOTE] = hf_do_note,
    [HF_OP_SESSION_FIND] = hf_do_session_find,
    [HF_OP_VERSION] = hf_do_version,
    [HF_OP_SAVE] = hf_do_save,
};

/* Whether a save of the run was done before; by this very run says nothing. */
static bool saved_before(const hf_op_rows *of, const hf_op *first)
{
    const hf_resource_row *resource = of->resource;
    if (of->past == NULL)
        return false;
    return of->past->present || ((resource->saved_by == NULL || resource->saved_by < first) &&
                                 hf_slice_equal(resource->saved_request, of->past->request));
}

/* Whether a linked run was done before: it is asked again when a lock it took, or a save, carries
 * the request id of its op. The op that asks need not have one: reads have none on the wire. What
 * this very run has granted carries it too, also in a row that was stored before, and says
 * nothing. */
bool hf_run_done(const hf_step *step)
{
    const hf_op *first = step->op, *last = step->op;
    if (step->rows->run == 0)
        return false;
    while (first > step->batch->ops && first[-1].linked)
        first--;
    while (last->linked)
        last++;
    for (const hf_op *op = first; op <= last; op++) {
        const hf_op_rows *of = &step->rows->of_op[op - step->batch->ops];
        if (op->kind == HF_OP_SAVE && saved_before(of, first))
            return true;
        hf_slice request = hf_slice_of(op->request_id);
        if (op->kind != HF_OP_ACQUIRE || of->resource == NULL || request.size == 0)
            continue;
        for (const hf_lock_row *lock = of->resource->locks; lock != NULL; lock = lock->next)
            if (lock->session == of->session &&
                (lock->granted_by == NULL || lock->granted_by < first) &&
                hf_lock_lives(lock, step->now_us) && hf_slice_equal(lock->request, request))
                return true;
    }
    return false;
}

static bool run_op(hf_rows *rows, hf_batch *batch, size_t index, int64_t now_us)
{
    hf_op *op = &batch->ops[index];
    hf_step step = {
        rows,  &batch->arena, op, &rows->of_op[index], now_us, hf_slice_of(op->request_id),
        batch, HF_NOTHING};
    op->answer.now_us = now_us;
    if (op->answer.status != HF_OK)
        return false;
    if (rows->no_growth != NULL && hf_op_grows(op->kind))
        return hf_refuse(&step, HF_UNAVAILABLE, "%s", rows->no_growth);
    doers[op->kind](&step);
    return op->answer.status == HF_OK;
}

static void not_applied(hf_op *op, int64_t now_us)
{
    op->answer =
        (hf_answer){.status = HF_NOT_APPLIED,
                    .now_us = now_us,
                    .message = "Undone, because an operation it is linked to was refused."};
}

/* Runs ops `from` to `to`, which stand or fall together. */
static void run_linked(hf_rows *rows, hf_batch *batch, size_t from, size_t to, int64_t now_us)
{
    size_t events_before = rows->events_count, at = from;
    hf_rows_run_begin(rows);
    while (at <= to && run_op(rows, batch, at, now_us))
        at++;
    hf_rows_run_end(rows, at > to, events_before);
    for (size_t i = from; at > to && i <= to; i++)
        if (rows->of_op[i].session != NULL && rows->of_op[i].session->end_noted)
            apply_add_end(rows, rows->of_op[i].session);
    for (size_t i = from; at <= to && i <= to; i++)
        if (i != at)
            not_applied(&batch->ops[i], now_us);
}

bool hf_rows_apply(hf_rows *rows, hf_batch *batch, int64_t now_us)
{
    hf_rows_settle(rows);
    for (size_t from = 0, to; from < batch->count && !rows->failed; from = to + 1) {
        for (to = from; batch->ops[to].linked;)
            to++;
        if (from == to)
            run_op(rows, batch, from, now_us);
        else
            run_linked(rows, batch, from, to, now_us);
    }
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        if (row->ends_changed)
            rows->failed |= !hf_ends_write(&rows->arena, &row->ends);
    hf_rows_drop(rows, now_us);
    return !rows->failed;
}
