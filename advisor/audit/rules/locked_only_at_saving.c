/* SPDX-License-Identifier: MIT */
/* A lock around the save alone: the person read the record long before, and no lock stood then. */
#include "audit/audit.h"
#include "audit/names.h"

/* What a request brought, by the names outside of quotes. */
static bool saving_from_request(hf_slice arguments)
{
    char quote = '\0';
    size_t start = 0;
    for (size_t i = 0; arguments.size > 0 && i <= arguments.size; i++) {
        char c = i < arguments.size ? arguments.at[i] : '"';
        bool opens = c == '"' || c == '\'' || c == '`';
        if (quote == '\0' && opens) {
            if (audit_name_has((hf_slice){arguments.at + start, i - start},
                               "request req dto payload form post"))
                return true;
            quote = c;
        } else if (c == quote) {
            quote = '\0';
            start = i + 1;
        }
    }
    return audit_text_find(arguments, "params[") != NULL;
}

static bool saving_speaks_of_version(hf_slice text)
{
    return audit_name_has(text, "version etag rev revision updated modified lock locked");
}

/* Nothing in the function loads a record or looks at a version; and a call with a request's values
 * stands after the lock: that call. */
static const audit_fact *saving_call(const audit_run *run, const audit_fact *lock)
{
    const audit_fact *call = NULL;
    audit_span span = run->facts_of[lock->file];
    if ((lock->flags & AUDIT_GIVEN) != 0)
        return NULL;
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (!audit_same_function(fact, lock))
            continue;
        const audit_statement *statement =
            fact->kind == AUDIT_SQL ? audit_statement_of(run, fact) : NULL;
        if (fact->kind == AUDIT_COMPARE || audit_loads(fact) ||
            (statement != NULL && statement->sql.verb == SQL_SELECT))
            return NULL;
        if (fact->kind != AUDIT_CALL || fact == lock)
            continue;
        if (fact > lock && saving_speaks_of_version(fact->text[2]))
            return NULL;
        if (fact > lock && call == NULL &&
            audit_name_among(fact->text[1], "execute executeUpdate exec query update save merge") &&
            saving_from_request(fact->text[2]))
            call = fact;
    }
    return call;
}

/* acquire("page", id), lock("page:" + id): of which kind of record; empty: not told. */
static hf_slice saving_kind(const audit_fact *lock)
{
    hf_slice text = audit_quoted(lock->text[lock->kind == AUDIT_CALL ? 2 : 0], NULL);
    size_t size = 0;
    while (size < text.size && strchr(":-_/ ", text.at[size]) == NULL)
        size++;
    return (hf_slice){text.at, size};
}

/* Taken nowhere else: whoever opens the record takes none. */
static bool saving_only_here(const audit_run *run, const audit_fact *lock)
{
    hf_slice own = saving_kind(lock);
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *other = &run->facts.items[i];
        if (other->kind != lock->kind || audit_same_function(other, lock) ||
            !audit_takes_lock(run, other))
            continue;
        hf_slice kind = saving_kind(other);
        if (kind.size == 0 || own.size == 0 || audit_name_same(kind, own))
            return false;
    }
    return true;
}

/* What is saved: the row of a table that has no version. Empty: nothing that is known. */
static hf_slice saving_table(const audit_run *run, const audit_fact *call)
{
    audit_span span = run->statements_of[call->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_statement *statement = &run->statements[i];
        if (!audit_same_function(statement->fact, call) || statement->sql.verb != SQL_UPDATE)
            continue;
        bool versioned = statement->table != NULL && audit_table_version(statement->table) != NULL;
        if (versioned || !audit_writes_blindly(statement))
            return HF_NOTHING;
        return statement->sql.table;
    }
    return HF_NOTHING;
}

static void saving_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *lock = &run->facts.items[i];
        if (!audit_takes_lock(run, lock))
            continue;
        const audit_fact *call = saving_call(run, lock);
        hf_slice table = call == NULL ? HF_NOTHING : saving_table(run, call);
        if (table.size == 0 || !saving_only_here(run, lock))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = {lock->file, lock->line},
                                     .declared = {call->file, call->line},
                                     .table = table,
                                     .confidence = AUDIT_MEDIUM},
                    "The lock is taken here only, to save in %.*s what a request brought.",
                    (int)table.size, table.at);
    }
}

const audit_rule audit_rule_locked_only_at_saving = {
    .name = "locked-only-at-saving",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A lock is taken only for the moment of saving.",
    .why =
        "The person loaded the record before, without a lock: two who edit at the same time save "
        "one after the other, and the second overwrites the first.",
    .holdfast = "Acquire when the person opens the record, and save with the lock's fence or the "
                "version (docs/patterns.md).",
    .without = "Take the lock when the record is opened for editing and keep it until it is saved, "
               "or send the version along and compare it.",
    .judge = saving_judge,
};
