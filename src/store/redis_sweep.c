/* SPDX-License-Identifier: MIT */
/* The store on Redis: sweeping. sweep.c says what goes and in which order. Each step here is
 * written by the script, or not at all when a row has changed: then the sweep begins again. */
#include "base/error.h"
#include "base/seams.h"
#include "store/redis.h"
#include "store/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading an index ---- */

/* The first `limit` members whose score is at most `most`; the reply is good until the next. */
static bool redis_sweep_due(redis_work *work, const char *index, int64_t most, size_t from,
                            size_t limit, hf_redis_reply *out)
{
    hf_redis_words *to = &work->conn->command;
    redis_command(work, "ZRANGEBYSCORE", index, HF_NOTHING);
    hf_redis_word(to, hf_slice_of("-inf"));
    hf_redis_number(to, most);
    hf_redis_word(to, hf_slice_of("LIMIT"));
    hf_redis_number(to, (int64_t)from);
    hf_redis_number(to, (int64_t)limit);
    hf_redis_queue_words(work->conn->redis, to);
    bool good = redis_flush(work) && redis_reply(work, out);
    if (good)
        redis_all_taken(work);
    return good;
}

/* The whole of a set or hash. */
static bool redis_sweep_all(redis_work *work, const char *command, const char *kind, hf_slice rest,
                            hf_redis_reply *out)
{
    redis_command(work, command, kind, rest);
    if (strcmp(command, "ZRANGE") == 0) {
        hf_redis_word(&work->conn->command, hf_slice_of("0"));
        hf_redis_word(&work->conn->command, hf_slice_of("-1"));
    }
    hf_redis_queue_words(work->conn->redis, &work->conn->command);
    bool good = redis_flush(work) && redis_reply(work, out);
    if (good)
        redis_all_taken(work);
    return good;
}

/* The members of a reply, copied into the set. */
static hf_slice *redis_sweep_copy(redis_work *work, const hf_redis_reply *list)
{
    hf_slice *all = hf_arena_alloc(&work->rows->arena, (list->count + 1) * sizeof *all);
    for (size_t i = 0; all != NULL && i < list->count; i++) {
        hf_redis_reply part;
        hf_redis_at(list, i, &part);
        if (!hf_arena_copy(&work->rows->arena, part.text, &all[i]))
            all = NULL;
    }
    if (all == NULL)
        redis_fail_memory(work);
    return all;
}

static int redis_sweep_compare(const void *a, const void *b)
{
    return hf_slice_compare(*(const hf_slice *)a, *(const hf_slice *)b);
}

/* After loading: until when what is decided holds. */
static hf_status redis_sweep_loaded(redis_work *work)
{
    redis_load(work);
    work->deadline_us = redis_deadline(work);
    return work->status;
}

/* Something has changed since it was read. */
static hf_status redis_sweep_again(redis_work *work)
{
    work->conflict = true;
    return HF_RETRY;
}

/* ---- the dead and the spent ---- */

static hf_status redis_sweep_load_dead(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                       hf_error *err)
{
    redis_work *work = context;
    hf_redis_reply reply, first;
    (void)err;
    redis_load_reset(work);
    if (!redis_sweep_due(work, "expiry", now_us, 0, 1, &reply) || reply.count == 0)
        return work->status;
    hf_redis_at(&reply, 0, &first);
    hf_session_row *row = hf_rows_session(rows, first.text.at);
    if (row == NULL)
        return hf_fail_memory(err);
    if (!redis_sweep_all(work, "ZRANGE", "h:", (hf_slice){row->id, HF_SESSION_ID_MAX}, &reply))
        return work->status;
    hf_slice *members = redis_sweep_copy(work, &reply);
    size_t count = reply.count;
    if (members == NULL)
        return work->status;
    qsort(members, count, sizeof *members, redis_sweep_compare);
    for (size_t i = 0; i < count && i < limit; i++) {
        hf_resource_row *resource = redis_load_member(work, members[i], NULL);
        if (resource != NULL)
            resource->wanted = resource->wants_requests = true;
    }
    if (redis_sweep_loaded(work) != HF_OK)
        return work->status;
    if (row->ended_us != 0 || row->expires_us > now_us)
        return redis_sweep_again(work);
    return HF_OK;
}

