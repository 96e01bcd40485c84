/* SPDX-License-Identifier: MIT */
/* The SQLite store: locks in a file, shared by any number of processes.
 *
 *   S1  One writer: every batch that changes something is one BEGIN IMMEDIATE ... COMMIT; the time
 *       is read after BEGIN.
 *   S2  Changes that leave an event are synced before they are answered; a batch of beats alone is
 *       not.
 *   S3  Nobody checkpoints while someone may write: the reader's connection does it while the
 *       writer's holds the write lock. (SQLite before 3.51.3 can corrupt the file when a checkpoint
 *       and a write meet as the log is reset.)
 *   S4  After a failed sync nothing more is acknowledged.
 *   S5  When the disk is full, what needs room is refused and the rest goes on from the reserve.
 *   S6  What is remembered of sessions counts until anyone else has committed. */
#include "store/sqlite.h"
#include "base/error.h"
#include "base/seams.h"
#include "store/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <holdfast/sqlite.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPEN_US     5000000 /* how long opening waits for others who open */
#define FEW_COMMITS 2

/* ---- a transaction ---- */

void sqlite_begin(sql_conn *conn, bool nested, bool reads)
{
    sql_do(conn, nested ? SQLITE_DO_SAVEPOINT : reads ? SQLITE_DO_BEGIN_READ : SQLITE_DO_BEGIN);
}

void sqlite_undo(sql_conn *conn, bool nested)
{
    hf_status status = conn->status;
    hf_error *err = conn->err;
    sql_use(conn, NULL);
    if (hf_db_in_transaction(conn->db)) { /* SQLite ends it by itself on some errors */
        sql_do(conn, nested ? SQLITE_DO_SAVEPOINT_ROLLBACK : SQLITE_DO_ROLLBACK);
        if (nested)
            sql_do(conn, SQLITE_DO_SAVEPOINT_RELEASE);
    }
    conn->status = status;
    conn->err = err;
}

hf_status sqlite_conn_ready(sql_conn *conn, hf_error *err)
{
    sql_use(conn, err);
    for (int i = SQLITE_DO_BEGIN; i <= SQLITE_DO_SAVEPOINT_ROLLBACK; i++)
        sql_stmt(conn, i);
    return conn->status;
}

/* Commits, and tells a commit that failed from one of which nobody knows. */
void sqlite_commit(sqlite_store *store, sql_conn *conn, bool nested)
{
    if (conn->status != HF_OK)
        return;
    sql_do(conn, nested ? SQLITE_DO_SAVEPOINT_RELEASE : SQLITE_DO_COMMIT);
    if (conn->status == HF_OK || nested || hf_db_disk_full(conn->db) || !hf_db_io_failed(conn->db))
        return;
    store->broken = true;
    conn->status = hf_fail(conn->err, HF_UNSURE,
                           "Writing to %s failed in the middle of a commit; whether it was done "
                           "shows when the store is "
                           "opened anew. Ask again then with the same request id.",
                           store->path);
}

/* A disk that is full, among others, makes SQLite roll back all that was open; what was the
 * application's is gone too, and it must know. */
static void sqlite_undo_batch(sql_conn *conn, bool nested)
{
    char why[HF_MESSAGE_SIZE];
    sqlite_undo(conn, nested);
    if (!nested || hf_db_in_transaction(conn->db) || conn->err == NULL)
        return;
    hf_slice_copy(why, sizeof why, hf_slice_of(conn->err->message));
    hf_error_set(conn->err, conn->status,
                 "SQLite has rolled back your whole transaction; begin it again. The reason: %s",
                 why);
}

static bool sqlite_remembers(const sqlite_store *store, const sql_conn *conn)
{
    return conn == &store->writer && !store->wrapped;
}

static void sqlite_work(sqlite_store *store, sql_conn *conn, hf_batch *batch, bool no_growth)
{
    int64_t now_us = hf_store_now(&store->base, hf_seam.wall_us());
    hf_rows *rows = &conn->rows;
    if (conn->status != HF_OK)
        return;
    hf_batch_unanswer(batch);
    if (!hf_rows_reset(rows, batch->count) || !hf_rows_want(rows, batch)) {
        sql_out_of_memory(conn);
        return;
    }
    rows->no_growth = no_growth ? HF_DISK_FULL : NULL;
    if (hf_op_alone(batch->ops[0].kind)) {
        if (batch->ops[0].answer.status == HF_OK)
            sqlite_do_alone(store, conn, batch, now_us);
        return;
    }
    if (sqlite_remembers(store, conn))
        sqlite_sessions_recall(&store->sessions, conn->db, rows);
    sqlite_load(conn, rows, now_us);
    if (conn->status == HF_OK && !hf_rows_apply(rows, batch, now_us))
        sql_out_of_memory(conn);
    if (conn->status == HF_OK)
        sqlite_save(conn, rows, now_us);
}

