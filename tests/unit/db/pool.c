/* SPDX-License-Identifier: MIT */
/* The pool over a pretended database, whose connections break as they are told, and over a real
 * PostgreSQL that is restarted. */
#include "own_postgres.h"

#include <base/error.h>
#include <base/seams.h>
#include <db/driver.h>
#include <db/pool.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/timing.h>
#include <unistd.h>

/* ---- the pretended database ---- */

typedef struct fake_db {
    hf_db base;
    bool alive, fresh, in_transaction, stuck;
    atomic_bool taken;
} fake_db;

static struct {
    atomic_int open, opened, dropped, most;
    atomic_bool refuse;
    int64_t slow_us;
    char url[64], setup[64], password[64];
} fake;

static hf_status fake_connect(const char *url, const hf_db_options *options, hf_db **out,
                              hf_error *e);

static void fake_close(hf_db *db)
{
    atomic_fetch_sub(&fake.open, 1);
    free(db);
}

static bool fake_alive(hf_db *db)
{
    return ((fake_db *)db)->alive;
}

static bool fake_fresh(hf_db *db)
{
    return ((fake_db *)db)->fresh;
}

static bool fake_in_transaction(hf_db *db)
{
    return ((fake_db *)db)->in_transaction;
}

static hf_status fake_rollback(hf_db *db, hf_error *e)
{
    fake_db *it = (fake_db *)db;
    if (it->stuck)
        return hf_fail(e, HF_UNAVAILABLE, "It does not roll back.");
    it->in_transaction = false;
    return HF_OK;
}

static const hf_db_driver fake_driver = {.connect = fake_connect,
                                         .close = fake_close,
                                         .alive = fake_alive,
                                         .fresh = fake_fresh,
                                         .in_transaction = fake_in_transaction,
                                         .rollback = fake_rollback};

static hf_status fake_connect(const char *url, const hf_db_options *options, hf_db **out,
                              hf_error *e)
{
    *out = NULL;
    if (fake.slow_us > 0)
        usleep((useconds_t)fake.slow_us);
    if (atomic_load(&fake.refuse))
        return hf_fail(e, HF_UNAVAILABLE, "The pretended database is down.");
    fake_db *it = calloc(1, sizeof *it);
    it->base.driver = &fake_driver;
    it->alive = it->fresh = true;
    int open = atomic_fetch_add(&fake.open, 1) + 1;
    int most = atomic_load(&fake.most);
    while (open > most && !atomic_compare_exchange_weak(&fake.most, &most, open))
        continue;
    if (atomic_fetch_add(&fake.opened, 1) == 0) {
        snprintf(fake.url, sizeof fake.url, "%s", url);
        snprintf(fake.setup, sizeof fake.setup, "%s", options->setup ? options->setup : "");
        snprintf(fake.password, sizeof fake.password, "%s",
                 options->password ? options->password : "");
    }
    *out = &it->base;
    return HF_OK;
}

static void fake_drop(void *extra)
{
    free(extra);
    atomic_fetch_add(&fake.dropped, 1);
}

/* ---- helpers ---- */

static hf_pool *pool;

