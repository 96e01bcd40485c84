/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: what stands alone (lists, counts, events, types). Sets name rows; the
 * rows are loaded and judged here. */
#include "base/error.h"
#include "lock/rules.h"
#include "store/kv.h"

#include <stdlib.h>

enum { QUERY_PAGE = 1000 }; /* names that are read at once */

static size_t query_limit(const hf_op *op)
{
    return op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
}

static int member_compare(const void *a, const void *b)
{
    return hf_slice_compare(*(const hf_slice *)a, *(const hf_slice *)b);
}

void kv_sort(kv_range *names, hf_slice after)
{
    size_t from = 0;
    if (names->count == 0)
        return;
    qsort(names->members, names->count, sizeof *names->members, member_compare);
    while (from < names->count && hf_slice_compare(names->members[from], after) <= 0)
        from++;
    names->members += from;
    names->count -= from;
}

/* ---- lists ---- */

/* A list in the order of a set: its members name rows, and what lives of these is listed. */
typedef struct query_walk {
    hf_slice set, after, before;                             /* in memory of work->names */
    kv_range *names;                                         /* instead of what is in a set */
    bool keeps;                                              /* the rows stay in the set */
    bool (*fill)(kv_work *work, hf_slice member, void *out); /* false: it does not live */
    char *out;                                               /* room for limit + 1 */
    size_t size, limit, count;
    bool more;
} query_walk;

/* A lock is named by TYPE \1 ID \1 SESSION. */
static bool list_fill_lock(kv_work *work, hf_slice member, void *out)
{
    hf_slice session;
    const hf_resource_row *row = kv_named(work, member, &session);
    const hf_lock_row *lock = row == NULL ? NULL : row->locks;
    while (lock != NULL && !hf_slice_equal(session, kv_id(lock->session)))
        lock = lock->next;
    if (lock == NULL || !hf_rules_live(lock->session->ended_us, lock->session->expires_us,
                                       lock->ends_us, work->now_us))
        return false;
    hf_fill_lock(lock, out);
    return true;
}

static bool list_fill_session(kv_work *work, hf_slice member, void *out)
{
    const hf_session_row *row =
        member.size == HF_SESSION_ID_MAX ? hf_rows_session(work->rows, member.at) : NULL;
    if (row == NULL || !row->present || row->ended_us != 0 || row->expires_us <= work->now_us)
        return false;
    hf_fill_session(row, out);
    return true;
}

static void query_list(kv_work *work, query_walk *it)
{
    size_t count = QUERY_PAGE;
    for (size_t from = 0; count == QUERY_PAGE && !it->more && work->status == HF_OK;
         from += count) {
        kv_range page = {0};
        if (it->names == NULL) {
            page = kv_page(work, it->set, it->after, it->before, QUERY_PAGE);
        } else if (from < it->names->count) {
            page.count = it->names->count - from;
            page.count = page.count < QUERY_PAGE ? page.count : QUERY_PAGE;
            page.members = it->names->members + from;
        }
        count = page.count;
        if (!it->keeps)
            kv_reset(work);
        if (!it->keeps && !hf_rows_reset(work->rows, count))
            kv_fail_memory(work);
        for (size_t i = 0; i < count && work->status == HF_OK; i++)
            it->fill(work, page.members[i], it->out); /* names the row, to be loaded */
        kv_load_rest(work);
        for (size_t i = 0; i < count && !it->more && work->status == HF_OK; i++) {
            bool lives = it->fill(work, page.members[i], it->out + it->count * it->size);
            it->more = lives && it->count == it->limit;
            it->count += lives && !it->more;
        }
        it->after = count > 0 ? page.members[count - 1] : it->after;
    }
}

/* What the sessions of a user, or one session, hold, in canonical order. Both may be given: then it
 * must be that user's. */
