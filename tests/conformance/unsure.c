/* SPDX-License-Identifier: MIT */
/* When the store fails before or after its commit: nothing is half done, and asking again with the
 * same request id settles it (P12). Each change is made in a world whose store fails once and in a
 * twin where nothing fails; after asking again both must look the same. */
#include "suite.h"

#include <stdlib.h>
#include <store/store.h>
#include <string.h>

typedef struct cast {
    hf_credentials alice, bob, fresh;
} cast;

/* The same in every world: alice and bob, locks of each, and someone about to come. */
static void unsure_prepare(fixture *w, cast *c)
{
    c->alice = person(w, "alice", "Alice Chen");
    c->bob = person(w, "bob", "Bob Smith");
    c->fresh = draw(w);
    done(w, ACQUIRE, BY(c->alice), ON("policy", "mine"), .ttl_us = MINUTE);
    done(w, ACQUIRE, BY(c->alice), ON("policy", "read"), .mode = HF_SHARED);
    done(w, ACQUIRE, BY(c->bob), ON("policy", "theirs"));
    done(w, REQUEST, BY(c->bob), ON("policy", "mine"), .text = "now");
    clock_forward(w, SECOND);
}

/* One change of every kind, as a batch. */
typedef struct change {
    const char *name;
    bool repeats_event; /* done again it is harmless, but leaves its event again */
    void (*fill)(hf_batch *batch, const cast *c);
} change;

#define CHANGE(title, op, ...)                                                                     \
    static void fill_##title(hf_batch *batch, const cast *c)                                       \
    {                                                                                              \
        (void)c;                                                                                   \
        add(batch, op, .request_id = "r-" #title, __VA_ARGS__);                                    \
    }

CHANGE(open, SESSION_OPEN, BY(c->fresh), .user = "carol")
CHANGE(replace, SESSION_OPEN, BY(c->fresh), .user = "alice", .replaces = &c->alice)
CHANGE(beat, BEAT, BY(c->alice))
CHANGE(close, CLOSE, BY(c->alice))
CHANGE(acquire, ACQUIRE, BY(c->alice), ON("policy", "new"), .purpose = "renewal")
CHANGE(upgrade, ACQUIRE, BY(c->alice), ON("policy", "read"))
CHANGE(renew, RENEW, BY(c->alice), ON("policy", "mine"), .ttl_us = 30 * SECOND)
CHANGE(downgrade, DOWNGRADE, BY(c->alice), ON("policy", "mine"))
CHANGE(release, RELEASE, BY(c->alice), ON("policy", "mine"))
CHANGE(release_all, RELEASE_ALL, BY(c->alice))
CHANGE(request, REQUEST, BY(c->bob), ON("policy", "mine"), .text = "please")
CHANGE(hand_over, HAND_OVER, BY(c->alice), ON("policy", "mine"), .target = c->bob.id)
CHANGE(decline, DECLINE, BY(c->alice), ON("policy", "mine"), .target = c->bob.id, .text = "no")
CHANGE(force, FORCE_RELEASE, ON("policy", "mine"), .actor = "root", .text = "why")
CHANGE(force_by_session, FORCE_RELEASE, BY(c->bob), ON("policy", "mine"), .text = "why")
CHANGE(type_set, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE, .ttl_us = MINUTE)
CHANGE(save, SAVE, .user = "carol", ON("policy", "saved"), .absent = true)
CHANGE(save_held, SAVE, BY(c->alice), ON("policy", "mine"))

static void fill_run(hf_batch *batch, const cast *c)
{
    add(batch, RELEASE, BY(c->alice), ON("policy", "mine"), .request_id = "run", .linked = true);
    add(batch, ACQUIRE, BY(c->alice), ON("policy", "new1"), .request_id = "run", .linked = true);
    add(batch, ACQUIRE, BY(c->alice), ON("policy", "new2"), .request_id = "run");
}

static const change changes[] = {
    {"open", false, fill_open},
    {"replace", false, fill_replace},
    {"beat", false, fill_beat},
    {"close", false, fill_close},
    {"acquire", false, fill_acquire},
    {"upgrade", false, fill_upgrade},
    {"renew", true, fill_renew},
    {"downgrade", false, fill_downgrade},
    {"release", false, fill_release},
    {"release_all", false, fill_release_all},
    {"request", true, fill_request},
    {"hand_over", false, fill_hand_over},
    {"decline", false, fill_decline},
    {"force", false, fill_force},
    {"force_by_session", false, fill_force_by_session},
    {"type_set", true, fill_type_set},
    {"run", false, fill_run},
    {"save", false, fill_save},
    {"save_held", false, fill_save_held},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static hf_batch *asked_in(fixture *w, const change *it, const cast *c)
{
    hf_batch *batch = batch_of(w, 4);
    it->fill(batch, c);
    return batch;
}

static void unsure_all_done(hf_batch *batch, const change *it)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const hf_answer *answer = &hf_batch_op(batch, i)->answer;
        check_status(HF_OK, answer->status, answer->message, it->name, __FILE__, __LINE__);
    }
}

