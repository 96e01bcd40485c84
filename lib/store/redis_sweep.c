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

/* Members whose score is at most `most`, from the `from`-th on. */
static redis_names redis_sweep_due(redis_work *work, const char *index, int64_t most, size_t from,
                                   size_t limit)
{
    hf_redis_words *to = &work->conn->command;
    redis_names names = {0};
    hf_redis_reply reply;
    redis_command(work, "ZRANGEBYSCORE", index, HF_NOTHING);
    hf_redis_word(to, hf_slice_of("-inf"));
    hf_redis_number(to, most);
    hf_redis_word(to, hf_slice_of("LIMIT"));
    hf_redis_number(to, (int64_t)from);
    hf_redis_number(to, (int64_t)limit);
    if (redis_call(work, &reply))
        redis_names_take(work, &names, &reply, HF_NOTHING);
    return names;
}

/* The resources of these members are to be loaded. */
static void redis_sweep_want(redis_work *work, const redis_names *names, size_t limit)
{
    for (size_t i = 0; i < names->count && i < limit; i++) {
        hf_resource_row *row = redis_load_member(work, names->all[i], NULL);
        if (row != NULL)
            row->wanted = row->wants_requests = true;
    }
}

/* After loading: until when what is decided holds. */
static hf_status redis_sweep_loaded(redis_work *work)
{
    redis_load(work);
    work->deadline_us = redis_deadline(work);
    return work->status;
}

/* ---- the dead and the spent ---- */

/* Takes a name out of indexes; then the sweep begins again. */
static hf_status redis_sweep_forget(redis_work *work, hf_slice id, const char *const indexes[],
                                    size_t count)
{
    redis_save_begin(work);
    for (size_t i = 0; i < count; i++) {
        redis_command(work, "ZREM", indexes[i], HF_NOTHING);
        hf_redis_word(&work->conn->command, id);
        redis_command_end(work);
    }
    redis_save_commit(work, false);
    work->conflict = work->status == HF_OK;
    return work->status == HF_OK ? HF_RETRY : work->status;
}

static hf_status redis_sweep_load_dead(void *context, hf_rows *rows, int64_t now_us, size_t limit,
                                       hf_error *err)
{
    redis_work *work = context;
    redis_load_reset(work);
    redis_names dead = redis_sweep_due(work, "expiry", now_us, 0, 1);
    if (dead.count == 0 || dead.all[0].size != HF_SESSION_ID_MAX)
        return work->status;
    hf_session_row *row = hf_rows_session(rows, dead.all[0].at);
    if (row == NULL)
        return hf_fail_memory(err);
    redis_names holds = redis_names_all(work, "ZRANGE", "h:", dead.all[0]);
    redis_names_sort(&holds, HF_NOTHING);
    redis_sweep_want(work, &holds, limit);
    if (redis_sweep_loaded(work) != HF_OK)
        return work->status;
    if (!row->stored) /* the server removed its row: durability=relaxed, and keys are evicted */
        return redis_sweep_forget(work, dead.all[0], (const char *[]){"expiry", "sessions"}, 2);
    if (row->ended_us != 0 || row->expires_us > now_us) {
        work->conflict = true; /* it has just beaten, or ended */
        return HF_RETRY;
    }
    return HF_OK;
}

/* Marks the locks of live sessions among these members; how many. */
static size_t redis_sweep_mark(redis_work *work, const redis_names *names, size_t limit)
{
    size_t due = 0;
    for (size_t i = 0; i < names->count && due < limit; i++) {
        hf_slice session;
        hf_resource_row *row = redis_load_member(work, names->all[i], &session);
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
    size_t from = 0, due = 0;
    redis_names names;
    (void)rows;
    (void)err;
    redis_load_reset(work);
    do {
        names = redis_sweep_due(work, "bounds", now_us, from, limit);
        from += names.count;
        redis_sweep_want(work, &names, limit);
        if (redis_sweep_loaded(work) != HF_OK)
            return work->status;
        due += redis_sweep_mark(work, &names, limit - due);
    } while (due < limit && names.count == limit);
    return HF_OK;
}

static hf_status redis_sweep_commit(redis_work *work)
{
    redis_save_commit(work, false);
    if (work->status == HF_OK)
        work->sent = false; /* it is known what became of it */
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
    bool free_now = row->stored && row->version == 0 && row->ended_request.size == 0;
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        free_now &= !lock->present;
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
    if (!redis_sweep_reset(work, 16))
        return work->status;
    redis_names asked = redis_names_all(work, "SMEMBERS", "q:", id);
    /* An acquire that ran beside the close may have left a lock, which has been dead since. */
    redis_names left = redis_names_all(work, "ZRANGE", "h:", id);
    hf_session_row *row = hf_rows_session(work->rows, id.at);
    redis_sweep_want(work, &asked, asked.count);
    redis_sweep_want(work, &left, left.count);
    redis_load(work);
    if (work->status != HF_OK || row == NULL)
        return work->status;
    if (!row->stored)
        return redis_sweep_forget(work, id, (const char *[]){"ended"}, 1);
    for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->session_next)
        hf_sweep_lock(work->rows, lock, work->now_us);
    if (row->locks != NULL)
        hf_rows_drop(work->rows, work->now_us);
    for (hf_resource_row *it = work->rows->resources; it != NULL; it = it->next)
        redis_sweep_drop_request(work->rows, it, row);
    row->changed = true;
    row->present = false;
    return redis_sweep_save(work, work->rows, work->now_us, NULL);
}