/* Marks the locks of live sessions among these members. */
static size_t redis_sweep_mark(redis_work *work, const hf_slice *members, size_t count,
                               size_t limit)
{
    size_t due = 0;
    for (size_t i = 0; i < count && due < limit; i++) {
        hf_slice session;
        hf_resource_row *row = redis_load_member(work, members[i], &session);
        for (hf_lock_row *lock = row == NULL ? NULL : row->locks; lock != NULL; lock = lock->next)
            if (hf_slice_equal(session, (hf_slice){lock->session->id, HF_SESSION_ID_MAX}) &&
                lock->ends_us != 0 && lock->ends_us <= work->now_us &&
                lock->session->ended_us == 0 && lock->session->expires_us > work->now_us) {
                lock->due = true;
                due++;
            }
    }
    return due;
}

static hf_status redis_sweep_load_spent(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                        hf_error *err)
{
    redis_work *work = context;
    hf_redis_reply reply;
    size_t from = 0, due = 0, count = limit;
    (void)rows;
    (void)err;
    redis_load_reset(work);
    while (due < limit && count == limit) {
        if (!redis_sweep_due(work, "bounds", now_us, from, limit, &reply))
            return work->status;
        count = reply.count;
        from += count;
        hf_slice *members = redis_sweep_copy(work, &reply);
        for (size_t i = 0; members != NULL && i < count; i++) {
            hf_resource_row *row = redis_load_member(work, members[i], NULL);
            if (row != NULL)
                row->wanted = row->wants_requests = true;
        }
        if (redis_sweep_loaded(work) != HF_OK)
            return work->status;
        due += redis_sweep_mark(work, members, count, limit - due);
    }
    return HF_OK;
}

static hf_status redis_sweep_commit(redis_work *work)
{
    redis_save_commit(work, false);
    return work->status != HF_OK ? work->status : work->conflict ? HF_RETRY : HF_OK;
}

static hf_status redis_sweep_save(void *context, hf_rows *rows, int64_t now_us, hf_error *err)
{
    redis_work *work = context;
    (void)rows;
    (void)now_us;
    (void)err;
    redis_save_begin(work);
    redis_save_rows(work);
    return redis_sweep_commit(work);
}

/* ---- what is over ---- */

/* A set for the next step. */
static bool redis_sweep_reset(redis_work *work, size_t size)
{
    redis_load_reset(work);
    work->deadline_us = 0;
    if (!hf_rows_reset(work->rows, size))
        redis_fail_memory(work);
    return work->status == HF_OK;
}

static void redis_sweep_drop(hf_rows *rows, hf_resource_row *row)
{
    row->changed = true;
    row->present = false;
    if (row->fence > rows->fence_floor) {
        rows->fence_floor = row->fence;
        rows->floor_raised = true;
    }
}

/* What only this session asked for, and is free otherwise, leaves no row. */
static void redis_sweep_drop_request(hf_rows *rows, hf_resource_row *row,
                                     const hf_session_row *session)
{
    bool free_now =
        row->stored && row->version == 0 && row->ended_request.size == 0 && row->locks == NULL;
    for (hf_request_row *it = row->requests; it != NULL; it = it->next) {
        if (it->session == session) {
            it->changed = row->changed = true;
            it->present = false;
        }
        free_now &= !it->present;
    }
    if (free_now && row->changed)
        redis_sweep_drop(rows, row);
}

