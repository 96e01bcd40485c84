/* SPDX-License-Identifier: MIT */
/* What wrappers share: stores that stand in front of another one. */
#ifndef HF_STORE_WRAPPERS_H
#define HF_STORE_WRAPPERS_H

#include "store/store.h"

typedef struct hf_wrapper {
    hf_store base;
    hf_store *inner;
} hf_wrapper;

/* The store below, or NULL when it isn't a wrapper. */
hf_store *hf_wrapper_inner(hf_store *store);

/* Operations that are passed on as they are. */
void hf_wrapper_grade(hf_store *store, hf_grade *out);
hf_status hf_wrapper_backup(hf_store *store, const char *path, hf_error *err);
hf_status hf_wrapper_restore(hf_store *store, const char *path, bool replace, hf_error *err);
hf_status hf_wrapper_watch(hf_store *store, hf_watch **out, hf_error *err);
void hf_wrapper_close(hf_store *store);

#endif
