/* SPDX-License-Identifier: MIT */
/* The prober: attacks tables as someone would who forgot to look, and tells what got through. Every
 * attack is a savepoint of a transaction that is rolled back, with short timeouts; what would
 * commit by itself is judged from the catalog, never run. */
#ifndef HF_GUARD_PROBE_H
#define HF_GUARD_PROBE_H

#include "guard/guard.h"

typedef enum probe_outcome { PROBE_REFUSED, PROBE_THROUGH, PROBE_NOT_TRIED } probe_outcome;

typedef struct probe_result {
    char table[GUARD_NAME_SIZE];
    bool guarded;
    char mode[8];      /* of its guard */
    const char *shape; /* "update_blind" */
    const char *what;  /* "a blind UPDATE" */
    probe_outcome outcome;
    char why[256]; /* what the database said, or why it was not tried */
} probe_result;

/* Attacks the tables named; with none, the guarded ones, or all that have a primary key where
 * nothing is guarded. One result an attack, table by table; hf_free the list. */
hf_status probe_run(const char *url, char *const *tables, size_t tables_count, probe_result **out,
                    size_t *count, hf_error *err);

#endif
