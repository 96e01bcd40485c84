/* SPDX-License-Identifier: MIT */
/* The SQLite store: what stands alone (lists, events, types, sweep). */
#include "base/error.h"
#include "store/sqlite.h"

#include <stdio.h>
#include <string.h>

static const sql_queries queries = {
    .list = SQLITE_DO_LIST,
    .list_type = SQLITE_DO_LIST_TYPE,
    .list_session = SQLITE_DO_LIST_SESSION,
    .list_user = SQLITE_DO_LIST_USER,
    .sessions = SQLITE_DO_SESSIONS,
    .count = SQLITE_DO_LIVE,
    .count_session = SQLITE_DO_LIVE_SESSION,
    .count_token = SQLITE_DO_LIVE_TOKEN,
    .events = SQLITE_DO_EVENTS,
    .types = SQLITE_DO_TYPES,
    .type_live = SQLITE_DO_TYPE_LIVE,
    .type_save = SQLITE_DO_TYPE_SAVE,
    .token_same = SQLITE_DO_TOKEN_SAME,
    .token_find = SQLITE_DO_TOKEN_FIND,
    .token_look = SQLITE_DO_TOKEN_OWN,
    .token_own = SQLITE_DO_TOKEN_OWN,
    .token_admins = SQLITE_DO_TOKEN_ADMINS,
    .tokens = SQLITE_DO_TOKENS,
    .token_insert = SQLITE_DO_TOKEN_INSERT,
    .token_revoke = SQLITE_DO_TOKEN_REVOKE,
};

static void sqlite_query_do_type_set(sql_conn *conn, hf_op *op, hf_arena *arena, int64_t now_us)
{
    hf_type_row *row = hf_rows_type(&conn->rows, hf_slice_of(op->type));
    if (row == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    sqlite_load(conn, &conn->rows, now_us);
    hf_apply_type_set(&conn->rows, op, arena, &row->type,
                      sql_locks_live(conn, &queries, op->type, now_us));
    if (conn->rows.failed)
        sql_out_of_memory(conn);
    if (op->answer.status != HF_OK)
        return;
    sql_save_type(conn, &queries, op);
    sqlite_save(conn, &conn->rows, now_us);
}

/* ---- sweep ---- */

static hf_status sqlite_query_load_dead(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                        hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err; /* it sticks in the connection */
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SWEEP_DEAD);
    if (stmt == NULL)
        return conn->status;
    hf_stmt_int(stmt, 1, now_us);
    if (!sql_next(conn, stmt))
        return conn->status;
    char id[HF_SESSION_ID_SIZE] = "";
    sql_text(stmt, 0, id, sizeof id);
    hf_stmt_reset(stmt);
    hf_session_row *row = sqlite_load_session(conn, rows, id);
    if (row == NULL)
        return conn->status;
    row->wants_anchors = true;
    sqlite_load_session_locks(conn, rows, row, limit);
    sqlite_load(conn, rows, now_us);
    return conn->status;
}

/* One lock of the query, with its session; the anchor is loaded after all are named. */
static void sqlite_query_load_spent_lock(sql_conn *conn, hf_rows *rows, hf_stmt *from)
{
    char session[HF_SESSION_ID_SIZE] = "";
    sql_text(from, 2, session, sizeof session);
    hf_resource_row *resource =
        hf_rows_resource(rows, hf_stmt_column_text(from, 0), hf_stmt_column_text(from, 1), true);
    hf_session_row *row = sqlite_load_session(conn, rows, session);
    hf_lock_row *lock = resource == NULL || row == NULL ? NULL : hf_rows_lock(rows, resource, row);
    if (lock == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    lock->fence = hf_stmt_column_int(from, 3);
    lock->ends_us = hf_stmt_column_int(from, 4);
    lock->stored = lock->present = true;
    lock->due = resource->wanted = resource->wants_requests = true;
}

static hf_status sqlite_query_load_spent(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                         hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SWEEP_SPENT);
    if (stmt == NULL)
        return conn->status;
    hf_stmt_int(stmt, 1, now_us);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    while (sql_next(conn, stmt))
        sqlite_query_load_spent_lock(conn, rows, stmt);
    sqlite_load(conn, rows, now_us);
    return conn->status;
}

static hf_status sqlite_query_save(void *context, hf_rows *rows, int64_t now_us, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    sqlite_save(conn, rows, now_us);
    return conn->status;
}

