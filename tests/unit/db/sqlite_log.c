/* SPDX-License-Identifier: MIT */
/* Gathering the writes to the log changes how often the operating system is called, and nothing
 * else: what is committed is in the file, others see it, what fails is told, and a transaction of
 * any size comes out right. */
#include "faults/shim.h"

#include <db/sqlite_log.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct desk {
    char path[HF_URL_MAX];
    sqlite3 *db;    /* whose writes are gathered */
    sqlite3 *other; /* someone who looks, and copies the log */
} desk;

static void sqlite_log_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
}

static int64_t sqlite_log_ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    else
        check_failed(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    return number;
}

static sqlite3 *sqlite_log_open_at(const char *path)
{
    sqlite3 *db = NULL;
    expect_int(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS),
               SQLITE_OK);
    sqlite3_extended_result_codes(db, 1);
    sqlite_log_run(
        db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
    return db;
}

static desk *sit_down(bool gathered)
{
    static desk d;
    shim_reset();
    scratch_path(".db", d.path);
    d.db = sqlite_log_open_at(d.path);
    sqlite_log_run(d.db, "CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)");
    d.other = sqlite_log_open_at(d.path);
    hf_sqlite_log_gather(d.db, gathered);
    return &d;
}

static void stand_up(desk *d)
{
    expect_int(
        sqlite_log_ask(
            d->other, "SELECT count(*) FROM pragma_integrity_check() WHERE integrity_check = 'ok'"),
        1);
    expect_int(sqlite3_close(d->other), SQLITE_OK);
    expect_int(sqlite3_close(d->db), SQLITE_OK);
    shim_reset();
}

/* So many rows of a page each, in one transaction. */
static void insert(sqlite3 *db, int rows)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO row (text) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM "
             "n WHERE i "
             "< %d) "
             "SELECT hex(randomblob(1900)) FROM n",
             rows);
    sqlite_log_run(db, sql);
}

static uint64_t writes_of(desk *d, int rows)
{
    uint64_t before = shim_count().writes;
    insert(d->db, rows);
    return shim_count().writes - before;
}

/* Rows in what would be left if the program died now. */
static int64_t rows_left(desk *d)
{
    char folder[HF_URL_MAX], file[HF_URL_MAX + 256];
    sqlite3 *db = NULL;
    scratch_path(".cut", folder);
    expect_int(mkdir(folder, 0700), 0);
    expect_true(shim_cut(SHIM_KEEP_ALL, 1, folder));
    snprintf(file, sizeof file, "%s%s", folder, strrchr(d->path, '/'));
    expect_int(sqlite3_open(file, &db), SQLITE_OK);
    int64_t rows = sqlite_log_ask(db, "SELECT count(*) FROM row");
    sqlite3_close(db);
    return rows;
}

static void a_transaction_of_many_pages_takes_few_writes(void **state)
{
    (void)state;
    desk *plain = sit_down(false);
    uint64_t apart = writes_of(plain, 100);
    stand_up(plain);
    desk *gathered = sit_down(true);
    uint64_t together = writes_of(gathered, 100);
    stand_up(gathered);
    printf("# 100 rows of a page each: %llu writes, %llu when gathered\n",
           (unsigned long long)apart, (unsigned long long)together);
    expect_true(apart > 200);
    expect_true(together <= 6);
}

static void what_is_committed_is_in_the_file_and_seen_by_others(void **state)
{
    (void)state;
    desk *d = sit_down(true);
    int64_t rows = 0;
    for (int i = 0; i < 60; i++) {
        int more = i * 37 % 90 + 1;
        insert(d->db, more);
        rows += more;
        expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), rows);
        if (i % 5 == 0)
            expect_int(rows_left(d), rows);
        if (i % 7 == 0) /* the log begins again */
            expect_int(
                sqlite3_wal_checkpoint_v2(d->other, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
                0);
    }
    stand_up(d);
}

static void switched_off_every_write_goes_to_the_file_at_once(void **state)
{
    (void)state;
    desk *d = sit_down(true);
    insert(d->db, 3);
    hf_sqlite_log_gather(d->db, false);
    sqlite_log_run(d->db, "PRAGMA synchronous = NORMAL");
    for (int rows = 4; rows < 20; rows++) {
        insert(d->db, 1);
        expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), rows);
        expect_int(rows_left(d), rows);
    }
    sqlite_log_run(d->db, "PRAGMA synchronous = FULL");
    hf_sqlite_log_gather(d->db, true);
    expect_true(writes_of(d, 100) <= 6);
    stand_up(d);
}

static void a_transaction_that_does_not_fit_into_the_cache_comes_out_right(void **state)
{
    (void)state;
    desk *d = sit_down(true);
    sqlite_log_run(d->db, "PRAGMA cache_size = 10; BEGIN IMMEDIATE");
    insert(d->db, 500);
    sqlite_log_run(d->db, "UPDATE row SET text = text || id");
    expect_int(sqlite_log_ask(d->db, "SELECT count(*) FROM row WHERE text LIKE '%' || id"), 500);
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 0);
    sqlite_log_run(d->db, "COMMIT");
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row WHERE text LIKE '%' || id"), 500);
    expect_int(rows_left(d), 500);
    sqlite_log_run(d->db, "BEGIN IMMEDIATE");
    insert(d->db, 500);
    sqlite_log_run(d->db, "SAVEPOINT half; DELETE FROM row; ROLLBACK TO half");
    expect_int(sqlite_log_ask(d->db, "SELECT count(*) FROM row"), 1000);
    sqlite_log_run(d->db, "ROLLBACK");
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 500);
    insert(d->db, 1);
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 501);
    expect_int(rows_left(d), 501);
    stand_up(d);
}

