/* SPDX-License-Identifier: MIT */
/* The remote store: its URLs, tokens, connections, TLS, and what it leaves to the server. What goes
 * wrong on the way stands in remote_faults.c. */
#include "remote_scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/certificate.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "5ec4e75ec4e75ec4e75ec4e75ec4e75ec4e75ec4e75ec4e75ec4e75ec4e75ec4"

static void remote_write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    expect_true(file != NULL);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static void remote_opens(const char *url, hf_status status, const char *sentence)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(status, remote_open(url, &store, &err), err);
    if (status != HF_OK)
        expect_true(store == NULL);
    if (sentence)
        expect_contains(err.message, sentence);
    expect_lacks(err.message, "hunter2");
    expect_lacks(err.message, TOKEN);
    hf_store_close(store);
}

/* ---- URLs ---- */

static void a_url_that_makes_no_sense_is_invalid(void **state)
{
    (void)state;
    static const struct {
        const char *url, *sentence;
    } bad[] = {
        {"http:", "http://HOST:PORT"},
        {"http://", "http://HOST:PORT"},
        {"http:///v1", "http://HOST:PORT"},
        {"http:host", "http://HOST:PORT"},
        {"http:/host", "http://HOST:PORT"},
        {"http://?timeout=1s", "http://HOST:PORT"},
        {"http://:80", "http://HOST:PORT"},
        {"http://host:port", "http://HOST:PORT"},
        {"http://host:99999", "http://HOST:PORT"},
        {"http://ho st", "http://HOST:PORT"},
        {"http://host\n", "http://HOST:PORT"},
        {"http://me:hunter2@host", "token_file=PATH"},
        {"http://hunter2@host", "token_file=PATH"},
        {"http://host#hunter2", "#"},
        {"http://host?namespace=x", "namespace="},
        {"http://host?token=hunter2", "token_file=PATH"},
        {"http://host?hunter2", "parameters"},
        {"http://host?timeout=", "timeout=VALUE"},
        {"http://host?timeout", "timeout=VALUE"},
        {"http://host?timeout=5", "timeout=30s"},
        {"http://host?timeout=99ms", "timeout=30s"},
        {"http://host?timeout=61m", "timeout=30s"},
        {"http://host?timeout=1s&timeout=1s", "twice"},
        {"http://host?socket=%zz", "%25"},
        {"http://host?ca_file=/etc/passwd", "https://"},
        {"http://host?password_file=/x", "parameters"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        remote_opens(bad[i].url, HF_INVALID, bad[i].sentence);
    remote_opens("https://host?ca_file=/nowhere/ca.pem", HF_UNAVAILABLE, "/nowhere/ca.pem");
    remote_opens("http://host?token_file=/nowhere/token", HF_UNAVAILABLE,
                 "The token file /nowhere/token");
}

static void who_is_not_there_is_unavailable_and_the_sentence_says_why(void **state)
{
    (void)state;
    scene s;
    char url[HF_URL_MAX + 64];
    scene_serve(&s, NULL, NULL);
    int port = batch_server_port(s.server);
    scene_close(&s);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/prefix/", port);
    remote_opens(url, HF_UNAVAILABLE, "Connection refused");
    remote_opens(url, HF_UNAVAILABLE, "/prefix: ");
    remote_opens("http://nosuch.invalid:1", HF_UNAVAILABLE, "nosuch.invalid");
    remote_opens("http://x?socket=/nowhere/socket", HF_UNAVAILABLE, "/nowhere/socket");
}

static void a_server_below_a_path_and_on_a_unix_socket_is_found(void **state)
{
    (void)state;
    scene s;
    char path[HF_URL_MAX], url[HF_URL_MAX + 64], head[256];
    scene_serve(&s, NULL, NULL);
    snprintf(url, sizeof url, "%s/a/b//?timeout=5s", s.url);
    remote_opens(url, HF_OK, NULL);
    batch_server_last(s.server, head, sizeof head);
    expect_contains(head, "GET /a/b/readyz HTTP/1.1\r\n");
    scene_close(&s);
    scratch_path(".socket", path);
    scene_serve(&s, path, NULL);
    snprintf(url, sizeof url, "http://locks?socket=%s", path);
    remote_opens(url, HF_OK, NULL);
    batch_server_last(s.server, head, sizeof head);
    expect_contains(head, "\r\nHost: locks\r\n");
    scene_close(&s);
    unlink(path);
}

static void what_is_no_holdfast_server_is_said_to_be_none(void **state)
{
    (void)state;
    static const char *const replies[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"grade\":\"great\"}",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    };
    scene s;
    scene_serve(&s, NULL, NULL);
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        batch_server_fail(
            s.server,
            &(batch_server_fault){.times = 1, .reply = replies[i], .then = BATCH_SERVER_CLOSES});
        remote_opens(s.url, HF_UNAVAILABLE, "There is no holdfast server at http://127.0.0.1:");
    }
    batch_server_fail(s.server, &(batch_server_fault){.times = 1,
                                                      .reply = "SSH-2.0-OpenSSH\r\n",
                                                      .then = BATCH_SERVER_CLOSES});
    remote_opens(s.url, HF_UNAVAILABLE, NULL);
    remote_opens(s.url, HF_OK, NULL);
    scene_close(&s);
}

/* ---- tokens ---- */

static void the_token_comes_from_its_file_else_from_the_environment(void **state)
{
    (void)state;
    scene s;
    char path[HF_URL_MAX], url[2 * HF_URL_MAX + 32];
    scratch_path(".token", path);
    remote_write_file(path, TOKEN "\n", 0600);
    scene_serve(&s, NULL, NULL);
    batch_server_token(s.server, TOKEN);
    snprintf(url, sizeof url, "%s?token_file=%s", s.url, path);
    remote_opens(s.url, HF_UNAUTHENTICATED, "not known");
    remote_opens(url, HF_OK, NULL);
    setenv("HOLDFAST_TOKEN", TOKEN, 1);
    remote_opens(s.url, HF_OK, NULL);
    setenv("HOLDFAST_TOKEN", "another", 1);
    remote_opens(s.url, HF_UNAUTHENTICATED, "not known");
    remote_opens(url, HF_OK, NULL);
    setenv("HOLDFAST_TOKEN", "", 1);
    remote_opens(s.url, HF_UNAUTHENTICATED, "not known");
    setenv("HOLDFAST_TOKEN", "hunter2\r\nHost: elsewhere", 1);
    remote_opens(s.url, HF_INVALID, "HOLDFAST_TOKEN holds no token");
    unsetenv("HOLDFAST_TOKEN");
    remote_write_file(path, "hunter2 and more\n", 0600);
    remote_opens(url, HF_INVALID, "holds no token");
    remote_write_file(path, TOKEN, 0644);
    remote_opens(url, HF_INVALID, "chmod 600");
    remote_write_file(path, "", 0600);
    remote_opens(url, HF_INVALID, "The token file");
    scene_close(&s);
    unlink(path);
}

/* ---- connections ---- */

static void a_batch_is_one_request_on_a_connection_that_is_kept(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    char id[16], head[1024];
    scene_open(&s, "");
    size_t before = batch_server_batches(s.server);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%d", i);
        expect(HF_OK, ask(&s, HF_OP_ACQUIRE, id, i % 2 ? id : NULL, &err), err);
    }
    expect_int(batch_server_batches(s.server) - before, 100);
    expect_int(batch_server_connections(s.server), 1);
    batch_server_last(s.server, head, sizeof head);
    expect_contains(head, "POST /v1/batch HTTP/1.1\r\n");
    expect_contains(head, "\r\nContent-Type: application/json\r\n");
    expect_lacks(head, "Expect");
    expect_lacks(head, "Accept-Encoding");
    scene_close(&s);
}

