/* SPDX-License-Identifier: MIT */
/* The mapper registry of examples/customer: what a command that forgets the lock or comes too late
 * is answered, under each of the four policies; and the merge, field by field. */
#include <merge.h>
#include <registry.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>

static const person alice = {.user = "alice", .name = "Alice Chen"},
                    bob = {.user = "bob", .name = "Bob Smith"};

typedef struct scene {
    registry records;
    office office;
    work *alice, *bob; /* on customer 42 */
} scene;

static void customer_begin(scene *s)
{
    hf_error err;
    expect(HF_OK, transaction_begin(s->records.db, &err), err);
}

static hf_status customer_finish(scene *s, hf_status status)
{
    hf_error err;
    return transaction_end(s->records.db, status, &err);
}

static work *new_work(scene *s, const person *who)
{
    hf_error err;
    work *it = NULL;
    customer_begin(s);
    expect(HF_OK, work_begin(&s->office, who, 42, NULL, &it, &err), err);
    expect_int(customer_finish(s, HF_OK), HF_OK);
    return it;
}

static void set_policy(scene *s, hf_policy policy)
{
    hf_error err;
    hf_type type = {.type = "customer", .policy = policy};
    expect(HF_OK, hf_manager_type_set(s->records.manager, &type, NULL, &err), err);
}

static int customer_open_scene(void **state)
{
    char path[HF_URL_MAX];
    hf_error err;
    hf_store *store = NULL;
    work *import = NULL;
    customer it = {.id = 42};
    scene *s = calloc(1, sizeof *s);
    s->office.idle_us = HF_IDLE_DEFAULT_US;
    scratch_path(".db", path);
    expect(HF_OK, database_open(path, &s->records.db, &err), err);
    expect(HF_OK, hf_sqlite_wrap(s->records.db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &s->records.manager, &err), err);
    s->office.manager = s->records.manager;
    expect(HF_OK, office_open(&s->office, &err), err);
    expect_true(customer_set(&it, 0, "Chen"));
    customer_begin(s);
    expect(HF_OK, registry_install(&s->records, &err), err);
    expect(HF_OK, work_begin(&s->office, &alice, 42, NULL, &import, &err), err);
    expect(HF_OK, registry_add(&s->records, import, &it, &err), err);
    expect_int(customer_finish(s, HF_OK), HF_OK);
    work_end(import);
    s->alice = new_work(s, &alice);
    s->bob = new_work(s, &bob);
    *state = s;
    return 0;
}

static int customer_close_scene(void **state)
{
    scene *s = *state;
    work_end(s->alice);
    work_end(s->bob);
    hf_manager_close(s->records.manager);
    sqlite3_close(s->records.db);
    free(s);
    return 0;
}

/* A command that only reads or edits; what it got in *out (may be NULL). */
static hf_status customer_take(scene *s, work *it, bool edit, customer *out)
{
    hf_error err;
    const customer *found = NULL;
    customer_begin(s);
    hf_status status = (edit ? registry_edit : registry_find)(&s->records, it, &found, &err);
    if (status == HF_OK && out != NULL)
        *out = *found;
    return customer_finish(s, status);
}

/* A command that saves a city of an address, a member of the aggregate. */
static hf_status customer_save(scene *s, work *it, const customer *read, const char *city,
                               int64_t fence, hf_error *err)
{
    customer changed = *read;
    expect_true(customer_set(&changed, address_begin(0) + 2, city));
    customer_begin(s);
    return customer_finish(s, registry_save(&s->records, it, &changed, fence, NULL, err));
}

/* What stands in the tables and in the store, whatever the policy says. */
static void expect_now(scene *s, const char *city, int64_t version)
{
    hf_error err;
    hf_version now;
    sqlite3_stmt *stmt =
        database_prepare(s->records.db, "SELECT coalesce(max(city), '') FROM address", &err);
    expect_int(sqlite3_step(stmt), SQLITE_ROW);
    expect_text((const char *)sqlite3_column_text(stmt, 0), city);
    sqlite3_finalize(stmt);
    expect(HF_OK, hf_manager_version(s->records.manager, &s->alice->resource, &now, &err), err);
    expect_int(now.number, version);
}

