/* SPDX-License-Identifier: MIT */
/* The face over SQLite. Its errors become statuses here and nowhere else. */
#include "db/sqlite.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/driver.h"
#include "db/sqlite_log.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef struct sqlite_db {
    hf_db base;
    sqlite3 *handle;
    bool borrowed;
    bool failed_full, failed_io, failed_sync; /* of the last failure */
    int log_pages;
    int64_t patience_us; /* what is left of it */
    unsigned jitter;
} sqlite_db;

enum { BOUND_MAX = 16 };

typedef struct sqlite_stmt {
    hf_stmt base;
    sqlite3_stmt *handle;
    hf_slice bound[BOUND_MAX]; /* the text that a parameter is bound to; it is not copied */
} sqlite_stmt;

static sqlite_db *sqlite_of(hf_db *db)
{
    return (sqlite_db *)db;
}

static sqlite3_stmt *handle_of(hf_stmt *stmt)
{
    return ((sqlite_stmt *)stmt)->handle;
}

/* ---- errors ---- */

static hf_status sqlite_status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
        return code == SQLITE_BUSY_SNAPSHOT ? HF_RETRY : HF_BUSY;
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* too many are at the log at once: SQLite gives up after a while */
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

static const char *sqlite_path_of(hf_db *db)
{
    const char *path = sqlite3_db_filename(sqlite_of(db)->handle, "main");
    return path == NULL || path[0] == '\0' ? "the database" : path;
}

static hf_status sqlite_say(sqlite_db *db, int code, hf_error *err)
{
    const char *path = sqlite_path_of(&db->base);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        if (code == SQLITE_BUSY_SNAPSHOT)
            return hf_fail(err, HF_RETRY,
                           "Someone else wrote to %s since this transaction began; run it again.",
                           path);
        return hf_fail(err, HF_BUSY,
                       "Another connection is in the middle of a change of %s; try again.", path);
    case SQLITE_NOMEM:
        return hf_fail_memory(err);
    case SQLITE_FULL:
        return hf_fail(err, HF_UNAVAILABLE, "The disk that holds %s is full; make room.", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return hf_fail(
            err, HF_UNAVAILABLE,
            "%s is not a SQLite database, or is damaged; it was left as it is. Name another file, "
            "or restore a backup.",
            path);
    default:
        return hf_fail(err, sqlite_status_of(code), "%s can't be used: %s (code %d).", path,
                       sqlite3_errmsg(db->handle), code);
    }
}

static hf_failure failure_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
        return code == SQLITE_BUSY_SNAPSHOT ? HF_FAILURE_CONFLICT : HF_FAILURE_BUSY;
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return HF_FAILURE_BUSY;
    case SQLITE_CONSTRAINT:
        return code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE
                   ? HF_FAILURE_DUPLICATE
                   : HF_FAILURE_OTHER;
    case SQLITE_READONLY:
        return HF_FAILURE_READ_ONLY;
    case SQLITE_FULL:
        return HF_FAILURE_LIMIT;
    default:
        return HF_FAILURE_OTHER;
    }
}

static hf_status sqlite_fail(sqlite_db *db, hf_error *err)
{
    int code = sqlite3_extended_errcode(db->handle);
    int reason = sqlite3_system_errno(db->handle);
    if (code == SQLITE_IOERR_NOMEM)
        code = SQLITE_NOMEM;
    db->base.failure = failure_of(code);
    db->failed_io = (code & 0xff) == SQLITE_IOERR;
    db->failed_sync = code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
    bool no_room = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
    db->failed_full =
        (code & 0xff) == SQLITE_FULL || (db->failed_io && !db->failed_sync && no_room);
    return sqlite_say(db, db->failed_full ? SQLITE_FULL : code, err);
}

bool hf_db_disk_full(hf_db *db)
{
    return sqlite_of(db)->failed_full;
}
bool hf_db_io_failed(hf_db *db)
{
    return sqlite_of(db)->failed_io;
}
bool hf_db_sync_failed(hf_db *db)
{
    return sqlite_of(db)->failed_sync;
}

static void sqlite_patience(hf_db *db, int64_t us)
{
    sqlite_of(db)->patience_us = us;
}

/* ---- connections ---- */

