/* SPDX-License-Identifier: MIT */
/* Parameters in PostgreSQL's binary form: numbers as int8, a list as one array a column. Written
 * into one buffer that the connection keeps: nothing is allocated for a value. */
#include "base/buffer.h"
#include "base/seams.h"
#include "db/postgres_inside.h"

#include <endian.h>

enum { OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25, OID_FLOAT8 = 701 };
enum { OID_BYTEAS = 1001, OID_TEXTS = 1009, OID_INT8S = 1016, OID_FLOAT8S = 1022 };

enum { ARRAY_HEAD = 20 }; /* dimensions, nulls, type; size and first index of the one dimension */

#define ROOM_MAX ((size_t)256 << 20) /* a fourth of what the server takes in one message */

/* Of each kind, its type and the type of an array of it. UTF-8 is 0, unknown: the server takes it
 * for what its place wants. */
static const struct {
    Oid one, array;
} pg_value_types[] = {
    [HF_VALUE_INT] = {OID_INT8, OID_INT8S},     [HF_VALUE_TEXT] = {OID_TEXT, OID_TEXTS},
    [HF_VALUE_BYTES] = {OID_BYTEA, OID_BYTEAS}, [HF_VALUE_REAL] = {OID_FLOAT8, OID_FLOAT8S},
    [HF_VALUE_UTF8] = {0, OID_TEXTS},
};

static Oid type_of(hf_value_kind kind)
{
    return pg_value_types[kind].one;
}

static Oid array_of(hf_value_kind kind)
{
    return pg_value_types[kind].array;
}

static bool pg_value_is_number(hf_value_kind kind)
{
    return kind == HF_VALUE_INT || kind == HF_VALUE_REAL;
}

/* The eight bytes of a number, as the server's own integer or real. */
static int64_t pg_value_bits(hf_value_kind kind, const hf_value *value)
{
    int64_t bits = value->number;
    if (kind == HF_VALUE_REAL)
        memcpy(&bits, &value->real, sizeof bits);
    return bits;
}

static size_t size_of_list(const hf_list *list)
{
    size_t size = list->columns * (ARRAY_HEAD + 4 * list->count);
    if (list->count == 0)
        return size;
    for (size_t column = 0; column < list->columns; column++) {
        if (pg_value_is_number(hf_kind_of_letter(list->kinds[column]))) {
            size += 8 * list->count;
            continue;
        }
        const hf_value *value = &list->values[column];
        for (size_t row = 0; row < list->count; row++, value += list->columns)
            size += value->null ? 0 : value->bytes.size;
    }
    return size;
}

hf_status pg_make_room(pg_db *db, const hf_params *params, hf_error *err)
{
    size_t needed = 8 * (size_t)params->count, borrowed = 0;
    for (int i = 1; i <= params->count; i++) {
        const hf_param *param = &params->at[i];
        if (param->kind == HF_VALUE_LIST) {
            if (param->list->failed)
                return hf_fail_memory(err);
            needed += size_of_list(param->list);
            i += (int)param->list->columns - 1;
        } else if (!pg_value_is_number(param->kind) && !param->value.null)
            borrowed += param->value.bytes.size;
    }
    if (needed > ROOM_MAX || borrowed > ROOM_MAX)
        return hf_fail(err, HF_TOO_LARGE,
                       "A statement's values take more than %zu MB; send fewer at once.",
                       ROOM_MAX >> 20);
    if (needed <= db->room)
        return HF_OK;
    size_t room = needed < 4096 ? 4096 : needed + needed / 2;
    char *bytes = hf_realloc(db->bytes, room);
    if (bytes == NULL)
        return hf_fail_memory(err);
    db->bytes = bytes;
    db->room = room;
    return HF_OK;
}

static char *put_32(char *at, uint32_t number)
{
    number = htobe32(number);
    memcpy(at, &number, 4);
    return at + 4;
}

static char *put_64(char *at, int64_t number)
{
    uint64_t bits = htobe64((uint64_t)number);
    memcpy(at, &bits, 8);
    return at + 8;
}

