/* SPDX-License-Identifier: MIT */
/* Requests: asking a holder to let go, seen by whoever holds it until the asker gets it or goes. */
#include "suite.h"

#include <string.h>

/* P13 */
static void a_request_is_seen_by_who_and_by_the_holders_beat(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, SECOND);
    const hf_answer *asked_for =
        done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please, it is urgent");
    expect_int(asked_for->locks_count, 1);
    expect_text(asked_for->locks[0].session, alice.id);
    const hf_answer *who = done(w, WHO, ON("policy", "1")), *beat = done(w, BEAT, BY(alice));
    expect_int(who->requests_count, 1);
    expect_int(beat->requests_count, 1);
    const hf_request *seen[] = {&who->requests[0], &beat->requests[0]};
    for (int i = 0; i < 2; i++) {
        expect_text(seen[i]->resource.type, "policy");
        expect_text(seen[i]->resource.id, "1");
        expect_text(seen[i]->session, bob.id);
        expect_text(seen[i]->user, "bob");
        expect_text(seen[i]->name, "Bob Smith");
        expect_text(seen[i]->message, "please, it is urgent");
        expect_int(seen[i]->at_us, FIXTURE_BEGINS_US + SECOND);
    }
    expect_int(done(w, BEAT, BY(bob))->requests_count, 0);
}

/* P2 */
static void a_request_leaves_an_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_REQUESTED);
    expect_text(event->session, bob.id);
    expect_text(event->user, "bob");
    expect_text(event->resource.id, "1");
    expect_text(event->reason, "please");
}

static void a_request_needs_someone_else_who_holds_it(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person(w, "bob", "Bob Smith");
    refused(w, HF_NOT_HELD, REQUEST, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_HELD, REQUEST, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    refused(w, HF_NOT_HELD, REQUEST, BY(bob), ON("policy", "1"));
}

static void a_reader_may_ask_the_other_readers(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_NOT_HELD, REQUEST, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    const hf_answer *holders =
        done(w, REQUEST, BY(alice), ON("policy", "1"), .text = "I want to write");
    expect_int(holders->locks_count, 1);
    expect_text(holders->locks[0].session, bob.id);
    expect_int(done(w, BEAT, BY(bob))->requests_count, 1);
    expect_int(done(w, BEAT, BY(alice))->requests_count, 0);
}

static void every_holder_sees_every_request(fixture *w)
{
    hf_credentials a = person(w, "a", NULL), b = person(w, "b", NULL), c = person(w, "c", NULL),
                   d = person(w, "d", NULL);
    done(w, ACQUIRE, BY(a), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(b), ON("policy", "1"), .mode = HF_SHARED);
    done(w, REQUEST, BY(c), ON("policy", "1"));
    clock_forward(w, SECOND);
    done(w, REQUEST, BY(d), ON("policy", "1"), .text = "hello");
    expect_int(done(w, BEAT, BY(a))->requests_count, 2);
    expect_int(done(w, BEAT, BY(b))->requests_count, 2);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 2);
}

static void asking_again_replaces_the_message(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "pretty please");
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->requests_count, 1);
    expect_text(beat->requests[0].message, "pretty please");
}

static void a_request_is_gone_when_the_asker_gets_the_lock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    hf_credentials carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    done(w, REQUEST, BY(carol), ON("policy", "1"), .text = "me too");
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->requests_count, 1);
    expect_text(who->requests[0].session, carol.id);
    expect_text(done(w, BEAT, BY(bob))->requests[0].message, "me too");
}

/* P7 */
static void a_request_is_gone_when_the_asker_dies_or_closes(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_credentials dies = person_idle(w, "bob", "Bob Smith", MINUTE),
                   closes = person_idle(w, "carol", NULL, HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(dies), ON("policy", "1"));
    done(w, REQUEST, BY(closes), ON("policy", "1"));
    expect_int(done(w, BEAT, BY(alice))->requests_count, 2);
    done(w, CLOSE, BY(closes));
    expect_int(done(w, BEAT, BY(alice))->requests_count, 1);
    clock_forward(w, MINUTE - 1);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 1);
    clock_forward(w, 1);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 0);
    expect_int(done(w, BEAT, BY(alice))->requests_count, 0);
    sweep_all(w, 0);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 0);
}

static void requests_for_other_resources_are_not_mixed_up(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "2"));
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "one");
    done(w, REQUEST, BY(alice), ON("policy", "2"), .text = "two");
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->requests_count, 1);
    expect_text(beat->requests[0].message, "one");
    expect_text(done(w, WHO, ON("policy", "2"))->requests[0].message, "two");
    expect_int(done(w, WHO, ON("policy", "3"))->requests_count, 0);
}

static void a_declined_request_is_gone_and_the_lock_stays(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Jones");
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, REQUEST, BY(carol), ON("policy", "1"), .text = "me too");
    news_skip(w);
    const hf_answer *declined =
        done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .text = "not before noon");
    expect_int(declined->locks_count, 1);
    expect_text(declined->locks[0].session, alice.id);
    expect_int(declined->locks[0].fence, fence);
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_DECLINED);
    expect_text(event->session, bob.id);
    expect_text(event->user, "bob");
    expect_text(event->actor, "alice");
    expect_text(event->resource.type, "policy");
    expect_text(event->resource.id, "1");
    expect_text(event->reason, "not before noon");
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 1);
    expect_int(who->requests_count, 1);
    expect_text(who->requests[0].session, carol.id);
    expect_int(done(w, BEAT, BY(alice))->requests_count, 1);
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "it is noon");
    expect_int(done(w, BEAT, BY(alice))->requests_count, 2);
}

