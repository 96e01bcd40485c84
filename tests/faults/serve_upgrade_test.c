/* SPDX-License-Identifier: MIT */
/* Servers side by side on one database while its tables become newer. What a version after ours will do is played: columns and a table
 * that this program knows nothing of, and a version one higher. Servers that run go on under load without a failure, and can be started
 * again, one after the other; two versions on they are told to be upgraded. The argument names the database server. */
#include "faults/http_crew.h"
#include "faults/server_crew.h"
#include "faults/server_old.h"
#include "faults/setting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/asker.h>
#include <support/served.h>

/* ---- a version after ours ---- */

static void say_version(const char *url, int64_t version)
{
    input_do(url, "UPDATE {meta} SET value = '%lld' WHERE name = 'schema'", (long long)version);
}

/* While servers are at work: a table that is busy is asked for until it can be had. */
static void become_newer(const char *url)
{
    static const char *const tables[] = {"type",    "session", "resource", "lock",
                                         "request", "lost",    "event",    "token"};
    app *a = app_connect(url);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (int tries = 0;
             !app_try(a, "ALTER TABLE {%s} ADD COLUMN future varchar(20) DEFAULT 'x'", tables[i]);
             sleep_ms(20))
            if (++tries == 100)
                check_failed(__FILE__, __LINE__, "%s: %s", tables[i], app_error(a));
    app_do(a, "CREATE TABLE {future} (a int)");
    app_close(a);
    say_version(url, old_version(url) + 1);
}

static void restart(served *server)
{
    expect_int(served_stop(server), 0);
    served_up(server);
}

static void servers_go_on_and_start_again_while_the_tables_become_one_version_newer(void **state)
{
    enum { WORK = 60 };
    char url[HF_URL_MAX], at[HF_URL_MAX];
    crew_options options = {.kind = CREW_PROCESSES, .count = 3, .loses_beats = input_server->postgres};
    http_tally sum;
    check_report report;
    (void)state;
    input_place(url);
    served *first = served_start(url, NULL), *second = served_start(url, NULL);
    int64_t version = old_version(url);
    served_url(first, at);
    crew c = crew_start(at, &options);
    http_crew *others = http_crew_start(served_port(second), served_secret(first), 4);
    crew_work(&c, WORK);
    become_newer(url);
    crew_work(&c, WORK); /* no fault was announced: a failure would be one */
    http_crew_work(others, WORK);
    crew_fault(&c);
    restart(first);
    crew_calm(&c);
    crew_work(&c, WORK);
    restart(second);
    http_crew_work(others, WORK);
    crew_end(&c, NULL);
    http_crew_end(others, &sum, &report);
    expect_int(sum.closed + sum.reset + sum.cut, 0);
    expect_int(old_version(url), version + 1);
    expect_int(served_stop(first), 0);
    expect_int(served_stop(second), 0);
    served_end(first);
    served_end(second);
}

/* ---- two versions after ours ---- */

static void two_versions_on_a_server_that_runs_goes_on_and_none_is_started(void **state)
{
    char url[HF_URL_MAX], headers[256];
    static asker_answer answer;
    (void)state;
    input_place(url);
    served *server = served_start(url, NULL);
    say_version(url, old_version(url) + 2);
    char *before = input_picture(url);
    asker a = {.port = served_port(server), .fd = -1};
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", served_secret(server));
    expect_int(asker_ask(&a, "POST", "/v1/sessions", headers, "{\"user\":\"alice\"}", &answer),
               ASKER_ANSWERED);
    expect_int(answer.status, 201);
    asker_close(&a);
    expect_int(served_stop(server), 0);
    char *log = served_fails(server, 6);
    expect_contains(log, "Upgrade holdfast");
    expect_lacks(log, INPUT_SECRET);
    free(log);
    char *after = input_picture(url);
    expect_text(after, before);
    free(before);
    free(after);
    served_end(server);
}

/* ---- a version before ours ---- */

/* Both find the tables of version 1, and one of them makes them new; what was in them is served. */
static void servers_that_start_together_on_old_tables_serve_what_is_in_them(void **state)
{
    char url[HF_URL_MAX], login[256];
    int64_t fence = 0;
    hf_credentials alice;
    static asker_answer answer;
    (void)state;
    old_make(url, &fence, &alice);
    served *servers[2] = {served_begin(url, NULL), served_begin(url, NULL)};
    for (int i = 0; i < 2; i++)
        served_ready(servers[i]);
    expect_int(old_version(url), 2);
    snprintf(login, sizeof login, "Holdfast-Session: %s.%s\r\n", alice.id, alice.key);
    asker a = {.port = served_port(servers[0]), .fd = -1}, b = {.port = served_port(servers[1]), .fd = -1};
    expect_int(asker_ask(&a, "DELETE", "/v1/locks/policy/1", login, NULL, &answer), ASKER_ANSWERED);
    expect_int(answer.status, 200);
    expect_int(asker_number(&answer, "fence"), fence);
    expect_int(asker_ask(&b, "DELETE", "/v1/locks/policy/1", login, NULL, &answer), ASKER_ANSWERED);
    expect_int(answer.status, 409);
    asker_close(&a);
    asker_close(&b);
    for (int i = 0; i < 2; i++) {
        expect_int(served_stop(servers[i]), 0);
        served_end(servers[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_go_on_and_start_again_while_the_tables_become_one_version_newer),
        cmocka_unit_test(two_versions_on_a_server_that_runs_goes_on_and_none_is_started),
        cmocka_unit_test(servers_that_start_together_on_old_tables_serve_what_is_in_them),
    };
    return INPUT_MAIN("servers and versions of tables", tests, argc, argv);
}
