/* SPDX-License-Identifier: MIT */
/* The SQL of a guard, database by database: the templates of sql/guard/ with their words filled in
 * (words.c). */
#include "base/error.h"
#include "guard/writer.h"
#include "sql/guard_mysql_fence.h"
#include "sql/guard_mysql_procedures.h"
#include "sql/guard_mysql_remove.h"
#include "sql/guard_mysql_row.h"
#include "sql/guard_mysql_step.h"
#include "sql/guard_mysql_tables.h"
#include "sql/guard_mysql_truncate.h"
#include "sql/guard_mysql_version.h"
#include "sql/guard_postgres_drop.h"
#include "sql/guard_postgres_fence.h"
#include "sql/guard_postgres_frame.h"
#include "sql/guard_postgres_noted.h"
#include "sql/guard_postgres_pass.h"
#include "sql/guard_postgres_reads.h"
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

/* ---- SQLite ---- */

#define SQLITE_NOW "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"

/* RAISE takes no expression: one sentence a table. */
static void word_refusal(guard_writer *w, const char *word, const char *kind, const char *sentence)
{
    hf_buffer text = {0};
    hf_buffer_print(&text, "%s: %s", w->table->name, sentence);
    guard_word_text(w, "sentence", text.text == NULL ? "" : text.text);
    guard_word_set(&w->words, "kind", kind);
    guard_word_filled(w, word, guard_sqlite_refuse_sql);
    hf_buffer_done(&text);
}

static void word_granted(guard_writer *w, const char *word, const char *root, const char *number)
{
    const char *template =
        w->it->check == GUARD_LOCK ? guard_sqlite_lock_sql : guard_sqlite_save_sql;
    guard_word_set(&w->words, "number", number);
    guard_word_filled(w, "root", root);
    guard_word_filled(w, word, template);
}

static const char *const sqlite_update_sentences[] = {
    [GUARD_VERSION] =
        "this row was changed since it was read, or the statement does not say which version was "
        "read. Load it anew, and SET holdfast to its version.",
    [GUARD_STEP] = "every change moves the version by one, and leaves the key alone. Load the row "
                   "anew, and save with "
                   "the version that it has then.",
    [GUARD_LOCK] = "the statement does not carry the fence of a live exclusive lock on its record. "
                   "Acquire it, load "
                   "the record anew, and SET holdfast to the fence.",
    [GUARD_SAVE] = "the statement does not carry the fence of the last save of its record. Save it "
                   "first, and SET "
                   "holdfast to the fence that this answers."};

static void words_sqlite(guard_writer *w)
{
    hf_buffer prefix = {0};
    const char *delete_sentence = w->it->check == GUARD_VERSION
                                      ? "to delete a row, first SET holdfast = -VERSION, the one "
                                        "that was read, and nothing else."
                                      : "to delete a row, first SET holdfast = -FENCE, the one "
                                        "that was granted, and nothing else.";
    bool member = w->it->parent[0] != '\0';
    guard_word_set(&w->words, "now", SQLITE_NOW);
    hf_buffer_print(&prefix, "%s_guard %s", w->db->names, w->table->name);
    guard_word_text(w, "quoted_text", prefix.text == NULL ? "" : prefix.text);
    guard_word_take(&w->words, "prefix", &prefix);
    guard_word_named(w, "trigger_insert", "{prefix} insert");
    guard_word_named(w, "trigger_inserted", "{prefix} inserted");
    guard_word_named(w, "trigger_update", "{prefix} update");
    guard_word_named(w, "trigger_updated", "{prefix} updated");
    guard_word_named(w, "trigger_delete", "{prefix} delete");
    guard_word_row_is(w, "is_new", "", "NEW");
    guard_word_row_is(w, "is_old", "g.", "OLD");
    guard_word_taken(w);
    word_refusal(w, "refuse_update", "update", sqlite_update_sentences[w->it->check]);
    word_refusal(w, "refuse_delete", "delete", delete_sentence);
    word_refusal(w, "refuse_insert", "insert",
                 member
                     ? sqlite_update_sentences[w->it->check]
                     : "a row with that key is there already, or a key is NULL; a guarded row is "
                       "changed by UPDATE.");
    if (w->it->check != GUARD_LOCK && w->it->check != GUARD_SAVE)
        return;
    word_granted(w, "granted_new", "{root_new}", "NEW.holdfast");
    word_granted(w, "granted_marked", "{root_new}", "-NEW.holdfast");
    word_granted(w, "granted_old", "{root_old}", "-OLD.holdfast");
    guard_word_filled(w, "insert_without",
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
        guard_fill(out, "ALTER TABLE {table} ADD COLUMN holdfast INTEGER;\n", &w->words);
    guard_fill(out, guard_sqlite_remove_sql, &w->words);
    guard_fill(out, templates[w->it->check], &w->words);
    guard_fill(out, guard_sqlite_row_sql, &w->words);
}

/* ---- PostgreSQL ---- */

/* PostgreSQL looks a row up by its key before a policy judges it; numeric has no operator for that,
 * so the policy would judge all rows. */
static bool key_is_leakproof(const guard_table *table)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (strncmp(table->key[i]->type, "numeric", 7) == 0)
            return false;
    return true;
}

