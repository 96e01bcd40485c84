/* SPDX-License-Identifier: MIT */
/* Locks: taken, changed, given back, asked about. */
#include "base/error.h"
#include "base/json.h"
#include "server/handlers.h"
#include "wire/write.h"

#include <stdlib.h>
#include <string.h>

/* ---- shared ---- */

static hf_status need_session(const exchange *x, hf_error *err)
{
    if (x->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say which session asks: send the header 'Holdfast-Session: ID.KEY'.");
    return HF_OK;
}

static hf_status route_locks_ask_own(exchange *x, hf_op_kind kind, hf_op **out, hf_error *err)
{
    hf_status status = need_session(x, err);
    if (status == HF_OK)
        status = exchange_room(x, 1, err);
    if (status == HF_OK) {
        *out = exchange_add(x, kind);
        (*out)->fence = x->in.fence;
    }
    return status;
}

static hf_status read_mode(const char *text, hf_mode *out, hf_error *err)
{
    if (text == NULL)
        return HF_OK;
    *out = hf_mode_from_name(text);
    return *out < HF_MODE_COUNT ? HF_OK
                                : hf_fail(err, HF_INVALID, "\"mode\" must be exclusive or shared.");
}

hf_status ask_page(exchange *x, hf_op *op, hf_error *err)
{
    bool given = x->in.limit >= 0;
    if (given && (x->in.limit == 0 || x->in.limit > HF_LIST_MAX))
        return hf_fail(err, HF_INVALID, "\"limit\" must be 1 to %d.", HF_LIST_MAX);
    op->limit = given ? (size_t)x->in.limit : 0;
    return x->in.after == NULL ? HF_OK : hf_cursor_parse(x->in.after, &op->after, err);
}

void tell_locks(exchange *x)
{
    exchange_json(x, 200, hf_locks_json(&x->ops[0].answer));
}

/* Asked again, what was done before may have no lock to show any more: it was released, or the one
 * who got it has let it go. */
void tell_lock(exchange *x)
{
    const hf_answer *answer = &x->ops[0].answer;
    if (answer->locks_count == 0)
        exchange_reply(x, 204, NULL, HF_NOTHING);
    else
        exchange_json(x, 200, hf_lock_json(&answer->locks[0]));
}

/* ---- taking ---- */

hf_status ask_acquire(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_ask_own(x, HF_OP_ACQUIRE, &op, err);
    if (status != HF_OK)
        return status;
    op->ttl_us = x->in.ttl_us;
    op->purpose = x->in.purpose;
    return read_mode(x->in.mode, &op->mode, err);
}

static int route_locks_created(const hf_answer *answer)
{
    return answer->outcome == HF_ALREADY_YOURS ? 200 : 201;
}

void tell_acquire(exchange *x)
{
    exchange_json(x, route_locks_created(&x->ops[0].answer), hf_locks_json(&x->ops[0].answer));
}

/* One of several, as it was given. */
typedef struct wanted {
    hf_resource resource;
    hf_mode mode;
    const char *purpose;
    const hf_op *op;
} wanted;

static hf_status read_wanted(exchange *x, size_t index, wanted *out, hf_error *err)
{
    const char *resource = NULL, *mode = NULL;
    wire_member members[] = {
        {"resource", WIRE_A_TEXT, &resource, true},
        {"mode", WIRE_A_TEXT, &mode, false},
        {"purpose", WIRE_A_TEXT, &out->purpose, false},
    };
    hf_status status =
        wire_object_at(&x->in.locks, index, "locks", members, 3, &x->request->arena, err);
    if (status == HF_OK)
        status = hf_resource_parse(resource, &out->resource, err);
    return status == HF_OK ? read_mode(mode, &out->mode, err) : status;
}

static int route_locks_by_resource(const void *a, const void *b)
{
    const wanted *const *left = a, *const *right = b;
    return hf_resource_compare(&(*left)->resource, &(*right)->resource);
}

/* In canonical order, so that the first that is blocked is the one told of. */
static hf_status add_wanted(exchange *x, wanted *all, wanted **order, size_t count, hf_error *err)
{
    for (size_t i = 0; i < count; i++)
        order[i] = &all[i];
    qsort(order, count, sizeof *order, route_locks_by_resource);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = exchange_add(x, HF_OP_ACQUIRE);
        op->type = order[i]->resource.type;
        op->id = order[i]->resource.id;
        op->mode = order[i]->mode;
        op->purpose = order[i]->purpose;
        op->ttl_us = x->in.ttl_us;
        op->linked = i + 1 < count;
        order[i]->op = op;
        if (i > 0 && hf_resource_compare(&order[i - 1]->resource, &order[i]->resource) == 0)
            return hf_fail(err, HF_INVALID, "\"locks\" names %s/%s twice; name it once.", op->type,
                           op->id);
    }
    return HF_OK;
}

hf_status ask_acquire_all(exchange *x, hf_error *err)
{
    size_t count = x->in.locks.count;
    hf_status status = need_session(x, err);
    if (status != HF_OK)
        return status;
    if (count == 0 || count > HF_BATCH_OPS_MAX)
        return hf_fail(err, count == 0 ? HF_INVALID : HF_TOO_LARGE,
                       "\"locks\" must have 1 to %d objects.", HF_BATCH_OPS_MAX);
    wanted *all = exchange_alloc(x, count * sizeof *all, err);
    wanted **order = all == NULL ? NULL : exchange_alloc(x, count * sizeof *order, err);
    if (order == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < count && status == HF_OK; i++)
        status = read_wanted(x, i, &all[i], err);
    if (status == HF_OK)
        status = exchange_room(x, count, err);
    x->own = all;
    return status == HF_OK ? add_wanted(x, all, order, count, err) : status;
}

