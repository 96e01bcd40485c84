/* SPDX-License-Identifier: MIT */
/* A version of a temporal type: two saves in one tick look like one. */
#include "audit/audit.h"
#include "audit/names.h"

static void time_judge(audit_run *run, const audit_rule *rule)
{
    for (const audit_table *table = run->schema.tables; table != NULL; table = table->next)
        for (const audit_column *column = table->columns; column != NULL; column = column->next) {
            bool named = audit_name_among(column->name, "version lock_version row_version optlock");
            if (table->dropped || !(column->version || named) ||
                !audit_type_is_temporal(column->type))
                continue;
            audit_found(run, rule,
                        &(audit_finding){
                            .place = column->place, .table = table->name, .confidence = AUDIT_HIGH},
                        "The version of %.*s, %.*s, is a %.*s.", (int)table->name.size,
                        table->name.at, (int)column->name.size, column->name.at,
                        (int)column->type.size, column->type.at);
        }
}

const audit_rule audit_rule_version_is_a_time = {
    .name = "version-is-a-time",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_HIGH,
    .sentence = "A version is a time, not a number.",
    .why = "Two saves within one tick of the clock, or over a clock that was set back, carry the "
           "same or a smaller version: the first is lost unnoticed.",
    .holdfast = "Let holdfast count: holdfast.save(type, id, version, user) (docs/patterns.md).",
    .without = "Make it an integer that each save counts up; keep the time in another column.",
    .judge = time_judge,
};
