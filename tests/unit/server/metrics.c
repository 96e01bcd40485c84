/* SPDX-License-Identifier: MIT */
/* What the server tells Prometheus: the numbers are those that were counted, the text is what
 * Prometheus reads, and however many types, routes and methods come in, the series have an end.
 * docs/operations.md lists what the table of families has. */
#include <base/seams.h>
#include <inttypes.h>
#include <server/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>
#include <support/test_store.h>
#include <sys/wait.h>

static const char *const routes[] = {"/v1/locks", "/v1/locks/{type}/{id}", "/healthz", NULL};

static metrics *metrics_fresh(void)
{
    metrics *m = NULL;
    hf_error err = {0};
    expect(HF_OK, metrics_new(&(metrics_settings){.routes = routes, .store = "sqlite"}, &m, &err),
           err);
    return m;
}

/* A look at a server where something has happened everywhere. */
static metrics_look metrics_busy(void)
{
    metrics_look look = {
        .sweeper =
            {.sweeps = 3, .turns = 9, .failures = 1, .rows = 1234, .last_us = 1700000000000001},
        .grade = {.level = HF_GRADE_DISK},
        .up = true,
        .connections = 11,
        .certificate_ends_us = 1893456000000000,
        .requests = 7,
        .events_newest = 501,
        .events_delivered = 499,
        .events_lag_us = 1500000,
        .events_silent_us = 250000,
        .events_failures = 8,
        .followers = 4,
        .resyncs = 2,
    };
    committer_counts *writes = &look.committer.writes;
    for (unsigned i = 0; i < COMMITTER_SIZES; i++)
        writes->sizes[i] = i + 1;
    for (unsigned i = 0; i < COMMITTER_TIMES; i++)
        writes->times[i] = 2;
    writes->batches = 66; /* the sum of the sizes */
    writes->times[0] += 2;
    writes->ops = 9000;
    writes->busy_us = 7654321;
    look.committer.waiting[COMMITTER_ORDINARY] = 5;
    look.committer.waiting[COMMITTER_LOOKS] = 12;
    look.committer.refused[COMMITTER_READS] = 6;
    return look;
}

static char *metrics_text_of(metrics *m, const metrics_look *look)
{
    hf_buffer out = {0};
    hf_error err = {0};
    expect(HF_OK, metrics_write(m, look, &out, &err), err);
    return hf_buffer_take(&out);
}

/* Whether the judge finds nothing wrong with it. */
static bool metrics_good(const char *text)
{
    char path[HF_URL_MAX], command[2 * HF_URL_MAX + 64];
    const char *root = getenv("HF_SOURCE_ROOT");
    scratch_path(".prom", path);
    FILE *file = fopen(path, "w");
    expect_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command, "'%s/tests/support/metrics_check.py' '%s' >&2",
             root != NULL ? root : ".", path);
    int code = system(command);
    expect_true(WIFEXITED(code) && (WEXITSTATUS(code) == 0 || WEXITSTATUS(code) == 3));
    return WEXITSTATUS(code) == 0;
}

static size_t lines_with(const char *text, const char *begin)
{
    size_t count = 0, size = strlen(begin);
    /* every line ends */
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
        count += strncmp(line, begin, size) == 0;
    return count;
}

static void count_something(metrics *m)
{
    hf_op ops[] = {
        {.kind = HF_OP_ACQUIRE, .type = "policy", .id = "1", .answer = {.status = HF_OK}},
        {.kind = HF_OP_ACQUIRE, .type = "policy", .id = "1", .answer = {.status = HF_LOCKED}},
        {.kind = HF_OP_ACQUIRE, .type = "rare", .id = "1", .answer = {.status = HF_BUSY}},
        {.kind = HF_OP_BEAT, .answer = {.status = HF_EXPIRED}},
    };
    hf_count counts[] = {{"customer", 3}, {"policy", 40}};
    metrics_count(m, &(hf_answer){.counts = counts,
                                  .counts_count = 2,
                                  .total_locks = 43,
                                  .total_sessions = 17,
                                  .now_us = 1700000000500000});
    metrics_ops(m, ops, sizeof ops / sizeof *ops);
    metrics_http(m, 1, "PUT", 201, 400);
    metrics_http(m, 1, "PUT", 423, 3000);
    metrics_http(m, 1, "PUT", 201, 20000000);
    metrics_http(m, METRICS_ROUTE_NONE, "BREW", 404, 1);
    metrics_refused(m, METRICS_DENIED);
    metrics_refused(m, METRICS_RATE_LIMITED);
    metrics_refused(m, METRICS_RATE_LIMITED);
    metrics_incident(m, "refused_framing");
}

