/* SPDX-License-Identifier: MIT */
/* The SQL of a guard: the templates of sql/guard/ with the names of the table filled in. Every name and text is quoted here,
 * in guard_add_name and guard_add_text, and nowhere else. */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "guard/fill.h"
#include "guard/inside.h"
#include "sql/guard_mysql_fence.h"
#include "sql/guard_mysql_procedures.h"
#include "sql/guard_mysql_remove.h"
#include "sql/guard_mysql_row.h"
#include "sql/guard_mysql_step.h"
#include "sql/guard_mysql_tables.h"
#include "sql/guard_mysql_truncate.h"
#include "sql/guard_mysql_version.h"
#include "sql/guard_postgres_fence.h"
#include "sql/guard_postgres_frame.h"
#include "sql/guard_postgres_remove.h"
#include "sql/guard_postgres_row.h"
#include "sql/guard_postgres_step.h"
#include "sql/guard_postgres_tables.h"
#include "sql/guard_postgres_triggers.h"
#include "sql/guard_postgres_version.h"
#include "sql/guard_sqlite_fence.h"
#include "sql/guard_sqlite_lock.h"
#include "sql/guard_sqlite_refuse.h"
#include "sql/guard_sqlite_remove.h"
#include "sql/guard_sqlite_row.h"
#include "sql/guard_sqlite_save.h"
#include "sql/guard_sqlite_step.h"
#include "sql/guard_sqlite_tables.h"
#include "sql/guard_sqlite_version.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct guard_writer {
    guard_db *db;
    hf_db_kind kind;
    const guard *it;
    const guard_table *table;
    const guard_path *path; /* NULL when it is only taken away */
    guard_words words;
} guard_writer;

static bool kind_is_mysql(hf_db_kind kind)
{
    return kind == HF_DB_MARIADB || kind == HF_DB_MYSQL;
}

/* ---- quoting ---- */

static void write_quoted(hf_buffer *out, char quote, bool backslash, const char *text)
{
    hf_buffer_add(out, &quote, 1);
    for (; *text != '\0'; text++) {
        if (*text == quote || (backslash && *text == '\\'))
            hf_buffer_add(out, text, 1);
        hf_buffer_add(out, text, 1);
    }
    hf_buffer_add(out, &quote, 1);
}

void guard_add_name(hf_buffer *out, hf_db_kind kind, const char *name)
{
    write_quoted(out, kind_is_mysql(kind) ? '`' : '"', false, name);
}

/* MySQL gets the bytes, which no sql_mode reads otherwise. */
void guard_add_text(hf_buffer *out, hf_db_kind kind, const char *text)
{
    if (!kind_is_mysql(kind)) {
        write_quoted(out, '\'', false, text);
        return;
    }
    if (strchr(text, '\\') == NULL) {
        hf_buffer_print(out, "_utf8mb4");
        write_quoted(out, '\'', false, text);
        return;
    }
    hf_buffer_print(out, "_utf8mb4 x'");
    for (; *text != '\0'; text++)
        hf_buffer_print(out, "%02x", (unsigned char)*text);
    hf_buffer_print(out, "'");
}

void guard_add_table(hf_buffer *out, hf_db_kind kind, const guard_table *table)
{
    if (table->schema[0] != '\0') {
        guard_add_name(out, kind, table->schema);
        hf_buffer_add(out, ".", 1);
    }
    guard_add_name(out, kind, table->name);
}

static void word_name(guard_writer *w, const char *word, const char *name)
{
    hf_buffer out = {0};
    guard_add_name(&out, w->kind, name);
    guard_word_take(&w->words, word, &out);
}

static void word_text(guard_writer *w, const char *word, const char *text)
{
    hf_buffer out = {0};
    if (text[0] == '\0')
        hf_buffer_print(&out, "NULL");
    else
        guard_add_text(&out, w->kind, text);
    guard_word_take(&w->words, word, &out);
}