bool hf_db_sqlite_uncounted(void)
{
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

/* Short sleeps of random length: SQLite's own handler sleeps longer each time, and starves whoever
 * waits longest. */
static int wait_for_others(void *context, int times)
{
    (void)times;
    sqlite_db *db = context;
    if (db->patience_us <= 0)
        return 0;
    int64_t since_us = hf_seam.boot_us();
    db->jitter = db->jitter * 1103515245u + 12345u;
    struct timespec pause = {0, 50000 + (long)(db->jitter >> 16) % 450000};
    nanosleep(&pause, NULL);
    db->patience_us -= hf_seam.boot_us() - since_us;
    return 1;
}

static int note_log(void *context, sqlite3 *handle, const char *name, int pages)
{
    (void)handle;
    (void)name;
    ((sqlite_db *)context)->log_pages = pages;
    return SQLITE_OK;
}

static sqlite_db *sqlite_db_new(sqlite3 *handle)
{
    sqlite_db *db = hf_alloc(sizeof *db);
    if (db != NULL) {
        db->base =
            (hf_db){&hf_db_sqlite, HF_DB_SQLITE, sqlite3_libversion_number(), HF_FAILURE_OTHER};
        db->handle = handle;
        db->patience_us = HF_DB_BUSY_US;
        db->jitter = (unsigned)(uintptr_t)db ^ (unsigned)getpid() ^ (unsigned)hf_seam.boot_us();
    }
    return db;
}

/* "file:PATH?immutable=1" with what means something in a URI escaped; hf_free it. A path from the
 * root comes after an empty host: of one that begins with two slashes the first name would be taken
 * for it. */
static char *sqlite_untouched(const char *path)
{
    hf_buffer uri = {0};
    hf_buffer_print(&uri, path[0] == '/' ? "file://" : "file:");
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '?' || *at == '#' || *at == '%')
            hf_buffer_print(&uri, "%%%02x", (unsigned char)*at);
        else
            hf_buffer_add(&uri, at, 1);
    }
    hf_buffer_print(&uri, "?immutable=1");
    return hf_buffer_take(&uri);
}

static int open_handle(sqlite_db *db, const char *path, unsigned flags)
{
    int mode =
        flags & HF_DB_READ_ONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    mode |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (!(flags & HF_DB_NO_TRACE))
        return sqlite3_open_v2(path, &db->handle, mode, hf_seam.sqlite_vfs);
    char *uri = sqlite_untouched(path);
    int code = uri == NULL
                   ? SQLITE_NOMEM
                   : sqlite3_open_v2(uri, &db->handle, mode | SQLITE_OPEN_URI, hf_seam.sqlite_vfs);
    hf_free(uri);
    return code;
}

static void sqlite_close_db(hf_db *db)
{
    if (!sqlite_of(db)->borrowed)
        sqlite3_close_v2(sqlite_of(db)->handle);
    hf_free(db);
}

/* The system's reason, where it has one: SQLite's own words don't tell it. */
static const char *why_not(sqlite3 *handle)
{
    int reason =
        sqlite3_extended_errcode(handle) == SQLITE_CANTOPEN ? sqlite3_system_errno(handle) : 0;
    return reason != 0 ? strerror(reason) : sqlite3_errmsg(handle);
}

hf_status hf_db_open(const char *path, unsigned flags, hf_db **out, hf_error *err)
{
    sqlite_db *db = sqlite_db_new(NULL);
    if (db == NULL)
        return hf_fail_memory(err);
    int code = open_handle(db, path, flags);
    if (code != SQLITE_OK) {
        hf_status status = code == SQLITE_NOMEM || db->handle == NULL
                               ? hf_fail_memory(err)
                               : hf_fail(err, sqlite_status_of(code), "%s can't be opened: %s.",
                                         path, why_not(db->handle));
        sqlite_close_db(&db->base);
        return status;
    }
    sqlite3_busy_handler(db->handle, wait_for_others, db);
    sqlite3_wal_hook(db->handle, note_log, db); /* takes the place of automatic checkpoints */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    *out = &db->base;
    return HF_OK;
}

hf_status hf_db_wrap(sqlite3 *handle, hf_db **out, hf_error *err)
{
    sqlite_db *db = sqlite_db_new(handle);
    if (db == NULL)
        return hf_fail_memory(err);
    db->borrowed = true;
    *out = &db->base;
    return HF_OK;
}

static void *sqlite_native(hf_db *db)
{
    return sqlite_of(db)->handle;
}

