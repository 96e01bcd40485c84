/* SPDX-License-Identifier: MIT */
/* Stores on a database server: flights of statements, and reading the rows that come back into the
 * working set. */
#include "base/error.h"
#include "store/server.h"

#include <string.h>

#define NO_LIMIT 1000000000

/* Reads a row whose columns begin at `at`. */
typedef void reader(server_work *work, hf_stmt *stmt, int at);

/* ---- reading rows ---- */

static hf_resource_row *resource_at(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = hf_rows_resource(&work->conn->rows, hf_stmt_column_text(stmt, at),
                                            hf_stmt_column_text(stmt, at + 1), true);
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

/* A session from the columns id, key_sha256 ... that begin at `at`; what was loaded before stands.
 * */
static hf_session_row *server_flight_session_at(server_work *work, hf_stmt *stmt, int at)
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

void server_stale(server_work *work, const hf_resource_row *row)
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
static void server_flight_fill_version(server_work *work, hf_resource_row *row, hf_stmt *stmt,
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

static void server_flight_read_version(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = resource_at(work, stmt, at);
    if (row != NULL)
        server_flight_fill_version(work, row, stmt, at + 2);
}

static void read_past(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = resource_at(work, stmt, at);
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
static void read_anchor(server_work *work, hf_stmt *stmt, int at)
{
    int64_t state = hf_stmt_column_int(stmt, at + 2);
    hf_resource_row *row = resource_at(work, stmt, at);
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
    server_flight_fill_version(work, row, stmt, at + 11);
    if (looked && (row->rev != rev || row->fence != fence))
        server_stale(work, row);
}

/* An anchor that is there and could not be locked is someone else's. In an application's
 * transaction this comes first: what its snapshot shows must be as the anchor stands when it is
 * locked, or the answers would be wrong. */
static void read_anchor_there(server_work *work, hf_stmt *stmt, int at)
{
    bool locking = !work->reads || work->nested;
    hf_resource_row *row = locking ? resource_at(work, stmt, at) : NULL;
    if (row == NULL)
        return;
    row->busy = !row->locked;
    row->origin = row; /* looked at */
    if (!row->busy)
        return;
    row->rev = hf_stmt_column_int(stmt, at + 3);
    row->fence = hf_stmt_column_int(stmt, at + 4);
}

/* One that is not there for us: someone is making it. */
static void read_making(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *row = resource_at(work, stmt, at);
    if (row != NULL)
        row->busy = true;
}

static void read_open_try(server_work *work, hf_stmt *stmt, int at)
{
    hf_slice request = hf_stmt_column_text(stmt, at);
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, request))
            open->busy = hf_stmt_column_int(stmt, at + 1) == 0;
}

static void read_open(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = server_flight_session_at(work, stmt, at);
    if (row == NULL)
        return;
    for (hf_open_row *open = work->conn->rows.opens; open != NULL; open = open->next)
        if (hf_slice_equal(open->request, row->request))
            open->session = row;
}

/* It may have been read before it was locked: this is how it stands. */
static hf_session_row *session_anew(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = session_named(work, stmt, at);
    if (row == NULL)
        return NULL;
    row->loaded = false;
    return server_flight_session_at(work, stmt, at);
}

static void read_locked_session(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = session_anew(work, stmt, at);
    if (row != NULL)
        row->locked = true;
}

static void read_session_now(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = session_anew(work, stmt, at);
    if (row != NULL)
        row->busy = false;
}

static void server_flight_read_session(server_work *work, hf_stmt *stmt, int at)
{
    hf_session_row *row = server_flight_session_at(work, stmt, at);
    if (row != NULL)
        row->busy = row->writes && !row->locked;
}

/* Fills a lock row from the columns mode, fence, since, ends, purpose, request that begin at `at`.
 * */
static hf_lock_row *server_flight_fill_lock(server_work *work, hf_resource_row *resource,
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

static void server_flight_read_lock(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = resource_at(work, stmt, at);
    hf_session_row *session = server_flight_session_at(work, stmt, at + 8);
    if (resource != NULL && session != NULL)
        server_flight_fill_lock(work, resource, session, stmt, at + 2);
}

/* The same with the place it is kept at, in the column of the session's token; the session comes by
 * itself. */
static void read_placed_lock(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = resource_at(work, stmt, at);
    hf_session_row *session = session_named(work, stmt, at + 8);
    hf_lock_row *row = resource != NULL && session != NULL
                           ? server_flight_fill_lock(work, resource, session, stmt, at + 2)
                           : NULL;
    if (row != NULL)
        row->place = sql_keep(work->conn, &work->conn->rows, stmt, at + 17);
}

/* A lock of a session. Where it is to be released, its anchor must have been locked: one that came
 * since stays. */
static void read_session_lock(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = resource_at(work, stmt, at);
    hf_session_row *session = session_named(work, stmt, at + 8);
    if (resource == NULL || session == NULL)
        return;
    if (work->naming) {
        resource->wanted |= session->wants_anchors;
        return;
    }
    if (session->wants_anchors && !resource->locked)
        return;
    resource->wants_requests |= session->wants_requests;
    server_flight_fill_lock(work, resource, session, stmt, at + 2);
}

static void server_flight_read_request(server_work *work, hf_stmt *stmt, int at)
{
    hf_resource_row *resource = resource_at(work, stmt, at);
    hf_session_row *session = server_flight_session_at(work, stmt, at + 8);
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

static void server_flight_read_lost(server_work *work, hf_stmt *stmt, int at)
{
    sql_conn *conn = work->conn;
    hf_rows *rows = &conn->rows;
    hf_session_row *session = session_named(work, stmt, at + 8);
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

static void server_flight_read_type(server_work *work, hf_stmt *stmt, int at)
{
    hf_type_row *row = hf_rows_type(&work->conn->rows, hf_stmt_column_text(stmt, at));
    if (row == NULL)
        sql_out_of_memory(work->conn);
    else
        sql_read_type(work->conn, stmt, at + 2, &row->type);
}

static void server_flight_read_clock(server_work *work, hf_stmt *stmt, int at)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 1);
}

/* Of the statement that asks for all at once: the time, and whether there are requests or losses,
 * if they are not among the rows. */
static void read_last(server_work *work, hf_stmt *stmt, int at)
{
    server_flight_read_clock(work, stmt, at);
    work->more_requests = hf_stmt_column_int(stmt, at + 2) != 0;
    work->more_lost = hf_stmt_column_int(stmt, at + 9) != 0;
}

/* The same of the statements for one: a session and a type, if they are there. */
static void read_rest(server_work *work, hf_stmt *stmt, int at)
{
    if (hf_stmt_column_text(stmt, at).size > 0)
        server_flight_read_session(work, stmt, at);
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at + 11));
    work->more_lost = hf_stmt_column_int(stmt, at + 12) != 0;
    work->conn->rows.fence_floor = hf_stmt_column_int(stmt, at + 13);
    work->more_requests = hf_stmt_column_int(stmt, at + 14) != 0;
    hf_slice name = hf_stmt_column_text(stmt, at + 15);
    hf_type_row *type = name.size == 0 ? NULL : hf_rows_type(&work->conn->rows, name);
    if (type != NULL)
        sql_read_type(work->conn, stmt, at + 16, &type->type);
    else if (name.size > 0)
        sql_out_of_memory(work->conn);
}

