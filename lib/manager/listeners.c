/* SPDX-License-Identifier: MIT */
/* What listeners hear of session handles, and what they have heard before: each loss, each request
 * and the end once. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "manager/manager.h"

#include <string.h>
#include <unistd.h>

/* ---- the listeners ---- */

hf_status hf_manager_listen(hf_manager *manager, hf_listener *listener, void *context,
                            hf_error *err)
{
    hf_status status = HF_OK;
    if (manager->pid != getpid())
        return hf_fail(
            err, HF_INVALID,
            "This manager was opened before fork(); open a new one in the child process.");
    pthread_mutex_lock(&manager->mutex);
    if (manager->listeners_count == MANAGER_LISTENERS) {
        status =
            hf_fail(err, HF_TOO_MANY, "A manager has at most %d listeners.", MANAGER_LISTENERS);
    } else {
        manager->listeners[manager->listeners_count].call = listener;
        manager->listeners[manager->listeners_count++].context = context;
    }
    pthread_mutex_unlock(&manager->mutex);
    return status;
}

/* Listeners are only ever added, so those counted can be called without the mutex. */
static void listeners_notify(hf_manager *manager, const hf_notice *notice)
{
    pthread_mutex_lock(&manager->mutex);
    size_t count = manager->listeners_count;
    pthread_mutex_unlock(&manager->mutex);
    for (size_t i = 0; i < count; i++)
        manager->listeners[i].call(manager->listeners[i].context, notice);
}

void hf_notify_ended(hf_session *session)
{
    pthread_mutex_lock(&session->mutex);
    bool told = session->told_ended;
    session->told_ended = session->ended = true;
    hf_held_locks_clear(&session->held);
    const char *why = session->closed ? "closed" : "expired";
    pthread_mutex_unlock(&session->mutex);
    if (!told)
        listeners_notify(
            session->manager,
            &(hf_notice){
                .kind = HF_NOTICE_ENDED, .session = session, .why = why, .by = "", .text = ""});
}

/* ---- losses ---- */

#define AHEAD_US                                                                                   \
    60000000 /* how far this machine may be ahead of the store in telling that a bound has come */

static bool listeners_tells(const hf_answer *answer, const hf_told *told)
{
    for (size_t i = 0; i < answer->lost_count; i++)
        if (answer->lost[i].fence == told->fence &&
            hf_resource_compare(&answer->lost[i].resource, &told->resource) == 0)
            return true;
    return false;
}

/* The store tells them in the same order every time: the one behind the last that was found is
 * looked at first. */
static bool listeners_told_before(const hf_session *session, const hf_lost *lost, size_t *next)
{
    for (size_t i = 0; i < session->told_count; i++) {
        const hf_told *told = &session->told[(*next + i) % session->told_count];
        if (told->fence == lost->fence &&
            hf_resource_compare(&told->resource, &lost->resource) == 0) {
            *next += i + 1;
            return true;
        }
    }
    return false;
}

/* Makes room for so many; false: out of memory. */
static bool listeners_make_room(hf_session *session, size_t count)
{
    size_t room = session->told_room == 0 ? 8 : session->told_room;
    while (room < count)
        room *= 2;
    if (room == session->told_room)
        return true;
    hf_told *told = hf_alloc(room * sizeof *told);
    if (told == NULL)
        return false;
    if (session->told_count > 0)
        memcpy(told, session->told, session->told_count * sizeof *told);
    hf_free(session->told);
    session->told = told;
    session->told_room = room;
    return true;
}

/* Remembers what the answer tells, and for a while what was told here before the store did. Without
 * memory some are told again. */
static void listeners_remember_told(hf_session *session, const hf_answer *answer)
{
    int64_t now_us = hf_seam.boot_us();
    size_t kept = 0;
    for (size_t i = 0; i < session->told_count; i++)
        if (session->told[i].until_boot_us > now_us && !listeners_tells(answer, &session->told[i]))
            session->told[kept++] = session->told[i];
    session->told_count = kept;
    if (!listeners_make_room(session, kept + answer->lost_count))
        return;
    for (size_t i = 0; i < answer->lost_count; i++)
        session->told[session->told_count++] =
            (hf_told){answer->lost[i].resource, answer->lost[i].fence, 0};
}

/* The store tells of a loss on every beat; the listeners hear of it once. A handle need not have
 * believed to hold it: what was granted in a transaction of the caller's, or through another
 * handle, is lost all the same. Answers may be told in another order than they came: for one that
 * is older than another nothing is forgotten, and what it has beyond that is settled meanwhile,
 * unless the handle still believes in it. */
static void listeners_note_told(hf_session *session, const hf_answer *answer, uint64_t call,
                                bool *news)
{
    size_t next = 0;
    pthread_mutex_lock(&session->mutex);
    bool newest = call > session->told_call;
    for (size_t i = 0; i < answer->lost_count; i++) {
        const hf_lost *lost = &answer->lost[i];
        const hf_held_lock *held = hf_held_locks_find(&session->held, &lost->resource);
        news[i] = held != NULL ? held->fence <= lost->fence
                               : newest && !listeners_told_before(session, lost, &next);
        if (held != NULL && news[i])
            hf_held_locks_drop(&session->held, &lost->resource);
    }
    if (newest) {
        session->told_call = call;
        listeners_remember_told(session, answer);
    }
    pthread_mutex_unlock(&session->mutex);
}

