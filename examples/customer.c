/* SPDX-License-Identifier: MIT */
/* Records: a customer with addresses is one aggregate. Alice and Bob both open it; Alice moves an
 * address, Bob changes the phone number. The second to save is told what changed, column by
 * column, and nothing of the first's work is lost. */
#include <holdfast/holdfast.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const hf_table tables[] = {
    {.name = "customer", .version = "version", .by = "changed_by", .at = "changed_at"},
    {.name = "address", .parent = "customer", .link = "customer_id"},
};

/* The application's own tables, as it would have them anyway. */
static const char schema[] =
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, phone TEXT,"
    "  version INTEGER NOT NULL DEFAULT 1, changed_by TEXT, changed_at TEXT);"
    "CREATE TABLE address (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL"
    "  REFERENCES customer (id), city TEXT NOT NULL);";

static hf_error err;

static void must(hf_status status)
{
    if (status == HF_OK)
        return;
    fprintf(stderr, "%s\n", err.message);
    exit(hf_status_exit(status));
}

static hf_unit *begin(hf_tables *db, const char *user)
{
    hf_unit *unit = NULL;
    must(hf_unit_open(db, &(hf_unit_options){.user = user}, &unit, &err));
    return unit;
}

/* A customer with one address, in one transaction; both keys are the database's to make. */
static void make(hf_tables *db)
{
    hf_unit *unit = begin(db, "alice");
    hf_record *customer, *address;
    must(hf_unit_add(unit, "customer", NULL, &customer, &err));
    must(hf_record_set(customer, "name", HF_TEXT("Meier & Co"), &err));
    must(hf_unit_add(unit, "address", customer, &address, &err));
    must(hf_record_set(address, "city", HF_TEXT("Bern"), &err));
    must(hf_unit_commit(unit, NULL, &err));
    hf_unit_free(unit);
}

static const char *shown(const hf_field *value)
{
    return value->kind == HF_FIELD_TEXT ? value->text : "nothing";
}

static void print(const hf_report *report)
{
    for (size_t i = 0; i < hf_report_count(report); i++) {
        const hf_clash *clash = hf_report_at(report, i);
        printf("%s\n", clash->message);
        for (size_t j = 0; j < clash->columns_count; j++) {
            const hf_difference *it = &clash->columns[j];
            printf("  %s %s: it was %s, yours is %s, now it is %s\n", it->resource, it->column,
                   shown(&it->base), shown(&it->mine), shown(&it->theirs));
        }
    }
}

static bool play(hf_tables *db)
{
    hf_unit *alice = begin(db, "Alice"), *bob = begin(db, "Bob");
    hf_record *address, *customer, **addresses;
    hf_report *report = NULL;
    size_t found = 0;
    make(db);
    must(hf_unit_find(bob, "customer/1", &customer, &err));
    must(hf_unit_select(bob, "address", "customer_id = ?1", &HF_NUMBER(1), 1, &addresses, &found,
                        &err));
    must(hf_unit_find(alice, "address/1", &address, &err)); /* reads customer/1 too */
    must(hf_record_set(address, "city", HF_TEXT("Basel"), &err));
    must(hf_unit_commit(alice, NULL, &err)); /* moves customer/1 from version 1 to 2 */
    must(hf_record_set(customer, "phone", HF_TEXT("031 555 00 00"), &err));
    hf_status status = hf_unit_commit(bob, &report, &err);
    print(report);
    hf_report_free(report);
    hf_unit_free(alice);
    hf_unit_free(bob);
    return status == HF_STALE && found == 1;
}

int main(void)
{
    char path[] = "/tmp/holdfast-customer-XXXXXX", url[64];
    int file = mkstemp(path);
    sqlite3 *own = NULL;
    hf_tables *db = NULL;
    if (file < 0 || close(file) != 0 || sqlite3_open(path, &own) != SQLITE_OK ||
        sqlite3_exec(own, schema, NULL, NULL, NULL) != SQLITE_OK)
        return 1;
    sqlite3_close(own);
    snprintf(url, sizeof url, "sqlite:%s", path);
    must(hf_tables_open(url, tables, 2, NULL, &db, &err));
    bool good = play(db);
    hf_tables_close(db);
    unlink(path);
    return good ? 0 : 1;
}
