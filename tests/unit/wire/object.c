/* SPDX-License-Identifier: MIT */
/* Bodies with a few named fields: what is read, how seconds become microseconds, and the sentences
 * of refusals. */
#include <base/arena.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <wire/wire.h>

typedef struct body {
    const char *user, *name;
    int64_t fence, ttl_us;
    bool quick;
    wire_texts resources;
    wire_objects locks;
    int64_t grant;
} body;

static hf_status object_read_body(const char *text, body *out, hf_arena *arena, hf_error *err)
{
    *out = (body){0};
    const wire_member members[] = {
        {"user", WIRE_A_TEXT, &out->user, true},
        {"name", WIRE_A_TEXT, &out->name, false},
        {"fence", WIRE_A_WHOLE, &out->fence, false},
        {"ttl_seconds", WIRE_SECONDS, &out->ttl_us, false},
        {"quick", WIRE_YES_NO, &out->quick, false},
        {"resources", WIRE_TEXTS, &out->resources, false},
        {"locks", WIRE_OBJECTS, &out->locks, false},
        {"grant", WIRE_A_FENCE, &out->grant, false},
    };
    return wire_object_read(text, strlen(text), members, sizeof members / sizeof *members, arena,
                            err);
}

static void a_body_is_read(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    body got;
    expect(HF_OK,
           object_read_body("{\"user\":\"alice\",\"name\":null,\"fence\":9223372036854775807,\"ttl_"
                            "seconds\":0.25,\"quick\":"
                            "true,\"resources\":[\"a/1\",\"b/2\"],\"locks\":[{\"id\":\"7\"},{}]}",
                            &got, &arena, &err),
           err);
    expect_text(got.user, "alice");
    expect_true(got.name == NULL);
    expect_int(got.fence, INT64_MAX);
    expect_int(got.ttl_us, 250000);
    expect_true(got.quick);
    expect_int(got.resources.count, 2);
    expect_text(got.resources.items[1], "b/2");
    expect_int(got.locks.count, 2);
    const char *id = NULL;
    const wire_member members[] = {{"id", WIRE_A_TEXT, &id, true}};
    expect(HF_OK, wire_object_at(&got.locks, 0, "locks", members, 1, &arena, &err), err);
    expect_text(id, "7");
    expect(HF_INVALID, wire_object_at(&got.locks, 1, "locks", members, 1, &arena, &err), err);
    expect_text(err.message, "locks 1: \"id\" is missing.");
    hf_arena_done(&arena);
}

static void an_empty_body_has_no_fields(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err;
    expect(HF_OK, wire_object_read(NULL, 0, NULL, 0, &arena, &err), err);
    expect(HF_OK, wire_object_read("{}", 2, NULL, 0, &arena, &err), err);
    expect(HF_INVALID, wire_object_read("{\"a\":1}", 7, NULL, 0, &arena, &err), err);
    expect_text(err.message, "Unknown field \"a\"; the body takes none.");
    hf_arena_done(&arena);
}

/* 0 means that it was left out, so it can't be given. */
static void a_fence_is_one_or_more(void **state)
{
    (void)state;
    hf_arena arena = {0};
    hf_error err = {0};
    body got;
    expect(HF_OK, object_read_body("{\"user\":\"a\",\"grant\":1}", &got, &arena, &err), err);
    expect_int(got.grant, 1);
    expect(HF_OK, object_read_body("{\"user\":\"a\",\"grant\":null}", &got, &arena, &err), err);
    expect_int(got.grant, 0);
    expect(HF_INVALID, object_read_body("{\"user\":\"a\",\"grant\":0}", &got, &arena, &err), err);
    expect_text(err.message,
                "No grant has the fence 0; leave \"grant\" out where any grant is meant.");
    expect(HF_INVALID,
           object_read_body("{\"user\":\"a\",\"grant\":-9223372036854775808}", &got, &arena, &err),
           err);
    expect(HF_INVALID, object_read_body("{\"user\":\"a\",\"grant\":1.5}", &got, &arena, &err), err);
    expect_text(err.message, "\"grant\" must be a whole number.");
    hf_arena_done(&arena);
}

