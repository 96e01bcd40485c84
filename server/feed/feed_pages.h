/* SPDX-License-Identifier: MIT */
/* The thread that reads old events for followers behind the ring, one page at a time. The last few
 * pages are kept, so that followers at about the same place share them. A page begins at a multiple
 * of FEED_PIECE_EVENTS. */
#ifndef HF_SERVER_FEED_FEED_PAGES_H
#define HF_SERVER_FEED_FEED_PAGES_H

#include "server/feed/feed_ring.h"

typedef struct feed_pages feed_pages;

/* `wake` is called by the thread when a page was read. */
hf_status feed_pages_new(hf_store *store, void (*wake)(void *context), void *context,
                         feed_pages **out, hf_error *err);

/* How many pages were requested so far. */
uint64_t feed_pages_asked(const feed_pages *p);

/* A page with the events after that number; or one that shows that there are none, if it was
 * requested after the first `since` pages. NULL: there is no such page. Valid until the next take
 * or forget. */
const feed_piece *feed_pages_find(feed_pages *p, int64_t after, uint64_t since);

/* Requests the page of that number, unless another one is being read. A failed read is repeated
 * until it succeeds. */
void feed_pages_ask(feed_pages *p, int64_t after);

/* Puts the page that was read among those kept. False: there is none. */
bool feed_pages_take(feed_pages *p);

/* Drops the pages; feed_pages_rest only if none was searched since its last call. */
void feed_pages_forget(feed_pages *p);
void feed_pages_rest(feed_pages *p);

typedef struct feed_pages_stats {
    uint64_t reads, failures;
} feed_pages_stats;

void feed_pages_stats_read(feed_pages *p, feed_pages_stats *out);

/* Waits for a running read. Accepts NULL. */
void feed_pages_free(feed_pages *p);

#endif
