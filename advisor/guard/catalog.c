/* SPDX-License-Identifier: MIT */
/* What the database says about its tables and their guards. */
#include "base/error.h"
#include "base/seams.h"
#include "guard/fill.h"
#include "guard/inside.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const guard_check_names[] = {"version", "step", "lock", "save"};

static const char *catalog_sql(const hf_db *db, enum guard_catalog_id id)
{
    switch (hf_db_kind_of(db)) {
    case HF_DB_POSTGRES:
        return guard_catalog_postgres[id];
    case HF_DB_SQLITE:
        return guard_catalog_sqlite[id];
    default:
        return guard_catalog_mysql[id];
    }
}

hf_status guard_statement(guard_db *db, enum guard_catalog_id id, hf_stmt **out, hf_error *err)
{
    hf_buffer sql = {0};
    guard_words words = {0};
    guard_word_set(&words, "ns", db->names);
    guard_fill(&sql, catalog_sql(db->db, id), &words);
    hf_status status = sql.failed ? hf_fail_memory(err) : hf_stmt_new(db->db, sql.text, out, err);
    hf_buffer_done(&sql);
    guard_words_done(&words);
    return status;
}

static void catalog_copy(hf_stmt *stmt, int column, char *out, size_t size)
{
    memset(out, 0, size);
    hf_slice_copy(out, size, hf_stmt_column_text(stmt, column));
}

/* ---- connecting ---- */

static hf_status catalog_look(guard_db *db, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    hf_status status = guard_statement(db, GUARD_CATALOG_THERE, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row) {
        db->store = hf_stmt_column_int(stmt, 0) != 0;
        db->table = hf_stmt_column_int(stmt, 1) != 0;
        if (hf_stmt_column_int(stmt, 2) != 0)
            status = hf_fail(err, HF_UNAVAILABLE,
                             "%s was started with sysdate-is-now, so that every session may set "
                             "the time of guards; start it without.",
                             hf_db_path(db->db));
    }
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_open(const char *url, guard_db *out, hf_error *err)
{
    *out = (guard_db){0};
    hf_status status = hf_db_open_to_change(url, out->names, &out->db, err);
    if (status != HF_OK)
        return status;
    hf_db_patience(out->db, 10 * HF_DB_BUSY_US);
    return catalog_look(out, err);
}

void guard_close(guard_db *db)
{
    hf_db_close(db->db);
    db->db = NULL;
}

hf_status guard_run(guard_db *db, const char *sql, hf_error *err)
{
    hf_db_kind kind = hf_db_kind_of(db->db);
    if (kind == HF_DB_SQLITE || kind == HF_DB_POSTGRES)
        return hf_db_run(db->db, sql, err);
    hf_status status = HF_OK;
    while (status == HF_OK && *sql != '\0') {
        const char *end = strstr(sql, "\n//\n");
        hf_buffer one = {0};
        hf_buffer_add(&one, sql, end == NULL ? strlen(sql) : (size_t)(end - sql));
        status = one.failed ? hf_fail_memory(err) : hf_db_run(db->db, one.text, err);
        hf_buffer_done(&one);
        sql = end == NULL ? "" : end + 4;
    }
    return status;
}

/* ---- a table ---- */

static hf_status table_find(guard_db *db, const char *name, guard_table *out, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    if (name[0] == '\0' || strlen(name) >= GUARD_NAME_SIZE || !hf_text_is_clean(name, strlen(name)))
        return hf_fail(err, HF_INVALID,
                       "A table's name is 1 to %d bytes of UTF-8 without control characters.",
                       GUARD_NAME_SIZE - 1);
    hf_status status = guard_statement(db, GUARD_CATALOG_FIND, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(name));
        status = hf_stmt_step(stmt, &row, err);
    }
    if (status == HF_OK && row) {
        catalog_copy(stmt, 0, out->schema, sizeof out->schema);
        catalog_copy(stmt, 1, out->name, sizeof out->name);
        catalog_copy(stmt, 2, out->kind, sizeof out->kind);
        catalog_copy(stmt, 3, out->engine, sizeof out->engine);
        out->rowid = hf_stmt_column_int(stmt, 4) != 0;
        snprintf(out->full, sizeof out->full, "%s%s%s", out->schema,
                 out->schema[0] == '\0' ? "" : ".", out->name);
    }
    hf_stmt_free(stmt);
    if (status == HF_OK && !row)
        status =
            hf_fail(err, HF_NOT_FOUND, "There is no table %s in %s.", name, hf_db_path(db->db));
    if (status == HF_OK && strlen(out->full) >= GUARD_NAME_SIZE)
        status = hf_fail(err, HF_INVALID, "The name %s is too long to be guarded.", out->full);
    return status;
}

