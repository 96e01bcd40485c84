/* SPDX-License-Identifier: MIT */
/* Versions: looking at them, saving, premises, and what a refused save is told. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define ALICE .user = "alice", .name = "Alice Chen"
#define BOB   .user = "bob", .name = "Bob Smith"

static const hf_version *versions_version_of(const hf_answer *got)
{
    expect_int(got->versions_count, 1);
    return &got->versions[0];
}

static void policy_of(fixture *w, hf_policy policy)
{
    done(w, TYPE_SET, .type = "policy", .policy = policy);
}

/* P9 */
static void a_save_counts_the_version_up_and_says_who_and_when(fixture *w)
{
    const hf_version *first =
        versions_version_of(done(w, SAVE, ALICE, ON("policy", "1"), .absent = true));
    expect_int(first->number, 1);
    expect_int(first->fence, w->now_us);
    expect_int(first->saved_us, w->now_us);
    expect_text(first->user, "alice");
    expect_text(first->name, "Alice Chen");
    expect_text(first->session, "");
    expect_true(!first->gone);
    clock_forward(w, MINUTE);
    hf_credentials bob = person(w, "bob", "Bob Smith");
    news_skip(w);
    const hf_version *second = versions_version_of(
        done(w, SAVE, BY(bob), ON("policy", "1"), .version = 1, .text = "typo"));
    expect_int(second->number, 2);
    expect_int(second->fence, w->now_us);
    expect_text(second->session, bob.id);
    const hf_event *saved = news(w, 1);
    expect_int(saved->kind, HF_EVENT_SAVED);
    expect_text(saved->user, "bob");
    expect_text(saved->session, bob.id);
    expect_text(saved->reason, "typo");
    expect_int(saved->fence, second->fence);
    const hf_version *read = versions_version_of(done(w, VERSION, ON("policy", "1")));
    expect_true(memcmp(read, second, sizeof *read) == 0);
    done(w, VERSION, ON("policy", "1"), .version = 2);
}

static void what_was_never_saved_is_not_found(fixture *w)
{
    expect_text(refused(w, HF_NOT_FOUND, VERSION, ON("policy", "1"))->message,
                "policy/1 was never saved.");
    done(w, VERSION, ON("policy", "1"), .absent = true);
    expect_text(refused(w, HF_STALE, VERSION, ON("policy", "1"), .version = 3)->message,
                "policy/1 was never saved (you read version 3).");
    expect_text(refused(w, HF_STALE, SAVE, ALICE, ON("policy", "1"), .version = 3)->message,
                "policy/1 was never saved (you read version 3).");
    hf_credentials alice = person(w, "alice", "Alice Chen");
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"))->versions_count, 0);
}

/* P9 */
static void a_stale_save_changes_nothing_and_is_told_what_who_and_when(fixture *w)
{
    done(w, SAVE, BOB, ON("policy", "1"), .absent = true);
    done(w, SAVE, ALICE, ON("policy", "1"), .version = 1);
    const hf_answer *no = refused(w, HF_STALE, SAVE, BOB, ON("policy", "1"), .version = 1);
    expect_text(
        no->message,
        "policy/1 was changed by Alice Chen at 10:47 UTC (you read version 1, it is now 2).");
    expect_int(versions_version_of(no)->number, 2);
    expect_text(versions_version_of(no)->user, "alice");
    no = refused(w, HF_STALE, VERSION, ON("policy", "1"), .version = 1);
    expect_text(
        no->message,
        "policy/1 was changed by Alice Chen at 10:47 UTC (you read version 1, it is now 2).");
    no = refused(w, HF_STALE, SAVE, BOB, ON("policy", "1"), .absent = true);
    expect_text(
        no->message,
        "policy/1 is there already: Alice Chen saved it at 10:47 UTC, and it is now version 2.");
    refused(w, HF_STALE, VERSION, ON("policy", "1"), .absent = true);
}

