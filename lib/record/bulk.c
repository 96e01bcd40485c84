/* SPDX-License-Identifier: MIT */
/* Many records at once: one UPDATE a thousand rows, joined with the keys, versions and values that
 * it is about. Only when it finds fewer rows than it should is everything rolled back and done with
 * a locking read before each update, which tells who was faster. */
#include "record/inside.h"

#include "record/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { BULK_ROWS = 1000, BULK_COLUMNS_MAX = HF_LIST_COLUMNS_MAX - REC_KEY_MAX - 2 };

typedef struct bulk_work {
    rec_work base;
    const hf_bulk *bulk;
    rec_table *table;
    size_t columns[BULK_COLUMNS_MAX];
    char kinds[HF_LIST_COLUMNS_MAX + 1]; /* of key, version, number, values */
    hf_arena arena;                      /* of everything that was spelled */
    hf_value *cells;                     /* row after row, in canonical order of their keys */
    size_t width;
    bool *lost; /* by the row's number */
    size_t saved;
} bulk_work;

/* ---- what is asked for ---- */

/* A list has one type for each of its columns. */
static hf_status bulk_check_types(const bulk_work *work, hf_error *err)
{
    const rec_table *table = work->table;
    size_t count = table->key_count + work->bulk->columns_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = i < table->key_count ? table->key[i] : work->columns[i - table->key_count];
        if (table->columns[at].holds == REC_ANY)
            return hf_fail(err, HF_INVALID,
                           "The column %s of %s has no type that says what it holds; it can't be "
                           "saved in bulk.",
                           table->columns[at].name, table->name);
    }
    return HF_OK;
}

static hf_status bulk_check(bulk_work *work, hf_tables *tables, hf_error *err)
{
    const hf_bulk *bulk = work->bulk;
    work->table = bulk == NULL ? NULL : rec_table_named(tables, bulk->table);
    if (work->table == NULL)
        return hf_fail(err, HF_INVALID, "There is no table %s here.",
                       bulk == NULL || bulk->table == NULL ? "" : bulk->table);
    const rec_table *table = work->table;
    if (table->version < 0 || table->parent != NULL || rec_locks_to_edit(table))
        return hf_fail(
            err, HF_INVALID,
            "Records of %s can't be saved in bulk: it takes a root with a version column "
            "and without locks.",
            table->name);
    if (table->guard >= REC_GUARD_LOCK)
        return hf_fail(err, HF_INVALID,
                       "Records of %s can't be saved in bulk: the table is guarded by locks or "
                       "saves; commit them in units.",
                       table->name);
    if (bulk->columns_count == 0 || bulk->columns_count > BULK_COLUMNS_MAX ||
        bulk->columns == NULL || bulk->keys == NULL || bulk->versions == NULL ||
        bulk->values == NULL)
        return hf_fail(err, HF_INVALID,
                       "A bulk sets 1 to %d columns, and has keys, versions and values.",
                       BULK_COLUMNS_MAX);
    for (size_t i = 0; i < bulk->columns_count; i++) {
        int at = rec_column_named(table, bulk->columns[i]);
        if (at < 0 || table->columns[at].generated || rec_is_key(table, (size_t)at) ||
            at == table->version || at == table->by || at == table->at)
            return hf_fail(err, HF_INVALID, "The column %s of %s can't be set in bulk.",
                           bulk->columns[i] == NULL ? "" : bulk->columns[i], table->name);
        work->columns[i] = (size_t)at;
    }
    return bulk_check_types(work, err);
}

static char bulk_letter(const hf_tables *tables, const rec_column *column)
{
    switch (column->holds) {
    case REC_BOOL:
        return tables->dialect == REC_POSTGRES ? 'u' : 'i';
    case REC_INT:
        return 'i';
    case REC_REAL:
        return 'r';
    case REC_BYTES:
        return 'b';
    default:
        return 'u';
    }
}

