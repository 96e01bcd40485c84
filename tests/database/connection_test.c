/* SPDX-License-Identifier: MIT */
/* What is particular to an application's connection of one engine: libpq's modes, MariaDB's and
 * MySQL's autocommit and statements; connections that are lost, and deadlocks. */
#include "database/shop.h"

#include <libpq-fe.h>
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

/* ---- PostgreSQL ---- */

static void a_blocking_connection_stays_blocking_and_the_other_way_round(shop *s)
{
    PGconn *conn = app_handle(s->app);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        expect_int(PQsetnonblocking(conn, nonblocking), 0);
        must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
        must(HF_LOCKED, s->store, ACQUIRE, BY(s->bob), ON("policy", "1"));
        expect_int(PQisnonblocking(conn), nonblocking);
        expect_int(PQpipelineStatus(conn), PQ_PIPELINE_OFF);
    }
    PQsetnonblocking(conn, 0);
}

static void a_connection_in_pipeline_mode_is_refused_and_stays_in_it(shop *s)
{
    PGconn *conn = app_handle(s->app);
    expect_int(PQenterPipelineMode(conn), 1);
    said refused = must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(refused.whole);
    expect_contains(refused.message, "pipeline");
    expect_int(PQpipelineStatus(conn), PQ_PIPELINE_ON);
    expect_int(PQexitPipelineMode(conn), 1);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
}

static void a_connection_with_a_statement_in_flight_is_refused(shop *s)
{
    PGconn *conn = app_handle(s->app);
    expect_int(PQsendQuery(conn, "SELECT 41 + 1"), 1);
    said refused = must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_contains(refused.message, "results");
    PGresult *result = PQgetResult(conn);
    expect_text(PQgetvalue(result, 0, 0), "42");
    PQclear(result);
    expect_true(PQgetResult(conn) == NULL);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
}

/* What frameworks and poolers send between two users of a connection. */
static void a_connection_that_was_reset_works_on(shop *s)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
            must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "1"));
        }
        app_do(s->app, "DISCARD ALL");
    }
}

/* The search path is the application's business. */
static void the_search_path_and_other_names_do_not_matter(shop *s)
{
    app_do(s->app, "SET search_path = nowhere");
    app_do(s->app, "SET standard_conforming_strings = off");
    app_do(s->app, "SET bytea_output = escape");
    app_do(s->app, "SET extra_float_digits = 0");
    app_do(s->app, "SET DateStyle = German");
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "it's \\ \" one"));
    must(HF_LOCKED, s->store, ACQUIRE, BY(s->bob), ON("policy", "it's \\ \" one"));
    app_begin(s->app, s->level);
    must(HF_OK, s->store, BEAT, BY(s->alice));
    must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "it's \\ \" one"));
    expect_true(app_commit(s->app));
}

/* ---- MariaDB and MySQL ---- */

static void with_autocommit_off_a_batch_joins_and_it_stays_off(shop *s)
{
    app_do(s->app, "SET autocommit = 0");
    said granted = must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(granted.pending);
    expect_int(holders(s->plain, "1"), 0);
    app_do(s->app, "ROLLBACK");
    expect_int(holders(s->plain, "1"), 0);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_do(s->app, "INSERT INTO {app} VALUES (1, 'alice')");
    expect_true(app_commit(s->app));
    expect_int(holders(s->plain, "1"), 1);
    expect_int(app_number(s->app, "SELECT @@autocommit"), 0);
    app_do(s->app, "COMMIT");
    app_do(s->app, "SET autocommit = 1");
    expect_true(!must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "1")).pending);
    expect_int(holders(s->plain, "1"), 0);
}

