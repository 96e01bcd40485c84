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

hf_status redis_judge(redis_backend *it, hf_redis *redis, hf_error *err)
{
    hf_redis_facts facts;
    bool relaxed = it->url.durability != NULL && strcmp(it->url.durability, "relaxed") == 0;
    const char *path = hf_redis_path(redis);
    if (it->url.durability != NULL && !relaxed)
        return hf_fail(err, HF_INVALID,
                       "The parameter durability of the URL is \"relaxed\" or is left out.");
    if (it->url.replicas != 0)
        return hf_fail(err, HF_INVALID, "replicas= is for a store on Redis; leave it out.");
    hf_status status = hf_redis_learn(redis, &facts, err);
    if (status != HF_OK)
        return status;
    if (facts.loading)
        return hf_fail(err, HF_UNAVAILABLE, "%s is still loading its data; try again in a moment.",
                       path);
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
