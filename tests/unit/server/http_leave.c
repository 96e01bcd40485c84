/* SPDX-License-Identifier: MIT */
/* HTTP: clients that leave, half or altogether, while their request is parked, streamed, read or
 * answered; streams; the end of the server. With HF_TEST_LONG in the environment 10,000 of them,
 * else 1,000. */
#include "unit/server/http_scene.h"
#include <base/seams.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/test_store.h>
#include <sys/socket.h>

#define HOST "Host: a\r\n"
#define PARK "POST /park HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nsecret"

static scene s;

static void answer_parked(void)
{
    http_answer(s.parked[--s.parked_count],
                &(http_reply){.status = 200, .type = "text/plain", .body = hf_slice_of("parked")});
}

static client dial_parked(const char *name)
{
    client c = dial_name(&s, name);
    size_t before = s.parked_count;
    say(&c, PARK);
    scene_until(&s, s.parked_count == before + 1);
    return c;
}

/* ---- parked ---- */

static void a_half_closed_client_gets_its_answer(void **state)
{
    (void)state;
    client c = dial_parked(s.name);
    stop_sending(&c);
    for (int i = 0; i < 10; i++)
        scene_turn(&s);
    expect_true(!s.parked[0]->gone);
    expect_int(s.left, 0);
    answer_parked();
    expect_answer(&c, 200, "parked");
    expect_closed(&c);
    expect_true(c.eof);
    hang_up(&c);
    scene_until(&s, http_connections(s.h) == 0);
}

static void a_half_closed_client_gets_all_its_answers(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, PARK PARK "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    stop_sending(&c);
    for (int i = 0; i < 2; i++) {
        scene_until(&s, s.parked_count == 1);
        answer_parked();
        expect_answer(&c, 200, "parked");
    }
    expect_answer(&c, 200, NULL);
    expect_closed(&c);
    hang_up(&c);
}

static void a_reset_is_told_at_once(void **state)
{
    (void)state;
    client c = dial_parked(s.name);
    hang_up_hard(&c);
    scene_until(&s, s.left == 1);
    expect_true(s.parked[0]->gone);
    expect_int(http_connections(s.h), 0);
    expect_int(http_requests(s.h), 1);
    expect_int(scene_counted(&s, "left"), 1);
    expect_int(s.parked[0]->body.size, 6);
    expect_true(memcmp(s.parked[0]->body.at, "secret", 6) == 0);
    answer_parked();
    expect_int(http_requests(s.h), 0);
}

static void a_request_may_be_answered_while_its_leaving_is_told(void **state)
{
    (void)state;
    client c = dial_parked(s.name);
    s.answers_when_left = s.parked[--s.parked_count];
    hang_up_hard(&c);
    scene_until(&s, s.left == 1);
    expect_int(http_requests(s.h), 0);
}

static void http_leave_leave(client *c, int how)
{
    if (how % 4 == 0)
        hang_up_hard(c);
    else if (how % 4 == 1)
        hang_up(c);
    else if (how % 4 == 2)
        stop_sending(c);
    else {
        say(c, "GET /echo HTTP/1.1\r\n" HOST "\r\nGET ");
        hang_up(c);
    }
}

/* In every way, by TCP and by Unix socket; answered before or after the loop has noticed. */
static void clients_leave_while_parked(void **state)
{
    (void)state;
    char path[4200] = "unix:", unix_name[ADDRESS_NAME_SIZE];
    scratch_path("sock", path + 5);
    hf_error err;
    expect(HF_OK, http_listen(s.h, scene_socket(path, unix_name), NULL, &err), err);
    int rounds = getenv("HF_TEST_LONG") != NULL ? 10000 : 1000;
    for (int i = 0; i < rounds; i++) {
        client c = dial_parked(i % 8 < 4 ? s.name : unix_name);
        http_leave_leave(&c, i);
        if (i % 3 == 0)
            scene_until(&s, s.left > 0 || i % 4 != 0);
        if (i % 5 == 0)
            scene_turn(&s);
        answer_parked();
        if (i % 4 == 2)
            hang_up(&c);
        expect_int(http_requests(s.h), 0);
        s.left = 0;
    }
    scene_until(&s, http_connections(s.h) == 0);
    expect_true(scene_counted(&s, "left") > (size_t)rounds / 20);
}

