/* SPDX-License-Identifier: MIT */
/* Server-sent events at scale, of a real server over real sockets: many followers, who leave and
 * come back by chance, hear each event once and in order; those who take nothing are told to
 * resync, and nobody waits for them. */
#include "faults/setting.h"

#include <holdfast/holdfast.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <support/server_process.h>
#include <support/sse_clients.h>
#include <time.h>

enum { BATCH = 250, PATIENCE_S = 240 };

static double listeners_seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- who makes the events ---- */

typedef struct maker {
    hf_store *store;
    hf_batch *batch;
    hf_credentials me;
    char ids[BATCH][8];
    int64_t made; /* events */
    bool held;
} maker;

static void listeners_execute(maker *m)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_execute(m->store, m->batch, &err), err);
    for (size_t i = 0; i < hf_batch_count(m->batch); i++) {
        const hf_answer *answer = &hf_batch_op(m->batch, i)->answer;
        expect_status(HF_OK, answer->status, answer->message);
    }
    m->made += (int64_t)hf_batch_count(m->batch);
}

static void maker_open(maker *m, const server_process *server)
{
    char url[HF_URL_MAX];
    hf_error err = {0};
    *m = (maker){0};
    server_process_url(server, url);
    expect(HF_OK, hf_store_open(url, &m->store, &err), err);
    expect(HF_OK, hf_batch_new(BATCH, &m->batch, &err), err);
    expect(HF_OK, hf_credentials_new(NULL, &m->me, &err), err);
    hf_op *op = hf_batch_add(m->batch, HF_OP_SESSION_OPEN);
    op->session = &m->me;
    op->user = "maker";
    op->idle_us = INT64_C(3600000000);
    listeners_execute(m);
    for (int i = 0; i < BATCH; i++)
        snprintf(m->ids[i], sizeof m->ids[i], "%d", i);
}

static void maker_close(maker *m)
{
    hf_batch_free(m->batch);
    hf_store_close(m->store);
}

/* So many more: locks are taken, then given back. */
static void listeners_make(maker *m, size_t count)
{
    for (; count > 0; count -= count < BATCH ? count : BATCH) {
        hf_batch_clear(m->batch);
        for (size_t i = 0; i < BATCH && i < count; i++) {
            hf_op *op = hf_batch_add(m->batch, m->held ? HF_OP_RELEASE : HF_OP_ACQUIRE);
            op->session = &m->me;
            op->type = "heard";
            op->id = m->ids[i];
        }
        m->held = !m->held;
        listeners_execute(m);
    }
}

/* The number of the newest event in the store, which must have no holes: followers count on it. */
static int64_t newest_event(maker *m)
{
    int64_t seq = 0;
    for (size_t read = 1; read > 0;) {
        hf_error err = {0};
        hf_batch_clear(m->batch);
        hf_op *op = hf_batch_add(m->batch, HF_OP_EVENTS);
        op->after_seq = seq;
        op->limit = HF_LIST_MAX;
        expect(HF_OK, hf_store_execute(m->store, m->batch, &err), err);
        read = op->answer.events_count;
        for (size_t i = 0; i < read; i++)
            expect_int(op->answer.events[i].seq, ++seq);
    }
    return seq;
}

/* ---- the tests ---- */

static void demand(sse_clients *a, bool good, const char *what)
{
    sse_clients_report report;
    sse_clients_read(a, &report);
    if (!good)
        check_failed(__FILE__, __LINE__, "not all have %s: %s", what,
                     report.problem[0] ? report.problem : "it takes too long");
}

static void listeners_tell(const sse_clients_report *r, const server_process *server, double took_s)
{
    printf("# %llu events heard in %.1f s (%.0f a second, %.0f MB), %llu connections, %llu left by "
           "chance, "
           "%llu cut, %llu ended, %llu resyncs; "
           "the server took %.1f s of processor and has %.1f MB\n",
           (unsigned long long)r->events, took_s, (double)r->events / took_s,
           (double)r->bytes / 1e6, (unsigned long long)r->connections, (unsigned long long)r->left,
           (unsigned long long)r->cut, (unsigned long long)r->ended, (unsigned long long)r->resyncs,
           server_process_cpu(server), (double)server_process_resident(server) / 1e6);
}

static void a_thousand_followers_hear_each_event_once_and_in_order(void **state)
{
    size_t followers = setting_amount("HF_TEST_LISTENERS", 1000, 5000),
           events = setting_amount("HF_TEST_EVENTS", 1000, 1000);
    sse_clients_report report;
    maker m;
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    maker_open(&m, server);
    sse_clients *a =
        sse_clients_start(&(sse_clients_options){.ports = {server_process_port(server)},
                                                 .servers = 1,
                                                 .secret = server_process_secret(server),
                                                 .followers = followers,
                                                 .at_first = followers / 2});
    demand(a, sse_clients_connected(a, PATIENCE_S), "been seated");
    printf("# %zu followers, %zu events; with all of them seated the server has %.1f MB\n",
           followers, events, (double)server_process_resident(server) / 1e6);
    double began_s = listeners_seconds_now();
    sse_clients_reconnect(a, (int64_t)followers * 500);
    for (size_t i = 0; i < events; i += BATCH) {
        listeners_make(&m, events - i < BATCH ? events - i : BATCH);
        nanosleep(&(struct timespec){.tv_nsec = 250000000},
                  NULL); /* so that there are moments to come back in between */
    }
    int64_t newest = newest_event(&m);
    demand(a, sse_clients_received(a, newest, PATIENCE_S), "heard everything");
    double took_s = listeners_seconds_now() - began_s;
    sse_clients_end(a, &report);
    listeners_tell(&report, server, took_s);
    expect_text(report.problem, "");
    expect_int(report.newest, newest);
    expect_true(report.left > followers / 10);
    maker_close(&m);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
}

/* So many events that neither the sockets nor the ring can hold them for who takes none. */
static void who_takes_nothing_is_told_to_resync_and_nobody_waits_for_them(void **state)
{
    enum { FOLLOWERS = 60, SLOW = 20, EVENTS = 24000 };
    sse_clients_report report;
    maker m;
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    maker_open(&m, server);
    sse_clients *a =
        sse_clients_start(&(sse_clients_options){.ports = {server_process_port(server)},
                                                 .servers = 1,
                                                 .secret = server_process_secret(server),
                                                 .followers = FOLLOWERS,
                                                 .at_first = FOLLOWERS,
                                                 .slow = SLOW});
    demand(a, sse_clients_connected(a, PATIENCE_S), "been seated");
    sse_clients_stop_reading(a, true);
    double began_s = listeners_seconds_now();
    listeners_make(&m, EVENTS);
    size_t resident = server_process_resident(server);
    sse_clients_stop_reading(a, false);
    demand(a, sse_clients_received(a, newest_event(&m), PATIENCE_S), "heard everything");
    double took_s = listeners_seconds_now() - began_s;
    sse_clients_end(a, &report);
    listeners_tell(&report, server, took_s);
    printf("# while %d followers took nothing it had %.1f MB\n", SLOW, (double)resident / 1e6);
    expect_text(report.problem, "");
    expect_true(report.resyncs >= SLOW);
    maker_close(&m);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_followers_hear_each_event_once_and_in_order),
        cmocka_unit_test(who_takes_nothing_is_told_to_resync_and_nobody_waits_for_them),
    };
    return cmocka_run_group_tests_name("followers", tests, NULL, NULL);
}
