/* SPDX-License-Identifier: MIT */
/* The last stage of a request: its reply. Gives back what the request holds, then hands the reply
 * to the HTTP layer. */
#include "server/reply.h"

#include "base/error.h"
#include "server/access/origin.h"

#include <stdio.h>
#include <string.h>

void reply_header(request *req, const char *name, const char *value)
{
    if (req->headers_count < REQUEST_HEADERS_MAX)
        req->headers[req->headers_count++] = (http_field){name, value};
}

/* Before the HTTP request is answered: its memory holds the request. */
static void reply_finish(request *req)
{
    for (rate_limits_kind i = RATE_LIMITS_TOKEN; i < RATE_LIMITS_KINDS; i++)
        if (req->entered[i] != NULL)
            rate_limits_leave(req->service->limits, i, req->entered[i],
                              req->route->stream ? RATE_LIMITS_STREAM : RATE_LIMITS_REQUEST);
    request_release(req);
    admit_leave(&req->admission);
    if (req->route != NULL && req->route->release != NULL)
        req->route->release(req);
}

void reply_send(request *req, int status, const char *type, hf_slice body)
{
    if (body.size > HTTP_BODY_MAX) {
        hf_error err;
        hf_error_set(&err, HF_TOO_LARGE,
                     "The answer is longer than %zu bytes. Ask for less at once.", HTTP_BODY_MAX);
        reply_problem(req, 0, HF_TOO_LARGE, &err);
        return;
    }
    origin_headers(req);
    service_replied(req, status);
    reply_finish(req);
    http_answer(
        req->http,
        &(http_reply){.status = status, .type = type, .body = body, .headers = req->headers});
}

void reply_stream(request *req, const char *type)
{
    origin_headers(req);
    service_replied(req, 200);
    http_stream_begin(req->http,
                      &(http_reply){.status = 200, .type = type, .headers = req->headers});
}

/* ---- problem details ---- */

/* Retry-After in seconds, where trying again is all there is to do; else 0. */
static int64_t reply_retry_after(const request *req, hf_status status)
{
    switch (status) {
    case HF_BUSY:
    case HF_RETRY:
        return 1;
    case HF_TOO_MANY:
        return req->admission.full ? 0 : req->wait_us > 0 ? (req->wait_us + 999999) / 1000000 : 1;
    case HF_UNAVAILABLE:
    case HF_UNSURE:
        return 2;
    default:
        return 0;
    }
}

static void reply_problem_json(request *req, int code, hf_status status, char *json)
{
    char seconds[24];
    int64_t retry_after = reply_retry_after(req, status);
    snprintf(seconds, sizeof seconds, "%lld", (long long)retry_after);
    if (retry_after > 0)
        reply_header(req, "Retry-After", seconds);
    if (status == HF_UNAUTHENTICATED)
        reply_header(req, "WWW-Authenticate", "Bearer realm=\"holdfast\"");
    const char *text = json != NULL ? json : "{\"code\":\"no_memory\",\"status\":500}";
    int usual = code != 0 ? code : hf_status_http(status);
    reply_send(req, json == NULL ? 500 : usual, "application/problem+json", hf_slice_of(text));
    hf_json_free(json);
}

void reply_refusal(request *req, int code, const hf_refusal *refusal)
{
    if (code == 0 && refusal->status == HF_INVALID)
        code = req->invalid;
    reply_problem_json(req, code, refusal->status, hf_problem_json(code, refusal));
}

void reply_problem(request *req, int code, hf_status status, const hf_error *err)
{
    hf_refusal refusal = {
        .status = status,
        .message = err->message[0] != '\0' ? err->message : hf_status_sentence(status),
        .resource = err->resource,
        .holders = &err->holder,
        .holders_count = err->holder.session[0] != '\0',
    };
    reply_refusal(req, code, &refusal);
}

void reply_json(request *req, int status, char *json)
{
    if (json == NULL)
        reply_problem_json(req, 0, HF_NO_MEMORY, NULL);
    else
        reply_send(req, status, "application/json", hf_slice_of(json));
    hf_json_free(json);
}

void reply_resource(const hf_op *op, char out[HF_RESOURCE_SIZE])
{
    hf_resource it;
    bool given = op->type != NULL && op->id != NULL;
    bool whole =
        given && snprintf(out, HF_RESOURCE_SIZE, "%s/%s", op->type, op->id) < HF_RESOURCE_SIZE;
    if (!whole || hf_resource_parse(out, &it, NULL) != HF_OK || strcmp(it.type, op->type) != 0)
        out[0] = '\0';
}

void reply_refuse_set(request *req, const hf_op *op, const hf_conflict *conflicts, size_t count)
{
    const hf_answer *answer = &op->answer;
    hf_status status = answer->status;
    char resource[HF_RESOURCE_SIZE];
    reply_resource(op, resource);
    hf_refusal refusal = {
        .status = status,
        .message = answer->message != NULL ? answer->message : hf_status_sentence(status),
        .resource = resource,
        .holders = answer->locks,
        .holders_count = status == HF_LOCKED || status == HF_BUSY ? answer->locks_count : 0,
        .present = status == HF_STALE && answer->versions_count > 0 ? answer->versions : NULL,
        .conflicts = conflicts,
        .conflicts_count = count,
    };
    /* The Idempotency-Key was used for something else, which the answer shows. */
    bool reused = status == HF_INVALID &&
                  answer->sessions_count + answer->tokens_count + answer->versions_count > 0;
    reply_refusal(req, reused ? 422 : 0, &refusal);
}

void reply_refuse_op(request *req, const hf_op *op)
{
    reply_refuse_set(req, op, NULL, 0);
}