static hf_status redis_sweep_drop_session(redis_work *work, hf_slice id)
{
    hf_redis_reply reply;
    if (!redis_sweep_reset(work, 16) || !redis_sweep_all(work, "SMEMBERS", "q:", id, &reply))
        return work->status;
    hf_session_row *row = hf_rows_session(work->rows, id.at);
    hf_slice *asked = redis_sweep_copy(work, &reply);
    for (size_t i = 0; asked != NULL && i < reply.count; i++)
        redis_load_member(work, asked[i], NULL);
    redis_load(work);
    if (work->status != HF_OK || row == NULL)
        return work->status;
    for (hf_resource_row *it = work->rows->resources; it != NULL; it = it->next)
        redis_sweep_drop_request(work->rows, it, row);
    row->changed = true;
    row->present = false;
    redis_save_begin(work);
    redis_save_rows(work);
    return redis_sweep_commit(work);
}

static hf_status redis_sweep_drop_sessions(void *context, int64_t before_us, size_t limit,
                                           size_t *dropped, hf_error *err)
{
    redis_work *work = context;
    (void)err;
    while (*dropped < limit) {
        hf_redis_reply reply, first;
        char id[HF_SESSION_ID_SIZE] = "";
        if (!redis_sweep_due(work, "ended", before_us, 0, 1, &reply) || reply.count == 0)
            return work->status;
        hf_redis_at(&reply, 0, &first);
        hf_slice_copy(id, sizeof id, first.text);
        hf_status status = redis_sweep_drop_session(work, hf_slice_of(id));
        if (status != HF_OK)
            return status;
        (*dropped)++;
    }
    return HF_OK;
}

/* TYPE \1 ID \1 REQUEST: the field of a hash, and the member of an index. */
static void redis_sweep_drop_covered(redis_work *work, hf_slice member)
{
    hf_slice type, id, request;
    if (redis_split(member, &type, &id) && redis_split(id, &id, &request)) {
        hf_slice parts[] = {
            hf_slice_of(work->store->prefix), hf_slice_of("p:"), type, {"/", 1}, id};
        redis_command(work, "HDEL", NULL, HF_NOTHING);
        hf_redis_joined(&work->conn->command, parts, 5);
        hf_redis_word(&work->conn->command, request);
        redis_command_end(work);
    }
    redis_command(work, "ZREM", "covered", HF_NOTHING);
    hf_redis_word(&work->conn->command, member);
    redis_command_end(work);
}

static hf_status redis_sweep_drop_past(void *context, int64_t before_us, size_t limit,
                                       size_t *dropped, hf_error *err)
{
    redis_work *work = context;
    hf_redis_reply reply, part;
    (void)err;
    if (!redis_sweep_reset(work, 1) ||
        !redis_sweep_due(work, "covered", before_us, 0, limit, &reply) || reply.count == 0)
        return work->status;
    size_t count = reply.count;
    redis_save_begin(work);
    for (size_t i = 0; i < count; i++) {
        hf_redis_at(&reply, i, &part);
        redis_sweep_drop_covered(work, part.text);
    }
    hf_status status = redis_sweep_commit(work);
    *dropped = status == HF_OK ? count : 0;
    return status;
}

/* ---- resources ---- */

static bool redis_sweep_is_old(const hf_resource_row *row, int64_t before_us)
{
    return row->stored && row->locks == NULL && row->requests == NULL && row->fence <= before_us &&
           row->ended_us <= before_us &&
           (row->version == 0 ||
            (row->gone && row->saved_us <= before_us + HF_KEEP_US - HF_KEEP_GONE_US));
}

/* The covered saves of one that goes. */
static void redis_sweep_forget_past(redis_work *work, hf_slice member)
{
    hf_redis_reply reply, part;
    hf_slice type, id;
    char *name =
        redis_split(member, &type, &id) ? hf_arena_alloc(&work->rows->arena, member.size) : NULL;
    if (name == NULL)
        return;
    memcpy(name, member.at, member.size);
    name[type.size] = '/';
    if (!redis_sweep_all(work, "HKEYS", "p:", (hf_slice){name, member.size}, &reply))
        return;
    for (size_t i = 0; i < reply.count; i++) {
        hf_redis_at(&reply, i, &part);
        redis_command(work, "ZREM", "covered", HF_NOTHING);
        hf_redis_joined(&work->conn->command, (hf_slice[]){member, {"\1", 1}, part.text}, 3);
        redis_command_end(work);
    }
}

