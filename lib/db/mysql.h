/* SPDX-License-Identifier: MIT */
/* MariaDB (10.6 and later) and MySQL (8.0 and later) behind the face: by URL (hf_db_connect with
 * the driver below), or an application's own connection. */
#ifndef HF_DB_MYSQL_H
#define HF_DB_MYSQL_H

#include "db/db.h"

struct st_mysql; /* MYSQL of libmariadb */

/* All rows that a statement is about are read, changed and deleted, whatever a server's defaults
 * are. */
#define HF_DB_MYSQL_UNLIMITED "sql_select_limit = 18446744073709551615, sql_safe_updates = 0"

/* Takes mysql://USER[:PASSWORD]@HOST[:PORT]/DATABASE or mysql://USER@/DATABASE?socket=PATH,
 * everything percent-encoded where need be. Without a port, localhost and no host at all mean the
 * usual socket. Parameters: socket, connect_timeout (seconds); ssl_ca, ssl_cert, ssl_key (files),
 * ssl_verify (1 or 0): any of these demands TLS, and the server's certificate is verified unless
 * ssl_verify=0. The password is the URL's, else the options', else MYSQL_PWD's. No option files are
 * read. HF_DB_MYSQL_UNLIMITED is set before the options' setup. A server that is read-only is
 * refused, and so is one that is too old, with a sentence.
 *
 * COMMIT is also HF_UNSURE when the server answers with an error that leaves open what became of
 * it. */
extern const hf_db_driver hf_db_mysql;

/* Wraps an application's connection, inside a transaction or outside. Nothing about it is changed;
 * hf_db_close leaves it open. Each statement is a round trip of its own; The results of the
 * application's own statements must have been read; otherwise HF_INVALID.
 *
 * After a deadlock, and when its table of locks is full, the server has rolled back the
 * application's transaction: until the application runs its ROLLBACK (or any other statement)
 * hf_db_transaction_failed is true, and nothing is sent but ROLLBACK: HF_RETRY. */
hf_status hf_db_mysql_wrap(struct st_mysql *conn, hf_db **out, hf_error *err);

/* A server that is read-only, as replicas are, is HF_UNAVAILABLE, with a sentence; hf_db_connect
 * asks this of every connection by itself. */
hf_status hf_db_mysql_refuse_read_only(hf_db *db, hf_error *err);

/* Puts a setting of an application's connection back. Also when the server has rolled its
 * transaction back, which stays known: the next statement is refused for that as it would have
 * been. */
void hf_db_mysql_put_back(hf_db *db, const char *sql);

#endif