static hf_status sqlite_transact(sqlite_store *store, sql_conn *conn, hf_batch *batch, bool reads,
                                 bool no_growth, hf_error *err)
{
    bool nested = store->wrapped && hf_db_in_transaction(conn->db);
    sql_use(conn, err);
    sqlite_begin(conn, nested, reads);
    if (conn->status != HF_OK)
        return conn->status;
    sqlite_work(store, conn, batch, no_growth);
    for (size_t i = 0; nested && i < batch->count; i++)
        batch->ops[i].answer.pending = true;
    sqlite_commit(store, conn, nested);
    if (conn->status != HF_OK)
        sqlite_undo_batch(conn, nested);
    else if (sqlite_remembers(store, conn) && !hf_op_alone(batch->ops[0].kind))
        sqlite_sessions_remember(&store->sessions, conn->db, &conn->rows);
    return conn->status;
}

/* ---- writing ---- */

/* S2. The level can only be changed outside a transaction. */
static hf_status sqlite_set_sync(sqlite_store *store, const hf_batch *batch, hf_error *err)
{
    int level = 1;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != HF_OP_BEAT && !hf_op_reads(batch->ops[i].kind))
            level = 2;
    if (store->wrapped || store->synced == level)
        return HF_OK;
    hf_status status =
        hf_db_run(store->writer.db,
                  level == 2 ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err);
    store->synced = status == HF_OK ? level : 0;
    hf_db_gather(store->writer.db, store->synced == 2);
    return status;
}

static void sqlite_lay_in_reserve(sqlite_store *store)
{
    store->reserve = store->wrapped ? 0 : sqlite_reserve(store->path, SQLITE_RESERVE_LEAST);
    store->low = !store->wrapped && store->reserve == 0;
}

static bool sqlite_found_no_room(sqlite_store *store, hf_status status)
{
    return !store->wrapped && status == HF_UNAVAILABLE && hf_db_disk_full(store->writer.db);
}

/* S5. Perhaps it is the log that takes the room; if not, the reserve stays given up, and what needs
 *     room is refused. */
static hf_status sqlite_write_batch(sqlite_store *store, hf_batch *batch, hf_error *err)
{
    sqlite_lay_in_reserve(store);
    hf_status status = sqlite_transact(store, &store->writer, batch, false, store->low, err);
    if (sqlite_found_no_room(store, status)) {
        sqlite_reserve_give_up(store->path);
        sqlite_keep_log_short(store);
        sqlite_lay_in_reserve(store);
        status = sqlite_transact(store, &store->writer, batch, false, store->low, err);
    }
    if (sqlite_found_no_room(store, status)) {
        sqlite_reserve_give_up(store->path);
        store->low = true;
        sqlite_checkpoint_now(store, true);
        status = sqlite_transact(store, &store->writer, batch, false, true, err);
    }
    return status;
}

static hf_status sqlite_execute_write(sqlite_store *store, hf_batch *batch, hf_error *err)
{
    hf_status status = sqlite_set_sync(store, batch, err);
    if (status == HF_OK)
        status = sqlite_write_batch(store, batch, err);
    store->commits += status == HF_OK;
    if (status == HF_OK)
        sqlite_checkpoint(store);
    else if (hf_db_sync_failed(store->writer.db))
        store->broken = true; /* S4 */
    return status;
}

hf_status sqlite_refuse_broken(const sqlite_store *store, hf_error *err)
{
    return hf_fail(
        err, HF_UNAVAILABLE,
        "Writing to %s has failed before; close the store and open it anew, so that it starts "
        "from what is on disk.",
        store->path);
}

/* Waiting for other threads of this process counts like waiting for other processes: half a second
 * in all, since the batch came. What the batch itself takes from now on does not count, on however
 * slow a disk. False: it is over. */
static bool sqlite_enter(sql_conn *conn, int64_t since_us)
{
    int64_t now_us = hf_seam.boot_us();
    int64_t until_us = (since_us != 0 ? since_us : now_us) + HF_DB_BUSY_US;
    struct timespec until;
    /* A step of the clock makes it busy too early, or wait a little longer. */
    clock_gettime(CLOCK_REALTIME, &until);
    if (until_us > now_us)
        until.tv_nsec += (long)(until_us - now_us) * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_mutex_timedlock(&conn->mutex, &until) != 0)
        return false;
    int64_t left_us = until_us - hf_seam.boot_us();
    hf_db_patience(conn->db, left_us > 0 ? left_us : 0);
    return true;
}

