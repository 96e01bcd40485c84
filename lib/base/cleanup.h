/* SPDX-License-Identifier: MIT */
/* Cleanup at scope end, and giving away: hf_cleanup(hf_store_closep) hf_store *s = NULL; ... *out =
 * hf_take(s); */
#ifndef HF_BASE_CLEANUP_H
#define HF_BASE_CLEANUP_H

#include "base/seams.h"

#define hf_cleanup(function) __attribute__((cleanup(function)))

#define hf_take(pointer)                                                                           \
    __extension__({                                                                                \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

static inline void hf_freep(void *pointer)
{
    hf_free(*(void **)pointer);
}

#endif
