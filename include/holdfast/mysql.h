/* SPDX-License-Identifier: MIT */
/* holdfast on an application's own MariaDB or MySQL connection: take the lock in the same
 * transaction that loads the record. */
#ifndef HOLDFAST_MYSQL_H
#define HOLDFAST_MYSQL_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

struct st_mysql; /* a MYSQL is one */

/* A store on the application's connection, which must be one of libmariadb (the module for MySQL
 * must be installed). Inside an open transaction, or with autocommit off, a batch joins it: a grant
 * counts when the application commits, and no refusal ends the transaction. A deadlock does, as
 * always with InnoDB, and a full table of locks: then, and when its snapshot is too old to be
 * answered right, the answer is HF_RETRY: roll back and run it again. A sweep is refused in a
 * transaction (HF_INVALID). Outside one each batch is one of its own. The connection stays the
 * application's: it must outlive the store, be used by one thread at a time, and have no results
 * waiting when a batch comes. What is set on it for a batch is put back. Refused where
 * innodb_rollback_on_timeout is on: a busy lock would end the transaction. `names` is the prefix of
 * the tables ("holdfast" when NULL), which must have been installed; flags must be 0. */
HF_API HF_MUST_USE hf_status hf_mysql_wrap(struct st_mysql *connection, const char *names,
                                           unsigned flags, hf_store **out, hf_error *err);

HF_END_DECLS

#endif
