/* SPDX-License-Identifier: MIT */
/* Starting `holdfast serve`, waiting until it listens, and ending it in all ways. */
#include <support/server_process.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

enum { OPTIONS_MAX = 24, START_MAX_S = 30, PORT_LOW = 12000, PORT_HIGH = 32000, PORT_TRIES = 50 };

struct server_process {
    char store[HF_URL_MAX], data[HF_URL_MAX], log[HF_URL_MAX], listen[32], secret[128];
    char options[OPTIONS_MAX][HF_URL_MAX];
    size_t options_count;
    int port;
    pid_t pid;        /* 0: it does not run */
    off_t log_before; /* where in its log the last start begins */
};

static const char *more_environment;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static double served_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- its port ---- */

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return bound;
}

/* Below those that Linux gives to outgoing connections: a client that calls while nobody listens
 * could be given the very port, and would then be connected to itself. */
static void choose_port(server_process *s)
{
    unsigned seed =
        (unsigned)getpid() * 2654435761u + (unsigned)(uint64_t)(served_seconds_now() * 1e6);
    for (int i = 0; i < PORT_TRIES; i++) {
        s->port = PORT_LOW + rand_r(&seed) % (PORT_HIGH - PORT_LOW);
        if (is_free(s->port)) {
            snprintf(s->listen, sizeof s->listen, "127.0.0.1:%d", s->port);
            return;
        }
    }
    FAIL("No port is free.");
}

/* ---- starting ---- */

static _Noreturn void served_child_main(server_process *s, pid_t parent)
{
    const char *program = getenv("HOLDFAST");
    const char *argv[OPTIONS_MAX + 16] = {"holdfast",     "serve",   "--data",         s->data,
                                          "--listen",     s->listen, "--rate-session", "0",
                                          "--rate-token", "0"};
    size_t count = 10;
    int log = open(s->log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600),
        null = open("/dev/null", O_RDWR);
    if (s->store[0]) {
        argv[count++] = "--store";
        argv[count++] = s->store;
    }
    for (size_t i = 0; i < s->options_count; i++)
        argv[count++] = s->options[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || program == NULL || log < 0 || dup2(null, 0) < 0 ||
        dup2(null, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    if (more_environment)
        putenv((char *)(uintptr_t)more_environment);
    unsetenv("HOLDFAST_STORE");
    signal(SIGPIPE, SIG_DFL);
    execv(program, (char *const *)(uintptr_t)argv);
    _exit(127);
}

char *server_process_log(const server_process *s)
{
    struct stat info = {0};
    int file = open(s->log, O_RDONLY | O_CLOEXEC);
    bool there = file >= 0 && fstat(file, &info) == 0 && info.st_size > s->log_before;
    size_t size = there ? (size_t)(info.st_size - s->log_before) : 0;
    char *text = calloc(1, size + 1);
    if (text == NULL || (size > 0 && pread(file, text, size, s->log_before) < 0))
        FAIL("The log of a server can't be read.");
    if (file >= 0)
        close(file);
    return text;
}

static bool has_logged(const server_process *s, const char *text)
{
    char *log = server_process_log(s);
    bool found = strstr(log, text) != NULL;
    free(log);
    return found;
}

static void read_secret(server_process *s)
{
    char path[HF_URL_MAX + 16];
    snprintf(path, sizeof path, "%s/admin-token", s->data);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(s->secret, sizeof s->secret, file) != NULL)
        s->secret[strcspn(s->secret, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

static void launch(server_process *s)
{
    struct stat info = {0};
    s->log_before = stat(s->log, &info) == 0 ? info.st_size : 0;
    fflush(stdout);
    pid_t parent = getpid();
    s->pid = fork();
    if (s->pid < 0)
        FAIL("No process could be started.");
    if (s->pid == 0)
        served_child_main(s, parent);
}

/* "Listening." is the last it says before it serves; who connects before that waits in the queue of
 * the socket. */
void server_process_ready(server_process *s)
{
    int status = 0;
    for (double until = served_seconds_now() + START_MAX_S; !has_logged(s, "Listening.");
         pause_ms(2)) {
        bool gone = waitpid(s->pid, &status, WNOHANG) == s->pid;
        if (gone)
            s->pid = 0;
        if (gone || served_seconds_now() > until)
            FAIL("The server %s: %s", gone ? "ended at once" : "does not start",
                 server_process_log(s));
    }
    read_secret(s);
}

void server_process_up(server_process *s)
{
    launch(s);
    server_process_ready(s);
}

char *server_process_fails(server_process *s, int code)
{
    launch(s);
    expect_int(server_process_wait(s, START_MAX_S), code);
    return server_process_log(s);
}

server_process *server_process_begin(const char *store, const char *const options[])
{
    server_process *s = calloc(1, sizeof *s);
    expect_true(s != NULL);
    snprintf(s->store, sizeof s->store, "%s", store ? store : "");
    scratch_path(".data", s->data);
    scratch_path(".log", s->log);
    for (; options && options[s->options_count]; s->options_count++) {
        expect_true(s->options_count < OPTIONS_MAX);
        snprintf(s->options[s->options_count], sizeof s->options[0], "%s",
                 options[s->options_count]);
    }
    choose_port(s);
    launch(s);
    return s;
}

server_process *server_process_start(const char *store, const char *const options[])
{
    server_process *s = server_process_begin(store, options);
    server_process_ready(s);
    return s;
}

void server_process_environment(const char *variable)
{
    more_environment = variable;
}

/* ---- ending ---- */

static int served_code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void server_process_signal(const server_process *s, int signal)
{
    if (s->pid > 0)
        kill(s->pid, signal);
}

void server_process_kill(server_process *s)
{
    if (s->pid <= 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

int server_process_wait(server_process *s, unsigned seconds)
{
    int status = 0;
    if (s->pid <= 0)
        FAIL("The server does not run.");
    for (double until = served_seconds_now() + seconds; waitpid(s->pid, &status, WNOHANG) != s->pid;
         pause_ms(1))
        if (served_seconds_now() > until) {
            server_process_kill(s);
            FAIL("The server has not ended after %u s: %s", seconds, server_process_log(s));
        }
    s->pid = 0;
    return served_code_of(status);
}

int server_process_stop(server_process *s)
{
    server_process_signal(s, SIGTERM);
    return server_process_wait(s, START_MAX_S);
}

void server_process_end(server_process *s)
{
    if (s == NULL)
        return;
    server_process_kill(s);
    free(s);
}

/* ---- what is known of it ---- */

pid_t server_process_pid(const server_process *s)
{
    return s->pid;
}

int server_process_port(const server_process *s)
{
    return s->port;
}

void server_process_url_as(const server_process *s, const server_process *whose, char *url)
{
    snprintf(url, HF_URL_MAX, "http://%s?token_file=%.2000s/admin-token", s->listen, whose->data);
}

void server_process_url(const server_process *s, char *url)
{
    server_process_url_as(s, s, url);
}

const char *server_process_secret(const server_process *s)
{
    return s->secret;
}

void server_process_file(const server_process *s, char *path)
{
    snprintf(path, HF_URL_MAX, "%.*s/holdfast.db", HF_URL_MAX - 16, s->data);
}

size_t server_process_resident(const server_process *s)
{
    char path[64];
    size_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)s->pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%*u %zu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

double server_process_cpu(const server_process *s)
{
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)s->pid);
    FILE *file = fopen(path, "re");
    if (file != NULL &&
        fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system) != 2)
        user = system = 0;
    if (file != NULL)
        fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
