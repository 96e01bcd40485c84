/* SPDX-License-Identifier: MIT */
/* Reading a web server's log: patterns, lines, times, people, and bytes that come in any pieces. */
#include <advise/access_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

static hf_error err;

static void patterns_name_the_record(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *method, *target, *id; /* NULL: does not match */
    } rows[] = {
        {"GET /p/{id}/edit", "GET", "/p/7/edit", "7"},
        {"GET /p/{id}/edit", "GET", "/p/7/edit?tab=2", "7"},
        {"GET /p/{id}/edit", "POST", "/p/7/edit", NULL},
        {"GET /p/{id}/edit", "GET", "/p/7/8/edit", NULL},
        {"GET /p/{id}/edit", "GET", "/p//edit", NULL},
        {"GET /p/{id}/edit", "GET", "/p/7/edit/x", NULL},
        {"PUT /p/{id}", "PUT", "/p/a%2Fb", "a%2Fb"},
        {"* /p/{id}", "PATCH", "/p/12", "12"},
        {"POST /*/p-{id}.html", "POST", "/de/p-12.html", "12"},
        {"POST /*/p-{id}.html", "POST", "/de/at/p-12.html", NULL},
        {"GET /edit.php?id={id}", "GET", "/edit.php?id=9&x=1", "9"},
        {"GET /edit.php?id={id}", "GET", "/edit.php?id=9", "9"},
        {"GET /edit.php?id={id}", "GET", "/edit.php?x=1&id=9", NULL},
        {"GET /{id}", "GET", "/", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        advise_pattern pattern;
        hf_slice id = HF_NOTHING;
        expect(HF_OK, advise_pattern_parse("open", rows[i].pattern, &pattern, &err), err);
        bool matches = advise_pattern_matches(&pattern, hf_slice_of(rows[i].method),
                                              hf_slice_of(rows[i].target), &id);
        if (matches != (rows[i].id != NULL) ||
            (matches && !hf_slice_equal(id, hf_slice_of(rows[i].id))))
            check_failed(__FILE__, __LINE__, "%s on %s %s: %.*s", rows[i].pattern, rows[i].method,
                         rows[i].target, (int)id.size, id.at == NULL ? "" : id.at);
    }
}

static void bad_patterns_are_named(void **state)
{
    (void)state;
    static const char *const rows[] = {"",
                                       "GET",
                                       "/p/{id}",
                                       "GET p/{id}",
                                       "GET /p/7",
                                       "GET /p/{id}/{id}",
                                       "ABCDEFGHIJKLMNOPQ /{id}"};
    advise_pattern pattern;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(HF_INVALID, advise_pattern_parse("open", rows[i], &pattern, &err), err);
        expect_contains(err.message, "--open");
    }
}

/* Alice (by her name), and two people behind one address whom their agents tell apart. */
static const char lines[] =
    "192.0.2.1 - alice [18/Nov/2026:09:00:00 +0100] \"GET /p/1/edit HTTP/1.1\" 200 5 \"-\" \"A\"\n"
    "192.0.2.9 - - [18/Nov/2026:08:01:00 +0000] \"GET /p/1/edit HTTP/1.1\" 200 5 \"-\" \"A\"\r\n"
    "example.org:443 192.0.2.9 - - [18/Nov/2026:08:02:00 +0000] \"GET /p/2/edit HTTP/1.1\" 200 5 "
    "\"-\" "
    "\"B\"\n"
    "\n"
    "192.0.2.2 - alice [18/Nov/2026:08:10:00 +0000] \"PUT /p/1 HTTP/1.1\" 204 0 \"-\" \"C\"\n"
    "192.0.2.9 - - [18/Nov/2026:08:11:00 +0000] \"PUT /p/1 HTTP/1.1\" 409 0 \"-\" \"A\"\n"
    "192.0.2.9 - - [18/Nov/2026:08:12:00 +0000] \"PUT /p/1 HTTP/1.1\" 204 0 \"-\" \"B\"\n"
    "192.0.2.9 - - [18/Nov/2026:08:13:00 +0000] \"PUT /p/1 HTTP/1.1\" 204 0 \"-\" \"A\"\n"
    "192.0.2.9 - - [18/Nov/2026:08:14:00 +0000] \"GET /a\\\"b HTTP/1.1\" 200 0 \"-\" \"A\"\n"
    "192.0.2.9 - - [88/Nov/2026:08:14:00] \"GET /p/3/edit HTTP/1.1\" 200 0 \"-\" \"A\"\n"
    "what is this?";

static advise_log begun(void)
{
    advise_log log = {.edits = advise_edits_new(), .open_count = 1, .save_count = 1};
    expect(HF_OK, advise_pattern_parse("open", "GET /p/{id}/edit", &log.open[0], &err), err);
    expect(HF_OK, advise_pattern_parse("save", "PUT /p/{id}", &log.save[0], &err), err);
    return log;
}

