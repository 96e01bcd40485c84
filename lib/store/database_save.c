/* SPDX-License-Identifier: MIT */
/* SQL database stores: saves the rows that changed, with one statement for each table and kind
 * of change, and commits, in one round trip. */
#include "store/database.h"

#include <assert.h>
#include <stdlib.h>

typedef struct saves {
    hf_list *sessions_insert, *sessions_update, *anchors_insert, *anchors_update, *locks_insert,
        *locks_update, *locks_delete, *locks_drop, *requests_save, *requests_delete, *lost_save,
        *lost_delete, *events, *saved_insert, *saved_update, *past_save;
    size_t rows;   /* of all of them */
    bool by_place; /* anchors are changed where they were found */
    bool drops;    /* ... and locks are deleted there */
} saves;

static hf_value *database_save_add_row(saves *to, hf_list *list)
{
    to->rows++;
    return hf_list_add(list);
}

static hf_slice database_save_session_id(const hf_session_row *row)
{
    return (hf_slice){row->id, HF_SESSION_ID_MAX};
}

static void database_save_add_session(saves *to, const hf_session_row *row)
{
    if (!row->changed || !row->present)
        return;
    hf_value *value =
        database_save_add_row(to, row->stored ? to->sessions_update : to->sessions_insert);
    if (value == NULL)
        return;
    hf_set_text(&value[0], database_save_session_id(row));
    hf_set_text(&value[1], (hf_slice){(const char *)row->key_sha256, sizeof row->key_sha256});
    hf_set_text(&value[2], row->user);
    hf_set_text(&value[3], row->name);
    hf_set_int(&value[4], row->idle_us);
    hf_set_int(&value[5], row->opened_us);
    hf_set_int(&value[6], row->expires_us);
    hf_set_int_or_null(&value[7], row->ended_us);
    hf_set_int(&value[8], row->rev);
    hf_set_text(&value[9], row->caller);
    hf_set_text(&value[10], row->request);
}

static void database_save_add_lost(saves *to, const hf_lost_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    hf_value *value = database_save_add_row(to, row->present ? to->lost_save : to->lost_delete);
    if (value == NULL)
        return;
    hf_set_text(&value[0], database_save_session_id(row->session));
    hf_set_text(&value[1], row->type);
    hf_set_text(&value[2], row->id);
    if (!row->present)
        return;
    hf_set_int(&value[3], row->fence);
    hf_set_int(&value[4], row->at_us);
    hf_set_text(&value[5], row->why);
    hf_set_text(&value[6], row->by);
    hf_set_text(&value[7], row->reason);
}

/* A missing anchor is inserted even if nothing was granted (D4): a lock that was ended or
 * changed may belong to a session that has inserted the anchor since it was looked for. Then the
 * insert fails, and the batch is run again. */
static void database_save_add_anchor(saves *to, const hf_resource_row *row)
{
    if (!row->changed)
        return;
    assert(!row->stored || !to->by_place || row->place.size > 0);
    bool saved = row->saved_by != NULL;
    hf_list *list = saved ? (row->stored ? to->saved_update : to->saved_insert)
                          : (row->stored ? to->anchors_update : to->anchors_insert);
    hf_value *value = database_save_add_row(to, list);
    if (value == NULL)
        return;
    hf_set_text(&value[0], row->type);
    hf_set_text(&value[1], row->id);
    hf_set_int(&value[2], row->fence);
    hf_set_int(&value[3], row->rev);
    hf_set_text(&value[4], row->ended_session[0] == '\0'
                               ? HF_NOTHING
                               : (hf_slice){row->ended_session, HF_SESSION_ID_MAX});
    hf_set_int_or_null(&value[5], row->ended_fence);
    hf_set_text(&value[6], row->ended_request);
    hf_set_int_or_null(&value[7], row->ended_us);
    if (saved) {
        hf_set_int(&value[8], row->version);
        hf_set_int(&value[9], row->saved_fence);
        hf_set_int(&value[10], row->saved_us);
        hf_set_text(&value[11], hf_slice_of(row->saved_session));
        hf_set_text(&value[12], row->saved_user);
        hf_set_text(&value[13], row->saved_name);
        hf_set_text(&value[14], row->saved_request);
        hf_set_int(&value[15], row->gone);
    }
    if (row->stored && to->by_place)
        hf_set_text(&value[saved ? 16 : 8], row->place);
}

