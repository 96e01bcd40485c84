/* SPDX-License-Identifier: MIT */
/* Providers and people for the tests of leases; see scene.h. */
#include <lease/scene.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/databases.h>
#include <support/test_store.h>
#include <time.h>
#include <unistd.h>

const char *const *scene_urls(void)
{
    static const char *urls[] = {"memory:", "sqlite:", NULL};
    const char *given = getenv("HF_TEST_LEASES");
    if (given != NULL && given[0] != '\0') {
        urls[0] = given;
        urls[1] = NULL;
    }
    return urls;
}

void scene_url(const char *base, char *out)
{
    static atomic_int drawn;
    char path[HF_URL_MAX];
    if (strcmp(base, "memory:") == 0) {
        snprintf(out, HF_URL_MAX, "%s", base);
    } else if (strcmp(base, "sqlite:") == 0) {
        scratch_path(".db", path);
        snprintf(out, HF_URL_MAX, "sqlite:%.4000s", path);
    } else {
        snprintf(out, HF_URL_MAX, "%.4000s%snamespace=t%dx%d", base,
                 strchr(base, '?') != NULL ? "&" : "?", (int)getpid(), atomic_fetch_add(&drawn, 1));
    }
}

static void scene_hear(void *context, const hf_lease_notice *notice)
{
    scene *it = context;
    snprintf(it->key, sizeof it->key, "%s", notice->key);
    snprintf(it->text, sizeof it->text, "%s", notice->text);
    atomic_fetch_add(notice->event == HF_LEASE_EXPIRED ? &it->expired
                     : notice->event == HF_LEASE_LOST  ? &it->lost
                                                       : &it->leaking,
                     1);
}

scene *scene_open_with(const char *base, hf_leases_options *options)
{
    scene *it = calloc(1, sizeof *it);
    assert_non_null(it);
    scene_url(base, it->url);
    it->local = strcmp(base, "memory:") == 0;
    options->listener = scene_hear;
    options->context = it;
    expect(HF_OK, hf_leases_open(it->url, options, &it->a, &it->err), it->err);
    options->name = "the other one";
    options->listener = NULL;
    if (it->local)
        it->b = it->a;
    else
        expect(HF_OK, hf_leases_open(it->url, options, &it->b, &it->err), it->err);
    return it;
}

scene *scene_open(const char *base)
{
    return scene_open_with(base, &(hf_leases_options){.pulse_us = 200 * MS});
}

void scene_close(scene *it)
{
    if (it->b != it->a)
        hf_leases_close(it->b);
    hf_leases_close(it->a);
    free(it);
}

/* ---- a server ---- */

static instance *own_server;
static instance_kind own_kind;

/* One number, asked by the programs that come with the servers: the test has no connection of its
 * own. */
static long scene_ask(const char *sql)
{
    char command[2 * HF_URL_MAX], answer[64] = "";
    const char *url = instance_url(own_server), *socket = strstr(url, "socket=");
    if (own_kind == INSTANCE_POSTGRES)
        snprintf(command, sizeof command, "psql -XAtq '%s' -c \"%s\"", url, sql);
    else if (own_kind == INSTANCE_REDIS)
        snprintf(command, sizeof command, "redis-cli -s %s %s | grep -cv 'cmd=client'",
                 url + strlen("redis+unix://"), sql);
    else
        snprintf(command, sizeof command, "mariadb -N -u root --socket=%s -e \"%s\"", socket + 7,
                 sql);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *line = fgets(answer, sizeof answer, pipe);
    expect_int(pclose(pipe), 0);
    return line == NULL ? 0 : strtol(answer, NULL, 10);
}

void scene_server(const char *name, const char **url)
{
    *url = "sqlite:";
    if (name == NULL)
        return;
    own_kind = strcmp(name, "postgres") == 0  ? INSTANCE_POSTGRES
               : strcmp(name, "mariadb") == 0 ? INSTANCE_MARIADB
               : strcmp(name, "redis") == 0   ? INSTANCE_REDIS
                                              : INSTANCE_MYSQL;
    own_server = instance_start(own_kind);
    if (own_kind == INSTANCE_POSTGRES) {
        scene_ask("ALTER SYSTEM SET max_locks_per_transaction = 256");
        instance_restart(own_server, INSTANCE_FAST);
    }
    *url = instance_url(own_server);
}

void scene_server_end(void)
{
    instance_stop(own_server);
}

void scene_connections(scene *it, int max)
{
    (void)it;
    long count =
        scene_ask(own_kind == INSTANCE_REDIS ? "client list"
                  : own_kind == INSTANCE_POSTGRES
                      ? "SELECT count(*) FROM pg_stat_activity WHERE backend_type = "
                        "'client backend' AND pid <> pg_backend_pid()"
                      : "SELECT COUNT(*) FROM information_schema.processlist WHERE command "
                        "<> 'Daemon' AND id <> CONNECTION_ID()");
    expect_true(count > 0 && count <= max);
}

/* ---- people ---- */

int64_t now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SEC + time.tv_nsec / 1000;
}

void nap(int64_t us)
{
    struct timespec time = {us / SEC, us % SEC * 1000};
    nanosleep(&time, NULL);
}

static void *person_run(void *context)
{
    person *who = context;
    atomic_store(&who->begun, true);
    who->status = who->wait_us < 0 ? hf_lease_acquire(who->leases, who->key, who->hold_us,
                                                      &who->lease, &who->err)
                                   : hf_lease_try_acquire(who->leases, who->key, who->wait_us,
                                                          who->hold_us, &who->lease, &who->err);
    if (who->status == HF_OK) {
        if (who->order != NULL)
            who->place = atomic_fetch_add(who->order, 1);
        if (who->pause_us > 0)
            nap(who->pause_us);
        hf_lease_close(&who->lease);
    }
    atomic_store(&who->done, true);
    return NULL;
}

void person_start(person *who)
{
    if (who->hold_us == 0)
        who->hold_us = 60 * SEC;
    assert_int_equal(pthread_create(&who->thread, NULL, person_run, who), 0);
}

void person_join(person *who)
{
    pthread_join(who->thread, NULL);
}

hf_status elsewhere(hf_leases *leases, const char *key, int64_t wait_us, hf_error *err)
{
    person who = {.leases = leases, .key = key, .wait_us = wait_us};
    person_start(&who);
    person_join(&who);
    *err = who.err;
    return who.status;
}
