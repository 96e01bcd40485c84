/* SPDX-License-Identifier: MIT */
/* Request ids (P12): asking again with the same id answers what the first came to, and does nothing
 * twice. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

/* The same key under an id of its own: what a caller has who asks to open again. */
static hf_credentials same_key(fixture *w, const hf_credentials *first)
{
    hf_credentials other = draw(w), out;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_set(&out, other.id, first->key, &err), err);
    return out;
}

/* P12 */
static void a_repeated_open_answers_the_same_session(fixture *w)
{
    hf_credentials alice = draw(w), again = same_key(w, &alice);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1");
    news_skip(w);
    const hf_answer *opened =
        done(w, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1");
    expect_text(opened->sessions[0].id, alice.id);
    opened = done(w, SESSION_OPEN, BY(again), .user = "alice", .request_id = "open-1");
    expect_text(opened->sessions[0].id, alice.id);
    expect_int(opened->sessions[0].opened_us, w->now_us);
    news(w, 0);
    expect_int(done(w, SESSIONS)->sessions_count, 1);
    refused(w, HF_NOT_FOUND, BEAT, BY(again));
}

/* P12, P6 */
static void a_repeated_open_with_another_key_is_denied(fixture *w)
{
    hf_credentials alice = draw(w), thief = draw(w);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1");
    refused(w, HF_DENIED, SESSION_OPEN, BY(thief), .user = "alice", .request_id = "open-1");
    refused(w, HF_NOT_FOUND, BEAT, BY(thief));
}

/* P12: scoped to its caller. */
static void two_callers_may_use_the_same_request_id(fixture *w)
{
    hf_credentials one = draw(w), two = draw(w), three = draw(w);
    done(w, SESSION_OPEN, BY(one), .user = "alice", .request_id = "open-1", .caller = "token1");
    const hf_answer *other =
        done(w, SESSION_OPEN, BY(two), .user = "bob", .request_id = "open-1", .caller = "token2");
    expect_text(other->sessions[0].id, two.id);
    other = done(w, SESSION_OPEN, BY(three), .user = "carol", .request_id = "open-1");
    expect_text(other->sessions[0].id, three.id);
    expect_int(done(w, SESSIONS)->sessions_count, 3);
}

/* P12 */
static void another_request_id_opens_another_session(fixture *w)
{
    hf_credentials one = draw(w), two = same_key(w, &one);
    done(w, SESSION_OPEN, BY(one), .user = "alice", .request_id = "open-1");
    expect_text(
        done(w, SESSION_OPEN, BY(two), .user = "alice", .request_id = "open-2")->sessions[0].id,
        two.id);
    expect_int(done(w, SESSIONS)->sessions_count, 2);
}

/* P12: replacing is done once. */
static void a_repeated_open_that_replaces_answers_the_same_session(fixture *w)
{
    hf_credentials old = person(w, "alice", "Alice Chen"), fresh = draw(w);
    done(w, ACQUIRE, BY(old), ON("policy", "1"));
    done(w, SESSION_OPEN, BY(fresh), .user = "alice", .replaces = &old, .request_id = "open-1");
    done(w, ACQUIRE, BY(fresh), ON("policy", "1"));
    news_skip(w);
    const hf_answer *again =
        done(w, SESSION_OPEN, BY(fresh), .user = "alice", .replaces = &old, .request_id = "open-1");
    expect_text(again->sessions[0].id, fresh.id);
    news(w, 0);
    done(w, HOLDS, BY(fresh), ON("policy", "1"));
}

/* P7, P12: what died is not opened again by repeating. */
static void a_repeated_open_of_a_dead_session_does_not_revive_it(fixture *w)
{
    hf_credentials alice = draw(w);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1", .idle_us = MINUTE);
    clock_forward(w, MINUTE);
    refused(w, HF_EXPIRED, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1",
            .idle_us = MINUTE);
    refused(w, HF_EXPIRED, BEAT, BY(alice));
}

/* P12 */
static void a_repeated_acquire_answers_the_same_fence(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1")->locks[0].fence;
    news_skip(w);
    clock_forward(w, SECOND);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1")->locks[0].fence,
               fence);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r2")->locks[0].fence,
               fence);
    news(w, 0);
}

