/* SPDX-License-Identifier: MIT */
/* The parser beside jansson: the same texts are accepted, with the same values in them. Random
 * JSON, whole and spoiled. Only what is stricter here by intent is left aside: depth, the number of
 * fields, a NUL (which ends the text for jansson, whatever follows); and jansson's refusal of
 * fractions that a double can't hold. */
#include "random_batch.h"

#include <base/buffer.h>
#include <base/json_parse.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

enum { ROUNDS = 20000 };

static uint64_t seed;

/* ---- random JSON ---- */

static void add_space(dice *d, hf_buffer *out)
{
    static const char *const spaces[] = {"", "", "", "", " ", "\n", "\t\r\n "};
    hf_buffer_print(out, "%s", spaces[dice_below(d, 7)]);
}

static void parse_add_text(dice *d, hf_buffer *out)
{
    static const char *const pieces[] = {
        "a",       "bc",      "é",         "😀",       "\\n",
        "\\\"",    "\\\\",    "\\/",       "\\u00e9", "\\ud83d\\ude00",
        "\\u20AC", "\x7f",    "\\b\\f\\r", "\\t",     "\xef\xbf\xbf",
        "{[,:]}",  "\\u0001", " "};
    hf_buffer_add(out, "\"", 1);
    for (uint64_t n = dice_below(d, 6); n > 0; n--)
        hf_buffer_print(out, "%s", pieces[dice_below(d, sizeof pieces / sizeof *pieces)]);
    hf_buffer_add(out, "\"", 1);
}

static void parse_add_number(dice *d, hf_buffer *out)
{
    static const char *const odd[] = {"0",
                                      "-0",
                                      "1.5",
                                      "-2.25e3",
                                      "1E5",
                                      "0.1e-7",
                                      "00",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "-",
                                      "1e+5",
                                      "0e0",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-9223372036854775808",
                                      "-9223372036854775809",
                                      "123456789012345678901234567890"};
    if (dice_below(d, 4) == 0)
        hf_buffer_print(out, "%s", odd[dice_below(d, sizeof odd / sizeof *odd)]);
    else
        hf_buffer_print(out, "%lld", (long long)(dice_next(d) >> dice_below(d, 64)));
}

static void parse_add_value(dice *d, hf_buffer *out, int depth)
{
    static const char *const words[] = {"true", "false", "null", "nul", "True", "tru"};
    add_space(d, out);
    uint64_t what = dice_below(d, depth < 6 ? 6 : 4), count = dice_below(d, 4);
    if (what == 0)
        hf_buffer_print(out, "%s", words[dice_below(d, dice_below(d, 8) ? 3 : 6)]);
    else if (what == 1)
        parse_add_number(d, out);
    else if (what < 4)
        parse_add_text(d, out);
    else {
        hf_buffer_add(out, what == 4 ? "[" : "{", 1);
        for (uint64_t i = 0; i < count; i++) {
            if (i > 0)
                hf_buffer_add(out, ",", 1);
            add_space(d, out);
            if (what == 5) {
                parse_add_text(d, out);
                add_space(d, out);
                hf_buffer_add(out, ":", 1);
            }
            parse_add_value(d, out, depth + 1);
        }
        add_space(d, out);
        hf_buffer_add(out, what == 4 ? "]" : "}", 1);
    }
    add_space(d, out);
}

static void spoil(dice *d, hf_buffer *text)
{
    static const char bytes[] = "\"\\{}[],:0123456789eE+-.utfn \n\x01\x80\xff\xc3\xe2\xf0";
    for (uint64_t n = dice_below(d, 3); n > 0 && text->size > 0; n--) {
        size_t at = dice_below(d, text->size);
        if (dice_below(d, 3) == 0) {
            memmove(text->text + at, text->text + at + 1, text->size - at);
            text->size--;
        } else
            text->text[at] = bytes[dice_below(d, sizeof bytes)]; /* its NUL too */
    }
}

/* ---- comparing ---- */

