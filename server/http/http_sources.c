/* SPDX-License-Identifier: MIT */
/* What one address has of the server: connections, memory for the bodies of its requests, turns in
 * the handshakes of TLS. Without a share for each, one stranger would have all of it.
 *
 * A source is known for as long as something refers to it. A connection belongs to the source that
 * it came from; a body to that of the client, which a trusted proxy names in the head.
 *
 * Handshakes are most of what a stranger can make the loop do before a request: a signature costs
 * up to some milliseconds. So they wait for turns, one of each source after the other; a slice of
 * time in each round of the loop is for them, and others are served in between. OpenSSL's memory
 * for one, up to 150 kB, is taken with its first turn. Not more than HANDSHAKES_MAX have it: then
 * the oldest of a source that has many gives way, or the oldest of all. */
#include "base/seams.h"
#include "server/http/http_inside.h"

enum { SLICE_US = 2000, HANDSHAKES_MAX = 1024, HANDSHAKES_MANY = HANDSHAKES_MAX / 8 };

/* ---- sources ---- */

http_source *source_enter(http *h, const net_address *address)
{
    net_address network = net_address_network(address);
    uint64_t hash = hf_hash_bytes(h->seed + network.is_unix, network.bytes, sizeof network.bytes);
    for (hf_hash_entry *e = hf_hash_first(&h->sources, hash); e != NULL; e = hf_hash_next(e)) {
        http_source *s = (http_source *)(void *)e;
        if (net_address_same(&s->network, &network)) {
            s->users++;
            return s;
        }
    }
    http_source *s = hf_alloc(sizeof *s);
    if (s == NULL || !hf_hash_add(&h->sources, &s->entry, hash)) {
        hf_free(s);
        return NULL;
    }
    s->network = network;
    s->users = 1;
    return s;
}

void source_leave(http *h, http_source *s)
{
    if (s == NULL || --s->users > 0)
        return;
    hf_hash_remove(&h->sources, &s->entry);
    hf_free(s);
}

/* ---- turns ---- */

static void sources_arm(http *h)
{
    static const struct timeval at_once = {0};
    event_add(&h->turns_timer, &at_once);
}

/* In the ring it counts as used. */
static void source_append(http *h, http_source *s)
{
    s->in_ring = true;
    s->next = NULL;
    *(h->turns != NULL ? &h->turns_last->next : &h->turns) = s;
    h->turns_last = s;
}

/* What has begun comes before what has not: it is nearly done. */
void turn_wait(http_conn *c)
{
    http_source *s = c->source;
    bool first = c->io.tls != NULL || s->first == NULL;
    if (c->waits_turn)
        return;
    c->waits_turn = true;
    c->turn_before = first ? NULL : s->last;
    c->turn_next = first ? s->first : NULL;
    *(c->turn_before != NULL ? &c->turn_before->turn_next : &s->first) = c;
    *(c->turn_next != NULL ? &c->turn_next->turn_before : &s->last) = c;
    if (s->in_ring)
        return;
    if (c->http->turns == NULL)
        sources_arm(c->http);
    s->users++;
    source_append(c->http, s);
}

void turn_leave(http_conn *c)
{
    http_source *s = c->source;
    if (!c->waits_turn)
        return;
    *(c->turn_before != NULL ? &c->turn_before->turn_next : &s->first) = c->turn_next;
    *(c->turn_next != NULL ? &c->turn_next->turn_before : &s->last) = c->turn_before;
    c->waits_turn = false;
}

/* The next source; its next connection, or NULL: it has left meanwhile. */
static http_conn *turn_take(http *h)
{
    http_source *s = h->turns;
    http_conn *c = s->first;
    h->turns = s->next;
    if (c != NULL)
        turn_leave(c);
    s->in_ring = false;
    if (s->first != NULL)
        source_append(h, s);
    else
        source_leave(h, s);
    return c;
}

static void sources_on_turn(evutil_socket_t fd, short what, void *context)
{
    http *h = context;
    int64_t until_us = hf_seam.boot_us() + SLICE_US;
    (void)fd, (void)what;
    while (h->turns != NULL) {
        http_conn *c = turn_take(h);
        if (c != NULL)
            conn_shake_hands(c);
        if (hf_seam.boot_us() >= until_us)
            break;
    }
    if (h->turns != NULL)
        sources_arm(h);
}

/* ---- how many at once ---- */

static void handshakes_make_room(http *h)
{
    http_conn *victim = h->waits.first[WAIT_HANDSHAKE];
    for (http_conn *c = victim; c != NULL; c = c->wait_next)
        if (c->source->handshakes > HANDSHAKES_MANY) {
            victim = c;
            break;
        }
    if (victim != NULL)
        conn_overdue(victim);
}

bool handshake_begin(http_conn *c)
{
    if (c->http->handshakes >= HANDSHAKES_MAX)
        handshakes_make_room(c->http);
    if (!io_begin(&c->io))
        return false;
    c->shaking = true;
    c->http->handshakes++;
    c->source->handshakes++;
    wait_for(c, WAIT_HANDSHAKE);
    return true;
}

void handshake_end(http_conn *c)
{
    if (!c->shaking)
        return;
    c->shaking = false;
    c->http->handshakes--;
    c->source->handshakes--;
}

/* ---- new, free ---- */

bool sources_init(http *h)
{
    evtimer_assign(&h->turns_timer, h->settings.base, sources_on_turn, h);
    return hf_seam.random(&h->seed, sizeof h->seed);
}

void sources_done(http *h)
{
    while (h->turns != NULL)
        turn_take(h);
    event_del(&h->turns_timer);
    hf_hash_done(&h->sources);
}