static void seconds_become_microseconds_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us; /* 0: too short; -1: negative; INT64_MAX: too long */
    } cases[] = {
        {"1", 1000000},
        {"0.1", 100000},
        {"0.3", 300000},
        {"1.1", 1100000},
        {"0.001", 1000},
        {"1e-3", 1000},
        {"0.001000", 1000},
        {"1.000001", 1000001},
        {"0.0010004", 1000},
        {"0.0010005", 1001},
        {"0.00100049999999999999999999999999", 1000},
        {"3.333333333333333", 3333333},
        {"6.66666666666666666666666666666666666666666666667", 6666667},
        {"31622399.999999", HF_DURATION_MAX_US - 1},
        {"31622400", HF_DURATION_MAX_US},
        {"3.16224e7", HF_DURATION_MAX_US},
        {"3.16224E+7", HF_DURATION_MAX_US},
        {"0.00316224e10", HF_DURATION_MAX_US},
        {"31622400.0000004", HF_DURATION_MAX_US},
        {"1.5e3", 1500000000},
        {"12345.678901", INT64_C(12345678901)},
        {"0", 0},
        {"-0", 0},
        {"0.0", 0},
        {"0e9", 0},
        {"0.00e+99999", 0},
        {"0.000999", 0},
        {"1e-99999999999999999999", 0},
        {"-1", -1},
        {"-0.5", -1},
        {"-1e99", -1},
        {"-1e-99", -1},
        {"0.0000001", 0},
        {"31622400.000001", INT64_MAX},
        {"1e8", INT64_MAX},
        {"1e99999999999999999999", INT64_MAX},
        {"9223372036854775807", INT64_MAX},
        {"123456789012345678901234567890.5", INT64_MAX},
    };
    hf_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        int64_t us = cases[i].us;
        body got;
        hf_error err = {0};
        snprintf(text, sizeof text, "{\"user\":\"a\",\"ttl_seconds\":%s}", cases[i].text);
        hf_status status = object_read_body(text, &got, &arena, &err);
        const char *sentence = us == 0           ? "\"ttl_seconds\" is shorter than 0.001 seconds."
                               : us == -1        ? "\"ttl_seconds\" is negative."
                               : us == INT64_MAX ? "\"ttl_seconds\" is longer than 366 days."
                                                 : "";
        if (status != (sentence[0] == '\0' ? HF_OK : HF_INVALID) ||
            strcmp(err.message, sentence) != 0 || (status == HF_OK && got.ttl_us != us))
            fail_msg("%s came to %" PRId64 ", %s", cases[i].text, got.ttl_us, err.message);
    }
    hf_arena_done(&arena);
}

/* Every number of microseconds, as people and programs write it. */
static void every_microsecond_can_be_said(void **state)
{
    (void)state;
    hf_arena arena = {0};
    for (int64_t us = 1000; us < HF_DURATION_MAX_US; us = us * 10 / 9 + 1) {
        char text[100];
        body got;
        hf_error err;
        snprintf(text, sizeof text, "{\"user\":\"a\",\"ttl_seconds\":%" PRId64 ".%06" PRId64 "}",
                 us / 1000000, us % 1000000);
        expect(HF_OK, object_read_body(text, &got, &arena, &err), err);
        expect_int(got.ttl_us, us);
        snprintf(text, sizeof text, "{\"user\":\"a\",\"ttl_seconds\":%.17g}", (double)us / 1e6);
        expect(HF_OK, object_read_body(text, &got, &arena, &err), err);
        expect_int(got.ttl_us, us);
        hf_arena_reset(&arena);
    }
    hf_arena_done(&arena);
}

static void bad_bodies_are_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", "The body must be an object."},
        {"{\"user\":", "The body is not good JSON: line 1, column 9: it ends too early."},
        {"{}", "\"user\" is missing."},
        {"{\"user\":null}", "\"user\" is missing."},
        {"{\"user\":1}", "\"user\" must be a text."},
        {"{\"user\":\"a\",\"fence\":\"1\"}", "\"fence\" must be a whole number."},
        {"{\"user\":\"a\",\"fence\":1.0}", "\"fence\" must be a whole number."},
        {"{\"user\":\"a\",\"quick\":\"yes\"}", "\"quick\" must be true or false."},
        {"{\"user\":\"a\",\"ttl_seconds\":\"5m\"}", "\"ttl_seconds\" must be a number of seconds."},
        {"{\"user\":\"a\",\"resources\":\"a/1\"}", "\"resources\" must be an array of texts."},
        {"{\"user\":\"a\",\"resources\":[\"a/1\",2]}", "\"resources\" must be an array of texts."},
        {"{\"user\":\"a\",\"locks\":[\"a/1\"]}", "\"locks\" must be an array of objects."},
        {"{\"user\":\"a\",\"ttl\":5}", "Unknown field \"ttl\"; the body takes user, name, fence, "
                                       "ttl_seconds, quick, resources, locks, grant."},
        {"{\"user\":\"a\",\"user\":\"b\"}", "The body is not good JSON: line 1, column 13: a field "
                                            "of this name stands there already."},
    };
    hf_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        body got;
        hf_error err;
        expect(HF_INVALID, object_read_body(cases[i].text, &got, &arena, &err), err);
        expect_text(err.message, cases[i].sentence);
    }
    hf_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_read),
        cmocka_unit_test(an_empty_body_has_no_fields),
        cmocka_unit_test(a_fence_is_one_or_more),
        cmocka_unit_test(seconds_become_microseconds_exactly),
        cmocka_unit_test(every_microsecond_can_be_said),
        cmocka_unit_test(bad_bodies_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("wire_object", tests, NULL, NULL);
}