/* ---- pieces of conditions ---- */

/* NEW.column and OLD.column are the same, byte by byte. */
static void add_same(hf_buffer *out, hf_db_kind kind, const char *column)
{
    hf_buffer name = {0};
    guard_add_name(&name, kind, column);
    const char *n = name.text == NULL ? "" : name.text;
    hf_buffer_print(out, out->size == 0 ? "" : " AND ");
    if (kind == HF_DB_SQLITE)
        hf_buffer_print(out, "NEW.%s IS OLD.%s", n, n);
    else if (kind == HF_DB_POSTGRES)
        hf_buffer_print(out, "NEW.%s IS NOT DISTINCT FROM OLD.%s", n, n);
    else
        hf_buffer_print(out, "NEW.%s <=> OLD.%s AND CAST(NEW.%s AS BINARY) <=> CAST(OLD.%s AS BINARY)", n, n, n, n);
    out->failed |= name.failed;
    hf_buffer_done(&name);
}

static void word_same(guard_writer *w)
{
    hf_buffer key = {0}, rest = {0}, forget = {0};
    for (size_t i = 0; i < w->table->columns_count; i++) {
        const guard_column *column = &w->table->columns[i];
        bool link = w->it->link[0] != '\0' && guard_table_column(w->table, w->it->link) == column;
        if (column->key != 0 || link)
            add_same(&key, w->kind, column->name);
        if (!column->generated && strcasecmp(column->name, "holdfast") != 0)
            add_same(&rest, w->kind, column->name);
        if (column->generated && column->key == 0 && w->kind == HF_DB_POSTGRES) {
            hf_buffer name = {0};
            guard_add_name(&name, w->kind, column->name);
            hf_buffer_print(&forget, "was.%s := NULL;\n            came.%s := NULL;\n            ",
                            name.text == NULL ? "" : name.text, name.text == NULL ? "" : name.text);
            hf_buffer_done(&name);
        }
    }
    guard_word_take(&w->words, "same_key", &key);
    guard_word_take(&w->words, "same_rest", &rest);
    guard_word_take(&w->words, "forget_generated", &forget);
}

/* PREFIX.a IS ROW.a AND ... over the key; SQLite. */
static void word_row_is(guard_writer *w, const char *word, const char *prefix, const char *row)
{
    hf_buffer out = {0};
    for (size_t i = 0; i < w->table->key_count; i++) {
        hf_buffer_print(&out, i == 0 ? "%s" : " AND %s", prefix);
        guard_add_name(&out, w->kind, w->table->key[i]->name);
        hf_buffer_print(&out, " IS %s.", row);
        guard_add_name(&out, w->kind, w->table->key[i]->name);
    }
    guard_word_take(&w->words, word, &out);
}

static void add_taken(hf_buffer *out, hf_db_kind kind, const char *column, const char *collation, bool first)
{
    hf_buffer_print(out, first ? "%sg." : " AND %sg.", first && out->size > 0 ? " OR " : "");
    guard_add_name(out, kind, column);
    if (collation[0] != '\0') {
        hf_buffer_print(out, " COLLATE ");
        guard_add_name(out, kind, collation);
    }
    hf_buffer_print(out, " = NEW.");
    guard_add_name(out, kind, column);
}

/* A name by which the row number can be reached; NULL: columns hide all three. */
static const char *row_number(const guard_table *table)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; i < 3; i++)
        if (guard_table_column(table, names[i]) == NULL)
            return names[i];
    return NULL;
}

/* Another row has what the new one has in a unique index, so that REPLACE would delete it. */
static void word_taken(guard_writer *w)
{
    hf_buffer out = {0};
    const char *number = row_number(w->table);
    for (size_t i = 0; i < w->table->key_count; i++)
        add_taken(&out, w->kind, w->table->key[i]->name, "", i == 0);
    for (size_t i = 0; i < w->table->uniques_count; i++) {
        const guard_unique *it = &w->table->uniques[i];
        if (it->column != NULL)
            add_taken(&out, w->kind, it->column, it->collation,
                      i == 0 || strcmp(it->index, w->table->uniques[i - 1].index) != 0);
    }
    if (w->table->rowid && number != NULL)
        hf_buffer_print(&out, " OR g.%s = NEW.%s", number, number);
    guard_word_take(&w->words, "taken", &out);
}

