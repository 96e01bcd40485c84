/* SPDX-License-Identifier: MIT */
/* The PostgreSQL driver against a real server: connecting, and values in and out. */
#include "own_postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static void postgres_refused(const char *url, const hf_db_options *options, hf_status status,
                             const char *part)
{
    hf_db *db = NULL;
    expect(status, hf_db_connect(&hf_db_postgres, url, options, &db, &err), err);
    expect_true(db == NULL);
    expect_contains(err.message, part);
    expect_lacks(err.message, "geheim");
}

/* ---- connecting ---- */

static void postgres_a_connection_says_what_it_is(void **state)
{
    (void)state;
    char where[512];
    hf_db *db = open_db();
    expect_true(hf_db_alive(db) && hf_db_fresh(db));
    expect_int(hf_db_kind_of(db), HF_DB_POSTGRES);
    expect_true(hf_db_version(db) >= 140000);
    expect_true(!hf_db_in_transaction(db) && !hf_db_transaction_failed(db));
    snprintf(where, sizeof where, "the database postgres on %s, port %d", own_postgres_folder(),
             instance_port(own_postgres()));
    expect_text(hf_db_path(db), where);
    expect_text(ask(db, "SHOW application_name"), "holdfast");
    expect_text(ask(db, "SHOW client_encoding"), "UTF8");
    hf_db_close(db);
}

static void what_the_url_says_stands_and_settings_are_added(void **state)
{
    (void)state;
    hf_db_options options = {
        .settings = "lock_timeout=321 default_transaction_isolation=repeatable\\ read jit=off",
        .setup = "SET work_mem = '3MB'; SELECT 1"};
    hf_db *db = connect_with(own_postgres_tcp_url("secretive:offen", "postgres",
                                                  "&application_name=shop&client_encoding=LATIN1"
                                                  "&options=-c%20statement_timeout%3D7777"),
                             &options);
    expect_text(ask(db, "SHOW application_name"), "shop");
    expect_text(ask(db, "SHOW client_encoding"), "UTF8");
    expect_text(ask(db, "SHOW lock_timeout"), "321ms");
    expect_text(ask(db, "SHOW default_transaction_isolation"), "repeatable read");
    expect_text(ask(db, "SHOW jit"), "off");
    expect_text(ask(db, "SHOW statement_timeout"), "7777ms");
    expect_text(ask(db, "SHOW work_mem"), "3MB");
    hf_db_close(db);
    options.pooler = true;
    db = connect_with(own_postgres_url("postgres", "postgres", ""), &options);
    expect_text(ask(db, "SHOW lock_timeout"), "0");
    expect_text(ask(db, "SHOW work_mem"), "4MB");
    hf_db_close(db);
}

static void a_connection_that_is_refused_says_who_where_and_why(void **state)
{
    (void)state;
    const hf_db_options none = {0};
    char folder[256];
    postgres_refused(own_postgres_url("postgres", "nope", ""), &none, HF_UNAVAILABLE, "3D000");
    expect_contains(err.message, "as postgres: database \"nope\" does not exist");
    expect_contains(err.message, own_postgres_folder());
    postgres_refused(own_postgres_url("nobody_here", "postgres", ""), &none, HF_UNAVAILABLE,
                     "28000");
    postgres_refused(own_postgres_tcp_url("secretive:geheim", "postgres", ""), &none,
                     HF_UNAVAILABLE, "28P01");
    expect_contains(err.message, "the database postgres on 127.0.0.1:");
    expect_contains(err.message, "as secretive");
    postgres_refused(own_postgres_tcp_url("secretive", "postgres", ""), &none, HF_UNAVAILABLE,
                     "Give the user's password");
    postgres_refused(own_postgres_tcp_url("secretive", "postgres", ""),
                     &(hf_db_options){.password = "geheim"}, HF_UNAVAILABLE, "28P01");
    postgres_refused(own_postgres_url("postgres", "closed", ""), &none, HF_UNAVAILABLE, "55000");
    postgres_refused(own_postgres_url("guest", "private", ""), &none, HF_UNAVAILABLE, "42501");
    postgres_refused("postgres://a@127.0.0.1:1/db", &none, HF_UNAVAILABLE, "127.0.0.1:1");
    snprintf(folder, sizeof folder, "postgres://a@/db?host=%s/none", own_postgres_folder());
    postgres_refused(folder, &none, HF_UNAVAILABLE, "No such file");
    hf_db_close(connect_with(own_postgres_tcp_url("secretive", "postgres", ""),
                             &(hf_db_options){.password = "offen"}));
    hf_db_close(connect_with(own_postgres_tcp_url("secretive:offen", "postgres", ""), &none));
}

