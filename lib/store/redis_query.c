/* SPDX-License-Identifier: MIT */
/* The store on Redis: what stands alone (lists, counts, events, types). Indexes name rows; the rows
 * are loaded and judged here. */
#include "base/error.h"
#include "lock/rules.h"
#include "store/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY_PAGE = 1000 }; /* names that are read from an index at once */

static size_t redis_query_limit(const hf_op *op)
{
    return op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
}

static void *redis_query_alloc(redis_work *work, hf_arena *arena, size_t size)
{
    void *out = work->status == HF_OK ? hf_arena_alloc(arena, size) : NULL;
    if (out == NULL)
        redis_fail_memory(work);
    return out;
}

/* Adds further words to the command. */
static void redis_query_words(redis_work *work, const char *a, const char *b, const char *c)
{
    const char *words[] = {a, b, c};
    for (size_t i = 0; i < 3 && words[i] != NULL; i++)
        hf_redis_word(&work->conn->command, hf_slice_of(words[i]));
}

/* ---- names ---- */

static void redis_names_add(redis_work *work, redis_names *names, hf_slice name, hf_slice more)
{
    hf_arena *arena = &work->batch->arena;
    if (names->count == names->room) {
        size_t room = names->room == 0 ? 64 : names->room * 2;
        hf_slice *all = redis_query_alloc(work, arena, room * sizeof *all);
        if (all == NULL)
            return;
        if (names->count > 0)
            memcpy(all, names->all, names->count * sizeof *all);
        names->all = all;
        names->room = room;
    }
    size_t size = name.size + (more.size > 0 ? 1 + more.size : 0);
    char *text = redis_query_alloc(work, arena, size + 1);
    if (text == NULL)
        return;
    memcpy(text, name.at, name.size);
    if (more.size > 0) {
        text[name.size] = '\1';
        memcpy(text + name.size + 1, more.at, more.size);
    }
    names->all[names->count++] = (hf_slice){text, size};
}

void redis_names_take(redis_work *work, redis_names *names, const hf_redis_reply *list,
                      hf_slice more)
{
    for (size_t i = 0; i < list->count && work->status == HF_OK; i++) {
        hf_redis_reply part;
        hf_redis_at(list, i, &part);
        redis_names_add(work, names, part.text, more);
    }
}

static int redis_names_compare(const void *a, const void *b)
{
    return hf_slice_compare(*(const hf_slice *)a, *(const hf_slice *)b);
}

void redis_names_sort(redis_names *names, hf_slice after)
{
    size_t from = 0;
    if (names->count == 0)
        return;
    qsort(names->all, names->count, sizeof *names->all, redis_names_compare);
    while (from < names->count && hf_slice_compare(names->all[from], after) <= 0)
        from++;
    names->all += from;
    names->count -= from;
}

redis_names redis_names_all(redis_work *work, const char *command, const char *kind, hf_slice rest)
{
    redis_names names = {0};
    hf_redis_reply reply;
    redis_command(work, command, kind, rest);
    if (strcmp(command, "ZRANGE") == 0)
        redis_query_words(work, "0", "-1", NULL);
    if (redis_call(work, &reply))
        redis_names_take(work, &names, &reply, HF_NOTHING);
    return names;
}

redis_names redis_names_page(redis_work *work, const char *index, hf_slice after, hf_slice before,
                             size_t limit)
{
    hf_redis_words *to = &work->conn->command;
    redis_names names = {0};
    hf_redis_reply reply;
    redis_command(work, "ZRANGEBYLEX", index, HF_NOTHING);
    hf_redis_joined(to, (hf_slice[]){{after.size > 0 ? "(" : "-", 1}, after}, 2);
    hf_redis_joined(to, (hf_slice[]){{before.size > 0 ? "(" : "+", 1}, before}, 2);
    redis_query_words(work, "LIMIT", "0", NULL);
    hf_redis_number(to, (int64_t)limit);
    if (redis_call(work, &reply))
        redis_names_take(work, &names, &reply, HF_NOTHING);
    return names;
}

/* ---- locks ---- */

