/* SPDX-License-Identifier: MIT */
/* From files to findings, in four steps: read, declare, execute, judge. */
#include "audit/audit.h"

#include "audit/names.h"
#include "audit/suppress.h"
#include "audit/workers.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/module.h"
#include "base/seams.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const level_names[] = {"low", "medium", "high"};

const char *audit_level_name(audit_level level)
{
    return level_names[level];
}

bool audit_level_find(const char *name, audit_level *out)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(level_names[i], name) == 0) {
            *out = (audit_level)i;
            return true;
        }
    return false;
}

/* Room for one more in a list; NULL: memory is out. */
static void *audit_push(audit_run *run, void **items, size_t *count, size_t *room, size_t size)
{
    if (*count == *room) {
        size_t more = *room == 0 ? 64 : *room * 2;
        void *grown = hf_realloc(*items, more * size);
        if (grown == NULL) {
            run->failed = true;
            return NULL;
        }
        *items = grown;
        *room = more;
    }
    char *place = (char *)*items + (*count)++ * size;
    memset(place, 0, size);
    return place;
}

__attribute__((format(printf, 2, 0))) static const char *audit_format(audit_run *run,
                                                                      const char *format,
                                                                      va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    const char *copy = hf_arena_text(&run->arena, hf_slice_of(text));
    run->failed = run->failed || copy == NULL;
    return copy == NULL ? "" : copy;
}

void audit_note(audit_run *run, const char *format, ...)
{
    va_list arguments;
    if (run->notes == NULL)
        run->notes = hf_arena_alloc(&run->arena, AUDIT_NOTES_MAX * sizeof *run->notes);
    if (run->notes == NULL || run->notes_count == AUDIT_NOTES_MAX)
        return;
    va_start(arguments, format);
    run->notes[run->notes_count++] = audit_format(run, format, arguments);
    va_end(arguments);
}

/* ---- findings ---- */

void audit_found(audit_run *run, const audit_rule *rule, const audit_finding *at,
                 const char *format, ...)
{
    va_list arguments;
    /* One place, one finding of a rule; a rule's findings stand together. */
    for (size_t i = run->findings_count; i-- > 0 && run->findings[i].rule == rule;)
        if (run->findings[i].place.file == at->place.file &&
            run->findings[i].place.line == at->place.line &&
            hf_slice_equal(run->findings[i].table, at->table))
            return;
    audit_finding *finding = audit_push(run, (void **)&run->findings, &run->findings_count,
                                        &run->findings_room, sizeof *finding);
    if (finding == NULL)
        return;
    *finding = *at;
    finding->rule = rule;
    finding->severity = rule->severity;
    if (at->confidence > rule->confidence)
        finding->confidence = rule->confidence;
    va_start(arguments, format);
    finding->text = audit_format(run, format, arguments);
    va_end(arguments);
}

const sql_use *audit_use_of(const sql_use *uses, size_t count, hf_slice column)
{
    for (size_t i = 0; i < count; i++)
        if (audit_name_same(uses[i].column, column))
            return &uses[i];
    return NULL;
}

static bool audit_equals(const void *context, hf_slice column)
{
    const sql_statement *sql = context;
    const sql_use *use = audit_use_of(sql->wheres, sql->wheres_count, column);
    return use != NULL && use->equal && (use->value == SQL_BOUND || use->value == SQL_LITERAL);
}

bool audit_by_key(const audit_statement *statement)
{
    return statement->table != NULL &&
           audit_table_keyed(statement->table, audit_equals, &statement->sql);
}

hf_slice audit_bound_write(const audit_statement *statement)
{
    const sql_statement *sql = &statement->sql;
    const audit_column *version = audit_table_version(statement->table);
    for (size_t i = 0; i < sql->writes_count; i++) {
        bool own = version != NULL && audit_name_same(sql->writes[i].column, version->name);
        if (sql->writes[i].value == SQL_BOUND && !own)
            return sql->writes[i].column;
    }
    return HF_NOTHING;
}

bool audit_beside(const audit_run *run, const audit_statement *statement,
                  bool (*test)(const audit_statement *other, const audit_statement *one))
{
    if (statement->fact->file >= run->files.count || statement->seen != NULL)
        return false;
    audit_span span = run->statements_of[statement->fact->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_statement *other = &run->statements[i];
        if (other != statement && audit_same_function(other->fact, statement->fact) &&
            test(other, statement))
            return true;
    }
    return false;
}

/* ---- facts into the model ---- */

typedef struct audit_reading {
    audit_run *run;
    const audit_fact *fact;
    const char *seen;
    uint32_t line;
} audit_reading;

