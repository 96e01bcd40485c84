/* SPDX-License-Identifier: MIT */
/* Leases on any store: a provider is a session, a lease an exclusive lock on lease/KEY, whose own
 * bound is max_hold. So they work wherever holdfast does, and `holdfast who lease/KEY` tells who
 * has one. A session that has died is replaced; its leases are lost. The ear looks again and again:
 * all asks that wait are looked up in one call, and those whose key is free are tried. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lease/desk.h"

#include <holdfast/manager.h>
#include <holdfast/session.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROWS_TYPE "lease"

enum {
    ROWS_IDLE_PULSES = 6, /* a session dies when it was silent for so many pulses */
    ROWS_LOOK_MIN_MS = 10,
    ROWS_LOOK_MAX_MS = 250,
    ROWS_LOOK_SHARE = 4, /* looking takes a quarter of the time at most */
    ROWS_TRIES = 2,      /* the first may find that the session is dead */
};

typedef struct rows_session rows_session;

/* Kept until the end: few die. `held` and `dead` are under the desk's mutex. */
struct rows_session {
    hf_session *session;
    bool dead;
    hf_lease_grant *held; /* their link is the rows_session */
    rows_session *older;
};

typedef struct rows_backend {
    hf_lease_backend base;
    hf_desk desk;
    hf_manager *manager;
    pthread_mutex_t opening; /* one thread opens a session at a time */
    rows_session *newest;    /* under the desk's mutex */
    char user[HF_TEXT_SIZE], name[HF_TEXT_SIZE];
    int64_t idle_us;
    hf_grade grade;
    hf_ask *picked[HF_BATCH_OPS_MAX]; /* of the ear */
    hf_resource wanted[HF_BATCH_OPS_MAX];
} rows_backend;

static rows_backend *rows_of(hf_lease_backend *it)
{
    return (rows_backend *)it;
}

static void rows_resource(const hf_lease_grant *grant, hf_resource *out)
{
    *out = (hf_resource){.type = ROWS_TYPE};
    memcpy(out->id, grant->key, strlen(grant->key) + 1);
}

/* ---- the session ---- */

static rows_session *rows_current(rows_backend *rows)
{
    pthread_mutex_lock(&rows->desk.mutex);
    rows_session *newest = rows->newest;
    if (newest != NULL && newest->dead)
        newest = NULL;
    pthread_mutex_unlock(&rows->desk.mutex);
    return newest;
}

static hf_status rows_open_session(rows_backend *rows, rows_session **out, hf_error *err)
{
    rows_session *fresh = hf_alloc(sizeof *fresh);
    hf_session_options options = {.user = rows->user, .name = rows->name, .idle_us = rows->idle_us};
    if (fresh == NULL)
        return hf_fail_memory(err);
    hf_status status = hf_session_open(rows->manager, &options, &fresh->session, err);
    if (status != HF_OK) {
        hf_free(fresh);
        return status;
    }
    pthread_mutex_lock(&rows->desk.mutex);
    fresh->older = rows->newest;
    rows->newest = fresh;
    pthread_mutex_unlock(&rows->desk.mutex);
    *out = fresh;
    return HF_OK;
}

static hf_status rows_get_session(rows_backend *rows, rows_session **out, hf_error *err)
{
    hf_status status = HF_OK;
    if ((*out = rows_current(rows)) != NULL)
        return HF_OK;
    pthread_mutex_lock(&rows->opening);
    if ((*out = rows_current(rows)) == NULL)
        status = rows_open_session(rows, out, err);
    pthread_mutex_unlock(&rows->opening);
    return status;
}

static void rows_session_ended(rows_backend *rows, rows_session *it, const char *why)
{
    pthread_mutex_lock(&rows->desk.mutex);
    it->dead = true;
    pthread_mutex_unlock(&rows->desk.mutex);
    hf_desk_lose(&rows->desk, &it->held, NULL, NULL, why);
}

static bool rows_is_lost(const hf_lease_grant *grant, void *context)
{
    const hf_notice *notice = context;
    return strcmp(grant->key, notice->resource.id) == 0;
}

/* From the keeper's thread. That the lock's own bound has come is the watchdog's to say. */
static void rows_hear(void *context, const hf_notice *notice)
{
    rows_backend *rows = context;
    char why[HF_MESSAGE_SIZE];
    pthread_mutex_lock(&rows->desk.mutex);
    rows_session *it = rows->newest;
    while (it != NULL && it->session != notice->session)
        it = it->older;
    pthread_mutex_unlock(&rows->desk.mutex);
    if (it == NULL)
        return;
    if (notice->kind == HF_NOTICE_ENDED) {
        rows_session_ended(
            rows, it, "The session that held it has ended: the store did not hear of it in time.");
    } else if (notice->kind == HF_NOTICE_LOST && strcmp(notice->why, "expired") != 0 &&
               !hf_session_is_held(it->session, &notice->resource)) {
        snprintf(why, sizeof why, "The lock on " ROWS_TYPE "/%s was lost (%s)%s%s%s%s.",
                 notice->resource.id, notice->why, notice->by[0] != '\0' ? ", by " : "", notice->by,
                 notice->text[0] != '\0' ? ": " : "", notice->text);
        hf_desk_lose(&rows->desk, &it->held, rows_is_lost, (void *)notice, why);
    }
}

