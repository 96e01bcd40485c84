/* SPDX-License-Identifier: MIT */
/* Several rows are locked by one statement, or by a loop, in whatever order they come. */
#include "audit/audit.h"

static void order_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        bool many = false;
        for (size_t k = 0; k < sql->wheres_count; k++)
            many = many || sql->wheres[k].many;
        if (!sql->locks || !many || sql->ordered || sql->bounded || sql->table.size == 0)
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .table = sql->table,
                                     .confidence = AUDIT_MEDIUM,
                                     .statement = statement->seen},
                    "Rows of %.*s are locked in no fixed order.", (int)sql->table.size,
                    sql->table.at);
    }
}

const audit_rule audit_rule_locks_in_no_order = {
    .name = "locks-in-no-order",
    .severity = AUDIT_LOW,
    .confidence = AUDIT_MEDIUM,
    .sentence = "Several locks are taken in no fixed order.",
    .why = "Two transactions that lock the same rows in different orders wait for each other: a "
           "deadlock, and one of them fails.",
    .holdfast = "holdfast takes several resources all or none, in canonical order (P4).",
    .without = "Add ORDER BY on the key before FOR UPDATE; in a loop, sort first.",
    .judge = order_judge,
};
