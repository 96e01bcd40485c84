/* SPDX-License-Identifier: MIT */
/* The face itself: each call goes to the driver of its connection. */
#include "db/db.h"

#include "base/error.h"
#include "db/driver.h"

hf_status hf_db_connect(const hf_db_driver *driver, const char *url, const hf_db_options *options,
                        hf_db **out, hf_error *err)
{
    return driver->connect(url, options, out, err);
}

void hf_db_close(hf_db *db)
{
    if (db != NULL)
        db->driver->close(db);
}

hf_db_kind hf_db_kind_of(const hf_db *db)
{
    return db->kind;
}

int hf_db_version(const hf_db *db)
{
    return db->version;
}

hf_failure hf_db_failure(const hf_db *db)
{
    return db->failure;
}

const char *hf_db_path(hf_db *db)
{
    return db->driver->path(db);
}

void *hf_db_native(hf_db *db)
{
    return db->driver->native(db);
}

bool hf_db_alive(hf_db *db)
{
    return db->driver->alive(db);
}

bool hf_db_fresh(hf_db *db)
{
    return db->driver->fresh == NULL || db->driver->fresh(db);
}

int hf_db_socket(hf_db *db)
{
    return db->driver->socket == NULL ? -1 : db->driver->socket(db);
}

int64_t hf_db_number(hf_db *db)
{
    return db->driver->number == NULL ? 0 : db->driver->number(db);
}

bool hf_db_in_transaction(hf_db *db)
{
    return db->driver->in_transaction(db);
}

bool hf_db_transaction_failed(hf_db *db)
{
    return db->driver->transaction_failed(db);
}

void hf_db_patience(hf_db *db, int64_t us)
{
    if (db->driver->patience != NULL)
        db->driver->patience(db, us);
}

hf_status hf_db_run(hf_db *db, const char *sql, hf_error *err)
{
    return db->driver->run(db, sql, err);
}

hf_status hf_db_ask(hf_db *db, const char *sql, char *out, size_t size, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    out[0] = '\0';
    hf_status status = hf_stmt_new(db, sql, &stmt, err);
    if (status != HF_OK || stmt == NULL)
        return status;
    status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row)
        hf_slice_copy(out, size, hf_stmt_column_text(stmt, 0));
    hf_stmt_reset(stmt);
    hf_stmt_free(stmt);
    return status;
}

/* ---- transactions ---- */

hf_status hf_db_begin(hf_db *db, hf_isolation isolation, bool read_only, hf_error *err)
{
    return hf_db_run(db, db->driver->begin[(read_only ? 3 : 0) + (int)isolation], err);
}

const char *hf_db_begin_text(const hf_db *db, hf_isolation isolation)
{
    return db->kind == HF_DB_POSTGRES ? db->driver->begin[isolation] : NULL;
}

hf_status hf_db_commit(hf_db *db, hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_status status = hf_stmt_new(db, "COMMIT", &stmt, err);
    if (status != HF_OK || stmt == NULL)
        return status;
    status = hf_stmt_run(stmt, err);
    hf_stmt_free(stmt);
    return status;
}

hf_status hf_db_rollback(hf_db *db, hf_error *err)
{
    return db->driver->rollback(db, err);
}

/* ---- statements ---- */

hf_status hf_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err)
{
    return db->driver->stmt_new(db, sql, out, err);
}

void hf_stmt_free(hf_stmt *stmt)
{
    if (stmt != NULL)
        stmt->db->driver->stmt_free(stmt);
}

void hf_stmt_int(hf_stmt *stmt, int at, int64_t number)
{
    stmt->db->driver->bind(stmt, at, HF_VALUE_INT, &(hf_value){.number = number});
}

void hf_stmt_int_or_null(hf_stmt *stmt, int at, int64_t number)
{
    stmt->db->driver->bind(stmt, at, HF_VALUE_INT,
                           &(hf_value){.null = number == 0, .number = number});
}

void hf_stmt_text(hf_stmt *stmt, int at, hf_slice text)
{
    stmt->db->driver->bind(stmt, at, HF_VALUE_TEXT,
                           &(hf_value){.null = text.size == 0, .bytes = text});
}

void hf_stmt_blob(hf_stmt *stmt, int at, const void *bytes, size_t size)
{
    stmt->db->driver->bind(stmt, at, HF_VALUE_BYTES, &(hf_value){.bytes = {bytes, size}});
}

void hf_stmt_value(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value)
{
    stmt->db->driver->bind(stmt, at, kind, value);
}

void hf_stmt_list(hf_stmt *stmt, int at, const hf_list *list)
{
    stmt->db->driver->bind_list(stmt, at, list);
}

void hf_stmt_queue(hf_stmt *stmt)
{
    stmt->db->driver->queue(stmt);
}

hf_status hf_db_send(hf_db *db, hf_error *err)
{
    return db->driver->send(db, err);
}

hf_status hf_stmt_step(hf_stmt *stmt, bool *row, hf_error *err)
{
    return stmt->db->driver->step(stmt, row, err);
}

hf_status hf_stmt_run(hf_stmt *stmt, hf_error *err)
{
    bool row = true;
    hf_status status = HF_OK;
    while (status == HF_OK && row)
        status = hf_stmt_step(stmt, &row, err);
    hf_stmt_reset(stmt);
    return status;
}

int64_t hf_stmt_changed(hf_stmt *stmt)
{
    return stmt->db->driver->changed(stmt);
}

int64_t hf_stmt_made_key(hf_stmt *stmt)
{
    return stmt->db->driver->made_key == NULL ? 0 : stmt->db->driver->made_key(stmt);
}

bool hf_stmt_column_null(hf_stmt *stmt, int at)
{
    return stmt->db->driver->column_null(stmt, at);
}

int64_t hf_stmt_column_int(hf_stmt *stmt, int at)
{
    return stmt->db->driver->column_int(stmt, at);
}

double hf_stmt_column_real(hf_stmt *stmt, int at)
{
    return stmt->db->driver->column_real(stmt, at);
}

hf_slice hf_stmt_column_text(hf_stmt *stmt, int at)
{
    return stmt->db->driver->column_text(stmt, at);
}

hf_slice hf_stmt_column_blob(hf_stmt *stmt, int at)
{
    return stmt->db->driver->column_blob(stmt, at);
}

void hf_stmt_reset(hf_stmt *stmt)
{
    stmt->db->driver->reset(stmt);
}
