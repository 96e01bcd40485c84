/* SPDX-License-Identifier: MIT */
/* From the first byte of a request to the last of its reply; see exchange.h for the stations. */
#include "server/request.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/access/origin.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- replies ---- */

/* Retry-After where trying again is all there is to do, in seconds; 0: nowhere. */
static int64_t retry_after(const request *req, hf_status status)
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

void request_header(request *req, const char *name, const char *value)
{
    if (req->headers_count < REQUEST_HEADERS_MAX)
        req->headers[req->headers_count++] = (http_field){name, value};
}

void request_release(request *req)
{
    if (req->carried)
        jobs_release(&req->job);
    req->carried = false;
}

/* Gives back what the exchange has got, before the request in whose memory it is. */
static void finish_with(request *req)
{
    for (rate_limits_kind i = RATE_LIMITS_TOKEN; i < RATE_LIMITS_KINDS; i++)
        if (req->entered[i] != NULL)
            rate_limits_leave(req->service->limits, i, req->entered[i],
                              req->route->stream ? RATE_LIMITS_STREAM : RATE_LIMITS_REQUEST);
    request_release(req);
    admit_leave(&req->admission);
    if (req->route != NULL && req->route->done != NULL)
        req->route->done(req);
}

static void refuse_size(request *req)
{
    hf_error err;
    hf_error_set(&err, HF_TOO_LARGE, "The answer is longer than %zu bytes. Ask for less at once.",
                 HTTP_BODY_MAX);
    request_problem(req, 0, HF_TOO_LARGE, &err);
}

void request_reply(request *req, int status, const char *type, hf_slice body)
{
    if (body.size > HTTP_BODY_MAX) {
        refuse_size(req);
        return;
    }
    origin_headers(req);
    service_replied(req, status);
    finish_with(req);
    http_answer(
        req->http,
        &(http_reply){.status = status, .type = type, .body = body, .headers = req->headers});
}

void request_stream(request *req, const char *type)
{
    origin_headers(req);
    service_replied(req, 200);
    http_stream_begin(req->http,
                      &(http_reply){.status = 200, .type = type, .headers = req->headers});
}

static void reply_problem(request *req, int code, hf_status status, char *json)
{
    char seconds[24];
    snprintf(seconds, sizeof seconds, "%lld", (long long)retry_after(req, status));
    if (retry_after(req, status) > 0)
        request_header(req, "Retry-After", seconds);
    if (status == HF_UNAUTHENTICATED)
        request_header(req, "WWW-Authenticate", "Bearer realm=\"holdfast\"");
    const char *text = json != NULL ? json : "{\"code\":\"no_memory\",\"status\":500}";
    request_reply(req,
                  json == NULL ? 500
                  : code != 0  ? code
                               : hf_status_http(status),
                  "application/problem+json", hf_slice_of(text));
    hf_json_free(json);
}

void request_refusal(request *req, int code, const hf_refusal *refusal)
{
    if (code == 0 && refusal->status == HF_INVALID)
        code = req->invalid;
    reply_problem(req, code, refusal->status, hf_problem_json(code, refusal));
}

void request_problem(request *req, int code, hf_status status, const hf_error *err)
{
    hf_refusal refusal = {
        .status = status,
        .message = err->message[0] != '\0' ? err->message : hf_status_sentence(status),
        .resource = err->resource,
        .holders = &err->holder,
        .holders_count = err->holder.session[0] != '\0',
    };
    request_refusal(req, code, &refusal);
}

void request_json(request *req, int status, char *json)
{
    if (json == NULL)
        reply_problem(req, 0, HF_NO_MEMORY, NULL);
    else
        request_reply(req, status, "application/json", hf_slice_of(json));
    hf_json_free(json);
}

const hf_op *request_refused(const request *req)
{
    const hf_op *refused = NULL;
    for (size_t i = 0; i < req->count - req->looks; i++) {
        hf_status status = req->ops[i].answer.status;
        if (status != HF_OK && (refused == NULL || refused->answer.status == HF_NOT_APPLIED))
            refused = &req->ops[i];
    }
    return refused;
}

static bool names_holders(hf_status status)
{
    return status == HF_LOCKED || status == HF_BUSY;
}

/* The record that an op is about; "" when what was given is no name: it need not even be text, and
 * might be cut anywhere. */
static void request_name_resource(const hf_op *op, char out[HF_RESOURCE_SIZE])
{
    hf_resource it;
    bool given = op->type != NULL && op->id != NULL;
    bool whole =
        given && snprintf(out, HF_RESOURCE_SIZE, "%s/%s", op->type, op->id) < HF_RESOURCE_SIZE;
    if (!whole || hf_resource_parse(out, &it, NULL) != HF_OK || strcmp(it.type, op->type) != 0)
        out[0] = '\0';
}

