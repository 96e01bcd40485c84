/* SPDX-License-Identifier: MIT */
/* Leases on one Redis master: SET NX PX, deleted only by whoever set it. The value names the grant,
 * its holder and since when. A key lives for a few pulses and is kept alive by the ear, so that one
 * whose holder died is free soon, whatever its max_hold; a lease is believed in for as long as the
 * key can't have run out. Grants belong to no connection: one that is lost is replaced, and the
 * leases stand.
 *
 * Who gives a key back publishes it, on one of 256 channels; whoever waits has subscribed to that
 * one before it tried last. Who died is found by looking, eight times a pulse. */
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "db/db.h"
#include "db/url.h"
#include "lease/redis_inside.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* "holdfast:lease:" and bytes in hex. A pair needs six of these, so nothing is printed. */
static void redis_name(const redis_backend *it, const void *bytes, size_t size,
                       char out[REDIS_KEY_SIZE])
{
    memcpy(out, it->prefix, it->prefix_size);
    hf_hex(bytes, size, out + it->prefix_size);
}

void redis_key(const redis_backend *it, const hf_lease_grant *grant, char out[REDIS_KEY_SIZE])
{
    redis_name(it, grant->digest, REDIS_DIGEST, out);
}

void redis_channel(const redis_backend *it, unsigned char shard, char out[REDIS_KEY_SIZE])
{
    redis_name(it, &shard, 1, out);
}

/* Decimal digits, and no NUL; where they end. */
static char *redis_digits(char *out, int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return mempcpy(out, at, (size_t)(digits + sizeof digits - at));
}

/* The token (the provider's number and the grant's, in hex), since when, and who. */
static void redis_value(const redis_backend *it, const hf_lease_grant *grant,
                        char out[REDIS_VALUE_SIZE])
{
    uint64_t token[2] = {htobe64(it->self), htobe64(grant->token)};
    hf_hex(token, sizeof token, out);
    out[REDIS_TOKEN_HEX] = ' ';
    char *at = redis_digits(out + REDIS_TOKEN_HEX + 1, grant->since_us);
    *at++ = ' ';
    memcpy(at, it->name, strlen(it->name) + 1);
}

/* How long the key is to live from now on: never longer than max_hold, rounded up to milliseconds.
 */
static int64_t redis_life_ms(const redis_backend *it, int64_t left_us)
{
    int64_t life_us = left_us < it->life_us ? left_us : it->life_us;
    return life_us < 1000 ? 1 : (life_us + 999) / 1000;
}

/* ---- connections ---- */

/* One that nobody uses, or a new one, or the next that is given back. */
hf_status redis_use(redis_backend *it, hf_redis **out, hf_error *err)
{
    *out = NULL;
    pthread_mutex_lock(&it->mutex);
    while (it->idle_count == 0 && it->open >= it->pool_max)
        pthread_cond_wait(&it->freed, &it->mutex);
    if (it->idle_count > 0)
        *out = it->idle[--it->idle_count].redis;
    else
        it->open++;
    pthread_mutex_unlock(&it->mutex);
    if (*out != NULL)
        return HF_OK;
    hf_status status = redis_open_link(it, out, err);
    if (status != HF_OK)
        redis_leave(it, NULL);
    return status;
}

/* Where one is lost, those that are idle are not trusted either. */
void redis_leave(redis_backend *it, hf_redis *redis)
{
    bool good = redis != NULL && hf_redis_alive(redis);
    redis_idle dropped[HF_LEASE_POOL_MAX];
    size_t count = 0;
    pthread_mutex_lock(&it->mutex);
    if (good) {
        it->idle[it->idle_count++] = (redis_idle){redis, hf_seam.boot_us()};
    } else {
        count = it->idle_count;
        memcpy(dropped, it->idle, count * sizeof *dropped);
        it->idle_count = 0;
        it->open -= 1 + count;
    }
    pthread_cond_broadcast(&it->freed);
    pthread_mutex_unlock(&it->mutex);
    for (size_t i = 0; i < count; i++)
        hf_redis_close(dropped[i].redis);
    if (!good)
        hf_redis_close(redis);
}

/* ---- scripts ---- */

void redis_queue_take(redis_backend *it, hf_redis *redis, hf_lease_request *ask)
{
    char key[REDIS_KEY_SIZE], value[REDIS_VALUE_SIZE], life[24];
    hf_lease_grant *grant = ask->grant;
    int64_t ms = redis_life_ms(it, ask->max_hold_us);
    pthread_mutex_lock(&it->desk.mutex);
    grant->token = ++it->tokens;
    grant->asked_us = hf_seam.boot_us();
    grant->since_us = hf_seam.wall_us();
    grant->sure_us = grant->asked_us + ms * 1000;
    grant->ends_us = grant->asked_us + ask->max_hold_us;
    pthread_mutex_unlock(&it->desk.mutex);
    redis_key(it, grant, key);
    redis_value(it, grant, value);
    *redis_digits(life, ms) = '\0';
    hf_redis_queue(redis, "EVALSHA", it->scripts[REDIS_TAKE], "2", key, it->fences, value, life,
                   NULL);
}

