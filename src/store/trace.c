/* SPDX-License-Identifier: MIT */
/* A store that writes down every op that passes through it, and what came of it. No secret is
 * written: of a session only its public id. Open it in front of any store with trace+URL (lines go
 * to standard error, because that was asked for). */
#include "base/error.h"
#include "base/seams.h"
#include "lock/batch.h"
#include "store/registry.h"
#include "store/wrap.h"

#include <stdio.h>

typedef struct trace_store {
    hf_wrapper wrap;
    hf_trace_sink *sink;
    void *context;
} trace_store;

static void to_stderr(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static void trace_op(const trace_store *trace, const hf_op *op)
{
    char line[1024];
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

static hf_status execute_trace(hf_store *store, hf_batch *batch, hf_error *err)
{
    trace_store *trace = (trace_store *)store;
    hf_status status = hf_store_execute(trace->wrap.inner, batch, err);
    char line[64];
    snprintf(line, sizeof line, "batch of %zu -> %s", batch->count, hf_status_wire(status));
    trace->sink(trace->context, line);
    for (size_t i = 0; status == HF_OK && i < batch->count; i++)
        trace_op(trace, &batch->ops[i]);
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

static hf_status open_trace(const char *rest, hf_store **out, hf_error *err)
{
    hf_store *inner;
    hf_status status = hf_store_open(rest, &inner, err);
    return status != HF_OK ? status : hf_trace_open(inner, to_stderr, NULL, out, err);
}

static hf_status open_existing_trace(const char *rest, hf_store **out, hf_error *err)
{
    hf_store *inner;
    hf_status status = hf_store_open_existing(rest, &inner, err);
    return status != HF_OK ? status : hf_trace_open(inner, to_stderr, NULL, out, err);
}

const hf_store_ops hf_store_trace = {
    .scheme = "trace+",
    .open = open_trace,
    .open_existing = open_existing_trace,
    .execute = execute_trace,
    .grade = hf_wrapper_grade,
    .backup = hf_wrapper_backup,
    .restore = hf_wrapper_restore,
    .watch = hf_wrapper_watch,
    .close = hf_wrapper_close,
};
