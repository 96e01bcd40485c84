/* SPDX-License-Identifier: MIT */
/* The prober. The attacks stand in sql/guard/probe.sql, what they are called in the table below. */
#include "guard/probe.h"

#include "base/error.h"
#include "base/seams.h"
#include "guard/fill.h"
#include "guard/inside.h"
#include "sql/guard_probe.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const probe_what[GUARD_PROBE_COUNT] = {
    [GUARD_PROBE_UPDATE_BLIND] = "a blind UPDATE",
    [GUARD_PROBE_UPDATE_SAME_VERSION] = "an UPDATE with version = version",
    [GUARD_PROBE_UPDATE_NEXT_VERSION] =
        "an UPDATE with version = version + 1 that did not read the row",
    [GUARD_PROBE_UPDATE_OLD_NUMBER] = "an UPDATE that carries an older version",
    [GUARD_PROBE_UPDATE_LEFT] = "a blind UPDATE of rows whose number is their version",
    [GUARD_PROBE_UPDATE_NO_NUMBER] = "an UPDATE that sets the number to NULL",
    [GUARD_PROBE_UPDATE_WRONG_FENCE] = "an UPDATE that carries a fence nobody was granted",
    [GUARD_PROBE_UPDATE_ALL] = "a blind UPDATE of all rows",
    [GUARD_PROBE_UPDATE_JOIN] = "an UPDATE over a join",
    [GUARD_PROBE_UPDATE_WITH] = "an UPDATE after WITH",
    [GUARD_PROBE_UPDATE_IGNORE] = "UPDATE IGNORE",
    [GUARD_PROBE_UPDATE_REPLACE] = "UPDATE OR REPLACE",
    [GUARD_PROBE_UPDATE_REPLACE_OTHER] = "UPDATE OR REPLACE that deletes another row",
    [GUARD_PROBE_KEY_CHANGE] = "a change of the key",
    [GUARD_PROBE_KEY_CHANGE_WITH_NUMBER] = "a change of the key that carries its number",
    [GUARD_PROBE_UPSERT] = "an upsert",
    [GUARD_PROBE_REPLACE] = "REPLACE by the key",
    [GUARD_PROBE_REPLACE_BY_UNIQUE] = "REPLACE by a unique column",
    [GUARD_PROBE_REPLACE_DEFAULT] = "REPLACE with NULL in a unique column that has a default",
    [GUARD_PROBE_MERGE] = "MERGE",
    [GUARD_PROBE_INSERT_MEMBER] = "a new member without its root's fence",
    [GUARD_PROBE_DELETE] = "a blind DELETE",
    [GUARD_PROBE_DELETE_ALL] = "a DELETE of all rows",
    [GUARD_PROBE_DELETE_JOIN] = "a DELETE over a join",
    [GUARD_PROBE_DELETE_WITH] = "a DELETE after WITH",
    [GUARD_PROBE_DELETE_IGNORE] = "DELETE IGNORE",
    [GUARD_PROBE_MARK_AND_CHANGE] = "a mark for deletion that changes something",
    [GUARD_PROBE_MARK_OLD_NUMBER] = "a mark for deletion with an older version",
    [GUARD_PROBE_REPLICA_ROLE] = "an UPDATE with session_replication_role = replica",
    [GUARD_PROBE_UPDATE_HIDDEN] =
        "an UPDATE beside a temporary table by the name of holdfast's table of guards",
    [GUARD_PROBE_TRUNCATE] = "TRUNCATE",
};

typedef struct probe {
    guard_db db;
    hf_db_kind kind;
    guard *guards;
    size_t guards_count;
    const guard *it; /* of the table at hand; NULL: it has none */
    guard_table table;
    guard_words words;
    probe_result *results;
    size_t count;
    bool failed; /* out of memory */
} probe;

static const char *probe_sql(const probe *p, int id)
{
    return p->kind == HF_DB_SQLITE     ? guard_probe_sqlite[id]
           : p->kind == HF_DB_POSTGRES ? guard_probe_postgres[id]
                                       : guard_probe_mysql[id];
}