/* ---- the tests ---- */

static void a_server_that_did_nothing_yet_can_be_read(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {.events_newest = -1, .events_delivered = -1};
    char *text = metrics_text_of(m, &look);
    expect_true(metrics_good(text));
    expect_contains(text, "\nholdfast_store_up 0\n");
    expect_contains(text, "\nholdfast_ops_total{op=\"acquire\",status=\"ok\"} 0\n");
    expect_lacks(text, "holdfast_locks"); /* nobody has counted */
    expect_lacks(text, "holdfast_events_newest");
    hf_free(text);
    metrics_free(m);
}

static void every_number_is_the_one_that_was_counted(void **state)
{
    static const char *const wanted[] = {
        "holdfast_ops_total{op=\"acquire\",status=\"ok\"} 1",
        "holdfast_ops_total{op=\"acquire\",status=\"locked\"} 1",
        "holdfast_ops_total{op=\"beat\",status=\"expired\"} 1",
        "holdfast_refusals_total{type=\"policy\"} 1",
        "holdfast_refusals_total{type=\"customer\"} 0",
        "holdfast_refusals_total{type=\"other\"} 1",
        "holdfast_callers_refused_total{reason=\"unauthenticated\"} 0",
        "holdfast_callers_refused_total{reason=\"denied\"} 1",
        "holdfast_callers_refused_total{reason=\"rate_limited\"} 2",
        "holdfast_http_requests_total{route=\"/v1/locks/{type}/{id}\",method=\"PUT\",code=\"2xx\"} "
        "2",
        "holdfast_http_requests_total{route=\"/v1/locks/{type}/{id}\",method=\"PUT\",code=\"4xx\"} "
        "1",
        "holdfast_http_requests_total{route=\"unknown\",method=\"other\",code=\"4xx\"} 1",
        "holdfast_http_request_seconds_bucket{route=\"/v1/locks/{type}/{id}\",le=\"0.0005\"} 1",
        "holdfast_http_request_seconds_bucket{route=\"/v1/locks/{type}/{id}\",le=\"0.005\"} 2",
        "holdfast_http_request_seconds_bucket{route=\"/v1/locks/{type}/{id}\",le=\"10\"} 2",
        "holdfast_http_request_seconds_bucket{route=\"/v1/locks/{type}/{id}\",le=\"+Inf\"} 3",
        "holdfast_http_request_seconds_sum{route=\"/v1/locks/{type}/{id}\"} 20.003400",
        "holdfast_http_connections 11",
        "holdfast_http_requests_in_flight 7",
        "holdfast_http_incidents_total{what=\"refused_framing\"} 1",
        "holdfast_batch_ops_bucket{work=\"write\",le=\"1\"} 1",
        "holdfast_batch_ops_bucket{work=\"write\",le=\"3\"} 3",
        "holdfast_batch_ops_bucket{work=\"write\",le=\"1023\"} 55",
        "holdfast_batch_ops_sum{work=\"write\"} 9000",
        "holdfast_batch_seconds_bucket{work=\"write\",le=\"0.000016\"} 10",
        "holdfast_batch_seconds_bucket{work=\"write\",le=\"16.777216\"} 50",
        "holdfast_batch_seconds_bucket{work=\"write\",le=\"+Inf\"} 66",
        "holdfast_batch_seconds_sum{work=\"write\"} 7.654321",
        "holdfast_ops_waiting{lane=\"ordinary\"} 5",
        "holdfast_ops_waiting{lane=\"looks\"} 12",
        "holdfast_jobs_refused_total{lane=\"reads\"} 6",
        "holdfast_locks{type=\"policy\"} 40",
        "holdfast_locks{type=\"other\"} 0",
        "holdfast_sessions 17",
        "holdfast_counted_timestamp_seconds 1700000000.500000",
        "holdfast_tls_certificate_not_after_timestamp_seconds 1893456000.000000",
        "holdfast_events_newest 501",
        "holdfast_events_delivered 499",
        "holdfast_events_lag_seconds 1.500000",
        "holdfast_events_silent_seconds 0.250000",
        "holdfast_event_read_failures_total 8",
        "holdfast_event_followers 4",
        "holdfast_event_resyncs_total 2",
        "holdfast_store_up 1",
        "holdfast_store_broken 0",
        "holdfast_store_info{store=\"sqlite\",grade=\"disk\"} 1",
        "holdfast_sweeps_total 3",
        "holdfast_swept_rows_total 1234",
        "holdfast_sweep_failures_total 1",
        "holdfast_sweep_timestamp_seconds 1700000000.000001",
    };
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = metrics_busy();
    count_something(m);
    char *text = metrics_text_of(m, &look);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char line[256];
        snprintf(line, sizeof line, "\n%s\n", wanted[i]);
        expect_contains(text, line);
    }
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

