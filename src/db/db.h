/* SPDX-License-Identifier: MIT */
/* One face over SQL databases: connections, prepared statements, typed binds and results. It begins with SQLite. Every error
 * comes as a status and a sentence. Stores and records use nothing else: no client library's header leaves this folder. */
#ifndef HF_DB_DB_H
#define HF_DB_DB_H

#include "base/text.h"

#include <holdfast/status.h>

typedef struct hf_db hf_db;
typedef struct hf_stmt hf_stmt;
struct sqlite3;

enum {
    HF_DB_READ_ONLY = 1, /* changes nothing, not even a leftover of another program */
    HF_DB_NO_TRACE = 2,  /* with it: takes no locks and leaves no log beside the file, which must have none */
};

/* How long a statement waits for another connection's transaction, unless told otherwise: then it is HF_BUSY. */
#define HF_DB_BUSY_US INT64_C(500000)

/* Opens a database file. The file must exist unless it may be created empty (not HF_DB_READ_ONLY). */
hf_status hf_db_open(const char *path, unsigned flags, hf_db **out, hf_error *err);

/* Borrows an application's own handle: nothing about it is changed, and closing leaves it open. */
hf_status hf_db_wrap(struct sqlite3 *handle, hf_db **out, hf_error *err);

/* Accepts NULL. Statements must have been freed before. */
void hf_db_close(hf_db *db);

/* Runs SQL text: several statements, no results. */
hf_status hf_db_run(hf_db *db, const char *sql, hf_error *err);

/* The first column of the first row of a query, as text in out ("" when there is none). */
hf_status hf_db_ask(hf_db *db, const char *sql, char *out, size_t size, hf_error *err);

/* The file, or "the database" when it has no name; borrowed. */
const char *hf_db_path(hf_db *db);

/* Whether a transaction is open on the connection. */
bool hf_db_in_transaction(hf_db *db);

/* How long it waits from now on; 0: not at all. */
void hf_db_patience(hf_db *db, int64_t us);

/* Of the last failure: it was for want of room on the disk; reading or writing failed; a sync failed, after which nothing the
 * operating system said about earlier writes can be believed. */
bool hf_db_disk_full(hf_db *db);
bool hf_db_io_failed(hf_db *db);
bool hf_db_sync_failed(hf_db *db);

/* Pages in the write-ahead log after the last commit of this connection. */
int hf_db_log_pages(hf_db *db);

/* Copies what the log holds into the database file without waiting for anyone. */
hf_status hf_db_checkpoint(hf_db *db, hf_error *err);

/* A consistent copy of the whole database into the open, empty database `to`. */
hf_status hf_db_copy(hf_db *from, hf_db *to, hf_error *err);

hf_status hf_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err);
void hf_stmt_free(hf_stmt *stmt);

/* Parameters count from 1. Text and blobs are borrowed until hf_stmt_reset. An empty slice binds null; 0 does with
 * hf_stmt_int_or_null. */
void hf_stmt_int(hf_stmt *stmt, int at, int64_t value);
void hf_stmt_int_or_null(hf_stmt *stmt, int at, int64_t value);
void hf_stmt_text(hf_stmt *stmt, int at, hf_slice text);
void hf_stmt_blob(hf_stmt *stmt, int at, const void *bytes, size_t size);

/* The next row: *row is false at the end. */
hf_status hf_stmt_step(hf_stmt *stmt, bool *row, hf_error *err);

/* Runs a statement without results to its end and resets it. */
hf_status hf_stmt_run(hf_stmt *stmt, hf_error *err);

/* Columns count from 0. Null reads as 0 or an empty slice. Slices live until the next step or reset. */
int64_t hf_stmt_column_int(hf_stmt *stmt, int at);
hf_slice hf_stmt_column_text(hf_stmt *stmt, int at);
hf_slice hf_stmt_column_blob(hf_stmt *stmt, int at);

/* Ready to be bound and stepped again. */
void hf_stmt_reset(hf_stmt *stmt);

#endif