static bool probe_is_mysql(const probe *p)
{
    return guard_is_mysql(p->kind);
}

static void probe_note(probe *p, const char *shape, const char *what, probe_outcome outcome,
                       const char *why)
{
    probe_result *more = hf_realloc(p->results, (p->count + 1) * sizeof *more);
    if (more == NULL) {
        p->failed = true;
        return;
    }
    p->results = more;
    probe_result *it = &more[p->count++];
    *it =
        (probe_result){.guarded = p->it != NULL, .shape = shape, .what = what, .outcome = outcome};
    snprintf(it->table, sizeof it->table, "%.255s", p->table.full);
    snprintf(it->mode, sizeof it->mode, "%s", p->it == NULL ? "" : p->it->mode);
    snprintf(it->why, sizeof it->why, "%.250s", why);
}

/* ---- words ---- */

static void probe_word(probe *p, const char *word, const char *name)
{
    hf_buffer out = {0};
    guard_add_name(&out, p->kind, name);
    guard_word_take(&p->words, word, &out);
}

static bool column_is_whole_number(const guard_column *column)
{
    return strcasestr(column->type, "int") != NULL;
}

/* The guard's, else one that is called as version columns are. */
static const char *probe_version(const probe *p)
{
    static const char *const usual[] = {"version", "lock_version", "row_version", "revision",
                                        "version_id"};
    if (p->it != NULL)
        return p->it->version[0] == '\0' ? NULL : p->it->version;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const guard_column *column = guard_table_column(&p->table, usual[i]);
        if (column != NULL && column_is_whole_number(column) && column->key == 0)
            return column->name;
    }
    return NULL;
}

static const char *probe_plain(const probe *p, const char *version)
{
    for (size_t i = 0; i < p->table.columns_count; i++) {
        const guard_column *column = &p->table.columns[i];
        bool link = p->it != NULL && strcmp(p->it->link, column->name) == 0;
        if (column->key == 0 && !column->generated && !link &&
            strcasecmp(column->name, "holdfast") != 0 &&
            (version == NULL || strcasecmp(column->name, version) != 0))
            return column->name;
    }
    return version;
}

/* All columns that can be written but the number; the same with the first of the key moved; the
 * key; q is the same row. */
static void probe_word_lists(probe *p)
{
    hf_buffer columns = {0}, moved = {0}, keys = {0}, joined = {0}, row = {0};
    for (size_t i = 0; i < p->table.columns_count; i++) {
        const guard_column *column = &p->table.columns[i];
        if (column->generated || strcasecmp(column->name, "holdfast") == 0)
            continue;
        hf_buffer_print(&columns, columns.size == 0 ? "" : ", ");
        hf_buffer_print(&moved, moved.size == 0 ? "" : ", ");
        guard_add_name(&columns, p->kind, column->name);
        if (column->key == 1 && column_is_whole_number(column))
            hf_buffer_print(&moved, "-1000003 - ");
        guard_add_name(&moved, p->kind, column->name);
    }
    for (size_t i = 0; i < p->table.key_count; i++) {
        const char *name = p->table.key[i]->name;
        hf_buffer_print(&keys, i == 0 ? "" : ", ");
        guard_add_name(&keys, p->kind, name);
        hf_buffer_print(&joined, i == 0 ? "q." : " AND q.");
        guard_add_name(&joined, p->kind, name);
        hf_buffer_print(&joined, " = ");
        guard_add_table(&joined, p->kind, &p->table);
        hf_buffer_print(&joined, ".");
        guard_add_name(&joined, p->kind, name);
    }
    guard_word_take(&p->words, "columns", &columns);
    guard_word_take(&p->words, "moved", &moved);
    guard_word_take(&p->words, "keys", &keys);
    guard_word_take(&p->words, "joined", &joined);
    /* A table that is changed may be read in a derived table only (MySQL). */
    guard_fill(&row,
               "({keys}) = (SELECT {keys} FROM (SELECT {keys} FROM {table} ORDER BY {keys} LIMIT "
               "1) probed)",
               &p->words);
    guard_word_take(&p->words, "row", &row);
}

