/* SPDX-License-Identifier: MIT */
/* The other side: sqlite3 alone, on a copy of the store's own file, with the store's settings. What
 * it reaches is the most that any lock manager on these tables could. */
#ifndef HF_BENCH_BARE_H
#define HF_BENCH_BARE_H

#include "bench.h"
#include "names.h"

#include <stdbool.h>

typedef struct bare bare;

/* Opens a file that a store has made. `session` is the id of a session in it. Dies on failure, as
 * everything here. */
bare *bare_open(const bench *run, const char *path, const char *session);
void bare_close(bare *b);

void bare_batch_size(bare *b, size_t size);

/* bench_work: pairs per second, writing the rows that ours writes; and with one inserted and
 * deleted row each. */
double bare_pairs(void *context, double seconds);
double bare_one_row(void *context, double seconds);
/* The same of saves, on a file in which all working names were saved once. */
double bare_saves(void *context, double seconds);

/* bench_work: beats per second: one row, not synced, as beats aren't. */
double bare_beats(void *context, double seconds);

/* bench_work: reads per second of held names below `held`, each in a transaction of batch_size
 * reads. */
void bare_held(bare *b, uint32_t held);
double bare_who(void *context, double seconds);
double bare_holds(void *context, double seconds);

/* Copies a closed store's file. */
void bare_copy(const char *from, const char *to);

#endif