/* 422 where the Idempotency-Key has made something else, which the answer shows; 0: the status's
 * own. */
static int request_refusal_code(const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    return answer->status == HF_INVALID &&
                   answer->sessions_count + answer->tokens_count + answer->versions_count > 0
               ? 422
               : 0;
}

void request_refuse_set(request *req, const hf_op *op, const hf_conflict *conflicts, size_t count)
{
    const hf_answer *answer = &op->answer;
    char resource[HF_RESOURCE_SIZE];
    request_name_resource(op, resource);
    hf_refusal refusal = {
        .status = answer->status,
        .message = answer->message != NULL ? answer->message : hf_status_sentence(answer->status),
        .resource = resource,
        .holders = answer->locks,
        .holders_count = names_holders(answer->status) ? answer->locks_count : 0,
        .present =
            answer->status == HF_STALE && answer->versions_count > 0 ? answer->versions : NULL,
        .conflicts = conflicts,
        .conflicts_count = count,
    };
    request_refusal(req, request_refusal_code(op), &refusal);
}

void request_refuse(request *req, const hf_op *op)
{
    request_refuse_set(req, op, NULL, 0);
}

/* ---- done and told ---- */

void request_note(request *req, const hf_op *op)
{
    hf_error why = {0};
    const hf_answer *answer = &op->answer;
    hf_error_set(&why, answer->status, "%s",
                 answer->message != NULL ? answer->message : hf_status_sentence(answer->status));
    denials_record(req->service->denials, &req->who, req->http->peer, op, &why);
}

static void request_finish(loop_job *job)
{
    request *req = (request *)((char *)job - offsetof(request, job));
    hf_error err;
    hf_status status = job->job.status;
    const hf_op *refused = req->route->raw ? NULL : request_refused(req);
    service_count_ops(req->service, job->job.ops, job->job.count);
    admit_note(req->service->quotas, job->job.ops, job->job.count);
    if (status != HF_OK) {
        const char *message = req->who.token != NULL ? job->job.ops[0].answer.message : NULL;
        hf_error_set(&err, status, "%s", message != NULL ? message : jobs_told(status));
        request_problem(req, 0, status, &err);
    } else if (refused != NULL) {
        request_note(req, refused);
        (req->route->refuse != NULL ? req->route->refuse : request_refuse)(req, refused);
    } else {
        req->route->tell(req);
    }
}

static void request_carry_out(request *req)
{
    hf_error err;
    hf_error_none(&err);
    if (req->job.job.ops == NULL) {
        req->job.job.ops = req->ops;
        req->job.job.count = req->count;
    }
    if (req->job.job.count == 0) {
        req->route->tell(req);
        return;
    }
    req->job.finish = request_finish;
    hf_status status = jobs_submit(req->service->jobs, &req->job, &err);
    req->carried = status == HF_OK;
    if (status != HF_OK)
        request_problem(req, 0, status, &err);
}

void request_again(request *req)
{
    jobs_release(&req->job);
    req->carried = false;
    req->job = (loop_job){.job = {.ops = req->ops, .count = req->count}};
    request_carry_out(req);
}

/* ---- fitted ---- */

static void request_fitted(admission *c)
{
    request *req = c->context;
    hf_error err;
    hf_error_none(&err);
    size_t which;
    hf_status status = c->all_fit                ? HF_OK
                       : req->route->fit != NULL ? req->route->fit(req, &err)
                                                 : admit_fit(c, 0, req->count, &which, &err);
    if (status != HF_OK)
        request_problem(req, 0, status, &err);
    else
        request_carry_out(req);
}

static void look_whether_it_fits(request *req)
{
    bool chosen = req->job.job.ops != NULL;
    req->admission.of = req->service->quotas;
    req->admission.jobs = req->service->jobs;
    req->admission.arena = &req->http->arena;
    req->admission.ops = chosen ? req->job.job.ops : req->ops;
    req->admission.count = chosen ? req->job.job.count : req->count;
    req->admission.done = request_fitted;
    req->admission.context = req;
    admit_ops(&req->admission);
}

/* ---- known and judged ---- */

/* Every 401 and 403 is written down. */
static void request_deny(request *req, hf_status status, const hf_op *op, hf_error *err)
{
    err->status = status;
    denials_record(req->service->denials, &req->who, req->http->peer, op, err);
    request_problem(req, 0, status, err);
}

const caller_session *request_session(const request *req)
{
    const caller *who = &req->who;
    for (size_t i = 0; who->known != NULL && i < who->sessions_count; i++)
        if (who->known[i].status == HF_OK)
            return &who->known[i];
    return NULL;
}