/* Begins a statement that is about the table: schema and name are its parameters. */
static hf_status table_ask(guard_db *db, const guard_table *table, enum guard_catalog_id id,
                           hf_stmt **out, hf_error *err)
{
    hf_status status = guard_statement(db, id, out, err);
    if (status == HF_OK) {
        hf_stmt_text(*out, 1, hf_slice_of(table->schema));
        hf_stmt_text(*out, 2, hf_slice_of(table->name));
    }
    return status;
}

static hf_status table_columns(guard_db *db, hf_arena *arena, guard_table *out, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    out->columns = hf_arena_alloc(arena, GUARD_COLUMNS_MAX * sizeof *out->columns);
    hf_status status = out->columns == NULL ? hf_fail_memory(err)
                                            : table_ask(db, out, GUARD_CATALOG_COLUMNS, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        if (out->columns_count == GUARD_COLUMNS_MAX) {
            status = hf_fail(err, HF_INVALID, "%s has more than %d columns.", out->name,
                             GUARD_COLUMNS_MAX);
            break;
        }
        guard_column *column = &out->columns[out->columns_count++];
        column->name = hf_arena_text(arena, hf_stmt_column_text(stmt, 0));
        column->type = hf_arena_text(arena, hf_stmt_column_text(stmt, 1));
        column->key = (int)hf_stmt_column_int(stmt, 2);
        column->generated = hf_stmt_column_int(stmt, 3) != 0;
        column->defaulted = hf_stmt_column_int(stmt, 4) != 0;
        column->collation = hf_arena_text(arena, hf_stmt_column_text(stmt, 5));
        if (column->name == NULL || column->type == NULL || column->collation == NULL)
            status = hf_fail_memory(err);
    }
    hf_stmt_free(stmt);
    return status;
}

static void table_key(guard_table *table)
{
    for (size_t i = 0; i < table->columns_count; i++) {
        int place = table->columns[i].key;
        if (place < 1 || place > GUARD_KEY_MAX)
            continue;
        table->key[place - 1] = &table->columns[i];
        if ((size_t)place > table->key_count)
            table->key_count = (size_t)place;
    }
}