static kv_range list_names_of(kv_work *work, const hf_op *op, hf_slice after)
{
    hf_slice target = hf_slice_of(op->target), *ids = &target;
    kv_range all = {0}, users = {0};
    size_t count = op->target != NULL;
    if (op->user != NULL) {
        users = kv_page(work, KV_KEY(work, "u:", hf_slice_of(op->user)), HF_NOTHING, HF_NOTHING,
                        SIZE_MAX);
        ids = users.members;
        count = users.count;
    }
    kv_range *ranges = kv_ranges_of(work, ids, count, HF_NOTHING);
    for (size_t i = 0; work->status == HF_OK && i < count; i++)
        for (size_t j = 0; j < ranges[i].count; j++) {
            hf_slice name = ranges[i].members[j], rest, type;
            kv_cut(&name, '\1'); /* the bound */
            rest = name;
            type = kv_cut(&rest, '\1');
            if ((op->type != NULL && !hf_slice_equal(type, hf_slice_of(op->type))) ||
                (op->target != NULL && !hf_slice_equal(ids[i], target)))
                continue;
            all.members = kv_grow(work, work->names, all.members, all.count, sizeof name);
            if (all.members != NULL)
                all.members[all.count++] = KV_JOIN(work, work->names, "\1", name, ids[i]);
        }
    kv_sort(&all, after);
    return all;
}

/* All locks of a type, or of all types, after one. */
static query_walk walk_locks(kv_work *work, const char *type, hf_slice after, size_t limit)
{
    query_walk it = {.set = hf_slice_of("locks"),
                     .after = after,
                     .fill = list_fill_lock,
                     .size = sizeof(hf_lock),
                     .limit = limit,
                     .out = kv_alloc(work, work->names, (limit + 1) * sizeof(hf_lock))};
    if (type != NULL) {
        hf_slice first = KV_JOIN(work, work->names, "", hf_slice_of(type), {"\1", 1});
        it.before = KV_JOIN(work, work->names, "", hf_slice_of(type), {"\2", 1});
        it.after = hf_slice_compare(first, after) > 0 ? first : after;
    }
    return it;
}

static void query_locks(kv_work *work, hf_op *op)
{
    hf_slice after = HF_NOTHING;
    if (op->after != NULL)
        after = KV_JOIN(work, work->names, "\1", hf_slice_of(op->after->resource.type),
                        hf_slice_of(op->after->resource.id), hf_slice_of(op->after->session));
    query_walk it = walk_locks(work, op->type, after, query_limit(op));
    kv_range names;
    if (op->target != NULL || op->user != NULL) {
        names = list_names_of(work, op, after);
        it.names = &names;
    }
    query_list(work, &it);
    const hf_lock *locks = (const hf_lock *)(const void *)it.out;
    op->answer.locks = it.count == 0 ? NULL : locks;
    op->answer.locks_count = it.count;
    if (it.more && !hf_answer_more(op, &work->batch->arena, &locks[it.count - 1].resource,
                                   locks[it.count - 1].session))
        kv_fail_memory(work);
}

static void query_sessions(kv_work *work, hf_op *op)
{
    size_t limit = query_limit(op);
    query_walk it = {.set = hf_slice_of("sessions"),
                     .after = hf_slice_of(op->after == NULL ? NULL : op->after->session),
                     .fill = list_fill_session,
                     .size = sizeof(hf_session_info),
                     .limit = limit,
                     .out = kv_alloc(work, work->names, (limit + 1) * sizeof(hf_session_info))};
    if (op->user != NULL)
        it.set = KV_JOIN(work, work->names, "", {"u:", 2}, hf_slice_of(op->user));
    query_list(work, &it);
    const hf_session_info *sessions = (const hf_session_info *)(const void *)it.out;
    op->answer.sessions = it.count == 0 ? NULL : sessions;
    op->answer.sessions_count = it.count;
    if (it.more && !hf_answer_more(op, &work->batch->arena, NULL, sessions[it.count - 1].id))
        kv_fail_memory(work);
}

/* ---- counts ---- */

/* One more lock of that type; the counts are in the order of their types, which are few. */
static void query_tally(kv_work *work, hf_op *op, hf_slice type, size_t limit)
{
    hf_count *counts = (hf_count *)op->answer.counts;
    size_t at = 0, count = op->answer.counts_count;
    int order = 1;
    while (at < count && (order = hf_slice_compare(hf_slice_of(counts[at].type), type)) < 0)
        at++;
    op->answer.total_locks++;
    if (at < count && order == 0) {
        counts[at].locks++;
        return;
    }
    counts = kv_grow(work, &work->batch->arena, counts, count, sizeof *counts);
    if (counts == NULL)
        return;
    memmove(&counts[at + 1], &counts[at], (count - at) * sizeof *counts);
    counts[at] = (hf_count){.locks = 1};
    hf_slice_copy(counts[at].type, sizeof counts[at].type, type);
    op->answer.counts = counts;
    op->answer.counts_count = count + 1;
    op->answer.more = count + 1 > limit;
}

