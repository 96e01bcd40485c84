/* SPDX-License-Identifier: MIT */
/* Limits: rates, bursts, what is under way, and who is forgotten; and the table beneath, against a
 * plain list. */
#include <server/access/lru.h>
#include <server/access/rate_limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>

#define SECOND INT64_C(1000000)

static rate_limits *limits_of(rate_limits_rule rule, size_t most)
{
    rate_limits *all =
        rate_limits_new((rate_limits_rule[RATE_LIMITS_KINDS]){rule, rule, rule}, most);
    expect_true(all != NULL);
    return all;
}

static bool limits_takes(rate_limits *all, const char *id, int64_t now_us)
{
    int64_t later_us;
    bool ok = rate_limits_take(all, RATE_LIMITS_TOKEN, id, 1, now_us, &later_us);
    expect_true(ok == (later_us == 0));
    return ok;
}

static void a_burst_is_taken_at_once_and_comes_back_at_the_rate(void **state)
{
    (void)state;
    rate_limits *all = limits_of((rate_limits_rule){.every_us = SECOND / 10, .burst = 5}, 0);
    int64_t now_us = 7 * SECOND, later_us;
    for (int i = 0; i < 5; i++)
        expect_true(limits_takes(all, "a", now_us));
    expect_true(!rate_limits_take(all, RATE_LIMITS_TOKEN, "a", 1, now_us, &later_us));
    expect_int(later_us, SECOND / 10);
    expect_true(limits_takes(all, "b", now_us)); /* others are not concerned */
    expect_true(rate_limits_take(all, RATE_LIMITS_SESSION, "a", 1, now_us, &later_us));
    expect_true(
        !rate_limits_take(all, RATE_LIMITS_TOKEN, "a", 1, now_us + SECOND / 10 - 1, &later_us));
    expect_int(later_us, 1);
    expect_true(limits_takes(all, "a", now_us + SECOND / 10));
    expect_true(!limits_takes(all, "a", now_us + SECOND / 10));
    expect_int(rate_limits_refused(all, RATE_LIMITS_TOKEN, "a"), 3);
    expect_int(rate_limits_refused(all, RATE_LIMITS_TOKEN, "a"), 0);
    for (int i = 0; i < 5; i++)
        expect_true(limits_takes(all, "a", now_us + 100 * SECOND));
    expect_true(!limits_takes(all, "a", now_us + 100 * SECOND));
    rate_limits_free(all);
}

/* Over any stretch of time no more than a burst and what came back meanwhile; and who waits as told
 * is let through. */
static void random_takers_stay_within_the_rate(void **state)
{
    (void)state;
    unsigned dice = 12345;
    for (unsigned burst = 0; burst < 6; burst++) {
        int64_t every_us = 1000, now_us = 0, most = burst == 0 ? 1 : burst;
        rate_limits *all = limits_of((rate_limits_rule){.every_us = every_us, .burst = burst}, 0);
        /* the model: a bucket that fills */
        int64_t bucket_us = most * every_us, last_us = 0, later_us;
        for (int i = 0; i < 20000; i++) {
            dice = dice * 1103515245u + 12345u;
            now_us += (dice >> 16) % 1500;
            size_t count = (dice >> 8) % 8; /* none is one, more than the burst is the burst */
            int64_t cost = count == 0 ? 1 : (int64_t)count < most ? (int64_t)count : most;
            bucket_us += now_us - last_us;
            if (bucket_us > most * every_us)
                bucket_us = most * every_us;
            last_us = now_us;
            bool model = bucket_us >= cost * every_us;
            expect_int(rate_limits_take(all, RATE_LIMITS_PEER, "x", count, now_us, &later_us),
                       model);
            if (model)
                bucket_us -= cost * every_us;
            else
                expect_int(later_us, cost * every_us - bucket_us);
            if (model && dice % 3 == 0) {
                rate_limits_give(all, RATE_LIMITS_PEER, "x");
                bucket_us += every_us;
            }
        }
        rate_limits_free(all);
    }
}

