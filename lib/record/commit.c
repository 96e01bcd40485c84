/* SPDX-License-Identifier: MIT */
/* Committing a unit: one transaction or nothing. Its course:
 *
 *   1  what is to be written is put in order: inserts by foreign keys, updates, deletes the other
 *      way round; the roots of what is changed move once each
 *   2  a single statement that has its version in the condition is a transaction by itself: one
 *      round trip; if it finds no row nothing was written, and what is there is looked up then
 *   3  else: BEGIN, for rows alone with the first statement; tables are locked (PostgreSQL);
 *      locks verified and stored versions moved; everything that is there compared and locked in
 *      canonical order; written; COMMIT
 *   4  what was written becomes what the unit has read
 *
 * Until 4 nothing of the unit is changed but fields that begin with `coming` or `theirs`. */
#include "record/inside.h"

#include "record/write.h"

#include <stdlib.h>

/* ---- 1: what there is to do ---- */

static void commit_mark(hf_unit *unit)
{
    size_t place = 0;
    for (hf_record *it = unit->first; it != NULL; it = it->next) {
        it->place = place++;
        it->moves = it->read = it->there = it->ends = false;
        it->guards = 0;
        it->coming = it->theirs = NULL;
        it->coming_id = NULL;
        it->coming_version = it->theirs_version = 0;
        it->coming_saved = it->theirs_saved = NULL;
    }
    for (hf_record *it = unit->first; it != NULL; it = it->next)
        if (rec_record_changed(it) && rec_record_counts(it)) {
            it->moves = true;
            rec_record_root(it)->moves = true;
        }
}

static bool commit_is_write(const hf_record *record)
{
    return !record->gone && (rec_record_changed(record) || (record->moves && !record->added));
}

static int commit_canonical(const void *a, const void *b)
{
    const hf_record *one = *(hf_record *const *)a, *other = *(hf_record *const *)b;
    int order = strcmp(one->table->type, other->table->type);
    return order != 0 ? order : strcmp(one->id, other->id);
}

static int commit_step(const hf_record *record)
{
    return record->added ? 0 : record->removed ? 2 : 1;
}

/* Records of the same rank stay as they came. */
static int commit_order(const void *a, const void *b)
{
    const hf_record *one = *(hf_record *const *)a, *other = *(hf_record *const *)b;
    int step = commit_step(one), order = step - commit_step(other);
    if (order == 0 && step == 1)
        order = commit_canonical(a, b);
    else if (order == 0)
        order = (one->table->rank - other->table->rank) * (step == 0 ? 1 : -1);
    return order != 0 ? order : (one->place > other->place) - (one->place < other->place);
}

/* A member goes with its parent. */
static bool commit_goes_along(const hf_record *record)
{
    return record->removed && record->parent != NULL && record->parent->removed;
}

/* Which fences its root needs. A root that is added carries nothing. */
static void commit_guards(hf_record *record)
{
    hf_tables *tables = record->unit->tables;
    hf_record *root = rec_record_root(record);
    unsigned guards = record->added && record->parent == NULL ? 0 : 1U << record->table->guard;
    for (size_t i = 0; record->removed && i < tables->count; i++)
        if (rec_write_is_below(&tables->tables[i], record->table))
            guards |= 1U << tables->tables[i].guard;
    root->guards |= guards & (1U << REC_GUARD_LOCK | 1U << REC_GUARD_SAVE);
}

static hf_status commit_plan(rec_work *work, hf_error *err)
{
    size_t count = 0;
    commit_mark(work->unit);
    for (hf_record *it = work->unit->first; it != NULL; it = it->next)
        count += commit_is_write(it);
    work->writes = hf_arena_alloc(work->arena, (count + 1) * sizeof *work->writes);
    work->targets = hf_arena_alloc(work->arena, (count + 1) * sizeof *work->targets);
    if (work->writes == NULL || work->targets == NULL)
        return hf_fail_memory(err);
    for (hf_record *it = work->unit->first; it != NULL; it = it->next) {
        if (!commit_is_write(it) || (commit_goes_along(it) && it->added))
            continue;
        commit_guards(it);
        if (!commit_goes_along(it))
            work->writes[work->writes_count++] = it;
        if (!it->added)
            work->targets[work->targets_count++] = it;
    }
    qsort(work->targets, work->targets_count, sizeof *work->targets, commit_canonical);
    qsort(work->writes, work->writes_count, sizeof *work->writes, commit_order);
    return HF_OK;
}

/* ---- 2: one statement ---- */

