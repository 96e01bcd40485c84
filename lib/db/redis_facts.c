/* SPDX-License-Identifier: MIT */
/* What a Redis server says of itself, for whoever must know whether it keeps what it acknowledges.
 */
#include "base/error.h"
#include "db/redis.h"

#include <stdio.h>
#include <string.h>

/* The value of "name:value" in what INFO tells; "" when there is none. */
static void redis_facts_find(hf_slice info, const char *name, char *out, size_t size)
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

/* The answer to CONFIG GET of one setting. */
static hf_status redis_facts_setting(hf_redis *redis, char *out, size_t size, bool *denied,
                                     hf_error *err)
{
    hf_redis_reply reply, value;
    hf_status status = hf_redis_read(redis, &reply, err);
    out[0] = '\0';
    if (status == HF_OK && reply.kind == HF_REDIS_LIST && reply.count == 2) {
        hf_redis_at(&reply, 1, &value);
        snprintf(out, size, "%s", value.text.at);
    } else if (status == HF_OK) {
        *denied = true;
    }
    return status;
}

hf_status hf_redis_learn(hf_redis *redis, hf_redis_facts *out, hf_error *err)
{
    hf_redis_reply reply;
    *out = (hf_redis_facts){.config_denied = false};
    hf_redis_queue(redis, "INFO", NULL);
    hf_redis_queue(redis, "CONFIG", "GET", "appendfsync", NULL);
    hf_redis_queue(redis, "CONFIG", "GET", "no-appendfsync-on-rewrite", NULL);
    hf_status status = hf_redis_send(redis, err);
    if (status == HF_OK)
        status = hf_redis_read(redis, &reply, err);
    if (status != HF_OK)
        return status;
    if (reply.kind != HF_REDIS_TEXT)
        status =
            hf_fail(err, HF_UNAVAILABLE, "%s does not answer INFO: %.*s.", hf_redis_path(redis),
                    (int)(reply.text.size < 200 ? reply.text.size : 200), reply.text.at);
    if (status == HF_OK) {
        char loading[8];
        redis_facts_find(reply.text, "loading", loading, sizeof loading);
        out->loading = strcmp(loading, "1") == 0;
        redis_facts_find(reply.text, "redis_version", out->version, sizeof out->version);
        redis_facts_find(reply.text, "role", out->role, sizeof out->role);
        redis_facts_find(reply.text, "cluster_enabled", out->cluster, sizeof out->cluster);
        redis_facts_find(reply.text, "aof_enabled", out->aof, sizeof out->aof);
        redis_facts_find(reply.text, "maxmemory_policy", out->policy, sizeof out->policy);
    }
    hf_status sync = redis_facts_setting(redis, out->sync, sizeof out->sync, &out->config_denied,
                                         status == HF_OK ? err : NULL);
    hf_status rewrite = sync == HF_OK
                            ? redis_facts_setting(redis, out->rewrite, sizeof out->rewrite,
                                                  &out->config_denied, status == HF_OK ? err : NULL)
                            : sync;
    return status != HF_OK ? status : rewrite;
}
