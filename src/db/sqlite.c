/* SPDX-License-Identifier: MIT */
/* The face over SQLite. Its errors become statuses here and nowhere else. */
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct hf_db {
    sqlite3 *handle;
    bool borrowed;
    bool failed_full, failed_io, failed_sync; /* of the last failure */
    int log_pages;
    int64_t busy_since_us, patience_us;
    unsigned jitter;
};

struct hf_stmt {
    hf_db *db;
    sqlite3_stmt *handle;
};

/* ---- errors ---- */

static hf_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
        return code == SQLITE_BUSY_SNAPSHOT ? HF_RETRY : HF_BUSY;
    case SQLITE_LOCKED:
        return HF_BUSY;
    case SQLITE_NOMEM:
        return HF_NO_MEMORY;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return HF_UNAVAILABLE;
    default:
        return HF_INTERNAL;
    }
}

const char *hf_db_path(hf_db *db)
{
    const char *path = sqlite3_db_filename(db->handle, "main");
    return path == NULL || path[0] == '\0' ? "the database" : path;
}

static hf_status say(hf_db *db, int code, hf_error *err)
{
    const char *path = hf_db_path(db);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (code == SQLITE_BUSY_SNAPSHOT)
            return hf_fail(err, HF_RETRY,
                           "Someone else wrote to %s since this transaction began; run it again.", path);
        return hf_fail(err, HF_BUSY, "Another connection is in the middle of a change of %s; try again.",
                       path);
    case SQLITE_NOMEM:
        return hf_fail_memory(err);
    case SQLITE_FULL:
        return hf_fail(err, HF_UNAVAILABLE, "The disk that holds %s is full; make room.", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is not a SQLite database, or is damaged; it was left as it is. Name another file, "
                       "or restore a backup.",
                       path);
    default:
        return hf_fail(err, status_of(code), "%s can't be used: %s (code %d).", path,
                       sqlite3_errmsg(db->handle), code);
    }
}

static hf_status fail(hf_db *db, hf_error *err)
{
    int code = sqlite3_extended_errcode(db->handle);
    int reason = sqlite3_system_errno(db->handle);
    if (code == SQLITE_IOERR_NOMEM)
        code = SQLITE_NOMEM;
    db->failed_io = (code & 0xff) == SQLITE_IOERR;
    db->failed_sync = code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
    db->failed_full = (code & 0xff) == SQLITE_FULL ||
                      (db->failed_io && !db->failed_sync && (reason == ENOSPC || reason == EDQUOT));
    return say(db, db->failed_full ? SQLITE_FULL : code, err);
}

bool hf_db_disk_full(hf_db *db)
{
    return db->failed_full;
}
bool hf_db_io_failed(hf_db *db)
{
    return db->failed_io;
}
bool hf_db_sync_failed(hf_db *db)
{
    return db->failed_sync;
}

void hf_db_patience(hf_db *db, int64_t us)
{
    db->patience_us = us;
}

/* ---- connections ---- */

/* Short sleeps of random length: SQLite's own handler sleeps longer each time, and starves whoever waits longest. */
static int wait_for_others(void *context, int times)
{
    hf_db *db = context;
    int64_t now_us = hf_seam.boot_us();
    if (times == 0)
        db->busy_since_us = now_us;
    if (now_us - db->busy_since_us >= db->patience_us)
        return 0;
    db->jitter = db->jitter * 1103515245u + 12345u;
    struct timespec pause = {0, 50000 + (long)(db->jitter >> 16) % 450000};
    nanosleep(&pause, NULL);
    return 1;
}

static int note_log(void *context, sqlite3 *handle, const char *name, int pages)
{
    (void)handle;
    (void)name;
    ((hf_db *)context)->log_pages = pages;
    return SQLITE_OK;
}

static hf_db *db_new(sqlite3 *handle)
{
    hf_db *db = hf_alloc(sizeof *db);
    if (db != NULL) {
        db->handle = handle;
        db->patience_us = HF_DB_BUSY_US;
        db->jitter = (unsigned)(uintptr_t)db ^ (unsigned)getpid() ^ (unsigned)hf_seam.boot_us();
    }
    return db;
}

/* "file:PATH?immutable=1" with what means something in a URI escaped; hf_free it. */
static char *untouched(const char *path)
{
    hf_buffer uri = {0};
    hf_buffer_print(&uri, "file:");
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '?' || *at == '#' || *at == '%')
            hf_buffer_print(&uri, "%%%02x", (unsigned char)*at);
        else
            hf_buffer_add(&uri, at, 1);
    }
    hf_buffer_print(&uri, "?immutable=1");
    return hf_buffer_take(&uri);
}

static int open_handle(hf_db *db, const char *path, unsigned flags)
{
    int mode = flags & HF_DB_READ_ONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    mode |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (!(flags & HF_DB_NO_TRACE))
        return sqlite3_open_v2(path, &db->handle, mode, hf_seam.sqlite_vfs);
    char *uri = untouched(path);
    int code = uri == NULL ? SQLITE_NOMEM
                           : sqlite3_open_v2(uri, &db->handle, mode | SQLITE_OPEN_URI, hf_seam.sqlite_vfs);
    hf_free(uri);
    return code;
}

