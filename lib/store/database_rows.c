/* SPDX-License-Identifier: MIT */
/* SQL database stores: reads the rows that come back into the working set. */
#include "base/error.h"
#include "store/database.h"

#include <string.h>

/* Reads a row whose columns begin at `at`. */
typedef void reader(database_work *work, hf_stmt *stmt, int at);

/* Of {slots}: the first column tells what the row is. */
static const sql_slots slots = {1, 1 + SQL_DO_SLOTS_TEXT, 1 + SQL_DO_SLOTS_TEXT + SQL_DO_SLOTS_INT};

/* ---- reading rows ---- */

/* Fills a session from its columns behind the key, from `at` on, or leaves it as one that is no
 * more: there is none. A row that was loaded before is kept. */
static void database_rows_fill_session(database_work *work, hf_session_row *row, bool there,
                                       hf_stmt *stmt, int at)
{
    if (row == NULL || row->loaded)
        return;
    row->loaded = true;
    if (!there)
        return;
    sql_read_row(work->conn, stmt, at, &hf_session_fields, HF_MOVES | HF_REST, row);
    row->stored = row->present = true;
}

/* A session from all its columns. */
static hf_session_row *database_rows_session_at(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = sql_read_session_id(work->conn, stmt, at);
    database_rows_fill_session(work, row, true, stmt, at + 1);
    return row;
}

/* The session that the column `named` names, from all its columns, which are null if it is no more.
 */
static hf_session_row *database_rows_session_joined(database_work *work, hf_stmt *stmt, int named,
                                                    int at)
{
    hf_session_row *row = sql_read_session_id(work->conn, stmt, named);
    database_rows_fill_session(work, row, hf_stmt_column_text(stmt, at).size > 0, stmt, at + 1);
    return row;
}

void database_stale(database_work *work, const hf_resource_row *row)
{
    work->stale = true;
    if (work->conn->status == HF_OK)
        work->conn->status =
            hf_fail(work->conn->err, HF_RETRY,
                    "The transaction began before the last change of %.*s/%.*s; roll it back "
                    "and run it again.",
                    (int)row->type.size, row->type.at, (int)row->id.size, row->id.at);
}

static void database_rows_read_version(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = sql_read_name(work->conn, stmt, at);
    if (row != NULL)
        sql_read_row(work->conn, stmt, at + 2, &hf_resource_fields, HF_VERSIONED, row);
}

static void database_rows_read_past(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = sql_read_name(work->conn, stmt, at);
    hf_slice request = hf_stmt_column_text(stmt, at + 2);
    for (hf_save_row *past = row == NULL ? NULL : row->past; past != NULL; past = past->next) {
        if (!hf_slice_equal(past->request, request))
            continue;
        sql_read_row(work->conn, stmt, at + 3, &hf_save_fields, HF_REST, past);
        past->stored = past->present = true;
    }
}

/* One that was swept and made again may have been changed as often as before; its fence is higher.
 * */
static void database_rows_read_anchor(database_work *work, hf_stmt *stmt, int at)
{
    int64_t state = hf_stmt_column_int(stmt, at + 2);
    hf_resource_row *row = sql_read_name(work->conn, stmt, at);
    if (row == NULL)
        return;
    int64_t rev = row->rev, fence = row->fence;
    work->types_busy |= hf_stmt_column_int(stmt, at + 3) == 0;
    bool looked = row->origin != NULL;
    row->busy = state == 2;
    row->locked = !row->busy;
    if (state != 0)
        return;
    row->stored = row->present = true;
    row->place = sql_keep(work->conn, &work->conn->rows, stmt, at + 4);
    sql_read_row(work->conn, stmt, at + 5, &hf_resource_fields, HF_MOVES | HF_VERSIONED, row);
    if (looked && (row->rev != rev || row->fence != fence))
        database_stale(work, row);
}

/* An anchor that exists and could not be locked is locked by another transaction. In an
 * application's transaction this is read first: the anchor must be as the snapshot shows it when
 * it is locked, or the answers would be wrong. */
static void database_rows_read_anchor_there(database_work *work, hf_stmt *stmt)
{
    hf_resource_row *row = database_locks(work) ? sql_read_name(work->conn, stmt, 1) : NULL;
    if (row == NULL)
        return;
    row->busy = !row->locked;
    row->origin = row; /* looked at */
    if (row->busy)
        sql_read_slots(work->conn, stmt, slots, &hf_resource_fields, HF_NAMED | HF_MOVES, row);
}

/* An anchor that another transaction is inserting. */
static void database_rows_read_making(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = sql_read_name(work->conn, stmt, at);
    if (row != NULL)
        row->busy = true;
}

