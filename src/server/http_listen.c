/* SPDX-License-Identifier: MIT */
/* Listening: addresses and their sockets, accepting, and the certificates of each listener. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "server/http_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096, ACCEPTS = 64, PAUSE_US = 200000, HOST_SIZE = 256 };

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
    struct sockaddr_storage room;
} socket_address;

/* ---- accepting ---- */

static void resume(evutil_socket_t fd, short what, void *context)
{
    http_listener *l = context;
    (void)fd, (void)what;
    event_add(&l->accepting, NULL);
}

/* Files or memory are out: the socket stays readable, so asking on would only burn time. */
static void pause_accepting(http_listener *l)
{
    struct timeval span = {.tv_usec = PAUSE_US};
    http_count(l->http, "accept_failed");
    event_del(&l->accepting);
    event_add(&l->resuming, &span);
}

/* Whether more may wait. */
static bool accept_some(http_listener *l, int fd)
{
    for (int i = 0; i < ACCEPTS; i++) {
        socket_address peer;
        socklen_t size = sizeof peer;
        int got = accept4(fd, &peer.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (got >= 0) {
            conn_open(l->http, l, got, &peer.any);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_accepting(l);
        if (errno != ECONNABORTED && errno != EINTR)
            return false;
    }
    return true;
}

static void on_accept(evutil_socket_t fd, short what, void *context)
{
    (void)what;
    accept_some(context, fd);
}

void listener_empty(http_listener *l)
{
    while (accept_some(l, l->fd))
        continue;
}

/* ---- sockets ---- */

static hf_status cannot_listen(const char *name, int error, hf_error *err)
{
    if (error == EADDRINUSE)
        return hf_fail(err, HF_UNAVAILABLE,
                       "Something else listens on %.120s already; stop it, or choose another address.", name);
    if (error == EACCES || error == EPERM)
        return hf_fail(err, HF_UNAVAILABLE, "This user may not listen on %.120s; choose another address.",
                       name);
    return hf_fail(err, HF_UNAVAILABLE, "Can't listen on %.120s: %s.", name, strerror(error));
}

static void prepare(int fd)
{
    int yes = 1;
    /* Accepted sockets inherit it. On a Unix socket it fails, which is fine. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

/* -1 and errno when it can't be. */
static int bind_tcp(const struct addrinfo *to)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    prepare(fd);
    int yes = 1;
    if (to->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, to->ai_addr, to->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Splits "HOST:PORT" or "[HOST]:PORT". */
static bool split_address(const char *address, char host[HOST_SIZE], const char **port)
{
    const char *colon = strrchr(address, ':'), *from = address, *to = colon;
    if (colon == NULL)
        return false;
    if (*address == '[') {
        if (to[-1] != ']')
            return false;
        from++;
        to--;
    } else if (memchr(address, ':', (size_t)(colon - address)) != NULL) {
        return false;
    }
    size_t size = to > from ? (size_t)(to - from) : 0;
    *port = colon + 1;
    size_t digits = strspn(*port, "0123456789");
    if (size == 0 || size >= HOST_SIZE || digits == 0 || digits > 5 || (*port)[digits] != '\0')
        return false;
    memcpy(host, from, size);
    host[size] = '\0';
    return true;
}

static hf_status listen_tcp(const char *address, int *out, hf_error *err)
{
    char host[HOST_SIZE];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *found = NULL;
    if (!split_address(address, host, &port) || strlen(port) > 5 ||
        (strlen(port) == 5 && strcmp(port, "65535") > 0))
        return hf_fail(
            err, HF_INVALID,
            "'%.120s' is no address to listen on; give one such as 127.0.0.1:7420, [::1]:7420 or unix:PATH.",
            address);
    int problem = getaddrinfo(host, port, &hints, &found);
    if (problem != 0)
        return hf_fail(err, HF_UNAVAILABLE, "Can't listen on %.120s: %s.", address, gai_strerror(problem));
    int fd = -1, error = 0;
    for (struct addrinfo *to = found; to != NULL && fd < 0; to = to->ai_next) {
        fd = bind_tcp(to);
        error = fd < 0 && error != EADDRINUSE ? errno : error;
    }
    freeaddrinfo(found);
    if (fd < 0)
        return cannot_listen(address, error, err);
    *out = fd;
    return HF_OK;
}

/* Makes room for a socket: what nobody listens on any more is removed; anything else stays. */
static hf_status clear_path(const char *name, const struct sockaddr_un *at, hf_error *err)
{
    struct stat there;
    if (lstat(at->sun_path, &there) != 0)
        return errno == ENOENT ? HF_OK : cannot_listen(name, errno, err);
    if (!S_ISSOCK(there.st_mode))
        return hf_fail(err, HF_UNAVAILABLE, "Can't listen on %.120s: there is a file which is not a socket.",
                       name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return cannot_listen(name, errno, err);
    int error = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 ? 0 : errno;
    close(fd);
    if (error != ECONNREFUSED)
        return cannot_listen(name, error == 0 || error == EAGAIN ? EADDRINUSE : error, err);
    return unlink(at->sun_path) == 0 ? HF_OK : cannot_listen(name, errno, err);
}

static hf_status listen_unix(const char *name, int *out, hf_error *err)
{
    const char *path = name + strlen("unix:");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof at.sun_path)
        return hf_fail(err, HF_INVALID, "'%.120s' names no socket: a path has 1 to %zu bytes.", name,
                       sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    hf_status status = clear_path(name, &at, err);
    if (status != HF_OK)
        return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return cannot_listen(name, errno, err);
    /* Before bind it limits what bind makes; after it, the umask no longer counts. */
    if (fchmod(fd, 0660) == 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0) {
        if (chmod(path, 0660) == 0 && listen(fd, BACKLOG) == 0) {
            *out = fd;
            return HF_OK;
        }
        unlink(path);
    }
    int error = errno;
    close(fd);
    return cannot_listen(name, error, err);
}

/* ---- listeners ---- */

/* What came of it, for people and for clients. */
static void name_socket(int fd, char *out)
{
    socket_address at = {0};
    socklen_t size = sizeof at;
    char host[NET_ADDRESS_TEXT];
    if (out == NULL)
        return;
    out[0] = '\0';
    if (getsockname(fd, &at.any, &size) != 0)
        return;
    if (at.any.sa_family == AF_UNIX) {
        bool abstract = at.local.sun_path[0] == '\0';
        snprintf(out, HTTP_NAME_SIZE, "unix:%s%.107s", abstract ? "@" : "",
                 at.local.sun_path + (abstract ? 1 : 0));
        return;
    }
    bool v6 = at.any.sa_family == AF_INET6;
    net_address address = net_address_of(&at.any);
    net_address_print(&address, host);
    snprintf(out, HTTP_NAME_SIZE, v6 ? "[%s]:%u" : "%s:%u", host,
             ntohs(v6 ? at.v6.sin6_port : at.v4.sin_port));
}

void listener_free(http_listener *l)
{
    if (l->fd >= 0) {
        event_del(&l->accepting);
        event_del(&l->resuming);
        /* First: once it is closed another server may take the path. */
        if (l->path != NULL)
            unlink(l->path);
        close(l->fd);
    }
    tls_context_free(l->context);
    hf_free(l->certificate);
    hf_free(l->key);
    hf_free(l->path);
    hf_free(l);
}

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hf_alloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* A listener without a socket: all that can fail before the world sees it. */
static hf_status listener_new(http *h, const http_tls *tls, const char *path, http_listener **out,
                              hf_error *err)
{
    http_listener *l = hf_alloc(sizeof *l);
    if (l == NULL)
        return hf_fail_memory(err);
    l->http = h;
    l->fd = -1;
    hf_status status = HF_OK;
    if ((path != NULL && (l->path = copy_of(path)) == NULL) ||
        (tls != NULL &&
         ((l->certificate = copy_of(tls->certificate)) == NULL || (l->key = copy_of(tls->key)) == NULL)))
        status = hf_fail_memory(err);
    else if (tls != NULL)
        status = tls_context_new(tls, &l->context, err);
    if (status != HF_OK) {
        listener_free(l);
        return status;
    }
    *out = l;
    return HF_OK;
}

static hf_status start(http_listener *l, int fd, char *out_name, hf_error *err)
{
    http *h = l->http;
    event_assign(&l->accepting, h->settings.base, fd, EV_READ | EV_PERSIST, on_accept, l);
    evtimer_assign(&l->resuming, h->settings.base, resume, l);
    if (event_add(&l->accepting, NULL) != 0)
        return hf_fail_memory(err);
    l->fd = fd;
    l->next = h->listeners;
    h->listeners = l;
    name_socket(fd, out_name);
    return HF_OK;
}

hf_status http_listen(http *h, const char *address, const http_tls *tls, char *out_name, hf_error *err)
{
    bool local = strncmp(address, "unix:", 5) == 0;
    http_listener *l;
    hf_status status = listener_new(h, tls, local ? address + 5 : NULL, &l, err);
    if (status != HF_OK)
        return status;
    int fd = -1;
    status = local ? listen_unix(address, &fd, err) : listen_tcp(address, &fd, err);
    if (status == HF_OK && (status = start(l, fd, out_name, err)) != HF_OK) {
        if (local)
            unlink(l->path);
        close(fd);
    }
    if (status != HF_OK)
        listener_free(l);
    return status;
}

hf_status http_listen_fd(http *h, int fd, const http_tls *tls, char *out_name, hf_error *err)
{
    int listening = 0, type = 0, flags = fcntl(fd, F_GETFL);
    socklen_t size = sizeof listening;
    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || listening == 0 || type != SOCK_STREAM)
        return hf_fail(
            err, HF_INVALID,
            "File descriptor %d, which was handed over to listen on, is not a listening stream socket.", fd);
    http_listener *l;
    hf_status status = listener_new(h, tls, NULL, &l, err);
    if (status != HF_OK)
        return status;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    prepare(fd);
    status = start(l, fd, out_name, err);
    if (status != HF_OK)
        listener_free(l);
    return status;
}

/* All of them, or none. */
hf_status http_reload(http *h, hf_error *err)
{
    hf_status status = HF_OK;
    for (http_listener *l = h->listeners; l != NULL && status == HF_OK; l = l->next)
        if (l->context != NULL)
            status = tls_context_new(&(http_tls){l->certificate, l->key}, &l->fresh, err);
    for (http_listener *l = h->listeners; l != NULL; l = l->next) {
        if (status == HF_OK && l->fresh != NULL) {
            tls_context_free(l->context);
            l->context = hf_take(l->fresh);
        }
        tls_context_free(hf_take(l->fresh));
    }
    return status;
}
