/* SPDX-License-Identifier: MIT */
/* A sync that fails under `holdfast serve`: whoever was in that batch is told `unsure`, nothing
 * more is acknowledged, every request is answered, and the process ends with an exit code that says
 * so. Started again it serves what is on disk, and what was unsure is settled by asking again. */
#include "faults/database_target.h"
#include "faults/http_clients.h"
#include "faults/ledger.h"
#include "faults/setting.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/check.h>
#include <support/server_process.h>
#include <support/test_store.h>
#include <unistd.h>

static char broken[HF_URL_MAX]; /* while this file is there, syncs fail */

static void break_disk(void)
{
    int fd = open(broken, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    expect_true(fd >= 0);
    close(fd);
}

static void serve_sync_look_into(const server_process *server)
{
    char path[HF_URL_MAX];
    server_process_file(server, path);
    const char *problem = ledger_inspect(path);
    if (problem)
        check_failed(__FILE__, __LINE__, "%s", problem);
}

/* The disk fails, the server ends, and comes back on a good one. */
static void fail_and_recover(server_process *server)
{
    break_disk();
    int code = server_process_wait(server, 30);
    char *log = server_process_log(server);
    expect_contains(log, "The store is broken");
    free(log);
    expect_int(code, 6);
    unlink(broken);
    server_process_up(server);
}

static void a_failed_sync_is_unsure_ends_the_server_and_loses_nothing(void **state)
{
    enum { CLIENTS = 16, WORK = 400 };
    size_t rounds = setting_amount("HF_TEST_SYNC_FAILURES", 3, 50);
    http_tally sum;
    check_report report;
    (void)state;
    server_process *server = server_process_start(NULL, NULL);
    http_clients *clients =
        http_clients_start(server_process_port(server), server_process_secret(server), CLIENTS);
    for (size_t i = 0; i < rounds; i++) {
        http_clients_work(clients, WORK);
        fail_and_recover(server);
        serve_sync_look_into(server);
    }
    http_clients_work(clients, WORK);
    http_clients_end(clients, &sum, &report);
    serve_sync_look_into(server);
    printf("# %zu failed syncs\n", rounds);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
    expect_true(sum.unsure >= rounds);
    expect_int(sum.closed + sum.reset + sum.cut, 0); /* everyone was answered */
}

int main(void)
{
    const char *preload = getenv("HF_TEST_PRELOAD");
    static char variable[HF_URL_MAX + 32];
    signal(SIGPIPE, SIG_IGN);
    if (preload == NULL)
        return 2;
    scratch_path(".broken", broken);
    setenv("HF_TEST_SYNC_FAILS", broken, 1);
    snprintf(variable, sizeof variable, "LD_PRELOAD=%s", preload);
    server_process_environment(variable);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_sync_is_unsure_ends_the_server_and_loses_nothing),
    };
    return cmocka_run_group_tests_name("failed syncs under holdfast serve", tests, NULL, NULL);
}
