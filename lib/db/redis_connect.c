/* SPDX-License-Identifier: MIT */
/* Reading a Redis URL, connecting, TLS, logging in. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"
#include "db/redis_inside.h"
#include "db/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REDIS_SHAPE "redis://HOST:PORT/DB, rediss://HOST:PORT/DB or redis+unix://PATH"

/* What a URL says; all are decoded. NULL: not given. */
typedef struct redis_target {
    bool unix_path, tls, verify;
    char *user, *password, *host, *port, *db;
    char *ssl_ca, *ssl_cert, *ssl_key;
} redis_target;

static void redis_target_done(redis_target *target)
{
    hf_url_wipe(target->password);
    char *const rest[] = {target->user,   target->host,     target->port,   target->db,
                          target->ssl_ca, target->ssl_cert, target->ssl_key};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        hf_free(rest[i]);
}

/* ---- the URL ---- */

static hf_status redis_part(hf_slice text, const char *what, char **out, hf_error *err)
{
    return text.size == 0 ? HF_OK : hf_url_decode(text, what, out, err);
}

static hf_status redis_read_params(const char *url, redis_target *out, hf_error *err)
{
    const char *at = hf_url_query(url);
    hf_slice name, value;
    hf_status status = HF_OK;
    while (status == HF_OK && at != NULL && hf_url_next(&at, &name, &value)) {
        char **to = hf_slice_equal(name, hf_slice_of("db"))         ? &out->db
                    : hf_slice_equal(name, hf_slice_of("ssl_ca"))   ? &out->ssl_ca
                    : hf_slice_equal(name, hf_slice_of("ssl_cert")) ? &out->ssl_cert
                    : hf_slice_equal(name, hf_slice_of("ssl_key"))  ? &out->ssl_key
                                                                    : NULL;
        if (hf_slice_equal(name, hf_slice_of("ssl_verify")))
            out->verify = !hf_slice_equal(value, hf_slice_of("0"));
        else if (to == NULL || *to != NULL)
            return hf_fail(err, HF_INVALID,
                           "The URL makes no sense as " REDIS_SHAPE
                           ": a parameter is not known, or there twice.");
        else
            status = redis_part(value, "parameter", to, err);
    }
    return status;
}

/* [USER[:PASSWORD]@]HOST[:PORT][/DB] */
static hf_status redis_read_host(const char *at, size_t size, redis_target *out, hf_error *err)
{
    const char *slash = memchr(at, '/', size), *end = slash == NULL ? at + size : slash;
    const char *login = memchr(at, '@', (size_t)(end - at)), *host = login == NULL ? at : login + 1;
    const char *colon = login == NULL ? NULL : memchr(at, ':', (size_t)(login - at));
    const char *bracket =
        host < end && *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *port = memchr(bracket == NULL ? host : bracket, ':',
                              (size_t)(end - (bracket == NULL ? host : bracket)));
    const char *host_end = port == NULL ? end : port;
    hf_status status = HF_OK;
    if (login != NULL)
        status = redis_part((hf_slice){at, (size_t)((colon == NULL ? login : colon) - at)}, "user",
                            &out->user, err);
    if (status == HF_OK && colon != NULL)
        status = redis_part((hf_slice){colon + 1, (size_t)(login - colon - 1)}, "password",
                            &out->password, err);
    hf_slice name = {host, (size_t)(host_end - host)};
    if (bracket != NULL)
        name = (hf_slice){host + 1, (size_t)(bracket - host - 1)};
    if (status == HF_OK)
        status = redis_part(name, "host", &out->host, err);
    if (status == HF_OK && port != NULL)
        status =
            redis_part((hf_slice){port + 1, (size_t)(end - port - 1)}, "port", &out->port, err);
    if (status == HF_OK && slash != NULL)
        status = redis_part((hf_slice){slash + 1, (size_t)(at + size - slash - 1)}, "database",
                            &out->db, err);
    return status;
}

static bool redis_is_number(const char *text, long max)
{
    char *end = NULL;
    long number = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : -1;
    return number >= 0 && number <= max && *end == '\0';
}