static void every_family_of_the_table_is_told_and_none_besides(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = metrics_busy();
    count_something(m);
    char *text = metrics_text_of(m, &look);
    for (size_t i = 0; i < metrics_families_count; i++) {
        char line[256];
        snprintf(line, sizeof line, "# TYPE %s %s\n", metrics_families[i].name,
                 metrics_families[i].kind);
        expect_int(lines_with(text, line), 1);
    }
    expect_int(lines_with(text, "# TYPE "), metrics_families_count);
    hf_free(text);
    metrics_free(m);
}

static void the_process_tells_of_itself(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    char *text = metrics_text_of(m, &look);
    const char *resident = strstr(text, "\nprocess_resident_memory_bytes ");
    const char *fds = strstr(text, "\nprocess_open_fds ");
    expect_true(resident != NULL && strtoull(resident + 31, NULL, 10) > 100000);
    expect_true(fds != NULL && strtoull(fds + 18, NULL, 10) >= 3);
    hf_free(text);
    metrics_free(m);
}

static void a_broken_store_is_not_up(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {.up = true, .grade = {.level = HF_GRADE_PROCESS, .broken = true}};
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "\nholdfast_store_up 0\n");
    expect_contains(text, "\nholdfast_store_broken 1\n");
    expect_contains(text, "grade=\"process\"} 1\n");
    hf_free(text);
    metrics_free(m);
}

/* Types t0000 to t0999; the higher the number the more locks, from `from` on. */
static void count_many(metrics *m, size_t from, size_t count, bool more)
{
    hf_count *counts = calloc(count, sizeof *counts);
    size_t total = more ? 100 : 0;
    expect_true(counts != NULL);
    for (size_t i = 0; i < count; i++) {
        snprintf(counts[i].type, sizeof counts[i].type, "t%04zu", from + i);
        counts[i].locks = from + i + 1;
        total += counts[i].locks;
    }
    metrics_count(m, &(hf_answer){.counts = counts,
                                  .counts_count = count,
                                  .more = more,
                                  .total_locks = total,
                                  .now_us = 1});
    free(counts);
}

