/* SPDX-License-Identifier: MIT */
/* The lock and the record in one transaction of the application's own SQLite handle: when the
 * application commits, both count; when it rolls back, neither does. */
#include <holdfast/holdfast.h>
#include <sqlite3.h>
#include <stdio.h>

static bool own_transaction_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    return false;
}

/* Takes the lock, writes the record under it, and ends the transaction with `end`. False: neither
 * was done. */
static bool edit(sqlite3 *db, hf_session *session, const hf_resource *record, const char *end,
                 hf_lock *lock)
{
    hf_error err;
    if (!own_transaction_run(db, "BEGIN IMMEDIATE"))
        return false;
    if (hf_session_acquire(session, record, NULL, lock, &err) != HF_OK)
        fprintf(stderr, "%s\n", err.message);
    else if (own_transaction_run(db, "INSERT OR REPLACE INTO customer VALUES (42, 'Chen')") &&
             own_transaction_run(db, end))
        return true;
    /* a COMMIT that is refused leaves it open; some failures end it */
    if (!sqlite3_get_autocommit(db))
        own_transaction_run(db, "ROLLBACK");
    return false;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_resource record;
    hf_lock lock;
    hf_error err;
    if (sqlite3_open(argc > 1 ? argv[1] : ":memory:", &db) != SQLITE_OK)
        return fprintf(stderr, "%s\n", sqlite3_errmsg(db)), 1;
    if (!own_transaction_run(
            db, "CREATE TABLE IF NOT EXISTS customer (id INTEGER PRIMARY KEY, name TEXT)"))
        return 1;
    if (hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err) != HF_OK ||
        hf_manager_on(store, &manager, &err) != HF_OK ||
        hf_session_open(manager, &(hf_session_options){.user = "alice"}, &session, &err) != HF_OK ||
        hf_resource_parse("customer/42", &record, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;

    hf_status held = HF_NOT_HELD;
    bool done = edit(db, session, &record, "ROLLBACK", &lock);
    if (done)
        printf("after rollback: %s\n",
               hf_status_wire(hf_session_holds(session, &record, 0, NULL, &err)));
    if (done && edit(db, session, &record, "COMMIT", &lock)) {
        held = hf_session_holds(session, &record, lock.fence, NULL, &err);
        printf("after commit: %s\n", hf_status_wire(held));
    }

    if (hf_session_close(session, &err) != HF_OK)
        /* then it ends, with what it holds, at its idle bound */
        fprintf(stderr, "%s\n", err.message);
    hf_session_free(session);
    hf_manager_close(manager);
    sqlite3_close(db);
    return held == HF_OK ? 0 : 1;
}
