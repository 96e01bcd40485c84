/* SPDX-License-Identifier: MIT */
/* The store on MariaDB and MySQL: opening it by URL or on an application's own connection. What it
 * does with batches stands in server.c, what durability it stands on in mysql_grade.c. */
#include "store/database.h"

#include "base/error.h"
#include "db/mysql.h"
#include "store/mysql_grade.h"
#include "store/registry.h"
#include "store/sql_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is sent at once must not be larger than max_allowed_packet, by default 4 MiB or more. What a
 * batch itself names comes to less; only who has thousands of locks comes near it. */
enum { LIST_ROWS = HF_BATCH_OPS_MAX };

static const database_kind kind;

/* ---- what it stands on ---- */

static hf_status mysql_ask_about(hf_db *db, const char *sql, mysql_facts *out, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    hf_status status = hf_stmt_new(db, sql, &stmt, err);
    if (status != HF_OK || stmt == NULL)
        return status;
    while ((status = hf_stmt_step(stmt, &row, err)) == HF_OK && row)
        mysql_fact(out, hf_stmt_column_text(stmt, 0), hf_stmt_column_text(stmt, 1));
    hf_stmt_free(stmt);
    return status;
}

static hf_status mysql_ask_facts(hf_db *db, mysql_facts *out, hf_error *err)
{
    out->mariadb = hf_db_kind_of(db) == HF_DB_MARIADB;
    hf_status status = mysql_ask_about(db, MYSQL_FACTS, out, err);
    return status != HF_OK ? status : mysql_ask_about(db, MYSQL_REPLICA, out, err);
}

static bool mysql_is_on(const char *value)
{
    return value[0] != '\0' && strcmp(value, "OFF") != 0 && strcmp(value, "0") != 0;
}

static hf_status mysql_refuse(hf_db *db, const mysql_facts *known, hf_error *err)
{
    if (strcmp(known->log_bin, "ON") == 0 && strcmp(known->binlog_format, "STATEMENT") == 0)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s writes its binary log by statement, which doesn't go with READ "
                       "COMMITTED; set binlog_format "
                       "to ROW or MIXED.",
                       hf_db_path(db));
    return HF_OK;
}

/* ---- settings ---- */

static const char *mysql_setup_of(const hf_db *db)
{
    if (hf_db_kind_of(db) == HF_DB_MARIADB)
        return "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
               "SET SESSION innodb_lock_wait_timeout = 1, sql_mode = 'STRICT_ALL_TABLES', "
               "autocommit = 1, time_zone = '+00:00',"
               " idle_transaction_timeout = 8, max_statement_time = 8, "
               "in_predicate_conversion_threshold = 0";
    return "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
           "SET SESSION innodb_lock_wait_timeout = 1, sql_mode = 'STRICT_ALL_TABLES', "
           "autocommit = 1, time_zone = '+00:00'";
}

/* On an application's connection, whose settings are put back when the batch is done. MariaDB has
 * words for its lock wait and its time zone in each statement. (A setting is a number, whatever it
 * looks like as text, when 0 is added to it.) insert_id is refused: to MySQL 0 would be an id. */
static hf_status mysql_unlimit(hf_db *db, char *saved, size_t size, hf_error *err)
{
    bool mariadb = hf_db_kind_of(db) == HF_DB_MARIADB;
    hf_status status = hf_db_ask(
        db,
        mariadb
            ? "SELECT CONCAT('SET SESSION sql_select_limit = ', @@sql_select_limit + 0,"
              " ', sql_safe_updates = ', @@sql_safe_updates + 0,"
              " IF(@@session.insert_id = 0, '', ' insert_id')) LIMIT 1"
            : "SELECT CONCAT('SET SESSION innodb_lock_wait_timeout = ', @@innodb_lock_wait_timeout,"
              " ', time_zone = ''', @@session.time_zone,"
              " ''', sql_select_limit = ', @@sql_select_limit + 0,"
              " ', sql_safe_updates = ', @@sql_safe_updates + 0,"
              " IF(@@session.insert_id = 0, '', ' insert_id')) LIMIT 1",
        saved, size, err);
    if (status == HF_OK && strstr(saved, " insert_id") != NULL) {
        saved[0] = '\0';
        return hf_fail(err, HF_INVALID,
                       "The connection has set insert_id, which an event of holdfast's would get; "
                       "call before that, or after the INSERT that it is meant for.");
    }
    if (status == HF_OK && mariadb && strstr(saved, HF_DB_MYSQL_UNLIMITED) != NULL)
        saved[0] = '\0';
    else if (status == HF_OK)
        status = hf_db_run(db,
                           mariadb ? "SET SESSION " HF_DB_MYSQL_UNLIMITED
                                   : "SET SESSION innodb_lock_wait_timeout = 1, "
                                     "time_zone = '+00:00', " HF_DB_MYSQL_UNLIMITED,
                           err);
    return status;
}

static void mysql_put_back(hf_db *db, const char *sql)
{
    if (sql[0] != '\0')
        hf_db_mysql_put_back(db, sql);
}

static void mysql_enter(database_work *work)
{
    sql_conn *conn = work->conn;
    if (work->store->own != NULL)
        conn->status =
            mysql_unlimit(conn->db, work->saved_setup, sizeof work->saved_setup, conn->err);
}

static void mysql_leave(database_work *work)
{
    mysql_put_back(work->conn->db, work->saved_setup);
}

