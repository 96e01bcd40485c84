/* SPDX-License-Identifier: MIT */
/* The law, a line for every cell: what is asked, how the resource looks, what is decided. Written
 * out by hand, so that a change of the law must be made twice. */
#include "lock/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct cell {
    hf_ask ask;
    hf_view view;
    hf_verdict verdict;
} cell;

/* clang-format off */
static const cell cells[] = {
    {HF_ASK_SHARED,    HF_VIEW_FREE,             HF_VERDICT_GRANT},
    {HF_ASK_SHARED,    HF_VIEW_MINE_SHARED,      HF_VERDICT_KEEP},
    {HF_ASK_SHARED,    HF_VIEW_MINE_AMONG,       HF_VERDICT_KEEP},
    {HF_ASK_SHARED,    HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_KEEP},     /* P5: never weaker */
    {HF_ASK_SHARED,    HF_VIEW_THEIRS_SHARED,    HF_VERDICT_GRANT},
    {HF_ASK_SHARED,    HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_LOCKED},
    {HF_ASK_EXCLUSIVE, HF_VIEW_FREE,             HF_VERDICT_GRANT},
    {HF_ASK_EXCLUSIVE, HF_VIEW_MINE_SHARED,      HF_VERDICT_UPGRADE},  /* P5: the only reader */
    {HF_ASK_EXCLUSIVE, HF_VIEW_MINE_AMONG,       HF_VERDICT_LOCKED},
    {HF_ASK_EXCLUSIVE, HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_KEEP},
    {HF_ASK_EXCLUSIVE, HF_VIEW_THEIRS_SHARED,    HF_VERDICT_LOCKED},
    {HF_ASK_EXCLUSIVE, HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_LOCKED},
    {HF_ASK_RENEW,     HF_VIEW_FREE,             HF_VERDICT_NOT_HELD}, /* P7: never revived */
    {HF_ASK_RENEW,     HF_VIEW_MINE_SHARED,      HF_VERDICT_EXTEND},
    {HF_ASK_RENEW,     HF_VIEW_MINE_AMONG,       HF_VERDICT_EXTEND},
    {HF_ASK_RENEW,     HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_EXTEND},
    {HF_ASK_RENEW,     HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_RENEW,     HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_DOWNGRADE, HF_VIEW_FREE,             HF_VERDICT_NOT_HELD},
    {HF_ASK_DOWNGRADE, HF_VIEW_MINE_SHARED,      HF_VERDICT_KEEP},
    {HF_ASK_DOWNGRADE, HF_VIEW_MINE_AMONG,       HF_VERDICT_KEEP},
    {HF_ASK_DOWNGRADE, HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_WEAKEN},
    {HF_ASK_DOWNGRADE, HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_DOWNGRADE, HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_RELEASE,   HF_VIEW_FREE,             HF_VERDICT_NOT_HELD}, /* P6 */
    {HF_ASK_RELEASE,   HF_VIEW_MINE_SHARED,      HF_VERDICT_END},
    {HF_ASK_RELEASE,   HF_VIEW_MINE_AMONG,       HF_VERDICT_END},
    {HF_ASK_RELEASE,   HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_END},
    {HF_ASK_RELEASE,   HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_RELEASE,   HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_HOLDS,     HF_VIEW_FREE,             HF_VERDICT_NOT_HELD},
    {HF_ASK_HOLDS,     HF_VIEW_MINE_SHARED,      HF_VERDICT_KEEP},
    {HF_ASK_HOLDS,     HF_VIEW_MINE_AMONG,       HF_VERDICT_KEEP},
    {HF_ASK_HOLDS,     HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_KEEP},
    {HF_ASK_HOLDS,     HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_HOLDS,     HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_DECLINE,   HF_VIEW_FREE,             HF_VERDICT_NOT_HELD},
    {HF_ASK_DECLINE,   HF_VIEW_MINE_SHARED,      HF_VERDICT_DECLINE},
    {HF_ASK_DECLINE,   HF_VIEW_MINE_AMONG,       HF_VERDICT_DECLINE},
    {HF_ASK_DECLINE,   HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_DECLINE},
    {HF_ASK_DECLINE,   HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_DECLINE,   HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_HAND_OVER, HF_VIEW_FREE,             HF_VERDICT_NOT_HELD},
    {HF_ASK_HAND_OVER, HF_VIEW_MINE_SHARED,      HF_VERDICT_PASS},
    {HF_ASK_HAND_OVER, HF_VIEW_MINE_AMONG,       HF_VERDICT_PASS},
    {HF_ASK_HAND_OVER, HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_PASS},
    {HF_ASK_HAND_OVER, HF_VIEW_THEIRS_SHARED,    HF_VERDICT_NOT_HELD},
    {HF_ASK_HAND_OVER, HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_NOT_HELD},
    {HF_ASK_REQUEST,   HF_VIEW_FREE,             HF_VERDICT_NOBODY},
    {HF_ASK_REQUEST,   HF_VIEW_MINE_SHARED,      HF_VERDICT_NOBODY},
    {HF_ASK_REQUEST,   HF_VIEW_MINE_AMONG,       HF_VERDICT_ASK},      /* a reader who wants to write */
    {HF_ASK_REQUEST,   HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_NOBODY},
    {HF_ASK_REQUEST,   HF_VIEW_THEIRS_SHARED,    HF_VERDICT_ASK},
    {HF_ASK_REQUEST,   HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_ASK},
    {HF_ASK_FORCE,     HF_VIEW_FREE,             HF_VERDICT_NOBODY},
    {HF_ASK_FORCE,     HF_VIEW_MINE_SHARED,      HF_VERDICT_END},
    {HF_ASK_FORCE,     HF_VIEW_MINE_AMONG,       HF_VERDICT_END},
    {HF_ASK_FORCE,     HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_END},
    {HF_ASK_FORCE,     HF_VIEW_THEIRS_SHARED,    HF_VERDICT_END},
    {HF_ASK_FORCE,     HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_END},
    {HF_ASK_SAVE,      HF_VIEW_FREE,             HF_VERDICT_SAVE},     /* where the policy needs no lock */
    {HF_ASK_SAVE,      HF_VIEW_MINE_SHARED,      HF_VERDICT_NOT_HELD},
    {HF_ASK_SAVE,      HF_VIEW_MINE_AMONG,       HF_VERDICT_NOT_HELD},
    {HF_ASK_SAVE,      HF_VIEW_MINE_EXCLUSIVE,   HF_VERDICT_SAVE},
    {HF_ASK_SAVE,      HF_VIEW_THEIRS_SHARED,    HF_VERDICT_LOCKED},
    {HF_ASK_SAVE,      HF_VIEW_THEIRS_EXCLUSIVE, HF_VERDICT_LOCKED},
};
/* clang-format on */

