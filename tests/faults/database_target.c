/* SPDX-License-Identifier: MIT */
/* Servers, URLs and the looks at tables; see database_target.h. */
#include "faults/database_target.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/test_store.h>
#include <support/timing.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

static const struct {
    const char *name, *variable;
} kinds[] = {
    [INSTANCE_POSTGRES] = {"postgres", "HF_TEST_POSTGRES"},
    [INSTANCE_MARIADB] = {"mariadb", "HF_TEST_MARIADB"},
    [INSTANCE_MYSQL] = {"mysql", "HF_TEST_MYSQL"},
    [INSTANCE_PGBOUNCER] = {"pgbouncer", "HF_TEST_PGBOUNCER"},
};

int64_t monotonic_us(void)
{
    return timing_now_us();
}

void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* ---- starting ---- */

static target *target_new(const char *name)
{
    target *t = calloc(1, sizeof *t);
    for (size_t i = 0; t && i < sizeof kinds / sizeof *kinds; i++)
        if (name && strcmp(kinds[i].name, name) == 0) {
            t->kind = (instance_kind)i;
            t->name = kinds[i].name;
            t->postgres = t->kind == INSTANCE_POSTGRES || t->kind == INSTANCE_PGBOUNCER;
            return t;
        }
    FAIL("The first argument is the name of a server: postgres, mariadb, mysql or pgbouncer.");
}

target *target_start(const char *name)
{
    target *t = target_new(name);
    t->instance = instance_start(t->kind);
    instance *behind = instance_behind(t->instance);
    snprintf(t->url, sizeof t->url, "%s", instance_url(t->instance));
    snprintf(t->url_tcp, sizeof t->url_tcp, "%s", instance_url_tcp(t->instance));
    snprintf(t->url_admin, sizeof t->url_admin, "%s", behind ? instance_url(behind) : t->url);
    char process[64];
    struct stat owner = {0};
    snprintf(process, sizeof process, "/proc/%d", (int)instance_pid(t->instance));
    if (stat(process, &owner) != 0)
        FAIL("The process of %s can't be looked at.", name);
    t->uid = owner.st_uid;
    t->gid = owner.st_gid;
    return t;
}

target *target_shared(const char *name)
{
    target *t = target_new(name);
    char tcp[64];
    snprintf(tcp, sizeof tcp, "%s_TCP", kinds[t->kind].variable);
    const char *url = getenv(kinds[t->kind].variable), *url_tcp = getenv(tcp);
    if (!url || !*url || !url_tcp || !*url_tcp || t->kind == INSTANCE_PGBOUNCER) {
        free(t);
        return target_start(name);
    }
    snprintf(t->url, sizeof t->url, "%s", url);
    snprintf(t->url_tcp, sizeof t->url_tcp, "%s", url_tcp);
    snprintf(t->url_admin, sizeof t->url_admin, "%s", url);
    return t;
}

void target_stop(target *t)
{
    if (!t)
        return;
    target_end(&t->other);
    instance_stop(t->instance);
    free(t);
}

/* ---- URLs ---- */

void target_with(const char *url, const char *parameter, char *out)
{
    snprintf(out, HF_URL_MAX, "%.*s%c%s", HF_URL_MAX - 256, url, strchr(url, '?') ? '&' : '?',
             parameter);
}

int target_port(const target *t)
{
    const char *host = strstr(t->url_tcp, "@127.0.0.1:");
    return host ? (int)strtol(host + strlen("@127.0.0.1:"), NULL, 10) : 0;
}

void target_url(const target *t, const target_way *way, char *out)
{
    const char *user = way->user ? way->user : t->postgres ? "postgres" : "root";
    const char *password = way->password ? way->password : way->user ? "" : TARGET_PASSWORD;
    snprintf(out, HF_URL_MAX, "%s://%s%s%s@%s:%d/%s%s%s", t->postgres ? "postgres" : "mysql", user,
             *password ? ":" : "", password, way->host ? way->host : "127.0.0.1",
             way->port ? way->port : target_port(t), way->database ? way->database : "test",
             way->parameters ? "?" : "", way->parameters ? way->parameters : "");
}

