/* SPDX-License-Identifier: MIT */
/* Bad texts: each is refused with this very sentence, which says what is wrong and where, and
 * repeats no value. */
#include "random_batch.h"

#include <base/buffer.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <wire/wire.h>

#define ID     "00112233445566778899aabbccddeeff"
#define KEY    "ffeeddccbbaa99887766554433221100"
#define LOGIN  "\"session\":\"" ID "." KEY "\""
#define ON     "\"resource\":\"policy/1\""
#define BATCH  "A batch is an object with an array \"ops\": {\"ops\":[...]}."
#define ANSWER "An answer is an object with an array \"answers\": {\"answers\":[...]}."
#define SYNTAX "The batch is not good JSON: line 1, column "
#define KINDS  "takes op, session, resource, mode, ttl_seconds, purpose, request_id, linked."
#define STATUSES                                                                                   \
    "\"status\" must be one of ok, invalid, too_large, locked, busy, timeout, stale, "             \
    "unauthenticated, "                                                                            \
    "denied, unavailable, unsure, not_held, expired, not_applied, retry, too_many, internal, "     \
    "no_memory, "                                                                                  \
    "not_found."

typedef struct refusal {
    const char *text;
    const char *sentence;
} refusal;

/* clang-format off */
static const refusal bad_ops[] = {
    /* not JSON */
    {"", SYNTAX "1: it ends too early."},
    {" ", SYNTAX "2: it ends too early."},
    {"{", SYNTAX "2: expected the name of a field in quotes."},
    {"{\"ops\"", SYNTAX "7: expected a colon."},
    {"{\"ops\":", SYNTAX "8: it ends too early."},
    {"{\"ops\":[", SYNTAX "9: it ends too early."},
    {"{\"ops\":[}", SYNTAX "9: expected a value."},
    {"{\"ops\":[{}", SYNTAX "11: expected , or ]."},
    {"{\"ops\":[{}]", SYNTAX "12: expected , or }."},
    {"{\"ops\":[{},]}", SYNTAX "12: a comma with nothing after it."},
    {"{\"ops\":[{}],}", SYNTAX "13: a comma with nothing after it."},
    {"{\"ops\":[{}]} x", SYNTAX "14: something follows the end."},
    {"{\"ops\":[{}]}{}", SYNTAX "13: something follows the end."},
    {"{'ops':[]}", SYNTAX "2: expected the name of a field in quotes."},
    {"{\n\n  \"ops\": nul}", "The batch is not good JSON: line 3, column 10: expected a value."},
    {"{\"ops\":[NaN]}", SYNTAX "9: expected a value."},
    {"{\"ops\":[01]}", SYNTAX "9: not a number as JSON writes it."},
    {"{\"ops\":[-]}", SYNTAX "9: not a number as JSON writes it."},
    {"{\"ops\":[1.]}", SYNTAX "9: not a number as JSON writes it."},
    {"{\"ops\":[1e]}", SYNTAX "9: not a number as JSON writes it."},
    {"{\"ops\":[9223372036854775808]}", SYNTAX "9: a whole number that does not fit into 64 bits."},
    {"{\"ops\":[-9223372036854775809]}", SYNTAX "9: a whole number that does not fit into 64 bits."},
    {"{\"ops\":[\"abc", SYNTAX "9: the text that begins here does not end."},
    {"{\"ops\":[\"a\\qc\"]}", SYNTAX "11: no such escape."},
    {"{\"ops\":[\"a\\u12g4\"]}", SYNTAX "11: \\u wants four hex digits."},
    {"{\"ops\":[\"a\\u0000\"]}", SYNTAX "11: a text can't hold \\u0000."},
    {"{\"ops\":[\"a\\ud800\"]}", SYNTAX "11: half of a surrogate pair."},
    {"{\"ops\":[\"a\\udc00\"]}", SYNTAX "11: half of a surrogate pair."},
    {"{\"ops\":[\"a\\ud800\\u0041\"]}", SYNTAX "11: half of a surrogate pair."},
    {"{\"ops\":[\"a\nb\"]}", SYNTAX "11: a control character in a text must be escaped."},
    {"{\"ops\":[\"a\xff\"]}", SYNTAX "11: not UTF-8."},
    {"{\"ops\":[\"a\xc0\xaf\"]}", SYNTAX "11: not UTF-8."},
    {"{\"ops\":[\"a\xed\xa0\x80\"]}", SYNTAX "11: not UTF-8."},
    {"\xef\xbb\xbf{\"ops\":[]}", SYNTAX "1: expected a value."},
    {"{\"ops\":[],\"ops\":[]}", SYNTAX "11: a field of this name stands there already."},
    {"{\"ops\":[],\"o\\u0070s\":[]}", SYNTAX "11: a field of this name stands there already."},
    {"{\"ops\":[{\"op\":\"beat\"," LOGIN "," LOGIN "}]}", SYNTAX "100: a field of this name stands there already."},
    {"{\"ops\":[[[[[[[[1]]]]]]]]}", SYNTAX "15: nested deeper than 8."},

    /* no batch */
    {"null", BATCH}, {"[]", BATCH}, {"1", BATCH}, {"\"ops\"", BATCH}, {"{}", BATCH}, {"{\"ops\":{}}", BATCH},
    {"{\"op\":[]}", BATCH},
    {"{\"ops\":[]}", "The batch is empty: add an operation first."},
    {"{\"ops\":[{}],\"atomic\":true}", "Unknown field \"atomic\"; a batch takes ops."},
    {"{\"\":1,\"ops\":[{}]}", "Unknown field with a name of 0 bytes; a batch takes ops."},

    /* no ops */
    {"{\"ops\":[1]}", "op 0: this must be an object."},
    {"{\"ops\":[{}]}", "op 0: \"op\" is missing."},
    {"{\"ops\":[{\"op\":1}]}", "op 0: \"op\" must be a text."},
    {"{\"ops\":[{\"op\":\"types\"},{\"op\":\"grab\"}]}", "op 1: there is no op called \"grab\"."},
    {"{\"ops\":[{\"op\":\"Acquire\"}]}", "op 0: there is no op called \"Acquire\"."},
    {"{\"ops\":[{\"op\":\"" KEY "\"}]}", "op 0: there is no op of that name."},

    /* fields */
    {"{\"ops\":[{\"op\":\"who\"," ON "},{\"op\":\"acquire\"," LOGIN "," ON ",\"tll_seconds\":1}]}",
     "op 1: unknown field \"tll_seconds\"; \"acquire\" " KINDS},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"fence\":1}]}", "op 0: unknown field \"fence\"; \"acquire\" " KINDS},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"" KEY "\":1}]}",
     "op 0: unknown field with a name of 32 bytes; \"acquire\" " KINDS},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"a b\":1}]}",
     "op 0: unknown field with a name of 3 bytes; \"acquire\" " KINDS},
    {"{\"ops\":[{\"op\":\"types\",\"limit\":1}]}", "op 0: unknown field \"limit\"; \"types\" takes op."},
    {"{\"ops\":[{\"op\":\"list\",\"linked\":true}]}",
     "op 0: unknown field \"linked\"; \"list\" takes op, type, target, user, after, limit."},
    {"{\"ops\":[{\"op\":\"beat\"}]}", "op 0: \"session\" is missing."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "}]}", "op 0: \"resource\" is missing."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN ",\"type\":\"policy\",\"id\":\"1\"}]}", "op 0: unknown field \"type\"; \"acquire\" " KINDS},
    {"{\"ops\":[{\"op\":\"type-get\"}]}", "op 0: \"type\" is missing."},
    {"{\"ops\":[{\"op\":\"force-release\"," ON "}]}", "op 0: \"reason\" is missing."},
    {"{\"ops\":[{\"op\":\"hand-over\"," LOGIN "," ON "}]}", "op 0: \"target\" is missing."},
    {"{\"ops\":[{\"op\":\"type-set\",\"type\":\"policy\"}]}", "op 0: \"policy\" is missing."},
    {"{\"ops\":[{\"op\":\"session-open\"," LOGIN "}]}", "op 0: \"user\" is missing."},

    /* types of values */
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"ttl_seconds\":\"1\"}]}", "op 0: \"ttl_seconds\" must be a number of seconds."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"ttl_seconds\":null}]}", "op 0: \"ttl_seconds\" must be a number of seconds."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"ttl_seconds\":true}]}", "op 0: \"ttl_seconds\" must be a number of seconds."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"ttl_seconds\":0}]}", "op 0: \"ttl_seconds\" can't be 0; leave it out."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"ttl_seconds\":-0.0e9}]}", "op 0: \"ttl_seconds\" can't be 0; leave it out."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN ",\"resource\":1}]}", "op 0: \"resource\" must be a text, TYPE/ID."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN ",\"resource\":\"policy\"}]}", "op 0: \"resource\" must be a text, TYPE/ID."},
    {"{\"ops\":[{\"op\":\"who\",\"resource\":\"\"}]}", "op 0: \"resource\" must be a text, TYPE/ID."},
    {"{\"ops\":[{\"op\":\"note\",\"reason\":\"x\",\"kind\":\"denied\",\"resource\":null}]}", "op 0: \"resource\" must be a text, TYPE/ID."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"purpose\":null}]}", "op 0: \"purpose\" must be a text."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"mode\":\"EXCLUSIVE\"}]}", "op 0: \"mode\" must be one of exclusive, shared."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"mode\":0}]}", "op 0: \"mode\" must be one of exclusive, shared."},
    {"{\"ops\":[{\"op\":\"acquire\"," LOGIN "," ON ",\"linked\":1}]}", "op 0: \"linked\" must be true or false."},
    {"{\"ops\":[{\"op\":\"type-set\",\"type\":\"policy\",\"policy\":\"none\"}]}",
     "op 0: \"policy\" must be one of optimistic, exclusive-write, exclusive-read, read-write."},
    {"{\"ops\":[{\"op\":\"list\",\"limit\":-1}]}", "op 0: \"limit\" must be a whole number, 0 or more."},
    {"{\"ops\":[{\"op\":\"release\"," LOGIN "," ON ",\"fence\":\"1\"}]}", "op 0: \"fence\" must be a whole number."},
    {"{\"ops\":[{\"op\":\"force-release\"," ON ",\"reason\":\"x\",\"fence\":0}]}",
     "op 0: No grant has the fence 0; leave \"fence\" out where any grant is meant."},
    {"{\"ops\":[{\"op\":\"types\"},{\"op\":\"release\"," LOGIN "," ON ",\"fence\":-1}]}",
     "op 1: No grant has the fence -1; leave \"fence\" out where any grant is meant."},
    {"{\"ops\":[{\"op\":\"list\",\"after\":{}}]}", "op 0: \"after\" must be a text."},
    {"{\"ops\":[{\"op\":\"list\",\"after\":\"" ID "0\"}]}", "op 0: \"after\" is no place to go on from: pass \"next\" as it is."},
    {"{\"ops\":[{\"op\":\"list\",\"after\":\"policy/1 " ID "0\"}]}", "op 0: \"after\" is no place to go on from: pass \"next\" as it is."},
    {"{\"ops\":[{\"op\":\"list\",\"after\":\"" ID ID "0/1 " ID "\"}]}", "op 0: \"after\" is no place to go on from: pass \"next\" as it is."},
    {"{\"ops\":[{\"op\":\"list\",\"after\":\"/1 " ID "\"}]}", "op 0: \"after\" is no place to go on from: pass \"next\" as it is."},

    /* credentials */
    {"{\"ops\":[{\"op\":\"beat\",\"session\":7}]}", "op 0: \"session\" must be a text, ID.KEY."},
    {"{\"ops\":[{\"op\":\"beat\",\"session\":\"" ID "\"}]}",
     "op 0: \"session\": A session is presented as ID.KEY, the way it was printed when it was opened."},
    {"{\"ops\":[{\"op\":\"beat\",\"session\":\"short." KEY "\"}]}",
     "op 0: \"session\": The session's id is not 32 hex digits in lower case."},
    {"{\"ops\":[{\"op\":\"beat\",\"session\":\"" ID ".abc\"}]}",
     "op 0: \"session\": The session's key is not 32 to 128 hex digits in lower case."},
    {"{\"ops\":[{\"op\":\"session-open\"," LOGIN ",\"user\":\"a\",\"replaces\":\"" ID "." KEY "g\"}]}",
     "op 0: \"replaces\": The session's key is not 32 to 128 hex digits in lower case."},
};

