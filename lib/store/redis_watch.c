/* SPDX-License-Identifier: MIT */
/* Hearing of changes on Redis: the script that writes publishes each change that leaves an event.
 * What the same store has written is skipped: its program knows of that. */
#include "base/error.h"
#include "base/seams.h"
#include "store/redis.h"

#include <stdio.h>
#include <string.h>

typedef struct redis_subscription {
    hf_watch base;
    hf_redis *redis;
    char self[sizeof((redis_store *)NULL)->self];
} redis_subscription;

static int redis_watch_fd(const hf_watch *watch)
{
    return hf_redis_socket(((const redis_subscription *)watch)->redis);
}

static hf_status redis_watch_heard(hf_watch *watch, bool *out, hf_error *err)
{
    redis_subscription *it = (redis_subscription *)watch;
    hf_redis_reply reply, kind, text;
    bool there = true;
    hf_status status = HF_OK;
    *out = false;
    while (status == HF_OK && there) {
        status = hf_redis_poll(it->redis, &there, &reply, err);
        if (status != HF_OK || !there || reply.count != 3)
            continue;
        hf_redis_at(&reply, 0, &kind);
        hf_redis_at(&reply, 2, &text);
        if (strcmp(kind.text.at, "message") == 0 &&
            !hf_slice_equal(text.text, hf_slice_of(it->self)))
            *out = true;
    }
    return status;
}

/* Every script that wrote something has told them. */
static hf_status redis_watch_tell(hf_watch *watch, hf_error *err)
{
    (void)watch;
    (void)err;
    return HF_OK;
}

static void redis_watch_close(hf_watch *watch)
{
    hf_redis_close(((redis_subscription *)watch)->redis);
    hf_free(watch);
}

static const hf_watch_ops redis_watch_ops = {redis_watch_fd, redis_watch_heard, redis_watch_tell,
                                             redis_watch_close};

hf_status redis_watch(hf_store *base, hf_watch **out, hf_error *err)
{
    redis_store *store = (redis_store *)base;
    char channel[sizeof store->prefix + 8];
    hf_redis_reply reply;
    redis_subscription *it = hf_alloc(sizeof *it);
    if (it == NULL)
        return hf_fail_memory(err);
    it->base.ops = &redis_watch_ops;
    memcpy(it->self, store->self, sizeof it->self);
    hf_status status = redis_conn_open(store, &it->redis, NULL, err);
    if (status == HF_OK) {
        snprintf(channel, sizeof channel, "%swatch", store->prefix);
        hf_redis_queue(it->redis, "SUBSCRIBE", channel, NULL);
        status = hf_redis_send(it->redis, err);
    }
    if (status == HF_OK)
        status = hf_redis_read(it->redis, &reply, err);
    if (status == HF_OK && reply.kind == HF_REDIS_ERROR)
        status = hf_fail(err, HF_UNAVAILABLE, "%s refused to tell of changes: %.200s.",
                         hf_redis_path(it->redis), reply.text.at);
    if (status == HF_OK)
        *out = &it->base;
    else
        redis_watch_close(&it->base);
    return status;
}
