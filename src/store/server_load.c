/* SPDX-License-Identifier: MIT */
/* Stores on a database server: locking and loading the rows a batch names, in as few round trips as there can be: one for all that
 * the batch itself names; one before it when a session's own locks must be learned first; one after it for each round of sessions
 * that look dead and are locked to be looked at again. */
#include "base/error.h"
#include "store/server.h"

#include <stdlib.h>
#include <string.h>

#define NO_LIMIT 1000000000

typedef void reader(server_work *work, hf_stmt *stmt);

/* ---- reading rows ---- */

static hf_resource_row *resource_at(server_work *work, hf_stmt *stmt, bool copy)
{
    hf_resource_row *row =
        hf_rows_resource(&work->conn->rows, hf_stmt_column_text(stmt, 0), hf_stmt_column_text(stmt, 1), copy);
    if (row == NULL)
        sql_out_of_memory(work->conn);
    return row;
}

static hf_session_row *session_named(server_work *work, hf_stmt *stmt, int at)
{
    char id[HF_SESSION_ID_SIZE] = "";
    sql_text(stmt, at, id, sizeof id);
    hf_session_row *row = hf_rows_session(&work->conn->rows, id);
    if (row == NULL)
        sql_out_of_memory(work->conn);
    return row;
}

/* A session from the columns id, key_sha256 ... that begin at `at`; what was loaded before stands. */
static hf_session_row *session_at(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = session_named(work, stmt, at);
    if (row == NULL || row->loaded)
        return row;
    row->loaded = true;
    hf_slice key = hf_stmt_column_blob(stmt, at + 1);
    if (key.size != sizeof row->key_sha256)
        return row; /* a lock whose session is no more */
    sql_conn *conn = work->conn;
    memcpy(row->key_sha256, key.at, key.size);
    row->user = sql_keep(conn, &conn->rows, stmt, at + 2);
    row->name = sql_keep(conn, &conn->rows, stmt, at + 3);
    row->idle_us = hf_stmt_column_int(stmt, at + 4);
    row->opened_us = hf_stmt_column_int(stmt, at + 5);
    row->expires_us = hf_stmt_column_int(stmt, at + 6);
    row->ended_us = hf_stmt_column_int(stmt, at + 7);
    row->rev = hf_stmt_column_int(stmt, at + 8);
    row->caller = sql_keep(conn, &conn->rows, stmt, at + 9);
    row->request = sql_keep(conn, &conn->rows, stmt, at + 10);
    row->stored = row->present = true;
    return row;
}

static void read_anchor(server_work *work, hf_stmt *stmt)
{
    hf_resource_row *row = resource_at(work, stmt, true);
    if (row == NULL)
        return;
    int64_t state = hf_stmt_column_int(stmt, 2), seen = row->rev;
    bool looked = row->origin != NULL;
    row->busy = state == 2;
    row->locked = !row->busy;
    if (state != 0)
        return;
    row->stored = row->present = true;
    row->fence = hf_stmt_column_int(stmt, 3);
    row->rev = hf_stmt_column_int(stmt, 4);
    sql_text(stmt, 5, row->ended_session, sizeof row->ended_session);
    row->ended_fence = hf_stmt_column_int(stmt, 6);
    row->ended_request = sql_keep(work->conn, &work->conn->rows, stmt, 7);
    row->ended_us = hf_stmt_column_int(stmt, 8);
    if (looked && row->rev != seen && work->conn->status == HF_OK)
        work->conn->status =
            hf_fail(work->conn->err, HF_RETRY,
                    "The transaction began before the last change of %.*s/%.*s; roll it back "
                    "and run it again.",
                    (int)row->type.size, row->type.at, (int)row->id.size, row->id.at);
}

/* An anchor that is there and could not be locked is someone else's. In an application's transaction this comes first: what its
 * snapshot shows must be as the anchor stands when it is locked, or the answers would be wrong. */