static const refusal bad_answers[] = {
    {"", "The answer is not good JSON: line 1, column 1: it ends too early."},
    {"<html>", "The answer is not good JSON: line 1, column 1: expected a value."},
    {"{}", ANSWER}, {"[]", ANSWER}, {"{\"answers\":{}}", ANSWER},
    {"{\"answers\":[]}", "There are 0 answers to 1 operations."},
    {"{\"answers\":[{},{}]}", "There are 2 answers to 1 operations."},
    {"{\"answers\":[0]}", "answer 0: this must be an object."},
    {"{\"answers\":[{}]}", "answer 0: \"status\" is missing."},
    {"{\"answers\":[{\"status\":\"fine\"}]}", "answer 0: " STATUSES},
    {"{\"answers\":[{\"status\":\"ok\",\"outcome\":\"none\"}]}", "answer 0: \"outcome\" must be one of granted, upgraded, already_yours."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":1}]}", "answer 0: \"locks\" must be an array."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":[1]}]}", "answer 0, locks 0: this must be an object."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":[{}]}]}", "answer 0, locks 0: \"resource\" is missing."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":[],\"locks_count\":-1}]}", "answer 0: \"locks_count\" must be a whole number, 0 or more."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks_count\":7,\"locks\":[{}]}]}", "answer 0: \"locks\" and \"locks_count\" exclude each other."},
    {"{\"answers\":[{\"status\":\"ok\",\"types\":[{\"type\":\"a\",\"policy\":\"none\"},{\"type\":\"a\"}]}]}",
     "answer 0, types 1: \"policy\" is missing."},
    {"{\"answers\":[{\"status\":\"ok\",\"next\":[]}]}", "answer 0: \"next\" must be a text."},
    {"{\"answers\":[{\"status\":\"ok\",\"now\":1}]}", "answer 0: \"now\" must be a time, as 2026-11-15T10:47:03Z."},
    {"{\"answers\":[{\"status\":\"ok\",\"now\":\"2026-11-15T10:47:03\"}]}", "answer 0: \"now\" must be a time, as 2026-11-15T10:47:03Z."},
    {"{\"answers\":[{\"status\":\"ok\",\"types\":[{\"type\":\"a\",\"policy\":\"none\",\"ttl_seconds\":\"1\"}]}]}",
     "answer 0, types 0: \"ttl_seconds\" must be a number of seconds."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":[{\"resource\":\"policy/1\",\"mode\":null}]}]}", "answer 0, locks 0: \"mode\" is missing."},
    {"{\"answers\":[{\"status\":\"ok\",\"locks\":[{\"resource\":1}]}]}", "answer 0, locks 0: \"resource\" must be a text, TYPE/ID."},
    {"{\"answers\":[{\"status\":\"ok\",\"lost\":[{\"resource\":\"" ID ID "0/1\"}]}]}", "answer 0, lost 0: \"resource\" is longer than a resource can be."},
    {"{\"answers\":[{\"status\":\"ok\",\"lost\":[{\"resource\":\"p/1\",\"fence\":1,\"why\":\"0123456789abcdef\"}]}]}",
     "answer 0, lost 0: \"why\" is longer than 15 bytes."},
};
/* clang-format on */