static void editing_without_the_lock_is_refused_and_changes_nothing(void **state)
{
    scene *s = *state;
    customer read = {.id = 42, .version = 1};
    hf_error err;
    for (hf_policy policy = HF_POLICY_EXCLUSIVE_WRITE; policy < HF_POLICY_COUNT; policy++) {
        set_policy(s, policy);
        expect_int(customer_save(s, s->alice, &read, "Paris", 0, &err), HF_NOT_HELD);
        expect_now(s, "", 1);
    }
}

static void reading_takes_what_the_policy_asks_for(void **state)
{
    scene *s = *state;
    hf_error err;
    static const hf_status second[HF_POLICY_COUNT] = {
        [HF_POLICY_OPTIMISTIC] = HF_OK,
        [HF_POLICY_EXCLUSIVE_WRITE] = HF_OK,
        [HF_POLICY_EXCLUSIVE_READ] = HF_LOCKED,
        [HF_POLICY_READ_WRITE] = HF_OK,
    };
    for (hf_policy policy = HF_POLICY_OPTIMISTIC; policy < HF_POLICY_COUNT; policy++) {
        set_policy(s, policy);
        expect_int(customer_take(s, s->alice, false, NULL), HF_OK);
        expect_int(customer_take(s, s->bob, false, NULL), second[policy]);
        bool locks = registry_wants(policy, true) != HF_MODE_COUNT,
             reads = registry_wants(policy, false) != HF_MODE_COUNT;
        customer loose;
        customer_begin(s);
        expect_int(customer_finish(s, registry_read(&s->records, 42, &loose, &err)),
                   reads ? HF_NOT_HELD : HF_OK);
        expect_int(customer_take(s, s->bob, true, NULL), reads ? HF_LOCKED : HF_OK);
        if (locks && !reads)
            expect_int(customer_take(s, s->alice, true, NULL), HF_LOCKED);
        expect(HF_OK, hf_session_release_all(s->alice->session, NULL, &err), err);
        expect(HF_OK, hf_session_release_all(s->bob->session, NULL, &err), err);
    }
}

static void a_stale_save_is_refused_and_says_who_was_faster(void **state)
{
    scene *s = *state;
    customer alices, bobs;
    hf_error err;
    set_policy(s, HF_POLICY_OPTIMISTIC);
    expect_int(customer_take(s, s->alice, true, &alices), HF_OK);
    expect_int(customer_take(s, s->bob, true, &bobs), HF_OK);
    expect_int(customer_save(s, s->alice, &alices, "Paris", 0, &err), HF_OK);
    expect_int(customer_save(s, s->bob, &bobs, "Rome", 0, &err), HF_STALE);
    expect_contains(err.message, "customer/42 was changed by Alice Chen");
    expect_now(s, "Paris", 2);
}

static void a_save_by_a_lost_grant_is_refused(void **state)
{
    scene *s = *state;
    customer read;
    hf_error err;
    hf_result *ended = NULL;
    set_policy(s, HF_POLICY_EXCLUSIVE_WRITE);
    expect_int(customer_take(s, s->alice, true, &read), HF_OK);
    int64_t fence = s->alice->lock.fence;
    expect(HF_OK,
           hf_manager_force_release(s->records.manager, &s->alice->resource, "bob", "lunch", 0,
                                    &ended, &err),
           err);
    hf_result_free(ended);
    expect_int(customer_save(s, s->alice, &read, "Paris", fence, &err), HF_NOT_HELD);
    expect_int(customer_take(s, s->bob, true, NULL), HF_OK);
    expect_int(customer_save(s, s->alice, &read, "Paris", fence, &err), HF_LOCKED);
    expect_int(customer_save(s, s->bob, &read, "Rome", 1, &err),
               HF_NOT_HELD); /* another grant than the page had */
    expect_int(customer_save(s, s->bob, &read, "Rome", s->bob->lock.fence, &err), HF_OK);
    expect_now(s, "Rome", 2);
}

static void what_was_read_before_the_grant_is_read_again(void **state)
{
    scene *s = *state;
    customer before, after;
    hf_error err;
    set_policy(s, HF_POLICY_EXCLUSIVE_WRITE);
    expect_int(customer_take(s, s->bob, false, &before), HF_OK);
    expect_int(customer_take(s, s->alice, true, &before), HF_OK);
    expect_int(customer_save(s, s->alice, &before, "Paris", 0, &err), HF_OK);
    expect_int(customer_take(s, s->bob, false, &after), HF_OK);
    expect_text(after.text[address_begin(0) + 2], ""); /* one work, one reading */
    expect(HF_OK, hf_session_release_all(s->alice->session, NULL, &err), err);
    expect_int(customer_take(s, s->bob, true, &after), HF_OK);
    expect_text(after.text[address_begin(0) + 2], "Paris");
}

