/* SPDX-License-Identifier: MIT */
/* Loading records. What it keeps to:
 *
 *   L1  The first read wins: a record that the unit has is never read into again.
 *   L2  A root is read before its members, so that what a member holds is never older than the
 *       version that stands for it.
 *   L3  Where a policy wants a lock it is acquired first, in the transaction that loads.
 *   L4  When the unit has the root already, its version is looked at after the member was read: if
 *       it has moved, the member would not fit to the rest. */
#include "record/inside.h"

#include <stdio.h>

static hf_status load_missing(const rec_table *table, const char *id, hf_error *err)
{
    hf_status status = hf_fail(err, HF_NOT_FOUND, "There is no %s/%s.", table->type, id);
    if (err != NULL)
        snprintf(err->resource, sizeof err->resource, "%s/%s", table->type, id);
    return status;
}

/* The same where a stored version tells who deleted it. */
static hf_status load_deleted(const rec_table *table, const char *id, const hf_version *version,
                              hf_error *err)
{
    hf_status status = load_missing(table, id, err);
    hf_clash said = {.kind = HF_CLASH_DELETED, .at_us = version->saved_us};
    if (!version->gone || err == NULL)
        return status;
    memcpy(said.resource, err->resource, sizeof said.resource);
    hf_slice_copy(said.by, sizeof said.by, hf_slice_of(rec_version_who(version)));
    rec_report_sentence(&said, "");
    memcpy(err->message, said.message, sizeof err->message);
    return status;
}

static hf_status load_moved(const hf_record *root, hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    rec_record_name(root, name);
    return hf_fail(err, HF_STALE,
                   "%s has been changed since this work has read it; begin the work again.", name);
}

/* A record of a row that was read just now. */
static hf_status load_enter(hf_unit *unit, rec_table *table, hf_field *values, hf_record *parent,
                            hf_record **out, hf_error *err)
{
    char id[HF_ID_SIZE];
    hf_status status = rec_key_format(table, values, id, err);
    if (status != HF_OK)
        return status;
    *out = rec_record_lookup(unit, table, id);
    if (*out != NULL)
        return HF_OK;
    hf_record *record = rec_record_new(unit, table, err);
    if (record == NULL)
        return HF_NO_MEMORY;
    memcpy(record->id, id, sizeof id);
    memcpy(record->base, values, table->count * sizeof *values);
    memcpy(record->now, values, table->count * sizeof *values);
    if (table->version >= 0)
        record->version = values[table->version].number;
    record->parent = parent;
    rec_record_enter(record);
    *out = record;
    return HF_OK;
}

/* Where the root stands now. */
static hf_status load_current(rec_conn *conn, hf_record *root, bool *same, hf_error *err)
{
    const rec_table *table = root->table;
    hf_field key[REC_KEY_MAX], *values = NULL;
    hf_version version;
    bool there = false;
    *same = true;
    if (root->added)
        return HF_OK;
    if (table->stored) {
        hf_status status = rec_lock_version(conn, table, root->id, &version, err);
        *same = version.number == root->version;
        return status;
    }
    rec_key_of(table, root->base, key);
    hf_status status =
        rec_select_one(conn, table, key, REC_PLAIN, &root->unit->arena, &values, &there, err);
    if (status == HF_OK && table->version >= 0)
        *same = there && values[table->version].number == root->version;
    for (size_t i = 0; status == HF_OK && table->version < 0 && i < table->count; i++)
        *same = *same && there && (table->columns[i].quiet || rec_same(&values[i], &root->base[i]));
    return status;
}

/* ---- roots ---- */

static hf_status load_root_now(rec_conn *conn, hf_unit *unit, rec_table *table, const hf_field *key,
                               const char *id, hf_record **out, hf_error *err)
{
    hf_field *values = NULL;
    hf_version version = {0};
    bool there = false, same = true;
    hf_status status = HF_OK;
    if (*out != NULL) {
        status = load_current(conn, *out, &same, err);
        return status == HF_OK && !same ? load_moved(*out, err) : status;
    }
    if (table->stored)
        status = rec_lock_version(conn, table, id, &version, err);
    if (status == HF_OK)
        status = rec_select_one(conn, table, key, REC_PLAIN, &unit->arena, &values, &there, err);
    if (status == HF_OK && !there)
        status = load_deleted(table, id, &version, err);
    if (status == HF_OK)
        status = load_enter(unit, table, values, NULL, out, err);
    if (status == HF_OK && table->stored) {
        (*out)->version = version.number;
        status = rec_version_keep(&unit->arena, &version, &(*out)->saved, err);
    }
    return status;
}

