/* SPDX-License-Identifier: MIT */
/* The stores there are. */
#ifndef HF_STORE_REGISTRY_H
#define HF_STORE_REGISTRY_H

#include "store/store.h"

extern const hf_store_ops hf_store_memory;
extern const hf_store_ops hf_store_sqlite;
extern const hf_store_ops hf_store_trace;

/* What a module (a store in a shared object of its own) exports under the name hf_store_module. It
 * carries its own copy of lib/base, lib/lock and lib/db, so that nothing but this crosses over;
 * therefore the versions must be the same. */
typedef struct hf_store_module_info {
    const char *version; /* HF_VERSION it was built with */
    const hf_store_ops *ops;
    /* A store on an application's own handle; NULL: there is none such. */
    hf_status (*wrap)(void *handle, const char *names, hf_store **out, hf_error *err);
} hf_store_module_info;

#define HF_STORE_MODULE_SYMBOL "hf_store_module"

#endif