static void several_statements_at_once_stay_forbidden_or_allowed(shop *s)
{
    MYSQL *conn = app_handle(s->app);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(!app_try(s->app, "SELECT 1; SELECT 2"));
    expect_int(mysql_set_server_option(conn, MYSQL_OPTION_MULTI_STATEMENTS_ON), 0);
    must(HF_OK, s->store, RELEASE, BY(s->alice), ON("policy", "1"));
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(app_try(s->app, "SELECT 1; SELECT 2"));
    expect_true(app_commit(s->app));
    expect_int(mysql_set_server_option(conn, MYSQL_OPTION_MULTI_STATEMENTS_OFF), 0);
}

/* What modes of SQL and sets of characters an application has chosen changes nothing in what a name
 * is. */
static void modes_and_character_sets_do_not_matter(shop *s)
{
    static const char *const modes[] = {
        "''", "'ANSI_QUOTES'", "'NO_BACKSLASH_ESCAPES'",
        "'NO_AUTO_VALUE_ON_ZERO,PIPES_AS_CONCAT,STRICT_ALL_TABLES'"};
    static const char *const charsets[] = {"latin1", "utf8", "utf8mb4", "binary"};
    for (size_t i = 0; i < 4; i++) {
        app_do(s->app, "SET sql_mode = %s", modes[i]);
        app_do(s->app, "SET NAMES %s", charsets[i]);
        app_begin(s->app, s->level);
        must(HF_OK, s->store, ACQUIRE, BY(s->alice),
             ON("policy", "it's \\ \" Ünï \xf0\x9f\x94\x92"));
        expect_true(app_commit(s->app));
        said refused = must(HF_LOCKED, s->plain, ACQUIRE, BY(s->bob),
                            ON("policy", "it's \\ \" Ünï \xf0\x9f\x94\x92"));
        expect_text(refused.lock.resource.id, "it's \\ \" Ünï \xf0\x9f\x94\x92");
        must(HF_OK, s->store, RELEASE, BY(s->alice),
             ON("policy", "it's \\ \" Ünï \xf0\x9f\x94\x92"));
    }
}

/* The time is UTC whatever the connection's zone is. */
static void the_time_zone_does_not_matter(shop *s)
{
    app_do(s->app,
           s->engine == ON_POSTGRES ? "SET TIME ZONE 'Asia/Tokyo'" : "SET time_zone = '+09:00'");
    said there = must(HF_OK, s->store, BEAT, BY(s->alice)),
         here = must(HF_OK, s->plain, BEAT, BY(s->alice));
    int64_t apart_us = here.session.expires_us - there.session.expires_us;
    expect_true(apart_us >= 0 && apart_us < MINUTE);
}

/* ---- connections that are lost ---- */

