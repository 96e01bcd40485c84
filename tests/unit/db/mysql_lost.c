/* SPDX-License-Identifier: MIT */
/* The MySQL driver when something goes wrong: what errors mean, connections that are lost (in a
 * COMMIT too), a server that stands still. */
#include "own_mysql.h"

#include <signal.h>
#include <unistd.h>

/* ---- errors ---- */

static void errors_mean_something(void **state)
{
    const own_server *at = *state;
    static const struct {
        const char *sql;
        hf_status status;
        hf_failure failure;
        const char *part;
    } cases[] = {
        {"INSERT INTO k VALUES (1)", HF_RETRY, HF_FAILURE_DUPLICATE, "1062"},
        {"SELECT * FROM nothing", HF_UNAVAILABLE, HF_FAILURE_MISSING, "nothing"},
        {"CALL nothing()", HF_UNAVAILABLE, HF_FAILURE_MISSING, "nothing"},
        {"USE nothing", HF_UNAVAILABLE, HF_FAILURE_MISSING, "1049"},
        {"SELEC 1", HF_INTERNAL, HF_FAILURE_OTHER, "1064"},
        {"SIGNAL SQLSTATE '40001'", HF_RETRY, HF_FAILURE_CONFLICT, "1644"},
        {"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'policy/1 is being edited.'", HF_INTERNAL,
         HF_FAILURE_OTHER, "policy/1 is being edited (error 1644)."},
        {"UPDATE k SET a = 2", HF_BUSY, HF_FAILURE_BUSY, "try again"},
    };
    hf_db *db = open_db(at), *other = open_db(at);
    run(db,
        "DROP TABLE IF EXISTS k; CREATE TABLE k (a INT PRIMARY KEY) ENGINE = InnoDB; INSERT INTO k "
        "VALUES (1), (7);"
        "SET SESSION innodb_lock_wait_timeout = 1");
    run(other, "BEGIN; SELECT a FROM k WHERE a = 7 FOR UPDATE");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(cases[i].status, hf_db_run(db, cases[i].sql, &err), err);
        expect_int(hf_db_failure(db), cases[i].failure);
        expect_contains(err.message, cases[i].part);
        expect_true(hf_db_alive(db));
    }
    hf_db_close(other);
    run(db, "CREATE TABLE IF NOT EXISTS t (a INT); CREATE USER reader@localhost; GRANT SELECT ON "
            "test.t TO "
            "reader@localhost");
    char url[512];
    snprintf(url, sizeof url, "mysql://reader@/test?socket=%s", at->socket);
    hf_db *reader = connect_with(url, NULL);
    expect(HF_UNAVAILABLE, hf_db_run(reader, "INSERT INTO t (a) VALUES (1)", &err), err);
    expect_int(hf_db_failure(reader), HF_FAILURE_DENIED);
    expect(HF_UNAVAILABLE, hf_db_run(reader, "CREATE DATABASE mine", &err), err);
    expect_int(hf_db_failure(reader), HF_FAILURE_DENIED);
    hf_db_close(reader);
    run(db, "GRANT ALL ON test.* TO reader@localhost");
    reader = connect_with(url, NULL);
    run(db, "SET GLOBAL read_only = 1");
    expect(HF_UNAVAILABLE, hf_db_run(reader, "INSERT INTO t (a) VALUES (1)", &err), err);
    expect_int(hf_db_failure(reader), HF_FAILURE_READ_ONLY);
    hf_db_close(reader);
    expect(HF_UNAVAILABLE, hf_db_connect(&hf_db_mysql, url, NULL, &reader, &err), err);
    expect_contains(err.message, "read_only is on");
    run(db, "SET GLOBAL read_only = 0; DROP USER reader@localhost");
    hf_db_close(db);
}

static void too_many_connections_are_a_limit_in_mysql_lost(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    char url[512];
    run(db, "CREATE USER one@localhost WITH MAX_USER_CONNECTIONS 1; GRANT SELECT ON test.* TO "
            "one@localhost");
    snprintf(url, sizeof url, "mysql://one@/test?socket=%s", at->socket);
    hf_db *first = connect_with(url, NULL);
    hf_db *second = NULL;
    expect(HF_UNAVAILABLE, hf_db_connect(&hf_db_mysql, url, NULL, &second, &err), err);
    expect_contains(err.message, "max_user_connections");
    hf_db_close(first);
    run(db, "DROP USER one@localhost");
    hf_db_close(db);
}

static void mysql_lost_accounts(hf_db *db)
{
    run(db, "DROP TABLE IF EXISTS k; CREATE TABLE k (a INT PRIMARY KEY, b INT) ENGINE = InnoDB; "
            "INSERT INTO "
            "k VALUES (1, 0), (2, 0)");
}

static void kill_it(hf_db *by, const char *what, unsigned long id)
{
    char sql[64];
    snprintf(sql, sizeof sql, "KILL %s %lu", what, id);
    run(by, sql);
}

