/* SPDX-License-Identifier: MIT */
/* Renewing: the absolute bound and the purpose are set anew; nothing else moves, and nothing comes
 * back. */
#include "suite.h"

#include <string.h>

static void a_renewal_sets_the_bound_from_now_and_keeps_the_fence(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    hf_lock held =
        done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE, .purpose = "renewal")
            ->locks[0];
    clock_forward(w, 30 * SECOND);
    news_skip(w);
    hf_lock renewed = done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = 2 * MINUTE)->locks[0];
    expect_int(renewed.ends_us, w->now_us + 2 * MINUTE);
    expect_int(renewed.expires_us, w->now_us + 2 * MINUTE);
    expect_int(renewed.fence, held.fence);
    expect_int(renewed.since_us, held.since_us);
    expect_int(renewed.mode, HF_EXCLUSIVE);
    expect_text(renewed.purpose, "renewal");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_RENEWED);
    expect_int(event->fence, held.fence);
    expect_text(event->session, alice.id);
}

static void a_renewal_may_shorten_or_remove_the_bound(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    expect_int(done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = SECOND)->locks[0].ends_us,
               w->now_us + SECOND);
    expect_int(done(w, RENEW, BY(alice), ON("policy", "1"))->locks[0].ends_us, 0);
    expect_int(done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0].expires_us, w->now_us + HOUR);
}

static void a_renewal_may_change_the_purpose(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .purpose = "renewal");
    done(w, RENEW, BY(alice), ON("policy", "1"), .purpose = "cancellation");
    expect_text(done(w, WHO, ON("policy", "1"))->locks[0].purpose, "cancellation");
    done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    expect_text(done(w, WHO, ON("policy", "1"))->locks[0].purpose, "cancellation");
}

/* P7 */
static void a_renewal_is_not_a_beat(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, 30 * SECOND);
    const hf_answer *renewed = done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    expect_int(renewed->locks[0].expires_us, FIXTURE_BEGINS_US + MINUTE);
    clock_forward(w, 30 * SECOND);
    refused(w, HF_EXPIRED, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
}

/* P7 */
static void a_renewal_at_the_bound_is_too_late_and_takes_nothing_again(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE - 1);
    done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = SECOND);
    clock_forward(w, SECOND);
    refused(w, HF_NOT_HELD, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

/* P6 */
static void only_the_holder_renews(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    refused(w, HF_NOT_HELD, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = MINUTE);
    refused(w, HF_NOT_HELD, RENEW, BY(bob), ON("policy", "1"), .ttl_us = HOUR);
}

static void a_shared_lock_is_renewed_alone(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR),
                   bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED, .ttl_us = MINUTE);
    const hf_answer *renewed = done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = 2 * MINUTE);
    expect_int(renewed->locks[0].mode, HF_SHARED);
    clock_forward(w, MINUTE);
    done(w, HOLDS, BY(alice), ON("policy", "1"));
    refused(w, HF_NOT_HELD, HOLDS, BY(bob), ON("policy", "1"));
}

static const suite_test renew_tests[] = {
    TEST(a_renewal_sets_the_bound_from_now_and_keeps_the_fence),
    TEST(a_renewal_may_shorten_or_remove_the_bound),
    TEST(a_renewal_may_change_the_purpose),
    TEST(a_renewal_is_not_a_beat),
    TEST(a_renewal_at_the_bound_is_too_late_and_takes_nothing_again),
    TEST(only_the_holder_renews),
    TEST(a_shared_lock_is_renewed_alone),
};
THEME(renew);