/* P12 */
static void a_repeated_upgrade_answers_the_same_fence(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .request_id = "r1");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r2")->locks[0].fence;
    news_skip(w);
    const hf_answer *again = done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r2");
    expect_int(again->locks[0].fence, fence);
    expect_int(again->locks[0].mode, HF_EXCLUSIVE);
    news(w, 0);
}

/* P12 */
static void a_repeated_release_is_done_with_the_same_id_and_not_held_with_another(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    news_skip(w);
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    news(w, 0);
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r2");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"));
}

/* P12: scoped to its session. */
static void a_request_id_of_another_session_settles_nothing(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    refused(w, HF_NOT_HELD, RELEASE, BY(bob), ON("policy", "1"), .request_id = "r1");
}

/* P12 */
static void a_repeated_release_leaves_the_next_holder_alone(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .request_id = "r1");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1");
    done(w, HOLDS, BY(bob), ON("policy", "1"));
}

/* P12: a release that comes twice, the second time late, does not end a later grant. */
static void a_release_repeated_late_leaves_the_sessions_own_next_grant_alone(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r2");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r3");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r2");
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

/* An id of no letters is no id: it must not seem to have ended what ended without one. */
static void an_empty_request_id_settles_nothing(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    const hf_answer *again = tried(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "");
    expect_true(again->status == HF_NOT_HELD || again->status == HF_INVALID);
    again = tried(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "");
    expect_true(again->status == HF_NOT_HELD || again->status == HF_INVALID);
    again = tried(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
                  .request_id = "");
    expect_true(again->status == HF_NOT_HELD || again->status == HF_INVALID);
    again = tried(w, FORCE_RELEASE, ON("policy", "2"), .actor = "root", .text = "why",
                  .request_id = "");
    expect_true(again->status == HF_NOT_HELD || again->status == HF_INVALID);
}

/* P12, P6 */
static void a_repeated_forced_release_is_done_with_the_same_id_only(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "f1");
    news_skip(w);
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "f1");
    news(w, 0);
    refused(w, HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why",
            .request_id = "f2");
}

/* P12, P6: whoever got the lock in between is not forced out by the repetition. */
static void a_repeated_forced_release_leaves_the_next_holder_alone(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "f1");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "f1");
    done(w, HOLDS, BY(bob), ON("policy", "1"));
}

/* P12 */
static void a_repeated_hand_over_answers_the_new_holders_lock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    int64_t fence =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "h1")
            ->locks[0]
            .fence;
    news_skip(w);
    const hf_answer *again =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "h1");
    expect_int(again->locks_count, 1);
    expect_int(again->locks[0].fence, fence);
    expect_text(again->locks[0].session, bob.id);
    news(w, 0);
    refused(w, HF_NOT_HELD, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id,
            .request_id = "h2");
}

/* P12: a linked run shares one id. */
static void a_repeated_run_answers_the_same(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "old"));
    int64_t fences[2] = {0, 0};
    for (int turn = 0; turn < 3; turn++) {
        hf_batch *swap = batch_of(w, 3);
        add(swap, RELEASE, BY(alice), ON("policy", "old"), .request_id = "run", .linked = true);
        add(swap, ACQUIRE, BY(alice), ON("policy", "new1"), .request_id = "run", .linked = true);
        add(swap, ACQUIRE, BY(alice), ON("policy", "new2"), .request_id = "run");
        run(w, swap);
        answer(swap, 0, HF_OK);
        for (size_t i = 0; i < 2; i++) {
            int64_t fence = answer(swap, i + 1, HF_OK)->locks[0].fence;
            if (turn)
                expect_int(fence, fences[i]);
            fences[i] = fence;
        }
        if (turn == 0)
            news_skip(w);
        clock_forward(w, SECOND);
    }
    news(w, 0);
}

