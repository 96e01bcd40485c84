/* SPDX-License-Identifier: MIT */
/* The store on Redis: its connections, and whether the server keeps what it acknowledges (V6). */
#include "base/error.h"
#include "base/seams.h"
#include "sql/redis_store_commit.h"
#include "sql/redis_store_probe.h"
#include "store/redis.h"

#include <stdio.h>
#include <string.h>

enum { JUDGED_US = 60 * 1000000 }; /* a connection is judged again after so long */

/* ---- judging ---- */

/* What an administrator has to set, in one sentence. */
static hf_status redis_conn_refuse(const char *path, const char *why, const char *what,
                                   hf_error *err)
{
    return hf_fail(err, HF_UNAVAILABLE,
                   "%s may lose locks that were acknowledged: %s. Set %s, or add "
                   "durability=relaxed to the URL.",
                   path, why, what);
}

/* HF_BUSY: the server still loads its data. */
static hf_status redis_conn_check(const redis_store *store, const char *path,
                                  const hf_redis_facts *facts, hf_error *err)
{
    int major = 0, minor = 0;
    if (sscanf(facts->version, "%d.%d", &major, &minor) == 2 &&
        (major < 6 || (major == 6 && minor < 2)))
        return hf_fail(err, HF_UNAVAILABLE, "%s is of version %s: a store needs 6.2 or newer.",
                       path, facts->version);
    if (strcmp(facts->cluster, "1") == 0)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is part of a cluster: a store needs one master of its own.", path);
    if (strcmp(facts->role, "master") != 0 && strcmp(facts->role, "") != 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s is a replica: name the master in the URL.", path);
    if (facts->loading)
        return hf_fail_away(err, HF_BUSY, "%s is still loading its data; try again in a moment.",
                            path);
    if (store->kv.forgets)
        return HF_OK;
    if (strcmp(facts->policy, "noeviction") != 0)
        return redis_conn_refuse(path, "it removes keys when memory is short",
                                 "maxmemory-policy noeviction", err);
    if (strcmp(facts->aof, "1") != 0)
        return redis_conn_refuse(path, "it has no append-only file, so a restart loses them",
                                 "appendonly yes", err);
    if (facts->config_denied)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s does not tell its settings: CONFIG GET is forbidden. Allow it to this "
                       "account (+config|get), or add durability=relaxed to the URL.",
                       path);
    if (strcmp(facts->sync, "always") != 0)
        return redis_conn_refuse(path, "it syncs the append-only file later", "appendfsync always",
                                 err);
    if (strcmp(facts->rewrite, "no") != 0)
        return redis_conn_refuse(path, "it does not sync while it rewrites the append-only file",
                                 "no-appendfsync-on-rewrite no", err);
    return HF_OK;
}

static void redis_conn_grade(redis_store *store, const hf_redis_facts *facts)
{
    hf_grade grade = {.level = HF_GRADE_PROCESS};
    bool file = strcmp(facts->aof, "1") == 0;
    bool synced = file && strcmp(facts->sync, "always") == 0 && strcmp(facts->rewrite, "no") == 0;
    bool evicts = strcmp(facts->policy, "noeviction") != 0;
    char replicas[64] = "one master: a failover may lose locks";
    if (synced && !evicts)
        grade.level = HF_GRADE_DISK;
    else if (!file || evicts)
        grade.level = HF_GRADE_NONE;
    if (store->url.replicas > 0)
        snprintf(replicas, sizeof replicas, "acknowledged by %u replica%s in memory",
                 store->url.replicas, store->url.replicas == 1 ? "" : "s");
    snprintf(grade.text, sizeof grade.text, "Redis %s, %s; %s", facts->version,
             evicts   ? "which removes keys when memory is short: locks may be forgotten"
             : !file  ? "without an append-only file: a restart forgets locks"
             : synced ? "synced to disk before it is acknowledged"
             : facts->sync[0] == '\0' ? "with an append-only file, whose syncs it does not tell"
             : strcmp(facts->sync, "everysec") == 0
                 ? "synced every second: a crash may lose the last one"
                 : "synced now and then: a crash may lose the last moments",
             replicas);
    pthread_mutex_lock(&store->kv.mutex);
    store->grade = grade;
    pthread_mutex_unlock(&store->kv.mutex);
}

static hf_status redis_conn_denied(const redis_store *store, const hf_redis *redis, hf_slice text,
                                   hf_error *err)
{
    return hf_fail(err, HF_UNAVAILABLE,
                   "The account may not do what the store needs on %s: %.*s. Allow it with ACL "
                   "SETUSER: +@read +@write +@scripting +@connection +info +config|get +time +wait "
                   "+publish +subscribe ~%s* &%s*",
                   hf_redis_path(redis), (int)(text.size < 200 ? text.size : 200), text.at,
                   store->prefix, store->prefix);
}

