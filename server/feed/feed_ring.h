/* SPDX-License-Identifier: MIT */
/* The newest events, in pieces. Every event that was ever put in has a place, counted from 0; a
 * place is never used twice, so that a follower needs to remember no more than its own. */
#ifndef HF_SERVER_FEED_FEED_RING_H
#define HF_SERVER_FEED_FEED_RING_H

#include <holdfast/lock.h>
#include <holdfast/store.h>

/* A piece of the events, read from the store and written out as server-sent events. */
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
    uint64_t *hashes; /* of the record of each, see feed_names_hash */
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

typedef struct feed_ring {
    feed_piece **pieces; /* room for size of them, used in a circle; none is empty */
    uint64_t *places;    /* of the first event of each */
    size_t size, oldest, count;
    size_t keep, bytes_max; /* events and bytes; the newest piece stays, however large */
    size_t bytes;
    uint64_t first, head; /* the place of the oldest event, and of the one that comes next */
    int64_t after;        /* the number before the oldest: all from there ... */
    int64_t newest;       /* ... to here are in it. -1: nothing is known yet */
} feed_ring;

/* False: out of memory. */
bool feed_ring_init(feed_ring *ring, size_t keep, size_t bytes_max);
void feed_ring_done(feed_ring *ring);

/* Whether a piece can be put in without one being thrown out. */
bool feed_ring_has_room(const feed_ring *ring, const feed_piece *piece);

/* Takes a piece that begins where the ring ends. */
void feed_ring_add(feed_ring *ring, feed_piece *piece);

/* Begins anew after that number; no place of before is in it. */
void feed_ring_jump(feed_ring *ring, int64_t newest);

/* Whether all that comes after that number is in it, or will be. */
bool feed_ring_covers(const feed_ring *ring, int64_t after);

/* The place of the first event after that number, which must be covered. */
uint64_t feed_ring_find(const feed_ring *ring, int64_t after);

/* The piece with that place, which must be in the ring, and where in it. */
const feed_piece *feed_ring_at(const feed_ring *ring, uint64_t place, size_t *index);

/* The records that a follower names. Thousands of followers look at every event, each with up to
 * a thousand names: so an event's record is hashed once, and a look is a binary search among
 * numbers. */
typedef struct feed_names feed_names;

/* resources are copied; one may be named twice. NULL: out of memory. */
feed_names *feed_names_new(const hf_resource *resources, size_t count);
/* Accepts NULL. */
void feed_names_free(feed_names *names);

/* Of a record, for feed_names_have. */
uint64_t feed_names_hash(const hf_resource *resource);

/* Whether the record, whose hash that is, is one of them. */
bool feed_names_have(const feed_names *names, uint64_t hash, const hf_resource *resource);

#endif
