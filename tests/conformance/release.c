/* SPDX-License-Identifier: MIT */
/* Giving back: one lock, all of them, and what may not be given back. */
#include "suite.h"

#include <string.h>

/* P2, P6 */
static void a_release_answers_what_was_released_and_leaves_an_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_lock held = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "renewal")->locks[0];
    news_skip(w);
    clock_forward(w, SECOND);
    const hf_answer *gone = done(w, RELEASE, BY(alice), ON("policy", "1"));
    expect_int(gone->locks_count, 1);
    expect_int(gone->locks[0].fence, held.fence);
    expect_int(gone->locks[0].since_us, held.since_us);
    expect_text(gone->locks[0].session, alice.id);
    expect_text(gone->locks[0].purpose, "renewal");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_RELEASED);
    expect_int(event->at_us, w->now_us);
    expect_int(event->fence, held.fence);
    expect_text(event->session, alice.id);
    expect_text(event->user, "alice");
    expect_text(event->actor, "");
    expect_text(event->resource.type, "policy");
    expect_text(event->resource.id, "1");
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

/* P6 */
static void only_the_owner_releases(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials tab2 = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    const hf_answer *no = refused(w, HF_NOT_HELD, RELEASE, BY(bob), ON("policy", "1"));
    expect_contains(no->message, "policy/1");
    refused(w, HF_NOT_HELD, RELEASE, BY(tab2), ON("policy", "1"));
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

static void releasing_what_nobody_holds_is_not_held(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"));
}

/* A lock is not counted: taken three times, one release gives it back. */
static void one_release_ends_a_lock_that_was_acquired_three_times(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    for (int i = 0; i < 3; i++)
        done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
}

/* P6 */
static void a_release_with_a_fence_must_be_of_that_grant(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = fence + 1);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = 1);
    done(w, RELEASE, BY(alice), ON("policy", "1"), .fence = fence);
}

static void release_all_gives_back_everything_and_leaves_the_session(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "2"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "3"));
    news_skip(w);
    expect_int(done(w, RELEASE_ALL, BY(alice))->locks_count, 2);
    expect_int(news_count(news(w, 2), 2, HF_EVENT_RELEASED), 2);
    expect_int(done(w, LIST)->locks_count, 2);
    expect_int(done(w, LIST, .target = alice.id)->locks_count, 0);
    done(w, BEAT, BY(alice));
    expect_int(done(w, RELEASE_ALL, BY(alice))->locks_count, 0);
    news(w, 0);
}

/* P7: what is dead is not given back. */
static void release_all_does_not_count_what_has_expired(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = SECOND);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    clock_forward(w, SECOND);
    expect_int(done(w, RELEASE_ALL, BY(alice))->locks_count, 1);
}

static const suite_test release_tests[] = {
    TEST(a_release_answers_what_was_released_and_leaves_an_event),
    TEST(only_the_owner_releases),
    TEST(releasing_what_nobody_holds_is_not_held),
    TEST(one_release_ends_a_lock_that_was_acquired_three_times),
    TEST(a_release_with_a_fence_must_be_of_that_grant),
    TEST(release_all_gives_back_everything_and_leaves_the_session),
    TEST(release_all_does_not_count_what_has_expired),
};
THEME(release);
