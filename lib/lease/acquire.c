/* SPDX-License-Identifier: MIT */
/* Acquiring and closing: re-entering, the line of a key, waiting at the backend, cancelling. */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lease/inside.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LEASE_FOR_EVER INT64_MAX

/* What a call asks for. */
typedef struct lease_order {
    hf_leases *leases;
    const char *key;
    size_t size;
    int64_t max_hold_us;
    int64_t until_us; /* boot_us; 0: does not wait; LEASE_FOR_EVER */
    hf_lease *out;
    hf_error *err;
} lease_order;

/* ---- sentences ---- */

static hf_status lease_refuse_stopped(hf_error *err)
{
    return hf_fail(err, HF_INVALID, "The provider of leases has been stopped; open a new one.");
}

/* Someone of this process has it. */
static void lease_say_local(const lease_key *key, char *out, size_t size)
{
    char when[HF_TIME_TEXT];
    int64_t now_us = hf_seam.wall_us();
    if (key->hold == NULL) {
        snprintf(out, size, "asked for by another thread of this process");
        return;
    }
    hf_time_say(now_us - (lease_now_us() - key->hold->since_us), now_us, when);
    snprintf(out, size, "held by another thread of this process since %s", when);
}

static hf_status lease_say_timeout(const lease_order *order, const char *who, bool cancelled)
{
    return hf_fail(order->err, HF_TIMEOUT, "\"%s\" is %s; %s.", order->key,
                   who[0] != '\0' ? who : "held by someone else",
                   cancelled              ? "the wait was cancelled"
                   : order->until_us == 0 ? "try again later"
                                          : "the time to wait for it is over");
}

/* ---- waiting ---- */

static void lease_waiter_begin(lease_waiter *waiter, const lease_order *order, lease_key *key)
{
    hf_leases *leases = order->leases;
    *waiter = (lease_waiter){
        .woken = PTHREAD_COND_INITIALIZER, .key = key, .out = order->out, .err = order->err};
    LIST_INSERT_HEAD(&leases->waiters, waiter, of_all);
}

static void lease_waiter_end(lease_waiter *waiter)
{
    LIST_REMOVE(waiter, of_all);
    pthread_cond_destroy(&waiter->woken);
}

/* Sleeps until it is woken, or the time is over: then false. */
static bool lease_waiter_sleep(lease_waiter *waiter, const lease_order *order)
{
    struct timespec until;
    int64_t now_us = lease_now_us(), left_us = order->until_us - now_us;
    if (order->until_us == LEASE_FOR_EVER) {
        pthread_cond_wait(&waiter->woken, &order->leases->mutex);
        return true;
    }
    if (left_us <= 0)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    left_us += until.tv_nsec / 1000 + 1;
    until.tv_sec += left_us / 1000000;
    until.tv_nsec = left_us % 1000000 * 1000;
    pthread_cond_clockwait(&waiter->woken, &order->leases->mutex, CLOCK_MONOTONIC, &until);
    return true;
}

/* In the line of the key until its turn comes; the key is busy then. Otherwise the answer. */
static hf_status lease_wait_turn(const lease_order *order, lease_key *key, lease_waiter *waiter)
{
    hf_leases *leases = order->leases;
    bool in_time = true;
    TAILQ_INSERT_TAIL(&key->line, waiter, in_line);
    while (!leases->stopped && !waiter->cancelled && in_time &&
           (key->hold != NULL || key->busy || TAILQ_FIRST(&key->line) != waiter))
        in_time = lease_waiter_sleep(waiter, order);
    bool mine = key->hold == NULL && !key->busy && TAILQ_FIRST(&key->line) == waiter;
    TAILQ_REMOVE(&key->line, waiter, in_line);
    if (mine && !leases->stopped && !waiter->cancelled) {
        key->busy = true;
        return HF_OK;
    }
    char who[128];
    lease_say_local(key, who, sizeof who);
    lease_key_pass(leases, key);
    return leases->stopped ? lease_refuse_stopped(order->err)
                           : lease_say_timeout(order, who, waiter->cancelled);
}

