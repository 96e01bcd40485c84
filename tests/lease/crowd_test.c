/* SPDX-License-Identifier: MIT */
/* Many at once: a wallet that many processes put money into, hand-offs between processes without a
 * lost wake-up, and thousands of leases and waiters of one process on a few connections. */
#include <fcntl.h>
#include <lease/scene.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/test_store.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *base;
static int64_t pause_us; /* between two rounds of a process */

/* ---- processes ---- */

/* Between processes there is no order: the last of them may wait for as long as all of it takes,
 * which on a machine with much else to do is more than a minute. */
enum { PROCESSES = 16, DEPOSITS = 1000, PATIENCE_S = 250 };

typedef struct result {
    int done, refused, handed; /* handed: another process had it before */
    int64_t longest_us;
} result;

static int rounds_or(int usual)
{
    const char *given = getenv("HF_TEST_ROUNDS");
    return given == NULL ? usual : (int)strtol(given, NULL, 10);
}

/* Reads, adds, writes: as wrong as can be without the lease. Whether another process was the last.
 */
static bool crowd_deposit(int file)
{
    char text[64] = "", *end;
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    (void)size;
    long sum = strtol(text, &end, 10), last = strtol(end, NULL, 10);
    int length = snprintf(text, sizeof text, "%ld %ld", sum + 1, (long)getpid());
    if (pwrite(file, text, (size_t)length + 1, 0) != length + 1)
        abort();
    return last != getpid();
}

/* Sixteen that make the tables of a new file at once may be told that it is busy. */
static hf_leases *open_in_time(const char *url, const hf_leases_options *options)
{
    hf_leases *leases = NULL;
    hf_error err;
    int64_t until_us = now_us() + PATIENCE_S * SEC;
    hf_status status = HF_BUSY;
    while (status == HF_BUSY && now_us() < until_us)
        status = hf_leases_open(url, options, &leases, &err);
    if (status != HF_OK) {
        fprintf(stderr, "# %s: %s\n", hf_status_wire(status), err.message);
        _exit(1);
    }
    return leases;
}

/* Begins when all are there. */
static void worker(const char *url, const hf_leases_options *options, int file, int rounds,
                   atomic_int *missing, result *out)
{
    hf_error err;
    hf_leases *leases = open_in_time(url, options);
    int64_t until_us = now_us() + PATIENCE_S * SEC;
    atomic_fetch_sub(missing, 1);
    while (atomic_load(missing) > 0)
        if (now_us() < until_us)
            nap(MS);
        else
            _exit(2);
    for (int i = 0; i < rounds; i++) {
        hf_lease lease;
        int64_t began_us = now_us();
        hf_status status =
            hf_lease_try_acquire(leases, "wallet:7", PATIENCE_S * SEC, 60 * SEC, &lease, &err);
        int64_t took_us = now_us() - began_us;
        out->longest_us = took_us > out->longest_us ? took_us : out->longest_us;
        if (status != HF_OK) {
            fprintf(stderr, "# %s: %s\n", hf_status_wire(status), err.message);
            out->refused++;
            continue;
        }
        out->handed += crowd_deposit(file);
        if (hf_lease_is_held(&lease))
            out->done++;
        hf_lease_close(&lease);
        nap(pause_us);
    }
    hf_leases_close(leases);
    _exit(0);
}