hf_status hf_db_open(const char *path, unsigned flags, hf_db **out, hf_error *err)
{
    hf_db *db = db_new(NULL);
    if (db == NULL)
        return hf_fail_memory(err);
    int code = open_handle(db, path, flags);
    if (code != SQLITE_OK) {
        hf_status status =
            code == SQLITE_NOMEM || db->handle == NULL
                ? hf_fail_memory(err)
                : hf_fail(err, status_of(code), "%s can't be opened: %s.", path, sqlite3_errmsg(db->handle));
        hf_db_close(db);
        return status;
    }
    sqlite3_busy_handler(db->handle, wait_for_others, db);
    sqlite3_wal_hook(db->handle, note_log, db); /* takes the place of automatic checkpoints */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    *out = db;
    return HF_OK;
}

hf_status hf_db_wrap(sqlite3 *handle, hf_db **out, hf_error *err)
{
    hf_db *db = db_new(handle);
    if (db == NULL)
        return hf_fail_memory(err);
    db->borrowed = true;
    *out = db;
    return HF_OK;
}

void hf_db_close(hf_db *db)
{
    if (db == NULL)
        return;
    if (!db->borrowed)
        sqlite3_close_v2(db->handle);
    hf_free(db);
}

hf_status hf_db_run(hf_db *db, const char *sql, hf_error *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? HF_OK : fail(db, err);
}

hf_status hf_db_ask(hf_db *db, const char *sql, char *out, size_t size, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    out[0] = '\0';
    hf_status status = hf_stmt_new(db, sql, &stmt, err);
    if (status != HF_OK || stmt == NULL)
        return status;
    status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row)
        hf_slice_copy(out, size, hf_stmt_column_text(stmt, 0));
    hf_stmt_free(stmt);
    return status;
}

bool hf_db_in_transaction(hf_db *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

int hf_db_log_pages(hf_db *db)
{
    return db->log_pages;
}

hf_status hf_db_checkpoint(hf_db *db, hf_error *err)
{
    int code = sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY ? HF_OK : fail(db, err);
}

hf_status hf_db_copy(hf_db *from, hf_db *to, hf_error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->handle, "main", from->handle, "main");
    if (backup == NULL)
        return fail(to, err);
    sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup) == SQLITE_OK ? HF_OK : fail(to, err);
}

/* ---- statements ---- */

hf_status hf_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err)
{
    hf_stmt *stmt = hf_alloc(sizeof *stmt);
    if (stmt == NULL)
        return hf_fail_memory(err);
    stmt->db = db;
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt->handle, NULL) !=
        SQLITE_OK) {
        hf_free(stmt);
        return fail(db, err);
    }
    *out = stmt;
    return HF_OK;
}

void hf_stmt_free(hf_stmt *stmt)
{
    if (stmt == NULL)
        return;
    sqlite3_finalize(stmt->handle);
    hf_free(stmt);
}

void hf_stmt_int(hf_stmt *stmt, int at, int64_t value)
{
    sqlite3_bind_int64(stmt->handle, at, value);
}

void hf_stmt_int_or_null(hf_stmt *stmt, int at, int64_t value)
{
    if (value == 0)
        sqlite3_bind_null(stmt->handle, at);
    else
        sqlite3_bind_int64(stmt->handle, at, value);
}

void hf_stmt_text(hf_stmt *stmt, int at, hf_slice text)
{
    if (text.size == 0)
        sqlite3_bind_null(stmt->handle, at);
    else
        sqlite3_bind_text(stmt->handle, at, text.at, (int)text.size, SQLITE_STATIC);
}

void hf_stmt_blob(hf_stmt *stmt, int at, const void *bytes, size_t size)
{
    sqlite3_bind_blob(stmt->handle, at, bytes, (int)size, SQLITE_STATIC);
}

hf_status hf_stmt_step(hf_stmt *stmt, bool *row, hf_error *err)
{
    int code = sqlite3_step(stmt->handle);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? HF_OK : fail(stmt->db, err);
}

hf_status hf_stmt_run(hf_stmt *stmt, hf_error *err)
{
    bool row;
    hf_status status = hf_stmt_step(stmt, &row, err);
    hf_stmt_reset(stmt);
    return status;
}

int64_t hf_stmt_column_int(hf_stmt *stmt, int at)
{
    return sqlite3_column_int64(stmt->handle, at);
}

hf_slice hf_stmt_column_text(hf_stmt *stmt, int at)
{
    const char *text = (const char *)sqlite3_column_text(stmt->handle, at);
    return (hf_slice){text, text == NULL ? 0 : (size_t)sqlite3_column_bytes(stmt->handle, at)};
}

hf_slice hf_stmt_column_blob(hf_stmt *stmt, int at)
{
    const char *bytes = sqlite3_column_blob(stmt->handle, at);
    return (hf_slice){bytes, bytes == NULL ? 0 : (size_t)sqlite3_column_bytes(stmt->handle, at)};
}

void hf_stmt_reset(hf_stmt *stmt)
{
    sqlite3_reset(stmt->handle);
}