static void a_deadlock_is_to_be_run_again(void **state)
{
    const own_server *at = *state;
    task waits;
    hf_db *a = open_db(at), *b = open_db(at), *c = open_db(at);
    mysql_lost_accounts(a);
    run(a, "BEGIN; UPDATE k SET b = 1 WHERE a = 1");
    run(b, "BEGIN; UPDATE k SET b = 2 WHERE a = 2");
    unsigned long id = id_of(b);
    start(&waits, b, "UPDATE k SET b = 2 WHERE a = 1");
    wait_for_lock(c, id);
    hf_status mine = hf_db_run(a, "UPDATE k SET b = 1 WHERE a = 2", &err);
    finish(&waits);
    expect_true((mine == HF_RETRY) != (waits.status == HF_RETRY) &&
                (mine == HF_OK) != (waits.status == HF_OK));
    hf_db *loser = mine == HF_RETRY ? a : b, *winner = loser == a ? b : a;
    expect_int(hf_db_failure(loser), HF_FAILURE_CONFLICT);
    expect_true(hf_db_alive(loser) && !hf_db_transaction_failed(loser));
    expect(HF_OK, hf_db_rollback(loser, &err), err);
    expect(HF_OK, hf_db_commit(winner, &err), err);
    run(loser, "BEGIN; UPDATE k SET b = 3; COMMIT");
    hf_db_close(a);
    hf_db_close(b);
    hf_db_close(c);
}

/* ---- lost ---- */

