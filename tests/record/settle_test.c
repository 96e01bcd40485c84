/* SPDX-License-Identifier: MIT */
/* After a commit whose end is not known: what the next commit makes of what it finds. Each case
 * tells what the unit was to write and what stands in the database by then, be it the unit's own
 * work or others'; done is only told of what was done, and nobody's save is written over. */
#include "record/inside.h"
#include "record/scene.h"

#include <string.h>

typedef struct settle_case {
    const char *name;
    void (*make)(scene *s, hf_unit *unit);
    const char *since; /* SQL */
    hf_status wanted;
    const char *asked, *answer; /* SQL and its value afterwards */
} settle_case;

static void settle_rows(scene *s)
{
    scene_run(s, "DELETE FROM {n}_room; DELETE FROM {n}_address; DELETE FROM {n}_customer;"
                 "DELETE FROM {n}_line; DELETE FROM {n}_doctor; DELETE FROM {n}_tax;"
                 "INSERT INTO {n}_customer (id, name, phone, changed_by) "
                 "VALUES (42, 'Meier', '1', 'Carol');"
                 "INSERT INTO {n}_address (id, customer_id, city) VALUES (7, 42, 'Bern');"
                 "INSERT INTO {n}_line (document, place, amount) VALUES (1, 'x', 1);"
                 "INSERT INTO {n}_doctor (id, on_call) VALUES (1, 1);"
                 "INSERT INTO {n}_tax (code, rate, title) VALUES ('DE', 19, 'vat')");
}

/* ---- what the unit writes ---- */

static void set_line(scene *s, hf_unit *unit)
{
    (void)s;
    scene_set(scene_find(unit, "line/1,x"), "amount", HF_NUMBER(2));
}

static void set_two(scene *s, hf_unit *unit)
{
    set_line(s, unit);
    scene_set(scene_find(unit, "doctor/1"), "on_call", HF_NUMBER(0));
}

static void set_customer(scene *s, hf_unit *unit)
{
    (void)s;
    scene_set(scene_find(unit, "customer/42"), "phone", HF_TEXT("2"));
    scene_set(scene_find(unit, "customer/42"), "notes", HF_TEXT("mine"));
}

static void set_address(scene *s, hf_unit *unit)
{
    (void)s;
    scene_set(scene_find(unit, "address/7"), "city", HF_TEXT("Thun"));
}

static void set_tax(scene *s, hf_unit *unit)
{
    (void)s;
    scene_set(scene_find(unit, "tax/DE"), "title", HF_TEXT("new"));
}

static void remove_line(scene *s, hf_unit *unit)
{
    expect(HF_OK, hf_unit_remove(unit, scene_find(unit, "line/1,x"), &s->err), s->err);
}

static void remove_address(scene *s, hf_unit *unit)
{
    expect(HF_OK, hf_unit_remove(unit, scene_find(unit, "address/7"), &s->err), s->err);
}

static hf_record *add(scene *s, hf_unit *unit, const char *type, hf_record *parent)
{
    hf_record *record = NULL;
    expect(HF_OK, hf_unit_add(unit, scene_table(s, type)->name, parent, &record, &s->err), s->err);
    return record;
}

static void add_line(scene *s, hf_unit *unit)
{
    hf_record *line = add(s, unit, "line", NULL);
    scene_set(line, "document", HF_NUMBER(2));
    scene_set(line, "place", HF_TEXT("y"));
    scene_set(line, "amount", HF_NUMBER(5));
}

static void add_customer(scene *s, hf_unit *unit)
{
    scene_set(add(s, unit, "customer", NULL), "name", HF_TEXT("New"));
}

static void add_address(scene *s, hf_unit *unit)
{
    hf_record *address = add(s, unit, "address", scene_find(unit, "customer/42"));
    scene_set(address, "id", HF_NUMBER(8));
    scene_set(address, "city", HF_TEXT("Chur"));
}

/* ---- what stands there by then ---- */

#define LINE(set)    "UPDATE {n}_line SET " set
#define CUSTOMER(by) "UPDATE {n}_customer SET version = 2, changed_by = '" by "'"
#define LINE_IS      "SELECT 100 * amount + version FROM {n}_line WHERE document = 1"
#define PHONE_IS     "SELECT version FROM {n}_customer WHERE phone = '2'"
#define CITY_IS      "SELECT min(city) FROM {n}_address"

