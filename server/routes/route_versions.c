/* SPDX-License-Identifier: MIT */
/* Versions: looked at, saved, deleted; alone, or as a set with what it relies on. An ETag is the
 * version in quotes; conditions are those of RFC 9110, as far as they say what was read. */
#include "base/error.h"
#include "base/time.h"
#include "server/routes/handlers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

static bool route_versions_version_is_any(const char *condition)
{
    return condition != NULL && strcmp(condition, "*") == 0;
}

/* One strong ETag. A list of them would not say which was read. */
static hf_status route_versions_version_read_etag(const char *text, const char *header,
                                                  int64_t *out, hf_error *err)
{
    char *end = NULL;
    if (strncmp(text, "W/", 2) == 0)
        return hf_fail(err, HF_INVALID,
                       "The ETag in %s is weak: send it as it was answered, as \"7\". Something on "
                       "the way, such as "
                       "a proxy that compresses, may have made it so.",
                       header);
    errno = 0;
    bool begins = text[0] == '"' && text[1] >= '1' && text[1] <= '9';
    *out = begins ? strtoll(text + 1, &end, 10) : 0;
    if (!begins || errno != 0 || strcmp(end, "\"") != 0)
        return hf_fail(err, HF_INVALID,
                       "%s must be one ETag as it was answered: the version, 1 or more, in double "
                       "quotes, as \"7\".",
                       header);
    return HF_OK;
}

/* What the conditions of a save say of what was read. */
static hf_status route_versions_version_read_conditions(request *req, hf_op *op, hf_error *err)
{
    const char *match = req->in.if_match, *none = req->in.if_none_match;
    if (route_versions_version_is_any(match) || (match == NULL && none == NULL))
        req->invalid = 428;
    if (route_versions_version_is_any(match))
        return hf_fail(err, HF_INVALID,
                       "\"If-Match: *\" does not say which version was read: send its ETag, as "
                       "If-Match: \"7\", or "
                       "\"If-None-Match: *\" for a record that was not there.");
    if (none != NULL && !route_versions_version_is_any(none))
        return hf_fail(err, HF_INVALID,
                       "Of a save If-None-Match must be *, which says that the record was not "
                       "there; the version that "
                       "was read goes into If-Match.");
    op->absent = none != NULL;
    return match == NULL ? HF_OK
                         : route_versions_version_read_etag(match, "If-Match", &op->version, err);
}

/* ---- answers ---- */

/* The version and its fence as headers. */
static void route_versions_version_add_headers(request *req, const hf_version *version)
{
    enum { SIZE = 24 };
    char *etag = hf_arena_alloc(&req->http->arena, SIZE),
         *fence = hf_arena_alloc(&req->http->arena, SIZE);
    if (etag == NULL || fence == NULL)
        return; /* the body says the same */
    snprintf(etag, SIZE, "\"%lld\"", (long long)version->number);
    snprintf(fence, SIZE, "%lld", (long long)version->fence);
    if (!version->gone)
        reply_header(req, "ETag", etag);
    reply_header(req, "Holdfast-Fence", fence);
}

/* ---- GET /v1/versions/{type}/{id} ---- */

/* "*" says that it is there, whatever its version: so the answer is 404 or 410 if it is not, or 304
 * if it must not be. */
hf_status version_parse(request *req, hf_error *err)
{
    int64_t known;
    hf_status status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_VERSION);
    op->session = NULL;
    if (req->in.if_match != NULL && !route_versions_version_is_any(req->in.if_match))
        status = route_versions_version_read_etag(req->in.if_match, "If-Match", &op->version, err);
    if (status == HF_OK && req->in.if_none_match != NULL &&
        !route_versions_version_is_any(req->in.if_none_match))
        status =
            route_versions_version_read_etag(req->in.if_none_match, "If-None-Match", &known, err);
    return status;
}

static bool route_versions_version_is_known(const request *req, const hf_version *version)
{
    int64_t known = 0;
    const char *none = req->in.if_none_match;
    if (none == NULL)
        return false;
    return route_versions_version_is_any(none) ||
           (route_versions_version_read_etag(none, "", &known, NULL) == HF_OK &&
            known == version->number);
}

/* HTTP tells what was deleted from what never was. */
static void route_versions_version_tell_gone(request *req, const hf_answer *answer)
{
    const hf_version *version = &answer->versions[0];
    char resource[HF_RESOURCE_SIZE], when[HF_TIME_TEXT], message[HF_MESSAGE_SIZE];
    hf_resource_format(&version->resource, resource);
    hf_time_say(version->saved_us, answer->now_us, when);
    snprintf(message, sizeof message, "%s was deleted by %s at %s (version %lld).", resource,
             version->name, when, (long long)version->number);
    hf_refusal gone = {
        .status = HF_NOT_FOUND, .message = message, .resource = resource, .present = version};
    reply_refusal(req, 410, &gone);
}

