/* SPDX-License-Identifier: MIT */
/* The SQLite store: its tables, their form, copying them out and in. meta keeps the fingerprint of
 * the table of fields that they were made from; a program with another one leaves them alone. */
#include "sql/sqlite_schema.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "db/url.h"
#include "sql/fields_fingerprint.h"
#include "sql/sqlite_remove.h"
#include "sql/sqlite_restore.h"
#include "store/registry.h"
#include "store/sql_schema.h"
#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SET_FORM "INSERT INTO %s_meta (name, value) VALUES ('schema', '%s')"

/* One value asked of the database; names are spliced in, never values. */
static hf_status sqlite_schema_ask(hf_db *db, const char *names, const char *sql, char *out,
                                   size_t size, hf_error *err)
{
    char *named = sql_name(sql, &(sql_words){.ns = names});
    hf_status status = named == NULL ? hf_fail_memory(err) : hf_db_ask(db, named, out, size, err);
    hf_free(named);
    return status;
}

static hf_status sqlite_schema_form_of(hf_db *db, const char *names, schema_state *out,
                                       hf_error *err)
{
    char text[64], meta[128];
    hf_status status =
        sqlite_schema_ask(db, names, "SELECT count(*) FROM sqlite_master WHERE name = '{ns}_meta'",
                          text, sizeof text, err);
    *out = SCHEMA_NONE;
    if (status != HF_OK || strcmp(text, "1") != 0)
        return status;
    status = sqlite_schema_ask(db, names, "SELECT value FROM {ns}_meta WHERE name = 'schema'", text,
                               sizeof text, err);
    if (status != HF_OK)
        return status;
    if (text[0] == '\0') { /* all is made in one transaction: this is not half of ours */
        snprintf(meta, sizeof meta, "%s_meta", names);
        return schema_refuse_foreign(db, meta, err);
    }
    *out = schema_judge(text);
    return HF_OK;
}

static const char *sqlite_schema_place(const char *path, const char *names, char out[PLACE_SIZE])
{
    snprintf(out, PLACE_SIZE, "%s, as %s_...", path, names);
    return out;
}

/* Other namespaces of holdfast's that the file holds: those of which all the chief tables are
 * there. */
static const char others_sql[] =
    "SELECT count(*) FROM sqlite_master m WHERE type = 'table' AND name LIKE '%\\_meta' ESCAPE '\\'"
    " AND 3 = (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN"
    " (substr(m.name, 1, length(m.name) - 4) || 'session', substr(m.name, 1, length(m.name) - 4) ||"
    " 'resource', substr(m.name, 1, length(m.name) - 4) || 'lock'))";

/* In UTF-16 names would be ordered otherwise, and SQLite would copy every text that is bound. */
static hf_status sqlite_schema_check_encoding(hf_db *db, hf_error *err)
{
    char encoding[32];
    hf_status status = hf_db_ask(db, "PRAGMA encoding", encoding, sizeof encoding, err);
    if (status != HF_OK || strcmp(encoding, "UTF-8") == 0)
        return status;
    return hf_fail(
        err, HF_UNAVAILABLE,
        "%s keeps its text as %s; holdfast compares names as UTF-8. Use a database in UTF-8.",
        hf_db_path(db), encoding);
}

/* Whether the tables are ours; whether there are others, and none of holdfast's. */
static hf_status sqlite_schema_look(hf_db *db, const char *names, schema_state *state,
                                    bool *foreign, hf_error *err)
{
    char others[32] = "", tables[32] = "";
    hf_status status = sqlite_schema_form_of(db, names, state, err);
    if (status == HF_OK && *state == SCHEMA_OURS)
        status = sqlite_schema_check_encoding(db, err);
    if (status == HF_OK)
        status = hf_db_ask(db, others_sql, others, sizeof others, err);
    if (status == HF_OK)
        status = hf_db_ask(db, "SELECT count(*) FROM sqlite_master", tables, sizeof tables, err);
    *foreign = status == HF_OK && *state == SCHEMA_NONE && strcmp(others, "0") == 0 &&
               strcmp(tables, "0") != 0;
    return status;
}

/* All in one transaction: someone else may be creating the tables just now. */
static hf_status sqlite_schema_check_any(hf_db *db, const char *path, const char *names,
                                         schema_state *state, hf_error *err)
{
    bool nested = hf_db_in_transaction(db), foreign = false;
    hf_status status = nested ? HF_OK : hf_db_run(db, "BEGIN", err);
    if (status != HF_OK)
        return status;
    status = sqlite_schema_look(db, names, state, &foreign, err);
    if (!nested && hf_db_in_transaction(db))
        (void)hf_db_run(db, "ROLLBACK", NULL);
    if (status == HF_OK && foreign)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is the database of another program; it was left as it is. Name a new "
                       "file, or wrap the "
                       "application's own handle.",
                       path);
    return status;
}

