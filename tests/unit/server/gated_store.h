/* SPDX-License-Identifier: MIT */
/* A store in front of another that can be shut: batches that change something wait until it is
 * opened, or all do. It writes down what it was asked, batch by batch, fails on a poisoned op, and
 * sees when two batches at once work for the same session. */
#ifndef HF_TESTS_UNIT_SERVER_GATED_STORE_H
#define HF_TESTS_UNIT_SERVER_GATED_STORE_H

#include <holdfast/store.h>

enum { GATE_LOG_MAX = 60000 };

/* An op that came through. */
typedef struct gate_entry {
    size_t batch; /* from 1 */
    hf_op_kind kind;
    char session[HF_SESSION_ID_SIZE]; /* "": none */
    char request[HF_REQUEST_ID_SIZE];
} gate_entry;

typedef struct gate gate;

/* Owns `inner`. */
hf_store *gate_open(hf_store *inner);
gate *gate_of(hf_store *store);

void gate_shut(gate *g);
void gate_shut_for_all(gate *g);
void gate_let(gate *g);
/* Until so many batches stand before it. */
void gate_wait_inside(gate *g, size_t count);

/* Every batch takes so long. */
void gate_slow(gate *g, long us);

/* A batch with the id "poison" in it comes to that as a whole; HF_OK: no more. */
void gate_poison(gate *g, hf_status status);

size_t gate_batches(gate *g);
/* Batches that worked for the same session at the same time: none, if all is well. */
size_t gate_meetings(gate *g);

/* What came through; no batch may be under way. */
const gate_entry *gate_log(gate *g, size_t *count);

#endif
