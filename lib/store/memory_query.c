/* SPDX-License-Identifier: MIT */
/* The memory store: what stands alone (lists, events, types, sweep). Its tables are hashes, so
 * whatever has an order is picked out by looking through them and keeping the least few. */
#include "base/cleanup.h"
#include "base/error.h"
#include "store/memory.h"
#include "store/sweep.h"

#include <stdlib.h>
#include <string.h>

/* ---- keeping the least few ---- */

typedef int compare(const void *a, const void *b);

typedef struct picks {
    const void **items; /* a heap with the greatest at the front */
    size_t count, most;
    compare *order;
} picks;

static bool memory_query_picks_init(picks *p, size_t most, compare *order)
{
    *p = (picks){hf_alloc((most == 0 ? 1 : most) * sizeof *p->items), 0, most, order};
    return p->items != NULL;
}

static void memory_query_picks_done(picks *p)
{
    hf_free((void *)p->items);
}

static void memory_query_swap(picks *p, size_t a, size_t b)
{
    const void *item = p->items[a];
    p->items[a] = p->items[b];
    p->items[b] = item;
}

static void memory_query_sink(picks *p)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < p->count; at = child) {
        if (child + 1 < p->count && p->order(p->items[child + 1], p->items[child]) > 0)
            child++;
        if (p->order(p->items[child], p->items[at]) <= 0)
            return;
        memory_query_swap(p, at, child);
    }
}

static void memory_query_pick(picks *p, const void *item)
{
    if (p->count == p->most) {
        if (p->most == 0 || p->order(item, p->items[0]) >= 0)
            return;
        p->items[0] = item;
        memory_query_sink(p);
        return;
    }
    size_t at = p->count++;
    for (p->items[at] = item; at > 0 && p->order(p->items[at], p->items[(at - 1) / 2]) > 0;
         at = (at - 1) / 2)
        memory_query_swap(p, at, (at - 1) / 2);
}

/* Least first. */
static void memory_query_picks_sort(picks *p)
{
    size_t count = p->count;
    while (p->count > 1) {
        memory_query_swap(p, 0, p->count - 1);
        p->count--;
        memory_query_sink(p);
    }
    p->count = count;
}

/* ---- orders ---- */

static hf_slice memory_query_id_of(const mem_anchor *anchor)
{
    return (hf_slice){anchor->packed, anchor->id_size};
}

static int memory_query_by_name(const void *a, const void *b)
{
    const mem_anchor *x = a, *y = b;
    int order = strcmp(x->type->name, y->type->name);
    return order != 0 ? order : hf_slice_compare(memory_query_id_of(x), memory_query_id_of(y));
}

static int memory_query_lock_by_name(const void *a, const void *b)
{
    const mem_lock *x = a, *y = b;
    int order = memory_query_by_name(x->anchor, y->anchor);
    return order != 0 ? order : strcmp(x->session->id, y->session->id);
}

static int memory_query_by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int memory_query_lock_by_end(const void *a, const void *b)
{
    const mem_lock *x = a, *y = b;
    int order = memory_query_by_number(x->ends_us, y->ends_us);
    return order != 0 ? order : memory_query_lock_by_name(x, y);
}

static int memory_query_session_by_id(const void *a, const void *b)
{
    return strcmp(((const mem_session *)a)->id, ((const mem_session *)b)->id);
}

static int memory_query_session_by_expiry(const void *a, const void *b)
{
    const mem_session *x = a, *y = b;
    int order = memory_query_by_number(x->expires_us, y->expires_us);
    return order != 0 ? order : memory_query_session_by_id(a, b);
}

static int memory_query_session_by_end(const void *a, const void *b)
{
    const mem_session *x = a, *y = b;
    int order = memory_query_by_number(x->ended_us, y->ended_us);
    return order != 0 ? order : memory_query_session_by_id(a, b);
}

static int memory_query_past_by_age(const void *a, const void *b)
{
    const mem_past *x = a, *y = b;
    const hf_save_row x_row = mem_past_row(x), y_row = mem_past_row(y);
    int order = memory_query_by_number(x_row.covered_us, y_row.covered_us);
    if (order == 0)
        order = memory_query_by_name(x->anchor, y->anchor);
    return order != 0 ? order : hf_slice_compare(x_row.request, y_row.request);
}