/* The lock that TYPE \1 ID \1 SESSION names; NULL: it has gone, or is dead. */
static const hf_lock_row *redis_query_lock(redis_work *work, hf_slice name)
{
    hf_slice session;
    const hf_resource_row *row = redis_load_member(work, name, &session);
    for (const hf_lock_row *lock = row == NULL ? NULL : row->locks; lock != NULL; lock = lock->next)
        if (hf_slice_equal(session, (hf_slice){lock->session->id, HF_SESSION_ID_MAX}))
            return hf_rules_live(lock->session->ended_us, lock->session->expires_us, lock->ends_us,
                                 work->now_us)
                       ? lock
                       : NULL;
    return NULL;
}

static void redis_query_load(redis_work *work, const hf_slice *names, size_t count)
{
    for (size_t i = 0; i < count && work->status == HF_OK; i++) {
        hf_resource_row *row = redis_load_member(work, names[i], NULL);
        if (row != NULL)
            row->wanted = true;
    }
    redis_load_rest(work);
}

/* Loads the locks of these names, and adds those that live to the page; true once it is full. */
static bool redis_query_add_locks(redis_work *work, const redis_names *names, hf_lock *locks,
                                  size_t limit, size_t *count)
{
    for (size_t from = 0; from < names->count && work->status == HF_OK; from += QUERY_PAGE) {
        size_t size = names->count - from < QUERY_PAGE ? names->count - from : QUERY_PAGE;
        redis_load_reset(work);
        if (!hf_rows_reset(work->rows, size)) {
            redis_fail_memory(work);
            return false;
        }
        redis_query_load(work, names->all + from, size);
        for (size_t i = from; i < from + size && work->status == HF_OK; i++) {
            const hf_lock_row *lock = redis_query_lock(work, names->all[i]);
            if (lock == NULL)
                continue;
            if (*count == limit)
                return true;
            hf_fill_lock(lock, &locks[(*count)++]);
        }
    }
    return false;
}

static hf_slice redis_query_text(hf_slice type, const char *after, char *out, size_t size)
{
    int written = snprintf(out, size, "%.*s%s", (int)type.size, type.at, after);
    return (hf_slice){out, (size_t)written};
}

/* What the sessions of a user, or one session, hold. */
static void redis_query_names_of(redis_work *work, const hf_op *op, redis_names *names)
{
    redis_names sessions = {0};
    hf_redis_reply reply;
    if (op->target != NULL)
        redis_names_add(work, &sessions, hf_slice_of(op->target), HF_NOTHING);
    else
        sessions = redis_names_all(work, "SMEMBERS", "u:", hf_slice_of(op->user));
    for (size_t i = 0; i < sessions.count && work->status == HF_OK; i++) {
        redis_command(work, "ZRANGE", "h:", sessions.all[i]);
        redis_query_words(work, "0", "-1", NULL);
        if (redis_call(work, &reply))
            redis_names_take(work, names, &reply, sessions.all[i]);
    }
}

static void redis_query_of_type(redis_names *names, const char *type)
{
    size_t kept = 0, size = strlen(type);
    for (size_t i = 0; i < names->count; i++)
        if (names->all[i].size > size && memcmp(names->all[i].at, type, size) == 0 &&
            names->all[i].at[size] == '\1')
            names->all[kept++] = names->all[i];
    names->count = kept;
}

/* A session and a user may both be given: then it must be that user's. */
static void redis_query_of_user(redis_work *work, const hf_op *op, redis_names *names)
{
    hf_session_row *row = hf_rows_session(work->rows, op->target);
    redis_load_rest(work);
    if (row == NULL || !hf_slice_equal(row->user, hf_slice_of(op->user)))
        names->count = 0;
}

