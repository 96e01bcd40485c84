/* SPDX-License-Identifier: MIT */
/* What a decision needs, by the strategy that was chosen and the answers. */
#include "advise/decide.h"

#include <math.h>
#include <stdio.h>

static void needs_lock_type(advise_record *record)
{
    bool latest = decide_yes(record, ADVISE_READERS_NEED_LATEST),
         many = decide_yes(record, ADVISE_READ_MOSTLY);
    if (!advise_uses_locks(record))
        return;
    /* Assumed readers do not make a lock harder. */
    bool share = latest && many && !decide_assumed(record, ADVISE_READ_MOSTLY);
    record->lock_type = share    ? ADVISE_READ_WRITE
                        : latest ? ADVISE_EXCLUSIVE_READ
                                 : ADVISE_EXCLUSIVE_WRITE;
}

static void needs_group(advise_record *record)
{
    record->group_required = record->answers.grouped_with.count > 0;
    if (!record->group_required)
        return;
    bool reading =
        record->lock_type == ADVISE_EXCLUSIVE_READ || record->lock_type == ADVISE_READ_WRITE;
    bool versions = advise_uses_versions(record) || reading;
    record->group = versions && decide_yes(record, ADVISE_SCHEMA_MAY_CHANGE) ? ADVISE_SHARED_VERSION
                                                                             : ADVISE_ROOT_LOCK;
}

static void needs_implicit(advise_record *record)
{
    static const char *const hooked[] = {"django",    "rails", "laravel",         "asp.net",
                                         "hibernate", "jpa",   "entity framework"};
    record->implicit_required = record->answers.numbers[ADVISE_CODE_PATHS] > 1;
    if (!record->implicit_required) {
        record->point = ADVISE_ENTRY_POINT;
        return;
    }
    record->point = advise_uses_locks(record) ? ADVISE_MAPPER_DECORATOR : ADVISE_ABSTRACT_MAPPER;
    if (decide_stack_has(record, "express") || decide_stack_has(record, "node"))
        record->point = ADVISE_REPOSITORY_BASE;
    for (size_t i = 0; i < sizeof hooked / sizeof *hooked; i++)
        if (decide_stack_has(record, hooked[i]) && !(advise_uses_locks(record) && i >= 4 && i <= 5))
            record->point = ADVISE_ORM_HOOK;
}

void advise_decide_storage(advise_record *record)
{
    static const advise_storage of_database[] = {
        ADVISE_IN_POSTGRES, ADVISE_IN_MARIADB, ADVISE_IN_MYSQL, ADVISE_IN_SQLITE, ADVISE_IN_SERVER};
    const double *n = record->answers.numbers;
    if (!advise_uses_locks(record) && record->strategy != ADVISE_BE_LEASE)
        return;
    record->storage = of_database[(int)n[ADVISE_DATABASE]];
    if (!decide_yes(record, ADVISE_SCHEMA_MAY_CHANGE) ||
        (record->storage == ADVISE_IN_SQLITE && n[ADVISE_SERVERS] > 1))
        record->storage = ADVISE_IN_SERVER;
    if (decide_stack_has(record, "redis"))
        record->storage = ADVISE_IN_REDIS;
}

/* Beyond the length that one edit in ten exceeds there is a third more time; nobody is cut off
 * within half an hour. */
static void needs_timeouts(advise_record *record)
{
    if (!advise_uses_locks(record))
        return;
    double bound = ceil(record->answers.numbers[ADVISE_EDIT_MINUTES_P90] * 4 / 3 / 10 - 1e-9) * 10;
    record->lock_minutes = bound < 30 ? 30 : bound;
    record->idle_minutes = ADVISE_IDLE_MINUTES;
    record->beat_seconds = 30;
}

static void needs_warnings(advise_record *record)
{
    const double *n = record->answers.numbers;
    advise_sentences *w = &record->warnings;
    bool locks = advise_uses_locks(record), versions = advise_uses_versions(record);
    if (locks && n[ADVISE_SERVERS] > 1)
        advise_say(w,
                   "Keep no locks in the memory of a process: with %g servers the others do not "
                   "see them, and a "
                   "restart drops them.",
                   n[ADVISE_SERVERS]);
    if (locks)
        advise_say(
            w, "Hold no SELECT ... FOR UPDATE while a person thinks: it keeps a connection and its "
               "row locks for "
               "as long as the edit takes.");
    if (versions)
        advise_say(w,
                   "Compare a whole number, not modified_at: two saves in the same instant, or two "
                   "clocks, look like "
                   "one. modified_at is for people to read.");
    if (record->implicit_required)
        advise_say(w,
                   "%g places save these records. One that forgets the %s defeats all others: put "
                   "it where they all "
                   "pass (section 4).",
                   n[ADVISE_CODE_PATHS], locks ? "lock" : "version");
    if (record->strategy == ADVISE_BE_PESSIMISTIC || record->strategy == ADVISE_BE_OPTIMISTIC)
        advise_say(
            w,
            "Use %s for every save of this type. A page that only compares versions does not see "
            "locks, and one "
            "that only locks does not see versions.",
            locks ? "locks" : "versions");
    if (record->lock_type == ADVISE_EXCLUSIVE_READ)
        advise_say(w, "An exclusive read lock lets one person at a time even look. Use it for this "
                      "type alone, not "
                      "everywhere.");
    if (versions && n[ADVISE_SCHEMA_MAY_CHANGE] == 0)
        advise_say(
            w,
            "Without a version column, every column that was read must stand in the WHERE clause "
            "with its old "
            "value; a column left out is a lost update.");
    if (n[ADVISE_DATABASE] == ADVISE_SQLITE && n[ADVISE_SERVERS] > 1)
        advise_say(w, "Several servers can't share a SQLite file over a network; the locks go to a "
                      "holdfast server.");
    if (record->storage == ADVISE_IN_REDIS)
        advise_say(
            w,
            "A Redis that evicts or forgets loses locks: set appendonly yes and maxmemory-policy "
            "noeviction.");
    if (record->group_required && record->group == ADVISE_ROOT_LOCK)
        advise_say(w,
                   "Whoever changes a part must lock the root, %s; two people with locks on two "
                   "parts know "
                   "nothing of "
                   "each other.",
                   record->answers.entities.items[0]);
}

static void needs_experts(advise_record *record)
{
    char names[ADVISE_SENTENCE / 2] = "";
    size_t used = 0;
    for (int id = 0; id < ADVISE_ANSWERS; id++)
        if (advise_questions[id].expert && decide_assumed(record, (advise_id)id) &&
            used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", advise_questions[id].name);
    if (used > 0)
        advise_say(&record->doubts, "For a domain expert (nobody has said, and no log tells): %s.",
                   names);
}

void advise_decide_needs(advise_record *record)
{
    needs_lock_type(record);
    needs_group(record);
    needs_implicit(record);
    advise_decide_storage(record);
    needs_timeouts(record);
    needs_warnings(record);
    needs_experts(record);
}
