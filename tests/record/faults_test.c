/* SPDX-License-Identifier: MIT */
/* Connections that are cut in the middle of a commit, and memory that runs out: it was done or it
 * was not, committing again finds out, and nothing is saved twice or by half. */
#include "record/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/out_of_memory.h>
#include <support/proxy.h>

static void faults_rows(scene *s)
{
    scene_run(s, "DELETE FROM {n}_line; DELETE FROM {n}_doctor; DELETE FROM {n}_item;"
                 "INSERT INTO {n}_item (cart, place, what) VALUES ('1', 1, 'a');"
                 "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 1);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1)");
}

/* ---- cuts ---- */

/* A value of the URL's query. */
static void faults_part(const char *url, const char *name, char *out, size_t size)
{
    const char *at = strstr(url, name);
    out[0] = '\0';
    if (at != NULL)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(name), "&"), at + strlen(name));
}

/* The same database through a proxy. */
static proxy *faults_proxy(const scene *s, char *url)
{
    char host[512], port[16], names[64], path[600];
    proxy *between = NULL;
    faults_part(s->url, "host=", host, sizeof host);
    faults_part(s->url, "port=", port, sizeof port);
    faults_part(s->url, "namespace=", names, sizeof names);
    if (host[0] != '\0') {
        snprintf(path, sizeof path, "%s/.s.PGSQL.%s", host, port);
        between = proxy_start(path, 0);
        snprintf(url, HF_URL_MAX, "postgres://postgres@127.0.0.1:%d/test?namespace=%s",
                 proxy_port(between), names);
    } else {
        faults_part(s->url, "socket=", path, sizeof path);
        between = proxy_start(path, 0);
        snprintf(url, HF_URL_MAX, "mysql://root@127.0.0.1:%d/test?namespace=%s",
                 proxy_port(between), names);
    }
    return between;
}

/* Without locks and stored versions, where BEGIN goes with the first statement. */
static hf_tables *faults_open_plain(scene *s, const char *url)
{
    static hf_table tables[2]; /* borrowed as long as they are open */
    hf_tables *through = NULL;
    tables[0] = *scene_table(s, "line");
    tables[1] = *scene_table(s, "doctor");
    expect(HF_OK, hf_tables_open(url, tables, 2, NULL, &through, &s->err), s->err);
    return through;
}

/* READ COMMITTED is no COMMIT: PostgreSQL's is known by its answer, MySQL's by its packet. */
typedef struct cut {
    proxy_way way;
    const char *pattern;
    proxy_when when;
    bool both;   /* two records: a transaction */
    bool stored; /* one whose version stands in holdfast's own table */
} cut;

static void faults_cut(scene *s, hf_tables *through, proxy *between, const cut *it)
{
    hf_unit *unit = NULL;
    hf_error err;
    faults_rows(s);
    expect(HF_OK, hf_unit_open(through, &(hf_unit_options){.user = "Alice"}, &unit, &err), err);
    scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(2));
    if (it->both)
        scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(0));
    hf_record *item = it->stored ? scene_find(unit, "item/1,1") : NULL;
    hf_record_info was = {0}, now = {0};
    if (item != NULL) {
        hf_record_describe(item, &was);
        scene_set(item, "what", HF_TEXT("b"));
    }
    size_t before = proxy_sprung(between);
    proxy_cut_at(between, it->way, it->pattern, it->when);
    hf_status status = hf_unit_commit(unit, NULL, &err);
    expect_int(proxy_sprung(between), before + 1);
    expect_status(HF_UNSURE, status, err.message);
    proxy_cut_never(between);
    expect(HF_OK, hf_unit_commit(unit, NULL, &err), err);
    expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "2");
    expect_text(scene_value(s, "SELECT version FROM {n}_line"), "2"); /* once */
    if (it->both)
        expect_text(scene_value(s, "SELECT version FROM {n}_doctor"), "2");
    if (item != NULL) {
        hf_record_describe(item, &now);
        expect_int(now.version, was.version + 1);
        expect_text(scene_value(s, "SELECT what FROM {n}_item"), "b");
    }
    scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(3)); /* the work goes on */
    scene_commit(unit);
    hf_unit_free(unit);
}

