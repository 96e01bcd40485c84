/* SPDX-License-Identifier: MIT */
/* A store that can't be used under `holdfast serve`: /readyz, the metrics and the log say so from
 * the first change that fails on, and that it is over without anyone having asked. Without an
 * argument the disk of a SQLite file is full; with the name of a database server, that one is away.
 * */
#include "faults/database_target.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/http_client.h>
#include <support/proxy.h>
#include <support/server_process.h>
#include <support/test_store.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZEROS "00000000000000000000000000000000"

static const char *server_name; /* NULL: a full disk */
static char full[HF_URL_MAX];   /* while this file is there, the disk is full */

typedef struct scene {
    server_process *server;
    target *target;
    proxy *proxy;
    http_client client;
    char session[256]; /* the header */
    unsigned records;
} scene;

/* ---- asking ---- */

static int serve_outage_ask(scene *s, const char *method, const char *path, const char *headers,
                            const char *body, http_client_answer *out)
{
    expect_int(http_client_ask(&s->client, method, path, headers, body, out), HTTP_CLIENT_ANSWERED);
    return out->status;
}

static int take_another(scene *s, http_client_answer *out)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/locks/outage/%u", ++s->records);
    return serve_outage_ask(s, "PUT", path, s->session, NULL, out);
}

static void expect_ready(scene *s, int status)
{
    http_client_answer answer;
    expect_int(serve_outage_ask(s, "GET", "/readyz", "", NULL, &answer), status);
    expect_contains(answer.body, status == 200 ? "\"ready\":true" : "\"code\":\"unavailable\"");
}

static size_t times_logged(const scene *s, const char *sentence)
{
    size_t count = 0;
    char *log = server_process_log(s->server);
    for (const char *at = log; (at = strstr(at, sentence)) != NULL; at++)
        count++;
    free(log);
    return count;
}

/* Neither where the store is, nor what it is called, nor as whom it is asked. */
static void expect_no_details(const http_client_answer *answer)
{
    static const char *const details[] = {"127.0.0.1", "the database", " as postgres", " as root",
                                          "/holdfast.db"};
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        if (strstr(answer->body, details[i]) != NULL)
            check_failed(__FILE__, __LINE__, "%s tells %s", answer->body, details[i]);
}

/* Strangers and sessions hear nothing of the store, by whatever they ask; the log has it all. */
static void nobody_is_told_details(scene *s)
{
    static const struct {
        const char *method, *path, *headers, *body;
    } questions[] = {
        {"GET", "/readyz", "", NULL},
        {"GET", "/readyz", "Authorization: Bearer " ZEROS ZEROS "\r\n", NULL},
        {"GET", "/v1/locks", "Authorization: Bearer " ZEROS ZEROS "\r\n", NULL},
        {"GET", "/v1/locks/outage/1", "Holdfast-Session: " ZEROS "." ZEROS "\r\n", NULL},
        {"POST", "/v1/login", "", "{\"secret\":\"" ZEROS ZEROS "\"}"},
        {"POST", "/v1/sessions/" ZEROS "/close", "", "{\"key\":\"" ZEROS "\"}"},
    };
    http_client_answer answer;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        serve_outage_ask(s, questions[i].method, questions[i].path, questions[i].headers,
                         questions[i].body, &answer);
        expect_no_details(&answer);
    }
    take_another(s, &answer);
    expect_no_details(&answer);
    if (server_name != NULL)
        expect_true(times_logged(s, "127.0.0.1") > 0);
}

/* The metrics are longer than what an asker keeps. */
static void expect_up(scene *s, int up)
{
    char command[160], line[256] = "", wanted[64];
    snprintf(command, sizeof command,
             "curl -s http://127.0.0.1:%d/metrics | grep '^holdfast_store_up'",
             server_process_port(s->server));
    FILE *metrics = popen(command, "re");
    expect_true(metrics != NULL && fgets(line, sizeof line, metrics) != NULL);
    pclose(metrics);
    snprintf(wanted, sizeof wanted, "holdfast_store_up %d\n", up);
    expect_text(line, wanted);
}

/* ---- the outage ---- */

