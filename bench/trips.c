/* SPDX-License-Identifier: MIT */
/* Round trips and syncs of one acquire and one release. The round trips are counted by standing in
 * between: a small proxy on a unix socket that notes how often the client speaks after the server
 * has. The syncs are the server's own count, by difference. */
#include "servers.h"

#include "hand_sql.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINKS_MAX = 8, TRIPS_PAIRS = 200, PATH_SIZE = sizeof((struct sockaddr_un *)0)->sun_path };

typedef struct proxy_link {
    int client, server; /* -1: none */
    bool answered;      /* the server spoke last */
} proxy_link;

typedef struct proxy {
    char folder[32], path[PATH_SIZE], target[PATH_SIZE];
    int listening, wake[2];
    pthread_t thread;
    proxy_link links[LINKS_MAX];
    atomic_long trips;
} proxy;

static int unix_socket(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        bench_die("no socket: %s", strerror(errno));
    return fd;
}

static void accept_one(proxy *p)
{
    struct sockaddr_un to;
    int client = accept4(p->listening, NULL, NULL, SOCK_CLOEXEC);
    for (size_t i = 0; client >= 0 && i < LINKS_MAX; i++) {
        if (p->links[i].client >= 0)
            continue;
        int server = unix_socket(p->target, &to);
        if (connect(server, (struct sockaddr *)&to, sizeof to) != 0)
            bench_die("%s can't be reached: %s", p->target, strerror(errno));
        p->links[i] = (proxy_link){client, server, true};
        return;
    }
    if (client >= 0)
        close(client);
}