static void bad_ops_are_refused_with_a_sentence(void **state)
{
    (void)state;
    wire_ops ops = {0};
    for (size_t i = 0; i < sizeof bad_ops / sizeof *bad_ops; i++) {
        hf_error err = {0};
        hf_status status = wire_ops_read(&ops, bad_ops[i].text, strlen(bad_ops[i].text), &err);
        if (status != HF_INVALID || strcmp(err.message, bad_ops[i].sentence) != 0)
            fail_msg("%s\n came to %s: %s\n not: %s", bad_ops[i].text, hf_status_wire(status),
                     err.message, bad_ops[i].sentence);
        expect_int(ops.count, 0);
        expect_lacks(err.message, KEY);
        expect_int(wire_ops_read(&ops, bad_ops[i].text, strlen(bad_ops[i].text), NULL), HF_INVALID);
    }
    wire_ops_done(&ops);
}

static hf_batch *batch_of_one(void)
{
    hf_batch *batch;
    hf_error err;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_batch_add(batch, HF_OP_TYPES)->answer.now_us = 77;
    return batch;
}

static void bad_answers_are_refused_with_a_sentence(void **state)
{
    (void)state;
    hf_batch *batch = batch_of_one();
    hf_arena arena = {0};
    for (size_t i = 0; i < sizeof bad_answers / sizeof *bad_answers; i++) {
        hf_error err = {0};
        hf_status status = wire_answers_read(batch, bad_answers[i].text,
                                             strlen(bad_answers[i].text), &arena, &err);
        if (status != HF_INVALID || strcmp(err.message, bad_answers[i].sentence) != 0)
            fail_msg("%s\n came to %s: %s\n not: %s", bad_answers[i].text, hf_status_wire(status),
                     err.message, bad_answers[i].sentence);
        expect_int(hf_batch_op(batch, 0)->answer.now_us, 77);
    }
    hf_arena_done(&arena);
    hf_batch_free(batch);
}