static void database_save_add_past(saves *to, const hf_resource_row *resource,
                                   const hf_past_row *row)
{
    hf_value *value =
        row->changed && row->present ? database_save_add_row(to, to->past_save) : NULL;
    if (value == NULL)
        return;
    hf_set_text(&value[0], resource->type);
    hf_set_text(&value[1], resource->id);
    hf_set_text(&value[2], row->request);
    hf_set_int(&value[3], row->version);
    hf_set_int(&value[4], row->fence);
    hf_set_int(&value[5], row->saved_us);
    hf_set_int(&value[6], row->gone);
    hf_set_int(&value[7], row->covered_us);
}

/* A row of lock or request: they have the same key. */
static hf_value *database_save_add_of_resource(saves *to, hf_list *list,
                                               const hf_resource_row *resource,
                                               const hf_session_row *session)
{
    hf_value *value = database_save_add_row(to, list);
    if (value == NULL)
        return NULL;
    hf_set_text(&value[0], resource->type);
    hf_set_text(&value[1], resource->id);
    hf_set_text(&value[2], database_save_session_id(session));
    return value;
}

static void database_save_add_lock(saves *to, const hf_lock_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    bool placed = !row->present && to->drops && row->place.size > 0;
    hf_list *list = placed          ? to->locks_drop
                    : !row->present ? to->locks_delete
                    : row->stored   ? to->locks_update
                                    : to->locks_insert;
    hf_value *value = database_save_add_of_resource(to, list, row->resource, row->session);
    if (value != NULL && placed)
        hf_set_text(&value[3], row->place);
    if (value == NULL || !row->present)
        return;
    hf_set_text(&value[3], hf_slice_of(hf_mode_name(row->mode)));
    hf_set_int(&value[4], row->fence);
    hf_set_int(&value[5], row->since_us);
    hf_set_int_or_null(&value[6], row->ends_us);
    hf_set_text(&value[7], row->purpose);
    hf_set_text(&value[8], row->request);
}

static void database_save_add_request(saves *to, const hf_request_row *row)
{
    if (!row->changed || (!row->present && !row->stored))
        return;
    hf_list *list = row->present ? to->requests_save : to->requests_delete;
    hf_value *value = database_save_add_of_resource(to, list, row->resource, row->session);
    if (value == NULL || !row->present)
        return;
    hf_set_text(&value[3], row->message);
    hf_set_int(&value[4], row->at_us);
}

static void database_save_add_event(saves *to, const hf_event_row *row, int64_t now_us)
{
    hf_value *value = database_save_add_row(to, to->events);
    if (value == NULL)
        return;
    hf_set_int(&value[0], now_us);
    hf_set_text(&value[1], hf_slice_of(hf_event_kind_name(row->kind)));
    hf_set_text(&value[2], row->type);
    hf_set_text(&value[3], row->id);
    hf_set_text(&value[4], row->session);
    hf_set_text(&value[5], row->user);
    hf_set_text(&value[6], row->actor);
    hf_set_int_or_null(&value[7], row->fence);
    hf_set_text(&value[8], row->reason);
}

