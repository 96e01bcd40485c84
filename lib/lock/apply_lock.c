/* SPDX-License-Identifier: MIT */
/* Carrying out what is asked of one resource: acquire, renew, downgrade, release, holds, who,
 * request, hand over. Each looks at the live locks, asks the law, and does what it says. */
#include "lock/step.h"

#include <string.h>

hf_sight hf_step_look(const hf_step *step)
{
    hf_sight seen = {.mine = NULL};
    hf_mode others_mode = HF_SHARED;
    for (hf_lock_row *lock = step->of->resource->locks; lock != NULL; lock = lock->next) {
        if (!hf_lock_lives(lock, step->now_us)) {
            seen.dead |= lock->present;
        } else if (lock->session == step->of->session) {
            seen.mine = lock;
        } else {
            seen.others++;
            others_mode = lock->mode;
        }
    }
    seen.view = hf_rules_view(seen.mine != NULL, seen.mine != NULL ? seen.mine->mode : HF_SHARED,
                              seen.others, others_mode);
    return seen;
}

/* What only the holder may do: the session lives, holds it, and by the grant it names. NULL:
 * refused. */
static hf_lock_row *apply_lock_held(hf_step *step, hf_ask ask, hf_verdict *verdict)
{
    if (!hf_step_session(step))
        return NULL;
    hf_sight seen = hf_step_look(step);
    *verdict = hf_rules_judge(ask, seen.view);
    if (seen.mine == NULL || *verdict == HF_VERDICT_NOT_HELD ||
        (step->op->fence != 0 && seen.mine->fence != step->op->fence)) {
        hf_refuse_not_held(step, seen.mine);
        return NULL;
    }
    return seen.mine;
}

/* Whether what is held was granted by the same request, or by the same linked run: it was all asked
 * again, and so is its end. */
static bool granted_with(const hf_step *step, const hf_lock_row *mine)
{
    const hf_op *by = mine == NULL ? NULL : mine->granted_by;
    if (by == NULL || hf_slice_equal(mine->request, step->request))
        return by != NULL;
    while (by < step->op && by->linked)
        by++;
    return by == step->op;
}

static hf_slice lock_scope(hf_step *step);

/* Whether the session's row has a note of this op. */
static bool apply_lock_is_noted(hf_step *step)
{
    hf_end end = {hf_step_request(step), HF_NOTHING, HF_NOTHING, 0};
    if (step->op->kind != HF_OP_RELEASE_ALL)
        end = (hf_end){end.request, hf_slice_of(step->op->type), hf_slice_of(step->op->id),
                       step->op->fence};
    return end.request.size > 0 && hf_ends_have(&step->of->session->ends, &end);
}

/* ... or of the whole linked run that it stands in. */
static bool apply_lock_run_is_noted(hf_step *step)
{
    hf_end run = {hf_run_name(step), HF_NOTHING, HF_NOTHING, 0};
    return run.request.size > 0 && hf_ends_have(&step->of->session->ends, &run);
}

/* True when this very request ended the session's hold before: asking again answers done. */
static bool ended_before(hf_step *step)
{
    const hf_resource_row *resource = step->of->resource;
    bool ended = step->rows->drops_free ? apply_lock_is_noted(step) || apply_lock_run_is_noted(step)
                                        : hf_asked_before(step) &&
                                              memcmp(resource->ended_session, step->of->session->id,
                                                     HF_SESSION_ID_MAX) == 0;
    return ended && !granted_with(step, hf_step_look(step).mine);
}

bool hf_released_all_before(hf_step *step)
{
    return step->rows->drops_free && (apply_lock_is_noted(step) || apply_lock_run_is_noted(step));
}

/* Whether an op ends the hold that the step is about. */
static bool ends_hold(const hf_step *step, const hf_op *op, const hf_op_rows *of)
{
    return of->session == step->of->session &&
           (op->kind == HF_OP_RELEASE_ALL ||
            ((op->kind == HF_OP_RELEASE || op->kind == HF_OP_HAND_OVER) &&
             of->resource == step->of->resource));
}

