/* SPDX-License-Identifier: MIT */
/* The store on Redis: loading the rows that a batch names. All strings are read by one MGET, the
 * rest by commands in the same round trip, the time last. What that brings up (the sessions of
 * holders, the resources a session holds) is read in further rounds. */
#include "base/error.h"
#include "store/redis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What else was asked for. */
typedef enum redis_extra_kind {
    EXTRA_LOST_ANY, /* whether any session that settles a loss has one */
    EXTRA_LOST_ONE, /* row: hf_loss_row */
    EXTRA_PAST,     /* row: hf_save_row */
    /* row: hf_session_row */
    EXTRA_LOST_ALL,
    EXTRA_LOCKS, /* all that it holds */
    EXTRA_COUNT, /* how many */
    EXTRA_FIRST, /* the first bound of these */
    EXTRA_OVER,  /* those whose bound has come */
    EXTRA_ASKED  /* those that someone asks for */
} redis_extra_kind;

struct redis_extra {
    redis_extra *next;
    redis_extra_kind kind;
    void *row;
    const hf_resource_row *resource; /* of a loss or a covered save */
    int64_t number;                  /* answered by LOST_ANY and FIRST */
};

void redis_load_reset(redis_work *work)
{
    work->reads = work->next_read = NULL;
    work->reads_end = &work->reads;
    work->extras = NULL;
    work->extras_end = &work->extras;
    work->only_rows = true;
}

static void *redis_load_alloc(redis_work *work, size_t size)
{
    void *out = work->status == HF_OK ? hf_arena_alloc(&work->rows->arena, size) : NULL;
    if (out == NULL)
        redis_fail_memory(work);
    return out;
}

static hf_slice redis_load_copy(redis_work *work, hf_slice from)
{
    hf_slice out = HF_NOTHING;
    if (from.size > 0 && !hf_arena_copy(&work->rows->arena, from, &out))
        redis_fail_memory(work);
    return out;
}

redis_row *redis_want(redis_work *work, redis_kind kind, void *row, const char *key_kind,
                      hf_slice rest)
{
    hf_slice parts[] = {hf_slice_of(work->store->prefix), hf_slice_of(key_kind), rest};
    size_t size = parts[0].size + parts[1].size + parts[2].size;
    redis_row *read = redis_load_alloc(work, sizeof *read);
    char *key = redis_load_alloc(work, size + 1), *at = key;
    if (read == NULL || key == NULL)
        return NULL;
    for (size_t i = 0; i < 3; i++)
        at = parts[i].size == 0 ? at : mempcpy(at, parts[i].at, parts[i].size);
    *read = (redis_row){.kind = kind, .row = row, .key = {key, size}};
    *work->reads_end = read;
    work->reads_end = &read->next;
    if (work->next_read == NULL)
        work->next_read = read;
    return read;
}

static hf_slice redis_load_name(redis_work *work, const hf_resource_row *row, char between)
{
    char *name = redis_load_alloc(work, row->type.size + 1 + row->id.size);
    if (name == NULL)
        return HF_NOTHING;
    memcpy(name, row->type.at, row->type.size);
    name[row->type.size] = between;
    memcpy(name + row->type.size + 1, row->id.at, row->id.size);
    return (hf_slice){name, row->type.size + 1 + row->id.size};
}

static void redis_load_want_session(redis_work *work, hf_session_row *row)
{
    row->loaded = true;
    redis_want(work, REDIS_SESSION, row, "s:", (hf_slice){row->id, HF_SESSION_ID_MAX});
    redis_row *ends = !row->wants_ends ? NULL
                                       : redis_want(work, REDIS_ENDS, row,
                                                    "e:", (hf_slice){row->id, HF_SESSION_ID_MAX});
    if (ends != NULL)
        ends->not_compared = true; /* every end moves the session's rev */
}

static void redis_load_want_resource(redis_work *work, hf_resource_row *row)
{
    row->loaded = true;
    redis_want(work, REDIS_RESOURCE, row, "r:", redis_load_name(work, row, '/'));
}

