/* SPDX-License-Identifier: MIT */
/* What administrators do: types, tokens, the login of the pages, the audit log. */
#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "server/access/derive.h"
#include "server/access/origin.h"
#include "server/routes/handlers.h"

#include <stdio.h>
#include <string.h>

static hf_status route_admin_ask_one(request *req, hf_op_kind kind, hf_op **out, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status == HF_OK) {
        *out = request_add(req, kind);
        (*out)->session = NULL;
    }
    return status;
}

/* ---- types ---- */

hf_status type_parse(request *req, hf_error *err)
{
    hf_op *op;
    return route_admin_ask_one(req, HF_OP_TYPE_GET, &op, err);
}

void type_reply(request *req)
{
    reply_json(req, 200, hf_type_json(&req->ops[0].answer.types[0]));
}

hf_status types_parse(request *req, hf_error *err)
{
    hf_op *op;
    return route_admin_ask_one(req, HF_OP_TYPES, &op, err);
}

void types_reply(request *req)
{
    reply_json(req, 200, hf_types_json(&req->ops[0].answer));
}

hf_status type_set_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_admin_ask_one(req, HF_OP_TYPE_SET, &op, err);
    if (status != HF_OK)
        return status;
    op->policy = hf_policy_from_name(req->in.policy);
    op->ttl_us = req->in.ttl_us;
    op->ttl_max_us = req->in.ttl_max_us;
    op->actor = req->in.actor;
    if (op->policy == HF_POLICY_COUNT)
        return hf_fail(
            err, HF_INVALID,
            "\"policy\" must be optimistic, exclusive-write, exclusive-read or read-write.");
    return HF_OK;
}

void type_set_reply(request *req)
{
    const hf_op *op = &req->ops[0];
    hf_type type = {.policy = op->policy, .ttl_us = op->ttl_us, .ttl_max_us = op->ttl_max_us};
    hf_slice_copy(type.type, sizeof type.type, hf_slice_of(op->type));
    reply_json(req, 200, hf_type_json(&type));
}

/* ---- tokens ---- */

hf_status tokens_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_admin_ask_one(req, HF_OP_TOKENS, &op, err);
    return status == HF_OK ? list_page_parse(req, op, err) : status;
}

void tokens_reply(request *req)
{
    reply_json(req, 200, hf_tokens_json(&req->ops[0].answer));
}

hf_status token_create_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_token_key *key = request_alloc(req, sizeof *key, err);
    hf_status status =
        key == NULL ? HF_NO_MEMORY : route_admin_ask_one(req, HF_OP_TOKEN_CREATE, &op, err);
    if (status == HF_OK)
        status = derive_token(req->who.bearer, req->in.request_id, key, err);
    if (status != HF_OK)
        return status;
    req->own = key;
    op->token = key->id;
    op->sha256 = key->sha256;
    op->name = req->in.name;
    op->roles = req->in.roles;
    op->users = req->in.users;
    op->ttl_us = req->in.expires_us;
    op->actor = req->in.actor;
    return HF_OK;
}

void token_create_reply(request *req)
{
    const hf_token_key *key = req->own;
    authenticator_note_token(req->service->authenticator, key->sha256);
    reply_json(req, 201, hf_token_key_json(key));
}

hf_status token_revoke_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_admin_ask_one(req, HF_OP_TOKEN_REVOKE, &op, err);
    if (status == HF_OK)
        op->token = req->in.token;
    return status;
}

void token_reply(request *req)
{
    authenticator_forget_token(req->service->authenticator, req->ops[0].answer.tokens[0].id);
    reply_json(req, 200, hf_token_json(&req->ops[0].answer.tokens[0]));
}

/* ---- the cookie of a page ---- */

/* The secret in the body is what is presented: known is who has it. */
hf_status login_parse(request *req, hf_error *err)
{
    req->who.bearer = req->in.secret;
    return request_room(req, 1, err);
}

