/* SPDX-License-Identifier: MIT */
/* Parameters in PostgreSQL's binary form: numbers as int8, a list as one array a column. Written into one buffer that the connection
 * keeps: nothing is allocated for a value. */
#include "base/seams.h"
#include "db/postgres_inside.h"

#include <endian.h>

enum { OID_BYTEA = 17, OID_INT8 = 20, OID_TEXT = 25 };
enum { OID_BYTEAS = 1001, OID_TEXTS = 1009, OID_INT8S = 1016 };

enum { ARRAY_HEAD = 20 }; /* dimensions, nulls, type; size and first index of the one dimension */

#define ROOM_MAX ((size_t)256 << 20) /* a fourth of what the server takes in one message */

static Oid type_of(hf_value_kind kind)
{
    return kind == HF_VALUE_INT ? OID_INT8 : kind == HF_VALUE_TEXT ? OID_TEXT : OID_BYTEA;
}

static Oid array_of(hf_value_kind kind)
{
    return kind == HF_VALUE_INT ? OID_INT8S : kind == HF_VALUE_TEXT ? OID_TEXTS : OID_BYTEAS;
}

static size_t size_of_list(const hf_list *list)
{
    size_t size = list->columns * (ARRAY_HEAD + 4 * list->count);
    if (list->count == 0)
        return size;
    for (size_t column = 0; column < list->columns; column++) {
        if (list->kinds[column] == 'i') {
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
        } else if (param->kind != HF_VALUE_INT && !param->value.null)
            borrowed += param->value.bytes.size;
    }
    if (needed > ROOM_MAX || borrowed > ROOM_MAX)
        return hf_fail(err, HF_TOO_LARGE, "A statement's values take more than %zu MB; send fewer at once.",
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
    at = put_32(at, type_of(kind));
    if (list->count == 0)
        return at;
    at = put_32(at, (uint32_t)list->count);
    at = put_32(at, 1);
    const hf_value *value = &list->values[column];
    for (size_t row = 0; row < list->count; row++, value += list->columns) {
        if (value->null) {
            at = put_32(at, UINT32_MAX);
            any_null = 1;
        } else if (kind == HF_VALUE_INT) {
            at = put_32(at, 8);
            at = put_64(at, value->number);
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

void pg_encode(pg_db *db, const hf_params *params, pg_values *out)
{
    char *at = db->bytes;
    out->count = params->count;
    for (int i = 0; i < params->count; i++)
        out->formats[i] = 1;
    for (int i = 0; i < params->count; i++) {
        const hf_param *param = &params->at[i + 1];
        if (param->kind == HF_VALUE_LIST) {
            at = put_list(at, param->list, i, out);
            i += (int)param->list->columns - 1;
            continue;
        }
        const hf_value *value = &param->value;
        out->types[i] = type_of(param->kind);
        out->sizes[i] = param->kind == HF_VALUE_INT ? 8 : (int)value->bytes.size;
        /* To libpq a null pointer is null: no bytes at all still have to be somewhere. */
        out->at[i] = value->null                   ? NULL
                     : param->kind == HF_VALUE_INT ? at
                     : value->bytes.at == NULL     ? ""
                                                   : value->bytes.at;
        if (param->kind == HF_VALUE_INT)
            at = put_64(at, value->number);
    }
}
