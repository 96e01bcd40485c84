/* SPDX-License-Identifier: MIT */
/* A save that compares the time of the last change instead of a number: in its statement, or in a
 * condition before it. */
#include "audit/audit.h"
#include "audit/names.h"

#define STAMP_NAMES                                                                                \
    "updated_at modified_at last_modified last_updated modified_on updated_on modification_time "  \
    "updated modified last_modified_at last_updated_at date_modified date_updated tstamp "         \
    "last_update"

static bool stamp_is_change(const audit_table *table, hf_slice name)
{
    const audit_column *column = table == NULL ? NULL : audit_table_column(table, name);
    if (column != NULL && column->type.size > 0 && !audit_type_is_temporal(column->type))
        return false;
    return audit_name_among(name, STAMP_NAMES);
}

/* page.updatedAt, page.getUpdatedAt(), form["updated_at"], page.updated_at.to_i: one of its names
 * is the time of a change. */
static bool stamp_is_named(hf_slice text)
{
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size &&
               (text.at[i] == '_' || ((text.at[i] | 32) >= 'a' && (text.at[i] | 32) <= 'z')))
            i++;
        hf_slice name = {text.at + start, i - start};
        if (name.size > 3 && memcmp(name.at, "get", 3) == 0)
            name = (hf_slice){name.at + 3, name.size - 3};
        if (audit_name_among(name, STAMP_NAMES))
            return true;
        i += i == start;
    }
    return false;
}

/* What is saved in the function after the comparison; NULL: nothing. */
static const audit_fact *stamp_save(const audit_run *run, const audit_fact *compare)
{
    audit_span span = run->facts_of[compare->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact <= compare || !audit_same_function(fact, compare))
            continue;
        const audit_statement *statement =
            fact->kind == AUDIT_SQL ? audit_statement_of(run, fact) : NULL;
        if (audit_saves(fact) || (statement != NULL && statement->sql.verb == SQL_UPDATE))
            return fact;
    }
    return NULL;
}

static void stamp_judge_code(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_COMPARE || (fact->flags & AUDIT_REFUSES) == 0 ||
            !stamp_is_named(fact->text[0]) || !stamp_is_named(fact->text[1]) ||
            run->files.items[fact->file].migration)
            continue;
        const audit_fact *save = stamp_save(run, fact);
        if (save != NULL)
            audit_found(
                run, rule,
                &(audit_finding){.place = {fact->file, fact->line}, .confidence = AUDIT_MEDIUM},
                "Times of change are compared before the save in line %u.", save->line);
    }
}

static void stamp_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        bool bound = statement->table == NULL || audit_by_key(statement);
        for (size_t k = 0; bound && sql->verb == SQL_UPDATE && k < sql->wheres_count; k++) {
            const sql_use *use = &sql->wheres[k];
            if (!use->equal || use->value != SQL_BOUND || sql->wheres_count < 2 ||
                !stamp_is_change(statement->table, use->column))
                continue;
            audit_found(run, rule,
                        &(audit_finding){.place = statement->place,
                                         .table = sql->table,
                                         .confidence = AUDIT_MEDIUM,
                                         .statement = statement->seen},
                        "UPDATE of %.*s compares the time %.*s.", (int)sql->table.size,
                        sql->table.at, (int)use->column.size, use->column.at);
        }
    }
    stamp_judge_code(run, rule);
}

const audit_rule audit_rule_timestamp_compared = {
    .name = "timestamp-compared",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A time is used as a version.",
    .why = "Times lose digits on the way through drivers, JSON and browsers, and two saves in one "
           "tick look alike: conflicts are missed, or reported where there are none.",
    .holdfast = "holdfast.save(type, id, version, user) compares a number (docs/patterns.md).",
    .without = "Add an integer version, compare that, and keep the time for people to read.",
    .judge = stamp_judge,
};
