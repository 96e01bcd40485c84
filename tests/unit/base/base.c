/* SPDX-License-Identifier: MIT */
/* The parts everything stands on: UTF-8, hex, times, durations, names, JSON, statuses. */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/seams.h"
#include "base/text.h"
#include "base/time.h"

#include <holdfast/holdfast.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/out_of_memory.h>

#include <cmocka.h>

static void clean_text_is_utf8_without_control_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool clean;
    } cases[] = {
        {"", true},
        {"policy 12345", true},
        {"ünïcödé ✓ 😀", true},
        {"tab\there", false},
        {"line\n", false},
        {"del\x7f", false},
        {"c1\xc2\x85", false},
        {"nbsp\xc2\xa0", true},
        {"overlong\xc0\xaf", false},
        {"overlong3\xe0\x80\xaf", false},
        {"surrogate\xed\xa0\x80", false},
        {"beyond\xf4\x90\x80\x80", false},
        {"cut\xe2\x82", false},
        {"stray\x80", false},
        {"latin1\xe9", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (hf_text_is_clean(cases[i].text, strlen(cases[i].text)) != cases[i].clean)
            fail_msg("\"%s\" should be %s", cases[i].text, cases[i].clean ? "clean" : "refused");
}

static void what_misleads_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *shown;
    } cases[] = {
        {"", 1, ""},
        {"plain caf\xc3\xa9 \xe2\x82\xac \xd8\xa7 \xe2\x80\x8d", 64,
         "plain caf\xc3\xa9 \xe2\x82\xac \xd8\xa7 \xe2\x80\x8d"},
        {"\xe2\x80\xae", 64, "\\u202e"},
        {"a\xe2\x80\xaa\xd8\x9c"
         "b",
         64, "a\\u202a\\u061cb"},
        {"a\xe2\x80\xae"
         "bcd",
         11, "a\\u202ebcd"},
        {"a\xe2\x80\xae"
         "bcd",
         10, "a\\u202ebc"}, /* what has no room is cut ... */
        {"a\xe2\x80\xae"
         "b\xc3\xa9",
         10, "a\\u202eb"}, /* ... before a character */
        {"a\xe2\x80\xae", 7, "a"},
        {"\xe2\x80", 64, "??"}, /* cut off before */
        {"\033[31m\r\n\t\x7f", 64, "\\u001b[31m\\u000d\\u000a\\u0009\\u007f"},
        {"\xc2\x9b"
         "1m\xc2\xa0",
         64, "\\u009b1m\xc2\xa0"},
        {"\x9b"
         "1m\xff",
         64, "?1m?"},
        {"a\x9b"
         "1m\xc3\xa9\x9b\xe2\x82\xac\x80",
         64, "a?1m\xc3\xa9?\xe2\x82\xac?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        hf_text_show(text, cases[i].size);
        assert_string_equal(text, cases[i].shown);
    }
}

static void times_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const int64_t good[] = {
        0, 1, 951782400000000, 1794739623123456, 4102444799999999, 5097600000000};
    static const char *const bad[] = {"",
                                      "now",
                                      "2026-13-01",
                                      "2026-02-29",
                                      "1969-12-31",
                                      "2026-11-15T10:47Z",
                                      "2026-11-15T24:00:00Z",
                                      "2026-11-15T10:47:03",
                                      "2026-11-15T10:47:03.Z",
                                      "2026-11-15T10:47:03+01:00",
                                      "2026-11-15T10:47:03Z ",
                                      "2026-11-15 "};
    char text[HF_TIME_TEXT];
    int64_t us;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        hf_time_write(good[i], text);
        assert_true(hf_time_read(text, &us));
        assert_int_equal(us, good[i]);
    }
    assert_true(hf_time_read("2000-02-29", &us));
    assert_int_equal(us, 951782400000000);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(hf_time_read(bad[i], &us));
}

