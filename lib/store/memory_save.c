/* SPDX-License-Identifier: MIT */
/* The memory store: saving a working set. First everything new is made, which may fail and then
 * changes nothing; then it is linked in, which can't fail. */
#include "base/seams.h"
#include "store/memory.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* ---- making ---- */

/* How a record is laid out: its links, then a row's fields. */
typedef struct record {
    size_t head;
    const hf_row_fields *of;
    unsigned mask;
} record;

#define RECORD(type, fields, mask) (&(const record){offsetof(type, packed), &(fields), (mask)})
#define SESSION                    RECORD(mem_session, hf_session_fields, MEM_SESSION)
#define LOCK                       RECORD(mem_lock, hf_lock_fields, MEM_LOCK)
#define REQUEST                    RECORD(mem_request, hf_request_fields, MEM_REQUEST)
#define LOST                       RECORD(mem_lost, hf_lost_fields, MEM_LOST)
#define PAST                       RECORD(mem_past, hf_save_fields, MEM_PAST)

static void *memory_save_pack_new(size_t head, const hf_row_fields *of, unsigned mask,
                                  const void *row)
{
    char *fresh = hf_alloc(head + hf_packed_size(of, mask, row));
    if (fresh != NULL)
        hf_pack(of, mask, row, fresh + head);
    return fresh;
}

/* A new record for a row that is kept and that can't be written where it is. False: out of memory.
 */
static bool memory_save_make(const record *at, bool kept, const void *origin, const void *row,
                             void **fresh)
{
    *fresh = NULL;
    if (!kept ||
        (origin != NULL && hf_pack_fits(at->of, at->mask, row, (const char *)origin + at->head)))
        return true;
    *fresh = memory_save_pack_new(at->head, at->of, at->mask, row);
    return *fresh != NULL;
}

static void memory_save_in_place(const record *at, const void *row, void *origin)
{
    hf_pack(at->of, at->mask, row, (char *)origin + at->head);
}

static mem_anchor *memory_save_make_anchor(mem_store *store, const hf_resource_row *row)
{
    const mem_type *type = mem_type_keep(store, row->type);
    size_t size = hf_packed_size(&hf_resource_fields, MEM_ANCHOR, row);
    mem_anchor *anchor = type == NULL ? NULL : hf_alloc(sizeof *anchor + row->id.size + size);
    if (anchor == NULL)
        return NULL;
    anchor->type = type;
    anchor->hash = row->hash;
    anchor->id_size = (unsigned short)row->id.size;
    memcpy(anchor->packed, row->id.at, row->id.size);
    hf_pack(&hf_resource_fields, MEM_ANCHOR, row, anchor->packed + row->id.size);
    return anchor;
}

static bool memory_save_prepare_resource(mem_store *store, hf_resource_row *row)
{
    const mem_anchor *origin = row->origin;
    if (row->changed && row->present &&
        (origin == NULL ||
         !hf_pack_fits(&hf_resource_fields, MEM_ANCHOR, row, mem_anchor_packed(origin))) &&
        (row->fresh = memory_save_make_anchor(store, row)) == NULL)
        return false;
    if (row->changed && row->saved_by != NULL &&
        (row->fresh_saved = memory_save_pack_new(0, &hf_resource_fields, MEM_SAVED, row)) == NULL)
        return false;
    for (hf_save_row *past = row->past; past != NULL; past = past->next)
        if (!memory_save_make(PAST, past->changed && past->present, past->origin, past,
                              &past->fresh))
            return false;
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        if (!memory_save_make(LOCK, lock->changed && lock->present, lock->origin, lock,
                              &lock->fresh))
            return false;
    for (hf_request_row *request = row->requests; request != NULL; request = request->next)
        if (!memory_save_make(REQUEST, request->changed && request->present, request->origin,
                              request, &request->fresh))
            return false;
    return true;
}

static bool memory_save_prepare(mem_store *store, hf_rows *rows)
{
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        if (!memory_save_make(SESSION, row->changed && row->present, row->origin, row, &row->fresh))
            return false;
        assert(row->fresh == NULL || row->origin == NULL); /* a session's texts never change */
        if (row->ends_changed) {
            size_t size = row->ends.text.size;
            row->fresh_text = hf_realloc(NULL, size);
            if (row->fresh_text == NULL)
                return false;
            memcpy(row->fresh_text, row->ends.text.at, size);
        }
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            if (!memory_save_make(LOST, lost->changed && lost->present, lost->origin, lost,
                                  &lost->fresh))
                return false;
    }
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        if (!memory_save_prepare_resource(store, row))
            return false;
    return true;
}

