/* SPDX-License-Identifier: MIT */
/* Premises: what a unit relies on without changing it. A plain read pins nothing on a server, at
 * hardly any level: rows are read with a shared lock; what is not there is kept out by gap locks
 * (MariaDB, MySQL at REPEATABLE READ), by a lock on the table (PostgreSQL), by being the only
 * writer (SQLite). */
#include "record/inside.h"

#include "record/write.h"

#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { PREMISE_ROWS_MAX = 10000 };

static bool premise_needs_gaps(const rec_reliance *on)
{
    return on->kind == HF_RELY_ABSENT || on->kind == HF_RELY_RESULT;
}

bool rec_premises_need_gaps(const hf_unit *unit)
{
    for (const rec_reliance *on = unit->reliances; on != NULL; on = on->next)
        if (premise_needs_gaps(on))
            return true;
    return false;
}

/* ---- what rows look like ---- */

static void premise_add(hf_buffer *text, const rec_table *table, const hf_field *values)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i].quiet)
            continue;
        hf_buffer piece = {0};
        rec_field_print(&piece, &values[i]);
        hf_buffer_print(text, "%d:%zu:", (int)values[i].kind, piece.size);
        if (piece.size > 0)
            hf_buffer_add(text, piece.text, piece.size);
        text->failed |= piece.failed;
        hf_buffer_done(&piece);
    }
}

static int premise_order(const void *a, const void *b)
{
    return memcmp(a, b, 32);
}

/* Of rows in any order: the digest of their sorted digests. */
static hf_status premise_digest(const rec_table *table, hf_field *const *rows, size_t count,
                                hf_arena *arena, unsigned char out[32], hf_error *err)
{
    unsigned char *digests = hf_arena_alloc(arena, 32 * count + 32);
    hf_status status = digests == NULL ? hf_fail_memory(err) : HF_OK;
    for (size_t i = 0; status == HF_OK && i < count; i++) {
        hf_buffer text = {0};
        premise_add(&text, table, rows[i]);
        if (text.failed || !hf_sha256(text.text, text.size, digests + 32 * i))
            status = hf_fail_memory(err);
        hf_buffer_done(&text);
    }
    if (status != HF_OK)
        return status;
    qsort(digests, count, 32, premise_order);
    return hf_sha256(digests, 32 * count, out) ? HF_OK : hf_fail_memory(err);
}

/* As they are now. */
static hf_status premise_digest_now(rec_conn *conn, const rec_reliance *on, rec_lock lock,
                                    hf_arena *arena, unsigned char out[32], hf_error *err)
{
    hf_field **rows = NULL;
    size_t count = 0;
    hf_status status = rec_select_many(conn, on->table, on->where, on->args, on->count, lock,
                                       PREMISE_ROWS_MAX, arena, &rows, &count, err);
    return status == HF_OK ? premise_digest(on->table, rows, count, arena, out, err) : status;
}

/* ---- what was selected ---- */

static hf_status premise_copy_args(hf_arena *arena, const hf_field *from, size_t count,
                                   hf_field **out, hf_error *err)
{
    bool good = (*out = hf_arena_alloc(arena, (count + 1) * sizeof **out)) != NULL;
    for (size_t i = 0; good && i < count; i++) {
        hf_field arg = from[i];
        if (arg.kind == HF_FIELD_TEXT && arg.size == SIZE_MAX)
            arg.size = strlen(arg.text);
        good = rec_report_copy(arena, &arg, &(*out)[i]);
    }
    return good ? HF_OK : hf_fail_memory(err);
}

hf_status rec_premise_remember(hf_unit *unit, const rec_selection *from, hf_error *err)
{
    hf_field *args = NULL;
    rec_selection *selection = hf_arena_alloc(&unit->arena, sizeof *selection);
    char *where = hf_arena_text(&unit->arena, hf_slice_of(from->where));
    if (selection == NULL || where == NULL)
        return hf_fail_memory(err);
    hf_status status = premise_copy_args(&unit->arena, from->args, from->count, &args, err);
    *selection = *from;
    selection->where = where;
    selection->args = args;
    selection->next = unit->selections;
    if (status == HF_OK)
        unit->selections = selection;
    return status;
}

