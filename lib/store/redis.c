/* SPDX-License-Identifier: MIT */
/* The store on Redis: opening, closing, removing. What it is stands in kv.h and redis.h. */
#include "store/redis.h"
#include "base/error.h"
#include "base/seams.h"
#include "store/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void redis_store_close(hf_store *base)
{
    redis_store *store = (redis_store *)base;
    kv_close(&store->kv);
    hf_url_done(&store->url);
    hf_free(store);
}

static hf_status redis_store_read(redis_store *store, const char *url, hf_error *err)
{
    unsigned char random[8];
    hf_status status = hf_url_read(url, &store->url, err);
    if (status != HF_OK)
        return status;
    const char *durability = store->url.durability;
    store->kv.forgets = durability != NULL && strcmp(durability, "relaxed") == 0;
    store->kv.names = store->url.names;
    if (durability != NULL && !store->kv.forgets)
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

/* make: unless there is one. any_form: another version's will do. */
static hf_status redis_store_open_any(const char *url, bool make, bool any_form, hf_store **out,
                                      hf_error *err)
{
    redis_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return hf_fail_memory(err);
    kv_init(&store->kv, &hf_store_redis, &redis_driver);
    store->kv.any_form = any_form;
    hf_status status = redis_store_read(store, url, err);
    if (status == HF_OK)
        status = kv_open(&store->kv, make, err);
    if (status != HF_OK)
        redis_store_close(&store->kv.base);
    else
        *out = &store->kv.base;
    return status;
}

static hf_status redis_store_open(const char *url, hf_store **out, hf_error *err)
{
    return redis_store_open_any(url, true, false, out, err);
}

static hf_status redis_store_open_existing(const char *url, hf_store **out, hf_error *err)
{
    return redis_store_open_any(url, false, false, out, err);
}

static void redis_store_grade(hf_store *base, hf_grade *out)
{
    redis_store *store = (redis_store *)base;
    pthread_mutex_lock(&store->kv.mutex);
    *out = store->grade;
    pthread_mutex_unlock(&store->kv.mutex);
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
    kv_work work = {.store = &store->kv, .err = err};
    char at[32] = "0", word[sizeof store->prefix + 8];
    hf_redis_reply reply, cursor, keys, key;
    hf_status status = kv_take(&store->kv, &work.conn, err);
    if (status != HF_OK)
        return status;
    redis_conn *conn = (redis_conn *)work.conn;
    hf_redis_words *command = &conn->command;
    /* First what every script compares: nobody writes behind the scan. */
    snprintf(word, sizeof word, "%sschema", store->prefix);
    hf_redis_queue(conn->redis, "UNLINK", word, NULL);
    bool good = redis_flush(&work) && redis_reply(&work, &reply);
    while (good) {
        snprintf(word, sizeof word, "%s*", store->prefix);
        hf_redis_queue(conn->redis, "SCAN", at, "MATCH", word, "COUNT", "1000", NULL);
        if (!redis_flush(&work) || !redis_reply(&work, &reply) || reply.count != 2)
            break;
        hf_redis_at(&reply, 0, &cursor);
        hf_redis_at(&reply, 1, &keys);
        snprintf(at, sizeof at, "%s", cursor.text.at);
        snprintf(word, sizeof word, "%slease:", store->prefix); /* leases may be of the same name */
        hf_redis_words_clear(command);
        hf_redis_word(command, hf_slice_of("UNLINK"));
        for (size_t i = 0; i < keys.count; i++) {
            hf_redis_at(&keys, i, &key);
            if (strncmp(key.text.at, word, strlen(word)) != 0)
                hf_redis_word(command, key.text);
        }
        if (command->count > 1) {
            hf_redis_queue_words(conn->redis, command);
            good = redis_flush(&work) && redis_reply(&work, &reply);
        }
        good &= strcmp(at, "0") != 0;
    }
    if (work.status == HF_OK)
        redis_all_taken(&work);
    kv_give(&store->kv, work.conn);
    return work.status;
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
    hf_status status =
        redis_store_open_any(url, !order->remove, order->remove && order->force, &store, err);
    if (order->remove && status == HF_NOT_FOUND)
        return HF_OK;
    if (status == HF_OK && order->remove && !order->force)
        status = kv_refuse_held((kv_store *)store, err);
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
    .execute = kv_execute,
    .install = redis_store_install,
    .grade = redis_store_grade,
    .backup = redis_store_backup,
    .watch = redis_watch,
    .close = redis_store_close,
};

__attribute__((visibility("default"))) extern const hf_store_module_info hf_store_module;
const hf_store_module_info hf_store_module = {HF_VERSION, &hf_store_redis, NULL};