/* Runs every command that the store may run. HF_BUSY: the server still loads its data. */
static hf_status redis_conn_probe(const redis_store *store, hf_redis *redis, hf_error *err)
{
    hf_redis_reply reply;
    hf_redis_queue(redis, "EVAL", redis_store_probe, "0", store->prefix, NULL);
    hf_status status = hf_redis_send(redis, err);
    if (status == HF_OK)
        status = hf_redis_read(redis, &reply, err);
    if (status != HF_OK || reply.kind != HF_REDIS_ERROR)
        return status;
    int size = (int)(reply.text.size < 200 ? reply.text.size : 200);
    if (strncmp(reply.text.at, "LOADING", 7) == 0)
        return hf_fail_away(err, HF_BUSY, "%s is still loading its data; try again in a moment.",
                            hf_redis_path(redis));
    if (strstr(reply.text.at, "OOM command not allowed") != NULL)
        return HF_OK; /* releasing still works */
    if (strncmp(reply.text.at, "NOPERM", 6) == 0 || strncmp(reply.text.at, "DENIED", 6) == 0)
        return redis_conn_denied(store, redis, reply.text, err);
    return hf_fail(err, HF_UNAVAILABLE, "%s refused to write: %.*s.", hf_redis_path(redis), size,
                   reply.text.at);
}

static hf_status redis_conn_judge(redis_store *store, hf_redis *redis, hf_error *err)
{
    hf_redis_facts facts;
    hf_status status = hf_redis_learn(redis, &facts, err);
    if (status == HF_OK)
        status = redis_conn_check(store, hf_redis_path(redis), &facts, err);
    if (status == HF_OK)
        status = redis_conn_probe(store, redis, err);
    if (status == HF_OK)
        redis_conn_grade(store, &facts);
    return status;
}

/* ---- opening ---- */

/* Loads the script; its name is that of its text, the same on every server. */
static hf_status redis_conn_load(const redis_store *store, hf_redis *redis, char *script,
                                 hf_error *err)
{
    hf_redis_reply reply;
    hf_redis_queue(redis, "EVALSHA", "none", "0", NULL); /* whether that is allowed */
    hf_redis_queue(redis, "SCRIPT", "LOAD", redis_store_commit, NULL);
    hf_status status = hf_redis_send(redis, err);
    if (status == HF_OK)
        status = hf_redis_read(redis, &reply, err);
    if (status == HF_OK && strncmp(reply.text.at, "NOPERM", 6) == 0)
        return redis_conn_denied(store, redis, reply.text, err);
    if (status == HF_OK)
        status = hf_redis_read(redis, &reply, err);
    if (status != HF_OK)
        return status;
    if (reply.kind != HF_REDIS_TEXT || reply.text.size != REDIS_SHA1_SIZE - 1)
        return redis_conn_denied(store, redis, reply.text, err);
    memcpy(script, reply.text.at, REDIS_SHA1_SIZE);
    return HF_OK;
}

hf_status redis_conn_open(redis_store *store, hf_redis **out, char *script, hf_error *err)
{
    hf_status status = hf_redis_connect(store->url.url, store->url.password, 0, out, err);
    if (status == HF_OK)
        status = redis_conn_judge(store, *out, err);
    if (status == HF_OK && script != NULL)
        status = redis_conn_load(store, *out, script, err);
    if (status != HF_OK) {
        hf_redis_close(*out);
        *out = NULL;
    }
    return status;
}

hf_status redis_connect(kv_store *base, kv_conn **out, hf_error *err)
{
    redis_conn *conn = hf_alloc(sizeof *conn);
    if (conn == NULL)
        return hf_fail_memory(err);
    hf_status status = redis_conn_open((redis_store *)base, &conn->redis, conn->script, err);
    conn->judged_us = hf_seam.boot_us();
    if (status == HF_OK)
        *out = &conn->kv;
    else
        hf_free(conn);
    return status;
}

hf_status redis_check(kv_store *base, kv_conn *it, hf_error *err)
{
    redis_conn *conn = (redis_conn *)it;
    if (hf_seam.boot_us() - conn->judged_us <= JUDGED_US)
        return HF_OK;
    conn->judged_us = hf_seam.boot_us();
    return redis_conn_judge((redis_store *)base, conn->redis, err);
}

void redis_disconnect(kv_conn *it)
{
    redis_conn *conn = (redis_conn *)it;
    hf_redis_close(conn->redis);
    hf_redis_words_done(&conn->command);
    hf_free(conn);
}
