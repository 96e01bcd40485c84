/* SPDX-License-Identifier: MIT */
/* A connection's life, from accept to close: what the loop does when its socket speaks. All work on
 * a connection is done in conn_run(), one phase after the other, until there is nothing to do;
 * whoever answers from elsewhere writes, and leaves the rest to a later conn_run(). */
#include "base/digest.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STEPS_MAX = 64,              /* steps before others get their turn */
    LINGER_BYTES_MAX = 16 << 20, /* thrown away after the last answer */
    /* connections above the limit that are told so; more are closed at once */
    SURPLUS_MAX = 64,
    GIVES_WAY_US = 5000000,
};

/* ---- writing ---- */

/* Calls conn_run() in the loop's next turn, after it has looked at all sockets: event_active
 * would come before them, and a client that sends without end would have the loop for itself. */
static void conn_schedule(http_conn *c)
{
    static const struct timeval at_once = {0};
    http *h = c->http;
    if (c->later_link != NULL)
        return;
    if (h->later == NULL)
        event_add(&h->later_timer, &at_once);
    c->later_next = h->later;
    c->later_link = &h->later;
    if (c->later_next != NULL)
        c->later_next->later_link = &c->later_next;
    h->later = c;
}

static void conn_unschedule(http_conn *c)
{
    if (c->later_link == NULL)
        return;
    *c->later_link = c->later_next;
    if (c->later_next != NULL)
        c->later_next->later_link = c->later_link;
    c->later_next = NULL;
    c->later_link = NULL;
}

void conn_break(http_conn *c)
{
    c->broken = true;
    if (!c->running)
        conn_schedule(c);
}

static void conn_watch_writing(http_conn *c)
{
    if (!event_pending(&c->writing, EV_WRITE, NULL) && event_add(&c->writing, NULL) != 0)
        conn_break(c);
}

void conn_send(http_conn *c, const char *from, size_t size)
{
    size_t taken = 0;
    io_end result = c->broken ? IO_BROKEN : IO_OK;
    if (result == IO_OK && bytes_left(&c->out) == 0)
        result = io_write(&c->io, from, size, &taken);
    if (result != IO_BROKEN && taken == size)
        return;
    if (result == IO_BROKEN || !bytes_add(&c->out, from + taken, size - taken)) {
        conn_break(c);
        return;
    }
    conn_watch_writing(c);
    if (c->wait != WAIT_WRITE)
        wait_for(c, WAIT_WRITE);
}

/* Writes what waited; whoever streams may then write more. */
static void conn_flush(http_conn *c)
{
    io_end end = IO_OK;
    size_t taken = 0, before = bytes_left(&c->out);
    while (bytes_left(&c->out) > 0 &&
           (end = io_write(&c->io, c->out.at + c->out.from, bytes_left(&c->out), &taken)) == IO_OK)
        bytes_drop(&c->out, taken);
    size_t after = bytes_left(&c->out);
    if (end == IO_BROKEN) {
        conn_break(c);
        return;
    }
    if (after > 0)
        conn_watch_writing(c);
    if (after == before)
        return;
    if (after == 0)
        bytes_clear(&c->out, 0);
    if (c->wait == WAIT_WRITE)
        wait_for(c, after > 0 ? WAIT_WRITE : WAIT_NOTHING);
    if (after == 0 && c->phase == STREAMING && c->held->request.drained != NULL)
        c->held->request.drained(&c->held->request);
}

/* ---- between requests, and the end ---- */

static void conn_linger(http_conn *c)
{
    io_finish(&c->io);
    bytes_clear(&c->in, 0);
    c->phase = LINGERING;
    c->io.more = true;
    wait_for(c, WAIT_LINGER);
}

/* All has been written. */
static void conn_go_on(http_conn *c)
{
    if (c->closing) {
        conn_linger(c);
        return;
    }
    c->phase = IDLE;
    wait_for(c, WAIT_IDLE);
}

void conn_answered(http_conn *c)
{
    c->held = NULL;
    c->phase = WRITING;
    if (c->running || c->broken || bytes_left(&c->out) > 0)
        return;
    conn_go_on(c);
    if (c->phase == LINGERING || c->io.more || bytes_left(&c->in) > 0)
        conn_schedule(c);
}

/* The client of a stream is watched more closely: its leaving may have been told while its request
 * was handled. */
void conn_streams(http_conn *c)
{
    c->io.more = true;
    if (!c->running)
        conn_schedule(c);
}

void conn_free(http_conn *c)
{
    http *h = c->http;
    assert(!c->running && c->held == NULL);
    wait_for(c, WAIT_NOTHING);
    conn_unschedule(c);
    turn_leave(c);
    handshake_end(c);
    c->source->connections--;
    source_leave(h, c->source);
    event_del(&c->reading);
    event_del(&c->writing);
    io_close(&c->io);
    bytes_clear(&c->in, 0);
    bytes_clear(&c->out, 0);
    *(c->before != NULL ? &c->before->next : &h->connections) = c->next;
    if (c->next != NULL)
        c->next->before = c->before;
    h->connections_count--;
    hf_free(c);
}

