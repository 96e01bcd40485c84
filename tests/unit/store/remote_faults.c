/* SPDX-License-Identifier: MIT */
/* What goes wrong between a remote store and its server: what was not sent was not done, what was
 * not answered is unsure when it changes anything, and nothing is done twice. */
#include "remote_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many locks there are on policy/ID in the store behind. */
static size_t remote_faults_holders(scene *s, const char *id)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_WHO);
    op->type = "policy";
    op->id = id;
    expect(HF_OK, hf_store_execute(s->behind, batch, &err), err);
    size_t count = op->answer.locks_count;
    hf_batch_free(batch);
    return count;
}

/* ---- connections that die ---- */

static void a_server_that_was_started_again_between_calls_is_no_error(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    char id[16];
    scene_open(&s, "");
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "%d", i);
        size_t before = batch_server_connections(s.server);
        batch_server_cut(s.server);
        expect(HF_OK, ask(&s, HF_OP_ACQUIRE, id, i % 2 ? id : NULL, &err), err);
        expect_int(batch_server_connections(s.server), before + 1);
    }
    expect_int(events_of(&s, HF_EVENT_ACQUIRED), 20);
    scene_close(&s);
}

/* Of a kept connection it can't be known whether it died before the request came; with request ids
 * that does not matter. */
static void a_kept_connection_that_dies_is_made_up_for_where_nothing_is_done_twice(void **state)
{
    (void)state;
    static const batch_server_then ends[] = {BATCH_SERVER_CLOSES, BATCH_SERVER_RESETS};
    for (int executed = 0; executed < 2; executed++)
        for (size_t i = 0; i < 2; i++) {
            scene s;
            hf_error err;
            batch_server_fault whim = {.times = 1, .execute = executed, .then = ends[i]};
            scene_open(&s, "");
            size_t before = batch_server_batches(s.server);
            batch_server_fail(s.server, &whim);
            expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
            expect_int(batch_server_batches(s.server) - before, 2);
            batch_server_fail(s.server, &whim);
            expect(HF_OK, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
            batch_server_fail(s.server, &whim);
            expect(HF_OK, ask(&s, HF_OP_BEAT, NULL, NULL, &err), err);
            batch_server_fail(s.server, &whim);
            expect(HF_OK, ask(&s, HF_OP_RELEASE, "1", "r2", &err), err);
            expect_int(events_of(&s, HF_EVENT_ACQUIRED), 1);
            expect_int(events_of(&s, HF_EVENT_RELEASED), 1);
            scene_close(&s);
        }
}

static void without_a_request_id_nothing_is_sent_twice(void **state)
{
    (void)state;
    static const batch_server_then ends[] = {BATCH_SERVER_CLOSES, BATCH_SERVER_RESETS};
    for (int executed = 0; executed < 2; executed++)
        for (size_t i = 0; i < 2; i++) {
            scene s;
            hf_error err;
            scene_open(&s, "");
            size_t before = batch_server_batches(s.server);
            batch_server_fail(
                s.server, &(batch_server_fault){.times = 1, .execute = executed, .then = ends[i]});
            expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", NULL, &err), err);
            expect_int(batch_server_batches(s.server) - before, 1);
            expect_int(remote_faults_holders(&s, "1"), executed);
            expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", NULL, &err), err);
            scene_close(&s);
        }
}

static void a_note_is_not_repeated_even_with_a_request_id(void **state)
{
    (void)state;
    scene s;
    hf_batch *batch = NULL;
    hf_error err = {0};
    scene_open(&s, "");
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_NOTE);
    op->event = HF_EVENT_DENIED;
    op->text = "no right";
    op->request_id = "r1";
    batch_server_fail(
        s.server, &(batch_server_fault){.times = 1, .execute = true, .then = BATCH_SERVER_CLOSES});
    expect(HF_UNSURE, hf_store_execute(s.store, batch, &err), err);
    expect_int(events_of(&s, HF_EVENT_DENIED), 1);
    hf_batch_free(batch);
    scene_close(&s);
}

