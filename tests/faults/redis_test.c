/* SPDX-License-Identifier: MIT */
/* What can happen to a store on Redis: scripts are flushed, the server loads its data, answers
 * never come, connections die, a program is too late (V2 of store/kv.h), the clock is set, and
 * two holdfast servers stand on one Redis. */
#include "database/shop.h"
#include "faults/redis_server.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/proxy.h>
#include <support/server_process.h>
#include <support/sse_clients.h>
#include <sys/stat.h>
#include <unistd.h>

static redis_server *server;

static int redis_faults_start(void **state)
{
    (void)state;
    server = redis_server_start(NULL);
    return 0;
}

static int redis_faults_stop(void **state)
{
    (void)state;
    redis_server_stop(server);
    return 0;
}

/* ---- scenes ---- */

/* A store behind a proxy, one beside it, and two people; each scene has a namespace of its own. */
typedef struct bench {
    proxy *proxy;
    hf_store *through, *direct;
    hf_credentials alice, bob;
    char names[32];
} bench;

static hf_store *redis_faults_store(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

static bench bench_open(void)
{
    static unsigned count;
    bench b = {.proxy = proxy_start(server->socket, 0)};
    char url[HF_URL_MAX];
    snprintf(b.names, sizeof b.names, "namespace=n%u", ++count);
    redis_server_url(server, "", proxy_port(b.proxy), b.names, url);
    b.through = redis_faults_store(url);
    redis_server_url(server, "", 0, b.names, url);
    b.direct = redis_faults_store(url);
    b.alice = newcomer(b.direct, "alice", HOUR);
    b.bob = newcomer(b.direct, "bob", HOUR);
    return b;
}

static void bench_close(bench *b)
{
    hf_store_close(b->through);
    hf_store_close(b->direct);
    proxy_stop(b->proxy);
}

/* ---- scripts, loading, lost connections ---- */

static void scripts_that_were_flushed_are_brought_again(void **state)
{
    (void)state;
    bench b = bench_open();
    must(HF_OK, b.direct, ACQUIRE, BY(b.alice), ON("policy", "1"));
    redis_server_ask(server, "script flush");
    must(HF_LOCKED, b.direct, ACQUIRE, BY(b.bob), ON("policy", "1"));
    must(HF_OK, b.direct, ACQUIRE, BY(b.bob), ON("policy", "2"));
    redis_server_ask(server, "script flush");
    must(HF_OK, b.through, RELEASE, BY(b.bob), ON("policy", "2"));
    bench_close(&b);
}

/* It takes over a second to read its file, and answers LOADING meanwhile. */
static void a_server_that_loads_its_data_is_waited_for(void **state)
{
    (void)state;
    redis_server *slow = REDIS_SERVER("--key-load-delay", "60");
    hf_store *store = redis_faults_store(slow->url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    said held = must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    redis_server_ask(slow, "eval 'for i = 1, 20000 do redis.call(\"set\", i, i) end' 0");
    redis_server_kill(slow);
    redis_server_launch(slow);
    said early = {.status = HF_UNAVAILABLE};
    bool told = false;
    for (int i = 0; i < 20000 && early.status == HF_UNAVAILABLE; i++) {
        early = ASK(store, WHO, ON("policy", "1"));
        told |= early.status == HF_UNAVAILABLE && strstr(early.message, "still loading") != NULL;
        rest_ms(2);
    }
    expect_status(HF_OK, early.status, early.message);
    expect_true(told);
    expect_int(early.lock.fence, held.lock.fence);
    redis_server_kill(slow);
    redis_server_launch(slow);
    while (access(slow->socket, F_OK) != 0)
        rest_ms(1);
    hf_store *again = NULL;
    hf_error err = {0};
    hf_status status = HF_UNAVAILABLE;
    for (int i = 0; i < 20000 && status == HF_UNAVAILABLE; i++) {
        status = hf_store_open(slow->url, &again, &err);
        if (status == HF_UNAVAILABLE) /* until it listens */
            expect_contains(err.message, "No connection");
        rest_ms(1);
    }
    expect(HF_OK, status, err);
    expect_int(must(HF_OK, again, WHO, ON("policy", "1")).lock.fence, held.lock.fence);
    hf_store_close(again);
    hf_store_close(store);
    redis_server_stop(slow);
}

/* Asks while the connection is cut at the script, and again. */
static void redis_faults_cut(bench *b, const hf_op *op, proxy_when when)
{
    proxy_cut_at(b->proxy, PROXY_UP, "EVALSHA", when);
    said first = ask_op(b->through, op);
    proxy_cut_never(b->proxy);
    expect_status(HF_UNSURE, first.status, first.message);
    expect_contains(first.message, "same request id");
    said second = ask_op(b->through, op);
    expect_status(HF_OK, second.status, second.message);
    said third = ask_op(b->direct, op);
    expect_status(HF_OK, third.status, third.message);
}

static void an_answer_that_never_comes_is_unsure_and_can_be_settled(void **state)
{
    (void)state;
    bench b = bench_open();
    char events[64];
    for (int when = PROXY_BEFORE; when <= PROXY_AFTER; when++) {
        char open[16], take[16], save[16], leave[16];
        hf_credentials carol = drawn();
        snprintf(open, sizeof open, "open-%d", when);
        snprintf(take, sizeof take, "take-%d", when);
        snprintf(save, sizeof save, "save-%d", when);
        snprintf(leave, sizeof leave, "leave-%d", when);
        redis_faults_cut(&b,
                         &(hf_op){.kind = HF_OP_SESSION_OPEN,
                                  BY(carol),
                                  .user = "carol",
                                  .idle_us = HOUR,
                                  .request_id = open},
                         when);
        redis_faults_cut(
            &b, &(hf_op){.kind = HF_OP_ACQUIRE, BY(carol), ON("policy", "1"), .request_id = take},
            when);
        redis_faults_cut(
            &b, &(hf_op){.kind = HF_OP_SAVE, BY(carol), ON("policy", "1"), .request_id = save},
            when);
        redis_faults_cut(
            &b, &(hf_op){.kind = HF_OP_RELEASE, BY(carol), ON("policy", "1"), .request_id = leave},
            when);
    }
    /* each was done once: two people, then four events of two carols */
    snprintf(events, sizeof events, "xlen %s:events", b.names + strlen("namespace="));
    expect_text(redis_server_ask(server, "%s", events), "10");
    bench_close(&b);
}

static void a_connection_that_died_idle_is_replaced(void **state)
{
    (void)state;
    bench b = bench_open();
    must(HF_OK, b.through, ACQUIRE, BY(b.alice), ON("policy", "1"));
    proxy_cut(b.proxy);
    must(HF_OK, b.through, ACQUIRE, BY(b.alice), ON("policy", "2"));
    proxy_cut(b.proxy);
    must(HF_OK, b.through, BEAT, BY(b.alice));
    redis_server_kill(server);
    said away = ASK(b.through, BEAT, BY(b.alice));
    expect_status(HF_UNAVAILABLE, away.status, away.message);
    redis_server_up(server);
    must(HF_OK, b.through, BEAT, BY(b.alice));
    must(HF_OK, b.direct, RELEASE, BY(b.alice), ON("policy", "1"));
    bench_close(&b);
}

/* ---- too late ---- */

typedef struct latecomer {
    pthread_t thread;
    hf_store *store;
    hf_op op;
    said answer;
} latecomer;

static void *latecomer_main(void *context)
{
    latecomer *it = context;
    it->answer = ask_op(it->store, &it->op);
    return NULL;
}

/* The server takes no writes for a while: a script that was decided before a session's bound
 * arrives after it. */
static void redis_faults_late(int64_t idle_us)
{
    enum { BEATS, TAKES, LEAVES, SAVES, COUNT };
    bench b = bench_open();
    char url[HF_URL_MAX];
    hf_credentials who[COUNT];
    latecomer late[COUNT] = {
        [BEATS].op = {.kind = HF_OP_BEAT},
        [TAKES].op = {.kind = HF_OP_ACQUIRE, ON("policy", "new")},
        [LEAVES].op = {.kind = HF_OP_RELEASE, ON("policy", "held")},
        [SAVES].op = {.kind = HF_OP_SAVE, ON("policy", "saved")},
    };
    redis_server_url(server, "", 0, b.names, url);
    for (int i = 0; i < COUNT; i++)
        late[i].store = redis_faults_store(url); /* a new connection could not write either */
    who[LEAVES] = brief_holder(b.direct, "late", &idle_us, "held");
    who[SAVES] = brief_holder(b.direct, "late", &idle_us, "saved");
    who[BEATS] = newcomer(b.direct, "late", idle_us);
    who[TAKES] = newcomer(b.direct, "late", idle_us);
    redis_server_ask(server, "client pause 100000 write");
    for (int i = 0; i < COUNT; i++) {
        late[i].op.session = &who[i];
        expect_int(pthread_create(&late[i].thread, NULL, latecomer_main, &late[i]), 0);
    }
    rest_ms(idle_us / 1000 + 50);
    redis_server_ask(server, "client unpause");
    for (int i = 0; i < COUNT; i++) {
        pthread_join(late[i].thread, NULL);
        const said *answer = &late[i].answer;
        if (answer->status != HF_EXPIRED && answer->status != HF_BUSY)
            check_failed(__FILE__, __LINE__, "%s, too late, came to %s: %s",
                         hf_op_kind_name(late[i].op.kind), hf_status_wire(answer->status),
                         answer->message);
        said dead = ASK(b.direct, BEAT, BY(who[i]));
        expect_status(HF_EXPIRED, dead.status, dead.message);
        hf_store_close(late[i].store);
    }
    expect_int(holders(b.direct, "new") + holders(b.direct, "held"), 0);
    must(HF_NOT_FOUND, b.direct, VERSION, ON("policy", "saved"));
    must(HF_OK, b.direct, ACQUIRE, BY(b.bob), ON("policy", "held"));
    bench_close(&b);
}

static void what_comes_after_the_bound_is_never_written(void **state)
{
    (void)state;
    redis_faults_late(300 * MILLISECOND); /* decided anew */
    redis_faults_late(1500 * MILLISECOND);
}

/* Until so many scripts wait for the end of a pause. */
static void redis_faults_wait_for_blocked(int count)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "blocked_clients:%d", count);
    for (int i = 0; i < 20000 && !strstr(redis_server_ask(server, "info clients"), wanted); i++)
        rest_ms(2);
}

