/* SPDX-License-Identifier: MIT */
/* hf-http-base: the server's HTTP layer alone, beside hf-evhttp-base: the same parking, the same
 * JSON.
 *
 *   hf-http-base [--inline] [--tls CERTIFICATE KEY] [ADDRESS] */
#include "park.h"

#include <event2/event.h>
#include <server/http/http.h>
#include <server/http/listeners.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void http_base_answer(void *request)
{
    http_answer(request, &(http_reply){.status = 200,
                                       .type = "application/json",
                                       .body = {park_json, strlen(park_json)}});
}

static void http_base_on_request(void *context, http_request *r)
{
    if (context == NULL)
        http_base_answer(r);
    else
        park_add(context, r);
}

static const char *http_base_problem(void *context, int status, const char *sentence,
                                     hf_buffer *body)
{
    (void)context, (void)status;
    hf_buffer_add(body, sentence, strlen(sentence));
    return "text/plain";
}

static void http_base_on_input(evutil_socket_t fd, short what, void *context)
{
    char byte;
    (void)what;
    if (read(fd, &byte, 1) <= 0)
        event_base_loopbreak(context);
}

int main(int argc, char **argv)
{
    bool at_once = false;
    http_tls tls = {0};
    const char *where = "127.0.0.1:0";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--inline") == 0)
            at_once = true;
        else if (strcmp(argv[i], "--tls") == 0 && i + 2 < argc)
            tls = (http_tls){argv[i + 1], argv[i + 2]}, i += 2;
        else
            where = argv[i];
    }
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    struct event *input =
        event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, http_base_on_input, base);
    http_settings wanted = {
        .base = base,
        .limits = &framing_usual,
        .handle = http_base_on_request,
        .problem = http_base_problem,
        .context = at_once ? NULL : park_new(base, http_base_answer),
        .connections_max = 20000,
        .head_timeout_us = 10000000,
        .body_timeout_us = 10000000,
        .idle_timeout_us = 60000000,
        .write_timeout_us = 10000000,
    };
    http *h;
    hf_error err = {.message = "That is no address."};
    address at;
    int fd;
    if (http_new(&wanted, &h, &err) != HF_OK || !address_read(where, &at) ||
        address_listen(&at, 0, &fd, &err) != HF_OK ||
        http_listen(h, fd, tls.key == NULL ? NULL : &tls, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    event_add(input, NULL);
    printf("%u\n", address_port(&at));
    fflush(stdout);
    event_base_dispatch(base);
    return 0;
}