static void redis_query_list(redis_work *work, hf_op *op)
{
    char cursor[HF_CURSOR_SIZE + 4], begin[HF_TYPE_SIZE + 4], end[HF_TYPE_SIZE + 4];
    size_t limit = redis_query_limit(op), count = 0;
    hf_lock *locks = redis_query_alloc(work, &work->batch->arena, limit * sizeof *locks);
    redis_names names = {0};
    bool more = false;
    int size = snprintf(cursor, sizeof cursor, "%s\1%s\1%s",
                        (op->after == NULL ? &(const hf_cursor){0} : op->after)->resource.type,
                        (op->after == NULL ? &(const hf_cursor){0} : op->after)->resource.id,
                        (op->after == NULL ? &(const hf_cursor){0} : op->after)->session);
    hf_slice after = {cursor, (size_t)size}, before = HF_NOTHING;
    if (locks == NULL)
        return;
    if (op->target != NULL || op->user != NULL) {
        redis_query_names_of(work, op, &names);
        if (op->target != NULL && op->user != NULL)
            redis_query_of_user(work, op, &names);
        if (op->type != NULL)
            redis_query_of_type(&names, op->type);
        redis_names_sort(&names, after);
        more = redis_query_add_locks(work, &names, locks, limit, &count);
    } else {
        if (op->type != NULL) {
            hf_slice first = redis_query_text(hf_slice_of(op->type), "\1", begin, sizeof begin);
            before = redis_query_text(hf_slice_of(op->type), "\2", end, sizeof end);
            after = hf_slice_compare(first, after) > 0 ? first : after;
        }
        do {
            names = redis_names_page(work, "locks", after, before, QUERY_PAGE);
            more = redis_query_add_locks(work, &names, locks, limit, &count);
            after = names.count > 0 ? names.all[names.count - 1] : after;
        } while (!more && names.count == QUERY_PAGE && work->status == HF_OK);
    }
    op->answer.more = more;
    op->answer.locks = count == 0 ? NULL : locks;
    op->answer.locks_count = count;
    if (more) {
        if (!hf_answer_more(op, &work->batch->arena, &locks[count - 1].resource,
                            locks[count - 1].session))
            redis_fail_memory(work);
    }
}

/* ---- sessions ---- */

static bool redis_query_session_lives(const redis_work *work, const hf_session_row *row)
{
    return row->present && row->ended_us == 0 && row->expires_us > work->now_us;
}

static bool redis_query_add_sessions(redis_work *work, const hf_op *op, const redis_names *names,
                                     hf_session_info *sessions, size_t limit, size_t *count)
{
    redis_load_reset(work);
    if (!hf_rows_reset(work->rows, names->count)) {
        redis_fail_memory(work);
        return false;
    }
    for (size_t i = 0; i < names->count; i++)
        if (names->all[i].size == HF_SESSION_ID_MAX)
            hf_rows_session(work->rows, names->all[i].at);
    redis_load_rest(work);
    /* they stand in the set in the order in which they were named */
    const hf_session_row *row = work->status == HF_OK ? work->rows->sessions : NULL;
    for (; row != NULL; row = row->next) {
        if (!redis_query_session_lives(work, row) ||
            (op->user != NULL && !hf_slice_equal(row->user, hf_slice_of(op->user))))
            continue;
        if (*count == limit)
            return true;
        hf_fill_session(row, &sessions[(*count)++]);
    }
    return false;
}

static void redis_query_sessions(redis_work *work, hf_op *op)
{
    size_t limit = redis_query_limit(op), count = 0;
    hf_session_info *sessions =
        redis_query_alloc(work, &work->batch->arena, limit * sizeof *sessions);
    redis_names names = {0};
    hf_slice after = hf_slice_of((op->after == NULL ? &(const hf_cursor){0} : op->after)->session);
    bool more = false;
    if (sessions == NULL)
        return;
    if (op->user != NULL) {
        names = redis_names_all(work, "SMEMBERS", "u:", hf_slice_of(op->user));
        redis_names_sort(&names, after);
        more = redis_query_add_sessions(work, op, &names, sessions, limit, &count);
    } else {
        do {
            names = redis_names_page(work, "sessions", after, HF_NOTHING, QUERY_PAGE);
            more = redis_query_add_sessions(work, op, &names, sessions, limit, &count);
            after = names.count > 0 ? names.all[names.count - 1] : after;
        } while (!more && names.count == QUERY_PAGE && work->status == HF_OK);
    }
    op->answer.more = more;
    op->answer.sessions = count == 0 ? NULL : sessions;
    op->answer.sessions_count = count;
    if (more)
        if (!hf_answer_more(op, &work->batch->arena, NULL, sessions[count - 1].id))
            redis_fail_memory(work);
}