/* The order in which it was selected does not count. */
static bool premise_is_where(const char *selected, const char *where)
{
    size_t size = where == NULL ? 0 : strlen(where);
    if (strncmp(selected, where == NULL ? "" : where, size) != 0)
        return false;
    selected += size;
    selected += strspn(selected, " \t\r\n");
    return *selected == '\0' || (size > 0 && strncasecmp(selected, "ORDER BY ", 9) == 0);
}

static bool premise_is_selection(const rec_reliance *on, const rec_selection *selection)
{
    bool same = selection->table == on->table && selection->count == on->count &&
                premise_is_where(selection->where, on->where);
    for (size_t i = 0; same && i < on->count; i++)
        same = rec_same(&selection->args[i], &on->args[i]);
    return same;
}

/* What the program has seen by the same condition, where it has; the first time counts. */
static const rec_selection *premise_selection(const hf_unit *unit, const rec_reliance *on)
{
    const rec_selection *first = NULL;
    for (const rec_selection *it = unit->selections; it != NULL; it = it->next)
        if (premise_is_selection(on, it))
            first = it;
    return first;
}

static hf_status premise_digest_seen(const rec_selection *seen, hf_arena *arena,
                                     unsigned char out[32], hf_error *err)
{
    hf_field **rows = hf_arena_alloc(arena, (seen->found + 1) * sizeof *rows);
    if (rows == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < seen->found; i++)
        rows[i] = seen->records[i]->base;
    return premise_digest(seen->table, rows, seen->found, arena, out, err);
}

/* ---- relying ---- */

static hf_status premise_copy(hf_unit *unit, const hf_reliance *from, rec_reliance *on,
                              hf_error *err)
{
    hf_arena *arena = &unit->arena;
    bool good = true;
    on->kind = from->kind;
    on->count = from->count;
    if (from->where != NULL)
        good = (on->where = hf_arena_text(arena, hf_slice_of(from->where))) != NULL;
    if (from->why != NULL)
        good = good && (on->why = hf_arena_text(arena, hf_slice_of(from->why))) != NULL;
    return good ? premise_copy_args(arena, from->args, from->count, &on->args, err)
                : hf_fail_memory(err);
}

static hf_status premise_name(hf_unit *unit, const hf_reliance *from, rec_reliance *on,
                              hf_error *err)
{
    if (from->kind != HF_RELY_RESULT)
        return rec_key_parse(unit->tables, from->resource, &unit->arena, &on->table, on->key,
                             on->id, err);
    on->table = rec_table_named(unit->tables, from->resource);
    return on->table != NULL ? HF_OK
                             : hf_fail(err, HF_INVALID, "There is no table %s here.",
                                       from->resource == NULL ? "" : from->resource);
}

/* What is to stay as it is has to be read now, if it was not before. */
static hf_status premise_read(hf_unit *unit, rec_reliance *on, hf_error *err)
{
    rec_conn *conn = NULL;
    hf_arena arena = {0};
    const rec_selection *seen = premise_selection(unit, on);
    bool result = on->kind == HF_RELY_RESULT;
    hf_status status = HF_OK;
    if (result && seen != NULL)
        status = premise_digest_seen(seen, &arena, on->digest, err);
    else if (result || on->kind == HF_RELY_UNCHANGED)
        status = rec_conn_take(unit->tables, &conn, err);
    if (status == HF_OK && on->kind == HF_RELY_UNCHANGED)
        status = rec_load(conn, unit, on->table, on->key, on->id, false, &on->record, err);
    if (status == HF_OK && result && seen == NULL)
        status = premise_digest_now(conn, on, REC_PLAIN, &arena, on->digest, err);
    rec_conn_give(conn);
    hf_arena_done(&arena);
    return status;
}

