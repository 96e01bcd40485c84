/* SPDX-License-Identifier: MIT */
/* The store on Redis: executing batches. V1 to V6 stand in redis.h. */
#include "store/redis.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"
#include "store/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    GROUPS_AT_ONCE = 1, /* the server answers nobody while it syncs: two would share less */
    LONG_US = 100000,
    LOST_TRIES = 2,       /* connections that may be lost before anything was sent */
    LOADING_US = 10000000 /* a server that loads its data is waited for so long, when opened */
};

#define REDIS_FULL                                                                                 \
    "The memory of Redis is full: nothing new can be taken until there is room. Releasing and "    \
    "beating still work."
#define REDIS_BUSY "Others are in the middle of changes of the same records; try again."

/* ---- talking ---- */

void redis_fail_memory(redis_work *work)
{
    if (work->status == HF_OK)
        work->status = hf_fail_memory(work->err);
}

void redis_fail_foreign(redis_work *work, hf_slice key)
{
    if (work->status == HF_OK)
        work->status = hf_fail(
            work->err, HF_UNAVAILABLE,
            "The key %.*s on %s has a value that is not holdfast's. Give holdfast a namespace of "
            "its own (namespace=NAME), or remove that key.",
            (int)(key.size < 300 ? key.size : 300), key.at, hf_redis_path(work->conn->redis));
}

static bool redis_begins(hf_slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.at, word, size) == 0;
}

/* Before 7.0 the error of a command in a script stands behind where in the script it was. */
static bool redis_mentions(hf_slice text, const char *words)
{
    return memmem(text.at, text.size, words, strlen(words)) != NULL;
}

/* What the server refused: nothing was done. */
void redis_fail_reply(redis_work *work, hf_slice text)
{
    const char *path = hf_redis_path(work->conn->redis);
    int size = (int)(text.size < 300 ? text.size : 300);
    if (redis_begins(text, "FOREIGN ")) {
        redis_fail_foreign(work, (hf_slice){text.at + 8, text.size - 8});
    } else if (redis_mentions(text, "OOM command not allowed")) {
        work->full = true;
        work->status = hf_fail(work->err, HF_UNAVAILABLE, REDIS_FULL);
    } else if (redis_begins(text, "LOADING") || redis_begins(text, "BUSY")) {
        work->loading = true;
        work->status =
            hf_fail_away(work->err, HF_UNAVAILABLE, "%s is not ready: %.*s; try again in a moment.",
                         path, size, text.at);
    } else if (redis_mentions(text, "READONLY")) {
        work->conn->judged_us = INT64_MIN / 2; /* it is judged again before it is used again */
        work->status = hf_fail(work->err, HF_UNAVAILABLE,
                               "%s is a replica now: name the master in the URL.", path);
    } else if (redis_begins(text, "WRONGTYPE")) {
        redis_fail_foreign(work, hf_slice_of(work->store->prefix));
    } else {
        work->status = hf_fail(work->err, HF_UNAVAILABLE, "%s refused: %.*s.", path, size, text.at);
    }
}

bool redis_flush(redis_work *work)
{
    work->conn->owed = true; /* also when it isn't sent: what was queued is not to go with others */
    if (work->status == HF_OK)
        work->status = hf_redis_send(work->conn->redis, work->err);
    return work->status == HF_OK;
}

void redis_all_taken(redis_work *work)
{
    if (hf_redis_alive(work->conn->redis))
        work->conn->owed = false;
}

bool redis_reply(redis_work *work, hf_redis_reply *out)
{
    if (work->status == HF_OK)
        work->status = hf_redis_read(work->conn->redis, out, work->err);
    if (work->status == HF_OK && out->kind == HF_REDIS_ERROR)
        redis_fail_reply(work, out->text);
    return work->status == HF_OK;
}

bool redis_call(redis_work *work, hf_redis_reply *out)
{
    hf_redis_queue_words(work->conn->redis, &work->conn->command);
    if (!redis_flush(work) || !redis_reply(work, out))
        return false;
    redis_all_taken(work);
    return true;
}

void redis_key_word(const redis_work *work, hf_redis_words *to, const char *kind, hf_slice rest)
{
    hf_slice parts[] = {hf_slice_of(work->store->prefix), hf_slice_of(kind), rest};
    hf_redis_joined(to, parts, 3);
}

/* ---- a batch ---- */

