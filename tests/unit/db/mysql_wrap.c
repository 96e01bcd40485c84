/* SPDX-License-Identifier: MIT */
/* An application's own MYSQL behind the face: nothing about it changes, and what happens to its
 * transaction is seen. */
#include "own_mysql.h"

#include <signal.h>
#include <unistd.h>

static hf_db *mysql_wrap_wrap(MYSQL *app)
{
    hf_db *db = NULL;
    expect(HF_OK, hf_db_mysql_wrap(app, &db, &err), err);
    return db;
}

static void mysql_wrap_accounts(hf_db *db)
{
    run(db, "DROP TABLE IF EXISTS k; CREATE TABLE k (a INT PRIMARY KEY, b INT) ENGINE = InnoDB; "
            "INSERT INTO "
            "k VALUES (1, 0), (2, 0)");
}

static void a_wrapped_connection_says_what_it_is(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0), *none = mysql_init(NULL);
    hf_db *db = NULL;
    expect(HF_INVALID, hf_db_mysql_wrap(none, &db, &err), err);
    expect_true(db == NULL);
    mysql_close(none);
    db = mysql_wrap_wrap(app);
    expect_int(hf_db_kind_of(db), at->mariadb ? HF_DB_MARIADB : HF_DB_MYSQL);
    expect_true(hf_db_alive(db) && hf_db_fresh(db) && hf_db_version(db) > 50000);
    expect_text(hf_db_path(db), "the application's database");
    hf_db_patience(db, 1);
    expect_text(ask(db, "SELECT SLEEP(0.2)"), "0");
    hf_db_close(db);
    app_run(app, "SELECT 1");
    mysql_close(app);
}

/* Several statements at once are off, and stay off. */
static void statements_go_one_by_one(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app);
    mysql_wrap_accounts(db);
    run(db, "DROP PROCEDURE IF EXISTS r; CREATE PROCEDURE r() BEGIN UPDATE k SET b = b + 10; "
            "UPDATE k SET b "
            "= b + 10; END;"
            "CALL r(); SET @x = 'a;b'");
    expect_text(ask(db, "SELECT CONCAT(SUM(b), @x) FROM k"), "40a;b");
    static const char *const texts[] = {"START TRANSACTION", "UPDATE k SET b = 1",
                                        "SELECT SUM(b) FROM k", "COMMIT"};
    hf_stmt *all[4];
    for (int i = 0; i < 4; i++)
        hf_stmt_queue(all[i] = stmt(db, texts[i]));
    expect(HF_OK, hf_db_send(db, &err), err);
    expect_true(!hf_db_in_transaction(db));
    done(all[0]);
    expect_true(!step(all[1]));
    expect_int(hf_stmt_changed(all[1]), 2);
    expect_true(step(all[2]));
    expect_int(hf_stmt_column_int(all[2], 0), 2);
    expect_true(!step(all[2]));
    done(all[3]);
    for (int i = 0; i < 4; i++)
        hf_stmt_free(all[i]);
    expect_true(mysql_query(app, "SELECT 1; SELECT 2") != 0);
    expect_int(mysql_errno(app), 1064);
    hf_db_close(db);
    mysql_close(app);
}

static void after_one_that_fails_none_is_sent(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app);
    mysql_wrap_accounts(db);
    app_run(app, "BEGIN");
    static const char *const texts[] = {"UPDATE k SET b = 1 WHERE a = 1",
                                        "UPDATE nothing SET b = 1",
                                        "UPDATE k SET b = 1 WHERE a = 2", "COMMIT"};
    hf_stmt *all[4];
    for (int i = 0; i < 4; i++)
        hf_stmt_queue(all[i] = stmt(db, texts[i]));
    expect(HF_OK, hf_db_send(db, &err), err);
    done(all[0]);
    for (int i = 1; i < 4; i++) {
        expect(HF_UNAVAILABLE, hf_stmt_run(all[i], &err), err);
        expect_contains(err.message, "nothing");
        expect_int(hf_db_failure(db), HF_FAILURE_MISSING);
    }
    expect(
        HF_UNAVAILABLE,
        hf_db_run(db, "SELECT 1; UPDATE nothing SET b = 1; UPDATE k SET b = 1 WHERE a = 2", &err),
        err);
    expect_true(hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
    expect_text(ask(db, "SELECT SUM(b) FROM k"), "1");
    for (int i = 0; i < 4; i++)
        hf_stmt_free(all[i]);
    hf_db_close(db);
    mysql_close(app);
}

static void transactions_are_the_applications(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app);
    mysql_wrap_accounts(db);
    expect_true(!hf_db_in_transaction(db));
    app_run(app, "BEGIN");
    expect_true(hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
    app_run(app, "COMMIT");
    expect_true(!hf_db_in_transaction(db));
    app_run(app, "SET autocommit = 0");
    expect_true(hf_db_in_transaction(db));
    run(db, "UPDATE k SET b = 3 WHERE a = 1");
    app_run(app, "ROLLBACK");
    expect_true(hf_db_in_transaction(db));
    expect_text(ask(db, "SELECT b FROM k WHERE a = 1"), "0");
    app_run(app, "SET autocommit = 1");
    expect_true(!hf_db_in_transaction(db));
    expect(HF_OK, hf_db_begin(db, HF_REPEATABLE_READ, true, &err), err);
    expect_true(hf_db_in_transaction(db));
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect_true(!hf_db_in_transaction(db));
    hf_db_close(db);
    mysql_close(app);
}

