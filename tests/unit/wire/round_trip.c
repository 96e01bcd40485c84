/* SPDX-License-Identifier: MIT */
/* What is written is read back as it was: random batches and answers of every kind and member.
 * HF_TEST_SEED repeats a failure, HF_TEST_ROUNDS says how many. */
#include "random_batch.h"

#include <holdfast/json.h>
#include <lock/batch.h>
#include <string.h>
#include <support/check.h>
#include <wire/fields.h>
#include <wire/wire.h>

enum { ROUNDS = 2000 };

static uint64_t seed;

static void ops_come_back_as_they_were(void **state)
{
    (void)state;
    bool seen[HF_OP_KINDS] = {false};
    wire_ops ops = {0};
    hf_arena arena = {0};
    for (uint64_t round = 0; round < rounds_from_environment(ROUNDS); round++) {
        dice d = dice_of(seed + round);
        hf_batch *batch = random_batch(&d, &arena, dice_below(&d, 50) ? 4 : 200);
        hf_buffer text = {0};
        hf_error err;
        expect(HF_OK, wire_ops_write(batch, &text, &err), err);
        expect(HF_OK, wire_ops_read(&ops, text.text, text.size, &err), err);
        expect_int(ops.count, hf_batch_count(batch));
        for (size_t i = 0; i < ops.count; i++) {
            expect_same_op(&ops.items[i], hf_batch_op(batch, i));
            seen[ops.items[i].kind] = true;
        }
        hf_buffer_done(&text);
        hf_batch_free(batch);
        hf_arena_reset(&arena);
    }
    for (int i = 0; i < HF_OP_KINDS && rounds_from_environment(ROUNDS) >= ROUNDS; i++)
        expect_true(seen[i]);
    wire_ops_done(&ops);
    hf_arena_done(&arena);
}

static void answers_come_back_as_they_were(void **state)
{
    (void)state;
    hf_arena arena = {0}, read = {0};
    for (uint64_t round = 0; round < rounds_from_environment(ROUNDS); round++) {
        dice d = dice_of(seed + round);
        hf_batch *batch = random_batch(&d, &arena, 5);
        random_answers(&d, &arena, batch);
        size_t count = hf_batch_count(batch);
        hf_answer *expected = hf_arena_alloc(&arena, count * sizeof *expected);
        hf_buffer text = {0};
        hf_error err;
        for (size_t i = 0; i < count; i++)
            expected[i] = hf_batch_op(batch, i)->answer;
        expect(HF_OK, wire_answers_write(hf_batch_op(batch, 0), count, &text, &err), err);
        expect(HF_OK, wire_answers_read(batch, text.text, text.size, &read, &err), err);
        for (size_t i = 0; i < count; i++)
            expect_same_answer(&hf_batch_op(batch, i)->answer, &expected[i]);
        hf_buffer_done(&text);
        hf_batch_free(batch);
        hf_arena_reset(&arena);
        hf_arena_reset(&read);
    }
    hf_arena_done(&arena);
    hf_arena_done(&read);
}

/* The longest of everything. */
static void the_largest_batch_fits(void **state)
{
    (void)state;
    char control[HF_TEXT_SIZE], id[HF_ID_SIZE];
    memset(control, 1, HF_TEXT_MAX); /* each takes six bytes */
    control[HF_TEXT_MAX] = '\0';
    memset(id, 1, HF_ID_MAX);
    id[HF_ID_MAX] = '\0';
    hf_credentials login;
    hf_batch *batch;
    hf_buffer text = {0};
    wire_ops ops = {0};
    hf_error err;
    expect(HF_OK, hf_credentials_new(NULL, &login, &err), err);
    expect(HF_OK, hf_batch_new(HF_BATCH_OPS_MAX, &batch, &err), err);
    for (int i = 0; i < HF_BATCH_OPS_MAX; i++) {
        hf_op *op = hf_batch_add(batch, i % 2 ? HF_OP_SESSION_OPEN : HF_OP_ACQUIRE);
        op->session = &login;
        op->request_id = control;
        op->linked = true;
        if (op->kind == HF_OP_SESSION_OPEN) {
            op->replaces = &login;
            op->user = op->name = op->caller = control;
            op->idle_us = INT64_MIN;
        } else {
            op->type = op->purpose = control;
            op->id = id;
            op->ttl_us = INT64_MIN;
        }
    }
    expect(HF_OK, wire_ops_write(batch, &text, &err), err);
    expect(HF_OK, wire_ops_read(&ops, text.text, text.size, &err), err);
    for (size_t i = 0; i < ops.count; i++)
        expect_same_op(&ops.items[i], hf_batch_op(batch, i));
    hf_buffer_done(&text);
    wire_ops_done(&ops);
    hf_batch_free(batch);
}

