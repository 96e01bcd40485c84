/* SPDX-License-Identifier: MIT */
/* The lock and the record in one transaction of the application's own SQLite handle: when the application commits, both count;
 * when it rolls back, neither does. */
#include <holdfast/holdfast.h>
#include <sqlite3.h>
#include <stdio.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int main(void)
{
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_resource record;
    hf_lock lock;
    hf_error err;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        run(db, "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT)"))
        return 1;
    if (hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err) != HF_OK ||
        hf_manager_on(store, &manager, &err) != HF_OK ||
        hf_session_open(manager, &(hf_session_options){.user = "alice"}, &session, &err) != HF_OK ||
        hf_resource_parse("customer/42", &record, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;

    run(db, "BEGIN IMMEDIATE");
    if (hf_session_acquire(session, &record, NULL, &lock, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    run(db, "INSERT INTO customer VALUES (42, 'Chen')"); /* read or write the record here, under the lock */
    run(db, "ROLLBACK");
    printf("after rollback: %s\n", hf_status_wire(hf_session_holds(session, &record, 0, NULL, &err)));

    run(db, "BEGIN IMMEDIATE");
    if (hf_session_acquire(session, &record, NULL, &lock, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    run(db, "COMMIT");
    hf_status held = hf_session_holds(session, &record, lock.fence, NULL, &err);
    printf("after commit: %s\n", hf_status_wire(held));

    hf_session_free(session);
    hf_manager_close(manager);
    sqlite3_close(db);
    return held == HF_OK ? 0 : 1;
}
