/* SPDX-License-Identifier: MIT */
/* Locks as programs take them, and what they load and save meanwhile. Told apart from mutexes of
 * threads by what is handed over: the key of a record. */
#include "audit/audit.h"
#include "audit/names.h"

bool audit_same_function(const audit_fact *one, const audit_fact *other)
{
    return one->file == other->file && one->scope == other->scope && one->scope != 0;
}

/* Arguments that say how long to wait, not what to lock. */
static bool locking_names_record(hf_slice arguments)
{
    size_t start = 0;
    for (size_t i = 0; arguments.size > 0 && i <= arguments.size; i++) {
        char c = i < arguments.size ? arguments.at[i] : ' ';
        bool inside = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
        hf_slice word = {arguments.at + start, i - start};
        if (inside)
            continue;
        if (word.size > 0 && !(word.at[0] >= '0' && word.at[0] <= '9') &&
            !audit_name_among(word, "TimeUnit seconds milliseconds minutes true false null none "
                                    "timeout blocking wait self this Duration ofSeconds"))
            return true;
        start = i + 1;
    }
    return false;
}

/* lock = registry.getLock(key); lock.lock(): the key was named before. */
static bool locking_was_named(const audit_run *run, const audit_fact *fact)
{
    hf_slice called = audit_name_last(fact->text[0]);
    audit_span span = run->facts_of[fact->file];
    for (size_t i = span.from; i < span.end && &run->facts.items[i] < fact; i++) {
        const audit_fact *other = &run->facts.items[i];
        if (other->kind == AUDIT_CALL && audit_same_function(other, fact) &&
            audit_name_among(other->text[1], "getLock createLock newLock obtain lock") &&
            hf_slice_equal(other->text[3], called) && locking_names_record(other->text[2]))
            return true;
    }
    return false;
}

static bool locking_by_call(const audit_run *run, const audit_fact *fact)
{
    hf_slice on = fact->text[0], arguments = fact->text[2];
    if (audit_name_among(fact->text[1], "acquireLock lockRecord obtainLock takeLock"))
        return locking_names_record(arguments);
    if (!audit_name_among(fact->text[1], "acquire tryAcquire tryLock lock") ||
        !audit_name_has(on, "lock locks locker lockers lease leases redlock holdfast locking"))
        return false;
    return locking_names_record(arguments) || audit_text_find(on, "(") != NULL ||
           locking_was_named(run, fact);
}

const audit_statement *audit_statement_of(const audit_run *run, const audit_fact *fact)
{
    size_t from = run->statements_of[fact->file].from, end = run->statements_of[fact->file].end;
    while (from < end) { /* statements are in the order of their facts */
        size_t middle = from + (end - from) / 2;
        if (run->statements[middle].fact < fact)
            from = middle + 1;
        else
            end = middle;
    }
    return end < run->statements_of[fact->file].end && run->statements[end].fact == fact
               ? &run->statements[end]
               : NULL;
}

static bool locking_by_sql(const audit_run *run, const audit_fact *fact)
{
    const audit_statement *statement = audit_statement_of(run, fact);
    if (audit_text_find(fact->text[0], "pg_advisory_lock(") != NULL ||
        audit_text_find(fact->text[0], "pg_advisory_xact_lock(") != NULL ||
        audit_text_find(fact->text[0], "select get_lock(") != NULL)
        return true;
    return statement != NULL && statement->sql.verb == SQL_INSERT && statement->table != NULL &&
           audit_table_is_lock(statement->table);
}

bool audit_takes_lock(const audit_run *run, const audit_fact *fact)
{
    if (fact->scope == 0 || run->files.items[fact->file].migration)
        return false;
    return fact->kind == AUDIT_CALL  ? locking_by_call(run, fact)
           : fact->kind == AUDIT_SQL ? locking_by_sql(run, fact)
                                     : false;
}

bool audit_gives_lock_back(const audit_fact *fact)
{
    return fact->kind == AUDIT_CALL && audit_name_among(fact->text[1], "unlock release") &&
           audit_name_has(fact->text[0], "lock locks mutex lease locker leases");
}

bool audit_bounds_transaction(const audit_fact *fact)
{
    if (fact->kind != AUDIT_CALL)
        return false;
    return audit_name_among(fact->text[1], "commit rollback begin") ||
           audit_name_has(fact->text[1], "transaction transactional atomic") ||
           (audit_name_among(fact->text[1], "execute") &&
            audit_name_has(fact->text[0], "transaction"));
}

bool audit_lock_is_scoped(const audit_fact *fact)
{
    static const char *const blocks[] = {"=>", "->", "function", "lambda", "fn("};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (fact->kind == AUDIT_CALL && audit_text_find(fact->text[2], blocks[i]) != NULL)
            return true;
    return fact->kind == AUDIT_CALL && (fact->flags & AUDIT_DISCARDED) == 0;
}

bool audit_locked_between(const audit_run *run, const audit_fact *in, const audit_fact *from,
                          const audit_fact *to, bool back)
{
    audit_span span = run->facts_of[in->file];
    for (size_t i = span.from; i < span.end; i++) {
        const audit_fact *fact = &run->facts.items[i];
        if ((from == NULL || fact > from) && fact < to && audit_same_function(fact, in) &&
            (back ? audit_gives_lock_back(fact) : audit_takes_lock(run, fact)))
            return true;
    }
    return false;
}

bool audit_loads(const audit_fact *fact)
{
    return fact->kind == AUDIT_CALL &&
           audit_name_among(fact->text[1],
                            "find findById findOne findOneBy findByPk find_by getById getOne "
                            "getReference findOrFail findUnique findUniqueOrThrow findFirst load "
                            "get first one refresh reload refresh_from_db");
}

bool audit_saves(const audit_fact *fact)
{
    return fact->kind == AUDIT_CALL && audit_name_among(fact->text[1], "save merge persist update");
}

bool audit_writes_blindly(const audit_statement *statement)
{
    const sql_statement *sql = &statement->sql;
    return sql->verb == SQL_UPDATE && sql->table.size > 0 && sql->wheres_count == 1 &&
           sql->wheres[0].equal && sql->wheres[0].value == SQL_BOUND && !sql->unknown_where &&
           !sql->unknown_set && !sql->joined && statement->seen == NULL;
}

bool audit_reads_written(const audit_statement *select, const audit_statement *update)
{
    hf_slice text = select->fact->text[0];
    if (select->sql.verb != SQL_SELECT || !audit_name_same(select->sql.table, update->sql.table))
        return false;
    for (size_t i = 0; i < update->sql.writes_count; i++)
        if (update->sql.writes[i].value == SQL_BOUND &&
            (memchr(text.at, '*', text.size) != NULL ||
             audit_text_names(text, update->sql.writes[i].column)))
            return true;
    return false;
}
