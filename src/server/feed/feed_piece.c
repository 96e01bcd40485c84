/* SPDX-License-Identifier: MIT */
/* Reading a piece: one op, one block of memory for what is kept of its answer. */
#include "server/feed/feed_piece.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "server/feed/feed_names.h"

#include <holdfast/json.h>
#include <inttypes.h>
#include <string.h>

static void write_record(hf_buffer *text, const hf_event *event)
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
static feed_piece *piece_new(const hf_answer *answer, int64_t after)
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
    feed_piece *piece = piece_new(answer, after);
    for (size_t i = 0; piece != NULL && i < piece->count; i++) {
        write_record(&text, &piece->events[i]);
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