static void a_thousand_types_have_64_labels_and_the_rest_is_other(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    count_many(m, 0, 1000, false);
    for (int i = 0; i < 5000; i++) {
        char type[16];
        snprintf(type, sizeof type, "t%04d", i);
        metrics_ops(
            m,
            &(hf_op){
                .kind = HF_OP_ACQUIRE, .type = type, .id = "1", .answer = {.status = HF_LOCKED}},
            1);
    }
    char *text = metrics_text_of(m, &look);
    expect_int(lines_with(text, "holdfast_locks{"), METRICS_TYPES_MAX + 1);
    expect_int(lines_with(text, "holdfast_refusals_total{"), METRICS_TYPES_MAX + 1);
    expect_contains(text, "\nholdfast_locks{type=\"t0999\"} 1000\n"); /* the most used ... */
    expect_contains(text, "\nholdfast_locks{type=\"t0936\"} 937\n");
    expect_lacks(text, "t0935");
    expect_contains(text, "\nholdfast_locks{type=\"other\"} 438516\n"); /* 1 + 2 + ... + 936 */
    expect_contains(text, "\nholdfast_refusals_total{type=\"t0999\"} 1\n");
    expect_contains(text, "\nholdfast_refusals_total{type=\"other\"} 4936\n");
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

static void a_type_keeps_its_label_when_others_are_used_more(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    count_many(m, 0, 64, false);
    count_many(m, 500, 100, false);
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "\nholdfast_locks{type=\"t0000\"} 0\n");
    expect_lacks(text, "t0500");
    expect_int(lines_with(text, "holdfast_locks{"), METRICS_TYPES_MAX + 1);
    hf_free(text);
    metrics_free(m);
}

/* Types that are only saved hold no locks, so no census tells of them. */
static void what_was_saved_has_a_label_and_its_stale_saves_are_refusals(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    static const struct {
        hf_op_kind kind;
        bool linked;
        const char *type;
        hf_status status;
    } asked[] = {
        {HF_OP_SAVE, false, "never", HF_STALE},    {HF_OP_SAVE, false, "paper", HF_OK},
        {HF_OP_SAVE, false, "paper", HF_STALE},    {HF_OP_SAVE, false, "paper", HF_LOCKED},
        {HF_OP_SAVE, false, "paper", HF_NOT_HELD}, {HF_OP_VERSION, true, "paper", HF_STALE},
        {HF_OP_VERSION, false, "paper", HF_STALE}, {HF_OP_VERSION, false, "paper", HF_STALE},
    };
    hf_op ops[sizeof asked / sizeof *asked] = {0};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        ops[i] = (hf_op){.kind = asked[i].kind,
                         .linked = asked[i].linked,
                         .type = asked[i].type,
                         .id = "1",
                         .answer = {.status = asked[i].status}};
    metrics_ops(m, ops, sizeof asked / sizeof *asked);
    char *text = metrics_text_of(m, &(metrics_look){0});
    expect_true(metrics_good(text));
    /* Two saves, and the two of the linked run; the last is a question. */
    expect_contains(text, "\nholdfast_refusals_total{type=\"paper\"} 4\n");
    expect_contains(text, "\nholdfast_refusals_total{type=\"other\"} 1\n");
    hf_free(text);
    metrics_free(m);
}

static void labels_that_are_free_go_to_new_types(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    count_many(m, 0, 3, false);
    count_many(m, 500, 61, false);
    count_many(m, 600, 1, false);
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "{type=\"t0002\"} 0\n");
    expect_contains(text, "{type=\"t0500\"} 0\n");
    expect_contains(text, "\nholdfast_locks{type=\"other\"} 601\n");
    hf_free(text);
    metrics_free(m);
}

static void what_a_cut_count_does_not_say_is_not_told_as_zero(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    count_many(m, 0, 10, false);
    count_many(m, 0, 5, true);
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "\nholdfast_locks{type=\"t0004\"} 5\n");
    expect_lacks(text, "holdfast_locks{type=\"t0005\"}");
    expect_contains(text, "\nholdfast_locks{type=\"other\"} 100\n");
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

static void a_type_named_other_counts_as_other(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    hf_count counts[] = {{"order", 2}, {"other", 9}};
    metrics_count(
        m, &(hf_answer){.counts = counts, .counts_count = 2, .total_locks = 11, .now_us = 1});
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "\nholdfast_locks{type=\"order\"} 2\n");
    expect_contains(text, "\nholdfast_locks{type=\"other\"} 9\n");
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

