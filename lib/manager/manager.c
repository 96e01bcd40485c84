/* SPDX-License-Identifier: MIT */
/* The manager: the calls that need no session. Each is a batch. */
#include "manager/manager.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"

#include <string.h>
#include <unistd.h>

/* ---- results ---- */

const hf_answer *hf_result_answer(const hf_result *result)
{
    return hf_result_at(result, 0);
}

size_t hf_result_count(const hf_result *result)
{
    return result->count != 0 ? result->count : hf_batch_count(result->batch);
}

const hf_answer *hf_result_at(const hf_result *result, size_t index)
{
    if (index >= hf_result_count(result))
        return NULL;
    return &hf_batch_op(result->batch, result->order == NULL ? index : result->order[index])
                ->answer;
}

hf_result *hf_result_new(hf_batch *batch, hf_error *err)
{
    hf_result *result = hf_alloc(sizeof *result);
    if (result != NULL) {
        result->batch = batch;
        return result;
    }
    hf_batch_free(batch);
    (void)hf_fail_memory(err);
    return NULL;
}

void hf_result_free(hf_result *result)
{
    if (result == NULL)
        return;
    hf_batch_free(result->batch);
    hf_free(result->order);
    hf_free(result);
}

hf_status hf_settle(hf_status status, const hf_op *op, hf_error *err)
{
    if (status != HF_OK || op->answer.status == HF_OK)
        return status;
    hf_error_set(err, op->answer.status, "%s",
                 op->answer.message == NULL ? hf_status_sentence(op->answer.status)
                                            : op->answer.message);
    if (err != NULL && op->type != NULL && op->id != NULL) {
        hf_resource resource = {"", ""};
        hf_slice_copy(resource.type, sizeof resource.type, hf_slice_of(op->type));
        hf_slice_copy(resource.id, sizeof resource.id, hf_slice_of(op->id));
        hf_resource_format(&resource, err->resource);
    }
    if (err != NULL && op->answer.status == HF_LOCKED && op->answer.locks_count > 0)
        err->holder = op->answer.locks[0];
    return op->answer.status;
}

/* The op whose refusal tells why a run failed: the first that wasn't merely undone. */
static const hf_op *manager_refused(hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const hf_op *op = hf_batch_op(batch, i);
        if (op->answer.status != HF_OK && op->answer.status != HF_NOT_APPLIED)
            return op;
    }
    return hf_batch_op(batch, 0);
}

/* Whether it can be told what became of the ops when they are asked again. */
static bool manager_may_ask_again(hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        if (hf_batch_op(batch, i)->request_id == NULL)
            return false;
    return true;
}

/* The first answer that is not about what was asked, but about the store: then nothing is known of
 * what was done before. */
static hf_status manager_store_trouble(hf_batch *batch)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        hf_status status = hf_batch_op(batch, i)->answer.status;
        if (status == HF_UNSURE || status == HF_BUSY || status == HF_RETRY ||
            status == HF_UNAVAILABLE)
            return status;
    }
    return HF_OK;
}

#define ASK_AGAIN_US 2000000 /* a store that was silent for longer than this is not asked twice */

hf_status hf_execute(hf_manager *manager, hf_batch *batch, hf_error *err)
{
    int64_t began_us = hf_seam.boot_us();
    hf_status status = hf_store_execute(manager->store, batch, err);
    if (status == HF_OK && manager_store_trouble(batch) == HF_UNSURE) {
        const hf_op *op = manager_refused(batch);
        status =
            hf_fail(err, HF_UNSURE, "%s", op->answer.message == NULL ? "" : op->answer.message);
    }
    if (status != HF_UNSURE || !manager_may_ask_again(batch) ||
        hf_seam.boot_us() - began_us > ASK_AGAIN_US)
        return status;
    /* Only an answer settles it: one that was busy or failed leaves it as unsure as it was. */
    if (hf_store_execute(manager->store, batch, NULL) == HF_OK &&
        manager_store_trouble(batch) == HF_OK)
        return HF_OK;
    return status;
}

/* The result is made first: once the store has committed, nothing may fail for want of memory. */
hf_status hf_finish_for(hf_manager *manager, hf_batch *batch, hf_result **out, bool *over,
                        hf_error *err)
{
    *over = false;
    hf_result *result = hf_result_new(batch, err);
    if (result == NULL)
        return HF_NO_MEMORY;
    hf_status status = hf_execute(manager, batch, err);
    status = hf_settle(status, manager_refused(batch), err);
    *over = hf_is_over(status, &manager_refused(batch)->answer);
    if (status == HF_OK && out != NULL)
        *out = result;
    else
        hf_result_free(result);
    return status;
}

hf_status hf_finish(hf_manager *manager, hf_batch *batch, hf_result **out, hf_error *err)
{
    bool over;
    return hf_finish_for(manager, batch, out, &over, err);
}

void hf_op_set_resource(hf_op *op, const hf_resource *resource)
{
    op->type = resource == NULL ? NULL : resource->type;
    op->id = resource == NULL ? NULL : resource->id;
}

/* ---- opening and closing ---- */

hf_status hf_manager_on(hf_store *store, hf_manager **out, hf_error *err)
{
    hf_manager *manager = hf_alloc(sizeof *manager);
    if (manager == NULL) {
        hf_store_close(store);
        return hf_fail_memory(err);
    }
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&manager->mutex, NULL);
    pthread_cond_init(&manager->unpinned, NULL);
    pthread_cond_init(&manager->keeper_wakes, &clock);
    pthread_condattr_destroy(&clock);
    manager->store = store;
    manager->pid = getpid();
    *out = manager;
    return HF_OK;
}