/* The connection counts rows that came to differ, unless the application has asked otherwise. */
static void rows_found_are_counted_whatever_the_connection_counts(void **state)
{
    const own_server *at = *state;
    static const char *const languages[] = {"en_US", "de_DE", "ru_RU", "ja_JP"};
    for (int i = 0; i < 5; i++) {
        char sql[64];
        MYSQL *app = app_open(at, i == 4 ? CLIENT_FOUND_ROWS : 0);
        hf_db *db = mysql_wrap_wrap(app);
        mysql_wrap_accounts(db);
        snprintf(sql, sizeof sql, "SET lc_messages = '%s'", languages[i % 4]);
        run(db, sql);
        hf_stmt *update = stmt(db, "UPDATE k SET b = 0 WHERE a <= $1"),
                *erase = stmt(db, "DELETE FROM k WHERE a = 1");
        for (int k = 0; k < 3; k++) {
            hf_stmt_int(update, 1, k);
            expect_true(!step(update));
            expect_int(hf_stmt_changed(update), k);
            hf_stmt_reset(update);
        }
        expect_true(!step(erase));
        expect_int(hf_stmt_changed(erase), 1);
        hf_stmt_free(update);
        hf_stmt_free(erase);
        hf_db_close(db);
        mysql_close(app);
    }
}

/* ---- what the server rolled back ---- */

/* Makes the wrapped transaction the loser of a deadlock, by a statement of ours or of the
 * application's: the other has changed more. */
static void lose(const own_server *at, hf_db *db, MYSQL *by, hf_db *other)
{
    hf_db *third = open_db(at);
    task waits;
    run(other,
        "BEGIN; UPDATE k SET b = 1 WHERE a = 2; INSERT INTO k VALUES (11, 1), (12, 1), (13, 1)");
    run(db, "UPDATE k SET b = 5 WHERE a = 1");
    unsigned long id = id_of(other);
    start(&waits, other, "UPDATE k SET b = 1 WHERE a = 1");
    wait_for_lock(third, id);
    hf_db_close(third);
    if (by != NULL) {
        expect_true(mysql_query(by, "UPDATE k SET b = 5 WHERE a = 2") != 0);
        expect_int(mysql_errno(by), 1213);
    } else {
        expect(HF_RETRY, hf_db_run(db, "UPDATE k SET b = 5 WHERE a = 2", &err), err);
        expect_int(hf_db_failure(db), HF_FAILURE_CONFLICT);
    }
    expect_int(finish(&waits), HF_OK);
    run(other, "ROLLBACK");
}

/* Nothing of ours may be carried out by itself where the application believes to be in its
 * transaction. */
static void after_a_deadlock_nothing_is_sent_until_the_application_knows(void **state)
{
    const own_server *at = *state;
    for (int i = 0; i < 4; i++) {
        bool automatic = i % 2;
        MYSQL *app = app_open(at, 0);
        hf_db *db = mysql_wrap_wrap(app), *other = open_db(at);
        mysql_wrap_accounts(db);
        app_run(app, automatic ? "BEGIN" : "SET autocommit = 0");
        lose(at, db, i < 2 ? NULL : app, other);
        expect_true(hf_db_transaction_failed(db) && hf_db_in_transaction(db) && hf_db_alive(db));
        hf_stmt *it = stmt(db, "UPDATE k SET b = 7");
        expect(HF_RETRY, hf_stmt_run(it, &err), err);
        expect_contains(err.message, "rolled back");
        expect_int(hf_db_failure(db), HF_FAILURE_CONFLICT);
        hf_stmt_queue(it);
        expect(HF_RETRY, hf_db_send(db, &err), err);
        expect(HF_RETRY, hf_stmt_run(it, &err), err);
        expect(HF_RETRY, hf_db_run(db, "ROLLBACK TO SAVEPOINT holdfast", &err), err);
        expect_true(hf_db_transaction_failed(db));
        app_run(app, "ROLLBACK");
        expect_true(!hf_db_transaction_failed(db));
        expect_int(hf_db_in_transaction(db), !automatic);
        app_run(app, "BEGIN");
        expect_true(hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
        done(it);
        app_run(app, "COMMIT");
        expect_text(ask(other, "SELECT GROUP_CONCAT(b) FROM k"), "7,7");
        hf_stmt_free(it);
        hf_db_close(other);
        hf_db_close(db);
        mysql_close(app);
    }
}

static void after_a_deadlock_the_face_can_roll_back(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app), *other = open_db(at);
    mysql_wrap_accounts(db);
    app_run(app, "BEGIN");
    lose(at, db, NULL, other);
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect_true(!hf_db_transaction_failed(db) && !hf_db_in_transaction(db));
    app_run(app, "BEGIN");
    lose(at, db, NULL, other);
    hf_stmt *it = stmt(db, "ROLLBACK");
    done(it);
    hf_stmt_free(it);
    expect_true(!hf_db_transaction_failed(db) && !hf_db_in_transaction(db));
    run(db, "UPDATE k SET b = 1");
    hf_db_close(other);
    hf_db_close(db);
    mysql_close(app);
}

