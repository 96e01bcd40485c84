/* SPDX-License-Identifier: MIT */
/* Units over tables that a guard watches: what a unit knows anyway, the version that it has read or
 * the fence of a lock or save, goes into the column `holdfast`, and the database lets it pass.
 * Beside it a blind statement is refused, so the guard is there. */
#include "guard/guard.h"
#include "record/scene.h"

#include <stdio.h>
#include <string.h>

/* What the guard asks for, and what the description says of the root. */
typedef struct guarded {
    const char *name;
    const char *policy;  /* of the guard */
    const char *counted; /* its version column */
    hf_table root;
} guarded;

static const guarded guarded_ways[] = {
    {"version", "", "version", {.version = "version"}},
    {"version of no description", "", "version", {.compare = HF_COMPARE_ALL}},
    {"lock", "exclusive-write", "", {.policy = HF_POLICY_EXCLUSIVE_WRITE}},
    {"lock beside a version",
     "exclusive-write",
     "",
     {.version = "version", .policy = HF_POLICY_EXCLUSIVE_WRITE}},
    {"save", "optimistic", "", {.policy = HF_POLICY_OPTIMISTIC}},
    {"save beside a version", "optimistic", "", {.version = "version"}},
};
enum { GUARDED_WAYS = sizeof guarded_ways / sizeof *guarded_ways };

typedef struct guarded_scene {
    scene *s;
    const guarded *way;
    char type[16], names[3][80]; /* bill, entry, part */
    bool members;                /* are guarded too */
    hf_table described[3];
    hf_tables *tables;
    hf_session *session; /* NULL: a unit needs none */
} guarded_scene;

static void guarded_add(scene *s, guard it)
{
    snprintf(it.mode, sizeof it.mode, "fail");
    expect(HF_OK, guard_add(s->url, &it, false, NULL, &s->err), s->err);
}

static void guarded_remove(scene *s, const char *table)
{
    expect(HF_OK, guard_remove(s->url, table, NULL, &s->err), s->err);
}

static void guarded_add_all(guarded_scene *g)
{
    guard root = {0}, entry = {0}, part = {0};
    snprintf(root.table, sizeof root.table, "%s", g->names[0]);
    snprintf(root.type, sizeof root.type, "%s", g->type);
    snprintf(root.policy, sizeof root.policy, "%s", g->way->policy);
    snprintf(root.version, sizeof root.version, "%s", g->way->counted);
    guarded_add(g->s, root);
    if (!g->members)
        return;
    snprintf(entry.table, sizeof entry.table, "%s", g->names[1]);
    snprintf(entry.parent, sizeof entry.parent, "%s", g->names[0]);
    snprintf(entry.link, sizeof entry.link, "bill_id");
    guarded_add(g->s, entry);
    snprintf(part.table, sizeof part.table, "%s", g->names[2]);
    snprintf(part.parent, sizeof part.parent, "%s", g->names[1]);
    snprintf(part.link, sizeof part.link, "entry_id");
    guarded_add(g->s, part);
}