/* What was lost when a handle is attached is no news. */
static void listeners_tell_losses(hf_session *session, const hf_answer *answer, uint64_t call)
{
    size_t count = answer->lost_count;
    bool *news = hf_alloc(count + 1);
    if (news == NULL)
        return; /* they will be told on the next beat */
    listeners_note_told(session, answer, call, news);
    for (size_t i = 0; session->linked && i < count; i++)
        if (news[i])
            listeners_notify(session->manager, &(hf_notice){.kind = HF_NOTICE_LOST,
                                                            .session = session,
                                                            .resource = answer->lost[i].resource,
                                                            .why = answer->lost[i].why,
                                                            .by = answer->lost[i].by,
                                                            .text = answer->lost[i].reason});
    hf_free(news);
}

/* The store tells of it too, soon; that is no news then. */
static void listeners_add_told(hf_session *session, hf_told *spent, int64_t now_us)
{
    spent->until_boot_us = now_us + AHEAD_US;
    if (listeners_make_room(session, session->told_count + 1))
        session->told[session->told_count++] = *spent;
}

/* Where nobody knows whether the bound is really that short it is only believed no more: if it was
 * lost the next beat tells. */
void hf_notify_spent(hf_session *session, int64_t now_us, int64_t *next_us)
{
    hf_told spent;
    for (bool more = true, perhaps = false; more;) {
        pthread_mutex_lock(&session->mutex);
        more = hf_held_locks_take_spent(&session->held, now_us, &spent, &perhaps, next_us);
        if (more && !perhaps)
            listeners_add_told(session, &spent, now_us);
        pthread_mutex_unlock(&session->mutex);
        if (more && !perhaps)
            listeners_notify(session->manager, &(hf_notice){.kind = HF_NOTICE_LOST,
                                                            .session = session,
                                                            .resource = spent.resource,
                                                            .why = "expired",
                                                            .by = "",
                                                            .text = ""});
    }
}

/* ---- requests ---- */

static bool listeners_heard_before(const hf_session *session, const hf_request *request)
{
    for (size_t i = 0; i < session->heard_count; i++)
        if (session->heard[i].at_us == request->at_us &&
            strcmp(session->heard[i].session, request->session) == 0 &&
            hf_resource_compare(&session->heard[i].resource, &request->resource) == 0)
            return true;
    return false;
}

/* Finds the requests that are new, and remembers those that wait now, as the newest answer has it:
 * one that an older answer has beyond that waits no more. news[i] answers for request i. */
static void listeners_note_heard(hf_session *session, const hf_answer *answer, uint64_t call,
                                 bool *news)
{
    size_t count = answer->requests_count;
    hf_heard *heard = count == 0 ? NULL : hf_alloc(count * sizeof *heard);
    pthread_mutex_lock(&session->mutex);
    bool newest = call > session->heard_call;
    for (size_t i = 0; i < count; i++) {
        news[i] = newest && !listeners_heard_before(session, &answer->requests[i]);
        if (heard != NULL) {
            heard[i].resource = answer->requests[i].resource;
            heard[i].at_us = answer->requests[i].at_us;
            memcpy(heard[i].session, answer->requests[i].session, sizeof heard[i].session);
        }
    }
    /* When out of memory the old ones are kept: some are told again. */
    if (newest && (count == 0 || heard != NULL)) {
        hf_free(session->heard);
        session->heard = hf_take(heard);
        session->heard_count = count;
        session->heard_call = call;
    }
    pthread_mutex_unlock(&session->mutex);
    hf_free(heard);
}

static void listeners_tell_requests(hf_session *session, const hf_answer *answer, uint64_t call)
{
    size_t count = answer->requests_count;
    bool *news = hf_alloc(count + 1);
    if (news == NULL)
        return; /* they will be told on the next beat */
    listeners_note_heard(session, answer, call, news);
    for (size_t i = 0; i < count; i++)
        if (news[i])
            listeners_notify(session->manager,
                             &(hf_notice){.kind = HF_NOTICE_REQUESTED,
                                          .session = session,
                                          .resource = answer->requests[i].resource,
                                          .why = "",
                                          .by = answer->requests[i].name,
                                          .text = answer->requests[i].message});
    hf_free(news);
}

/* ---- what a beat brought ---- */

static void listeners_forget_lost(hf_session *session, const hf_answer *answer)
{
    pthread_mutex_lock(&session->mutex);
    for (size_t i = 0; i < answer->lost_count; i++) {
        const hf_held_lock *held = hf_held_locks_find(&session->held, &answer->lost[i].resource);
        if (held != NULL && held->fence <= answer->lost[i].fence)
            hf_held_locks_drop(&session->held, &answer->lost[i].resource);
    }
    pthread_mutex_unlock(&session->mutex);
}

/* Tells what a beat brought to light. The answer is read after `work` was let go, so that listeners
 * may call. What it saw in a transaction of the caller's may be undone with it: what was lost there
 * is believed no more, and a beat outside tells. */
void hf_notify_beat(hf_session *session, hf_status status, const hf_answer *answer, uint64_t call)
{
    if (hf_is_over(status, answer) && session->linked)
        hf_notify_ended(session);
    if (status != HF_OK)
        return;
    if (answer->pending && session->linked) {
        listeners_forget_lost(session, answer);
        return;
    }
    listeners_tell_losses(session, answer, call);
    if (session->linked)
        listeners_tell_requests(session, answer, call);
}
