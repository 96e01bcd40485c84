/* SPDX-License-Identifier: MIT */
/* Whole rows between the working set and SQL: one walk over the table of fields for each way. */
#include "store/sql_rows.h"

#include "base/error.h"
#include "lock/fields_walk.h"

HF_COLUMNS(lock_columns, HF_LOCK_FIELDS);
HF_COLUMNS(event_columns, HF_EVENT_FIELDS);

HF_WALK int sql_rows_bind(hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask,
                          const void *row)
{
    HF_UNROLL
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++) {
        if (hf_row_field_is_out(field, mask))
            continue;
        if (field->kind == HF_ROW_HASH) {
            hf_slice bytes = hf_walk_text(field, row);
            hf_stmt_value(stmt, at, HF_VALUE_BYTES,
                          &(hf_value){.null = bytes.size == 0, .bytes = bytes});
        } else if (hf_walk_is_text(field))
            hf_stmt_text(stmt, at, hf_walk_text(field, row));
        else if (field->flags & HF_MAYBE)
            hf_stmt_int_or_null(stmt, at, hf_walk_number(field, row));
        else
            hf_stmt_int(stmt, at, hf_walk_number(field, row));
        at++;
    }
    return at;
}

/* Locks and events are what nearly every op writes. */
int sql_bind_row(hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask, const void *row)
{
    static const hf_row_fields locks = {.fields = lock_columns,
                                        .count = sizeof lock_columns / sizeof *lock_columns};
    static const hf_row_fields events = {.fields = event_columns,
                                         .count = sizeof event_columns / sizeof *event_columns};
    if (of == &hf_lock_fields && mask == HF_EVERY)
        return sql_rows_bind(stmt, at, &locks, HF_EVERY, row);
    if (of == &hf_event_fields && mask == HF_EVERY)
        return sql_rows_bind(stmt, at, &events, HF_EVERY, row);
    return sql_rows_bind(stmt, at, of, mask, row);
}

/* A name of an enum that a newer program wrote, or bytes that are no hash of ours. */
static void sql_rows_refuse(sql_conn *conn, const hf_row_fields *of, const hf_row_field *field,
                            hf_slice value)
{
    if (conn->status == HF_OK)
        conn->status =
            hf_fail(conn->err, HF_UNAVAILABLE,
                    "The %s \"%.*s\" in the table %s of %s is not known to this version; "
                    "upgrade holdfast.",
                    field->column, field->kind == HF_ROW_HASH ? 0 : (int)value.size, value.at,
                    of->name, hf_db_path(conn->db));
}

int sql_borrow_row(hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask, void *row)
{
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++) {
        if (hf_row_field_is_out(field, mask))
            continue;
        if (field->kind == HF_ROW_HASH)
            hf_row_field_set_text(field, row, hf_stmt_column_blob(stmt, at));
        else if (hf_row_field_is_text(field))
            hf_row_field_set_text(field, row, hf_stmt_column_text(stmt, at));
        else
            hf_row_field_set_number(field, row, hf_stmt_column_int(stmt, at));
        at++;
    }
    return at;
}

static void sql_rows_read(sql_conn *conn, hf_stmt *stmt, int at, const hf_row_fields *of,
                          const hf_row_field *field, void *row)
{
    hf_slice text;
    if (!hf_row_field_is_text(field)) {
        hf_row_field_set_number(field, row, hf_stmt_column_int(stmt, at));
        return;
    }
    if (field->kind == HF_ROW_HASH)
        text = hf_stmt_column_blob(stmt, at);
    else
        text = hf_stmt_column_text(stmt, at);
    if (field->kind == HF_ROW_TEXT && !hf_arena_copy(&conn->rows.arena, text, &text))
        sql_out_of_memory(conn);
    else if (!hf_row_field_set_text(field, row, text))
        sql_rows_refuse(conn, of, field, text);
}

int sql_read_row(sql_conn *conn, hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask,
                 void *row)
{
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++)
        if (!hf_row_field_is_out(field, mask))
            sql_rows_read(conn, stmt, at++, of, field, row);
    return at;
}

hf_session_row *sql_read_session_id(sql_conn *conn, hf_stmt *stmt, int at)
{
    char id[HF_SESSION_ID_SIZE] = "";
    hf_slice_copy(id, sizeof id, hf_stmt_column_text(stmt, at));
    hf_session_row *row = hf_rows_session(&conn->rows, id);
    if (row == NULL)
        sql_out_of_memory(conn);
    return row;
}

hf_resource_row *sql_read_name(sql_conn *conn, hf_stmt *stmt, int at)
{
    hf_resource_row *row = hf_rows_resource(&conn->rows, hf_stmt_column_text(stmt, at),
                                            hf_stmt_column_text(stmt, at + 1), true);
    if (row == NULL)
        sql_out_of_memory(conn);
    return row;
}

int sql_columns(const hf_row_fields *of, unsigned mask)
{
    int count = 0;
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++)
        count += !hf_row_field_is_out(field, mask);
    return count;
}

const char *sql_kinds(sql_conn *conn, const hf_row_fields *of, unsigned mask, const char *more)
{
    size_t count = (size_t)sql_columns(of, mask), size = count + strlen(more);
    char *kinds = hf_arena_alloc(&conn->rows.arena, size + 1), *at = kinds;
    if (kinds == NULL) {
        sql_out_of_memory(conn);
        return NULL;
    }
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++)
        if (!hf_row_field_is_out(field, mask))
            *at++ = field->kind == HF_ROW_HASH ? 'b' : hf_row_field_is_text(field) ? 't' : 'i';
    memcpy(at, more, size - count + 1);
    return kinds;
}

hf_value *sql_set_row(hf_value *value, const hf_row_fields *of, unsigned mask, const void *row)
{
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++) {
        if (hf_row_field_is_out(field, mask))
            continue;
        if (hf_row_field_is_text(field))
            hf_set_text(value, hf_row_field_text(field, row));
        else if (field->flags & HF_MAYBE)
            hf_set_int_or_null(value, hf_row_field_number(field, row));
        else
            hf_set_int(value, hf_row_field_number(field, row));
        value++;
    }
    return value;
}

sql_slots sql_read_slots(sql_conn *conn, hf_stmt *stmt, sql_slots at, const hf_row_fields *of,
                         unsigned mask, void *row)
{
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++) {
        if (hf_row_field_is_out(field, mask))
            continue;
        int *place = field->kind == HF_ROW_HASH    ? &at.bytes
                     : hf_row_field_is_text(field) ? &at.text
                                                   : &at.number;
        sql_rows_read(conn, stmt, (*place)++, of, field, row);
    }
    return at;
}
