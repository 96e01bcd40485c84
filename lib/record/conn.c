/* SPDX-License-Identifier: MIT */
/* A connection with its statements, kept by their text, and holdfast's own store on it, so that
 * locks, versions and rows are one transaction. */
#include "record/inside.h"

#include "base/hash.h"
#include "db/sqlite.h"

#include <holdfast/mysql.h>
#include <holdfast/postgres.h>
#include <holdfast/sqlite.h>

/* More texts than this come from conditions that are always others: they are forgotten together. */
enum { CONN_STATEMENTS_MAX = 400, CONN_LOG_PAGES = 1000 };
#define CONN_WAIT_US INT64_C(10000000)

struct rec_statement {
    rec_statement *next;
    hf_stmt *stmt;
    char sql[];
};

static void conn_forget(rec_conn *conn)
{
    for (size_t i = 0; i < REC_STATEMENTS; i++) {
        for (rec_statement *it = conn->statements[i], *next; it != NULL; it = next) {
            next = it->next;
            hf_stmt_free(it->stmt);
            hf_free(it);
        }
        conn->statements[i] = NULL;
    }
    conn->statements_count = 0;
    conn->last_update = (rec_last_update){0};
}

void rec_conn_drop(void *extra)
{
    rec_conn *conn = extra;
    conn_forget(conn);
    hf_store_close(conn->store);
    hf_batch_free(conn->batch);
    hf_free(conn);
}

hf_status rec_conn_take(hf_tables *tables, rec_conn **out, hf_error *err)
{
    hf_pooled *pooled = NULL;
    *out = NULL;
    hf_status status = hf_pool_take(tables->pool, CONN_WAIT_US, &pooled, err);
    if (status != HF_OK)
        return status;
    if (pooled->extra == NULL) {
        rec_conn *conn = hf_alloc(sizeof *conn);
        if (conn == NULL) {
            hf_pool_give(tables->pool, pooled);
            return hf_fail_memory(err);
        }
        conn->tables = tables;
        conn->db = pooled->db;
        pooled->extra = conn;
    }
    *out = pooled->extra;
    (*out)->pooled = pooled;
    hf_db_patience((*out)->db, HF_DB_BUSY_US);
    return HF_OK;
}

void rec_conn_give(rec_conn *conn)
{
    if (conn == NULL)
        return;
    if (conn->statements_count > CONN_STATEMENTS_MAX)
        conn_forget(conn);
    hf_pool_give(conn->tables->pool, conn->pooled);
}

static size_t conn_bucket(const char *sql)
{
    return hf_hash_bytes(0, sql, strlen(sql)) % REC_STATEMENTS;
}

hf_status rec_conn_statement(rec_conn *conn, const char *sql, hf_stmt **out, hf_error *err)
{
    rec_statement **bucket = &conn->statements[conn_bucket(sql)];
    for (rec_statement *it = *bucket; it != NULL; it = it->next)
        if (strcmp(it->sql, sql) == 0) {
            hf_stmt_reset(it->stmt);
            *out = it->stmt;
            return HF_OK;
        }
    size_t size = strlen(sql) + 1;
    rec_statement *made = hf_alloc(sizeof *made + size);
    if (made == NULL)
        return hf_fail_memory(err);
    memcpy(made->sql, sql, size);
    hf_status status = hf_stmt_new(conn->db, sql, &made->stmt, err);
    if (status != HF_OK) {
        hf_free(made);
        return status;
    }
    made->next = *bucket;
    *bucket = made;
    conn->statements_count++;
    *out = made->stmt;
    return HF_OK;
}

hf_status rec_conn_store(rec_conn *conn, hf_error *err)
{
    const char *names = conn->tables->url.names;
    void *native = hf_db_native(conn->db);
    hf_status status = HF_OK;
    if (conn->batch == NULL)
        status = hf_batch_new(HF_BATCH_OPS_MAX, &conn->batch, err);
    if (status != HF_OK || conn->store != NULL)
        return status;
    switch (conn->tables->kind) {
    case HF_DB_SQLITE:
        return hf_sqlite_wrap(native, names, HF_SQLITE_INSTALL, &conn->store, err);
    case HF_DB_POSTGRES:
        return hf_postgres_wrap(native, names, 0, &conn->store, err);
    default:
        return hf_mysql_wrap(native, names, 0, &conn->store, err);
    }
}

hf_status rec_conn_begin(rec_conn *conn, hf_isolation level, hf_error *err)
{
    const char *sql = hf_db_begin_text(conn->db, level);
    hf_stmt *begin = NULL;
    if (sql == NULL)
        return hf_db_begin(conn->db, level, false, err);
    hf_status status = rec_conn_statement(conn, sql, &begin, err);
    if (status == HF_OK)
        hf_stmt_queue(begin);
    return status;
}

/* Another connection copies the log while this one keeps all writers out (lib/store/sqlite.c S3
 * says why). If it can't be done now, the next commit does it. */
void rec_conn_tidy(rec_conn *conn)
{
    if (conn->tables->checkpointer == NULL)
        return;
    int log = hf_db_log_pages(conn->db);
    if (conn->tidy_at == 0 || log < CONN_LOG_PAGES)
        conn->tidy_at = CONN_LOG_PAGES;
    if (log < conn->tidy_at)
        return;
    conn->tidy_at = log + CONN_LOG_PAGES / 4; /* readers may keep the log as it is for a while */
    hf_db_patience(conn->db, 0);
    if (hf_db_begin(conn->db, HF_READ_COMMITTED, false, NULL) == HF_OK) {
        (void)hf_db_checkpoint(conn->tables->checkpointer, NULL);
        (void)hf_db_rollback(conn->db, NULL);
    }
}
