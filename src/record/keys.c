/* SPDX-License-Identifier: MIT */
/* Keys as text: "customer/42", "line/17,3". One spelling for each row, so that the identity map and
 * the locks mean the same row. */
#include "record/inside.h"

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

hf_status rec_key_format(const rec_table *table, const hf_field *values, char id[HF_ID_SIZE],
                         hf_error *err)
{
    const hf_field *first = &values[table->key[0]];
    if (table->key_count == 1 && first->kind == HF_FIELD_INT) { /* most are, and need no buffer */
        char digits[HF_NUMBER_MAX], *end = digits + sizeof digits;
        const char *at = hf_number_print(first->number, end);
        hf_slice_copy(id, HF_ID_SIZE, (hf_slice){at, (size_t)(end - at)});
        return HF_OK;
    }
    hf_buffer text = {0};
    if (table->key_count == 1)
        rec_field_print(&text, &values[table->key[0]]);
    for (size_t i = 0; table->key_count > 1 && i < table->key_count; i++) {
        hf_buffer piece = {0};
        if (i > 0)
            hf_buffer_add(&text, ",", 1);
        rec_field_print(&piece, &values[table->key[i]]);
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
