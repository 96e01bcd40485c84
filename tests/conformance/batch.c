/* SPDX-License-Identifier: MIT */
/* Batches as such: their size, running them again, neighbours that do not disturb each other, and
 * what stands alone. */
#include "suite.h"

#include <string.h>

static void a_batch_has_room_for_one_to_the_limit(fixture *w)
{
    (void)w;
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_INVALID, hf_batch_new(0, &batch, &err), err);
    expect(HF_TOO_LARGE, hf_batch_new(HF_BATCH_OPS_MAX + 1, &batch, &err), err);
    expect(HF_TOO_LARGE, hf_batch_new(SIZE_MAX, &batch, &err), err);
    expect_true(batch == NULL);
    expect(HF_OK, hf_batch_new(2, &batch, &err), err);
    expect_int(hf_batch_count(batch), 0);
    expect_true(hf_batch_add(batch, HF_OP_WHO) != NULL);
    expect_true(hf_batch_add(batch, HF_OP_WHO) != NULL);
    expect_true(hf_batch_add(batch, HF_OP_WHO) == NULL);
    expect_int(hf_batch_count(batch), 2);
    hf_batch_clear(batch);
    expect_int(hf_batch_count(batch), 0);
    hf_op *op = hf_batch_add(batch, HF_OP_BEAT);
    expect_int(op->kind, HF_OP_BEAT);
    expect_true(op == hf_batch_op(batch, 0));
    expect_true(!op->session && !op->type && !op->request_id && !op->linked && !op->ttl_us);
    hf_batch_free(batch);
    hf_batch_free(NULL);
}

static void a_full_batch_is_executed_at_once(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static char ids[HF_BATCH_OPS_MAX][8];
    hf_batch *full = batch_of(w, HF_BATCH_OPS_MAX);
    for (int i = 0; i < HF_BATCH_OPS_MAX; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        add(full, ACQUIRE, BY(alice), ON("policy", ids[i]), .linked = i < HF_BATCH_OPS_MAX - 1);
    }
    run_fully(w, full);
    for (size_t i = 0; i < HF_BATCH_OPS_MAX; i++)
        expect_int(answer(full, i, HF_OK)->outcome, HF_GRANTED);
    expect_int(done(w, BEAT, BY(alice))->locks_count, HF_BATCH_OPS_MAX);
    expect_int(done(w, RELEASE_ALL, BY(alice))->locks_count, HF_BATCH_OPS_MAX);
}

static void a_full_run_with_its_last_blocked_leaves_nothing(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    done(w, ACQUIRE, BY(bob), ON("policy", "1023"));
    static char ids[HF_BATCH_OPS_MAX][8];
    hf_batch *full = batch_of(w, HF_BATCH_OPS_MAX);
    for (int i = 0; i < HF_BATCH_OPS_MAX; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        add(full, ACQUIRE, BY(alice), ON("policy", ids[i]), .linked = i < HF_BATCH_OPS_MAX - 1);
    }
    char *before = snapshot(w);
    run(w, full);
    for (size_t i = 0; i < HF_BATCH_OPS_MAX - 1; i++)
        answer(full, i, HF_NOT_APPLIED);
    answer(full, HF_BATCH_OPS_MAX - 1, HF_LOCKED);
    unchanged(w, before);
}

/* A refusal is an answer and does not fail its neighbours. */
static void a_refusal_does_not_disturb_its_neighbours(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith"),
                   nobody = draw(w);
    hf_batch *mixed = batch_of(w, 12);
    add(mixed, ACQUIRE, BY(alice), ON("policy", "1"));
    add(mixed, ACQUIRE, BY(bob), ON("policy", "1"));
    add(mixed, BEAT, BY(nobody));
    add(mixed, RELEASE, BY(bob), ON("policy", "1"));
    add(mixed, ACQUIRE, BY(bob), ON("POLICY", "1"));
    add(mixed, ACQUIRE, BY(bob), ON("policy", "2"), .ttl_us = -1);
    add(mixed, TYPE_GET, .type = "policy");
    add(mixed, FORCE_RELEASE, ON("policy", "1"), .actor = "root");
    add(mixed, HAND_OVER, BY(alice), ON("policy", "1"), .target = nobody.id);
    add(mixed, REQUEST, BY(alice), ON("policy", "1"));
    add(mixed, ACQUIRE, BY(bob), ON("policy", "2"));
    run(w, mixed);
    static const hf_status expected[] = {HF_OK,        HF_LOCKED,   HF_NOT_FOUND, HF_NOT_HELD,
                                         HF_INVALID,   HF_INVALID,  HF_NOT_FOUND, HF_INVALID,
                                         HF_NOT_FOUND, HF_NOT_HELD, HF_OK};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        answer(mixed, i, expected[i]);
    expect_int(done(w, LIST)->locks_count, 2);
}

