/* SPDX-License-Identifier: MIT */
/* SQL database stores: reads the rows that come back into the working set. */
#include "base/error.h"
#include "store/database.h"

#include <string.h>

/* Reads a row whose columns begin at `at`. */
typedef void reader(database_work *work, hf_stmt *stmt, int at);

/* ---- reading rows ---- */

static hf_resource_row *database_rows_resource_at(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = hf_rows_resource(&work->conn->rows, hf_stmt_column_text(stmt, at),
                                            hf_stmt_column_text(stmt, at + 1), true);
    if (row == NULL)
        sql_out_of_memory(work->conn);
    return row;
}

static hf_session_row *database_rows_session_named(database_work *work, hf_stmt *stmt, int at)
{
    char id[HF_SESSION_ID_SIZE] = "";
    sql_text(stmt, at, id, sizeof id);
    hf_session_row *row = hf_rows_session(&work->conn->rows, id);
    if (row == NULL)
        sql_out_of_memory(work->conn);
    return row;
}

/* A session from the columns id, key_sha256 ... that begin at `at`; a row that was loaded before
 * is kept. */
static hf_session_row *database_rows_session_at(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = database_rows_session_named(work, stmt, at);
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

/* The columns version, saved_fence ... gone. */
static void database_rows_fill_version(database_work *work, hf_resource_row *row, hf_stmt *stmt,
                                       int at)
{
    sql_conn *conn = work->conn;
    row->version = hf_stmt_column_int(stmt, at);
    if (row->version == 0)
        return;
    row->saved_fence = hf_stmt_column_int(stmt, at + 1);
    row->saved_us = hf_stmt_column_int(stmt, at + 2);
    sql_text(stmt, at + 3, row->saved_session, sizeof row->saved_session);
    row->saved_user = sql_keep(conn, &conn->rows, stmt, at + 4);
    row->saved_name = sql_keep(conn, &conn->rows, stmt, at + 5);
    row->saved_request = sql_keep(conn, &conn->rows, stmt, at + 6);
    row->gone = hf_stmt_column_int(stmt, at + 7) != 0;
}

static void database_rows_read_version(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = database_rows_resource_at(work, stmt, at);
    if (row != NULL)
        database_rows_fill_version(work, row, stmt, at + 2);
}

static void database_rows_read_past(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = database_rows_resource_at(work, stmt, at);
    hf_slice request = hf_stmt_column_text(stmt, at + 2);
    for (hf_past_row *past = row == NULL ? NULL : row->past; past != NULL; past = past->next) {
        if (!hf_slice_equal(past->request, request))
            continue;
        past->version = hf_stmt_column_int(stmt, at + 3);
        past->fence = hf_stmt_column_int(stmt, at + 4);
        past->saved_us = hf_stmt_column_int(stmt, at + 5);
        past->gone = hf_stmt_column_int(stmt, at + 6) != 0;
        past->stored = past->present = true;
    }
}

/* One that was swept and made again may have been changed as often as before; its fence is higher.
 * */
static void database_rows_read_anchor(database_work *work, hf_stmt *stmt, int at)
{
    int64_t state = hf_stmt_column_int(stmt, at + 2);
    hf_resource_row *row = database_rows_resource_at(work, stmt, at);
    if (row == NULL)
        return;
    int64_t rev = row->rev, fence = row->fence;
    work->types_busy |= hf_stmt_column_int(stmt, at + 9) == 0;
    bool looked = row->origin != NULL;
    row->busy = state == 2;
    row->locked = !row->busy;
    if (state != 0)
        return;
    row->stored = row->present = true;
    row->fence = hf_stmt_column_int(stmt, at + 3);
    row->rev = hf_stmt_column_int(stmt, at + 4);
    sql_text(stmt, at + 5, row->ended_session, sizeof row->ended_session);
    row->ended_fence = hf_stmt_column_int(stmt, at + 6);
    row->ended_request = sql_keep(work->conn, &work->conn->rows, stmt, at + 7);
    row->ended_us = hf_stmt_column_int(stmt, at + 8);
    row->place = sql_keep(work->conn, &work->conn->rows, stmt, at + 10);
    database_rows_fill_version(work, row, stmt, at + 11);
    if (looked && (row->rev != rev || row->fence != fence))
        database_stale(work, row);
}

/* An anchor that exists and could not be locked is locked by another transaction. In an
 * application's transaction this is read first: the anchor must be as the snapshot shows it when
 * it is locked, or the answers would be wrong. */
static void database_rows_read_anchor_there(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = database_locks(work) ? database_rows_resource_at(work, stmt, at) : NULL;
    if (row == NULL)
        return;
    row->busy = !row->locked;
    row->origin = row; /* looked at */
    if (!row->busy)
        return;
    row->rev = hf_stmt_column_int(stmt, at + 3);
    row->fence = hf_stmt_column_int(stmt, at + 4);
}

/* An anchor that another transaction is inserting. */
static void database_rows_read_making(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = database_rows_resource_at(work, stmt, at);
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
    hf_session_row *row = database_rows_session_named(work, stmt, at);
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

static void database_rows_read_session(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = database_rows_session_at(work, stmt, at);
    if (row != NULL)
        row->busy = row->writes && !row->locked;
}

/* Fills a lock row from the columns mode, fence, since, ends, purpose, request that begin at `at`.
 * */
static hf_lock_row *database_rows_fill_lock(database_work *work, hf_resource_row *resource,
                                            hf_session_row *session, hf_stmt *stmt, int at)
{
    sql_conn *conn = work->conn;
    hf_lock_row *row = conn->status == HF_OK ? hf_rows_lock(&conn->rows, resource, session) : NULL;
    if (row == NULL)
        sql_out_of_memory(conn);
    if (row == NULL || row->stored)
        return row;
    hf_slice mode = hf_stmt_column_text(stmt, at);
    row->mode = mode.size > 0 && mode.at[0] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    row->fence = hf_stmt_column_int(stmt, at + 1);
    row->since_us = hf_stmt_column_int(stmt, at + 2);
    row->ends_us = hf_stmt_column_int(stmt, at + 3);
    row->purpose = sql_keep(conn, &conn->rows, stmt, at + 4);
    row->request = sql_keep(conn, &conn->rows, stmt, at + 5);
    row->stored = row->present = true;
    return row;
}

static void database_rows_read_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = database_rows_resource_at(work, stmt, at);
    hf_session_row *session = database_rows_session_at(work, stmt, at + 8);
    if (resource != NULL && session != NULL)
        database_rows_fill_lock(work, resource, session, stmt, at + 2);
}

/* The same with its place in the table, in the column of the session's token; the session comes
 * in a row of its own. */
static void database_rows_read_placed_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = database_rows_resource_at(work, stmt, at);
    hf_session_row *session = database_rows_session_named(work, stmt, at + 8);
    hf_lock_row *row = resource != NULL && session != NULL
                           ? database_rows_fill_lock(work, resource, session, stmt, at + 2)
                           : NULL;
    if (row != NULL)
        row->place = sql_keep(work->conn, &work->conn->rows, stmt, at + 17);
}

