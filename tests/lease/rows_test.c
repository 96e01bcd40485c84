/* SPDX-License-Identifier: MIT */
/* Leases in the rows of a store while someone else keeps its file busy: nothing is refused for it,
 * and what was given back meanwhile is free soon after. */
#include <lease/scene.h>
#include <sqlite3.h>
#include <string.h>

/* Someone in the middle of a change of the file, for longer than a call waits for that. */
static sqlite3 *rival_begin(const scene *s)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(s->url + strlen("sqlite:"), &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void rival_end(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static hf_lease lease_rows_take(scene *s)
{
    hf_lease lease;
    expect(HF_OK, hf_lease_try_acquire(s->a, "k", 0, 60 * SEC, &lease, &s->err), s->err);
    return lease;
}

static void what_is_given_back_to_a_busy_file_is_free_soon_after(void **state)
{
    (void)state;
    scene *s = scene_open_with("sqlite:", &(hf_leases_options){.pulse_us = 2 * SEC});
    hf_lease lease = lease_rows_take(s);
    sqlite3 *rival = rival_begin(s);
    hf_lease_close(&lease);
    expect_true(!hf_lease_is_held(&lease));
    rival_end(rival);
    expect(HF_OK, elsewhere(s->b, "k", 8 * SEC, &s->err), s->err);
    scene_close(s);
}

static void *rival_end_soon(void *rival)
{
    nap(1200 * MS);
    rival_end(rival);
    return NULL;
}

/* Not the old grant, which its session still has; and nothing that was owed ends the new one. */
static void whoever_takes_it_again_in_the_same_process_gets_a_new_grant(void **state)
{
    (void)state;
    scene *s = scene_open_with("sqlite:", &(hf_leases_options){.pulse_us = 2 * SEC});
    hf_lease lease = lease_rows_take(s), again;
    int64_t fence = hf_lease_fence(&lease);
    sqlite3 *rival = rival_begin(s);
    pthread_t thread;
    hf_lease_close(&lease);
    expect(HF_TIMEOUT, elsewhere(s->a, "k", 0, &s->err), s->err);
    pthread_create(&thread, NULL, rival_end_soon, rival);
    expect(HF_OK, hf_lease_try_acquire(s->a, "k", 20 * SEC, 60 * SEC, &again, &s->err), s->err);
    expect_true(hf_lease_fence(&again) > fence);
    pthread_join(thread, NULL);
    nap(600 * MS);
    expect_true(hf_lease_is_held(&again));
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&again);
    scene_close(s);
}

static void a_wait_outlasts_a_busy_file(void **state)
{
    (void)state;
    scene *s = scene_open_with("sqlite:", &(hf_leases_options){.pulse_us = 2 * SEC});
    sqlite3 *rival = rival_begin(s);
    expect(HF_TIMEOUT, elsewhere(s->a, "k", 0, &s->err), s->err);
    expect_contains(s->err.message, "\"k\" is not available now");
    expect_lacks(s->err.message, "held by");
    person waits = {.leases = s->a, .key = "k", .wait_us = 20 * SEC};
    person_start(&waits);
    nap(1200 * MS);
    expect_true(!atomic_load(&waits.done));
    rival_end(rival);
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    scene_close(s);
}

/* It can't beat meanwhile. */
static void a_session_that_dies_while_the_file_is_busy_is_replaced(void **state)
{
    (void)state;
    scene *s = scene_open("sqlite:");
    hf_lease lease = lease_rows_take(s);
    sqlite3 *rival = rival_begin(s);
    expect_true(eventually(atomic_load(&s->lost) == 1));
    expect_true(!hf_lease_is_held(&lease));
    person waits = {.leases = s->a, .key = "other", .wait_us = 20 * SEC};
    person_start(&waits);
    nap(1200 * MS);
    expect_true(!atomic_load(&waits.done));
    rival_end(rival);
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    hf_lease_close(&lease);
    expect(HF_OK, elsewhere(s->b, "k", 8 * SEC, &s->err), s->err);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_to_a_busy_file_is_free_soon_after),
        cmocka_unit_test(whoever_takes_it_again_in_the_same_process_gets_a_new_grant),
        cmocka_unit_test(a_wait_outlasts_a_busy_file),
        cmocka_unit_test(a_session_that_dies_while_the_file_is_busy_is_replaced),
    };
    return cmocka_run_group_tests_name("leases in a busy file", tests, NULL, NULL);
}