static void times_are_written_in_utc_by_the_calendar(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {INT64_C(1794739623123456), "2026-11-15T10:47:03.123456Z"},
        {INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z"},
        {INT64_C(4107542399999999), "2100-02-28T23:59:59.999999Z"},
        {INT64_C(4107542400000000), "2100-03-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
    };
    char out[HF_TIME_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hf_time_format(cases[i].us, out);
        assert_string_equal(out, cases[i].text);
    }
    hf_time_say(cases[1].us, cases[1].us, out);
    assert_string_equal(out, "10:47 UTC");
    hf_time_say(cases[1].us, cases[1].us + INT64_C(86400000000), out);
    assert_string_equal(out, "2026-11-15 10:47 UTC");
}

static void durations_are_a_number_and_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us; /* 0: refused */
    } cases[] = {
        {"500ms", 500000},
        {"30s", 30000000},
        {"5m", 300000000},
        {"2h", INT64_C(7200000000)},
        {"7d", INT64_C(604800000000)},
        {"366d", HF_DURATION_MAX_US},
        {"1ms", 1000},
        {"007s", 7000000},
        {"", 0},
        {"5", 0},
        {"s", 0},
        {"0s", 0},
        {"-5s", 0},
        {"5 s", 0},
        {"5sec", 0},
        {"1e3s", 0},
        {"1.5s", 0},
        {"367d", 0},
        {"9223372036854775807s", 0},
        {"9223372036854775808ms", 0},
        {"99999999999999999999999d", 0},
        {"+5s", 0},
        {"5S", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t us = 0;
        hf_error err = {0};
        hf_status status = hf_duration_parse(cases[i].text, &us, &err);
        if (status != (cases[i].us == 0 ? HF_INVALID : HF_OK) || us != cases[i].us)
            fail_msg("\"%s\": %s, %lld us", cases[i].text, hf_status_wire(status), (long long)us);
        if (status != HF_OK)
            assert_int_not_equal(err.message[0], '\0');
    }
}