/* ---- extras ---- */

static void redis_load_extra(redis_work *work, redis_extra_kind kind, void *row,
                             const hf_resource_row *resource)
{
    redis_extra *extra = redis_load_alloc(work, sizeof *extra);
    if (extra == NULL)
        return;
    *extra = (redis_extra){.kind = kind, .row = row, .resource = resource};
    *work->extras_end = extra;
    work->extras_end = &extra->next;
    work->only_rows &= kind == EXTRA_LOST_ANY;
}

/* Hardly any session has lost something: that none of these has is asked first, and compared by the
 * script. The next session whose loss is to be settled. */
static hf_session_row *redis_load_next_loser(const hf_loss_row **at, const hf_session_row *last)
{
    for (; *at != NULL; *at = (*at)->next)
        if ((*at)->session != last && !(*at)->session->wants_lost)
            return (*at)->session;
    return NULL;
}

static void redis_load_ask_session(redis_work *work, hf_session_row *row)
{
    if (row->wants_locks)
        redis_load_extra(work, EXTRA_LOCKS, row, NULL);
    if (row->counts_locks) {
        redis_load_extra(work, EXTRA_COUNT, row, NULL);
        redis_load_extra(work, EXTRA_FIRST, row, NULL);
        redis_load_extra(work, EXTRA_ASKED, row, NULL);
    }
    if (row->wants_lost)
        redis_load_extra(work, EXTRA_LOST_ALL, row, NULL);
}

static void redis_load_no_losses(redis_work *work)
{
    const hf_loss_row *at = work->rows->losses;
    for (hf_session_row *row = NULL; (row = redis_load_next_loser(&at, row)) != NULL;)
        redis_want(work, REDIS_ABSENT, NULL, "l:", (hf_slice){row->id, HF_SESSION_ID_MAX});
}

/* Queues the command of an extra. They follow the MGET: a row whose rev is the same when the script
 * runs has not changed between. */
static void redis_load_queue(redis_work *work, const redis_extra *extra)
{
    /* clang-format off */
    static const struct {
        const char *command, *key, *words[3];
    } commands[] = {
        [EXTRA_LOST_ANY] = {"EXISTS", NULL, {NULL}},
        [EXTRA_LOST_ONE] = {"HGET", "l:", {NULL}},
        [EXTRA_PAST] = {"HGET", "p:", {NULL}},
        [EXTRA_LOST_ALL] = {"HGETALL", "l:", {NULL}},
        [EXTRA_LOCKS] = {"ZRANGE", "h:", {"0", "-1"}},
        [EXTRA_COUNT] = {"ZCARD", "h:", {NULL}},
        [EXTRA_FIRST] = {"ZRANGE", "h:", {"0", "0", "WITHSCORES"}},
        [EXTRA_OVER] = {"ZRANGEBYSCORE", "h:", {"-inf"}},
        [EXTRA_ASKED] = {"ZINTER", "h:", {NULL}},
    };
    /* clang-format on */
    hf_redis_words *to = &work->conn->command;
    const hf_session_row *session =
        extra->kind == EXTRA_LOST_ONE ? ((const hf_loss_row *)extra->row)->session : extra->row;
    hf_redis_words_clear(to);
    hf_redis_word(to, hf_slice_of(commands[extra->kind].command));
    if (extra->kind == EXTRA_ASKED)
        hf_redis_word(to, hf_slice_of("2"));
    if (extra->kind == EXTRA_PAST)
        redis_key_word(work, to, "p:", redis_load_name(work, extra->resource, '/'));
    else if (commands[extra->kind].key != NULL)
        redis_key_word(work, to, commands[extra->kind].key,
                       (hf_slice){session->id, HF_SESSION_ID_MAX});
    for (int i = 0; i < 3 && commands[extra->kind].words[i] != NULL; i++)
        hf_redis_word(to, hf_slice_of(commands[extra->kind].words[i]));
    const hf_loss_row *at = extra->kind == EXTRA_LOST_ANY ? work->rows->losses : NULL;
    for (hf_session_row *row = NULL; (row = redis_load_next_loser(&at, row)) != NULL;)
        redis_key_word(work, to, "l:", (hf_slice){row->id, HF_SESSION_ID_MAX});
    if (extra->kind == EXTRA_LOST_ONE)
        hf_redis_word(to, redis_load_name(work, extra->resource, '\1'));
    if (extra->kind == EXTRA_PAST)
        hf_redis_word(to, ((const hf_save_row *)extra->row)->request);
    if (extra->kind == EXTRA_OVER)
        hf_redis_number(to, work->now_us);
    if (extra->kind == EXTRA_ASKED)
        redis_key_word(work, to, "asked", HF_NOTHING);
    hf_redis_queue_words(work->conn->redis, to);
}

