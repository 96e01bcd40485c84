/* SPDX-License-Identifier: MIT */
/* What is done to guards: add, remove, switch, list, make anew. Where the database allows it a
 * change is one transaction; on MariaDB and MySQL a first guard that can't be completed is taken
 * away again. */
#include "guard/guard.h"

#include "base/error.h"
#include "base/seams.h"
#include "guard/inside.h"

#include <holdfast/type.h>

#include <stdio.h>
#include <string.h>

static bool db_is_mysql(const guard_db *db)
{
    return guard_is_mysql(hf_db_kind_of(db->db));
}

/* ---- transactions ---- */

static hf_status change_begin(guard_db *db, hf_error *err)
{
    if (hf_db_kind_of(db->db) == HF_DB_SQLITE)
        return hf_db_run(db->db, "BEGIN IMMEDIATE", err);
    if (db_is_mysql(db))
        return hf_db_run(db->db, "SET lock_wait_timeout = 8", err);
    hf_status status = hf_db_begin(db->db, HF_READ_COMMITTED, false, err);
    return status != HF_OK
               ? status
               : hf_db_run(db->db,
                           "SET LOCAL lock_timeout = '8s'; SET LOCAL client_min_messages = warning",
                           err);
}

static hf_status change_end(guard_db *db, hf_status status, bool keep, hf_error *err)
{
    if (db_is_mysql(db))
        return status;
    if (status == HF_OK && keep)
        return hf_db_commit(db->db, err);
    (void)hf_db_rollback(db->db, NULL);
    return status;
}

/* A failure for want of a right is told better. */
static hf_status change_failed(guard_db *db, const char *table, hf_status status, hf_error *err)
{
    char said[600] = "";
    if (status == HF_OK || hf_db_failure(db->db) != HF_FAILURE_DENIED)
        return status;
    if (err != NULL)
        snprintf(said, sizeof said, "%.590s", err->message);
    return hf_fail(
        err, HF_UNAVAILABLE,
        "This account may not guard %s; %s. --print writes the SQL for one that may. (%s)", table,
        db_is_mysql(db) ? "it needs ALTER, TRIGGER, REFERENCES, CREATE and CREATE ROUTINE"
                        : "its owner may, with the right to create in holdfast's schema",
        said);
}

/* ---- what is asked ---- */

static bool type_is_good(const char *type)
{
    size_t size = strlen(type);
    return size >= 1 && size <= HF_TYPE_MAX && type[0] >= 'a' && type[0] <= 'z' &&
           strspn(type, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == size;
}

/* The policy that the store knows for the type; "": none. */
static hf_status ask_policy(guard_db *db, const char *type, char out[32], hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = false;
    memset(out, 0, 32);
    if (!db->store)
        return HF_OK;
    hf_status status = guard_statement(db, GUARD_CATALOG_POLICY, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(type));
        status = hf_stmt_step(stmt, &row, err);
    }
    if (status == HF_OK && row)
        hf_slice_copy(out, 32, hf_stmt_column_text(stmt, 0));
    hf_stmt_free(stmt);
    return status;
}

