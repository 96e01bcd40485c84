/* SPDX-License-Identifier: MIT */
/* PostgreSQL and MariaDB: acquire-and-release pairs with one client and with many, beside what a
 * good programmer would write by hand over the same rows, and beside one row inserted and deleted;
 * how much batches gain; what a beat of many locks costs; whether a million locks make it dearer.
 * Each side has tables of its own, all on the same server. */
#include "servers.h"

#include "clients.h"
#include "hand_sql.h"

#include <stdio.h>
#include <string.h>

enum {
    CLIENTS = 32,
    BATCH = 256,
    FEW = 1000,
    MANY = 1000000,
    MANY_QUICK = 50000,
    BEAT_LOCKS = 1000
};

bool bench_server_wants(const bench_server *server, const char *name, bench_figure *figure)
{
    snprintf(figure->name, sizeof figure->name, "%s/%s", server->kind->name, name);
    return bench_wants(server->b, figure->name);
}

/* ---- namespaces ---- */

double bench_space_run(bench_space *space, int which)
{
    return space->hand->kind->run(space->hand->link, which, NULL, 0);
}

static void servers_fill(bench_space *space, size_t held)
{
    char held_text[24], first[24], working[24];
    const char *params[] = {held_text, first, working};
    hand *h = space->hand;
    snprintf(held_text, sizeof held_text, "%zu", held);
    snprintf(first, sizeof first, "%d", BENCH_HELD_MAX);
    snprintf(working, sizeof working, "%u", space->server->b->working);
    bench_space_run(space, HAND_FILL_PLAINLY);
    if (held > 0)
        h->kind->run(h->link, HAND_FILL_SESSIONS, params, 1);
    h->kind->run(h->link, HAND_FILL_ANCHORS, params, 3);
    if (held > 0)
        h->kind->run(h->link, HAND_FILL_LOCKS, params, 1);
    bench_space_run(space, HAND_SETTLE_LOCK);
    bench_space_run(space, HAND_SETTLE_RESOURCE);
    bench_space_run(space, HAND_SETTLE_DISK);
}

void bench_space_open(const bench_server *server, const char *names, size_t held, bench_space *out)
{
    hf_error err;
    *out = (bench_space){.server = server};
    snprintf(out->names, sizeof out->names, "%s", names);
    snprintf(out->url, sizeof out->url, "%s%cnamespace=%s", server->url,
             strchr(server->url, '?') == NULL ? '?' : '&', names);
    if (hf_store_uninstall(out->url, true, &err) != HF_OK && err.status != HF_NOT_FOUND)
        bench_die("%s can't be removed from an earlier run: %s", names, err.message);
    out->ours = ours_open(server->b, out->url);
    out->hand = hand_open(server->b, server->kind, server->url, names, out->ours->session.id);
    servers_fill(out, held);
}

void bench_space_close(bench_space *space)
{
    hf_error err;
    bench_space_run(space, HAND_ONE_DROP);
    ours_close(space->ours);
    hand_close(space->hand);
    if (hf_store_uninstall(space->url, true, &err) != HF_OK)
        bench_die("%s can't be removed: %s", space->names, err.message);
}

/* ---- pairs ---- */

/* Our side and the others, with as many clients as there are. */
typedef struct contest {
    bench_space ours, same, one;
    bench_clients own;    /* our side, a store a client */
    bench_clients shared; /* our side, one store */
    bench_clients same_rows, one_row;
} contest;

static void add_client(contest *c, const bench_server *server, uint32_t at)
{
    const char *session = c->same.ours->session.id;
    ours *own = ours_open(server->b, c->ours.url);
    ours *shared = ours_on(server->b, c->ours.ours->store);
    hand *same = hand_open(server->b, server->kind, server->url, c->same.names, session);
    hand *one = hand_open(server->b, server->kind, server->url, c->one.names, session);
    bench_picker *pickers[] = {own->picker, shared->picker, same->picker, one->picker};
    for (size_t i = 0; i < sizeof pickers / sizeof pickers[0]; i++) { /* new names of its own */
        pickers[i]->made = i == 1 ? CLIENTS + at : at;
        pickers[i]->step = 2 * CLIENTS;
    }
    c->own.contexts[at] = own;
    c->shared.contexts[at] = shared;
    c->same_rows.contexts[at] = same;
    c->one_row.contexts[at] = one;
}

