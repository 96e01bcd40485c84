/* SPDX-License-Identifier: MIT */
/* The newest events: pieces read from the store, in a circle; the oldest is thrown out first. */
#include "server/feed/feed_ring.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <holdfast/json.h>
#include <inttypes.h>
#include <string.h>

/* ---- pieces ---- */

/* Reading a piece is one op; one block of memory holds what is kept of its answer. */

static void feed_ring_write_record(hf_buffer *text, const hf_event *event)
{
    char *json = hf_event_json(event); /* on one line: it has no control characters */
    if (json == NULL)
        text->failed = true;
    else
        hf_buffer_print(text, "id: %" PRId64 "\nevent: %s\ndata: ", event->seq,
                        hf_event_kind_name(event->kind));
    if (json != NULL)
        hf_buffer_add(text, json, strlen(json));
    hf_buffer_add(text, "\n\n", 2);
    hf_json_free(json);
}

/* The piece with room for its events; the text is its own block, as its size is not known before.
 * */
static feed_piece *feed_ring_piece_new(const hf_answer *answer, int64_t after)
{
    size_t count = answer->events_count;
    size_t each = sizeof(hf_event) + sizeof(uint64_t) + sizeof(uint32_t);
    size_t bytes = sizeof(feed_piece) + count * each;
    feed_piece *piece = hf_alloc(bytes);
    if (piece == NULL)
        return NULL;
    piece->bytes = bytes;
    piece->events = (hf_event *)(void *)(piece + 1);
    piece->hashes = (uint64_t *)(void *)(piece->events + count);
    piece->ends = (uint32_t *)(void *)(piece->hashes + count);
    piece->after = piece->upto = after;
    piece->first = answer->first_seq;
    piece->last = answer->last_seq;
    piece->count = count;
    if (count == 0)
        return piece;
    memcpy(piece->events, answer->events, count * sizeof *piece->events);
    piece->upto = piece->events[count - 1].seq;
    piece->lag_us = answer->now_us - piece->events[0].at_us;
    return piece;
}

static feed_piece *feed_piece_make(const hf_answer *answer, int64_t after)
{
    hf_buffer text = {0};
    feed_piece *piece = feed_ring_piece_new(answer, after);
    for (size_t i = 0; piece != NULL && i < piece->count; i++) {
        feed_ring_write_record(&text, &piece->events[i]);
        piece->hashes[i] = feed_names_hash(&piece->events[i].resource);
        piece->ends[i] = (uint32_t)text.size;
    }
    if (piece != NULL && !text.failed) {
        piece->bytes += text.room;
        piece->text = hf_buffer_take(&text);
        return piece;
    }
    hf_buffer_done(&text);
    hf_free(piece);
    return NULL;
}

hf_status feed_piece_read(hf_store *store, hf_batch *batch, int64_t after, feed_piece **out,
                          hf_error *err)
{
    hf_batch_clear(batch);
    hf_op *op = hf_batch_add(batch, HF_OP_EVENTS);
    op->after_seq = after;
    op->limit = FEED_PIECE_EVENTS;
    hf_status status = hf_store_execute(store, batch, err);
    if (status == HF_OK && op->answer.status != HF_OK)
        status = hf_fail(err, op->answer.status, "%s", op->answer.message);
    if (status == HF_OK && (*out = feed_piece_make(&op->answer, after)) == NULL)
        status = hf_fail_memory(err);
    return status;
}

void feed_piece_free(feed_piece *piece)
{
    if (piece != NULL)
        hf_free(piece->text);
    hf_free(piece);
}

size_t feed_piece_find(const feed_piece *piece, int64_t after)
{
    size_t low = 0, high = piece->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (piece->events[middle].seq > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* `first` may have been raised between the two reads of one answer: numbers without a hole say that
 * nothing was removed before. */
bool feed_piece_misses(const feed_piece *piece, int64_t after)
{
    int64_t expected = after + 1;
    for (size_t i = feed_piece_find(piece, after); i < piece->count && expected < piece->first; i++)
        if (piece->events[i].seq != expected++)
            return true;
    return expected < piece->first;
}

/* ---- the ring ---- */

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

static void feed_ring_throw_out(feed_ring *ring)
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
        feed_ring_throw_out(ring);
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
        feed_ring_throw_out(ring);
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
        feed_ring_throw_out(ring);
    ring->first = ++ring->head; /* who stood at the head is behind now */
    ring->after = ring->newest = newest;
}

bool feed_ring_covers(const feed_ring *ring, int64_t after)
{
    return ring->newest >= 0 && after >= ring->after && after <= ring->newest;
}

/* The last of the pieces that begin at or before that place. */
static size_t feed_ring_piece_of(const feed_ring *ring, uint64_t place)
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
    size_t at = feed_ring_piece_of(ring, place);
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
