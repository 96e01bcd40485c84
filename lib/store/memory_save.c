/* SPDX-License-Identifier: MIT */
/* The memory store: saving a working set. First everything new is made, which may fail and then
 * changes nothing; then it is linked in, which can't fail. */
#include "base/seams.h"
#include "store/memory.h"

#include <string.h>

/* ---- making ---- */

static char *memory_save_put(char *at, hf_slice text)
{
    if (text.size > 0)
        memcpy(at, text.at, text.size);
    return at + text.size;
}

/* A copy of a text that is not empty; NULL: out of memory. */
static char *memory_save_copy(hf_slice text)
{
    char *copy = hf_realloc(NULL, text.size);
    if (copy != NULL)
        memory_save_put(copy, text);
    return copy;
}

static mem_session *memory_save_make_session(const hf_session_row *row)
{
    mem_session *session = hf_alloc(sizeof *session + row->user.size + row->name.size +
                                    row->caller.size + row->request.size);
    if (session == NULL)
        return NULL;
    memcpy(session->id, row->id, sizeof session->id);
    memcpy(session->key_sha256, row->key_sha256, sizeof session->key_sha256);
    session->user_size = (unsigned char)row->user.size;
    session->name_size = (unsigned char)row->name.size;
    session->caller_size = (unsigned char)row->caller.size;
    session->request_size = (unsigned char)row->request.size;
    memory_save_put(
        memory_save_put(memory_save_put(memory_save_put(session->text, row->user), row->name),
                        row->caller),
        row->request);
    return session;
}

static mem_anchor *memory_save_make_anchor(mem_store *store, const hf_resource_row *row)
{
    const mem_type *type = mem_type_keep(store, row->type);
    mem_anchor *anchor = type == NULL ? NULL : hf_alloc(sizeof *anchor + row->id.size);
    if (anchor == NULL)
        return NULL;
    anchor->type = type;
    anchor->hash = row->hash;
    anchor->id_size = (unsigned char)row->id.size;
    memory_save_put(anchor->id, row->id);
    return anchor;
}

static mem_lock *memory_save_make_lock(const hf_lock_row *row)
{
    mem_lock *lock = hf_alloc(sizeof *lock + row->purpose.size + row->request.size);
    if (lock == NULL)
        return NULL;
    lock->purpose_size = (unsigned char)row->purpose.size;
    lock->request_size = (unsigned char)row->request.size;
    memory_save_put(memory_save_put(lock->text, row->purpose), row->request);
    return lock;
}

static mem_request *memory_save_make_request(const hf_request_row *row)
{
    mem_request *request = hf_alloc(sizeof *request + row->message.size);
    if (request == NULL)
        return NULL;
    request->at_us = row->at_us;
    request->size = (unsigned char)row->message.size;
    memory_save_put(request->message, row->message);
    return request;
}

static mem_lost *memory_save_make_lost(const hf_lost_row *row)
{
    mem_lost *lost = hf_alloc(sizeof *lost + row->type.size + row->id.size + row->why.size +
                              row->by.size + row->reason.size);
    if (lost == NULL)
        return NULL;
    *lost = (mem_lost){.fence = row->fence, .at_us = row->at_us};
    lost->type_size = (unsigned char)row->type.size;
    lost->id_size = (unsigned char)row->id.size;
    lost->why_size = (unsigned char)row->why.size;
    lost->by_size = (unsigned char)row->by.size;
    lost->reason_size = (unsigned char)row->reason.size;
    memory_save_put(
        memory_save_put(
            memory_save_put(memory_save_put(memory_save_put(lost->text, row->type), row->id),
                            row->why),
            row->by),
        row->reason);
    return lost;
}

static mem_saved *memory_save_make_saved(const hf_resource_row *row)
{
    mem_saved *saved = hf_alloc(sizeof *saved + row->saved_user.size + row->saved_name.size +
                                row->saved_request.size);
    if (saved == NULL)
        return NULL;
    saved->version = row->version;
    saved->fence = row->saved_fence;
    saved->at_us = row->saved_us;
    saved->gone = row->gone;
    memcpy(saved->session, row->saved_session, sizeof saved->session);
    saved->user_size = (unsigned char)row->saved_user.size;
    saved->name_size = (unsigned char)row->saved_name.size;
    saved->request_size = (unsigned short)row->saved_request.size;
    memory_save_put(memory_save_put(memory_save_put(saved->text, row->saved_user), row->saved_name),
                    row->saved_request);
    return saved;
}

static mem_past *memory_save_make_past(const hf_save_row *row)
{
    mem_past *past = hf_alloc(sizeof *past + row->request.size);
    if (past == NULL)
        return NULL;
    *past = (mem_past){.version = row->version, .fence = row->fence, .at_us = row->saved_us};
    past->covered_us = row->covered_us;
    past->gone = row->gone;
    past->size = (unsigned short)row->request.size;
    memory_save_put(past->request, row->request);
    return past;
}

/* Whether a lock's text still stands in its record. */
static bool memory_save_same_text(const hf_lock_row *row)
{
    const mem_lock *lock = row->origin;
    return hf_slice_equal(row->purpose, (hf_slice){lock->text, lock->purpose_size}) &&
           hf_slice_equal(row->request,
                          (hf_slice){lock->text + lock->purpose_size, lock->request_size});
}

/* Whether the request that ended the last hold is still the one in the anchor. */
static bool memory_save_same_end(const hf_resource_row *row)
{
    const mem_anchor *anchor = row->origin;
    return anchor != NULL && anchor->ended_request == row->ended_request.at;
}

