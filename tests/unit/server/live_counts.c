/* SPDX-License-Identifier: MIT */
/* Counting what lives, for the metrics: at the start, then while someone looks, and no longer. The
 * clock by which it is told that nobody looks any more is moved by the test. */
#include "unit/server/gated_store.h"
#include "unit/server/loop.h"

#include <base/seams.h>
#include <server/live_counts.h>
#include <stdatomic.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>

static const char *const routes[] = {NULL};
static int64_t (*boot_us)(void);
static _Atomic int64_t ahead_us;

static int64_t moved_boot_us(void)
{
    return boot_us() + ahead_us;
}

typedef struct scene {
    loop loop;
    metrics *metrics;
    live_counts *live_counts;
    const char *wanted; /* a line of the metrics */
    size_t batches;
} scene;

static void scene_on(scene *s, hf_store *store)
{
    hf_error err = {0};
    loop_open(&s->loop, store);
    expect(HF_OK,
           metrics_new(&(metrics_settings){.routes = routes, .store = "memory"}, &s->metrics, &err),
           err);
    live_counts_settings settings = {
        .base = s->loop.base, .jobs = s->loop.jobs, .metrics = s->metrics, .interval_us = 20000};
    expect(HF_OK, live_counts_new(&settings, &s->live_counts, &err), err);
}

static void census_scene_open(scene *s)
{
    scene_on(s, gate_open(loop_store("memory:")));
}

static void census_scene_close(scene *s)
{
    live_counts_stop(s->live_counts);
    loop_stop(&s->loop);
    expect_true(live_counts_idle(s->live_counts));
    live_counts_free(s->live_counts);
    metrics_free(s->metrics);
    loop_close(&s->loop);
}

static bool census_tells(void *context)
{
    scene *s = context;
    metrics_look look = {0};
    hf_buffer out = {0};
    hf_error err = {0};
    expect(HF_OK, metrics_write(s->metrics, &look, &out, &err), err);
    bool found = strstr(out.text, s->wanted) != NULL;
    hf_buffer_done(&out);
    return found;
}

static bool asked_more(void *context)
{
    scene *s = context;
    return gate_batches(gate_of(s->loop.store)) > s->batches;
}

static void expect_told(scene *s, const char *line)
{
    s->wanted = line;
    loop_until(&s->loop, census_tells, s);
}

static void it_counts_at_the_start_and_again_every_interval(void **state)
{
    (void)state;
    scene s;
    census_scene_open(&s);
    expect_told(&s, "\nholdfast_sessions 0\n");
    loop_people(s.loop.store, 1, 3, 2, "policy");
    expect_told(&s, "\nholdfast_sessions 3\n");
    expect_told(&s, "\nholdfast_locks{type=\"policy\"} 6\n");
    loop_people(s.loop.store, 10, 1, 4, "customer");
    expect_told(&s, "\nholdfast_locks{type=\"customer\"} 4\n");
    census_scene_close(&s);
}

static void it_stops_when_nobody_looks_and_begins_again_when_someone_does(void **state)
{
    (void)state;
    scene s;
    census_scene_open(&s);
    expect_told(&s, "\nholdfast_sessions 0\n");
    ahead_us += LIVE_COUNTS_WANTED_US;
    loop_for(&s.loop, 100000); /* the one that is due by now */
    s.batches = gate_batches(gate_of(s.loop.store));
    loop_for(&s.loop, 200000);
    expect_true(!asked_more(&s));
    live_counts_wanted(s.live_counts);
    loop_until(&s.loop, asked_more, &s);
    census_scene_close(&s);
}

static void a_count_that_fails_is_tried_again(void **state)
{
    (void)state;
    scene s;
    hf_store *fault = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_fault_open(loop_store("memory:"), &fault, &err), err);
    loop_people(fault, 1, 3, 1, "policy");
    hf_fault_arm(fault, 1, false);
    hf_fault_more(fault, 2);
    scene_on(&s, fault);
    expect_told(&s, "\nholdfast_sessions 3\n");
    committer_stats stats;
    committer_stats_read(s.loop.committer, &stats);
    expect_true(stats.reads.batches >= 4);
    census_scene_close(&s);
}

static void a_count_that_is_refused_leaves_the_last_one(void **state)
{
    (void)state;
    scene s;
    census_scene_open(&s);
    expect_told(&s, "\nholdfast_sessions 0\n");
    committer_stop(s.loop.committer); /* refuses from now on */
    loop_for(&s.loop, 100000);
    expect_told(&s, "\nholdfast_sessions 0\n");
    expect_true(live_counts_idle(s.live_counts));
    census_scene_close(&s);
}

static void without_memory_there_is_no_half_a_census(void **state)
{
    (void)state;
    loop l;
    live_counts *c = NULL;
    hf_error err = {0};
    loop_open(&l, loop_store("memory:"));
    out_of_memory_begin(OF_LIBRARY, 1, false);
    hf_status status =
        live_counts_new(&(live_counts_settings){.base = l.base, .jobs = l.jobs}, &c, &err);
    expect_true(out_of_memory_end());
    expect_int(status, HF_NO_MEMORY);
    live_counts_free(NULL);
    loop_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_at_the_start_and_again_every_interval),
        cmocka_unit_test(it_stops_when_nobody_looks_and_begins_again_when_someone_does),
        cmocka_unit_test(a_count_that_fails_is_tried_again),
        cmocka_unit_test(a_count_that_is_refused_leaves_the_last_one),
        cmocka_unit_test(without_memory_there_is_no_half_a_census),
    };
    boot_us = hf_seam.boot_us;
    hf_seam.boot_us = moved_boot_us;
    return cmocka_run_group_tests_name("census", tests, NULL, NULL);
}