/* ---- replies ---- */

hf_resource_row *redis_load_member(redis_work *work, hf_slice member, hf_slice *rest)
{
    hf_slice type, id, after = HF_NOTHING;
    if (!redis_split(member, &type, &id))
        return NULL;
    const char *mark = id.size == 0 ? NULL : memchr(id.at, '\1', id.size);
    if (mark != NULL) {
        after = (hf_slice){mark + 1, (size_t)(id.at + id.size - mark - 1)};
        id.size = (size_t)(mark - id.at);
    }
    if (rest != NULL)
        *rest = after;
    hf_resource_row *row = hf_rows_resource(work->rows, type, id, true);
    if (row == NULL)
        redis_fail_memory(work);
    return row;
}

/* Resources that a session holds. */
static void redis_load_holds(redis_work *work, const hf_session_row *session,
                             const hf_redis_reply *list, redis_extra_kind kind)
{
    for (size_t i = 0; i < list->count && work->status == HF_OK; i++) {
        hf_redis_reply member;
        hf_redis_at(list, i, &member);
        hf_resource_row *row = redis_load_member(work, member.text, NULL);
        if (row == NULL)
            continue;
        row->wanted |= session->wants_anchors;
        row->wants_requests |= session->wants_requests || session->wants_anchors ||
                               kind == EXTRA_OVER || kind == EXTRA_ASKED;
    }
}

static void redis_load_lost(redis_work *work, hf_session_row *session, hf_slice member,
                            hf_slice value)
{
    hf_slice type, id;
    member = redis_load_copy(work, member);
    value = redis_load_copy(work, value);
    if (work->status != HF_OK)
        return;
    if (!redis_split(member, &type, &id)) {
        redis_fail_foreign(work, hf_slice_of("l:"));
        return;
    }
    hf_lost_row *row = hf_rows_lost(work->rows, session, type, id);
    if (row != NULL && row->stored) /* it was wanted twice */
        return;
    if (row != NULL)
        row->stored = row->present = true;
    if (row != NULL && !redis_text_read(REDIS_TEXT_LOST, row, &value))
        redis_fail_foreign(work, hf_slice_of("l:"));
    else if (row == NULL || !hf_rows_want_taker(work->rows, row))
        redis_fail_memory(work);
}

static void redis_load_all_lost(redis_work *work, hf_session_row *session,
                                const hf_redis_reply *list)
{
    for (size_t i = 0; i + 1 < list->count; i += 2) {
        hf_redis_reply member, value;
        hf_redis_at(list, i, &member);
        hf_redis_at(list, i + 1, &value);
        redis_load_lost(work, session, member.text, value.text);
    }
}

static void redis_load_past(redis_work *work, hf_save_row *row, const hf_redis_reply *reply)
{
    if (reply->kind != HF_REDIS_TEXT)
        return;
    hf_slice value = redis_load_copy(work, reply->text);
    row->stored = row->present = true;
    if (!redis_text_read(REDIS_TEXT_PAST, row, &value) && work->status == HF_OK)
        redis_fail_foreign(work, hf_slice_of("p:"));
}

