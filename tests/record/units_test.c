/* SPDX-License-Identifier: MIT */
/* Units over every database: what is read, set, added and removed is saved in one transaction or
 * not at all, and whoever comes second is told what changed. */
#include "record/scene.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TEST(name) static void name(void **state)

static scene *units_open(void)
{
    scene *s = scene_open();
    scene_run(s, "INSERT INTO {n}_customer (id, name, phone, visits) VALUES (42, 'Meier', '1', 5);"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (7, 42, 'Bern');"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (8, 42, 'Thun');"
                 "INSERT INTO {n}_room (id, address_id, name) VALUES (70, 7, 'hall');"
                 "INSERT INTO {n}_line (document, place, amount) VALUES (17, 'a,b', 3);"
                 "INSERT INTO {n}_tax (code, rate, factor, title) VALUES ('DE', 19, 0.1, 'vat');"
                 "INSERT INTO {n}_loose (code, a, b) VALUES ('x', 'a', 'b')");
    return s;
}

TEST(a_change_is_saved_and_moves_the_version)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *customer = scene_find(unit, "customer/42");
    hf_record_info info;
    scene_set(customer, "phone", HF_TEXT("031"));
    hf_record_describe(customer, &info);
    expect_true(info.changed && info.version == 1);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT phone FROM {n}_customer WHERE id = 42"), "031");
    expect_text(scene_value(s, "SELECT version FROM {n}_customer WHERE id = 42"), "2");
    expect_text(scene_value(s, "SELECT changed_by FROM {n}_customer WHERE id = 42"), "Alice");
    hf_record_describe(customer, &info);
    expect_true(!info.changed && info.version == 2 && info.at_us > 0);
    expect_text(info.by, "Alice");
    scene_set(customer, "phone", HF_TEXT("032")); /* the work goes on */
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT version FROM {n}_customer WHERE id = 42"), "3");
    hf_unit_free(unit);
    scene_close(s);
}

TEST(the_second_to_save_is_told_who_and_what)
{
    (void)state;
    scene *s = units_open();
    hf_unit *alice = scene_unit(s, "Alice"), *bob = scene_unit(s, "Bob");
    hf_record *hers = scene_find(alice, "customer/42"), *his = scene_find(bob, "customer/42");
    scene_set(hers, "phone", HF_TEXT("2"));
    scene_set(his, "name", HF_TEXT("Mayer"));
    scene_set(his, "phone", HF_TEXT("3"));
    scene_commit(alice);
    hf_report *report = scene_refused(bob, HF_STALE);
    expect_int(hf_report_count(report), 1);
    const hf_clash *clash = hf_report_at(report, 0);
    expect_int(clash->kind, HF_CLASH_CHANGED);
    expect_text(clash->resource, "customer/42");
    expect_text(clash->by, "Alice");
    expect_true(clash->expected == 1 && clash->actual == 2 && clash->at_us > 0);
    expect_contains(clash->message, "customer/42 was changed by Alice at ");
    expect_contains(clash->message, "(you read version 1, it is now 2).");
    expect_int(clash->columns_count, 2);
    expect_text(clash->columns[0].column, "name");
    expect_text(clash->columns[0].theirs.text, "Meier");
    expect_text(clash->columns[1].column, "phone");
    expect_text(clash->columns[1].base.text, "1");
    expect_text(clash->columns[1].mine.text, "3");
    expect_text(clash->columns[1].theirs.text, "2");
    char *json = hf_report_json(report);
    expect_contains(json, "{\"conflicts\":[{\"resource\":\"customer/42\",\"what\":\"changed\"");
    expect_contains(json, "\"column\":\"phone\",\"base\":\"1\",\"mine\":\"3\",\"theirs\":\"2\"}");
    hf_json_free(json);
    hf_report_free(report);
    expect_text(scene_text(his, "name"), "Mayer"); /* the unit is as it was */
    expect_text(scene_value(s, "SELECT name FROM {n}_customer WHERE id = 42"), "Meier");
    hf_unit_free(alice);
    hf_unit_free(bob);
    scene_close(s);
}