/* ---- counts ---- */

/* A command about what lies after now. */
static void redis_query_later(redis_work *work, const char *name, const char *kind, hf_slice rest)
{
    char now[24];
    snprintf(now, sizeof now, "(%lld", (long long)work->now_us);
    redis_command(work, name, kind, rest);
    redis_query_words(work, now, "+inf", NULL);
}

static size_t redis_query_count_later(redis_work *work, const char *kind, hf_slice rest)
{
    hf_redis_reply reply;
    redis_query_later(work, "ZCOUNT", kind, rest);
    return redis_call(work, &reply) ? (size_t)reply.number : 0;
}

typedef struct redis_tally {
    struct redis_tally *next;
    hf_slice type;
    size_t locks;
} redis_tally;

/* The types are few, and the list is in their order. */
static void redis_query_tally(redis_work *work, redis_tally **all, hf_slice member)
{
    hf_slice type, rest;
    if (!redis_split(member, &type, &rest))
        return;
    int order = 1;
    while (*all != NULL && (order = hf_slice_compare((*all)->type, type)) < 0)
        all = &(*all)->next;
    if (*all == NULL || order != 0) {
        redis_tally *fresh = redis_query_alloc(work, &work->batch->arena, sizeof *fresh);
        if (fresh == NULL || !hf_arena_copy(&work->batch->arena, type, &fresh->type)) {
            redis_fail_memory(work);
            return;
        }
        fresh->next = *all;
        *all = fresh;
    }
    (*all)->locks++;
}

/* The live locks of some live sessions, in one round trip. */
static void redis_query_tally_page(redis_work *work, const redis_names *sessions, redis_tally **all)
{
    hf_redis_reply reply, part;
    for (size_t i = 0; i < sessions->count; i++) {
        redis_query_later(work, "ZRANGEBYSCORE", "h:", sessions->all[i]);
        hf_redis_queue_words(work->conn->redis, &work->conn->command);
    }
    redis_flush(work);
    for (size_t i = 0; i < sessions->count && redis_reply(work, &reply); i++)
        for (size_t j = 0; j < reply.count; j++) {
            hf_redis_at(&reply, j, &part);
            redis_query_tally(work, all, part.text);
        }
    if (work->status == HF_OK)
        redis_all_taken(work);
}

static void redis_query_count_all(redis_work *work, hf_op *op)
{
    size_t limit = redis_query_limit(op), offset = 0, types = 0;
    redis_tally *all = NULL;
    redis_names names = {0};
    hf_redis_reply reply;
    do {
        redis_query_later(work, "ZRANGEBYSCORE", "expiry", HF_NOTHING);
        redis_query_words(work, "LIMIT", NULL, NULL);
        hf_redis_number(&work->conn->command, (int64_t)offset);
        hf_redis_number(&work->conn->command, QUERY_PAGE);
        names.count = 0;
        if (redis_call(work, &reply))
            redis_names_take(work, &names, &reply, HF_NOTHING);
        redis_query_tally_page(work, &names, &all);
        offset += names.count;
    } while (names.count == QUERY_PAGE && work->status == HF_OK);
    op->answer.total_sessions = offset;
    hf_count *counts = redis_query_alloc(work, &work->batch->arena, limit * sizeof *counts);
    for (const redis_tally *it = counts == NULL ? NULL : all; it != NULL; it = it->next) {
        op->answer.total_locks += it->locks;
        if (types++ >= limit)
            continue;
        hf_slice_copy(counts[types - 1].type, sizeof counts[types - 1].type, it->type);
        counts[types - 1].locks = it->locks;
    }
    op->answer.more = types > limit;
    op->answer.counts_count = op->answer.more ? limit : types;
    op->answer.counts = types == 0 ? NULL : counts;
}

