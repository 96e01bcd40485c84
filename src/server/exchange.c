/* SPDX-License-Identifier: MIT */
/* From the first byte of a request to the last of its reply; see exchange.h for the stations. */
#include "server/exchange.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/gate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- replies ---- */

/* Retry-After where trying again is all there is to do, in seconds; 0: nowhere. */
static int64_t retry_after(const exchange *x, hf_status status)
{
    switch (status) {
    case HF_BUSY:
    case HF_RETRY:
        return 1;
    case HF_TOO_MANY:
        return x->claims.full ? 0 : x->wait_us > 0 ? (x->wait_us + 999999) / 1000000 : 1;
    case HF_UNAVAILABLE:
    case HF_UNSURE:
        return 2;
    default:
        return 0;
    }
}

void exchange_header(exchange *x, const char *name, const char *value)
{
    if (x->headers_count < EXCHANGE_HEADERS_MAX)
        x->headers[x->headers_count++] = (http_field){name, value};
}

void exchange_release(exchange *x)
{
    if (x->carried)
        jobs_release(&x->job);
    x->carried = false;
}

/* Gives back what the exchange has got, before the request in whose memory it is. */
static void finish_with(exchange *x)
{
    for (limits_kind i = LIMITS_TOKEN; i < LIMITS_KINDS; i++)
        if (x->entered[i] != NULL)
            limits_leave(x->service->limits, i, x->entered[i],
                         x->route->stream ? LIMITS_STREAM : LIMITS_REQUEST);
    exchange_release(x);
    claims_leave(&x->claims);
    if (x->route != NULL && x->route->done != NULL)
        x->route->done(x);
}

static void refuse_size(exchange *x)
{
    hf_error err;
    hf_error_set(&err, HF_TOO_LARGE, "The answer is longer than %zu bytes. Ask for less at once.",
                 HTTP_BODY_MAX);
    exchange_problem(x, 0, HF_TOO_LARGE, &err);
}

void exchange_reply(exchange *x, int status, const char *type, hf_slice body)
{
    if (body.size > HTTP_BODY_MAX) {
        refuse_size(x);
        return;
    }
    gate_headers(x);
    service_replied(x, status);
    finish_with(x);
    http_answer(x->request,
                &(http_reply){.status = status, .type = type, .body = body, .headers = x->headers});
}

void exchange_stream(exchange *x, const char *type)
{
    gate_headers(x);
    service_replied(x, 200);
    http_stream_begin(x->request,
                      &(http_reply){.status = 200, .type = type, .headers = x->headers});
}

static void reply_problem(exchange *x, int code, hf_status status, char *json)
{
    char seconds[24];
    snprintf(seconds, sizeof seconds, "%lld", (long long)retry_after(x, status));
    if (retry_after(x, status) > 0)
        exchange_header(x, "Retry-After", seconds);
    if (status == HF_UNAUTHENTICATED)
        exchange_header(x, "WWW-Authenticate", "Bearer realm=\"holdfast\"");
    const char *text = json != NULL ? json : "{\"code\":\"no_memory\",\"status\":500}";
    exchange_reply(x,
                   json == NULL ? 500
                   : code != 0  ? code
                                : hf_status_http(status),
                   "application/problem+json", hf_slice_of(text));
    hf_json_free(json);
}

void exchange_refusal(exchange *x, int code, const hf_refusal *refusal)
{
    if (code == 0 && refusal->status == HF_INVALID)
        code = x->invalid;
    reply_problem(x, code, refusal->status, hf_problem_json(code, refusal));
}

void exchange_problem(exchange *x, int code, hf_status status, const hf_error *err)
{
    hf_refusal refusal = {
        .status = status,
        .message = err->message[0] != '\0' ? err->message : hf_status_sentence(status),
        .resource = err->resource,
        .holders = &err->holder,
        .holders_count = err->holder.session[0] != '\0',
    };
    exchange_refusal(x, code, &refusal);
}

