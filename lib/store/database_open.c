/* SPDX-License-Identifier: MIT */
/* SQL database stores: opening and closing them, and their connections. */
#include "store/database.h"

#include "base/error.h"
#include "base/seams.h"
#include "store/sql_schema.h"

#include <stdio.h>

#define WRITERS_MAX 16
#define READERS_MAX 4
/* The longest time for which a database may be read from that has been replaced in a failover. */
#define READER_AGE_US INT64_C(60000000)

#define GROUPS_AT_ONCE 2              /* group commits: one works while one is synced */
#define LONG_US        INT64_C(10000) /* ... and what takes longer is not waited for */

static void database_open_drop_conn(void *extra)
{
    sql_conn *conn = extra;
    if (conn == NULL)
        return;
    conn->db = NULL; /* the pool closes it */
    sql_conn_done(conn);
    hf_free(conn);
}

sql_conn *database_conn_new(const database_store *store, hf_db *db)
{
    sql_conn *conn = hf_alloc(sizeof *conn);
    if (conn == NULL)
        return NULL;
    sql_conn_init(conn, db, &store->words, store->kind->sql);
    return conn;
}

static hf_status database_open_new(const database_kind *kind, const char *names,
                                   database_store **out, hf_error *err)
{
    database_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return hf_fail_memory(err);
    hf_store_init(&store->base, kind->ops);
    store->kind = kind;
    snprintf(store->names, sizeof store->names, "%s", names);
    store->words = (sql_words){.ns = store->names,
                               .level = " ISOLATION LEVEL READ COMMITTED",
                               .none = "NULL::text COLLATE \"C\""};
    store->patience_us = HF_DB_BUSY_US;
    *out = store;
    return HF_OK;
}

static hf_status database_open_pools(database_store *store, const char *url,
                                     const hf_db_options *options, hf_error *err)
{
    hf_status status = hf_pool_new(store->kind->driver, url, options, WRITERS_MAX,
                                   database_open_drop_conn, &store->writers, err);
    if (status == HF_OK)
        status = hf_pool_new(store->kind->driver, url, options, READERS_MAX,
                             database_open_drop_conn, &store->readers, err);
    if (status == HF_OK)
        hf_pool_age(store->readers, READER_AGE_US);
    if (status == HF_OK)
        status = hf_group_commit_new(&(hf_group_commit_rule){.execute = database_execute_one,
                                                             .at_once = GROUPS_AT_ONCE,
                                                             .long_us = LONG_US},
                                     &store->group_commit, err);
    return status;
}

hf_status database_connect_own(database_store *store, hf_db **out, hf_error *err)
{
    if (store->own != NULL || store->pooler)
        return hf_fail(err, HF_NOT_FOUND, "%s can't tell of changes; look for them now and then.",
                       store->pooler ? "A database behind a pooler in transaction mode"
                                     : "A store on the application's own connection");
    return hf_pool_connect(store->readers, out, err);
}

static hf_status database_open_own(database_store *store, hf_db *db, hf_error *err)
{
    store->own = database_conn_new(store, db);
    if (store->own == NULL)
        return hf_fail_memory(err);
    pthread_mutex_init(&store->own->mutex, NULL);
    return HF_OK;
}

void database_store_close(hf_store *base)
{
    database_store *store = (database_store *)base;
    hf_group_commit_free(store->group_commit);
    hf_pool_close(store->writers);
    hf_pool_close(store->readers);
    if (store->own != NULL) {
        pthread_mutex_destroy(&store->own->mutex);
        sql_conn_done(store->own);
        hf_free(store->own);
    }
    hf_free(store);
}

void database_grade(hf_store *base, hf_grade *out)
{
    *out = ((database_store *)base)->grade;
}

hf_status database_backup(hf_store *base, const char *path, hf_error *err)
{
    (void)path;
    return hf_fail(err, HF_INVALID,
                   "A store in a database is backed up with the database's own tools: %s.",
                   ((database_store *)base)->kind->backup_with);
}

/* ---- by URL ---- */

static hf_status database_open_url(const database_kind *kind, const hf_url *url, hf_store **out,
                                   hf_error *err)
{
    database_store *store = NULL;
    hf_db_options options = {.pooler = url->pooler, .password = url->password};
    if (url->pooler && !kind->poolers)
        return hf_fail(err, HF_INVALID,
                       "pooler=transaction is for PostgreSQL; leave it out of the URL.");
    if (url->durability != NULL)
        return hf_fail(
            err, HF_INVALID,
            "durability= is not for a database server, whose own settings decide; leave it out.");
    if (url->replicas != 0)
        return hf_fail(err, HF_INVALID,
                       "replicas= is for Redis; a database server's own settings decide.");
    hf_status status = database_open_new(kind, url->names, &store, err);
    if (status != HF_OK || store == NULL)
        return status;
    store->pooler = url->pooler;
    status = kind->look(store, url, &options, err);
    if (status == HF_OK)
        status = database_open_pools(store, url->url, &options, err);
    if (status != HF_OK) {
        database_store_close(&store->base);
        return status;
    }
    *out = &store->base;
    if (err != NULL)
        *err = (hf_error){.status = HF_OK};
    return HF_OK;
}

hf_status database_store_open(const database_kind *kind, const char *rest, hf_store **out,
                              hf_error *err)
{
    hf_url url = {0};
    hf_status status = schema_read_url(kind->ops->scheme, rest, &url, err);
    if (status == HF_OK)
        status = database_open_url(kind, &url, out, err);
    hf_url_done(&url);
    return status;
}

/* ---- on an application's connection ---- */

hf_status database_wrap(const database_kind *kind, void *handle, const char *names, hf_store **out,
                        hf_error *err)
{
    database_store *store = NULL;
    hf_db *db = NULL;
    names = names == NULL ? "holdfast" : names;
    hf_status status = hf_url_names_ok(names, err) ? HF_OK : HF_INVALID;
    if (status == HF_OK)
        status = kind->wrap(handle, &db, err);
    if (status == HF_OK)
        status = database_open_new(kind, names, &store, err);
    if (status != HF_OK || store == NULL) {
        hf_db_close(db);
        return status;
    }
    if (kind->own_words != NULL)
        kind->own_words(store, db);
    status = database_open_own(store, db, err);
    if (status != HF_OK)
        hf_db_close(db);
    else
        status = kind->look_wrapped(store, db, err);
    if (status != HF_OK)
        database_store_close(&store->base);
    else
        *out = &store->base;
    return status;
}
