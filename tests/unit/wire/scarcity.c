/* SPDX-License-Identifier: MIT */
/* Memory runs out at each allocation in turn: reading and writing say so, leave nothing behind and
 * nothing half done. */
#include "random_batch.h"

#include <base/buffer.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>
#include <wire/wire.h>

enum { SEED = 7, ENOUGH = 10000 };

typedef struct scene {
    hf_arena arena;
    hf_batch *batch;
    hf_buffer ops, answers;
} scene;

static void wire_scarcity_scene_open(scene *s)
{
    hf_error err;
    dice d = dice_of(SEED);
    *s = (scene){0};
    s->batch = random_batch(&d, &s->arena, 200);
    random_answers(&d, &s->arena, s->batch);
    expect(HF_OK, wire_ops_write(s->batch, &s->ops, &err), err);
    expect(
        HF_OK,
        wire_answers_write(hf_batch_op(s->batch, 0), hf_batch_count(s->batch), &s->answers, &err),
        err);
}

static void wire_scarcity_scene_close(scene *s)
{
    hf_buffer_done(&s->ops);
    hf_buffer_done(&s->answers);
    hf_batch_free(s->batch);
    hf_arena_done(&s->arena);
}

static hf_status read_the_ops(scene *s, hf_error *err)
{
    wire_ops ops = {0};
    hf_status status = wire_ops_read(&ops, s->ops.text, s->ops.size, err);
    expect_int(ops.count, status == HF_OK ? hf_batch_count(s->batch) : 0);
    for (size_t i = 0; i < ops.count; i++)
        expect_same_op(&ops.items[i], hf_batch_op(s->batch, i));
    wire_ops_done(&ops);
    return status;
}

static hf_status write_the_ops(scene *s, hf_error *err)
{
    hf_buffer text = {0};
    hf_status status = wire_ops_write(s->batch, &text, err);
    if (status == HF_OK)
        expect_text(text.text, s->ops.text);
    else
        expect_true(text.text == NULL);
    hf_buffer_done(&text);
    return status;
}

static hf_status write_the_answers(scene *s, hf_error *err)
{
    hf_buffer text = {0};
    hf_status status =
        wire_answers_write(hf_batch_op(s->batch, 0), hf_batch_count(s->batch), &text, err);
    if (status == HF_OK)
        expect_text(text.text, s->answers.text);
    else
        expect_true(text.text == NULL);
    hf_buffer_done(&text);
    return status;
}

static hf_status read_the_answers(scene *s, hf_error *err)
{
    hf_answer before = hf_batch_op(s->batch, 0)->answer;
    hf_arena arena = {0};
    hf_status status = wire_answers_read(s->batch, s->answers.text, s->answers.size, &arena, err);
    if (status == HF_OK)
        expect_same_answer(&hf_batch_op(s->batch, 0)->answer, &before);
    else
        assert_memory_equal(&hf_batch_op(s->batch, 0)->answer, &before, sizeof before);
    hf_arena_done(&arena);
    return status;
}

static hf_status read_an_object(scene *s, hf_error *err)
{
    (void)s;
    static const char text[] = "{\"a\":\"b\",\"c\":[\"d\",\"e\"]}";
    const char *a = NULL;
    wire_texts c = {0};
    const wire_member members[] = {{"a", WIRE_A_TEXT, &a, true}, {"c", WIRE_TEXTS, &c, true}};
    hf_arena arena = {0};
    hf_status status = wire_object_read(text, strlen(text), members, 2, &arena, err);
    if (status == HF_OK)
        expect_text(c.items[1], "e");
    hf_arena_done(&arena);
    return status;
}

static void fails_at_every_allocation(hf_status (*call)(scene *, hf_error *))
{
    bool failed = true;
    unsigned n = 1;
    for (; failed && n < ENOUGH; n++)
        for (int lasting = 0; lasting < 2; lasting++) {
            scene s;
            hf_error err = {0};
            wire_scarcity_scene_open(&s);
            out_of_memory_begin(OF_LIBRARY, n, lasting);
            hf_status status = call(&s, &err);
            failed = out_of_memory_end();
            if (failed)
                expect_text(hf_status_wire(status), "no_memory");
            else
                expect_status(HF_OK, status, err.message);
            wire_scarcity_scene_close(&s);
        }
    expect_true(n > 2 && n < ENOUGH);
}

#define TURN(call)                                                                                 \
    static void memory_may_run_out_when_we_##call(void **state)                                    \
    {                                                                                              \
        (void)state;                                                                               \
        fails_at_every_allocation(call);                                                           \
    }
TURN(read_the_ops)
TURN(write_the_ops)
TURN(write_the_answers)
TURN(read_the_answers)
TURN(read_an_object)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_run_out_when_we_read_the_ops),
        cmocka_unit_test(memory_may_run_out_when_we_write_the_ops),
        cmocka_unit_test(memory_may_run_out_when_we_write_the_answers),
        cmocka_unit_test(memory_may_run_out_when_we_read_the_answers),
        cmocka_unit_test(memory_may_run_out_when_we_read_an_object),
    };
    return cmocka_run_group_tests_name("wire_scarcity", tests, NULL, NULL);
}
