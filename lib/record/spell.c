/* SPDX-License-Identifier: MIT */
/* Values in one spelling, whatever the database: what a program gives is checked and spelled, what
 * a row holds is read and spelled, so that two values are the same when their bytes are. */
#include "record/inside.h"

#include "record/spelling.h"

#include "db/sqlite.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what a program gives ---- */

static const char *const spell_words[] = {
    [REC_ANY] = "a value",
    [REC_INT] = "a whole number",
    [REC_BOOL] = "0 or 1",
    [REC_REAL] = "a number",
    [REC_DECIMAL] = "a decimal",
    [REC_TEXT] = "text",
    [REC_BYTES] = "bytes",
    [REC_DATE] = "a date as 2026-11-18",
    [REC_TIME] = "a time as 14:02:07",
    [REC_STAMP] = "a timestamp as 2026-11-18T14:02:07",
    [REC_INSTANT] = "a timestamp in UTC as 2026-11-18T14:02:07Z",
    [REC_UUID] = "a uuid",
    [REC_JSON] = "JSON",
    [REC_OTHER] = "text",
};

static hf_status spell_refuse(const rec_table *table, const rec_column *column, hf_error *err)
{
    return hf_fail(err, HF_INVALID, "The column %s of %s takes %s.", column->name, table->name,
                   spell_words[column->holds]);
}

static hf_status spell_number(const rec_table *table, const rec_column *column, int64_t number,
                              hf_field *out, hf_error *err)
{
    if (number < column->least || number > column->most)
        return hf_fail(err, HF_INVALID,
                       "%" PRId64 " does not fit into the column %s of %s: it takes %" PRId64
                       " to %" PRId64 ".",
                       number, column->name, table->name, column->least, column->most);
    *out = (hf_field){.kind = HF_FIELD_INT, .number = number};
    return HF_OK;
}

static size_t spell_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static hf_status spell_plain(const rec_table *table, const rec_column *column, hf_slice text,
                             hf_arena *arena, hf_field *out, hf_error *err)
{
    if (column->chars_max > 0 && spell_characters(text.at, text.size) > column->chars_max)
        return hf_fail(err, HF_INVALID, "The column %s of %s takes %zu characters at most.",
                       column->name, table->name, column->chars_max);
    char *copy = hf_arena_alloc(arena, text.size + 1);
    if (copy == NULL)
        return hf_fail_memory(err);
    if (text.size > 0)
        memcpy(copy, text.at, text.size);
    *out = (hf_field){.kind = HF_FIELD_TEXT, .text = copy, .size = text.size};
    return HF_OK;
}

static hf_status spell_words_of(const rec_table *table, const rec_column *column, hf_slice text,
                                hf_arena *arena, hf_field *out, hf_error *err)
{
    if (!hf_text_is_utf8(text.at, text.size) || memchr(text.at, '\0', text.size) != NULL)
        return hf_fail(err, HF_INVALID,
                       "The text for the column %s of %s is not UTF-8, or has a NUL in it.",
                       column->name, table->name);
    if (column->holds == REC_TEXT || column->holds == REC_ANY || column->holds == REC_OTHER)
        return spell_plain(table, column, text, arena, out, err);
    hf_slice spelled;
    if (!rec_spelling(column->holds, text, arena, &spelled))
        return spelled.at == NULL && spelled.size > 0 ? hf_fail_memory(err)
                                                      : spell_refuse(table, column, err);
    *out = (hf_field){.kind = HF_FIELD_TEXT, .text = spelled.at, .size = spelled.size};
    return HF_OK;
}

static hf_status spell_bytes(const hf_field *value, hf_arena *arena, hf_field *out, hf_error *err)
{
    char *copy = hf_arena_alloc(arena, value->size + 1);
    if (copy == NULL)
        return hf_fail_memory(err);
    if (value->size > 0)
        memcpy(copy, value->text, value->size);
    *out = (hf_field){.kind = HF_FIELD_BYTES, .text = copy, .size = value->size};
    return HF_OK;
}

/* A number for a decimal column. */
static hf_status spell_decimal(const rec_table *table, const rec_column *column, hf_field value,
                               hf_arena *arena, hf_field *out, hf_error *err)
{
    char digits[40];
    if (value.kind == HF_FIELD_INT)
        snprintf(digits, sizeof digits, "%" PRId64, value.number);
    else if (fabs(value.real) < 1e15)
        snprintf(digits, sizeof digits, "%.15g", value.real);
    else
        return spell_refuse(table, column, err);
    return spell_words_of(table, column, hf_slice_of(digits), arena, out, err);
}

