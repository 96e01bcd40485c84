/* SPDX-License-Identifier: MIT */
/* The newest events, in pieces. Every event that was ever put in has a place, counted from 0; a
 * place is never used twice, so that a follower needs to remember no more than its own. */
#ifndef HF_SERVER_FEED_RING_H
#define HF_SERVER_FEED_RING_H

#include "server/feed/feed_piece.h"

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

/* False: memory is out. */
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

#endif