static hf_status sqlite_schema_run_named(hf_db *db, const char *names, const char *text,
                                         hf_error *err)
{
    char *sql = sql_name(text, &(sql_words){.ns = names});
    hf_status status = sql == NULL ? hf_fail_memory(err) : hf_db_run(db, sql, err);
    hf_free(sql);
    return status;
}

hf_status sqlite_schema_check(hf_db *db, const char *path, const char *names, bool *ours,
                              hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state = SCHEMA_NONE;
    hf_status status = sqlite_schema_check_any(db, path, names, &state, err);
    *ours = state == SCHEMA_OURS;
    return status == HF_OK && state == SCHEMA_OTHER
               ? schema_refuse_form(sqlite_schema_place(path, names, where), err)
               : status;
}

hf_status sqlite_schema_check_wrapped(hf_db *db, const char *path, const char *names, hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    hf_status status = sqlite_schema_form_of(db, names, &state, err);
    if (status == HF_OK && state == SCHEMA_OTHER)
        return schema_refuse_form(sqlite_schema_place(path, names, where), err);
    if (status == HF_OK && state == SCHEMA_NONE)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "The database has no tables of holdfast; wrap it with HF_SQLITE_INSTALL once.");
    return status == HF_OK ? sqlite_schema_check_encoding(db, err) : status;
}

/* Makes the tables if they are missing. */
static hf_status sqlite_schema_make(hf_db *db, const char *names, hf_error *err)
{
    char where[PLACE_SIZE];
    schema_state state;
    char meta[128];
    hf_status status = sqlite_schema_form_of(db, names, &state, err);
    if (status != HF_OK || state == SCHEMA_OURS)
        return status;
    if (state == SCHEMA_OTHER)
        return schema_refuse_form(sqlite_schema_place(hf_db_path(db), names, where), err);
    status = sqlite_schema_run_named(db, names, sqlite_schema_sql, err);
    snprintf(meta, sizeof meta, SET_FORM, names, hf_fields_fingerprint);
    return status == HF_OK ? hf_db_run(db, meta, err) : status;
}

/* In one transaction, or in a savepoint of the caller's. */
hf_status sqlite_schema_install(hf_db *db, const char *names, hf_error *err)
{
    schema_state state;
    bool nested = hf_db_in_transaction(db);
    hf_status status = sqlite_schema_check_encoding(db, err);
    if (status == HF_OK)
        status = sqlite_schema_form_of(db, names, &state, err);
    if (status != HF_OK || state == SCHEMA_OURS)
        return status;
    status = hf_db_run(db, nested ? "SAVEPOINT holdfast_schema" : "BEGIN IMMEDIATE", err);
    if (status == HF_OK)
        status = sqlite_schema_make(db, names, err);
    if (status == HF_OK)
        status = hf_db_run(db, nested ? "RELEASE holdfast_schema" : "COMMIT", err);
    /* SQLite ends a transaction by itself on some errors */
    if (status != HF_OK && hf_db_in_transaction(db))
        (void)hf_db_run(
            db, nested ? "ROLLBACK TO holdfast_schema; RELEASE holdfast_schema" : "ROLLBACK", NULL);
    return status;
}

/* ---- backup and restore ---- */

static hf_status sqlite_schema_copy_to(sqlite_store *store, const char *path, hf_error *err)
{
    hf_db *to = NULL;
    char answer[64];
    hf_status status = hf_db_open(path, 0, &to, err);
    if (status == HF_OK) {
        sql_conn *conn = store->wrapped ? &store->writer : &store->reader;
        pthread_mutex_lock(&conn->mutex);
        hf_db_patience(conn->db, HF_DB_BUSY_US);
        status = hf_db_in_transaction(conn->db)
                     ? hf_fail(err, HF_INVALID,
                               "A backup can't be made inside an open transaction; end it first.")
                     : hf_db_copy(conn->db, to, err);
        pthread_mutex_unlock(&conn->mutex);
    }
    /* One file that can be carried away: no log beside it. */
    if (status == HF_OK)
        status = hf_db_ask(to, "PRAGMA journal_mode = DELETE", answer, sizeof answer, err);
    if (status == HF_OK)
        status = hf_db_ask(to, "PRAGMA quick_check", answer, sizeof answer, err);
    if (status == HF_OK && strcmp(answer, "ok") != 0)
        status = hf_fail(err, HF_UNAVAILABLE, "The copy is damaged, and so may be the store: %s.",
                         answer);
    hf_db_close(to);
    return status;
}

