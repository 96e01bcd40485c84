/* SPDX-License-Identifier: MIT */
/* A part of an aggregate is written while the root's version stays: two people can change two
 * parts of one thing, which then fit together no more. */
#include "audit/audit.h"

/* The parent that it is deleted with, if that has a version. */
static const audit_table *root_of(const audit_run *run, const audit_table *table)
{
    for (const audit_reference *it = table->references; it != NULL; it = it->next) {
        const audit_table *root = it->cascade ? audit_schema_find(&run->schema, it->table) : NULL;
        const audit_column *version =
            root == NULL || root == table ? NULL : audit_table_version(root);
        if (version != NULL && audit_version_certain(root, version))
            return root;
    }
    return NULL;
}

static bool root_is_touched(const audit_run *run, const audit_statement *member,
                            const audit_table *root)
{
    audit_span span = run->statements_of[member->fact->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_statement *other = &run->statements[i];
        if (other->table == root && other->fact->scope == member->fact->scope &&
            (other->sql.locks || other->sql.verb == SQL_UPDATE))
            return true;
    }
    return false;
}

static void root_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        if (statement->table == NULL || statement->sql.verb != SQL_UPDATE ||
            statement->seen != NULL || statement->fact->scope == 0 ||
            audit_table_version(statement->table) != NULL || !audit_by_key(statement) ||
            audit_bound_write(statement).size == 0)
            continue;
        const audit_table *root = root_of(run, statement->table);
        if (root == NULL || root_is_touched(run, statement, root))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .declared = audit_table_version(root)->place,
                                     .table = statement->table->name,
                                     .confidence = AUDIT_HIGH},
                    "%.*s, a part of %.*s, is written and the version of %.*s stays.",
                    (int)statement->table->name.size, statement->table->name.at,
                    (int)root->name.size, root->name.at, (int)root->name.size, root->name.at);
    }
}

const audit_rule audit_rule_member_past_root = {
    .name = "member-past-root",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_HIGH,
    .sentence = "A member of an aggregate is changed without its root's version.",
    .why = "A person who edits the whole compares the root's version, which did not change: the "
           "change of this member is overwritten, or the whole becomes inconsistent.",
    .holdfast = "Save members under the root's name: holdfast.save('order', root_id, version, "
                "user) (docs/patterns.md).",
    .without = "In the same transaction, compare and move the root's version, or lock the root's "
               "row first.",
    .judge = root_judge,
};
