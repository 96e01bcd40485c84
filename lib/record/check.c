/* SPDX-License-Identifier: MIT */
/* Comparing: is what the unit changes, and what it relies on, still as it was read? With locking
 * reads in one canonical order, so that two units never wait for each other in a circle. */
#include "record/inside.h"

#include <stdlib.h>

/* Reads the row as it is now into `theirs`. A stored version first: what the row holds is then
 * never older than it. */
hf_status rec_check_read(rec_work *work, hf_record *record, rec_lock lock, hf_error *err)
{
    const rec_table *table = record->table;
    hf_field key[REC_KEY_MAX];
    hf_version version = {0};
    hf_status status = HF_OK;
    rec_key_of(table, record->added ? record->now : record->base, key);
    if (table->stored && record->coming_version == 0)
        status = rec_lock_version(work->conn, table, record->id, &version, err);
    if (status == HF_OK)
        status = rec_version_keep(work->arena, &version, &record->theirs_saved, err);
    if (status == HF_OK)
        status = rec_select_one(work->conn, table, key, lock, work->arena, &record->theirs,
                                &record->there, err);
    if (status != HF_OK)
        return status;
    record->read = true;
    record->theirs_version = version.number;
    if (table->version >= 0)
        record->theirs_version = record->there ? record->theirs[table->version].number : 0;
    return HF_OK;
}

/* Byte by byte; what `=` says depends on collations, padding and rounding. */
static bool check_same_row(const hf_record *record, bool all)
{
    const rec_table *table = record->table;
    for (size_t i = 0; i < table->count; i++)
        if (!table->columns[i].quiet && (all || record->set[i]) &&
            !rec_same(&record->theirs[i], &record->base[i]))
            return false;
    return true;
}

/* A row that was deleted and made again may have the same number. */
static bool check_made_again(const hf_record *record)
{
    int made_at = record->table->made_at;
    return made_at >= 0 && !rec_same(&record->theirs[made_at], &record->base[made_at]);
}

bool rec_check_same(const hf_record *record, bool all)
{
    const rec_table *table = record->table;
    if (!record->there || check_made_again(record))
        return false;
    if (table->version >= 0)
        return record->theirs_version == record->version;
    if (table->stored)
        return record->coming_version != 0 || record->theirs_version == record->version;
    return check_same_row(record, all);
}

static bool check_same(const hf_record *record)
{
    const rec_table *table = record->table;
    if (record->there && (table->parent == NULL || table->version >= 0) &&
        (rec_record_counts(record) || record->moves))
        return rec_check_same(record, table->as->compare == HF_COMPARE_ALL || record->removed);
    return record->there && !check_made_again(record);
}

void rec_check_who(const hf_record *record, hf_clash *conflict)
{
    const rec_table *table = record->table;
    conflict->expected = record->version;
    conflict->actual = record->theirs_version;
    if (record->theirs_saved != NULL) {
        conflict->at_us = record->theirs_saved->saved_us;
        hf_slice_copy(conflict->by, sizeof conflict->by,
                      hf_slice_of(rec_version_who(record->theirs_saved)));
    }
    if (!record->there)
        return;
    if (table->at >= 0)
        conflict->at_us = rec_time_of(&record->theirs[table->at]);
    if (table->by >= 0 && record->theirs[table->by].kind == HF_FIELD_TEXT)
        hf_slice_copy(conflict->by, sizeof conflict->by,
                      (hf_slice){record->theirs[table->by].text, record->theirs[table->by].size});
}

/* A member that the unit has only read, and that is gone. */
static hf_status check_gone(rec_work *work, const hf_clash *root, const hf_record *record,
                            hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    rec_record_name(record, name);
    hf_clash *conflict = rec_report_add(work->report, HF_CLASH_DELETED, name);
    if (conflict == NULL)
        return hf_fail_memory(err);
    conflict->at_us = root->at_us;
    memcpy(conflict->by, root->by, sizeof conflict->by);
    rec_report_sentence(conflict, "");
    return HF_OK;
}

/* What others made of the members that the unit has read, beside their root; and those it adds. */
static hf_status check_members(rec_work *work, hf_clash *conflict, hf_record *root, hf_error *err)
{
    hf_status status = HF_OK;
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next) {
        if (it == root || it->gone || rec_record_root(it) != root)
            continue;
        if (!it->read && !it->added)
            status = rec_check_read(work, it, REC_PLAIN, err);
        if (status == HF_OK && !it->there && !rec_record_changed(it))
            status = check_gone(work, conflict, it, err);
        else if (status == HF_OK && !rec_report_differences(work->report, conflict, it))
            status = hf_fail_memory(err);
    }
    return status;
}

hf_status rec_check_report(rec_work *work, hf_record *record, hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    rec_record_name(record, name);
    hf_clash *conflict =
        rec_report_add(work->report, record->there ? HF_CLASH_CHANGED : HF_CLASH_DELETED, name);
    if (conflict == NULL)
        return hf_fail_memory(err);
    rec_check_who(record, conflict);
    if (!rec_report_differences(work->report, conflict, record))
        return hf_fail_memory(err);
    rec_report_sentence(conflict, "");
    return record->table->parent == NULL ? check_members(work, conflict, record, err) : HF_OK;
}

hf_status rec_check_record(rec_work *work, hf_record *record, rec_lock lock, hf_error *err)
{
    hf_status status = record->read ? HF_OK : rec_check_read(work, record, lock, err);
    return status != HF_OK || check_same(record) ? status : rec_check_report(work, record, err);
}

/* ---- in canonical order ---- */

typedef struct check_item {
    const char *type, *id;
    hf_record *record;
    rec_reliance *on;
} check_item;

static int check_items_order(const void *a, const void *b)
{
    const check_item *one = a, *other = b;
    int order = strcmp(one->type, other->type);
    order = order != 0 ? order : strcmp(one->id, other->id);
    /* a row that is written too is locked for that first */
    return order != 0 ? order : (one->record == NULL) - (other->record == NULL);
}

static size_t check_gather(rec_work *work, check_item *items)
{
    size_t count = 0;
    for (size_t i = 0; i < work->targets_count; i++)
        items[count++] = (check_item){work->targets[i]->table->type, work->targets[i]->id,
                                      work->targets[i], NULL};
    for (rec_reliance *on = work->unit->reliances; on != NULL; on = on->next) {
        hf_record *root = on->record == NULL ? NULL : rec_record_root(on->record);
        items[count++] = root == NULL ? (check_item){on->table->type, on->id, NULL, on}
                                      : (check_item){root->table->type, root->id, NULL, on};
    }
    qsort(items, count, sizeof *items, check_items_order);
    return count;
}

hf_status rec_check(rec_work *work, bool locking, hf_error *err)
{
    size_t room = work->targets_count;
    for (rec_reliance *on = work->unit->reliances; on != NULL; on = on->next)
        room++;
    check_item *items = hf_alloc((room + 1) * sizeof *items);
    if (items == NULL)
        return hf_fail_memory(err);
    size_t count = check_gather(work, items);
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < count; i++)
        status = items[i].on != NULL ? rec_premise_check(work, items[i].on, locking, err)
                                     : rec_check_record(work, items[i].record,
                                                        locking ? REC_UPDATE : REC_PLAIN, err);
    hf_free(items);
    return status;
}
