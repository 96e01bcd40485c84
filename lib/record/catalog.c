/* SPDX-License-Identifier: MIT */
/* What the database says of a table: its columns, what they hold, its key, what it refers to. */
#include "record/inside.h"

#include "sql/record_catalog.h"

#include <stdio.h>
#include <strings.h>

static const char *rec_catalog_sql(const hf_tables *tables, enum rec_catalog_id id)
{
    switch (tables->dialect) {
    case REC_POSTGRES:
        return rec_catalog_postgres[id];
    case REC_SQLITE:
        return rec_catalog_sqlite[id];
    default:
        return rec_catalog_mysql[id];
    }
}

static hf_status rec_catalog_ask(const hf_tables *tables, hf_db *db, const rec_table *table,
                                 enum rec_catalog_id id, hf_stmt **out, hf_error *err)
{
    hf_buffer sql = {0}; /* with the namespace */
    const char *at = rec_catalog_sql(tables, id);
    for (const char *mark; (mark = strstr(at, "{ns}")) != NULL; at = mark + 4)
        hf_buffer_print(&sql, "%.*s%s", (int)(mark - at), at, tables->url.names);
    hf_buffer_print(&sql, "%s", at);
    hf_status status = sql.failed ? hf_fail_memory(err) : hf_stmt_new(db, sql.text, out, err);
    hf_buffer_done(&sql);
    if (status != HF_OK)
        return status;
    hf_value schema = {.bytes = hf_slice_of(table->schema)},
             name = {.bytes = hf_slice_of(table->name)};
    hf_stmt_value(*out, 1, HF_VALUE_UTF8, &schema);
    hf_stmt_value(*out, 2, HF_VALUE_UTF8, &name);
    return HF_OK;
}

char *rec_quote(hf_tables *tables, hf_arena *arena, const char *name)
{
    char mark = tables->dialect == REC_MYSQL ? '`' : '"';
    size_t size = 2 * strlen(name) + 3;
    char *out = hf_arena_alloc(arena, size), *at = out;
    if (out == NULL)
        return NULL;
    *at++ = mark;
    for (; *name != '\0'; name++) {
        if (*name == mark)
            *at++ = mark;
        *at++ = *name;
    }
    *at = mark;
    return out;
}

/* ---- types ---- */

typedef struct rec_type_name {
    const char *begins; /* of SQLite: what it contains; of PostgreSQL: all of it */
    rec_class holds;
    int bits; /* of whole numbers */
} rec_type_name;

/* Names of types without what stands in parentheses. */
static const rec_type_name rec_types_postgres[] = {
    {"smallint", REC_INT, 16},
    {"integer", REC_INT, 32},
    {"bigint", REC_INT, 64},
    {"boolean", REC_BOOL, 0},
    {"real", REC_REAL, 0},
    {"double precision", REC_REAL, 0},
    {"numeric", REC_DECIMAL, 0},
    {"character varying", REC_TEXT, 0},
    {"character", REC_TEXT, 0},
    {"text", REC_TEXT, 0},
    {"name", REC_TEXT, 0},
    {"bytea", REC_BYTES, 0},
    {"date", REC_DATE, 0},
    {"timestamp with time zone", REC_INSTANT, 0},
    {"timestamp without time zone", REC_STAMP, 0},
    {"time without time zone", REC_TIME, 0},
    {"uuid", REC_UUID, 0},
    {"json", REC_JSON, 0},
    {"jsonb", REC_JSON, 0},
    {NULL, REC_OTHER, 0},
};

/* The first that the type's name begins with counts. */
static const rec_type_name rec_types_mysql[] = {
    {"tinyint(1)", REC_BOOL, 8},  {"tinyint", REC_INT, 8},       {"smallint", REC_INT, 16},
    {"mediumint", REC_INT, 24},   {"int", REC_INT, 32},          {"bigint", REC_INT, 64},
    {"year", REC_INT, 16},        {"bit", REC_INT, 64},          {"float", REC_REAL, 0},
    {"double", REC_REAL, 0},      {"decimal", REC_DECIMAL, 0},   {"char", REC_TEXT, 0},
    {"varchar", REC_TEXT, 0},     {"tinytext", REC_TEXT, 0},     {"text", REC_TEXT, 0},
    {"mediumtext", REC_TEXT, 0},  {"longtext", REC_TEXT, 0},     {"binary", REC_BYTES, 0},
    {"varbinary", REC_BYTES, 0},  {"tinyblob", REC_BYTES, 0},    {"blob", REC_BYTES, 0},
    {"mediumblob", REC_BYTES, 0}, {"longblob", REC_BYTES, 0},    {"datetime", REC_STAMP, 0},
    {"date", REC_DATE, 0},        {"timestamp", REC_INSTANT, 0}, {"time", REC_TIME, 0},
    {"uuid", REC_UUID, 0},        {"json", REC_JSON, 0},         {NULL, REC_OTHER, 0},
};