static void audit_keep_statement(void *context, const sql_statement *sql)
{
    const audit_reading *reading = context;
    audit_run *run = reading->run;
    audit_statement *statement = audit_push(run, (void **)&run->statements, &run->statements_count,
                                            &run->statements_room, sizeof *statement);
    if (statement == NULL)
        return;
    *statement = (audit_statement){.fact = reading->fact, .sql = *sql, .seen = reading->seen};
    statement->place = (audit_place){reading->fact->file, reading->line + sql->line};
}

/* Declarations are read in a first pass, statements in a second, when all tables are known. */
static void audit_read_text(audit_run *run, const audit_fact *fact, hf_slice text, uint32_t line,
                            const char *seen, bool declare)
{
    hf_arena arena = {0};
    sql_tokens tokens;
    audit_reading reading = {run, fact, seen, line};
    if (!audit_sql_scan(&arena, text, &tokens)) {
        run->failed = true;
    } else if (declare) {
        audit_schema_apply(&run->schema, &tokens, (audit_place){fact->file, line},
                           run->files.items[fact->file].migration);
    } else {
        audit_sql_read(&arena, &tokens, audit_keep_statement, &reading);
        for (size_t i = 0; i < tokens.count; i++)
            if (tokens.items[i].kind == SQL_BODY)
                audit_read_text(run, fact, tokens.items[i].text, line + tokens.items[i].line, seen,
                                false);
    }
    hf_arena_done(&arena);
}

static bool audit_may_declare(hf_slice text)
{
    return audit_text_find(text, "create") != NULL || audit_text_find(text, "alter") != NULL ||
           audit_text_find(text, "drop") != NULL;
}

void audit_add_sql(audit_run *run, const audit_fact *fact, const char *seen)
{
    audit_read_text(run, fact, fact->text[0], fact->line, seen, false);
}

static void audit_declare(audit_run *run)
{
    for (size_t i = 0; i < run->facts.count; i++)
        if (run->facts.items[i].kind == AUDIT_SQL && audit_may_declare(run->facts.items[i].text[0]))
            audit_read_text(run, &run->facts.items[i], run->facts.items[i].text[0],
                            run->facts.items[i].line, NULL, true);
    audit_map_classes(run);
}

/* A column that a statement compares with a value and counts up is a version, whatever its name; so
 * is one with a usual name that is compared and replaced, or compared before a deletion. */
static void audit_learn_version(const audit_statement *statement)
{
    const sql_statement *sql = &statement->sql;
    if (sql->verb != SQL_UPDATE && (sql->verb != SQL_DELETE || !audit_by_key(statement)))
        return;
    for (size_t i = 0; i < sql->wheres_count; i++) {
        const sql_use *where = &sql->wheres[i];
        const sql_use *write = audit_use_of(sql->writes, sql->writes_count, where->column);
        bool named = audit_name_among(where->column, "version rev revision version_no "
                                                     "version_number version_id lock_version");
        bool replaced = sql->verb == SQL_DELETE || (write != NULL && write->value == SQL_BOUND);
        bool moved = write != NULL && write->value == SQL_MOVED;
        audit_column *column = audit_table_column(statement->table, where->column);
        if (column != NULL && where->equal && where->value == SQL_BOUND &&
            audit_type_is_whole(column->type) && (moved || (named && replaced)))
            column->version = true;
    }
}

static void audit_join(audit_run *run)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        audit_statement *statement = &run->statements[i];
        statement->table = audit_schema_find(&run->schema, statement->sql.table);
        if (statement->table == NULL && statement->sql.prefixed)
            statement->table = audit_schema_find_ending(&run->schema, statement->sql.table);
        if (statement->table != NULL)
            audit_learn_version(statement);
    }
    for (size_t i = 0; i < run->statements_count; i++) {
        audit_statement *statement = &run->statements[i];
        const audit_column *version =
            statement->table == NULL ? NULL : audit_table_version(statement->table);
        if (version != NULL && statement->sql.verb == SQL_UPDATE &&
            audit_use_of(statement->sql.wheres, statement->sql.wheres_count, version->name) != NULL)
            statement->table->compared = true;
    }
}

/* What stays the same when lines are added above: rule, file, table, sentence, and which of those
 * that are alike it is. */
