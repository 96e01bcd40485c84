/* SPDX-License-Identifier: MIT */
/* The proxy of the fault tests: passes everything, cuts where it is told to, and is told by several
 * threads at once. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/proxy.h>
#include <support/test_store.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TIMEOUT_MS = 5000, SHORT_MS = 200 };

/* ---- a server that sends back what it gets, and remembers it ---- */

typedef struct echo {
    pthread_t thread;
    int listener;
    int port;
    char path[HF_URL_MAX];
    pthread_mutex_t mutex;
    size_t size;
    char seen[1 << 20];
    pthread_t clients[64];
    int fds[64];
    size_t count;
} echo;

static echo server;

static void *echo_client(void *number)
{
    int fd = server.fds[(size_t)number];
    char data[4096];
    ssize_t size;
    while ((size = recv(fd, data, sizeof data, 0)) > 0) {
        pthread_mutex_lock(&server.mutex);
        if (server.size + (size_t)size <= sizeof server.seen)
            memcpy(server.seen + server.size, data, (size_t)size);
        server.size += (size_t)size;
        pthread_mutex_unlock(&server.mutex);
        if (send(fd, data, (size_t)size, MSG_NOSIGNAL) != size)
            break;
    }
    close(fd);
    return NULL;
}

static void *echo_main(void *ignored)
{
    (void)ignored;
    int fd;
    while (server.count < 64 && (fd = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        server.fds[server.count] = fd;
        if (pthread_create(&server.clients[server.count], NULL, echo_client,
                           (void *)server.count) != 0)
            abort();
        server.count++;
    }
    return NULL;
}

static void echo_begin(bool by_path)
{
    struct sockaddr_in host = {.sin_family = AF_INET,
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    socklen_t size = sizeof host;
    memset(&server, 0, sizeof server);
    pthread_mutex_init(&server.mutex, NULL);
    server.listener = socket(by_path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (by_path) {
        scratch_path(".sock", server.path);
        snprintf(path.sun_path, sizeof path.sun_path, "%.*s", (int)sizeof path.sun_path - 1,
                 server.path);
        expect_int(bind(server.listener, (struct sockaddr *)&path, sizeof path), 0);
    } else {
        expect_int(bind(server.listener, (struct sockaddr *)&host, sizeof host), 0);
        getsockname(server.listener, (struct sockaddr *)&host, &size);
        server.port = ntohs(host.sin_port);
    }
    expect_int(listen(server.listener, 64), 0);
    expect_int(pthread_create(&server.thread, NULL, echo_main, NULL), 0);
}

/* After the proxy has gone, so that every connection ends. */
static void echo_end(void)
{
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    for (size_t i = 0; i < server.count; i++)
        pthread_join(server.clients[i], NULL);
    close(server.listener);
    if (server.path[0])
        unlink(server.path);
}

static bool echo_saw_by_now(const char *text)
{
    pthread_mutex_lock(&server.mutex);
    bool saw = memmem(server.seen, server.size, text, strlen(text)) != NULL;
    pthread_mutex_unlock(&server.mutex);
    return saw;
}

/* Soon. */
static bool echo_saw(const char *text)
{
    for (int waited = 0; waited < TIMEOUT_MS && !echo_saw_by_now(text); waited += 5)
        usleep(5000);
    return echo_saw_by_now(text);
}

/* Not even after a while. */
static bool echo_never_saw(const char *text)
{
    usleep(SHORT_MS * 1000);
    return !echo_saw_by_now(text);
}

/* ---- a client ---- */

static int client_try(const proxy *p)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval bound = {.tv_sec = TIMEOUT_MS / 1000};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)proxy_port(p)),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    int problem = errno;
    close(fd);
    return -problem;
}

static int client(const proxy *p)
{
    int fd = client_try(p);
    expect_true(fd >= 0);
    return fd;
}