static void many_leave_at_once_and_are_answered_in_any_order(void **state)
{
    (void)state;
    enum { MANY = 200 };
    client clients[MANY];
    for (int i = 0; i < MANY; i++)
        clients[i] = dial_parked(s.name);
    expect_int(http_requests(s.h), MANY);
    for (int i = 0; i < MANY; i++)
        hang_up_hard(&clients[i]);
    scene_until(&s, s.left == MANY / 2 || s.left == MANY);
    while (s.parked_count > 0) {
        size_t which = (size_t)rand() % s.parked_count;
        http_request *r = s.parked[which];
        s.parked[which] = s.parked[--s.parked_count];
        http_answer(r, &(http_reply){.status = 200});
    }
    scene_until(&s, http_connections(s.h) == 0);
}

static void a_client_that_leaves_in_the_middle_of_a_request_leaves_nothing(void **state)
{
    (void)state;
    static const char request[] = PARK;
    for (size_t cut = 1; cut < sizeof request - 1; cut++) {
        client c = dial(&s);
        say_bytes(&c, request, cut);
        scene_turn(&s);
        if (cut % 2 == 0)
            hang_up(&c);
        else
            hang_up_hard(&c);
    }
    scene_until(&s, http_connections(s.h) == 0);
    expect_int(s.handled, 0);
}

/* ---- streams ---- */

#define STREAM "GET /stream HTTP/1.1\r\n" HOST "\r\n"

static bool has_heard(client *c, const char *text)
{
    listen_to(c);
    return strcmp(c->text, text) == 0;
}

static client dial_stream(const char *request)
{
    client c = dial(&s);
    size_t before = s.parked_count;
    say(&c, request);
    scene_until(&s, s.parked_count == before + 1);
    return c;
}

static void a_stream_comes_in_chunks(void **state)
{
    (void)state;
    client c = dial_stream(STREAM "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    answer a = hear_head(&c);
    expect_contains(a.head, "Transfer-Encoding: chunked\r\n");
    expect_contains(a.head, "Content-Type: text/event-stream\r\n");
    expect_lacks(a.head, "Content-Length");
    http_stream_write(s.parked[0], "hello", 5);
    http_stream_write(s.parked[0], "", 0);
    http_stream_write(s.parked[0], "wonderful, wonderful world", 26);
    scene_until(&s, has_heard(&c, "5\r\nhello\r\n1a\r\nwonderful, wonderful world\r\n"));
    expect_int(s.handled, 1);
    http_stream_end(s.parked[--s.parked_count]);
    c.size = 0;
    scene_until(&s, (listen_to(&c), c.size >= 5));
    expect_int(memcmp(c.text, "0\r\n\r\n", 5), 0);
    c.size -= 5;
    memmove(c.text, c.text + 5, c.size + 1);
    expect_answer(&c, 200, NULL);
    hang_up(&c);
}

static void a_stream_of_http_1_0_ends_with_the_connection(void **state)
{
    (void)state;
    client c = dial_stream("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    answer a = hear_head(&c);
    expect_contains(a.head, "Connection: close\r\n");
    expect_lacks(a.head, "chunked");
    http_stream_write(s.parked[0], "hello", 5);
    http_stream_end(s.parked[--s.parked_count]);
    scene_until(&s, (listen_to(&c), c.eof));
    expect_text(c.text, "hello");
    hang_up(&c);
}

static void a_stream_that_is_only_asked_for_its_head_has_no_body(void **state)
{
    (void)state;
    client c = dial_stream("HEAD /stream HTTP/1.1\r\n" HOST "\r\n");
    hear_head(&c);
    http_stream_write(s.parked[0], "hello", 5);
    http_stream_end(s.parked[--s.parked_count]);
    say(&c, "GET /status?200 HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, "four");
    hang_up(&c);
}

/* Whichever way it leaves, before or after the stream has begun, it is noticed without a write. */
static void a_stream_whose_client_leaves_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        client c = dial(&s);
        say(&c, STREAM);
        if (i % 2 == 0)
            scene_until(&s, s.parked_count == 1);
        if (i % 3 == 0)
            hang_up(&c);
        else if (i % 3 == 1)
            hang_up_hard(&c);
        else
            stop_sending(&c);
        scene_until(&s, s.parked_count == 1 && s.left == 1);
        http_stream_write(s.parked[0], "x", 1);
        expect_int(http_stream_waiting(s.parked[0]), 0);
        http_stream_end(s.parked[--s.parked_count]);
        s.left = 0;
        if (i % 3 == 2)
            hang_up(&c);
        expect_int(http_requests(s.h), 0);
    }
    scene_until(&s, http_connections(s.h) == 0);
}

static void a_slow_client_is_told_when_it_has_caught_up(void **state)
{
    (void)state;
    static char piece[65536];
    client c = dial_stream(STREAM);
    memset(piece, 'x', sizeof piece);
    while (http_stream_waiting(s.parked[0]) == 0)
        http_stream_write(s.parked[0], piece, sizeof piece);
    expect_int(s.drained, 0);
    scene_until(&s, (listen_to(&c), c.size = 0, s.drained == 1));
    expect_int(http_stream_waiting(s.parked[0]), 0);
    /* Again, and it leaves while bytes wait. */
    while (http_stream_waiting(s.parked[0]) == 0)
        http_stream_write(s.parked[0], piece, sizeof piece);
    hang_up(&c);
    scene_until(&s, s.left == 1);
    http_stream_end(s.parked[--s.parked_count]);
}

static void a_client_that_lets_too_much_wait_is_cut_off(void **state)
{
    (void)state;
    static char piece[65536];
    client c = dial_stream(STREAM);
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 1000 && !s.parked[0]->gone; i++)
        http_stream_write(s.parked[0], piece, sizeof piece);
    expect_int(s.left, 0); /* not while we write */
    scene_until(&s, s.left == 1);
    http_stream_end(s.parked[--s.parked_count]);
    expect_int(http_connections(s.h), 0);
    hang_up(&c);
}

