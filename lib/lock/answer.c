/* SPDX-License-Identifier: MIT */
/* Answers: rows of the working set as the plain values callers get, in an order that doesn't depend
 * on the store, and the sentences that name who stands in the way. */
#include "lock/step.h"

#include "base/time.h"
#include "lock/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `count` zeroed values in the batch's arena; NULL for none, or when memory is out (which sticks).
 * */
static void *answer_values(hf_step *step, size_t count, size_t size)
{
    void *out = count == 0 ? NULL : hf_arena_alloc(step->arena, count * size);
    if (count > 0 && out == NULL)
        step->rows->failed = true;
    return out;
}

bool hf_answer_more(hf_op *op, hf_arena *arena, const hf_resource *resource, const char *session)
{
    hf_cursor *next = hf_arena_alloc(arena, sizeof *next);
    if (next == NULL)
        return false;
    if (resource != NULL)
        next->resource = *resource;
    hf_slice_copy(next->session, sizeof next->session, hf_slice_of(session));
    op->answer.next = next;
    op->answer.more = true;
    return true;
}

static void answer_fill_name(const hf_resource_row *row, hf_resource *out)
{
    hf_slice_copy(out->type, sizeof out->type, row->type);
    hf_slice_copy(out->id, sizeof out->id, row->id);
}

void hf_fill_lock(const hf_lock_row *row, hf_lock *out)
{
    int64_t expires_us = row->session->expires_us;
    hf_show(&hf_lock_fields, row, out);
    answer_fill_name(row->resource, &out->resource);
    out->expires_us = row->ends_us != 0 && row->ends_us < expires_us ? row->ends_us : expires_us;
    memcpy(out->session, row->session->id, sizeof out->session);
    hf_slice_copy(out->user, sizeof out->user, row->session->user);
    hf_slice_copy(out->name, sizeof out->name, row->session->name);
}

void hf_answer_lock(hf_step *step, const hf_lock_row *row)
{
    hf_lock *lock = answer_values(step, 1, sizeof *lock);
    if (lock == NULL)
        return;
    hf_fill_lock(row, lock);
    step->op->answer.locks = lock;
    step->op->answer.locks_count = 1;
}

void hf_answer_version(hf_step *step)
{
    const hf_resource_row *row = step->of->resource;
    hf_version *version = row->version == 0 ? NULL : answer_values(step, 1, sizeof *version);
    if (version == NULL)
        return;
    hf_show(&hf_resource_fields, row, version);
    answer_fill_name(row, &version->resource);
    step->op->answer.versions = version;
    step->op->answer.versions_count = 1;
}

static int answer_by_fence(const void *a, const void *b)
{
    const hf_lock *x = a, *y = b;
    return x->fence < y->fence ? -1 : x->fence > y->fence;
}

size_t hf_answer_holders(hf_step *step, const hf_session_row *but)
{
    size_t count = 0;
    for (hf_lock_row *row = step->of->resource->locks; row != NULL; row = row->next)
        count += row->session != but && hf_lock_lives(row, step->now_us);
    hf_lock *locks = answer_values(step, count, sizeof *locks);
    if (locks == NULL)
        return 0;
    hf_lock *at = locks;
    for (hf_lock_row *row = step->of->resource->locks; row != NULL; row = row->next)
        if (row->session != but && hf_lock_lives(row, step->now_us))
            hf_fill_lock(row, at++);
    qsort(locks, count, sizeof *locks, answer_by_fence);
    step->op->answer.locks = locks;
    step->op->answer.locks_count = count;
    return count;
}

static void answer_fill_request(const hf_request_row *row, hf_request *out)
{
    hf_show(&hf_request_fields, row, out);
    answer_fill_name(row->resource, &out->resource);
    memcpy(out->session, row->session->id, sizeof out->session);
    hf_slice_copy(out->user, sizeof out->user, row->session->user);
    hf_slice_copy(out->name, sizeof out->name, row->session->name);
}

static int by_age(const void *a, const void *b)
{
    const hf_request *x = a, *y = b;
    int order = hf_resource_compare(&x->resource, &y->resource);
    if (order != 0)
        return order;
    return x->at_us != y->at_us ? (x->at_us < y->at_us ? -1 : 1) : strcmp(x->session, y->session);
}

static bool request_counts(const hf_step *step, const hf_request_row *row,
                           const hf_session_row *holder)
{
    return row->present && row->session != holder && hf_session_lives(row->session, step->now_us);
}

static size_t count_requests(const hf_step *step, const hf_resource_row *resource,
                             const hf_session_row *holder)
{
    size_t count = 0;
    for (hf_request_row *row = resource->requests; row != NULL; row = row->next)
        count += request_counts(step, row, holder);
    return count;
}

