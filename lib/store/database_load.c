/* SPDX-License-Identifier: MIT */
/* SQL database stores: locks and loads the rows that a batch names, in as few round trips as
 * possible: one for all that the batch itself names; one before it if a session's own locks must
 * be known first; one after it for each round of sessions that look dead and are locked and read
 * again. */
#include "base/error.h"
#include "store/database.h"

#include <stdlib.h>
#include <string.h>

void database_queue_anchors(database_work *work, const hf_list *list)
{
    database_queue(work, SQL_DO_ANCHORS, list);
    database_queue(work, SQL_DO_ANCHORS_THERE, list);
}

/* The resource a list names, which is in the set. */
static hf_resource_row *database_load_resource_of(database_work *work, const hf_list *list,
                                                  size_t i)
{
    const hf_value *name = &list->values[2 * i];
    return hf_rows_resource(&work->conn->rows, name[0].bytes, name[1].bytes, false);
}

void database_judge_anchors(database_work *work, const hf_list *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        hf_resource_row *row = database_load_resource_of(work, list, i);
        if (!row->busy)
            row->locked = true;
    }
}

/* In an application's transaction on MySQL: which anchors exist, so that only those are locked.
 * Locking a missing row would lock the gap where it would be, and block inserts of its
 * neighbours. */
static hf_list *database_load_look_first(database_work *work, const hf_list *list)
{
    hf_list *there = database_list(work, "tt");
    database_queue_begin(work);
    database_queue(work, SQL_DO_ANCHORS_THERE, list);
    database_send(work);
    for (size_t i = 0; there != NULL && i < list->count && work->conn->status == HF_OK; i++) {
        hf_resource_row *row = database_load_resource_of(work, list, i);
        if (row->origin != NULL)
            database_add_name(there, row->type, row->id);
    }
    return there;
}

/* Whether a row that was not locked is gone, or someone else has it. */
static bool database_load_is_gone(database_work *work, const hf_resource_row *row)
{
    sql_conn *conn = work->conn;
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_ANCHOR_LEFT);
    if (stmt == NULL)
        return false;
    hf_stmt_text(stmt, 1, row->type);
    hf_stmt_text(stmt, 2, row->id);
    bool gone = !sql_next(conn, stmt);
    hf_stmt_reset(stmt);
    if (conn->status != HF_BUSY)
        return gone && conn->status == HF_OK;
    conn->status = HF_OK; /* someone has it */
    return false;
}

/* In an application's transaction on MySQL: an anchor that its snapshot shows and that was not
 * locked. */
static void database_load_look_again(database_work *work, const hf_list *list)
{
    bool looks = work->nested && work->conn->sql[SQL_DO_ANCHORS_THERE] != NULL;
    for (size_t i = 0; looks && list != NULL && i < list->count && work->conn->status == HF_OK;
         i++) {
        const hf_resource_row *row = database_load_resource_of(work, list, i);
        if (row->busy && row->origin != NULL && database_load_is_gone(work, row))
            database_stale(work, row);
    }
}

static int database_load_session_locks(const database_work *work)
{
    bool now = work->nested && work->conn->sql[SQL_DO_SESSION_LOCKS_NOW] != NULL;
    return now ? SQL_DO_SESSION_LOCKS_NOW : SQL_DO_SESSION_LOCKS;
}

/* A session whose locks are to be released: which resources they are on must be known before those
 * are locked. */
static void database_load_learn_names(database_work *work)
{
    hf_list *ids = database_list_sessions(work, NEED_ANCHORS);
    if (ids == NULL || ids->count == 0)
        return;
    work->loading = LOAD_NAMES;
    work->snapshot = false;
    if (work->nested) {
        database_queue_begin(work);
        database_queue(work, SQL_DO_SNAPSHOT, NULL);
    }
    database_queue(work, database_load_session_locks(work), ids);
    database_send(work);
    work->loading = LOAD_ROWS;
}