/* A key may be found in another spelling, where case or blanks don't count for the database. Locks
 * and stored versions have the row's own. */
static hf_status load_spelled(rec_conn *conn, hf_unit *unit, const rec_table *table,
                              hf_field key[REC_KEY_MAX], char id[HF_ID_SIZE], hf_error *err)
{
    hf_field *values = NULL;
    bool there = false, words = false;
    for (size_t i = 0; i < table->key_count; i++)
        words = words || key[i].kind == HF_FIELD_TEXT;
    if (!words)
        return HF_OK;
    hf_status status =
        rec_select_one(conn, table, key, REC_PLAIN, &unit->arena, &values, &there, err);
    if (status != HF_OK || !there)
        return status;
    rec_key_of(table, values, key);
    return rec_key_format(table, values, id, err);
}

static hf_status load_root(rec_conn *conn, hf_unit *unit, rec_table *table, const hf_field *from,
                           const char *name, bool edit, hf_record **out, hf_error *err)
{
    hf_mode mode = HF_EXCLUSIVE;
    bool locks = rec_locks_to_read(table, &mode);
    hf_field key[REC_KEY_MAX];
    char id[HF_ID_SIZE] = "";
    memcpy(key, from, table->key_count * sizeof *key);
    hf_slice_copy(id, sizeof id, hf_slice_of(name));
    if (edit && rec_locks_to_edit(table)) {
        locks = true;
        mode = HF_EXCLUSIVE;
    }
    if (locks || table->stored) {
        hf_status spelled = load_spelled(conn, unit, table, key, id, err);
        if (spelled != HF_OK)
            return spelled;
    }
    *out = rec_record_lookup(unit, table, id);
    if (*out != NULL && !(edit && rec_locks_to_edit(table)))
        return (*out)->gone ? load_missing(table, id, err) : HF_OK;
    if (!locks)
        return load_root_now(conn, unit, table, key, id, out, err);
    hf_status status = hf_db_begin(conn->db, HF_READ_COMMITTED, false, err);
    if (status == HF_OK)
        status = rec_lock_acquire(conn, unit, table, id, mode, err);
    if (status == HF_OK)
        status = load_root_now(conn, unit, table, key, id, out, err);
    if (status == HF_OK)
        status = hf_db_commit(conn->db, err);
    else
        (void)hf_db_rollback(conn->db, NULL);
    return status;
}

/* ---- members ---- */

static hf_status load_parent_key(const rec_table *table, const hf_field *values,
                                 hf_field key[REC_KEY_MAX], char id[HF_ID_SIZE], hf_error *err)
{
    const rec_table *parent = table->parent;
    hf_field *row = hf_alloc(parent->count * sizeof *row);
    hf_status status = row == NULL ? hf_fail_memory(err) : HF_OK;
    for (size_t i = 0; status == HF_OK && i < parent->key_count; i++) {
        key[i] = values[table->link[i]];
        row[parent->key[i]] = key[i];
        if (key[i].kind == HF_FIELD_NULL)
            status = hf_fail(err, HF_INVALID, "A row of %s belongs to no %s: its %s is null.",
                             table->name, parent->name, table->columns[table->link[i]].name);
    }
    if (status == HF_OK)
        status = rec_key_format(parent, row, id, err);
    hf_free(row);
    return status;
}

static hf_status load_parent(rec_conn *conn, hf_unit *unit, rec_table *table,
                             const hf_field *values, bool edit, hf_record **out, hf_error *err)
{
    hf_field key[REC_KEY_MAX];
    char id[HF_ID_SIZE];
    hf_status status = load_parent_key(table, values, key, id, err);
    return status == HF_OK ? rec_load(conn, unit, table->parent, key, id, edit, out, err) : status;
}

