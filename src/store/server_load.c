/* SPDX-License-Identifier: MIT */
/* Stores on a database server: locking and loading the rows a batch names, in as few round trips as
 * there can be: one for all that the batch itself names; one before it when a session's own locks
 * must be learned first; one after it for each round of sessions that look dead and are locked to
 * be looked at again. */
#include "base/error.h"
#include "store/server.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is to be loaded ---- */

static int server_load_canonical(const void *a, const void *b)
{
    const hf_value *x = a, *y = b;
    int order = hf_slice_compare(x[0].bytes, y[0].bytes);
    return order != 0 ? order : hf_slice_compare(x[1].bytes, y[1].bytes);
}

static int server_load_by_id(const void *a, const void *b)
{
    return hf_slice_compare(((const hf_value *)a)->bytes, ((const hf_value *)b)->bytes);
}

static void server_load_add_id(hf_list *list, const char *id)
{
    hf_value *row = hf_list_add(list);
    if (row != NULL)
        hf_set_text(row, (hf_slice){id, HF_SESSION_ID_MAX});
}

/* The names of the resources that are wanted (or whose requests are) and not loaded yet, in
 * canonical order. */
static hf_list *server_load_names(server_work *work, bool requests)
{
    hf_list *list = server_list(work, "tt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        if (!row->loaded && (requests ? row->wants_requests : row->wanted))
            server_add_name(list, row->type, row->id);
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, 2 * sizeof *list->values, server_load_canonical);
    return list;
}

typedef enum session_need {
    NEED_ROW,
    NEED_ROW_LOCK,
    NEED_LOCKS,
    NEED_ANCHORS,
    NEED_REQUESTS,
    NEED_LOST
} session_need;

static bool server_load_needs(const hf_session_row *row, session_need need)
{
    switch (need) {
    case NEED_ROW:
        return !row->loaded;
    case NEED_ROW_LOCK:
        return row->writes && !row->locked;
    case NEED_LOCKS:
        return row->wants_locks;
    case NEED_ANCHORS:
        return row->wants_locks && row->wants_anchors;
    case NEED_REQUESTS:
        return row->wants_requests;
    case NEED_LOST:
        return row->wants_lost;
    }
    return false;
}

static hf_list *server_load_sessions(server_work *work, session_need need)
{
    hf_list *list = server_list(work, "t");
    for (hf_session_row *row = work->conn->rows.sessions; list != NULL && row != NULL;
         row = row->next)
        if (server_load_needs(row, need))
            server_load_add_id(list, row->id);
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, sizeof *list->values, server_load_by_id);
    return list;
}

static hf_list *server_load_losses(server_work *work)
{
    hf_list *list = server_list(work, "ttt");
    for (hf_loss_row *loss = work->conn->rows.losses; list != NULL && loss != NULL;
         loss = loss->next) {
        hf_value *row = loss->session->wants_lost ? NULL : hf_list_add(list);
        if (row == NULL)
            continue;
        hf_set_text(&row[0], (hf_slice){loss->session->id, HF_SESSION_ID_MAX});
        hf_set_text(&row[1], loss->resource->type);
        hf_set_text(&row[2], loss->resource->id);
    }
    return list;
}

/* Saves that may have been done before, and covered since. */
static hf_list *past_saves(server_work *work)
{
    hf_list *list = server_list(work, "ttt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        for (hf_past_row *past = row->past; past != NULL; past = past->next) {
            hf_value *value = hf_list_add(list);
            if (value == NULL)
                break;
            hf_set_text(&value[0], row->type);
            hf_set_text(&value[1], row->id);
            hf_set_text(&value[2], past->request);
        }
    return list;
}

/* Those whose versions are looked at. */
static hf_list *server_load_versions(server_work *work)
{
    hf_list *list = server_list(work, "tt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        if (row->wants_version)
            server_add_name(list, row->type, row->id);
    return list;
}

static hf_list *server_load_opens(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (hf_open_row *open = work->conn->rows.opens; list != NULL && open != NULL;
         open = open->next) {
        hf_value *row = hf_list_add(list);
        if (row != NULL)
            hf_set_text(row, open->request);
    }
    return list;
}

static hf_list *server_load_types(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (hf_type_row *type = work->conn->rows.types; list != NULL && type != NULL;
         type = type->next) {
        hf_value *row = hf_list_add(list);
        if (row != NULL)
            hf_set_text(row, (hf_slice){type->type.type, type->size});
    }
    return list;
}

/* ---- loading ---- */

void server_queue_anchors(server_work *work, const hf_list *list)
{
    server_queue(work, SQL_DO_ANCHORS, list);
    server_queue(work, SQL_DO_ANCHORS_THERE, list);
}

/* The resource a list names, which is in the set. */
static hf_resource_row *server_load_resource_of(server_work *work, const hf_list *list, size_t i)
{
    const hf_value *name = &list->values[2 * i];
    return hf_rows_resource(&work->conn->rows, name[0].bytes, name[1].bytes, false);
}

void server_judge_anchors(server_work *work, const hf_list *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        hf_resource_row *row = server_load_resource_of(work, list, i);
        if (!row->busy)
            row->locked = true;
    }
}

