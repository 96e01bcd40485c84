/* SPDX-License-Identifier: MIT */
/* A unit: what a piece of work has read, each record once (the identity map), and what it makes of
 * it. Nothing here talks to the database. */
#include "record/inside.h"

#include <strings.h>

hf_status hf_unit_open(hf_tables *tables, const hf_unit_options *options, hf_unit **out,
                       hf_error *err)
{
    const char *user = options == NULL ? NULL : options->user;
    hf_session_info info = {0};
    *out = NULL;
    if (tables == NULL)
        return hf_fail(err, HF_INVALID, "There are no tables; open them first.");
    if (options != NULL && options->session != NULL) {
        hf_session_describe(options->session, &info);
        user = info.user;
    }
    if (user == NULL || user[0] == '\0' || strlen(user) > HF_TEXT_MAX ||
        !hf_text_is_clean(user, strlen(user)))
        return hf_fail(err, HF_INVALID,
                       "A unit needs a session, or a user of 1 to %d bytes: someone saves.",
                       HF_TEXT_MAX);
    hf_unit *unit = hf_alloc(sizeof *unit);
    if (unit == NULL)
        return hf_fail_memory(err);
    unit->tables = tables;
    unit->session = options->session;
    unit->replaces = options->replaces;
    unit->purpose = options->purpose;
    unit->arena.least = 2048;
    hf_slice_copy(unit->user, sizeof unit->user, hf_slice_of(user));
    unit->last = &unit->first;
    *out = unit;
    return HF_OK;
}

void hf_unit_free(hf_unit *unit)
{
    if (unit == NULL)
        return;
    hf_arena_done(&unit->arena);
    hf_free(unit);
}

/* ---- the identity map ---- */

static size_t unit_bucket(const rec_table *table, const char *id)
{
    size_t hash = (size_t)(uintptr_t)table >> 4;
    for (; *id != '\0'; id++)
        hash = hash * 33 + (unsigned char)*id;
    return hash % REC_BUCKETS;
}

hf_record *rec_record_lookup(hf_unit *unit, const rec_table *table, const char *id)
{
    hf_record *it = unit->hash[unit_bucket(table, id)];
    while (it != NULL && (it->table != table || strcmp(it->id, id) != 0))
        it = it->in_hash;
    return it;
}

void rec_record_enter(hf_record *record)
{
    hf_record **bucket = &record->unit->hash[unit_bucket(record->table, record->id)];
    record->in_hash = *bucket;
    *bucket = record;
}

hf_record *rec_record_new(hf_unit *unit, rec_table *table, hf_error *err)
{
    size_t fields = table->count * sizeof(hf_field);
    hf_record *record = hf_arena_alloc(&unit->arena, sizeof *record);
    if (record != NULL) {
        record->base = hf_arena_alloc(&unit->arena, fields);
        record->now = hf_arena_alloc(&unit->arena, fields);
        record->set = hf_arena_alloc(&unit->arena, table->count);
    }
    if (record == NULL || record->base == NULL || record->now == NULL || record->set == NULL) {
        hf_error_set(err, HF_NO_MEMORY, "Out of memory; nothing was done.");
        return NULL;
    }
    record->unit = unit;
    record->table = table;
    *unit->last = record;
    unit->last = &record->next;
    return record;
}

bool rec_record_changed(const hf_record *record)
{
    if (record->gone)
        return false;
    if (record->added || record->removed)
        return record->added != record->removed;
    for (size_t i = 0; i < record->table->count; i++)
        if (record->set[i])
            return true;
    return false;
}

bool rec_record_counts(const hf_record *record)
{
    if (record->gone || record->added || record->removed)
        return !record->gone && record->added != record->removed;
    for (size_t i = 0; i < record->table->count; i++)
        if (record->set[i] &&
            (!record->table->columns[i].quiet || rec_guard_moves(record->table)))
            return true;
    return false;
}

hf_record *rec_record_root(hf_record *record)
{
    while (record->parent != NULL)
        record = record->parent;
    return record;
}

void rec_record_name(const hf_record *record, char out[HF_RESOURCE_SIZE])
{
    hf_resource name = {0};
    memset(out, 0, HF_RESOURCE_SIZE);
    if (record->id[0] == '\0')
        return;
    memcpy(name.type, record->table->type, sizeof name.type);
    memcpy(name.id, record->id, sizeof name.id);
    hf_resource_format(&name, out);
}

/* ---- adding and removing ---- */

static hf_status unit_parent_ok(const hf_unit *unit, const rec_table *table,
                                const hf_record *parent, hf_error *err)
{
    if (table->parent == NULL)
        return parent == NULL
                   ? HF_OK
                   : hf_fail(err, HF_INVALID, "The table %s has no parent.", table->name);
    if (parent == NULL || parent->table != table->parent || parent->unit != unit)
        return hf_fail(err, HF_INVALID, "A new record of %s needs its parent, of %s in this unit.",
                       table->name, table->parent->name);
    if (parent->removed || parent->gone)
        return hf_fail(err, HF_INVALID, "The parent of the new record of %s is removed.",
                       table->name);
    return HF_OK;
}

