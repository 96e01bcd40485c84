/* SPDX-License-Identifier: MIT */
/* One face over SQL databases (SQLite, PostgreSQL, MariaDB and MySQL): connections, statements,
 * typed values in and out, several statements in one round trip, errors as a status and a sentence.
 * Stores and records use nothing else: no client library's header leaves this folder.
 *
 * A connection is one thread's at a time. What its handle was given for is said by who opens it:
 * SQLite by a file (sqlite.h), the others by a URL (below) or an application's own handle
 * (postgres.h, mysql.h). */
#ifndef HF_DB_DB_H
#define HF_DB_DB_H

#include "db/value.h"

#include <holdfast/status.h>

typedef struct hf_db hf_db;
typedef struct hf_stmt hf_stmt;
typedef struct hf_db_driver hf_db_driver;

typedef enum hf_db_kind { HF_DB_SQLITE, HF_DB_POSTGRES, HF_DB_MARIADB, HF_DB_MYSQL } hf_db_kind;

/* What the last failure on a connection was, where a caller may want to act on it. */
typedef enum hf_failure {
    HF_FAILURE_OTHER,
    /* the connection is gone, or its answer did not come in time; it is of no more use */
    HF_FAILURE_LOST,
    HF_FAILURE_BUSY, /* waited for another's lock for as long as it may */
    /* deadlock, serialization failure, snapshot too old: the transaction may be run again */
    HF_FAILURE_CONFLICT,
    HF_FAILURE_DUPLICATE, /* a row with that key is there already */
    HF_FAILURE_MISSING,   /* no such table, schema, function or database */
    HF_FAILURE_DENIED,    /* may not, or wrong password */
    HF_FAILURE_READ_ONLY, /* the server or the transaction takes no writes */
    HF_FAILURE_LIMIT      /* a limit of the server was reached: connections, lock table, disk */
} hf_failure;

/* How long a statement waits for another connection's transaction, unless told otherwise: then it
 * is HF_BUSY. */
#define HF_DB_BUSY_US INT64_C(500000)

/* How long a connection attempt or a round trip may take before the connection is given up. */
#define HF_DB_TIMEOUT_US INT64_C(10000000)

typedef struct hf_db_options {
    int64_t timeout_us; /* 0: HF_DB_TIMEOUT_US */
    /* a pooler in transaction mode stands between: nothing outlives a transaction */
    bool pooler;
    /* statements run once on each new connection, joined by ";"; NULL: none. Not with a pooler */
    const char *setup;
    /* PostgreSQL: settings of the connection, "name=value name=value": sent on connecting; not with
     * a pooler, where whoever begins a transaction sets them for it. */
    const char *settings;
    const char *password; /* taken from password_file; NULL: the usual places */
} hf_db_options;

/* Connects by URL. The parameters that are holdfast's own have been taken out (db/url.h). The
 * sentence of a failure names user, host and database, never the password. HF_INVALID: the URL
 * makes no sense. HF_UNAVAILABLE: no connection. */
hf_status hf_db_connect(const hf_db_driver *driver, const char *url, const hf_db_options *options,
                        hf_db **out, hf_error *err);

/* Accepts NULL. Statements must have been freed before. A wrapped handle stays open. */
void hf_db_close(hf_db *db);

hf_db_kind hf_db_kind_of(const hf_db *db);
/* 150019, 101119 (MariaDB 10.11.19), 80036 (MySQL 8.0.36), 3040001 */
int hf_db_version(const hf_db *db);
hf_failure hf_db_failure(const hf_db *db);

/* Where it is, for a sentence: a file, "the database NAME on HOST"; borrowed. */
const char *hf_db_path(hf_db *db);

/* The client library's own handle (sqlite3, PGconn, MYSQL), for a store on the same connection. */
void *hf_db_native(hf_db *db);

/* False once the connection is lost: all that is left is to close it. */
bool hf_db_alive(hf_db *db);

/* Whether an idle connection still looks usable, asked without a round trip. */
bool hf_db_fresh(hf_db *db);

/* Its socket, for poll(2): -1 when it has none. And the server's number for it, as the server told
 * it on connecting: behind a pooler it is not the one that a statement is told. 0: it has none. */
int hf_db_socket(hf_db *db);
int64_t hf_db_number(hf_db *db);

/* Whether a transaction is open on the connection; whether it is one that has failed and can only
 * be rolled back. */
bool hf_db_in_transaction(hf_db *db);
bool hf_db_transaction_failed(hf_db *db);

/* SQLite: how long all that is sent from now on waits for others' locks, in sum; then HF_BUSY. 0:
 * not at all. On other databases this is a setting of the connection, and the call does nothing. */
void hf_db_patience(hf_db *db, int64_t us);

/* Runs SQL text: several statements, no results. */
hf_status hf_db_run(hf_db *db, const char *sql, hf_error *err);

