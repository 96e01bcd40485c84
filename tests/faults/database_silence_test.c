/* SPDX-License-Identifier: MIT */
/* A network that passes nothing on and closes nothing: every call comes back within its time, with
 * an answer that is right or unsure, and when the silence is over the store goes on. All cases on
 * all servers are silent at the same time, since each is mostly waiting. */
#include "database/shop.h"
#include "faults/database_target.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/proxy.h>

#define FAIL(...)   check_failed(__FILE__, __LINE__, __VA_ARGS__)
#define CALL_MAX_US (15 * SECOND)

static const char *const server_names[] = {"postgres", "mariadb", "mysql"};
enum { SERVERS = sizeof server_names / sizeof *server_names, CASES_MAX = 16 };

typedef struct silence silence;

/* What is asked while nothing passes. */
typedef void asking(silence *it);

typedef struct silence_case {
    const char *name;
    asking *ask;
    proxy_way way;
    unsigned idle; /* connections that are idle when it begins, at least one */
    /* it begins so long after the call: a slow trigger makes that the middle of the commit */
    unsigned late_ms;
} silence_case;

struct silence {
    const silence_case *of;
    const target *server;
    char url[HF_URL_MAX], url_direct[HF_URL_MAX];
    proxy *proxy;
    hf_store *store;
    hf_manager *manager;
    hf_session *session;
    hf_credentials me;
    char id[16];
    pthread_t thread;
    bool started;
    /* what it came to */
    hf_status status;
    int64_t took_us;
    char message[HF_MESSAGE_SIZE];
};

static target *servers[SERVERS];
static silence all[SERVERS][CASES_MAX];

static int server_silence_start(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++)
        servers[i] = target_shared(server_names[i]);
    return 0;
}

static int server_silence_stop(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++)
        target_stop(servers[i]);
    return 0;
}

/* ---- what is asked ---- */

static void server_silence_take(silence *it, const said *answer)
{
    it->status = answer->status;
    snprintf(it->message, sizeof it->message, "%s", answer->message);
}

static void server_silence_ask_acquire(silence *it)
{
    said answer = ASK(it->store, ACQUIRE, BY(it->me), ON("silence", it->id), .request_id = it->id);
    server_silence_take(it, &answer);
}

static void server_silence_ask_who(silence *it)
{
    said answer = ASK(it->store, WHO, ON("silence", it->id));
    server_silence_take(it, &answer);
}

static void server_silence_ask_events(silence *it)
{
    said answer = ASK(it->store, EVENTS, .limit = 10);
    server_silence_take(it, &answer);
}

static void ask_open(silence *it)
{
    hf_error err = {0};
    hf_store *store = NULL;
    it->status = hf_store_open(it->url, &store, &err);
    snprintf(it->message, sizeof it->message, "%s", err.message);
    hf_store_close(store);
}

static void ask_handle(silence *it)
{
    hf_error err = {0};
    hf_resource resource = {.type = "silence"};
    snprintf(resource.id, sizeof resource.id, "%s", it->id);
    it->status = hf_session_acquire(it->session, &resource, NULL, NULL, &err);
    snprintf(it->message, sizeof it->message, "%s", err.message);
}