/* Again when its root was loaded only now, or is another one by now. */
static hf_status load_member(rec_conn *conn, hf_unit *unit, rec_table *table, const hf_field *key,
                             const char *id, bool edit, hf_record **out, hf_error *err)
{
    hf_field *values = NULL;
    hf_record *parent = NULL;
    bool there = false, same = true;
    for (int tries = 0; tries < 4; tries++) {
        hf_status status =
            rec_select_one(conn, table, key, REC_PLAIN, &unit->arena, &values, &there, err);
        if (status == HF_OK && !there)
            status = load_missing(table, id, err);
        hf_record **last = unit->last, *before = NULL; /* whether some are loaded in between */
        if (status == HF_OK)
            status = load_parent(conn, unit, table, values, edit && tries == 0, &before, err);
        if (status != HF_OK)
            return status;
        bool fresh = last != unit->last || (edit && tries == 0);
        if (!fresh && (parent == NULL || parent == before)) { /* L2 holds: the root came first */
            status = load_current(conn, rec_record_root(before), &same, err);
            if (status == HF_OK && !same)
                status = load_moved(rec_record_root(before), err);
            return status == HF_OK ? load_enter(unit, table, values, before, out, err) : status;
        }
        parent = before;
    }
    return hf_fail(err, HF_RETRY, "%s/%s is being moved from one aggregate to another; try again.",
                   table->type, id);
}

hf_status rec_load(rec_conn *conn, hf_unit *unit, rec_table *table, const hf_field *key,
                   const char *id, bool edit, hf_record **out, hf_error *err)
{
    if (table->parent == NULL)
        return load_root(conn, unit, table, key, id, edit, out, err);
    *out = rec_record_lookup(unit, table, id);
    if (*out == NULL)
        return load_member(conn, unit, table, key, id, edit, out, err);
    if ((*out)->gone)
        return load_missing(table, id, err);
    if (!edit || !rec_locks_to_edit(table))
        return HF_OK;
    hf_record *root = rec_record_root(*out), *again = NULL;
    hf_field root_key[REC_KEY_MAX];
    rec_key_of(root->table, root->base, root_key);
    return load_root(conn, unit, root->table, root_key, root->id, true, &again, err);
}

static hf_status load_named(hf_unit *unit, const char *resource, bool edit, hf_record **out,
                            hf_error *err)
{
    rec_table *table = NULL;
    hf_field key[REC_KEY_MAX];
    char id[HF_ID_SIZE];
    rec_conn *conn = NULL;
    *out = NULL;
    hf_status status = rec_key_parse(unit->tables, resource, &unit->arena, &table, key, id, err);
    if (status != HF_OK)
        return status;
    hf_record *known = rec_record_lookup(unit, table, id);
    if (known != NULL && !known->gone && !(edit && rec_locks_to_edit(table))) {
        known->seen = true;
        *out = known;
        return HF_OK;
    }
    status = rec_conn_take(unit->tables, &conn, err);
    if (status == HF_OK)
        status = rec_load(conn, unit, table, key, id, edit, out, err);
    rec_conn_give(conn);
    if (status == HF_OK)
        (*out)->seen = true;
    else
        *out = NULL;
    return status;
}

hf_status hf_unit_find(hf_unit *unit, const char *resource, hf_record **out, hf_error *err)
{
    return load_named(unit, resource, false, out, err);
}

hf_status hf_unit_edit(hf_unit *unit, const char *resource, hf_record **out, hf_error *err)
{
    return load_named(unit, resource, true, out, err);
}

/* ---- several ---- */

