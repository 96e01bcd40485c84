/* SPDX-License-Identifier: MIT */
/* Some writers compare a version, others lock the row and leave the version alone: those who
 * compare do not see the change. */
#include "audit/audit.h"

static bool mixed_locks_row(const audit_statement *other, const audit_statement *one)
{
    return other->sql.locks && other->table == one->table;
}

static void mixed_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        const audit_column *version =
            statement->table == NULL ? NULL : audit_table_version(statement->table);
        if (version == NULL || sql->verb != SQL_UPDATE || sql->unknown_set || sql->joined ||
            statement->table->guarded || audit_bound_write(statement).size == 0 ||
            !audit_version_certain(statement->table, version) ||
            audit_use_of(sql->writes, sql->writes_count, version->name) != NULL ||
            !audit_beside(run, statement, mixed_locks_row))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = version->place,
                                     .table = statement->table->name,
                                     .confidence = AUDIT_HIGH},
                    "%.*s is written under a row lock without moving %.*s, which others compare.",
                    (int)statement->table->name.size, statement->table->name.at,
                    (int)version->name.size, version->name.at);
    }
}

const audit_rule audit_rule_mixed_strategies = {
    .name = "mixed-strategies",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "One table is saved both by versions and by locks, which ignore each other.",
    .why = "Someone who read the record before this statement still holds a version that fits, "
           "saves, and overwrites what was written here.",
    .holdfast = "Fix one policy for the type: holdfast type set TYPE --policy ...; holdfast then "
                "refuses the other way.",
    .without = "Move the version in every statement that writes, also under FOR UPDATE.",
    .judge = mixed_judge,
};
