/* SPDX-License-Identifier: MIT */
/* Merging three ways by the columns' rules, by examples and by properties; and running a piece of
 * work again where that is harmless. */
#include "record/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static scene *merge_open(void)
{
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_customer (id, name, phone, visits, labels, balance) VALUES (42, "
                 "'Meier', '1', 5, 'a,b,c', 10);"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (7, 42, 'Bern');"
                 "INSERT INTO {n}_tax (code, rate) VALUES ('DE', 19)");
    return s;
}

static void what_both_have_set_is_decided_by_rules(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *mine = scene_find(unit, "customer/42");
    scene_set(mine, "phone", HF_TEXT("mine"));    /* theirs */
    scene_set(mine, "visits", HF_NUMBER(7));      /* sum: 5 + 2 + 10 */
    scene_set(mine, "labels", HF_TEXT("b,c,x"));  /* union: less a, less b, plus x, plus y */
    scene_set(mine, "balance", HF_TEXT("12.50")); /* max */
    scene_set(mine, "ratio", HF_REAL(0.5));       /* only mine */
    scene_run(s, "UPDATE {n}_customer SET phone = 'theirs', visits = 15, labels = 'a,c,y', "
                 "balance = 11, born = '2000-01-01', version = version + 1");
    hf_report_free(scene_refused(unit, HF_STALE));
    expect(HF_OK, hf_unit_merge(unit, NULL, &s->err), s->err);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), "15"); /* saves nothing */
    expect_text(scene_text(mine, "born"), "2000-01-01");
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT phone FROM {n}_customer"), "theirs");
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), "17");
    expect_text(scene_value(s, "SELECT labels FROM {n}_customer"), "c,y,x");
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer WHERE balance = 12.5 AND ratio = "
                               "0.5 AND version = 3"),
                "1");
    hf_unit_free(unit);
    scene_close(s);
}

/* Both have added one: that is two, though both have the same value by now. */
static void the_same_from_both_sides_is_summed(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_unit *unit = scene_unit(s, "Alice");
    scene_set(scene_find(unit, "customer/42"), "visits", HF_NUMBER(6));
    scene_set(scene_find(unit, "customer/42"), "name", HF_TEXT("Mayer"));
    scene_run(s, "UPDATE {n}_customer SET visits = 6, name = 'Mayer', version = version + 1");
    expect(HF_OK, hf_unit_merge(unit, NULL, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), "7");
    hf_unit_free(unit);
    scene_close(s);
}

/* Decimals are summed as they are written; SQLite writes large ones so that they can't be. */
static void decimals_are_summed_exactly_or_not_at_all(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_tables *tables = NULL;
    static const hf_column sums[] = {{.name = "balance", .merge = HF_MERGE_SUM}, {0}};
    hf_table customer = *scene_table(s, "customer");
    customer.columns = sums;
    expect(HF_OK, hf_tables_open(s->url, &customer, 1, NULL, &tables, &s->err), s->err);
    for (int large = 0; large < 1 + s->at->own_file; large++) {
        hf_unit *unit = NULL;
        scene_run(s, large ? "UPDATE {n}_customer SET balance = 1e20"
                           : "UPDATE {n}_customer SET balance = 10.1");
        expect(HF_OK, hf_unit_open(tables, &(hf_unit_options){.user = "Alice"}, &unit, &s->err),
               s->err);
        scene_set(scene_find(unit, "customer/42"), "balance", HF_TEXT("10.3"));
        scene_run(s, large ? "UPDATE {n}_customer SET balance = 2e20, version = version + 1"
                           : "UPDATE {n}_customer SET balance = 9.15, version = version + 1");
        expect(large ? HF_STALE : HF_OK, hf_unit_merge(unit, NULL, &s->err), s->err);
        if (!large)
            expect_text(scene_text(scene_find(unit, "customer/42"), "balance"), "9.35");
        hf_unit_free(unit);
    }
    hf_tables_close(tables);
    scene_close(s);
}