static guarded_scene *guarded_open(size_t way)
{
    static guarded_scene g;
    static const char *const tables[] = {"bill", "entry", "part"};
    g = (guarded_scene){.s = scene_open(),
                        .way = &guarded_ways[way],
                        .described = {guarded_ways[way].root,
                                      {.parent = g.names[0], .link = "bill_id"},
                                      {.parent = g.names[1], .link = "entry_id"}}};
    hf_table *described = g.described;
    bool aggregate = g.way->root.compare == HF_COMPARE_VERSION;
    snprintf(g.type, sizeof g.type, "bill%zu", way);
    for (int i = 0; i < 3; i++) {
        snprintf(g.names[i], sizeof g.names[i], "%s_%s", g.s->names, tables[i]);
        described[i].name = g.names[i];
        described[i].type = i == 0 ? g.type : tables[i];
    }
    scene_run(g.s,
              "CREATE TABLE {n}_bill (id {ref} NOT NULL PRIMARY KEY, total INTEGER, seen INTEGER, "
              "version BIGINT NOT NULL DEFAULT 1){engine};"
              "CREATE TABLE {n}_entry (id {key}, bill_id {ref} NOT NULL, amount INTEGER, "
              "FOREIGN KEY (bill_id) REFERENCES {n}_bill (id)){engine};"
              "CREATE TABLE {n}_part (id {key}, entry_id {ref} NOT NULL, amount INTEGER, "
              "FOREIGN KEY (entry_id) REFERENCES {n}_entry (id)){engine};"
              "INSERT INTO {n}_bill (id, total) VALUES (1, 10);"
              "INSERT INTO {n}_entry (id, bill_id, amount) VALUES (11, 1, 4);"
              "INSERT INTO {n}_entry (id, bill_id, amount) VALUES (12, 1, 6);"
              "INSERT INTO {n}_part (id, entry_id, amount) VALUES (111, 11, 1);"
              "INSERT INTO {n}_part (id, entry_id, amount) VALUES (121, 12, 2)");
    g.members = aggregate && g.way->counted[0] == '\0';
    if (g.members) /* the tables of the locks */
        hf_session_free(scene_session(g.s, "nobody"));
    guarded_add_all(&g);
    static const hf_column quiet[] = {{.name = "seen", .quiet = true}, {0}};
    described[0].columns = quiet;
    expect(HF_OK,
           hf_tables_open(g.s->url, described, aggregate ? 3 : 1, NULL, &g.tables, &g.s->err),
           g.s->err);
    if (g.way->root.policy > HF_POLICY_OPTIMISTIC)
        g.session = scene_session(g.s, "alice");
    return &g;
}

static void guarded_close(guarded_scene *g)
{
    hf_tables_close(g->tables);
    hf_session_free(g->session);
    for (int i = g->members ? 2 : 0; i >= 0; i--)
        guarded_remove(g->s, g->names[i]);
    scene_run(g->s, "DROP TABLE {n}_part; DROP TABLE {n}_entry; DROP TABLE {n}_bill");
    scene_close(g->s);
}

static hf_unit *guarded_unit(guarded_scene *g)
{
    hf_unit *unit = NULL;
    hf_unit_options options = {.user = "alice", .session = g->session};
    expect(HF_OK, hf_unit_open(g->tables, &options, &unit, &g->s->err), g->s->err);
    return unit;
}

static hf_record *guarded_edit(guarded_scene *g, hf_unit *unit, int id)
{
    char name[40];
    hf_record *record = NULL;
    snprintf(name, sizeof name, "%s/%d", g->type, id);
    expect(HF_OK, hf_unit_edit(unit, name, &record, &g->s->err), g->s->err);
    return record;
}

static void guarded_blind(guarded_scene *g, const char *sql)
{
    expect_true(hf_db_run(g->s->db, scene_sql(g->s, sql), &g->s->err) != HF_OK);
}

static void rows_of_a_guarded_table_are_changed_and_removed(void **state)
{
    (void)state;
    for (size_t way = 0; way < GUARDED_WAYS; way++) {
        guarded_scene *g = guarded_open(way);
        hf_unit *unit = guarded_unit(g);
        hf_record *bill = guarded_edit(g, unit, 1);
        for (int i = 1; i < 4; i++) { /* one after another, as it was left */
            scene_set(bill, "total", HF_NUMBER(10 * i + 1));
            scene_commit(unit);
        }
        expect(HF_INVALID, hf_record_set(bill, "holdfast", HF_NUMBER(1), &g->s->err), g->s->err);
        expect_contains(g->s->err.message, "is the guard's");
        expect_text(scene_value(g->s, "SELECT total FROM {n}_bill"), "31");
        guarded_blind(g, "UPDATE {n}_bill SET total = 0");
        scene_set(bill, "seen", HF_NUMBER(1)); /* quiet: no version counts it, the guard does */
        scene_commit(unit);
        scene_set(bill, "total", HF_NUMBER(41));
        scene_commit(unit);
        hf_unit *added = guarded_unit(g);
        hf_record *other = NULL;
        expect(HF_OK, hf_unit_add(added, g->names[0], NULL, &other, &g->s->err), g->s->err);
        scene_set(other, "id", HF_NUMBER(2));
        scene_commit(added);
        hf_unit_free(added);
        added = guarded_unit(g);
        other = guarded_edit(g, added, 2);
        scene_set(other, "total", HF_NUMBER(2));
        scene_commit(added);
        expect(HF_OK, hf_unit_remove(added, other, &g->s->err), g->s->err);
        scene_commit(added);
        hf_unit_free(added);
        expect_text(scene_value(g->s, "SELECT count(*) FROM {n}_bill"), "1");
        expect_text(scene_value(g->s, "SELECT total FROM {n}_bill"), "41");
        hf_unit_free(unit);
        guarded_close(g);
    }
}