/* Closes it, and tells whoever has its request. */
static void conn_end(http_conn *c)
{
    http *h = c->http;
    http_held *r = c->held;
    bool handed_out = c->phase == HANDLING || c->phase == STREAMING;
    c->held = NULL;
    conn_free(c);
    if (r != NULL && !handed_out)
        held_give_back(r);
    if (r == NULL || !handed_out)
        return;
    r->conn = NULL;
    r->request.gone = true;
    http_count(h, "left");
    if (r->request.left != NULL)
        r->request.left(&r->request);
}

/* ---- the steps: each says whether there may be more to do ---- */

static void conn_feed_new(http_conn *c, size_t got)
{
    http *h = c->http;
    size_t used = conn_feed(c, h->input, got);
    if (used < got && !c->closing && !bytes_add(&c->in, h->input + used, got - used))
        c->broken = true;
    /* A part of a request, then a reset: libevent tells of both at once, and only as something to
     * read. */
    c->io.more |= c->phase == READING;
    hf_secret_wipe(h->input, got);
}

/* What was left over comes before what the socket has. */
static bool conn_take_input(http_conn *c)
{
    if (bytes_left(&c->in) > 0) {
        bytes_drop(&c->in, conn_feed(c, c->in.at + c->in.from, bytes_left(&c->in)));
        if (bytes_left(&c->in) == 0)
            bytes_clear(&c->in, 0);
        return true;
    }
    if (!c->io.more)
        return false;
    size_t got = 0;
    io_end result = io_read(&c->io, c->http->input, HTTP_INPUT_SIZE, &got);
    if (result == IO_OK)
        conn_feed_new(c, got);
    else if (result != IO_LATER)
        c->broken = true;
    else if (c->io.waits_for_write)
        conn_watch_writing(c);
    return result == IO_OK;
}

static bool conn_drain(http_conn *c)
{
    size_t got = 0;
    io_end result = io_drain(&c->io, c->http->input, HTTP_INPUT_SIZE, &got);
    c->drained += got;
    if (result == IO_LATER)
        return false;
    if (result != IO_OK || c->drained > LINGER_BYTES_MAX)
        c->broken = true;
    return true;
}

static bool conn_step(http_conn *c)
{
    switch (c->phase) {
    case HANDSHAKE:
        if (c->io.more)
            turn_wait(c);
        return false;
    case IDLE:
    case READING:
        return conn_take_input(c);
    case WRITING:
        if (bytes_left(&c->out) > 0)
            return false;
        conn_go_on(c);
        return true;
    case LINGERING:
        return conn_drain(c);
    case HANDLING:
    case STREAMING:
        return false;
    }
    return false;
}

static void conn_run(http_conn *c)
{
    unsigned steps = 0;
    c->running = true;
    conn_flush(c);
    while (!c->broken && steps < STEPS_MAX && conn_step(c))
        steps++;
    if (steps == STEPS_MAX)
        conn_schedule(c);
    if ((c->phase == HANDLING || c->phase == STREAMING) && c->io.more &&
        io_left(&c->io, c->phase == STREAMING))
        c->broken = true;
    c->running = false;
    if (c->broken)
        conn_end(c);
}

/* Whoever hangs up before their handshake has begun is spared it: they can't be answered. */
void conn_shake_hands(http_conn *c)
{
    bool left = c->io.closed && !c->shaking;
    io_end result = !left && (c->shaking || handshake_begin(c)) ? io_handshake(&c->io) : IO_BROKEN;
    if (result == IO_OK) {
        handshake_end(c);
        c->phase = IDLE;
        wait_for(c, WAIT_IDLE);
    } else if (result != IO_LATER) {
        http_count(c->http, "tls_failed");
        c->broken = true;
    } else if (c->io.waits_for_write) {
        conn_watch_writing(c);
    }
    conn_run(c);
}

static void conn_on_socket(evutil_socket_t fd, short what, void *context)
{
    http_conn *c = context;
    (void)fd;
    c->io.closed |= (what & EV_CLOSED) != 0;
    c->io.more |=
        (what & (EV_READ | EV_CLOSED)) != 0 || ((what & EV_WRITE) != 0 && c->io.waits_for_write);
    conn_run(c);
}

/* Those that are scheduled meanwhile are for the turn after. */
static void conn_on_later(evutil_socket_t fd, short what, void *context)
{
    http *h = context;
    http_conn *now = h->later;
    (void)fd, (void)what;
    h->later = NULL;
    if (now != NULL)
        now->later_link = &now;
    while (now != NULL) {
        http_conn *c = now;
        conn_unschedule(c);
        conn_run(c);
    }
}