/* After the cursor, in canonical order. */
static bool memory_query_after(const hf_cursor *cursor, const mem_anchor *anchor,
                               const char *session)
{
    if (cursor == NULL)
        return true;
    int order = strcmp(anchor->type->name, cursor->resource.type);
    if (order == 0)
        order = hf_slice_compare(memory_query_id_of(anchor), hf_slice_of(cursor->resource.id));
    return order > 0 || (order == 0 && strcmp(session, cursor->session) > 0);
}

/* ---- lists ---- */

static bool memory_query_matches(const hf_op *op, const mem_lock *lock, int64_t now_us)
{
    const mem_session *session = lock->session;
    return mem_lock_lives(lock, now_us) &&
           (op->type == NULL || strcmp(op->type, lock->anchor->type->name) == 0) &&
           (op->user == NULL ||
            hf_slice_equal(hf_slice_of(op->user), mem_session_row(session).user)) &&
           (op->target == NULL || strcmp(op->target, session->id) == 0) &&
           memory_query_after(op->after, lock->anchor, session->id);
}

static void memory_query_fill_lock(const mem_lock *from, hf_lock *out)
{
    hf_resource_row resource = mem_anchor_row(from->anchor);
    hf_session_row session = mem_session_row(from->session);
    hf_lock_row lock = mem_lock_row(from);
    lock.resource = &resource;
    lock.session = &session;
    hf_fill_lock(&lock, out);
}

static size_t memory_query_limit_of(const hf_op *op)
{
    return op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
}

static bool memory_query_do_list(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    hf_cleanup(memory_query_picks_done) picks p;
    size_t limit = memory_query_limit_of(op);
    if (!memory_query_picks_init(&p, limit + 1, memory_query_lock_by_name))
        return false;
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain)
            for (mem_lock *lock = anchor->locks; lock != NULL; lock = lock->next)
                if (memory_query_matches(op, lock, now_us))
                    memory_query_pick(&p, lock);
    memory_query_picks_sort(&p);
    size_t count = p.count > limit ? limit : p.count;
    hf_lock *locks = count == 0 ? NULL : hf_arena_alloc(arena, count * sizeof *locks);
    if (count > 0 && locks == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        memory_query_fill_lock(p.items[i], &locks[i]);
    op->answer.locks = locks;
    op->answer.locks_count = count;
    return p.count <= limit ||
           hf_answer_more(op, arena, &locks[count - 1].resource, locks[count - 1].session);
}

static void memory_query_fill_session(const mem_session *from, hf_session_info *out)
{
    hf_session_row row = mem_session_row(from);
    hf_fill_session(&row, out);
}

