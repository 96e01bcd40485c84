/* SPDX-License-Identifier: MIT */
/* The private servers of the fault tests: each kind is started, asked, taken down in every way, and
 * comes back with what was committed and the same address. */
#include <holdfast/limits.h>
#include <libpq-fe.h>
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/databases.h>
#include <support/proxy.h>

/* ---- asking PostgreSQL ---- */

static PGconn *servers_postgres_open(const char *url)
{
    char plain[HF_URL_MAX];
    snprintf(plain, sizeof plain, "%s", url);
    char *ours = strstr(plain, "pooler=transaction"); /* is the last */
    if (ours)
        ours[-1] = '\0';
    return PQconnectdb(plain);
}

static bool postgres_says(PGconn *connection, const char *sql, const char *answer)
{
    PGresult *result = PQexec(connection, sql);
    bool right =
        PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), answer) == 0;
    PQclear(result);
    return right;
}

static bool postgres_asked(const char *url, const char *sql, const char *answer)
{
    PGconn *connection = servers_postgres_open(url);
    bool right = postgres_says(connection, sql, answer);
    PQfinish(connection);
    return right;
}

static void postgres_comes_back(instance *it, instance *behind, const char *url)
{
    static const instance_end ends[] = {INSTANCE_FAST, INSTANCE_IMMEDIATE, INSTANCE_KILL};
    PGconn *connection = servers_postgres_open(url);
    expect_true(postgres_says(connection,
                              "CREATE TABLE t (n int); INSERT INTO t VALUES (7) RETURNING n", "7"));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        pid_t before = instance_pid(behind);
        instance_down(behind, ends[i]);
        expect_true(!postgres_asked(instance_url(behind), "SELECT n FROM t", "7"));
        instance_up(behind);
        expect_true(instance_pid(behind) != before);
        expect_true(postgres_asked(instance_url(behind), "SELECT n FROM t", "7"));
        expect_true(postgres_asked(instance_url_tcp(it), "SELECT n FROM t", "7"));
    }
    PQfinish(connection);
}

static void postgres_is_durable_and_comes_back(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    instance *it = instance_start(INSTANCE_POSTGRES);
    expect_true(postgres_asked(instance_url(it), "SHOW fsync", "on"));
    expect_true(postgres_asked(instance_url(it), "SHOW synchronous_commit", "on"));
    expect_true(postgres_asked(instance_url(it), "SHOW server_encoding", "UTF8"));
    expect_true(instance_behind(it) == NULL);
    snprintf(url, sizeof url, "postgres://postgres:wrong@127.0.0.1:%d/test", instance_port(it));
    expect_true(!postgres_asked(url, "SELECT 1", "1"));
    postgres_comes_back(it, it, instance_url(it));
    instance_stop(it);
    instance_stop(NULL);
}

static void postgres_stops_and_goes_on(void **state)
{
    (void)state;
    instance *it = instance_start(INSTANCE_POSTGRES);
    PGconn *connection = servers_postgres_open(instance_url(it));
    expect_true(postgres_says(connection, "SELECT 1", "1"));
    instance_pause(it);
    expect_int(PQsendQuery(connection, "SELECT 2"), 1);
    struct pollfd answer = {.fd = PQsocket(connection), .events = POLLIN};
    expect_int(poll(&answer, 1, 300), 0);
    instance_resume(it);
    expect_int(poll(&answer, 1, 5000), 1);
    PQfinish(connection);
    instance_stop(it);
}

static void pgbouncer_has_a_postgres_behind_it(void **state)
{
    (void)state;
    instance *it = instance_start(INSTANCE_PGBOUNCER);
    expect_contains(instance_url(it), "pooler=transaction");
    expect_true(instance_behind(it) != NULL &&
                instance_pid(it) != instance_pid(instance_behind(it)));
    postgres_comes_back(it, instance_behind(it), instance_url(it));
    instance_restart(it, INSTANCE_KILL);
    expect_true(postgres_asked(instance_url(it), "SELECT n FROM t", "7"));
    instance_stop(it);
}

/* ---- asking MariaDB and MySQL ---- */