const char *target_name(const char *prefix)
{
    static char names[8][32];
    static unsigned count;
    char *name = names[count % 8];
    snprintf(name, sizeof names[0], "%s_%d_%u", prefix, (int)getpid(), count);
    count++;
    return name;
}

void target_install(const target *t, bool tcp, char *url)
{
    hf_error err = {0};
    char parameter[64];
    snprintf(parameter, sizeof parameter, "namespace=%s", target_name("f"));
    target_with(tcp ? t->url_tcp : t->url, parameter, url);
    expect(HF_OK, hf_store_install(url, NULL, &err), err);
}

/* ---- behind the store's back ---- */

app *target_admin(const target *t, const char *store_url)
{
    char url[HF_URL_MAX];
    const char *names = strstr(store_url, "namespace=");
    snprintf(url, sizeof url, "%s", t->url_admin);
    if (names)
        target_with(t->url_admin, names, url);
    return app_connect(url);
}

#define NOW_POSTGRES "(extract(epoch FROM clock_timestamp()) * 1000000)"
#define NOW_MYSQL    "(UNIX_TIMESTAMP() * 1000000 + MICROSECOND(NOW(6)))"

/* NOW stands for the server's clock in microseconds. */
#define LIVE(l, s)                                                                                 \
    s ".ended_us IS NULL AND " s ".expires_us > NOW AND (" l ".ends_us IS NULL OR " l              \
      ".ends_us > NOW)"

static const struct {
    const char *finds; /* what it would be if the query found something */
    const char *sql;
} never[] = {
    {"live locks that can't stand together",
     "SELECT a.type, a.id, a.session, b.session FROM {lock} a"
     " JOIN {lock} b ON b.type = a.type AND b.id = a.id AND b.session > a.session"
     " JOIN {session} s ON s.id = a.session JOIN {session} t ON t.id = b.session"
     " WHERE (a.mode = 'exclusive' OR b.mode = 'exclusive') AND " LIVE("a", "s") " AND " LIVE("b",
                                                                                              "t")},
    {"a lock without a session, or of one that was closed",
     "SELECT l.type, l.id FROM {lock} l LEFT JOIN {session} s ON s.id = l.session"
     " WHERE s.id IS NULL OR s.ended_us IS NOT NULL"},
    {"a lock whose anchor is missing or behind",
     "SELECT l.type, l.id FROM {lock} l LEFT JOIN {resource} r ON r.type = l.type AND r.id = l.id"
     " WHERE r.fence IS NULL OR r.fence < l.fence"},
    {"two locks with one fence",
     "SELECT type, id, fence FROM {lock} GROUP BY type, id, fence HAVING count(*) > 1"},
    {"a fence that was given twice", "SELECT type, resource_id, fence FROM {event} WHERE kind IN "
                                     "('acquired', 'upgraded', 'handed_over')"
                                     " GROUP BY type, resource_id, fence HAVING count(*) > 1"},
    {"a lock of whose grant no event tells",
     "SELECT l.type, l.id, l.fence FROM {lock} l LEFT JOIN (SELECT type, resource_id, max(fence) "
     "AS fence"
     " FROM {event} GROUP BY type, resource_id) e ON e.type = l.type AND e.resource_id = l.id"
     " WHERE e.fence IS NULL OR e.fence < l.fence"},
    {"a session that was opened twice by one request",
     "SELECT request FROM {session} WHERE request IS NOT NULL GROUP BY request HAVING count(*) > "
     "1"},
};

/* NOW is replaced by the server's clock. */
static void put_clock(const char *sql, const char *clock, char *out, size_t size)
{
    size_t at = 0;
    while (*sql && at + strlen(clock) + 2 < size) {
        bool here = strncmp(sql, "NOW ", 4) == 0 || strncmp(sql, "NOW)", 4) == 0;
        at += (size_t)snprintf(out + at, size - at, "%.*s", here ? (int)strlen(clock) : 1,
                               here ? clock : sql);
        sql += here ? 3 : 1;
    }
    out[at] = '\0';
}

