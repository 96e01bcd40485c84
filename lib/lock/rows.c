/* SPDX-License-Identifier: MIT */
/* The working set: finding and making rows, and putting back what a refused linked run touched. */
#include "lock/rows.h"

#include "base/hash.h"
#include "base/seams.h"

#include <stdlib.h>
#include <string.h>

/* ---- the hash ---- */

uint64_t hf_resource_hash(uint64_t seed, hf_slice type, hf_slice id)
{
    return hf_hash_bytes(hf_hash_bytes(seed, type.at, type.size), id.at, id.size);
}

/* ---- making and finding rows ---- */

bool hf_rows_reset(hf_rows *rows, size_t ops)
{
    *rows = (hf_rows){.arena = rows->arena,
                      .seed = rows->seed,
                      .drops_free = rows->drops_free,
                      .drops_held = rows->drops_held,
                      .counts_beats = rows->counts_beats};
    hf_arena_reset(&rows->arena);
    rows->sessions_end = &rows->sessions;
    rows->resources_end = &rows->resources;
    rows->hash_size = 16;
    while (rows->hash_size < 2 * ops)
        rows->hash_size *= 2;
    rows->of_op = hf_arena_alloc(&rows->arena, (ops == 0 ? 1 : ops) * sizeof *rows->of_op);
    rows->session_hash = hf_arena_alloc(&rows->arena, rows->hash_size * sizeof *rows->session_hash);
    rows->resource_hash =
        hf_arena_alloc(&rows->arena, rows->hash_size * sizeof *rows->resource_hash);
    return rows->of_op != NULL && rows->session_hash != NULL && rows->resource_hash != NULL;
}

void hf_rows_done(hf_rows *rows)
{
    hf_arena_done(&rows->arena);
    memset(rows, 0, sizeof *rows);
}

/* Memory from the set's arena; a failure sticks. */
static void *lock_rows_take(hf_rows *rows, size_t size)
{
    void *out = hf_arena_alloc(&rows->arena, size);
    if (out == NULL)
        rows->failed = true;
    return out;
}

hf_session_row *hf_rows_session(hf_rows *rows, const char *id)
{
    hf_session_row **at = &rows->session_hash[hf_hash_bytes(rows->seed, id, HF_SESSION_ID_MAX) &
                                              (rows->hash_size - 1)];
    for (; *at != NULL; at = &(*at)->chain)
        if (memcmp((*at)->id, id, HF_SESSION_ID_MAX) == 0)
            return *at;
    hf_session_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    memcpy(row->id, id, HF_SESSION_ID_MAX);
    *at = row;
    *rows->sessions_end = row;
    rows->sessions_end = &row->next;
    rows->sessions_count++;
    return row;
}

hf_type_row *hf_rows_type(hf_rows *rows, hf_slice type)
{
    for (hf_type_row *row = rows->types; row != NULL; row = row->next)
        if (hf_slice_equal((hf_slice){row->type.type, row->size}, type))
            return row;
    hf_type_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    row->size = type.size;
    hf_slice_copy(row->type.type, sizeof row->type.type, type);
    row->next = rows->types;
    rows->types = row;
    return row;
}

/* A session may bring more resources into the set than the batch has ops: the hash grows with them.
 * */
static void grow_hash(hf_rows *rows)
{
    size_t size = rows->hash_size * 4;
    hf_resource_row **resources = lock_rows_take(rows, size * sizeof *resources);
    hf_session_row **sessions = lock_rows_take(rows, size * sizeof *sessions);
    if (resources == NULL || sessions == NULL)
        return;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next) {
        row->chain = resources[row->hash & (size - 1)];
        resources[row->hash & (size - 1)] = row;
    }
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        hf_session_row **at =
            &sessions[hf_hash_bytes(rows->seed, row->id, HF_SESSION_ID_MAX) & (size - 1)];
        row->chain = *at;
        *at = row;
    }
    rows->resource_hash = resources;
    rows->session_hash = sessions;
    rows->hash_size = size;
}

