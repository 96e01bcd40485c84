/* SPDX-License-Identifier: MIT */
/* Statements that declare: CREATE TABLE and what changes tables later, in four dialects. */
#include "audit/names.h"
#include "audit/schema.h"
#include "audit/sql_read.h"

typedef struct ddl_reader {
    audit_schema *schema;
    const sql_tokens *tokens;
    audit_place place; /* of the whole text */
    audit_table *table;
} ddl_reader;

static audit_place ddl_place(const ddl_reader *ddl, size_t at)
{
    return (audit_place){ddl->place.file, ddl->place.line + ddl->tokens->items[at].line};
}

/* (a, b(10), c DESC): the columns of a key; *at moves past them. */
static void ddl_columns(const ddl_reader *ddl, size_t *at, audit_key *key)
{
    size_t past = audit_sql_past(ddl->tokens, *at);
    bool want = true;
    if (!audit_sql_punct(ddl->tokens, *at, '('))
        return;
    for (size_t i = *at + 1; i + 1 < past; i++) {
        if (audit_sql_punct(ddl->tokens, i, '(')) {
            i = audit_sql_past(ddl->tokens, i) - 1;
        } else if (audit_sql_punct(ddl->tokens, i, ',')) {
            want = true;
        } else if (want && key->count < AUDIT_KEY_MAX) {
            key->columns[key->count++] = ddl->tokens->items[i].text;
            want = false;
        }
    }
    *at = past;
}

static bool ddl_cascades(const ddl_reader *ddl, size_t at, size_t end)
{
    for (; at + 2 < end; at++)
        if (audit_sql_word(ddl->tokens, at, "on") && audit_sql_word(ddl->tokens, at + 1, "delete"))
            return audit_sql_word(ddl->tokens, at + 2, "cascade");
    return false;
}

/* PRIMARY KEY (..), UNIQUE [KEY] [name] (..), FOREIGN KEY (..) REFERENCES ..; false: a column. */
static bool ddl_constraint(ddl_reader *ddl, size_t at, size_t end)
{
    audit_key key = {0};
    if (audit_sql_accept(ddl->tokens, &at, "constraint"))
        audit_sql_name(ddl->tokens, &at);
    bool foreign = audit_sql_word(ddl->tokens, at, "foreign");
    key.primary = audit_sql_word(ddl->tokens, at, "primary");
    if (foreign || key.primary || audit_sql_word(ddl->tokens, at, "unique")) {
        while (at < end && !audit_sql_punct(ddl->tokens, at, '('))
            at++;
        ddl_columns(ddl, &at, &key);
        if (!foreign && ddl->table != NULL)
            audit_schema_key(ddl->schema, ddl->table, &key);
        if (foreign && audit_sql_accept(ddl->tokens, &at, "references") && ddl->table != NULL)
            audit_schema_reference(ddl->schema, ddl->table, key.columns[0],
                                   audit_sql_name(ddl->tokens, &at), ddl_cascades(ddl, at, end));
        return true;
    }
    static const char others[] = "key index check exclude fulltext spatial period like";
    return ddl->tokens->items[at].kind == SQL_WORD &&
           audit_name_among(ddl->tokens->items[at].text, others) &&
           (audit_sql_punct(ddl->tokens, at + 1, '(') || audit_sql_punct(ddl->tokens, at + 2, '('));
}

/* name type [NOT NULL] [PRIMARY KEY | UNIQUE] [REFERENCES ..] */
static void ddl_column(ddl_reader *ddl, size_t at, size_t end)
{
    size_t start = at;
    hf_slice name = audit_sql_name(ddl->tokens, &at), type = HF_NOTHING;
    if (name.size == 0 || ddl->table == NULL)
        return;
    if (at < end) {
        const sql_token *token = &ddl->tokens->items[at], *next = token + 1;
        type = token->text;
        /* "timestamp with time zone" and "unsigned bigint" are of two words. */
        if (at + 1 < end && next->kind == SQL_WORD && token->kind == SQL_WORD &&
            audit_name_among(next->text, "bigint int integer precision varying with"))
            type.size = (size_t)(next->text.at + next->text.size - type.at);
    }
    audit_schema_column(ddl->schema, ddl->table, name, type, ddl_place(ddl, start));
    for (; at < end; at++) {
        bool primary = audit_sql_word(ddl->tokens, at, "primary");
        if (primary || audit_sql_word(ddl->tokens, at, "unique"))
            audit_schema_key(ddl->schema, ddl->table,
                             &(audit_key){.columns = {name}, .count = 1, .primary = primary});
        if (audit_sql_word(ddl->tokens, at, "references")) {
            size_t to = at + 1;
            audit_schema_reference(ddl->schema, ddl->table, name, audit_sql_name(ddl->tokens, &to),
                                   ddl_cascades(ddl, to, end));
        }
    }
}

static size_t ddl_item_end(const ddl_reader *ddl, size_t at, size_t end)
{
    while (at < end && !audit_sql_punct(ddl->tokens, at, ',')) {
        if (audit_sql_punct(ddl->tokens, at, ')') || audit_sql_punct(ddl->tokens, at, ';'))
            return at;
        at = audit_sql_punct(ddl->tokens, at, '(') ? audit_sql_past(ddl->tokens, at) : at + 1;
    }
    return at < end ? at : end;
}

