/* SPDX-License-Identifier: MIT */
/* {"ops":[...]}: reading and writing it. */
#include "base/error.h"
#include "wire/read.h"
#include "wire/wire.h"
#include "wire/write.h"

#include <string.h>

/* More than the largest batch has, so that it isn't memory that ends a long row of zeros. */
enum { VALUES_MAX = HF_BATCH_OPS_MAX * 40 };

/* ---- reading ---- */

/* The kind of an op; HF_OP_KINDS when it isn't told or there is none. */
static hf_op_kind kind_of(const wire_reader *reader, const hf_json_value *object)
{
    const hf_json_value *name = object->type == HF_JSON_OBJECT ? hf_json_field(object, "op") : NULL;
    int kind = 0;
    if (object->type != HF_JSON_OBJECT)
        wire_error(reader, "this must be an object.");
    else if (name == NULL)
        wire_error(reader, "\"op\" is missing.");
    else if (name->type != HF_JSON_TEXT)
        wire_error(reader, "\"op\" must be a text.");
    else {
        while (kind < HF_OP_KINDS && strcmp(hf_op_kind_name((hf_op_kind)kind), name->text.at) != 0)
            kind++;
        if (kind == HF_OP_KINDS && wire_name_is_plain(name->text))
            wire_error(reader, "there is no op called \"%s\".", name->text.at);
        else if (kind == HF_OP_KINDS)
            wire_error(reader, "there is no op of that name.");
        return (hf_op_kind)kind;
    }
    return HF_OP_KINDS;
}

static hf_status read_op(wire_reader *reader, const hf_json_value *object, hf_op *out)
{
    hf_op_kind kind = kind_of(reader, object);
    if (kind == HF_OP_KINDS)
        return HF_INVALID;
    out->kind = kind;
    return wire_struct_read(reader, object, &wire_op_table, wire_set_of(kind), "op",
                            hf_op_kind_name(kind), out);
}

/* The array that is the only field of the batch. */
static hf_status find_ops(const hf_json_value *root, const hf_json_value **out, hf_error *err)
{
    const hf_json_value *array = root->type == HF_JSON_OBJECT ? hf_json_field(root, "ops") : NULL;
    if (array == NULL || array->type != HF_JSON_ARRAY)
        return hf_fail(err, HF_INVALID,
                       "A batch is an object with an array \"ops\": {\"ops\":[...]}.");
    if (root->count > 1) {
        const hf_json_value *other = root->inside == array ? array->next : root->inside;
        return wire_fail_unknown(&(wire_reader){.err = err}, other->name, "a batch", "ops");
    }
    if (array->count == 0)
        return hf_fail(err, HF_INVALID, "The batch is empty: add an operation first.");
    if (array->count > HF_BATCH_OPS_MAX)
        return hf_fail(err, HF_TOO_LARGE,
                       "A batch holds 1 to %d operations; %zu were asked for. Split it.",
                       HF_BATCH_OPS_MAX, array->count);
    *out = array;
    return HF_OK;
}

static hf_status read_ops(wire_ops *ops, const char *text, size_t size, hf_error *err)
{
    hf_json_source source = {"The batch", text, size, WIRE_OPS_SIZE_MAX, VALUES_MAX};
    wire_reader reader = {.arena = &ops->arena, .err = err, .noun = "op"};
    hf_json_value *root;
    const hf_json_value *array = NULL;
    hf_status status;
    if ((status = hf_json_parse(&source, &ops->arena, &root, err)) != HF_OK ||
        (status = find_ops(root, &array, err)) != HF_OK || array == NULL)
        return status;
    hf_op *items = hf_arena_alloc(&ops->arena, array->count * sizeof *items);
    if (items == NULL)
        return hf_fail_memory(err);
    for (const hf_json_value *item = array->inside; item != NULL; item = item->next, reader.index++)
        if ((status = read_op(&reader, item, &items[reader.index])) != HF_OK)
            return status;
    ops->items = items;
    ops->count = array->count;
    return HF_OK;
}

hf_status wire_ops_read(wire_ops *ops, const char *text, size_t size, hf_error *err)
{
    ops->items = NULL;
    ops->count = 0;
    hf_arena_wipe(&ops->arena);
    return read_ops(ops, text, size, err);
}

void wire_ops_done(wire_ops *ops)
{
    hf_arena_wipe(&ops->arena);
    hf_arena_done(&ops->arena);
    *ops = (wire_ops){0};
}

/* ---- writing ---- */

hf_status wire_ops_write(hf_batch *batch, hf_buffer *out, hf_error *err)
{
    hf_json json = {.out = *out};
    const wire_field *bad = NULL;
    const char *flaw = NULL;
    hf_json_begin(&json, '{');
    hf_json_name(&json, "ops");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < hf_batch_count(batch) && bad == NULL; i++) {
        const hf_op *op = hf_batch_op(batch, i);
        if ((unsigned)op->kind >= HF_OP_KINDS) {
            hf_buffer_done(&json.out);
            *out = json.out;
            return hf_fail(err, HF_INVALID, "op %zu: of no known kind.", i);
        }
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "op", hf_op_kind_name(op->kind));
        bad = wire_struct_write(&json, &wire_op_table, wire_set_of(op->kind), op, &flaw);
        if (bad != NULL)
            hf_error_set(err, HF_INVALID, "op %zu: \"%s\" %s.", i, bad->name, flaw);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    *out = json.out;
    if (bad != NULL) {
        hf_buffer_done(out);
        return HF_INVALID;
    }
    return wire_written(out, "The batch", err);
}