/* The same of one who saves, which has lost nothing by it. */
static void read_rest_save(server_work *work, hf_stmt *stmt, int at)
{
    read_rest(work, stmt, at);
    work->more_past = work->more_lost;
    work->more_lost = false;
}

static void read_time(server_work *work, hf_stmt *stmt, int at)
{
    work->now_us = hf_store_now(&work->store->base, hf_stmt_column_int(stmt, at));
}

static void read_types_own(server_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->types_busy = false;
}

static void read_snapshot(server_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->snapshot = true;
}

static void read_events_try(server_work *work, hf_stmt *stmt, int at)
{
    (void)stmt;
    (void)at;
    work->numbers = true;
}

static void read_events_last(server_work *work, hf_stmt *stmt, int at)
{
    work->numbered_to = hf_stmt_column_int(stmt, at);
}

/* Whose numbers are given by someone else just now is none of ours. */
static void read_event_new(server_work *work, hf_stmt *stmt, int at)
{
    hf_value *row = work->numbers ? hf_list_add(work->unnumbered) : NULL;
    if (row == NULL)
        return;
    hf_set_int(&row[0], hf_stmt_column_int(stmt, at));
    /* the columns that must not be null, where a row is written to change one */
    hf_set_int(&row[2], 0);
    hf_set_text(&row[3], hf_slice_of("-"));
}

