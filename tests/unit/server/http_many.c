/* SPDX-License-Identifier: MIT */
/* HTTP: ten thousand connections, idle and then with a stream each: what they cost in memory, and
 * that they are noticed when they go. The clients are another process, so that both sides may have
 * as many files as one process may. */
#include "unit/server/http_scene.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 10000, SPARE_FILES = 100, STREAM_COST_MAX = 6000, IDLE_COST_MAX = 3000 };

static scene s;

/* ---- the clients ---- */

static void http_many_must(bool condition)
{
    if (!condition)
        _exit(3);
}

static int *connect_all(in_port_t port, size_t count)
{
    int *fds = calloc(count, sizeof *fds);
    http_many_must(fds != NULL);
    for (size_t i = 0; i < count; i++) {
        /* From several addresses, so that ports don't run out. */
        struct sockaddr_in from = {.sin_family = AF_INET,
                                   .sin_addr.s_addr =
                                       htonl(INADDR_LOOPBACK + 1 + (unsigned)i / 2500)};
        struct sockaddr_in to = {
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        http_many_must(fds[i] >= 0 && bind(fds[i], (struct sockaddr *)&from, sizeof from) == 0);
        http_many_must(connect(fds[i], (struct sockaddr *)&to, sizeof to) == 0);
    }
    return fds;
}

static void open_streams(const int *fds, size_t count)
{
    static const char request[] = "GET /stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                                  "0123456789abcdef0123456789abcdef\r\n\r\n";
    char heard[1024];
    for (size_t i = 0; i < count; i++)
        http_many_must(write(fds[i], request, sizeof request - 1) == sizeof request - 1);
    for (size_t i = 0; i < count; i++)
        http_many_must(read(fds[i], heard, sizeof heard) > 0 &&
                       strncmp(heard, "HTTP/1.1 200", 12) == 0);
}

/* Does what it is told, a letter each, and says so. */
static void be_clients(int orders, int reports)
{
    struct {
        in_port_t port;
        size_t count;
    } of;
    char order;
    int *fds = NULL;
    http_many_must(read(orders, &of, sizeof of) == sizeof of);
    while (read(orders, &order, 1) == 1) {
        if (order == 'c')
            fds = connect_all(of.port, of.count);
        else if (order == 's')
            open_streams(fds, of.count);
        http_many_must(write(reports, &order, 1) == 1);
    }
    _exit(0);
}

/* ---- the server ---- */

static int orders, reports;

static bool has_report(void)
{
    struct pollfd it = {.fd = reports, .events = POLLIN};
    return poll(&it, 1, 0) == 1;
}

static void http_many_order(char what)
{
    char said = 0;
    expect_int(write(orders, &what, 1), 1);
    scene_until(&s, has_report());
    expect_int(read(reports, &said, 1), 1);
    expect_int(said, what);
}

static size_t resident(void)
{
    unsigned long all, mine = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect_true(file != NULL);
    expect_int(fscanf(file, "%lu %lu", &all, &mine), 2);
    fclose(file);
    return mine * (size_t)sysconf(_SC_PAGESIZE);
}

static pid_t start_clients(void)
{
    int down[2], up[2];
    expect_true(pipe(down) == 0 && pipe(up) == 0);
    pid_t pid = fork();
    expect_true(pid >= 0);
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        be_clients(down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    orders = down[1];
    reports = up[0];
    return pid;
}

static size_t as_many_as_files_allow(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max >= MANY + SPARE_FILES)
        return MANY;
    print_message("# only %lu files are allowed here\n", (unsigned long)files.rlim_max);
    expect_true(files.rlim_max > 1000);
    return files.rlim_max - SPARE_FILES;
}

static void cost(const char *what, size_t before, size_t count, size_t most)
{
    size_t now = resident(), each = now > before ? (now - before) / count : 0;
    print_message("# %zu %s: %zu bytes each\n", count, what, each);
    if (each > most)
        check_failed(__FILE__, __LINE__, "%s cost %zu bytes each, not at most %zu", what, each,
                     most);
}

static void ten_thousand_connections_cost_little(void **state)
{
    (void)state;
    size_t count = as_many_as_files_allow();
    pid_t pid = start_clients();
    scene_init(&s);
    s.settings.idle_timeout_us = 600000000;
    scene_start(&s);
    struct {
        in_port_t port;
        size_t count;
    } of = {htons((in_port_t)strtoul(strrchr(s.name, ':') + 1, NULL, 10)), count};
    expect_int(write(orders, &of, sizeof of), sizeof of);
    scene_turn(&s);
    size_t before = resident(), used = mallinfo2().uordblks;

    http_many_order('c');
    scene_until(&s, http_connections(s.h) == count);
    cost("idle connections", before, count, IDLE_COST_MAX);

    http_many_order('s');
    scene_until(&s, s.parked_count == count);
    cost("streams", before, count, STREAM_COST_MAX);

    close(orders);
    scene_until(&s, s.left == count);
    expect_int(http_connections(s.h), 0);
    while (s.parked_count > 0)
        http_stream_end(s.parked[--s.parked_count]);
    size_t left = mallinfo2().uordblks;
    print_message("# %zu bytes stay when they have gone\n", left > used ? left - used : 0);
    expect_true(left < used + (2 << 20));
    int status;
    expect_int(waitpid(pid, &status, 0), pid);
    expect_int(status, 0);
    close(reports);
    scene_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_connections_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