/* P12: in one batch too. */
static void a_request_repeated_within_one_batch_is_done_once(fixture *w)
{
    hf_credentials alice = draw(w), again = same_key(w, &alice);
    hf_batch *twice = batch_of(w, 6);
    add(twice, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1");
    add(twice, SESSION_OPEN, BY(again), .user = "alice", .request_id = "open-1");
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1");
    add(twice, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1");
    add(twice, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r2");
    add(twice, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r2");
    run(w, twice);
    for (size_t i = 0; i < 6; i++)
        answer(twice, i, HF_OK);
    expect_text(hf_batch_op(twice, 1)->answer.sessions[0].id, alice.id);
    news(w, 3);
}

/* P12 */
static void a_request_id_settles_after_closing_and_opening_the_store(fixture *w)
{
    hf_credentials alice = draw(w), again = same_key(w, &alice);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "open-1");
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1")->locks[0].fence;
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, RELEASE, BY(alice), ON("policy", "2"), .request_id = "r2");
    fixture_reopen(w);
    expect_text(
        done(w, SESSION_OPEN, BY(again), .user = "alice", .request_id = "open-1")->sessions[0].id,
        alice.id);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1")->locks[0].fence,
               fence);
    done(w, RELEASE, BY(alice), ON("policy", "2"), .request_id = "r2");
}

/* P12: however caller and id are written, two pairs are two sessions, and the same pair is the same
 * one. */
static void caller_and_request_id_are_never_taken_for_another_pair(fixture *w)
{
    static const struct {
        const char *caller, *id;
    } pairs[] = {
        {NULL, "x"}, {"a", "x"},   {"x", "a"},   {"a b", "x"},  {"b", "x"},
        {"a", "xb"}, {"a", "b/c"}, {"a/b", "c"}, {NULL, "x/a"}, {"x a", "a"},
    };
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    hf_credentials opened[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        opened[i] = draw(w);
        expect_text(done(w, SESSION_OPEN, BY(opened[i]), .user = "alice", .caller = pairs[i].caller,
                         .request_id = pairs[i].id)
                        ->sessions[0]
                        .id,
                    opened[i].id);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        hf_credentials again = same_key(w, &opened[i]);
        expect_text(done(w, SESSION_OPEN, BY(again), .user = "alice", .caller = pairs[i].caller,
                         .request_id = pairs[i].id)
                        ->sessions[0]
                        .id,
                    opened[i].id);
    }
    expect_int(done(w, SESSIONS)->sessions_count, PAIRS);
    hf_credentials none = same_key(w, &opened[0]);
    expect_text(done(w, SESSION_OPEN, BY(none), .user = "alice", .caller = "", .request_id = "x")
                    ->sessions[0]
                    .id,
                opened[0].id);
}

/* P6, P12: scoped to who forces. */
static void a_forced_release_is_not_settled_by_someone_elses_request_id(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "1");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    const hf_answer *ended = done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root",
                                  .text = "why", .request_id = "1");
    expect_int(ended->locks_count, 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    ended = done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "boss", .text = "why",
                 .request_id = "1");
    expect_int(ended->locks_count, 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"));
    /* an anchor that stays remembers the last end only */
    refused(w, w->at->drops_free ? HF_OK : HF_NOT_HELD, FORCE_RELEASE, ON("policy", "1"),
            .actor = "root", .text = "why", .request_id = "1");
}

/* P12: what was forced away was not given back. */
static void a_release_is_not_settled_by_a_forced_releases_request_id(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why", .request_id = "1");
    refused(w, HF_NOT_HELD, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id,
            .request_id = "1");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .request_id = "1");
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, FORCE_RELEASE, BY(alice), ON("policy", "2"), .text = "why", .request_id = "1");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "2"), .request_id = "1");
}

/* P12: the second answer is the first, also when the first cleared away what had expired. */
static void a_release_that_was_not_held_stays_not_held_when_repeated(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE);
    for (int turn = 0; turn < 3; turn++) {
        expect_int(tried(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "r1")->status,
                   HF_NOT_HELD);
        expect_int(tried(w, RELEASE, BY(alice), ON("policy", "never"), .request_id = "r2")->status,
                   HF_NOT_HELD);
    }
}

