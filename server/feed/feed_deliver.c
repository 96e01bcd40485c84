/* SPDX-License-Identifier: MIT */
/* What a follower is sent in its turn: events of the ring, or of a page of the table, that its
 * filter lets through. */
#include "base/seams.h"
#include "server/feed/feed_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the names of a filter ---- */

/* Hashes in order, and beside each where its name stands in one text. The hash needs no seed: names
 * made to collide are only compared with an event that has the same hash. */

typedef struct feed_name {
    uint64_t hash;
    size_t at; /* of its type in the text; its id comes behind it */
} feed_name;

struct feed_names {
    size_t count;
    feed_name *all; /* by hash */
    char *text;
};

/* FNV-1a, up to the NUL. */
static uint64_t feed_names_mix(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t feed_names_hash(const hf_resource *resource)
{
    uint64_t type = feed_names_mix(UINT64_C(0xcbf29ce484222325), resource->type);
    return feed_names_mix(feed_names_mix(type, "/"), resource->id);
}

static int feed_names_order(const void *a, const void *b)
{
    const feed_name *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

feed_names *feed_names_new(const hf_resource *resources, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(resources[i].type) + strlen(resources[i].id) + 2;
    feed_names *names = hf_alloc(sizeof *names + count * sizeof *names->all + size);
    if (names == NULL)
        return NULL;
    names->count = count;
    names->all = (feed_name *)(void *)(names + 1);
    names->text = (char *)(names->all + count);
    char *at = names->text;
    for (size_t i = 0; i < count; i++) {
        names->all[i] = (feed_name){feed_names_hash(&resources[i]), (size_t)(at - names->text)};
        at = stpcpy(at, resources[i].type) + 1;
        at = stpcpy(at, resources[i].id) + 1;
    }
    qsort(names->all, count, sizeof *names->all, feed_names_order);
    return names;
}

void feed_names_free(feed_names *names)
{
    hf_free(names);
}

static bool feed_names_same(const char *name, const hf_resource *resource)
{
    return strcmp(name, resource->type) == 0 && strcmp(name + strlen(name) + 1, resource->id) == 0;
}

bool feed_names_have(const feed_names *names, uint64_t hash, const hf_resource *resource)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (names->all[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < names->count && names->all[low].hash == hash; low++)
        if (feed_names_same(names->text + names->all[low].at, resource))
            return true;
    return false;
}

/* ---- delivering ---- */

#define VISIT_EVENTS 1024                /* looked at in one visit, wanted or not */
#define PAGE_WAITING ((size_t)32 * 1024) /* no further page is read for who has not taken so much */
#define UNTOLD_MAX   1000                /* so many numbers may pass by before an id is sent */

/* ---- what a follower is sent ---- */

static void feed_deliver_send_bytes(feed_follower *l, const char *bytes, size_t size)
{
    l->wrote_us = hf_seam.boot_us();
    l->sink.write(l->sink.context, bytes, size);
}

static void feed_deliver_send_beat(feed_follower *l)
{
    char text[FEED_RECORD_MAX];
    int size = l->told == l->seq
                   ? snprintf(text, sizeof text, ": beat\n\n")
                   : snprintf(text, sizeof text, ": beat\nid: %" PRId64 "\n\n", l->seq);
    l->told = l->seq;
    feed_deliver_send_bytes(l, text, (size_t)size);
}

/* It goes on after `newest`. */
static void feed_deliver_send_resync(feed *f, feed_follower *l, int64_t newest)
{
    char text[FEED_RECORD_MAX + 64];
    int size = snprintf(text, sizeof text,
                        "id: %" PRId64 "\nevent: resync\ndata: {\"newest\":%" PRId64
                        ",\"first\":%" PRId64 ",\"last\":%" PRId64 "}\n\n",
                        newest, newest, f->first, l->seq);
    l->seq = l->told = newest;
    l->live = false;
    f->stats.resyncs++;
    feed_deliver_send_bytes(l, text, (size_t)size);
}

static bool feed_deliver_feed_is_own(const feed_follower *l, const hf_event *event)
{
    return l->filter.session != NULL && strcmp(l->filter.session, event->session) == 0;
}

/* A restore is of no type, record or user, and changes all of them. */
static bool feed_deliver_wants(const feed_follower *l, const hf_event *event, uint64_t hash)
{
    const feed_filter *filter = &l->filter;
    return event->kind == HF_EVENT_RESTORED || feed_deliver_feed_is_own(l, event) ||
           ((filter->type == NULL || strcmp(filter->type, event->resource.type) == 0) &&
            (l->names == NULL || feed_names_have(l->names, hash, &event->resource)) &&
            (filter->user == NULL || strcmp(filter->user, event->user) == 0) &&
            (filter->may_see == NULL || filter->may_see(filter->context, event)));
}

/* L6. */
static bool feed_deliver_ends_session(const feed_follower *l, const hf_event *event)
{
    return (event->kind == HF_EVENT_SESSION_CLOSED || event->kind == HF_EVENT_SESSION_EXPIRED) &&
           feed_deliver_feed_is_own(l, event);
}

/* Copies what the follower wants of a piece. It ends with the piece, before the first record for
 * which there is no room, or behind the end of the follower's session; one is always copied.
 * *index moves on. */
static void feed_deliver_gather(feed *f, feed_follower *l, const feed_piece *piece, size_t *index,
                                size_t room)
{
    for (; *index < piece->count && !l->over; ++*index) {
        const hf_event *event = &piece->events[*index];
        if (event->seq <= l->seq)
            continue;
        if (feed_deliver_wants(l, event, piece->hashes[*index])) {
            size_t begin = *index == 0 ? 0 : piece->ends[*index - 1],
                   size = piece->ends[*index] - begin;
            assert(size <= sizeof f->scratch);
            if (f->gathered > 0 && f->gathered + size > room)
                return;
            memcpy(f->scratch + f->gathered, piece->text + begin, size);
            f->gathered += size;
            l->told = event->seq;
            l->over = feed_deliver_ends_session(l, event);
        }
        l->seq = event->seq;
    }
}

static void feed_deliver_send_gathered(feed *f, feed_follower *l)
{
    size_t size = f->gathered;
    f->gathered = 0;
    if (size > 0)
        feed_deliver_send_bytes(l, f->scratch, size);
    if (!l->left && !l->over && l->seq - l->told >= UNTOLD_MAX)
        feed_deliver_send_beat(l);
}

/* ---- visits ---- */

static size_t feed_deliver_room_of(size_t waiting)
{
    size_t room = waiting < FEED_WAITING_MAX ? FEED_WAITING_MAX - waiting : 0;
    return room < FEED_VISIT_BYTES ? room : FEED_VISIT_BYTES;
}

static feed_list feed_deliver_give_from_ring(feed *f, feed_follower *l, size_t room)
{
    uint64_t from = l->place;
    while (l->place < f->ring.head && l->place - from < VISIT_EVENTS) {
        size_t index, before;
        const feed_piece *piece = feed_ring_at(&f->ring, l->place, &index);
        before = index;
        feed_deliver_gather(f, l, piece, &index, room);
        l->place += index - before;
        if (index < piece->count)
            break;
    }
    feed_deliver_send_gathered(f, l);
    return l->place == f->ring.head ? FEED_IDLE : FEED_READY;
}

/* Someone who has seen what the reader has not read yet (by another server) waits for it at the
 * head. */
static void feed_deliver_join(feed *f, feed_follower *l, bool at_end)
{
    if (feed_ring_covers(&f->ring, l->seq)) {
        l->place = feed_ring_find(&f->ring, l->seq);
        l->live = true;
    } else if (at_end && l->seq > f->ring.newest) {
        l->place = f->ring.head;
        l->live = true;
    }
}

/* Who has seen what is not in the ring yet needs a page all the same, to know whether there is
 * such an event. */
static feed_list feed_deliver_want_page(feed *f, feed_follower *l, size_t waiting)
{
    if (l->filter.newest_only && l->seq < f->ring.newest) {
        feed_deliver_send_resync(f, l, f->ring.newest);
        return FEED_READY;
    }
    if (waiting > PAGE_WAITING && l->wanted != l->seq && !l->drained)
        return FEED_BLOCKED;
    if (l->wanted != l->seq)
        l->since = feed_pages_asked(f->pages);
    l->wanted = l->seq;
    return FEED_WANTING;
}

static feed_list feed_deliver_give_from_page(feed *f, feed_follower *l, const feed_piece *page,
                                             size_t room)
{
    size_t index = feed_piece_find(page, l->seq);
    l->wanted = -1;
    f->first = page->first;
    if (page->last < l->seq || feed_piece_misses(page, l->seq)) {
        feed_deliver_send_resync(f, l, page->last);
        return FEED_READY;
    }
    feed_deliver_gather(f, l, page, &index, room);
    feed_deliver_send_gathered(f, l);
    if (index == page->count)
        feed_deliver_join(f, l, page->count < FEED_PIECE_EVENTS);
    return FEED_READY;
}

static feed_list feed_deliver_visit(feed *f, feed_follower *l)
{
    size_t waiting = l->sink.waiting(l->sink.context);
    if (waiting >= FEED_WAITING_MAX && !l->drained)
        return FEED_BLOCKED;
    if (l->seq < 0 && f->current)
        l->seq = f->ring.newest;
    if (l->seq >= 0 && l->wrote_us + f->settings.beat_us <= hf_seam.boot_us())
        feed_deliver_send_beat(l);
    if (l->left || !f->current)
        return FEED_STARTING;
    if (l->live && l->place < f->ring.first)
        l->live = false;
    if (!l->live)
        feed_deliver_join(f, l, false);
    const feed_piece *page =
        l->live ? NULL
                : feed_pages_find(f->pages, l->seq, l->wanted == l->seq ? l->since : UINT64_MAX);
    feed_list next = l->live ? feed_deliver_give_from_ring(f, l, feed_deliver_room_of(waiting))
                     : page != NULL
                         ? feed_deliver_give_from_page(f, l, page, feed_deliver_room_of(waiting))
                         : feed_deliver_want_page(f, l, waiting);
    l->drained = false;
    return next;
}

void feed_visit_next(feed *f)
{
    feed_follower *l = (feed_follower *)f->lists[FEED_READY].next;
    feed_unlink(&l->link);
    f->visited = l;
    feed_list next = feed_deliver_visit(f, l);
    f->visited = NULL;
    if (l->left) {
        feed_forget(f, l);
        return;
    }
    if (l->over) {
        l->sink.end(l->sink.context);
        feed_forget(f, l);
        return;
    }
    l->blocked = next == FEED_BLOCKED;
    feed_link_last(&f->lists[next], &l->link);
}

void feed_end(feed *f, feed_follower *l)
{
    feed_unlink(&l->link);
    l->sink.end(l->sink.context);
    feed_forget(f, l);
}

void feed_end_passed(feed *f)
{
    for (feed_link *at = f->lists[FEED_BLOCKED].next, *next; at != &f->lists[FEED_BLOCKED];
         at = next) {
        feed_follower *l = (feed_follower *)at;
        next = at->next;
        if (!l->live || l->place >= f->ring.first)
            continue;
        f->visited = l;
        feed_deliver_send_resync(f, l, f->ring.newest);
        f->visited = NULL;
        f->stats.overruns++;
        if (!l->left) {
            feed_end(f, l);
            continue;
        }
        feed_unlink(at);
        feed_forget(f, l);
    }
}
