/* SPDX-License-Identifier: MIT */
/* What a live session has lost: told on every beat, until it holds the resource again, releases it
 * or ends. */
#include "suite.h"

#include <string.h>

/* P6, P13 */
static void a_beat_tells_who_forced_a_lock_away_and_why(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    clock_forward(w, SECOND);
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "left for lunch");
    clock_forward(w, SECOND);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->locks_count, 0);
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].resource.type, "policy");
    expect_text(beat->lost[0].resource.id, "1");
    expect_int(beat->lost[0].fence, fence);
    expect_text(beat->lost[0].why, "forced");
    expect_text(beat->lost[0].by, "root");
    expect_text(beat->lost[0].reason, "left for lunch");
    expect_int(beat->lost[0].at_us, FIXTURE_BEGINS_US + SECOND);
}

/* P13 */
static void a_beat_tells_that_an_absolute_bound_has_come(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE)->locks[0].fence;
    clock_forward(w, MINUTE - 1);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    clock_forward(w, 1);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->locks_count, 0);
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].resource.id, "1");
    expect_int(beat->lost[0].fence, fence);
    expect_text(beat->lost[0].why, "expired");
    expect_text(beat->lost[0].by, "");
    expect_text(beat->lost[0].reason, "");
}

/* P13 */
static void a_beat_names_who_took_over(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE)->locks[0].fence;
    clock_forward(w, MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].why, "expired");
    expect_text(beat->lost[0].by, "Bob Smith");
    expect_int(beat->lost[0].fence, fence);
}

static void a_loss_is_told_on_every_beat(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, FORCE_RELEASE, ON("policy", "2"), .actor = "root", .text = "why");
    clock_forward(w, MINUTE);
    for (int i = 0; i < 3; i++) {
        expect_int(done(w, BEAT, BY(alice))->lost_count, 2);
        clock_forward(w, SECOND);
    }
}

/* A sweep changes no answer: the loss reads the same before and after. */
static void a_loss_reads_the_same_after_a_sweep(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    clock_forward(w, 2 * MINUTE);
    hf_lost before = done(w, BEAT, BY(alice))->lost[0];
    clock_forward(w, MINUTE);
    expect_true(done(w, SWEEP)->swept > 0);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].why, before.why);
    expect_text(beat->lost[0].by, before.by);
    expect_int(beat->lost[0].fence, before.fence);
    expect_int(beat->lost[0].at_us, before.at_us);
}

/* A sweep between the end and the take-over changes nothing of what the loser is told. */
static void a_beat_names_who_took_over_after_a_sweep(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE);
    expect_true(done(w, SWEEP)->swept > 0);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].why, "expired");
    expect_text(beat->lost[0].by, "Bob Smith");
}

static void a_loss_is_forgotten_when_the_resource_is_held_again(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, FORCE_RELEASE, ON("policy", "2"), .actor = "root", .text = "why");
    clock_forward(w, MINUTE);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 2);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 1);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->lost_count, 0);
    expect_int(beat->locks_count, 2);
}

static void a_loss_is_forgotten_when_it_is_released_which_answers_not_held(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, FORCE_RELEASE, ON("policy", "2"), .actor = "root", .text = "why");
    clock_forward(w, MINUTE);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 2);
    /* The lock past its bound still stood there: clearing it away leaves its event, and nothing
     * else. */
    news_skip(w);
    expect_int(tried(w, RELEASE, BY(alice), ON("policy", "1"))->status, HF_NOT_HELD);
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_EXPIRED);
    expect_text(event->resource.id, "1");
    expect_text(event->session, alice.id);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->lost_count, 1);
    expect_text(beat->lost[0].resource.id, "2");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "2"));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
}

static void a_loss_to_another_is_forgotten_when_released_too(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 1);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    done(w, HOLDS, BY(bob), ON("policy", "1"));
}

static void what_was_given_back_or_handed_over_is_not_lost(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, ACQUIRE, BY(alice), ON("policy", "3"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    done(w, HAND_OVER, BY(alice), ON("policy", "2"), .target = bob.id);
    done(w, RELEASE_ALL, BY(alice));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
}

/* Who is told: the session that lost it, nobody else. */
static void only_the_loser_is_told(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    int64_t fence = done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED)->locks[0].fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .fence = fence);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    expect_int(done(w, BEAT, BY(bob))->lost_count, 1);
}

