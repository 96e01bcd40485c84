/* SPDX-License-Identifier: MIT */
/* Bytes to and from Redis: a socket that never blocks for longer than a reply may take, poll(2)
 * against a deadline, TLS between. */
#include "base/error.h"
#include "base/seams.h"
#include "db/redis_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { REDIS_PIECE = 16384 };

hf_status redis_lost(hf_redis *redis, const char *why, hf_error *err)
{
    redis->lost = true;
    return hf_fail_away(err, HF_UNAVAILABLE, "The connection to %s is lost: %s.", redis->path, why);
}

bool redis_wait(const hf_redis *redis, short events, int64_t deadline_us)
{
    for (;;) {
        int64_t left_us = deadline_us - hf_seam.boot_us();
        struct pollfd it = {.fd = redis->fd, .events = events};
        int ready = poll(&it, 1, left_us <= 0 ? 0 : (int)((left_us + 999) / 1000));
        if (ready > 0)
            return true;
        if ((ready == 0 && left_us <= 0) || (ready < 0 && errno != EINTR))
            return false;
    }
}

/* ---- the socket ---- */

void redis_let_wait(const hf_redis *redis)
{
    struct timeval most = {redis->timeout_us / 1000000, redis->timeout_us % 1000000};
    if (setsockopt(redis->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0)
        fcntl(redis->fd, F_SETFL, fcntl(redis->fd, F_GETFL) & ~O_NONBLOCK);
}

static hf_status redis_put(hf_redis *redis, const char *bytes, size_t size, int64_t deadline_us,
                           hf_error *err)
{
    while (size > 0) {
        ssize_t sent = send(redis->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN) {
            if (!redis_wait(redis, POLLOUT, deadline_us))
                return redis_lost(redis, "it takes nothing in time", err);
        } else if (errno != EINTR) {
            return redis_lost(redis, strerror(errno), err);
        }
    }
    return HF_OK;
}

/* *got is 0 when nothing came by the deadline. A fresh wait is left to the socket: one system call
 * and not two. */
static hf_status redis_get(hf_redis *redis, char *out, size_t room, int64_t deadline_us, bool fresh,
                           size_t *got, hf_error *err)
{
    *got = 0;
    for (int how = fresh ? 0 : MSG_DONTWAIT;; how = MSG_DONTWAIT) {
        ssize_t came = recv(redis->fd, out, room, how);
        if (came > 0) {
            *got = (size_t)came;
            return HF_OK;
        }
        if (came == 0)
            return redis_lost(redis, "it was closed by the server", err);
        if (errno == EAGAIN) {
            if (!redis_wait(redis, POLLIN, deadline_us))
                return HF_OK;
        } else if (errno != EINTR) {
            return redis_lost(redis, strerror(errno), err);
        }
    }
}

/* ---- TLS ---- */

/* What TLS wants to send. */
static hf_status redis_flush_tls(hf_redis *redis, int64_t deadline_us, hf_error *err)
{
    char piece[REDIS_PIECE];
    int size;
    while ((size = BIO_read(redis->to_net, piece, sizeof piece)) > 0) {
        hf_status status = redis_put(redis, piece, (size_t)size, deadline_us, err);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

/* Takes in what has come for TLS; *any: something did. */
static hf_status redis_feed_tls(hf_redis *redis, int64_t deadline_us, bool *any, hf_error *err)
{
    char piece[REDIS_PIECE];
    size_t got = 0;
    hf_status status = redis_get(redis, piece, sizeof piece, deadline_us, false, &got, err);
    *any = got > 0;
    if (status == HF_OK && got > 0 && BIO_write(redis->from_net, piece, (int)got) != (int)got) {
        redis->lost = true; /* a part of the answers is missing */
        status = hf_fail_memory(err);
    }
    return status;
}

static hf_status redis_tls_failed(hf_redis *redis, hf_error *err)
{
    char why[256];
    long verdict = SSL_get_verify_result(redis->tls);
    unsigned long code = ERR_get_error();
    if (verdict != X509_V_OK) {
        redis_lost(redis, X509_verify_cert_error_string(verdict), err);
        if (err != NULL)
            err->away = false; /* whom it does not trust it will not trust later */
        return HF_UNAVAILABLE;
    }
    ERR_error_string_n(code, why, sizeof why);
    return redis_lost(redis, code == 0 ? "TLS failed" : why, err);
}

hf_status redis_handshake(hf_redis *redis, int64_t deadline_us, hf_error *err)
{
    for (;;) {
        bool any = false;
        ERR_clear_error();
        int done = SSL_do_handshake(redis->tls);
        int wants = SSL_get_error(redis->tls, done);
        hf_status status = redis_flush_tls(redis, deadline_us, err);
        if (status != HF_OK || done == 1)
            return status;
        if (wants != SSL_ERROR_WANT_READ)
            return redis_tls_failed(redis, err);
        status = redis_feed_tls(redis, deadline_us, &any, err);
        if (status != HF_OK)
            return status;
        if (!any)
            return redis_lost(redis, "it did not answer in time", err);
    }
}

/* ---- either ---- */

hf_status redis_write(hf_redis *redis, const char *bytes, size_t size, int64_t deadline_us,
                      hf_error *err)
{
    if (redis->tls == NULL)
        return redis_put(redis, bytes, size, deadline_us, err);
    ERR_clear_error();
    if (SSL_write(redis->tls, bytes, (int)size) != (int)size)
        return redis_tls_failed(redis, err);
    return redis_flush_tls(redis, deadline_us, err);
}

hf_status redis_receive(hf_redis *redis, char *out, size_t room, int64_t deadline_us, bool fresh,
                        size_t *got, hf_error *err)
{
    if (redis->tls == NULL)
        return redis_get(redis, out, room, deadline_us, fresh && deadline_us > 0, got, err);
    *got = 0;
    for (;;) {
        bool any = false;
        ERR_clear_error();
        int size = SSL_read(redis->tls, out, (int)room);
        if (size > 0) {
            *got = (size_t)size;
            return HF_OK;
        }
        int wants = SSL_get_error(redis->tls, size);
        if (wants == SSL_ERROR_ZERO_RETURN)
            return redis_lost(redis, "it was closed by the server", err);
        if (wants != SSL_ERROR_WANT_READ)
            return redis_tls_failed(redis, err);
        hf_status status = redis_flush_tls(redis, deadline_us, err);
        if (status == HF_OK)
            status = redis_feed_tls(redis, deadline_us, &any, err);
        if (status != HF_OK || !any)
            return status;
    }
}