static bool parse_same(const hf_json_value *ours, const json_t *theirs)
{
    size_t count = 0;
    switch (ours->type) {
    case HF_JSON_NULL:
        return json_is_null(theirs);
    case HF_JSON_BOOL:
        return json_is_boolean(theirs) && json_is_true(theirs) == ours->yes;
    case HF_JSON_WHOLE:
        return json_is_integer(theirs) && json_integer_value(theirs) == ours->whole;
    case HF_JSON_FRACTION: {
        char text[512];
        hf_slice_copy(text, sizeof text, ours->text);
        return json_is_real(theirs) && json_real_value(theirs) == strtod(text, NULL);
    }
    case HF_JSON_TEXT:
        return json_is_string(theirs) && json_string_length(theirs) == ours->text.size &&
               memcmp(json_string_value(theirs), ours->text.at, ours->text.size + 1) == 0;
    case HF_JSON_ARRAY:
        if (!json_is_array(theirs) || json_array_size(theirs) != ours->count)
            return false;
        for (const hf_json_value *item = ours->inside; item != NULL; item = item->next)
            if (!parse_same(item, json_array_get(theirs, count++)))
                return false;
        return count == ours->count;
    case HF_JSON_OBJECT:
        if (!json_is_object(theirs) || json_object_size(theirs) != ours->count)
            return false;
        for (const hf_json_value *item = ours->inside; item != NULL; item = item->next) {
            const json_t *other = json_object_get(theirs, item->name.at);
            if (other == NULL || !parse_same(item, other))
                return false;
        }
        return true;
    }
    return false;
}

static void the_same_texts_are_accepted_as_by_jansson(void **state)
{
    (void)state;
    hf_arena arena = {0};
    uint64_t rounds = rounds_from_environment(ROUNDS), accepted = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        dice d = dice_of(seed + round);
        hf_buffer text = {0};
        parse_add_value(&d, &text, 0);
        spoil(&d, &text);
        hf_json_source source = {"It", text.text, text.size, 1 << 20, 1 << 20};
        hf_json_value *ours = NULL;
        hf_error err = {0};
        json_error_t flaw = {0};
        hf_status status = hf_json_parse(&source, &arena, &ours, &err);
        json_t *theirs =
            json_loadb(text.text, text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &flaw);
        bool aside =
            status == HF_OK && theirs == NULL && strstr(flaw.text, "real number overflow") != NULL;
        if (memchr(text.text, '\0', text.size) != NULL) {
            expect_status(HF_INVALID, status, err.message);
            json_decref(theirs);
            theirs = NULL;
        }
        if (!aside && (status == HF_OK) != (theirs != NULL))
            fail_msg("HF_TEST_SEED=%llu: %.*s\nours: %s %s\ntheirs: %s",
                     (unsigned long long)(seed + round), (int)text.size, text.text,
                     hf_status_wire(status), err.message, flaw.text);
        if (theirs != NULL && !parse_same(ours, theirs))
            fail_msg("HF_TEST_SEED=%llu: other values: %.*s", (unsigned long long)(seed + round),
                     (int)text.size, text.text);
        accepted += status == HF_OK;
        json_decref(theirs);
        hf_buffer_done(&text);
        hf_arena_reset(&arena);
    }
    if (rounds >= ROUNDS) /* both sides were tried */
        expect_true(accepted > rounds / 10 && accepted < rounds * 9 / 10);
    hf_arena_done(&arena);
}

static void the_depth_is_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        hf_status status;
    } cases[] = {{"[[[[[[[[]]]]]]]]", HF_OK},
                 {"[[[[[[[[[]]]]]]]]]", HF_INVALID},
                 {"[[],[[]],[[[[[[[1]]]]]]]]", HF_OK}};
    hf_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_json_source source = {"It", cases[i].text, strlen(cases[i].text), 100, 100};
        hf_json_value *value;
        hf_error err;
        expect(cases[i].status, hf_json_parse(&source, &arena, &value, &err), err);
    }
    hf_arena_done(&arena);
}

int main(void)
{
    seed = seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_texts_are_accepted_as_by_jansson),
        cmocka_unit_test(the_depth_is_bounded),
    };
    return cmocka_run_group_tests_name("hf_json_parse", tests, NULL, NULL);
}