static void probe_words(probe *p)
{
    hf_buffer table = {0};
    const char *version = probe_version(p), *plain = probe_plain(p, version);
    bool carries = guard_table_column(&p->table, "holdfast") != NULL;
    guard_words_done(&p->words);
    guard_add_table(&table, p->kind, &p->table);
    guard_word_take(&p->words, "table", &table);
    probe_word_lists(p);
    if (plain != NULL)
        probe_word(p, "plain", plain);
    if (version != NULL)
        probe_word(p, "version", version);
    if (carries)
        probe_word(p, "holdfast", "holdfast");
    if (carries && p->it != NULL && p->it->check >= GUARD_LOCK)
        probe_word(p, "fence_column", "holdfast");
    if (column_is_whole_number(p->table.key[0]))
        probe_word(p, "key", p->table.key[0]->name);
    if (p->it != NULL && p->it->parent[0] != '\0' && column_is_whole_number(p->table.key[0])) {
        guard_add_table(&table, p->kind, &p->table);
        guard_word_take(&p->words, "member", &table);
    }
}

/* Whether the unique index at `i` is one column. */
static bool unique_is_single(const guard_table *table, size_t i)
{
    const guard_unique *all = table->uniques;
    return all[i].column != NULL && (i == 0 || strcmp(all[i].index, all[i - 1].index) != 0) &&
           (i + 1 == table->uniques_count || strcmp(all[i].index, all[i + 1].index) != 0);
}

/* The words of attacks by one unique column: the row is the same in that one only, or has NULL
 * there. */
static void probe_words_unique(probe *p, const char *unique)
{
    hf_buffer moved = {0}, none = {0};
    for (size_t i = 0; i < p->table.columns_count; i++) {
        const guard_column *column = &p->table.columns[i];
        bool this = strcasecmp(column->name, unique) == 0;
        if (column->generated || strcasecmp(column->name, "holdfast") == 0)
            continue;
        hf_buffer value = {0};
        if (column->key == 0 && !this && guard_column_is_unique(&p->table, column)) {
            hf_buffer_print(&value, "NULL");
        } else {
            hf_buffer_print(&value, column->key == 1 ? "-1000003 - " : "");
            guard_add_name(&value, p->kind, column->name);
        }
        const char *text = value.text == NULL ? "" : value.text;
        hf_buffer_print(&moved, moved.size == 0 ? "%s" : ", %s", text);
        hf_buffer_print(&none, none.size == 0 ? "%s" : ", %s", this ? "NULL" : text);
        moved.failed |= value.failed;
        hf_buffer_done(&value);
    }
    guard_word_take(&p->words, "moved_unique", &moved);
    guard_word_take(&p->words, "moved_default", &none);
    probe_word(p, "unique", unique);
}

/* Whether a word was left that the table can't fill. A name may hold braces, so it is the template
 * that is looked at. */
static bool probe_can_fill(const probe *p, const char *template)
{
    for (const char *at = strchr(template, '{'); at != NULL; at = strchr(at + 1, '{')) {
        size_t size = strcspn(at + 1, "}"), i = 0;
        while (i < p->words.count && (strncmp(p->words.all[i].word, at + 1, size) != 0 ||
                                      p->words.all[i].word[size] != '\0'))
            i++;
        if (i == p->words.count)
            return false;
    }
    return true;
}

/* ---- an attack ---- */

/* A trigger's refusal, ours or anyone's, is told from an attack that failed for another reason. */
static probe_outcome probe_judge_error(const probe *p, const char *said)
{
    static const char *const postgres[] = {"(23H01)", "(23H02)", "(P0001)", "(0A000)"};
    static const char *const mysql[] = {"error 1216", "error 1217", "error 1644", "23H0", "45000"};
    if (p->kind == HF_DB_SQLITE)
        return strstr(said, "(code 1811)") != NULL ? PROBE_REFUSED : PROBE_NOT_TRIED;
    size_t count = probe_is_mysql(p) ? 5 : 4;
    for (size_t i = 0; i < count; i++)
        if (strstr(said, probe_is_mysql(p) ? mysql[i] : postgres[i]) != NULL)
            return PROBE_REFUSED;
    return PROBE_NOT_TRIED;
}

