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
#ifndef HF_SERVER_EXCHANGE_H
#define HF_SERVER_EXCHANGE_H

#include "server/claims.h"
#include "server/route.h"
#include "server/service.h"

#include <holdfast/json.h>

enum { EXCHANGE_HEADERS_MAX = 12 };

struct exchange {
    service *service;
    http_request *request;
    const route *route;
    inputs in;
    hf_op *ops;
    size_t count, room;
    size_t looks; /* the last so many ops only look: their refusals are the route's to judge */
    int invalid;  /* the HTTP code of HF_INVALID if a condition is missing; 0: the usual one */
    caller who;
    claims claims;
    loop_job job;
    http_field headers[EXCHANGE_HEADERS_MAX + 1]; /* of the reply */
    size_t headers_count;
    const char *entered[LIMITS_KINDS]; /* for whom it counts as under way (limits.h) */
    bool carried; /* the job has been accepted: its answers are to be given back */
    bool cookie;  /* the token came as a cookie */
    size_t paid;  /* what the address has paid for looks, before it was known who asks */
    /* it was asked too often: after so long there is room again; 0: it was not */
    int64_t wait_us;
    const char *origin; /* the page that asks, where that is allowed; NULL */
    void *own;          /* the route's */
};

/* Answers the request; all of its life from here on is this module's. */
void exchange_begin(service *s, http_request *request);

/* For `ask`: room for so many ops; then each, with the session, the request id and the resource
 * that the request names. */
hf_status exchange_room(exchange *x, size_t count, hf_error *err);
hf_op *exchange_add(exchange *x, hf_op_kind kind);

/* For `ask`: memory of the exchange. */
void *exchange_alloc(exchange *x, size_t size, hf_error *err);

/* A header of the reply to come; the texts must live until then. */
void exchange_header(exchange *x, const char *name, const char *value);

/* For `tell`: asks the store once more, with the ops as they are now; `tell` is called again. */
void exchange_again(exchange *x);

/* For `tell`: the reply, after which the exchange is gone. type NULL: no body. json is freed; NULL
 * is memory that is out. A body over HTTP_BODY_MAX can't be sent and becomes a 413. */
void exchange_reply(exchange *x, int status, const char *type, hf_slice body);
void exchange_json(exchange *x, int status, char *json);
/* The head of a stream, for which nothing is carried out any more (exchange_release). Whoever
 * ends it says limits_leave of LIMITS_STREAM for all of `entered`, and http_stream_end. */
void exchange_stream(exchange *x, const char *type);
/* The answers of the ops have been read; they are gone then. */
void exchange_release(exchange *x);
/* The session that asks, if its key is right and it lives; else NULL. */
const caller_session *exchange_session(const exchange *x);
/* Problem details. code 0: what the status has. */
void exchange_problem(exchange *x, int code, hf_status status, const hf_error *err);
/* The same, told as it is given. */
void exchange_refusal(exchange *x, int code, const hf_refusal *refusal);
/* The refusal of an op, with whoever stands in the way, and the present version if it was stale. */
void exchange_refuse(exchange *x, const hf_op *op);
/* The same with what was in the way of a set. */
void exchange_refuse_set(exchange *x, const hf_op *op, const hf_conflict *conflicts, size_t count);
/* Writes down what the store said of an op, if that was because of who asks (a wrong key). */
void exchange_note(exchange *x, const hf_op *op);
/* The op that was refused for a reason of its own, or NULL: all went well. */
const hf_op *exchange_refused(const exchange *x);

#endif
