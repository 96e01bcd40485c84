/* SPDX-License-Identifier: MIT */
/* The routes of the server. One table (routes.c) says of each how it is called, what it takes, who
 * may ask and what it answers: the router, the reading of requests, /openapi.json and docs/http.md
 * all go by it, so that they can't differ. A new route is a row there and two functions:
 * `parse` turns what was read into ops, `reply` turns their answers into the reply. */
#ifndef HF_SERVER_ROUTES_ROUTE_H
#define HF_SERVER_ROUTES_ROUTE_H

#include "server/http/http.h"
#include "server/routes/inputs.h"

typedef struct request request;

/* Who may use the route. OPEN, MORE and NEARBY let callers past the stages of access; the others
 * are for the documents, and each op is authorized (authorize.h). */
typedef enum route_access {
    ROUTE_OPEN,    /* anyone */
    ROUTE_SESSION, /* a session's key is enough */
    ROUTE_TOKEN,   /* a token, with the role that the ops need */
    ROUTE_EITHER,  /* a token or a session */
    ROUTE_NEARBY,  /* anyone on the same machine; from elsewhere a token that may observe */
    ROUTE_MORE,    /* anyone; whoever presents a token that lives is told more */
} route_access;

enum { ROUTE_REPLIES_MAX = 3 };

/* How the law may refuse it, besides what every route may come to (openapi.c). */
enum {
    ROUTE_NOT_FOUND = 1, /* 404 */
    ROUTE_NOT_HELD = 2,  /* 409 */
    ROUTE_EXPIRED = 4,   /* 410 */
    ROUTE_REUSED = 8,    /* 422 */
    ROUTE_STALE = 16,    /* 412 */
    ROUTE_BLIND = 32,    /* 428 */
};

/* A reply when all went well. */
typedef struct route_reply {
    int status;
    const char *schema; /* of openapi.json; NULL: no body, or not JSON */
    const char *about;
} route_reply;

typedef struct route {
    /* one word with dashes: the label in metrics and logs, the operation in openapi.json */
    const char *name;
    http_method method;
    const char *path; /* a part in braces is an input of that name */
    route_access access;
    const char *role;  /* what the token needs, for the documents; NULL: none */
    input_set takes;   /* fields of the body */
    input_set needs;   /* ... those that must be there */
    input_set query;   /* parameters after the '?' */
    input_set headers; /* headers it looks at, besides Authorization */
    /* the body is not an object of fields: `parse` reads it, and `reply` is called for refused ops
     * too */
    bool raw;
    bool stream; /* what it answers does not end by itself */
    bool beacon; /* takes a body of any content type: what a page sends as it closes */
    bool public; /* pages of any origin may load it: no one's rights or secrets are in it */
    /* its body holds the secret that it is judged by: a cookie that came along does not count */
    bool proved;
    const char *summary;
    const char *about; /* more, for the documents; may be NULL */
    route_reply replies[ROUTE_REPLIES_MAX];
    unsigned refuses; /* ROUTE_NOT_FOUND ... */
    /* The stages of a request call these (request.c). parse: fills req->ops; with no ops nothing is
     * committed. */
    hf_status (*parse)(request *req, hf_error *err);
    /* NULL: every op is authorized, and one that is denied refuses all. */
    hf_status (*authorize)(request *req, hf_error *err);
    /* Not all ops fit the quotas. NULL: that refuses all. */
    hf_status (*admit)(request *req, hf_error *err);
    /* Every op was executed (raw: or refused); req->ops have their answers. */
    void (*reply)(request *req);
    /* An op was refused; not called for raw. NULL: reply_refuse_op. */
    void (*refuse)(request *req, const hf_op *op);
    /* Frees what `parse` allocated, whatever happened since; may be NULL. */
    void (*release)(request *req);
} route;

extern const route routes[];
extern const size_t routes_count;

/* The route of a request, with the parts of its path read into *in (their texts in the arena).
 * HF_NOT_FOUND: no such path; HF_INVALID: a part can't be read; HF_DENIED: the path is there, but
 * not by that method: *allow (in the arena) lists those there are. */
hf_status route_find(http_method method, hf_slice path, hf_arena *arena, inputs *in,
                     const route **out, const char **allow, hf_error *err);

/* "GET", "PUT" ...: for logs, documents and the Allow header. */
const char *http_method_name(http_method method);

/* What the table of routes says, for programs (OpenAPI 3.1) and for people (/api). Each answers a
 * new text to be freed with hf_json_free, or NULL if out of memory. */
char *openapi_json(void);

/* base: "http://127.0.0.1:7420", for the examples. */
char *api_html(const char *base);

#endif