/* A lock of a session. Where it is to be released, its anchor must have been locked: one that came
 * since stays. */
static void database_rows_read_session_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = database_rows_resource_at(work, stmt, at);
    hf_session_row *session = database_rows_session_named(work, stmt, at + 8);
    if (resource == NULL || session == NULL)
        return;
    if (work->loading == LOAD_NAMES) {
        resource->wanted |= session->wants_anchors;
        return;
    }
    if (session->wants_anchors && !resource->locked)
        return;
    resource->wants_requests |= session->wants_requests;
    database_rows_fill_lock(work, resource, session, stmt, at + 2);
}

/* One of the locks that a beat tells of, or how many there are. */
static void database_rows_read_beat_lock(database_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *session = database_rows_session_named(work, stmt, at + 8);
    if (hf_stmt_column_text(stmt, at).size > 0)
        database_rows_read_session_lock(work, stmt, at);
    else if (session != NULL)
        session->live_locks = (size_t)hf_stmt_column_int(stmt, at + 3);
}

static void database_rows_read_request(database_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = database_rows_resource_at(work, stmt, at);
    hf_session_row *session = database_rows_session_at(work, stmt, at + 8);
    hf_request_row *row = resource == NULL || session == NULL
                              ? NULL
                              : hf_rows_request(&work->conn->rows, resource, session);
    if (row == NULL) {
        sql_out_of_memory(work->conn);
        return;
    }
    if (row->stored)
        return;
    row->message = sql_keep(work->conn, &work->conn->rows, stmt, at + 2);
    row->at_us = hf_stmt_column_int(stmt, at + 3);
    row->stored = row->present = true;
}

