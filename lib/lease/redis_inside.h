/* SPDX-License-Identifier: MIT */
/* What the files of the leases on Redis share. */
#ifndef HF_LEASE_REDIS_INSIDE_H
#define HF_LEASE_REDIS_INSIDE_H

#include "db/redis.h"
#include "db/url.h"
#include "lease/desk.h"

enum {
    REDIS_DIGEST = 16, /* bytes of the digest in a key: 128 bits */
    REDIS_KEY_SIZE = 128,
    REDIS_TOKEN_HEX = 32, /* at the beginning of a value */
    REDIS_VALUE_SIZE = HF_TEXT_SIZE + 80,
    REDIS_SHARDS = 256,    /* channels */
    REDIS_LIFE_PULSES = 5, /* how long a key lives without being kept */
    REDIS_TRIES = 2,
};

typedef enum redis_script { REDIS_TAKE, REDIS_GIVE, REDIS_KEEP, REDIS_SCRIPTS } redis_script;

typedef struct redis_idle {
    hf_redis *redis;
    int64_t since_us;
} redis_idle;

typedef struct redis_backend {
    hf_lease_backend base;
    hf_desk desk;
    hf_url url;
    char name[HF_TEXT_SIZE], grade[HF_TEXT_SIZE];
    char prefix[REDIS_KEY_SIZE], fences[REDIS_KEY_SIZE]; /* of all keys; the counter of fences */
    size_t prefix_size;
    int64_t pool_idle_us, pulse_us, life_us;
    uint64_t self;   /* random: this provider */
    uint64_t tokens; /* the last one; under the desk's mutex */
    char scripts[REDIS_SCRIPTS]
                [48];     /* their SHA-1, in hex; fixed once the first connection is open */
    hf_lease_grant *held; /* under the desk's mutex */
    int64_t wakes_us;     /* when the ear looks by itself; the same */
    /* Connections for commands. */
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    size_t pool_max, open, idle_count;
    redis_idle idle[HF_LEASE_POOL_MAX];
} redis_backend;

extern const hf_lease_ops hf_lease_redis;

/* ---- redis.c ---- */

void redis_key(const redis_backend *it, const hf_lease_grant *grant, char out[REDIS_KEY_SIZE]);
void redis_channel(const redis_backend *it, unsigned char shard, char out[REDIS_KEY_SIZE]);

/* A connection for the caller alone, until it is left. One that is lost is closed then. */
hf_status redis_use(redis_backend *it, hf_redis **out, hf_error *err);
void redis_leave(redis_backend *it, hf_redis *redis);

/* Queue a script; its answer is a number. HF_RETRY: the server has forgotten it. */
void redis_queue_take(redis_backend *it, hf_redis *redis, hf_lease_request *ask);
void redis_queue_keep(redis_backend *it, hf_redis *redis, const hf_lease_grant *grant, int64_t ms);
hf_status redis_number(hf_redis *redis, int64_t *out, hf_error *err);

/* Whatever has become of a try, it is not held afterwards: by its token nobody else's can be meant.
 * False: the server can't be reached. */
bool redis_undo(redis_backend *it, const hf_lease_grant *grant);

/* ---- redis_open.c ---- */

hf_status redis_open_link(redis_backend *it, hf_redis **out, hf_error *err);
hf_status redis_load_scripts(redis_backend *it, hf_redis *redis, hf_error *err);
/* Refuses a server that may forget leases; fills the grade. */
hf_status redis_judge(redis_backend *it, hf_redis *redis, hf_error *err);

/* ---- redis_ear.c ---- */

void *redis_ear(void *backend);
/* A grant that stands from now on; the ear keeps it. */
void redis_note(redis_backend *it, hf_lease_grant *grant);

#endif
