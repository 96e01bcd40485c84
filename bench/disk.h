/* SPDX-License-Identifier: MIT */
/* What the disk itself does: a file of full size is written in pieces, one after another, each
 * synced. No store that syncs its changes can be steadier than this. */
#ifndef HF_BENCH_DISK_H
#define HF_BENCH_DISK_H

#include "load.h"

typedef struct disk disk;

/* Makes its file in the bench's folder. Dies on failure, as everything here. */
disk *disk_open(const bench *b);
void disk_close(disk *d);

/* bench_work: synced writes per second. */
double disk_work(void *context, double seconds);

/* As load_seen and load_forget; there is no cpu. */
void disk_forget(disk *d);
const load_figures *disk_seen(const disk *d);

#endif
