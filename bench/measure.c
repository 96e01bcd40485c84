/* SPDX-License-Identifier: MIT */
/* Taking turns and taking medians. Short rounds side by side, in alternating order, cancel what
 * changes slowly (other work on the machine, a disk's mood, a growing file); the median of the
 * rounds' ratios cancels what hits one round. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool bench_wants(const bench *b, const char *name)
{
    if (bench_stopped())
        return false;
    return b->only == NULL || strstr(name, b->only) != NULL ||
           strncmp(name, b->only, strlen(name)) == 0;
}

void bench_interleave(const bench *b, const bench_side *sides, size_t count, bench_series *out)
{
    double slice = b->seconds / (double)(b->rounds * count);
    memset(out, 0, count * sizeof *out);
    for (size_t i = 0; i < count; i++) /* caches warm, files grown: not counted */
        sides[i].work(sides[i].context, slice / 2);

    for (size_t round = 0; round < b->rounds && !bench_stopped(); round++) {
        for (size_t turn = 0; turn < count; turn++) {
            size_t i = round % 2 == 0 ? turn : count - 1 - turn;
            out[i].value[round] = sides[i].work(sides[i].context, slice);
        }
        for (size_t i = 0; i < count; i++)
            out[i].count = round + 1;
    }
}

bench_series bench_cost_us(const bench_series *rate)
{
    bench_series cost = {.count = rate->count};
    for (size_t i = 0; i < rate->count; i++)
        cost.value[i] = 1e6 / rate->value[i];
    return cost;
}

static int measure_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value at that place of the sorted series: 0 the least, 1 the middle one, 2 the greatest. */
static double at(const bench_series *series, size_t half)
{
    if (series->count == 0)
        return 0;
    bench_series sorted = *series;
    qsort(sorted.value, sorted.count, sizeof sorted.value[0], measure_compare);
    return sorted.value[(sorted.count - 1) * half / 2];
}

double bench_median(const bench_series *series)
{
    return at(series, 1);
}

double bench_min(const bench_series *series)
{
    return at(series, 0);
}

double bench_max(const bench_series *series)
{
    return at(series, 2);
}
