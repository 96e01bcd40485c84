/* SPDX-License-Identifier: MIT */
/* The proxy. One thread serves all connections with poll(), and never blocks in anything else. It
 * holds the mutex except while it polls, so everything below `obeyed` is its own or the mutex's;
 * who gives a command changes the state, wakes it and waits until it has seen that. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/proxy.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 256,
    PATTERN_MAX = 63,
    CHUNK = 16384,
    SILENCE_MS = 150, /* an answer has ended when nothing more came for so long */
};

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

/* One way through a connection. */
typedef struct flow {
    proxy_way way;
    size_t begin, end; /* what was read and is not written yet */
    bool ended;        /* the source has closed */
    bool told;         /* and the sink knows */
    /* the last bytes that passed since the trap was set, where a pattern may have begun */
    size_t tail_size;
    char tail[PATTERN_MAX];
    char data[CHUNK];
} flow;

typedef struct connection {
    struct connection *next;
    int client, server;
    bool connecting;
    bool doomed;     /* reads no more; cut when all is written */
    int64_t dropped; /* not 0: answers are dropped, and the last came then (milliseconds) */
    bool answered;
    bool asking; /* it was the client who spoke last */
    flow up, down;
} connection;

typedef enum trap_kind { TRAP_NONE, TRAP_BYTES, TRAP_PATTERN } trap_kind;

struct proxy {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int wake;   /* an eventfd */
    int keeper; /* bound to the port but not listening: keeps it while connections are refused */
    int port;
    struct sockaddr_storage target;
    socklen_t target_size;
    uint64_t asked, obeyed;
    int listener; /* -1: refuses */
    bool stopping, cut_all, refusing;
    proxy_way held;
    struct {
        trap_kind kind;
        proxy_way way;
        proxy_when when;
        size_t left;
        size_t size;
        char pattern[PATTERN_MAX + 1];
    } trap;
    size_t sprung, accepted, passed_up, passed_down, trips;
    connection *first;
    size_t count;
};

static int64_t proxy_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In whatever thread: there is no way back into the test. */
static void proxy_give_up(const char *what)
{
    fprintf(stderr, "The proxy of a test can't %s: %s.\n", what, strerror(errno));
    abort();
}

/* ---- sockets ---- */

/* Two sockets may be bound to the port, so that it stays ours when the one that listens is closed.
 * */
static int bound_socket(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        proxy_give_up("have a port");
    return fd;
}

static int listening_socket(int port)
{
    int fd = bound_socket(port);
    if (listen(fd, 128) != 0)
        proxy_give_up("listen");
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &size);
    return ntohs(address.sin_port);
}

static void set_target(proxy *p, const char *host_or_path, int port)
{
    struct sockaddr_un *path = (struct sockaddr_un *)&p->target;
    struct sockaddr_in *host = (struct sockaddr_in *)&p->target;
    if (host_or_path[0] == '/') {
        if (strlen(host_or_path) >= sizeof path->sun_path)
            FAIL("The path of the socket is too long: %s.", host_or_path);
        path->sun_family = AF_UNIX;
        memcpy(path->sun_path, host_or_path, strlen(host_or_path) + 1);
        p->target_size = sizeof *path;
        return;
    }
    host->sin_family = AF_INET;
    host->sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host_or_path, &host->sin_addr) != 1)
        FAIL("The target is no IPv4 address: %s.", host_or_path);
    p->target_size = sizeof *host;
}