static hf_status settle_policy(guard_db *db, guard *asked, hf_error *err)
{
    char known[32];
    if (!type_is_good(asked->type))
        return hf_fail(
            err, HF_INVALID,
            asked->type[0] == '\0'
                ? "Give the resource type of the rows with --type: with policy, row 1 is policy/1."
                : "The type may only hold a-z, 0-9, _, . and -, begins with a letter, and has up "
                  "to 64 bytes.");
    if (asked->policy[0] != '\0' && hf_policy_from_name(asked->policy) == HF_POLICY_COUNT)
        return hf_fail(err, HF_INVALID,
                       "There is no policy '%s'; --policy is optimistic, exclusive-write, "
                       "exclusive-read or read-write.",
                       asked->policy);
    hf_status status = ask_policy(db, asked->type, known, err);
    if (status == HF_OK && known[0] != '\0' && asked->policy[0] != '\0' &&
        strcmp(known, asked->policy) != 0)
        return hf_fail(err, HF_INVALID,
                       "The policy of %s is %s, not %s; 'holdfast type set' changes it.",
                       asked->type, known, asked->policy);
    if (status == HF_OK && asked->policy[0] == '\0')
        snprintf(asked->policy, sizeof asked->policy, "%s",
                 known[0] != '\0'            ? known
                 : asked->version[0] != '\0' ? "optimistic"
                                             : "");
    if (status == HF_OK && asked->policy[0] == '\0')
        return hf_fail(err, HF_INVALID,
                       "Say what a change of %s needs: --version COLUMN, the version that was "
                       "read; or --policy, a "
                       "lock (exclusive-write, exclusive-read, read-write) or a save (optimistic).",
                       asked->table);
    return status;
}

/* Which number a row carries. */
static hf_status settle_check(guard_db *db, guard *asked, bool step, hf_error *err)
{
    bool locks = strcmp(asked->policy, "optimistic") != 0;
    if (step && asked->version[0] == '\0')
        return hf_fail(
            err, HF_INVALID,
            "--check step needs --version COLUMN, the column that each change increments.");
    if (asked->version[0] != '\0' && locks)
        return hf_fail(err, HF_INVALID,
                       "A row carries one number: with the policy %s it is the fence of a lock. "
                       "Leave --version out.",
                       asked->policy);
    asked->check = step                        ? GUARD_STEP
                   : asked->version[0] != '\0' ? GUARD_VERSION
                   : locks                     ? GUARD_LOCK
                                               : GUARD_SAVE;
    if (asked->check >= GUARD_LOCK && !db->store)
        return hf_fail(err, HF_INVALID,
                       "There are no tables of holdfast in %s, and a trigger sees only its own "
                       "database: install them "
                       "there ('holdfast install URL'; for another program's SQLite file 'holdfast "
                       "install URL --print "
                       "| sqlite3 FILE'), and use that store for the locks and saves of %s.",
                       hf_db_path(db->db), asked->type);
    return HF_OK;
}

/* ---- from a member to its root ---- */

static hf_status path_step(guard_db *db, guard_path *path, hf_arena *arena, hf_error *err)
{
    bool found = false;
    const guard *below = &path->steps[path->count - 1];
    if (path->count == GUARD_DEPTH_MAX)
        return hf_fail(
            err, HF_INVALID,
            "%s is more than %d tables away from its root, or its parents lead in a circle.",
            path->steps[0].table, GUARD_DEPTH_MAX - 1);
    guard_table *table = &path->tables[path->count];
    guard *it = &path->steps[path->count];
    hf_status status = guard_table_read(db, below->parent, arena, table, err);
    if (status == HF_OK)
        status = guard_find(db, table->full, it, &found, err);
    if (status != HF_OK)
        return status;
    if (!found)
        return hf_fail(err, HF_INVALID,
                       "The parent %s is not guarded; guard it first, from the root downwards.",
                       below->parent);
    if (it->check < GUARD_LOCK)
        return hf_fail(err, HF_INVALID,
                       "%s is guarded by its own version column, which its members can't see; "
                       "guard it by locks or "
                       "saves first: --policy without --version.",
                       below->parent);
    if (table->key_count != 1)
        return hf_fail(err, HF_INVALID,
                       "The key of %s has %zu columns; one column can't link to it.", below->parent,
                       table->key_count);
    path->count++;
    return HF_OK;
}