static void many_are_taken_at_once_or_none_and_a_full_bucket_lets_everyone_through(void **state)
{
    (void)state;
    rate_limits *all = limits_of((rate_limits_rule){.every_us = SECOND / 10, .burst = 10}, 0);
    int64_t later_us;
    expect_true(rate_limits_take(all, RATE_LIMITS_PEER, "a", 7, 0, &later_us));
    expect_true(!rate_limits_take(all, RATE_LIMITS_PEER, "a", 4, 0, &later_us));
    expect_int(later_us, SECOND / 10);
    expect_true(
        /* nothing was taken by the one before */
        rate_limits_take(all, RATE_LIMITS_PEER, "a", 3, 0, &later_us));
    expect_true(!rate_limits_take(all, RATE_LIMITS_PEER, "a", 1, 0, &later_us));
    expect_true(!rate_limits_take(all, RATE_LIMITS_PEER, "a", 1024, 0, &later_us));
    expect_int(later_us, SECOND);
    /* as told, and so for ever */
    expect_true(rate_limits_take(all, RATE_LIMITS_PEER, "a", 1024, later_us, &later_us));
    expect_true(!rate_limits_take(all, RATE_LIMITS_PEER, "a", 1, SECOND, &later_us));
    expect_true(rate_limits_take(all, RATE_LIMITS_PEER, "b", SIZE_MAX, 0, &later_us));
    rate_limits_free(all);
}

static void without_a_rule_there_is_no_limit_and_nothing_is_remembered(void **state)
{
    (void)state;
    rate_limits *all = limits_of((rate_limits_rule){0}, 0);
    for (int i = 0; i < 1000; i++) {
        expect_true(limits_takes(all, "a", 0));
        expect_true(rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_STREAM));
    }
    expect_int(rate_limits_count(all), 0);
    rate_limits_leave(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_STREAM);
    rate_limits_free(all);
}

static void so_many_are_under_way_and_no_more(void **state)
{
    (void)state;
    rate_limits *all = limits_of((rate_limits_rule){.at_once = {3, 1}}, 0);
    for (int i = 0; i < 3; i++)
        expect_true(rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_REQUEST));
    expect_true(!rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_REQUEST));
    expect_true(rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_STREAM));
    expect_true(!rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_STREAM));
    expect_true(rate_limits_enter(all, RATE_LIMITS_TOKEN, "b", RATE_LIMITS_REQUEST));
    rate_limits_leave(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_REQUEST);
    expect_true(rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_REQUEST));
    rate_limits_leave(all, RATE_LIMITS_TOKEN, "nobody", RATE_LIMITS_REQUEST);
    rate_limits_free(all);
}

/* Those at work come on top of those who are remembered, so that they can't keep others out. */
static void few_callers_are_remembered_and_those_at_work_are_not_forgotten(void **state)
{
    (void)state;
    enum { MOST = 8, BUSY = 50 };
    char id[32];
    rate_limits *all =
        limits_of((rate_limits_rule){.every_us = SECOND, .burst = 1, .at_once = {1, 1}}, MOST);
    for (int i = 0; i < BUSY; i++) {
        snprintf(id, sizeof id, "busy-%d", i);
        expect_true(rate_limits_enter(all, RATE_LIMITS_SESSION, id, RATE_LIMITS_REQUEST));
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "quick-%d", i);
        expect_true(limits_takes(all, id, 0));
        expect_true(rate_limits_count(all) <= MOST + BUSY);
    }
    expect_true(!limits_takes(all, "quick-999", 0)); /* the newest is remembered */
    for (int i = 0; i < BUSY; i++) {
        snprintf(id, sizeof id, "busy-%d", i);
        expect_true(!rate_limits_enter(all, RATE_LIMITS_SESSION, id, RATE_LIMITS_REQUEST));
        expect_true(rate_limits_enter(all, RATE_LIMITS_SESSION, id, RATE_LIMITS_STREAM));
    }
    for (int i = 0; i < BUSY; i++) {
        snprintf(id, sizeof id, "busy-%d", i);
        rate_limits_leave(all, RATE_LIMITS_SESSION, id, RATE_LIMITS_REQUEST);
        expect_int(rate_limits_count(all), MOST + BUSY); /* the stream is still under way */
    }
    for (int i = 0; i < BUSY; i++) {
        snprintf(id, sizeof id, "busy-%d", i);
        rate_limits_leave(all, RATE_LIMITS_SESSION, id, RATE_LIMITS_STREAM);
        expect_int(rate_limits_count(all), MOST + BUSY - 1 - i);
    }
    expect_true(limits_takes(all, "quick-999", 0)); /* forgotten for those who were at work */
    rate_limits_free(all);
}