hf_status rec_spell(const hf_tables *tables, const rec_table *table, const rec_column *column,
                    hf_field value, hf_arena *arena, hf_field *out, hf_error *err)
{
    (void)tables;
    rec_class holds = column->holds;
    bool any = holds == REC_ANY;
    hf_slice text = {value.text == NULL ? "" : value.text, value.size};
    switch (value.kind) {
    case HF_FIELD_NULL:
        if (!column->null_ok)
            return hf_fail(err, HF_INVALID, "The column %s of %s can't be null.", column->name,
                           table->name);
        *out = HF_NULL;
        return HF_OK;
    case HF_FIELD_INT:
        if (holds == REC_INT || holds == REC_BOOL)
            return spell_number(table, column, value.number, out, err);
        if (holds == REC_REAL) {
            *out = HF_REAL((double)value.number);
            return HF_OK;
        }
        *out = HF_NUMBER(value.number);
        return any                    ? HF_OK
               : holds == REC_DECIMAL ? spell_decimal(table, column, value, arena, out, err)
                                      : spell_refuse(table, column, err);
    case HF_FIELD_REAL:
        *out = HF_REAL(value.real);
        if (!isfinite(value.real))
            return hf_fail(err, HF_INVALID, "The column %s of %s takes finite numbers.",
                           column->name, table->name);
        return any || holds == REC_REAL ? HF_OK
               : holds == REC_DECIMAL   ? spell_decimal(table, column, value, arena, out, err)
                                        : spell_refuse(table, column, err);
    case HF_FIELD_TEXT:
        if (value.size == SIZE_MAX)
            text.size = strlen(text.at);
        return holds == REC_INT || holds == REC_BOOL || holds == REC_REAL || holds == REC_BYTES
                   ? spell_refuse(table, column, err)
                   : spell_words_of(table, column, text, arena, out, err);
    case HF_FIELD_BYTES:
        return any || holds == REC_BYTES ? spell_bytes(&value, arena, out, err)
                                         : spell_refuse(table, column, err);
    }
    return spell_refuse(table, column, err);
}

/* ---- keys as text ---- */

static bool spell_parse_int(hf_slice text, int64_t *out)
{
    size_t sign = text.size > 0 && text.at[0] == '-', i = sign;
    int64_t number = 0; /* below zero, where there is room for all of them */
    for (; i < text.size && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, text.at[i] - '0', &number))
            return false;
    bool zeros = i > sign && text.at[sign] == '0' && (i > sign + 1 || sign > 0);
    if (i == sign || i < text.size || zeros || (sign == 0 && number == INT64_MIN))
        return false;
    *out = sign > 0 ? number : -number;
    return true;
}

static hf_status spell_parse_hex(hf_slice text, hf_arena *arena, hf_field *out, hf_error *err)
{
    char *bytes = hf_arena_alloc(arena, text.size / 2 + 1);
    if (bytes == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i + 1 < text.size; i += 2) {
        char pair[3] = {text.at[i], text.at[i + 1], '\0'};
        bytes[i / 2] = (char)strtoul(pair, NULL, 16);
    }
    *out = HF_BYTES(bytes, text.size / 2);
    return HF_OK;
}

hf_status rec_spell_text(const hf_tables *tables, const rec_table *table, const rec_column *column,
                         hf_slice text, hf_arena *arena, hf_field *out, hf_error *err)
{
    int64_t number = 0;
    if (column->holds == REC_BYTES && text.size >= 2 && memcmp(text.at, "\\x", 2) == 0)
        text = (hf_slice){text.at + 2, text.size - 2};
    if (column->holds == REC_BOOL && (hf_slice_equal(text, hf_slice_of("true")) ||
                                      hf_slice_equal(text, hf_slice_of("false"))))
        text = hf_slice_of(text.size == 4 ? "1" : "0");
    switch (column->holds) {
    case REC_INT:
    case REC_BOOL:
        return spell_parse_int(text, &number)
                   ? spell_number(table, column, number, out, err)
                   : hf_fail(err, HF_INVALID, "%.*s is no key of %s: its %s is a whole number.",
                             (int)text.size, text.at, table->name, column->name);
    case REC_ANY: /* whichever way it looks */
        if (spell_parse_int(text, &number)) {
            *out = HF_NUMBER(number);
            return HF_OK;
        }
        return spell_plain(table, column, text, arena, out, err);
    case REC_BYTES:
        return text.size % 2 == 0 && hf_is_hex(text.at, text.size)
                   ? spell_parse_hex(text, arena, out, err)
                   : hf_fail(err, HF_INVALID, "A key of %s is written in hex.", table->name);
    case REC_REAL:
        return hf_fail(err, HF_INVALID, "The key of %s is no whole number and no text.",
                       table->name);
    default:
        return rec_spell(tables, table, column,
                         (hf_field){.kind = HF_FIELD_TEXT, .text = text.at, .size = text.size},
                         arena, out, err);
    }
}

bool rec_field_print(hf_buffer *out, const hf_field *value)
{
    switch (value->kind) {
    case HF_FIELD_NULL:
        break;
    case HF_FIELD_INT:
        hf_buffer_number(out, value->number);
        break;
    case HF_FIELD_REAL:
        hf_buffer_print(out, "%.17g", value->real);
        break;
    case HF_FIELD_TEXT:
        hf_buffer_add(out, value->text, value->size);
        break;
    case HF_FIELD_BYTES:
        for (size_t i = 0; i < value->size; i++)
            hf_buffer_print(out, "%02x", (unsigned char)value->text[i]);
        break;
    }
    return !out->failed;
}