hf_status hf_unit_add(hf_unit *unit, const char *name, hf_record *parent, hf_record **out,
                      hf_error *err)
{
    *out = NULL;
    rec_table *table = rec_table_named(unit->tables, name);
    if (table == NULL)
        return hf_fail(err, HF_INVALID, "There is no table %s here.", name == NULL ? "" : name);
    hf_status status = rec_unit_is_sure(unit, err);
    if (status == HF_OK)
        status = unit_parent_ok(unit, table, parent, err);
    hf_record *record = status == HF_OK ? rec_record_new(unit, table, err) : NULL;
    if (record == NULL)
        return status == HF_OK ? HF_NO_MEMORY : status;
    record->added = true;
    record->parent = parent;
    *out = record;
    return HF_OK;
}

static bool unit_is_below(const hf_record *record, const hf_record *above)
{
    for (; record != NULL; record = record->parent)
        if (record == above)
            return true;
    return false;
}

hf_status hf_unit_remove(hf_unit *unit, hf_record *record, hf_error *err)
{
    if (record == NULL || record->unit != unit)
        return hf_fail(err, HF_INVALID, "The record to be removed is not one of this unit.");
    if (record->gone)
        return hf_fail(err, HF_INVALID, "The record was removed before.");
    hf_status status = rec_unit_is_sure(unit, err);
    for (hf_record *it = unit->first; status == HF_OK && it != NULL; it = it->next)
        if (unit_is_below(it, record))
            it->removed = true;
    return status;
}

/* ---- columns ---- */

const hf_field *hf_record_get(const hf_record *record, const char *column)
{
    int at = rec_column_named(record->table, column);
    return at < 0 ? NULL : &record->now[at];
}

static const char *unit_keeper(const hf_record *record, int at)
{
    const rec_table *table = record->table;
    if (table->columns[at].generated)
        return "the database";
    if (at == table->version || at == table->by || at == table->at || at == table->made_by ||
        at == table->made_at)
        return "holdfast";
    for (size_t i = 0; table->parent != NULL && i < table->parent->key_count; i++)
        if (table->link[i] == (size_t)at)
            return "its aggregate";
    return !record->added && rec_is_key(table, (size_t)at) ? "the record's name" : NULL;
}

hf_status hf_record_set(hf_record *record, const char *column, hf_field value, hf_error *err)
{
    const rec_table *table = record->table;
    int at = rec_column_named(table, column);
    hf_field spelled = HF_NULL;
    if (at < 0 && table->guard != REC_OPEN && column != NULL && strcasecmp(column, "holdfast") == 0)
        return hf_fail(err, HF_INVALID,
                       "The column holdfast of %s is the guard's; a commit sets it.", table->name);
    if (at < 0)
        return hf_fail(err, HF_INVALID, "The table %s has no column %s.", table->name,
                       column == NULL ? "" : column);
    const char *keeper = unit_keeper(record, at);
    if (keeper != NULL)
        return hf_fail(err, HF_INVALID, "The column %s of %s is kept by %s and can't be set.",
                       table->columns[at].name, table->name, keeper);
    if (record->gone || record->removed)
        return hf_fail(err, HF_INVALID, "The record is removed and can't be set.");
    hf_status status = rec_unit_is_sure(record->unit, err);
    if (status == HF_OK)
        status = rec_spell(record->unit->tables, table, &table->columns[at], value,
                           &record->unit->arena, &spelled, err);
    if (status != HF_OK)
        return status;
    record->now[at] = spelled;
    record->set[at] = record->added || !rec_same(&spelled, &record->base[at]);
    return HF_OK;
}

void hf_record_describe(const hf_record *record, hf_record_info *out)
{
    const rec_table *table = record->table;
    const hf_record *root = rec_record_root((hf_record *)record);
    *out = (hf_record_info){.added = record->added,
                            .changed = rec_record_changed(record),
                            .removed = record->removed,
                            .version = table->version >= 0 ? record->version : root->version};
    rec_record_name(record, out->resource);
    if (root->saved != NULL) {
        out->at_us = root->saved->saved_us;
        hf_slice_copy(out->by, sizeof out->by, hf_slice_of(rec_version_who(root->saved)));
    }
    const hf_record *said = table->by >= 0 || table->at >= 0 ? record : root;
    if (said->table->at >= 0)
        out->at_us = rec_time_of(&said->base[said->table->at]);
    if (said->table->by >= 0 && said->base[said->table->by].kind == HF_FIELD_TEXT)
        hf_slice_copy(
            out->by, sizeof out->by,
            (hf_slice){said->base[said->table->by].text, said->base[said->table->by].size});
}
