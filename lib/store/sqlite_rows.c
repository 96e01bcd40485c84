/* SPDX-License-Identifier: MIT */
/* The SQLite store: loading the rows a batch names into a working set, and saving those that
 * changed. Rows are saved table by table in canonical order, so that neighbours in a page are
 * written together. */
#include "base/error.h"
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
    sql_read_type(conn, stmt, 0, &row->type);
    hf_stmt_reset(stmt);
}

static void sqlite_rows_load_session(sql_conn *conn, hf_rows *rows, hf_session_row *row)
{
    hf_stmt *stmt =
        sql_stmt(conn, row->wants_ends ? SQLITE_DO_SESSION_ENDS_LOAD : SQLITE_DO_SESSION_LOAD);
    if (stmt == NULL)
        return;
    row->loaded = true;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    if (!sql_next(conn, stmt))
        return;
    hf_slice key = hf_stmt_column_blob(stmt, 0);
    if (key.size == sizeof row->key_sha256)
        memcpy(row->key_sha256, key.at, key.size);
    row->user = sql_keep(conn, rows, stmt, 1);
    row->name = sql_keep(conn, rows, stmt, 2);
    row->idle_us = hf_stmt_column_int(stmt, 3);
    row->opened_us = hf_stmt_column_int(stmt, 4);
    row->expires_us = hf_stmt_column_int(stmt, 5);
    row->ended_us = hf_stmt_column_int(stmt, 6);
    row->rev = hf_stmt_column_int(stmt, 7);
    row->caller = sql_keep(conn, rows, stmt, 8);
    row->request = sql_keep(conn, rows, stmt, 9);
    if (row->wants_ends)
        row->ends.text = sql_keep(conn, rows, stmt, 10);
    row->loaded_expires_us = row->expires_us;
    row->loaded_ended_us = row->ended_us;
    row->stored = row->present = true;
    hf_stmt_reset(stmt);
}

hf_session_row *sqlite_load_session(sql_conn *conn, hf_rows *rows, const char *id)
{
    hf_session_row *row = hf_rows_session(rows, id);
    if (row == NULL)
        sql_out_of_memory(conn);
    else if (!row->loaded)
        sqlite_rows_load_session(conn, rows, row);
    return row;
}

/* The session a column names, loaded. A statement for it may run while another is being stepped. */
static hf_session_row *sqlite_rows_session_at(sql_conn *conn, hf_rows *rows, hf_stmt *stmt, int at)
{
    char id[HF_SESSION_ID_SIZE] = "";
    hf_slice_copy(id, sizeof id, hf_stmt_column_text(stmt, at));
    return sqlite_load_session(conn, rows, id);
}

/* Fills a lock row from the columns mode, fence, since, ends, purpose, request that begin at `at`.
 * */
static void sqlite_rows_fill_lock(sql_conn *conn, hf_rows *rows, hf_lock_row *row, hf_stmt *stmt,
                                  int at)
{
    if (row == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    if (row->stored)
        return;
    hf_slice mode = hf_stmt_column_text(stmt, at);
    row->mode = mode.size > 0 && mode.at[0] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    row->fence = hf_stmt_column_int(stmt, at + 1);
    row->since_us = hf_stmt_column_int(stmt, at + 2);
    row->ends_us = hf_stmt_column_int(stmt, at + 3);
    row->purpose = sql_keep(conn, rows, stmt, at + 4);
    row->request = sql_keep(conn, rows, stmt, at + 5);
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
        hf_session_row *session = sqlite_rows_session_at(conn, rows, stmt, 0);
        if (conn->status == HF_OK)
            sqlite_rows_fill_lock(conn, rows, hf_rows_lock(rows, row, session), stmt, 1);
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
        hf_session_row *session = sqlite_rows_session_at(conn, rows, stmt, 0);
        hf_request_row *request =
            conn->status == HF_OK ? hf_rows_request(rows, row, session) : NULL;
        if (request == NULL) {
            sql_out_of_memory(conn);
            continue;
        }
        request->message = sql_keep(conn, rows, stmt, 1);
        request->at_us = hf_stmt_column_int(stmt, 2);
        request->stored = request->present = true;
    }
}

