/* SPDX-License-Identifier: MIT */
/* What administrators do: types, tokens; and the cookie that lets a page act for a token. */
#include "base/error.h"
#include "base/json.h"
#include "server/draw.h"
#include "server/gate.h"
#include "server/handlers.h"

#include <string.h>

static hf_status ask_one(exchange *x, hf_op_kind kind, hf_op **out, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    if (status == HF_OK) {
        *out = exchange_add(x, kind);
        (*out)->session = NULL;
    }
    return status;
}

/* ---- types ---- */

hf_status ask_type(exchange *x, hf_error *err)
{
    hf_op *op;
    return ask_one(x, HF_OP_TYPE_GET, &op, err);
}

void tell_type(exchange *x)
{
    exchange_json(x, 200, hf_type_json(&x->ops[0].answer.types[0]));
}

hf_status ask_types(exchange *x, hf_error *err)
{
    hf_op *op;
    return ask_one(x, HF_OP_TYPES, &op, err);
}

void tell_types(exchange *x)
{
    exchange_json(x, 200, hf_types_json(&x->ops[0].answer));
}

hf_status ask_type_set(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = ask_one(x, HF_OP_TYPE_SET, &op, err);
    if (status != HF_OK)
        return status;
    op->policy = hf_policy_from_name(x->in.policy);
    op->ttl_us = x->in.ttl_us;
    op->ttl_max_us = x->in.ttl_max_us;
    op->actor = x->in.actor;
    if (op->policy == HF_POLICY_COUNT)
        return hf_fail(
            err, HF_INVALID,
            "\"policy\" must be optimistic, exclusive-write, exclusive-read or read-write.");
    return HF_OK;
}

void tell_type_set(exchange *x)
{
    const hf_op *op = &x->ops[0];
    hf_type type = {.policy = op->policy, .ttl_us = op->ttl_us, .ttl_max_us = op->ttl_max_us};
    hf_slice_copy(type.type, sizeof type.type, hf_slice_of(op->type));
    exchange_json(x, 200, hf_type_json(&type));
}

/* ---- tokens ---- */

hf_status ask_tokens(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = ask_one(x, HF_OP_TOKENS, &op, err);
    return status == HF_OK ? ask_page(x, op, err) : status;
}

void tell_tokens(exchange *x)
{
    exchange_json(x, 200, hf_tokens_json(&x->ops[0].answer));
}

hf_status ask_token_create(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_token_key *key = exchange_alloc(x, sizeof *key, err);
    hf_status status = key == NULL ? HF_NO_MEMORY : ask_one(x, HF_OP_TOKEN_CREATE, &op, err);
    if (status == HF_OK)
        status = draw_token(x->who.bearer, x->in.request_id, key, err);
    if (status != HF_OK)
        return status;
    x->own = key;
    op->token = key->id;
    op->sha256 = key->sha256;
    op->name = x->in.name;
    op->roles = x->in.roles;
    op->users = x->in.users;
    op->ttl_us = x->in.expires_us;
    op->actor = x->in.actor;
    return HF_OK;
}

void tell_token_create(exchange *x)
{
    const hf_token_key *key = x->own;
    callers_note_token(x->service->callers, key->sha256);
    exchange_json(x, 201, hf_token_key_json(key));
}

hf_status ask_token_revoke(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = ask_one(x, HF_OP_TOKEN_REVOKE, &op, err);
    if (status == HF_OK)
        op->token = x->in.token;
    return status;
}

void tell_token(exchange *x)
{
    callers_forget_token(x->service->callers, x->ops[0].answer.tokens[0].id);
    exchange_json(x, 200, hf_token_json(&x->ops[0].answer.tokens[0]));
}

/* ---- the cookie of a page ---- */

/* The secret in the body is what is presented: known is who has it. */
hf_status ask_login(exchange *x, hf_error *err)
{
    (void)err;
    x->who.bearer = x->in.secret;
    return HF_OK;
}

hf_status judge_login(exchange *x, hf_error *err)
{
    if (x->who.status != HF_OK) {
        hf_error_set(err, x->who.status, "%s", x->who.message);
        return x->who.status;
    }
    if (x->who.token == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED, "%s",
                       x->who.flaw != NULL ? x->who.flaw : "That is no token.");
    return HF_OK;
}

void tell_login(exchange *x)
{
    gate_cookie(x, x->who.bearer);
}

/* Who the page acts for, so that it offers only what they may. */
void tell_login_show(exchange *x)
{
    const caller_token *token = x->who.token;
    hf_token shown = {0};
    memcpy(shown.id, token->id, sizeof shown.id);
    hf_slice_copy(shown.name, sizeof shown.name, hf_slice_of(token->name));
    hf_slice_copy(shown.users, sizeof shown.users, hf_slice_of(token->users));
    hf_roles_format(&token->roles, shown.roles);
    exchange_json(x, 200, hf_token_json(&shown));
}

void tell_logout(exchange *x)
{
    gate_cookie(x, NULL);
}