hf_status hf_unit_rely(hf_unit *unit, const hf_reliance *from, hf_error *err)
{
    if (from == NULL || from->kind < HF_RELY_UNCHANGED || from->kind > HF_RELY_RESULT ||
        (from->count > 0 && from->args == NULL))
        return hf_fail(err, HF_INVALID, "The premise makes no sense.");
    if (from->kind == HF_RELY_WHERE && from->where == NULL)
        return hf_fail(err, HF_INVALID, "The premise on %s has no condition.",
                       from->resource == NULL ? "a record" : from->resource);
    rec_reliance *on = hf_arena_alloc(&unit->arena, sizeof *on);
    if (on == NULL)
        return hf_fail_memory(err);
    hf_status status = premise_name(unit, from, on, err);
    if (status == HF_OK &&
        (on->table->set || (on->kind == HF_RELY_UNCHANGED && on->table->root->set)))
        return hf_fail(err, HF_INVALID,
                       "%s is a set without a row that could be kept as it is; rely on the result "
                       "of a condition on its members (HF_RELY_RESULT).",
                       on->table->root->type);
    if (status == HF_OK)
        status = premise_copy(unit, from, on, err);
    if (status == HF_OK)
        status = premise_read(unit, on, err);
    if (status == HF_OK) {
        on->next = unit->reliances;
        unit->reliances = on;
    }
    return status;
}

/* ---- checking ---- */

static hf_status premise_broken(rec_work *work, const rec_reliance *on, hf_error *err)
{
    char name[HF_RESOURCE_SIZE + 32] = "", why[HF_MESSAGE_SIZE], what[HF_TEXT_SIZE + 160];
    static const char *const words[] = {
        [HF_RELY_PRESENT] = "is no longer there",
        [HF_RELY_ABSENT] = "is there by now",
        [HF_RELY_WHERE] = "no longer fits, or is gone",
        [HF_RELY_RESULT] = "has other rows by now",
    };
    const hf_record *root = on->record == NULL ? NULL : rec_record_root(on->record);
    if (root != NULL)
        rec_record_name(root, name);
    else if (on->kind == HF_RELY_RESULT)
        snprintf(name, sizeof name, "%s", on->table->type);
    else
        snprintf(name, sizeof name, "%s/%s", on->table->type, on->id);
    hf_clash *conflict = rec_report_add(work->report, HF_CLASH_PREMISE, name);
    if (conflict == NULL)
        return hf_fail_memory(err);
    if (root != NULL) {
        rec_check_who(root, conflict);
        rec_report_what(conflict, root->there ? HF_CLASH_CHANGED : HF_CLASH_DELETED, what,
                        sizeof what);
    } else
        snprintf(what, sizeof what, "%s", words[on->kind]);
    if (on->why != NULL)
        snprintf(why, sizeof why, "%s", on->why);
    else
        snprintf(why, sizeof why, "%s, on which this work relies, %s.", name, what);
    rec_report_sentence(conflict, why);
    return HF_OK;
}

/* A member stays as its aggregate does. */
static hf_status premise_unchanged(rec_work *work, const rec_reliance *on, rec_lock lock,
                                   bool *holds, hf_error *err)
{
    hf_record *root = rec_record_root(on->record);
    bool whole = root->table->as->compare != HF_COMPARE_CHANGED;
    if (root->read && root->moves && whole) { /* written by this unit: compared as such */
        *holds = true;
        return HF_OK;
    }
    hf_status status = root->read ? HF_OK : rec_check_read(work, root, lock, err);
    *holds = status == HF_OK && rec_check_same(root, true);
    return status;
}

static hf_status premise_where(rec_work *work, const rec_reliance *on, rec_lock lock, bool *holds,
                               hf_error *err)
{
    hf_buffer sql = {0};
    hf_stmt *stmt = NULL;
    const rec_table *table = on->table;
    hf_tables *tables = work->conn->tables;
    hf_buffer_print(&sql, "SELECT 1 FROM %s WHERE %s AND (", table->quoted, table->by_key);
    rec_where(tables, &sql, on->where, table->key_count);
    hf_buffer_print(&sql, ")%s", rec_lock_words(tables, lock));
    hf_status status =
        sql.failed ? hf_fail_memory(err) : rec_conn_statement(work->conn, sql.text, &stmt, err);
    hf_buffer_done(&sql);
    if (status != HF_OK)
        return status;
    for (size_t i = 0; i < table->key_count; i++)
        rec_bind(tables, &table->columns[table->key[i]], stmt, (int)i + 1, &on->key[i],
                 work->arena);
    for (size_t i = 0; i < on->count; i++)
        rec_bind(tables, NULL, stmt, (int)(table->key_count + i) + 1, &on->args[i], work->arena);
    status = hf_stmt_step(stmt, holds, err);
    hf_stmt_reset(stmt);
    return status;
}

