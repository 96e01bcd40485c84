/* SPDX-License-Identifier: MIT */
/* The store on Redis: acquire-and-release pairs by one client, in batches, and by 32 threads,
 * beside what its documents say for a lock on one server, with hiredis: SET NX PX, then a script
 * that compares and deletes. What a lock takes of the memory; whether many locks make it
 * dearer. */
#include "bench.h"

#ifdef BENCH_HIREDIS
#include "clients.h"
#include "ours.h"
#include "redis_release.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 32, BATCH = 64, FEW = 1000, MANY = 1000000, MANY_QUICK = 20000 };

/* ---- by hand ---- */

typedef struct redis_hand {
    redisContext *redis;
    char script[41];
    bench_picker *picker;
    size_t batch_size;
    bench_pick picks[BENCH_BATCH_MAX];
} redis_hand;

static redis_hand *redis_hand_open(const bench *b)
{
    char host[64] = "";
    int port = 6379;
    redis_hand *h = calloc(1, sizeof *h);
    if (h == NULL)
        bench_die("out of memory");
    if (sscanf(b->redis, "redis://%63[^:/]:%d", host, &port) < 1)
        bench_die("Redis by hand needs redis://HOST:PORT");
    h->redis = redisConnect(host, port);
    redisReply *loaded = redisCommand(h->redis, "SCRIPT LOAD %s", redis_release);
    if (loaded == NULL || loaded->type != REDIS_REPLY_STRING)
        bench_die("Redis by hand: %s", h->redis->errstr);
    snprintf(h->script, sizeof h->script, "%s", loaded->str);
    freeReplyObject(loaded);
    h->picker = bench_picker_new(1, b->working);
    h->batch_size = 1;
    return h;
}

static void redis_hand_close(redis_hand *h)
{
    redisFree(h->redis);
    free(h->picker);
    free(h);
}

/* All of a batch at once, and all its answers. */
static void redis_hand_run(redis_hand *h, bool take)
{
    for (size_t i = 0; i < h->batch_size; i++) {
        const bench_pick *pick = &h->picks[i];
        if (take)
            redisAppendCommand(h->redis, "SET hand:" BENCH_TYPE "/%s %s NX PX 300000", pick->id,
                               pick->request);
        else
            redisAppendCommand(h->redis, "EVALSHA %s 1 hand:" BENCH_TYPE "/%s %s", h->script,
                               pick->id, pick->request);
    }
    for (size_t i = 0; i < h->batch_size; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(h->redis, (void **)&reply) != REDIS_OK || reply == NULL ||
            (take ? reply->type != REDIS_REPLY_STATUS : reply->integer != 1))
            bench_die("Redis by hand failed: %s", h->redis->errstr);
        freeReplyObject(reply);
    }
}

static double redis_hand_pairs(void *context, double seconds)
{
    redis_hand *h = context;
    size_t pairs = 0;
    double start = bench_now(), end;
    do {
        bench_picker_fill(h->picker, h->picks, h->batch_size);
        redis_hand_run(h, true);
        redis_hand_run(h, false);
        pairs += h->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

/* What Redis says of its memory. */
static double redis_hand_memory(redis_hand *h)
{
    redisReply *info = redisCommand(h->redis, "INFO memory");
    const char *at = info == NULL ? NULL : strstr(info->str, "used_memory:");
    if (at == NULL)
        bench_die("Redis does not tell its memory");
    double bytes = strtod(at + strlen("used_memory:"), NULL);
    freeReplyObject(info);
    return bytes;
}

/* ---- stores ---- */

static void redis_store_url(const bench *b, const char *names, char *url, size_t size)
{
    hf_error err;
    snprintf(url, size, "%s%cnamespace=%s", b->redis, strchr(b->redis, '?') == NULL ? '?' : '&',
             names);
    if (hf_store_uninstall(url, true, &err) != HF_OK && err.status != HF_NOT_FOUND)
        bench_die("%s can't be removed: %s", names, err.message);
}

static void redis_store_report(bench *b, const char *name, const char *against, double target,
                               const bench_series *our, const bench_series *baseline)
{
    bench_figure figure = {.unit = "pairs/s", .against = against, .target = target};
    figure.judge = target > 0 ? BENCH_RATIO_AT_LEAST : BENCH_PRINT_ONLY;
    snprintf(figure.name, sizeof figure.name, "redis/%s", name);
    bench_report(b, &figure, our, baseline);
}

/* ---- pairs ---- */

typedef struct redis_contest {
    ours *one;
    redis_hand *hand;
    bench_clients shared, own, hands;
} redis_contest;

static void redis_contest_open(bench *b, const char *url, redis_contest *c)
{
    c->one = ours_open(b, url);
    c->hand = redis_hand_open(b);
    c->shared.work = c->own.work = ours_pairs;
    c->hands.work = redis_hand_pairs;
    c->shared.count = c->own.count = c->hands.count = CLIENTS;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ours *shared = ours_on(b, c->one->store), *own = ours_open(b, url);
        redis_hand *hand = redis_hand_open(b);
        bench_picker *pickers[] = {shared->picker, own->picker, hand->picker};
        for (size_t j = 0; j < sizeof pickers / sizeof *pickers; j++)
            bench_picker_share(pickers[j], i, CLIENTS);
        c->shared.contexts[i] = shared;
        c->own.contexts[i] = own;
        c->hands.contexts[i] = hand;
    }
}

static void redis_contest_close(redis_contest *c)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        ours_close(c->shared.contexts[i]);
        ours_close(c->own.contexts[i]);
        redis_hand_close(c->hands.contexts[i]);
    }
    ours_close(c->one);
    redis_hand_close(c->hand);
}

