/* SPDX-License-Identifier: MIT */
/* Sessions: opening, beating, closing, replacing; who may speak for one. */
#include "suite.h"

#include <base/digest.h>
#include <string.h>

/* The same session with a key that is wrong by one bit. */
static hf_credentials one_bit_off(fixture *w, const hf_credentials *right)
{
    char key[HF_KEY_SIZE];
    snprintf(key, sizeof key, "%s", right->key);
    char *last = &key[strlen(key) - 1];
    *last = "1032547698badcfe"[strchr("0123456789abcdef", *last) - "0123456789abcdef"];
    hf_credentials out;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_set(&out, right->id, key, &err), err);
    keep_secret(w, &out);
    return out;
}

/* P11 */
static void an_opened_session_is_described_as_it_was_asked_for(fixture *w)
{
    hf_credentials alice = draw(w);
    const hf_answer *opened = done(w, SESSION_OPEN, BY(alice), .user = "alice",
                                   .name = "Alice Chen", .idle_us = 90 * SECOND);
    expect_int(opened->sessions_count, 1);
    const hf_session_info *it = &opened->sessions[0];
    expect_text(it->id, alice.id);
    expect_text(it->user, "alice");
    expect_text(it->name, "Alice Chen");
    expect_int(it->idle_us, 90 * SECOND);
    expect_int(it->opened_us, w->now_us);
    expect_int(it->expires_us, w->now_us + 90 * SECOND);
    expect_int(it->ended_us, 0);
    expect_int(opened->now_us, w->now_us);
}

static void the_idle_bound_is_five_minutes_and_the_name_is_the_user_unless_said(fixture *w)
{
    hf_credentials bob = draw(w);
    const hf_answer *opened = done(w, SESSION_OPEN, BY(bob), .user = "bob");
    expect_text(opened->sessions[0].name, "bob");
    expect_int(opened->sessions[0].idle_us, 5 * MINUTE);
    expect_int(opened->sessions[0].expires_us, w->now_us + 5 * MINUTE);
}

/* P2 */
static void opening_leaves_an_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_SESSION_OPENED);
    expect_text(event->session, alice.id);
    expect_text(event->user, "alice");
    expect_text(event->resource.id, "");
    expect_int(event->at_us, w->now_us);
}

/* P6 */
static void an_id_that_is_taken_is_not_opened_again(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_credentials thief = one_bit_off(w, &alice);
    refused(w, HF_INVALID, SESSION_OPEN, BY(thief), .user = "mallory");
    refused(w, HF_INVALID, SESSION_OPEN, BY(alice), .user = "alice");
    refused(w, HF_DENIED, BEAT, BY(thief));
    expect_text(done(w, BEAT, BY(alice))->sessions[0].user, "alice");
    expect_int(done(w, SESSIONS)->sessions_count, 1);
}

/* P7 */
static void a_beat_moves_the_idle_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    for (int i = 0; i < 3; i++) {
        clock_forward(w, 59 * SECOND);
        const hf_answer *beat = done(w, BEAT, BY(alice));
        expect_int(beat->sessions_count, 1);
        expect_text(beat->sessions[0].id, alice.id);
        expect_text(beat->sessions[0].user, "alice");
        expect_int(beat->sessions[0].expires_us, w->now_us + MINUTE);
        expect_int(beat->sessions[0].opened_us, FIXTURE_BEGINS_US);
    }
}

/* P7 */
static void one_beat_keeps_all_locks_and_says_how_many(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, ACQUIRE, BY(alice), ON("policy", "3"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "4"));
    clock_forward(w, 50 * SECOND);
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->locks_count, 3);
    expect_int(beat->lost_count, 0);
    expect_int(beat->requests_count, 0);
    clock_forward(w, 50 * SECOND);
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "3"));
    expect_int(done(w, WHO, ON("policy", "2"))->locks[0].expires_us, w->now_us + 10 * SECOND);
}

static void a_beat_leaves_no_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    news_skip(w);
    done(w, BEAT, BY(alice));
    news(w, 0);
}

/* P7 */
static void a_beat_is_in_time_one_microsecond_before_the_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    clock_forward(w, MINUTE - 1);
    expect_int(done(w, BEAT, BY(alice))->sessions[0].expires_us, w->now_us + MINUTE);
}