/* ---- the end ---- */

static void a_stopped_server_answers_what_it_has_accepted(void **state)
{
    (void)state;
    client idle = dial(&s), busy = dial_parked(s.name), stream = dial_stream(STREAM),
           half = dial(&s);
    say(&half, "GET /echo HTT");
    hear_head(&stream);
    scene_until(&s, http_connections(s.h) == 4);
    for (int i = 0; i < 3; i++)
        scene_turn(&s);
    http_stop(s.h);
    expect_closed(&idle);
    expect_int(http_connections(s.h), 3);
    say(&half, "P/1.1\r\n" HOST "\r\n");
    answer a = hear(&half);
    expect_int(a.status, 200);
    expect_contains(a.head, "Connection: close");
    answer_done(&a);
    expect_closed(&half);
    http_stream_end(s.parked[--s.parked_count]);
    answer_parked();
    a = hear(&busy);
    expect_text(a.body, "parked");
    expect_contains(a.head, "Connection: close");
    answer_done(&a);
    expect_closed(&busy);
    scene_until(&s, (listen_to(&stream), stream.eof));
    hang_up(&idle), hang_up(&busy), hang_up(&stream), hang_up(&half);
    scene_until(&s, http_connections(s.h) == 0);
}

/* A part of a request was never accepted, so a stop need not wait for the rest of it; nor for who
 * does not take their answer. The timeouts are far longer than a test waits. */