static void audit_fingerprint(const audit_run *run, audit_finding *finding)
{
    hf_buffer text = {0};
    unsigned char digest[32] = {0};
    unsigned alike = 0;
    for (const audit_finding *before = run->findings; before < finding; before++)
        alike += before->rule == finding->rule && before->place.file == finding->place.file &&
                 strcmp(before->text, finding->text) == 0;
    bool file = finding->place.file < run->files.count;
    hf_buffer_print(&text, "%s|%s|%.*s|%s|%u", finding->rule->name,
                    file ? run->files.items[finding->place.file].path : "database",
                    (int)finding->table.size, finding->table.at, finding->text, alike);
    if (!text.failed && hf_sha256(text.text, text.size, digest))
        hf_hex(digest, 16, finding->fingerprint);
    hf_buffer_done(&text);
}

static int audit_order(const void *a, const void *b)
{
    const audit_finding *one = a, *two = b;
    if (one->severity != two->severity)
        return (int)two->severity - (int)one->severity;
    if (one->rule != two->rule)
        return strcmp(one->rule->name, two->rule->name);
    if (one->place.file != two->place.file)
        return one->place.file < two->place.file ? -1 : 1;
    return one->place.line < two->place.line ? -1 : one->place.line > two->place.line;
}

/* Facts and statements stand in the order of the files: rules look at one file's alone. */
static void audit_spans(audit_run *run)
{
    size_t size = (run->files.count + 1) * sizeof(audit_span);
    run->facts_of = hf_arena_alloc(&run->arena, size);
    run->statements_of = hf_arena_alloc(&run->arena, size);
    if (run->facts_of == NULL || run->statements_of == NULL) {
        run->failed = true;
        return;
    }
    for (size_t i = 0; i < run->facts.count; i++) {
        audit_span *span = &run->facts_of[run->facts.items[i].file];
        span->from = span->end == 0 ? i : span->from;
        span->end = i + 1;
    }
    for (size_t i = 0; i < run->statements_count && run->statements[i].seen == NULL; i++) {
        audit_span *span = &run->statements_of[run->statements[i].fact->file];
        span->from = span->end == 0 ? i : span->from;
        span->end = i + 1;
    }
}

static void audit_judge(audit_run *run, const char *baseline)
{
    for (const audit_rule *const *rule = audit_rules; *rule != NULL; rule++)
        if ((*rule)->judge != NULL)
            (*rule)->judge(run, *rule);
    if (run->findings_count > 0)
        qsort(run->findings, run->findings_count, sizeof *run->findings, audit_order);
    for (size_t i = 0; i < run->findings_count; i++) {
        audit_fingerprint(run, &run->findings[i]);
        run->findings[i].known =
            baseline != NULL && strstr(baseline, run->findings[i].fingerprint) != NULL;
    }
    audit_suppress(run);
}

static hf_status audit_read_files(audit_run *run, const audit_options *options, hf_error *err)
{
    const void *module = NULL;
    hf_error missing;
    bool sources = false;
    hf_status status = HF_OK;
    for (int i = 0; status == HF_OK && i < options->paths_count; i++)
        status = audit_files_add(&run->files, options->paths[i], err);
    for (size_t i = 0; i < run->files.count; i++)
        sources = sources || run->files.items[i].language < AUDIT_LANGUAGES;
    if (status != HF_OK)
        return status;
    if (sources && hf_module_load("audit", AUDIT_MODULE_SYMBOL, &module, &missing) != HF_OK)
        audit_note(run,
                   "Programs were not read, only SQL and schemas; `make audit-module` builds what "
                   "reads them. %s",
                   missing.message);
    return audit_workers_run(&run->files, module, &run->facts, options->progress, err);
}

hf_status audit_run_all(const audit_options *options, audit_run *run, hf_error *err)
{
    run->schema.arena = run->files.arena = &run->arena;
    hf_status status = audit_read_files(run, options, err);
    if (status != HF_OK)
        return status;
    audit_declare(run);
    for (size_t i = 0; i < run->facts.count; i++)
        if (run->facts.items[i].kind == AUDIT_SQL &&
            !run->files.items[run->facts.items[i].file].migration)
            audit_add_sql(run, &run->facts.items[i], NULL);
    if (options->db != NULL)
        status = audit_live(run, options, err);
    if (status != HF_OK)
        return status;
    audit_join(run);
    audit_spans(run);
    if (!run->failed) {
        audit_judge(run, options->baseline);
        audit_ask(run);
    }
    return run->failed || run->schema.failed ? hf_fail_memory(err) : HF_OK;
}

void audit_run_done(audit_run *run)
{
    audit_facts_done(&run->facts);
    audit_files_done(&run->files);
    hf_free(run->statements);
    hf_free(run->findings);
    hf_arena_done(&run->arena);
    *run = (audit_run){0};
}