static void words_postgres(guard_writer *w)
{
    bool lock = w->it->check == GUARD_LOCK;
    hf_buffer quoted = {0};
    guard_add_table(&quoted, w->kind, w->table);
    guard_word_text(w, "quoted_text", quoted.text == NULL ? "" : quoted.text);
    hf_buffer_done(&quoted);
    bool version = w->it->check == GUARD_VERSION, member = w->it->parent[0] != '\0';
    guard_word_set(&w->words, "version_plain", "its version");
    guard_word_filled(w, "passes", "NEW.holdfast = coalesce(OLD.{version}, 0) AND {same_key}");
    guard_word_filled(w, "update_when", version ? " WHEN (({passes}) IS NOT TRUE)" : "");
    guard_word_set(&w->words, "insert_when",
                   w->it->check == GUARD_STEP || member || w->it->reads
                       ? ""
                       : " WHEN (NEW.holdfast IS NOT NULL)");
    guard_word_row_is(w, "is_new", "g.", "NEW");
    guard_word_filled(w, "insert_noted",
                      !w->it->reads || member || !key_is_leakproof(w->table)
                          ? ""
                          : guard_postgres_noted_sql);
    guard_word_set(&w->words, "spelling",
                   guard_names_are_settled(w->path)
                       ? ""
                       : "\nSET datestyle = 'ISO' SET timezone = 'UTC' "
                         "SET intervalstyle = 'postgres'\n"
                         "SET bytea_output = 'hex' SET extra_float_digits = 1 "
                         "SET lc_monetary = 'C'\nSET quote_all_identifiers = off");
    guard_word_filled(w, "function", "{ns}.guard_{hash}");
    guard_word_filled(w, "granted", lock ? "{ns}.guard_lock" : "{ns}.guard_save");
    guard_word_filled(
        w, "without_old",
        lock ? "coalesce({ns}.say_holders({type}, {root_old}, NULL, (extract(epoch FROM "
               "clock_timestamp()) * "
               "1000000)::bigint),\n                format('%s is guarded; the statement carries "
               "no fence "
               "of a live lock on it.', {type} || '/' || {root_old}))"
             : "format('%s is guarded; the statement does not carry the fence of its save in this "
               "transaction.', {type} || '/' || {root_old})");
    guard_word_filled(
        w, "insert_without",
        w->it->parent[0] == '\0'
            ? ""
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
    guard_word_filled(w, "body", templates[w->it->check]);
    guard_fill(out, guard_postgres_tables_sql, &w->words);
    if (!column)
        guard_fill(out,
                   "ALTER TABLE {table} ADD COLUMN holdfast bigint;\n"
                   "COMMENT ON COLUMN {table}.holdfast IS 'holdfast';\n",
                   &w->words);
    guard_fill(out, guard_postgres_frame_sql, &w->words);
    guard_fill(out, guard_postgres_drop_sql, &w->words);
    guard_fill(out, guard_postgres_triggers_sql, &w->words);
    if (w->it->check == GUARD_VERSION)
        guard_fill(out, guard_postgres_pass_sql, &w->words);
    if (w->it->reads)
        guard_fill(out, guard_postgres_reads_sql, &w->words);
    guard_fill(out, guard_postgres_row_sql, &w->words);
}

/* ---- MariaDB, MySQL ---- */

/* Temporary tables that hide those between a member and its root are dropped before these are read
 * (sql/mysql/surface.sql). */
static void word_unhide(guard_writer *w)
{
    hf_buffer out = {0};
    for (size_t i = 1; w->path != NULL && i + 1 < w->path->count; i++) {
        hf_buffer_print(&out, i == 1 ? "DROP TEMPORARY TABLE IF EXISTS " : ", ");
        guard_add_table(&out, w->kind, &w->path->tables[i]);
    }
    if (out.size > 0)
        hf_buffer_print(&out, ";\n    ");
    guard_word_take(&w->words, "unhide", &out);
}

static void words_mysql(guard_writer *w)
{
    bool lock = w->it->check == GUARD_LOCK;
    word_unhide(w);
    guard_word_filled(w, "quoted_text", "'{hash}'");
    guard_word_named(w, "trigger_insert", "{ns}_g_{hash}_insert");
    guard_word_named(w, "trigger_update", "{ns}_g_{hash}_update");
    guard_word_named(w, "trigger_delete", "{ns}_g_{hash}_delete");
    guard_word_named(w, "keeper", "{ns}_g_{hash}");
    guard_word_filled(w, "granted", lock ? "{ns}_guard_lock" : "{ns}_guard_save");
    guard_word_filled(w, "without_old",
                      lock ? "CONCAT({type}, '/', {root_old}, ' is guarded; SET holdfast to the "
                             "fence of a live lock on it.')"
                           : "CONCAT({type}, '/', {root_old}, ' is guarded; SET holdfast to the "
                             "fence of its last save.')");
    guard_word_filled(
        w, "insert_without",
        w->it->parent[0] == '\0'
            ? ""
            : "DECLARE granted BOOLEAN DEFAULT FALSE;\n"
              "    {unhide}CALL {granted}({type}, {root_new}, NEW.holdfast, granted);\n"
              "    IF NOT granted THEN\n"
              "        CALL {ns}_guard_refuse({name}, 'insert', {errno},\n"
              "            CONCAT({type}, '/', {root_new}, ' is guarded; SET holdfast to the fence "
              "granted on it.'));\n"
              "    END IF;\n    ");
}

bool guard_procedures_are_ours(guard_db *db, bool *others)
{
    guard_writer w = {.db = db};
    char digest[13], comment[64];
    hf_stmt *stmt = NULL;
    bool row = false;
    int64_t ours = 0, all = 0;
    guard_hash(&w, guard_mysql_procedures_sql, digest);
    snprintf(comment, sizeof comment, "holdfast guard %s", digest);
    if (guard_statement(db, GUARD_CATALOG_PROCEDURES, &stmt, NULL) == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(comment));
        if (hf_stmt_step(stmt, &row, NULL) == HF_OK && row) {
            ours = hf_stmt_column_int(stmt, 0);
            all = hf_stmt_column_int(stmt, 1);
        }
        hf_stmt_free(stmt);
    }
    *others = all > ours;
    return ours == 4;
}