static void bulk_cell(char letter, const hf_field *value, hf_value *out)
{
    *out = (hf_value){.null = value->kind == HF_FIELD_NULL,
                      .number = value->number,
                      .real = value->real,
                      .bytes = {value->text == NULL ? "" : value->text, value->size}};
    if (letter == 'u' && value->kind == HF_FIELD_INT)
        out->bytes = hf_slice_of(value->number != 0 ? "1" : "0");
}

static hf_status bulk_row(bulk_work *work, hf_tables *tables, size_t row, hf_error *err)
{
    const hf_bulk *bulk = work->bulk;
    const rec_table *table = work->table;
    hf_value *cells = &work->cells[row * work->width];
    char name[HF_RESOURCE_SIZE], id[HF_ID_SIZE];
    hf_field key[REC_KEY_MAX];
    rec_table *same = NULL;
    size_t at = 0;
    if (bulk->keys[row] == NULL || strlen(bulk->keys[row]) > HF_ID_MAX)
        return hf_fail(err, HF_INVALID, "The key of row %zu is missing or too long.", row);
    snprintf(name, sizeof name, "%s/%s", table->type, bulk->keys[row]);
    hf_status status = rec_key_parse(tables, name, &work->arena, &same, key, id, err);
    for (size_t i = 0; status == HF_OK && i < table->key_count; i++, at++)
        bulk_cell(work->kinds[at], &key[i], &cells[at]);
    hf_set_int(&cells[at++], bulk->versions[row]);
    hf_set_int(&cells[at++], (int64_t)row);
    for (size_t i = 0; status == HF_OK && i < bulk->columns_count; i++, at++) {
        hf_field value = HF_NULL;
        status = rec_spell(tables, table, &table->columns[work->columns[i]],
                           bulk->values[row * bulk->columns_count + i], &work->arena, &value, err);
        bulk_cell(work->kinds[at], &value, &cells[at]);
        if (status == HF_OK && value.kind == HF_FIELD_TEXT &&
            !rec_spell_stamp(tables, &table->columns[work->columns[i]], &cells[at].bytes,
                             &work->arena))
            status = hf_fail_memory(err);
    }
    return status;
}

static hf_status bulk_prepare(bulk_work *work, hf_tables *tables, hf_error *err)
{
    const rec_table *table = work->table;
    size_t rows = work->bulk->rows, at = 0;
    for (size_t i = 0; i < table->key_count; i++)
        work->kinds[at++] = bulk_letter(tables, &table->columns[table->key[i]]);
    work->kinds[at++] = 'i';
    work->kinds[at++] = 'i';
    for (size_t i = 0; i < work->bulk->columns_count; i++)
        work->kinds[at++] = bulk_letter(tables, &table->columns[work->columns[i]]);
    work->width = at;
    work->cells = hf_arena_alloc(&work->arena, rows * work->width * sizeof *work->cells);
    work->lost = hf_arena_alloc(&work->arena, rows + 1);
    hf_status status = work->cells == NULL || work->lost == NULL ? hf_fail_memory(err) : HF_OK;
    for (size_t row = 0; status == HF_OK && row < rows; row++)
        status = bulk_row(work, tables, row, err);
    return status;
}

/* ---- statements ---- */

/* The name of a column of the source, which no table of an application has. */
static void bulk_name(const bulk_work *work, hf_buffer *out, size_t at)
{
    size_t keys = work->table->key_count;
    if (at < keys)
        hf_buffer_print(out, "hf_k%zu", at);
    else if (at < keys + 2)
        hf_buffer_print(out, "%s", at == keys ? "hf_version" : "hf_n");
    else
        hf_buffer_print(out, "hf_c%zu", at - keys - 2);
}

static void bulk_names(const bulk_work *work, hf_buffer *out)
{
    for (size_t i = 0; i < work->width; i++) {
        hf_buffer_print(out, "%s", i == 0 ? "" : ", ");
        bulk_name(work, out, i);
    }
}

