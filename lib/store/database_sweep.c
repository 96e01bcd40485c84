/* SPDX-License-Identifier: MIT */
/* SQL database stores: sweeping. Each dead session, the spent locks, the old sessions and the
 * free anchors are transactions of their own, so that nothing stays locked for long. What
 * another transaction has locked is counted, and left to the next sweep. */
#include "store/database.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

typedef struct sweep {
    database_work *work;
    int64_t after_us; /* dead sessions up to this one were looked at: by expires_us, then id */
    char after_id[HF_SESSION_ID_SIZE];
    size_t passed; /* rows that are over, and locked by another transaction */
} sweep;

static hf_status database_sweep_failed(sweep *s)
{
    return s->work->conn->status;
}

static void database_sweep_add_id(hf_list *list, hf_slice id, hf_arena *arena)
{
    hf_slice copy;
    hf_value *row = list == NULL ? NULL : hf_list_add(list);
    if (row == NULL)
        return;
    if (hf_arena_copy(arena, id, &copy))
        hf_set_text(row, copy);
    else
        list->failed = true;
}

static hf_list *database_sweep_one_id(database_work *work, const char *id)
{
    hf_list *list = database_list(work, "t");
    database_sweep_add_id(list, (hf_slice){id, HF_SESSION_ID_MAX}, &work->conn->rows.arena);
    return list;
}

/* The (type, id) of a query's next row, as a resource of the set that is wanted, and once on the
 * list. False: there is none. */
static bool database_sweep_read_name(database_work *work, hf_stmt *stmt, hf_list *list,
                                     const hf_resource_row **out)
{
    sql_conn *conn = work->conn;
    if (!sql_next(conn, stmt))
        return false;
    hf_resource_row *row = hf_rows_resource(&conn->rows, hf_stmt_column_text(stmt, 0),
                                            hf_stmt_column_text(stmt, 1), true);
    if (row == NULL || list == NULL) {
        sql_out_of_memory(conn);
        hf_stmt_reset(stmt);
        return false;
    }
    if (!row->wanted)
        database_add_name(list, row->type, row->id);
    row->wanted = true;
    *out = row;
    return true;
}

static void database_sweep_read_names(database_work *work, hf_stmt *stmt, hf_list *list)
{
    const hf_resource_row *row;
    while (database_sweep_read_name(work, stmt, list, &row))
        continue;
}

/* ---- dead sessions ---- */

static bool database_sweep_next_dead(sweep *s, int64_t now_us)
{
    sql_conn *conn = s->work->conn;
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_SWEEP_DEAD);
    bool found = false;
    if (stmt == NULL)
        return false;
    hf_stmt_int(stmt, 1, now_us);
    hf_stmt_int(stmt, 2, s->after_us);
    hf_stmt_text(stmt, 3, s->after_id[0] == '\0' ? hf_slice_of("-") : hf_slice_of(s->after_id));
    char id[HF_SESSION_ID_SIZE] = "";
    while (sql_next(conn, stmt)) {
        sql_text(stmt, 0, id, sizeof id);
        s->after_us = hf_stmt_column_int(stmt, 1);
        found = true;
    }
    if (found)
        memcpy(s->after_id, id, sizeof s->after_id);
    return found;
}

/* A session with its first locks and their anchors, all locked. False: someone is using it, which
 * is counted, or it has beaten meanwhile. */
static bool database_sweep_load_session(sweep *s, hf_rows *rows, int64_t now_us, size_t limit)
{
    database_work *work = s->work;
    sql_conn *conn = work->conn;
    hf_session_row *row = hf_rows_reset(rows, 64) ? hf_rows_session(rows, s->after_id) : NULL;
    if (row == NULL) {
        sql_out_of_memory(conn);
        return false;
    }
    row->wants_anchors = row->wants_locks = row->writes = true;
    hf_list *ids = database_sweep_one_id(work, row->id), *names = database_list(work, "tt");
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_SESSION_LOCKS);
    if (stmt == NULL || ids == NULL)
        return false;
    hf_stmt_list(stmt, 1, ids);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    database_sweep_read_names(work, stmt, names);
    database_queue_begin(work);
    database_queue_anchors(work, names);
    database_queue(work, SQL_DO_SESSIONS_LOCK, ids);
    database_queue(work, SQL_DO_LOCKS, names);
    database_send(work);
    database_judge_anchors(work, names);
    bool ours = row->locked && row->ended_us == 0 && row->expires_us <= now_us;
    bool used = !row->locked;
    for (hf_resource_row *resource = rows->resources; resource != NULL; resource = resource->next)
        used |= resource->busy;
    s->passed += used;
    return ours && !used && conn->status == HF_OK;
}