static void redis_load_take_extra(redis_work *work, redis_extra *extra)
{
    hf_redis_reply reply, part;
    hf_session_row *session = extra->row;
    if (!redis_reply(work, &reply))
        return;
    switch (extra->kind) {
    case EXTRA_LOST_ANY:
        extra->number = reply.number;
        break;
    case EXTRA_LOST_ONE:
        if (reply.kind == HF_REDIS_TEXT) {
            const hf_loss_row *loss = extra->row;
            redis_load_lost(work, loss->session, redis_load_name(work, loss->resource, '\1'),
                            reply.text);
        }
        break;
    case EXTRA_PAST:
        redis_load_past(work, extra->row, &reply);
        break;
    case EXTRA_LOST_ALL:
        redis_load_all_lost(work, session, &reply);
        break;
    case EXTRA_COUNT:
        session->live_locks = (size_t)reply.number;
        break;
    case EXTRA_FIRST:
        if (reply.count == 2) {
            hf_redis_at(&reply, 1, &part);
            double score = strtod(part.text.at, NULL);
            extra->number = isfinite(score) ? (int64_t)score : 0;
        }
        break;
    case EXTRA_OVER:
        session->live_locks -=
            reply.count < session->live_locks ? reply.count : session->live_locks;
        redis_load_holds(work, session, &reply, extra->kind);
        break;
    default:
        redis_load_holds(work, session, &reply, extra->kind);
    }
}

/* ---- values ---- */

static void *redis_load_was(redis_work *work, redis_was was)
{
    redis_was *out = redis_load_alloc(work, sizeof *out);
    if (out != NULL)
        *out = was;
    return out;
}

static void redis_load_check_schema(redis_work *work, hf_slice key, hf_slice value)
{
    const char *path = hf_redis_path(work->conn->redis);
    if (hf_slice_equal(value, hf_slice_of(REDIS_SCHEMA)) || work->status != HF_OK ||
        (value.size == 0 && work->store->relaxed))
        return;
    if (value.size == 0)
        work->status = hf_fail(
            work->err, HF_UNAVAILABLE,
            "The keys of the namespace %s are gone from %s: it was emptied, or restarted without "
            "its data. All locks are lost; to begin anew, open the store again.",
            work->store->url.names, path);
    else if (value.size > 9 && value.size < 100 && memcmp(value.at, "holdfast ", 9) == 0)
        work->status = hf_fail(work->err, HF_UNAVAILABLE,
                               "The namespace %s on %s is of a newer version; upgrade holdfast.",
                               work->store->url.names, path);
    else
        redis_fail_foreign(work, key);
}

/* The first field of a value, its rev, with its tab. */
static hf_slice redis_load_begin(hf_slice value)
{
    const char *tab = memchr(value.at, '\t', value.size);
    return (hf_slice){value.at, tab == NULL ? value.size : (size_t)(tab + 1 - value.at)};
}

static bool redis_load_type(hf_type *type, hf_slice value, hf_slice *compared)
{
    redis_type row;
    *compared = redis_load_begin(value);
    if (!redis_text_read(REDIS_TEXT_TYPE, &row, &value))
        return false;
    type->policy = hf_policy_from_name(row.policy);
    type->ttl_us = row.ttl_us;
    type->ttl_max_us = row.ttl_max_us;
    return type->policy != HF_POLICY_COUNT;
}