/* Whose bucket pays: the token's, that of a session whose key is right, or the address's. */
static rate_limits_kind request_limited(const request *req, const char **id)
{
    const caller *who = &req->who;
    const caller_session *session = request_session(req);
    *id = who->token != NULL ? who->token->id : session != NULL ? session->id : req->http->peer;
    return who->token != NULL ? RATE_LIMITS_TOKEN
           : session != NULL  ? RATE_LIMITS_SESSION
                              : RATE_LIMITS_PEER;
}

static const char *const limited_names[] = {[RATE_LIMITS_TOKEN] = "token",
                                            [RATE_LIMITS_SESSION] = "session",
                                            [RATE_LIMITS_PEER] = "address"};

static hf_status request_charge(request *req, rate_limits_kind kind, const char *id, size_t count,
                                hf_error *err)
{
    if (rate_limits_take(req->service->limits, kind, id, count, hf_seam.boot_us(), &req->wait_us))
        return HF_OK;
    return hf_fail(err, HF_TOO_MANY, "This %s asks more often than it may; wait %.1f seconds.",
                   limited_names[kind], (double)req->wait_us / 1e6);
}

static hf_status request_may_look(caller *who, size_t count, hf_error *err)
{
    request *req = who->context;
    hf_status status = request_charge(req, RATE_LIMITS_PEER, req->http->peer, count, err);
    req->paid = status == HF_OK ? count : 0;
    return status;
}

/* What a stranger owes: one for each op, since each is work for the store and in no one's name,
 * less what was paid for looks; together a whole burst at most. Whether it is one is not known
 * while the store can't say: then one. */
static size_t request_price(const request *req)
{
    if (req->who.status != HF_OK)
        return 1;
    size_t most = (size_t)req->service->settings->burst_address;
    size_t ops = req->count < 1 ? 1 : req->count < most ? req->count : most;
    return ops > req->paid ? ops - req->paid : 0;
}

static hf_status judge_rate(request *req, hf_error *err)
{
    const char *id;
    rate_limits_kind kind = request_limited(req, &id);
    if (req->wait_us > 0) /* it could not be found out who asks */
        return hf_fail(err, HF_TOO_MANY, "%s", req->who.message);
    size_t count = kind == RATE_LIMITS_PEER ? request_price(req) : 1;
    return count == 0 ? HF_OK : request_charge(req, kind, id, count, err);
}

static hf_status request_enter(request *req, rate_limits_kind kind, const char *id, hf_error *err)
{
    rate_limits_use use = req->route->stream ? RATE_LIMITS_STREAM : RATE_LIMITS_REQUEST;
    if (!rate_limits_enter(req->service->limits, kind, id, use))
        return hf_fail(err, HF_TOO_MANY,
                       "This %s has as many %s under way as it may; wait for one to end.",
                       limited_names[kind], req->route->stream ? "streams" : "requests");
    req->entered[kind] = id;
    return HF_OK;
}

/* One of so many that may be under way. A session's stream counts for the token that opened the
 * session, too. */
static hf_status judge_quota(request *req, hf_error *err)
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

/* A wrong key is refused before the store loads, and a database locks, what the session holds: its
 * id is no secret. */
static hf_status judge_key(request *req, hf_error *err)
{
    const hf_op *op = &req->ops[0];
    hf_status status = caller_judge_key(&req->who, op, err);
    if (status != HF_OK)
        request_name_resource(op, err->resource);
    return status;
}

static hf_status judge_ops(request *req, const hf_op **op, hf_error *err)
{
    hf_status status = HF_OK;
    if (req->route->judge != NULL)
        return req->route->judge(req, err);
    for (size_t i = 0; i < req->count && status == HF_OK; i++) {
        *op = &req->ops[i];
        status = caller_judge(&req->who, &req->ops[i], err);
    }
    return status == HF_OK && req->count == 1 ? judge_key(req, err) : status;
}

static void request_judge(request *req)
{
    hf_error err;
    hf_error_none(&err);
    const hf_op *op = NULL;
    hf_status status = judge_rate(req, &err);
    if (status == HF_OK)
        status = judge_ops(req, &op, &err);
    if (status == HF_OK)
        status = judge_quota(req, &err);
    if (status != HF_OK)
        request_deny(req, status, op, &err);
    else
        look_whether_it_fits(req);
}

static void request_known(caller *who)
{
    request_judge(who->context);
}