static hf_status table_uniques(guard_db *db, hf_arena *arena, guard_table *out, hf_error *err)
{
    enum { UNIQUES_MAX = 512 };
    hf_stmt *stmt = NULL;
    bool row = true;
    out->uniques = hf_arena_alloc(arena, UNIQUES_MAX * sizeof *out->uniques);
    hf_status status = out->uniques == NULL ? hf_fail_memory(err)
                                            : table_ask(db, out, GUARD_CATALOG_UNIQUES, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        if (out->uniques_count == UNIQUES_MAX) {
            status = hf_fail(err, HF_INVALID, "%s has too many unique indexes.", out->name);
            break;
        }
        guard_unique *it = &out->uniques[out->uniques_count++];
        hf_slice column = hf_stmt_column_text(stmt, 1);
        it->index = hf_arena_text(arena, hf_stmt_column_text(stmt, 0));
        it->column = column.size == 0 ? NULL : hf_arena_text(arena, column);
        it->collation = hf_arena_text(arena, hf_stmt_column_text(stmt, 2));
        it->partial = hf_stmt_column_int(stmt, 3) != 0;
        if (it->index == NULL || it->collation == NULL || (column.size > 0 && it->column == NULL))
            status = hf_fail_memory(err);
    }
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_table_read(guard_db *db, const char *name, hf_arena *arena, guard_table *out,
                           hf_error *err)
{
    *out = (guard_table){0};
    hf_status status = table_find(db, name, out, err);
    if (status == HF_OK)
        status = table_columns(db, arena, out, err);
    if (status == HF_OK)
        table_key(out);
    if (status == HF_OK)
        status = table_uniques(db, arena, out, err);
    return status;
}

/* Only PostgreSQL, which has schemas, tells capitals in the names of columns. */
const guard_column *guard_table_column(const guard_table *table, const char *name)
{
    for (size_t i = 0; i < table->columns_count; i++)
        if (strcmp(table->columns[i].name, name) == 0 ||
            (table->schema[0] == '\0' && strcasecmp(table->columns[i].name, name) == 0))
            return &table->columns[i];
    return NULL;
}

bool guard_column_is_unique(const guard_table *table, const guard_column *column)
{
    for (size_t i = 0; i < table->uniques_count; i++)
        if (table->uniques[i].column != NULL &&
            strcasecmp(table->uniques[i].column, column->name) == 0)
            return true;
    return column->key != 0;
}

bool guard_column_defaults(const guard_table *table, const guard_column *column)
{
    bool decides = guard_column_is_unique(table, column);
    for (size_t i = 0; i < table->columns_count && !decides; i++)
        decides = table->columns[i].generated && guard_column_is_unique(table, &table->columns[i]);
    return column->defaulted && decides;
}

/* ---- guards ---- */

static void guard_take_row(hf_stmt *stmt, guard *out)
{
    char check[16];
    *out = (guard){0};
    catalog_copy(stmt, 0, out->table, sizeof out->table);
    catalog_copy(stmt, 1, out->type, sizeof out->type);
    catalog_copy(stmt, 2, out->policy, sizeof out->policy);
    catalog_copy(stmt, 3, check, sizeof check);
    catalog_copy(stmt, 4, out->version, sizeof out->version);
    catalog_copy(stmt, 5, out->parent, sizeof out->parent);
    catalog_copy(stmt, 6, out->link, sizeof out->link);
    catalog_copy(stmt, 7, out->mode, sizeof out->mode);
    out->suppressed_us = hf_stmt_column_int(stmt, 8);
    out->triggers = (int)hf_stmt_column_int(stmt, 9);
    out->triggers_wanted = (int)hf_stmt_column_int(stmt, 10);
    out->reads = hf_stmt_column_int(stmt, 11) != 0;
    for (int i = 0; i <= GUARD_SAVE; i++)
        if (strcmp(check, guard_check_names[i]) == 0)
            out->check = (guard_check)i;
}

hf_status guard_rows(guard_db *db, guard **out, size_t *count, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    *out = NULL;
    *count = 0;
    hf_status status = db->table ? guard_statement(db, GUARD_CATALOG_GUARDS, &stmt, err) : HF_OK;
    while (db->table && status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK &&
           row) {
        guard *more = hf_realloc(*out, (*count + 1) * sizeof **out);
        if (more == NULL) {
            status = hf_fail_memory(err);
            break;
        }
        *out = more;
        guard_take_row(stmt, &more[(*count)++]);
    }
    hf_stmt_free(stmt);
    if (status != HF_OK) {
        hf_free(*out);
        *out = NULL;
        *count = 0;
    }
    return status;
}

hf_status guard_find(guard_db *db, const char *full, guard *out, bool *found, hf_error *err)
{
    guard *all;
    size_t count;
    hf_status status = guard_rows(db, &all, &count, err);
    *found = false;
    for (size_t i = 0; i < count && !*found; i++)
        if (strcmp(all[i].table, full) == 0) {
            *out = all[i];
            *found = true;
        }
    hf_free(all);
    return status;
}

hf_status guard_installed(guard_db *db, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    if (!db->store)
        return HF_OK;
    hf_status status = guard_statement(db, GUARD_CATALOG_SECRET, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && (!row || hf_stmt_column_int(stmt, 0) == 0))
        status = hf_fail(err, HF_INVALID,
                         "An earlier version installed holdfast in %s; run 'holdfast install' "
                         "there, which also makes its guards anew.",
                         hf_db_path(db->db));
    hf_stmt_free(stmt);
    return status;
}

/* ---- what can't be guarded ---- */

static bool column_is_whole(const guard_column *column)
{
    return strcasestr(column->type, "int") != NULL || strcasestr(column->type, "serial") != NULL ||
           strncasecmp(column->type, "numeric", 7) == 0 ||
           strncasecmp(column->type, "decimal", 7) == 0;
}

static hf_status fit_columns(const guard *it, const guard_table *table, hf_error *err)
{
    if (table->key_count == 0)
        return hf_fail(
            err, HF_INVALID,
            "%s has no primary key, so its rows have no name; give it one, then guard it.",
            table->name);
    for (size_t i = 0; i < table->key_count; i++)
        if (table->key[i] == NULL)
            return hf_fail(err, HF_INVALID, "The primary key of %s has too many columns.",
                           table->name);
    if (it->version[0] != '\0') {
        const guard_column *column = guard_table_column(table, it->version);
        if (column == NULL)
            return hf_fail(err, HF_NOT_FOUND,
                           "%s has no column %s; --version names the column that counts its saves.",
                           table->name, it->version);
        if (!column_is_whole(column) || column->key != 0 || column->generated)
            return hf_fail(err, HF_INVALID,
                           "The column %s of %s (%s) can't count saves; --version wants a whole "
                           "number that is "
                           "neither generated nor part of the key.",
                           it->version, table->name, column->type);
    }
    if (it->link[0] != '\0' && guard_table_column(table, it->link) == NULL)
        return hf_fail(err, HF_NOT_FOUND,
                       "%s has no column %s; --link names the one that refers to %s.", table->name,
                       it->link, it->parent);
    return HF_OK;
}

/* MySQL: of all types only the text of a TIMESTAMP depends on who writes. */
static hf_status fit_names(const guard *it, const guard_table *table, hf_error *err)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (it->check >= GUARD_LOCK && it->parent[0] == '\0' &&
            strncasecmp(table->key[i]->type, "timestamp", 9) == 0)
            return hf_fail(err, HF_INVALID,
                           "The key column %s of %s is a TIMESTAMP, which each session sees in its "
                           "own time zone, so that one row would have several names. Make it a "
                           "DATETIME in UTC, or guard the table by a version column.",
                           table->key[i]->name, table->name);
    return HF_OK;
}