static void database_rows_read_lost(database_work *work, hf_stmt *stmt, int at)
{
    sql_conn *conn = work->conn;
    hf_rows *rows = &conn->rows;
    hf_session_row *session = database_rows_session_named(work, stmt, at + 8);
    hf_slice type = sql_keep(conn, rows, stmt, at), id = sql_keep(conn, rows, stmt, at + 1);
    hf_lost_row *lost = conn->status == HF_OK ? hf_rows_lost(rows, session, type, id) : NULL;
    if (lost == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    if (lost->stored)
        return;
    lost->fence = hf_stmt_column_int(stmt, at + 3);
    lost->at_us = hf_stmt_column_int(stmt, at + 4);
    lost->why = sql_keep(conn, rows, stmt, at + 2);
    lost->by = sql_keep(conn, rows, stmt, at + 6);
    lost->reason = sql_keep(conn, rows, stmt, at + 7);
    lost->stored = lost->present = true;
    if (!hf_rows_want_taker(rows, lost))
        sql_out_of_memory(conn);
}

static void database_rows_read_type(database_work *work, hf_stmt *stmt, int at)
{
    hf_type_row *row = hf_rows_type(&work->conn->rows, hf_stmt_column_text(stmt, at));
    if (row == NULL)
        sql_out_of_memory(work->conn);
    else
        sql_read_type(work->conn, stmt, at + 2, &row->type);
}

static void database_rows_read_clock(database_work *work, hf_stmt *stmt, int at)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 1);
}

/* Of the statement that asks for all at once: the time, and whether there are requests or losses,
 * if they are not among the rows. */
static void database_rows_read_last(database_work *work, hf_stmt *stmt, int at)
{
    database_rows_read_clock(work, stmt, at);
    work->more = (hf_stmt_column_int(stmt, at + 2) != 0 ? MORE_REQUESTS : 0) |
                 (hf_stmt_column_int(stmt, at + 9) != 0 ? MORE_LOST : 0);
}

/* The same of the statements for one: a session and a type, if they are there. */
static void database_rows_read_rest(database_work *work, hf_stmt *stmt, int at)
{
    if (hf_stmt_column_text(stmt, at).size > 0)
        database_rows_read_session(work, stmt, at);
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at + 11));
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 13);
    work->more = (hf_stmt_column_int(stmt, at + 14) != 0 ? MORE_REQUESTS : 0) |
                 (hf_stmt_column_int(stmt, at + 12) != 0 ? MORE_LOST : 0);
    hf_slice name = hf_stmt_column_text(stmt, at + 15);
    hf_type_row *type = name.size == 0 ? NULL : hf_rows_type(&work->conn->rows, name);
    if (type != NULL)
        sql_read_type(work->conn, stmt, at + 16, &type->type);
    else if (name.size > 0)
        sql_out_of_memory(work->conn);
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

/* A row of the statement that asks for all at once; its first column tells what it is. */
static void database_rows_read_any(database_work *work, hf_stmt *stmt, int at)
{
    static const struct {
        reader *read;
        int at; /* where its columns begin */
    } kinds[] = {{NULL, 0},
                 {database_rows_read_lock, 1},
                 {database_rows_read_request, 1},
                 {database_rows_read_session, 9},
                 {database_rows_read_type, 1},
                 {database_rows_read_lost, 1},
                 {database_rows_read_last, 4},
                 {database_rows_read_anchor_there, 1},
                 {database_rows_read_placed_lock, 1}};
    int64_t kind = hf_stmt_column_int(stmt, at);
    if (kind > 0 && kind < (int64_t)(sizeof kinds / sizeof kinds[0]))
        kinds[kind].read(work, stmt, at + kinds[kind].at);
}

static reader *const readers[SQL_DO_COUNT] = {
    [SQL_DO_ANCHORS] = database_rows_read_anchor,
    [SQL_DO_ANCHOR_HELD] = database_rows_read_anchor,
    [SQL_DO_ANCHORS_THERE] = database_rows_read_anchor_there,
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