static void sqlite_rows_load_anchor(sql_conn *conn, hf_rows *rows, hf_resource_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_RESOURCE_LOAD);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    if (!sql_next(conn, stmt))
        return;
    row->stored = row->present = true;
    row->fence = hf_stmt_column_int(stmt, 0);
    row->rev = hf_stmt_column_int(stmt, 1);
    hf_slice_copy(row->ended_session, sizeof row->ended_session, hf_stmt_column_text(stmt, 2));
    row->ended_fence = hf_stmt_column_int(stmt, 3);
    row->ended_request = sql_keep(conn, rows, stmt, 4);
    row->ended_us = hf_stmt_column_int(stmt, 5);
    row->version = hf_stmt_column_int(stmt, 6);
    if (row->version != 0) {
        row->saved_fence = hf_stmt_column_int(stmt, 7);
        row->saved_us = hf_stmt_column_int(stmt, 8);
        hf_slice_copy(row->saved_session, sizeof row->saved_session, hf_stmt_column_text(stmt, 9));
        row->saved_user = sql_keep(conn, rows, stmt, 10);
        row->saved_name = sql_keep(conn, rows, stmt, 11);
        row->saved_request = sql_keep(conn, rows, stmt, 12);
        row->gone = hf_stmt_column_int(stmt, 13) != 0;
    }
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
    lost->fence = hf_stmt_column_int(stmt, 2);
    lost->at_us = hf_stmt_column_int(stmt, 3);
    lost->why = sql_keep(conn, rows, stmt, 4);
    lost->by = sql_keep(conn, rows, stmt, 5);
    lost->reason = sql_keep(conn, rows, stmt, 6);
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
        hf_resource_row *resource = hf_rows_resource(rows, hf_stmt_column_text(stmt, 0),
                                                     hf_stmt_column_text(stmt, 1), true);
        if (resource == NULL) {
            sql_out_of_memory(conn);
            continue;
        }
        resource->wanted |= row->wants_anchors;
        resource->wants_requests |= row->wants_requests || row->wants_anchors;
        sqlite_rows_fill_lock(conn, rows, hf_rows_lock(rows, resource, row), stmt, 2);
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

static void sqlite_rows_load_opens(sql_conn *conn, hf_rows *rows)
{
    for (hf_open_row *open = rows->opens; open != NULL; open = open->next) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_BY_REQUEST);
        if (stmt == NULL)
            return;
        hf_stmt_text(stmt, 1, open->request);
        if (!sql_next(conn, stmt))
            continue;
        open->session = sqlite_rows_session_at(conn, rows, stmt, 0);
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
    for (hf_past_row *past = row->past; past != NULL; past = past->next) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_PAST_LOAD);
        if (stmt == NULL)
            return;
        hf_stmt_text(stmt, 1, row->type);
        hf_stmt_text(stmt, 2, row->id);
        hf_stmt_text(stmt, 3, past->request);
        if (!sql_next(conn, stmt))
            continue;
        past->version = hf_stmt_column_int(stmt, 0);
        past->fence = hf_stmt_column_int(stmt, 1);
        past->saved_us = hf_stmt_column_int(stmt, 2);
        past->gone = hf_stmt_column_int(stmt, 3) != 0;
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
        if (!row->loaded || (row->wants_ends && row->origin == NULL))
            sqlite_rows_load_session(conn, rows, row);
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
            sqlite_rows_load_anchor(conn, rows, row);
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

static void sqlite_rows_insert_session(sql_conn *conn, const hf_session_row *row)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_INSERT);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    hf_stmt_blob(stmt, 2, row->key_sha256, sizeof row->key_sha256);
    hf_stmt_text(stmt, 3, row->user);
    hf_stmt_text(stmt, 4, row->name);
    hf_stmt_int(stmt, 5, row->idle_us);
    hf_stmt_int(stmt, 6, row->opened_us);
    hf_stmt_int(stmt, 7, row->expires_us);
    hf_stmt_int_or_null(stmt, 8, row->ended_us);
    hf_stmt_text(stmt, 9, row->caller);
    hf_stmt_text(stmt, 10, row->request);
    hf_stmt_int(stmt, 11, row->rev);
    hf_stmt_text(stmt, 12, row->ends.text);
    sql_run(conn, stmt);
}