static void the_same_batch_can_be_executed_again(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    hf_batch *batch = batch_of(w, 2);
    add(batch, ACQUIRE, BY(alice), ON("policy", "1"));
    add(batch, WHO, ON("policy", "1"));
    run(w, batch);
    expect_int(answer(batch, 0, HF_OK)->outcome, HF_GRANTED);
    run(w, batch);
    expect_int(answer(batch, 0, HF_OK)->outcome, HF_ALREADY_YOURS);
    expect_int(answer(batch, 1, HF_OK)->locks_count, 1);
}

static void the_answers_carry_the_time_they_were_judged_at(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen"), bob = person(w, "bob", "Bob Smith");
    clock_forward(w, 1234567);
    hf_batch *batch = batch_of(w, 4);
    add(batch, ACQUIRE, BY(alice), ON("policy", "1"));
    add(batch, ACQUIRE, BY(bob), ON("policy", "1"));
    add(batch, WHO, ON("policy", "1"));
    add(batch, BEAT, BY(bob));
    run(w, batch);
    for (size_t i = 0; i < 4; i++)
        expect_int(hf_batch_op(batch, i)->answer.now_us, w->now_us);
}

static void what_stands_alone_is_refused_beside_others(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    static const hf_op_kind alone[] = {HF_OP_TYPE_SET, HF_OP_TYPES, HF_OP_LIST, HF_OP_SESSIONS,
                                       HF_OP_EVENTS,   HF_OP_SWEEP, HF_OP_COUNT};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        for (int first = 0; first < 2; first++) {
            hf_op op = {.kind = alone[i]};
            if (alone[i] == HF_OP_TYPE_SET) {
                op.type = "claim";
                op.policy = HF_POLICY_READ_WRITE;
            }
            char *before = snapshot(w);
            hf_batch *both = batch_of(w, 2);
            if (first)
                add_op(both, &op);
            add(both, ACQUIRE, BY(alice), ON("policy", "1"));
            if (!first)
                add_op(both, &op);
            run_refused(w, HF_INVALID, both);
            unchanged(w, before);
            asked(w, HF_OK, &op, __FILE__, __LINE__);
        }
}

static void a_link_to_nothing_is_invalid(fixture *w)
{
    hf_credentials alice = person(w, "alice", "Alice Chen");
    char *before = snapshot(w);
    hf_batch *batch = batch_of(w, 1);
    add(batch, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true);
    run_refused(w, HF_INVALID, batch);
    unchanged(w, before);
}

static void every_kind_has_a_name_of_its_own(fixture *w)
{
    (void)w;
    for (int i = 0; i < HF_OP_KINDS; i++) {
        expect_true(hf_op_kind_name((hf_op_kind)i)[0] != '\0');
        for (int j = 0; j < i; j++)
            expect_true(strcmp(hf_op_kind_name((hf_op_kind)i), hf_op_kind_name((hf_op_kind)j)) !=
                        0);
    }
    expect_text(hf_op_kind_name(HF_OP_ACQUIRE), "acquire");
    expect_text(hf_op_kind_name(HF_OP_SESSION_OPEN), "session-open");
}

static const suite_test batch_tests[] = {
    TEST(a_batch_has_room_for_one_to_the_limit),
    TEST(a_full_batch_is_executed_at_once),
    TEST(a_full_run_with_its_last_blocked_leaves_nothing),
    TEST(a_refusal_does_not_disturb_its_neighbours),
    TEST(the_same_batch_can_be_executed_again),
    TEST(the_answers_carry_the_time_they_were_judged_at),
    TEST(what_stands_alone_is_refused_beside_others),
    TEST(a_link_to_nothing_is_invalid),
    TEST(every_kind_has_a_name_of_its_own),
};
THEME(batch);
