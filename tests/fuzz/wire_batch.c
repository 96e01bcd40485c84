/* SPDX-License-Identifier: MIT */
/* Any bytes at all, as a batch of ops, as answers and as a body: read or refused with a sentence;
 * and what is read is written and read back to the same. For libFuzzer: tools/fuzz wire_batch 60.
 * */
#include <base/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wire/wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void wire_batch_must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void wire_batch_refused_well(hf_status status, const hf_error *err)
{
    wire_batch_must(status == HF_INVALID || status == HF_TOO_LARGE,
                    "a refusal is invalid or too_large");
    wire_batch_must(err->status == status && err->message[0] != '\0', "a refusal has a sentence");
    wire_batch_must(hf_text_is_clean(err->message, strlen(err->message)),
                    "a sentence is clean text");
}

static bool wire_batch_same(const hf_buffer *a, const hf_buffer *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static hf_batch *wire_batch_of(const hf_op *ops, size_t count)
{
    hf_batch *batch;
    hf_error err;
    wire_batch_must(hf_batch_new(count, &batch, &err) == HF_OK, "a batch is made");
    for (size_t i = 0; i < count; i++)
        *hf_batch_add(batch, ops == NULL ? HF_OP_TYPES : ops[i].kind) =
            ops == NULL ? (hf_op){0} : ops[i];
    return batch;
}

static void try_ops(const char *text, size_t size)
{
    wire_ops ops = {0}, again = {0};
    hf_buffer first = {0}, second = {0};
    hf_error err;
    hf_status status = wire_ops_read(&ops, text, size, &err);
    if (status != HF_OK)
        wire_batch_refused_well(status, &err);
    else {
        hf_batch *batch = wire_batch_of(ops.items, ops.count);
        wire_batch_must(wire_ops_write(batch, &first, &err) == HF_OK,
                        "what was read can be written");
        wire_batch_must(wire_ops_read(&again, first.text, first.size, &err) == HF_OK &&
                            again.count == ops.count,
                        "what was written can be read");
        hf_batch *other = wire_batch_of(again.items, again.count);
        wire_batch_must(wire_ops_write(other, &second, &err) == HF_OK &&
                            wire_batch_same(&first, &second),
                        "ops come back the same");
        hf_batch_free(other);
        hf_batch_free(batch);
    }
    hf_buffer_done(&first);
    hf_buffer_done(&second);
    wire_ops_done(&ops);
    wire_ops_done(&again);
}

static void try_answers(const char *text, size_t size, size_t count)
{
    hf_batch *batch = wire_batch_of(NULL, count);
    hf_arena arena = {0};
    hf_buffer first = {0}, second = {0};
    hf_error err;
    hf_status status = wire_answers_read(batch, text, size, &arena, &err);
    if (status != HF_OK)
        wire_batch_refused_well(status, &err);
    else {
        wire_batch_must(wire_answers_write(hf_batch_op(batch, 0), count, &first, &err) == HF_OK,
                        "what was read can be written");
        wire_batch_must(wire_answers_read(batch, first.text, first.size, &arena, &err) == HF_OK,
                        "what was written can be read");
        wire_batch_must(wire_answers_write(hf_batch_op(batch, 0), count, &second, &err) == HF_OK &&
                            wire_batch_same(&first, &second),
                        "answers come back the same");
    }
    hf_buffer_done(&first);
    hf_buffer_done(&second);
    hf_arena_done(&arena);
    hf_batch_free(batch);
}

static void try_object(const char *text, size_t size)
{
    const char *user = NULL;
    int64_t fence = 0, ttl_us = 0;
    bool quick = false;
    wire_texts texts = {0};
    wire_objects objects = {0};
    const wire_member members[] = {
        {"user", WIRE_A_TEXT, &user, false},           {"fence", WIRE_A_WHOLE, &fence, false},
        {"ttl_seconds", WIRE_SECONDS, &ttl_us, false}, {"quick", WIRE_YES_NO, &quick, false},
        {"resources", WIRE_TEXTS, &texts, false},      {"locks", WIRE_OBJECTS, &objects, false},
    };
    enum { MEMBERS = sizeof members / sizeof *members };
    hf_arena arena = {0};
    hf_error err;
    hf_status status = wire_object_read(text, size, members, MEMBERS, &arena, &err);
    if (status != HF_OK)
        wire_batch_refused_well(status, &err);
    else {
        wire_batch_must(ttl_us == 0 ||
                            (ttl_us >= HF_DURATION_MIN_US && ttl_us <= HF_DURATION_MAX_US),
                        "a ttl in bounds");
        for (size_t i = 0; i < texts.count; i++)
            wire_batch_must(hf_text_is_utf8(texts.items[i], strlen(texts.items[i])),
                            "texts are UTF-8");
        size_t count = objects.count;
        const wire_objects these = objects;
        for (size_t i = 0; i < count; i++)
            if ((status = wire_object_at(&these, i, "locks", members, MEMBERS, &arena, &err)) !=
                HF_OK)
                wire_batch_refused_well(status, &err);
    }
    hf_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    try_ops(text, size);
    try_answers(text, size, 1);
    try_answers(text, size, 3);
    try_object(text, size);
    return 0;
}
