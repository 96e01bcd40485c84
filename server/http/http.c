/* SPDX-License-Identifier: MIT */
/* The HTTP layer as a whole: listening and accepting, timeouts, its beginning and its end. */
#include "server/http/http.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS = 64, PAUSE_US = 200000, SHARES = 8 };

/* ---- accepting ---- */

static void http_listen_resume(evutil_socket_t fd, short what, void *context)
{
    http_listener *l = context;
    (void)fd, (void)what;
    event_add(&l->accepting, NULL);
}

/* Files or memory are out: the socket stays readable, so asking on would only burn time. */
static void http_pause_accepting(http_listener *l)
{
    struct timeval span = {.tv_usec = PAUSE_US};
    http_count(l->http, "accept_failed");
    event_del(&l->accepting);
    event_add(&l->resuming, &span);
}

/* Whether more may wait. */
static bool http_accept_some(http_listener *l, int fd)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int got = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (got >= 0) {
            conn_open(l->http, l, got, (const struct sockaddr *)&peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            http_pause_accepting(l);
        if (errno != ECONNABORTED && errno != EINTR)
            return false;
    }
    return true;
}

static void http_on_accept(evutil_socket_t fd, short what, void *context)
{
    (void)what;
    http_accept_some(context, fd);
}

/* Takes in everyone who has connected so far. */
static void http_listener_empty(http_listener *l)
{
    while (http_accept_some(l, l->fd))
        continue;
}

/* ---- listeners ---- */

static void http_listener_free(http_listener *l)
{
    if (l->fd >= 0) {
        event_del(&l->accepting);
        event_del(&l->resuming);
        close(l->fd);
    }
    tls_context_free(l->context);
    hf_free(l->certificate);
    hf_free(l->key);
    hf_free(l);
}

static char *http_listen_copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hf_alloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* A listener without a socket. */
static hf_status http_listener_new(http *h, const http_tls *tls, http_listener **out, hf_error *err)
{
    http_listener *l = hf_alloc(sizeof *l);
    if (l == NULL)
        return hf_fail_memory(err);
    l->http = h;
    l->fd = -1;
    hf_status status = HF_OK;
    if (tls != NULL && ((l->certificate = http_listen_copy_of(tls->certificate)) == NULL ||
                        (l->key = http_listen_copy_of(tls->key)) == NULL))
        status = hf_fail_memory(err);
    else if (tls != NULL)
        status = tls_context_new(tls, &l->context, err);
    if (status != HF_OK) {
        http_listener_free(l);
        return status;
    }
    *out = l;
    return HF_OK;
}

