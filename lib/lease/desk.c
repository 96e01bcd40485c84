/* SPDX-License-Identifier: MIT */
/* The asks that wait and the grants that stand; see desk.h. */
#include "lease/desk.h"

#include "base/error.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

hf_status hf_desk_init(hf_desk *desk, const hf_lease_host *host, hf_error *err)
{
    *desk = (hf_desk){.host = host, .bell = -1};
    desk->asks_end = &desk->asks;
    pthread_mutex_init(&desk->mutex, NULL);
    pthread_cond_init(&desk->settled, NULL);
    desk->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return desk->bell >= 0 ? HF_OK
                           : hf_fail(err, HF_UNAVAILABLE, "No file descriptor is left: %m.");
}

void hf_desk_done(hf_desk *desk)
{
    if (desk->host == NULL)
        return;
    hf_desk_stop(desk);
    if (desk->bell >= 0)
        close(desk->bell);
    pthread_cond_destroy(&desk->settled);
    pthread_mutex_destroy(&desk->mutex);
}

hf_status hf_desk_start(hf_desk *desk, void *(*run)(void *context), void *context, hf_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&desk->ear, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    desk->running = code == 0;
    return code == 0
               ? HF_OK
               : hf_fail(err, HF_UNAVAILABLE, "A thread can't be started: %s.", strerror(code));
}

void hf_desk_stop(hf_desk *desk)
{
    if (!desk->running)
        return;
    pthread_mutex_lock(&desk->mutex);
    desk->ending = true;
    pthread_mutex_unlock(&desk->mutex);
    hf_desk_ring(desk);
    pthread_join(desk->ear, NULL);
    desk->running = false;
}

bool hf_desk_ending(hf_desk *desk)
{
    pthread_mutex_lock(&desk->mutex);
    bool ending = desk->ending;
    pthread_mutex_unlock(&desk->mutex);
    return ending;
}

void hf_desk_ring(hf_desk *desk)
{
    ssize_t written = write(desk->bell, &(uint64_t){1}, sizeof(uint64_t));
    (void)written; /* it fails only when the bell rings already */
}

/* ---- asks ---- */

void hf_desk_wait(hf_desk *desk, hf_lease_request *ask)
{
    pthread_mutex_lock(&desk->mutex);
    ask->next = NULL;
    ask->whence = desk->asks_end;
    ask->trying = ask->marked = false;
    ask->due = true;
    *desk->asks_end = ask;
    desk->asks_end = &ask->next;
    desk->asks_count++;
    pthread_mutex_unlock(&desk->mutex);
    hf_desk_ring(desk);
}

static void desk_remove(hf_desk *desk, hf_lease_request *ask)
{
    *ask->whence = ask->next;
    if (ask->next != NULL)
        ask->next->whence = ask->whence;
    else
        desk->asks_end = ask->whence;
    ask->whence = NULL;
    desk->asks_count--;
}

bool hf_desk_unwait(hf_desk *desk, hf_lease_request *ask)
{
    pthread_mutex_lock(&desk->mutex);
    while (ask->trying)
        pthread_cond_wait(&desk->settled, &desk->mutex);
    bool waits = ask->whence != NULL;
    if (waits)
        desk_remove(desk, ask);
    pthread_mutex_unlock(&desk->mutex);
    return waits;
}

size_t hf_desk_pick(hf_desk *desk, hf_lease_request **out, size_t max)
{
    size_t count = 0;
    pthread_mutex_lock(&desk->mutex);
    for (hf_lease_request *ask = desk->asks; ask != NULL && count < max; ask = ask->next) {
        if (!ask->due)
            continue;
        ask->due = false;
        ask->trying = true;
        out[count++] = ask;
    }
    pthread_mutex_unlock(&desk->mutex);
    return count;
}

void hf_desk_due(hf_desk *desk, bool (*match)(hf_lease_request *ask, void *context), void *context)
{
    pthread_mutex_lock(&desk->mutex);
    for (hf_lease_request *ask = desk->asks; ask != NULL; ask = ask->next)
        ask->due = ask->due || match == NULL || match(ask, context);
    pthread_mutex_unlock(&desk->mutex);
}

void hf_desk_settle(hf_desk *desk, hf_lease_request *ask, hf_status status, const hf_error *err)
{
    pthread_mutex_lock(&desk->mutex);
    ask->trying = false;
    if (status != HF_TIMEOUT)
        desk_remove(desk, ask);
    pthread_cond_broadcast(&desk->settled);
    pthread_mutex_unlock(&desk->mutex);
    if (status != HF_TIMEOUT)
        desk->host->answer(ask, status, err);
}

size_t hf_desk_waiting(hf_desk *desk)
{
    pthread_mutex_lock(&desk->mutex);
    size_t count = desk->asks_count;
    pthread_mutex_unlock(&desk->mutex);
    return count;
}

/* ---- grants ---- */

void hf_desk_link(hf_desk *desk, hf_lease_grant **list, hf_lease_grant *grant)
{
    pthread_mutex_lock(&desk->mutex);
    grant->losing = false;
    grant->next = *list;
    grant->whence = list;
    if (*list != NULL)
        (*list)->whence = &grant->next;
    *list = grant;
    pthread_mutex_unlock(&desk->mutex);
}

static void desk_unlink(hf_lease_grant *grant)
{
    *grant->whence = grant->next;
    if (grant->next != NULL)
        grant->next->whence = grant->whence;
    grant->whence = NULL;
}

bool hf_desk_unlink(hf_desk *desk, hf_lease_grant *grant)
{
    pthread_mutex_lock(&desk->mutex);
    while (grant->losing)
        pthread_cond_wait(&desk->settled, &desk->mutex);
    bool linked = grant->whence != NULL;
    if (linked)
        desk_unlink(grant);
    pthread_mutex_unlock(&desk->mutex);
    return linked;
}

void hf_desk_lose(hf_desk *desk, hf_lease_grant **list,
                  bool (*match)(const hf_lease_grant *grant, void *context), void *context,
                  const char *why)
{
    pthread_mutex_lock(&desk->mutex);
    for (hf_lease_grant *grant = *list; grant != NULL;) {
        if (match != NULL && !match(grant, context)) {
            grant = grant->next;
            continue;
        }
        desk_unlink(grant);
        grant->losing = true;
        pthread_mutex_unlock(&desk->mutex);
        bool taken = desk->host->lost(grant, why);
        pthread_mutex_lock(&desk->mutex);
        if (!taken) {
            grant->losing = false;
            pthread_cond_broadcast(&desk->settled);
        }
        grant = *list; /* others may have changed it */
    }
    pthread_mutex_unlock(&desk->mutex);
}
