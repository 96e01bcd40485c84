/* SPDX-License-Identifier: MIT */
/* SQL database stores: ops that stand alone (lists, events, types, tokens). */
#include "base/error.h"
#include "base/seams.h"
#include "store/database.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_AT_ONCE 1000 /* events that get their number in one transaction */

static const sql_queries queries = {
    .list = SQL_DO_LIST,
    .list_type = SQL_DO_LIST_TYPE,
    .list_session = SQL_DO_LIST_SESSION,
    .list_user = SQL_DO_LIST_USER,
    .sessions = SQL_DO_SESSIONS,
    .count = SQL_DO_LIVE,
    .count_session = SQL_DO_LIVE_SESSION,
    .count_token = SQL_DO_LIVE_TOKEN,
    .events = SQL_DO_EVENTS,
    .types = SQL_DO_TYPES_ALL,
    .type_live = SQL_DO_TYPE_LIVE,
    .type_save = SQL_DO_TYPE_SAVE,
    .token_same = SQL_DO_TOKEN_SAME,
    .token_find = SQL_DO_TOKEN_FIND,
    .token_look = SQL_DO_TOKEN_LOOK,
    .token_own = SQL_DO_TOKEN_OWN,
    .token_admins = SQL_DO_TOKEN_ADMINS,
    .tokens = SQL_DO_TOKENS,
    .token_insert = SQL_DO_TOKEN_INSERT,
    .token_revoke = SQL_DO_TOKEN_REVOKE,
};

/* ---- events ---- */

/* The key of the oldest committed event that has no number yet; 0: there is none. */
static int64_t database_query_oldest_new(database_work *work)
{
    hf_stmt *stmt = sql_stmt(work->conn, SQL_DO_EVENTS_NEW);
    if (stmt == NULL)
        return 0;
    hf_stmt_int(stmt, 1, 1);
    int64_t id = 0;
    while (sql_next(work->conn, stmt))
        id = hf_stmt_column_int(stmt, 0);
    return id;
}

static void database_query_queue(database_work *work, int which)
{
    database_queue(work, which, NULL);
}

/* Saves the numbers, and how far they go. */
static void database_query_save_numbers(database_work *work)
{
    char to[24];
    hf_list *list = work->unnumbered;
    int64_t last = work->numbered_to;
    for (size_t i = 0; i < list->count; i++)
        hf_set_int(&list->values[4 * i + 1], ++last);
    snprintf(to, sizeof to, "%lld", (long long)last);
    hf_stmt *stmt = sql_stmt(work->conn, SQL_DO_META_SET);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of("events_to"));
    hf_stmt_text(stmt, 2, hf_slice_of(to));
    database_queue(work, SQL_DO_EVENTS_NUMBER, list);
    database_query_queue(work, SQL_DO_META_SET);
    database_queue_end(work);
    database_send(work);
}

/* Numbers the events of one transaction. *got: no other transaction was numbering; *more: there
 * may be more events. Others wait for two round trips. */
static void database_query_number_some(database_work *work, bool *got, bool *more)
{
    sql_conn *conn = work->conn;
    hf_stmt *fresh = sql_stmt(conn, SQL_DO_EVENTS_NEW);
    work->numbering = *got = *more = false;
    work->numbered_to = 0;
    work->unnumbered = database_list(work, "iiit");
    if (fresh == NULL || work->unnumbered == NULL)
        return;
    hf_stmt_int(fresh, 1, NUMBER_AT_ONCE);
    database_queue_begin(work);
    database_query_queue(work, SQL_DO_EVENTS_TRY);
    database_query_queue(work, SQL_DO_EVENTS_LAST);
    database_query_queue(work, SQL_DO_EVENTS_NEW);
    database_send(work);
    if (work->unnumbered->failed)
        sql_out_of_memory(conn);
    *got = work->numbering;
    if (conn->status == HF_OK && work->unnumbered->count > 0) {
        database_query_save_numbers(work);
        *more = work->unnumbered->count == NUMBER_AT_ONCE;
        return;
    }
    database_undo(work);
}