static void redis_query_count(redis_work *work, hf_op *op)
{
    hf_slice caller = hf_slice_of(op->caller);
    if (op->target != NULL) {
        const hf_session_row *row = hf_rows_session(work->rows, op->target);
        redis_load_rest(work);
        if (row == NULL || !redis_query_session_lives(work, row))
            return;
        op->answer.total_sessions = 1;
        op->answer.total_locks = redis_query_count_later(work, "h:", hf_slice_of(op->target));
    } else if (caller.size > 0) {
        op->answer.total_sessions = redis_query_count_later(work, "c:", caller);
    } else {
        redis_query_count_all(work, op);
    }
}

/* ---- events ---- */

size_t redis_query_read_events(redis_work *work, int64_t after, int64_t before, size_t limit,
                               hf_event *out)
{
    char from[32], to[32] = "+";
    hf_redis_reply reply, entry, id, pair, value;
    size_t count = 0;
    snprintf(from, sizeof from, "(%lld-0", (long long)(after < 0 ? 0 : after));
    if (before > 0)
        snprintf(to, sizeof to, "(%lld-0", (long long)before);
    redis_command(work, "XRANGE", "events", HF_NOTHING);
    redis_query_words(work, from, to, "COUNT");
    hf_redis_number(&work->conn->command, (int64_t)limit);
    if (!redis_call(work, &reply))
        return 0;
    for (size_t i = 0; i < reply.count && count < limit; i++) {
        hf_redis_at(&reply, i, &entry);
        hf_redis_at(&entry, 0, &id);
        hf_redis_at(&entry, 1, &pair);
        if (pair.count != 2)
            continue;
        hf_redis_at(&pair, 1, &value);
        memset(&out[count], 0, sizeof *out);
        out[count].seq = strtoll(id.text.at, NULL, 10);
        count += redis_read_event(&out[count], value.text);
    }
    return count;
}

static void redis_query_events(redis_work *work, hf_op *op, hf_slice seq)
{
    hf_redis_reply reply;
    hf_event_marks swept = {0};
    size_t limit = redis_query_limit(op);
    hf_event *events = redis_query_alloc(work, &work->batch->arena, limit * sizeof *events);
    if (events == NULL)
        return;
    size_t count = redis_query_read_events(work, op->after_seq, 0, limit, events);
    /* After the events: what a sweep removed meanwhile is told as missing. */
    redis_command(work, "GET", "marks", HF_NOTHING);
    if (!redis_call(work, &reply))
        return;
    if (reply.kind == HF_REDIS_TEXT)
        redis_text_read(REDIS_TEXT_MARKS, &swept, &reply.text);
    op->answer.first_seq = swept.from < 1 ? 1 : swept.from;
    op->answer.last_seq = redis_number_of(seq);
    op->answer.events = count == 0 ? NULL : events;
    op->answer.events_count = count;
    if (count > 0 && events[count - 1].seq > op->answer.last_seq)
        op->answer.last_seq = events[count - 1].seq; /* written in between */
}

/* ---- types ---- */

static void redis_query_types(redis_work *work, hf_op *op)
{
    redis_names names = redis_names_all(work, "SMEMBERS", "types", HF_NOTHING);
    redis_names_sort(&names, HF_NOTHING);
    hf_type *types =
        redis_query_alloc(work, &work->batch->arena, (names.count + 1) * sizeof *types);
    redis_load_reset(work);
    for (size_t i = 0; i < names.count && work->status == HF_OK; i++) {
        hf_type_row *row = hf_rows_type(work->rows, names.all[i]);
        if (row == NULL)
            redis_fail_memory(work);
        else
            redis_want(work, REDIS_TYPE, row, "y:", names.all[i]);
    }
    redis_load_rest(work);
    for (size_t i = 0; i < names.count && work->status == HF_OK; i++)
        types[op->answer.types_count++] = hf_rows_type(work->rows, names.all[i])->type;
    op->answer.types = op->answer.types_count == 0 ? NULL : types;
}