hf_status login_authorize(request *req, hf_error *err)
{
    if (req->who.status != HF_OK) {
        hf_error_set(err, req->who.status, "%s", req->who.message);
        return req->who.status;
    }
    if (req->who.token == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED, "%s",
                       req->who.flaw != NULL ? req->who.flaw : "That is no token.");
    return HF_OK;
}

enum { SIGN_IN_HOURS = 12 }; /* that a page may be away; while it asks, it stays */

/* A page that signs in gets a session of its own, whose key is in the cookie. */
hf_status login_open_authorize(request *req, hf_error *err)
{
    hf_status status = login_authorize(req, err);
    hf_credentials *made =
        status == HF_OK ? request_alloc(req, sizeof *made + HF_CALLER_SIZE, err) : NULL;
    if (made == NULL)
        return status == HF_OK ? HF_NO_MEMORY : status;
    char *opener = (char *)(made + 1);
    snprintf(opener, HF_CALLER_SIZE, HF_SIGN_IN "%s", req->who.token->id);
    status = hf_credentials_new(NULL, made, err);
    hf_op *op = request_add(req, HF_OP_SESSION_OPEN);
    op->session = made;
    op->user = req->who.token->name;
    op->caller = opener;
    op->idle_us = SIGN_IN_HOURS * INT64_C(3600000000);
    return status;
}