/* Puts a value into its row. */
static void redis_load_value(redis_work *work, redis_row *read, hf_slice value)
{
    hf_session_row *session = read->row;
    hf_resource_row *resource = read->row;
    bool good = true;
    switch (read->kind) {
    case REDIS_SCHEMA_ROW:
        read->value = value;
        redis_load_check_schema(work, read->key, value);
        return;
    case REDIS_FLOOR:
        work->floor = work->rows->fence_floor = redis_number_of(value);
        if (value.size > 0 && work->rows->fence_floor == 0)
            redis_fail_foreign(work, read->key);
        return;
    case REDIS_PLAIN:
        *(hf_slice *)read->row = read->value = value;
        return;
    case REDIS_ENDS:
        session->ends.text = value;
        return;
    default:
        break;
    }
    if (value.size == 0)
        return;
    if (read->kind == REDIS_TYPE) {
        good = redis_load_type(&((hf_type_row *)read->row)->type, value, &read->value);
    } else if (read->kind == REDIS_OPEN) {
        good = value.size == HF_SESSION_ID_MAX;
        read->value = value;
        ((hf_open_row *)read->row)->session = good ? hf_rows_session(work->rows, value.at) : NULL;
    } else if (read->kind == REDIS_SESSION) {
        hf_slice left = value;
        good = redis_text_read(REDIS_TEXT_SESSION, session, &left) && left.size == 0;
        session->stored = session->present = true;
        read->value = redis_load_begin(value);
        session->origin = redis_load_was(
            work, (redis_was){.rev = session->rev, .expires_us = session->expires_us});
    } else if (read->kind == REDIS_RESOURCE) {
        good = redis_read_resource(work->rows, resource, value, &read->value);
        resource->origin = redis_load_was(work, (redis_was){.rev = resource->rev,
                                                            .kept = redis_is_kept(resource),
                                                            .asked = resource->requests != NULL});
    }
    if (work->rows->failed)
        redis_fail_memory(work);
    else if (!good)
        redis_fail_foreign(work, read->key);
}

/* ---- rounds ---- */

/* Whether what was read in earlier rounds is read again: only then is all of it of one moment.
 * Whatever writes is compared by the script. */
static bool redis_load_again(const redis_work *work, const redis_row *read)
{
    return work->looks && !read->not_compared && read->kind != REDIS_ABSENT;
}

/* Takes from the last conflict what it answered; the others become words of an MGET. */
static size_t redis_load_gather(redis_work *work)
{
    hf_redis_words *keys = &work->conn->keys;
    hf_redis_words_clear(keys);
    hf_redis_word(keys, hf_slice_of("MGET"));
    for (redis_row *read = work->next_read; read != NULL; read = read->next) {
        const redis_fresh *fresh =
            read->kind == REDIS_ABSENT ? NULL : redis_conflict_answered(work, read->key);
        if (fresh != NULL)
            redis_load_value(work, read,
                             redis_load_copy(work, fresh->there ? fresh->value : HF_NOTHING));
        else if (read->kind != REDIS_ABSENT)
            hf_redis_word(keys, read->key);
        read->fetched = fresh != NULL || read->kind == REDIS_ABSENT;
    }
    size_t count = keys->count - 1;
    for (redis_row *read = work->reads; count > 0 && read != work->next_read; read = read->next)
        if (redis_load_again(work, read))
            hf_redis_word(keys, read->key);
    return count;
}

/* As the script compares. */
static bool redis_load_is_same(const redis_row *read, const hf_redis_reply *now)
{
    hf_slice value = now->kind == HF_REDIS_TEXT ? now->text : HF_NOTHING;
    bool begins = read->value.size > 0 && read->value.at[read->value.size - 1] == '\t';
    if (begins && value.size > read->value.size)
        value.size = read->value.size;
    return hf_slice_equal(value, read->value);
}

static void redis_load_take_values(redis_work *work, redis_row *from)
{
    hf_redis_reply reply, value;
    size_t at = 0;
    if (!redis_reply(work, &reply))
        return;
    for (redis_row *read = from; read != NULL && work->status == HF_OK; read = read->next) {
        if (read->fetched)
            continue;
        hf_redis_at(&reply, at++, &value);
        redis_load_value(
            work, read,
            redis_load_copy(work, value.kind == HF_REDIS_TEXT ? value.text : HF_NOTHING));
    }
    for (redis_row *read = work->reads; read != from && work->status == HF_OK; read = read->next) {
        if (!redis_load_again(work, read))
            continue;
        hf_redis_at(&reply, at++, &value);
        work->conflict |= !redis_load_is_same(read, &value);
    }
}

