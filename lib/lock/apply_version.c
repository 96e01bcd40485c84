/* SPDX-License-Identifier: MIT */
/* Carrying out what is asked of a resource's version: looking at it, and saving. A save is a grant
 * that lasts as long as its transaction: the law decides who may, the version is compared, and the
 * anchor is written. */
#include "lock/step.h"

#include <string.h>

static bool apply_version_expects(const hf_op *op)
{
    return op->version != 0 || op->absent;
}

static bool is_current(const hf_step *step)
{
    const hf_resource_row *row = step->of->resource;
    return hf_rules_is_current(row->version, row->gone, step->op->version, step->op->absent);
}

/* Whether an op of the linked run changes something. */
static bool run_changes(const hf_step *step)
{
    const hf_op *op = step->op;
    if (step->rows->run == 0)
        return false;
    while (op > step->batch->ops && op[-1].linked)
        op--;
    for (; hf_op_reads(op->kind); op++)
        if (!op->linked)
            return false;
    return true;
}

/* What is relied on must not come to be before the run is committed: an anchor that is not there
 * can't be locked, so it is made. */
static void pin_absence(hf_step *step)
{
    hf_resource_row *row = step->of->resource;
    if (row->present || !run_changes(step))
        return;
    hf_touch(step->rows, row);
    row->present = true;
    row->rev++;
}

void hf_do_version(hf_step *step)
{
    const hf_op *op = step->op;
    hf_answer_version(step);
    if (hf_run_done(step))
        return; /* asked again: it was so when the run was done */
    if (apply_version_expects(op) && !is_current(step))
        hf_refuse_stale(step);
    else if (op->absent)
        pin_absence(step);
    else if (!apply_version_expects(op) && step->of->resource->version == 0)
        hf_refuse(step, HF_NOT_FOUND, "%s/%s was never saved.", op->type, op->id);
}

/* ---- saving ---- */

/* Who saves: a session's user, or a user without a session. */
static hf_slice saver_user(const hf_step *step)
{
    return step->of->session != NULL ? step->of->session->user : hf_slice_of(step->op->user);
}

static hf_slice saver_name(const hf_step *step)
{
    hf_slice name = hf_slice_of(step->op->name);
    if (step->of->session != NULL)
        return step->of->session->name;
    return name.size > 0 ? name : hf_slice_of(step->op->user);
}

/* What a save that was covered since had made of the resource. */
static void answer_past(hf_step *step)
{
    hf_resource_row *row = step->of->resource, now = *row;
    const hf_save_row *past = step->of->past;
    row->version = past->version;
    row->saved_fence = past->fence;
    row->saved_us = past->saved_us;
    row->gone = past->gone;
    row->saved_user = saver_user(step);
    row->saved_name = saver_name(step);
    memset(row->saved_session, 0, sizeof row->saved_session);
    if (step->of->session != NULL)
        memcpy(row->saved_session, step->of->session->id, sizeof row->saved_session);
    hf_answer_version(step);
    *row = now;
}

/* A save that was done before, asked again with its request id. True: it has been answered. */
static bool repeated_save(hf_step *step)
{
    const hf_op *op = step->op;
    const hf_save_row *past = step->of->past;
    if (past == NULL)
        return false;
    if (past->present)
        answer_past(step);
    else if (hf_slice_equal(step->of->resource->saved_request, past->request))
        hf_answer_version(step);
    else
        return false;
    const hf_version *saved = op->answer.versions;
    if (saved != NULL &&
        ((op->version != 0 && saved->number != op->version + 1) || saved->gone != op->gone))
        hf_refuse(step, HF_INVALID,
                  "This request id has saved %s/%s as version %lld%s; save with a new request id.",
                  op->type, op->id, (long long)saved->number, saved->gone ? ", deleted" : "");
    return true;
}

/* A linked run saves a resource once: to save it twice is a mistake worth hearing of. */
static bool saved_twice(hf_step *step)
{
    for (const hf_op *op = step->op; step->rows->run != 0 && op > step->batch->ops && op[-1].linked;
         op--)
        if (op[-1].kind == HF_OP_SAVE &&
            step->rows->of_op[op - 1 - step->batch->ops].resource == step->of->resource)
            return !hf_refuse(step, HF_INVALID, "%s/%s is named twice; name each resource once.",
                              step->op->type, step->op->id);
    return false;
}

