/* SPDX-License-Identifier: MIT */
/* Standing in front of another store: what is passed on, and moving the clock of the one below. */
#include "store/wrap.h"

#include "base/seams.h"

hf_store *hf_wrapper_inner(hf_store *store)
{
    return store->ops->close == hf_wrapper_close ? ((hf_wrapper *)store)->inner : NULL;
}

void hf_wrapper_grade(hf_store *store, hf_grade *out)
{
    hf_store_grade(((hf_wrapper *)store)->inner, out);
}

hf_status hf_wrapper_backup(hf_store *store, const char *path, hf_error *err)
{
    return hf_store_backup(((hf_wrapper *)store)->inner, path, err);
}

hf_status hf_wrapper_restore(hf_store *store, const char *path, bool replace, hf_error *err)
{
    return hf_store_restore(((hf_wrapper *)store)->inner, path, replace, err);
}

hf_status hf_wrapper_watch(hf_store *store, hf_watch **out, hf_error *err)
{
    return hf_store_watch(((hf_wrapper *)store)->inner, out, err);
}

void hf_wrapper_close(hf_store *store)
{
    hf_store_close(((hf_wrapper *)store)->inner);
    hf_free(store);
}

void hf_store_clock_freeze(hf_store *store, int64_t now_us)
{
    for (; store != NULL; store = hf_wrapper_inner(store)) {
        store->clock_frozen = true;
        store->clock_us = now_us;
    }
}

void hf_store_clock_offset(hf_store *store, int64_t offset_us)
{
    for (; store != NULL; store = hf_wrapper_inner(store)) {
        store->clock_frozen = false;
        store->clock_us = offset_us;
    }
}