/* What the first lock answered is, as far as a repetition answers it again. */
static int64_t first_fence(hf_batch *batch)
{
    const hf_op *last = hf_batch_op(batch, hf_batch_count(batch) - 1);
    bool tells = last->kind == HF_OP_ACQUIRE || last->kind == HF_OP_HAND_OVER;
    return tells && last->answer.locks_count ? last->answer.locks[0].fence : 0;
}

/* The change with a fault, asked again; then its twin without. */
static void unsure_settle(fixture *w, const change *it, bool after_commit, unsigned repetitions)
{
    fixture *twin = fixture_open(w->at), *faulty = fixture_open(w->at);
    cast c;
    unsure_prepare(twin, &c);
    hf_batch *once = asked_in(twin, it, &c);
    run(twin, once);
    unsure_all_done(once, it);

    unsure_prepare(faulty, &c);
    fixture_fault(faulty);
    char *before = snapshot(faulty);
    hf_batch *first = asked_in(faulty, it, &c);
    hf_fault_arm(faulty->store, 1, after_commit);
    run_refused(faulty, after_commit ? HF_UNSURE : HF_UNAVAILABLE, first);
    if (after_commit)
        free(before);
    else
        unchanged(faulty, before);
    for (unsigned i = 0; i < repetitions; i++) {
        hf_batch *again = asked_in(faulty, it, &c);
        run(faulty, again);
        unsure_all_done(again, it);
        expect_int(first_fence(again), first_fence(once));
    }
    unsigned parts = it->repeats_event ? DUMP_ALL & ~(unsigned)DUMP_EVENTS : DUMP_ALL;
    char *settled = dump_store(faulty->store, parts), *wanted = dump_store(twin->store, parts);
    if (strcmp(settled, wanted) != 0)
        check_failed(__FILE__, __LINE__, "%s %s commit, asked again:\n%swithout a fault:\n%s",
                     it->name, after_commit ? "failed after" : "failed before", settled, wanted);
    free(settled);
    free(wanted);
    fixture_close(twin);
    fixture_close(faulty);
}

/* P12 */
static void what_failed_before_commit_did_nothing_and_is_done_when_asked_again(fixture *w)
{
    for (size_t i = 0; i < CHANGES; i++)
        unsure_settle(w, &changes[i], false, 1);
}

/* P12 */
static void what_is_unsure_is_settled_by_asking_again(fixture *w)
{
    for (size_t i = 0; i < CHANGES; i++)
        unsure_settle(w, &changes[i], true, 1);
}

/* P12 */
static void asking_again_many_times_does_nothing_more(fixture *w)
{
    for (size_t i = 0; i < CHANGES; i++)
        unsure_settle(w, &changes[i], true, 3);
}

/* P12: unsure and not done; another was quicker; the answer is the truth. */
static void an_acquire_that_was_not_done_is_refused_when_another_was_quicker(fixture *w)
{
    cast c;
    unsure_prepare(w, &c);
    fixture_fault(w);
    hf_fault_arm(w->store, 1, false);
    hf_batch *batch = batch_of(w, 1);
    add(batch, ACQUIRE, BY(c.alice), ON("policy", "new"), .request_id = "r1");
    run_refused(w, HF_UNAVAILABLE, batch);
    done(w, ACQUIRE, BY(c.bob), ON("policy", "new"));
    refused(w, HF_LOCKED, ACQUIRE, BY(c.alice), ON("policy", "new"), .request_id = "r1");
}

/* P12: unsure but done; another came after; still done. */
static void a_release_that_was_done_is_done_though_another_holds_it_now(fixture *w)
{
    cast c;
    unsure_prepare(w, &c);
    fixture_fault(w);
    hf_fault_arm(w->store, 1, true);
    hf_batch *batch = batch_of(w, 1);
    add(batch, RELEASE, BY(c.alice), ON("policy", "mine"), .request_id = "r1");
    run_refused(w, HF_UNSURE, batch);
    done(w, ACQUIRE, BY(c.bob), ON("policy", "mine"));
    done(w, RELEASE, BY(c.alice), ON("policy", "mine"), .request_id = "r1");
    done(w, HOLDS, BY(c.bob), ON("policy", "mine"));
}