static bool redis_sweep_next_kept(redis_work *work, hf_slice from, size_t limit,
                                  hf_redis_reply *out)
{
    hf_redis_words *to = &work->conn->command;
    redis_command(work, "ZRANGEBYLEX", "kept", HF_NOTHING);
    if (from.size == 0)
        hf_redis_word(to, hf_slice_of("-"));
    else
        hf_redis_joined(to, (hf_slice[]){{"(", 1}, from}, 2);
    hf_redis_word(to, hf_slice_of("+"));
    hf_redis_word(to, hf_slice_of("LIMIT"));
    hf_redis_word(to, hf_slice_of("0"));
    hf_redis_number(to, (int64_t)limit);
    hf_redis_queue_words(work->conn->redis, to);
    bool good = redis_flush(work) && redis_reply(work, out);
    if (good)
        redis_all_taken(work);
    return good;
}

static hf_status redis_sweep_drop_anchors(void *context, int64_t before_us, size_t limit,
                                          size_t *dropped, bool *end, hf_error *err)
{
    redis_work *work = context;
    hf_redis_reply reply;
    hf_slice from = HF_NOTHING;
    size_t gone = 0;
    (void)err;
    if (!redis_sweep_reset(work, limit < 64 ? limit : 64))
        return work->status;
    redis_want(work, REDIS_PLAIN, &from, "swept_to", HF_NOTHING);
    redis_load_rest(work);
    if (work->status != HF_OK || !redis_sweep_next_kept(work, from, limit + 1, &reply))
        return work->status;
    size_t count = reply.count > limit ? limit : reply.count;
    *end = reply.count <= limit;
    hf_slice *members = redis_sweep_copy(work, &reply);
    for (size_t i = 0; members != NULL && i < count; i++)
        redis_load_member(work, members[i], NULL);
    redis_load(work);
    redis_save_begin(work);
    for (size_t i = 0; i < count && work->status == HF_OK; i++) {
        hf_resource_row *row = redis_load_member(work, members[i], NULL);
        if (row == NULL || !redis_sweep_is_old(row, before_us))
            continue;
        if (row->version != 0)
            redis_sweep_forget_past(work, members[i]);
        redis_sweep_drop(work->rows, row);
        gone++;
    }
    if (work->status != HF_OK || (gone == 0 && *end && from.size == 0))
        return work->status;
    redis_save_rows(work);
    redis_command(work, *end ? "DEL" : "SET", "swept_to", HF_NOTHING);
    if (*end)
        work->command_least--; /* it needs no more words */
    else
        hf_redis_word(&work->conn->command, members[count - 1]);
    redis_command_end(work);
    hf_status status = redis_sweep_commit(work);
    *dropped = status == HF_OK ? gone : 0;
    return status;
}

/* ---- events ---- */

static hf_status redis_sweep_marks(void *context, hf_event_marks *out, hf_error *err)
{
    redis_work *work = context;
    hf_slice seq = HF_NOTHING, marks = HF_NOTHING;
    bool good = true;
    (void)err;
    redis_load_reset(work);
    work->deadline_us = 0;
    redis_read *last = redis_want(work, REDIS_PLAIN, &seq, "seq", HF_NOTHING);
    if (last != NULL)
        last->not_compared = true; /* events may be written meanwhile */
    redis_want(work, REDIS_PLAIN, &marks, "marks", HF_NOTHING);
    redis_load_rest(work);
    out->last = redis_number_of(seq);
    out->from = redis_field_number(&marks, &good);
    out->swept = redis_field_number(&marks, &good);
    return work->status;
}

