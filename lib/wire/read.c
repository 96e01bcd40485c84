/* SPDX-License-Identifier: MIT */
/* From values to structs. */
#include "wire/read.h"

#include "base/error.h"
#include "wire/wire.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- sentences ---- */

void wire_error(const wire_reader *reader, const char *format, ...)
{
    char where[96] = "", what[HF_MESSAGE_SIZE];
    if (reader->noun != NULL && reader->list != NULL)
        snprintf(where, sizeof where, "%s %zu, %.24s %zu: ", reader->noun, reader->index,
                 reader->list, reader->item);
    else if (reader->noun != NULL)
        snprintf(where, sizeof where, "%s %zu: ", reader->noun, reader->index);
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (where[0] == '\0')
        what[0] = (char)toupper((unsigned char)what[0]);
    hf_error_set(reader->err, HF_INVALID, "%s%.1400s", where, what);
}

hf_status wire_fail_type(const wire_reader *reader, const char *name, const char *wanted)
{
    return wire_fail(reader, "\"%s\" must be %s.", name, wanted);
}

hf_status wire_fail_missing(const wire_reader *reader, const char *name)
{
    return wire_fail(reader, "\"%s\" is missing.", name);
}

bool wire_name_is_plain(hf_slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum((unsigned char)name.at[i]) && name.at[i] != '_' && name.at[i] != '-')
            return false;
    return name.size > 0 && name.size < HF_KEY_MIN;
}

void wire_list_add(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
}

hf_status wire_fail_unknown(const wire_reader *reader, hf_slice name, const char *who,
                            const char *takes)
{
    if (!wire_name_is_plain(name))
        return wire_fail(reader, "unknown field with a name of %zu bytes; %s takes %s.", name.size,
                         who, takes);
    return wire_fail(reader, "unknown field \"%s\"; %s takes %s.", name.at, who, takes);
}

static hf_status unknown_field(const wire_reader *reader, hf_slice name, const wire_table *table,
                               uint64_t of, const char *but, const char *who)
{
    char takes[512] = "";
    if (but != NULL)
        wire_list_add(takes, sizeof takes, but);
    for (size_t i = 0; i < table->count; i++)
        if ((table->fields[i].needs | table->fields[i].takes) & of)
            wire_list_add(takes, sizeof takes, table->fields[i].name);
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", who);
    return wire_fail_unknown(reader, name, quoted, takes);
}

/* ---- one field ---- */

static hf_status read_chars(const wire_reader *reader, const wire_field *field,
                            const hf_json_value *value, char *out)
{
    if (value->type != HF_JSON_TEXT)
        return wire_fail_type(reader, field->name, "a text");
    if (value->text.size >= field->size)
        return wire_fail(reader, "\"%s\" is longer than %zu bytes.", field->name, field->size - 1);
    hf_slice_copy(out, field->size, value->text);
    return HF_OK;
}

static hf_status read_size(const wire_reader *reader, const wire_field *field,
                           const hf_json_value *value, size_t *out)
{
    if (value->type != HF_JSON_WHOLE || value->whole < 0)
        return wire_fail_type(reader, field->name, "a whole number, 0 or more");
    *out = (size_t)value->whole;
    return HF_OK;
}

static hf_status wire_read_name(const wire_reader *reader, const wire_field *field,
                                const hf_json_value *value, int *out)
{
    const wire_names *names = field->names;
    for (int i = names->first; value->type == HF_JSON_TEXT && i < names->count; i++)
        if (strcmp(names->name(i), value->text.at) == 0) {
            *out = i;
            return HF_OK;
        }
    char wanted[512] = "";
    for (int i = names->first; i < names->count; i++)
        wire_list_add(wanted, sizeof wanted, names->name(i));
    return wire_fail(reader, "\"%s\" must be one of %s.", field->name, wanted);
}

static hf_status wire_read_login(wire_reader *reader, const wire_field *field,
                                 const hf_json_value *value, const hf_credentials **out)
{
    if (value->type != HF_JSON_TEXT)
        return wire_fail_type(reader, field->name, "a text, ID.KEY");
    if (reader->login == NULL || !hf_slice_equal(reader->login_text, value->text)) {
        hf_credentials *login = hf_arena_alloc(reader->arena, sizeof *login);
        hf_error flaw;
        if (login == NULL)
            return hf_fail_memory(reader->err);
        hf_status status = hf_credentials_parse(value->text.at, login, &flaw);
        if (status == HF_NO_MEMORY)
            return hf_fail_memory(reader->err);
        if (status != HF_OK)
            return wire_fail(reader, "\"%s\": %s", field->name, flaw.message);
        reader->login = login;
        reader->login_text = value->text;
    }
    *out = reader->login;
    return HF_OK;
}

static int read_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static hf_status read_digest(wire_reader *reader, const wire_field *field,
                             const hf_json_value *value, const unsigned char **out)
{
    enum { SIZE = 32 };
    unsigned char *digest = hf_arena_alloc(reader->arena, SIZE);
    bool good = value->type == HF_JSON_TEXT && value->text.size == (size_t)2 * SIZE;
    if (digest == NULL)
        return hf_fail_memory(reader->err);
    for (size_t i = 0; good && i < SIZE; i++) {
        int high = read_hex_digit(value->text.at[2 * i]),
            low = read_hex_digit(value->text.at[2 * i + 1]);
        good = high >= 0 && low >= 0;
        digest[i] = (unsigned char)(good ? high * 16 + low : 0);
    }
    *out = digest;
    return good ? HF_OK : wire_fail_type(reader, field->name, "64 hex digits");
}

