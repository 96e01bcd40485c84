/* SPDX-License-Identifier: MIT */
/* Several locks in whatever order they come: by one statement, by a loop over what nothing sorts,
 * or by two functions, one the other way round. */
#include "audit/audit.h"
#include "audit/names.h"

/* A transaction, or a release, in the loop: one lock at a time. */
static bool order_ends_in_loop(const audit_run *run, const audit_fact *lock)
{
    audit_span span = run->facts_of[lock->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact->kind == AUDIT_CALL && audit_same_function(fact, lock) &&
            (fact->flags & AUDIT_EACH) != 0 &&
            (audit_gives_lock_back(fact) || audit_bounds_transaction(fact) ||
             audit_name_among(fact->text[1], "unlock release")))
            return true;
    }
    return false;
}

/* What waits until the lock is free, and keeps it: FOR UPDATE, an advisory lock, lock(). */
static bool order_waits(const audit_run *run, const audit_fact *fact)
{
    const audit_statement *statement =
        fact->kind == AUDIT_SQL ? audit_statement_of(run, fact) : NULL;
    if (statement != NULL && statement->sql.locks)
        return !statement->sql.bounded && statement->sql.table.size > 0;
    return fact->kind == AUDIT_SQL
               ? audit_text_find(fact->text[0], "pg_advisory_lock(") != NULL ||
                     audit_text_find(fact->text[0], "pg_advisory_xact_lock(") != NULL
               : audit_takes_lock(run, fact) && !audit_lock_is_scoped(fact) &&
                     !audit_name_among(fact->text[1], "tryLock tryAcquire");
}

static void order_judge_loops(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if ((fact->flags & AUDIT_EACH) == 0 || (fact->flags & AUDIT_SORTED) != 0 ||
            fact->scope == 0 || run->files.items[fact->file].migration || !order_waits(run, fact) ||
            order_ends_in_loop(run, fact))
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = {fact->file, fact->line}, .confidence = AUDIT_MEDIUM},
                    "Locks are taken one by one in a loop over what nothing has sorted.");
    }
}

/* ---- two functions ---- */

/* The next table that the function locks after `at`, if it is another one; NULL: none. */
static const audit_statement *order_next(const audit_run *run, const audit_statement *at)
{
    audit_span span = run->statements_of[at->fact->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_statement *other = &run->statements[i];
        if (other->fact > at->fact && audit_same_function(other->fact, at->fact) &&
            order_waits(run, other->fact) && other->sql.locks && other->table != NULL)
            return other->table == at->table ? NULL : other;
    }
    return NULL;
}

static bool order_commits_between(const audit_run *run, const audit_fact *from,
                                  const audit_fact *to)
{
    audit_span span = run->facts_of[from->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if (fact > from && fact < to && audit_same_function(fact, from) &&
            audit_bounds_transaction(fact))
            return true;
    }
    return false;
}

/* Its first two locks, of two tables, in one transaction; NULL: it takes no two. */
static const audit_statement *order_second(const audit_run *run, const audit_statement *first)
{
    if (first->seen != NULL || first->table == NULL || !first->sql.locks ||
        first->fact->scope == 0 || (first->fact->flags & AUDIT_GUARDED) != 0 ||
        !order_waits(run, first->fact))
        return NULL;
    const audit_statement *second = order_next(run, first);
    return second == NULL || (second->fact->flags & AUDIT_GUARDED) != 0 ||
                   order_commits_between(run, first->fact, second->fact)
               ? NULL
               : second;
}

typedef struct order_pair {
    const audit_statement *first, *second;
} order_pair;

enum { ORDER_PAIRS_MAX = 256 }; /* more different ones are not compared */

static void order_judge_pairs(audit_run *run, const audit_rule *rule)
{
    order_pair pairs[ORDER_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *first = &run->statements[i], *second = order_second(run, first);
        bool known = second == NULL;
        for (size_t k = 0; k < count && second != NULL; k++) {
            known = known || (pairs[k].first->table == first->table &&
                              pairs[k].second->table == second->table);
            if (pairs[k].first->table != second->table || pairs[k].second->table != first->table)
                continue;
            audit_found(run, rule,
                        &(audit_finding){.place = second->place,
                                         .declared = pairs[k].second->place,
                                         .table = first->table->name,
                                         .confidence = AUDIT_MEDIUM},
                        "%.*s is locked before %.*s here, and after it elsewhere.",
                        (int)first->table->name.size, first->table->name.at,
                        (int)second->table->name.size, second->table->name.at);
            known = true;
        }
        if (!known && count < ORDER_PAIRS_MAX)
            pairs[count++] = (order_pair){first, second};
    }
}

static void order_judge(audit_run *run, const audit_rule *rule)
{
    for (size_t i = 0; i < run->statements_count; i++) {
        const audit_statement *statement = &run->statements[i];
        const sql_statement *sql = &statement->sql;
        bool many = false;
        for (size_t k = 0; k < sql->wheres_count; k++)
            many = many || sql->wheres[k].many;
        if (!sql->locks || !many || sql->ordered || sql->bounded || sql->table.size == 0)
            continue;
        audit_found(run, rule,
                    &(audit_finding){.place = statement->place,
                                     .table = sql->table,
                                     .confidence = AUDIT_MEDIUM,
                                     .statement = statement->seen},
                    "Rows of %.*s are locked in no fixed order.", (int)sql->table.size,
                    sql->table.at);
    }
    order_judge_loops(run, rule);
    order_judge_pairs(run, rule);
}

const audit_rule audit_rule_locks_in_no_order = {
    .name = "locks-in-no-order",
    .severity = AUDIT_LOW,
    .confidence = AUDIT_MEDIUM,
    .sentence = "Several locks are taken in no fixed order.",
    .why = "Two transactions that lock the same rows in different orders wait for each other: a "
           "deadlock, and one of them fails.",
    .holdfast = "holdfast takes several resources all or none, in canonical order (P4).",
    .without = "Add ORDER BY on the key before FOR UPDATE; in a loop, sort first; lock tables in "
               "one order everywhere.",
    .judge = order_judge,
};