/* In an application's transaction on MySQL: which anchors there are, so that only those are locked.
 * Locking what is not there would lock the gap it would stand in, and its neighbours with it. */
static hf_list *server_load_look_first(server_work *work, const hf_list *list)
{
    hf_list *there = server_list(work, "tt");
    server_queue_begin(work);
    server_queue(work, SQL_DO_ANCHORS_THERE, list);
    server_fly(work);
    for (size_t i = 0; there != NULL && i < list->count && work->conn->status == HF_OK; i++) {
        hf_resource_row *row = server_load_resource_of(work, list, i);
        if (row->origin != NULL)
            server_add_name(there, row->type, row->id);
    }
    return there;
}

/* Whether a row that was not locked is gone, or someone else has it. */
static bool server_load_is_gone(server_work *work, const hf_resource_row *row)
{
    sql_conn *conn = work->conn;
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_ANCHOR_LEFT);
    if (stmt == NULL)
        return false;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    bool gone = !sql_next(conn, stmt);
    hf_stmt_reset(stmt);
    if (conn->status != HF_BUSY)
        return gone && conn->status == HF_OK;
    conn->status = HF_OK; /* someone has it */
    return false;
}

/* In an application's transaction on MySQL: an anchor that its snapshot shows and that was not
 * locked. */
static void look_again(server_work *work, const hf_list *list)
{
    bool looks = work->nested && work->conn->sql[SQL_DO_ANCHORS_THERE] != NULL;
    for (size_t i = 0; looks && list != NULL && i < list->count && work->conn->status == HF_OK;
         i++) {
        const hf_resource_row *row = server_load_resource_of(work, list, i);
        if (row->busy && row->origin != NULL && server_load_is_gone(work, row))
            server_stale(work, row);
    }
}

static int session_locks(const server_work *work)
{
    bool now = work->nested && work->conn->sql[SQL_DO_SESSION_LOCKS_NOW] != NULL;
    return now ? SQL_DO_SESSION_LOCKS_NOW : SQL_DO_SESSION_LOCKS;
}

/* A session whose locks are to be released: which resources they are on must be known before those
 * are locked. */
static void learn_names(server_work *work)
{
    hf_list *ids = server_load_sessions(work, NEED_ANCHORS);
    if (ids == NULL || ids->count == 0)
        return;
    work->naming = true;
    work->snapshot = false;
    if (work->nested) {
        server_queue_begin(work);
        server_queue(work, SQL_DO_SNAPSHOT, NULL);
    }
    server_queue(work, session_locks(work), ids);
    server_fly(work);
    work->naming = false;
}

/* Those that were asked for; what has come to be wanted meanwhile is not loaded. */
static void all_loaded(server_work *work, const hf_list *list)
{
    hf_rows *rows = &work->conn->rows;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        row->loaded = true;
    for (size_t i = 0; list != NULL && i < list->count; i++)
        server_load_resource_of(work, list, i)->loaded = true;
}

/* Only beats: they may ride along unsynced, for a lost one makes a session shorter, never longer.
 * */
static bool only_beats(const hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != HF_OP_BEAT && !hf_op_reads(batch->ops[i].kind))
            return false;
    return true;
}

/* Whether an anchor is asked for in the short way, which tells of one that is there and free. */
static bool queue_held(server_work *work, const hf_list *list)
{
    bool one = list != NULL && list->count == 1 && work->conn->rows.types == NULL;
    if (!one || work->nested || work->whole)
        return false;
    server_load_resource_of(work, list, 0)->busy = true; /* until it is found */
    work->held = true;
    server_queue(work, SQL_DO_ANCHOR_HELD, list);
    return true;
}