/* Marks what was loaded; rows that were wanted only meanwhile are not. */
static void database_load_all_loaded(database_work *work, const hf_list *list)
{
    hf_rows *rows = &work->conn->rows;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        row->loaded = true;
    for (size_t i = 0; list != NULL && i < list->count; i++)
        database_load_resource_of(work, list, i)->loaded = true;
}

/* Only beats: their commit need not be synced, for a lost beat makes a session shorter, never
 * longer. */
static bool database_load_only_beats(const hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind != HF_OP_BEAT && !hf_op_reads(batch->ops[i].kind))
            return false;
    return true;
}

/* Whether the quick statement for one anchor is used, which finds it if it exists and is free. */
static bool database_load_queue_held(database_work *work, const hf_list *list)
{
    bool one = list != NULL && list->count == 1 && work->conn->rows.types == NULL;
    if (!one || work->nested || work->lookup == LOOKUP_FULL)
        return false;
    database_load_resource_of(work, list, 0)->busy = true; /* until it is found */
    work->lookup = LOOKUP_QUICK;
    database_queue(work, SQL_DO_ANCHOR_HELD, list);
    return true;
}

static void database_load_queue_locks(database_work *work, const hf_list *resources)
{
    bool looks = work->nested && work->conn->sql[SQL_DO_ANCHORS_THERE] != NULL && resources != NULL;
    const hf_list *there = looks ? database_load_look_first(work, resources) : resources;
    if (!looks)
        database_queue_begin(work);
    if (!work->nested && database_load_only_beats(&work->part))
        database_queue(work, SQL_DO_UNSYNCED, NULL);
    bool share = work->conn->rows.types != NULL;
    bool skips = !work->nested && work->conn->sql[SQL_DO_TYPES_HOLD] != NULL;
    if (share && !skips)
        database_queue(work, SQL_DO_TYPES_SHARE, NULL);
    if (database_load_queue_held(work, there))
        ;
    else if (looks || work->loading != LOAD_TABLES)
        database_queue(work, SQL_DO_ANCHORS, there);
    else
        database_queue_anchors(work, resources);
    if (share && skips) {
        work->types_busy = true; /* until they are found free */
        database_queue(work, SQL_DO_TYPES_HOLD, NULL);
    }
    database_queue(work, SQL_DO_OPENS_TRY, database_list_opens(work));
    database_queue(work, SQL_DO_SESSIONS_LOCK, database_list_sessions(work, NEED_ROW_LOCK));
}

/* Whether there are statements that are made for so few. An application's connection is not set to
 * join by index. */
static bool database_load_is_one(const database_work *work, const hf_list *resources,
                                 const hf_list *ids, const hf_list *types, const hf_list *lost)
{
    return work->store->own == NULL && resources != NULL && resources->count == 1 && ids != NULL &&
           ids->count <= 1 && types != NULL && types->count <= 1 && lost != NULL &&
           lost->count <= 1;
}

/* One save and nothing else: it needs neither requests nor losses. */
static bool database_load_queue_save(database_work *work, const hf_list *resources,
                                     const hf_list *past, const hf_list *ids, const hf_list *types)
{
    hf_stmt *stmt = past != NULL && past->count == 1 && work->part.count == 1 &&
                            work->conn->sql[SQL_DO_REST_SAVE] != NULL
                        ? sql_stmt(work->conn, SQL_DO_REST_SAVE)
                        : NULL;
    if (stmt == NULL)
        return false;
    database_queue(work, SQL_DO_LOCKS_ONE, resources);
    hf_stmt_list(stmt, 1 + (int)past->columns, ids);
    hf_stmt_list(stmt, 1 + (int)past->columns + (int)ids->columns, types);
    database_queue(work, SQL_DO_REST_SAVE, past);
    return true;
}

/* All at once. In an application's transaction on MySQL the policies are read by themselves: as
 * they are, not as its snapshot shows them. */