hf_status sqlite_backup(hf_store *base, const char *path, hf_error *err)
{
    if (((sqlite_store *)base)->broken)
        return sqlite_refuse_broken((sqlite_store *)base, err);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return hf_fail(err, errno == EEXIST ? HF_INVALID : HF_UNAVAILABLE,
                       "The backup can't be written to %s: %m. %s", path,
                       errno == EEXIST ? "Name a file that is not there yet."
                                       : "Name a file in a folder that can be written.");
    close(file);
    hf_status status = sqlite_schema_copy_to((sqlite_store *)base, path, err);
    if (status != HF_OK)
        unlink(path);
    return status;
}

/* A backup must be whole and of this very form: its rows are copied as they are. */
static hf_status sqlite_schema_check_open_backup(hf_db *from, const sqlite_store *store,
                                                 const char *path, hf_error *err)
{
    schema_state state;
    char answer[64] = "";
    hf_status status = sqlite_schema_check_any(from, path, store->names, &state, err);
    if (status == HF_OK && state == SCHEMA_NONE)
        return hf_fail(err, HF_INVALID, "%s is no backup of a holdfast store.", path);
    if (status == HF_OK && state == SCHEMA_OTHER)
        return hf_fail(err, HF_INVALID,
                       "The backup %s was made by another version of holdfast, whose rows have "
                       "another form; nothing was changed. Restore it with the program that made "
                       "it.",
                       path);
    if (status == HF_OK)
        status = hf_db_ask(from, "PRAGMA quick_check", answer, sizeof answer, err);
    if (status == HF_OK && strcmp(answer, "ok") != 0)
        return hf_fail(err, HF_UNAVAILABLE, "The backup %s is damaged: %s.", path, answer);
    return status;
}

static hf_status sqlite_schema_check_backup(const sqlite_store *store, const char *path,
                                            hf_error *err)
{
    bool exists;
    hf_db *from = NULL;
    hf_status status = sqlite_file_check(path, &exists, err);
    if (status == HF_OK && !exists)
        return hf_fail(err, HF_INVALID, "There is no backup at %s.", path);
    if (status == HF_OK)
        status = hf_db_open(path, HF_DB_READ_ONLY, &from, err);
    if (status == HF_OK)
        status = sqlite_schema_check_open_backup(from, store, path, err);
    hf_db_close(from);
    return status;
}

static hf_status sqlite_schema_attach(hf_db *db, const char *path, hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_status status = hf_stmt_new(db, "ATTACH ?1 AS hf_from", &stmt, err);
    if (status != HF_OK)
        return status;
    hf_stmt_text(stmt, 1, hf_slice_of(path));
    status = hf_stmt_run(stmt, err);
    hf_stmt_free(stmt);
    return status;
}

static hf_status sqlite_schema_refuse_held(const hf_lock *lock, hf_error *err)
{
    hf_fail(err, HF_LOCKED,
            "%s/%s is held by %s, and perhaps more is; a restore would take that away. Wait until "
            "'holdfast "
            "list' is empty, or say --replace.",
            lock->resource.type, lock->resource.id, lock->name);
    if (err != NULL) {
        err->holder = *lock;
        hf_resource_format(&lock->resource, err->resource);
    }
    return HF_LOCKED;
}

/* In the transaction that replaces: nobody takes a lock between this look and the end of it. */
static void sqlite_schema_check_no_locks(sqlite_store *store, sql_conn *conn, int64_t now_us)
{
    hf_op op = {.kind = HF_OP_LIST, .limit = 1};
    hf_batch look_for = {.ops = &op, .count = 1, .capacity = 1};
    if (conn->status != HF_OK)
        return;
    sqlite_do_alone(store, conn, &look_for, now_us);
    if (conn->status == HF_OK && op.answer.locks_count > 0)
        conn->status = sqlite_schema_refuse_held(&op.answer.locks[0], conn->err);
    hf_arena_done(&look_for.arena);
}

