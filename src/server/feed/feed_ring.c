/* SPDX-License-Identifier: MIT */
/* The ring: a circle of pointers to pieces, the oldest thrown out first. */
#include "server/feed/feed_ring.h"

#include "base/seams.h"

#include <assert.h>

bool feed_ring_init(feed_ring *ring, size_t keep, size_t bytes_max)
{
    *ring = (feed_ring){
        .size = keep + 1, .keep = keep, .bytes_max = bytes_max, .after = -1, .newest = -1};
    ring->pieces = hf_alloc(ring->size * sizeof *ring->pieces);
    ring->places = hf_alloc(ring->size * sizeof *ring->places);
    return ring->pieces != NULL && ring->places != NULL;
}

static feed_piece *feed_ring_oldest(const feed_ring *ring)
{
    return ring->pieces[ring->oldest];
}

static void throw_out(feed_ring *ring)
{
    feed_piece *piece = feed_ring_oldest(ring);
    ring->after = piece->upto;
    ring->first += piece->count;
    ring->bytes -= piece->bytes;
    ring->oldest = (ring->oldest + 1) % ring->size;
    ring->count--;
    feed_piece_free(piece);
}

void feed_ring_done(feed_ring *ring)
{
    while (ring->count > 0)
        throw_out(ring);
    hf_free(ring->pieces);
    hf_free(ring->places);
}

bool feed_ring_has_room(const feed_ring *ring, const feed_piece *piece)
{
    return ring->head - ring->first + piece->count <= ring->keep &&
           ring->bytes + piece->bytes <= ring->bytes_max;
}

void feed_ring_add(feed_ring *ring, feed_piece *piece)
{
    assert(piece->count > 0 && piece->after == ring->newest);
    while (ring->count > 0 && !feed_ring_has_room(ring, piece))
        throw_out(ring);
    size_t at = (ring->oldest + ring->count++) % ring->size;
    ring->pieces[at] = piece;
    ring->places[at] = ring->head;
    ring->head += piece->count;
    ring->bytes += piece->bytes;
    ring->newest = piece->upto;
}

void feed_ring_jump(feed_ring *ring, int64_t newest)
{
    while (ring->count > 0)
        throw_out(ring);
    ring->first = ++ring->head; /* who stood at the head is behind now */
    ring->after = ring->newest = newest;
}

bool feed_ring_covers(const feed_ring *ring, int64_t after)
{
    return ring->newest >= 0 && after >= ring->after && after <= ring->newest;
}

/* The last of the pieces that begin at or before that place. */
static size_t piece_of(const feed_ring *ring, uint64_t place)
{
    size_t low = 0, high = ring->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (ring->places[(ring->oldest + middle) % ring->size] <= place)
            low = middle;
        else
            high = middle;
    }
    return (ring->oldest + low) % ring->size;
}

const feed_piece *feed_ring_at(const feed_ring *ring, uint64_t place, size_t *index)
{
    assert(place >= ring->first && place < ring->head);
    size_t at = piece_of(ring, place);
    *index = (size_t)(place - ring->places[at]);
    return ring->pieces[at];
}

uint64_t feed_ring_find(const feed_ring *ring, int64_t after)
{
    uint64_t low = ring->first, high = ring->head;
    assert(feed_ring_covers(ring, after));
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        size_t index;
        const feed_piece *piece = feed_ring_at(ring, middle, &index);
        if (piece->events[index].seq > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
