/* SPDX-License-Identifier: MIT */
/* Whole rows between the working set and SQL, by the table of fields. The mask is the one that the
 * statement's text in sql/ has behind the row's name (tools/fields.py), so that columns and
 * parameters are in the same order on both sides. */
#ifndef HF_STORE_SQL_ROWS_H
#define HF_STORE_SQL_ROWS_H

#include "lock/fields.h"
#include "store/sql_conn.h"

/* Binds the fields to the parameters from `at` on; the next parameter. */
int sql_bind_row(hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask, const void *row);

/* Reads the columns from `at` on; texts are copied into the set's arena. References are passed
 * over: sql_read_name reads them. The next column. */
int sql_read_row(sql_conn *conn, hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask,
                 void *row);
/* The same, but texts are borrowed until the statement's next step. */
int sql_borrow_row(hf_stmt *stmt, int at, const hf_row_fields *of, unsigned mask, void *row);

/* The session that a column names, in the set; NULL: out of memory. */
hf_session_row *sql_read_session_id(sql_conn *conn, hf_stmt *stmt, int at);
/* The resource that two columns name. */
hf_resource_row *sql_read_name(sql_conn *conn, hf_stmt *stmt, int at);

/* How many columns that are. */
int sql_columns(const hf_row_fields *of, unsigned mask);

/* For lists (db/value.h): the letters of the columns, with `more` behind them, in memory of the
 * set; and a row of values, of which the next is returned. NULL: out of memory. */
const char *sql_kinds(sql_conn *conn, const hf_row_fields *of, unsigned mask, const char *more);
hf_value *sql_set_row(hf_value *value, const hf_row_fields *of, unsigned mask, const void *row);

/* Of a UNION of different rows ({slots} in the text): where each column stands. `at` is the first
 * of the texts, then come the numbers, then the bytes. */
typedef struct sql_slots {
    int text, number, bytes;
} sql_slots;
/* Where the next column of each would stand. */
sql_slots sql_read_slots(sql_conn *conn, hf_stmt *stmt, sql_slots at, const hf_row_fields *of,
                         unsigned mask, void *row);

#endif
