/* SPDX-License-Identifier: MIT */
/* Sessions: opened with a token, then carried by their own key. */
#include "base/error.h"
#include "base/json.h"
#include "server/draw.h"
#include "server/handlers.h"

#include <string.h>

static hf_status route_sessions_read_login(exchange *x, const char *text,
                                           const hf_credentials **out, hf_error *err)
{
    hf_credentials *login = exchange_alloc(x, sizeof *login, err);
    if (login == NULL)
        return HF_NO_MEMORY;
    *out = login;
    return hf_credentials_parse(text, login, err);
}

/* ---- POST /v1/sessions ---- */

hf_status ask_session_open(exchange *x, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    hf_credentials *made = status == HF_OK ? exchange_alloc(x, sizeof *made, err) : NULL;
    if (made == NULL)
        return HF_NO_MEMORY;
    hf_op *op = exchange_add(x, HF_OP_SESSION_OPEN);
    status = draw_session(x->who.bearer, x->in.request_id, x->in.key, made, err);
    if (status == HF_OK && x->in.replaces != NULL)
        status = route_sessions_read_login(x, x->in.replaces, &op->replaces, err);
    op->session = made;
    op->user = x->in.user;
    op->name = x->in.name;
    op->idle_us = x->in.idle_us;
    return status;
}

void tell_session_open(exchange *x)
{
    const hf_op *op = &x->ops[0];
    callers_note_session(x->service->callers, op->session, &op->answer.sessions[0]);
    exchange_json(x, 201, hf_session_json(&op->answer.sessions[0], op->session->key));
}

/* ---- one session ---- */

/* The path names the session, its key proves it. */
static hf_status own_session(exchange *x, hf_error *err)
{
    if (x->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say which session asks: send the header 'Holdfast-Session: ID.KEY'.");
    if (strcmp(x->in.login->id, x->in.session) != 0)
        return hf_fail(err, HF_INVALID,
                       "The path names another session than the header Holdfast-Session.");
    return HF_OK;
}

static hf_status route_sessions_ask_own(exchange *x, hf_op_kind kind, hf_error *err)
{
    hf_status status = own_session(x, err);
    if (status == HF_OK)
        status = exchange_room(x, 1, err);
    if (status == HF_OK)
        exchange_add(x, kind);
    return status;
}

hf_status ask_beat(exchange *x, hf_error *err)
{
    return route_sessions_ask_own(x, HF_OP_BEAT, err);
}

void tell_beat(exchange *x)
{
    exchange_json(x, 200, hf_beat_json(&x->ops[0].answer));
}

hf_status ask_close(exchange *x, hf_error *err)
{
    return route_sessions_ask_own(x, HF_OP_CLOSE, err);
}

/* A page that closes can send no header of its own, so the key is in the body. */
hf_status ask_close_beacon(exchange *x, hf_error *err)
{
    hf_credentials *login = exchange_alloc(x, sizeof *login, err);
    if (login == NULL)
        return HF_NO_MEMORY;
    hf_status status = hf_credentials_set(login, x->in.session, x->in.key, err);
    x->in.login = login;
    return status == HF_OK ? route_sessions_ask_own(x, HF_OP_CLOSE, err) : status;
}

void tell_closed(exchange *x)
{
    callers_forget_session(x->service->callers, x->ops[0].session->id);
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_int(&json, "released", (int64_t)x->ops[0].answer.locks_count);
    hf_json_end(&json, '}');
    exchange_json(x, 200, hf_buffer_take(&json.out));
}

/* ---- GET /v1/sessions ---- */

hf_status ask_sessions(exchange *x, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = exchange_add(x, HF_OP_SESSIONS);
    op->user = x->in.user;
    return ask_page(x, op, err);
}

void tell_sessions(exchange *x)
{
    exchange_json(x, 200, hf_sessions_json(&x->ops[0].answer));
}
