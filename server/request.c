/* SPDX-License-Identifier: MIT */
/* The path of a request, stage by stage: each stage is a function here, in order; the table that
 * joins them is at the end. A stage that may have to wait returns STAGE_WAIT; its callback
 * (request_authenticated, request_admitted, request_committed) calls request_advance. */
#include "server/request.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/access/hide.h"
#include "server/access/origin.h"
#include "server/reply.h"

#include <string.h>
#include <strings.h>

/* How a stage ends. After STAGE_WAIT and STAGE_DONE the request is no longer ours to touch: it may
 * have gone on already, or be gone. */
typedef enum stage_end {
    STAGE_NEXT, /* go on with the next stage */
    STAGE_WAIT, /* a callback calls request_advance: later, or before this stage returned */
    STAGE_DONE  /* it was answered */
} stage_end;

static void request_advance(request *req);

static stage_end request_fail(request *req, int code, hf_status status, const hf_error *err)
{
    reply_problem(req, code, status, err);
    return STAGE_DONE;
}

/* Answers with the status; a 401 or 403 is recorded in the audit log, too. op: what was refused, or
 * NULL. */
static stage_end request_deny(request *req, hf_status status, const hf_op *op, hf_error *err)
{
    err->status = status;
    denials_record(req->service->denials, &req->who, req->http->peer, op, err);
    return request_fail(req, 0, status, err);
}

/* ---- route ---- */

/* 404; 405; or an OPTIONS, which has no row of its own. */
static stage_end request_no_route(request *req, hf_status status, const char *allow,
                                  const hf_error *err)
{
    if (allow == NULL)
        return request_fail(req, 0, status, err);
    if (req->http->method == HTTP_OPTIONS) {
        origin_preflight(req, allow);
        return STAGE_DONE;
    }
    reply_header(req, "Allow", allow);
    return request_fail(req, 405, HF_INVALID, err);
}

static stage_end request_route(request *req)
{
    hf_error err;
    hf_error_none(&err);
    const char *allow = NULL;
    hf_status status = route_find(req->http->method, req->http->path, &req->http->arena, &req->in,
                                  &req->route, &allow, &err);
    hf_status origin = origin_check(req, &err); /* may take the place of a 404's error */
    if (origin != HF_OK)
        return request_deny(req, origin, NULL, &err);
    if (req->route == NULL)
        return request_no_route(req, status, allow, &err);
    return status == HF_OK ? STAGE_NEXT : request_deny(req, status, NULL, &err);
}

/* ---- parse ---- */

void *request_alloc(request *req, size_t size, hf_error *err)
{
    void *memory = hf_arena_alloc(&req->http->arena, size);
    if (memory == NULL)
        hf_error_set(err, HF_NO_MEMORY, "Out of memory; nothing was done.");
    return memory;
}

hf_status request_room(request *req, size_t count, hf_error *err)
{
    req->ops = request_alloc(req, count * sizeof *req->ops, err);
    req->room = req->ops == NULL ? 0 : count;
    return req->ops == NULL ? HF_NO_MEMORY : HF_OK;
}

hf_op *request_add(request *req, hf_op_kind kind)
{
    hf_op *op = &req->ops[req->count++];
    op->kind = kind;
    op->session = req->in.login;
    op->request_id = hf_op_reads(kind) ? NULL : req->in.request_id;
    op->type = req->in.type;
    op->id = req->in.id;
    return op;
}

static hf_status request_read_headers(request *req, hf_error *err)
{
    hf_status status = HF_OK;
    for (input_set left = req->route->headers; left != 0 && status == HF_OK; left &= left - 1) {
        unsigned which = (unsigned)__builtin_ctzll(left);
        const char *text = http_header(req->http, input_table[which].name);
        if (text != NULL)
            status = inputs_read_header(&req->in, which, text, &req->http->arena, err);
    }
    return status;
}

/* A browser sends other content types without a CORS preflight, so only JSON is taken. */
static bool request_is_json(const char *type)
{
    return type == NULL ||
           (strncasecmp(type, "application/json", 16) == 0 && strchr("; \t", type[16]) != NULL);
}

/* An empty object counts as no body: some clients always send JSON. */
static hf_status request_read_body(request *req, hf_error *err)
{
    const route *r = req->route;
    hf_slice body = req->http->body;
    if (r->raw || (r->takes == 0 && body.size == 0))
        return HF_OK;
    return inputs_read_body(&req->in, body, r->takes, r->needs, &req->http->arena, err);
}