hf_resource_row *hf_rows_resource(hf_rows *rows, hf_slice type, hf_slice id, bool copy)
{
    uint64_t hash = hf_resource_hash(rows->seed, type, id);
    if (rows->resources_count > rows->hash_size)
        grow_hash(rows);
    hf_resource_row **at = &rows->resource_hash[hash & (rows->hash_size - 1)];
    for (; *at != NULL; at = &(*at)->chain)
        if ((*at)->hash == hash && hf_slice_equal((*at)->id, id) &&
            hf_slice_equal((*at)->type, type))
            return *at;
    hf_resource_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    row->type = type;
    row->id = id;
    if (copy && (!hf_arena_copy(&rows->arena, type, &row->type) ||
                 !hf_arena_copy(&rows->arena, id, &row->id))) {
        rows->failed = true;
        return NULL;
    }
    row->hash = hash;
    *at = row;
    *rows->resources_end = row;
    rows->resources_end = &row->next;
    rows->resources_count++;
    return row;
}

hf_lock_row *hf_rows_lock(hf_rows *rows, hf_resource_row *resource, hf_session_row *session)
{
    hf_lock_row *last = NULL;
    for (hf_lock_row *row = resource->locks; row != NULL; last = row, row = row->next)
        if (row->session == session)
            return row;
    hf_lock_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    hf_rows_keep(rows, resource, sizeof *resource, &resource->run);
    hf_rows_keep(rows, session, sizeof *session, &session->run);
    row->resource = resource;
    row->session = session;
    if (last == NULL) {
        resource->locks = row;
    } else {
        hf_rows_keep(rows, last, sizeof *last, &last->run);
        last->next = row;
    }
    row->session_next = session->locks;
    session->locks = row;
    return row;
}

hf_request_row *hf_rows_request(hf_rows *rows, hf_resource_row *resource, hf_session_row *session)
{
    for (hf_request_row *row = resource->requests; row != NULL; row = row->next)
        if (row->session == session)
            return row;
    hf_request_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    hf_rows_keep(rows, resource, sizeof *resource, &resource->run);
    row->resource = resource;
    row->session = session;
    row->next = resource->requests;
    resource->requests = row;
    return row;
}

hf_lost_row *hf_rows_lost(hf_rows *rows, hf_session_row *session, hf_slice type, hf_slice id)
{
    for (hf_lost_row *row = session->lost; row != NULL; row = row->next)
        if (hf_slice_equal(row->id, id) && hf_slice_equal(row->type, type))
            return row;
    return hf_rows_lost_new(rows, session, type, id);
}

hf_lost_row *hf_rows_lost_new(hf_rows *rows, hf_session_row *session, hf_slice type, hf_slice id)
{
    hf_lost_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    hf_rows_keep(rows, session, sizeof *session, &session->run);
    row->session = session;
    row->type = type;
    row->id = id;
    row->next = session->lost;
    session->lost = row;
    return row;
}

hf_save_row *hf_rows_past(hf_rows *rows, hf_resource_row *resource, hf_slice request)
{
    for (hf_save_row *row = resource->past; row != NULL; row = row->next)
        if (hf_slice_equal(row->request, request))
            return row;
    hf_save_row *row = lock_rows_take(rows, sizeof *row);
    if (row == NULL)
        return NULL;
    hf_rows_keep(rows, resource, sizeof *resource, &resource->run);
    row->resource = resource;
    row->request = request;
    row->next = resource->past;
    resource->past = row;
    return row;
}

bool hf_rows_save_request(hf_rows *rows, const hf_op *op, hf_slice *out)
{
    hf_slice id = hf_slice_of(op->request_id);
    hf_slice who = op->session != NULL ? (hf_slice){op->session->id, HF_SESSION_ID_MAX}
                                       : hf_slice_of(op->user);
    size_t spaces = op->session != NULL ? 1 : 2;
    *out = HF_NOTHING;
    if (id.size == 0)
        return true;
    char *text = lock_rows_take(rows, id.size + spaces + who.size);
    if (text == NULL)
        return false;
    memcpy(text, id.at, id.size);
    memset(text + id.size, ' ', spaces);
    memcpy(text + id.size + spaces, who.at, who.size);
    *out = (hf_slice){text, id.size + spaces + who.size};
    return true;
}