/* ---- the name of the resource ---- */

static void add_as_text(hf_buffer *out, hf_db_kind kind, const char *row, const char *column)
{
    hf_buffer_print(out, kind == HF_DB_POSTGRES ? "(%s." : "CAST(%s.", row);
    guard_add_name(out, kind, column);
    hf_buffer_print(out, kind == HF_DB_POSTGRES ? ")::text"
                         : kind == HF_DB_SQLITE ? " AS TEXT)"
                                                : " AS CHAR CHARACTER SET utf8mb4)");
}

/* The key of the row itself as text: "17", "17,3". */
static void add_own_id(hf_buffer *out, const guard_writer *w, const char *row)
{
    if (kind_is_mysql(w->kind) && w->table->key_count > 1)
        hf_buffer_print(out, "CONCAT_WS(',', ");
    for (size_t i = 0; i < w->table->key_count; i++) {
        if (i > 0)
            hf_buffer_print(out, kind_is_mysql(w->kind) ? ", " : " || ',' || ");
        add_as_text(out, w->kind, row, w->table->key[i]->name);
    }
    if (kind_is_mysql(w->kind) && w->table->key_count > 1)
        hf_buffer_print(out, ")");
}

/* The root's id: by the link, and by a look into the tables between if there are any. */
static void add_root_id(hf_buffer *out, const guard_writer *w, const char *row)
{
    const guard_path *path = w->path;
    char alias[32];
    if (path == NULL || path->count < 2) {
        add_own_id(out, w, row);
        return;
    }
    if (path->count == 2) {
        add_as_text(out, w->kind, row, path->steps[0].link);
        return;
    }
    snprintf(alias, sizeof alias, "p%zu", path->count - 2);
    hf_buffer_print(out, "(SELECT ");
    add_as_text(out, w->kind, alias, path->steps[path->count - 2].link);
    for (size_t i = 1; i + 1 < path->count; i++) {
        hf_buffer_print(out, i == 1 ? " FROM " : " JOIN ");
        guard_add_table(out, w->kind, &path->tables[i]);
        hf_buffer_print(out, " p%zu", i);
        if (i == 1)
            continue;
        hf_buffer_print(out, " ON p%zu.", i);
        guard_add_name(out, w->kind, path->tables[i].key[0]->name);
        hf_buffer_print(out, " = p%zu.", i - 1);
        guard_add_name(out, w->kind, path->steps[i - 1].link);
    }
    hf_buffer_print(out, " WHERE p1.");
    guard_add_name(out, w->kind, path->tables[1].key[0]->name);
    hf_buffer_print(out, " = %s.", row);
    guard_add_name(out, w->kind, path->steps[0].link);
    hf_buffer_print(out, ")");
}

static void word_ids(guard_writer *w)
{
    hf_buffer id = {0}, new_root = {0}, old_root = {0};
    add_own_id(&id, w, "OLD");
    add_root_id(&new_root, w, "NEW");
    add_root_id(&old_root, w, "OLD");
    guard_word_take(&w->words, "id_old", &id);
    guard_word_take(&w->words, "root_new", &new_root);
    guard_word_take(&w->words, "root_old", &old_root);
}

/* ---- words of every database ---- */

/* The first hex digits of a hash. */
static void hash_of(guard_writer *w, const char *text, char out[13])
{
    unsigned char digest[32] = {0};
    char hex[65];
    w->words.failed |= !hf_sha256(text, strlen(text), digest);
    hf_hex(digest, 32, hex);
    memcpy(out, hex, 12);
    out[12] = '\0';
}