static const settle_case settle_cases[] = {
    {"not done", set_line, "", HF_OK, LINE_IS, "202"},
    {"done", set_line, LINE("amount = 2, version = 2"), HF_OK, LINE_IS, "202"},
    {"others", set_line, LINE("amount = 9, version = 2"), HF_STALE, LINE_IS, "902"},
    {"mine, and others since", set_line, LINE("amount = 2, version = 3"), HF_UNSURE, LINE_IS,
     "203"},
    {"others, twice", set_line, LINE("amount = 9, version = 3"), HF_UNSURE, LINE_IS, "903"},
    {"gone", set_line, "DELETE FROM {n}_line", HF_UNSURE, "SELECT count(*) FROM {n}_line", "0"},
    {"two, neither", set_two, "", HF_OK, LINE_IS, "202"},
    {"two, both", set_two,
     LINE("amount = 2, version = 2") ";UPDATE {n}_doctor SET on_call = 0, version = 2", HF_OK,
     LINE_IS, "202"},
    {"one as mine, the other as it was", set_two, LINE("amount = 2, version = 2"), HF_STALE,
     "SELECT version FROM {n}_doctor", "1"},
    {"one as mine, the other others'", set_two,
     LINE("amount = 2, version = 2") ";UPDATE {n}_doctor SET on_call = 7, version = 2", HF_STALE,
     "SELECT on_call FROM {n}_doctor", "7"},
    {"one as mine, the other unclear", set_two,
     LINE("amount = 2, version = 2") ";UPDATE {n}_doctor SET on_call = 0, version = 3", HF_UNSURE,
     "SELECT version FROM {n}_doctor", "3"},
    {"by me", set_customer, CUSTOMER("Alice") ", phone = '2', notes = 'x'", HF_OK, PHONE_IS, "2"},
    {"the same, by someone else", set_customer, CUSTOMER("Bob") ", phone = '2'", HF_STALE, PHONE_IS,
     "2"},
    {"a member, done", set_address, CUSTOMER("Alice") "; UPDATE {n}_address SET city = 'Thun'",
     HF_OK, CITY_IS, "Thun"},
    {"another member was saved by me", set_address, CUSTOMER("Alice"), HF_STALE, CITY_IS, "Bern"},
    {"a member that others removed", set_address, CUSTOMER("Alice") "; DELETE FROM {n}_address",
     HF_STALE, "SELECT version FROM {n}_customer", "2"},
    {"a removed member, done", remove_address, CUSTOMER("Alice") "; DELETE FROM {n}_address", HF_OK,
     "SELECT version FROM {n}_customer", "2"},
    {"a removed member, not done", remove_address, "", HF_OK, "SELECT count(*) FROM {n}_address",
     "0"},
    {"a removed member that is there", remove_address, CUSTOMER("Alice"), HF_STALE, CITY_IS,
     "Bern"},
    {"an added member, not done", add_address, "", HF_OK, "SELECT count(*) FROM {n}_address", "2"},
    {"an added member, done", add_address,
     CUSTOMER("Alice") ";INSERT INTO {n}_address (id, customer_id, city) VALUES (8, 42, 'Chur')",
     HF_OK, "SELECT count(*) FROM {n}_address", "2"},
    {"an added member, others instead", add_address, CUSTOMER("Alice"), HF_STALE,
     "SELECT count(*) FROM {n}_address", "1"},
    {"removed, done", remove_line, "DELETE FROM {n}_line", HF_OK, "SELECT count(*) FROM {n}_line",
     "0"},
    {"removed, not done", remove_line, "", HF_OK, "SELECT count(*) FROM {n}_line", "0"},
    {"removed, and others since", remove_line, LINE("version = 4"), HF_UNSURE, LINE_IS, "104"},
    {"added, not done", add_line, "", HF_OK, "SELECT count(*) FROM {n}_line", "2"},
    {"added, done", add_line, "INSERT INTO {n}_line (document, place, amount) VALUES (2, 'y', 5)",
     HF_OK, "SELECT count(*) FROM {n}_line", "2"},
    {"added by others", add_line,
     "INSERT INTO {n}_line (document, place, amount) VALUES (2, 'y', 6)", HF_STALE,
     "SELECT max(amount) FROM {n}_line", "6"},
    {"added, and others since", add_line,
     "INSERT INTO {n}_line (document, place, amount, version) VALUES (2, 'y', 5, 2)", HF_UNSURE,
     "SELECT count(*) FROM {n}_line", "2"},
    {"added with a key that the database makes", add_customer, "", HF_UNSURE,
     "SELECT count(*) FROM {n}_customer", "1"},
    {"no version, as it was", set_tax, "", HF_UNSURE, "SELECT title FROM {n}_tax", "vat"},
    {"no version, as mine", set_tax, "UPDATE {n}_tax SET title = 'new'", HF_OK,
     "SELECT title FROM {n}_tax", "new"},
    {"no version, others", set_tax, "UPDATE {n}_tax SET title = 'old'", HF_UNSURE,
     "SELECT title FROM {n}_tax", "old"},
};