static hf_request *add_requests(const hf_step *step, const hf_resource_row *resource,
                                const hf_session_row *holder, hf_request *at)
{
    for (hf_request_row *row = resource->requests; row != NULL; row = row->next)
        if (request_counts(step, row, holder))
            answer_fill_request(row, at++);
    return at;
}

static void answer_requests(hf_step *step, hf_request *requests, size_t count)
{
    qsort(requests, count, sizeof *requests, by_age);
    step->op->answer.requests = requests;
    step->op->answer.requests_count = count;
}

void hf_answer_resource_requests(hf_step *step)
{
    size_t count = count_requests(step, step->of->resource, NULL);
    hf_request *requests = answer_values(step, count, sizeof *requests);
    if (requests == NULL)
        return;
    add_requests(step, step->of->resource, NULL, requests);
    answer_requests(step, requests, count);
}

void hf_answer_requests(hf_step *step, hf_lock_row *const *locks, size_t locks_count)
{
    size_t count = 0;
    for (size_t i = 0; i < locks_count; i++)
        count += count_requests(step, locks[i]->resource, locks[i]->session);
    hf_request *requests = answer_values(step, count, sizeof *requests), *at = requests;
    if (requests == NULL)
        return;
    for (size_t i = 0; i < locks_count; i++)
        at = add_requests(step, locks[i]->resource, locks[i]->session, at);
    answer_requests(step, requests, count);
}

static int answer_by_resource(const void *a, const void *b)
{
    const hf_lost *x = a, *y = b;
    return hf_resource_compare(&x->resource, &y->resource);
}

/* Who took it since, where that was not noted: whoever holds it now. */
static hf_slice taken_by(const hf_step *step, const hf_lost_row *row)
{
    if (row->resource == NULL)
        return HF_NOTHING;
    for (hf_lock_row *lock = row->resource->locks; lock != NULL; lock = lock->next)
        if (hf_lock_lives(lock, step->now_us) && lock->session != row->session)
            return lock->session->name;
    return HF_NOTHING;
}

/* What a session lost: what was noted, and its own locks whose bound has come and that nobody has
 * cleared away yet. */
void hf_answer_lost(hf_step *step)
{
    const hf_session_row *session = step->of->session;
    size_t count = 0;
    for (hf_lost_row *row = session->lost; row != NULL; row = row->next)
        count += row->present;
    for (hf_lock_row *row = session->locks; row != NULL; row = row->session_next)
        count += row->present && !hf_lock_lives(row, step->now_us);
    hf_lost *lost = answer_values(step, count, sizeof *lost), *at = lost;
    if (lost == NULL)
        return;
    for (hf_lost_row *row = session->lost; row != NULL; row = row->next) {
        if (!row->present)
            continue;
        hf_show(&hf_lost_fields, row, at);
        hf_slice_copy(at->resource.type, sizeof at->resource.type, row->type);
        hf_slice_copy(at->resource.id, sizeof at->resource.id, row->id);
        if (row->by.size == 0)
            hf_slice_copy(at->by, sizeof at->by, taken_by(step, row));
        at++;
    }
    for (hf_lock_row *row = session->locks; row != NULL; row = row->session_next) {
        if (!row->present || hf_lock_lives(row, step->now_us))
            continue;
        answer_fill_name(row->resource, &at->resource);
        hf_slice_copy(at->why, sizeof at->why, hf_slice_of("expired"));
        at->fence = row->fence;
        at++->at_us = row->ends_us;
    }
    qsort(lost, count, sizeof *lost, answer_by_resource);
    step->op->answer.lost = lost;
    step->op->answer.lost_count = count;
}

void hf_fill_session(const hf_session_row *row, hf_session_info *out)
{
    hf_show(&hf_session_fields, row, out);
}

void hf_fill_event(const hf_event_row *row, int64_t seq, hf_event *out)
{
    hf_show(&hf_event_fields, row, out);
    hf_slice_copy(out->resource.type, sizeof out->resource.type, row->type);
    hf_slice_copy(out->resource.id, sizeof out->resource.id, row->id);
    out->seq = seq;
}

void hf_answer_session(hf_step *step, const hf_session_row *row)
{
    hf_session_info *info = answer_values(step, 1, sizeof *info);
    if (info == NULL)
        return;
    hf_fill_session(row, info);
    step->op->answer.sessions = info;
    step->op->answer.sessions_count = 1;
}

/* "it frees at 12:47 UTC or when Bob Smith closes it"; of several readers the first to go frees
 * nothing: "it frees at 12:47 UTC or when all of them have closed it". Both as it stands: beats
 * move the time. */