static void without_memory_it_is_refused(void **state)
{
    (void)state;
    rate_limits *all =
        limits_of((rate_limits_rule){.every_us = SECOND, .burst = 9, .at_once = {1, 1}}, 0);
    out_of_memory_begin(OF_LIBRARY, 1, true);
    expect_true(!limits_takes(all, "a", 0));
    expect_true(!rate_limits_enter(all, RATE_LIMITS_TOKEN, "a", RATE_LIMITS_REQUEST));
    expect_true(rate_limits_new((rate_limits_rule[RATE_LIMITS_KINDS]){{0}}, 0) == NULL);
    expect_true(out_of_memory_end());
    out_of_memory_begin(OF_LIBRARY, 2, false);
    expect_true(rate_limits_new((rate_limits_rule[RATE_LIMITS_KINDS]){{0}}, 0) == NULL);
    expect_true(out_of_memory_end());
    expect_true(limits_takes(all, "a", 0));
    rate_limits_free(all);
    rate_limits_free(NULL);
}

/* ---- the table ---- */

typedef struct item {
    lru_entry entry;
    unsigned name;
} item;

enum { NAMES = 40 };

/* The order of use as a plain list, newest first. */
static void model_use(unsigned *order, size_t count, unsigned name)
{
    size_t at = 0;
    while (at < count && order[at] != name)
        at++;
    memmove(order + 1, order, at * sizeof *order);
    order[0] = name;
}

static void the_table_finds_what_is_in_it_and_knows_the_order_of_use(void **state)
{
    (void)state;
    lru table;
    item items[NAMES];
    bool in[NAMES] = {false};
    unsigned order[NAMES + 1], dice = 99;
    size_t count = 0;
    expect_true(lru_init(&table, 4)); /* few buckets, long chains */
    for (int i = 0; i < 20000; i++) {
        dice = dice * 1103515245u + 12345u;
        unsigned name = (dice >> 16) % NAMES, what = (dice >> 24) % 3;
        char key[LRU_KEY_MAX];
        size_t size = 1 + name % LRU_KEY_MAX;
        memset(key, 'k', sizeof key);
        key[0] = (char)name;
        lru_entry *found = lru_find(&table, (unsigned char)(name % 3), key, size);
        expect_true((found != NULL) == in[name] &&
                    (found == NULL || ((item *)found)->name == name));
        expect_true(lru_find(&table, (unsigned char)(name % 3 + 1), key, size) == NULL);
        if (!in[name]) {
            items[name].name = name;
            lru_add(&table, &items[name].entry, (unsigned char)(name % 3), key, size);
            model_use(order, count++, name);
            in[name] = true;
        } else if (what == 0) {
            lru_remove(&table, found);
            model_use(order, count, name);
            memmove(order, order + 1, --count * sizeof *order);
            in[name] = false;
        } else {
            lru_use(&table, found);
            model_use(order, count, name);
        }
        expect_int(table.count, count);
        size_t at = 0;
        for (lru_entry *entry = table.newest; entry != NULL; entry = entry->older)
            expect_int(((item *)entry)->name, order[at++]);
        for (lru_entry *entry = table.oldest; entry != NULL; entry = entry->newer)
            expect_int(((item *)entry)->name, order[--at]);
    }
    lru_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_taken_at_once_and_comes_back_at_the_rate),
        cmocka_unit_test(random_takers_stay_within_the_rate),
        cmocka_unit_test(many_are_taken_at_once_or_none_and_a_full_bucket_lets_everyone_through),
        cmocka_unit_test(without_a_rule_there_is_no_limit_and_nothing_is_remembered),
        cmocka_unit_test(so_many_are_under_way_and_no_more),
        cmocka_unit_test(few_callers_are_remembered_and_those_at_work_are_not_forgotten),
        cmocka_unit_test(without_memory_it_is_refused),
        cmocka_unit_test(the_table_finds_what_is_in_it_and_knows_the_order_of_use),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
