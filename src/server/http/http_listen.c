/* SPDX-License-Identifier: MIT */
/* Listening: accepting, and the certificates of each listener. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS = 64, PAUSE_US = 200000 };

/* ---- accepting ---- */

static void http_listen_resume(evutil_socket_t fd, short what, void *context)
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
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int got = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (got >= 0) {
            conn_open(l->http, l, got, (const struct sockaddr *)&peer);
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

/* ---- listeners ---- */

void listener_free(http_listener *l)
{
    if (l->fd >= 0) {
        event_del(&l->accepting);
        event_del(&l->resuming);
        close(l->fd);
    }
    tls_context_free(l->context);
    hf_free(l->certificate);
    hf_free(l->key);
    hf_free(l);
}

static char *http_listen_copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hf_alloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* A listener without a socket. */
static hf_status listener_new(http *h, const http_tls *tls, http_listener **out, hf_error *err)
{
    http_listener *l = hf_alloc(sizeof *l);
    if (l == NULL)
        return hf_fail_memory(err);
    l->http = h;
    l->fd = -1;
    hf_status status = HF_OK;
    if (tls != NULL && ((l->certificate = http_listen_copy_of(tls->certificate)) == NULL ||
                        (l->key = http_listen_copy_of(tls->key)) == NULL))
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

hf_status http_listen(http *h, int fd, const http_tls *tls, hf_error *err)
{
    int yes = 1;
    http_listener *l;
    hf_status status = listener_new(h, tls, &l, err);
    if (status != HF_OK)
        return status;
    /* Accepted sockets inherit it. On a Unix socket it fails, which is fine. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    event_assign(&l->accepting, h->settings.base, fd, EV_READ | EV_PERSIST, on_accept, l);
    evtimer_assign(&l->resuming, h->settings.base, http_listen_resume, l);
    if (event_add(&l->accepting, NULL) != 0) {
        listener_free(l);
        return hf_fail_memory(err);
    }
    l->fd = fd;
    l->next = h->listeners;
    h->listeners = l;
    return HF_OK;
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