/* A list that was read can't be made longer by a count that follows it. */
static void a_count_beside_its_list_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "{\"answers\":[{\"status\":\"ok\",\"locks\":[{\"resource\":\"a/1\",\"mode\":\"shared\","
        "\"fence\":1,\"since\":null,\"session\":\"\",\"user\":\"u\",\"name\":\"\"}],"
        "\"locks_count\":1000}]}";
    hf_batch *batch = batch_of_one();
    hf_arena arena = {0};
    hf_error err;
    expect(HF_INVALID, wire_answers_read(batch, text, strlen(text), &arena, &err), err);
    expect_text(err.message, "answer 0: \"locks_count\" stands beside the list it counts.");
    hf_arena_done(&arena);
    hf_batch_free(batch);
}

static void an_answer_may_say_more_than_is_known(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":2,\"answers\":[{\"mood\":\"good\",\"status\":\"ok\",\"types\":[{"
        "\"type\":\"a\",\"colour\":[1,"
        "{}],\"policy\":\"read-write\"}],\"next\":\"x\"}]}";
    hf_batch *batch = batch_of_one();
    hf_arena arena = {0};
    hf_error err;
    expect(HF_OK, wire_answers_read(batch, text, strlen(text), &arena, &err), err);
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    expect_int(answer->now_us, 0);
    expect_int(answer->types_count, 1);
    expect_text(answer->types[0].type, "a");
    hf_arena_done(&arena);
    hf_batch_free(batch);
}

