/* SPDX-License-Identifier: MIT */
/* The whole server: 64 connections over HTTP, every change synced, beside what others reach with as
 * many clients. All sides take turns in the same rounds, so that one table can compare any two. A
 * side that isn't there leaves out its figures. */
#include "clients.h"
#include "disk.h"
#include "rivals.h"
#include "served.h"
#include "servers.h"

#include "hand_sql.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum side_name {
    SQLITE,
    BATCH,
    LONE,
    LONE_BATCH,
    POSTGRES,
    REDIS,
    ETCD,
    ONE_ROW,
    SAME_ROWS,
    LIBRARY,
    EVHTTP,
    LAYER,
    DISK,
    SIDES
} side_name;

/* Clients that speak SQL, a thread and a connection each. */
typedef struct by_hand {
    bench_space space;
    bench_clients clients;
} by_hand;

/* A program that parks requests and answers them without a store. */
typedef struct parking {
    child *program;
    lockers *clients;
} parking;

typedef struct contest {
    bench *b;
    bench_server database; /* PostgreSQL */
    served *on_sqlite, *on_postgres;
    bench_space store; /* of on_postgres */
    rival *redis, *etcd;
    by_hand one_row, same_rows;
    parking evhttp, layer;
    ours *library;
    disk *file;
    load *loads[SIDES]; /* of those sides that are loads */
    bench_side sides[SIDES];
    const char *missing[SIDES]; /* why a side is not there; NULL: it is */
    bench_series rates[SIDES];
} contest;

static void be_load(contest *c, side_name side, load *l)
{
    c->loads[side] = l;
    c->sides[side] = (bench_side){load_work, l};
}

/* ---- our sides ---- */

static const char *be_served(contest *c, side_name side, const load_talk *talk, size_t units,
                             size_t connections)
{
    if (c->on_sqlite == NULL)
        c->on_sqlite = served_start(c->b, "http", SERVED_WORKED);
    be_load(c, side, served_load(c->on_sqlite, "holdfast serve", talk, units, connections));
    return NULL;
}

static const char *http_open_sqlite(contest *c)
{
    return be_served(c, SQLITE, &lockers_pair, 1, LOAD_CONNECTIONS);
}

static const char *open_batch(contest *c)
{
    return be_served(c, BATCH, &lockers_batch, LOCKERS_BATCH, LOAD_CONNECTIONS);
}

static const char *open_lone(contest *c)
{
    return be_served(c, LONE, &lockers_pair, 1, 1);
}

static const char *open_lone_batch(contest *c)
{
    return be_served(c, LONE_BATCH, &lockers_batch, LOCKERS_BATCH, 1);
}

static const char *open_library(contest *c)
{
    char url[BENCH_PATH_SIZE + 48];
    snprintf(url, sizeof url, "sqlite:%s/library.db", c->b->dir);
    c->library = ours_open(c->b, url);
    ours_visit_all(c->library);
    c->sides[LIBRARY] = (bench_side){ours_pairs, c->library};
    return NULL;
}

static const char *no_database(const contest *c)
{
    return c->database.kind == NULL ? "hf-bench was built without PostgreSQL's client library"
                                    : "no PostgreSQL was named";
}

static const char *http_open_postgres(contest *c)
{
    if (c->database.url == NULL)
        return no_database(c);
    bench_space_open(&c->database, "bench_http", 0, &c->store);
    c->on_postgres = served_start(c->b, "http-postgres", c->store.url);
    be_load(c, POSTGRES,
            served_load(c->on_postgres, "holdfast serve on PostgreSQL", &lockers_pair, 1,
                        LOAD_CONNECTIONS));
    return NULL;
}

/* ---- the others ---- */

static const char *open_redis(contest *c)
{
    if (c->b->redis == NULL)
        return "no Redis was named";
    c->redis = rival_redis(c->b, c->b->redis);
    be_load(c, REDIS, rival_load(c->redis));
    return NULL;
}

static const char *open_etcd(contest *c)
{
    if (c->b->etcd == NULL)
        return "no etcd was named";
    c->etcd = rival_etcd(c->b, c->b->etcd);
    be_load(c, ETCD, rival_load(c->etcd));
    return NULL;
}

static void open_by_hand(contest *c, side_name side, by_hand *h, const char *names,
                         bench_work *work)
{
    bench_space_open(&c->database, names, 0, &h->space);
    bench_space_run(&h->space, HAND_ONE_TABLE);
    h->clients = (bench_clients){.work = work, .count = LOAD_CONNECTIONS};
    for (uint32_t i = 0; i < LOAD_CONNECTIONS; i++) {
        hand *one =
            hand_open(c->b, c->database.kind, c->database.url, names, h->space.ours->session.id);
        bench_picker_share(one->picker, i, LOAD_CONNECTIONS);
        h->clients.contexts[i] = one;
    }
    c->sides[side] = (bench_side){bench_clients_work, &h->clients};
}

