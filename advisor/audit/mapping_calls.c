/* SPDX-License-Identifier: MIT */
/* Migrations: create_table :accounts do |t| t.integer :lock_version ..., and Laravel's
 * Schema::create('accounts', function ($table) { $table->integer('version'); ... }). */
#include "audit/mapping.h"

#include "audit/names.h"

#include <ctype.h>

/* The next 'text', "text" or :symbol; false at the end. */
static bool calls_next(hf_slice *left, hf_slice *word)
{
    while (left->size > 0) {
        char c = left->at[0];
        size_t size = 1;
        bool quote = c == '\'' || c == '"';
        if (quote)
            while (size < left->size && left->at[size] != c)
                size++;
        else if (c == ':' && left->size > 1 && isalpha((unsigned char)left->at[1]))
            while (size < left->size &&
                   (isalnum((unsigned char)left->at[size]) || left->at[size] == '_'))
                size++;
        *word = (hf_slice){left->at + 1, size - 1};
        size += quote && size < left->size;
        left->at += size;
        left->size -= size;
        if (word->size > 0)
            return true;
    }
    return false;
}

static hf_slice calls_first(hf_slice text)
{
    hf_slice word = HF_NOTHING;
    return calls_next(&text, &word) ? word : HF_NOTHING;
}

/* A key of the names in a list: those before the first option. */
static void calls_key(audit_run *run, audit_table *table, hf_slice arguments, bool primary)
{
    audit_key key = {.primary = primary};
    const char *option = audit_text_find(arguments, "unique:");
    const char *named = audit_text_find(arguments, "name:");
    if (named != NULL && (option == NULL || named < option))
        option = named;
    if (option != NULL)
        arguments.size = (size_t)(option - arguments.at);
    const char *close = arguments.size == 0 ? NULL : memchr(arguments.at, ']', arguments.size);
    if (close != NULL)
        arguments.size = (size_t)(close - arguments.at);
    hf_slice word;
    while (key.count < AUDIT_KEY_MAX && calls_next(&arguments, &word))
        key.columns[key.count++] = word;
    audit_schema_key(&run->schema, table, &key);
}

static void calls_id(audit_run *run, audit_table *table, audit_place place)
{
    audit_schema_column(&run->schema, table, hf_slice_of("id"), hf_slice_of("bigint"), place);
    audit_schema_key(&run->schema, table,
                     &(audit_key){.columns = {hf_slice_of("id")}, .count = 1, .primary = true});
}

/* A line inside the block. */
static void calls_column(audit_run *run, const audit_fact *call)
{
    audit_place place = {call->file, call->line};
    audit_table *table = audit_schema_table(&run->schema, calls_first(call->text[4]), place);
    hf_slice method = call->text[1], arguments = call->text[2], left = arguments, name, type;
    if (!calls_next(&left, &name))
        name = HF_NOTHING;
    if (table == NULL)
        return;
    if (audit_name_among(method, "column") && calls_next(&left, &type)) /* t.column :name, :type */
        method = type;
    if (audit_name_among(method, "id bigIncrements increments")) {
        calls_id(run, table, place);
    } else if (audit_name_among(method, "timestamps")) {
        audit_schema_column(&run->schema, table, hf_slice_of("updated_at"), hf_slice_of("datetime"),
                            place);
    } else if (audit_name_among(method, "index")) {
        if (audit_text_find(arguments, "unique: true") != NULL)
            calls_key(run, table, arguments, false);
    } else if (audit_name_among(method, "unique primary") && name.size > 0) {
        calls_key(run, table, arguments, audit_name_among(method, "primary"));
    } else if (audit_name_among(method, "references belongs_to foreignId") && name.size > 0) {
        bool cascade = audit_text_find(arguments, ":cascade") != NULL;
        audit_schema_reference(&run->schema, table, name, audit_name_snake(&run->arena, name, true),
                               cascade);
    } else if (name.size > 0 && call->text[0].size > 0 &&
               !audit_name_among(method, "foreign on default comment after dropColumn onDelete "
                                         "remove drop rename constrained")) {
        audit_schema_column(&run->schema, table, name, method, place);
        /* $table->string('resource')->unique(): told as a call on this one, before it. */
    } else if (audit_name_among(method, "unique primary") && name.size == 0) {
        calls_key(run, table, call->text[0], audit_name_among(method, "primary"));
    }
}

static void calls_outside(audit_run *run, const audit_fact *call)
{
    audit_place place = {call->file, call->line};
    hf_slice left = call->text[2], table_name, column, type;
    if (!audit_name_among(call->text[1], "create_table add_column add_index create") ||
        !calls_next(&left, &table_name))
        return;
    bool create = audit_name_among(call->text[1], "create_table");
    bool laravel = audit_name_among(call->text[1], "create");
    if (laravel && audit_text_find(call->text[0], "Schema") == NULL)
        return;
    audit_table *table = audit_schema_table(&run->schema, table_name, place);
    if (table == NULL)
        return;
    if (create || laravel)
        table->whole = true;
    if (create && audit_text_find(call->text[2], "id: false") == NULL)
        calls_id(run, table, place);
    if (audit_name_among(call->text[1], "add_column") && calls_next(&left, &column) &&
        calls_next(&left, &type))
        audit_schema_column(&run->schema, table, column, type, place);
    if (audit_name_among(call->text[1], "add_index") &&
        audit_text_find(call->text[2], "unique: true") != NULL)
        calls_key(run, table, left, false);
}

void audit_map_calls(audit_run *run)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_CALL)
            continue;
        if (fact->text[4].size > 0)
            calls_column(run, fact);
        else
            calls_outside(run, fact);
    }
}
