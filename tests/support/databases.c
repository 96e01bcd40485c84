/* SPDX-License-Identifier: MIT */
/* Starting is left to tools/servers, which prints URLs and leaves the process ids in files; signals
 * are sent from here. */
#include <dirent.h>
#include <holdfast/limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/databases.h>
#include <support/test_store.h>
#include <unistd.h>

#define FAIL(...) check_failed(__FILE__, __LINE__, __VA_ARGS__)

enum { GONE_MS = 20000, PROCESSES_MAX = 512 };

static const struct {
    const char *name;     /* for tools/servers */
    const char *variable; /* that it prints */
    int fast, immediate;  /* signals */
} kinds[] = {
    [INSTANCE_POSTGRES] = {"postgres", "HF_TEST_POSTGRES", SIGINT, SIGQUIT},
    [INSTANCE_MARIADB] = {"mariadb", "HF_TEST_MARIADB", SIGTERM, SIGKILL},
    [INSTANCE_MYSQL] = {"mysql", "HF_TEST_MYSQL", SIGTERM, SIGKILL},
    [INSTANCE_PGBOUNCER] = {"pgbouncer", "HF_TEST_PGBOUNCER", SIGTERM, SIGKILL},
    [INSTANCE_REDIS] = {"redis", "HF_TEST_REDIS", SIGTERM, SIGKILL},
};

struct instance {
    instance_kind kind;
    char folder[HF_URL_MAX];
    char url[HF_URL_MAX], url_tcp[HF_URL_MAX];
    instance *behind;
};

/* ---- tools/servers ---- */

static const char *source_root(void)
{
    const char *root = getenv("HF_SOURCE_ROOT");
    return root && *root ? root : HF_SOURCE_ROOT;
}

/* NAME=URL */
static void servers_take_line(instance *it, char *line)
{
    char *url = strchr(line, '=');
    line[strcspn(line, "\n")] = '\0';
    if (!url)
        return;
    *url++ = '\0';
    size_t size = strlen(kinds[it->kind].variable);
    if (strcmp(line, kinds[it->kind].variable) == 0)
        snprintf(it->url, sizeof it->url, "%s", url);
    else if (strncmp(line, kinds[it->kind].variable, size) == 0 && strcmp(line + size, "_TCP") == 0)
        snprintf(it->url_tcp, sizeof it->url_tcp, "%s", url);
}

static void run_tool(instance *it, const char *verb)
{
    char command[3 * HF_URL_MAX], line[HF_URL_MAX];
    bool starts = strcmp(verb, "start") == 0;
    snprintf(command, sizeof command, "exec '%s/tools/servers' %s '%s'", source_root(), verb,
             it->folder);
    size_t size = strlen(command);
    if (starts)
        snprintf(command + size, sizeof command - size, " --while %d %s", (int)getpid(),
                 kinds[it->kind].name);
    fflush(stdout);
    FILE *out = popen(command, "re");
    while (out && fgets(line, sizeof line, out)) {
        char *copy = strdup(line);
        servers_take_line(it, line);
        if (it->behind)
            servers_take_line(it->behind, copy);
        free(copy);
    }
    if (!out || pclose(out) != 0)
        FAIL("%s could not be %s.", kinds[it->kind].name, starts ? "started" : "stopped");
}

/* ---- processes ---- */

/* The state and the parent of a process; false: there is none, or nobody has waited for it yet. */
static bool servers_look_at(pid_t pid, pid_t *parent)
{
    char path[64], line[1024] = "", state = 'Z';
    int up = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    const char *after = strrchr(line, ')'); /* the name before it may hold anything */
    if (!after || sscanf(after + 1, " %c %d", &state, &up) != 2)
        return false;
    *parent = up;
    return state != 'Z' && state != 'X';
}