static void read_anchor_there(server_work *work, hf_stmt *stmt)
{
    hf_resource_row *row = resource_at(work, stmt, true);
    if (row == NULL)
        return;
    row->busy = !row->locked;
    row->origin = row; /* looked at */
    if (row->busy)
        row->rev = hf_stmt_column_int(stmt, 2);
}

static void read_open_try(server_work *work, hf_stmt *stmt)
{
    hf_slice request = hf_stmt_column_text(stmt, 0);
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, request))
            open->busy = hf_stmt_column_int(stmt, 1) == 0;
}

static void read_open(server_work *work, hf_stmt *stmt)
{
    hf_session_row *row = session_at(work, stmt, 0);
    if (row == NULL)
        return;
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, row->request))
            open->session = row;
}

static void read_locked_session(server_work *work, hf_stmt *stmt)
{
    hf_session_row *row = session_named(work, stmt, 0);
    if (row == NULL)
        return;
    row->loaded = false; /* it may have been read before it was locked: this is how it stands */
    session_at(work, stmt, 0);
    row->locked = true;
}

static void read_session(server_work *work, hf_stmt *stmt)
{
    hf_session_row *row = session_at(work, stmt, 0);
    if (row != NULL)
        row->busy = row->writes && !row->locked;
}

/* Fills a lock row from the columns mode, fence, since, ends, purpose, request that begin at column 2. */
static void fill_lock(server_work *work, hf_resource_row *resource, hf_session_row *session, hf_stmt *stmt)
{
    sql_conn *conn = work->conn;
    hf_lock_row *row = conn->status == HF_OK ? hf_rows_lock(&conn->rows, resource, session) : NULL;
    if (row == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    if (row->stored)
        return;
    hf_slice mode = hf_stmt_column_text(stmt, 2);
    row->mode = mode.size > 0 && mode.at[0] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    row->fence = hf_stmt_column_int(stmt, 3);
    row->since_us = hf_stmt_column_int(stmt, 4);
    row->ends_us = hf_stmt_column_int(stmt, 5);
    row->purpose = sql_keep(conn, &conn->rows, stmt, 6);
    row->request = sql_keep(conn, &conn->rows, stmt, 7);
    row->stored = row->present = true;
}

static void read_lock(server_work *work, hf_stmt *stmt)
{
    hf_resource_row *resource = resource_at(work, stmt, true);
    hf_session_row *session = session_at(work, stmt, 8);
    if (resource != NULL && session != NULL)
        fill_lock(work, resource, session, stmt);
}

/* A lock of a session. Where it is to be released, its anchor must have been locked: one that came since stays. */
static void read_session_lock(server_work *work, hf_stmt *stmt)
{
    hf_resource_row *resource = resource_at(work, stmt, true);
    hf_session_row *session = session_named(work, stmt, 8);
    if (resource == NULL || session == NULL)
        return;
    if (work->naming) {
        resource->wanted |= session->wants_anchors;
        return;
    }
    if (session->wants_anchors && !resource->locked)
        return;
    resource->wants_requests |= session->wants_requests;
    fill_lock(work, resource, session, stmt);
}

static void read_request(server_work *work, hf_stmt *stmt)
{
    hf_resource_row *resource = resource_at(work, stmt, true);
    hf_session_row *session = session_at(work, stmt, 4);
    hf_request_row *row =
        resource == NULL || session == NULL ? NULL : hf_rows_request(&work->conn->rows, resource, session);
    if (row == NULL) {
        sql_out_of_memory(work->conn);
        return;
    }
    if (row->stored)
        return;
    row->message = sql_keep(work->conn, &work->conn->rows, stmt, 2);
    row->at_us = hf_stmt_column_int(stmt, 3);
    row->stored = row->present = true;
}

static void read_lost(server_work *work, hf_stmt *stmt)
{
    sql_conn *conn = work->conn;
    hf_rows *rows = &conn->rows;
    hf_session_row *session = session_named(work, stmt, 0);
    hf_slice type = sql_keep(conn, rows, stmt, 1), id = sql_keep(conn, rows, stmt, 2);
    hf_lost_row *lost = conn->status == HF_OK ? hf_rows_lost(rows, session, type, id) : NULL;
    if (lost == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    if (lost->stored)
        return;
    lost->fence = hf_stmt_column_int(stmt, 3);
    lost->at_us = hf_stmt_column_int(stmt, 4);
    lost->why = sql_keep(conn, rows, stmt, 5);
    lost->by = sql_keep(conn, rows, stmt, 6);
    lost->reason = sql_keep(conn, rows, stmt, 7);
    lost->stored = lost->present = true;
    if (!hf_rows_want_taker(rows, lost))
        sql_out_of_memory(conn);
}

static void read_type(server_work *work, hf_stmt *stmt)
{
    hf_type_row *row = hf_rows_type(&work->conn->rows, hf_stmt_column_text(stmt, 0));
    if (row == NULL)
        sql_out_of_memory(work->conn);
    else
        sql_read_type(work->conn, stmt, 1, &row->type);
}

static void read_types_share(server_work *work, hf_stmt *stmt)
{
    work->types_busy = hf_stmt_column_int(stmt, 0) == 0;
}

static void read_clock(server_work *work, hf_stmt *stmt)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, 0));
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, 1);
}