static void a_nul_in_the_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {
#define CASE(text) {text, sizeof(text) - 1}
        CASE("{\"ops\":[{\"op\":\"types\"}]}\0"),
        CASE("\0{\"ops\":[{\"op\":\"types\"}]}"),
        CASE("{\"ops\":[{\"op\":\"typ\0es\"}]}"),
        CASE("{\"ops\":[{\"op\0\":\"types\"}]}"),
        CASE("{\"ops\":[\0{\"op\":\"types\"}]}"),
        CASE("{\"ops\":[1\0]}"),
        CASE("{\"ops\":[\"\\\0\"]}"),
        CASE("{\"ops\":[\"\\u00\0\"]}"),
#undef CASE
    };
    wire_ops ops = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_error err;
        expect(HF_INVALID, wire_ops_read(&ops, cases[i].text, cases[i].size, &err), err);
    }
    wire_ops_done(&ops);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    wire_ops ops = {0};
    hf_buffer text = {0};
    hf_error err;
    hf_buffer_print(&text, "{\"ops\":[");
    for (int i = 0; i <= HF_BATCH_OPS_MAX; i++)
        hf_buffer_print(&text, "%s{\"op\":\"types\"}", i == 0 ? "" : ",");
    hf_buffer_print(&text, "]}");
    expect(HF_TOO_LARGE, wire_ops_read(&ops, text.text, text.size, &err), err);
    expect_text(err.message, "A batch holds 1 to 1024 operations; 1025 were asked for. Split it.");
    hf_buffer_done(&text);

    hf_buffer_print(&text, "{\"ops\":[0");
    for (int i = 0; i < 50000; i++)
        hf_buffer_print(&text, ",0");
    expect(HF_TOO_LARGE, wire_ops_read(&ops, text.text, text.size, &err), err);
    expect_text(err.message, "The batch holds more than 40960 values. Split it.");
    hf_buffer_done(&text);

    hf_buffer_print(&text, "{\"ops\":[{");
    for (int i = 0; i <= 64; i++)
        hf_buffer_print(&text, "%s\"f%d\":0", i == 0 ? "" : ",", i);
    expect(HF_INVALID, wire_ops_read(&ops, text.text, text.size, &err), err);
    expect_contains(err.message, "an object can't hold more than 64 fields");
    hf_buffer_done(&text);

    static char large[WIRE_OPS_SIZE_MAX + 1];
    memset(large, ' ', sizeof large);
    expect(HF_TOO_LARGE, wire_ops_read(&ops, large, sizeof large, &err), err);
    expect_text(err.message, "The batch is 16777217 bytes long; the most is 16777216. Split it.");
    wire_ops_done(&ops);
}