static void a_url_that_makes_no_sense_is_invalid_and_no_password_shows(void **state)
{
    (void)state;
    const hf_db_options none = {0};
    postgres_refused("postgres://a:geheim@h:1/db?nonsense=1", &none, HF_INVALID, "makes no sense");
    postgres_refused("postgres://a:geheim%zz@h/db", &none, HF_INVALID, "makes no sense");
    postgres_refused("postgres://[::1/db", &none, HF_INVALID, "makes no sense");
    postgres_refused("postgres:///db?nonsense=1", &none, HF_INVALID, "nonsense");
    postgres_refused("postgres:///db?passwordgeheim", &none, HF_INVALID, "makes no sense");
    postgres_refused("postgres://a:geheim@h:99999999/db", &none, HF_INVALID, "99999999");
    postgres_refused("postgres://a:geheim@h:1,i:99999/db", &none, HF_INVALID, "99999");
    postgres_refused("postgres://a:geheim@127.0.0.1/db?sslmode=often", &none, HF_INVALID, "often");
    postgres_refused("host=localhost password=geheim", &none, HF_INVALID, "makes no sense");
}

static void too_many_connections_are_a_limit_in_postgres(void **state)
{
    (void)state;
    hf_db *dbs[32] = {NULL};
    hf_status status = HF_OK;
    size_t count = 0;
    while (status == HF_OK && count < 32)
        status = hf_db_connect(&hf_db_postgres, own_postgres_url("guest", "postgres", ""),
                               &(hf_db_options){0}, &dbs[count++], &err);
    expect_int(status, HF_UNAVAILABLE);
    expect_contains(err.message, "(53300)");
    expect_contains(err.message, "max_connections");
    while (count > 0)
        hf_db_close(dbs[--count]);
}

static void a_setup_that_fails_is_the_connections_failure(void **state)
{
    (void)state;
    postgres_refused(own_postgres_url("postgres", "postgres", ""),
                     &(hf_db_options){.setup = "SELECT * FROM nowhere"}, HF_UNAVAILABLE, "42P01");
}

/* ---- values ---- */

static void every_kind_of_value_comes_back_as_it_went(void **state)
{
    (void)state;
    static const char odd[] =
        "ümläut \xf0\x9f\x94\x92 'quoted' \"double\" back\\slash %s $1 ; -- tail ";
    static const char bytes[] = "\0\1\\x\xff\xfe'";
    const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 40};
    hf_db *db = open_db();
    hf_stmt *it = stmt(db, "SELECT $1, $2, $3, $1::text, octet_length($2), $3 IS NULL, $2 = $2");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)numbers[i]);
        hf_stmt_int(it, 1, numbers[i]);
        hf_stmt_text(it, 2, SLICE(odd));
        hf_stmt_blob(it, 3, bytes, sizeof bytes);
        expect_true(step(it));
        expect_int(hf_stmt_column_int(it, 0), numbers[i]);
        expect_true(hf_slice_equal(hf_stmt_column_text(it, 0), hf_slice_of(text)));
        expect_true(hf_slice_equal(hf_stmt_column_text(it, 1), SLICE(odd)));
        expect_true(hf_slice_equal(hf_stmt_column_blob(it, 2), (hf_slice){bytes, sizeof bytes}));
        expect_true(hf_slice_equal(hf_stmt_column_text(it, 3), hf_slice_of(text)));
        expect_int(hf_stmt_column_int(it, 3), numbers[i]);
        expect_int(hf_stmt_column_int(it, 4), sizeof odd - 1);
        expect_int(hf_stmt_column_int(it, 5), 0);
        expect_int(hf_stmt_column_int(it, 6), 1);
        expect_true(!step(it));
        expect_true(!step(it));
        hf_stmt_reset(it);
    }
    hf_stmt_free(it);
    hf_db_close(db);
}

