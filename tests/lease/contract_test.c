/* SPDX-License-Identifier: MIT */
/* The contract of leases, on every backend: what lease.h says, with real servers. */
#include "lease/inside.h"
#include "lease/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base; /* the URL that the tests run on now */

static hf_lease contract_take(scene *s, const char *key, int64_t hold_us)
{
    hf_lease lease;
    expect(HF_OK, hf_lease_try_acquire(s->a, key, 0, hold_us, &lease, &s->err), s->err);
    return lease;
}

static void a_held_key_is_refused_and_the_holder_is_named(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "wallet:7", 60 * SEC);
    expect_true(hf_lease_is_held(&lease));
    expect(HF_TIMEOUT, elsewhere(s->b, "wallet:7", 0, &s->err), s->err);
    expect_contains(s->err.message, "\"wallet:7\" is held by");
    expect(HF_TIMEOUT, elsewhere(s->a, "wallet:7", 0, &s->err), s->err);
    expect_contains(s->err.message, "by another thread of this process since");
    expect(HF_OK, elsewhere(s->b, "wallet:8", 0, &s->err), s->err);
    hf_lease_close(&lease);
    expect_true(!hf_lease_is_held(&lease));
    expect(HF_OK, elsewhere(s->b, "wallet:7", 0, &s->err), s->err);
    expect(HF_OK, elsewhere(s->a, "wallet:7", 0, &s->err), s->err);
    scene_close(s);
}

static bool since_is_told(scene *s, const char *key)
{
    hf_error err = {0};
    expect(HF_TIMEOUT, elsewhere(s->b, key, 0, &err), err);
    return strstr(err.message, " since ") != NULL && strstr(err.message, " UTC") != NULL;
}

/* Of a job at once; of others a pulse after the grant at the latest. */
static void a_refusal_says_since_when(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease job = contract_take(s, "job", 3600 * SEC);
    expect_true(since_is_told(s, "job"));
    if (strncmp(base, "postgres", 8) == 0) /* there of what is alone on its connection */
        hf_lease_close(&job);
    hf_lease lease = contract_take(s, "k", 50 * SEC);
    expect_true(eventually(since_is_told(s, "k")));
    hf_lease_close(&lease);
    hf_lease_close(&job);
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    expect(HF_OK, elsewhere(s->b, "job", 0, &s->err), s->err);
    scene_close(s);
}

static void a_wait_ends_when_the_lease_is_given_back(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    person other = {.leases = s->b, .key = "k", .wait_us = -1},
           own = {.leases = s->a, .key = "k", .wait_us = 60 * SEC};
    person_start(&other);
    person_start(&own);
    nap(50 * MS);
    expect_true(!atomic_load(&other.done) && !atomic_load(&own.done));
    hf_lease_close(&lease);
    person_join(&other);
    person_join(&own);
    expect(HF_OK, other.status, other.err);
    expect(HF_OK, own.status, own.err);
    scene_close(s);
}

static void a_wait_that_is_over_is_a_timeout(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    int64_t began_us = now_us();
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 30 * MS, &s->err), s->err);
    expect_true(now_us() - began_us >= 30 * MS);
    expect_contains(s->err.message, "is over");
    expect(HF_TIMEOUT, elsewhere(s->a, "k", 30 * MS, &s->err), s->err);
    expect_true(hf_lease_is_held(&lease));
    hf_lease_close(&lease);
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    scene_close(s);
}

static void a_thread_reenters_and_only_the_last_close_releases(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease outer = contract_take(s, "k", 60 * SEC), inner = contract_take(s, "k", MS),
             third = contract_take(s, "k", 60 * SEC);
    expect_int(hf_lease_fence(&inner), hf_lease_fence(&outer));
    nap(20 * MS); /* the first max_hold governs */
    expect_true(hf_lease_is_held(&outer) && hf_lease_is_held(&inner));
    hf_lease_close(&inner);
    hf_lease_close(&inner); /* counts once */
    hf_lease_close(&outer);
    hf_lease_close(&outer);
    expect_true(!hf_lease_is_held(&inner) && !hf_lease_is_held(&outer) && hf_lease_is_held(&third));
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&third);
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease fresh = contract_take(s, "k", 60 * SEC); /* whatever it uses again of the old ones */
    hf_lease_close(&third);
    hf_lease_close(&inner);
    expect_true(hf_lease_is_held(&fresh) && !hf_lease_is_held(&third));
    hf_lease_close(&fresh);
    scene_close(s);
}