static void incidents_without_end_have_an_end(void **state)
{
    static char names[100][16];
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "incident_%d", i);
        metrics_incident(m, names[i]);
    }
    char *text = metrics_text_of(m, &look);
    expect_int(lines_with(text, "holdfast_http_incidents_total{"), METRICS_INCIDENTS_MAX + 1);
    expect_contains(text, "{what=\"other\"} 68\n");
    hf_free(text);
    metrics_free(m);
}

static void whatever_stands_in_a_label_is_escaped(void **state)
{
    static const char *const odd[] = {"/a\"b\\c\nd{}, \xc3\xa9", NULL};
    (void)state;
    metrics *m = NULL;
    hf_error err = {0};
    metrics_look look = {0};
    expect(HF_OK, metrics_new(&(metrics_settings){.routes = odd, .store = "s\"q"}, &m, &err), err);
    metrics_http(m, 0, "GET", 200, 5);
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "route=\"/a\\\"b\\\\c\\nd{}, \xc3\xa9\"");
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

static void codes_and_kinds_that_nobody_knows_do_no_harm(void **state)
{
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = {0};
    metrics_http(m, 0, "", 0, -5);
    metrics_http(m, 3, "GET", 999, INT64_MAX / 4);
    metrics_ops(m, &(hf_op){.kind = HF_OP_KINDS, .answer = {.status = HF_STATUS_COUNT}}, 1);
    metrics_ops(m, &(hf_op){.kind = HF_OP_ACQUIRE, .answer = {.status = HF_LOCKED}}, 1);
    char *text = metrics_text_of(m, &look);
    expect_contains(text, "{route=\"/v1/locks\",method=\"other\",code=\"5xx\"} 1\n");
    expect_contains(text, "{route=\"unknown\",method=\"GET\",code=\"5xx\"} 1\n");
    expect_true(metrics_good(text));
    hf_free(text);
    metrics_free(m);
}

/* Changes the first place where `from` stands. */
static char *metrics_changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    hf_buffer out = {0};
    expect_true(at != NULL);
    hf_buffer_add(&out, text, (size_t)(at - text));
    hf_buffer_print(&out, "%s%s", to, at + strlen(from));
    return hf_buffer_take(&out);
}

static void the_judge_sees_what_is_wrong(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"# HELP holdfast_sessions ", "# HULP holdfast_sessions "},
        {"# TYPE holdfast_sessions gauge", "# TYPE holdfast_sessions counter"},
        {"# TYPE holdfast_sweeps_total counter", "# TYPE holdfast_sweeps_total gauge"},
        {"holdfast_sessions 17\n", "holdfast_sessions 17\nholdfast_sessions 17\n"},
        {"holdfast_sessions 17\n", "holdfast_sessions 17\nholdfast_store_up 1\n"},
        {"holdfast_sessions 17\n", "holdfast_sessions -1\n"},
        {"{type=\"customer\"} 3", "{type=\"policy\"} 3"},
        {"{type=\"customer\"}", "{type=\"custo\"mer\"}"},
        {"{work=\"write\",le=\"3\"} 3", "{work=\"write\",le=\"3\"} 0"},
        {"{work=\"write\",le=\"3\"}", "{work=\"write\",le=\"1\"}"},
        {"{work=\"write\",le=\"+Inf\"} 66", "{work=\"write\",le=\"+Inf\"} 67"},
        {"holdfast_batch_ops_sum{work=\"write\"} 9000\n", ""},
    };
    (void)state;
    metrics *m = metrics_fresh();
    metrics_look look = metrics_busy();
    count_something(m);
    char *text = metrics_text_of(m, &look);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bad = metrics_changed(text, cases[i].from, cases[i].to);
        if (metrics_good(bad))
            fail_msg("the judge takes %s for %s", cases[i].to, cases[i].from);
        hf_free(bad);
    }
    hf_free(text);
    metrics_free(m);
}