static void look_who(request *req)
{
    hf_error err;
    hf_arena *arena = &req->http->arena;
    req->who.arena = arena;
    req->who.done = request_known;
    req->who.may_look = request_may_look;
    req->who.context = req;
    if (caller_sessions(req->ops, req->count, req->in.login, arena, &req->who.sessions,
                        &req->who.sessions_count) &&
        caller_targets(req->ops, req->count, arena, &req->who.targets, &req->who.targets_count)) {
        authenticate_caller(req->service->authenticator, &req->who);
    } else {
        hf_error_set(&err, HF_NO_MEMORY, "Memory is out; nothing was done.");
        request_problem(req, 0, HF_NO_MEMORY, &err);
    }
}

/* ---- read ---- */

void *request_alloc(request *req, size_t size, hf_error *err)
{
    void *memory = hf_arena_alloc(&req->http->arena, size);
    if (memory == NULL)
        hf_error_set(err, HF_NO_MEMORY, "Memory is out; nothing was done.");
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

static const char *request_read_header(request *req, const char *name)
{
    char lower[32] = "";
    for (size_t i = 0; i + 1 < sizeof lower && name[i] != '\0'; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    return http_header(req->http, lower);
}

static hf_status read_headers(request *req, hf_error *err)
{
    hf_status status = HF_OK;
    for (unsigned i = 0; i < INPUT_COUNT && status == HF_OK; i++) {
        const char *text =
            req->route->headers >> i & 1 ? request_read_header(req, input_table[i].name) : NULL;
        if (text != NULL)
            status = inputs_read_header(&req->in, i, text, &req->http->arena, err);
    }
    return status;
}

/* A browser sends other content types without a CORS preflight: they are not taken as JSON. */
static bool is_json(const char *type)
{
    return type == NULL ||
           (strncasecmp(type, "application/json", 16) == 0 && strchr("; \t", type[16]) != NULL);
}

/* An empty object counts as no body, also where none is taken: some clients always send JSON. */
static hf_status request_read_body(request *req, hf_error *err)
{
    const route *r = req->route;
    hf_slice body = req->http->body;
    if (r->raw || (r->takes == 0 && body.size == 0))
        return HF_OK;
    return inputs_read_body(&req->in, body, r->takes, r->needs, &req->http->arena, err);
}

static hf_status request_read_request(request *req, hf_error *err)
{
    hf_status status =
        inputs_read_query(&req->in, req->http->query, req->route->query, &req->http->arena, err);
    if (status == HF_OK)
        status = read_headers(req, err);
    if (status == HF_OK)
        status = request_read_body(req, err);
    if (status == HF_OK)
        status = req->route->ask == NULL ? HF_OK : req->route->ask(req, err);
    return status;
}

static bool needs_caller(const request *req)
{
    switch (req->route->access) {
    case ROUTE_OPEN:
        return false;
    case ROUTE_MORE:
        return req->who.bearer != NULL;
    case ROUTE_NEARBY:
        return !req->http->local;
    default:
        return true;
    }
}

/* What there is no route for: 404, 405, or a question before the request. */
static void no_route(request *req, hf_status status, const char *allow, const hf_error *err)
{
    if (allow == NULL) {
        request_problem(req, 0, status, err);
    } else if (req->http->method == HTTP_OPTIONS) {
        origin_preflight(req, allow);
    } else {
        request_header(req, "Allow", allow);
        request_problem(req, 405, HF_INVALID, err);
    }
}

static void request_read(request *req)
{
    hf_error err;
    hf_error_none(&err);
    const char *allow = NULL;
    hf_error gate = {0};
    hf_status status = route_find(req->http->method, req->http->path, &req->http->arena, &req->in,
                                  &req->route, &allow, &err);
    if (origin_check(req, &gate) != HF_OK) {
        request_deny(req, gate.status, NULL, &gate);
        return;
    }
    if (req->route == NULL) {
        no_route(req, status, allow, &err);
        return;
    }
    if (status == HF_OK)
        status = origin_token(req, &req->who.bearer, &err);
    if (status == HF_OK && req->http->body.size > 0 && !req->route->beacon &&
        !is_json(http_header(req->http, "content-type"))) {
        hf_error_set(&err, HF_INVALID,
                     "The body must be JSON: send 'Content-Type: application/json'.");
        request_problem(req, 415, HF_INVALID, &err);
        return;
    }
    if (status == HF_OK)
        status = request_read_request(req, &err);
    if (status != HF_OK)
        request_deny(req, status, NULL, &err);
    else if (needs_caller(req))
        look_who(req);
    else
        request_carry_out(req);
}

void request_begin(service *s, http_request *from)
{
    request *req = hf_arena_alloc(&from->arena, sizeof *req);
    if (req == NULL) {
        http_answer(from, &(http_reply){.status = 500, .close = true});
        return;
    }
    req->service = s;
    req->http = from;
    req->in.last_event = -1;
    req->in.after_seq = -1;
    req->in.before_seq = -1;
    req->in.limit = -1;
    from->context = req;
    request_read(req);
}
