/* SPDX-License-Identifier: MIT */
/* What feed.c and feed_deliver.c share. Every follower is in one of five lists:
 *
 *   ready     may have something to do: is visited in its turn, and comes to one of the others, or
 *             to the end of this one
 *   idle      has been given all there is
 *   wanting   needs a page of the table
 *   blocked   has not taken what it was given
 *   starting  waits until the reader knows where the table ends */
#ifndef HF_SERVER_FEED_FEED_INSIDE_H
#define HF_SERVER_FEED_FEED_INSIDE_H

#include "server/feed/feed.h"
#include "server/feed/feed_pages.h"
#include "server/feed/feed_reader.h"
#include "server/feed/feed_ring.h"

#define FEED_VISIT_BYTES ((size_t)32 * 1024) /* given in one visit */

typedef enum feed_list {
    FEED_READY,
    FEED_IDLE,
    FEED_WANTING,
    FEED_BLOCKED,
    FEED_STARTING,
    FEED_LISTS
} feed_list;

typedef struct feed_link {
    struct feed_link *prev, *next;
} feed_link;

struct feed_follower {
    feed_link link; /* first: a link is its follower */
    feed *feed;
    feed_sink sink;
    feed_filter filter; /* its strings are in `text` */
    feed_names *names;  /* its records; NULL: all */
    int64_t seq;        /* all up to here it has been given, or does not want; -1: not known yet */
    int64_t told;       /* the last id it was sent */
    int64_t wrote_us, since_us;
    uint64_t place; /* in the ring, of what comes next; if live */
    bool live;      /* in the ring, else in the table */
    bool blocked;   /* in that list */
    bool drained;   /* since then */
    bool left;      /* while it was visited */
    bool over;      /* its session has ended */
    int64_t wanted; /* it wants the page after that number, -1: none, ... */
    uint64_t since; /* ... since so many pages were asked for */
    char text[];
};

struct feed {
    feed_settings settings;
    feed_reader *reader;
    feed_pages *pages;
    feed_ring ring;
    feed_link lists[FEED_LISTS]; /* each in a circle with its head */
    size_t count;
    bool stopped;
    bool current;           /* the reader has come to the end of the table since someone follows */
    feed_follower *visited; /* now */
    int wake;               /* an eventfd, written to by the threads */
    struct event *woken, *turn, *tick;
    int64_t began_us; /* when the first of the followers came */
    int64_t first;    /* of the events that are kept, as far as is known */
    feed_stats stats;
    size_t gathered;
    char scratch[FEED_VISIT_BYTES];
};

static inline void feed_unlink(feed_link *it)
{
    it->prev->next = it->next;
    it->next->prev = it->prev;
}

static inline void feed_link_last(feed_link *head, feed_link *it)
{
    it->prev = head->prev;
    it->next = head;
    head->prev->next = it;
    head->prev = it;
}

static inline bool feed_is_empty(const feed_link *head)
{
    return head->next == head;
}

static inline void feed_empty(feed_link *head)
{
    head->prev = head->next = head;
}

/* All of `from` behind all of `to`. */
static inline void feed_link_all(feed_link *to, feed_link *from)
{
    if (feed_is_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    feed_empty(from);
}

/* feed_deliver.c: visits the next follower that is ready: gives it what there is, and puts it into
 * the list where it belongs. */
void feed_visit_next(feed *f);

/* Ends and frees a follower. */
void feed_end(feed *f, feed_follower *l);

/* L3: ends those who are blocked and were passed by the ring. */
void feed_end_passed(feed *f);

/* feed.c: a follower that is in no list is no more. */
void feed_forget(feed *f, feed_follower *l);

#endif
