/* SPDX-License-Identifier: MIT */
/* Rules for browsers: Host (DNS rebinding), Origin (CORS), cookies (CSRF). They are checked before
 * anything else of a request. A foreign page can neither read answers nor act for a visitor. */
#ifndef HF_SERVER_ACCESS_ORIGIN_H
#define HF_SERVER_ACCESS_ORIGIN_H

#include <holdfast/status.h>

typedef struct request request;

#define ORIGIN_COOKIE       "__Host-holdfast"
#define ORIGIN_PLAIN_COOKIE "holdfast" /* on plain HTTP, for a browser on the same machine */
#define ORIGIN_CSRF_HEADER  "holdfast-csrf"

/* Checks Host and Origin; sets req->origin. HF_DENIED: the host is not ours, or the origin is
 * foreign and not allowed, and the route is not public. HF_INVALID: the host is malformed. */
hf_status origin_check(request *req, hf_error *err);

/* What the request presents for a token, in the arena, or NULL: a secret in the header
 * Authorization, or a sign-in in a cookie (then req->cookie is set); a route that is `proved`
 * ignores cookies. HF_UNAUTHENTICATED: the Authorization header can't be read. HF_DENIED: a cookie
 * without the CSRF header. */
hf_status origin_token(request *req, const char **out, hf_error *err);

/* Replies to a CORS preflight, or to a plain OPTIONS. */
void origin_preflight(request *req, const char *allow);

/* Adds what browsers are to keep to: CORS, who may embed the reply, TLS from now on. */
void origin_headers(request *req);

/* Sets the cookie to a sign-in's ID.KEY, or deletes it (NULL), and replies. */
void origin_set_cookie(request *req, const char *secret);

#endif
