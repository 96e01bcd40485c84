/* SPDX-License-Identifier: MIT */
/* HTTP: what is asked and what is answered, on real sockets: bodies, cuts, pipelining, keep-alive,
 * refusals, headers. */
#include "unit/server/http_scene.h"

#include <base/seams.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOST "Host: a\r\n"

static scene s;

/* ---- requests ---- */

static void a_request_is_answered(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "POST /echo?a=b%20c HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    answer a = hear(&c);
    expect_int(a.status, 200);
    expect_text(a.body, "POST\n/echo\na=b%20c\nhello\n127.0.0.1\nlocal\nclear\n");
    expect_contains(a.head, "HTTP/1.1 200 OK\r\nDate: ");
    expect_contains(a.head, " GMT\r\n");
    expect_contains(a.head, "\r\nContent-Type: text/plain\r\n");
    expect_contains(a.head, "\r\nX-Content-Type-Options: nosniff\r\n");
    expect_contains(a.head, "\r\nCache-Control: no-store\r\n");
    expect_lacks(a.head, "Connection:");
    answer_done(&a);
    expect_int(http_connections(s.h), 1);
    expect_int(http_requests(s.h), 0);
    expect_int(scene_counted(&s, "requests"), 1);
    hang_up(&c);
    scene_until(&s, http_connections(s.h) == 0);
}

static void every_method_is_told(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET",    "POST",    "PUT", "PATCH",
                                          "DELETE", "OPTIONS", "BREW"};
    client c = dial(&s);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s /echo HTTP/1.1\r\n" HOST "\r\n", methods[i]);
        say(&c, text);
        answer a = hear(&c);
        expect_int(
            strncmp(a.body, i < 6 ? methods[i] : "OTHER", strlen(i < 6 ? methods[i] : "OTHER")), 0);
        answer_done(&a);
    }
    hang_up(&c);
}

static const char *const whole[] = {
    "POST /echo?q HTTP/1.1\r\n" HOST "Content-Length: 5\r\nX-Long: yes, it is\r\n\r\nhello",
    "POST /echo?q HTTP/1.1\r\n" HOST
    "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: u\r\n\r\n",
    "POST /echo?q HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
};

/* In two writes, the loop turning in between, at every place; all on one connection. */
static void a_request_may_be_cut_anywhere(void **state)
{
    (void)state;
    client c = dial(&s);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        for (size_t cut = 1; cut < strlen(whole[i]); cut++) {
            size_t before = s.handled;
            say_bytes(&c, whole[i], cut);
            scene_turn(&s);
            expect_int(s.handled, before);
            say(&c, whole[i] + cut);
            expect_answer(&c, 200, "POST\n/echo\nq\nhello\n127.0.0.1\nlocal\nclear\n");
        }
    hang_up(&c);
}

static void a_request_may_come_byte_by_byte(void **state)
{
    (void)state;
    client c = dial(&s);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        for (const char *at = whole[i]; *at != '\0'; at++) {
            say_bytes(&c, at, 1);
            scene_turn(&s);
        }
        expect_answer(&c, 200, "POST\n/echo\nq\nhello\n127.0.0.1\nlocal\nclear\n");
    }
    hang_up(&c);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    (void)state;
    client c = dial(&s);
    hf_buffer all = {0};
    for (int i = 0; i < 2000; i++)
        hf_buffer_print(&all, "GET /header?x-number HTTP/1.1\r\n" HOST "X-Number: %d\r\n\r\n", i);
    say_bytes(&c, all.text, all.size);
    for (int i = 0; i < 2000; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        expect_answer(&c, 200, number);
    }
    hf_buffer_done(&all);
    hang_up(&c);
}

