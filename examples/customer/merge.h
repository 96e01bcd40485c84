/* SPDX-License-Identifier: MIT */
/* Two people changed one customer: what both wanted, field by field. */
#ifndef MERGE_H
#define MERGE_H

#include "customer.h"

typedef enum merge_kind {
    MERGE_SAME,   /* both say the same */
    MERGE_MINE,   /* only I changed it */
    MERGE_THEIRS, /* only they did */
    MERGE_BOTH    /* both did, and not to the same: a person has to choose */
} merge_kind;

typedef struct merge {
    merge_kind kind[FIELD_COUNT];
    int both;        /* how many have to be chosen */
    customer merged; /* with mine where a person has to choose; its version is theirs */
} merge;

/* read: what both began with; NULL: not known any more, then every difference is for a person to
 * choose. */
void merge_make(merge *out, const customer *read, const customer *mine, const customer *theirs);

#endif
