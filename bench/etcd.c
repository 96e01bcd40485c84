/* SPDX-License-Identifier: MIT */
/* etcd through the JSON gateway that it brings along; keys and values travel in base64. It syncs
 * every change by itself. */
#include "rivals.h"

#include <stdint.h>
#include <stdio.h>

enum { CODED_SIZE = 64 };

static size_t encode(const char *bytes, size_t size, char out[CODED_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)bytes[i] << 16;
        bits |= i + 1 < size ? (uint32_t)(unsigned char)bytes[i + 1] << 8 : 0;
        bits |= i + 2 < size ? (uint32_t)(unsigned char)bytes[i + 2] : 0;
        out[used++] = digits[bits >> 18];
        out[used++] = digits[bits >> 12 & 63];
        out[used++] = i + 1 < size ? digits[bits >> 6 & 63] : '=';
        out[used++] = i + 2 < size ? digits[bits & 63] : '=';
    }
    return used;
}

typedef struct coded {
    char key[CODED_SIZE], value[CODED_SIZE];
    int key_size, value_size;
} coded;

static int write_create(const coded *c, char *out, size_t size)
{
    return snprintf(
        out, size,
        "{\"compare\":[{\"key\":\"%.*s\",\"target\":\"CREATE\",\"create_revision\":\"0\"}],"
        "\"success\":[{\"requestPut\":{\"key\":\"%.*s\",\"value\":\"%.*s\"}}]}",
        c->key_size, c->key, c->key_size, c->key, c->value_size, c->value);
}

static int write_delete(const coded *c, char *out, size_t size)
{
    return snprintf(out, size,
                    "{\"compare\":[{\"key\":\"%.*s\",\"target\":\"VALUE\",\"value\":\"%.*s\"}],"
                    "\"success\":[{\"requestDeleteRange\":{\"key\":\"%.*s\"}}]}",
                    c->key_size, c->key, c->value_size, c->value, c->key_size, c->key);
}

static size_t etcd_ask(void *context, size_t connection, size_t step, char *out)
{
    rival *r = context;
    const bench_pick *pick = talk_names_at(&r->names, connection, step);
    char key[sizeof BENCH_TYPE + BENCH_ID_SIZE], body[512];
    coded c;
    char *end = talk_put(talk_say(key, BENCH_TYPE "/"), pick->id, pick->id_size);
    c.key_size = (int)encode(key, (size_t)(end - key), c.key);
    c.value_size = (int)encode(pick->request, BENCH_REQUEST_SIZE - 1, c.value);
    int size =
        step == 0 ? write_create(&c, body, sizeof body) : write_delete(&c, body, sizeof body);
    return (size_t)snprintf(
        out, LOAD_ROOM,
        "POST /v3/kv/txn HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
        "Content-Length: %d\r\n\r\n%s",
        r->address, size, body);
}

static load_heard etcd_hear(void *context, size_t connection, size_t step, const char *answer,
                            size_t size)
{
    (void)context;
    (void)connection;
    (void)step;
    static const char good[] = "\"succeeded\":true";
    talk_http heard;
    load_heard complete = talk_http_read(answer, size, &heard);
    if (complete != LOAD_GOOD)
        return complete;
    bool done =
        heard.status == 200 && memmem(heard.body, heard.body_size, good, sizeof good - 1) != NULL;
    return done ? LOAD_GOOD : LOAD_BAD;
}

rival *rival_etcd(const bench *b, const char *url)
{
    static const load_talk talk = {.steps = 2, .ask = etcd_ask, .hear = etcd_hear};
    rival *r = rival_new(b, url, "etcd://", NULL);
    rival_connect(r, "etcd", &talk);
    return r;
}