/* V3: two saves were decided on the same row. The script that is refused answers it as it is now:
 * the second is told that it is stale with no further round trip. */
static void a_conflict_brings_the_rows_as_they_are(void **state)
{
    (void)state;
    bench b = bench_open();
    latecomer saves[2] = {{.store = b.direct}, {.store = b.through}};
    size_t before = proxy_trips(b.proxy);
    redis_server_ask(server, "client pause 100000 write");
    for (int i = 0; i < 2; i++) {
        saves[i].op =
            (hf_op){.kind = HF_OP_SAVE, ON("policy", "1"), .user = "alice", .absent = true};
        expect_int(pthread_create(&saves[i].thread, NULL, latecomer_main, &saves[i]), 0);
        redis_faults_wait_for_blocked(i + 1);
    }
    redis_server_ask(server, "client unpause");
    for (int i = 0; i < 2; i++) {
        pthread_join(saves[i].thread, NULL);
        expect_status(i == 0 ? HF_OK : HF_STALE, saves[i].answer.status, saves[i].answer.message);
    }
    expect_int(proxy_trips(b.proxy) - before, 2); /* loading, the script */
    bench_close(&b);
}

/* A fence is decided on rows that were read before someone else took the same resource and gave it
 * back: no row tells of that, only the floor. */
