/* SPDX-License-Identifier: MIT */
/* Shared locks: readers beside readers, readers against writers, upgrade and downgrade. */
#include "suite.h"

#include <base/time.h>
#include <stdio.h>
#include <string.h>

static bool is_among(const hf_answer *answer, const hf_credentials *who)
{
    for (size_t i = 0; i < answer->locks_count; i++)
        if (strcmp(answer->locks[i].session, who->id) == 0)
            return true;
    return false;
}

/* P1 */
static void readers_stand_beside_readers_each_with_a_fence_of_their_own(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t first =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    const hf_answer *got = done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    expect_int(got->outcome, HF_GRANTED);
    expect_int(got->locks_count, 1);
    expect_int(got->locks[0].mode, HF_SHARED);
    expect_int(got->locks[0].fence, first + 1);
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 2);
    expect_true(is_among(who, &alice) && is_among(who, &bob));
}

/* P1, P13 */
static void a_writer_is_refused_while_there_are_readers_and_all_of_them_are_named(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(carol), ON("policy", "1"));
    expect_int(no->locks_count, 2);
    expect_true(is_among(no, &alice) && is_among(no, &bob));
    expect_contains(no->message, "policy/1");
    expect_true(strstr(no->message, "Alice Chen") || strstr(no->message, "Bob Smith"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    no = refused(w, HF_LOCKED, ACQUIRE, BY(carol), ON("policy", "1"));
    expect_int(no->locks_count, 1);
    expect_contains(no->message, "Bob Smith");
    done(w, RELEASE, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(carol), ON("policy", "1"));
}

/* P13: that the first of them goes frees nothing. */
static void a_refusal_tells_when_the_last_of_several_readers_is_gone(fixture *w)
{
    hf_credentials readers[3] = {person_idle(w, "alice", "Alice Chen", HOUR),
                                 person_idle(w, "bob", "Bob Smith", 5 * HOUR),
                                 person_idle(w, "carol", "Carol Jones", 3 * HOUR)};
    hf_credentials dora = person_idle(w, "dora", "Dora Lee", DAY);
    char until[HF_TIME_TEXT], sentence[256];
    for (int i = 0; i < 3; i++)
        done(w, ACQUIRE, BY(readers[i]), ON("policy", "1"), .mode = HF_SHARED);
    hf_time_say(w->now_us + 5 * HOUR, w->now_us, until);
    snprintf(sentence, sizeof sentence, "; it frees at %s or when all of them have closed it.",
             until);
    const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(dora), ON("policy", "1"));
    expect_contains(no->message, "policy/1 is being read by Alice Chen and 2 others since ");
    expect_contains(no->message, sentence);
    expect_lacks(no->message, "Alice Chen closes it");
    /* a beat moves it: no sentence may promise that it is free by then */
    clock_forward(w, 10 * MINUTE);
    done(w, BEAT, BY(readers[1]));
    hf_time_say(w->now_us + 5 * HOUR, w->now_us, until);
    snprintf(sentence, sizeof sentence, "; it frees at %s or when all of them have closed it.",
             until);
    expect_contains(refused(w, HF_LOCKED, ACQUIRE, BY(dora), ON("policy", "1"))->message, sentence);
    done(w, BEAT, BY(readers[0]));
    done(w, RELEASE, BY(readers[1]), ON("policy", "1"));
    done(w, RELEASE, BY(readers[2]), ON("policy", "1"));
    hf_time_say(w->now_us + HOUR, w->now_us, until);
    snprintf(sentence, sizeof sentence, "; it frees at %s or when Alice Chen closes it.", until);
    expect_contains(refused(w, HF_LOCKED, ACQUIRE, BY(dora), ON("policy", "1"))->message, sentence);
}

/* P5 */
static void asking_shared_twice_is_harmless(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    news_skip(w);
    const hf_answer *again = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    expect_int(again->outcome, HF_ALREADY_YOURS);
    expect_int(again->locks_count, 1);
    expect_int(again->locks[0].fence, fence);
    news(w, 0);
}

/* P5, P8 */
static void a_sole_reader_becomes_the_writer_with_a_new_fence(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_lock read =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .purpose = "look")
            ->locks[0];
    news_skip(w);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(got->outcome, HF_UPGRADED);
    expect_int(got->locks[0].mode, HF_EXCLUSIVE);
    expect_int(got->locks[0].fence, read.fence + 1);
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_UPGRADED);
    expect_int(event->fence, read.fence + 1);
    expect_text(event->session, alice.id);
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"), .fence = read.fence);
    done(w, HOLDS, BY(alice), ON("policy", "1"), .fence = read.fence + 1);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