const char *target_inspect(app *admin)
{
    static char verdict[1024];
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        char sql[4096];
        put_clock(never[i].sql, app_engine_of(admin) == ON_POSTGRES ? NOW_POSTGRES : NOW_MYSQL, sql,
                  sizeof sql);
        char *found = app_text(admin, "%s", sql);
        bool any = found[0] != '\0';
        if (any)
            snprintf(verdict, sizeof verdict, "%s: %.512s", never[i].finds, found);
        free(found);
        if (any)
            return verdict;
    }
    return NULL;
}

bool target_kill_connection(const target *t, app *admin)
{
    if (t->postgres)
        return app_number(
                   admin,
                   "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                   " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                   " AND application_name IN ('holdfast', '') AND backend_type = 'client backend'"
                   " ORDER BY state = 'idle', random() LIMIT 1) AS one") > 0;
    char *id =
        app_text(admin, "SELECT id FROM information_schema.processlist WHERE db = DATABASE()"
                        " AND id <> CONNECTION_ID() ORDER BY command = 'Sleep', RAND() LIMIT 1");
    bool killed = *id && app_try(admin, "KILL CONNECTION %s", id); /* it may have gone by itself */
    free(id);
    return killed;
}

/* ---- processes ---- */

pid_t target_spawn(const target *t, char *const argv[], const char *log)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0)
        return child;
    int out = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || chdir("/tmp") != 0 ||
        (getuid() == 0 && (setgid(t->gid) != 0 || setuid(t->uid) != 0)))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("LC_ALL", "C.UTF-8", 1);
    execv(argv[0], argv);
    _exit(127);
}

void target_end(pid_t *child)
{
    if (*child > 0) {
        kill(*child, SIGKILL);
        waitpid(*child, NULL, 0);
    }
    *child = 0;
}

enum { WORDS_MAX = 64 };

/* The command line of a process, cut into words that lie in text; says how many. */
static size_t command_of(pid_t pid, char *text, size_t size, char *words[WORDS_MAX])
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    if (got <= 0)
        FAIL("The command line of the server can't be read.");
    text[got] = '\0';
    for (char *at = text; at < text + got && count < WORDS_MAX; at += strlen(at) + 1)
        words[count++] = at;
    return count;
}

/* Until someone listens at the socket that is named in the URL. */
static void wait_for_socket(const char *url)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = strstr(url, "socket=");
    if (!path)
        FAIL("The URL names no socket: %s", url);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path + strlen("socket="));
    for (int64_t until_us = monotonic_us() + 20000000;; sleep_ms(20)) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool there = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
        if (fd >= 0)
            close(fd);
        if (there)
            return;
        if (monotonic_us() > until_us)
            FAIL("No server listens at %s.", address.sun_path);
    }
}

void target_restart_with(target *t, const char *const options[])
{
    char text[8192], more[8][256], log[HF_URL_MAX], *words[WORDS_MAX];
    size_t count = command_of(instance_pid(t->instance), text, sizeof text, words);
    for (size_t i = 0; options[i]; i++) {
        expect_true(i < sizeof more / sizeof *more && count < WORDS_MAX - 1);
        snprintf(more[i], sizeof more[i], "%s", options[i]);
        words[count++] = more[i];
    }
    words[count] = NULL;
    scratch_path(".log", log);
    instance_down(t->instance, INSTANCE_FAST);
    t->other = target_spawn(t, words, log);
    wait_for_socket(t->url);
}

/* Cleanly: what one with a binary log has prepared, one without does not know how to end. */
void target_back(target *t)
{
    if (t->other > 0) {
        kill(t->other, SIGTERM);
        waitpid(t->other, NULL, 0);
    }
    t->other = 0;
    instance_up(t->instance);
}
