/* SPDX-License-Identifier: MIT */
/* Providers: which backend a URL means, opening, stopping, closing; what tells a process and a
 * thread from others. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/module.h"
#include "base/seams.h"
#include "db/url.h"
#include "lease/inside.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEASE_PULSE_US INT64_C(2000000)
#define LEASE_IDLE_US  INT64_C(60000000)
enum { LEASE_POOL_DEFAULT = 8 };

/* ---- processes and threads ---- */

static atomic_uint_least64_t lease_process_number = 1;

static void lease_forked(void)
{
    atomic_fetch_add(&lease_process_number, 1);
}

static void lease_watch_forks(void)
{
    pthread_atfork(NULL, NULL, lease_forked);
}

uint64_t lease_process(void)
{
    return atomic_load_explicit(&lease_process_number, memory_order_relaxed);
}

uint64_t lease_thread(void)
{
    static atomic_uint_least64_t last;
    static _Thread_local uint64_t mine;
    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

int64_t lease_now_us(void)
{
    return hf_seam.boot_us();
}

/* ---- which backend ---- */

/* Every backend but the rows of a store, which serve all other URLs. */
static const struct {
    const char *scheme;
    const char *module; /* NULL: in this process */
} lease_backends[] = {
    {"memory:", NULL},        {"postgres:", "postgres"}, {"postgresql:", "postgres"},
    {"mysql:", "mysql"},      {"redis:", "redis"},       {"rediss:", "redis"},
    {"redis+unix:", "redis"},
};

static hf_status lease_find_ops(const char *url, const hf_lease_ops **out, hf_error *err)
{
    for (size_t i = 0; i < sizeof lease_backends / sizeof *lease_backends; i++) {
        const char *scheme = lease_backends[i].scheme;
        if (strncmp(url, scheme, strlen(scheme)) != 0)
            continue;
        const hf_lease_module_info *info = NULL;
        if (lease_backends[i].module == NULL)
            return HF_OK;
        hf_status status = hf_module_load(lease_backends[i].module, HF_LEASE_MODULE_SYMBOL,
                                          (const void **)&info, err);
        *out = status == HF_OK ? info->ops : NULL;
        return status;
    }
    *out = &hf_lease_rows;
    return HF_OK;
}

/* ---- opening ---- */

static hf_status lease_check_options(hf_leases_options *options, hf_error *err)
{
    options->pool_max = options->pool_max == 0 ? LEASE_POOL_DEFAULT : options->pool_max;
    options->pool_idle_us = options->pool_idle_us == 0 ? LEASE_IDLE_US : options->pool_idle_us;
    options->pulse_us = options->pulse_us == 0 ? LEASE_PULSE_US : options->pulse_us;
    if (options->pool_max < 2 || options->pool_max > HF_LEASE_POOL_MAX)
        return hf_fail(err, HF_INVALID, "pool_max is 2 to %d connections.", HF_LEASE_POOL_MAX);
    if (options->pool_idle_us < 0 || options->pool_idle_us > HF_DURATION_MAX_US ||
        options->leak_after_us < 0 || options->leak_after_us > HF_DURATION_MAX_US ||
        options->pulse_us < HF_DURATION_MIN_US || options->pulse_us > HF_DURATION_MAX_US)
        return hf_fail(err, HF_INVALID,
                       "pool_idle, leak_after and pulse are durations of at most a year, pulse of "
                       "at least 1 ms.");
    return HF_OK;
}

static void lease_own_name(char *out, size_t size)
{
    char host[128] = "?";
    struct passwd entry, *found = NULL;
    char room[1024];
    gethostname(host, sizeof host - 1);
    getpwuid_r(geteuid(), &entry, room, sizeof room, &found);
    snprintf(out, size, "%.60s on %.120s (process %ld)", found == NULL ? "?" : entry.pw_name, host,
             (long)getpid());
}

static hf_status lease_open_backend(hf_leases *leases, const char *url, hf_error *err)
{
    const hf_lease_ops *ops = NULL;
    hf_url parts = {0};
    char own[HF_TEXT_SIZE];
    hf_status status = lease_find_ops(url, &ops, err);
    snprintf(leases->grade, sizeof leases->grade,
             "the memory of this process: threads exclude each other");
    if (status != HF_OK || ops == NULL)
        return status;
    if (ops != &hf_lease_rows) { /* there a namespace is a set of tables */
        status = hf_url_read(url, &parts, err);
        if (status != HF_OK)
            return status;
        snprintf(leases->names, sizeof leases->names, "%s", parts.names);
        hf_url_done(&parts);
    }
    lease_own_name(own, sizeof own);
    hf_lease_setup setup = {
        .url = url,
        .name = leases->options.name != NULL ? leases->options.name : own,
        .pool_max = leases->options.pool_max,
        .pool_idle_us = leases->options.pool_idle_us,
        .pulse_us = leases->options.pulse_us,
        .host = &lease_host,
    };
    status = ops->open(&setup, &leases->backend, err);
    if (status == HF_OK)
        snprintf(leases->grade, sizeof leases->grade, "%s", ops->grade(leases->backend));
    return status;
}

static void lease_init_sync(hf_leases *leases)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&leases->mutex, NULL);
    pthread_cond_init(&leases->left, NULL);
    pthread_cond_init(&leases->alarm, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void lease_free(hf_leases *leases)
{
    if (leases->backend != NULL)
        leases->backend->ops->close(leases->backend);
    for (hf_hash_entry *entry; (entry = hf_hash_walk(&leases->keys, NULL)) != NULL;) {
        hf_hash_remove(&leases->keys, entry);
        hf_free(entry);
    }
    hf_hash_done(&leases->keys);
    for (lease_key *next; leases->unused_keys != NULL; leases->unused_keys = next) {
        next = (lease_key *)leases->unused_keys->entry.next;
        hf_free(leases->unused_keys);
    }
    lease_blocks_free(leases);
    hf_free(leases->heap);
    pthread_cond_destroy(&leases->alarm);
    pthread_cond_destroy(&leases->left);
    pthread_mutex_destroy(&leases->mutex);
    hf_free(leases);
}

hf_status hf_leases_open(const char *url, const hf_leases_options *options, hf_leases **out,
                         hf_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    if (url == NULL || strnlen(url, HF_URL_MAX + 1) > HF_URL_MAX)
        return hf_fail(err, HF_INVALID, "A provider of leases needs a URL of at most %d bytes.",
                       HF_URL_MAX);
    pthread_once(&once, lease_watch_forks);
    hf_leases *leases = hf_alloc(sizeof *leases);
    if (leases == NULL)
        return hf_fail_memory(err);
    lease_init_sync(leases);
    leases->process = lease_process();
    if (options != NULL)
        leases->options = *options;
    hf_status status = lease_check_options(&leases->options, err);
    if (status == HF_OK && !lease_keys_init(leases))
        status = hf_fail_memory(err);
    if (status == HF_OK)
        status = lease_open_backend(leases, url, err);
    if (status == HF_OK)
        status = lease_watchdog_start(leases, err);
    leases->options.name = NULL; /* it was borrowed */
    if (status != HF_OK) {
        lease_free(leases);
        return status;
    }
    *out = leases;
    return HF_OK;
}

const char *hf_leases_grade(const hf_leases *leases)
{
    return leases->grade;
}

/* ---- the end ---- */

void hf_leases_stop(hf_leases *leases)
{
    if (leases == NULL || leases->process != lease_process())
        return;
    pthread_mutex_lock(&leases->mutex);
    leases->stopped = true;
    for (lease_waiter *waiter = LIST_FIRST(&leases->waiters); waiter != NULL;
         waiter = LIST_NEXT(waiter, of_all))
        pthread_cond_signal(&waiter->woken);
    while (leases->heap_count > 0) {
        lease_hold *hold = leases->heap[1];
        lease_key *key = hold->key;
        lease_hold_end(hold);
        lease_hold_give(hold, key);
    }
    while (leases->inside > 0)
        pthread_cond_wait(&leases->left, &leases->mutex);
    pthread_mutex_unlock(&leases->mutex);
}

void hf_leases_close(hf_leases *leases)
{
    if (leases == NULL || leases->process != lease_process())
        return;
    hf_leases_stop(leases);
    lease_watchdog_stop(leases);
    lease_free(leases);
}