static hf_status probe_attack(probe *p, const char *sql, int64_t *changed, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool truncate = strncmp(sql, "TRUNCATE", 8) == 0, row = true;
    if (probe_is_mysql(p) && strchr(sql, '$') != NULL)
        return hf_fail(err, HF_INVALID, "a name with $ in it");
    hf_status status = hf_stmt_new(p->db.db, sql, &stmt, err);
    while (status == HF_OK && row)
        status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK)
        *changed = truncate ? 1 : hf_stmt_changed(stmt);
    hf_stmt_free(stmt);
    return status;
}

static hf_status probe_hide(probe *p, const char *template, hf_error *err)
{
    hf_buffer sql = {0}, name = {0};
    guard_words words = {0};
    guard_word_set(&words, "ns", p->db.names);
    guard_add_text(&name, p->kind, p->table.full);
    guard_word_take(&words, "name", &name);
    guard_fill(&sql, template, &words);
    hf_status status = sql.failed ? hf_fail_memory(err) : hf_db_run(p->db.db, sql.text, err);
    guard_words_done(&words);
    hf_buffer_done(&sql);
    return status;
}

/* What a session does before the attack itself. */
static hf_status probe_prepare(probe *p, int id, hf_error *err)
{
    if (id == GUARD_PROBE_REPLICA_ROLE)
        return hf_db_run(p->db.db, "SET LOCAL session_replication_role = replica", err);
    if (id == GUARD_PROBE_UPDATE_HIDDEN)
        return probe_hide(p,
                          "CREATE TEMPORARY TABLE {ns}_guard AS "
                          "SELECT {name} AS table_name, 'off' AS mode, 0 AS suppressed_us",
                          err);
    return HF_OK;
}

static hf_status probe_try(probe *p, int id, hf_error *err)
{
    hf_buffer sql = {0};
    hf_error said = {0};
    int64_t changed = 0;
    const char *template = probe_sql(p, id);
    if (template == NULL || (id == GUARD_PROBE_MERGE && hf_db_version(p->db.db) < 150000))
        return HF_OK;
    if (!probe_can_fill(p, template) || (id == GUARD_PROBE_UPDATE_HIDDEN && p->it == NULL))
        return HF_OK;
    guard_fill(&sql, template, &p->words);
    hf_status status =
        sql.failed ? hf_fail_memory(err) : hf_db_run(p->db.db, "SAVEPOINT probe", err);
    if (status == HF_OK) {
        hf_status tried = probe_prepare(p, id, &said);
        bool hidden = tried == HF_OK && id == GUARD_PROBE_UPDATE_HIDDEN;
        if (tried == HF_OK)
            tried = probe_attack(p, sql.text, &changed, &said);
        if (tried == HF_OK)
            probe_note(p, guard_probe_names[id], probe_what[id],
                       changed > 0 ? PROBE_THROUGH : PROBE_REFUSED,
                       changed > 0 ? "" : "no row was changed");
        else
            /* The trigger drops the temporary table and misses it then. */
            probe_note(p, guard_probe_names[id], probe_what[id],
                       hidden && strstr(said.message, "error 1146") != NULL
                           ? PROBE_REFUSED
                           : probe_judge_error(p, said.message),
                       said.message);
        if (hidden)
            (void)probe_hide(p, "DROP TEMPORARY TABLE IF EXISTS {ns}_guard", NULL);
        status = hf_db_run(p->db.db, "ROLLBACK TO SAVEPOINT probe", err);
    }
    hf_buffer_done(&sql);
    return status;
}

