/* SPDX-License-Identifier: MIT */
/* Bad input gets a sentence that says what is wrong, and nothing is changed. */
#include "record/scene.h"

#include <stdio.h>
#include <string.h>

/* Opening with one table described otherwise. */
static void bad_tables(scene *s, hf_table table, const char *part)
{
    hf_tables *records = NULL;
    expect(HF_INVALID, hf_tables_open(s->url, &table, 1, NULL, &records, &s->err), s->err);
    expect_contains(s->err.message, part);
    expect_true(records == NULL);
}

/* Tables that only one kind of database has; dropped again. */
static void bad_own_table(scene *s, hf_db_kind kind, const char *made, const char *part)
{
    char name[80];
    hf_db_kind here = hf_db_kind_of(s->db);
    if (kind != here && !(kind == HF_DB_MYSQL && here == HF_DB_MARIADB))
        return;
    scene_run(s, "DROP TABLE IF EXISTS {n}_own");
    scene_run(s, made);
    snprintf(name, sizeof name, "%s_own", s->names);
    if (part != NULL)
        bad_tables(s, (hf_table){.name = name, .version = "version"}, part);
    else { /* it is read and saved as text */
        hf_tables *tables = NULL;
        hf_unit *unit = NULL;
        hf_table own = {.name = name, .type = "own", .version = "version"};
        expect(HF_OK, hf_tables_open(s->url, &own, 1, NULL, &tables, &s->err), s->err);
        expect(HF_OK, hf_unit_open(tables, &(hf_unit_options){.user = "Alice"}, &unit, &s->err),
               s->err);
        scene_set(scene_find(unit, "own/1"), "span", HF_TEXT("[2026-02-01,2026-03-01)"));
        scene_commit(unit);
        expect_text(scene_text(scene_find(unit, "own/1"), "span"), "[2026-02-01,2026-03-01)");
        hf_unit_free(unit);
        hf_tables_close(tables);
    }
    scene_run(s, "DROP TABLE {n}_own");
}

static void types_and_engines_of_one_database(void **state)
{
    (void)state;
    scene *s = scene_open();
    bad_own_table(s, HF_DB_MYSQL,
                  "CREATE TABLE {n}_own (id INT PRIMARY KEY, version INT NOT NULL) ENGINE=MyISAM",
                  "is kept by MyISAM, which has no transactions");
    bad_own_table(s, HF_DB_POSTGRES,
                  "CREATE TABLE {n}_own (id int PRIMARY KEY, span daterange, version int NOT NULL "
                  "DEFAULT 1); INSERT INTO {n}_own (id) VALUES (1)",
                  NULL);
    if (hf_db_kind_of(s->db) == HF_DB_POSTGRES) { /* as the program wrote it */
        hf_unit *unit = scene_unit(s, "Alice");
        hf_record **found = NULL;
        size_t count = 0;
        scene_run(s, "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1), (2, 0), (3, 1)");
        for (int i = 0; i < 3; i++) {
            expect(HF_OK,
                   hf_unit_select(unit, scene_table(s, "doctor")->name,
                                  "id = ANY (ARRAY[1, 3]) AND on_call IN (SELECT * FROM "
                                  "unnest(ARRAY[1, 2]))",
                                  NULL, 0, &found, &count, &s->err),
                   s->err);
            expect_int(count, 2);
        }
        hf_unit_free(unit);
        hf_tables *quoting = NULL;
        char url[HF_URL_MAX + 80];
        snprintf(url, sizeof url, "%s%coptions=-c%%20quote_all_identifiers%%3Don", s->url,
                 strchr(s->url, '?') == NULL ? '?' : '&');
        hf_table own = {.name = scene_table(s, "customer")->name, .by = "notes"};
        expect(HF_OK, hf_tables_open(url, &own, 1, NULL, &quoting, &s->err), s->err);
        hf_tables_close(quoting);
    }
    scene_close(s);
}

