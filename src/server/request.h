/* SPDX-License-Identifier: MIT */
/* One request on its way: read, judged, carried out, answered.
 *
 *   read      the route, and what the request says; its ops
 *   known     who asks (callers.h), perhaps after a look at the store
 *   judged    is it not too often; may they, op by op
 *   fitted    is it not too much (claims.h), perhaps after a look at the store
 *   done      one job of the committer
 *   told      the reply
 *
 * An exchange lives in the arena of its request. Everything runs on the loop. */
#ifndef HF_SERVER_REQUEST_H
#define HF_SERVER_REQUEST_H

#include "server/access/admit.h"
#include "server/routes/route.h"
#include "server/service.h"

#include <holdfast/json.h>

enum { REQUEST_HEADERS_MAX = 12 };

struct request {
    service *service;
    http_request *http;
    const route *route;
    inputs in;
    hf_op *ops;
    size_t count, room;
    size_t looks; /* the last so many ops only look: their refusals are the route's to judge */
    int invalid;  /* the HTTP code of HF_INVALID if a condition is missing; 0: the usual one */
    caller who;
    admission admission;
    loop_job job;
    http_field headers[REQUEST_HEADERS_MAX + 1]; /* of the reply */
    size_t headers_count;
    const char *entered[RATE_LIMITS_KINDS]; /* for whom it counts as under way (limits.h) */
    bool carried; /* the job has been accepted: its answers are to be given back */
    bool cookie;  /* the token came as a cookie */
    size_t paid;  /* what the address has paid for looks, before it was known who asks */
    /* it was asked too often: after so long there is room again; 0: it was not */
    int64_t wait_us;
    const char *origin; /* the page that asks, where that is allowed; NULL */
    void *own;          /* the route's */
};

/* Answers the request; all of its life from here on is this module's. */
void request_begin(service *s, http_request *from);

/* For `ask`: room for so many ops; then each, with the session, the request id and the resource
 * that the request names. */
hf_status request_room(request *req, size_t count, hf_error *err);
hf_op *request_add(request *req, hf_op_kind kind);

/* For `ask`: memory of the exchange. */
void *request_alloc(request *req, size_t size, hf_error *err);

/* A header of the reply to come; the texts must live until then. */
void request_header(request *req, const char *name, const char *value);

/* For `tell`: asks the store once more, with the ops as they are now; `tell` is called again. */
void request_again(request *req);

/* For `tell`: the reply, after which the exchange is gone. type NULL: no body. json is freed; NULL
 * is memory that is out. A body over HTTP_BODY_MAX can't be sent and becomes a 413. */
void request_reply(request *req, int status, const char *type, hf_slice body);
void request_json(request *req, int status, char *json);
/* The head of a stream, for which nothing is carried out any more (request_release). Whoever
 * ends it calls rate_limits_leave with RATE_LIMITS_STREAM for all of `entered`, then
 * http_stream_end. */
void request_stream(request *req, const char *type);
/* The answers of the ops have been read; they are gone then. */
void request_release(request *req);
/* The session that asks, if its key is right and it lives; else NULL. */
const caller_session *request_session(const request *req);
/* Problem details. code 0: what the status has. */
void request_problem(request *req, int code, hf_status status, const hf_error *err);
/* The same, told as it is given. */
void request_refusal(request *req, int code, const hf_refusal *refusal);
/* The refusal of an op, with whoever stands in the way, and the present version if it was stale. */
void request_refuse(request *req, const hf_op *op);
/* The same with what was in the way of a set. */
void request_refuse_set(request *req, const hf_op *op, const hf_conflict *conflicts, size_t count);
/* Writes down what the store said of an op, if that was because of who asks (a wrong key). */
void request_note(request *req, const hf_op *op);
/* The op that was refused for a reason of its own, or NULL: all went well. */
const hf_op *request_refused(const request *req);

#endif
