/* SPDX-License-Identifier: MIT */
/* Opening the tables of an application: one pool of connections to its database. */
#include "record/inside.h"

#include "db/open.h"
#include "db/sqlite.h"

#include <stdio.h>
#include <unistd.h>

enum { TABLES_MAX = 256, TABLES_CONNECTIONS = 16 };

/* Waiting for others' transactions ends before the connection is given up. A statement outside a
 * transaction commits by itself, at the level of units. Times are spoken of in UTC, and a value
 * that does not fit is refused, not cut. Intervals and numbers that are read as the database writes
 * them are written one way. */
#define TABLES_SETTINGS_POSTGRES                                                                   \
    "lock_timeout=3000 default_transaction_isolation=read\\ committed "                            \
    "intervalstyle=postgres extra_float_digits=1"
#define TABLES_SETUP_MYSQL                                                                         \
    "SET SESSION autocommit = 1, time_zone = '+00:00', innodb_lock_wait_timeout = 3, "             \
    "sql_mode = CONCAT_WS(',', NULLIF(@@sql_mode, ''), 'STRICT_ALL_TABLES')"

static hf_status tables_check(const hf_table *tables, size_t count, hf_error *err)
{
    if (tables == NULL || count == 0)
        return hf_fail(err, HF_INVALID, "There are no tables; describe one at least.");
    if (count > TABLES_MAX)
        return hf_fail(err, HF_TOO_LARGE, "There are more than %d tables.", TABLES_MAX);
    for (size_t i = 0; i < count; i++)
        if (tables[i].policy < 0 || tables[i].policy >= HF_POLICY_COUNT ||
            tables[i].compare < HF_COMPARE_VERSION || tables[i].compare > HF_COMPARE_CHANGED)
            return hf_fail(err, HF_INVALID, "The policy or comparison of %s makes no sense.",
                           tables[i].name == NULL ? "a table" : tables[i].name);
    return HF_OK;
}

static hf_status tables_pool(hf_tables *tables, const char *url, hf_error *err)
{
    const hf_db_driver *driver = NULL;
    hf_status status = hf_url_read(url, &tables->url, err);
    if (status == HF_OK)
        status = hf_db_driver_of(url, &driver, err);
    if (status != HF_OK)
        return status;
    const char *target = tables->url.url;
    hf_db_options options = {.pooler = tables->url.pooler, .password = tables->url.password};
    if (driver == &hf_db_sqlite) {
        target += strlen("sqlite:");
        options.setup = "PRAGMA foreign_keys = ON";
        if (access(target, F_OK) != 0)
            return hf_fail(err, HF_NOT_FOUND, "There is no database at %s.", target);
    } else if (strncmp(url, "mysql:", 6) == 0)
        options.setup = TABLES_SETUP_MYSQL;
    else
        options.settings = TABLES_SETTINGS_POSTGRES;
    return hf_pool_new(driver, target, &options, TABLES_CONNECTIONS, rec_conn_drop, &tables->pool,
                       err);
}

/* What differs from database to database. */
static hf_status tables_learn(hf_tables *tables, hf_db *db, hf_error *err)
{
    tables->kind = hf_db_kind_of(db);
    tables->version = hf_db_version(db);
    tables->dialect = tables->kind == HF_DB_SQLITE     ? REC_SQLITE
                      : tables->kind == HF_DB_POSTGRES ? REC_POSTGRES
                                                       : REC_MYSQL;
    tables->places[0] = tables->dialect == REC_SQLITE ? '?' : '$';
    tables->path = hf_arena_text(&tables->arena, hf_slice_of(hf_db_path(db)));
    tables->place = tables->path;
    if (tables->path == NULL)
        return hf_fail_memory(err);
    if (tables->dialect == REC_SQLITE)
        return HF_OK;
    /* the same whichever way it is reached */
    char place[HF_TEXT_SIZE];
    hf_status status = hf_db_ask(db,
                                 tables->dialect == REC_POSTGRES
                                     ? "SELECT datname || ' ' || oid FROM pg_catalog.pg_database "
                                       "WHERE datname = current_database()"
                                     : "SELECT DATABASE()",
                                 place, sizeof place, err);
    tables->place = hf_arena_text(&tables->arena, hf_slice_of(place));
    return status == HF_OK && tables->place == NULL ? hf_fail_memory(err) : status;
}

static hf_status tables_begin(const char *url, const hf_table *as, size_t count,
                              const rec_missing *missing, hf_tables **out, hf_error *err)
{
    rec_conn *conn = NULL;
    hf_status status = url == NULL ? hf_fail(err, HF_INVALID, "There is no URL of a database.")
                                   : tables_check(as, count, err);
    if (status != HF_OK)
        return status;
    hf_tables *tables = hf_alloc(sizeof *tables);
    if (tables == NULL)
        return hf_fail_memory(err);
    status = tables_pool(tables, url, err);
    if (status == HF_OK)
        status = rec_conn_take(tables, &conn, err);
    if (status == HF_OK)
        status = tables_learn(tables, conn->db, err);
    if (status == HF_OK && tables->dialect == REC_SQLITE)
        status = hf_pool_connect(tables->pool, &tables->checkpointer, err);
    if (status == HF_OK)
        status = rec_describe(tables, conn->db, as, count, missing, err);
    if (status == HF_OK && missing == NULL && tables->locks)
        status = rec_lock_register(conn, err);
    rec_conn_give(conn);
    if (status != HF_OK)
        hf_tables_close(tables);
    else
        *out = tables;
    return status;
}

hf_status hf_tables_open(const char *url, const hf_table *tables, size_t count, const char *keys,
                         hf_tables **out, hf_error *err)
{
    *out = NULL;
    hf_status status = tables_begin(url, tables, count, NULL, out, err);
    if (status != HF_OK || keys == NULL)
        return status;
    (*out)->keys = hf_arena_text(&(*out)->arena, hf_slice_of(keys));
    if ((*out)->keys != NULL)
        return HF_OK;
    hf_tables_close(*out);
    *out = NULL;
    return hf_fail_memory(err);
}

hf_status hf_tables_sql(const char *url, const hf_table *tables, size_t count,
                        void (*sink)(void *context, const char *text), void *context, hf_error *err)
{
    hf_tables *opened = NULL;
    rec_missing missing = {sink, context};
    if (sink == NULL)
        return hf_fail(err, HF_INVALID, "There is nowhere to write the statements to.");
    hf_status status = tables_begin(url, tables, count, &missing, &opened, err);
    hf_tables_close(opened);
    return status;
}

void hf_tables_close(hf_tables *tables)
{
    if (tables == NULL)
        return;
    hf_pool_close(tables->pool);
    hf_db_close(tables->checkpointer);
    hf_url_done(&tables->url);
    hf_arena_done(&tables->arena);
    hf_free(tables);
}