/* For pools: the URL is the path. */
static hf_status sqlite_connect(const char *url, const hf_db_options *options, hf_db **out,
                                hf_error *err)
{
    hf_status status = hf_db_open(url, 0, out, err);
    if (status == HF_OK && options != NULL && options->setup != NULL)
        status = hf_db_run(*out, options->setup, err);
    if (status != HF_OK && *out != NULL) {
        hf_db_close(*out);
        *out = NULL;
    }
    return status;
}

static hf_status sqlite_run(hf_db *db, const char *sql, hf_error *err)
{
    return sqlite3_exec(sqlite_of(db)->handle, sql, NULL, NULL, NULL) == SQLITE_OK
               ? HF_OK
               : sqlite_fail(sqlite_of(db), err);
}

static hf_status sqlite_rollback(hf_db *db, hf_error *err)
{
    return sqlite3_get_autocommit(sqlite_of(db)->handle) ? HF_OK : sqlite_run(db, "ROLLBACK", err);
}

static hf_status sqlite_send(hf_db *db, hf_error *err)
{
    (void)db; /* each statement runs when it is stepped */
    (void)err;
    return HF_OK;
}

static bool sqlite_alive(hf_db *db)
{
    (void)db;
    return true;
}

static bool sqlite_transaction_failed(hf_db *db)
{
    (void)db; /* SQLite ends a transaction that can't go on */
    return false;
}

static bool sqlite_in_transaction(hf_db *db)
{
    return sqlite3_get_autocommit(sqlite_of(db)->handle) == 0;
}

void hf_db_gather(hf_db *db, bool on)
{
    hf_sqlite_log_gather(sqlite_of(db)->handle, on);
}

uint32_t hf_db_data_version(hf_db *db)
{
    uint32_t version = 0;
    sqlite3_file_control(sqlite_of(db)->handle, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

int hf_db_log_pages(hf_db *db)
{
    return sqlite_of(db)->log_pages;
}

hf_status hf_db_checkpoint(hf_db *db, hf_error *err)
{
    int code = sqlite3_wal_checkpoint_v2(sqlite_of(db)->handle, "main", SQLITE_CHECKPOINT_PASSIVE,
                                         NULL, NULL);
    return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY ? HF_OK
                                                             : sqlite_fail(sqlite_of(db), err);
}

hf_status hf_db_copy(hf_db *from, hf_db *to, hf_error *err)
{
    sqlite3_backup *backup =
        sqlite3_backup_init(sqlite_of(to)->handle, "main", sqlite_of(from)->handle, "main");
    if (backup == NULL)
        return sqlite_fail(sqlite_of(to), err);
    sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup) == SQLITE_OK ? HF_OK : sqlite_fail(sqlite_of(to), err);
}

/* ---- statements ---- */

static hf_status sqlite_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err)
{
    sqlite_stmt *stmt = hf_alloc(sizeof *stmt);
    if (stmt == NULL)
        return hf_fail_memory(err);
    stmt->base.db = db;
    if (sqlite3_prepare_v3(sqlite_of(db)->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt->handle,
                           NULL) != SQLITE_OK) {
        hf_free(stmt);
        return sqlite_fail(sqlite_of(db), err);
    }
    *out = &stmt->base;
    return HF_OK;
}

static void sqlite_stmt_free(hf_stmt *stmt)
{
    sqlite3_finalize(handle_of(stmt));
    hf_free(stmt);
}

/* Whether the parameter is bound to that very text in memory: rows that are written together often
 * have the same type, session and user. In a database in UTF-8 SQLite reads the text when the
 * statement runs; the store opens no other. */
static bool sqlite_is_bound(sqlite_stmt *stmt, int at, hf_value_kind kind, const hf_value *value)
{
    bool text = !value->null && kind == HF_VALUE_TEXT && value->bytes.size > 0;
    if (at >= BOUND_MAX)
        return false;
    hf_slice *bound = &stmt->bound[at];
    if (text && bound->at == value->bytes.at && bound->size == value->bytes.size)
        return true;
    *bound = text ? value->bytes : HF_NOTHING;
    return false;
}

