/* SPDX-License-Identifier: MIT */
/* Sixteen clients append to a few lists that are plain rows of the application's, saved by version
 * and with nobody holding a lock: some by the SQL functions and some by the C library, version and
 * row in one transaction; some through a server, where the version is saved first and the row
 * written after it, if the fence beside it is the one that was read (docs/patterns.md). Each reads,
 * thinks a little, and writes the whole list. In the end every append that was acknowledged stands
 * in its list once, and none that was refused does. */
#include "database/app.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/server_process.h>
#include <support/test_store.h>
#include <support/timing.h>
#include <unistd.h>

#define APPEND_PATIENCE_US INT64_C(40000000)
enum { APPEND_CLIENTS = 16, APPEND_LISTS = 4, APPEND_ROUNDS = 24, APPEND_TEXT = 2048 };

typedef enum append_way { BY_SQL, BY_C, BY_HTTP, APPEND_WAYS } append_way;

/* A list as someone read it. */
typedef struct append_read {
    char id[8];
    char items[APPEND_TEXT];
    int64_t version; /* 0: never saved */
    int64_t fence;   /* beside the row */
} append_read;

typedef struct append_client {
    pthread_t thread;
    int number;
    append_way way;
    app_level level;
    app *app;
    hf_manager *manager; /* on that connection, or through the server */
    bool acknowledged[APPEND_ROUNDS];
} append_client;

/* ---- reading ---- */

static void append_read_row(append_client *c, append_read *out)
{
    char *row = app_text(c->app, "SELECT fence, items FROM {app} WHERE id = %s", out->id);
    char *items = strchr(row, '=');
    expect_true(items != NULL && strlen(items) < sizeof out->items);
    out->fence = strtoll(row, NULL, 10);
    snprintf(out->items, sizeof out->items, "%.*s", (int)strcspn(items + 1, "\n"), items + 1);
    free(row);
}

static int64_t append_read_version(append_client *c, const char *id)
{
    hf_error err = {0};
    hf_version version = {0};
    if (c->way == BY_SQL)
        return app_number(c->app,
                          "SELECT coalesce(max(version), 0) FROM {versions}"
                          " WHERE type = 'list' AND id = '%s'",
                          id);
    hf_resource resource = {.type = "list"};
    snprintf(resource.id, sizeof resource.id, "%s", id);
    hf_status status = HF_BUSY;
    for (int64_t until_us = timing_now_us() + APPEND_PATIENCE_US;
         status == HF_BUSY && timing_now_us() < until_us;)
        status = hf_manager_version(c->manager, &resource, &version, &err);
    if (status != HF_NOT_FOUND)
        expect_status(HF_OK, status, err.message);
    return version.number;
}

/* ---- saving ---- */

/* The fence of the save; 0: refused. */
static int64_t append_save_by_sql(append_client *c, const append_read *read)
{
    char version[24] = "NULL";
    bool postgres = app_engine_of(c->app) == ON_POSTGRES;
    if (read->version > 0)
        snprintf(version, sizeof version, "%lld", (long long)read->version);
    if (!app_try(c->app, "%s {save}('list', '%s', %s, 'client %d'%s)", postgres ? "SELECT" : "CALL",
                 read->id, version, c->number, postgres ? "" : ", NULL, NULL, @fence"))
        return 0;
    int64_t fence = 0;
    if (postgres)
        app_try_number(c->app, &fence,
                       "SELECT saved_fence FROM {resource} WHERE type = 'list' AND id = '%s'",
                       read->id);
    else
        app_try_number(c->app, &fence, "SELECT @fence");
    return fence;
}

static int64_t append_save_by_manager(append_client *c, const append_read *read)
{
    hf_error err = {0};
    hf_version version = {0};
    hf_save save = {
        .resource = {.type = "list"}, .version = read->version, .absent = read->version == 0};
    hf_save_options options = {.user = "client"};
    snprintf(save.resource.id, sizeof save.resource.id, "%s", read->id);
    hf_status status = hf_manager_save(c->manager, &save, &options, &version, &err);
    if (status != HF_STALE && status != HF_BUSY && status != HF_RETRY)
        expect_status(HF_OK, status, err.message);
    return status == HF_OK ? version.fence : 0;
}

static bool append_write_row(append_client *c, const append_read *read, int64_t fence, int round)
{
    int64_t written = 0;
    return app_try(c->app,
                   "UPDATE {app} SET items = '%s%d.%d,', fence = %lld"
                   " WHERE id = %s AND fence = %lld",
                   read->items, c->number, round, (long long)fence, read->id,
                   (long long)read->fence) &&
           app_try_number(c->app, &written,
                          "SELECT count(*) FROM {app} WHERE id = %s AND fence = %lld", read->id,
                          (long long)fence) &&
           written == 1;
}