static hf_status database_sweep_load_dead(void *context, hf_rows *rows, int64_t now_us,
                                          size_t limit, hf_error *err)
{
    sweep *s = context;
    (void)err; /* it sticks in the connection */
    while (database_sweep_next_dead(s, now_us)) {
        if (database_sweep_load_session(s, rows, now_us, limit))
            return HF_OK;
        if (database_sweep_failed(s) != HF_OK)
            return database_sweep_failed(s);
        database_undo(s->work);
        if (!hf_rows_reset(rows, 64))
            sql_out_of_memory(s->work->conn);
    }
    return database_sweep_failed(s);
}

/* ---- locks past their own bound ---- */

/* The spent lock that is swept last, in the order of their ends. */
typedef struct last_spent {
    int64_t ends_us;
    const hf_resource_row *resource;
    char session[HF_SESSION_ID_SIZE];
} last_spent;

static void database_sweep_read_spent(database_work *work, hf_stmt *stmt, hf_list *names,
                                      last_spent *last)
{
    while (database_sweep_read_name(work, stmt, names, &last->resource)) {
        sql_text(stmt, 2, last->session, sizeof last->session);
        last->ends_us = hf_stmt_column_int(stmt, 3);
    }
}

static bool database_sweep_after_last(const hf_lock_row *lock, const last_spent *last)
{
    const hf_resource_row *x = lock->resource, *y = last->resource;
    if (y == NULL)
        return true;
    if (lock->ends_us != last->ends_us)
        return lock->ends_us > last->ends_us;
    int order = hf_slice_compare(x->type, y->type);
    if (order == 0)
        order = hf_slice_compare(x->id, y->id);
    return order > 0 || (order == 0 && strcmp(lock->session->id, last->session) > 0);
}

/* Of the locks of a resource only those whose time is over are swept, as long as there is room: the
 * others leave the set. How many of them are over and in use. */
static size_t database_sweep_keep_spent(hf_resource_row *row, int64_t now_us,
                                        const last_spent *last, size_t *room)
{
    hf_lock_row **at = &row->locks;
    size_t used = 0;
    while (*at != NULL) {
        const hf_lock_row *lock = *at;
        const hf_session_row *session = lock->session;
        bool over = !session->stored || session->ended_us != 0 ||
                    (session->expires_us > now_us && lock->ends_us != 0 &&
                     lock->ends_us <= now_us && !database_sweep_after_last(lock, last));
        if (over && !row->busy && *room > 0) {
            at = &(*at)->next;
            (*room)--;
        } else {
            used += over && row->busy;
            *at = lock->next;
        }
    }
    return used;
}

static hf_status database_sweep_load_spent(void *context, hf_rows *rows, int64_t now_us,
                                           size_t limit, hf_error *err)
{
    sweep *s = context;
    database_work *work = s->work;
    hf_list *names = database_list(work, "tt");
    last_spent last = {0};
    (void)err;
    for (int i = 0; i < 2; i++) {
        hf_stmt *stmt = sql_stmt(work->conn, i == 0 ? SQL_DO_SWEEP_SPENT : SQL_DO_SWEEP_LEFT);
        if (stmt == NULL || names == NULL)
            return database_sweep_failed(s);
        hf_stmt_int(stmt, 1, i == 0 ? now_us : now_us - HF_KEEP_US);
        hf_stmt_int(stmt, 2, (int64_t)limit);
        if (i == 0)
            database_sweep_read_spent(work, stmt, names, &last);
        else
            database_sweep_read_names(work, stmt, names);
    }
    if (names->count == 0)
        return database_sweep_failed(s);
    database_queue_begin(work);
    database_queue_anchors(work, names);
    database_queue(work, SQL_DO_LOCKS, names);
    database_send(work);
    database_judge_anchors(work, names);
    size_t room = limit;
    for (hf_resource_row *row = rows->resources; row != NULL; row = row->next)
        s->passed += database_sweep_keep_spent(row, now_us, &last, &room);
    if (room == limit && database_sweep_failed(s) == HF_OK)
        database_undo(work);
    return database_sweep_failed(s);
}