static const char *open_one_row(contest *c)
{
    if (c->database.url == NULL)
        return no_database(c);
    open_by_hand(c, ONE_ROW, &c->one_row, "bench_http_one", hand_one_row);
    return NULL;
}

static const char *open_same_rows(contest *c)
{
    if (c->database.url == NULL)
        return no_database(c);
    open_by_hand(c, SAME_ROWS, &c->same_rows, "bench_http_same", hand_pairs);
    return NULL;
}

static void open_parking(contest *c, side_name side, parking *p, const char *path)
{
    p->program = child_start(path, (const char *[]){path, NULL});
    p->clients = lockers_new(c->b);
    be_load(c, side,
            load_open(&(load_settings){.name = path,
                                       .address = p->program->address,
                                       .talk = &lockers_parked,
                                       .context = p->clients,
                                       .connections = LOAD_CONNECTIONS,
                                       .units = 1,
                                       .server = p->program->pid}));
}

static const char *open_evhttp(contest *c)
{
    open_parking(c, EVHTTP, &c->evhttp, "bench/hf-evhttp-base");
    return NULL;
}

static const char *open_layer(contest *c)
{
    open_parking(c, LAYER, &c->layer, "bench/hf-http-base");
    return NULL;
}

static const char *http_open_disk(contest *c)
{
    c->file = disk_open(c->b);
    disk_forget(c->file);
    c->sides[DISK] = (bench_side){disk_work, c->file};
    return NULL;
}

static const char *(*const open_side[SIDES])(contest *) = {
    [SQLITE] = http_open_sqlite,  [BATCH] = open_batch,           [POSTGRES] = http_open_postgres,
    [LONE] = open_lone,           [LONE_BATCH] = open_lone_batch, [REDIS] = open_redis,
    [ETCD] = open_etcd,           [ONE_ROW] = open_one_row,       [LIBRARY] = open_library,
    [SAME_ROWS] = open_same_rows, [EVHTTP] = open_evhttp,         [LAYER] = open_layer,
    [DISK] = http_open_disk,
};

static void close_by_hand(by_hand *h)
{
    if (h->clients.count == 0)
        return;
    for (size_t i = 0; i < h->clients.count; i++)
        hand_close(h->clients.contexts[i]);
    bench_space_close(&h->space);
}

static void close_parking(parking *p)
{
    child_stop(p->program);
    lockers_free(p->clients);
}

static void http_close_contest(contest *c)
{
    for (size_t i = 0; i < SIDES; i++)
        if (i != REDIS && i != ETCD)
            load_close(c->loads[i]);
    rival_close(c->redis);
    rival_close(c->etcd);
    close_by_hand(&c->one_row);
    close_by_hand(&c->same_rows);
    close_parking(&c->evhttp);
    close_parking(&c->layer);
    ours_close(c->library);
    disk_close(c->file);
    served_stop(c->on_sqlite);
    served_stop(c->on_postgres);
    if (c->store.ours != NULL)
        bench_space_close(&c->store);
}

/* ---- the figures ---- */

/* What is looked at of a side: how much it does, how long it takes, how steadily. */
typedef enum look { RATE, P99, P50, P99_TO_P50, CPU } look;

typedef struct row {
    const char *name, *unit, *against;
    side_name ours, baseline;
    look our_look, their_look;
    double factor; /* of rates: 2 requests are a pair */
    bench_judge judge;
    double target;
} row;