/* The rows stay in the set: that they are as they were is compared when the type is saved. */
static bool redis_query_type_lives(redis_work *work, hf_slice type)
{
    char begin[HF_TYPE_SIZE + 4], end[HF_TYPE_SIZE + 4];
    hf_slice after = redis_query_text(type, "\1", begin, sizeof begin);
    hf_slice before = redis_query_text(type, "\2", end, sizeof end);
    redis_names names = {0};
    do {
        names = redis_names_page(work, "locks", after, before, QUERY_PAGE);
        redis_query_load(work, names.all, names.count);
        for (size_t i = 0; i < names.count && work->status == HF_OK; i++)
            if (redis_query_lock(work, names.all[i]) != NULL)
                return true;
        after = names.count > 0 ? names.all[names.count - 1] : after;
    } while (names.count == QUERY_PAGE && work->status == HF_OK);
    return false;
}

/* A lock of the type that comes between looking and writing leaves an event: then the last number
 * is not what it was, and this is tried again. */
static void redis_query_type_set(redis_work *work, hf_op *op, hf_type_row *row, int64_t rev)
{
    bool lives =
        row->type.policy != op->policy && redis_query_type_lives(work, hf_slice_of(op->type));
    if (work->status != HF_OK)
        return;
    work->deadline_us = 0;
    hf_apply_type_set(work->rows, op, &work->batch->arena, &row->type, lives);
    if (work->rows->failed)
        redis_fail_memory(work);
    if (op->answer.status != HF_OK || work->status != HF_OK)
        return;
    redis_type type = {rev + 1, op->ttl_us, op->ttl_max_us, ""};
    hf_buffer *text = &work->conn->text;
    snprintf(type.policy, sizeof type.policy, "%s", hf_policy_name(op->policy));
    text->size = 0;
    redis_text_write(REDIS_TEXT_TYPE, &type, text);
    redis_save_begin(work);
    redis_command(work, "SET", "y:", hf_slice_of(op->type));
    hf_redis_word(&work->conn->command, (hf_slice){text->text, text->size});
    redis_command_end(work);
    redis_command(work, "SADD", "types", HF_NOTHING);
    hf_redis_word(&work->conn->command, hf_slice_of(op->type));
    redis_command_end(work);
    redis_save_commit(work, true);
}

/* ---- all ---- */

void redis_alone(redis_work *work)
{
    hf_op *op = &work->batch->ops[0];
    hf_slice seq = HF_NOTHING;
    hf_type_row *type =
        op->kind == HF_OP_TYPE_SET ? hf_rows_type(work->rows, hf_slice_of(op->type)) : NULL;
    if (op->kind == HF_OP_TYPE_SET && type == NULL)
        redis_fail_memory(work);
    if (op->kind == HF_OP_EVENTS || op->kind == HF_OP_TYPE_SET)
        redis_want(work, REDIS_PLAIN, &seq, "seq", HF_NOTHING);
    redis_load(work);
    op->answer.now_us = work->now_us;
    if (work->status != HF_OK)
        return;
    if (work->rows->no_growth != NULL && hf_op_grows(op->kind)) {
        op->answer.status = HF_UNAVAILABLE;
        op->answer.message = work->rows->no_growth;
        return;
    }
    switch (op->kind) {
    case HF_OP_LIST:
        redis_query_list(work, op);
        break;
    case HF_OP_SESSIONS:
        redis_query_sessions(work, op);
        break;
    case HF_OP_COUNT:
        redis_query_count(work, op);
        break;
    case HF_OP_EVENTS:
        redis_query_events(work, op, seq);
        break;
    case HF_OP_TYPES:
        redis_query_types(work, op);
        break;
    case HF_OP_TYPE_SET:
        for (const redis_row *read = work->reads; read != NULL; read = read->next)
            if (read->row == type) {
                redis_query_type_set(work, op, type, redis_number_of(read->value));
                break;
            }
        break;
    case HF_OP_SWEEP:
        redis_sweep(work, op);
        break;
    default:
        redis_tokens(work, op);
    }
}