static void open_contest(const bench_server *server, contest *c)
{
    bench_space_open(server, "bench_ours", 0, &c->ours);
    bench_space_open(server, "bench_same", 0, &c->same);
    bench_space_open(server, "bench_one", 0, &c->one);
    bench_space_run(&c->one, HAND_ONE_TABLE);
    c->own.work = c->shared.work = ours_pairs;
    c->same_rows.work = hand_pairs;
    c->one_row.work = hand_one_row;
    for (uint32_t i = 0; i < CLIENTS; i++)
        add_client(c, server, i);
}

static void servers_close_contest(contest *c)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ours_close(c->own.contexts[i]);
        ours_close(c->shared.contexts[i]);
        hand_close(c->same_rows.contexts[i]);
        hand_close(c->one_row.contexts[i]);
    }
    bench_space_close(&c->ours);
    bench_space_close(&c->same);
    bench_space_close(&c->one);
}

static void set_clients(contest *c, size_t count, bool fresh)
{
    c->own.count = c->shared.count = c->same_rows.count = c->one_row.count = count;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        bench_picker *pickers[] = {
            ((ours *)c->own.contexts[i])->picker, ((ours *)c->shared.contexts[i])->picker,
            ((hand *)c->same_rows.contexts[i])->picker, ((hand *)c->one_row.contexts[i])->picker};
        for (size_t j = 0; j < sizeof pickers / sizeof pickers[0]; j++) {
            bench_picker_share(pickers[j], count > 1 ? i : 0, (uint32_t)count);
            pickers[j]->fresh = fresh;
        }
    }
}

typedef struct pairs_row {
    const char *name;
    size_t clients;
    bool fresh;
    double same_rows, one_row; /* targets; 0: none */
} pairs_row;

static const pairs_row pairs_rows[] = {
    {"1-client", 1, false, 0.8, 0.45},
    {"32-clients", CLIENTS, false, 0.75, 0.4},
    {"1-client/new", 1, true, 0, 0},
    {"32-clients/new", CLIENTS, true, 0, 0},
};

static void servers_report(const bench_server *server, const char *name, const char *suffix,
                           const char *against, double target, const bench_series *our,
                           const bench_series *baseline)
{
    bench_figure figure = {.unit = "pairs/s", .against = against, .target = target};
    figure.judge = target > 0 ? BENCH_RATIO_AT_LEAST : BENCH_PRINT_ONLY;
    snprintf(figure.name, sizeof figure.name, "%s/%s%s", server->kind->name, name, suffix);
    bench_report(server->b, &figure, our, baseline);
}

static void servers_measure_pairs(const bench_server *server, contest *c, const pairs_row *row)
{
    bench_figure wanted;
    if (!bench_server_wants(server, row->name, &wanted))
        return;
    set_clients(c, row->clients, row->fresh);
    bench_side sides[] = {{bench_clients_work, &c->own},
                          {bench_clients_work, &c->same_rows},
                          {bench_clients_work, &c->one_row},
                          {bench_clients_work, &c->shared}};
    bench_series series[4];
    bench_interleave(server->b, sides, row->clients > 1 ? 4 : 3, series);
    servers_report(server, row->name, "", "by hand, same rows", row->same_rows, &series[0],
                   &series[1]);
    servers_report(server, row->name, "/one-row", "by hand, one row", row->one_row, &series[0],
                   &series[2]);
    if (row->clients == 1)
        return;
    servers_report(server, row->name, "/shared", "by hand, same rows; ours is one store for all",
                   row->same_rows, &series[3], &series[1]);
    servers_report(server, row->name, "/shared/one-row",
                   "by hand, one row; ours is one store for all", row->one_row, &series[3],
                   &series[2]);
}

static void measure_batch(const bench_server *server, contest *c)
{
    bench_figure figure = {.unit = "pairs/s", .judge = BENCH_RATIO_AT_LEAST, .target = 15};
    if (!bench_server_wants(server, "batch-256", &figure))
        return;
    set_clients(c, 1, false);
    ours *one = c->own.contexts[0], *many = c->own.contexts[1];
    many->batch_size = BATCH;
    bench_side sides[] = {{ours_pairs, many}, {ours_pairs, one}};
    bench_series series[2];
    bench_interleave(server->b, sides, 2, series);
    many->batch_size = 1;
    figure.against = "ours in batches of one";
    bench_report(server->b, &figure, &series[0], &series[1]);
}

