/* SPDX-License-Identifier: MIT */
/* The SQLite store: loading the rows a batch names into a working set, and saving those that
 * changed. Rows are saved table by table in canonical order, so that neighbours in a page are
 * written together. */
#include "base/error.h"
#include "store/sql_rows.h"
#include "store/sqlite.h"

#include <stdlib.h>
#include <string.h>

/* ---- loading ---- */

static void sqlite_rows_load_type(sql_conn *conn, hf_type_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_TYPE_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(row->type.type));
    if (!sql_next(conn, stmt))
        return;
    sql_read_row(conn, stmt, 0, &hf_type_fields, HF_REST, row);
    hf_stmt_reset(stmt);
}

static void sqlite_rows_load_session(sql_conn *conn, hf_session_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_LOAD);
    if (stmt == NULL)
        return;
    row->loaded = true;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    if (!sql_next(conn, stmt))
        return;
    sql_read_row(conn, stmt, 0, &hf_session_fields, SQLITE_SESSION_COLUMNS, row);
    row->loaded_expires_us = row->expires_us;
    row->loaded_ended_us = row->ended_us;
    row->stored = row->present = true;
    hf_stmt_reset(stmt);
}

static void sqlite_rows_load_once(sql_conn *conn, hf_session_row *row)
{
    if (row != NULL && !row->loaded)
        sqlite_rows_load_session(conn, row);
}

hf_session_row *sqlite_load_session(sql_conn *conn, hf_rows *rows, const char *id)
{
    hf_session_row *row = hf_rows_session(rows, id);
    if (row == NULL)
        sql_out_of_memory(conn);
    sqlite_rows_load_once(conn, row);
    return row;
}

/* The session a column names, loaded. A statement for it may run while another is being stepped. */
static hf_session_row *sqlite_rows_session_at(sql_conn *conn, hf_stmt *stmt, int at)
{
    hf_session_row *row = sql_read_session_id(conn, stmt, at);
    sqlite_rows_load_once(conn, row);
    return row;
}