/* What stands behind the request id of an op that asks something of a hold. */
static hf_slice lock_scope(hf_step *step)
{
    static const char word[] = "declined ";
    if (step->op->kind != HF_OP_DECLINE)
        return step->op->kind == HF_OP_HAND_OVER ? hf_slice_of(step->op->target) : HF_NOTHING;
    char *text = hf_arena_alloc(&step->rows->arena, sizeof word - 1 + HF_SESSION_ID_MAX);
    if (text == NULL) {
        step->rows->failed = true;
        return HF_NOTHING;
    }
    memcpy(text, word, sizeof word - 1);
    memcpy(text + sizeof word - 1, step->op->target, HF_SESSION_ID_MAX);
    return (hf_slice){text, sizeof word - 1 + HF_SESSION_ID_MAX};
}

typedef bool lock_match(const hf_step *step, const hf_op *op, const hf_op_rows *of);

/* True when the linked run was done before: a later op of it that `counts` has left its trace.
 * What this very run has left is no sign of it: the anchor was touched by then. */
static bool run_left_trace(const hf_step *step, lock_match *counts)
{
    if (step->rows->run == 0 || step->of->resource->run == step->rows->run)
        return false;
    hf_step later = *step;
    for (const hf_op_rows *of = step->of; later.op->linked;) {
        later.op++;
        of++;
        later.request = hf_slice_of(later.op->request_id);
        if (!counts(step, later.op, of))
            continue;
        later.scope = lock_scope(&later);
        if (ended_before(&later))
            return true;
    }
    return false;
}

/* A later op of the run ended the hold: then this op was done too, and asking again answers so,
 * with no lock to show. */
static bool run_ended(const hf_step *step)
{
    return run_left_trace(step, ends_hold);
}

/* fence: of the grant that was lost; 0: whichever it was. */
static void drop_lost(hf_step *step, hf_session_row *session, int64_t fence)
{
    const hf_resource_row *resource = step->of->resource;
    for (hf_lost_row *lost = session->lost; lost != NULL; lost = lost->next)
        if (lost->present && (fence == 0 || fence == lost->fence) &&
            hf_slice_equal(lost->id, resource->id) && hf_slice_equal(lost->type, resource->type)) {
            hf_touch(step->rows, lost);
            lost->present = false;
        }
}

/* A row for a new grant to `session`, with the next fence; what it lost of this resource and asked
 * for is settled. */
static hf_lock_row *apply_lock_grant(hf_step *step, hf_session_row *session)
{
    hf_resource_row *resource = step->of->resource;
    hf_lock_row *lock = hf_rows_lock(step->rows, resource, session);
    if (lock == NULL)
        return NULL;
    hf_touch(step->rows, resource);
    hf_touch(step->rows, lock);
    resource->present = true;
    resource->rev++;
    int64_t last =
        resource->fence > step->rows->fence_floor ? resource->fence : step->rows->fence_floor;
    resource->fence = hf_rules_next_fence(last, step->now_us);
    lock->present = true;
    lock->fence = resource->fence;
    lock->request = step->request;
    lock->granted_by = step->op;
    for (hf_request_row *request = resource->requests; request != NULL; request = request->next)
        if (request->session == session && request->present) {
            hf_touch(step->rows, request);
            request->present = false;
        }
    drop_lost(step, session, 0);
    return lock;
}

void hf_clear_dead(hf_step *step, const hf_session_row *taker)
{
    for (hf_lock_row *lock = step->of->resource->locks; lock != NULL; lock = lock->next)
        if (lock->present && !hf_lock_lives(lock, step->now_us))
            hf_expire_lock(step, lock, taker);
}

