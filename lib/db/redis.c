/* SPDX-License-Identifier: MIT */
/* Commands and replies of Redis. */
#include "db/redis.h"

#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"
#include "db/redis_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REDIS_PIECE_SIZE = 16384 };

void hf_redis_close(hf_redis *redis)
{
    if (redis == NULL)
        return;
    if (redis->reply != NULL)
        freeReplyObject(redis->reply);
    if (redis->reader != NULL)
        redisReaderFree(redis->reader);
    SSL_free(redis->tls);
    SSL_CTX_free(redis->context);
    if (redis->fd >= 0)
        close(redis->fd);
    hf_buffer_done(&redis->out);
    hf_free(redis);
}

bool hf_redis_alive(const hf_redis *redis)
{
    return !redis->lost;
}

int hf_redis_socket(const hf_redis *redis)
{
    return redis->fd;
}

const char *hf_redis_path(const hf_redis *redis)
{
    return redis->path;
}

/* ---- commands ---- */

/* "*2\r\n" before the words of a command, "$5\r\n" before each. */
static void redis_add_count(hf_buffer *out, char kind, size_t count)
{
    char line[24], *at = line + sizeof line;
    *--at = '\n';
    *--at = '\r';
    do
        *--at = (char)('0' + count % 10);
    while ((count /= 10) > 0);
    *--at = kind;
    hf_buffer_add(out, at, (size_t)(line + sizeof line - at));
}

static void redis_add_word(hf_buffer *out, hf_slice word)
{
    redis_add_count(out, '$', word.size);
    hf_buffer_add(out, word.at, word.size);
    hf_buffer_add(out, "\r\n", 2);
}

/* Written here: hiredis allocates, copies and prints for every word. */
void hf_redis_queue(hf_redis *redis, const char *word, ...)
{
    va_list words, again;
    size_t count = 1;
    va_start(words, word);
    va_copy(again, words);
    while (va_arg(again, const char *) != NULL)
        count++;
    va_end(again);
    redis_add_count(&redis->out, '*', count);
    for (const char *at = word; at != NULL; at = va_arg(words, const char *))
        redis_add_word(&redis->out, hf_slice_of(at));
    va_end(words);
}

void hf_redis_word(hf_redis_words *words, hf_slice word)
{
    redis_add_word(&words->bytes, word);
    words->count++;
}

void hf_redis_number(hf_redis_words *words, int64_t number)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%lld", (long long)number);
    hf_redis_word(words, (hf_slice){text, (size_t)size});
}

void hf_redis_joined(hf_redis_words *words, const hf_slice *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    redis_add_count(&words->bytes, '$', size);
    for (size_t i = 0; i < count; i++)
        hf_buffer_add(&words->bytes, parts[i].at, parts[i].size);
    hf_buffer_add(&words->bytes, "\r\n", 2);
    words->count++;
}

void hf_redis_append(hf_redis_words *words, const hf_redis_words *more)
{
    hf_buffer_add(&words->bytes, more->bytes.text, more->bytes.size);
    words->bytes.failed |= more->bytes.failed;
    words->count += more->count;
}

void hf_redis_words_clear(hf_redis_words *words)
{
    words->bytes.size = words->count = 0;
    words->bytes.failed = words->bytes.full = false;
}

void hf_redis_words_done(hf_redis_words *words)
{
    hf_buffer_done(&words->bytes);
    words->count = 0;
}

void hf_redis_queue_words(hf_redis *redis, const hf_redis_words *words)
{
    redis_add_count(&redis->out, '*', words->count);
    hf_buffer_add(&redis->out, words->bytes.text, words->bytes.size);
    redis->out.failed |= words->bytes.failed;
}

hf_status hf_redis_send(hf_redis *redis, hf_error *err)
{
    if (redis->out.failed) {
        redis->lost = true; /* what is missing would be answered by something else */
        return hf_fail_memory(err);
    }
    hf_status status = redis->lost ? redis_lost(redis, "it was lost before", err) : HF_OK;
    if (status == HF_OK && redis->out.size > 0)
        status = redis_write(redis, redis->out.text, redis->out.size,
                             hf_seam.boot_us() + redis->timeout_us, err);
    redis->out.size = 0;
    return status;
}

/* ---- replies ---- */

static void redis_show(const redisReply *reply, hf_redis_reply *out)
{
    *out = (hf_redis_reply){.kind = HF_REDIS_NIL, .inner = reply};
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        out->kind = HF_REDIS_NUMBER;
        out->number = reply->integer;
        break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
        out->kind = reply->type == REDIS_REPLY_ERROR ? HF_REDIS_ERROR : HF_REDIS_TEXT;
        out->text = (hf_slice){reply->str, reply->len};
        break;
    case REDIS_REPLY_ARRAY:
        out->kind = HF_REDIS_LIST;
        out->count = reply->elements;
        break;
    default:
        break;
    }
}

/* The next reply of those that have come; *there is false when it is not complete. */
static hf_status redis_next(hf_redis *redis, bool *there, hf_error *err)
{
    void *reply = NULL;
    if (redis->reply != NULL)
        freeReplyObject(redis->reply);
    redis->reply = NULL;
    if (redisReaderGetReply(redis->reader, &reply) != REDIS_OK)
        return redis_lost(redis, redis->reader->errstr, err);
    redis->reply = reply;
    *there = reply != NULL;
    return HF_OK;
}

static hf_status redis_read_by(hf_redis *redis, int64_t deadline_us, bool *there, hf_error *err)
{
    char piece[REDIS_PIECE_SIZE];
    hf_status status =
        redis->lost ? redis_lost(redis, "it was lost before", err) : redis_next(redis, there, err);
    for (bool first = true; status == HF_OK && !*there; first = false) {
        size_t got = 0;
        status = redis_receive(redis, piece, sizeof piece, deadline_us, first, &got, err);
        if (status != HF_OK || got == 0)
            break;
        if (redisReaderFeed(redis->reader, piece, got) != REDIS_OK)
            status = redis_lost(redis, redis->reader->errstr, err);
        if (status == HF_OK)
            status = redis_next(redis, there, err);
    }
    return status;
}

hf_status hf_redis_read(hf_redis *redis, hf_redis_reply *out, hf_error *err)
{
    bool there = false;
    hf_status status = redis_read_by(redis, hf_seam.boot_us() + redis->timeout_us, &there, err);
    if (status == HF_OK && !there)
        status = redis_lost(redis, "it did not answer in time", err);
    if (status == HF_OK)
        redis_show(redis->reply, out);
    return status;
}

hf_status hf_redis_poll(hf_redis *redis, bool *there, hf_redis_reply *out, hf_error *err)
{
    *there = false;
    hf_status status = redis_read_by(redis, 0, there, err);
    if (status == HF_OK && *there)
        redis_show(redis->reply, out);
    return status;
}

void hf_redis_at(const hf_redis_reply *list, size_t index, hf_redis_reply *out)
{
    const redisReply *reply = list->inner;
    if (index < list->count)
        redis_show(reply->element[index], out);
    else
        *out = (hf_redis_reply){.kind = HF_REDIS_NIL, .text = {"", 0}};
}
