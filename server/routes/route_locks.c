/* SPDX-License-Identifier: MIT */
/* Sessions, and the locks they hold. */
#include "base/error.h"
#include "base/json.h"
#include "server/access/derive.h"
#include "server/routes/handlers.h"
#include "wire/write.h"

#include <stdlib.h>
#include <string.h>

/* ---- sessions ---- */

static hf_status route_locks_read_login(request *req, const char *text, const hf_credentials **out,
                                        hf_error *err)
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
        status = route_locks_read_login(req, req->in.replaces, &op->replaces, err);
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
static hf_status route_locks_own_session(request *req, hf_error *err)
{
    if (req->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say which session asks: send the header 'Holdfast-Session: ID.KEY'.");
    if (strcmp(req->in.login->id, req->in.session) != 0)
        return hf_fail(err, HF_INVALID,
                       "The path names another session than the header Holdfast-Session.");
    return HF_OK;
}

static hf_status route_locks_add_session_op(request *req, hf_op_kind kind, hf_error *err)
{
    hf_status status = route_locks_own_session(req, err);
    if (status == HF_OK)
        status = request_room(req, 1, err);
    if (status == HF_OK)
        request_add(req, kind);
    return status;
}

hf_status beat_parse(request *req, hf_error *err)
{
    return route_locks_add_session_op(req, HF_OP_BEAT, err);
}

void beat_reply(request *req)
{
    reply_json(req, 200, hf_beat_json(&req->ops[0].answer));
}

hf_status close_parse(request *req, hf_error *err)
{
    return route_locks_add_session_op(req, HF_OP_CLOSE, err);
}

/* A page that closes can send no header of its own, so the key is in the body. */
hf_status close_beacon_parse(request *req, hf_error *err)
{
    hf_credentials *login = request_alloc(req, sizeof *login, err);
    if (login == NULL)
        return HF_NO_MEMORY;
    hf_status status = hf_credentials_set(login, req->in.session, req->in.key, err);
    req->in.login = login;
    return status == HF_OK ? route_locks_add_session_op(req, HF_OP_CLOSE, err) : status;
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

/* ---- locks ---- */

/* ---- shared ---- */

static hf_status route_locks_need_session(const request *req, hf_error *err)
{
    if (req->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say which session asks: send the header 'Holdfast-Session: ID.KEY'.");
    return HF_OK;
}

static hf_status route_locks_add_op(request *req, hf_op_kind kind, hf_op **out, hf_error *err)
{
    hf_status status = route_locks_need_session(req, err);
    if (status == HF_OK)
        status = request_room(req, 1, err);
    if (status == HF_OK) {
        *out = request_add(req, kind);
        (*out)->fence = req->in.fence;
    }
    return status;
}

static hf_status route_locks_read_mode(const char *text, hf_mode *out, hf_error *err)
{
    if (text == NULL)
        return HF_OK;
    *out = hf_mode_from_name(text);
    return *out < HF_MODE_COUNT ? HF_OK
                                : hf_fail(err, HF_INVALID, "\"mode\" must be exclusive or shared.");
}

hf_status list_page_parse(request *req, hf_op *op, hf_error *err)
{
    bool given = req->in.limit >= 0;
    if (given && (req->in.limit == 0 || req->in.limit > HF_LIST_MAX))
        return hf_fail(err, HF_INVALID, "\"limit\" must be 1 to %d.", HF_LIST_MAX);
    op->limit = given ? (size_t)req->in.limit : 0;
    if (req->in.after == NULL)
        return HF_OK;
    hf_cursor *after = hf_arena_alloc(&req->http->arena, sizeof *after);
    op->after = after;
    return after == NULL ? hf_fail_memory(err) : hf_cursor_parse(req->in.after, after, err);
}

void locks_reply(request *req)
{
    reply_json(req, 200, hf_locks_json(&req->ops[0].answer));
}

/* Asked again, what was done before may have no lock to show any more: it was released, or the one
 * who got it has let it go. */
void lock_reply(request *req)
{
    const hf_answer *answer = &req->ops[0].answer;
    if (answer->locks_count == 0)
        reply_send(req, 204, NULL, HF_NOTHING);
    else
        reply_json(req, 200, hf_lock_json(&answer->locks[0]));
}

/* ---- taking ---- */

hf_status acquire_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_add_op(req, HF_OP_ACQUIRE, &op, err);
    if (status != HF_OK)
        return status;
    op->ttl_us = req->in.ttl_us;
    op->purpose = req->in.purpose;
    return route_locks_read_mode(req->in.mode, &op->mode, err);
}

static int route_locks_created(const hf_answer *answer)
{
    return answer->outcome == HF_ALREADY_YOURS ? 200 : 201;
}

void acquire_reply(request *req)
{
    reply_json(req, route_locks_created(&req->ops[0].answer), hf_locks_json(&req->ops[0].answer));
}

/* One of several, as it was given. */
typedef struct wanted {
    hf_resource resource;
    hf_mode mode;
    const char *purpose;
    const hf_op *op;
} wanted;

static hf_status route_locks_read_wanted(request *req, size_t index, wanted *out, hf_error *err)
{
    const char *resource = NULL, *mode = NULL;
    wire_member members[] = {
        {"resource", WIRE_A_TEXT, &resource, true},
        {"mode", WIRE_A_TEXT, &mode, false},
        {"purpose", WIRE_A_TEXT, &out->purpose, false},
    };
    hf_status status =
        wire_object_at(&req->in.locks, index, "locks", members, 3, &req->http->arena, err);
    if (status == HF_OK)
        status = hf_resource_parse(resource, &out->resource, err);
    return status == HF_OK ? route_locks_read_mode(mode, &out->mode, err) : status;
}

static int route_locks_by_resource(const void *a, const void *b)
{
    const wanted *const *left = a, *const *right = b;
    return hf_resource_compare(&(*left)->resource, &(*right)->resource);
}

/* In canonical order, so that the first that is blocked is the one told of. */
static hf_status route_locks_add_wanted(request *req, wanted *all, wanted **order, size_t count,
                                        hf_error *err)
{
    for (size_t i = 0; i < count; i++)
        order[i] = &all[i];
    qsort(order, count, sizeof *order, route_locks_by_resource);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = request_add(req, HF_OP_ACQUIRE);
        op->type = order[i]->resource.type;
        op->id = order[i]->resource.id;
        op->mode = order[i]->mode;
        op->purpose = order[i]->purpose;
        op->ttl_us = req->in.ttl_us;
        op->linked = i + 1 < count;
        order[i]->op = op;
        if (i > 0 && hf_resource_compare(&order[i - 1]->resource, &order[i]->resource) == 0)
            return hf_fail(err, HF_INVALID, "\"locks\" names %s/%s twice; name it once.", op->type,
                           op->id);
    }
    return HF_OK;
}

hf_status acquire_all_parse(request *req, hf_error *err)
{
    size_t count = req->in.locks.count;
    hf_status status = route_locks_need_session(req, err);
    if (status != HF_OK)
        return status;
    if (count == 0 || count > HF_BATCH_OPS_MAX)
        return hf_fail(err, count == 0 ? HF_INVALID : HF_TOO_LARGE,
                       "\"locks\" must have 1 to %d objects.", HF_BATCH_OPS_MAX);
    wanted *all = request_alloc(req, count * sizeof *all, err);
    wanted **order = all == NULL ? NULL : request_alloc(req, count * sizeof *order, err);
    if (order == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < count && status == HF_OK; i++)
        status = route_locks_read_wanted(req, i, &all[i], err);
    if (status == HF_OK)
        status = request_room(req, count, err);
    req->own = all;
    return status == HF_OK ? route_locks_add_wanted(req, all, order, count, err) : status;
}

void acquire_all_reply(request *req)
{
    const wanted *all = req->own;
    hf_lock *locks = hf_arena_alloc(&req->http->arena, req->count * sizeof *locks);
    hf_version *versions =
        locks == NULL ? NULL : hf_arena_alloc(&req->http->arena, req->count * sizeof *versions);
    size_t saved = 0;
    int status = 200;
    for (size_t i = 0; versions != NULL && i < req->count; i++) {
        locks[i] = all[i].op->answer.locks[0];
        if (all[i].op->answer.versions_count > 0)
            versions[saved++] = all[i].op->answer.versions[0];
        if (route_locks_created(&all[i].op->answer) == 201)
            status = 201;
    }
    hf_answer answer = {
        .locks = locks, .locks_count = req->count, .versions = versions, .versions_count = saved};
    reply_json(req, status, versions == NULL ? NULL : hf_locks_json(&answer));
}

/* ---- changing and giving back ---- */

hf_status change_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_mode mode = HF_MODE_COUNT;
    hf_status status = route_locks_read_mode(req->in.mode, &mode, err);
    if (status == HF_OK && mode == HF_EXCLUSIVE)
        return hf_fail(err, HF_INVALID,
                       "A shared lock is made exclusive by PUT, which may be refused; PATCH takes "
                       "\"mode\":\"shared\".");
    if (status == HF_OK && mode == HF_SHARED && (req->in.ttl_us != 0 || req->in.purpose != NULL))
        return hf_fail(
            err, HF_INVALID,
            "Either give \"mode\", or \"ttl_seconds\" and \"purpose\": one change at a time.");
    if (status == HF_OK)
        status =
            route_locks_add_op(req, mode == HF_SHARED ? HF_OP_DOWNGRADE : HF_OP_RENEW, &op, err);
    if (status != HF_OK)
        return status;
    op->ttl_us = req->in.ttl_us;
    op->purpose = req->in.purpose;
    return HF_OK;
}

