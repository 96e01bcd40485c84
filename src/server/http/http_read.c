/* SPDX-License-Identifier: MIT */
/* From bytes to a request: framing says what they are, the head is split, and the whole request
 * handed to whoever handles it; or it is refused. */
#include "base/digest.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <string.h>

static void drop_request(http_conn *c)
{
    if (c->held != NULL)
        held_give_back(c->held);
    c->held = NULL;
}

void conn_refuse(http_conn *c, int status, const char *sentence)
{
    http *h = c->http;
    hf_buffer body = {0};
    drop_request(c);
    const char *type = h->settings.problem(h->settings.context, status, sentence, &body);
    static const http_field again[] = {{"Retry-After", "1"}, {NULL, NULL}};
    http_reply reply = {.status = status,
                        .type = body.failed ? NULL : type,
                        .headers = status == 503 ? again : NULL};
    if (!body.failed)
        reply.body = (hf_slice){body.text, body.size};
    c->closing = true;
    c->phase = WRITING;
    answer_compose(h, NULL, &reply, false, true);
    conn_send(c, h->output.text, h->output.size);
    answer_wipe(h);
    hf_buffer_done(&body);
}

static void refuse_memory(http_conn *c)
{
    http_count(c->http, "refused_memory");
    conn_refuse(c, 503, "The server is out of memory; nothing was done. Try again in a moment.");
}

static bool http_read_begin(http_conn *c)
{
    c->held = held_take(c->http);
    if (c->held == NULL) {
        refuse_memory(c);
        return false;
    }
    c->held->conn = c;
    c->held->request.began_us = hf_seam.boot_us();
    c->phase = READING;
    return true;
}

/* A head is whole. `more`: something comes behind it at once, or nothing needs to. */
static bool http_read_take_head(http_conn *c, bool more)
{
    http_held *r = c->held;
    r->head_size = r->text.size;
    bool path = http_head_split(r->text.at, r->text.size, &r->head);
    if (!path || r->head.demands) {
        http_count(c->http, "refused_framing");
        if (path)
            conn_refuse(c, 417,
                        "The request expects something other than 100-continue, the only thing "
                        "known here.");
        else
            conn_refuse(c, 400, "The request's target is not a path; it must begin with /.");
        return false;
    }
    if (r->head.expects && !r->head.http_1_0 && !more)
        conn_send(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    return true;
}

/* Where it came from: the peer, or whom a trusted proxy speaks for. */
static void find_origin(http_conn *c, http_held *r)
{
    http_request *q = &r->request;
    q->secure = c->io.tls != NULL;
    q->local = net_address_is_loopback(&c->address) && !r->head.forwarded && !c->trusted;
    memcpy(q->peer, c->peer, sizeof c->peer);
    if (!c->trusted || !r->head.forwarded)
        return;
    net_address client = c->address;
    proxies_said said = {
        .forwarded = http_header(q, "forwarded"),
        .x_forwarded_for = http_header(q, "x-forwarded-for"),
        .x_forwarded_proto = http_header(q, "x-forwarded-proto"),
    };
    proxies_resolve(c->http->proxies, &said, &client, &q->secure);
    net_address_print(&client, q->peer);
}

static void hand_out(http_conn *c)
{
    http *h = c->http;
    http_held *r = c->held;
    const char *text = r->text.at;
    r->request.method = r->head.method;
    r->request.path = (hf_slice){text + r->head.path, r->head.path_size};
    r->request.query = (hf_slice){text + r->head.query, r->head.query_size};
    r->request.body = (hf_slice){text + r->head_size, r->text.size - r->head_size};
    find_origin(c, r);
    c->phase = HANDLING;
    wait_for(c, WAIT_NOTHING);
    h->requests_count++;
    http_count(h, "requests");
    h->settings.handle(h->settings.context, &r->request);
}

/* Takes one piece; how many bytes it has. */
static size_t take_piece(http_conn *c, const char *from, size_t size)
{
    framing_piece piece = framing_next(&c->framing, from, size);
    if (piece.part != FRAMING_BETWEEN && !held_add(c->held, from, piece.size)) {
        refuse_memory(c);
        return piece.size;
    }
    if (c->framing.status != 0) {
        http_count(c->http, "refused_framing");
        conn_refuse(c, c->framing.status, c->framing.reason);
        return piece.size;
    }
    if (piece.head_ends && !http_read_take_head(c, piece.ends || piece.size < size))
        return piece.size;
    if (piece.ends)
        hand_out(c);
    return piece.size;
}

size_t conn_feed(http_conn *c, const char *from, size_t size)
{
    size_t used = 0;
    while (used < size && (c->phase == READING || (c->phase == IDLE && http_read_begin(c))))
        used += take_piece(c, from + used, size - used);
    if (c->phase != READING)
        return used;
    http_wait wait = framing_in_head(&c->framing) ? WAIT_HEAD : WAIT_BODY;
    if (c->wait != wait)
        wait_for(c, wait);
    return used;
}
