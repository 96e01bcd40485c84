/* SPDX-License-Identifier: MIT */
/* Versions: looking at them, and saving. A set is one batch: a linked run of the saves and the
 * premises, then a look at each resource whose version was named, so that of a refused set every
 * conflict is told and not only the first. */
#include "base/error.h"
#include "base/seams.h"
#include "manager/manager.h"

#include <unistd.h>

/* ---- looking ---- */

hf_status hf_manager_versions(hf_manager *manager, const hf_resource *resources, size_t count,
                              hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(count, &batch, err);
    if (status != HF_OK)
        return status;
    hf_result *result = hf_result_new(batch, err);
    if (result == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        hf_op_set_resource(hf_batch_add(batch, HF_OP_VERSION), &resources[i]);
    status = hf_execute(manager, batch, err);
    for (size_t i = 0; i < count && status == HF_OK; i++)
        if (hf_batch_op(batch, i)->answer.status != HF_NOT_FOUND)
            status = hf_settle(HF_OK, hf_batch_op(batch, i), err);
    if (status == HF_OK)
        *out = result;
    else
        hf_result_free(result);
    return status;
}

hf_status hf_manager_version(hf_manager *manager, const hf_resource *resource, hf_version *out,
                             hf_error *err)
{
    hf_result *result = NULL;
    if (resource == NULL)
        return hf_fail(err, HF_INVALID, "No resource was given.");
    hf_status status = hf_manager_versions(manager, resource, 1, &result, err);
    if (status != HF_OK)
        return status;
    status = hf_settle(HF_OK, hf_batch_op(result->batch, 0), err);
    if (status == HF_OK && out != NULL)
        *out = hf_result_answer(result)->versions[0];
    hf_result_free(result);
    return status;
}

/* ---- a set on its way ---- */

typedef struct saving {
    hf_manager *manager;
    hf_session *session; /* NULL: a user without one saves */
    const hf_set *set;
    const hf_save_options *options; /* may be NULL */
} saving;

static size_t versions_count(const hf_set *set)
{
    return set->saves_count + set->premises_count;
}

static hf_status versions_check_names(const hf_set *set, hf_error *err)
{
    size_t count = versions_count(set);
    hf_numbered *all = hf_alloc(count * sizeof *all);
    if (all == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < set->saves_count; i++)
        all[i] = (hf_numbered){&set->saves[i].resource, i};
    for (size_t i = set->saves_count; i < count; i++)
        all[i] = (hf_numbered){&set->premises[i - set->saves_count].resource, i};
    hf_status status = hf_numbered_sort(all, count, err);
    hf_free(all);
    return status;
}

static hf_status versions_check(const hf_set *set, hf_error *err)
{
    if (set == NULL || (set->saves_count == 0 && set->premises_count == 0))
        return hf_fail(err, HF_INVALID,
                       "Nothing was asked for: name at least one resource to save.");
    if (set->saves_count > HF_SET_MAX || set->premises_count > HF_SET_MAX ||
        versions_count(set) > HF_SET_MAX)
        return hf_fail(err, HF_TOO_LARGE, "A set has at most %d saves and premises together.",
                       HF_SET_MAX);
    for (size_t i = 0; i < set->premises_count; i++)
        if (set->premises[i].version == 0 && !set->premises[i].absent)
            return hf_fail(err, HF_INVALID,
                           "Nothing says what %s/%s was when it was read: name its version, or "
                           "that it was absent.",
                           set->premises[i].resource.type, set->premises[i].resource.id);
    return versions_count(set) == 1 ? HF_OK : versions_check_names(set, err);
}

static void versions_add_save(const saving *s, hf_batch *batch, const hf_save *save)
{
    hf_op *op = hf_batch_add(batch, HF_OP_SAVE);
    hf_op_set_resource(op, &save->resource);
    op->session = s->session == NULL ? NULL : &s->session->credentials;
    op->version = save->version;
    op->absent = save->absent;
    op->gone = save->gone;
    op->fence = save->fence;
    if (s->options == NULL)
        return;
    op->user = s->options->user;
    op->name = s->options->name;
    op->text = s->options->reason;
}

static void versions_add_look(hf_batch *batch, const char *type, const char *id, int64_t version,
                              bool absent)
{
    hf_op *op = hf_batch_add(batch, HF_OP_VERSION);
    op->type = type;
    op->id = id;
    op->version = version;
    op->absent = absent;
}

static bool versions_expects(const hf_op *op)
{
    return op->version != 0 || op->absent;
}

/* One alone says itself what is in its way. */
static void versions_fill(const saving *s, hf_batch *batch)
{
    const hf_set *set = s->set;
    size_t count = versions_count(set);
    for (size_t i = 0; i < set->saves_count; i++)
        versions_add_save(s, batch, &set->saves[i]);
    for (size_t i = 0; i < set->premises_count; i++) {
        const hf_premise *it = &set->premises[i];
        versions_add_look(batch, it->resource.type, it->resource.id, it->version, it->absent);
    }
    for (size_t i = 0; i + 1 < count; i++)
        hf_batch_op(batch, i)->linked = true;
    for (size_t i = 0; i < count && count > 1; i++) {
        const hf_op *op = hf_batch_op(batch, i);
        if (versions_expects(op))
            versions_add_look(batch, op->type, op->id, op->version, op->absent);
    }
}

/* The op whose refusal tells why the run failed, or the first. */
static const hf_op *versions_refused(hf_batch *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hf_status status = hf_batch_op(batch, i)->answer.status;
        if (status != HF_OK && status != HF_NOT_APPLIED)
            return hf_batch_op(batch, i);
    }
    return hf_batch_op(batch, 0);
}