/* P7 */
static void a_beat_is_refused_at_the_bound_and_never_revives(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    refused(w, HF_EXPIRED, BEAT, BY(alice));
    refused(w, HF_EXPIRED, BEAT, BY(alice));
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    refused(w, HF_EXPIRED, ACQUIRE, BY(alice), ON("policy", "1"));
}

/* P7, P11: an old beat must not come back when the clock does. */
static void a_session_seen_dead_by_a_sweep_stays_dead_when_the_clock_goes_back(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    clock_forward(w, MINUTE);
    done(w, SWEEP);
    clock_forward(w, -30 * SECOND);
    refused(w, HF_EXPIRED, BEAT, BY(alice));
}

static void closing_releases_every_lock_and_says_how_many(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("claim", "2"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("claim", "2"), .mode = HF_SHARED);
    news_skip(w);
    expect_int(done(w, CLOSE, BY(alice))->locks_count, 2);
    const hf_event *events = news(w, 3);
    expect_int(news_count(events, 3, HF_EVENT_RELEASED), 2);
    expect_int(news_count(events, 3, HF_EVENT_SESSION_CLOSED), 1);
    for (int i = 0; i < 3; i++)
        expect_text(events[i].session, alice.id);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
    const hf_answer *who = done(w, WHO, ON("claim", "2"));
    expect_int(who->locks_count, 1);
    expect_text(who->locks[0].session, bob.id);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
}

static void closing_again_is_harmless_and_leaves_no_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, CLOSE, BY(alice));
    news_skip(w);
    expect_int(done(w, CLOSE, BY(alice))->locks_count, 0);
    news(w, 0);
}

/* P7 */
static void closing_what_died_is_ok_and_does_not_bring_it_back(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    expect_int(done(w, CLOSE, BY(alice))->locks_count, 0);
    refused(w, HF_EXPIRED, BEAT, BY(alice));
    expect_int(done(w, SESSIONS)->sessions_count, 0);
}

static void a_closed_session_can_do_nothing_more(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    done(w, CLOSE, BY(alice));
    refused(w, HF_EXPIRED, BEAT, BY(alice));
    refused(w, HF_EXPIRED, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_EXPIRED, RENEW, BY(alice), ON("policy", "1"));
    refused(w, HF_EXPIRED, DOWNGRADE, BY(alice), ON("policy", "1"));
    refused(w, HF_EXPIRED, RELEASE, BY(alice), ON("policy", "1"));
    refused(w, HF_EXPIRED, RELEASE_ALL, BY(alice));
    refused(w, HF_EXPIRED, HOLDS, BY(alice), ON("policy", "1"));
    refused(w, HF_EXPIRED, REQUEST, BY(alice), ON("policy", "2"));
    refused(w, HF_EXPIRED, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id);
    refused(w, HF_EXPIRED, FORCE_RELEASE, BY(alice), ON("policy", "2"), .text = "stuck");
}

/* P6, P13 */
static void a_key_wrong_by_one_bit_is_denied_everywhere(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials thief = one_bit_off(w, &alice);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    refused(w, HF_DENIED, BEAT, BY(thief));
    refused(w, HF_DENIED, CLOSE, BY(thief));
    refused(w, HF_DENIED, ACQUIRE, BY(thief), ON("policy", "1"));
    refused(w, HF_DENIED, RENEW, BY(thief), ON("policy", "1"));
    refused(w, HF_DENIED, DOWNGRADE, BY(thief), ON("policy", "1"));
    refused(w, HF_DENIED, RELEASE, BY(thief), ON("policy", "1"));
    refused(w, HF_DENIED, RELEASE_ALL, BY(thief));
    refused(w, HF_DENIED, HOLDS, BY(thief), ON("policy", "1"));
    refused(w, HF_DENIED, REQUEST, BY(thief), ON("policy", "2"));
    refused(w, HF_DENIED, HAND_OVER, BY(thief), ON("policy", "1"), .target = bob.id);
    refused(w, HF_DENIED, FORCE_RELEASE, BY(thief), ON("policy", "2"), .text = "mine now");
    refused(w, HF_DENIED, FORCE_RELEASE, BY(thief), ON("policy", "2"), .text = "mine now",
            .actor = "root");
}

