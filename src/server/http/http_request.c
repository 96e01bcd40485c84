/* SPDX-License-Identifier: MIT */
/* Requests and the memory they use: a few are kept for those to come, wiped, so that a busy server
 * asks for no memory and an idle one has little. */
#include "server/http/http_inside.h"

#include "base/seams.h"

#include <sys/socket.h>

enum {
    SPARE_MAX = 256,
    ARENA_LEAST = 2048, /* streams keep theirs */
    ARENA_MOST = 16384, /* of a spare request */
    TEXT_MOST = 4096,
};

http_held *held_take(http *h)
{
    http_held *r = h->spare;
    if (r == NULL)
        r = hf_alloc(sizeof *r);
    else
        h->spare_count--;
    if (r == NULL)
        return NULL;
    h->spare = r->next;
    bytes text = r->text;
    hf_arena arena = r->request.arena;
    *r = (http_held){.request.arena = arena, .http = h, .text = text};
    h->text_size += text.room;
    r->request.arena.least = ARENA_LEAST;
    return r;
}

bool held_add(http_held *r, const char *from, size_t size)
{
    http *h = r->http;
    size_t before = r->text.room;
    bool grows = before - r->text.size <= size;
    if ((grows && h->text_size + size > h->settings.reading_max) ||
        !bytes_add(&r->text, from, size))
        return false;
    h->text_size += r->text.room - before;
    return true;
}

void held_forget(http_held *r, size_t most)
{
    r->http->text_size -= r->text.room;
    bytes_clear(&r->text, most);
    r->http->text_size += r->text.room;
}

static void held_free(http_held *r)
{
    bytes_clear(&r->text, 0);
    hf_arena_done(&r->request.arena);
    hf_free(r);
}

void held_give_back(http_held *r)
{
    http *h = r->http;
    hf_arena_wipe(&r->request.arena);
    if (r->request.arena.total > ARENA_MOST)
        hf_arena_done(&r->request.arena);
    held_forget(r, TEXT_MOST);
    h->text_size -= r->text.room;
    if (h->spare_count == SPARE_MAX) {
        held_free(r);
        return;
    }
    r->next = h->spare;
    h->spare = r;
    h->spare_count++;
}

void held_free_spare(http *h)
{
    while (h->spare != NULL) {
        http_held *next = h->spare->next;
        held_free(h->spare);
        h->spare = next;
    }
    h->spare_count = 0;
}

const char *http_header(http_request *request, const char *name)
{
    http_held *r = held_of(request);
    return r->text.size == 0 ? NULL : http_head_find(r->text.at, &r->head, name);
}

bool http_reached_at(http_request *request, hf_slice address)
{
    const http_conn *c = held_of(request)->conn;
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    net_address asked, here;
    if (c == NULL || !net_address_parse(address.at, address.size, &asked) ||
        getsockname(c->io.fd, (struct sockaddr *)&at, &size) != 0)
        return false;
    here = net_address_of((const struct sockaddr *)&at);
    return net_address_same(&asked, &here);
}
