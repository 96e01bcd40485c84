/* SPDX-License-Identifier: MIT */
/* How still the machine stood; see timing.h. */
#include <support/timing.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_US 5000

struct timing {
    pthread_t thread;
    atomic_bool over;
    _Atomic int64_t longest_us;
};

int64_t timing_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

bool timing_again(int plays)
{
    enum { PLAYS_AT_ONCE = 3, PLAYS_MAX = 10, REST_US = 200000 };
    if (plays >= PLAYS_AT_ONCE && plays < PLAYS_MAX)
        usleep((useconds_t)(plays - PLAYS_AT_ONCE + 1) * REST_US);
    return plays < PLAYS_MAX;
}

void timing_note(timing *c, int64_t us)
{
    int64_t longest_us = atomic_load(&c->longest_us);
    while (us > longest_us && !atomic_compare_exchange_weak(&c->longest_us, &longest_us, us))
        continue;
}

static void *tick_main(void *context)
{
    timing *c = context;
    for (int64_t last_us = timing_now_us(), now_us; !atomic_load(&c->over); last_us = now_us) {
        nanosleep(&(struct timespec){0, TICK_US * 1000}, NULL);
        now_us = timing_now_us();
        timing_note(c, now_us - last_us - TICK_US);
    }
    return NULL;
}

timing *timing_begin(void)
{
    timing *c = calloc(1, sizeof *c);
    expect_true(c != NULL);
    expect_int(pthread_create(&c->thread, NULL, tick_main, c), 0);
    return c;
}

bool timing_within(timing *c, int64_t max_us)
{
    atomic_store(&c->over, true);
    expect_int(pthread_join(c->thread, NULL), 0);
    int64_t longest_us = c->longest_us;
    free(c);
    if (longest_us > max_us)
        print_message("# the machine stood still for %lld ms\n", (long long)longest_us / 1000);
    return longest_us <= max_us;
}

void await_asleep(const _Atomic int *tid)
{
    char path[64], text[256], state = '?';
    for (int i = 0; state != 'S' && i < 20000; i++) {
        usleep(1000);
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(tid));
        FILE *file = fopen(path, "re");
        const char *name_end = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        state = name_end ? name_end[2] : '?';
        if (file)
            fclose(file);
    }
}