static void proxy_say(int fd, const char *text)
{
    expect_int(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads exactly that. */
static void proxy_hear(int fd, const char *text)
{
    char got[256] = "";
    size_t size = 0, wanted = strlen(text);
    ssize_t more = 1;
    while (size < wanted && (more = recv(fd, got + size, wanted - size, 0)) > 0)
        size += (size_t)more;
    expect_text(got, text);
}

static bool hears_nothing(int fd)
{
    struct pollfd it = {.fd = fd, .events = POLLIN};
    return poll(&it, 1, SHORT_MS) == 0;
}

/* Nothing more comes but the reset. */
static void hear_reset(int fd)
{
    char got[256];
    ssize_t size = recv(fd, got, sizeof got, 0);
    int problem = errno;
    expect_int(size, -1);
    expect_int(problem, ECONNRESET);
    close(fd);
}

/* ---- a scene: server and proxy ---- */

static int proxy_scene_begin(void **state)
{
    echo_begin(false);
    *state = proxy_start("127.0.0.1", server.port);
    return 0;
}

static int scene_begin_path(void **state)
{
    echo_begin(true);
    *state = proxy_start(server.path, 0);
    return 0;
}

static int proxy_scene_end(void **state)
{
    proxy_stop(*state);
    echo_end();
    return 0;
}

/* ---- tests ---- */

static void everything_passes_both_ways(void **state)
{
    proxy *p = *state;
    int a = client(p), b = client(p);
    proxy_say(a, "one");
    proxy_say(b, "two");
    proxy_hear(b, "two");
    proxy_hear(a, "one");
    expect_int(proxy_accepted(p), 2);
    expect_int(proxy_open(p), 2);
    expect_int(proxy_passed(p, PROXY_UP), 6);
    expect_int(proxy_passed(p, PROXY_BOTH), 12);
    shutdown(a, SHUT_WR);
    char end;
    expect_int(recv(a, &end, 1, 0), 0);
    close(a);
    close(b);
}

/* Two of one, and one of the other, which says it in pieces. */
static void round_trips_are_counted(void **state)
{
    proxy *p = *state;
    int a = client(p), b = client(p);
    for (int i = 0; i < 2; i++) {
        proxy_say(a, "one");
        proxy_hear(a, "one");
    }
    expect_int(proxy_trips(p), 2);
    proxy_hold(p, PROXY_DOWN);
    proxy_say(b, "tw");
    expect_true(echo_saw("tw"));
    proxy_say(b, "o!");
    expect_true(echo_saw("o!"));
    proxy_go_on(p);
    proxy_hear(b, "two!");
    expect_int(proxy_trips(p), 3);
    close(a);
    close(b);
}

static void much_passes_whole(void **state)
{
    enum { SIZE = 900000 };
    proxy *p = *state;
    int fd = client(p);
    char *sent = malloc(SIZE), *got = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (char)(i * 7919 >> 4);
    size_t in = 0, out = 0;
    while (in < SIZE) {
        struct pollfd it = {.fd = fd, .events = (short)(POLLIN | (out < SIZE ? POLLOUT : 0))};
        expect_true(poll(&it, 1, TIMEOUT_MS) > 0);
        ssize_t size = it.revents & POLLOUT
                           ? send(fd, sent + out, SIZE - out, MSG_NOSIGNAL | MSG_DONTWAIT)
                           : 0;
        out += size > 0 ? (size_t)size : 0;
        size = it.revents & POLLIN ? recv(fd, got + in, SIZE - in, MSG_DONTWAIT) : 0;
        in += size > 0 ? (size_t)size : 0;
    }
    expect_true(memcmp(sent, got, SIZE) == 0);
    free(sent);
    free(got);
    close(fd);
}

static void a_cut_resets_every_connection(void **state)
{
    proxy *p = *state;
    int a = client(p), b = client(p), c;
    proxy_say(a, "one");
    proxy_hear(a, "one");
    proxy_cut(p);
    expect_int(proxy_open(p), 0);
    hear_reset(a);
    hear_reset(b);
    c = client(p);
    proxy_say(c, "again");
    proxy_hear(c, "again");
    close(c);
}

static void a_cut_comes_after_so_many_bytes(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_say(fd, "before");
    proxy_hear(fd, "before");
    proxy_cut_after(p, PROXY_UP, 5);
    proxy_say(fd, "123");
    proxy_hear(fd, "123");
    proxy_say(fd, "45678");
    expect_true(proxy_wait_sprung(p, 0, TIMEOUT_MS));
    hear_reset(fd);
    expect_true(echo_saw("before12345"));
    expect_true(echo_never_saw("6"));

    fd = client(p);
    proxy_cut_after(p, PROXY_DOWN, 4);
    proxy_say(fd, "abcdef");
    proxy_hear(fd, "abcd");
    hear_reset(fd);
    expect_true(echo_saw("abcdef"));
    expect_int(proxy_sprung(p), 2);
}

static void a_cut_before_a_pattern_keeps_it_from_the_server(void **state)
{
    proxy *p = *state;
    int other = client(p), fd = client(p);
    proxy_cut_at(p, PROXY_UP, "COMMIT", PROXY_BEFORE);
    proxy_say(other, "COMMA");
    proxy_hear(other, "COMMA");
    proxy_say(fd, "UPDATE; COMMIT; more");
    expect_true(proxy_wait_sprung(p, 0, TIMEOUT_MS));
    hear_reset(fd);
    expect_true(echo_never_saw("COMMIT") && echo_never_saw("more"));
    proxy_say(other, "COMMIT"); /* once only */
    proxy_hear(other, "COMMIT");
    expect_int(proxy_sprung(p), 1);
    close(other);
}

static void a_pattern_in_pieces_is_found(void **state)
{
    proxy *p = *state;
    int fd = client(p), other = client(p);
    proxy_cut_at(p, PROXY_UP, "COMMIT", PROXY_BEFORE);
    proxy_say(fd, "x COM");
    proxy_hear(fd, "x COM");
    proxy_say(other, "MIT"); /* someone else's */
    proxy_hear(other, "MIT");
    proxy_say(fd, "M");
    proxy_hear(fd, "M");
    proxy_say(fd, "IT");
    expect_true(proxy_wait_sprung(p, 0, TIMEOUT_MS));
    hear_reset(fd);
    expect_true(echo_never_saw("MITMIT"));
    close(other);
}

static void a_trap_does_not_see_what_passed_before_it_was_set(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_cut_at(p, PROXY_UP, "COMMIT", PROXY_BEFORE);
    proxy_say(fd, "COM");
    proxy_hear(fd, "COM");
    proxy_cut_at(p, PROXY_UP, "COMMIT", PROXY_BEFORE);
    proxy_say(fd, "MIT");
    proxy_hear(fd, "MIT");
    proxy_cut_never(p);
    proxy_say(fd, "COMMIT");
    proxy_hear(fd, "COMMIT");
    expect_int(proxy_sprung(p), 0);
    close(fd);
}

static void a_cut_after_a_pattern_loses_only_the_answer(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_say(fd, "BEGIN");
    proxy_hear(fd, "BEGIN");
    proxy_cut_at(p, PROXY_UP, "COMMIT", PROXY_AFTER);
    proxy_say(fd, "COMMIT; the rest");
    proxy_say(fd, " and more");
    expect_true(proxy_wait_sprung(p, 0, TIMEOUT_MS));
    hear_reset(fd);
    expect_true(echo_saw("COMMIT; the rest and more"));
}

static void a_cut_at_what_the_server_says(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_cut_at(p, PROXY_DOWN, "done", PROXY_BEFORE);
    proxy_say(fd, "well done");
    proxy_hear(fd, "well ");
    hear_reset(fd);

    fd = client(p);
    proxy_cut_at(p, PROXY_DOWN, "done", PROXY_AFTER);
    proxy_say(fd, "well done");
    proxy_hear(fd, "well done");
    hear_reset(fd);
    expect_int(proxy_sprung(p), 2);
}

static void what_is_held_comes_later(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_say(fd, "one");
    proxy_hear(fd, "one");
    proxy_hold(p, PROXY_BOTH);
    int late = client(p);
    proxy_say(fd, "two");
    proxy_say(late, "three");
    expect_true(hears_nothing(fd) && hears_nothing(late));
    expect_true(echo_never_saw("two"));
    proxy_go_on(p);
    proxy_hear(fd, "two");
    proxy_hear(late, "three");

    proxy_hold(p, PROXY_DOWN);
    proxy_say(fd, "four");
    expect_true(hears_nothing(fd));
    expect_true(echo_saw("four"));
    proxy_cut(p);
    hear_reset(fd);
    hear_reset(late);
}

static void new_connections_are_refused_and_old_ones_stay(void **state)
{
    proxy *p = *state;
    int fd = client(p);
    proxy_say(fd, "one");
    proxy_hear(fd, "one");
    for (int round = 0; round < 3; round++) {
        proxy_refuse(p, true);
        expect_int(client_try(p), -ECONNREFUSED);
        proxy_say(fd, "two");
        proxy_hear(fd, "two");
        proxy_refuse(p, false);
        int later = client(p);
        proxy_say(later, "three");
        proxy_hear(later, "three");
        close(later);
    }
    close(fd);
}

static void a_target_that_is_gone_resets_the_client(void **state)
{
    (void)state;
    proxy *by_port = proxy_start("127.0.0.1", 1), *by_path = proxy_start("/nowhere/at/all", 0);
    hear_reset(client(by_port));
    hear_reset(client(by_path));
    proxy_stop(by_port);
    proxy_stop(by_path);
    proxy_stop(NULL);
}

/* ---- many at once ---- */

static void *talk(void *context)
{
    const proxy *p = context;
    for (int round = 0; round < 20; round++) {
        int fd = client_try(p);
        char data[16];
        for (int i = 0; fd >= 0 && i < 5; i++)
            if (send(fd, "hello", 5, MSG_NOSIGNAL) != 5 || recv(fd, data, sizeof data, 0) <= 0)
                break;
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

static void threads_talk_while_others_command(void **state)
{
    enum { THREADS = 2 };
    proxy *p = *state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        expect_int(pthread_create(&threads[i], NULL, talk, p), 0);
    for (int round = 0; round < 20; round++) {
        proxy_cut(p);
        proxy_hold(p, PROXY_DOWN);
        proxy_cut_after(p, PROXY_UP, 7);
        proxy_go_on(p);
        proxy_refuse(p, true);
        proxy_cut_at(p, PROXY_UP, "lohe", PROXY_BEFORE);
        proxy_refuse(p, false);
        usleep(1000);
    }
    proxy_cut_never(p);
    for (int i = 0; i < THREADS; i++)
        expect_int(pthread_join(threads[i], NULL), 0);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, proxy_scene_begin, proxy_scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(everything_passes_both_ways),
        {"everything passes to a unix socket", everything_passes_both_ways, scene_begin_path,
         proxy_scene_end, NULL},
        SCENE(round_trips_are_counted),
        SCENE(much_passes_whole),
        SCENE(a_cut_resets_every_connection),
        {"a cut, from a unix socket", a_cut_resets_every_connection, scene_begin_path,
         proxy_scene_end, NULL},
        SCENE(a_cut_comes_after_so_many_bytes),
        SCENE(a_cut_before_a_pattern_keeps_it_from_the_server),
        SCENE(a_pattern_in_pieces_is_found),
        SCENE(a_trap_does_not_see_what_passed_before_it_was_set),
        SCENE(a_cut_after_a_pattern_loses_only_the_answer),
        SCENE(a_cut_at_what_the_server_says),
        SCENE(what_is_held_comes_later),
        SCENE(new_connections_are_refused_and_old_ones_stay),
        cmocka_unit_test(a_target_that_is_gone_resets_the_client),
        SCENE(threads_talk_while_others_command),
    };
    return cmocka_run_group_tests_name("the proxy", tests, NULL, NULL);
}
