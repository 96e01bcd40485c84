/* SPDX-License-Identifier: MIT */
/* The lock is given back before the transaction that it protects has ended. */
#include "audit/audit.h"
#include "audit/names.h"

static bool release_ends(const audit_fact *fact)
{
    return fact->kind == AUDIT_CALL && audit_name_among(fact->text[1], "commit rollback");
}

static void release_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i], *commit = NULL;
        if (!audit_gives_lock_back(fact) || fact->scope == 0)
            continue;
        audit_span span = run->facts_of[fact->file];
        for (size_t k = span.from; k < span.end; k++) {
            const audit_fact *other = &run->facts.items[k];
            if (other->scope != fact->scope || !release_ends(other))
                continue;
            if (other->line < fact->line) { /* committed before: fine */
                commit = NULL;
                break;
            }
            if (audit_name_among(other->text[1], "commit"))
                commit = other;
        }
        if (commit != NULL)
            audit_found(run, rule,
                        &(audit_finding){.place = {fact->file, fact->line},
                                         .declared = {commit->file, commit->line},
                                         .confidence = AUDIT_MEDIUM},
                        "The lock is released before the commit in line %u.", commit->line);
    }
}

const audit_rule audit_rule_released_before_commit = {
    .name = "released-before-commit",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "A lock is released before the transaction commits.",
    .why = "The next holder starts between release and commit, and reads what was there before.",
    .holdfast = "Take the lock around the transaction, or let the transaction carry it: "
                "holdfast.check in it (docs/leases.md).",
    .without = "Release after the commit, in a `finally` outside of the transaction.",
    .judge = release_judge,
};