/* The level of the transaction itself, which may have been set for it alone, is in a list that few
 * accounts may read and that is renewed ten times a second; else it is that of the connection. */
static bool mysql_reads_lock(database_work *work, bool *known)
{
    hf_db *db = work->conn->db;
    char level[32] = "";
    bool mysql = hf_db_kind_of(db) == HF_DB_MYSQL;
    hf_status status =
        hf_db_ask(db,
                  "SELECT (SELECT trx_isolation_level FROM information_schema.innodb_trx"
                  " WHERE trx_mysql_thread_id = CONNECTION_ID())",
                  level, sizeof level, NULL);
    *known = status != HF_OK || level[0] != '\0';
    if (level[0] == '\0')
        status = hf_db_ask(db, mysql ? "SELECT @@transaction_isolation" : "SELECT @@tx_isolation",
                           level, sizeof level, NULL);
    return status == HF_OK && strcmp(level, "SERIALIZABLE") == 0;
}

/* ---- opening ---- */

static void mysql_set_words(database_store *store, const hf_db *db, bool own)
{
    bool mariadb = hf_db_kind_of(db) == HF_DB_MARIADB;
    if (mariadb)
        store->words.now = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR ";
    if (own)
        store->words.calm =
            mariadb ? "SET STATEMENT innodb_lock_wait_timeout = 0, time_zone = '+00:00' FOR "
                    : store->words.now;
    if (own && mariadb)
        store->words.soon = "SET STATEMENT innodb_lock_wait_timeout = 1 FOR ";
    store->list_rows = LIST_ROWS;
    store->words.skip = "SKIP LOCKED";
    store->words.share = mariadb ? "LOCK IN SHARE MODE SKIP LOCKED" : "FOR SHARE SKIP LOCKED";
}

static hf_status mysql_look(database_store *store, const hf_url *url, hf_db_options *options,
                            hf_error *err)
{
    hf_db *db = NULL;
    mysql_facts known = {0};
    hf_status status = hf_db_connect(&hf_db_mysql, url->url, options, &db, err);
    if (status != HF_OK || db == NULL)
        return status;
    status = mysql_ask_facts(db, &known, err);
    if (status == HF_OK)
        status = mysql_refuse(db, &known, err);
    if (status == HF_OK && mysql_is_on(known.reads_only))
        status = hf_fail(err, HF_UNAVAILABLE,
                         "%s is read-only for this account (%s_read_only is on); let it write.",
                         hf_db_path(db), known.mariadb ? "tx" : "transaction");
    if (status == HF_OK)
        status = mysql_schema_ready(db, store->names, true, err);
    options->setup = mysql_setup_of(db);
    mysql_set_words(store, db, false);
    mysql_judge(&known, false, &store->grade);
    hf_db_close(db);
    return status;
}

/* A timeout must not end the application's transaction. */
static hf_status mysql_refuse_rollback(const mysql_facts *known, hf_error *err)
{
    if (strcmp(known->rollback, "ON") != 0)
        return HF_OK;
    return hf_fail(err, HF_UNAVAILABLE,
                   "The server rolls whole transactions back when a lock is busy; set "
                   "innodb_rollback_on_timeout off, or "
                   "open the store by URL.");
}

static hf_status mysql_look_wrapped(database_store *store, hf_db *db, hf_error *err)
{
    mysql_facts known = {0};
    char saved[256] = "";
    hf_status status = mysql_unlimit(db, saved, sizeof saved, err);
    if (status == HF_OK)
        status = hf_db_mysql_refuse_read_only(db, err);
    if (status == HF_OK)
        status = mysql_ask_facts(db, &known, err);
    if (status == HF_OK)
        status = mysql_refuse(db, &known, err);
    if (status == HF_OK)
        status = mysql_refuse_rollback(&known, err);
    if (status == HF_OK)
        status = mysql_schema_ready(db, store->names, false, err);
    mysql_put_back(db, saved);
    mysql_judge(&known, true, &store->grade);
    return status;
}

static void mysql_own_words(database_store *store, const hf_db *db)
{
    mysql_set_words(store, db, true);
}

static hf_status mysql_wrap_db(void *handle, hf_db **out, hf_error *err)
{
    return hf_db_mysql_wrap(handle, out, err);
}

static hf_status mysql_store_open(const char *rest, hf_store **out, hf_error *err)
{
    return database_store_open(&kind, rest, out, err);
}

static hf_status mysql_wrap(void *handle, const char *names, hf_store **out, hf_error *err)
{
    return database_wrap(&kind, handle, names, out, err);
}

static const hf_store_ops hf_store_mysql = {
    .scheme = "mysql",
    .open = mysql_store_open,
    .execute = database_execute,
    .install = mysql_install,
    .grade = database_grade,
    .backup = database_backup,
    .close = database_store_close,
};

static const database_kind kind = {
    .ops = &hf_store_mysql,
    .driver = &hf_db_mysql,
    .sql = sql_do_mysql,
    .backup_with =
        "mariadb-dump or mysqldump --single-transaction --routines, and 'holdfast install' once "
        "it is restored",
    .look = mysql_look,
    .wrap = mysql_wrap_db,
    .own_words = mysql_own_words,
    .look_wrapped = mysql_look_wrapped,
    .enter = mysql_enter,
    .leave = mysql_leave,
    .reads_lock = mysql_reads_lock,
};

__attribute__((visibility("default"))) extern const hf_store_module_info hf_store_module;
const hf_store_module_info hf_store_module = {HF_VERSION, &hf_store_mysql, mysql_wrap};