hf_status release_parse(request *req, hf_error *err)
{
    hf_op *op;
    return route_locks_add_op(req, HF_OP_RELEASE, &op, err);
}

hf_status lock_request_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_add_op(req, HF_OP_REQUEST, &op, err);
    if (status == HF_OK)
        op->text = req->in.message;
    return status;
}

hf_status hand_over_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_add_op(req, HF_OP_HAND_OVER, &op, err);
    if (status == HF_OK)
        op->target = req->in.session;
    return status;
}

hf_status decline_parse(request *req, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_add_op(req, HF_OP_DECLINE, &op, err);
    if (status == HF_OK) {
        op->target = req->in.session;
        op->text = req->in.message;
    }
    return status;
}

hf_status force_release_parse(request *req, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_FORCE_RELEASE);
    op->text = req->in.reason;
    op->actor = req->in.actor;
    op->fence = req->in.fence;
    return HF_OK;
}

/* ---- asking about ---- */

hf_status who_parse(request *req, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status == HF_OK)
        request_add(req, HF_OP_WHO)->session = NULL;
    return status;
}

void who_reply(request *req)
{
    hf_resource resource = {0};
    hf_slice_copy(resource.type, sizeof resource.type, hf_slice_of(req->in.type));
    hf_slice_copy(resource.id, sizeof resource.id, hf_slice_of(req->in.id));
    reply_json(req, 200, hf_who_json(&resource, &req->ops[0].answer));
}