/* Fills a lock row from the columns behind its names. */
static void sqlite_rows_fill_lock(sql_conn *conn, hf_lock_row *row, hf_stmt *stmt, int at)
{
    if (row == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    if (row->stored)
        return;
    sql_read_row(conn, stmt, at, &hf_lock_fields, HF_REST, row);
    row->stored = row->present = true;
}

/* What is held and has no row (hf_rows.drops_held) has the highest fence of its locks. One that was
 * higher is in the fence floor. A row beside locks may be older than they are. */
static void sqlite_rows_infer_anchor(hf_resource_row *row)
{
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        if (row->fence < lock->fence) {
            row->fence = lock->fence;
            row->rev = row->stored ? row->rev : lock->fence;
            row->present = true;
        }
}

static void sqlite_rows_load_locks(sql_conn *conn, hf_rows *rows, hf_resource_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_LOCKS_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    while (sql_next(conn, stmt)) {
        hf_session_row *session = sqlite_rows_session_at(conn, stmt, 0);
        if (conn->status == HF_OK)
            sqlite_rows_fill_lock(conn, hf_rows_lock(rows, row, session), stmt, 1);
    }
    sqlite_rows_infer_anchor(row);
}

static void sqlite_rows_load_requests(sql_conn *conn, hf_rows *rows, hf_resource_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_REQUESTS_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    while (sql_next(conn, stmt)) {
        hf_session_row *session = sqlite_rows_session_at(conn, stmt, 0);
        hf_request_row *request =
            conn->status == HF_OK ? hf_rows_request(rows, row, session) : NULL;
        if (request == NULL) {
            sql_out_of_memory(conn);
            continue;
        }
        sql_read_row(conn, stmt, 1, &hf_request_fields, HF_REST, request);
        request->stored = request->present = true;
    }
}

static void sqlite_rows_load_anchor(sql_conn *conn, hf_resource_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_RESOURCE_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    if (!sql_next(conn, stmt))
        return;
    row->stored = row->present = true;
    sql_read_row(conn, stmt, 0, &hf_resource_fields, HF_MOVES | HF_VERSIONED, row);
    hf_stmt_reset(stmt);
}

static void sqlite_rows_read_lost(sql_conn *conn, hf_rows *rows, hf_session_row *row, hf_stmt *stmt)
{
    hf_slice type = sql_keep(conn, rows, stmt, 0), id = sql_keep(conn, rows, stmt, 1);
    hf_lost_row *lost = hf_rows_lost_new(rows, row, type, id);
    if (lost == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    sql_read_row(conn, stmt, 2, &hf_lost_fields, HF_REST, lost);
    lost->stored = lost->present = true;
    if (!hf_rows_want_taker(rows, lost))
        sql_out_of_memory(conn);
}

static void sqlite_rows_load_all_lost(sql_conn *conn, hf_rows *rows, hf_session_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_LOST_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    while (sql_next(conn, stmt))
        sqlite_rows_read_lost(conn, rows, row, stmt);
}

static bool sqlite_rows_is_loaded(const hf_loss_row *loss)
{
    for (const hf_lost_row *row = loss->session->lost; row != NULL; row = row->next)
        if (hf_slice_equal(row->id, loss->resource->id) &&
            hf_slice_equal(row->type, loss->resource->type))
            return true;
    return loss->session->wants_lost;
}

/* The losses of one resource each. They are rare: whether there are any at all is asked once a
 * batch. */
static void sqlite_rows_load_losses(sql_conn *conn, hf_rows *rows)
{
    bool any = rows->losses != NULL && sql_number(conn, SQLITE_DO_LOST_ANY) != 0;
    for (hf_loss_row *loss = any ? rows->losses : NULL; loss != NULL; loss = loss->next) {
        hf_stmt *stmt = sqlite_rows_is_loaded(loss) ? NULL : sql_stmt(conn, SQLITE_DO_LOST_ONE);
        if (stmt == NULL)
            continue;
        hf_stmt_text(stmt, 1, (hf_slice){loss->session->id, HF_SESSION_ID_MAX});
        hf_stmt_text(stmt, 2, loss->resource->type);
        hf_stmt_text(stmt, 3, loss->resource->id);
        while (sql_next(conn, stmt))
            sqlite_rows_read_lost(conn, rows, loss->session, stmt);
    }
}

/* The locks of the session that a statement answers; `number` is its second parameter. */
static void sqlite_rows_load_locks_of(sql_conn *conn, hf_rows *rows, hf_session_row *row, int which,
                                      int64_t number)
{
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    if (number != 0)
        hf_stmt_int(stmt, 2, number);
    while (sql_next(conn, stmt)) {
        hf_resource_row *resource = sql_read_name(conn, stmt, 0);
        if (resource == NULL)
            continue;
        resource->wanted |= row->wants_anchors;
        resource->wants_requests |= row->wants_requests || row->wants_anchors;
        sqlite_rows_fill_lock(conn, hf_rows_lock(rows, resource, row), stmt, 2);
    }
}

void sqlite_load_session_locks(sql_conn *conn, hf_rows *rows, hf_session_row *row, size_t limit)
{
    sqlite_rows_load_locks_of(conn, rows, row, SQLITE_DO_SESSION_LOCKS_LOAD,
                              limit == 0 ? -1 : (int64_t)limit);
}

static void sqlite_rows_count_locks(sql_conn *conn, hf_rows *rows, hf_session_row *row,
                                    int64_t now_us, bool requests)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_LOCKS_COUNT);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    hf_stmt_int(stmt, 2, now_us);
    if (sql_next(conn, stmt)) {
        row->live_locks = (size_t)hf_stmt_column_int(stmt, 0);
        hf_stmt_reset(stmt);
    }
    sqlite_rows_load_locks_of(conn, rows, row, SQLITE_DO_SESSION_LOCKS_OVER, now_us);
    if (requests)
        sqlite_rows_load_locks_of(conn, rows, row, SQLITE_DO_SESSION_LOCKS_ASKED, 0);
}

static void sqlite_rows_load_opens(sql_conn *conn, const hf_rows *rows)
{
    for (hf_open_row *open = rows->opens; open != NULL; open = open->next) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_BY_REQUEST);
        if (stmt == NULL)
            return;
        hf_stmt_text(stmt, 1, open->request);
        if (!sql_next(conn, stmt))
            continue;
        open->session = sqlite_rows_session_at(conn, stmt, 0);
        hf_stmt_reset(stmt);
    }
}