/* The n-th execute fails, once. */
static void the_fault_comes_when_it_is_due_and_only_once(fixture *w)
{
    cast c;
    unsure_prepare(w, &c);
    fixture_fault(w);
    for (unsigned n = 1; n <= 4; n++)
        for (int after = 0; after < 2; after++) {
            hf_fault_arm(w->store, n, after);
            for (unsigned i = 1; i <= 6; i++) {
                hf_batch *batch = batch_of(w, 1);
                add(batch, BEAT, BY(c.alice));
                run_refused(w, i != n ? HF_OK : after ? HF_UNSURE : HF_UNAVAILABLE, batch);
            }
        }
    hf_fault_arm(w->store, 1, false);
    hf_fault_arm(w->store, 0, false);
    done(w, BEAT, BY(c.alice));
}

/* P12, through the easy calls. */
static void the_easy_calls_settle_too(fixture *w)
{
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_manager *manager = fixture_manager(w);
    hf_session *session = NULL;
    hf_error err = {0};
    hf_session_options open = {
        .user = "alice", .key = "00112233445566778899aabbccddeeff", .request_id = "open-1"};
    hf_fault_arm(fault, 1, true); /* they ask once more by themselves; here that fails too */
    hf_fault_more(fault, 1);
    expect(HF_UNSURE, hf_session_open(manager, &open, &session, &err), err);
    expect_true(session == NULL);
    expect(HF_OK, hf_session_open(manager, &open, &session, &err), err);
    expect_int(done(w, SESSIONS)->sessions_count, 1);
    hf_resource policy = resource_of("policy/1");
    hf_acquire_options options = {.request_id = "r1"};
    hf_lock lock = {0};
    hf_fault_arm(fault, 1, true);
    hf_fault_more(fault, 1);
    expect(HF_UNSURE, hf_session_acquire(session, &policy, &options, &lock, &err), err);
    expect_true(!hf_session_is_held(session, &policy));
    expect(HF_OK, hf_session_acquire(session, &policy, &options, &lock, &err), err);
    expect_int(lock.fence, w->now_us);
    expect_true(hf_session_is_held(session, &policy));
    hf_fault_arm(fault, 1, false);
    expect(HF_UNAVAILABLE, hf_session_release(session, &policy, 0, &err), err);
    expect(HF_OK, hf_session_release(session, &policy, 0, &err), err);
    hf_session_free(session);
}

/* P12: an answer that got lost once is asked for again, and what was done is not done twice. */
static void an_easy_call_whose_answer_got_lost_asks_again_in_unsure(fixture *w)
{
    fixture_fault(w);
    hf_store *fault = w->store;
    hf_manager *manager = fixture_manager(w);
    hf_session *session = NULL;
    hf_error err = {0};
    hf_resource policy = resource_of("policy/1"),
                set[] = {resource_of("policy/2"), resource_of("policy/3")};
    hf_lock lock = {0};
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_session_open(manager, &(hf_session_options){.user = "alice"}, &session, &err),
           err);
    expect_int(done(w, SESSIONS)->sessions_count, 1);
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_session_acquire(session, &policy, NULL, &lock, &err), err);
    expect_int(lock.fence, w->now_us);
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_session_acquire_all(session, set, 2, NULL, NULL, &err), err);
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_session_release(session, &policy, lock.fence, &err), err);
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_manager_force_release(manager, &set[0], "root", "why", 0, NULL, &err), err);
    hf_fault_arm(fault, 1, true);
    expect(HF_OK, hf_session_close(session, &err), err);
    static const hf_event_kind expected[] = {
        HF_EVENT_SESSION_OPENED, HF_EVENT_ACQUIRED, HF_EVENT_ACQUIRED, HF_EVENT_ACQUIRED,
        HF_EVENT_RELEASED,       HF_EVENT_FORCED,   HF_EVENT_RELEASED, HF_EVENT_SESSION_CLOSED};
    const hf_answer *events = done(w, EVENTS);
    expect_int(events->events_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < events->events_count; i++)
        expect_text(hf_event_kind_name(events->events[i].kind), hf_event_kind_name(expected[i]));
    hf_session_free(session);
}

static const suite_test unsure_tests[] = {
    TEST(what_failed_before_commit_did_nothing_and_is_done_when_asked_again),
    TEST(what_is_unsure_is_settled_by_asking_again),
    TEST(asking_again_many_times_does_nothing_more),
    TEST(an_acquire_that_was_not_done_is_refused_when_another_was_quicker),
    TEST(a_release_that_was_done_is_done_though_another_holds_it_now),
    TEST(the_fault_comes_when_it_is_due_and_only_once),
    TEST(the_easy_calls_settle_too),
    TEST(an_easy_call_whose_answer_got_lost_asks_again_in_unsure),
};
THEME(unsure);