/* What only ended something leaves the index of sessions alone. */
static void sqlite_rows_update_session(sql_conn *conn, const hf_session_row *row)
{
    if (sqlite_session_moved(row)) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SESSION_UPDATE);
        if (stmt == NULL)
            return;
        hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
        hf_stmt_int(stmt, 2, row->expires_us);
        hf_stmt_int_or_null(stmt, 3, row->ended_us);
        hf_stmt_int(stmt, 4, row->rev);
        sql_run(conn, stmt);
    }
    hf_stmt *stmt = row->ends_changed ? sql_stmt(conn, SQLITE_DO_SESSION_ENDS_UPDATE) : NULL;
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->id, HF_SESSION_ID_MAX});
    hf_stmt_int(stmt, 2, row->rev);
    hf_stmt_text(stmt, 3, row->ends.text);
    sql_run(conn, stmt);
}

static void sqlite_rows_save_lost(sql_conn *conn, const hf_lost_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    hf_stmt *stmt = sql_stmt(conn, row->present ? SQLITE_DO_LOST_SAVE : SQLITE_DO_LOST_DELETE);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, (hf_slice){row->session->id, HF_SESSION_ID_MAX});
    hf_stmt_text(stmt, 2, row->type);
    hf_stmt_text(stmt, 3, row->id);
    if (row->present) {
        hf_stmt_int(stmt, 4, row->fence);
        hf_stmt_int(stmt, 5, row->at_us);
        hf_stmt_text(stmt, 6, row->why);
        hf_stmt_text(stmt, 7, row->by);
        hf_stmt_text(stmt, 8, row->reason);
    }
    sql_run(conn, stmt);
}

static void sqlite_rows_save_anchor(sql_conn *conn, const hf_resource_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    bool saved = row->saved_by != NULL || !row->stored;
    hf_stmt *stmt = sql_stmt(conn, !row->present  ? SQLITE_DO_RESOURCE_DELETE
                                   : !row->stored ? SQLITE_DO_RESOURCE_INSERT
                                   : saved        ? SQLITE_DO_RESOURCE_SAVE
                                                  : SQLITE_DO_RESOURCE_UPDATE);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    if (!row->present) {
        sql_run(conn, stmt);
        return;
    }
    hf_stmt_int(stmt, 3, row->fence);
    hf_stmt_int(stmt, 4, row->rev);
    hf_stmt_text(stmt, 5,
                 row->ended_session[0] == '\0' ? HF_NOTHING
                                               : (hf_slice){row->ended_session, HF_SESSION_ID_MAX});
    hf_stmt_int_or_null(stmt, 6, row->ended_fence);
    hf_stmt_text(stmt, 7, row->ended_request);
    hf_stmt_int_or_null(stmt, 8, row->ended_us);
    if (saved) {
        hf_stmt_int(stmt, 9, row->version);
        hf_stmt_int_or_null(stmt, 10, row->saved_fence);
        hf_stmt_int_or_null(stmt, 11, row->saved_us);
        hf_stmt_text(stmt, 12, hf_slice_of(row->saved_session));
        hf_stmt_text(stmt, 13, row->saved_user);
        hf_stmt_text(stmt, 14, row->saved_name);
        hf_stmt_text(stmt, 15, row->saved_request);
        hf_stmt_int(stmt, 16, row->gone);
    }
    sql_run(conn, stmt);
}

