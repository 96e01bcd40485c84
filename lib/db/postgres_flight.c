/* SPDX-License-Identifier: MIT */
/* Sending and taking answers, never longer than the connection's timeout. What it keeps to:
 *
 *   F1  libpq is never asked to block: it writes into its own memory, and while that drains to the
 *       server answers are read, so that two full sockets never wait for each other.
 *   F2  A flight is read up to its sync, whatever fails in it: the next statement finds the
 *       connection clean, or dead.
 *   F3  When answers are missing and a COMMIT that may have been seen is among what was not
 *       answered, the flight is unsure; otherwise it was not done. An error of the server, even the
 *       one with which it closes the connection, is the answer of the statement it comes for:
 *       nothing after that statement was carried out. A pooler's message is no such answer, as it
 *       may hide those of the server. What was sent outside a transaction and is not answered is
 *       told as not done, though it may have been: whoever must know puts it into a transaction.
 *   F4  A COMMIT for which the server has stopped waiting for its synchronous standby comes with a
 *       warning and no error; it is unsure. On an application's connection the application hears
 *       the warning. */
#include "base/seams.h"
#include "db/postgres_inside.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define KEEP_MAX ((size_t)1 << 20) /* a larger buffer for values is given back after its flight */

typedef struct pg_flight {
    pg_db *db;
    int64_t deadline_us;
    pg_stmt *at;    /* whose answer is next; NULL: that of the sync, or of SQL text */
    bool text;      /* SQL text and not statements */
    bool alone;     /* one statement, without pipeline mode */
    bool commit;    /* SQL text that ends in COMMIT */
    bool preparing; /* the next answer is that of preparing it */
    bool undone;    /* and was answered ROLLBACK last */
    bool landed;    /* all answers are here */
    bool late, lost;
    bool closing; /* the other side has said that it closes the connection */
    bool failed;  /* the error is the connection's */
} pg_flight;

/* ---- waiting ---- */

int64_t pg_deadline(int64_t timeout_us)
{
    return hf_seam.boot_us() + timeout_us;
}

