/* SPDX-License-Identifier: MIT */
/* Every allocation of the remote store and of libcurl fails in turn: opening and asking answer that
 * memory is out, or that the answer is lost, and never something wrong; nothing leaks (the address
 * sanitizer looks), and afterwards the same call works. The server's answers are fixed texts, so
 * that only the store needs memory. */
#include "remote_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/out_of_memory.h>

static const char ready[] = "HTTP/1.1 200 OK\r\nContent-Length: 52\r\n\r\n"
                            "{\"grade\":\"disk\",\"text\":\"SQLite\",\"broken\":false}     ";
static const char refused[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 68\r\n\r\n"
    "{\"answers\":[{\"status\":\"locked\",\"message\":\"Bob has it.\",\"now_us\":7}]}";
static const char problem[] = "HTTP/1.1 403 No\r\nContent-Length: 92\r\n\r\n"
                              "{\"type\":\"urn:holdfast:problem:denied\",\"status\":403,"
                              "\"code\":\"denied\",\"message\":\"Not for you.\"}";

enum { SEEN_MAX = 2000 };

/* Memory is out, or an answer was lost for want of it. */
static void fair(hf_status status, bool changes, const hf_error *err)
{
    bool good =
        status == HF_NO_MEMORY || status == HF_UNAVAILABLE || (status == HF_UNSURE && changes);
    if (!good)
        check_failed(__FILE__, __LINE__, "it came to %s: %s", hf_status_wire(status), err->message);
    expect_true(err->message[0] != '\0');
}

static void opening_survives_it(void **state)
{
    (void)state;
    scene s;
    hf_error err = {0};
    hf_store *store = NULL;
    char url[HF_URL_MAX + 64];
    unsigned n = 0;
    bool failed = true;
    setenv("HOLDFAST_TOKEN", "5ec4e7", 1);
    scene_serve(&s, NULL, NULL);
    snprintf(url, sizeof url, "%s/prefix?timeout=20s", s.url);
    batch_server_fail(s.server, &(batch_server_fault){.times = 1000000, .reply = ready});
    expect(HF_OK, remote_open(url, &store, &err), err); /* what libcurl sets up once */
    hf_store_close(store);
    while (failed && n < SEEN_MAX) {
        err = (hf_error){0};
        out_of_memory_begin(OF_LIBRARY, ++n, false);
        hf_status status = remote_open(url, &store, &err);
        failed = out_of_memory_end();
        if (status != HF_OK)
            fair(status, false, &err);
        expect_true((store != NULL) == (status == HF_OK));
        hf_store_close(store);
    }
    printf("# opening allocates %u times\n", n);
    expect_true(!failed && n > 20);
    unsetenv("HOLDFAST_TOKEN");
    scene_close(&s);
}

static void survive(scene *s, hf_op_kind kind, const char *reply, hf_status wanted, bool lasting)
{
    hf_error err;
    unsigned n = 0;
    bool failed = true;
    batch_server_fail(s->server, &(batch_server_fault){.times = 1000000, .reply = reply});
    for (; failed && n < SEEN_MAX; n++) {
        hf_batch *batch = NULL;
        expect(HF_OK, hf_batch_new(2, &batch, &err), err);
        hf_op *op = hf_batch_add(batch, kind);
        op->session = &s->alice;
        op->type = "policy";
        op->id = n % 2 ? "1" : "\xc3\xa9"; /* JSON of two lengths */
        op->request_id = "r1";
        out_of_memory_begin(OF_LIBRARY, n + 1, lasting);
        hf_status status = hf_store_execute(s->store, batch, &err);
        failed = out_of_memory_end();
        if (status == HF_OK)
            expect_status(wanted, op->answer.status, op->answer.message);
        else if (status != wanted)
            fair(status, kind != HF_OP_HOLDS, &err);
        hf_batch_free(batch);
        expect(wanted, ask(s, kind, "1", "r1", &err), err);
        if (n % 3 == 0)
            scene_reconnect(s);
    }
    printf("# a call allocates up to %u times\n", n);
    expect_true(!failed && n > 3);
}

static void asking_survives_it(void **state)
{
    (void)state;
    scene s;
    scene_open(&s, "");
    for (int lasting = 0; lasting < 2; lasting++) {
        survive(&s, HF_OP_ACQUIRE, refused, HF_LOCKED, lasting);
        survive(&s, HF_OP_HOLDS, refused, HF_LOCKED, lasting);
        survive(&s, HF_OP_ACQUIRE, problem, HF_DENIED, lasting);
    }
    scene_close(&s);
}

static void looking_at_the_metrics_survives_it(void **state)
{
    static const char counted[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nholdfast_sessions 3\n";
    (void)state;
    scene s;
    hf_error err = {0};
    unsigned n = 0;
    bool failed = true;
    scene_open(&s, "");
    batch_server_fail(s.server, &(batch_server_fault){.times = 1000000, .reply = counted});
    for (; failed && n < SEEN_MAX; n++) {
        char *text = NULL;
        out_of_memory_begin(OF_LIBRARY, n + 1, false);
        hf_status status = hf_store_metrics(s.store, &text, &err);
        failed = out_of_memory_end();
        if (status != HF_OK)
            fair(status, false, &err);
        else
            expect_text(text, "holdfast_sessions 3\n");
        hf_json_free(text);
        if (n % 3 == 0)
            scene_reconnect(&s);
    }
    expect_true(!failed && n > 1);
    scene_close(&s);
}

int main(void)
{
    unsetenv("HOLDFAST_TOKEN");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_survives_it),
        cmocka_unit_test(asking_survives_it),
        cmocka_unit_test(looking_at_the_metrics_survives_it),
    };
    return cmocka_run_group_tests_name("a remote store when memory runs out", tests, NULL, NULL);
}
