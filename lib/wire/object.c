/* SPDX-License-Identifier: MIT */
/* Bodies that are one object with a few fields: the routes other than /v1/batch. */
#include "base/error.h"
#include "wire/read.h"
#include "wire/wire.h"

enum { VALUES_MAX = 1 << 16 };

/* ---- seconds ---- */

static hf_status read_seconds(const wire_reader *reader, const char *name,
                              const hf_json_value *value, int64_t *out)
{
    if (value->type != HF_JSON_WHOLE && value->type != HF_JSON_FRACTION)
        return wire_fail_type(reader, name, "a number of seconds");
    int64_t us = wire_us_of(value->text);
    if (us < 0)
        return wire_fail(reader, "\"%s\" is negative.", name);
    if (us < HF_DURATION_MIN_US)
        return wire_fail(reader, "\"%s\" is shorter than 0.001 seconds.", name);
    if (us > HF_DURATION_MAX_US)
        return wire_fail(reader, "\"%s\" is longer than 366 days.", name);
    *out = us;
    return HF_OK;
}

/* ---- members ---- */

static bool is_array_of(const hf_json_value *value, hf_json_type type)
{
    bool good = value->type == HF_JSON_ARRAY;
    for (const hf_json_value *item = value->inside; good && item != NULL; item = item->next)
        good = item->type == type;
    return good;
}

static hf_status read_texts(const wire_reader *reader, const char *name, const hf_json_value *value,
                            wire_texts *out)
{
    if (!is_array_of(value, HF_JSON_TEXT))
        return wire_fail_type(reader, name, "an array of texts");
    const char **items = hf_arena_alloc(reader->arena, value->count * sizeof *items);
    if (items == NULL)
        return hf_fail_memory(reader->err);
    size_t count = 0;
    for (const hf_json_value *item = value->inside; item != NULL; item = item->next)
        items[count++] = item->text.at;
    *out = (wire_texts){items, count};
    return HF_OK;
}

static hf_status read_objects(const wire_reader *reader, const char *name,
                              const hf_json_value *value, wire_objects *out)
{
    if (!is_array_of(value, HF_JSON_OBJECT))
        return wire_fail_type(reader, name, "an array of objects");
    const hf_json_value **items = hf_arena_alloc(reader->arena, value->count * sizeof *items);
    if (items == NULL)
        return hf_fail_memory(reader->err);
    size_t count = 0;
    for (const hf_json_value *item = value->inside; item != NULL; item = item->next)
        items[count++] = item;
    *out = (wire_objects){items, count};
    return HF_OK;
}

static hf_status object_read_member(const wire_reader *reader, const wire_member *member,
                                    const hf_json_value *value)
{
    switch (member->form) {
    case WIRE_A_TEXT:
        if (value->type != HF_JSON_TEXT)
            return wire_fail_type(reader, member->name, "a text");
        *(const char **)member->out = value->text.at;
        return HF_OK;
    case WIRE_A_WHOLE:
        if (value->type != HF_JSON_WHOLE)
            return wire_fail_type(reader, member->name, "a whole number");
        *(int64_t *)member->out = value->whole;
        return HF_OK;
    case WIRE_A_FENCE:
        return wire_fence_read(reader, member->name, value, member->out);
    case WIRE_SECONDS:
        return read_seconds(reader, member->name, value, member->out);
    case WIRE_YES_NO:
        if (value->type != HF_JSON_BOOL)
            return wire_fail_type(reader, member->name, "true or false");
        *(bool *)member->out = value->yes;
        return HF_OK;
    case WIRE_TEXTS:
        return read_texts(reader, member->name, value, member->out);
    case WIRE_OBJECTS:
        return read_objects(reader, member->name, value, member->out);
    }
    return wire_fail(reader, "\"%s\" is of no known form.", member->name);
}

static hf_status unknown_member(const wire_reader *reader, hf_slice name, const char *who,
                                const wire_member *members, size_t count)
{
    char takes[512] = "";
    for (size_t i = 0; i < count; i++)
        wire_list_add(takes, sizeof takes, members[i].name);
    return wire_fail_unknown(reader, name, who, count == 0 ? "none" : takes);
}

static hf_status read_object(const wire_reader *reader, const hf_json_value *object,
                             const char *who, const wire_member *members, size_t count)
{
    hf_status status;
    for (const hf_json_value *field = object->inside; field != NULL; field = field->next) {
        size_t i = 0;
        while (i < count && !hf_slice_equal(hf_slice_of(members[i].name), field->name))
            i++;
        if (i == count)
            return unknown_member(reader, field->name, who, members, count);
        if (field->type != HF_JSON_NULL &&
            (status = object_read_member(reader, &members[i], field)) != HF_OK)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        const hf_json_value *field = hf_json_field(object, members[i].name);
        if (members[i].needed && (field == NULL || field->type == HF_JSON_NULL))
            return wire_fail_missing(reader, members[i].name);
    }
    return HF_OK;
}

hf_status wire_object_read(const char *text, size_t size, const wire_member *members, size_t count,
                           hf_arena *arena, hf_error *err)
{
    hf_json_source source = {"The body", size == 0 ? "{}" : text, size == 0 ? 2 : size,
                             WIRE_OBJECT_SIZE_MAX, VALUES_MAX};
    wire_reader reader = {.arena = arena, .err = err};
    hf_json_value *root;
    hf_status status = hf_json_parse(&source, arena, &root, err);
    if (status != HF_OK)
        return status;
    if (root->type != HF_JSON_OBJECT)
        return wire_fail(&reader, "the body must be an object.");
    return read_object(&reader, root, "the body", members, count);
}

hf_status wire_object_at(const wire_objects *objects, size_t index, const char *name,
                         const wire_member *members, size_t count, hf_arena *arena, hf_error *err)
{
    wire_reader reader = {.arena = arena, .err = err, .noun = name, .index = index};
    return read_object(&reader, objects->items[index], "it", members, count);
}
