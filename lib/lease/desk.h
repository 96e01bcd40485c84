/* SPDX-License-Identifier: MIT */
/* What all backends on a server need besides talking to it: the asks that wait, the grants that
 * stand, and the thread that looks after both, the ear. One mutex a backend.
 *
 * An ask that waits is tried by the ear: picked, tried without the mutex, settled. A grant that is
 * lost is taken out of its list, told without the mutex, and then either the host's or awaited by
 * `give`. So neither goes away while a thread is at it. */
#ifndef HF_LEASE_DESK_H
#define HF_LEASE_DESK_H

#include "lease/backend.h"

#include <pthread.h>

typedef struct hf_desk {
    pthread_mutex_t mutex;
    pthread_cond_t settled; /* a try or the telling of a loss is over */
    const hf_lease_host *host;
    hf_lease_request *asks, **asks_end; /* in the order they came */
    size_t asks_count;
    int bell; /* eventfd: the ear is to look */
    pthread_t ear;
    bool running, ending;
} hf_desk;

hf_status hf_desk_init(hf_desk *desk, const hf_lease_host *host, hf_error *err);
/* Accepts one that is all zero. */
void hf_desk_done(hf_desk *desk);

/* Starts the ear, with all signals blocked; ends it: hf_desk_ending is true, the bell rings, and it
 * is awaited. */
hf_status hf_desk_start(hf_desk *desk, void *(*run)(void *context), void *context, hf_error *err);
void hf_desk_stop(hf_desk *desk);
bool hf_desk_ending(hf_desk *desk);
void hf_desk_ring(hf_desk *desk);

/* ---- asks ---- */

/* As hf_lease_ops.wait and unwait. */
void hf_desk_wait(hf_desk *desk, hf_lease_request *ask);
bool hf_desk_unwait(hf_desk *desk, hf_lease_request *ask);

/* The ear: up to `max` that are due, from the oldest on. Each is to be settled. A new one is due;
 * when others are is for the ear to say: `match` is called with the mutex (NULL: all are). */
size_t hf_desk_pick(hf_desk *desk, hf_lease_request **out, size_t max);
void hf_desk_due(hf_desk *desk, bool (*match)(hf_lease_request *ask, void *context), void *context);
/* HF_TIMEOUT: it waits on. Anything else is its answer. */
void hf_desk_settle(hf_desk *desk, hf_lease_request *ask, hf_status status, const hf_error *err);
size_t hf_desk_waiting(hf_desk *desk);

/* ---- grants ---- */

void hf_desk_link(hf_desk *desk, hf_lease_grant **list, hf_lease_grant *grant);
/* True: it was in its list. Awaits the telling of a loss, so that afterwards the grant is the
 * caller's alone. */
bool hf_desk_unlink(hf_desk *desk, hf_lease_grant *grant);
/* Those of a list for which `match` is true (NULL: all) are lost. `match` is called with the mutex.
 */
void hf_desk_lose(hf_desk *desk, hf_lease_grant **list,
                  bool (*match)(const hf_lease_grant *grant, void *context), void *context,
                  const char *why);

#endif