/* A key that should not exist does, and MGET does not see it: whose is it? */
static void redis_find_hidden(redis_work *work)
{
    hf_redis_reply reply;
    for (const redis_row *read = work->reads; read != NULL; read = read->next)
        hf_redis_queue(work->conn->redis, "TYPE", read->key.at, NULL);
    redis_flush(work);
    for (const redis_row *read = work->reads; read != NULL; read = read->next) {
        if (!redis_reply(work, &reply))
            return;
        bool loss = read->kind == REDIS_ABSENT && strcmp(reply.text.at, "hash") == 0;
        if (!loss && strcmp(reply.text.at, "none") != 0 && strcmp(reply.text.at, "string") != 0) {
            redis_fail_foreign(work, read->key);
            return;
        }
    }
    redis_all_taken(work);
}

static void redis_attempt(redis_work *work)
{
    hf_rows *rows = work->rows;
    work->status = HF_OK;
    work->sent = work->conflict = work->hidden = work->loading = false;
    work->now_us = 0;
    redis_load_reset(work);
    hf_batch_unanswer(work->batch);
    if (!hf_rows_reset(rows, work->batch->count) || !hf_rows_want(rows, work->batch)) {
        redis_fail_memory(work);
        return;
    }
    rows->no_growth = work->full ? REDIS_FULL : NULL;
    if (hf_op_alone(work->batch->ops[0].kind)) {
        if (work->batch->ops[0].answer.status == HF_OK)
            redis_alone(work);
        return;
    }
    redis_load(work);
    if (work->conflict) { /* no script has answered the rows as they are now */
        work->fresh = NULL;
        work->fresh_count = 0;
    }
    if (work->status != HF_OK || work->conflict)
        return;
    work->deadline_us = redis_deadline(work);
    if (hf_rows_apply(rows, work->batch, work->now_us))
        redis_save(work);
    else
        redis_fail_memory(work);
}

static void redis_pause(unsigned times)
{
    unsigned most_us = 50u << (times < 10 ? times : 10), drawn = 0;
    hf_seam.random(&drawn, sizeof drawn);
    nanosleep(&(struct timespec){.tv_nsec = (long)(drawn % most_us) * 1000}, NULL);
}

/* A connection to a server that is ready. One that still loads its data is waited for. */
static hf_status redis_take_ready(redis_store *store, int64_t until_us, redis_conn **out,
                                  hf_error *err)
{
    hf_status status;
    while ((status = redis_conn_take(store, out, err)) == HF_BUSY && hf_seam.boot_us() < until_us)
        redis_pause(10);
    if (status == HF_BUSY && err != NULL)
        err->status = HF_UNAVAILABLE;
    return status == HF_BUSY ? HF_UNAVAILABLE : status;
}

/* Another connection, after one was lost before anything was sent on it. */
static hf_status redis_reconnect(redis_work *work)
{
    redis_conn_give(work->store, work->conn);
    work->conn = NULL;
    hf_status status = redis_take_ready(work->store, work->until_us, &work->conn, work->err);
    work->fresh = NULL;
    work->fresh_count = 0;
    work->rows = status == HF_OK ? &work->conn->rows : NULL;
    return status;
}

/* Tries until it is done, refused or too late. */
static hf_status redis_try_batch(redis_work *work)
{
    unsigned lost = 0, hidden = 0;
    for (unsigned times = 0;; times++) {
        bool was_full = work->full;
        redis_attempt(work);
        bool late = hf_seam.boot_us() >= work->until_us;
        if (work->status == HF_OK && !work->conflict)
            return HF_OK;
        if (work->conflict && work->hidden && ++hidden > 1) {
            redis_find_hidden(work);
            if (work->status != HF_OK)
                return work->status;
        }
        if (work->conflict) {
            if (late)
                return hf_fail(work->err, HF_BUSY, REDIS_BUSY);
            if (times > 0)
                redis_pause(times < 7 ? times : 7);
            continue;
        }
        work->fresh = NULL;
        work->fresh_count = 0;
        if (work->full && !was_full)
            continue;
        if (work->loading && !late) { /* further replies may be on their way */
            redis_pause(10);
            hf_status status = redis_reconnect(work);
            if (status != HF_OK)
                return status;
            continue;
        }
        if (hf_redis_alive(work->conn->redis))
            return work->status;
        if (work->sent)
            return hf_fail(work->err, HF_UNSURE,
                           "The connection to %s was lost while it wrote: it is not known whether "
                           "that was done. Ask again with the same request id.",
                           hf_redis_path(work->conn->redis));
        if (++lost > LOST_TRIES || work->status == HF_NO_MEMORY)
            return work->status;
        hf_status status = redis_reconnect(work);
        if (status != HF_OK)
            return status;
    }
}