/* What goes with the removed record is looked at by nobody: others have just added to it. */
static void a_removal_is_not_merged_over_new_members(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *address = scene_find(unit, "address/7");
    expect(HF_OK, hf_unit_remove(unit, address, &s->err), s->err);
    scene_run(s, "INSERT INTO {n}_room (id, address_id, name) VALUES (70, 7, 'hall');"
                 "UPDATE {n}_customer SET version = version + 1");
    hf_report *report = NULL;
    expect(HF_STALE, hf_unit_merge(unit, &report, &s->err), s->err);
    hf_report_free(report);
    hf_report_free(scene_refused(unit, HF_STALE));
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_room"), "1");
    hf_unit_free(unit);
    unit = scene_unit(s, "Alice"); /* a room has no members: it may go */
    expect(HF_OK, hf_unit_remove(unit, scene_find(unit, "room/70"), &s->err), s->err);
    scene_run(s, "UPDATE {n}_customer SET version = version + 1");
    expect(HF_OK, hf_unit_merge(unit, NULL, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_room"), "0");
    hf_unit_free(unit);
    scene_close(s);
}

#define MERGE_THING "thing/00000000-0000-0000-0000-000000000001"

static void mine_least_and_a_function_of_the_program_decide_too(void **state)
{
    (void)state;
    scene *s = merge_open();
    scene_run(s, "INSERT INTO {n}_thing (id, title, low, path) VALUES "
                 "('00000000-0000-0000-0000-000000000001', 'old', 10, '/a')");
    static const struct {
        int64_t mine, theirs;
        const char *path, *low, *longer; /* what comes of it; NULL: a person decides */
    } rounds[] = {{8, 9, "/a/b/c/d", "8", "/a/b/c/d"},
                  {9, 7, "/b", "7", "/their"},
                  {5, 6, "/equal", "", NULL}};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        scene_run(s, "UPDATE {n}_thing SET path = '/a', title = 'old', low = 10");
        hf_unit *unit = scene_unit(s, "Alice");
        hf_record *mine = scene_find(unit, MERGE_THING);
        char sql[160], title[40];
        snprintf(sql, sizeof sql,
                 "UPDATE {n}_thing SET title = 'theirs', low = %d, "
                 "path = '/their', version = version + 1",
                 (int)rounds[i].theirs);
        snprintf(title, sizeof title, "mine %zu", i);
        scene_set(mine, "title", HF_TEXT(title));
        scene_set(mine, "low", HF_NUMBER(rounds[i].mine));
        scene_set(mine, "path", HF_TEXT(rounds[i].path));
        scene_run(s, sql);
        expect(rounds[i].longer != NULL ? HF_OK : HF_STALE, hf_unit_merge(unit, NULL, &s->err),
               s->err);
        if (rounds[i].longer != NULL) {
            scene_commit(unit);
            expect_text(scene_value(s, "SELECT title FROM {n}_thing"), title);
            expect_text(scene_value(s, "SELECT low FROM {n}_thing"), rounds[i].low);
            expect_text(scene_value(s, "SELECT path FROM {n}_thing"), rounds[i].longer);
        }
        hf_unit_free(unit);
    }
    scene_close(s);
}

static void a_person_decides_where_no_rule_does(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *mine = scene_find(unit, "customer/42");
    hf_report *report = NULL;
    scene_set(mine, "name", HF_TEXT("Mayer"));
    scene_run(s, "UPDATE {n}_customer SET name = 'Maier', version = version + 1");
    expect(HF_STALE, hf_unit_merge(unit, &report, &s->err), s->err);
    expect_text(hf_report_at(report, 0)->columns[0].column, "name");
    hf_report_free(report);
    expect_text(scene_text(mine, "name"), "Mayer"); /* as it was */
    hf_report_free(scene_refused(unit, HF_STALE));
    hf_unit_free(unit);
    scene_close(s);
}

/* What the unit sets may depend on what it has read. */
static void what_was_merely_read_must_not_have_changed(void **state)
{
    (void)state;
    scene *s = merge_open();
    hf_unit *unit = scene_unit(s, "Alice"), *other = scene_unit(s, "Bob");
    scene_set(scene_find(unit, "customer/42"), "visits", HF_NUMBER(6));
    scene_find(unit, "tax/DE");
    scene_set(scene_find(other, "address/7"), "city", HF_TEXT("Basel"));
    scene_run(s, "UPDATE {n}_customer SET visits = 9, version = version + 1");
    expect(HF_OK, hf_unit_merge(unit, NULL, &s->err), s->err);
    expect(HF_OK, hf_unit_merge(other, NULL, &s->err), s->err); /* its root was only loaded */
    scene_commit(other);
    scene_run(s, "UPDATE {n}_tax SET rate = 7");
    hf_report *report = NULL;
    expect(HF_STALE, hf_unit_merge(unit, &report, &s->err), s->err);
    expect_text(hf_report_at(report, 0)->resource, "tax/DE");
    hf_report_free(report);
    hf_unit_free(unit);
    hf_unit_free(other);
    scene_close(s);
}

/* ---- properties ---- */

static void merge_words(unsigned bits, char *out)
{
    out[0] = '\0';
    for (int i = 0; i < 5; i++)
        if (bits & (1u << i))
            snprintf(out + strlen(out), 16, "%s%c", out[0] == '\0' ? "" : ",", 'a' + i);
}

static unsigned merge_bits(const char *words)
{
    unsigned bits = 0;
    for (; *words != '\0'; words++)
        if (*words != ',')
            bits |= 1u << (*words - 'a');
    return bits;
}

/* Two people whose changes are merged: in whichever order they save, the same comes of it, and it
 * is what both changes together make of the base. */
static void merged_changes_commute(void **state)
{
    (void)state;
    scene *s = merge_open();
    srand(7);
    for (int round = 0; round < 12; round++) {
        unsigned base = (unsigned)rand() % 32,
                 sets[2] = {(unsigned)rand() % 32, (unsigned)rand() % 32};
        int visits = rand() % 100, added[2] = {rand() % 50 - 25, rand() % 50 - 25};
        unsigned wanted = (sets[0] & sets[1]) | ((sets[0] | sets[1]) & ~base);
        for (int order = 0; order < 2; order++) {
            char words[32], sql[200];
            hf_unit *units[2];
            merge_words(base, words);
            snprintf(sql, sizeof sql, "UPDATE {n}_customer SET visits = %d, labels = '%s'", visits,
                     words);
            scene_run(s, sql);
            for (int i = 0; i < 2; i++) {
                units[i] = scene_unit(s, "someone");
                hf_record *customer = scene_find(units[i], "customer/42");
                merge_words(sets[i], words);
                scene_set(customer, "labels", HF_TEXT(words));
                scene_set(customer, "visits", HF_NUMBER(visits + added[i]));
            }
            scene_commit(units[order]);
            expect(HF_OK, hf_unit_merge(units[1 - order], NULL, &s->err), s->err);
            scene_commit(units[1 - order]);
            expect_int(merge_bits(scene_value(s, "SELECT labels FROM {n}_customer")), wanted);
            expect_int(strtol(scene_value(s, "SELECT visits FROM {n}_customer"), NULL, 10),
                       visits + added[0] + added[1]);
            hf_unit_free(units[0]);
            hf_unit_free(units[1]);
        }
    }
    scene_close(s);
}

/* ---- running ---- */

static hf_status merge_work(hf_unit *unit, void *context, hf_error *err)
{
    int *calls = context;
    hf_record *customer = NULL;
    hf_status status = hf_unit_find(unit, "customer/42", &customer, err);
    if (status == HF_OK)
        status = hf_record_set(customer, "visits", HF_NUMBER(++*calls), err);
    return status == HF_OK && *calls < 3 ? HF_RETRY : status;
}

static void work_is_run_again_on_retry_alone(void **state)
{
    (void)state;
    scene *s = merge_open();
    int calls = 0;
    hf_unit_options alice = {.user = "Alice"};
    expect_int(hf_unit_run(s->records, &alice, merge_work, &calls, 2, &s->err), HF_RETRY);
    expect_int(calls, 2);
    expect(HF_OK, hf_unit_run(s->records, &alice, merge_work, &calls, 5, &s->err), s->err);
    expect_int(calls, 3);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), "3");
    expect(HF_INVALID, hf_unit_run(s->records, &alice, NULL, NULL, 1, &s->err), s->err);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_both_have_set_is_decided_by_rules),
        cmocka_unit_test(mine_least_and_a_function_of_the_program_decide_too),
        cmocka_unit_test(a_person_decides_where_no_rule_does),
        cmocka_unit_test(the_same_from_both_sides_is_summed),
        cmocka_unit_test(decimals_are_summed_exactly_or_not_at_all),
        cmocka_unit_test(a_removal_is_not_merged_over_new_members),
        cmocka_unit_test(what_was_merely_read_must_not_have_changed),
        cmocka_unit_test(merged_changes_commute),
        cmocka_unit_test(work_is_run_again_on_retry_alone),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
