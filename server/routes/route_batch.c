/* SPDX-License-Identifier: MIT */
/* POST /v1/batch: any ops, each with its own answer; what the remote store speaks. An op that its
 * caller may not ask, or that wants more than they may hold, is answered so and left out, with the
 * linked run it stands in; the others are carried out. */
#include "base/error.h"
#include "server/routes/handlers.h"

typedef struct batch_own {
    wire_ops ops;
    size_t *places; /* of the ops that are carried out, in req->ops */
} batch_own;

hf_status batch_parse(request *req, hf_error *err)
{
    batch_own *own = request_alloc(req, sizeof *own, err);
    if (own == NULL)
        return HF_NO_MEMORY;
    req->own = own;
    hf_status status = wire_ops_read(&own->ops, req->http->body.at, req->http->body.size, err);
    req->ops = own->ops.items;
    req->count = own->ops.count;
    return status;
}

static hf_status route_batch_refuse_op(request *req, hf_op *op, hf_status status,
                                       const char *sentence, hf_error *err)
{
    char *message = hf_arena_text(&req->http->arena, hf_slice_of(sentence));
    if (message == NULL)
        return hf_fail_memory(err);
    op->answer = (hf_answer){.status = status, .message = message};
    return HF_OK;
}

/* Every op of the run is answered: one with why, the others as not applied. */
static hf_status route_batch_refuse_run(request *req, size_t first, size_t end, size_t which,
                                        const hf_error *why, hf_error *err)
{
    hf_status status = HF_OK;
    denials_record(req->service->denials, &req->who, req->http->peer, &req->ops[which], why);
    for (size_t i = first; i < end && status == HF_OK; i++)
        status = i == which
                     ? route_batch_refuse_op(req, &req->ops[i], why->status, why->message, err)
                     : route_batch_refuse_op(req, &req->ops[i], HF_NOT_APPLIED,
                                             hf_status_sentence(HF_NOT_APPLIED), err);
    service_refused(req->service, hf_status_http(why->status));
    metrics_ops(req->service->metrics, &req->ops[first], end - first);
    return status;
}

/* Behind the linked run that begins at `first`. */
static size_t route_batch_run_end(const hf_op *ops, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && ops[end - 1].linked)
        end++;
    return end;
}

static hf_status route_batch_run(request *req, size_t first, size_t end, bool *good, hf_error *err)
{
    hf_error why = {0};
    size_t denied = end;
    for (size_t i = first; i < end && denied == end; i++)
        if ((why.status = authorize_op(&req->who, &req->ops[i], &why)) != HF_OK ||
            (why.status = authorize_key(&req->who, &req->ops[i], &why)) != HF_OK)
            denied = i;
    *good = denied == end;
    return *good ? HF_OK : route_batch_refuse_run(req, first, end, denied, &why, err);
}

hf_status batch_authorize(request *req, hf_error *err)
{
    batch_own *own = req->own;
    hf_op *ops = request_alloc(req, req->count * sizeof *ops + 1, err);
    size_t count = 0;
    hf_status status = HF_OK;
    own->places =
        ops == NULL ? NULL : request_alloc(req, req->count * sizeof *own->places + 1, err);
    if (own->places == NULL)
        return HF_NO_MEMORY;
    for (size_t first = 0, end; first < req->count && status == HF_OK; first = end) {
        bool good = false;
        end = route_batch_run_end(req->ops, req->count, first);
        status = route_batch_run(req, first, end, &good, err);
        for (size_t i = first; good && i < end; i++) {
            own->places[count] = i;
            ops[count++] = req->ops[i];
        }
    }
    req->job.job.ops = ops;
    req->job.job.count = count;
    return status;
}

/* What does not fit is taken out of the job. A run has its places in req->ops beside each other. */
hf_status batch_admit(request *req, hf_error *err)
{
    batch_own *own = req->own;
    hf_op *ops = req->job.job.ops;
    size_t count = req->job.job.count, kept = 0, which = 0;
    hf_status status = HF_OK;
    for (size_t first = 0, end; first < count && status == HF_OK; first = end) {
        hf_error why = {0};
        end = route_batch_run_end(ops, count, first);
        bool fits = admit_fit(&req->admission, first, end, &which, &why) == HF_OK;
        size_t place = own->places[first];
        if (!fits)
            status = route_batch_refuse_run(req, place, place + (end - first),
                                            place + (which - first), &why, err);
        for (size_t i = first; fits && i < end; i++) {
            own->places[kept] = own->places[i];
            ops[kept++] = ops[i];
        }
    }
    req->job.job.count = kept;
    return status;
}

/* What the ops did to tokens and sessions counts here at once. */
static void route_batch_note(authenticator *all, const hf_op *op)
{
    if (op->answer.status != HF_OK)
        return;
    if (op->kind == HF_OP_SESSION_OPEN)
        authenticator_note_session(all, op->session, &op->answer.sessions[0]);
    else if (op->kind == HF_OP_CLOSE)
        authenticator_forget_session(all, op->session->id);
    else if (op->kind == HF_OP_TOKEN_CREATE)
        authenticator_note_token(all, op->sha256);
    else if (op->kind == HF_OP_TOKEN_REVOKE)
        authenticator_forget_token(all, op->token);
}

/* Where something was changed nobody may take it for refused: the changes are done, only what came
 * of them can't be told. */
static void route_batch_cannot_tell(request *req, const hf_error *why)
{
    hf_error err = *why;
    bool changed = false;
    for (size_t i = 0; i < req->count; i++)
        changed |= !hf_op_reads(req->ops[i].kind) && req->ops[i].answer.status == HF_OK;
    if (changed)
        hf_error_set(&err, HF_UNSURE,
                     "The batch was carried out, but what came of it can't be told: %s",
                     why->message);
    reply_problem(req, 0, changed ? HF_UNSURE : why->status, &err);
}

void batch_reply(request *req)
{
    const batch_own *own = req->own;
    hf_error err = {0};
    hf_buffer out = {0};
    for (size_t i = 0; i < req->job.job.count; i++) {
        req->ops[own->places[i]].answer = req->job.job.ops[i].answer;
        if (req->job.job.ops[i].answer.status != HF_OK)
            request_record_denial(req, &req->ops[own->places[i]]);
    }
    for (size_t i = 0; i < req->count; i++)
        route_batch_note(req->service->authenticator, &req->ops[i]);
    hf_status status = wire_answers_write(req->ops, req->count, &out, &err);
    if (status == HF_OK && out.size > HTTP_BODY_MAX)
        status = hf_fail(&err, HF_TOO_LARGE,
                         "The answers are too long to be sent. Ask for less at once.");
    if (status == HF_OK)
        reply_json(req, 200, hf_buffer_take(&out));
    else
        route_batch_cannot_tell(req, &err);
    hf_buffer_done(&out);
}

void batch_release(request *req)
{
    batch_own *own = req->own;
    if (own != NULL)
        wire_ops_done(&own->ops);
}
