/* SPDX-License-Identifier: MIT */
/* The records of examples/customer: what a command that comes too late or without the lock is
 * answered, under each of the four policies; and the merge, field by field. */
#include <merge.h>
#include <records.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>

static const person alice = {.user = "alice", .name = "Alice Chen"},
                    bob = {.user = "bob", .name = "Bob Smith"};

typedef struct scene {
    records records;
    office office;
    work *alice, *bob; /* on customer 42 */
} scene;

static work *new_work(scene *s, const person *who, work *before)
{
    hf_error err;
    work *it = NULL;
    expect(HF_OK, work_begin(&s->office, who, 42, before, &it, &err), err);
    return it;
}

static void set_policy(scene *s, hf_policy policy)
{
    hf_error err;
    bool moved = false;
    hf_type type = {.type = "customer", .policy = policy};
    expect(HF_OK, hf_manager_type_set(s->records.manager, &type, NULL, &err), err);
    expect(HF_OK, records_look(&s->records, &moved, &err), err);
    expect_int(moved, policy != s->records.policy);
    work_unread(s->alice);
    work_unread(s->bob);
    expect(HF_OK, records_follow(&s->records, &err), err);
}

static int customer_open_scene(void **state)
{
    char path[HF_URL_MAX];
    hf_error err;
    customer it = {.id = 42};
    scene *s = calloc(1, sizeof *s);
    s->office.idle_us = HF_IDLE_DEFAULT_US;
    scratch_path(".db", path);
    expect(HF_OK, records_open(&s->records, path, HF_POLICY_EXCLUSIVE_WRITE, &err), err);
    s->office.manager = s->records.manager;
    expect(HF_OK, office_open(&s->office, &err), err);
    expect_true(customer_set(&it, 0, "Chen"));
    work *import = new_work(s, &alice, NULL);
    expect(HF_OK, records_add(&s->records, import->session, &it, &err), err);
    work_end(import);
    s->alice = new_work(s, &alice, NULL);
    s->bob = new_work(s, &bob, NULL);
    *state = s;
    return 0;
}

static int customer_close_scene(void **state)
{
    scene *s = *state;
    work_end(s->alice);
    work_end(s->bob);
    records_close(&s->records);
    free(s);
    return 0;
}

static hf_status customer_load(scene *s, work *it, bool edit)
{
    hf_error err;
    return records_load(&s->records, it, edit, &err);
}

/* A command that saves the city of an address, a member of the aggregate. */
static hf_status customer_save(scene *s, work *it, const char *city, hf_error *err)
{
    customer typed = it->read;
    typed.version = it->loaded ? typed.version : 1;
    expect_true(customer_set(&typed, address_begin(0) + 2, city));
    return records_save(&s->records, it, &typed, err);
}

/* What stands in the tables, whatever the policy says. */
static void expect_now(scene *s, const char *city, int64_t version)
{
    static listed all[LIST_MAX];
    hf_error err;
    hf_version now;
    hf_resource name = work_resource(42);
    size_t count = 0;
    expect(HF_OK, records_list(&s->records, all, &count, &err), err);
    expect_int(count, 1);
    expect_text(all[0].name, "Chen");
    expect_text(all[0].city, city);
    expect(HF_OK, hf_manager_version(s->records.manager, &name, &now, &err), err);
    expect_int(now.number, version);
}

static void editing_without_the_lock_is_refused_and_changes_nothing(void **state)
{
    scene *s = *state;
    hf_error err;
    expect_int(customer_load(s, s->alice, false), HF_OK);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_NOT_HELD);
    set_policy(s, HF_POLICY_READ_WRITE);
    expect_int(customer_load(s, s->alice, false), HF_OK);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_NOT_HELD);
    expect_int(customer_load(s, s->alice, false), HF_OK);
    expect_int(records_remove(&s->records, s->alice, 1, &err), HF_NOT_HELD);
    expect_now(s, "", 1);
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
        expect_int(customer_load(s, s->alice, false), HF_OK);
        expect_int(customer_load(s, s->bob, false), second[policy]);
        bool locks = records_want(policy, true) != HF_MODE_COUNT,
             reads = records_want(policy, false) != HF_MODE_COUNT;
        customer loose;
        expect_int(records_read(&s->records, &bob, 42, &loose, &err), reads ? HF_INVALID : HF_OK);
        expect_int(customer_load(s, s->bob, true), reads ? HF_LOCKED : HF_OK);
        if (locks && !reads)
            expect_int(customer_load(s, s->alice, true), HF_LOCKED);
        expect(HF_OK, hf_session_release_all(s->alice->session, NULL, &err), err);
        expect(HF_OK, hf_session_release_all(s->bob->session, NULL, &err), err);
    }
}

