/* SPDX-License-Identifier: MIT */
/* What stands alone (lists, events, types) read from an SQL database, for every store on one. */
#include "base/error.h"
#include "store/sql_rows.h"

#include <stdlib.h>
#include <string.h>

static size_t sql_query_limit_of(const hf_op *op)
{
    return op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
}

/* Room for the values of a page in the batch's arena. */
static void *sql_query_page(sql_conn *conn, hf_arena *arena, size_t count, size_t size)
{
    void *out = conn->status == HF_OK ? hf_arena_alloc(arena, count * size) : NULL;
    if (out == NULL)
        sql_out_of_memory(conn);
    return out;
}

/* ---- lists ---- */

/* A lock with its session: {cols l.lock KNS}, {cols s.session S}. */
static void sql_query_read_lock(hf_stmt *stmt, hf_lock *out)
{
    hf_resource_row resource = {.type = hf_stmt_column_text(stmt, 0),
                                .id = hf_stmt_column_text(stmt, 1)};
    hf_session_row session = {0};
    hf_lock_row lock = {.resource = &resource, .session = &session};
    int next = sql_borrow_row(stmt, 3, &hf_lock_fields, HF_SHOWN, &lock);
    sql_borrow_row(stmt, next, &hf_session_fields, HF_SHOWN, &session);
    hf_fill_lock(&lock, out);
}

/* Text for a comparison: an empty one must not become null. */
void sql_bind_from(hf_stmt *stmt, int at, const char *from)
{
    if (from[0] == '\0')
        hf_stmt_text(stmt, at,
                     /* below every name, as control characters are refused */
                     (hf_slice){"\001", 1});
    else
        hf_stmt_text(stmt, at, hf_slice_of(from));
}

void sql_do_list(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena, int64_t now_us)
{
    size_t limit = sql_query_limit_of(op), count = 0;
    hf_lock *locks = sql_query_page(conn, arena, limit, sizeof *locks);
    hf_stmt *stmt = sql_stmt(conn, op->target != NULL ? ask->list_session
                                   : op->user != NULL ? ask->list_user
                                   : op->type != NULL ? ask->list_type
                                                      : ask->list);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    sql_bind_from(stmt, 2, op->after == NULL ? "" : op->after->resource.type);
    sql_bind_from(stmt, 3, op->after == NULL ? "" : op->after->resource.id);
    sql_bind_from(stmt, 4, op->after == NULL ? "" : op->after->session);
    hf_stmt_int(stmt, 5, (int64_t)limit + 1);
    hf_stmt_text(stmt, 6, hf_slice_of(op->type));
    hf_stmt_text(stmt, 7, hf_slice_of(op->target));
    hf_stmt_text(stmt, 8, hf_slice_of(op->user));
    while (sql_next(conn, stmt))
        if (count++ < limit)
            sql_query_read_lock(stmt, &locks[count - 1]);
    op->answer.locks_count = count > limit ? limit : count;
    op->answer.locks = count == 0 ? NULL : locks;
    if (count > limit &&
        !hf_answer_more(op, arena, &locks[limit - 1].resource, locks[limit - 1].session))
        sql_out_of_memory(conn);
}

void sql_do_sessions(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                     int64_t now_us)
{
    size_t limit = sql_query_limit_of(op), count = 0;
    hf_session_info *sessions = sql_query_page(conn, arena, limit, sizeof *sessions);
    hf_stmt *stmt = sql_stmt(conn, ask->sessions);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    sql_bind_from(stmt, 2, op->after == NULL ? "" : op->after->session);
    hf_stmt_int(stmt, 3, (int64_t)limit + 1);
    hf_stmt_text(stmt, 4, hf_slice_of(op->user));
    while (sql_next(conn, stmt)) {
        if (count++ >= limit)
            continue;
        hf_session_row row = {0};
        sql_borrow_row(stmt, 0, &hf_session_fields, HF_SHOWN, &row);
        hf_fill_session(&row, &sessions[count - 1]);
    }
    op->answer.sessions_count = count > limit ? limit : count;
    op->answer.sessions = count == 0 ? NULL : sessions;
    if (count > limit && !hf_answer_more(op, arena, NULL, sessions[limit - 1].id))
        sql_out_of_memory(conn);
}

/* A session's locks, or a token's sessions: one row, or none. */
static void sql_query_count_one(sql_conn *conn, int which, const char *id, hf_op *op,
                                int64_t now_us)
{
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    hf_stmt_text(stmt, 2, hf_slice_of(id));
    while (sql_next(conn, stmt)) {
        op->answer.total_sessions = (size_t)hf_stmt_column_int(stmt, 0);
        op->answer.total_locks = (size_t)hf_stmt_column_int(stmt, 1);
    }
}