static void a_resource_splits_at_the_first_slash(void **state)
{
    (void)state;
    hf_resource r;
    hf_error err;
    char out[HF_RESOURCE_SIZE], id[HF_ID_SIZE], text[HF_RESOURCE_SIZE + 8];
    assert_int_equal(hf_resource_parse("file/a/b/c.txt", &r, &err), HF_OK);
    assert_string_equal(r.type, "file");
    assert_string_equal(r.id, "a/b/c.txt");
    hf_resource_format(&r, out);
    assert_string_equal(out, "file/a/b/c.txt");
    static const char *const bad[] = {
        "",          "policy",    "/1",          "policy/",     "Policy/1",
        "1policy/1", "po licy/1", "policy/a\nb", "policy/\xff", "p\xc3\xbcl/1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(hf_resource_parse(bad[i], &r, &err), HF_INVALID);
    assert_int_equal(hf_resource_parse(NULL, &r, &err), HF_INVALID);
    memset(id, 'x', sizeof id);
    snprintf(text, sizeof text, "t/%.*s", HF_ID_MAX, id);
    assert_int_equal(hf_resource_parse(text, &r, &err), HF_OK);
    snprintf(text, sizeof text, "t/%.*s", HF_ID_MAX + 1, id);
    assert_int_equal(hf_resource_parse(text, &r, &err), HF_INVALID);
    snprintf(text, sizeof text, "%.*s/1", HF_TYPE_MAX, id);
    assert_int_equal(hf_resource_parse(text, &r, &err), HF_OK);
    snprintf(text, sizeof text, "%.*s/1", HF_TYPE_MAX + 1, id);
    assert_int_equal(hf_resource_parse(text, &r, &err), HF_INVALID);
}

static void a_place_in_a_list_is_written_and_read_back(void **state)
{
    (void)state;
    static const char *const good[] = {"policy/12345 00ff", "file/a b/c d 0", "deadbeef"};
    static const char *const bad[] = {"",
                                      " ",
                                      "policy/1 ",
                                      "policy/1",
                                      "policy 0",
                                      "/1 0",
                                      "policy/1 0 ",
                                      "policy/1 XY",
                                      "policy/1 000000000000000000000000000000000"};
    hf_cursor c;
    hf_error err;
    char out[HF_CURSOR_SIZE];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(hf_cursor_parse(good[i], &c, &err), HF_OK);
        hf_cursor_format(&c, out);
        assert_string_equal(out, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(hf_cursor_parse(bad[i], &c, &err), HF_INVALID);
}

static void a_problem_is_a_refusal_with_what_rfc_9457_wants(void **state)
{
    (void)state;
    char *json = hf_problem_json(
        0, &(hf_refusal){.status = HF_NOT_HELD, .message = "It is gone.", .resource = "policy/1"});
    assert_string_equal(
        json,
        "{\"type\":\"urn:holdfast:problem:not_held\",\"title\":\"the session does not hold it\","
        "\"status\":409,\"detail\":\"It is gone.\",\"code\":\"not_held\","
        "\"message\":\"It is gone.\",\"resource\":\"policy/1\",\"holders\":[]}");
    hf_json_free(json);
    json = hf_problem_json(405, &(hf_refusal){.status = HF_DENIED, .message = "No."});
    assert_non_null(strstr(json, "\"status\":405,"));
    assert_null(strstr(json, "resource"));
    hf_json_free(json);
}

static void a_version_and_the_conflicts_of_a_set_are_told(void **state)
{
    (void)state;
    hf_version version = {.resource = {"tax", "DE"},
                          .number = 9,
                          .fence = 12,
                          .saved_us = INT64_C(1794739623123456),
                          .user = "bob",
                          .name = "Bob Smith",
                          .gone = true};
    static const char expected[] =
        "{\"resource\":\"tax/DE\",\"version\":9,\"fence\":12,"
        "\"saved\":\"2026-11-15T10:47:03.123456Z\",\"session\":null,\"user\":\"bob\","
        "\"name\":\"Bob Smith\",\"gone\":true}";
    char *json = hf_version_json(&version), text[2048];
    assert_string_equal(json, expected);
    hf_json_free(json);
    hf_version never = {.resource = {"tax", "FR"}};
    json = hf_versions_json(&never, 1);
    assert_string_equal(
        json, "{\"versions\":[{\"resource\":\"tax/FR\",\"version\":0,\"fence\":null,\"saved\":null,"
              "\"session\":null,\"user\":null,\"name\":null,\"gone\":false}]}");
    hf_json_free(json);
    hf_answer stale = {.status = HF_STALE,
                       .message = "It was deleted.",
                       .versions = &version,
                       .versions_count = 1};
    hf_answer denied = {.status = HF_NOT_HELD};
    hf_conflict conflicts[] = {{{"tax", "DE"}, 7, &stale}, {{"tax", "FR"}, 0, &denied}};
    hf_refusal refusal = {.status = HF_STALE,
                          .message = "No.",
                          .present = &version,
                          .conflicts = conflicts,
                          .conflicts_count = 2};
    json = hf_refusal_json(&refusal);
    snprintf(text, sizeof text,
             "{\"code\":\"stale\",\"message\":\"No.\",\"holders\":[],\"present\":%s,\"conflicts\":["
             "{\"resource\":\"tax/DE\",\"code\":\"stale\",\"message\":\"It was "
             "deleted.\",\"expected\":7,"
             "\"present\":%s},{\"resource\":\"tax/FR\",\"code\":\"not_held\","
             "\"message\":\"the session does not hold it\",\"expected\":null,\"present\":null}]}",
             expected, expected);
    assert_string_equal(json, text);
    hf_json_free(json);
}

static void credentials_are_read_and_drawn_and_never_repeated(void **state)
{
    (void)state;
    hf_credentials a, b;
    hf_error err;
    char text[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    assert_int_equal(hf_credentials_new(NULL, &a, &err), HF_OK);
    assert_int_equal(strlen(a.id), HF_SESSION_ID_MAX);
    assert_true(strlen(a.key) >= HF_KEY_MIN);
    snprintf(text, sizeof text, "%s.%s", a.id, a.key);
    assert_int_equal(hf_credentials_parse(text, &b, &err), HF_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(hf_credentials_new(NULL, &b, &err), HF_OK);
    assert_string_not_equal(a.id, b.id);
    assert_string_not_equal(a.key, b.key);
    assert_int_equal(
        hf_credentials_parse("0123456789abcdef0123456789abcdef.SECRETSECRET", &b, &err),
        HF_INVALID);
    assert_null(strstr(err.message, "SECRET"));
    assert_int_equal(hf_credentials_parse("nodot", &b, &err), HF_INVALID);
    assert_int_equal(hf_credentials_parse(NULL, &b, &err), HF_INVALID);
    assert_int_equal(hf_credentials_set(&b, "short", a.key, &err), HF_INVALID);
    assert_int_equal(hf_credentials_set(&b, a.id, "abc", &err), HF_INVALID);
}

static void json_is_escaped_and_its_commas_are_right(void **state)
{
    (void)state;
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "a\"b");
    hf_json_text(&json, "x\\y\n\001é");
    hf_json_name(&json, "list");
    hf_json_begin(&json, '[');
    hf_json_int(&json, 1);
    hf_json_int(&json, -2);
    hf_json_int(&json, 0);
    hf_json_int(&json, INT64_MAX);
    hf_json_int(&json, INT64_MIN);
    hf_json_bool(&json, true);
    hf_json_bool(&json, false);
    hf_json_text(&json, NULL);
    hf_json_number(&json, 0.125);
    hf_json_number(&json, -40);
    hf_json_number(&json, 1e300);
    hf_json_number(&json, 1e300 * 1e300);
    hf_json_end(&json, ']');
    hf_json_name(&json, "s");
    hf_json_seconds(&json, 1500000);
    hf_json_name(&json, "t");
    hf_json_time(&json, 0);
    hf_json_end(&json, '}');
    char *text = hf_buffer_take(&json.out);
    assert_string_equal(
        text, "{\"a\\\"b\":\"x\\\\y\\u000a\\u0001é\",\"list\":[1,-2,0,9223372036854775807,"
              "-9223372036854775808,true,false,null,0.125,-40,1e+300,null],\"s\":1.5,\"t\":null}");
    hf_free(text);
}

/* Whatever bytes a text has: control characters can't move a terminal's cursor, and what is no
 * UTF-8 is a question mark. */
static void any_text_becomes_json(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"ä✓😀", "\"ä✓😀\""},
        {"\xc2\xa0\xc2\x9b\xc2\x80\x7f\b", "\"\xc2\xa0\\u009b\\u0080\\u007f\\u0008\""},
        {"a\xff"
         "b\xc3",
         "\"a?b?\""},
        {"\xe2\x9c", "\"??\""},
        {"\xc0\xaf\xed\xa0\x80\xf5", "\"??????\""},
        {"\xf0\x9f\x98\"", "\"???\\\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hf_json json = {0};
        hf_json_text(&json, cases[i][0]);
        char *text = hf_buffer_take(&json.out);
        assert_string_equal(text, cases[i][1]);
        hf_free(text);
    }
    static const struct {
        int64_t us;
        const char *text;
    } spans[] = {{0, "0"},
                 {-1, "-0.000001"},
                 {-999999, "-0.999999"},
                 {-1500000, "-1.5"},
                 {INT64_MAX, "9223372036854.775807"},
                 {INT64_MIN, "-9223372036854.775808"}};
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        hf_json json = {0};
        hf_json_seconds(&json, spans[i].us);
        char *text = hf_buffer_take(&json.out);
        assert_string_equal(text, spans[i].text);
        hf_free(text);
    }
}

/* The table of statuses is what others build on. */
static void every_status_has_its_place_on_the_wire(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        int http, exit_code;
    } expected[] = {
        {"ok", 200, 0},        {"invalid", 400, 2},
        {"too_large", 413, 2}, {"locked", 423, 3},
        {"busy", 423, 3},      {"timeout", 408, 3},
        {"stale", 412, 4},     {"unauthenticated", 401, 5},
        {"denied", 403, 5},    {"unavailable", 503, 6},
        {"unsure", 504, 7},    {"not_held", 409, 8},
        {"expired", 410, 8},   {"not_applied", 409, 1},
        {"retry", 503, 1},     {"too_many", 429, 1},
        {"internal", 500, 1},  {"no_memory", 500, 1},
        {"not_found", 404, 1},
    };
    assert_int_equal(sizeof expected / sizeof expected[0], HF_STATUS_COUNT);
    for (size_t i = 0; i < HF_STATUS_COUNT; i++) {
        hf_status status = hf_status_from_wire(expected[i].wire);
        assert_int_not_equal(status, HF_STATUS_COUNT);
        assert_int_equal(hf_status_http(status), expected[i].http);
        assert_int_equal(hf_status_exit(status), expected[i].exit_code);
    }
    assert_int_equal(hf_status_from_wire("nonsense"), HF_STATUS_COUNT);
    assert_string_equal(hf_status_wire((hf_status)999), "internal");
}