static hf_status database_sweep_save(void *context, hf_rows *rows, int64_t now_us, hf_error *err)
{
    sweep *s = context;
    (void)rows;
    (void)err;
    s->work->now_us = now_us;
    database_save(s->work);
    return database_sweep_failed(s);
}

/* ---- what has been over for a day ---- */

static hf_status database_sweep_drop_sessions(void *context, int64_t before_us, size_t limit,
                                              size_t *dropped, hf_error *err)
{
    sweep *s = context;
    database_work *work = s->work;
    sql_conn *conn = work->conn;
    (void)err;
    if (!hf_rows_reset(&conn->rows, 64))
        sql_out_of_memory(conn);
    hf_list *ids = database_list(work, "t"), *gone = database_list(work, "t");
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_SWEEP_OLD);
    if (stmt == NULL || ids == NULL || gone == NULL)
        return database_sweep_failed(s);
    hf_stmt_int(stmt, 1, before_us);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    while (sql_next(conn, stmt))
        database_sweep_add_id(ids, hf_stmt_column_text(stmt, 0), &conn->rows.arena);
    if (ids->count == 0)
        return database_sweep_failed(s);
    database_queue_begin(work);
    database_queue(work, SQL_DO_SESSIONS_LOCK, ids);
    database_send(work);
    for (const hf_session_row *row = conn->rows.sessions; row != NULL; row = row->next)
        if (row->locked)
            database_sweep_add_id(gone, (hf_slice){row->id, HF_SESSION_ID_MAX}, &conn->rows.arena);
    database_queue(work, SQL_DO_SESSIONS_LOST_DELETE, gone);
    database_queue(work, SQL_DO_SESSIONS_REQUESTS_DELETE, gone);
    database_queue(work, SQL_DO_SESSIONS_DELETE, gone);
    database_queue_end(work);
    database_send(work);
    *dropped = gone->count;
    s->passed += ids->count - gone->count;
    return database_sweep_failed(s);
}

static hf_status database_sweep_drop_past(void *context, int64_t before_us, size_t limit,
                                          size_t *dropped, hf_error *err)
{
    sweep *s = context;
    database_work *work = s->work;
    hf_stmt *stmt = sql_stmt(work->conn, SQL_DO_SWEEP_PAST);
    (void)err;
    if (stmt == NULL)
        return database_sweep_failed(s);
    hf_stmt_int(stmt, 1, before_us);
    hf_stmt_int(stmt, 2, (int64_t)limit);
    work->rows_count = 0;
    database_queue_begin(work);
    database_queue(work, SQL_DO_SWEEP_PAST, NULL);
    database_queue_end(work);
    database_send(work);
    *dropped = work->conn->status == HF_OK ? (size_t)work->rows_count : 0;
    return database_sweep_failed(s);
}

static void database_sweep_read_meta(sql_conn *conn, const char *name, char *out, size_t size)
{
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_META_GET);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(name));
    while (sql_next(conn, stmt))
        sql_text(stmt, 0, out, size);
}

/* Type and id are two values, since a value of meta may be too short for both. The version before
 * keeps "type/id" in the first, and begins anew when it finds no slash there. */
static void database_sweep_read_swept_to(sql_conn *conn, hf_resource *out)
{
    char name[HF_RESOURCE_SIZE] = "";
    database_sweep_read_meta(conn, "swept_to", name, sizeof name);
    memset(out, 0, sizeof *out);
    if (strchr(name, '/') != NULL) {
        if (hf_resource_parse(name, out, NULL) != HF_OK)
            memset(out, 0, sizeof *out);
    } else if (name[0] != '\0') {
        hf_slice_copy(out->type, sizeof out->type, hf_slice_of(name));
        database_sweep_read_meta(conn, "swept_to_id", out->id, sizeof out->id);
    }
}

static void database_sweep_queue_meta(database_work *work, int which, const char *name,
                                      const char *value)
{
    hf_stmt *stmt = sql_stmt(work->conn, which);
    if (stmt == NULL)
        return;
    hf_stmt_text(stmt, 1, hf_slice_of(name == NULL ? value : name));
    if (name != NULL)
        hf_stmt_text(stmt, 2, hf_slice_of(value));
    database_queue(work, which, NULL);
}

