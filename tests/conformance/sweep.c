/* SPDX-License-Identifier: MIT */
/* Sweeping: bounded work, events for what died, a day's grace for what has ended, and no other
 * answer changed. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* P7 */
static void what_lives_is_not_swept(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    clock_forward(w, MINUTE - 1);
    char *before = snapshot(w);
    expect_int(sweep_all(w, 0), 0);
    unchanged(w, before);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
}

/* P2, P7 */
static void a_dead_session_is_ended_and_its_locks_removed_with_events(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    int64_t fence =
        done(w, ACQUIRE, BY(alice), ON("policy", "2"), .mode = HF_SHARED)->locks[0].fence;
    clock_forward(w, MINUTE);
    news_skip(w);
    expect_int(sweep_all(w, 0), 3);
    const hf_event *events = news(w, 3);
    expect_int(news_count(events, 3, HF_EVENT_EXPIRED), 2);
    expect_int(news_count(events, 3, HF_EVENT_SESSION_EXPIRED), 1);
    for (int i = 0; i < 3; i++) {
        expect_text(events[i].session, alice.id);
        expect_text(events[i].user, "alice");
        expect_int(events[i].at_us, w->now_us);
        if (events[i].kind == HF_EVENT_EXPIRED)
            expect_true(events[i].fence == fence || strcmp(events[i].resource.id, "1") == 0);
    }
    refused(w, HF_EXPIRED, BEAT, BY(alice));
    expect_int(sweep_all(w, 0), 0);
    news(w, 0);
}

/* P2, P7 */
static void a_lock_past_its_own_bound_is_removed_and_its_session_left(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "2"));
    clock_forward(w, MINUTE);
    news_skip(w);
    expect_int(sweep_all(w, 0), 1);
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_EXPIRED);
    expect_text(event->resource.id, "1");
    expect_text(event->session, alice.id);
    expect_int(done(w, BEAT, BY(alice))->locks_count, 1);
}

static void each_call_does_bounded_work_and_says_whether_there_is_more(fixture *w)
{
    enum { PEOPLE = 6, EACH = 4 };
    for (int i = 0; i < PEOPLE; i++) {
        hf_credentials it = person_idle(w, "alice", NULL, MINUTE);
        for (int j = 0; j < EACH; j++) {
            char id[16];
            snprintf(id, sizeof id, "%d-%d", i, j);
            done(w, ACQUIRE, BY(it), ON("policy", id));
        }
    }
    clock_forward(w, MINUTE);
    news_skip(w);
    const hf_answer *first = done(w, SWEEP, .limit = 1);
    expect_int(first->swept, 1);
    expect_true(first->more);
    news(w, 1);
    first = done(w, SWEEP, .limit = 5);
    expect_true(first->swept >= 1 && first->swept <= 5);
    expect_true(first->more);
    news(w, first->swept);
    expect_int(first->swept + sweep_all(w, 3), PEOPLE * (EACH + 1) - 1);
    expect_int(sweep_all(w, 0), 0);
}

static void of_locks_past_their_bound_those_that_ended_first_go_first(fixture *w)
{
    enum { PEOPLE = 5 };
    static const int minutes[PEOPLE] = {3, 5, 1, 4, 2};
    hf_credentials people[PEOPLE];
    for (int i = 0; i < PEOPLE; i++) {
        people[i] = person_idle(w, "alice", NULL, HOUR);
        done(w, ACQUIRE, BY(people[i]), ON("page", "1"), .mode = HF_SHARED,
             .ttl_us = minutes[i] * MINUTE);
    }
    clock_forward(w, 10 * MINUTE);
    for (int i = 1; i <= PEOPLE; i++) {
        news_skip(w);
        expect_int(done(w, SWEEP, .limit = 1)->swept, 1);
        const hf_event *event = news(w, 1);
        for (int j = 0; j < PEOPLE; j++)
            if (minutes[j] == i)
                expect_text(event->session, people[j].id);
    }
}

/* P7: nothing depends on it but space. */
static void a_sweep_changes_no_answer(fixture *w)
{
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", MINUTE),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(dead), ON("policy", "1"));
    done(w, ACQUIRE, BY(dead), ON("policy", "2"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "3"), .ttl_us = MINUTE);
    done(w, REQUEST, BY(dead), ON("policy", "3"));
    clock_forward(w, MINUTE);
    char *before = dump_store(w->store, DUMP_LOCKS | DUMP_SESSIONS | DUMP_TYPES);
    sweep_all(w, 1);
    char *after = dump_store(w->store, DUMP_LOCKS | DUMP_SESSIONS | DUMP_TYPES);
    expect_text(after, before);
    free(before);
    free(after);
    refused(w, HF_EXPIRED, BEAT, BY(dead));
    refused(w, HF_EXPIRED, RELEASE, BY(dead), ON("policy", "1"));
    refused(w, HF_NOT_HELD, RENEW, BY(bob), ON("policy", "3"), .ttl_us = MINUTE);
    done(w, HOLDS, BY(bob), ON("policy", "2"));
    done(w, CLOSE, BY(dead));
}

