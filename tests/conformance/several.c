/* SPDX-License-Identifier: MIT */
/* Several at once: linked runs stand or fall together, their neighbours do not, and each op sees
 * those before it. */
#include "suite.h"

#include <string.h>

/* P4 */
static void several_are_acquired_together(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *run1 = batch_of(w, 3);
    add(run1, ACQUIRE, BY(alice), ON("claim", "7"), .linked = true);
    add(run1, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(run1, ACQUIRE, BY(alice), ON("policy", "2"));
    news_skip(w);
    run(w, run1);
    for (size_t i = 0; i < 3; i++) {
        const hf_answer *got = answer(run1, i, HF_OK);
        expect_int(got->outcome, HF_GRANTED);
        expect_text(got->locks[0].session, alice.id);
    }
    const hf_event *events = news(w, 3);
    expect_text(events[0].resource.type, "claim");
    expect_text(events[1].resource.id, "1");
    expect_text(events[2].resource.id, "2");
    expect_int(done(w, LIST)->locks_count, 3);
}

/* P4, P13 */
static void one_blocked_resource_stops_the_whole_run_and_leaves_nothing_behind(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    char *before = snapshot(w);
    hf_batch *all = batch_of(w, 3);
    add(all, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "2"), .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "3"));
    run(w, all);
    answer(all, 0, HF_NOT_APPLIED);
    const hf_answer *no = answer(all, 1, HF_LOCKED);
    answer(all, 2, HF_NOT_APPLIED);
    expect_text(no->locks[0].session, bob.id);
    expect_contains(no->message, "policy/2");
    expect_contains(no->message, "Bob Smith");
    expect_int(hf_batch_op(all, 0)->answer.locks_count, 0);
    unchanged(w, before);
    /* The fence of what was undone is not used up either: nothing happened. */
    int64_t fence = done(w, ACQUIRE, BY(bob), ON("policy", "1"))->locks[0].fence;
    expect_int(fence, w->now_us);
}

/* P4 */
static void the_first_blocked_of_a_run_is_the_one_named(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    done(w, ACQUIRE, BY(carol), ON("policy", "3"));
    hf_batch *all = batch_of(w, 3);
    add(all, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "2"), .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "3"));
    run(w, all);
    answer(all, 0, HF_NOT_APPLIED);
    expect_contains(answer(all, 1, HF_LOCKED)->message, "Bob Smith");
    answer(all, 2, HF_NOT_APPLIED);
}

/* P4 */
static void a_refused_run_in_the_middle_does_not_fail_its_neighbours(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "taken"));
    news_skip(w);
    hf_batch *mixed = batch_of(w, 6);
    add(mixed, ACQUIRE, BY(alice), ON("policy", "before"));
    add(mixed, RELEASE, BY(alice), ON("policy", "before"), .linked = true);
    add(mixed, ACQUIRE, BY(alice), ON("policy", "a"), .linked = true);
    add(mixed, ACQUIRE, BY(alice), ON("policy", "taken"));
    add(mixed, ACQUIRE, BY(bob), ON("policy", "a"));
    add(mixed, HOLDS, BY(alice), ON("policy", "before"));
    run(w, mixed);
    answer(mixed, 0, HF_OK);
    answer(mixed, 1, HF_NOT_APPLIED);
    answer(mixed, 2, HF_NOT_APPLIED);
    answer(mixed, 3, HF_LOCKED);
    expect_int(answer(mixed, 4, HF_OK)->outcome, HF_GRANTED);
    answer(mixed, 5, HF_OK);
    const hf_event *events = news(w, 2);
    expect_text(events[0].resource.id, "before");
    expect_text(events[1].resource.id, "a");
    expect_text(events[1].session, bob.id);
}

