/* SPDX-License-Identifier: MIT */
/* An application's own PostgreSQL connection behind the face: used as it is, in its transaction or
 * outside, and left as it was. */
#include "own_postgres.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static PGconn *app;
static hf_db *db;
static int notices;

static void postgres_wrap_count_notice(void *context, const char *message)
{
    (void)message;
    ++*(int *)context;
}

static void postgres_wrap_sql(const char *text)
{
    PGresult *result = PQexec(app, text);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", text, PQresultErrorMessage(result));
    PQclear(result);
}

static const char *postgres_wrap_value_of(const char *query)
{
    static char text[256];
    PGresult *result = PQexec(app, query);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        check_failed(__FILE__, __LINE__, "%s: %s", query, PQresultErrorMessage(result));
    snprintf(text, sizeof text, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return text;
}

static int open_app(void **state)
{
    (void)state;
    app = PQconnectdb(own_postgres_url("postgres", "postgres", ""));
    PQsetNoticeProcessor(app, postgres_wrap_count_notice, &notices);
    notices = 0;
    postgres_wrap_sql(
        "SET client_min_messages = error; DROP TABLE IF EXISTS kept; RESET client_min_messages");
    postgres_wrap_sql("CREATE TABLE kept(a bigint PRIMARY KEY)");
    expect(HF_OK, hf_db_postgres_wrap(app, &db, &err), err);
    return 0;
}

static int close_app(void **state)
{
    (void)state;
    hf_db_close(db);
    db = NULL;
    PQfinish(app);
    app = NULL;
    return 0;
}

/* One flight of two statements. */
static void postgres_wrap_fly(hf_status first, hf_status second)
{
    hf_stmt *insert = stmt(db, "INSERT INTO kept SELECT coalesce(max(a), 0) + 1 FROM kept"),
            *pick = stmt(db, "SELECT max(a) FROM kept WHERE a > $1");
    hf_stmt_int(pick, 1, 0);
    hf_stmt_queue(insert);
    hf_stmt_queue(pick);
    if (hf_db_send(db, &err) == HF_OK) {
        expect(first, hf_stmt_run(insert, &err), err);
        expect(second, hf_stmt_run(pick, &err), err);
    } else
        expect_int(err.status, first);
    hf_stmt_free(insert);
    hf_stmt_free(pick);
}

static void it_joins_the_applications_transaction(void **state)
{
    (void)state;
    postgres_wrap_fly(HF_OK, HF_OK);
    expect_true(!hf_db_in_transaction(db));
    expect_text(postgres_wrap_value_of("SELECT count(*) FROM kept"), "1");
    postgres_wrap_sql("BEGIN");
    expect_true(hf_db_in_transaction(db));
    for (int i = 0; i < 5; i++)
        postgres_wrap_fly(HF_OK, HF_OK);
    expect_text(postgres_wrap_value_of("SELECT count(*) FROM kept"), "6");
    expect_int(PQtransactionStatus(app), PQTRANS_INTRANS);
    postgres_wrap_sql("ROLLBACK");
    expect_text(postgres_wrap_value_of("SELECT count(*) FROM kept"), "1");
    postgres_wrap_sql("BEGIN");
    postgres_wrap_fly(HF_OK, HF_OK);
    postgres_wrap_sql("COMMIT");
    expect_text(postgres_wrap_value_of("SELECT count(*) FROM kept"), "2");
}

static void nothing_about_it_changes(void **state)
{
    (void)state;
    const char *const settings =
        "SELECT md5(string_agg(name || '=' || setting, ';' ORDER BY name)) FROM pg_settings";
    char before[64];
    postgres_wrap_sql("SET lock_timeout = 1234; SET search_path = kept; SET search_path = public");
    snprintf(before, sizeof before, "%s", postgres_wrap_value_of(settings));
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        PQsetnonblocking(app, nonblocking);
        for (int i = 0; i < 3; i++) {
            postgres_wrap_sql(i == 1 ? "BEGIN" : "SELECT 1");
            postgres_wrap_fly(HF_OK, HF_OK);
            run(db, "SELECT 1; SELECT 2");
            expect_int(PQisnonblocking(app), nonblocking);
            expect_int(PQpipelineStatus(app), PQ_PIPELINE_OFF);
            expect_int(PQtransactionStatus(app), i == 1 ? PQTRANS_INTRANS : PQTRANS_IDLE);
            postgres_wrap_sql(i == 1 ? "COMMIT" : "SELECT 1");
        }
    }
    PQsetnonblocking(app, 0);
    expect_text(postgres_wrap_value_of(settings), before);
    expect_text(postgres_wrap_value_of("SELECT count(*) FROM pg_prepared_statements"), "0");
    expect_int(notices, 0);
    run(db, "DO $$ BEGIN RAISE NOTICE 'heard'; END $$");
    expect_int(notices, 1);
    postgres_wrap_sql("DO $$ BEGIN RAISE NOTICE 'heard'; END $$");
    expect_int(notices, 2);
    hf_db_close(db);
    db = NULL;
    postgres_wrap_sql("SELECT 1");
}