/* ---- at the backend; the mutex is let go ---- */

/* Someone else has it: waits for the backend's answer. */
static hf_status lease_wait_backend(const lease_order *order, lease_waiter *waiter, bool *cancelled)
{
    hf_leases *leases = order->leases;
    hf_lease_backend *backend = leases->backend;
    bool in_time = true;
    backend->ops->wait(backend, &waiter->ask);
    pthread_mutex_lock(&leases->mutex);
    while (!waiter->answered && !leases->stopped && !waiter->cancelled && in_time)
        in_time = lease_waiter_sleep(waiter, order);
    bool answered = waiter->answered;
    *cancelled = waiter->cancelled || leases->stopped;
    pthread_mutex_unlock(&leases->mutex);
    if (!answered && backend->ops->unwait(backend, &waiter->ask))
        return HF_TIMEOUT;
    pthread_mutex_lock(&leases->mutex); /* the answer may just be on its way */
    while (!waiter->answered)
        pthread_cond_wait(&waiter->woken, &leases->mutex);
    pthread_mutex_unlock(&leases->mutex);
    return waiter->status;
}

static hf_status lease_ask_backend(const lease_order *order, lease_hold *hold, lease_waiter *waiter)
{
    hf_lease_backend *backend = order->leases->backend;
    bool cancelled = false;
    waiter->ask = (hf_lease_request){.max_hold_us = order->max_hold_us, .grant = &hold->grant};
    hf_status status = backend->ops->take(backend, &waiter->ask, order->err);
    if (status == HF_TIMEOUT && order->until_us != 0)
        status = lease_wait_backend(order, waiter, &cancelled);
    if (status == HF_TIMEOUT) {
        char who[512] = "";
        if (!cancelled)
            backend->ops->who(backend, &waiter->ask, who, sizeof who);
        lease_say_timeout(order, who, cancelled);
    }
    return status;
}

static bool lease_digest(const hf_leases *leases, const char *key, size_t size,
                         unsigned char out[HF_DIGEST_SIZE])
{
    char text[sizeof leases->names + HF_LEASE_KEY_SIZE];
    size_t names = strlen(leases->names) + 1; /* with its NUL */
    memcpy(text, leases->names, names);
    memcpy(text + names, key, size);
    return hf_sha256_quick(text, names + size, out);
}

/* ---- granted ---- */

static void lease_hold_begin(const lease_order *order, lease_hold *hold, lease_key *key)
{
    hf_leases *leases = order->leases;
    int64_t leak_us = leases->options.leak_after_us;
    hold->key = key;
    hold->state = LEASE_HELD;
    hold->thread = lease_thread();
    hold->since_us = hold->grant.asked_us;
    hold->ends_us = hold->due_us = hold->grant.asked_us + order->max_hold_us;
    if (leak_us > 0 && leak_us < order->max_hold_us)
        hold->due_us = hold->grant.asked_us + leak_us;
    key->hold = hold;
    lease_heap_add(hold);
}

/* The key is busy and this thread's: asks the backend, or is the backend. */
static hf_status lease_take(const lease_order *order, lease_key *key, lease_hold *hold,
                            lease_waiter *waiter)
{
    hf_leases *leases = order->leases;
    if (leases->backend == NULL) {
        int64_t now_us = hf_seam.wall_us(); /* so that it grows over a restart of the program */
        leases->fence = leases->fence < now_us ? now_us : leases->fence + 1;
        hold->grant.fence = leases->fence;
        hold->grant.asked_us = lease_now_us();
        key->busy = false;
        return HF_OK;
    }
    hold->grant.key = key->text;
    pthread_mutex_unlock(&leases->mutex);
    hf_status status = HF_OK;
    if (!lease_digest(leases, order->key, order->size, hold->grant.digest))
        status = hf_fail(order->err, HF_INTERNAL, "The digest of the key can't be computed.");
    if (status == HF_OK)
        status = lease_ask_backend(order, hold, waiter);
    pthread_mutex_lock(&leases->mutex);
    if (status == HF_OK && (hold->gone || leases->stopped)) {
        status = leases->stopped
                     ? lease_refuse_stopped(order->err)
                     : hf_fail(order->err, HF_UNAVAILABLE,
                               "The lease on \"%s\" was granted and lost again at once; try again.",
                               order->key);
        pthread_mutex_unlock(&leases->mutex);
        leases->backend->ops->give(leases->backend, &hold->grant);
        pthread_mutex_lock(&leases->mutex);
    }
    key->busy = false;
    return status;
}

