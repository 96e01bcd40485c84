/* SPDX-License-Identifier: MIT */
/* The implicit lock: the tables know what a policy wants. Reading acquires what it needs, editing
 * verifies, a missing lock is the programmer's mistake and is named. */
#include "record/scene.h"

#include <string.h>

static scene *locks_open(void)
{
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_policy (id, premium) VALUES (1, 100);"
                 "INSERT INTO {n}_secret (id, word) VALUES (1, 'a');"
                 "INSERT INTO {n}_book (id, title) VALUES (1, 'one')");
    return s;
}

static void locks_end(hf_session *session)
{
    hf_error err;
    expect(HF_OK, hf_session_close(session, &err), err);
    hf_session_free(session);
}

static void reading_acquires_what_reading_needs(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice"), *bob = scene_session(s, "bob");
    hf_unit *hers = scene_unit_of(s, alice), *his = scene_unit_of(s, bob);
    hf_record *record = NULL;
    scene_find(hers, "secret/1");
    expect(HF_LOCKED, hf_unit_find(his, "secret/1", &record, &s->err), s->err);
    expect_text(s->err.holder.user, "alice");
    expect_true(record == NULL);
    scene_find(hers, "book/1"); /* shared: both read */
    scene_find(his, "book/1");
    expect(HF_LOCKED, hf_unit_edit(his, "book/1", &record, &s->err), s->err);
    hf_unit *nobody = scene_unit(s, "carol");
    expect(HF_INVALID, hf_unit_find(nobody, "secret/1", &record, &s->err), s->err);
    expect_contains(s->err.message, "no session");
    hf_unit_free(nobody);
    hf_unit_free(hers);
    locks_end(alice); /* the end of a session releases all */
    expect(HF_OK, hf_unit_edit(his, "book/1", &record, &s->err), s->err);
    scene_find(his, "secret/1");
    hf_unit_free(his);
    locks_end(bob);
    scene_close(s);
}

static void editing_without_the_lock_is_refused(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice"), *bob = scene_session(s, "bob");
    hf_unit *hers = scene_unit_of(s, alice), *his = scene_unit_of(s, bob);
    hf_unit *nobody = scene_unit(s, "carol");
    hf_record *record = NULL;
    scene_set(scene_find(hers, "policy/1"), "premium", HF_NUMBER(120));
    scene_refused(hers, HF_NOT_HELD);
    scene_set(scene_find(nobody, "policy/1"), "premium", HF_NUMBER(121));
    scene_refused(nobody, HF_NOT_HELD);
    expect_text(scene_value(s, "SELECT premium FROM {n}_policy"), "100");
    expect(HF_OK, hf_unit_edit(hers, "policy/1", &record, &s->err), s->err);
    scene_set(scene_find(his, "policy/1"), "premium", HF_NUMBER(130));
    scene_refused(his, HF_LOCKED);
    scene_commit(hers);
    expect_text(scene_value(s, "SELECT premium FROM {n}_policy"), "120");
    expect_text(scene_value(s, "SELECT version FROM {n}_policy"), "2");
    /* what was read before someone else saved can't be edited */
    hf_unit_free(hers);
    locks_end(alice);
    expect(HF_STALE, hf_unit_edit(his, "policy/1", &record, &s->err), s->err);
    hf_unit_free(his);
    hf_unit_free(nobody);
    locks_end(bob);
    scene_close(s);
}

