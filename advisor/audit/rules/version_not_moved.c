/* SPDX-License-Identifier: MIT */
/* The version is compared, but not counted up: the next save compares the same number, and both
 * succeed. */
#include "audit/audit.h"

static void moved_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        const audit_column *version =
            statement->table == NULL ? NULL : audit_table_version(statement->table);
        if (version == NULL || sql->verb != SQL_UPDATE || sql->unknown_set || sql->joined ||
            statement->table->guarded || audit_bound_write(statement).size == 0)
            continue;
        const sql_use *where = audit_use_of(sql->wheres, sql->wheres_count, version->name);
        if (where == NULL || !where->equal || where->value != SQL_BOUND ||
            audit_use_of(sql->writes, sql->writes_count, version->name) != NULL)
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = version->place,
                                     .table = statement->table->name,
                                     .confidence = AUDIT_HIGH,
                                     .statement = statement->seen},
                    "UPDATE of %.*s compares %.*s and does not move it.",
                    (int)statement->table->name.size, statement->table->name.at,
                    (int)version->name.size, version->name.at);
    }
}

const audit_rule audit_rule_version_not_moved = {
    .name = "version-not-moved",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "The version is compared but not changed.",
    .why = "Two people who read the same version both pass the comparison, and the second "
           "overwrites the first.",
    .holdfast = "holdfast.save(type, id, version, user) compares and counts in one step "
                "(docs/sql.md).",
    .without = "Add `version = version + 1` to SET.",
    .judge = moved_judge,
};
