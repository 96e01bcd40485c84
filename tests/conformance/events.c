/* SPDX-License-Identifier: MIT */
/* Events: every change leaves one, in order, with who, what, when and why; nothing else does. */
#include "suite.h"

#include <string.h>

static void events_come_in_the_order_of_what_happened(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, DOWNGRADE, BY(alice), ON("policy", "1"));
    done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    done(w, REQUEST, BY(bob), ON("policy", "1"));
    done(w, DECLINE, BY(alice), ON("policy", "1"), .target = bob.id);
    done(w, FORCE_RELEASE, ON("policy", "1"), .actor = "root", .text = "why");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"));
    done(w, RELEASE, BY(bob), ON("policy", "1"));
    done(w, CLOSE, BY(bob));
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    static const hf_event_kind expected[] = {
        HF_EVENT_SESSION_OPENED, HF_EVENT_SESSION_OPENED, HF_EVENT_ACQUIRED,
        HF_EVENT_UPGRADED,       HF_EVENT_DOWNGRADED,     HF_EVENT_RENEWED,
        HF_EVENT_REQUESTED,      HF_EVENT_DECLINED,       HF_EVENT_FORCED,
        HF_EVENT_ACQUIRED,       HF_EVENT_RELEASED,       HF_EVENT_SESSION_CLOSED,
        HF_EVENT_TYPE_SET,
    };
    const hf_answer *all = done(w, EVENTS);
    expect_int(all->events_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < all->events_count; i++) {
        expect_text(hf_event_kind_name(all->events[i].kind), hf_event_kind_name(expected[i]));
        expect_int(all->events[i].at_us, w->now_us);
        if (i)
            expect_true(all->events[i].seq > all->events[i - 1].seq);
    }
    expect_int(all->first_seq, all->events[0].seq);
    expect_int(all->last_seq, all->events[all->events_count - 1].seq);
}

static void pages_of_events_cover_all_exactly_once(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    for (int i = 0; i < 5; i++) {
        done(w, ACQUIRE, BY(alice), ON("policy", "1"));
        done(w, RELEASE, BY(alice), ON("policy", "1"));
    }
    const hf_answer *all = done(w, EVENTS);
    expect_int(all->events_count, 11);
    for (size_t limit = 1; limit <= 12; limit++) {
        int64_t after = 0;
        size_t seen = 0;
        for (;;) {
            const hf_answer *page = done(w, EVENTS, .after_seq = after, .limit = limit);
            expect_true(page->events_count <= limit);
            for (size_t i = 0; i < page->events_count; i++, seen++)
                expect_int(page->events[i].seq, all->events[seen].seq);
            if (page->events_count == 0)
                break;
            expect_true(page->events_count == limit || seen == 11);
            after = page->events[page->events_count - 1].seq;
        }
        expect_int(seen, 11);
    }
}

static void nothing_comes_after_the_last_event(fixture *w)
{
    expect_int(done(w, EVENTS)->events_count, 0);
    person(w, "alice", "Alice Chen");
    int64_t last = done(w, EVENTS)->events[0].seq;
    expect_int(done(w, EVENTS, .after_seq = last)->events_count, 0);
    expect_int(done(w, EVENTS, .after_seq = last + 1000)->events_count, 0);
    person(w, "bob", "Bob Smith");
    const hf_answer *next = done(w, EVENTS, .after_seq = last);
    expect_int(next->events_count, 1);
    expect_text(next->events[0].user, "bob");
}

static void what_changes_nothing_leaves_no_event(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    news_skip(w);
    done(w, BEAT, BY(alice));
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    done(w, WHO, ON("policy", "1"));
    done(w, LIST);
    done(w, SESSIONS);
    done(w, TYPES);
    done(w, EVENTS);
    done(w, SWEEP);
    done(w, RELEASE_ALL, BY(bob));
    refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_HELD, RELEASE, BY(bob), ON("policy", "1"));
    refused(w, HF_NOT_HELD, REQUEST, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, ACQUIRE, BY(bob), ON("policy", ""));
    news(w, 0);
}

/* P2: an event tells the same as the answer did. */
static void an_event_carries_the_reason_for_what_happened(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    news_skip(w);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "renewal");
    expect_text(news(w, 1)->reason, "renewal");
    done(w, REQUEST, BY(bob), ON("policy", "1"), .text = "please");
    expect_text(news(w, 1)->reason, "please");
    done(w, FORCE_RELEASE, BY(bob), ON("policy", "1"), .text = "no answer");
    expect_text(news(w, 1)->reason, "no answer");
}

static void events_of_one_batch_keep_its_order(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static char ids[50][8];
    hf_batch *take = batch_of(w, 50);
    for (int i = 0; i < 50; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", (i * 37) % 50);
        add(take, ACQUIRE, BY(alice), ON("policy", ids[i]));
    }
    news_skip(w);
    run(w, take);
    const hf_event *events = news(w, 50);
    for (int i = 0; i < 50; i++)
        expect_text(events[i].resource.id, ids[i]);
}

static void events_survive_closing_and_opening_the_store(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    char *before = snapshot(w);
    fixture_reopen(w);
    unchanged(w, before);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    const hf_answer *all = done(w, EVENTS);
    expect_int(all->events_count, 3);
    expect_true(all->events[2].seq > all->events[1].seq);
}

static const suite_test events_tests[] = {
    TEST(events_come_in_the_order_of_what_happened),
    TEST(pages_of_events_cover_all_exactly_once),
    TEST(nothing_comes_after_the_last_event),
    TEST(what_changes_nothing_leaves_no_event),
    TEST(an_event_carries_the_reason_for_what_happened),
    TEST(events_of_one_batch_keep_its_order),
    TEST_KEEPING(events_survive_closing_and_opening_the_store),
};
THEME(events);
