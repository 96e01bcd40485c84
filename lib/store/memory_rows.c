/* SPDX-License-Identifier: MIT */
/* The memory store: finding its rows and loading them into a working set. Nothing is copied: the
 * set's slices point into the rows, which outlive it. */
#include "base/seams.h"
#include "lock/rules.h"
#include "store/memory.h"

#include <string.h>

/* ---- finding ---- */

size_t mem_session_slot(const mem_store *store, const char *id)
{
    return hf_resource_hash(store->rows.seed, HF_NOTHING, (hf_slice){id, HF_SESSION_ID_MAX}) &
           (store->sessions_size - 1);
}

size_t mem_opened_slot(const mem_store *store, hf_slice request)
{
    return hf_resource_hash(store->rows.seed, HF_NOTHING, request) & (store->sessions_size - 1);
}

mem_session *mem_session_find(mem_store *store, const char *id)
{
    mem_session *session = store->sessions[mem_session_slot(store, id)];
    while (session != NULL && memcmp(session->id, id, HF_SESSION_ID_MAX) != 0)
        session = session->chain;
    return session;
}

mem_anchor *mem_anchor_find(mem_store *store, hf_slice type, hf_slice id, uint64_t hash)
{
    mem_anchor *anchor = store->anchors[hash & (store->anchors_size - 1)];
    for (; anchor != NULL; anchor = anchor->chain)
        if (anchor->hash == hash && anchor->id_size == id.size &&
            memcmp(anchor->packed, id.at, id.size) == 0 &&
            hf_slice_equal((hf_slice){anchor->type->name, anchor->type->size}, type))
            return anchor;
    return NULL;
}

mem_type *mem_type_find(mem_store *store, hf_slice type)
{
    mem_type *row = store->types;
    while (row != NULL && !hf_slice_equal((hf_slice){row->name, row->size}, type))
        row = row->next;
    return row;
}

mem_type *mem_type_keep(mem_store *store, hf_slice type)
{
    mem_type *row = mem_type_find(store, type);
    if (row != NULL || (row = hf_alloc(sizeof *row)) == NULL)
        return row;
    hf_slice_copy(row->name, sizeof row->name, type);
    row->size = type.size;
    row->next = store->types;
    store->types = row;
    return row;
}

bool mem_lock_lives(const mem_lock *lock, int64_t now_us)
{
    return hf_rules_live(lock->session->ended_us, lock->session->expires_us, lock->ends_us, now_us);
}

/* ---- rows as they stand there ---- */

hf_resource_row mem_anchor_row(const mem_anchor *anchor)
{
    hf_resource_row row = {.type = {anchor->type->name, anchor->type->size},
                           .id = {anchor->packed, anchor->id_size}};
    hf_unpack(&hf_resource_fields, MEM_ANCHOR, mem_anchor_packed(anchor), &row);
    if (anchor->saved != NULL)
        hf_unpack(&hf_resource_fields, MEM_SAVED, anchor->saved, &row);
    return row;
}

hf_session_row mem_session_row(const mem_session *session)
{
    hf_session_row row = {0};
    memcpy(row.id, session->id, sizeof row.id);
    hf_unpack(&hf_session_fields, MEM_SESSION, session->packed, &row);
    return row;
}

hf_lock_row mem_lock_row(const mem_lock *lock)
{
    hf_lock_row row = {0};
    hf_unpack(&hf_lock_fields, MEM_LOCK, lock->packed, &row);
    return row;
}

hf_save_row mem_past_row(const mem_past *past)
{
    hf_save_row row = {0};
    hf_unpack(&hf_save_fields, MEM_PAST, past->packed, &row);
    return row;
}

/* ---- loading ---- */

static void memory_rows_fill_session(hf_session_row *row, mem_session *from)
{
    hf_unpack(&hf_session_fields, MEM_SESSION, from->packed, row);
    row->ends.text = (hf_slice){from->ends, from->ends_size};
    row->stored = row->present = true;
    row->origin = from;
}

