/* SPDX-License-Identifier: MIT */
/* The pool. A *place* is the right to have one connection open; there are `max` of them. The one
 * mutex guards the counts and lists and is never held over the network: connections are opened,
 * looked at and closed outside of it.
 *
 * Who waits is served first: while there are waiters no connection is idle and no place is free,
 * since what comes back goes to the first of them. */
#include "db/pool.h"

#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define IDLE_MAX_US INT64_C(20000000) /* firewalls and servers drop what is idle for long */
#define WAIT_MAX_US INT64_C(86400000000)

typedef struct pool_waiter {
    pthread_cond_t served;
    bool has_place;   /* it may go on: */
    hf_pooled *given; /* with this connection; NULL: with one it opens */
    struct pool_waiter *next;
} pool_waiter;

struct hf_pool {
    const hf_db_driver *driver;
    char *url, *setup, *settings, *password;
    hf_db_options options;
    size_t max;
    void (*drop)(void *extra);
    atomic_uint generation; /* of the connections that may still be taken */
    int64_t age_max_us;     /* 0: however old */
    pthread_condattr_t monotonic;
    pthread_mutex_t mutex;
    size_t places;        /* taken: a connection is there, or being opened */
    hf_pooled *idle;      /* the one used last first, so the rest in order of age */
    pool_waiter *waiters; /* the first to be served first */
};

/* ---- the pool itself ---- */

/* Passwords may be in it. */
static void free_secret(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    hf_free(text);
}

static bool pool_copy(const char *from, char **out)
{
    size_t size = from == NULL ? 0 : strlen(from) + 1;
    *out = from == NULL ? NULL : hf_alloc(size);
    if (*out != NULL)
        memcpy(*out, from, size);
    return *out != NULL || from == NULL;
}

static void pool_free(hf_pool *pool)
{
    free_secret(pool->url);
    free_secret(pool->password);
    hf_free(pool->setup);
    hf_free(pool->settings);
    pthread_mutex_destroy(&pool->mutex);
    pthread_condattr_destroy(&pool->monotonic);
    hf_free(pool);
}

hf_status hf_pool_new(const hf_db_driver *driver, const char *url, const hf_db_options *options,
                      size_t max, void (*drop)(void *extra), hf_pool **out, hf_error *err)
{
    *out = NULL;
    hf_pool *pool = hf_alloc(sizeof *pool);
    if (pool == NULL)
        return hf_fail_memory(err);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_condattr_init(&pool->monotonic);
    pthread_condattr_setclock(&pool->monotonic, CLOCK_MONOTONIC);
    pool->driver = driver;
    pool->max = max > 0 ? max : 1;
    pool->drop = drop;
    if (!pool_copy(url, &pool->url) || !pool_copy(options->setup, &pool->setup) ||
        !pool_copy(options->settings, &pool->settings) ||
        !pool_copy(options->password, &pool->password)) {
        pool_free(pool);
        return hf_fail_memory(err);
    }
    pool->options = *options;
    pool->options.setup = pool->setup;
    pool->options.settings = pool->settings;
    pool->options.password = pool->password;
    *out = pool;
    return HF_OK;
}

/* Closes a list of connections, outside the mutex. Their places are another matter. */
static void close_all(hf_pool *pool, hf_pooled *it)
{
    while (it != NULL) {
        hf_pooled *older = it->older;
        if (it->extra != NULL && pool->drop != NULL)
            pool->drop(it->extra);
        hf_db_close(it->db);
        hf_free(it);
        it = older;
    }
}

void hf_pool_close(hf_pool *pool)
{
    if (pool == NULL)
        return;
    assert(pool->waiters == NULL);
    close_all(pool, pool->idle);
    pool_free(pool);
}

/* ---- places and waiting; with the mutex ---- */

/* A place, with a connection or without, goes to who waits longest. False: nobody waits. */
static bool pool_serve(hf_pool *pool, hf_pooled *given)
{
    pool_waiter *first = pool->waiters;
    if (first == NULL)
        return false;
    pool->waiters = first->next;
    first->has_place = true;
    first->given = given;
    pthread_cond_signal(&first->served);
    return true;
}

static void leave_place(hf_pool *pool)
{
    if (!pool_serve(pool, NULL))
        pool->places--;
}

/* Cuts off what has been idle for too long, to be closed. */
static hf_pooled *take_out_old(hf_pool *pool, int64_t now_us)
{
    int64_t since_us = now_us - IDLE_MAX_US;
    hf_pooled **at = &pool->idle;
    while (*at != NULL && (*at)->since_us >= since_us)
        at = &(*at)->older;
    hf_pooled *old = *at;
    *at = NULL;
    for (hf_pooled *it = old; it != NULL; it = it->older)
        pool->places--; /* nobody waits where there were idle ones */
    return old;
}

static hf_pooled *take_idle(hf_pool *pool)
{
    hf_pooled *it = pool->idle;
    if (it != NULL) {
        pool->idle = it->older;
        it->older = NULL;
    }
    return it;
}

static struct timespec monotonic_in(int64_t us)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    us += at.tv_nsec / 1000;
    at.tv_sec += (time_t)(us / 1000000);
    at.tv_nsec = (long)(us % 1000000) * 1000;
    return at;
}