static bool append_one(append_client *c, int round, unsigned *seed)
{
    append_read read = {0};
    snprintf(read.id, sizeof read.id, "%d", rand_r(seed) % APPEND_LISTS);
    read.version = append_read_version(c, read.id);
    usleep((useconds_t)(rand_r(seed) % 2000));
    append_read_row(c, &read);
    usleep((useconds_t)(rand_r(seed) % 10000));
    int64_t fence = c->way == BY_HTTP ? append_save_by_manager(c, &read) : -1;
    if (fence == 0)
        return false;
    if (rand_r(seed) % 4 == 0)
        usleep(5000);
    app_begin(c->app, c->level);
    if (c->way != BY_HTTP)
        fence = c->way == BY_SQL ? append_save_by_sql(c, &read) : append_save_by_manager(c, &read);
    if (fence > 0 && append_write_row(c, &read, fence, round))
        return app_commit(c->app);
    app_rollback(c->app);
    return false;
}

static void *append_run(void *context)
{
    append_client *c = context;
    unsigned seed = (unsigned)c->number + 1;
    for (int round = 0; round < APPEND_ROUNDS; round++)
        c->acknowledged[round] = append_one(c, round, &seed);
    return NULL;
}

/* ---- the race ---- */

static void append_open(append_client *c, int number, const char *url, const char *served_at)
{
    hf_error err = {0};
    *c = (append_client){.number = number,
                         .way = (append_way)(number % APPEND_WAYS),
                         .level = (app_level)(number / APPEND_WAYS % APP_LEVELS)};
    c->app = app_connect(url);
    if (c->way == BY_HTTP)
        expect(HF_OK, hf_manager_open(served_at, &c->manager, &err), err);
    if (c->way == BY_C) {
        hf_store *store = NULL;
        expect(HF_OK, app_wrap(c->app, app_names(c->app), 0, &store, &err), err);
        expect(HF_OK, hf_manager_on(store, &c->manager, &err), err);
    }
}

/* How often it stands in any of the lists. */
static int append_count(char *const lists[], const append_client *c, int round)
{
    char item[32];
    int count = 0;
    snprintf(item, sizeof item, ",%d.%d,", c->number, round);
    for (int i = 0; i < APPEND_LISTS; i++)
        for (const char *at = strstr(lists[i], item); at; at = strstr(at + 1, item))
            count++;
    return count;
}

static void append_judge(const append_client *clients, char *const lists[])
{
    int acknowledged[APPEND_WAYS] = {0}, lost = 0, ghosts = 0;
    for (int i = 0; i < APPEND_CLIENTS; i++)
        for (int round = 0; round < APPEND_ROUNDS; round++) {
            int count = append_count(lists, &clients[i], round);
            acknowledged[clients[i].way] += clients[i].acknowledged[round];
            lost += clients[i].acknowledged[round] && count != 1;
            ghosts += !clients[i].acknowledged[round] && count != 0;
        }
    fprintf(stderr, "# appended: %d by SQL, %d in C, %d over HTTP; of %d tried\n",
            acknowledged[BY_SQL], acknowledged[BY_C], acknowledged[BY_HTTP],
            APPEND_CLIENTS * APPEND_ROUNDS);
    assert_int_equal(lost, 0);
    assert_int_equal(ghosts, 0);
    for (int way = 0; way < APPEND_WAYS; way++)
        assert_true(acknowledged[way] > 0);
}

static void every_append_that_was_acknowledged_is_there_and_no_other(void **state)
{
    static append_client clients[APPEND_CLIENTS];
    char url[HF_URL_MAX], served_at[HF_URL_MAX], *lists[APPEND_LISTS];
    hf_store *store = NULL;
    hf_error err = {0};
    test_store_url(*state, url);
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    app *owner = app_connect(url);
    app_do(owner, "CREATE TABLE {app} (id int PRIMARY KEY, fence bigint NOT NULL, items text)");
    for (int i = 0; i < APPEND_LISTS; i++)
        app_do(owner, "INSERT INTO {app} VALUES (%d, 0, ',')", i);
    server_process *server = server_process_start(url, NULL);
    server_process_url(server, served_at);

    for (int i = 0; i < APPEND_CLIENTS; i++)
        append_open(&clients[i], i, url, served_at);
    for (int i = 0; i < APPEND_CLIENTS; i++)
        assert_int_equal(0, pthread_create(&clients[i].thread, NULL, append_run, &clients[i]));
    for (int i = 0; i < APPEND_CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    for (int i = 0; i < APPEND_LISTS; i++)
        lists[i] = app_text(owner, "SELECT items FROM {app} WHERE id = %d", i);
    append_judge(clients, lists);

    for (int i = 0; i < APPEND_LISTS; i++)
        free(lists[i]);
    for (int i = 0; i < APPEND_CLIENTS; i++) {
        hf_manager_close(clients[i].manager);
        app_close(clients[i].app);
    }
    server_process_end(server);
    app_do(owner, "DROP TABLE {app}");
    app_close(owner);
    hf_store_close(store);
    test_store_discard(*state, url);
}

int main(void)
{
    size_t count = 0;
    const test_store *all = test_stores(&count);
    expect_true(count == 1);
    const struct CMUnitTest tests[] = {
        {"every_append_that_was_acknowledged_is_there_and_no_other",
         every_append_that_was_acknowledged_is_there_and_no_other, NULL, NULL, (void *)&all[0]},
    };
    return cmocka_run_group_tests_name("races of appends", tests, NULL, NULL);
}
