/* SPDX-License-Identifier: MIT */
/* Expiry: by idle and by absolute bound, at exactly the bound, judged whenever a lock is read, with
 * no sweep. */
#include "suite.h"

#include <string.h>

/* P7 */
static void a_lock_dies_with_its_session_at_exactly_the_idle_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person(w, "bob", "Bob Smith");
    int64_t expires_us = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].expires_us;
    clock_set(w, expires_us - 1);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    clock_set(w, expires_us);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    expect_int(done(w, LIST)->locks_count, 0);
    refused(w, HF_EXPIRED, HOLDS, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
}

/* P7 */
static void a_lock_dies_at_exactly_its_absolute_bound_though_its_session_lives(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    int64_t ends_us =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE)->locks[0].ends_us;
    expect_int(ends_us, w->now_us + MINUTE);
    clock_set(w, ends_us - 1);
    done(w, BEAT, BY(alice));
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    clock_set(w, ends_us);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    expect_int(done(w, LIST)->locks_count, 0);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 0);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
}

/* P7: a beat does not move an absolute bound. */
static void a_beat_does_not_move_an_absolute_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    int64_t ends_us =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = 90 * SECOND)->locks[0].ends_us;
    clock_forward(w, 50 * SECOND);
    done(w, BEAT, BY(alice));
    const hf_lock *held = done(w, HOLDS, BY(alice), ON("policy", "1"))->locks;
    expect_int(held->ends_us, ends_us);
    expect_int(held->expires_us, ends_us);
}

/* P7 */
static void a_beat_never_takes_again_what_was_lost(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = SECOND);
    clock_forward(w, SECOND);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 0);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    expect_int(done(w, ACQUIRE, BY(bob), ON("policy", "1"))->outcome, HF_GRANTED);
}

/* P1, P2 */
static void taking_over_a_dead_sessions_lock_leaves_an_expired_event(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    clock_forward(w, 2 * MINUTE);
    news_skip(w);
    const hf_answer *got = done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(got->outcome, HF_GRANTED);
    const hf_event *events = news(w, 2);
    expect_int(events[0].kind, HF_EVENT_EXPIRED);
    expect_text(events[0].resource.id, "1");
    expect_text(events[0].session, alice.id);
    expect_text(events[0].user, "alice");
    expect_int(events[0].fence, fence);
    expect_int(events[1].kind, HF_EVENT_ACQUIRED);
    expect_text(events[1].session, bob.id);
    expect_int(events[1].fence, got->locks[0].fence);
}

/* P1 */
static void every_dead_reader_is_stepped_over_at_once(fixture *w)
{
    hf_credentials a = person_idle(w, "a", NULL, MINUTE), b = person_idle(w, "b", NULL, MINUTE);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(a), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(b), ON("policy", "1"), .mode = HF_SHARED);
    clock_forward(w, MINUTE);
    news_skip(w);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(news_count(news(w, 3), 3, HF_EVENT_EXPIRED), 2);
    news_skip(w);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
}

/* P6, P7 */
static void the_old_holder_is_told_what_became_of_its_lock(fixture *w)
{
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials late = person_idle(w, "carol", "Carol Jones", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(dead), ON("policy", "1"));
    done(w, ACQUIRE, BY(late), ON("policy", "2"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    refused(w, HF_EXPIRED, RELEASE, BY(dead), ON("policy", "1"));
    refused(w, HF_EXPIRED, RENEW, BY(dead), ON("policy", "1"), .ttl_us = HOUR);
    refused(w, HF_EXPIRED, HAND_OVER, BY(dead), ON("policy", "1"), .target = late.id);
    refused(w, HF_NOT_HELD, RENEW, BY(late), ON("policy", "2"), .ttl_us = HOUR);
    refused(w, HF_NOT_HELD, RELEASE, BY(late), ON("policy", "2"));
    refused(w, HF_NOT_HELD, DOWNGRADE, BY(late), ON("policy", "2"));
    refused(w, HF_NOT_HELD, HAND_OVER, BY(late), ON("policy", "2"), .target = bob.id);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 1);
    expect_int(done(w, WHO, ON("policy", "2"))->locks_count, 1);
}

/* P7: a lock past its own bound can be taken again by the session that had it: a new grant, not the
 * old one. */
static void taking_again_after_the_bound_is_a_new_grant(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_lock first = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE)->locks[0];
    clock_forward(w, MINUTE);
    news_skip(w);
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "again");
    expect_int(got->outcome, HF_GRANTED);
    expect_true(got->locks[0].fence > first.fence);
    expect_int(got->locks[0].since_us, w->now_us);
    expect_int(got->locks[0].ends_us, 0);
    expect_text(got->locks[0].purpose, "again");
    const hf_event *events = news(w, 2);
    expect_int(events[0].kind, HF_EVENT_EXPIRED);
    expect_int(events[0].fence, first.fence);
    expect_int(events[1].kind, HF_EVENT_ACQUIRED);
}

/* P7 */
static void idle_death_frees_every_lock(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    hf_batch *take = batch_of(w, 40);
    char ids[40][8];
    for (int i = 0; i < 40; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        add(take, ACQUIRE, BY(alice), ON("policy", ids[i]),
            .mode = i % 2 ? HF_SHARED : HF_EXCLUSIVE);
    }
    run(w, take);
    clock_forward(w, MINUTE);
    for (int i = 0; i < 40; i++)
        expect_int(done(w, ACQUIRE, BY(bob), ON("policy", ids[i]))->outcome, HF_GRANTED);
}

/* P7 */
static void a_session_is_not_listed_from_its_bound_on(fixture *w)
{
    person_idle(w, "alice", "Alice Chen", MINUTE);
    clock_forward(w, MINUTE - 1);
    expect_int(done(w, SESSIONS)->sessions_count, 1);
    clock_forward(w, 1);
    expect_int(done(w, SESSIONS)->sessions_count, 0);
}

static const suite_test expiry_tests[] = {
    TEST(a_lock_dies_with_its_session_at_exactly_the_idle_bound),
    TEST(a_lock_dies_at_exactly_its_absolute_bound_though_its_session_lives),
    TEST(a_beat_does_not_move_an_absolute_bound),
    TEST(a_beat_never_takes_again_what_was_lost),
    TEST(taking_over_a_dead_sessions_lock_leaves_an_expired_event),
    TEST(every_dead_reader_is_stepped_over_at_once),
    TEST(the_old_holder_is_told_what_became_of_its_lock),
    TEST(taking_again_after_the_bound_is_a_new_grant),
    TEST(idle_death_frees_every_lock),
    TEST(a_session_is_not_listed_from_its_bound_on),
};
THEME(expiry);