static void database_rows_read_open_try(database_work *work, hf_stmt *stmt, int at)
{
    hf_slice request = hf_stmt_column_text(stmt, at);
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, request))
            open->busy = hf_stmt_column_int(stmt, at + 1) == 0;
}

static void database_rows_read_open(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = database_rows_session_at(work, stmt, at);
    if (row == NULL)
        return;
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, row->request))
            open->session = row;
}

/* It may have been read before it was locked; this row is newer. */
static hf_session_row *database_rows_session_anew(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = sql_read_session_id(work->conn, stmt, at);
    if (row == NULL)
        return NULL;
    row->loaded = false;
    return database_rows_session_at(work, stmt, at);
}

static void database_rows_read_locked_session(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = database_rows_session_anew(work, stmt, at);
    if (row != NULL)
        row->locked = true;
}

static void database_rows_read_session_now(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = database_rows_session_anew(work, stmt, at);
    if (row != NULL)
        row->busy = false;
}

static void database_rows_judge_session(hf_session_row *row)
{
    if (row != NULL)
        row->busy = row->writes && !row->locked;
}

static void database_rows_read_session(database_work *work, hf_stmt *stmt, int at)
{
    database_rows_judge_session(database_rows_session_at(work, stmt, at));
}

static hf_lock_row *database_rows_lock(database_work *work, hf_resource_row *resource,
                                       hf_session_row *session)
{
    sql_conn *conn = work->conn;
    hf_lock_row *row = conn->status == HF_OK ? hf_rows_lock(&conn->rows, resource, session) : NULL;
    if (row == NULL)
        sql_out_of_memory(conn);
    return row;
}

/* Fills a lock row from the columns behind its key. */
static void database_rows_fill_lock(database_work *work, hf_resource_row *resource,
                                    hf_session_row *session, hf_stmt *stmt, int at)
{
    hf_lock_row *row = database_rows_lock(work, resource, session);
    if (row == NULL || row->stored)
        return;
    sql_read_row(work->conn, stmt, at, &hf_lock_fields, HF_REST, row);
    row->stored = row->present = true;
}

/* {cols lock}, {cols session} */
static void database_rows_read_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = sql_read_name(work->conn, stmt, at);
    int joined = at + sql_columns(&hf_lock_fields, HF_EVERY);
    hf_session_row *session = database_rows_session_joined(work, stmt, at + 2, joined);
    if (resource != NULL && session != NULL)
        database_rows_fill_lock(work, resource, session, stmt, at + 3);
}

/* A lock of a session. Where it is to be released, its anchor must have been locked: one that came
 * since stays. */
static void database_rows_read_session_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = sql_read_name(work->conn, stmt, at);
    hf_session_row *session = sql_read_session_id(work->conn, stmt, at + 2);
    if (resource == NULL || session == NULL)
        return;
    if (work->loading == LOAD_NAMES) {
        resource->wanted |= session->wants_anchors;
        return;
    }
    if (session->wants_anchors && !resource->locked)
        return;
    resource->wants_requests |= session->wants_requests;
    database_rows_fill_lock(work, resource, session, stmt, at + 3);
}

/* One of the locks that a beat tells of, or how many there are, in place of a fence. */
static void database_rows_read_beat_lock(database_work *work, hf_stmt *stmt, int at)
{
    if (hf_stmt_column_text(stmt, at).size > 0) {
        database_rows_read_session_lock(work, stmt, at);
        return;
    }
    hf_session_row *session = sql_read_session_id(work->conn, stmt, at + 2);
    hf_lock_row counted = {0};
    sql_borrow_row(stmt, at + 3, &hf_lock_fields, HF_REST, &counted);
    if (session != NULL)
        session->live_locks = (size_t)counted.fence;
}

static hf_request_row *database_rows_request(database_work *work, hf_resource_row *resource,
                                             hf_session_row *session)
{
    hf_request_row *row = resource == NULL || session == NULL
                              ? NULL
                              : hf_rows_request(&work->conn->rows, resource, session);
    if (row == NULL)
        sql_out_of_memory(work->conn);
    else if (!row->stored)
        row->stored = row->present = true;
    return row;
}

/* {cols request}, {cols session} */
static void database_rows_read_request(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = sql_read_name(work->conn, stmt, at);
    int joined = at + sql_columns(&hf_request_fields, HF_EVERY);
    hf_session_row *session = database_rows_session_joined(work, stmt, at + 2, joined);
    hf_request_row *row = database_rows_request(work, resource, session);
    if (row != NULL)
        sql_read_row(work->conn, stmt, at + 3, &hf_request_fields, HF_REST, row);
}