static void a_batch_of_a_thousand_is_one_request_too(void **state)
{
    (void)state;
    scene s;
    hf_batch *batch = NULL;
    hf_error err = {0};
    static char ids[HF_BATCH_OPS_MAX][HF_ID_SIZE];
    scene_open(&s, "");
    size_t before = batch_server_batches(s.server);
    expect(HF_OK, hf_batch_new(HF_BATCH_OPS_MAX, &batch, &err), err);
    for (int i = 0; i < HF_BATCH_OPS_MAX; i++) {
        hf_op *op = hf_batch_add(batch, HF_OP_ACQUIRE);
        memset(ids[i], 'x', HF_ID_MAX);
        ids[i][snprintf(ids[i], HF_ID_SIZE, "%d", i)] = '-';
        op->session = &s.alice;
        op->type = "policy";
        op->id = ids[i];
        op->purpose = ids[i] + HF_ID_MAX - HF_TEXT_MAX;
    }
    expect(HF_OK, hf_store_execute(s.store, batch, &err), err);
    for (int i = 0; i < HF_BATCH_OPS_MAX; i++) {
        const hf_answer *answer = &hf_batch_op(batch, (size_t)i)->answer;
        expect_status(HF_OK, answer->status, answer->message);
        expect_text(answer->locks[0].resource.id, ids[i]);
    }
    expect_int(batch_server_batches(s.server) - before, 1);
    hf_batch_free(batch);
    scene_close(&s);
}