/* Not even where it has got room, by doubling, for more than its ceiling. */
static void a_buffer_has_a_ceiling(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20 };
    hf_buffer buffer = {0};
    char *piece = calloc(1, PIECE);
    assert_non_null(piece);
    hf_buffer_add(&buffer, piece, PIECE / 2 + PIECE / 4);
    while (!buffer.failed) {
        hf_buffer_add(&buffer, piece, PIECE);
        assert_true(buffer.size < HF_BUFFER_MAX && buffer.room <= HF_BUFFER_MAX);
    }
    assert_true(buffer.size > HF_BUFFER_MAX - PIECE);
    assert_null(hf_buffer_take(&buffer));
    free(piece);
}

static void an_arena_gives_zeroed_aligned_memory_and_reuses_it(void **state)
{
    (void)state;
    hf_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 200000; size = size * 3 + 1) {
            unsigned char *block = hf_arena_alloc(&arena, size);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(block[i], 0);
            memset(block, 0xff, size);
        }
        size_t total = arena.total;
        hf_arena_reset(&arena);
        if (round > 0)
            assert_int_equal(arena.total, total);
    }
    assert_null(hf_arena_alloc(&arena, HF_ARENA_MAX + 1));
    hf_arena_done(&arena);
}

static void an_arena_that_is_wiped_gives_zeroed_memory_again(void **state)
{
    (void)state;
    hf_arena arena = {.least = 256, .wiped = true};
    for (int turn = 0; turn < 3; turn++) {
        for (size_t size = 1; size < 3000; size += 100) {
            unsigned char *at = hf_arena_alloc(&arena, size);
            assert_non_null(at);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(at[i], 0);
            memset(at, 0xa5, size);
        }
        hf_arena_wipe(&arena);
    }
    hf_arena_done(&arena);
    assert_true(arena.wiped);
}

