/* SPDX-License-Identifier: MIT */
/* Replies: JSON, problem details, the head of a stream. After each of these, but for reply_header
 * and reply_stream, the request is gone. */
#ifndef HF_SERVER_REPLY_H
#define HF_SERVER_REPLY_H

#include "server/request.h"

#include <holdfast/json.h>

/* Adds a header of the reply; the texts must live until it is sent. */
void reply_header(request *req, const char *name, const char *value);

/* type NULL: no body. A body over HTTP_BODY_MAX can't be sent and becomes a 413. */
void reply_send(request *req, int status, const char *type, hf_slice body);
/* Frees json. NULL: out of memory, a 500. */
void reply_json(request *req, int status, char *json);
/* Sends the head of a stream; the ops must have been released (request_release). Whoever ends the
 * stream calls rate_limits_leave with RATE_LIMITS_STREAM for all of `entered`, then
 * http_stream_end. */
void reply_stream(request *req, const char *type);

/* Problem details. code 0: the one of the status. */
void reply_problem(request *req, int code, hf_status status, const hf_error *err);
void reply_refusal(request *req, int code, const hf_refusal *refusal);
/* An op was refused: names the holders, and the present version if the caller's was stale. */
void reply_refuse_op(request *req, const hf_op *op);
/* The same, with the conflicts of a set. */
void reply_refuse_set(request *req, const hf_op *op, const hf_conflict *conflicts, size_t count);

/* The resource of an op as TYPE/ID; "" if what the caller sent is not a name. */
void reply_resource(const hf_op *op, char out[HF_RESOURCE_SIZE]);

#endif
