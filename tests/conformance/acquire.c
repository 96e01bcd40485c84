/* SPDX-License-Identifier: MIT */
/* Acquiring one lock: what a grant looks like, who is refused and what they are told, asking again.
 * */
#include "suite.h"

#include <string.h>

/* P2, P8, P11 */
static void a_grant_says_who_what_since_when_and_until_when(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    clock_forward(w, MINUTE);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "12345"), .ttl_us = 2 * MINUTE,
                                .purpose = "renewal");
    expect_int(got->outcome, HF_GRANTED);
    expect_int(got->locks_count, 1);
    const hf_lock *lock = got->locks;
    expect_text(lock->resource.type, "policy");
    expect_text(lock->resource.id, "12345");
    expect_int(lock->mode, HF_EXCLUSIVE);
    expect_int(lock->fence, w->now_us);
    expect_int(lock->since_us, w->now_us);
    expect_int(lock->ends_us, w->now_us + 2 * MINUTE);
    expect_int(lock->expires_us, w->now_us + 2 * MINUTE);
    expect_text(lock->purpose, "renewal");
    expect_text(lock->session, alice.id);
    expect_text(lock->user, "alice");
    expect_text(lock->name, "Alice Chen");
    expect_int(got->now_us, w->now_us);
}

static void without_a_ttl_a_lock_lasts_as_long_as_its_session(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    clock_forward(w, MINUTE);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(got->locks[0].ends_us, 0);
    expect_int(got->locks[0].expires_us, FIXTURE_BEGINS_US + HOUR);
    expect_text(got->locks[0].purpose, "");
}

static void the_earlier_bound_is_told(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    expect_int(got->locks[0].ends_us, w->now_us + HOUR);
    expect_int(got->locks[0].expires_us, w->now_us + MINUTE);
    clock_forward(w, 30 * SECOND);
    done(w, BEAT, BY(alice));
    expect_int(done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0].expires_us,
               w->now_us + MINUTE);
}

static void a_grant_leaves_one_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    news_skip(w);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "renewal");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_ACQUIRED);
    expect_int(event->at_us, w->now_us);
    expect_text(event->resource.type, "policy");
    expect_text(event->resource.id, "1");
    expect_text(event->session, alice.id);
    expect_text(event->user, "alice");
    expect_text(event->actor, "");
    expect_int(event->fence, got->locks[0].fence);
    expect_text(event->reason, "renewal");
}

/* P1, P3, P13 */
static void a_held_lock_is_refused_and_the_holder_is_named(fixture *w)
{
    hf_credentials bob = person(w, "bob", "Bob Smith"), alice = person(w, "alice", "Alice Chen");
    const hf_answer *got =
        done(w, ACQUIRE, BY(bob), ON("policy", "12345"), .ttl_us = 2 * HOUR, .purpose = "renewal");
    const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "12345"));
    expect_int(no->locks_count, 1);
    expect_int(no->locks[0].fence, got->locks[0].fence);
    expect_text(no->locks[0].session, bob.id);
    expect_text(no->locks[0].name, "Bob Smith");
    expect_text(no->locks[0].purpose, "renewal");
    expect_int(no->locks[0].since_us, w->now_us);
    expect_int(no->outcome, HF_OUTCOME_NONE);
    expect_contains(no->message, "policy/12345");
    expect_contains(no->message, "Bob Smith");
    expect_contains(no->message, "10:47 UTC");
    expect_contains(no->message, "\"renewal\"");
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "12345"), .mode = HF_SHARED);
}

static void a_refusal_leaves_no_event(fixture *w)
{
    hf_credentials bob = person(w, "bob", "Bob Smith"), alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    news_skip(w);
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"));
    news(w, 0);
}

/* P1: two tabs of one person are two sessions. */
static void two_sessions_of_one_user_exclude_each_other(fixture *w)
{
    hf_credentials tab1 = person(w, "alice", "Alice Chen"), tab2 = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(tab1), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(tab2), ON("policy", "1"));
}