/* One column of the list, as an array. */
static char *put_array(char *at, const hf_list *list, size_t column, hf_value_kind kind)
{
    char *nulls = at + 4;
    uint32_t any_null = 0;
    at = put_32(at, list->count > 0);
    at = put_32(at, 0);
    at = put_32(at, kind == HF_VALUE_UTF8 ? OID_TEXT : type_of(kind));
    if (list->count == 0)
        return at;
    at = put_32(at, (uint32_t)list->count);
    at = put_32(at, 1);
    const hf_value *value = &list->values[column];
    for (size_t row = 0; row < list->count; row++, value += list->columns) {
        if (value->null) {
            at = put_32(at, UINT32_MAX);
            any_null = 1;
        } else if (pg_value_is_number(kind)) {
            at = put_32(at, 8);
            at = put_64(at, pg_value_bits(kind, value));
        } else {
            at = put_32(at, (uint32_t)value->bytes.size);
            if (value->bytes.size > 0)
                memcpy(at, value->bytes.at, value->bytes.size);
            at += value->bytes.size;
        }
    }
    put_32(nulls, any_null);
    return at;
}

static char *put_list(char *at, const hf_list *list, int first, pg_values *out)
{
    for (size_t column = 0; column < list->columns; column++) {
        hf_value_kind kind = hf_kind_of_letter(list->kinds[column]);
        int i = first + (int)column;
        char *end = put_array(at, list, column, kind);
        out->types[i] = array_of(kind);
        out->at[i] = at;
        out->sizes[i] = (int)(end - at);
        at = end;
    }
    return at;
}

/* ---- lists of one row ---- */

bool pg_is_single(const hf_params *params)
{
    bool any = false;
    for (int i = 1; i <= params->count; i++) {
        const hf_param *param = &params->at[i];
        if (param->kind != HF_VALUE_LIST)
            continue;
        if (param->list->count > 1)
            return false;
        any = true;
        i += (int)param->list->columns - 1;
    }
    return any;
}

bool pg_single_text(const char *sql, char **out)
{
    hf_buffer text = {0};
    bool any = false;
    *out = NULL;
    if (strstr(sql, "WITH ORDINALITY") != NULL)
        return true;
    for (const char *at = sql; *at != '\0';) {
        bool row = strncmp(at, "unnest(", 7) == 0, value = strncmp(at, "ANY (", 5) == 0;
        const char *from = at + (row ? 7 : 5), *end = row || value ? strchr(at, ')') : NULL;
        if (end == NULL) {
            hf_buffer_add(&text, at++, 1);
            continue;
        }
        bool named = strncmp(end, ") u", 3) == 0;
        hf_buffer_print(&text, row ? "(SELECT %.*s)%s" : "%.*s%s", (int)(end - from), from,
                        row && !named ? " u" : "");
        at = end + 1;
        any = true;
    }
    if (!any) {
        hf_buffer_done(&text);
        return true;
    }
    *out = hf_buffer_take(&text);
    return *out != NULL;
}

static char *postgres_values_put_value(char *at, const hf_value *value, hf_value_kind kind, int i,
                                       pg_values *out)
{
    bool number = pg_value_is_number(kind);
    out->types[i] = type_of(kind);
    out->sizes[i] = number ? 8 : (int)value->bytes.size;
    /* To libpq a null pointer is null: no bytes at all still have to be somewhere. */
    out->at[i] = value->null ? NULL : number ? at : value->bytes.at == NULL ? "" : value->bytes.at;
    out->formats[i] = kind != HF_VALUE_UTF8; /* of an unknown type only the text is known */
    return number ? put_64(at, pg_value_bits(kind, value)) : at;
}

/* None is a row of nulls, which equals nothing. */
static char *put_single(char *at, const hf_list *list, int first, pg_values *out)
{
    static const hf_value null = {.null = true};
    for (size_t column = 0; column < list->columns; column++)
        at = postgres_values_put_value(at, list->count == 0 ? &null : &list->values[column],
                                       hf_kind_of_letter(list->kinds[column]), first + (int)column,
                                       out);
    return at;
}

void pg_encode(pg_db *db, const hf_params *params, bool single, pg_values *out)
{
    char *at = db->bytes;
    out->count = params->count;
    for (int i = 0; i < params->count; i++)
        out->formats[i] = 1;
    for (int i = 0; i < params->count; i++) {
        const hf_param *param = &params->at[i + 1];
        if (param->kind == HF_VALUE_LIST) {
            at = single ? put_single(at, param->list, i, out) : put_list(at, param->list, i, out);
            i += (int)param->list->columns - 1;
            continue;
        }
        at = postgres_values_put_value(at, &param->value, param->kind, i, out);
    }
}