static void a_fence_grows_over_a_grant_that_came_and_went(void **state)
{
    (void)state;
    bench b = bench_open();
    latecomer late = {.store = b.through,
                      .op = {.kind = HF_OP_ACQUIRE, BY(b.alice), ON("policy", "1")}};
    size_t before = proxy_passed(b.proxy, PROXY_UP);
    proxy_hold(b.proxy, PROXY_DOWN); /* it is answered, and hears of that later */
    expect_int(pthread_create(&late.thread, NULL, latecomer_main, &late), 0);
    for (int i = 0; i < 20000 && proxy_passed(b.proxy, PROXY_UP) == before; i++)
        rest_ms(2);
    rest_ms(50);
    int64_t fence = must(HF_OK, b.direct, ACQUIRE, BY(b.bob), ON("policy", "1")).lock.fence;
    must(HF_OK, b.direct, RELEASE, BY(b.bob), ON("policy", "1"));
    proxy_go_on(b.proxy);
    pthread_join(late.thread, NULL);
    expect_status(HF_OK, late.answer.status, late.answer.message);
    said now = must(HF_OK, b.direct, HOLDS, BY(b.alice), ON("policy", "1"));
    if (now.lock.fence <= fence)
        check_failed(__FILE__, __LINE__, "fence %lld after %lld", (long long)now.lock.fence,
                     (long long)fence);
    bench_close(&b);
}