static hf_status wire_read_list(wire_reader *reader, const wire_field *field,
                                const hf_json_value *value, char *base)
{
    size_t *count = (size_t *)(void *)(base + field->beside);
    if (value->type != HF_JSON_ARRAY)
        return wire_fail_type(reader, field->name, "an array");
    if (*count != 0)
        return wire_fail(reader, "\"%s\" and \"%s_count\" exclude each other.", field->name,
                         field->name);
    char *items =
        value->count == 0 ? NULL : hf_arena_alloc(reader->arena, value->count * field->table->size);
    if (value->count > 0 && items == NULL)
        return hf_fail_memory(reader->err);
    reader->list = field->name;
    reader->item = 0;
    for (const hf_json_value *item = value->inside; item != NULL;
         item = item->next, reader->item++) {
        hf_status status =
            wire_struct_read(reader, item, field->table, UINT64_MAX, NULL, field->table->noun,
                             items + reader->item * field->table->size);
        if (status != HF_OK)
            return status;
    }
    reader->list = NULL;
    memcpy(base + field->at, &items, sizeof items);
    *count = value->count;
    return HF_OK;
}

static hf_status wire_read_count(const wire_reader *reader, const wire_field *field,
                                 const hf_json_value *value, char *base)
{
    const void *list;
    memcpy(&list, base + field->beside, sizeof list);
    if (list != NULL)
        return wire_fail(reader, "\"%s\" stands beside the list it counts.", field->name);
    return read_size(reader, field, value, (size_t *)(void *)(base + field->at));
}

static hf_status read_nested(wire_reader *reader, const wire_field *field,
                             const hf_json_value *value, void *out)
{
    if (value->type != HF_JSON_OBJECT)
        return wire_fail_type(reader, field->name, "an object");
    return wire_struct_read(reader, value, field->table, UINT64_MAX, NULL, field->name, out);
}

hf_status wire_fence_read(const wire_reader *reader, const char *name, const hf_json_value *value,
                          int64_t *out)
{
    if (value->type != HF_JSON_WHOLE)
        return wire_fail_type(reader, name, "a whole number");
    if (value->whole < 1 && strcmp(name, "version") == 0)
        return wire_fail(reader, WIRE_NO_VERSION, value->whole);
    if (value->whole < 1)
        return wire_fail(reader, WIRE_NO_FENCE, value->whole, name);
    *out = value->whole;
    return HF_OK;
}

static hf_status wire_read_member(wire_reader *reader, const wire_field *field,
                                  const hf_json_value *value, char *base)
{
    void *out = base + field->at;
    switch (field->kind) {
    case WIRE_STRING:
        if (value->type != HF_JSON_TEXT)
            return wire_fail_type(reader, field->name, "a text");
        *(const char **)out = value->text.at;
        return HF_OK;
    case WIRE_CHARS:
        return read_chars(reader, field, value, out);
    case WIRE_INT:
        if (value->type != HF_JSON_WHOLE)
            return wire_fail_type(reader, field->name, "a whole number");
        *(int64_t *)out = value->whole;
        return HF_OK;
    case WIRE_FENCE:
        return wire_fence_read(reader, field->name, value, out);
    case WIRE_SIZE:
        return read_size(reader, field, value, out);
    case WIRE_FLAG:
        if (value->type != HF_JSON_BOOL)
            return wire_fail_type(reader, field->name, "true or false");
        *(bool *)out = value->yes;
        return HF_OK;
    case WIRE_NAME:
        return wire_read_name(reader, field, value, out);
    case WIRE_LOGIN:
        return wire_read_login(reader, field, value, out);
    case WIRE_DIGEST:
        return read_digest(reader, field, value, out);
    case WIRE_NESTED:
        return read_nested(reader, field, value, out);
    case WIRE_LIST:
        return wire_read_list(reader, field, value, base);
    case WIRE_COUNT:
        return wire_read_count(reader, field, value, base);
    }
    return wire_fail(reader, "\"%s\" is of no known kind.", field->name);
}

/* ---- a struct ---- */

static size_t find_row(const wire_table *table, uint64_t of, hf_slice name)
{
    size_t i = 0;
    while (i < table->count && !(((table->fields[i].needs | table->fields[i].takes) & of) &&
                                 hf_slice_equal(hf_slice_of(table->fields[i].name), name)))
        i++;
    return i;
}

hf_status wire_struct_read(wire_reader *reader, const hf_json_value *object,
                           const wire_table *table, uint64_t of, const char *but, const char *who,
                           void *out)
{
    uint64_t seen = 0; /* rows */
    if (object->type != HF_JSON_OBJECT)
        return wire_fail(reader, "this must be an object.");
    for (const hf_json_value *field = object->inside; field != NULL; field = field->next) {
        size_t row = find_row(table, of, field->name);
        if (row == table->count) {
            if (reader->lenient || (but != NULL && hf_slice_equal(field->name, hf_slice_of(but))))
                continue;
            return unknown_field(reader, field->name, table, of, but, who);
        }
        hf_status status = wire_read_member(reader, &table->fields[row], field, out);
        if (status != HF_OK)
            return status;
        seen |= UINT64_C(1) << row;
    }
    for (size_t i = 0; i < table->count; i++)
        if ((table->fields[i].needs & of) && !(seen & UINT64_C(1) << i))
            return wire_fail_missing(reader, table->fields[i].name);
    return HF_OK;
}
