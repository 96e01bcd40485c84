/* SPDX-License-Identifier: MIT */
/* Saves of versions: on SQLite and on database servers beside the same rows written by hand, a set
 * of 64 beside 64 single ones, and over HTTP beside acquires. Every name was saved once before, so
 * each save compares a version, covers the save before it and leaves an event: three rows. */
#include "bare.h"
#include "hand_sql.h"
#include "ours.h"
#include "rivals.h"
#include "savers.h"
#include "served.h"
#include "servers.h"

#include <stdio.h>
#include <string.h>

enum { SAVES_SET = 64 };
#define SAVES_TURN 0.4 /* seconds of acquires before they are given back */

/* ---- SQLite ---- */

typedef struct saves_sqlite {
    ours *ours;
    bare *bare;
} saves_sqlite;

static void saves_open_sqlite(const bench *b, saves_sqlite *out)
{
    char path[BENCH_PATH_SIZE + 32], copy[BENCH_PATH_SIZE + 32], url[BENCH_PATH_SIZE + 48];
    snprintf(path, sizeof path, "%s/saves.db", b->dir);
    snprintf(copy, sizeof copy, "%s/saves-bare.db", b->dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    ours *filler = ours_open(b, url);
    ours_save_all(filler);
    ours_close(filler); /* so that the file is whole */
    bare_copy(path, copy);
    out->ours = ours_open(b, url);
    out->bare = bare_open(b, copy, out->ours->session.id);
}

static void saves_measure_sqlite(bench *b, const saves_sqlite *s, size_t size)
{
    bench_figure figure = {.unit = "saves/s",
                           .against = "bare loop, same rows",
                           .judge = BENCH_RATIO_AT_LEAST,
                           .target = 0.8};
    snprintf(figure.name, sizeof figure.name, "saves/sqlite/%zu", size);
    if (!bench_wants(b, figure.name))
        return;
    s->ours->batch_size = size;
    bare_batch_size(s->bare, size);
    bench_side sides[] = {{ours_saves, s->ours}, {bare_saves, s->bare}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_report(b, &figure, &series[0], &series[1]);
}

static void saves_on_sqlite(bench *b)
{
    if (!bench_wants(b, "saves/sqlite/"))
        return;
    saves_sqlite s;
    saves_open_sqlite(b, &s);
    saves_measure_sqlite(b, &s, 1);
    saves_measure_sqlite(b, &s, SAVES_SET);
    ours_close(s.ours);
    bare_close(s.bare);
}

/* A linked set beside as many single saves, by one client on one store; each side has half of the
 * names. */
static void saves_in_sets(bench *b)
{
    bench_figure figure = {.name = "saves/set-64",
                           .unit = "saves/s",
                           .against = "single saves, one client",
                           .judge = BENCH_RATIO_AT_LEAST,
                           .target = 5};
    char url[BENCH_PATH_SIZE + 48];
    if (!bench_wants(b, figure.name))
        return;
    snprintf(url, sizeof url, "sqlite:%s/saves-set.db", b->dir);
    ours *single = ours_open(b, url);
    ours *set = ours_on(b, single->store);
    ours_save_all(single);
    bench_picker_share(single->picker, 0, 2);
    bench_picker_share(set->picker, 1, 2);
    set->batch_size = SAVES_SET;
    set->linked = true;
    bench_side sides[] = {{ours_saves, set}, {ours_saves, single}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_report(b, &figure, &series[0], &series[1]);
    ours_close(set);
    ours_close(single);
}

/* ---- database servers ---- */

static void saves_fill_space(const bench_server *server, const char *names, bench_space *out)
{
    bench_space_open(server, names, 0, out);
    bench_space_run(out, HAND_FILL_SAVES);
    bench_space_run(out, HAND_SETTLE_RESOURCE);
    bench_space_run(out, HAND_SETTLE_DISK);
}

static void saves_on_server(bench *b, const hand_kind *kind, const char *name, const char *url,
                            double target)
{
    bench_figure figure = {.unit = "saves/s", .against = "by hand, same rows", .target = target};
    figure.judge = target > 0 ? BENCH_RATIO_AT_LEAST : BENCH_PRINT_ONLY;
    snprintf(figure.name, sizeof figure.name, "saves/%s", name);
    if (!bench_wants(b, figure.name))
        return;
    if (url == NULL || kind == NULL) {
        printf("%-31s left out: %s\n", figure.name,
               kind == NULL ? "its client library was not there when hf-bench was built"
                            : "no server was named");
        return;
    }
    bench_server server = {b, kind, url};
    bench_space own, other;
    saves_fill_space(&server, "bench_saves", &own);
    saves_fill_space(&server, "bench_saves_hand", &other);
    bench_side sides[] = {{ours_saves, own.ours}, {hand_saves, other.hand}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_report(b, &figure, &series[0], &series[1]);
    bench_space_close(&own);
    bench_space_close(&other);
}

/* ---- over HTTP ---- */

typedef struct saves_served {
    served *server;
    savers clients;
    load *acquires, *saves, *versions;
} saves_served;

static void saves_serve(bench *b, saves_served *out)
{
    char url[BENCH_PATH_SIZE + 48];
    snprintf(url, sizeof url, "sqlite:%s/saves-http.db", b->dir);
    ours *filler = ours_open(b, url);
    ours_save_all(filler);
    ours_close(filler);
    *out = (saves_served){.server = served_start(b, "saves-http", url)};
    out->clients = (savers){.clients = out->server->clients, .token = out->server->token};
    load_settings settings = {.name = "holdfast serve",
                              .address = out->server->program->address,
                              .context = &out->clients,
                              .connections = LOAD_CONNECTIONS,
                              .units = 1};
    settings.talk = &savers_acquire;
    out->acquires = load_open(&settings);
    settings.talk = &savers_save;
    out->saves = load_open(&settings);
    settings.talk = &savers_version;
    out->versions = load_open(&settings);
}

static void saves_stop(saves_served *s)
{
    load_close(s->acquires);
    load_close(s->saves);
    load_close(s->versions);
    served_stop(s->server);
}

/* bench_work: acquires alone. What was acquired is released outside the measured time, in turns
 * that are short enough for nobody to run out of names. */
static double saves_acquire(void *context, double seconds)
{
    saves_served *s = context;
    double sum = 0, left = seconds;
    while (left > 0 && !bench_stopped()) {
        double turn = left < SAVES_TURN ? left : SAVES_TURN;
        sum += load_work(s->acquires, turn) * turn;
        savers_give_back(&s->clients, s->server->program->address);
        left -= turn;
    }
    return sum / seconds;
}

static void saves_beside_acquires(bench *b, saves_served *s)
{
    bench_figure figure = {.name = "saves/http",
                           .unit = "req/s",
                           .against = "acquires, 64 connections",
                           .judge = BENCH_RATIO_AT_LEAST,
                           .target = 0.9};
    if (!bench_wants(b, figure.name))
        return;
    bench_side sides[] = {{load_work, s->saves}, {saves_acquire, s}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_report(b, &figure, &series[0], &series[1]);
}

static void saves_beside_redis(bench *b, saves_served *s)
{
    bench_figure figure = {
        .name = "saves/versions", .unit = "req/s", .against = "Redis, GET, 64 connections"};
    if (!bench_wants(b, figure.name))
        return;
    if (b->redis == NULL) {
        printf("%-31s left out: no Redis was named\n", figure.name);
        return;
    }
    rival *redis = rival_redis_get(b, b->redis);
    bench_side sides[] = {{load_work, s->versions}, {load_work, rival_load(redis)}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_report(b, &figure, &series[0], &series[1]);
    rival_close(redis);
}

static void saves_over_http(bench *b)
{
    if (!bench_wants(b, "saves/http") && !bench_wants(b, "saves/versions"))
        return;
    saves_served s;
    saves_serve(b, &s);
    saves_beside_acquires(b, &s);
    saves_beside_redis(b, &s);
    saves_stop(&s);
}

void bench_saves(bench *b)
{
    const hand_kind *postgres = NULL, *mariadb = NULL;
#ifdef BENCH_POSTGRES
    postgres = &hand_kind_postgres;
#endif
#ifdef BENCH_MYSQL
    mariadb = &hand_kind_mariadb;
#endif
    saves_on_sqlite(b);
    saves_in_sets(b);
    saves_on_server(b, postgres, "postgres", b->postgres, 0.8);
    saves_on_server(b, mariadb, "mariadb", b->mariadb, 0);
    saves_over_http(b);
}