hf_status hf_manager_open(const char *url, hf_manager **out, hf_error *err)
{
    hf_store *store = NULL;
    hf_status status = hf_store_open(url, &store, err);
    return status != HF_OK ? status : hf_manager_on(store, out, err);
}

void hf_manager_close(hf_manager *manager)
{
    if (manager == NULL)
        return;
    hf_manager_keeper_stop(manager);
    if (manager->pid == getpid())
        hf_keepers_leave(manager);
    hf_store_close(manager->store);
    if (manager->pid == getpid()) { /* a forked child may have copied them while they were in use */
        pthread_mutex_destroy(&manager->mutex);
        pthread_cond_destroy(&manager->unpinned);
        pthread_cond_destroy(&manager->keeper_wakes);
    }
    hf_free(manager);
}

hf_store *hf_manager_store(hf_manager *manager)
{
    return manager->store;
}

/* ---- the calls ---- */

/* A batch of one op, ready to be filled in. */
static hf_status manager_ask(hf_op_kind kind, hf_batch **batch, hf_op **op, hf_error *err)
{
    hf_status status = hf_batch_new(1, batch, err);
    if (status == HF_OK)
        *op = hf_batch_add(*batch, kind);
    return status;
}

hf_status hf_manager_who(hf_manager *manager, const hf_resource *resource, hf_result **out,
                         hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = manager_ask(HF_OP_WHO, &batch, &op, err);
    if (status != HF_OK)
        return status;
    hf_op_set_resource(op, resource);
    return hf_finish(manager, batch, out, err);
}

hf_status hf_manager_lookup(hf_manager *manager, const hf_resource *resources, size_t count,
                            hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(count, &batch, err);
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        hf_op_set_resource(hf_batch_add(batch, HF_OP_WHO), &resources[i]);
    return hf_finish(manager, batch, out, err);
}

static hf_status manager_list(hf_manager *manager, hf_op_kind kind, const hf_list_options *options,
                              hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = manager_ask(kind, &batch, &op, err);
    if (status != HF_OK)
        return status;
    if (options != NULL) {
        op->type = options->type;
        op->user = options->user;
        op->target = options->session;
        op->after = &options->after;
        op->limit = options->limit;
    }
    return hf_finish(manager, batch, out, err);
}

hf_status hf_manager_list(hf_manager *manager, const hf_list_options *options, hf_result **out,
                          hf_error *err)
{
    return manager_list(manager, HF_OP_LIST, options, out, err);
}

hf_status hf_manager_sessions(hf_manager *manager, const hf_list_options *options, hf_result **out,
                              hf_error *err)
{
    return manager_list(manager, HF_OP_SESSIONS, options, out, err);
}

hf_status hf_manager_force_release(hf_manager *manager, const hf_resource *resource,
                                   const char *actor, const char *reason, int64_t fence,
                                   hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = manager_ask(HF_OP_FORCE_RELEASE, &batch, &op, err);
    if (status != HF_OK)
        return status;
    char request[HF_REQUEST_ID_SIZE];
    if (!hf_draw_request(request)) {
        hf_batch_free(batch);
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    }
    hf_op_set_resource(op, resource);
    op->actor = actor;
    op->text = reason;
    op->fence = fence;
    op->request_id = request;
    return hf_finish(manager, batch, out, err);
}

hf_status hf_manager_type_set(hf_manager *manager, const hf_type *type, const char *actor,
                              hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    if (type == NULL)
        return hf_fail(err, HF_INVALID, "No type was given.");
    hf_status status = manager_ask(HF_OP_TYPE_SET, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->type = type->type;
    op->policy = type->policy;
    op->ttl_us = type->ttl_us;
    op->ttl_max_us = type->ttl_max_us;
    op->actor = actor;
    return hf_finish(manager, batch, NULL, err);
}

hf_status hf_manager_type_get(hf_manager *manager, const char *type, hf_type *out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_result *result = NULL;
    hf_status status = manager_ask(HF_OP_TYPE_GET, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->type = type;
    status = hf_finish(manager, batch, &result, err);
    if (status != HF_OK)
        return status;
    *out = hf_result_answer(result)->types[0];
    hf_result_free(result);
    return HF_OK;
}

hf_status hf_manager_types(hf_manager *manager, hf_result **out, hf_error *err)
{
    return manager_list(manager, HF_OP_TYPES, NULL, out, err);
}

hf_status hf_manager_events(hf_manager *manager, int64_t after_seq, size_t limit, hf_result **out,
                            hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_status status = manager_ask(HF_OP_EVENTS, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->after_seq = after_seq;
    op->limit = limit;
    return hf_finish(manager, batch, out, err);
}

hf_status hf_manager_sweep(hf_manager *manager, size_t limit, size_t *swept, bool *more,
                           hf_error *err)
{
    hf_batch *batch = NULL;
    hf_op *op = NULL;
    hf_result *result = NULL;
    hf_status status = manager_ask(HF_OP_SWEEP, &batch, &op, err);
    if (status != HF_OK)
        return status;
    op->limit = limit;
    status = hf_finish(manager, batch, &result, err);
    if (status != HF_OK)
        return status;
    if (swept != NULL)
        *swept = hf_result_answer(result)->swept;
    if (more != NULL)
        *more = hf_result_answer(result)->more;
    hf_result_free(result);
    return HF_OK;
}