static void sqlite_bind(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value)
{
    if (sqlite_is_bound((sqlite_stmt *)stmt, at, kind, value))
        return;
    if (value->null)
        sqlite3_bind_null(handle_of(stmt), at);
    else if (kind == HF_VALUE_INT)
        sqlite3_bind_int64(handle_of(stmt), at, value->number);
    else if (kind == HF_VALUE_REAL)
        sqlite3_bind_double(handle_of(stmt), at, value->real);
    else if (kind != HF_VALUE_BYTES) /* a null pointer would bind null */
        sqlite3_bind_text(handle_of(stmt), at, value->bytes.size == 0 ? "" : value->bytes.at,
                          (int)value->bytes.size, SQLITE_STATIC);
    else
        sqlite3_bind_blob(handle_of(stmt), at, value->bytes.at, (int)value->bytes.size,
                          SQLITE_STATIC);
}

static void sqlite_bind_list(hf_stmt *stmt, int at, const hf_list *list)
{
    for (size_t i = 0; i < list->count * list->columns; i++)
        sqlite_bind(stmt, at + (int)i, hf_kind_of_letter(list->kinds[i % list->columns]),
                    &list->values[i]);
}

static void sqlite_queue(hf_stmt *stmt)
{
    (void)stmt;
}

static hf_status sqlite_step(hf_stmt *stmt, bool *row, hf_error *err)
{
    int code = sqlite3_step(handle_of(stmt));
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? HF_OK
                                                     : sqlite_fail(sqlite_of(stmt->db), err);
}

static int64_t sqlite_changed(hf_stmt *stmt)
{
    return sqlite3_changes64(sqlite_of(stmt->db)->handle);
}

static int64_t sqlite_made_key(hf_stmt *stmt)
{
    return sqlite3_last_insert_rowid(sqlite_of(stmt->db)->handle);
}

static bool sqlite_column_null(hf_stmt *stmt, int at)
{
    return sqlite3_column_type(handle_of(stmt), at) == SQLITE_NULL;
}

static double sqlite_column_real(hf_stmt *stmt, int at)
{
    return sqlite3_column_double(handle_of(stmt), at);
}

char hf_db_sqlite_stored(hf_stmt *stmt, int at)
{
    static const char letters[] = {[SQLITE_INTEGER] = 'i',
                                   [SQLITE_FLOAT] = 'r',
                                   [SQLITE_TEXT] = 'u',
                                   [SQLITE_BLOB] = 'b',
                                   [SQLITE_NULL] = 'n'};
    return letters[sqlite3_column_type(handle_of(stmt), at)];
}

static int64_t sqlite_column_int(hf_stmt *stmt, int at)
{
    return sqlite3_column_int64(handle_of(stmt), at);
}

static hf_slice sqlite_column_text(hf_stmt *stmt, int at)
{
    const char *text = (const char *)sqlite3_column_text(handle_of(stmt), at);
    return (hf_slice){text, text == NULL ? 0 : (size_t)sqlite3_column_bytes(handle_of(stmt), at)};
}

static hf_slice sqlite_column_blob(hf_stmt *stmt, int at)
{
    const char *bytes = sqlite3_column_blob(handle_of(stmt), at);
    return (hf_slice){bytes, bytes == NULL ? 0 : (size_t)sqlite3_column_bytes(handle_of(stmt), at)};
}

static void sqlite_reset(hf_stmt *stmt)
{
    sqlite3_reset(handle_of(stmt));
}

/* SQLite knows one level, serializable; a transaction that will write says so at once. */
static const char *const begins[] = {"BEGIN IMMEDIATE", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE",
                                     "BEGIN",           "BEGIN",           "BEGIN"};

const hf_db_driver hf_db_sqlite = {
    .connect = sqlite_connect,
    .close = sqlite_close_db,
    .native = sqlite_native,
    .path = sqlite_path_of,
    .alive = sqlite_alive,
    .fresh = sqlite_alive,
    .in_transaction = sqlite_in_transaction,
    .transaction_failed = sqlite_transaction_failed,
    .patience = sqlite_patience,
    .run = sqlite_run,
    .rollback = sqlite_rollback,
    .send = sqlite_send,
    .begin = begins,
    .stmt_new = sqlite_stmt_new,
    .stmt_free = sqlite_stmt_free,
    .bind = sqlite_bind,
    .bind_list = sqlite_bind_list,
    .queue = sqlite_queue,
    .step = sqlite_step,
    .reset = sqlite_reset,
    .changed = sqlite_changed,
    .made_key = sqlite_made_key,
    .column_null = sqlite_column_null,
    .column_int = sqlite_column_int,
    .column_real = sqlite_column_real,
    .column_text = sqlite_column_text,
    .column_blob = sqlite_column_blob,
};
