/* SPDX-License-Identifier: MIT */
/* Flights: sending statements and taking what they come to.
 *
 * F1  When a call returns, everything that was sent has been answered and read, or the connection
 *     is lost.
 * F2  One fails, and none after it is carried out: the server stops there, and on an application's
 *     connection we do. All after it fail alike.
 * F3  Once a COMMIT was sent and may have arrived, a connection lost before its answer makes
 *     everything unanswered HF_UNSURE. */
#include "db/mysql_inside.h"

/* ---- sending ---- */

/* What keeps anything from being sent; in db->error. */
static bool mysql_flight_is_usable(my_db *db, bool rolls_back)
{
    if (db->lost) {
        db->base.failure = HF_FAILURE_LOST;
        hf_error_set(&db->error, HF_UNAVAILABLE,
                     "The connection to %s was lost before; open another.", db->path);
        return false;
    }
    if (my_is_rolled_back(db) && !rolls_back) {
        db->base.failure = HF_FAILURE_CONFLICT;
        hf_error_set(&db->error, HF_RETRY,
                     "The server has rolled back the transaction in %s (error %u: %s); roll it "
                     "back and run it again.",
                     db->path, mysql_errno(db->conn), mysql_error(db->conn));
        return false;
    }
    if (db->text.failed) {
        db->base.failure = HF_FAILURE_OTHER;
        hf_fail_memory(&db->error);
        return false;
    }
    return true;
}

/* What was sent, and where we are in its answers. */
typedef struct flight {
    my_db *db;
    my_hush hush;
    bool at_hand; /* the next answer has come already, with the call that sent */
    bool failed;  /* mysql_errno says why */
} flight;

/* Sends db->text. False: nothing was sent. */
static bool mysql_flight_begin(flight *it, my_db *db, bool rolls_back)
{
    *it = (flight){.db = db, .at_hand = true};
    if (!mysql_flight_is_usable(db, rolls_back))
        return false;
    my_hush_begin(db->conn, &it->hush);
    it->failed = mysql_real_query(db->conn, db->text.text, (unsigned long)db->text.size) != 0;
    return true;
}

/* Goes on to the next answer. False: it is an error. */
static bool mysql_flight_go_on(flight *it)
{
    if (!it->at_hand && !it->failed)
        it->failed = mysql_next_result(it->db->conn) != 0;
    it->at_hand = false;
    return !it->failed;
}

/* The rows of the answer at hand; NULL when it has none, or failed. */
static MYSQL_RES *mysql_flight_rows_of(flight *it)
{
    MYSQL_RES *rows = mysql_store_result(it->db->conn);
    it->failed = rows == NULL && mysql_field_count(it->db->conn) > 0;
    return rows;
}

/* ---- statements ---- */

/* The first number an UPDATE is said to have come to, in whatever language, is of the rows it
 * found. */
static int64_t found_rows(MYSQL *conn)
{
    const char *info = mysql_info(conn);
    info = info == NULL ? "" : info + strcspn(info, "0123456789");
    int64_t found = 0;
    for (; *info >= '0' && *info <= '9' && found < INT64_MAX / 10 - 9; info++)
        found = found * 10 + (*info - '0');
    return found;
}

/* Keeps the answer at hand, if it is the first with rows. */
static bool mysql_flight_keep(flight *it, my_stmt *stmt)
{
    MYSQL *conn = it->db->conn;
    MYSQL_RES *rows = mysql_flight_rows_of(it);
    if (it->failed)
        return false;
    stmt->changed = (int64_t)mysql_affected_rows(conn);
    stmt->made_key = (int64_t)mysql_insert_id(conn);
    if (stmt->parsed.verb == MY_UPDATE && (conn->client_flag & CLIENT_FOUND_ROWS) == 0)
        stmt->changed = found_rows(conn);
    if (stmt->result != NULL || rows == NULL) {
        mysql_free_result(rows);
        return true;
    }
    stmt->result = rows;
    stmt->columns = mysql_num_fields(rows);
    return true;
}

/* Takes all that a statement comes to: one answer; of a CALL the rows of its statements, then an
 * answer without any. */
