/* SPDX-License-Identifier: MIT */
/* The SQLite store: what stands alone (lists, events, types, sweep). */
#include "base/error.h"
#include "store/sqlite.h"

#include <string.h>

static size_t limit_of(const hf_op *op)
{
    return op->limit == 0 ? HF_LIST_DEFAULT : op->limit;
}

/* Room for the values of a page in the batch's arena. */
static void *page(sqlite_conn *conn, hf_arena *arena, size_t count, size_t size)
{
    void *out = conn->status == HF_OK ? hf_arena_alloc(arena, count * size) : NULL;
    if (out == NULL)
        sqlite_out_of_memory(conn);
    return out;
}

static void text(hf_stmt *stmt, int at, char *out, size_t size)
{
    hf_slice_copy(out, size, hf_stmt_column_text(stmt, at));
}

/* ---- lists ---- */

static void read_lock(hf_stmt *stmt, hf_lock *out)
{
    text(stmt, 0, out->resource.type, sizeof out->resource.type);
    text(stmt, 1, out->resource.id, sizeof out->resource.id);
    text(stmt, 2, out->session, sizeof out->session);
    hf_slice mode = hf_stmt_column_text(stmt, 3);
    out->mode = mode.size > 0 && mode.at[0] == 's' ? HF_SHARED : HF_EXCLUSIVE;
    out->fence = hf_stmt_column_int(stmt, 4);
    out->since_us = hf_stmt_column_int(stmt, 5);
    out->ends_us = hf_stmt_column_int(stmt, 6);
    text(stmt, 7, out->purpose, sizeof out->purpose);
    text(stmt, 8, out->user, sizeof out->user);
    text(stmt, 9, out->name, sizeof out->name);
    int64_t expires_us = hf_stmt_column_int(stmt, 10);
    out->expires_us = out->ends_us != 0 && out->ends_us < expires_us ? out->ends_us : expires_us;
}

/* Text for a comparison: an empty one must not become null. */
static void bind_from(hf_stmt *stmt, int at, const char *from)
{
    if (from[0] == '\0')
        hf_stmt_text(stmt, at,
                     (hf_slice){"\001", 1}); /* below every name, as control characters are refused */
    else
        hf_stmt_text(stmt, at, hf_slice_of(from));
}

static void do_list(sqlite_conn *conn, hf_op *op, hf_arena *arena, int64_t now_us)
{
    size_t limit = limit_of(op), count = 0;
    hf_lock *locks = page(conn, arena, limit, sizeof *locks);
    hf_stmt *stmt = sqlite_stmt(conn, op->target != NULL ? SQLITE_DO_LIST_SESSION
                                      : op->user != NULL ? SQLITE_DO_LIST_USER
                                      : op->type != NULL ? SQLITE_DO_LIST_TYPE
                                                         : SQLITE_DO_LIST);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    bind_from(stmt, 2, op->after.resource.type);
    bind_from(stmt, 3, op->after.resource.id);
    bind_from(stmt, 4, op->after.session);
    hf_stmt_int(stmt, 5, (int64_t)limit + 1);
    hf_stmt_text(stmt, 6, hf_slice_of(op->type));
    hf_stmt_text(stmt, 7, hf_slice_of(op->target));
    hf_stmt_text(stmt, 8, hf_slice_of(op->user));
    while (sqlite_next(conn, stmt))
        if (count++ < limit)
            read_lock(stmt, &locks[count - 1]);
    op->answer.more = count > limit;
    op->answer.locks_count = op->answer.more ? limit : count;
    op->answer.locks = count == 0 ? NULL : locks;
    if (op->answer.more) {
        op->answer.next.resource = locks[limit - 1].resource;
        memcpy(op->answer.next.session, locks[limit - 1].session, sizeof op->answer.next.session);
    }
}