/* P4 */
static void two_runs_side_by_side_are_judged_apart(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_batch *two = batch_of(w, 4);
    add(two, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(two, ACQUIRE, BY(alice), ON("policy", "2"));
    add(two, ACQUIRE, BY(bob), ON("policy", "3"), .linked = true);
    add(two, ACQUIRE, BY(bob), ON("policy", "1"));
    run(w, two);
    answer(two, 0, HF_OK);
    answer(two, 1, HF_OK);
    answer(two, 2, HF_NOT_APPLIED);
    expect_text(answer(two, 3, HF_LOCKED)->locks[0].session, alice.id);
    expect_int(done(w, WHO, ON("policy", "3"))->locks_count, 0);
}

static void each_op_sees_those_before_it(fixture *w)
{
    hf_credentials alice = draw(w), bob = draw(w);
    hf_batch *story = batch_of(w, 10);
    add(story, SESSION_OPEN, BY(alice), .user = "alice");
    add(story, SESSION_OPEN, BY(bob), .user = "bob");
    add(story, ACQUIRE, BY(alice), ON("policy", "1"));
    add(story, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    add(story, BEAT, BY(alice));
    add(story, RELEASE, BY(alice), ON("policy", "1"));
    add(story, ACQUIRE, BY(bob), ON("policy", "1"));
    add(story, WHO, ON("policy", "1"));
    add(story, CLOSE, BY(bob));
    add(story, ACQUIRE, BY(alice), ON("policy", "1"));
    run(w, story);
    for (size_t i = 0; i < 10; i++)
        answer(story, i, HF_OK);
    const hf_answer *beat = &hf_batch_op(story, 4)->answer, *who = &hf_batch_op(story, 7)->answer;
    expect_int(beat->locks_count, 1);
    expect_int(beat->requests_count, 1);
    expect_text(beat->requests[0].message, "please");
    expect_int(who->locks_count, 1);
    expect_text(who->locks[0].session, bob.id);
    expect_int(hf_batch_op(story, 9)->answer.locks[0].fence, w->now_us + 2);
}

static void what_a_run_undid_is_not_seen_by_later_ops(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    char *before = snapshot(w);
    hf_credentials carol = draw(w);
    hf_batch *run1 = batch_of(w, 7);
    add(run1, SESSION_OPEN, BY(carol), .user = "carol", .replaces = &alice, .linked = true);
    add(run1, ACQUIRE, BY(carol), ON("policy", "1"), .linked = true);
    add(run1, ACQUIRE, BY(carol), ON("policy", "2"));
    add(run1, BEAT, BY(carol));
    add(run1, HOLDS, BY(alice), ON("policy", "1"));
    add(run1, WHO, ON("policy", "2"));
    run(w, run1);
    answer(run1, 0, HF_NOT_APPLIED);
    answer(run1, 1, HF_NOT_APPLIED);
    answer(run1, 2, HF_LOCKED);
    answer(run1, 3, HF_NOT_FOUND);
    answer(run1, 4, HF_OK);
    expect_int(answer(run1, 5, HF_OK)->locks_count, 1);
    unchanged(w, before);
}

/* Every kind of change is undone with its run. */
static void a_refused_run_undoes_every_kind_of_change(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "renewed"));
    done(w, ACQUIRE, BY(alice), ON("policy", "downgraded"));
    done(w, ACQUIRE, BY(alice), ON("policy", "released"));
    done(w, ACQUIRE, BY(alice), ON("policy", "handed"));
    done(w, ACQUIRE, BY(alice), ON("policy", "upgraded"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "taken"));
    clock_forward(w, SECOND);
    char *before = snapshot(w);
    hf_batch *all = batch_of(w, 12);
    add(all, BEAT, BY(alice), .linked = true);
    add(all, RENEW, BY(alice), ON("policy", "renewed"), .ttl_us = HOUR, .linked = true);
    add(all, DOWNGRADE, BY(alice), ON("policy", "downgraded"), .linked = true);
    add(all, RELEASE, BY(alice), ON("policy", "released"), .linked = true);
    add(all, HAND_OVER, BY(alice), ON("policy", "handed"), .target = bob.id, .linked = true);
    add(all, ACQUIRE, BY(alice), ON("policy", "upgraded"), .linked = true);
    add(all, REQUEST, BY(alice), ON("policy", "taken"), .text = "please", .linked = true);
    add(all, FORCE_RELEASE, BY(alice), ON("policy", "downgraded"), .text = "why not",
        .linked = true);
    add(all, RELEASE_ALL, BY(alice), .linked = true);
    add(all, CLOSE, BY(bob), .linked = true);
    add(all, ACQUIRE, BY(carol), ON("policy", "taken"), .linked = true);
    add(all, RELEASE, BY(carol), ON("policy", "not held"));
    run(w, all);
    for (size_t i = 0; i < 11; i++)
        answer(all, i, HF_NOT_APPLIED);
    answer(all, 11, HF_NOT_HELD);
    unchanged(w, before);
    expect_int(done(w, BEAT, BY(bob))->requests_count, 0);
    expect_int(done(w, BEAT, BY(alice))->lost_count, 0);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 5);
}

