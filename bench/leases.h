/* SPDX-License-Identifier: MIT */
/* The other side of the leases: the same by hand, with the client libraries alone. */
#ifndef HF_BENCH_LEASES_H
#define HF_BENCH_LEASES_H

#include "bench.h"

typedef struct lease_base lease_base;

/* Connects by hand to the server of a URL, which says what it is. NULL: this build has no client
 * library for it. */
lease_base *lease_base_open(const char *url);
void lease_base_close(lease_base *base);

/* bench_work: pairs per second, one after the other, of keys that nobody else wants. */
double lease_base_pairs(void *base, double seconds);

#endif
