/* SPDX-License-Identifier: MIT */
/* What code seldom shows, asked where something suggests it. A question is no finding: it does
 * not change the exit code. */
#include "audit/audit.h"
#include "audit/names.h"

#include <stdio.h>

static void question_put(audit_run *run, const char *name, audit_place place, const char *text)
{
    const char *copy = hf_arena_text(&run->arena, hf_slice_of(text));
    if (copy == NULL)
        run->failed = true;
    else if (run->questions_count < AUDIT_QUESTIONS_MAX)
        run->questions[run->questions_count++] =
            (audit_question){.name = name, .text = copy, .place = place};
}

/* ---- release at the end of a session ---- */

/* DELETE ... WHERE owner = ?: all locks of one owner. */
static bool question_released_by_owner(const audit_run *run, const audit_table *table)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        if (statement->table != table || sql->verb != SQL_DELETE)
            continue;
        bool owner = false, other = false;
        for (size_t k = 0; k < sql->wheres_count; k++) {
            audit_column column = {.name = sql->wheres[k].column};
            owner = owner || audit_column_is_owner(&column);
            other = other || !audit_column_is_owner(&column);
        }
        if (sql->unknown_where || (owner && !other))
            return true;
    }
    return false;
}

static void question_release(audit_run *run)
{
    char text[512];
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next) {
        bool owned = false;
        for (const audit_column *column = table->columns; column != NULL; column = column->next)
            owned = owned || audit_column_is_owner(column);
        if (table->dropped || !owned || !audit_table_is_lock(table) ||
            question_released_by_owner(run, table))
            continue;
        snprintf(text, sizeof text,
                 "Are a person's locks in %.*s given back when the session ends (logout, timeout, "
                 "closed browser)? No statement deletes them by their owner alone.",
                 (int)table->name.size, table->name.at);
        question_put(run, "release-at-session-end", table->place, text);
    }
}

/* ---- the version on its way to the client ---- */

static bool question_is_sent(const audit_run *run, const audit_table *table,
                             const audit_column *version, bool *forms)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind == AUDIT_FORM) {
            *forms = true;
            if (audit_name_same(fact->text[0], version->name))
                return true;
        }
        /* A class that is no entity but has it: what goes to the client, or comes back. */
        if (fact->kind == AUDIT_FIELD && audit_name_same(fact->text[1], version->name) &&
            fact->text[0].size > 0 && !audit_name_same(fact->text[0], table->entity) &&
            audit_schema_find(&run->schema, fact->text[0]) == NULL)
            return true;
    }
    return false;
}

static bool question_is_unsent(const audit_run *run, const audit_table *table)
{
    const audit_column *version = table->dropped ? NULL : audit_table_version(table);
    bool forms = false;
    return version != NULL && audit_version_certain(table, version) &&
           !question_is_sent(run, table, version, &forms) && forms;
}

/* One question for all tables: the answer is mostly the same. */
static void question_sent(audit_run *run)
{
    char text[512];
    const audit_table *first = NULL;
    size_t others = 0;
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next)
        if (question_is_unsent(run, table)) {
            others += first != NULL;
            first = first == NULL ? table : first;
        }
    if (first == NULL)
        return;
    const audit_column *version = audit_table_version(first);
    int length =
        snprintf(text, sizeof text, "Does the version %.*s of %.*s", (int)version->name.size,
                 version->name.at, (int)first->name.size, first->name.at);
    if (others > 0 && length > 0 && (size_t)length < sizeof text)
        length += snprintf(text + length, sizeof text - (size_t)length, " (and of %zu other %s)",
                           others, others == 1 ? "table" : "tables");
    if (length > 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length,
                 " go to the client with the record, and come back with the save? No form has a "
                 "field of that name.");
    question_put(run, "version-sent-to-client", version->place, text);
}

/* ---- locks across requests ---- */

static bool question_ends(const audit_statement *other, const audit_statement *one)
{
    return other->fact > one->fact && other->sql.verb != SQL_SELECT;
}

static void question_across(audit_run *run)
{
    char text[512];
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        bool ends = false;
        if (!statement->sql.locks || statement->sql.verb != SQL_SELECT || statement->seen != NULL ||
            (statement->fact->flags & AUDIT_EXECUTED) == 0 || statement->fact->scope == 0 ||
            statement->sql.table.size == 0 || audit_beside(run, statement, question_ends))
            continue;
        audit_span span = run->facts_of[statement->fact->file];
        for (size_t k = span.from; k < span.end && !ends; k++)
            ends = run->facts.items[k].kind == AUDIT_CALL &&
                   audit_same_function(&run->facts.items[k], statement->fact) &&
                   (audit_saves(&run->facts.items[k]) ||
                    audit_bounds_transaction(&run->facts.items[k]));
        for (size_t k = 0; k < run->questions_count && !ends; k++)
            ends = run->questions[k].place.file == statement->place.file;
        if (ends)
            continue;
        snprintf(text, sizeof text,
                 "Does the transaction that locks a row of %.*s here end before a person is asked? "
                 "The function neither writes nor commits; `--db` shows it in the act.",
                 (int)statement->sql.table.size, statement->sql.table.at);
        question_put(run, "lock-across-requests", statement->place, text);
    }
}

/* ---- paths past the lock ---- */

static bool question_is_locked(const audit_run *run, const audit_statement *statement)
{
    return audit_locked_between(run, statement->fact, NULL, statement->fact, false);
}

static void question_past(audit_run *run)
{
    char text[512];
    const audit_table *told[AUDIT_QUESTIONS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < run->statements_count && count < AUDIT_QUESTIONS_MAX; i++) {
        const audit_statement *locked = &run->statements[i], *past = NULL;
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known = known || told[k] == locked->table;
        if (known || locked->seen != NULL || locked->table == NULL ||
            locked->sql.verb != SQL_UPDATE || audit_table_is_lock(locked->table) ||
            audit_table_version(locked->table) != NULL || !question_is_locked(run, locked))
            continue;
        for (size_t k = 0; k < run->statements_count && past == NULL; k++)
            if (run->statements[k].table == locked->table && run->statements[k].seen == NULL &&
                audit_writes_blindly(&run->statements[k]) && run->statements[k].fact->scope != 0 &&
                audit_bound_write(&run->statements[k]).size > 0 &&
                !question_is_locked(run, &run->statements[k]))
                past = &run->statements[k];
        told[count++] = locked->table;
        if (past == NULL)
            continue;
        snprintf(text, sizeof text,
                 "Is %.*s locked by the caller here? Line %u of %s takes a lock before it writes "
                 "this table; this function does not.",
                 (int)locked->table->name.size, locked->table->name.at, locked->place.line,
                 run->files.items[locked->place.file].path);
        question_put(run, "path-past-lock", past->place, text);
    }
}

void audit_ask(audit_run *run)
{
    question_across(run);
    question_release(run);
    question_sent(run);
    question_past(run);
}