static bool request_is_anonymous(const request *req)
{
    switch (req->route->access) {
    case ROUTE_OPEN:
        return true;
    case ROUTE_MORE:
        return req->who.bearer == NULL;
    case ROUTE_NEARBY:
        return req->http->local;
    default:
        return false;
    }
}

static stage_end request_parse(request *req)
{
    hf_error err;
    hf_error_none(&err);
    const route *r = req->route;
    hf_status status = origin_token(req, &req->who.bearer, &err);
    if (status == HF_OK && req->http->body.size > 0 && !r->beacon &&
        !request_is_json(http_header(req->http, "content-type"))) {
        hf_error_set(&err, HF_INVALID,
                     "The body must be JSON: send 'Content-Type: application/json'.");
        return request_fail(req, 415, HF_INVALID, &err);
    }
    if (status == HF_OK)
        status = inputs_read_query(&req->in, req->http->query, r->query, &req->http->arena, &err);
    if (status == HF_OK)
        status = request_read_headers(req, &err);
    if (status == HF_OK)
        status = request_read_body(req, &err);
    if (status == HF_OK && r->parse != NULL)
        status = r->parse(req, &err);
    if (status != HF_OK)
        return request_deny(req, status, NULL, &err);
    req->anonymous = request_is_anonymous(req);
    return STAGE_NEXT;
}

/* ---- authenticate ---- */

const caller_session *request_session(const request *req)
{
    const caller *who = &req->who;
    for (size_t i = 0; who->known != NULL && i < who->sessions_count; i++)
        if (who->known[i].status == HF_OK)
            return &who->known[i];
    return NULL;
}

static const char *const request_payers[] = {[RATE_LIMITS_TOKEN] = "token",
                                             [RATE_LIMITS_SESSION] = "session",
                                             [RATE_LIMITS_PEER] = "address"};

static hf_status request_charge(request *req, rate_limits_kind kind, const char *id, size_t count,
                                hf_error *err)
{
    if (rate_limits_take(req->service->limits, kind, id, count, hf_seam.boot_us(), &req->wait_us))
        return HF_OK;
    return hf_fail(err, HF_TOO_MANY, "This %s asks more often than it may; wait %.1f seconds.",
                   request_payers[kind], (double)req->wait_us / 1e6);
}

/* A6. A single lookup is only lent: request_throttle gives it back when it found who asks. */
static hf_status request_may_look(caller *who, size_t count, hf_error *err)
{
    request *req = who->context;
    hf_status status = request_charge(req, RATE_LIMITS_PEER, req->http->network, count, err);
    req->lent = status == HF_OK && count == 0;
    req->paid = status != HF_OK ? 0 : req->lent ? 1 : count;
    return status;
}

static void request_authenticated(caller *who)
{
    request_advance(who->context);
}

/* Only finds out who asks. An unknown caller goes on: authorize_op answers 401, since giving back
 * needs no token. */
static stage_end request_authenticate(request *req)
{
    hf_error err;
    hf_arena *arena = &req->http->arena;
    caller *who = &req->who;
    who->arena = arena;
    who->done = request_authenticated;
    who->may_look = request_may_look;
    who->context = req;
    if (!caller_sessions(req->ops, req->count, req->in.login, arena, &who->sessions,
                         &who->sessions_count) ||
        !caller_targets(req->ops, req->count, arena, &who->targets, &who->targets_count)) {
        hf_error_set(&err, HF_NO_MEMORY, "Out of memory; nothing was done.");
        return request_fail(req, 0, HF_NO_MEMORY, &err);
    }
    authenticate_caller(req->service->authenticator, who);
    return STAGE_WAIT;
}

/* ---- throttle ---- */

/* What an address pays for a caller that showed neither a token nor a right key: one for each op,
 * since each is work for the store, less what was paid for lookups, and never more than a burst.
 * If authentication failed the caller may be a known one, and pays for one op. */
static size_t request_price(const request *req)
{
    if (req->who.status != HF_OK)
        return req->paid > 0 ? 0 : 1;
    size_t most = (size_t)req->service->settings->burst_address;
    size_t ops = req->count < 1 ? 1 : req->count < most ? req->count : most;
    return ops > req->paid ? ops - req->paid : 0;
}