/* One large batch does not cost its memory for good. */
static void an_arena_that_was_large_keeps_little(void **state)
{
    (void)state;
    enum { PIECE = 100000, MANY = 200 };
    hf_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            unsigned char *block = hf_arena_alloc(&arena, PIECE);
            assert_non_null(block);
            assert_int_equal(block[0] | block[PIECE - 1], 0);
            memset(block, 0xff, PIECE);
        }
        assert_true(arena.total >= (size_t)MANY * PIECE);
        if (round == 1)
            hf_arena_wipe(&arena);
        else
            hf_arena_reset(&arena);
        assert_true(arena.total > 0 && arena.total <= HF_ARENA_KEPT);
    }
    hf_arena_done(&arena);
    /* its first block is too large to be kept */
    assert_non_null(hf_arena_alloc(&arena, HF_ARENA_KEPT + 1));
    hf_arena_reset(&arena);
    assert_int_equal(arena.total, 0);
    assert_non_null(hf_arena_alloc(&arena, 1));
    hf_arena_done(&arena);
}

/* Half of the entries share their hash with another one. */
static void a_hash_table_finds_what_was_added_until_it_is_removed(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static hf_hash_entry entries[COUNT];
    hf_hash table = {0};
    assert_null(hf_hash_first(&table, 7));
    assert_null(hf_hash_walk(&table, NULL));
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(hf_hash_add(&table, &entries[i], hf_hash_bytes(1, &(uint64_t){i / 2}, 8)));
    for (uint64_t i = 0; i < COUNT; i += 3)
        hf_hash_remove(&table, &entries[i]);
    size_t walked = 0;
    for (hf_hash_entry *it = NULL; (it = hf_hash_walk(&table, it)) != NULL; walked++)
        assert_true((it - entries) % 3 != 0);
    assert_int_equal(walked, COUNT - (COUNT + 2) / 3);
    assert_int_equal(table.count, walked);
    for (size_t i = 0; i < COUNT; i++) {
        hf_hash_entry *it = hf_hash_first(&table, entries[i].hash);
        while (it != NULL && it != &entries[i])
            it = hf_hash_next(it);
        assert_true((it != NULL) == (i % 3 != 0));
    }
    hf_hash_done(&table);
    assert_int_equal(table.count, 0);
}