void version_reply(request *req)
{
    const hf_version *version = &req->ops[0].answer.versions[0];
    route_versions_version_add_headers(req, version);
    if (version->gone)
        route_versions_version_tell_gone(req, &req->ops[0].answer);
    else if (route_versions_version_is_known(req, version))
        reply_send(req, 304, NULL, HF_NOTHING);
    else
        reply_json(req, 200, hf_version_json(version));
}

/* ---- PUT and DELETE /v1/versions/{type}/{id} ---- */

static hf_status route_versions_version_ask_save(request *req, bool gone, hf_error *err)
{
    hf_status status = request_room(req, 1, err);
    if (status != HF_OK)
        return status;
    hf_op *op = request_add(req, HF_OP_SAVE);
    op->user = req->in.user;
    op->name = req->in.name;
    op->text = req->in.reason;
    op->fence = req->in.fence;
    op->gone = gone;
    return route_versions_version_read_conditions(req, op, err);
}

hf_status save_parse(request *req, hf_error *err)
{
    return route_versions_version_ask_save(req, false, err);
}

hf_status delete_parse(request *req, hf_error *err)
{
    return route_versions_version_ask_save(req, true, err);
}

void save_reply(request *req)
{
    const hf_version *version = &req->ops[0].answer.versions[0];
    bool created = !version->gone && (req->ops[0].absent || version->number == 1);
    route_versions_version_add_headers(req, version);
    reply_json(req, created ? 201 : 200, hf_version_json(version));
}

/* ---- POST /v1/versions/commit ---- */

/* One of a set, as it was given. */
typedef struct commit_item {
    hf_resource resource;
    int64_t version, fence;
    bool absent, gone;
} commit_item;

static hf_status route_versions_commit_read_save(request *req, size_t index, commit_item *out,
                                                 hf_error *err)
{
    const char *resource = NULL;
    wire_member members[] = {
        {"resource", WIRE_A_TEXT, &resource, true},
        {"version", WIRE_A_FENCE, &out->version, false},
        {"absent", WIRE_YES_NO, &out->absent, false},
        {"gone", WIRE_YES_NO, &out->gone, false},
        {"fence", WIRE_A_FENCE, &out->fence, false},
    };
    hf_status status =
        wire_object_at(&req->in.saves, index, "save", members, 5, &req->http->arena, err);
    return status == HF_OK ? hf_resource_parse(resource, &out->resource, err) : status;
}

static hf_status route_versions_commit_read_premise(request *req, size_t index, commit_item *out,
                                                    hf_error *err)
{
    const char *resource = NULL;
    wire_member members[] = {
        {"resource", WIRE_A_TEXT, &resource, true},
        {"version", WIRE_A_FENCE, &out->version, false},
        {"absent", WIRE_YES_NO, &out->absent, false},
    };
    hf_status status =
        wire_object_at(&req->in.premises, index, "rely", members, 3, &req->http->arena, err);
    if (status == HF_OK)
        status = hf_resource_parse(resource, &out->resource, err);
    if (status == HF_OK && out->version == 0 && !out->absent)
        return hf_fail(
            err, HF_INVALID,
            "Nothing says what %s/%s was when it was read: give \"version\", or \"absent\".",
            out->resource.type, out->resource.id);
    return status;
}

static int route_versions_commit_compare(const void *a, const void *b)
{
    const commit_item *const *left = a, *const *right = b;
    return hf_resource_compare(&(*left)->resource, &(*right)->resource);
}

static hf_status route_versions_commit_check_names(request *req, const commit_item *all,
                                                   size_t count, hf_error *err)
{
    const commit_item **order = request_alloc(req, count * sizeof *order, err);
    if (order == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = &all[i];
    qsort(order, count, sizeof *order, route_versions_commit_compare);
    for (size_t i = 1; i < count; i++)
        if (route_versions_commit_compare(&order[i - 1], &order[i]) == 0)
            return hf_fail(err, HF_INVALID, "%s/%s is named twice; name each record once.",
                           order[i]->resource.type, order[i]->resource.id);
    return HF_OK;
}

static hf_op *route_versions_commit_add(request *req, hf_op_kind kind, const commit_item *it)
{
    hf_op *op = request_add(req, kind);
    op->type = it->resource.type;
    op->id = it->resource.id;
    op->version = it->version;
    op->absent = it->absent;
    if (kind == HF_OP_VERSION)
        op->session = NULL;
    return op;
}

/* A linked run; then, unless it is of one alone, a look at each, so that of a refused set every
 * conflict is told. */
static void route_versions_commit_add_all(request *req, const commit_item *all, size_t saves,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hf_op *op = route_versions_commit_add(req, i < saves ? HF_OP_SAVE : HF_OP_VERSION, &all[i]);
        op->linked = i + 1 < count;
        if (i >= saves)
            continue;
        op->gone = all[i].gone;
        op->fence = all[i].fence;
        op->user = req->in.user;
        op->name = req->in.name;
        op->text = req->in.reason;
    }
    for (size_t i = 0; i < count && count > 1; i++)
        route_versions_commit_add(req, HF_OP_VERSION, &all[i]);
    req->looks = req->count - count;
}

