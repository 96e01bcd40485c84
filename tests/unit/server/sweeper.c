/* SPDX-License-Identifier: MIT */
/* The background sweep: what is dead goes without anyone asking, in small turns between which
 * others get theirs; a store that fails is left alone for longer and longer; stopping is clean;
 * several may sweep one store. W1 to W4 stand in server/commit/sweeper.h. */
#include "unit/server/gated_store.h"
#include "unit/server/loop.h"

#include <base/seams.h>
#include <holdfast/names.h>
#include <server/commit/sweeper.h>
#include <stdio.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>
#include <support/test_store.h>

#define SECOND INT64_C(1000000)
#define DAY    (86400 * SECOND)

static const sweeper_settings often = {.interval_us = 50000, .pause_us = 1000, .limit = 10};

static sweeper *sweeper_on(loop *l, sweeper_settings settings)
{
    sweeper *s = NULL;
    hf_error err = {0};
    settings.base = l->base;
    settings.jobs = l->jobs;
    expect(HF_OK, sweeper_new(&settings, &s, &err), err);
    return s;
}

static sweeper_stats sweeper_stats_of(const sweeper *s)
{
    sweeper_stats stats;
    sweeper_stats_read(s, &stats);
    return stats;
}

static bool has_swept(void *context)
{
    return sweeper_stats_of(context).sweeps > 0;
}

static bool has_swept_thrice(void *context)
{
    return sweeper_stats_of(context).sweeps >= 3;
}

static void sweeper_finish(loop *l, sweeper *s)
{
    sweeper_stop(s);
    loop_stop(l);
    expect_true(sweeper_idle(s));
    sweeper_free(s);
    loop_close(l);
}

static int64_t newest_kept(hf_store *store, int64_t *first)
{
    hf_answer answer = loop_ask(store, &(hf_op){.kind = HF_OP_EVENTS, .limit = 1});
    *first = answer.first_seq;
    return answer.last_seq;
}

/* ---- the tests ---- */

static void what_is_dead_goes_in_small_turns_without_anyone_asking(void **state)
{
    (void)state;
    loop l;
    loop_open(&l, loop_store("memory:"));
    loop_people(l.store, 1, 20, 5, "policy"); /* 120 rows */
    hf_store_clock_offset(l.store, 3600 * SECOND);
    sweeper *s = sweeper_on(&l, often);
    loop_until(&l, has_swept, s);
    sweeper_stats stats = sweeper_stats_of(s);
    expect_int(stats.rows, 120);
    expect_true(stats.turns >= 12);
    expect_int(stats.failures, 0);
    expect_true(!stats.behind && stats.last_us > 0);
    loop_until(&l, has_swept_thrice, s); /* and again after an interval */
    expect_int(sweeper_stats_of(s).rows, 120);
    sweeper_finish(&l, s);
}

static void nothing_that_lives_is_swept(void **state)
{
    (void)state;
    loop l;
    loop_open(&l, loop_store("memory:"));
    loop_people(l.store, 1, 5, 5, "policy");
    sweeper *s = sweeper_on(&l, often);
    loop_until(&l, has_swept_thrice, s);
    expect_int(sweeper_stats_of(s).rows, 0);
    expect_int(loop_ask(l.store, &(hf_op){.kind = HF_OP_COUNT}).total_locks, 25);
    sweeper_finish(&l, s);
}

static void events_are_kept_as_long_as_was_said_and_forced_acts_longer(void **state)
{
    (void)state;
    loop l;
    int64_t first = 0;
    loop_open(&l, loop_store("memory:"));
    loop_people(l.store, 1, 1, 30, "policy");
    loop_ask(l.store, &(hf_op){.kind = HF_OP_FORCE_RELEASE,
                               .type = "policy",
                               .id = "00000000000000000000000000000001-3",
                               .actor = "root",
                               .text = "because"});
    int64_t last = newest_kept(l.store, &first);
    expect_int(first, 1);
    hf_store_clock_offset(l.store, 10 * DAY);
    sweeper_settings settings = often;
    settings.keep_events_us = 5 * DAY;
    settings.keep_forced_us = 30 * DAY;
    sweeper *s = sweeper_on(&l, settings);
    loop_until(&l, has_swept_thrice, s);
    newest_kept(l.store, &first);
    /* all but the forced one, and what the sweep itself wrote of those who died */
    expect_true(first >= last);
    hf_batch *batch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_batch_add(batch, HF_OP_EVENTS);
    expect(HF_OK, hf_store_execute(l.store, batch, &err), err);
    expect_int(hf_batch_op(batch, 0)->answer.events[0].kind, HF_EVENT_FORCED);
    hf_batch_free(batch);
    sweeper_finish(&l, s);
}