static void a_cut_commit_is_settled_by_the_next(void **state)
{
    (void)state;
    scene *s = scene_open();
    char url[HF_URL_MAX];
    static const cut cuts[] = {
        {PROXY_UP, "UPDATE", PROXY_AFTER, false, false},
        {PROXY_UP, "UPDATE", PROXY_BEFORE, false, false},
        {PROXY_UP, "\003COMMIT", PROXY_AFTER, true, false},
        {PROXY_UP, "\003COMMIT", PROXY_BEFORE, true, true},
        {PROXY_UP, "\003COMMIT", PROXY_AFTER, true, true},
        {PROXY_DOWN, "COMMIT", PROXY_BEFORE, true, true},
        {PROXY_DOWN, "COMMIT", PROXY_BEFORE, true, false},
    };
    bool postgres = hf_db_kind_of(s->db) == HF_DB_POSTGRES;
    for (size_t i = 0; !s->at->own_file && i < sizeof cuts / sizeof *cuts; i++) {
        if (cuts[i].both && postgres != (cuts[i].way == PROXY_DOWN))
            continue;
        hf_tables *through = NULL;
        proxy *between = faults_proxy(s, url);
        if (cuts[i].stored)
            expect(HF_OK, hf_tables_open(url, s->tables, s->count, NULL, &through, &s->err),
                   s->err);
        else
            through = faults_open_plain(s, url);
        faults_cut(s, through, between, &cuts[i]);
        hf_tables_close(through);
        proxy_stop(between);
    }
    scene_close(s);
}

/* ---- round trips ---- */

/* Finds the line, sets it, and says what committing that has cost. */
static size_t faults_trips(hf_tables *through, proxy *between, const char *other, size_t *finding)
{
    hf_unit *unit = NULL;
    hf_error err;
    expect(HF_OK, hf_unit_open(through, &(hf_unit_options){.user = "Alice"}, &unit, &err), err);
    size_t before = proxy_trips(between);
    hf_record *line = scene_find(unit, "line/1,x");
    *finding = proxy_trips(between) - before;
    scene_set(line, "amount", HF_NUMBER(hf_record_get(line, "amount")->number + 1));
    if (other != NULL)
        scene_set(scene_find(unit, other), "on_call", HF_NUMBER(0));
    before = proxy_trips(between);
    scene_commit(unit);
    size_t trips = proxy_trips(between) - before;
    hf_unit_free(unit);
    return trips;
}

/* The statement is its own transaction; two are put into one, whose BEGIN goes with the first of
 * them on PostgreSQL. The same while statements are sent as texts, get names, and have them. */
static void one_record_is_saved_in_one_round_trip(void **state)
{
    (void)state;
    scene *s = scene_open();
    char url[HF_URL_MAX];
    size_t finding = 0;
    if (!s->at->own_file) {
        proxy *between = faults_proxy(s, url);
        faults_rows(s);
        size_t both = hf_db_kind_of(s->db) == HF_DB_POSTGRES ? 5 : 6;
        hf_tables *through = faults_open_plain(s, url);
        for (int i = 0; i < 4; i++) {
            expect_int(faults_trips(through, between, NULL, &finding), 1);
            expect_int(finding, 1);
            scene_run(s, "UPDATE {n}_doctor SET on_call = 1");
            expect_int(faults_trips(through, between, "doctor/1", &finding), both);
        }
        expect_text(scene_value(s, "SELECT version FROM {n}_line"), "9");
        expect_text(scene_value(s, "SELECT version FROM {n}_doctor"), "5");
        hf_tables_close(through);
        proxy_stop(between);
    }
    scene_close(s);
}

/* ---- transactions that end before their COMMIT ---- */

static hf_unit *faults_both(hf_tables *through)
{
    hf_unit *unit = NULL;
    hf_error err;
    expect(HF_OK, hf_unit_open(through, &(hf_unit_options){.user = "Alice"}, &unit, &err), err);
    scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(2));
    scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(0));
    return unit;
}

static void faults_expect_versions(scene *s, const char *line, const char *doctor)
{
    expect_text(scene_value(s, "SELECT version FROM {n}_line"), line);
    expect_text(scene_value(s, "SELECT version FROM {n}_doctor"), doctor);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_doctor"), "1");
}