bool pg_wait(PGconn *conn, short events, int64_t deadline_us)
{
    struct pollfd socket = {.fd = PQsocket(conn), .events = events};
    int64_t left_us = deadline_us - hf_seam.boot_us();
    if (left_us <= 0)
        return false;
    int64_t left_ms = (left_us + 999) / 1000;
    int got = poll(&socket, 1, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
    /* interrupted: who waits looks, and waits again */
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Under encryption libpq may hold back what it has read from the socket already, and poll would
 * never tell: it is asked once more than needed, and again every now and then. */
static bool wait_and_read(pg_flight *flight, short events)
{
    PGconn *conn = flight->db->conn;
    bool encrypted = PQsslInUse(conn) || PQgssEncInUse(conn);
    int64_t until_us = flight->deadline_us;
    if (encrypted && until_us > pg_deadline(50000))
        until_us = pg_deadline(50000);
    if (!pg_wait(conn, events, until_us) && until_us == flight->deadline_us) {
        flight->late = true;
        return false;
    }
    bool read = PQconsumeInput(conn) && (!encrypted || PQconsumeInput(conn));
    /* bad: PQgetResult tells what came before the end */
    return read || PQstatus(conn) == CONNECTION_BAD;
}

/* ---- answers ---- */

/* The server has thrown prepared statements away, or can't use them any more: all are prepared anew
 * when next used. */
static void forget_names(pg_db *db)
{
    for (pg_stmt *it = db->stmts; it != NULL; it = it->following) {
        for (int i = 0; i < 2; i++) {
            it->forms[i].prepared = false;
            it->forms[i].name[0] = '\0';
        }
    }
}

/* A statement's answer is an error. */
static void postgres_flight_refuse(pg_flight *flight, const PGresult *result)
{
    pg_db *db = flight->db;
    pg_stmt *stmt = flight->at;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool fatal = flight->closing = pg_is_fatal(result);
    if (state == NULL || (!pg_is_servers_own(result) && (fatal || strncmp(state, "08", 2) == 0))) {
        flight->lost = true;
        return;
    }
    bool committing = flight->commit || (stmt != NULL && stmt->commit && !flight->preparing);
    if (fatal && committing) {
        flight->lost = true;
        return;
    }
    bool named = stmt != NULL && stmt->form->prepared && !stmt->preparing;
    pg_refused(db, result, named, &db->error);
    flight->failed = true;
    if (named && (strcmp(state, "0A000") == 0 || strcmp(state, "26000") == 0))
        forget_names(db);
    flight->lost = fatal;
    db->dead = db->base.failure == HF_FAILURE_LOST;
}

/* COMMIT of a transaction that had failed is answered ROLLBACK, without an error. */
static bool is_undone(bool commit, PGresult *result)
{
    return commit && strcmp(PQcmdStatus(result), "ROLLBACK") == 0;
}

static void fail_undone(pg_flight *flight)
{
    pg_roll_back_first(flight->db, &flight->db->error);
    flight->failed = true;
}

static bool is_unreplicated(pg_flight *flight, bool commit)
{
    if (!commit || !flight->db->unreplicated)
        return false;
    pg_unreplicated(flight->db, &flight->db->error);
    flight->failed = true;
    return true;
}

static int64_t postgres_flight_rows_of(PGresult *result)
{
    int64_t rows = 0;
    for (const char *at = PQcmdTuples(result); *at >= '0' && *at <= '9'; at++)
        rows = rows * 10 + (*at - '0');
    return rows;
}

/* True: the result is the statement's now. */
static bool postgres_flight_keep(pg_flight *flight, PGresult *result)
{
    pg_stmt *stmt = flight->at;
    if (stmt == NULL) {
        flight->undone = is_undone(flight->commit, result);
        is_unreplicated(flight, flight->commit && flight->text);
        return false;
    }
    if (flight->preparing) {
        stmt->form->prepared = true;
        return false;
    }
    if (is_undone(stmt->commit, result)) {
        fail_undone(flight);
        return false;
    }
    if (is_unreplicated(flight, stmt->commit))
        return false;
    stmt->changed = postgres_flight_rows_of(result);
    stmt->result = result;
    stmt->row = -1;
    return true;
}

/* libpq ends the answers to each command with NULL. */
static void take_end(pg_flight *flight)
{
    if (flight->text) {
        flight->landed = true;
        if (flight->undone && !flight->failed)
            fail_undone(flight);
    } else if (flight->preparing)
        flight->preparing = false;
    else if (flight->at != NULL) {
        flight->at = flight->at->next;
        flight->preparing = flight->at != NULL && flight->at->preparing;
        flight->landed = flight->alone;
    } else
        flight->lost = true; /* never seen: the sync is not answered in that way */
}

static void postgres_flight_take(pg_flight *flight, PGresult *result)
{
    if (result == NULL) {
        take_end(flight);
        return;
    }
    switch (PQresultStatus(result)) {
    case PGRES_PIPELINE_SYNC:
        flight->landed = true;
        break;
    case PGRES_PIPELINE_ABORTED:
        break;
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        if (postgres_flight_keep(flight, result))
            return;
        break;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        flight->lost = true; /* nobody copies here; there is no simple way back */
        break;
    default:
        if (!flight->failed)
            postgres_flight_refuse(flight, result);
        else if (PQstatus(flight->db->conn) == CONNECTION_BAD)
            flight->lost = true;
    }
    PQclear(result);
}

static void postgres_flight_take_answers(pg_flight *flight)
{
    PGconn *conn = flight->db->conn;
    for (;;) {
        bool writing = PQflush(conn) == 1; /* a failure shows when the answers are read */
        while (!flight->landed && !flight->lost && !PQisBusy(conn))
            postgres_flight_take(flight, PQgetResult(conn));
        if (flight->landed || flight->lost)
            return;
        if (!wait_and_read(flight, writing ? POLLIN | POLLOUT : POLLIN)) {
            flight->lost = true;
            return;
        }
    }
}

/* F3. */
static bool is_unsure(const pg_flight *flight)
{
    if (flight->text)
        return flight->commit;
    for (const pg_stmt *it = flight->at; it != NULL; it = it->next)
        if (it->commit && it->handed && it->result == NULL)
            return true;
    return false;
}

static void postgres_flight_settle(pg_flight *flight)
{
    pg_db *db = flight->db;
    if (!flight->lost)
        return;
    if (!flight->failed && (flight->text || flight->at != NULL)) {
        pg_lost(db, flight->late, is_unsure(flight), &db->error);
        flight->failed = true;
    }
    db->dead = true;
    /* Reads up to the end, for an application to see that its connection is bad. */
    while (flight->closing && PQstatus(db->conn) == CONNECTION_OK &&
           pg_wait(db->conn, POLLIN, flight->deadline_us) && PQconsumeInput(db->conn))
        continue;
}

/* ---- statements ---- */

/* Whether the connection can take something now; of an application's own, whether it is as it was
 * promised to be. */
static hf_status check_connection(pg_db *db, bool rolling_back, hf_error *err)
{
    if (db->dead || PQstatus(db->conn) != CONNECTION_OK) {
        db->dead = true;
        return pg_lost(db, false, false, err);
    }
    if (!db->borrowed)
        return HF_OK;
    db->base.failure = HF_FAILURE_OTHER;
    return pg_check_borrowed(db->conn, rolling_back, err);
}

static hf_status prepare_flight(pg_db *db, const pg_stmt *first, hf_error *err)
{
    bool rolling_back = db->borrowed && strncasecmp(first->sql, "ROLLBACK", 8) == 0;
    hf_status status = check_connection(db, rolling_back, err);
    for (const pg_stmt *it = first; status == HF_OK && it != NULL; it = it->next)
        status = pg_make_room(db, &it->params, err);
    return status;
}

static bool same_types(const pg_form *form, const pg_values *values)
{
    return form->types_count == values->count &&
           memcmp(form->types, values->types, (size_t)values->count * sizeof(Oid)) == 0;
}

/* What is used a second time gets a name: most statements of one use are gone after it. */
static void choose_form(const pg_db *db, pg_stmt *stmt)
{
    bool single = stmt->forms[1].sql != NULL && pg_is_single(&stmt->params);
    stmt->form = &stmt->forms[single];
    stmt->named = stmt->form->used && !db->unnamed;
    stmt->preparing = stmt->named && !stmt->form->prepared;
}

static bool postgres_flight_hand_over(pg_db *db, pg_stmt *stmt)
{
    pg_values values;
    pg_form *form = stmt->form;
    pg_encode(db, &stmt->params, form == &stmt->forms[1], &values);
    form->used = stmt->handed = true;
    if (stmt->preparing) {
        if (form->name[0] == '\0')
            snprintf(form->name, sizeof form->name, "hf_%u", ++db->names);
        form->types_count = values.count;
        memcpy(form->types, values.types, (size_t)values.count * sizeof(Oid));
        if (!PQsendPrepare(db->conn, form->name, form->sql, values.count, values.types))
            return false;
    }
    if (stmt->named && same_types(form, &values))
        return PQsendQueryPrepared(db->conn, form->name, values.count, values.at, values.sizes,
                                   values.formats, 1);
    return PQsendQueryParams(db->conn, form->sql, values.count, values.types, values.at,
                             values.sizes, values.formats, 1);
}

/* One statement that is not to be prepared brings its sync along: libpq has less to do for it
 * without pipeline mode. */
static void postgres_flight_fly(pg_flight *flight, pg_stmt *first)
{
    PGconn *conn = flight->db->conn;
    for (pg_stmt *it = first; it != NULL; it = it->next)
        choose_form(flight->db, it);
    flight->preparing = first->preparing;
    flight->alone = first->next == NULL && !first->preparing;
    bool handed = flight->alone || PQenterPipelineMode(conn);
    for (pg_stmt *it = first; handed && it != NULL; it = it->next)
        handed = postgres_flight_hand_over(flight->db, it);
    if (handed && (flight->alone || PQpipelineSync(conn)))
        postgres_flight_take_answers(flight);
    else
        flight->lost = true;
    postgres_flight_settle(flight);
    if (flight->landed && !flight->alone)
        PQexitPipelineMode(conn);
}

/* What ends by itself is committed after its answer: only then is it known. */
static void postgres_flight_unreplicated(pg_flight *flight, pg_stmt *first)
{
    if (flight->failed || !is_unreplicated(flight, true))
        return;
    for (pg_stmt *it = first; it != NULL; it = it->next) {
        PQclear(it->result);
        it->result = NULL;
    }
}

hf_status pg_fly(pg_db *db, pg_stmt *first, hf_error *err)
{
    assert(first != NULL);
    for (pg_stmt *it = first; it != NULL; it = it->next) {
        it->preparing = it->handed = false;
        it->state = PG_FAILED;
    }
    hf_status status = prepare_flight(db, first, &db->error);
    if (status != HF_OK) {
        if (err != NULL)
            *err = db->error;
        return status;
    }
    pg_flight flight = {.db = db, .deadline_us = pg_deadline(db->timeout_us), .at = first};
    db->unreplicated = false;
    bool blocking = !PQisnonblocking(db->conn);
    if (blocking)
        PQsetnonblocking(db->conn, 1);
    postgres_flight_fly(&flight, first);
    if (blocking)
        PQsetnonblocking(db->conn, 0);
    postgres_flight_unreplicated(&flight, first);
    for (pg_stmt *it = first; it != NULL; it = it->next)
        if (it->result != NULL)
            it->state = PG_DONE;
    if (db->room > KEEP_MAX) {
        hf_free(db->bytes);
        db->bytes = NULL;
        db->room = 0;
    }
    return HF_OK;
}

/* ---- SQL text ---- */

static bool ends_in_commit(const char *sql)
{
    size_t size = strlen(sql);
    while (size > 0 && strchr("; \t\r\n", sql[size - 1]) != NULL)
        size--;
    return size >= 6 && strncasecmp(sql + size - 6, "COMMIT", 6) == 0;
}

hf_status pg_run(pg_db *db, const char *sql, int64_t deadline_us, hf_error *err)
{
    hf_status status = check_connection(db, true, err);
    if (status != HF_OK)
        return status;
    pg_flight flight = {
        .db = db, .deadline_us = deadline_us, .text = true, .commit = ends_in_commit(sql)};
    db->unreplicated = false;
    bool blocking = !PQisnonblocking(db->conn);
    if (blocking)
        PQsetnonblocking(db->conn, 1);
    if (PQsendQuery(db->conn, sql))
        postgres_flight_take_answers(&flight);
    else
        flight.lost = true;
    postgres_flight_settle(&flight);
    if (blocking)
        PQsetnonblocking(db->conn, 0);
    if (!flight.failed)
        return HF_OK;
    if (err != NULL)
        *err = db->error;
    return db->error.status;
}