hf_status commit_parse(request *req, hf_error *err)
{
    size_t saves = req->in.saves.count, count = saves + req->in.premises.count;
    if (saves == 0 || count > HF_SET_MAX)
        return hf_fail(err, saves == 0 ? HF_INVALID : HF_TOO_LARGE,
                       "\"save\" must have 1 to %d objects, together with those of \"rely\".",
                       HF_SET_MAX);
    commit_item *all = request_alloc(req, count * sizeof *all, err);
    hf_status status = all == NULL ? HF_NO_MEMORY : HF_OK;
    for (size_t i = 0; i < count && status == HF_OK; i++)
        status = i < saves ? route_versions_commit_read_save(req, i, &all[i], err)
                           : route_versions_commit_read_premise(req, i - saves, &all[i], err);
    if (status == HF_OK)
        status = route_versions_commit_check_names(req, all, count, err);
    if (status == HF_OK)
        status = request_room(req, 2 * count, err);
    if (status == HF_OK)
        route_versions_commit_add_all(req, all, saves, count);
    return status;
}

/* {"versions":[...]} of ops that were answered one each, or none. */
static void route_versions_version_tell_list(request *req, size_t count)
{
    hf_version *all = hf_arena_alloc(&req->http->arena, count * sizeof *all);
    for (size_t i = 0; all != NULL && i < count; i++) {
        const hf_op *op = &req->ops[i];
        if (op->answer.versions_count > 0)
            all[i] = op->answer.versions[0];
        hf_slice_copy(all[i].resource.type, sizeof all[i].resource.type, hf_slice_of(op->type));
        hf_slice_copy(all[i].resource.id, sizeof all[i].resource.id, hf_slice_of(op->id));
    }
    reply_json(req, 200, all == NULL ? NULL : hf_versions_json(all, count));
}

void commit_reply(request *req)
{
    route_versions_version_tell_list(req, req->in.saves.count);
}

/* What was in the way of one: its own refusal, or what the look at it found. NULL: nothing. */
static const hf_answer *route_versions_commit_conflict(const request *req, size_t run, size_t index)
{
    const hf_answer *own = &req->ops[index].answer;
    const hf_answer *found = req->looks == 0 ? own : &req->ops[run + index].answer;
    if (own->status == HF_STALE || own->status == HF_LOCKED || own->status == HF_NOT_HELD)
        return own;
    return found->status == HF_STALE ? found : NULL;
}

void commit_refuse(request *req, const hf_op *op)
{
    size_t run = req->count - req->looks, count = 0;
    hf_conflict *all = hf_arena_alloc(&req->http->arena, run * sizeof *all);
    for (size_t i = 0; all != NULL && i < run; i++) {
        const hf_answer *answer = route_versions_commit_conflict(req, run, i);
        if (answer == NULL)
            continue;
        hf_conflict *it = &all[count++];
        it->answer = answer;
        it->expected = req->ops[i].version;
        hf_slice_copy(it->resource.type, sizeof it->resource.type, hf_slice_of(req->ops[i].type));
        hf_slice_copy(it->resource.id, sizeof it->resource.id, hf_slice_of(req->ops[i].id));
    }
    reply_refuse_set(req, op, all, count);
}

/* ---- POST /v1/versions/lookup ---- */

hf_status versions_parse(request *req, hf_error *err)
{
    hf_status status = each_parse(req, HF_OP_VERSION, err);
    req->looks = req->count;
    return status;
}

/* What was never saved is no refusal here. */
void versions_reply(request *req)
{
    for (size_t i = 0; i < req->count; i++) {
        hf_status status = req->ops[i].answer.status;
        if (status != HF_OK && status != HF_NOT_FOUND) {
            reply_refuse_op(req, &req->ops[i]);
            return;
        }
    }
    route_versions_version_tell_list(req, req->count);
}
