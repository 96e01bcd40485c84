/* SPDX-License-Identifier: MIT */
/* The feed, on the loop: whose turn it is, and coming and going. A turn visits for TURN_US at most;
 * what is left waits for the next turn of the loop. New pieces go into the ring when nobody is
 * ready any more, or nothing is thrown out for them: so the ring passes only those who are blocked.
 * */
#include "base/error.h"
#include "base/seams.h"
#include "server/feed/feed_inside.h"

#include <event2/event.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TURN_US INT64_C(2000)
#define TICK_US INT64_C(1000000)

/* ---- turns ---- */

static void feed_turn_soon(feed *f)
{
    static const struct timeval now = {0, 0};
    if (!evtimer_pending(f->turn, NULL))
        evtimer_add(f->turn, &now); /* after the loop has looked at its sockets */
}

static void feed_all_ready(feed *f, feed_list from)
{
    feed_link_all(&f->lists[FEED_READY], &f->lists[from]);
    feed_turn_soon(f);
}

static void feed_add_piece(feed *f, feed_piece *piece)
{
    bool at_end = !piece->jump && piece->count < FEED_PIECE_EVENTS;
    f->first = piece->first;
    if (piece->count > 0)
        f->stats.lag_us = piece->lag_us;
    if (piece->jump) {
        feed_ring_jump(&f->ring, piece->upto);
        feed_pages_forget(f->pages);
    }
    if (piece->count > 0)
        feed_ring_add(&f->ring, piece);
    else
        feed_piece_free(piece);
    feed_end_passed(f);
    if (at_end && !f->current && f->count > 0) {
        f->current = true;
        feed_all_ready(f, FEED_STARTING);
    }
    feed_all_ready(f, FEED_IDLE);
}

static void feed_take_pieces(feed *f)
{
    for (const feed_piece *piece; (piece = feed_reader_next(f->reader)) != NULL;) {
        if (!feed_is_empty(&f->lists[FEED_READY]) && !feed_ring_has_room(&f->ring, piece))
            return;
        feed_add_piece(f, feed_reader_take(f->reader));
    }
}

/* Not before all who have a page, or the ring, have been given of it: it would be forgotten before
 * they come to it. */
static void feed_ask_for_page(feed *f)
{
    if (feed_is_empty(&f->lists[FEED_READY]) && !feed_is_empty(&f->lists[FEED_WANTING]))
        feed_pages_ask(f->pages, ((feed_follower *)f->lists[FEED_WANTING].next)->seq);
}

static void feed_take_turn(evutil_socket_t fd, short what, void *context)
{
    feed *f = context;
    int64_t until_us = hf_seam.boot_us() + TURN_US;
    (void)fd;
    (void)what;
    if (feed_pages_take(f->pages))
        feed_all_ready(f, FEED_WANTING);
    do {
        feed_ask_for_page(f);
        feed_take_pieces(f);
        if (!feed_is_empty(&f->lists[FEED_READY]))
            feed_visit_next(f);
    } while (!feed_is_empty(&f->lists[FEED_READY]) && hf_seam.boot_us() < until_us);
    feed_ask_for_page(f);
    if (feed_is_empty(&f->lists[FEED_READY]) && f->current)
        f->stats.delivered = f->ring.newest;
    if (!feed_is_empty(&f->lists[FEED_READY]) || feed_reader_next(f->reader) != NULL)
        feed_turn_soon(f);
}

static void feed_on_wake(evutil_socket_t fd, short what, void *context)
{
    eventfd_t count;
    eventfd_read(fd, &count);
    feed_take_turn(fd, what, context);
}

static void feed_wake(void *context)
{
    eventfd_write(((feed *)context)->wake, 1);
}