/* SQLite takes any word for a type: what it contains counts, in about SQLite's own order. */
static const rec_type_name rec_types_sqlite[] = {
    {"BOOL", REC_BOOL, 64},     {"INT", REC_INT, 64},    {"TIMESTAMPTZ", REC_INSTANT, 0},
    {"DATETIME", REC_STAMP, 0}, {"STAMP", REC_STAMP, 0}, {"DATE", REC_DATE, 0},
    {"TIME", REC_TIME, 0},      {"UUID", REC_UUID, 0},   {"JSON", REC_JSON, 0},
    {"CHAR", REC_TEXT, 0},      {"CLOB", REC_TEXT, 0},   {"TEXT", REC_TEXT, 0},
    {"BLOB", REC_BYTES, 0},     {"REAL", REC_REAL, 0},   {"FLOA", REC_REAL, 0},
    {"DOUB", REC_REAL, 0},      {"DEC", REC_DECIMAL, 0}, {"NUM", REC_DECIMAL, 0},
    {NULL, REC_ANY, 0},
};

static const rec_type_name *rec_type_of(const hf_tables *tables, const char *type)
{
    const rec_type_name *at = tables->dialect == REC_SQLITE     ? rec_types_sqlite
                              : tables->dialect == REC_POSTGRES ? rec_types_postgres
                                                                : rec_types_mysql;
    for (; at->begins != NULL; at++)
        if (tables->dialect == REC_SQLITE ? strcasestr(type, at->begins) != NULL
            : tables->dialect == REC_POSTGRES
                ? strcmp(type, at->begins) == 0
                : strncasecmp(type, at->begins, strlen(at->begins)) == 0)
            break;
    return at;
}

static void rec_type_set(const hf_tables *tables, const char *type, rec_column *column)
{
    const rec_type_name *it = rec_type_of(tables, type);
    bool whole = strstr(type, "unsigned") != NULL;
    column->holds = it->holds;
    column->most = it->bits == 64
                       ? INT64_MAX
                       : ((INT64_C(1) << (it->bits - (whole || it->bits == 0 ? 0 : 1))) - 1);
    column->least = whole ? 0 : it->bits == 64 ? INT64_MIN : -column->most - 1;
    if (it->holds == REC_BOOL && it->bits == 0)
        column->least = 0, column->most = 1;
    bool exact = it->holds == REC_INT || it->holds == REC_BOOL || it->holds == REC_BYTES ||
                 (it->holds == REC_TEXT && strncasecmp(type, "char", 4) != 0) ||
                 (it->holds == REC_REAL && strncasecmp(type, "double", 6) == 0);
    column->lossy =
        !exact || strncmp(type, "character", 10) == 0 || strncmp(type, "binary", 6) == 0;
    if (strncmp(type, "character varying", 17) == 0)
        column->lossy = false;
}

/* The expression that reads a column, the same whatever the settings of the connection are. */
static const char *rec_reading(hf_tables *tables, const char *type, const rec_column *column)
{
    hf_buffer text = {0};
    const char *form = "%s";
    if (tables->dialect == REC_MYSQL) {
        if (column->holds == REC_REAL)
            form = "%s+0e0";
        else if (strncmp(type, "bit", 3) == 0)
            form = "%s+0";
    } else if (tables->dialect == REC_POSTGRES) {
        switch (column->holds) {
        case REC_REAL:
            form = "%s::float8";
            break;
        case REC_DATE:
            form = "to_char(%s, 'YYYY-MM-DD')";
            break;
        case REC_STAMP:
            form = "to_char(%s, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')";
            break;
        case REC_INSTANT:
            form = "to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
            break;
        case REC_INT:
        case REC_BOOL:
        case REC_BYTES:
            break;
        default:
            form = "%s::text";
        }
    }
    const char *mark = strstr(form, "%s");
    hf_buffer_print(&text, "%.*s%s%s", (int)(mark - form), form, column->quoted, mark + 2);
    char *out =
        text.failed ? NULL : hf_arena_text(&tables->arena, (hf_slice){text.text, text.size});
    hf_buffer_done(&text);
    return out;
}

/* ---- columns ---- */

