/* SPDX-License-Identifier: MIT */
/* Stopping `holdfast serve`: what was asked is answered, streams get their end, the file has
 * everything without its log; and who does not end in time, or is told twice, is cut off, which the
 * exit code says. */
#include "faults/database_target.h"
#include "faults/http_clients.h"
#include "faults/ledger.h"
#include "faults/setting.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/http_client.h>
#include <support/server_process.h>
#include <support/sse_clients.h>
#include <support/test_store.h>
#include <unistd.h>

/* ---- under load ---- */

static void every_request_is_answered_when_it_is_stopped_under_load(void **state)
{
    enum { CLIENTS = 32, WORK = 500 };
    size_t rounds = setting_amount("HF_TEST_SERVE_STOPS", 8, 100);
    int64_t longest_us = 0;
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    for (size_t i = 0; i < rounds; i++) {
        http_tally sum;
        check_report report;
        http_clients *clients =
            http_clients_start(server_process_port(server), server_process_secret(server), CLIENTS);
        http_clients_work(clients, WORK);
        int64_t began_us = monotonic_us();
        int code = server_process_stop(server);
        int64_t took_us = monotonic_us() - began_us;
        longest_us = took_us > longest_us ? took_us : longest_us;
        http_clients_end(clients, &sum, &report);
        expect_int(code, 0);
        expect_int(sum.closed + sum.reset + sum.cut, 0);
        expect_int(sum.unsure, 0);
        server_process_up(server);
    }
    printf("# %zu stops; the longest took %.0f ms\n", rounds, (double)longest_us / 1e3);
    server_process_end(server);
}

/* ---- with something under way ---- */

static const char *const hasty[] = {"--stop-timeout", "600ms", NULL};

static http_client http_client_of(const server_process *server)
{
    return (http_client){.port = server_process_port(server), .fd = -1};
}

static void serve_stop_open_session(http_client *a, const server_process *server, char login[256])
{
    char headers[256], id[64], key[160];
    static http_client_answer answer;
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n",
             server_process_secret(server));
    expect_int(http_client_ask(a, "POST", "/v1/sessions", headers, "{\"user\":\"alice\"}", &answer),
               HTTP_CLIENT_ANSWERED);
    expect_int(answer.status, 201);
    expect_true(http_client_text(&answer, "id", id, sizeof id) &&
                http_client_text(&answer, "key", key, sizeof key));
    snprintf(login, 256, "Holdfast-Session: %.63s.%.159s\r\n", id, key);
}

static bool serve_stop_take(http_client *a, const char *login, const char *id)
{
    static http_client_answer answer;
    char path[64];
    snprintf(path, sizeof path, "/v1/locks/doc/%s", id);
    return http_client_ask(a, "PUT", path, login, NULL, &answer) == HTTP_CLIENT_ANSWERED &&
           answer.status == 201;
}

/* A server, and a connection that has opened a session. */
typedef struct scene {
    server_process *server;
    http_client a;
    char login[256];
} scene;

static scene serve_stop_begin(const char *const *options)
{
    scene s = {.server = server_process_start(NULL, options)};
    s.a = http_client_of(s.server);
    serve_stop_open_session(&s.a, s.server, s.login);
    return s;
}

/* The first half of a request that takes doc/half; and the rest of it. */
static void send_half(scene *s)
{
    char text[512];
    int size = snprintf(
        text, sizeof text,
        "PUT /v1/locks/doc/half HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: 2\r\n", s->login);
    expect_true(http_client_send(&s->a, text, (size_t)size));
    /* so that it has come before what the test does next; if not, the test shows less */
    sleep_ms(20);
}

static void send_rest(http_client *a)
{
    static const char rest[] = "Content-Type: application/json\r\n\r\n{}";
    http_client_send(a, rest, sizeof rest - 1);
}

static void await_log(const server_process *server, const char *text)
{
    for (int64_t until_us = monotonic_us() + 20000000;; sleep_ms(2)) {
        char *log = server_process_log(server);
        bool found = strstr(log, text) != NULL;
        free(log);
        if (found)
            return;
        if (monotonic_us() > until_us)
            check_failed(__FILE__, __LINE__, "the log never says: %s", text);
    }
}

static void tell_to_stop(const server_process *server)
{
    server_process_signal(server, SIGTERM);
    await_log(server, "Stopping");
}

/* What the request is answered; the server has ended well then. */
static const http_client_answer *hear_and_end(scene *s)
{
    static http_client_answer answer;
    expect_int(http_client_read(&s->a, &answer), HTTP_CLIENT_ANSWERED);
    http_client_close(&s->a);
    expect_int(server_process_wait(s->server, 20), 0);
    server_process_end(s->server);
    return &answer;
}

static void a_request_that_is_half_there_is_waited_for_and_answered(void **state)
{
    (void)state;
    scene s = serve_stop_begin(NULL);
    send_half(&s);
    tell_to_stop(s.server);
    http_client other = http_client_of(s.server);
    for (int64_t until_us = monotonic_us() + 5000000; serve_stop_take(&other, s.login, "new");
         sleep_ms(5)) /* until nobody listens */
        expect_true(monotonic_us() < until_us);
    send_rest(&s.a);
    const http_client_answer *answer = hear_and_end(&s);
    expect_int(answer->status, 201);
    expect_true(answer->closes);
}

