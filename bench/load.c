/* SPDX-License-Identifier: MIT */
/* The loop: what has come is read, the next is asked, and times are taken per request. It must cost
 * little, since it shares the processors with what it measures: a read and a write a request, no
 * memory asked for. */
#include "load.h"

#include "child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 30000, /* nothing at all has come for so long */
    SHOWN = 400,         /* bytes of a bad answer */
    FINE_BITS = 6,       /* a slot of the histogram is as wide as 1/64 of where it lies */
    SLOTS = 64 << FINE_BITS,
};

typedef struct connection {
    int fd;
    size_t step, got;
    uint64_t asked_ns;
    char answer[LOAD_ROOM + 1];
} connection;

struct load {
    load_settings is;
    int epoll;
    connection **connections;
    size_t busy;      /* with a script that has begun */
    size_t answers;   /* of this run; those that came in time ... */
    size_t in_time;   /* ... so many */
    uint64_t ends_ns; /* of this run: when no script begins any more */
    bool over;
    uint32_t slots[SLOTS];
    load_figures seen;
    bool warm;
    char request[LOAD_ROOM];
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- how long requests take ---- */

static size_t slot_of(uint64_t ns)
{
    if (ns < 1 << FINE_BITS)
        return ns;
    size_t exponent = 63 - (size_t)__builtin_clzll(ns);
    return ((exponent - FINE_BITS + 1) << FINE_BITS) |
           ((ns >> (exponent - FINE_BITS)) & ((1 << FINE_BITS) - 1));
}

static double slot_us(size_t slot)
{
    size_t shift = slot >> FINE_BITS;
    double fine = (double)(slot & ((1 << FINE_BITS) - 1));
    return shift == 0 ? fine / 1000
                      : ldexp((double)(1 << FINE_BITS) + fine + 0.5, (int)shift - 1) / 1000;
}

/* What so large a part of the requests took at most. */
static double quantile_us(const load *l, double part)
{
    size_t wanted = (size_t)ceil(part * (double)l->answers), seen = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if ((seen += l->slots[i]) >= wanted)
            return slot_us(i);
    return 0;
}

/* ---- connections ---- */

static socklen_t load_read_address(const char *text, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0) {
        struct sockaddr_un *local = (struct sockaddr_un *)out;
        local->sun_family = AF_UNIX;
        if (strlen(text + 5) >= sizeof local->sun_path)
            bench_die("the path of %s is too long for a socket", text);
        memcpy(local->sun_path, text + 5, strlen(text + 5));
        return sizeof *local;
    }
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    const char *colon = strrchr(text, ':');
    char host[64] = "";
    if (colon != NULL)
        snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    four->sin_family = AF_INET;
    if (colon == NULL || inet_pton(AF_INET, host, &four->sin_addr) != 1)
        bench_die("'%s' is no address like 127.0.0.1:7420 or unix:/path", text);
    four->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return sizeof *four;
}

int load_connect(const char *address)
{
    struct sockaddr_storage at;
    socklen_t size = load_read_address(address, &at);
    int one = 1;
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, size) != 0)
        bench_die("%s can't be connected to: %s", address, strerror(errno));
    if (at.ss_family == AF_INET)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

load *load_open(const load_settings *settings)
{
    load *l = calloc(1, sizeof *l);
    if (l == NULL || (l->connections = calloc(settings->connections, sizeof(connection *))) == NULL)
        bench_die("out of memory");
    l->is = *settings;
    if ((l->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        bench_die("no epoll: %s", strerror(errno));
    for (size_t i = 0; i < settings->connections; i++) {
        connection *c = malloc(sizeof *c);
        if (c == NULL)
            bench_die("out of memory");
        c->fd = load_connect(settings->address);
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
            bench_die("no epoll: %s", strerror(errno));
        l->connections[i] = c;
    }
    return l;
}

void load_close(load *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->is.connections; i++) {
        close(l->connections[i]->fd);
        free(l->connections[i]);
    }
    close(l->epoll);
    free(l->connections);
    free(l);
}

/* ---- the loop ---- */

static void send_all(const load *l, int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE_MS);
            continue;
        }
        if (sent < 0 && errno != EINTR)
            bench_die("%s does not take requests any more: %s", l->is.name, strerror(errno));
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
}

static void load_ask(load *l, size_t at, size_t step)
{
    connection *c = l->connections[at];
    size_t size = l->is.talk->ask(l->is.context, at, step, l->request);
    c->step = step;
    c->got = 0;
    c->asked_ns = now_ns();
    send_all(l, c->fd, l->request, size);
}

static void load_answered(load *l, size_t at)
{
    connection *c = l->connections[at];
    uint64_t now = now_ns();
    l->slots[slot_of(now - c->asked_ns)]++;
    l->answers++;
    l->over |= now >= l->ends_ns;
    l->in_time += !l->over;
    bool last = c->step + 1 == l->is.talk->steps;
    if (!last || !l->over)
        load_ask(l, at, last ? 0 : c->step + 1);
    else
        l->busy--;
}

static void load_hear(load *l, size_t at)
{
    connection *c = l->connections[at];
    ssize_t got = recv(c->fd, c->answer + c->got, LOAD_ROOM - c->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0)
        bench_die("%s has ended a connection: %s", l->is.name,
                  got < 0 ? strerror(errno) : "end of file");
    c->got += (size_t)got;
    c->answer[c->got] = '\0';
    load_heard heard = l->is.talk->hear(l->is.context, at, c->step, c->answer, c->got);
    if (heard == LOAD_GOOD)
        load_answered(l, at);
    else if (heard == LOAD_BAD || c->got == LOAD_ROOM)
        bench_die("%s has answered request %zu of a script with: %.*s", l->is.name, c->step, SHOWN,
                  c->answer);
}

static void run_scripts(load *l)
{
    struct epoll_event events[LOAD_CONNECTIONS];
    l->busy = l->is.connections;
    for (size_t i = 0; i < l->is.connections; i++)
        load_ask(l, i, 0);
    while (l->busy > 0) {
        int count = epoll_wait(l->epoll, events, LOAD_CONNECTIONS, PATIENCE_MS);
        if (count == 0)
            bench_die("%s has not answered for %d seconds", l->is.name, PATIENCE_MS / 1000);
        l->over |= bench_stopped();
        for (int i = 0; i < count; i++)
            load_hear(l, events[i].data.u64);
    }
}

static void load_note(load *l, double cpu)
{
    load_figures *f = &l->seen;
    size_t i = f->p50.count;
    if (!l->warm || i == BENCH_ROUNDS_MAX) {
        l->warm = true;
        return;
    }
    f->p50.value[i] = quantile_us(l, 0.5);
    f->p99.value[i] = quantile_us(l, 0.99);
    f->cpu.value[i] = cpu * 1e6 / (double)l->answers;
    f->p50.count = f->p99.count = f->cpu.count = i + 1;
}

double load_work(void *context, double seconds)
{
    load *l = context;
    double cpu = l->is.server > 0 ? child_cpu(l->is.server) : 0;
    memset(l->slots, 0, sizeof l->slots);
    l->answers = l->in_time = 0;
    l->over = false;
    l->ends_ns = now_ns() + (uint64_t)(seconds * 1e9);
    run_scripts(l);
    load_note(l, l->is.server > 0 ? child_cpu(l->is.server) - cpu : 0);
    return (double)l->in_time / (double)l->is.talk->steps * (double)l->is.units / seconds;
}

void load_forget(load *l)
{
    l->warm = false;
    l->seen = (load_figures){0};
}

const load_figures *load_seen(const load *l)
{
    return &l->seen;
}