/* The live locks of all live sessions, some of them in a round trip: what was read is forgotten
 * before the next. */
static void query_count_all(kv_work *work, hf_op *op)
{
    hf_slice now = kv_until(work, work->now_us), after = now;
    kv_range names = {.count = QUERY_PAGE};
    work->names = &work->conn->fresh;
    while (names.count == QUERY_PAGE && work->status == HF_OK) {
        hf_arena_reset(work->names);
        names = kv_page(work, hf_slice_of("expiry"), after, HF_NOTHING, QUERY_PAGE);
        if (names.count > 0)
            after = KV_KEY(work, "", names.members[names.count - 1]);
        for (size_t i = 0; i < names.count; i++)
            kv_cut(&names.members[i], '\1'); /* the time */
        kv_range *ranges = kv_ranges_of(work, names.members, names.count, now);
        for (size_t i = 0; work->status == HF_OK && i < names.count; i++)
            for (size_t j = 0; j < ranges[i].count; j++) {
                kv_cut(&ranges[i].members[j], '\1'); /* the bound */
                query_tally(work, op, kv_cut(&ranges[i].members[j], '\1'), query_limit(op));
            }
        op->answer.total_sessions += names.count;
    }
    work->names = &work->batch->arena;
    if (op->answer.more)
        op->answer.counts_count = query_limit(op);
}

static void query_count(kv_work *work, hf_op *op)
{
    hf_slice caller = hf_slice_of(op->caller), now = kv_until(work, work->now_us);
    hf_session_info info;
    if (op->target != NULL) {
        hf_slice id = hf_slice_of(op->target);
        list_fill_session(work, id, &info);
        kv_load_rest(work);
        if (!list_fill_session(work, id, &info))
            return;
        op->answer.total_sessions = 1;
        op->answer.total_locks = kv_page(work, KV_KEY(work, "h:", id), now, HF_NOTHING, 0).count;
    } else if (caller.size > 0) {
        op->answer.total_sessions =
            kv_page(work, KV_KEY(work, "c:", caller), now, HF_NOTHING, 0).count;
    } else {
        query_count_all(work, op);
    }
}

/* ---- events ---- */

size_t kv_read_events(kv_work *work, int64_t after, int64_t before, size_t limit, int64_t **seqs,
                      hf_event_row **rows)
{
    hf_arena *arena = &work->rows->arena;
    hf_slice *texts = kv_alloc(work, arena, limit * sizeof *texts);
    *seqs = kv_alloc(work, arena, limit * sizeof **seqs);
    *rows = kv_alloc(work, arena, limit * sizeof **rows);
    if (work->status != HF_OK)
        return 0;
    size_t read = work->store->driver->events(work, after, before, limit, *seqs, texts), count = 0;
    for (size_t i = 0; i < read; i++) {
        (*seqs)[count] = (*seqs)[i];
        (*rows)[count] = (hf_event_row){0};
        count += kv_read(work->rows, texts[i], &hf_event_fields, HF_EVERY, &(*rows)[count]);
    }
    if (work->rows->failed)
        kv_fail_memory(work);
    return count;
}

/* FROM, a tab, SWEPT. */
void kv_read_marks(hf_slice value, hf_event_marks *out)
{
    kv_number(kv_cut(&value, '\t'), &out->from);
    kv_number(value, &out->swept);
}

static void query_events(kv_work *work, hf_op *op)
{
    hf_event_marks swept = {0};
    hf_slice marks = HF_NOTHING;
    hf_event_row *rows;
    int64_t *seqs;
    size_t limit = query_limit(op);
    hf_event *events = kv_alloc(work, work->names, limit * sizeof *events);
    size_t count = kv_read_events(work, op->after_seq, 0, limit, &seqs, &rows);
    for (size_t i = 0; i < count && work->status == HF_OK; i++)
        hf_fill_event(&rows[i], seqs[i], &events[i]);
    /* After the events: what a sweep removed meanwhile is told as missing. */
    kv_want(work, KV_PLAIN, &marks, hf_slice_of("marks"));
    kv_load_rest(work);
    if (work->status != HF_OK)
        return;
    kv_read_marks(marks, &swept);
    op->answer.first_seq = swept.from < 1 ? 1 : swept.from;
    kv_number(work->seq, &op->answer.last_seq);
    op->answer.events = count == 0 ? NULL : events;
    op->answer.events_count = count;
    if (count > 0 && events[count - 1].seq > op->answer.last_seq)
        op->answer.last_seq = events[count - 1].seq; /* written in between */
}

