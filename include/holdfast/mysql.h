/* SPDX-License-Identifier: MIT */
/* holdfast on an application's own MariaDB or MySQL connection: take the lock in the same
 * transaction that loads the record. */
#ifndef HOLDFAST_MYSQL_H
#define HOLDFAST_MYSQL_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

struct st_mysql; /* a MYSQL is one */

/* A store on the application's connection, which must come from libmariadb. The module for MySQL
 * must be installed.
 *
 * Inside an open transaction, or with autocommit off, a batch joins the transaction: a grant takes
 * effect when the application commits, and no refusal ends the transaction. A deadlock and a full
 * InnoDB lock table do end it. In both cases, and when the snapshot is too old for a correct
 * answer, the answer is HF_RETRY: roll back and run the transaction again. A sweep is refused in a
 * transaction (HF_INVALID). Outside a transaction each batch is a transaction of its own.
 *
 * The application keeps the connection. It must outlive the store, be used by one thread at a time,
 * and have no pending results when a batch is run. Settings that a batch changes are restored. The
 * call is refused if innodb_rollback_on_timeout is on, because a busy row would then end the
 * transaction. While the connection has set insert_id, which an event would get, every call is
 * refused (HF_INVALID). `names` is the prefix of the tables ("holdfast" when NULL), which must be
 * installed; flags must be 0. */
HF_API HF_MUST_USE hf_status hf_mysql_wrap(struct st_mysql *connection, const char *names,
                                           unsigned flags, hf_store **out, hf_error *err);

HF_END_DECLS

#endif