static void version_and_record_are_one(void **state)
{
    scene *s = *state;
    customer read;
    hf_error err;
    set_policy(s, HF_POLICY_OPTIMISTIC);
    expect_int(customer_take(s, s->alice, true, &read), HF_OK);
    expect_int(registry_save(&s->records, s->alice, &read, 0, NULL, &err),
               HF_INTERNAL); /* no transaction */
    customer changed = read;
    expect_true(customer_set(&changed, address_begin(0) + 2, "Paris"));
    customer_begin(s);
    expect_int(registry_save(&s->records, s->alice, &changed, 0, NULL, &err), HF_OK);
    /* the program fails after that */
    expect_int(customer_finish(s, HF_UNAVAILABLE), HF_UNAVAILABLE);
    expect_now(s, "", 1);
}

static void a_merge_takes_what_one_changed_and_asks_about_what_both_did(void **state)
{
    (void)state;
    static merge both;
    customer read = {.version = 1}, mine, theirs;
    expect_true(customer_set(&read, 0, "a") && customer_set(&read, 1, "b") &&
                customer_set(&read, 2, "c") && customer_set(&read, 3, "d"));
    mine = theirs = read;
    theirs.version = 2;
    expect_true(customer_set(&mine, 0, "mine") && customer_set(&theirs, 1, "theirs") &&
                customer_set(&mine, 2, "m") && customer_set(&theirs, 2, "t") &&
                customer_set(&mine, 3, "both") && customer_set(&theirs, 3, "both"));
    merge_make(&both, &read, &mine, &theirs);
    expect_int(both.kind[0], MERGE_MINE);
    expect_int(both.kind[1], MERGE_THEIRS);
    expect_int(both.kind[2], MERGE_BOTH);
    expect_int(both.kind[3], MERGE_SAME);
    expect_int(both.both, 1);
    expect_int(both.merged.version, 2);
    expect_text(both.merged.text[0], "mine");
    expect_text(both.merged.text[1], "theirs");
    merge_make(&both, NULL, &mine, &theirs);
    expect_int(both.both, 3); /* what both began with is not known */
}

static void texts_that_cannot_be_shown_are_refused(void **state)
{
    (void)state;
    customer it = {0};
    static char much[FIELD_SIZE + 1];
    memset(much, 'x', FIELD_SIZE);
    expect_true(customer_set(&it, 3, "one\r\ntwo"));
    expect_text(it.text[3], "one\ntwo");
    expect_true(!customer_set(&it, 0, "one\r\ntwo"));
    expect_true(!customer_set(&it, 0, "\x1b[31m") && !customer_set(&it, 0, "\xff") &&
                !customer_set(&it, 0, "\xc3"));
    expect_true(!customer_set(&it, 0, "\xed\xa0\x80") && !customer_set(&it, 0, much));
    expect_true(customer_set(
        &it, 0, "\xe2\x80\xae <b>")); /* what turns text around is isolated where it is shown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(editing_without_the_lock_is_refused_and_changes_nothing,
                                        customer_open_scene, customer_close_scene),
        cmocka_unit_test_setup_teardown(reading_takes_what_the_policy_asks_for, customer_open_scene,
                                        customer_close_scene),
        cmocka_unit_test_setup_teardown(a_stale_save_is_refused_and_says_who_was_faster,
                                        customer_open_scene, customer_close_scene),
        cmocka_unit_test_setup_teardown(a_save_by_a_lost_grant_is_refused, customer_open_scene,
                                        customer_close_scene),
        cmocka_unit_test_setup_teardown(what_was_read_before_the_grant_is_read_again,
                                        customer_open_scene, customer_close_scene),
        cmocka_unit_test_setup_teardown(version_and_record_are_one, customer_open_scene,
                                        customer_close_scene),
        cmocka_unit_test(a_merge_takes_what_one_changed_and_asks_about_what_both_did),
        cmocka_unit_test(texts_that_cannot_be_shown_are_refused),
    };
    return cmocka_run_group_tests_name("customer", tests, NULL, NULL);
}
