/* SPDX-License-Identifier: MIT */
/* Looking at a whole store with the ops there are, and with bounded work however much there is: a
 * count, a few pages of locks, who waits for those held longest, and what happened since the last
 * look. */
#include "cli/top.h"

#include "base/error.h"
#include "cli/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void top_done(top_view *view)
{
    free(view->types);
    free(view->locks);
    view->types = NULL;
    view->locks = NULL;
}

/* ---- how many ---- */

static int most_locks_first(const void *a, const void *b)
{
    const hf_count *one = a, *other = b;
    if (one->locks != other->locks)
        return one->locks > other->locks ? -1 : 1;
    return strcmp(one->type, other->type);
}

static hf_status keep_counts(top_view *view, const hf_answer *answer, hf_error *err)
{
    hf_count *types = realloc(view->types, (answer->counts_count + 1) * sizeof *types);
    if (types == NULL)
        return hf_fail_memory(err);
    view->types = types;
    view->types_count = answer->counts_count;
    view->more_types = answer->more;
    view->total_locks = answer->total_locks;
    view->total_sessions = answer->total_sessions;
    view->now_us = answer->now_us;
    for (size_t i = 0; i < answer->counts_count; i++)
        types[i] = answer->counts[i];
    qsort(types, view->types_count, sizeof *types, most_locks_first);
    return HF_OK;
}

static hf_status top_look_count(top_view *view, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, HF_OP_COUNT);
    op->limit = HF_LIST_MAX;
    status = hf_store_execute(hf_manager_store(view->call->manager), batch, err);
    if (status == HF_OK)
        status = cli_op_error(op, err);
    if (status == HF_OK)
        status = keep_counts(view, &op->answer, err);
    hf_batch_free(batch);
    return status;
}

/* ---- the longest held ---- */

static int longest_first(const void *a, const void *b)
{
    const top_lock *one = a, *other = b;
    if (one->lock.since_us != other->lock.since_us)
        return one->lock.since_us < other->lock.since_us ? -1 : 1;
    return hf_resource_compare(&one->lock.resource, &other->lock.resource);
}

/* Adds a page to those kept, for which there is room, and keeps the longest held. */
static void keep_locks(top_view *view, const hf_answer *answer)
{
    for (size_t i = 0; i < answer->locks_count; i++)
        view->locks[view->locks_count++] = (top_lock){.lock = answer->locks[i]};
    view->looked += answer->locks_count;
    qsort(view->locks, view->locks_count, sizeof *view->locks, longest_first);
    if (view->locks_count > TOP_KEPT_MAX)
        view->locks_count = TOP_KEPT_MAX;
}

static hf_status read_locks(top_view *view, hf_error *err)
{
    hf_list_options options = {.limit = HF_LIST_MAX};
    hf_status status = HF_OK;
    if (view->locks == NULL)
        view->locks = calloc(TOP_KEPT_MAX + HF_LIST_MAX, sizeof *view->locks);
    if (view->locks == NULL)
        return hf_fail_memory(err);
    view->locks_count = view->looked = 0;
    view->more = true;
    for (int page = 0; page < TOP_PAGES_MAX && view->more && status == HF_OK; page++) {
        hf_result *result = NULL;
        status = hf_manager_list(view->call->manager, &options, &result, err);
        if (status == HF_OK) {
            const hf_answer *answer = hf_result_answer(result);
            keep_locks(view, answer);
            view->more = answer->more;
            if (view->more)
                options.after = *answer->next;
        }
        hf_result_free(result);
    }
    return status;
}

/* ---- who waits ---- */

/* The requests for a resource are told with every lock on it, and count once. */
static void keep_waiting(top_view *view, const hf_result *result)
{
    view->waiting = 0;
    for (size_t i = 0; i < view->locks_count; i++) {
        const hf_answer *answer = hf_result_at(result, i);
        view->locks[i].waiting = answer->requests_count;
        bool first = answer->locks_count == 0 ||
                     strcmp(answer->locks[0].session, view->locks[i].lock.session) == 0;
        view->waiting += first ? answer->requests_count : 0;
    }
}