static hf_status rec_catalog_column(hf_tables *tables, rec_table *table, hf_stmt *stmt,
                                    hf_error *err)
{
    if (table->count == REC_COLUMNS_MAX)
        return hf_fail(err, HF_INVALID, "The table %s has more than %d columns.", table->name,
                       REC_COLUMNS_MAX);
    rec_column *column = &table->columns[table->count];
    char *type = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 1));
    column->name = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 0));
    column->quoted = column->name == NULL ? NULL : rec_quote(tables, &tables->arena, column->name);
    if (type == NULL || column->quoted == NULL)
        return hf_fail_memory(err);
    column->type = type;
    int64_t place = hf_stmt_column_int(stmt, 2);
    column->null_ok = hf_stmt_column_int(stmt, 3) != 0;
    column->made = hf_stmt_column_int(stmt, 4) != 0;
    column->generated = hf_stmt_column_int(stmt, 5) != 0;
    column->chars_max = (size_t)hf_stmt_column_int(stmt, 6);
    if (hf_stmt_column_int(stmt, 7) != 0 && strcasecmp(column->name, "holdfast") == 0)
        table->guard = REC_GUARD_HIDDEN;
    rec_type_set(tables, type, column);
    column->read = rec_reading(tables, type, column);
    if (column->read == NULL)
        return hf_fail_memory(err);
    if (place > REC_KEY_MAX)
        return hf_fail(err, HF_INVALID, "The key of %s has more than %d columns.", table->name,
                       REC_KEY_MAX);
    if (place > 0) {
        table->key[place - 1] = table->count;
        table->key_count = place > (int64_t)table->key_count ? (size_t)place : table->key_count;
    }
    table->count++;
    return HF_OK;
}

/* SQLite makes the value of a key that is one column of the type INTEGER. */
static void rec_catalog_rowid(const hf_tables *tables, rec_table *table)
{
    rec_column *column = &table->columns[table->key[0]];
    if (tables->dialect == REC_SQLITE && table->key_count == 1 && column->holds == REC_INT)
        column->made = true;
    for (size_t i = 0; i < table->key_count; i++)
        table->columns[table->key[i]].null_ok = false;
}

/* As many as there are, instead of as many as there may be. */
static hf_status rec_catalog_keep(hf_tables *tables, rec_table *table, hf_error *err)
{
    rec_column *all = table->columns;
    table->columns = hf_arena_alloc(&tables->arena, (table->count + 1) * sizeof *all);
    if (table->columns != NULL)
        memcpy(table->columns, all, table->count * sizeof *all);
    hf_free(all);
    return table->columns == NULL ? hf_fail_memory(err) : HF_OK;
}

static hf_status rec_catalog_columns(hf_tables *tables, hf_db *db, rec_table *table, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    table->columns = hf_alloc(REC_COLUMNS_MAX * sizeof *table->columns);
    hf_status status = table->columns == NULL
                           ? hf_fail_memory(err)
                           : rec_catalog_ask(tables, db, table, REC_CATALOG_COLUMNS, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row)
        status = rec_catalog_column(tables, table, stmt, err);
    hf_stmt_free(stmt);
    if (table->columns != NULL && rec_catalog_keep(tables, table, err) != HF_OK)
        return HF_NO_MEMORY;
    if (status == HF_OK && table->key_count == 0)
        return hf_fail(err, HF_INVALID, "The table %s has no primary key, which records need.",
                       table->name);
    if (status == HF_OK)
        rec_catalog_rowid(tables, table);
    return status;
}

/* ---- guards ---- */

/* The column of the number leaves the list: it is no value of the record. */
static hf_status rec_catalog_carried(hf_tables *tables, rec_table *table, size_t at,
                                     hf_stmt *stmt, hf_error *err)
{
    static const char *const checks[] = {[REC_GUARD_VERSION] = "version",
                                         [REC_GUARD_LOCK] = "lock",
                                         [REC_GUARD_SAVE] = "save"};
    char check[16] = "", version[HF_TEXT_SIZE] = "";
    table->carried = table->columns[at].quoted;
    table->guard_type = "";
    if (stmt != NULL) {
        hf_slice_copy(check, sizeof check, hf_stmt_column_text(stmt, 0));
        hf_slice_copy(version, sizeof version, hf_stmt_column_text(stmt, 1));
        table->guard_type = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 2));
        for (rec_guard it = REC_GUARD_VERSION; it <= REC_GUARD_SAVE; it++)
            if (strcmp(checks[it], check) == 0)
                table->guard = it;
    }
    table->count--;
    memmove(&table->columns[at], &table->columns[at + 1],
            (table->count - at) * sizeof *table->columns);
    for (size_t i = 0; i < table->key_count; i++)
        table->key[i] -= table->key[i] > at;
    int counted = rec_column_named(table, version);
    table->carries = counted < 0 ? table->count : (size_t)counted;
    return table->guard_type == NULL ? hf_fail_memory(err) : HF_OK;
}

