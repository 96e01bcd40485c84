/* SPDX-License-Identifier: MIT */
/* Stores that stand in front of another one: trace writes down every op, fault fails on demand. */
#include "store/wrappers.h"

#include "base/error.h"
#include "base/seams.h"
#include "lock/batch.h"
#include "store/registry.h"

#include <stdio.h>

void hf_wrapper_grade(hf_store *store, hf_grade *out)
{
    hf_store_grade(((hf_wrapper *)store)->inner, out);
}

static hf_status wrappers_backup(hf_store *store, const char *path, hf_error *err)
{
    return hf_store_backup(((hf_wrapper *)store)->inner, path, err);
}

static hf_status wrappers_restore(hf_store *store, const char *path, bool replace, hf_error *err)
{
    return hf_store_restore(((hf_wrapper *)store)->inner, path, replace, err);
}

static hf_status wrappers_watch(hf_store *store, hf_watch **out, hf_error *err)
{
    return hf_store_watch(((hf_wrapper *)store)->inner, out, err);
}

static void wrappers_close(hf_store *store)
{
    hf_store_close(((hf_wrapper *)store)->inner);
    hf_free(store);
}

static hf_store *wrappers_inner(hf_store *store)
{
    return store->ops->close == wrappers_close ? ((hf_wrapper *)store)->inner : NULL;
}

void hf_store_clock_freeze(hf_store *store, int64_t now_us)
{
    for (; store != NULL; store = wrappers_inner(store)) {
        store->clock_frozen = true;
        store->clock_us = now_us;
    }
}

void hf_store_clock_offset(hf_store *store, int64_t offset_us)
{
    for (; store != NULL; store = wrappers_inner(store)) {
        store->clock_frozen = false;
        store->clock_us = offset_us;
    }
}

/* ---- trace ---- */

/* No secret is written: of a session only its public id. A URL trace+URL opens it, and its lines go
 * to standard error. */
typedef struct trace_store {
    hf_wrapper wrap;
    hf_trace_sink *sink;
    void *context;
} trace_store;

static void wrappers_trace_to_stderr(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static void wrappers_trace_op(const trace_store *trace, const hf_op *op)
{
    char line[HF_RESOURCE_SIZE + HF_MESSAGE_SIZE + 128];
    if (op->answer.status == HF_INVALID) { /* its names may be anything */
        snprintf(line, sizeof line, "%s -> invalid: %s", hf_op_kind_name(op->kind),
                 op->answer.message);
        trace->sink(trace->context, line);
        return;
    }
    snprintf(line, sizeof line, "%s%s %s%s%s%s%s -> %s%s%s", hf_op_kind_name(op->kind),
             op->linked ? "+" : "", op->type == NULL ? "" : op->type, op->id == NULL ? "" : "/",
             op->id == NULL ? "" : op->id, op->session == NULL ? "" : " by ",
             op->session == NULL ? "" : op->session->id, hf_status_wire(op->answer.status),
             op->answer.message == NULL ? "" : ": ",
             op->answer.message == NULL ? "" : op->answer.message);
    trace->sink(trace->context, line);
}

static hf_status wrappers_trace_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    trace_store *trace = (trace_store *)store;
    hf_status status = hf_store_execute(trace->wrap.inner, batch, err);
    char line[64];
    snprintf(line, sizeof line, "batch of %zu -> %s", batch->count, hf_status_wire(status));
    trace->sink(trace->context, line);
    for (size_t i = 0; status == HF_OK && i < batch->count; i++)
        wrappers_trace_op(trace, &batch->ops[i]);
    return status;
}

hf_status hf_trace_open(hf_store *inner, hf_trace_sink *sink, void *context, hf_store **out,
                        hf_error *err)
{
    trace_store *trace = hf_alloc(sizeof *trace);
    if (trace == NULL) {
        hf_store_close(inner);
        return hf_fail_memory(err);
    }
    hf_store_init(&trace->wrap.base, &hf_store_trace);
    trace->wrap.inner = inner;
    trace->sink = sink;
    trace->context = context;
    *out = &trace->wrap.base;
    return HF_OK;
}

static hf_status wrappers_trace_open(const char *rest, hf_store **out, hf_error *err)
{
    hf_store *inner;
    hf_status status = hf_store_open(rest, &inner, err);
    return status != HF_OK ? status
                           : hf_trace_open(inner, wrappers_trace_to_stderr, NULL, out, err);
}

static hf_status wrappers_trace_open_existing(const char *rest, hf_store **out, hf_error *err)
{
    hf_store *inner;
    hf_status status = hf_store_open_existing(rest, &inner, err);
    return status != HF_OK ? status
                           : hf_trace_open(inner, wrappers_trace_to_stderr, NULL, out, err);
}

const hf_store_ops hf_store_trace = {
    .scheme = "trace+",
    .open = wrappers_trace_open,
    .open_existing = wrappers_trace_open_existing,
    .execute = wrappers_trace_execute,
    .grade = hf_wrapper_grade,
    .backup = wrappers_backup,
    .restore = wrappers_restore,
    .watch = wrappers_watch,
    .close = wrappers_close,
};

/* ---- fault ---- */

/* Fails before the store below sees a batch, or after it has committed it. For tests; threads may
 * share it and arm it meanwhile. */
typedef struct fault_store {
    hf_wrapper wrap;
    unsigned countdown; /* fails when it comes to zero; 0: never */
    unsigned more;      /* how many executes in a row fail after it */
    bool after_commit;
    pthread_mutex_t mutex; /* never destroyed: the wrapper is closed like all others */
} fault_store;

/* Whether this one is to fail. */
static bool wrappers_fault_take_turn(fault_store *fault, bool *after_commit)
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

static hf_status wrappers_fault_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    fault_store *fault = (fault_store *)store;
    bool after_commit, fails = wrappers_fault_take_turn(fault, &after_commit);
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

static const hf_store_ops fault_ops = {
    .scheme = "fault+",
    .execute = wrappers_fault_execute,
    .grade = hf_wrapper_grade,
    .backup = wrappers_backup,
    .restore = wrappers_restore,
    .watch = wrappers_watch,
    .close = wrappers_close,
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
