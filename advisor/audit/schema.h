/* SPDX-License-Identifier: MIT */
/* What is declared: tables, columns, keys, references, versions. From SQL files, mappings or the
 * database; all that say the same thing add to one table. */
#ifndef HF_AUDIT_SCHEMA_H
#define HF_AUDIT_SCHEMA_H

#include "audit/sql_scan.h"

typedef struct audit_place {
    uint32_t file; /* AUDIT_NO_FILE: the database */
    uint32_t line;
} audit_place;

#define AUDIT_NO_FILE UINT32_MAX

typedef struct audit_column {
    hf_slice name, type;
    bool version; /* a mapping says that it is the row's version */
    audit_place place;
    struct audit_column *next;
} audit_column;

enum { AUDIT_KEY_MAX = 8 };

typedef struct audit_key { /* unique */
    hf_slice columns[AUDIT_KEY_MAX];
    size_t count;
    bool primary;
    struct audit_key *next;
} audit_key;

typedef struct audit_reference {
    hf_slice column, table;
    bool cascade; /* deleted with what it refers to: a part of it */
    struct audit_reference *next;
} audit_reference;

typedef struct audit_table {
    hf_slice name;
    hf_slice entity; /* the class that is mapped to it; may be empty */
    audit_column *columns;
    audit_key *keys;
    audit_reference *references;
    audit_place place;
    bool whole; /* all its columns are known: CREATE TABLE or the catalog, not a mapping alone */
    bool dropped;
    bool compared; /* somewhere a statement compares its version */
    bool guarded;  /* the database has a trigger of holdfast's on it */
    struct audit_table *next;
} audit_table;

typedef struct audit_schema {
    hf_arena *arena;
    audit_table *tables;
    size_t count;
    bool failed;
} audit_schema;

/* By table or entity name, loosely compared; NULL: none. */
audit_table *audit_schema_find(const audit_schema *schema, hf_slice name);

/* The one table whose name ends so, after an underscore; NULL: none, or several. */
audit_table *audit_schema_find_ending(const audit_schema *schema, hf_slice name);

/* By name, made if there is none. NULL only when memory is out. */
audit_table *audit_schema_table(audit_schema *schema, hf_slice name, audit_place place);

audit_column *audit_table_column(const audit_table *table, hf_slice name);
audit_column *audit_schema_column(audit_schema *schema, audit_table *table, hf_slice name,
                                  hf_slice type, audit_place place);
void audit_schema_key(audit_schema *schema, audit_table *table, const audit_key *key);
void audit_schema_reference(audit_schema *schema, audit_table *table, hf_slice column, hf_slice to,
                            bool cascade);

/* Applies CREATE TABLE, ALTER TABLE, CREATE UNIQUE INDEX; DROP TABLE only with `drops`: a script
 * that drops everything lies beside many schemas, and is no part of their history. */
void audit_schema_apply(audit_schema *schema, const sql_tokens *tokens, audit_place place,
                        bool drops);

/* ---- questions ---- */

bool audit_type_is_temporal(hf_slice type);
bool audit_type_is_whole(hf_slice type);

/* The column that counts a row's saves, or NULL. Declared by a mapping, or named so. */
audit_column *audit_table_version(const audit_table *table);

/* How sure that is: a mapping, an unmistakable name, or a statement that compares it. */
bool audit_version_certain(const audit_table *table, const audit_column *version);

/* A table of locks, by its name and columns; and its columns of a kind. */
bool audit_table_is_lock(const audit_table *table);
bool audit_column_is_owner(const audit_column *column);
bool audit_column_is_time(const audit_column *column);

/* A unique key of the resource alone: no owner in it, not just a number of the row itself. */
bool audit_lock_is_unique(const audit_table *table);

/* Whether the columns named by equality in WHERE are a key. `has` answers for each column. */
bool audit_table_keyed(const audit_table *table, bool (*has)(const void *, hf_slice),
                       const void *context);

#endif