static void database_load_queue_at_once(database_work *work, const hf_list *resources)
{
    hf_list *ids = database_list_sessions(work, NEED_ROW), *type_names = database_list_types(work),
            *lost = database_list_losses(work);
    hf_list *past = database_list_past_saves(work);
    const char *const *sql = work->conn->sql;
    bool apart = work->nested && sql[SQL_DO_TYPES_NOW] != NULL;
    hf_list *shown = apart ? database_list(work, "t") : type_names;
    bool all = type_names == NULL || type_names->count > 0;
    for (hf_resource_row *row = work->conn->rows.resources; row != NULL; row = row->next)
        all |= row->wants_requests;
    bool one = database_load_is_one(work, resources, ids, type_names, lost);
    if (one && !all && (work->lookup == LOOKUP_QUICK || work->reads)) {
        work->loading = LOAD_LOCKS;
        if (work->reads) /* without locks: no row may be older than the time it is judged by */
            database_queue(work, SQL_DO_TIME_ONE, NULL);
        database_queue(work, sql[SQL_DO_LOCKS_ONE] != NULL ? SQL_DO_LOCKS_ONE : SQL_DO_LOCKS,
                       resources);
        if (!work->reads)
            database_queue(work, SQL_DO_TIME_ONE, NULL);
        return;
    }
    if (one && database_load_queue_save(work, resources, past, ids, type_names))
        return;
    database_queue(work, SQL_DO_PAST, past);
    one = one && all && sql[SQL_DO_REST_ONE] != NULL;
    int which = one ? SQL_DO_REST_ONE : all ? SQL_DO_ROWS : SQL_DO_ROWS_HELD;
    if (one)
        database_queue(work, SQL_DO_LOCKS_ONE, resources);
    hf_stmt *stmt = sql_stmt(work->conn, which);
    if (stmt == NULL || resources == NULL || ids == NULL || type_names == NULL || shown == NULL ||
        lost == NULL)
        return; /* failed, and known to have */
    if (ids->failed || type_names->failed || lost->failed)
        sql_out_of_memory(work->conn);
    hf_stmt_list(stmt, 3, ids);
    hf_stmt_list(stmt, 4, shown);
    hf_stmt_list(stmt, 5, lost);
    if (apart)
        database_queue(work, SQL_DO_TYPES_NOW, type_names);
    database_queue(work, which, resources);
}

static void database_load_queue_rows(database_work *work, const hf_list *resources)
{
    hf_list *asked = database_list_names(work, true); /* before anything is read */
    database_queue(work, SQL_DO_OPENS, database_list_opens(work));
    database_queue(work, database_load_session_locks(work),
                   database_list_sessions(work, NEED_LOCKS));
    database_queue(work, SQL_DO_BEAT_LOCKS, database_list_sessions(work, NEED_LOCKS_COUNTED));
    database_queue(work, SQL_DO_SESSION_REQUESTS, database_list_sessions(work, NEED_REQUESTS));
    database_queue(work, SQL_DO_LOST_OF, database_list_sessions(work, NEED_LOST));
    if (work->reads && !work->nested)
        database_queue(work, SQL_DO_VERSIONS, database_list_versions(work));
    if (work->loading != LOAD_TABLES) {
        database_load_queue_at_once(work, resources);
        return;
    }
    database_queue(work, SQL_DO_PAST, database_list_past_saves(work));
    database_queue(work, SQL_DO_SESSIONS_LOAD, database_list_sessions(work, NEED_ROW));
    database_queue(work, SQL_DO_LOCKS, resources);
    database_queue(work, SQL_DO_REQUESTS, asked);
    database_queue(work, SQL_DO_LOST_ONE, database_list_losses(work));
    database_queue(work, work->nested ? SQL_DO_TYPES_NOW : SQL_DO_TYPES, database_list_types(work));
    database_queue(work, SQL_DO_CLOCK, NULL);
}

/* LOAD_LOCKS brought the locks with the sessions that hold them. Other sessions are loaded after
 * it, and so are losses: a session that holds a lock has not lost it. */
