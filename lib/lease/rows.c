/* SPDX-License-Identifier: MIT */
/* Leases on any store: a provider is a session, a lease an exclusive lock on lease/KEY, whose own
 * bound is max_hold. So they work wherever holdfast does, and `holdfast who lease/KEY` tells who
 * has one. A session that has died is replaced; its leases are lost. The ear looks again and again:
 * all asks that wait are looked up in one call, and those whose key is free are tried.
 *
 * A lock that could not be given back, since others kept the store busy or it was away, is a debt:
 * its session lives on, so nothing else would end it before max_hold. The ear pays it as soon as it
 * can. Nobody of this process takes the key before: the session would only get back what it has. */
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
    ROWS_CLOSES = 4,     /* a session that is not closed keeps its leases until it dies */
};

typedef struct rows_session rows_session;

/* Kept until the end: few die. `held` and `dead` are under the desk's mutex. */
struct rows_session {
    hf_session *session;
    bool dead;
    hf_lease_grant *held; /* their link is the rows_session */
    rows_session *older;
};

/* Under the desk's mutex. */
typedef struct rows_debt {
    hf_session *session;
    hf_resource resource;
    int64_t fence; /* 0: that of whatever grant there is */
    bool paying;   /* a thread is at it; desk.settled tells of the end */
    struct rows_debt *next;
} rows_debt;

typedef struct rows_backend {
    hf_lease_backend base;
    hf_desk desk;
    hf_manager *manager;
    pthread_mutex_t opening; /* one thread opens a session at a time */
    rows_session *newest;    /* under the desk's mutex */
    rows_debt *debts;        /* the same */
    char user[HF_TEXT_SIZE], name[HF_TEXT_SIZE];
    int64_t idle_us;
    hf_grade grade;
    hf_lease_request *picked[HF_BATCH_OPS_MAX]; /* of the ear */
    hf_resource wanted[HF_BATCH_OPS_MAX];
} rows_backend;

static rows_backend *lease_rows_of(hf_lease_backend *it)
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
            rows, it,
            "The session that held it has ended: its beat did not reach the store in time.");
    } else if (notice->kind == HF_NOTICE_LOST && strcmp(notice->why, "expired") != 0 &&
               !hf_session_is_held(it->session, &notice->resource)) {
        snprintf(why, sizeof why, "The lock on " ROWS_TYPE "/%s was lost (%s)%s%s%s%s.",
                 notice->resource.id, notice->why, notice->by[0] != '\0' ? ", by " : "", notice->by,
                 notice->text[0] != '\0' ? ": " : "", notice->text);
        hf_desk_lose(&rows->desk, &it->held, rows_is_lost, (void *)notice, why);
    }
}

/* ---- debts ---- */

/* The answer will not come out otherwise if it is asked again. */
static bool rows_is_final(hf_status status)
{
    return status != HF_BUSY && status != HF_RETRY && status != HF_UNAVAILABLE &&
           status != HF_UNSURE;
}

/* Without memory it stays until its bound. */
static void rows_owe(rows_backend *rows, const rows_session *by, const hf_resource *resource,
                     int64_t fence)
{
    rows_debt *debt = hf_alloc(sizeof *debt);
    if (debt == NULL)
        return;
    *debt = (rows_debt){.session = by->session, .resource = *resource, .fence = fence};
    pthread_mutex_lock(&rows->desk.mutex);
    debt->next = rows->debts;
    rows->debts = debt;
    pthread_mutex_unlock(&rows->desk.mutex);
    hf_desk_ring(&rows->desk);
}

/* With the mutex, which is let go meanwhile. HF_OK: it is paid, and gone. */
static hf_status rows_pay(rows_backend *rows, rows_debt *debt, hf_error *err)
{
    debt->paying = true;
    pthread_mutex_unlock(&rows->desk.mutex);
    hf_status status = hf_session_release(debt->session, &debt->resource, debt->fence, err);
    pthread_mutex_lock(&rows->desk.mutex);
    debt->paying = false;
    if (rows_is_final(status)) {
        rows_debt **at = &rows->debts;
        while (*at != debt)
            at = &(*at)->next;
        *at = debt->next;
        hf_free(debt);
        status = HF_OK;
    }
    pthread_cond_broadcast(&rows->desk.settled);
    return status;
}

static rows_debt *rows_find_debt(const rows_backend *rows, const char *key)
{
    rows_debt *debt = rows->debts;
    while (debt != NULL && strcmp(debt->resource.id, key) != 0)
        debt = debt->next;
    return debt;
}

/* Before a key is taken. */
static hf_status rows_pay_for(rows_backend *rows, const char *key, hf_error *err)
{
    hf_status status = HF_OK;
    rows_debt *debt;
    pthread_mutex_lock(&rows->desk.mutex);
    while ((debt = rows_find_debt(rows, key)) != NULL && debt->paying)
        pthread_cond_wait(&rows->desk.settled, &rows->desk.mutex);
    if (debt != NULL)
        status = rows_pay(rows, debt, err);
    pthread_mutex_unlock(&rows->desk.mutex);
    return status;
}

