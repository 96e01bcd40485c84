/* SPDX-License-Identifier: MIT */
/* Many records at once: each has its version, and whoever was faster is told. */
#include "record/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BULK = 2500 };

typedef struct many {
    char names[BULK][16];
    const char *keys[BULK];
    int64_t versions[BULK];
    hf_field values[BULK][3];
    hf_bulk bulk;
} many;

static const char *const bulk_columns[] = {"visits", "balance", "seen"};

static many *bulk_many(scene *s)
{
    many *m = calloc(1, sizeof *m);
    char sql[200];
    scene_run(s, "BEGIN");
    for (int i = 0; i < BULK; i++) {
        snprintf(sql, sizeof sql, "INSERT INTO {n}_customer (id, name, visits) VALUES (%d, 'x', 0)",
                 i + 1);
        scene_run(s, sql);
        snprintf(m->names[i], sizeof m->names[i], "%d", i + 1);
        m->keys[i] = m->names[i];
        m->versions[i] = 1;
        m->values[i][0] = HF_NUMBER(i);
        m->values[i][1] = i % 2 == 0 ? HF_TEXT("1.50") : HF_NULL;
        m->values[i][2] = HF_TEXT("2026-11-18T14:02:07Z");
    }
    scene_run(s, "COMMIT");
    m->bulk = (hf_bulk){.table = scene_table(s, "customer")->name,
                        .columns = bulk_columns,
                        .columns_count = 3,
                        .keys = m->keys,
                        .versions = m->versions,
                        .values = m->values[0],
                        .rows = BULK};
    return m;
}

static void many_are_saved_or_told(void **state)
{
    (void)state;
    scene *s = scene_open();
    many *m = bulk_many(s);
    hf_unit_options alice = {.user = "Alice"};
    hf_report *report = NULL;
    size_t saved = 0;
    expect(HF_OK, hf_tables_bulk(s->records, &alice, &m->bulk, &saved, &report, &s->err), s->err);
    expect_int(saved, BULK);
    expect_int(hf_report_count(report), 0);
    hf_report_free(report);
    expect_text(scene_value(s,
                            "SELECT count(*) FROM {n}_customer WHERE visits = id - 1 AND version "
                            "= 2 AND changed_by = 'Alice' AND changed_at IS NOT NULL"),
                "2500");
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer WHERE balance = 1.5"), "1250");
    hf_unit *unit = scene_unit(s, "Bob");
    expect_contains(scene_text(scene_find(unit, "customer/7"), "seen"), "2026-11-18T14:02:07");
    hf_unit_free(unit);
    /* others were faster at two, and the rest stands at version 2 */
    scene_run(s, "UPDATE {n}_customer SET version = 3, changed_by = 'Bob' WHERE id = 17;"
                 "DELETE FROM {n}_customer WHERE id = 2222");
    for (int i = 0; i < BULK; i++) {
        m->versions[i] = 2;
        m->values[i][0] = HF_NUMBER(-1);
    }
    expect(HF_STALE, hf_tables_bulk(s->records, &alice, &m->bulk, &saved, &report, &s->err),
           s->err);
    expect_int(hf_report_count(report), 2);
    expect_text(hf_report_at(report, 0)->resource, "customer/17");
    expect_text(hf_report_at(report, 0)->by, "Bob");
    expect_int(hf_report_at(report, 0)->actual, 3);
    expect_int(hf_report_at(report, 1)->kind, HF_CLASH_DELETED);
    hf_report_free(report);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer WHERE visits = -1"), "0");
    m->bulk.skip = true;
    expect(HF_OK, hf_tables_bulk(s->records, &alice, &m->bulk, &saved, &report, &s->err), s->err);
    expect_int(saved, BULK - 2);
    expect_int(hf_report_count(report), 2);
    hf_report_free(report);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer WHERE visits = -1"), "2498");
    free(m);
    scene_close(s);
}

static void a_bulk_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    scene *s = scene_open();
    hf_unit_options alice = {.user = "Alice"};
    static const char *const keys[] = {"1", "1"}, *const columns[] = {"amount"},
                             *const wrong[] = {"version"}, *const lines[] = {"1,x", "1,x"};
    const hf_field values[] = {HF_NUMBER(1), HF_NUMBER(2)};
    const int64_t versions[] = {1, 1};
    hf_bulk good = {scene_table(s, "line")->name, columns, 1, lines, versions, values, 2, false};
    scene_run(s, "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 0)");
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, &good, NULL, NULL, &s->err), s->err);
    expect_contains(s->err.message, "named twice");
    hf_bulk bulk = good;
    bulk.keys = keys;
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, &bulk, NULL, NULL, &s->err), s->err);
    bulk = good;
    bulk.columns = wrong;
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, &bulk, NULL, NULL, &s->err), s->err);
    bulk = good;
    bulk.table = scene_table(s, "policy")->name; /* with locks */
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, &bulk, NULL, NULL, &s->err), s->err);
    bulk.table = "nowhere";
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, &bulk, NULL, NULL, &s->err), s->err);
    expect(HF_INVALID, hf_tables_bulk(s->records, &alice, NULL, NULL, NULL, &s->err), s->err);
    expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "0");
    if (s->at->own_file) { /* where a column needs no type */
        hf_tables *tables = NULL;
        char name[80];
        static const char *const any[] = {"v"}, *const one[] = {"1"};
        snprintf(name, sizeof name, "%s_any", s->names);
        scene_run(s, "CREATE TABLE {n}_any (id INTEGER PRIMARY KEY, v, version INTEGER NOT NULL "
                     "DEFAULT 1); INSERT INTO {n}_any (id, v) VALUES (1, 7)");
        expect(HF_OK,
               hf_tables_open(s->url, &(hf_table){.name = name, .version = "version"}, 1, NULL,
                              &tables, &s->err),
               s->err);
        bulk = (hf_bulk){name, any, 1, one, versions, values, 1, false};
        expect(HF_INVALID, hf_tables_bulk(tables, &alice, &bulk, NULL, NULL, &s->err), s->err);
        expect_contains(s->err.message, "The column v of ");
        expect_contains(s->err.message, "has no type that says what it holds");
        hf_tables_close(tables);
    }
    good.rows = 1;
    expect(HF_OK, hf_tables_bulk(s->records, &alice, &good, NULL, NULL, &s->err), s->err);
    expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "1");
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_are_saved_or_told),
        cmocka_unit_test(a_bulk_that_makes_no_sense_is_refused),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
