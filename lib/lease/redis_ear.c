/* SPDX-License-Identifier: MIT */
/* The ear of the leases on Redis: has subscribed to what those that wait are waiting for, tries for
 * them, keeps the keys of long leases alive, and says which are lost. */
#include "base/error.h"
#include "base/seams.h"
#include "lease/redis_inside.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    EAR_BATCH = 256, /* commands in one flight */
    EAR_LOOKS = 8,   /* a pulse */
    EAR_MS_US = 1000,
    EAR_NAP_MS = 60000,
};

typedef struct redis_ears {
    redis_backend *it;
    hf_redis *link; /* NULL: not connected; opened when someone waits */
    bool subscribed[REDIS_SHARDS], needed[REDIS_SHARDS];
    int64_t look_us, keep_us; /* when to try all, when to keep */
    hf_lease_request *asks[EAR_BATCH];
    bool failed; /* the last flight: its asks are tried once more */
} redis_ears;

/* ---- hearing ---- */

static bool redis_note_need(hf_lease_request *ask, void *context)
{
    redis_ears *e = context;
    e->needed[ask->grant->digest[0]] = true;
    return false;
}

static bool redis_is_told(hf_lease_request *ask, void *context)
{
    char hex[2 * REDIS_DIGEST + 1];
    hf_hex(ask->grant->digest, REDIS_DIGEST, hex);
    return strcmp(hex, context) == 0;
}

/* A message ["message", channel, key]; other pushes are answers to what was subscribed. */
static void redis_told(redis_ears *e, const hf_redis_reply *reply)
{
    hf_redis_reply word, key;
    if (reply->kind != HF_REDIS_LIST || reply->count < 3)
        return;
    hf_redis_at(reply, 0, &word);
    hf_redis_at(reply, 2, &key);
    if (word.kind == HF_REDIS_TEXT && strcmp(word.text.at, "message") == 0 &&
        key.kind == HF_REDIS_TEXT)
        hf_desk_due(&e->it->desk, redis_is_told, (void *)key.text.at);
}

static void redis_deafen(redis_ears *e)
{
    hf_redis_close(e->link);
    e->link = NULL;
    memset(e->subscribed, 0, sizeof e->subscribed);
    hf_desk_due(&e->it->desk, NULL, NULL);
}

static void redis_hear(redis_ears *e)
{
    bool there = true;
    hf_redis_reply reply;
    while (e->link != NULL && there) {
        if (hf_redis_poll(e->link, &there, &reply, NULL) != HF_OK)
            redis_deafen(e);
        else if (there)
            redis_told(e, &reply);
    }
}

/* Subscribes to what is needed and not heard yet, and waits until that counts; whatever is told
 * meanwhile is noted. What nobody needs is given up. */
static hf_status redis_subscribe(redis_ears *e, hf_error *err)
{
    redis_backend *it = e->it;
    hf_status status = HF_OK;
    size_t answers = 0;
    char channel[REDIS_KEY_SIZE];
    memset(e->needed, 0, sizeof e->needed);
    hf_desk_due(&it->desk, redis_note_need, e);
    for (unsigned i = 0; i < REDIS_SHARDS && status == HF_OK; i++) {
        if (e->needed[i] == e->subscribed[i])
            continue;
        if (e->link == NULL)
            status = hf_redis_connect(it->url.url, it->url.password, 0, &e->link, err);
        if (status != HF_OK)
            break;
        redis_channel(it, (unsigned char)i, channel);
        hf_redis_queue(e->link, e->needed[i] ? "SUBSCRIBE" : "UNSUBSCRIBE", channel, NULL);
        e->subscribed[i] = e->needed[i];
        answers++;
    }
    if (status == HF_OK && answers > 0)
        status = hf_redis_send(e->link, err);
    while (status == HF_OK && answers > 0) {
        hf_redis_reply reply, word;
        status = hf_redis_read(e->link, &reply, err);
        if (status != HF_OK || reply.kind != HF_REDIS_LIST || reply.count < 3)
            continue;
        hf_redis_at(&reply, 0, &word);
        redis_told(e, &reply);
        answers -= word.kind == HF_REDIS_TEXT && strcmp(word.text.at, "message") != 0;
    }
    if (status != HF_OK)
        redis_deafen(e);
    return status;
}

/* ---- trying ---- */

/* Those whose try came to nothing that is known are undone, and tried once more before they are
 * told. */