/* P6: what a wrong key is told does not depend on whether the session lives. */
static void a_wrong_key_is_denied_also_for_a_session_that_ended(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials thief = one_bit_off(w, &alice);
    clock_forward(w, MINUTE);
    refused(w, HF_DENIED, BEAT, BY(thief));
    done(w, CLOSE, BY(alice));
    refused(w, HF_DENIED, BEAT, BY(thief));
    refused(w, HF_DENIED, CLOSE, BY(thief));
}

static void a_session_nobody_opened_is_not_found(fixture *w)
{
    hf_credentials bob = person(w, "bob", "Bob Smith"), nobody = draw(w);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, BEAT, BY(nobody));
    refused(w, HF_NOT_FOUND, CLOSE, BY(nobody));
    refused(w, HF_NOT_FOUND, ACQUIRE, BY(nobody), ON("policy", "2"));
    refused(w, HF_NOT_FOUND, RENEW, BY(nobody), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, DOWNGRADE, BY(nobody), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, RELEASE, BY(nobody), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, RELEASE_ALL, BY(nobody));
    refused(w, HF_NOT_FOUND, HOLDS, BY(nobody), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, REQUEST, BY(nobody), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, HAND_OVER, BY(nobody), ON("policy", "1"), .target = bob.id);
    refused(w, HF_NOT_FOUND, FORCE_RELEASE, BY(nobody), ON("policy", "1"), .text = "stuck");
}

static void replacing_releases_the_old_locks_and_ends_the_old_session(fixture *w)
{
    hf_credentials old = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(old), ON("policy", "1"));
    done(w, ACQUIRE, BY(old), ON("policy", "2"));
    hf_credentials fresh = draw(w);
    news_skip(w);
    const hf_answer *opened =
        done(w, SESSION_OPEN, BY(fresh), .user = "alice", .name = "Alice Chen", .replaces = &old);
    expect_text(opened->sessions[0].id, fresh.id);
    const hf_event *events = news(w, 4);
    expect_int(news_count(events, 4, HF_EVENT_RELEASED), 2);
    expect_int(news_count(events, 4, HF_EVENT_SESSION_CLOSED), 1);
    expect_int(news_count(events, 4, HF_EVENT_SESSION_OPENED), 1);
    refused(w, HF_EXPIRED, BEAT, BY(old));
    expect_int(done(w, SESSIONS)->sessions_count, 1);
    done(w, ACQUIRE, BY(fresh), ON("policy", "1"));
    done(w, ACQUIRE, BY(fresh), ON("policy", "2"));
}

/* P6 */
static void replacing_with_a_wrong_key_is_denied_and_opens_nothing(fixture *w)
{
    hf_credentials old = person(w, "alice", "Alice Chen");
    hf_credentials thief = one_bit_off(w, &old), fresh = draw(w);
    done(w, ACQUIRE, BY(old), ON("policy", "1"));
    refused(w, HF_DENIED, SESSION_OPEN, BY(fresh), .user = "mallory", .replaces = &thief);
    refused(w, HF_NOT_FOUND, BEAT, BY(fresh));
    done(w, HOLDS, BY(old), ON("policy", "1"));
}

static void replacing_what_has_ended_opens_all_the_same(fixture *w)
{
    hf_credentials old = person_idle(w, "alice", "Alice Chen", MINUTE), fresh = draw(w);
    done(w, ACQUIRE, BY(old), ON("policy", "1"));
    clock_forward(w, MINUTE);
    done(w, SESSION_OPEN, BY(fresh), .user = "alice", .replaces = &old);
    done(w, ACQUIRE, BY(fresh), ON("policy", "1"));
    refused(w, HF_EXPIRED, BEAT, BY(old));
}

static void replacing_what_is_not_known_any_more_opens_all_the_same(fixture *w)
{
    hf_credentials old = draw(w), fresh = draw(w);
    done(w, SESSION_OPEN, BY(fresh), .user = "alice", .replaces = &old);
    done(w, BEAT, BY(fresh));
}

static void live_sessions_are_listed_by_id_without_secrets(fixture *w)
{
    hf_credentials people[5];
    for (int i = 0; i < 5; i++)
        people[i] = person_idle(w, i % 2 ? "bob" : "alice", NULL, i == 4 ? SECOND : HOUR);
    clock_forward(w, SECOND);
    done(w, CLOSE, BY(people[1]));
    const hf_answer *all = done(w, SESSIONS);
    expect_int(all->sessions_count, 3);
    expect_true(!all->more);
    for (int i = 1; i < 3; i++)
        expect_true(strcmp(all->sessions[i - 1].id, all->sessions[i].id) < 0);
    expect_int(done(w, SESSIONS, .user = "alice")->sessions_count, 2);
    const hf_answer *bobs = done(w, SESSIONS, .user = "bob");
    expect_int(bobs->sessions_count, 1);
    expect_text(bobs->sessions[0].id, people[3].id);
    expect_int(done(w, SESSIONS, .user = "nobody")->sessions_count, 0);
}

