/* SPDX-License-Identifier: MIT */
/* A unit as bytes. Numbers are eight bytes, texts have their size before them, records follow each
 * other in the order in which the unit has them, so that a parent is known by its number. What is
 * read was sealed by us; it is checked all the same, for tables may have changed since. */
#include "record/pack.h"

typedef struct pack_reader {
    hf_unit *unit;
    const char *at, *end;
    bool failed;
} pack_reader;

/* ---- writing ---- */

static void pack_int(hf_buffer *out, int64_t number)
{
    hf_buffer_add(out, (const char *)&number, sizeof number);
}

static void pack_text(hf_buffer *out, const char *text, size_t size)
{
    pack_int(out, (int64_t)size);
    if (size > 0)
        hf_buffer_add(out, text, size);
}

static void pack_field(hf_buffer *out, const hf_field *value)
{
    pack_int(out, value->kind);
    if (value->kind == HF_FIELD_INT)
        pack_int(out, value->number);
    else if (value->kind == HF_FIELD_REAL)
        hf_buffer_add(out, (const char *)&value->real, sizeof value->real);
    else if (value->kind != HF_FIELD_NULL)
        pack_text(out, value->text, value->size);
}

static int64_t pack_number_of(const hf_record *record)
{
    int64_t number = 1;
    if (record == NULL)
        return 0;
    for (const hf_record *it = record->unit->first; it != record; it = it->next)
        number++;
    return number;
}

/* Who saved it and when; the resource and its number stand in the record. */
static void pack_saved(hf_buffer *out, const hf_version *saved)
{
    pack_int(out, saved == NULL ? 0 : saved->saved_us);
    if (saved == NULL)
        return;
    pack_text(out, saved->user, strlen(saved->user));
    pack_text(out, saved->name, strlen(saved->name));
}

static void pack_record(hf_buffer *out, const hf_record *record)
{
    const rec_table *table = record->table;
    pack_text(out, table->type, strlen(table->type));
    pack_text(out, record->id, strlen(record->id));
    pack_int(out, record->added | record->removed << 1 | record->gone << 2 | record->seen << 3);
    pack_int(out, record->version);
    pack_int(out, pack_number_of(record->parent));
    pack_saved(out, record->saved);
    pack_int(out, (int64_t)table->count);
    for (size_t i = 0; i < table->count; i++) {
        pack_field(out, &record->base[i]);
        pack_int(out, record->set[i]);
        if (record->set[i])
            pack_field(out, &record->now[i]);
    }
}

static void pack_reliance(hf_buffer *out, const rec_reliance *on)
{
    pack_int(out, on->kind);
    pack_text(out, on->table->type, strlen(on->table->type));
    pack_text(out, on->id, strlen(on->id));
    for (size_t i = 0; i < on->table->key_count; i++)
        pack_field(out, &on->key[i]);
    pack_int(out, pack_number_of(on->record));
    pack_text(out, on->where, on->where == NULL ? 0 : strlen(on->where));
    pack_text(out, on->why, on->why == NULL ? 0 : strlen(on->why));
    pack_int(out, (int64_t)on->count);
    for (size_t i = 0; i < on->count; i++)
        pack_field(out, &on->args[i]);
    hf_buffer_add(out, (const char *)on->digest, sizeof on->digest);
}

void rec_pack(const hf_unit *unit, hf_buffer *out)
{
    int64_t count = 0;
    for (const hf_record *it = unit->first; it != NULL; it = it->next)
        count++;
    pack_int(out, unit->unsure);
    pack_int(out, count);
    for (const hf_record *it = unit->first; it != NULL; it = it->next)
        pack_record(out, it);
    count = 0;
    for (const rec_reliance *on = unit->reliances; on != NULL; on = on->next)
        count++;
    pack_int(out, count);
    for (const rec_reliance *on = unit->reliances; on != NULL; on = on->next)
        pack_reliance(out, on);
}

/* ---- reading ---- */

static bool pack_take(pack_reader *from, void *out, size_t size)
{
    if (from->failed || (size_t)(from->end - from->at) < size) {
        from->failed = true;
        memset(out, 0, size);
        return false;
    }
    memcpy(out, from->at, size);
    from->at += size;
    return true;
}

static int64_t pack_take_int(pack_reader *from)
{
    int64_t number = 0;
    pack_take(from, &number, sizeof number);
    return number;
}

static char *pack_take_text(pack_reader *from, size_t *size)
{
    int64_t wanted = pack_take_int(from);
    char *text = NULL;
    *size = 0;
    if (wanted < 0 || wanted > from->end - from->at)
        from->failed = true;
    if (!from->failed)
        text = hf_arena_alloc(&from->unit->arena, (size_t)wanted + 1);
    if (text == NULL) {
        from->failed = true;
        return NULL;
    }
    *size = (size_t)wanted;
    pack_take(from, text, *size);
    return text;
}

static void pack_take_field(pack_reader *from, hf_field *out)
{
    *out = (hf_field){.kind = (hf_field_kind)pack_take_int(from)};
    if (out->kind == HF_FIELD_INT)
        out->number = pack_take_int(from);
    else if (out->kind == HF_FIELD_REAL)
        pack_take(from, &out->real, sizeof out->real);
    else if (out->kind == HF_FIELD_TEXT || out->kind == HF_FIELD_BYTES)
        out->text = pack_take_text(from, &out->size);
    else if (out->kind != HF_FIELD_NULL)
        from->failed = true;
}