static hf_record *guarded_member(guarded_scene *g, hf_unit *unit, int table, hf_record *parent)
{
    hf_record *record = NULL;
    expect(HF_OK, hf_unit_add(unit, g->names[table], parent, &record, &g->s->err), g->s->err);
    scene_set(record, "amount", HF_NUMBER(7));
    return record;
}

static void members_pass_by_their_roots_guard(void **state)
{
    (void)state;
    for (size_t way = 0; way < GUARDED_WAYS; way++) {
        guarded_scene *g = guarded_open(way);
        if (g->way->root.compare == HF_COMPARE_VERSION) {
            hf_unit *unit = guarded_unit(g);
            hf_record *bill = guarded_edit(g, unit, 1), *added = NULL;
            scene_set(scene_find(unit, "part/111"), "amount", HF_NUMBER(5));
            guarded_member(g, unit, 2, guarded_member(g, unit, 1, bill));
            guarded_member(g, unit, 2, scene_find(unit, "entry/12"));
            scene_commit(unit);
            expect_text(scene_value(g->s, "SELECT sum(amount) FROM {n}_part"), "21");
            if (g->members)
                guarded_blind(g, "UPDATE {n}_part SET amount = 0");
            hf_record *entry = scene_find(unit, "entry/12");
            expect(HF_OK, hf_unit_remove(unit, entry, &g->s->err), g->s->err);
            scene_commit(unit); /* with what is below, read or not */
            expect_text(scene_value(g->s, "SELECT count(*) FROM {n}_part"), "2");
            expect(HF_OK, hf_unit_add(unit, g->names[0], NULL, &added, &g->s->err), g->s->err);
            scene_set(added, "id", HF_NUMBER(2));
            guarded_member(g, unit, 2, guarded_member(g, unit, 1, added));
            scene_commit(unit); /* a root and its members at once */
            scene_set(guarded_edit(g, unit, 2), "total", HF_NUMBER(7));
            scene_commit(unit);
            expect(HF_OK, hf_unit_remove(unit, bill, &g->s->err), g->s->err);
            scene_commit(unit);
            expect_text(scene_value(g->s, "SELECT id FROM {n}_bill"), "2");
            expect_text(scene_value(g->s, "SELECT count(*) FROM {n}_part"), "1");
            hf_unit_free(unit);
        }
        guarded_close(g);
    }
}

static void who_is_late_or_has_no_lock_is_told_and_nothing_passes(void **state)
{
    (void)state;
    for (size_t way = 0; way < GUARDED_WAYS; way++) {
        guarded_scene *g = guarded_open(way);
        hf_session *session = g->session;
        hf_unit *unit = guarded_unit(g), *late = NULL;
        hf_record *bill = guarded_edit(g, unit, 1), *mine = NULL;
        g->session = session == NULL ? NULL : scene_session(g->s, "bob");
        late = guarded_unit(g);
        char name[40];
        snprintf(name, sizeof name, "%s/1", g->type);
        mine = scene_find(late, name);
        scene_set(mine, "total", HF_NUMBER(99));
        scene_set(bill, "total", HF_NUMBER(11));
        scene_commit(unit);
        hf_report_free(scene_refused(late, session == NULL ? HF_STALE : HF_LOCKED));
        expect(HF_OK, hf_unit_remove(late, mine, &g->s->err), g->s->err);
        hf_report_free(scene_refused(late, session == NULL ? HF_STALE : HF_LOCKED));
        hf_unit_free(late);
        if (session != NULL) {
            hf_unit *without = NULL;
            expect(HF_OK,
                   hf_unit_open(g->tables, &(hf_unit_options){.user = "eve"}, &without, &g->s->err),
                   g->s->err);
            scene_set(scene_find(without, name), "seen", HF_NUMBER(99)); /* quiet, too */
            scene_refused(without, HF_NOT_HELD);
            hf_unit_free(without);
            hf_session_free(g->session);
        }
        g->session = session;
        expect_text(scene_value(g->s, "SELECT total FROM {n}_bill"), "11");
        hf_unit_free(unit);
        guarded_close(g);
    }
}

