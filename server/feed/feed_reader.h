/* SPDX-License-Identifier: MIT */
/* The thread that reads new events: when it is nudged, when the store's watch reports a change, and
 * at intervals. What it reads is queued for the loop, which is woken. */
#ifndef HF_SERVER_FEED_FEED_READER_H
#define HF_SERVER_FEED_FEED_READER_H

#include "server/feed/feed_ring.h"

typedef struct feed_reader feed_reader;

typedef struct feed_reader_settings {
    hf_store *store;
    int64_t poll_us;
    /* if it is further behind than this when it resumes, it jumps to the newest event */
    size_t keep;
    bool poll_only;
    void (*wake)(void *context); /* called by the thread: there is something to take */
    void *context;
} feed_reader_settings;

hf_status feed_reader_new(const feed_reader_settings *settings, feed_reader **out, hf_error *err);

/* Resumes or pauses. While paused it reads nothing, but still passes nudges on to other servers. */
void feed_reader_run(feed_reader *f, bool on);

/* Any thread. */
void feed_reader_nudge(feed_reader *f);

/* The next piece, now the caller's; NULL: there is none. Each begins where the last one ended,
 * except one with `jump`: it is empty, the next begins after its `upto`, and earlier events must be
 * read elsewhere. After each resume there is a piece with fewer than FEED_PIECE_EVENTS events,
 * perhaps none: it is the end of the table. */
feed_piece *feed_reader_take(feed_reader *f);
/* The same one, without taking it. */
const feed_piece *feed_reader_next(feed_reader *f);

typedef struct feed_reader_stats {
    uint64_t events, reads, failures;
    int64_t read_us; /* when it last succeeded, on the clock of boot_us; 0: not yet */
    bool watching;
} feed_reader_stats;

void feed_reader_stats_read(feed_reader *f, feed_reader_stats *out);

/* Waits for a running read. Accepts NULL. */
void feed_reader_free(feed_reader *f);

#endif
