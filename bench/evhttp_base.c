/* SPDX-License-Identifier: MIT */
/* hf-evhttp-base: the baseline of the server's requests per second: libevent's own HTTP server,
 * tuned as far as it goes, which parks every request with another thread and answers the JSON of a
 * granted lock, without looking at anything. Listens on 127.0.0.1, at a port that it prints, until
 * its standard input ends.
 *
 *   hf-evhttp-base [--inline]     --inline: answers at once, without the other thread */
#include "park.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void evhttp_base_answer(void *request)
{
    struct evhttp_request *r = request;
    struct evbuffer *body = evbuffer_new();
    evbuffer_add_reference(body, park_json, strlen(park_json), NULL, NULL);
    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", "application/json");
    evhttp_send_reply(r, 200, "OK", body);
    evbuffer_free(body);
}

static void evhttp_base_on_request(struct evhttp_request *r, void *context)
{
    if (context == NULL)
        evhttp_base_answer(r);
    else
        park_add(context, r);
}

static void evhttp_base_on_input(evutil_socket_t fd, short what, void *context)
{
    char byte;
    (void)what;
    if (read(fd, &byte, 1) <= 0)
        event_base_loopbreak(context);
}

static int listening(unsigned *port)
{
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return -1;
    *port = ntohs(at.sin_port);
    return fd;
}

int main(int argc, char **argv)
{
    unsigned port = 0;
    bool at_once = argc > 1 && strcmp(argv[1], "--inline") == 0;
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    struct evhttp *http = evhttp_new(base);
    struct event *input =
        event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, evhttp_base_on_input, base);
    evhttp_set_gencb(http, evhttp_base_on_request,
                     at_once ? NULL : park_new(base, evhttp_base_answer));
    if (evhttp_accept_socket(http, listening(&port)) != 0)
        return 2;
    event_add(input, NULL);
    printf("%u\n", port);
    fflush(stdout);
    event_base_dispatch(base);
    return 0;
}
