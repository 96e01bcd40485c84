/* SPDX-License-Identifier: MIT */
/* Answers as text, every field of them, so that two can be compared and shown; and what must be
 * true of any answer. */
#ifndef HF_TESTS_SUPPORT_DUMP_H
#define HF_TESTS_SUPPORT_DUMP_H

#include <holdfast/batch.h>
#include <holdfast/store.h>
#include <stdio.h>

/* What was asked, on one line, without a secret. */
void dump_op(FILE *out, const hf_op *op);

/* What was answered: a line for the answer and one for each row in it. */
void dump_answer(FILE *out, const hf_op *op);

void dump_lock(FILE *out, const hf_lock *lock);
void dump_event(FILE *out, const hf_event *event);

/* Which parts of a store dump_store writes. */
enum {
    DUMP_LOCKS = 1,    /* live locks and what waits on them */
    DUMP_SESSIONS = 2, /* live sessions */
    DUMP_TYPES = 4,
    DUMP_EVENTS = 8,
    DUMP_TOKENS = 16,
    DUMP_ALL = 31
};

/* All that can be seen of a store. Free it. Fails the test when the store does not answer. */
char *dump_store(hf_store *store, unsigned parts);

/* NULL, or what is wrong with an answer whatever the store: no sentence with a refusal, bytes after
 * the end of a text, a bound later than the earlier one, a dead lock shown as live, a secret in it.
 * Static text. */
const char *answer_flaw(const hf_op *op, const hf_credentials *secrets, size_t secrets_count);

#endif