static void feed_on_tick(evutil_socket_t fd, short what, void *context)
{
    feed *f = context;
    int64_t now_us = hf_seam.boot_us();
    (void)fd;
    (void)what;
    for (feed_link *at = f->lists[FEED_STARTING].next, *next; at != &f->lists[FEED_STARTING];
         at = next) {
        feed_follower *l = (feed_follower *)at;
        next = at->next;
        if (l->seq < 0 && now_us - l->since_us > f->settings.start_us)
            feed_end(f, l);
    }
    feed_pages_rest(f->pages);
    feed_all_ready(f, FEED_IDLE); /* for their beats */
    feed_all_ready(f, FEED_WANTING);
    feed_all_ready(f, FEED_STARTING);
}

/* ---- following ---- */

static const char *feed_keep_text(char **at, const char *text)
{
    if (text == NULL)
        return NULL;
    size_t size = strlen(text) + 1;
    char *kept = memcpy(*at, text, size);
    *at += size;
    return kept;
}

static size_t feed_size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static void feed_follower_free(feed_follower *l)
{
    if (l != NULL)
        feed_names_free(l->names);
    hf_free(l);
}

static feed_follower *feed_follower_new(const feed_filter *filter)
{
    size_t texts =
        feed_size_of(filter->type) + feed_size_of(filter->user) + feed_size_of(filter->session);
    feed_follower *l = hf_alloc(sizeof *l + texts);
    if (l == NULL)
        return NULL;
    char *at = l->text;
    l->filter = *filter;
    l->filter.type = feed_keep_text(&at, filter->type);
    l->filter.user = feed_keep_text(&at, filter->user);
    l->filter.session = feed_keep_text(&at, filter->session);
    l->filter.resources = NULL;
    if (filter->resources_count > 0 &&
        (l->names = feed_names_new(filter->resources, filter->resources_count)) == NULL) {
        feed_follower_free(l);
        return NULL;
    }
    return l;
}

static struct timeval feed_tick_of(const feed *f)
{
    int64_t us = f->settings.beat_us / 4 < TICK_US ? f->settings.beat_us / 4 : TICK_US;
    return (struct timeval){us / 1000000, us % 1000000};
}

hf_status feed_follow(feed *f, const feed_filter *filter, int64_t after, const feed_sink *sink,
                      feed_follower **out, hf_error *err)
{
    static const feed_filter all = {0};
    if (f->stopped)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The server is being stopped; listen again in a moment.");
    feed_follower *l = feed_follower_new(filter == NULL ? &all : filter);
    if (l == NULL)
        return hf_fail_memory(err);
    l->feed = f;
    l->sink = *sink;
    l->seq = after < 0               ? -1
             : after < INT64_MAX / 2 ? after
                                     : INT64_MAX / 2; /* there is no such event either */
    l->told = l->wanted = -1;
    l->since_us = hf_seam.boot_us();
    l->wrote_us = l->since_us - f->settings.beat_us;
    feed_link_last(&f->lists[FEED_READY], &l->link);
    if (f->count++ == 0) {
        f->began_us = l->since_us;
        struct timeval tick = feed_tick_of(f);
        feed_reader_run(f->reader, true);
        evtimer_add(f->tick, &tick);
    }
    feed_turn_soon(f);
    *out = l;
    return HF_OK;
}

void feed_forget(feed *f, feed_follower *l)
{
    feed_follower_free(l);
    if (--f->count > 0)
        return;
    f->current = false;
    feed_reader_run(f->reader, false);
    evtimer_del(f->tick);
}

/* Only who was blocked is in want of it. */
void feed_drained(feed_follower *l)
{
    if (!l->blocked || l->feed->visited == l)
        return;
    l->blocked = false;
    l->drained = true;
    feed_unlink(&l->link);
    feed_link_last(&l->feed->lists[FEED_READY], &l->link);
    feed_turn_soon(l->feed);
}

void feed_leave(feed_follower *l)
{
    feed *f = l->feed;
    if (f->visited == l) {
        l->left = true;
        return;
    }
    feed_unlink(&l->link);
    feed_forget(f, l);
}

void feed_nudge(feed *f)
{
    feed_reader_nudge(f->reader);
}

