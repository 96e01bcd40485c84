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

/* ---- what one address may have ---- */

enum { BODY = 80000, BODY_ROOM = 1088 << 7 };

static framing_limits limits;

/* So much for all bodies; the largest one takes the room of `BODY`. */
static void allow_bodies(size_t reading_max)
{
    limits = framing_usual;
    limits.body_max = BODY + 1;
    s.settings.limits = &limits;
    s.settings.reading_max = reading_max;
}

/* A body that is not whole; its memory counts. */
static client half_a_body(const char *from, const char *headers)
{
    static char body[BODY];
    char head[512];
    client c = dial_from(&s, from);
    memset(body, 'x', sizeof body);
    snprintf(head, sizeof head,
             "POST /echo HTTP/1.1\r\n" HOST "%sContent-Length: %d\r\n\r\n", headers, BODY + 1);
    say(&c, head);
    say_bytes(&c, body, sizeof body);
    return c;
}

static const char *address_of_number(const char *network, int number)
{
    static char text[64];
    snprintf(text, sizeof text, "%s%d", network, number);
    return text;
}

static void expect_small_ones_are_answered(const char *from)
{
    char request[16384];
    client c = dial_from(&s, from);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n0\r\n\r\n");
    expect_answer(&c, 200, NULL);
    int size = snprintf(request, sizeof request, "GET /echo HTTP/1.1\r\n" HOST "X: ");
    memset(request + size, 'x', sizeof request - (size_t)size);
    memcpy(request + sizeof request - 5, "\r\n\r\n", 5);
    say(&c, request);
    expect_answer(&c, 200, NULL);
    hang_up(&c);
}

/* However many bodies there are, they are within one limit, and those of one address within a share
 * of it; what is small is always answered; those that are over make room. */
static void bodies_are_within_a_limit_and_a_share_of_each_address(void **state)
{
    (void)state;
    enum { ADDRESSES = 8 };
    allow_bodies((size_t)ADDRESSES * BODY_ROOM + 1000);
    scene_start(&s);
    client all[ADDRESSES];
    for (int i = 0; i < ADDRESSES; i++) {
        all[i] = half_a_body(address_of_number("127.0.1.", i + 1), "");
        for (int turn = 0; turn < 20; turn++)
            scene_turn(&s);
        client more = half_a_body(address_of_number("127.0.1.", i + 1), "");
        expect_answer(&more, i == ADDRESSES - 1 ? 503 : 429, NULL);
        hang_up(&more);
        expect_small_ones_are_answered(address_of_number("127.0.1.", i + 1));
    }
    client late = half_a_body("127.0.2.1", "");
    expect_answer(&late, 503,
                  "503: The server is out of memory; nothing was done. Try again in a moment.");
    hang_up(&late);
    expect_small_ones_are_answered("127.0.2.1");
    expect_int(scene_counted(&s, "refused_memory"), ADDRESSES + 1);
    say(&all[0], "x");
    expect_answer(&all[0], 200, NULL);
    hang_up(&all[1]);
    scene_until(&s, http_connections(s.h) == ADDRESSES - 1);
    for (int i = 0; i < 2; i++) {
        client again = half_a_body(address_of_number("127.0.3.", i + 1), "");
        say(&again, "x");
        expect_answer(&again, 200, NULL);
        hang_up(&again);
    }
    hang_up(&all[0]);
    for (int i = 2; i < ADDRESSES; i++)
        hang_up(&all[i]);
}

/* However small an eighth of all is: otherwise body-max would promise what nobody gets. */
static void one_body_of_the_largest_size_is_taken_from_each_address(void **state)
{
    (void)state;
    allow_bodies((size_t)2 * BODY_ROOM);
    scene_start(&s);
    client one = half_a_body("127.0.1.1", "");
    for (int turn = 0; turn < 20; turn++)
        scene_turn(&s);
    client same = half_a_body("127.0.1.1", "");
    expect_answer(&same, 429, NULL);
    client other = half_a_body("127.0.1.2", "");
    say(&one, "x");
    say(&other, "x");
    expect_answer(&one, 200, NULL);
    expect_answer(&other, 200, NULL);
    hang_up(&one), hang_up(&same), hang_up(&other);
}

/* Behind a trusted proxy the share is the client's; the proxy has none. Anybody else may write such
 * a header. */
static void the_share_behind_a_proxy_is_the_clients(void **state)
{
    (void)state;
    enum { CLIENTS = 6 };
    static const char *const trusted[] = {"127.0.0.9", NULL};
    allow_bodies((size_t)8 * BODY_ROOM + 1000);
    s.settings.proxies = trusted;
    scene_start(&s);
    client all[CLIENTS + 1];
    char header[64];
    for (int i = 0; i < CLIENTS; i++) {
        snprintf(header, sizeof header, "X-Forwarded-For: 2001:db8:0:%d::7\r\n", i);
        all[i] = half_a_body("127.0.0.9", header);
    }
    all[CLIENTS] = half_a_body("127.0.0.9", "");
    for (int turn = 0; turn < 50; turn++)
        scene_turn(&s);
    client same = half_a_body("127.0.0.9", "X-Forwarded-For: 2001:db8:0:1:ffff::\r\n");
    expect_answer(&same, 429,
                  "429: Too many large requests come from this address at once; nothing was done. "
                  "Try again in a moment.");
    client liar = half_a_body("127.0.0.8", "X-Forwarded-For: 10.0.0.1\r\n");
    for (int turn = 0; turn < 20; turn++)
        scene_turn(&s);
    client again = half_a_body("127.0.0.8", "X-Forwarded-For: 10.0.0.2\r\n");
    expect_answer(&again, 503, NULL); /* the last of the room is the liar's */
    hang_up(&same), hang_up(&liar), hang_up(&again);
    for (int i = 0; i <= CLIENTS; i++) {
        say(&all[i], "x");
        expect_answer(&all[i], 200, NULL);
        hang_up(&all[i]);
    }
}