static void redis_settle_rest(redis_ears *e, size_t at, size_t count, hf_status status,
                              const hf_error *err)
{
    bool again = status == HF_TIMEOUT || !e->failed, reached = status != HF_TIMEOUT;
    e->failed = status != HF_OK && status != HF_TIMEOUT;
    for (; at < count; at++) {
        e->asks[at]->due = again;
        reached = reached && redis_undo(e->it, e->asks[at]->grant);
        hf_desk_settle(&e->it->desk, e->asks[at], again ? HF_TIMEOUT : status, err);
    }
}

/* The answers of a flight of tries. */
static void redis_read_tries(redis_ears *e, hf_redis *redis, size_t count, hf_error *err)
{
    hf_status status = HF_OK;
    size_t at = 0;
    for (; at < count; at++) {
        int64_t fence = 0;
        status = redis_number(redis, &fence, err);
        if (status != HF_OK)
            break;
        e->asks[at]->grant->fence = fence;
        if (fence != 0)
            redis_note(e->it, e->asks[at]->grant);
        hf_desk_settle(&e->it->desk, e->asks[at], fence != 0 ? HF_OK : HF_TIMEOUT, NULL);
    }
    if (status == HF_RETRY) { /* the rest of the flight is answered alike */
        hf_redis_reply reply;
        for (size_t i = at + 1; i < count; i++)
            if (hf_redis_read(redis, &reply, err) != HF_OK)
                break;
        status = redis_load_scripts(e->it, redis, err) == HF_OK ? HF_TIMEOUT : HF_UNAVAILABLE;
    }
    redis_settle_rest(e, at, count, status, err);
}

/* Tries a batch of those that are due; false: none was. What they wait for is subscribed to before.
 */
static bool redis_try(redis_ears *e)
{
    redis_backend *it = e->it;
    hf_redis *redis = NULL;
    hf_error err;
    hf_error_none(&err);
    size_t count = hf_desk_pick(&it->desk, e->asks, EAR_BATCH);
    if (count == 0)
        return false;
    hf_status status = redis_subscribe(e, &err);
    if (status != HF_OK) /* once more, on a new connection */
        status = redis_subscribe(e, &err);
    if (status == HF_OK)
        status = redis_use(it, &redis, &err);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        redis_queue_take(it, redis, e->asks[i]);
    if (status == HF_OK)
        status = hf_redis_send(redis, &err);
    if (status == HF_OK)
        redis_read_tries(e, redis, count, &err);
    else
        redis_settle_rest(e, 0, count, status, &err);
    if (redis != NULL)
        redis_leave(it, redis);
    return true;
}

static void redis_look(redis_ears *e)
{
    int64_t now_us = hf_seam.boot_us();
    if (now_us >= e->look_us) {
        hf_desk_due(&e->it->desk, NULL, NULL);
        e->look_us = now_us + e->it->pulse_us / EAR_LOOKS;
    }
    while (redis_try(e))
        ;
}

/* ---- keeping ---- */

typedef struct redis_search {
    redis_backend *it;
    int64_t now_us;
    uint64_t token;
} redis_search;

static bool redis_is_over(const hf_lease_grant *grant, void *context)
{
    const redis_search *search = context;
    return search->now_us >= grant->sure_us && grant->sure_us < grant->ends_us;
}

static bool redis_has_token(const hf_lease_grant *grant, void *context)
{
    const redis_search *search = context;
    return grant->token == search->token;
}

/* What is asked for a grant: a copy, since the grant may be given back meanwhile. */
typedef struct redis_copy {
    hf_lease_grant grant;
    hf_lease_grant *at; /* still the same if its token is */
    int64_t ms;
} redis_copy;

/* Up to a batch of those whose key would run out before max_hold, and were not kept for a pulse. */
static size_t redis_gather(redis_backend *it, int64_t now_us, redis_copy *out)
{
    size_t count = 0;
    pthread_mutex_lock(&it->desk.mutex);
    for (hf_lease_grant *grant = it->held; grant != NULL && count < EAR_BATCH;
         grant = grant->next) {
        if (grant->sure_us >= grant->ends_us ||
            grant->sure_us > now_us + it->life_us - it->pulse_us)
            continue;
        int64_t left_us = grant->ends_us - now_us;
        int64_t life_us = left_us < it->life_us ? left_us : it->life_us;
        out[count++] = (redis_copy){*grant, grant, life_us < 1000 ? 1 : (life_us + 999) / 1000};
    }
    pthread_mutex_unlock(&it->desk.mutex);
    return count;
}