/* Frees what prepare made. */
static void memory_save_forget(hf_rows *rows)
{
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        hf_free(row->fresh);
        hf_free(row->fresh_text);
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            hf_free(lost->fresh);
    }
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next) {
        hf_free(row->fresh);
        hf_free(row->fresh_saved);
        for (hf_save_row *past = row->past; past != NULL; past = past->next)
            hf_free(past->fresh);
        for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
            hf_free(lock->fresh);
        for (hf_request_row *request = row->requests; request != NULL; request = request->next)
            hf_free(request->fresh);
    }
}

/* ---- the tables ---- */

bool mem_tables_init(mem_store *store)
{
    store->anchors_size = store->sessions_size = 64;
    store->anchors = hf_alloc(store->anchors_size * sizeof *store->anchors);
    store->sessions = hf_alloc(store->sessions_size * sizeof *store->sessions);
    store->opened = hf_alloc(store->sessions_size * sizeof *store->opened);
    return store->anchors != NULL && store->sessions != NULL && store->opened != NULL;
}

/* Tables grow when they can; when memory is out they only get slower. */
static void memory_save_grow_anchors(mem_store *store)
{
    size_t size = store->anchors_size * 2;
    mem_anchor **table =
        store->anchors_count <= store->anchors_size ? NULL : hf_alloc(size * sizeof *table);
    if (table == NULL)
        return;
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i], *next; anchor != NULL; anchor = next) {
            next = anchor->chain;
            anchor->chain = table[anchor->hash & (size - 1)];
            table[anchor->hash & (size - 1)] = anchor;
        }
    hf_free(store->anchors);
    store->anchors = table;
    store->anchors_size = size;
}

static void memory_save_add_session(mem_store *store, mem_session *session)
{
    mem_session **at = &store->sessions[mem_session_slot(store, session->id)];
    session->chain = *at;
    *at = session;
    hf_slice request = mem_session_row(session).request;
    if (request.size == 0)
        return;
    at = &store->opened[mem_opened_slot(store, request)];
    session->request_chain = *at;
    *at = session;
}

static void memory_save_grow_sessions(mem_store *store)
{
    if (store->sessions_count <= store->sessions_size)
        return;
    size_t before = store->sessions_size;
    mem_session **old = store->sessions, **old_opened = store->opened;
    mem_session **table = hf_alloc(2 * before * sizeof *table),
                **opened = hf_alloc(2 * before * sizeof *opened);
    if (table == NULL || opened == NULL) {
        hf_free(table);
        hf_free(opened);
        return;
    }
    store->sessions = table;
    store->opened = opened;
    store->sessions_size = 2 * before;
    for (size_t i = 0; i < before; i++)
        for (mem_session *session = old[i], *next; session != NULL; session = next) {
            next = session->chain;
            memory_save_add_session(store, session);
        }
    hf_free(old);
    hf_free(old_opened);
}

static void memory_save_unlink_lock(mem_lock *lock)
{
    mem_lock **at = &lock->anchor->locks;
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    lock->session->locks_count--;
    lock->session->bounded_count -= lock->ends_us != 0;
    *lock->session_prev = lock->session_next;
    if (lock->session_next != NULL)
        lock->session_next->session_prev = lock->session_prev;
    hf_free(lock);
}

static void memory_save_link_lock(mem_lock *lock, mem_anchor *anchor, mem_session *session)
{
    lock->anchor = anchor;
    lock->next = anchor->locks;
    anchor->locks = lock;
    lock->session = session;
    session->locks_count++;
    lock->session_next = session->locks;
    lock->session_prev = &session->locks;
    if (session->locks != NULL)
        session->locks->session_prev = &lock->session_next;
    session->locks = lock;
}

static void memory_save_remove_request(mem_anchor *anchor, mem_request *request)
{
    mem_request **at = &anchor->requests;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    hf_free(request);
}

static void memory_save_remove_lost(mem_session *session, mem_lost *lost)
{
    mem_lost **at = &session->lost;
    while (*at != lost)
        at = &(*at)->next;
    *at = lost->next;
    hf_free(lost);
}

void mem_past_remove(mem_store *store, mem_past *past)
{
    mem_past **at = &past->anchor->past;
    while (*at != past)
        at = &(*at)->next;
    *at = past->next;
    store->past_count--;
    hf_free(past);
}

/* ---- linking in: can't fail ---- */