/* Who holds a resource is read in two rounds: the resource, then the sessions of its holders. */
static void who_holds_it_is_told_as_of_one_moment(void **state)
{
    (void)state;
    bench b = bench_open();
    latecomer look = {.store = b.through, .op = {.kind = HF_OP_WHO, ON("policy", "1")}};
    must(HF_OK, b.direct, ACQUIRE, BY(b.alice), ON("policy", "1"));
    size_t before = proxy_passed(b.proxy, PROXY_UP);
    proxy_hold(b.proxy, PROXY_DOWN);
    expect_int(pthread_create(&look.thread, NULL, latecomer_main, &look), 0);
    for (int i = 0; i < 2000 && proxy_passed(b.proxy, PROXY_UP) == before; i++)
        rest_ms(2);
    rest_ms(50);
    must(HF_OK, b.direct, HAND_OVER, BY(b.alice), ON("policy", "1"), .target = b.bob.id);
    must(HF_OK, b.direct, CLOSE, BY(b.alice));
    proxy_go_on(b.proxy);
    pthread_join(look.thread, NULL);
    expect_status(HF_OK, look.answer.status, look.answer.message);
    expect_text(look.answer.lock.user, "bob"); /* it was never free */
    bench_close(&b);
}

/* An acquire that was decided beside the close of its session, and written before it, leaves a
 * lock. It has been dead since, and goes with the session. */