static hf_status path_build(guard_db *db, guard_path *path, hf_arena *arena, hf_error *err)
{
    hf_status status = HF_OK;
    while (status == HF_OK && path->steps[path->count - 1].parent[0] != '\0')
        status = path_step(db, path, arena, err);
    if (status == HF_OK && path->count > 1) {
        guard *member = &path->steps[0];
        const guard *root = &path->steps[path->count - 1];
        if (member->version[0] != '\0' ||
            (member->type[0] != '\0' && strcmp(member->type, root->type) != 0) ||
            (member->policy[0] != '\0' && strcmp(member->policy, root->policy) != 0))
            return hf_fail(err, HF_INVALID,
                           "%s is a member of %s and is guarded as that: leave --type, --policy "
                           "and --version out.",
                           member->table, root->table);
        snprintf(member->type, sizeof member->type, "%s", root->type);
        snprintf(member->policy, sizeof member->policy, "%s", root->policy);
        member->check = root->check;
    }
    return status;
}

/* ---- add ---- */

static hf_status add_settle(guard_db *db, guard_path *path, bool step, hf_arena *arena,
                            hf_error *err)
{
    guard *asked = &path->steps[0];
    guard_table *table = &path->tables[0];
    hf_status status = guard_table_read(db, asked->table, arena, table, err);
    if (status != HF_OK)
        return status;
    snprintf(asked->table, sizeof asked->table, "%.255s", table->full);
    path->count = 1;
    if ((asked->parent[0] == '\0') != (asked->link[0] == '\0'))
        return hf_fail(err, HF_INVALID, "--parent TABLE and --link COLUMN belong together.");
    if (asked->parent[0] != '\0' && step)
        return hf_fail(
            err, HF_INVALID,
            "--check step is for tables with a version of their own; leave --parent out.");
    if (asked->parent[0] != '\0')
        status = path_build(db, path, arena, err);
    else if ((status = settle_policy(db, asked, err)) == HF_OK)
        status = settle_check(db, asked, step, err);
    if (status == HF_OK && asked->parent[0] != '\0')
        snprintf(asked->parent, sizeof asked->parent, "%.255s", path->tables[1].full);
    if (status == HF_OK)
        status = guard_table_fit(db, asked, table, err);
    if (status == HF_OK && asked->reads && !guard_names_are_settled(path))
        status = hf_fail(err, HF_INVALID,
                         "The text of the key of %s depends on the settings of who reads; --reads "
                         "wants keys of numbers, text or uuid. Leave it out.",
                         table->full);
    return status;
}

/* The mode that was asked for, else the one it has, else fail. */
static hf_status add_compare(guard_db *db, guard *asked, const guard_table *table, bool *there,
                             hf_error *err)
{
    guard old = {0};
    hf_status status = guard_find(db, asked->table, &old, there, err);
    if (status != HF_OK)
        return status;
    if (asked->mode[0] == '\0')
        snprintf(asked->mode, sizeof asked->mode, "%s", *there ? old.mode : "fail");
    bool column = guard_table_column(table, "holdfast") != NULL;
    if (column && (!*there || old.check == GUARD_STEP) && asked->check != GUARD_STEP)
        return hf_fail(
            err, HF_INVALID,
            "%s has a column holdfast that no guard made; rename it, then guard the table.",
            table->name);
    return HF_OK;
}

static hf_status keeper_settle(guard_db *db, const guard *it, const guard_table *table, bool keep,
                               hf_error *err)
{
    hf_buffer sql = {0};
    hf_arena arena = {0};
    guard_table found;
    char name[128];
    hf_status status = guard_write_keeper(db, it, table, false, &sql, err);
    /* "DROP TABLE IF EXISTS `NAME`": the name is ours, without quotes in it */
    const char *from = sql.text == NULL ? NULL : strchr(sql.text, '`');
    snprintf(name, sizeof name, "%.*s", from == NULL ? 0 : (int)strcspn(from + 1, "`"),
             from == NULL ? "" : from + 1);
    bool there = status == HF_OK && guard_table_read(db, name, &arena, &found, NULL) == HF_OK;
    hf_arena_done(&arena);
    if (status == HF_OK && keep && !there) {
        hf_buffer_done(&sql);
        sql = (hf_buffer){0};
        status = guard_write_keeper(db, it, table, true, &sql, err);
    }
    if (status == HF_OK && keep != there)
        status = guard_run(db, sql.text, err);
    hf_buffer_done(&sql);
    return status;
}

