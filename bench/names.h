/* SPDX-License-Identifier: MIT */
/* The names a bench works on: an id space of about two million in scrambled order, of which some
 * are held all the time and 100,000 others are acquired and released at random. Made beforehand, so
 * that no side pays for making them. */
#ifndef HF_BENCH_NAMES_H
#define HF_BENCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_TYPE      "record"
#define BENCH_PURPOSE   "edit"
#define BENCH_USER      "bench"
#define BENCH_USER_NAME "Bench Mark"

enum {
    BENCH_HELD_MAX = 1000000,
    BENCH_WORKING_MAX = 100000, /* resources that pairs run on */
    BENCH_ID_SIZE = 12,
    BENCH_REQUEST_SIZE = 17, /* a request id: 16 hex digits */
    BENCH_BATCH_MAX = 1024,
};

/* The id of the n-th name of the space. Below BENCH_HELD_MAX: those held; from there on: the
 * working ones. Neighbours in n are far apart in the order of ids. */
void bench_name(uint32_t n, char out[BENCH_ID_SIZE]);

/* What one batch of pairs works on: distinct, random. */
typedef struct bench_pick {
    const char *id; /* lives as long as the program; a fresh one until the next are picked */
    size_t id_size;
    uint32_t name;   /* which of the working names; a fresh one is none of them */
    int64_t version; /* as bench_picker_saved knows it */
    char request[BENCH_REQUEST_SIZE];
    int64_t fence; /* room for the answer */
} bench_pick;

typedef struct bench_picker {
    uint64_t random;
    uint32_t all;     /* working names there are */
    uint32_t first;   /* those it picks from: from this one on ... */
    uint32_t working; /* ... so many */
    uint32_t round;
    /* picks names that were never used before instead ... */
    bool fresh;
    uint64_t made;                              /* ... so many until now, in steps of ... */
    uint32_t step;                              /* ... so many, as others pick those between */
    char names[BENCH_BATCH_MAX][BENCH_ID_SIZE]; /* the last of them */
    uint32_t taken[BENCH_WORKING_MAX];          /* the round that took it last */
    uint32_t saves[BENCH_WORKING_MAX];          /* of each name, after the first */
} bench_picker;

/* To be freed with free(). The same seed picks the same names. */
bench_picker *bench_picker_new(uint64_t seed, uint32_t working);
uint32_t bench_picker_below(bench_picker *picker, uint32_t bound);
/* Gives it its part of the working names: it is that one of so many pickers. */
void bench_picker_share(bench_picker *picker, uint32_t at, uint32_t of);
/* `count` distinct working names, with fresh request ids. */
void bench_picker_fill(bench_picker *picker, bench_pick *picks, size_t count);
/* Working names first, first + 1 ... in the order of n: to visit each once. */
void bench_picker_run(bench_picker *picker, bench_pick *picks, size_t first, size_t count);
/* These were saved: the next picks of them have the next version. Version 1 is there from the
 * start. */
void bench_picker_saved(bench_picker *picker, const bench_pick *picks, size_t count);
void bench_picker_request(bench_picker *picker, char out[BENCH_REQUEST_SIZE]);

#endif