static stage_end request_throttle(request *req)
{
    hf_error err;
    hf_error_none(&err);
    hf_status status = HF_OK;
    const caller_token *token = req->who.token;
    const caller_session *session = request_session(req);
    if (req->wait_us > 0) /* the address could not pay for the lookups */
        status = hf_fail(&err, HF_TOO_MANY, "%s", req->who.message);
    else if (token != NULL)
        status = request_charge(req, RATE_LIMITS_TOKEN, token->id, 1, &err);
    else if (session != NULL)
        status = request_charge(req, RATE_LIMITS_SESSION, session->id, 1, &err);
    else if (request_price(req) > 0)
        status =
            request_charge(req, RATE_LIMITS_PEER, req->http->network, request_price(req), &err);
    if (req->lent && (token != NULL || session != NULL))
        rate_limits_give(req->service->limits, RATE_LIMITS_PEER, req->http->network);
    return status == HF_OK ? STAGE_NEXT : request_fail(req, 0, status, &err);
}

/* ---- authorize ---- */

static stage_end request_authorize(request *req)
{
    hf_error err;
    hf_error_none(&err);
    const hf_op *op = NULL;
    hf_status status = HF_OK;
    if (req->route->authorize != NULL)
        status = req->route->authorize(req, &err);
    for (size_t i = 0; req->route->authorize == NULL && i < req->count && status == HF_OK; i++) {
        op = &req->ops[i];
        status = authorize_op(&req->who, &req->ops[i], &err);
    }
    /* A wrong key is refused before the store loads, and a database locks, what the session holds:
     * the id of a session is no secret. */
    if (status == HF_OK && req->route->authorize == NULL && req->count == 1) {
        status = authorize_key(&req->who, op, &err);
        if (status != HF_OK)
            reply_resource(op, err.resource);
    }
    return status == HF_OK ? STAGE_NEXT : request_deny(req, status, op, &err);
}

/* ---- admit ---- */

static hf_status request_enter(request *req, rate_limits_kind kind, const char *id, hf_error *err)
{
    rate_limits_use use = req->route->stream ? RATE_LIMITS_STREAM : RATE_LIMITS_REQUEST;
    if (!rate_limits_enter(req->service->limits, kind, id, use))
        return hf_fail(err, HF_TOO_MANY,
                       "This %s has as many %s under way as it may; wait for one to end.",
                       request_payers[kind], req->route->stream ? "streams" : "requests");
    req->entered[kind] = id;
    return HF_OK;
}

/* How many requests or streams may run at once. A session's stream counts for the token that opened
 * the session, too. */
static hf_status request_enter_all(request *req, hf_error *err)
{
    const caller_session *session = request_session(req);
    if (req->who.token != NULL)
        return request_enter(req, RATE_LIMITS_TOKEN, req->who.token->id, err);
    if (!req->route->stream || session == NULL || session->token == NULL)
        return HF_OK;
    hf_status status = request_enter(req, RATE_LIMITS_SESSION, session->id, err);
    return status == HF_OK ? request_enter(req, RATE_LIMITS_TOKEN, session->token->id, err)
                           : status;
}

static void request_admitted(admission *a)
{
    request *req = a->context;
    hf_error err;
    hf_error_none(&err);
    size_t which;
    hf_status status = a->all_fit                  ? HF_OK
                       : req->route->admit != NULL ? req->route->admit(req, &err)
                                                   : admit_fit(a, 0, req->count, &which, &err);
    if (status == HF_OK)
        request_advance(req);
    else
        reply_problem(req, 0, status, &err);
}

static stage_end request_admit(request *req)
{
    hf_error err;
    hf_error_none(&err);
    hf_status status = request_enter_all(req, &err);
    if (status != HF_OK)
        return request_fail(req, 0, status, &err);
    bool chosen = req->job.job.ops != NULL; /* by the route's `authorize` */
    req->admission.of = req->service->quotas;
    req->admission.jobs = req->service->jobs;
    req->admission.arena = &req->http->arena;
    req->admission.ops = chosen ? req->job.job.ops : req->ops;
    req->admission.count = chosen ? req->job.job.count : req->count;
    req->admission.done = request_admitted;
    req->admission.context = req;
    admit_ops(&req->admission);
    return STAGE_WAIT;
}

/* ---- commit ---- */

static void request_committed(loop_job *job)
{
    request *req = (request *)((char *)job - offsetof(request, job));
    metrics_ops(req->service->metrics, job->job.ops, job->job.count);
    feed_nudge(req->service->feed);
    admit_note(req->service->quotas, job->job.ops, job->job.count);
    for (size_t i = 0; i < job->job.count; i++)
        hide_unseen(&req->who, &job->job.ops[i]);
    request_advance(req);
}