/* Someone who acquires again and again while it sweeps. */
typedef struct eager {
    loop_job job;
    loop *loop;
    sweeper *sweeper;
    hf_credentials who;
    hf_op op;
    char id[32];
    unsigned granted;
    uint64_t turns_seen; /* how often the sweeper had moved on between two grants */
    uint64_t turns_before;
    bool under_way;
} eager;

static void granted(loop_job *job);

static void sweeper_acquire(eager *e)
{
    hf_error err = {0};
    snprintf(e->id, sizeof e->id, "new-%u", e->granted);
    e->op = (hf_op){.kind = HF_OP_ACQUIRE, .session = &e->who, .type = "policy", .id = e->id};
    e->job = (loop_job){.job = {.ops = &e->op, .count = 1}, .finish = granted};
    e->under_way = true;
    expect(HF_OK, jobs_submit(e->loop->jobs, &e->job, &err), err);
}

static void granted(loop_job *job)
{
    eager *e = (eager *)job;
    expect_status(HF_OK, e->op.answer.status, e->op.answer.message);
    jobs_release(job);
    e->granted++;
    e->under_way = false;
    sweeper_stats stats = sweeper_stats_of(e->sweeper);
    e->turns_seen += stats.turns > e->turns_before;
    e->turns_before = stats.turns;
    if (stats.sweeps == 0)
        sweeper_acquire(e);
}

static void who_asks_while_it_sweeps_is_answered_between_its_turns(void **state)
{
    (void)state;
    loop l;
    char path[HF_URL_MAX], url[HF_URL_MAX + 16];
    scratch_path(".db", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    loop_open(&l, loop_store(url));
    loop_people(l.store, 1, 40, 9, "policy"); /* 400 rows */
    hf_store_clock_offset(l.store, 3600 * SECOND);
    eager e = {.loop = &l};
    snprintf(e.who.id, sizeof e.who.id, "%032x", 9999);
    snprintf(e.who.key, sizeof e.who.key, "%032x", 1234);
    loop_ask(
        l.store,
        &(hf_op){.kind = HF_OP_SESSION_OPEN, .session = &e.who, .user = "eve", .idle_us = DAY});
    e.sweeper = sweeper_on(&l, often);
    sweeper_acquire(&e);
    loop_until(&l, has_swept, e.sweeper);
    sweeper_stats stats = sweeper_stats_of(e.sweeper);
    expect_int(stats.rows, 400);
    expect_true(stats.turns >= 40);
    expect_true(e.turns_seen >= stats.turns * 3 / 4); /* a grant between nearly any two turns */
    loop_for(&l, 0);
    sweeper_finish(&l, e.sweeper);
    expect_true(!e.under_way);
}

typedef struct told {
    unsigned times;
    char sentence[HF_MESSAGE_SIZE];
} told;

static void sweeper_tell(void *context, const char *sentence)
{
    told *t = context;
    t->times++;
    snprintf(t->sentence, sizeof t->sentence, "%s", sentence);
}

static void a_store_that_fails_is_asked_more_and_more_seldom_and_it_is_told_once(void **state)
{
    (void)state;
    loop l;
    told t = {0};
    hf_store *fault = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_fault_open(loop_store("memory:"), &fault, &err), err);
    loop_people(fault, 1, 2, 2, "policy");
    hf_store_clock_offset(fault, 3600 * SECOND);
    hf_fault_arm(fault, 1, false);
    hf_fault_more(fault, 4);
    loop_open(&l, fault);
    sweeper_settings settings = often;
    settings.interval_us = SECOND;
    settings.pause_us = 400; /* so it waits 20, 40, 80, 160, 320 ms, each a quarter less perhaps */
    settings.failed = sweeper_tell;
    settings.context = &t;
    sweeper *s = sweeper_on(&l, settings);
    int64_t began_us = hf_seam.boot_us();
    loop_until(&l, has_swept, s);
    expect_true(hf_seam.boot_us() - began_us >= 620000 * 3 / 4);
    expect_int(sweeper_stats_of(s).failures, 5);
    expect_int(sweeper_stats_of(s).rows, 6);
    expect_int(t.times, 1);
    expect_contains(t.sentence, "can't be reached");
    sweeper_finish(&l, s);
}

