/* SPDX-License-Identifier: MIT */
/* What the files of the Redis client share. */
#ifndef HF_DB_REDIS_INSIDE_H
#define HF_DB_REDIS_INSIDE_H

#include "base/buffer.h"
#include "db/redis.h"

#include <hiredis/hiredis.h>
#include <openssl/ssl.h>

struct hf_redis {
    int fd;
    bool lost;
    int64_t timeout_us;
    hf_buffer out; /* commands that were not sent */
    redisReader *reader;
    redisReply *reply; /* the last one */
    /* TLS, between two memories: the socket is read and written in one place. NULL: none. */
    SSL_CTX *context;
    SSL *tls;
    BIO *from_net, *to_net; /* of tls */
    char path[512];
};

/* ---- redis_io.c: bytes, with deadlines ---- */

/* Waits for poll(2) events; false: not before the deadline (boot_us). */
bool redis_wait(const hf_redis *redis, short events, int64_t deadline_us);

/* The handshake, after tls was made. */
hf_status redis_handshake(hf_redis *redis, int64_t deadline_us, hf_error *err);

/* The socket waits by itself from now on, for as long as a reply may take. */
void redis_let_wait(const hf_redis *redis);

/* Sends all; reads some (0: nothing came by the deadline, which is an error only for the caller).
 * `fresh`: the deadline is as far away as a reply may take. */
hf_status redis_write(hf_redis *redis, const char *bytes, size_t size, int64_t deadline_us,
                      hf_error *err);
hf_status redis_receive(hf_redis *redis, char *out, size_t room, int64_t deadline_us, bool fresh,
                        size_t *got, hf_error *err);

/* The connection is lost: the sentence, and what is known of it from now on. */
hf_status redis_lost(hf_redis *redis, const char *why, hf_error *err);

#endif