/* An answer to each statement is passed over; right is when the last one's is so. */
static bool mysql_asked(const instance *it, bool tcp, int port, const char *sql, const char *answer)
{
    MYSQL *connection = mysql_init(NULL);
    const char *path = strstr(instance_url(it), "socket=");
    bool right = false;
    if (mysql_real_connect(connection, tcp ? "127.0.0.1" : "localhost", "root",
                           tcp ? "holdfast" : NULL, "test", (unsigned)port,
                           tcp ? NULL : path + strlen("socket="), CLIENT_MULTI_STATEMENTS) &&
        mysql_query(connection, sql) == 0) {
        do {
            MYSQL_RES *result = mysql_store_result(connection);
            MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
            right = row && strcmp(row[0], answer) == 0;
            mysql_free_result(result);
        } while (mysql_next_result(connection) == 0);
    }
    mysql_close(connection);
    return right;
}

static void mysql_comes_back(instance_kind kind, const char *version)
{
    static const instance_end ends[] = {INSTANCE_FAST, INSTANCE_IMMEDIATE, INSTANCE_KILL};
    instance *it = instance_start(kind);
    expect_true(mysql_asked(it, false, 0, "SELECT LEFT(VERSION(), 2)", version));
    expect_true(mysql_asked(it, false, 0, "SELECT @@innodb_flush_log_at_trx_commit", "1"));
    expect_true(mysql_asked(it, false, 0, "SELECT @@character_set_database", "utf8mb4"));
    expect_true(mysql_asked(
        it, false, 0, "CREATE TABLE t (n int); INSERT INTO t VALUES (7); SELECT n FROM t", "7"));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        instance_down(it, ends[i]);
        expect_true(!mysql_asked(it, false, 0, "SELECT n FROM t", "7"));
        instance_up(it);
        expect_true(mysql_asked(it, false, 0, "SELECT n FROM t", "7"));
        expect_true(mysql_asked(it, true, instance_port(it), "SELECT n FROM t", "7"));
    }
    instance_stop(it);
}

static void mariadb_is_durable_and_comes_back(void **state)
{
    (void)state;
    mysql_comes_back(INSTANCE_MARIADB, "10");
}

static void mysql_is_durable_and_comes_back(void **state)
{
    (void)state;
    mysql_comes_back(INSTANCE_MYSQL, "9.");
}

/* ---- with the proxy between ---- */

static void a_commit_that_was_cut_before_did_not_happen_and_after_did(void **state)
{
    (void)state;
    static const struct {
        proxy_when when;
        const char *rows;
    } turns[] = {{PROXY_BEFORE, "0"}, {PROXY_AFTER, "1"}};
    instance *it = instance_start(INSTANCE_POSTGRES);
    proxy *p = proxy_start("127.0.0.1", instance_port(it));
    PGconn *direct = servers_postgres_open(instance_url(it));
    char url[HF_URL_MAX];
    instance_url_through(it, proxy_port(p), url);
    PQclear(PQexec(direct, "CREATE TABLE t (n int)"));
    for (size_t i = 0; i < 2; i++) {
        PGconn *through = servers_postgres_open(url);
        PQclear(PQexec(through, "BEGIN; INSERT INTO t VALUES (7)"));
        proxy_cut_at(p, PROXY_UP, "COMMIT", turns[i].when);
        PGresult *result = PQexec(through, "COMMIT");
        expect_true(PQresultStatus(result) == PGRES_FATAL_ERROR &&
                    PQstatus(through) == CONNECTION_BAD);
        expect_int(proxy_sprung(p), i + 1);
        PQclear(result);
        PQfinish(through);
        expect_true(postgres_says(direct, "SELECT count(*) FROM t", turns[i].rows));
    }
    PQfinish(direct);
    proxy_stop(p);
    instance_stop(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postgres_is_durable_and_comes_back),
        cmocka_unit_test(postgres_stops_and_goes_on),
        cmocka_unit_test(pgbouncer_has_a_postgres_behind_it),
        cmocka_unit_test(mariadb_is_durable_and_comes_back),
        cmocka_unit_test(mysql_is_durable_and_comes_back),
        cmocka_unit_test(a_commit_that_was_cut_before_did_not_happen_and_after_did),
    };
    return cmocka_run_group_tests_name("private servers", tests, NULL, NULL);
}