/* A tombstone keeps who, when and the number, so that delete and insert is a conflict. */
static void numbers_go_on_over_a_deletion(fixture *w)
{
    done(w, SAVE, ALICE, ON("policy", "1"), .absent = true);
    news_skip(w);
    const hf_version *gone =
        versions_version_of(done(w, SAVE, ALICE, ON("policy", "1"), .version = 1, .gone = true));
    expect_int(gone->number, 2);
    expect_true(gone->gone);
    expect_int(news(w, 1)->kind, HF_EVENT_DELETED);
    const hf_answer *no = refused(w, HF_STALE, SAVE, BOB, ON("policy", "1"), .version = 1);
    expect_text(
        no->message,
        "policy/1 was deleted by Alice Chen at 10:47 UTC (you read version 1, it is now 2).");
    refused(w, HF_STALE, SAVE, BOB, ON("policy", "1"), .version = 2);
    expect_true(versions_version_of(done(w, VERSION, ON("policy", "1")))->gone);
    done(w, VERSION, ON("policy", "1"), .absent = true);
    expect_int(versions_version_of(done(w, SAVE, BOB, ON("policy", "1"), .absent = true))->number,
               3);
    refused(w, HF_STALE, SAVE, ALICE, ON("policy", "1"), .version = 1);
}

/* R7: every policy, whoever holds it. */
static void the_policy_says_whether_a_save_needs_a_lock(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    policy_of(w, HF_POLICY_OPTIMISTIC);
    done(w, SAVE, BY(alice), ON("policy", "1"), .absent = true);
    expect_contains(refused(w, HF_INVALID, SAVE, BY(alice), ON("policy", "1"))->message,
                    "name its version");
    static const hf_policy locking[] = {HF_POLICY_EXCLUSIVE_WRITE, HF_POLICY_EXCLUSIVE_READ,
                                        HF_POLICY_READ_WRITE};
    for (size_t i = 0; i < 3; i++) {
        int64_t version = 1 + 2 * (int64_t)i;
        policy_of(w, locking[i]);
        expect_contains(
            refused(w, HF_NOT_HELD, SAVE, BOB, ON("policy", "1"), .version = version)->message,
            "needs an exclusive lock");
        refused(w, HF_NOT_HELD, SAVE, BY(alice), ON("policy", "1"), .version = version);
        int64_t fence = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
        expect_contains(
            refused(w, HF_LOCKED, SAVE, BY(bob), ON("policy", "1"), .version = version)->message,
            "policy/1 is being edited by Alice Chen");
        refused(w, HF_LOCKED, SAVE, BOB, ON("policy", "1"), .version = version);
        refused(w, HF_STALE, SAVE, BY(alice), ON("policy", "1"), .version = version + 1);
        refused(w, HF_NOT_HELD, SAVE, BY(alice), ON("policy", "1"), .fence = fence + 1);
        done(w, SAVE, BY(alice), ON("policy", "1"), .version = version, .fence = fence);
        done(w, SAVE, BY(alice), ON("policy", "1"));
        /* a lock keeps its own */
        expect_int(done(w, HOLDS, BY(alice), ON("policy", "1"))->locks[0].fence, fence);
        done(w, RELEASE, BY(alice), ON("policy", "1"));
    }
}

static void a_shared_lock_is_not_enough(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"), .mode = HF_SHARED);
    expect_contains(
        refused(w, HF_NOT_HELD, SAVE, BY(alice), ON("policy", "1"), .absent = true)->message,
        "only to read");
    refused(w, HF_LOCKED, SAVE, BY(bob), ON("policy", "1"), .absent = true);
}

/* A dead hold in the way is ended as acquire ends it. */
static void a_dead_lock_does_not_keep_anyone_from_saving(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    clock_forward(w, HOUR);
    news_skip(w);
    done(w, SAVE, BOB, ON("policy", "1"), .absent = true);
    const hf_event *all = news(w, 2);
    expect_int(all[0].kind, HF_EVENT_EXPIRED);
    expect_int(all[1].kind, HF_EVENT_SAVED);
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

static void a_fence_grows_with_saves_and_grants(fixture *w)
{
    hf_credentials alice = person_idle(w, "alice", "Alice Chen", DAY);
    int64_t grant = done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence;
    int64_t save = versions_version_of(done(w, SAVE, BY(alice), ON("policy", "1")))->fence;
    expect_int(save, grant + 1);
    clock_forward(w, -HOUR);
    expect_int(versions_version_of(done(w, SAVE, BY(alice), ON("policy", "1")))->fence, save + 1);
    done(w, RELEASE, BY(alice), ON("policy", "1"));
    expect_int(done(w, ACQUIRE, BY(alice), ON("policy", "1"))->locks[0].fence, save + 2);
}

static void acquiring_answers_the_version(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, SAVE, BOB, ON("policy", "1"), .absent = true);
    for (int i = 0; i < 2; i++) {
        const hf_version *read =
            versions_version_of(done(w, ACQUIRE, BY(alice), ON("policy", "1")));
        expect_int(read->number, 1);
        expect_text(read->name, "Bob Smith");
    }
}