static bool mysql_flight_take(flight *it, my_stmt *stmt, bool last)
{
    MYSQL *conn = it->db->conn;
    do {
        if (!mysql_flight_go_on(it) || !mysql_flight_keep(it, stmt))
            return false;
    } while (mysql_more_results(conn) &&
             (last || (stmt->parsed.verb == MY_CALL && mysql_field_count(conn) > 0)));
    stmt->state = MY_STMT_DONE;
    return true;
}

void my_drop_result(my_stmt *stmt)
{
    mysql_free_result(stmt->result);
    stmt->result = NULL;
    stmt->row = NULL;
    stmt->columns = 0;
    stmt->changed = 0;
    stmt->unsent = false;
}

static bool has_commit(const my_stmt *stmt)
{
    for (; stmt != NULL; stmt = stmt->next)
        if (stmt->parsed.verb == MY_COMMIT)
            return true;
    return false;
}

/* This one and all after it. */
static void fail_all(my_db *db, my_stmt *stmt, bool unsent)
{
    for (; stmt != NULL; stmt = stmt->next) {
        my_drop_result(stmt);
        stmt->state = MY_STMT_FAILED;
        stmt->unsent = unsent;
        stmt->failure = db->base.failure;
    }
}

/* Takes the answers to the statements up to `until`. False: one of them failed. */
static bool take_all(flight *it, my_stmt *stmt, const my_stmt *until)
{
    for (; stmt != until; stmt = stmt->next) {
        if (mysql_flight_take(it, stmt, stmt->next == until))
            continue;
        my_failed(it->db, stmt->parsed.verb == MY_COMMIT,
                  stmt->next != until && has_commit(stmt->next));
        fail_all(it->db, stmt, false);
        return false;
    }
    return true;
}

/* One query of the statements up to `until`. False: one of them failed, and all after it. */
static bool fly_up_to(my_db *db, my_stmt *first, const my_stmt *until)
{
    flight it;
    bool rolls_back = first->parsed.rolls_back;
    my_begin_text(&db->text);
    for (my_stmt *stmt = first; stmt != until; stmt = stmt->next) {
        if (stmt != first)
            my_add_text(&db->text, (hf_slice){";", 1});
        my_write(&db->text, &stmt->parsed, &stmt->params);
    }
    if (!mysql_flight_begin(&it, db, rolls_back)) {
        fail_all(db, first, true);
        return false;
    }
    bool good = take_all(&it, first, until);
    my_hush_end(&it.hush);
    return good;
}

void my_fly(my_db *db, my_stmt *first)
{
    if (db->target != NULL) {
        fly_up_to(db, first, NULL);
        return;
    }
    for (my_stmt *stmt = first; stmt != NULL && fly_up_to(db, stmt, stmt->next);)
        stmt = stmt->next;
}

/* ---- text ---- */

/* Passes over the answers to db->text, of which the one to a COMMIT is number `commit` (from 0; -1:
 * none). False: it failed. */
static bool mysql_flight_run_text(my_db *db, bool rolls_back, int commit)
{
    flight it;
    if (!mysql_flight_begin(&it, db, rolls_back))
        return false;
    int answered = 0;
    for (bool more = true; more && mysql_flight_go_on(&it);) {
        mysql_free_result(mysql_flight_rows_of(&it));
        answered += !it.failed;
        more = !it.failed && mysql_more_results(db->conn);
    }
    if (it.failed)
        my_failed(db, answered == commit, answered < commit);
    my_hush_end(&it.hush);
    return !it.failed;
}

hf_status my_run(my_db *db, const char *sql)
{
    hf_slice statement;
    bool good = true, rolls_back = false;
    int count = 0, commit = -1;
    my_begin_text(&db->text);
    while (good && my_split(&sql, &statement)) {
        my_verb verb = my_verb_of(statement);
        if (verb == MY_COMMIT)
            commit = count;
        rolls_back = my_rolls_back(statement);
        if (count++ > 0)
            my_add_text(&db->text, (hf_slice){";", 1});
        my_add_text(&db->text, statement);
        if (db->target != NULL)
            continue;
        good = mysql_flight_run_text(db, rolls_back, commit);
        my_begin_text(&db->text);
        count = 0;
        commit = -1;
    }
    if (count > 0)
        good = mysql_flight_run_text(db, rolls_back, commit);
    return good ? HF_OK : db->error.status;
}