bool hf_rows_want_taker(hf_rows *rows, hf_lost_row *lost)
{
    if (!lost->session->wants_requests || lost->by.size > 0)
        return true;
    lost->resource = hf_rows_resource(rows, lost->type, lost->id, false);
    if (lost->resource != NULL)
        lost->resource->wanted = true;
    return lost->resource != NULL;
}

hf_event_row *hf_rows_event(hf_rows *rows)
{
    if (rows->events_count == rows->events_room) {
        size_t room = rows->events_room == 0 ? 16 : rows->events_room * 2;
        hf_event_row *events = lock_rows_take(rows, room * sizeof *events);
        if (events == NULL)
            return NULL;
        if (rows->events_count > 0)
            memcpy(events, rows->events, rows->events_count * sizeof *events);
        rows->events = events;
        rows->events_room = room;
    }
    hf_event_row *event = &rows->events[rows->events_count++];
    memset(event, 0, sizeof *event);
    return event;
}

static int rows_by_fence(const void *a, const void *b)
{
    const hf_lock_row *x = *(hf_lock_row *const *)a, *y = *(hf_lock_row *const *)b;
    return x->fence < y->fence ? -1 : x->fence > y->fence;
}

static void rows_settle(hf_rows *rows, hf_resource_row *resource)
{
    size_t count = 0;
    for (hf_lock_row *row = resource->locks; row != NULL; row = row->next)
        count++;
    hf_lock_row **sorted = count < 2 ? NULL : lock_rows_take(rows, count * sizeof *sorted),
                **at = sorted;
    if (sorted == NULL)
        return;
    for (hf_lock_row *row = resource->locks; row != NULL; row = row->next)
        *at++ = row;
    qsort(sorted, count, sizeof *sorted, rows_by_fence);
    for (size_t i = 0; i < count; i++)
        sorted[i]->next = i + 1 < count ? sorted[i + 1] : NULL;
    resource->locks = sorted[0];
}

void hf_rows_settle(hf_rows *rows)
{
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        if (row->locks != NULL && row->locks->next != NULL)
            rows_settle(rows, row);
}

/* ---- rows that say nothing ---- */

/* What a resource's locks don't say: that it was saved, and how it was forced away. A forced
 * release that can be asked again leaves its trace in the row, for a day. */
static bool rows_says_more(const hf_resource_row *row, int64_t now_us)
{
    return row->version != 0 ||
           (row->ended_request.size > 0 && row->ended_us + HF_KEEP_US > now_us);
}

/* Whether it is held or asked for; *fence becomes the highest of its locks. */
static bool rows_is_used(const hf_resource_row *row, int64_t *fence)
{
    bool used = false;
    *fence = 0;
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        if (lock->present) {
            used = true;
            *fence = lock->fence > *fence ? lock->fence : *fence;
        }
    for (const hf_request_row *request = row->requests; request != NULL; request = request->next)
        used |= request->present;
    return used;
}

static void rows_drop(hf_rows *rows, hf_resource_row *row, int64_t now_us)
{
    int64_t held;
    bool used = rows_is_used(row, &held), more = rows_says_more(row, now_us);
    if (!more && row->fence > held && row->fence > rows->fence_floor) {
        rows->fence_floor = row->fence;
        rows->floor_raised = true;
    }
    if (!more)
        row->ended_request = HF_NOTHING;
    row->present = more || (used && !rows->drops_held);
    if (!row->stored && row->rev < row->fence)
        row->rev = row->fence;
}