/* An attack by a unique column is tried by each. */
static hf_status probe_try_all(probe *p, int id, hf_error *err)
{
    const char *template = probe_sql(p, id);
    hf_status status = HF_OK;
    for (size_t i = 0; id == GUARD_PROBE_REPLACE_DEFAULT && i < p->table.columns_count; i++) {
        if (status != HF_OK || !guard_column_defaults(&p->table, &p->table.columns[i]))
            continue;
        probe_words_unique(p, p->table.columns[i].name);
        status = probe_try(p, id, err);
    }
    if (template == NULL || id == GUARD_PROBE_REPLACE_DEFAULT)
        return status;
    if (strstr(template, "{unique}") == NULL)
        return probe_try(p, id, err);
    for (size_t i = 0; status == HF_OK && i < p->table.uniques_count; i++) {
        if (!unique_is_single(&p->table, i) || !column_is_whole_number(p->table.key[0]))
            continue;
        probe_words_unique(p, p->table.uniques[i].column);
        status = probe_try(p, id, err);
    }
    return status;
}

/* ---- what is judged from the catalog ---- */

/* Counts the rows that a statement about the table answers. */
static hf_status probe_count(probe *p, enum guard_catalog_id id, bool with_schema, int64_t *out,
                             hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    *out = 0;
    hf_status status = guard_statement(&p->db, id, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_text(stmt, 1,
                     with_schema ? hf_slice_of(p->table.schema) : hf_slice_of(p->table.name));
        if (with_schema)
            hf_stmt_text(stmt, 2, hf_slice_of(p->table.name));
    }
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row)
        ++*out;
    hf_stmt_free(stmt);
    return status;
}

static hf_status probe_judge(probe *p, hf_error *err)
{
    int64_t count = 0;
    hf_status status = HF_OK;
    if (p->it != NULL && (p->it->check == GUARD_STEP ? p->it->triggers == 0
                                                     : p->it->triggers < p->it->triggers_wanted))
        probe_note(p, "triggers", "triggers of the guard are missing or disabled", PROBE_THROUGH,
                   "run 'holdfast guard add' again: it creates them, or says what is in the way");
    if (p->it != NULL &&
        (strcmp(p->it->mode, "fail") != 0 || p->it->suppressed_us > hf_seam.wall_us()))
        probe_note(p, "mode", "the guard does not refuse in this mode", PROBE_THROUGH,
                   "'holdfast guard mode' switches it");
    if (!probe_is_mysql(p))
        return HF_OK;
    status = probe_count(p, GUARD_CATALOG_REFERRED, false, &count, err);
    if (status == HF_OK)
        probe_note(p, "truncate", "TRUNCATE (from the catalog)",
                   count > 0 ? PROBE_REFUSED : PROBE_THROUGH,
                   count > 0 ? "" : "no other table refers to this one");
    if (status == HF_OK)
        status = probe_count(p, GUARD_CATALOG_CASCADES, true, &count, err);
    if (status == HF_OK && (p->it == NULL || p->it->parent[0] == '\0' || count > 1))
        probe_note(p, "cascade",
                   "a foreign key that changes rows here without triggers (from the catalog)",
                   count > 0 ? PROBE_THROUGH : PROBE_REFUSED, "");
    return status;
}

/* ---- a table ---- */

static hf_status probe_begin(probe *p, hf_error *err)
{
    if (p->kind == HF_DB_SQLITE)
        return hf_db_run(p->db.db, "BEGIN IMMEDIATE", err);
    if (probe_is_mysql(p)) {
        hf_status status = hf_db_run(p->db.db, "SET innodb_lock_wait_timeout = 2", err);
        if (status == HF_OK)
            status = hf_db_run(p->db.db, "SET lock_wait_timeout = 2", err);
        if (status == HF_OK && p->kind == HF_DB_MARIADB)
            status = hf_db_run(p->db.db, "SET max_statement_time = 8", err);
        return status != HF_OK ? status : hf_db_run(p->db.db, "START TRANSACTION", err);
    }
    hf_status status = hf_db_begin(p->db.db, HF_READ_COMMITTED, false, err);
    return status != HF_OK
               ? status
               : hf_db_run(p->db.db,
                           "SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '8s'",
                           err);
}