/* ---- what a row holds ---- */

static hf_field_kind spell_kind(const hf_tables *tables, const rec_column *column, hf_stmt *stmt,
                                int at)
{
    rec_class holds = column->holds;
    if (tables->dialect != REC_SQLITE)
        return holds == REC_INT || holds == REC_BOOL ? HF_FIELD_INT
               : holds == REC_REAL                   ? HF_FIELD_REAL
               : holds == REC_BYTES                  ? HF_FIELD_BYTES
                                                     : HF_FIELD_TEXT;
    char stored = hf_db_sqlite_stored(stmt, at);
    if (stored == 'b')
        return HF_FIELD_BYTES;
    if (stored == 'u' || (holds != REC_INT && holds != REC_BOOL && holds != REC_REAL &&
                          holds != REC_ANY && holds != REC_BYTES))
        return HF_FIELD_TEXT;
    return stored == 'i' ? HF_FIELD_INT : HF_FIELD_REAL;
}

hf_status rec_read_field(const hf_tables *tables, const rec_table *table, const rec_column *column,
                         hf_stmt *stmt, int at, hf_arena *arena, hf_field *out, hf_error *err)
{
    *out = HF_NULL;
    if (hf_stmt_column_null(stmt, at))
        return HF_OK;
    out->kind = spell_kind(tables, column, stmt, at);
    hf_slice text = HF_NOTHING;
    switch (out->kind) {
    case HF_FIELD_INT:
        out->number = hf_stmt_column_int(stmt, at);
        text = tables->dialect == REC_MYSQL ? hf_stmt_column_text(stmt, at) : HF_NOTHING;
        if (out->number < 0 && text.size > 0 && text.at[0] != '-')
            return hf_fail(err, HF_INVALID, "A number in the column %s of %s is over 2^63.",
                           column->name, table->name);
        return HF_OK;
    case HF_FIELD_REAL:
        out->real = hf_stmt_column_real(stmt, at);
        return HF_OK;
    case HF_FIELD_TEXT:
        text = hf_stmt_column_text(stmt, at);
        if (rec_spelling(column->holds, text, arena, &text)) {
            out->text = text.at;
            out->size = text.size;
            return HF_OK;
        }
        /* what is stored otherwise is shown as it is */
        text = hf_stmt_column_text(stmt, at);
        break;
    default:
        text = hf_stmt_column_blob(stmt, at);
    }
    char *copy = hf_arena_alloc(arena, text.size + 1);
    if (copy == NULL)
        return hf_fail_memory(err);
    if (text.size > 0)
        memcpy(copy, text.at, text.size);
    out->text = copy;
    out->size = text.size;
    return HF_OK;
}

/* ---- on its way into a statement ---- */

/* MySQL has no "Z" and SQLite's own functions write a space for the "T". */
bool rec_spell_stamp(const hf_tables *tables, const rec_column *column, hf_slice *text,
                     hf_arena *arena)
{
    if ((column->holds != REC_STAMP && column->holds != REC_INSTANT) ||
        tables->dialect == REC_POSTGRES || text->size < 11 || text->at[10] != 'T')
        return true;
    char *copy = hf_arena_text(arena, *text);
    if (copy == NULL)
        return false;
    copy[10] = ' ';
    text->at = copy;
    text->size -= copy[text->size - 1] == 'Z';
    return true;
}

bool rec_bind(const hf_tables *tables, const rec_column *column, hf_stmt *stmt, int at,
              const hf_field *value, hf_arena *arena)
{
    hf_value it = {.null = value->kind == HF_FIELD_NULL,
                   .number = value->number,
                   .real = value->real,
                   .bytes = {value->text == NULL ? "" : value->text, value->size}};
    hf_value_kind kind = HF_VALUE_UTF8;
    if (value->kind == HF_FIELD_TEXT && value->size == SIZE_MAX)
        it.bytes = hf_slice_of(it.bytes.at);
    if (value->kind == HF_FIELD_INT)
        kind = HF_VALUE_INT;
    else if (value->kind == HF_FIELD_REAL)
        kind = HF_VALUE_REAL;
    else if (value->kind == HF_FIELD_BYTES)
        kind = HF_VALUE_BYTES;
    else if (column != NULL && !it.null && !rec_spell_stamp(tables, column, &it.bytes, arena))
        return false;
    if (column != NULL && column->holds == REC_BOOL && tables->dialect == REC_POSTGRES &&
        value->kind == HF_FIELD_INT) {
        kind = HF_VALUE_UTF8;
        it.bytes = hf_slice_of(value->number != 0 ? "1" : "0");
    }
    hf_stmt_value(stmt, at, kind, &it);
    return true;
}

bool rec_same(const hf_field *a, const hf_field *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case HF_FIELD_NULL:
        return true;
    case HF_FIELD_INT:
        return a->number == b->number;
    case HF_FIELD_REAL:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    default:
        return a->size == b->size && (a->size == 0 || memcmp(a->text, b->text, a->size) == 0);
    }
}