static void say_when_free(const hf_step *step, char *out, size_t size)
{
    const hf_lock *locks = step->op->answer.locks;
    size_t count = step->op->answer.locks_count;
    int64_t last_us = locks[0].expires_us;
    for (size_t i = 1; i < count; i++)
        last_us = locks[i].expires_us > last_us ? locks[i].expires_us : last_us;
    char until[HF_TIME_TEXT];
    hf_time_say(last_us, step->now_us, until);
    if (count > 1)
        snprintf(out, size, "at %s or when all of them have closed it", until);
    else
        snprintf(out, size, "at %s or when %s closes it", until, locks[0].name);
}

/* policy/12345 is being edited by Bob Smith since 10:47 UTC ("renewal"); it frees at 12:47 UTC or
 * when Bob Smith closes it. */
void hf_refuse_locked(hf_step *step)
{
    const hf_lock *holder = step->op->answer.locks;
    size_t count = step->op->answer.locks_count;
    if (count == 0) /* memory ran out while the holders were copied */
        return;
    char since[HF_TIME_TEXT], when[HF_TEXT_SIZE + HF_TIME_TEXT + 64];
    char purpose[HF_TEXT_SIZE + 8] = "", others[64] = "";
    hf_time_say(holder->since_us, step->now_us, since);
    say_when_free(step, when, sizeof when);
    if (holder->purpose[0] != '\0')
        snprintf(purpose, sizeof purpose, " (\"%s\")", holder->purpose);
    if (count > 1)
        snprintf(others, sizeof others, " and %zu other%s", count - 1, count > 2 ? "s" : "");
    hf_refuse(step, HF_LOCKED, "%s/%s is being %s by %s%s since %s%s; it frees %s.", step->op->type,
              step->op->id, holder->mode == HF_SHARED ? "read" : "edited", holder->name, others,
              since, purpose, when);
}

bool hf_refuse_not_held(hf_step *step, const hf_lock_row *mine)
{
    const hf_op *op = step->op;
    if (mine != NULL)
        return hf_refuse(step, HF_NOT_HELD,
                         "Fence %lld of %s/%s is of another grant; that of the live one is %lld.",
                         (long long)op->fence, op->type, op->id, (long long)mine->fence);
    hf_answer_holders(step, NULL);
    const hf_lock *holder = op->answer.locks;
    if (op->kind == HF_OP_FORCE_RELEASE && op->answer.locks_count > 0)
        return hf_refuse(
            step, HF_NOT_HELD, "Nobody holds %s/%s with fence %lld; %s holds it with fence %lld.",
            op->type, op->id, (long long)op->fence, holder->name, (long long)holder->fence);
    if (op->kind == HF_OP_FORCE_RELEASE)
        return hf_refuse(step, HF_NOT_HELD, "Nobody holds %s/%s; there is nothing to release.",
                         op->type, op->id);
    if (op->answer.locks_count > 0)
        return hf_refuse(step, HF_NOT_HELD, "The session does not hold %s/%s; %s does.", op->type,
                         op->id, holder->name);
    return hf_refuse(step, HF_NOT_HELD, "The session does not hold %s/%s; %s.", op->type, op->id,
                     op->kind == HF_OP_RELEASE ? "it was never acquired, or released or lost before"
                                               : "acquire it first");
}

/* customer/42 was changed by Alice Chen at 14:02 UTC (you read version 7, it is now 9). */
void hf_refuse_stale(hf_step *step)
{
    const hf_op *op = step->op;
    const hf_version *now = op->answer.versions;
    char when[HF_TIME_TEXT], read[96] = "";
    if (now == NULL && step->of->resource->version != 0) /* memory ran out while it was copied */
        return;
    if (now == NULL) {
        hf_refuse(step, HF_STALE, "%s/%s was never saved (you read version %lld).", op->type,
                  op->id, (long long)op->version);
        return;
    }
    hf_time_say(now->saved_us, step->now_us, when);
    if (op->version != 0)
        snprintf(read, sizeof read, " (you read version %lld, it is now %lld)",
                 (long long)op->version, (long long)now->number);
    if (now->gone)
        hf_refuse(step, HF_STALE, "%s/%s was deleted by %s at %s%s.", op->type, op->id, now->name,
                  when, read);
    else if (op->version == 0)
        hf_refuse(step, HF_STALE,
                  "%s/%s is there already: %s saved it at %s, and it is now version %lld.",
                  op->type, op->id, now->name, when, (long long)now->number);
    else
        hf_refuse(step, HF_STALE,
                  "%s/%s was changed by %s at %s (you read version %lld, it is now %lld).",
                  op->type, op->id, now->name, when, (long long)op->version,
                  (long long)now->number);
}