/* P12: whatever others did since with what the run released. */
static void a_repeated_run_leaves_what_it_released_as_others_left_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    int64_t fence = 0;
    for (int turn = 0; turn < 3; turn++) {
        hf_batch *move = batch_of(w, 2);
        add(move, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run", .linked = true);
        add(move, ACQUIRE, BY(alice), ON("policy", "y"), .request_id = "run");
        news_skip(w);
        run(w, move);
        answer(move, 0, HF_OK);
        int64_t got = answer(move, 1, HF_OK)->locks[0].fence;
        if (turn == 0) {
            fence = got;
            done(w, ACQUIRE, BY(bob), ON("policy", "x"));
            done(w, RELEASE, BY(bob), ON("policy", "x"));
        } else {
            news(w, 0);
            expect_int(got, fence);
            expect_int(done(w, WHO, ON("policy", "x"))->locks_count, turn - 1);
        }
        if (turn == 1)
            done(w, ACQUIRE, BY(bob), ON("policy", "x"));
        clock_forward(w, SECOND);
    }
    done(w, HOLDS, BY(bob), ON("policy", "x"));
}

static void a_repeated_run_leaves_what_it_handed_over_as_others_left_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    for (int turn = 0; turn < 2; turn++) {
        hf_batch *move = batch_of(w, 2);
        add(move, ACQUIRE, BY(alice), ON("policy", "y"), .request_id = "run", .linked = true);
        add(move, HAND_OVER, BY(alice), ON("policy", "x"), .target = bob.id, .request_id = "run");
        run(w, move);
        answer(move, 0, HF_OK);
        answer(move, 1, HF_OK);
        if (turn == 0)
            done(w, RELEASE, BY(bob), ON("policy", "x"));
    }
    expect_int(done(w, WHO, ON("policy", "x"))->locks_count, 0);
    done(w, HOLDS, BY(alice), ON("policy", "y"));
}

/* P12: all of it is asked again, so what the first op grants anew the second ends anew. */
static void a_batch_that_takes_and_gives_back_leaves_nothing_when_repeated(fixture *w)
{
    static const struct {
        const char *take, *give;
        bool linked;
    } forms[] = {{"one", "one", false}, {"both", "both", true}, {"this", "that", true}};
    hf_credentials alice = person(w, "alice", "Alice Chen");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        hf_batch *batch = batch_of(w, 2);
        add(batch, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = forms[i].take,
            .linked = forms[i].linked);
        add(batch, RELEASE, BY(alice), ON("policy", "1"), .request_id = forms[i].give);
        for (int again = 0; again < 3; again++) {
            run(w, batch);
            answer(batch, 0, HF_OK);
            answer(batch, 1, HF_OK);
            expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
        }
    }
}

/* P12: what a run grants anew over a row that was there before is no sign that it was done before.
 * */
static void a_run_does_not_take_itself_for_its_own_repetition(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY),
                   bob = person(w, "bob", "Bob Smith");
    for (int form = 0; form < 4; form++) {
        bool hand_over = form % 2, run_out = form / 2;
        char y[8], x[8];
        snprintf(y, sizeof y, "y%d", form);
        snprintf(x, sizeof x, "x%d", form);
        done(w, ACQUIRE, BY(alice), ON("policy", y), .mode = HF_SHARED,
             .ttl_us = run_out ? SECOND : 0);
        clock_forward(w, SECOND);
        char *before = snapshot(w);
        hf_batch *move = batch_of(w, 2);
        add(move, ACQUIRE, BY(alice), ON("policy", y), .request_id = "run", .linked = true);
        if (hand_over)
            add(move, HAND_OVER, BY(alice), ON("policy", x), .target = bob.id, .request_id = "run");
        else
            add(move, RELEASE, BY(alice), ON("policy", x), .request_id = "run");
        run(w, move);
        answer(move, 0, HF_NOT_APPLIED);
        answer(move, 1, HF_NOT_HELD);
        unchanged(w, before);
    }
}

