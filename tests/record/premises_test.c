/* SPDX-License-Identifier: MIT */
/* What a unit relies on, one session after another: what was read is what counts, whoever is told
 * that it no longer holds learns who changed what. Schedules are in schedules_test.c. */
#include "record/scene.h"

#include <string.h>

static scene *premises_open(void)
{
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_customer (id, name, phone, changed_by) "
                 "VALUES (42, 'Meier', '1', 'Carol');"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (7, 42, 'Bern');"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (8, 42, 'Thun');"
                 "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 1);"
                 "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'y', 2);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1);"
                 "INSERT INTO {n}_loose (code, a, b) VALUES ('x', 'a', 'b')");
    return s;
}

static void premises_rely(scene *s, hf_unit *unit, hf_rely_kind kind, const char *resource)
{
    hf_reliance on = {.kind = kind, .resource = resource};
    expect(HF_OK, hf_unit_rely(unit, &on, &s->err), s->err);
}

/* A unit that sets the doctor and relies on something else. */
static hf_unit *premises_unit(scene *s, hf_rely_kind kind, const char *resource)
{
    hf_unit *unit = scene_unit(s, "Alice");
    scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(0));
    premises_rely(s, unit, kind, resource);
    return unit;
}

/* The commit is refused with that one sentence; frees the unit. */
static void premises_refused(hf_unit *unit, const char *resource, const char *sentence)
{
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_int(hf_report_count(report), 1);
    expect_int(hf_report_at(report, 0)->kind, HF_CLASH_PREMISE);
    expect_text(hf_report_at(report, 0)->resource, resource);
    expect_contains(hf_report_at(report, 0)->message, sentence);
    hf_report_free(report);
    hf_unit_free(unit);
}

static void a_broken_premise_says_who_and_what(void **state)
{
    (void)state;
    scene *s = premises_open();
    hf_unit *unit = premises_unit(s, HF_RELY_UNCHANGED, "address/7"); /* its aggregate */
    scene_run(s, "UPDATE {n}_customer SET version = 2, changed_by = 'Bob'");
    premises_refused(unit, "customer/42",
                     "customer/42, on which this work relies, was changed by Bob (you read version "
                     "1, it is now 2).");
    unit = premises_unit(s, HF_RELY_UNCHANGED, "line/1,x");
    scene_run(s, "DELETE FROM {n}_line WHERE place = 'x'");
    premises_refused(unit, "line/1,x", "line/1,x, on which this work relies, was deleted.");
    unit = premises_unit(s, HF_RELY_PRESENT, "line/1,y");
    scene_run(s, "DELETE FROM {n}_line");
    premises_refused(unit, "line/1,y", "line/1,y, on which this work relies, is no longer there.");
    unit = premises_unit(s, HF_RELY_ABSENT, "line/1,y");
    scene_run(s, "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'y', 2)");
    premises_refused(unit, "line/1,y", "line/1,y, on which this work relies, is there by now.");
    unit = premises_unit(s, HF_RELY_PRESENT, "line/1,y"); /* and as long as it holds */
    scene_commit(unit);
    hf_unit_free(unit);
    expect_text(scene_value(s, "SELECT on_call FROM {n}_doctor"), "0");
    scene_close(s);
}

/* The write compares the columns that it sets; the premise all of them. */
static void what_is_written_may_be_relied_on_as_a_whole(void **state)
{
    (void)state;
    scene *s = premises_open();
    for (int relies = 0; relies < 2; relies++) {
        hf_unit *unit = scene_unit(s, "Alice");
        scene_set(scene_find(unit, "loose/x"), "a", HF_TEXT(relies ? "a2" : "a1"));
        if (relies)
            premises_rely(s, unit, HF_RELY_UNCHANGED, "loose/x");
        scene_run(s, relies ? "UPDATE {n}_loose SET b = 'theirs'" : "UPDATE {n}_loose SET b = 'c'");
        if (relies) {
            premises_refused(unit, "loose/x", "loose/x, on which this work relies, was changed.");
            continue;
        }
        scene_commit(unit);
        hf_unit_free(unit);
    }
    expect_text(scene_value(s, "SELECT a FROM {n}_loose"), "a1");
    scene_close(s);
}

#define PREMISES_THING "thing/00000000-0000-0000-0000-000000000001"

