/* SPDX-License-Identifier: MIT */
/* Ids in scrambled order and picks without repetition. Random ids matter: neighbours would share
 * pages, and the figures would flatter every store. */
#include "names.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2^21 names; an odd factor permutes them. */
#define SPACE    (UINT32_C(1) << 21)
#define SCRAMBLE UINT32_C(1540483477)

void bench_name(uint32_t n, char out[BENCH_ID_SIZE])
{
    uint32_t number = (uint32_t)((uint64_t)n * SCRAMBLE) & (SPACE - 1);
    snprintf(out, BENCH_ID_SIZE, "%u", 1000000 + number);
}

static char names[BENCH_WORKING_MAX][BENCH_ID_SIZE]; /* the working ones */

bench_picker *bench_picker_new(uint64_t seed, uint32_t working)
{
    bench_picker *picker = calloc(1, sizeof *picker);
    if (picker == NULL)
        bench_die("out of memory");
    picker->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    picker->all = picker->working = working;
    picker->step = 1;
    if (names[0][0] == '\0')
        for (uint32_t i = 0; i < BENCH_WORKING_MAX; i++)
            bench_name(BENCH_HELD_MAX + i, names[i]);
    return picker;
}

void bench_picker_share(bench_picker *picker, uint32_t at, uint32_t of)
{
    picker->first = (uint32_t)((uint64_t)picker->all * at / of);
    picker->working = picker->all / of;
}

/* xorshift64*: good enough to scatter, cheap enough not to show. */
static uint64_t next(bench_picker *picker)
{
    picker->random ^= picker->random >> 12;
    picker->random ^= picker->random << 25;
    picker->random ^= picker->random >> 27;
    return picker->random * UINT64_C(0x2545F4914F6CDD1D);
}

uint32_t bench_picker_below(bench_picker *picker, uint32_t bound)
{
    return (uint32_t)((next(picker) >> 32) * bound >> 32);
}

void bench_picker_request(bench_picker *picker, char out[BENCH_REQUEST_SIZE])
{
    uint64_t bits = next(picker);
    for (int i = 0; i < BENCH_REQUEST_SIZE - 1; i++, bits >>= 4)
        out[i] = "0123456789abcdef"[bits & 15];
    out[BENCH_REQUEST_SIZE - 1] = '\0';
}

static void names_pick(bench_picker *picker, bench_pick *out, const char *id)
{
    out->id = id;
    out->id_size = strlen(id);
    bench_picker_request(picker, out->request);
}

static void pick_working(bench_picker *picker, bench_pick *out, uint32_t name)
{
    names_pick(picker, out, names[name]);
    out->name = name;
    out->version = 1 + picker->saves[name];
}

/* "n" and a number from all over 32 bits; an odd factor permutes those too. */
static void pick_fresh(bench_picker *picker, bench_pick *picks, size_t count)
{
    for (size_t i = 0; i < count; i++, picker->made += picker->step) {
        snprintf(picker->names[i], BENCH_ID_SIZE, "n%u", (uint32_t)picker->made * SCRAMBLE);
        names_pick(picker, &picks[i], picker->names[i]);
    }
}

void bench_picker_fill(bench_picker *picker, bench_pick *picks, size_t count)
{
    if (picker->fresh) {
        pick_fresh(picker, picks, count);
        return;
    }
    picker->round++;
    for (size_t i = 0; i < count; i++) {
        uint32_t n;
        do
            n = bench_picker_below(picker, picker->working);
        while (picker->taken[n] == picker->round);
        picker->taken[n] = picker->round;
        pick_working(picker, &picks[i], picker->first + n);
    }
}

void bench_picker_run(bench_picker *picker, bench_pick *picks, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pick_working(picker, &picks[i], picker->first + (uint32_t)(first + i));
}

void bench_picker_saved(bench_picker *picker, const bench_pick *picks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        picker->saves[picks[i].name]++;
}
