/* SPDX-License-Identifier: MIT */
/* Keys as text: "customer/42", "line/17,3". One spelling for each row, so that the identity map and
 * the locks mean the same row; it is the one in which guards name rows (docs/guards.md): what the
 * database itself writes, under settings that are always the same. */
#include "record/inside.h"

#include <stdio.h>
#include <stdlib.h>

static bool keys_hex(char c, unsigned *out)
{
    if (c >= '0' && c <= '9')
        *out = (unsigned)(c - '0');
    else if (c >= 'A' && c <= 'F')
        *out = (unsigned)(c - 'A') + 10;
    else if (c >= 'a' && c <= 'f')
        *out = (unsigned)(c - 'a') + 10;
    else
        return false;
    return true;
}

/* One of several columns, with %2C and %25 resolved. */
static bool keys_unescape(hf_slice piece, char *out, size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < piece.size; i++) {
        unsigned high = 0, low = 0;
        char c = piece.at[i];
        if (c == '%') {
            if (i + 2 >= piece.size || !keys_hex(piece.at[i + 1], &high) ||
                !keys_hex(piece.at[i + 2], &low))
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[(*size)++] = c;
    }
    return true;
}

static hf_status keys_wrong(const rec_table *table, const char *id, hf_error *err)
{
    return hf_fail(err, HF_INVALID, "%s is no key of %s: it has %zu columns, joined by commas.", id,
                   table->name, table->key_count);
}

hf_status rec_key_parse(hf_tables *tables, const char *resource, hf_arena *arena, rec_table **table,
                        hf_field key[REC_KEY_MAX], char id[HF_ID_SIZE], hf_error *err)
{
    hf_resource name;
    char piece[HF_ID_SIZE];
    if (resource == NULL)
        return hf_fail(err, HF_INVALID, "A record is named as \"type/key\".");
    hf_status status = hf_resource_parse(resource, &name, err);
    if (status != HF_OK)
        return status;
    *table = rec_table_typed(tables, name.type);
    if (*table == NULL)
        return hf_fail(err, HF_INVALID, "No table here has the type %s.", name.type);
    bool several = (*table)->key_count > 1;
    const char *at = name.id;
    for (size_t i = 0; status == HF_OK && i < (*table)->key_count; i++) {
        size_t size = several ? strcspn(at, ",") : strlen(at), used = size;
        memcpy(piece, at, size);
        if ((several && !keys_unescape((hf_slice){at, size}, piece, &used)) ||
            (at[size] == ',') != (several && i + 1 < (*table)->key_count))
            return keys_wrong(*table, name.id, err);
        at += size + (at[size] == ',');
        status = rec_spell_text(tables, *table, &(*table)->columns[(*table)->key[i]],
                                (hf_slice){piece, used}, arena, &key[i], err);
    }
    hf_field *values = NULL;
    if (status == HF_OK &&
        (values = hf_arena_alloc(arena, (*table)->count * sizeof *values)) == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; status == HF_OK && i < (*table)->key_count; i++)
        values[(*table)->key[i]] = key[i];
    return status == HF_OK ? rec_key_format(*table, values, id, err) : status;
}

/* ---- as the database writes it ---- */

/* "2026-02-01T10:00:00.5Z" as PostgreSQL writes it, or as it is stored elsewhere: "2026-02-01
 * 10:00:00.5". MySQL writes as many digits of the fraction as the type says: DATETIME(3). */
static void keys_print_time(hf_buffer *out, const rec_table *table, const rec_column *column,
                            hf_slice text)
{
    const char *digits = strchr(column->type, '('), *point = memchr(text.at, '.', text.size);
    bool utc = text.size > 0 && text.at[text.size - 1] == 'Z';
    text.size -= utc;
    size_t from = text.size > 10 && text.at[10] == 'T' ? 11 : 0;
    hf_buffer_print(out, "%.*s%s%.*s", from > 0 ? 10 : 0, text.at, from > 0 ? " " : "",
                    (int)(text.size - from), text.at + from);
    if (table->dialect == REC_POSTGRES)
        hf_buffer_print(out, "%s", utc ? "+00" : "");
    int wanted = table->dialect == REC_MYSQL && digits != NULL ? digits[1] - '0' : 0;
    int there = point == NULL ? 0 : (int)(text.at + text.size - point) - 1;
    hf_buffer_print(out, "%s%.*s", wanted > 0 && point == NULL ? "." : "",
                    wanted > there ? wanted - there : 0, "000000");
}