/* Made anew they are gone for a moment on MySQL. */
static void write_procedures(guard_writer *w, hf_buffer *out)
{
    char digest[13];
    bool others;
    guard_hash(w, guard_mysql_procedures_sql, digest);
    guard_word_set(&w->words, "digest", digest);
    if (!guard_procedures_are_ours(w->db, &others))
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
        guard_fill(out,
                   "ALTER TABLE {table} ADD COLUMN holdfast BIGINT NULL COMMENT 'holdfast'\n//\n",
                   &w->words);
    guard_fill(out, "LOCK TABLES {table} WRITE\n//\n", &w->words);
    guard_fill(out, guard_mysql_remove_sql, &w->words);
    guard_fill(out, templates[w->it->check], &w->words);
    guard_fill(out, "UNLOCK TABLES\n//\n", &w->words);
}

/* ---- the whole ---- */

static void writer_begin(guard_writer *w)
{
    guard_words_common(w);
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

hf_status guard_write_add(guard_db *db, const guard_path *path, bool column, hf_buffer *out,
                          hf_error *err)
{
    guard_writer w = {.db = db,
                      .kind = hf_db_kind_of(db->db),
                      .it = &path->steps[0],
                      .table = &path->tables[0],
                      .path = path};
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

hf_status guard_write_keeper(guard_db *db, const guard *it, const guard_table *table, bool keep,
                             hf_buffer *out, hf_error *err)
{
    guard_writer w = {.db = db, .kind = hf_db_kind_of(db->db), .it = it, .table = table};
    writer_begin(&w);
    guard_fill(out, keep ? guard_mysql_truncate_sql : "DROP TABLE IF EXISTS {keeper}\n//\n",
               &w.words);
    return writer_end(&w, out, err);
}

hf_status guard_write_remove(guard_db *db, const guard *it, const guard_table *table,
                             hf_buffer *out, hf_error *err)
{
    guard_writer w = {.db = db, .kind = hf_db_kind_of(db->db), .it = it, .table = table};
    bool mysql = guard_is_mysql(w.kind);
    writer_begin(&w);
    if (mysql)
        guard_fill(out, "DROP TABLE IF EXISTS {keeper}\n//\n", &w.words);
    guard_fill(out,
               mysql                    ? guard_mysql_remove_sql
               : w.kind == HF_DB_SQLITE ? guard_sqlite_remove_sql
                                        : guard_postgres_drop_sql,
               &w.words);
    if (w.kind == HF_DB_POSTGRES)
        guard_fill(out, "DROP FUNCTION IF EXISTS {function}(), {function}_pass();\n", &w.words);
    if (it->check != GUARD_STEP && guard_table_column(table, "holdfast") != NULL)
        guard_fill(out,
                   mysql ? "ALTER TABLE {table} DROP COLUMN holdfast\n//\n"
                         : "ALTER TABLE {table} DROP COLUMN holdfast;\n",
                   &w.words);
    guard_fill(out,
               mysql                    ? "DELETE FROM {ns}_guard WHERE table_name = {name}\n//\n"
               : w.kind == HF_DB_SQLITE ? "DELETE FROM {ns}_guard WHERE table_name = {name};\n"
                                        : "DELETE FROM {ns}.guard WHERE table_name = {name};\n",
               &w.words);
    return writer_end(&w, out, err);
}
