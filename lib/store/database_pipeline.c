/* SPDX-License-Identifier: MIT */
/* SQL database stores: the lists that statements take, and statements sent together in one round
 * trip. */
#include "store/database.h"

#include <stdlib.h>

#define NO_LIMIT 1000000000

/* ---- lists ---- */

hf_list *database_list(database_work *work, const char *kinds)
{
    hf_list *list = hf_arena_alloc(&work->conn->rows.arena, sizeof *list);
    if (list == NULL)
        sql_out_of_memory(work->conn);
    else
        hf_list_init(list, kinds, &work->conn->rows.arena);
    return list;
}

hf_list *database_rows_list(database_work *work, const hf_row_fields *of, unsigned mask)
{
    const char *kinds = sql_kinds(work->conn, of, mask, "");
    return kinds == NULL ? NULL : database_list(work, kinds);
}

void database_add_name(hf_list *list, hf_slice type, hf_slice id)
{
    hf_value *row = hf_list_add(list);
    if (row == NULL)
        return;
    hf_set_text(&row[0], type);
    hf_set_text(&row[1], id);
}

static int database_pipeline_canonical(const void *a, const void *b)
{
    const hf_value *x = a, *y = b;
    int order = hf_slice_compare(x[0].bytes, y[0].bytes);
    return order != 0 ? order : hf_slice_compare(x[1].bytes, y[1].bytes);
}

static int database_pipeline_by_id(const void *a, const void *b)
{
    return hf_slice_compare(((const hf_value *)a)->bytes, ((const hf_value *)b)->bytes);
}

void database_list_add_id(hf_list *list, const char *id)
{
    hf_value *row = hf_list_add(list);
    if (row != NULL)
        hf_set_text(row, (hf_slice){id, HF_SESSION_ID_MAX});
}

/* The names of the resources that are wanted (or whose requests are) and not loaded yet, in
 * canonical order. */
hf_list *database_list_names(database_work *work, bool requests)
{
    hf_list *list = database_list(work, "tt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        if (!row->loaded && (requests ? row->wants_requests : row->wanted))
            database_add_name(list, row->type, row->id);
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, 2 * sizeof *list->values, database_pipeline_canonical);
    return list;
}

static bool database_pipeline_needs(const hf_session_row *row, database_need need)
{
    switch (need) {
    case NEED_ROW:
        return !row->loaded;
    case NEED_ROW_LOCK:
        return row->writes && !row->locked;
    case NEED_LOCKS:
        return row->wants_locks;
    case NEED_LOCKS_COUNTED:
        return row->counts_locks;
    case NEED_ANCHORS:
        return row->wants_locks && row->wants_anchors;
    case NEED_REQUESTS:
        return row->wants_requests;
    case NEED_LOST:
        return row->wants_lost;
    }
    return false;
}

void database_list_sort_ids(hf_list *list)
{
    if (list != NULL && list->count > 1)
        qsort(list->values, list->count, sizeof *list->values, database_pipeline_by_id);
}

hf_list *database_list_sessions(database_work *work, database_need need)
{
    hf_list *list = database_list(work, "t");
    for (hf_session_row *row = work->conn->rows.sessions; list != NULL && row != NULL;
         row = row->next)
        if (database_pipeline_needs(row, need))
            database_list_add_id(list, row->id);
    database_list_sort_ids(list);
    return list;
}

hf_list *database_list_losses(database_work *work)
{
    hf_list *list = database_list(work, "ttt");
    for (hf_loss_row *loss = work->conn->rows.losses; list != NULL && loss != NULL;
         loss = loss->next) {
        hf_value *row = loss->session->wants_lost ? NULL : hf_list_add(list);
        if (row == NULL)
            continue;
        hf_set_text(&row[0], (hf_slice){loss->session->id, HF_SESSION_ID_MAX});
        hf_set_text(&row[1], loss->resource->type);
        hf_set_text(&row[2], loss->resource->id);
    }
    return list;
}

/* Saves that may have been done before, and covered since. */
hf_list *database_list_past_saves(database_work *work)
{
    hf_list *list = database_list(work, "ttt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        for (hf_save_row *past = row->past; past != NULL; past = past->next) {
            hf_value *value = hf_list_add(list);
            if (value == NULL)
                break;
            hf_set_text(&value[0], row->type);
            hf_set_text(&value[1], row->id);
            hf_set_text(&value[2], past->request);
        }
    return list;
}

/* Those whose versions are looked at. */
hf_list *database_list_versions(database_work *work)
{
    hf_list *list = database_list(work, "tt");
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        if (row->wants_version)
            database_add_name(list, row->type, row->id);
    return list;
}

hf_list *database_list_opens(database_work *work)
{
    hf_list *list = database_list(work, "t");
    for (hf_open_row *open = work->conn->rows.opens; list != NULL && open != NULL;
         open = open->next) {
        hf_value *row = hf_list_add(list);
        if (row != NULL)
            hf_set_text(row, open->request);
    }
    return list;
}