static void sqlite_query_delete_by_session(sql_conn *conn, int which, const char *id)
{
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(id));
    sql_run(conn, stmt);
}

static hf_status sqlite_query_drop_sessions(void *context, int64_t before_us, size_t limit,
                                            size_t *dropped, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    while (*dropped < limit) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SWEEP_OLD);
        if (stmt == NULL)
            return conn->status;
        hf_stmt_int(stmt, 1, before_us);
        if (!sql_next(conn, stmt))
            return conn->status;
        char id[HF_SESSION_ID_SIZE] = "";
        sql_text(stmt, 0, id, sizeof id);
        hf_stmt_reset(stmt);
        sqlite_query_delete_by_session(conn, SQLITE_DO_SESSION_LOST_DELETE, id);
        sqlite_query_delete_by_session(conn, SQLITE_DO_SESSION_REQUESTS_DELETE, id);
        sqlite_query_delete_by_session(conn, SQLITE_DO_SESSION_DELETE, id);
        (*dropped)++;
    }
    return conn->status;
}

static hf_status sqlite_query_drop_past(void *context, int64_t before_us, size_t limit,
                                        size_t *dropped, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SWEEP_PAST);
    (void)err;
    if (stmt == NULL)
        return conn->status;
    hf_stmt_int(stmt, 1, before_us);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    sql_run(conn, stmt);
    *dropped = conn->status == HF_OK ? (size_t)hf_stmt_changed(stmt) : 0;
    return conn->status;
}

static void sqlite_query_read_swept_to(sql_conn *conn, hf_resource *out)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_META_GET);
    char name[HF_RESOURCE_SIZE] = "";
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of("swept_to"));
    if (!sql_next(conn, stmt))
        return;
    sql_text(stmt, 0, name, sizeof name);
    hf_stmt_reset(stmt);
    if (hf_resource_parse(name, out, NULL) != HF_OK)
        memset(out, 0, sizeof *out);
}

static void sqlite_query_write_swept_to(sql_conn *conn, const hf_resource *to)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_META_SET);
    char name[HF_RESOURCE_SIZE];
    if (stmt == NULL)
        return;
    hf_resource_format(to, name);
    hf_stmt_text(stmt, 1, hf_slice_of("swept_to"));
    hf_stmt_text(stmt, 2, hf_slice_of(name));
    sql_run(conn, stmt);
}

static void sqlite_query_delete_anchor(sql_conn *conn, const hf_resource *anchor)
{
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_RESOURCE_DELETE);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(anchor->type));
    hf_stmt_text(stmt, 2, hf_slice_of(anchor->id));
    sql_run(conn, stmt);
}

/* Looks at anchors one at a time, so that none is deleted under the statement that reads them. */
static hf_status sqlite_query_drop_anchors(void *context, int64_t before_us, size_t limit,
                                           size_t *dropped, bool *end, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    hf_resource at = {"", ""}, before;
    int64_t floor = 0;
    (void)err;
    sqlite_query_read_swept_to(conn, &at);
    before = at;
    for (size_t looked = 0; conn->status == HF_OK; looked++) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_SWEEP_ANCHORS);
        if (stmt == NULL)
            return conn->status;
        hf_stmt_int(stmt, 1, before_us);
        sql_bind_from(stmt, 2, at.type);
        sql_bind_from(stmt, 3, at.id);
        hf_stmt_int(stmt, 4, 1);
        hf_stmt_int(stmt, 5, before_us + HF_KEEP_US - HF_KEEP_GONE_US);
        *end = !sql_next(conn, stmt);
        if (*end || looked == limit) {
            hf_stmt_reset(stmt);
            break;
        }
        sql_text(stmt, 0, at.type, sizeof at.type);
        sql_text(stmt, 1, at.id, sizeof at.id);
        int64_t fence = hf_stmt_column_int(stmt, 2);
        bool free_long = hf_stmt_column_int(stmt, 3) != 0;
        hf_stmt_reset(stmt);
        if (!free_long)
            continue;
        sqlite_query_delete_anchor(conn, &at);
        floor = fence > floor ? fence : floor;
        (*dropped)++;
    }
    if (floor > 0)
        sqlite_raise_floor(conn, floor);
    if (*end)
        at = (hf_resource){"", ""};
    if (hf_resource_compare(&at, &before) != 0)
        sqlite_query_write_swept_to(conn, &at);
    return conn->status;
}