static void queue_locks(server_work *work, const hf_list *resources)
{
    bool looks = work->nested && work->conn->sql[SQL_DO_ANCHORS_THERE] != NULL && resources != NULL;
    const hf_list *there = looks ? server_load_look_first(work, resources) : resources;
    if (!looks)
        server_queue_begin(work);
    if (!work->nested && only_beats(&work->part))
        server_queue(work, SQL_DO_UNSYNCED, NULL);
    bool share = work->conn->rows.types != NULL;
    bool skips = !work->nested && work->conn->sql[SQL_DO_TYPES_HOLD] != NULL;
    if (share && !skips)
        server_queue(work, SQL_DO_TYPES_SHARE, NULL);
    if (queue_held(work, there))
        ;
    else if (looks || !work->long_names)
        server_queue(work, SQL_DO_ANCHORS, there);
    else
        server_queue_anchors(work, resources);
    if (share && skips) {
        work->types_busy = true; /* until they are found free */
        server_queue(work, SQL_DO_TYPES_HOLD, NULL);
    }
    server_queue(work, SQL_DO_OPENS_TRY, server_load_opens(work));
    server_queue(work, SQL_DO_SESSIONS_LOCK, server_load_sessions(work, NEED_ROW_LOCK));
}

/* Whether there are statements that are made for so few. An application's connection is not set to
 * join by index. */
static bool is_one(const server_work *work, const hf_list *resources, const hf_list *ids,
                   const hf_list *types, const hf_list *lost)
{
    return work->store->own == NULL && resources != NULL && resources->count == 1 && ids != NULL &&
           ids->count <= 1 && types != NULL && types->count <= 1 && lost != NULL &&
           lost->count <= 1;
}

/* One save and nothing else: it needs neither requests nor losses. */
static bool queue_save(server_work *work, const hf_list *resources, const hf_list *past,
                       const hf_list *ids, const hf_list *types)
{
    hf_stmt *stmt = past != NULL && past->count == 1 && work->part.count == 1 &&
                            work->conn->sql[SQL_DO_REST_SAVE] != NULL
                        ? sql_stmt(work->conn, SQL_DO_REST_SAVE)
                        : NULL;
    if (stmt == NULL)
        return false;
    server_queue(work, SQL_DO_LOCKS_ONE, resources);
    hf_stmt_list(stmt, 1 + (int)past->columns, ids);
    hf_stmt_list(stmt, 1 + (int)past->columns + (int)ids->columns, types);
    server_queue(work, SQL_DO_REST_SAVE, past);
    return true;
}

/* All at once. In an application's transaction on MySQL the policies are read by themselves: as
 * they are, not as its snapshot shows them. */
static void queue_at_once(server_work *work, const hf_list *resources)
{
    hf_list *ids = server_load_sessions(work, NEED_ROW), *type_names = server_load_types(work),
            *lost = server_load_losses(work);
    hf_list *past = past_saves(work);
    const char *const *sql = work->conn->sql;
    bool apart = work->nested && sql[SQL_DO_TYPES_NOW] != NULL;
    hf_list *shown = apart ? server_list(work, "t") : type_names;
    bool all = type_names == NULL || type_names->count > 0;
    for (hf_resource_row *row = work->conn->rows.resources; row != NULL; row = row->next)
        all |= row->wants_requests;
    bool one = is_one(work, resources, ids, type_names, lost);
    work->only_locks = one && !all && (work->held || work->reads);
    if (work->only_locks) {
        if (work->reads) /* without locks: no row may be older than the time it is judged by */
            server_queue(work, SQL_DO_TIME_ONE, NULL);
        server_queue(work, sql[SQL_DO_LOCKS_ONE] != NULL ? SQL_DO_LOCKS_ONE : SQL_DO_LOCKS,
                     resources);
        if (!work->reads)
            server_queue(work, SQL_DO_TIME_ONE, NULL);
        return;
    }
    if (one && queue_save(work, resources, past, ids, type_names))
        return;
    server_queue(work, SQL_DO_PAST, past);
    one = one && all && sql[SQL_DO_REST_ONE] != NULL;
    int which = one ? SQL_DO_REST_ONE : all ? SQL_DO_ROWS : SQL_DO_ROWS_HELD;
    if (one)
        server_queue(work, SQL_DO_LOCKS_ONE, resources);
    hf_stmt *stmt = sql_stmt(work->conn, which);
    if (stmt == NULL || resources == NULL || ids == NULL || type_names == NULL || shown == NULL ||
        lost == NULL)
        return; /* failed, and known to have */
    if (ids->failed || type_names->failed || lost->failed)
        sql_out_of_memory(work->conn);
    hf_stmt_list(stmt, 3, ids);
    hf_stmt_list(stmt, 4, shown);
    hf_stmt_list(stmt, 5, lost);
    if (apart)
        server_queue(work, SQL_DO_TYPES_NOW, type_names);
    server_queue(work, which, resources);
}

