/* SPDX-License-Identifier: MIT */
/* Bad input gets a clear error and changes nothing: durations, modes, policies, what is missing,
 * whole numbers. Names have a file of their own. */
#include "suite.h"

#include <string.h>

static const int64_t bad_durations[] = {
    -1,
    INT64_MIN,
    -HOUR,
    1,
    HF_DURATION_MIN_US - 1,
    HF_DURATION_MAX_US + 1,
    INT64_MAX,
    INT64_MAX - FIXTURE_BEGINS_US,
};
enum { BAD_DURATIONS = sizeof bad_durations / sizeof *bad_durations };

static void a_bad_ttl_is_refused(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "held"));
    for (size_t i = 0; i < BAD_DURATIONS; i++) {
        int64_t bad = bad_durations[i];
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = bad);
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "held"), .ttl_us = bad);
        refused(w, HF_INVALID, RENEW, BY(alice), ON("policy", "held"), .ttl_us = bad);
        refused(w, HF_INVALID, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE,
                .ttl_us = bad);
        refused(w, HF_INVALID, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE,
                .ttl_max_us = bad);
    }
}

static void a_bad_idle_bound_is_refused(fixture *w)
{
    hf_credentials alice = draw(w);
    for (size_t i = 0; i < BAD_DURATIONS; i++)
        refused(w, HF_INVALID, SESSION_OPEN, BY(alice), .user = "alice",
                .idle_us = bad_durations[i]);
}

static void the_shortest_and_longest_durations_are_taken(fixture *w)
{
    hf_credentials brief = person_idle(w, "alice", NULL, HF_DURATION_MIN_US);
    hf_credentials lasting = person_idle(w, "bob", NULL, HF_DURATION_MAX_US);
    done(w, ACQUIRE, BY(brief), ON("policy", "1"), .ttl_us = HF_DURATION_MAX_US);
    const hf_answer *got =
        done(w, ACQUIRE, BY(lasting), ON("policy", "2"), .ttl_us = HF_DURATION_MIN_US);
    expect_int(got->locks[0].ends_us, w->now_us + HF_DURATION_MIN_US);
    got = done(w, ACQUIRE, BY(lasting), ON("policy", "3"), .ttl_us = HF_DURATION_MAX_US);
    expect_int(got->locks[0].ends_us, w->now_us + HF_DURATION_MAX_US);
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE, .ttl_us = HF_DURATION_MIN_US,
         .ttl_max_us = HF_DURATION_MAX_US);
}

static void an_unknown_mode_is_refused(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static const int bad[] = {HF_MODE_COUNT, -1, 7, 1000000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .mode = (hf_mode)bad[i]);
}

static void an_unknown_policy_is_refused(fixture *w)
{
    static const int bad[] = {HF_POLICY_NONE, HF_POLICY_COUNT, -1, 1000000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(w, HF_INVALID, TYPE_SET, .type = "policy", .policy = (hf_policy)bad[i]);
    refused(w, HF_NOT_FOUND, TYPE_GET, .type = "policy");
}

static void what_is_missing_is_said(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), fresh = draw(w);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, SESSION_OPEN, .user = "alice");
    refused(w, HF_INVALID, SESSION_OPEN, BY(fresh));
    refused(w, HF_INVALID, SESSION_OPEN, BY(fresh), .user = "");
    refused(w, HF_INVALID, BEAT);
    refused(w, HF_INVALID, CLOSE);
    refused(w, HF_INVALID, ACQUIRE, ON("policy", "2"));
    refused(w, HF_INVALID, ACQUIRE, BY(alice), .type = "policy");
    refused(w, HF_INVALID, ACQUIRE, BY(alice), .id = "2");
    refused(w, HF_INVALID, RENEW, ON("policy", "1"));
    refused(w, HF_INVALID, DOWNGRADE, ON("policy", "1"));
    refused(w, HF_INVALID, RELEASE, ON("policy", "1"));
    refused(w, HF_INVALID, RELEASE_ALL);
    refused(w, HF_INVALID, HOLDS, ON("policy", "1"));
    refused(w, HF_INVALID, WHO, .type = "policy");
    refused(w, HF_INVALID, REQUEST, ON("policy", "1"));
    refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, DECLINE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, DECLINE, BY(alice), ON("policy", "1"), .target = "not a session id");
    refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", "1"), .target = "");
    refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", "1"), .target = "not a session id");
    refused(w, HF_INVALID, TYPE_GET);
    refused(w, HF_INVALID, TYPE_SET, .policy = HF_POLICY_READ_WRITE);
    refused(w, HF_INVALID, LIST, .target = "not a session id");
    refused(w, HF_INVALID, LIST, .type = "Not A Type");
}

static void a_negative_fence_is_refused(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, RELEASE, BY(alice), ON("policy", "1"), .fence = -1);
    refused(w, HF_INVALID, HOLDS, BY(alice), ON("policy", "1"), .fence = INT64_MIN);
    refused(w, HF_INVALID, RENEW, BY(alice), ON("policy", "1"), .fence = -1);
    refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", "1"), .fence = -1, .target = bob.id);
    refused(w, HF_INVALID, DECLINE, BY(alice), ON("policy", "1"), .fence = -1, .target = bob.id);
    refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .fence = -1, .actor = "root",
            .text = "why");
}

/* P13: the sentence says what is wrong, in words. */
static void a_refusal_says_what_is_wrong(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    expect_contains(
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = -1)->message,
        "ttl");
    expect_contains(refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("Policy", "1"))->message, "type");
    expect_contains(refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", ""))->message, "id");
    expect_contains(
        refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .actor = "root")->message,
        "reason");
    expect_contains(refused(w, HF_INVALID, SESSION_OPEN, BY(alice))->message, "user");
    expect_contains(
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .mode = (hf_mode)9)->message,
        "mode");
}

/* P11: near the end of time nothing overflows. */
static void the_end_of_time_is_no_trouble(fixture *w)
{
    clock_set(w, INT64_MAX - HOUR);
    hf_credentials alice = draw(w);
    refused(w, HF_INVALID, SESSION_OPEN, BY(alice), .user = "alice", .idle_us = 2 * HOUR);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .idle_us = MINUTE);
    refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = 2 * HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
}

static const suite_test bad_input_tests[] = {
    TEST(a_bad_ttl_is_refused),
    TEST(a_bad_idle_bound_is_refused),
    TEST(the_shortest_and_longest_durations_are_taken),
    TEST(an_unknown_mode_is_refused),
    TEST(an_unknown_policy_is_refused),
    TEST(what_is_missing_is_said),
    TEST(a_negative_fence_is_refused),
    TEST(a_refusal_says_what_is_wrong),
    TEST(the_end_of_time_is_no_trouble),
};
THEME(bad_input);
