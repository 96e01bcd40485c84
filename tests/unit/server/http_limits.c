/* SPDX-License-Identifier: MIT */
/* HTTP: every wait has an end, and there is a limit on everything: slow senders, slow readers, idle
 * connections, too many of them, no files left, forwarded headers of those who may not send them.
 * */
#include "unit/server/http_scene.h"

#include <base/seams.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOST "Host: a\r\n"

enum { SHORT_US = 100000 };

static scene s;

/* The tests start it, each with limits of its own. */
static int http_limits_begin(void **state)
{
    scene_init(*state);
    return 0;
}

/* ---- time ---- */

static void a_head_that_does_not_come_is_answered_408(void **state)
{
    (void)state;
    s.settings.head_timeout_us = SHORT_US;
    scene_start(&s);
    client c = dial(&s);
    say(&c, "GET /echo HT");
    answer a = hear(&c);
    expect_int(a.status, 408);
    expect_text(a.body, "408: The head of the request did not come in time.");
    expect_contains(a.head, "Connection: close");
    answer_done(&a);
    expect_closed(&c);
    expect_int(scene_counted(&s, "timeout_head"), 1);
    expect_int(s.handled, 0);
    hang_up(&c);
}

/* Slowly: a head that grows over its limit is another matter. */
static void say_a_little(client *c)
{
    usleep(1000);
    say(c, "x");
}

/* Bytes that trickle in do not move the bound. */
static void a_head_that_trickles_in_is_answered_408(void **state)
{
    (void)state;
    s.settings.head_timeout_us = SHORT_US;
    scene_start(&s);
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\nX: ");
    scene_until(&s, (say_a_little(&c), scene_counted(&s, "timeout_head") == 1));
    expect_answer(&c, 408, NULL);
    hang_up(&c);
}

static void a_body_that_does_not_come_is_answered_408(void **state)
{
    (void)state;
    s.settings.body_timeout_us = SHORT_US;
    scene_start(&s);
    client c = dial(&s), chunked = dial(&s);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    say(&chunked, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nhel");
    expect_answer(&c, 408, "408: The body of the request did not come in time.");
    expect_answer(&chunked, 408, NULL);
    expect_int(scene_counted(&s, "timeout_body"), 2);
    hang_up(&c), hang_up(&chunked);
}

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    (void)state;
    s.settings.idle_timeout_us = SHORT_US;
    scene_start(&s);
    client fresh = dial(&s), used = dial(&s);
    say(&used, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&used, 200, NULL);
    expect_closed(&fresh);
    expect_closed(&used);
    expect_int(scene_counted(&s, "timeout_idle"), 2);
    hang_up(&fresh), hang_up(&used);
}