static void grant_new(hf_step *step, const hf_sight *seen, int64_t ends_us)
{
    if (seen->others >= HF_RESOURCE_HOLDERS_MAX) {
        hf_refuse(step, HF_TOO_MANY,
                  "%s/%s is read by %d sessions already, which is the most; try again later.",
                  step->op->type, step->op->id, HF_RESOURCE_HOLDERS_MAX);
        return;
    }
    if (seen->dead)
        hf_clear_dead(step, step->of->session);
    hf_lock_row *lock = apply_lock_grant(step, step->of->session);
    if (lock == NULL)
        return;
    lock->mode = step->op->mode;
    lock->since_us = step->now_us;
    lock->ends_us = ends_us;
    lock->purpose = hf_slice_of(step->op->purpose);
    hf_lock_event(step, HF_EVENT_ACQUIRED, lock, HF_NOTHING, lock->purpose);
    step->op->answer.outcome = HF_GRANTED;
    hf_answer_lock(step, lock);
    hf_answer_version(step);
}

static void apply_lock_upgrade(hf_step *step)
{
    hf_clear_dead(step, step->of->session);
    hf_lock_row *lock = apply_lock_grant(step, step->of->session);
    if (lock == NULL)
        return;
    lock->mode = HF_EXCLUSIVE;
    hf_lock_event(step, HF_EVENT_UPGRADED, lock, HF_NOTHING, lock->purpose);
    step->op->answer.outcome = HF_UPGRADED;
    hf_answer_lock(step, lock);
    hf_answer_version(step);
}

/* A linked run may name a resource only once for each session: taking it twice is a mistake worth
 * hearing of. */
static bool named_twice(hf_step *step)
{
    hf_resource_row *resource = step->of->resource;
    bool seen = step->rows->run != 0 && resource->acquired_run == step->rows->run;
    resource->acquired_run = step->rows->run;
    for (const hf_op *op = step->op; seen && op > step->batch->ops && op[-1].linked; op--) {
        const hf_op_rows *of = &step->rows->of_op[op - 1 - step->batch->ops];
        if (op[-1].kind == HF_OP_ACQUIRE && of->resource == resource &&
            of->session == step->of->session)
            return true;
    }
    return false;
}

static bool policy_allows(hf_step *step, hf_mode mode)
{
    const hf_type *type = &step->of->type->type;
    if (hf_rules_allows(type->policy, mode))
        return true;
    if (type->policy == HF_POLICY_OPTIMISTIC)
        return hf_refuse(
            step, HF_INVALID,
            "The policy of %s is optimistic: it takes no locks; its saves compare versions.",
            type->type);
    return hf_refuse(step, HF_INVALID,
                     "The policy of %s is %s, which takes no %s locks; ask for an exclusive one.",
                     type->type, hf_policy_name(type->policy), hf_mode_name(mode));
}

static bool apply_lock_bound(hf_step *step, int64_t *ends_us)
{
    const hf_type *type = &step->of->type->type;
    switch (hf_rules_ends(type, step->op->ttl_us, step->now_us, ends_us)) {
    case HF_TTL_OVER_MAX:
        return hf_refuse(step, HF_INVALID,
                         "The ttl is longer than the longest of %s, which is %lld seconds.",
                         type->type, (long long)(type->ttl_max_us / 1000000));
    case HF_TTL_OVERFLOW:
        return hf_refuse(step, HF_INVALID,
                         "The ttl reaches beyond the end of time; give a shorter one.");
    case HF_TTL_OK:
        break;
    }
    return true;
}

