/* SPDX-License-Identifier: MIT */
/* The application's own SQLite handle: statements, and the system transaction that a business
 * transaction saves in. The locks are in the same file, so that a lock, a version and a record are
 * changed together or not at all. */
#ifndef DATABASE_H
#define DATABASE_H

#include "customer.h"

#include <sqlite3.h>

/* Opens the file, by the rules for a file that a holdfast server has open too (README.md). */
hf_status database_open(const char *path, sqlite3 **out, hf_error *err);

hf_status database_run(sqlite3 *db, const char *sql, hf_error *err);

/* A statement; values are bound by sqlite3_bind_... . NULL: err says why. */
sqlite3_stmt *database_prepare(sqlite3 *db, const char *sql, hf_error *err);

/* Runs a statement that answers no row, and finalizes it. */
hf_status database_finish(sqlite3 *db, sqlite3_stmt *stmt, hf_error *err);

/* Why the last call failed. */
hf_status database_failed(sqlite3 *db, hf_error *err);

hf_status transaction_begin(sqlite3 *db, hf_error *err);
bool transaction_is_open(sqlite3 *db);

/* Commits if the status is HF_OK, else rolls back. Answers what came of it. */
hf_status transaction_end(sqlite3 *db, hf_status status, hf_error *err);

#endif