/* Its version is stored, and there is none yet. */
static void what_was_never_saved_can_be_removed(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice");
    hf_unit *unit = scene_unit_of(s, alice);
    hf_record *record = NULL;
    expect(HF_OK, hf_unit_edit(unit, "book/1", &record, &s->err), s->err);
    expect(HF_OK, hf_unit_remove(unit, record, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_book"), "0");
    expect(HF_NOT_FOUND, hf_unit_find(unit, "book/1", &record, &s->err), s->err);
    hf_unit *late = scene_unit_of(s, alice);
    expect(HF_NOT_FOUND, hf_unit_find(late, "book/1", &record, &s->err), s->err);
    expect_contains(s->err.message, "book/1 was deleted by alice");
    hf_unit_free(late);
    hf_unit_free(unit);
    locks_end(alice);
    scene_close(s);
}

static void with_a_lock_and_a_version_both_are_checked(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice");
    hf_unit *unit = scene_unit_of(s, alice);
    hf_record *record = NULL;
    hf_resource name = {"policy", "1"};
    expect(HF_OK, hf_unit_edit(unit, "policy/1", &record, &s->err), s->err);
    scene_set(record, "premium", HF_NUMBER(120));
    scene_run(s, "UPDATE {n}_policy SET premium = 99, version = version + 1"); /* raw, beside us */
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_text(hf_report_at(report, 0)->resource, "policy/1");
    hf_report_free(report);
    scene_run(s, "UPDATE {n}_policy SET premium = 100, version = version - 1");
    hf_result *ended = NULL;
    expect(HF_OK,
           hf_manager_force_release(s->manager, &name, "an operator", "needed now", 0, &ended,
                                    &s->err),
           s->err);
    hf_result_free(ended);
    scene_refused(unit, HF_NOT_HELD);
    expect_text(scene_value(s, "SELECT premium FROM {n}_policy"), "100");
    hf_unit_free(unit);
    locks_end(alice);
    scene_close(s);
}

/* Tables without a version column: the number stands in the resource's row. */
static void stored_versions_move_with_the_record(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice");
    hf_unit *unit = scene_unit_of(s, alice);
    hf_resource name = {"secret", "1"};
    hf_version version;
    hf_record *record = scene_find(unit, "secret/1");
    scene_set(record, "word", HF_TEXT("b"));
    scene_commit(unit);
    expect(HF_OK, hf_manager_version(s->manager, &name, &version, &s->err), s->err);
    expect_true(version.number == 1 && strcmp(version.user, "alice") == 0);
    scene_set(record, "word", HF_TEXT("c"));
    scene_commit(unit);
    expect(HF_OK, hf_unit_remove(unit, record, &s->err), s->err);
    scene_commit(unit);
    expect(HF_OK, hf_manager_version(s->manager, &name, &version, &s->err), s->err);
    expect_true(version.number == 3 && version.gone);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_secret"), "0");
    hf_unit_free(unit);
    locks_end(alice);
    scene_close(s);
}

/* A page that is opened again by the same person, in another session. */
static void a_unit_takes_the_place_of_an_older_session(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *before = scene_session(s, "alice"), *alice = scene_session(s, "alice");
    hf_session *bob = scene_session(s, "bob"), *third = scene_session(s, "alice");
    hf_unit *old = scene_unit_of(s, before), *his = scene_unit_of(s, bob), *hers = NULL;
    hf_unit_options options = {.session = alice, .purpose = "moving house", .replaces = before};
    hf_record *record = NULL;
    scene_find(old, "secret/1");
    expect(HF_OK, hf_unit_open(s->records, &options, &hers, &s->err), s->err);
    expect(HF_OK, hf_unit_edit(hers, "secret/1", &record, &s->err), s->err);
    expect(HF_EXPIRED, hf_session_beat(before, NULL, &s->err), s->err);
    expect(HF_LOCKED, hf_unit_find(his, "secret/1", &record, &s->err), s->err);
    expect_text(s->err.holder.purpose, "moving house");
    hf_unit_free(hers);
    /* refused, the older one goes on */
    options.session = third;
    options.replaces = bob;
    expect(HF_OK, hf_unit_open(s->records, &options, &hers, &s->err), s->err);
    expect(HF_LOCKED, hf_unit_find(hers, "secret/1", &record, &s->err), s->err);
    expect(HF_OK, hf_session_beat(bob, NULL, &s->err), s->err);
    hf_unit_free(hers);
    hf_unit_free(old);
    hf_unit_free(his);
    hf_session_free(before);
    locks_end(alice);
    locks_end(bob);
    locks_end(third);
    scene_close(s);
}

/* What is added is its maker's until the session ends; what was deleted says by whom. */
static void a_new_record_is_locked_by_who_adds_it(void **state)
{
    (void)state;
    scene *s = locks_open();
    hf_session *alice = scene_session(s, "alice"), *bob = scene_session(s, "bob");
    hf_unit *hers = scene_unit_of(s, alice), *his = scene_unit_of(s, bob);
    hf_unit *nobody = scene_unit(s, "carol");
    hf_record *record = NULL, *found = NULL;
    hf_record_info info;
    expect(HF_OK, hf_unit_add(hers, scene_table(s, "secret")->name, NULL, &record, &s->err),
           s->err);
    scene_set(record, "id", HF_NUMBER(7));
    scene_set(record, "word", HF_TEXT("new"));
    scene_commit(hers);
    hf_record_describe(record, &info);
    expect_true(info.version == 1 && strcmp(info.by, "alice") == 0);
    expect(HF_LOCKED, hf_unit_find(his, "secret/7", &found, &s->err), s->err);
    scene_set(record, "word", HF_TEXT("newer"));
    scene_commit(hers);
    expect(HF_OK, hf_unit_remove(hers, record, &s->err), s->err);
    scene_commit(hers);
    hf_unit_free(hers);
    locks_end(alice);
    expect(HF_NOT_FOUND, hf_unit_find(his, "secret/7", &found, &s->err), s->err);
    expect_contains(s->err.message, "secret/7 was deleted by alice at ");
    expect(HF_OK, hf_unit_add(nobody, scene_table(s, "secret")->name, NULL, &record, &s->err),
           s->err);
    scene_set(record, "id", HF_NUMBER(8));
    scene_refused(nobody, HF_NOT_HELD);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_secret"), "1");
    hf_unit_free(nobody);
    hf_unit_free(his);
    locks_end(bob);
    scene_close(s);
}

/* The locks are on the unit's connection, in the transaction of its rows: what the lock store tells
 * PostgreSQL's planner on its own connections is not said there, before or after. */
static void planner_settings_of_the_locks_never_reach_the_rows(void **state)
{
    (void)state;
    scene *s = locks_open();
    if (hf_db_kind_of(s->db) == HF_DB_POSTGRES) {
        static const char as_ever[] = "current_setting('enable_seqscan') = 'on' AND "
                                      "current_setting('enable_hashjoin') = 'on' AND "
                                      "current_setting('plan_cache_mode') = 'auto' AND "
                                      "current_setting('statement_timeout') = '0'";
        hf_session *alice = scene_session(s, "alice");
        hf_unit *unit = scene_unit_of(s, alice);
        hf_record *record = NULL, **found = NULL;
        size_t count = 0;
        hf_reliance on = {.kind = HF_RELY_WHERE, .resource = "book/1", .where = as_ever};
        expect(HF_OK, hf_unit_edit(unit, "secret/1", &record, &s->err), s->err);
        scene_set(record, "word", HF_TEXT("b"));
        expect(HF_OK, hf_unit_rely(unit, &on, &s->err), s->err);
        scene_commit(unit); /* the premise is looked at after the lock, in one transaction */
        expect(HF_OK,
               hf_unit_select(unit, scene_table(s, "policy")->name, as_ever, NULL, 0, &found,
                              &count, &s->err),
               s->err);
        expect_int(count, 1);
        hf_unit_free(unit);
        locks_end(alice);
    }
    scene_close(s);
}

/* Where case does not count for the database, two spellings are one row and one lock. */
static void a_row_has_one_lock_however_its_key_is_spelled(void **state)
{
    (void)state;
    scene *s = locks_open();
    scene_run(s, "INSERT INTO {n}_folder (name, content) VALUES ('Taxes', 'a')");
    hf_session *alice = scene_session(s, "alice"), *bob = scene_session(s, "bob");
    hf_unit *hers = scene_unit_of(s, alice), *his = scene_unit_of(s, bob);
    hf_record *record = NULL;
    hf_record_info info;
    bool same = hf_db_kind_of(s->db) != HF_DB_POSTGRES;
    expect(same ? HF_OK : HF_NOT_FOUND, hf_unit_find(hers, "folder/TAXES", &record, &s->err),
           s->err);
    if (same) {
        hf_record_describe(record, &info);
        expect_text(info.resource, "folder/Taxes");
        expect(HF_LOCKED, hf_unit_find(his, "folder/taxes", &record, &s->err), s->err);
        expect_true(scene_find(hers, "folder/Taxes") == scene_find(hers, "folder/tAXES"));
    }
    hf_unit_free(hers);
    hf_unit_free(his);
    locks_end(alice);
    locks_end(bob);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_acquires_what_reading_needs),
        cmocka_unit_test(editing_without_the_lock_is_refused),
        cmocka_unit_test(what_was_never_saved_can_be_removed),
        cmocka_unit_test(with_a_lock_and_a_version_both_are_checked),
        cmocka_unit_test(stored_versions_move_with_the_record),
        cmocka_unit_test(a_unit_takes_the_place_of_an_older_session),
        cmocka_unit_test(a_new_record_is_locked_by_who_adds_it),
        cmocka_unit_test(planner_settings_of_the_locks_never_reach_the_rows),
        cmocka_unit_test(a_row_has_one_lock_however_its_key_is_spelled),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