static void different_resources_do_not_disturb_each_other(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    done(w, ACQUIRE, BY(bob), ON("claim", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "2"));
}

/* P1: of two in one batch the first wins. */
static void two_sessions_race_for_one_lock_and_exactly_one_wins(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_batch *race = batch_of(w, 2);
    add(race, ACQUIRE, BY(alice), ON("policy", "1"));
    add(race, ACQUIRE, BY(bob), ON("policy", "1"));
    run(w, race);
    answer(race, 0, HF_OK);
    const hf_answer *no = answer(race, 1, HF_LOCKED);
    expect_text(no->locks[0].session, alice.id);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

/* P5 */
static void acquiring_what_you_hold_is_harmless(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_lock first =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE, .purpose = "renewal")
            ->locks[0];
    news_skip(w);
    clock_forward(w, 10 * SECOND);
    const hf_answer *again = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = 2 * SECOND,
                                  .purpose = "something else");
    expect_int(again->outcome, HF_ALREADY_YOURS);
    expect_int(again->locks[0].fence, first.fence);
    expect_int(again->locks[0].since_us, first.since_us);
    expect_int(again->locks[0].ends_us, first.ends_us);
    expect_text(again->locks[0].purpose, "renewal");
    again = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    expect_int(again->locks[0].ends_us, first.ends_us);
    again = done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(again->locks[0].ends_us, first.ends_us);
    hf_lock now = done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0];
    expect_int(now.fence, first.fence);
    expect_int(now.ends_us, first.ends_us);
    expect_text(now.purpose, first.purpose);
    news(w, 0);
}

/* P5 */
static void asking_shared_does_not_weaken_exclusive(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_lock first = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0];
    const hf_answer *again = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    expect_int(again->outcome, HF_ALREADY_YOURS);
    expect_int(again->locks[0].mode, HF_EXCLUSIVE);
    expect_int(again->locks[0].fence, first.fence);
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
}

/* P7: only a beat renews. */
static void acquiring_does_not_count_as_a_beat(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    clock_forward(w, 30 * SECOND);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, 29 * SECOND);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, SECOND);
    refused(w, HF_EXPIRED, ACQUIRE, BY(alice), ON("policy", "1"));
}

static void release_then_another_acquires(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    const hf_answer *got = done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(got->outcome, HF_GRANTED);
    expect_text(got->locks[0].session, bob.id);
}

static void holds_tells_whether_and_by_which_grant(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    const hf_answer *held = done(w, HOLDS, BY(alice), ON("policy", "1"));
    expect_int(held->locks_count, 1);
    expect_int(held->locks[0].fence, fence);
    expect_text(held->locks[0].session, alice.id);
    done(w, HOLDS, BY(alice), ON("policy", "1"), .fence = fence);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"), .fence = fence - 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"), .fence = fence + 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"), .fence = fence);
}

static const suite_test acquire_tests[] = {
    TEST(a_grant_says_who_what_since_when_and_until_when),
    TEST(without_a_ttl_a_lock_lasts_as_long_as_its_session),
    TEST(the_earlier_bound_is_told),
    TEST(a_grant_leaves_one_event),
    TEST(a_held_lock_is_refused_and_the_holder_is_named),
    TEST(a_refusal_leaves_no_event),
    TEST(two_sessions_of_one_user_exclude_each_other),
    TEST(different_resources_do_not_disturb_each_other),
    TEST(two_sessions_race_for_one_lock_and_exactly_one_wins),
    TEST(acquiring_what_you_hold_is_harmless),
    TEST(asking_shared_does_not_weaken_exclusive),
    TEST(acquiring_does_not_count_as_a_beat),
    TEST(release_then_another_acquires),
    TEST(holds_tells_whether_and_by_which_grant),
};
THEME(acquire);
