/* SPDX-License-Identifier: MIT */
/* The driver for Redis: reading keys and sets in one round trip, and the script that writes a
 * batch. */
#include "base/error.h"
#include "sql/redis_store_commit.h"
#include "store/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS_AT_ONCE = 2000, /* of one command; Lua has room for 7,999 words */
    WAIT_MS = 1000          /* for replicas */
};

#define REDIS_FULL                                                                                 \
    "The memory of Redis is full: nothing new can be taken until there is room. Releasing and "    \
    "beating still work."

/* ---- talking ---- */

static redis_conn *conn_of(const kv_work *work)
{
    return (redis_conn *)work->conn;
}

static const redis_store *store_of(const kv_work *work)
{
    return (const redis_store *)work->store;
}

static bool batch_begins(hf_slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.at, word, size) == 0;
}

/* Before 7.0 the error of a command in a script stands behind where in the script it was. */
static bool batch_mentions(hf_slice text, const char *words)
{
    return memmem(text.at, text.size, words, strlen(words)) != NULL;
}

/* Names a key without its prefix, as the core does. */
static void batch_fail_foreign(kv_work *work, hf_slice key)
{
    const char *prefix = store_of(work)->prefix;
    size_t size = batch_begins(key, prefix) ? strlen(prefix) : 0;
    kv_fail_foreign(work, (hf_slice){key.at + size, key.size - size});
}

/* What the server refused: nothing was done. */
static void batch_fail(kv_work *work, hf_slice text)
{
    const char *path = hf_redis_path(conn_of(work)->redis);
    int size = (int)(text.size < 300 ? text.size : 300);
    if (batch_begins(text, "FOREIGN ")) {
        batch_fail_foreign(work, (hf_slice){text.at + 8, text.size - 8});
    } else if (batch_mentions(text, "OOM command not allowed")) {
        work->full = true;
        work->status = hf_fail(work->err, HF_UNAVAILABLE, REDIS_FULL);
    } else if (batch_begins(text, "LOADING") || batch_begins(text, "BUSY")) {
        work->unready = true;
        work->status =
            hf_fail_away(work->err, HF_UNAVAILABLE, "%s is not ready: %.*s; try again in a moment.",
                         path, size, text.at);
    } else if (batch_mentions(text, "READONLY")) {
        conn_of(work)->judged_us = INT64_MIN / 2; /* judged again before it is used again */
        work->status = hf_fail(work->err, HF_UNAVAILABLE,
                               "%s is a replica now: name the master in the URL.", path);
    } else if (batch_begins(text, "WRONGTYPE")) {
        kv_fail_foreign(work, HF_NOTHING);
    } else {
        work->status = hf_fail(work->err, HF_UNAVAILABLE, "%s refused: %.*s.", path, size, text.at);
    }
}

bool redis_flush(kv_work *work)
{
    work->conn->owed = true; /* also when it isn't sent: what was queued is not to go with others */
    if (work->status == HF_OK)
        work->status = hf_redis_send(conn_of(work)->redis, work->err);
    return work->status == HF_OK;
}

void redis_all_taken(kv_work *work)
{
    if (hf_redis_alive(conn_of(work)->redis))
        work->conn->owed = false;
}

bool redis_reply(kv_work *work, hf_redis_reply *out)
{
    if (work->status == HF_OK)
        work->status = hf_redis_read(conn_of(work)->redis, out, work->err);
    if (work->status == HF_OK && out->kind == HF_REDIS_ERROR)
        batch_fail(work, out->text);
    return work->status == HF_OK;
}

static void batch_key(const kv_work *work, hf_redis_words *to, hf_slice key)
{
    hf_redis_joined(to, (hf_slice[]){hf_slice_of(store_of(work)->prefix), key}, 2);
}

/* Begins a command, whose first word after its name is a key. */
static hf_redis_words *batch_command(const kv_work *work, const char *name, hf_slice key)
{
    hf_redis_words *to = &conn_of(work)->command;
    hf_redis_words_clear(to);
    hf_redis_word(to, hf_slice_of(name));
    if (key.size > 0)
        batch_key(work, to, key);
    return to;
}

/* The time that stands in a list, in microseconds. */
static int64_t batch_time(const hf_redis_reply *list)
{
    hf_redis_reply seconds, micros;
    hf_redis_at(list, 0, &seconds);
    hf_redis_at(list, 1, &micros);
    return strtoll(seconds.text.at, NULL, 10) * 1000000 + strtoll(micros.text.at, NULL, 10);
}

/* ---- reading ---- */

