/* SPDX-License-Identifier: MIT */
/* A store that fails on demand: before the store below sees a batch, or after it has committed it.
 * For tests; threads may share it and arm it meanwhile. */
#include "base/error.h"
#include "base/seams.h"
#include "store/wrap.h"

typedef struct fault_store {
    hf_wrapper wrap;
    unsigned countdown; /* fails when it comes to zero; 0: never */
    unsigned more;      /* how many executes in a row fail after it */
    bool after_commit;
    pthread_mutex_t mutex; /* never destroyed: the wrapper is closed like all others */
} fault_store;

/* Whether this one is to fail. */
static bool fault_take_turn(fault_store *fault, bool *after_commit)
{
    pthread_mutex_lock(&fault->mutex);
    bool fails = fault->countdown > 0 && --fault->countdown == 0;
    if (fails && fault->more > 0) {
        fault->more--;
        fault->countdown = 1;
    }
    *after_commit = fault->after_commit;
    pthread_mutex_unlock(&fault->mutex);
    return fails;
}

static hf_status execute_fault(hf_store *store, hf_batch *batch, hf_error *err)
{
    fault_store *fault = (fault_store *)store;
    bool after_commit, fails = fault_take_turn(fault, &after_commit);
    if (fails && !after_commit)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The store can't be reached (a fault was asked for); nothing was done.");
    hf_status status = hf_store_execute(fault->wrap.inner, batch, err);
    if (fails && status == HF_OK)
        return hf_fail(err, HF_UNSURE,
                       "The store did not answer (a fault was asked for); ask again with the same "
                       "request id.");
    return status;
}

static hf_status open_fault(const char *rest, hf_store **out, hf_error *err)
{
    (void)rest;
    (void)out;
    return hf_fail(err, HF_INVALID, "Faults are opened in front of a store, not by a URL.");
}

static const hf_store_ops fault_ops = {
    .scheme = "fault+",
    .open = open_fault,
    .execute = execute_fault,
    .grade = hf_wrapper_grade,
    .backup = hf_wrapper_backup,
    .restore = hf_wrapper_restore,
    .watch = hf_wrapper_watch,
    .close = hf_wrapper_close,
};

hf_status hf_fault_open(hf_store *inner, hf_store **out, hf_error *err)
{
    fault_store *fault = hf_alloc(sizeof *fault);
    if (fault == NULL) {
        hf_store_close(inner);
        return hf_fail_memory(err);
    }
    hf_store_init(&fault->wrap.base, &fault_ops);
    fault->wrap.inner = inner;
    pthread_mutex_init(&fault->mutex, NULL);
    *out = &fault->wrap.base;
    return HF_OK;
}

void hf_fault_arm(hf_store *store, unsigned n, bool after_commit)
{
    fault_store *fault = (fault_store *)store;
    pthread_mutex_lock(&fault->mutex);
    fault->countdown = n;
    fault->after_commit = after_commit;
    fault->more = 0;
    pthread_mutex_unlock(&fault->mutex);
}

void hf_fault_more(hf_store *store, unsigned more)
{
    fault_store *fault = (fault_store *)store;
    pthread_mutex_lock(&fault->mutex);
    fault->more = more;
    pthread_mutex_unlock(&fault->mutex);
}