static hf_status sqlite_execute_batch(hf_store *base, hf_batch *batch, hf_error *err)
{
    sqlite_store *store = (sqlite_store *)base;
    bool reads = true;
    for (size_t i = 0; i < batch->count; i++)
        reads &= hf_op_reads(batch->ops[i].kind);
    sql_conn *conn = reads && !store->wrapped ? &store->reader : &store->writer;
    if (!sqlite_enter(conn, batch->since_us))
        return hf_fail(err, HF_BUSY, "Others are in the middle of a change of %s; try again.",
                       store->path);
    hf_status status = store->broken ? sqlite_refuse_broken(store, err)
                       : reads       ? sqlite_transact(store, conn, batch, true, false, err)
                                     : sqlite_execute_write(store, batch, err);
    pthread_mutex_unlock(&conn->mutex);
    if (batch->grouped && status == HF_UNAVAILABLE && !store->broken)
        return HF_RETRY; /* on a full disk one release may find room where many do not */
    return status;
}

static hf_status sqlite_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    hf_group_commit *together = ((sqlite_store *)base)->together;
    return together != NULL ? hf_group_commit_execute(together, base, batch, err)
                            : sqlite_execute_batch(base, batch, err);
}

/* ---- opening and closing ---- */

/* A program that was opened for a change or two is spared the syncs of a checkpoint, unless the log
 * is long. One that has worked for a while, such as a server, leaves everything in the file. */
static bool sqlite_should_leave_all_in_file(const sqlite_store *store)
{
    return store->writer.db != NULL && store->reader.db != NULL && !store->broken &&
           (store->commits > FEW_COMMITS || hf_db_log_pages(store->writer.db) > SQLITE_SHORT_LOG);
}

static void sqlite_close(hf_store *base)
{
    sqlite_store *store = (sqlite_store *)base;
    if (sqlite_should_leave_all_in_file(store))
        sqlite_checkpoint_now(store, false);
    hf_group_commit_free(store->together);
    sqlite_sessions_done(&store->sessions);
    sql_conn_done(&store->writer);
    sql_conn_done(&store->reader);
    pthread_mutex_destroy(&store->writer.mutex);
    pthread_mutex_destroy(&store->reader.mutex);
    hf_free(store);
}

static sqlite_store *sqlite_store_new(void)
{
    sqlite_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return NULL;
    hf_store_init(&store->base, &hf_store_sqlite);
    store->writer.rows.drops_free = store->reader.rows.drops_free = true;
    store->writer.rows.drops_held = store->reader.rows.drops_held = true;
    store->writer.rows.counts_beats = store->reader.rows.counts_beats = true;
    pthread_mutex_init(&store->writer.mutex, NULL);
    pthread_mutex_init(&store->reader.mutex, NULL);
    return store;
}

static hf_status sqlite_set_names(sqlite_store *store, const char *names, hf_error *err)
{
    size_t size = strlen(names);
    bool good = size > 0 && size < SQLITE_NAMES_MAX && names[0] >= 'a' && names[0] <= 'z';
    for (size_t i = 0; good && i < size; i++)
        good = (names[i] >= 'a' && names[i] <= 'z') || (names[i] >= '0' && names[i] <= '9') ||
               (names[i] == '_' && names[i + 1] != '_' && names[i + 1] != '\0');
    if (!good || strncmp(names, "sqlite", 6) == 0)
        return hf_fail(
            err, HF_INVALID,
            "A namespace is 1 to %d characters of a-z, 0-9 and single _ between them, begins with "
            "a letter, and not "
            "with sqlite.",
            SQLITE_NAMES_MAX - 1);
    memcpy(store->names, names, size + 1);
    return HF_OK;
}

/* "PATH" or "PATH?namespace=NAME". */
static hf_status sqlite_read_url(sqlite_store *store, const char *rest, hf_error *err)
{
    const char *query = strchr(rest, '?');
    size_t size = query == NULL ? strlen(rest) : (size_t)(query - rest);
    if (size == 0 || size >= sizeof store->path - 16)
        return hf_fail(err, HF_INVALID, "The URL names no file: write sqlite:PATH.");
    if (rest[0] == ':')
        return hf_fail(err, HF_INVALID,
                       "A SQLite store is a file; for locks in memory use memory:");
    /* In full, so that the reserve is found whatever the working directory becomes. */
    char folder[PATH_MAX] = "";
    if (rest[0] != '/' && getcwd(folder, sizeof folder) == NULL)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The working directory can't be told: %m. Give the file's full path.");
    if ((size_t)snprintf(store->path, sizeof store->path, "%s%s%.*s", folder,
                         rest[0] == '/' ? "" : "/", (int)size, rest) >= sizeof store->path - 16)
        return hf_fail(err, HF_INVALID, "The file's full path is too long.");
    if (query == NULL)
        return sqlite_set_names(store, "holdfast", err);
    if (strncmp(query, "?namespace=", 11) != 0)
        return hf_fail(err, HF_INVALID,
                       "A SQLite store's URL takes only ?namespace=NAME after the path.");
    return sqlite_set_names(store, query + 11, err);
}