static bool memory_query_do_sessions(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    hf_cleanup(memory_query_picks_done) picks p;
    size_t limit = memory_query_limit_of(op);
    if (!memory_query_picks_init(&p, limit + 1, memory_query_session_by_id))
        return false;
    for (size_t i = 0; i < store->sessions_size; i++)
        for (mem_session *s = store->sessions[i]; s != NULL; s = s->chain)
            if (s->ended_us == 0 && s->expires_us > now_us &&
                (op->after == NULL || strcmp(s->id, op->after->session) > 0) &&
                (op->user == NULL ||
                 hf_slice_equal(hf_slice_of(op->user), mem_session_row(s).user)))
                memory_query_pick(&p, s);
    memory_query_picks_sort(&p);
    size_t count = p.count > limit ? limit : p.count;
    hf_session_info *sessions = count == 0 ? NULL : hf_arena_alloc(arena, count * sizeof *sessions);
    if (count > 0 && sessions == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        memory_query_fill_session(p.items[i], &sessions[i]);
    op->answer.sessions = sessions;
    op->answer.sessions_count = count;
    return p.count <= limit || hf_answer_more(op, arena, NULL, sessions[count - 1].id);
}

static bool memory_query_do_events(mem_store *store, hf_op *op, hf_arena *arena)
{
    const mem_events *events = &store->events;
    int64_t from = op->after_seq >= events->next    ? events->next
                   : op->after_seq >= events->first ? op->after_seq + 1
                                                    : events->first;
    size_t left = from < events->next ? (size_t)(events->next - from) : 0, count = 0;
    size_t most = left < memory_query_limit_of(op) ? left : memory_query_limit_of(op);
    hf_event *out = most == 0 ? NULL : hf_arena_alloc(arena, most * sizeof *out);
    if (most > 0 && out == NULL)
        return false;
    for (; count < most && from < events->next; from++)
        count += mem_events_read(events, from, &out[count]);
    op->answer.events = count == 0 ? NULL : out;
    op->answer.events_count = count;
    op->answer.first_seq = events->first > events->from ? events->first : events->from;
    op->answer.last_seq = events->next - 1;
    return true;
}

/* ---- types ---- */

static int memory_query_type_by_name(const void *a, const void *b)
{
    return strcmp(((const hf_type *)a)->type, ((const hf_type *)b)->type);
}

/* The row of a type; not registered: its policy is none. */
static hf_type memory_query_type(const mem_type *from)
{
    hf_type_row row = {0};
    memcpy(row.type.type, from->name, sizeof row.type.type);
    if (from->packed != NULL)
        hf_unpack(&hf_type_fields, HF_REST, from->packed, &row);
    return row.type;
}

static bool memory_query_do_types(mem_store *store, hf_op *op, hf_arena *arena)
{
    size_t count = 0;
    for (mem_type *row = store->types; row != NULL; row = row->next)
        count += row->packed != NULL;
    hf_type *types = count == 0 ? NULL : hf_arena_alloc(arena, count * sizeof *types), *at = types;
    if (types == NULL)
        return count == 0;
    for (mem_type *row = store->types; row != NULL; row = row->next)
        if (row->packed != NULL)
            *at++ = memory_query_type(row);
    qsort(types, count, sizeof *types, memory_query_type_by_name);
    op->answer.types = types;
    op->answer.types_count = count;
    return true;
}

static bool memory_query_locks_live(const mem_store *store, const mem_type *type, int64_t now_us)
{
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain)
            for (mem_lock *lock = anchor->type == type ? anchor->locks : NULL; lock != NULL;
                 lock = lock->next)
                if (mem_lock_lives(lock, now_us))
                    return true;
    return false;
}

static bool memory_query_do_type_set(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    mem_type *row = mem_type_keep(store, hf_slice_of(op->type));
    if (row == NULL)
        return false;
    hf_type present = memory_query_type(row);
    hf_apply_type_set(&store->rows, op, arena, &present,
                      memory_query_locks_live(store, row, now_us));
    if (store->rows.failed)
        return false;
    if (op->answer.status != HF_OK)
        return true;
    if (!mem_type_save(row, &(hf_type_row){.type = hf_type_of_op(op)}))
        return false;
    mem_events_add(&store->events, &store->rows.events[0], now_us);
    return true;
}

/* ---- sweep ---- */

/* The dead, longest dead first, picked once a sweep. */
static bool memory_query_pick_dead(mem_store *store, picks *p, int64_t now_us, size_t limit)
{
    if (!memory_query_picks_init(p, limit, memory_query_session_by_expiry))
        return false;
    for (size_t i = 0; i < store->sessions_size; i++)
        for (mem_session *s = store->sessions[i]; s != NULL; s = s->chain)
            if (s->ended_us == 0 && s->expires_us <= now_us)
                memory_query_pick(p, s);
    memory_query_picks_sort(p);
    store->dead = p->items;
    store->dead_count = p->count;
    return true;
}

/* Locks that are to end: with the other locks of their resources, and who asks for them, to see
 * whether these are free then. */
static bool memory_query_load_picked(mem_store *store, hf_rows *rows, const picks *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hf_lock_row *lock = mem_load_lock(store, rows, (mem_lock *)p->items[i]);
        if (lock == NULL)
            return false;
        lock->resource->wanted = lock->resource->wants_requests = rows->drops_free;
        lock->due = true;
    }
    return true;
}

static hf_status memory_query_load_dead(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                        hf_error *err)
{
    mem_store *store = (mem_store *)context;
    if (store->dead_count == 0)
        return HF_OK;
    mem_session *dead = (mem_session *)*store->dead++;
    store->dead_count--;
    hf_cleanup(memory_query_picks_done) picks p;
    if (!memory_query_picks_init(&p, limit, memory_query_lock_by_name) ||
        mem_load_session(store, rows, dead) == NULL)
        return hf_fail_memory(err);
    for (mem_lock *lock = dead->locks; lock != NULL; lock = lock->session_next)
        memory_query_pick(&p, lock);
    if (!memory_query_load_picked(store, rows, &p))
        return hf_fail_memory(err);
    return mem_load(store, rows, now_us) ? HF_OK : hf_fail_memory(err);
}

