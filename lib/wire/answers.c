/* SPDX-License-Identifier: MIT */
/* {"answers":[...]}: writing and reading it. */
#include "base/error.h"
#include "wire/read.h"
#include "wire/wire.h"
#include "wire/write.h"

/* A lock has a dozen values in a few hundred bytes, so the size comes first. */
enum { VALUES_MAX = 4 << 20 };

hf_status wire_answers_write(const hf_op *ops, size_t count, hf_buffer *out, hf_error *err)
{
    hf_json json = {.out = *out};
    const wire_field *bad = NULL;
    const char *flaw = NULL;
    hf_json_begin(&json, '{');
    hf_json_name(&json, "answers");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < count && bad == NULL; i++) {
        hf_json_begin(&json, '{');
        bad = wire_struct_write(&json, &wire_answer_table, UINT64_MAX, &ops[i].answer, &flaw);
        if (bad != NULL)
            hf_error_set(err, HF_INTERNAL, "answer %zu: \"%s\" %s.", i, bad->name, flaw);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    *out = json.out;
    if (bad != NULL) {
        hf_buffer_done(out);
        return HF_INTERNAL;
    }
    return wire_written(out, "The answer", err);
}

hf_status wire_answers_read(hf_batch *batch, const char *text, size_t size, hf_arena *arena,
                            hf_error *err)
{
    hf_json_source source = {"The answer", text, size, WIRE_ANSWERS_SIZE_MAX, VALUES_MAX};
    wire_reader reader = {.arena = arena, .err = err, .lenient = true, .noun = "answer"};
    hf_json_value *root;
    hf_status status = hf_json_parse(&source, arena, &root, err);
    if (status != HF_OK)
        return status;
    const hf_json_value *array =
        root->type == HF_JSON_OBJECT ? hf_json_field(root, "answers") : NULL;
    size_t count = hf_batch_count(batch);
    if (array == NULL || array->type != HF_JSON_ARRAY)
        return hf_fail(err, HF_INVALID,
                       "An answer is an object with an array \"answers\": {\"answers\":[...]}.");
    if (array->count != count)
        return hf_fail(err, HF_INVALID, "There are %zu answers to %zu operations.", array->count,
                       count);
    hf_answer *answers = hf_arena_alloc(arena, count * sizeof *answers);
    if (answers == NULL)
        return hf_fail_memory(err);
    for (const hf_json_value *item = array->inside; item != NULL; item = item->next, reader.index++)
        if ((status = wire_struct_read(&reader, item, &wire_answer_table, UINT64_MAX, NULL,
                                       "an answer", &answers[reader.index])) != HF_OK)
            return status;
    for (size_t i = 0; i < count; i++)
        hf_batch_op(batch, i)->answer = answers[i];
    return HF_OK;
}