TEST(a_deleted_record_is_told_as_deleted)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *line = scene_find(unit, "line/17,a%2Cb");
    hf_record_info info;
    hf_record_describe(line, &info);
    expect_text(info.resource, "line/17,a%2Cb");
    scene_set(line, "amount", HF_NUMBER(4));
    scene_run(s, "DELETE FROM {n}_line");
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_int(hf_report_at(report, 0)->kind, HF_CLASH_DELETED);
    expect_text(hf_report_at(report, 0)->message, "line/17,a%2Cb was deleted.");
    hf_report_free(report);
    hf_unit_free(unit);
    scene_close(s);
}

TEST(the_first_read_wins)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *first = scene_find(unit, "customer/42"), **found = NULL;
    size_t count = 0;
    scene_run(s, "UPDATE {n}_customer SET name = 'Other', version = 2 WHERE id = 42");
    expect_true(scene_find(unit, "customer/42") == first);
    expect(HF_OK,
           hf_unit_select(unit, scene_table(s, "customer")->name, "id = ?1 AND name <> ?2",
                          (hf_field[]){HF_NUMBER(42), HF_TEXT("?1")}, 2, &found, &count, &s->err),
           s->err);
    expect_int(count, 1);
    expect_true(found[0] == first);
    expect_text(scene_text(first, "name"), "Meier");
    hf_unit_free(unit);
    scene_close(s);
}

TEST(rows_are_added_in_the_order_of_their_keys_and_removed_the_other_way)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *room, *address, *customer;
    hf_record_info info;
    const char *customers = scene_table(s, "customer")->name;
    const char *addresses = scene_table(s, "address")->name, *rooms = scene_table(s, "room")->name;
    expect(HF_OK, hf_unit_add(unit, customers, NULL, &customer, &s->err), s->err);
    expect(HF_OK, hf_unit_add(unit, addresses, customer, &address, &s->err), s->err);
    expect(HF_OK, hf_unit_add(unit, rooms, address, &room, &s->err), s->err);
    scene_set(customer, "name", HF_TEXT("New"));
    scene_set(address, "city", HF_TEXT("Chur"));
    scene_commit(unit);
    hf_record_describe(room, &info);
    expect_true(strncmp(info.resource, "room/", 5) == 0 && !info.added && info.version == 1);
    expect_true(scene_find(unit, info.resource) == room);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_room r JOIN {n}_address a ON a.id = "
                               "r.address_id JOIN {n}_customer c ON c.id = a.customer_id WHERE "
                               "c.name = 'New' AND a.city = 'Chur' AND c.changed_by = 'Alice'"),
                "1");
    expect(HF_OK, hf_unit_remove(unit, customer, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_customer"), "1");
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_address"), "2");
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_room"), "1");
    hf_unit_free(unit);
    scene_close(s);
}

TEST(a_record_that_is_there_already_is_told)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *tax = NULL;
    expect(HF_OK, hf_unit_add(unit, scene_table(s, "tax")->name, NULL, &tax, &s->err), s->err);
    scene_set(tax, "code", HF_TEXT("DE"));
    scene_set(tax, "rate", HF_TEXT("7"));
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_int(hf_report_at(report, 0)->kind, HF_CLASH_THERE);
    hf_report_free(report);
    scene_set(tax, "code", HF_TEXT("CH")); /* still usable */
    scene_commit(unit);
    expect_text(scene_text(tax, "rate"), scene_place->own_file ? "7" : "7.00");
    hf_unit_free(unit);
    scene_close(s);
}