/* So many processes with so many rounds each; what they come to together. */
static result crowd_crowd(int processes, int rounds, const hf_leases_options *options)
{
    char url[HF_URL_MAX], path[HF_URL_MAX], text[32] = "";
    result sum = {0};
    result *all = mmap(NULL, sizeof(result) * (size_t)processes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    scene_url(base, url);
    scratch_path(".wallet", path);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    expect_true(all != MAP_FAILED && file >= 0);
    atomic_int *missing =
        mmap(NULL, sizeof *missing, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    expect_true(missing != MAP_FAILED);
    atomic_store(missing, processes);
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            worker(url, options, file, rounds, missing, &all[i]);
    for (int i = 0, code; i < processes; i++) {
        wait(&code);
        expect_int(code, 0);
    }
    for (int i = 0; i < processes; i++) {
        sum.done += all[i].done;
        sum.refused += all[i].refused;
        sum.handed += all[i].handed;
        sum.longest_us = all[i].longest_us > sum.longest_us ? all[i].longest_us : sum.longest_us;
    }
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    expect_true(size > 0);
    expect_int(strtol(text, NULL, 10), processes * rounds);
    munmap(missing, sizeof *missing);
    munmap(all, sizeof(result) * (size_t)processes);
    close(file);
    return sum;
}

static void a_wallet_gets_every_deposit_of_sixteen_processes(void **state)
{
    (void)state;
    int rounds = rounds_or(DEPOSITS) / PROCESSES + 1;
    result sum = crowd_crowd(PROCESSES, rounds, NULL);
    expect_int(sum.refused, 0);
    expect_int(sum.done, PROCESSES * rounds);
}

/* With so long a pulse a lost wake-up would cost twenty seconds, where waiters are told. */
static void no_wake_up_is_lost_between_processes(void **state)
{
    (void)state;
    enum { HANDS = 4 };
    int rounds = (getenv("HF_TEST_LONG") != NULL ? 100000 : rounds_or(2000)) / HANDS;
    pause_us = 100;
    result sum = crowd_crowd(HANDS, rounds, &(hf_leases_options){.pulse_us = 160 * SEC});
    expect_int(sum.refused, 0);
    if (strncmp(base, "postgres", 8) == 0 || strncmp(base, "redis", 5) == 0) /* the others look */
        expect_true(sum.handed > HANDS * rounds / 10);
    expect_true(sum.longest_us < 15 * SEC);
}

/* ---- one process ---- */

enum { WAITERS = 1000 };

typedef struct waiter {
    pthread_t thread;
    hf_leases *leases;
    char key[24];
    hf_status status;
    hf_lease lease;
} waiter;

static atomic_int waiting;

static void *crowd_wait_for_it(void *context)
{
    waiter *w = context;
    hf_error err;
    atomic_fetch_add(&waiting, 1);
    w->status = hf_lease_try_acquire(w->leases, w->key, 100 * SEC, 100 * SEC, &w->lease, &err);
    if (w->status != HF_OK)
        fprintf(stderr, "# %s\n", err.message);
    hf_lease_close(&w->lease);
    return NULL;
}

/* Half of the waiters wait for keys that another provider holds, each at the head of its own line;
 * half for keys of their own process. */
static void thousands_of_leases_and_waiters_share_eight_connections(void **state)
{
    (void)state;
    int count = strncmp(base, "mysql", 5) == 0 ? 3000 : 5000;
    scene *s = scene_open_with(base, &(hf_leases_options){.pulse_us = 20 * SEC});
    hf_lease *own = calloc((size_t)count, sizeof *own), *other = calloc(WAITERS, sizeof *other);
    waiter *waiters = calloc(WAITERS, sizeof *waiters);
    char key[24];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "own %d", i);
        expect(HF_OK, hf_lease_try_acquire(s->a, key, 0, 100 * SEC, &own[i], &s->err), s->err);
    }
    for (int i = 0; i < WAITERS / 2; i++) {
        snprintf(key, sizeof key, "other %d", i);
        expect(HF_OK, hf_lease_try_acquire(s->b, key, 0, 100 * SEC, &other[i], &s->err), s->err);
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 0; i < WAITERS; i++) {
        waiters[i].leases = s->a;
        snprintf(waiters[i].key, sizeof waiters[i].key, i % 2 ? "own %d" : "other %d", i / 2);
        assert_int_equal(pthread_create(&waiters[i].thread, &small, crowd_wait_for_it, &waiters[i]),
                         0);
    }
    expect_true(eventually(atomic_load(&waiting) == WAITERS));
    nap(200 * MS);
    int held = 0;
    for (int i = 0; i < count; i++)
        held += hf_lease_is_held(&own[i]);
    expect_int(held, count);
    scene_connections(s, 2 * 8);
    for (int i = 0; i < count; i++)
        hf_lease_close(&own[i]);
    for (int i = 0; i < WAITERS / 2; i++)
        hf_lease_close(&other[i]);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(waiters[i].thread, NULL);
        expect_status(HF_OK, waiters[i].status, waiters[i].key);
    }
    free(own);
    free(other);
    free(waiters);
    scene_close(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest processes[] = {
        cmocka_unit_test(a_wallet_gets_every_deposit_of_sixteen_processes),
        cmocka_unit_test(no_wake_up_is_lost_between_processes),
    };
    const struct CMUnitTest one[] = {
        cmocka_unit_test(thousands_of_leases_and_waiters_share_eight_connections),
    };
    scene_server(argc > 1 ? argv[1] : NULL, &base);
    int failed = cmocka_run_group_tests_name("leases of many processes", processes, NULL, NULL);
    if (strncmp(base, "sqlite:", 7) != 0)
        failed += cmocka_run_group_tests_name("many leases", one, NULL, NULL);
    scene_server_end();
    return failed;
}
