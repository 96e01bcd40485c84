/* SPDX-License-Identifier: MIT */
/* SELECT version, then UPDATE with that version: what was just read is compared with itself. */
#include "audit/audit.h"
#include "audit/names.h"

/* It answers the version, and none of what is written. */
static bool reread_is(const audit_statement *select, const audit_statement *update,
                      const audit_column *version)
{
    return select->sql.verb == SQL_SELECT && !select->sql.locks && select->table == update->table &&
           select->fact < update->fact &&
           memchr(select->fact->text[0].at, '*', select->fact->text[0].size) == NULL &&
           audit_text_names(select->fact->text[0], version->name) &&
           !audit_reads_written(select, update);
}

/* The function looks at a version itself, or one was handed to it. */
static bool reread_looks(const audit_run *run, const audit_statement *update)
{
    audit_span span = run->facts_of[update->fact->file];
    if ((update->fact->flags & AUDIT_GIVEN) != 0)
        return true;
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind == AUDIT_COMPARE && audit_same_function(fact, update->fact))
            return true;
    }
    return false;
}

/* The version that the person's form brought is among what the statement is given. */
static bool reread_is_brought(const audit_run *run, const audit_statement *update,
                              const audit_column *version)
{
    static const char *const from[] = {"request.", "req.",   "dto.",   "form.",    "payload.",
                                       "body.",    "input.", "params", "expected", "$_POST["};
    audit_span span = run->facts_of[update->fact->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_CALL || !audit_same_function(fact, update->fact))
            continue;
        for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
            const char *at = audit_text_find(fact->text[2], from[k]);
            size_t past = at == NULL ? 0 : (size_t)(at - fact->text[2].at);
            hf_slice rest = {at, at == NULL ? 0 : fact->text[2].size - past};
            if (rest.size > 0 &&
                (audit_name_has(rest, "version") || audit_text_names(rest, version->name)))
                return true;
        }
    }
    return false;
}

static void reread_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *update = &run->statements[i], *read = NULL;
        const audit_column *version =
            update->table == NULL ? NULL : audit_table_version(update->table);
        if (version == NULL || update->sql.verb != SQL_UPDATE || update->seen != NULL ||
            audit_bound_write(update).size == 0)
            continue;
        const sql_use *where =
            audit_use_of(update->sql.wheres, update->sql.wheres_count, version->name);
        if (where == NULL || !where->equal || where->value != SQL_BOUND)
            continue;
        audit_span span = run->statements_of[update->fact->file];
        for (size_t k = span.from; k < span.end; k++) {
            const audit_statement *other = &run->statements[k];
            if (!audit_same_function(other->fact, update->fact) || other->fact >= update->fact ||
                other->table != update->table || other->sql.verb != SQL_SELECT)
                continue;
            read = reread_is(other, update, version) ? other : NULL; /* the last one counts */
        }
        if (read == NULL || reread_looks(run, update) || reread_is_brought(run, update, version))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = update->place,
                                     .declared = {read->fact->file, read->place.line},
                                     .table = update->table->name,
                                     .confidence = AUDIT_MEDIUM},
                    "UPDATE of %.*s compares %.*s with what line %u has just read.",
                    (int)update->table->name.size, update->table->name.at, (int)version->name.size,
                    version->name.at, read->place.line);
    }
}

const audit_rule audit_rule_version_read_at_saving = {
    .name = "version-read-at-saving",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "The version is read again just before it is compared.",
    .why = "It is compared with itself and always matches: a change made since the person loaded "
           "the record is overwritten.",
    .holdfast = "Hand out the version with the record, and give it to holdfast.save(type, id, "
                "version, user) (docs/patterns.md).",
    .without = "Send the version to the client with the record, and compare the one that comes "
               "back.",
    .judge = reread_judge,
};