static hf_status redis_target_read(const char *url, redis_target *out, hf_error *err)
{
    static const struct {
        const char *scheme;
        bool unix_path, tls;
    } schemes[] = {
        {"redis://", false, false}, {"rediss://", false, true}, {"redis+unix://", true, false}};
    size_t which = 0;
    while (which < 3 && strncmp(url, schemes[which].scheme, strlen(schemes[which].scheme)) != 0)
        which++;
    if (which == 3)
        return hf_fail(err, HF_INVALID, "The URL makes no sense as " REDIS_SHAPE ".");
    const char *at = url + strlen(schemes[which].scheme), *query = hf_url_query(url);
    size_t size = query == NULL ? strlen(at) : (size_t)(query - 1 - at);
    *out = (redis_target){
        .unix_path = schemes[which].unix_path, .tls = schemes[which].tls, .verify = true};
    hf_status status = out->unix_path ? redis_part((hf_slice){at, size}, "path", &out->host, err)
                                      : redis_read_host(at, size, out, err);
    if (status == HF_OK)
        status = redis_read_params(url, out, err);
    if (status == HF_OK && out->host == NULL)
        status = hf_fail(err, HF_INVALID, "The URL names no host: write " REDIS_SHAPE ".");
    if (status == HF_OK && out->port != NULL && !redis_is_number(out->port, 65535))
        status = hf_fail(err, HF_INVALID, "The URL makes no sense: a port is between 1 and 65535.");
    if (status == HF_OK && out->db != NULL && !redis_is_number(out->db, 1000000))
        status = hf_fail(err, HF_INVALID,
                         "The URL makes no sense: the database of a Redis is a number.");
    if (status == HF_OK && !out->tls && (out->ssl_ca != NULL || out->ssl_cert != NULL))
        status = hf_fail(err, HF_INVALID,
                         "Parameters for TLS stand in a URL without it: write rediss://.");
    return status;
}

/* ---- connecting ---- */

static hf_status redis_no_connection(const hf_redis *redis, const char *why, hf_error *err)
{
    return hf_fail_away(err, HF_UNAVAILABLE, "No connection to %s: %s.", redis->path, why);
}

/* The socket is redis->fd when it works. */
static bool redis_dial(hf_redis *redis, int family, const struct sockaddr *address, socklen_t size,
                       int64_t deadline_us)
{
    int problem = 0;
    socklen_t room = sizeof problem;
    redis->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (redis->fd < 0)
        return false;
    bool good = connect(redis->fd, address, size) == 0;
    if (!good && (errno == EINPROGRESS || errno == EAGAIN)) {
        good = redis_wait(redis, POLLOUT, deadline_us);
        problem = good ? 0 : ETIMEDOUT;
        if (good)
            getsockopt(redis->fd, SOL_SOCKET, SO_ERROR, &problem, &room);
        good = problem == 0;
        errno = problem;
    }
    if (!good) {
        int why = errno;
        close(redis->fd);
        redis->fd = -1;
        errno = why;
    }
    return good;
}

static hf_status redis_dial_path(hf_redis *redis, const redis_target *target, int64_t deadline_us,
                                 hf_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(target->host) >= sizeof address.sun_path)
        return hf_fail(err, HF_INVALID, "The path of the socket is longer than %zu bytes.",
                       sizeof address.sun_path - 1);
    memcpy(address.sun_path, target->host, strlen(target->host) + 1);
    return redis_dial(redis, AF_UNIX, (struct sockaddr *)&address, sizeof address, deadline_us)
               ? HF_OK
               : redis_no_connection(redis, strerror(errno), err);
}

