/* SPDX-License-Identifier: MIT */
/* Types: what each policy takes, default and longest bounds, and what may be changed while locks
 * live. */
#include "suite.h"

#include <string.h>

/* Every policy with every mode. */
static void each_policy_takes_the_modes_it_is_for(fixture *w)
{
    static const struct {
        hf_policy policy;
        const char *type;
        bool exclusive, shared;
    } rows[] = {
        {HF_POLICY_NONE, "unregistered", true, true},
        {HF_POLICY_OPTIMISTIC, "optimistic", false, false},
        {HF_POLICY_EXCLUSIVE_WRITE, "exclusive-write", true, false},
        {HF_POLICY_EXCLUSIVE_READ, "exclusive-read", true, false},
        {HF_POLICY_READ_WRITE, "read-write", true, true},
    };
    hf_credentials alice = person(w, "alice", "Alice Chen");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].policy != HF_POLICY_NONE)
            done(w, TYPE_SET, .type = rows[i].type, .policy = rows[i].policy);
        hf_status exclusive = rows[i].exclusive ? HF_OK : HF_INVALID,
                  shared = rows[i].shared ? HF_OK : HF_INVALID;
        const hf_answer *got = refused(w, exclusive, ACQUIRE, BY(alice), ON(rows[i].type, "1"));
        if (exclusive != HF_OK)
            expect_contains(got->message, rows[i].type);
        got = refused(w, shared, ACQUIRE, BY(alice), ON(rows[i].type, "2"), .mode = HF_SHARED);
        if (shared != HF_OK)
            expect_contains(got->message, rows[i].type);
    }
}

static void a_type_that_takes_no_shared_locks_allows_no_downgrade(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_WRITE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    refused(w, HF_INVALID, DOWNGRADE, BY(alice), ON("policy", "1"));
    expect_int(done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0].mode, HF_EXCLUSIVE);
}

static void a_type_is_read_back_as_it_was_set(fixture *w)
{
    const hf_answer *no = refused(w, HF_NOT_FOUND, TYPE_GET, .type = "policy");
    expect_contains(no->message, "policy");
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE,
         .ttl_max_us = HOUR);
    const hf_answer *got = done(w, TYPE_GET, .type = "policy");
    expect_int(got->types_count, 1);
    expect_text(got->types[0].type, "policy");
    expect_int(got->types[0].policy, HF_POLICY_READ_WRITE);
    expect_int(got->types[0].ttl_us, MINUTE);
    expect_int(got->types[0].ttl_max_us, HOUR);
}

static void all_types_are_listed(fixture *w)
{
    expect_int(done(w, TYPES)->types_count, 0);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    done(w, TYPE_SET, .type = "customer", .policy = HF_POLICY_EXCLUSIVE_READ, .ttl_us = MINUTE);
    const hf_answer *all = done(w, TYPES);
    expect_int(all->types_count, 3);
    expect_text(all->types[0].type, "claim");
    expect_text(all->types[1].type, "customer");
    expect_text(all->types[2].type, "policy");
    expect_int(all->types[0].policy, HF_POLICY_OPTIMISTIC);
    expect_int(all->types[1].ttl_us, MINUTE);
}

/* P2 */
static void setting_a_type_leaves_an_event(fixture *w)
{
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .actor = "root");
    const hf_event *event = news(w, 1);
    expect_int(event->kind, HF_EVENT_TYPE_SET);
    expect_text(event->resource.type, "policy");
    expect_text(event->resource.id, "");
    expect_text(event->actor, "root");
    expect_int(event->at_us, w->now_us);
}

static void the_default_ttl_is_given_when_none_is_asked_for(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].ends_us,
               w->now_us + MINUTE);
    const hf_answer *longer = done(w, ACQUIRE, BY(alice), ON("policy", "2"), .ttl_us = 2 * HOUR);
    expect_int(longer->locks[0].ends_us, w->now_us + 2 * HOUR);
    clock_forward(w, SECOND);
    expect_int(done(w, RENEW, BY(alice), ON("policy", "2"))->locks[0].ends_us, w->now_us + MINUTE);
}