void login_reply(request *req)
{
    char cookie[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    snprintf(cookie, sizeof cookie, "%s.%s", req->ops[0].session->id, req->ops[0].session->key);
    origin_set_cookie(req, cookie);
    hf_secret_wipe(cookie, sizeof cookie);
}

/* Who the page acts for, so that it offers only what they may. */
void login_show_reply(request *req)
{
    const caller_token *token = req->who.token;
    hf_token shown = {0};
    memcpy(shown.id, token->id, sizeof shown.id);
    hf_slice_copy(shown.name, sizeof shown.name, hf_slice_of(token->name));
    hf_slice_copy(shown.users, sizeof shown.users, hf_slice_of(token->users));
    hf_roles_format(&token->roles, shown.roles);
    reply_json(req, 200, hf_token_json(&shown));
}

hf_status logout_parse(request *req, hf_error *err)
{
    return request_room(req, 1, err);
}

/* Whom the cookie does not sign in any more has nothing to end. */
hf_status logout_authorize(request *req, hf_error *err)
{
    if (req->who.status != HF_OK)
        return hf_fail(err, req->who.status, "%s", req->who.message);
    hf_credentials *login = !req->cookie || req->who.token == NULL
                                ? NULL
                                : request_alloc(req, sizeof *login, err);
    if (login == NULL)
        return req->cookie && req->who.token != NULL ? HF_NO_MEMORY : HF_OK;
    request_add(req, HF_OP_CLOSE)->session = login;
    return hf_credentials_parse(req->who.bearer, login, err);
}

void logout_reply(request *req)
{
    if (req->cookie)
        authenticator_forget_cookie(req->service->authenticator, req->who.bearer);
    origin_set_cookie(req, NULL);
}

/* It has ended meanwhile. */
void logout_refuse(request *req, const hf_op *op)
{
    (void)op;
    logout_reply(req);
}

/* ---- audit ---- */

/* GET /v1/audit-log: what happened, forwards (after_seq) or from the newest backwards
 * (before_seq), with filters.
 *
 * The table of events has no index but its number: one would cost every change. So the log is
 * walked in pieces, on the threads that only read, and what does not pass the filter is left out
 * here, the same for every store. A request walks a bounded way; then it answers what it has
 * found, and in `next` where to go on. Backwards a piece is a span of numbers. Where most events
 * of old were removed a span has few, so it grows while it has room, and shrinks when it has
 * more than one look can read. */

enum { AUDIT_LOOKS_MAX = 50, AUDIT_SPAN_MAX = 1 << 20 };

/* Numbers follow the order of commits, and times are a little older than that. */
#define AUDIT_SLACK_US INT64_C(60000000)

typedef struct audit_walk {
    hf_resource resource;       /* type "": any; id "": any of the type */
    const char *user;           /* whose it is, or who did it; NULL: anyone */
    hf_event_kind kind;         /* HF_EVENT_KINDS: any */
    int64_t since_us, until_us; /* 0: no bound */
    bool filtered;
    bool backwards;
    /* Forwards: the last looked at. Backwards: the next to look at is below; 0: the newest. */
    int64_t at;
    int64_t span; /* backwards: how many numbers the next look is to cover */
    size_t limit, found;
    unsigned looks;
    bool ended; /* there is nothing further */
    hf_buffer out;
} audit_walk;

/* ---- what is asked ---- */

static hf_status audit_read_time(const char *text, const char *name, int64_t *out, hf_error *err)
{
    if (text == NULL || hf_time_read(text, out))
        return HF_OK;
    return hf_fail(
        err, HF_INVALID,
        "The parameter %s must be a time in UTC, as 2026-11-15T10:47:03Z, or a day, as 2026-11-15.",
        name);
}

static hf_status audit_read_resource(request *req, audit_walk *walk, hf_error *err)
{
    const wire_texts *names = &req->in.resources;
    if (names->count > 0 && req->in.type != NULL)
        return hf_fail(err, HF_INVALID,
                       "Either give \"type\" or \"resource\", which names its type.");
    if (names->count > 1)
        return hf_fail(err, HF_INVALID,
                       "Give one \"resource\": the log is read for one at a time.");
    if (names->count == 1)
        return hf_resource_parse(names->items[0], &walk->resource, err);
    hf_slice_copy(walk->resource.type, sizeof walk->resource.type, hf_slice_of(req->in.type));
    return HF_OK;
}

static hf_status audit_read_filter(request *req, audit_walk *walk, hf_error *err)
{
    const inputs *in = &req->in;
    walk->user = in->user;
    walk->kind = in->kind == NULL ? HF_EVENT_KINDS : hf_event_kind_from_name(in->kind);
    if (in->kind != NULL && walk->kind == HF_EVENT_KINDS)
        return hf_fail(err, HF_INVALID,
                       "There is no \"kind\" of event of that name; docs/events.md lists them.");
    hf_status status = audit_read_resource(req, walk, err);
    if (status == HF_OK)
        status = audit_read_time(in->since, "since", &walk->since_us, err);
    if (status == HF_OK)
        status = audit_read_time(in->until, "until", &walk->until_us, err);
    walk->filtered = in->user != NULL || in->kind != NULL || in->resources.count > 0 ||
                     in->type != NULL || in->since != NULL || in->until != NULL;
    return status;
}

static void audit_aim(request *req, const audit_walk *walk)
{
    hf_op *op = &req->ops[0];
    op->answer = (hf_answer){0};
    op->limit = walk->filtered ? HF_LIST_MAX : walk->limit;
    if (!walk->backwards)
        op->after_seq = walk->at;
    else if (walk->at == 0) /* nothing is after that: the answer says what the newest is */
        op->after_seq = INT64_MAX;
    else
        op->after_seq = walk->at > walk->span ? walk->at - 1 - walk->span : 0;
}

hf_status audit_log_parse(request *req, hf_error *err)
{
    audit_walk *walk = request_alloc(req, sizeof *walk, err);
    if (walk == NULL)
        return HF_NO_MEMORY;
    *walk = (audit_walk){.backwards = req->in.before_seq >= 0};
    req->own = walk;
    if (walk->backwards && req->in.after_seq >= 0)
        return hf_fail(err, HF_INVALID, "Either give \"after_seq\" or \"before_seq\".");
    hf_status status = audit_read_filter(req, walk, err);
    if (status == HF_OK)
        status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_EVENTS);
    op->session = NULL;
    op->type = NULL;
    status = list_page_parse(req, op, err);
    walk->limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
    walk->at = walk->backwards ? req->in.before_seq : req->in.after_seq < 0 ? 0 : req->in.after_seq;
    walk->span = walk->filtered ? HF_LIST_MAX : (int64_t)walk->limit;
    audit_aim(req, walk);
    return status;
}

