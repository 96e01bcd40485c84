/* SPDX-License-Identifier: MIT */
/* For tests that measure time on a machine which is slow, or stands still for a second now and
 * then: what came too late is played again and the best play counts. What is wrong is wrong every
 * time. */
#ifndef HF_TESTS_SUPPORT_TIMING_H
#define HF_TESTS_SUPPORT_TIMING_H

#include <support/check.h>

/* Whether to play once more after so many plays. After a few it rests first, longer each time, so
 * that what keeps the machine busy can come to its end. */
bool timing_again(int plays);

/* The call, which can be made again, takes less than max_us; what else it has to come to it says
 * itself, each time. */
#define expect_in_time(max_us, what, call)                                                         \
    do {                                                                                           \
        int64_t max_us_ = (max_us), took_us_;                                                      \
        int plays_ = 0;                                                                            \
        do {                                                                                       \
            int64_t began_us_ = timing_now_us();                                                   \
            call;                                                                                  \
            took_us_ = timing_now_us() - began_us_;                                                \
        } while (took_us_ >= max_us_ && timing_again(++plays_));                                   \
        if (took_us_ >= max_us_)                                                                   \
            check_failed(__FILE__, __LINE__, "%s took %lld ms", (what),                            \
                         (long long)took_us_ / 1000);                                              \
    } while (0)

/* A play that depends on luck says true once. */
#define expect_once(play)                                                                          \
    do {                                                                                           \
        bool good_ = (play);                                                                       \
        for (int plays_ = 1; !good_ && timing_again(plays_); plays_++)                             \
            good_ = (play);                                                                        \
        if (!good_)                                                                                \
            check_failed(__FILE__, __LINE__, "%s: not even once", #play);                          \
    } while (0)

int64_t timing_now_us(void); /* CLOCK_MONOTONIC */

/* Until that thread of ours, which says its number before, sleeps: in the line it was sent to, if
 * there is nothing else to sleep for. */
void await_asleep(const _Atomic int *tid);

/* Measures the longest time for which this process was not scheduled. timing_within ends that, and
 * says whether it was never longer than max_us. */
typedef struct timing timing;
timing *timing_begin(void);
bool timing_within(timing *c, int64_t max_us);
/* Something else that took so long counts as well: a call that shows how slow a disk or a server
 * is. From any thread. */
void timing_note(timing *c, int64_t us);

#endif
