/* SPDX-License-Identifier: MIT */
/* The race of processes once more, but every client has a connection of its own with a store on it,
 * and does each thing in a transaction at an isolation level: some take their snapshot long before
 * they ask, some commit late, and what is answered HF_RETRY is rolled back. Beats and take-overs,
 * stops and kills included; the history must be as good. */
#include "database/app.h"
#include "races/processes.h"

#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <unistd.h>

/* ---- a client ---- */

typedef struct own {
    app *app;
    app_level level;
    race_turns turns;
} own;

static void pause_a_little(unsigned *seed, unsigned chance, unsigned us)
{
    if ((unsigned)rand_r(seed) % chance == 0)
        usleep((useconds_t)((unsigned)rand_r(seed) % us));
}

static void transactions_enter(void *context, unsigned *seed)
{
    own *o = context;
    app_begin(o->app, o->level);
    if (rand_r(seed) % 2) {
        app_do(o->app, "SELECT count(*) FROM {type}"); /* the snapshot is taken */
        pause_a_little(seed, 2, 4000);
    }
}

static hf_status transactions_leave(void *context, unsigned *seed, hf_status status)
{
    own *o = context;
    pause_a_little(seed, 8, 2000);
    if (status == HF_RETRY) {
        app_rollback(o->app);
        return HF_RETRY;
    }
    return app_commit(o->app) ? status : HF_RETRY;
}

static hf_status transactions_open_client(race_worker *worker, const char *url, const char *how,
                                          hf_error *err)
{
    own *o = calloc(1, sizeof *o);
    hf_store *store = NULL;
    if (!o)
        return HF_NO_MEMORY;
    o->app = app_connect(url);
    o->level = (app_level)strtoul(how, NULL, 10);
    o->turns = (race_turns){transactions_enter, transactions_leave, o};
    hf_status status = app_wrap(o->app, app_names(o->app), 0, &store, err);
    if (status == HF_OK)
        status = hf_manager_on(store, &worker->manager, err);
    worker->turns = &o->turns;
    return status;
}

static void close_client(race_worker *worker)
{
    own *o = worker->turns->context;
    app_close(o->app);
    free(o);
}

/* ---- the races ---- */

typedef struct course {
    const test_store *at;
    app_level level;
    char name[120];
} course;

static void transactions_race_for_locks_and_every_promise_holds(void **state)
{
    const course *it = *state;
    char url[HF_URL_MAX], how[16];
    /* Whoever sits in a transaction makes others busy, and at SERIALIZABLE most of them run again.
     * */
    race_order order = {.url = url, .how = how, .clients = 16, .seconds = race_seconds(5, 30)};
    order.bounds = (race_bounds){.calls = 1000, .deaths = 50, .take_overs = 1, .busy_percent = 100};
    order.bounds.grants = it->level == SERIALIZABLE ? 10 : 40;
    /* There a look at a session that is not there locks the gap for it. In an empty table that is
     * one gap for all, and with many clients on a busy machine somebody always has it. */
    if (it->level == SERIALIZABLE)
        order.clients = 5;
    snprintf(how, sizeof how, "%d", (int)it->level);
    test_store_url(it->at, url);
    race_run(&order);
    test_store_discard(it->at, url);
}

int main(int argc, char **argv)
{
    int client = race_client_main(argc, argv, transactions_open_client, close_client);
    if (client >= 0)
        return client;
    static course courses[32];
    static struct CMUnitTest tests[32];
    size_t count = 0, chosen = 0;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count && chosen + APP_LEVELS <= 32; i++) {
        if (strncmp(all[i].url, "postgres", 8) != 0 && strncmp(all[i].url, "mysql:", 6) != 0)
            continue;
        for (app_level level = 0; level < APP_LEVELS; level++) {
            course *it = &courses[chosen];
            *it = (course){.at = &all[i], .level = level};
            snprintf(it->name, sizeof it->name,
                     "%s: transactions_race_for_locks_and_every_promise_holds, %s", all[i].name,
                     app_level_name(level));
            if (argc < 2 || strstr(it->name, argv[1]))
                tests[chosen++] = (struct CMUnitTest){
                    it->name, transactions_race_for_locks_and_every_promise_holds, NULL, NULL, it};
        }
    }
    if (chosen == 0) {
        fprintf(stderr, "HF_TEST_STORES names no database server.\n");
        return 1;
    }
    return _cmocka_run_group_tests("races of transactions", tests, chosen, NULL, NULL);
}