static void words_common(guard_writer *w)
{
    char hash[13];
    hf_buffer out = {0};
    hash_of(w, w->table->full, hash);
    guard_word_set(&w->words, "ns", w->db->names);
    guard_word_set(&w->words, "hash", hash);
    guard_add_table(&out, w->kind, w->table);
    guard_word_take(&w->words, "table", &out);
    word_text(w, "name", w->table->full);
    word_text(w, "type", w->it->type);
    guard_word_set(&w->words, "policy", w->it->policy);
    guard_word_set(&w->words, "check", guard_check_names[w->it->check]);
    guard_word_set(&w->words, "mode", w->it->mode);
    word_text(w, "version_text", w->it->version);
    word_text(w, "parent_text", w->it->parent);
    word_text(w, "link_text", w->it->link);
    if (w->it->version[0] != '\0')
        word_name(w, "version", w->it->version);
    guard_word_set(&w->words, "state", w->it->check == GUARD_LOCK ? "23H01" : "23H02");
    guard_word_set(&w->words, "errno", w->it->check == GUARD_LOCK ? "1216" : "1217");
    for (size_t i = 0; i < w->table->key_count; i++) {
        hf_buffer_print(&out, i == 0 ? "" : ", ");
        guard_add_name(&out, w->kind, w->table->key[i]->name);
    }
    guard_word_take(&w->words, "key_names", &out);
    word_same(w);
    word_ids(w);
}

/* Fills a template and makes a word of it. */
static void word_filled(guard_writer *w, const char *word, const char *template)
{
    hf_buffer out = {0};
    guard_fill(&out, template, &w->words);
    guard_word_take(&w->words, word, &out);
}

/* A name that is made of others: "PREFIXhashSUFFIX". */
static void word_named(guard_writer *w, const char *word, const char *template)
{
    hf_buffer out = {0};
    guard_fill(&out, template, &w->words);
    word_name(w, word, out.text == NULL ? "" : out.text);
    w->words.failed |= out.failed;
    hf_buffer_done(&out);
}

/* ---- SQLite ---- */

#define SQLITE_NOW "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"

/* RAISE takes no expression: one sentence a table. */
static void word_refusal(guard_writer *w, const char *word, const char *kind, const char *sentence)
{
    hf_buffer text = {0};
    hf_buffer_print(&text, "%s: %s", w->table->name, sentence);
    word_text(w, "sentence", text.text == NULL ? "" : text.text);
    guard_word_set(&w->words, "kind", kind);
    word_filled(w, word, guard_sqlite_refuse_sql);
    hf_buffer_done(&text);
}

static void word_granted(guard_writer *w, const char *word, const char *root, const char *number)
{
    const char *template = w->it->check == GUARD_LOCK ? guard_sqlite_lock_sql : guard_sqlite_save_sql;
    guard_word_set(&w->words, "number", number);
    word_filled(w, "root", root);
    word_filled(w, word, template);
}

static const char *const sqlite_update_sentences[] = {
    [GUARD_VERSION] = "this row was changed since it was read, or the statement does not say which version was "
                      "read. Load it anew, and SET holdfast to its version.",
    [GUARD_STEP] = "every change moves the version by one, and leaves the key alone. Load the row anew, and save with "
                   "the version that it has then.",
    [GUARD_LOCK] = "the statement does not carry the fence of a live exclusive lock on its record. Acquire it, load "
                   "the record anew, and SET holdfast to the fence.",
    [GUARD_SAVE] = "the statement does not carry the fence of the last save of its record. Save it first, and SET "
                   "holdfast to the fence that this answers."};

