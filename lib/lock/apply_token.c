/* SPDX-License-Identifier: MIT */
/* Carrying out what is asked of tokens, and notes in the audit log. */
#include "lock/token.h"

#include "base/digest.h"
#include "base/time.h"
#include "lock/names.h"
#include "lock/step.h"

#include <stdio.h>

/* "ID NAME": who reads the log must not need the tokens for it. */
static void token_event(hf_step *step, hf_event_kind kind, const hf_token *token)
{
    char text[HF_TEXT_SIZE];
    int size = snprintf(text, sizeof text, "%s %s", token->id, token->name);
    hf_event_row *event = hf_rows_event(step->rows);
    if (event == NULL)
        return;
    event->kind = kind;
    event->actor = hf_slice_of(step->op->actor);
    if (!hf_arena_copy(&step->rows->arena, (hf_slice){text, (size_t)size}, &event->reason))
        step->rows->failed = true;
}

static void answer_token(hf_step *step, const hf_token *token)
{
    hf_token *copy = hf_arena_alloc(step->arena, sizeof *copy);
    if (copy == NULL) {
        step->rows->failed = true;
        return;
    }
    *copy = *token;
    step->op->answer.tokens = copy;
    step->op->answer.tokens_count = 1;
}

void hf_token_request(const hf_op *op, char out[HF_TOKEN_REQUEST_SIZE])
{
    bool given = op->request_id != NULL && op->request_id[0] != '\0';
    memset(out, 0, HF_TOKEN_REQUEST_SIZE);
    if (given)
        snprintf(out, HF_TOKEN_REQUEST_SIZE, "%s %s", op->request_id,
                 op->actor == NULL ? "" : op->actor);
}

/* How the token that this request id made before differs from what is asked for now; NULL: it does
 * not. */
static const char *token_difference(const hf_op *op, const hf_token *before)
{
    hf_roles roles;
    char text[HF_ROLES_SIZE] = "";
    if (hf_roles_read(op->roles, &roles) == NULL)
        hf_roles_format(&roles, text);
    if (strcmp(before->name, op->name) != 0)
        return "another name";
    if (strcmp(before->roles, text) != 0)
        return "other roles";
    if (!hf_slice_equal(hf_slice_of(before->users), hf_slice_of(op->users)))
        return "other users";
    if (op->ttl_us != (before->expires_us == 0 ? 0 : before->expires_us - before->created_us))
        return "another end";
    return NULL;
}

/* A repeated request answers the token the first one made, to whoever has its secret. True: it has
 * been answered. */
static bool apply_token_repeated(hf_step *step, const hf_token_row *same, const char *request)
{
    if (request[0] == '\0' || strcmp(same->request, request) != 0)
        return false;
    const char *difference = token_difference(step->op, &same->token);
    if (!hf_secret_equal(same->sha256, step->op->sha256, sizeof same->sha256))
        hf_refuse(
            step, HF_DENIED,
            "This request id has made token %s with another secret; repeat it with that secret, or "
            "make one with a new request id.",
            same->token.id);
    else {
        answer_token(step, &same->token);
        if (difference != NULL)
            hf_refuse(step, HF_INVALID,
                      "This request id has made token %s with %s; make one with a new request id.",
                      same->token.id, difference);
    }
    return true;
}

/* In an order of its own, not in that of the rows. */
static bool apply_token_taken(hf_step *step, const hf_token_row *same, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(same[i].token.id, step->op->token) == 0)
            return !hf_refuse(step, HF_INVALID, "Token id %s is taken; draw another.",
                              same[i].token.id);
    for (size_t i = 0; i < count; i++)
        if (hf_secret_equal(same[i].sha256, step->op->sha256, sizeof same[i].sha256))
            return !hf_refuse(step, HF_INVALID, "That secret is another token's; draw a new one.");
    return false;
}

bool hf_apply_token_create(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_token_row *same,
                           size_t count, int64_t now_us, hf_token_row *out)
{
    hf_step step = {.rows = rows, .arena = arena, .op = op};
    hf_roles roles;
    memset(out, 0, sizeof *out);
    hf_token_request(op, out->request);
    for (size_t i = 0; i < count; i++)
        if (apply_token_repeated(&step, &same[i], out->request))
            return false;
    if (apply_token_taken(&step, same, count))
        return false;
    hf_token *token = &out->token;
    if (op->ttl_us != 0 && !hf_time_add(now_us, op->ttl_us, &token->expires_us))
        return hf_refuse(&step, HF_INVALID,
                         "The token's end is beyond the end of time; give it a shorter life.");
    if (hf_roles_read(op->roles, &roles) != NULL)
        return false; /* was checked at the door */
    hf_slice_copy(token->id, sizeof token->id, hf_slice_of(op->token));
    hf_slice_copy(token->name, sizeof token->name, hf_slice_of(op->name));
    hf_slice_copy(token->users, sizeof token->users, hf_slice_of(op->users));
    hf_roles_format(&roles, token->roles);
    token->created_us = now_us;
    memcpy(out->sha256, op->sha256, sizeof out->sha256);
    token_event(&step, HF_EVENT_TOKEN_CREATED, token);
    answer_token(&step, token);
    return !rows->failed;
}

bool hf_token_governs(const hf_token *token, int64_t now_us)
{
    hf_roles roles;
    return hf_token_lives(token, now_us) && hf_roles_read(token->roles, &roles) == NULL &&
           hf_roles_allow(&roles, HF_ROLE_ADMIN, NULL);
}

bool hf_apply_token_revoke(hf_rows *rows, hf_op *op, hf_arena *arena, hf_token *token, bool others,
                           int64_t now_us)
{
    hf_step step = {.rows = rows, .arena = arena, .op = op};
    if (token == NULL)
        return hf_refuse(&step, HF_NOT_FOUND,
                         "There is no token %s; 'token list' shows those there are.", op->token);
    if (op->keeps_admin && !others && hf_token_governs(token, now_us))
        return hf_refuse(&step, HF_DENIED,
                         "'%s' is the last live token with the role admin for all types. Make "
                         "another one first, or revoke it on the store itself: 'holdfast token "
                         "revoke %s --store URL'.",
                         token->name, token->id);
    bool live = token->revoked_us == 0;
    if (live) {
        token->revoked_us = now_us;
        token_event(&step, HF_EVENT_TOKEN_REVOKED, token);
    }
    answer_token(&step, token);
    return live && !rows->failed;
}

void hf_apply_token_find(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_token *token)
{
    hf_step step = {.rows = rows, .arena = arena, .op = op};
    if (token == NULL)
        hf_refuse(&step, HF_NOT_FOUND, "That token is not known here; ask for a new one.");
    else
        answer_token(&step, token);
}

void hf_do_note(hf_step *step)
{
    const hf_op *op = step->op;
    hf_event_row *event = hf_rows_event(step->rows);
    if (event == NULL)
        return;
    event->kind = op->event;
    event->type = hf_slice_of(op->type);
    event->id = hf_slice_of(op->id);
    event->user = hf_slice_of(op->user);
    event->actor = hf_slice_of(op->actor);
    event->reason = hf_slice_of(op->text);
}