static const silence_case cases[] = {
    {"acquire, nothing passes", server_silence_ask_acquire, PROXY_BOTH, 1, 0},
    {"acquire, nothing comes back", server_silence_ask_acquire, PROXY_DOWN, 1, 0},
    {"acquire, with four idle connections", server_silence_ask_acquire, PROXY_BOTH, 4, 0},
    {"acquire, nothing comes back from the commit", server_silence_ask_acquire, PROXY_DOWN, 1, 250},
    {"who", server_silence_ask_who, PROXY_BOTH, 1, 0},
    {"events", server_silence_ask_events, PROXY_BOTH, 1, 0},
    {"opening the store", ask_open, PROXY_BOTH, 1, 0},
    {"acquire by a handle, nothing passes", ask_handle, PROXY_BOTH, 1, 0},
    {"acquire by a handle, nothing comes back from the commit", ask_handle, PROXY_DOWN, 1, 250},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- before ---- */

/* A commit takes long enough to be met. */
static void server_silence_slow_down(const silence *it)
{
    app *admin = target_admin(it->server, it->url_direct);
    if (it->server->postgres) {
        app_do(admin, "CREATE FUNCTION {app}() RETURNS trigger LANGUAGE plpgsql AS "
                      "'BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END'");
        app_do(admin, "CREATE TRIGGER slow AFTER INSERT ON {event} FOR EACH STATEMENT EXECUTE "
                      "FUNCTION {app}()");
    } else {
        app_do(admin,
               "CREATE TRIGGER {app} BEFORE INSERT ON {event} FOR EACH ROW SET @slow = SLEEP(1.5)");
    }
    app_close(admin);
}

static void *who_main(void *context)
{
    silence *it = context;
    (void)ASK(it->store, BEAT, BY(it->me));
    return NULL;
}

/* So many connections are opened and left idle. */
static void server_silence_warm_up(silence *it)
{
    pthread_t threads[4];
    app *admin = target_admin(it->server, it->url_direct);
    app_begin(admin, READ_COMMITTED);
    /* beats of one session hold each other up, so that each has its connection */
    if (it->of->idle > 1)
        app_do(admin, "SELECT id FROM {session} WHERE id = '%s' FOR UPDATE", it->me.id);
    for (unsigned i = 0; i < it->of->idle; i++)
        expect_int(pthread_create(&threads[i], NULL, who_main, it), 0);
    rest_ms(it->of->idle > 1 ? 100 : 0);
    app_rollback(admin);
    for (unsigned i = 0; i < it->of->idle; i++)
        pthread_join(threads[i], NULL);
    app_close(admin);
    (void)ASK(it->store, WHO, ON("silence", it->id));
}

static void server_silence_prepare(silence *it)
{
    hf_error err = {0};
    target_install(it->server, true, it->url_direct);
    it->proxy = proxy_start("127.0.0.1", target_port(it->server));
    target_url(
        it->server,
        &(target_way){.port = proxy_port(it->proxy), .parameters = strchr(it->url_direct, '?') + 1},
        it->url);
    expect(HF_OK, hf_manager_open(it->url, &it->manager, &err), err);
    it->store = hf_manager_store(it->manager);
    expect(HF_OK,
           hf_session_open(it->manager, &(hf_session_options){.user = "alice", .idle_us = HOUR},
                           &it->session, &err),
           err);
    it->me = *hf_session_credentials(it->session);
    snprintf(it->id, sizeof it->id, "resource-1");
    server_silence_warm_up(it);
    expect_true(proxy_open(it->proxy) >= it->of->idle);
    if (it->of->late_ms > 0)
        server_silence_slow_down(it);
}

/* ---- the silence ---- */

static void *silence_main(void *context)
{
    silence *it = context;
    int64_t began_us = now_us();
    it->of->ask(it);
    it->took_us = now_us() - began_us;
    return NULL;
}

static void server_silence_begin(silence *it)
{
    if (it->of->late_ms == 0)
        proxy_hold(it->proxy, it->of->way);
    it->started = pthread_create(&it->thread, NULL, silence_main, it) == 0;
    expect_true(it->started);
    if (it->of->late_ms > 0) {
        rest_ms(it->of->late_ms);
        proxy_hold(it->proxy, it->of->way);
    }
}

/* ---- after ---- */

/* What the tables say: is it held, and how often was it granted? */
static void server_silence_judge(silence *it, unsigned *problems)
{
    hf_store *direct = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(it->url_direct, &direct, &err), err);
    bool held = must(HF_OK, direct, WHO, ON("silence", it->id)).locks_count > 0;
    hf_store_close(direct);
    bool acquires = it->of->ask == server_silence_ask_acquire || it->of->ask == ask_handle;
    bool right = it->status == HF_UNAVAILABLE ? !held : it->status == HF_UNSURE && acquires;
    bool in_time = it->took_us < CALL_MAX_US,
         named = strstr(it->message, "the database test") != NULL;
    printf("# %s: %s: %s after %.1f s%s%s%s%s\n", it->server->name, it->of->name,
           hf_status_wire(it->status), (double)it->took_us / 1e6, held ? ", held" : "",
           right ? "" : " - WRONG", in_time ? "" : " - TOO LATE", named ? "" : " - WITHOUT A NAME");
    if (!named)
        printf("#   %s\n", it->message);
    *problems += !right || !in_time || !named;
}

/* The silence is over: the same handle finds its way, and asking again settles it. */
static void server_silence_go_on(silence *it)
{
    proxy_go_on(it->proxy);
    said again = {.status = HF_BUSY};
    for (int64_t until_us = now_us() + 12 * SECOND; again.status == HF_BUSY && now_us() < until_us;)
        again = ASK(it->store, ACQUIRE, BY(it->me), ON("silence", it->id), .request_id = it->id);
    expect_status(HF_OK, again.status, again.message);
    app *admin = target_admin(it->server, it->url_direct);
    expect_int(app_number(admin, "SELECT count(*) FROM {lock} WHERE id = '%s'", it->id), 1);
    expect_int(app_number(admin, "SELECT count(*) FROM {event} WHERE resource_id = '%s'", it->id),
               1);
    app_close(admin);
}

static void server_silence_finish(silence *it)
{
    int64_t began_us = now_us();
    hf_session_free(it->session);
    hf_manager_close(it->manager);
    expect_true(now_us() - began_us < 5 * SECOND);
    proxy_stop(it->proxy);
    (void)!hf_store_uninstall(it->url_direct, true, NULL);
}

static void every_call_comes_back_in_time_and_the_stores_go_on(void **state)
{
    (void)state;
    unsigned problems = 0;
    for (int i = 0; i < SERVERS * CASES; i++) {
        silence *it = &all[i / CASES][i % CASES];
        it->of = &cases[i % CASES];
        it->server = servers[i / CASES];
        server_silence_prepare(it);
    }
    for (int i = 0; i < SERVERS * CASES; i++)
        server_silence_begin(&all[i / CASES][i % CASES]);
    for (int i = 0; i < SERVERS * CASES; i++)
        pthread_join(all[i / CASES][i % CASES].thread, NULL);
    for (int i = 0; i < SERVERS * CASES; i++)
        server_silence_judge(&all[i / CASES][i % CASES], &problems);
    for (int i = 0; i < SERVERS * CASES; i++)
        server_silence_go_on(&all[i / CASES][i % CASES]);
    for (int i = 0; i < SERVERS * CASES; i++)
        server_silence_finish(&all[i / CASES][i % CASES]);
    expect_int(problems, 0);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_comes_back_in_time_and_the_stores_go_on),
    };
    return cmocka_run_group_tests_name("silence", tests, server_silence_start, server_silence_stop);
}