void exchange_json(exchange *x, int status, char *json)
{
    if (json == NULL)
        reply_problem(x, 0, HF_NO_MEMORY, NULL);
    else
        exchange_reply(x, status, "application/json", hf_slice_of(json));
    hf_json_free(json);
}

const hf_op *exchange_refused(const exchange *x)
{
    const hf_op *refused = NULL;
    for (size_t i = 0; i < x->count - x->looks; i++) {
        hf_status status = x->ops[i].answer.status;
        if (status != HF_OK && (refused == NULL || refused->answer.status == HF_NOT_APPLIED))
            refused = &x->ops[i];
    }
    return refused;
}

static bool names_holders(hf_status status)
{
    return status == HF_LOCKED || status == HF_BUSY;
}

/* The record that an op is about; "" when what was given is no name: it need not even be text, and
 * might be cut anywhere. */
static void exchange_name_resource(const hf_op *op, char out[HF_RESOURCE_SIZE])
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
static int exchange_refusal_code(const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    return answer->status == HF_INVALID &&
                   answer->sessions_count + answer->tokens_count + answer->versions_count > 0
               ? 422
               : 0;
}

void exchange_refuse_set(exchange *x, const hf_op *op, const hf_conflict *conflicts, size_t count)
{
    const hf_answer *answer = &op->answer;
    char resource[HF_RESOURCE_SIZE];
    exchange_name_resource(op, resource);
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
    exchange_refusal(x, exchange_refusal_code(op), &refusal);
}

void exchange_refuse(exchange *x, const hf_op *op)
{
    exchange_refuse_set(x, op, NULL, 0);
}

/* ---- done and told ---- */

void exchange_note(exchange *x, const hf_op *op)
{
    hf_error why = {0};
    const hf_answer *answer = &op->answer;
    hf_error_set(&why, answer->status, "%s",
                 answer->message != NULL ? answer->message : hf_status_sentence(answer->status));
    notes_refusal(x->service->notes, &x->who, x->request->peer, op, &why);
}

static void exchange_finish(loop_job *job)
{
    exchange *x = (exchange *)((char *)job - offsetof(exchange, job));
    hf_error err;
    hf_status status = job->job.status;
    const hf_op *refused = x->route->raw ? NULL : exchange_refused(x);
    service_count_ops(x->service, job->job.ops, job->job.count);
    claims_note(x->service->quotas, job->job.ops, job->job.count);
    if (status != HF_OK) {
        const char *message = x->who.token != NULL ? job->job.ops[0].answer.message : NULL;
        hf_error_set(&err, status, "%s", message != NULL ? message : jobs_told(status));
        exchange_problem(x, 0, status, &err);
    } else if (refused != NULL) {
        exchange_note(x, refused);
        (x->route->refuse != NULL ? x->route->refuse : exchange_refuse)(x, refused);
    } else {
        x->route->tell(x);
    }
}

static void exchange_carry_out(exchange *x)
{
    hf_error err;
    hf_error_none(&err);
    if (x->job.job.ops == NULL) {
        x->job.job.ops = x->ops;
        x->job.job.count = x->count;
    }
    if (x->job.job.count == 0) {
        x->route->tell(x);
        return;
    }
    x->job.finish = exchange_finish;
    hf_status status = jobs_submit(x->service->jobs, &x->job, &err);
    x->carried = status == HF_OK;
    if (status != HF_OK)
        exchange_problem(x, 0, status, &err);
}

void exchange_again(exchange *x)
{
    jobs_release(&x->job);
    x->carried = false;
    x->job = (loop_job){.job = {.ops = x->ops, .count = x->count}};
    exchange_carry_out(x);
}

/* ---- fitted ---- */

static void exchange_fitted(claims *c)
{
    exchange *x = c->context;
    hf_error err;
    hf_error_none(&err);
    size_t which;
    hf_status status = c->all_fit              ? HF_OK
                       : x->route->fit != NULL ? x->route->fit(x, &err)
                                               : claims_fit(c, 0, x->count, &which, &err);
    if (status != HF_OK)
        exchange_problem(x, 0, status, &err);
    else
        exchange_carry_out(x);
}

