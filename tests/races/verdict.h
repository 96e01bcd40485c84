/* SPDX-License-Identifier: MIT */
/* How a race ends: all logs together are judged by the checker, and the store's events by the
 * grants. */
#ifndef HF_TESTS_RACES_VERDICT_H
#define HF_TESTS_RACES_VERDICT_H

#include "races/worker.h"

/* What the machine did while a race ran: how far the store's clock moved against CLOCK_MONOTONIC,
 * and how long a small write and sync took at worst, and how much later than it had asked for
 * someone who rested came back at worst. */
typedef struct race_weather {
    int64_t low_us;
    int64_t high_us;
    int64_t slowest_us;
    int64_t latest_us;
} race_weather;

/* How much has to happen for a race to mean something, and how many of a hundred calls may have
 * been busy (but for a machine that stood still). */
typedef struct race_bounds {
    size_t calls;
    size_t deaths;
    size_t grants;
    size_t take_overs;
    size_t meddled;
    size_t busy_percent;
} race_bounds;

#define RACE_BOUNDS                                                                                \
    {                                                                                              \
        .calls = 3000, .deaths = 50, .grants = 100, .take_overs = 5, .busy_percent = 1             \
    }

void race_weather_begin(race_weather *weather, int64_t offset_us);

/* Rests for a moment and takes note: whoever waits for the end of the race does nothing else. */
void race_weather_note(race_weather *weather);

/* Begins a race that lasts so many seconds. */
void race_begin(race_board *board, race_weather *weather, int seconds);

/* Whether it is over; to be asked often. On a machine so slow that little has happened it goes on,
 * for up to 90 s. */
bool race_is_over(race_board *board, race_log *const *logs, size_t count,
                  const race_bounds *bounds);

/* Seconds a race runs: HF_TEST_SECONDS, else `seconds`, half of it with a sanitizer. */
int race_seconds(int seconds, int seconds_long);

/* Whether HF_TEST_LONG is set. */
bool race_is_long(void);

/* What a race came to. */
typedef struct race_sum {
    size_t calls, holds, refusals, take_overs;
    size_t unsure, settled;                /* of those that ask again, see retrying.h */
    size_t clients_killed, clients_paused; /* by race_run */
} race_sum;

/* Judges and prints. Fails the running test when anything is wrong, or when too little happened for
 * it to mean something. */
race_sum race_judge(hf_manager *manager, race_log *const *logs, size_t count,
                    const race_weather *weather, const race_bounds *bounds);

#endif
