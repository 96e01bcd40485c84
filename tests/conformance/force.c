/* SPDX-License-Identifier: MIT */
/* Forced release: who, when and why are recorded; all holders, or only one grant. */
#include "suite.h"

#include <string.h>

/* P6 */
static void a_forced_release_records_who_when_and_why(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    news_skip(w);
    clock_forward(w, SECOND);
    const hf_answer *ended =
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "left for lunch");
    expect_int(ended->locks_count, 1);
    expect_text(ended->locks[0].session, alice.id);
    expect_int(ended->locks[0].fence, fence);
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_FORCED);
    expect_int(event->at_us, w->now_us);
    expect_text(event->actor, "root");
    expect_text(event->reason, "left for lunch");
    expect_text(event->session, alice.id);
    expect_text(event->user, "alice");
    expect_int(event->fence, fence);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    done(w, BEAT, BY(alice));
}

/* P6 */
static void a_session_that_forces_is_the_actor(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, FORCE_RELEASE, BY(bob), ON("policy", "1"), .text = "urgent");
    const hf_event *event = news(w, 1);
    expect_text(event->actor, "bob");
    expect_text(event->session, alice.id);
    expect_text(done(w, BEAT, BY(alice))->lost[0].by, "bob");
}

static void an_actor_that_is_given_stands_before_the_sessions_user(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, FORCE_RELEASE, BY(bob), ON("policy", "1"), .text = "urgent",
         .actor = "the night shift");
    expect_text(news(w, 1)->actor, "the night shift");
}

/* P6 */
static void without_a_fence_all_holders_are_ended(fixture *w)
{
    hf_credentials people[3];
    for (int i = 0; i < 3; i++) {
        people[i] = person(w, "reader", NULL);
        done(w, ACQUIRE, BY(people[i]), ON("policy", "1"), .mode = HF_SHARED);
    }
    news_skip(w);
    expect_int(
        done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why")->locks_count, 3);
    expect_int(news_count(news(w, 3), 3, HF_EVENT_FORCED), 3);
    for (int i = 0; i < 3; i++)
        refused(w, HF_NOT_HELD, HOLDS, BY(people[i]), ON("policy", "1"));
}

/* P6 */
static void with_a_fence_only_that_grant_is_ended(fixture *w)
{
    hf_credentials people[3];
    int64_t fences[3];
    for (int i = 0; i < 3; i++) {
        people[i] = person(w, "reader", NULL);
        fences[i] =
            done(w, ACQUIRE, BY(people[i]), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    }
    news_skip(w);
    const hf_answer *ended = done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root",
                                  .text = "why", .fence = fences[1]);
    expect_int(ended->locks_count, 1);
    expect_text(ended->locks[0].session, people[1].id);
    news(w, 1);
    done(w, HOLDS, BY(people[0]), ON("policy", "1"));
    refused(w, HF_NOT_HELD, HOLDS, BY(people[1]), ON("policy", "1"));
    done(w, HOLDS, BY(people[2]), ON("policy", "1"));
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
            .fence = fences[1]);
}

static void forcing_what_nobody_holds_is_not_held(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
}

/* P6 */
static void a_forced_release_needs_a_reason_and_someone_who_does_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .actor = "root");
    refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "");
    refused(w, HF_INVALID, FORCE_RELEASE, BY(bob), ON("policy", "1"));
    refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .text = "why");
    refused(w, HF_INVALID, FORCE_RELEASE, ON("policy", "1"), .text = "why", .actor = "");
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

/* One's own lock can be forced away too: an administrator's own session that hangs. */
static void a_session_may_force_its_own_lock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(done(w, FORCE_RELEASE, BY(alice), ON("policy", "1"), .text = "why")->locks_count, 1);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

static void the_victim_can_go_on_and_take_it_again(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    const hf_answer *got = done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(got->outcome, HF_GRANTED);
    expect_int(got->locks[0].fence, fence + 1);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
}

/* P6: an actor of no letters is none; who did it is still recorded. */
static void an_empty_actor_leaves_the_sessions_user_as_the_one_who_did_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), boss = person(w, "boss", "The Boss");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, FORCE_RELEASE, BY(boss), ON("policy", "1"), .actor = "", .text = "why");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_FORCED);
    expect_text(event->actor, "boss");
    expect_text(done(w, BEAT, BY(alice))->lost[0].by, "boss");
}

static const suite_test force_tests[] = {
    TEST(a_forced_release_records_who_when_and_why),
    TEST(a_session_that_forces_is_the_actor),
    TEST(an_actor_that_is_given_stands_before_the_sessions_user),
    TEST(without_a_fence_all_holders_are_ended),
    TEST(with_a_fence_only_that_grant_is_ended),
    TEST(forcing_what_nobody_holds_is_not_held),
    TEST(a_forced_release_needs_a_reason_and_someone_who_does_it),
    TEST(a_session_may_force_its_own_lock),
    TEST(the_victim_can_go_on_and_take_it_again),
    TEST(an_empty_actor_leaves_the_sessions_user_as_the_one_who_did_it),
};
THEME(force);