static void look_whether_it_fits(exchange *x)
{
    bool chosen = x->job.job.ops != NULL;
    x->claims.of = x->service->quotas;
    x->claims.jobs = x->service->jobs;
    x->claims.arena = &x->request->arena;
    x->claims.ops = chosen ? x->job.job.ops : x->ops;
    x->claims.count = chosen ? x->job.job.count : x->count;
    x->claims.done = exchange_fitted;
    x->claims.context = x;
    claims_take(&x->claims);
}

/* ---- known and judged ---- */

/* Every 401 and 403 is written down. */
static void exchange_deny(exchange *x, hf_status status, const hf_op *op, hf_error *err)
{
    err->status = status;
    notes_refusal(x->service->notes, &x->who, x->request->peer, op, err);
    exchange_problem(x, 0, status, err);
}

const caller_session *exchange_session(const exchange *x)
{
    const caller *who = &x->who;
    for (size_t i = 0; who->known != NULL && i < who->sessions_count; i++)
        if (who->known[i].status == HF_OK)
            return &who->known[i];
    return NULL;
}

/* Whose bucket is taken from: the token's, that of a session whose key is right, or the address's.
 * What a stranger names is not theirs. */
static limits_kind exchange_limited(const exchange *x, const char **id)
{
    const caller *who = &x->who;
    const caller_session *session = exchange_session(x);
    *id = who->token != NULL ? who->token->id : session != NULL ? session->id : x->request->peer;
    return who->token != NULL ? LIMITS_TOKEN : session != NULL ? LIMITS_SESSION : LIMITS_PEER;
}

static const char *const limited_names[] = {
    [LIMITS_TOKEN] = "token", [LIMITS_SESSION] = "session", [LIMITS_PEER] = "address"};

static hf_status exchange_charge(exchange *x, limits_kind kind, const char *id, size_t count,
                                 hf_error *err)
{
    if (limits_take(x->service->limits, kind, id, count, hf_seam.boot_us(), &x->wait_us))
        return HF_OK;
    return hf_fail(err, HF_TOO_MANY, "This %s asks more often than it may; wait %.1f seconds.",
                   limited_names[kind], (double)x->wait_us / 1e6);
}

static hf_status exchange_may_look(caller *who, size_t count, hf_error *err)
{
    exchange *x = who->context;
    hf_status status = exchange_charge(x, LIMITS_PEER, x->request->peer, count, err);
    x->paid = status == HF_OK ? count : 0;
    return status;
}

/* What a stranger owes: one for each op, since each is work for the store and in no one's name,
 * less what was paid for looks; together a whole burst at most. Whether it is one is not known
 * while the store can't say: then one. */
static size_t exchange_price(const exchange *x)
{
    if (x->who.status != HF_OK)
        return 1;
    size_t most = (size_t)x->service->settings->burst_address;
    size_t ops = x->count < 1 ? 1 : x->count < most ? x->count : most;
    return ops > x->paid ? ops - x->paid : 0;
}

static hf_status judge_rate(exchange *x, hf_error *err)
{
    const char *id;
    limits_kind kind = exchange_limited(x, &id);
    if (x->wait_us > 0) /* it could not be found out who asks */
        return hf_fail(err, HF_TOO_MANY, "%s", x->who.message);
    size_t count = kind == LIMITS_PEER ? exchange_price(x) : 1;
    return count == 0 ? HF_OK : exchange_charge(x, kind, id, count, err);
}

static hf_status exchange_enter(exchange *x, limits_kind kind, const char *id, hf_error *err)
{
    limits_use use = x->route->stream ? LIMITS_STREAM : LIMITS_REQUEST;
    if (!limits_enter(x->service->limits, kind, id, use))
        return hf_fail(err, HF_TOO_MANY,
                       "This %s has as many %s under way as it may; wait for one to end.",
                       limited_names[kind], x->route->stream ? "streams" : "requests");
    x->entered[kind] = id;
    return HF_OK;
}