static reader *const readers[SQL_DO_COUNT] = {
    [SQL_DO_TYPES_SHARE] = read_types_share,
    [SQL_DO_ANCHORS] = read_anchor,
    [SQL_DO_ANCHORS_THERE] = read_anchor_there,
    [SQL_DO_OPENS_TRY] = read_open_try,
    [SQL_DO_OPENS] = read_open,
    [SQL_DO_SESSIONS_LOCK] = read_locked_session,
    [SQL_DO_SESSIONS_LOAD] = read_session,
    [SQL_DO_LOCKS] = read_lock,
    [SQL_DO_REQUESTS] = read_request,
    [SQL_DO_SESSION_LOCKS] = read_session_lock,
    [SQL_DO_SESSION_REQUESTS] = read_request,
    [SQL_DO_LOST_OF] = read_lost,
    [SQL_DO_LOST_ONE] = read_lost,
    [SQL_DO_TYPES] = read_type,
    [SQL_DO_CLOCK] = read_clock,
};

/* ---- flights ---- */

hf_list *server_list(server_work *work, const char *kinds)
{
    hf_list *list = hf_arena_alloc(&work->conn->rows.arena, sizeof *list);
    if (list == NULL)
        sql_out_of_memory(work->conn);
    else
        hf_list_init(list, kinds, &work->conn->rows.arena);
    return list;
}

void server_add_name(hf_list *list, hf_slice type, hf_slice id)
{
    hf_value *row = hf_list_add(list);
    if (row == NULL)
        return;
    hf_set_text(&row[0], type);
    hf_set_text(&row[1], id);
}

void server_queue(server_work *work, int which, const hf_list *list)
{
    sql_conn *conn = work->conn;
    if (conn->sql[which] == NULL || (list != NULL && list->count == 0 && !list->failed))
        return;
    if (list != NULL && list->failed)
        sql_out_of_memory(conn);
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    if (list != NULL)
        hf_stmt_list(stmt, 1, list);
    if (which == SQL_DO_SESSION_LOCKS)
        hf_stmt_int(stmt, 2, NO_LIMIT);
    hf_stmt_queue(stmt);
    work->queued[work->queued_count++] = which;
}

void server_queue_begin(server_work *work)
{
    if (work->nested) {
        server_queue(work, SQL_DO_SAVEPOINT, NULL);
        return;
    }
    if (work->store->own != NULL)
        server_queue(work, SQL_DO_BEGIN_LEVEL, NULL);
    server_queue(work, SQL_DO_BEGIN, NULL);
    if (work->store->pooler)
        server_queue(work, SQL_DO_SETTINGS, NULL);
}

void server_queue_end(server_work *work)
{
    server_queue(work, work->nested ? SQL_DO_SAVEPOINT_RELEASE : SQL_DO_COMMIT, NULL);
}