/* P12: it may come twice into one batch, with someone else's between. */
static void a_run_repeated_within_one_batch_is_done_once(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    news_skip(w);
    hf_batch *twice = batch_of(w, 6);
    for (int turn = 0; turn < 2; turn++) {
        add(twice, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run", .linked = true);
        add(twice, ACQUIRE, BY(alice), ON("policy", "y"), .request_id = "run");
        if (turn == 0) {
            add(twice, ACQUIRE, BY(bob), ON("policy", "x"), .request_id = "b1");
            add(twice, RELEASE, BY(bob), ON("policy", "x"), .request_id = "b2");
        }
    }
    run(w, twice);
    for (size_t i = 0; i < 6; i++)
        answer(twice, i, HF_OK);
    news(w, 4);
}

/* P12: an op of the run may need what a later one has ended. */
static void a_repeated_run_is_done_though_it_needs_what_it_has_ended(fixture *w)
{
    static const struct {
        hf_op_kind first, second;
        bool held; /* before */
    } forms[] = {
        {HF_OP_ACQUIRE, HF_OP_HAND_OVER, false},   {HF_OP_ACQUIRE, HF_OP_RELEASE, false},
        {HF_OP_RENEW, HF_OP_RELEASE, true},        {HF_OP_DOWNGRADE, HF_OP_RELEASE, true},
        {HF_OP_HOLDS, HF_OP_RELEASE, true},        {HF_OP_RENEW, HF_OP_HAND_OVER, true},
        {HF_OP_ACQUIRE, HF_OP_RELEASE_ALL, false}, {HF_OP_RENEW, HF_OP_RELEASE_ALL, true},
        {HF_OP_HOLDS, HF_OP_RELEASE_ALL, true},
    };
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char id[8];
        snprintf(id, sizeof id, "x%zu", i);
        bool hand_over = forms[i].second == HF_OP_HAND_OVER;
        if (forms[i].held)
            done(w, ACQUIRE, BY(alice), ON("policy", id));
        for (int turn = 0; turn < 3; turn++) {
            hf_batch *move = batch_of(w, 2);
            add_op(move, &(hf_op){.kind = forms[i].first,
                                  BY(alice),
                                  ON("policy", id),
                                  .request_id = id,
                                  .linked = true});
            hf_op second = {.kind = forms[i].second, BY(alice), .request_id = id};
            if (forms[i].second != HF_OP_RELEASE_ALL) {
                second.type = "policy";
                second.id = id;
                second.target = hand_over ? bob.id : NULL;
            }
            add_op(move, &second);
            run(w, move);
            answer(move, 0, HF_OK);
            answer(move, 1, HF_OK);
            if (turn > 0)
                news(w, 0);
            else if (!hand_over)
                done(w, ACQUIRE, BY(bob), ON("policy", id));
            news_skip(w);
            clock_forward(w, SECOND);
        }
        done(w, HOLDS, BY(bob), ON("policy", id));
    }
}

