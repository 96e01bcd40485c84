/* SPDX-License-Identifier: MIT */
/* What clients of a holdfast server say of versions, and acquires to compare with; each connection
 * with the session and the names of a locker. */
#ifndef HF_BENCH_SAVERS_H
#define HF_BENCH_SAVERS_H

#include "lockers.h"

typedef struct savers {
    lockers *clients;               /* borrowed */
    const char *token;              /* for looks, which need no session; borrowed */
    size_t taken[LOAD_CONNECTIONS]; /* names acquired since savers_give_back */
} savers;

/* Contexts are savers. An acquire of one name after the other, none twice before savers_give_back;
 * a save of a name that was saved before; a look at the version of one. */
extern const load_talk savers_acquire;
extern const load_talk savers_save;
extern const load_talk savers_version;

/* Releases all that was acquired. */
void savers_give_back(savers *s, const char *address);

#endif
