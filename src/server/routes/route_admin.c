/* SPDX-License-Identifier: MIT */
/* What administrators do: types, tokens; and the cookie that lets a page act for a token. */
#include "base/error.h"
#include "base/json.h"
#include "server/access/derive.h"
#include "server/access/origin.h"
#include "server/routes/handlers.h"

#include <string.h>

static hf_status ask_one(request *req, hf_op_kind kind, hf_op **out, hf_error *err)
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
    return ask_one(req, HF_OP_TYPE_GET, &op, err);
}

void type_reply(request *req)
{
    reply_json(req, 200, hf_type_json(&req->ops[0].answer.types[0]));
}

hf_status types_parse(request *req, hf_error *err)
{
    hf_op *op;
    return ask_one(req, HF_OP_TYPES, &op, err);
}

void types_reply(request *req)
{
    reply_json(req, 200, hf_types_json(&req->ops[0].answer));
}

hf_status type_set_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = ask_one(req, HF_OP_TYPE_SET, &op, err);
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
    hf_status status = ask_one(req, HF_OP_TOKENS, &op, err);
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
    hf_status status = key == NULL ? HF_NO_MEMORY : ask_one(req, HF_OP_TOKEN_CREATE, &op, err);
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
    hf_status status = ask_one(req, HF_OP_TOKEN_REVOKE, &op, err);
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
    (void)err;
    req->who.bearer = req->in.secret;
    return HF_OK;
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

void login_reply(request *req)
{
    origin_set_cookie(req, req->who.bearer);
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

void logout_reply(request *req)
{
    origin_set_cookie(req, NULL);
}