/* P12: the second time late. */
static void a_run_repeated_late_leaves_the_sessions_own_next_grant_alone(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *last = batch_of(w, 2);
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    add(last, RENEW, BY(alice), ON("policy", "x"), .ttl_us = MINUTE, .request_id = "run",
        .linked = true);
    add(last, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run");
    run(w, last);
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    run(w, last);
    answer(last, 0, HF_OK);
    answer(last, 1, HF_OK);
    expect_int(done(w, HOLDS, BY(alice), ON("policy", "x"))->locks[0].ends_us, 0);
}

/* P12: the same, where the run itself could be carried out anew. */
static void a_run_repeated_late_takes_and_ends_nothing_anew(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person(w, "bob", "Bob Smith");
    hf_batch *given_back = batch_of(w, 2), *given_on = batch_of(w, 2);
    add(given_back, ACQUIRE, BY(alice), ON("policy", "x"), .request_id = "run", .linked = true);
    add(given_back, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run");
    add(given_on, ACQUIRE, BY(alice), ON("policy", "y"), .mode = HF_SHARED, .request_id = "on",
        .linked = true);
    add(given_on, HAND_OVER, BY(alice), ON("policy", "y"), .target = bob.id, .request_id = "on");
    run(w, given_back);
    run(w, given_on);
    done(w, ACQUIRE, BY(alice), ON("policy", "x"), .mode = HF_SHARED);
    int64_t bobs = done(w, HOLDS, BY(bob), ON("policy", "y"))->locks[0].fence;
    news_skip(w);
    for (int turn = 0; turn < 2; turn++) {
        run(w, given_back);
        run(w, given_on);
        for (size_t i = 0; i < 2; i++) {
            answer(given_back, i, HF_OK);
            answer(given_on, i, HF_OK);
        }
        news(w, 0);
        expect_int(done(w, HOLDS, BY(alice), ON("policy", "x"))->locks[0].mode, HF_SHARED);
        if (turn == 0)
            expect_int(done(w, HOLDS, BY(bob), ON("policy", "y"))->locks[0].fence, bobs);
        clock_forward(w, 6 * MINUTE); /* bob is gone */
    }
}

/* P12: what a run has ended itself is no sign that it was done before. */
static void a_run_that_needs_what_it_has_just_ended_is_refused(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "x"));
    char *before = snapshot(w);
    hf_batch *move = batch_of(w, 3);
    add(move, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run", .linked = true);
    add(move, RENEW, BY(alice), ON("policy", "x"), .request_id = "run", .linked = true);
    add(move, RELEASE, BY(alice), ON("policy", "x"), .request_id = "run");
    run(w, move);
    answer(move, 0, HF_NOT_APPLIED);
    answer(move, 1, HF_NOT_HELD);
    answer(move, 2, HF_NOT_APPLIED);
    unchanged(w, before);
}

/* P12: a request id stands for one request; with other fields it is another request. */
static void a_request_id_that_opened_one_session_opens_no_other(fixture *w)
{
    hf_credentials alice = draw(w), again = same_key(w, &alice),
                   old = person(w, "alice", "Alice Chen");
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .idle_us = MINUTE, .request_id = "open-1");
    const hf_answer *no = refused(w, HF_INVALID, SESSION_OPEN, BY(again), .user = "bob",
                                  .idle_us = MINUTE, .request_id = "open-1");
    expect_contains(no->message, "another user");
    expect_text(no->sessions[0].id, alice.id);
    expect_contains(no->message, alice.id);
    no = refused(w, HF_INVALID, SESSION_OPEN, BY(again), .user = "alice", .name = "Alice Chen",
                 .idle_us = MINUTE, .request_id = "open-1");
    expect_contains(no->message, "another name");
    no = refused(w, HF_INVALID, SESSION_OPEN, BY(again), .user = "alice", .request_id = "open-1");
    expect_contains(no->message, "another idle bound");
    no = refused(w, HF_INVALID, SESSION_OPEN, BY(again), .user = "alice", .idle_us = MINUTE,
                 .replaces = &old, .request_id = "open-1");
    expect_contains(no->message, "without replacing another");
    done(w, BEAT, BY(old));
    /* What it means when left out may be said as well. */
    done(w, SESSION_OPEN, BY(again), .user = "alice", .name = "alice", .idle_us = MINUTE,
         .request_id = "open-1");
    clock_forward(w, MINUTE);
    refused(w, HF_INVALID, SESSION_OPEN, BY(again), .user = "bob", .idle_us = MINUTE,
            .request_id = "open-1");
}

/* P12: the id that handed a lock to one session settles neither a hand-over to another nor a
 * release. */
static void a_hand_over_is_not_settled_by_one_to_another_session(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Diaz");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "h1");
    refused(w, HF_NOT_HELD, HAND_OVER, BY(alice), ON("policy", "1"), .target = carol.id,
            .request_id = "h1");
    refused(w, HF_NOT_HELD, RELEASE, BY(alice), ON("policy", "1"), .request_id = "h1");
    done(w, RELEASE, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "h1");
    if (!w->at->drops_free) /* the anchor remembers the last end, a session the last sixteen */
        refused(w, HF_NOT_HELD, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id,
                .request_id = "h1");
    done(w, RELEASE, BY(alice), ON("policy", "1"), .request_id = "h1");
}