static void what_is_there_tells_whether_it_was_done(void **state)
{
    (void)state;
    scene *s = scene_open();
    for (size_t i = 0; i < sizeof settle_cases / sizeof *settle_cases; i++) {
        const settle_case *it = &settle_cases[i];
        settle_rows(s);
        hf_unit *unit = scene_unit(s, "Alice");
        it->make(s, unit);
        unit->unsure = true;
        if (it->since[0] != '\0')
            scene_run(s, it->since);
        hf_status status = hf_unit_commit(unit, NULL, &s->err);
        if (status != it->wanted)
            print_error("%s: %s\n", it->name, s->err.message);
        expect_int(status, it->wanted);
        const char *answer = scene_value(s, it->asked);
        if (strcmp(answer, it->answer) != 0)
            print_error("%s\n", it->name);
        expect_text(answer, it->answer);
        hf_unit_free(unit);
    }
    scene_close(s);
}

/* ---- sets, whose versions are stored ---- */

static hf_unit *set_item(scene *s, const char *user, const char *what)
{
    hf_unit *unit = scene_unit(s, user);
    scene_set(scene_find(unit, "item/1,1"), "what", HF_TEXT(what));
    return unit;
}

static void settle_set(scene *s, const char *other, const char *what, hf_status wanted)
{
    scene_run(s, "DELETE FROM {n}_item; INSERT INTO {n}_item (cart, place, what) "
                 "VALUES ('1', 1, 'a'), ('1', 2, 'z')");
    hf_unit *unit = set_item(s, "Alice", "b"), *since = set_item(s, other, what);
    scene_commit(since);
    hf_unit_free(since);
    unit->unsure = true;
    hf_status status = hf_unit_commit(unit, NULL, &s->err);
    expect_status(wanted, status, s->err.message);
    hf_unit_free(unit);
}

static void a_stored_version_tells_who_saved(void **state)
{
    (void)state;
    scene *s = scene_open();
    settle_set(s, "Alice", "b", HF_OK);
    settle_set(s, "Alice", "c", HF_STALE);
    settle_set(s, "Bob", "b", HF_STALE);
    scene_run(s, "DELETE FROM {n}_item; INSERT INTO {n}_item (cart, place, what) "
                 "VALUES ('1', 1, 'a')");
    for (int done = 0; done < 2; done++) { /* the last one goes, and with it the set */
        static const char *const by[] = {"Bob", "Alice"};
        hf_unit *unit = scene_unit(s, "Alice"), *since = scene_unit(s, by[done]);
        expect(HF_OK, hf_unit_remove(unit, scene_find(unit, "item/1,1"), &s->err), s->err);
        expect(HF_OK, hf_unit_remove(since, scene_find(since, "item/1,1"), &s->err), s->err);
        scene_commit(since);
        unit->unsure = true;
        expect(done ? HF_OK : HF_UNSURE, hf_unit_commit(unit, NULL, &s->err), s->err);
        hf_unit_free(unit);
        hf_unit_free(since);
        scene_run(s, "INSERT INTO {n}_item (cart, place, what) VALUES ('1', 1, 'a')");
    }
    scene_close(s);
}

/* ---- until it is known ---- */

static void an_unsure_unit_is_committed_first(void **state)
{
    (void)state;
    scene *s = scene_open();
    settle_rows(s);
    hf_unit *unit = scene_unit(s, "Alice");
    set_line(s, unit);
    hf_record *line = scene_find(unit, "line/1,x"), *added = NULL;
    unit->unsure = true;
    scene_run(s, LINE("amount = 2, version = 3")); /* nobody can tell */
    expect(HF_UNSURE, hf_unit_merge(unit, NULL, &s->err), s->err);
    expect(HF_UNSURE, hf_record_set(line, "amount", HF_NUMBER(3), &s->err), s->err);
    expect(HF_UNSURE, hf_unit_remove(unit, line, &s->err), s->err);
    expect(HF_UNSURE, hf_unit_add(unit, scene_table(s, "line")->name, NULL, &added, &s->err),
           s->err);
    expect_contains(s->err.message, "commit it again first");
    expect(HF_UNSURE, hf_unit_commit(unit, NULL, &s->err), s->err);
    expect_contains(s->err.message, "look at the records");
    hf_unit_free(unit);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_tells_whether_it_was_done),
        cmocka_unit_test(a_stored_version_tells_who_saved),
        cmocka_unit_test(an_unsure_unit_is_committed_first),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