static const row rows[] = {
    {"http/pairs/sqlite/redis", "pairs/s", "Redis, appendfsync always", SQLITE, REDIS, RATE, RATE,
     1, BENCH_RATIO_AT_LEAST, 0.75},
    {"http/pairs/sqlite/one-row", "pairs/s", "by hand on PostgreSQL, one row, 64 clients", SQLITE,
     ONE_ROW, RATE, RATE, 1, BENCH_RATIO_AT_LEAST, 1.2},
    {"http/pairs/sqlite/etcd", "pairs/s", "etcd, by its gateway", SQLITE, ETCD, RATE, RATE, 1,
     BENCH_RATIO_AT_LEAST, 5},
    {"http/pairs/sqlite/library", "pairs/s", "one client of the library", SQLITE, LIBRARY, RATE,
     RATE, 1, BENCH_RATIO_AT_LEAST, 4},
    {"http/pairs/postgres", "pairs/s", "by hand, same rows, 64 clients", POSTGRES, SAME_ROWS, RATE,
     RATE, 1, BENCH_RATIO_AT_LEAST, 1},
    {"http/pairs/postgres/one-row", "pairs/s", "by hand, one row, 64 clients", POSTGRES, ONE_ROW,
     RATE, RATE, 1, BENCH_PRINT_ONLY, 0},
    {"http/requests", "req/s", "evhttp that parks, without a store", SQLITE, EVHTTP, RATE, RATE, 2,
     BENCH_RATIO_AT_LEAST, 0.65},
    {"http/layer", "req/s", "the same; ours is the HTTP layer alone", LAYER, EVHTTP, RATE, RATE, 2,
     BENCH_PRINT_ONLY, 0},
    {"http/batch-64", "ops/s", "one op a request", BATCH, SQLITE, RATE, RATE, 2,
     BENCH_RATIO_AT_LEAST, 3},
    {"http/batch-64/one", "ops/s", "one op a request; one connection on both sides", LONE_BATCH,
     LONE, RATE, RATE, 2, BENCH_PRINT_ONLY, 0},
    {"http/p99", "us", "p50", SQLITE, SQLITE, P99, P50, 1, BENCH_RATIO_AT_MOST, 3},
    {"http/p99/redis", "us", "p99 of Redis", SQLITE, REDIS, P99, P99, 1, BENCH_PRINT_ONLY, 0},
    {"http/p99/disk", "p99/p50", "the same of synced writes to a file", SQLITE, DISK, P99_TO_P50,
     P99_TO_P50, 1, BENCH_PRINT_ONLY, 0},
    {"http/cpu", "us/req", "evhttp that parks, without a store", SQLITE, EVHTTP, CPU, CPU, 1,
     BENCH_PRINT_ONLY, 0},
    {"http/cpu/redis", "us/req", "Redis", SQLITE, REDIS, CPU, CPU, 1, BENCH_RATIO_AT_MOST, 2.3},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bench_series series_of(const contest *c, side_name side, look at, double factor)
{
    const load_figures *seen = side == DISK ? disk_seen(c->file)
                               : at != RATE ? load_seen(c->loads[side])
                                            : NULL;
    bench_series out = at == RATE  ? c->rates[side]
                       : at == P50 ? seen->p50
                       : at == CPU ? seen->cpu
                                   : seen->p99;
    for (size_t i = 0; i < out.count; i++)
        out.value[i] *= at == P99_TO_P50 ? factor / seen->p50.value[i] : factor;
    return out;
}

static void http_report(contest *c, const row *r)
{
    bench_figure figure = {
        .unit = r->unit, .against = r->against, .judge = r->judge, .target = r->target};
    const char *missing =
        c->missing[r->ours] != NULL ? c->missing[r->ours] : c->missing[r->baseline];
    snprintf(figure.name, sizeof figure.name, "%s", r->name);
    if (missing != NULL) {
        printf("%-31s left out: %s\n", r->name, missing);
        return;
    }
    bench_series our = series_of(c, r->ours, r->our_look, r->factor);
    bench_series their = series_of(c, r->baseline, r->their_look, r->factor);
    bench_report(c->b, &figure, &our, &their);
}

/* Opens what the wanted figures need, and lets all of them take turns; each for as long as if there
 * were two. */
static void http_measure(contest *c, const bool needed[SIDES])
{
    bench_side sides[SIDES];
    bench_series series[SIDES];
    side_name names[SIDES];
    size_t count = 0;
    for (size_t i = 0; i < SIDES; i++) {
        c->missing[i] = needed[i] ? open_side[i](c) : NULL;
        if (!needed[i] || c->missing[i] != NULL)
            continue;
        if (c->loads[i] != NULL)
            load_forget(c->loads[i]);
        names[count] = (side_name)i;
        sides[count++] = c->sides[i];
    }
    double seconds = c->b->seconds;
    c->b->seconds *= (double)count;
    bench_interleave(c->b, sides, count, series);
    c->b->seconds = seconds;
    for (size_t i = 0; i < count; i++)
        c->rates[names[i]] = series[i];
}

void bench_http(bench *b)
{
    bool needed[SIDES] = {false}, any = false;
    for (size_t i = 0; i < ROWS; i++)
        if (bench_wants(b, rows[i].name))
            any = needed[rows[i].ours] = needed[rows[i].baseline] = true;
    contest c = {.b = b, .database = {.b = b, .url = b->postgres}};
#ifdef BENCH_POSTGRES
    c.database.kind = &hand_kind_postgres;
#else
    c.database.url = NULL;
#endif
    if (any) {
        http_measure(&c, needed);
        for (size_t i = 0; i < ROWS; i++)
            if (bench_wants(b, rows[i].name))
                http_report(&c, &rows[i]);
        http_close_contest(&c);
    }
    bench_streams(b);
}