static void memory_save_session(mem_store *store, hf_session_row *row)
{
    if (row->fresh != NULL) {
        mem_session *fresh = row->fresh;
        memcpy(fresh->id, row->id, sizeof fresh->id);
        row->origin = fresh;
        memory_save_add_session(store, fresh);
        store->sessions_count++;
        memory_save_grow_sessions(store);
    }
    mem_session *session = row->origin;
    if (row->changed && session != NULL) {
        if (row->fresh == NULL)
            memory_save_in_place(SESSION, row, session);
        session->expires_us = row->expires_us;
        session->ended_us = row->ended_us;
    }
    if (row->ends_changed) {
        hf_free(session->ends);
        session->ends = row->fresh_text;
        session->ends_size = row->ends.text.size;
    }
    for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next) {
        mem_lost *fresh = lost->fresh;
        if (lost->changed && lost->present && fresh == NULL)
            memory_save_in_place(LOST, lost, lost->origin);
        else if (lost->changed && lost->origin != NULL)
            memory_save_remove_lost(session, lost->origin);
        if (fresh != NULL) {
            fresh->next = session->lost;
            session->lost = fresh;
        }
    }
}

static void memory_save_lock(hf_lock_row *row)
{
    if (!row->changed)
        return;
    mem_lock *lock = row->origin;
    if (lock != NULL && (!row->present || row->fresh != NULL)) {
        memory_save_unlink_lock(lock);
        lock = NULL;
    }
    if (row->fresh != NULL) {
        lock = row->fresh;
        memory_save_link_lock(lock, row->resource->origin, row->session->origin);
    } else if (lock != NULL)
        memory_save_in_place(LOCK, row, lock);
    if (lock == NULL)
        return;
    lock->session->bounded_count -= lock->ends_us != 0;
    lock->session->bounded_count += row->ends_us != 0;
    lock->ends_us = row->ends_us;
}

static void memory_save_requests(mem_store *store, const hf_resource_row *row)
{
    mem_anchor *anchor = row->origin;
    for (hf_request_row *request = row->requests; request != NULL; request = request->next) {
        mem_request *fresh = request->fresh;
        if (request->changed && request->present && fresh == NULL)
            memory_save_in_place(REQUEST, request, request->origin);
        else if (request->changed && request->origin != NULL) {
            memory_save_remove_request(anchor, request->origin);
            store->requests_count--;
        }
        if (fresh != NULL) {
            store->requests_count++;
            fresh->session = request->session->origin;
            fresh->next = anchor->requests;
            anchor->requests = fresh;
        }
    }
}

static void memory_save_saved(mem_store *store, hf_resource_row *row, mem_anchor *anchor)
{
    if (row->fresh_saved != NULL) {
        hf_free(anchor->saved);
        anchor->saved = row->fresh_saved;
    }
    for (hf_save_row *past = row->past; past != NULL; past = past->next) {
        mem_past *fresh = past->fresh;
        if (past->changed && past->present && fresh == NULL)
            memory_save_in_place(PAST, past, past->origin);
        if (fresh == NULL)
            continue;
        if (past->origin != NULL)
            mem_past_remove(store, past->origin);
        fresh->anchor = anchor;
        fresh->next = anchor->past;
        anchor->past = fresh;
        store->past_count++;
    }
}

/* What grew takes the place of what was. */
static void memory_save_move_anchor(mem_store *store, mem_anchor *from, mem_anchor *to)
{
    mem_anchor **at = &store->anchors[from->hash & (store->anchors_size - 1)];
    while (*at != from)
        at = &(*at)->chain;
    *at = to;
    to->chain = from->chain;
    to->locks = from->locks;
    to->requests = from->requests;
    to->past = from->past;
    to->saved = from->saved;
    for (mem_lock *lock = to->locks; lock != NULL; lock = lock->next)
        lock->anchor = to;
    for (mem_past *past = to->past; past != NULL; past = past->next)
        past->anchor = to;
    hf_free(from);
}

static void memory_save_resource(mem_store *store, hf_resource_row *row)
{
    mem_anchor *fresh = row->fresh, *anchor = row->origin;
    if (fresh != NULL && anchor != NULL)
        memory_save_move_anchor(store, anchor, fresh);
    else if (fresh != NULL) {
        mem_anchor **at = &store->anchors[fresh->hash & (store->anchors_size - 1)];
        fresh->chain = *at;
        *at = fresh;
        store->anchors_count++;
        memory_save_grow_anchors(store);
    } else if (anchor != NULL && row->changed && row->present)
        hf_pack(&hf_resource_fields, MEM_ANCHOR, row, anchor->packed + anchor->id_size);
    if (fresh != NULL)
        row->origin = anchor = fresh;
    if (anchor == NULL)
        return;
    memory_save_saved(store, row, anchor);
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        memory_save_lock(lock);
    memory_save_requests(store, row);
    if (!row->present)
        mem_anchor_remove(store, anchor);
}

