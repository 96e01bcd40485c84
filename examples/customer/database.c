/* SPDX-License-Identifier: MIT */
/* SQLite, as far as this application needs it. */
#include "database.h"

#include <stddef.h>

hf_status database_failed(sqlite3 *db, hf_error *err)
{
    bool busy = sqlite3_errcode(db) == SQLITE_BUSY;
    return fail(err, busy ? HF_BUSY : HF_UNAVAILABLE, "The database %s: %s.",
                busy ? "is busy; please try again" : "can't be used", sqlite3_errmsg(db));
}

hf_status database_run(sqlite3 *db, const char *sql, hf_error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? HF_OK : database_failed(db, err);
}

/* Nobody but the server copies the log into the file: in SQLite before 3.51.3 a checkpoint and a
 * write of two processes may damage it. */
hf_status database_open(const char *path, sqlite3 **out, hf_error *err)
{
    hf_status status = HF_OK;
    if (sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        status = fail(err, HF_UNAVAILABLE, "%s can't be opened: %s.", path, sqlite3_errmsg(*out));
    if (status == HF_OK) {
        sqlite3_busy_timeout(*out, 5000);
        sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        status = database_run(*out,
                              "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                              "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON",
                              err);
    }
    if (status != HF_OK) {
        sqlite3_close(*out);
        *out = NULL;
    }
    return status;
}

sqlite3_stmt *database_prepare(sqlite3 *db, const char *sql, hf_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        database_failed(db, err);
    return stmt;
}

hf_status database_finish(sqlite3 *db, sqlite3_stmt *stmt, hf_error *err)
{
    if (stmt == NULL)
        return err != NULL ? err->status : HF_UNAVAILABLE;
    hf_status status = sqlite3_step(stmt) == SQLITE_DONE ? HF_OK : database_failed(db, err);
    sqlite3_finalize(stmt);
    return status;
}

/* IMMEDIATE: two that begin at once are served one after the other, and none has to be run again.
 */
hf_status transaction_begin(sqlite3 *db, hf_error *err)
{
    return database_run(db, "BEGIN IMMEDIATE", err);
}

bool transaction_is_open(sqlite3 *db)
{
    return sqlite3_get_autocommit(db) == 0;
}

hf_status transaction_end(sqlite3 *db, hf_status status, hf_error *err)
{
    if (status == HF_OK)
        status = database_run(db, "COMMIT", err);
    if (status != HF_OK && transaction_is_open(db)) /* some failures have ended it */
        (void)database_run(db, "ROLLBACK", NULL);
    return status;
}