static void many_are_saved_past_a_guard_by_version_only(void **state)
{
    (void)state;
    for (size_t way = 0; way < GUARDED_WAYS; way++) {
        guarded_scene *g = guarded_open(way);
        static const char *const keys[] = {"1", "2"}, *const columns[] = {"total"};
        const hf_field values[] = {HF_NUMBER(21), HF_NUMBER(22)};
        const int64_t versions[] = {1, 1};
        hf_bulk bulk = {g->names[0], columns, 1, keys, versions, values, 2, false};
        hf_unit_options alice = {.user = "alice"};
        bool passes = g->way->counted[0] != '\0' && g->way->root.version != NULL;
        scene_run(g->s, "INSERT INTO {n}_bill (id, total) VALUES (2, 0)");
        expect(passes ? HF_OK : HF_INVALID,
               hf_tables_bulk(g->tables, &alice, &bulk, NULL, NULL, &g->s->err), g->s->err);
        expect_text(scene_value(g->s, "SELECT sum(total) FROM {n}_bill"), passes ? "43" : "10");
        expect(passes ? HF_STALE : HF_INVALID,
               hf_tables_bulk(g->tables, &alice, &bulk, NULL, NULL, &g->s->err), g->s->err);
        guarded_close(g);
    }
}

/* A key as SQL writes it, and the name of its record. */
typedef struct guarded_key {
    int dialects; /* 1 SQLite, 2 PostgreSQL, 4 MariaDB and MySQL */
    const char *type, *value, *id;
    bool nameless; /* records can't be found by such a key */
} guarded_key;

static const guarded_key guarded_keys[] = {
    {7, "DATE", "'2026-02-01'", "2026-02-01", false},
    {3, "timestamp", "'2026-02-01 10:00:00'", "2026-02-01 10:00:00", false},
    {2, "timestamp", "'2026-02-01 10:00:00.250'", "2026-02-01 10:00:00.25", false},
    {2, "timestamptz", "'2026-02-01 10:00:00.5+02'", "2026-02-01 08:00:00.5+00", false},
    {4, "DATETIME", "'2026-02-01 10:00:00'", "2026-02-01 10:00:00", false},
    {4, "DATETIME(3)", "'2026-02-01 10:00:00.5'", "2026-02-01 10:00:00.500", false},
    {4, "DATETIME(6)", "'2026-02-01 10:00:00'", "2026-02-01 10:00:00.000000", false},
    {2, "time", "'14:02:07.250'", "14:02:07.25", false},
    {4, "TIME(2)", "'14:02:07.5'", "14:02:07.50", false},
    {2, "bytea", "'\\x6162ff'", "\\x6162ff", false},
    {2, "boolean", "true", "true", false},
    {5, "BOOLEAN", "1", "1", false},
    {7, "double precision", "0.1", "0.1", true},
    {2, "double precision", "1e20", "1e+20", true},
    {2, "double precision", "1234567890123456.75", "1.2345678901234568e+15", true},
    {2, "real", "0.1", "0.1", true},
    {6, "DECIMAL(10,2)", "1.5", "1.50", false},
    {2, "uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
     false},
    {6, "CHAR(5)", "'ab'", "ab", false},
    {7, "VARCHAR(20)", "'a,b%2'", "a,b%2", false},
    {2, "interval", "'26:03:04'", "26:03:04", false},
};

