/* SPDX-License-Identifier: MIT */
/* A table of locks without any time: what a crashed program held stays held. */
#include "audit/audit.h"

static bool expiry_there(const audit_table *table)
{
    for (const audit_column *column = table->columns; column != NULL; column = column->next)
        if (audit_column_is_time(column))
            return true;
    return false;
}

/* Rows that are only ever locked by the database are a mutex; they need no expiry. */
static bool expiry_is_mutex(const audit_run *run, const audit_table *table)
{
    bool locks = false, writes = false;
    for (size_t i = 0; i < run->statements_count; i++)
        if (run->statements[i].table == table) {
            locks = locks || run->statements[i].sql.locks;
            writes = writes ||
                     (run->statements[i].sql.verb != SQL_SELECT && run->statements[i].sql.params);
        }
    return locks && !writes;
}

static void expiry_judge(audit_run *run, const audit_rule *rule)
{
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next)
        if (!table->dropped && audit_table_is_lock(table) && !expiry_there(table) &&
            !expiry_is_mutex(run, table))
            audit_found(run, rule,
                        &(audit_finding){
                            .place = table->place, .table = table->name, .confidence = AUDIT_HIGH},
                        "%.*s does not say when a lock ends.", (int)table->name.size,
                        table->name.at);
}

const audit_rule audit_rule_lock_table_without_expiry = {
    .name = "lock-table-without-expiry",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_HIGH,
    .sentence = "Locks in a table never end by themselves.",
    .why = "When a browser is closed or a program dies, its locks stay; someone must delete rows "
           "by hand, and will delete a live one.",
    .holdfast = "holdfast's sessions beat; a lock ends with its session, with no sweeper "
                "(docs/promises.md).",
    .without = "Add a time of expiry, renew it while the work goes on, and judge it by the "
               "database's clock when the lock is asked for.",
    .judge = expiry_judge,
};