/* One of so many that may be under way. A session's stream counts for the token that opened the
 * session, too. */
static hf_status judge_quota(exchange *x, hf_error *err)
{
    const caller_session *session = exchange_session(x);
    if (x->who.token != NULL)
        return exchange_enter(x, LIMITS_TOKEN, x->who.token->id, err);
    if (!x->route->stream || session == NULL || session->token == NULL)
        return HF_OK;
    hf_status status = exchange_enter(x, LIMITS_SESSION, session->id, err);
    return status == HF_OK ? exchange_enter(x, LIMITS_TOKEN, session->token->id, err) : status;
}

/* A wrong key is refused before the store loads, and a database locks, what the session holds: its
 * id is no secret. */
static hf_status judge_key(exchange *x, hf_error *err)
{
    const hf_op *op = &x->ops[0];
    hf_status status = caller_judge_key(&x->who, op, err);
    if (status != HF_OK)
        exchange_name_resource(op, err->resource);
    return status;
}

static hf_status judge_ops(exchange *x, const hf_op **op, hf_error *err)
{
    hf_status status = HF_OK;
    if (x->route->judge != NULL)
        return x->route->judge(x, err);
    for (size_t i = 0; i < x->count && status == HF_OK; i++) {
        *op = &x->ops[i];
        status = caller_judge(&x->who, &x->ops[i], err);
    }
    return status == HF_OK && x->count == 1 ? judge_key(x, err) : status;
}

static void exchange_judge(exchange *x)
{
    hf_error err;
    hf_error_none(&err);
    const hf_op *op = NULL;
    hf_status status = judge_rate(x, &err);
    if (status == HF_OK)
        status = judge_ops(x, &op, &err);
    if (status == HF_OK)
        status = judge_quota(x, &err);
    if (status != HF_OK)
        exchange_deny(x, status, op, &err);
    else
        look_whether_it_fits(x);
}

static void exchange_known(caller *who)
{
    exchange_judge(who->context);
}

static void look_who(exchange *x)
{
    hf_error err;
    hf_arena *arena = &x->request->arena;
    x->who.arena = arena;
    x->who.done = exchange_known;
    x->who.may_look = exchange_may_look;
    x->who.context = x;
    if (caller_sessions(x->ops, x->count, x->in.login, arena, &x->who.sessions,
                        &x->who.sessions_count) &&
        caller_targets(x->ops, x->count, arena, &x->who.targets, &x->who.targets_count)) {
        callers_resolve(x->service->callers, &x->who);
    } else {
        hf_error_set(&err, HF_NO_MEMORY, "Memory is out; nothing was done.");
        exchange_problem(x, 0, HF_NO_MEMORY, &err);
    }
}

/* ---- read ---- */

void *exchange_alloc(exchange *x, size_t size, hf_error *err)
{
    void *memory = hf_arena_alloc(&x->request->arena, size);
    if (memory == NULL)
        hf_error_set(err, HF_NO_MEMORY, "Memory is out; nothing was done.");
    return memory;
}

hf_status exchange_room(exchange *x, size_t count, hf_error *err)
{
    x->ops = exchange_alloc(x, count * sizeof *x->ops, err);
    x->room = x->ops == NULL ? 0 : count;
    return x->ops == NULL ? HF_NO_MEMORY : HF_OK;
}

hf_op *exchange_add(exchange *x, hf_op_kind kind)
{
    hf_op *op = &x->ops[x->count++];
    op->kind = kind;
    op->session = x->in.login;
    op->request_id = hf_op_reads(kind) ? NULL : x->in.request_id;
    op->type = x->in.type;
    op->id = x->in.id;
    return op;
}