static bool sqlite_has_log(const char *path)
{
    char log[PATH_MAX + 8];
    snprintf(log, sizeof log, "%s-wal", path);
    return access(log, F_OK) == 0;
}

static hf_status sqlite_refuse_missing(const sqlite_store *store, hf_error *err)
{
    return hf_fail(err, HF_NOT_FOUND, "There is no store of the namespace %s at %s.", store->names,
                   store->path);
}

/* A file that is someone else's, or much newer, is found out before anything is written to it. */
static hf_status sqlite_look_first(const sqlite_store *store, bool make, hf_error *err)
{
    bool exists, ours = false;
    hf_status status = sqlite_file_check(store->path, &exists, err);
    if (status != HF_OK)
        return status;
    if (!exists && !make)
        return sqlite_refuse_missing(store, err);
    if (!exists) { /* what SQLite makes later (log, shared memory) gets the same mode */
        int file = open(store->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return hf_fail(err, HF_UNAVAILABLE, "%s can't be written: %m.", store->path);
        if (file >= 0)
            close(file);
    }
    hf_db *db = NULL;
    status =
        hf_db_open(store->path,
                   HF_DB_READ_ONLY | (sqlite_has_log(store->path) ? 0 : HF_DB_NO_TRACE), &db, err);
    if (status == HF_OK)
        status = sqlite_schema_check(db, store->path, store->names, &ours, err);
    hf_db_close(db);
    return status == HF_OK && !ours && !make ? sqlite_refuse_missing(store, err) : status;
}

static hf_status sqlite_prepare(hf_db *db, const char *path, hf_error *err)
{
    char mode[32];
    hf_status status = hf_db_ask(db, "PRAGMA journal_mode = WAL", mode, sizeof mode, err);
    if (status == HF_OK && strcmp(mode, "wal") != 0)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s can't use a write-ahead log (its mode is %s); keep it on a local disk.",
                       path, mode);
    return status != HF_OK ? status
                           : hf_db_run(db,
                                       "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
                                       "PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY",
                                       err);
}

static hf_status sqlite_open_files(sqlite_store *store, bool make, hf_error *err)
{
    hf_status status = sqlite_look_first(store, make, err);
    /* perhaps someone was just making the file */
    for (int i = 0; status == HF_UNAVAILABLE && i < 3; i++) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        status = sqlite_look_first(store, make, err);
    }
    if (status != HF_OK)
        return status;
    if (faccessat(AT_FDCWD, store->path, W_OK, AT_EACCESS) != 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be written: %m.", store->path);
    sql_conn_init(&store->writer, NULL, &(sql_words){.ns = store->names}, sqlite_do_sql);
    sql_conn_init(&store->reader, NULL, &(sql_words){.ns = store->names}, sqlite_do_sql);
    status = hf_db_open(store->path, 0, &store->writer.db, err);
    if (status == HF_OK)
        status = sqlite_prepare(store->writer.db, store->path, err);
    if (status == HF_OK)
        status = sqlite_schema_install(store->writer.db, store->names, err);
    if (status == HF_OK)
        status = hf_db_open(store->path, 0, &store->reader.db, err);
    if (status == HF_OK)
        status = sqlite_prepare(store->reader.db, store->path, err);
    if (status == HF_OK)
        status = sqlite_conn_ready(&store->writer, err);
    if (status == HF_OK)
        store->page_size = sql_number(&store->writer, SQLITE_DO_PAGE_SIZE);
    if (status == HF_OK)
        store->pages = sql_number(&store->writer, SQLITE_DO_PAGES);
    status = store->writer.status != HF_OK ? store->writer.status : status;
    return status == HF_OK ? sqlite_conn_ready(&store->reader, err) : status;
}

