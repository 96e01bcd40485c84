/* SPDX-License-Identifier: MIT */
/* Who holds what: one resource, and many at once. */
#include "suite.h"

#include <string.h>

static void who_of_a_free_resource_is_empty(fixture *w)
{
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 0);
    expect_int(who->requests_count, 0);
    expect_int(who->now_us, w->now_us);
}

/* P3 */
static void who_describes_every_holder(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED, .purpose = "first");
    done(w, ACQUIRE, BY(bob), ON("policy", "1"), .mode = HF_SHARED, .purpose = "second",
         .ttl_us = MINUTE);
    const hf_answer *who = done(w, WHO, ON("policy", "1"));
    expect_int(who->locks_count, 2);
    const hf_lock *first =
        strcmp(who->locks[0].session, alice.id) == 0 ? &who->locks[0] : &who->locks[1];
    const hf_lock *second = first == &who->locks[0] ? &who->locks[1] : &who->locks[0];
    expect_text(first->session, alice.id);
    expect_text(first->name, "Alice Chen");
    expect_text(first->purpose, "first");
    expect_text(second->session, bob.id);
    expect_text(second->name, "Bob Smith");
    expect_text(second->purpose, "second");
    expect_int(second->ends_us, w->now_us + MINUTE);
}

static void asking_who_changes_nothing(fixture *w)
{
    hf_credentials dead = person_idle(w, "alice", "Alice Chen", SECOND);
    done(w, ACQUIRE, BY(dead), ON("policy", "1"));
    clock_forward(w, SECOND);
    char *before = snapshot(w);
    done(w, WHO, ON("policy", "1"));
    done(w, WHO, ON("policy", "never seen"));
    unchanged(w, before);
}

static void many_are_looked_up_in_one_batch(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    enum { MANY = HF_BATCH_OPS_MAX };
    static char ids[MANY][8];
    hf_batch *ask = batch_of(w, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        add(ask, WHO, ON("policy", ids[i]));
        if (i % 100 == 7)
            done(w, ACQUIRE, BY(alice), ON("policy", ids[i]));
    }
    run(w, ask);
    for (int i = 0; i < MANY; i++) {
        const hf_answer *who = answer(ask, (size_t)i, HF_OK);
        expect_int(who->locks_count, i % 100 == 7);
        if (who->locks_count)
            expect_text(who->locks[0].resource.id, ids[i]);
    }
}

static const suite_test lookup_tests[] = {
    TEST(who_of_a_free_resource_is_empty),
    TEST(who_describes_every_holder),
    TEST(asking_who_changes_nothing),
    TEST(many_are_looked_up_in_one_batch),
};
THEME(lookup);
