/* SPDX-License-Identifier: MIT */
/* A table of locks whose key does not stop a second lock on the same thing. */
#include "audit/audit.h"

static void unique_judge(audit_run *run, const audit_rule *rule)
{
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next)
        if (!table->dropped && audit_table_is_lock(table) && !audit_lock_is_unique(table))
            audit_found(run, rule,
                        &(audit_finding){
                            .place = table->place, .table = table->name, .confidence = AUDIT_HIGH},
                        "%.*s has no unique key over the locked resource alone.",
                        (int)table->name.size, table->name.at);
}

const audit_rule audit_rule_lock_table_not_unique = {
    .name = "lock-table-not-unique",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "A lock table accepts two locks on one resource.",
    .why = "Two people who ask at the same time both get the lock: a key with the owner in it, or "
           "a mere row number, does not refuse the second.",
    .holdfast =
        "Use holdfast's locks: 'holdfast install URL', then 'holdfast acquire' (docs/patterns.md).",
    .without = "Make the resource alone the primary key or UNIQUE, insert, and take the "
               "violation as \"locked\".",
    .judge = unique_judge,
};