static hf_status redis_dial_host(hf_redis *redis, const redis_target *target, int64_t deadline_us,
                                 hf_error *err)
{
    struct addrinfo *all = NULL, hints = {.ai_socktype = SOCK_STREAM};
    int code =
        getaddrinfo(target->host, target->port == NULL ? "6379" : target->port, &hints, &all);
    if (code != 0)
        return redis_no_connection(redis, gai_strerror(code), err);
    bool good = false;
    for (struct addrinfo *it = all; it != NULL && !good; it = it->ai_next)
        good = redis_dial(redis, it->ai_family, it->ai_addr, it->ai_addrlen, deadline_us);
    int why = errno;
    freeaddrinfo(all);
    if (!good)
        return redis_no_connection(redis, strerror(why), err);
    setsockopt(redis->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(redis->fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(redis->fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){10}, sizeof(int));
    setsockopt(redis->fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){5}, sizeof(int));
    setsockopt(redis->fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
    return HF_OK;
}

/* ---- TLS ---- */

static hf_status redis_make_tls(hf_redis *redis, const redis_target *target, hf_error *err)
{
    redis->context = SSL_CTX_new(TLS_client_method());
    if (redis->context == NULL)
        return hf_fail_memory(err);
    SSL_CTX_set_min_proto_version(redis->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(redis->context, target->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    if (target->ssl_ca != NULL
            ? SSL_CTX_load_verify_locations(redis->context, target->ssl_ca, NULL) != 1
            : SSL_CTX_set_default_verify_paths(redis->context) != 1)
        return hf_fail(err, HF_INVALID, "The certificates for TLS can't be read from %s.",
                       target->ssl_ca == NULL ? "the system" : target->ssl_ca);
    if (target->ssl_cert != NULL &&
        (SSL_CTX_use_certificate_chain_file(redis->context, target->ssl_cert) != 1 ||
         SSL_CTX_use_PrivateKey_file(redis->context,
                                     target->ssl_key == NULL ? target->ssl_cert : target->ssl_key,
                                     SSL_FILETYPE_PEM) != 1))
        return hf_fail(err, HF_INVALID,
                       "The client's certificate or its key can't be read from %s.",
                       target->ssl_cert);
    redis->tls = SSL_new(redis->context);
    redis->from_net = BIO_new(BIO_s_mem());
    redis->to_net = BIO_new(BIO_s_mem());
    if (redis->tls == NULL || redis->from_net == NULL || redis->to_net == NULL)
        return hf_fail_memory(err);
    SSL_set_bio(redis->tls, redis->from_net, redis->to_net);
    SSL_set_connect_state(redis->tls);
    SSL_set_tlsext_host_name(redis->tls, target->host);
    struct in6_addr ignored;
    bool numeric = inet_pton(AF_INET, target->host, &ignored) == 1 ||
                   inet_pton(AF_INET6, target->host, &ignored) == 1;
    if (numeric)
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(redis->tls), target->host);
    else
        SSL_set1_host(redis->tls, target->host);
    return HF_OK;
}

/* ---- logging in ---- */

/* One command whose answer is OK. */
static hf_status redis_log_in_by(hf_redis *redis, const char *what, hf_error *err)
{
    hf_redis_reply reply;
    hf_status status = hf_redis_send(redis, err);
    if (status == HF_OK)
        status = hf_redis_read(redis, &reply, err);
    if (status == HF_OK && reply.kind == HF_REDIS_ERROR && strncmp(reply.text.at, "NOAUTH", 6) == 0)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s wants a password: put it into the URL, into a file (password_file=PATH) "
                       "or into REDISCLI_AUTH.",
                       redis->path);
    if (status == HF_OK && reply.kind == HF_REDIS_ERROR &&
        strncmp(reply.text.at, "LOADING", 7) == 0)
        return hf_fail_away(err, HF_UNAVAILABLE, "%s is still loading its data.", redis->path);
    if (status == HF_OK && reply.kind == HF_REDIS_ERROR)
        return hf_fail(err, HF_UNAVAILABLE, "%s refused %s: %.*s.", redis->path, what,
                       (int)(reply.text.size < 200 ? reply.text.size : 200), reply.text.at);
    return status;
}

static hf_status redis_log_in(hf_redis *redis, const redis_target *target, const char *password,
                              hf_error *err)
{
    hf_status status = HF_OK;
    if (target->password != NULL)
        password = target->password;
    else if (password == NULL)
        password = getenv("REDISCLI_AUTH");
    if (password != NULL && target->user != NULL)
        hf_redis_queue(redis, "AUTH", target->user, password, NULL);
    else if (password != NULL)
        hf_redis_queue(redis, "AUTH", password, NULL);
    if (password != NULL)
        status = redis_log_in_by(redis, "the password", err);
    if (status == HF_OK && target->db != NULL) {
        hf_redis_queue(redis, "SELECT", target->db, NULL);
        status = redis_log_in_by(redis, "the database", err);
    }
    return status;
}

static hf_status redis_connect_to(hf_redis *redis, const redis_target *target, const char *password,
                                  hf_error *err)
{
    int64_t deadline_us = hf_seam.boot_us() + redis->timeout_us;
    snprintf(redis->path, sizeof redis->path, "Redis on %.300s%s%s", target->host,
             target->port == NULL ? "" : ":", target->port == NULL ? "" : target->port);
    redis->reader = redisReaderCreate();
    hf_status status = redis->reader == NULL ? hf_fail_memory(err)
                       : target->unix_path   ? redis_dial_path(redis, target, deadline_us, err)
                                             : redis_dial_host(redis, target, deadline_us, err);
    if (status == HF_OK && target->tls)
        status = redis_make_tls(redis, target, err);
    if (status == HF_OK && target->tls)
        status = redis_handshake(redis, deadline_us, err);
    if (status == HF_OK)
        redis_let_wait(redis);
    return status == HF_OK ? redis_log_in(redis, target, password, err) : status;
}

hf_status hf_redis_connect(const char *url, const char *password, int64_t timeout_us,
                           hf_redis **out, hf_error *err)
{
    redis_target target = {0};
    *out = NULL;
    hf_status status = redis_target_read(url, &target, err);
    hf_redis *redis = status == HF_OK ? hf_alloc(sizeof *redis) : NULL;
    if (status == HF_OK && redis == NULL)
        status = hf_fail_memory(err);
    if (status == HF_OK) {
        redis->fd = -1;
        redis->timeout_us = timeout_us > 0 ? timeout_us : HF_DB_TIMEOUT_US;
        status = redis_connect_to(redis, &target, password, err);
    }
    redis_target_done(&target);
    if (status == HF_OK)
        *out = redis;
    else
        hf_redis_close(redis);
    return status;
}