static bool commit_is_single(const rec_work *work)
{
    const hf_record *record = work->writes[0];
    const rec_table *table = record->table;
    return work->writes_count == 1 && work->unit->reliances == NULL && !work->unit->unsure &&
           !record->added && record->moves && table->version >= 0 && table->made_at < 0 &&
           table->parent == NULL && !rec_locks_to_edit(table) && table->guard < REC_GUARD_LOCK &&
           !(record->removed && table->guard != REC_OPEN) &&
           !(record->removed && rec_write_has_members(work->conn->tables, table)) &&
           !(work->conn->tables->dialect == REC_MYSQL && rec_write_reads_back(record));
}

hf_status rec_commit_stale(rec_work *work, hf_error *err)
{
    const hf_clash *first = hf_report_at(work->report, 0);
    if (first == NULL)
        return HF_OK;
    hf_error_set(err, HF_STALE, "%s", first->message);
    if (err != NULL)
        hf_slice_copy(err->resource, sizeof err->resource, hf_slice_of(first->resource));
    return HF_STALE;
}

/* A write that found nothing: what is there now? If nothing is wrong with it, someone changes it
 * and back again. */
static hf_status commit_lost(rec_work *work, hf_record *record, rec_lock lock, hf_error *err)
{
    record->read = false;
    hf_status status = rec_check_record(work, record, lock, err);
    if (status == HF_OK)
        status = rec_commit_stale(work, err);
    return status != HF_OK ? status
                           : hf_fail(err, HF_RETRY,
                                     "A row of %s was in the middle of a change; "
                                     "commit again.",
                                     record->table->name);
}

static hf_status commit_single(rec_work *work, hf_error *err)
{
    hf_record *record = work->writes[0];
    hf_status status = rec_write(work, record, err);
    if (status == HF_NOT_FOUND)
        return commit_lost(work, record, REC_PLAIN, err);
    if (status == HF_STALE)
        return rec_commit_stale(work, err);
    if (status == HF_UNAVAILABLE && hf_db_failure(work->conn->db) == HF_FAILURE_LOST)
        return hf_fail(err, HF_UNSURE,
                       "The connection was lost while the record was saved; commit again to find "
                       "out whether it was.");
    return status;
}

/* ---- 3: a transaction ---- */

/* A refused save of stored versions: compare, to say what and who. */
static hf_status commit_refused_save(rec_work *work, hf_status refused, hf_error *err)
{
    if (refused != HF_STALE)
        return refused;
    hf_status status = rec_check(work, true, err);
    if (status == HF_OK)
        status = rec_commit_stale(work, err);
    return status == HF_OK ? refused : status;
}

static hf_status commit_write_all(rec_work *work, hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < work->writes_count; i++) {
        status = rec_write(work, work->writes[i], err);
        if (status == HF_NOT_FOUND)
            status = commit_lost(work, work->writes[i], REC_UPDATE, err);
        else if (status == HF_STALE)
            status = rec_commit_stale(work, err);
        if (status == HF_OK && work->writes[i]->added && work->writes[i]->guards != 0)
            status = rec_lock_save(work, true, work->writes[i], err);
    }
    return status == HF_OK ? rec_lock_save(work, true, NULL, err) : status;
}

static hf_status commit_inside(rec_work *work, bool plain, hf_error *err)
{
    bool done = false;
    hf_status status = rec_premise_begin(work, plain, err);
    if (status == HF_OK && work->unit->unsure)
        status = rec_settle(work, &done, err);
    if (status != HF_OK || done)
        return status;
    status = rec_set_ends(work, err);
    if (status != HF_OK)
        return status;
    status = rec_lock_save(work, false, NULL, err);
    if (status != HF_OK)
        return commit_refused_save(work, status, err);
    status = rec_check(work, true, err);
    if (status == HF_OK)
        status = rec_commit_stale(work, err);
    return status == HF_OK ? commit_write_all(work, err) : status;
}

static hf_status commit_transaction(rec_work *work, hf_error *err)
{
    hf_tables *tables = work->conn->tables;
    hf_isolation level = tables->dialect == REC_MYSQL && rec_premises_need_gaps(work->unit)
                             ? HF_REPEATABLE_READ
                             : HF_READ_COMMITTED;
    bool plain = !tables->locks && work->unit->reliances == NULL; /* rows and nothing else */
    hf_status status = plain ? rec_conn_begin(work->conn, level, err)
                             : hf_db_begin(work->conn->db, level, false, err);
    if (status == HF_OK)
        status = commit_inside(work, plain, err);
    if (status == HF_OK)
        status = hf_db_commit(work->conn->db, err);
    if (status != HF_OK)
        (void)hf_db_rollback(work->conn->db, NULL);
    return status;
}