void hf_do_acquire(hf_step *step)
{
    int64_t ends_us;
    if (!hf_step_session(step) || !policy_allows(step, step->op->mode) ||
        !apply_lock_bound(step, &ends_us))
        return;
    if (named_twice(step)) {
        hf_refuse(step, HF_INVALID, "%s/%s is named twice; name each resource once.",
                  step->op->type, step->op->id);
        return;
    }
    if (run_ended(step))
        return;
    hf_sight seen = hf_step_look(step);
    switch (
        hf_rules_judge(step->op->mode == HF_SHARED ? HF_ASK_SHARED : HF_ASK_EXCLUSIVE, seen.view)) {
    case HF_VERDICT_GRANT:
        grant_new(step, &seen, ends_us);
        break;
    case HF_VERDICT_UPGRADE:
        apply_lock_upgrade(step);
        break;
    case HF_VERDICT_KEEP:
        step->op->answer.outcome = HF_ALREADY_YOURS;
        hf_answer_lock(step, seen.mine);
        hf_answer_version(step);
        break;
    default:
        hf_answer_holders(step, step->of->session);
        hf_refuse_locked(step);
    }
}

void hf_do_renew(hf_step *step)
{
    hf_verdict verdict;
    int64_t ends_us;
    if (!hf_step_session(step) || run_ended(step))
        return;
    hf_lock_row *lock = apply_lock_held(step, HF_ASK_RENEW, &verdict);
    if (lock == NULL || !apply_lock_bound(step, &ends_us))
        return;
    hf_touch(step->rows, lock);
    hf_touch(step->rows, lock->resource);
    lock->resource->rev++;
    lock->ends_us = ends_us;
    if (step->op->purpose != NULL)
        lock->purpose = hf_slice_of(step->op->purpose);
    hf_lock_event(step, HF_EVENT_RENEWED, lock, HF_NOTHING, lock->purpose);
    hf_answer_lock(step, lock);
}

void hf_do_downgrade(hf_step *step)
{
    hf_verdict verdict;
    if (!hf_step_session(step) || run_ended(step))
        return;
    hf_lock_row *lock = apply_lock_held(step, HF_ASK_DOWNGRADE, &verdict);
    if (lock == NULL || !policy_allows(step, HF_SHARED))
        return;
    if (verdict == HF_VERDICT_WEAKEN) {
        hf_touch(step->rows, lock);
        hf_touch(step->rows, lock->resource);
        lock->resource->rev++;
        lock->mode = HF_SHARED;
        hf_lock_event(step, HF_EVENT_DOWNGRADED, lock, HF_NOTHING, lock->purpose);
    }
    hf_answer_lock(step, lock);
}

/* What is gone already is no longer told on beats: the session has shown that it knows. By a fence
 * it shows that of no other grant. */
static void apply_lock_forget_lost(hf_step *step)
{
    int64_t fence = step->op->fence;
    for (hf_lock_row *lock = step->of->resource->locks; lock != NULL; lock = lock->next)
        if (lock->session == step->of->session && lock->present &&
            !hf_lock_lives(lock, step->now_us) && (fence == 0 || fence == lock->fence))
            hf_expire_lock(step, lock, lock->session);
    drop_lost(step, step->of->session, fence);
}

void hf_do_release(hf_step *step)
{
    hf_verdict verdict;
    if (!hf_step_session(step) || ended_before(step))
        return;
    if (hf_step_look(step).mine == NULL && hf_run_done(step))
        return; /* the run was done; what came after it has covered its trace in the anchor */
    hf_lock_row *lock = apply_lock_held(step, HF_ASK_RELEASE, &verdict);
    if (lock == NULL) {
        if (hf_step_look(step).mine == NULL)
            apply_lock_forget_lost(step);
        return;
    }
    hf_answer_lock(step, lock);
    hf_note_end(step, lock);
    hf_end_lock(step, lock, HF_EVENT_RELEASED, HF_NOTHING, HF_NOTHING);
}

void hf_do_holds(hf_step *step)
{
    hf_verdict verdict;
    if (!hf_step_session(step) || run_ended(step))
        return;
    hf_lock_row *lock = apply_lock_held(step, HF_ASK_HOLDS, &verdict);
    if (lock != NULL)
        hf_answer_lock(step, lock);
}