static hf_status redis_execute_one(hf_store *base, hf_batch *batch, hf_error *err)
{
    redis_store *store = (redis_store *)base;
    hf_error own;
    redis_work work = {.store = store, .batch = batch, .err = err != NULL ? err : &own};
    for (size_t i = 0; i < batch->count; i++)
        work.looks |= batch->ops[i].kind == HF_OP_WHO;
    work.until_us = (batch->since_us != 0 ? batch->since_us : hf_seam.boot_us()) + HF_DB_BUSY_US;
    if (batch->tried && hf_seam.boot_us() >= work.until_us)
        return hf_fail(err, HF_BUSY, REDIS_BUSY);
    hf_status status = redis_take_ready(store, work.until_us, &work.conn, work.err);
    if (status != HF_OK)
        return status;
    work.rows = &work.conn->rows;
    status = redis_try_batch(&work);
    if (status == HF_OK)
        status = redis_save_confirm(&work);
    if (work.conn != NULL)
        redis_conn_give(store, work.conn);
    if (status == HF_OK) /* what was tried in vain before is over */
        hf_error_none(work.err);
    return status;
}

static hf_status redis_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    return hf_group_commit_execute(((redis_store *)base)->group_commit, base, batch, err);
}

/* ---- opening and closing ---- */

static void redis_store_close(hf_store *base)
{
    redis_store *store = (redis_store *)base;
    hf_group_commit_free(store->group_commit);
    for (redis_conn *conn = store->idle, *next; conn != NULL; conn = next) {
        next = conn->next;
        redis_conn_free(conn);
    }
    hf_url_done(&store->url);
    pthread_cond_destroy(&store->freed);
    pthread_mutex_destroy(&store->mutex);
    hf_free(store);
}

static hf_status redis_store_read(redis_store *store, const char *url, hf_error *err)
{
    unsigned char random[8];
    hf_status status = hf_url_read(url, &store->url, err);
    if (status != HF_OK)
        return status;
    const char *durability = store->url.durability;
    store->relaxed = durability != NULL && strcmp(durability, "relaxed") == 0;
    if (durability != NULL && !store->relaxed)
        return hf_fail(err, HF_INVALID,
                       "The parameter durability of the URL is \"relaxed\" or is left out.");
    if (store->url.pooler || store->url.pooler_session)
        return hf_fail(err, HF_INVALID, "pooler= is for PostgreSQL; leave it out of the URL.");
    snprintf(store->prefix, sizeof store->prefix, "%s:", store->url.names);
    if (!hf_seam.random(random, sizeof random))
        return hf_fail(err, HF_INTERNAL, "Reading random bytes failed.");
    hf_hex(random, sizeof random, store->self);
    return HF_OK;
}

/* Says whose keys these are, unless someone has. */
static hf_status redis_store_begin(redis_store *store, bool make, hf_error *err)
{
    redis_work work = {.store = store, .err = err};
    hf_redis_reply reply;
    hf_status status = redis_take_ready(store, hf_seam.boot_us() + LOADING_US, &work.conn, err);
    if (status != HF_OK)
        return status;
    redis_command(&work, "GET", "schema", HF_NOTHING); /* SET is refused when memory is full */
    bool none = redis_call(&work, &reply) && reply.kind == HF_REDIS_NIL;
    if (none && make) {
        redis_command(&work, "SET", "schema", HF_NOTHING);
        hf_redis_word(&work.conn->command, hf_slice_of(REDIS_SCHEMA));
        hf_redis_word(&work.conn->command, hf_slice_of("NX"));
        redis_call(&work, &reply);
    } else if (none)
        work.status = hf_fail(err, HF_NOT_FOUND, "There is no store of the namespace %s on %s.",
                              store->url.names, hf_redis_path(work.conn->redis));
    redis_conn_give(store, work.conn);
    return work.status;
}

static hf_status redis_store_look(redis_store *store, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, HF_OP_TYPE_GET); /* reads the schema, too */
    op->type = "holdfast";
    status = redis_execute_one(&store->base, batch, err);
    hf_batch_free(batch);
    return status;
}

static hf_status redis_store_open_any(const char *url, bool make, hf_store **out, hf_error *err)
{
    redis_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return hf_fail_memory(err);
    hf_store_init(&store->base, &hf_store_redis);
    pthread_mutex_init(&store->mutex, NULL);
    pthread_cond_init(&store->freed, NULL);
    hf_status status = redis_store_read(store, url, err);
    if (status == HF_OK)
        status = hf_group_commit_new(&(hf_group_commit_rule){.execute = redis_execute_one,
                                                             .at_once = GROUPS_AT_ONCE,
                                                             .long_us = LONG_US,
                                                             .gathers = true},
                                     &store->group_commit, err);
    if (status == HF_OK)
        status = redis_store_begin(store, make, err);
    if (status == HF_OK)
        status = redis_store_look(store, err);
    if (status != HF_OK)
        redis_store_close(&store->base);
    else
        *out = &store->base;
    return status;
}