void conns_init(http *h)
{
    evtimer_assign(&h->later_timer, h->settings.base, conn_on_later, h);
}

void conns_done(http *h)
{
    event_del(&h->later_timer);
}

static void conn_late(http_conn *c, const char *what, const char *sentence)
{
    bool stopping = c->http->stopping;
    http_count(c->http, what);
    c->running = true;
    if (stopping)
        sentence = "The server is stopping; the request was not whole, and nothing was done.";
    conn_refuse(c, stopping ? 503 : 408, sentence);
    conn_run(c);
}

void conn_overdue(http_conn *c)
{
    if (c->phase == READING && framing_in_head(&c->framing)) {
        conn_late(c, "timeout_head", "The head of the request did not come in time.");
    } else if (c->phase == READING) {
        conn_late(c, "timeout_body", "The body of the request did not come in time.");
    } else {
        if (c->phase != LINGERING && !c->http->stopping)
            http_count(c->http, c->phase == HANDSHAKE ? "timeout_handshake"
                                : c->phase == IDLE    ? "timeout_idle"
                                                      : "timeout_write");
        conn_end(c);
    }
}

/* ---- accepting ---- */

/* The socket stays the caller's when it fails. */
static bool conn_open_io(http_conn *c, http_listener *from, int fd)
{
    struct event_base *base = c->http->settings.base;
    io_open(&c->io, fd, from->context);
    event_assign(&c->reading, base, fd, EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, conn_on_socket,
                 c);
    event_assign(&c->writing, base, fd, EV_WRITE | EV_ET, conn_on_socket, c);
    if (event_add(&c->reading, NULL) == 0)
        return true;
    tls_context_free(c->io.context);
    return false;
}

static void conn_enter(http_conn *c)
{
    http *h = c->http;
    c->next = h->connections;
    if (c->next != NULL)
        c->next->before = c;
    h->connections = c;
    h->connections_count++;
    c->source->connections++;
    http_count(h, "connections");
}

/* When all connections are taken, the one that has been idle the longest gives way, if it has been
 * so for a while. Otherwise whoever holds them idle would keep everyone else out. */
static bool conn_make_room(http *h)
{
    http_conn *c = h->waits.first[WAIT_IDLE];
    int64_t since_us = c == NULL ? 0 : c->wait_until_us - h->waits.spans_us[WAIT_IDLE];
    if (c == NULL || hf_seam.boot_us() - since_us < GIVES_WAY_US)
        return false;
    http_count(h, "gave_way");
    conn_end(c);
    return true;
}

/* Why there is none for one more; NULL: there is. `silent`: nor is there for telling so. */
static const char *conn_surplus(http *h, const http_source *source, bool exempt, bool *silent)
{
    size_t most = h->settings.connections_max, own = h->settings.connections_address;
    size_t told = most < SURPLUS_MAX ? most : SURPLUS_MAX;
    bool over = !exempt && own > 0 && source->connections >= own;
    *silent = h->connections_count >= most + told ||
              (over && source->connections >= own + SURPLUS_MAX / 4);
    if (over)
        return "This address has as many connections as it may have; try again in a moment.";
    if (h->connections_count >= most && !conn_make_room(h))
        return "The server has as many connections as it may have; try again in a moment.";
    return NULL;
}

static bool conn_open_from(http *h, http_listener *from, int fd, const net_address *address)
{
    bool silent = true;
    bool trusted = proxies_trust(h->proxies, address);
    http_source *source = source_enter(h, address);
    const char *surplus =
        source == NULL ? NULL : conn_surplus(h, source, trusted || address->is_unix, &silent);
    if (surplus != NULL)
        http_count(h, "refused_connections");
    bool dropped = source == NULL || (surplus != NULL && (silent || from->context != NULL));
    http_conn *c = dropped ? NULL : hf_alloc(sizeof *c);
    if (c == NULL) {
        source_leave(h, source);
        return false;
    }
    *c = (http_conn){.http = h, .source = source, .address = *address, .trusted = trusted};
    if (!conn_open_io(c, from, fd)) {
        source_leave(h, source);
        hf_free(c);
        return false;
    }
    net_address_print(&c->address, c->peer);
    net_network_print(&c->address, c->network);
    framing_init(&c->framing, h->settings.limits);
    c->phase = from->context != NULL ? HANDSHAKE : IDLE;
    conn_enter(c);
    wait_for(c, c->phase == HANDSHAKE ? WAIT_HELLO : WAIT_IDLE);
    if (surplus != NULL) {
        conn_refuse(c, 503, surplus);
        conn_schedule(c);
    }
    return true;
}

void conn_open(http *h, http_listener *from, int fd, const struct sockaddr *peer)
{
    net_address address = net_address_of(peer);
    if (!conn_open_from(h, from, fd, &address))
        close(fd);
}