static void print_frame(guard_db *db, hf_buffer *out, const hf_buffer *sql)
{
    bool mysql = db_is_mysql(db);
    hf_buffer_print(out, "%s",
                    mysql                                   ? "DELIMITER //\n"
                    : hf_db_kind_of(db->db) == HF_DB_SQLITE ? "BEGIN IMMEDIATE;\n"
                                                            : "BEGIN;\n");
    hf_buffer_add(out, sql->text == NULL ? "" : sql->text, sql->size);
    hf_buffer_print(out, "%s", mysql ? "DELIMITER ;\n" : "COMMIT;\n");
}

/* Undoes what a first guard has made before it failed; only where there are no transactions for it.
 */
static void add_undo(guard_db *db, const guard *it, const guard_table *table)
{
    hf_buffer sql = {0};
    (void)hf_db_run(db->db, "UNLOCK TABLES", NULL);
    if (guard_write_remove(db, it, table, &sql, NULL) == HF_OK)
        (void)guard_run(db, sql.text, NULL);
    hf_buffer_done(&sql);
}

static hf_status add_write(guard_db *db, guard_path *path, bool there, hf_buffer *print,
                           hf_error *err)
{
    hf_buffer sql = {0};
    const guard *it = &path->steps[0];
    const guard_table *table = &path->tables[0];
    bool fails = strcmp(it->mode, "fail") == 0, mysql = db_is_mysql(db);
    hf_status status =
        guard_write_add(db, path, guard_table_column(table, "holdfast") != NULL, &sql, err);
    if (status == HF_OK && print != NULL && mysql && fails)
        status = guard_write_keeper(db, it, table, true, &sql, err);
    if (status == HF_OK && print != NULL)
        print_frame(db, print, &sql);
    else if (status == HF_OK)
        status = guard_run(db, sql.text, err);
    if (status == HF_OK && print == NULL && mysql)
        status = keeper_settle(db, it, table, fails, err);
    if (status != HF_OK && mysql && !there && print == NULL && hf_db_alive(db->db)) {
        hf_error why = err == NULL ? (hf_error){0} : *err;
        hf_failure failure = hf_db_failure(db->db);
        add_undo(db, it, table);
        status = failure == HF_FAILURE_DENIED ? change_failed(db, it->table, status, err) : status;
        if (err != NULL && failure != HF_FAILURE_DENIED)
            *err = why;
    }
    hf_buffer_done(&sql);
    return status;
}

static hf_status add_open(guard_db *db, guard *asked, bool step, hf_buffer *print, hf_error *err)
{
    bool there = false;
    hf_arena arena = {0};
    guard_path *path = hf_alloc(sizeof *path);
    hf_status status = path == NULL ? hf_fail_memory(err) : change_begin(db, err);
    if (status == HF_OK) {
        path->steps[0] = *asked;
        status = guard_installed(db, err);
        if (status == HF_OK)
            status = add_settle(db, path, step, &arena, err);
        if (status == HF_OK)
            status = add_compare(db, &path->steps[0], &path->tables[0], &there, err);
        if (status == HF_OK)
            status = add_write(db, path, there, print, err);
        status = change_failed(db, asked->table, status, err);
        status = change_end(db, status, print == NULL, err);
        *asked = path->steps[0];
    }
    hf_arena_done(&arena);
    hf_free(path);
    return status;
}

hf_status guard_add(const char *url, guard *asked, bool step, hf_buffer *print, hf_error *err)
{
    guard_db db;
    hf_status status = guard_open(url, &db, err);
    if (status == HF_OK)
        status = add_open(&db, asked, step, print, err);
    guard_close(&db);
    return status;
}

/* ---- the others ---- */

