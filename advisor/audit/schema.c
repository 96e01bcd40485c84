/* SPDX-License-Identifier: MIT */
/* The model's lists, and what names and types say about a column or a table. */
#include "audit/schema.h"

#include "audit/names.h"

audit_table *audit_schema_find(const audit_schema *schema, hf_slice name)
{
    audit_table *found = NULL;
    for (audit_table *table = schema->tables; table != NULL; table = table->next) {
        if (table->dropped)
            continue;
        if (audit_name_same(table->name, name))
            return table;
        if (found == NULL && audit_name_same(table->entity, name))
            found = table;
    }
    return found;
}

audit_table *audit_schema_find_ending(const audit_schema *schema, hf_slice name)
{
    audit_table *found = NULL;
    for (audit_table *table = schema->tables; table != NULL; table = table->next) {
        size_t more = table->name.size > name.size ? table->name.size - name.size : 0;
        if (table->dropped || more == 0 || table->name.at[more - 1] != '_' ||
            !audit_name_same((hf_slice){table->name.at + more, name.size}, name))
            continue;
        if (found != NULL)
            return NULL;
        found = table;
    }
    return found;
}

audit_table *audit_schema_table(audit_schema *schema, hf_slice name, audit_place place)
{
    audit_table *table = audit_schema_find(schema, name);
    if (table != NULL || name.size == 0)
        return table;
    table = hf_arena_alloc(schema->arena, sizeof *table);
    if (table == NULL || !hf_arena_copy(schema->arena, name, &table->name)) {
        schema->failed = true;
        return NULL;
    }
    table->place = place;
    audit_table **end = &schema->tables;
    while (*end != NULL)
        end = &(*end)->next;
    *end = table;
    schema->count++;
    return table;
}

audit_column *audit_table_column(const audit_table *table, hf_slice name)
{
    for (audit_column *column = table->columns; column != NULL; column = column->next)
        if (audit_name_same(column->name, name))
            return column;
    return NULL;
}

audit_column *audit_schema_column(audit_schema *schema, audit_table *table, hf_slice name,
                                  hf_slice type, audit_place place)
{
    audit_column *column = audit_table_column(table, name);
    if (name.size == 0)
        return NULL;
    if (column == NULL) {
        column = hf_arena_alloc(schema->arena, sizeof *column);
        if (column == NULL || !hf_arena_copy(schema->arena, name, &column->name)) {
            schema->failed = true;
            return NULL;
        }
        column->place = place;
        audit_column **end = &table->columns;
        while (*end != NULL)
            end = &(*end)->next;
        *end = column;
    }
    if (type.size > 0 && !hf_arena_copy(schema->arena, type, &column->type))
        schema->failed = true;
    return column;
}

void audit_schema_key(audit_schema *schema, audit_table *table, const audit_key *key)
{
    audit_key *copy = hf_arena_alloc(schema->arena, sizeof *copy);
    if (copy == NULL || key->count == 0)
        return;
    *copy = *key;
    for (size_t i = 0; i < key->count; i++)
        hf_arena_copy(schema->arena, key->columns[i], &copy->columns[i]);
    copy->next = table->keys;
    table->keys = copy;
}

void audit_schema_reference(audit_schema *schema, audit_table *table, hf_slice column, hf_slice to,
                            bool cascade)
{
    audit_reference *reference = hf_arena_alloc(schema->arena, sizeof *reference);
    if (reference == NULL)
        return;
    hf_arena_copy(schema->arena, column, &reference->column);
    hf_arena_copy(schema->arena, to, &reference->table);
    reference->cascade = cascade;
    reference->next = table->references;
    table->references = reference;
}

/* ---- types ---- */

bool audit_type_is_temporal(hf_slice type)
{
    static const char *const parts[] = {"timestamp", "datetime",  "instant",   "localdate",
                                        "calendar",  "zoneddate", "offsetdate"};
    if (audit_text_find(type, "rowversion") != NULL)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (audit_text_find(type, parts[i]) != NULL)
            return true;
    return audit_word_is(type, "date") || audit_word_is(type, "time");
}

bool audit_type_is_whole(hf_slice type)
{
    return type.size == 0 || audit_text_find(type, "int") != NULL ||
           audit_text_find(type, "long") != NULL || audit_text_find(type, "short") != NULL ||
           audit_text_find(type, "number") != NULL || audit_text_find(type, "numeric") != NULL ||
           audit_text_find(type, "serial") != NULL || audit_text_find(type, "decimal") != NULL;
}

/* ---- versions ---- */

