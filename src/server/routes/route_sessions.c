/* SPDX-License-Identifier: MIT */
/* Sessions: opened with a token, then carried by their own key. */
#include "base/error.h"
#include "base/json.h"
#include "server/access/derive.h"
#include "server/routes/handlers.h"

#include <string.h>

static hf_status route_sessions_read_login(request *req, const char *text,
                                           const hf_credentials **out, hf_error *err)
{
    hf_credentials *login = request_alloc(req, sizeof *login, err);
    if (login == NULL)
        return HF_NO_MEMORY;
    *out = login;
    return hf_credentials_parse(text, login, err);
}

/* ---- POST /v1/sessions ---- */

hf_status session_open_parse(request *req, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    hf_credentials *made = status == HF_OK ? request_alloc(req, sizeof *made, err) : NULL;
    if (made == NULL)
        return HF_NO_MEMORY;
    hf_op *op = request_add(req, HF_OP_SESSION_OPEN);
    status = derive_session(req->who.bearer, req->in.request_id, req->in.key, made, err);
    if (status == HF_OK && req->in.replaces != NULL)
        status = route_sessions_read_login(req, req->in.replaces, &op->replaces, err);
    op->session = made;
    op->user = req->in.user;
    op->name = req->in.name;
    op->idle_us = req->in.idle_us;
    return status;
}

void session_open_reply(request *req)
{
    const hf_op *op = &req->ops[0];
    authenticator_note_session(req->service->authenticator, op->session, &op->answer.sessions[0]);
    reply_json(req, 201, hf_session_json(&op->answer.sessions[0], op->session->key));
}

/* ---- one session ---- */

/* The path names the session, its key proves it. */
static hf_status own_session(request *req, hf_error *err)
{
    if (req->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say which session asks: send the header 'Holdfast-Session: ID.KEY'.");
    if (strcmp(req->in.login->id, req->in.session) != 0)
        return hf_fail(err, HF_INVALID,
                       "The path names another session than the header Holdfast-Session.");
    return HF_OK;
}

static hf_status route_sessions_ask_own(request *req, hf_op_kind kind, hf_error *err)
{
    hf_status status = own_session(req, err);
    if (status == HF_OK)
        status = request_room(req, 1, err);
    if (status == HF_OK)
        request_add(req, kind);
    return status;
}

hf_status beat_parse(request *req, hf_error *err)
{
    return route_sessions_ask_own(req, HF_OP_BEAT, err);
}

void beat_reply(request *req)
{
    reply_json(req, 200, hf_beat_json(&req->ops[0].answer));
}

hf_status close_parse(request *req, hf_error *err)
{
    return route_sessions_ask_own(req, HF_OP_CLOSE, err);
}

/* A page that closes can send no header of its own, so the key is in the body. */
hf_status close_beacon_parse(request *req, hf_error *err)
{
    hf_credentials *login = request_alloc(req, sizeof *login, err);
    if (login == NULL)
        return HF_NO_MEMORY;
    hf_status status = hf_credentials_set(login, req->in.session, req->in.key, err);
    req->in.login = login;
    return status == HF_OK ? route_sessions_ask_own(req, HF_OP_CLOSE, err) : status;
}

void close_reply(request *req)
{
    authenticator_forget_session(req->service->authenticator, req->ops[0].session->id);
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_int(&json, "released", (int64_t)req->ops[0].answer.locks_count);
    hf_json_end(&json, '}');
    reply_json(req, 200, hf_buffer_take(&json.out));
}

/* ---- GET /v1/sessions ---- */

hf_status sessions_parse(request *req, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_SESSIONS);
    op->user = req->in.user;
    return list_page_parse(req, op, err);
}

void sessions_reply(request *req)
{
    reply_json(req, 200, hf_sessions_json(&req->ops[0].answer));
}