hf_session_row *mem_load_session(mem_store *store, hf_rows *rows, mem_session *from)
{
    (void)store;
    hf_session_row *row = hf_rows_session(rows, from->id);
    if (row != NULL && !row->loaded) {
        row->loaded = true;
        memory_rows_fill_session(row, from);
    }
    return row;
}

hf_lock_row *mem_load_lock(mem_store *store, hf_rows *rows, mem_lock *from)
{
    hf_session_row *session = mem_load_session(store, rows, from->session);
    hf_resource_row *resource =
        session == NULL
            ? NULL
            : hf_rows_resource(rows, (hf_slice){from->anchor->type->name, from->anchor->type->size},
                               (hf_slice){from->anchor->packed, from->anchor->id_size}, false);
    hf_lock_row *row = resource == NULL ? NULL : hf_rows_lock(rows, resource, session);
    if (row == NULL || row->origin != NULL)
        return row;
    hf_unpack(&hf_lock_fields, MEM_LOCK, from->packed, row);
    row->stored = row->present = true;
    row->origin = from;
    return row;
}

static bool memory_rows_load_requests(mem_store *store, hf_rows *rows, hf_resource_row *row,
                                      const mem_anchor *anchor)
{
    for (mem_request *from = anchor->requests; from != NULL; from = from->next) {
        hf_session_row *session = mem_load_session(store, rows, from->session);
        hf_request_row *request = session == NULL ? NULL : hf_rows_request(rows, row, session);
        if (request == NULL)
            return false;
        hf_unpack(&hf_request_fields, MEM_REQUEST, from->packed, request);
        request->stored = request->present = true;
        request->origin = from;
    }
    return true;
}

static void memory_rows_load_past(hf_resource_row *row, const mem_anchor *anchor)
{
    for (hf_save_row *past = row->past; past != NULL; past = past->next)
        for (mem_past *from = anchor->past; from != NULL && !past->stored; from = from->next)
            if (hf_slice_equal(past->request, mem_past_row(from).request)) {
                hf_unpack(&hf_save_fields, MEM_PAST, from->packed, past);
                past->stored = past->present = true;
                past->origin = from;
            }
}

static bool memory_rows_load_resource(mem_store *store, hf_rows *rows, hf_resource_row *row)
{
    mem_anchor *anchor = mem_anchor_find(store, row->type, row->id, row->hash);
    row->loaded = true;
    row->origin = anchor;
    if (anchor == NULL)
        return true;
    row->stored = row->present = true;
    hf_unpack(&hf_resource_fields, MEM_ANCHOR, mem_anchor_packed(anchor), row);
    if (anchor->saved != NULL)
        hf_unpack(&hf_resource_fields, MEM_SAVED, anchor->saved, row);
    memory_rows_load_past(row, anchor);
    for (mem_lock *lock = row->wanted ? anchor->locks : NULL; lock != NULL; lock = lock->next)
        if (mem_load_lock(store, rows, lock) == NULL)
            return false;
    return !row->wants_requests || memory_rows_load_requests(store, rows, row, anchor);
}

static bool memory_rows_load_lost(hf_rows *rows, hf_session_row *row, mem_lost *from)
{
    hf_lost_row there = {0};
    hf_unpack(&hf_lost_fields, MEM_LOST, from->packed, &there);
    hf_lost_row *lost = hf_rows_lost_new(rows, row, there.type, there.id);
    if (lost == NULL)
        return false;
    hf_unpack(&hf_lost_fields, MEM_LOST, from->packed, lost);
    lost->stored = lost->present = true;
    lost->origin = from;
    return hf_rows_want_taker(rows, lost);
}

static bool memory_rows_load_all_lost(hf_rows *rows, hf_session_row *row,
                                      const mem_session *session)
{
    for (mem_lost *from = session->lost; from != NULL; from = from->next)
        if (!memory_rows_load_lost(rows, row, from))
            return false;
    return true;
}