static void database_save_gather(database_work *work, saves *to)
{
    hf_rows *rows = &work->conn->rows;
    bool by_place = hf_db_kind_of(work->conn->db) == HF_DB_POSTGRES;
    *to = (saves){
        .by_place = by_place,
        .drops = work->part.count > 1, /* there is a statement for one that does it all */
        .sessions_insert = database_list(work, "tbttiiiiitt"),
        .sessions_update = database_list(work, "tbttiiiiitt"),
        .anchors_insert = database_list(work, "ttiititi"),
        .anchors_update = database_list(work, by_place ? "ttiititit" : "ttiititi"),
        .locks_insert = database_list(work, "ttttiiitt"),
        .locks_update = database_list(work, "ttttiiitt"),
        .locks_delete = database_list(work, "ttt"),
        .locks_drop = database_list(work, "tttt"),
        .requests_save = database_list(work, "tttti"),
        .requests_delete = database_list(work, "ttt"),
        .lost_save = database_list(work, "tttiittt"),
        .lost_delete = database_list(work, "ttt"),
        .events = database_list(work, "ittttttit"),
        .saved_insert = database_list(work, "ttiititiiiitttti"),
        .saved_update = database_list(work, by_place ? "ttiititiiiittttit" : "ttiititiiiitttti"),
        .past_save = database_list(work, "tttiiiii"),
    };
    if (work->conn->status != HF_OK)
        return;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        database_save_add_session(to, row);
        for (hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next)
            database_save_add_lost(to, lost);
    }
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next) {
        database_save_add_anchor(to, row);
        for (hf_past_row *past = row->past; past != NULL; past = past->next)
            database_save_add_past(to, row, past);
        for (hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
            database_save_add_lock(to, lock);
        for (hf_request_row *request = row->requests; request != NULL; request = request->next)
            database_save_add_request(to, request);
    }
    for (size_t i = 0; i < rows->events_count; i++)
        database_save_add_event(to, &rows->events[i], work->now_us);
}

/* One anchor, one event, and one lock or at most one past save between them go in one statement,
 * where the database has one for it. */
static bool database_save_queue_one(database_work *work, const saves *to)
{
    bool save = to->saved_update->count > 0, takes = to->locks_insert->count > 0;
    int which = save ? SQL_DO_SAVE_ONE : takes ? SQL_DO_TAKE_ONE : SQL_DO_GIVE_ONE;
    const hf_list *anchors = save ? to->saved_update : to->anchors_update;
    const hf_list *between = save ? to->past_save : takes ? to->locks_insert : to->locks_delete;
    bool fits = between->count == 1 || (save && between->count == 0);
    if (work->conn->sql[which] == NULL || !fits || anchors->count != 1 || to->events->count != 1 ||
        to->rows != 2 + between->count)
        return false;
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
    database_queue(work, SQL_DO_ANCHORS_INSERT, to.anchors_insert);
    database_queue(work, SQL_DO_SAVED_INSERT, to.saved_insert);
    database_queue(work, SQL_DO_ANCHORS_UPDATE, to.anchors_update);
    database_queue(work, SQL_DO_SAVED_UPDATE, to.saved_update);
    database_queue(work, SQL_DO_PAST_SAVE, to.past_save);
    database_queue(work, SQL_DO_SESSIONS_INSERT, to.sessions_insert);
    database_queue(work, SQL_DO_SESSIONS_UPDATE, to.sessions_update);
    database_queue(work, SQL_DO_LOCKS_DELETE, to.locks_delete);
    database_queue(work, SQL_DO_LOCKS_DROP, to.locks_drop);
    database_queue(work, SQL_DO_LOCKS_UPDATE, to.locks_update);
    database_queue(work, SQL_DO_LOCKS_INSERT, to.locks_insert);
    database_queue(work, SQL_DO_REQUESTS_DELETE, to.requests_delete);
    database_queue(work, SQL_DO_REQUESTS_SAVE, to.requests_save);
    database_queue(work, SQL_DO_LOST_DELETE, to.lost_delete);
    database_queue(work, SQL_DO_LOST_SAVE, to.lost_save);
    database_queue(work, SQL_DO_EVENTS_INSERT, to.events);
}

void database_save(database_work *work)
{
    database_save_queue(work);
    database_queue_end(work);
    database_send(work);
}