static hf_record *pack_take_record_number(pack_reader *from)
{
    int64_t number = pack_take_int(from);
    hf_record *record = number == 0 ? NULL : from->unit->first;
    for (; number > 1 && record != NULL; number--)
        record = record->next;
    if (number != 0 && record == NULL)
        from->failed = true;
    return record;
}

static rec_table *pack_take_table(pack_reader *from)
{
    size_t size = 0;
    const char *type = pack_take_text(from, &size);
    rec_table *table = type == NULL ? NULL : rec_table_typed(from->unit->tables, type);
    if (table == NULL)
        from->failed = true;
    return table;
}

static void pack_take_id(pack_reader *from, char id[HF_ID_SIZE])
{
    size_t size = 0;
    const char *text = pack_take_text(from, &size);
    if (text == NULL || size > HF_ID_MAX)
        from->failed = true;
    else
        memcpy(id, text, size + 1);
}

static void pack_take_saved(pack_reader *from, hf_record *record)
{
    hf_version saved = {.saved_us = pack_take_int(from), .number = record->version};
    char *const to[] = {saved.user, saved.name};
    if (saved.saved_us == 0)
        return;
    for (int i = 0; i < 2; i++) {
        size_t size = 0;
        const char *text = pack_take_text(from, &size);
        from->failed |= text == NULL || size >= HF_TEXT_SIZE;
        if (!from->failed)
            memcpy(to[i], text, size);
    }
    from->failed |= rec_version_keep(&from->unit->arena, &saved, &record->saved, NULL) != HF_OK;
}

static void pack_take_record(pack_reader *from, hf_error *err)
{
    rec_table *table = pack_take_table(from);
    hf_record *record = table == NULL ? NULL : rec_record_new(from->unit, table, err);
    if (record == NULL) {
        from->failed = true;
        return;
    }
    pack_take_id(from, record->id);
    int64_t flags = pack_take_int(from);
    record->added = (flags & 1) != 0;
    record->removed = (flags & 2) != 0;
    record->gone = (flags & 4) != 0;
    record->seen = (flags & 8) != 0;
    record->version = pack_take_int(from);
    record->parent = pack_take_record_number(from);
    pack_take_saved(from, record);
    if ((record->parent == NULL) != (table->parent == NULL) || record->parent == record ||
        (record->parent != NULL && record->parent->table != table->parent) ||
        pack_take_int(from) != (int64_t)table->count)
        from->failed = true;
    for (size_t i = 0; !from->failed && i < table->count; i++) {
        pack_take_field(from, &record->base[i]);
        record->now[i] = record->base[i];
        record->set[i] = pack_take_int(from) != 0;
        if (record->set[i])
            pack_take_field(from, &record->now[i]);
    }
    if (!from->failed && record->id[0] != '\0')
        rec_record_enter(record);
}

static void pack_take_reliance(pack_reader *from)
{
    rec_reliance *on = hf_arena_alloc(&from->unit->arena, sizeof *on);
    size_t size = 0;
    if (on == NULL) {
        from->failed = true;
        return;
    }
    on->kind = (hf_rely_kind)pack_take_int(from);
    on->table = pack_take_table(from);
    pack_take_id(from, on->id);
    for (size_t i = 0; !from->failed && i < on->table->key_count; i++)
        pack_take_field(from, &on->key[i]);
    on->record = pack_take_record_number(from);
    on->where = pack_take_text(from, &size);
    on->where = size == 0 ? NULL : on->where;
    on->why = pack_take_text(from, &size);
    on->why = size == 0 ? NULL : on->why;
    int64_t count = pack_take_int(from);
    if (on->kind < HF_RELY_UNCHANGED || on->kind > HF_RELY_RESULT || count < 0 ||
        count > from->end - from->at || (on->kind == HF_RELY_UNCHANGED && on->record == NULL))
        from->failed = true;
    on->count = from->failed ? 0 : (size_t)count;
    on->args = hf_arena_alloc(&from->unit->arena, (on->count + 1) * sizeof *on->args);
    from->failed |= on->args == NULL;
    for (size_t i = 0; !from->failed && i < on->count; i++)
        pack_take_field(from, &on->args[i]);
    pack_take(from, on->digest, sizeof on->digest);
    on->next = from->unit->reliances;
    from->unit->reliances = on;
}

hf_status rec_unpack(hf_unit *unit, hf_slice bytes, hf_error *err)
{
    pack_reader from = {unit, bytes.at, bytes.at + bytes.size, false};
    unit->unsure = pack_take_int(&from) != 0;
    for (int64_t count = pack_take_int(&from); count > 0 && !from.failed; count--)
        pack_take_record(&from, err);
    for (int64_t count = pack_take_int(&from); count > 0 && !from.failed; count--)
        pack_take_reliance(&from);
    return !from.failed && from.at == from.end
               ? HF_OK
               : hf_fail(err, HF_INVALID,
                         "The tables of the token have changed since; begin the work again.");
}
