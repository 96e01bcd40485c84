/* SPDX-License-Identifier: MIT */
/* One request on its way through the server. The table of stages at the end of request.c is the
 * whole path:
 *
 *   frame         http/framing.h         finds the request in the bytes of a connection
 *   route         routes/route.h         finds its row in the table of routes; checks Host, Origin
 *   parse         routes/inputs.h        reads path, query, headers and body; makes the ops
 *   authenticate  access/authenticate.h  finds the token and the sessions that were presented
 *   throttle      access/rate_limits.h   takes one from the caller's token bucket
 *   authorize     access/authorize.h     checks the rights of the caller, op by op
 *   admit         access/admit.h         checks the quotas: how much the caller may hold
 *   commit        commit/jobs.h          hands the ops to group commit, which executes them
 *   reply         reply.h                turns the answers into the HTTP reply
 *
 * A request lives in the arena of its HTTP request. Everything runs on the loop. */
#ifndef HF_SERVER_REQUEST_H
#define HF_SERVER_REQUEST_H

#include "server/access/admit.h"
#include "server/routes/route.h"
#include "server/service.h"

enum { REQUEST_HEADERS_MAX = 12 };

struct request {
    service *service;
    http_request *http;
    unsigned stage; /* the next one */
    const route *route;
    inputs in;
    hf_op *ops;
    size_t count, room;
    size_t looks; /* the last so many ops only read: if they are refused the route handles it */
    int invalid;  /* the HTTP code of HF_INVALID if a condition is missing; 0: the usual one */
    caller who;
    bool anonymous; /* the route does not ask who it is: four stages are skipped */
    admission admission;
    loop_job job;
    bool carried; /* the job was accepted: its answers must be released */
    http_field headers[REQUEST_HEADERS_MAX + 1]; /* of the reply */
    size_t headers_count;
    /* whom it counts for as running (rate_limits_enter) */
    const char *entered[RATE_LIMITS_KINDS];
    bool cookie;        /* the token came as a cookie */
    size_t paid;        /* what the address has paid for lookups before authentication */
    bool lent;          /* of that one, which it gets back if the caller is known */
    int64_t wait_us;    /* refused by a rate limit: try again after this long; 0: it was not */
    const char *origin; /* the foreign page that asks, if it is allowed; or NULL */
    void *own;          /* the route's */
};

/* Takes the request through the stages of the service `of`; it is answered, whatever happens. */
void request_begin(void *of, http_request *from);

/* ---- for the routes ---- */

/* Memory of the request. */
void *request_alloc(request *req, size_t size, hf_error *err);

/* For `parse`: room for so many ops; then each of them, with the session, the request id and the
 * resource that the request names. */
hf_status request_room(request *req, size_t count, hf_error *err);
hf_op *request_add(request *req, hf_op_kind kind);

/* For `reply`: commits the ops as they are now; `reply` is called again with their answers. */
void request_again(request *req);
/* The answers of the ops are no longer needed: their memory is given back. */
void request_release(request *req);
/* The session that was presented, if its key is right and it lives; else NULL. */
const caller_session *request_session(const request *req);
/* Records in the audit log that the store refused an op because of the caller (a wrong key). */
void request_record_denial(request *req, const hf_op *op);

#endif
