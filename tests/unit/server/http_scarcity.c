/* SPDX-License-Identifier: MIT */
/* HTTP when memory runs out: whichever allocation fails, of whatever kind of request, nothing
 * crashes or leaks, and the server goes on when there is memory again. */
#include "unit/server/http_scene.h"

#include <stdio.h>
#include <string.h>
#include <support/out_of_memory.h>
#include <support/test_store.h>
#include <unistd.h>

#define HOST "Host: a\r\n"

static scene s;

static bool http_scarcity_is_over(client *c)
{
    listen_to(c);
    return c->eof || c->reset;
}

/* A connection that asks, all in scarcity, and is closed by either side in the end. */
static void http_scarcity_ask(const char *request)
{
    client c = dial(&s);
    say(&c, request);
    size_t handled = s.handled;
    for (int i = 0; i < 4 && s.handled == handled && !http_scarcity_is_over(&c); i++)
        scene_turn(&s);
    while (s.parked_count > 0) {
        http_request *r = s.parked[--s.parked_count];
        if (r->drained != NULL) {
            http_stream_write(r, "hello", 5);
            http_stream_end(r);
        } else {
            http_answer(r, &(http_reply){
                               .status = 200, .type = "text/plain", .body = hf_slice_of("hello")});
        }
    }
    stop_sending(&c);
    scene_until(&s, http_scarcity_is_over(&c));
    if (c.size > 0 && strncmp(c.text, "HTTP/1.1 ", 9) != 0)
        check_failed(__FILE__, __LINE__, "half an answer came: %s", c.text);
    hang_up(&c);
}

static void still_works(void)
{
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    hang_up(&c);
    scene_until(&s, http_connections(s.h) == 0);
    expect_int(http_requests(s.h), 0);
}

/* Lets each allocation fail in turn, once and for good, until one goes through without a failure.
 * */
static void http_scarcity_try_all(const char *request)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        bool failed = true;
        unsigned n = 1;
        for (; failed && n < 100; n++) {
            /* A server that has kept nothing from before. */
            http_free(s.h);
            hf_error err;
            expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
            scene_listen(&s, "127.0.0.1:0", NULL);
            out_of_memory_begin(OF_LIBRARY, n, lasting != 0);
            http_scarcity_ask(request);
            failed = out_of_memory_end();
            still_works();
        }
        expect_true(!failed && n > 2);
    }
}

static void requests_survive_scarcity(void **state)
{
    (void)state;
    http_scarcity_try_all("GET /echo HTTP/1.1\r\n" HOST "\r\n");
    http_scarcity_try_all("POST /park HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    http_scarcity_try_all("POST /echo HTTP/1.1\r\n" HOST
                          "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    http_scarcity_try_all("GET /stream HTTP/1.1\r\n" HOST "\r\n");
    http_scarcity_try_all("GET /park HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    http_scarcity_try_all("GARBAGE\r\n\r\n");
    http_scarcity_try_all("GET /bad HTTP/1.1\r\n" HOST "\r\n");
    http_scarcity_try_all("GET /big?300000 HTTP/1.1\r\n" HOST "\r\n");
}

/* The answer has no room, what tells of it has. */
static void who_asked_is_told_that_the_answer_could_not_be_made(void **state)
{
    (void)state;
    size_t told = 0;
    bool failed = true;
    for (unsigned n = 1; failed && n < 100; n++) {
        http_free(s.h);
        hf_error err;
        expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
        scene_listen(&s, "127.0.0.1:0", NULL);
        client c = dial(&s);
        out_of_memory_begin(OF_LIBRARY, n, false);
        say(&c, "GET /big?300000 HTTP/1.1\r\n" HOST "\r\n");
        scene_until(&s, http_scarcity_is_over(&c) || strstr(c.text, "\r\n\r\n") != NULL);
        failed = out_of_memory_end();
        told += strncmp(c.text, "HTTP/1.1 500 ", 13) == 0;
        hang_up(&c);
    }
    expect_true(!failed && told > 0);
    still_works();
}

static void a_long_head_survives_scarcity(void **state)
{
    (void)state;
    char request[8192] = "GET /echo HTTP/1.1\r\n" HOST "X: ";
    memset(request + strlen(request), 'x', 5000);
    strncat(request, "\r\n\r\n", 5);
    http_scarcity_try_all(request);
}

static void a_server_is_made_or_not(void **state)
{
    (void)state;
    static const char *const trusted[] = {"10.0.0.1", "10.0.0.2", NULL};
    char files[2][4200], name[ADDRESS_NAME_SIZE];
    make_certificate(scratch_folder(), "scarce");
    snprintf(files[0], sizeof files[0], "%s/scarce.crt", scratch_folder());
    snprintf(files[1], sizeof files[1], "%s/scarce.key", scratch_folder());
    s.settings.proxies = trusted;
    hf_status status = HF_NO_MEMORY;
    for (unsigned n = 1; status != HF_OK; n++) {
        http *h = NULL;
        hf_error err = {0};
        int fd = scene_socket("127.0.0.1:0", name);
        out_of_memory_begin(OF_LIBRARY, n, true);
        status = http_new(&s.settings, &h, &err);
        if (status == HF_OK)
            status = http_listen(h, fd, &(http_tls){files[0], files[1]}, &err);
        bool failed = out_of_memory_end();
        expect_int(failed, status != HF_OK);
        expect_status(failed ? HF_NO_MEMORY : HF_OK, status, err.message);
        http_free(h);
        if (failed)
            expect_int(close(fd), 0); /* it was still ours */
        expect_true(n < 50);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, scene_begin, scene_finish, &s)
    const struct CMUnitTest tests[] = {
        TEST(requests_survive_scarcity),
        TEST(who_asked_is_told_that_the_answer_could_not_be_made),
        TEST(a_long_head_survives_scarcity),
        TEST(a_server_is_made_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