static hf_status read_waiting(top_view *view, hf_error *err)
{
    hf_result *result = NULL;
    hf_resource *resources = calloc(view->locks_count + 1, sizeof *resources);
    if (resources == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < view->locks_count; i++)
        resources[i] = view->locks[i].lock.resource;
    view->waiting = 0;
    hf_status status = HF_OK;
    if (view->locks_count > 0)
        status = hf_manager_lookup(view->call->manager, resources, view->locks_count, &result, err);
    if (status == HF_OK && result != NULL)
        keep_waiting(view, result);
    hf_result_free(result);
    free(resources);
    return status;
}

/* ---- what happened ---- */

static void keep_events(top_view *view, const hf_answer *answer)
{
    view->missed |= answer->first_seq > view->seq + 1 && view->seq > 0;
    if (view->seq > answer->last_seq) { /* the store was made anew or put back */
        view->missed = true;
        view->seq = answer->last_seq;
    }
    for (size_t i = 0; i < answer->events_count; i++) {
        const hf_event *event = &answer->events[i];
        if ((unsigned)event->kind < HF_EVENT_KINDS)
            view->events[event->kind]++;
        view->seq = event->seq;
    }
}

static hf_status top_look_read_events(top_view *view, hf_error *err)
{
    hf_status status = HF_OK;
    bool more = true;
    memset(view->events, 0, sizeof view->events);
    view->missed = false;
    for (int page = 0; page < TOP_EVENT_PAGES && more && status == HF_OK; page++) {
        hf_result *result = NULL;
        status = hf_manager_events(view->call->manager, view->seq, HF_LIST_MAX, &result, err);
        if (status == HF_OK) {
            keep_events(view, hf_result_answer(result));
            more = view->seq < hf_result_answer(result)->last_seq &&
                   hf_result_answer(result)->events_count > 0;
        }
        hf_result_free(result);
    }
    if (status == HF_OK && more) {
        view->missed = true;
        status = cli_events_end(view->call->manager, &view->seq, err);
    }
    return status;
}

static hf_status read_changes(top_view *view, hf_error *err)
{
    hf_status status = view->has_before ? top_look_read_events(view, err)
                                        : cli_events_end(view->call->manager, &view->seq, err);
    if (status != HF_OK)
        return status;
    view->passed_us =
        view->has_before && view->now_us > view->before_us ? view->now_us - view->before_us : 0;
    view->before_us = view->now_us;
    view->has_before = true;
    return HF_OK;
}

/* ---- the server ---- */

/* That it does not tell is no reason not to show the rest. */
static void read_server(top_view *view)
{
    hf_error flaw = {0};
    char *text = NULL;
    top_told now;
    view->is_server = strncmp(view->call->store, "http://", 7) == 0 ||
                      strncmp(view->call->store, "https://", 8) == 0;
    view->server = (top_server){0};
    if (!view->is_server)
        return;
    hf_status status = hf_store_metrics(hf_manager_store(view->call->manager), &text, &flaw);
    snprintf(view->server_flaw, sizeof view->server_flaw, "%s", flaw.message);
    if (status != HF_OK)
        return;
    top_told_read(text, &now);
    top_server_judge(view->has_told ? &view->told : NULL, &now, (double)view->passed_us / 1e6,
                     &view->server);
    view->told = now;
    view->has_told = true;
    hf_json_free(text);
}

hf_status top_look(top_view *view, hf_error *err)
{
    hf_status status = top_look_count(view, err);
    if (status == HF_OK)
        status = read_locks(view, err);
    if (status == HF_OK)
        status = read_waiting(view, err);
    if (status == HF_OK)
        status = read_changes(view, err);
    if (status != HF_OK)
        return status;
    hf_store_grade(hf_manager_store(view->call->manager), &view->grade);
    read_server(view);
    return HF_OK;
}