static void only_a_holder_declines(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Jones");
    refused(w, HF_NOT_HELD, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id);
    int64_t old = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_HELD, DECLINE, BY(carol), ON("policy", "1"), .target = bob.id);
    refused(w, HF_NOT_HELD, DECLINE, BY(bob), ON("policy", "1"), .target = bob.id);
    refused(w, HF_NOT_HELD, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .fence = old);
    refused(w, HF_NOT_HELD, DECLINE, BY(alice), ON("policy", "2"), .target = bob.id);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 1);
    done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .fence = fence);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 0);
}

static void what_nobody_asked_for_is_not_declined(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   dies = person_idle(w, "dora", "Dora Hill", MINUTE), nobody = draw(w);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    done(w, REQUEST, BY(bob), ON("policy", "2"));
    done(w, REQUEST, BY(dies), ON("policy", "1"));
    refused(w, HF_NOT_FOUND, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id);
    refused(w, HF_NOT_FOUND, DECLINE, BY(alice), ON("policy", "1"), .target = nobody.id);
    refused(w, HF_INVALID, DECLINE, BY(alice), ON("policy", "1"), .target = alice.id);
    clock_forward(w, MINUTE);
    refused(w, HF_NOT_FOUND, DECLINE, BY(alice), ON("policy", "1"), .target = dies.id);
    done(w, DECLINE, BY(alice), ON("policy", "2"), .target = bob.id);
    refused(w, HF_NOT_FOUND, DECLINE, BY(alice), ON("policy", "2"), .target = bob.id);
}

/* R1: a request is to all who read; one of them is enough to decline it. */
static void each_reader_may_decline(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    done(w, REQUEST, BY(carol), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id);
    done(w, DECLINE, BY(bob), ON("policy", "1"), .target = carol.id);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 0);
}

/* P12 */
static void a_repeated_decline_leaves_a_new_request_alone(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Jones");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "d1");
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "again");
    news_skip(w);
    const hf_answer *again =
        done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "d1");
    expect_int(again->locks_count, 1);
    news(w, 0);
    expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 1);
    /* The id settles neither the request of someone else, nor another act. */
    refused(w, HF_NOT_FOUND, DECLINE, BY(alice), ON("policy", "1"), .target = carol.id,
            .request_id = "d1");
    const hf_answer *given =
        done(w, HAND_OVER, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "d1");
    expect_text(given->locks[0].session, bob.id);
    /* The anchor remembers the last act, a session the last sixteen. */
    if (w->at->drops_free)
        done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = "d1");
    else
        refused(w, HF_NOT_HELD, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id,
                .request_id = "d1");
}

/* P12: a run leaves one trace for all of it. */
static void a_repeated_run_of_declines_is_known(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   carol = person(w, "carol", "Carol Jones");
    for (int release = 0; release < 2; release++) {
        done(w, ACQUIRE, BY(alice), ON("policy", "1"));
        done(w, REQUEST, BY(bob), ON("policy", "1"));
        done(w, REQUEST, BY(carol), ON("policy", "1"));
        for (int turn = 0; turn < 2; turn++) {
            const char *id = release ? "run-2" : "run-1";
            hf_batch *both = batch_of(w, 3);
            add(both, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id, .request_id = id,
                .linked = true);
            add(both, DECLINE, BY(alice), ON("policy", "1"), .target = carol.id, .request_id = id,
                .linked = release);
            if (release)
                add(both, RELEASE, BY(alice), ON("policy", "1"), .request_id = id);
            news_skip(w);
            run(w, both);
            for (size_t i = 0; i < hf_batch_count(both); i++)
                answer(both, i, HF_OK);
            if (turn == 1)
                news(w, 0);
        }
        expect_int(done(w, WHO, ON("policy", "1"))->requests_count, 0);
    }
}

static const suite_test requests_tests[] = {
    TEST(a_request_is_seen_by_who_and_by_the_holders_beat),
    TEST(a_request_leaves_an_event),
    TEST(a_request_needs_someone_else_who_holds_it),
    TEST(a_reader_may_ask_the_other_readers),
    TEST(every_holder_sees_every_request),
    TEST(asking_again_replaces_the_message),
    TEST(a_request_is_gone_when_the_asker_gets_the_lock),
    TEST(a_request_is_gone_when_the_asker_dies_or_closes),
    TEST(requests_for_other_resources_are_not_mixed_up),
    TEST(a_declined_request_is_gone_and_the_lock_stays),
    TEST(only_a_holder_declines),
    TEST(what_nobody_asked_for_is_not_declined),
    TEST(each_reader_may_decline),
    TEST(a_repeated_decline_leaves_a_new_request_alone),
    TEST(a_repeated_run_of_declines_is_known),
};
THEME(requests);