static void nulls_and_empty_values_differ(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *it = stmt(
        db, "SELECT $1::bigint IS NULL, $2 IS NULL, $3 IS NULL, $4 IS NULL, $1::bigint, $2, $3");
    hf_stmt_int_or_null(it, 1, 0);
    hf_stmt_text(it, 2, HF_NOTHING);
    hf_stmt_blob(it, 3, NULL, 0);
    hf_stmt_int(it, 4, 0);
    expect_true(step(it));
    expect_int(hf_stmt_column_int(it, 0), 1);
    expect_int(hf_stmt_column_int(it, 1), 1);
    expect_int(hf_stmt_column_int(it, 2), 0);
    expect_int(hf_stmt_column_int(it, 3), 0);
    expect_int(hf_stmt_column_int(it, 4), 0);
    expect_int(hf_stmt_column_text(it, 4).size, 0);
    expect_int(hf_stmt_column_text(it, 5).size, 0);
    expect_int(hf_stmt_column_blob(it, 6).size, 0);
    hf_stmt_free(it);
    hf_db_close(db);
}

static void numbers_of_every_width_read_as_numbers_and_as_text(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *it =
        stmt(db, "SELECT -2::smallint, -3, -4::bigint, true, 4000000000::oid, 'x'::\"char\", "
                 "'name'::name, '-17'::text, 'v'::varchar, NULL::int");
    expect_true(step(it));
    const int64_t numbers[] = {-2, -3, -4, 1, 4000000000, 0, 0, -17, 0, 0};
    const char *const texts[] = {"-2", "-3", "-4", "1", "4000000000", "x", "name", "-17", "v", ""};
    for (int i = 0; i < 10; i++) {
        expect_int(hf_stmt_column_int(it, i), numbers[i]);
        expect_true(hf_slice_equal(hf_stmt_column_text(it, i), hf_slice_of(texts[i])));
    }
    hf_stmt_free(it);
    expect_text(ask(db, "SELECT 42"), "42");
    expect_text(ask(db, "SELECT NULL"), "");
    expect_text(ask(db, "SELECT 1 WHERE false"), "");
    hf_db_close(db);
}

static void check_rows(hf_stmt *it, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[64];
        expect_true(step(it));
        snprintf(text, sizeof text, "n'%zu\\\xf0\x9f\x94\x92", i);
        expect_int(hf_stmt_column_int(it, 0), i % 7 == 0 ? 0 : (int64_t)i - 500);
        expect_int(hf_stmt_column_int(it, 1), i % 7 == 0);
        hf_slice got = hf_stmt_column_text(it, 2);
        expect_true(hf_slice_equal(got, i % 5 == 0 ? HF_NOTHING : hf_slice_of(text)));
        got = hf_stmt_column_blob(it, 3);
        expect_true(hf_slice_equal(got, (hf_slice){text, i % 9}));
    }
    expect_true(!step(it));
}