/* "/" is the beginning. In the transaction that is open; one value at a time, since a statement is
 * queued once at a time. */
static void database_sweep_write_swept_to(database_work *work, const hf_resource *to)
{
    if (to->type[0] != '\0') {
        database_sweep_queue_meta(work, SQL_DO_META_SET, "swept_to_id", to->id);
        database_send(work);
    }
    database_sweep_queue_meta(work, SQL_DO_META_SET, "swept_to",
                              to->type[0] != '\0' ? to->type : "/");
}

/* The anchors after `at` in canonical order, at most so many: the free ones on the list. *at
 * becomes the last one looked at. */
static hf_list *database_sweep_look_at_anchors(database_work *work, int64_t before_us, size_t limit,
                                               hf_resource *at, bool *end)
{
    sql_conn *conn = work->conn;
    hf_list *list = database_list(work, "tt");
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_SWEEP_ANCHORS);
    size_t looked = 0;
    if (stmt == NULL || list == NULL)
        return NULL;
    hf_stmt_int(stmt, 1, before_us);
    sql_bind_from(stmt, 2, at->type);
    sql_bind_from(stmt, 3, at->id);
    hf_stmt_int(stmt, 4, (int64_t)limit + 1);
    hf_stmt_int(stmt, 5, before_us + HF_KEEP_US - HF_KEEP_GONE_US);
    hf_resource last = *at;
    *end = true;
    while (sql_next(conn, stmt)) {
        if (looked++ == limit) {
            *end = false;
            continue;
        }
        memset(&last, 0, sizeof last);
        sql_text(stmt, 0, last.type, sizeof last.type);
        sql_text(stmt, 1, last.id, sizeof last.id);
        if (hf_stmt_column_int(stmt, 2) != 0)
            database_add_name(list, sql_keep(conn, &conn->rows, stmt, 0),
                              sql_keep(conn, &conn->rows, stmt, 1));
    }
    *at = last;
    return list;
}

/* Which of some that are locked are free still; *floor becomes the highest of their fences, if it
 * is not higher. */
static void database_sweep_find_free(database_work *work, const hf_list *list, int64_t before_us,
                                     hf_list *gone, int64_t *floor)
{
    sql_conn *conn = work->conn;
    hf_stmt *stmt = sql_stmt(conn, SQL_DO_SWEEP_FREE);
    if (stmt == NULL)
        return;
    hf_stmt_list(stmt, 1, list);
    hf_stmt_int(stmt, 3, before_us);
    hf_stmt_int(stmt, 4, before_us + HF_KEEP_US - HF_KEEP_GONE_US);
    while (sql_next(conn, stmt)) {
        hf_resource_row *row = hf_rows_resource(&conn->rows, hf_stmt_column_text(stmt, 0),
                                                hf_stmt_column_text(stmt, 1), true);
        if (row == NULL || !row->locked || !row->stored)
            continue;
        database_add_name(gone, row->type, row->id);
        *floor = hf_stmt_column_int(stmt, 2) > *floor ? hf_stmt_column_int(stmt, 2) : *floor;
    }
}

/* Locks them, looks again, and deletes those that are free still; then no fence up to theirs is
 * ever given again. */
static size_t database_sweep_delete_free(database_work *work, const hf_list *list,
                                         int64_t before_us)
{
    hf_list *gone = database_list(work, "tt");
    char floor_text[24];
    int64_t floor = 0;
    if (list->count == 0 || gone == NULL)
        return 0;
    database_queue_anchors(work, list);
    database_send(work);
    database_judge_anchors(work, list);
    for (size_t from = 0; from < list->count && work->conn->status == HF_OK;) {
        const hf_list *part = database_part(work, list, &from);
        if (part == NULL)
            return 0;
        database_sweep_find_free(work, part, before_us, gone, &floor);
    }
    snprintf(floor_text, sizeof floor_text, "%lld", (long long)floor);
    if (gone->count > 0)
        database_sweep_queue_meta(work, SQL_DO_FLOOR_RAISE, NULL, floor_text);
    database_queue(work, SQL_DO_ANCHORS_DELETE, gone);
    database_send(work);
    return gone->count;
}