static void a_lost_connection_is_told_and_nothing_was_granted(shop *s)
{
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_cut(s->app);
    said lost = must(HF_UNAVAILABLE, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    expect_true(lost.whole && lost.took_us < 5 * SECOND); /* not the timeout, 10 s */
    expect_contains(lost.message, "lost");
    for (int i = 0; i < 2; i++) {
        lost = must(HF_UNAVAILABLE, s->store, WHO, ON("policy", "1"));
        expect_true(lost.whole);
        expect_contains(lost.message, "lost");
    }
    expect_int(holders(s->plain, "1"), 0);
    said free = {.status = HF_BUSY}; /* until the server has noticed */
    for (int64_t from_us = now_us(); free.status == HF_BUSY && now_us() - from_us < 20 * SECOND;)
        free = ASK(s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
    expect_status(HF_OK, free.status, free.message);
}

static void a_connection_that_the_server_ends_is_told(shop *s)
{
    int64_t id = app_number(s->app, s->engine == ON_POSTGRES ? "SELECT pg_backend_pid()"
                                                             : "SELECT connection_id()");
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_do(s->other, s->engine == ON_POSTGRES ? "SELECT pg_terminate_backend(%lld)" : "KILL %lld",
           (long long)id);
    for (int64_t from_us = now_us();
         app_number(s->other,
                    s->engine == ON_POSTGRES
                        ? "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld"
                        : "SELECT count(*) FROM information_schema.processlist WHERE id = %lld",
                    (long long)id) > 0 &&
         now_us() - from_us < 20 * SECOND;)
        rest_ms(5);
    said lost = must(HF_UNAVAILABLE, s->store, ACQUIRE, BY(s->alice), ON("policy", "2"));
    expect_true(lost.whole && lost.message[0] != '\0');
    expect_int(holders(s->plain, "1"), 0);
}

/* ---- deadlocks ---- */

/* The first so many that put a lock into the table fail so: on PostgreSQL by that SQLSTATE, on
 * MySQL by that number. */
static void victims(shop *s, const char *state, unsigned number, int count)
{
    char sql[512];
    if (s->engine == ON_POSTGRES) {
        meddle(s, "CREATE SEQUENCE {shop_turn}", "DROP SEQUENCE {shop_turn}");
        snprintf(sql, sizeof sql,
                 "CREATE FUNCTION {shop_victim}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN "
                 "IF nextval(''{shop_turn}'') <= %d THEN RAISE EXCEPTION ''victim'' USING ERRCODE "
                 "= ''%s''; "
                 "END IF; "
                 "RETURN NEW; END'",
                 count, state);
        meddle(s, sql, "DROP FUNCTION {shop_victim}()");
        meddle(s,
               "CREATE TRIGGER shop_victim BEFORE INSERT ON {lock} FOR EACH ROW EXECUTE FUNCTION "
               "{shop_victim}()",
               "DROP TRIGGER shop_victim ON {lock}");
        return;
    }
    snprintf(sql, sizeof sql,
             "CREATE TRIGGER {shop_victim} BEFORE INSERT ON {lock} FOR EACH ROW BEGIN "
             "SET @shop_turn = IFNULL(@shop_turn, 0) + 1; IF @shop_turn <= %d THEN "
             "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = %u, MESSAGE_TEXT = 'victim'; END IF; END",
             count, number);
    meddle(s, sql, "DROP TRIGGER {shop_victim}");
}

static void deadlocks(shop *s, int count)
{
    victims(s, "40P01", 1213, count);
}

static void the_victim_of_a_deadlock_is_run_again(shop *s)
{
    deadlocks(s, 3);
    must(HF_OK, s->plain, ACQUIRE, BY(s->alice), ON("policy", "1"));
    must(HF_LOCKED, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
}

/* What says that another transaction got in between: a failure to serialize, and on MariaDB a
 * record that has changed. */
static void the_victim_of_another_transaction_is_run_again(shop *s)
{
    victims(s, "40001", 1020, 3);
    must(HF_OK, s->plain, ACQUIRE, BY(s->alice), ON("policy", "1"));
    must(HF_LOCKED, s->plain, ACQUIRE, BY(s->bob), ON("policy", "1"));
}

static void but_not_for_ever(shop *s)
{
    deadlocks(s, 1000000);
    int64_t from_us = now_us();
    must(HF_BUSY, s->plain, ACQUIRE, BY(s->alice), ON("policy", "1"));
    expect_true(now_us() - from_us < 5 * SECOND);
    expect_int(must(HF_OK, s->plain, WHO, ON("policy", "1")).locks_count, 0);
}

/* In the application's transaction it is the application that runs it again. */
static void in_a_transaction_a_deadlock_is_told(shop *s)
{
    static const char patience[] = "SELECT @@innodb_lock_wait_timeout";
    bool waits = s->engine != ON_POSTGRES;
    int64_t before = waits ? app_number(s->app, patience) : 0;
    deadlocks(s, 3);
    app_begin(s->app, READ_COMMITTED);
    must(HF_RETRY, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    if (waits) /* the server has rolled it back, and that is still known */
        must(HF_INVALID, s->store, ACQUIRE, BY(s->alice), ON("policy", "1"));
    app_rollback(s->app);
    if (waits)
        expect_int(app_number(s->app, patience), before);
}

/* ---- plans ---- */

static int64_t scans(shop *s, const char *kind)
{
    return app_number(s->other,
                      "SELECT coalesce(sum(%s), 0)::bigint FROM pg_stat_user_tables WHERE relid IN"
                      " ('{lock}'::regclass, '{resource}'::regclass, '{session}'::regclass)",
                      kind);
}

static void in_batches_of(hf_store *store, const hf_credentials *who, size_t size)
{
    static char ids[256][24];
    hf_op_kind kinds[] = {HF_OP_ACQUIRE, HF_OP_BEAT, HF_OP_WHO, HF_OP_RELEASE};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        hf_batch *batch = batch_new(size);
        for (size_t i = 0; i < size; i++) {
            snprintf(ids[i], sizeof ids[i], "%zu", i);
            hf_op *op = hf_batch_add(batch, kinds[kind]);
            op->session = kinds[kind] == HF_OP_WHO ? NULL : who;
            op->type = kinds[kind] == HF_OP_BEAT ? NULL : "policy";
            op->id = kinds[kind] == HF_OP_BEAT ? NULL : ids[i];
        }
        execute(store, batch);
        for (size_t i = 0; i < size; i++)
            answer(batch, i, HF_OK);
        hf_batch_free(batch);
    }
}

/* The tables are so small that a server left to itself would read them whole; when they are large
 * it must not. Counts are told when the connections that made them end. */
static void no_table_is_read_whole(shop *s)
{
    enum { TIMES = 20 };
    hf_store *store = NULL;
    hf_error err = {0};
    app_do(s->other, "ANALYZE");
    int64_t whole = scans(s, "seq_scan"), by_index = scans(s, "idx_scan");
    expect(HF_OK, hf_store_open(s->url, &store, &err), err);
    for (int i = 0; i < TIMES; i++)
        in_batches_of(store, &s->alice, i % 2 == 0 ? 1 : 256);
    hf_store_close(store);
    int64_t from = now_us();
    while (scans(s, "idx_scan") - by_index < 3 * 256 * TIMES / 2 && now_us() - from < 20 * SECOND)
        rest_ms(50);
    expect_true(scans(s, "idx_scan") - by_index >= 3 * 256 * TIMES / 2);
    expect_int(scans(s, "seq_scan"), whole);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        ON_SOME(ON_POSTGRES, a_blocking_connection_stays_blocking_and_the_other_way_round),
        ON_SOME(ON_POSTGRES, a_connection_in_pipeline_mode_is_refused_and_stays_in_it),
        ON_SOME(ON_POSTGRES, a_connection_with_a_statement_in_flight_is_refused),
        ON_SOME(ON_POSTGRES, a_connection_that_was_reset_works_on),
        ON_SOME(ON_POSTGRES, the_search_path_and_other_names_do_not_matter),
        ON_SOME(ON_MARIADB | ON_MYSQL, with_autocommit_off_a_batch_joins_and_it_stays_off),
        ON_SOME(ON_MARIADB | ON_MYSQL, several_statements_at_once_stay_forbidden_or_allowed),
        AT_LEVELS(ON_MARIADB | ON_MYSQL, LEVELS_ALL, modes_and_character_sets_do_not_matter),
        ON_ANY(the_time_zone_does_not_matter),
        AT_EVERY_LEVEL(a_lost_connection_is_told_and_nothing_was_granted),
        ON_ANY(a_connection_that_the_server_ends_is_told),
        ON_ANY(the_victim_of_a_deadlock_is_run_again),
        ON_SOME(ON_POSTGRES | ON_MARIADB, the_victim_of_another_transaction_is_run_again),
        ON_ANY(but_not_for_ever),
        ON_ANY(in_a_transaction_a_deadlock_is_told),
        ON_SOME(ON_POSTGRES, no_table_is_read_whole),
    };
    return SHOP_MAIN("connection", tests, argc, argv);
}