TEST(an_aggregate_has_one_version_at_any_depth)
{
    (void)state;
    scene *s = units_open();
    hf_unit *alice = scene_unit(s, "Alice"), *bob = scene_unit(s, "Bob");
    scene_set(scene_find(bob, "address/8"), "city", HF_TEXT("Biel"));
    scene_set(scene_find(alice, "room/70"), "name", HF_TEXT("kitchen"));
    scene_set(scene_find(alice, "address/7"), "city", HF_TEXT("Basel"));
    scene_commit(alice);
    expect_text(scene_value(s, "SELECT version FROM {n}_customer WHERE id = 42"), "2");
    hf_report *report = scene_refused(bob, HF_STALE);
    expect_int(hf_report_count(report), 1);
    expect_text(hf_report_at(report, 0)->resource, "customer/42");
    expect_int(hf_report_at(report, 0)->columns_count, 1);
    expect_text(hf_report_at(report, 0)->columns[0].resource, "address/8");
    hf_report_free(report);
    expect_text(scene_value(s, "SELECT city FROM {n}_address WHERE id = 8"), "Thun");
    /* a member that is read after the aggregate has moved does not fit to what was read before */
    hf_record *late = NULL;
    expect(HF_STALE, hf_unit_find(bob, "address/7", &late, &s->err), s->err);
    hf_unit_free(alice);
    hf_unit_free(bob);
    scene_close(s);
}

TEST(tables_without_a_version_are_compared_by_their_bytes)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *tax = scene_find(unit, "tax/DE"), *loose = scene_find(unit, "loose/x");
    scene_set(tax, "rate", HF_TEXT("20.5"));
    scene_commit(unit); /* a FLOAT is the same as what was read */
    scene_set(tax, "rate", HF_TEXT("21"));
    scene_commit(unit);
    scene_run(s, "UPDATE {n}_tax SET title = 'VAT'"); /* equal to = where case does not count */
    scene_set(tax, "rate", HF_TEXT("22"));
    hf_report *report = scene_refused(unit, HF_STALE);
    expect_text(hf_report_at(report, 0)->resource, "tax/DE");
    hf_report_free(report);
    scene_set(tax, "rate", *hf_record_get(tax, "rate"));
    hf_unit_free(unit);
    unit = scene_unit(s, "Alice");
    loose = scene_find(unit, "loose/x");
    scene_run(s, "UPDATE {n}_loose SET b = 'other'");
    scene_set(loose, "a", HF_TEXT("mine"));
    scene_commit(unit); /* another column */
    expect_text(scene_text(loose, "b"), "other");
    scene_run(s, "UPDATE {n}_loose SET a = 'theirs'");
    scene_set(loose, "a", HF_TEXT("again"));
    hf_report_free(scene_refused(unit, HF_STALE));
    hf_unit_free(unit);
    scene_close(s);
}

TEST(values_have_one_spelling)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    hf_record *customer = scene_find(unit, "customer/42");
    scene_set(customer, "balance", HF_TEXT("-012.50"));
    scene_set(customer, "ratio", HF_REAL(0.1));
    scene_set(customer, "active", HF_NUMBER(1));
    scene_set(customer, "born", HF_TEXT("2000-02-29"));
    scene_set(customer, "seen", HF_TEXT("2026-11-18 14:02:07.250000"));
    scene_set(customer, "photo", HF_BYTES("a\0b", 3));
    scene_set(customer, "labels", HF_TEXT(""));
    scene_set(customer, "phone", HF_NULL);
    scene_set(customer, "notes", HF_TEXT("Zo\xc3\xab's \xf0\x9f\x98\x80 \"$1\" \\ 'x'"));
    scene_commit(unit);
    hf_unit_free(unit);
    unit = scene_unit(s, "Bob");
    customer = scene_find(unit, "customer/42");
    if (!scene_place->own_file) /* SQLite keeps a decimal as a number */
        expect_text(scene_text(customer, "balance"), "-12.50");
    expect_true(hf_record_get(customer, "ratio")->real == 0.1);
    expect_int(hf_record_get(customer, "active")->number, 1);
    expect_text(scene_text(customer, "born"), "2000-02-29");
    expect_contains(scene_text(customer, "seen"), "2026-11-18T14:02:07.25");
    expect_true(hf_record_get(customer, "photo")->size == 3 &&
                memcmp(hf_record_get(customer, "photo")->text, "a\0b", 3) == 0);
    expect_text(scene_text(customer, "labels"), "");
    expect_text(scene_text(customer, "phone"), "null");
    expect_text(scene_text(customer, "notes"), "Zo\xc3\xab's \xf0\x9f\x98\x80 \"$1\" \\ 'x'");
    scene_set(customer, "seen", HF_TEXT("2026-11-18T14:02:07.25Z")); /* the same: no change */
    hf_record_info info;
    hf_record_describe(customer, &info);
    expect_true(!info.changed || !scene_place->own_file);
    hf_unit_free(unit);
    scene_close(s);
}

