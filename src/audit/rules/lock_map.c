/* SPDX-License-Identifier: MIT */
/* Locks of records in a map of one process: the next process knows nothing of them. */
#include "audit/audit.h"
#include "audit/names.h"

static bool map_is_map(const audit_fact *fact)
{
    static const char *const maps[] = {"Map<",        "new Map(", "HashMap", "Dictionary<",
                                       "= {}",        "Hash.new", "dict()",  "{}",
                                       "defaultdict", "array()",  "[]"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (audit_text_find(fact->text[2], maps[i]) != NULL)
            return true;
    hf_slice value = audit_trim(fact->text[4]);
    for (size_t i = 0; value.size < 80 && i < sizeof maps / sizeof *maps; i++)
        if (audit_text_find(value, maps[i]) == value.at ||
            (maps[i][0] == 'n' && audit_text_find(value, maps[i]) != NULL))
            return value.size > 0;
    return false;
}

/* Map<String, ReentrantLock>: mutexes of threads, which nobody takes for locks of records. */
static bool map_is_of_mutexes(hf_slice type)
{
    const char *comma = type.size == 0 ? NULL : memchr(type.at, ',', type.size);
    hf_slice value = {comma, comma == NULL ? 0 : type.size - (size_t)(comma - type.at)};
    return audit_name_has(value, "lock locks mutex semaphore object monitor latch future");
}

/* A file's own variable, or a static or final field of a class. */
static bool map_is_shared(const audit_fact *fact)
{
    return (fact->flags & AUDIT_SHARED) != 0 || audit_text_find(fact->text[3], "static") != NULL ||
           audit_text_find(fact->text[3], "private final") != NULL;
}

/* Of records, by what the name says: not of threads, files, mutexes or packages. */
static bool map_is_of_records(hf_slice name)
{
    return audit_name_has(name, "locks locked lock") &&
           !audit_name_has(name, "mutex thread threads file files package yarn npm cache json "
                                 "striped conditions condition read write global");
}

static void map_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_FIELD || !map_is_of_records(fact->text[1]) ||
            !map_is_shared(fact) || !map_is_map(fact) || map_is_of_mutexes(fact->text[2]))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = {fact->file, fact->line},
                                     .table = fact->text[1],
                                     .confidence = AUDIT_MEDIUM},
                    "%.*s keeps locks in the memory of one process.", (int)fact->text[1].size,
                    fact->text[1].at);
    }
}

const audit_rule audit_rule_lock_map = {
    .name = "lock-map-in-memory",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_MEDIUM,
    .sentence = "Locks are kept in the memory of one process.",
    .why = "A second worker or machine has a map of its own and grants the same lock again; a "
           "restart forgets all of them.",
    .holdfast = "Keep them in a store that all share: a database you have, or a holdfast server "
                "(docs/stores.md).",
    .without = "Keep them in a table with the resource as its key, and an expiry.",
    .judge = map_judge,
};