/* P5: never a shorter bound. */
static void an_upgrade_never_shortens_the_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY);
    hf_lock read =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .ttl_us = HOUR)->locks[0];
    hf_lock write = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = SECOND)->locks[0];
    expect_true(write.ends_us == 0 || write.ends_us >= read.ends_us);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"), .mode = HF_SHARED);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "2"), .ttl_us = SECOND)->locks[0].ends_us,
               0);
}

/* P1, P5 */
static void an_upgrade_is_refused_while_others_read(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(no->locks_count, 1);
    expect_text(no->locks[0].session, bob.id);
    expect_contains(no->message, "Bob Smith");
    expect_lacks(no->message, "Alice Chen");
    const hf_answer *held = done(w, HOLDS, BY(alice), ON("policy", "1"), .fence = fence);
    expect_int(held->locks[0].mode, HF_SHARED);
}

/* P1, P7 */
static void a_dead_reader_does_not_stand_in_the_way_of_an_upgrade(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    clock_forward(w, MINUTE);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(got->outcome, HF_UPGRADED);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

/* P1 */
static void two_readers_who_both_want_to_write_are_both_told(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    done(w, RELEASE, BY(bob), ON("policy", "1"));
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"))->outcome, HF_UPGRADED);
}

/* P1, P8 */
static void a_downgrade_keeps_fence_bound_and_purpose_and_lets_readers_in(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_lock write =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE, .purpose = "renewal")
            ->locks[0];
    news_skip(w);
    clock_forward(w, SECOND);
    hf_lock read = done(w, DOWNGRADE, BY(alice), ON("policy", "1"))->locks[0];
    expect_int(read.mode, HF_SHARED);
    expect_int(read.fence, write.fence);
    expect_int(read.since_us, write.since_us);
    expect_int(read.ends_us, write.ends_us);
    expect_text(read.purpose, "renewal");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_DOWNGRADED);
    expect_int(event->fence, write.fence);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"));
}

static void a_downgrade_needs_the_lock_and_the_right_fence(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(alice), ON("policy", "1"));
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(bob), ON("policy", "1"), .fence = fence);
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(alice), ON("policy", "1"), .fence = fence - 1);
    done(w, DOWNGRADE, BY(alice), ON("policy", "1"), .fence = fence);
}

static void downgrading_a_shared_lock_changes_nothing(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    char *before = snapshot(w);
    expect_int(done(w, DOWNGRADE, BY(alice), ON("policy", "1"))->locks[0].mode, HF_SHARED);
    unchanged(w, before);
}

/* One reader's going leaves the others: releasing a shared lock once deleted a writer's elsewhere.
 * */
static void releasing_one_shared_lock_leaves_the_others(fixture *w)
{
    hf_credentials people[3];
    for (int i = 0; i < 3; i++) {
        people[i] = person(w, "reader", NULL);
        done(w, ACQUIRE, BY(people[i]), ON("policy", "1"), .mode = HF_SHARED);
    }
    done(w, RELEASE, BY(people[1]), ON("policy", "1"));
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 2);
    expect_true(is_among(who, &people[0]) && is_among(who, &people[2]));
    refused(w, HF_NOT_HELD, RELEASE, BY(people[1]), ON("policy", "1"));
}

static const suite_test shared_tests[] = {
    TEST(readers_stand_beside_readers_each_with_a_fence_of_their_own),
    TEST(a_writer_is_refused_while_there_are_readers_and_all_of_them_are_named),
    TEST(a_refusal_tells_when_the_last_of_several_readers_is_gone),
    TEST(asking_shared_twice_is_harmless),
    TEST(a_sole_reader_becomes_the_writer_with_a_new_fence),
    TEST(an_upgrade_never_shortens_the_bound),
    TEST(an_upgrade_is_refused_while_others_read),
    TEST(a_dead_reader_does_not_stand_in_the_way_of_an_upgrade),
    TEST(two_readers_who_both_want_to_write_are_both_told),
    TEST(a_downgrade_keeps_fence_bound_and_purpose_and_lets_readers_in),
    TEST(a_downgrade_needs_the_lock_and_the_right_fence),
    TEST(downgrading_a_shared_lock_changes_nothing),
    TEST(releasing_one_shared_lock_leaves_the_others),
};
THEME(shared);