/* ---- together ---- */

static void check_after_you_locked(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, SAVE, BOB, ON("policy", "1"), .absent = true);
    hf_batch *old = batch_of(w, 2), *good = batch_of(w, 2);
    add(old, VERSION, ON("policy", "1"), .version = 7, .linked = true);
    add(old, ACQUIRE, BY(alice), ON("policy", "1"));
    run(w, old);
    answer(old, 0, HF_STALE);
    answer(old, 1, HF_NOT_APPLIED);
    add(good, VERSION, ON("policy", "1"), .version = 1, .linked = true);
    add(good, ACQUIRE, BY(alice), ON("policy", "1"));
    run(w, good);
    answer(good, 0, HF_OK);
    answer(good, 1, HF_OK);
}

static void saving_and_releasing_end_a_piece_of_work(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    done(w, ACQUIRE, BY(alice), ON("policy", "1"));
    for (int i = 0; i < 2; i++) { /* asked again it is found done */
        hf_batch *end = batch_of(w, 2);
        add(end, SAVE, BY(alice), ON("policy", "1"), .request_id = "end", .linked = true);
        add(end, RELEASE, BY(alice), ON("policy", "1"), .request_id = "end");
        run(w, end);
        expect_int(versions_version_of(answer(end, 0, HF_OK))->number, 1);
        answer(end, 1, HF_OK);
    }
    expect_int(done(w, WHO, ON("policy", "1"))->locks_count, 0);
}

/* P9: a set with premises is saved whole or not at all. */
static void a_premise_that_does_not_hold_undoes_the_set(fixture *w)
{
    done(w, SAVE, BOB, ON("tax", "DE"), .absent = true);
    done(w, SAVE, BOB, ON("bill", "1"), .absent = true);
    hf_batch *set = batch_of(w, 3);
    add(set, SAVE, ALICE, ON("bill", "1"), .version = 1, .linked = true);
    add(set, SAVE, ALICE, ON("bill", "2"), .absent = true, .linked = true);
    add(set, VERSION, ON("tax", "DE"), .version = 2);
    run(w, set);
    answer(set, 0, HF_NOT_APPLIED);
    answer(set, 1, HF_NOT_APPLIED);
    answer(set, 2, HF_STALE);
    done(w, VERSION, ON("bill", "1"), .version = 1);
    done(w, VERSION, ON("bill", "2"), .absent = true);
    hf_batch *good = batch_of(w, 2);
    add(good, SAVE, ALICE, ON("bill", "1"), .version = 1, .linked = true);
    add(good, VERSION, ON("tax", "DE"), .version = 1);
    run(w, good);
    answer(good, 1, HF_OK);
    done(w, VERSION, ON("bill", "1"), .version = 2);
}

static void a_resource_is_saved_once_in_a_set(fixture *w)
{
    hf_batch *set = batch_of(w, 2);
    add(set, SAVE, ALICE, ON("bill", "1"), .absent = true, .linked = true);
    add(set, SAVE, ALICE, ON("bill", "1"), .version = 1);
    run(w, set);
    expect_contains(answer(set, 1, HF_INVALID)->message, "named twice");
    done(w, VERSION, ON("bill", "1"), .absent = true);
}

static void ops_of_a_batch_see_the_saves_before_them(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    news_skip(w);
    hf_batch *batch = batch_of(w, 3);
    add(batch, SAVE, BY(alice), ON("bill", "1"), .absent = true);
    add(batch, SAVE, BOB, ON("bill", "1"), .version = 1);
    add(batch, SAVE, ALICE, ON("bill", "1"), .version = 1);
    run(w, batch);
    expect_int(versions_version_of(answer(batch, 1, HF_OK))->number, 2);
    expect_contains(answer(batch, 2, HF_STALE)->message, "changed by Bob Smith");
    const hf_event *both = news(w, 2);
    expect_text(both[0].session, alice.id);
    expect_text(both[1].session, "");
}

/* ---- asking again ---- */