/* The fewest digits that say it exactly, as PostgreSQL writes them. */
static void keys_print_real(hf_buffer *out, double real, bool single)
{
    char text[40];
    int digits = 0, most = single ? 8 : 16, plain = single ? 6 : 15;
    do
        snprintf(text, sizeof text, "%.*e", digits, real);
    while ((single ? strtof(text, NULL) != (float)real : strtod(text, NULL) != real) &&
           digits++ < most);
    const char *exponent = strchr(text, 'e');
    int power = exponent == NULL ? 0 : (int)strtol(exponent + 1, NULL, 10);
    if (exponent != NULL && power >= -4 && power < plain)
        snprintf(text, sizeof text, "%.*f", digits > power ? digits - power : 0, real);
    char *comma = strchr(text, ','); /* of the program's locale */
    if (comma != NULL)
        *comma = '.';
    hf_buffer_print(out, "%s", text);
}

static void keys_print(hf_buffer *out, const rec_table *table, const rec_column *column,
                       const hf_field *value)
{
    bool postgres = table->dialect == REC_POSTGRES;
    bool time = column->holds == REC_STAMP || column->holds == REC_INSTANT ||
                (column->holds == REC_TIME && table->dialect == REC_MYSQL);
    if (time && value->kind == HF_FIELD_TEXT)
        keys_print_time(out, table, column, (hf_slice){value->text, value->size});
    else if (value->kind == HF_FIELD_REAL)
        keys_print_real(out, value->real, postgres && strcmp(column->type, "real") == 0);
    else if (postgres && column->holds == REC_BOOL && value->kind == HF_FIELD_INT)
        hf_buffer_print(out, "%s", value->number != 0 ? "true" : "false");
    else {
        if (postgres && value->kind == HF_FIELD_BYTES)
            hf_buffer_print(out, "\\x");
        rec_field_print(out, value);
    }
}

hf_status rec_key_format(const rec_table *table, const hf_field *values, char id[HF_ID_SIZE],
                         hf_error *err)
{
    const hf_field *first = &values[table->key[0]];
    if (table->key_count == 1 && first->kind == HF_FIELD_INT &&
        table->columns[table->key[0]].holds != REC_BOOL) { /* most are, and need no buffer */
        char digits[HF_NUMBER_MAX], *end = digits + sizeof digits;
        const char *at = hf_number_print(first->number, end);
        hf_slice_copy(id, HF_ID_SIZE, (hf_slice){at, (size_t)(end - at)});
        return HF_OK;
    }
    hf_buffer text = {0};
    if (table->key_count == 1)
        keys_print(&text, table, &table->columns[table->key[0]], &values[table->key[0]]);
    for (size_t i = 0; table->key_count > 1 && i < table->key_count; i++) {
        hf_buffer piece = {0};
        if (i > 0)
            hf_buffer_add(&text, ",", 1);
        keys_print(&piece, table, &table->columns[table->key[i]], &values[table->key[i]]);
        for (size_t j = 0; j < piece.size; j++)
            if (piece.text[j] == ',' || piece.text[j] == '%')
                hf_buffer_print(&text, "%%%02X", (unsigned char)piece.text[j]);
            else
                hf_buffer_add(&text, piece.text + j, 1);
        text.failed |= piece.failed;
        hf_buffer_done(&piece);
    }
    hf_status status = HF_OK;
    if (text.failed)
        status = hf_fail_memory(err);
    else if (text.size > HF_ID_MAX)
        status = hf_fail(err, HF_TOO_LARGE, "A key of %s is longer than %d bytes.", table->name,
                         HF_ID_MAX);
    else {
        memset(id, 0, HF_ID_SIZE);
        memcpy(id, text.size == 0 ? "" : text.text, text.size);
    }
    hf_buffer_done(&text);
    return status;
}

void rec_key_of(const rec_table *table, const hf_field *values, hf_field key[REC_KEY_MAX])
{
    for (size_t i = 0; i < table->key_count; i++)
        key[i] = values[table->key[i]];
}