/* The row of a loss; NULL: it is there already, or out of memory. */
static hf_lost_row *database_rows_lost(database_work *work, hf_stmt *stmt, int at)
{
    sql_conn *conn = work->conn;
    hf_session_row *session = sql_read_session_id(conn, stmt, at);
    hf_slice type = sql_keep(conn, &conn->rows, stmt, at + 1),
             id = sql_keep(conn, &conn->rows, stmt, at + 2);
    hf_lost_row *lost = conn->status == HF_OK ? hf_rows_lost(&conn->rows, session, type, id) : NULL;
    if (lost == NULL) {
        sql_out_of_memory(conn);
        return NULL;
    }
    if (lost->stored)
        return NULL;
    lost->stored = lost->present = true;
    return lost;
}

static void database_rows_want_taker(database_work *work, hf_lost_row *lost)
{
    if (!hf_rows_want_taker(&work->conn->rows, lost))
        sql_out_of_memory(work->conn);
}

static void database_rows_read_lost(database_work *work, hf_stmt *stmt, int at)
{
    hf_lost_row *lost = database_rows_lost(work, stmt, at);
    if (lost == NULL)
        return;
    sql_read_row(work->conn, stmt, at + 3, &hf_lost_fields, HF_REST, lost);
    database_rows_want_taker(work, lost);
}

static hf_type_row *database_rows_type(database_work *work, hf_stmt *stmt, int at)
{
    hf_type_row *row = hf_rows_type(&work->conn->rows, hf_stmt_column_text(stmt, at));
    if (row == NULL)
        sql_out_of_memory(work->conn);
    return row;
}

static void database_rows_read_type(database_work *work, hf_stmt *stmt, int at)
{
    hf_type_row *row = database_rows_type(work, stmt, at);
    if (row != NULL)
        sql_read_row(work->conn, stmt, at + 1, &hf_type_fields, HF_REST, row);
}

static void database_rows_read_clock(database_work *work, hf_stmt *stmt, int at)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 1);
}

/* The same of the statements for one: a session, the time, whether there are losses, the floor,
 * whether there are requests, and a type; the session and the type if they are there. */
static void database_rows_read_rest(database_work *work, hf_stmt *stmt, int at)
{
    if (hf_stmt_column_text(stmt, at).size > 0)
        database_rows_read_session(work, stmt, at);
    at += sql_columns(&hf_session_fields, HF_EVERY);
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
    work->more = (hf_stmt_column_int(stmt, at + 1) != 0 ? MORE_LOST : 0) |
                 (hf_stmt_column_int(stmt, at + 3) != 0 ? MORE_REQUESTS : 0);
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 2);
    if (hf_stmt_column_text(stmt, at + 4).size > 0)
        database_rows_read_type(work, stmt, at + 4);
}

/* The same for a save; the column of losses tells whether there are past saves. */
static void database_rows_read_rest_save(database_work *work, hf_stmt *stmt, int at)
{
    database_rows_read_rest(work, stmt, at);
    if (work->more & MORE_LOST)
        work->more ^= MORE_LOST | MORE_PAST;
}

static void database_rows_read_time(database_work *work, hf_stmt *stmt, int at)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
}

static void database_rows_read_types_own(database_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->types_busy = false;
}

static void database_rows_read_snapshot(database_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->snapshot = true;
}

static void database_rows_read_events_try(database_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->numbering = true;
}

static void database_rows_read_events_last(database_work *work, hf_stmt *stmt, int at)
{
    work->numbered_to = hf_stmt_column_int(stmt, at);
}

/* If another transaction is numbering, these events are not ours to number. */
static void database_rows_read_event_new(database_work *work, hf_stmt *stmt, int at)
{
    hf_value *row = work->numbering ? hf_list_add(work->unnumbered) : NULL;
    if (row == NULL)
        return;
    hf_set_int(&row[0], hf_stmt_column_int(stmt, at));
    /* the columns that must not be null, where a row is written to change one */
    hf_set_int(&row[2], 0);
    hf_set_text(&row[3], hf_slice_of("-"));
}

/* A row of the statement that asks for all at once; its first column tells what it is. Its key
 * comes first among the texts. */