static void database_load_judge_locks(database_work *work)
{
    for (hf_session_row *row = work->conn->rows.sessions; row != NULL; row = row->next) {
        row->busy = row->loaded && row->writes && !row->locked;
        work->more |= row->loaded ? 0 : MORE_SESSIONS;
    }
    for (const hf_loss_row *loss = work->conn->rows.losses; loss != NULL; loss = loss->next) {
        const hf_lock_row *lock = loss->resource->locks;
        while (lock != NULL && lock->session != loss->session)
            lock = lock->next;
        if (lock == NULL || (lock->ends_us != 0 && lock->ends_us <= work->now_us))
            work->more |= MORE_LOST;
    }
}

/* Loads what few batches need. Where the anchors are locked it has not changed meanwhile. */
static void database_load_more(database_work *work, const hf_list *resources)
{
    if (work->more & MORE_SESSIONS)
        database_queue(work, SQL_DO_SESSIONS_LOAD, database_list_sessions(work, NEED_ROW));
    if (work->more & MORE_REQUESTS)
        database_queue(work, SQL_DO_REQUESTS, resources);
    if (work->more & MORE_LOST)
        database_queue(work, SQL_DO_LOST_ONE, database_list_losses(work));
    if (work->more & MORE_PAST)
        database_queue(work, SQL_DO_PAST, database_list_past_saves(work));
    work->more = 0;
    database_send(work);
}

/* For a beat: who holds now what its session lost to an unknown session. */
static void database_load_takers(database_work *work)
{
    hf_list *more = database_list_names(work, false);
    if (more == NULL || more->count == 0)
        return;
    database_queue(work, SQL_DO_LOCKS, more);
    database_send(work);
    database_load_all_loaded(work, more);
}

/* Lists a session that looks dead, blocks an op, and is not locked yet. If a dead holder can't
 * be locked its resource is busy: the session may just be beating. */
static void database_load_add_dead(database_work *work, hf_session_row *session, hf_list *list)
{
    if (!session->stored || session->locked || session->busy || session->ended_us != 0 ||
        session->expires_us > work->now_us)
        return;
    session->busy = true; /* until it is found locked */
    database_list_add_id(list, session->id);
}

static hf_list *database_load_looking_dead(database_work *work)
{
    hf_list *list = database_list(work, "t");
    /* An old snapshot may show a session as it was before its last beat. */
    for (size_t i = 0; list != NULL && work->nested && i < work->part.count; i++) {
        const hf_op_rows *of = &work->conn->rows.of_op[i];
        if (of->session != NULL)
            database_load_add_dead(work, of->session, list);
        if (of->target != NULL)
            database_load_add_dead(work, of->target, list);
    }
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next)
        for (hf_lock_row *lock = row->locked ? row->locks : NULL; lock != NULL; lock = lock->next) {
            database_load_add_dead(work, lock->session, list);
        }
    database_list_sort_ids(list);
    return list;
}

static void database_load_judge_dead(database_work *work)
{
    hf_rows *rows = &work->conn->rows;
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        if (row->locked)
            row->busy = false;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        for (hf_lock_row *lock = row->locked ? row->locks : NULL; lock != NULL; lock = lock->next)
            row->busy |= lock->session->busy && lock->session->ended_us == 0 &&
                         lock->session->expires_us <= work->now_us;
}

/* In an application's transaction on MySQL: sessions that the snapshot shows alive may have been
 * closed since. One that is locked by another transaction may be being closed. */
static void database_load_look_now(database_work *work)
{
    hf_list *list = database_list(work, "t");
    for (size_t k = 0; list != NULL && k < work->part.count * DATABASE_RELIED_ON; k++) {
        hf_session_row *row =
            database_relied_on(work, k / DATABASE_RELIED_ON, (int)(k % DATABASE_RELIED_ON));
        if (row == NULL || !row->stored || row->locked || row->busy || row->ended_us != 0)
            continue;
        row->busy = true; /* until it is found free */
        database_list_add_id(list, row->id);
    }
    if (list == NULL || list->count == 0)
        return;
    database_list_sort_ids(list);
    database_queue(work, SQL_DO_SESSIONS_NOW, list);
    database_queue(work, SQL_DO_CLOCK, NULL);
    database_send(work);
    database_load_judge_dead(work);
}