static void leave_line(hf_pool *pool, const pool_waiter *me)
{
    pool_waiter **at = &pool->waiters;
    while (*at != me)
        at = &(*at)->next;
    *at = me->next;
}

/* Waits in line for a place. False: not in time. */
static bool pool_wait_in_line(hf_pool *pool, int64_t wait_us, hf_pooled **out)
{
    pool_waiter me = {0}, **last = &pool->waiters;
    struct timespec until = monotonic_in(wait_us < WAIT_MAX_US ? wait_us : WAIT_MAX_US);
    int code = 0;
    if (wait_us <= 0)
        return false;
    pthread_cond_init(&me.served, &pool->monotonic);
    while (*last != NULL)
        last = &(*last)->next;
    *last = &me;
    while (!me.has_place && code == 0)
        code = pthread_cond_timedwait(&me.served, &pool->mutex, &until);
    if (!me.has_place)
        leave_line(pool, &me);
    pthread_cond_destroy(&me.served);
    *out = me.given;
    return me.has_place;
}

/* A place for the caller; with *out, or without: then there is nothing idle. */
static bool take_place(hf_pool *pool, int64_t wait_us, hf_pooled **out)
{
    *out = take_idle(pool);
    if (*out != NULL)
        return true;
    if (pool->places == pool->max)
        return pool_wait_in_line(pool, wait_us, out);
    pool->places++;
    return true;
}

/* ---- taking and giving ---- */

static hf_status pool_open_one(hf_pool *pool, hf_pooled **out, hf_error *err)
{
    hf_pooled *it = hf_alloc(sizeof *it);
    if (it != NULL)
        *it = (hf_pooled){.opened_us = hf_seam.boot_us(),
                          .generation = atomic_load(&pool->generation)};
    hf_status status = it == NULL
                           ? hf_fail_memory(err)
                           : hf_db_connect(pool->driver, pool->url, &pool->options, &it->db, err);
    if (status == HF_OK) {
        *out = it;
        return HF_OK;
    }
    hf_free(it);
    pthread_mutex_lock(&pool->mutex);
    leave_place(pool);
    pthread_mutex_unlock(&pool->mutex);
    return status;
}

hf_status hf_pool_connect(const hf_pool *pool, hf_db **out, hf_error *err)
{
    return hf_db_connect(pool->driver, pool->url, &pool->options, out, err);
}

void hf_pool_age(hf_pool *pool, int64_t max_us)
{
    pool->age_max_us = max_us;
}

void hf_pool_renew(hf_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
}

static bool pool_is_usable(hf_pool *pool, const hf_pooled *it)
{
    return it->generation == atomic_load(&pool->generation) &&
           (pool->age_max_us == 0 || hf_seam.boot_us() - it->opened_us < pool->age_max_us) &&
           hf_db_fresh(it->db);
}

/* The connection went bad while it was idle, or is too old, and it is seldom the only one. The
 * caller keeps its place or moves to that of another idle one. */
static hf_pooled *pool_replace(hf_pool *pool, hf_pooled *bad)
{
    close_all(pool, bad);
    pthread_mutex_lock(&pool->mutex);
    hf_pooled *it = take_idle(pool);
    if (it != NULL)
        leave_place(pool);
    pthread_mutex_unlock(&pool->mutex);
    return it;
}

hf_status hf_pool_take(hf_pool *pool, int64_t wait_us, hf_pooled **out, hf_error *err)
{
    hf_pooled *it = NULL;
    *out = NULL;
    pthread_mutex_lock(&pool->mutex);
    hf_pooled *old = take_out_old(pool, hf_seam.boot_us());
    bool placed = take_place(pool, wait_us, &it);
    pthread_mutex_unlock(&pool->mutex);
    close_all(pool, old);
    if (!placed)
        return hf_fail(err, HF_BUSY, "All %zu connections to the database are in use; try again.",
                       pool->max);
    while (it != NULL && !pool_is_usable(pool, it))
        it = pool_replace(pool, it);
    if (it == NULL)
        return pool_open_one(pool, out, err);
    *out = it;
    return HF_OK;
}

/* A server that has come to take no writes is one that another has taken the place of: what is
 * opened anew finds that one. */
void hf_pool_give(hf_pool *pool, hf_pooled *it)
{
    bool writes = hf_db_failure(it->db) != HF_FAILURE_READ_ONLY;
    if (hf_db_alive(it->db) && hf_db_in_transaction(it->db))
        hf_db_rollback(it->db, NULL);
    bool good = writes && hf_db_alive(it->db) && !hf_db_in_transaction(it->db);
    if (!good)
        close_all(pool, it);
    pthread_mutex_lock(&pool->mutex);
    int64_t now_us = hf_seam.boot_us();
    if (!good)
        leave_place(pool);
    else if (!pool_serve(pool, it)) {
        it->since_us = now_us;
        it->older = pool->idle;
        pool->idle = it;
    }
    hf_pooled *old = take_out_old(pool, now_us);
    pthread_mutex_unlock(&pool->mutex);
    close_all(pool, old);
}
