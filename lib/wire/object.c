/* SPDX-License-Identifier: MIT */
/* Bodies that are one object with a few fields: the routes other than /v1/batch. */
#include "base/error.h"
#include "wire/read.h"
#include "wire/wire.h"

enum { VALUES_MAX = 1 << 16, DIGITS_MAX = 18 };

/* ---- seconds ---- */

/* A number as JSON writes it: its digits without the zeros before them, and where the point stands
 * among them. */
typedef struct decimal {
    const char *at;
    size_t size;
    bool minus;
    long point; /* digits before the point; may lie outside of them */
} decimal;

/* Moves to the next digit; '\0' at the end of the digits. */
static char next_digit(decimal *d)
{
    if (d->size > 0 && *d->at == '.') {
        d->at++;
        d->size--;
    }
    if (d->size == 0 || *d->at < '0' || *d->at > '9')
        return '\0';
    d->size--;
    return *d->at++;
}

static decimal decimal_of(hf_slice text)
{
    decimal d = {text.at, text.size, text.at[0] == '-', 0};
    d.at += d.minus;
    d.size -= d.minus;
    bool behind = false, other = false;
    long exponent = 0;
    for (size_t i = 0; i < d.size && d.at[i] != 'e' && d.at[i] != 'E'; i++) {
        behind = behind || d.at[i] == '.';
        d.point += !behind;
    }
    for (size_t i = 0; i < d.size; i++) {
        if (other && d.at[i] >= '0' && d.at[i] <= '9' && exponent < 10000)
            exponent = exponent * 10 + (d.at[i] - '0');
        other = other || d.at[i] == 'e' || d.at[i] == 'E';
    }
    bool down = memchr(d.at, '-', d.size) != NULL;
    d.point += down ? -exponent : exponent;
    while (d.size > 1 && (*d.at == '0' || *d.at == '.')) {
        d.point -= *d.at == '0';
        d.at++;
        d.size--;
    }
    return d;
}

/* Microseconds, to the nearest; INT64_MAX when there are too many. */
static int64_t to_us(hf_slice text)
{
    decimal d = decimal_of(text);
    long kept = d.point + 6;
    bool zero = d.size == 0 || *d.at < '1' || *d.at > '9';
    int64_t us = 0;
    if (zero || kept < 0)
        return 0;
    if (kept > DIGITS_MAX)
        return d.minus ? -1 : INT64_MAX;
    for (; kept > 0; kept--) {
        char digit = next_digit(&d);
        us = us * 10 + (digit == '\0' ? 0 : digit - '0');
    }
    us += next_digit(&d) >= '5';
    return d.minus ? -us : us;
}

static hf_status read_seconds(const wire_reader *reader, const char *name,
                              const hf_json_value *value, int64_t *out)
{
    if (value->type != HF_JSON_WHOLE && value->type != HF_JSON_FRACTION)
        return wire_fail_type(reader, name, "a number of seconds");
    int64_t us = to_us(value->text);
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
