/* SPDX-License-Identifier: MIT */
/* Requests that are parked: handed to another thread, which does nothing but hand them back to the
 * loop; what a server does around its store, without the store. */
#ifndef HF_BENCH_PARK_H
#define HF_BENCH_PARK_H

struct event_base;

typedef struct park park;

/* `answer` is called on the loop for every request that comes back. Dies when it can't be. */
park *park_new(struct event_base *base, void (*answer)(void *request));
void park_add(park *p, void *request);

/* What every request is answered with. */
extern const char park_json[];

#endif