/* Whether the locks let this one save. False: refused. */
static bool may_save(hf_step *step, const hf_sight *seen)
{
    const hf_op *op = step->op;
    hf_policy policy = step->of->type->type.policy;
    hf_verdict verdict = hf_rules_judge(HF_ASK_SAVE, seen->view);
    if (verdict == HF_VERDICT_LOCKED) {
        hf_answer_holders(step, step->of->session);
        hf_refuse_locked(step);
        return false;
    }
    if (verdict == HF_VERDICT_SAVE && seen->mine == NULL &&
        (hf_rules_needs_lock(policy) || op->fence != 0))
        verdict = HF_VERDICT_NOT_HELD;
    if (verdict == HF_VERDICT_NOT_HELD && seen->mine != NULL)
        return hf_refuse(step, HF_NOT_HELD,
                         "The session holds %s/%s only to read; acquire it exclusively to save.",
                         op->type, op->id);
    if (verdict == HF_VERDICT_NOT_HELD && op->session == NULL)
        return hf_refuse(
            step, HF_NOT_HELD,
            "The policy of %s is %s: whoever saves needs an exclusive lock; acquire %s/%s in a "
            "session, and save by it.",
            op->type, hf_policy_name(policy), op->type, op->id);
    if (verdict == HF_VERDICT_NOT_HELD || (op->fence != 0 && seen->mine->fence != op->fence))
        return hf_refuse_not_held(step, seen->mine);
    if (!apply_version_expects(op) && seen->mine == NULL)
        return hf_refuse(
            step, HF_INVALID,
            "Nothing says what %s/%s was when it was read: name its version, or that it was "
            "absent, or hold its lock.",
            op->type, op->id);
    return true;
}

/* Keeps the request id of the save that this one covers. */
static void apply_version_cover(hf_step *step)
{
    hf_resource_row *row = step->of->resource;
    if (row->saved_request.size == 0 || row->saved_us + HF_KEEP_US <= step->now_us)
        return;
    hf_save_row *past = hf_rows_past(step->rows, row, row->saved_request);
    if (past == NULL)
        return;
    hf_touch(step->rows, past);
    past->present = true;
    past->version = row->version;
    past->fence = row->saved_fence;
    past->saved_us = row->saved_us;
    past->gone = row->gone;
    past->covered_us = step->now_us;
}

static void leave_event(hf_step *step)
{
    const hf_resource_row *row = step->of->resource;
    hf_event_row *event = hf_rows_event(step->rows);
    if (event == NULL)
        return;
    event->kind = row->gone ? HF_EVENT_DELETED : HF_EVENT_SAVED;
    event->type = row->type;
    event->id = row->id;
    /* not the row's copy, which the next save of the batch writes over */
    if (step->of->session != NULL)
        event->session = (hf_slice){step->of->session->id, HF_SESSION_ID_MAX};
    event->user = row->saved_user;
    event->fence = row->saved_fence;
    event->reason = hf_slice_of(step->op->text);
}

void hf_do_save(hf_step *step)
{
    hf_resource_row *row = step->of->resource;
    if (step->op->session != NULL && !hf_step_session(step))
        return;
    if (saved_twice(step) || repeated_save(step))
        return;
    hf_sight seen = hf_step_look(step);
    if (!may_save(step, &seen))
        return;
    if (apply_version_expects(step->op) && !is_current(step)) {
        hf_answer_version(step);
        hf_refuse_stale(step);
        return;
    }
    if (seen.dead)
        hf_clear_dead(step, step->of->session);
    apply_version_cover(step);
    hf_touch(step->rows, row);
    int64_t last = row->fence > step->rows->fence_floor ? row->fence : step->rows->fence_floor;
    row->present = true;
    row->rev++;
    row->fence = row->saved_fence = hf_rules_next_fence(last, step->now_us);
    row->version++;
    row->gone = step->op->gone;
    row->saved_us = step->now_us;
    row->saved_user = saver_user(step);
    row->saved_name = saver_name(step);
    row->saved_request = step->of->past == NULL ? HF_NOTHING : step->of->past->request;
    memset(row->saved_session, 0, sizeof row->saved_session);
    if (step->of->session != NULL)
        memcpy(row->saved_session, step->of->session->id, sizeof row->saved_session);
    row->saved_by = step->op;
    leave_event(step);
    hf_answer_version(step);
}