/* As the first of this process, or after its turn has come. */
static hf_status lease_grant(const lease_order *order, lease_key *key, lease_waiter *waiter)
{
    hf_leases *leases = order->leases;
    lease_hold *hold = leases->holds_count < HF_LEASES_MAX ? lease_hold_new(leases) : NULL;
    hf_status status = HF_OK;
    if (leases->holds_count >= HF_LEASES_MAX && hold == NULL)
        status = hf_fail(order->err, HF_TOO_MANY,
                         "This provider holds %d leases already; close some.", HF_LEASES_MAX);
    else if (hold == NULL || !lease_heap_reserve(leases) || !lease_slot_add(hold, order->out))
        status = hf_fail_memory(order->err);
    if (status == HF_OK)
        status = lease_take(order, key, hold, waiter);
    else
        key->busy = false;
    if (status == HF_OK) {
        lease_hold_begin(order, hold, key);
        return HF_OK;
    }
    if (order->out->slot != NULL)
        lease_slot_free(order->out->slot);
    if (hold != NULL)
        lease_hold_leave(hold);
    *order->out = (hf_lease){0};
    lease_key_pass(leases, key);
    return status;
}

static hf_status lease_reenter(const lease_order *order, lease_hold *hold)
{
    return lease_slot_add(hold, order->out) ? HF_OK : hf_fail_memory(order->err);
}

/* With the mutex. */
static hf_status lease_carry_out(const lease_order *order)
{
    hf_leases *leases = order->leases;
    if (leases->stopped)
        return lease_refuse_stopped(order->err);
    lease_key *key = lease_key_find(leases, order->key, order->size);
    if (key == NULL)
        return hf_fail_memory(order->err);
    lease_hold *hold = key->hold;
    if (hold != NULL && hold->thread == lease_thread() && lease_now_us() < hold->ends_us)
        return lease_reenter(order, hold);
    bool free = hold == NULL && !key->busy && TAILQ_EMPTY(&key->line);
    if (free && leases->backend == NULL) {
        key->busy = true;
        return lease_grant(order, key, NULL);
    }
    if (!free && order->until_us == 0) {
        char who[128];
        lease_say_local(key, who, sizeof who);
        return lease_say_timeout(order, who, false);
    }
    lease_waiter waiter;
    lease_waiter_begin(&waiter, order, key);
    hf_status status = HF_OK;
    leases->inside++;
    if (free)
        key->busy = true;
    else
        status = lease_wait_turn(order, key, &waiter);
    if (status == HF_OK)
        status = lease_grant(order, key, &waiter);
    lease_waiter_end(&waiter);
    if (--leases->inside == 0)
        pthread_cond_broadcast(&leases->left);
    return status;
}

/* ---- the public calls ---- */

static hf_status lease_check(const lease_order *order, int64_t max_wait_us)
{
    if (order->out == NULL || order->leases == NULL)
        return hf_fail(order->err, HF_INVALID, "A lease needs a provider and a place to store it.");
    *order->out = (hf_lease){0};
    if (order->leases->process != lease_process())
        return hf_fail(order->err, HF_INVALID,
                       "This provider of leases was opened before fork(); open a new one in the "
                       "child process.");
    hf_status status = lease_key_check(order->key, order->err);
    if (status != HF_OK)
        return status;
    if (max_wait_us < 0 || (max_wait_us != LEASE_FOR_EVER && max_wait_us > HF_DURATION_MAX_US))
        return hf_fail(
            order->err, HF_INVALID,
            "The time to wait for a lease is 0 to a year; to wait for ever, use acquire.");
    if (order->max_hold_us <= 0 || order->max_hold_us > HF_DURATION_MAX_US)
        return hf_fail(order->err, HF_INVALID,
                       "The time to hold a lease is more than 0 and at most a year; give one that "
                       "the work fits in.");
    return HF_OK;
}

