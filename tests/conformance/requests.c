/* SPDX-License-Identifier: MIT */
/* Requests: asking a holder to let go, seen by whoever holds it until the asker gets it or goes. */
#include "suite.h"

#include <string.h>

/* P13 */
static void a_request_is_seen_by_who_and_by_the_holders_beat(world *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, SECOND);
    const hf_answer *asked_for = done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please, it is urgent");
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
        expect_int(seen[i]->at_us, WORLD_BEGINS_US + SECOND);
    }
    expect_int(done(w, BEAT, BY(bob))->requests_count, 0);
}

/* P2 */
static void a_request_leaves_an_event(world *w)
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

static void a_request_needs_someone_else_who_holds_it(world *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE), bob = person(w, "bob", "Bob Smith");
    refused(w, HF_NOT_HELD, REQUEST, BY(bob), ON("policy", "1"));
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_HELD, REQUEST, BY(alice), ON("policy", "1"));
    clock_forward(w, MINUTE);
    refused(w, HF_NOT_HELD, REQUEST, BY(bob), ON("policy", "1"));
}

static void a_reader_may_ask_the_other_readers(world *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_NOT_HELD, REQUEST, BY(alice), ON("policy", "1"));
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED);
    const hf_answer *holders = done(w, REQUEST, BY(alice), ON("policy", "1"), .text = "I want to write");
    expect_int(holders->locks_count, 1);
    expect_text(holders->locks[0].session, bob.id);
    expect_int(done(w, BEAT, BY(bob))->requests_count, 1);
    expect_int(done(w, BEAT, BY(alice))->requests_count, 0);
}

static void every_holder_sees_every_request(world *w)
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

static void asking_again_replaces_the_message(world *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "pretty please");
    const hf_answer *beat = done(w, BEAT, BY(alice));
    expect_int(beat->requests_count, 1);
    expect_text(beat->requests[0].message, "pretty please");
}

static void a_request_is_gone_when_the_asker_gets_the_lock(world *w)
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
static void a_request_is_gone_when_the_asker_dies_or_closes(world *w)
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

static void requests_for_other_resources_are_not_mixed_up(world *w)
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
};
THEME(requests);
