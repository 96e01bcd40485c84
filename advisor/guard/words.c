/* SPDX-License-Identifier: MIT */
/* The words of a guard's templates. Every name and text is quoted here, in guard_add_name and
 * guard_add_text, and nowhere else. */
#include "base/digest.h"
#include "base/error.h"
#include "guard/writer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool guard_is_mysql(hf_db_kind kind)
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
    write_quoted(out, guard_is_mysql(kind) ? '`' : '"', false, name);
}

/* A backslash is written so that no setting reads it otherwise: MySQL gets the bytes. */
void guard_add_text(hf_buffer *out, hf_db_kind kind, const char *text)
{
    bool backslash = strchr(text, '\\') != NULL && kind != HF_DB_SQLITE;
    if (!backslash || kind == HF_DB_POSTGRES) {
        hf_buffer_print(out, guard_is_mysql(kind) ? "_utf8mb4" : backslash ? "E" : "");
        write_quoted(out, '\'', backslash, text);
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

void guard_word_name(guard_writer *w, const char *word, const char *name)
{
    hf_buffer out = {0};
    guard_add_name(&out, w->kind, name);
    guard_word_take(&w->words, word, &out);
}

void guard_word_text(guard_writer *w, const char *word, const char *text)
{
    hf_buffer out = {0};
    if (text[0] == '\0')
        hf_buffer_print(&out, "NULL");
    else
        guard_add_text(&out, w->kind, text);
    guard_word_take(&w->words, word, &out);
}

/* ---- pieces of conditions ---- */

/* NEW.column and OLD.column are the same, byte by byte. Numbers need not be compared so on MySQL.
 * */
static void add_same(hf_buffer *out, hf_db_kind kind, const guard_column *column)
{
    hf_buffer name = {0};
    guard_add_name(&name, kind, column->name);
    const char *n = name.text == NULL ? "" : name.text;
    hf_buffer_print(out, out->size == 0 ? "" : " AND ");
    if (kind == HF_DB_SQLITE)
        hf_buffer_print(out, "NEW.%s IS OLD.%s COLLATE BINARY", n, n);
    else if (kind == HF_DB_POSTGRES)
        hf_buffer_print(out, "NEW.%s IS NOT DISTINCT FROM OLD.%s", n, n);
    else
        hf_buffer_print(out, "NEW.%s <=> OLD.%s", n, n);
    if (guard_is_mysql(kind) && strcasestr(column->type, "int") == NULL)
        hf_buffer_print(out, " AND CAST(NEW.%s AS BINARY) <=> CAST(OLD.%s AS BINARY)", n, n);
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
            add_same(&key, w->kind, column);
        if (!column->generated && strcasecmp(column->name, "holdfast") != 0)
            add_same(&rest, w->kind, column);
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

/* PREFIX.a IS ROW.a AND ... over the key; on PostgreSQL with =. */
void guard_word_row_is(guard_writer *w, const char *word, const char *prefix, const char *row)
{
    hf_buffer out = {0};
    for (size_t i = 0; i < w->table->key_count; i++) {
        hf_buffer_print(&out, i == 0 ? "%s" : " AND %s", prefix);
        guard_add_name(&out, w->kind, w->table->key[i]->name);
        hf_buffer_print(&out, " %s %s.", w->kind == HF_DB_POSTGRES ? "=" : "IS", row);
        guard_add_name(&out, w->kind, w->table->key[i]->name);
    }
    guard_word_take(&w->words, word, &out);
}

static void add_taken(hf_buffer *out, hf_db_kind kind, const char *column, const char *collation,
                      bool first)
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

/* A column is NULL in whose place REPLACE puts a default after BEFORE triggers have looked. */
static void word_defaulted(guard_writer *w)
{
    hf_buffer out = {0};
    for (size_t i = 0; i < w->table->columns_count; i++) {
        const guard_column *column = &w->table->columns[i];
        if (!guard_column_defaults(w->table, column))
            continue;
        hf_buffer_print(&out, "%sNEW.", out.size == 0 ? "" : " OR ");
        guard_add_name(&out, w->kind, column->name);
        hf_buffer_print(&out, " IS NULL");
    }
    if (out.size == 0)
        hf_buffer_print(&out, "0");
    guard_word_take(&w->words, "defaulted", &out);
}

/* Another row has what the new one has in a unique index, so that REPLACE would delete it. */
void guard_word_taken(guard_writer *w)
{
    hf_buffer out = {0}, same = {0};
    word_defaulted(w);
    const char *number = row_number(w->table);
    for (size_t i = 0; i < w->table->key_count; i++)
        add_taken(&out, w->kind, w->table->key[i]->name, w->table->key[i]->collation, i == 0);
    for (size_t i = 0; i < w->table->uniques_count; i++) {
        const guard_unique *it = &w->table->uniques[i];
        if (it->column == NULL)
            continue;
        add_taken(&out, w->kind, it->column, it->collation,
                  i == 0 || strcmp(it->index, w->table->uniques[i - 1].index) != 0);
        add_same(&same, w->kind, guard_table_column(w->table, it->column));
    }
    if (w->table->rowid && number != NULL)
        hf_buffer_print(&out, " OR g.%s = NEW.%s", number, number);
    if (w->table->rowid && number != NULL)
        hf_buffer_print(&same, "%sNEW.%s IS OLD.%s", same.size == 0 ? "" : " AND ", number, number);
    if (same.size == 0)
        hf_buffer_print(&same, "1");
    guard_word_take(&w->words, "taken", &out);
    guard_word_take(&w->words, "same_unique", &same);
}

/* ---- the name of the resource ---- */

/* Types of PostgreSQL whose text is the same under all settings of a session. */
static bool text_is_settled(const char *type)
{
    static const char *const settled[] = {"smallint",  "integer", "bigint", "numeric", "text",
                                          "character", "uuid",    "boolean", "name"};
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++) {
        size_t size = strlen(settled[i]);
        if (strncmp(type, settled[i], size) == 0 && strchr(type, '[') == NULL &&
            (type[size] == '\0' || type[size] == ' ' || type[size] == '('))
            return true;
    }
    return false;
}

bool guard_names_are_settled(const guard_path *path)
{
    for (size_t i = 0; path != NULL && i < path->count; i++) {
        const guard_table *table = &path->tables[i];
        for (size_t j = 0; j < table->columns_count; j++) {
            const guard_column *column = &table->columns[j];
            bool names = column->key != 0 || strcmp(column->name, path->steps[i].link) == 0;
            if (names && !text_is_settled(column->type))
                return false;
        }
    }
    return true;
}

static void add_as_text(hf_buffer *out, hf_db_kind kind, const char *row, const char *column)
{
    hf_buffer_print(out, kind == HF_DB_POSTGRES ? "(%s." : "CAST(%s.", row);
    guard_add_name(out, kind, column);
    hf_buffer_print(out, kind == HF_DB_POSTGRES ? ")::text"
                         : kind == HF_DB_SQLITE ? " AS TEXT)"
                                                : " AS CHAR CHARACTER SET utf8mb4)");
}

/* The key of the row itself as text: "17", "17,3". In a key of several columns a comma or a percent
 * sign of a value is written %2C or %25, as in records. */
static void add_own_id(hf_buffer *out, const guard_writer *w, const char *row)
{
    bool several = w->table->key_count > 1;
    if (guard_is_mysql(w->kind) && several)
        hf_buffer_print(out, "CONCAT_WS(',', ");
    for (size_t i = 0; i < w->table->key_count; i++) {
        if (i > 0)
            hf_buffer_print(out, guard_is_mysql(w->kind) ? ", " : " || ',' || ");
        hf_buffer_print(out, several ? "REPLACE(REPLACE(" : "");
        add_as_text(out, w->kind, row, w->table->key[i]->name);
        hf_buffer_print(out, several ? ", '%%', '%%25'), ',', '%%2C')" : "");
    }
    if (guard_is_mysql(w->kind) && w->table->key_count > 1)
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
    if (w->it->reads) {
        hf_buffer name = {0}, row_root = {0};
        guard_add_name(&name, w->kind, w->table->name);
        add_root_id(&row_root, w, name.text == NULL ? "" : name.text);
        hf_buffer_done(&name);
        guard_word_take(&w->words, "root_row", &row_root);
    }
}

/* ---- words of every database ---- */

void guard_hash(guard_writer *w, const char *text, char out[13])
{
    unsigned char digest[32] = {0};
    char hex[65];
    w->words.failed |= !hf_sha256(text, strlen(text), digest);
    hf_hex(digest, 32, hex);
    memcpy(out, hex, 12);
    out[12] = '\0';
}

void guard_words_common(guard_writer *w)
{
    char hash[13];
    hf_buffer out = {0};
    guard_hash(w, w->table->full, hash);
    guard_word_set(&w->words, "ns", w->db->names);
    guard_word_set(&w->words, "hash", hash);
    guard_add_table(&out, w->kind, w->table);
    guard_word_take(&w->words, "table", &out);
    guard_word_text(w, "name", w->table->full);
    guard_word_text(w, "type", w->it->type);
    guard_word_set(&w->words, "policy", w->it->policy);
    guard_word_set(&w->words, "check", guard_check_names[w->it->check]);
    guard_word_set(&w->words, "mode", w->it->mode);
    guard_word_text(w, "version_text", w->it->version);
    guard_word_text(w, "parent_text", w->it->parent);
    guard_word_text(w, "link_text", w->it->link);
    if (w->it->version[0] != '\0')
        guard_word_name(w, "version", w->it->version);
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
void guard_word_filled(guard_writer *w, const char *word, const char *template)
{
    hf_buffer out = {0};
    guard_fill(&out, template, &w->words);
    guard_word_take(&w->words, word, &out);
}

/* A name that is made of others: "PREFIXhashSUFFIX". */
void guard_word_named(guard_writer *w, const char *word, const char *template)
{
    hf_buffer out = {0};
    guard_fill(&out, template, &w->words);
    guard_word_name(w, word, out.text == NULL ? "" : out.text);
    w->words.failed |= out.failed;
    hf_buffer_done(&out);
}
