/* SPDX-License-Identifier: MIT */
/* A save that compares the time of the last change instead of a number. */
#include "audit/audit.h"
#include "audit/names.h"

static bool stamp_is_change(const audit_table *table, hf_slice name)
{
    const audit_column *column = table == NULL ? NULL : audit_table_column(table, name);
    if (column != NULL && column->type.size > 0 && !audit_type_is_temporal(column->type))
        return false;
    return audit_name_among(name, "updated_at modified_at last_modified last_updated "
                                  "modified_on updated_on modification_time updated modified "
                                  "last_modified_at last_updated_at date_modified date_updated "
                                  "tstamp last_update");
}

static void stamp_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        bool bound = statement->table == NULL || audit_by_key(statement);
        for (size_t k = 0; bound && sql->verb == SQL_UPDATE && k < sql->wheres_count; k++) {
            const sql_use *use = &sql->wheres[k];
            if (!use->equal || use->value != SQL_BOUND || sql->wheres_count < 2 ||
                !stamp_is_change(statement->table, use->column))
                continue;
            audit_found(run, rule,
                        &(audit_finding){.place = statement->place,
                                         .table = sql->table,
                                         .confidence = AUDIT_MEDIUM,
                                         .statement = statement->seen},
                        "UPDATE of %.*s compares the time %.*s.", (int)sql->table.size,
                        sql->table.at, (int)use->column.size, use->column.at);
        }
    }
}

const audit_rule audit_rule_timestamp_compared = {
    .name = "timestamp-compared",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A time is used as a version.",
    .why = "Times lose digits on the way through drivers, JSON and browsers, and two saves in one "
           "tick look alike: conflicts are missed, or reported where there are none.",
    .holdfast = "holdfast.save(type, id, version, user) compares a number (docs/patterns.md).",
    .without = "Add an integer version, compare that, and keep the time for people to read.",
    .judge = stamp_judge,
};
