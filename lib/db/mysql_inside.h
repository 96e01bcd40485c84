/* SPDX-License-Identifier: MIT */
/* What the files of the MySQL driver share. Statements are text with literals in it. They are sent
 * in flights: all that was queued in one query (on an application's connection: one after the
 * other). A flight is read to its end before the call returns, so that nothing is ever left over on
 * the connection; the results wait in their statements. */
#ifndef HF_DB_MYSQL_INSIDE_H
#define HF_DB_MYSQL_INSIDE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/driver.h"
#include "db/mysql.h"

#include <mysql.h>
#include <signal.h>

typedef struct my_stmt my_stmt;
typedef struct my_db my_db;

/* Where to connect to, and as whom. */
typedef struct my_target {
    /* NULL: not given */
    char *user, *password, *host, *database, *socket, *ssl_ca, *ssl_cert, *ssl_key;
    /* 0: the usual */
    unsigned port;
    bool tls, tls_verify;
    unsigned connect_s, timeout_s;
    char path[512]; /* "the database NAME on HOST" */
} my_target;

struct my_db {
    hf_db base;
    MYSQL *conn;
    my_target *target; /* NULL: the connection is the application's */
    bool lost;
    my_stmt *queued; /* to be sent ... */
    my_stmt **end;   /* ... and where the next one goes */
    hf_buffer text;  /* what is sent */
    hf_error error;  /* what the last flight that failed has come to */
    char path[512];
};

/* ---- mysql_text.c: statements as text ---- */

/* What a statement is, as far as it matters, by its first word. */
typedef enum my_verb { MY_OTHER, MY_COMMIT, MY_ROLLBACK, MY_CALL, MY_UPDATE } my_verb;

typedef enum my_piece_kind {
    MY_TEXT,  /* text */
    MY_VALUE, /* $1 */
    MY_ROWS,  /* $1* */
    MY_MATCH, /* $1(type, id): so many names follow */
    MY_TABLE, /* $1[type, id]: the same */
    MY_NAME,
} my_piece_kind;

typedef struct my_piece {
    my_piece_kind kind;
    hf_slice text;
    int param;
    size_t names;
} my_piece;

/* A statement's text, taken apart once. */
typedef struct my_parsed {
    char *sql;
    my_piece *pieces; /* slices of sql */
    size_t count;
    my_verb verb;
    bool rolls_back; /* it is ROLLBACK, and not TO a savepoint */
} my_parsed;

hf_status my_parse(const char *sql, my_parsed *out, hf_error *err);
void my_parsed_done(my_parsed *parsed);

/* Writing what is sent: begin, then add; what fails sticks in `out`. It ends in no NUL. */
void my_begin_text(hf_buffer *out);
void my_add_text(hf_buffer *out, hf_slice text);

/* Adds the statement with its parameters. */
void my_write(hf_buffer *out, const my_parsed *parsed, const hf_params *params);

/* The next statement of several that are joined by ";", without comments around it; false at the
 * end. */
bool my_split(const char **at, hf_slice *statement);
my_verb my_verb_of(hf_slice statement);
bool my_rolls_back(hf_slice statement);

/* ---- mysql_target.c: reading the URL, connecting ---- */

hf_status my_target_read(const char *url, const hf_db_options *options, my_target **out,
                         hf_error *err);
void my_target_free(my_target *target); /* accepts NULL */

/* Connects. */
hf_status my_open(const my_target *target, MYSQL **out, hf_error *err);
void my_shut(MYSQL *conn); /* accepts NULL */

/* Whether nothing is waiting to be read, not even the end: what an idle connection is like. */
bool my_is_quiet(MYSQL *conn);

/* Writing to a connection over TLS may raise SIGPIPE; between these two it does not. */
typedef struct my_hush {
    bool needed, pending;
    sigset_t before;
} my_hush;
void my_hush_begin(MYSQL *conn, my_hush *hush);
void my_hush_end(my_hush *hush);

/* ---- mysql_flight.c: sending and reading ---- */

typedef enum my_state {
    MY_STMT_READY,
    MY_STMT_QUEUED,
    MY_STMT_DONE,  /* its result is here */
    MY_STMT_FAILED /* with the error of the connection */
} my_state;

struct my_stmt {
    hf_stmt base;
    my_stmt *next; /* in its flight */
    my_state state;
    my_parsed parsed;
    hf_params params;
    MYSQL_RES *result; /* NULL: it has no rows */
    MYSQL_ROW row;
    const unsigned long *lengths;
    unsigned columns;
    int64_t changed;
    int64_t made_key;
    hf_failure failure; /* of a failed one */
    bool unsent;        /* a failed one that the server has not seen */
};

void my_drop_result(my_stmt *stmt);

/* Sends these (a list by `next`) and takes what they come to: each is done or failed. */
void my_fly(my_db *db, my_stmt *first);

/* Runs text, several statements, passing over their results. Not HF_OK: db->error says why. */
hf_status my_run(my_db *db, const char *sql);

/* ---- mysql_errors.c ---- */

/* Whether the last error means that the connection is gone; and, if so, that the server has not got
 * all of what was sent last, and carried out nothing of it. */
bool my_is_lost(MYSQL *conn);
bool my_is_unsent(MYSQL *conn);

/* Whether the server has rolled back the application's transaction, and the application has run
 * nothing since. */
bool my_is_rolled_back(const my_db *db);

/* What the connection's last error comes to: its status; with a sentence, in db->error; and what is
 * known of the connection from now on. `commits`: the statement that failed is a COMMIT; `coming`:
 * or one after it in the same flight. */
hf_status my_failed(my_db *db, bool commits, bool coming);

/* The connection could not be made. */
hf_status my_unconnected(const my_target *target, MYSQL *conn, hf_error *err);

static inline my_db *my_of(hf_db *db)
{
    return (my_db *)db;
}

static inline my_stmt *my_stmt_of(hf_stmt *stmt)
{
    return (my_stmt *)stmt;
}

#endif