/* On a connection that was made for it there is no doubt that the server had the request. */
static void what_was_sent_and_not_answered_is_unsure_if_it_changes_anything(void **state)
{
    (void)state;
    static const batch_server_fault whims[] = {
        {.times = 1, .then = BATCH_SERVER_CLOSES},
        {.times = 1, .then = BATCH_SERVER_RESETS},
        {.times = 1, .execute = true, .then = BATCH_SERVER_RESETS},
        {.times = 1, .half = true, .then = BATCH_SERVER_CLOSES},
        {.times = 1, .half = true, .then = BATCH_SERVER_RESETS},
        {.times = 1, .reply = "HTTP/1.1 2", .then = BATCH_SERVER_CLOSES},
        {.times = 1, .reply = "HTTP/1.1 200 OK\r\n", .then = BATCH_SERVER_CLOSES},
        {.times = 1,
         .reply = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{",
         .then = BATCH_SERVER_CLOSES},
        {.times = 1, .reply = "HTTP/1.1 100 Continue\r\n\r\n", .then = BATCH_SERVER_CLOSES},
        {.times = 1, .reply = "220 smtp.example ESMTP\r\n", .then = BATCH_SERVER_CLOSES},
    };
    for (size_t i = 0; i < sizeof whims / sizeof *whims; i++) {
        scene s;
        hf_error err;
        scene_open(&s, "");
        batch_server_fail(s.server, &whims[i]);
        scene_reconnect(&s);
        size_t before = batch_server_batches(s.server);
        expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_contains(err.message, "ask again with the same request id");
        expect_int(batch_server_batches(s.server) - before, 1);
        expect_int(remote_faults_holders(&s, "1"), whims[i].execute || whims[i].half);
        expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_int(events_of(&s, HF_EVENT_ACQUIRED), 1);
        batch_server_fail(s.server, &whims[i]);
        scene_reconnect(&s);
        expect(HF_UNAVAILABLE, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
        expect(HF_OK, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
        scene_close(&s);
    }
}

/* An easy call of which something becomes on its way, on a connection that was kept or on a new
 * one, asks again, and it is done once. */
static void is_asked_again(const batch_server_fault *whim, bool kept)
{
    scene s;
    hf_error err = {0};
    hf_manager *manager = NULL;
    hf_session *session = NULL;
    hf_resource policy;
    scene_open(&s, "");
    expect(HF_OK, hf_manager_on(s.store, &manager, &err), err);
    s.store = NULL;
    expect(HF_OK, hf_resource_parse("policy/1", &policy, &err), err);
    expect(HF_OK, hf_session_open(manager, &(hf_session_options){.user = "bob"}, &session, &err),
           err);
    batch_server_fail(s.server, whim);
    if (!kept)
        scene_reconnect(&s);
    expect(HF_OK, hf_session_acquire(session, &policy, NULL, NULL, &err), err);
    expect_int(remote_faults_holders(&s, "1"), 1);
    expect_int(events_of(&s, HF_EVENT_ACQUIRED), 1);
    hf_session_free(session);
    hf_manager_close(manager);
    scene_close(&s);
}

static void an_easy_call_whose_answer_got_lost_asks_again_in_remote_faults(void **state)
{
    (void)state;
    is_asked_again(&(batch_server_fault){.times = 1, .half = true, .then = BATCH_SERVER_RESETS},
                   false);
}

static void a_server_that_is_gone_did_nothing(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    scene_open(&s, "");
    batch_server_stop(s.server);
    s.server = NULL;
    expect(HF_UNAVAILABLE, ask(&s, HF_OP_ACQUIRE, "1", NULL, &err), err);
    expect_contains(err.message, "Nothing was done");
    scene_close(&s);
}

static void who_does_not_answer_is_not_waited_for_longer_than_the_url_says(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    scene_open(&s, "?timeout=400ms");
    batch_server_fail(s.server, &(batch_server_fault){.times = 3, .then = BATCH_SERVER_HANGS});
    expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
    expect_contains(err.message, "400 ms");
    expect(HF_UNAVAILABLE, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
    batch_server_fail(s.server,
                      &(batch_server_fault){.times = 1, .half = true, .then = BATCH_SERVER_HANGS});
    expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
    expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
    expect_int(events_of(&s, HF_EVENT_ACQUIRED), 1);
    scene_close(&s);
}

/* ---- answers that are none ---- */

static void reply_with(scene *s, char *room, size_t size, const char *status, const char *body)
{
    snprintf(room, size, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body),
             body);
    batch_server_fail(s->server, &(batch_server_fault){.times = 1, .reply = room});
}

static void an_answer_that_makes_no_sense_is_unsure(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "<html>",
        "null",
        "[]",
        "{}",
        "{\"answers\":{}}",
        "{\"answers\":[]}",
        "{\"answers\":[{\"status\":\"ok\"},{\"status\":\"ok\"}]}",
        "{\"answers\":[{\"status\":\"perhaps\"}]}",
        "{\"answers\":[{}]}",
        "{\"answers\":[{\"status\":\"ok\",\"locks\":[{\"resource\":\"policy/1\"}]}]}",
        "{\"answers\":[{\"status\":\"ok\",\"now\":1794739623123456}]}",
        "{\"answers\":[{\"status\":\"ok\",\"now\":\"2026-11-15\\n\"}]}",
        "{\"answers\":[{\"status\":\"ok\"}]} more",
    };
    scene s;
    hf_error err;
    char room[1024];
    scene_open(&s, "");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        reply_with(&s, room, sizeof room, "200 OK", bodies[i]);
        expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        reply_with(&s, room, sizeof room, "200 OK", bodies[i]);
        expect(HF_UNAVAILABLE, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
    }
    reply_with(&s, room, sizeof room, "200 OK",
               "{\"answers\":[{\"status\":\"not_held\",\"message\":\"No.\",\"new\":[1]}]}");
    expect(HF_NOT_HELD, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
    expect_text(err.message, "No.");
    scene_close(&s);
}

/* Whoever asked takes the rows without looking whether they are there. */
static void an_answer_that_lacks_its_rows_is_none(void **state)
{
    (void)state;
    static const unsigned char sha256[32] = {1};
    static const char *const bodies[] = {
        "{\"answers\":[{\"status\":\"ok\",\"more\":true}]}",
        "{\"answers\":[{\"status\":\"ok\",\"outcome\":\"granted\",\"locks_count\":1}]}",
        ("{\"answers\":[{\"status\":\"ok\",\"locks\":[],\"sessions\":[],\"types\":[],"
         "\"tokens\":[],\"more\":true,\"next\":\"\"}]}"),
    };
    scene s;
    scene_open(&s, "");
    char room[1024], id[HF_TOKEN_ID_SIZE];
    memset(id, 'a', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    const hf_op ops[] = {
        {.kind = HF_OP_SESSION_OPEN, .session = &s.alice, .user = "alice"},
        {.kind = HF_OP_BEAT, .session = &s.alice},
        {.kind = HF_OP_SESSION_FIND, .session = &s.alice},
        {.kind = HF_OP_ACQUIRE, .session = &s.alice, .type = "policy", .id = "1"},
        {.kind = HF_OP_RENEW, .session = &s.alice, .type = "policy", .id = "1"},
        {.kind = HF_OP_DOWNGRADE, .session = &s.alice, .type = "policy", .id = "1"},
        {.kind = HF_OP_HOLDS, .session = &s.alice, .type = "policy", .id = "1"},
        {.kind = HF_OP_TYPE_GET, .type = "policy"},
        {.kind = HF_OP_TOKEN_CREATE, .token = id, .sha256 = sha256, .name = "job", .roles = "use"},
        {.kind = HF_OP_TOKEN_FIND, .sha256 = sha256},
        {.kind = HF_OP_TOKEN_REVOKE, .token = id},
        {.kind = HF_OP_LIST},
        {.kind = HF_OP_SESSIONS},
        {.kind = HF_OP_TOKENS},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops * (sizeof bodies / sizeof *bodies); i++) {
        const hf_op *op = &ops[i / 3];
        hf_batch *batch = NULL;
        hf_error err = {0};
        expect(HF_OK, hf_batch_new(1, &batch, &err), err);
        *hf_batch_add(batch, op->kind) = *op;
        reply_with(&s, room, sizeof room, "200 OK", bodies[i % 3]);
        expect(hf_op_reads(op->kind) ? HF_UNAVAILABLE : HF_UNSURE,
               hf_store_execute(s.store, batch, &err), err);
        hf_batch_free(batch);
    }
    scene_close(&s);
}

/* Where they are only counted, or have moved on since, there need be none; a refusal that counts
 * holders shows them. */
static void an_answer_without_rows_is_taken_where_none_are_promised(void **state)
{
    (void)state;
    static const struct {
        hf_op_kind kind;
        const char *body;
        hf_status status;
    } cases[] = {
        {HF_OP_CLOSE, "{\"answers\":[{\"status\":\"ok\",\"locks_count\":3}]}", HF_OK},
        {HF_OP_RELEASE_ALL, "{\"answers\":[{\"status\":\"ok\",\"locks_count\":3}]}", HF_OK},
        {HF_OP_RELEASE, "{\"answers\":[{\"status\":\"ok\"}]}", HF_OK},
        {HF_OP_REQUEST, "{\"answers\":[{\"status\":\"ok\"}]}", HF_OK},
        {HF_OP_WHO, "{\"answers\":[{\"status\":\"ok\"}]}", HF_OK},
        {HF_OP_WHO, "{\"answers\":[{\"status\":\"ok\",\"locks_count\":1}]}", HF_UNAVAILABLE},
        {HF_OP_RELEASE, "{\"answers\":[{\"status\":\"ok\",\"locks_count\":1}]}", HF_UNSURE},
        {HF_OP_ACQUIRE, "{\"answers\":[{\"status\":\"locked\",\"message\":\"No.\"}]}", HF_LOCKED},
        {HF_OP_ACQUIRE,
         "{\"answers\":[{\"status\":\"locked\",\"message\":\"No.\",\"locks_count\":1}]}",
         HF_UNSURE},
    };
    scene s;
    hf_error err;
    char room[1024];
    scene_open(&s, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool whole = cases[i].kind == HF_OP_CLOSE || cases[i].kind == HF_OP_RELEASE_ALL;
        reply_with(&s, room, sizeof room, "200 OK", cases[i].body);
        expect(cases[i].status, ask(&s, cases[i].kind, whole ? NULL : "1", NULL, &err), err);
    }
    scene_close(&s);
}

static void an_answer_without_an_end_is_cut_off(void **state)
{
    (void)state;
    static const char *const heads[] = {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 500 No\r\n\r\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        scene s;
        hf_error err;
        scene_open(&s, "?timeout=60s");
        batch_server_fail(s.server, &(batch_server_fault){.times = 1,
                                                          .reply = heads[i],
                                                          .spaces = (size_t)70 << 20,
                                                          .then = BATCH_SERVER_CLOSES});
        expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        scene_close(&s);
    }
}

/* ---- statuses ---- */

static void an_http_status_says_what_it_can(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        hf_status change, read;
        const char *sentence;
    } table[] = {
        {"400 Bad Request", HF_UNAVAILABLE, HF_UNAVAILABLE, "no holdfast server"},
        {"401 Unauthorized", HF_UNAUTHENTICATED, HF_UNAUTHENTICATED, "HOLDFAST_TOKEN"},
        {"403 Forbidden", HF_DENIED, HF_DENIED, "does not allow"},
        {"404 Not Found", HF_UNAVAILABLE, HF_UNAVAILABLE, "no holdfast server"},
        {"405 Method Not Allowed", HF_UNAVAILABLE, HF_UNAVAILABLE, "no holdfast server"},
        {"408 Request Timeout", HF_UNAVAILABLE, HF_UNAVAILABLE, "408"},
        {"413 Content Too Large", HF_TOO_LARGE, HF_TOO_LARGE, "less"},
        {"429 Too Many Requests", HF_TOO_MANY, HF_TOO_MANY, "wait"},
        {"302 Found", HF_UNAVAILABLE, HF_UNAVAILABLE, "302"},
        {"500 Internal Server Error", HF_UNSURE, HF_UNAVAILABLE, "500"},
        {"502 Bad Gateway", HF_UNSURE, HF_UNAVAILABLE, "proxy"},
        {"503 Service Unavailable", HF_UNSURE, HF_UNAVAILABLE, "proxy"},
        {"504 Gateway Timeout", HF_UNSURE, HF_UNAVAILABLE, "proxy"},
    };
    scene s;
    hf_error err;
    char room[1024];
    scene_open(&s, "");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        reply_with(&s, room, sizeof room, table[i].status, "<html><body>a proxy");
        expect(table[i].change, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_contains(err.message, table[i].sentence);
        reply_with(&s, room, sizeof room, table[i].status, "");
        expect(table[i].read, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
    }
    scene_close(&s);
}

/* As Envoy does when its connection to the server breaks: the server has carried it out. */
static void a_proxy_that_lost_the_answer_and_says_503_is_asked_again(void **state)
{
    (void)state;
    is_asked_again(&(batch_server_fault){.times = 1,
                                         .execute = true,
                                         .reply =
                                             "HTTP/1.1 503 Service Unavailable\r\n"
                                             "Content-Length: 95\r\n\r\n"
                                             "upstream connect error or disconnect/reset before "
                                             "headers. reset reason: connection termination"},
                   false);
}

/* A refusal of holdfast's, or of a gateway, whole; with 200 it is the op that is refused. */
static void write_refusal(char *room, size_t size, int http, const char *code)
{
    char body[256] = "<html>";
    if (http == 200)
        snprintf(body, sizeof body, "{\"answers\":[{\"status\":\"%s\"}]}", code);
    else if (code != NULL)
        snprintf(body, sizeof body,
                 "{\"type\":\"urn:holdfast:problem:%s\",\"status\":%d,\"code\":\"%s\"}", code, http,
                 code);
    snprintf(room, size, "HTTP/1.1 %d No\r\nContent-Length: %zu\r\n\r\n%s", http, strlen(body),
             body);
}

/* P12: the first sending was carried out and its answer lost; that the second one is refused says
 * nothing about it. */
static void a_refusal_of_what_was_sent_again_is_no_word_about_the_first_sending(void **state)
{
    (void)state;
    static const struct {
        int http;
        const char *code;
        hf_status read; /* what it says where nothing was to be changed */
    } refusals[] = {
        {429, "too_many", HF_TOO_MANY},
        {429, NULL, HF_TOO_MANY},
        {503, "unavailable", HF_UNAVAILABLE},
        {503, NULL, HF_UNAVAILABLE},
        {403, "denied", HF_DENIED},
        {401, NULL, HF_UNAUTHENTICATED},
        {403, NULL, HF_DENIED},
        {413, NULL, HF_TOO_LARGE},
        {408, NULL, HF_UNAVAILABLE},
        {404, "not_found", HF_UNAVAILABLE},
        {200, "expired", HF_EXPIRED},
        {200, "locked", HF_LOCKED},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        scene s;
        hf_error err;
        char room[1024];
        write_refusal(room, sizeof room, refusals[i].http, refusals[i].code);
        batch_server_fault second = {.times = 1, .reply = room};
        batch_server_fault first = {
            .times = 1, .execute = true, .then = BATCH_SERVER_CLOSES, .next = &second};
        scene_open(&s, "");
        size_t before = batch_server_batches(s.server);
        batch_server_fail(s.server, &first);
        expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_contains(err.message, "ask again with the same request id");
        expect_int(batch_server_batches(s.server) - before, 2);
        expect_int(remote_faults_holders(&s, "1"), 1);
        expect(HF_OK, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_int(events_of(&s, HF_EVENT_ACQUIRED), 1);
        batch_server_fail(s.server, &first);
        expect(refusals[i].read, ask(&s, HF_OP_HOLDS, "1", NULL, &err), err);
        scene_close(&s);
        is_asked_again(&first, true);
    }
}

static void problem_details_of_a_server_are_passed_on(void **state)
{
    (void)state;
    scene s;
    hf_error err;
    char room[4096], body[2048];
    scene_open(&s, "");
    for (int status = HF_OK + 1; status < HF_STATUS_COUNT; status++) {
        snprintf(body, sizeof body,
                 "{\"type\":\"urn:holdfast:problem:%s\",\"title\":\"x\",\"status\":%d,\"detail\":"
                 "\"Said so.\","
                 "\"code\":\"%s\",\"message\":\"Said "
                 "so.\",\"resource\":\"policy/1\",\"holders\":[],\"new\":{\"a\":[1,2]}}",
                 hf_status_wire((hf_status)status), hf_status_http((hf_status)status),
                 hf_status_wire((hf_status)status));
        char head[64];
        snprintf(head, sizeof head, "%d No", hf_status_http((hf_status)status));
        reply_with(&s, room, sizeof room, head, body);
        if (status == HF_NOT_FOUND || status == HF_EXPIRED) { /* of the path, not of the session */
            expect(HF_UNAVAILABLE, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
            continue;
        }
        expect((hf_status)status, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_text(err.message, "Said so.");
        expect_text(err.resource, "policy/1");
    }
#define OURS "{\"type\":\"urn:holdfast:problem:denied\",\"status\":403,\"code\":\"denied\""
    static const struct {
        const char *body, *sentence;
    } odd[] = {
        {OURS "}", "says: the key is wrong or the right is missing"},
        {OURS ",\"message\":\"\\u001b[31m\"}", "says: the key"},
        {OURS ",\"message\":7,\"detail\":\"Because.\"}", "Because."},
        {"{\"type\":\"urn:holdfast:problem:ok\",\"status\":403,\"code\":\"ok\"}",
         "does not allow it"},
        {"{\"type\":\"urn:holdfast:problem:odd\",\"status\":403,\"code\":\"odd\"}",
         "does not allow it"},
        {"{\"type\":\"urn:holdfast:problem:\",\"status\":403,\"code\":null}", "does not allow it"},
        {"\"denied\"", "does not allow it"},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        reply_with(&s, room, sizeof room, "403 Forbidden", odd[i].body);
        expect(HF_DENIED, ask(&s, HF_OP_ACQUIRE, "1", "r1", &err), err);
        expect_contains(err.message, odd[i].sentence);
    }
    scene_close(&s);
}

/* What says `code` need not be holdfast: it may have been carried out all the same. */
static void what_a_gateway_says_is_not_taken_for_the_servers_word(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"code\":\"unavailable\",\"message\":\"no upstream\"}",
        "{\"type\":\"about:blank\",\"status\":503,\"code\":\"unavailable\"}",
        "{\"type\":\"urn:holdfast:problem:unavailable\",\"code\":\"unavailable\"}",
        "{\"type\":\"urn:holdfast:problem:unavailable\",\"status\":502,\"code\":\"unavailable\"}",
        "{\"type\":\"urn:holdfast:problem:busy\",\"status\":503,\"code\":\"unavailable\"}",
    };
    scene s;
    hf_error err;
    char room[1024];
    scene_open(&s, "");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        reply_with(&s, room, sizeof room, "503 Service Unavailable", bodies[i]);
        expect(HF_UNSURE, ask(&s, HF_OP_ACQUIRE, "1", NULL, &err), err);
        reply_with(&s, room, sizeof room, "404 Not Found", "{\"code\":\"not_found\"}");
        expect(HF_UNAVAILABLE, ask(&s, HF_OP_BEAT, NULL, NULL, &err), err);
        expect_contains(err.message, "something else answered with 404");
    }
    scene_close(&s);
}

int main(void)
{
    unsetenv("HOLDFAST_TOKEN");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_was_started_again_between_calls_is_no_error),
        cmocka_unit_test(a_kept_connection_that_dies_is_made_up_for_where_nothing_is_done_twice),
        cmocka_unit_test(without_a_request_id_nothing_is_sent_twice),
        cmocka_unit_test(a_note_is_not_repeated_even_with_a_request_id),
        cmocka_unit_test(what_was_sent_and_not_answered_is_unsure_if_it_changes_anything),
        cmocka_unit_test(an_easy_call_whose_answer_got_lost_asks_again_in_remote_faults),
        cmocka_unit_test(a_server_that_is_gone_did_nothing),
        cmocka_unit_test(who_does_not_answer_is_not_waited_for_longer_than_the_url_says),
        cmocka_unit_test(an_answer_that_makes_no_sense_is_unsure),
        cmocka_unit_test(an_answer_that_lacks_its_rows_is_none),
        cmocka_unit_test(an_answer_without_rows_is_taken_where_none_are_promised),
        cmocka_unit_test(an_answer_without_an_end_is_cut_off),
        cmocka_unit_test(an_http_status_says_what_it_can),
        cmocka_unit_test(a_proxy_that_lost_the_answer_and_says_503_is_asked_again),
        cmocka_unit_test(a_refusal_of_what_was_sent_again_is_no_word_about_the_first_sending),
        cmocka_unit_test(problem_details_of_a_server_are_passed_on),
        cmocka_unit_test(what_a_gateway_says_is_not_taken_for_the_servers_word),
    };
    return cmocka_run_group_tests_name("a remote store and what goes wrong", tests, NULL, NULL);
}