static void what_was_rolled_back_is_not_written_over_what_others_commit(void **state)
{
    (void)state;
    desk *d = sit_down(true);
    sqlite_log_run(d->db, "PRAGMA cache_size = 10");
    for (int round = 0; round < 5; round++) {
        expect_int(sqlite3_wal_checkpoint_v2(d->other, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
                   0);
        sqlite_log_run(d->db, "BEGIN IMMEDIATE");
        insert(d->db, 45); /* more than the cache holds, and not a whole number of pieces */
        sqlite_log_run(d->db, "ROLLBACK");
        insert(d->other, 50);
        expect_int(sqlite_log_ask(d->db, "SELECT count(*) FROM row"), 51 * round + 50);
        insert(d->db, 1);
        expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 51 * (round + 1));
        expect_int(rows_left(d), 51 * (round + 1));
    }
    stand_up(d);
}

static int fail_insert(desk *d)
{
    int code = sqlite3_exec(d->db, "INSERT INTO row (text) VALUES (hex(randomblob(300000)))", NULL,
                            NULL, NULL);
    return code == SQLITE_OK ? code : sqlite3_extended_errcode(d->db);
}

static void a_write_that_fails_is_told_as_such_and_nothing_of_it_stays(void **state)
{
    (void)state;
    desk *d = sit_down(true);
    insert(d->db, 3);
    for (shim_failure failure = SHIM_FAIL; failure <= SHIM_FAIL_SHORT; failure++) {
        shim.failure = failure;
        shim.fail_write_at = shim_count().writes + 1;
        expect_int(fail_insert(d), SQLITE_IOERR_WRITE);
        expect_int(sqlite_log_ask(d->db, "SELECT count(*) FROM row"), 3);
        expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 3);
        expect_int(rows_left(d), 3);
    }
    shim.fail_sync_at = shim_count().syncs + 1;
    expect_int(fail_insert(d), SQLITE_IOERR_FSYNC);
    insert(d->db, 1);
    shim.capacity = 1;
    expect_int(fail_insert(d), SQLITE_FULL);
    shim.capacity = 0;
    expect_int(fail_insert(d), SQLITE_OK);
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), 5);
    stand_up(d);
}

static void without_a_log_nothing_is_gathered(void **state)
{
    (void)state;
    char path[HF_URL_MAX];
    sqlite3 *db = NULL;
    shim_reset();
    scratch_path(".db", path);
    expect_int(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS),
               SQLITE_OK);
    sqlite_log_run(db, "CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)");
    hf_sqlite_log_gather(db, true);
    insert(db, 30);
    expect_int(sqlite_log_ask(db, "SELECT count(*) FROM row"), 30);
    sqlite_log_run(db, "PRAGMA journal_mode = WAL");
    hf_sqlite_log_gather(db, true);
    insert(db, 30);
    /* the log is closed, and what stood before it goes */
    sqlite_log_run(db, "PRAGMA journal_mode = DELETE");
    insert(db, 30);
    expect_int(sqlite_log_ask(db, "SELECT count(*) FROM row"), 90);
    expect_int(sqlite3_close(db), SQLITE_OK);
    shim_reset();
}

static int64_t sqlite_log_size(const desk *d)
{
    char path[HF_URL_MAX + 8];
    struct stat file;
    snprintf(path, sizeof path, "%s-wal", d->path);
    expect_int(stat(path, &file), 0);
    return file.st_size;
}

/* G5: the file of a long log seldom grows, and what stands behind its last page is none. */
static void a_long_log_grows_by_half_a_megabyte_at_a_time(void **state)
{
    (void)state;
    enum { FRAME = 4096 + 24, LITTLE = 400, MUCH = 1300, MORE = 200 };
    desk *d = sit_down(true);
    insert(d->db, LITTLE);
    expect_true(sqlite_log_size(d) < (LITTLE + 20) * FRAME);
    insert(d->db, MUCH);
    int64_t size = sqlite_log_size(d);
    int grown = 0;
    for (int i = 1; i <= MORE; i++) {
        insert(d->db, 1);
        grown += sqlite_log_size(d) != size;
        size = sqlite_log_size(d);
        if (i % 50 == 0)
            expect_int(rows_left(d), LITTLE + MUCH + i);
    }
    printf("# a long log has grown %d times in %d commits\n", grown, MORE);
    expect_true(grown >= 1 && grown <= MORE / 20);
    expect_int(sqlite_log_ask(d->other, "SELECT count(*) FROM row"), LITTLE + MUCH + MORE);
    stand_up(d);
}

int main(void)
{
    if (!shim_register())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_of_many_pages_takes_few_writes),
        cmocka_unit_test(what_is_committed_is_in_the_file_and_seen_by_others),
        cmocka_unit_test(switched_off_every_write_goes_to_the_file_at_once),
        cmocka_unit_test(a_transaction_that_does_not_fit_into_the_cache_comes_out_right),
        cmocka_unit_test(what_was_rolled_back_is_not_written_over_what_others_commit),
        cmocka_unit_test(a_write_that_fails_is_told_as_such_and_nothing_of_it_stays),
        cmocka_unit_test(without_a_log_nothing_is_gathered),
        cmocka_unit_test(a_long_log_grows_by_half_a_megabyte_at_a_time),
    };
    return cmocka_run_group_tests_name("gathering the writes to the log", tests, NULL, NULL);
}