/* One row of several: by its key where reading it takes more than the row. */
static hf_status load_row(rec_conn *conn, hf_unit *unit, rec_table *table, hf_field *values,
                          hf_record **out, hf_error *err)
{
    hf_mode mode;
    hf_record *parent = NULL;
    if (table->parent == NULL && (table->stored || rec_locks_to_read(table, &mode))) {
        hf_field key[REC_KEY_MAX];
        char id[HF_ID_SIZE];
        rec_key_of(table, values, key);
        hf_status status = rec_key_format(table, values, id, err);
        return status == HF_OK ? rec_load(conn, unit, table, key, id, false, out, err) : status;
    }
    hf_status status =
        table->parent == NULL ? HF_OK : load_parent(conn, unit, table, values, false, &parent, err);
    return status == HF_OK ? load_enter(unit, table, values, parent, out, err) : status;
}

/* Loads the parents of all rows; *fresh: some were not there before. */
static hf_status load_parents(rec_conn *conn, hf_unit *unit, rec_table *table, hf_field **rows,
                              size_t count, bool *fresh, hf_error *err)
{
    hf_record **last = unit->last, *parent = NULL;
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < count; i++)
        status = load_parent(conn, unit, table, rows[i], false, &parent, err);
    *fresh = last != unit->last;
    return status;
}

/* L4 of every root among the records, each once. */
static hf_status load_compare(rec_conn *conn, hf_record **records, size_t count, hf_error *err)
{
    hf_status status = HF_OK;
    bool same = true;
    for (size_t i = 0; status == HF_OK && i < count; i++) {
        hf_record *root = rec_record_root(records[i]);
        bool done = false;
        for (size_t j = 0; j < i && !done; j++)
            done = rec_record_root(records[j]) == root;
        if (!done)
            status = load_current(conn, root, &same, err);
        if (status == HF_OK && !same)
            status = load_moved(root, err);
    }
    return status;
}

static hf_status load_select(rec_conn *conn, hf_unit *unit, rec_table *table, const char *where,
                             const hf_field *args, size_t count, hf_record ***out, size_t *found,
                             hf_error *err)
{
    hf_field **rows = NULL;
    bool fresh = true;
    hf_status status = HF_OK;
    for (int tries = 0; status == HF_OK && fresh; tries++) {
        status = rec_select_many(conn, table, where, args, count, REC_PLAIN, HF_LIST_MAX,
                                 &unit->arena, &rows, found, err);
        fresh = false;
        if (status == HF_OK && table->parent != NULL)
            status = load_parents(conn, unit, table, rows, *found, &fresh, err);
        if (status == HF_OK && tries == 4)
            return hf_fail(err, HF_RETRY, "The rows of %s keep changing; try again.", table->name);
    }
    if (status != HF_OK)
        return status;
    *out = hf_arena_alloc(&unit->arena, (*found + 1) * sizeof **out);
    if (*out == NULL)
        return hf_fail_memory(err);
    size_t kept = 0;
    for (size_t i = 0; status == HF_OK && i < *found; i++) {
        status = load_row(conn, unit, table, rows[i], &(*out)[kept], err);
        kept += status == HF_OK;
        if (status == HF_NOT_FOUND && table->parent == NULL)
            status = HF_OK; /* deleted since the list was read */
    }
    *found = kept;
    return status == HF_OK && table->parent != NULL ? load_compare(conn, *out, *found, err)
                                                    : status;
}

hf_status hf_unit_select(hf_unit *unit, const char *name, const char *where, const hf_field *args,
                         size_t count, hf_record ***out, size_t *found, hf_error *err)
{
    rec_conn *conn = NULL;
    size_t many = 0;
    found = found == NULL ? &many : found;
    *out = NULL;
    *found = 0;
    rec_table *table = rec_table_named(unit->tables, name);
    if (table == NULL)
        return hf_fail(err, HF_INVALID, "There is no table %s here.", name == NULL ? "" : name);
    hf_status status = rec_conn_take(unit->tables, &conn, err);
    if (status == HF_OK)
        status = load_select(conn, unit, table, where, args, count, out, found, err);
    rec_conn_give(conn);
    if (status == HF_OK)
        status = rec_premise_remember(
            unit, &(rec_selection){table, where, args, count, *out, *found, NULL}, err);
    for (size_t i = 0; status == HF_OK && i < *found; i++)
        (*out)[i]->seen = true;
    if (status != HF_OK) {
        *out = NULL;
        *found = 0;
    }
    return status;
}
