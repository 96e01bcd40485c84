/* SPDX-License-Identifier: MIT */
/* Several clients at once, a thread each. */
#ifndef HF_BENCH_CLIENTS_H
#define HF_BENCH_CLIENTS_H

#include "bench.h"

enum { BENCH_CLIENTS_MAX = 64 };

typedef struct bench_clients {
    bench_work *work;                  /* what each does ... */
    void *contexts[BENCH_CLIENTS_MAX]; /* ... on its own */
    size_t count;
} bench_clients;

/* bench_work: what they reach together. */
double bench_clients_work(void *context, double seconds);

#endif