static void what_was_made_again_is_not_what_was_read(void **state)
{
    (void)state;
    scene *s = premises_open();
    hf_unit *carol = scene_unit(s, "Carol");
    hf_record *made = NULL;
    expect(HF_OK, hf_unit_add(carol, scene_table(s, "thing")->name, NULL, &made, &s->err), s->err);
    scene_set(made, "id", HF_TEXT(strchr(PREMISES_THING, '/') + 1));
    scene_commit(carol);
    expect_text(scene_text(made, "made_by"), "Carol");
    hf_unit *bob = scene_unit(s, "Bob");
    scene_set(scene_find(bob, PREMISES_THING), "title", HF_TEXT("Bob's"));
    scene_commit(bob);
    expect_text(scene_value(s, "SELECT made_by FROM {n}_thing"), "Carol"); /* still */
    hf_unit *relying = premises_unit(s, HF_RELY_UNCHANGED, PREMISES_THING);
    hf_unit *setting = scene_unit(s, "Dave"), *removing = scene_unit(s, "Erin");
    scene_set(scene_find(setting, PREMISES_THING), "title", HF_TEXT("Dave's"));
    expect(HF_OK, hf_unit_remove(removing, scene_find(removing, PREMISES_THING), &s->err), s->err);
    scene_run(s, "DELETE FROM {n}_thing;"
                 "INSERT INTO {n}_thing (id, title, version, made_by, made_at) VALUES "
                 "('00000000-0000-0000-0000-000000000001', 'new', 2, 'Mallory', "
                 "'2026-01-01 00:00:00')");
    premises_refused(relying, PREMISES_THING, "was changed");
    hf_report_free(scene_refused(setting, HF_STALE));
    hf_report_free(scene_refused(removing, HF_STALE));
    expect_text(scene_value(s, "SELECT title FROM {n}_thing"), "new");
    hf_unit_free(setting);
    hf_unit_free(removing);
    hf_unit_free(bob);
    hf_unit_free(carol);
    scene_close(s);
}

/* The result of a query is the one that the program has seen, whenever it says that it relies on
 * it. */
static void a_result_is_what_was_selected(void **state)
{
    (void)state;
    scene *s = premises_open();
    hf_record **found = NULL;
    size_t count = 0;
    const char *lines = scene_table(s, "line")->name;
    hf_reliance on = {.kind = HF_RELY_RESULT,
                      .resource = lines,
                      .where = "amount > ?1",
                      .args = &HF_NUMBER(0),
                      .count = 1};
    for (int selected = 0; selected < 2; selected++) {
        hf_unit *unit = scene_unit(s, "Alice");
        scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(selected));
        if (selected)
            expect(HF_OK,
                   hf_unit_select(unit, lines, "amount > ?1 ORDER BY place DESC", &HF_NUMBER(0), 1,
                                  &found, &count, &s->err),
                   s->err);
        scene_run(s, selected ? "UPDATE {n}_line SET amount = 9, version = 2 WHERE place = 'y'"
                              : "UPDATE {n}_line SET amount = 8, version = 2 WHERE place = 'y'");
        expect(HF_OK, hf_unit_rely(unit, &on, &s->err), s->err);
        if (selected) {
            premises_refused(unit, "line", "line, on which this work relies, has other rows");
            continue;
        }
        scene_commit(unit); /* as it was when it was relied on */
        hf_unit_free(unit);
    }
    hf_unit *unit = scene_unit(s, "Alice");
    expect(HF_OK, hf_unit_select(unit, lines, on.where, on.args, 1, &found, &count, &s->err),
           s->err);
    scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(1));
    expect(HF_OK, hf_unit_rely(unit, &on, &s->err), s->err);
    scene_commit(unit); /* nothing has changed since */
    hf_unit_free(unit);
    scene_close(s);
}

/* The other members are told, one that is gone by itself. */
static void a_read_member_that_is_gone_is_told(void **state)
{
    (void)state;
    scene *s = premises_open();
    hf_unit *unit = scene_unit(s, "Alice");
    scene_find(unit, "address/8");
    scene_set(scene_find(unit, "address/7"), "city", HF_TEXT("Chur"));
    scene_run(s, "DELETE FROM {n}_address WHERE id = 8;"
                 "UPDATE {n}_customer SET version = 2, changed_by = 'Bob'");
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_int(hf_report_count(report), 2);
    expect_text(hf_report_at(report, 0)->message,
                "customer/42 was changed by Bob (you read version 1, it is now 2).");
    expect_int(hf_report_at(report, 1)->kind, HF_CLASH_DELETED);
    expect_text(hf_report_at(report, 1)->message, "address/8 was deleted by Bob.");
    hf_report_free(report);
    hf_unit_free(unit);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_premise_says_who_and_what),
        cmocka_unit_test(what_is_written_may_be_relied_on_as_a_whole),
        cmocka_unit_test(what_was_made_again_is_not_what_was_read),
        cmocka_unit_test(a_result_is_what_was_selected),
        cmocka_unit_test(a_read_member_that_is_gone_is_told),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
