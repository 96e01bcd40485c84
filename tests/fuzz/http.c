/* SPDX-License-Identifier: MIT */
/* Any bytes at all, cut anywhere, over a real socket into the HTTP layer: what framing accepts is
 * handed out whole and in order, what it refuses is answered once and closed, and nothing is left
 * of either. For libFuzzer: tools/fuzz http 60. The first byte of the input says how the rest is
 * cut and what the handler does. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <server/http/http_inside.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct event_base *base;
static http *h;
static http_request *parked;
static uint8_t manner;
static size_t handled, refused;

static void http_must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void http_look(http_request *r)
{
    static const char *const names[] = {
        "host", "x", "content-length", "connection", "x-forwarded-for", "forwarded", "a"};
    http_must(r->path.size > 0 && r->path.at[0] == '/', "a path begins with /");
    http_must(memchr(r->path.at, '?', r->path.size) == NULL, "a path has no question mark");
    http_must(r->body.size <= framing_usual.body_max, "a body is within its limit");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = http_header(r, names[i]);
        http_must(value == NULL || strpbrk(value, "\r\n") == NULL, "a value has no line end");
        const char *again = http_header(r, names[i]);
        http_must(value == again, "a header is found again where it was");
    }
}

static void http_finish(http_request *r)
{
    if (manner & 4) {
        http_stream_begin(
            r, &(http_reply){.status = 200, .type = "text/plain", .body = hf_slice_of("first")});
        http_stream_write(r, "second", 6);
        http_stream_end(r);
    } else {
        http_answer(r, &(http_reply){.status = 200, .type = "text/plain", .body = r->body});
    }
}

static void http_on_request(void *context, http_request *r)
{
    (void)context;
    handled++;
    http_look(r);
    http_must(parked == NULL, "one request at a time");
    if (manner & 2)
        parked = r;
    else
        http_finish(r);
}

static const char *http_problem(void *context, int status, const char *sentence, hf_buffer *body)
{
    (void)context, (void)status;
    refused++;
    hf_buffer_add(body, sentence, strlen(sentence));
    return "text/plain";
}

static void http_start(void)
{
    static const char *const trusted[] = {"127.0.0.1", NULL};
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
    base = event_base_new_with_config(config);
    event_config_free(config);
    http_settings settings = {
        .base = base,
        .limits = &framing_usual,
        .handle = http_on_request,
        .problem = http_problem,
        .connections_max = 100,
        .head_timeout_us = 60000000,
        .body_timeout_us = 60000000,
        .idle_timeout_us = 60000000,
        .write_timeout_us = 60000000,
        .proxies = trusted,
    };
    http_must(http_new(&settings, &h, NULL) == HF_OK, "a server is made");
}

static void http_turn(int fd)
{
    char thrown_away[65536];
    event_base_loop(base, EVLOOP_NONBLOCK);
    if (parked != NULL) {
        http_request *r = parked;
        parked = NULL;
        http_finish(r);
    }
    while (recv(fd, thrown_away, sizeof thrown_away, 0) > 0)
        ;
}

/* How many requests are whole and have a path, as framing sees them; whether it then refuses
 * something. */
static size_t expected(const uint8_t *bytes, size_t size, bool *refuses)
{
    framing f;
    framing_init(&f, &framing_usual);
    framing_feed(&f, bytes, size);
    *refuses = f.status != 0;
    return (size_t)f.requests;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int fds[2];
    http_listener listener = {.http = h};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (size < 2)
        return 0;
    if (h == NULL)
        http_start();
    manner = *bytes++;
    size--;
    handled = refused = 0;
    size_t cut = manner & 1 ? size : 1 + (manner >> 3);
    http_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0,
              "there are sockets");
    conn_open(h, &listener, fds[0], (struct sockaddr *)&peer);
    for (size_t at = 0, piece; at < size; at += piece) {
        piece = size - at < cut ? size - at : cut;
        if (send(fds[1], bytes + at, piece, MSG_NOSIGNAL) != (ssize_t)piece)
            break;
        http_turn(fds[1]);
    }
    shutdown(fds[1], SHUT_WR);
    for (int i = 0; i < 100000 && http_connections(h) > 0; i++)
        http_turn(fds[1]);
    bool refuses;
    size_t whole = expected(bytes, size, &refuses);
    http_must(http_connections(h) == 0 && http_requests(h) == 0 && parked == NULL,
              "nothing is left");
    http_must(handled <= whole, "only whole requests are handed out");
    http_must(refused <= 1, "what is refused is refused once");
    http_must(refuses || refused == 1 || handled == whole || handled > 0,
              "whole requests are handed out");
    close(fds[1]);
    return 0;
}