static void ddl_create_table(ddl_reader *ddl, size_t at)
{
    size_t start = at;
    if (audit_sql_accept(ddl->tokens, &at, "if"))
        at += 2;
    hf_slice name = audit_sql_name(ddl->tokens, &at);
    if (name.size == 0 || !audit_sql_punct(ddl->tokens, at, '('))
        return;
    size_t end = audit_sql_past(ddl->tokens, at) - 1;
    ddl->table = audit_schema_table(ddl->schema, name, ddl_place(ddl, start));
    if (ddl->table == NULL)
        return;
    ddl->table->whole = true;
    for (at++; at < end; at++) {
        size_t item_end = ddl_item_end(ddl, at, end);
        if (!ddl_constraint(ddl, at, item_end))
            ddl_column(ddl, at, item_end);
        at = item_end;
    }
}

static void ddl_drop_column(ddl_reader *ddl, hf_slice name)
{
    audit_column **link = &ddl->table->columns;
    while (*link != NULL && !audit_name_same((*link)->name, name))
        link = &(*link)->next;
    if (*link != NULL)
        *link = (*link)->next;
}

/* One action of ALTER TABLE. */
static void ddl_alter_action(ddl_reader *ddl, size_t at, size_t end)
{
    bool drop = audit_sql_accept(ddl->tokens, &at, "drop");
    bool add = !drop && (audit_sql_accept(ddl->tokens, &at, "add") ||
                         audit_sql_accept(ddl->tokens, &at, "modify"));
    bool column = audit_sql_accept(ddl->tokens, &at, "column");
    if (audit_sql_accept(ddl->tokens, &at, "if"))
        while (audit_sql_accept(ddl->tokens, &at, "not") ||
               audit_sql_accept(ddl->tokens, &at, "exists"))
            ;
    if (drop && column)
        ddl_drop_column(ddl, audit_sql_name(ddl->tokens, &at));
    else if (add && audit_sql_punct(ddl->tokens, at, '('))
        ddl_column(ddl, at + 1, audit_sql_past(ddl->tokens, at) - 1);
    else if (add && (column || !ddl_constraint(ddl, at, end)))
        ddl_column(ddl, at, end);
}

static void ddl_alter_table(ddl_reader *ddl, size_t at)
{
    if (audit_sql_accept(ddl->tokens, &at, "if"))
        at++;
    audit_sql_accept(ddl->tokens, &at, "only");
    size_t start = at;
    hf_slice name = audit_sql_name(ddl->tokens, &at);
    ddl->table = audit_schema_table(ddl->schema, name, ddl_place(ddl, start));
    size_t end = ddl->tokens->count - 1;
    while (ddl->table != NULL && at < end && !audit_sql_punct(ddl->tokens, at, ';')) {
        size_t item_end = ddl_item_end(ddl, at, end);
        ddl_alter_action(ddl, at, item_end);
        at = item_end + audit_sql_punct(ddl->tokens, item_end, ',');
        if (item_end == at && !audit_sql_punct(ddl->tokens, at, ';'))
            at++;
    }
}

static void ddl_unique_index(ddl_reader *ddl, size_t at)
{
    audit_key key = {0};
    while (at + 1 < ddl->tokens->count && !audit_sql_word(ddl->tokens, at, "on") &&
           !audit_sql_punct(ddl->tokens, at, ';'))
        at++;
    if (!audit_sql_accept(ddl->tokens, &at, "on"))
        return;
    audit_table *table = audit_schema_find(ddl->schema, audit_sql_name(ddl->tokens, &at));
    if (audit_sql_accept(ddl->tokens, &at, "using"))
        at++;
    ddl_columns(ddl, &at, &key);
    if (table != NULL)
        audit_schema_key(ddl->schema, table, &key);
}

static void ddl_create(ddl_reader *ddl, size_t at)
{
    bool unique = false;
    for (int i = 0; i < 4; i++, at++) {
        unique = unique || audit_sql_word(ddl->tokens, at, "unique");
        if (audit_sql_word(ddl->tokens, at, "table")) {
            ddl_create_table(ddl, at + 1);
            return;
        }
        if (unique && audit_sql_word(ddl->tokens, at, "index")) {
            ddl_unique_index(ddl, at + 1);
            return;
        }
    }
}

static void ddl_drop_table(ddl_reader *ddl, size_t at)
{
    if (audit_sql_accept(ddl->tokens, &at, "if"))
        at++;
    audit_table *table = audit_schema_find(ddl->schema, audit_sql_name(ddl->tokens, &at));
    if (table != NULL)
        table->dropped = true;
}

void audit_schema_apply(audit_schema *schema, const sql_tokens *tokens, audit_place place,
                        bool drops)
{
    ddl_reader ddl = {.schema = schema, .tokens = tokens, .place = place};
    for (size_t at = 0; at < tokens->count; at++) {
        if (audit_sql_word(tokens, at, "create"))
            ddl_create(&ddl, at + 1);
        else if (audit_sql_word(tokens, at, "alter") && audit_sql_word(tokens, at + 1, "table"))
            ddl_alter_table(&ddl, at + 2);
        else if (drops && audit_sql_word(tokens, at, "drop") &&
                 audit_sql_word(tokens, at + 1, "table"))
            ddl_drop_table(&ddl, at + 2);
    }
}