static void do_sessions(sqlite_conn *conn, hf_op *op, hf_arena *arena, int64_t now_us)
{
    size_t limit = limit_of(op), count = 0;
    hf_session_info *sessions = page(conn, arena, limit, sizeof *sessions);
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_SESSIONS);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, now_us);
    bind_from(stmt, 2, op->after.session);
    hf_stmt_int(stmt, 3, (int64_t)limit + 1);
    hf_stmt_text(stmt, 4, hf_slice_of(op->user));
    while (sqlite_next(conn, stmt)) {
        if (count++ >= limit)
            continue;
        hf_session_info *info = &sessions[count - 1];
        text(stmt, 0, info->id, sizeof info->id);
        text(stmt, 1, info->user, sizeof info->user);
        text(stmt, 2, info->name, sizeof info->name);
        info->idle_us = hf_stmt_column_int(stmt, 3);
        info->opened_us = hf_stmt_column_int(stmt, 4);
        info->expires_us = hf_stmt_column_int(stmt, 5);
    }
    op->answer.more = count > limit;
    op->answer.sessions_count = op->answer.more ? limit : count;
    op->answer.sessions = count == 0 ? NULL : sessions;
    if (op->answer.more)
        memcpy(op->answer.next.session, sessions[limit - 1].id, sizeof op->answer.next.session);
}

static void read_event(hf_stmt *stmt, hf_event *out)
{
    char kind[32];
    out->seq = hf_stmt_column_int(stmt, 0);
    out->at_us = hf_stmt_column_int(stmt, 1);
    text(stmt, 2, kind, sizeof kind);
    out->kind = hf_event_kind_from_name(kind);
    text(stmt, 3, out->resource.type, sizeof out->resource.type);
    text(stmt, 4, out->resource.id, sizeof out->resource.id);
    text(stmt, 5, out->session, sizeof out->session);
    text(stmt, 6, out->user, sizeof out->user);
    text(stmt, 7, out->actor, sizeof out->actor);
    out->fence = hf_stmt_column_int(stmt, 8);
    text(stmt, 9, out->reason, sizeof out->reason);
}

static void do_events(sqlite_conn *conn, hf_op *op, hf_arena *arena)
{
    size_t count = 0;
    hf_event *events = page(conn, arena, limit_of(op), sizeof *events);
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_EVENTS);
    if (stmt == NULL)
        return;
    hf_stmt_int(stmt, 1, op->after_seq);
    hf_stmt_int(stmt, 2, (int64_t)limit_of(op));
    while (sqlite_next(conn, stmt))
        read_event(stmt, &events[count++]);
    op->answer.events = count == 0 ? NULL : events;
    op->answer.events_count = count;
    int64_t first = sqlite_number(conn, SQLITE_DO_EVENTS_FIRST);
    op->answer.first_seq = first == 0 ? 1 : first;
    op->answer.last_seq = sqlite_number(conn, SQLITE_DO_EVENTS_LAST);
}

/* ---- types ---- */

static void do_types(sqlite_conn *conn, hf_op *op, hf_arena *arena)
{
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_TYPES);
    size_t count = 0, room = 0;
    hf_type *types = NULL;
    while (stmt != NULL && sqlite_next(conn, stmt)) {
        if (count == room) {
            room = room == 0 ? 16 : room * 2;
            hf_type *more = page(conn, arena, room, sizeof *more);
            if (more == NULL)
                break;
            if (count > 0)
                memcpy(more, types, count * sizeof *types);
            types = more;
        }
        char policy[32];
        hf_type *type = &types[count++];
        text(stmt, 0, type->type, sizeof type->type);
        text(stmt, 1, policy, sizeof policy);
        type->policy = hf_policy_from_name(policy);
        type->ttl_us = hf_stmt_column_int(stmt, 2);
        type->ttl_max_us = hf_stmt_column_int(stmt, 3);
        if (type->policy == HF_POLICY_COUNT)
            conn->status = sqlite_policy_unknown(type->type, policy, conn->err);
    }
    if (stmt != NULL)
        hf_stmt_reset(stmt);
    op->answer.types = types;
    op->answer.types_count = count;
}

static bool locks_live(sqlite_conn *conn, const char *type, int64_t now_us)
{
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_TYPE_LIVE);
    if (stmt == NULL)
        return true;
    hf_stmt_text(stmt, 1, hf_slice_of(type));
    hf_stmt_int(stmt, 2, now_us);
    bool live = sqlite_next(conn, stmt) && hf_stmt_column_int(stmt, 0) != 0;
    hf_stmt_reset(stmt);
    return live;
}