static hf_status fit_uniques(const guard_table *table, hf_error *err)
{
    for (size_t i = 0; i < table->uniques_count; i++)
        if (table->uniques[i].partial || table->uniques[i].column == NULL)
            return hf_fail(
                err, HF_INVALID,
                "The unique index %s of %s is partial or over an expression: REPLACE deletes rows "
                "by "
                "it that no trigger sees. Make it an index over columns, then guard the table.",
                table->uniques[i].index, table->name);
    return HF_OK;
}

/* Is `name` the guarded parent that `guard` names, so that what it cascades stays inside the
 * aggregate? */
static hf_status fit_cascades(guard_db *db, const guard *it, const guard_table *table,
                              hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    char constraint[GUARD_NAME_SIZE], from[GUARD_NAME_SIZE];
    hf_status status = table_ask(db, table, GUARD_CATALOG_CASCADES, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        catalog_copy(stmt, 0, constraint, sizeof constraint);
        catalog_copy(stmt, 1, from, sizeof from);
        if (strcmp(from, it->parent) == 0)
            continue;
        status = hf_fail(
            err, HF_INVALID,
            "The foreign key %s lets %s change rows of %s, and no trigger fires for that. Make it "
            "ON DELETE RESTRICT ON UPDATE RESTRICT, or guard %s as a member: --parent %s.",
            constraint, from, table->name, table->name, from);
    }
    hf_stmt_free(stmt);
    return status;
}

static hf_status fit_children(guard_db *db, const guard_table *table, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false, found = false;
    char child[2 * GUARD_NAME_SIZE] = "";
    guard it;
    hf_status status = table_ask(db, table, GUARD_CATALOG_CHILDREN, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row)
        catalog_copy(stmt, 0, child, sizeof child);
    hf_stmt_free(stmt);
    if (status != HF_OK || !row)
        return status;
    status = guard_find(db, child, &it, &found, err);
    if (status == HF_OK && !found)
        status = hf_fail(
            err, HF_INVALID,
            "Rows of %s are rows of %s too, and its triggers do not fire for them; guard %s first.",
            child, table->name, child);
    return status;
}

/* Reading by a lock is a policy of row level security, which the table must have for itself. */
static hf_status fit_reads(guard_db *db, const guard *it, const guard_table *table, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    if (!it->reads)
        return HF_OK;
    if (hf_db_kind_of(db->db) != HF_DB_POSTGRES)
        return hf_fail(err, HF_INVALID,
                       "--reads is for PostgreSQL: only its policies see a SELECT. Leave it out.");
    if (it->check != GUARD_LOCK ||
        (strcmp(it->policy, "exclusive-read") != 0 && strcmp(it->policy, "read-write") != 0))
        return hf_fail(err, HF_INVALID,
                       "--reads is for the policies exclusive-read and read-write, where reading "
                       "needs a lock; the policy of %s is %s.",
                       it->type, it->policy);
    hf_status status = table_ask(db, table, GUARD_CATALOG_ROW_SECURITY, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row && hf_stmt_column_int(stmt, 0) != 0)
        status = hf_fail(err, HF_INVALID,
                         "%s has row level security of its own, which --reads would loosen; leave "
                         "--reads out.",
                         table->full);
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_table_fit(guard_db *db, const guard *it, const guard_table *table, hf_error *err)
{
    hf_db_kind kind = hf_db_kind_of(db->db);
    if (strcmp(table->kind, "table") != 0)
        return hf_fail(err, HF_INVALID, "%s is a %s%s; guards are for tables%s.", table->full,
                       table->kind, strncmp(table->kind, "partitioned", 11) == 0 ? " table" : "",
                       strstr(table->kind, "view") != NULL ? ": guard those below it"
                                                           : " in one piece");
    if (table->engine[0] != '\0' && strcasecmp(table->engine, "InnoDB") != 0)
        return hf_fail(err, HF_INVALID,
                       "%s is of the engine %s, which has no transactions; ALTER TABLE %s ENGINE = "
                       "InnoDB first.",
                       table->name, table->engine, table->name);
    hf_status status = fit_columns(it, table, err);
    if (status == HF_OK && guard_is_mysql(kind))
        status = fit_names(it, table, err);
    if (status == HF_OK && kind == HF_DB_SQLITE)
        status = fit_uniques(table, err);
    if (status == HF_OK)
        status = fit_cascades(db, it, table, err);
    if (status == HF_OK)
        status = fit_children(db, table, err);
    return status == HF_OK ? fit_reads(db, it, table, err) : status;
}
