/* SPDX-License-Identifier: MIT */
/* Deciding in two parts: decide.c chooses the strategy, needs.c says what it needs. */
#ifndef HF_ADVISE_DECIDE_H
#define HF_ADVISE_DECIDE_H

#include "advise/record.h"

#include <string.h>

/* Lock type, group, enforcement, storage, timeouts, warnings, and whom to ask: by the strategy
 * and the answers. */
void advise_decide_needs(advise_record *record);

/* Where locks or leases live. */
void advise_decide_storage(advise_record *record);

static inline bool decide_yes(const advise_record *record, advise_id id)
{
    return record->answers.numbers[id] != 0;
}

static inline bool decide_assumed(const advise_record *record, advise_id id)
{
    return record->answers.marks[id] == ADVISE_ASSUMED;
}

static inline bool decide_stack_has(const advise_record *record, const char *word)
{
    return strcasestr(record->answers.stack, word) != NULL;
}

#endif
