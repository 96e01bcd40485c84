/* SPDX-License-Identifier: MIT */
/* The SQLite store: when its log is copied into the file, and how it is kept short. */
#include "store/sqlite.h"

#define LOW_PAGES 32

void sqlite_checkpoint_now(sqlite_store *store, bool waits)
{
    sql_use(&store->writer, NULL);
    if (!waits)
        hf_db_patience(store->writer.db, 0);
    sqlite_begin(&store->writer, false, false);
    if (store->writer.status != HF_OK)
        return;
    pthread_mutex_lock(&store->reader.mutex);
    hf_status status = hf_db_checkpoint(store->reader.db, NULL);
    if (status != HF_OK && hf_db_sync_failed(store->reader.db))
        store->broken = true;
    pthread_mutex_unlock(&store->reader.mutex);
    store->file_size = sqlite_file_size(store->path);
    sqlite_undo(&store->writer, false);
}

/* The most that the database can have, in bytes: what it had when it was asked, and all that was
 * written to the log since. */
static int64_t sqlite_size_most(const sqlite_store *store, int log)
{
    int64_t more = log >= store->pages_log ? log - store->pages_log : log;
    return (store->pages + more) * store->page_size;
}

static void sqlite_ask_pages(sqlite_store *store, int log)
{
    sql_use(&store->writer, NULL);
    store->pages = sql_number(&store->writer, SQLITE_DO_PAGES);
    store->pages_log = log;
}

/* The file must never lag behind by more than half of the reserve, which makes good for it when the
 * disk fills up. SQLite parses what asks for its pages each time, so that is done when it may
 * matter. */
static bool sqlite_lags(sqlite_store *store, int log)
{
    if (sqlite_size_most(store, log) - store->file_size <= store->reserve / 2)
        return false;
    sqlite_ask_pages(store, log);
    int64_t size = store->pages * store->page_size;
    if (size - store->file_size > store->reserve / 2)
        store->file_size = sqlite_file_size(store->path); /* others copy the log too */
    if (size - store->file_size > store->reserve / 2 && !store->low &&
        store->reserve < SQLITE_RESERVE_MOST)
        store->reserve = sqlite_reserve(store->path, 2 * store->reserve);
    return size - store->file_size > store->reserve / 2;
}

/* Whoever's commit leaves a long log copies it into the file. A reader that stands in the way lets
 * it grow: then it is tried again after a quarter, not on every commit. Once the reserve has been
 * given up, the log is kept from growing at all. */
void sqlite_checkpoint(sqlite_store *store)
{
    int log = store->wrapped ? 0 : hf_db_log_pages(store->writer.db);
    if (log == 0)
        return;
    if (log < store->log_most)
        store->checkpoint_at = store->log_most;
    if (log < store->checkpoint_at && !sqlite_lags(store, log) && !(store->low && log > LOW_PAGES))
        return;
    store->checkpoint_at = log + store->log_most / 4;
    sqlite_checkpoint_now(store, false);
}

/* Where room is short, the log is not to take it: from now on it is kept short. It is cut off when
 * it begins again, so something is written. */
void sqlite_keep_log_short(sqlite_store *store)
{
    sql_conn *writer = &store->writer;
    store->log_most = SQLITE_SHORT_LOG;
    hf_db_run(writer->db, "PRAGMA journal_size_limit = 1048576", NULL);
    sqlite_checkpoint_now(store, true);
    sql_use(writer, NULL);
    sqlite_begin(writer, false, false);
    sql_do(writer, SQLITE_DO_LOG_CUT);
    sqlite_commit(store, writer, false);
    if (writer->status != HF_OK)
        sqlite_undo(writer, false);
}
