/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: a connection with its namespace, a table as its database
 * describes it, SQL made from a template. */
#ifndef HF_GUARD_INSIDE_H
#define HF_GUARD_INSIDE_H

#include "base/arena.h"
#include "db/open.h"
#include "db/url.h"
#include "guard/guard.h"
#include "sql/guard_catalog.h"

typedef struct guard_db {
    hf_db *db;
    char names[HF_NAMES_SIZE]; /* the namespace */
    bool store;                /* holdfast's lock tables are there */
    bool table;                /* ... and so is the table `guard` */
} guard_db;

/* Connects to change; looks which of holdfast's tables are there. guard_close accepts a failed one.
 */
hf_status guard_open(const char *url, guard_db *out, hf_error *err);
void guard_close(guard_db *db);

/* A statement of sql/guard/catalog.sql for this database, {ns} filled in. */
hf_status guard_statement(guard_db *db, enum guard_catalog_id id, hf_stmt **out, hf_error *err);

/* HF_INVALID: an earlier version installed what is there. Guards share functions; those of this one
 * would break its triggers. */
hf_status guard_installed(guard_db *db, hf_error *err);

/* Runs SQL: on MySQL statement by statement, as lines of "//" divide it. */
hf_status guard_run(guard_db *db, const char *sql, hf_error *err);

/* ---- a table ---- */

enum { GUARD_COLUMNS_MAX = 1600, GUARD_KEY_MAX = 32 };

typedef struct guard_column {
    const char *name;
    const char *type;
    int key; /* place in the primary key, from 1; 0: none */
    bool generated;
    bool defaulted;        /* SQLite: NOT NULL, and REPLACE puts a default in place of NULL */
    const char *collation; /* SQLite: in the index of the primary key; "": it has none */
} guard_column;

/* A column of a unique index. Columns of one index stand together. */
typedef struct guard_unique {
    const char *index;
    const char *column;    /* NULL: an expression */
    const char *collation; /* SQLite */
    bool partial;
} guard_unique;

typedef struct guard_table {
    char schema[GUARD_NAME_SIZE];
    char name[GUARD_NAME_SIZE];
    char full[2 * GUARD_NAME_SIZE]; /* as the table `guard` names it */
    char kind[32];                  /* "table", "view", "partitioned", ... */
    char engine[64];                /* MySQL */
    bool rowid;                     /* SQLite: it has one */
    guard_column *columns;
    size_t columns_count;
    const guard_column *key[GUARD_KEY_MAX]; /* in order */
    size_t key_count;
    guard_unique *uniques;
    size_t uniques_count;
} guard_table;

/* Reads it from the catalog; what it holds lives in the arena. HF_NOT_FOUND: there is no such
 * table. */
hf_status guard_table_read(guard_db *db, const char *name, hf_arena *arena, guard_table *out,
                           hf_error *err);
const guard_column *guard_table_column(const guard_table *table, const char *name);

/* Whether it is in the key, or in a unique index. */
bool guard_column_is_unique(const guard_table *table, const guard_column *column);

/* SQLite: whether NULL for it becomes a default that decides which rows REPLACE deletes: it is in a
 * unique key itself, or a generated column that is may be made of it. */
bool guard_column_defaults(const guard_table *table, const guard_column *column);

/* All guards, by table; hf_free the list. */
hf_status guard_rows(guard_db *db, guard **out, size_t *count, hf_error *err);

/* The guard of a table, by its full name. *found false: there is none. */
hf_status guard_find(guard_db *db, const char *full, guard *out, bool *found, hf_error *err);

/* The refusals of `add` that need the catalog. */
hf_status guard_table_fit(guard_db *db, const guard *it, const guard_table *table, hf_error *err);

/* ---- SQL ---- */

bool guard_is_mysql(hf_db_kind kind); /* or MariaDB */

/* A name of SQL, or a text, in quotes for this database. */
void guard_add_name(hf_buffer *out, hf_db_kind kind, const char *name);
void guard_add_text(hf_buffer *out, hf_db_kind kind, const char *text);
void guard_add_table(hf_buffer *out, hf_db_kind kind, const guard_table *table);

/* What leads from a member to its root. path[0] is the guarded table itself. */
enum { GUARD_DEPTH_MAX = 8 };
typedef struct guard_path {
    guard steps[GUARD_DEPTH_MAX];
    guard_table tables[GUARD_DEPTH_MAX];
    size_t count; /* 1: the table is a root */
} guard_path;

/* PostgreSQL: whether no setting of a session changes how the rows' keys are written as text. */
bool guard_names_are_settled(const guard_path *path);

/* MariaDB and MySQL: whether the procedures that triggers share are there as this program would
 * make them. *others: some that this account sees are another version's. */
bool guard_procedures_are_ours(guard_db *db, bool *others);

/* The SQL that guards the table, and the one that takes the guard away. `column`: the column is
 * there already. */
hf_status guard_write_add(guard_db *db, const guard_path *path, bool column, hf_buffer *out,
                          hf_error *err);
/* MariaDB and MySQL: the empty table that keeps TRUNCATE away, made (keep) or dropped. */
hf_status guard_write_keeper(guard_db *db, const guard *it, const guard_table *table, bool keep,
                             hf_buffer *out, hf_error *err);
hf_status guard_write_remove(guard_db *db, const guard *it, const guard_table *table,
                             hf_buffer *out, hf_error *err);

#endif