void hf_do_who(hf_step *step)
{
    hf_answer_holders(step, NULL);
    hf_answer_resource_requests(step);
}

static size_t others_waiting(const hf_step *step)
{
    size_t count = 0;
    for (hf_request_row *row = step->of->resource->requests; row != NULL; row = row->next)
        count += row->present && row->session != step->of->session &&
                 hf_session_lives(row->session, step->now_us);
    return count;
}

void hf_do_request(hf_step *step)
{
    hf_resource_row *resource = step->of->resource;
    if (!hf_step_session(step))
        return;
    if (hf_rules_judge(HF_ASK_REQUEST, hf_step_look(step).view) != HF_VERDICT_ASK) {
        hf_refuse(step, HF_NOT_HELD, "Nobody else holds %s/%s; acquire it.", step->op->type,
                  step->op->id);
        return;
    }
    if (others_waiting(step) >= HF_RESOURCE_REQUESTS_MAX) {
        hf_refuse(step, HF_TOO_MANY,
                  "%d sessions wait for %s/%s already, which is the most; try again later.",
                  HF_RESOURCE_REQUESTS_MAX, step->op->type, step->op->id);
        return;
    }
    hf_request_row *row = hf_rows_request(step->rows, resource, step->of->session);
    hf_event_row *event = hf_rows_event(step->rows);
    if (row == NULL || event == NULL)
        return;
    hf_touch(step->rows, row);
    hf_touch(step->rows, resource);
    resource->rev++;
    row->present = true;
    row->at_us = step->now_us;
    row->message = hf_slice_of(step->op->text);
    event->kind = HF_EVENT_REQUESTED;
    event->type = resource->type;
    event->id = resource->id;
    event->session = (hf_slice){step->of->session->id, HF_SESSION_ID_MAX};
    event->user = step->of->session->user;
    event->reason = row->message;
    hf_answer_holders(step, step->of->session);
}

static bool target_fits(hf_step *step)
{
    const hf_session_row *target = step->of->target;
    if (target == step->of->session)
        return hf_refuse(step, HF_INVALID,
                         "%s/%s can't be handed over to the session that holds it.", step->op->type,
                         step->op->id);
    if (!target->present)
        return hf_refuse(step, HF_NOT_FOUND,
                         "Session %s, which was to get %s/%s, is not known here.", target->id,
                         step->op->type, step->op->id);
    if (!hf_session_lives(target, step->now_us))
        return hf_refuse(step, HF_EXPIRED,
                         "The session of %.*s, which was to get %s/%s, has ended.",
                         (int)target->name.size, target->name.at, step->op->type, step->op->id);
    return true;
}

/* A hand-over that was done before, asked again with its request id. */
static bool handed_before(hf_step *step)
{
    if (!ended_before(step))
        return false;
    for (hf_lock_row *lock = step->of->resource->locks; lock != NULL; lock = lock->next)
        if (lock->session == step->of->target && hf_lock_lives(lock, step->now_us))
            hf_answer_lock(step, lock);
    return true;
}

void hf_do_hand_over(hf_step *step)
{
    hf_verdict verdict;
    step->scope = lock_scope(step);
    if (!hf_step_session(step) || handed_before(step))
        return;
    if (hf_step_look(step).mine == NULL && hf_run_done(step))
        return;
    hf_lock_row *mine = apply_lock_held(step, HF_ASK_HAND_OVER, &verdict);
    if (mine == NULL || !target_fits(step))
        return;
    hf_clear_dead(step, step->of->target);
    hf_lock_row given = *mine;
    hf_note_end(step, mine);
    hf_end_lock(step, mine, HF_EVENT_RELEASED, HF_NOTHING, hf_slice_of("handed over"));
    hf_lock_row *theirs = hf_rows_lock(step->rows, step->of->resource, step->of->target);
    bool had = theirs != NULL && theirs->present; /* shared, as the giver's */
    theirs = apply_lock_grant(step, step->of->target);
    if (theirs == NULL)
        return;
    theirs->mode = given.mode;
    theirs->since_us = step->now_us;
    if (!had || given.ends_us == 0 || (theirs->ends_us != 0 && theirs->ends_us < given.ends_us))
        theirs->ends_us = given.ends_us; /* never a shorter bound than it had */
    if (!had || theirs->purpose.size == 0)
        theirs->purpose = given.purpose;
    hf_lock_event(step, HF_EVENT_HANDED_OVER, theirs, step->of->session->user, theirs->purpose);
    hf_answer_lock(step, theirs);
}

