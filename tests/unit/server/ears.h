/* SPDX-License-Identifier: MIT */
/* Followers for the tests of the feed: fake sinks that read what they are sent as a browser would,
 * and check every record; a loop they live on; and people who keep a store busy. */
#ifndef HF_TESTS_UNIT_SERVER_EARS_H
#define HF_TESTS_UNIT_SERVER_EARS_H

#include <event2/event.h>
#include <holdfast/store.h>
#include <pthread.h>
#include <server/feed/feed.h>
#include <stdatomic.h>
#include <support/check.h>
#include <support/test_store.h>

enum { HALL_FEEDS = 2 };

/* A place with a store, a loop, and feeds on it. */
typedef struct hall {
    const test_store *at;
    char url[HF_URL_MAX];
    struct event_base *base;
    hf_store *stores[HALL_FEEDS]; /* memory has one, shared */
    feed *feeds[HALL_FEEDS];
    size_t count;
} hall;

typedef struct ear {
    feed *feed;
    feed_follower *follower; /* NULL: not listening */
    int64_t *seqs;           /* of the events it got */
    size_t count, room;
    int64_t id;    /* the last one it was sent: Last-Event-ID */
    int64_t floor; /* events must be after this one */
    size_t beats, resyncs, writes;
    int64_t newest, first, last; /* of the last resync */
    bool ended;
    bool holds; /* takes nothing until ear_drain */
    size_t waiting, waiting_max;
    size_t leave_at; /* leaves, in the middle of being written to, with so many events; 0: never */
    bool keeps;      /* the data of the last event: */
    char *data;
} ear;

void hall_open(hall *h, const test_store *at, size_t feeds, feed_settings settings);
/* On stores of the caller's, which the hall closes. */
void hall_open_on(hall *h, hf_store *store, size_t feeds, feed_settings settings);
void hall_close(hall *h);

/* Runs the loop until that holds; fails the test when it takes too long. */
#define hall_until(h, condition)                                                                   \
    do {                                                                                           \
        int64_t began_us_ = hall_now();                                                            \
        while (!(condition))                                                                       \
            hall_turn((h), began_us_, #condition, __FILE__, __LINE__);                             \
    } while (0)
void hall_turn(hall *h, int64_t began_us, const char *what, const char *file, int line);
int64_t hall_now(void);
/* Runs it for so long. */
void hall_run(hall *h, int64_t us);

/* The numbers of all events there are after that one; free() it. */
int64_t *hall_truth(hall *h, int64_t after, size_t *count);
int64_t hall_newest(hall *h);

void ear_listen(ear *e, feed *f, const feed_filter *filter, int64_t after);
void ear_leave(ear *e);
/* What has been held is taken. */
void ear_drain(ear *e);
void ear_free(ear *e);

/* It got exactly what there is after that number. */
#define ear_got_all(h, e, after) ear_got((h), (e), (after), __FILE__, __LINE__)
void ear_got(hall *h, const ear *e, int64_t after, const char *file, int line);

/* ---- people ---- */

hf_credentials person_on(hf_store *store, const char *user);
/* Acquires and releases type/id: two events. */
void work_on(hf_store *store, const hf_credentials *who, const char *type, const char *id);

/* So many events, by as few batches as can be. */
void make_events(hf_store *store, const hf_credentials *who, size_t count);

/* A thread that opens sessions, takes and gives until so many batches are done (0: until it is
 * joined, not too fast), on a store of its own where it can have one. */
typedef struct busy {
    hall *hall;
    hf_store *store;
    unsigned seed;
    int batches;
    atomic_bool done;
    pthread_t thread;
} busy;

void busy_start(busy *b, hall *h, unsigned seed, int batches);
void busy_join(busy *b);

#endif
