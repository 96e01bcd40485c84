/* SPDX-License-Identifier: MIT */
/* The PostgreSQL driver against a real server: statements and the flights they go in, transactions,
 * errors. */
#include "own_postgres.h"

#include <db/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>

/* ---- statements ---- */

static void a_statement_counts_what_it_changed(void **state)
{
    (void)state;
    hf_db *db = open_db();
    run(db, "CREATE TEMP TABLE t(a bigint); INSERT INTO t SELECT generate_series(1, 10)");
    hf_stmt *it = stmt(db, "UPDATE t SET a = a WHERE a <= $1");
    for (int i = 0; i < 4; i++) {
        hf_stmt_int(it, 1, i);
        expect(HF_OK, hf_stmt_run(it, &err), err);
        expect_int(hf_stmt_changed(it), i);
    }
    hf_stmt_free(it);
    hf_db_close(db);
}

static void a_statement_used_again_is_prepared_but_not_behind_a_pooler(void **state)
{
    (void)state;
    for (int pooler = 0; pooler < 2; pooler++) {
        hf_db *db = connect_with(own_postgres_url("postgres", "postgres", ""),
                                 &(hf_db_options){.pooler = pooler});
        hf_stmt *it = stmt(db, "SELECT $1 + 1");
        for (int i = 0; i < 9; i++) {
            hf_stmt_int(it, 1, i);
            expect_true(step(it));
            expect_int(hf_stmt_column_int(it, 0), i + 1);
            hf_stmt_reset(it);
        }
        expect_text(ask(db, "SELECT count(*) FROM pg_prepared_statements"), pooler ? "0" : "1");
        /* Values of another kind than it was prepared for. */
        hf_stmt_text(it, 1, SLICE("41"));
        expect(HF_UNAVAILABLE, hf_stmt_run(it, &err), err);
        expect_contains(err.message, "operator does not exist");
        hf_stmt_int(it, 1, 41);
        expect_true(step(it));
        expect_int(hf_stmt_column_int(it, 0), 42);
        hf_stmt_free(it);
        hf_db_close(db);
    }
}

static void what_was_prepared_in_vain_is_prepared_again(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *good = stmt(db, "SELECT 1"), *bad = stmt(db, "SELECT 1 / $1"),
            *late = stmt(db, "SELECT 3");
    hf_stmt *const all[] = {good, bad, late};
    for (int round = 0; round < 6; round++) {
        hf_stmt_int(bad, 1,
                    /* the second round is the first that prepares; every other one fails */
                    round % 2);
        for (int i = 0; i < 3; i++)
            hf_stmt_queue(all[i]);
        expect(HF_OK, hf_db_send(db, &err), err);
        hf_status status = round % 2 == 0 ? HF_INTERNAL : HF_OK;
        expect(HF_OK, hf_stmt_run(good, &err), err);
        expect(status, hf_stmt_run(bad, &err), err);
        expect(status, hf_stmt_run(late, &err), err);
        if (round == 1)
            /* the last: as if it had been aborted, and its name taken */
            run(db, "DEALLOCATE hf_3");
        if (round == 2) {
            expect_contains(err.message, "(22012)");
            expect_text(ask(db, "SELECT count(*) FROM pg_prepared_statements"), "2");
            hf_stmt_queue(late);
            expect(HF_OK, hf_db_send(db, &err), err);
            expect(HF_UNAVAILABLE, hf_stmt_run(late, &err), err);
            expect_contains(err.message, "pooler=transaction");
        }
    }
    for (int i = 0; i < 3; i++)
        hf_stmt_free(all[i]);
    hf_db_close(db);
}

static void an_aborted_prepare_is_done_in_the_next_flight(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *bad = stmt(db, "SELECT 1 / $1"), *late = stmt(db, "SELECT $1 + 1");
    hf_stmt_int(late, 1, 4);
    expect(HF_OK, hf_stmt_run(late, &err), err);
    for (int i = 0; i < 3; i++) {
        hf_stmt_int(bad, 1, i);
        hf_stmt_queue(bad);
        hf_stmt_queue(late);
        expect(HF_OK, hf_db_send(db, &err), err);
        expect(i == 0 ? HF_INTERNAL : HF_OK, hf_stmt_run(bad, &err), err);
        expect(i == 0 ? HF_INTERNAL : HF_OK, hf_stmt_run(late, &err), err);
    }
    expect_text(ask(db, "SELECT count(*) FROM pg_prepared_statements"), "2");
    hf_stmt_free(bad);
    hf_stmt_free(late);
    hf_db_close(db);
}