/* What was merely undone gets the answer of its own look, if that found a conflict. */
static void versions_tell_all(hf_batch *batch, size_t count)
{
    size_t look = count;
    for (size_t i = 0; i < count && look < hf_batch_count(batch); i++) {
        hf_op *op = hf_batch_op(batch, i);
        if (!versions_expects(op))
            continue;
        const hf_answer *found = &hf_batch_op(batch, look++)->answer;
        if (op->answer.status == HF_NOT_APPLIED && found->status == HF_STALE)
            op->answer = *found;
    }
}

/* A lock that is not the session's any more is not believed in. */
static void versions_note(hf_session *session, hf_batch *batch, const hf_set *set)
{
    for (size_t i = 0; i < set->saves_count; i++) {
        hf_status status = hf_batch_op(batch, i)->answer.status;
        if (status == HF_LOCKED)
            hf_forget_lock(session, &set->saves[i].resource);
        else if (status == HF_NOT_HELD)
            hf_forget_grant(session, &set->saves[i].resource, set->saves[i].fence);
    }
}

static hf_status versions_execute(const saving *s, hf_batch *batch, bool *answered, hf_error *err)
{
    size_t count = versions_count(s->set);
    hf_status status = hf_execute(s->manager, batch, err);
    *answered = status == HF_OK;
    status = hf_settle(status, versions_refused(batch, count), err);
    if (*answered && status != HF_OK)
        versions_tell_all(batch, count);
    return status;
}

static void versions_name(hf_batch *batch, const char *request_id)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++)
        hf_batch_op(batch, i)->request_id = request_id;
}

/* In a forked child the session's turns are copies of locks in use; the store refuses the batch
 * there. */
static hf_status versions_run(const saving *s, hf_batch *batch, bool *answered, hf_error *err)
{
    char request[HF_REQUEST_ID_SIZE];
    hf_session *session = s->manager->pid == getpid() ? s->session : NULL;
    const char *given = s->options == NULL ? NULL : s->options->request_id;
    if (session != NULL) {
        hf_fifo_mutex_lock(&session->work);
        hf_number_request(session, request);
    } else if (!hf_draw_request(request)) {
        return hf_fail(err, HF_UNAVAILABLE, "Reading random bytes failed.");
    }
    versions_name(batch, given != NULL ? given : request);
    hf_status status = versions_execute(s, batch, answered, err);
    if (session == NULL)
        return status;
    if (*answered)
        versions_note(session, batch, s->set);
    if (hf_is_over(status, &versions_refused(batch, versions_count(s->set))->answer))
        hf_note_over(session, false);
    hf_fifo_mutex_unlock(&session->work);
    return status;
}

/* *out: the answers, if there are any. */
static hf_status versions_do(const saving *s, hf_result **out, hf_error *err)
{
    hf_batch *batch = NULL;
    bool answered = false;
    *out = NULL;
    hf_status status = versions_check(s->set, err);
    if (status == HF_OK)
        status = hf_batch_new(2 * versions_count(s->set), &batch, err);
    if (status != HF_OK)
        return status;
    hf_result *result = hf_result_new(batch, err);
    if (result == NULL)
        return HF_NO_MEMORY;
    result->count = versions_count(s->set);
    versions_fill(s, batch);
    status = versions_run(s, batch, &answered, err);
    if (answered)
        *out = result;
    else
        hf_result_free(result);
    return status;
}

/* ---- the calls ---- */

static hf_status versions_all(const saving *s, hf_result **out, hf_error *err)
{
    hf_result *result = NULL;
    hf_status status = versions_do(s, &result, err);
    if (out != NULL)
        *out = result;
    else
        hf_result_free(result);
    return status;
}

static hf_status versions_one(saving *s, const hf_save *save, hf_version *out, hf_error *err)
{
    hf_result *result = NULL;
    hf_set set = {.saves = save, .saves_count = save != NULL};
    s->set = &set;
    hf_status status = versions_do(s, &result, err);
    const hf_answer *answer = result == NULL ? NULL : hf_result_answer(result);
    if (out != NULL && answer != NULL && answer->versions_count > 0)
        *out = answer->versions[0];
    else if (out != NULL && status == HF_STALE)
        *out = (hf_version){.resource = save->resource};
    hf_result_free(result);
    return status;
}

hf_status hf_manager_save(hf_manager *manager, const hf_save *save, const hf_save_options *options,
                          hf_version *out, hf_error *err)
{
    return versions_one(&(saving){.manager = manager, .options = options}, save, out, err);
}

hf_status hf_session_save(hf_session *session, const hf_save *save, const hf_save_options *options,
                          hf_version *out, hf_error *err)
{
    return versions_one(
        &(saving){.manager = session->manager, .session = session, .options = options}, save, out,
        err);
}

hf_status hf_manager_save_all(hf_manager *manager, const hf_set *set,
                              const hf_save_options *options, hf_result **out, hf_error *err)
{
    return versions_all(&(saving){.manager = manager, .set = set, .options = options}, out, err);
}

hf_status hf_session_save_all(hf_session *session, const hf_set *set,
                              const hf_save_options *options, hf_result **out, hf_error *err)
{
    return versions_all(
        &(saving){.manager = session->manager, .session = session, .set = set, .options = options},
        out, err);
}