static size_t only_who_says_please(void *context, http_request *request)
{
    (void)context;
    return http_header(request, "please") != NULL ? SIZE_MAX : 10;
}

static void whom_is_not_known_may_send_little(void **state)
{
    (void)state;
    s.settings.body_max = only_who_says_please;
    scene_start(&s);
#define POST "POST /echo HTTP/1.1\r\n" HOST
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {POST "Content-Length: 10\r\n\r\n0123456789", 200},
        {POST "Content-Length: 11\r\n\r\n", 413},
        {POST "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n", 413},
        {POST "Please: yes\r\nContent-Length: 11\r\n\r\n0123456789a", 200},
        {POST "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", 200},
        {POST "Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n012", 413},
    };
#undef POST
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client c = dial(&s);
        say(&c, cases[i].request);
        expect_answer(&c, cases[i].status, NULL);
        hang_up(&c);
    }
}

static bool is_served_from(const char *from)
{
    client c = dial_from(&s, from);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    answer a = hear(&c);
    if (a.status != 200)
        expect_contains(a.body, "This address has as many connections as it may have");
    bool served = a.status == 200;
    answer_done(&a);
    hang_up(&c);
    return served;
}

static void one_address_may_not_have_all_connections(void **state)
{
    (void)state;
    enum { OWN = 5, PROXIED = 20 };
    static const char *const trusted[] = {"127.0.0.9", NULL};
    s.settings.connections_address = OWN;
    s.settings.proxies = trusted;
    scene_start(&s);
    client own[OWN], proxied[PROXIED];
    for (int i = 0; i < OWN; i++)
        own[i] = dial_from(&s, "127.0.0.2");
    for (int i = 0; i < PROXIED; i++)
        proxied[i] = dial_from(&s, "127.0.0.9");
    scene_until(&s, http_connections(s.h) == OWN + PROXIED);
    expect_true(!is_served_from("127.0.0.2"));
    expect_true(is_served_from("127.0.0.3"));
    expect_true(is_served_from("127.0.0.9"));
    hang_up(&own[0]);
    scene_until(&s, http_connections(s.h) == OWN + PROXIED - 1);
    expect_true(is_served_from("127.0.0.2"));
    for (int i = 1; i < OWN; i++)
        hang_up(&own[i]);
    for (int i = 0; i < PROXIED; i++)
        hang_up(&proxied[i]);
    scene_until(&s, http_connections(s.h) == 0);
}

static int64_t ahead_us;
static int64_t (*clock_behind)(void);
static int64_t clock_ahead(void)
{
    return clock_behind() + ahead_us;
}

/* Otherwise whoever holds all connections, and says nothing, keeps everyone else out. */
static void who_is_idle_gives_way(void **state)
{
    (void)state;
    enum { MOST = 4 };
    s.settings.connections_max = MOST;
    scene_start(&s);
    clock_behind = hf_seam.boot_us;
    hf_seam.boot_us = clock_ahead;
    client busy = dial(&s), idle[MOST - 1];
    say(&busy, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.parked_count == 1);
    for (int i = 0; i < MOST - 1; i++) {
        idle[i] = dial(&s);
        scene_until(&s, http_connections(s.h) == (size_t)i + 2);
    }
    ahead_us += 10000000;
    for (int i = 0; i < MOST - 1; i++) {
        client c = dial(&s);
        say(&c, "GET /park HTTP/1.1\r\n" HOST "\r\n");
        scene_until(&s, s.parked_count == (size_t)i + 2);
        expect_closed(&idle[i]);
        hang_up(&idle[i]);
        idle[i] = c;
    }
    expect_int(scene_counted(&s, "gave_way"), MOST - 1);
    client late = dial(&s); /* all are at work */
    expect_answer(&late, 503, NULL);
    hf_seam.boot_us = clock_behind;
    hang_up(&late), hang_up(&busy);
    for (int i = 0; i < MOST - 1; i++)
        hang_up(&idle[i]);
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
        TEST(bodies_are_within_a_limit_and_a_share_of_each_address),
        TEST(one_body_of_the_largest_size_is_taken_from_each_address),
        TEST(the_share_behind_a_proxy_is_the_clients),
        TEST(whom_is_not_known_may_send_little),
        TEST(one_address_may_not_have_all_connections),
        TEST(who_is_idle_gives_way),
        TEST(a_server_without_files_waits),
        TEST(forwarded_headers_of_strangers_do_not_count),
        TEST(forwarded_headers_of_trusted_proxies_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