/* P12 */
static void a_save_asked_again_answers_what_it_was(fixture *w)
{
    hf_credentials bob = person(w, "bob", "Bob Smith");
    const hf_version *first = versions_version_of(
        done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one"));
    const hf_version *again = versions_version_of(
        done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one"));
    expect_true(memcmp(first, again, sizeof *first) == 0);
    expect_contains(
        refused(w, HF_INVALID, SAVE, ALICE, ON("policy", "1"), .version = 1, .request_id = "one")
            ->message,
        "has saved policy/1 as version 1");
    refused(w, HF_INVALID, SAVE, ALICE, ON("policy", "1"), .version = 1, .gone = true,
            .request_id = "one");
    /* The same id of someone else's is another one. */
    refused(w, HF_STALE, SAVE, BOB, ON("policy", "1"), .absent = true, .request_id = "one");
    refused(w, HF_STALE, SAVE, BY(bob), ON("policy", "1"), .absent = true, .request_id = "one");
    done(w, SAVE, BY(bob), ON("policy", "1"), .version = 1, .request_id = "one");
    refused(w, HF_STALE, SAVE, .user = bob.id, ON("policy", "1"), .absent = true,
            .request_id = "one");
}

/* An empty request id is none. */
static void a_save_with_an_empty_request_id_is_done(fixture *w)
{
    for (int64_t i = 1; i <= 3; i++)
        expect_int(versions_version_of(done(w, SAVE, ALICE, ON("policy", "1"), .version = i - 1,
                                            .absent = i == 1, .request_id = ""))
                       ->number,
                   i);
    hf_batch *set = batch_of(w, 2);
    add(set, VERSION, ON("policy", "1"), .version = 1, .request_id = "", .linked = true);
    add(set, SAVE, ALICE, ON("policy", "2"), .absent = true, .request_id = "");
    run(w, set);
    answer(set, 0, HF_STALE);
}

/* P12: also after others' saves have covered it, for a day. */
static void a_save_asked_again_is_found_though_others_have_saved_since(fixture *w)
{
    hf_credentials bob = person_idle(w, "bob", "Bob Smith", 3 * DAY);
    done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one");
    const hf_version *mine = versions_version_of(
        done(w, SAVE, BY(bob), ON("policy", "1"), .version = 1, .request_id = "two"));
    clock_forward(w, MINUTE);
    done(w, SAVE, ALICE, ON("policy", "1"), .version = 2, .request_id = "three");
    done(w, SAVE, ALICE, ON("policy", "1"), .version = 3, .gone = true);
    const hf_version *again = versions_version_of(
        done(w, SAVE, BY(bob), ON("policy", "1"), .version = 1, .request_id = "two"));
    expect_true(memcmp(mine, again, sizeof *mine) == 0);
    expect_int(versions_version_of(
                   done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one"))
                   ->number,
               1);
    expect_int(versions_version_of(done(w, VERSION, ON("policy", "1")))->number, 4);
    clock_forward(w, DAY);
    expect_int(sweep_all(w, 0), 3);
    refused(w, HF_STALE, SAVE, BY(bob), ON("policy", "1"), .version = 1, .request_id = "two");
}

/* P12: the premise needs no request id, which reads don't have on the wire: the run's change has
 * one. */
static void a_set_asked_again_is_found_done_though_its_premise_has_changed(fixture *w)
{
    done(w, SAVE, BOB, ON("tax", "DE"), .absent = true);
    for (int i = 0; i < 2; i++) {
        hf_batch *set = batch_of(w, 2);
        add(set, VERSION, ON("tax", "DE"), .version = 1, .linked = true);
        add(set, SAVE, ALICE, ON("bill", "1"), .absent = true, .request_id = "set");
        run(w, set);
        answer(set, 0, HF_OK);
        expect_int(versions_version_of(answer(set, 1, HF_OK))->number, 1);
        if (i == 0)
            done(w, SAVE, BOB, ON("tax", "DE"), .version = 1);
    }
    hf_credentials alice = person(w, "alice", "Alice Chen");
    for (int i = 0; i < 2; i++) {
        hf_batch *take = batch_of(w, 2);
        add(take, VERSION, ON("bill", "1"), .version = 1, .linked = true);
        add(take, ACQUIRE, BY(alice), ON("bill", "1"), .request_id = "take");
        run(w, take);
        answer(take, 0, HF_OK);
        answer(take, 1, HF_OK);
        if (i == 0)
            done(w, SAVE, BY(alice), ON("bill", "1"));
    }
}

/* ---- keeping ---- */

static void what_was_saved_outlives_a_sweep_and_a_tombstone_a_year(fixture *w)
{
    done(w, SAVE, ALICE, ON("policy", "1"), .absent = true);
    done(w, SAVE, ALICE, ON("policy", "2"), .absent = true);
    int64_t fence =
        versions_version_of(done(w, SAVE, ALICE, ON("policy", "2"), .version = 1, .gone = true))
            ->fence;
    clock_forward(w, 364 * DAY);
    sweep_all(w, 0);
    expect_true(versions_version_of(done(w, VERSION, ON("policy", "2")))->gone);
    clock_forward(w, 2 * DAY);
    sweep_all(w, 0);
    refused(w, HF_NOT_FOUND, VERSION, ON("policy", "2"));
    done(w, VERSION, ON("policy", "1"), .version = 1);
    clock_forward(w, -366 * DAY);
    expect_true(
        versions_version_of(done(w, SAVE, ALICE, ON("policy", "2"), .absent = true))->fence >
        fence);
}

static void versions_are_there_when_the_store_is_opened_again(fixture *w)
{
    const hf_version *saved = versions_version_of(
        done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one"));
    done(w, SAVE, BOB, ON("policy", "1"), .version = 1, .request_id = "two");
    fixture_reopen(w);
    expect_int(versions_version_of(done(w, VERSION, ON("policy", "1")))->number, 2);
    const hf_version *again = versions_version_of(
        done(w, SAVE, ALICE, ON("policy", "1"), .absent = true, .request_id = "one"));
    expect_true(memcmp(saved, again, sizeof *saved) == 0);
}

/* ---- bad input ---- */

static void what_makes_no_sense_is_refused_with_a_sentence_in_versions(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static const struct {
        hf_op op;
        const char *part;
    } all[] = {
        {{.kind = HF_OP_SAVE, ALICE, ON("policy", "1"), .version = -1}, "negative"},
        {{.kind = HF_OP_VERSION, ON("policy", "1"), .version = -1}, "negative"},
        {{.kind = HF_OP_SAVE, ALICE, ON("policy", "1"), .version = 1, .absent = true},
         "absent too"},
        {{.kind = HF_OP_SAVE, ALICE, ON("policy", "1"), .absent = true, .gone = true},
         "can't be deleted"},
        {{.kind = HF_OP_SAVE, ON("policy", "1"), .version = 1}, "name one of both"},
        {{.kind = HF_OP_SAVE, ALICE, ON("policy", "1"), .version = 1, .fence = 3},
         "name the session"},
        {{.kind = HF_OP_SAVE, ALICE, ON("policy", "1")}, "name its version"},
        {{.kind = HF_OP_SAVE, ALICE, ON("Policy", "1"), .version = 1}, "type"},
        {{.kind = HF_OP_SAVE, .user = "", ON("policy", "1"), .version = 1}, "user"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_contains(asked(w, HF_INVALID, &all[i].op, __FILE__, __LINE__)->message, all[i].part);
    refused(w, HF_INVALID, SAVE, BY(alice), .user = "alice", ON("policy", "1"), .version = 1);
}

static const suite_test versions_tests[] = {
    TEST(a_save_counts_the_version_up_and_says_who_and_when),
    TEST(what_was_never_saved_is_not_found),
    TEST(a_stale_save_changes_nothing_and_is_told_what_who_and_when),
    TEST(numbers_go_on_over_a_deletion),
    TEST(the_policy_says_whether_a_save_needs_a_lock),
    TEST(a_shared_lock_is_not_enough),
    TEST(a_dead_lock_does_not_keep_anyone_from_saving),
    TEST(a_fence_grows_with_saves_and_grants),
    TEST(acquiring_answers_the_version),
    TEST(check_after_you_locked),
    TEST(saving_and_releasing_end_a_piece_of_work),
    TEST(a_premise_that_does_not_hold_undoes_the_set),
    TEST(a_resource_is_saved_once_in_a_set),
    TEST(ops_of_a_batch_see_the_saves_before_them),
    TEST(a_save_asked_again_answers_what_it_was),
    TEST(a_save_with_an_empty_request_id_is_done),
    TEST(a_save_asked_again_is_found_though_others_have_saved_since),
    TEST(a_set_asked_again_is_found_done_though_its_premise_has_changed),
    TEST(what_was_saved_outlives_a_sweep_and_a_tombstone_a_year),
    TEST_KEEPING(versions_are_there_when_the_store_is_opened_again),
    TEST(what_makes_no_sense_is_refused_with_a_sentence_in_versions),
};

THEME(versions);
