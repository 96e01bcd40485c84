/* SPDX-License-Identifier: MIT */
/* A connection's statements, and the error that sticks. */
#include "store/sql_conn.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"

#include <string.h>

void sql_conn_init(sql_conn *conn, hf_db *db, const sql_words *words, const char *const *sql)
{
    conn->db = db;
    conn->words = *words;
    conn->sql = sql;
}

void sql_conn_done(sql_conn *conn)
{
    for (int i = 0; i < SQL_STMTS_MAX; i++)
        hf_stmt_free(conn->stmts[i]);
    hf_rows_done(&conn->rows);
    hf_db_close(conn->db);
}

void sql_use(sql_conn *conn, hf_error *err)
{
    conn->status = HF_OK;
    conn->err = err;
}

void sql_out_of_memory(sql_conn *conn)
{
    if (conn->status == HF_OK)
        conn->status = hf_fail_memory(conn->err);
}

char *sql_name(const char *sql, const sql_words *words)
{
    const struct {
        const char *word, *with;
    } known[] = {{"{ns}", words->ns},       {"{skip}", words->skip}, {"{share}", words->share},
                 {"{now}", words->now},     {"{calm}", words->calm}, {"{soon}", words->soon},
                 {"{level}", words->level}, {"{none}", words->none}, {"{", "{"}};
    hf_buffer out = {0};
    for (const char *at; (at = strchr(sql, '{')) != NULL;) {
        size_t i = 0;
        while (strncmp(at, known[i].word, strlen(known[i].word)) != 0)
            i++;
        hf_buffer_add(&out, sql, (size_t)(at - sql));
        if (known[i].with != NULL)
            hf_buffer_add(&out, known[i].with, strlen(known[i].with));
        sql = at + strlen(known[i].word);
    }
    hf_buffer_add(&out, sql, strlen(sql));
    return hf_buffer_take(&out);
}

hf_stmt *sql_stmt(sql_conn *conn, int which)
{
    if (conn->status != HF_OK)
        return NULL;
    if (conn->stmts[which] != NULL)
        return conn->stmts[which];
    char *sql = sql_name(conn->sql[which], &conn->words);
    if (sql == NULL)
        sql_out_of_memory(conn);
    else
        conn->status = hf_stmt_new(conn->db, sql, &conn->stmts[which], conn->err);
    hf_free(sql);
    return conn->stmts[which];
}

bool sql_next(sql_conn *conn, hf_stmt *stmt)
{
    bool row = false;
    if (conn->status == HF_OK)
        conn->status = hf_stmt_step(stmt, &row, conn->err);
    if (!row && stmt != NULL)
        hf_stmt_reset(stmt);
    return row;
}

void sql_run(sql_conn *conn, hf_stmt *stmt)
{
    if (conn->status == HF_OK)
        conn->status = hf_stmt_run(stmt, conn->err);
}

void sql_do(sql_conn *conn, int which)
{
    sql_run(conn, sql_stmt(conn, which));
}

int64_t sql_number(sql_conn *conn, int which)
{
    hf_stmt *stmt = sql_stmt(conn, which);
    int64_t number = stmt != NULL && sql_next(conn, stmt) ? hf_stmt_column_int(stmt, 0) : 0;
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return number;
}

hf_slice sql_keep(sql_conn *conn, hf_rows *rows, hf_stmt *stmt, int at)
{
    hf_slice out;
    if (!hf_arena_copy(&rows->arena, hf_stmt_column_text(stmt, at), &out))
        sql_out_of_memory(conn);
    return out;
}

void sql_text(hf_stmt *stmt, int at, char *out, size_t size)
{
    hf_slice_copy(out, size, hf_stmt_column_text(stmt, at));
}