static hf_status redis_sweep_drop_sessions(void *context, int64_t before_us, size_t limit,
                                           size_t *dropped, hf_error *err)
{
    redis_work *work = context;
    (void)err;
    redis_names ended = redis_sweep_due(work, "ended", before_us, 0, limit);
    hf_status status = work->status;
    for (size_t i = 0; i < ended.count && status == HF_OK; i++) {
        if (ended.all[i].size != HF_SESSION_ID_MAX)
            continue;
        status = redis_sweep_drop_session(work, ended.all[i]);
        *dropped += status == HF_OK;
    }
    return status;
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
    (void)err;
    if (!redis_sweep_reset(work, 1))
        return work->status;
    redis_names old = redis_sweep_due(work, "covered", before_us, 0, limit);
    if (old.count == 0)
        return work->status;
    redis_save_begin(work);
    for (size_t i = 0; i < old.count; i++)
        redis_sweep_drop_covered(work, old.all[i]);
    hf_status status = redis_sweep_commit(work);
    *dropped = status == HF_OK ? old.count : 0;
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
    hf_slice type, id;
    char name[HF_RESOURCE_SIZE];
    if (!redis_split(member, &type, &id) || member.size >= sizeof name)
        return;
    memcpy(name, member.at, member.size);
    name[type.size] = '/';
    redis_names past = redis_names_all(work, "HKEYS", "p:", (hf_slice){name, member.size});
    for (size_t i = 0; i < past.count; i++) {
        redis_command(work, "ZREM", "covered", HF_NOTHING);
        hf_redis_joined(&work->conn->command, (hf_slice[]){member, {"\1", 1}, past.all[i]}, 3);
        redis_command_end(work);
    }
}

static hf_status redis_sweep_drop_anchors(void *context, int64_t before_us, size_t limit,
                                          size_t *dropped, bool *end, hf_error *err)
{
    redis_work *work = context;
    hf_slice from = HF_NOTHING;
    size_t gone = 0;
    (void)err;
    if (!redis_sweep_reset(work, limit < 64 ? limit : 64))
        return work->status;
    redis_want(work, REDIS_PLAIN, &from, "swept_to", HF_NOTHING);
    redis_load_rest(work);
    redis_names names = redis_names_page(work, "kept", from, HF_NOTHING, limit + 1);
    *end = names.count <= limit;
    names.count = *end ? names.count : limit;
    redis_sweep_want(work, &names, limit);
    redis_load(work);
    redis_save_begin(work);
    for (size_t i = 0; i < names.count && work->status == HF_OK; i++) {
        hf_resource_row *row = redis_load_member(work, names.all[i], NULL);
        if (row == NULL || !redis_sweep_is_old(row, before_us))
            continue;
        if (row->version != 0)
            redis_sweep_forget_past(work, names.all[i]);
        redis_sweep_drop(work->rows, row);
        gone++;
    }
    if (work->status != HF_OK || (gone == 0 && *end && from.size == 0))
        return work->status;
    redis_save_rows(work);
    redis_command(work, *end ? "DEL" : "SET", "swept_to", HF_NOTHING);
    if (!*end)
        hf_redis_word(&work->conn->command, names.all[names.count - 1]);
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
    (void)err;
    redis_load_reset(work);
    work->deadline_us = 0;
    redis_row *last = redis_want(work, REDIS_PLAIN, &seq, "seq", HF_NOTHING);
    if (last != NULL)
        last->not_compared = true; /* events may be written meanwhile */
    redis_want(work, REDIS_PLAIN, &marks, "marks", HF_NOTHING);
    redis_load_rest(work);
    *out = (hf_event_marks){.last = redis_number_of(seq)};
    redis_text_read(REDIS_TEXT_MARKS, out, &marks);
    return work->status;
}

static hf_status redis_sweep_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    enum { EVENTS_PAGE = 200 };
    redis_work *work = context;
    int64_t after = walk->after, before = walk->before < 1 ? 1 : walk->before;
    size_t count = EVENTS_PAGE;
    hf_event *page = hf_arena_alloc(&work->rows->arena, EVENTS_PAGE * sizeof *page);
    if (page == NULL)
        return hf_fail_memory(err);
    while (count == EVENTS_PAGE && walk->count < walk->limit) {
        size_t left = walk->limit - walk->count;
        count = redis_query_read_events(work, after, before,
                                        left < EVENTS_PAGE ? left : EVENTS_PAGE, page);
        for (size_t i = 0; i < count; i++)
            walk->events[walk->count++] =
                (hf_old_event){page[i].seq, page[i].seq, page[i].at_us, page[i].kind};
        after = count > 0 ? page[count - 1].seq : after;
    }
    return work->status;
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
    redis_text_write(REDIS_TEXT_MARKS, marks, text);
    redis_command(work, "SET", "marks", HF_NOTHING);
    hf_redis_word(&work->conn->command, (hf_slice){text->text, text->size});
    redis_command_end(work);
    hf_slice written;
    if (!hf_arena_copy(&work->rows->arena, (hf_slice){text->text, text->size}, &written))
        return hf_fail_memory(err);
    hf_status status = redis_sweep_commit(work);
    for (redis_row *read = work->reads; read != NULL && status == HF_OK; read = read->next)
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