hf_status http_listen(http *h, int fd, const http_tls *tls, hf_error *err)
{
    int yes = 1;
    http_listener *l;
    hf_status status = http_listener_new(h, tls, &l, err);
    if (status != HF_OK)
        return status;
    /* Accepted sockets inherit it. On a Unix socket it fails, which is fine. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    event_assign(&l->accepting, h->settings.base, fd, EV_READ | EV_PERSIST, http_on_accept, l);
    evtimer_assign(&l->resuming, h->settings.base, http_listen_resume, l);
    if (event_add(&l->accepting, NULL) != 0) {
        http_listener_free(l);
        return hf_fail_memory(err);
    }
    l->fd = fd;
    l->next = h->listeners;
    h->listeners = l;
    return HF_OK;
}

/* All of them, or none. */
hf_status http_reload(http *h, hf_error *err)
{
    hf_status status = HF_OK;
    for (http_listener *l = h->listeners; l != NULL && status == HF_OK; l = l->next)
        if (l->context != NULL)
            status = tls_context_new(&(http_tls){l->certificate, l->key}, &l->fresh, err);
    for (http_listener *l = h->listeners; l != NULL; l = l->next) {
        if (status == HF_OK && l->fresh != NULL) {
            tls_context_free(l->context);
            l->context = hf_take(l->fresh);
        }
        tls_context_free(hf_take(l->fresh));
    }
    return status;
}

/* ---- timeouts ---- */

/* Timeouts without a timer for each connection: a list for each kind, in order, and one timer for
 * the first that is due. Moving a connection to the end of a list costs nothing that grows with
 * their number. */

enum {
    LINGER_US = 2000000,
    /* once the server stops: as long as a request may be on its way */
    PARTING_US = 200000,
    /* ... and what has begun to come may take: a handshake, a head, a body */
    PARTING_PART_US = 1000000,
    /* ... and a client may take nothing of its answer; while it takes some, it is waited for */
    PARTING_WRITE_US = 5000000,
    PARTING_LINGER_US = 500000,
};

static void http_waits_arm(http *h, int64_t now_us, int64_t until_us)
{
    http_waits *w = &h->waits;
    int64_t span_us = until_us > now_us ? until_us - now_us : 0;
    struct timeval span = {.tv_sec = span_us / 1000000, .tv_usec = span_us % 1000000};
    /* When memory is out now, it is tried again with the next wait. */
    w->armed_us = event_add(&w->timer, &span) == 0 ? until_us : INT64_MAX;
}

static void http_arm_for_first(http *h, int64_t now_us)
{
    int64_t until_us = INT64_MAX;
    for (unsigned i = 0; i < WAITS; i++)
        if (h->waits.first[i] != NULL && h->waits.first[i]->wait_until_us < until_us)
            until_us = h->waits.first[i]->wait_until_us;
    if (until_us < INT64_MAX)
        http_waits_arm(h, now_us, until_us);
}

static void http_on_timer(evutil_socket_t fd, short what, void *context)
{
    http *h = context;
    (void)fd, (void)what;
    h->waits.armed_us = INT64_MAX;
    int64_t now_us = hf_seam.boot_us();
    for (unsigned i = 0; i < WAITS; i++)
        for (http_conn *c; (c = h->waits.first[i]) != NULL && c->wait_until_us <= now_us;) {
            wait_for(c, WAIT_NOTHING);
            conn_overdue(c);
        }
    http_arm_for_first(h, now_us);
}

static void http_unlink_wait(http_conn *c)
{
    http_waits *w = &c->http->waits;
    if (c->wait == WAIT_NOTHING)
        return;
    *(c->wait_before != NULL ? &c->wait_before->wait_next : &w->first[c->wait]) = c->wait_next;
    *(c->wait_next != NULL ? &c->wait_next->wait_before : &w->last[c->wait]) = c->wait_before;
    c->wait_next = c->wait_before = NULL;
    c->wait = WAIT_NOTHING;
}

void wait_for(http_conn *c, http_wait what)
{
    http_waits *w = &c->http->waits;
    http_unlink_wait(c);
    if (what == WAIT_NOTHING)
        return;
    int64_t now_us = hf_seam.boot_us();
    c->wait = what;
    c->wait_until_us = now_us + w->spans_us[what];
    c->wait_before = w->last[what];
    *(w->last[what] != NULL ? &w->last[what]->wait_next : &w->first[what]) = c;
    w->last[what] = c;
    if (c->wait_until_us < w->armed_us)
        http_waits_arm(c->http, now_us, c->wait_until_us);
}

static void http_waits_init(http *h)
{
    const http_settings *s = &h->settings;
    h->waits.spans_us[WAIT_HELLO] = h->waits.spans_us[WAIT_HANDSHAKE] =
        h->waits.spans_us[WAIT_HEAD] = s->head_timeout_us;
    h->waits.spans_us[WAIT_BODY] = s->body_timeout_us;
    h->waits.spans_us[WAIT_IDLE] = s->idle_timeout_us;
    h->waits.spans_us[WAIT_WRITE] = s->write_timeout_us;
    h->waits.spans_us[WAIT_LINGER] = LINGER_US;
    h->waits.armed_us = INT64_MAX;
    evtimer_assign(&h->waits.timer, s->base, http_on_timer, h);
}

/* From now on nobody is waited for long: what is not whole was never accepted. */
static void http_waits_part(http *h)
{
    static const int64_t most_us[WAITS] = {
        [WAIT_HELLO] = PARTING_PART_US,   [WAIT_HANDSHAKE] = PARTING_PART_US,
        [WAIT_IDLE] = PARTING_US,         [WAIT_HEAD] = PARTING_PART_US,
        [WAIT_BODY] = PARTING_PART_US,    [WAIT_WRITE] = PARTING_WRITE_US,
        [WAIT_LINGER] = PARTING_LINGER_US,
    };
    for (unsigned i = 0; i < WAITS; i++)
        if (h->waits.spans_us[i] > most_us[i])
            h->waits.spans_us[i] = most_us[i];
    for (http_conn *c = h->connections; c != NULL; c = c->next)
        wait_for(c, c->wait);
}

static void http_waits_done(http *h)
{
    event_del(&h->waits.timer);
}

/* ---- new, stop, free ---- */

static hf_status http_check_settings(const http_settings *s, hf_error *err)
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

/* Room is doubled as a body comes, so the largest one may take nearly twice its size. It must fit
 * into the share, or its client is told 429 however often it tries. */
static size_t http_share(const http_settings *s)
{
    size_t share = s->reading_max / SHARES;
    size_t largest = s->limits->body_max < s->reading_max
                         ? bytes_room(&(bytes){0}, s->limits->head_max + s->limits->body_max)
                         : s->reading_max;
    return share > largest ? share : largest;
}

hf_status http_new(const http_settings *settings, http **out, hf_error *err)
{
    hf_status status = http_check_settings(settings, err);
    if (status != HF_OK)
        return status;
    http *h = hf_alloc(sizeof *h);
    if (h == NULL)
        return hf_fail_memory(err);
    h->settings = *settings;
    if (h->settings.reading_max == 0)
        h->settings.reading_max = HTTP_READING_MAX;
    h->small = bytes_room(&(bytes){0}, settings->limits->head_max);
    h->share = http_share(&h->settings);
    if (!sources_init(h))
        status = hf_fail(err, HF_INTERNAL, "Reading random bytes failed.");
    if (status == HF_OK)
        status = proxies_new(settings->proxies, &h->proxies, err);
    if (status != HF_OK) {
        hf_free(h);
        return status;
    }
    http_waits_init(h);
    conns_init(h);
    *out = h;
    return HF_OK;
}

static void http_stop_listening(http *h)
{
    while (h->listeners != NULL) {
        http_listener *next = h->listeners->next;
        http_listener_free(h->listeners);
        h->listeners = next;
    }
}

/* A client that is told by an answer that the connection ends does not send another request on it.
 * Another client may just have sent one: closing then would be a reset instead of an answer. So
 * the server waits for idle connections, for those that were not accepted yet, and for handshakes
 * and requests that are under way. It does not wait long: a stranger could delay every stop. */
void http_stop(http *h)
{
    h->stopping = true;
    for (http_listener *l = h->listeners; l != NULL; l = l->next)
        http_listener_empty(l);
    http_stop_listening(h);
    http_waits_part(h);
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
    http_stop_listening(h);
    for (http_conn *c; (c = h->connections) != NULL;) {
        if (c->held != NULL)
            held_give_back(c->held);
        c->held = NULL;
        conn_free(c);
    }
    held_free_spare(h);
    http_waits_done(h);
    conns_done(h);
    sources_done(h);
    hf_buffer_done(&h->output);
    proxies_free(h->proxies);
    hf_free(h);
}