/* ---- types ---- */

static void query_types(kv_work *work, hf_op *op)
{
    kv_range names = kv_page(work, hf_slice_of("types"), HF_NOTHING, HF_NOTHING, SIZE_MAX);
    hf_type *types = kv_alloc(work, work->names, (names.count + 1) * sizeof *types);
    kv_reset(work);
    for (size_t i = 0; i < names.count; i++) {
        hf_type_row *row = hf_rows_type(work->rows, names.members[i]);
        if (row == NULL)
            kv_fail_memory(work);
        else
            kv_want(work, KV_TYPE, row, KV_KEY(work, "y:", names.members[i]));
    }
    kv_load_rest(work);
    for (size_t i = 0; i < names.count && work->status == HF_OK; i++)
        types[op->answer.types_count++] = hf_rows_type(work->rows, names.members[i])->type;
    op->answer.types = op->answer.types_count == 0 ? NULL : types;
}

/* That the rows are as they were is compared when the type is saved. A lock of the type that comes
 * between looking and writing leaves an event: then the last number is not what it was, and this is
 * tried again. */
static void query_type_set(kv_work *work, hf_op *op)
{
    hf_slice type = hf_slice_of(op->type);
    hf_type_row *row = hf_rows_type(work->rows, type); /* it was loaded */
    bool fresh = row->type.policy == HF_POLICY_NONE;
    query_walk locks = walk_locks(work, op->type, HF_NOTHING, 0);
    locks.keeps = true;
    if (row->type.policy != op->policy)
        query_list(work, &locks);
    if (work->status != HF_OK)
        return;
    hf_apply_type_set(work->rows, op, &work->batch->arena, &row->type, locks.more);
    if (work->rows->failed)
        kv_fail_memory(work);
    if (op->answer.status != HF_OK || work->status != HF_OK)
        return;
    row->type.policy = op->policy;
    row->type.ttl_us = op->ttl_us;
    row->type.ttl_max_us = op->ttl_max_us;
    kv_put_row(work, KV_KEY(work, "y:", type), &hf_type_fields, HF_EVERY, row);
    if (fresh)
        kv_add_change(work, &work->commit.changes, hf_slice_of("types"), type, true);
    kv_commit_now(work, true);
}

/* ---- all ---- */

static void (*const query_doers[HF_OP_KINDS])(kv_work *work, hf_op *op) = {
    [HF_OP_LIST] = query_locks,       [HF_OP_SESSIONS] = query_sessions,
    [HF_OP_COUNT] = query_count,      [HF_OP_EVENTS] = query_events,
    [HF_OP_TYPES] = query_types,      [HF_OP_TYPE_SET] = query_type_set,
    [HF_OP_SWEEP] = kv_sweep,         [HF_OP_TOKEN_CREATE] = kv_tokens,
    [HF_OP_TOKEN_FIND] = kv_tokens,   [HF_OP_TOKENS] = kv_tokens,
    [HF_OP_TOKEN_REVOKE] = kv_tokens,
};

void kv_alone(kv_work *work)
{
    hf_op *op = &work->batch->ops[0];
    if (op->kind == HF_OP_TYPE_SET && hf_rows_type(work->rows, hf_slice_of(op->type)) == NULL)
        kv_fail_memory(work);
    work->seq = HF_NOTHING;
    if (op->kind == HF_OP_EVENTS || op->kind == HF_OP_TYPE_SET)
        kv_want(work, KV_PLAIN, &work->seq, hf_slice_of("seq"));
    kv_load(work);
    op->answer.now_us = work->now_us;
    if (work->rows->no_growth != NULL && hf_op_grows(op->kind)) {
        op->answer.status = HF_UNAVAILABLE;
        op->answer.message = work->rows->no_growth;
    } else if (work->status == HF_OK)
        query_doers[op->kind](work, op);
}