static void redis_contest_single(bench *b, redis_contest *c, const char *name, size_t size)
{
    bench_series series[2];
    bench_side sides[] = {{ours_pairs, c->one}, {redis_hand_pairs, c->hand}};
    c->one->batch_size = c->hand->batch_size = size;
    bench_interleave(b, sides, 2, series);
    redis_store_report(b, name, size == 1 ? "by hand" : "by hand, 64 in a pipeline", 0.4,
                       &series[0], &series[1]);
    c->one->batch_size = c->hand->batch_size = 1;
}

static void redis_store_pairs(bench *b)
{
    char url[1024];
    redis_contest c = {0};
    bool many = bench_wants(b, "redis/32-clients") || bench_wants(b, "redis/32-clients/shared");
    if (!many && !bench_wants(b, "redis/1-client") && !bench_wants(b, "redis/batch-64"))
        return;
    redis_store_url(b, "bench", url, sizeof url);
    redis_contest_open(b, url, &c);
    if (bench_wants(b, "redis/1-client"))
        redis_contest_single(b, &c, "1-client", 1);
    if (bench_wants(b, "redis/batch-64"))
        redis_contest_single(b, &c, "batch-64", BATCH);
    if (many) {
        bench_series series[3];
        bench_side sides[] = {{bench_clients_work, &c.shared},
                              {bench_clients_work, &c.hands},
                              {bench_clients_work, &c.own}};
        bench_interleave(b, sides, 3, series);
        redis_store_report(b, "32-clients/shared", "by hand, a connection each; ours is one store",
                           1.0, &series[0], &series[1]);
        redis_store_report(b, "32-clients", "by hand, a connection each; a store each", 0,
                           &series[2], &series[1]);
    }
    redis_contest_close(&c);
    redis_store_url(b, "bench", url, sizeof url);
}

/* ---- many locks ---- */

static void redis_store_scale(bench *b)
{
    char few_url[1024], many_url[1024];
    size_t held = b->quick ? MANY_QUICK : MANY;
    if (!bench_wants(b, "redis/bytes-per-lock") && !bench_wants(b, "redis/scale"))
        return;
    redis_store_url(b, "bench_few", few_url, sizeof few_url);
    redis_store_url(b, "bench_many", many_url, sizeof many_url);
    redis_hand *hand = redis_hand_open(b);
    ours *few = ours_open(b, few_url), *many = ours_open(b, many_url);
    ours_hold(few, FEW);
    double before = redis_hand_memory(hand);
    ours_hold(many, held);
    bench_series bytes = {.value = {(redis_hand_memory(hand) - before) / (double)held}, .count = 1};
    bench_figure figure = {.name = "redis/bytes-per-lock",
                           .unit = "bytes",
                           .against = "by used_memory, an event a lock included",
                           .judge = BENCH_OURS_AT_MOST,
                           .target = 700};
    bench_report(b, &figure, &bytes, NULL);
    bench_series rate[2];
    bench_side sides[] = {{ours_pairs, many}, {ours_pairs, few}};
    bench_interleave(b, sides, 2, rate);
    bench_series cost[2] = {bench_cost_us(&rate[0]), bench_cost_us(&rate[1])};
    bench_figure scale = {.name = "redis/scale",
                          .unit = "us/pair",
                          .judge = b->quick ? BENCH_PRINT_ONLY : BENCH_RATIO_AT_MOST,
                          .target = 1.3,
                          .against = b->quick ? "20,000 held against 1,000"
                                              : "1,000,000 held against 1,000"};
    bench_report(b, &scale, &cost[0], &cost[1]);
    ours_close(few);
    ours_close(many);
    redis_hand_close(hand);
    redis_store_url(b, "bench_few", few_url, sizeof few_url);
    redis_store_url(b, "bench_many", many_url, sizeof many_url);
}
#endif

void bench_redis_store(bench *b)
{
    if (!bench_wants(b, "redis/"))
        return;
#ifdef BENCH_HIREDIS
    if (b->redis != NULL) {
        redis_store_pairs(b);
        redis_store_scale(b);
        return;
    }
#endif
    if (b->redis == NULL)
        printf("%-31s left out: %s\n", "redis/", "no server was named");
    else
        printf("%-31s left out: %s\n", "redis/",
               "its client library was not there when hf-bench was built");
}