/* The ear: the first that can't be paid ends it. False: something is owed. */
static bool rows_pay_all(rows_backend *rows)
{
    hf_status status = HF_OK;
    pthread_mutex_lock(&rows->desk.mutex);
    while (status == HF_OK && rows->debts != NULL) {
        if (rows->debts->paying)
            pthread_cond_wait(&rows->desk.settled, &rows->desk.mutex);
        else
            status = rows_pay(rows, rows->debts, NULL);
    }
    bool none = rows->debts == NULL;
    pthread_mutex_unlock(&rows->desk.mutex);
    return none;
}

/* ---- taking and giving ---- */

/* One try with one session. HF_EXPIRED: it is dead. */
static hf_status rows_try(rows_backend *rows, rows_session *by, hf_lease_request *ask,
                          hf_error *err)
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
    if (status == HF_UNSURE) { /* it may be held now */
        rows_owe(rows, by, &resource, 0);
        err->status = status = HF_UNAVAILABLE;
    }
    if (status == HF_NOT_FOUND) /* the session is gone even from the store's memory */
        status = HF_EXPIRED;
    return status;
}

static hf_status rows_take(hf_lease_backend *it, hf_lease_request *ask, hf_error *err)
{
    rows_backend *rows = lease_rows_of(it);
    rows_session *by = NULL;
    hf_error inner;
    hf_error_none(&inner);
    hf_status owed = rows_pay_for(rows, ask->grant->key, &inner), status = HF_EXPIRED;
    for (int i = 0; i < ROWS_TRIES && owed == HF_OK && status == HF_EXPIRED; i++) {
        status = rows_get_session(rows, &by, &inner);
        if (status == HF_OK)
            status = rows_try(rows, by, ask, &inner);
        if (status == HF_EXPIRED)
            rows_session_ended(rows, by, "The session that held it has ended.");
    }
    status = owed != HF_OK ? owed : status;
    if (status == HF_LOCKED || status == HF_BUSY || status == HF_RETRY)
        return HF_TIMEOUT;
    if (status == HF_UNSURE)
        inner.status = status = HF_UNAVAILABLE;
    if (status != HF_OK && err != NULL)
        *err = inner;
    return status;
}

static void rows_wait(hf_lease_backend *it, hf_lease_request *ask)
{
    hf_desk_wait(&lease_rows_of(it)->desk, ask);
}

static bool rows_unwait(hf_lease_backend *it, hf_lease_request *ask)
{
    return hf_desk_unwait(&lease_rows_of(it)->desk, ask);
}

static void rows_give(hf_lease_backend *it, hf_lease_grant *grant)
{
    hf_resource resource;
    rows_session *by = grant->link;
    if (!hf_desk_unlink(&lease_rows_of(it)->desk, grant))
        return;
    rows_resource(grant, &resource);
    if (!rows_is_final(hf_session_release(by->session, &resource, grant->fence, NULL)))
        rows_owe(lease_rows_of(it), by, &resource, grant->fence);
}

static bool rows_sure(hf_lease_backend *it, const hf_lease_grant *grant)
{
    hf_resource resource;
    (void)it;
    rows_resource(grant, &resource);
    return hf_session_is_held(((rows_session *)grant->link)->session, &resource);
}

static void rows_who(hf_lease_backend *it, const hf_lease_request *ask, char *out, size_t size)
{
    hf_result *result = NULL;
    hf_resource resource;
    char when[HF_TIME_TEXT];
    rows_resource(ask->grant, &resource);
    if (hf_manager_who(lease_rows_of(it)->manager, &resource, &result, NULL) == HF_OK) {
        const hf_answer *answer = hf_result_answer(result);
        snprintf(out, size,
                 "not available now: the store is busy, or someone else held it until now");
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
    bool paid = true;
    while (!hf_desk_ending(&rows->desk)) {
        bool idle = paid && hf_desk_waiting(&rows->desk) == 0;
        poll(&(struct pollfd){.fd = rows->desk.bell, .events = POLLIN}, 1, idle ? -1 : pause_ms);
        ssize_t got = read(rows->desk.bell, &rung, sizeof rung);
        (void)got;
        int64_t began_us = hf_seam.boot_us();
        paid = rows_pay_all(rows);
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

/* What is left of it dies at its bound. */
static void rows_session_close(rows_session *it)
{
    hf_status status = it->dead ? HF_OK : HF_BUSY;
    for (int i = 0; i < ROWS_CLOSES && (status == HF_BUSY || status == HF_RETRY); i++)
        status = hf_session_close(it->session, NULL);
    hf_session_free(it->session);
    hf_free(it);
}

static void rows_close(hf_lease_backend *it)
{
    rows_backend *rows = lease_rows_of(it);
    hf_desk_stop(&rows->desk);
    if (rows->manager != NULL)
        hf_manager_keeper_stop(rows->manager);
    for (rows_debt *next; rows->debts != NULL; rows->debts = next) {
        next = rows->debts->next;
        hf_free(rows->debts);
    }
    for (rows_session *older; rows->newest != NULL; rows->newest = older) {
        older = rows->newest->older;
        rows_session_close(rows->newest);
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