static void a_stop_does_not_wait_for_parts_of_requests(void **state)
{
    (void)state;
    enum { HOUR_US = INT32_MAX };
    http_free(s.h);
    s.settings.head_timeout_us = s.settings.body_timeout_us = s.settings.write_timeout_us =
        s.settings.idle_timeout_us = HOUR_US;
    hf_error err;
    expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
    scene_listen(&s, "127.0.0.1:0", NULL);
    static const char *const parts[] = {
        "G",
        "GET /echo HTTP/1.1\r\n" HOST,
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "GET /echo HTTP/1.1\r\n" HOST "\r\nGET /echo",
        "GET /big?30000000 HTTP/1.1\r\n" HOST "\r\n",
        "x", /* refused, and waits for us to close */
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    client all[PARTS], busy = dial_parked(s.name);
    for (size_t i = 0; i < PARTS; i++) {
        all[i] = dial(&s);
        say(&all[i], parts[i]);
    }
    scene_until(&s, s.handled == 3 && scene_counted(&s, "refused_framing") == 1);
    for (int i = 0; i < 3; i++)
        scene_turn(&s);
    http_stop(s.h);
    scene_until(&s, http_connections(s.h) == 1);
    expect_answer(
        &all[1], 503,
        "503: The server is stopping; the request was not whole, and nothing was done.");
    answer_parked();
    expect_answer(&busy, 200, "parked");
    hang_up(&busy);
    for (size_t i = 0; i < PARTS; i++)
        hang_up(&all[i]);
    scene_until(&s, http_connections(s.h) == 0);
}

static int64_t ahead_us;
static int64_t (*clock_behind)(void);
static int64_t clock_put_ahead(void)
{
    return clock_behind() + ahead_us;
}

/* Reads up to so much; less if the server closes. The clock is put ahead on the way, by more
 * than a client may take nothing. */
static size_t read_in_time(client *c, size_t most)
{
    static char piece[65536];
    size_t had = 0;
    for (ssize_t got = 1; had < most && (got > 0 || (got < 0 && errno == EAGAIN));) {
        got = recv(c->fd, piece, sizeof piece, 0);
        int error = errno;
        if (got > 0 && (had / 3000000 < (had + (size_t)got) / 3000000) && had < 8000000)
            ahead_us += 3000000;
        had += got > 0 ? (size_t)got : 0;
        scene_turn(&s);
        errno = error;
    }
    return had;
}

/* However long that takes: stop-timeout bounds it. The half request brings the server to look
 * at who is late. */
static void a_stop_waits_for_who_goes_on_reading_a_large_answer(void **state)
{
    (void)state;
    clock_behind = hf_seam.boot_us;
    hf_seam.boot_us = clock_put_ahead;
    client c = dial(&s), half = dial(&s);
    int little = 65536; /* else the system takes all of it at once */
    setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    say(&half, "G");
    say(&c, "GET /big?30000000 HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.handled == 1 && http_connections(s.h) == 2);
    http_stop(s.h);
    size_t first = read_in_time(&c, 18000000);
    expect_true(ahead_us > 5000000);
    expect_answer(&half, 503, NULL);
    expect_true(first + read_in_time(&c, SIZE_MAX) > 30000000);
    hf_seam.boot_us = clock_behind;
    hang_up(&c), hang_up(&half);
}

static void a_freed_server_cuts_off_whoever_is_left(void **state)
{
    (void)state;
    client idle = dial(&s), half = dial(&s), writing = dial(&s), refused = dial(&s);
    say(&half, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    say(&writing, "GET /big?30000000 HTTP/1.1\r\n" HOST "\r\n");
    say(&refused, "x");
    scene_until(&s, http_connections(s.h) == 4 && s.handled == 1 &&
                        scene_counted(&s, "refused_framing") == 1);
    http_free(s.h);
    s.h = NULL;
    hf_error err;
    expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
    hang_up(&idle), hang_up(&half), hang_up(&writing), hang_up(&refused);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, scene_begin, scene_finish, &s)
    const struct CMUnitTest tests[] = {
        TEST(a_half_closed_client_gets_its_answer),
        TEST(a_half_closed_client_gets_all_its_answers),
        TEST(a_reset_is_told_at_once),
        TEST(a_request_may_be_answered_while_its_leaving_is_told),
        TEST(clients_leave_while_parked),
        TEST(many_leave_at_once_and_are_answered_in_any_order),
        TEST(a_client_that_leaves_in_the_middle_of_a_request_leaves_nothing),
        TEST(a_stream_comes_in_chunks),
        TEST(a_stream_of_http_1_0_ends_with_the_connection),
        TEST(a_stream_that_is_only_asked_for_its_head_has_no_body),
        TEST(a_stream_whose_client_leaves_is_told),
        TEST(a_slow_client_is_told_when_it_has_caught_up),
        TEST(a_client_that_lets_too_much_wait_is_cut_off),
        TEST(a_stopped_server_answers_what_it_has_accepted),
        TEST(a_stop_does_not_wait_for_parts_of_requests),
        TEST(a_stop_waits_for_who_goes_on_reading_a_large_answer),
        TEST(a_freed_server_cuts_off_whoever_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