/* A column `holdfast` is the guard's where the table of guards says so; a guard by steps of the
 * version has none. Who may not read that table knows it by its comment. */
static hf_status rec_catalog_guard(hf_tables *tables, hf_db *db, rec_table *table, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false, hidden = table->guard == REC_GUARD_HIDDEN;
    int at = rec_column_named(table, "holdfast");
    table->guard = REC_OPEN;
    if (at < 0 || table->columns[at].holds != REC_INT || !table->columns[at].null_ok)
        return HF_OK;
    hf_status status = rec_catalog_ask(tables, db, table, REC_CATALOG_GUARD, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    hf_failure failure = status == HF_OK ? HF_FAILURE_OTHER : hf_db_failure(db);
    bool unknown = failure == HF_FAILURE_DENIED || failure == HF_FAILURE_MISSING ||
                   (status == HF_INTERNAL && tables->dialect == REC_SQLITE);
    bool step = status == HF_OK && row &&
                hf_slice_equal(hf_stmt_column_text(stmt, 0), hf_slice_of("step"));
    if (unknown)
        status = HF_OK;
    if (status == HF_OK && !step && (row || (unknown && hidden))) {
        table->guard = REC_GUARD_HIDDEN;
        status = rec_catalog_carried(tables, table, (size_t)at, row ? stmt : NULL, err);
    }
    hf_stmt_free(stmt);
    return status;
}

static hf_status rec_catalog_references(hf_tables *tables, hf_db *db, rec_table *table,
                                        hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    enum { MAX = 64 };
    table->names = hf_arena_alloc(&tables->arena, MAX * sizeof *table->names);
    hf_status status = table->names == NULL
                           ? hf_fail_memory(err)
                           : rec_catalog_ask(tables, db, table, REC_CATALOG_REFERENCES, &stmt, err);
    while (status == HF_OK && table->names_count < MAX &&
           (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        char *name = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 1));
        table->names[table->names_count++] = name;
        if (name == NULL)
            status = hf_fail_memory(err);
    }
    hf_stmt_free(stmt);
    return status;
}

static hf_status rec_catalog_find(hf_tables *tables, hf_db *db, rec_table *table, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    hf_status status = rec_catalog_ask(tables, db, table, REC_CATALOG_FIND, &stmt, err);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row && hf_stmt_column_text(stmt, 2).size > 0) {
        hf_slice engine = hf_stmt_column_text(stmt, 2);
        status = hf_fail(err, HF_INVALID,
                         "The table %s is kept by %.*s, which has no transactions; change it: "
                         "ALTER TABLE %s ENGINE=InnoDB.",
                         table->as->name, (int)engine.size, engine.at, table->as->name);
    }
    if (status == HF_OK && row) {
        bool named = table->schema[0] != '\0';
        table->lockable = hf_stmt_column_int(stmt, 3) != 0;
        table->schema = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 0));
        table->name = hf_arena_text(&tables->arena, hf_stmt_column_text(stmt, 1));
        char *name = table->name == NULL ? NULL : rec_quote(tables, &tables->arena, table->name);
        char *schema =
            table->schema == NULL ? NULL : rec_quote(tables, &tables->arena, table->schema);
        hf_buffer full = {0};
        if (name != NULL && schema != NULL)
            hf_buffer_print(&full, "%s%s%s", named ? schema : "", named ? "." : "", name);
        table->quoted = full.failed || full.text == NULL
                            ? NULL
                            : hf_arena_text(&tables->arena, (hf_slice){full.text, full.size});
        hf_buffer_done(&full);
        if (table->quoted == NULL)
            status = hf_fail_memory(err);
    }
    hf_stmt_free(stmt);
    if (status == HF_OK && !row)
        return hf_fail(err, HF_INVALID, "There is no table %s in %s.", table->as->name,
                       tables->path);
    return status;
}

hf_status rec_catalog_read(hf_tables *tables, hf_db *db, rec_table *table, hf_error *err)
{
    hf_status status = rec_catalog_find(tables, db, table, err);
    if (status == HF_OK)
        status = rec_catalog_columns(tables, db, table, err);
    if (status == HF_OK)
        status = rec_catalog_guard(tables, db, table, err);
    if (status == HF_OK)
        status = rec_catalog_references(tables, db, table, err);
    return status;
}
