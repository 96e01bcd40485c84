/* SPDX-License-Identifier: MIT */
/* Load, then lock, then save what was loaded: whoever saved between loading and locking is wiped
 * out, though the lock was held at the save. */
#include "audit/audit.h"
#include "audit/names.h"

typedef struct loading_look {
    audit_run *run;
    const audit_rule *rule;
    const audit_fact *lock;
    audit_span span; /* of the lock's file */
} loading_look;

static void loading_found(const loading_look *look, const audit_fact *load, const audit_fact *save,
                          hf_slice what)
{
    /* A lock that was there before the loading covers it; a release ends what this one covers. */
    if (audit_locked_between(look->run, load, NULL, load, false) ||
        audit_locked_between(look->run, load, look->lock, save, true))
        return;
    audit_found(look->run, look->rule,
                &(audit_finding){.place = {look->lock->file, look->lock->line},
                                 .declared = {load->file, load->line},
                                 .table = what,
                                 .confidence = AUDIT_MEDIUM},
                "%.*s is loaded in line %u, before the lock is taken here, and saved in line %u.",
                (int)what.size, what.at, load->line, save->line);
}

/* ---- by SQL ---- */

static void loading_statement(const loading_look *look, const audit_statement *save)
{
    const audit_statement *load = NULL;
    audit_span span = look->run->statements_of[look->lock->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_statement *one = &look->run->statements[i];
        if (!audit_same_function(one->fact, look->lock) || one->sql.verb != SQL_SELECT ||
            !audit_name_same(one->sql.table, save->sql.table) || one->fact >= save->fact)
            continue;
        if (one->fact > look->lock || one->sql.locks)
            return; /* loaded again, or under a lock of its own */
        if (audit_reads_written(one, save) && audit_use_of(one->sql.wheres, one->sql.wheres_count,
                                                           save->sql.wheres[0].column) != NULL)
            load = one;
    }
    if (load != NULL)
        loading_found(look, load->fact, save->fact, save->sql.table);
}

/* ---- by an ORM ---- */

/* save(record), or record.save(). */
static hf_slice loading_saved(const audit_fact *save)
{
    hf_slice given = audit_trim(save->text[2]);
    if (given.size > 2 && given.at[0] == '(')
        given = audit_trim((hf_slice){given.at + 1, given.size - 2});
    hf_slice named = audit_name_last(given);
    if (named.size > 0 && named.size + 1 >= given.size) /* PHP: $record */
        return named;
    return given.size == 0 || given.at[0] == '(' ? audit_name_last(save->text[0]) : HF_NOTHING;
}

static bool loading_is_versioned(const audit_run *run, hf_slice record)
{
    const audit_table *table = audit_schema_find(&run->schema, record);
    return table != NULL && audit_table_version(table) != NULL;
}

static void loading_record(const loading_look *look, const audit_fact *save)
{
    const audit_fact *load = NULL;
    hf_slice record = loading_saved(save);
    if (record.size == 0 || loading_is_versioned(look->run, record))
        return;
    for (size_t i = look->span.from; i < look->span.end; i++) {
        const audit_fact *one = &look->run->facts.items[i];
        if (one >= save || one->kind != AUDIT_CALL || !audit_same_function(one, look->lock))
            continue;
        bool given = hf_slice_equal(one->text[3], record);
        if (given && one > look->lock)
            return; /* what is saved is something else */
        if (given)
            load = NULL;
        if (!audit_loads(one))
            continue;
        bool named = given || audit_text_names(one->text[0], record) ||
                     audit_text_names(one->text[2], record);
        bool locks = audit_text_find(one->text[0], "lock") != NULL ||
                     audit_text_find(one->text[2], "lock") != NULL ||
                     audit_text_find(one->text[0], "for_update") != NULL;
        if (named && (one > look->lock || locks))
            return;
        if (given)
            load = one;
    }
    if (load != NULL)
        loading_found(look, load, save, record);
}

static void loading_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *lock = &run->facts.items[i];
        if (!audit_takes_lock(run, lock))
            continue;
        loading_look look = {run, rule, lock, run->facts_of[lock->file]};
        for (size_t k = i + 1; k < look.span.end; k++) {
            const audit_fact *save = &run->facts.items[k];
            if (!audit_same_function(save, lock))
                continue;
            const audit_statement *statement =
                save->kind == AUDIT_SQL ? audit_statement_of(run, save) : NULL;
            if (statement != NULL && audit_writes_blindly(statement))
                loading_statement(&look, statement);
            else if (audit_saves(save))
                loading_record(&look, save);
        }
    }
}

const audit_rule audit_rule_locked_after_loading = {
    .name = "locked-after-loading",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A lock is taken after the record was loaded.",
    .why = "Whoever saved between the loading and the locking is overwritten with what was loaded "
           "before.",
    .holdfast = "Acquire first, then load; or save with the version that was loaded: holdfast.save "
                "(docs/patterns.md).",
    .without = "Take the lock first, or load again when it is held.",
    .judge = loading_judge,
};
