/* SPDX-License-Identifier: MIT */
/* Real processes race for a few locks through holdfast servers that are killed under them, and ask
 * again what was unsure. One server on a SQLite file, started again each time; two servers on one
 * PostgreSQL, of which one or the other is dead: clients that retry notice nothing. The history of
 * all clients is checked (P1, P5, P7, P8, P12), and followers on each server hear every event once
 * and in order. With an argument, kills, cuts or stops, one of these goes on for ten minutes. */
#include "faults/setting.h"
#include "races/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/proxy.h>
#include <support/server_process.h>
#include <support/sse_clients.h>
#include <support/test_store.h>

enum { PATIENCE_S = 120, FOLLOWERS = 20 };

static hf_status served_open_client(race_worker *worker, const char *url, const char *how,
                                    hf_error *err)
{
    hf_store *store = NULL;
    char urls[2 * HF_URL_MAX];
    worker->late = true;
    snprintf(urls, sizeof urls, "%s %s", url, strcmp(how, "-") == 0 ? "" : how);
    hf_status status = retrying_open(urls, PATIENCE_S, &worker->log->asked_again, &store, err);
    return status == HF_OK ? hf_manager_on(store, &worker->manager, err) : status;
}

/* ---- what is done to the servers ---- */

typedef struct villain villain;

/* One way to be bad: something begins, and is over after a while. */
typedef struct ordeal {
    const char *name;
    void (*strike)(villain *v);
    void (*relent)(villain *v);
    int64_t every_us, lasts_us;
} ordeal;

struct villain {
    const ordeal *ordeal;
    server_process *servers[2];
    size_t count;
    proxy *proxy;          /* for cuts: before the server, or between it and its database */
    bool proxied;          /* it is before the server */
    server_process *down;  /* NULL: all are up */
    size_t strikes, kills; /* the other servers were asked to end */
    size_t cut;            /* connections, but for those that a trap has cut */
    bool struck;
    int64_t next_us;
};

/* With two servers they take turns. */
static server_process *whose_turn(villain *v)
{
    return v->down = v->servers[v->strikes % v->count];
}

/* Every fourth time one is asked to end. */
static void take_down(villain *v)
{
    server_process *s = whose_turn(v);
    if (v->strikes % 4 == 3) {
        expect_int(server_process_stop(s), 0);
    } else {
        server_process_kill(s);
        v->kills++;
    }
}

static void bring_up(villain *v)
{
    server_process_up(v->down);
}

static void served_pause(villain *v)
{
    server_process_signal(whose_turn(v), SIGSTOP);
}

static void served_wake(villain *v)
{
    server_process_signal(v->down, SIGCONT);
}

static void cut_all(villain *v)
{
    v->cut += proxy_open(v->proxy);
    proxy_cut(v->proxy);
}

/* Now, after so many bytes, or after a silence; or nobody is let in. */
static void begin_cutting(villain *v)
{
    static const proxy_way ways[] = {PROXY_UP, PROXY_DOWN, PROXY_BOTH};
    size_t way = (size_t)rand() % 3;
    switch (rand() % 4) {
    case 0:
        proxy_refuse(v->proxy, true);
        cut_all(v);
        break;
    case 1:
        proxy_hold(v->proxy, ways[way]);
        break;
    default:
        proxy_cut_after(v->proxy, ways[way % 2], 1 + (size_t)rand() % 3000);
    }
}

static void end_cutting(villain *v)
{
    proxy_cut_never(v->proxy);
    cut_all(v);
    proxy_go_on(v->proxy);
    proxy_refuse(v->proxy, false);
}

static const ordeal ordeals[] = {
    {"kills", take_down, bring_up, 400000, 60000},
    {"cuts", begin_cutting, end_cutting, 100000, 200000},
    {"stops", served_pause, served_wake, 600000, 2500000},
};
static const ordeal take_turns = {"kills", take_down, bring_up, 300000, 300000};