static void do_type_set(sqlite_conn *conn, hf_op *op, hf_arena *arena, int64_t now_us)
{
    hf_type_row *row = hf_rows_type(&conn->rows, hf_slice_of(op->type));
    if (row == NULL) {
        sqlite_out_of_memory(conn);
        return;
    }
    sqlite_load(conn, &conn->rows);
    hf_apply_type_set(&conn->rows, op, arena, &row->type, locks_live(conn, op->type, now_us));
    if (conn->rows.failed)
        sqlite_out_of_memory(conn);
    hf_stmt *stmt = op->answer.status == HF_OK ? sqlite_stmt(conn, SQLITE_DO_TYPE_SAVE) : NULL;
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(op->type));
    hf_stmt_text(stmt, 2, hf_slice_of(hf_policy_name(op->policy)));
    hf_stmt_int_or_null(stmt, 3, op->ttl_us);
    hf_stmt_int_or_null(stmt, 4, op->ttl_max_us);
    sqlite_run(conn, stmt);
    sqlite_save(conn, &conn->rows, now_us);
}

/* ---- sweep ---- */

static hf_status load_dead(hf_store *base, hf_rows *rows, int64_t now_us, size_t limit, hf_error *err)
{
    sqlite_conn *conn = &((sqlite_store *)base)->writer;
    (void)err; /* it sticks in the connection */
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_SWEEP_DEAD);
    if (stmt == NULL)
        return conn->status;
    hf_stmt_int(stmt, 1, now_us);
    if (!sqlite_next(conn, stmt))
        return conn->status;
    char id[HF_SESSION_ID_SIZE] = "";
    text(stmt, 0, id, sizeof id);
    hf_stmt_reset(stmt);
    hf_session_row *row = sqlite_load_session(conn, rows, id);
    if (row == NULL)
        return conn->status;
    row->wants_anchors = true;
    sqlite_load_session_locks(conn, rows, row, limit);
    sqlite_load(conn, rows);
    return conn->status;
}

/* One lock of the query, with its session; the anchor is loaded after all are named. */
static void load_spent_lock(sqlite_conn *conn, hf_rows *rows, hf_stmt *from)
{
    char session[HF_SESSION_ID_SIZE] = "";
    text(from, 2, session, sizeof session);
    hf_resource_row *resource =
        hf_rows_resource(rows, hf_stmt_column_text(from, 0), hf_stmt_column_text(from, 1), true);
    hf_session_row *row = sqlite_load_session(conn, rows, session);
    hf_lock_row *lock = resource == NULL || row == NULL ? NULL : hf_rows_lock(rows, resource, row);
    if (lock == NULL) {
        sqlite_out_of_memory(conn);
        return;
    }
    lock->fence = hf_stmt_column_int(from, 3);
    lock->ends_us = hf_stmt_column_int(from, 4);
    lock->stored = lock->present = true;
}

static hf_status load_spent(hf_store *base, hf_rows *rows, int64_t now_us, size_t limit, hf_error *err)
{
    sqlite_conn *conn = &((sqlite_store *)base)->writer;
    (void)err;
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_SWEEP_SPENT);
    if (stmt == NULL)
        return conn->status;
    hf_stmt_int(stmt, 1, now_us);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    while (sqlite_next(conn, stmt))
        load_spent_lock(conn, rows, stmt);
    sqlite_load_anchors(conn, rows);
    return conn->status;
}

static hf_status save(hf_store *base, hf_rows *rows, int64_t now_us, hf_error *err)
{
    sqlite_conn *conn = &((sqlite_store *)base)->writer;
    (void)err;
    sqlite_save(conn, rows, now_us);
    return conn->status;
}

static void delete_by_session(sqlite_conn *conn, int which, const char *id)
{
    hf_stmt *stmt = sqlite_stmt(conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(id));
    sqlite_run(conn, stmt);
}

static hf_status drop_sessions(hf_store *base, int64_t before_us, size_t limit, size_t *dropped,
                               hf_error *err)
{
    sqlite_conn *conn = &((sqlite_store *)base)->writer;
    (void)err;
    while (*dropped < limit) {
        hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_SWEEP_OLD);
        if (stmt == NULL)
            return conn->status;
        hf_stmt_int(stmt, 1, before_us);
        if (!sqlite_next(conn, stmt))
            return conn->status;
        char id[HF_SESSION_ID_SIZE] = "";
        text(stmt, 0, id, sizeof id);
        hf_stmt_reset(stmt);
        delete_by_session(conn, SQLITE_DO_SESSION_LOST_DELETE, id);
        delete_by_session(conn, SQLITE_DO_SESSION_REQUESTS_DELETE, id);
        delete_by_session(conn, SQLITE_DO_SESSION_DELETE, id);
        (*dropped)++;
    }
    return conn->status;
}