hf_list *database_list_types(database_work *work)
{
    hf_list *list = database_list(work, "t");
    for (hf_type_row *type = work->conn->rows.types; list != NULL && type != NULL;
         type = type->next) {
        hf_value *row = hf_list_add(list);
        if (row != NULL)
            hf_set_text(row, (hf_slice){type->type.type, type->size});
    }
    return list;
}

/* ---- statements sent together ---- */

bool database_is_long(const database_work *work, const hf_list *list)
{
    return list != NULL && work->store->list_rows > 0 && list->count > work->store->list_rows;
}

/* The statement for a list of one row, where there is one. */
static int database_pipeline_for_one(const sql_conn *conn, int which, const hf_list *list)
{
    int one = which == SQL_DO_ANCHORS_UPDATE ? SQL_DO_ANCHORS_UPDATE_ONE
              : which == SQL_DO_LOCKS_DELETE ? SQL_DO_LOCKS_DELETE_ONE
                                             : which;
    return list != NULL && list->count == 1 && conn->sql[one] != NULL ? one : which;
}

const hf_list *database_part(database_work *work, const hf_list *list, size_t *from)
{
    size_t left = list->count - *from;
    hf_list *part = database_list(work, list->kinds);
    if (part == NULL)
        return NULL;
    part->values = list->values + *from * list->columns;
    part->count = database_is_long(work, list) && left > work->store->list_rows
                      ? work->store->list_rows
                      : left;
    *from += part->count;
    return part;
}

/* The parts of a list that is too long for one statement; all but the last are sent. */
static void database_pipeline_queue_parts(database_work *work, int which, const hf_list *list)
{
    for (size_t from = 0; from < list->count;) {
        const hf_list *part = database_part(work, list, &from);
        if (part == NULL)
            return;
        database_queue(work, which, part);
        if (from < list->count)
            database_send(work);
    }
}

void database_queue(database_work *work, int which, const hf_list *list)
{
    sql_conn *conn = work->conn;
    if (list != NULL && !list->failed && database_is_long(work, list) && conn->sql[which] != NULL) {
        database_pipeline_queue_parts(work, which, list);
        return;
    }
    bool empty = list != NULL && list->count == 0 && !list->failed && which != SQL_DO_ROWS &&
                 which != SQL_DO_ROWS_HELD;
    if (conn->sql[which] == NULL || empty)
        return;
    if (list != NULL && list->failed)
        sql_out_of_memory(conn);
    which = database_pipeline_for_one(conn, which, list);
    hf_stmt *stmt = sql_stmt(conn, which);
    if (stmt == NULL)
        return;
    if (list != NULL)
        hf_stmt_list(stmt, 1, list);
    if (which == SQL_DO_SESSION_LOCKS || which == SQL_DO_SESSION_LOCKS_NOW)
        hf_stmt_int(stmt, 2, NO_LIMIT);
    hf_stmt_queue(stmt);
    work->queued[work->queued_count++] = which;
}

void database_queue_begin(database_work *work)
{
    if (work->begun)
        return;
    if (work->nested) {
        database_queue(work, SQL_DO_SAVEPOINT, NULL);
        return;
    }
    if (work->store->own != NULL)
        database_queue(work, SQL_DO_BEGIN_LEVEL, NULL);
    database_queue(work, SQL_DO_BEGIN, NULL);
    if (work->store->pooler)
        database_queue(work, SQL_DO_SETTINGS, NULL);
}

void database_queue_end(database_work *work)
{
    database_queue(work, work->nested ? SQL_DO_SAVEPOINT_RELEASE : SQL_DO_COMMIT, NULL);
}

static void database_pipeline_note_state(database_work *work, int which, hf_stmt *stmt)
{
    if (work->conn->status != HF_OK)
        return;
    if (which == SQL_DO_PROBE_ANCHORS || which == SQL_DO_PROBE_SESSIONS ||
        which == SQL_DO_PROBE_TYPES || which == SQL_DO_SWEEP_PAST)
        work->rows_count += hf_stmt_changed(stmt);
    if (which == SQL_DO_BEGIN || which == SQL_DO_SAVEPOINT)
        work->begun = true;
    else if (which == SQL_DO_COMMIT || which == SQL_DO_SAVEPOINT_RELEASE)
        work->begun = false;
}

void database_send(database_work *work)
{
    sql_conn *conn = work->conn;
    bool row = false;
    if (conn->status == HF_OK && work->queued_count > 0)
        conn->status = hf_db_send(conn->db, conn->err);
    for (int i = 0; i < work->queued_count; i++) {
        hf_stmt *stmt = conn->stmts[work->queued[i]];
        while (conn->status == HF_OK &&
               (conn->status = hf_stmt_step(stmt, &row, conn->err)) == HF_OK && row)
            database_read_row(work, work->queued[i], stmt);
        database_pipeline_note_state(work, work->queued[i], stmt);
        hf_stmt_reset(stmt);
    }
    work->queued_count = 0;
}
