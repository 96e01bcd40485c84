/* SPDX-License-Identifier: MIT */
/* Nudging: MySQL 5.6 notices a KILL of who waits for a lock at once, and nothing is left of the nudge. MariaDB notices it anyway; there
 * the tests show that it does no harm. */
#include "own_mysql.h"

#include <db/mysql_inside.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char nudge[] = "SELECT b FROM k WHERE a = 9 FOR UPDATE";

/* Well under the second that the server takes by itself, and over what a machine with much to do may take. */
enum { AT_ONCE_MS = 500, PATIENCE_MS = 60, HANGS_MS = 20000 };

/* How long it took each time. Without a nudge all are late; on a machine that stands still now and then a few. */
typedef struct times {
    int count, late;
    int64_t worst_ms;
} times;

static void note(times *all, int64_t ms)
{
    all->count++;
    all->late += ms >= AT_ONCE_MS;
    all->worst_ms = ms > all->worst_ms ? ms : all->worst_ms;
}

static bool is_at_once(const times *all)
{
    return all->count > 0 && all->late <= 1 + all->count / 5 && all->worst_ms < HANGS_MS;
}

static hf_db *open_nudging(const own_server *at)
{
    return connect_with(at->url, &(hf_db_options){.nudge = nudge});
}

static hf_db *sit(const own_server *at)
{
    hf_db *other = open_db(at);
    run(other, "DROP TABLE IF EXISTS k; CREATE TABLE k (a INT PRIMARY KEY, b INT) ENGINE = InnoDB;"
               "INSERT INTO k VALUES (1, 0), (2, 0), (3, 0), (9, 0)");
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    return other;
}

/* How long it takes to be busy once the patience is over. */
static int64_t time_busy(hf_db *db)
{
    hf_db_patience(db, PATIENCE_MS * 1000);
    int64_t from = now_ms();
    expect(HF_BUSY, hf_db_run(db, "SELECT b FROM k WHERE a = 2 FOR UPDATE", &err), err);
    int64_t took = now_ms() - from - PATIENCE_MS;
    hf_db_patience(db, 0);
    return took;
}

static void a_kill_is_noticed_at_once(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at), *db = open_nudging(at), *plain = open_db(at);
    times all = {0};
    run(plain, "SET SESSION innodb_lock_wait_timeout = 3");
    run(db, "SET SESSION innodb_lock_wait_timeout = 3");
    int64_t without = time_busy(plain);
    for (int i = 0; i < 20; i++) {
        run(db, "BEGIN; UPDATE k SET b = b + 1 WHERE a = 1");
        note(&all, time_busy(db));
        expect_true(hf_db_in_transaction(db));
        expect(HF_OK, hf_db_commit(db, &err), err);
    }
    print_message("# %s: without %lld ms, with it %lld ms at most\n", at->name, (long long)without,
                  (long long)all.worst_ms);
    expect_true(is_at_once(&all));
    expect_true(at->mariadb || without >= 800); /* else there is no need for any of this */
    expect_text(ask(db, "SELECT b FROM k WHERE a = 1"), "20");
    hf_db_close(plain);
    hf_db_close(db);
    hf_db_close(other);
}

static void who_cancels_nudges_too(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at), *db = open_nudging(at);
    times all = {0};
    unsigned long id = id_of(db);
    for (int i = 0; i < 4; i++) {
        task waits;
        start(&waits, db, "SELECT b FROM k WHERE a = 2 FOR UPDATE");
        wait_for_state(other, id, "FOR UPDATE");
        nap_ms(100);
        int64_t from = now_ms();
        hf_db_cancel(db);
        expect_int(finish(&waits), HF_BUSY);
        note(&all, now_ms() - from);
    }
    expect_true(is_at_once(&all));
    hf_db_close(db);
    hf_db_close(other);
}

/* The row is free a moment later, and the connections end with the last one that needed them. */
static void nothing_is_left(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at);
    run(other, "SET SESSION innodb_lock_wait_timeout = 1");
    const char *count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon' AND "
                        "USER <> 'system user'";
    times all = {0};
    for (int i = 0; i < 3; i++) {
        hf_db *db = open_nudging(at);
        time_busy(db);
        int64_t from = now_ms();
        run(other, nudge); /* in its transaction, which is rolled back to here */
        note(&all, now_ms() - from);
        run(other, "ROLLBACK; BEGIN; UPDATE k SET b = 9 WHERE a = 2");
        hf_db_close(db);
    }
    expect_true(is_at_once(&all));
    const char *left = "";
    for (int i = 0; i < 2000 && strcmp(left = ask(other, count), "1") != 0; i++)
        nap_ms(10);
    expect_text(left, "1");
    hf_db_close(other);
}

/* Someone has that row after all. Our two wait for it, which is a nudge, and there is no other while they do: KILLs are sent all the
 * same, only noticed later. When he has gone all is as before. */