static void lists_go_as_arrays_with_nulls_in_them(void **state)
{
    (void)state;
    const size_t counts[] = {0, 1, 3, 256, 20000, 0, 2};
    hf_db *db = open_db();
    hf_stmt *it = stmt(
        db, "SELECT n, n IS NULL, t, b FROM unnest($2, $3, $4) WITH ORDINALITY AS x(n, t, b, o) "
            "WHERE $1 = 9 AND $5 = 'end' ORDER BY o");
    for (size_t round = 0; round < sizeof counts / sizeof counts[0]; round++) {
        hf_arena arena = {0};
        hf_list list;
        hf_list_init(&list, "itb", &arena);
        for (size_t i = 0; i < counts[round]; i++) {
            char text[64];
            hf_value *row = hf_list_add(&list);
            hf_slice copy;
            snprintf(text, sizeof text, "n'%zu\\\xf0\x9f\x94\x92", i);
            expect_true(hf_arena_copy(&arena, hf_slice_of(text), &copy));
            if (i % 7 != 0)
                hf_set_int(&row[0], (int64_t)i - 500);
            if (i % 5 != 0)
                hf_set_text(&row[1], copy);
            row[2] = (hf_value){.bytes = {copy.at, i % 9}};
        }
        hf_stmt_int(it, 1, 9);
        hf_stmt_list(it, 2, &list);
        hf_stmt_text(it, 5, SLICE("end"));
        check_rows(it, counts[round]);
        hf_stmt_reset(it);
        hf_arena_done(&arena);
    }
    hf_stmt_free(it);
    hf_db_close(db);
}

static void a_list_that_ran_out_of_memory_is_not_sent(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_list list;
    hf_list_init(&list, "i", NULL);
    list.failed = true;
    run(db, "BEGIN");
    hf_stmt *one = stmt(db, "CREATE TABLE never()"), *two = stmt(db, "SELECT unnest($1)");
    hf_stmt_list(two, 1, &list);
    hf_stmt_queue(one);
    hf_stmt_queue(two);
    expect(HF_NO_MEMORY, hf_db_send(db, &err), err);
    expect(HF_NO_MEMORY, hf_stmt_run(one, &err), err);
    expect_true(hf_db_alive(db) && !hf_db_transaction_failed(db));
    expect_text(ask(db, "SELECT to_regclass('never')::text"), "");
    expect(HF_OK, hf_db_rollback(db, &err), err);
    hf_stmt_free(one);
    hf_stmt_free(two);
    hf_db_close(db);
}

static void text_that_is_no_utf_8_is_refused_by_the_server(void **state)
{
    (void)state;
    hf_db *db = open_db();
    hf_stmt *it = stmt(db, "SELECT $1");
    hf_stmt_text(it, 1, SLICE("\xff\xfe"));
    expect(HF_INTERNAL, hf_stmt_run(it, &err), err);
    expect_contains(err.message, "(22021)");
    hf_stmt_free(it);
    hf_db_close(db);
}

static int prepare_server(void **state)
{
    own_postgres_start(state);
    hf_db *db = open_db();
    run(db, "CREATE ROLE guest LOGIN CONNECTION LIMIT 3");
    run(db, "CREATE ROLE secretive LOGIN PASSWORD 'offen'");
    run(db, "CREATE DATABASE closed ALLOW_CONNECTIONS false");
    run(db, "CREATE DATABASE private");
    run(db, "REVOKE ALL ON DATABASE private FROM PUBLIC");
    hf_db_close(db);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postgres_a_connection_says_what_it_is),
        cmocka_unit_test(what_the_url_says_stands_and_settings_are_added),
        cmocka_unit_test(a_connection_that_is_refused_says_who_where_and_why),
        cmocka_unit_test(a_url_that_makes_no_sense_is_invalid_and_no_password_shows),
        cmocka_unit_test(too_many_connections_are_a_limit_in_postgres),
        cmocka_unit_test(a_setup_that_fails_is_the_connections_failure),
        cmocka_unit_test(every_kind_of_value_comes_back_as_it_went),
        cmocka_unit_test(nulls_and_empty_values_differ),
        cmocka_unit_test(numbers_of_every_width_read_as_numbers_and_as_text),
        cmocka_unit_test(lists_go_as_arrays_with_nulls_in_them),
        cmocka_unit_test(a_list_that_ran_out_of_memory_is_not_sent),
        cmocka_unit_test(text_that_is_no_utf_8_is_refused_by_the_server),
    };
    return cmocka_run_group_tests_name("postgres", tests, prepare_server, own_postgres_end);
}
