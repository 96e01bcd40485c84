/* SPDX-License-Identifier: MIT */
/* Opening and closing the scene; see database_fixture.h. */
#include "faults/database_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

target *scene_server;
static const char *server_name;

int scene_open(void **state)
{
    scene *s = calloc(1, sizeof *s);
    hf_error err = {0};
    target_install(scene_server, true, s->url_direct);
    const char *parameters = strchr(s->url_direct, '?') + 1;
    s->proxy = proxy_start("127.0.0.1", target_port(scene_server));
    target_url(scene_server, &(target_way){.port = proxy_port(s->proxy), .parameters = parameters},
               s->url);
    expect(HF_OK, hf_store_open(s->url_direct, &s->direct, &err), err);
    expect(HF_OK, hf_store_open(s->url, &s->through, &err), err);
    s->admin = target_admin(scene_server, s->url_direct);
    /* On PostgreSQL the word COMMIT is also in the text that begins a transaction. */
    if (scene_server->postgres)
        snprintf(s->before_commit, sizeof s->before_commit, "INSERT INTO %.40s.event",
                 strstr(parameters, "namespace=") + strlen("namespace="));
    else
        snprintf(s->before_commit, sizeof s->before_commit, ";COMMIT");
    s->alice = newcomer(s->direct, "alice", HOUR);
    s->bob = newcomer(s->direct, "bob", HOUR);
    *state = s;
    return 0;
}

int scene_close(void **state)
{
    scene *s = *state;
    hf_store_close(s->through);
    hf_store_close(s->direct);
    app_close(s->admin);
    proxy_stop(s->proxy);
    (void)!hf_store_uninstall(s->url_direct, true, NULL);
    free(s);
    return 0;
}

static int database_fixture_start(void **state)
{
    (void)state;
    scene_server = target_shared(server_name);
    return 0;
}

static int database_fixture_stop(void **state)
{
    (void)state;
    target_stop(scene_server);
    return 0;
}

int scene_main(const char *group, const struct CMUnitTest *tests, size_t count, int argc,
               char **argv)
{
    char name[64];
    signal(SIGPIPE, SIG_IGN);
    server_name = argc > 1 ? argv[1] : NULL;
    snprintf(name, sizeof name, "%s, %s", group, server_name ? server_name : "?");
    return _cmocka_run_group_tests(name, tests, count, database_fixture_start,
                                   database_fixture_stop);
}