static void a_row_that_is_taken_does_no_harm(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at), *stranger = open_db(at), *db = open_nudging(at);
    times first = {0}, then = {0};
    run(db, "SET SESSION innodb_lock_wait_timeout = 1");
    for (int i = 0; i < 3; i++) {
        run(stranger, "BEGIN; SELECT b FROM k WHERE a = 9 FOR UPDATE");
        note(&first, time_busy(db));
        expect_true(time_busy(db) < HANGS_MS);
        expect_true(time_busy(db) < HANGS_MS);
        run(stranger, "ROLLBACK");
        time_busy(db);
        note(&then, time_busy(db));
    }
    expect_true(is_at_once(&first) && is_at_once(&then));
    hf_db_close(db);
    hf_db_close(stranger);
    hf_db_close(other);
}

static void a_statement_that_fails_does_no_harm(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at), *db = connect_with(at->url, &(hf_db_options){.nudge = "SELECT nonsense"});
    run(db, "SET SESSION innodb_lock_wait_timeout = 1");
    for (int i = 0; i < 2; i++)
        expect_true(time_busy(db) < HANGS_MS);
    expect_text(ask(db, "SELECT b FROM k WHERE a = 1"), "0");
    hf_db_close(db);
    hf_db_close(other);
}

/* The server ends the connections of the nudge, as it does with idle ones: there are others the next time. */
static void connections_that_end_are_replaced(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at), *db = open_nudging(at);
    char sql[64];
    times took = {0};
    for (int i = 0; i < 4; i++) {
        note(&took, time_busy(db));
        nap_ms(100);
        hf_stmt *all = stmt(other, "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep'");
        unsigned long ids[16], count = 0, mine = id_of(db);
        while (step(all) && count < 16)
            ids[count++] = (unsigned long)hf_stmt_column_int(all, 0);
        hf_stmt_free(all);
        for (unsigned long k = 0; k < count; k++) {
            snprintf(sql, sizeof sql, "KILL CONNECTION %lu", ids[k]);
            if (ids[k] != mine)
                hf_db_run(other, sql, NULL);
        }
        nap_ms(50);
    }
    expect_true(is_at_once(&took));
    hf_db_close(db);
    hf_db_close(other);
}

/* ---- many at once ---- */

typedef struct worker {
    pthread_t thread;
    const own_server *at;
    times all;
} worker;

static void *be_busy(void *context)
{
    worker *it = context;
    hf_error problem = {0};
    hf_db *db = NULL;
    if (hf_db_connect(&hf_db_mysql, it->at->url, &(hf_db_options){.nudge = nudge}, &db, &problem) != HF_OK)
        note(&it->all, INT64_MAX);
    for (int i = 0; db != NULL && i < 10; i++) {
        hf_db_patience(db, PATIENCE_MS * 1000);
        int64_t from = now_ms();
        if (hf_db_run(db, "SELECT b FROM k WHERE a = 2 FOR UPDATE", &problem) != HF_BUSY)
            note(&it->all, INT64_MAX);
        note(&it->all, now_ms() - from - PATIENCE_MS);
    }
    hf_db_close(db);
    return NULL;
}

static times times_of_many(const own_server *at)
{
    enum { WORKERS = 8 };
    worker workers[WORKERS];
    times all = {0};
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.at = at};
        expect_int(pthread_create(&workers[i].thread, NULL, be_busy, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        expect_int(pthread_join(workers[i].thread, NULL), 0);
        const times *more = &workers[i].all;
        all.count += more->count;
        all.late += more->late;
        all.worst_ms = more->worst_ms > all.worst_ms ? more->worst_ms : all.worst_ms;
    }
    return all;
}

static void many_are_nudged_together(void **state)
{
    const own_server *at = *state;
    hf_db *other = sit(at);
    times all = times_of_many(at);
    print_message("# %s: %lld ms at most\n", at->name, (long long)all.worst_ms);
    expect_true(is_at_once(&all));
    hf_db_close(other);
}

/* Each has a nudge of its own for the same row. */
static void processes_do_not_keep_each_other(void **state)
{
    const own_server *at = *state;
    enum { PROCESSES = 4 };
    hf_db *other = sit(at);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            worker one = {.at = at};
            be_busy(&one);
            _exit(is_at_once(&one.all) ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how = -1;
        expect_int(waitpid(children[i], &how, 0), children[i]);
        expect_int(how, 0);
    }
    hf_db_close(other);
}

int main(int argc, char **argv)
{
    static const own_test tests[] = {
        OWN_TEST(a_kill_is_noticed_at_once),
        OWN_TEST(who_cancels_nudges_too),
        OWN_TEST(nothing_is_left),
        OWN_TEST(a_row_that_is_taken_does_no_harm),
        OWN_TEST(a_statement_that_fails_does_no_harm),
        OWN_TEST(connections_that_end_are_replaced),
        OWN_TEST(many_are_nudged_together),
        OWN_TEST(processes_do_not_keep_each_other),
    };
    return own_mysql_run("mysql_nudge", tests, sizeof tests / sizeof *tests, argc, argv);
}