/* After the time is known: what the extras of this round ask for in the next. */
static void redis_load_ask_more(redis_work *work, const redis_extra *extra)
{
    if (extra->kind == EXTRA_LOST_ANY && extra->number == 0)
        redis_load_no_losses(work);
    else if (extra->kind == EXTRA_LOST_ANY)
        for (hf_loss_row *loss = work->rows->losses; loss != NULL; loss = loss->next) {
            if (!loss->session->wants_lost)
                redis_load_extra(work, EXTRA_LOST_ONE, loss, loss->resource);
        }
    else if (extra->kind == EXTRA_FIRST && extra->number != 0 && extra->number <= work->now_us)
        redis_load_extra(work, EXTRA_OVER, extra->row, NULL);
}

/* One round trip, or none. */
static void redis_load_round(redis_work *work)
{
    hf_redis_reply time;
    redis_row *from = work->next_read;
    redis_extra *extras = work->extras;
    size_t keys = redis_load_gather(work);
    if (work->status != HF_OK)
        return;
    work->next_read = NULL;
    work->extras = NULL;
    work->extras_end = &work->extras;
    if (keys == 0 && extras == NULL) { /* the conflict answered it all, with the time */
        if (work->now_us == 0)
            work->now_us = hf_store_now(&work->store->base, work->fresh_us);
        return;
    }
    if (keys > 0)
        hf_redis_queue_words(work->conn->redis, &work->conn->keys);
    for (redis_extra *extra = extras; extra != NULL; extra = extra->next)
        redis_load_queue(work, extra);
    hf_redis_queue(work->conn->redis, "TIME", NULL);
    if (!redis_flush(work))
        return;
    if (keys > 0)
        redis_load_take_values(work, from);
    for (redis_extra *extra = extras; extra != NULL && work->status == HF_OK; extra = extra->next)
        redis_load_take_extra(work, extra);
    if (redis_reply(work, &time) && time.count == 2)
        work->now_us = hf_store_now(&work->store->base, redis_conflict_time(&time, 0));
    if (work->status == HF_OK) /* else the rest of the replies is still to come */
        redis_all_taken(work);
    for (redis_extra *extra = extras; extra != NULL && work->status == HF_OK; extra = extra->next)
        redis_load_ask_more(work, extra);
}

void redis_load_rest(redis_work *work)
{
    while (work->status == HF_OK && !work->conflict) {
        for (hf_session_row *row = work->rows->sessions; row != NULL; row = row->next)
            if (!row->loaded)
                redis_load_want_session(work, row);
        for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
            if (!row->loaded)
                redis_load_want_resource(work, row);
        if (work->next_read == NULL && work->extras == NULL)
            return;
        redis_load_round(work);
    }
}

void redis_load(redis_work *work)
{
    hf_rows *rows = work->rows;
    redis_want(work, REDIS_SCHEMA_ROW, NULL, "schema", HF_NOTHING);
    redis_row *floor = redis_want(work, REDIS_FLOOR, NULL, "floor", HF_NOTHING);
    if (floor != NULL)
        floor->not_compared = true; /* it moves with every release; the script compares it */
    for (hf_type_row *row = rows->types; row != NULL; row = row->next)
        redis_want(work, REDIS_TYPE, row, "y:", (hf_slice){row->type.type, row->size});
    for (hf_open_row *row = rows->opens; row != NULL; row = row->next)
        redis_want(work, REDIS_OPEN, row, "o:", row->request);
    for (hf_session_row *row = rows->sessions; row != NULL && work->status == HF_OK;
         row = row->next)
        redis_load_ask_session(work, row);
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        for (hf_save_row *past = row->past; past != NULL; past = past->next)
            redis_load_extra(work, EXTRA_PAST, past, row);
    const hf_loss_row *losses = rows->losses;
    if (work->fresh != NULL)
        redis_load_no_losses(work);
    else if (redis_load_next_loser(&losses, NULL) != NULL)
        redis_load_extra(work, EXTRA_LOST_ANY, NULL, NULL);
    redis_load_rest(work);
}
