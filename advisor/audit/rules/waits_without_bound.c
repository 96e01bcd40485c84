/* SPDX-License-Identifier: MIT */
/* An advisory lock that is waited for as long as it takes. */
#include "audit/audit.h"
#include "audit/names.h"

static bool wait_bounds(const audit_run *run, const audit_fact *fact)
{
    audit_span span = run->facts_of[fact->file];
    for (size_t i = span.from; i < span.end; i++)
        if (run->facts.items[i].kind == AUDIT_SQL &&
            audit_text_find(run->facts.items[i].text[0], "lock_timeout") != NULL)
            return true;
    return false;
}

static void wait_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_SQL)
            continue;
        bool advisory = audit_text_find(fact->text[0], "pg_advisory_lock(") != NULL ||
                        audit_text_find(fact->text[0], "pg_advisory_lock_shared(") != NULL;
        const char *get = audit_text_find(fact->text[0], "get_lock(");
        const char *minus = get == NULL ? NULL : strstr(get, ", -1");
        if ((!advisory && minus == NULL) || wait_bounds(run, fact))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = {fact->file, fact->line}, .confidence = AUDIT_MEDIUM},
                    "%s waits without a limit.",
                    advisory ? "pg_advisory_lock" : "GET_LOCK with -1");
    }
}

const audit_rule audit_rule_waits_without_bound = {
    .name = "waits-without-bound",
    .severity = AUDIT_LOW,
    .confidence = AUDIT_MEDIUM,
    .sentence = "The wait for a lock has no limit.",
    .why = "One holder that hangs stops everyone who asks, and each of them keeps a connection.",
    .holdfast = "A lease has a bound for waiting and one for holding: hf_lease_try_acquire, "
                "holdfast run (docs/leases.md).",
    .without = "SET lock_timeout first, or try (pg_try_advisory_lock) and tell the person.",
    .judge = wait_judge,
};