static stage_end request_commit(request *req)
{
    hf_error err;
    hf_error_none(&err);
    committer_job *job = &req->job.job;
    if (job->ops == NULL) {
        job->ops = req->ops;
        job->count = req->count;
    }
    if (job->count == 0)
        return STAGE_NEXT;
    req->job.finish = request_committed;
    hf_status status = jobs_submit(req->service->jobs, &req->job, &err);
    req->carried = status == HF_OK;
    return status == HF_OK ? STAGE_WAIT : request_fail(req, 0, status, &err);
}

void request_release(request *req)
{
    if (req->carried)
        jobs_release(&req->job);
    req->carried = false;
}

/* ---- reply ---- */

void request_record_denial(request *req, const hf_op *op)
{
    hf_error why = {0};
    const hf_answer *answer = &op->answer;
    hf_error_set(&why, answer->status, "%s",
                 answer->message != NULL ? answer->message : hf_status_sentence(answer->status));
    denials_record(req->service->denials, &req->who, req->http->peer, op, &why);
}

/* The op that was refused for a reason of its own, or NULL. */
static const hf_op *request_refused(const request *req)
{
    const hf_op *refused = NULL;
    for (size_t i = 0; i < req->count - req->looks; i++) {
        hf_status status = req->ops[i].answer.status;
        if (status != HF_OK && (refused == NULL || refused->answer.status == HF_NOT_APPLIED))
            refused = &req->ops[i];
    }
    return refused;
}

static stage_end request_reply(request *req)
{
    hf_error err;
    const route *r = req->route;
    const committer_job *job = &req->job.job;
    const hf_op *refused = req->carried && !r->raw ? request_refused(req) : NULL;
    if (req->carried && job->status != HF_OK) {
        const char *message = req->who.token != NULL ? job->ops[0].answer.message : NULL;
        hf_error_set(&err, job->status, "%s", message != NULL ? message : jobs_told(job->status));
        return request_fail(req, 0, job->status, &err);
    }
    if (refused != NULL) {
        request_record_denial(req, refused);
        (r->refuse != NULL ? r->refuse : reply_refuse_op)(req, refused);
    } else {
        r->reply(req);
    }
    return STAGE_DONE;
}

/* ---- the stages ---- */

enum {
    STAGE_FRAME,
    STAGE_ROUTE,
    STAGE_PARSE,
    STAGE_AUTHENTICATE,
    STAGE_THROTTLE,
    STAGE_AUTHORIZE,
    STAGE_ADMIT,
    STAGE_COMMIT,
    STAGE_REPLY
};

static const struct stage {
    stage_end (*run)(request *req);
    bool caller; /* skipped if the route does not ask who it is */
} stages[] = {
    [STAGE_FRAME] = {NULL, false}, /* conn_feed (http/http_request.c), before request_begin */
    [STAGE_ROUTE] = {request_route, false},
    [STAGE_PARSE] = {request_parse, false},
    [STAGE_AUTHENTICATE] = {request_authenticate, true},
    [STAGE_THROTTLE] = {request_throttle, true},
    [STAGE_AUTHORIZE] = {request_authorize, true},
    [STAGE_ADMIT] = {request_admit, true},
    [STAGE_COMMIT] = {request_commit, false},
    [STAGE_REPLY] = {request_reply, false},
};

/* Goes on until a stage waits or has answered. The last one always answers. */
static void request_advance(request *req)
{
    stage_end end = STAGE_NEXT;
    while (end == STAGE_NEXT) {
        const struct stage *it = &stages[req->stage++];
        if (!it->caller || !req->anonymous)
            end = it->run(req);
    }
}

void request_again(request *req)
{
    request_release(req);
    req->job = (loop_job){.job = {.ops = req->ops, .count = req->count}};
    req->stage = STAGE_COMMIT;
    request_advance(req);
}

void request_begin(void *of, http_request *from)
{
    request *req = hf_arena_alloc(&from->arena, sizeof *req);
    if (req == NULL) {
        http_answer(from, &(http_reply){.status = 500, .close = true});
        return;
    }
    req->service = of;
    req->http = from;
    req->in.last_event = -1;
    req->in.after_seq = -1;
    req->in.before_seq = -1;
    req->in.limit = -1;
    req->stage = STAGE_FRAME + 1;
    from->context = req;
    request_advance(req);
}