/* Cut with the BEGIN, refused as stale, refused in the second of two writes: nothing is saved, and
 * the next commit on that connection is a transaction of its own. */
static void what_ends_before_the_commit_saves_nothing(void **state)
{
    (void)state;
    scene *s = scene_open();
    char url[HF_URL_MAX];
    if (!s->at->own_file) {
        proxy *between = faults_proxy(s, url);
        hf_tables *through = faults_open_plain(s, url);
        faults_rows(s);
        hf_unit *unit = faults_both(through);
        proxy_cut_at(between, PROXY_UP, "FOR UPDATE", PROXY_AFTER);
        expect(HF_UNAVAILABLE, hf_unit_commit(unit, NULL, &s->err), s->err);
        proxy_cut_never(between);
        faults_expect_versions(s, "1", "1");
        scene_run(s, "UPDATE {n}_line SET version = 2");
        expect(HF_STALE, hf_unit_commit(unit, NULL, &s->err), s->err);
        faults_expect_versions(s, "2", "1");
        hf_unit_free(unit);
        unit = faults_both(through);
        scene_commit(unit);
        faults_expect_versions(s, "3", "2");
        hf_record *doctor = NULL, *line = NULL;
        const char *doctors = scene_table(s, "doctor")->name, *lines = scene_table(s, "line")->name;
        expect(HF_OK, hf_unit_add(unit, doctors, NULL, &doctor, &s->err), s->err);
        scene_set(doctor, "id", HF_NUMBER(9));
        scene_set(doctor, "on_call", HF_NUMBER(1));
        expect(HF_OK, hf_unit_add(unit, lines, NULL, &line, &s->err), s->err);
        scene_set(line, "document", HF_NUMBER(1));
        scene_set(line, "place", HF_TEXT("x"));
        scene_set(line, "amount", HF_NUMBER(5));
        expect(HF_STALE, hf_unit_commit(unit, NULL, &s->err), s->err);
        faults_expect_versions(s, "3", "2");
        hf_unit_free(unit);
        unit = faults_both(through);
        scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(7));
        scene_commit(unit); /* by one statement */
        faults_expect_versions(s, "4", "2");
        hf_unit_free(unit);
        hf_tables_close(through);
        proxy_stop(between);
    }
    scene_close(s);
}

static void others_may_make_it_impossible_to_tell(void **state)
{
    (void)state;
    scene *s = scene_open();
    char url[HF_URL_MAX];
    hf_tables *through = NULL;
    hf_unit *unit = NULL;
    if (!s->at->own_file) {
        proxy *between = faults_proxy(s, url);
        faults_rows(s);
        expect(HF_OK, hf_tables_open(url, s->tables, s->count, NULL, &through, &s->err), s->err);
        expect(HF_OK, hf_unit_open(through, &(hf_unit_options){.user = "Alice"}, &unit, &s->err),
               s->err);
        scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(2));
        proxy_cut_at(between, PROXY_UP, "UPDATE", PROXY_AFTER);
        expect(HF_UNSURE, hf_unit_commit(unit, NULL, &s->err), s->err);
        proxy_cut_never(between);
        scene_run(s, "UPDATE {n}_line SET amount = 9, version = version + 1");
        expect(HF_UNSURE, hf_unit_commit(unit, NULL, &s->err), s->err);
        expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "9");
        proxy_refuse(between, true); /* and out of reach it is no better known */
        proxy_cut(between);
        expect(HF_UNSURE, hf_unit_commit(unit, NULL, &s->err), s->err);
        expect_contains(s->err.message, "It is still not known");
        hf_unit_free(unit);
        hf_tables_close(through);
        proxy_stop(between);
    }
    scene_close(s);
}

static hf_status faults_count_up(hf_unit *unit, void *context, hf_error *err)
{
    hf_record *line = NULL;
    hf_status status = hf_unit_find(unit, "line/1,x", &line, err);
    ++*(int *)context;
    return status != HF_OK
               ? status
               : hf_record_set(line, "amount", HF_NUMBER(hf_record_get(line, "amount")->number + 1),
                               err);
}