#define UNITS_UUID "6f9619ff-8b86-d011-b42d-00c04fc964ff"

/* Of types of their own. MySQL has none for uuids, MariaDB none for JSON: there they are text. */
TEST(uuids_and_json_have_one_spelling)
{
    (void)state;
    scene *s = units_open();
    hf_db_kind kind = hf_db_kind_of(s->db);
    bool uuid = kind == HF_DB_SQLITE || kind == HF_DB_POSTGRES, json = kind != HF_DB_MARIADB;
    const char *upper = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    hf_unit *unit = scene_unit(s, "Alice"), *other = scene_unit(s, "Bob");
    hf_record *thing = NULL;
    hf_record_info info;
    expect(HF_OK, hf_unit_add(unit, scene_table(s, "thing")->name, NULL, &thing, &s->err), s->err);
    scene_set(thing, "id", HF_TEXT(uuid ? upper : UNITS_UUID));
    scene_set(thing, "other", HF_TEXT(UNITS_UUID));
    scene_set(thing, "data", HF_TEXT("{ \"a\" : [ 1, \"x y\" ],\n \"b\": null }"));
    scene_commit(unit);
    hf_record *read = scene_find(other, "thing/" UNITS_UUID);
    expect_text(scene_text(read, "other"), UNITS_UUID);
    if (uuid) {
        expect_true(scene_find(other, "thing/6F9619FF-8B86-D011-B42D-00C04FC964FF") == read);
        scene_set(read, "other", HF_TEXT(upper));
        expect(HF_INVALID, hf_record_set(read, "other", HF_TEXT("6f9619ff"), &s->err), s->err);
        expect_contains(s->err.message, "uuid");
    }
    if (json) {
        expect_text(scene_text(read, "data"), "{\"a\":[1,\"x y\"],\"b\":null}");
        scene_set(read, "data", HF_TEXT("{\"a\": [1,\"x y\"], \"b\":null}"));
    }
    hf_record_describe(read, &info);
    expect_true(!info.changed); /* the same, spelled otherwise */
    if (kind != HF_DB_SQLITE) { /* which takes any text */
        scene_set(read, "data", HF_TEXT("{\"a\":"));
        scene_refused(other, HF_INVALID);
    }
    scene_set(read, "data", HF_TEXT("[ ]"));
    scene_set(read, "other", HF_NULL);
    scene_commit(other);
    expect_text(scene_text(read, "data"), json ? "[]" : "[ ]");
    expect_text(scene_text(read, "other"), "null");
    hf_unit_free(unit);
    hf_unit_free(other);
    scene_close(s);
}

