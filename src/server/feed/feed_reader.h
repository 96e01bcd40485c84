/* SPDX-License-Identifier: MIT */
/* The thread that follows the event table: looks when it is nudged, when the store says that others
 * have changed something, and now and then. What it reads waits for the loop, which is woken. */
#ifndef HF_SERVER_FEED_READER_H
#define HF_SERVER_FEED_READER_H

#include "server/feed/feed_ring.h"

typedef struct feed_reader feed_reader;

typedef struct feed_reader_settings {
    hf_store *store;
    int64_t poll_us;
    /* when it begins again and is further behind than so many, it jumps to the newest */
    size_t keep;
    bool poll_only;
    void (*wake)(void *context); /* by the thread: there is something to take */
    void *context;
} feed_reader_settings;

hf_status feed_reader_new(const feed_reader_settings *settings, feed_reader **out, hf_error *err);

/* Begins to read, or pauses. While paused it reads nothing; nudges are passed on to other servers
 * all the same. */
void feed_reader_run(feed_reader *f, bool on);

/* Any thread. */
void feed_reader_nudge(feed_reader *f);

/* The next piece, the caller's then; NULL: there is none. Each begins where the last one ended, but
 * one with `jump`: that is empty, what comes next begins after its `upto`, and what was before is
 * to be read elsewhere. After each beginning there comes a piece with less than FEED_PIECE_EVENTS
 * in it, perhaps none: then it has come to the end of the table. */
feed_piece *feed_reader_take(feed_reader *f);
/* The same one, and leaves it there. */
const feed_piece *feed_reader_next(feed_reader *f);

typedef struct feed_reader_stats {
    uint64_t events, reads, failures;
    int64_t read_us; /* when it last succeeded, on the clock of boot_us; 0: not yet */
    bool watching;
} feed_reader_stats;

void feed_reader_stats_read(feed_reader *f, feed_reader_stats *out);

/* Waits for a read that is under way. Accepts NULL. */
void feed_reader_free(feed_reader *f);

#endif