static hf_status memory_query_load_spent(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                         hf_error *err)
{
    mem_store *store = (mem_store *)context;
    hf_cleanup(memory_query_picks_done) picks p;
    if (!memory_query_picks_init(&p, limit, memory_query_lock_by_end))
        return hf_fail_memory(err);
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain)
            for (mem_lock *lock = anchor->locks; lock != NULL; lock = lock->next)
                if (lock->ends_us != 0 && lock->ends_us <= now_us && lock->session->ended_us == 0 &&
                    lock->session->expires_us > now_us)
                    memory_query_pick(&p, lock);
    memory_query_picks_sort(&p);
    if (!memory_query_load_picked(store, rows, &p))
        return hf_fail_memory(err);
    return mem_load(store, rows, now_us) ? HF_OK : hf_fail_memory(err);
}

static hf_status memory_query_save(void *context, hf_rows *rows, int64_t now_us, hf_error *err)
{
    return mem_save((mem_store *)context, rows, now_us) ? HF_OK : hf_fail_memory(err);
}

static hf_status memory_query_drop_sessions(void *context, int64_t before_us, size_t limit,
                                            size_t *dropped, hf_error *err)
{
    mem_store *store = (mem_store *)context;
    hf_cleanup(memory_query_picks_done) picks p;
    if (!memory_query_picks_init(&p, limit, memory_query_session_by_end))
        return hf_fail_memory(err);
    for (size_t i = 0; i < store->sessions_size; i++)
        for (mem_session *s = store->sessions[i]; s != NULL; s = s->chain)
            if (s->ended_us != 0 && s->ended_us <= before_us && s->locks == NULL)
                memory_query_pick(&p, s);
    for (size_t i = 0; i < p.count; i++)
        mem_session_remove(store, (mem_session *)p.items[i]);
    *dropped = p.count;
    return HF_OK;
}

static hf_status memory_query_drop_past(void *context, int64_t before_us, size_t limit,
                                        size_t *dropped, hf_error *err)
{
    mem_store *store = (mem_store *)context;
    hf_cleanup(memory_query_picks_done) picks p = {0};
    if (store->past_count == 0)
        return HF_OK;
    if (!memory_query_picks_init(&p, limit, memory_query_past_by_age))
        return hf_fail_memory(err);
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain)
            for (mem_past *past = anchor->past; past != NULL; past = past->next)
                if (mem_past_row(past).covered_us <= before_us)
                    memory_query_pick(&p, past);
    for (size_t i = 0; i < p.count; i++)
        mem_past_remove(store, (mem_past *)p.items[i]);
    *dropped = p.count;
    return HF_OK;
}

/* What was saved stays, but for what was deleted long ago. */
static bool memory_query_is_kept(const mem_anchor *anchor, int64_t before_us)
{
    const hf_resource_row row = mem_anchor_row(anchor);
    return anchor->locks != NULL || anchor->requests != NULL || row.fence > before_us ||
           row.ended_us > before_us ||
           (row.version != 0 &&
            (!row.gone || row.saved_us > before_us + HF_KEEP_US - HF_KEEP_GONE_US));
}

/* Where free resources leave no row, one that is held or asked for, was never saved and has no
 * trace goes with its last lock or request: a sweep need not look at it. */
static bool memory_query_may_be_left(const mem_store *store, const mem_anchor *anchor)
{
    return !store->rows.drops_free || anchor->saved != NULL ||
           mem_anchor_row(anchor).ended_request.size > 0 ||
           (anchor->locks == NULL && anchor->requests == NULL);
}