static void redis_queue_give(redis_backend *it, hf_redis *redis, const hf_lease_grant *grant)
{
    char key[REDIS_KEY_SIZE], value[REDIS_VALUE_SIZE], channel[REDIS_KEY_SIZE];
    redis_key(it, grant, key);
    redis_value(it, grant, value);
    redis_channel(it, grant->digest[0], channel);
    hf_redis_queue(redis, "EVALSHA", it->scripts[REDIS_GIVE], "1", key, value, channel,
                   key + it->prefix_size, NULL);
}

void redis_queue_keep(redis_backend *it, hf_redis *redis, const hf_lease_grant *grant, int64_t ms)
{
    char key[REDIS_KEY_SIZE], value[REDIS_VALUE_SIZE], life[24];
    redis_key(it, grant, key);
    redis_value(it, grant, value);
    *redis_digits(life, ms) = '\0';
    hf_redis_queue(redis, "EVALSHA", it->scripts[REDIS_KEEP], "1", key, value, life, NULL);
}

/* The number a script answers. A server that was restarted or flushed has forgotten the scripts:
 * the connection is given up, and the next one brings them along. */
hf_status redis_number(hf_redis *redis, int64_t *out, hf_error *err)
{
    hf_redis_reply reply;
    hf_status status = hf_redis_read(redis, &reply, err);
    if (status != HF_OK)
        return status;
    if (reply.kind == HF_REDIS_ERROR && strncmp(reply.text.at, "NOSCRIPT", 8) == 0)
        return hf_fail(err, HF_RETRY, "%s has lost the scripts.", hf_redis_path(redis));
    if (reply.kind != HF_REDIS_NUMBER)
        return hf_fail(err, HF_UNAVAILABLE, "%s refused: %.*s.", hf_redis_path(redis),
                       (int)(reply.text.size < 200 ? reply.text.size : 200), reply.text.at);
    *out = reply.number;
    return HF_OK;
}

static hf_status redis_once(hf_redis *redis, int64_t *out, hf_error *err)
{
    hf_status status = hf_redis_send(redis, err);
    return status == HF_OK ? redis_number(redis, out, err) : status;
}

/* ---- the backend ---- */

static redis_backend *redis_of(hf_lease_backend *it)
{
    return (redis_backend *)it;
}

bool redis_undo(redis_backend *it, const hf_lease_grant *grant)
{
    hf_redis *redis = NULL;
    int64_t number;
    for (int i = 0; i < REDIS_TRIES; i++) {
        if (redis_use(it, &redis, NULL) != HF_OK)
            return false; /* it frees itself within a few pulses */
        redis_queue_give(it, redis, grant);
        hf_status status = redis_once(redis, &number, NULL);
        if (status == HF_RETRY)
            status = redis_load_scripts(it, redis, NULL);
        else if (status == HF_OK)
            i = REDIS_TRIES;
        redis_leave(it, redis);
    }
    return true;
}

static hf_status redis_take(hf_lease_backend *base, hf_lease_request *ask, hf_error *err)
{
    redis_backend *it = redis_of(base);
    hf_redis *redis = NULL;
    int64_t fence = 0;
    hf_status status = HF_UNAVAILABLE;
    for (int i = 0; i < REDIS_TRIES; i++) { /* an idle connection may have died, unnoticed */
        status = redis_use(it, &redis, err);
        if (status != HF_OK)
            return status;
        redis_queue_take(it, redis, ask);
        status = redis_once(redis, &fence, err);
        bool lost = !hf_redis_alive(redis);
        if (status == HF_RETRY)
            status = redis_load_scripts(it, redis, err) == HF_OK ? HF_RETRY : HF_UNAVAILABLE;
        redis_leave(it, redis);
        if (lost)
            redis_undo(it, ask->grant);
        if (status == HF_OK || (status != HF_RETRY && !lost))
            break;
    }
    if (status == HF_RETRY)
        status = hf_fail(err, HF_UNAVAILABLE, "The server repeatedly lost its scripts.");
    if (status != HF_OK || fence == 0)
        return status == HF_OK ? HF_TIMEOUT : status;
    ask->grant->fence = fence;
    redis_note(it, ask->grant);
    return HF_OK;
}

static void redis_wait_for(hf_lease_backend *base, hf_lease_request *ask)
{
    hf_desk_wait(&redis_of(base)->desk, ask);
}