void server_fly(server_work *work)
{
    sql_conn *conn = work->conn;
    if (conn->status == HF_OK && work->queued_count > 0)
        conn->status = hf_db_send(conn->db, conn->err);
    for (int i = 0; i < work->queued_count; i++) {
        hf_stmt *stmt = conn->stmts[work->queued[i]];
        reader *read = readers[work->queued[i]];
        while (sql_next(conn, stmt))
            if (read != NULL)
                read(work, stmt);
    }
    work->queued_count = 0;
}

/* ---- what is to be loaded ---- */

static int canonical(const void *a, const void *b)
{
    const hf_value *x = a, *y = b;
    int order = hf_slice_compare(x[0].bytes, y[0].bytes);
    return order != 0 ? order : hf_slice_compare(x[1].bytes, y[1].bytes);
}

static int by_id(const void *a, const void *b)
{
    return hf_slice_compare(((const hf_value *)a)->bytes, ((const hf_value *)b)->bytes);
}

static void add_id(hf_list *list, const char *id)
{
    hf_value *row = hf_list_add(list);
    if (row != NULL)
        hf_set_text(row, (hf_slice){id, HF_SESSION_ID_MAX});
}

/* The names of the resources that are wanted (or whose requests are) and not loaded yet, in canonical order. */
static hf_list *names(server_work *work, bool requests)
{
    hf_list *list = server_list(work, "tt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL; row = row->next)
        if (!row->loaded && (requests ? row->wants_requests : row->wanted))
            server_add_name(list, row->type, row->id);
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, 2 * sizeof *list->values, canonical);
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

static bool needs(const hf_session_row *row, session_need need)
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

static hf_list *sessions(server_work *work, session_need need)
{
    hf_list *list = server_list(work, "t");
    for (hf_session_row *row = work->conn->rows.sessions; list != NULL && row != NULL; row = row->next)
        if (needs(row, need))
            add_id(list, row->id);
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, sizeof *list->values, by_id);
    return list;
}

static hf_list *losses(server_work *work)
{
    hf_list *list = server_list(work, "ttt");
    for (hf_loss_row *loss = work->conn->rows.losses; list != NULL && loss != NULL; loss = loss->next) {
        hf_value *row = loss->session->wants_lost ? NULL : hf_list_add(list);
        if (row == NULL)
            continue;
        hf_set_text(&row[0], (hf_slice){loss->session->id, HF_SESSION_ID_MAX});
        hf_set_text(&row[1], loss->resource->type);
        hf_set_text(&row[2], loss->resource->id);
    }
    return list;
}

static hf_list *opens(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (hf_open_row *open = work->conn->rows.opens; list != NULL && open != NULL; open = open->next) {
        hf_value *row = hf_list_add(list);
        if (row != NULL)
            hf_set_text(row, open->request);
    }
    return list;
}

static hf_list *types(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (hf_type_row *type = work->conn->rows.types; list != NULL && type != NULL; type = type->next) {
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
static hf_resource_row *resource_of(server_work *work, const hf_list *list, size_t i)
{
    const hf_value *name = &list->values[2 * i];
    return hf_rows_resource(&work->conn->rows, name[0].bytes, name[1].bytes, false);
}

void server_judge_anchors(server_work *work, const hf_list *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        hf_resource_row *row = resource_of(work, list, i);
        if (!row->busy)
            row->locked = true;
    }
}

/* In an application's transaction on MySQL: which anchors there are, so that only those are locked. Locking what is not there would
 * lock the gap it would stand in, and its neighbours with it. */
static hf_list *look_first(server_work *work, const hf_list *list)
{
    hf_list *there = server_list(work, "tt");
    server_queue_begin(work);
    server_queue(work, SQL_DO_ANCHORS_THERE, list);
    server_fly(work);
    for (size_t i = 0; there != NULL && i < list->count && work->conn->status == HF_OK; i++) {
        hf_resource_row *row = resource_of(work, list, i);
        if (row->origin != NULL)
            server_add_name(there, row->type, row->id);
    }
    return there;
}

/* A session whose locks are to be released: which resources they are on must be known before those are locked. */
static void learn_names(server_work *work)
{
    hf_list *ids = sessions(work, NEED_ANCHORS);
    if (ids == NULL || ids->count == 0)
        return;
    work->naming = true;
    server_queue(work, SQL_DO_SESSION_LOCKS, ids);
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
        resource_of(work, list, i)->loaded = true;
}

/* Only beats: they may ride along unsynced, for a lost one makes a session shorter, never longer. */
static bool only_beats(const hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != HF_OP_BEAT && !hf_op_reads(batch->ops[i].kind))
            return false;
    return true;
}

