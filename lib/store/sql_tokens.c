/* SPDX-License-Identifier: MIT */
/* Tokens in an SQL database, for every store on one: moving their rows. What comes of them is
 * decided in lock/. */
#include "base/error.h"
#include "store/sql_rows.h"

#include <string.h>

static void sql_tokens_read_token(sql_conn *conn, hf_stmt *stmt, hf_token_row *out)
{
    memset(out, 0, sizeof *out);
    sql_read_row(conn, stmt, 0, &hf_token_fields, HF_EVERY, out);
}

bool sql_token_create(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                      int64_t now_us)
{
    hf_token_row same[HF_TOKEN_SAME_MAX], fresh;
    size_t count = 0;
    char request[HF_TOKEN_REQUEST_SIZE];
    hf_stmt *stmt = sql_stmt(conn, ask->token_same);
    if (stmt == NULL)
        return false;
    hf_token_request(op, request);
    hf_stmt_text(stmt, 1, hf_slice_of(op->token));
    hf_stmt_blob(stmt, 2, op->sha256, sizeof fresh.sha256);
    hf_stmt_text(stmt, 3, hf_slice_of(request));
    while (sql_next(conn, stmt))
        if (count < HF_TOKEN_SAME_MAX)
            sql_tokens_read_token(conn, stmt, &same[count++]);
    if (conn->status != HF_OK)
        return false;
    bool save = hf_apply_token_create(&conn->rows, op, arena, same, count, now_us, &fresh);
    if (conn->rows.failed)
        sql_out_of_memory(conn);
    stmt = save ? sql_stmt(conn, ask->token_insert) : NULL;
    if (stmt == NULL)
        return false;
    sql_bind_row(stmt, 1, &hf_token_fields, HF_EVERY, &fresh);
    sql_run(conn, stmt);
    return conn->status == HF_OK;
}

/* Whether another token governs. All that may are locked, in order of their ids: of two that are
 * revoked at once one stays. */
static bool sql_tokens_others(sql_conn *conn, const sql_queries *ask, const hf_op *op,
                              int64_t now_us)
{
    hf_token_row row;
    bool others = false;
    hf_stmt *stmt = sql_stmt(conn, ask->token_admins);
    while (stmt != NULL && sql_next(conn, stmt)) {
        sql_tokens_read_token(conn, stmt, &row);
        others |= strcmp(row.token.id, op->token) != 0 && hf_token_governs(&row.token, now_us);
    }
    return others;
}

bool sql_token_revoke(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                      int64_t now_us)
{
    hf_token_row row;
    bool found = false, others = op->keeps_admin && sql_tokens_others(conn, ask, op, now_us);
    hf_stmt *stmt = conn->status == HF_OK ? sql_stmt(conn, ask->token_own) : NULL;
    if (stmt == NULL)
        return false;
    hf_stmt_text(stmt, 1, hf_slice_of(op->token));
    for (; sql_next(conn, stmt); found = true)
        sql_tokens_read_token(conn, stmt, &row);
    if (conn->status != HF_OK)
        return false;
    bool save =
        hf_apply_token_revoke(&conn->rows, op, arena, found ? &row.token : NULL, others, now_us);
    if (conn->rows.failed)
        sql_out_of_memory(conn);
    stmt = save ? sql_stmt(conn, ask->token_revoke) : NULL;
    if (stmt == NULL)
        return false;
    sql_bind_row(stmt, 1, &hf_token_fields, HF_KEY | HF_MOVES, &row);
    sql_run(conn, stmt);
    return conn->status == HF_OK;
}

void sql_token_find(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena)
{
    hf_token_row row;
    bool found = false;
    hf_stmt *stmt = sql_stmt(conn, op->token != NULL ? ask->token_look : ask->token_find);
    if (stmt == NULL)
        return;
    if (op->token != NULL)
        hf_stmt_text(stmt, 1, hf_slice_of(op->token));
    else
        hf_stmt_blob(stmt, 1, op->sha256, sizeof row.sha256);
    for (; sql_next(conn, stmt); found = true)
        sql_tokens_read_token(conn, stmt, &row);
    if (conn->status != HF_OK)
        return;
    hf_apply_token_find(&conn->rows, op, arena, found ? &row.token : NULL);
    if (conn->rows.failed)
        sql_out_of_memory(conn);
}

void sql_do_tokens(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena)
{
    size_t limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit, count = 0;
    hf_token *tokens = conn->status == HF_OK ? hf_arena_alloc(arena, limit * sizeof *tokens) : NULL;
    hf_token_row row;
    if (tokens == NULL)
        sql_out_of_memory(conn);
    hf_stmt *stmt = sql_stmt(conn, ask->tokens);
    if (stmt == NULL || tokens == NULL)
        return;
    sql_bind_from(stmt, 1, op->after == NULL ? "" : op->after->session);
    hf_stmt_int(stmt, 2, (int64_t)limit + 1);
    while (sql_next(conn, stmt)) {
        if (count++ >= limit)
            continue;
        sql_tokens_read_token(conn, stmt, &row);
        tokens[count - 1] = row.token;
    }
    op->answer.tokens_count = count > limit ? limit : count;
    op->answer.tokens = count == 0 ? NULL : tokens;
    if (count > limit && !hf_answer_more(op, arena, NULL, tokens[limit - 1].id))
        sql_out_of_memory(conn);
}