static bool redis_unwait(hf_lease_backend *base, hf_lease_request *ask)
{
    return hf_desk_unwait(&redis_of(base)->desk, ask);
}

static void redis_give(hf_lease_backend *base, hf_lease_grant *grant)
{
    if (hf_desk_unlink(&redis_of(base)->desk, grant))
        redis_undo(redis_of(base), grant);
}

static bool redis_sure(hf_lease_backend *base, const hf_lease_grant *grant)
{
    redis_backend *it = redis_of(base);
    pthread_mutex_lock(&it->desk.mutex);
    bool sure = hf_seam.boot_us() < grant->sure_us;
    pthread_mutex_unlock(&it->desk.mutex);
    return sure;
}

static void redis_who(hf_lease_backend *base, const hf_lease_request *ask, char *out, size_t size)
{
    redis_backend *it = redis_of(base);
    char key[REDIS_KEY_SIZE], when[HF_TIME_TEXT];
    hf_redis *redis = NULL;
    hf_redis_reply reply;
    if (redis_use(it, &redis, NULL) != HF_OK)
        return;
    redis_key(it, ask->grant, key);
    hf_redis_queue(redis, "GET", key, NULL);
    if (hf_redis_send(redis, NULL) == HF_OK && hf_redis_read(redis, &reply, NULL) == HF_OK &&
        reply.kind == HF_REDIS_TEXT && reply.text.size > REDIS_TOKEN_HEX) {
        char *name = NULL;
        int64_t since_us = strtoll(reply.text.at + REDIS_TOKEN_HEX, &name, 10);
        hf_time_say(since_us, hf_seam.wall_us(), when);
        snprintf(out, size, "held by %.200s since %s", *name == ' ' ? name + 1 : name, when);
    }
    redis_leave(it, redis);
}

static const char *redis_grade(const hf_lease_backend *base)
{
    return ((const redis_backend *)base)->grade;
}

/* ---- open and close ---- */

static void redis_close(hf_lease_backend *base)
{
    redis_backend *it = redis_of(base);
    hf_desk_stop(&it->desk);
    while (it->idle_count > 0)
        hf_redis_close(it->idle[--it->idle_count].redis);
    hf_desk_done(&it->desk);
    hf_url_done(&it->url);
    pthread_cond_destroy(&it->freed);
    pthread_mutex_destroy(&it->mutex);
    hf_free(it);
}

static hf_status lease_redis_open(const hf_lease_setup *setup, hf_lease_backend **out,
                                  hf_error *err)
{
    redis_backend *it = hf_alloc(sizeof *it);
    hf_redis *first = NULL;
    if (it == NULL)
        return hf_fail_memory(err);
    it->base = (hf_lease_backend){&hf_lease_redis, setup->host};
    it->pool_max = setup->pool_max - 1; /* the ear has one */
    it->pool_idle_us = setup->pool_idle_us;
    it->pulse_us = setup->pulse_us;
    it->life_us = setup->pulse_us * REDIS_LIFE_PULSES;
    it->wakes_us = INT64_MAX;
    snprintf(it->name, sizeof it->name, "%.200s", setup->name);
    pthread_mutex_init(&it->mutex, NULL);
    pthread_cond_init(&it->freed, NULL);
    hf_status status = hf_desk_init(&it->desk, setup->host, err);
    if (status == HF_OK)
        status = hf_url_read(setup->url, &it->url, err);
    if (status == HF_OK) {
        it->prefix_size =
            (size_t)snprintf(it->prefix, sizeof it->prefix, "%s:lease:", it->url.names);
        snprintf(it->fences, sizeof it->fences, "%s:lease:fence", it->url.names);
    }
    if (status == HF_OK && !hf_seam.random(&it->self, sizeof it->self))
        status = hf_fail(err, HF_INTERNAL, "Reading random bytes failed.");
    if (status == HF_OK)
        status = redis_use(it, &first, err);
    if (status == HF_OK) {
        status = redis_judge(it, first, err);
        redis_leave(it, first);
    }
    if (status == HF_OK)
        status = hf_desk_start(&it->desk, redis_ear, it, err);
    if (status != HF_OK)
        redis_close(&it->base);
    else
        *out = &it->base;
    return status;
}

const hf_lease_ops hf_lease_redis = {
    .open = lease_redis_open,
    .take = redis_take,
    .wait = redis_wait_for,
    .unwait = redis_unwait,
    .give = redis_give,
    .sure = redis_sure,
    .who = redis_who,
    .grade = redis_grade,
    .close = redis_close,
};

__attribute__((visibility("default"))) extern const hf_lease_module_info hf_lease_module;
const hf_lease_module_info hf_lease_module = {HF_VERSION, &hf_lease_redis};