/* A text of nothing but brackets doesn't exhaust the stack. */
static void deep_nesting_is_refused_at_once(void **state)
{
    (void)state;
    static char deep[1 << 20];
    wire_ops ops = {0};
    hf_error err;
    for (int i = 0; i < 2; i++) {
        memset(deep, i == 0 ? '[' : '{', sizeof deep);
        expect(HF_INVALID, wire_ops_read(&ops, deep, sizeof deep, &err), err);
    }
    wire_ops_done(&ops);
}

static void what_cannot_be_told_is_not_written(void **state)
{
    (void)state;
    static const hf_credentials nobody = {.id = ID, .key = KEY};
    static const struct {
        hf_op op;
        const char *sentence;
    } cases[] = {
        {{.kind = HF_OP_KINDS}, "op 0: of no known kind."},
        {{.kind = HF_OP_BEAT}, "op 0: \"session\" is missing."},
        {{.kind = HF_OP_WHO, .type = "policy"}, "op 0: \"resource\" is missing."},
        {{.kind = HF_OP_WHO, .id = "1"}, "op 0: \"resource\" is missing."},
        {{.kind = HF_OP_WHO, .type = "policy", .id = "\xff"}, "op 0: \"resource\" is not UTF-8."},
        {{.kind = HF_OP_WHO, .type = "\xff", .id = "1"}, "op 0: \"resource\" is not UTF-8."},
        {{.kind = HF_OP_WHO, .type = "a/b", .id = "1"},
         "op 0: \"resource\" has a type with a slash."},
        {{.kind = HF_OP_NOTE, .event = HF_EVENT_DENIED, .text = "x", .type = "a/b"},
         "op 0: \"resource\" has a type with a slash."},
        {{.kind = HF_OP_ACQUIRE, .session = &nobody, .type = "p", .id = "1", .mode = (hf_mode)7},
         "op 0: \"mode\" is of no known kind."},
        {{.kind = HF_OP_TYPE_SET, .type = "p"}, "op 0: \"policy\" is missing."},
        {{.kind = HF_OP_TYPE_SET, .type = "p", .policy = (hf_policy)-1},
         "op 0: \"policy\" is of no known kind."},
    };
    hf_batch *batch;
    hf_error err;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_buffer text = {0};
        hf_batch_clear(batch);
        *hf_batch_add(batch, cases[i].op.kind) = cases[i].op;
        expect(HF_INVALID, wire_ops_write(batch, &text, &err), err);
        expect_text(err.message, cases[i].sentence);
        expect_true(text.text == NULL);
    }
    hf_batch_free(batch);
}

/* Any text at all is read or refused; random changes of good ones come closest to what is
 * dangerous. */
static void spoiled_texts_are_read_or_refused(void **state)
{
    (void)state;
    uint64_t seed = seed_from_environment();
    wire_ops ops = {0};
    hf_arena arena = {0};
    for (uint64_t round = 0; round < rounds_from_environment(3000); round++) {
        dice d = dice_of(seed + round);
        hf_batch *batch = random_batch(&d, &arena, 2);
        hf_buffer text = {0};
        hf_error err;
        expect(HF_OK, wire_ops_write(batch, &text, &err), err);
        for (uint64_t n = 1 + dice_below(&d, 4); n > 0; n--)
            text.text[dice_below(&d, text.size)] =
                dice_below(&d, 2) ? (char)dice_below(&d, 256) : "\"\\{}[],:0u"[dice_below(&d, 10)];
        hf_status status = wire_ops_read(&ops, text.text, text.size - dice_below(&d, 3), &err);
        expect_true(status == HF_OK || status == HF_INVALID);
        expect_true((status == HF_OK) == (ops.count > 0));
        hf_buffer_done(&text);
        hf_batch_free(batch);
        hf_arena_reset(&arena);
    }
    wire_ops_done(&ops);
    hf_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_ops_are_refused_with_a_sentence),
        cmocka_unit_test(bad_answers_are_refused_with_a_sentence),
        cmocka_unit_test(a_count_beside_its_list_is_refused),
        cmocka_unit_test(an_answer_may_say_more_than_is_known),
        cmocka_unit_test(a_nul_in_the_text_is_refused),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(deep_nesting_is_refused_at_once),
        cmocka_unit_test(what_cannot_be_told_is_not_written),
        cmocka_unit_test(spoiled_texts_are_read_or_refused),
    };
    return cmocka_run_group_tests_name("wire_refusals", tests, NULL, NULL);
}
