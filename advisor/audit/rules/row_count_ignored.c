/* SPDX-License-Identifier: MIT */
/* The statement compares the version, but nobody looks whether it found a row: a conflict passes
 * as a save. */
#include "audit/audit.h"
#include "audit/names.h"

/* The function runs a prepared statement and throws the count away. */
static bool count_thrown_away(const audit_run *run, const audit_fact *fact)
{
    bool runs = false;
    if ((fact->flags & AUDIT_COUNTED) != 0 || (fact->flags & AUDIT_EXECUTED) == 0)
        return false;
    audit_span span = run->facts_of[fact->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *call = &run->facts.items[i];
        if (call->kind != AUDIT_CALL || call->scope != fact->scope ||
            !audit_name_among(call->text[1], "execute executeUpdate exec update"))
            continue;
        if ((call->flags & AUDIT_DISCARDED) == 0)
            return false;
        runs = true;
    }
    return runs || (fact->flags & AUDIT_DISCARDED) != 0;
}

static void count_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        const audit_column *version =
            statement->table == NULL ? NULL : audit_table_version(statement->table);
        if (version == NULL || sql->verb == SQL_SELECT || sql->verb == SQL_INSERT ||
            sql->returning || statement->seen != NULL)
            continue;
        const sql_use *where = audit_use_of(sql->wheres, sql->wheres_count, version->name);
        if (where == NULL || !where->equal || where->value != SQL_BOUND ||
            !audit_by_key(statement) || !count_thrown_away(run, statement->fact))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = version->place,
                                     .table = statement->table->name,
                                     .confidence = AUDIT_HIGH},
                    "%s %.*s compares %.*s, but the number of changed rows is ignored.",
                    sql->verb == SQL_UPDATE ? "UPDATE of" : "DELETE from",
                    (int)statement->table->name.size, statement->table->name.at,
                    (int)version->name.size, version->name.at);
    }
}

const audit_rule audit_rule_row_count_ignored = {
    .name = "row-count-ignored",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "A conflict goes unnoticed: the number of changed rows is ignored.",
    .why = "On a conflict the statement changes no row and reports success; the person believes "
           "that the work was saved.",
    .holdfast = "holdfast.save raises an error that can't be overlooked (docs/sql.md).",
    .without = "Compare the number of rows with 1 (rowcount, affectedRows, the result of "
               "executeUpdate), and tell the person on 0.",
    .judge = count_judge,
};