static size_t feed_count_replaying(const feed *f)
{
    size_t count = 0;
    for (feed_list i = FEED_READY; f->current && i < FEED_LISTS; i++)
        for (const feed_link *at = f->lists[i].next; at != &f->lists[i]; at = at->next)
            count += !((const feed_follower *)at)->live;
    return count;
}

void feed_stats_read(feed *f, feed_stats *out)
{
    feed_reader_stats reader;
    feed_pages_stats pages;
    feed_reader_stats_read(f->reader, &reader);
    feed_pages_stats_read(f->pages, &pages);
    *out = f->stats;
    out->followers = f->count;
    out->replaying = feed_count_replaying(f);
    out->newest = f->ring.newest;
    int64_t since_us = reader.read_us > f->began_us ? reader.read_us : f->began_us;
    out->silent_us = f->count > 0 ? hf_seam.boot_us() - since_us : 0;
    out->events = reader.events;
    out->reads = reader.reads;
    out->replays = pages.reads - pages.failures;
    out->failures = reader.failures + pages.failures;
    out->watching = reader.watching;
}

/* ---- beginning and ending ---- */

static hf_status feed_make_threads(feed *f, hf_error *err)
{
    feed_reader_settings reader = {.store = f->settings.store,
                                   .poll_us = f->settings.poll_us,
                                   .keep = f->settings.keep,
                                   .poll_only = f->settings.poll_only,
                                   .wake = feed_wake,
                                   .context = f};
    hf_status status = feed_pages_new(f->settings.store, feed_wake, f, &f->pages, err);
    return status != HF_OK ? status : feed_reader_new(&reader, &f->reader, err);
}

static hf_status feed_make_events(feed *f, hf_error *err)
{
    f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->wake < 0)
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no more descriptors.");
    f->woken = event_new(f->settings.base, f->wake, EV_READ | EV_PERSIST, feed_on_wake, f);
    f->turn = evtimer_new(f->settings.base, feed_take_turn, f);
    f->tick = event_new(f->settings.base, -1, EV_PERSIST, feed_on_tick, f);
    bool good =
        f->woken != NULL && f->turn != NULL && f->tick != NULL && event_add(f->woken, NULL) == 0;
    return good ? HF_OK : hf_fail_memory(err);
}

hf_status feed_new(const feed_settings *settings, feed **out, hf_error *err)
{
    feed *f = hf_alloc(sizeof *f);
    if (f == NULL)
        return hf_fail_memory(err);
    f->settings = *settings;
    if (settings->poll_us <= 0)
        f->settings.poll_us = FEED_POLL_US;
    if (settings->beat_us <= 0)
        f->settings.beat_us = FEED_BEAT_US;
    if (settings->start_us <= 0)
        f->settings.start_us = FEED_START_US;
    if (settings->keep == 0)
        f->settings.keep = FEED_KEEP;
    for (feed_list i = FEED_READY; i < FEED_LISTS; i++)
        feed_empty(&f->lists[i]);
    f->wake = -1;
    f->stats.delivered = -1;
    hf_status status = feed_ring_init(&f->ring, f->settings.keep, FEED_KEEP_BYTES)
                           ? feed_make_events(f, err)
                           : hf_fail_memory(err);
    if (status == HF_OK)
        status = feed_make_threads(f, err);
    if (status == HF_OK)
        *out = f;
    else
        feed_free(f);
    return status;
}

void feed_stop(feed *f)
{
    f->stopped = true;
    for (feed_list i = FEED_READY; i < FEED_LISTS; i++)
        while (!feed_is_empty(&f->lists[i]))
            feed_end(f, (feed_follower *)f->lists[i].next);
}

void feed_free(feed *f)
{
    if (f == NULL)
        return;
    feed_stop(f);
    feed_reader_free(f->reader);
    feed_pages_free(f->pages);
    struct event *events[] = {f->woken, f->turn, f->tick};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i] != NULL)
            event_free(events[i]);
    if (f->wake >= 0)
        close(f->wake);
    feed_ring_done(&f->ring);
    hf_free(f);
}