hf_status rec_premise_check(rec_work *work, rec_reliance *on, bool locking, hf_error *err)
{
    rec_lock lock = locking ? REC_SHARE : REC_PLAIN;
    hf_field *values = NULL;
    bool holds = true;
    hf_status status = HF_OK;
    unsigned char digest[32];
    switch (on->kind) {
    case HF_RELY_UNCHANGED:
        status = premise_unchanged(work, on, lock, &holds, err);
        break;
    case HF_RELY_PRESENT:
    case HF_RELY_ABSENT:
        status =
            rec_select_one(work->conn, on->table, on->key, lock, work->arena, &values, &holds, err);
        holds = holds == (on->kind == HF_RELY_PRESENT);
        break;
    case HF_RELY_WHERE:
        status = premise_where(work, on, lock, &holds, err);
        break;
    case HF_RELY_RESULT:
        status = premise_digest_now(work->conn, on, lock, work->arena, digest, err);
        holds = status == HF_OK && memcmp(digest, on->digest, sizeof digest) == 0;
        break;
    }
    return status == HF_OK && !holds ? premise_broken(work, on, err) : status;
}

/* ---- before the first read ---- */

typedef struct premise_locks {
    bool gaps, writes;
} premise_locks;

/* What becomes of each table in this commit. */
static premise_locks *premise_tables(rec_work *work)
{
    hf_tables *tables = work->conn->tables;
    premise_locks *all = hf_arena_alloc(work->arena, tables->count * sizeof *all);
    for (size_t i = 0; all != NULL && i < work->writes_count; i++) {
        const hf_record *record = work->writes[i];
        all[record->table - tables->tables].writes = !record->table->set;
        for (size_t j = 0; record->removed && j < tables->count; j++)
            all[j].writes |= rec_write_is_below(&tables->tables[j], record->table);
    }
    for (rec_reliance *on = work->unit->reliances; all != NULL && on != NULL; on = on->next)
        all[on->table - tables->tables].gaps |= premise_needs_gaps(on);
    return all;
}

/* A LOCK TABLE of each, in the order of their types. */
static hf_status premise_lock_tables(rec_work *work, const premise_locks *all,
                                     hf_status (*lock)(rec_conn *conn, const char *sql,
                                                       hf_error *err),
                                     hf_error *err)
{
    hf_tables *tables = work->conn->tables;
    const char *done = "";
    hf_status status = HF_OK;
    while (status == HF_OK) {
        size_t next = tables->count;
        for (size_t i = 0; i < tables->count; i++)
            if ((all[i].gaps || (all[i].writes && tables->tables[i].lockable)) &&
                strcmp(tables->tables[i].type, done) > 0 &&
                (next == tables->count ||
                 strcmp(tables->tables[i].type, tables->tables[next].type) < 0))
                next = i;
        if (next == tables->count)
            break;
        hf_buffer sql = {0};
        hf_buffer_print(&sql, "LOCK TABLE %s%s IN %s MODE", all[next].gaps ? "" : "ONLY ",
                        tables->tables[next].quoted,
                        !all[next].gaps    ? "ROW EXCLUSIVE"
                        : all[next].writes ? "SHARE ROW EXCLUSIVE"
                                           : "SHARE");
        status = sql.failed ? hf_fail_memory(err) : lock(work->conn, sql.text, err);
        hf_buffer_done(&sql);
        done = tables->tables[next].type;
    }
    return status;
}

static hf_status premise_run(rec_conn *conn, const char *sql, hf_error *err)
{
    return hf_db_run(conn->db, sql, err);
}

static hf_status premise_queue(rec_conn *conn, const char *sql, hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_status status = rec_conn_statement(conn, sql, &stmt, err);
    if (status == HF_OK)
        hf_stmt_queue(stmt);
    return status;
}

/* PostgreSQL: the tables, in the order of their types, before any snapshot is taken and any row is
 * locked. Also those that are only written: a statement that writes would wait for another unit's
 * lock on the table when this one has rows already that the other wants. */
hf_status rec_premise_begin(rec_work *work, bool queued, hf_error *err)
{
    if (work->conn->tables->dialect != REC_POSTGRES)
        return HF_OK;
    const premise_locks *all = premise_tables(work);
    return all == NULL ? hf_fail_memory(err)
                       : premise_lock_tables(work, all, queued ? premise_queue : premise_run, err);
}