/* What is saved under the record's name carries the fence past the guard, which has made the name
 * of the row. */
static void guarded_try_key(scene *s, const guarded_key *key, const char *second)
{
    char table[80], sql[400];
    hf_tables *tables = NULL;
    hf_unit *unit = NULL;
    hf_record **found = NULL, *again = NULL;
    hf_record_info info;
    size_t count = 0;
    guard it = {.type = "key", .policy = "optimistic"};
    snprintf(table, sizeof table, "%s_key", s->names);
    snprintf(it.table, sizeof it.table, "%s", table);
    snprintf(sql, sizeof sql,
             "CREATE TABLE {n}_key (id %s NOT NULL, place VARCHAR(20) NOT NULL, word VARCHAR(20), "
             "PRIMARY KEY (id%s)){engine}; INSERT INTO {n}_key (id, place) VALUES (%s, 'a,b%%')",
             key->type, second, key->value);
    scene_run(s, sql);
    guarded_add(s, it);
    hf_table described = {.name = table, .type = "key"};
    expect(HF_OK, hf_tables_open(s->url, &described, 1, NULL, &tables, &s->err), s->err);
    expect(HF_OK, hf_unit_open(tables, &(hf_unit_options){.user = "alice"}, &unit, &s->err),
           s->err);
    expect(HF_OK, hf_unit_select(unit, table, NULL, NULL, 0, &found, &count, &s->err), s->err);
    hf_record_describe(found[0], &info);
    snprintf(sql, sizeof sql, "key/%s%s", key->id, second[0] != '\0' ? ",a%2Cb%25" : "");
    if (second[0] == '\0' || strchr(key->id, ',') == NULL)
        expect_text(info.resource, sql);
    scene_set(found[0], "word", HF_TEXT("passed"));
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT word FROM {n}_key"), "passed");
    if (!key->nameless) {
        expect(HF_OK, hf_unit_find(unit, info.resource, &again, &s->err), s->err);
        expect_true(again == found[0]);
    }
    hf_unit_free(unit);
    hf_tables_close(tables);
    guarded_remove(s, table);
    scene_run(s, "DROP TABLE {n}_key");
}

static void keys_are_spelled_as_guards_spell_them(void **state)
{
    (void)state;
    scene *s = scene_open();
    hf_db_kind kind = hf_db_kind_of(s->db);
    int mine = kind == HF_DB_SQLITE ? 1 : kind == HF_DB_POSTGRES ? 2 : 4;
    hf_session_free(scene_session(s, "nobody")); /* the tables of the saves */
    if (kind == HF_DB_POSTGRES)
        scene_run(s, "SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Tokyo'; SET bytea_output = "
                     "'escape'; SET IntervalStyle = 'iso_8601'; SET extra_float_digits = -5");
    for (size_t i = 0; i < sizeof guarded_keys / sizeof *guarded_keys; i++)
        for (int several = 0; several < 2 && (guarded_keys[i].dialects & mine); several++)
            guarded_try_key(s, &guarded_keys[i], several ? ", place" : "");
    scene_close(s);
}

/* An account needs no rights on holdfast's tables where versions are carried (PostgreSQL). */
static void who_may_not_read_the_guards_saves_all_the_same(void **state)
{
    (void)state;
    guarded_scene *g = guarded_open(0);
    scene *s = g->s;
    char url[HF_URL_MAX + 80];
    if (hf_db_kind_of(s->db) == HF_DB_POSTGRES) {
        hf_tables *mine = g->tables;
        scene_run(s, "CREATE ROLE {n}_clerk; GRANT SELECT, UPDATE, DELETE ON {n}_bill, {n}_entry, "
                     "{n}_part TO {n}_clerk");
        snprintf(url, sizeof url, "%s%coptions=-c%%20role%%3D%s_clerk", s->url,
                 strchr(s->url, '?') == NULL ? '?' : '&', s->names);
        expect(HF_OK, hf_tables_open(url, g->described, 3, NULL, &g->tables, &s->err), s->err);
        hf_unit *unit = guarded_unit(g);
        hf_record *bill = guarded_edit(g, unit, 1);
        scene_set(bill, "total", HF_NUMBER(3));
        scene_commit(unit);
        expect(HF_OK, hf_unit_remove(unit, bill, &s->err), s->err);
        scene_commit(unit);
        expect_text(scene_value(s, "SELECT count(*) FROM {n}_bill"), "0");
        hf_unit_free(unit);
        hf_tables_close(g->tables);
        g->tables = mine;
        scene_run(s, "DROP OWNED BY {n}_clerk; DROP ROLE {n}_clerk");
    }
    guarded_close(g);
}