static void a_failure_is_undone_to_a_savepoint(void **state)
{
    (void)state;
    hf_stmt *save = stmt(db, "SAVEPOINT holdfast"),
            *bad = stmt(db, "INSERT INTO kept VALUES (1), (1)"),
            *undo = stmt(db, "ROLLBACK TO SAVEPOINT holdfast"),
            *release = stmt(db, "RELEASE SAVEPOINT holdfast");
    postgres_wrap_sql("BEGIN; INSERT INTO kept VALUES (7)");
    hf_stmt_queue(save);
    hf_stmt_queue(bad);
    expect(HF_OK, hf_db_send(db, &err), err);
    expect(HF_OK, hf_stmt_run(save, &err), err);
    expect(HF_RETRY, hf_stmt_run(bad, &err), err);
    expect_true(hf_db_transaction_failed(db));
    postgres_wrap_fly(HF_INVALID, HF_INVALID);
    expect_contains(err.message, "roll it back first");
    hf_stmt_queue(undo);
    hf_stmt_queue(release);
    expect(HF_OK, hf_db_send(db, &err), err);
    expect(HF_OK, hf_stmt_run(undo, &err), err);
    expect(HF_OK, hf_stmt_run(release, &err), err);
    postgres_wrap_fly(HF_OK, HF_OK);
    postgres_wrap_sql("COMMIT");
    expect_text(postgres_wrap_value_of("SELECT string_agg(a::text, ',' ORDER BY a) FROM kept"),
                "7,8");
    hf_stmt *const all[] = {save, bad, undo, release};
    for (int i = 0; i < 4; i++)
        hf_stmt_free(all[i]);
}

static void a_failed_transaction_of_the_application_is_its_own_to_end(void **state)
{
    (void)state;
    postgres_wrap_sql("BEGIN");
    PQclear(PQexec(app, "SELECT 1/0"));
    postgres_wrap_fly(HF_INVALID, HF_INVALID);
    expect_int(PQtransactionStatus(app), PQTRANS_INERROR);
    postgres_wrap_sql("ROLLBACK");
    postgres_wrap_fly(HF_OK, HF_OK);
}

static void postgres_wrap_wrong(const char *part)
{
    hf_db *other = NULL;
    expect(HF_INVALID, hf_db_postgres_wrap(app, &other, &err), err);
    expect_true(other == NULL);
    expect_contains(err.message, part);
    postgres_wrap_fly(HF_INVALID, HF_INVALID);
    expect_contains(err.message, part);
    expect(HF_INVALID, hf_db_run(db, "SELECT 1", &err), err);
}

static void a_connection_that_is_not_ready_is_refused(void **state)
{
    (void)state;
    hf_db *other = NULL;
    PGconn *closed = PQconnectdb("host=/nowhere");
    expect(HF_INVALID, hf_db_postgres_wrap(closed, &other, &err), err);
    expect(HF_INVALID, hf_db_postgres_wrap(NULL, &other, &err), err);
    PQfinish(closed);
    postgres_wrap_sql("SET client_encoding = LATIN1");
    postgres_wrap_wrong("LATIN1");
    postgres_wrap_sql("SET client_encoding = UTF8");
    expect_int(PQenterPipelineMode(app), 1);
    postgres_wrap_wrong("pipeline mode");
    expect_int(PQexitPipelineMode(app), 1);
    expect_int(PQsendQuery(app, "SELECT 1"), 1);
    postgres_wrap_wrong("busy");
    for (PGresult *result = PQgetResult(app); result != NULL; result = PQgetResult(app))
        PQclear(result);
    postgres_wrap_fly(HF_OK, HF_OK);
}

static void a_wrapped_connection_that_is_lost_says_so(void **state)
{
    (void)state;
    char text[128];
    PGconn *other = PQconnectdb(own_postgres_url("postgres", "postgres", ""));
    snprintf(text, sizeof text, "SELECT pg_terminate_backend(%d, 5000)", PQbackendPID(app));
    PQclear(PQexec(other, text));
    PQfinish(other);
    postgres_wrap_fly(HF_UNAVAILABLE, HF_UNAVAILABLE);
    expect_true(!hf_db_alive(db));
    expect_int(PQisnonblocking(app), 0);
    expect_int(PQstatus(app), CONNECTION_BAD);
    postgres_wrap_fly(HF_UNAVAILABLE, HF_UNAVAILABLE);
}

#define IN_APP(test) cmocka_unit_test_setup_teardown(test, open_app, close_app)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_APP(it_joins_the_applications_transaction),
        IN_APP(nothing_about_it_changes),
        IN_APP(a_failure_is_undone_to_a_savepoint),
        IN_APP(a_failed_transaction_of_the_application_is_its_own_to_end),
        IN_APP(a_connection_that_is_not_ready_is_refused),
        IN_APP(a_wrapped_connection_that_is_lost_says_so),
    };
    return cmocka_run_group_tests_name("postgres_wrap", tests, own_postgres_start,
                                       own_postgres_end);
}
