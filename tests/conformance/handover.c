/* SPDX-License-Identifier: MIT */
/* Handing over: the lock goes to another live session in one step, with a new fence. */
#include "suite.h"

#include <string.h>

/* P1, P8 */
static void a_hand_over_gives_the_lock_with_a_new_fence_and_keeps_mode_and_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    hf_lock held = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = 10 * MINUTE)->locks[0];
    clock_forward(w, MINUTE);
    const hf_answer *given = done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    expect_int(given->locks_count, 1);
    const hf_lock *lock = given->locks;
    expect_text(lock->session, bob.id);
    expect_text(lock->user, "bob");
    expect_text(lock->name, "Bob Smith");
    expect_int(lock->mode, HF_EXCLUSIVE);
    expect_int(lock->ends_us, held.ends_us);
    expect_int(lock->fence, w->now_us);
    expect_true(lock->fence > held.fence);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    done(w, HOLDS, BY(bob), ON("policy", "1"), .fence = lock->fence);
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

/* P2 */
static void a_hand_over_leaves_events_that_name_both(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t old = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    news_skip(w);
    int64_t fence =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id)->locks[0].fence;
    const hf_event *events = news(w, 2);
    expect_int(events[0].kind, HF_EVENT_RELEASED);
    expect_text(events[0].session, alice.id);
    expect_int(events[0].fence, old);
    expect_int(events[1].kind, HF_EVENT_HANDED_OVER);
    expect_text(events[1].session, bob.id);
    expect_text(events[1].user, "bob");
    expect_text(events[1].actor, "alice");
    expect_int(events[1].fence, fence);
    expect_text(events[1].resource.id, "1");
}

/* P1 */
static void a_shared_lock_is_handed_over_as_shared(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(carol), ON("policy", "1"), .mode = HF_SHARED);
    expect_int(done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id)->locks[0].mode,
               HF_SHARED);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 2);
    done(w, HOLDS, BY(bob), ON("policy", "1"));
    done(w, HOLDS, BY(carol), ON("policy", "1"));
}

static void a_hand_over_to_a_session_nobody_opened_is_not_found(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), nobody = draw(w);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, HAND_OVER, BY(alice), ON("policy", "1"), .target = nobody.id);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

/* P7 */
static void a_hand_over_to_a_dead_session_is_refused(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_credentials dead = person_idle(w, "bob", "Bob Smith", MINUTE),
                   closed = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, CLOSE, BY(closed));
    clock_forward(w, MINUTE);
    refused(w, HF_EXPIRED, HAND_OVER, BY(alice), ON("policy", "1"), .target = dead.id);
    refused(w, HF_EXPIRED, HAND_OVER, BY(alice), ON("policy", "1"), .target = closed.id);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

static void a_hand_over_to_oneself_is_invalid(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, HAND_OVER, BY(alice), ON("policy", "1"), .target = alice.id);
}

/* P6 */
static void only_the_holder_hands_over(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    refused(w, HF_NOT_HELD, HAND_OVER, BY(bob), ON("policy", "1"), .target = carol.id);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_HELD, HAND_OVER, BY(bob), ON("policy", "1"), .target = carol.id);
    refused(w, HF_NOT_HELD, HAND_OVER, BY(bob), ON("policy", "1"), .target = alice.id);
}

static void a_hand_over_ends_the_request_of_who_gets_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, REQUEST, BY(carol), ON("policy", "1"), .text = "me too");
    done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->requests_count, 1);
    expect_text(who->requests[0].session, carol.id);
    expect_text(done(w, BEAT, BY(bob))->requests[0].message, "me too");
}

/* P7 */
static void what_was_handed_over_lives_by_the_new_holders_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    const hf_answer *given = done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    expect_int(given->locks[0].expires_us, w->now_us + MINUTE);
    clock_forward(w, MINUTE);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

/* P1: the target held it shared as well; it has one lock afterwards, not two. */
static void a_reader_who_is_handed_another_readers_lock_has_one_lock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 1);
    expect_text(who->locks[0].session, bob.id);
    expect_int(done(w, BEAT, BY(bob))->locks_count, 1);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 0);
}

/* P7: what a reader had of its own is not made less by a gift. */
static void a_reader_who_is_handed_another_readers_lock_keeps_bound_and_purpose(fixture *w)
{
    static const int64_t ttls[] = {0, MINUTE, 10 * MINUTE};
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    for (size_t i = 0; i < 9; i++) {
        char id[8];
        snprintf(id, sizeof id, "%zu", i);
        int64_t own = done(w, ACQUIRE, BY(bob), ON("policy", id), .mode = HF_SHARED,
                           .ttl_us = ttls[i / 3], .purpose = "bob's own")
                          ->locks[0]
                          .ends_us;
        done(w, ACQUIRE, BY(alice), ON("policy", id), .mode = HF_SHARED, .ttl_us = ttls[i % 3],
             .purpose = "alice's");
        const hf_lock *lock =
            done(w, HAND_OVER, BY(alice), ON("policy", id), .target = bob.id)->locks;
        expect_true(lock->ends_us == 0 || (own != 0 && lock->ends_us >= own));
        expect_text(lock->purpose, "bob's own");
        expect_int(done(w, HOLDS, BY(bob), ON("policy", id))->locks[0].ends_us, lock->ends_us);
    }
}

/* P2: no lock ends without its event. */
static void a_hand_over_to_who_had_it_before_leaves_the_event_of_the_old_locks_end(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    int64_t old = done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED, .ttl_us = MINUTE,
                       .purpose = "long ago")
                      ->locks[0]
                      .fence;
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .purpose = "now");
    clock_forward(w, MINUTE);
    news_skip(w);
    const hf_lock *lock = done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id)->locks;
    expect_int(lock->ends_us, 0);
    expect_text(lock->purpose, "now");
    const hf_event *events = news(w, 3);
    expect_int(events[0].kind, HF_EVENT_EXPIRED);
    expect_text(events[0].session, bob.id);
    expect_int(events[0].fence, old);
    expect_int(events[1].kind, HF_EVENT_RELEASED);
    expect_text(events[1].session, alice.id);
    expect_int(events[2].kind, HF_EVENT_HANDED_OVER);
    expect_text(events[2].session, bob.id);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
    expect_int(done(w, BEAT, BY(bob))->lost_count, 0);
}

static const suite_test handover_tests[] = {
    TEST(a_hand_over_gives_the_lock_with_a_new_fence_and_keeps_mode_and_bound),
    TEST(a_hand_over_leaves_events_that_name_both),
    TEST(a_shared_lock_is_handed_over_as_shared),
    TEST(a_hand_over_to_a_session_nobody_opened_is_not_found),
    TEST(a_hand_over_to_a_dead_session_is_refused),
    TEST(a_hand_over_to_oneself_is_invalid),
    TEST(only_the_holder_hands_over),
    TEST(a_hand_over_ends_the_request_of_who_gets_it),
    TEST(what_was_handed_over_lives_by_the_new_holders_bound),
    TEST(a_reader_who_is_handed_another_readers_lock_has_one_lock),
    TEST(a_reader_who_is_handed_another_readers_lock_keeps_bound_and_purpose),
    TEST(a_hand_over_to_who_had_it_before_leaves_the_event_of_the_old_locks_end),
};
THEME(handover);