/* An aggregate whose root is no row: its name is what its members have in common. */
TEST(a_set_without_a_table_has_a_version_and_ends_with_its_last_member)
{
    (void)state;
    scene *s = units_open();
    const char *items = scene_table(s, "item")->name, *coupons = scene_table(s, "coupon")->name;
    hf_unit *unit = scene_unit(s, "Alice"), *bob = scene_unit(s, "Bob");
    hf_record *cart = NULL, *first = NULL, *coupon = NULL, *again = NULL, **all = NULL;
    hf_record_info info;
    size_t found = 0;
    expect(HF_NOT_FOUND, hf_unit_find(unit, "cart/7", &cart, &s->err), s->err);
    expect(HF_OK, hf_unit_add(unit, "cart", NULL, &cart, &s->err), s->err);
    scene_set(cart, "cart", HF_TEXT("7"));
    scene_refused(unit, HF_INVALID); /* there is no set without a member */
    expect(HF_OK, hf_unit_add(unit, items, cart, &first, &s->err), s->err);
    scene_set(first, "place", HF_NUMBER(1));
    expect(HF_OK, hf_unit_add(unit, coupons, cart, &coupon, &s->err), s->err);
    scene_commit(unit);
    hf_record_describe(first, &info);
    expect_text(info.resource, "item/7,1");
    expect_int(info.version, 1);
    /* any member's edit moves it once, and whoever else has read a member is told */
    expect(HF_OK, hf_unit_select(bob, items, "cart = ?1", &HF_TEXT("7"), 1, &all, &found, &s->err),
           s->err);
    expect_int(found, 1);
    scene_set(first, "what", HF_TEXT("pen"));
    expect(HF_OK, hf_unit_remove(unit, coupon, &s->err), s->err);
    scene_commit(unit);
    hf_record_describe(first, &info);
    expect_int(info.version, 2);
    expect(HF_OK, hf_unit_add(bob, items, scene_find(bob, "cart/7"), &again, &s->err), s->err);
    scene_set(again, "place", HF_NUMBER(2));
    hf_report *report = scene_refused(bob, HF_STALE);
    const hf_clash *clash = hf_report_at(report, 0);
    expect_contains(clash->message, "cart/7 was changed by Alice");
    expect_true(clash->expected == 1 && clash->actual == 2);
    expect_text(clash->columns[0].theirs.text, "pen");
    expect_text(clash->columns[1].resource, "item"); /* and what he adds */
    expect_true(clash->columns[1].mine.number == 2 && clash->columns_count == 2);
    hf_report_free(report);
    /* it ends with its last member */
    expect(HF_OK, hf_unit_remove(unit, first, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_item"), "0");
    hf_unit_free(bob);
    bob = scene_unit(s, "Bob");
    expect(HF_NOT_FOUND, hf_unit_find(bob, "cart/7", &cart, &s->err), s->err);
    expect_contains(s->err.message, "cart/7 was deleted by Alice at ");
    /* and begins again; two that begin it are not both right */
    expect(HF_OK, hf_unit_add(bob, "cart", NULL, &cart, &s->err), s->err);
    scene_set(cart, "cart", HF_TEXT("7"));
    expect(HF_OK, hf_unit_add(bob, coupons, cart, &coupon, &s->err), s->err);
    hf_unit *other = scene_unit(s, "Carol");
    expect(HF_OK, hf_unit_add(other, "cart", NULL, &cart, &s->err), s->err);
    scene_set(cart, "cart", HF_TEXT("7"));
    expect(HF_OK, hf_unit_add(other, items, cart, &again, &s->err), s->err);
    scene_set(again, "place", HF_NUMBER(3));
    scene_commit(bob);
    report = scene_refused(other, HF_STALE);
    expect_int(hf_report_at(report, 0)->kind, HF_CLASH_THERE);
    hf_report_free(report);
    /* the whole set goes with all its members */
    hf_unit_free(other);
    other = scene_unit(s, "Carol");
    expect(HF_OK, hf_unit_remove(other, scene_find(other, "cart/7"), &s->err), s->err);
    scene_commit(other);
    expect_text(scene_value(s, "SELECT count(*) FROM {n}_coupon"), "0");
    expect(HF_INVALID, hf_unit_select(other, "cart", NULL, NULL, 0, &all, &found, &s->err), s->err);
    expect(
        HF_INVALID,
        hf_unit_rely(other, &(hf_reliance){.kind = HF_RELY_ABSENT, .resource = "cart/7"}, &s->err),
        s->err);
    expect_contains(s->err.message, "HF_RELY_RESULT");
    hf_unit_free(unit);
    hf_unit_free(bob);
    hf_unit_free(other);
    scene_close(s);
}

TEST(what_does_not_count_moves_no_version)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice"), *other = scene_unit(s, "Bob");
    hf_record *customer = scene_find(other, "customer/42");
    scene_set(scene_find(unit, "customer/42"), "notes", HF_TEXT("seen"));
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT version FROM {n}_customer WHERE id = 42"), "1");
    expect_text(scene_value(s, "SELECT notes FROM {n}_customer WHERE id = 42"), "seen");
    scene_set(customer, "visits", HF_NUMBER(6));
    scene_commit(other);
    hf_unit_free(unit);
    hf_unit_free(other);
    scene_close(s);
}

TEST(a_unit_saves_all_or_nothing)
{
    (void)state;
    scene *s = units_open();
    hf_unit *unit = scene_unit(s, "Alice");
    scene_set(scene_find(unit, "customer/42"), "phone", HF_TEXT("9"));
    scene_set(scene_find(unit, "line/17,a%2Cb"), "amount", HF_NUMBER(9));
    scene_run(s, "UPDATE {n}_line SET version = version + 1");
    hf_report *report = NULL;
    expect(HF_STALE, hf_unit_check(unit, &report, &s->err), s->err);
    expect_int(hf_report_count(report), 1);
    hf_report_free(report);
    hf_report_free(scene_refused(unit, HF_STALE));
    expect_text(scene_value(s, "SELECT phone FROM {n}_customer WHERE id = 42"), "1");
    expect_text(scene_value(s, "SELECT version FROM {n}_customer WHERE id = 42"), "1");
    scene_run(s, "UPDATE {n}_line SET version = version - 1");
    expect(HF_OK, hf_unit_check(unit, NULL, &s->err), s->err);
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT phone FROM {n}_customer WHERE id = 42"), "9");
    hf_unit_free(unit);
    scene_close(s);
}

enum { UNITS_MANY = 20000 };

/* The processor's time of a commit of records that came in this order, in microseconds. */
static int64_t units_time(scene *s, int from, int step)
{
    char name[24];
    hf_unit *unit = scene_unit(s, "Alice");
    for (int i = 0; i < UNITS_MANY; i++) {
        snprintf(name, sizeof name, "loose/c%06d", from + i * step);
        scene_set(scene_find(unit, name), "a", HF_TEXT(step > 0 ? "up" : "down"));
    }
    clock_t before = clock();
    scene_commit(unit);
    int64_t used = (int64_t)(clock() - before) * 1000000 / CLOCKS_PER_SEC;
    hf_unit_free(unit);
    return used;
}

/* They are put in order: what comes the other way round takes no longer than what is in order. */
TEST(many_records_are_committed_in_any_order_alike)
{
    (void)state;
    scene *s = scene_open();
    if (s->at->own_file) {
        scene_run(s, "WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < "
                     "19999) INSERT INTO {n}_loose (code) SELECT printf('c%06d', i) FROM c");
        int64_t up = units_time(s, 0, 1), down = units_time(s, UNITS_MANY - 1, -1);
        expect_text(scene_value(s, "SELECT count(*) FROM {n}_loose WHERE a = 'down'"), "20000");
        print_message("in order: %lld us, the other way round: %lld us\n", (long long)up,
                      (long long)down);
        expect_true(down < 3 * up);
    }
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_saved_and_moves_the_version),
        cmocka_unit_test(the_second_to_save_is_told_who_and_what),
        cmocka_unit_test(a_deleted_record_is_told_as_deleted),
        cmocka_unit_test(the_first_read_wins),
        cmocka_unit_test(rows_are_added_in_the_order_of_their_keys_and_removed_the_other_way),
        cmocka_unit_test(a_record_that_is_there_already_is_told),
        cmocka_unit_test(an_aggregate_has_one_version_at_any_depth),
        cmocka_unit_test(tables_without_a_version_are_compared_by_their_bytes),
        cmocka_unit_test(values_have_one_spelling),
        cmocka_unit_test(uuids_and_json_have_one_spelling),
        cmocka_unit_test(a_set_without_a_table_has_a_version_and_ends_with_its_last_member),
        cmocka_unit_test(what_does_not_count_moves_no_version),
        cmocka_unit_test(a_unit_saves_all_or_nothing),
        cmocka_unit_test(many_records_are_committed_in_any_order_alike),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