static hf_status redis_sweep_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    redis_work *work = context;
    char from[32], to[32];
    hf_redis_words *words = &work->conn->command;
    hf_redis_reply reply, entry, id, pair, value;
    hf_event *event = hf_arena_alloc(&work->rows->arena, sizeof *event);
    if (event == NULL)
        return hf_fail_memory(err);
    snprintf(from, sizeof from, "(%lld-0", (long long)(walk->after < 0 ? 0 : walk->after));
    snprintf(to, sizeof to, "(%lld-0", (long long)(walk->before < 1 ? 1 : walk->before));
    redis_command(work, "XRANGE", "events", HF_NOTHING);
    hf_redis_word(words, hf_slice_of(from));
    hf_redis_word(words, hf_slice_of(to));
    hf_redis_word(words, hf_slice_of("COUNT"));
    hf_redis_number(words, (int64_t)walk->limit);
    hf_redis_queue_words(work->conn->redis, words);
    if (!redis_flush(work) || !redis_reply(work, &reply))
        return work->status;
    redis_all_taken(work);
    for (size_t i = 0; i < reply.count && walk->count < walk->limit; i++) {
        hf_redis_at(&reply, i, &entry);
        hf_redis_at(&entry, 0, &id);
        hf_redis_at(&entry, 1, &pair);
        int64_t seq = strtoll(id.text.at, NULL, 10);
        if (pair.count == 2)
            hf_redis_at(&pair, 1, &value);
        if (pair.count == 2 && redis_read_event(event, value.text))
            walk->events[walk->count++] = (hf_old_event){seq, seq, event->at_us, event->kind};
    }
    return HF_OK;
}

static hf_status redis_sweep_drop_events(void *context, const hf_old_event *gone, size_t count,
                                         const hf_event_marks *marks, hf_error *err)
{
    enum { EVENTS_AT_ONCE = 1000 };
    redis_work *work = context;
    hf_buffer *text = &work->conn->text;
    redis_save_begin(work);
    for (size_t from = 0; from < count; from += EVENTS_AT_ONCE) {
        redis_command(work, "XDEL", "events", HF_NOTHING);
        for (size_t i = from; i < count && i < from + EVENTS_AT_ONCE; i++) {
            char id[32];
            snprintf(id, sizeof id, "%lld-0", (long long)gone[i].id);
            hf_redis_word(&work->conn->command, hf_slice_of(id));
        }
        redis_command_end(work);
    }
    text->size = 0;
    redis_put_number(text, marks->from);
    redis_put_number(text, marks->swept);
    redis_command(work, "SET", "marks", HF_NOTHING);
    hf_redis_word(&work->conn->command, (hf_slice){text->text, text->size});
    redis_command_end(work);
    hf_slice written;
    if (!hf_arena_copy(&work->rows->arena, (hf_slice){text->text, text->size}, &written))
        return hf_fail_memory(err);
    hf_status status = redis_sweep_commit(work);
    for (redis_read *read = work->reads; read != NULL && status == HF_OK; read = read->next)
        if (!read->not_compared)
            read->value = written; /* for what is dropped next */
    return status;
}

static const hf_sweep_ops redis_sweep_ops = {
    redis_sweep_load_dead,     redis_sweep_load_spent,  redis_sweep_save,
    redis_sweep_drop_sessions, redis_sweep_drop_past,   redis_sweep_drop_anchors,
    redis_sweep_marks,         redis_sweep_read_events, redis_sweep_drop_events};

/* What was swept before a conflict stays swept. */
void redis_sweep(redis_work *work, hf_op *op)
{
    size_t limit = op->limit == 0 ? HF_SWEEP_DEFAULT : op->limit, swept = 0;
    for (;;) {
        hf_op part = *op;
        part.limit = limit - swept;
        work->status = HF_OK;
        work->conflict = false;
        hf_status status =
            hf_sweep(work, &redis_sweep_ops, work->rows, &part, work->now_us, work->err);
        swept += part.answer.swept;
        op->answer.swept = swept;
        op->answer.more = part.answer.more;
        if (!work->conflict) {
            if (work->status == HF_OK && status != HF_OK)
                work->status = status;
            return;
        }
        work->status = HF_OK;
        if (swept >= limit || hf_seam.boot_us() >= work->until_us)
            break;
    }
    work->conflict = swept == 0; /* tried again, or busy */
    op->answer.more = true;
}