static hf_status redis_store_open(const char *url, hf_store **out, hf_error *err)
{
    return redis_store_open_any(url, true, out, err);
}

static hf_status redis_store_open_existing(const char *url, hf_store **out, hf_error *err)
{
    return redis_store_open_any(url, false, out, err);
}

static void redis_store_grade(hf_store *base, hf_grade *out)
{
    redis_store *store = (redis_store *)base;
    pthread_mutex_lock(&store->mutex);
    *out = store->grade;
    pthread_mutex_unlock(&store->mutex);
}

static hf_status redis_store_backup(hf_store *base, const char *path, hf_error *err)
{
    (void)base;
    (void)path;
    return hf_fail(err, HF_INVALID,
                   "A store on Redis is backed up with Redis: copy its append-only file, or "
                   "redis-cli --rdb FILE.");
}

/* ---- removing ---- */

static hf_status redis_remove_keys(redis_store *store, hf_error *err)
{
    redis_work work = {.store = store, .err = err};
    char at[32] = "0", pattern[sizeof store->prefix + 2], leases[sizeof store->prefix + 6];
    hf_redis_reply reply, cursor, keys, key;
    hf_status status = redis_conn_take(store, &work.conn, err);
    if (status != HF_OK)
        return status;
    snprintf(pattern, sizeof pattern, "%s*", store->prefix);
    snprintf(leases, sizeof leases, "%slease:", store->prefix); /* they may be of the same name */
    /* First what every script compares: nobody writes behind the scan. */
    redis_command(&work, "UNLINK", "schema", HF_NOTHING);
    redis_call(&work, &reply);
    do {
        hf_redis_words *command = &work.conn->command;
        hf_redis_queue(work.conn->redis, "SCAN", at, "MATCH", pattern, "COUNT", "1000", NULL);
        if (!redis_flush(&work) || !redis_reply(&work, &reply) || reply.count != 2)
            break;
        hf_redis_at(&reply, 0, &cursor);
        hf_redis_at(&reply, 1, &keys);
        snprintf(at, sizeof at, "%s", cursor.text.at);
        hf_redis_words_clear(command);
        hf_redis_word(command, hf_slice_of("UNLINK"));
        for (size_t i = 0; i < keys.count; i++) {
            hf_redis_at(&keys, i, &key);
            if (!redis_begins(key.text, leases))
                hf_redis_word(command, key.text);
        }
        if (command->count == 1)
            continue;
        hf_redis_queue_words(work.conn->redis, command);
        if (!redis_flush(&work) || !redis_reply(&work, &reply))
            break;
    } while (strcmp(at, "0") != 0);
    if (work.status == HF_OK)
        redis_all_taken(&work);
    redis_conn_give(store, work.conn);
    return work.status;
}

static hf_status redis_refuse_held(hf_store *store, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, HF_OP_LIST);
    op->limit = 1;
    status = redis_execute_one(store, batch, err);
    if (status == HF_OK && op->answer.locks_count > 0)
        status = hf_fail(err, HF_LOCKED,
                         "%s/%s is held by %s, and perhaps more is; release it first, or say that "
                         "it is to be removed all the same.",
                         op->answer.locks[0].resource.type, op->answer.locks[0].resource.id,
                         op->answer.locks[0].name);
    hf_batch_free(batch);
    return status;
}

static hf_status redis_store_install(const char *url, const hf_install_order *order, hf_error *err)
{
    hf_store *store = NULL;
    if (order->print)
        return hf_fail(err, HF_INVALID, "A store on Redis has no tables: there is no SQL to show.");
    if (order->role != NULL)
        return hf_fail(err, HF_INVALID,
                       "A store on Redis has no tables to grant: give the account its rights with "
                       "ACL SETUSER (docs/stores.md).");
    hf_status status = redis_store_open_any(url, !order->remove, &store, err);
    if (order->remove && status == HF_NOT_FOUND)
        return HF_OK;
    if (status == HF_OK && order->remove && !order->force)
        status = redis_refuse_held(store, err);
    if (status == HF_OK && order->remove)
        status = redis_remove_keys((redis_store *)store, err);
    if (store != NULL)
        redis_store_close(store);
    return status;
}

const hf_store_ops hf_store_redis = {
    .scheme = "redis",
    .whole_url = true,
    .open = redis_store_open,
    .open_existing = redis_store_open_existing,
    .execute = redis_execute,
    .install = redis_store_install,
    .grade = redis_store_grade,
    .backup = redis_store_backup,
    .watch = redis_watch,
    .close = redis_store_close,
};

__attribute__((visibility("default"))) extern const hf_store_module_info hf_store_module;
const hf_store_module_info hf_store_module = {HF_VERSION, &hf_store_redis, NULL};
