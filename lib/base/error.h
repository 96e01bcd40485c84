/* SPDX-License-Identifier: MIT */
/* Filling an hf_error: the caller's, last parameter, NULL welcome, first cause wins nothing: the
 * last set stands. */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <holdfast/status.h>

/* An error that says nothing, on a path where emptying all of it ({0}) costs more than the work. */
static inline void hf_error_none(hf_error *out)
{
    out->status = HF_OK;
    out->away = false;
    out->holder.session[0] = out->resource[0] = out->message[0] = '\0';
}

/* Sets status and sentence, empties the rest. Misleading characters are made visible (text.h). */
void hf_error_set(hf_error *err, hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same as an expression that is the status: return hf_fail(err, HF_INVALID, "..."). A macro, so
 * that compilers and analyzers see that it isn't HF_OK. */
#define hf_fail(err, status, ...)                                                                  \
    (hf_error_set((err), (status), __VA_ARGS__), hf_same_status(status))

static inline hf_status hf_same_status(hf_status status)
{
    return status;
}

/* The same when the store does not answer, or not yet (hf_error.away). */
#define hf_fail_away(err, status, ...)                                                             \
    (hf_error_set((err), (status), __VA_ARGS__), hf_error_away((err)), hf_same_status(status))

static inline void hf_error_away(hf_error *out)
{
    if (out != NULL)
        out->away = true;
}

/* The usual sentence when out of memory. */
#define hf_fail_memory(err) hf_fail((err), HF_NO_MEMORY, "Out of memory; nothing was done.")

#endif