/* One try. If numbering fails, reading goes on: another reader is numbering. If the connection
 * was lost, it does not matter whether the numbers were given: the reader looks again on another
 * connection. */
static void database_query_try_to_number(database_work *work, bool *got, bool *more)
{
    sql_conn *conn = work->conn;
    database_query_number_some(work, got, more);
    if (conn->status == HF_OK)
        return;
    database_undo(work);
    *got = false;
    if (hf_db_alive(conn->db))
        conn->status = HF_OK;
    else if (conn->status == HF_UNSURE)
        conn->status =
            hf_fail(conn->err, HF_UNAVAILABLE,
                    "The connection to %s was lost while events were given their numbers; try "
                    "again.",
                    hf_db_path(conn->db));
}

/* Events that were committed before this call have numbers after it: whoever was told that a
 * change is done finds its event. Only if another reader is numbering for longer than the store
 * waits, it is left to a later reader. */
void database_number_events(database_work *work)
{
    sql_conn *conn = work->conn;
    int64_t until_us = hf_seam.boot_us() + work->store->patience_us, newest = 0, oldest;
    for (unsigned times = 0; (oldest = database_query_oldest_new(work)) != 0; times++) {
        bool got = false, more = false;
        if (newest != 0 && oldest > newest)
            break;
        database_query_try_to_number(work, &got, &more);
        if ((got && !more) || conn->status != HF_OK || hf_seam.boot_us() >= until_us)
            break;
        if (!got)
            database_pause(times);
        if (newest == 0)
            newest = sql_number(conn, SQL_DO_EVENTS_NEWEST);
        if (newest == 0)
            break;
    }
}

static void database_query_do_events(database_work *work, hf_op *op)
{
    sql_conn *conn = work->conn;
    if (!work->nested) /* its own events are not committed yet */
        database_number_events(work);
    sql_do_events(conn, &queries, op, &work->batch->arena);
    int64_t first = sql_number(conn, SQL_DO_EVENTS_FIRST);
    op->answer.first_seq = first == 0 ? 1 : first;
    op->answer.last_seq = sql_number(conn, SQL_DO_EVENTS_LAST);
}

/* ---- types ---- */

/* Whether locks of that type live: in an application's transaction on MySQL as they are now, not as
 * its snapshot shows them. */
static bool database_query_is_in_use(database_work *work, const char *type)
{
    sql_queries ask = queries;
    if (work->nested && work->conn->sql[SQL_DO_TYPE_LIVE_NOW] != NULL)
        ask.type_live = SQL_DO_TYPE_LIVE_NOW;
    return sql_locks_live(work->conn, &ask, type, work->now_us);
}

/* In an application's transaction on PostgreSQL: whether locks that others have taken since it
 * began are hidden. */
static bool database_query_is_blind(database_work *work)
{
    work->snapshot = false;
    if (!work->nested)
        return false;
    database_queue_begin(work);
    database_query_queue(work, SQL_DO_SNAPSHOT);
    database_send(work);
    return work->snapshot;
}

static void database_query_refuse_type_set(database_work *work, hf_op *op)
{
    op->answer.status = HF_INVALID;
    op->answer.message =
        "In a transaction at REPEATABLE READ or SERIALIZABLE it can't be told whether locks of "
        "that type live; do it at READ COMMITTED.";
    database_queue_end(work);
    database_send(work);
}

