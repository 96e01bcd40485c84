/* SPDX-License-Identifier: MIT */
/* A piece of the events, read from the store and written out as server-sent events. */
#ifndef HF_SERVER_FEED_PIECE_H
#define HF_SERVER_FEED_PIECE_H

#include <holdfast/store.h>

enum {
    FEED_PIECE_EVENTS = 256, /* read at once */
    FEED_RECORD_MAX = 128,   /* a beat or a resync */
};

/* Does not change once it is made, but for: */
typedef struct feed_piece {
    struct feed_piece *next; /* for whoever has it; this and `jump` */
    bool jump;               /* see feed_reader.h */
    int64_t after, upto;     /* all there was after the one and up to the other is in it */
    int64_t first, last;     /* as hf_answer has them */
    int64_t lag_us;          /* the age of the oldest one; 0: there is none */
    size_t count;
    size_t bytes; /* of memory */
    hf_event *events;
    uint64_t *hashes; /* of the record of each, see feed_names.h */
    uint32_t *ends;   /* where the record of each ends in the text */
    char *text;
} feed_piece;

/* Reads what is there after `after`. The batch is for one op, and used for nothing else. Not HF_OK:
 * try again later. */
hf_status feed_piece_read(hf_store *store, hf_batch *batch, int64_t after, feed_piece **out,
                          hf_error *err);

/* Accepts NULL. */
void feed_piece_free(feed_piece *piece);

/* Where the first event after that number stands; count: there is none. */
size_t feed_piece_find(const feed_piece *piece, int64_t after);

/* Whether some of what came after that number is not in it, because it is no longer kept. */
bool feed_piece_misses(const feed_piece *piece, int64_t after);

#endif
