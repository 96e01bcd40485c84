/* SPDX-License-Identifier: MIT */
/* The table address: members of the aggregate, up to one of a kind. They have no lock and no
 * version of their own: whoever changes one saves the customer. */
#include "mapper.h"

#include <string.h>

static int member_kind(const char *name)
{
    for (int kind = 0; kind < ADDRESS_KINDS; kind++)
        if (strcmp(address_kinds[kind], name) == 0)
            return kind;
    return -1;
}

static hf_status members_load(sqlite3 *db, customer *it, hf_error *err)
{
    sqlite3_stmt *stmt = database_prepare(
        db, "SELECT kind, street, postcode, city, country FROM address WHERE customer = ?", err);
    if (stmt == NULL)
        return err->status;
    hf_status status = HF_OK;
    sqlite3_bind_int64(stmt, 1, it->id);
    int found;
    while (status == HF_OK && (found = sqlite3_step(stmt)) != SQLITE_DONE) {
        int kind =
            found == SQLITE_ROW ? member_kind((const char *)sqlite3_column_text(stmt, 0)) : -1;
        if (found != SQLITE_ROW)
            status = database_failed(db, err);
        for (int part = 0; kind >= 0 && part < ADDRESS_PARTS; part++)
            if (!customer_set(it, address_begin(kind) + part,
                              (const char *)sqlite3_column_text(stmt, part + 1)))
                status = fail(err, HF_INTERNAL, "Customer %lld can't be shown.", (long long)it->id);
    }
    sqlite3_finalize(stmt);
    return status;
}

static hf_status members_remove(sqlite3 *db, int64_t id, hf_error *err)
{
    sqlite3_stmt *stmt = database_prepare(db, "DELETE FROM address WHERE customer = ?", err);
    if (stmt == NULL)
        return err->status;
    sqlite3_bind_int64(stmt, 1, id);
    return database_finish(db, stmt, err);
}

static hf_status member_store(sqlite3 *db, const customer *it, int kind, hf_error *err)
{
    sqlite3_stmt *stmt =
        database_prepare(db,
                         "INSERT INTO address (customer, kind, street, postcode, city, country)"
                         " VALUES (?, ?, ?, ?, ?, ?)",
                         err);
    if (stmt == NULL)
        return err->status;
    sqlite3_bind_int64(stmt, 1, it->id);
    sqlite3_bind_text(stmt, 2, address_kinds[kind], -1, SQLITE_STATIC);
    for (int part = 0; part < ADDRESS_PARTS; part++)
        sqlite3_bind_text(stmt, part + 3, it->text[address_begin(kind) + part], -1, SQLITE_STATIC);
    return database_finish(db, stmt, err);
}

static hf_status members_store(sqlite3 *db, const customer *it, hf_error *err)
{
    hf_status status = members_remove(db, it->id, err);
    for (int kind = 0; status == HF_OK && kind < ADDRESS_KINDS; kind++)
        if (address_exists(it, kind))
            status = member_store(db, it, kind, err);
    return status;
}

const mapper address_mapper = {
    .schema =
        "CREATE TABLE IF NOT EXISTS address (customer INTEGER NOT NULL REFERENCES customer (id),"
        " kind TEXT NOT NULL, street TEXT NOT NULL, postcode TEXT NOT NULL, city TEXT NOT NULL,"
        " country TEXT NOT NULL, PRIMARY KEY (customer, kind)) WITHOUT ROWID",
    .load = members_load,
    .store = members_store,
    .remove = members_remove,
};