enum { THREADS = 8, ROUNDS = 40 };

typedef struct caller {
    scene *s;
    int number;
    hf_status status;
    hf_error err;
} caller;

static void *remote_caller_main(void *argument)
{
    caller *c = argument;
    char id[16];
    for (int i = 0; c->status == HF_OK && i < ROUNDS; i++) {
        snprintf(id, sizeof id, "%d-%d", c->number, i);
        c->status = ask(c->s, HF_OP_ACQUIRE, id, id, &c->err);
        if (c->status == HF_OK)
            c->status = ask(c->s, HF_OP_RELEASE, id, id, &c->err);
    }
    return NULL;
}

static void threads_that_share_a_store_have_a_connection_each(void **state)
{
    (void)state;
    scene s;
    static caller callers[THREADS];
    pthread_t threads[THREADS];
    scene_open(&s, "");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++) {
            callers[i] = (caller){.s = &s, .number = round * THREADS + i};
            expect_int(pthread_create(&threads[i], NULL, remote_caller_main, &callers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            expect_int(pthread_join(threads[i], NULL), 0);
            expect_status(HF_OK, callers[i].status, callers[i].err.message);
        }
    }
    expect_true(batch_server_connections(s.server) <= THREADS);
    expect_int(batch_server_batches(s.server), 1 + 2 * THREADS * ROUNDS * 2);
    scene_close(&s);
}

static void a_forked_child_is_refused(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    int status = 0;
    scene_open(&s, "");
    pid_t child = fork();
    if (child == 0) {
        hf_grade grade;
        bool good = ask(&s, HF_OP_HOLDS, "1", NULL, &err) == HF_INVALID;
        hf_store_grade(s.store, &grade);
        hf_store_close(s.store);
        _exit(good && grade.level == HF_GRADE_NONE ? 0 : 1);
    }
    expect_int(waitpid(child, &status, 0), child);
    expect_int(status, 0);
    expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", NULL, &err), err);
    expect_int(batch_server_connections(s.server), 1);
    scene_close(&s);
}

/* ---- TLS ---- */

static void a_certificate_is_checked(void **state)
{
    (void)state;
    scene s;
    char good[HF_URL_MAX], other[HF_URL_MAX], key[HF_URL_MAX], url[2 * HF_URL_MAX + 32];
    batch_server_tls tls = {good, key};
    scratch_path(".pem", other);
    scratch_path(".key", key);
    certificate_write("IP:127.0.0.1", 1, other, key);
    scratch_path(".pem", good);
    certificate_write("IP:127.0.0.1", 1, good, key);
    scene_serve(&s, NULL, &tls);
    snprintf(url, sizeof url, "%s?ca_file=%s", s.url, good);
    remote_opens(url, HF_OK, NULL);
    remote_opens(s.url, HF_UNAVAILABLE,
                 "is not trusted: SSL certificate problem: self-signed certificate");
    remote_opens(s.url, HF_UNAVAILABLE, "ca_file=PATH");
    snprintf(url, sizeof url, "%s?ca_file=%s", s.url, other);
    remote_opens(url, HF_UNAVAILABLE, "is not trusted");
    remote_write_file(other, "this is no certificate\n", 0600);
    remote_opens(url, HF_UNAVAILABLE, "is not trusted");
    snprintf(url, sizeof url, "http%s", s.url + strlen("https"));
    remote_opens(url, HF_UNAVAILABLE, NULL);
    expect_int(batch_server_batches(s.server), 0);
    scene_close(&s);
    scene_serve(&s, NULL, NULL);
    snprintf(url, sizeof url, "https%s", s.url + strlen("http"));
    remote_opens(url, HF_UNAVAILABLE, "There is no TLS with https://127.0.0.1:");
    scene_close(&s);
}