/* The guard of the table that was named; HF_NOT_FOUND: it has none. */
static hf_status find_named(guard_db *db, const char *name, hf_arena *arena, guard *out,
                            guard_table *table, hf_error *err)
{
    bool found = false;
    hf_status status = guard_table_read(db, name, arena, table, err);
    if (status == HF_OK)
        status = guard_find(db, table->full, out, &found, err);
    if (status == HF_OK && !found)
        status = hf_fail(err, HF_NOT_FOUND, "%s is not guarded.", table->full);
    return status;
}

/* A parent is not taken away under its members. */
static hf_status remove_check(guard_db *db, const guard *it, hf_error *err)
{
    guard *all;
    size_t count;
    hf_status status = guard_rows(db, &all, &count, err);
    for (size_t i = 0; status == HF_OK && i < count; i++)
        if (strcmp(all[i].parent, it->table) == 0)
            status = hf_fail(err, HF_INVALID,
                             "%s is guarded as a member of %s; remove that guard first.",
                             all[i].table, it->table);
    hf_free(all);
    return status;
}

/* The guard of a table that was dropped is only a row. `status` is returned if there is none. */
static hf_status remove_dropped(guard_db *db, const char *name, hf_status status, hf_error *err)
{
    guard it;
    bool found = false;
    hf_stmt *stmt = NULL;
    if (guard_find(db, name, &it, &found, NULL) != HF_OK || !found)
        return status;
    status = guard_statement(db, GUARD_CATALOG_FORGET, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(name));
        status = hf_stmt_run(stmt, err);
    }
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_remove(const char *url, const char *name, hf_buffer *print, hf_error *err)
{
    guard_db db;
    guard it;
    guard_table table;
    hf_arena arena = {0};
    hf_buffer sql = {0};
    hf_status status = guard_open(url, &db, err);
    if (status == HF_OK)
        status = change_begin(&db, err);
    if (status == HF_OK) {
        status = find_named(&db, name, &arena, &it, &table, err);
        bool gone = status == HF_NOT_FOUND;
        if (status == HF_OK)
            status = remove_check(&db, &it, err);
        if (status == HF_OK)
            status = guard_write_remove(&db, &it, &table, &sql, err);
        if (gone)
            status = remove_dropped(&db, name, status, err);
        else if (status == HF_OK && print != NULL)
            print_frame(&db, print, &sql);
        else if (status == HF_OK)
            status = guard_run(&db, sql.text, err);
        status = change_end(&db, change_failed(&db, name, status, err), print == NULL, err);
    }
    hf_buffer_done(&sql);
    hf_arena_done(&arena);
    guard_close(&db);
    return status;
}