/* What was cut off is committed again, not done again. */
static void a_run_finds_out_by_itself(void **state)
{
    (void)state;
    scene *s = scene_open();
    char url[HF_URL_MAX];
    for (int when = PROXY_BEFORE; !s->at->own_file && when <= PROXY_AFTER; when++) {
        int calls = 0;
        proxy *between = faults_proxy(s, url);
        hf_tables *through = faults_open_plain(s, url);
        faults_rows(s);
        proxy_cut_at(between, PROXY_UP, "UPDATE", (proxy_when)when);
        expect(HF_OK,
               hf_unit_run(through, &(hf_unit_options){.user = "Alice"}, faults_count_up, &calls, 5,
                           &s->err),
               s->err);
        expect_int(calls, 1);
        expect_int(proxy_sprung(between), 1);
        expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "2");
        hf_tables_close(through);
        proxy_stop(between);
    }
    scene_close(s);
}

/* ---- memory ---- */

/* One piece of work from the beginning; whatever it comes to. */
static hf_status faults_work(scene *s, unsigned n, char **token)
{
    hf_unit *unit = NULL;
    hf_record *line = NULL, *added = NULL, *cart = NULL;
    char number[16];
    hf_reliance on = {.kind = HF_RELY_PRESENT, .resource = "doctor/1"};
    hf_status status =
        hf_unit_open(s->records, &(hf_unit_options){.user = "Alice"}, &unit, &s->err);
    if (status == HF_OK)
        status = hf_unit_find(unit, "line/1,x", &line, &s->err);
    if (status == HF_OK)
        status = hf_record_set(line, "amount", HF_NUMBER(hf_record_get(line, "amount")->number + 1),
                               &s->err);
    if (status == HF_OK)
        status = hf_unit_add(unit, scene_table(s, "customer")->name, NULL, &added, &s->err);
    if (status == HF_OK)
        status = hf_record_set(added, "name", HF_TEXT("New"), &s->err);
    snprintf(number, sizeof number, "%u", n);
    if (status == HF_OK)
        status = hf_unit_add(unit, "cart", NULL, &cart, &s->err);
    if (status == HF_OK)
        status = hf_record_set(cart, "cart", HF_TEXT(number), &s->err);
    if (status == HF_OK)
        status = hf_unit_add(unit, scene_table(s, "coupon")->name, cart, &added, &s->err);
    if (status == HF_OK)
        status = hf_unit_rely(unit, &on, &s->err);
    if (status == HF_OK)
        status = hf_unit_export(unit, 1000000, token, &s->err);
    if (status == HF_OK)
        status = hf_unit_commit(unit, NULL, &s->err);
    hf_unit_free(unit);
    return status;
}

static void memory_that_runs_out_saves_nothing(void **state)
{
    (void)state;
    scene *s = scene_open();
    faults_rows(s);
    unsigned done = 0, failed = 0;
    bool more = s->at->own_file;
    for (unsigned n = 1; more; n++) {
        char *token = NULL, wanted[16];
        out_of_memory_begin(OF_LIBRARY, n, false);
        hf_status status = faults_work(s, n, &token);
        more = out_of_memory_end();
        hf_json_free(token);
        expect_true(status == HF_OK || status == HF_NO_MEMORY || status == HF_UNAVAILABLE);
        done += status == HF_OK;
        failed += status != HF_OK;
        snprintf(wanted, sizeof wanted, "%u", done + 1);
        expect_text(scene_value(s, "SELECT amount FROM {n}_line"), wanted);
        expect_text(scene_value(s, "SELECT version FROM {n}_line"), wanted);
        snprintf(wanted, sizeof wanted, "%u", done);
        expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer"), wanted);
        expect_text(scene_value(s, "SELECT count(*) FROM {n}_coupon"), wanted);
    }
    expect_true(!s->at->own_file || (done > 0 && failed > 10));
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_commit_is_settled_by_the_next),
        cmocka_unit_test(one_record_is_saved_in_one_round_trip),
        cmocka_unit_test(what_ends_before_the_commit_saves_nothing),
        cmocka_unit_test(others_may_make_it_impossible_to_tell),
        cmocka_unit_test(a_run_finds_out_by_itself),
        cmocka_unit_test(memory_that_runs_out_saves_nothing),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
