/* SPDX-License-Identifier: MIT */
/* Where to close a lease: ten threads put one coin each into a wallet, in transactions that compare
 * the version they read. With the lease around the whole transaction all ten commit. With the lease
 * closed before the commit the next thread reads what is about to change, and its own commit is
 * refused. deposits [PATH]     the database of the example; else one in memory that the threads
 * share */
#include <holdfast/holdfast.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { DEPOSITS = 10, WORK_US = 3000 };

static const char *path = "file:deposits?mode=memory&cache=shared";
static hf_leases *leases;
static bool around; /* the lease is closed after the commit */
static atomic_int committed, refused;

/* What a thread does between reading and writing, and again before its commit. */
static void deposits_work(void)
{
    usleep(WORK_US);
}

static int deposits_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int value = -1;
    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* The commit of this application: one statement that compares the version. */
static bool deposits_commit(sqlite3 *db, int balance, int version)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "UPDATE wallet SET balance = %d, version = version + 1 WHERE id = 7 AND version = %d",
             balance, version);
    int code;
    while ((code = sqlite3_exec(db, sql, NULL, NULL, NULL)) == SQLITE_BUSY || code == SQLITE_LOCKED)
        usleep(100); /* another commit is under way */
    if (code != SQLITE_OK)
        return false;
    return sqlite3_changes(db) == 1;
}

static void *deposits_deposit(void *unused)
{
    sqlite3 *db = NULL;
    hf_lease lease;
    hf_error err;
    (void)unused;
    sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    if (hf_lease_try_acquire(leases, "wallet:7", 10000000, 10000000, &lease, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        sqlite3_close(db);
        return NULL;
    }
    int balance = deposits_number(db, "SELECT balance FROM wallet WHERE id = 7");
    int version = deposits_number(db, "SELECT version FROM wallet WHERE id = 7");
    deposits_work();
    if (!around)
        hf_lease_close(&lease); /* too early */
    deposits_work();
    atomic_fetch_add(deposits_commit(db, balance + 1, version) ? &committed : &refused, 1);
    hf_lease_close(&lease); /* after the commit; harmless when it was closed before */
    sqlite3_close(db);
    return NULL;
}

static void deposits_play(sqlite3 *db, const char *what)
{
    pthread_t threads[DEPOSITS];
    committed = refused = 0;
    sqlite3_exec(db, "DELETE FROM wallet; INSERT INTO wallet VALUES (7, 0, 1)", NULL, NULL, NULL);
    for (int i = 0; i < DEPOSITS; i++)
        pthread_create(&threads[i], NULL, deposits_deposit, NULL);
    for (int i = 0; i < DEPOSITS; i++)
        pthread_join(threads[i], NULL);
    printf("%s: %d of %d committed, %d refused, the wallet holds %d\n", what, committed, DEPOSITS,
           refused, deposits_number(db, "SELECT balance FROM wallet WHERE id = 7"));
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    hf_error err;
    path = argc > 1 ? argv[1] : path;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(
            db,
            "CREATE TABLE IF NOT EXISTS wallet (id INTEGER PRIMARY KEY, balance INT, version INT)",
            NULL, NULL, NULL) != SQLITE_OK)
        return fprintf(stderr, "%s\n", sqlite3_errmsg(db)), 1;
    if (hf_leases_open("memory:", NULL, &leases, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    around = false;
    deposits_play(db, "closed before the commit");
    bool wrong_costs = refused > 0;
    around = true;
    deposits_play(db, "closed after the commit ");
    hf_leases_close(leases);
    sqlite3_close(db);
    return wrong_costs && committed == DEPOSITS && refused == 0 ? 0 : 1;
}