/* The rows as a table u. SQLite has it before the statement, as WITH. */
static void bulk_source(const bulk_work *work, hf_buffer *out)
{
    rec_dialect dialect = work->base.conn->tables->dialect;
    if (dialect == REC_POSTGRES) {
        for (size_t i = 0; i < work->width; i++)
            hf_buffer_print(out, "%s$%zu", i == 0 ? "unnest(" : ", ", i + 1);
        hf_buffer_print(out, ") u (");
        bulk_names(work, out);
        hf_buffer_print(out, ")");
    } else if (dialect == REC_MYSQL) {
        hf_buffer_print(out, "$1[");
        bulk_names(work, out);
        hf_buffer_print(out, "] u");
    } else
        hf_buffer_print(out, "u");
}

static void bulk_with(const bulk_work *work, hf_buffer *out, size_t rows)
{
    if (work->base.conn->tables->dialect != REC_SQLITE)
        return;
    hf_buffer_print(out, "WITH u (");
    bulk_names(work, out);
    hf_buffer_print(out, ") AS (VALUES ");
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < work->width; i++)
            hf_buffer_print(out, "%s?%s",
                            i > 0     ? ","
                            : row > 0 ? ",("
                                      : "(",
                            i + 1 == work->width ? ")" : "");
    hf_buffer_print(out, ") ");
}

/* A column of the source, as its own column's type. */
static void bulk_typed(const bulk_work *work, hf_buffer *out, size_t at, const rec_column *column)
{
    hf_buffer_print(out, "u.");
    bulk_name(work, out, at);
    if (work->base.conn->tables->dialect == REC_POSTGRES)
        hf_buffer_print(out, "::%s", column->type);
}

static void bulk_match(const bulk_work *work, hf_buffer *out, bool version)
{
    const rec_table *table = work->table;
    for (size_t i = 0; i < table->key_count; i++) {
        const rec_column *column = &table->columns[table->key[i]];
        hf_buffer_print(out, "%st.%s = ", i == 0 ? "" : " AND ", column->quoted);
        bulk_typed(work, out, i, column);
    }
    if (version)
        hf_buffer_print(out, " AND t.%s = u.hf_version", table->columns[table->version].quoted);
}

static void bulk_set(const bulk_work *work, hf_buffer *out, size_t after)
{
    const rec_table *table = work->table;
    hf_tables *tables = work->base.conn->tables;
    const char *own = tables->dialect == REC_MYSQL ? "t." : "";
    const rec_column *version = &table->columns[table->version];
    hf_buffer_print(out, " SET %s%s = t.%s + 1", own, version->quoted, version->quoted);
    for (size_t i = 0; i < work->bulk->columns_count; i++) {
        const rec_column *column = &table->columns[work->columns[i]];
        hf_buffer_print(out, ", %s%s = ", own, column->quoted);
        bulk_typed(work, out, table->key_count + 2 + i, column);
    }
    if (table->guard == REC_GUARD_VERSION && (int)table->carries == table->version)
        hf_buffer_print(out, ", %s%s = u.hf_version", own, table->carried);
    else if (table->guard == REC_GUARD_VERSION)
        hf_buffer_print(out, ", %s%s = t.%s", own, table->carried,
                        table->columns[table->carries].quoted);
    if (table->by >= 0)
        hf_buffer_print(out, ", %s%s = %s%zu", own, table->columns[table->by].quoted,
                        tables->places, after + 1);
    if (table->at >= 0)
        hf_buffer_print(out, ", %s%s = %s", own, table->columns[table->at].quoted,
                        rec_write_clock(tables, &table->columns[table->at]));
}

static void bulk_update_text(const bulk_work *work, hf_buffer *out, size_t rows)
{
    bool mysql = work->base.conn->tables->dialect == REC_MYSQL;
    bool sqlite = work->base.conn->tables->dialect == REC_SQLITE;
    size_t after = sqlite ? rows * work->width : work->width;
    bulk_with(work, out, rows);
    hf_buffer_print(out, "UPDATE %s AS t", work->table->quoted);
    if (mysql) {
        hf_buffer_print(out, " JOIN ");
        bulk_source(work, out);
        hf_buffer_print(out, " ON ");
        bulk_match(work, out, true);
    }
    bulk_set(work, out, after);
    if (!mysql) {
        hf_buffer_print(out, " FROM ");
        bulk_source(work, out);
        hf_buffer_print(out, " WHERE ");
        bulk_match(work, out, true);
    }
}