static void the_watchdog_ends_a_lease_and_closing_it_is_harmless(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 40 * MS), outer = contract_take(s, "other", 60 * SEC);
    person waits = {.leases = s->b, .key = "k", .wait_us = 20 * SEC};
    person_start(&waits);
    expect_true(eventually(!hf_lease_is_held(&lease)));
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    expect_true(eventually(atomic_load(&s->expired) == 1));
    expect_text(s->key, "k");
    expect_contains(s->text, "max_hold");
    hf_lease again = contract_take(s, "k", 60 * SEC);
    hf_lease_close(&lease); /* not that of the new one */
    expect_true(hf_lease_is_held(&again) && hf_lease_is_held(&outer));
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&again);
    hf_lease_close(&outer);
    expect_int(atomic_load(&s->lost), 0);
    scene_close(s);
}

typedef struct brief {
    hf_leases *leases;
    int64_t hold_us;
    hf_lease lease;
    hf_status status;
    hf_error err;
    atomic_bool taken;
} brief;

static void *brief_run(void *context)
{
    brief *it = context;
    it->status = hf_lease_try_acquire(it->leases, "k", 10 * SEC, it->hold_us, &it->lease, &it->err);
    atomic_store(&it->taken, true);
    nap(2 * MS);
    hf_lease_close(&it->lease);
    return NULL;
}

/* Both come at about the same time; whoever comes second must not give back what is taken next. */
static void of_the_watchdog_and_a_close_one_gives_it_back(void **state)
{
    (void)state;
    enum { TIMES = 40 };
    scene *s = scene_open(base);
    for (int i = 0; i < TIMES; i++) {
        brief first = {.leases = s->a, .hold_us = 2 * MS + i % 5 * 200};
        hf_lease next;
        pthread_t thread;
        pthread_create(&thread, NULL, brief_run, &first);
        expect_true(eventually(atomic_load(&first.taken)));
        expect(HF_OK, hf_lease_try_acquire(s->b, "k", 10 * SEC, 60 * SEC, &next, &s->err), s->err);
        pthread_join(thread, NULL);
        expect(HF_OK, first.status, first.err);
        expect_true(hf_lease_is_held(&next) && !hf_lease_is_held(&first.lease));
        expect(HF_TIMEOUT, elsewhere(s->a, "k", 0, &s->err), s->err);
        hf_lease_close(&next);
        hf_lease_close(&first.lease);
    }
    expect_true(atomic_load(&s->expired) <= TIMES);
    expect_int(atomic_load(&s->lost), 0);
    scene_close(s);
}

static void a_forgotten_lease_is_told_of_once(void **state)
{
    (void)state;
    scene *s = scene_open_with(base, &(hf_leases_options){.leak_after_us = 20 * MS});
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    expect_true(eventually(atomic_load(&s->leaking) == 1));
    nap(30 * MS);
    expect_int(atomic_load(&s->leaking), 1);
    expect_true(hf_lease_is_held(&lease));
    hf_lease_close(&lease);
    scene_close(s);
}

static void a_wait_can_be_cancelled_from_another_thread(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    person waits[] = {{.leases = s->b, .key = "k", .wait_us = -1},
                      {.leases = s->a, .key = "k", .wait_us = -1}};
    for (int i = 0; i < 2; i++) {
        expect_true(!hf_lease_cancel(waits[i].leases, &waits[i].lease));
        person_start(&waits[i]);
        expect_true(eventually(hf_lease_cancel(waits[i].leases, &waits[i].lease)));
        person_join(&waits[i]);
        expect(HF_TIMEOUT, waits[i].status, waits[i].err);
        expect_contains(waits[i].err.message, "cancelled");
    }
    hf_lease_close(&lease);
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    scene_close(s);
}