static hf_slice batch_copy(kv_work *work, hf_arena *arena, const hf_redis_reply *from)
{
    hf_slice out = {"", 0};
    if (from->kind != HF_REDIS_TEXT)
        return HF_NOTHING;
    if (from->text.size > 0 && !hf_arena_copy(arena, from->text, &out))
        kv_fail_memory(work);
    return out;
}

static void batch_queue_range(const kv_work *work, const kv_range *range)
{
    hf_redis_words *to =
        batch_command(work, range->limit == 0 ? "ZLEXCOUNT" : "ZRANGEBYLEX", range->set);
    hf_redis_joined(to, (hf_slice[]){{range->after.size > 0 ? "(" : "-", 1}, range->after}, 2);
    hf_redis_joined(to, (hf_slice[]){{range->before.size > 0 ? "(" : "+", 1}, range->before}, 2);
    if (range->limit != 0 && range->limit != SIZE_MAX) {
        hf_redis_word(to, hf_slice_of("LIMIT"));
        hf_redis_number(to, 0);
        hf_redis_number(to, (int64_t)range->limit);
    }
    hf_redis_queue_words(conn_of(work)->redis, to);
}

static void batch_take_range(kv_work *work, kv_range *range)
{
    hf_redis_reply reply, part;
    if (!redis_reply(work, &reply))
        return;
    range->count = range->limit == 0 ? (size_t)reply.number : reply.count;
    if (range->limit == 0 || range->count == 0)
        return;
    range->members = kv_alloc(work, work->names, range->count * sizeof *range->members);
    for (size_t i = 0; i < range->count && work->status == HF_OK; i++) {
        hf_redis_at(&reply, i, &part);
        range->members[i] = batch_copy(work, work->names, &part);
    }
}

static void redis_read(kv_work *work, kv_range *ranges)
{
    hf_redis *redis = conn_of(work)->redis;
    hf_redis_words *to = batch_command(work, "MGET", HF_NOTHING);
    hf_redis_reply reply, part;
    size_t count = 0;
    for (const kv_get *get = work->gets; get != NULL; get = get->next)
        if (get->asked) {
            batch_key(work, to, get->key);
            count++;
        }
    if (count > 0)
        hf_redis_queue_words(redis, to);
    for (const kv_range *range = ranges; range != NULL; range = range->next)
        batch_queue_range(work, range);
    hf_redis_queue(redis, "TIME", NULL);
    redis_flush(work);
    kv_get *get = count > 0 && redis_reply(work, &reply) ? work->gets : NULL;
    for (count = 0; get != NULL && work->status == HF_OK; get = get->next)
        if (get->asked) {
            hf_redis_at(&reply, count++, &part);
            get->now = batch_copy(work, &work->rows->arena, &part);
        }
    for (kv_range *range = ranges; range != NULL && work->status == HF_OK; range = range->next)
        batch_take_range(work, range);
    if (redis_reply(work, &reply)) {
        work->clock_us = batch_time(&reply);
        redis_all_taken(work);
    }
}

static size_t redis_read_events(kv_work *work, int64_t after, int64_t before, size_t limit,
                                int64_t *seqs, hf_slice *texts)
{
    char from[32], to[32] = "+";
    hf_redis_reply reply, entry, id, pair, value;
    size_t count = 0;
    snprintf(from, sizeof from, "(%lld-0", (long long)(after < 0 ? 0 : after));
    if (before > 0)
        snprintf(to, sizeof to, "(%lld-0", (long long)before);
    hf_redis_words *command = batch_command(work, "XRANGE", hf_slice_of("events"));
    hf_redis_word(command, hf_slice_of(from));
    hf_redis_word(command, hf_slice_of(to));
    hf_redis_word(command, hf_slice_of("COUNT"));
    hf_redis_number(command, (int64_t)limit);
    hf_redis_queue_words(conn_of(work)->redis, command);
    if (!redis_flush(work) || !redis_reply(work, &reply))
        return 0;
    for (size_t i = 0; i < reply.count && count < limit && work->status == HF_OK; i++) {
        hf_redis_at(&reply, i, &entry);
        hf_redis_at(&entry, 0, &id);
        hf_redis_at(&entry, 1, &pair);
        if (pair.count != 2)
            continue;
        hf_redis_at(&pair, 1, &value);
        seqs[count] = strtoll(id.text.at, NULL, 10);
        texts[count++] = batch_copy(work, &work->rows->arena, &value);
    }
    redis_all_taken(work);
    return count;
}

/* ---- committing ---- */