static void a_table_altered_under_a_prepared_statement_means_once_more(void **state)
{
    (void)state;
    hf_db *db = open_db();
    run(db, "CREATE TEMP TABLE altered(a int)");
    hf_stmt *it = stmt(db, "SELECT * FROM altered");
    expect(HF_OK, hf_stmt_run(it, &err), err);
    expect(HF_OK, hf_stmt_run(it, &err), err);
    run(db, "ALTER TABLE altered ADD b int");
    expect(HF_RETRY, hf_stmt_run(it, &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_CONFLICT);
    expect(HF_OK, hf_stmt_run(it, &err), err);
    hf_stmt_free(it);
    hf_db_close(db);
}

/* ---- flights ---- */

static void a_flight_carries_many_large_statements_both_ways(void **state)
{
    (void)state;
    enum { COUNT = 200, SIZE = 200000 };
    hf_db *db = open_db();
    hf_stmt *all[COUNT];
    char *text = malloc(SIZE);
    expect_true(text != NULL);
    memset(text, 'x', SIZE);
    for (int i = 0; i < COUNT; i++) {
        all[i] = stmt(db, "SELECT $1, $2, $1 FROM generate_series(1, 1)");
        hf_stmt_text(all[i], 1, (hf_slice){text, SIZE});
        hf_stmt_int(all[i], 2, i);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            hf_stmt_queue(all[i]);
        expect(HF_OK, hf_db_send(db, &err), err);
        for (int i = 0; i < COUNT; i++) {
            expect_true(step(all[i]));
            expect_int(hf_stmt_column_text(all[i], 0).size, SIZE);
            expect_int(hf_stmt_column_int(all[i], 1), i);
            expect_true(!step(all[i]));
            hf_stmt_reset(all[i]);
        }
    }
    for (int i = 0; i < COUNT; i++)
        hf_stmt_free(all[i]);
    free(text);
    hf_db_close(db);
}

static void after_an_error_the_rest_fails_alike_and_a_rollback_is_next(void **state)
{
    (void)state;
    hf_db *db = open_db();
    run(db, "DROP TABLE IF EXISTS flown; CREATE TABLE flown(a bigint PRIMARY KEY)");
    hf_stmt *all[] = {stmt(db, "BEGIN"), stmt(db, "INSERT INTO flown VALUES (1)"),
                      stmt(db, "INSERT INTO flown VALUES (1)"), stmt(db, "SELECT * FROM flown"),
                      stmt(db, "COMMIT")};
    const hf_status expected[] = {HF_OK, HF_OK, HF_RETRY, HF_RETRY, HF_RETRY};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++)
            hf_stmt_queue(all[i]);
        expect(HF_OK, hf_db_send(db, &err), err);
        for (int i = 0; i < 5; i++) {
            expect(expected[i], hf_stmt_run(all[i], &err), err);
            expect_int(hf_db_failure(db), HF_FAILURE_DUPLICATE);
        }
        expect_contains(err.message, "(23505)");
        expect_true(hf_db_in_transaction(db) && hf_db_transaction_failed(db) && hf_db_alive(db));
        expect(HF_INVALID, hf_db_ask(db, "SELECT 1", (char[9]){0}, 9, &err), err);
        expect_contains(err.message, "roll it back first");
        expect(HF_OK, hf_db_rollback(db, &err), err);
        expect_true(!hf_db_in_transaction(db));
    }
    expect_text(ask(db, "SELECT count(*) FROM flown"), "0");
    for (int i = 0; i < 5; i++)
        hf_stmt_free(all[i]);
    hf_db_close(db);
}

static void a_rollback_drops_what_was_queued_and_what_was_not_read(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *one = stmt(db, "SELECT generate_series(1, 3)"), *two = stmt(db, "SELECT 7 / 0");
    expect(HF_OK, hf_db_begin(db, HF_READ_COMMITTED, false, &err), err);
    hf_stmt_queue(one);
    expect(HF_OK, hf_db_send(db, &err), err);
    expect_true(step(one));
    hf_stmt_queue(two);
    expect(HF_OK, hf_db_rollback(db, &err), err);
    expect_true(!hf_db_in_transaction(db));
    expect(HF_OK, hf_db_send(db, &err), err);
    expect_true(step(one) && hf_stmt_column_int(one, 0) == 1);
    /* Freed while queued; queued twice; sent by the first step. */
    hf_stmt_queue(two);
    hf_stmt_queue(one);
    hf_stmt_queue(one);
    hf_stmt_free(two);
    expect_true(step(one) && hf_stmt_column_int(one, 0) == 1);
    expect(HF_OK, hf_db_send(db, &err), err);
    hf_stmt_free(one);
    hf_db_close(db);
}