static void ended(advise_log *log)
{
    advise_edits_free(log->edits);
    advise_log_done(log);
}

static void lines_are_read_in_whatever_pieces_they_come(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof lines; piece += piece < 40 ? 1 : 97) {
        advise_log log = begun();
        for (size_t at = 0; at < sizeof lines - 1; at += piece) {
            size_t size = sizeof lines - 1 - at < piece ? sizeof lines - 1 - at : piece;
            expect(HF_OK, advise_log_feed(&log, lines + at, size, &err), err);
        }
        expect(HF_OK, advise_log_end(&log, &err), err);
        expect_int(log.lines, 10);
        expect_int(log.skipped, 2);
        expect_int(log.opened, 3);
        expect_int(log.saved, 3); /* not the 409 */
        ended(&log);
    }
}

/* Fed as often as it takes to measure: alice's edit lasts 70 - 60 = 10 minutes across two zones
 * and addresses. */
static void people_are_told_apart_and_times_read(void **state)
{
    (void)state;
    advise_log log = begun();
    advise_answers answers = {0};
    advise_replay replay;
    const advise_rules rules = {.redo_ratio = 1, .wait_minutes = 100, .idle_minutes = 5};
    for (int day = 1; day <= 12; day++) {
        char text[sizeof lines];
        memcpy(text, lines, sizeof lines);
        for (char *at = text; (at = strstr(at, "/Nov/")) != NULL; at++)
            if (at[-2] != '8')
                at[-2] = (char)('0' + day / 10), at[-1] = (char)('0' + day % 10);
        expect(HF_OK, advise_log_feed(&log, text, sizeof lines - 1, &err), err);
        expect(HF_OK, advise_log_feed(&log, "\n", 1, &err), err);
    }
    expect(HF_OK, advise_log_end(&log, &err), err);
    expect(HF_OK, advise_edits_measure(log.edits, &answers, &err), err);
    expect_int(answers.numbers[ADVISE_RECORDS], 2);
    expect_true(answers.numbers[ADVISE_EDIT_MINUTES] == 10);
    expect_true(answers.numbers[ADVISE_EDIT_MINUTES_P90] == 12);
    expect(HF_OK, advise_edits_replay(log.edits, &rules, &replay, &err), err);
    expect_int(replay.opens, 36);
    expect_int(replay.saves, 24);
    expect_int(replay.people, 3);
    expect_int(replay.unopened, 12); /* B saved 1, but opened 2 */
    expect_int(replay.tally.refused, 12);
    expect_int(replay.tally.conflicts, 12);
    ended(&log);
}

static void what_is_missing_in_a_log_is_said(void **state)
{
    (void)state;
    static const char other[] =
        "192.0.2.1 - - [18/Nov/2026:09:00:00 +0100] \"GET / HTTP/1.1\" 200 5\n";
    static const char opened[] =
        "192.0.2.1 - - [18/Nov/2026:09:00:00 +0100] \"GET /p/1/edit HTTP/1.1\" 200 5\n";
    const struct {
        const char *text, *sentence;
    } rows[] = {{"", "The log is empty."},
                {"{\"time\":1}\n", "None of the log's 1 lines is in the common or combined format"},
                {other, "Of the log's 1 lines none matches --open"},
                {opened, "Of the log's 1 lines none matches --save"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        advise_log log = begun();
        expect(HF_OK, advise_log_feed(&log, rows[i].text, strlen(rows[i].text), &err), err);
        expect(HF_NOT_FOUND, advise_log_end(&log, &err), err);
        expect_contains(err.message, rows[i].sentence);
        ended(&log);
    }
    advise_log log = begun();
    expect(HF_INVALID, advise_log_feed(&log, "\x1f\x8b\x08", 3, &err), err);
    expect_contains(err.message, "zcat FILE |");
    ended(&log);
}

static void an_endless_line_is_passed_over(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, '"', SIZE);
    advise_log log = begun();
    for (int i = 0; i < 5; i++)
        expect(HF_OK, advise_log_feed(&log, text, SIZE, &err), err);
    expect_true(log.rest.room < SIZE);
    expect(HF_OK, advise_log_feed(&log, "\n", 1, &err), err);
    expect(HF_OK, advise_log_feed(&log, lines, sizeof lines - 1, &err), err);
    expect(HF_OK, advise_log_end(&log, &err), err);
    expect_int(log.lines, 11);
    expect_int(log.skipped, 3);
    ended(&log);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_name_the_record),
        cmocka_unit_test(bad_patterns_are_named),
        cmocka_unit_test(lines_are_read_in_whatever_pieces_they_come),
        cmocka_unit_test(people_are_told_apart_and_times_read),
        cmocka_unit_test(what_is_missing_in_a_log_is_said),
        cmocka_unit_test(an_endless_line_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