/* The process and its children; says how many. */
static size_t family(pid_t pid, pid_t *all)
{
    size_t count = 0;
    pid_t parent;
    DIR *processes = opendir("/proc");
    all[count++] = pid;
    for (struct dirent *entry;
         processes && (entry = readdir(processes)) != NULL && count < PROCESSES_MAX;) {
        pid_t one = (pid_t)strtol(entry->d_name, NULL, 10);
        if (one > 0 && servers_look_at(one, &parent) && parent == pid)
            all[count++] = one;
    }
    if (processes)
        closedir(processes);
    return count;
}

/* To all of them, the first one first, so that it starts no more; twice where one may have been
 * started meanwhile. */
static void signal_family(pid_t pid, int number)
{
    pid_t all[PROCESSES_MAX];
    for (int round = 0; round < 2; round++) {
        size_t count = family(pid, all);
        for (size_t i = 0; i < count; i++)
            kill(all[i], number);
    }
}

static bool is_alive(pid_t pid)
{
    pid_t parent;
    return servers_look_at(pid, &parent);
}

static void wait_until_gone(const instance *it, pid_t pid)
{
    for (int waited = 0; is_alive(pid); waited += 5) {
        if (waited > GONE_MS)
            FAIL("%s does not end.", kinds[it->kind].name);
        usleep(5000);
    }
}

/* ---- the servers ---- */

static instance *instance_new(instance_kind kind, const char *folder)
{
    instance *it = calloc(1, sizeof *it);
    it->kind = kind;
    snprintf(it->folder, sizeof it->folder, "%s", folder);
    return it;
}

instance *instance_start(instance_kind kind)
{
    char folder[HF_URL_MAX];
    scratch_path(".servers", folder);
    instance *it = instance_new(kind, folder);
    if (kind == INSTANCE_PGBOUNCER)
        it->behind = instance_new(INSTANCE_POSTGRES, folder);
    run_tool(it, "start");
    return it;
}

void instance_stop(instance *it)
{
    if (!it)
        return;
    run_tool(it, "stop");
    free(it->behind);
    free(it);
}

const char *instance_url(const instance *it)
{
    return it->url;
}

const char *instance_url_tcp(const instance *it)
{
    return it->url_tcp;
}

/* Where the digits of the port are in the TCP URL. */
static const char *port_in(const instance *it)
{
    static const char host[] = "127.0.0.1:";
    const char *found = strstr(it->url_tcp, host);
    if (!found)
        FAIL("%s has no TCP URL.", kinds[it->kind].name);
    return found + strlen(host);
}

int instance_port(const instance *it)
{
    return (int)strtol(port_in(it), NULL, 10);
}

void instance_url_through(const instance *it, int port, char *url)
{
    const char *digits = port_in(it);
    snprintf(url, HF_URL_MAX, "%.*s%d%s", (int)(digits - it->url_tcp), it->url_tcp, port,
             digits + strspn(digits, "0123456789"));
}

pid_t instance_pid(const instance *it)
{
    char path[HF_URL_MAX + 32];
    int pid = 0;
    snprintf(path, sizeof path, "%s/%s.pid", it->folder, kinds[it->kind].name);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &pid) != 1 || pid <= 1)
        FAIL("The process of %s is not known.", kinds[it->kind].name);
    fclose(file);
    return pid;
}

void instance_down(instance *it, instance_end how)
{
    pid_t pid = instance_pid(it);
    if (how == INSTANCE_KILL)
        signal_family(pid, SIGKILL);
    else
        kill(pid, how == INSTANCE_FAST ? kinds[it->kind].fast : kinds[it->kind].immediate);
    wait_until_gone(it, pid);
}

void instance_up(instance *it)
{
    run_tool(it, "start");
}

void instance_restart(instance *it, instance_end how)
{
    instance_down(it, how);
    instance_up(it);
}

void instance_pause(instance *it)
{
    signal_family(instance_pid(it), SIGSTOP);
}

void instance_resume(instance *it)
{
    signal_family(instance_pid(it), SIGCONT);
}

instance *instance_behind(instance *it)
{
    return it->behind;
}