static const char *server_exchange_header(exchange *x, const char *name)
{
    char lower[32] = "";
    for (size_t i = 0; i + 1 < sizeof lower && name[i] != '\0'; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    return http_header(x->request, lower);
}

static hf_status read_headers(exchange *x, hf_error *err)
{
    hf_status status = HF_OK;
    for (unsigned i = 0; i < INPUT_COUNT && status == HF_OK; i++) {
        const char *text =
            x->route->headers >> i & 1 ? server_exchange_header(x, input_table[i].name) : NULL;
        if (text != NULL)
            status = inputs_read_header(&x->in, i, text, &x->request->arena, err);
    }
    return status;
}

/* A browser sends other types without asking first, so they count only where nothing depends on it.
 * */
static bool is_json(const char *type)
{
    return type == NULL ||
           (strncasecmp(type, "application/json", 16) == 0 && strchr("; \t", type[16]) != NULL);
}

/* An empty object counts as no body, also where none is taken: some clients always send JSON. */
static hf_status exchange_read_body(exchange *x, hf_error *err)
{
    const route *r = x->route;
    hf_slice body = x->request->body;
    if (r->raw || (r->takes == 0 && body.size == 0))
        return HF_OK;
    return inputs_read_body(&x->in, body, r->takes, r->needs, &x->request->arena, err);
}

static hf_status exchange_read_request(exchange *x, hf_error *err)
{
    hf_status status =
        inputs_read_query(&x->in, x->request->query, x->route->query, &x->request->arena, err);
    if (status == HF_OK)
        status = read_headers(x, err);
    if (status == HF_OK)
        status = exchange_read_body(x, err);
    if (status == HF_OK)
        status = x->route->ask == NULL ? HF_OK : x->route->ask(x, err);
    return status;
}

static bool needs_caller(const exchange *x)
{
    switch (x->route->access) {
    case ROUTE_OPEN:
        return false;
    case ROUTE_MORE:
        return x->who.bearer != NULL;
    case ROUTE_NEARBY:
        return !x->request->local;
    default:
        return true;
    }
}

/* What there is no route for: 404, 405, or a question before the request. */
static void no_route(exchange *x, hf_status status, const char *allow, const hf_error *err)
{
    if (allow == NULL) {
        exchange_problem(x, 0, status, err);
    } else if (x->request->method == HTTP_OPTIONS) {
        gate_options(x, allow);
    } else {
        exchange_header(x, "Allow", allow);
        exchange_problem(x, 405, HF_INVALID, err);
    }
}

static void server_exchange_begin(exchange *x)
{
    hf_error err;
    hf_error_none(&err);
    const char *allow = NULL;
    hf_error gate = {0};
    hf_status status = route_find(x->request->method, x->request->path, &x->request->arena, &x->in,
                                  &x->route, &allow, &err);
    if (gate_enter(x, &gate) != HF_OK) {
        exchange_deny(x, gate.status, NULL, &gate);
        return;
    }
    if (x->route == NULL) {
        no_route(x, status, allow, &err);
        return;
    }
    if (status == HF_OK)
        status = gate_secret(x, &x->who.bearer, &err);
    if (status == HF_OK && x->request->body.size > 0 && !x->route->beacon &&
        !is_json(http_header(x->request, "content-type"))) {
        hf_error_set(&err, HF_INVALID,
                     "The body must be JSON: send 'Content-Type: application/json'.");
        exchange_problem(x, 415, HF_INVALID, &err);
        return;
    }
    if (status == HF_OK)
        status = exchange_read_request(x, &err);
    if (status != HF_OK)
        exchange_deny(x, status, NULL, &err);
    else if (needs_caller(x))
        look_who(x);
    else
        exchange_carry_out(x);
}

void exchange_begin(service *s, http_request *request)
{
    exchange *x = hf_arena_alloc(&request->arena, sizeof *x);
    if (x == NULL) {
        http_answer(request, &(http_reply){.status = 500, .close = true});
        return;
    }
    x->service = s;
    x->request = request;
    x->in.last_event = -1;
    x->in.after_seq = -1;
    x->in.before_seq = -1;
    x->in.limit = -1;
    request->context = x;
    server_exchange_begin(x);
}