static void a_certificate_for_another_name_or_time_is_not_trusted(void **state)
{
    (void)state;
    static const struct {
        const char *subject;
        int days;
        const char *sentence;
    } bad[] = {{"DNS:elsewhere.example", 1, "no alternative certificate subject name"},
               {"IP:127.0.0.1", -1, "expired"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scene s;
        char certificate[HF_URL_MAX], key[HF_URL_MAX], url[2 * HF_URL_MAX + 32];
        batch_server_tls tls = {certificate, key};
        scratch_path(".pem", certificate);
        scratch_path(".key", key);
        certificate_write(bad[i].subject, bad[i].days, certificate, key);
        scene_serve(&s, NULL, &tls);
        snprintf(url, sizeof url, "%s?ca_file=%s", s.url, certificate);
        remote_opens(url, HF_UNAVAILABLE, bad[i].sentence);
        scene_close(&s);
    }
}

/* ---- what is the server's ---- */

static void the_grade_is_the_servers(void **state)
{
    (void)state;
    scene s;
    hf_grade grade;
    static const char body[] =
        "{\"grade\":\"disk\",\"text\":\"a sync failed\",\"broken\":true,\"new\":1}";
    char broken[256];
    snprintf(broken, sizeof broken, "HTTP/1.1 503 No\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    scene_open(&s, "");
    hf_store_grade(s.store, &grade);
    expect_int(grade.level, HF_GRADE_NONE);
    expect_contains(grade.text, "the server at http://127.0.0.1:");
    batch_server_fail(s.server, &(batch_server_fault){.times = 2, .reply = broken});
    hf_store_grade(s.store, &grade);
    expect_int(grade.level, HF_GRADE_DISK);
    expect_true(grade.broken);
    expect_contains(grade.text, "a sync failed");
    remote_opens(s.url, HF_UNAVAILABLE, "is not ready: a sync failed");
    batch_server_fail(s.server, &(batch_server_fault){.times = 1, .then = BATCH_SERVER_CLOSES});
    scene_reconnect(&s);
    hf_store_grade(s.store, &grade);
    expect_int(grade.level, HF_GRADE_DISK);
    expect_contains(grade.text, "no answer now from http://127.0.0.1:");
    scene_close(&s);
}

static void installing_and_backing_up_are_refused_with_the_way_to_do_it(void **state)
{
    (void)state;
    scene s;
    hf_error err = {0};
    scene_open(&s, "");
    expect(HF_INVALID, hf_store_backup(s.store, "/nowhere/file", &err), err);
    expect_contains(err.message, "URL that the server is started with");
    expect(HF_INVALID, hf_store_restore(s.store, "/nowhere/file", true, &err), err);
    /* through the module: nothing is asked */
    expect(HF_INVALID, hf_store_install(s.url, NULL, &err), err);
    expect_contains(err.message, "installed on its own store");
    expect(HF_INVALID, hf_store_uninstall(s.url, true, &err), err);
    expect_contains(err.message, "removed from its own store");
    scene_close(&s);
}

/* ---- flaws ---- */

static void a_flaw_is_answered_and_the_other_ops_are_not_harmed(void **state)
{
    (void)state;
    scene s;
    hf_batch *batch = NULL;
    hf_error err = {0};
    hf_credentials keyless;
    scene_open(&s, "");
    keyless = s.alice;
    memset(keyless.key, 0, sizeof keyless.key);
    expect(HF_OK, hf_batch_new(4, &batch, &err), err);
    const hf_op ops[] = {
        {.kind = HF_OP_ACQUIRE, .session = &s.alice, .type = "policy", .id = "1", .ttl_us = -1},
        {.kind = HF_OP_ACQUIRE, .session = &s.alice, .type = "policy", .id = "2"},
        {.kind = HF_OP_ACQUIRE, .session = &keyless, .type = "policy", .id = "3"},
        /* not told, and yet a flaw */
        {.kind = HF_OP_BEAT, .session = &s.alice, .mode = (hf_mode)7},
    };
    for (size_t i = 0; i < 4; i++)
        *hf_batch_add(batch, ops[i].kind) = ops[i];
    expect(HF_OK, hf_store_execute(s.store, batch, &err), err);
    static const hf_status wanted[] = {HF_INVALID, HF_OK, HF_INVALID, HF_INVALID};
    static const char *const words[] = {"ttl", NULL, "key", "mode"};
    for (size_t i = 0; i < 4; i++) {
        const hf_answer *answer = &hf_batch_op(batch, i)->answer;
        expect_status(wanted[i], answer->status, answer->message);
        expect_true(answer->now_us > 0);
        if (words[i])
            expect_contains(answer->message, words[i]);
    }
    size_t before = batch_server_batches(s.server);
    hf_batch_clear(batch);
    hf_batch_add(batch, HF_OP_LIST)->type = "Not A Type";
    expect(HF_OK, hf_store_execute(s.store, batch, &err), err);
    expect_status(HF_INVALID, hf_batch_op(batch, 0)->answer.status, "");
    expect_int(batch_server_batches(s.server), before);
    hf_batch_free(batch);
    scene_close(&s);
}

static void what_the_server_counts_is_passed_on(void **state)
{
    (void)state;
    scene s;
    char path[HF_URL_MAX], *text = NULL;
    hf_error err = {0};
    scratch_path(".prom", path);
    scene_serve(&s, NULL, NULL);
    batch_server_metrics(s.server, path);
    expect(HF_OK, remote_open(s.url, &s.store, &err), err);
    /* the file is not there yet */
    expect(HF_UNAVAILABLE, hf_store_metrics(s.store, &text, &err), err);
    expect_contains(err.message, "answered with 404");
    remote_write_file(path, "holdfast_sessions 3\n", 0600);
    expect(HF_OK, hf_store_metrics(s.store, &text, &err), err);
    expect_text(text, "holdfast_sessions 3\n");
    hf_json_free(text);
    remote_write_file(path, "", 0600);
    expect(HF_OK, hf_store_metrics(s.store, &text, &err), err);
    expect_text(text, "");
    hf_json_free(text);
    text = NULL;
    batch_server_token(s.server, TOKEN);
    expect(HF_UNAUTHENTICATED, hf_store_metrics(s.store, &text, &err), err);
    expect(HF_NOT_FOUND, hf_store_metrics(s.behind, &text, &err), err);
    expect_contains(err.message, "memory: is no server");
    expect_true(text == NULL);
    scene_close(&s);
}

int main(void)
{
    unsetenv("HOLDFAST_TOKEN");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_that_makes_no_sense_is_invalid),
        cmocka_unit_test(who_is_not_there_is_unavailable_and_the_sentence_says_why),
        cmocka_unit_test(a_server_below_a_path_and_on_a_unix_socket_is_found),
        cmocka_unit_test(what_is_no_holdfast_server_is_said_to_be_none),
        cmocka_unit_test(the_token_comes_from_its_file_else_from_the_environment),
        cmocka_unit_test(a_batch_is_one_request_on_a_connection_that_is_kept),
        cmocka_unit_test(a_batch_of_a_thousand_is_one_request_too),
        cmocka_unit_test(threads_that_share_a_store_have_a_connection_each),
        cmocka_unit_test(a_forked_child_is_refused),
        cmocka_unit_test(a_certificate_is_checked),
        cmocka_unit_test(a_certificate_for_another_name_or_time_is_not_trusted),
        cmocka_unit_test(the_grade_is_the_servers),
        cmocka_unit_test(what_the_server_counts_is_passed_on),
        cmocka_unit_test(installing_and_backing_up_are_refused_with_the_way_to_do_it),
        cmocka_unit_test(a_flaw_is_answered_and_the_other_ops_are_not_harmed),
    };
    return cmocka_run_group_tests_name("the remote store", tests, NULL, NULL);
}
