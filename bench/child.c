/* SPDX-License-Identifier: MIT */
/* Starting, hearing and ending child processes. They die with us, however we end. */
#include "child.h"

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 8, WORDS_MAX = 32, READY_S = 30, STOP_MS = 20000, LAST_MS = 200 };
#define ADDRESS_WORD "\"address\":\""

static child *children[CHILDREN_MAX]; /* those that run */

static bool child_is_gone(pid_t pid, int wait_ms)
{
    int fd = pidfd_open(pid, 0);
    bool gone = fd < 0 || poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, wait_ms) > 0;
    close(fd);
    return gone;
}

/* At our end: whoever still runs is ended; whoever ended before us is quoted, since that is why we
 * end. */
static void child_end_all(void)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        child *c = children[i];
        if (c == NULL)
            continue;
        if (child_is_gone(c->pid, LAST_MS)) {
            char last[CHILD_SAID];
            ssize_t got = read(c->hears, last, sizeof last);
            fprintf(stderr, "hf-bench: %s has ended by itself; it said: %s%.*s\n", c->name, c->said,
                    got > 0 ? (int)got : 0, last);
        } else {
            kill(c->pid, SIGKILL);
            waitpid(c->pid, NULL, 0);
        }
    }
}

static void child_keep(child *c)
{
    static bool first = true;
    if (first)
        atexit(child_end_all);
    first = false;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == NULL) {
            children[i] = c;
            return;
        }
    bench_die("too many programs at once");
}

/* The build directory is one above the folder of hf-bench. */
static void find_program(const char *below, char out[BENCH_PATH_SIZE])
{
    char own[BENCH_PATH_SIZE - 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(own, '/');
        if (slash == NULL)
            bench_die("hf-bench does not know where it is");
        *slash = '\0';
    }
    snprintf(out, BENCH_PATH_SIZE, "%s/%.60s", own, below);
    if (access(out, X_OK) != 0)
        bench_die("there is no program %s; build all of it first", out);
}

static _Noreturn void become(const char *path, const char *const *words, int from, int to)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        argv[i] = (char *)words[i]; /* execv takes no const, and changes nothing */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* Ctrl-C is for us: we end the run in order */
    dup2(from, STDIN_FILENO);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    execv(path, argv);
    dprintf(to, "%s can't be run: %s\n", path, strerror(errno));
    _exit(127);
}

/* "address":"...", or a line that is a port. */
static bool find_address(child *c)
{
    const char *word = strstr(c->said, ADDRESS_WORD);
    size_t digits = strspn(c->said, "0123456789");
    if (digits > 0 && c->said[digits] == '\n') {
        snprintf(c->address, sizeof c->address, "127.0.0.1:%.*s", (int)digits, c->said);
        return true;
    }
    if (word == NULL || strchr(word + strlen(ADDRESS_WORD), '"') == NULL)
        return false;
    word += strlen(ADDRESS_WORD);
    snprintf(c->address, sizeof c->address, "%.*s", (int)strcspn(word, "\""), word);
    return true;
}

/* Reads until the address is there. */
static void wait_for_address(child *c)
{
    size_t got = 0;
    double until = bench_now() + READY_S;
    while (bench_now() < until && got + 1 < sizeof c->said) {
        if (poll(&(struct pollfd){.fd = c->hears, .events = POLLIN}, 1, 100) <= 0)
            continue;
        ssize_t more = read(c->hears, c->said + got, sizeof c->said - 1 - got);
        if (more <= 0)
            break;
        got += (size_t)more;
        c->said[got] = '\0';
        if (find_address(c))
            return;
    }
    bench_die("%s did not say where it listens; it said: %s", c->name, c->said);
}

child *child_start(const char *name, const char *const *words)
{
    char path[BENCH_PATH_SIZE];
    int says[2], hears[2];
    child *c = calloc(1, sizeof *c);
    find_program(words[0], path);
    if (c == NULL || pipe2(says, O_CLOEXEC) != 0 || pipe2(hears, O_CLOEXEC) != 0)
        bench_die("%s can't be started: %s", name, strerror(errno));
    snprintf(c->name, sizeof c->name, "%s", name);
    fflush(stdout);
    c->pid = fork();
    if (c->pid < 0)
        bench_die("%s can't be started: %s", name, strerror(errno));
    if (c->pid == 0)
        become(path, words, says[0], hears[1]);
    close(says[0]);
    close(hears[1]);
    c->says = says[1];
    c->hears = hears[0];
    child_keep(c);
    wait_for_address(c);
    return c;
}

void child_stop(child *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == c)
            children[i] = NULL;
    kill(c->pid, SIGTERM);
    if (!child_is_gone(c->pid, STOP_MS))
        kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->says);
    close(c->hears);
    free(c);
}

double child_cpu(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        bench_die("process %d has no clock; it is gone", (int)pid);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double child_memory(pid_t pid)
{
    char path[64];
    long size = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2)
        bench_die("%s can't be read: %s", path, strerror(errno));
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}
