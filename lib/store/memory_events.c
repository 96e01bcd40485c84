/* SPDX-License-Identifier: MIT */
/* The memory store's events: a ring of bytes that forgets the oldest. Adding one can't fail. */
#include "base/seams.h"
#include "store/memory.h"

#include <string.h>

/* Each begins with a byte: whether it was removed. */
enum { KEPT, REMOVED };

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

void mem_events_add(mem_events *events, hf_event_row *row, int64_t at_us)
{
    row->at_us = at_us;
    size_t size = 1 + hf_packed_size(&hf_event_fields, HF_EVERY, row);
    memory_events_make_room(events, size);
    char *event = events->bytes + events->head;
    event[0] = KEPT;
    hf_pack(&hf_event_fields, HF_EVERY, row, event + 1);
    events->at[events->next % MEM_EVENTS] = (uint32_t)events->head;
    events->next++;
    events->head += size;
}

bool mem_events_read(const mem_events *events, int64_t seq, hf_event *out)
{
    const char *event = events->bytes + memory_events_begin_of(events, seq);
    hf_event_row row = {0};
    if (event[0] == REMOVED)
        return false;
    hf_unpack(&hf_event_fields, HF_EVERY, event + 1, &row);
    hf_fill_event(&row, seq, out);
    return true;
}

void mem_events_remove(mem_events *events, int64_t seq)
{
    events->bytes[memory_events_begin_of(events, seq)] = REMOVED;
}