#define SCHEMA_PLAIN "version"
#define SCHEMA_SURE                                                                                \
    "lock_version optlock opt_lock row_version record_version object_version version_lock "        \
    "optimistic_lock lockversion"

/* Part of a key: it tells versions of a thing apart, and counts nothing. */
static bool schema_in_key(const audit_table *table, const audit_column *column)
{
    for (const audit_key *key = table->keys; key != NULL; key = key->next)
        for (size_t i = 0; i < key->count; i++)
            if (audit_name_same(key->columns[i], column->name))
                return true;
    return false;
}

audit_column *audit_table_version(const audit_table *table)
{
    for (audit_column *column = table->columns; column != NULL; column = column->next)
        if (column->version)
            return column;
    for (audit_column *column = table->columns; column != NULL; column = column->next)
        if (audit_name_among(column->name, SCHEMA_PLAIN " " SCHEMA_SURE) && table->whole &&
            column->type.size > 0 && audit_type_is_whole(column->type) &&
            !schema_in_key(table, column) && !audit_name_has(table->name, "migration migrations"))
            return column;
    return NULL;
}

bool audit_version_certain(const audit_table *table, const audit_column *version)
{
    return version->version || table->compared || audit_name_among(version->name, SCHEMA_SURE);
}

/* ---- tables of locks ---- */

#define SCHEMA_OWNER                                                                               \
    "owner user session holder by worker host process pid client token instance account person "   \
    "locker acquirer node server editor thread member"
#define SCHEMA_TIME                                                                                \
    "expires expiry expire expiration until ttl timeout heartbeat beat renewed at time date "      \
    "timestamp tstamp since acquired created deadline lease granted"

bool audit_column_is_owner(const audit_column *column)
{
    return audit_name_has(column->name, SCHEMA_OWNER) ||
           audit_name_among(column->name, "userid ownerid sessionid lockedby");
}

bool audit_column_is_time(const audit_column *column)
{
    return audit_type_is_temporal(column->type) || audit_name_has(column->name, SCHEMA_TIME);
}

bool audit_table_is_lock(const audit_table *table)
{
    size_t columns = 0;
    if (!audit_name_has(table->name, "lock locks locked lockedrecords mutex mutexes lease leases"))
        return false;
    /* A lockout, a lock of a door, the lock of a migration tool: not about records. */
    if (audit_name_has(table->name, "migration migrations changelog changeloglock liquibase out "
                                    "history log logs file files content door knex prisma") ||
        audit_name_among(table->name, "databasechangeloglock"))
        return false;
    for (const audit_column *column = table->columns; column != NULL; column = column->next)
        columns++;
    return table->whole && columns >= 2;
}

static bool schema_is_row_number(const audit_table *table, hf_slice name)
{
    const audit_column *column = audit_table_column(table, name);
    return audit_name_among(name, "id uid pk rowid") && column != NULL &&
           (audit_type_is_whole(column->type) || audit_text_find(column->type, "uuid") != NULL);
}

/* Columns that say what is locked, besides the number of the row. */
static bool schema_has_resource(const audit_table *table)
{
    for (const audit_column *column = table->columns; column != NULL; column = column->next)
        if (!schema_is_row_number(table, column->name) && !audit_column_is_owner(column) &&
            !audit_column_is_time(column))
            return true;
    return false;
}

bool audit_lock_is_unique(const audit_table *table)
{
    for (const audit_column *column = table->columns; column != NULL; column = column->next)
        if (audit_name_has(column->name, "mode shared exclusive"))
            return true; /* several may hold it: no key can say who */
    bool resource = schema_has_resource(table);
    for (const audit_key *key = table->keys; key != NULL; key = key->next) {
        bool good = key->count > 0;
        for (size_t i = 0; i < key->count; i++) {
            audit_column named = {.name = key->columns[i]};
            if (audit_column_is_owner(&named) || audit_column_is_time(&named))
                good = false;
        }
        if (key->count == 1 && resource && schema_is_row_number(table, key->columns[0]))
            good = false;
        if (good)
            return true;
    }
    return false;
}

bool audit_table_keyed(const audit_table *table, bool (*has)(const void *, hf_slice),
                       const void *context)
{
    for (const audit_key *key = table->keys; key != NULL; key = key->next) {
        bool all = key->count > 0;
        for (size_t i = 0; i < key->count; i++)
            all = all && has(context, key->columns[i]);
        if (all)
            return true;
    }
    if (table->keys != NULL)
        return false;
    return has(context, hf_slice_of("id")) || has(context, hf_slice_of("uuid"));
}