static void sqlite_schema_replace_rows(sqlite_store *store, sql_conn *conn, const char *sql,
                                       bool replace)
{
    sql_do(conn, SQLITE_DO_BEGIN);
    int64_t now_us = hf_store_now(&store->base, hf_seam.wall_us());
    if (!replace)
        sqlite_schema_check_no_locks(store, conn, now_us);
    int64_t last = sql_number(conn, SQLITE_DO_EVENTS_LAST),
            fence = sql_number(conn, SQLITE_DO_FENCE_LAST),
            floor = sql_number(conn, SQLITE_DO_FENCE_FLOOR_FROM);
    if (conn->status == HF_OK)
        conn->status = hf_db_run(conn->db, sql, conn->err);
    hf_stmt *stmt = sql_stmt(conn, SQLITE_DO_EVENT_RESTORED);
    if (stmt != NULL) {
        hf_stmt_int(stmt, 1, last);
        hf_stmt_int(stmt, 2, now_us);
        sql_run(conn, stmt);
    }
    sqlite_raise_floor(conn, fence > floor ? fence : floor);
    sqlite_commit(store, conn, false);
    if (conn->status != HF_OK)
        sqlite_undo(conn, false);
}

static hf_status sqlite_schema_restore_from(sqlite_store *store, const char *path, bool replace,
                                            hf_error *err)
{
    sql_conn *conn = &store->writer;
    char *sql = sql_name(sqlite_restore_sql, &(sql_words){.ns = store->names});
    hf_status status = sql == NULL ? hf_fail_memory(err) : HF_OK;
    if (status == HF_OK && !store->wrapped &&
        (status = hf_db_run(conn->db, "PRAGMA synchronous = FULL", err)) == HF_OK)
        store->synced = 2;
    if (!store->wrapped)
        hf_db_gather(conn->db, false); /* however much it is, it need not fit into memory */
    if (status == HF_OK)
        status = sqlite_schema_attach(conn->db, path, err);
    if (status == HF_OK) {
        sql_use(conn, err);
        sqlite_schema_replace_rows(store, conn, sql, replace);
        status = conn->status;
        (void)hf_db_run(conn->db, "DETACH hf_from", NULL);
    }
    if (!store->wrapped)
        hf_db_gather(conn->db, store->synced == 2);
    hf_free(sql);
    return status;
}

hf_status sqlite_restore(hf_store *base, const char *path, bool replace, hf_error *err)
{
    sqlite_store *store = (sqlite_store *)base;
    hf_status status = sqlite_schema_check_backup(store, path, err);
    if (status != HF_OK)
        return status;
    pthread_mutex_lock(&store->writer.mutex);
    hf_db_patience(store->writer.db, HF_DB_BUSY_US);
    if (store->broken)
        status = sqlite_refuse_broken(store, err);
    else if (hf_db_in_transaction(store->writer.db))
        status = hf_fail(err, HF_INVALID,
                         "A backup can't be restored inside an open transaction; end it first.");
    else
        status = sqlite_schema_restore_from(store, path, replace, err);
    pthread_mutex_unlock(&store->writer.mutex);
    return status;
}

/* ---- install and uninstall ---- */

static hf_status sqlite_schema_print_sql(const hf_install_order *order, const char *names,
                                         hf_error *err)
{
    hf_buffer text = {0};
    hf_buffer_print(&text,
                    "-- holdfast in SQLite, tables %s_... . Run it with: sqlite3 FILE < "
                    "THIS\nBEGIN IMMEDIATE;\n",
                    names);
    char *sql =
        sql_name(order->remove ? sqlite_remove_sql : sqlite_schema_sql, &(sql_words){.ns = names});
    hf_buffer_print(&text, "%s", sql == NULL ? "" : sql);
    text.failed |= sql == NULL;
    hf_free(sql);
    if (!order->remove)
        hf_buffer_print(&text, SET_FORM ";\n", names, hf_fields_fingerprint);
    hf_buffer_print(&text, "COMMIT;\n");
    char *all = hf_buffer_take(&text);
    if (all == NULL)
        return hf_fail_memory(err);
    order->sink(order->context, all);
    hf_free(all);
    return HF_OK;
}

/* In a transaction: nobody takes a lock meanwhile. */
static hf_status sqlite_schema_check_unused(hf_db *db, const char *path, const char *names,
                                            hf_error *err)
{
    char sql[512], live[32];
    long long now_us = (long long)hf_seam.wall_us();
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session WHERE "
             "s.ended_us IS NULL"
             " AND s.expires_us > %lld AND (l.ends_us IS NULL OR l.ends_us > %lld)",
             now_us, now_us);
    hf_status status = sqlite_schema_ask(db, names, sql, live, sizeof live, err);
    if (status != HF_OK || strcmp(live, "0") == 0)
        return status;
    return hf_fail(
        err, HF_LOCKED,
        "%s %s in %s; wait until 'holdfast list' is empty, or say --force: then people lose what "
        "they hold.",
        live, strcmp(live, "1") == 0 ? "lock lives" : "locks live", path);
}

