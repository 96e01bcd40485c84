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

/* Whether a deployment file, beside the source or above it, starts several processes of it. */
static bool map_is_deployed(const audit_run *run, const audit_fact *map, const audit_fact *by)
{
    const char *source = run->files.items[map->file].path;
    const char *file = run->files.items[by->file].path;
    hf_slice folder = hf_slice_of(file);
    while (folder.size > 0 && folder.at[folder.size - 1] != '/')
        folder.size--;
    /* deploy/k8s/app.yaml speaks of what is above deploy/. */
    while (folder.size > 1) {
        hf_slice last = {folder.at, folder.size - 1};
        size_t start = last.size;
        while (start > 0 && last.at[start - 1] != '/')
            start--;
        if (!audit_name_among((hf_slice){last.at + start, last.size - start},
                              "deploy deployment deployments k8s kubernetes config docker compose "
                              "helm chart charts templates manifests base overlays infra ops "
                              "production prod etc"))
            break;
        folder.size = start;
    }
    static const char *const languages[AUDIT_LANGUAGES] = {
        [AUDIT_JAVA] = "java", [AUDIT_PYTHON] = "python",   [AUDIT_RUBY] = "ruby",
        [AUDIT_PHP] = "php",   [AUDIT_JAVASCRIPT] = "node", [AUDIT_TYPESCRIPT] = "node",
        [AUDIT_TSX] = "node",
    };
    audit_language language = run->files.items[map->file].language;
    bool spoken = by->text[2].size == 0 ||
                  (language < AUDIT_LANGUAGES && audit_word_is(by->text[2], languages[language]));
    hf_slice below = by->text[1];
    if (!spoken || strncmp(source, folder.at, folder.size) != 0)
        return false;
    source += folder.size;
    return below.size == 0 ||
           (strncmp(source, below.at, below.size) == 0 && source[below.size] == '/');
}

static const audit_fact *map_deployment(const audit_run *run, const audit_fact *map)
{
    for (size_t i = 0; i < run->files.count; i++)
        for (size_t k = run->facts_of[i].from; k < run->facts_of[i].end; k++) {
            if (!run->files.items[i].deploys)
                break;
            if (run->facts.items[k].kind == AUDIT_WORKERS &&
                map_is_deployed(run, map, &run->facts.items[k]))
                return &run->facts.items[k];
        }
    return NULL;
}

static void map_found(audit_run *run, const audit_rule *rule, const audit_fact *map)
{
    const audit_fact *by = map_deployment(run, map);
    audit_finding at = {
        .place = {map->file, map->line}, .table = map->text[1], .confidence = AUDIT_MEDIUM};
    hf_slice name = map->text[1];
    if (by == NULL) {
        audit_found(run, rule, &at, "%.*s keeps locks in the memory of one process.",
                    (int)name.size, name.at);
        return;
    }
    at.confidence = AUDIT_HIGH;
    at.declared = (audit_place){by->file, by->line};
    audit_found(run, rule, &at,
                "%.*s keeps locks in the memory of one process, and %s:%u starts several (%.*s).",
                (int)name.size, name.at, run->files.items[by->file].path, by->line,
                (int)by->text[0].size, by->text[0].at);
}

static void map_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind != AUDIT_FIELD || !map_is_of_records(fact->text[1]) ||
            !map_is_shared(fact) || !map_is_map(fact) || map_is_of_mutexes(fact->text[2]))
            continue;
        map_found(run, rule, fact);
    }
}

const audit_rule audit_rule_lock_map = {
    .name = "lock-map-in-memory",
    .severity = AUDIT_MEDIUM,
    .confidence = AUDIT_HIGH,
    .sentence = "Locks are kept in the memory of one process.",
    .why = "A second worker or machine has a map of its own and grants the same lock again; a "
           "restart forgets all of them.",
    .holdfast = "Keep them in a store that all share: a database you have, or a holdfast server "
                "(docs/stores.md).",
    .without = "Keep them in a table with the resource as its key, and an expiry.",
    .judge = map_judge,
};