static hf_status mode_write(guard_db *db, const guard *it, const char *mode, int64_t until_us,
                            hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_status status = guard_statement(db, GUARD_CATALOG_SET_MODE, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_text(stmt, 1, hf_slice_of(it->table));
        hf_stmt_text(stmt, 2, hf_slice_of(mode));
        hf_stmt_int(stmt, 3, until_us);
        status = hf_stmt_run(stmt, err);
    }
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_mode(const char *url, const char *name, const char *mode, int64_t until_us,
                     hf_error *err)
{
    guard_db db;
    guard it;
    guard_table table;
    hf_arena arena = {0};
    bool fails = strcmp(mode, "fail") == 0;
    hf_status status = guard_open(url, &db, err);
    if (status == HF_OK)
        status = change_begin(&db, err);
    if (status == HF_OK) {
        status = find_named(&db, name, &arena, &it, &table, err);
        if (status == HF_OK && db_is_mysql(&db) && fails)
            status = keeper_settle(&db, &it, &table, true, err);
        if (status == HF_OK)
            status = mode_write(&db, &it, mode, until_us, err);
        if (status == HF_OK && db_is_mysql(&db) && !fails)
            status = keeper_settle(&db, &it, &table, false, err);
        status = change_end(&db, status, true, err);
    }
    hf_arena_done(&arena);
    guard_close(&db);
    return status;
}

hf_status guard_list(const char *url, guard **out, size_t *count, hf_error *err)
{
    guard_db db;
    *out = NULL;
    *count = 0;
    hf_status status = guard_open(url, &db, err);
    if (status == HF_OK)
        status = guard_rows(&db, out, count, err);
    bool outdated = false;
    if (status == HF_OK && *count > 0 && db_is_mysql(&db))
        (void)guard_procedures_are_ours(&db, &outdated);
    for (size_t i = 0; i < *count; i++)
        (*out)[i].outdated = outdated;
    guard_close(&db);
    return status;
}

static hf_status report_rows(guard_db *db, const char *full, guard_bypass **out, size_t *count,
                             hf_error *err)
{
    hf_stmt *stmt = NULL;
    bool row = true;
    hf_status status = guard_statement(db, GUARD_CATALOG_REPORT, &stmt, err);
    if (status == HF_OK)
        hf_stmt_text(stmt, 1, hf_slice_of(full));
    while (status == HF_OK && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row) {
        guard_bypass *more = hf_realloc(*out, (*count + 1) * sizeof **out);
        if (more == NULL) {
            status = hf_fail_memory(err);
            break;
        }
        *out = more;
        guard_bypass *it = &more[(*count)++];
        *it = (guard_bypass){0};
        hf_slice_copy(it->table, sizeof it->table, hf_stmt_column_text(stmt, 0));
        hf_slice_copy(it->account, sizeof it->account, hf_stmt_column_text(stmt, 1));
        hf_slice_copy(it->program, sizeof it->program, hf_stmt_column_text(stmt, 2));
        hf_slice_copy(it->kind, sizeof it->kind, hf_stmt_column_text(stmt, 3));
        it->statements = hf_stmt_column_int(stmt, 4);
        it->rows = hf_stmt_column_int(stmt, 5);
        it->first_us = hf_stmt_column_int(stmt, 6);
        it->last_us = hf_stmt_column_int(stmt, 7);
    }
    hf_stmt_free(stmt);
    return status;
}

hf_status guard_report(const char *url, const char *name, guard_bypass **out, size_t *count,
                       hf_error *err)
{
    guard_db db;
    guard_table table = {0};
    hf_arena arena = {0};
    *out = NULL;
    *count = 0;
    hf_status status = guard_open(url, &db, err);
    if (status == HF_OK && name != NULL)
        status = guard_table_read(&db, name, &arena, &table, err);
    if (status == HF_OK && db.table)
        status = report_rows(&db, table.full, out, count, err);
    hf_arena_done(&arena);
    guard_close(&db);
    return status;
}

/* One that no longer fits keeps none of the others from it. */
hf_status guard_renew(const char *url, hf_error *err)
{
    guard *all = NULL;
    size_t count = 0;
    hf_buffer names = {0};
    hf_error first = {0};
    hf_status failed = HF_OK;
    hf_status status = hf_db_is_url(url) ? guard_list(url, &all, &count, err) : HF_OK;
    for (size_t i = 0; status == HF_OK && !first.away && i < count; i++) {
        hf_error one = {0};
        hf_status added = guard_add(url, &all[i], all[i].check == GUARD_STEP, NULL, &one);
        if (added == HF_OK)
            continue;
        hf_buffer_print(&names, "%s%s", names.size == 0 ? "" : ", ", all[i].table);
        if (failed == HF_OK) {
            failed = added;
            first = one;
        }
    }
    if (failed != HF_OK) {
        status = hf_fail(err, failed,
                         "Not made anew: the guards of %s. %s Mend that, or take the guard away "
                         "('holdfast guard remove'); then install again.",
                         names.text == NULL ? "" : names.text, first.message);
        if (err != NULL)
            err->away = first.away;
    }
    hf_buffer_done(&names);
    hf_free(all);
    return status;
}