void hf_rows_drop(hf_rows *rows, int64_t now_us)
{
    hf_resource_row *row = rows->drops_free ? rows->resources : NULL;
    for (; row != NULL; row = row->next)
        if (row->changed && row->present)
            rows_drop(rows, row, now_us);
}

/* ---- what a batch names ---- */

static bool want_open(hf_rows *rows, const hf_op *op, hf_op_rows *of)
{
    if (op->request_id == NULL || op->request_id[0] == '\0')
        return true;
    /* A request id is scoped to its caller, since two may choose the same: "id caller". */
    hf_slice caller = hf_slice_of(op->caller), id = hf_slice_of(op->request_id);
    size_t size = id.size + (caller.size > 0 ? 1 + caller.size : 0);
    char *key = lock_rows_take(rows, size);
    if (key == NULL)
        return false;
    memcpy(key, id.at, id.size);
    if (caller.size > 0) {
        key[id.size] = ' ';
        memcpy(key + id.size + 1, caller.at, caller.size);
    }
    hf_slice request = {key, size};
    for (of->open = rows->opens; of->open != NULL; of->open = of->open->next)
        if (hf_slice_equal(of->open->request, request))
            return true;
    hf_open_row *open = lock_rows_take(rows, sizeof *open);
    if (open == NULL)
        return false;
    open->request = request;
    open->next = rows->opens;
    rows->opens = open;
    of->open = open;
    return true;
}

static bool want_sessions(hf_rows *rows, const hf_op *op, hf_op_rows *of)
{
    if (op->session != NULL) {
        /* The ops of a batch are often one session's: then the row is that of the op before. */
        bool same = of > rows->of_op && of[-1].session != NULL && op[-1].session == op->session;
        of->session = same ? of[-1].session : hf_rows_session(rows, op->session->id);
        if (of->session == NULL)
            return false;
        bool ends = op->kind == HF_OP_CLOSE || op->kind == HF_OP_RELEASE_ALL;
        of->session->wants_ends |= rows->drops_free && hf_op_leaves_end(op);
        if (op->kind == HF_OP_BEAT)
            of->session->beats = true;
        else
            of->session->acts = true;
        of->session->wants_locks |= ends || op->kind == HF_OP_BEAT;
        of->session->wants_anchors |= ends;
        of->session->writes |= op->kind == HF_OP_CLOSE || op->kind == HF_OP_BEAT;
        of->session->wants_requests |= op->kind == HF_OP_BEAT;
        of->session->wants_lost |= op->kind == HF_OP_BEAT || op->kind == HF_OP_RELEASE_ALL;
    }
    if (op->target != NULL) {
        if ((of->target = hf_rows_session(rows, op->target)) == NULL)
            return false;
        of->target->acts = true;
    }
    if (op->replaces != NULL) {
        if ((of->replaces = hf_rows_session(rows, op->replaces->id)) == NULL)
            return false;
        of->replaces->wants_locks = of->replaces->wants_anchors = of->replaces->writes = true;
        of->replaces->acts = true;
    }
    return true;
}

static bool want_resource(hf_rows *rows, const hf_op *op, hf_op_rows *of)
{
    if (op->type == NULL || op->kind == HF_OP_NOTE) /* which only names it */
        return true;
    hf_slice type = hf_slice_of(op->type);
    bool needs_type = op->kind == HF_OP_ACQUIRE || op->kind == HF_OP_RENEW ||
                      op->kind == HF_OP_DOWNGRADE || op->kind == HF_OP_TYPE_GET ||
                      op->kind == HF_OP_SAVE;
    if (needs_type && (of->type = hf_rows_type(rows, type)) == NULL)
        return false;
    if (op->id == NULL)
        return true;
    of->resource = hf_rows_resource(rows, type, hf_slice_of(op->id), false);
    if (of->resource == NULL)
        return false;
    of->resource->wanted = true;
    of->resource->wants_version |= op->kind == HF_OP_VERSION;
    of->resource->wants_requests |= rows->drops_free || op->kind == HF_OP_WHO ||
                                    op->kind == HF_OP_REQUEST || op->kind == HF_OP_ACQUIRE ||
                                    op->kind == HF_OP_HAND_OVER || op->kind == HF_OP_DECLINE;
    return true;
}