/* A command for each set: the members that enter it, or that leave it. */
static void batch_add_sets(const kv_work *work, hf_redis_words *to, bool enters)
{
    const kv_changes *all = &work->commit.changes;
    for (size_t from = 0, at = 0; at < all->count; from = at) {
        const kv_change *first = &all->all[from];
        while (at < all->count && at - from < MEMBERS_AT_ONCE &&
               all->all[at].enters == first->enters && hf_slice_equal(all->all[at].set, first->set))
            at++;
        if (first->enters != enters)
            continue;
        hf_redis_number(to, (int64_t)(2 + (at - from) * (enters ? 2 : 1)));
        hf_redis_word(to, hf_slice_of(enters ? "ZADD" : "ZREM"));
        batch_key(work, to, first->set);
        for (; from < at; from++) {
            if (enters)
                hf_redis_word(to, (hf_slice){"0", 1});
            hf_redis_word(to, all->all[from].member);
        }
    }
}

/* The script, by its name or in full, with its arguments in its order. */
static void batch_queue_script(const kv_work *work, bool in_full)
{
    hf_redis_words *to = batch_command(work, in_full ? "EVAL" : "EVALSHA", HF_NOTHING);
    const kv_commit *it = &work->commit;
    size_t compared = 0, puts = 0;
    for (const kv_get *get = work->gets; get != NULL; get = get->next)
        compared += get->compared;
    hf_redis_word(to, hf_slice_of(in_full ? redis_store_commit : conn_of(work)->script));
    hf_redis_word(to, hf_slice_of("0")); /* keys; they are among the arguments */
    hf_redis_word(to, hf_slice_of(store_of(work)->prefix));
    hf_redis_word(to, hf_slice_of(store_of(work)->self));
    hf_redis_number(to, it->deadline_us);
    hf_redis_number(to, it->grows);
    hf_redis_number(to, it->floor);
    hf_redis_number(to, it->lowest);
    hf_redis_number(to, (int64_t)compared);
    for (const kv_get *get = work->gets; get != NULL; get = get->next)
        if (get->compared)
            batch_key(work, to, get->key);
    for (const kv_get *get = work->gets; get != NULL; get = get->next) {
        hf_slice read = {get->value.at, get->begin > 0 ? get->begin : get->value.size};
        if (get->compared)
            hf_redis_word(to, read);
    }
    hf_redis_number(to, (int64_t)it->events_count);
    for (size_t i = 0; i < it->events_count; i++)
        hf_redis_word(to, it->events[i]);
    hf_redis_number(to, (int64_t)it->gone_count);
    for (size_t i = 0; i < it->gone_count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%lld-0", (long long)it->gone[i].id);
        hf_redis_word(to, hf_slice_of(id));
    }
    for (size_t i = 0; i < it->puts_count; i++)
        puts += it->puts[i].value.at != NULL;
    hf_redis_number(to, (int64_t)puts);
    for (size_t i = 0; i < it->puts_count; i++)
        if (it->puts[i].value.at != NULL) {
            batch_key(work, to, it->puts[i].key);
            hf_redis_word(to, it->puts[i].value);
        }
    hf_redis_number(to, (int64_t)(it->puts_count - puts));
    for (size_t i = 0; i < it->puts_count; i++)
        if (it->puts[i].value.at == NULL)
            batch_key(work, to, it->puts[i].key);
    batch_add_sets(work, to, it->grows); /* what is written first is checked for room */
    batch_add_sets(work, to, !it->grows);
    hf_redis_queue_words(conn_of(work)->redis, to);
}

/* V7; who opens a store writes nothing that anyone relies on. */
static bool batch_waits(const kv_work *work)
{
    return store_of(work)->url.replicas > 0 && work->batch != NULL;
}

/* WAIT covers what its own connection has written, and all that was written before that. */
static void batch_queue_wait(const kv_work *work)
{
    char replicas[12], wait[12];
    snprintf(replicas, sizeof replicas, "%u", store_of(work)->url.replicas);
    snprintf(wait, sizeof wait, "%d", WAIT_MS);
    hf_redis_queue(conn_of(work)->redis, "WAIT", replicas, wait, NULL);
}

/* The answer to WAIT: `failure` when too few replicas have acknowledged. */
static hf_status batch_read_wait(const kv_work *work, hf_status failure, hf_error *err)
{
    hf_redis_reply reply;
    hf_status status = hf_redis_read(conn_of(work)->redis, &reply, err);
    if (status != HF_OK ||
        (reply.kind == HF_REDIS_NUMBER && reply.number >= store_of(work)->url.replicas))
        return status;
    return hf_fail(err, failure, "%lld of %u replicas have acknowledged in time; ask again.",
                   reply.kind == HF_REDIS_NUMBER ? (long long)reply.number : 0,
                   store_of(work)->url.replicas);
}

/* The keys as they are now, for the next try. True: one that should not exist does, and MGET does
 * not see it. */