static void a_lock_that_was_left_beside_a_close_is_swept(void **state)
{
    (void)state;
    bench b = bench_open();
    latecomer both[2] = {
        {.store = b.direct, .op = {.kind = HF_OP_ACQUIRE, BY(b.alice), ON("policy", "1")}},
        {.store = b.through, .op = {.kind = HF_OP_CLOSE, BY(b.alice)}}};
    redis_server_ask(server, "client pause 100000 write");
    for (int i = 0; i < 2; i++) {
        expect_int(pthread_create(&both[i].thread, NULL, latecomer_main, &both[i]), 0);
        redis_faults_wait_for_blocked(i + 1);
    }
    redis_server_ask(server, "client unpause");
    for (int i = 0; i < 2; i++) {
        pthread_join(both[i].thread, NULL);
        expect_status(HF_OK, both[i].answer.status, both[i].answer.message);
    }
    const char *names = strchr(b.names, '=') + 1;
    expect_text(redis_server_ask(server, "zcard %s:locks", names), "1");
    must(HF_NOT_HELD, b.direct, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    hf_store_clock_offset(b.direct, 2 * DAY);
    must(HF_OK, b.direct, SWEEP, .limit = 100);
    expect_text(redis_server_ask(server, "zcard %s:locks", names), "0");
    expect_text(redis_server_ask(server, "exists %s:r:policy/1", names), "0");
    bench_close(&b);
}

/* The keys of what a session has on policy/1 are put aside, or put back. */
static void redis_faults_copy(const bench *b, const char *session, bool back)
{
    const char *names = strchr(b->names, '=') + 1;
    const struct {
        const char *kind, *rest;
    } keys[] = {
        {"r:", "policy/1"}, {"h:", session}, {"a:", session}, {"q:", session}, {"locks", ""}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[128];
        snprintf(key, sizeof key, "%s:%s%s", names, keys[i].kind, keys[i].rest);
        redis_server_ask(server, "copy %s%s %s%s replace", back ? "aside:" : "", key,
                         back ? "" : "aside:", key);
    }
}

/* As above, but it left a request too. */
static void a_lock_and_a_request_that_were_left_go_with_their_row(void **state)
{
    (void)state;
    bench b = bench_open();
    must(HF_OK, b.direct, ACQUIRE, BY(b.bob), ON("policy", "1"), .mode = HF_SHARED);
    must(HF_OK, b.direct, ACQUIRE, BY(b.alice), ON("policy", "1"), .mode = HF_SHARED);
    must(HF_OK, b.direct, REQUEST, BY(b.alice), ON("policy", "1"));
    redis_faults_copy(&b, b.alice.id, false);
    redis_faults_copy(&b, b.bob.id, false);
    must(HF_OK, b.direct, CLOSE, BY(b.bob));
    must(HF_OK, b.direct, CLOSE, BY(b.alice));
    redis_faults_copy(&b, b.bob.id, true);
    redis_faults_copy(&b, b.alice.id, true);
    hf_store_clock_offset(b.direct, 2 * DAY);
    must(HF_OK, b.direct, SWEEP, .limit = 100);
    must(HF_OK, b.direct, SWEEP, .limit = 100);
    const char *names = strchr(b.names, '=') + 1;
    expect_text(redis_server_ask(server, "zcard %s:locks", names), "0");
    expect_text(redis_server_ask(server, "keys '%s:[ahlqrs]:*'", names), "");
    bench_close(&b);
}

/* ---- the clock ---- */

static void redis_faults_set_clock(const char *path, int64_t by_us)
{
    char fresh[HF_URL_MAX + 8];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "we");
    assert_non_null(file);
    fprintf(file, "%lld", (long long)by_us);
    fclose(file);
    expect_int(rename(fresh, path), 0);
}

