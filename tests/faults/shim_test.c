/* SPDX-License-Identifier: MIT */
/* The power-loss shim on trial, with plain SQLite and no holdfast: what SQLite promises must hold
 * on it at every cut, and what SQLite does not promise must be seen to go wrong. */
#include "faults/shim.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct trial {
    const char *settings; /* pragmas of the writer */
    bool lies;            /* from the first row on */
    char path[HF_URL_MAX];
    int committed;
    int started; /* rows begun: the last may be there or not */
    size_t cuts, lost, corrupt, extra;
    unsigned every; /* cut at every so many events */
    unsigned seed;
} trial;

static void shim_must(int rc, sqlite3 *db)
{
    if (rc != SQLITE_OK)
        check_failed(__FILE__, __LINE__, "sqlite: %s", sqlite3_errmsg(db));
}

static int ask_number(sqlite3 *db, const char *sql, char *text, size_t text_size)
{
    sqlite3_stmt *statement = NULL;
    int number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int(statement, 0);
        const unsigned char *value = sqlite3_column_text(statement, 0);
        snprintf(text, text_size, "%s", value ? (const char *)value : "");
    }
    sqlite3_finalize(statement);
    return number;
}

/* Opens what a cut has left and counts what is missing. */
static void shim_look_at(trial *t, const char *folder)
{
    char path[HF_URL_MAX + 256], text[256];
    const char *name = strrchr(t->path, '/');
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s%s", folder, name);
    shim_must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), db);
    ask_number(db, "PRAGMA synchronous=OFF", text, sizeof text); /* only to look */
    ask_number(db, "PRAGMA integrity_check", text, sizeof text);
    bool good = strcmp(text, "ok") == 0;
    int rows = good ? ask_number(db, "SELECT count(*) FROM row", text, sizeof text) : -1;
    t->corrupt += !good;
    t->lost += good && rows < t->committed;
    t->extra += good && rows > t->started;
    sqlite3_close(db);
}

static void cut_here(void *context, shim_event event, const char *path)
{
    trial *t = context;
    (void)event, (void)path;
    if (t->committed == 0 || shim_count().events % t->every != 0)
        return;
    for (int loss = 0; loss < SHIM_LOSSES; loss++) {
        char folder[HF_URL_MAX], file[HF_URL_MAX + 256];
        scratch_path(".cut", folder);
        expect_int(mkdir(folder, 0700), 0);
        expect_true(shim_cut(loss, t->seed++, folder));
        shim_look_at(t, folder);
        t->cuts++;
        for (int i = 0; i < 3; i++) {
            static const char *const endings[] = {"", "-wal", "-shm"};
            snprintf(file, sizeof file, "%s%s%s", folder, strrchr(t->path, '/'), endings[i]);
            unlink(file);
        }
        rmdir(folder);
    }
}

static void insert_row(trial *t, sqlite3 *db)
{
    t->started++;
    shim_must(
        sqlite3_exec(db, "INSERT INTO row(text) VALUES (hex(randomblob(600)))", NULL, NULL, NULL),
        db);
    t->committed++;
    if (t->committed == 1)
        shim.lies = t->lies;
}

static void write_rows(trial *t, int count)
{
    sqlite3 *db = NULL;
    shim_reset();
    scratch_path(".db", t->path);
    shim_must(sqlite3_open_v2(t->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS),
              db);
    shim_must(sqlite3_exec(db, t->settings, NULL, NULL, NULL), db);
    shim_must(sqlite3_exec(db, "CREATE TABLE row(id INTEGER PRIMARY KEY, text)", NULL, NULL, NULL),
              db);
    shim.on_event = cut_here;
    shim.context = t;
    for (int i = 0; i < count; i++) {
        insert_row(t, db);
        if (i % 20 == 19)
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    sqlite3_close(db); /* a last checkpoint, and the log is removed */
    shim_reset();
    printf("# %s%s: %zu cuts, %zu lost something, %zu corrupt\n", t->settings,
           t->lies ? " and a disk that lies" : "", t->cuts, t->lost, t->corrupt);
    expect_true(t->cuts > 100);
    expect_int(t->extra, 0);
}

static void a_synced_commit_survives_every_cut(void **state)
{
    (void)state;
    trial wal = {.settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", .every = 3};
    write_rows(&wal, 90);
    expect_int(wal.lost + wal.corrupt, 0);
    trial journal = {.settings = "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA",
                     .every = 5};
    write_rows(&journal, 60);
    expect_int(journal.lost + journal.corrupt, 0);
}

static void an_unsynced_commit_is_seen_to_be_lost_but_nothing_is_torn(void **state)
{
    (void)state;
    trial t = {.settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", .every = 4};
    write_rows(&t, 90);
    expect_int(t.corrupt, 0);
    expect_true(t.lost > 10);
}

static void a_disk_that_lies_is_seen_to_lose_commits(void **state)
{
    (void)state;
    trial t = {
        .settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", .every = 4, .lies = true};
    write_rows(&t, 90);
    expect_true(t.lost > 10);
}

static void writes_without_any_sync_are_seen_to_tear_the_file(void **state)
{
    (void)state;
    trial t = {.settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF", .every = 3};
    write_rows(&t, 90);
    expect_true(t.lost + t.corrupt > 10);
    expect_true(t.corrupt > 0);
}

static void a_failing_write_or_sync_and_a_full_disk_are_reported(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    char path[HF_URL_MAX];
    shim_reset();
    scratch_path(".db", path);
    shim_must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS), db);
    shim_must(
        sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE row(text)",
                     NULL, NULL, NULL),
        db);
    shim.fail_sync_at = shim_count().syncs + 1;
    expect_int(sqlite3_exec(db, "INSERT INTO row VALUES (1)", NULL, NULL, NULL), SQLITE_IOERR);
    expect_int(sqlite3_extended_errcode(db), SQLITE_IOERR_FSYNC);
    shim.failure = SHIM_FAIL_SHORT;
    shim.fail_write_at = shim_count().writes + 2;
    expect_int(sqlite3_exec(db, "INSERT INTO row VALUES (1)", NULL, NULL, NULL), SQLITE_IOERR);
    expect_int(sqlite3_extended_errcode(db), SQLITE_IOERR_WRITE);
    expect_int(shim_count().failed, 2);
    shim_must(sqlite3_exec(db, "INSERT INTO row VALUES (2)", NULL, NULL, NULL), db);
    shim.capacity = 20000;
    expect_int(sqlite3_exec(db, "INSERT INTO row VALUES (randomblob(30000))", NULL, NULL, NULL),
               SQLITE_FULL);
    shim.capacity = 200000;
    shim_must(sqlite3_exec(db, "INSERT INTO row VALUES (randomblob(30000))", NULL, NULL, NULL), db);
    sqlite3_close(db);
    shim_reset();
}

int main(void)
{
    if (!shim_register())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_synced_commit_survives_every_cut),
        cmocka_unit_test(an_unsynced_commit_is_seen_to_be_lost_but_nothing_is_torn),
        cmocka_unit_test(a_disk_that_lies_is_seen_to_lose_commits),
        cmocka_unit_test(writes_without_any_sync_are_seen_to_tear_the_file),
        cmocka_unit_test(a_failing_write_or_sync_and_a_full_disk_are_reported),
    };
    return cmocka_run_group_tests_name("the power-loss shim", tests, NULL, NULL);
}