/* ---- 4: what was written is what was read ---- */

static void commit_take_over(hf_record *record)
{
    const rec_table *table = record->table;
    if (record->removed || record->ends) {
        record->gone = true;
        record->removed = record->added = false;
        return;
    }
    if (record->coming != NULL)
        memcpy(record->now, record->coming, table->count * sizeof *record->now);
    if (record->coming_version != 0) {
        record->version = record->coming_version;
        if (table->version >= 0)
            record->now[table->version] = HF_NUMBER(record->version);
    }
    if (record->moves && table->by >= 0 && record->coming == NULL)
        record->now[table->by] = (hf_field){
            .kind = HF_FIELD_TEXT, .text = record->unit->user, .size = strlen(record->unit->user)};
    if (record->coming_saved != NULL)
        record->saved = record->coming_saved;
    memcpy(record->base, record->now, table->count * sizeof *record->base);
    memset(record->set, 0, table->count);
    if (record->added && record->coming_id != NULL) {
        hf_slice_copy(record->id, sizeof record->id, hf_slice_of(record->coming_id));
        rec_record_enter(record);
    }
    record->added = false;
}

static void commit_finish(rec_work *work)
{
    work->unit->unsure = false;
    for (hf_record *it = work->unit->first; it != NULL; it = it->next)
        if (commit_is_write(it) || it->coming_saved != NULL || it->removed)
            commit_take_over(it);
    work->unit->reliances = NULL;
    work->unit->selections = NULL;
}

/* ---- the calls ---- */

static hf_status commit_look(rec_work *work, hf_error *err)
{
    hf_status status = rec_check(work, false, err);
    return status == HF_OK ? rec_commit_stale(work, err) : status;
}

static hf_status commit_really(rec_work *work, hf_error *err)
{
    hf_status status = work->writes_count > 0 && commit_is_single(work)
                           ? commit_single(work, err)
                           : commit_transaction(work, err);
    if (status == HF_UNSURE && work->writes_count > 0)
        work->unit->unsure = true;
    if (status == HF_OK) {
        commit_finish(work);
        rec_conn_tidy(work->conn);
    }
    return status;
}

static hf_status commit_with(hf_unit *unit, hf_report *report,
                             hf_status (*run)(rec_work *work, hf_error *err), hf_error *err)
{
    rec_work work = {.unit = unit, .report = report, .arena = &report->arena};
    hf_status status = commit_plan(&work, err);
    if (status != HF_OK || (work.writes_count == 0 && unit->reliances == NULL))
        return status;
    status = rec_conn_take(unit->tables, &work.conn, err);
    if (status == HF_OK)
        status = run(&work, err);
    rec_conn_give(work.conn);
    return status;
}

hf_status rec_commit_call(hf_unit *unit, hf_status (*run)(rec_work *work, hf_error *err),
                          hf_report **out, hf_error *err)
{
    if (out != NULL)
        *out = NULL;
    hf_report *report = rec_report_new();
    if (report == NULL)
        return hf_fail_memory(err);
    hf_status status = commit_with(unit, report, run, err);
    for (hf_record *it = unit->first; it != NULL; it = it->next)
        it->theirs = NULL; /* in the report */
    if (out != NULL && status == HF_STALE)
        *out = report;
    else
        hf_report_free(report);
    return status;
}

hf_status hf_unit_check(hf_unit *unit, hf_report **out, hf_error *err)
{
    return rec_commit_call(unit, commit_look, out, err);
}

hf_status rec_unit_is_sure(const hf_unit *unit, hf_error *err)
{
    return !unit->unsure ? HF_OK
                         : hf_fail(err, HF_UNSURE,
                                   "It is not known whether this unit's last commit was done; "
                                   "commit it again first, as it is.");
}

/* Whatever keeps a commit from finding out what became of the one before. */
static hf_status commit_still_unsure(hf_status status, hf_error *err)
{
    char why[HF_MESSAGE_SIZE] = "";
    if (status == HF_OK || status == HF_RETRY || status == HF_BUSY || status == HF_UNSURE)
        return status;
    if (err != NULL)
        memcpy(why, err->message, sizeof why);
    return hf_fail(err, HF_UNSURE,
                   "It is still not known whether the last commit was done. %.1200s", why);
}

hf_status hf_unit_commit(hf_unit *unit, hf_report **out, hf_error *err)
{
    hf_status status = rec_commit_call(unit, commit_really, out, err);
    return unit->unsure ? commit_still_unsure(status, err) : status;
}
