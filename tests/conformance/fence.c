/* SPDX-License-Identifier: MIT */
/* Fences: they grow strictly per resource, whatever happens in between, and the pair (session,
 * fence) is what counts. */
#include "suite.h"

#include <string.h>

static int64_t fence_grant(fixture *w, const hf_credentials *who, const char *id)
{
    const hf_answer *got = done(w, ACQUIRE, BY(*who), ON("policy", id));
    expect_int(got->outcome, HF_GRANTED);
    return got->locks[0].fence;
}

/* P8 */
static void the_first_fence_is_the_stores_time(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    expect_int(fence_grant(w, &alice, "1"), w->now_us);
    clock_forward(w, 12345);
    expect_int(fence_grant(w, &alice, "2"), w->now_us);
}

/* P8 */
static void a_fence_is_one_more_or_the_time_whichever_is_larger(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = fence_grant(w, &alice, "1");
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    expect_int(fence_grant(w, &alice, "1"), fence + 1);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    expect_int(fence_grant(w, &alice, "1"), w->now_us);
}

/* P8, P11 */
static void a_fence_grows_though_the_clock_goes_back(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY);
    int64_t fence = fence_grant(w, &alice, "1");
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    clock_forward(w, -HOUR);
    expect_int(fence_grant(w, &alice, "1"), fence + 1);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    clock_forward(w, -DAY);
    expect_int(fence_grant(w, &alice, "1"), fence + 2);
}

/* P8 */
static void a_fence_grows_across_every_way_a_lock_ends(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY),
                   bob = person_idle(w, "bob", "Bob Smith", DAY);
    int64_t last = fence_grant(w, &alice, "1");
    int64_t given =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id)->locks[0].fence;
    expect_int(given, last + 1);
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    last = fence_grant(w, &alice, "1");
    expect_int(last, given + 1);
    done(w, RELEASE_ALL, BY(alice));
    last = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MILLISECOND)->locks[0].fence;
    expect_int(last, given + 2);
    clock_forward(w, MILLISECOND);
    int64_t next = fence_grant(w, &bob, "1");
    expect_true(next > last);
    done(w, CLOSE, BY(bob));
    last = next;
    next = fence_grant(w, &alice, "1");
    expect_int(next, last + 1);
}

/* P8 */
static void a_fence_grows_across_a_refused_run(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t first = fence_grant(w, &alice, "1");
    fence_grant(w, &bob, "2");
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    hf_batch *all = batch_of(w, 2);
    add(all, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "2"));
    run(w, all);
    answer(all, 1, HF_LOCKED);
    expect_true(fence_grant(w, &alice, "1") > first);
}

/* P8: sweeping the anchor of a free resource forgets its last fence; time has gone on by then. */
static void a_fence_grows_across_the_sweep_of_its_anchor(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t first = fence_grant(w, &alice, "1");
    done(w, CLOSE, BY(alice));
    clock_forward(w, 3 * HF_KEEP_US);
    sweep_all(w, 0);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    expect_true(fence_grant(w, &bob, "1") > first);
}

/* P8: also when the clock is set back after such a sweep. */
static void a_fence_grows_though_its_anchor_was_swept_and_the_clock_goes_back(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t first = fence_grant(w, &alice, "1");
    done(w, CLOSE, BY(alice));
    clock_forward(w, 3 * HF_KEEP_US);
    sweep_all(w, 0);
    clock_set(w, FIXTURE_BEGINS_US - HOUR);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    expect_true(fence_grant(w, &bob, "1") > first);
}

/* P8: also when an anchor whose fence is lower is swept after it. */
static void a_fence_grows_though_a_lower_one_was_swept_last(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t low = fence_grant(w, &alice, "2");
    clock_forward(w, MINUTE);
    int64_t high = fence_grant(w, &alice, "1");
    expect_true(high > low);
    done(w, CLOSE, BY(alice));
    clock_forward(w, 3 * HF_KEEP_US);
    sweep_all(w, 1);
    clock_set(w, FIXTURE_BEGINS_US - HOUR);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    expect_true(fence_grant(w, &bob, "1") > high);
    expect_true(fence_grant(w, &bob, "2") > low);
}

/* P8 */
static void a_fence_grows_across_closing_and_opening_the_store(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY);
    int64_t first = fence_grant(w, &alice, "1");
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    w->now_us -= HOUR;
    fixture_reopen(w);
    expect_int(fence_grant(w, &alice, "1"), first + 1);
}

/* P8: fences of one resource say nothing about another's, but where those of rows that are gone
 * are the floor of all. */
static void fences_of_different_resources_are_counted_apart(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    for (int i = 0; i < 5; i++) {
        fence_grant(w, &alice, "1");
        done(w, RELEASE, BY(alice), ON("policy", "1"));
    }
    expect_int(fence_grant(w, &alice, "1"), w->now_us + 5);
    expect_int(fence_grant(w, &alice, "2"), w->now_us + (w->at->drops_free ? 5 : 0));
}

/* P6: a fence of an earlier grant. */
static void a_fence_of_an_earlier_grant_counts_nowhere(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t old = fence_grant(w, &alice, "1");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .fence = old);
    int64_t live = fence_grant(w, &alice, "1");
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"), .fence = old);
    refused(w, HF_NOT_HELD, RENEW, BY(alice), ON("policy", "1"), .fence = old, .ttl_us = HOUR);
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(alice), ON("policy", "1"), .fence = old);
    refused(w, HF_NOT_HELD, HAND_OVER, BY(alice), ON("policy", "1"), .fence = old,
            .target = bob.id);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = old);
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .fence = old, .actor = "root",
            .text = "why");
    done(w, HOLDS, BY(alice), ON("policy", "1"), .fence = live);
    done(w, RENEW, BY(alice), ON("policy", "1"), .fence = live, .ttl_us = HOUR);
    done(w, DOWNGRADE, BY(alice), ON("policy", "1"), .fence = live);
    int64_t given =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .fence = live, .target = bob.id)
            ->locks[0]
            .fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .fence = given, .actor = "root", .text = "why");
}

/* P6: the right number in the wrong hands. */
static void a_live_fence_of_someone_else_counts_nowhere(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t fence = fence_grant(w, &alice, "1");
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"), .fence = fence);
    refused(w, HF_NOT_HELD, RENEW, BY(bob), ON("policy", "1"), .fence = fence, .ttl_us = HOUR);
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(bob), ON("policy", "1"), .fence = fence);
    refused(w, HF_NOT_HELD, RELEASE, BY(bob), ON("policy", "1"), .fence = fence);
    refused(w, HF_NOT_HELD, HAND_OVER, BY(bob), ON("policy", "1"), .fence = fence,
            .target = alice.id);
}

static const suite_test fence_tests[] = {
    TEST(the_first_fence_is_the_stores_time),
    TEST(a_fence_is_one_more_or_the_time_whichever_is_larger),
    TEST(a_fence_grows_though_the_clock_goes_back),
    TEST(a_fence_grows_across_every_way_a_lock_ends),
    TEST(a_fence_grows_across_a_refused_run),
    TEST(a_fence_grows_across_the_sweep_of_its_anchor),
    TEST(a_fence_grows_though_its_anchor_was_swept_and_the_clock_goes_back),
    TEST(a_fence_grows_though_a_lower_one_was_swept_last),
    TEST_KEEPING(a_fence_grows_across_closing_and_opening_the_store),
    TEST(fences_of_different_resources_are_counted_apart),
    TEST(a_fence_of_an_earlier_grant_counts_nowhere),
    TEST(a_live_fence_of_someone_else_counts_nowhere),
};
THEME(fence);