static void expect_cut(scene *s, const char *sentence)
{
    static http_client_answer answer;
    int code = server_process_wait(s->server, 20);
    char *log = server_process_log(s->server);
    expect_contains(log, sentence);
    expect_contains(log, "Some requests were cut off");
    free(log);
    expect_int(code, 3);
    expect_true(http_client_read(&s->a, &answer) != HTTP_CLIENT_ANSWERED);
    server_process_end(s->server);
}

static void who_takes_longer_than_stop_timeout_is_cut_off_and_the_exit_code_says_so(void **state)
{
    (void)state;
    scene s = serve_stop_begin(hasty);
    send_half(&s);
    int64_t began_us = monotonic_us();
    server_process_signal(s.server, SIGTERM);
    expect_cut(&s, "longer than stop-timeout");
    expect_true(monotonic_us() - began_us > 500000);
}

static void a_second_signal_cuts_off_at_once(void **state)
{
    (void)state;
    scene s = serve_stop_begin(NULL);
    send_half(&s);
    int64_t began_us = monotonic_us();
    tell_to_stop(s.server);
    server_process_signal(s.server, SIGINT);
    expect_cut(&s, "Told to stop again");
    expect_true(monotonic_us() - began_us < 15000000); /* not stop-timeout, 30 s */
}

/* Another program has the file, so that a change waits in the store for half a second. */
static sqlite3 *occupy(const server_process *server)
{
    char path[HF_URL_MAX];
    sqlite3 *db = NULL;
    server_process_file(server, path);
    expect_int(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    expect_int(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* A request is in the store, waiting, when the server is told to stop. */
static sqlite3 *stop_while_it_waits(scene *s)
{
    sqlite3 *other = occupy(s->server);
    send_half(s);
    send_rest(&s->a);
    sleep_ms(100); /* it is in the store; if not yet, the test shows less */
    tell_to_stop(s->server);
    return other;
}

static void a_request_that_waits_in_the_store_is_answered(void **state)
{
    (void)state;
    scene s = serve_stop_begin(NULL);
    sqlite3_close(stop_while_it_waits(&s));
    int status = hear_and_end(&s)->status;
    expect_true(status == 201 || status == 423);
}

static void and_cut_off_by_a_second_signal_without_a_crash(void **state)
{
    (void)state;
    scene s = serve_stop_begin(NULL);
    sqlite3 *other = stop_while_it_waits(&s);
    server_process_signal(s.server, SIGTERM);
    int code = server_process_wait(s.server, 20);
    sqlite3_close(other);
    expect_true(code == 3 || code == 0); /* 0: the half second was over just then */
    server_process_end(s.server);
}

/* ---- streams ---- */

static void streams_get_their_end(void **state)
{
    enum { FOLLOWERS = 50 };
    sse_clients_report report;
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    sse_clients *a =
        sse_clients_start(&(sse_clients_options){.ports = {server_process_port(server)},
                                                 .servers = 1,
                                                 .secret = server_process_secret(server),
                                                 .followers = FOLLOWERS,
                                                 .at_first = FOLLOWERS});
    expect_true(sse_clients_connected(a, 60));
    int code = server_process_stop(server);
    sse_clients_end(a, &report);
    expect_int(code, 0);
    expect_text(report.problem, "");
    expect_int(report.ended, FOLLOWERS);
    expect_int(report.cut, 0);
    server_process_end(server);
}

/* ---- the file ---- */

static int64_t count_in(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    expect_int(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    expect_int(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    expect_int(sqlite3_step(statement), SQLITE_ROW);
    int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

static void serve_stop_copy(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    expect_true(in != NULL && out != NULL);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        expect_int(fwrite(bytes, 1, got, out), got);
    fclose(in);
    fclose(out);
}

/* Without its log and its shared memory: a plain copy of the one file. */
static void the_file_alone_has_everything_after_a_stop(void **state)
{
    enum { LOCKS = 5 };
    char path[HF_URL_MAX], alone[HF_URL_MAX];
    (void)state;
    scene s = serve_stop_begin(NULL);
    for (int i = 0; i < LOCKS; i++)
        expect_true(serve_stop_take(&s.a, s.login, (char[]){(char)('0' + i), '\0'}));
    http_client_close(&s.a);
    expect_int(server_process_stop(s.server), 0);
    server_process_file(s.server, path);
    scratch_path(".db", alone);
    serve_stop_copy(path, alone);
    expect_int(count_in(alone, "SELECT count(*) FROM holdfast_lock"), LOCKS);
    const char *problem = ledger_inspect(alone);
    expect_true(problem == NULL);
    server_process_end(s.server);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_answered_when_it_is_stopped_under_load),
        cmocka_unit_test(a_request_that_is_half_there_is_waited_for_and_answered),
        cmocka_unit_test(who_takes_longer_than_stop_timeout_is_cut_off_and_the_exit_code_says_so),
        cmocka_unit_test(a_second_signal_cuts_off_at_once),
        cmocka_unit_test(a_request_that_waits_in_the_store_is_answered),
        cmocka_unit_test(and_cut_off_by_a_second_signal_without_a_crash),
        cmocka_unit_test(streams_get_their_end),
        cmocka_unit_test(the_file_alone_has_everything_after_a_stop),
    };
    return cmocka_run_group_tests_name("stopping holdfast serve", tests, NULL, NULL);
}