static bool apply_lock_declines(const hf_step *step, const hf_op *op, const hf_op_rows *of)
{
    return op->kind == HF_OP_DECLINE && of->session == step->of->session &&
           of->resource == step->of->resource;
}

/* A request that was declined before, asked again with its request id, alone or in a run: the
 * last one of a run has left the trace. */
static bool declined_before(hf_step *step)
{
    const hf_lock_row *mine = hf_step_look(step).mine;
    if (!ended_before(step) && !run_left_trace(step, apply_lock_declines))
        return false;
    if (mine != NULL)
        hf_answer_lock(step, mine);
    return true;
}

/* The request of the op's target; NULL: refused. */
static hf_request_row *request_of_target(hf_step *step)
{
    const hf_session_row *target = step->of->target;
    if (target == step->of->session) {
        hf_refuse(step, HF_INVALID, "Session %s holds %s/%s itself; name the one that asks for it.",
                  target->id, step->op->type, step->op->id);
        return NULL;
    }
    for (hf_request_row *row = step->of->resource->requests; row != NULL; row = row->next)
        if (row->present && row->session == target && hf_session_lives(target, step->now_us))
            return row;
    hf_refuse(step, HF_NOT_FOUND, "Session %s does not ask for %s/%s, or no longer.", target->id,
              step->op->type, step->op->id);
    return NULL;
}

static void apply_lock_decline(hf_step *step, const hf_lock_row *mine, hf_request_row *request)
{
    hf_resource_row *resource = step->of->resource;
    hf_event_row *event = hf_rows_event(step->rows);
    if (event == NULL)
        return;
    hf_touch(step->rows, request);
    hf_touch(step->rows, resource);
    resource->rev++;
    request->present = false;
    hf_note_end(step, mine);
    if (step->request.size > 0 && !step->rows->drops_free)
        hf_trace_request(step, mine);
    event->kind = HF_EVENT_DECLINED;
    event->type = resource->type;
    event->id = resource->id;
    event->session = (hf_slice){request->session->id, HF_SESSION_ID_MAX};
    event->user = request->session->user;
    event->actor = step->of->session->user;
    event->reason = hf_slice_of(step->op->text);
}

void hf_do_decline(hf_step *step)
{
    hf_verdict verdict;
    step->scope = lock_scope(step);
    if (!hf_step_session(step) || declined_before(step) || run_ended(step))
        return;
    hf_lock_row *mine = apply_lock_held(step, HF_ASK_DECLINE, &verdict);
    hf_request_row *request = mine == NULL ? NULL : request_of_target(step);
    if (request == NULL)
        return;
    apply_lock_decline(step, mine, request);
    hf_answer_lock(step, mine);
}

void hf_do_type_get(hf_step *step)
{
    const hf_type *type = &step->of->type->type;
    if (type->policy == HF_POLICY_NONE) {
        hf_refuse(step, HF_NOT_FOUND, "The type %s is not registered; it accepts both modes.",
                  type->type);
        return;
    }
    hf_type *copy = hf_arena_alloc(step->arena, sizeof *copy);
    if (copy == NULL) {
        step->rows->failed = true;
        return;
    }
    *copy = *type;
    step->op->answer.types = copy;
    step->op->answer.types_count = 1;
}