/* ---- walking ---- */

static bool audit_passes(const audit_walk *walk, const hf_event *event)
{
    const hf_resource *want = &walk->resource;
    return (want->type[0] == '\0' || strcmp(want->type, event->resource.type) == 0) &&
           (want->id[0] == '\0' || strcmp(want->id, event->resource.id) == 0) &&
           (walk->user == NULL || strcmp(walk->user, event->user) == 0 ||
            strcmp(walk->user, event->actor) == 0) &&
           (walk->kind == HF_EVENT_KINDS || walk->kind == event->kind) &&
           (walk->since_us == 0 || event->at_us >= walk->since_us) &&
           (walk->until_us == 0 || event->at_us < walk->until_us);
}

/* Takes one into the answer if it passes. False: no further one is wanted. */
static bool audit_take(audit_walk *walk, const hf_event *event)
{
    walk->at = event->seq;
    if (audit_passes(walk, event)) {
        char *json = hf_event_json(event);
        if (walk->found++ > 0)
            hf_buffer_add(&walk->out, ",", 1);
        if (json != NULL)
            hf_buffer_add(&walk->out, json, strlen(json));
        walk->out.failed |= json == NULL;
        hf_json_free(json);
    }
    bool past = walk->backwards
                    ? walk->since_us != 0 && event->at_us < walk->since_us - AUDIT_SLACK_US
                    : walk->until_us != 0 && event->at_us > walk->until_us + AUDIT_SLACK_US;
    walk->ended = walk->ended || past;
    return walk->found < walk->limit && !walk->ended && !walk->out.failed;
}

/* False: enough. */
static bool audit_forwards(audit_walk *walk, const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    for (size_t i = 0; i < answer->events_count; i++)
        if (!audit_take(walk, &answer->events[i]))
            return false;
    walk->ended = answer->events_count < op->limit;
    return !walk->ended;
}

static bool audit_backwards(audit_walk *walk, const hf_op *op)
{
    const hf_answer *answer = &op->answer;
    size_t count = answer->events_count;
    if (walk->at == 0) {
        walk->at = answer->last_seq + 1;
        return true;
    }
    if (count == op->limit && answer->events[count - 1].seq + 1 < walk->at && walk->span > 1) {
        walk->span /= 2; /* more of them follow than could be read */
        return true;
    }
    int64_t below = walk->at;
    for (size_t i = count; i-- > 0;)
        if (answer->events[i].seq < below && !audit_take(walk, &answer->events[i]))
            return false;
    if (count < op->limit / 2 && walk->span < AUDIT_SPAN_MAX)
        walk->span *= 2;
    walk->at = op->after_seq + 1;
    walk->ended = op->after_seq == 0;
    return !walk->ended;
}

void audit_log_reply(request *req)
{
    audit_walk *walk = req->own;
    if (walk->looks++ == 0)
        hf_buffer_print(&walk->out, "{\"events\":[");
    bool on =
        walk->backwards ? audit_backwards(walk, &req->ops[0]) : audit_forwards(walk, &req->ops[0]);
    if (on && walk->looks < AUDIT_LOOKS_MAX) {
        audit_aim(req, walk);
        request_again(req);
        return;
    }
    if (walk->ended || (walk->backwards && walk->at <= 1))
        hf_buffer_print(&walk->out, "],\"next\":null}");
    else
        hf_buffer_print(&walk->out, "],\"next\":%lld}", (long long)walk->at);
    reply_json(req, 200, hf_buffer_take(&walk->out));
}

void audit_log_release(request *req)
{
    audit_walk *walk = req->own;
    if (walk != NULL)
        hf_buffer_done(&walk->out);
}