bool mem_save(mem_store *store, hf_rows *rows, int64_t now_us)
{
    if (!memory_save_prepare(store, rows)) {
        memory_save_forget(rows);
        return false;
    }
    for (size_t i = 0; i < rows->events_count; i++)
        mem_events_add(&store->events, &rows->events[i], now_us);
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        memory_save_session(store, row);
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        memory_save_resource(store, row);
    store->fence_floor = rows->floor_raised ? rows->fence_floor : store->fence_floor;
    return true;
}

bool mem_type_save(mem_type *type, const hf_type_row *row)
{
    char *packed = memory_save_pack_new(0, &hf_type_fields, HF_REST, row);
    if (packed == NULL)
        return false;
    hf_free(type->packed);
    type->packed = packed;
    return true;
}

/* ---- removing ---- */

static bool memory_save_drop_request_of(mem_store *store, mem_anchor *anchor,
                                        const mem_session *session)
{
    for (mem_request **at = &anchor->requests; *at != NULL; at = &(*at)->next)
        if ((*at)->session == session) {
            mem_request *request = *at;
            *at = request->next;
            hf_free(request);
            store->requests_count--;
            return true;
        }
    return false;
}

/* What only this session asked for, and is free otherwise, leaves no row. */
static void memory_save_drop_requests_of(mem_store *store, const mem_session *session)
{
    for (size_t i = 0; store->requests_count > 0 && i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i], *next; anchor != NULL; anchor = next) {
            next = anchor->chain;
            if (memory_save_drop_request_of(store, anchor, session) && store->rows.drops_free &&
                anchor->locks == NULL && anchor->requests == NULL && anchor->saved == NULL &&
                mem_anchor_row(anchor).ended_request.size == 0)
                mem_anchor_drop(store, anchor);
        }
}

static void memory_save_free_lost(mem_session *session)
{
    for (mem_lost *lost = session->lost, *next; lost != NULL; lost = next) {
        next = lost->next;
        hf_free(lost);
    }
}

void mem_session_remove(mem_store *store, mem_session *session)
{
    mem_session **at = &store->sessions[mem_session_slot(store, session->id)];
    while (*at != session)
        at = &(*at)->chain;
    *at = session->chain;
    hf_slice request = mem_session_row(session).request;
    if (request.size > 0) {
        at = &store->opened[mem_opened_slot(store, request)];
        while (*at != session)
            at = &(*at)->request_chain;
        *at = session->request_chain;
    }
    store->sessions_count--;
    memory_save_drop_requests_of(store, session);
    memory_save_free_lost(session);
    hf_free(session->ends);
    hf_free(session);
}

void mem_anchor_drop(mem_store *store, mem_anchor *anchor)
{
    int64_t fence = mem_anchor_row(anchor).fence;
    if (fence > store->fence_floor)
        store->fence_floor = fence;
    mem_anchor_remove(store, anchor);
}

void mem_anchor_remove(mem_store *store, mem_anchor *anchor)
{
    mem_anchor **at = &store->anchors[anchor->hash & (store->anchors_size - 1)];
    while (*at != anchor)
        at = &(*at)->chain;
    *at = anchor->chain;
    store->anchors_count--;
    while (anchor->past != NULL)
        mem_past_remove(store, anchor->past);
    hf_free(anchor->saved);
    hf_free(anchor);
}

static void memory_save_free_anchor_rows(mem_anchor *anchor)
{
    for (mem_past *past = anchor->past, *next; past != NULL; past = next) {
        next = past->next;
        hf_free(past);
    }
    hf_free(anchor->saved);
    for (mem_lock *lock = anchor->locks, *next; lock != NULL; lock = next) {
        next = lock->next;
        hf_free(lock);
    }
    for (mem_request *request = anchor->requests, *next; request != NULL; request = next) {
        next = request->next;
        hf_free(request);
    }
    hf_free(anchor);
}

void mem_tables_done(mem_store *store)
{
    for (size_t i = 0; store->anchors != NULL && i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i], *next; anchor != NULL; anchor = next) {
            next = anchor->chain;
            memory_save_free_anchor_rows(anchor);
        }
    for (size_t i = 0; store->sessions != NULL && i < store->sessions_size; i++)
        for (mem_session *session = store->sessions[i], *next; session != NULL; session = next) {
            next = session->chain;
            memory_save_free_lost(session);
            hf_free(session->ends);
            hf_free(session);
        }
    for (mem_type *type = store->types, *next; type != NULL; type = next) {
        next = type->next;
        hf_free(type->packed);
        hf_free(type);
    }
    hf_free(store->anchors);
    hf_free(store->sessions);
    hf_free(store->opened);
}
