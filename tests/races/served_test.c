/* SPDX-License-Identifier: MIT */
/* Real processes race for a few locks through holdfast servers that are killed under them, and ask
 * again what was unsure. One server on a SQLite file, started again each time; two servers on one
 * PostgreSQL, of which one or the other is dead: clients that retry notice nothing. The history of
 * all clients is checked (P1, P5, P7, P8, P12), and followers on each server hear every event once
 * and in order. */
#include "races/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/server_process.h>
#include <support/sse_clients.h>
#include <support/test_store.h>

enum { PATIENCE_S = 20, FOLLOWERS = 20 };

static hf_status served_open_client(race_worker *worker, const char *url, const char *how,
                                    hf_error *err)
{
    hf_store *store = NULL;
    char urls[2 * HF_URL_MAX];
    snprintf(urls, sizeof urls, "%s %s", url, strcmp(how, "-") == 0 ? "" : how);
    hf_status status = retrying_open(urls, PATIENCE_S, &worker->log->asked_again, &store, err);
    return status == HF_OK ? hf_manager_on(store, &worker->manager, err) : status;
}

/* ---- killing ---- */

typedef struct killer {
    server_process *servers[2];
    size_t count;
    size_t kills, stops;
    server_process *down; /* NULL: all are up */
    int64_t next_us;
    int64_t every_us, down_us;
} killer;

static void bring_up(killer *k)
{
    if (k->down)
        server_process_up(k->down);
    k->down = NULL;
    k->next_us = race_now_us() + k->every_us / 2 + rand() % k->every_us;
}

/* With two servers they take turns; every fourth time one is asked to end. */
static void take_down(killer *k)
{
    size_t number = k->kills + k->stops;
    k->down = k->servers[number % k->count];
    if (number % 4 == 3) {
        expect_int(server_process_stop(k->down), 0);
        k->stops++;
    } else {
        server_process_kill(k->down);
        k->kills++;
    }
    k->next_us = race_now_us() + rand() % k->down_us;
}

static size_t served_strike(void *context, bool over)
{
    killer *k = context;
    if (over || (k->down && race_now_us() >= k->next_us))
        bring_up(k);
    else if (!k->down && race_now_us() >= k->next_us)
        take_down(k);
    return k->kills;
}

/* ---- listening ---- */

/* They have heard all there is, up to the last event of the race. */
static void judge_audience(sse_clients *a, const char *url)
{
    sse_clients_report report;
    hf_manager *manager = NULL;
    hf_error err = {0};
    int64_t seq = 0;
    expect(HF_OK, hf_manager_open(url, &manager, &err), err);
    for (size_t read = 1; read > 0;) {
        hf_result *page = NULL;
        expect(HF_OK, hf_manager_events(manager, seq, HF_LIST_MAX, &page, &err), err);
        const hf_answer *answer = hf_result_answer(page);
        read = answer->events_count;
        if (read > 0)
            seq = answer->events[read - 1].seq;
        hf_result_free(page);
    }
    hf_manager_close(manager);
    bool heard = sse_clients_received(a, seq, 30);
    sse_clients_end(a, &report);
    printf("# %d followers heard %llu events, up to %lld; %llu connections, %llu refused, %llu "
           "streams cut, "
           "%llu ended, %llu left by chance\n",
           FOLLOWERS, (unsigned long long)report.events, (long long)report.newest,
           (unsigned long long)report.connections, (unsigned long long)report.refused,
           (unsigned long long)report.cut, (unsigned long long)report.ended,
           (unsigned long long)report.left);
    expect_text(report.problem, "");
    expect_true(heard);
}

/* ---- the races ---- */

static void race(killer *k, size_t clients, int seconds)
{
    char urls[2][HF_URL_MAX];
    race_order order = {.url = urls[0],
                        .how = "-",
                        .clients = clients,
                        .seconds = seconds,
                        .bounds = RACE_BOUNDS,
                        .meddle = served_strike,
                        .context = k};
    sse_clients_options options = {.servers = k->count,
                                   .secret = server_process_secret(k->servers[0]),
                                   .followers = FOLLOWERS,
                                   .at_first = FOLLOWERS,
                                   .stays_with_one = true};
    for (size_t i = 0; i < k->count; i++) {
        server_process_url_as(k->servers[i], k->servers[0], urls[i]);
        options.ports[i] = server_process_port(k->servers[i]);
    }
    if (k->count > 1)
        order.how = urls[1];
    sse_clients *a = sse_clients_start(&options);
    expect_true(sse_clients_connected(a, 30));
    sse_clients_reconnect(a, 1000000);
    k->next_us = race_now_us() + k->every_us;
    order.bounds.busy_percent = 2;
    order.bounds.meddled = 4;
    if (k->count > 1)
        order.bounds.take_overs = 1; /* on a database they come to less */
    race_run(&order);
    judge_audience(a, urls[0]);
    printf("# %zu times a server was killed, %zu times stopped\n", k->kills, k->stops);
    expect_true(k->kills >= order.bounds.meddled);
}

static void served_end_all(killer *k)
{
    for (size_t i = 0; i < k->count; i++) {
        expect_int(server_process_stop(k->servers[i]), 0);
        server_process_end(k->servers[i]);
    }
}

static void every_promise_holds_while_the_server_is_killed_and_started_again(void **state)
{
    killer k = {.count = 1, .every_us = 400000, .down_us = 60000};
    (void)state;
    k.servers[0] = server_process_start(NULL, NULL);
    race(&k, 8, race_seconds(5, 90));
    served_end_all(&k);
}

static void two_servers_on_one_database_take_over_from_each_other(void **state)
{
    const test_store *at = *state;
    char url[HF_URL_MAX];
    killer k = {.count = 2, .every_us = 300000, .down_us = 300000};
    test_store_url(at, url);
    for (size_t i = 0; i < k.count; i++)
        k.servers[i] = server_process_start(url, NULL);
    race(&k, 8, race_seconds(5, 90));
    served_end_all(&k);
    test_store_discard(at, url);
}

int main(int argc, char **argv)
{
    int client = race_client_main(argc, argv, served_open_client, NULL);
    if (client >= 0)
        return client;
    size_t count = 0;
    const test_store *all = test_stores(&count);
    struct CMUnitTest tests[8];
    size_t chosen = 0;
    for (size_t i = 0; i < count && chosen < 8; i++)
        if (all[i].own_file)
            tests[chosen++] = (struct CMUnitTest)cmocka_unit_test(
                every_promise_holds_while_the_server_is_killed_and_started_again);
        else if (all[i].keeps)
            tests[chosen++] = (struct CMUnitTest)cmocka_unit_test_prestate(
                two_servers_on_one_database_take_over_from_each_other, (void *)(uintptr_t)&all[i]);
    return _cmocka_run_group_tests("races through servers", tests, chosen, NULL, NULL);
}
