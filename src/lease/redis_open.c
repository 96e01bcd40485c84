/* SPDX-License-Identifier: MIT */
/* Connecting to Redis for leases: the scripts, and whether the server will do. */
#include "base/error.h"
#include "lease/redis_inside.h"
#include "sql/redis_lease_give.h"
#include "sql/redis_lease_keep.h"
#include "sql/redis_lease_take.h"

#include <stdio.h>
#include <string.h>

static const char *const redis_texts[REDIS_SCRIPTS] = {
    [REDIS_TAKE] = redis_lease_take,
    [REDIS_GIVE] = redis_lease_give,
    [REDIS_KEEP] = redis_lease_keep,
};

/* The names are those of the texts, so they are the same on every server. */
hf_status redis_load_scripts(redis_backend *it, hf_redis *redis, hf_error *err)
{
    hf_redis_reply reply;
    for (int i = 0; i < REDIS_SCRIPTS; i++)
        hf_redis_queue(redis, "SCRIPT", "LOAD", redis_texts[i], NULL);
    hf_status status = hf_redis_send(redis, err);
    for (int i = 0; i < REDIS_SCRIPTS && status == HF_OK; i++) {
        status = hf_redis_read(redis, &reply, err);
        if (status == HF_OK &&
            (reply.kind != HF_REDIS_TEXT || reply.text.size >= sizeof it->scripts[i]))
            status =
                hf_fail(err, HF_UNAVAILABLE, "%s takes no scripts: %.*s.", hf_redis_path(redis),
                        (int)(reply.text.size < 200 ? reply.text.size : 200), reply.text.at);
        if (status == HF_OK && it->scripts[i][0] == '\0')
            memcpy(it->scripts[i], reply.text.at, reply.text.size + 1);
    }
    return status;
}

hf_status redis_open_link(redis_backend *it, hf_redis **out, hf_error *err)
{
    hf_status status = hf_redis_connect(it->url.url, it->url.password, 0, out, err);
    if (status == HF_OK)
        status = redis_load_scripts(it, *out, err);
    if (status != HF_OK) {
        hf_redis_close(*out);
        *out = NULL;
    }
    return status;
}

/* ---- whether it will do ---- */

/* The value of "name:value" in what INFO tells; "" when there is none. */
static void redis_fact(hf_slice info, const char *name, char *out, size_t size)
{
    size_t name_size = strlen(name);
    out[0] = '\0';
    for (const char *at = info.at, *end; at != NULL && *at != '\0';
         at = *end == '\0' ? NULL : end + 1) {
        end = strchrnul(at, '\n');
        if (strncmp(at, name, name_size) == 0 && at[name_size] == ':')
            snprintf(out, size, "%.*s", (int)strcspn(at + name_size + 1, "\r\n"),
                     at + name_size + 1);
    }
}

/* Answers one command that was queued. */
static hf_status redis_ask_one(hf_redis *redis, hf_redis_reply *out, hf_error *err)
{
    hf_status status = hf_redis_send(redis, err);
    return status == HF_OK ? hf_redis_read(redis, out, err) : status;
}

typedef struct redis_facts {
    char version[32], role[16], cluster[8], aof[8], policy[32], sync[16];
} redis_facts;

static hf_status redis_learn(hf_redis *redis, redis_facts *out, hf_error *err)
{
    hf_redis_reply reply, value;
    hf_redis_queue(redis, "INFO", NULL);
    hf_status status = redis_ask_one(redis, &reply, err);
    if (status != HF_OK)
        return status;
    if (reply.kind != HF_REDIS_TEXT)
        return hf_fail(err, HF_UNAVAILABLE, "%s does not answer INFO: %.*s.", hf_redis_path(redis),
                       (int)(reply.text.size < 200 ? reply.text.size : 200), reply.text.at);
    redis_fact(reply.text, "redis_version", out->version, sizeof out->version);
    redis_fact(reply.text, "role", out->role, sizeof out->role);
    redis_fact(reply.text, "cluster_enabled", out->cluster, sizeof out->cluster);
    redis_fact(reply.text, "aof_enabled", out->aof, sizeof out->aof);
    redis_fact(reply.text, "maxmemory_policy", out->policy, sizeof out->policy);
    out->sync[0] = '\0'; /* CONFIG may be forbidden */
    hf_redis_queue(redis, "CONFIG", "GET", "appendfsync", NULL);
    status = redis_ask_one(redis, &reply, err);
    if (status == HF_OK && reply.kind == HF_REDIS_LIST && reply.count == 2) {
        hf_redis_at(&reply, 1, &value);
        snprintf(out->sync, sizeof out->sync, "%s", value.text.at);
    }
    return status;
}

hf_status redis_judge(redis_backend *it, hf_redis *redis, hf_error *err)
{
    redis_facts facts;
    bool relaxed = it->url.durability != NULL && strcmp(it->url.durability, "relaxed") == 0;
    const char *path = hf_redis_path(redis);
    if (it->url.durability != NULL && !relaxed)
        return hf_fail(err, HF_INVALID,
                       "The parameter durability of the URL is \"relaxed\" or is left out.");
    hf_status status = redis_learn(redis, &facts, err);
    if (status != HF_OK)
        return status;
    if (strcmp(facts.role, "master") != 0)
        return hf_fail(err, HF_INVALID, "%s is a replica: name the master in the URL.", path);
    if (strcmp(facts.cluster, "1") == 0)
        return hf_fail(err, HF_INVALID,
                       "%s is part of a cluster: leases need one master of their own.", path);
    if (!relaxed && strcmp(facts.policy, "noeviction") != 0)
        return hf_fail(
            err, HF_INVALID,
            "%s may drop leases when memory is short: set maxmemory-policy to noeviction (it "
            "is %s), or add durability=relaxed to the URL.",
            path, facts.policy);
    if (!relaxed && strcmp(facts.aof, "1") != 0)
        return hf_fail(err, HF_INVALID,
                       "%s loses leases in a restart: set appendonly to yes, or add "
                       "durability=relaxed to the URL.",
                       path);
    snprintf(it->grade, sizeof it->grade, "Redis %s, one master%s: a failover may lose leases",
             facts.version,
             strcmp(facts.aof, "1") != 0         ? ", kept in memory alone"
             : strcmp(facts.sync, "always") == 0 ? ", every lease synced to disk"
             : strcmp(facts.sync, "everysec") == 0
                 ? ", synced every second: a crash may lose the last one"
                 : ", synced now and then: a crash may lose the last moments");
    return HF_OK;
}
