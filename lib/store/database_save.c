/* SPDX-License-Identifier: MIT */
/* SQL database stores: saves the rows that changed, with one statement for each table and kind
 * of change, and commits, in one round trip. */
#include "store/database.h"

#include <assert.h>
#include <stdlib.h>

typedef struct saves {
    database_work *work;
    hf_list *sessions_insert, *sessions_update, *anchors_insert, *anchors_update, *locks_insert,
        *locks_update, *locks_delete, *locks_drop, *requests_save, *requests_delete, *lost_save,
        *lost_delete, *events, *saved_insert, *saved_update, *past_save;
    size_t rows;   /* of all of them */
    bool by_place; /* anchors are changed where they were found */
    bool drops;    /* ... and locks are deleted there */
} saves;

/* Adds a row to a list, which is made with its first; `place`: a further column. */
static void database_save_add(saves *to, hf_list **list, const hf_row_fields *of, unsigned mask,
                              const void *row, const hf_slice *place)
{
    if (*list == NULL) {
        const char *kinds = sql_kinds(to->work->conn, of, mask, place == NULL ? "" : "t");
        *list = kinds == NULL ? NULL : database_list(to->work, kinds);
    }
    hf_value *value = *list == NULL ? NULL : hf_list_add(*list);
    to->rows++;
    if (value == NULL)
        return; /* out of memory, and known to be */
    value = sql_set_row(value, of, mask, row);
    if (place != NULL)
        hf_set_text(value, *place);
}

/* MySQL changes rows by inserting them once more, which takes all that must not be null. */
static void database_save_add_session(saves *to, const hf_session_row *row)
{
    if (!row->changed || !row->present)
        return;
    if (row->stored)
        database_save_add(to, &to->sessions_update, &hf_session_fields,
                          to->by_place ? HF_KEY | HF_MOVES : HF_EVERY, row, NULL);
    else
        database_save_add(to, &to->sessions_insert, &hf_session_fields, HF_EVERY, row, NULL);
}

/* A missing anchor is inserted even if nothing was granted (D4): a lock that was ended or
 * changed may belong to a session that has inserted the anchor since it was looked for. Then the
 * insert fails, and the batch is run again. */
static void database_save_add_anchor(saves *to, const hf_resource_row *row)
{
    if (!row->changed)
        return;
    assert(!row->stored || !to->by_place || row->place.size > 0);
    unsigned changed = HF_MOVES | (row->saved_by != NULL ? HF_VERSIONED : 0);
    if (!row->stored)
        database_save_add(to, row->saved_by != NULL ? &to->saved_insert : &to->anchors_insert,
                          &hf_resource_fields, HF_NAMED | changed, row, NULL);
    else
        database_save_add(to, row->saved_by != NULL ? &to->saved_update : &to->anchors_update,
                          &hf_resource_fields, to->by_place ? changed : HF_NAMED | changed, row,
                          to->by_place ? &row->place : NULL);
}

static void database_save_add_lock(saves *to, const hf_lock_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    if (row->present)
        database_save_add(to, row->stored ? &to->locks_update : &to->locks_insert, &hf_lock_fields,
                          HF_EVERY, row, NULL);
    else if (to->drops && row->place.size > 0)
        database_save_add(to, &to->locks_drop, &hf_lock_fields, HF_KEY | HF_NAMED, row,
                          &row->place);
    else
        database_save_add(to, &to->locks_delete, &hf_lock_fields, HF_KEY | HF_NAMED, row, NULL);
}

/* A row that is saved whole, or deleted by its key. */
static void database_save_add_other(saves *to, hf_list **save, hf_list **delete,
                                    const hf_row_fields *of, const void *row, bool present)
{
    database_save_add(to, present ? save : delete, of, present ? HF_EVERY : HF_KEY | HF_NAMED, row,
                      NULL);
}