static bool is_idle(void *context)
{
    return sweeper_idle(context);
}

static bool is_asking(void *context)
{
    return !sweeper_idle(context);
}

static void stopped_in_the_middle_it_begins_no_other_turn(void **state)
{
    (void)state;
    loop l;
    loop_open(&l, gate_open(loop_store("memory:")));
    loop_people(l.store, 1, 20, 5, "policy");
    hf_store_clock_offset(l.store, 3600 * SECOND);
    gate_shut(gate_of(l.store));
    sweeper *s = sweeper_on(&l, often);
    loop_until(&l, is_asking, s);
    gate_wait_inside(gate_of(l.store), 1);
    sweeper_stop(s);
    expect_true(!sweeper_idle(s));
    gate_let(gate_of(l.store));
    loop_until(&l, is_idle, s);
    uint64_t turns = sweeper_stats_of(s).turns;
    loop_for(&l, 200000);
    expect_int(turns, 1);
    expect_int(sweeper_stats_of(s).turns, 1);
    expect_true(sweeper_idle(s));
    sweeper_finish(&l, s);
}

static void two_servers_sweep_one_store_and_each_row_goes_once(void **state)
{
    (void)state;
    loop a, b;
    char path[HF_URL_MAX], url[HF_URL_MAX + 16];
    scratch_path(".db", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    loop_open(&a, loop_store(url));
    loop_open(&b, loop_store(url));
    loop_people(a.store, 1, 20, 4, "policy"); /* 100 rows */
    hf_store_clock_offset(a.store, 3600 * SECOND);
    hf_store_clock_offset(b.store, 3600 * SECOND);
    sweeper *of_a = sweeper_on(&a, often), *of_b = sweeper_on(&b, often);
    while (sweeper_stats_of(of_a).sweeps < 2 || sweeper_stats_of(of_b).sweeps < 2) {
        loop_for(&a, 5000);
        loop_for(&b, 5000);
    }
    expect_int(sweeper_stats_of(of_a).rows + sweeper_stats_of(of_b).rows, 100);
    expect_int(sweeper_stats_of(of_a).failures + sweeper_stats_of(of_b).failures, 0);
    sweeper_finish(&a, of_a);
    sweeper_finish(&b, of_b);
}

static void forced_acts_kept_shorter_than_the_rest_are_refused_with_what_to_do(void **state)
{
    static const int64_t bad[][2] = {{5, 4}, {0, 5}, {-1, 0}, {5, -1}};
    (void)state;
    loop l;
    loop_open(&l, loop_store("memory:"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sweeper *s = NULL;
        hf_error err = {0};
        sweeper_settings settings = often;
        settings.keep_events_us = bad[i][0];
        settings.keep_forced_us = bad[i][1];
        expect(HF_INVALID, sweeper_new(&settings, &s, &err), err);
        expect_contains(err.message, "make it longer");
    }
    loop_close(&l);
}

static void without_memory_there_is_no_half_a_sweeper(void **state)
{
    (void)state;
    loop l;
    sweeper *s = NULL;
    hf_error err = {0};
    loop_open(&l, loop_store("memory:"));
    out_of_memory_begin(OF_LIBRARY, 1, false);
    hf_status status = sweeper_new(&often, &s, &err);
    expect_true(out_of_memory_end());
    expect_int(status, HF_NO_MEMORY);
    expect_true(s == NULL);
    sweeper_free(NULL);
    loop_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_dead_goes_in_small_turns_without_anyone_asking),
        cmocka_unit_test(nothing_that_lives_is_swept),
        cmocka_unit_test(events_are_kept_as_long_as_was_said_and_forced_acts_longer),
        cmocka_unit_test(who_asks_while_it_sweeps_is_answered_between_its_turns),
        cmocka_unit_test(a_store_that_fails_is_asked_more_and_more_seldom_and_it_is_told_once),
        cmocka_unit_test(stopped_in_the_middle_it_begins_no_other_turn),
        cmocka_unit_test(two_servers_sweep_one_store_and_each_row_goes_once),
        cmocka_unit_test(forced_acts_kept_shorter_than_the_rest_are_refused_with_what_to_do),
        cmocka_unit_test(without_memory_there_is_no_half_a_sweeper),
    };
    return cmocka_run_group_tests_name("sweeper", tests, NULL, NULL);
}