static void pages_of_sessions_cover_all_exactly_once(fixture *w)
{
    enum { PEOPLE = 7 };
    for (int i = 0; i < PEOPLE; i++)
        person(w, "alice", NULL);
    const hf_answer *all = done(w, SESSIONS);
    expect_int(all->sessions_count, PEOPLE);
    for (size_t limit = 1; limit <= PEOPLE + 1; limit++) {
        size_t seen = 0;
        const hf_answer *page = done(w, SESSIONS, .limit = limit);
        for (;; page = done(w, SESSIONS, .limit = limit, .after = page->next)) {
            expect_true(page->sessions_count <= limit);
            for (size_t i = 0; i < page->sessions_count; i++, seen++)
                expect_text(page->sessions[i].id, all->sessions[seen].id);
            if (!page->more)
                break;
            expect_int(page->sessions_count, limit);
        }
        expect_int(seen, PEOPLE);
    }
}

/* P7, P13 */
static void a_session_is_found_by_its_key_and_nothing_is_extended(fixture *w)
{
    hf_credentials alice = draw(w);
    const hf_answer *opened =
        done(w, SESSION_OPEN, BY(alice), .user = "alice", .name = "Alice Chen", .idle_us = MINUTE,
             .caller = "0123456789abcdef0123456789abcdef");
    expect_text(opened->sessions[0].token, "0123456789abcdef0123456789abcdef");
    news_skip(w);
    clock_forward(w, MINUTE - 1);
    char *before = snapshot(w);
    const hf_answer *found = done(w, SESSION_FIND, BY(alice));
    expect_int(found->sessions_count, 1);
    expect_true(memcmp(&found->sessions[0], &opened->sessions[0], sizeof(hf_session_info)) == 0);
    expect_int(found->now_us, w->now_us);
    unchanged(w, before);
    news(w, 0);
    hf_credentials liar = one_bit_off(w, &alice);
    refused(w, HF_DENIED, SESSION_FIND, BY(liar));
    clock_forward(w, 1);
    const hf_answer *late = refused(w, HF_EXPIRED, SESSION_FIND, BY(alice));
    expect_text(late->message, refused(w, HF_EXPIRED, BEAT, BY(alice))->message);
}

/* The hash of the key is in the store, and whoever can prove that they know it has the key. */
static void a_session_is_found_by_a_proof_of_its_key(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person(w, "bob", "Bob Smith"), nobody = draw(w);
    unsigned char proof[32], other[32], empty[32];
    expect_true(hf_hmac_sha256(alice.key_sha256, 32, "a ticket", 8, proof));
    expect_true(hf_hmac_sha256(bob.key_sha256, 32, "a ticket", 8, other));
    expect_true(hf_hmac_sha256(alice.key_sha256, 32, "", 0, empty));
    const hf_answer *found =
        done(w, SESSION_FIND, .target = alice.id, .text = "a ticket", .sha256 = proof);
    expect_int(found->sessions_count, 1);
    expect_text(found->sessions[0].id, alice.id);
    expect_text(found->sessions[0].user, "alice");
    refused(w, HF_DENIED, SESSION_FIND, .target = alice.id, .text = "a ticket", .sha256 = other);
    refused(w, HF_DENIED, SESSION_FIND, .target = alice.id, .text = "another ticket",
            .sha256 = proof);
    refused(w, HF_DENIED, SESSION_FIND, .target = bob.id, .text = "a ticket", .sha256 = proof);
    refused(w, HF_NOT_FOUND, SESSION_FIND, .target = nobody.id, .text = "a ticket",
            .sha256 = proof);
    refused(w, HF_INVALID, SESSION_FIND, .target = alice.id);
    refused(w, HF_INVALID, SESSION_FIND, .target = alice.id, .text = "a ticket");
    refused(w, HF_INVALID, SESSION_FIND, .target = alice.id, .text = "", .sha256 = empty);
    refused(w, HF_INVALID, SESSION_FIND, BY(alice), .target = alice.id, .text = "a ticket",
            .sha256 = proof);
    clock_forward(w, MINUTE);
    refused(w, HF_EXPIRED, SESSION_FIND, .target = alice.id, .text = "a ticket", .sha256 = proof);
}