/* P4: a duplicate in one acquire. */
static void a_resource_named_twice_in_a_run_is_invalid(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char *before = snapshot(w);
    hf_batch *twice = batch_of(w, 3);
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    add(twice, ACQUIRE, BY(alice), ON("policy", "2"), .linked = true);
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"));
    run(w, twice);
    answer(twice, 0, HF_NOT_APPLIED);
    answer(twice, 1, HF_NOT_APPLIED);
    expect_contains(answer(twice, 2, HF_INVALID)->message, "policy/1");
    unchanged(w, before);
}

/* Outside a run the second is simply asking again. */
/* Also when another session named it in between. */
static void a_session_that_names_a_resource_twice_is_told_though_another_did_too(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_batch *run_of = batch_of(w, 3);
    add(run_of, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .linked = true);
    add(run_of, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED, .linked = true);
    add(run_of, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    run(w, run_of);
    answer(run_of, 0, HF_NOT_APPLIED);
    answer(run_of, 1, HF_NOT_APPLIED);
    answer(run_of, 2, HF_INVALID);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

static void a_resource_named_twice_outside_a_run_is_harmless(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *twice = batch_of(w, 2);
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"));
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"));
    run(w, twice);
    int64_t fence = answer(twice, 0, HF_OK)->locks[0].fence;
    const hf_answer *again = answer(twice, 1, HF_OK);
    expect_int(again->outcome, HF_ALREADY_YOURS);
    expect_int(again->locks[0].fence, fence);
}

static void one_invalid_op_undoes_its_run_and_only_that(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *mixed = batch_of(w, 4);
    add(mixed, ACQUIRE, BY(alice), ON("policy", "1"));
    add(mixed, ACQUIRE, BY(alice), ON("policy", "2"), .linked = true);
    add(mixed, ACQUIRE, BY(alice), ON("policy", ""));
    add(mixed, ACQUIRE, BY(alice), ON("policy", "3"));
    run(w, mixed);
    answer(mixed, 0, HF_OK);
    answer(mixed, 1, HF_NOT_APPLIED);
    answer(mixed, 2, HF_INVALID);
    answer(mixed, 3, HF_OK);
    expect_int(done(w, LIST)->locks_count, 2);
}

/* P4: a dead lock stepped over in a run that is refused is stepped over again later, and only then
 * tells its end. */
static void a_refused_run_leaves_a_dead_lock_for_the_next(fixture *w)
{
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", SECOND);
    hf_credentials bob = person(w, "bob", "Bob Smith"), carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(dead), ON("policy", "1"));
    done(w, ACQUIRE, BY(carol), ON("policy", "2"));
    clock_forward(w, SECOND);
    news_skip(w);
    hf_batch *all = batch_of(w, 2);
    add(all, ACQUIRE, BY(bob), ON("policy", "1"), .linked = true);
    add(all, ACQUIRE, BY(bob), ON("policy", "2"));
    run(w, all);
    answer(all, 0, HF_NOT_APPLIED);
    answer(all, 1, HF_LOCKED);
    news(w, 0);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    const hf_event *events = news(w, 2);
    expect_int(events[0].kind, HF_EVENT_EXPIRED);
    expect_int(events[1].kind, HF_EVENT_ACQUIRED);
}

static const suite_test several_tests[] = {
    TEST(several_are_acquired_together),
    TEST(one_blocked_resource_stops_the_whole_run_and_leaves_nothing_behind),
    TEST(the_first_blocked_of_a_run_is_the_one_named),
    TEST(a_refused_run_in_the_middle_does_not_fail_its_neighbours),
    TEST(two_runs_side_by_side_are_judged_apart),
    TEST(each_op_sees_those_before_it),
    TEST(what_a_run_undid_is_not_seen_by_later_ops),
    TEST(a_refused_run_undoes_every_kind_of_change),
    TEST(a_resource_named_twice_in_a_run_is_invalid),
    TEST(a_session_that_names_a_resource_twice_is_told_though_another_did_too),
    TEST(a_resource_named_twice_outside_a_run_is_harmless),
    TEST(one_invalid_op_undoes_its_run_and_only_that),
    TEST(a_refused_run_leaves_a_dead_lock_for_the_next),
};
THEME(several);
