/* SPDX-License-Identifier: MIT */
/* A connection with its statements, made when first used, and the reading of what stands alone
 * (lists, events, types): shared by all stores on SQL databases. Errors stick in status and err
 * until the next sql_use, so that rows can be moved without a check after each line. */
#ifndef HF_STORE_SQL_CONN_H
#define HF_STORE_SQL_CONN_H

#include "db/db.h"
#include "lock/apply.h"
#include "lock/token.h"

#include "store/sweep.h"

#include <pthread.h>

#define SQL_NAMES_SIZE 33 /* of a namespace */

enum { SQL_STMTS_MAX = 120 };

/* What stands for {ns}, {skip} ... in the texts; NULL: nothing. */
typedef struct sql_words {
    const char *ns;
    const char *skip; /* passes over locked rows */
    /* locks so that others may too; skips rows that can't be, where the database can */
    const char *share;
    const char *now;   /* waits for nobody */
    const char *level; /* of a transaction */
    const char *none;  /* a null that is text */
    const char *calm;  /* the same, on an application's connection */
    const char *soon;  /* waits for a second at most, there */
} sql_words;

typedef struct sql_conn {
    hf_db *db;
    sql_words words;
    const char *const *sql; /* the texts */
    hf_stmt *stmts[SQL_STMTS_MAX];
    pthread_mutex_t mutex; /* of a connection that threads share */
    hf_rows rows;
    /* SQL databases: how often in a row the application's transaction failed, and is to be run
     * again */
    unsigned crowded;
    hf_status status;
    hf_error *err;
} sql_conn;

/* The mutex is the caller's to init and destroy. */
void sql_conn_init(sql_conn *conn, hf_db *db, const sql_words *words, const char *const *sql);
/* Frees the statements and closes the connection. */
void sql_conn_done(sql_conn *conn);

void sql_use(sql_conn *conn, hf_error *err);
/* The statement, ready to be bound; NULL when something failed before. */
hf_stmt *sql_stmt(sql_conn *conn, int which);
/* True: there is a row. At the end or on failure it has been reset. */
bool sql_next(sql_conn *conn, hf_stmt *stmt);
void sql_run(sql_conn *conn, hf_stmt *stmt);
/* Runs a statement that takes and gives nothing. */
void sql_do(sql_conn *conn, int which);
/* The first column of a statement that takes nothing; 0 when there is no row. */
int64_t sql_number(sql_conn *conn, int which);
/* SQL text with its words replaced; hf_free it. NULL: out of memory. */
char *sql_name(const char *sql, const sql_words *words);
void sql_out_of_memory(sql_conn *conn);

/* A column copied into the set's arena. */
hf_slice sql_keep(sql_conn *conn, hf_rows *rows, hf_stmt *stmt, int at);
/* A column copied into a zeroed field. */
void sql_text(hf_stmt *stmt, int at, char *out, size_t size);

/* ---- what stands alone ---- */

/* Which statement asks for what; they take the same parameters in every store (see sql/). */
typedef struct sql_queries {
    int list, list_type, list_session, list_user, sessions, count, count_session, count_token,
        events, types, type_live, type_save;
    int token_same, token_find, token_look, token_own, token_admins;
    int tokens, token_insert, token_revoke;
} sql_queries;

void sql_do_list(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                 int64_t now_us);
void sql_do_sessions(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                     int64_t now_us);
void sql_do_count(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                  int64_t now_us);
void sql_do_events(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena);
void sql_do_types(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena);

/* Whether locks of that type live. */
bool sql_locks_live(sql_conn *conn, const sql_queries *ask, const char *type, int64_t now_us);
void sql_save_type(sql_conn *conn, const sql_queries *ask, const hf_op *op);
/* What is asked of tokens (sql_tokens.c). True: a row was written, and there is an event in the set
 * to be saved with it. */
bool sql_token_create(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                      int64_t now_us);
bool sql_token_revoke(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena,
                      int64_t now_us);
void sql_token_find(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena);
void sql_do_tokens(sql_conn *conn, const sql_queries *ask, hf_op *op, hf_arena *arena);

/* The events of a sweep's walk (sweep.h): what the statement `which` answers. */
void sql_read_old_events(sql_conn *conn, int which, hf_sweep_events *walk);
/* A number of meta's, by the statement that reads one; 0 when there is none. */
int64_t sql_meta_number(sql_conn *conn, int which, const char *name);
/* Text for a comparison: an empty one must not become null. */
void sql_bind_from(hf_stmt *stmt, int at, const char *from);

#endif