static void database_query_do_type_set(database_work *work, hf_op *op)
{
    sql_conn *conn = work->conn;
    hf_rows *rows = &conn->rows;
    hf_type_row *row = hf_rows_type(rows, hf_slice_of(op->type));
    hf_list *list = database_list(work, "t");
    hf_value *name = list == NULL ? NULL : hf_list_add(list);
    if (row == NULL || name == NULL) {
        sql_out_of_memory(conn);
        return;
    }
    hf_set_text(name, hf_slice_of(op->type));
    bool now = work->nested && conn->sql[SQL_DO_TYPES_NOW] != NULL;
    work->types_busy = true; /* until it is found that nobody takes locks just now */
    database_queue_begin(work);
    database_query_queue(work, SQL_DO_TYPES_OWN);
    database_queue(work, now ? SQL_DO_TYPES_NOW : SQL_DO_TYPES, list);
    database_query_queue(work, SQL_DO_CLOCK);
    database_send(work);
    database_expect_time(work);
    if (conn->status == HF_OK && work->types_busy)
        conn->status = hf_fail(conn->err, HF_BUSY,
                               "Someone else is in the middle of taking locks; try again.");
    bool live = conn->status == HF_OK && database_query_is_in_use(work, op->type);
    op->answer.now_us = work->now_us;
    if (conn->status == HF_OK)
        hf_apply_type_set(rows, op, &work->batch->arena, &row->type, live);
    if (rows->failed)
        sql_out_of_memory(conn);
    if (conn->status == HF_OK && op->answer.status == HF_OK)
        sql_save_type(conn, &queries, op);
    op->answer.pending = work->nested;
    database_save(work);
}

/* ---- tokens ---- */

/* In a transaction of its own, with its event. If two make the same token at once, the second
 * fails on the key, runs again and finds the first one's. */
static void database_query_change_token(database_work *work, hf_op *op)
{
    sql_conn *conn = work->conn;
    hf_arena *arena = &work->batch->arena;
    database_queue_begin(work);
    database_read_clock(work);
    op->answer.now_us = work->now_us;
    if (op->kind == HF_OP_TOKEN_CREATE)
        sql_token_create(conn, &queries, op, arena, work->now_us);
    else
        sql_token_revoke(conn, &queries, op, arena, work->now_us);
    op->answer.pending = work->nested;
    if (conn->status == HF_OK)
        database_save(work);
}

/* ---- all of them ---- */

static void database_query_alone(database_work *work)
{
    hf_op *op = &work->batch->ops[0];
    hf_arena *arena = &work->batch->arena;
    if (op->kind == HF_OP_TYPE_SET) {
        if (database_query_is_blind(work))
            database_query_refuse_type_set(work, op);
        else
            database_query_do_type_set(work, op);
        return;
    }
    if (op->kind == HF_OP_TOKEN_CREATE || op->kind == HF_OP_TOKEN_REVOKE) {
        database_query_change_token(work, op);
        return;
    }
    database_read_clock(work);
    op->answer.now_us = work->now_us;
    switch (op->kind) {
    case HF_OP_LIST:
        sql_do_list(work->conn, &queries, op, arena, work->now_us);
        break;
    case HF_OP_SESSIONS:
        sql_do_sessions(work->conn, &queries, op, arena, work->now_us);
        break;
    case HF_OP_COUNT:
        sql_do_count(work->conn, &queries, op, arena, work->now_us);
        break;
    case HF_OP_EVENTS:
        database_query_do_events(work, op);
        break;
    case HF_OP_TYPES:
        sql_do_types(work->conn, &queries, op, arena);
        break;
    case HF_OP_TOKEN_FIND:
        sql_token_find(work->conn, &queries, op, arena);
        break;
    case HF_OP_TOKENS:
        sql_do_tokens(work->conn, &queries, op, arena);
        break;
    default:
        database_do_sweep(work, op);
    }
}

hf_status database_alone(database_work *work, hf_error *err)
{
    unsigned lost = 0;
    work->part = *work->batch;
    for (unsigned times = 0;; times++) {
        sql_conn *conn = work->conn;
        sql_use(conn, err);
        work->types_busy = false;
        work->now_us = 0;
        hf_batch_unanswer(work->batch);
        if (!hf_rows_reset(&conn->rows, 1) || !hf_rows_want(&conn->rows, work->batch))
            return hf_fail_memory(err);
        if (work->batch->ops[0].answer.status != HF_OK)
            return HF_OK; /* it has a flaw */
        database_query_alone(work);
        if (conn->status == HF_OK)
            return HF_OK;
        database_undo(work);
        if (work->types_busy)
            work->failure = HF_FAILURE_BUSY;
        hf_status status = database_recover(work, conn->status, &lost, err);
        if (status != HF_OK)
            return status;
        database_pause(times);
    }
}