/* Whoever is handled is not idle, however long that takes. */
static void a_parked_request_has_no_bound_here(void **state)
{
    (void)state;
    s.settings.idle_timeout_us = s.settings.head_timeout_us = s.settings.body_timeout_us =
        s.settings.write_timeout_us = SHORT_US;
    scene_start(&s);
    client parked = dial(&s), stream = dial(&s), idle = dial(&s);
    say(&parked, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    say(&stream, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.parked_count == 2);
    expect_closed(&idle);
    client later = dial(&s);
    expect_closed(&later);
    expect_int(http_requests(s.h), 2);
    expect_int(http_connections(s.h), 2);
    hang_up(&parked), hang_up(&stream), hang_up(&idle), hang_up(&later);
}

static void a_client_that_does_not_read_is_cut_off(void **state)
{
    (void)state;
    static char piece[65536];
    s.settings.write_timeout_us = SHORT_US;
    scene_start(&s);
    client c = dial(&s), streaming = dial(&s);
    say(&c, "GET /big?20000000 HTTP/1.1\r\n" HOST "\r\n");
    say(&streaming, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.parked_count == 1 && s.handled == 2);
    memset(piece, 'x', sizeof piece);
    while (http_stream_waiting(s.parked[0]) == 0)
        http_stream_write(s.parked[0], piece, sizeof piece);
    scene_until(&s, http_connections(s.h) == 0 && s.left == 1);
    expect_int(scene_counted(&s, "timeout_write"), 2);
    http_stream_end(s.parked[--s.parked_count]);
    hang_up(&c), hang_up(&streaming);
}

static int64_t (*real_clock)(void);

/* Hardly moves while the machine stands still: nobody reads then either. */
static int64_t patient_clock(void)
{
    static int64_t now_us = 1000000000, seen_us;
    int64_t real_us = real_clock(), step_us = real_us - seen_us;
    seen_us = real_us;
    return now_us += step_us < SHORT_US / 4 ? step_us : SHORT_US / 4;
}

/* It reads a little now and then: that is enough. */
static void a_slow_reader_that_goes_on_is_not_cut_off(void **state)
{
    (void)state;
    real_clock = hf_seam.boot_us;
    hf_seam.boot_us = patient_clock;
    s.settings.write_timeout_us = 10 * SHORT_US;
    scene_start(&s);
    client c = dial(&s);
    int small = 65536;
    setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(&c, "GET /big?12000000 HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.handled == 1);
    int64_t begin_us = scene_now_us();
    size_t got = 0;
    while (scene_now_us() - begin_us < 20 * SHORT_US) {
        char some[65536];
        ssize_t now = recv(c.fd, some, sizeof some, 0);
        got += now > 0 ? (size_t)now : 0;
        expect_true(now != 0);
        int64_t pause_us = scene_now_us() + SHORT_US / 4;
        while (scene_now_us() < pause_us)
            scene_turn(&s);
    }
    expect_true(got > 0 && got < 12000000);
    expect_int(scene_counted(&s, "timeout_write"), 0);
    expect_int(http_connections(s.h), 1);
    hang_up(&c);
    hf_seam.boot_us = real_clock;
}

/* A client that keeps its side open after its last answer does not keep us. */
static void lingering_has_an_end(void **state)
{
    (void)state;
    scene_start(&s);
    client c = dial(&s);
    say(&c, "x");
    expect_answer(&c, 400, NULL);
    scene_until(&s, http_connections(s.h) == 0);
    hang_up(&c);
}

static void timeouts_must_be_positive(void **state)
{
    (void)state;
    hf_error err;
    http *h = NULL;
    int64_t *const all[] = {&s.settings.head_timeout_us, &s.settings.body_timeout_us,
                            &s.settings.idle_timeout_us, &s.settings.write_timeout_us};
    for (int i = 0; i < 4; i++) {
        int64_t before = *all[i];
        *all[i] = 0;
        expect(HF_INVALID, http_new(&s.settings, &h, &err), err);
        *all[i] = before;
    }
    scene_start(&s);
}

/* ---- numbers ---- */

static void too_many_connections_are_told_so(void **state)
{
    (void)state;
    enum { MANY = 100 };
    s.settings.connections_max = 3;
    scene_start(&s);
    client good[3], more[MANY];
    for (int i = 0; i < 3; i++) {
        good[i] = dial(&s);
        say(&good[i], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
        expect_answer(&good[i], 200, NULL);
    }
    client c = dial(&s);
    answer a = hear(&c);
    expect_int(a.status, 503);
    expect_contains(a.head, "Retry-After: ");
    expect_contains(a.body, "as many connections as it may have");
    answer_done(&a);
    hang_up(&c);
    /* Beyond measure they are closed without a word; either way the good ones go on. */
    for (int i = 0; i < MANY; i++)
        more[i] = dial(&s);
    scene_until(&s, scene_counted(&s, "refused_connections") == MANY + 1);
    expect_true(http_connections(s.h) <= 3 + 64);
    for (int i = 0; i < MANY; i++)
        hang_up(&more[i]);
    say(&good[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&good[0], 200, NULL);
    hang_up(&good[2]);
    scene_until(&s, http_connections(s.h) == 2);
    c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    hang_up(&c), hang_up(&good[0]), hang_up(&good[1]);
}

/* However many there are, what they have sent is within one limit; those that are answered make
 * room. */
static void too_much_of_requests_is_told_so(void **state)
{
    (void)state;
    static char body[100000];
    s.settings.reading_max = 270000;
    scene_start(&s);
    client clients[2], more = dial(&s);
    memset(body, 'x', sizeof body);
    for (int i = 0; i < 2; i++) {
        clients[i] = dial(&s);
        say(&clients[i], i == 0 ? "POST /park HTTP/1.1\r\n" HOST "Content-Length: 80000\r\n\r\n"
                                : "POST /park HTTP/1.1\r\n" HOST "Content-Length: 90000\r\n\r\n");
        say_bytes(&clients[i], body, 80000);
    }
    scene_until(&s, s.parked_count == 1);
    for (int i = 0; i < 5; i++)
        scene_turn(&s);
    say(&more, "POST /park HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    say_bytes(&more, body, sizeof body);
    expect_answer(&more, 503, NULL);
    expect_int(scene_counted(&s, "refused_memory"), 1);
    hang_up(&more);
    http_answer(s.parked[--s.parked_count], &(http_reply){.status = 200});
    expect_answer(&clients[0], 200, NULL);
    more = dial(&s);
    say(&more, "POST /park HTTP/1.1\r\n" HOST "Content-Length: 70000\r\n\r\n");
    say_bytes(&more, body, 70000);
    scene_until(&s, s.parked_count == 1);
    hang_up(&more), hang_up(&clients[0]), hang_up(&clients[1]);
}

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Without files left it neither dies nor spins, and goes on when there are some again. */
static void a_server_without_files_waits(void **state)
{
    (void)state;
    enum { FILES = 200 };
    scene_start(&s);
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    struct rlimit before, few;
    getrlimit(RLIMIT_NOFILE, &before);
    client waiting = dial(&s);
    int files[FILES], count = 0;
    few = (struct rlimit){.rlim_cur = (rlim_t)waiting.fd + 20, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    while (count < FILES && (files[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    say(&waiting, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    int64_t cpu = cpu_us(), begin_us = scene_now_us();
    scene_until(&s, scene_counted(&s, "accept_failed") >= 3);
    int64_t spent = cpu_us() - cpu, took = scene_now_us() - begin_us;
    if (took < 300000 || spent * 4 > took * 3)
        check_failed(__FILE__, __LINE__, "it failed thrice within %lld us and spent %lld us",
                     (long long)took, (long long)spent);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    while (count > 0)
        close(files[--count]);
    setrlimit(RLIMIT_NOFILE, &before);
    expect_answer(&waiting, 200, NULL);
    hang_up(&c), hang_up(&waiting);
}

/* ---- proxies ---- */

static void origin(const char *lines, const char *origin)
{
    client c = dial(&s);
    char text[512], expected[256];
    snprintf(text, sizeof text, "GET /echo HTTP/1.1\r\n" HOST "%s\r\n", lines);
    snprintf(expected, sizeof expected, "GET\n/echo\n\n\n%s\n", origin);
    say(&c, text);
    expect_answer(&c, 200, expected);
    hang_up(&c);
}

static void forwarded_headers_of_strangers_do_not_count(void **state)
{
    (void)state;
    scene_start(&s);
    origin("", "127.0.0.1\nlocal\nclear");
    /* They only take the right of being local away. */
    origin("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n",
           "127.0.0.1\nremote\nclear");
    origin("Forwarded: for=192.0.2.7;proto=https\r\n", "127.0.0.1\nremote\nclear");
    origin("X-Real-IP: 192.0.2.7\r\n", "127.0.0.1\nremote\nclear");
    origin("Via: 1.1 proxy\r\n", "127.0.0.1\nremote\nclear");
}

static void forwarded_headers_of_trusted_proxies_count(void **state)
{
    (void)state;
    static const char *const trusted[] = {"127.0.0.0/8", NULL};
    s.settings.proxies = trusted;
    scene_start(&s);
    origin("", "127.0.0.1\nremote\nclear");
    origin("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n",
           "192.0.2.7\nremote\nsecure");
    origin("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 192.0.2.7\r\n",
           "192.0.2.7\nremote\nclear");
    origin("Forwarded: for=\"[2001:db8::7]\";proto=https\r\n", "2001:db8::7\nremote\nsecure");
    origin("X-Forwarded-For: 127.0.0.9\r\n", "127.0.0.9\nremote\nclear");
    /* any client may have sent it */
    origin("X-Real-IP: 192.0.2.7\r\n", "127.0.0.1\nremote\nclear");
    /* Each of two proxies has added a line of both. */
    origin("X-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.7\r\n"
           "X-Forwarded-Proto: http\r\nX-Forwarded-For: 127.0.0.9\r\n",
           "192.0.2.7\nremote\nsecure");
    origin("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
           "X-Forwarded-For: 127.0.0.9\r\nX-Forwarded-Proto: http\r\n",
           "192.0.2.7\nremote\nsecure");
    /* Joined late, the client's second line of one would put what it likes in the place of the
     * proxy's line of the other. */
    origin("X-Forwarded-Proto: https\r\nFoo: 203.0.113.99\r\nX-Forwarded-For: 198.51.100.3\r\n"
           "X-Forwarded-Proto: xxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n",
           "198.51.100.3\nremote\nclear");
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_prestate_setup_teardown(name, http_limits_begin, scene_finish, &s)
    const struct CMUnitTest tests[] = {
        TEST(a_head_that_does_not_come_is_answered_408),
        TEST(a_head_that_trickles_in_is_answered_408),
        TEST(a_body_that_does_not_come_is_answered_408),
        TEST(an_idle_connection_is_closed_without_a_word),
        TEST(a_parked_request_has_no_bound_here),
        TEST(a_client_that_does_not_read_is_cut_off),
        TEST(a_slow_reader_that_goes_on_is_not_cut_off),
        TEST(lingering_has_an_end),
        TEST(timeouts_must_be_positive),
        TEST(too_many_connections_are_told_so),
        TEST(too_much_of_requests_is_told_so),
        TEST(a_server_without_files_waits),
        TEST(forwarded_headers_of_strangers_do_not_count),
        TEST(forwarded_headers_of_trusted_proxies_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