/* The first column of the first row of a query, as text in out ("" when there is none). */
hf_status hf_db_ask(hf_db *db, const char *sql, char *out, size_t size, hf_error *err);

/* Transactions. A commit whose answer never came is HF_UNSURE. Rolling back also drops what was
 * queued or not read. */
typedef enum hf_isolation { HF_READ_COMMITTED, HF_REPEATABLE_READ, HF_SERIALIZABLE } hf_isolation;
hf_status hf_db_begin(hf_db *db, hf_isolation isolation, bool read_only, hf_error *err);
/* The same as a text for hf_stmt_new, to be queued before the first statement of the transaction;
 * NULL: the database has no such statement, or nothing to gain by it. */
const char *hf_db_begin_text(const hf_db *db, hf_isolation isolation);
hf_status hf_db_commit(hf_db *db, hf_error *err);
hf_status hf_db_rollback(hf_db *db, hf_error *err);

/* ---- statements ---- */

/* PostgreSQL: $1, $2 ...; SQLite: ?1 ...; MySQL: $1 ... are replaced by literals, so a $ that is no
 * parameter must not stand in the text. Nothing is sent before the first use. The statement COMMIT
 * is known: when its answer never comes it is HF_UNSURE. */
hf_status hf_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err);
void hf_stmt_free(hf_stmt *stmt);

/* Parameters count from 1. Text and blobs are borrowed until hf_stmt_reset. An empty slice binds
 * null; 0 does with hf_stmt_int_or_null. */
void hf_stmt_int(hf_stmt *stmt, int at, int64_t value);
void hf_stmt_int_or_null(hf_stmt *stmt, int at, int64_t value);
void hf_stmt_text(hf_stmt *stmt, int at, hf_slice text);
void hf_stmt_blob(hf_stmt *stmt, int at, const void *bytes, size_t size);

/* Any value of any kind but a list: null is null only where the value says so, and no text is not
 * null. */
void hf_stmt_value(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value);

/* Binds a table of values (db/value.h) to the parameters `at`, at + 1 ... one a column. PostgreSQL
 * gets an array a column, to be used as unnest($1, $2 ...) or = ANY ($1), in this very spelling; a
 * list of one row becomes plain values there, which costs the server half. MySQL writes it out
 * where the text says so:
 *   $1*              the rows, "(1,x'61'),(2,x'62')", for INSERT ... VALUES
 *   $1(type, id)     a condition, "(type=x'61' AND id=x'62' OR ...)", over as many of its columns
 *                    as are named; many rows are written so that an index on those columns serves,
 *                    if few different values stand in the first one
 *   $1(+session, id) the same where many different ones do, with few rows in the table for each
 *   $1[type, id]     a table with those columns, for FROM
 *   $2               the second column of the first row: for statements that are sent only with
 *                    lists of one row (values that are bound beside a list must come after its
 *                    columns)
 * SQLite has one parameter for each value, row after row: VALUES (?,?),(?,?); without numbers, for
 * it would search a list for each. The list is borrowed until the statement has been sent. An empty
 * list is the caller's to avoid on MySQL. */
void hf_stmt_list(hf_stmt *stmt, int at, const hf_list *list);

/* Several statements in one round trip, where the database can: queue each (once at a time), send,
 * then step or run each in the order queued, to its end. When one fails, those after it were not
 * carried out and fail alike. */
void hf_stmt_queue(hf_stmt *stmt);
hf_status hf_db_send(hf_db *db, hf_error *err);

/* The next row: *row is false at the end. A statement that is not queued is sent by the first step;
 * on PostgreSQL what is queued goes before it, in the same round trip. */
hf_status hf_stmt_step(hf_stmt *stmt, bool *row, hf_error *err);

/* Runs a statement to its end, passing over its rows, and resets it. */
hf_status hf_stmt_run(hf_stmt *stmt, hf_error *err);

/* Rows the last run found (not only those that came to differ). */
int64_t hf_stmt_changed(hf_stmt *stmt);

/* SQLite, MariaDB, MySQL: the key that the database made for the row which the last run inserted;
 * 0: none. PostgreSQL has INSERT ... RETURNING, and 0 here. */
int64_t hf_stmt_made_key(hf_stmt *stmt);

/* Columns count from 0. Null reads as 0 or an empty slice. Slices live until the next step or
 * reset. Numbers are whole: bigint, int, boolean; the rest is text or bytes. */
bool hf_stmt_column_null(hf_stmt *stmt, int at);
int64_t hf_stmt_column_int(hf_stmt *stmt, int at);
/* PostgreSQL: of a double precision column. */
double hf_stmt_column_real(hf_stmt *stmt, int at);
hf_slice hf_stmt_column_text(hf_stmt *stmt, int at);
hf_slice hf_stmt_column_blob(hf_stmt *stmt, int at);

/* Ready to be bound and stepped again; rows that were not read are dropped. */
void hf_stmt_reset(hf_stmt *stmt);

#endif