static hf_status sqlite_query_event_marks(void *context, hf_event_marks *out, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    out->last = sql_number(conn, SQLITE_DO_EVENTS_LAST);
    out->from = sql_meta_number(conn, SQLITE_DO_META_GET, "events_from");
    out->swept = sql_meta_number(conn, SQLITE_DO_META_GET, "events_swept");
    return conn->status;
}

static hf_status sqlite_query_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    sql_read_old_events(conn, SQLITE_DO_SWEEP_EVENTS, walk);
    return conn->status;
}

static void sqlite_query_raise_mark(sql_conn *conn, const char *name, int64_t to)
{
    char text[24];
    hf_stmt *stmt = to == 0 ? NULL : sql_stmt(conn, SQLITE_DO_META_RAISE);
    if (stmt == NULL)
        return;
    snprintf(text, sizeof text, "%lld", (long long)to);
    hf_stmt_text(stmt, 1, hf_slice_of(name));
    hf_stmt_text(stmt, 2, hf_slice_of(text));
    sql_run(conn, stmt);
}

static hf_status sqlite_query_drop_events(void *context, const hf_old_event *gone, size_t count,
                                          const hf_event_marks *marks, hf_error *err)
{
    sql_conn *conn = &((sqlite_store *)context)->writer;
    (void)err;
    for (size_t i = 0; i < count && conn->status == HF_OK; i++) {
        hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_EVENT_DELETE);
        if (stmt == NULL)
            break;
        hf_stmt_int(stmt, 1, gone[i].id);
        sql_run(conn, stmt);
    }
    sqlite_query_raise_mark(conn, "events_from", marks->from);
    sqlite_query_raise_mark(conn, "events_swept", marks->swept);
    return conn->status;
}

static const hf_sweep_ops sweep_ops = {
    sqlite_query_load_dead,     sqlite_query_load_spent,  sqlite_query_save,
    sqlite_query_drop_sessions, sqlite_query_drop_past,   sqlite_query_drop_anchors,
    sqlite_query_event_marks,   sqlite_query_read_events, sqlite_query_drop_events};

void sqlite_do_alone(sqlite_store *store, sql_conn *conn, hf_batch *batch, int64_t now_us)
{
    hf_op *op = &batch->ops[0];
    op->answer.now_us = now_us;
    if (conn->rows.no_growth != NULL && hf_op_grows(op->kind)) {
        op->answer.status = HF_UNAVAILABLE;
        op->answer.message = conn->rows.no_growth;
        return;
    }
    switch (op->kind) {
    case HF_OP_LIST:
        sql_do_list(conn, &queries, op, &batch->arena, now_us);
        break;
    case HF_OP_SESSIONS:
        sql_do_sessions(conn, &queries, op, &batch->arena, now_us);
        break;
    case HF_OP_COUNT:
        sql_do_count(conn, &queries, op, &batch->arena, now_us);
        break;
    case HF_OP_EVENTS:
        sql_do_events(conn, &queries, op, &batch->arena);
        op->answer.first_seq = sql_number(conn, SQLITE_DO_EVENTS_FIRST);
        op->answer.last_seq = sql_number(conn, SQLITE_DO_EVENTS_LAST);
        break;
    case HF_OP_TYPES:
        sql_do_types(conn, &queries, op, &batch->arena);
        break;
    case HF_OP_TYPE_SET:
        sqlite_query_do_type_set(conn, op, &batch->arena, now_us);
        break;
    case HF_OP_TOKEN_FIND:
        sql_token_find(conn, &queries, op, &batch->arena);
        break;
    case HF_OP_TOKENS:
        sql_do_tokens(conn, &queries, op, &batch->arena);
        break;
    case HF_OP_TOKEN_CREATE:
        if (sql_token_create(conn, &queries, op, &batch->arena, now_us))
            sqlite_save(conn, &conn->rows, now_us);
        break;
    case HF_OP_TOKEN_REVOKE:
        if (sql_token_revoke(conn, &queries, op, &batch->arena, now_us))
            sqlite_save(conn, &conn->rows, now_us);
        break;
    default:
        conn->status = hf_sweep(&store->base, &sweep_ops, &conn->rows, op, now_us, conn->err);
    }
}