/* A row without a type is of the sessions. */
static void sql_query_count_all(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                                int64_t now_us)
{
    size_t limit = sql_query_limit_of(op), count = 0;
    hf_count *counts = sql_query_page(conn, arena, limit, sizeof *counts);
    hf_stmt *stmt = sql_stmt(conn, ask->count);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    while (sql_next(conn, stmt)) {
        size_t number = (size_t)hf_stmt_column_int(stmt, 1);
        if (hf_stmt_column_text(stmt, 0).size == 0) {
            op->answer.total_sessions = number;
            continue;
        }
        op->answer.total_locks += number;
        if (count++ >= limit)
            continue;
        sql_text(stmt, 0, counts[count - 1].type, sizeof counts[count - 1].type);
        counts[count - 1].locks = number;
    }
    op->answer.more = count > limit;
    op->answer.counts_count = op->answer.more ? limit : count;
    op->answer.counts = count == 0 ? NULL : counts;
}

void sql_do_count(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                  int64_t now_us)
{
    if (op->target != NULL)
        sql_query_count_one(conn, ask->count_session, op->target, op, now_us);
    else if (hf_slice_of(op->caller).size > 0)
        sql_query_count_one(conn, ask->count_token, op->caller, op, now_us);
    else
        sql_query_count_all(conn, ask, op, arena, now_us);
}

static void sql_query_read_event(hf_stmt *stmt, hf_event *out)
{
    hf_event_row row = {0};
    sql_borrow_row(stmt, 1, &hf_event_fields, HF_EVERY, &row);
    hf_fill_event(&row, hf_stmt_column_int(stmt, 0), out);
}

void sql_do_events(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena)
{
    size_t count = 0;
    hf_event *events = sql_query_page(conn, arena, sql_query_limit_of(op), sizeof *events);
    hf_stmt *stmt = sql_stmt(conn, ask->events);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, op->after_seq);
    hf_stmt_int(stmt, 2, (int64_t)sql_query_limit_of(op));
    while (sql_next(conn, stmt))
        sql_query_read_event(stmt, &events[count++]);
    op->answer.events = count == 0 ? NULL : events;
    op->answer.events_count = count;
}

void sql_read_old_events(sql_conn *conn, int which, hf_sweep_events *walk)
{
    char kind[32];
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, walk->after);
    hf_stmt_int(stmt, 2, walk->before);
    hf_stmt_int(stmt, 3, (int64_t)walk->limit);
    while (sql_next(conn, stmt)) {
        if (walk->count == walk->limit)
            continue;
        sql_text(stmt, 3, kind, sizeof kind);
        walk->events[walk->count++] =
            (hf_old_event){hf_stmt_column_int(stmt, 0), hf_stmt_column_int(stmt, 1),
                           hf_stmt_column_int(stmt, 2), hf_event_kind_from_name(kind)};
    }
}

int64_t sql_meta_number(sql_conn *conn, int which, const char *name)
{
    char text[32] = "";
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return 0;
    hf_stmt_text(stmt, 1, hf_slice_of(name));
    while (sql_next(conn, stmt))
        sql_text(stmt, 0, text, sizeof text);
    long long number = strtoll(text, NULL, 10);
    return number > 0 ? number : 0;
}

/* ---- types ---- */

void sql_do_types(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena)
{
    hf_stmt *stmt = sql_stmt(conn, ask->types);
    size_t count = 0, room = 0;
    hf_type *types = NULL;
    while (stmt != NULL && sql_next(conn, stmt)) {
        if (count == room) {
            room = room == 0 ? 16 : room * 2;
            hf_type *more = sql_query_page(conn, arena, room, sizeof *more);
            if (more == NULL)
                break;
            if (count > 0)
                memcpy(more, types, count * sizeof *types);
            types = more;
        }
        hf_type_row row = {0};
        sql_read_row(conn, stmt, 0, &hf_type_fields, HF_EVERY, &row);
        types[count++] = row.type;
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    op->answer.types = types;
    op->answer.types_count = count;
}

bool sql_locks_live(sql_conn *conn, const sql_queries *ask, const char *type, int64_t now_us)
{
    hf_stmt *stmt = sql_stmt(conn, ask->type_live);
    if (stmt == NULL)
        return true;
    hf_stmt_text(stmt, 1, hf_slice_of(type));
    hf_stmt_int(stmt, 2, now_us);
    bool live = sql_next(conn, stmt) && hf_stmt_column_int(stmt, 0) != 0;
    hf_stmt_reset(stmt);
    return live;
}

void sql_save_type(sql_conn *conn, const sql_queries *ask, const hf_op *op)
{
    hf_stmt *stmt = sql_stmt(conn, ask->type_save);
    if (stmt == NULL)
        return;
    hf_type_row row = {.type = hf_type_of_op(op)};
    sql_bind_row(stmt, 1, &hf_type_fields, HF_EVERY, &row);
    sql_run(conn, stmt);
}