static int contract_waiting(hf_leases *leases)
{
    int count = 0;
    pthread_mutex_lock(&leases->mutex);
    for (lease_waiter *it = LIST_FIRST(&leases->waiters); it != NULL; it = LIST_NEXT(it, of_all))
        count++;
    pthread_mutex_unlock(&leases->mutex);
    return count;
}

static void waiters_of_a_process_are_served_in_the_order_they_came(void **state)
{
    (void)state;
    enum { PEOPLE = 6 };
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    person line[PEOPLE] = {0};
    atomic_int order = 0;
    for (int i = 0; i < PEOPLE; i++) {
        line[i] = (person){.leases = s->a, .key = "k", .wait_us = -1, .order = &order};
        person_start(&line[i]);
        expect_true(eventually(contract_waiting(s->a) == i + 1));
    }
    hf_lease_close(&lease);
    for (int i = 0; i < PEOPLE; i++) {
        person_join(&line[i]);
        expect(HF_OK, line[i].status, line[i].err);
        expect_int(line[i].place, i);
    }
    scene_close(s);
}

/* Two providers with two connections each: in one a thread waits for what the other holds, and the
 * other way round. If a wait took the connection that holds something, nothing could be given back.
 */
static void a_wait_keeps_no_other_lease_from_being_given_back(void **state)
{
    (void)state;
    scene *s = scene_open_with(base, &(hf_leases_options){.pool_max = 2, .pulse_us = 200 * MS});
    hf_lease one = contract_take(s, "one", 60 * SEC), two;
    expect(HF_OK, hf_lease_acquire(s->b, "two", 60 * SEC, &two, &s->err), s->err);
    person waits[] = {{.leases = s->a, .key = "two", .wait_us = 30 * SEC},
                      {.leases = s->b, .key = "one", .wait_us = 30 * SEC}};
    person_start(&waits[0]);
    person_start(&waits[1]);
    nap(50 * MS);
    expect_true(!atomic_load(&waits[0].done) && !atomic_load(&waits[1].done));
    hf_lease_close(&one);
    person_join(&waits[1]);
    expect(HF_OK, waits[1].status, waits[1].err);
    expect_true(!atomic_load(&waits[0].done));
    hf_lease_close(&two);
    person_join(&waits[0]);
    expect(HF_OK, waits[0].status, waits[0].err);
    scene_close(s);
}

/* Of the rows of a store they are tables of their own. */
static void a_namespace_keeps_keys_apart(void **state)
{
    (void)state;
    if (strncmp(base, "memory:", 7) == 0 || strncmp(base, "sqlite:", 7) == 0)
        return;
    scene *s = scene_open(base), *apart = scene_open(base);
    expect_true(strcmp(s->url, apart->url) != 0);
    hf_lease lease = contract_take(s, "k", 60 * SEC), other = contract_take(apart, "k", 60 * SEC);
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&lease);
    expect_true(hf_lease_is_held(&other));
    expect(HF_TIMEOUT, elsewhere(apart->b, "k", 0, &s->err), s->err);
    hf_lease_close(&other);
    scene_close(apart);
    scene_close(s);
}

static void a_fence_grows_with_every_grant(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    /* At least the time, so that it grows over whatever forgets: the clocks may differ a little. */
    int64_t last = (int64_t)wall.tv_sec * SEC - 60 * SEC;
    for (int i = 0; i < 6; i++) {
        hf_lease lease;
        expect(HF_OK, hf_lease_try_acquire(i % 2 == 0 ? s->a : s->b, "k", 0, SEC, &lease, &s->err),
               s->err);
        int64_t fence = hf_lease_fence(&lease);
        expect_true(fence > last);
        last = fence;
        hf_lease_close(&lease);
        expect_int(hf_lease_fence(&lease), 0);
    }
    scene_close(s);
}