static hf_status probe_is_empty(probe *p, bool *out, hf_error *err)
{
    hf_buffer sql = {0};
    char any[32] = "";
    guard_fill(&sql, "SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1) q", &p->words);
    hf_status status =
        sql.failed ? hf_fail_memory(err) : hf_db_ask(p->db.db, sql.text, any, sizeof any, err);
    *out = strcmp(any, "0") == 0;
    hf_buffer_done(&sql);
    return status;
}

static hf_status probe_shapes(probe *p, hf_error *err)
{
    bool empty = false;
    hf_status status = probe_is_empty(p, &empty, err);
    for (int id = 0; status == HF_OK && id < GUARD_PROBE_COUNT; id++)
        if (!empty || id == GUARD_PROBE_TRUNCATE)
            status = probe_try_all(p, id, err);
    if (status == HF_OK && empty)
        probe_note(p, "rows", "attacks on rows", PROBE_NOT_TRIED, "the table is empty");
    return status;
}

static hf_status probe_table(probe *p, const char *name, hf_error *err)
{
    hf_arena arena = {0};
    hf_status status = guard_table_read(&p->db, name, &arena, &p->table, err);
    p->it = NULL;
    for (size_t i = 0; status == HF_OK && i < p->guards_count; i++)
        if (strcmp(p->guards[i].table, p->table.full) == 0)
            p->it = &p->guards[i];
    if (status == HF_OK &&
        (strcmp(p->table.kind, "table") != 0 || p->table.key_count == 0 || p->table.key[0] == NULL))
        probe_note(p, "table", "attacks on rows", PROBE_NOT_TRIED,
                   p->table.key_count == 0 ? "it has no primary key" : "it is not a plain table");
    else if (status == HF_OK) {
        probe_words(p);
        status = probe_judge(p, err);
        if (status == HF_OK)
            status = probe_begin(p, err);
        if (status == HF_OK) {
            status = probe_shapes(p, err);
            hf_status ended = hf_db_run(p->db.db, "ROLLBACK", status == HF_OK ? err : NULL);
            status = status == HF_OK ? ended : status;
        }
    }
    hf_arena_done(&arena);
    return status;
}

static hf_status probe_all(probe *p, hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    hf_arena arena = {0};
    hf_list names;
    hf_list_init(&names, "t", &arena);
    hf_status status = guard_statement(&p->db, GUARD_CATALOG_TABLES, &stmt, err);
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        hf_value *value = hf_list_add(&names);
        if (value == NULL || !hf_arena_copy(&arena, hf_stmt_column_text(stmt, 0), &value->bytes))
            status = hf_fail_memory(err);
    }
    hf_stmt_free(stmt);
    for (size_t i = 0; status == HF_OK && i < names.count; i++) {
        char *name = hf_arena_text(&arena, names.values[i].bytes);
        status = name == NULL ? hf_fail_memory(err) : probe_table(p, name, err);
    }
    hf_arena_done(&arena);
    return status;
}

hf_status probe_run(const char *url, char *const *tables, size_t tables_count, probe_result **out,
                    size_t *count, hf_error *err)
{
    probe p = {0};
    hf_status status = guard_open(url, &p.db, err);
    if (status == HF_OK)
        p.kind = hf_db_kind_of(p.db.db);
    if (status == HF_OK)
        status = guard_rows(&p.db, &p.guards, &p.guards_count, err);
    for (size_t i = 0; status == HF_OK && i < tables_count; i++)
        status = probe_table(&p, tables[i], err);
    for (size_t i = 0; status == HF_OK && tables_count == 0 && i < p.guards_count; i++)
        status = probe_table(&p, p.guards[i].table, err);
    if (status == HF_OK && tables_count == 0 && p.guards_count == 0)
        status = probe_all(&p, err);
    if (status == HF_OK && p.failed)
        status = hf_fail_memory(err);
    guard_words_done(&p.words);
    guard_close(&p.db);
    hf_free(p.guards);
    *out = p.results;
    *count = p.count;
    return status;
}
