/* SPDX-License-Identifier: MIT */
/* A version is declared, and a statement overwrites a row without looking at it: who saved in
 * between is wiped out, and whoever compares the version later does not notice. */
#include "audit/audit.h"
#include "audit/names.h"

static bool compared_locks_row(const audit_statement *other, const audit_statement *one)
{
    return other->sql.locks && other->table == one->table;
}

/* SET locked_at = ? WHERE id = ? AND locked_at IS NULL: it looks at what it overwrites. */
static bool compared_itself(const sql_statement *sql)
{
    for (size_t i = 0; i < sql->writes_count; i++)
        if (audit_use_of(sql->wheres, sql->wheres_count, sql->writes[i].column) != NULL)
            return true;
    return false;
}

static void compared_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        const audit_column *version =
            statement->table == NULL ? NULL : audit_table_version(statement->table);
        if (version == NULL || sql->verb != SQL_UPDATE || sql->unknown_where || sql->joined ||
            statement->table->guarded || !audit_by_key(statement) ||
            audit_use_of(sql->wheres, sql->wheres_count, version->name) != NULL)
            continue;
        hf_slice column = audit_bound_write(statement);
        /* Read and written under a row lock of one transaction: that is another rule's. */
        if (column.size == 0 || compared_itself(sql) ||
            audit_beside(run, statement, compared_locks_row))
            continue;
        const sql_use *moved = audit_use_of(sql->writes, sql->writes_count, version->name);
        audit_level confidence =
            audit_version_certain(statement->table, version) ? AUDIT_HIGH : AUDIT_MEDIUM;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = version->place,
                                     .table = statement->table->name,
                                     .confidence = confidence,
                                     .statement = statement->seen},
                    "UPDATE of %.*s writes %.*s by key and does not compare %.*s%s.",
                    (int)statement->table->name.size, statement->table->name.at, (int)column.size,
                    column.at, (int)version->name.size, version->name.at,
                    moved == NULL && !sql->unknown_set ? ", nor move it" : "");
    }
}

const audit_rule audit_rule_version_not_compared = {
    .name = "version-not-compared",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "A row that has a version is overwritten without comparing it.",
    .why = "If someone else saved since this value was read, their change is lost, and nobody is "
           "told.",
    .holdfast = "Call holdfast.save(type, id, version, user) in the same transaction, or guard the "
                "table so that no statement gets by (docs/patterns.md).",
    .without = "Add the version that was read: SET ..., version = version + 1 WHERE id = ? AND "
               "version = ?, and treat 0 rows as a conflict.",
    .judge = compared_judge,
};