static void words_sqlite(guard_writer *w)
{
    hf_buffer prefix = {0};
    const char *delete_sentence =
        w->it->check == GUARD_VERSION
            ? "to delete a row, first SET holdfast = -VERSION, the one that was read, and nothing else."
            : "to delete a row, first SET holdfast = -FENCE, the one that was granted, and nothing else.";
    bool member = w->it->parent[0] != '\0';
    guard_word_set(&w->words, "now", SQLITE_NOW);
    hf_buffer_print(&prefix, "%s_guard %s", w->db->names, w->table->name);
    word_text(w, "quoted_text", prefix.text == NULL ? "" : prefix.text);
    guard_word_take(&w->words, "prefix", &prefix);
    word_named(w, "trigger_insert", "{prefix} insert");
    word_named(w, "trigger_inserted", "{prefix} inserted");
    word_named(w, "trigger_update", "{prefix} update");
    word_named(w, "trigger_updated", "{prefix} updated");
    word_named(w, "trigger_delete", "{prefix} delete");
    word_row_is(w, "is_new", "", "NEW");
    word_row_is(w, "is_old", "g.", "OLD");
    word_taken(w);
    word_refusal(w, "refuse_update", "update", sqlite_update_sentences[w->it->check]);
    word_refusal(w, "refuse_delete", "delete", delete_sentence);
    word_refusal(w, "refuse_insert", "insert",
                 member ? sqlite_update_sentences[w->it->check]
                        : "a row with that key is there already; a guarded row is changed by UPDATE.");
    if (w->it->check != GUARD_LOCK && w->it->check != GUARD_SAVE)
        return;
    word_granted(w, "granted_new", "{root_new}", "NEW.holdfast");
    word_granted(w, "granted_marked", "{root_new}", "-NEW.holdfast");
    word_granted(w, "granted_old", "{root_old}", "-OLD.holdfast");
    word_filled(w, "insert_without",
                member ? "NOT (coalesce(NEW.holdfast, 0) > 0 AND {granted_new})\n  OR" : "");
}

static void write_sqlite(guard_writer *w, bool column, hf_buffer *out)
{
    static const char *const templates[] = {[GUARD_VERSION] = guard_sqlite_version_sql,
                                            [GUARD_STEP] = guard_sqlite_step_sql,
                                            [GUARD_LOCK] = guard_sqlite_fence_sql,
                                            [GUARD_SAVE] = guard_sqlite_fence_sql};
    guard_fill(out, guard_sqlite_tables_sql, &w->words);
    if (!column)
        guard_fill(out, "ALTER TABLE {table} ADD COLUMN holdfast BIGINT;\n", &w->words);
    guard_fill(out, guard_sqlite_remove_sql, &w->words);
    guard_fill(out, templates[w->it->check], &w->words);
    guard_fill(out, guard_sqlite_row_sql, &w->words);
}

/* ---- PostgreSQL ---- */

static void words_postgres(guard_writer *w)
{
    bool lock = w->it->check == GUARD_LOCK;
    hf_buffer quoted = {0};
    guard_add_table(&quoted, w->kind, w->table);
    word_text(w, "quoted_text", quoted.text == NULL ? "" : quoted.text);
    hf_buffer_done(&quoted);
    guard_word_set(&w->words, "version_plain", "its version");
    word_filled(w, "function", "{ns}.guard_{hash}");
    word_filled(w, "granted", lock ? "{ns}.guard_lock" : "{ns}.guard_save");
    word_filled(w, "without_old",
                lock ? "coalesce({ns}.say_holders({type}, {root_old}, NULL, (extract(epoch FROM clock_timestamp()) * "
                       "1000000)::bigint),\n                format('%s is guarded; the statement carries no fence "
                       "of a live lock on it.', {type} || '/' || {root_old}))"
                     : "format('%s is guarded; the statement does not carry the fence of its save in this "
                       "transaction.', {type} || '/' || {root_old})");
    word_filled(w, "insert_without",
                w->it->parent[0] == '\0' ? ""
                                         : "IF NOT {granted}({type}, {root_new}, NEW.holdfast) THEN\n"
                                           "            PERFORM {ns}.guard_refuse({name}, 'insert', '{state}',\n"
                                           "                format('%s is guarded; a new row of it carries the fence "
                                           "granted on it.', {type} || '/' || {root_new}),\n"
                                           "                'INSERT ... (..., holdfast) VALUES (..., FENCE).');\n"
                                           "        END IF;\n        ");
}

