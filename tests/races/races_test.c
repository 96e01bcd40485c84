/* SPDX-License-Identifier: MIT */
/* Real processes race for a few locks on one store, a SQLite file unless HF_TEST_STORES says otherwise: sessions die and are stepped
 * over, clients are stopped and killed in the middle of what they do, and the history of all of them is checked (P1, P5, P7, P8).
 *
 * The program starts itself again for each client, with the arguments of worker_main. */
#include "races/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/place.h>
#include <sys/mman.h>
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

/* ---- a client: --worker URL CLIENT SEED BOARD LOG ---- */

static int worker_main(char **args)
{
    race_worker worker = {.client = (uint32_t)strtoul(args[1], NULL, 10),
                          .seed = (unsigned)strtoul(args[2], NULL, 10)};
    hf_error err = {0};
    worker.board = map_file(args[3], sizeof *worker.board);
    worker.log = map_file(args[4], race_log_size(LOG_ROOM));
    worker.reads_events = worker.client == 0;
    if (!worker.board || !worker.log)
        return 3;
    race_log_init(worker.log, LOG_ROOM);
    hf_status status;
    while ((status = hf_manager_open(args[0], &worker.manager, &err)) == HF_BUSY && worker.log->busy < 200) {
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
    return 0;
}

/* ---- the parent ---- */

typedef struct race {
    char url[HF_URL_MAX];
    char board_path[HF_URL_MAX];
    race_board *board;
    race_weather weather;
    unsigned seed;
    size_t clients;
    struct {
        pid_t pid; /* 0: gone */
        bool killed;
        race_log *log;
    } client[CLIENTS_MAX];
    size_t stops, kills;
} race;

static void client_start(race *r)
{
    size_t number = r->clients++;
    char log_path[HF_URL_MAX], client[16], seed[16];
    scratch_path(".log", log_path);
    r->client[number].log = map_file(log_path, race_log_size(LOG_ROOM));
    expect_true(r->client[number].log != NULL);
    snprintf(client, sizeof client, "%zu", number);
    snprintf(seed, sizeof seed, "%u", r->seed + (unsigned)number);
    pid_t pid = fork();
    expect_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "races", "--worker", r->url, client, seed, r->board_path, log_path,
              (char *)NULL);
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

static bool is_over(race *r)
{
    race_log *logs[CLIENTS_MAX];
    for (size_t i = 0; i < r->clients; i++)
        logs[i] = r->client[i].log;
    return race_is_over(r->board, logs, r->clients);
}

static void disturb(race *r)
{
    int64_t next_us = race_now_us() + 500000;
    while (!is_over(r)) {
        usleep(20000);
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
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            printf("# client %zu ended with %d: %s\n", i, status, r->client[i].log->surprise);
        expect_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* The first that processes can share. */
static const place *shared_place(void)
{
    size_t count;
    const place *all = places(&count);
    for (size_t i = 0; i < count; i++)
        if (all[i].keeps)
            return &all[i];
    check_failed(__FILE__, __LINE__, "HF_TEST_STORES names no store that processes can share.");
}

static void processes_race_for_locks_and_every_promise_holds(void **state)
{
    (void)state;
    static race r;
    const place *at = shared_place();
    hf_error err = {0};
    hf_manager *manager = NULL;
    int seconds = race_seconds(10, 60);
    size_t count = race_is_long() ? 16 : 8;
    place_fresh(at, r.url);
    scratch_path(".board", r.board_path);
    r.board = map_file(r.board_path, sizeof *r.board);
    expect_true(r.board != NULL);
    r.seed = getenv("HF_TEST_SEED") ? (unsigned)strtoul(getenv("HF_TEST_SEED"), NULL, 10)
                                    : (unsigned)race_now_us();
    printf("# %s, %zu processes, %d seconds, seed %u\n", at->name, count, seconds, r.seed);
    race_begin(r.board, &r.weather, seconds);
    for (size_t i = 0; i < count; i++)
        client_start(&r);
    disturb(&r);
    wait_for_all(&r);
    race_weather_note(&r.weather);
    printf("# %zu clients were stopped for a while, %zu were killed\n", r.stops, r.kills);

    race_log *logs[CLIENTS_MAX];
    for (size_t i = 0; i < r.clients; i++)
        logs[i] = r.client[i].log;
    expect(HF_OK, hf_manager_open(r.url, &manager, &err), err);
    race_judge(manager, logs, r.clients, &r.weather);
    hf_manager_close(manager);
    place_discard(at, r.url);
}

/* ---- opening ---- */

/* Waits in turn like any other: busy is an answer only to who has waited. */
static int open_main(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    int64_t before_us = race_now_us();
    hf_status status = hf_store_open(url, &store, &err);
    int64_t took_us = race_now_us() - before_us;
    hf_store_close(store);
    if (status == HF_OK || (status == HF_BUSY && took_us > 300000))
        return status == HF_OK ? 0 : 2;
    printf("# opening a new file: %s after %lld us: %s\n", hf_status_wire(status), (long long)took_us,
           err.message);
    fflush(stdout);
    return 1;
}

static void a_new_file_can_be_opened_by_many_at_once(void **state)
{
    (void)state;
    enum { ROUNDS = 120, PROCESSES = 8 };
    size_t refused = 0, waited = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char path[HF_URL_MAX], url[HF_URL_MAX + 16];
        scratch_path(".db", path);
        snprintf(url, sizeof url, "sqlite:%s", path);
        fflush(stdout);
        for (int i = 0; i < PROCESSES; i++)
            if (fork() == 0)
                _exit(open_main(url));
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;
            wait(&status);
            waited += WIFEXITED(status) && WEXITSTATUS(status) == 2;
            refused += !WIFEXITED(status) || WEXITSTATUS(status) == 1;
        }
    }
    printf("# %d files, each opened by %d processes at once: %zu refused, %zu waited in vain\n", ROUNDS,
           PROCESSES, refused, waited);
    expect_int(refused, 0);
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_race_for_locks_and_every_promise_holds),
        cmocka_unit_test(a_new_file_can_be_opened_by_many_at_once),
    };
    /* The last is of files. */
    size_t count = sizeof tests / sizeof *tests - !shared_place()->own_file;
    return _cmocka_run_group_tests("races of processes", tests, count, NULL, NULL);
}
