/* SPDX-License-Identifier: MIT */
/* Session handles: the calls that take and give locks. Each is a batch; afterwards the handle notes
 * what it may believe. */
#include "base/error.h"
#include "base/seams.h"
#include "manager/manager.h"

#include <stdlib.h>
#include <unistd.h>

/* Copies the lock answered, if the caller wants it. There is none where it was done before and
 * asked again, and the lock is gone since. */
static void session_locks_give_lock(const hf_call *c, hf_lock *out)
{
    if (out != NULL)
        *out = c->op->answer.locks_count > 0 ? c->op->answer.locks[0] : (hf_lock){0};
}

static void session_locks_fill_acquire(hf_op *op, const hf_acquire_options *options)
{
    if (options == NULL)
        return;
    op->mode = options->mode;
    op->ttl_us = options->ttl_us;
    op->purpose = options->purpose;
    op->request_id = options->request_id;
}

hf_status hf_session_acquire(hf_session *session, const hf_resource *resource,
                             const hf_acquire_options *options, hf_lock *out, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_ACQUIRE, resource, err);
    if (status != HF_OK)
        return status;
    session_locks_fill_acquire(c.op, options);
    status = hf_call_run(&c, err);
    if (status == HF_OK) {
        hf_note_lock(session, &c.op->answer, c.sent_boot_us);
        session_locks_give_lock(&c, out);
    }
    hf_call_end(&c);
    return status;
}

static int session_locks_compare(const void *a, const void *b)
{
    const hf_numbered *x = a, *y = b;
    int order = hf_resource_compare(x->resource, y->resource);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

hf_status hf_numbered_sort(hf_numbered *all, size_t count, hf_error *err)
{
    qsort(all, count, sizeof *all, session_locks_compare);
    for (size_t i = 1; i < count; i++)
        if (hf_resource_compare(all[i - 1].resource, all[i].resource) == 0)
            return hf_fail(err, HF_INVALID, "%s/%s is named twice; name each resource once.",
                           all[i].resource->type, all[i].resource->id);
    return HF_OK;
}

/* The ops of one acquire: linked, in canonical order. order[i] is where the i-th resource given
 * stands. */
static hf_status session_locks_link_ops(hf_session *session, hf_batch *batch,
                                        const hf_resource *resources, size_t count,
                                        const hf_acquire_options *options, size_t *order,
                                        hf_error *err)
{
    hf_numbered *sorted = hf_alloc(count * sizeof *sorted);
    if (sorted == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (hf_numbered){&resources[i], i};
    hf_status status = hf_numbered_sort(sorted, count, err);
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        hf_op *op = hf_batch_add(batch, HF_OP_ACQUIRE);
        op->session = &session->credentials;
        op->linked = i + 1 < count;
        hf_op_set_resource(op, sorted[i].resource);
        session_locks_fill_acquire(op, options);
        order[sorted[i].index] = i;
    }
    hf_free(sorted);
    return status;
}

static hf_status session_locks_run_all(hf_session *session, hf_batch *batch, hf_result **out,
                                       hf_error *err)
{
    if (session->manager->pid != getpid())
        return hf_finish(session->manager, batch, out, err); /* which refuses it */
    char request[HF_REQUEST_ID_SIZE];
    hf_fifo_mutex_lock(&session->work);
    hf_number_request(session, request);
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        if (hf_batch_op(batch, i)->request_id == NULL)
            hf_batch_op(batch, i)->request_id = request;
    int64_t sent_boot_us = hf_seam.boot_us();
    bool over;
    hf_status status = hf_finish_for(session->manager, batch, out, &over, err);
    for (size_t i = 0; status == HF_OK && i < hf_result_count(*out); i++)
        hf_note_lock(session, hf_result_at(*out, i), sent_boot_us);
    if (over)
        hf_note_over(session, false);
    hf_fifo_mutex_unlock(&session->work);
    return status;
}

hf_status hf_session_acquire_all(hf_session *session, const hf_resource *resources, size_t count,
                                 const hf_acquire_options *options, hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_result *result = NULL;
    hf_status status = hf_batch_new(count, &batch, err);
    if (status != HF_OK)
        return status;
    size_t *order = hf_alloc(count * sizeof *order);
    status = order == NULL
                 ? hf_fail_memory(err)
                 : session_locks_link_ops(session, batch, resources, count, options, order, err);
    if (status != HF_OK) {
        hf_batch_free(batch);
        hf_free(order);
        return status;
    }
    status = session_locks_run_all(session, batch, &result, err);
    if (status != HF_OK) {
        hf_free(order);
        return status;
    }
    result->order = order;
    if (out != NULL)
        *out = result;
    else
        hf_result_free(result);
    return HF_OK;
}

/* In the caller's transaction the bound may come down with its commit; that it goes up is not
 * believed before. */
static void session_locks_note_renewed(const hf_call *c, const hf_resource *resource)
{
    const hf_answer *answer = &c->op->answer;
    if (!answer->pending)
        hf_note_lock(c->session, answer, c->sent_boot_us);
    else if (answer->locks_count > 0 && answer->locks[0].ends_us != 0)
        hf_note_shorter(c->session, resource,
                        c->sent_boot_us + (answer->locks[0].ends_us - answer->now_us));
}

hf_status hf_session_renew(hf_session *session, const hf_resource *resource, int64_t ttl_us,
                           const char *purpose, hf_lock *out, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_RENEW, resource, err);
    if (status != HF_OK)
        return status;
    c.op->ttl_us = ttl_us;
    c.op->purpose = purpose;
    status = hf_call_run(&c, err);
    if (status == HF_OK) {
        session_locks_note_renewed(&c, resource);
        session_locks_give_lock(&c, out);
    } else if (status == HF_UNSURE) {
        hf_note_shorter(session, resource, ttl_us == 0 ? 0 : c.sent_boot_us + ttl_us);
    } else if (status == HF_NOT_HELD) {
        hf_forget_lock(session, resource);
    }
    hf_call_end(&c);
    return status;
}