/* P12: nor does the end of one grant settle the end of another. */
static void an_end_of_one_grant_does_not_settle_that_of_another(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    int64_t first = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, RELEASE, BY(alice), ON("policy", "1"), .fence = first, .request_id = "r1");
    int64_t second = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, RELEASE, BY(alice), ON("policy", "1"), .fence = first, .request_id = "r1");
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    const hf_answer *ended =
        done(w, RELEASE, BY(alice), ON("policy", "1"), .fence = second, .request_id = "r1");
    expect_int(ended->locks_count, 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(alice), ON("policy", "1"));
    first = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "t", .fence = first,
         .request_id = "f");
    second = done(w, ACQUIRE, BY(bob), ON("policy", "1"))->locks[0].fence;
    ended = done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "t", .fence = second,
                 .request_id = "f");
    expect_int(ended->locks_count, 1);
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"));
}

/* P12: an acquire answers what it was asked for, whatever its id took before. */
static void a_request_id_that_took_one_lock_answers_no_other_with_it(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .request_id = "r1");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "2"), .request_id = "r1");
    refused(w, HF_LOCKED, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "r1");
    const hf_answer *other = done(w, ACQUIRE, BY(alice), ON("policy", "3"), .request_id = "r1");
    expect_text(other->locks[0].resource.id, "3");
    expect_int(other->outcome, HF_GRANTED);
}

static const suite_test request_ids_tests[] = {
    TEST(a_repeated_open_answers_the_same_session),
    TEST(a_repeated_open_with_another_key_is_denied),
    TEST(two_callers_may_use_the_same_request_id),
    TEST(another_request_id_opens_another_session),
    TEST(a_repeated_open_that_replaces_answers_the_same_session),
    TEST(a_repeated_open_of_a_dead_session_does_not_revive_it),
    TEST(a_repeated_acquire_answers_the_same_fence),
    TEST(a_repeated_upgrade_answers_the_same_fence),
    TEST(a_repeated_release_is_done_with_the_same_id_and_not_held_with_another),
    TEST(a_request_id_of_another_session_settles_nothing),
    TEST(a_repeated_release_leaves_the_next_holder_alone),
    TEST(a_release_repeated_late_leaves_the_sessions_own_next_grant_alone),
    TEST(an_empty_request_id_settles_nothing),
    TEST(a_repeated_forced_release_is_done_with_the_same_id_only),
    TEST(a_repeated_forced_release_leaves_the_next_holder_alone),
    TEST(a_repeated_hand_over_answers_the_new_holders_lock),
    TEST(a_repeated_run_answers_the_same),
    TEST(a_request_repeated_within_one_batch_is_done_once),
    TEST_KEEPING(a_request_id_settles_after_closing_and_opening_the_store),
    TEST(caller_and_request_id_are_never_taken_for_another_pair),
    TEST(a_forced_release_is_not_settled_by_someone_elses_request_id),
    TEST(a_release_is_not_settled_by_a_forced_releases_request_id),
    TEST(a_release_that_was_not_held_stays_not_held_when_repeated),
    TEST(a_repeated_run_leaves_what_it_released_as_others_left_it),
    TEST(a_repeated_run_leaves_what_it_handed_over_as_others_left_it),
    TEST(a_batch_that_takes_and_gives_back_leaves_nothing_when_repeated),
    TEST(a_run_does_not_take_itself_for_its_own_repetition),
    TEST(a_run_repeated_within_one_batch_is_done_once),
    TEST(a_repeated_run_is_done_though_it_needs_what_it_has_ended),
    TEST(a_run_repeated_late_leaves_the_sessions_own_next_grant_alone),
    TEST(a_run_repeated_late_takes_and_ends_nothing_anew),
    TEST(a_run_that_needs_what_it_has_just_ended_is_refused),
    TEST(a_request_id_that_opened_one_session_opens_no_other),
    TEST(a_hand_over_is_not_settled_by_one_to_another_session),
    TEST(an_end_of_one_grant_does_not_settle_that_of_another),
    TEST(a_request_id_that_took_one_lock_answers_no_other_with_it),
};
THEME(request_ids);
