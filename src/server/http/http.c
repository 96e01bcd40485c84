/* SPDX-License-Identifier: MIT */
/* The HTTP layer as a whole: its settings, its beginning and its end. */
#include "server/http/http.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <assert.h>

static hf_status check_settings(const http_settings *s, hf_error *err)
{
    if (s->head_timeout_us <= 0 || s->body_timeout_us <= 0 || s->idle_timeout_us <= 0 ||
        s->write_timeout_us <= 0)
        return hf_fail(
            err, HF_INVALID,
            "A timeout of the HTTP server is not positive; every wait must have an end.");
    int needed = EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE;
    if ((event_base_get_features(s->base) & needed) != needed)
        return hf_fail(err, HF_INVALID, "The event loop uses %s; the HTTP server needs epoll.",
                       event_base_get_method(s->base));
    return HF_OK;
}

hf_status http_new(const http_settings *settings, http **out, hf_error *err)
{
    hf_status status = check_settings(settings, err);
    if (status != HF_OK)
        return status;
    http *h = hf_alloc(sizeof *h);
    if (h == NULL)
        return hf_fail_memory(err);
    h->settings = *settings;
    if (h->settings.reading_max == 0)
        h->settings.reading_max = HTTP_READING_MAX;
    status = proxies_new(settings->proxies, &h->proxies, err);
    if (status != HF_OK) {
        hf_free(h);
        return status;
    }
    waits_init(h);
    conns_init(h);
    *out = h;
    return HF_OK;
}

static void stop_listening(http *h)
{
    while (h->listeners != NULL) {
        http_listener *next = h->listeners->next;
        listener_free(h->listeners);
        h->listeners = next;
    }
}

/* A client that is told by an answer that the connection ends does not send another request on it.
 * One that has not heard of it may just have sent one: closing then would be a reset instead of an
 * answer. So who is idle is waited for, and so is who has connected and was not accepted yet, or
 * has not finished their handshake: whoever connects has something to ask. */
void http_stop(http *h)
{
    h->stopping = true;
    waits_part(h);
    for (http_listener *l = h->listeners; l != NULL; l = l->next)
        listener_empty(l);
    stop_listening(h);
    for (http_conn *c = h->connections; c != NULL; c = c->next)
        if (c->phase == IDLE || c->phase == HANDSHAKE)
            wait_for(c, c->phase == IDLE ? WAIT_IDLE : WAIT_HANDSHAKE);
}

size_t http_connections(const http *h)
{
    return h->connections_count;
}

size_t http_requests(const http *h)
{
    return h->requests_count;
}

void http_free(http *h)
{
    if (h == NULL)
        return;
    assert(h->requests_count == 0);
    stop_listening(h);
    for (http_conn *c; (c = h->connections) != NULL;) {
        if (c->held != NULL)
            held_give_back(c->held);
        c->held = NULL;
        conn_free(c);
    }
    held_free_spare(h);
    waits_done(h);
    conns_done(h);
    hf_buffer_done(&h->output);
    proxies_free(h->proxies);
    hf_free(h);
}