static void at_once(int fd)
{
    int on = 1;
    /* fails on a unix socket, which needs none */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void proxy_reset(int fd)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

/* ---- connections ---- */

static void connection_new(proxy *p, int client)
{
    int server = socket(p->target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int failed = server < 0 || connect(server, (struct sockaddr *)&p->target, p->target_size) != 0;
    if (p->count == CONNECTIONS_MAX || (failed && errno != EINPROGRESS)) {
        proxy_reset(client);
        if (server >= 0)
            close(server);
        return;
    }
    at_once(client);
    at_once(server);
    connection *c = calloc(1, sizeof *c);
    c->client = client;
    c->server = server;
    c->connecting = failed;
    c->up.way = PROXY_UP;
    c->down.way = PROXY_DOWN;
    c->next = p->first;
    p->first = c;
    p->count++;
    p->accepted++;
}

/* Takes it out of the list, which `at` points into. Unless both sides had closed, the client's end
 * is reset; the server still gets what was passed on. */
static void connection_end(proxy *p, connection **at)
{
    connection *c = *at;
    *at = c->next;
    if (c->up.told && c->down.told)
        close(c->client);
    else
        proxy_reset(c->client);
    close(c->server);
    free(c);
    p->count--;
}

static void sprung(proxy *p)
{
    p->sprung++;
    pthread_cond_broadcast(&p->changed);
}

/* ---- the trap ---- */

/* Where in tail and data the pattern begins, counted from the beginning of the data (so it may be
 * negative); false: nowhere. */
static bool find_pattern(const proxy *p, const flow *f, ssize_t *begins)
{
    char both[PATTERN_MAX + CHUNK];
    size_t size = f->end - f->begin;
    memcpy(both, f->tail, f->tail_size);
    memcpy(both + f->tail_size, f->data + f->begin, size);
    char *found = memmem(both, f->tail_size + size, p->trap.pattern, p->trap.size);
    *begins = found ? found - both - (ssize_t)f->tail_size : 0;
    return found != NULL;
}

static void keep_tail(const proxy *p, flow *f)
{
    char both[PATTERN_MAX + CHUNK];
    size_t size = f->end - f->begin, all = f->tail_size + size;
    memcpy(both, f->tail, f->tail_size);
    memcpy(both + f->tail_size, f->data + f->begin, size);
    f->tail_size = all < p->trap.size - 1 ? all : p->trap.size - 1;
    memcpy(f->tail, both + all - f->tail_size, f->tail_size);
}

static void spring_pattern(proxy *p, connection *c, flow *f, ssize_t begins)
{
    if (p->trap.when == PROXY_BEFORE)
        f->end = f->begin + (begins > 0 ? (size_t)begins : 0);
    if (p->trap.when == PROXY_BEFORE || f->way == PROXY_DOWN)
        c->doomed = true;
    else
        c->dropped = proxy_now_ms();
    p->trap.kind = TRAP_NONE;
}

/* Looks at what has just been read. */
static void proxy_inspect(proxy *p, connection *c, flow *f)
{
    ssize_t begins;
    size_t size = f->end - f->begin;
    if (p->trap.kind == TRAP_NONE || p->trap.way != f->way)
        return;
    if (p->trap.kind == TRAP_BYTES && size < p->trap.left) {
        p->trap.left -= size;
    } else if (p->trap.kind == TRAP_BYTES) {
        f->end = f->begin + p->trap.left;
        c->doomed = true;
        p->trap.kind = TRAP_NONE;
    } else if (find_pattern(p, f, &begins)) {
        spring_pattern(p, c, f, begins);
    } else {
        keep_tail(p, f);
    }
}

/* ---- passing on ---- */

/* False: the connection is over. */
static bool proxy_take(proxy *p, connection *c, flow *f, int from)
{
    if (f->end > f->begin || f->ended || c->doomed || c->connecting || (p->held & f->way))
        return true;
    ssize_t size = recv(from, f->data, CHUNK, 0);
    if (size < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    f->begin = 0;
    f->end = (size_t)size;
    f->ended = size == 0;
    if (f->way == PROXY_DOWN && c->dropped && size > 0) {
        c->dropped = proxy_now_ms();
        c->answered = true;
        f->end = 0;
    }
    if (f->end > 0)
        proxy_inspect(p, c, f);
    if (size > 0) {
        p->trips += f->way == PROXY_UP && !c->asking;
        c->asking = f->way == PROXY_UP;
    }
    return true;
}

static bool proxy_give(proxy *p, flow *f, int to)
{
    while (f->end > f->begin && !(p->held & f->way)) {
        ssize_t size = send(to, f->data + f->begin, f->end - f->begin, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        f->begin += (size_t)size;
        *(f->way == PROXY_UP ? &p->passed_up : &p->passed_down) += (size_t)size;
    }
    if (f->ended && !f->told && f->begin == f->end && !(p->held & f->way)) {
        shutdown(to, SHUT_WR);
        f->told = true;
    }
    return true;
}

/* Whether the server's side is there; *fine is false when it never will be. */
static bool connected(connection *c, short happened, bool *fine)
{
    int problem = 0;
    socklen_t size = sizeof problem;
    if (c->connecting && happened) {
        getsockopt(c->server, SOL_SOCKET, SO_ERROR, &problem, &size);
        *fine = problem == 0;
        c->connecting = false;
    }
    return !c->connecting;
}

/* False: it is over; a trap that did it is counted. */
static bool proxy_serve(proxy *p, connection *c, short on_client, short on_server)
{
    bool fine = true;
    if (!connected(c, on_server, &fine))
        return true;
    if (on_client & (POLLIN | POLLHUP | POLLERR))
        fine = fine && proxy_take(p, c, &c->up, c->client);
    if (on_server & (POLLIN | POLLHUP | POLLERR))
        fine = fine && proxy_take(p, c, &c->down, c->server);
    fine = fine && proxy_give(p, &c->up, c->server) && proxy_give(p, &c->down, c->client);
    bool silent =
        c->dropped && (c->down.ended || (c->answered && proxy_now_ms() - c->dropped >= SILENCE_MS));
    bool caught = silent || (c->doomed && c->up.begin == c->up.end && c->down.begin == c->down.end);
    if (caught)
        sprung(p);
    return fine && !caught && !(c->up.told && c->down.told);
}

/* ---- the thread ---- */

static void accept_all(proxy *p)
{
    int client;
    while (p->listener >= 0 &&
           (client = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        connection_new(p, client);
}

static void obey(proxy *p)
{
    if (p->cut_all)
        accept_all(p);
    while (p->cut_all && p->first)
        connection_end(p, &p->first);
    p->cut_all = false;
    if (p->refusing && p->listener >= 0) {
        close(p->listener);
        p->listener = -1;
    } else if (!p->refusing && p->listener < 0) {
        p->listener = listening_socket(p->port);
    }
    p->obeyed = p->asked;
    pthread_cond_broadcast(&p->changed);
}

static bool proxy_wants(const proxy *p, const connection *c, const flow *f)
{
    return !c->connecting && !c->doomed && !f->ended && f->begin == f->end && !(p->held & f->way);
}

static bool proxy_has(const proxy *p, const connection *c, const flow *f)
{
    return !c->connecting && f->end > f->begin && !(p->held & f->way);
}

static struct pollfd interest(int fd, bool in, bool out)
{
    short events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0));
    return (struct pollfd){.fd = events ? fd : -1, .events = events};
}

/* Fills the array: the eventfd, the listener, then two for each connection; says how long to wait.
 * */
static int proxy_gather(const proxy *p, struct pollfd *polls)
{
    int wait_ms = -1;
    *polls++ = interest(p->wake, true, false);
    *polls++ = interest(p->listener, p->listener >= 0, false);
    for (const connection *c = p->first; c; c = c->next) {
        *polls++ = interest(c->client, proxy_wants(p, c, &c->up), proxy_has(p, c, &c->down));
        *polls++ = interest(c->server, proxy_wants(p, c, &c->down),
                            c->connecting || proxy_has(p, c, &c->up));
        if (c->dropped && c->answered)
            wait_ms = SILENCE_MS / 3;
    }
    return wait_ms;
}

static void serve_all(proxy *p, const struct pollfd *polls)
{
    eventfd_t ignored;
    if (polls[0].revents)
        eventfd_read(p->wake, &ignored);
    const struct pollfd *its = polls + 2;
    for (connection **at = &p->first; *at; its += 2) {
        if (proxy_serve(p, *at, its[0].revents, its[1].revents))
            at = &(*at)->next;
        else
            connection_end(p, at);
    }
    accept_all(p);
}

static void *proxy_main(void *context)
{
    proxy *p = context;
    struct pollfd polls[2 + 2 * CONNECTIONS_MAX];
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        obey(p);
        if (p->stopping)
            break;
        nfds_t count = 2 + 2 * p->count;
        int wait_ms = proxy_gather(p, polls);
        pthread_mutex_unlock(&p->mutex);
        int happened = poll(polls, count, wait_ms);
        pthread_mutex_lock(&p->mutex);
        if (happened >= 0)
            serve_all(p, polls);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- commands ---- */

static void command_begin(proxy *p)
{
    pthread_mutex_lock(&p->mutex);
}

static void command_end(proxy *p)
{
    uint64_t mine = ++p->asked;
    eventfd_write(p->wake, 1);
    while (p->obeyed < mine)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

proxy *proxy_start(const char *host_or_path, int port)
{
    proxy *p = calloc(1, sizeof *p);
    set_target(p, host_or_path, port);
    p->keeper = bound_socket(0);
    p->port = port_of(p->keeper);
    p->listener = listening_socket(p->port);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigset_t all, before; /* signals are the test's */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&p->thread, NULL, proxy_main, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->wake < 0 || failed)
        proxy_give_up("be started");
    return p;
}

void proxy_stop(proxy *p)
{
    if (!p)
        return;
    command_begin(p);
    p->stopping = p->cut_all = p->refusing = true;
    command_end(p);
    pthread_join(p->thread, NULL);
    close(p->keeper);
    close(p->wake);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

int proxy_port(const proxy *p)
{
    return p->port;
}

void proxy_cut(proxy *p)
{
    command_begin(p);
    p->cut_all = true;
    command_end(p);
}

static void set_trap(proxy *p, trap_kind kind, proxy_way way)
{
    p->trap.kind = kind;
    p->trap.way = way;
    for (connection *c = p->first; c; c = c->next)
        c->up.tail_size = c->down.tail_size = 0;
}

void proxy_cut_after(proxy *p, proxy_way way, size_t bytes)
{
    command_begin(p);
    set_trap(p, TRAP_BYTES, way);
    p->trap.left = bytes;
    command_end(p);
}

void proxy_cut_at(proxy *p, proxy_way way, const char *pattern, proxy_when when)
{
    size_t size = strlen(pattern);
    if (size == 0 || size > PATTERN_MAX)
        FAIL("A pattern has 1 to %d bytes: \"%s\".", PATTERN_MAX, pattern);
    command_begin(p);
    set_trap(p, TRAP_PATTERN, way);
    p->trap.when = when;
    p->trap.size = size;
    memcpy(p->trap.pattern, pattern, size + 1);
    command_end(p);
}

void proxy_cut_never(proxy *p)
{
    command_begin(p);
    set_trap(p, TRAP_NONE, PROXY_UP);
    command_end(p);
}

void proxy_hold(proxy *p, proxy_way way)
{
    command_begin(p);
    p->held = (proxy_way)(p->held | way);
    command_end(p);
}

void proxy_go_on(proxy *p)
{
    command_begin(p);
    p->held = (proxy_way)0;
    command_end(p);
}

void proxy_refuse(proxy *p, bool refuse)
{
    command_begin(p);
    p->refusing = refuse;
    command_end(p);
}

static size_t proxy_look(proxy *p, const size_t *at)
{
    pthread_mutex_lock(&p->mutex);
    size_t value = *at;
    pthread_mutex_unlock(&p->mutex);
    return value;
}

size_t proxy_sprung(proxy *p)
{
    return proxy_look(p, &p->sprung);
}

bool proxy_wait_sprung(proxy *p, size_t before, int64_t ms)
{
    int64_t until_ms = proxy_now_ms() + ms;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    pthread_mutex_lock(&p->mutex);
    int late = 0;
    while (p->sprung <= before && !late)
        late = pthread_cond_timedwait(&p->changed, &p->mutex, &until);
    bool more = p->sprung > before;
    pthread_mutex_unlock(&p->mutex);
    return more;
}

size_t proxy_accepted(proxy *p)
{
    return proxy_look(p, &p->accepted);
}

size_t proxy_open(proxy *p)
{
    return proxy_look(p, &p->count);
}

size_t proxy_trips(proxy *p)
{
    return proxy_look(p, &p->trips);
}

size_t proxy_passed(proxy *p, proxy_way way)
{
    return (way & PROXY_UP ? proxy_look(p, &p->passed_up) : 0) +
           (way & PROXY_DOWN ? proxy_look(p, &p->passed_down) : 0);
}