static void database_load_lock_dead(database_work *work)
{
    database_load_look_now(work);
    for (hf_list *dead; work->conn->status == HF_OK &&
                        (dead = database_load_looking_dead(work)) != NULL && dead->count > 0;) {
        database_queue(work, SQL_DO_SESSIONS_LOCK, dead);
        database_queue(work, SQL_DO_CLOCK, NULL);
        database_send(work);
        database_load_judge_dead(work);
    }
}

static void database_load_spread_busy(hf_rows *rows)
{
    for (hf_session_row *row = rows->sessions; row != NULL; row = row->next)
        for (hf_lock_row *lock = row->wants_anchors ? row->locks : NULL; lock != NULL;
             lock = lock->session_next)
            row->anchors_busy |= lock->resource->busy;
}

/* All locks of a session that beats were counted; those that are over are among the loaded ones. */
static void database_load_count_live(database_work *work)
{
    for (hf_session_row *row = work->conn->rows.sessions; row != NULL; row = row->next)
        for (hf_lock_row *lock = row->counts_locks ? row->locks : NULL; lock != NULL;
             lock = lock->session_next)
            row->live_locks -=
                row->live_locks > 0 && lock->ends_us != 0 && lock->ends_us <= work->now_us;
}

static void database_load_clock(database_work *work)
{
    database_queue(work, SQL_DO_CLOCK, NULL);
    database_send(work);
}

/* MariaDB may end an answer early, without an error, when its connection is killed: the next
 * statement finds the connection lost. */
void database_expect_time(database_work *work)
{
    sql_conn *conn = work->conn;
    if (conn->status != HF_OK || work->now_us != 0)
        return;
    database_load_clock(work);
    if (conn->status == HF_OK)
        conn->status = hf_fail(conn->err, HF_INTERNAL,
                               "An answer of %s came without its last row; look for what limits "
                               "the rows that are read there.",
                               hf_db_path(conn->db));
}

static void database_load_load(database_work *work)
{
    bool locking = database_locks(work);
    if (locking)
        database_load_learn_names(work);
    hf_list *resources = database_list_names(work, false);
    work->loading = database_is_long(work, resources) ? LOAD_TABLES : LOAD_ROWS;
    if (locking)
        database_load_queue_locks(work, resources);
    database_load_queue_rows(work, resources);
    database_send(work);
    database_expect_time(work);
    if (work->lookup == LOOKUP_QUICK && database_load_resource_of(work, resources, 0)->busy) {
        work->lookup = LOOKUP_MISSED;
        return;
    }
    if (work->loading == LOAD_LOCKS)
        database_load_judge_locks(work);
    database_load_more(work, resources);
    database_load_look_again(work, resources);
    if (work->conn->status != HF_OK)
        return;
    if (locking)
        database_judge_anchors(work, resources);
    database_load_all_loaded(work, resources);
    database_load_takers(work);
    if (!locking || work->conn->status != HF_OK)
        return;
    database_load_lock_dead(work);
    if (work->nested)
        database_check_snapshot(work);
    database_load_spread_busy(&work->conn->rows);
}

static void database_load_forget_answers(hf_batch *part)
{
    for (size_t i = 0; i < part->count; i++)
        memset(&part->ops[i].answer, 0, sizeof part->ops[i].answer);
}

bool database_load(database_work *work, hf_error *err)
{
    sql_conn *conn = work->conn;
    sql_use(conn, err);
    work->types_busy = work->stale = false;
    work->more = 0;
    work->loading = LOAD_ROWS;
    if (work->lookup != LOOKUP_FULL)
        work->lookup = LOOKUP_ANY;
    work->now_us = 0;
    database_load_forget_answers(&work->part);
    /* What an application's snapshot does not show can't be counted. */
    conn->rows.counts_beats = !work->nested;
    if (!hf_rows_reset(&conn->rows, work->part.count) || !hf_rows_want(&conn->rows, &work->part))
        return false;
    database_load_load(work);
    database_load_count_live(work);
    return true;
}

void database_read_clock(database_work *work)
{
    database_load_clock(work);
    database_expect_time(work);
}
