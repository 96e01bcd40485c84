/* SPDX-License-Identifier: MIT */
/* The memory store's events: a ring of bytes that forgets the oldest. Adding one can't fail. */
#include "base/seams.h"
#include "store/memory.h"

#include <string.h>

#define REMOVED 255 /* a kind that is none */

_Static_assert(HF_EVENT_KINDS < REMOVED, "a kind fits in a byte");

typedef struct packed {
    int64_t at_us, fence;
    unsigned char kind, type_size, id_size, session_size, user_size, actor_size, reason_size;
    char text[];
} packed;

bool mem_events_init(mem_events *events)
{
    events->bytes = hf_realloc(NULL, MEM_EVENT_BYTES);
    events->at = hf_realloc(NULL, MEM_EVENTS * sizeof *events->at);
    events->first = events->next = events->from = events->swept = 1;
    return events->bytes != NULL && events->at != NULL;
}

void mem_events_done(mem_events *events)
{
    hf_free(events->bytes);
    hf_free(events->at);
}

static size_t memory_events_begin_of(const mem_events *events, int64_t seq)
{
    return events->at[seq % MEM_EVENTS];
}

/* Makes `size` bytes free at the head, forgetting the oldest events that stand there. */
static void memory_events_make_room(mem_events *events, size_t size)
{
    if (events->head + size > MEM_EVENT_BYTES) {
        while (events->first < events->next &&
               memory_events_begin_of(events, events->first) >= events->head)
            events->first++;
        events->head = 0;
    }
    while (events->first < events->next &&
           memory_events_begin_of(events, events->first) >= events->head &&
           memory_events_begin_of(events, events->first) < events->head + size)
        events->first++;
    if (events->next - events->first == MEM_EVENTS)
        events->first++;
}

static char *memory_events_put(char *at, hf_slice text, unsigned char *size)
{
    *size = (unsigned char)text.size;
    if (text.size > 0)
        memcpy(at, text.at, text.size);
    return at + text.size;
}

void mem_events_add(mem_events *events, const hf_event_row *row, int64_t at_us)
{
    size_t size = sizeof(packed) + row->type.size + row->id.size + row->session.size +
                  row->user.size + row->actor.size + row->reason.size;
    size = (size + 7) & ~(size_t)7;
    memory_events_make_room(events, size);
    packed *event = (packed *)(void *)(events->bytes + events->head);
    event->at_us = at_us;
    event->fence = row->fence;
    event->kind = (unsigned char)row->kind;
    char *at = memory_events_put(event->text, row->type, &event->type_size);
    at = memory_events_put(at, row->id, &event->id_size);
    at = memory_events_put(at, row->session, &event->session_size);
    at = memory_events_put(at, row->user, &event->user_size);
    at = memory_events_put(at, row->actor, &event->actor_size);
    memory_events_put(at, row->reason, &event->reason_size);
    events->at[events->next % MEM_EVENTS] = (uint32_t)events->head;
    events->next++;
    events->head += size;
}

static const char *memory_events_get(const char *at, size_t size, char *out, size_t out_size)
{
    hf_slice_copy(out, out_size, (hf_slice){at, size});
    return at + size;
}

bool mem_events_read(const mem_events *events, int64_t seq, hf_event *out)
{
    const packed *event =
        (const packed *)(const void *)(events->bytes + memory_events_begin_of(events, seq));
    if (event->kind == REMOVED)
        return false;
    out->seq = seq;
    out->at_us = event->at_us;
    out->fence = event->fence;
    out->kind = (hf_event_kind)event->kind;
    const char *at = memory_events_get(event->text, event->type_size, out->resource.type,
                                       sizeof out->resource.type);
    at = memory_events_get(at, event->id_size, out->resource.id, sizeof out->resource.id);
    at = memory_events_get(at, event->session_size, out->session, sizeof out->session);
    at = memory_events_get(at, event->user_size, out->user, sizeof out->user);
    at = memory_events_get(at, event->actor_size, out->actor, sizeof out->actor);
    memory_events_get(at, event->reason_size, out->reason, sizeof out->reason);
    return true;
}

void mem_events_remove(mem_events *events, int64_t seq)
{
    packed *event = (packed *)(void *)(events->bytes + memory_events_begin_of(events, seq));
    event->kind = REMOVED;
}
