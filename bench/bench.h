/* SPDX-License-Identifier: MIT */
/* What the files of the bench share. A figure is a ratio: our side and a baseline take turns in the
 * same run (ABBA..., several short rounds), and the median of the ratios of the rounds counts, so
 * that a noisy machine or a slow disk weighs on both alike. */
#ifndef HF_BENCH_BENCH_H
#define HF_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_ROUNDS_MAX = 31,
    BENCH_FIGURES_MAX = 100,
    BENCH_PATH_SIZE = 1024,
};

/* One side of a comparison: works for about that long and answers how many units it did per second.
 * */
typedef double bench_work(void *context, double seconds);

typedef struct bench_side {
    bench_work *work;
    void *context;
} bench_side;

/* What a side reached, round by round. */
typedef struct bench_series {
    double value[BENCH_ROUNDS_MAX];
    size_t count;
} bench_series;

typedef enum bench_judge {
    BENCH_PRINT_ONLY,
    BENCH_RATIO_AT_LEAST,
    BENCH_RATIO_AT_MOST,
    BENCH_OURS_AT_LEAST,
    BENCH_OURS_AT_MOST,
} bench_judge;

typedef struct bench_figure {
    char name[48];
    const char *unit;
    const char *against; /* what the baseline is */
    bench_judge judge;
    double target;
    bench_series ours, baseline, ratio; /* baseline may be empty: then there is no ratio */
} bench_figure;

typedef struct bench {
    /* a smoke run: short rounds, a tenth of the held locks, no verdict where the size counts */
    bool quick;
    uint32_t working; /* resources that pairs run on */
    double seconds;   /* per comparison, all sides together */
    size_t rounds;
    const char *postgres, *mariadb, *redis, *etcd; /* URLs of servers; NULL: there is none */
    /* figures whose name has this in it; NULL: all */
    const char *only;
    char dir[BENCH_PATH_SIZE]; /* private, removed at the end */
    const char *fs_kind;
    bench_figure figures[BENCH_FIGURES_MAX];
    size_t figures_count;
} bench;

/* --only: is this figure, or any of a group ("pairs/"), asked for? */
bool bench_wants(const bench *b, const char *name);

/* Lets the sides take turns. out[i] gets what side i reached. */
void bench_interleave(const bench *b, const bench_side *sides, size_t count, bench_series *out);

/* The same values turned over: units per second to microseconds per unit. */
bench_series bench_cost_us(const bench_series *rate);

/* Keeps a figure and prints its line. baseline may be NULL. */
void bench_report(bench *b, const bench_figure *figure, const bench_series *ours,
                  const bench_series *baseline);

double bench_median(const bench_series *series);
double bench_min(const bench_series *series);
double bench_max(const bench_series *series);
/* False only for a figure that has a target and is not there. */
bool bench_reached(const bench_figure *figure);

void bench_print_head(const bench *b);
/* False (errno set) when the file can't be written. */
bool bench_write_json(const bench *b, const char *path);

double bench_now(void); /* seconds, CLOCK_MONOTONIC */

/* Ends the program with a sentence and exit code 2; the private directory is removed. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Set by SIGINT and SIGTERM: sides stop, the rest is passed over. */
bool bench_stopped(void);

/* The groups of figures. */
void bench_pairs(bench *b);
void bench_scale(bench *b);
void bench_memory(bench *b);
void bench_beats(bench *b);
void bench_reads(bench *b);
void bench_calls(bench *b);
void bench_commit(bench *b);
void bench_wire(bench *b);
void bench_servers(bench *b);
void bench_redis_store(bench *b);
void bench_saves(bench *b);
void bench_http(bench *b);
void bench_leases(bench *b);

#endif
