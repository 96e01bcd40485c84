/* SPDX-License-Identifier: MIT */
/* Calls of an ORM that write past its own version: update_all, QuerySet.update, updateMany. */
#include "audit/audit.h"
#include "audit/names.h"

/* The class that a chain of calls begins with: Issue.where(...), Account.objects.filter(...). */
static hf_slice bulk_root(hf_slice chain)
{
    size_t size = 0;
    while (size < chain.size && (chain.at[size] == '_' || chain.at[size] == '\\' ||
                                 (chain.at[size] >= '0' && chain.at[size] <= '9') ||
                                 ((chain.at[size] | 32) >= 'a' && (chain.at[size] | 32) <= 'z')))
        size++;
    return audit_name_last((hf_slice){chain.at, size});
}

static bool bulk_is_call(const audit_fact *fact)
{
    hf_slice on = fact->text[0], name = fact->text[1];
    if (audit_name_among(name, "update_all update_columns update_column bulk_update"))
        return on.size > 0;
    if (audit_name_among(name, "update"))
        return audit_text_find(on, ".objects") != NULL || audit_text_find(on, "::where") != NULL ||
               audit_text_find(on, "::query") != NULL;
    return audit_name_among(name, "updateMany");
}

static hf_slice bulk_entity(const audit_fact *fact)
{
    hf_slice on = fact->text[0];
    if (audit_name_among(fact->text[1], "updateMany")) /* prisma.account.updateMany */
        return audit_name_last(on);
    return bulk_root(on);
}

static void bulk_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_CALL || !bulk_is_call(fact))
            continue;
        const audit_table *table = audit_schema_find(&run->schema, bulk_entity(fact));
        const audit_column *version = table == NULL ? NULL : audit_table_version(table);
        if (version == NULL || !audit_version_certain(table, version) ||
            run->files.items[fact->file].migration ||
            audit_text_names(fact->text[2], version->name))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = {fact->file, fact->line},
                                     .declared = version->place,
                                     .table = table->name,
                                     .confidence = AUDIT_MEDIUM},
                    "%.*s writes rows of %.*s and leaves %.*s as it is.", (int)fact->text[1].size,
                    fact->text[1].at, (int)table->name.size, table->name.at,
                    (int)version->name.size, version->name.at);
    }
}

const audit_rule audit_rule_bulk_write = {
    .name = "bulk-write-past-version",
    .severity = AUDIT_LOW,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A bulk write goes past the version.",
    .why = "The ORM neither compares nor moves the version here: whoever has a record open "
           "overwrites this change without being told.",
    .holdfast = "Guard the table, so that the database refuses a write that does not carry the "
                "version.",
    .without = "Move the version in the same call (version = version + 1), or load and save the "
               "records one by one.",
    .judge = bulk_judge,
};
