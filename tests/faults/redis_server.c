/* SPDX-License-Identifier: MIT */
/* Starting redis-server and talking to it with redis-cli, both by its socket. */
#include "faults/redis_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

enum { STARTS_MS = 20000, PORT_TRIES = 5, WORDS_MAX = 64 };

static void redis_server_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

void redis_server_launch(redis_server *s)
{
    char port[16];
    const char *words[WORDS_MAX] = {
        "redis-server", "--port",        port,     "--bind",       "127.0.0.1", "--dir",
        s->folder,      "--save",        "",       "--unixsocket", s->socket,   "--appendonly",
        "yes",          "--appendfsync", "always", "--logfile",    "redis.log"};
    size_t count = 0;
    while (words[count])
        count++;
    for (size_t i = 0; s->options[i]; i++)
        words[count++] = s->options[i];
    snprintf(port, sizeof port, "%d", s->port);
    fflush(stdout);
    pid_t tester = getpid();
    s->pid = fork();
    if (s->pid < 0)
        FAIL("No process could be started.");
    if (s->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == tester)
        execvp(words[0], (char *const *)words);
    _exit(127);
}

/* Any answer will do but that it still loads its data. */
static bool redis_server_answers(const redis_server *s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[64] = "";
    memcpy(address.sun_path, s->socket, strlen(s->socket) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                 send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 &&
                 recv(fd, line, sizeof line - 1, 0) > 0;
    if (fd >= 0)
        close(fd);
    return there && strncmp(line, "-LOADING", 8) != 0;
}

/* False: it has ended. */
static bool redis_server_wait(redis_server *s)
{
    for (int waited = 0; !redis_server_answers(s); waited += 2) {
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
            return false;
        if (waited > STARTS_MS)
            FAIL("redis-server does not answer.");
        redis_server_nap();
    }
    return true;
}

void redis_server_up(redis_server *s)
{
    redis_server_launch(s);
    if (!redis_server_wait(s))
        FAIL("redis-server has ended; see redis.log in %s.", s->folder);
}

void redis_server_kill(redis_server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

redis_server *redis_server_start(const char *const options[])
{
    redis_server *s = calloc(1, sizeof *s);
    expect_true(s != NULL);
    for (size_t i = 0; options && options[i]; i++) {
        expect_true(i < REDIS_SERVER_OPTIONS_MAX - 1);
        s->options[i] = options[i];
    }
    scratch_path(".redis", s->folder);
    snprintf(s->socket, sizeof s->socket, "%.*s/socket", HF_URL_MAX - 64, s->folder);
    snprintf(s->url, sizeof s->url, "redis+unix://%.*s", HF_URL_MAX - 32, s->socket);
    expect_int(mkdir(s->folder, 0700), 0);
    expect_true(strlen(s->socket) < sizeof((struct sockaddr_un *)NULL)->sun_path);
    for (int i = 0; i < PORT_TRIES; i++) {
        static int last;
        s->port = 20000 + (((int)getpid() * 7 + last++) % 12000);
        redis_server_launch(s);
        if (redis_server_wait(s))
            return s;
    }
    FAIL("redis-server does not start; see redis.log in %s.", s->folder);
}

void redis_server_stop(redis_server *s)
{
    if (s)
        redis_server_kill(s);
    free(s);
}

const char *redis_server_ask(const redis_server *s, const char *format, ...)
{
    static char out[1 << 16];
    char words[8192], command[2 * 8192];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    snprintf(command, sizeof command, "exec redis-cli -s %s %s 2>&1", s->socket, words);
    fflush(stdout);
    FILE *pipe = popen(command, "re");
    size_t size = pipe ? fread(out, 1, sizeof out - 1, pipe) : 0;
    if (!pipe || pclose(pipe) != 0)
        FAIL("redis-cli failed: %s", words);
    while (size > 0 && out[size - 1] == '\n')
        size--;
    out[size] = '\0';
    return out;
}

void redis_server_url(const redis_server *s, const char *login, int port, const char *parameters,
                      char *url)
{
    snprintf(url, HF_URL_MAX, "redis://%s127.0.0.1:%d/0%s%s", login, port ? port : s->port,
             *parameters ? "?" : "", parameters);
}
