/* SPDX-License-Identifier: MIT */
/* SQL database stores: which ops of a transaction are deferred: those that need a row which
 * another transaction is changing, and those that depend on a deferred op. A batch runs in
 * order, so an op depends on an earlier one if it could come out differently without it. All
 * others are carried out. */
#include "store/database.h"

#include <stdio.h>
#include <string.h>

/* ---- blocked ops ---- */

static bool database_defer_session_in_way(const hf_op *op, const hf_op_rows *of)
{
    switch (op->kind) {
    case HF_OP_BEAT:
        return of->session->busy;
    case HF_OP_CLOSE:
        return of->session->busy || of->session->anchors_busy;
    case HF_OP_RELEASE_ALL:
        return of->session->anchors_busy;
    case HF_OP_SESSION_OPEN:
        return (of->open != NULL && of->open->busy) ||
               (of->replaces != NULL && (of->replaces->busy || of->replaces->anchors_busy));
    default:
        return false;
    }
}

/* Closing a session writes the anchors of what it holds. So a session that held something before
 * the snapshot is alive if that anchor is as the snapshot shows it. A lock that a closed session
 * takes later is dead at once and does no harm, unless it is handed over: so the session that
 * hands over is checked too, and one that saves, which needs no lock. */
hf_session_row *database_relied_on(const database_work *work, size_t i, int n)
{
    const hf_op_rows *of = &work->conn->rows.of_op[i];
    if (!work->nested || work->conn->sql[SQL_DO_SESSIONS_NOW] == NULL)
        return NULL;
    if (n == 1)
        return work->part.ops[i].kind == HF_OP_HAND_OVER ? of->target : NULL;
    switch (work->part.ops[i].kind) {
    case HF_OP_SESSION_OPEN:
        return of->open == NULL ? NULL : of->open->session;
    case HF_OP_HAND_OVER:
    case HF_OP_DECLINE:
    case HF_OP_REQUEST:
    case HF_OP_FORCE_RELEASE:
    case HF_OP_RELEASE_ALL:
    case HF_OP_SAVE:
        return of->session;
    case HF_OP_SESSION_FIND:
        return of->session != NULL ? of->session : of->target;
    default:
        return NULL;
    }
}

static bool database_defer_relied_on_in_way(const database_work *work, size_t i)
{
    for (int n = 0; n < DATABASE_RELIED_ON; n++) {
        const hf_session_row *row = database_relied_on(work, i, n);
        if (row != NULL && row->busy)
            return true;
    }
    return false;
}

/* Whether another transaction is changing a row that the op needs. */
static bool database_defer_in_way(const database_work *work, size_t i)
{
    const hf_op *op = &work->part.ops[i];
    const hf_op_rows *of = &work->conn->rows.of_op[i];
    /* a version is read from the anchor */
    if (hf_op_reads(op->kind) && op->kind != HF_OP_VERSION && !work->nested)
        return false;
    bool made = work->inserting != NULL && work->inserting[work->index[i]];
    return database_defer_relied_on_in_way(work, i) ||
           (of->resource != NULL && (of->resource->busy || (made && !of->resource->stored))) ||
           (of->type != NULL && work->types_busy) || database_defer_session_in_way(op, of);
}

/* ---- what comes after what ---- */

/* An op that is not carried out yet, and what it names. */
typedef struct held_op {
    const hf_op *op;
    const hf_op_rows *of;
} held_op;

/* Ops that were deferred so far, or come before the part and are not settled. */
typedef struct held_ops {
    held_op *all;
    size_t count;
} held_ops;

/* Whether it is about a session as a whole. */
static bool database_defer_is_wide(hf_op_kind kind)
{
    return kind == HF_OP_SESSION_OPEN || kind == HF_OP_CLOSE || kind == HF_OP_RELEASE_ALL;
}

/* The session whose locks it ends, all of them; NULL: none. */
static const hf_session_row *database_defer_ends_all_of(held_op it)
{
    return it.op->kind == HF_OP_SESSION_OPEN     ? it.of->replaces
           : database_defer_is_wide(it.op->kind) ? it.of->session
                                                 : NULL;
}

static bool database_defer_names(const hf_op_rows *of, const hf_session_row *session)
{
    return session != NULL &&
           (of->session == session || of->target == session || of->replaces == session ||
            (of->open != NULL && of->open->session == session));
}

static bool database_defer_share_session(const hf_op_rows *a, const hf_op_rows *b)
{
    return database_defer_names(a, b->session) || database_defer_names(a, b->target) ||
           database_defer_names(a, b->replaces) ||
           (b->open != NULL && database_defer_names(a, b->open->session));
}

static bool database_defer_share_request_id(const hf_op *a, const hf_op *b)
{
    return a->kind == HF_OP_SESSION_OPEN && b->kind == HF_OP_SESSION_OPEN &&
           a->request_id != NULL && b->request_id != NULL &&
           strcmp(a->request_id, b->request_id) == 0;
}

/* Whether the session holds it, or may when the first `before` ops of the part are done. */
static bool database_defer_may_hold(const database_work *work, const hf_session_row *session,
                                    const hf_resource_row *resource, size_t before)
{
    if (session == NULL || resource == NULL)
        return false;
    for (const hf_lock_row *lock = resource->locks; lock != NULL; lock = lock->next)
        if (lock->session == session)
            return true;
    for (size_t i = 0; i < before; i++)
        if (work->conn->rows.of_op[i].resource == resource &&
            database_defer_names(&work->conn->rows.of_op[i], session))
            return true;
    return false;
}