static hf_status sqlite_schema_check_unguarded(hf_db *db, const char *names, hf_error *err)
{
    char there[32], table[256] = "";
    hf_status status =
        sqlite_schema_ask(db, names, "SELECT count(*) FROM sqlite_master WHERE name = '{ns}_guard'",
                          there, sizeof there, err);
    if (status == HF_OK && strcmp(there, "0") != 0)
        status = sqlite_schema_ask(db, names, "SELECT min(table_name) FROM {ns}_guard", table,
                                   sizeof table, err);
    return status == HF_OK && table[0] != '\0'
               ? hf_fail(err, HF_INVALID, SCHEMA_GUARDED, table, table)
               : status;
}

static hf_status sqlite_schema_remove_tables(hf_db *db, const char *path, const char *names,
                                             bool force, hf_error *err)
{
    char left[32] = "";
    hf_status status = hf_db_run(db, "BEGIN IMMEDIATE", err);
    if (status == HF_OK)
        status = sqlite_schema_check_unguarded(db, names, err);
    if (status == HF_OK && !force)
        status = sqlite_schema_check_unused(db, path, names, err);
    if (status == HF_OK)
        status = sqlite_schema_run_named(db, names, sqlite_remove_sql, err);
    if (status == HF_OK)
        status = hf_db_ask(db, "SELECT count(*) FROM sqlite_master", left, sizeof left, err);
    if (status == HF_OK)
        status = hf_db_run(db, "COMMIT", err);
    if (status != HF_OK && hf_db_in_transaction(db))
        (void)hf_db_run(db, "ROLLBACK", NULL);
    if (status == HF_OK && strcmp(left, "0") == 0)
        sqlite_reserve_give_up(path);
    return status;
}

/* The file stays, with what else is in it. */
static hf_status sqlite_schema_uninstall(const char *path, const char *names, bool force,
                                         hf_error *err)
{
    char where[PLACE_SIZE];
    bool exists = false;
    schema_state state = SCHEMA_NONE;
    hf_db *db = NULL;
    hf_status status = sqlite_file_check(path, &exists, err);
    if (status == HF_OK && exists)
        status = hf_db_open(path, HF_DB_READ_ONLY, &db, err);
    if (status == HF_OK && exists)
        status = sqlite_schema_check_any(db, path, names, &state, err);
    hf_db_close(db);
    if (status == HF_OK && state == SCHEMA_OTHER && !force)
        return schema_refuse_unknown(sqlite_schema_place(path, names, where), err);
    if (status == HF_OK && state == SCHEMA_NONE)
        return hf_fail(err, HF_NOT_FOUND,
                       "There are no tables of holdfast named %s in %s; nothing was removed.",
                       names, path);
    if (status != HF_OK)
        return status;
    db = NULL;
    status = hf_db_open(path, 0, &db, err);
    if (status == HF_OK)
        status = sqlite_schema_remove_tables(db, path, names, force, err);
    hf_db_close(db);
    return status;
}

/* Opening makes the tables. */
static hf_status sqlite_schema_store_sqlite_schema_install(const char *rest, hf_error *err)
{
    hf_store *store = NULL;
    hf_status status = hf_store_sqlite.open(rest, &store, err);
    if (status == HF_OK)
        hf_store_sqlite.close(store);
    return status;
}

hf_status sqlite_install(const char *rest, const hf_install_order *order, hf_error *err)
{
    hf_url url = {0};
    if (order->role != NULL)
        return hf_fail(err, HF_INVALID,
                       "SQLite has no accounts; the permissions of the file say who may use it. "
                       "Leave --role out.");
    if (!order->remove && !order->print)
        return sqlite_schema_store_sqlite_schema_install(rest, err);
    hf_status status = hf_url_read(rest, &url, err);
    if (status == HF_OK &&
        (url.url[0] == '\0' || url.url[0] == ':' || strchr(url.url, '?') != NULL))
        status = hf_fail(err, HF_INVALID, "Write sqlite:PATH, or sqlite:PATH?namespace=NAME.");
    if (status == HF_OK)
        status = order->print ? sqlite_schema_print_sql(order, url.names, err)
                              : sqlite_schema_uninstall(url.url, url.names, order->force, err);
    hf_url_done(&url);
    return status;
}
