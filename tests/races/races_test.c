/* SPDX-License-Identifier: MIT */
/* Real processes race for a few locks on one store (each of HF_TEST_STORES that processes can
 * share): sessions die and are stepped over, clients are stopped and killed in the middle of what
 * they do, and the history of all of them is checked (P1, P5, P7, P8). */
#include "races/processes.h"

#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/wait.h>
#include <unistd.h>

static hf_status races_open_client(race_worker *worker, const char *url, const char *how,
                                   hf_error *err)
{
    (void)how;
    return hf_manager_open(url, &worker->manager, err);
}

/* A server is shared by twice as many, so that each of them comes to less. */
static void processes_race_for_locks_and_every_promise_holds(void **state)
{
    const test_store *at = *state;
    char url[HF_URL_MAX];
    race_order order = {.url = url, .how = "-", .bounds = RACE_BOUNDS};
    test_store_url(at, url);
    order.seconds = at->own_file ? race_seconds(7, 60) : race_seconds(4, 30);
    if (!at->own_file)
        order.bounds.take_overs = 2;
    order.clients = race_is_long() || !at->own_file ? 16 : 8;
    race_run(&order);
    test_store_discard(at, url);
}

/* ---- opening ---- */

/* Waits in turn like any other: busy is an answer only to who has waited. */
static int races_open_main(const char *url, bool install)
{
    hf_store *store = NULL;
    hf_error err = {0};
    int64_t before_us = race_now_us();
    hf_status status =
        install ? hf_store_install(url, NULL, &err) : hf_store_open(url, &store, &err);
    if (status == HF_OK && install)
        status = hf_store_open(url, &store, &err);
    int64_t took_us = race_now_us() - before_us;
    hf_store_close(store);
    if (status == HF_OK || (status == HF_BUSY && took_us > 300000))
        return status == HF_OK ? 0 : 2;
    printf("# opening what is new: %s after %lld us: %s\n", hf_status_wire(status),
           (long long)took_us, err.message);
    fflush(stdout);
    return 1;
}

static void new_url(const test_store *at, int round, char *url)
{
    if (at->own_file) {
        test_store_url(at, url);
        return;
    }
    snprintf(url, HF_URL_MAX, "%.*s%cnamespace=r_%d_%d", HF_URL_MAX - 64, at->url,
             strchr(at->url, '?') ? '&' : '?', (int)getpid(), round);
}

static void what_is_new_can_be_opened_by_many_at_once(void **state)
{
    const test_store *at = *state;
    enum { PROCESSES = 8 };
    int rounds = at->own_file ? 120 : race_is_long() ? 20 : 3;
    size_t refused = 0, waited = 0;
    for (int round = 0; round < rounds; round++) {
        char url[HF_URL_MAX];
        hf_error err = {0};
        new_url(at, round, url);
        fflush(stdout);
        for (int i = 0; i < PROCESSES; i++)
            if (fork() == 0)
                _exit(races_open_main(url, !at->own_file));
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;
            wait(&status);
            waited += WIFEXITED(status) && WEXITSTATUS(status) == 2;
            refused += !WIFEXITED(status) || WEXITSTATUS(status) == 1;
        }
        if (!at->own_file)
            expect(HF_OK, hf_store_uninstall(url, true, &err), err);
    }
    printf(
        "# %d new stores, each opened by %d processes at once: %zu refused, %zu waited in vain\n",
        rounds, PROCESSES, refused, waited);
    expect_int(refused, 0);
}

int main(int argc, char **argv)
{
    int client = race_client_main(argc, argv, races_open_client, NULL);
    if (client >= 0)
        return client;
    static struct CMUnitTest tests[32];
    static char names[32][120];
    size_t count = 0, chosen = 0;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count && chosen + 2 <= 32; i++) {
        if (!all[i].keeps)
            continue;         /* what only one process sees */
        if (!all[i].served) { /* a server has opened it before */
            snprintf(names[chosen], sizeof names[0],
                     "%s: what_is_new_can_be_opened_by_many_at_once", all[i].name);
            tests[chosen] =
                (struct CMUnitTest){names[chosen], what_is_new_can_be_opened_by_many_at_once, NULL,
                                    NULL, (void *)(uintptr_t)&all[i]};
            chosen++;
        }
        snprintf(names[chosen], sizeof names[0],
                 "%s: processes_race_for_locks_and_every_promise_holds", all[i].name);
        tests[chosen] =
            (struct CMUnitTest){names[chosen], processes_race_for_locks_and_every_promise_holds,
                                NULL, NULL, (void *)(uintptr_t)&all[i]};
        chosen++;
    }
    return _cmocka_run_group_tests("races of processes", tests, chosen, NULL, NULL);
}
