/* SPDX-License-Identifier: MIT */
/* What wrappers share: stores that stand in front of another one. */
#ifndef HF_STORE_WRAPPERS_H
#define HF_STORE_WRAPPERS_H

#include "store/store.h"

typedef struct hf_wrapper {
    hf_store base;
    hf_store *inner;
} hf_wrapper;

/* Passed on as it is. */
void hf_wrapper_grade(hf_store *store, hf_grade *out);

#endif