static hf_status database_sweep_drop_anchors(void *context, int64_t before_us, size_t limit,
                                             size_t *dropped, bool *end, hf_error *err)
{
    sweep *s = context;
    database_work *work = s->work;
    sql_conn *conn = work->conn;
    hf_resource at, before;
    (void)err;
    if (!hf_rows_reset(&conn->rows, 64))
        sql_out_of_memory(conn);
    database_sweep_read_swept_to(conn, &at);
    before = at;
    hf_list *list = database_sweep_look_at_anchors(work, before_us, limit, &at, end);
    if (*end)
        at = (hf_resource){"", ""};
    if (list == NULL || (list->count == 0 && hf_resource_compare(&at, &before) == 0))
        return database_sweep_failed(s);
    database_queue_begin(work);
    database_send(work);
    *dropped = database_sweep_delete_free(work, list, before_us);
    database_sweep_write_swept_to(work, &at);
    database_queue_end(work);
    database_send(work);
    return database_sweep_failed(s);
}

/* ---- old events ---- */

/* Only what has a number is looked at, so that no reader misses one that it was never shown. */
static hf_status database_sweep_event_marks(void *context, hf_event_marks *out, hf_error *err)
{
    sweep *s = context;
    sql_conn *conn = s->work->conn;
    (void)err;
    database_number_events(s->work);
    out->last = sql_number(conn, SQL_DO_EVENTS_LAST);
    out->from = sql_meta_number(conn, SQL_DO_META_GET, "events_from");
    out->swept = sql_meta_number(conn, SQL_DO_META_GET, "events_swept");
    return database_sweep_failed(s);
}

static hf_status database_sweep_read_events(void *context, hf_sweep_events *walk, hf_error *err)
{
    sweep *s = context;
    (void)err;
    sql_read_old_events(s->work->conn, SQL_DO_SWEEP_EVENTS, walk);
    return database_sweep_failed(s);
}

static void database_sweep_raise_mark(database_work *work, const char *name, int64_t to)
{
    char text[24];
    hf_stmt *stmt = to == 0 ? NULL : sql_stmt(work->conn, SQL_DO_META_RAISE);
    if (stmt == NULL)
        return;
    snprintf(text, sizeof text, "%lld", (long long)to);
    hf_stmt_text(stmt, 1, hf_slice_of(name));
    hf_stmt_text(stmt, 2, hf_slice_of(text));
    sql_run(work->conn, stmt);
}

static hf_status database_sweep_drop_events(void *context, const hf_old_event *gone, size_t count,
                                            const hf_event_marks *marks, hf_error *err)
{
    sweep *s = context;
    database_work *work = s->work;
    hf_list *ids = database_list(work, "i");
    (void)err;
    for (size_t i = 0; ids != NULL && i < count; i++) {
        hf_value *row = hf_list_add(ids);
        if (row != NULL)
            hf_set_int(row, gone[i].id);
    }
    if (ids == NULL)
        return database_sweep_failed(s);
    database_queue_begin(work);
    database_send(work);
    database_sweep_raise_mark(work, "events_from", marks->from);
    database_sweep_raise_mark(work, "events_swept", marks->swept);
    database_queue(work, SQL_DO_EVENTS_DELETE, ids);
    database_queue_end(work);
    database_send(work);
    return database_sweep_failed(s);
}

static const hf_sweep_ops sweep_ops = {
    database_sweep_load_dead,     database_sweep_load_spent,  database_sweep_save,
    database_sweep_drop_sessions, database_sweep_drop_past,   database_sweep_drop_anchors,
    database_sweep_event_marks,   database_sweep_read_events, database_sweep_drop_events};

/* The time is read once: what dies meanwhile is for the next sweep. In an application's transaction
 * an old snapshot may show as dead what lives: a lock that was renewed since, an anchor that was
 * taken. */
void database_do_sweep(database_work *work, hf_op *op)
{
    if (work->nested) {
        op->answer.status = HF_INVALID;
        op->answer.message =
            "In a transaction it can't be told what is dead; sweep outside of one.";
        return;
    }
    sweep s = {.work = work, .after_us = INT64_MIN};
    int64_t now_us = work->now_us;
    sql_conn *conn = work->conn;
    hf_status status = hf_sweep(&s, &sweep_ops, &conn->rows, op, now_us, conn->err);
    if (conn->status == HF_OK)
        conn->status = status;
    work->now_us = now_us;
    /* Each further call removes something: who calls while there is more comes to an end. */
    op->answer.passed = s.passed;
    op->answer.more |= s.passed > 0 && op->answer.swept > 0;
}