void sqlite_raise_floor(sql_conn *conn, int64_t floor)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_FENCE_FLOOR_RAISE);
    char digits[HF_NUMBER_MAX], *end = digits + sizeof digits;
    const char *first = hf_number_print(floor, end);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){first, (size_t)(end - first)});
    sql_run(conn, stmt);
}

static void sqlite_rows_load_past(sql_conn *conn, const hf_resource_row *row)
{
    for (hf_save_row *past = row->past; past != NULL; past = past->next) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_PAST_LOAD);
        if (stmt == NULL)
            return;
        hf_stmt_text(stmt, 1, row->type);
        hf_stmt_text(stmt, 2, row->id);
        hf_stmt_text(stmt, 3, past->request);
        if (!sql_next(conn, stmt))
            continue;
        sql_read_row(conn, stmt, 0, &hf_save_fields, HF_REST, past);
        past->stored = past->present = true;
        hf_stmt_reset(stmt);
    }
}

/* Whether there is anything to look for is asked once for a batch that would look often. */
static bool sqlite_rows_any_anchors(sql_conn *conn, const hf_rows *rows)
{
    return rows->resources_count < 3 || sql_number(conn, SQLITE_DO_RESOURCES_ANY) != 0;
}

void sqlite_load(sql_conn *conn, hf_rows *rows, int64_t now_us)
{
    bool requests = sql_number(conn, SQLITE_DO_REQUESTS_ANY) != 0; /* they are rare */
    for (hf_type_row *row = rows->types; row != NULL; row = row->next)
        sqlite_rows_load_type(conn, row);
    sqlite_rows_load_opens(conn, rows);
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        sqlite_rows_load_once(conn, row);
        if (row->wants_locks)
            sqlite_load_session_locks(conn, rows, row, 0);
        if (row->counts_locks)
            sqlite_rows_count_locks(conn, rows, row, now_us, requests);
        if (row->wants_lost)
            sqlite_rows_load_all_lost(conn, rows, row);
    }
    if (rows->resources != NULL)
        rows->fence_floor = sql_number(conn, SQLITE_DO_FENCE_FLOOR);
    bool anchors = sqlite_rows_any_anchors(conn, rows);
    for (hf_resource_row *row = rows->resources; row != NULL && conn->status == HF_OK;
         row = row->next) {
        if (row->wanted && anchors)
            sqlite_rows_load_anchor(conn, row);
        if (row->wanted)
            sqlite_rows_load_locks(conn, rows, row);
        if (row->past != NULL && row->version != 0)
            sqlite_rows_load_past(conn, row);
        if (requests && row->wants_requests)
            sqlite_rows_load_requests(conn, rows, row);
        row->loaded = true;
    }
    sqlite_rows_load_losses(conn, rows);
}

/* ---- saving ---- */

static void sqlite_rows_write(sql_conn *conn, int which, const hf_row_fields *of, unsigned mask,
                              const void *row)
{
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    sql_bind_row(stmt, 1, of, mask, row);
    sql_run(conn, stmt);
}

/* What only ended something leaves the index of sessions alone. */
static void sqlite_rows_save_session(sql_conn *conn, const hf_session_row *row)
{
    if (!row->changed || !row->present)
        return;
    if (!row->stored) {
        sqlite_rows_write(conn, SQLITE_DO_SESSION_INSERT, &hf_session_fields,
                          HF_KEY | SQLITE_SESSION_COLUMNS, row);
        return;
    }
    if (sqlite_session_moved(row))
        sqlite_rows_write(conn, SQLITE_DO_SESSION_UPDATE, &hf_session_fields, HF_KEY | HF_MOVES,
                          row);
    if (row->ends_changed)
        sqlite_rows_write(conn, SQLITE_DO_SESSION_ENDS_UPDATE, &hf_session_fields,
                          HF_KEY | HF_WITH_ENDS, row);
}

