/* SPDX-License-Identifier: MIT */
/* The samples behind the plots of the dashboard: what each has, and that there are never too
 * many. */
#include "unit/server/loop.h"

#include <server/history.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static const char *const routes[] = {NULL};

typedef struct scene {
    loop loop;
    metrics *metrics;
    live_counts *live_counts;
    history *history;
    history_span span;
    size_t wanted; /* samples of it */
} scene;

static void history_scene_open(scene *s)
{
    hf_error err = {0};
    *s = (scene){0};
    loop_open(&s->loop, loop_store("memory:"));
    expect(HF_OK,
           metrics_new(&(metrics_settings){.routes = routes, .store = "memory"}, &s->metrics, &err),
           err);
    expect(HF_OK,
           live_counts_new(&(live_counts_settings){.base = s->loop.base,
                                                   .jobs = s->loop.jobs,
                                                   .metrics = s->metrics,
                                                   .interval_us = 20000},
                           &s->live_counts, &err),
           err);
    expect(HF_OK,
           history_new(&(history_settings){.base = s->loop.base,
                                           .metrics = s->metrics,
                                           .live_counts = s->live_counts,
                                           .interval_us = 1000},
                       &s->history, &err),
           err);
}

static void history_scene_close(scene *s)
{
    history_stop(s->history);
    live_counts_stop(s->live_counts);
    loop_stop(&s->loop);
    history_free(s->history);
    live_counts_free(s->live_counts);
    metrics_free(s->metrics);
    loop_close(&s->loop);
}

/* How many numbers a column has, and their sum; null counts as none. */
static size_t column(const scene *s, history_span span, const char *name, long long *sum)
{
    char begin[32];
    hf_buffer out = {0};
    size_t count = 0;
    history_write(s->history, span, &out);
    snprintf(begin, sizeof begin, "\"%s\":[", name);
    const char *at = strstr(out.text, begin);
    expect_true(at != NULL);
    *sum = 0;
    for (at += strlen(begin); *at != ']'; at += strcspn(at, ",]"), at += *at == ',', count++)
        *sum += strtoll(at, NULL, 10);
    hf_buffer_done(&out);
    return count;
}

static bool has_enough(void *context)
{
    const scene *s = context;
    long long sum;
    return column(s, s->span, "at", &sum) >= s->wanted;
}

static void history_until(scene *s, history_span span, size_t wanted)
{
    s->span = span;
    s->wanted = wanted;
    loop_until(&s->loop, has_enough, s);
}

static void history_counted(scene *s, hf_op_kind kind, hf_status status, size_t times)
{
    hf_op op = {.kind = kind, .type = "policy", .answer.status = status};
    for (size_t i = 0; i < times; i++)
        metrics_ops(s->metrics, &op, 1);
}

static void each_sample_has_what_came_since_the_one_before(void **state)
{
    (void)state;
    scene s;
    long long sum;
    history_scene_open(&s);
    loop_people(s.loop.store, 1, 3, 2, "policy");
    history_until(&s, HISTORY_HOUR, 3);
    history_counted(&s, HF_OP_ACQUIRE, HF_OK, 7);
    history_counted(&s, HF_OP_ACQUIRE, HF_LOCKED, 2);
    history_counted(&s, HF_OP_SAVE, HF_STALE, 1);
    history_counted(&s, HF_OP_REQUEST, HF_OK, 4);
    history_counted(&s, HF_OP_SAVE, HF_OK, 5);
    history_until(&s, HISTORY_DAY, 2);
    for (history_span span = HISTORY_HOUR; span < HISTORY_SPANS; span++) {
        column(&s, span, "granted", &sum);
        expect_int(sum, 7);
        column(&s, span, "refused", &sum);
        expect_int(sum, 3);
        column(&s, span, "requested", &sum);
        expect_int(sum, 4);
        column(&s, span, "saved", &sum);
        expect_int(sum, 5);
    }
    expect_true(column(&s, HISTORY_HOUR, "locks", &sum) >= 3);
    history_scene_close(&s);
}

static void there_are_never_more_than_an_hour_has(void **state)
{
    (void)state;
    scene s;
    long long sum;
    history_scene_open(&s);
    history_until(&s, HISTORY_DAY, 62);
    expect_int(column(&s, HISTORY_HOUR, "at", &sum), 60 * HISTORY_PER_MINUTE);
    expect_int(column(&s, HISTORY_HOUR, "saved", &sum), 60 * HISTORY_PER_MINUTE);
    history_scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_has_what_came_since_the_one_before),
        cmocka_unit_test(there_are_never_more_than_an_hour_has),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
