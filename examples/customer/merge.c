/* SPDX-License-Identifier: MIT */
/* The three-way merge of two customers. */
#include "merge.h"

#include <string.h>

static merge_kind merge_judge(const char *read, const char *mine, const char *theirs)
{
    if (strcmp(mine, theirs) == 0)
        return MERGE_SAME;
    if (read != NULL && strcmp(read, mine) == 0)
        return MERGE_THEIRS;
    if (read != NULL && strcmp(read, theirs) == 0)
        return MERGE_MINE;
    return MERGE_BOTH;
}

void merge_make(merge *out, const customer *read, const customer *mine, const customer *theirs)
{
    out->merged = *theirs;
    out->both = 0;
    for (int i = 0; i < FIELD_COUNT; i++) {
        out->kind[i] =
            merge_judge(read != NULL ? read->text[i] : NULL, mine->text[i], theirs->text[i]);
        out->both += out->kind[i] == MERGE_BOTH;
        if (out->kind[i] == MERGE_MINE || out->kind[i] == MERGE_BOTH)
            memcpy(out->merged.text[i], mine->text[i], FIELD_SIZE);
    }
}