static void transactions_have_the_isolation_they_were_begun_with(void **state)
{
    (void)state;
    const char *const levels[] = {"read committed", "repeatable read", "serializable"};
    hf_db *db = open_db();
    for (int i = 0; i < 6; i++) {
        expect(HF_OK, hf_db_begin(db, (hf_isolation)(i % 3), i >= 3, &err), err);
        expect_true(hf_db_in_transaction(db));
        expect_text(ask(db, "SHOW transaction_isolation"), levels[i % 3]);
        expect_text(ask(db, "SHOW transaction_read_only"), i >= 3 ? "on" : "off");
        expect(HF_OK, hf_db_commit(db, &err), err);
        expect_true(!hf_db_in_transaction(db));
    }
    hf_db_close(db);
}

static void a_commit_of_a_failed_transaction_is_no_commit(void **state)
{
    (void)state;
    hf_db *db = open_db();
    for (int i = 0; i < 2; i++) {
        run(db, "BEGIN");
        expect(HF_INTERNAL, hf_db_run(db, "SELECT 1/0", &err), err);
        expect(HF_INVALID, i == 0 ? hf_db_commit(db, &err) : hf_db_run(db, "COMMIT", &err), err);
        expect_true(!hf_db_in_transaction(db) && hf_db_alive(db));
    }
    run(db, "BEGIN; SAVEPOINT s; ROLLBACK TO s; COMMIT");
    hf_db_close(db);
}

/* ---- errors ---- */

typedef struct trouble {
    const char *sql;
    hf_status status;
    hf_failure failure;
    const char *part;
} trouble;

static const trouble troubles[] = {
    {"SELECT * FROM nowhere", HF_UNAVAILABLE, HF_FAILURE_MISSING,
     "relation \"nowhere\" does not exist (42P01)"},
    {"CREATE TABLE noschema.t(a int)", HF_UNAVAILABLE, HF_FAILURE_MISSING, "(3F000)"},
    {"SELECT nofunction()", HF_UNAVAILABLE, HF_FAILURE_MISSING, "(42883)"},
    {"SET ROLE guest; SELECT * FROM kept", HF_UNAVAILABLE, HF_FAILURE_DENIED, "(42501)"},
    {"SET TRANSACTION READ ONLY; DELETE FROM kept", HF_UNAVAILABLE, HF_FAILURE_READ_ONLY,
     "(25006)"},
    {"SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)", HF_BUSY, HF_FAILURE_BUSY, "(57014)"},
    {"INSERT INTO kept VALUES (1)", HF_RETRY, HF_FAILURE_DUPLICATE, "(23505)"},
    {"DO $$ BEGIN RAISE 'x' USING ERRCODE = '40P01'; END $$", HF_RETRY, HF_FAILURE_CONFLICT,
     "(40P01)"},
    {"DO $$ BEGIN RAISE 'x' USING ERRCODE = '40001'; END $$", HF_RETRY, HF_FAILURE_CONFLICT,
     "(40001)"},
    {"DO $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$", HF_UNAVAILABLE, HF_FAILURE_LIMIT,
     "The disk is full under"},
    {"DO $$ BEGIN RAISE 'Ends in a dot.' USING ERRCODE = 'HF001'; END $$", HF_INTERNAL,
     HF_FAILURE_OTHER, "Ends in a dot (HF001)."},
    {"nonsense", HF_INTERNAL, HF_FAILURE_OTHER, "(42601)"},
};

static void errors_become_a_status_a_failure_and_a_sentence(void **state)
{
    (void)state;
    hf_db *db = open_db();
    run(db, "DROP TABLE IF EXISTS kept; CREATE TABLE kept(a int PRIMARY KEY); INSERT INTO kept "
            "VALUES (1)");
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        run(db, "BEGIN");
        expect(troubles[i].status, hf_db_run(db, troubles[i].sql, &err), err);
        expect_int(hf_db_failure(db), troubles[i].failure);
        expect_contains(err.message, troubles[i].part);
        expect_contains(err.message, hf_db_path(db));
        expect_true(hf_db_alive(db));
        expect(HF_OK, hf_db_rollback(db, &err), err);
    }
    hf_db_close(db);
}

static void a_lock_held_by_another_is_busy_and_a_full_lock_table_says_what_to_raise(void **state)
{
    (void)state;
    hf_db *db = open_db(), *other = connect_with(own_postgres_url("postgres", "postgres", ""),
                                                 &(hf_db_options){.settings = "lock_timeout=50"});
    run(db, "DROP TABLE IF EXISTS locked; CREATE TABLE locked()");
    run(db, "BEGIN; LOCK TABLE locked");
    expect(HF_BUSY, hf_db_run(other, "SELECT * FROM locked", &err), err);
    expect(HF_BUSY, hf_db_run(other, "BEGIN; SELECT * FROM locked", &err), err);
    expect_int(hf_db_failure(other), HF_FAILURE_BUSY);
    expect(HF_OK, hf_db_rollback(other, &err), err);
    expect(HF_UNAVAILABLE,
           hf_db_run(db, "SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, 100000) n",
                     &err),
           err);
    expect_int(hf_db_failure(db), HF_FAILURE_LIMIT);
    expect_contains(err.message, "max_locks_per_transaction");
    hf_db_close(db);
    hf_db_close(other);
}