static hf_status sqlite_try_open(const char *rest, bool make, hf_store **out, hf_error *err)
{
    sqlite_store *store = sqlite_store_new();
    if (store == NULL)
        return hf_fail_memory(err);
    hf_status status = sqlite_read_url(store, rest, err);
    if (status == HF_OK)
        status = sqlite_open_files(store, make, err);
    if (status == HF_OK)
        status = hf_group_commit_new(
            &(hf_group_commit_rule){.execute = sqlite_execute_batch, .at_once = 1, .in_turn = true},
            &store->together, err);
    if (status != HF_OK) {
        sqlite_close(&store->base);
        return status;
    }
    store->reserve = sqlite_reserve(store->path, SQLITE_RESERVE_LEAST);
    store->file_size = sqlite_file_size(store->path);
    store->log_most = hf_seam.sqlite_log_pages;
    store->synced = 2;
    hf_db_gather(store->writer.db, true);
    *out = &store->base;
    return HF_OK;
}

/* Many may open a new file at once. SQLite doesn't wait while the log is being set up or recovered,
 * so that is done here. */
static hf_status sqlite_open_patiently(const char *rest, bool make, hf_store **out, hf_error *err)
{
    int64_t until_us = hf_seam.boot_us() + OPEN_US;
    hf_status status = sqlite_try_open(rest, make, out, err);
    while (status == HF_BUSY && hf_seam.boot_us() < until_us) {
        nanosleep(&(struct timespec){0, 2000000 + (long)(hf_seam.boot_us() % 8) * 1000000}, NULL);
        status = sqlite_try_open(rest, make, out, err);
    }
    return status;
}

static hf_status sqlite_open(const char *rest, hf_store **out, hf_error *err)
{
    return sqlite_open_patiently(rest, true, out, err);
}

static hf_status sqlite_open_existing(const char *rest, hf_store **out, hf_error *err)
{
    return sqlite_open_patiently(rest, false, out, err);
}

hf_status hf_sqlite_wrap(struct sqlite3 *handle, const char *names, unsigned flags, hf_store **out,
                         hf_error *err)
{
    if (handle == NULL)
        return hf_fail(err, HF_INVALID, "No SQLite handle was given.");
    sqlite_store *store = sqlite_store_new();
    if (store == NULL)
        return hf_fail_memory(err);
    store->wrapped = true;
    memcpy(store->path, "the application's database", 27);
    hf_status status = sqlite_set_names(store, names == NULL ? "holdfast" : names, err);
    sql_conn_init(&store->writer, NULL, &(sql_words){.ns = store->names}, sqlite_do_sql);
    if (status == HF_OK)
        status = hf_db_wrap(handle, &store->writer.db, err);
    if (status == HF_OK && (flags & HF_SQLITE_INSTALL))
        status = sqlite_schema_install(store->writer.db, store->names, err);
    if (status == HF_OK && !(flags & HF_SQLITE_INSTALL))
        status = sqlite_schema_check_wrapped(store->writer.db, store->path, store->names, err);
    if (status == HF_OK)
        status = sqlite_conn_ready(&store->writer, err);
    if (status != HF_OK) {
        sqlite_close(&store->base);
        return status;
    }
    *out = &store->base;
    return HF_OK;
}

bool hf_sqlite_uncounted(void)
{
    return hf_db_sqlite_uncounted();
}

static void sqlite_grade(hf_store *base, hf_grade *out)
{
    sqlite_store *store = (sqlite_store *)base;
    if (!store->wrapped) {
        *out = (hf_grade){.level = HF_GRADE_DISK,
                          .text = "SQLite file, write-ahead log, synced before every answer",
                          .broken = store->broken};
        return;
    }
    char mode[32], sync[32];
    pthread_mutex_lock(&store->writer.mutex);
    bool known =
        hf_db_ask(store->writer.db, "PRAGMA journal_mode", mode, sizeof mode, NULL) == HF_OK &&
        hf_db_ask(store->writer.db, "PRAGMA synchronous", sync, sizeof sync, NULL) == HF_OK;
    pthread_mutex_unlock(&store->writer.mutex);
    *out = (hf_grade){.level = HF_GRADE_PROCESS};
    snprintf(out->text, sizeof out->text,
             "the application's own SQLite handle (journal_mode %s, synchronous %s): its settings "
             "and its "
             "checkpoints decide "
             "what survives",
             known ? mode : "unknown", known ? sync : "unknown");
}

const hf_store_ops hf_store_sqlite = {
    .scheme = "sqlite",
    .open = sqlite_open,
    .open_existing = sqlite_open_existing,
    .execute = sqlite_execute,
    .install = sqlite_install,
    .grade = sqlite_grade,
    .backup = sqlite_backup,
    .restore = sqlite_restore,
    .close = sqlite_close,
};