/* Nothing could ever be saved. */
static void a_guard_of_another_root_is_refused_at_once(void **state)
{
    (void)state;
    guarded_scene *g = guarded_open(2);
    hf_tables *tables = NULL;
    hf_table other = g->described[0];
    other.type = "invoice";
    expect(HF_INVALID, hf_tables_open(g->s->url, &other, 1, NULL, &tables, &g->s->err), g->s->err);
    expect_contains(g->s->err.message, "is guarded as bill2/..., and its records belong to");
    guarded_close(g);
}

/* The application's own column of that name is one like any other, unless a guard carries a number
 * in it, which one by steps of the version does not. */
static void guarded_own_column(bool step)
{
    scene *s = scene_open();
    char name[80];
    hf_tables *tables = NULL;
    hf_unit *unit = NULL;
    snprintf(name, sizeof name, "%s_own", s->names);
    scene_run(s, "CREATE TABLE {n}_own (id {ref} NOT NULL PRIMARY KEY, holdfast BIGINT, version "
                 "BIGINT NOT NULL DEFAULT 1){engine}; INSERT INTO {n}_own (id) VALUES (1)");
    guard it = {.check = GUARD_STEP, .mode = "fail", .type = "own", .version = "version"};
    snprintf(it.table, sizeof it.table, "%s", name);
    if (step)
        expect(HF_OK, guard_add(s->url, &it, true, NULL, &s->err), s->err);
    hf_table own = {.name = name, .type = "own", .version = "version"};
    expect(HF_OK, hf_tables_open(s->url, &own, 1, NULL, &tables, &s->err), s->err);
    expect(HF_OK, hf_unit_open(tables, &(hf_unit_options){.user = "alice"}, &unit, &s->err),
           s->err);
    scene_set(scene_find(unit, "own/1"), "holdfast", HF_NUMBER(5));
    scene_commit(unit);
    expect_text(scene_value(s, "SELECT holdfast FROM {n}_own"), "5");
    hf_unit_free(unit);
    hf_tables_close(tables);
    if (step)
        guarded_remove(s, name);
    scene_run(s, "DROP TABLE {n}_own");
    scene_close(s);
}

static void a_column_of_that_name_without_a_guard_is_the_applications(void **state)
{
    (void)state;
    guarded_own_column(false);
}

static void a_column_of_that_name_beside_a_guard_by_steps_is_the_applications(void **state)
{
    (void)state;
    guarded_own_column(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_guarded_table_are_changed_and_removed),
        cmocka_unit_test(members_pass_by_their_roots_guard),
        cmocka_unit_test(who_is_late_or_has_no_lock_is_told_and_nothing_passes),
        cmocka_unit_test(many_are_saved_past_a_guard_by_version_only),
        cmocka_unit_test(keys_are_spelled_as_guards_spell_them),
        cmocka_unit_test(who_may_not_read_the_guards_saves_all_the_same),
        cmocka_unit_test(a_guard_of_another_root_is_refused_at_once),
        cmocka_unit_test(a_column_of_that_name_without_a_guard_is_the_applications),
        cmocka_unit_test(a_column_of_that_name_beside_a_guard_by_steps_is_the_applications),
    };
    return scene_main(tests, sizeof tests / sizeof *tests);
}