/* Number of the row, version, who and when as they are now. */
static void bulk_look_text(const bulk_work *work, hf_buffer *out, size_t rows)
{
    const rec_table *table = work->table;
    rec_dialect dialect = work->base.conn->tables->dialect;
    bulk_with(work, out, rows);
    hf_buffer_print(out, "SELECT u.hf_n, t.%s", table->columns[table->version].quoted);
    hf_buffer_print(out, ", %s", table->by < 0 ? "NULL" : table->columns[table->by].read);
    hf_buffer_print(out, ", %s", table->at < 0 ? "NULL" : table->columns[table->at].read);
    hf_buffer_print(out, " FROM %s AS t JOIN ", table->quoted);
    bulk_source(work, out);
    hf_buffer_print(out, " ON ");
    bulk_match(work, out, false);
    hf_buffer_print(out, "%s",
                    dialect == REC_POSTGRES ? " FOR UPDATE OF t"
                    : dialect == REC_MYSQL  ? " FOR UPDATE"
                                            : "");
}

static hf_status bulk_bind(bulk_work *work, const char *sql, const hf_list *list, hf_stmt **out,
                           hf_error *err)
{
    hf_status status = rec_conn_statement(work->base.conn, sql, out, err);
    if (status == HF_OK)
        hf_stmt_list(*out, 1, list);
    return status;
}

/* ---- a thousand ---- */

/* The rows from *from on that are not lost. */
static hf_list bulk_part(const bulk_work *work, hf_arena *arena, size_t *from)
{
    hf_list list;
    hf_list_init(&list, work->kinds, arena);
    for (; *from < work->bulk->rows && list.count < BULK_ROWS; (*from)++) {
        if (work->lost[*from])
            continue;
        hf_value *row = hf_list_add(&list);
        if (row == NULL)
            break;
        memcpy(row, &work->cells[*from * work->width], work->width * sizeof *row);
    }
    return list;
}

static hf_status bulk_update(bulk_work *work, const hf_list *list, hf_error *err)
{
    hf_buffer sql = {0};
    hf_stmt *stmt = NULL;
    bool row = false, sqlite = work->base.conn->tables->dialect == REC_SQLITE;
    hf_value user = {.bytes = hf_slice_of(work->base.unit->user)};
    bulk_update_text(work, &sql, list->count);
    hf_status status = sql.failed || list->failed ? hf_fail_memory(err)
                                                  : bulk_bind(work, sql.text, list, &stmt, err);
    hf_buffer_done(&sql);
    if (status == HF_OK && work->table->by >= 0)
        hf_stmt_value(stmt, (int)(sqlite ? list->count * work->width : work->width) + 1,
                      HF_VALUE_UTF8, &user);
    if (status == HF_OK)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK)
        work->saved += (size_t)hf_stmt_changed(stmt);
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    return status;
}

/* ---- who was faster ---- */

static hf_status bulk_report(bulk_work *work, size_t row, hf_stmt *stmt, hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    const rec_table *table = work->table;
    snprintf(name, sizeof name, "%s/%s", table->type, work->bulk->keys[row]);
    hf_clash *clash =
        rec_report_add(work->base.report, stmt == NULL ? HF_CLASH_DELETED : HF_CLASH_CHANGED, name);
    if (clash == NULL)
        return hf_fail_memory(err);
    clash->expected = work->bulk->versions[row];
    if (stmt != NULL) {
        hf_field at = HF_NULL;
        clash->actual = hf_stmt_column_int(stmt, 1);
        hf_slice_copy(clash->by, sizeof clash->by, hf_stmt_column_text(stmt, 2));
        if (table->at >= 0)
            (void)rec_read_field(work->base.conn->tables, table, &table->columns[table->at], stmt,
                                 3, work->base.arena, &at, NULL);
        clash->at_us = rec_time_of(&at);
    }
    rec_report_sentence(clash, "");
    return HF_OK;
}