static void bad_input_gets_a_sentence_and_takes_nothing(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease;
    char *huge = calloc(1, 1 << 20);
    memset(huge, 'x', (1 << 20) - 1);
    char longest[HF_LEASE_KEY_SIZE] = "";
    memset(longest, 'y', HF_LEASE_KEY_MAX);
    expect(HF_INVALID, hf_lease_acquire(s->a, "", SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, NULL, SEC, &lease, &s->err), s->err);
    expect(HF_TOO_LARGE, hf_lease_acquire(s->a, huge, SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "a\nb", SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "\xff", SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "k", 0, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "k", -1, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "k", INT64_MAX, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_try_acquire(s->a, "k", -1, SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_try_acquire(s->a, "k", INT64_MAX, SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_try_acquire(s->a, "k", INT64_MIN, SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(NULL, "k", SEC, &lease, &s->err), s->err);
    expect(HF_INVALID, hf_lease_acquire(s->a, "k", SEC, NULL, &s->err), s->err);
    hf_lease_close(NULL);
    hf_lease_close(&(hf_lease){0});
    expect_true(!hf_lease_is_held(NULL) && !hf_lease_is_held(&(hf_lease){0}));
    expect_true(!hf_lease_cancel(s->a, NULL) && !hf_lease_cancel(NULL, &lease));
    expect(HF_OK, hf_lease_try_acquire(s->a, longest, 0, 1, &lease, &s->err),
           s->err); /* a microsecond */
    hf_lease_close(&lease);
    expect(HF_OK, hf_lease_try_acquire(s->a, "ключ", 0, HF_DURATION_MAX_US, &lease, &s->err),
           s->err);
    expect_true(hf_lease_is_held(&lease));
    hf_lease_close(&lease);
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    free(huge);
    scene_close(s);
}

static void *close_it(void *lease)
{
    hf_lease_close(lease);
    return NULL;
}

static void another_thread_may_close_a_lease(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC);
    pthread_t thread;
    pthread_create(&thread, NULL, close_it, &lease);
    pthread_join(thread, NULL);
    expect_true(!hf_lease_is_held(&lease));
    expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&lease);
    scene_close(s);
}

static void a_stopped_provider_gives_all_back_and_answers_every_call(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease = contract_take(s, "k", 60 * SEC), again;
    person waits = {.leases = s->a, .key = "k", .wait_us = -1};
    person_start(&waits);
    expect_true(eventually(atomic_load(&waits.begun)));
    hf_leases_stop(s->a);
    hf_leases_stop(s->a);
    person_join(&waits);
    expect(HF_INVALID, waits.status, waits.err);
    expect_true(!hf_lease_is_held(&lease));
    expect(HF_INVALID, hf_lease_acquire(s->a, "k", SEC, &again, &s->err), s->err);
    expect_contains(s->err.message, "stopped");
    if (!s->local)
        expect(HF_OK, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&lease);
    scene_close(s);
    hf_leases_close(NULL);
    hf_leases_stop(NULL);
}

/* ---- exclusion ---- */

enum { CROWD = 8, KEYS = 3 };

typedef struct crowd {
    scene *s;
    int rounds;
    int counters[KEYS]; /* changed only by who holds the lease of that number */
    atomic_int granted, overlaps, inside[KEYS];
} crowd;

static void *crowd_run(void *context)
{
    crowd *all = context;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    hf_error err;
    for (int i = 0; i < all->rounds; i++) {
        char key[16];
        hf_lease lease;
        int at = rand_r(&seed) % KEYS;
        snprintf(key, sizeof key, "key %d", at);
        if (hf_lease_acquire(rand_r(&seed) % 2 ? all->s->a : all->s->b, key, 60 * SEC, &lease,
                             &err) != HF_OK)
            continue;
        if (atomic_fetch_add(&all->inside[at], 1) != 0)
            atomic_fetch_add(&all->overlaps, 1);
        all->counters[at]++;
        atomic_fetch_add(&all->granted, 1);
        atomic_fetch_sub(&all->inside[at], 1);
        hf_lease_close(&lease);
    }
    return NULL;
}

static void no_two_hold_a_key_at_once_and_no_wake_up_is_lost(void **state)
{
    (void)state;
    const char *rounds = getenv("HF_TEST_ROUNDS");
    crowd all = {.s = scene_open(base),
                 .rounds = rounds != NULL ? (int)strtol(rounds, NULL, 10) : 100};
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, crowd_run, &all);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    expect_int(all.overlaps, 0);
    expect_int(all.granted, CROWD * all.rounds);
    int sum = 0;
    for (int i = 0; i < KEYS; i++)
        sum += all.counters[i];
    expect_int(sum, all.granted);
    scene_close(all.s);
}

static void unknown_urls_and_options_get_a_sentence(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_error err = {0};
    char *huge = calloc(1, 10000);
    memset(huge, 'x', 9999);
    expect(HF_INVALID, hf_leases_open(NULL, NULL, &leases, &err), err);
    expect(HF_INVALID, hf_leases_open("", NULL, &leases, &err), err);
    expect(HF_INVALID, hf_leases_open(huge, NULL, &leases, &err), err);
    expect(HF_INVALID, hf_leases_open("gopher://x", NULL, &leases, &err), err);
    expect(HF_INVALID,
           hf_leases_open("memory:", &(hf_leases_options){.pool_max = 1}, &leases, &err), err);
    expect(HF_INVALID,
           hf_leases_open("memory:", &(hf_leases_options){.pool_max = 1000}, &leases, &err), err);
    expect(HF_INVALID,
           hf_leases_open("memory:", &(hf_leases_options){.pulse_us = -1}, &leases, &err), err);
    expect(HF_INVALID,
           hf_leases_open("memory:", &(hf_leases_options){.leak_after_us = -1}, &leases, &err),
           err);
    expect_true(leases == NULL);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_key_is_refused_and_the_holder_is_named),
        cmocka_unit_test(a_refusal_says_since_when),
        cmocka_unit_test(a_wait_ends_when_the_lease_is_given_back),
        cmocka_unit_test(a_wait_that_is_over_is_a_timeout),
        cmocka_unit_test(a_thread_reenters_and_only_the_last_close_releases),
        cmocka_unit_test(the_watchdog_ends_a_lease_and_closing_it_is_harmless),
        cmocka_unit_test(of_the_watchdog_and_a_close_one_gives_it_back),
        cmocka_unit_test(a_forgotten_lease_is_told_of_once),
        cmocka_unit_test(a_wait_can_be_cancelled_from_another_thread),
        cmocka_unit_test(waiters_of_a_process_are_served_in_the_order_they_came),
        cmocka_unit_test(a_wait_keeps_no_other_lease_from_being_given_back),
        cmocka_unit_test(a_namespace_keeps_keys_apart),
        cmocka_unit_test(a_fence_grows_with_every_grant),
        cmocka_unit_test(bad_input_gets_a_sentence_and_takes_nothing),
        cmocka_unit_test(another_thread_may_close_a_lease),
        cmocka_unit_test(a_stopped_provider_gives_all_back_and_answers_every_call),
        cmocka_unit_test(no_two_hold_a_key_at_once_and_no_wake_up_is_lost),
    };
    const struct CMUnitTest once[] = {cmocka_unit_test(unknown_urls_and_options_get_a_sentence)};
    int failed = cmocka_run_group_tests_name("leases", once, NULL, NULL);
    for (const char *const *url = scene_urls(); *url != NULL; url++) {
        char name[32];
        base = *url;
        snprintf(name, sizeof name, "leases on %.*s", (int)strcspn(base, ":"), base);
        failed += _cmocka_run_group_tests(name, tests, sizeof tests / sizeof *tests, NULL, NULL);
    }
    return failed;
}