static bool memory_save_prepare_resource(mem_store *store, hf_resource_row *row)
{
    bool kept = row->changed && row->present;
    if (kept && !row->stored && (row->fresh = memory_save_make_anchor(store, row)) == NULL)
        return false;
    if (kept && row->ended_request.size > 0 && !memory_save_same_end(row) &&
        (row->fresh_text = memory_save_copy(row->ended_request)) == NULL)
        return false;
    if (row->changed && row->saved_by != NULL &&
        (row->fresh_saved = memory_save_make_saved(row)) == NULL)
        return false;
    for (hf_save_row *past = row->past; past != NULL; past = past->next)
        if (past->changed && past->present && (past->fresh = memory_save_make_past(past)) == NULL)
            return false;
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        if (lock->changed && lock->present && (!lock->stored || !memory_save_same_text(lock)) &&
            (lock->fresh = memory_save_make_lock(lock)) == NULL)
            return false;
    for (hf_request_row *request = row->requests; request != NULL; request = request->next)
        if (request->changed && request->present &&
            (request->fresh = memory_save_make_request(request)) == NULL)
            return false;
    return true;
}

static bool memory_save_prepare(mem_store *store, hf_rows *rows)
{
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        if (row->changed && row->present && !row->stored &&
            (row->fresh = memory_save_make_session(row)) == NULL)
            return false;
        if (row->ends_changed && (row->fresh_text = memory_save_copy(row->ends.text)) == NULL)
            return false;
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            if (lost->changed && lost->present &&
                (lost->fresh = memory_save_make_lost(lost)) == NULL)
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
        hf_free(row->fresh_text);
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
    if (session->request_size == 0)
        return;
    at = &store->opened[mem_opened_slot(store, mem_session_request(session))];
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
        row->origin = row->fresh;
        memory_save_add_session(store, row->origin);
        store->sessions_count++;
        memory_save_grow_sessions(store);
    }
    mem_session *session = row->origin;
    if (row->changed && session != NULL) {
        session->idle_us = row->idle_us;
        session->opened_us = row->opened_us;
        session->expires_us = row->expires_us;
        session->ended_us = row->ended_us;
        session->rev = row->rev;
    }
    if (row->ends_changed) {
        hf_free(session->ends);
        session->ends = row->fresh_text;
        session->ends_size = row->ends.text.size;
    }
    for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next) {
        if (lost->changed && lost->origin != NULL)
            memory_save_remove_lost(session, lost->origin);
        mem_lost *fresh = lost->fresh;
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
    }
    if (lock == NULL)
        return;
    lock->mode = (unsigned char)row->mode;
    lock->fence = row->fence;
    lock->since_us = row->since_us;
    lock->session->bounded_count -= lock->ends_us != 0;
    lock->session->bounded_count += row->ends_us != 0;
    lock->ends_us = row->ends_us;
}

static void memory_save_save_requests(mem_store *store, const hf_resource_row *row)
{
    mem_anchor *anchor = row->origin;
    for (hf_request_row *request = row->requests; request != NULL; request = request->next) {
        if (request->changed && request->origin != NULL) {
            memory_save_remove_request(anchor, request->origin);
            store->requests_count--;
        }
        mem_request *fresh = request->fresh;
        if (fresh != NULL) {
            store->requests_count++;
            fresh->session = request->session->origin;
            fresh->next = anchor->requests;
            anchor->requests = fresh;
        }
    }
}

static void memory_save_save_saved(mem_store *store, hf_resource_row *row, mem_anchor *anchor)
{
    if (row->fresh_saved != NULL) {
        hf_free(anchor->saved);
        anchor->saved = row->fresh_saved;
    }
    for (hf_save_row *past = row->past; past != NULL; past = past->next) {
        mem_past *fresh = past->fresh;
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

static void memory_save_save_resource(mem_store *store, hf_resource_row *row)
{
    if (row->fresh != NULL) {
        mem_anchor *fresh = row->fresh,
                   **at = &store->anchors[fresh->hash & (store->anchors_size - 1)];
        row->origin = fresh;
        fresh->chain = *at;
        *at = fresh;
        store->anchors_count++;
        memory_save_grow_anchors(store);
    }
    mem_anchor *anchor = row->origin;
    if (anchor == NULL)
        return;
    if (row->changed && row->present) {
        anchor->fence = row->fence;
        anchor->rev = row->rev;
        anchor->ended_fence = row->ended_fence;
        anchor->ended_us = row->ended_us;
        memcpy(anchor->ended_session, row->ended_session, sizeof anchor->ended_session);
        if (!memory_save_same_end(row)) {
            hf_free(anchor->ended_request);
            anchor->ended_request = row->fresh_text;
            anchor->ended_request_size = (unsigned short)row->ended_request.size;
        }
    }
    memory_save_save_saved(store, row, anchor);
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        memory_save_lock(lock);
    memory_save_save_requests(store, row);
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
        memory_save_save_resource(store, row);
    store->fence_floor = rows->floor_raised ? rows->fence_floor : store->fence_floor;
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
                anchor->ended_request == NULL)
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
    if (session->request_size > 0) {
        at = &store->opened[mem_opened_slot(store, mem_session_request(session))];
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
    if (anchor->fence > store->fence_floor)
        store->fence_floor = anchor->fence;
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
    hf_free(anchor->ended_request);
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
    hf_free(anchor->ended_request);
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
        hf_free(type);
    }
    hf_free(store->anchors);
    hf_free(store->sessions);
    hf_free(store->opened);
}
