/* SPDX-License-Identifier: MIT */
/* The remote store: a holdfast server, by http:// or https://. The server carries the batches out;
 * here they are only told. */
#include "store/remote.h"

#include "base/error.h"
#include "base/seams.h"
#include "lock/batch.h"
#include "store/registry.h"

#include <stdio.h>

typedef struct remote_store {
    hf_store base;
    remote_target target;
    remote_calls calls;
    pthread_mutex_t mutex; /* guards the grade */
    hf_grade grade;        /* as it was told last */
} remote_store;

static const hf_store_ops hf_store_remote;

/* ---- batches ---- */

/* An answer came, but what it says can't be used: a change may have been made. */
static hf_status remote_not_understood(const remote_store *store, hf_status status, bool changes,
                                       hf_error *err)
{
    if (status == HF_NO_MEMORY && !changes)
        return hf_fail_memory(err);
    return hf_fail(err, changes ? HF_UNSURE : HF_UNAVAILABLE,
                   "The answer of %s makes no sense%s; %s.", store->target.name,
                   status == HF_NO_MEMORY ? ", out of memory" : "",
                   changes ? "ask again with the same request id to find out whether it was done"
                           : "is it a holdfast server of this version?");
}

/* It was sent twice: an op of the second sending may be refused because of what the first one did,
 * or of what happened since. */
static bool remote_is_refused(const remote_call *call, const hf_batch *batch)
{
    bool refused = false;
    for (size_t i = 0; call->begun > 1 && i < batch->count; i++) {
        hf_status status = batch->ops[i].answer.status;
        refused |= status != HF_OK && status != HF_INVALID && !hf_op_reads(batch->ops[i].kind);
    }
    return refused;
}

static hf_status remote_exchange(remote_store *store, remote_call *call, hf_batch *batch,
                                 const char *const *flaws, hf_error *err)
{
    bool changes = remote_changes(batch);
    hf_status status = remote_tell(batch, flaws, &call->asked, err);
    if (status != HF_OK)
        return status;
    call->may_repeat = remote_may_repeat(batch);
    remote_perform(&store->calls, call, "/v1/batch", true);
    status = remote_outcome(&store->target, call, changes, err);
    if (status != HF_OK)
        return status;
    status = remote_hear(batch, flaws, &call->answer, NULL);
    if (status != HF_OK)
        return remote_not_understood(store, status, changes, err);
    return remote_is_refused(call, batch) ? remote_explain_again(&store->target, call, err) : HF_OK;
}

static hf_status remote_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    remote_store *store = (remote_store *)base;
    remote_call *call = NULL;
    const char **flaws = NULL;
    hf_status status = remote_flaws(batch, &flaws, err);
    if (status == HF_OK && flaws != NULL && hf_op_alone(batch->ops[0].kind)) {
        batch->ops[0].answer = (hf_answer){.status = HF_INVALID, .message = flaws[0]};
        return HF_OK;
    }
    if (status == HF_OK)
        status = remote_take(&store->calls, &call, err);
    if (status != HF_OK)
        return status;
    status = remote_exchange(store, call, batch, flaws, err);
    remote_give(&store->calls, call);
    return status;
}

/* ---- grade ---- */

static hf_status remote_ask_ready(remote_store *store, hf_grade *out, hf_error *err)
{
    remote_call *call = NULL;
    hf_status status = remote_take(&store->calls, &call, err);
    if (status != HF_OK)
        return status;
    call->may_repeat = true;
    remote_perform(&store->calls, call, "/readyz", false);
    status = remote_ready(&store->target, call, out, err);
    remote_give(&store->calls, call);
    return status;
}

/* Asked anew each time: the server's store may have broken since. */
static void remote_grade(hf_store *base, hf_grade *out)
{
    remote_store *store = (remote_store *)base;
    hf_grade told = {0};
    hf_status status = remote_ask_ready(store, &told, NULL);
    bool answered = status == HF_OK || told.text[0] != '\0';
    pthread_mutex_lock(&store->mutex);
    if (answered)
        store->grade = told;
    *out = store->grade;
    pthread_mutex_unlock(&store->mutex);
    hf_grade known = *out;
    snprintf(out->text, sizeof out->text, "%s %.90s: %.140s",
             answered ? "the server at" : "no answer now from", store->target.name, known.text);
}

/* ---- metrics ---- */

static hf_status remote_metrics(hf_store *base, char **out, hf_error *err)
{
    remote_store *store = (remote_store *)base;
    remote_call *call = NULL;
    hf_buffer text = {0};
    hf_status status = remote_take(&store->calls, &call, err);
    if (status != HF_OK)
        return status;
    call->may_repeat = true;
    remote_perform(&store->calls, call, "/metrics", false);
    status = remote_outcome(&store->target, call, false, err);
    if (status == HF_OK)
        hf_buffer_print(&text, "%s", call->answer.text == NULL ? "" : call->answer.text);
    remote_give(&store->calls, call);
    if (status == HF_OK && (*out = hf_buffer_take(&text)) == NULL)
        status = hf_fail_memory(err);
    return status;
}

/* ---- the rest ---- */

static void remote_close(hf_store *base)
{
    remote_store *store = (remote_store *)base;
    remote_calls_done(&store->calls);
    remote_target_done(&store->target);
    pthread_mutex_destroy(&store->mutex);
    hf_free(store);
}

static hf_status remote_store_open(const char *url, hf_store **out, hf_error *err)
{
    remote_store *store = hf_alloc(sizeof *store);
    if (store == NULL)
        return hf_fail_memory(err);
    hf_store_init(&store->base, &hf_store_remote);
    pthread_mutex_init(&store->mutex, NULL);
    hf_status status = remote_start(err);
    if (status == HF_OK)
        status = remote_target_read(url, &store->target, err);
    if (status == HF_OK)
        status = remote_calls_init(&store->calls, &store->target, err);
    if (status == HF_OK)
        status = remote_ask_ready(store, &store->grade, err);
    if (status != HF_OK)
        remote_close(&store->base);
    else
        *out = &store->base;
    return status;
}

static hf_status remote_install(const char *url, const hf_install_order *order, hf_error *err)
{
    (void)url;
    return hf_fail(err, HF_INVALID,
                   "A server's tables are %s its own store: run this with the URL that the server "
                   "is started with.",
                   order->remove ? "removed from" : "installed on");
}

static hf_status remote_backup(hf_store *base, const char *path, hf_error *err)
{
    (void)path;
    return hf_fail(
        err, HF_INVALID,
        "The store behind %s is backed up and restored where it is: run this with the URL that the "
        "server is started with.",
        ((remote_store *)base)->target.name);
}

static const hf_store_ops hf_store_remote = {
    .scheme = "http",
    .whole_url = true,
    .open = remote_store_open,
    .execute = remote_execute,
    .install = remote_install,
    .grade = remote_grade,
    .metrics = remote_metrics,
    .backup = remote_backup,
    .close = remote_close,
};

__attribute__((visibility("default"))) extern const hf_store_module_info hf_store_module;
const hf_store_module_info hf_store_module = {HF_VERSION, &hf_store_remote, NULL};