static void answers_of_a_part_are_written_alone(void **state)
{
    (void)state;
    hf_batch *batch;
    hf_buffer text = {0};
    hf_error err;
    expect(HF_OK, hf_batch_new(4, &batch, &err), err);
    for (int i = 0; i < 4; i++)
        hf_batch_add(batch, HF_OP_WHO)->answer.now_us = i;
    expect(HF_OK, wire_answers_write(hf_batch_op(batch, 2), 2, &text, &err), err);
    expect_text(text.text,
                "{\"answers\":[{\"status\":\"ok\",\"now\":\"1970-01-01T00:00:00.000002Z\"},"
                "{\"status\":\"ok\",\"now\":\"1970-01-01T00:00:00.000003Z\"}]}");
    hf_buffer_done(&text);
    hf_batch_free(batch);
}

/* What others build on: changing it is a new version of the API. */
static void it_looks_as_documented(void **state)
{
    (void)state;
    static const char expected[] =
        "{\"ops\":[{\"op\":\"acquire\",\"session\":"
        "\"00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100\","
        "\"resource\":\"policy/12345\",\"mode\":\"shared\",\"ttl_seconds\":"
        "7200.25,\"purpose\":\"renewal\","
        "\"request_id\":\"r1\",\"linked\":true},{\"op\":\"list\",\"target\":"
        "\"00112233445566778899aabbccddeeff\","
        "\"after\":\"policy/a b/1 00112233445566778899aabbccddeeff\",\"limit\":10}]}";
    hf_credentials login;
    hf_batch *batch;
    hf_buffer text = {0};
    hf_error err;
    expect(HF_OK,
           hf_credentials_parse("00112233445566778899aabbccddeeff.ffeeddccbbaa99887766554433221100",
                                &login, &err),
           err);
    expect(HF_OK, hf_batch_new(2, &batch, &err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_ACQUIRE);
    op->session = &login;
    op->type = "policy";
    op->id = "12345";
    op->mode = HF_SHARED;
    op->ttl_us = INT64_C(7200250000);
    op->purpose = "renewal";
    op->request_id = "r1";
    op->linked = true;
    op->fence = 9; /* not read by an acquire */
    op = hf_batch_add(batch, HF_OP_LIST);
    op->target = login.id;
    op->after = &(const hf_cursor){.resource = {"policy", "a b/1"},
                                   .session = "00112233445566778899aabbccddeeff"};
    op->limit = 10;
    expect(HF_OK, wire_ops_write(batch, &text, &err), err);
    expect_text(text.text, expected);
    hf_buffer_done(&text);
    hf_batch_free(batch);
}

/* The tables know of every kind what the law knows: a new one that was forgotten here is found. */
static void every_kind_is_in_the_tables(void **state)
{
    (void)state;
    for (int kind = 0; kind < HF_OP_KINDS; kind++) {
        uint64_t of = wire_set_of((hf_op_kind)kind);
        bool linked = false, request_id = false;
        for (size_t i = 0; i < wire_op_table.count; i++) {
            const wire_field *field = &wire_op_table.fields[i];
            bool taken = (field->needs | field->takes) & of;
            expect_true(!(field->needs & field->takes & of));
            linked = linked || (taken && strcmp(field->name, "linked") == 0);
            request_id = request_id || (taken && strcmp(field->name, "request_id") == 0);
        }
        if (linked == hf_op_alone((hf_op_kind)kind) || request_id == hf_op_reads((hf_op_kind)kind))
            fail_msg("the sets ALONE and READING of lib/wire/fields.c are wrong about %s",
                     hf_op_kind_name((hf_op_kind)kind));
    }
}

/* What was done is told, also when a text was cut in the middle of a character. */
static void a_broken_sentence_is_mended(void **state)
{
    (void)state;
    hf_batch *batch;
    hf_buffer text = {0};
    hf_error err;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    static const hf_type type = {.type = "\xc3\xa9\xff"};
    hf_batch_add(batch, HF_OP_WHO)->answer =
        (hf_answer){.status = HF_LOCKED, .message = "a\xe2\x82", .types = &type, .types_count = 1};
    expect(HF_OK, wire_answers_write(hf_batch_op(batch, 0), 1, &text, &err), err);
    expect_text(text.text, "{\"answers\":[{\"status\":\"locked\",\"message\":\"a??\","
                           "\"types\":[{\"type\":\"\xc3\xa9?\",\"policy\":\"none\","
                           "\"ttl_seconds\":null,\"max_ttl_seconds\":null}]}]}");
    hf_buffer_done(&text);
    hf_batch_free(batch);
}

static void expect_row_json(const hf_buffer *answer, char *json)
{
    expect_true(json != NULL);
    expect_contains(answer->text, json);
    hf_json_free(json);
}

/* What /v1/batch says of a lock is what /v1/locks and --json say of it. */
static void a_row_is_written_as_everywhere(void **state)
{
    (void)state;
    hf_arena arena = {0};
    size_t rows = 0;
    for (uint64_t round = 0; round < rounds_from_environment(200); round++) {
        dice d = dice_of(seed + round);
        hf_batch *batch = random_batch(&d, &arena, 1);
        random_answers(&d, &arena, batch);
        const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
        hf_buffer text = {0};
        hf_error err;
        expect(HF_OK, wire_answers_write(hf_batch_op(batch, 0), 1, &text, &err), err);
        for (size_t i = 0; answer->locks != NULL && i < answer->locks_count; i++, rows++)
            expect_row_json(&text, hf_lock_json(&answer->locks[i]));
        for (size_t i = 0; i < answer->versions_count; i++, rows++)
            expect_row_json(&text, hf_version_json(&answer->versions[i]));
        for (size_t i = 0; i < answer->sessions_count; i++, rows++)
            expect_row_json(&text, hf_session_json(&answer->sessions[i], NULL));
        for (size_t i = 0; i < answer->types_count; i++, rows++)
            expect_row_json(&text, hf_type_json(&answer->types[i]));
        for (size_t i = 0; i < answer->events_count; i++, rows++)
            expect_row_json(&text, hf_event_json(&answer->events[i]));
        for (size_t i = 0; i < answer->tokens_count; i++, rows++)
            expect_row_json(&text, hf_token_json(&answer->tokens[i]));
        hf_buffer_done(&text);
        hf_batch_free(batch);
        hf_arena_reset(&arena);
    }
    expect_true(rows > 100 || rounds_from_environment(200) < 200);
    hf_arena_done(&arena);
}

int main(void)
{
    seed = seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_come_back_as_they_were),
        cmocka_unit_test(answers_come_back_as_they_were),
        cmocka_unit_test(the_largest_batch_fits),
        cmocka_unit_test(answers_of_a_part_are_written_alone),
        cmocka_unit_test(it_looks_as_documented),
        cmocka_unit_test(every_kind_is_in_the_tables),
        cmocka_unit_test(a_broken_sentence_is_mended),
        cmocka_unit_test(a_row_is_written_as_everywhere),
    };
    return cmocka_run_group_tests_name("wire_round_trip", tests, NULL, NULL);
}