static bool write_all(int fd, const char *at, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Passes on what one side has said. */
static void trips_pass_on(proxy *p, proxy_link *link, bool from_server)
{
    char bytes[65536];
    ssize_t got = recv(from_server ? link->server : link->client, bytes, sizeof bytes, 0);
    if (!from_server && got > 0 && link->answered)
        atomic_fetch_add(&p->trips, 1);
    link->answered = from_server;
    if (got > 0 && write_all(from_server ? link->client : link->server, bytes, (size_t)got))
        return;
    close(link->client);
    close(link->server);
    link->client = link->server = -1;
}

static void *run_proxy(void *argument)
{
    proxy *p = argument;
    for (;;) {
        struct pollfd fds[2 + 2 * LINKS_MAX] = {{.fd = p->wake[0], .events = POLLIN},
                                                {.fd = p->listening, .events = POLLIN}};
        for (size_t i = 0; i < LINKS_MAX; i++) {
            fds[2 + 2 * i] = (struct pollfd){.fd = p->links[i].client, .events = POLLIN};
            fds[3 + 2 * i] = (struct pollfd){.fd = p->links[i].server, .events = POLLIN};
        }
        if (poll(fds, 2 + 2 * LINKS_MAX, -1) < 0 && errno != EINTR)
            bench_die("poll: %s", strerror(errno));
        if (fds[0].revents != 0)
            return NULL;
        if (fds[1].revents != 0)
            accept_one(p);
        for (size_t i = 0; i < LINKS_MAX; i++)
            for (size_t side = 0; side < 2; side++)
                if (fds[2 + 2 * i + side].revents != 0 && p->links[i].client >= 0)
                    trips_pass_on(p, &p->links[i], side == 1);
    }
}

/* Where a parameter's value stands in the URL. */
static const char *trips_find(const char *url, const char *key, size_t *size)
{
    char word[32];
    snprintf(word, sizeof word, "%s=", key);
    const char *at = strchr(url, '?');
    at = at == NULL ? NULL : strstr(at, word);
    if (at == NULL)
        return NULL;
    at += strlen(word);
    *size = strcspn(at, "&");
    return at;
}

/* Begins to listen; `url` becomes one that leads through the proxy. False: the URL names no unix
 * socket. */
static bool start_proxy(proxy *p, const bench_server *server, char *url, size_t url_size)
{
    size_t size, port_size = 0;
    struct sockaddr_un at;
    const char *named = trips_find(server->url, server->kind->socket_key, &size), *port = "";
    if (server->kind->port_key != NULL)
        port = trips_find(server->url, server->kind->port_key, &port_size);
    if (named == NULL || port == NULL || *named != '/')
        return false;
    const char *file = server->kind->port_key != NULL ? "/.s.PGSQL." : "";
    snprintf(p->folder, sizeof p->folder, "/tmp/hf-bench-XXXXXX");
    if (mkdtemp(p->folder) == NULL || pipe(p->wake) != 0)
        bench_die("no folder can be made in /tmp: %s", strerror(errno));
    snprintf(p->target, sizeof p->target, "%.*s%s%.*s", (int)size, named, file, (int)port_size,
             port);
    if (server->kind->port_key != NULL)
        snprintf(p->path, sizeof p->path, "%s%s%.*s", p->folder, file, (int)port_size, port);
    else
        snprintf(p->path, sizeof p->path, "%s/socket", p->folder);
    snprintf(url, url_size, "%.*s%s%s", (int)(named - server->url), server->url,
             server->kind->port_key != NULL ? p->folder : p->path, named + size);
    for (size_t i = 0; i < LINKS_MAX; i++)
        p->links[i].client = p->links[i].server = -1;
    p->listening = unix_socket(p->path, &at);
    if (bind(p->listening, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(p->listening, LINKS_MAX) != 0 || pthread_create(&p->thread, NULL, run_proxy, p) != 0)
        bench_die("the proxy can't be started: %s", strerror(errno));
    return true;
}

static void stop_proxy(proxy *p)
{
    if (write(p->wake[1], "x", 1) != 1)
        bench_die("the proxy can't be stopped: %s", strerror(errno));
    pthread_join(p->thread, NULL);
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (p->links[i].client >= 0) {
            close(p->links[i].client);
            close(p->links[i].server);
        }
    close(p->listening);
    close(p->wake[0]);
    close(p->wake[1]);
    unlink(p->path);
    rmdir(p->folder);
}

/* ---- figures ---- */

typedef struct counts {
    double acquire, release;
} counts;

/* Round trips of pairs of batches of that size. */
static counts count_trips(proxy *p, ours *o, size_t batch)
{
    counts out = {0, 0};
    for (size_t i = 0; i < TRIPS_PAIRS + 3; i++) {
        bench_picker_fill(o->picker, o->picks, batch);
        long before = atomic_load(&p->trips);
        ours_acquire(o, &o->session, batch);
        long between = atomic_load(&p->trips);
        ours_release(o, &o->session, batch);
        if (i < 3)
            continue; /* statements are being prepared */
        out.acquire += (double)(between - before);
        out.release += (double)(atomic_load(&p->trips) - between);
    }
    out.acquire /= TRIPS_PAIRS;
    out.release /= TRIPS_PAIRS;
    return out;
}

static void report_one(const bench_server *server, const char *name, const char *unit, double value,
                       double target, const char *what)
{
    bench_figure figure = {
        .unit = unit, .judge = BENCH_OURS_AT_MOST, .target = target, .against = what};
    bench_series series = {.value = {value}, .count = 1};
    bench_server_wants(server, name, &figure);
    bench_report(server->b, &figure, &series, NULL);
}

/* The server's count is complete once the connection that did the work is closed. */
static double syncs(bench_space *space, const char *url)
{
    double before = bench_space_run(space, HAND_SYNCS);
    ours *o = ours_open(space->server->b, url);
    for (size_t i = 0; i < TRIPS_PAIRS; i++) {
        bench_picker_fill(o->picker, o->picks, 1);
        ours_acquire(o, &o->session, 1);
        ours_release(o, &o->session, 1);
    }
    ours_close(o);
    usleep(1200000);
    return (bench_space_run(space, HAND_SYNCS) - before) / (2.0 * TRIPS_PAIRS);
}

void bench_trips(const bench_server *server)
{
    bench_figure figure;
    bench_space space;
    if (!bench_server_wants(server, "round-trips", &figure) &&
        !bench_server_wants(server, "syncs", &figure))
        return;
    bench_space_open(server, "bench_trips", 0, &space);
    proxy p = {0};
    char through[BENCH_URL_SIZE], url[BENCH_URL_SIZE + 64];
    if (start_proxy(&p, server, through, sizeof through)) {
        snprintf(url, sizeof url, "%s&namespace=%s", through, space.names);
        ours *o = ours_open(server->b, url);
        counts one = count_trips(&p, o, 1), many = count_trips(&p, o, 256);
        report_one(server, "round-trips/acquire", "trips", one.acquire, 2, "an acquire");
        report_one(server, "round-trips/release", "trips", one.release, 2, "a release");
        report_one(server, "round-trips/acquire-256", "trips", many.acquire, 3,
                   "256 acquires in one batch");
        ours_close(o);
        stop_proxy(&p);
    }
    report_one(server, "syncs", "syncs", syncs(&space, space.url), 1.1, "an acquire or a release");
    bench_space_close(&space);
}