static void database_save_gather(database_work *work, saves *to)
{
    hf_rows *rows = &work->conn->rows;
    *to = (saves){
        .work = work,
        .by_place = hf_db_kind_of(work->conn->db) == HF_DB_POSTGRES,
        .drops = work->part.count > 1, /* there is a statement for one that does it all */
    };
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        database_save_add_session(to, row);
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            if (lost->changed && (lost->present || lost->stored))
                database_save_add_other(to, &to->lost_save, &to->lost_delete, &hf_lost_fields, lost,
                                        lost->present);
    }
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next) {
        database_save_add_anchor(to, row);
        for (hf_save_row *past = row->past; past != NULL; past = past->next)
            if (past->changed && past->present)
                database_save_add(to, &to->past_save, &hf_save_fields, HF_EVERY, past, NULL);
        for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
            database_save_add_lock(to, lock);
        for (hf_request_row *request = row->requests; request != NULL; request = request->next)
            if (request->changed && (request->present || request->stored))
                database_save_add_other(to, &to->requests_save, &to->requests_delete,
                                        &hf_request_fields, request, request->present);
    }
    for (size_t i = 0; i < rows->events_count; i++) {
        rows->events[i].at_us = work->now_us;
        database_save_add(to, &to->events, &hf_event_fields, HF_EVERY, &rows->events[i], NULL);
    }
}

static bool database_save_is_one(const hf_list *list)
{
    return list != NULL && list->count == 1;
}

/* One anchor, one event, and one lock or at most one past save between them go in one statement,
 * where the database has one for it. */
static bool database_save_queue_one(database_work *work, const saves *to)
{
    bool save = to->saved_update != NULL, takes = to->locks_insert != NULL;
    int which = save ? SQL_DO_SAVE_ONE : takes ? SQL_DO_TAKE_ONE : SQL_DO_GIVE_ONE;
    const hf_list *anchors = save ? to->saved_update : to->anchors_update;
    const hf_list *between = save ? to->past_save : takes ? to->locks_insert : to->locks_delete;
    if (work->conn->sql[which] == NULL || !database_save_is_one(anchors) ||
        !database_save_is_one(to->events) ||
        !(database_save_is_one(between) || (save && between == NULL)) ||
        to->rows != 2 + (between != NULL))
        return false;
    if (between == NULL) /* a row of nulls in its place */
        between = database_rows_list(work, &hf_save_fields, HF_EVERY);
    if (between == NULL)
        return true; /* failed, and known to have */
    hf_stmt *stmt = sql_stmt(work->conn, which);
    if (stmt == NULL)
        return true; /* failed, and known to have */
    int at = 1 + (int)anchors->columns;
    hf_stmt_list(stmt, at, between);
    hf_stmt_list(stmt, at + (int)between->columns, to->events);
    database_queue(work, which, anchors);
    return true;
}

/* Anchors first: if two transactions insert the same one, the second fails before it has written
 * anything else. */
static void database_save_queue(database_work *work)
{
    saves to;
    database_save_gather(work, &to);
    if (work->conn->status != HF_OK || database_save_queue_one(work, &to))
        return;
    const struct {
        int which;
        const hf_list *list;
    } order[] = {
        {SQL_DO_ANCHORS_INSERT, to.anchors_insert},
        {SQL_DO_SAVED_INSERT, to.saved_insert},
        {SQL_DO_ANCHORS_UPDATE, to.anchors_update},
        {SQL_DO_SAVED_UPDATE, to.saved_update},
        {SQL_DO_PAST_SAVE, to.past_save},
        {SQL_DO_SESSIONS_INSERT, to.sessions_insert},
        {SQL_DO_SESSIONS_UPDATE, to.sessions_update},
        {SQL_DO_LOCKS_DELETE, to.locks_delete},
        {SQL_DO_LOCKS_DROP, to.locks_drop},
        {SQL_DO_LOCKS_UPDATE, to.locks_update},
        {SQL_DO_LOCKS_INSERT, to.locks_insert},
        {SQL_DO_REQUESTS_DELETE, to.requests_delete},
        {SQL_DO_REQUESTS_SAVE, to.requests_save},
        {SQL_DO_LOST_DELETE, to.lost_delete},
        {SQL_DO_LOST_SAVE, to.lost_save},
        {SQL_DO_EVENTS_INSERT, to.events},
    };
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (order[k].list != NULL)
            database_queue(work, order[k].which, order[k].list);
}

void database_save(database_work *work)
{
    database_save_queue(work);
    database_queue_end(work);
    database_send(work);
}