static void an_ended_session_is_known_for_a_day_and_then_forgotten(fixture *w)
{
    hf_credentials closed = person(w, "alice", "Alice Chen"),
                   died = person_idle(w, "bob", "Bob Smith", MINUTE);
    done(w, CLOSE, BY(closed));
    clock_forward(w, MINUTE);
    sweep_all(w, 0);
    clock_set(w, FIXTURE_BEGINS_US + HF_KEEP_US - 1);
    expect_int(sweep_all(w, 0), 0);
    refused(w, HF_EXPIRED, BEAT, BY(closed));
    refused(w, HF_EXPIRED, BEAT, BY(died));
    clock_set(w, FIXTURE_BEGINS_US + HF_KEEP_US + 1);
    expect_int(sweep_all(w, 0), 1);
    refused(w, HF_NOT_FOUND, BEAT, BY(closed));
    refused(w, HF_EXPIRED, BEAT, BY(died));
    clock_forward(w, MINUTE);
    expect_int(sweep_all(w, 0), 1);
    refused(w, HF_NOT_FOUND, BEAT, BY(died));
}

static void a_free_resource_is_forgotten_after_a_day_or_at_once(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", 3 * DAY);
    done(w, ACQUIRE, BY(alice), ON("policy", "free"));
    done(w, ACQUIRE, BY(alice), ON("policy", "held"));
    done(w, RELEASE, BY(alice), ON("policy", "free"));
    clock_forward(w, HF_KEEP_US - 1);
    expect_int(sweep_all(w, 0), 0);
    clock_forward(w, 2);
    expect_int(sweep_all(w, 0), w->at->drops_free ? 0 : 1);
    done(w, HOLDS, BY(alice), ON("policy", "held"));
    clock_forward(w, DAY);
    expect_int(sweep_all(w, 0), 0);
}

/* Forgetting is not an event: nothing happened to anyone. */
static void forgetting_leaves_no_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, CLOSE, BY(alice));
    news_skip(w);
    clock_forward(w, 2 * HF_KEEP_US);
    expect_int(sweep_all(w, 0), w->at->drops_free ? 1 : 2);
    news(w, 0);
}

/* Most sessions are opened without a request id: they have nothing in common for it. */
static void many_sessions_without_a_request_id_are_swept_in_bounded_steps(fixture *w)
{
    enum { PEOPLE = 1000, STEP = 300 };
    static hf_credentials people[PEOPLE];
    hf_batch *open = batch_of(w, PEOPLE);
    hf_error err = {0};
    for (unsigned i = 0; i < PEOPLE; i++) {
        char id[HF_SESSION_ID_SIZE];
        snprintf(id, sizeof id, "%032x", i * 2654435761u);
        expect(HF_OK, hf_credentials_set(&people[i], id, "00112233445566778899aabbccddeeff", &err),
               err);
        add(open, SESSION_OPEN, BY(people[i]), .user = "alice", .idle_us = MINUTE);
    }
    run_fully(w, open);
    clock_forward(w, MINUTE);
    const hf_answer *swept = done(w, SWEEP, .limit = STEP);
    expect_int(swept->swept, STEP);
    expect_true(swept->more);
    expect_int(sweep_all(w, STEP), PEOPLE - STEP);
    refused(w, HF_EXPIRED, BEAT, BY(people[0]));
    clock_forward(w, HF_KEEP_US + 1);
    swept = done(w, SWEEP, .limit = STEP);
    expect_int(swept->swept, STEP);
    expect_true(swept->more);
    expect_int(sweep_all(w, STEP), PEOPLE - STEP);
    refused(w, HF_NOT_FOUND, BEAT, BY(people[0]));
    refused(w, HF_NOT_FOUND, BEAT, BY(people[PEOPLE - 1]));
}

static const suite_test sweep_tests[] = {
    TEST(what_lives_is_not_swept),
    TEST(a_dead_session_is_ended_and_its_locks_removed_with_events),
    TEST(a_lock_past_its_own_bound_is_removed_and_its_session_left),
    TEST(each_call_does_bounded_work_and_says_whether_there_is_more),
    TEST(of_locks_past_their_bound_those_that_ended_first_go_first),
    TEST(a_sweep_changes_no_answer),
    TEST(an_ended_session_is_known_for_a_day_and_then_forgotten),
    TEST(a_free_resource_is_forgotten_after_a_day_or_at_once),
    TEST(forgetting_leaves_no_event),
    TEST(many_sessions_without_a_request_id_are_swept_in_bounded_steps),
};
THEME(sweep);