static void redis_note_kept(redis_backend *it, const redis_copy *copy, int64_t now_us)
{
    pthread_mutex_lock(&it->desk.mutex);
    if (copy->at->token == copy->grant.token)
        copy->at->sure_us = now_us + copy->ms * EAR_MS_US;
    pthread_mutex_unlock(&it->desk.mutex);
}

/* One batch; false: there is nothing to keep, or it can't be done now. */
static bool redis_keep_some(redis_ears *e, redis_copy *copies)
{
    redis_backend *it = e->it;
    hf_redis *redis = NULL;
    int64_t now_us = hf_seam.boot_us(), number = 0;
    size_t count = redis_gather(it, now_us, copies);
    if (count == 0 || redis_use(it, &redis, NULL) != HF_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        redis_queue_keep(it, redis, &copies[i].grant, copies[i].ms);
    hf_status status = hf_redis_send(redis, NULL);
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        status = redis_number(redis, &number, NULL);
        if (status == HF_OK && number == 1)
            redis_note_kept(it, &copies[i], now_us);
        else if (status == HF_OK)
            hf_desk_lose(&it->desk, &it->held, redis_has_token,
                         &(redis_search){.token = copies[i].grant.token},
                         "The server no longer has it: it was deleted, or lost in a restart.");
    }
    if (status == HF_RETRY)
        status = redis_load_scripts(it, redis, NULL) == HF_OK ? HF_UNAVAILABLE : status;
    redis_leave(it, redis);
    return status == HF_OK;
}

static void redis_keep(redis_ears *e)
{
    redis_backend *it = e->it;
    redis_copy copies[EAR_BATCH];
    int64_t now_us = hf_seam.boot_us();
    if (now_us < e->keep_us)
        return;
    e->keep_us = now_us + it->pulse_us;
    while (redis_keep_some(e, copies))
        ;
    hf_desk_lose(&it->desk, &it->held, redis_is_over, &(redis_search){.now_us = hf_seam.boot_us()},
                 "The server was unreachable for so long that the lease may have expired.");
}

/* ---- the thread ---- */

/* The ear sleeps long while there is nothing to keep: it is woken by the first. */
void redis_note(redis_backend *it, hf_lease_grant *grant)
{
    int64_t keep_us = grant->sure_us < grant->ends_us ? grant->asked_us + it->pulse_us : INT64_MAX;
    hf_desk_link(&it->desk, &it->held, grant);
    pthread_mutex_lock(&it->desk.mutex);
    bool early = keep_us < it->wakes_us;
    if (early)
        it->wakes_us = keep_us;
    pthread_mutex_unlock(&it->desk.mutex);
    if (early)
        hf_desk_ring(&it->desk);
}

static void redis_close_idle(redis_backend *it)
{
    hf_redis *old = NULL;
    int64_t before_us = hf_seam.boot_us() - it->pool_idle_us;
    pthread_mutex_lock(&it->mutex);
    if (it->idle_count > 1 && it->idle[0].since_us < before_us) { /* the one used longest ago */
        old = it->idle[0].redis;
        memmove(&it->idle[0], &it->idle[1], --it->idle_count * sizeof it->idle[0]);
        it->open--;
    }
    pthread_mutex_unlock(&it->mutex);
    hf_redis_close(old);
}

static int redis_timeout(redis_ears *e)
{
    redis_backend *it = e->it;
    int64_t now_us = hf_seam.boot_us(), due_us = now_us + it->pool_idle_us;
    pthread_mutex_lock(&it->desk.mutex);
    if (it->desk.asks_count > 0 && e->look_us < due_us)
        due_us = e->look_us;
    if (it->held != NULL && e->keep_us < due_us)
        due_us = e->keep_us;
    it->wakes_us = due_us;
    pthread_mutex_unlock(&it->desk.mutex);
    int64_t ms = due_us <= now_us ? 0 : (due_us - now_us) / EAR_MS_US + 1;
    return ms > EAR_NAP_MS ? EAR_NAP_MS : (int)ms;
}

void *redis_ear(void *backend)
{
    redis_backend *it = backend;
    redis_ears e = {.it = it};
    uint64_t rung;
    while (!hf_desk_ending(&it->desk)) {
        struct pollfd two[] = {
            {.fd = it->desk.bell, .events = POLLIN},
            {.fd = e.link == NULL ? -1 : hf_redis_socket(e.link), .events = POLLIN}};
        poll(two, 2, redis_timeout(&e));
        ssize_t got = read(it->desk.bell, &rung, sizeof rung);
        (void)got;
        redis_hear(&e);
        redis_look(&e);
        redis_keep(&e);
        redis_close_idle(it);
    }
    hf_redis_close(e.link);
    return NULL;
}