static void queue_rows(server_work *work, const hf_list *resources)
{
    hf_list *asked = server_load_names(work, true); /* before anything is read */
    server_queue(work, SQL_DO_OPENS, server_load_opens(work));
    server_queue(work, session_locks(work), server_load_sessions(work, NEED_LOCKS));
    server_queue(work, SQL_DO_SESSION_REQUESTS, server_load_sessions(work, NEED_REQUESTS));
    server_queue(work, SQL_DO_LOST_OF, server_load_sessions(work, NEED_LOST));
    if (work->reads && !work->nested)
        server_queue(work, SQL_DO_VERSIONS, server_load_versions(work));
    if (!work->long_names) {
        queue_at_once(work, resources);
        return;
    }
    server_queue(work, SQL_DO_PAST, past_saves(work));
    server_queue(work, SQL_DO_SESSIONS_LOAD, server_load_sessions(work, NEED_ROW));
    server_queue(work, SQL_DO_LOCKS, resources);
    server_queue(work, SQL_DO_REQUESTS, asked);
    server_queue(work, SQL_DO_LOST_ONE, server_load_losses(work));
    server_queue(work, work->nested ? SQL_DO_TYPES_NOW : SQL_DO_TYPES, server_load_types(work));
    server_queue(work, SQL_DO_CLOCK, NULL);
}

/* The locks came with the sessions that hold them. Another session has to be asked for, and so does
 * what was lost: who holds a lock has lost nothing there. */
static void judge_locks(server_work *work)
{
    for (hf_session_row *row = work->conn->rows.sessions; row != NULL; row = row->next) {
        row->busy = row->loaded && row->writes && !row->locked;
        work->more_sessions |= !row->loaded;
    }
    for (const hf_loss_row *loss = work->conn->rows.losses; loss != NULL; loss = loss->next) {
        const hf_lock_row *lock = loss->resource->locks;
        while (lock != NULL && lock->session != loss->session)
            lock = lock->next;
        work->more_lost |= lock == NULL || (lock->ends_us != 0 && lock->ends_us <= work->now_us);
    }
}

/* What few batches find, and is asked for only then. Where the anchors are locked it has not
 * changed meanwhile. */
static void load_more(server_work *work, const hf_list *resources)
{
    if (work->more_sessions)
        server_queue(work, SQL_DO_SESSIONS_LOAD, server_load_sessions(work, NEED_ROW));
    if (work->more_requests)
        server_queue(work, SQL_DO_REQUESTS, resources);
    if (work->more_lost)
        server_queue(work, SQL_DO_LOST_ONE, server_load_losses(work));
    if (work->more_past)
        server_queue(work, SQL_DO_PAST, past_saves(work));
    work->more_sessions = work->more_requests = work->more_lost = work->more_past = false;
    server_fly(work);
}

/* What a beating session lost to someone not known then: who holds it now. */
static void load_takers(server_work *work)
{
    hf_list *more = server_load_names(work, false);
    if (more == NULL || more->count == 0)
        return;
    server_queue(work, SQL_DO_LOCKS, more);
    server_fly(work);
    all_loaded(work, more);
}

/* Sessions that look dead and stand in someone's way, not locked yet. A resource whose dead holder
 * can't be locked is busy: that holder may just be beating. */
static void add_dead(server_work *work, hf_session_row *session, hf_list *list)
{
    if (!session->stored || session->locked || session->busy || session->ended_us != 0 ||
        session->expires_us > work->now_us)
        return;
    session->busy = true; /* until it is found locked */
    server_load_add_id(list, session->id);
}

static hf_list *looking_dead(server_work *work)
{
    hf_list *list = server_list(work, "t");
    /* An old snapshot may show a session as it was before its last beat. */
    for (size_t i = 0; list != NULL && work->nested && i < work->part.count; i++) {
        const hf_op_rows *of = &work->conn->rows.of_op[i];
        if (of->session != NULL)
            add_dead(work, of->session, list);
        if (of->target != NULL)
            add_dead(work, of->target, list);
    }
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        for (hf_lock_row *lock = row->locked ? row->locks : NULL; lock != NULL; lock = lock->next) {
            add_dead(work, lock->session, list);
        }
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, sizeof *list->values, server_load_by_id);
    return list;
}

