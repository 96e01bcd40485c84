/* SPDX-License-Identifier: MIT */
/* Our server, `holdfast serve` of this build, started for the run with its own data directory. */
#ifndef HF_BENCH_SERVED_H
#define HF_BENCH_SERVED_H

#include "child.h"
#include "lockers.h"

typedef struct served {
    child *program;
    char token[128]; /* the admin's, as the first start has written it */
    lockers *clients;
} served;

/* What it serves: SQLite in the data directory, new; the same after a day's work, in which all
 * names have been locked before; a store that is named. */
#define SERVED_NEW    ""
#define SERVED_WORKED NULL

/* `name` is that of the data directory, below the bench's own. store: one of the above, or a URL.
 * Opens a session for each connection. Dies on failure, as everything here. */
served *served_start(const bench *b, const char *name, const char *store);
void served_stop(served *s);

load *served_load(const served *s, const char *name, const load_talk *talk, size_t units,
                  size_t connections);

/* http/idle-streams */
void bench_streams(bench *b);

#endif