static void a_stale_save_is_refused_and_says_who_was_faster(void **state)
{
    scene *s = *state;
    hf_error err;
    set_policy(s, HF_POLICY_OPTIMISTIC);
    expect_int(customer_load(s, s->alice, true), HF_OK);
    expect_int(customer_load(s, s->bob, true), HF_OK);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_OK);
    expect_int(customer_save(s, s->bob, "Rome", &err), HF_STALE);
    expect_contains(err.message, "customer/42 was changed by Alice Chen at ");
    expect_int(customer_save(s, s->bob, "Rome", &err), HF_STALE); /* what the page says counts */
    expect_contains(err.message, "you read version 1, it is now 2");
    expect_now(s, "Paris", 2);
    /* a page from before a restart: nothing of it is known but its version */
    work_unread(s->bob);
    s->bob->loaded = false;
    s->bob->read = (customer){.id = 42, .version = 1};
    expect_true(customer_set(&s->bob->read, 0, "Chen"));
    expect_int(customer_save(s, s->bob, "Rome", &err), HF_STALE);
    s->bob->read.version = 2;
    s->bob->loaded = true;
    expect_int(customer_save(s, s->bob, "Rome", &err), HF_OK);
    expect_now(s, "Rome", 3);
}

static void a_save_by_a_lost_grant_is_refused(void **state)
{
    scene *s = *state;
    hf_error err;
    hf_result *ended = NULL;
    hf_resource name = work_resource(42);
    expect_int(customer_load(s, s->alice, true), HF_OK);
    expect(HF_OK,
           hf_manager_force_release(s->records.manager, &name, "bob", "lunch", 0, &ended, &err),
           err);
    hf_result_free(ended);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_NOT_HELD);
    expect_int(customer_load(s, s->bob, true), HF_OK);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_LOCKED);
    expect_int(customer_save(s, s->bob, "Rome", &err), HF_OK);
    expect_now(s, "Rome", 2);
}

static void a_page_that_is_opened_again_takes_the_place_of_the_older(void **state)
{
    scene *s = *state;
    hf_error err;
    set_policy(s, HF_POLICY_EXCLUSIVE_READ);
    expect_int(customer_load(s, s->alice, false), HF_OK);
    s->alice = new_work(s, &alice, s->alice);
    expect_int(customer_load(s, s->bob, true), HF_LOCKED); /* not given back in between */
    expect_int(customer_load(s, s->alice, true), HF_OK);
    expect_int(customer_load(s, s->bob, true), HF_LOCKED);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_OK);
    expect_now(s, "Paris", 2);
}

static void a_deleted_customer_takes_its_addresses_along(void **state)
{
    scene *s = *state;
    hf_error err;
    expect_int(customer_load(s, s->alice, true), HF_OK);
    expect_int(customer_save(s, s->alice, "Paris", &err), HF_OK);
    expect(HF_OK, records_remove(&s->records, s->alice, 2, &err), err);
    expect(HF_NOT_FOUND, records_load(&s->records, s->bob, false, &err), err);
    expect_contains(err.message, "customer/42 was deleted by Alice Chen at ");
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

#define IN_SCENE(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, customer_open_scene, customer_close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCENE(editing_without_the_lock_is_refused_and_changes_nothing),
        IN_SCENE(reading_takes_what_the_policy_asks_for),
        IN_SCENE(a_stale_save_is_refused_and_says_who_was_faster),
        IN_SCENE(a_save_by_a_lost_grant_is_refused),
        IN_SCENE(a_page_that_is_opened_again_takes_the_place_of_the_older),
        IN_SCENE(a_deleted_customer_takes_its_addresses_along),
        cmocka_unit_test(a_merge_takes_what_one_changed_and_asks_about_what_both_did),
        cmocka_unit_test(texts_that_cannot_be_shown_are_refused),
    };
    return cmocka_run_group_tests_name("customer", tests, NULL, NULL);
}
