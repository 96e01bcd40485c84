/* SPDX-License-Identifier: MIT */
/* Filling an hf_error: the caller's, last parameter, NULL welcome, first cause wins nothing: the last set stands. */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <holdfast/status.h>

/* Sets status and sentence, empties the rest, and returns the status: return hf_fail(err, HF_INVALID, "..."). */
hf_status hf_fail(hf_error *err, hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The usual sentence when memory is out. */
hf_status hf_fail_memory(hf_error *err);

#endif
