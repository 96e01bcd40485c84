/* SPDX-License-Identifier: MIT */
/* Random batches for the tests of the wire: any kind, every member that it reads set to anything or
 * left out, odd bytes, longest texts; and random answers to them. What each kind reads is written
 * out here a second time, from holdfast/batch.h. */
#ifndef HF_TESTS_UNIT_WIRE_RANDOM_BATCH_H
#define HF_TESTS_UNIT_WIRE_RANDOM_BATCH_H

#include <base/arena.h>
#include <holdfast/batch.h>

typedef struct dice {
    uint64_t state;
} dice;

dice dice_of(uint64_t seed);
uint64_t dice_next(dice *d);
uint64_t dice_below(dice *d, uint64_t bound);

/* HF_TEST_SEED and HF_TEST_ROUNDS, or these. The seed is printed by main. */
uint64_t seed_from_environment(void);
uint64_t rounds_from_environment(uint64_t otherwise);

/* UTF-8 of at most `max` bytes, in the arena. */
char *random_text(dice *d, hf_arena *arena, size_t max);

/* A batch of 1 to `most` ops whose strings are in the arena. */
hf_batch *random_batch(dice *d, hf_arena *arena, size_t most);

/* Answers every op with anything. */
void random_answers(dice *d, hf_arena *arena, hf_batch *batch);

/* Fail the test when something differs. */
void expect_same_op(const hf_op *actual, const hf_op *expected);
void expect_same_answer(const hf_answer *actual, const hf_answer *expected);

#endif