static size_t served_strike(void *context, bool over)
{
    villain *v = context;
    const ordeal *o = v->ordeal;
    bool due = race_now_us() >= v->next_us;
    if (v->struck && (due || over)) {
        o->relent(v);
        v->struck = false;
        v->next_us = race_now_us() + o->every_us / 2 + rand() % o->every_us;
    } else if (!v->struck && due && !over) {
        o->strike(v);
        v->struck = true;
        v->strikes++;
        v->next_us = race_now_us() + rand() % o->lasts_us;
    }
    return v->strikes;
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

/* The same URL, at that port. */
static void served_through(char *url, int port)
{
    char rest[HF_URL_MAX];
    char *at = strstr(url, "127.0.0.1:");
    expect_true(at != NULL);
    at += strlen("127.0.0.1:");
    snprintf(rest, sizeof rest, "%s", at + strspn(at, "0123456789"));
    snprintf(at, HF_URL_MAX - (size_t)(at - url), "%d%s", port, rest);
}

static race_sum race(villain *v, size_t clients, int seconds, const char *parameters)
{
    char urls[2][HF_URL_MAX], plain[HF_URL_MAX];
    race_order order = {.url = urls[0],
                        .judged = plain,
                        .how = "-",
                        .clients = clients,
                        .seconds = seconds,
                        .bounds = RACE_BOUNDS,
                        .meddle = served_strike,
                        .context = v};
    sse_clients_options options = {.servers = v->count,
                                   .secret = server_process_secret(v->servers[0]),
                                   .followers = FOLLOWERS,
                                   .at_first = FOLLOWERS,
                                   .stays_with_one = true};
    server_process_url(v->servers[0], plain);
    for (size_t i = 0; i < v->count; i++) {
        server_process_url_as(v->servers[i], v->servers[0], urls[i]);
        strncat(urls[i], parameters, HF_URL_MAX - strlen(urls[i]) - 1);
        if (v->proxied)
            served_through(urls[i], proxy_port(v->proxy));
        options.ports[i] = server_process_port(v->servers[i]);
    }
    if (v->count > 1)
        order.how = urls[1];
    sse_clients *a = sse_clients_start(&options);
    expect_true(sse_clients_connected(a, 30));
    sse_clients_reconnect(a, 1000000);
    v->next_us = race_now_us() + v->ordeal->every_us;
    /* Who waits for the rows of a stopped server waits in vain. */
    order.bounds.busy_percent = v->ordeal->strike == served_pause ? 100 : 2;
    order.bounds.meddled = 4;
    if (v->count > 1)
        order.bounds.take_overs = 1; /* on a database they come to less */
    race_sum sum = race_run(&order);
    judge_audience(a, plain);
    printf("# %zu %s, %zu of them by SIGKILL\n", v->strikes, v->ordeal->name, v->kills);
    return sum;
}

static void served_end_all(villain *v)
{
    for (size_t i = 0; i < v->count; i++) {
        expect_int(server_process_stop(v->servers[i]), 0);
        server_process_end(v->servers[i]);
    }
}

static void every_promise_holds_while_the_server_is_killed_and_started_again(void **state)
{
    villain v = {.ordeal = &ordeals[0], .count = 1};
    (void)state;
    v.servers[0] = server_process_start(NULL, NULL);
    race(&v, 8, race_seconds(5, 90), "");
    served_end_all(&v);
}

static void two_servers_on_one_database_take_over_from_each_other(void **state)
{
    const test_store *at = *state;
    char url[HF_URL_MAX];
    villain v = {.ordeal = &take_turns, .count = 2};
    test_store_url(at, url);
    for (size_t i = 0; i < v.count; i++)
        v.servers[i] = server_process_start(url, NULL);
    race(&v, 8, race_seconds(5, 90), "");
    served_end_all(&v);
    test_store_discard(at, url);
}

/* ---- minutes of one ordeal ---- */

typedef struct total {
    race_sum sum;
    size_t laps, strikes, kills, cuts;
} total;

static void add_lap(total *all, const race_sum *lap, const villain *v)
{
    all->laps++;
    all->strikes += v->strikes;
    all->kills += v->kills;
    all->cuts += v->cut + (v->proxy ? proxy_sprung(v->proxy) : 0);
    all->sum.calls += lap->calls;
    all->sum.holds += lap->holds;
    all->sum.refusals += lap->refusals;
    all->sum.take_overs += lap->take_overs;
    all->sum.unsure += lap->unsure;
    all->sum.settled += lap->settled;
    all->sum.clients_killed += lap->clients_killed;
    all->sum.clients_paused += lap->clients_paused;
}

/* On SQLite, or (database not NULL) on a database, where two servers are stopped by turns. Each lap
 * has a store of its own. */
static void run_lap(const ordeal *o, const test_store *database, int seconds, total *all)
{
    char url[HF_URL_MAX] = "";
    villain v = {.ordeal = o, .count = database && o->strike == served_pause ? 2 : 1};
    bool cuts = o->strike == begin_cutting;
    v.proxied = cuts && !database;
    if (database)
        test_store_url(database, url);
    if (cuts && database) {
        char *port = strstr(url, "127.0.0.1:");
        expect_true(port != NULL);
        v.proxy = proxy_start("127.0.0.1", (int)strtol(port + strlen("127.0.0.1:"), NULL, 10));
        served_through(url, proxy_port(v.proxy));
    }
    for (size_t i = 0; i < v.count; i++)
        v.servers[i] = server_process_start(database ? url : NULL, NULL);
    if (v.proxied)
        v.proxy = proxy_start("127.0.0.1", server_process_port(v.servers[0]));
    race_sum sum = race(&v, 8, seconds, o->strike == served_pause ? "&timeout=1s" : "");
    add_lap(all, &sum, &v);
    served_end_all(&v);
    proxy_stop(v.proxy);
    if (database)
        test_store_discard(database, url);
}

/* Ten minutes, or HF_TEST_ENDURANCE seconds. */
static void every_promise_holds_for_minutes(void **state)
{
    const ordeal *o = *state;
    size_t count = 0;
    total all = {0};
    const test_store *database = test_stores(&count);
    int64_t began_us = race_now_us(),
            until_us =
                began_us + (int64_t)setting_amount("HF_TEST_ENDURANCE", 600, 600) * 1000000;
    expect_true(database->keeps && !database->own_file);
    for (bool second = false; race_now_us() < until_us || all.laps < 2; second = !second) {
        int64_t left_s = (until_us - race_now_us()) / 1000000;
        run_lap(o, second ? database : NULL, left_s < 30 ? 15 : 30, &all);
    }
    printf("# %s, %lld s, %zu stores: %zu times, %zu of them by SIGKILL, %zu connections cut; %zu "
           "clients killed, %zu stopped\n",
           o->name, (long long)((race_now_us() - began_us) / 1000000), all.laps, all.strikes,
           all.kills, all.cuts, all.sum.clients_killed, all.sum.clients_paused);
    printf("# %zu calls, %zu holds, %zu refusals, %zu take-overs, %zu answers unsure and %zu of "
           "them settled: nothing acknowledged was lost, no holds overlapped\n",
           all.sum.calls, all.sum.holds, all.sum.refusals, all.sum.take_overs, all.sum.unsure,
           all.sum.settled);
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
    for (size_t i = 0; argc > 1 && i < sizeof ordeals / sizeof *ordeals; i++)
        if (strcmp(argv[1], ordeals[i].name) == 0)
            tests[chosen++] = (struct CMUnitTest)cmocka_unit_test_prestate(
                every_promise_holds_for_minutes, (void *)(uintptr_t)&ordeals[i]);
    for (size_t i = 0; argc == 1 && i < count && chosen < 8; i++)
        if (all[i].own_file)
            tests[chosen++] = (struct CMUnitTest)cmocka_unit_test(
                every_promise_holds_while_the_server_is_killed_and_started_again);
        else if (all[i].keeps)
            tests[chosen++] = (struct CMUnitTest)cmocka_unit_test_prestate(
                two_servers_on_one_database_take_over_from_each_other, (void *)(uintptr_t)&all[i]);
    return _cmocka_run_group_tests("races through servers", tests, chosen, NULL, NULL);
}