void tell_acquire_all(exchange *x)
{
    const wanted *all = x->own;
    hf_lock *locks = hf_arena_alloc(&x->request->arena, x->count * sizeof *locks);
    hf_version *versions =
        locks == NULL ? NULL : hf_arena_alloc(&x->request->arena, x->count * sizeof *versions);
    size_t saved = 0;
    int status = 200;
    for (size_t i = 0; versions != NULL && i < x->count; i++) {
        locks[i] = all[i].op->answer.locks[0];
        if (all[i].op->answer.versions_count > 0)
            versions[saved++] = all[i].op->answer.versions[0];
        if (route_locks_created(&all[i].op->answer) == 201)
            status = 201;
    }
    hf_answer answer = {
        .locks = locks, .locks_count = x->count, .versions = versions, .versions_count = saved};
    exchange_json(x, status, versions == NULL ? NULL : hf_locks_json(&answer));
}

/* ---- changing and giving back ---- */

hf_status ask_change(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_mode mode = HF_MODE_COUNT;
    hf_status status = read_mode(x->in.mode, &mode, err);
    if (status == HF_OK && mode == HF_EXCLUSIVE)
        return hf_fail(err, HF_INVALID,
                       "A shared lock is made exclusive by PUT, which may be refused; PATCH takes "
                       "\"mode\":\"shared\".");
    if (status == HF_OK && mode == HF_SHARED && (x->in.ttl_us != 0 || x->in.purpose != NULL))
        return hf_fail(
            err, HF_INVALID,
            "Either give \"mode\", or \"ttl_seconds\" and \"purpose\": one change at a time.");
    if (status == HF_OK)
        status =
            route_locks_ask_own(x, mode == HF_SHARED ? HF_OP_DOWNGRADE : HF_OP_RENEW, &op, err);
    if (status != HF_OK)
        return status;
    op->ttl_us = x->in.ttl_us;
    op->purpose = x->in.purpose;
    return HF_OK;
}

hf_status ask_release(exchange *x, hf_error *err)
{
    hf_op *op;
    return route_locks_ask_own(x, HF_OP_RELEASE, &op, err);
}

hf_status ask_request(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_ask_own(x, HF_OP_REQUEST, &op, err);
    if (status == HF_OK)
        op->text = x->in.message;
    return status;
}

hf_status ask_hand_over(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_ask_own(x, HF_OP_HAND_OVER, &op, err);
    if (status == HF_OK)
        op->target = x->in.session;
    return status;
}

hf_status ask_decline(exchange *x, hf_error *err)
{
    hf_op *op;
    hf_status status = route_locks_ask_own(x, HF_OP_DECLINE, &op, err);
    if (status == HF_OK) {
        op->target = x->in.session;
        op->text = x->in.message;
    }
    return status;
}

hf_status ask_force_release(exchange *x, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = exchange_add(x, HF_OP_FORCE_RELEASE);
    op->text = x->in.reason;
    op->actor = x->in.actor;
    op->fence = x->in.fence;
    return HF_OK;
}

/* ---- asking about ---- */

hf_status ask_who(exchange *x, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    if (status == HF_OK)
        exchange_add(x, HF_OP_WHO)->session = NULL;
    return status;
}

void tell_who(exchange *x)
{
    hf_resource resource = {0};
    hf_slice_copy(resource.type, sizeof resource.type, hf_slice_of(x->in.type));
    hf_slice_copy(resource.id, sizeof resource.id, hf_slice_of(x->in.id));
    exchange_json(x, 200, hf_who_json(&resource, &x->ops[0].answer));
}

enum { LOOKUP_MAX = 1000 };

hf_status ask_each(exchange *x, hf_op_kind kind, hf_error *err)
{
    size_t count = x->in.resources.count;
    if (count == 0 || count > LOOKUP_MAX)
        return hf_fail(err, count == 0 ? HF_INVALID : HF_TOO_LARGE,
                       "\"resources\" must have 1 to %d texts.", LOOKUP_MAX);
    hf_resource *resources = exchange_alloc(x, count * sizeof *resources, err);
    hf_status status = resources == NULL ? HF_NO_MEMORY : exchange_room(x, count, err);
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        status = hf_resource_parse(x->in.resources.items[i], &resources[i], err);
        hf_op *op = exchange_add(x, kind);
        op->session = NULL;
        op->type = resources[i].type;
        op->id = resources[i].id;
    }
    x->own = resources;
    return status;
}

hf_status ask_lookup(exchange *x, hf_error *err)
{
    return ask_each(x, HF_OP_WHO, err);
}

void tell_lookup(exchange *x)
{
    const hf_resource *resources = x->own;
    hf_error err = {0};
    hf_buffer out = {0};
    hf_buffer_add(&out, "{\"resources\":[", 14);
    for (size_t i = 0; i < x->count && !out.failed; i++) {
        char *json = hf_who_json(&resources[i], &x->ops[i].answer);
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
        exchange_problem(x, 0, status, &err);
    else
        exchange_json(x, 200, hf_buffer_take(&out));
}

hf_status ask_list(exchange *x, hf_error *err)
{
    hf_status status = exchange_room(x, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = exchange_add(x, HF_OP_LIST);
    op->session = NULL;
    op->user = x->in.user;
    op->target = x->in.session;
    return ask_page(x, op, err);
}