static hf_status bulk_look(bulk_work *work, const hf_list *list, hf_error *err)
{
    hf_buffer sql = {0};
    hf_stmt *stmt = NULL;
    bool row = true, *there = hf_arena_alloc(&work->arena, work->bulk->rows + 1);
    bulk_look_text(work, &sql, list->count);
    hf_status status = sql.failed || list->failed || there == NULL
                           ? hf_fail_memory(err)
                           : bulk_bind(work, sql.text, list, &stmt, err);
    hf_buffer_done(&sql);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        size_t number = (size_t)hf_stmt_column_int(stmt, 0);
        there[number] = true;
        if (hf_stmt_column_int(stmt, 1) == work->bulk->versions[number])
            continue;
        work->lost[number] = true;
        status = bulk_report(work, number, stmt, err);
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    for (size_t i = 0; status == HF_OK && i < list->count; i++) {
        size_t number = (size_t)list->values[i * work->width + work->table->key_count + 1].number;
        if (there[number])
            continue;
        work->lost[number] = true;
        status = bulk_report(work, number, NULL, err);
    }
    return status;
}

/* ---- all of it ---- */

static hf_status bulk_pass(bulk_work *work, bool careful, hf_error *err)
{
    hf_arena arena = {0};
    hf_status status = HF_OK;
    work->saved = 0;
    for (size_t from = 0; status == HF_OK && careful && from < work->bulk->rows;) {
        hf_list list = bulk_part(work, &arena, &from);
        status = bulk_look(work, &list, err);
        hf_arena_reset(&arena);
    }
    if (status == HF_OK && careful && !work->bulk->skip)
        status = rec_commit_stale(&work->base, err);
    size_t wanted = 0;
    for (size_t from = 0; status == HF_OK && from < work->bulk->rows;) {
        hf_list list = bulk_part(work, &arena, &from);
        wanted += list.count;
        if (list.count > 0)
            status = bulk_update(work, &list, err);
        hf_arena_reset(&arena);
    }
    hf_arena_done(&arena);
    if (status == HF_OK && work->saved != wanted)
        return careful ? hf_fail(err, HF_INVALID, "A record is named twice in one bulk of %s.",
                                 work->table->name)
                       : HF_NOT_FOUND;
    return status;
}

static hf_status bulk_run(bulk_work *work, hf_error *err)
{
    hf_status status = HF_NOT_FOUND;
    for (int careful = 0; careful < 2 && status == HF_NOT_FOUND; careful++) {
        status = rec_conn_begin(work->base.conn, HF_READ_COMMITTED, err);
        if (status == HF_OK)
            status = bulk_pass(work, careful == 1, err);
        if (status == HF_OK)
            status = hf_db_commit(work->base.conn->db, err);
        if (status != HF_OK)
            (void)hf_db_rollback(work->base.conn->db, NULL);
    }
    if (status == HF_OK)
        rec_conn_tidy(work->base.conn);
    return status;
}

hf_status hf_tables_bulk(hf_tables *tables, const hf_unit_options *options, const hf_bulk *bulk,
                         size_t *saved, hf_report **out, hf_error *err)
{
    bulk_work work = {.bulk = bulk};
    if (out != NULL)
        *out = NULL;
    hf_status status = hf_unit_open(tables, options, &work.base.unit, err);
    if (status == HF_OK)
        status = bulk_check(&work, tables, err);
    if (status == HF_OK)
        status = bulk_prepare(&work, tables, err);
    work.base.report = status == HF_OK ? rec_report_new() : NULL;
    if (status == HF_OK && work.base.report == NULL)
        status = hf_fail_memory(err);
    if (status == HF_OK) {
        work.base.arena = &work.base.report->arena;
        status = rec_conn_take(tables, &work.base.conn, err);
    }
    if (status == HF_OK)
        status = bulk_run(&work, err);
    rec_conn_give(work.base.conn);
    if (saved != NULL)
        *saved = status == HF_OK ? work.saved : 0;
    if (out != NULL && (status == HF_OK || status == HF_STALE))
        *out = work.base.report;
    else
        hf_report_free(work.base.report);
    hf_arena_done(&work.arena);
    hf_unit_free(work.base.unit);
    return status;
}
