/* SPDX-License-Identifier: MIT */
/* Servers and connections are killed under their clients, again and again: nothing that was
 * acknowledged is lost, nothing is granted twice, what was unsure can be settled, and the open
 * stores heal by themselves. The argument names the server. */
#include "faults/database_clients.h"
#include "faults/database_target.h"
#include "faults/setting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static target *server;
static const char *server_name;

static int server_kills_start(void **state)
{
    (void)state;
    server = target_start(server_name);
    return 0;
}

static int server_kills_stop(void **state)
{
    (void)state;
    target_stop(server);
    return 0;
}

/* ---- faults ---- */

typedef void fault(app *admin, unsigned number);

static void server_kills_look_into(app *admin)
{
    const char *problem = target_inspect(admin);
    if (problem)
        check_failed(__FILE__, __LINE__, "%s", problem);
}

static void kill_instance(instance *it, unsigned number)
{
    static const instance_end ways[] = {INSTANCE_KILL, INSTANCE_IMMEDIATE, INSTANCE_FAST};
    instance_down(it, ways[number % 3]);
    sleep_ms((unsigned)rand() % 50);
    instance_up(it);
}

static void kill_server(app *admin, unsigned number)
{
    (void)admin;
    kill_instance(server->instance, number);
}

static void kill_server_behind(app *admin, unsigned number)
{
    (void)admin;
    kill_instance(instance_behind(server->instance), number);
}

static size_t killed; /* connections, by kill_connection */

static void kill_connection(app *admin, unsigned number)
{
    (void)number;
    sleep_ms((unsigned)rand() % 20);
    killed += target_kill_connection(server, admin);
    sleep_ms(10);
}

/* Longer than any call may take. */
static void pause_server(app *admin, unsigned number)
{
    (void)admin, (void)number;
    instance_pause(server->instance);
    sleep_ms(17000);
    instance_resume(server->instance);
}

/* Works, strikes, looks; so often. `quiet`: the admin's connection dies with the server. */
static void server_kills_suffer(const clients_options *options, fault *strike, bool quiet,
                                size_t times, size_t work)
{
    char url[HF_URL_MAX];
    clients_post sum;
    target_install(server, false, url);
    clients c = clients_start(url, options);
    app *admin = target_admin(server, url);
    killed = 0;
    clients_work(&c, work);
    for (unsigned i = 0; i < times; i++) {
        sleep_ms((unsigned)rand() % 30);
        clients_fault(&c);
        if (quiet)
            app_close(admin);
        strike(admin, i);
        if (quiet)
            admin = target_admin(server, url);
        clients_calm(&c);
        server_kills_look_into(admin);
        clients_work(&c, work);
    }
    clients_end(&c, &sum);
    server_kills_look_into(admin);
    app_close(admin);
    expect_true(sum.done > times * work);
    if (quiet)
        expect_true(sum.unavailable + sum.unsure > 0); /* it was felt */
    if (strike == kill_connection)
        expect_true(killed > times / 2); /* one may have gone by itself */
}

static bool loses_beats(void)
{
    return server->postgres; /* there a batch of beats is not synced */
}

static void with_ledgers(clients_kind kind, fault *strike, bool quiet, size_t times)
{
    clients_options options = {.kind = kind,
                               .count = kind == CLIENTS_TOGETHER ? CLIENTS_MAX : 4,
                               .loses_beats = loses_beats(),
                               .slow_to_heal = server->kind == INSTANCE_PGBOUNCER};
    server_kills_suffer(&options, strike, quiet, times, 40);
}

static void with_batches(fault *strike, bool quiet, size_t times)
{
    clients_options options = {
        .kind = CLIENTS_THREADS, .count = 4, .slow_to_heal = server->kind == INSTANCE_PGBOUNCER};
    server_kills_suffer(&options, strike, quiet, times, 256);
}

/* ---- tests ---- */

static void nothing_acknowledged_is_lost_when_the_server_is_killed_in_server_kills(void **state)
{
    (void)state;
    with_ledgers(CLIENTS_PROCESSES, kill_server, true,
                 setting_amount("HF_TEST_SERVER_KILLS", 3, 50));
}

static void nor_when_single_connections_are_killed(void **state)
{
    (void)state;
    with_ledgers(CLIENTS_PROCESSES, kill_connection, false,
                 setting_amount("HF_TEST_CONNECTION_KILLS", 10, 50));
}

static void nor_when_the_server_is_killed_in_the_middle_of_batches_of_256(void **state)
{
    (void)state;
    with_batches(kill_server, true, setting_amount("HF_TEST_SERVER_KILLS", 1, 50));
}

static void nor_when_single_connections_are_killed_in_the_middle_of_them(void **state)
{
    (void)state;
    with_batches(kill_connection, false, setting_amount("HF_TEST_CONNECTION_KILLS", 5, 50));
}

static void nor_when_threads_go_together(void **state)
{
    (void)state;
    with_ledgers(CLIENTS_TOGETHER, kill_server, true,
                 setting_amount("HF_TEST_SERVER_KILLS", 2, 50));
    with_ledgers(CLIENTS_TOGETHER, kill_connection, false,
                 setting_amount("HF_TEST_CONNECTION_KILLS", 5, 50));
}

static void nothing_is_lost_when_the_server_behind_a_pooler_is_killed(void **state)
{
    (void)state;
    with_ledgers(CLIENTS_PROCESSES, kill_server_behind, true,
                 setting_amount("HF_TEST_SERVER_KILLS", 2, 50));
}

static void nothing_is_lost_and_nobody_waits_for_ever_when_the_server_hangs(void **state)
{
    (void)state;
    with_ledgers(CLIENTS_PROCESSES, pause_server, false, setting_amount("HF_TEST_PAUSES", 0, 3));
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    server_name = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_when_the_server_is_killed_in_server_kills),
        cmocka_unit_test(nor_when_single_connections_are_killed),
        cmocka_unit_test(nor_when_the_server_is_killed_in_the_middle_of_batches_of_256),
        cmocka_unit_test(nor_when_single_connections_are_killed_in_the_middle_of_them),
        cmocka_unit_test(nor_when_threads_go_together),
    };
    const struct CMUnitTest behind[] = {
        cmocka_unit_test(nothing_is_lost_when_the_server_behind_a_pooler_is_killed),
    };
    const struct CMUnitTest hanging[] = {
        cmocka_unit_test(nothing_is_lost_and_nobody_waits_for_ever_when_the_server_hangs),
    };
    char name[64];
    snprintf(name, sizeof name, "kills of %s", server_name ? server_name : "?");
    int failed = cmocka_run_group_tests_name(name, tests, server_kills_start, server_kills_stop);
    if (server_name && strcmp(server_name, "pgbouncer") == 0)
        failed += cmocka_run_group_tests_name("kills behind pgbouncer", behind, server_kills_start,
                                              server_kills_stop);
    if (setting_amount("HF_TEST_PAUSES", 0, 3) > 0)
        failed += cmocka_run_group_tests_name("servers that hang", hanging, server_kills_start,
                                              server_kills_stop);
    return failed;
}
