/* SPDX-License-Identifier: MIT */
/* What top reads from a server's metrics: from the very text the server writes, and from text that
 * is none. */
#include <base/seams.h>
#include <cli/top_server.h>
#include <math.h>
#include <server/metrics.h>
#include <string.h>
#include <support/check.h>

static bool near(double actual, double expected)
{
    return fabs(actual - expected) < 1e-9;
}

static void the_servers_own_text_is_read(void **state)
{
    static const char *const routes[] = {"/v1/batch", NULL};
    (void)state;
    metrics *m = NULL;
    hf_error err = {0};
    hf_buffer text = {0};
    top_told told;
    metrics_look look = {.connections = 12, .followers = 3, .events_lag_us = 250000};
    look.committer.writes.batches = 10;
    look.committer.writes.ops = 55;
    look.committer.writes.times[10] = 8; /* 1.024 to 2.048 ms */
    look.committer.writes.times[11] = 2;
    look.committer.reads.batches = 1000;
    look.committer.reads.times[3] = 1000;
    look.committer.waiting[COMMITTER_ORDINARY] = 4;
    look.committer.waiting[COMMITTER_READS] = 2;
    expect(HF_OK, metrics_new(&(metrics_settings){.routes = routes, .store = "memory"}, &m, &err),
           err);
    metrics_http(m, 0, "POST", 200, 100);
    metrics_http(m, 0, "POST", 423, 100);
    metrics_http(m, METRICS_ROUTE_NONE, "GET", 404, 100);
    expect(HF_OK, metrics_write(m, &look, &text, &err), err);
    top_told_read(text.text, &told);
    expect_true(near(told.requests, 3) && near(told.connections, 12) && near(told.followers, 3));
    expect_true(near(told.lag_seconds, 0.25) && near(told.waiting, 6));
    expect_true(near(told.batches, 10) && near(told.ops, 55) && told.started > 1.6e9);
    expect_true(told.buckets > 10);
    top_server now;
    top_server_judge(NULL, &told, 0, &now);
    expect_true(now.known && now.requests_per_second < 0 && near(now.batch_ops, 5.5));
    expect_true(near(now.commit_median, 0.001024 + 0.001024 * 5 / 8));
    expect_true(now.commit_99th > 0.002048 && now.commit_99th <= 0.004096);
    hf_buffer_done(&text);
    metrics_free(m);
}

static void between_two_looks_only_what_happened_since_counts(void **state)
{
    (void)state;
    top_told before = {.requests = 100,
                       .batches = 10,
                       .ops = 10,
                       .bounds = {1, 2},
                       .below = {10, 10},
                       .buckets = 2};
    top_told now = {.requests = 150,
                    .batches = 14,
                    .ops = 30,
                    .bounds = {1, 2},
                    .below = {10, 14},
                    .buckets = 2};
    top_server judged;
    top_server_judge(&before, &now, 2, &judged);
    expect_true(near(judged.requests_per_second, 25) && near(judged.batch_ops, 5));
    expect_true(near(judged.commit_median, 1.5) && near(judged.commit_99th, 1.99));
    top_server_judge(&now, &now, 2, &judged);
    expect_true(near(judged.requests_per_second, 0) && near(judged.batch_ops, 0) &&
                near(judged.commit_median, 0));
}

static void a_server_that_started_anew_is_not_compared_with_what_it_was(void **state)
{
    (void)state;
    top_told before = {.requests = 100, .started = 5}, now = {.requests = 500, .started = 6};
    top_server judged;
    top_server_judge(&before, &now, 2, &judged);
    expect_true(judged.known && judged.requests_per_second < 0);
    now = (top_told){.requests = 50, .started = 5};
    top_server_judge(&before, &now, 2, &judged);
    expect_true(judged.requests_per_second < 0);
}

static void times_beyond_every_bound_are_told_as_the_last_one(void **state)
{
    (void)state;
    top_told now = {.batches = 4, .bounds = {1, 2}, .below = {0, 1}, .buckets = 2};
    top_server judged;
    top_server_judge(NULL, &now, 1, &judged);
    expect_true(near(judged.commit_median, 2));
}

static void text_that_is_none_of_it_is_passed_over(void **state)
{
    static const char *const odd[] = {
        "",
        "\n\n",
        " ",
        "holdfast_http_requests_total",
        "# holdfast_http_requests_total 5",
        "holdfast_http_requests_total{",
        "holdfast_http_requests_totals 5\nxholdfast_http_requests_total 5\n",
        "<html>no such page</html>",
        ("holdfast_batch_seconds_bucket{work=\"write\"} 5\n"
         "holdfast_batch_seconds_bucket{work=\"write\",le=\""),
        "{ {{{ }} 7",
    };
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        top_told told;
        top_server judged;
        top_told_read(odd[i], &told);
        expect_true(near(told.requests, 0) && told.buckets == 0);
        top_server_judge(NULL, &told, 1, &judged);
        expect_true(near(judged.commit_99th, 0));
    }
}

static void more_buckets_than_are_kept_do_no_harm(void **state)
{
    (void)state;
    hf_buffer text = {0};
    top_told told;
    for (int i = 1; i <= 500; i++)
        hf_buffer_print(&text, "holdfast_batch_seconds_bucket{work=\"write\",le=\"%d\"} %d\n", i,
                        i);
    top_told_read(text.text, &told);
    expect_int(told.buckets, TOP_BUCKETS_MAX);
    hf_buffer_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_own_text_is_read),
        cmocka_unit_test(between_two_looks_only_what_happened_since_counts),
        cmocka_unit_test(a_server_that_started_anew_is_not_compared_with_what_it_was),
        cmocka_unit_test(times_beyond_every_bound_are_told_as_the_last_one),
        cmocka_unit_test(text_that_is_none_of_it_is_passed_over),
        cmocka_unit_test(more_buckets_than_are_kept_do_no_harm),
    };
    return cmocka_run_group_tests_name("top_server", tests, NULL, NULL);
}
