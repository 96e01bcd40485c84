/* SPDX-License-Identifier: MIT */
/* A race of real processes; see processes.h. A client is this program with the arguments --client
 * URL HOW CLIENT SEED BOARD LOG. */
#include "races/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MAX 64
#define LOG_ROOM    1000000 /* the file is sparse */

static void *map_file(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* ---- a client ---- */

static int client_main(char **args, race_open_client *open_client,
                       void (*close_client)(race_worker *worker))
{
    race_worker worker = {.client = (uint32_t)strtoul(args[2], NULL, 10),
                          .seed = (unsigned)strtoul(args[3], NULL, 10)};
    hf_error err = {0};
    worker.board = map_file(args[4], sizeof *worker.board);
    worker.log = map_file(args[5], race_log_size(LOG_ROOM));
    worker.reads_events = worker.client == 0;
    if (!worker.board || !worker.log)
        return 3;
    race_log_init(worker.log, LOG_ROOM);
    hf_status status;
    while ((status = open_client(&worker, args[0], args[1], &err)) == HF_BUSY &&
           worker.log->busy < 200) {
        worker.log->busy++;
        usleep(10000);
    }
    if (status != HF_OK) {
        snprintf(worker.log->surprise, sizeof worker.log->surprise, "open: %s", err.message);
        worker.log->surprises = 1;
        return 4;
    }
    race_work(&worker);
    hf_manager_close(worker.manager);
    if (close_client)
        close_client(&worker);
    return 0;
}

int race_client_main(int argc, char **argv, race_open_client *open_client,
                     void (*close_client)(race_worker *worker))
{
    if (argc != 8 || strcmp(argv[1], "--client") != 0)
        return -1;
    return client_main(argv + 2, open_client, close_client);
}

/* ---- the parent ---- */

typedef struct race {
    const race_order *order;
    char board_path[HF_URL_MAX];
    race_board *board;
    race_weather weather;
    unsigned seed;
    size_t clients;
    struct {
        pid_t pid; /* 0: gone */
        bool killed;
        race_log *log;
        char log_path[HF_URL_MAX];
    } client[CLIENTS_MAX];
    size_t stops, kills;
} race;

static void client_start(race *r)
{
    size_t number = r->clients++;
    char client[16], seed[16], *log_path = r->client[number].log_path;
    scratch_path(".log", log_path);
    r->client[number].log = map_file(log_path, race_log_size(LOG_ROOM));
    expect_true(r->client[number].log != NULL);
    snprintf(client, sizeof client, "%zu", number);
    snprintf(seed, sizeof seed, "%u", r->seed + (unsigned)number);
    pid_t pid = fork();
    expect_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* who would say that the race is over? */
        execl("/proc/self/exe", "races", "--client", r->order->url, r->order->how, client, seed,
              r->board_path, log_path, (char *)NULL);
        _exit(5);
    }
    r->client[number].pid = pid;
}

static size_t some_client(race *r)
{
    size_t number;
    do /* not the first, which reads the events */
        number = 1 + (size_t)rand_r(&r->seed) % (r->clients - 1);
    while (!r->client[number].pid || r->client[number].killed);
    return number;
}

/* Stops a client for longer than most sessions live, wherever it happens to be. */
static void stop_one(race *r)
{
    size_t number = some_client(r);
    kill(r->client[number].pid, SIGSTOP);
    usleep(350 * 1000);
    kill(r->client[number].pid, SIGCONT);
    r->stops++;
}

static void kill_one(race *r)
{
    size_t number = some_client(r);
    kill(r->client[number].pid, SIGKILL);
    waitpid(r->client[number].pid, NULL, 0);
    r->client[number].killed = true;
    r->client[number].pid = 0;
    r->kills++;
    client_start(r);
}

static bool processes_is_over(race *r)
{
    race_log *logs[CLIENTS_MAX];
    for (size_t i = 0; i < r->clients; i++)
        logs[i] = r->client[i].log;
    return race_is_over(r->board, logs, r->clients, &r->order->bounds);
}

static void disturb(race *r)
{
    int64_t next_us = race_now_us() + 500000;
    while (!processes_is_over(r)) {
        if (r->order->meddle)
            r->board->meddled = r->order->meddle(r->order->context, false);
        race_weather_note(&r->weather);
        if (race_now_us() < next_us || r->board->until_us - race_now_us() < 700000 ||
            r->clients + 2 > CLIENTS_MAX)
            continue;
        if (r->stops < r->kills)
            stop_one(r);
        else
            kill_one(r);
        next_us = race_now_us() + 600000;
    }
}

static void wait_for_all(race *r)
{
    for (size_t i = 0; i < r->clients; i++) {
        int status = 0;
        if (!r->client[i].pid)
            continue;
        expect_int(waitpid(r->client[i].pid, &status, 0), r->client[i].pid);
        r->client[i].pid = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            printf("# client %zu ended with %d: %s\n", i, status, r->client[i].log->surprise);
        expect_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static race_sum processes_judge(race *r)
{
    race_log *logs[CLIENTS_MAX];
    hf_manager *manager = NULL;
    hf_error err = {0};
    for (size_t i = 0; i < r->clients; i++)
        logs[i] = r->client[i].log;
    const char *url = r->order->judged ? r->order->judged : r->order->url;
    expect(HF_OK, hf_manager_open(url, &manager, &err), err);
    race_sum sum = race_judge(manager, logs, r->clients, &r->weather, &r->order->bounds);
    hf_manager_close(manager);
    sum.clients_killed = r->kills;
    sum.clients_paused = r->stops;
    return sum;
}

static void clean_up(race *r)
{
    for (size_t i = 0; i < r->clients; i++) {
        munmap(r->client[i].log, race_log_size(LOG_ROOM));
        unlink(r->client[i].log_path);
    }
    munmap(r->board, sizeof *r->board);
    unlink(r->board_path);
}

race_sum race_run(const race_order *order)
{
    static race r;
    const char *seed = getenv("HF_TEST_SEED");
    memset(&r, 0, sizeof r);
    r.order = order;
    scratch_path(".board", r.board_path);
    r.board = map_file(r.board_path, sizeof *r.board);
    expect_true(r.board != NULL);
    r.seed = seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)race_now_us();
    printf("# %zu processes, %d seconds, seed %u\n", order->clients, order->seconds, r.seed);
    fflush(stdout);
    race_begin(r.board, &r.weather, order->seconds);
    for (size_t i = 0; i < order->clients; i++)
        client_start(&r);
    disturb(&r);
    if (order->meddle)
        order->meddle(order->context, true);
    wait_for_all(&r);
    race_weather_note(&r.weather);
    printf("# %zu clients were stopped for a while, %zu were killed\n", r.stops, r.kills);
    race_sum sum = processes_judge(&r);
    clean_up(&r);
    return sum;
}