/* A row of the statement that asks for all at once; its first column tells what it is. */
static void read_any(server_work *work, hf_stmt *stmt, int at)
{
    static const struct {
        reader *read;
        int at; /* where its columns begin */
    } kinds[] = {{NULL, 0},
                 {server_flight_read_lock, 1},
                 {server_flight_read_request, 1},
                 {server_flight_read_session, 9},
                 {server_flight_read_type, 1},
                 {server_flight_read_lost, 1},
                 {read_last, 4},
                 {read_anchor_there, 1},
                 {read_placed_lock, 1}};
    int64_t kind = hf_stmt_column_int(stmt, at);
    if (kind > 0 && kind < (int64_t)(sizeof kinds / sizeof kinds[0]))
        kinds[kind].read(work, stmt, at + kinds[kind].at);
}

static reader *const readers[SQL_DO_COUNT] = {
    [SQL_DO_ANCHORS] = read_anchor,
    [SQL_DO_ANCHOR_HELD] = read_anchor,
    [SQL_DO_ANCHORS_THERE] = read_anchor_there,
    [SQL_DO_MAKING] = read_making,
    [SQL_DO_VERSIONS] = server_flight_read_version,
    [SQL_DO_PAST] = read_past,
    [SQL_DO_OPENS_TRY] = read_open_try,
    [SQL_DO_OPENS] = read_open,
    [SQL_DO_SESSIONS_LOCK] = read_locked_session,
    [SQL_DO_SESSIONS_NOW] = read_session_now,
    [SQL_DO_SESSIONS_LOAD] = server_flight_read_session,
    [SQL_DO_ROWS] = read_any,
    [SQL_DO_ROWS_HELD] = read_any,
    [SQL_DO_LOCKS] = server_flight_read_lock,
    [SQL_DO_LOCKS_ONE] = server_flight_read_lock,
    [SQL_DO_REST_ONE] = read_rest,
    [SQL_DO_REST_SAVE] = read_rest_save,
    [SQL_DO_TIME_ONE] = read_time,
    [SQL_DO_REQUESTS] = server_flight_read_request,
    [SQL_DO_SESSION_LOCKS] = read_session_lock,
    [SQL_DO_SESSION_LOCKS_NOW] = read_session_lock,
    [SQL_DO_SNAPSHOT] = read_snapshot,
    [SQL_DO_TYPES_HOLD] = read_types_own,
    [SQL_DO_TYPES_OWN] = read_types_own,
    [SQL_DO_SESSION_REQUESTS] = server_flight_read_request,
    [SQL_DO_LOST_OF] = server_flight_read_lost,
    [SQL_DO_LOST_ONE] = server_flight_read_lost,
    [SQL_DO_TYPES] = server_flight_read_type,
    [SQL_DO_TYPES_NOW] = server_flight_read_type,
    [SQL_DO_CLOCK] = server_flight_read_clock,
    [SQL_DO_EVENTS_TRY] = read_events_try,
    [SQL_DO_EVENTS_LAST] = read_events_last,
    [SQL_DO_EVENTS_NEW] = read_event_new,
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

bool server_is_long(const server_work *work, const hf_list *list)
{
    return list != NULL && work->store->list_rows > 0 && list->count > work->store->list_rows;
}

/* The statement for a list of one row, where there is one. */
static int for_one(const sql_conn *conn, int which, const hf_list *list)
{
    int one = which == SQL_DO_ANCHORS_UPDATE ? SQL_DO_ANCHORS_UPDATE_ONE
              : which == SQL_DO_LOCKS_DELETE ? SQL_DO_LOCKS_DELETE_ONE
                                             : which;
    return list != NULL && list->count == 1 && conn->sql[one] != NULL ? one : which;
}

const hf_list *server_part(server_work *work, const hf_list *list, size_t *from)
{
    size_t left = list->count - *from;
    hf_list *part = server_list(work, list->kinds);
    if (part == NULL)
        return NULL;
    part->values = list->values + *from * list->columns;
    part->count =
        server_is_long(work, list) && left > work->store->list_rows ? work->store->list_rows : left;
    *from += part->count;
    return part;
}

/* The parts of a list that is too long for one statement; all but the last are sent. */
static void queue_parts(server_work *work, int which, const hf_list *list)
{
    for (size_t from = 0; from < list->count;) {
        const hf_list *part = server_part(work, list, &from);
        if (part == NULL)
            return;
        server_queue(work, which, part);
        if (from < list->count)
            server_fly(work);
    }
}

void server_queue(server_work *work, int which, const hf_list *list)
{
    sql_conn *conn = work->conn;
    if (list != NULL && !list->failed && server_is_long(work, list) && conn->sql[which] != NULL) {
        queue_parts(work, which, list);
        return;
    }
    bool empty = list != NULL && list->count == 0 && !list->failed && which != SQL_DO_ROWS &&
                 which != SQL_DO_ROWS_HELD;
    if (conn->sql[which] == NULL || empty)
        return;
    if (list != NULL && list->failed)
        sql_out_of_memory(conn);
    which = for_one(conn, which, list);
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    if (list != NULL)
        hf_stmt_list(stmt, 1, list);
    if (which == SQL_DO_SESSION_LOCKS || which == SQL_DO_SESSION_LOCKS_NOW)
        hf_stmt_int(stmt, 2, NO_LIMIT);
    hf_stmt_queue(stmt);
    work->queued[work->queued_count++] = which;
}

void server_queue_begin(server_work *work)
{
    if (work->begun)
        return;
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

static void note_state(server_work *work, int which, hf_stmt *stmt)
{
    if (work->conn->status != HF_OK)
        return;
    if (which == SQL_DO_PROBE_ANCHORS || which == SQL_DO_PROBE_SESSIONS ||
        which == SQL_DO_PROBE_TYPES || which == SQL_DO_SWEEP_PAST)
        work->changed += hf_stmt_changed(stmt);
    if (which == SQL_DO_BEGIN || which == SQL_DO_SAVEPOINT)
        work->begun = true;
    else if (which == SQL_DO_COMMIT || which == SQL_DO_SAVEPOINT_RELEASE)
        work->begun = false;
}

void server_fly(server_work *work)
{
    sql_conn *conn = work->conn;
    bool row = false;
    if (conn->status == HF_OK && work->queued_count > 0)
        conn->status = hf_db_send(conn->db, conn->err);
    for (int i = 0; i < work->queued_count; i++) {
        hf_stmt *stmt = conn->stmts[work->queued[i]];
        reader *read = readers[work->queued[i]];
        while (conn->status == HF_OK &&
               (conn->status = hf_stmt_step(stmt, &row, conn->err)) == HF_OK && row)
            if (read != NULL)
                read(work, stmt, 0);
        note_state(work, work->queued[i], stmt);
        hf_stmt_reset(stmt);
    }
    work->queued_count = 0;
}
