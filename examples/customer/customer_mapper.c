/* SPDX-License-Identifier: MIT */
/* The table customer: the root of the aggregate. */
#include "mapper.h"

static hf_status root_load(sqlite3 *db, customer *it, hf_error *err)
{
    sqlite3_stmt *stmt =
        database_prepare(db, "SELECT name, email, phone, note FROM customer WHERE id = ?", err);
    if (stmt == NULL)
        return err->status;
    sqlite3_bind_int64(stmt, 1, it->id);
    int found = sqlite3_step(stmt);
    hf_status status = found == SQLITE_ROW ? HF_OK : database_failed(db, err);
    for (int i = 0; found == SQLITE_ROW && i < ROOT_FIELDS; i++)
        if (!customer_set(it, i, (const char *)sqlite3_column_text(stmt, i)))
            status = fail(err, HF_INTERNAL, "Customer %lld can't be shown.", (long long)it->id);
    if (found == SQLITE_DONE)
        status = fail(err, HF_NOT_FOUND, "There is no customer %lld.", (long long)it->id);
    sqlite3_finalize(stmt);
    return status;
}

static hf_status root_store(sqlite3 *db, const customer *it, hf_error *err)
{
    sqlite3_stmt *stmt = database_prepare(
        db,
        "INSERT INTO customer (id, name, email, phone, note) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email,"
        " phone = excluded.phone, note = excluded.note",
        err);
    if (stmt == NULL)
        return err->status;
    sqlite3_bind_int64(stmt, 1, it->id);
    for (int i = 0; i < ROOT_FIELDS; i++)
        sqlite3_bind_text(stmt, i + 2, it->text[i], -1, SQLITE_STATIC);
    return database_finish(db, stmt, err);
}

static hf_status root_remove(sqlite3 *db, int64_t id, hf_error *err)
{
    sqlite3_stmt *stmt = database_prepare(db, "DELETE FROM customer WHERE id = ?", err);
    if (stmt == NULL)
        return err->status;
    sqlite3_bind_int64(stmt, 1, id);
    return database_finish(db, stmt, err);
}

const mapper customer_mapper = {
    .schema = "CREATE TABLE IF NOT EXISTS customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
              " email TEXT NOT NULL, phone TEXT NOT NULL, note TEXT NOT NULL)",
    .load = root_load,
    .store = root_store,
    .remove = root_remove,
};