static hf_status memory_query_drop_anchors(void *context, int64_t before_us, size_t limit,
                                           size_t *dropped, bool *end, hf_error *err)
{
    mem_store *store = (mem_store *)context;
    hf_cleanup(memory_query_picks_done) picks p;
    if (!memory_query_picks_init(&p, limit, memory_query_by_name))
        return hf_fail_memory(err);
    size_t left = 0;
    for (size_t i = 0; i < store->anchors_size; i++)
        for (mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain)
            if (memory_query_may_be_left(store, anchor) &&
                memory_query_after(&store->swept_to, anchor, "")) {
                memory_query_pick(&p, anchor);
                left++;
            }
    memory_query_picks_sort(&p);
    *end = left <= limit;
    memset(&store->swept_to, 0, sizeof store->swept_to);
    if (!*end) {
        const mem_anchor *last = p.items[p.count - 1];
        memcpy(store->swept_to.resource.type, last->type->name,
               sizeof store->swept_to.resource.type);
        hf_slice_copy(store->swept_to.resource.id, sizeof store->swept_to.resource.id,
                      memory_query_id_of(last));
    }
    for (size_t i = 0; i < p.count; i++) {
        mem_anchor *anchor = (mem_anchor *)p.items[i];
        if (memory_query_is_kept(anchor, before_us))
            continue;
        mem_anchor_drop(store, anchor);
        (*dropped)++;
    }
    return HF_OK;
}

static hf_status memory_query_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    const mem_events *events = &((mem_store *)context)->events;
    int64_t seq = walk->after >= events->first ? walk->after + 1 : events->first;
    hf_event *event = hf_alloc(sizeof *event);
    if (event == NULL)
        return hf_fail_memory(err);
    for (; seq < walk->before && walk->count < walk->limit; seq++)
        if (mem_events_read(events, seq, event))
            walk->events[walk->count++] = (hf_old_event){seq, seq, event->at_us, event->kind};
    hf_free(event);
    return HF_OK;
}

static hf_status memory_query_event_marks(void *context, hf_event_marks *out, hf_error *err)
{
    const mem_events *events = &((mem_store *)context)->events;
    (void)err;
    *out = (hf_event_marks){events->next - 1, events->from, events->swept};
    return HF_OK;
}

static hf_status memory_query_drop_events(void *context, const hf_old_event *gone, size_t count,
                                          const hf_event_marks *marks, hf_error *err)
{
    mem_events *events = &((mem_store *)context)->events;
    (void)err;
    for (size_t i = 0; i < count; i++)
        mem_events_remove(events, gone[i].seq);
    events->from = marks->from;
    events->swept = marks->swept;
    return HF_OK;
}

static const hf_sweep_ops sweep_ops = {
    memory_query_load_dead,     memory_query_load_spent,  memory_query_save,
    memory_query_drop_sessions, memory_query_drop_past,   memory_query_drop_anchors,
    memory_query_event_marks,   memory_query_read_events, memory_query_drop_events};

static bool memory_query_do_sweep(mem_store *store, hf_op *op, int64_t now_us, hf_status *status,
                                  hf_error *err)
{
    hf_cleanup(memory_query_picks_done) picks dead;
    if (!memory_query_pick_dead(store, &dead, now_us,
                                op->limit == 0 ? HF_SWEEP_DEFAULT : op->limit))
        return false;
    *status = hf_sweep(&store->base, &sweep_ops, &store->rows, op, now_us, err);
    if (*status == HF_NO_MEMORY &&
        op->answer.swept > 0) { /* what was swept stays swept; the rest waits for the next call */
        *status = HF_OK;
        op->answer.more = true;
    }
    return true;
}

bool mem_do_alone(mem_store *store, hf_batch *batch, int64_t now_us, hf_status *status,
                  hf_error *err)
{
    hf_op *op = &batch->ops[0];
    op->answer.now_us = now_us;
    switch (op->kind) {
    case HF_OP_LIST:
        return memory_query_do_list(store, op, &batch->arena, now_us);
    case HF_OP_SESSIONS:
        return memory_query_do_sessions(store, op, &batch->arena, now_us);
    case HF_OP_EVENTS:
        return memory_query_do_events(store, op, &batch->arena);
    case HF_OP_COUNT:
        return mem_do_count(store, op, &batch->arena, now_us);
    case HF_OP_TYPES:
        return memory_query_do_types(store, op, &batch->arena);
    case HF_OP_TYPE_SET:
        return memory_query_do_type_set(store, op, &batch->arena, now_us);
    case HF_OP_TOKEN_CREATE:
    case HF_OP_TOKEN_FIND:
    case HF_OP_TOKENS:
    case HF_OP_TOKEN_REVOKE:
        return mem_do_token(store, op, &batch->arena, now_us);
    default:
        return memory_query_do_sweep(store, op, now_us, status, err);
    }
}