static int fresh_fake(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static void pool_make(size_t max)
{
    expect(HF_OK,
           hf_pool_new(&fake_driver, "fake:", &(hf_db_options){0}, max, fake_drop, &pool, &err),
           err);
}

static hf_pooled *pool_take(void)
{
    hf_pooled *it = NULL;
    expect(HF_OK, hf_pool_take(pool, 0, &it, &err), err);
    return it;
}

static fake_db *fake_of(hf_pooled *it)
{
    return (fake_db *)it->db;
}

static void unmake(void)
{
    hf_pool_close(pool);
    expect_int(atomic_load(&fake.open), 0);
}

/* ---- one thread ---- */

static void it_opens_when_asked_and_keeps_its_own_copies(void **state)
{
    (void)state;
    char url[] = "fake:here", setup[] = "SET a", password[] = "geheim";
    hf_db_options options = {.setup = setup, .password = password};
    expect(HF_OK, hf_pool_new(&fake_driver, url, &options, 2, NULL, &pool, &err), err);
    expect_int(atomic_load(&fake.opened), 0);
    memset(url, '?', sizeof url - 1);
    memset(setup, '?', sizeof setup - 1);
    memset(password, '?', sizeof password - 1);
    hf_pool_give(pool, pool_take());
    expect_text(fake.url, "fake:here");
    expect_text(fake.setup, "SET a");
    expect_text(fake.password, "geheim");
    unmake();
    hf_pool_close(NULL);
}

static void the_one_used_last_comes_first_with_what_was_kept_with_it(void **state)
{
    (void)state;
    pool_make(3);
    hf_pooled *a = pool_take(), *b = pool_take(), *c = pool_take();
    a->extra = malloc(1);
    b->extra = malloc(1);
    hf_pool_give(pool, a);
    hf_pool_give(pool, c);
    hf_pool_give(pool, b);
    void *kept = b->extra;
    expect_true(pool_take() == b && b->extra == kept);
    expect_true(pool_take() == c);
    hf_pool_give(pool, c);
    expect_true(pool_take() == c);
    expect_true(pool_take() == a);
    expect_int(atomic_load(&fake.opened), 3);
    hf_pool_give(pool, a);
    hf_pool_give(pool, b);
    hf_pool_give(pool, c);
    unmake();
    expect_int(atomic_load(&fake.dropped), 2);
}

static void all_in_use_is_busy_after_the_wait(void **state)
{
    (void)state;
    pool_make(2);
    hf_pooled *a = pool_take(), *b = pool_take(), *none = NULL;
    expect(HF_BUSY, hf_pool_take(pool, 0, &none, &err), err);
    expect_in_time(500000, "a wait of 100 ms", {
        int64_t from_us = hf_seam.boot_us();
        expect(HF_BUSY, hf_pool_take(pool, 100000, &none, &err), err);
        expect_true(none == NULL && hf_seam.boot_us() - from_us >= 95000);
    });
    expect_contains(err.message, "All 2 connections");
    hf_pool_give(pool, a);
    expect_true(pool_take() == a);
    hf_pool_give(pool, a);
    hf_pool_give(pool, b);
    unmake();
}

static void what_is_lost_or_stuck_is_closed_when_given_back(void **state)
{
    (void)state;
    pool_make(1);
    hf_pooled *it = pool_take();
    it->extra = malloc(1);
    fake_of(it)->alive = false;
    hf_pool_give(pool, it);
    expect_int(atomic_load(&fake.open), 0);
    expect_int(atomic_load(&fake.dropped), 1);
    it = pool_take();
    fake_of(it)->in_transaction = true;
    hf_pool_give(pool, it);
    expect_int(atomic_load(&fake.open), 1);
    it = pool_take();
    expect_true(!fake_of(it)->in_transaction);
    fake_of(it)->in_transaction = fake_of(it)->stuck = true;
    hf_pool_give(pool, it);
    expect_int(atomic_load(&fake.open), 0);
    hf_pool_give(pool, pool_take());
    expect_int(atomic_load(&fake.opened), 3);
    unmake();
}

static void what_went_bad_while_idle_costs_no_error(void **state)
{
    (void)state;
    pool_make(3);
    hf_pooled *all[] = {pool_take(), pool_take(), pool_take()};
    for (int i = 0; i < 3; i++)
        hf_pool_give(pool, all[i]);
    fake_of(all[1])->fresh = fake_of(all[2])->fresh = false;
    expect_true(pool_take() == all[0]);
    expect_int(atomic_load(&fake.open), 1);
    hf_pooled *b = pool_take(), *c = pool_take(), *none = NULL;
    expect_int(atomic_load(&fake.opened), 5);
    expect(HF_BUSY, hf_pool_take(pool, 0, &none, &err), err);
    fake_of(b)->fresh = fake_of(c)->fresh = fake_of(all[0])->fresh = false;
    hf_pool_give(pool, b);
    hf_pool_give(pool, c);
    hf_pool_give(pool, all[0]);
    atomic_store(&fake.refuse, true);
    expect(HF_UNAVAILABLE, hf_pool_take(pool, 0, &none, &err), err);
    expect_int(atomic_load(&fake.open), 0);
    expect(HF_UNAVAILABLE, hf_pool_take(pool, 0, &none, &err), err);
    atomic_store(&fake.refuse, false);
    hf_pooled *again[] = {pool_take(), pool_take(), pool_take()};
    for (int i = 0; i < 3; i++)
        hf_pool_give(pool, again[i]);
    unmake();
}

static int64_t clock_us;

static int64_t pretended_clock(void)
{
    return clock_us;
}

static void what_is_idle_for_long_is_closed(void **state)
{
    (void)state;
    int64_t (*real)(void) = hf_seam.boot_us;
    hf_seam.boot_us = pretended_clock;
    clock_us = 1000000000;
    pool_make(4);
    hf_pooled *all[] = {pool_take(), pool_take(), pool_take()};
    hf_pool_give(pool, all[0]);
    clock_us += 15000000;
    hf_pool_give(pool, all[1]);
    expect_int(atomic_load(&fake.open), 3);
    clock_us += 6000000;
    hf_pool_give(pool, all[2]); /* the first is too old by now */
    expect_int(atomic_load(&fake.open), 2);
    clock_us += 19000000;
    expect_true(pool_take() == all[2]); /* and now the second */
    expect_int(atomic_load(&fake.open), 1);
    hf_pool_give(pool, all[2]);
    clock_us += 21000000;
    hf_pooled *it = pool_take();
    expect_int(atomic_load(&fake.opened), 4);
    expect_int(atomic_load(&fake.open), 1);
    hf_pool_give(pool, it);
    unmake();
    hf_seam.boot_us = real;
}

/* ... however much it is used. */
static void what_is_too_old_is_not_taken_any_more(void **state)
{
    (void)state;
    int64_t (*real)(void) = hf_seam.boot_us;
    hf_seam.boot_us = pretended_clock;
    clock_us = 1000000000;
    pool_make(1);
    hf_pool_age(pool, 60000000);
    hf_pooled *it = pool_take();
    for (int i = 1; i < 6; i++) {
        clock_us += 10000000;
        hf_pool_give(pool, it);
        expect_true(pool_take() == it);
    }
    expect_int(atomic_load(&fake.opened), 1);
    clock_us += 10000000;
    hf_pool_give(pool, it);
    it = pool_take();
    expect_int(atomic_load(&fake.opened), 2);
    expect_int(atomic_load(&fake.open), 1);
    hf_pool_give(pool, it);
    unmake();
    hf_seam.boot_us = real;
}

/* A place on a server that has no more of them would be gone. */
static void without_such_a_bound_it_is_taken_however_old(void **state)
{
    (void)state;
    int64_t (*real)(void) = hf_seam.boot_us;
    hf_seam.boot_us = pretended_clock;
    clock_us = 1000000000;
    pool_make(1);
    hf_pooled *it = pool_take();
    for (int i = 0; i < 100; i++) {
        clock_us += 10000000;
        hf_pool_give(pool, it);
        expect_true(pool_take() == it);
    }
    hf_pool_give(pool, it);
    unmake();
    hf_seam.boot_us = real;
}

static void after_a_renewal_none_of_the_old_is_taken(void **state)
{
    (void)state;
    pool_make(3);
    hf_pooled *all[] = {pool_take(), pool_take(), pool_take()};
    hf_pool_give(pool, all[0]);
    hf_pool_give(pool, all[1]);
    hf_pool_renew(pool);
    hf_pool_give(pool, all[2]); /* it was in use meanwhile */
    hf_pooled *it = pool_take();
    expect_int(atomic_load(&fake.opened), 4);
    expect_int(atomic_load(&fake.open), 1);
    hf_pool_give(pool, it);
    expect_true(pool_take() == it);
    hf_pool_give(pool, it);
    unmake();
}

/* ---- several threads ---- */

typedef struct taker {
    pthread_t thread;
    atomic_int tid; /* 0: it does not run yet */
    atomic_int *turn;
    int got_turn;
    hf_status status;
} taker;

static void *take_in_turn(void *context)
{
    taker *me = context;
    hf_pooled *it = NULL;
    atomic_store(&me->tid, gettid());
    me->status = hf_pool_take(pool, 60000000, &it, NULL);
    me->got_turn = atomic_fetch_add(me->turn, 1);
    if (it != NULL)
        hf_pool_give(pool, it);
    return NULL;
}

static void who_waits_longest_is_served_first(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    taker takers[COUNT];
    atomic_int turn = 0;
    for (int lost = 0; lost < 2; lost++) {
        memset(&fake, 0, sizeof fake);
        pool_make(1);
        atomic_store(&turn, 0);
        hf_pooled *it = pool_take(), *none = NULL;
        for (int i = 0; i < COUNT; i++) {
            takers[i] = (taker){.turn = &turn};
            pthread_create(&takers[i].thread, NULL, take_in_turn, &takers[i]);
            await_asleep(&takers[i].tid);
        }
        expect(HF_BUSY, hf_pool_take(pool, 1000, &none, &err), err);
        fake_of(it)->alive = !lost; /* then it is the place that is passed on */
        hf_pool_give(pool, it);
        for (int i = 0; i < COUNT; i++) {
            pthread_join(takers[i].thread, NULL);
            expect_int(takers[i].status, HF_OK);
            expect_int(takers[i].got_turn, i);
        }
        expect_int(atomic_load(&fake.opened), 1 + lost);
        unmake();
    }
}

static void a_failed_connect_passes_its_place_on(void **state)
{
    (void)state;
    atomic_int turn = 0;
    taker takers[3];
    pool_make(1);
    fake.slow_us = 50000;
    atomic_store(&fake.refuse, true);
    for (int i = 0; i < 3; i++) {
        takers[i] = (taker){.turn = &turn};
        pthread_create(&takers[i].thread, NULL, take_in_turn, &takers[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(takers[i].thread, NULL);
        expect_int(takers[i].status, HF_UNAVAILABLE);
    }
    atomic_store(&fake.refuse, false);
    hf_pool_give(pool, pool_take());
    unmake();
}

static void *hammer(void *context)
{
    unsigned dice = *(unsigned *)context;
    unsigned *busy = context;
    *busy = 0;
    for (int i = 0; i < 3000; i++) {
        hf_pooled *it = NULL;
        dice = dice * 1103515245u + 12345u;
        hf_status status = hf_pool_take(pool, (dice >> 16) % 4 == 0 ? 50 : 5000000, &it, NULL);
        if (status != HF_OK) {
            ++*busy;
            continue;
        }
        fake_db *db = fake_of(it);
        if (atomic_exchange(&db->taken, true))
            abort(); /* two have it */
        if (it->extra == NULL)
            it->extra = calloc(1, 1);
        db->fresh = (dice >> 18) % 16 != 0;
        db->alive = (dice >> 20) % 16 != 0;
        db->in_transaction = (dice >> 22) % 4 == 0;
        atomic_store(&db->taken, false);
        hf_pool_give(pool, it);
    }
    return NULL;
}

static void many_threads_share_few_connections(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    pthread_t threads[COUNT];
    unsigned seeds[COUNT];
    pool_make(3);
    for (unsigned i = 0; i < COUNT; i++) {
        seeds[i] = i * 7919 + 1;
        pthread_create(&threads[i], NULL, hammer, &seeds[i]);
    }
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    expect_true(atomic_load(&fake.most) <= 3);
    hf_pooled *all[] = {pool_take(), pool_take(), pool_take()};
    for (int i = 0; i < 3; i++)
        hf_pool_give(pool, all[i]);
    unmake();
}

/* ---- a real server ---- */

static hf_status use(hf_pool *real)
{
    hf_pooled *it = NULL;
    char answer[32];
    hf_status status = hf_pool_take(real, 2000000, &it, &err);
    if (status != HF_OK)
        return status;
    if (it->extra == NULL)
        it->extra = calloc(1, 1);
    status = hf_db_ask(it->db, "SELECT 42", answer, sizeof answer, &err);
    if (status == HF_OK && strcmp(answer, "42") != 0)
        status = HF_INTERNAL;
    hf_pool_give(real, it);
    return status;
}

static void it_heals_after_the_server_was_restarted(void **state)
{
    (void)state;
    hf_pool *real = NULL;
    hf_pooled *held[3] = {NULL};
    expect(HF_OK,
           hf_pool_new(&hf_db_postgres, own_postgres_url("postgres", "postgres", ""),
                       &(hf_db_options){0}, 3, free, &real, &err),
           err);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            expect(HF_OK, hf_pool_take(real, 0, &held[i], &err), err);
        hf_pool_give(real, held[1]);
        hf_pool_give(real, held[2]);
        run(held[0]->db, "BEGIN");
        instance_restart(own_postgres(), INSTANCE_FAST);
        expect(HF_OK, use(real), err); /* the idle ones are seen to be gone */
        expect(HF_UNAVAILABLE, hf_db_run(held[0]->db, "SELECT 1", &err), err);
        hf_pool_give(real, held[0]);
        expect(HF_OK, use(real), err);
    }
    instance_down(own_postgres(), INSTANCE_FAST);
    expect(HF_UNAVAILABLE, use(real), err);
    expect(HF_UNAVAILABLE, use(real), err);
    instance_up(own_postgres());
    expect(HF_OK, use(real), err);
    hf_pool_close(real);
}

static void *use_often(void *context)
{
    hf_status status = HF_OK;
    for (int i = 0; i < 200 && status == HF_OK; i++) {
        hf_pooled *it = NULL;
        char answer[32];
        status = hf_pool_take(context, 5000000, &it, NULL);
        if (status != HF_OK)
            break;
        status = hf_db_ask(it->db, "SELECT 42", answer, sizeof answer, NULL);
        hf_pool_give(context, it);
    }
    return status == HF_OK ? context : NULL;
}

static void threads_share_real_connections(void **state)
{
    (void)state;
    hf_pool *real = NULL;
    pthread_t threads[6];
    void *good = NULL;
    expect(HF_OK,
           hf_pool_new(&hf_db_postgres, own_postgres_url("postgres", "postgres", ""),
                       &(hf_db_options){0}, 3, NULL, &real, &err),
           err);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, use_often, real);
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], &good);
        expect_true(good != NULL);
    }
    hf_pool_close(real);
}

#define FAKE(test) cmocka_unit_test_setup(test, fresh_fake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE(it_opens_when_asked_and_keeps_its_own_copies),
        FAKE(the_one_used_last_comes_first_with_what_was_kept_with_it),
        FAKE(all_in_use_is_busy_after_the_wait),
        FAKE(what_is_lost_or_stuck_is_closed_when_given_back),
        FAKE(what_went_bad_while_idle_costs_no_error),
        FAKE(what_is_idle_for_long_is_closed),
        FAKE(what_is_too_old_is_not_taken_any_more),
        FAKE(without_such_a_bound_it_is_taken_however_old),
        FAKE(after_a_renewal_none_of_the_old_is_taken),
        FAKE(who_waits_longest_is_served_first),
        FAKE(a_failed_connect_passes_its_place_on),
        FAKE(many_threads_share_few_connections),
        cmocka_unit_test(it_heals_after_the_server_was_restarted),
        cmocka_unit_test(threads_share_real_connections),
    };
    return cmocka_run_group_tests_name("pool", tests, own_postgres_start, own_postgres_end);
}
