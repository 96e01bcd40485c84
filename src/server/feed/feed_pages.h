/* SPDX-License-Identifier: MIT */
/* Pages of the event table for followers behind the ring: one is read at a time, by a thread of its
 * own, and the last few are kept, so that followers who are at about the same place share them. A
 * page begins at a multiple of FEED_PIECE_EVENTS. */
#ifndef HF_SERVER_FEED_PAGES_H
#define HF_SERVER_FEED_PAGES_H

#include "server/feed/feed_ring.h"

typedef struct feed_pages feed_pages;

/* `wake` is called by the thread when a page has been read. */
hf_status feed_pages_new(hf_store *store, void (*wake)(void *context), void *context,
                         feed_pages **out, hf_error *err);

/* How many pages were asked for up to now. */
uint64_t feed_pages_asked(const feed_pages *p);

/* A page that says what comes after that number: the next events, or that there were none, told by
 * a page that was asked for after the `since` first ones. NULL: there is no such page. Good until
 * the next call of take or clear. */
const feed_piece *feed_pages_find(feed_pages *p, int64_t after, uint64_t since);

/* Asks for the page of that number, unless another one is being read. A read that fails is tried
 * again until it succeeds. */
void feed_pages_ask(feed_pages *p, int64_t after);

/* Puts the page that was read among those kept. False: none was. */
bool feed_pages_take(feed_pages *p);

/* Forgets the pages; or only if none was looked for since it was last asked so. */
void feed_pages_forget(feed_pages *p);
void feed_pages_rest(feed_pages *p);

typedef struct feed_pages_stats {
    uint64_t reads, failures;
} feed_pages_stats;

void feed_pages_stats_read(feed_pages *p, feed_pages_stats *out);

/* Waits for a read that is under way. Accepts NULL. */
void feed_pages_free(feed_pages *p);

#endif