static void judge_dead(server_work *work)
{
    hf_rows *rows = &work->conn->rows;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        if (row->locked)
            row->busy = false;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        for (hf_lock_row *lock = row->locked ? row->locks : NULL; lock != NULL; lock = lock->next)
            row->busy |= lock->session->busy && lock->session->ended_us == 0 &&
                         lock->session->expires_us <= work->now_us;
}

/* In an application's transaction on MySQL: sessions that may have been closed since its snapshot,
 * though it shows them alive. One that someone else has just now may be being closed. */
static void look_now(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (size_t k = 0; list != NULL && k < work->part.count * SERVER_RELIED_ON; k++) {
        hf_session_row *row =
            server_relied_on(work, k / SERVER_RELIED_ON, (int)(k % SERVER_RELIED_ON));
        if (row == NULL || !row->stored || row->locked || row->busy || row->ended_us != 0)
            continue;
        row->busy = true; /* until it is found free */
        server_load_add_id(list, row->id);
    }
    if (list == NULL || list->count == 0)
        return;
    qsort(list->values, list->count, sizeof *list->values, server_load_by_id);
    server_queue(work, SQL_DO_SESSIONS_NOW, list);
    server_queue(work, SQL_DO_CLOCK, NULL);
    server_fly(work);
    judge_dead(work);
}

static void lock_dead(server_work *work)
{
    look_now(work);
    for (hf_list *dead;
         work->conn->status == HF_OK && (dead = looking_dead(work)) != NULL && dead->count > 0;) {
        server_queue(work, SQL_DO_SESSIONS_LOCK, dead);
        server_queue(work, SQL_DO_CLOCK, NULL);
        server_fly(work);
        judge_dead(work);
    }
}

static void spread_busy(hf_rows *rows)
{
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        for (hf_lock_row *lock = row->wants_anchors ? row->locks : NULL; lock != NULL;
             lock = lock->session_next)
            row->anchors_busy |= lock->resource->busy;
}

void server_expect_time(server_work *work)
{
    sql_conn *conn = work->conn;
    if (conn->status == HF_OK && work->now_us == 0)
        conn->status = hf_fail(conn->err, HF_INTERNAL,
                               "An answer of %s came without its last row; look for what limits "
                               "the rows that are read there.",
                               hf_db_path(conn->db));
}

static void server_load_load(server_work *work)
{
    bool locking = !work->reads || work->nested;
    if (locking)
        learn_names(work);
    hf_list *resources = server_load_names(work, false);
    work->long_names = server_is_long(work, resources);
    if (locking)
        queue_locks(work, resources);
    queue_rows(work, resources);
    server_fly(work);
    server_expect_time(work);
    work->missed = work->held && server_load_resource_of(work, resources, 0)->busy;
    if (work->missed)
        return;
    if (work->only_locks)
        judge_locks(work);
    load_more(work, resources);
    look_again(work, resources);
    if (work->conn->status != HF_OK)
        return;
    if (locking)
        server_judge_anchors(work, resources);
    all_loaded(work, resources);
    load_takers(work);
    if (!locking || work->conn->status != HF_OK)
        return;
    lock_dead(work);
    if (work->nested)
        server_probe(work);
    spread_busy(&work->conn->rows);
}

static void forget_answers(hf_batch *part)
{
    for (size_t i = 0; i < part->count; i++)
        memset(&part->ops[i].answer, 0, sizeof part->ops[i].answer);
}

bool server_load(server_work *work, hf_error *err)
{
    sql_conn *conn = work->conn;
    sql_use(conn, err);
    work->types_busy = work->stale = work->held = work->missed = work->only_locks = false;
    work->more_sessions = work->more_requests = work->more_lost = work->more_past = false;
    work->now_us = 0;
    forget_answers(&work->part);
    if (!hf_rows_reset(&conn->rows, work->part.count) || !hf_rows_want(&conn->rows, &work->part))
        return false;
    server_load_load(work);
    return true;
}

void server_read_clock(server_work *work)
{
    server_queue(work, SQL_DO_CLOCK, NULL);
    server_fly(work);
    server_expect_time(work);
}