static void bench_contest(const bench_server *server)
{
    bench_figure figure;
    bool wanted = bench_server_wants(server, "batch-256", &figure);
    for (size_t i = 0; i < sizeof pairs_rows / sizeof pairs_rows[0]; i++)
        wanted |= bench_server_wants(server, pairs_rows[i].name, &figure);
    if (!wanted)
        return;
    contest c = {0};
    open_contest(server, &c);
    for (size_t i = 0; i < sizeof pairs_rows / sizeof pairs_rows[0]; i++)
        servers_measure_pairs(server, &c, &pairs_rows[i]);
    measure_batch(server, &c);
    servers_close_contest(&c);
}

/* ---- a million locks ---- */

static void measure_scale(const bench_server *server, const char *name, double target,
                          const bench_side sides[2], const char *against)
{
    bench *b = server->b;
    bench_figure figure = {
        .unit = "us/pair", .judge = BENCH_RATIO_AT_MOST, .target = target, .against = against};
    if (!bench_server_wants(server, name, &figure))
        return;
    if (b->quick || target <= 0)
        figure.judge = BENCH_PRINT_ONLY;
    bench_series rate[2];
    bench_interleave(b, sides, 2, rate);
    bench_series cost[2] = {bench_cost_us(&rate[0]), bench_cost_us(&rate[1])};
    bench_report(b, &figure, &cost[0], &cost[1]);
}

static void bench_server_scale(const bench_server *server)
{
    bench_figure figure;
    bench_space few, many;
    if (!bench_server_wants(server, "scale", &figure) &&
        !bench_server_wants(server, "scale/", &figure))
        return;
    const char *against =
        server->b->quick ? "50,000 held against 1,000" : "1,000,000 held against 1,000";
    bench_space_open(server, "bench_few", FEW, &few);
    bench_space_open(server, "bench_many", server->b->quick ? MANY_QUICK : MANY, &many);
    bench_side by_us[] = {{ours_pairs, many.ours}, {ours_pairs, few.ours}};
    bench_side by_hand[] = {{hand_pairs, many.hand}, {hand_pairs, few.hand}};
    measure_scale(server, "scale", 1.3, by_us, against);
    measure_scale(server, "scale/hand", 0, by_hand, "the same by hand");
    static const int analyze[] = {HAND_ANALYZE_LOCK, HAND_ANALYZE_RESOURCE, HAND_ANALYZE_SESSION};
    for (size_t i = 0; i < sizeof analyze / sizeof analyze[0]; i++) {
        bench_space_run(&few, analyze[i]);
        bench_space_run(&many, analyze[i]);
    }
    measure_scale(server, "scale/analyzed", 1.3, by_us, "with statistics");
    bench_space_close(&many);
    bench_space_close(&few);
}

/* ---- beats ---- */

static void bench_server_beats(const bench_server *server)
{
    bench_figure figure = {.unit = "us/beat",
                           .against = "a session with 1 lock",
                           .judge = BENCH_RATIO_AT_MOST,
                           .target = 5};
    bench_space space;
    if (!bench_server_wants(server, "beat/1000-locks", &figure))
        return;
    bench_space_open(server, "bench_beats", 0, &space);
    ours *one = ours_on(server->b, space.ours->store), *many = space.ours;
    ours_keep(one, 0, 1);
    ours_keep(many, 1, BEAT_LOCKS);
    bench_side sides[] = {{ours_beats, many}, {ours_beats, one}};
    bench_series rate[2];
    bench_interleave(server->b, sides, 2, rate);
    bench_series cost[2] = {bench_cost_us(&rate[0]), bench_cost_us(&rate[1])};
    bench_report(server->b, &figure, &cost[0], &cost[1]);
    ours_close(one);
    bench_space_close(&space);
}

/* ---- all of it ---- */

static void measure_server(bench *b, const hand_kind *kind, const char *name, const char *url)
{
    char group[32];
    snprintf(group, sizeof group, "%s/", name);
    if (!bench_wants(b, group))
        return;
    if (url == NULL || kind == NULL) {
        printf("%-31s left out: %s\n", group,
               kind == NULL ? "its client library was not there when hf-bench was built"
                            : "no server was named");
        return;
    }
    bench_server server = {b, kind, url};
    bench_trips(&server);
    bench_contest(&server);
    bench_server_beats(&server);
    bench_server_scale(&server);
}

void bench_servers(bench *b)
{
    const hand_kind *postgres = NULL, *mariadb = NULL;
#ifdef BENCH_POSTGRES
    postgres = &hand_kind_postgres;
#endif
#ifdef BENCH_MYSQL
    mariadb = &hand_kind_mariadb;
#endif
    measure_server(b, postgres, "postgres", b->postgres);
    measure_server(b, mariadb, "mariadb", b->mariadb);
}