static void fences_grow_and_sessions_end_however_the_clock_is_set(void **state)
{
    (void)state;
    char path[HF_URL_MAX];
    scratch_path(".clock", path);
    setenv("LD_PRELOAD", getenv("HF_TEST_PRELOAD"), 1);
    setenv("HF_TEST_CLOCK", path, 1);
    redis_server *moved = redis_server_start(NULL);
    unsetenv("LD_PRELOAD");
    hf_store *store = redis_faults_store(moved->url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    int64_t fence = must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1")).lock.fence;
    static const int64_t steps_us[] = {2 * HOUR, -3 * HOUR, 0, -300 * DAY, 300 * DAY, HOUR};
    for (size_t i = 0; i < sizeof steps_us / sizeof *steps_us; i++) {
        char user[16];
        redis_faults_set_clock(path, steps_us[i]);
        snprintf(user, sizeof user, "user%zu", i);
        bool forward = i == 0 || steps_us[i] > steps_us[i - 1];
        said taken = ASK(store, ACQUIRE, BY(alice), ON("policy", "1"));
        /* back: who lives goes on; forward: by the store's time it is over */
        expect_status(forward ? HF_EXPIRED : HF_OK, taken.status, taken.message);
        if (!forward)
            must(HF_OK, store, RELEASE, BY(alice), ON("policy", "1"));
        hf_credentials next = newcomer(store, user, HOUR);
        said got = must(HF_OK, store, ACQUIRE, BY(next), ON("policy", "1"));
        if (got.lock.fence <= fence)
            check_failed(__FILE__, __LINE__, "step %zu: fence %lld after %lld", i,
                         (long long)got.lock.fence, (long long)fence);
        fence = got.lock.fence;
        alice = next;
        must(HF_OK, store, BEAT, BY(alice));
    }
    hf_store_close(store);
    redis_server_stop(moved);
}

/* ---- two holdfast servers ---- */

static int64_t redis_faults_last_event(hf_store *store)
{
    return must(HF_OK, store, EVENTS, .after_seq = 0, .limit = 1).last_seq;
}

static void two_holdfast_servers_on_one_redis_are_one(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    redis_server_url(server, "", 0, "namespace=served", url);
    server_process *a = server_process_start(url, NULL), *b = server_process_start(url, NULL);
    server_process_url(a, url);
    hf_store *at_a = redis_faults_store(url);
    server_process_url_as(b, a, url);
    hf_store *at_b = redis_faults_store(url);
    sse_clients *heard = sse_clients_start(
        &(sse_clients_options){.ports = {server_process_port(a), server_process_port(b)},
                               .servers = 2,
                               .secret = server_process_secret(a),
                               .followers = 2,
                               .at_first = 2,
                               .stays_with_one = true});
    expect_true(sse_clients_connected(heard, 20));
    hf_credentials alice = newcomer(at_a, "alice", HOUR), bob = newcomer(at_b, "bob", HOUR);
    must(HF_OK, at_a, ACQUIRE, BY(alice), ON("policy", "1"));
    said no = must(HF_LOCKED, at_b, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_text(no.lock.user, "alice");
    expect_contains(no.message, "alice");
    expect_true(sse_clients_received(heard, redis_faults_last_event(at_a), 20));
    expect_in_time(SECOND, "a change at the other server", {
        must(HF_OK, at_a, RELEASE, BY(alice), ON("policy", "1"));
        must(HF_OK, at_b, ACQUIRE, BY(bob), ON("policy", "1"));
        must(HF_OK, at_b, RELEASE, BY(bob), ON("policy", "1"));
        must(HF_OK, at_a, ACQUIRE, BY(alice), ON("policy", "1"));
        expect_true(sse_clients_received(heard, redis_faults_last_event(at_b), 20));
    });
    redis_server_ask(server, "client kill type pubsub"); /* what tells them */
    must(HF_OK, at_a, RELEASE, BY(alice), ON("policy", "1"));
    must(HF_OK, at_b, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_true(sse_clients_received(heard, redis_faults_last_event(at_a), 20));
    redis_server_kill(server);
    redis_server_up(server);
    must(HF_OK, at_a, BEAT, BY(alice));
    must(HF_OK, at_b, RELEASE, BY(bob), ON("policy", "1"));
    expect_true(sse_clients_received(heard, redis_faults_last_event(at_a), 20));
    sse_clients_report report;
    sse_clients_end(heard, &report);
    expect_text(report.problem, "");
    hf_store_close(at_a);
    hf_store_close(at_b);
    server_process_end(a);
    server_process_end(b);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_that_were_flushed_are_brought_again),
        cmocka_unit_test(a_server_that_loads_its_data_is_waited_for),
        cmocka_unit_test(an_answer_that_never_comes_is_unsure_and_can_be_settled),
        cmocka_unit_test(a_connection_that_died_idle_is_replaced),
        cmocka_unit_test(what_comes_after_the_bound_is_never_written),
        cmocka_unit_test(a_conflict_brings_the_rows_as_they_are),
        cmocka_unit_test(a_fence_grows_over_a_grant_that_came_and_went),
        cmocka_unit_test(who_holds_it_is_told_as_of_one_moment),
        cmocka_unit_test(a_lock_that_was_left_beside_a_close_is_swept),
        cmocka_unit_test(a_lock_and_a_request_that_were_left_go_with_their_row),
        cmocka_unit_test(fences_grow_and_sessions_end_however_the_clock_is_set),
        cmocka_unit_test(two_holdfast_servers_on_one_redis_are_one),
    };
    return cmocka_run_group_tests_name("redis", tests, redis_faults_start, redis_faults_stop);
}