static void every_cell_of_the_law_is_as_written_here(void **state)
{
    (void)state;
    assert_int_equal(sizeof cells / sizeof cells[0], HF_ASKS * HF_VIEWS);
    bool seen[HF_ASKS][HF_VIEWS] = {{false}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const cell *c = &cells[i];
        assert_false(seen[c->ask][c->view]);
        seen[c->ask][c->view] = true;
        if (hf_rules_judge(c->ask, c->view) != c->verdict)
            fail_msg("ask %d in view %d: verdict %d, not %d", c->ask, c->view,
                     hf_rules_judge(c->ask, c->view), c->verdict);
    }
}

/* P1: whatever is granted or upgraded leaves no exclusive lock beside another. */
static void no_verdict_lets_an_exclusive_lock_stand_beside_another(void **state)
{
    (void)state;
    for (int view = 0; view < HF_VIEWS; view++) {
        bool others = view == HF_VIEW_MINE_AMONG || view == HF_VIEW_THEIRS_SHARED ||
                      view == HF_VIEW_THEIRS_EXCLUSIVE;
        hf_verdict exclusive = hf_rules_judge(HF_ASK_EXCLUSIVE, (hf_view)view);
        hf_verdict shared = hf_rules_judge(HF_ASK_SHARED, (hf_view)view);
        if (others)
            assert_int_equal(exclusive, HF_VERDICT_LOCKED);
        if (view == HF_VIEW_THEIRS_EXCLUSIVE)
            assert_int_equal(shared, HF_VERDICT_LOCKED);
    }
}

static void the_view_follows_from_who_holds_what(void **state)
{
    (void)state;
    assert_int_equal(hf_rules_view(false, HF_SHARED, 0, HF_SHARED), HF_VIEW_FREE);
    assert_int_equal(hf_rules_view(true, HF_SHARED, 0, HF_SHARED), HF_VIEW_MINE_SHARED);
    assert_int_equal(hf_rules_view(true, HF_SHARED, 1, HF_SHARED), HF_VIEW_MINE_AMONG);
    assert_int_equal(hf_rules_view(true, HF_EXCLUSIVE, 0, HF_SHARED), HF_VIEW_MINE_EXCLUSIVE);
    assert_int_equal(hf_rules_view(false, HF_SHARED, 3, HF_SHARED), HF_VIEW_THEIRS_SHARED);
    assert_int_equal(hf_rules_view(false, HF_SHARED, 1, HF_EXCLUSIVE), HF_VIEW_THEIRS_EXCLUSIVE);
}

/* P7: dead at the bound, not after it. */
static void a_lock_is_dead_at_its_bound_and_live_just_before(void **state)
{
    (void)state;
    assert_true(hf_rules_live(0, 100, 0, 99));
    assert_false(hf_rules_live(0, 100, 0, 100));
    assert_false(hf_rules_live(50, 100, 0, 99));
    assert_true(hf_rules_live(0, 100, 60, 59));
    assert_false(hf_rules_live(0, 100, 60, 60));
}