static void without_memory_no_half_text_is_taken_for_a_whole_one(void **state)
{
    (void)state;
    metrics *m = NULL;
    hf_error err = {0};
    metrics_look look = {0};
    bool failed = true;
    out_of_memory_begin(OF_LIBRARY, 1, false);
    hf_status status =
        metrics_new(&(metrics_settings){.routes = routes, .store = "memory"}, &m, &err);
    expect_true(out_of_memory_end());
    expect_int(status, HF_NO_MEMORY);
    m = metrics_fresh();
    for (unsigned n = 1; failed; n++) {
        hf_buffer out = {0};
        out_of_memory_begin(OF_LIBRARY, n, true);
        status = metrics_write(m, &look, &out, &err);
        failed = out_of_memory_end();
        expect_int(status, failed ? HF_NO_MEMORY : HF_OK);
        hf_buffer_done(&out);
    }
    metrics_free(m);
}

/* ---- the document ---- */

#define BEGINS                                                                                     \
    "<!-- made from server/metrics_text.c; HF_TEST_UPDATE=1 tools/run-tests --in build "       \
    "unit/metrics "                                                                                \
    "-->\n"
#define ENDS "<!-- end of what is made -->\n"

static char *metrics_read_whole(const char *path)
{
    char block[4096];
    size_t size;
    hf_buffer out = {0};
    FILE *file = fopen(path, "r");
    expect_true(file != NULL);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        hf_buffer_add(&out, block, size);
    fclose(file);
    return hf_buffer_take(&out);
}

static void the_document_lists_every_family(void **state)
{
    (void)state;
    char path[HF_URL_MAX];
    hf_buffer wanted = {0};
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/operations.md", root != NULL ? root : ".");
    char *document = metrics_read_whole(path);
    const char *begins = strstr(document, BEGINS), *ends = strstr(document, ENDS);
    expect_true(begins != NULL && ends != NULL);
    begins += strlen(BEGINS);
    hf_buffer_add(&wanted, document, (size_t)(begins - document));
    hf_buffer_print(&wanted, "\n| metric | kind | labels | what it says |\n|---|---|---|---|\n");
    for (size_t i = 0; i < metrics_families_count; i++) {
        const metrics_family *it = &metrics_families[i];
        hf_buffer_print(&wanted, "| `%s` | %s | %s | %s |\n", it->name, it->kind, it->labels,
                        it->help);
    }
    hf_buffer_print(&wanted, "\n%s", ends);
    if (getenv("HF_TEST_UPDATE") != NULL) {
        FILE *file = fopen(path, "w");
        expect_true(file != NULL && fputs(wanted.text, file) >= 0 && fclose(file) == 0);
    } else if (strcmp(document, wanted.text) != 0) {
        fail_msg("docs/operations.md does not list the families as the table has them: run this "
                 "test with "
                 "HF_TEST_UPDATE=1");
    }
    hf_buffer_done(&wanted);
    hf_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_did_nothing_yet_can_be_read),
        cmocka_unit_test(every_number_is_the_one_that_was_counted),
        cmocka_unit_test(every_family_of_the_table_is_told_and_none_besides),
        cmocka_unit_test(the_process_tells_of_itself),
        cmocka_unit_test(a_broken_store_is_not_up),
        cmocka_unit_test(a_thousand_types_have_64_labels_and_the_rest_is_other),
        cmocka_unit_test(a_type_keeps_its_label_when_others_are_used_more),
        cmocka_unit_test(what_was_saved_has_a_label_and_its_stale_saves_are_refusals),
        cmocka_unit_test(labels_that_are_free_go_to_new_types),
        cmocka_unit_test(what_a_cut_count_does_not_say_is_not_told_as_zero),
        cmocka_unit_test(a_type_named_other_counts_as_other),
        cmocka_unit_test(incidents_without_end_have_an_end),
        cmocka_unit_test(whatever_stands_in_a_label_is_escaped),
        cmocka_unit_test(codes_and_kinds_that_nobody_knows_do_no_harm),
        cmocka_unit_test(the_judge_sees_what_is_wrong),
        cmocka_unit_test(without_memory_no_half_text_is_taken_for_a_whole_one),
        cmocka_unit_test(the_document_lists_every_family),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