hf_status hf_session_downgrade(hf_session *session, const hf_resource *resource, hf_lock *out,
                               hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_DOWNGRADE, resource, err);
    if (status != HF_OK)
        return status;
    status = hf_call_run(&c, err);
    if (status == HF_OK)
        session_locks_give_lock(&c, out);
    else if (status == HF_NOT_HELD)
        hf_forget_lock(session, resource);
    hf_call_end(&c);
    return status;
}

hf_status hf_session_release(hf_session *session, const hf_resource *resource, int64_t fence,
                             hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_RELEASE, resource, err);
    if (status != HF_OK)
        return status;
    c.op->fence = fence;
    status = hf_call_run(&c, err);
    /* Unsure: it may be gone. A wrong fence says nothing of the live grant. */
    if (status == HF_OK || status == HF_UNSURE)
        hf_forget_lock(session, resource);
    else if (status == HF_NOT_HELD)
        hf_forget_grant(session, resource, fence);
    hf_call_end(&c);
    return status;
}

hf_status hf_session_release_all(hf_session *session, size_t *count, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_RELEASE_ALL, NULL, err);
    if (status != HF_OK)
        return status;
    status = hf_call_run(&c, err);
    if (status == HF_OK || status == HF_UNSURE)
        hf_forget_all(session);
    if (status == HF_OK && count != NULL)
        *count = c.op->answer.locks_count;
    hf_call_end(&c);
    return status;
}

hf_status hf_session_holds(hf_session *session, const hf_resource *resource, int64_t fence,
                           hf_lock *out, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_HOLDS, resource, err);
    if (status != HF_OK)
        return status;
    c.op->fence = fence;
    status = hf_call_run(&c, err);
    if (status == HF_OK)
        session_locks_give_lock(&c, out);
    else if (status == HF_NOT_HELD)
        hf_forget_grant(session, resource, fence);
    hf_call_end(&c);
    return status;
}

hf_status hf_session_request(hf_session *session, const hf_resource *resource, const char *message,
                             hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_REQUEST, resource, err);
    if (status != HF_OK)
        return status;
    c.op->text = message;
    status = hf_call_run(&c, err);
    hf_call_end(&c);
    return status;
}

hf_status hf_session_decline(hf_session *session, const hf_resource *resource,
                             const char *asking_session, const char *message, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_DECLINE, resource, err);
    if (status != HF_OK)
        return status;
    c.op->target = asking_session;
    c.op->text = message;
    status = hf_call_run(&c, err);
    if (status == HF_NOT_HELD)
        hf_forget_lock(session, resource);
    hf_call_end(&c);
    return status;
}

hf_status hf_session_hand_over(hf_session *session, const hf_resource *resource,
                               const char *to_session, hf_lock *out, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_HAND_OVER, resource, err);
    if (status != HF_OK)
        return status;
    c.op->target = to_session;
    status = hf_call_run(&c, err);
    if (status == HF_OK)
        session_locks_give_lock(&c, out);
    if (status == HF_OK || status == HF_UNSURE || status == HF_NOT_HELD)
        hf_forget_lock(session, resource);
    hf_call_end(&c);
    return status;
}