/* P6 */
static void a_refusal_about_a_lost_lock_names_the_resource(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "left for lunch");
    const hf_answer *no =
        refused(w, HF_NOT_HELD, RENEW, BY(alice), ON("policy", "1"), .fence = fence);
    expect_contains(no->message, "policy/1");
}

/* Giving all back covers what is gone already. */
static void releasing_all_forgets_what_was_lost(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "forced"));
    done(w, ACQUIRE, BY(alice), ON("policy", "taken"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "expired"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "held"));
    done(w, FORCE_RELEASE, ON("policy", "forced"), .actor = "root", .text = "why");
    clock_forward(w, MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "taken"));
    expect_int(done(w, BEAT, BY(alice))->lost_count, 3);
    expect_int(done(w, RELEASE_ALL, BY(alice))->locks_count, 1);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    done(w, HOLDS, BY(bob), ON("policy", "taken"));
}

/* Of thousands, one is settled and the others are still told. */
static void of_many_losses_only_that_of_the_resource_taken_is_forgotten(fixture *w)
{
    enum { EACH = 1000, TURNS = 2, TOTAL = EACH * TURNS };
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    static char ids[TOTAL][24];
    for (size_t turn = 0; turn < TURNS; turn++) {
        hf_batch *take = batch_of(w, EACH);
        for (size_t i = turn * EACH; i < (turn + 1) * EACH; i++) {
            snprintf(ids[i], sizeof ids[i], "%04zu", i);
            add(take, ACQUIRE, BY(alice), ON("policy", ids[i]), .ttl_us = MINUTE);
        }
        run_fully(w, take);
    }
    clock_forward(w, MINUTE);
    expect_int(sweep_all(w, 0), TOTAL);
    expect_int(done(w, BEAT, BY(alice))->lost_count, TOTAL);
    done(w, ACQUIRE, BY(alice), ON("policy", "0500"));
    expect_int(tried(w, RELEASE, BY(alice), ON("policy", "1500"))->status, HF_NOT_HELD);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->locks_count, 1);
    expect_int(beat->lost_count, TOTAL - 2);
    for (size_t i = 0; i < beat->lost_count; i++) {
        expect_true(strcmp(beat->lost[i].resource.id, "0500") != 0);
        expect_true(strcmp(beat->lost[i].resource.id, "1500") != 0);
    }
}

/* What was lost is another grant than the one given back: of that the session need not know. */
static void a_loss_is_told_on_though_an_earlier_grant_is_given_back(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    int64_t first = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    int64_t second = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = first);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 1);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = second);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    int64_t third =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE)->locks[0].fence;
    clock_forward(w, MINUTE);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .fence = second);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 1);
    expect_int(tried(w, RELEASE, BY(alice), ON("policy", "1"), .fence = third)->status,
               HF_NOT_HELD);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
}

static const suite_test lost_tests[] = {
    TEST(a_beat_tells_who_forced_a_lock_away_and_why),
    TEST(a_beat_tells_that_an_absolute_bound_has_come),
    TEST(a_beat_names_who_took_over),
    TEST(a_loss_is_told_on_every_beat),
    TEST(a_loss_reads_the_same_after_a_sweep),
    TEST(a_beat_names_who_took_over_after_a_sweep),
    TEST(a_loss_is_forgotten_when_the_resource_is_held_again),
    TEST(a_loss_is_forgotten_when_it_is_released_which_answers_not_held),
    TEST(a_loss_to_another_is_forgotten_when_released_too),
    TEST(what_was_given_back_or_handed_over_is_not_lost),
    TEST(only_the_loser_is_told),
    TEST(a_refusal_about_a_lost_lock_names_the_resource),
    TEST(releasing_all_forgets_what_was_lost),
    TEST(a_loss_is_told_on_though_an_earlier_grant_is_given_back),
    TEST(of_many_losses_only_that_of_the_resource_taken_is_forgotten),
};
THEME(lost);