/* H3: the next is not even handed out before the one before it is answered. */
static void a_parked_request_holds_up_those_behind_it(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "GET /park HTTP/1.1\r\n" HOST "\r\nGET /park HTTP/1.1\r\n" HOST
            "\r\nGET /echo?3 HTTP/1.1\r\n" HOST "\r\n");
    for (int i = 0; i < 2; i++) {
        scene_until(&s, s.parked_count == 1);
        for (int turns = 0; turns < 5; turns++)
            scene_turn(&s);
        expect_int(s.parked_count, 1);
        expect_int(s.handled, i + 1);
        http_answer(
            s.parked[--s.parked_count],
            &(http_reply){.status = 200, .type = "text/plain", .body = hf_slice_of("parked")});
        expect_answer(&c, 200, "parked");
    }
    expect_answer(&c, 200, NULL);
    hang_up(&c);
}

/* The loop looks at everyone between the requests of one. */
static void a_client_that_pipelines_much_does_not_hold_up_others(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    client busy = dial(&s), other = dial(&s);
    hf_buffer all = {0};
    for (int i = 0; i < MANY; i++)
        hf_buffer_print(&all, "GET /status?200 HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, http_connections(s.h) == 2);
    expect_int(send(busy.fd, all.text, all.size, 0), all.size);
    say(&other, "GET /park HTTP/1.1\r\n" HOST "\r\n");
    while (s.parked_count == 0)
        scene_turn(&s);
    expect_true(s.handled < MANY / 2);
    for (int i = 0; i < MANY; i++)
        expect_answer(&busy, 200, "four");
    hf_buffer_done(&all);
    hang_up(&busy), hang_up(&other);
}

static void a_large_body_comes_through(void **state)
{
    (void)state;
    enum { SIZE = 1048576 };
    static char body[SIZE];
    client c = dial(&s);
    for (size_t i = 0; i < SIZE; i++)
        body[i] = (char)('a' + i % 23);
    for (int i = 0; i < 3; i++) {
        say(&c, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1048576\r\n\r\n");
        say_bytes(&c, body, SIZE);
        answer a = hear(&c);
        expect_int(a.status, 200);
        expect_true(strstr(a.body, "POST\n/echo\n\nabcdef") == a.body && a.body_size > SIZE);
        expect_true(memcmp(a.body + strlen("POST\n/echo\n\n"), body, SIZE) == 0);
        answer_done(&a);
    }
    hang_up(&c);
}

static void a_large_answer_comes_through_a_slow_reader(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "GET /big?8000000 HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    scene_until(&s, s.handled == 1);
    for (int i = 0; i < 5; i++)
        scene_turn(&s);
    expect_int(s.handled, 1);
    answer a = hear(&c);
    expect_int(a.body_size, 8000000);
    for (size_t i = 0; i < a.body_size; i++)
        if (a.body[i] != (char)('a' + i % 26))
            check_failed(__FILE__, __LINE__, "byte %zu is wrong", i);
    answer_done(&a);
    expect_answer(&c, 200, NULL);
    hang_up(&c);
}

static void a_client_that_expects_it_is_told_to_continue(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
    answer a = hear_head(&c);
    expect_text(a.head, "HTTP/1.1 100 Continue\r\n\r\n");
    expect_int(s.handled, 0);
    say(&c, "hello");
    expect_answer(&c, 200, NULL);
    /* Whoever sends at once needs no word; HTTP/1.0 does not know it; without a body there is
     * nothing to wait for. */
    say(&c,
        "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
    expect_answer(&c, 200, NULL);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n");
    expect_answer(&c, 200, NULL);
    say(&c, "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nExpect: "
            "100-continue\r\nContent-Length: 5\r\n\r\n");
    scene_until(&s, (listen_to(&c), s.handled == 3));
    say(&c, "hello");
    expect_answer(&c, 200, NULL);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Expect: miracles\r\nContent-Length: 5\r\n\r\n");
    expect_answer(&c, 417, NULL);
    expect_closed(&c);
    hang_up(&c);
}

/* ---- keep-alive ---- */

static void keeps(const char *request, bool keeps, const char *connection)
{
    client c = dial(&s);
    say(&c, request);
    answer a = hear(&c);
    expect_int(a.status, 200);
    if (connection != NULL)
        expect_contains(a.head, connection);
    else
        expect_lacks(a.head, "Connection:");
    answer_done(&a);
    if (keeps) {
        say(&c, request);
        expect_answer(&c, 200, NULL);
    } else {
        expect_closed(&c);
    }
    hang_up(&c);
}

static void connections_are_kept_as_the_client_says(void **state)
{
    (void)state;
    keeps("GET /echo HTTP/1.1\r\n" HOST "\r\n", true, NULL);
    keeps("GET /echo HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n\r\n", true, NULL);
    keeps("GET /echo HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", false, "Connection: close");
    keeps("GET /echo HTTP/1.1\r\n" HOST "Connection: Upgrade, CLOSE\r\n\r\n", false,
          "Connection: close");
    keeps("GET /echo HTTP/1.1\r\n" HOST "Connection: x\r\nConnection: close\r\n\r\n", false,
          "Connection: close");
    keeps("GET /echo HTTP/1.0\r\n\r\n", false, "Connection: close");
    keeps("GET /echo HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, "Connection: keep-alive");
    keeps("GET /close HTTP/1.1\r\n" HOST "\r\n", false, "Connection: close");
}

static void what_follows_a_last_request_is_not_looked_at(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET /echo HTTP/1.1\r\n" HOST
            "\r\n");
    expect_answer(&c, 200, NULL);
    expect_closed(&c);
    expect_int(s.handled, 1);
    hang_up(&c);
}

/* ---- refusals ---- */

static void http_refused(const char *request, int status, const char *sentence)
{
    client c = dial(&s);
    size_t handled = s.handled, counted = scene_counted(&s, "refused_framing");
    say(&c, request);
    answer a = hear(&c);
    expect_int(a.status, status);
    expect_contains(a.body, sentence);
    expect_contains(a.head, "Connection: close");
    answer_done(&a);
    expect_closed(&c);
    expect_true(c.eof);                   /* not reset: the answer could be read */
    expect_int(http_connections(s.h), 1); /* it lingers for what we may still send */
    expect_int(s.handled, handled);
    expect_int(scene_counted(&s, "refused_framing"), counted + 1);
    hang_up(&c);
    scene_until(&s, http_connections(s.h) == 0);
}

static void what_framing_refuses_is_answered_with_its_sentence(void **state)
{
    (void)state;
    http_refused("GET / HTTP/1.1\r\n\r\n", 400, "400: The request has no Host header.");
    http_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "several Host headers");
    http_refused("POST / HTTP/1.1\r\n" HOST
                 "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
                 400, "both Content-Length");
    http_refused("POST / HTTP/1.1\r\n" HOST "Content-Length: 9999999\r\n\r\n", 413,
                 "body is too large");
    http_refused("get / HTTP/1.1\r\n" HOST "\r\n", 400, "capital letters");
    http_refused("GET / HTTP/2.0\r\n" HOST "\r\n", 505, "Only HTTP/1.0 and HTTP/1.1");
    http_refused("GET http:/// HTTP/1.1\r\n" HOST "\r\n", 400, "must begin with /");
    http_refused("GET http://u@a/ HTTP/1.1\r\n" HOST "\r\n", 400, "must begin with /");
    http_refused("GET ftp://a/ HTTP/1.1\r\n" HOST "\r\n", 400, "must begin with /");
    http_refused("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n", 400, "must begin with /");
    http_refused("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400, "must begin with /");
    http_refused("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n", 400,
                 "longer than it says");
}

/* It keeps sending long after it was refused, and still reads why. */
static void a_refused_client_can_read_its_answer(void **state)
{
    (void)state;
    static char junk[100000];
    client c = dial(&s);
    memset(junk, 'x', sizeof junk);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999\r\n\r\n");
    say_bytes(&c, junk, sizeof junk);
    scene_until(&s, scene_counted(&s, "refused_framing") == 1);
    say_bytes(&c, junk, sizeof junk);
    expect_answer(&c, 413, NULL);
    stop_sending(&c);
    scene_until(&s, http_connections(s.h) == 0);
    expect_closed(&c);
    hang_up(&c);
}

static void requests_before_a_refused_one_are_answered(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\nGET /park HTTP/1.1\r\n" HOST "\r\nGARBAGE\r\n\r\n");
    expect_answer(&c, 200, NULL);
    scene_until(&s, s.parked_count == 1);
    http_answer(s.parked[--s.parked_count], &(http_reply){.status = 204});
    expect_int(hear_head(&c).status, 204);
    expect_answer(&c, 400, NULL);
    expect_closed(&c);
    hang_up(&c);
}

/* ---- answers ---- */

static void answers_without_a_body_have_none(void **state)
{
    (void)state;
    client c = dial(&s);
    static const int statuses[] = {204, 304};
    for (int i = 0; i < 2; i++) {
        char text[64];
        snprintf(text, sizeof text, "GET /status?%d HTTP/1.1\r\n" HOST "\r\n", statuses[i]);
        say(&c, text);
        answer a = hear_head(&c);
        expect_int(a.status, statuses[i]);
        expect_lacks(a.head, "Content-Length");
    }
    say(&c, "HEAD /status?200 HTTP/1.1\r\n" HOST "\r\n");
    answer a = hear_head(&c);
    expect_contains(a.head, "Content-Length: 4\r\n");
    say(&c, "GET /close HTTP/1.1\r\n" HOST "\r\n");
    a = hear_head(&c);
    expect_contains(a.head, "Content-Length: 0\r\n");
    expect_closed(&c);
    hang_up(&c);
}

static void every_status_has_a_line(void **state)
{
    (void)state;
    client c = dial(&s);
    for (int status = 200; status < 600; status += 1) {
        char text[64];
        snprintf(text, sizeof text, "HEAD /status?%d HTTP/1.1\r\n" HOST "\r\n", status);
        say(&c, text);
        expect_int(hear_head(&c).status, status);
    }
    hang_up(&c);
}

static void a_header_with_a_line_end_never_gets_out(void **state)
{
    (void)state;
    client c = dial(&s);
    say(&c, "GET /bad HTTP/1.1\r\n" HOST "\r\n");
    answer a = hear(&c);
    expect_int(a.status, 500);
    expect_lacks(a.head, "Set-Cookie");
    answer_done(&a);
    expect_int(scene_counted(&s, "bad_header"), 1);
    say(&c, "GET /cached HTTP/1.1\r\n" HOST "\r\n");
    a = hear(&c);
    expect_contains(a.head, "Cache-Control: max-age=60");
    expect_lacks(a.head, "no-store");
    answer_done(&a);
    hang_up(&c);
}

static void an_answer_that_is_too_large_to_be_sent_is_a_500(void **state)
{
    (void)state;
    static const size_t sizes[] = {HF_BUFFER_MAX - 10, HF_BUFFER_MAX,
                                   HF_BUFFER_MAX + HF_BUFFER_MAX / 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        client c = dial(&s);
        char text[128];
        snprintf(text, sizeof text, "GET /big?%zu HTTP/1.1\r\n" HOST "\r\n", sizes[i]);
        say(&c, text);
        answer a = hear(&c);
        expect_int(a.status, 500);
        expect_text(a.body, "500: The server made an answer that can't be sent.");
        expect_contains(a.head, "Connection: close");
        answer_done(&a);
        expect_closed(&c);
        hang_up(&c);
    }
    client c = dial(&s);
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    hang_up(&c);
    expect_int(scene_counted(&s, "answer_failed"), sizeof sizes / sizeof sizes[0]);
}

/* ---- headers ---- */

static void server_http_header(const char *name, const char *lines, int status, const char *value)
{
    client c = dial(&s);
    char text[1024];
    snprintf(text, sizeof text, "GET /header?%s HTTP/1.1\r\n" HOST "%s\r\n", name, lines);
    say(&c, text);
    expect_answer(&c, status, value);
    hang_up(&c);
}

static void headers_are_found_by_their_names(void **state)
{
    (void)state;
    server_http_header("host", "", 200, "a");
    server_http_header("x-a", "X-A: 1\r\n", 200, "1");
    server_http_header("x-a", "X-a:1\r\nX-AB: 2\r\n", 200, "1");
    server_http_header("x-a", "X-A: \t two words \t \r\n", 200, "two words");
    server_http_header("x-a", "X-A:\r\n", 200, "");
    server_http_header("x-a", "X-AB: 1\r\nB: x-a\r\n", 404, "");
    server_http_header("x-a", "X-A: 1\r\nX-A: 2\r\n", 200, "1, 2");
    server_http_header("x-a", "X-A: 1\r\nB: 3\r\nX-A: 2\r\nC: d\r\nx-a: third\r\nE: f\r\n", 200,
                       "1, 2, third");
    server_http_header("e", "X-A: 1\r\nB: 3\r\nX-A: 2\r\nC: d\r\nx-a: third\r\nE: f\r\n", 200, "f");
    server_http_header("x", "X:\r\nX:\r\nX: 1\r\n", 200, ", , 1");
}

/* As for a proxy; the host of the target counts, whatever the header says. */
static void a_target_may_have_a_host(void **state)
{
    (void)state;
    static const struct {
        const char *target, *header, *body;
    } cases[] = {
        {"http://b/header?host", "a", "b"},
        {"HTTPS://[::1]:80/header?Host", "a", "[::1]:80"},
        {"http://a.b:1/echo", "c", "GET\n/echo\n\n\n127.0.0.1\nlocal\nclear\n"},
        {"http://a/echo?http://x/@y", "c",
         "GET\n/echo\nhttp://x/@y\n\n127.0.0.1\nlocal\nclear\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char request[256];
        client c = dial(&s);
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nX: y\r\n\r\n",
                 cases[i].target, cases[i].header);
        for (int turn = 0; turn < 2; turn++) {
            say(&c, request);
            expect_answer(&c, 200, cases[i].body);
        }
        hang_up(&c);
    }
    static const char *const bare[] = {"http://a", "http://a?x"};
    for (size_t i = 0; i < 2; i++) { /* the path is / */
        char request[256];
        client c = dial(&s);
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", bare[i]);
        say(&c, request);
        expect_answer(&c, 404, NULL);
        hang_up(&c);
    }
}

/* It is not the beginning of one: nobody waits for the rest. */
static void an_empty_line_before_a_request_is_passed_over(void **state)
{
    (void)state;
    http_free(s.h);
    s.settings.head_timeout_us = 100000;
    s.settings.idle_timeout_us = INT32_MAX;
    hf_error err;
    expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
    scene_listen(&s, "127.0.0.1:0", NULL);
    client c = dial(&s), other = dial(&s);
    say(&c, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello\r\n");
    expect_answer(&c, 200, NULL);
    say(&other, "GET /echo HTT");
    expect_answer(&other, 408, NULL); /* longer than a head may take */
    say(&c, "GET /echo HTTP/1.1\r\n" HOST "\r\n\r");
    expect_answer(&c, 200, NULL);
    say(&c, "\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 200, NULL);
    say(&c, "\r\n\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect_answer(&c, 400, NULL);
    hang_up(&c), hang_up(&other);
}

static void two_headers(const char *names, const char *lines, const char *values)
{
    client c = dial(&s);
    char text[1024];
    snprintf(text, sizeof text, "GET /two-headers?%s HTTP/1.1\r\n" HOST "%s\r\n", names, lines);
    say(&c, text);
    expect_answer(&c, 200, values);
    hang_up(&c);
}

static void a_header_stays_as_it_is_while_others_are_looked_at(void **state)
{
    (void)state;
    const char *around = "B: 1\r\nA: first\r\nB: 2\r\n",
               *mixed = "B: 1\r\nA: 3\r\nB: 2\r\nA: 4\r\nC: 5\r\n";
    two_headers("a,b", around, "first|1, 2");
    two_headers("b,a", around, "1, 2|first");
    two_headers("a,b", mixed, "3, 4|1, 2");
    two_headers("b,a", mixed, "1, 2|3, 4");
    two_headers("c,a", mixed, "5|3, 4");
    two_headers("c,host", mixed, "5|a");
}

/* ---- secrets ---- */

enum { BLOCKS_MAX = 64 };

static struct {
    char *at;
    size_t size;
} blocks[BLOCKS_MAX];
static size_t blocks_count;

/* Remembers what was allocated and has not moved. */
static void *noted_realloc(void *block, size_t size)
{
    size_t i = 0;
    while (i < blocks_count && (block == NULL || blocks[i].at != block))
        i++;
    expect_true(i < BLOCKS_MAX);
    blocks_count += i == blocks_count;
    blocks[i].at = realloc(block, size);
    blocks[i].size = size;
    return blocks[i].at;
}

static size_t places_of(const char *text)
{
    size_t places = 0;
    for (size_t i = 0; i < blocks_count; i++)
        for (size_t at = 0; at + strlen(text) <= blocks[i].size; at++)
            places += memcmp(blocks[i].at + at, text, strlen(text)) == 0;
    return places;
}

/* H5. Nothing is freed in between, so all blocks may be looked at. */
static void nothing_of_an_answered_request_stays_in_memory(void **state)
{
    (void)state;
    http_free(s.h);
    hf_seam.realloc = noted_realloc;
    hf_error err;
    expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
    scene_listen(&s, "127.0.0.1:0", NULL);
    client c = dial(&s);
    say(&c, "POST /park?key=hidden HTTP/1.1\r\n" HOST
            "Authorization: Bearer hidden\r\nContent-Length: 9\r\n\r\n\"hidden\" ");
    scene_until(&s, s.parked_count == 1);
    http_request *r = s.parked[--s.parked_count];
    expect_true(hf_arena_text(&r->arena, r->query) != NULL);
    expect_true(places_of("hidden") >= 3);
    http_answer(r, &(http_reply){.status = 200, .type = "text/plain", .body = r->body});
    expect_int(places_of("hidden"), 0);
    hf_seam.realloc = realloc;
    expect_answer(&c, 200, "\"hidden\" ");
    hang_up(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, scene_begin, scene_finish, &s)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_answered),
        TEST(every_method_is_told),
        TEST(a_request_may_be_cut_anywhere),
        TEST(a_request_may_come_byte_by_byte),
        TEST(pipelined_requests_are_answered_in_order),
        TEST(a_parked_request_holds_up_those_behind_it),
        TEST(a_client_that_pipelines_much_does_not_hold_up_others),
        TEST(a_large_body_comes_through),
        TEST(a_large_answer_comes_through_a_slow_reader),
        TEST(a_client_that_expects_it_is_told_to_continue),
        TEST(connections_are_kept_as_the_client_says),
        TEST(what_follows_a_last_request_is_not_looked_at),
        TEST(what_framing_refuses_is_answered_with_its_sentence),
        TEST(a_refused_client_can_read_its_answer),
        TEST(requests_before_a_refused_one_are_answered),
        TEST(answers_without_a_body_have_none),
        TEST(every_status_has_a_line),
        TEST(a_header_with_a_line_end_never_gets_out),
        TEST(an_answer_that_is_too_large_to_be_sent_is_a_500),
        TEST(headers_are_found_by_their_names),
        TEST(a_target_may_have_a_host),
        TEST(an_empty_line_before_a_request_is_passed_over),
        TEST(a_header_stays_as_it_is_while_others_are_looked_at),
        TEST(nothing_of_an_answered_request_stays_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