static void a_description_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    scene *s = scene_open();
    hf_table good = *scene_table(s, "customer");
    hf_table wrong = good;
    wrong.name = "nowhere";
    bad_tables(s, wrong, "There is no table nowhere");
    wrong = good;
    wrong.version = "missing";
    bad_tables(s, wrong, "no column missing for its version");
    wrong.version = "changed_at";
    bad_tables(s, wrong, "can't be a version");
    wrong.version = "visits";
    bad_tables(s, wrong, "may be null");
    wrong = good;
    wrong.by = "visits";
    bad_tables(s, wrong, "can't say who");
    wrong = good;
    wrong.at = "photo";
    bad_tables(s, wrong, "can't say when");
    wrong = good;
    wrong.columns = (const hf_column[]){{.name = "colour"}, {0}};
    bad_tables(s, wrong, "no column colour");
    wrong = good;
    wrong.parent = "nobody";
    bad_tables(s, wrong, "The parent nobody");
    wrong = good;
    wrong.type = "Not/a type";
    bad_tables(s, wrong, "can't be the type");
    wrong.name = "x'; DROP TABLE y; --";
    wrong.type = "x";
    bad_tables(s, wrong, "There is no table");
    /* a set without a table */
    bad_tables(s, (hf_table){.type = "cart"}, "has no members");
    bad_tables(s, (hf_table){.type = "cart", .version = "version"}, "no columns and no parent");
    bad_tables(s, (hf_table){0}, "A table's name has");
    hf_tables *records = NULL;
    hf_table set[] = {{.type = "cart"}, *scene_table(s, "item"), *scene_table(s, "coupon")};
    set[2].link = "id";
    expect(HF_INVALID, hf_tables_open(s->url, set, 3, NULL, &records, &s->err), s->err);
    expect_contains(s->err.message, "of another type than the key of the other members");
    set[2].link = "of_cart,id";
    expect(HF_INVALID, hf_tables_open(s->url, set, 3, NULL, &records, &s->err), s->err);
    set[1].link = NULL;
    expect(HF_INVALID, hf_tables_open(s->url, set, 2, NULL, &records, &s->err), s->err);
    expect_contains(s->err.message, "no link that names its cart");
    expect(HF_INVALID, hf_tables_open("memory:", &good, 1, NULL, &records, &s->err), s->err);
    expect(HF_INVALID, hf_tables_open(s->url, NULL, 0, NULL, &records, &s->err), s->err);
    hf_table both[] = {good, good};
    expect(HF_INVALID, hf_tables_open(s->url, both, 2, NULL, &records, &s->err), s->err);
    scene_close(s);
}

static void bad_sink(void *context, const char *text)
{
    strncat(context, text, 1000);
}

static void missing_columns_are_written_as_alter_statements(void **state)
{
    (void)state;
    scene *s = scene_open();
    char sql[4096] = "";
    hf_table table = {.name = scene_table(s, "book")->name,
                      .type = "book",
                      .version = "version",
                      .by = "by_whom",
                      .at = "at_time"};
    hf_tables *records = NULL;
    expect(HF_INVALID, hf_tables_open(s->url, &table, 1, NULL, &records, &s->err), s->err);
    expect(HF_OK, hf_tables_sql(s->url, &table, 1, bad_sink, sql, &s->err), s->err);
    expect_contains(sql, "ALTER TABLE ");
    expect(HF_OK, hf_db_run(s->db, sql, &s->err), s->err);
    sql[0] = '\0';
    expect(HF_OK, hf_tables_sql(s->url, &table, 1, bad_sink, sql, &s->err), s->err);
    expect_text(sql, "");
    expect(HF_OK, hf_tables_open(s->url, &table, 1, NULL, &records, &s->err), s->err);
    hf_tables_close(records);
    scene_close(s);
}

