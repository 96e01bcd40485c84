/* SPDX-License-Identifier: MIT */
/* Optimistic: nobody holds anything while they work. Two people read a record, both save it, and
 * the slower one is told who was faster. Version and record are saved in one transaction of the
 * application's own SQLite handle, so no update is ever lost. */
#include <holdfast/holdfast.h>
#include <sqlite3.h>
#include <stdio.h>

static bool examples_optimistic_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    return false;
}

/* Saves the record, if it is still at the version that was read (0: it was not there). */
static bool examples_optimistic_save(sqlite3 *db, hf_manager *manager, const char *user,
                                     int64_t version, const char *sql)
{
    hf_save customer = {{"customer", "42"}, .version = version, .absent = version == 0};
    hf_version now;
    hf_error err;
    if (!examples_optimistic_run(db, "BEGIN IMMEDIATE"))
        return false;
    if (hf_manager_save(manager, &customer, &(hf_save_options){.user = user}, &now, &err) != HF_OK)
        printf("%s: %s\n", user, err.message); /* if that is HF_STALE, `now` says what it is */
    else if (examples_optimistic_run(db, sql) && examples_optimistic_run(db, "COMMIT"))
        return printf("%s: saved, version %lld\n", user, (long long)now.number), true;
    if (!sqlite3_get_autocommit(db)) /* a COMMIT that is refused leaves it open */
        examples_optimistic_run(db, "ROLLBACK");
    return false;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    hf_manager *manager = NULL;
    hf_version read = {0}; /* never saved: 0 */
    hf_error err;
    if (sqlite3_open(argc > 1 ? argv[1] : ":memory:", &db) != SQLITE_OK ||
        !examples_optimistic_run(
            db, "CREATE TABLE IF NOT EXISTS customer (id INTEGER PRIMARY KEY, name TEXT)"))
        return fprintf(stderr, "%s\n", sqlite3_errmsg(db)), 1;
    if (hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err) != HF_OK ||
        hf_manager_on(store, &manager, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    hf_status status = hf_manager_version(manager, &(hf_resource){"customer", "42"}, &read, &err);
    bool alice = (status == HF_OK || status == HF_NOT_FOUND) &&
                 examples_optimistic_save(db, manager, "alice", read.number,
                                          "INSERT OR REPLACE INTO customer VALUES (42, 'Chen')");
    bool bob = examples_optimistic_save(db, manager, "bob", read.number,
                                        "INSERT OR REPLACE INTO customer VALUES (42, 'Smith')");
    hf_manager_close(manager);
    sqlite3_close(db);
    return alice && !bob ? 0 : 1;
}
