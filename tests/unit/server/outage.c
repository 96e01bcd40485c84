/* SPDX-License-Identifier: MIT */
/* Outages of the store: begun by the first job that fails, ended by a probe; outages that follow
 * each other quickly are probed less and less often. */
#include "unit/server/loop.h"

#include <server/commit/outage.h>
#include <stdio.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>

#define MS INT64_C(800) /* a timer counts from when its turn of the loop began: a little less */

typedef struct scene {
    loop loop;
    outage *outage;
    loop_job job;
    hf_op op;
    bool answered;
    size_t begun, ended;
    char why[HF_MESSAGE_SIZE];
    int64_t lasted_us; /* the last that has ended */
} scene;

static void outage_changed(void *context, bool down, const char *why, int64_t lasted_us)
{
    scene *s = context;
    expect_int(down, outage_is(s->outage));
    s->begun += down;
    s->ended += !down;
    if (down)
        snprintf(s->why, sizeof s->why, "%s", why);
    else
        s->lasted_us = lasted_us;
}

static void outage_scene_open(scene *s)
{
    hf_store *fault = NULL;
    hf_error err = {0};
    memset(s, 0, sizeof *s);
    expect(HF_OK, hf_fault_open(loop_store("memory:"), &fault, &err), err);
    loop_open(&s->loop, fault);
    outage_settings settings = {
        .base = s->loop.base, .jobs = s->loop.jobs, .changed = outage_changed, .context = s};
    expect(HF_OK, outage_new(&settings, &s->outage, &err), err);
    jobs_observe(s->loop.jobs, outage_look, s->outage);
}

static void outage_scene_close(scene *s)
{
    outage_stop(s->outage);
    loop_stop(&s->loop);
    outage_free(s->outage);
    loop_close(&s->loop);
}

static void note_answer(loop_job *job)
{
    scene *s = (scene *)((char *)job - offsetof(scene, job));
    s->answered = true;
    jobs_release(job);
}

static bool is_answered(void *context)
{
    return ((scene *)context)->answered;
}

static bool outage_is_over(void *context)
{
    scene *s = context;
    return s->ended == s->begun;
}

static void server_outage_look(scene *s)
{
    hf_error err = {0};
    s->op = (hf_op){.kind = HF_OP_WHO, .type = "policy", .id = "1"};
    s->job = (loop_job){.job = {.ops = &s->op, .count = 1}, .finish = note_answer};
    s->answered = false;
    expect(HF_OK, jobs_submit(s->loop.jobs, &s->job, &err), err);
    loop_until(&s->loop, is_answered, s);
}

static uint64_t batches(scene *s)
{
    committer_stats stats;
    committer_stats_read(s->loop.committer, &stats);
    return stats.reads.batches + stats.writes.batches;
}

static void the_first_failure_begins_it_and_a_probe_ends_it(void **state)
{
    (void)state;
    scene s;
    outage_scene_open(&s);
    server_outage_look(&s);
    expect_true(!outage_is(s.outage) && s.begun == 0);
    hf_fault_arm(s.loop.store, 1, false);
    hf_fault_more(s.loop.store, 3);
    server_outage_look(&s);
    expect_true(outage_is(s.outage));
    expect_int(s.begun, 1);
    expect_contains(s.why, "a fault was asked for");
    loop_until(&s.loop, outage_is_over, &s); /* three probes fail, the fourth does not */
    expect_true(!outage_is(s.outage));
    expect_int(batches(&s), 6);
    expect_true(s.lasted_us >= (50 + 100 + 200) * MS);
    loop_for(&s.loop, 100 * MS);
    expect_int(batches(&s), 6); /* O2 */
    expect_int(s.begun, 1);
    outage_scene_close(&s);
}

static void a_commit_that_is_unsure_begins_one_too(void **state)
{
    (void)state;
    scene s;
    outage_scene_open(&s);
    hf_fault_arm(s.loop.store, 1, true);
    server_outage_look(&s);
    expect_int(s.begun, 1);
    loop_until(&s.loop, outage_is_over, &s);
    outage_scene_close(&s);
}

static void outages_in_quick_succession_are_probed_less_often(void **state)
{
    static const int64_t least_us[] = {0, 50 * MS, 100 * MS, 200 * MS, 400 * MS};
    (void)state;
    scene s;
    outage_scene_open(&s);
    for (size_t i = 0; i < sizeof least_us / sizeof *least_us; i++) {
        hf_fault_arm(s.loop.store, 1, false);
        server_outage_look(&s);
        loop_until(&s.loop, outage_is_over, &s);
        expect_int(s.begun, i + 1);
        expect_true(s.lasted_us >= least_us[i]);
    }
    outage_scene_close(&s);
}

static void without_memory_there_is_no_half_an_outage(void **state)
{
    (void)state;
    loop l;
    outage *o = NULL;
    hf_error err = {0};
    loop_open(&l, loop_store("memory:"));
    out_of_memory_begin(OF_LIBRARY, 1, false);
    hf_status status = outage_new(&(outage_settings){.base = l.base, .jobs = l.jobs}, &o, &err);
    expect_true(out_of_memory_end());
    expect_int(status, HF_NO_MEMORY);
    outage_free(NULL);
    loop_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_begins_it_and_a_probe_ends_it),
        cmocka_unit_test(a_commit_that_is_unsure_begins_one_too),
        cmocka_unit_test(outages_in_quick_succession_are_probed_less_often),
        cmocka_unit_test(without_memory_there_is_no_half_an_outage),
    };
    return cmocka_run_group_tests_name("outage", tests, NULL, NULL);
}