/* Whether op b of the part depends on a, an earlier op: in the other order one of them could
 * come out differently. That is so if they name the same resource, or the same session where one
 * of them concerns the whole session; and what a session holds counts where an op ends all of
 * it. A beat, which must not be late, does not depend on what its session takes or gives back:
 * the next beat reports that too. */
static bool database_defer_must_follow(const database_work *work, held_op a, size_t b_at)
{
    held_op b = {&work->part.ops[b_at], &work->conn->rows.of_op[b_at]};
    if (a.of->resource != NULL && a.of->resource == b.of->resource)
        return true;
    if ((database_defer_is_wide(a.op->kind) || database_defer_is_wide(b.op->kind)) &&
        database_defer_share_session(a.of, b.of))
        return true;
    return database_defer_share_request_id(a.op, b.op) ||
           database_defer_may_hold(work, database_defer_ends_all_of(a), b.of->resource, b_at) ||
           database_defer_may_hold(work, database_defer_ends_all_of(b), a.of->resource, b_at);
}

static bool database_defer_follows_any(const database_work *work, const held_ops *held, size_t i)
{
    for (size_t j = 0; j < held->count; j++)
        if (database_defer_must_follow(work, held->all[j], i))
            return true;
    return false;
}

/* What an op outside the part names, as far as it matters to the part. Rows that are not in the
 * set are made, but neither loaded nor saved. NULL: out of memory, and the set is marked as
 * failed. */
static const hf_op_rows *database_defer_named_by(hf_rows *rows, const hf_op *op)
{
    hf_op_rows *of = hf_arena_alloc(&rows->arena, sizeof *of);
    if (of == NULL) {
        rows->failed = true;
        return NULL;
    }
    if (op->session != NULL)
        of->session = hf_rows_session(rows, op->session->id);
    if (op->replaces != NULL)
        of->replaces = hf_rows_session(rows, op->replaces->id);
    if (op->target != NULL && strlen(op->target) == HF_SESSION_ID_MAX)
        of->target = hf_rows_session(rows, op->target);
    if (op->type != NULL && op->id != NULL && op->kind != HF_OP_NOTE)
        of->resource = hf_rows_resource(rows, hf_slice_of(op->type), hf_slice_of(op->id), false);
    return of;
}

/* With TRY_RUNS: ops before the part that are not settled. */
static void database_defer_add_before(const database_work *work, held_ops *held)
{
    for (size_t i = 0; work->scope == TRY_RUNS && i < work->index[0]; i++) {
        const hf_op *op = &work->batch->ops[i];
        const hf_op_rows *of =
            work->pending[i] ? database_defer_named_by(&work->conn->rows, op) : NULL;
        if (of != NULL)
            held->all[held->count++] = (held_op){op, of};
    }
}

/* ---- holding back ---- */

size_t database_run_end(const hf_batch *batch, size_t from)
{
    while (batch->ops[from].linked && from + 1 < batch->count)
        from++;
    return from;
}

static void database_defer_refuse(hf_op *op, hf_arena *arena, const char *sentence)
{
    op->answer =
        (hf_answer){.status = HF_BUSY, .message = hf_arena_text(arena, hf_slice_of(sentence))};
    if (op->answer.message == NULL)
        op->answer.message = "Someone else is in the middle of a change; try again.";
}

void database_refuse_busy(hf_op *op, hf_arena *arena)
{
    char sentence[HF_MESSAGE_SIZE];
    if (op->id != NULL && op->type != NULL)
        snprintf(sentence, sizeof sentence,
                 "Someone else is in the middle of a change of %s/%s; try again.", op->type,
                 op->id);
    else
        snprintf(sentence, sizeof sentence,
                 "Someone else is in the middle of a change of what this needs; try again.");
    hf_text_show(sentence, sizeof sentence);
    database_defer_refuse(op, arena, sentence);
}

/* Whether the op is deferred. In a group commit the callers have no order: no op depends on
 * another caller's. */
static bool database_defer_hold_back_op(database_work *work, const held_ops *held, size_t i)
{
    hf_op *op = &work->part.ops[i];
    if (op->answer.status != HF_OK)
        return false; /* it has a flaw, and needs nothing */
    if (database_defer_in_way(work, i))
        database_refuse_busy(op, &work->part.arena);
    else if (!work->batch->grouped && database_defer_follows_any(work, held, i))
        database_defer_refuse(op, &work->part.arena,
                              "Someone else is in the middle of a change of what has to be done "
                              "before this; try again.");
    else if (op->kind == HF_OP_RELEASE_ALL && work->nested && work->snapshot)
        op->answer = (hf_answer){
            .status = HF_INVALID,
            .message = "In a transaction at REPEATABLE READ or SERIALIZABLE it can't be told what "
                       "all is; release each, or do it at READ COMMITTED."};
    return op->answer.status == HF_BUSY;
}

/* A linked run is atomic, so the law undoes the rest of it, and ops that depend on any of its
 * ops are deferred too. */
void database_defer(database_work *work)
{
    hf_rows *rows = &work->conn->rows;
    held_ops held = {hf_arena_alloc(&rows->arena, work->batch->count * sizeof *held.all), 0};
    if (held.all == NULL) {
        rows->failed = true;
        return;
    }
    database_defer_add_before(work, &held);
    for (size_t at = 0, end; at < work->part.count; at = end + 1) {
        bool back = false;
        end = database_run_end(&work->part, at);
        for (size_t i = at; i <= end; i++)
            back |= database_defer_hold_back_op(work, &held, i);
        for (size_t i = at; back && i <= end; i++)
            held.all[held.count++] = (held_op){&work->part.ops[i], &rows->of_op[i]};
    }
}