static void write_postgres(guard_writer *w, bool column, hf_buffer *out)
{
    static const char *const templates[] = {[GUARD_VERSION] = guard_postgres_version_sql,
                                            [GUARD_STEP] = guard_postgres_step_sql,
                                            [GUARD_LOCK] = guard_postgres_fence_sql,
                                            [GUARD_SAVE] = guard_postgres_fence_sql};
    word_filled(w, "body", templates[w->it->check]);
    guard_fill(out, guard_postgres_tables_sql, &w->words);
    if (!column)
        guard_fill(out,
                   "ALTER TABLE {table} ADD COLUMN holdfast bigint;\n"
                   "COMMENT ON COLUMN {table}.holdfast IS 'holdfast';\n",
                   &w->words);
    guard_fill(out, guard_postgres_frame_sql, &w->words);
    guard_fill(out, guard_postgres_triggers_sql, &w->words);
    guard_fill(out, guard_postgres_row_sql, &w->words);
}

/* ---- MariaDB, MySQL ---- */

static void words_mysql(guard_writer *w)
{
    bool lock = w->it->check == GUARD_LOCK;
    word_filled(w, "quoted_text", "'{hash}'");
    word_named(w, "trigger_insert", "{ns}_g_{hash}_insert");
    word_named(w, "trigger_update", "{ns}_g_{hash}_update");
    word_named(w, "trigger_delete", "{ns}_g_{hash}_delete");
    word_named(w, "keeper", "{ns}_g_{hash}");
    word_filled(w, "granted", lock ? "{ns}_guard_lock" : "{ns}_guard_save");
    word_filled(w, "without_old",
                lock ? "CONCAT({type}, '/', {root_old}, ' is guarded; SET holdfast to the fence of a live lock on it.')"
                     : "CONCAT({type}, '/', {root_old}, ' is guarded; SET holdfast to the fence of its last save.')");
    word_filled(w, "insert_without",
                w->it->parent[0] == '\0'
                    ? ""
                    : "DECLARE granted BOOLEAN DEFAULT FALSE;\n"
                      "    CALL {granted}({type}, {root_new}, NEW.holdfast, granted);\n"
                      "    IF NOT granted THEN\n"
                      "        CALL {ns}_guard_refuse({name}, 'insert', {errno},\n"
                      "            CONCAT({type}, '/', {root_new}, ' is guarded; SET holdfast to the fence "
                      "granted on it.'));\n"
                      "    END IF;\n    ");
}

/* Whether the procedures are there as this program would make them. Made anew they are gone for a moment on MySQL. */
static bool procedures_are_there(guard_writer *w, const char *digest)
{
    char comment[64];
    hf_stmt *stmt = NULL;
    bool row = false;
    int64_t count = 0;
    snprintf(comment, sizeof comment, "holdfast guard %s", digest);
    if (guard_statement(w->db, GUARD_CATALOG_PROCEDURES, &stmt, NULL) == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(comment));
        if (hf_stmt_step(stmt, &row, NULL) == HF_OK && row)
            count = hf_stmt_column_int(stmt, 0);
        hf_stmt_free(stmt);
    }
    return count == 3;
}

static void write_procedures(guard_writer *w, hf_buffer *out)
{
    char digest[13];
    hash_of(w, guard_mysql_procedures_sql, digest);
    guard_word_set(&w->words, "digest", digest);
    if (!procedures_are_there(w, digest))
        guard_fill(out, guard_mysql_procedures_sql, &w->words);
}

