/* SPDX-License-Identifier: MIT */
/* kill -9 of `holdfast serve` under load, again and again, on its SQLite file: nothing that was
 * acknowledged over HTTP is lost, nothing is granted twice, every change has its event, what was
 * unsure is settled by asking again, and clients that were connected go on as soon as it is back.
 * */
#include "faults/database_clients.h"
#include "faults/database_target.h"
#include "faults/http_clients.h"
#include "faults/ledger.h"
#include "faults/setting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/check.h>
#include <support/server_process.h>

typedef struct times {
    int64_t slowest_us, sum_us;
    size_t count;
} times;

static void kill_and_start(server_process *server, times *restarts)
{
    sleep_ms((unsigned)rand() % 30);
    server_process_kill(server);
    sleep_ms((unsigned)rand() % 50);
    int64_t began_us = monotonic_us();
    server_process_up(server);
    int64_t took_us = monotonic_us() - began_us;
    restarts->slowest_us = took_us > restarts->slowest_us ? took_us : restarts->slowest_us;
    restarts->sum_us += took_us;
    restarts->count++;
}

static void serve_kills_look_into(const server_process *server)
{
    char path[HF_URL_MAX];
    server_process_file(server, path);
    const char *problem = ledger_inspect(path);
    if (problem)
        check_failed(__FILE__, __LINE__, "%s", problem);
}

/* Works, is killed, comes through; so often. */
static void serve_kills_suffer(const clients_options *options, size_t kills, size_t work)
{
    char url[HF_URL_MAX];
    clients_post sum;
    times restarts = {0};
    server_process *server = server_process_start(NULL, NULL);
    server_process_url(server, url);
    clients c = clients_start(url, options);
    clients_work(&c, work);
    for (size_t i = 0; i < kills; i++) {
        clients_fault(&c);
        kill_and_start(server, &restarts);
        clients_calm(&c);
        serve_kills_look_into(server);
        clients_work(&c, work);
    }
    clients_end(&c, &sum);
    serve_kills_look_into(server);
    printf("# %zu kills; it listened again after %.0f ms, at most %.0f ms\n", kills,
           (double)restarts.sum_us / 1e3 / (double)kills, (double)restarts.slowest_us / 1e3);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
    expect_true(sum.done > kills * work);
    expect_true(sum.unavailable + sum.unsure > 0); /* it was felt */
}

static void nothing_acknowledged_is_lost_when_the_server_is_killed_in_serve_kills(void **state)
{
    (void)state;
    serve_kills_suffer(&(clients_options){.kind = CLIENTS_PROCESSES, .count = 6},
                       setting_amount("HF_TEST_SERVE_KILLS", 5, 100), 200);
}

static void nor_when_it_is_killed_in_the_middle_of_batches_of_256(void **state)
{
    (void)state;
    serve_kills_suffer(&(clients_options){.kind = CLIENTS_THREADS, .count = 4},
                       setting_amount("HF_TEST_SERVE_KILLS", 5, 100), 1024);
}

static void clients_of_plain_http_settle_with_the_same_key_what_was_not_answered(void **state)
{
    enum { CLIENTS = 8, WORK = 300 };
    size_t kills = setting_amount("HF_TEST_SERVE_KILLS", 5, 100);
    http_tally sum;
    check_report report;
    times restarts = {0};
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    http_clients *http =
        http_clients_start(server_process_port(server), server_process_secret(server), CLIENTS);
    for (size_t i = 0; i <= kills; i++) {
        http_clients_work(http, WORK);
        if (i < kills)
            kill_and_start(server, &restarts);
    }
    http_clients_end(http, &sum, &report);
    serve_kills_look_into(server);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
    expect_true(sum.requests > kills * WORK);
    expect_true(sum.closed + sum.reset + sum.cut + sum.late > 0); /* it was felt */
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_when_the_server_is_killed_in_serve_kills),
        cmocka_unit_test(nor_when_it_is_killed_in_the_middle_of_batches_of_256),
        cmocka_unit_test(clients_of_plain_http_settle_with_the_same_key_what_was_not_answered),
    };
    return cmocka_run_group_tests_name("kill -9 of holdfast serve", tests, NULL, NULL);
}
