/* SPDX-License-Identifier: MIT */
/* Words first, then parsing. SQL files are split at semicolons outside of quotes, comments and
 * bodies; what only fills tables is passed over. */
#include "audit/source.h"

#include "audit/names.h"
#include "audit/sql_scan.h"
#include "base/cleanup.h"

#include <ctype.h>

bool audit_source_worth(hf_slice text)
{
    static const char *const words[] = {
        "update ",       "delete from",    "insert into",   "for update",        "@version",
        "lock_version",  "version_id_col", "versioncolumn", "orm\\version",      "create table",
        "create_table",  "schema::create", "schema::table", "update_all",        "updatemany",
        "advisory_lock", "get_lock(",      "lockforupdate", "select_for_update", "updated_at",
        "updatedat",     "last_modified",  "lastmodified",  "with_lock",         "setlockmode",
        "locks = ",      "locks: ",        "lockmap",       "add_column",        "update\n",
        "models.model",  "acquire",        ".lock(",        "->lock(",           "trylock",
    };
    hf_cleanup(hf_freep) char *lower = hf_alloc(text.size + 1);
    if (lower == NULL)
        return true;
    for (size_t i = 0; i < text.size; i++)
        lower[i] = (char)tolower((unsigned char)text.at[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(lower, text.size, words[i], strlen(words[i])) != NULL)
            return true;
    return false;
}

/* ---- SQL ---- */

/* Bytes of what begins at `at` and hides semicolons: a quote, a comment, a body; else 1. */
static size_t source_unit(hf_slice text, size_t at)
{
    const char *from = text.at + at;
    size_t left = text.size - at, tag = 1;
    const char *end = NULL;
    if (left > 1 && from[0] == '-' && from[1] == '-')
        end = memchr(from, '\n', left);
    else if (left > 1 && from[0] == '/' && from[1] == '*')
        end = memmem(from + 2, left - 2, "*/", 2), end = end == NULL ? NULL : end + 1;
    else if (from[0] == '\'' || from[0] == '"' || from[0] == '`') {
        for (size_t i = 1; i < left; i++) {
            if (from[i] == '\\' && from[0] == '\'')
                i++;
            else if (from[i] == from[0])
                return i + 1;
        }
        return left;
    } else if (from[0] == '$') {
        while (tag < left && (isalnum((unsigned char)from[tag]) || from[tag] == '_'))
            tag++;
        if (tag >= left || from[tag] != '$')
            return 1;
        tag++;
        end = memmem(from + tag, left - tag, from, tag);
        end = end == NULL ? NULL : end + tag - 1;
    } else
        return 1;
    return end == NULL ? left : (size_t)(end - from) + 1;
}

/* The part of a migration that undoes it. */
static size_t source_up_only(hf_slice text)
{
    static const char *const marks[] = {"-- +goose down", "-- +migrate down", "-- migrate:down",
                                        "--//@undo", "-- rambler down"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found = audit_text_find(text, marks[i]);
        if (found != NULL)
            return (size_t)(found - text.at);
    }
    return text.size;
}

static void source_statement(hf_slice text, uint32_t line, audit_emit_fn emit, void *context)
{
    size_t skip = 0;
    while (skip < text.size) { /* comments and blanks before it */
        size_t unit = source_unit(text, skip);
        bool comment = unit > 1 && (text.at[skip] == '-' || text.at[skip] == '/');
        if (!comment && !isspace((unsigned char)text.at[skip]))
            break;
        for (size_t i = 0; i < unit; i++)
            line += text.at[skip + i] == '\n';
        skip += unit;
    }
    text.at += skip;
    text.size -= skip;
    /* A dump's data. */
    if (text.size > 4096 && strncasecmp(text.at, "insert", 6) == 0)
        return;
    emit(context, &(audit_fact){.kind = AUDIT_SQL, .line = line, .scope = line, .text = {text}});
}

void audit_source_sql(hf_slice text, audit_emit_fn emit, void *context)
{
    uint32_t line = 1, first = 1;
    size_t start = 0, at = 0;
    text.size = source_up_only(text);
    while (at < text.size) {
        if (text.at[at] == ';') {
            source_statement((hf_slice){text.at + start, at - start}, first, emit, context);
            start = at + 1;
            first = line;
        }
        size_t unit = source_unit(text, at);
        for (size_t i = 0; i < unit; i++)
            line += text.at[at + i] == '\n';
        at += unit;
    }
    if (start < text.size)
        source_statement((hf_slice){text.at + start, text.size - start}, first, emit, context);
}

/* ---- others ---- */

static hf_slice source_next_word(hf_slice *left)
{
    *left = audit_trim(*left);
    size_t size = 0;
    while (size < left->size && !isspace((unsigned char)left->at[size]))
        size++;
    hf_slice word = {left->at, size};
    left->at += size;
    left->size -= size;
    return word;
}

static hf_slice source_line(hf_slice *left)
{
    const char *end = left->size == 0 ? NULL : memchr(left->at, '\n', left->size);
    size_t size = end == NULL ? left->size : (size_t)(end - left->at);
    hf_slice line = {left->at, size};
    size += end != NULL;
    left->at += size;
    left->size -= size;
    return line;
}

static void source_emit_table(hf_buffer *sql, uint32_t line, audit_emit_fn emit, void *context)
{
    hf_buffer_print(sql, ")");
    if (!sql->failed)
        emit(context,
             &(audit_fact){.kind = AUDIT_SQL, .line = line, .text = {{sql->text, sql->size}}});
    hf_buffer_done(sql);
}

/* Each field stays on its own line, so that places are right. @@map is read ahead. */
void audit_source_prisma(hf_slice text, audit_emit_fn emit, void *context)
{
    hf_buffer sql = {0};
    uint32_t line = 0, first = 0;
    bool inside = false;
    while (text.size > 0) {
        hf_slice rest = audit_trim(source_line(&text)), at = rest;
        hf_slice word = source_next_word(&at), type = source_next_word(&at);
        line++;
        if (!inside && audit_word_is(word, "model")) {
            const char *close = memchr(text.at, '}', text.size);
            hf_slice block = {text.at, close == NULL ? text.size : (size_t)(close - text.at)};
            const char *map = audit_text_find(block, "@@map(");
            hf_slice name = map == NULL ? type : audit_quoted(block, map);
            hf_buffer_print(&sql, "CREATE TABLE %.*s (", (int)name.size, name.at);
            inside = true;
            first = line;
            continue;
        }
        if (inside)
            hf_buffer_print(&sql, "\n");
        if (inside && word.size > 0 && word.at[0] == '}') {
            source_emit_table(&sql, first, emit, context);
            inside = false;
        } else if (inside && word.size > 2 && word.at[0] == '@') {
            const char *open = memchr(rest.at, '[', rest.size),
                       *end = memchr(rest.at, ']', rest.size);
            if (open != NULL && end != NULL &&
                (audit_text_find(word, "@@id") != NULL ||
                 audit_text_find(word, "@@unique") != NULL))
                hf_buffer_print(&sql, "UNIQUE (%.*s),", (int)(end - open) - 1, open + 1);
        } else if (inside && type.size > 0 && word.at[0] != '/') {
            hf_buffer_print(&sql, "%.*s %.*s%s,", (int)word.size, word.at, (int)type.size, type.at,
                            audit_text_find(rest, "@id") != NULL       ? " PRIMARY KEY"
                            : audit_text_find(rest, "@unique") != NULL ? " UNIQUE"
                                                                       : "");
        }
    }
    hf_buffer_done(&sql);
}

/* The value of an attribute within a tag. */
static hf_slice source_attribute(hf_slice tag, const char *name)
{
    const char *at = audit_text_find(tag, name);
    return at == NULL ? HF_NOTHING : audit_quoted(tag, at);
}

static void source_xml_tag(hf_slice tag, hf_buffer *sql, uint32_t line, uint32_t *first,
                           audit_emit_fn emit, void *context)
{
    hf_slice left = tag, word = source_next_word(&left);
    hf_slice table = source_attribute(tag, " tableName="), name = source_attribute(tag, " name=");
    if (audit_word_is(word, "createTable") || audit_word_is(word, "addColumn")) {
        hf_buffer_print(sql, word.at[0] == 'c' ? "CREATE TABLE %.*s (" : "ALTER TABLE %.*s ADD (",
                        (int)table.size, table.at);
        *first = line;
    } else if (audit_word_is(word, "column") && sql->size > 0 && name.size > 0) {
        hf_slice type = source_attribute(tag, " type=");
        hf_buffer_print(sql, "%.*s %.*s ,", (int)name.size, name.at, (int)type.size, type.at);
    } else if (audit_name_among(word, "constraints constraints/") && sql->size > 2) {
        bool primary = audit_word_is(source_attribute(tag, " primaryKey="), "true");
        bool unique = audit_word_is(source_attribute(tag, " unique="), "true");
        sql->size--;
        hf_buffer_print(sql, "%s,", primary ? "PRIMARY KEY" : unique ? "UNIQUE" : "");
    } else if (audit_name_among(word, "/createTable /addColumn") && sql->size > 0) {
        source_emit_table(sql, *first, emit, context);
    } else if (audit_word_is(word, "addUniqueConstraint") || audit_word_is(word, "addPrimaryKey")) {
        hf_slice columns = source_attribute(tag, " columnNames=");
        hf_buffer one = {0};
        hf_buffer_print(&one, "ALTER TABLE %.*s ADD UNIQUE (%.*s", (int)table.size, table.at,
                        (int)columns.size, columns.at);
        source_emit_table(&one, line, emit, context);
    }
}

/* One statement of a mapper, up to the tag that closes it. <set> and <where> are the words; what is
 * included from elsewhere is a hole; of what is optional in SET all is taken. */
static void source_mapper(hf_slice text, hf_slice closing, uint32_t line, audit_emit_fn emit,
                          void *context)
{
    hf_buffer sql = {0};
    char hole = AUDIT_HOLE;
    bool where = false;
    for (size_t at = 0; at < text.size; at++) {
        const char *end = text.at[at] != '<' ? NULL : memchr(text.at + at, '>', text.size - at);
        if (end == NULL) {
            hf_buffer_add(&sql, text.at + at, 1);
            continue;
        }
        hf_slice tag = {text.at + at + 1, (size_t)(end - text.at) - at - 1};
        hf_slice left = tag, word = source_next_word(&left);
        if (word.size == closing.size + 1 && word.at[0] == '/' &&
            strncmp(word.at + 1, closing.at, closing.size) == 0)
            break;
        where = where || audit_word_is(word, "where") ||
                audit_text_find((hf_slice){sql.text, sql.size}, "where") != NULL;
        /* An optional condition hides others. */
        if (audit_name_among(word, "include foreach") ||
            (where && audit_name_among(word, "if choose trim")))
            hf_buffer_add(&sql, &hole, 1);
        else if (audit_word_is(word, "set") || audit_word_is(word, "where"))
            hf_buffer_print(&sql, " %.*s ", (int)word.size, word.at);
        for (size_t i = at; text.at + i < end; i++)
            if (text.at[i] == '\n')
                hf_buffer_add(&sql, "\n", 1);
        at = (size_t)(end - text.at);
    }
    if (!sql.failed && sql.size > 0)
        emit(context,
             &(audit_fact){
                 .kind = AUDIT_SQL, .line = line, .scope = line, .text = {{sql.text, sql.size}}});
    hf_buffer_done(&sql);
}

/* Liquibase's change sets; and the statements of MyBatis mappers. */
void audit_source_xml(hf_slice text, audit_emit_fn emit, void *context)
{
    hf_buffer sql = {0};
    uint32_t line = 1, first = 1;
    bool mapper = audit_text_find(text, "<mapper") != NULL;
    if (!mapper && audit_text_find(text, "<databaseChangeLog") == NULL)
        return;
    for (size_t at = 0; at < text.size; at++) {
        line += text.at[at] == '\n';
        const char *end = text.at[at] != '<' ? NULL : memchr(text.at + at, '>', text.size - at);
        if (end == NULL)
            continue;
        hf_slice tag = {text.at + at + 1, (size_t)(end - text.at) - at - 1};
        hf_slice left = tag, word = source_next_word(&left);
        if (!mapper) {
            source_xml_tag(tag, &sql, line, &first, emit, context);
        } else if (audit_name_among(word, "update delete insert select")) {
            source_mapper((hf_slice){end + 1, text.size - (size_t)(end + 1 - text.at)}, word, line,
                          emit, context);
        }
    }
    hf_buffer_done(&sql);
}

void audit_source_template(hf_slice text, audit_emit_fn emit, void *context)
{
    if (audit_text_find(text, "<form") == NULL && audit_text_find(text, "form_with") == NULL &&
        audit_text_find(text, "form_for") == NULL && audit_text_find(text, "form:form") == NULL &&
        audit_text_find(text, "v-model") == NULL)
        return;
    emit(context, &(audit_fact){.kind = AUDIT_FORM, .line = 1});
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && (isalnum((unsigned char)text.at[i]) || text.at[i] == '_'))
            i++;
        hf_slice name = {text.at + start, i - start};
        if (name.size > 2 && (audit_text_find(name, "version") != NULL ||
                              audit_name_has(name, "rev revision lock optlock etag")))
            emit(context, &(audit_fact){.kind = AUDIT_FORM, .line = 1, .text = {name}});
        i += i == start;
    }
}
