/* SPDX-License-Identifier: MIT */
/* Leases: what a pair costs beside the same by hand, and how long it takes from one process giving
 * a key back until another has it. Others' libraries (redis-py, tooz, node's redlock) are measured
 * by the scripts beside this, where they are installed. */
#include "leases.h"

#include <holdfast/lease.h>
#include <holdfast/limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEASE_KEYS = 1000, LEASE_TABLE = 4096, LEASE_HELD_US = 5000, LEASE_TURN_MS = 1000 };

static hf_leases *lease_open(const char *url)
{
    hf_leases *leases = NULL;
    hf_error err;
    if (hf_leases_open(url, NULL, &leases, &err) != HF_OK)
        bench_die("leases: %s", err.message);
    return leases;
}

static void leases_lease_acquire(hf_leases *leases, const char *key, hf_lease *out)
{
    hf_error err;
    if (hf_lease_acquire(leases, key, 10000000, out, &err) != HF_OK)
        bench_die("leases: %s", err.message);
}

static double lease_pairs(void *context, double seconds)
{
    int64_t pairs = 0;
    double start = bench_now(), end;
    do {
        for (int i = 0; i < 8; i++, pairs++) {
            hf_lease lease;
            char key[32];
            snprintf(key, sizeof key, "wallet:%lld", (long long)(pairs % LEASE_KEYS));
            leases_lease_acquire(context, key, &lease);
            hf_lease_close(&lease);
        }
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

/* ---- in a process: a mutex for each key, in a table under a mutex ---- */

typedef struct plain_key {
    struct plain_key *next;
    pthread_mutex_t mutex;
    unsigned users;
    char text[32];
} plain_key;

typedef struct plain_table {
    pthread_mutex_t mutex;
    plain_key *buckets[LEASE_TABLE];
} plain_table;

static plain_key **plain_find(plain_table *t, const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    plain_key **at = &t->buckets[(hash >> 32) % LEASE_TABLE];
    while (*at != NULL && strcmp((*at)->text, text) != 0)
        at = &(*at)->next;
    return at;
}

static plain_key *plain_lock(plain_table *t, const char *text)
{
    pthread_mutex_lock(&t->mutex);
    plain_key **at = plain_find(t, text), *key = *at;
    if (key == NULL) {
        key = *at = calloc(1, sizeof *key);
        snprintf(key->text, sizeof key->text, "%s", text);
        pthread_mutex_init(&key->mutex, NULL);
    }
    key->users++;
    pthread_mutex_unlock(&t->mutex);
    pthread_mutex_lock(&key->mutex);
    return key;
}

static void plain_unlock(plain_table *t, plain_key *key)
{
    pthread_mutex_unlock(&key->mutex);
    pthread_mutex_lock(&t->mutex);
    if (--key->users == 0) {
        *plain_find(t, key->text) = key->next;
        pthread_mutex_destroy(&key->mutex);
        free(key);
    }
    pthread_mutex_unlock(&t->mutex);
}

static double plain_pairs(void *context, double seconds)
{
    int64_t pairs = 0;
    double start = bench_now(), end;
    do {
        for (int i = 0; i < 8; i++, pairs++) {
            char key[32];
            snprintf(key, sizeof key, "wallet:%lld", (long long)(pairs % LEASE_KEYS));
            plain_unlock(context, plain_lock(context, key));
        }
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

static void measure_process(bench *b)
{
    if (!bench_wants(b, "lease/process"))
        return;
    static plain_table table = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    hf_leases *leases = lease_open("memory:");
    bench_side sides[] = {{lease_pairs, leases}, {plain_pairs, &table}};
    bench_series out[2];
    bench_interleave(b, sides, 2, out);
    bench_series ours = bench_cost_us(&out[0]), plain = bench_cost_us(&out[1]);
    bench_figure figure = {.name = "lease/process",
                           .unit = "us a pair",
                           .against = "a mutex in a hash table under a mutex",
                           .judge = BENCH_RATIO_AT_MOST,
                           .target = 2.5};
    bench_report(b, &figure, &ours, &plain);
    hf_leases_close(leases);
}

/* ---- on a server ---- */

/* A pair takes so little that whatever else the machine does weighs on a round: many short ones. */
static void lease_interleave(bench *b, const bench_side *sides, bench_series *out)
{
    size_t rounds = b->rounds;
    b->rounds = b->quick ? rounds : BENCH_ROUNDS_MAX;
    bench_interleave(b, sides, 2, out);
    b->rounds = rounds;
}

static void leases_measure_pairs(bench *b, const char *name, const char *url)
{
    bench_figure figure = {
        .unit = "pairs/s", .against = "by hand", .judge = BENCH_RATIO_AT_LEAST, .target = 0.85};
    snprintf(figure.name, sizeof figure.name, "lease/%s/pair", name);
    lease_base *base = bench_wants(b, figure.name) ? lease_base_open(url) : NULL;
    if (base == NULL)
        return;
    hf_leases *leases = lease_open(url);
    bench_side sides[] = {{lease_pairs, leases}, {lease_base_pairs, base}};
    bench_series out[2];
    lease_interleave(b, sides, out);
    bench_report(b, &figure, &out[0], &out[1]);
    hf_leases_close(leases);
    lease_base_close(base);
}

/* A script prints how many pairs a second it makes in that time; 0: its library is not there. */
typedef struct lease_rival {
    const char *command, *kind, *url;
} lease_rival;

static double rival_pairs(void *context, double seconds)
{
    const lease_rival *rival = context;
    char line[2048], answer[64] = "";
    snprintf(line, sizeof line, "%s '%s' '%s' %g 2>/dev/null", rival->command, rival->kind,
             rival->url, seconds);
    FILE *pipe = popen(line, "r");
    if (pipe == NULL)
        return 0;
    char *got = fgets(answer, sizeof answer, pipe);
    pclose(pipe);
    return got == NULL ? 0 : strtod(answer, NULL);
}

static void measure_rival(bench *b, const char *name, const char *url, lease_rival rival,
                          double target)
{
    bench_figure figure = {
        .unit = "pairs/s", .against = rival.kind, .judge = BENCH_RATIO_AT_LEAST, .target = target};
    snprintf(figure.name, sizeof figure.name, "lease/%s/%s", name, rival.kind);
    if (!bench_wants(b, figure.name))
        return;
    if (rival_pairs(&rival, 0.1) <= 0) {
        printf("%s: %s is not installed\n", figure.name, rival.kind);
        return;
    }
    hf_leases *leases = lease_open(url);
    bench_side sides[] = {{lease_pairs, leases}, {rival_pairs, &rival}};
    bench_series out[2];
    bench_interleave(b, sides, 2, out);
    bench_report(b, &figure, &out[0], &out[1]);
    hf_leases_close(leases);
}

/* ---- from one process to another ---- */

/* Two processes that take a key from each other, and hold it for a moment. Who gives it back says
 * when. */
typedef struct hand_off {
    _Atomic int64_t given_ns;
    _Atomic pid_t by; /* who gave it back */
    _Atomic bool stop;
    _Atomic int count;
    int64_t took_ns[1 << 16];
} hand_off;

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void hand_on(hand_off *shared, const char *url)
{
    hf_leases *leases = lease_open(url);
    while (!shared->stop) {
        hf_lease lease;
        leases_lease_acquire(leases, "hand-off", &lease);
        int64_t given_ns = shared->given_ns, now_ns = clock_ns();
        bool turn = shared->by != getpid();
        shared->by = 0;
        if (given_ns > 0 && turn) {
            int at = atomic_fetch_add(&shared->count, 1);
            shared->took_ns[at % (1 << 16)] = now_ns - given_ns;
        }
        usleep(LEASE_HELD_US); /* until the other waits for it */
        shared->by = getpid();
        shared->given_ns = clock_ns();
        hf_lease_close(&lease);
        for (int i = 0; i < LEASE_TURN_MS && shared->by == getpid() && !shared->stop; i++)
            usleep(1000); /* it is the other's turn */
    }
    hf_leases_close(leases);
}

static int leases_by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double hand_off_median_us(const char *url, double seconds)
{
    hand_off *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        bench_die("out of memory");
    pid_t pids[2];
    for (int i = 0; i < 2; i++)
        if ((pids[i] = fork()) == 0) {
            hand_on(shared, url);
            _exit(0);
        }
    usleep((useconds_t)(seconds * 1e6));
    shared->stop = true;
    for (int i = 0; i < 2; i++)
        waitpid(pids[i], NULL, 0);
    int count = shared->count < (1 << 16) ? shared->count : (1 << 16);
    qsort(shared->took_ns, (size_t)count, sizeof(int64_t), leases_by_size);
    double median = count == 0 ? 0 : (double)shared->took_ns[count / 2] / 1000;
    munmap(shared, sizeof *shared);
    return median;
}

/* At most three uncontended pairs, measured beside it, and what a round of waking costs. */
static void measure_hand_off(bench *b, const char *name, const char *url, double more_us)
{
    bench_figure figure = {.unit = "us",
                           .against = "3 pairs and 1 ms (MariaDB: 25)",
                           .judge = BENCH_RATIO_AT_MOST,
                           .target = 1};
    bench_series ours = {.count = b->rounds}, bound = {.count = b->rounds};
    snprintf(figure.name, sizeof figure.name, "lease/%s/hand-off", name);
    if (!bench_wants(b, figure.name))
        return;
    for (size_t i = 0; i < b->rounds && !bench_stopped(); i++) {
        hf_leases *leases = lease_open(url);
        bound.value[i] = 3e6 / lease_pairs(leases, b->seconds / (double)b->rounds / 4) + more_us;
        hf_leases_close(leases);
        ours.value[i] = hand_off_median_us(url, b->seconds / (double)b->rounds);
    }
    bench_report(b, &figure, &ours, &bound);
}

void bench_leases(bench *b)
{
    static const char python[] = "/usr/bin/python3 bench/lease_rivals.py",
                      node[] = "node bench/lease_rivals.mjs";
    measure_process(b);
    if (b->postgres != NULL) {
        leases_measure_pairs(b, "postgres", b->postgres);
        measure_rival(b, "postgres", b->postgres, (lease_rival){python, "tooz", b->postgres}, 3);
        measure_hand_off(b, "postgres", b->postgres, 1000);
    }
    if (b->mariadb != NULL) {
        leases_measure_pairs(b, "mariadb", b->mariadb);
        measure_rival(b, "mariadb", b->mariadb, (lease_rival){python, "tooz", b->mariadb}, 3);
        measure_hand_off(b, "mariadb", b->mariadb, 25000);
    }
    if (b->redis != NULL) {
        leases_measure_pairs(b, "redis", b->redis);
        measure_rival(b, "redis", b->redis, (lease_rival){python, "redis-py", b->redis}, 1.5);
        measure_rival(b, "redis", b->redis, (lease_rival){node, "redlock", b->redis}, 1.5);
        measure_hand_off(b, "redis", b->redis, 1000);
    }
}