/* R7 */
static void a_version_is_current_if_it_is_the_one_that_was_read(void **state)
{
    (void)state;
    assert_true(hf_rules_is_current(7, false, 7, false));
    assert_false(hf_rules_is_current(8, false, 7, false));
    assert_false(hf_rules_is_current(6, false, 7, false)); /* after a restore */
    assert_false(hf_rules_is_current(7, true, 7, false));
    assert_false(hf_rules_is_current(0, false, 7, false));
    assert_true(hf_rules_is_current(0, false, 0, true));
    assert_true(hf_rules_is_current(7, true, 0, true));
    assert_false(hf_rules_is_current(7, false, 0, true));
}

static void the_policies_with_locks_want_one_of_who_edits(void **state)
{
    (void)state;
    assert_false(hf_rules_needs_lock(HF_POLICY_NONE));
    assert_false(hf_rules_needs_lock(HF_POLICY_OPTIMISTIC));
    assert_true(hf_rules_needs_lock(HF_POLICY_EXCLUSIVE_WRITE));
    assert_true(hf_rules_needs_lock(HF_POLICY_EXCLUSIVE_READ));
    assert_true(hf_rules_needs_lock(HF_POLICY_READ_WRITE));
}

static void each_policy_takes_the_modes_written_here(void **state)
{
    (void)state;
    static const bool expected[HF_POLICY_COUNT][HF_MODE_COUNT] = {
        [HF_POLICY_NONE] = {true, true},
        [HF_POLICY_OPTIMISTIC] = {false, false},
        [HF_POLICY_EXCLUSIVE_WRITE] = {true, false},
        [HF_POLICY_EXCLUSIVE_READ] = {true, false},
        [HF_POLICY_READ_WRITE] = {true, true},
    };
    for (int policy = 0; policy < HF_POLICY_COUNT; policy++)
        for (int mode = 0; mode < HF_MODE_COUNT; mode++)
            assert_int_equal(hf_rules_allows((hf_policy)policy, (hf_mode)mode),
                             expected[policy][mode]);
}

/* P8: also when the clock goes back. */
static void fences_grow_strictly_and_with_time(void **state)
{
    (void)state;
    assert_int_equal(hf_rules_next_fence(0, 1000), 1000);
    assert_int_equal(hf_rules_next_fence(1000, 1000), 1001);
    assert_int_equal(hf_rules_next_fence(5000, 1000), 5001);
    assert_int_equal(hf_rules_next_fence(5000, 9000), 9000);
}

static void a_bound_follows_from_what_is_asked_and_the_type(void **state)
{
    (void)state;
    hf_type plain = {"t", HF_POLICY_NONE, 0, 0}, both = {"t", HF_POLICY_READ_WRITE, 10, 20},
            most = {"t", HF_POLICY_READ_WRITE, 0, 20};
    int64_t ends;
    assert_int_equal(hf_rules_ends(&plain, 0, 100, &ends), HF_TTL_OK);
    assert_int_equal(ends, 0);
    assert_int_equal(hf_rules_ends(&plain, 7, 100, &ends), HF_TTL_OK);
    assert_int_equal(ends, 107);
    assert_int_equal(hf_rules_ends(&both, 0, 100, &ends), HF_TTL_OK);
    assert_int_equal(ends, 110);
    assert_int_equal(hf_rules_ends(&both, 20, 100, &ends), HF_TTL_OK);
    assert_int_equal(ends, 120);
    assert_int_equal(hf_rules_ends(&both, 21, 100, &ends), HF_TTL_OVER_MAX);
    assert_int_equal(hf_rules_ends(&most, 0, 100, &ends), HF_TTL_OK);
    assert_int_equal(ends, 120);
    assert_int_equal(hf_rules_ends(&plain, 10, INT64_MAX - 5, &ends), HF_TTL_OVERFLOW);
}

static void a_policy_changes_only_while_no_lock_lives(void **state)
{
    (void)state;
    assert_true(hf_rules_type_may_change(HF_POLICY_NONE, HF_POLICY_READ_WRITE, false));
    assert_false(hf_rules_type_may_change(HF_POLICY_NONE, HF_POLICY_READ_WRITE, true));
    assert_true(hf_rules_type_may_change(HF_POLICY_READ_WRITE, HF_POLICY_READ_WRITE, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_law_is_as_written_here),
        cmocka_unit_test(no_verdict_lets_an_exclusive_lock_stand_beside_another),
        cmocka_unit_test(the_view_follows_from_who_holds_what),
        cmocka_unit_test(a_lock_is_dead_at_its_bound_and_live_just_before),
        cmocka_unit_test(a_version_is_current_if_it_is_the_one_that_was_read),
        cmocka_unit_test(the_policies_with_locks_want_one_of_who_edits),
        cmocka_unit_test(each_policy_takes_the_modes_written_here),
        cmocka_unit_test(fences_grow_strictly_and_with_time),
        cmocka_unit_test(a_bound_follows_from_what_is_asked_and_the_type),
        cmocka_unit_test(a_policy_changes_only_while_no_lock_lives),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
