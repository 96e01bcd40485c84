/* SPDX-License-Identifier: MIT */
/* What the files of the PostgreSQL driver share. Statements are sent in flights: all that was
 * queued, then one sync, in libpq's pipeline mode (a single one without it). A flight is read to
 * its end before the call returns, so that nothing is ever left over on the connection; the results
 * wait in their statements. */
#ifndef HF_DB_POSTGRES_INSIDE_H
#define HF_DB_POSTGRES_INSIDE_H

#include "base/error.h"
#include "db/driver.h"
#include "db/postgres.h"

#include <libpq-fe.h>

typedef struct pg_stmt pg_stmt;

typedef struct pg_db {
    hf_db base;
    PGconn *conn;
    bool borrowed; /* the application's */
    bool unnamed;  /* named statements would not be found again, or would be left behind */
    bool dead;
    bool unreplicated; /* the wait for a standby was cancelled, in this flight */
    int64_t timeout_us;
    unsigned names;         /* drawn for prepared statements so far */
    pg_stmt *stmts;         /* all of the connection */
    pg_stmt *queued, **end; /* to be sent; where the next one goes */
    char *bytes;            /* parameters on their way, of one statement at a time */
    size_t room;
    hf_error error; /* what the last flight that failed has come to */
    char path[512];
} pg_db;

typedef enum pg_state {
    PG_READY,
    PG_QUEUED, /* in the list of the connection */
    PG_DONE,   /* its result is here */
    PG_FAILED  /* with the error of the connection */
} pg_state;

/* A text the server sees. A statement that takes lists has a second one for lists of one row: its
 * parameters are the values themselves, which costs the server half. */
typedef struct pg_form {
    char *sql;
    bool used;     /* before: it is worth a name */
    bool prepared; /* under its name, with these types */
    char name[16];
    int types_count;
    Oid *types; /* as many as the statement has parameters */
} pg_form;

struct pg_stmt {
    hf_stmt base;
    pg_stmt *following, **whence; /* among all of the connection */
    pg_stmt *next;                /* in its flight */
    char *sql;
    pg_state state;
    bool commit;      /* it is COMMIT */
    bool named;       /* in this flight: it is called by its name */
    bool preparing;   /* in this flight */
    bool handed;      /* to libpq, in this flight; the server may have seen it */
    pg_form *form;    /* the one in use */
    pg_form forms[2]; /* for lists of any size; for lists of one row (sql is NULL: there is none) */
    hf_params params;
    PGresult *result;
    int row; /* from -1 */
    int64_t changed;
    char digits[4][24]; /* numbers that were asked for as text */
};

static inline pg_db *pg_of(hf_db *db)
{
    return (pg_db *)db;
}

static inline pg_stmt *pg_stmt_of(hf_stmt *stmt)
{
    return (pg_stmt *)stmt;
}

/* ---- postgres_connect.c ---- */

hf_status pg_connect(const char *url, const hf_db_options *options, hf_db **out, hf_error *err);
void pg_close(hf_db *db);

/* Whether an application's connection is as postgres.h wants it. */
hf_status pg_check_borrowed(PGconn *conn, bool rolling_back, hf_error *err);

/* ---- postgres_flight.c ---- */

int64_t pg_deadline(int64_t timeout_us);

/* Waits until the socket can be read (or written). False: not before the deadline. */
bool pg_wait(PGconn *conn, short events, int64_t deadline_us);

/* Sends these statements (a list by `next`) and takes their results. Not HF_OK: nothing was sent.
 * Otherwise each statement is done or failed. */
hf_status pg_fly(pg_db *db, pg_stmt *first, hf_error *err);

/* Runs SQL text, several statements. */
hf_status pg_run(pg_db *db, const char *sql, int64_t deadline_us, hf_error *err);

/* ---- postgres_values.c ---- */

/* Parameters as libpq takes them; all binary. */
typedef struct pg_values {
    int count;
    Oid types[HF_PARAMS_MAX + HF_LIST_COLUMNS_MAX];
    const char *at[HF_PARAMS_MAX + HF_LIST_COLUMNS_MAX];
    int sizes[HF_PARAMS_MAX + HF_LIST_COLUMNS_MAX];
    int formats[HF_PARAMS_MAX + HF_LIST_COLUMNS_MAX];
} pg_values;

/* Makes room for the parameters of a statement, or says why they can't be sent. */
hf_status pg_make_room(pg_db *db, const hf_params *params, hf_error *err);

/* Whether each of its lists has one row, or none. */
bool pg_is_single(const hf_params *params);

/* The text for lists of one row: unnest($1, $2) becomes (SELECT $1, $2), and ANY ($1) becomes $1.
 * *out is NULL when the statement takes no lists (hf_free it). False: memory is out. */
bool pg_single_text(const char *sql, char **out);

/* Writes them, into room that was made. They stay good until the next are written. */
void pg_encode(pg_db *db, const hf_params *params, bool single, pg_values *out);

/* ---- postgres_errors.c ---- */

/* What an error of the server comes to: its status, with a sentence, and the connection's failure.
 * `named`: of a statement that was prepared earlier. */
hf_status pg_refused(pg_db *db, const PGresult *result, bool named, hf_error *err);

/* In a transaction that has failed only a rollback makes sense. */
hf_status pg_roll_back_first(pg_db *db, hf_error *err);

/* The answer did not come: in time (late), or the connection was lost. `unsure`: with a COMMIT on
 * its way. */
hf_status pg_lost(pg_db *db, bool late, bool unsure, hf_error *err);

/* A COMMIT was done on this server, and is on no standby. */
hf_status pg_unreplicated(pg_db *db, hf_error *err);

/* The connection could not be made. */
hf_status pg_unconnected(PGconn *conn, bool late, int64_t timeout_us, hf_error *err);

/* Whether another host of the URL is to be tried after this one failed, as libpq does by itself: it
 * did not answer, is not the kind that is wanted (target_session_attrs) or takes nobody just now;
 * not when it refused. */
bool pg_next_may_do(PGconn *conn);

/* Who and where, for a sentence: "the database NAME on HOST". */
void pg_describe(PGconn *conn, char *out, size_t size);

/* Whether the message closes the connection; whether it comes from the server itself and not from a
 * pooler in front of it. */
bool pg_is_fatal(const PGresult *result);
bool pg_is_servers_own(const PGresult *result);

#endif