static void read_swept_to(sqlite_conn *conn, hf_resource *out)
{
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_META_GET);
    char name[HF_RESOURCE_SIZE] = "";
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of("swept_to"));
    if (!sqlite_next(conn, stmt))
        return;
    text(stmt, 0, name, sizeof name);
    hf_stmt_reset(stmt);
    if (hf_resource_parse(name, out, NULL) != HF_OK)
        memset(out, 0, sizeof *out);
}

static void write_swept_to(sqlite_conn *conn, const hf_resource *to)
{
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_META_SET);
    char name[HF_RESOURCE_SIZE];
    if (stmt == NULL)
        return;
    hf_resource_format(to, name);
    hf_stmt_text(stmt, 1, hf_slice_of("swept_to"));
    hf_stmt_text(stmt, 2, hf_slice_of(name));
    sqlite_run(conn, stmt);
}

static void delete_anchor(sqlite_conn *conn, const hf_resource *anchor)
{
    hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_RESOURCE_DELETE);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(anchor->type));
    hf_stmt_text(stmt, 2, hf_slice_of(anchor->id));
    sqlite_run(conn, stmt);
}

/* Looks at anchors one at a time, so that none is deleted under the statement that reads them. */
static hf_status drop_anchors(hf_store *base, int64_t before_us, size_t limit, size_t *dropped, bool *end,
                              hf_error *err)
{
    sqlite_conn *conn = &((sqlite_store *)base)->writer;
    hf_resource at = {"", ""}, before;
    int64_t floor = 0;
    (void)err;
    read_swept_to(conn, &at);
    before = at;
    for (size_t looked = 0; conn->status == HF_OK; looked++) {
        hf_stmt *stmt = sqlite_stmt(conn, SQLITE_DO_SWEEP_ANCHORS);
        if (stmt == NULL)
            return conn->status;
        hf_stmt_int(stmt, 1, before_us);
        bind_from(stmt, 2, at.type);
        bind_from(stmt, 3, at.id);
        hf_stmt_int(stmt, 4, 1);
        *end = !sqlite_next(conn, stmt);
        if (*end || looked == limit) {
            hf_stmt_reset(stmt);
            break;
        }
        text(stmt, 0, at.type, sizeof at.type);
        text(stmt, 1, at.id, sizeof at.id);
        int64_t fence = hf_stmt_column_int(stmt, 2);
        bool free_long = hf_stmt_column_int(stmt, 3) != 0;
        hf_stmt_reset(stmt);
        if (!free_long)
            continue;
        delete_anchor(conn, &at);
        floor = fence > floor ? fence : floor;
        (*dropped)++;
    }
    if (floor > 0)
        sqlite_raise_floor(conn, floor);
    if (*end)
        at = (hf_resource){"", ""};
    if (hf_resource_compare(&at, &before) != 0)
        write_swept_to(conn, &at);
    return conn->status;
}

static const hf_sweep_ops sweep_ops = {load_dead, load_spent, save, drop_sessions, drop_anchors};

void sqlite_do_alone(sqlite_store *store, sqlite_conn *conn, hf_batch *batch, int64_t now_us)
{
    hf_op *op = &batch->ops[0];
    op->answer.now_us = now_us;
    if (conn->rows.no_growth && hf_op_grows(op->kind)) {
        op->answer.status = HF_UNAVAILABLE;
        op->answer.message = HF_DISK_FULL;
        return;
    }
    switch (op->kind) {
    case HF_OP_LIST:
        do_list(conn, op, &batch->arena, now_us);
        break;
    case HF_OP_SESSIONS:
        do_sessions(conn, op, &batch->arena, now_us);
        break;
    case HF_OP_EVENTS:
        do_events(conn, op, &batch->arena);
        break;
    case HF_OP_TYPES:
        do_types(conn, op, &batch->arena);
        break;
    case HF_OP_TYPE_SET:
        do_type_set(conn, op, &batch->arena, now_us);
        break;
    default:
        conn->status = hf_sweep(&store->base, &sweep_ops, &conn->rows, op, now_us, conn->err);
    }
}
