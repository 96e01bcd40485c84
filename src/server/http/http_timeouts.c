/* SPDX-License-Identifier: MIT */
/* Timeouts without a timer for each connection: a list for each kind, in order, and one timer for
 * the first that is due. Moving a connection to the end of a list costs nothing that grows with
 * their number. */
#include "base/seams.h"
#include "server/http/http_inside.h"

enum {
    LINGER_US = 2000000,
    /* once the server stops: as long as a request may be on its way */
    PARTING_US = 200000,
    /* ... and a handshake may take, before which no request is sent */
    PARTING_HANDSHAKE_US = 1000000,
};

static void http_waits_arm(http *h, int64_t now_us, int64_t until_us)
{
    http_waits *w = &h->waits;
    int64_t span_us = until_us > now_us ? until_us - now_us : 0;
    struct timeval span = {.tv_sec = span_us / 1000000, .tv_usec = span_us % 1000000};
    /* When memory is out now, it is tried again with the next wait. */
    w->armed_us = event_add(&w->timer, &span) == 0 ? until_us : INT64_MAX;
}

static void arm_for_first(http *h, int64_t now_us)
{
    int64_t until_us = INT64_MAX;
    for (unsigned i = 0; i < WAITS; i++)
        if (h->waits.first[i] != NULL && h->waits.first[i]->wait_until_us < until_us)
            until_us = h->waits.first[i]->wait_until_us;
    if (until_us < INT64_MAX)
        http_waits_arm(h, now_us, until_us);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
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
    arm_for_first(h, now_us);
}

static void unlink_wait(http_conn *c)
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
    unlink_wait(c);
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

void waits_init(http *h)
{
    const http_settings *s = &h->settings;
    h->waits.spans_us[WAIT_HANDSHAKE] = h->waits.spans_us[WAIT_HEAD] = s->head_timeout_us;
    h->waits.spans_us[WAIT_BODY] = s->body_timeout_us;
    h->waits.spans_us[WAIT_IDLE] = s->idle_timeout_us;
    h->waits.spans_us[WAIT_WRITE] = s->write_timeout_us;
    h->waits.spans_us[WAIT_LINGER] = LINGER_US;
    h->waits.armed_us = INT64_MAX;
    evtimer_assign(&h->waits.timer, s->base, on_timer, h);
}

void waits_part(http *h)
{
    int64_t *handshake_us = &h->waits.spans_us[WAIT_HANDSHAKE];
    h->waits.spans_us[WAIT_IDLE] = PARTING_US;
    *handshake_us = *handshake_us < PARTING_HANDSHAKE_US ? *handshake_us : PARTING_HANDSHAKE_US;
}

void waits_done(http *h)
{
    event_del(&h->waits.timer);
}