static hf_status acquire_lease(lease_order *order, int64_t max_wait_us)
{
    hf_status status = lease_check(order, max_wait_us);
    if (status != HF_OK)
        return status;
    order->size = strlen(order->key);
    order->until_us = max_wait_us == 0 || max_wait_us == LEASE_FOR_EVER
                          ? max_wait_us
                          : lease_now_us() + max_wait_us;
    pthread_mutex_lock(&order->leases->mutex);
    status = lease_carry_out(order);
    pthread_mutex_unlock(&order->leases->mutex);
    return status;
}

hf_status hf_lease_acquire(hf_leases *leases, const char *key, int64_t max_hold_us, hf_lease *lease,
                           hf_error *err)
{
    lease_order order = {
        .leases = leases, .key = key, .max_hold_us = max_hold_us, .out = lease, .err = err};
    return acquire_lease(&order, LEASE_FOR_EVER);
}

hf_status hf_lease_try_acquire(hf_leases *leases, const char *key, int64_t max_wait_us,
                               int64_t max_hold_us, hf_lease *lease, hf_error *err)
{
    lease_order order = {
        .leases = leases, .key = key, .max_hold_us = max_hold_us, .out = lease, .err = err};
    return acquire_lease(&order, max_wait_us == LEASE_FOR_EVER ? -1 : max_wait_us);
}

bool hf_lease_cancel(hf_leases *leases, const hf_lease *lease)
{
    if (leases == NULL || leases->process != lease_process())
        return false;
    pthread_mutex_lock(&leases->mutex);
    lease_waiter *waiter = LIST_FIRST(&leases->waiters);
    while (waiter != NULL && waiter->out != lease)
        waiter = LIST_NEXT(waiter, of_all);
    if (waiter != NULL) {
        waiter->cancelled = true;
        pthread_cond_signal(&waiter->woken);
    }
    pthread_mutex_unlock(&leases->mutex);
    return waiter != NULL;
}

/* The provider of a lease, if it can be asked here. */
static hf_leases *lease_provider(const hf_lease *lease)
{
    if (lease == NULL || lease->slot == NULL || lease->slot->leases->process != lease_process())
        return NULL;
    return lease->slot->leases;
}

bool hf_lease_is_held(const hf_lease *lease)
{
    hf_leases *leases = lease_provider(lease);
    if (leases == NULL)
        return false;
    pthread_mutex_lock(&leases->mutex);
    lease_hold *hold = lease_slot_hold(lease);
    bool held = hold != NULL && hold->state == LEASE_HELD && lease_now_us() < hold->ends_us;
    if (held && leases->backend != NULL)
        held = leases->backend->ops->sure(leases->backend, &hold->grant);
    pthread_mutex_unlock(&leases->mutex);
    return held;
}

int64_t hf_lease_fence(const hf_lease *lease)
{
    hf_leases *leases = lease_provider(lease);
    if (leases == NULL)
        return 0;
    pthread_mutex_lock(&leases->mutex);
    lease_hold *hold = lease_slot_hold(lease);
    int64_t fence = hold == NULL ? 0 : hold->grant.fence;
    pthread_mutex_unlock(&leases->mutex);
    return fence;
}

void hf_lease_close(const hf_lease *lease)
{
    hf_leases *leases = lease_provider(lease);
    if (leases == NULL)
        return;
    pthread_mutex_lock(&leases->mutex);
    lease_hold *hold = lease_slot_hold(lease);
    if (hold != NULL) {
        lease_key *key = hold->key;
        bool last = hold->open == 1 && hold->state == LEASE_HELD;
        if (last)
            lease_hold_end(hold);
        lease_slot_free(lease->slot);
        if (last)
            lease_hold_give(hold, key);
    }
    pthread_mutex_unlock(&leases->mutex);
}