static void database_rows_read_any(database_work *work, hf_stmt *stmt, int at)
{
    enum { LOCK = 1, REQUEST, SESSION, TYPE, LOST, CLOCK, ANCHOR, PLACED_LOCK };
    sql_conn *conn = work->conn;
    const int kind = (int)hf_stmt_column_int(stmt, at), joined = slots.bytes + SQL_DO_SLOTS_BYTES;
    hf_session_row *session = NULL;
    hf_lost_row *lost;
    if (kind == LOCK || kind == REQUEST)
        session = database_rows_session_joined(work, stmt, 3, joined);
    else if (kind == SESSION || kind == PLACED_LOCK)
        session = sql_read_session_id(conn, stmt, kind == SESSION ? 1 : 3);
    switch (kind) {
    case LOCK:
    case PLACED_LOCK: {
        hf_resource_row *resource = sql_read_name(conn, stmt, 1);
        hf_lock_row *row = resource == NULL || session == NULL
                               ? NULL
                               : database_rows_lock(work, resource, session);
        if (row == NULL || row->stored)
            return;
        sql_slots next = sql_read_slots(conn, stmt, slots, &hf_lock_fields, HF_EVERY, row);
        row->stored = row->present = true;
        if (kind == PLACED_LOCK) /* where PostgreSQL keeps it */
            row->place = sql_keep(conn, &conn->rows, stmt, next.text);
        return;
    }
    case REQUEST: {
        hf_request_row *row = database_rows_request(work, sql_read_name(conn, stmt, 1), session);
        if (row != NULL)
            sql_read_slots(conn, stmt, slots, &hf_request_fields, HF_EVERY, row);
        return;
    }
    case SESSION:
        if (session != NULL && !session->loaded) {
            sql_read_slots(conn, stmt, slots, &hf_session_fields, HF_EVERY, session);
            session->loaded = session->stored = session->present = true;
        }
        database_rows_judge_session(session);
        return;
    case TYPE: {
        hf_type_row *row = database_rows_type(work, stmt, 1);
        if (row != NULL)
            sql_read_slots(conn, stmt, slots, &hf_type_fields, HF_EVERY, row);
        return;
    }
    case LOST:
        lost = database_rows_lost(work, stmt, 1);
        if (lost == NULL)
            return;
        sql_read_slots(conn, stmt, slots, &hf_lost_fields, HF_EVERY, lost);
        database_rows_want_taker(work, lost);
        return;
    case CLOCK: /* and whether there are requests or losses, if they are not among the rows */
        database_rows_read_clock(work, stmt, slots.number);
        work->more = (hf_stmt_column_int(stmt, slots.number + 2) != 0 ? MORE_REQUESTS : 0) |
                     (hf_stmt_column_int(stmt, slots.number + 3) != 0 ? MORE_LOST : 0);
        return;
    case ANCHOR:
        database_rows_read_anchor_there(work, stmt);
        return;
    }
}

static reader *const readers[SQL_DO_COUNT] = {
    [SQL_DO_ANCHORS] = database_rows_read_anchor,
    [SQL_DO_ANCHOR_HELD] = database_rows_read_anchor,
    [SQL_DO_ANCHORS_THERE] = database_rows_read_any,
    [SQL_DO_MAKING] = database_rows_read_making,
    [SQL_DO_VERSIONS] = database_rows_read_version,
    [SQL_DO_PAST] = database_rows_read_past,
    [SQL_DO_OPENS_TRY] = database_rows_read_open_try,
    [SQL_DO_OPENS] = database_rows_read_open,
    [SQL_DO_SESSIONS_LOCK] = database_rows_read_locked_session,
    [SQL_DO_SESSIONS_NOW] = database_rows_read_session_now,
    [SQL_DO_SESSIONS_LOAD] = database_rows_read_session,
    [SQL_DO_ROWS] = database_rows_read_any,
    [SQL_DO_ROWS_HELD] = database_rows_read_any,
    [SQL_DO_LOCKS] = database_rows_read_lock,
    [SQL_DO_LOCKS_ONE] = database_rows_read_lock,
    [SQL_DO_REST_ONE] = database_rows_read_rest,
    [SQL_DO_REST_SAVE] = database_rows_read_rest_save,
    [SQL_DO_TIME_ONE] = database_rows_read_time,
    [SQL_DO_REQUESTS] = database_rows_read_request,
    [SQL_DO_SESSION_LOCKS] = database_rows_read_session_lock,
    [SQL_DO_SESSION_LOCKS_NOW] = database_rows_read_session_lock,
    [SQL_DO_BEAT_LOCKS] = database_rows_read_beat_lock,
    [SQL_DO_SNAPSHOT] = database_rows_read_snapshot,
    [SQL_DO_TYPES_HOLD] = database_rows_read_types_own,
    [SQL_DO_TYPES_OWN] = database_rows_read_types_own,
    [SQL_DO_SESSION_REQUESTS] = database_rows_read_request,
    [SQL_DO_LOST_OF] = database_rows_read_lost,
    [SQL_DO_LOST_ONE] = database_rows_read_lost,
    [SQL_DO_TYPES] = database_rows_read_type,
    [SQL_DO_TYPES_NOW] = database_rows_read_type,
    [SQL_DO_CLOCK] = database_rows_read_clock,
    [SQL_DO_EVENTS_TRY] = database_rows_read_events_try,
    [SQL_DO_EVENTS_LAST] = database_rows_read_events_last,
    [SQL_DO_EVENTS_NEW] = database_rows_read_event_new,
};

void database_read_row(database_work *work, int which, hf_stmt *stmt)
{
    if (readers[which] != NULL)
        readers[which](work, stmt, 0);
}
