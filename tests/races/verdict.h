/* SPDX-License-Identifier: MIT */
/* How a race ends: all logs together are judged by the checker, and the store's events by the grants. */
#ifndef TESTS_RACES_VERDICT_H
#define TESTS_RACES_VERDICT_H

#include "races/worker.h"

/* How far the store's clock has moved against CLOCK_MONOTONIC while a race ran. */
typedef struct race_drift {
    int64_t low_us;
    int64_t high_us;
} race_drift;

void race_drift_begin(race_drift *drift, int64_t offset_us);
void race_drift_note(race_drift *drift);

/* Seconds a race runs: HF_TEST_SECONDS, else `seconds`, half of it with a sanitizer. */
int race_seconds(int seconds, int seconds_long);

/* Whether HF_TEST_LONG is set. */
bool race_is_long(void);

/* Judges and prints. Fails the running test when anything is wrong, or when too little happened for it to mean
 * something: it takes at least so many grants and take-overs. */
void race_judge(hf_manager *manager, race_log *const *logs, size_t count, const race_drift *drift,
                size_t grants_min, size_t take_overs_min);

#endif