static void more_than_the_longest_ttl_is_invalid(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_max_us = HOUR);
    const hf_answer *no =
        refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR + 1);
    expect_contains(no->message, "policy");
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"), .ttl_us = HOUR)->locks[0].ends_us,
               w->now_us + HOUR);
    refused(w, HF_INVALID, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR + 1);
    done(w, RENEW, BY(alice), ON("policy", "1"), .ttl_us = HOUR);
}

static void without_a_default_the_longest_ttl_is_given(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_max_us = HOUR);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].ends_us, w->now_us + HOUR);
    clock_forward(w, MINUTE);
    expect_int(done(w, RENEW, BY(alice), ON("policy", "1"))->locks[0].ends_us, w->now_us + HOUR);
}

static void a_default_longer_than_the_longest_is_invalid(fixture *w)
{
    refused(w, HF_INVALID, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE,
            .ttl_us = HOUR + 1, .ttl_max_us = HOUR);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_us = HOUR,
         .ttl_max_us = HOUR);
}

static void a_policy_does_not_change_while_locks_live(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    static const hf_policy others[] = {HF_POLICY_OPTIMISTIC, HF_POLICY_EXCLUSIVE_WRITE,
                                       HF_POLICY_EXCLUSIVE_READ};
    for (size_t i = 0; i < 3; i++)
        expect_contains(
            refused(w, HF_INVALID, TYPE_SET, .type = "policy", .policy = others[i])->message,
            "policy");
    done(w, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_WRITE);
    refused(w, HF_INVALID, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
}

/* P7: a lock that is dead does not count, swept or not. */
static void a_policy_changes_when_the_locks_have_expired(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", MINUTE);
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", HOUR);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(bob), ON("policy", "2"), .ttl_us = MINUTE);
    clock_forward(w, MINUTE - 1);
    refused(w, HF_INVALID, TYPE_SET, .type = "policy", .policy = HF_POLICY_OPTIMISTIC);
    clock_forward(w, 1);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_OPTIMISTIC);
}

static void a_type_with_live_locks_is_not_registered_over_their_heads(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    refused(w, HF_INVALID, TYPE_SET, .type = "policy", .policy = HF_POLICY_EXCLUSIVE_WRITE);
    refused(w, HF_NOT_FOUND, TYPE_GET, .type = "policy");
}

static void bounds_change_and_the_same_is_set_again_while_locks_live(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", HOUR);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE,
         .ttl_max_us = HOUR);
    expect_int(done(w, TYPE_GET, .type = "policy")->types[0].ttl_us, MINUTE);
    expect_int(done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0].ends_us, 0);
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "2"))->locks[0].ends_us,
               w->now_us + MINUTE);
    done(w, TYPE_SET, .type = "policy", .policy = HF_POLICY_READ_WRITE);
    expect_int(done(w, TYPE_GET, .type = "policy")->types[0].ttl_us, 0);
    expect_int(done(w, TYPE_GET, .type = "policy")->types[0].ttl_max_us, 0);
}

/* One type's name may be the beginning of another's. */
static void types_with_the_same_beginning_are_kept_apart(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, TYPE_SET, .type = "pol", .policy = HF_POLICY_OPTIMISTIC);
    done(w, TYPE_SET, .type = "policy.a", .policy = HF_POLICY_OPTIMISTIC);
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    done(w, TYPE_SET, .type = "policy.a", .policy = HF_POLICY_READ_WRITE);
    done(w, TYPE_SET, .type = "pol", .policy = HF_POLICY_READ_WRITE);
}

static const suite_test types_tests[] = {
    TEST(each_policy_takes_the_modes_it_is_for),
    TEST(a_type_that_takes_no_shared_locks_allows_no_downgrade),
    TEST(a_type_is_read_back_as_it_was_set),
    TEST(all_types_are_listed),
    TEST(setting_a_type_leaves_an_event),
    TEST(the_default_ttl_is_given_when_none_is_asked_for),
    TEST(more_than_the_longest_ttl_is_invalid),
    TEST(without_a_default_the_longest_ttl_is_given),
    TEST(a_default_longer_than_the_longest_is_invalid),
    TEST(a_policy_does_not_change_while_locks_live),
    TEST(a_policy_changes_when_the_locks_have_expired),
    TEST(a_type_with_live_locks_is_not_registered_over_their_heads),
    TEST(bounds_change_and_the_same_is_set_again_while_locks_live),
    TEST(types_with_the_same_beginning_are_kept_apart),
};
THEME(types);
