/* SPDX-License-Identifier: MIT */
/* A table of locks that does not say whose they are. */
#include "audit/audit.h"

static bool owner_there(const audit_table *table)
{
    for (const audit_column *column = table->columns; column != NULL; column = column->next)
        if (audit_column_is_owner(column))
            return true;
    return false;
}

static void owner_judge(audit_run *run, const audit_rule *rule)
{
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next)
        if (!table->dropped && audit_table_is_lock(table) && !owner_there(table))
            audit_found(run, rule,
                        &(audit_finding){
                            .place = table->place, .table = table->name, .confidence = AUDIT_HIGH},
                        "%.*s does not say who holds a lock.", (int)table->name.size,
                        table->name.at);
}

const audit_rule audit_rule_lock_table_without_owner = {
    .name = "lock-table-without-owner",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_HIGH,
    .sentence = "A lock table does not record the owner.",
    .why = "Nobody can tell whose lock it is: anyone can release it, and people who wait cannot "
           "ask the holder.",
    .holdfast = "holdfast's locks belong to a session and a person, with a fence "
                "(docs/patterns.md).",
    .without = "Add the owner (a session, not only a user) and compare it on release.",
    .judge = owner_judge,
};
