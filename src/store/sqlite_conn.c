/* SPDX-License-Identifier: MIT */
/* The SQLite store: a connection's statements, and the error that sticks. */
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "store/sqlite.h"

#include <string.h>

void sqlite_conn_init(sqlite_conn *conn, hf_db *db, const char *names)
{
    conn->db = db;
    conn->names = names;
}

void sqlite_conn_done(sqlite_conn *conn)
{
    for (int i = 0; i < SQLITE_DO_COUNT; i++)
        hf_stmt_free(conn->stmts[i]);
    hf_rows_done(&conn->rows);
    hf_db_close(conn->db);
}

void sqlite_use(sqlite_conn *conn, hf_error *err)
{
    conn->status = HF_OK;
    conn->err = err;
}

void sqlite_out_of_memory(sqlite_conn *conn)
{
    if (conn->status == HF_OK)
        conn->status = hf_fail_memory(conn->err);
}

char *sqlite_name(const char *sql, const char *names)
{
    hf_buffer out = {0};
    for (const char *at; (at = strstr(sql, "{ns}")) != NULL; sql = at + 4) {
        hf_buffer_add(&out, sql, (size_t)(at - sql));
        hf_buffer_add(&out, names, strlen(names));
    }
    hf_buffer_add(&out, sql, strlen(sql));
    return hf_buffer_take(&out);
}

hf_stmt *sqlite_stmt(sqlite_conn *conn, int which)
{
    if (conn->status != HF_OK)
        return NULL;
    if (conn->stmts[which] != NULL)
        return conn->stmts[which];
    char *sql = sqlite_name(sqlite_do_sql[which], conn->names);
    if (sql == NULL)
        sqlite_out_of_memory(conn);
    else
        conn->status = hf_stmt_new(conn->db, sql, &conn->stmts[which], conn->err);
    hf_free(sql);
    return conn->stmts[which];
}

bool sqlite_next(sqlite_conn *conn, hf_stmt *stmt)
{
    bool row = false;
    if (conn->status == HF_OK)
        conn->status = hf_stmt_step(stmt, &row, conn->err);
    if (!row && stmt != NULL)
        hf_stmt_reset(stmt);
    return row;
}

void sqlite_run(sqlite_conn *conn, hf_stmt *stmt)
{
    if (conn->status == HF_OK)
        conn->status = hf_stmt_run(stmt, conn->err);
}

/* What ends a transaction must not fail for want of memory, so it is made ready beforehand. */
hf_status sqlite_conn_ready(sqlite_conn *conn, hf_error *err)
{
    sqlite_use(conn, err);
    for (int i = SQLITE_DO_BEGIN; i <= SQLITE_DO_SAVEPOINT_ROLLBACK; i++)
        sqlite_stmt(conn, i);
    return conn->status;
}

void sqlite_do(sqlite_conn *conn, int which)
{
    sqlite_run(conn, sqlite_stmt(conn, which));
}