static void expect_lost(hf_db *db)
{
    expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    expect_true(!hf_db_alive(db) && !hf_db_fresh(db) && !hf_db_in_transaction(db));
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect(HF_UNAVAILABLE, hf_db_run(db, "SELECT 1", &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    hf_stmt *it = stmt(db, "SELECT 1");
    expect(HF_UNAVAILABLE, hf_stmt_run(it, &err), err);
    hf_stmt_queue(it);
    expect(HF_UNAVAILABLE, hf_db_send(db, &err), err);
    expect(HF_UNAVAILABLE, hf_stmt_run(it, &err), err);
    hf_stmt_free(it);
}

/* Closed by the server while it was idle: what is sent does not arrive, and a COMMIT is not in
 * doubt. */
static void an_idle_connection_that_was_closed_is_lost(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    mysql_lost_accounts(db);
    unsigned long id = id_of(db);
    expect_true(hf_db_fresh(db));
    kill_it(other, "CONNECTION", id);
    for (int i = 0; i < 4000 && hf_db_fresh(db); i++)
        nap_ms(10);
    expect_true(!hf_db_fresh(db) && hf_db_alive(db));
    expect(HF_UNAVAILABLE, hf_db_commit(db, &err), err);
    expect_contains(err.message, at->socket);
    expect_lost(db);
    hf_db_close(db);
    hf_db_close(other);
}

static void a_connection_killed_in_a_statement_is_lost_and_its_work_undone(void **state)
{
    const own_server *at = *state;
    task waits;
    hf_db *db = open_db(at), *other = open_db(at);
    mysql_lost_accounts(db);
    run(other, "BEGIN; SELECT * FROM k WHERE a = 2 FOR UPDATE");
    run(db, "BEGIN; UPDATE k SET b = 5 WHERE a = 1");
    unsigned long id = id_of(db);
    start(&waits, db, "UPDATE k SET b = 5 WHERE a = 2");
    wait_for_lock(other, id);
    kill_it(other, "CONNECTION", id);
    expect_int(finish(&waits), HF_UNAVAILABLE);
    expect_lost(db);
    hf_db_close(db);
    run(other, "ROLLBACK");
    for (int i = 0; i < 4000 && strcmp(ask(other, "SELECT SUM(b) FROM k"), "0") != 0; i++)
        nap_ms(10);
    expect_text(ask(other, "SELECT SUM(b) FROM k"), "0");
    hf_db_close(other);
}

/* P12. A global read lock holds the COMMIT up. */
static void a_commit_that_is_never_answered_is_unsure(void **state)
{
    const own_server *at = *state;
    static const char *const kills[] = {"CONNECTION", "QUERY"};
    for (int i = 0; i < 4; i++) {
        task waits;
        hf_db *db = open_db(at), *other = open_db(at);
        mysql_lost_accounts(db);
        unsigned long id = id_of(db);
        run(db, "BEGIN; UPDATE k SET b = 5");
        run(other, "FLUSH TABLES WITH READ LOCK");
        start(&waits, db, i < 2 ? "COMMIT" : "SELECT 1; /* and */ commit; SELECT 2");
        wait_for_state(other, id, "Waiting for");
        nap_ms(50);
        kill_it(other, kills[i % 2], id);
        expect_int(finish(&waits), HF_UNSURE);
        expect_contains(waits.err.message, "not known");
        if (i % 2 == 0)
            expect_lost(db);
        else
            expect_true(hf_db_alive(db) && waits.failure == HF_FAILURE_BUSY);
        run(other, "UNLOCK TABLES");
        hf_db_close(db);
        hf_db_close(other);
    }
}

/* The whole flight had been sent: what was not answered may have been done, the COMMIT at its end
 * too. */
static void a_flight_lost_before_its_commit_is_unsure(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    mysql_lost_accounts(db);
    static const char *const texts[] = {"START TRANSACTION", "UPDATE k SET b = 7",
                                        "SELECT SLEEP(8)", "COMMIT", "SELECT 1"};
    char sql[64];
    snprintf(sql, sizeof sql, "DO SLEEP(1.5); KILL CONNECTION %lu", id_of(db));
    hf_stmt *all[5];
    task kills;
    for (int i = 0; i < 5; i++)
        hf_stmt_queue(all[i] = stmt(db, texts[i]));
    start(&kills, other, sql);
    expect(HF_OK, hf_db_send(db, &err), err);
    expect_int(finish(&kills), HF_OK);
    done(all[0]);
    done(all[1]);
    for (int i = 2; i < 5; i++) {
        expect(HF_UNSURE, hf_stmt_run(all[i], &err), err);
        expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    }
    for (int i = 0; i < 5; i++)
        hf_stmt_free(all[i]);
    expect_lost(db);
    hf_db_close(db);
    hf_db_close(other);
}

/* A statement before the COMMIT failed: the server has carried out nothing after it, that is known.
 * */
static void a_flight_that_fails_before_its_commit_is_not_unsure(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    mysql_lost_accounts(db);
    expect(HF_UNAVAILABLE,
           hf_db_run(db, "BEGIN; UPDATE k SET b = 7; SELECT * FROM nothing; COMMIT", &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_MISSING);
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect_text(ask(db, "SELECT SUM(b) FROM k"), "0");
    hf_db_close(db);
}

/* ---- a server that stands still ---- */

static void a_server_that_stands_still_is_waited_for_in_bounds(void **state)
{
    const own_server *at = *state;
    hf_db_options options = {.timeout_us = 1200000}; /* 2 seconds */
    hf_db *db = connect_with(at->url, &options), *writer = connect_with(at->tcp, &options),
          *none = NULL;
    mysql_lost_accounts(db);
    run(writer, "BEGIN; UPDATE k SET b = 1");
    hf_db_patience(db, 300000);
    expect_int(kill(at->pid, SIGSTOP), 0);
    nap_ms(100); /* each of its threads stops when it next runs */
    int64_t from = now_ms();
    hf_status status = hf_db_run(db, "SELECT 1", &err);
    int64_t took = now_ms() - from;
    from = now_ms();
    hf_error unsure = {0};
    hf_status commit = hf_db_commit(writer, &unsure);
    int64_t commit_took = now_ms() - from;
    from = now_ms();
    hf_status connect = hf_db_connect(&hf_db_mysql, at->url, &options, &none, NULL);
    int64_t connect_took = now_ms() - from;
    expect_int(kill(at->pid, SIGCONT), 0);
    expect_int(status, HF_UNAVAILABLE);
    expect_true(took >= 1200 && took < 9000);
    expect_int(commit, HF_UNSURE);
    expect_true(commit_took >= 1200 && commit_took < 8000);
    expect_int(connect, HF_UNAVAILABLE);
    expect_true(none == NULL && connect_took < 9000);
    expect_lost(db);
    expect_lost(writer);
    hf_db_close(db);
    hf_db_close(writer);
}

/* More than the server allows at once: it hangs up, and the sentence says where to look. */
static void more_than_the_server_takes_is_named(void **state)
{
    const own_server *at = *state;
    enum { SIZE = 5 << 20 };
    hf_db *db = open_db(at);
    run(db, "SET GLOBAL max_allowed_packet = 4194304");
    hf_db_close(db);
    db = open_db(at);
    char *bytes = calloc(1, SIZE);
    hf_stmt *it = stmt(db, "SELECT LENGTH($1)");
    hf_stmt_blob(it, 1, bytes, SIZE);
    expect(HF_UNAVAILABLE, hf_stmt_run(it, &err), err);
    expect_contains(err.message, "max_allowed_packet");
    expect_true(!hf_db_alive(db));
    hf_stmt_free(it);
    hf_db_close(db);
    free(bytes);
}

int main(int argc, char **argv)
{
    static const own_test tests[] = {
        OWN_TEST(errors_mean_something),
        OWN_TEST(too_many_connections_are_a_limit_in_mysql_lost),
        OWN_TEST(a_deadlock_is_to_be_run_again),
        OWN_TEST(an_idle_connection_that_was_closed_is_lost),
        OWN_TEST(a_connection_killed_in_a_statement_is_lost_and_its_work_undone),
        OWN_TEST(a_commit_that_is_never_answered_is_unsure),
        OWN_TEST(a_flight_lost_before_its_commit_is_unsure),
        OWN_TEST(a_flight_that_fails_before_its_commit_is_not_unsure),
        OWN_TEST(a_server_that_stands_still_is_waited_for_in_bounds),
        OWN_TEST(more_than_the_server_takes_is_named),
    };
    signal(SIGPIPE, SIG_DFL);
    return own_mysql_run("mysql_lost", tests, sizeof tests / sizeof *tests, argc, argv);
}