static void a_session_that_is_not_there_is_not_found(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), nobody = draw(w);
    done(w, CLOSE, BY(alice));
    refused(w, HF_EXPIRED, SESSION_FIND, BY(alice));
    const hf_answer *no = refused(w, HF_NOT_FOUND, SESSION_FIND, BY(nobody));
    expect_text(no->message, refused(w, HF_NOT_FOUND, BEAT, BY(nobody))->message);
    refused(w, HF_INVALID, SESSION_FIND);
}

static void finding_stands_beside_other_ops_and_sees_what_they_did(fixture *w)
{
    hf_credentials alice = draw(w), bob = person(w, "bob", "Bob Smith");
    hf_batch *batch = batch_of(w, 5);
    add(batch, SESSION_FIND, BY(alice));
    add(batch, SESSION_OPEN, BY(alice), .user = "alice");
    add(batch, SESSION_FIND, BY(alice), .linked = true);
    add(batch, CLOSE, BY(bob));
    add(batch, SESSION_FIND, BY(bob));
    run(w, batch);
    answer(batch, 0, HF_NOT_FOUND);
    expect_text(answer(batch, 2, HF_OK)->sessions[0].user, "alice");
    answer(batch, 4, HF_EXPIRED);
}

static void who_opened_a_session_is_in_every_answer_about_it(fixture *w)
{
    static const char caller[] = "a caller of up to 64 bytes: 456789012345678901234567890123456789";
    hf_credentials alice = draw(w);
    done(w, SESSION_OPEN, BY(alice), .user = "alice", .caller = caller, .request_id = "q");
    expect_text(
        done(w, SESSION_OPEN, BY(alice), .user = "alice", .caller = caller, .request_id = "q")
            ->sessions[0]
            .token,
        caller);
    expect_text(done(w, BEAT, BY(alice))->sessions[0].token, caller);
    expect_text(done(w, SESSIONS)->sessions[0].token, caller);
}

static const suite_test sessions_tests[] = {
    TEST(an_opened_session_is_described_as_it_was_asked_for),
    TEST(the_idle_bound_is_five_minutes_and_the_name_is_the_user_unless_said),
    TEST(opening_leaves_an_event),
    TEST(an_id_that_is_taken_is_not_opened_again),
    TEST(a_beat_moves_the_idle_bound),
    TEST(one_beat_keeps_all_locks_and_says_how_many),
    TEST(a_beat_leaves_no_event),
    TEST(a_beat_is_in_time_one_microsecond_before_the_bound),
    TEST(a_beat_is_refused_at_the_bound_and_never_revives),
    TEST(a_session_seen_dead_by_a_sweep_stays_dead_when_the_clock_goes_back),
    TEST(closing_releases_every_lock_and_says_how_many),
    TEST(closing_again_is_harmless_and_leaves_no_event),
    TEST(closing_what_died_is_ok_and_does_not_bring_it_back),
    TEST(a_closed_session_can_do_nothing_more),
    TEST(a_key_wrong_by_one_bit_is_denied_everywhere),
    TEST(a_wrong_key_is_denied_also_for_a_session_that_ended),
    TEST(a_session_nobody_opened_is_not_found),
    TEST(replacing_releases_the_old_locks_and_ends_the_old_session),
    TEST(replacing_with_a_wrong_key_is_denied_and_opens_nothing),
    TEST(replacing_what_has_ended_opens_all_the_same),
    TEST(replacing_what_is_not_known_any_more_opens_all_the_same),
    TEST(live_sessions_are_listed_by_id_without_secrets),
    TEST(pages_of_sessions_cover_all_exactly_once),
    TEST(a_session_is_found_by_its_key_and_nothing_is_extended),
    TEST(a_session_is_found_by_a_proof_of_its_key),
    TEST(a_session_that_is_not_there_is_not_found),
    TEST(finding_stands_beside_other_ops_and_sees_what_they_did),
    TEST(who_opened_a_session_is_in_every_answer_about_it),
};
THEME(sessions);