static void a_record_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    scene *s = scene_open();
    hf_unit *unit = scene_unit(s, "alice"), *other = NULL;
    hf_record *record = (hf_record *)s, **many = NULL;
    static const struct {
        const char *resource;
        hf_status status;
        const char *part;
    } names[] = {
        {"customer/42", HF_NOT_FOUND, "There is no customer/42."},
        {"customer/x", HF_INVALID, "whole number"},
        {"customer/042", HF_INVALID, "whole number"},
        {"customer/99999999999999999999", HF_INVALID, "whole number"},
        {"nobody/1", HF_INVALID, "No table here has the type nobody."},
        {"customer", HF_INVALID, ""},
        {"line/1", HF_INVALID, "2 columns"},
        {"line/1,2,3", HF_INVALID, "2 columns"},
        {"line/1,%zz", HF_INVALID, "2 columns"},
        {NULL, HF_INVALID, "type/key"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect(names[i].status, hf_unit_find(unit, names[i].resource, &record, &s->err), s->err);
        expect_contains(s->err.message, names[i].part);
        expect_true(record == NULL);
    }
    const char *customers = scene_table(s, "customer")->name;
    expect(HF_INVALID, hf_unit_select(unit, "nope", NULL, NULL, 0, &many, NULL, &s->err), s->err);
    expect(HF_INVALID, hf_unit_select(unit, customers, "colour = 1", NULL, 0, &many, NULL, &s->err),
           s->err);
    expect(HF_INVALID, hf_unit_select(unit, customers, "id = ?1", NULL, 0, &many, NULL, &s->err),
           s->err);
    expect(HF_INVALID,
           hf_unit_select(unit, customers, "1=1; DROP TABLE x", NULL, 0, &many, NULL, &s->err),
           s->err);
    expect(HF_INVALID, hf_unit_add(unit, customers, (hf_record *)s, &record, &s->err), s->err);
    expect(HF_INVALID, hf_unit_add(unit, scene_table(s, "address")->name, NULL, &record, &s->err),
           s->err);
    expect(HF_INVALID, hf_unit_remove(unit, NULL, &s->err), s->err);
    expect(HF_INVALID, hf_unit_open(s->records, &(hf_unit_options){0}, &other, &s->err), s->err);
    expect(HF_INVALID, hf_unit_open(s->records, NULL, &other, &s->err), s->err);
    expect(HF_INVALID, hf_unit_rely(unit, &(hf_reliance){.kind = 99}, &s->err), s->err);
    hf_unit_free(unit);
    scene_close(s);
}

/* Opened elsewhere, a session holds nothing here. */
static void a_session_of_another_database_is_refused(void **state)
{
    (void)state;
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_secret (id, word) VALUES (1, 'a');"
                 "INSERT INTO {n}_policy (id, premium) VALUES (1, 100)");
    hf_manager *elsewhere = NULL;
    hf_session *session = NULL;
    hf_session_options alice = {.user = "alice"};
    hf_record *record = NULL;
    expect(HF_OK, hf_manager_open("memory:", &elsewhere, &s->err), s->err);
    expect(HF_OK, hf_session_open(elsewhere, &alice, &session, &s->err), s->err);
    hf_unit *unit = scene_unit_of(s, session);
    expect(HF_EXPIRED, hf_unit_find(unit, "secret/1", &record, &s->err), s->err);
    expect_contains(s->err.message, "not known in its database");
    expect_true(record == NULL);
    scene_set(scene_find(unit, "policy/1"), "premium", HF_NUMBER(1));
    scene_refused(unit, HF_EXPIRED);
    expect_text(scene_value(s, "SELECT premium FROM {n}_policy"), "100");
    hf_unit_free(unit);
    hf_session_free(session);
    hf_manager_close(elsewhere);
    scene_close(s);
}

/* A role of PostgreSQL that may read and write rows, and not lock those that it only reads. */
static void no_right_to_lock_is_told(void **state)
{
    (void)state;
    scene *s = scene_open();
    hf_tables *records = NULL;
    hf_table own[] = {*scene_table(s, "line"), *scene_table(s, "tax")};
    hf_unit *unit = NULL;
    char url[HF_URL_MAX + 80];
    if (hf_db_kind_of(s->db) == HF_DB_POSTGRES) {
        scene_run(s, "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 0);"
                     "INSERT INTO {n}_tax (code, rate) VALUES ('DE', 19);"
                     "CREATE ROLE {n}_reader;"
                     "GRANT SELECT, UPDATE ON {n}_line TO {n}_reader;"
                     "GRANT SELECT ON {n}_tax TO {n}_reader");
        snprintf(url, sizeof url, "%s%coptions=-c%%20role%%3D%s_reader", s->url,
                 strchr(s->url, '?') == NULL ? '?' : '&', s->names);
        expect(HF_OK, hf_tables_open(url, own, 2, NULL, &records, &s->err), s->err);
        expect(HF_OK, hf_unit_open(records, &(hf_unit_options){.user = "alice"}, &unit, &s->err),
               s->err);
        scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(1));
        hf_reliance on = {.kind = HF_RELY_UNCHANGED, .resource = "tax/DE"};
        expect(HF_OK, hf_unit_rely(unit, &on, &s->err), s->err);
        expect(HF_UNAVAILABLE, hf_unit_commit(unit, NULL, &s->err), s->err);
        expect_contains(s->err.message, "permission denied for table");
        expect_text(scene_value(s, "SELECT amount FROM {n}_line"), "0");
        hf_unit_free(unit);
        hf_tables_close(records);
        /* who may write some columns only may not lock the table, and need not */
        scene_run(s, "REVOKE UPDATE ON {n}_line FROM {n}_reader;"
                     "GRANT UPDATE (amount, version) ON {n}_line TO {n}_reader;"
                     "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'y', 0)");
        expect(HF_OK, hf_tables_open(url, own, 1, NULL, &records, &s->err), s->err);
        expect(HF_OK, hf_unit_open(records, &(hf_unit_options){.user = "alice"}, &unit, &s->err),
               s->err);
        scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(1));
        scene_set(scene_find(unit, "line/1,y"), "amount", HF_NUMBER(1));
        scene_commit(unit);
        hf_unit_free(unit);
        hf_tables_close(records);
        scene_run(s, "DROP OWNED BY {n}_reader; DROP ROLE {n}_reader");
    }
    scene_close(s);
}