static void sqlite_rows_save_past(sql_conn *conn, const hf_resource_row *resource,
                                  const hf_past_row *row)
{
    hf_stmt *stmt = row->changed && row->present ? sql_stmt(conn, SQLITE_DO_PAST_SAVE) : NULL;
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, resource->type);
    hf_stmt_text(stmt, 2, resource->id);
    hf_stmt_text(stmt, 3, row->request);
    hf_stmt_int(stmt, 4, row->version);
    hf_stmt_int(stmt, 5, row->fence);
    hf_stmt_int(stmt, 6, row->saved_us);
    hf_stmt_int(stmt, 7, row->gone);
    hf_stmt_int(stmt, 8, row->covered_us);
    sql_run(conn, stmt);
}

static void sqlite_rows_save_lock(sql_conn *conn, const hf_lock_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    hf_stmt *stmt = sql_stmt(conn, !row->present ? SQLITE_DO_LOCK_DELETE
                                   : row->stored ? SQLITE_DO_LOCK_UPDATE
                                                 : SQLITE_DO_LOCK_INSERT);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->resource->type);
    hf_stmt_text(stmt, 2, row->resource->id);
    hf_stmt_text(stmt, 3, (hf_slice){row->session->id, HF_SESSION_ID_MAX});
    if (row->present) {
        hf_stmt_text(stmt, 4, hf_slice_of(hf_mode_name(row->mode)));
        hf_stmt_int(stmt, 5, row->fence);
        hf_stmt_int(stmt, 6, row->since_us);
        hf_stmt_int_or_null(stmt, 7, row->ends_us);
        hf_stmt_text(stmt, 8, row->purpose);
        hf_stmt_text(stmt, 9, row->request);
    }
    sql_run(conn, stmt);
}

static void sqlite_rows_save_request(sql_conn *conn, const hf_request_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    hf_stmt *stmt =
        sql_stmt(conn, row->present ? SQLITE_DO_REQUEST_SAVE : SQLITE_DO_REQUEST_DELETE);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, row->resource->type);
    hf_stmt_text(stmt, 2, row->resource->id);
    hf_stmt_text(stmt, 3, (hf_slice){row->session->id, HF_SESSION_ID_MAX});
    if (row->present) {
        hf_stmt_text(stmt, 4, row->message);
        hf_stmt_int(stmt, 5, row->at_us);
    }
    sql_run(conn, stmt);
}

static void sqlite_rows_save_event(sql_conn *conn, const hf_event_row *row, int64_t now_us)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_EVENT_INSERT);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    hf_stmt_text(stmt, 2, hf_slice_of(hf_event_kind_name(row->kind)));
    hf_stmt_text(stmt, 3, row->type);
    hf_stmt_text(stmt, 4, row->id);
    hf_stmt_text(stmt, 5, row->session);
    hf_stmt_text(stmt, 6, row->user);
    hf_stmt_text(stmt, 7, row->actor);
    hf_stmt_int_or_null(stmt, 8, row->fence);
    hf_stmt_text(stmt, 9, row->reason);
    sql_run(conn, stmt);
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
        if (row->changed && row->present && row->stored)
            sqlite_rows_update_session(conn, row);
        else if (row->changed && row->present)
            sqlite_rows_insert_session(conn, row);
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            sqlite_rows_save_lost(conn, lost);
    }
    for (size_t i = 0; i < count; i++)
        sqlite_rows_save_anchor(conn, resources[i]);
    if (rows->floor_raised)
        sqlite_raise_floor(conn, rows->fence_floor);
    for (size_t i = 0; i < count; i++)
        for (hf_past_row *past = resources[i]->past; past != NULL; past = past->next)
            sqlite_rows_save_past(conn, resources[i], past);
    for (size_t i = 0; i < count; i++) {
        for (hf_lock_row *lock = resources[i]->locks; lock != NULL; lock = lock->next)
            sqlite_rows_save_lock(conn, lock);
        for (hf_request_row *request = resources[i]->requests; request != NULL;
             request = request->next)
            sqlite_rows_save_request(conn, request);
    }
    for (size_t i = 0; i < rows->events_count && conn->status == HF_OK; i++)
        sqlite_rows_save_event(conn, &rows->events[i], now_us);
}
