/* SPDX-License-Identifier: MIT */
/* What is judged of a request before anyone looks at what it asks: whom it was meant for (Host),
 * which page sent it (Origin), and whether a cookie that came with it may count. So a page of
 * someone else's can neither read answers nor act in a visitor's name. */
#ifndef HF_SERVER_GATE_H
#define HF_SERVER_GATE_H

#include <holdfast/status.h>

typedef struct exchange exchange;

#define GATE_COOKIE      "__Host-holdfast"
#define GATE_CSRF_HEADER "holdfast-csrf"

/* HF_DENIED: not for us, or from a page that is not ours nor allowed, and the route is not public.
 * Fills x->origin. */
hf_status gate_enter(exchange *x, hf_error *err);

/* The secret that the request presents as a token, in the arena, or NULL; x->cookie says whether it
 * came as a cookie, which counts unless the route is `proved`. HF_UNAUTHENTICATED: an Authorization
 * header that isn't understood. HF_DENIED: a cookie without the header that shows that the page
 * itself asks. */
hf_status gate_secret(exchange *x, const char **out, hf_error *err);

/* The answer to a page's question before it asks (a CORS preflight, or a plain OPTIONS). */
void gate_options(exchange *x, const char *allow);

/* Adds what the browser is to be told: CORS. */
void gate_headers(exchange *x);

/* Hands the secret over as a cookie, or takes it back (NULL), and replies. */
void gate_cookie(exchange *x, const char *secret);

/* Whether a Host header's name is one of this server's. `hosts` ends with NULL. Pure; for
 * gate_enter and its test. */
bool gate_host_is_ours(const char *host, const char *const *hosts, bool beyond_loopback);

#endif