enum { LOOKUP_MAX = 1000 };

hf_status each_parse(request *req, hf_op_kind kind, hf_error *err)
{
    size_t count = req->in.resources.count;
    if (count == 0 || count > LOOKUP_MAX)
        return hf_fail(err, count == 0 ? HF_INVALID : HF_TOO_LARGE,
                       "\"resources\" must have 1 to %d texts.", LOOKUP_MAX);
    hf_resource *resources = request_alloc(req, count * sizeof *resources, err);
    hf_status status = resources == NULL ? HF_NO_MEMORY : request_room(req, count, err);
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        status = hf_resource_parse(req->in.resources.items[i], &resources[i], err);
        hf_op *op = request_add(req, kind);
        op->session = NULL;
        op->type = resources[i].type;
        op->id = resources[i].id;
    }
    req->own = resources;
    return status;
}

hf_status lookup_parse(request *req, hf_error *err)
{
    return each_parse(req, HF_OP_WHO, err);
}

void lookup_reply(request *req)
{
    const hf_resource *resources = req->own;
    hf_error err = {0};
    hf_buffer out = {0};
    hf_buffer_add(&out, "{\"resources\":[", 14);
    for (size_t i = 0; i < req->count && !out.failed; i++) {
        char *json = hf_who_json(&resources[i], &req->ops[i].answer);
        if (i > 0)
            hf_buffer_add(&out, ",", 1);
        if (json != NULL)
            hf_buffer_add(&out, json, strlen(json));
        out.failed |= json == NULL;
        hf_json_free(json);
    }
    hf_buffer_add(&out, "]}", 2);
    hf_status status = wire_written(&out, "The answer", &err);
    if (status != HF_OK)
        reply_problem(req, 0, status, &err);
    else
        reply_json(req, 200, hf_buffer_take(&out));
}

hf_status list_parse(request *req, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_LIST);
    op->session = NULL;
    op->user = req->in.user;
    op->target = req->in.session;
    return list_page_parse(req, op, err);
}
