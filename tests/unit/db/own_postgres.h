/* SPDX-License-Identifier: MIT */
/* What the tests of the PostgreSQL driver and the pool share: a server of their own, which they may
 * stop, and short ways to use it. */
#ifndef HF_TESTS_UNIT_DB_OWN_POSTGRES_H
#define HF_TESTS_UNIT_DB_OWN_POSTGRES_H

#include <db/db.h>
#include <db/postgres.h>
#include <support/databases.h>

/* Starts it, or fails; for a group of tests. */
int own_postgres_start(void **state);
int own_postgres_end(void **state);

instance *own_postgres(void);
const char *own_postgres_folder(void); /* of its socket */

/* postgres://user@/name?host=FOLDER&port=PORT, with more parameters ("&a=b") or ""; on one of a few
 * static buffers. */
const char *own_postgres_url(const char *user, const char *name, const char *more);

/* The same over TCP, postgres://user@127.0.0.1:PORT/name, where a password is needed: user may be
 * "user:password". */
const char *own_postgres_tcp_url(const char *user, const char *name, const char *more);

/* ---- what the tests do with it; a failure fails the test ---- */

extern hf_error err;

hf_db *connect_with(const char *url, const hf_db_options *options);
hf_db *open_db(void);                        /* as postgres, to postgres */
const char *ask(hf_db *db, const char *sql); /* hf_db_ask, on one of a few static buffers */
void run(hf_db *db, const char *sql);        /* hf_db_run */
hf_stmt *stmt(hf_db *db, const char *sql);   /* hf_stmt_new */
bool step(hf_stmt *it);                      /* hf_stmt_step: whether there is a row */

#define SLICE(text) ((hf_slice){(text), sizeof(text) - 1})

#endif