/* Who takes or releases a resource settles what it lost of it: only that is needed, not all it
 * lost. */
static bool want_loss(hf_rows *rows, const hf_op *op, const hf_op_rows *of)
{
    hf_session_row *session = op->kind == HF_OP_HAND_OVER ? of->target : of->session;
    if (op->kind != HF_OP_ACQUIRE && op->kind != HF_OP_RELEASE && op->kind != HF_OP_HAND_OVER)
        return true;
    hf_loss_row *loss = lock_rows_take(rows, sizeof *loss);
    if (loss == NULL)
        return false;
    *loss = (hf_loss_row){rows->losses, session, of->resource};
    rows->losses = loss;
    return true;
}

/* Whether this very save was done before is told by the resource's row, or by one of those that it
 * has covered. */
static bool want_past(hf_rows *rows, const hf_op *op, hf_op_rows *of)
{
    hf_slice request;
    if (op->kind != HF_OP_SAVE || op->request_id == NULL || op->request_id[0] == '\0')
        return true;
    if (!hf_rows_save_request(rows, op, &request))
        return false;
    of->past = hf_rows_past(rows, of->resource, request);
    return of->past != NULL;
}

/* The locks of a session that only beats in this batch need not be loaded. What forces a lock away
 * may take one of them. */
static void rows_want_counts(hf_rows *rows, const hf_batch *batch)
{
    bool counts = rows->counts_beats;
    for (size_t i = 0; i < batch->count && counts; i++)
        counts = batch->ops[i].kind != HF_OP_FORCE_RELEASE;
    for (hf_session_row *row = counts ? rows->sessions : NULL; row != NULL; row = row->next)
        if (row->beats && !row->acts) {
            row->counts_locks = true;
            row->wants_locks = false;
        }
}

bool hf_rows_want(hf_rows *rows, hf_batch *batch)
{
    const hf_credentials *checked = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        hf_op *op = &batch->ops[i];
        bool ok;
        if (i + 8 < batch->count && op[8].id != NULL)
            __builtin_prefetch(op[8].id); /* names come from all over memory */
        op->answer.message = hf_op_flaw(op, checked, &batch->arena, &ok);
        if (!ok)
            return false;
        if (op->answer.message != NULL) {
            op->answer.status = HF_INVALID;
            continue;
        }
        checked = op->session;
        hf_op_rows *of = &rows->of_op[i];
        if (!want_sessions(rows, op, of) || !want_resource(rows, op, of) ||
            !want_loss(rows, op, of) || !want_past(rows, op, of))
            return false;
        if (op->kind == HF_OP_SESSION_OPEN && !want_open(rows, op, of))
            return false;
    }
    rows_want_counts(rows, batch);
    return true;
}

/* ---- linked runs ---- */

void hf_rows_keep(hf_rows *rows, void *row, size_t size, unsigned *row_run)
{
    if (rows->run == 0 || *row_run == rows->run)
        return;
    hf_saved_row *saved = lock_rows_take(rows, sizeof *saved);
    void *copy = lock_rows_take(rows, size);
    if (saved == NULL || copy == NULL)
        return;
    memcpy(copy, row, size);
    *row_run = rows->run;
    *saved = (hf_saved_row){rows->saved, row, size, copy};
    rows->saved = saved;
}

void hf_rows_run_begin(hf_rows *rows)
{
    rows->run = ++rows->runs;
    rows->saved = NULL;
}

void hf_rows_run_end(hf_rows *rows, bool keep, size_t events_before)
{
    for (hf_saved_row *saved = rows->saved; saved != NULL && !keep; saved = saved->next)
        memcpy(saved->row, saved->copy, saved->size);
    if (!keep)
        rows->events_count = events_before;
    rows->saved = NULL;
    rows->run = 0;
}