/* InnoDB rolls back all of a transaction that finds no more room for its locks. Here the error
 * alone is made. */
static void a_full_table_of_locks_is_as_a_deadlock(void **state)
{
    const own_server *at = *state;
    static const char full[] =
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1206, MESSAGE_TEXT = 'no room'";
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app);
    app_run(app, "BEGIN");
    expect(HF_UNAVAILABLE, hf_db_run(db, full, &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_LIMIT);
    expect_true(hf_db_transaction_failed(db) && hf_db_alive(db));
    expect(HF_RETRY, hf_db_run(db, "SELECT 1", &err), err);
    expect_contains(err.message, "(error 1206: no room)");
    app_run(app, "ROLLBACK");
    expect_true(!hf_db_transaction_failed(db));
    /* outside a transaction nothing is lost */
    expect(HF_UNAVAILABLE, hf_db_run(db, full, &err), err);
    expect_true(!hf_db_transaction_failed(db));
    hf_db_close(db);
    mysql_close(app);
}

/* MariaDB can refuse to change what is newer than the transaction's snapshot; it too has rolled
 * back then. */
static void a_snapshot_that_is_too_old_is_as_a_deadlock(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app), *other = open_db(at);
    mysql_wrap_accounts(db);
    if (at->mariadb && ask(db, "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")[0] != '\0') {
        run(db, "SET SESSION innodb_snapshot_isolation = ON");
        app_run(app, "BEGIN");
        app_run(app, "INSERT INTO k VALUES (9, 9)");
        app_run(app, "SELECT * FROM k");
        run(other, "UPDATE k SET b = 3 WHERE a = 1");
        expect(HF_RETRY, hf_db_run(db, "UPDATE k SET b = 4 WHERE a = 1", &err), err);
        expect_int(hf_db_failure(db), HF_FAILURE_CONFLICT);
        expect_true(hf_db_transaction_failed(db));
        app_run(app, "ROLLBACK");
        expect_true(!hf_db_transaction_failed(db));
        expect_text(ask(other, "SELECT COUNT(*) FROM k"), "2");
    }
    hf_db_close(other);
    hf_db_close(db);
    mysql_close(app);
}

/* ---- what the application does ---- */

static void a_result_the_application_did_not_read_is_its_to_read(void **state)
{
    const own_server *at = *state;
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app);
    expect_int(mysql_query(app, "SELECT 1 UNION SELECT 2"), 0);
    MYSQL_RES *rows = mysql_use_result(app);
    expect_true(mysql_fetch_row(rows) != NULL);
    expect(HF_INVALID, hf_db_run(db, "SELECT 1", &err), err);
    expect_true(hf_db_alive(db));
    while (mysql_fetch_row(rows) != NULL)
        ;
    mysql_free_result(rows);
    expect_text(ask(db, "SELECT 3"), "3");
    hf_db_close(db);
    mysql_close(app);
}

static void a_lost_connection_has_no_transaction_any_more(void **state)
{
    const own_server *at = *state;
    char sql[64];
    MYSQL *app = app_open(at, 0);
    hf_db *db = mysql_wrap_wrap(app), *other = open_db(at);
    mysql_wrap_accounts(db);
    app_run(app, "BEGIN");
    snprintf(sql, sizeof sql, "KILL CONNECTION %lu", mysql_thread_id(app));
    run(other, sql);
    for (int i = 0; i < 4000 && hf_db_fresh(db); i++)
        nap_ms(10);
    expect(HF_UNAVAILABLE, hf_db_run(db, "UPDATE k SET b = 1", &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    expect_true(!hf_db_alive(db) && !hf_db_transaction_failed(db) && !hf_db_in_transaction(db));
    hf_db_close(other);
    hf_db_close(db);
    mysql_close(app);
}

int main(int argc, char **argv)
{
    static const own_test tests[] = {
        OWN_TEST(a_wrapped_connection_says_what_it_is),
        OWN_TEST(statements_go_one_by_one),
        OWN_TEST(after_one_that_fails_none_is_sent),
        OWN_TEST(transactions_are_the_applications),
        OWN_TEST(rows_found_are_counted_whatever_the_connection_counts),
        OWN_TEST(after_a_deadlock_nothing_is_sent_until_the_application_knows),
        OWN_TEST(after_a_deadlock_the_face_can_roll_back),
        OWN_TEST(a_full_table_of_locks_is_as_a_deadlock),
        OWN_TEST(a_snapshot_that_is_too_old_is_as_a_deadlock),
        OWN_TEST(a_result_the_application_did_not_read_is_its_to_read),
        OWN_TEST(a_lost_connection_has_no_transaction_any_more),
    };
    signal(SIGPIPE, SIG_DFL);
    return own_mysql_run("mysql_wrap", tests, sizeof tests / sizeof *tests, argc, argv);
}