static void begin_outage(scene *s)
{
    if (server_name != NULL) {
        proxy_refuse(s->proxy, true);
        proxy_cut(s->proxy);
        return;
    }
    int fd = open(full, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    expect_true(fd >= 0);
    close(fd);
}

static void end_outage(scene *s)
{
    if (server_name != NULL)
        proxy_refuse(s->proxy, false);
    else
        expect_int(unlink(full), 0);
}

static void serve_outage_open_scene(scene *s)
{
    char url[HF_URL_MAX] = "", id[64], key[HF_KEY_SIZE], headers[256];
    http_client_answer answer;
    memset(s, 0, sizeof *s);
    if (server_name != NULL) {
        char direct[HF_URL_MAX], parameters[64];
        s->target = target_shared(server_name);
        snprintf(parameters, sizeof parameters, "namespace=%s", target_name("outage"));
        s->proxy = proxy_start("127.0.0.1", target_port(s->target));
        target_url(s->target, &(target_way){.parameters = parameters}, direct);
        target_url(s->target, &(target_way){.parameters = parameters, .port = proxy_port(s->proxy)},
                   url);
        hf_error err = {0};
        expect(HF_OK, hf_store_install(direct, NULL, &err), err);
    }
    s->server = server_process_start(server_name != NULL ? url : NULL, NULL);
    s->client = (http_client){.port = server_process_port(s->server), .fd = -1};
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n",
             server_process_secret(s->server));
    expect_int(serve_outage_ask(s, "POST", "/v1/sessions", headers,
                                "{\"user\":\"alice\",\"idle_seconds\":3600}", &answer),
               201);
    expect_true(http_client_text(&answer, "id", id, sizeof id) &&
                http_client_text(&answer, "key", key, sizeof key));
    snprintf(s->session, sizeof s->session, "Holdfast-Session: %s.%s\r\n", id, key);
}

static void serve_outage_close_scene(scene *s)
{
    http_client_close(&s->client);
    expect_int(server_process_stop(s->server), 0);
    server_process_end(s->server);
    proxy_stop(s->proxy);
    target_stop(s->target);
}

/* It takes some changes until a file has to grow. */
static void serve_outage_expect_refused(scene *s)
{
    http_client_answer answer;
    int status = take_another(s, &answer);
    for (int i = 0; status == 201 && i < 20000; i++)
        status = take_another(s, &answer);
    expect_true(status == 503 || status == 504);
}

static void durability_is_told_to_those_with_a_token(void **state)
{
    (void)state;
    scene s;
    http_client_answer answer;
    char token[256];
    serve_outage_open_scene(&s);
    snprintf(token, sizeof token, "Authorization: Bearer %s\r\n", server_process_secret(s.server));
    expect_int(serve_outage_ask(&s, "GET", "/readyz", "", NULL, &answer), 200);
    expect_contains(answer.body, "\"grade\":\"");
    expect_true(strstr(answer.body, "\"text\"") == NULL);
    expect_int(serve_outage_ask(&s, "GET", "/readyz", "Authorization: Bearer " ZEROS ZEROS "\r\n",
                                NULL, &answer),
               200);
    expect_true(strstr(answer.body, "\"text\"") == NULL);
    expect_int(serve_outage_ask(&s, "GET", "/readyz", token, NULL, &answer), 200);
    expect_contains(answer.body, "\"text\":\"");
    serve_outage_close_scene(&s);
}

static void an_outage_is_told_at_once_and_so_is_its_end(void **state)
{
    (void)state;
    scene s;
    http_client_answer answer;
    serve_outage_open_scene(&s);
    expect_int(take_another(&s, &answer), 201);
    expect_ready(&s, 200);
    expect_up(&s, 1);
    for (size_t round = 1; round <= 2; round++) {
        begin_outage(&s);
        serve_outage_expect_refused(&s);
        expect_ready(&s, 503);
        expect_up(&s, 0);
        expect_int(times_logged(&s, "The store can't be used"), round);
        nobody_is_told_details(&s);
        expect_ready(&s, 503);
        expect_int(times_logged(&s, "The store can't be used"), round);
        expect_int(times_logged(&s, "The store can be used again"), round - 1);
        end_outage(&s);
        for (int i = 0; i < 6000 && times_logged(&s, "The store can be used again") < round; i++)
            sleep_ms(5); /* nobody asks anything */
        expect_int(times_logged(&s, "The store can be used again"), round);
        expect_up(&s, 1);
        expect_ready(&s, 200);
        expect_int(take_another(&s, &answer), 201);
    }
    serve_outage_close_scene(&s);
}

static bool says_ready(scene *s, http_client_answer *answer)
{
    http_client_close(&s->client); /* while it waits, each answer ends its connection */
    return http_client_ask(&s->client, "GET", "/readyz", "", NULL, answer) ==
               HTTP_CLIENT_ANSWERED &&
           answer->status == 200;
}