static void a_serialization_failure_at_commit_is_to_be_run_again(void **state)
{
    (void)state;
    hf_db *a = open_db(), *b = open_db();
    run(a, "DROP TABLE IF EXISTS skew; CREATE TABLE skew(a int); INSERT INTO skew VALUES (1), (2)");
    expect(HF_OK, hf_db_begin(a, HF_SERIALIZABLE, false, &err), err);
    expect(HF_OK, hf_db_begin(b, HF_SERIALIZABLE, false, &err), err);
    ask(a, "SELECT sum(a)::bigint FROM skew");
    ask(b, "SELECT sum(a)::bigint FROM skew");
    run(a, "INSERT INTO skew VALUES (3)");
    run(b, "INSERT INTO skew VALUES (3)");
    expect(HF_OK, hf_db_commit(a, &err), err);
    expect(HF_RETRY, hf_db_commit(b, &err), err);
    expect_int(hf_db_failure(b), HF_FAILURE_CONFLICT);
    expect_true(!hf_db_in_transaction(b));
    hf_db_close(a);
    hf_db_close(b);
}

/* ---- scarce memory ---- */

/* Connects, and sends a statement with a list; whatever fails in it. */
static hf_status postgres_flights_work(hf_pool *pool, const hf_list *list)
{
    hf_pooled *it = NULL;
    hf_stmt *count = NULL;
    bool row = false;
    hf_status status = hf_pool_take(pool, 0, &it, &err);
    if (status != HF_OK)
        return status;
    status = hf_stmt_new(it->db, "SELECT count(*) FROM unnest($1)", &count, &err);
    if (status == HF_OK) {
        hf_stmt_list(count, 1, list);
        status = hf_stmt_step(count, &row, &err);
    }
    if (status == HF_OK)
        expect_int(hf_stmt_column_int(count, 0), list->count);
    hf_stmt_free(count);
    hf_pool_give(pool, it);
    return status;
}

static void without_memory_nothing_is_done_and_nothing_leaks(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_list list;
    hf_list_init(&list, "i", &arena);
    for (int i = 0; i < 1000; i++)
        hf_set_int(hf_list_add(&list), i);
    const hf_db_options options = {.settings = "jit=off", .setup = "SELECT 1", .password = "none"};
    const char *url = own_postgres_url("postgres", "postgres", "");
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        hf_pool *pool = NULL;
        out_of_memory_begin(OF_LIBRARY, n, false);
        hf_status status = hf_pool_new(&hf_db_postgres, url, &options, 1, NULL, &pool, &err);
        if (status == HF_OK)
            status = postgres_flights_work(pool, &list);
        failed = out_of_memory_end();
        expect(failed ? HF_NO_MEMORY : HF_OK, status, err);
        if (pool != NULL)
            expect(HF_OK, postgres_flights_work(pool, &list), err);
        hf_pool_close(pool);
        expect_true(n < 100);
    }
    hf_arena_done(&arena);
}

static int start_server(void **state)
{
    own_postgres_start(state);
    hf_db *db = open_db();
    run(db, "CREATE ROLE guest LOGIN");
    hf_db_close(db);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_counts_what_it_changed),
        cmocka_unit_test(a_statement_used_again_is_prepared_but_not_behind_a_pooler),
        cmocka_unit_test(what_was_prepared_in_vain_is_prepared_again),
        cmocka_unit_test(an_aborted_prepare_is_done_in_the_next_flight),
        cmocka_unit_test(a_table_altered_under_a_prepared_statement_means_once_more),
        cmocka_unit_test(a_flight_carries_many_large_statements_both_ways),
        cmocka_unit_test(after_an_error_the_rest_fails_alike_and_a_rollback_is_next),
        cmocka_unit_test(a_rollback_drops_what_was_queued_and_what_was_not_read),
        cmocka_unit_test(transactions_have_the_isolation_they_were_begun_with),
        cmocka_unit_test(a_commit_of_a_failed_transaction_is_no_commit),
        cmocka_unit_test(errors_become_a_status_a_failure_and_a_sentence),
        cmocka_unit_test(a_lock_held_by_another_is_busy_and_a_full_lock_table_says_what_to_raise),
        cmocka_unit_test(a_serialization_failure_at_commit_is_to_be_run_again),
        cmocka_unit_test(without_memory_nothing_is_done_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("postgres_flights", tests, start_server, own_postgres_end);
}
