/* SPDX-License-Identifier: MIT */
/* One thread a provider ends the holds whose max_hold is over, also while their own threads hang.
 * They stand in a binary heap by the time at which they are to be looked at. The thread sleeps
 * until the first of them is due, and is woken only for an earlier one: taking and closing leases
 * costs it nothing. */
#include "base/error.h"
#include "base/seams.h"
#include "lease/inside.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The longest sleep: CLOCK_MONOTONIC, by which a condition waits, stands still while the machine is
 * suspended. */
#define LEASE_NAP_US INT64_C(5000000)

/* ---- the heap; places count from 1 ---- */

bool lease_heap_reserve(hf_leases *leases)
{
    if (leases->holds_count + 2 <= leases->heap_room)
        return true;
    size_t room = leases->heap_room == 0 ? 64 : leases->heap_room * 2;
    lease_hold **wider = hf_realloc(leases->heap, room * sizeof(lease_hold *));
    if (wider == NULL)
        return false;
    leases->heap = wider;
    leases->heap_room = room;
    return true;
}

static void lease_heap_put(hf_leases *leases, lease_hold *hold, size_t place)
{
    leases->heap[place] = hold;
    hold->place = place;
}

/* Moves a hold from a free place to where it belongs. */
static void lease_heap_sift(hf_leases *leases, lease_hold *hold, size_t place)
{
    lease_hold **heap = leases->heap;
    while (place > 1 && hold->due_us < heap[place / 2]->due_us) {
        lease_heap_put(leases, heap[place / 2], place);
        place /= 2;
    }
    for (size_t child; (child = place * 2) <= leases->heap_count; place = child) {
        child += child < leases->heap_count && heap[child + 1]->due_us < heap[child]->due_us;
        if (hold->due_us <= heap[child]->due_us)
            break;
        lease_heap_put(leases, heap[child], place);
    }
    lease_heap_put(leases, hold, place);
}

void lease_heap_add(lease_hold *hold)
{
    hf_leases *leases = hold->leases;
    leases->heap_count++;
    lease_heap_sift(leases, hold, leases->heap_count);
    if (hold->due_us < leases->wakes_us) {
        leases->wakes_us = hold->due_us; /* so that nobody else wakes it for less */
        pthread_cond_signal(&leases->alarm);
    }
}

void lease_heap_remove(lease_hold *hold)
{
    hf_leases *leases = hold->leases;
    size_t place = hold->place;
    if (place == 0)
        return;
    lease_hold *last = leases->heap[leases->heap_count--];
    hold->place = 0;
    if (last != hold)
        lease_heap_sift(leases, last, place);
}

/* ---- the thread ---- */

/* The first hold that is due is looked at: a leak is told, an end is made. The mutex is let go
 * meanwhile. */
static void lease_watchdog_look(hf_leases *leases, lease_hold *hold)
{
    char text[HF_LEASE_KEY_SIZE], sentence[HF_LEASE_KEY_SIZE + 160];
    lease_key *key = hold->key;
    int64_t fence = hold->grant.fence;
    bool over = hold->due_us >= hold->ends_us;
    memcpy(text, key->text, key->size + 1);
    if (over) {
        lease_hold_end(hold);
        lease_hold_give(hold, key);
        snprintf(
            sentence, sizeof sentence,
            "The lease on \"%s\" was ended: it was held for the longest time allowed (max_hold).",
            text);
    } else {
        hold->due_us = hold->ends_us;
        lease_heap_sift(leases, hold, hold->place);
        snprintf(sentence, sizeof sentence,
                 "The lease on \"%s\" is held for longer than leak_after; was it forgotten?", text);
    }
    pthread_mutex_unlock(&leases->mutex);
    lease_tell(leases, over ? HF_LEASE_EXPIRED : HF_LEASE_LEAKING, text, fence, sentence);
    pthread_mutex_lock(&leases->mutex);
}

static void lease_watchdog_sleep(hf_leases *leases, int64_t now_us)
{
    if (leases->heap_count == 0) {
        leases->wakes_us = INT64_MAX;
        pthread_cond_wait(&leases->alarm, &leases->mutex);
        return;
    }
    struct timespec until;
    leases->wakes_us = leases->heap[1]->due_us;
    int64_t nap_us =
        leases->wakes_us - now_us < LEASE_NAP_US ? leases->wakes_us - now_us : LEASE_NAP_US;
    clock_gettime(CLOCK_MONOTONIC, &until);
    nap_us += until.tv_nsec / 1000 + 1;
    until.tv_sec += nap_us / 1000000;
    until.tv_nsec = nap_us % 1000000 * 1000;
    pthread_cond_timedwait(&leases->alarm, &leases->mutex, &until);
}

static void *lease_watchdog_run(void *context)
{
    hf_leases *leases = context;
    pthread_mutex_lock(&leases->mutex);
    while (!leases->ending) {
        int64_t now_us = lease_now_us();
        if (leases->heap_count > 0 && leases->heap[1]->due_us <= now_us)
            lease_watchdog_look(leases, leases->heap[1]);
        else
            lease_watchdog_sleep(leases, now_us);
    }
    pthread_mutex_unlock(&leases->mutex);
    return NULL;
}

hf_status lease_watchdog_start(hf_leases *leases, hf_error *err)
{
    sigset_t all, before;
    leases->wakes_us = INT64_MAX;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&leases->watchdog, NULL, lease_watchdog_run, leases);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    leases->watching = code == 0;
    return code == 0 ? HF_OK
                     : hf_fail(err, HF_UNAVAILABLE, "The watchdog's thread can't be started: %s.",
                               strerror(code));
}

void lease_watchdog_stop(hf_leases *leases)
{
    if (!leases->watching)
        return;
    pthread_mutex_lock(&leases->mutex);
    leases->ending = true;
    pthread_cond_signal(&leases->alarm);
    pthread_mutex_unlock(&leases->mutex);
    pthread_join(leases->watchdog, NULL);
    leases->watching = false;
}