static void a_store_that_is_away_at_the_start_is_waited_for(void **state)
{
    (void)state;
    scene s;
    http_client_answer answer = {0};
    if (server_name == NULL)
        return;
    serve_outage_open_scene(&s);
    expect_int(server_process_stop(s.server), 0);
    begin_outage(&s);
    server_process_up(s.server);
    expect_true(!says_ready(&s, &answer));
    expect_int(answer.status, 503);
    expect_no_details(&answer);
    expect_int(times_logged(&s, "The store does not answer; the server waits for it."), 1);
    end_outage(&s);
    for (int i = 0; i < 6000 && !says_ready(&s, &answer); i++)
        sleep_ms(5);
    expect_int(answer.status, 200);
    expect_int(take_another(&s, &answer), 201);
    serve_outage_close_scene(&s);
}

/* The program, with few open files. */
static void write_script(const char *path, const char *program, int files)
{
    FILE *script = fopen(path, "we");
    expect_true(script != NULL);
    fprintf(script, "#!/bin/sh\nulimit -n %d\nexec '%s' \"$@\"\n", files, program);
    expect_int(fclose(script), 0);
    expect_int(chmod(path, 0700), 0);
}

/* They hold all the connections that there may be, which are not all the files that there are. In
 * the end one of them gives way to whoever has something to ask. */
static void an_outage_ends_though_strangers_hold_all_connections(void **state)
{
    (void)state;
    enum { FILES = 120, STRANGERS = 200 };
    char script[HF_URL_MAX], program[HF_URL_MAX];
    int strangers[STRANGERS], status = 0;
    scene s;
    http_client_answer answer;
    if (server_name == NULL)
        return;
    snprintf(program, sizeof program, "%s", getenv("HOLDFAST"));
    scratch_path(".few", script);
    write_script(script, program, FILES);
    setenv("HOLDFAST", script, 1);
    serve_outage_open_scene(&s);
    setenv("HOLDFAST", program, 1);
    expect_int(times_logged(&s, "the server takes fewer connections"), 1);
    for (int i = 0; i < STRANGERS; i++) {
        struct sockaddr_in there = {.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)server_process_port(s.server)),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct sockaddr_in from = {.sin_family = AF_INET,
                                   /* of several addresses, none of them ours: each gets its part */
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (unsigned)i % 4)};
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        expect_int(bind(strangers[i], (struct sockaddr *)&from, sizeof from), 0);
        expect_int(connect(strangers[i], (struct sockaddr *)&there, sizeof there), 0);
    }
    begin_outage(&s);
    serve_outage_expect_refused(&s);
    sleep_ms(1500); /* strangers could take the files of the store's connections meanwhile */
    end_outage(&s);
    for (int i = 0; i < 6000 && times_logged(&s, "The store can be used again") < 1; i++)
        sleep_ms(5);
    expect_int(times_logged(&s, "The store can be used again"), 1);
    for (int i = 0; i < 600 && status != 200; i++) {
        http_client one = {.port = server_process_port(s.server), .fd = -1};
        int end = http_client_ask(&one, "GET", "/readyz", "", NULL, &answer);
        status = end == HTTP_CLIENT_ANSWERED ? answer.status : 0;
        http_client_close(&one);
        sleep_ms(50);
    }
    expect_int(status, 200);
    for (int i = 0; i < STRANGERS; i++)
        close(strangers[i]);
    serve_outage_close_scene(&s);
}

int main(int argc, char **argv)
{
    const char *preload = getenv("HF_TEST_PRELOAD");
    static char variable[HF_URL_MAX + 32];
    signal(SIGPIPE, SIG_IGN);
    server_name = argc > 1 ? argv[1] : NULL;
    if (server_name == NULL && preload == NULL)
        return 2;
    scratch_path(".full", full);
    setenv("HF_TEST_DISK_FULL", full, 1);
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", preload != NULL ? preload : "");
    server_process_environment(server_name == NULL ? variable : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durability_is_told_to_those_with_a_token),
        cmocka_unit_test(an_outage_is_told_at_once_and_so_is_its_end),
        cmocka_unit_test(a_store_that_is_away_at_the_start_is_waited_for),
        cmocka_unit_test(an_outage_ends_though_strangers_hold_all_connections),
    };
    return cmocka_run_group_tests_name("outages of the store under holdfast serve", tests, NULL,
                                       NULL);
}
