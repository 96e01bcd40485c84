/* SPDX-License-Identifier: MIT */
/* SQL database stores, in an application's transaction at REPEATABLE READ or SERIALIZABLE: finds
 * out whether its snapshot is too old for right answers. An anchor that the snapshot shows is
 * locked, which tells; this is about missing anchors, and about sessions and types. And on
 * MySQL, which anchors other transactions are inserting. */
#include "store/database.h"

#include "base/error.h"

/* Rows that are not there, as they would be inserted: what must not be null is something. */
static bool database_snapshot_add_anchors(database_work *work, hf_list *list)
{
    for (hf_resource_row *row = work->conn->rows.resources; list != NULL && row != NULL;
         row = row->next) {
        hf_value *value = row->locked && !row->stored && !row->busy ? hf_list_add(list) : NULL;
        if (value != NULL)
            sql_set_row(value, &hf_resource_fields, HF_NAMED | HF_MOVES,
                        &(hf_resource_row){.type = row->type, .id = row->id});
    }
    return list != NULL;
}

/* Those not there on one list, those there on the other. */
static bool database_snapshot_add_sessions(database_work *work, hf_list *missing, hf_list *seen)
{
    for (hf_session_row *row = work->conn->rows.sessions;
         missing != NULL && seen != NULL && row != NULL; row = row->next) {
        if (row->stored && !row->locked)
            database_list_add_id(seen, row->id);
        hf_value *value = row->stored ? NULL : hf_list_add(missing);
        hf_session_row *made =
            value == NULL ? NULL : hf_arena_alloc(&work->conn->rows.arena, sizeof *made);
        if (made == NULL)
            continue; /* out of memory, and known to be */
        *made = (hf_session_row){.user = hf_slice_of("-"), .name = hf_slice_of("-")};
        memcpy(made->id, row->id, sizeof made->id);
        sql_set_row(value, &hf_session_fields, HF_EVERY, made);
    }
    return missing != NULL && seen != NULL;
}

static bool database_snapshot_add_types(database_work *work, hf_list *missing, hf_list *seen)
{
    for (hf_type_row *row = work->conn->rows.types; missing != NULL && seen != NULL && row != NULL;
         row = row->next) {
        bool there = row->type.policy != HF_POLICY_NONE;
        hf_value *value = hf_list_add(there ? seen : missing);
        if (value != NULL)
            sql_set_row(value, &hf_type_fields, there ? HF_KEY : HF_EVERY, row);
    }
    return missing != NULL && seen != NULL;
}

void database_check_snapshot(database_work *work)
{
    sql_conn *conn = work->conn;
    hf_list *anchors = database_rows_list(work, &hf_resource_fields, HF_NAMED | HF_MOVES),
            *sessions = database_rows_list(work, &hf_session_fields, HF_EVERY),
            *types = database_rows_list(work, &hf_type_fields, HF_EVERY),
            *seen = database_list(work, "t"), *types_seen = database_list(work, "t");
    if (!database_snapshot_add_anchors(work, anchors) ||
        !database_snapshot_add_sessions(work, sessions, seen) ||
        !database_snapshot_add_types(work, types, types_seen))
        return; /* out of memory, and known to be */
    bool probes_types = conn->sql[SQL_DO_PROBE_TYPES] != NULL;
    size_t expected = anchors->count + sessions->count + (probes_types ? types->count : 0);
    work->rows_count = 0;
    database_queue(work, SQL_DO_PROBE, NULL);
    database_queue(work, SQL_DO_PROBE_PATIENCE, NULL);
    database_queue(work, SQL_DO_PROBE_SESSIONS_SEEN, seen);
    database_queue(work, SQL_DO_PROBE_TYPES_SEEN, types_seen);
    database_queue(work, SQL_DO_PROBE_ANCHORS, anchors);
    database_queue(work, SQL_DO_PROBE_SESSIONS, sessions);
    database_queue(work, SQL_DO_PROBE_TYPES, types);
    database_queue(work, SQL_DO_PROBE_END, NULL);
    database_send(work);
    if (conn->status != HF_OK || (size_t)work->rows_count == expected)
        return;
    work->stale = true;
    conn->status = hf_fail(
        conn->err, HF_RETRY,
        "The transaction began before what it asks for was made; roll it back and run it again.");
}

/* ---- anchors that others are inserting ---- */

/* After a failed insert MySQL does not tell which row was the cause. The working set of the
 * failed attempt is still there; its transaction is over. */
bool database_find_inserting(database_work *work)
{
    sql_conn *conn = work->conn;
    hf_failure failure = work->failure;
    if (work->nested || conn->sql[SQL_DO_MAKING] == NULL)
        return false;
    sql_use(conn, NULL);
    hf_list *list = database_list(work, "tt");
    for (hf_resource_row *row = conn->rows.resources; list != NULL && row != NULL;
         row = row->next) {
        row->busy = false;
        if (!row->stored)
            database_add_name(list, row->type, row->id);
    }
    database_queue(work, SQL_DO_MAKING_LEVEL, NULL);
    database_queue(work, SQL_DO_BEGIN, NULL);
    database_queue(work, SQL_DO_MAKING, list);
    database_queue(work, SQL_DO_COMMIT, NULL);
    database_send(work);
    bool told = conn->status == HF_OK;
    if (!told)
        database_undo(work);
    work->failure = failure;
    return told;
}
