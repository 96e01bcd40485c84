/* SPDX-License-Identifier: MIT */
/* A Redis that syncs before it answers is killed under its clients and started again, many times:
 * no acknowledged grant, release or save is lost, fences grow, what was unsure is settled by asking
 * again, and the open stores heal by themselves. */
#include "database/shop.h"
#include "faults/database_clients.h"
#include "faults/database_target.h"
#include "faults/redis_server.h"
#include "faults/setting.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORK = 40 }; /* of the clients, between two kills */

/* ---- a client that saves ---- */

/* Saves one resource again and again, each time with a request id of its own. */
typedef struct saver {
    hf_store *store;
    pthread_t thread;
    atomic_bool ends, failed;
    char problem[1024];
    int64_t version, fence; /* as acknowledged last */
    size_t unsure, failures;
} saver;

static hf_status saver_ask(const saver *it, hf_version *out, hf_error *err)
{
    char request[32];
    hf_batch *batch = batch_new(1);
    hf_op *op = hf_batch_add(batch, HF_OP_SAVE);
    snprintf(request, sizeof request, "save-%lld", (long long)it->version);
    op->type = "policy";
    op->id = "saved";
    op->version = it->version;
    op->absent = it->version == 0;
    op->request_id = request;
    op->user = "saver";
    hf_status status = hf_store_execute(it->store, batch, err);
    if (status == HF_OK)
        status = op->answer.status;
    if (op->answer.versions_count > 0)
        *out = op->answer.versions[0];
    hf_batch_free(batch);
    return status;
}

/* A save that was unsure is asked again until it is answered: it counts once. */
static void saver_turn(saver *it)
{
    hf_version now = {0};
    hf_error err = {0};
    hf_status status = saver_ask(it, &now, &err);
    if (status == HF_OK && now.number == it->version + 1 && now.fence > it->fence) {
        it->version = now.number;
        it->fence = now.fence;
    } else if (status == HF_UNSURE || status == HF_UNAVAILABLE) {
        it->unsure += status == HF_UNSURE;
        it->failures++;
        sleep_ms(2);
    } else {
        snprintf(it->problem, sizeof it->problem,
                 "after version %lld, fence %lld: %s, version %lld, fence %lld: %.512s",
                 (long long)it->version, (long long)it->fence, hf_status_wire(status),
                 (long long)now.number, (long long)now.fence, err.message);
        atomic_store(&it->failed, true);
    }
}

static void *saver_main(void *context)
{
    saver *it = context;
    while (!atomic_load(&it->ends) && !atomic_load(&it->failed))
        saver_turn(it);
    return NULL;
}

static void saver_look(const saver *it)
{
    if (atomic_load(&it->failed))
        check_failed(__FILE__, __LINE__, "the client that saves: %s", it->problem);
}

/* ---- kills ---- */

static void redis_kills_run(clients_kind kind, unsigned count, size_t times)
{
    clients_post sum;
    redis_server *server = redis_server_start(NULL);
    clients_options options = {.kind = kind, .count = count};
    clients c = clients_start(server->url, &options);
    saver saves = {0};
    hf_error err = {0};
    expect(HF_OK, hf_store_open(server->url, &saves.store, &err), err);
    expect_int(pthread_create(&saves.thread, NULL, saver_main, &saves), 0);
    for (size_t i = 0; i < times; i++) {
        sleep_ms((unsigned)rand() % 30);
        clients_fault(&c);
        redis_server_kill(server);
        sleep_ms((unsigned)rand() % 20);
        redis_server_up(server);
        clients_calm(&c);
        saver_look(&saves);
        clients_work(&c, WORK);
    }
    atomic_store(&saves.ends, true);
    expect_int(pthread_join(saves.thread, NULL), 0);
    saver_look(&saves);
    hf_store_close(saves.store);
    clients_end(&c, &sum);
    printf("# %lld saves, %zu answers unsure\n", (long long)saves.version, saves.unsure);
    expect_true(sum.done > times * WORK);
    expect_true(sum.unavailable + sum.unsure > 0 && saves.failures > 0); /* it was felt */
    expect_true(saves.version > (int64_t)times);
    redis_server_stop(server);
}

static void nothing_acknowledged_is_lost_when_redis_is_killed(void **state)
{
    (void)state;
    redis_kills_run(CLIENTS_PROCESSES, 4, setting_amount("HF_TEST_SERVER_KILLS", 6, 300));
}

static void nor_when_threads_share_its_round_trips(void **state)
{
    (void)state;
    redis_kills_run(CLIENTS_TOGETHER, CLIENTS_MAX, setting_amount("HF_TEST_SERVER_KILLS", 2, 100));
}

static void nor_in_the_middle_of_batches_of_256(void **state)
{
    (void)state;
    redis_kills_run(CLIENTS_THREADS, 4, setting_amount("HF_TEST_SERVER_KILLS", 2, 100));
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_when_redis_is_killed),
        cmocka_unit_test(nor_when_threads_share_its_round_trips),
        cmocka_unit_test(nor_in_the_middle_of_batches_of_256),
    };
    return cmocka_run_group_tests_name("kills of redis", tests, NULL, NULL);
}