static void sqlite_rows_save_anchor(sql_conn *conn, const hf_resource_row *row)
{
    enum { CHANGED = HF_NAMED | HF_MOVES };
    if (!row->changed || (!row->present && !row->stored))
        return;
    if (!row->present)
        sqlite_rows_write(conn, SQLITE_DO_RESOURCE_DELETE, &hf_resource_fields, HF_NAMED, row);
    else if (!row->stored)
        sqlite_rows_write(conn, SQLITE_DO_RESOURCE_INSERT, &hf_resource_fields, HF_EVERY, row);
    else if (row->saved_by != NULL)
        sqlite_rows_write(conn, SQLITE_DO_RESOURCE_SAVE, &hf_resource_fields,
                          CHANGED | HF_VERSIONED, row);
    else
        sqlite_rows_write(conn, SQLITE_DO_RESOURCE_UPDATE, &hf_resource_fields, CHANGED, row);
}

/* A row that is written whole, or deleted by its key. */
static void sqlite_rows_save(sql_conn *conn, int write, int delete, const hf_row_fields *of,
                             const void *row, bool present)
{
    if (present)
        sqlite_rows_write(conn, write, of, HF_EVERY, row);
    else
        sqlite_rows_write(conn, delete, of, HF_KEY | HF_NAMED, row);
}

static int sqlite_rows_canonical(const void *a, const void *b)
{
    const hf_resource_row *x = *(hf_resource_row *const *)a, *y = *(hf_resource_row *const *)b;
    int order = hf_slice_compare(x->type, y->type);
    return order != 0 ? order : hf_slice_compare(x->id, y->id);
}

/* The resources of the set in canonical order. */
static hf_resource_row **sqlite_rows_sorted(sql_conn *conn, hf_rows *rows)
{
    if (rows->resources_count == 0)
        return NULL;
    hf_resource_row **out = hf_arena_alloc(&rows->arena, rows->resources_count * sizeof *out),
                    **at = out;
    if (out == NULL) {
        sql_out_of_memory(conn);
        return NULL;
    }
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        *at++ = row;
    if (rows->resources_count > 1)
        qsort(out, rows->resources_count, sizeof *out, sqlite_rows_canonical);
    return out;
}

void sqlite_save(sql_conn *conn, hf_rows *rows, int64_t now_us)
{
    hf_resource_row **resources = sqlite_rows_sorted(conn, rows);
    size_t count = resources == NULL ? 0 : rows->resources_count;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        sqlite_rows_save_session(conn, row);
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            if (lost->changed && (lost->present || lost->stored))
                sqlite_rows_save(conn, SQLITE_DO_LOST_SAVE, SQLITE_DO_LOST_DELETE, &hf_lost_fields,
                                 lost, lost->present);
    }
    for (size_t i = 0; i < count; i++)
        sqlite_rows_save_anchor(conn, resources[i]);
    if (rows->floor_raised)
        sqlite_raise_floor(conn, rows->fence_floor);
    for (size_t i = 0; i < count; i++)
        for (hf_save_row *past = resources[i]->past; past != NULL; past = past->next)
            if (past->changed && past->present)
                sqlite_rows_write(conn, SQLITE_DO_PAST_SAVE, &hf_save_fields, HF_EVERY, past);
    for (size_t i = 0; i < count; i++) {
        for (hf_lock_row *lock = resources[i]->locks; lock != NULL; lock = lock->next)
            if (lock->changed && (lock->present || lock->stored))
                sqlite_rows_save(conn, lock->stored ? SQLITE_DO_LOCK_UPDATE : SQLITE_DO_LOCK_INSERT,
                                 SQLITE_DO_LOCK_DELETE, &hf_lock_fields, lock, lock->present);
        for (hf_request_row *request = resources[i]->requests; request != NULL;
             request = request->next)
            if (request->changed && (request->present || request->stored))
                sqlite_rows_save(conn, SQLITE_DO_REQUEST_SAVE, SQLITE_DO_REQUEST_DELETE,
                                 &hf_request_fields, request, request->present);
    }
    for (size_t i = 0; i < rows->events_count && conn->status == HF_OK; i++) {
        rows->events[i].at_us = now_us;
        sqlite_rows_write(conn, SQLITE_DO_EVENT_INSERT, &hf_event_fields, HF_EVERY,
                          &rows->events[i]);
    }
}