/* The losses of one resource each. One that is in the set already was wanted twice. */
static bool memory_rows_load_losses(hf_rows *rows)
{
    for (hf_loss_row *loss = rows->losses; loss != NULL; loss = loss->next) {
        const mem_session *session = loss->session->origin;
        if (session == NULL || session->lost == NULL || loss->session->wants_lost)
            continue;
        for (mem_lost *from = session->lost; from != NULL; from = from->next) {
            hf_lost_row there = {0};
            bool known = false;
            hf_unpack(&hf_lost_fields, MEM_LOST, from->packed, &there);
            for (hf_lost_row *row = loss->session->lost; row != NULL; row = row->next)
                known |= row->origin == from;
            if (!known && hf_slice_equal(there.id, loss->resource->id) &&
                hf_slice_equal(there.type, loss->resource->type) &&
                !memory_rows_load_lost(rows, loss->session, from))
                return false;
        }
    }
    return true;
}

/* Of a session that only beats: counts the live ones, loads those that are over or asked for. */
static bool memory_rows_count_locks(mem_store *store, hf_rows *rows, hf_session_row *row,
                                    const mem_session *session, int64_t now_us)
{
    row->live_locks = session->locks_count;
    if (session->bounded_count == 0 && store->requests_count == 0)
        return true;
    for (mem_lock *lock = session->locks; lock != NULL; lock = lock->session_next) {
        bool over = lock->ends_us != 0 && lock->ends_us <= now_us;
        row->live_locks -= over;
        if (!over && lock->anchor->requests == NULL)
            continue;
        hf_lock_row *loaded = mem_load_lock(store, rows, lock);
        if (loaded == NULL)
            return false;
        loaded->resource->wants_requests = true;
    }
    return true;
}

static bool memory_rows_load_session(mem_store *store, hf_rows *rows, hf_session_row *row,
                                     int64_t now_us)
{
    mem_session *session = mem_session_find(store, row->id);
    row->loaded = true;
    if (session == NULL)
        return true;
    if (row->origin == NULL)
        memory_rows_fill_session(row, session);
    for (mem_lock *lock = row->wants_locks ? session->locks : NULL; lock != NULL;
         lock = lock->session_next) {
        hf_lock_row *loaded = mem_load_lock(store, rows, lock);
        if (loaded == NULL)
            return false;
        loaded->resource->wanted |= row->wants_anchors;
        loaded->resource->wants_requests |= row->wants_requests || row->wants_anchors;
    }
    if (row->counts_locks && !memory_rows_count_locks(store, rows, row, session, now_us))
        return false;
    return !row->wants_lost || memory_rows_load_all_lost(rows, row, session);
}

/* An open asked before: found by its request id. */
static bool memory_rows_load_opens(mem_store *store, hf_rows *rows)
{
    for (hf_open_row *open = rows->opens; open != NULL; open = open->next) {
        mem_session *session = store->opened[mem_opened_slot(store, open->request)];
        while (session != NULL && !hf_slice_equal(mem_session_row(session).request, open->request))
            session = session->request_chain;
        if (session != NULL && (open->session = mem_load_session(store, rows, session)) == NULL)
            return false;
    }
    return true;
}

/* A large batch finds its anchors all over memory: they are fetched together rather than one after
 * the other. */
static void memory_rows_warm(const mem_store *store, const hf_rows *rows)
{
    if (rows->resources_count < 4)
        return;
    for (const hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        __builtin_prefetch(&store->anchors[row->hash & (store->anchors_size - 1)]);
    for (const hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        __builtin_prefetch(store->anchors[row->hash & (store->anchors_size - 1)]);
}

bool mem_load(mem_store *store, hf_rows *rows, int64_t now_us)
{
    memory_rows_warm(store, rows);
    rows->fence_floor = store->fence_floor;
    for (hf_type_row *row = rows->types; row != NULL; row = row->next) {
        const mem_type *type = mem_type_find(store, hf_slice_of(row->type.type));
        if (type != NULL && type->packed != NULL)
            hf_unpack(&hf_type_fields, HF_REST, type->packed, row);
    }
    if (!memory_rows_load_opens(store, rows))
        return false;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        if ((!row->loaded || row->wants_locks || row->wants_lost) &&
            !memory_rows_load_session(store, rows, row, now_us))
            return false;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        if (!row->loaded && !memory_rows_load_resource(store, rows, row))
            return false;
    return memory_rows_load_losses(rows);
}