static void queue_locks(server_work *work, const hf_list *resources)
{
    hf_list *type_names = types(work);
    bool looks = work->nested && work->conn->sql[SQL_DO_ANCHORS_THERE] != NULL && resources != NULL;
    const hf_list *there = looks ? look_first(work, resources) : resources;
    if (!looks)
        server_queue_begin(work);
    if (!work->nested && only_beats(&work->part))
        server_queue(work, SQL_DO_UNSYNCED, NULL);
    if (type_names != NULL && type_names->count > 0)
        server_queue(work, SQL_DO_TYPES_SHARE, NULL);
    if (looks)
        server_queue(work, SQL_DO_ANCHORS, there);
    else
        server_queue_anchors(work, resources);
    server_queue(work, SQL_DO_OPENS_TRY, opens(work));
    server_queue(work, SQL_DO_SESSIONS_LOCK, sessions(work, NEED_ROW_LOCK));
}

static void queue_rows(server_work *work, const hf_list *resources)
{
    server_queue(work, SQL_DO_OPENS, opens(work));
    server_queue(work, SQL_DO_SESSIONS_LOAD, sessions(work, NEED_ROW));
    server_queue(work, SQL_DO_LOCKS, resources);
    server_queue(work, SQL_DO_REQUESTS, names(work, true));
    server_queue(work, SQL_DO_SESSION_LOCKS, sessions(work, NEED_LOCKS));
    server_queue(work, SQL_DO_SESSION_REQUESTS, sessions(work, NEED_REQUESTS));
    server_queue(work, SQL_DO_LOST_OF, sessions(work, NEED_LOST));
    server_queue(work, SQL_DO_LOST_ONE, losses(work));
    server_queue(work, SQL_DO_TYPES, types(work));
    server_queue(work, SQL_DO_CLOCK, NULL);
}

/* What a beating session lost to someone not known then: who holds it now. */
static void load_takers(server_work *work)
{
    hf_list *more = names(work, false);
    if (more == NULL || more->count == 0)
        return;
    server_queue(work, SQL_DO_LOCKS, more);
    server_fly(work);
    all_loaded(work, more);
}

/* Sessions that look dead and stand in someone's way, not locked yet. A resource whose dead holder can't be locked is busy: that
 * holder may just be beating. */
static hf_list *looking_dead(server_work *work)
{
    hf_list *list = server_list(work, "t");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL; row = row->next)
        for (hf_lock_row *lock = row->locked ? row->locks : NULL; lock != NULL; lock = lock->next) {
            hf_session_row *session = lock->session;
            if (!session->stored || session->locked || session->busy || session->ended_us != 0 ||
                session->expires_us > work->now_us)
                continue;
            session->busy = true; /* until it is found locked */
            add_id(list, session->id);
        }
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, sizeof *list->values, by_id);
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

static void lock_dead(server_work *work)
{
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

void server_load(server_work *work)
{
    bool locking = !work->reads || work->nested;
    if (locking)
        learn_names(work);
    hf_list *resources = names(work, false);
    if (locking)
        queue_locks(work, resources);
    queue_rows(work, resources);
    server_fly(work);
    if (work->conn->status != HF_OK)
        return;
    if (locking)
        server_judge_anchors(work, resources);
    all_loaded(work, resources);
    load_takers(work);
    if (!locking || work->conn->status != HF_OK)
        return;
    lock_dead(work);
    spread_busy(&work->conn->rows);
}

void server_read_clock(server_work *work)
{
    server_queue(work, SQL_DO_CLOCK, NULL);
    server_fly(work);
}