static void a_value_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_customer (id, name, visits) VALUES (1, 'x', 5);"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (1, 1, 'Bern')");
    hf_unit *unit = scene_unit(s, "alice");
    hf_record *customer = scene_find(unit, "customer/1"), *address = scene_find(unit, "address/1");
    const struct {
        hf_record *record;
        const char *column;
        hf_field value;
        const char *part;
    } values[] = {
        {customer, "colour", HF_NUMBER(1), "no column colour"},
        {customer, "id", HF_NUMBER(2), "the record's name"},
        {customer, "version", HF_NUMBER(2), "kept by holdfast"},
        {customer, "changed_by", HF_TEXT("me"), "kept by holdfast"},
        {address, "customer_id", HF_NUMBER(2), "its aggregate"},
        {customer, "name", HF_NULL, "can't be null"},
        {customer, "name", HF_NUMBER(1), "takes text"},
        {customer, "name", HF_TEXT("\xff"), "not UTF-8"},
        {customer, "name", HF_BYTES("a", 1), "takes text"},
        {customer, "visits", HF_TEXT("5"), "takes a whole number"},
        {customer, "visits", HF_REAL(1.5), "takes a whole number"},
        {customer, "ratio", HF_REAL(1.0 / 0.0), "finite"},
        {customer, "born", HF_TEXT("2023-02-29"), "takes a date"},
        {customer, "seen", HF_TEXT("yesterday"), "takes a timestamp"},
        {customer, "seen", HF_TEXT("2026-11-18T14:02:07+01:00"), "takes a timestamp"},
        {customer, "balance", HF_TEXT("1e3"), "takes a decimal"},
        {customer, "photo", HF_TEXT("a"), "takes bytes"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        expect(HF_INVALID,
               hf_record_set(values[i].record, values[i].column, values[i].value, &s->err), s->err);
        expect_contains(s->err.message, values[i].part);
    }
    if (!scene_place->own_file) { /* SQLite has one kind of number and no lengths */
        expect(HF_INVALID, hf_record_set(customer, "visits", HF_NUMBER(1LL << 40), &s->err),
               s->err);
        expect(HF_INVALID,
               hf_record_set(customer, "name", HF_TEXT("12345678901234567890123456789012345678901"),
                             &s->err),
               s->err);
        scene_set(customer, "balance", HF_TEXT("123456789012"));
        expect(HF_INVALID, hf_unit_commit(unit, NULL, &s->err), s->err);
        expect_contains(s->err.message, "refuses a value");
        scene_set(customer, "balance", HF_TEXT("12")); /* still usable */
    }
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT visits FROM {n}_customer"), "5");
    hf_record *orphan = NULL;
    expect(HF_OK, hf_unit_add(unit, scene_table(s, "address")->name, customer, &orphan, &s->err),
           s->err);
    expect(HF_INVALID, hf_unit_commit(unit, NULL, &s->err), s->err); /* its city is missing */
    hf_unit_free(unit);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_that_does_not_fit_is_refused),
        cmocka_unit_test(types_and_engines_of_one_database),
        cmocka_unit_test(missing_columns_are_written_as_alter_statements),
        cmocka_unit_test(a_record_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_session_of_another_database_is_refused),
        cmocka_unit_test(no_right_to_lock_is_told),
        cmocka_unit_test(a_value_that_does_not_fit_is_refused),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