static void a_hash_table_that_cannot_grow_works_on(void **state)
{
    (void)state;
    hf_hash_entry entries[100] = {0};
    hf_hash table = {0};
    out_of_memory_begin(OF_LIBRARY, 1, true);
    assert_false(hf_hash_add(&table, &entries[0], 0));
    out_of_memory_end();
    assert_true(hf_hash_add(&table, &entries[0], 0));
    out_of_memory_begin(OF_LIBRARY, 1, true);
    for (uint64_t i = 1; i < 100; i++)
        assert_true(hf_hash_add(&table, &entries[i], i));
    assert_true(out_of_memory_end());
    for (uint64_t i = 0; i < 100; i++)
        assert_ptr_equal(hf_hash_first(&table, i), &entries[i]);
    hf_hash_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_text_is_utf8_without_control_characters),
        cmocka_unit_test(what_misleads_is_shown),
        cmocka_unit_test(times_are_written_in_utc_by_the_calendar),
        cmocka_unit_test(times_are_read_as_they_are_written),
        cmocka_unit_test(durations_are_a_number_and_a_unit),
        cmocka_unit_test(a_resource_splits_at_the_first_slash),
        cmocka_unit_test(a_place_in_a_list_is_written_and_read_back),
        cmocka_unit_test(a_problem_is_a_refusal_with_what_rfc_9457_wants),
        cmocka_unit_test(a_version_and_the_conflicts_of_a_set_are_told),
        cmocka_unit_test(credentials_are_read_and_drawn_and_never_repeated),
        cmocka_unit_test(json_is_escaped_and_its_commas_are_right),
        cmocka_unit_test(any_text_becomes_json),
        cmocka_unit_test(every_status_has_its_place_on_the_wire),
        cmocka_unit_test(a_buffer_has_a_ceiling),
        cmocka_unit_test(a_hash_table_finds_what_was_added_until_it_is_removed),
        cmocka_unit_test(a_hash_table_that_cannot_grow_works_on),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_memory_and_reuses_it),
        cmocka_unit_test(an_arena_that_is_wiped_gives_zeroed_memory_again),
        cmocka_unit_test(an_arena_that_was_large_keeps_little),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
