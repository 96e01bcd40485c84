/* SPDX-License-Identifier: MIT */
/* SELECT, then INSERT into a table of locks, with nothing that refuses the second of two. */
#include "audit/audit.h"

static bool insert_was_checked(const audit_statement *other, const audit_statement *one)
{
    return other->sql.verb == SQL_SELECT && !other->sql.locks && other->table == one->table &&
           other->place.line <= one->place.line;
}

static void insert_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        if (statement->sql.verb != SQL_INSERT || statement->sql.upsert ||
            statement->table == NULL || !audit_table_is_lock(statement->table) ||
            audit_lock_is_unique(statement->table) ||
            !audit_beside(run, statement, insert_was_checked))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = statement->table->place,
                                     .table = statement->table->name,
                                     .confidence = AUDIT_HIGH},
                    "%.*s is looked at first and then inserted into.",
                    (int)statement->table->name.size, statement->table->name.at);
    }
}

const audit_rule audit_rule_check_then_insert = {
    .name = "check-then-insert",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "A lock is looked up, then inserted, in two steps.",
    .why = "Two people who look at the same moment both find nothing and both insert.",
    .holdfast = "'holdfast acquire', or PUT /v1/locks/{type}/{id}, decides in one step and says "
                "who holds it (docs/patterns.md).",
    .without = "Let a unique key decide: insert at once and take the violation as \"locked\".",
    .judge = insert_judge,
};