/* ---- taking and giving ---- */

/* One try with one session. HF_EXPIRED: it is dead. */
static hf_status rows_try(rows_backend *rows, rows_session *by, hf_ask *ask, hf_error *err)
{
    hf_resource resource;
    hf_lock lock;
    hf_lease_grant *grant = ask->grant;
    hf_acquire_options options = {
        .ttl_us = ask->max_hold_us < HF_DURATION_MIN_US ? HF_DURATION_MIN_US : ask->max_hold_us,
        .purpose = "lease"};
    rows_resource(grant, &resource);
    grant->asked_us = hf_seam.boot_us();
    hf_status status = hf_session_acquire(by->session, &resource, &options, &lock, err);
    if (status == HF_OK) {
        grant->fence = lock.fence;
        grant->link = by;
        hf_desk_link(&rows->desk, &by->held, grant);
    }
    if (status == HF_UNSURE) { /* it may be held now: the bound frees it, if this does not */
        hf_status given = hf_session_release(by->session, &resource, 0, NULL);
        (void)given;
        err->status = status = HF_UNAVAILABLE;
    }
    if (status == HF_NOT_FOUND) /* the session is gone even from the store's memory */
        status = HF_EXPIRED;
    return status == HF_LOCKED || status == HF_BUSY ? HF_TIMEOUT : status;
}

static hf_status rows_take(hf_lease_backend *it, hf_ask *ask, hf_error *err)
{
    rows_backend *rows = rows_of(it);
    rows_session *by = NULL;
    hf_error inner;
    hf_status status = HF_EXPIRED;
    hf_error_none(&inner);
    for (int i = 0; i < ROWS_TRIES && status == HF_EXPIRED; i++) {
        status = rows_get_session(rows, &by, &inner);
        if (status == HF_OK)
            status = rows_try(rows, by, ask, &inner);
        if (status == HF_EXPIRED)
            rows_session_ended(rows, by, "The session that held it has ended.");
    }
    if (status != HF_OK && status != HF_TIMEOUT && err != NULL)
        *err = inner;
    return status;
}

static void rows_wait(hf_lease_backend *it, hf_ask *ask)
{
    hf_desk_wait(&rows_of(it)->desk, ask);
}

static bool rows_unwait(hf_lease_backend *it, hf_ask *ask)
{
    return hf_desk_unwait(&rows_of(it)->desk, ask);
}

/* What can't be given back now is freed by its bound, or with its session. */
static void rows_give(hf_lease_backend *it, hf_lease_grant *grant)
{
    hf_resource resource;
    rows_session *by = grant->link;
    if (!hf_desk_unlink(&rows_of(it)->desk, grant))
        return;
    rows_resource(grant, &resource);
    hf_status status = hf_session_release(by->session, &resource, grant->fence, NULL);
    (void)status;
}

static bool rows_sure(hf_lease_backend *it, const hf_lease_grant *grant)
{
    hf_resource resource;
    (void)it;
    rows_resource(grant, &resource);
    return hf_session_is_held(((rows_session *)grant->link)->session, &resource);
}

static void rows_who(hf_lease_backend *it, const hf_ask *ask, char *out, size_t size)
{
    hf_result *result = NULL;
    hf_resource resource;
    char when[HF_TIME_TEXT];
    rows_resource(ask->grant, &resource);
    if (hf_manager_who(rows_of(it)->manager, &resource, &result, NULL) == HF_OK) {
        const hf_answer *answer = hf_result_answer(result);
        if (answer->locks_count > 0) {
            hf_time_say(answer->locks[0].since_us, answer->now_us, when);
            snprintf(out, size, "held by %s since %s", answer->locks[0].name, when);
        }
    }
    hf_result_free(result);
}

static const char *rows_grade(const hf_lease_backend *it)
{
    return ((const rows_backend *)it)->grade.text;
}

/* ---- the ear ---- */

