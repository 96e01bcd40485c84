/* SPDX-License-Identifier: MIT */
/* PostgreSQL behind the face: by URL (hf_db_connect with the driver below), or an application's own
 * connection. */
#ifndef HF_DB_POSTGRES_H
#define HF_DB_POSTGRES_H

#include "db/db.h"

struct pg_conn; /* PGconn of libpq */

/* Takes a libpq URI, postgres:// or postgresql://. A standby is refused. */
extern const hf_db_driver hf_db_postgres;

/* Wraps an application's connection, inside a transaction or outside. It must be connected, idle,
 * not in pipeline mode, and its client encoding UTF8, now and at every call; otherwise HF_INVALID.
 * Between calls it is as the application left it: its settings, its blocking mode, its notice
 * processor. hf_db_close leaves it open. After a failure HF_FAILURE_LOST it is of no more use to
 * the application either: the server may still be answering what was sent.
 *
 * In a transaction that has failed, sending is HF_INVALID, except for what begins with ROLLBACK (TO
 * a savepoint). */
hf_status hf_db_postgres_wrap(struct pg_conn *conn, hf_db **out, hf_error *err);

/* A standby is HF_UNAVAILABLE, with a sentence; hf_db_connect asks this of every connection by
 * itself. It takes a round trip only where the server has not said already that it is none. */
hf_status hf_db_postgres_refuse_standby(hf_db *db, hf_error *err);

/* Notifications, on a connection that has run LISTEN: its socket, to be polled for reading; and
 * whether another connection has notified since the last call, without waiting. HF_UNAVAILABLE: the
 * connection is lost. */
int hf_db_postgres_socket(hf_db *db);
hf_status hf_db_postgres_heard(hf_db *db, bool *out, hf_error *err);

/* The same, but tells each: the payload, borrowed for the call. */
hf_status hf_db_postgres_hear(hf_db *db, void (*tell)(void *context, const char *payload),
                              void *context, hf_error *err);

#endif