static bool batch_conflict(kv_work *work, const hf_redis_reply *answer)
{
    enum { HIDDEN = 2, FLOOR, BEFORE };
    hf_redis_reply part;
    size_t at = BEFORE;
    work->sent = false;
    work->conflict = true;
    work->fresh_us = batch_time(answer);
    for (const kv_get *get = work->gets; get != NULL; get = get->next) {
        if (!get->compared && get->kind != KV_FLOOR)
            continue;
        hf_redis_at(answer, get->compared ? at++ : FLOOR, &part);
        hf_slice value = part.kind == HF_REDIS_TEXT ? part.text : HF_NOTHING;
        kv_keep(work, get, value);
    }
    hf_redis_at(answer, HIDDEN, &part);
    return part.number != 0;
}

/* Sends the script, by its name or in full, and takes the answers to it and to WAIT. */
static void batch_send(kv_work *work, bool in_full, bool *unknown, bool *hidden)
{
    hf_redis_reply reply;
    batch_queue_script(work, in_full);
    if (batch_waits(work))
        batch_queue_wait(work);
    work->sent = true;
    if (!redis_flush(work) ||
        (work->status = hf_redis_read(conn_of(work)->redis, &reply, work->err)) != HF_OK)
        return;
    if (reply.kind == HF_REDIS_ERROR) {
        work->sent = false; /* nothing was written */
        *unknown = batch_begins(reply.text, "NOSCRIPT");
        if (!*unknown)
            batch_fail(work, reply.text);
    } else if (reply.kind == HF_REDIS_LIST)
        *hidden = batch_conflict(work, &reply);
    if (!batch_waits(work))
        return;
    hf_status status = batch_read_wait(work, HF_UNSURE, work->sent ? work->err : NULL);
    if (work->sent)
        work->status = status;
}

static void redis_commit(kv_work *work)
{
    bool unknown = false, again = false, hidden = false;
    hf_redis_reply reply;
    batch_send(work, false, &unknown, &hidden);
    if (unknown)
        batch_send(work, true, &again, &hidden);
    redis_all_taken(work);
    if (!hidden || work->status != HF_OK)
        return;
    for (const kv_get *get = work->gets; get != NULL; get = get->next) /* whose is it? */
        hf_redis_queue_words(conn_of(work)->redis, batch_command(work, "TYPE", get->key));
    redis_flush(work);
    for (const kv_get *get = work->gets; get != NULL && redis_reply(work, &reply); get = get->next)
        if (strcmp(reply.text.at, "none") != 0 && strcmp(reply.text.at, "string") != 0) {
            kv_fail_foreign(work, get->key);
            return;
        }
    redis_all_taken(work);
}

/* ---- what was written before ---- */

/* Whether the caller may rely on an answer: a change that is done, or was done by an earlier try, a
 * lock that is held, a version that was read. A refusal promises nothing; who and lists only look.
 */
static bool batch_is_relied_on(const hf_op *op)
{
    return op->answer.status == HF_OK && op->kind != HF_OP_SWEEP &&
           (!hf_op_reads(op->kind) || op->kind == HF_OP_HOLDS || op->kind == HF_OP_VERSION);
}

static hf_status redis_confirm(kv_work *work)
{
    bool relied_on = false;
    hf_redis_reply published;
    for (size_t i = 0; i < work->batch->count; i++)
        relied_on |= batch_is_relied_on(&work->batch->ops[i]);
    if (!batch_waits(work) || work->sent || !relied_on)
        return HF_OK;
    hf_status failure = work->changes ? HF_UNSURE : HF_UNAVAILABLE;
    hf_redis_words *command = batch_command(work, "PUBLISH", hf_slice_of("replicas"));
    hf_redis_word(command, hf_slice_of(""));
    hf_redis_queue_words(conn_of(work)->redis, command);
    batch_queue_wait(work);
    if (redis_flush(work) && redis_reply(work, &published))
        work->status = batch_read_wait(work, failure, work->err);
    redis_all_taken(work);
    if (work->status != HF_OK && work->status != failure)
        work->status =
            hf_fail(work->err, failure, "%s did not tell whether replicas have it; ask again.",
                    hf_redis_path(conn_of(work)->redis));
    return work->status;
}

static bool redis_is_alive(const kv_conn *conn)
{
    return hf_redis_alive(((const redis_conn *)conn)->redis);
}

static const char *redis_path(const kv_conn *conn)
{
    return hf_redis_path(((const redis_conn *)conn)->redis);
}

const kv_driver redis_driver = {
    .full = REDIS_FULL,
    .connect = redis_connect,
    .check = redis_check,
    .alive = redis_is_alive,
    .disconnect = redis_disconnect,
    .path = redis_path,
    .read = redis_read,
    .events = redis_read_events,
    .commit = redis_commit,
    .confirm = redis_confirm,
};
