/* SPDX-License-Identifier: MIT */
/* From values to structs. */
#include "wire/read.h"

#include "base/error.h"
#include "base/time.h"
#include "wire/wire.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define A_RESOURCE "a text, TYPE/ID"

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

int64_t wire_us_of(hf_slice text)
{
    decimal d = decimal_of(text);
    const int sign = d.minus ? -1 : 1;
    long kept = d.point + 6;
    int64_t us = 0;
    if (d.size == 0 || *d.at < '1' || *d.at > '9')
        return 0;
    bool fits = true, rounds = kept >= 0;
    for (; kept > 0 && fits; kept--) {
        char digit = next_digit(&d);
        fits = !__builtin_mul_overflow(us, 10, &us) &&
               !__builtin_add_overflow(us, digit == '\0' ? 0 : sign * (digit - '0'), &us);
    }
    if (fits && rounds && next_digit(&d) >= '5')
        fits = !__builtin_add_overflow(us, sign, &us);
    if (!fits)
        return d.minus ? INT64_MIN : INT64_MAX;
    return us == 0 ? sign : us;
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

static hf_status wire_read_member(wire_reader *reader, const wire_field *field,
                                  const hf_json_value *value, char *base);

/* The public struct of a row. What may be missing, or null, is zero then. */
static hf_status wire_read_row(wire_reader *reader, const hf_json_value *object,
                               const hf_row_fields *of, char *out)
{
    if (object->type != HF_JSON_OBJECT)
        return wire_fail(reader, "this must be an object.");
    for (const hf_shown *shown = of->shown; shown < of->shown + of->shown_count; shown++) {
        const wire_field field = wire_field_of(shown);
        const hf_json_value *value = hf_json_field(object, field.name);
        bool none = value == NULL || value->type == HF_JSON_NULL;
        if (none && !(shown->flags & HF_MAYBE) && shown->kind != HF_ROW_TIME)
            return wire_fail_missing(reader, field.name);
        hf_status status = none ? HF_OK : wire_read_member(reader, &field, value, out);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
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
    const size_t size = field->rows != NULL ? field->rows->shown_size : field->table->size;
    char *items = value->count == 0 ? NULL : hf_arena_alloc(reader->arena, value->count * size);
    if (value->count > 0 && items == NULL)
        return hf_fail_memory(reader->err);
    reader->list = field->name;
    reader->item = 0;
    for (const hf_json_value *item = value->inside; item != NULL;
         item = item->next, reader->item++) {
        char *to = items + reader->item * size;
        hf_status status = field->rows != NULL
                               ? wire_read_row(reader, item, field->rows, to)
                               : wire_struct_read(reader, item, field->table, UINT64_MAX, NULL,
                                                  field->table->noun, to);
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

static hf_status read_time(const wire_reader *reader, const wire_field *field,
                           const hf_json_value *value, int64_t *out)
{
    if (value->type != HF_JSON_TEXT || !hf_time_read(value->text.at, out))
        return wire_fail_type(reader, field->name, "a time, as 2026-11-15T10:47:03Z");
    return HF_OK;
}

static hf_status read_span(const wire_reader *reader, const wire_field *field,
                           const hf_json_value *value, int64_t *out)
{
    if (value->type != HF_JSON_WHOLE && value->type != HF_JSON_FRACTION)
        return wire_fail_type(reader, field->name, "a number of seconds");
    *out = wire_us_of(value->text);
    if (*out == 0 && !reader->lenient) /* taken as given, it would mean the default */
        return wire_fail(reader, "\"%s\" can't be 0; leave it out.", field->name);
    return HF_OK;
}

/* Splits at the first slash; id.at is NULL where there is none. */
static void split_named(hf_slice text, hf_slice *type, hf_slice *id)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.at, '/', text.size);
    *type = text;
    *id = HF_NOTHING;
    if (slash == NULL)
        return;
    type->size = (size_t)(slash - text.at);
    *id = (hf_slice){slash + 1, text.size - type->size - 1};
}

static hf_status wire_read_place(const wire_reader *reader, const wire_field *field,
                                 const hf_json_value *value, hf_resource *out)
{
    hf_slice type, id;
    if (value->type != HF_JSON_TEXT)
        return wire_fail_type(reader, field->name, A_RESOURCE);
    split_named(value->text, &type, &id);
    if (type.size >= sizeof out->type || id.size >= sizeof out->id)
        return wire_fail(reader, "\"%s\" is longer than a resource can be.", field->name);
    hf_slice_copy(out->type, sizeof out->type, type);
    hf_slice_copy(out->id, sizeof out->id, id);
    return HF_OK;
}

static hf_status read_named(const wire_reader *reader, const wire_field *field,
                            const hf_json_value *value, char *base)
{
    hf_slice type, id;
    if (value->type != HF_JSON_TEXT)
        return wire_fail_type(reader, field->name, A_RESOURCE);
    split_named(value->text, &type, &id);
    char *name = hf_arena_text(reader->arena, type);
    const char *rest = id.at; /* up to the end of the text */
    if (name == NULL)
        return hf_fail_memory(reader->err);
    memcpy(base + field->at, &name, sizeof name);
    memcpy(base + field->beside, &rest, sizeof rest);
    return HF_OK;
}

/* "type/id session", or "session" alone; an id may have spaces, a session none. */
static hf_status read_cursor(const wire_reader *reader, const wire_field *field,
                             const hf_json_value *value, const hf_cursor **to)
{
    if (value->type != HF_JSON_TEXT)
        return wire_fail_type(reader, field->name, "a text");
    const char *space = strrchr(value->text.at, ' ');
    const char *session = space == NULL ? value->text.at : space + 1;
    size_t named = space == NULL ? 0 : (size_t)(space - value->text.at);
    hf_slice type, id;
    hf_cursor *out = hf_arena_alloc(reader->arena, sizeof *out);
    if (out == NULL)
        return hf_fail_memory(reader->err);
    split_named((hf_slice){value->text.at, named}, &type, &id);
    if (type.size >= sizeof out->resource.type || id.size >= sizeof out->resource.id ||
        strlen(session) >= sizeof out->session || (type.size == 0 && id.at != NULL))
        return wire_fail(reader, "\"%s\" is no place to go on from: pass \"next\" as it is.",
                         field->name);
    hf_slice_copy(out->resource.type, sizeof out->resource.type, type);
    hf_slice_copy(out->resource.id, sizeof out->resource.id, id);
    hf_slice_copy(out->session, sizeof out->session, hf_slice_of(session));
    *to = out;
    return HF_OK;
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
    case WIRE_TIME:
        return read_time(reader, field, value, out);
    case WIRE_SPAN:
        return read_span(reader, field, value, out);
    case WIRE_PLACE:
        return wire_read_place(reader, field, value, out);
    case WIRE_NAMED:
        return read_named(reader, field, value, base);
    case WIRE_CURSOR:
        return read_cursor(reader, field, value, out);
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

/* A resource that was read without an id. */
static bool is_type_alone(const wire_field *field, const char *base)
{
    const char *id = NULL;
    if (field->kind == WIRE_NAMED)
        memcpy(&id, base + field->beside, sizeof id);
    return field->kind == WIRE_NAMED && id == NULL;
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
        if (status == HF_OK && (table->fields[row].needs & of) &&
            is_type_alone(&table->fields[row], out))
            status = wire_fail_type(reader, table->fields[row].name, A_RESOURCE);
        if (status != HF_OK)
            return status;
        seen |= UINT64_C(1) << row;
    }
    for (size_t i = 0; i < table->count; i++)
        if ((table->fields[i].needs & of) && !(seen & UINT64_C(1) << i))
            return wire_fail_missing(reader, table->fields[i].name);
    return HF_OK;
}