/* Looks at a batch of those that wait; false: none was due. */
static bool rows_look(rows_backend *rows)
{
    hf_error err;
    hf_result *result = NULL;
    size_t count = hf_desk_pick(&rows->desk, rows->picked, HF_BATCH_OPS_MAX);
    hf_error_none(&err);
    for (size_t i = 0; i < count; i++)
        rows_resource(rows->picked[i]->grant, &rows->wanted[i]);
    hf_status status =
        count == 0 ? HF_OK : hf_manager_lookup(rows->manager, rows->wanted, count, &result, &err);
    for (size_t i = 0; i < count; i++) {
        hf_status answer = status;
        if (status == HF_OK && hf_result_at(result, i)->locks_count > 0)
            answer = HF_TIMEOUT;
        else if (status == HF_OK)
            answer = rows_take(&rows->base, rows->picked[i], &err);
        else if (status == HF_BUSY || status == HF_RETRY)
            answer = HF_TIMEOUT;
        hf_desk_settle(&rows->desk, rows->picked[i], answer, &err);
    }
    hf_result_free(result);
    return count > 0;
}

static void *rows_run(void *context)
{
    rows_backend *rows = context;
    uint64_t rung;
    int pause_ms = ROWS_LOOK_MIN_MS;
    while (!hf_desk_ending(&rows->desk)) {
        bool idle = hf_desk_waiting(&rows->desk) == 0;
        poll(&(struct pollfd){.fd = rows->desk.bell, .events = POLLIN}, 1, idle ? -1 : pause_ms);
        ssize_t got = read(rows->desk.bell, &rung, sizeof rung);
        (void)got;
        int64_t began_us = hf_seam.boot_us();
        hf_desk_due(&rows->desk, NULL, NULL);
        while (rows_look(rows))
            ;
        int64_t took_ms = (hf_seam.boot_us() - began_us) / 1000 * ROWS_LOOK_SHARE;
        pause_ms = took_ms < ROWS_LOOK_MIN_MS   ? ROWS_LOOK_MIN_MS
                   : took_ms > ROWS_LOOK_MAX_MS ? ROWS_LOOK_MAX_MS
                                                : (int)took_ms;
    }
    return NULL;
}

/* ---- open and close ---- */

static void rows_close(hf_lease_backend *it)
{
    rows_backend *rows = rows_of(it);
    hf_desk_stop(&rows->desk);
    if (rows->manager != NULL)
        hf_manager_keeper_stop(rows->manager);
    for (rows_session *older; rows->newest != NULL; rows->newest = older) {
        older = rows->newest->older;
        hf_status status =
            rows->newest->dead ? HF_OK : hf_session_close(rows->newest->session, NULL);
        (void)status; /* it dies at its bound */
        hf_session_free(rows->newest->session);
        hf_free(rows->newest);
    }
    hf_manager_close(rows->manager);
    hf_desk_done(&rows->desk);
    pthread_mutex_destroy(&rows->opening);
    hf_free(rows);
}

static void rows_system_user(char *out, size_t size)
{
    struct passwd entry, *found = NULL;
    char room[1024];
    getpwuid_r(geteuid(), &entry, room, sizeof room, &found);
    snprintf(out, size, "%.100s", found == NULL ? "unknown" : entry.pw_name);
}

static hf_status rows_open(const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err)
{
    rows_backend *rows = hf_alloc(sizeof *rows);
    rows_session *first = NULL;
    if (rows == NULL)
        return hf_fail_memory(err);
    rows->base = (hf_lease_backend){&hf_lease_rows, setup->host};
    rows->idle_us = setup->pulse_us > HF_DURATION_MAX_US / ROWS_IDLE_PULSES
                        ? HF_DURATION_MAX_US
                        : setup->pulse_us * ROWS_IDLE_PULSES;
    rows_system_user(rows->user, sizeof rows->user);
    snprintf(rows->name, sizeof rows->name, "%s", setup->name);
    pthread_mutex_init(&rows->opening, NULL);
    hf_status status = hf_desk_init(&rows->desk, setup->host, err);
    if (status == HF_OK)
        status = hf_manager_open(setup->url, &rows->manager, err);
    if (status == HF_OK)
        status = hf_manager_listen(rows->manager, rows_hear, rows, err);
    if (status == HF_OK)
        status = rows_get_session(rows, &first, err);
    if (status == HF_OK)
        status = hf_manager_keeper_start(rows->manager, err);
    if (status == HF_OK)
        status = hf_desk_start(&rows->desk, rows_run, rows, err);
    if (status != HF_OK) {
        rows_close(&rows->base);
        return status;
    }
    hf_store_grade(hf_manager_store(rows->manager), &rows->grade);
    *out = &rows->base;
    return HF_OK;
}

const hf_lease_ops hf_lease_rows = {
    .open = rows_open,
    .take = rows_take,
    .wait = rows_wait,
    .unwait = rows_unwait,
    .give = rows_give,
    .sure = rows_sure,
    .who = rows_who,
    .grade = rows_grade,
    .close = rows_close,
};