static void write_mysql(guard_writer *w, bool column, hf_buffer *out)
{
    static const char *const templates[] = {[GUARD_VERSION] = guard_mysql_version_sql,
                                            [GUARD_STEP] = guard_mysql_step_sql,
                                            [GUARD_LOCK] = guard_mysql_fence_sql,
                                            [GUARD_SAVE] = guard_mysql_fence_sql};
    guard_fill(out, guard_mysql_tables_sql, &w->words);
    write_procedures(w, out);
    guard_fill(out, guard_mysql_row_sql, &w->words);
    if (!column)
        guard_fill(out, "ALTER TABLE {table} ADD COLUMN holdfast BIGINT NULL COMMENT 'holdfast'\n//\n", &w->words);
    guard_fill(out, "LOCK TABLES {table} WRITE\n//\n", &w->words);
    guard_fill(out, guard_mysql_remove_sql, &w->words);
    guard_fill(out, templates[w->it->check], &w->words);
    guard_fill(out, "UNLOCK TABLES\n//\n", &w->words);
}

/* ---- the whole ---- */

static void writer_begin(guard_writer *w)
{
    words_common(w);
    if (w->kind == HF_DB_SQLITE)
        words_sqlite(w);
    else if (w->kind == HF_DB_POSTGRES)
        words_postgres(w);
    else
        words_mysql(w);
}

static hf_status writer_end(guard_writer *w, const hf_buffer *out, hf_error *err)
{
    guard_words_done(&w->words);
    return out->failed ? hf_fail_memory(err) : HF_OK;
}

hf_status guard_write_add(guard_db *db, const guard_path *path, bool column, hf_buffer *out, hf_error *err)
{
    guard_writer w = {
        .db = db, .kind = hf_db_kind_of(db->db), .it = &path->steps[0], .table = &path->tables[0], .path = path};
    writer_begin(&w);
    column |= w.it->check == GUARD_STEP;
    if (w.kind == HF_DB_SQLITE)
        write_sqlite(&w, column, out);
    else if (w.kind == HF_DB_POSTGRES)
        write_postgres(&w, column, out);
    else
        write_mysql(&w, column, out);
    return writer_end(&w, out, err);
}

hf_status guard_write_keeper(guard_db *db, const guard *it, const guard_table *table, bool keep, hf_buffer *out,
                             hf_error *err)
{
    guard_writer w = {.db = db, .kind = hf_db_kind_of(db->db), .it = it, .table = table};
    writer_begin(&w);
    guard_fill(out, keep ? guard_mysql_truncate_sql : "DROP TABLE IF EXISTS {keeper}\n//\n", &w.words);
    return writer_end(&w, out, err);
}

hf_status guard_write_remove(guard_db *db, const guard *it, const guard_table *table, hf_buffer *out,
                             hf_error *err)
{
    guard_writer w = {.db = db, .kind = hf_db_kind_of(db->db), .it = it, .table = table};
    bool mysql = kind_is_mysql(w.kind);
    writer_begin(&w);
    if (mysql)
        guard_fill(out, "DROP TABLE IF EXISTS {keeper}\n//\n", &w.words);
    guard_fill(out,
               mysql                        ? guard_mysql_remove_sql
               : w.kind == HF_DB_SQLITE ? guard_sqlite_remove_sql
                                            : guard_postgres_remove_sql,
               &w.words);
    if (it->check != GUARD_STEP && guard_table_column(table, "holdfast") != NULL)
        guard_fill(out, mysql ? "ALTER TABLE {table} DROP COLUMN holdfast\n//\n"
                              : "ALTER TABLE {table} DROP COLUMN holdfast;\n",
                   &w.words);
    guard_fill(out,
               mysql                        ? "DELETE FROM {ns}_guard WHERE table_name = {name}\n//\n"
               : w.kind == HF_DB_SQLITE ? "DELETE FROM {ns}_guard WHERE table_name = {name};\n"
                                            : "DELETE FROM {ns}.guard WHERE table_name = {name};\n",
               &w.words);
    return writer_end(&w, out, err);
}
