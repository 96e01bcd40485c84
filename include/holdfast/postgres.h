/* SPDX-License-Identifier: MIT */
/* holdfast on an application's own PostgreSQL connection: take the lock in the same transaction
 * that loads the record. */
#ifndef HOLDFAST_POSTGRES_H
#define HOLDFAST_POSTGRES_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

struct pg_conn; /* a PGconn is one */

/* A store on the application's connection (the module for PostgreSQL must be installed). Inside an
 * open transaction a batch joins it: a grant counts when the application commits, and no refusal or
 * failure of a batch ends the transaction. When its snapshot is too old to be answered right
 * (REPEATABLE READ, SERIALIZABLE) the answer is HF_RETRY: roll back and run it again; releasing all
 * at once and setting a type are refused there (HF_INVALID), for its snapshot can't tell what is
 * held. A sweep is refused in every transaction. Outside a transaction each batch is one of its
 * own. The connection stays the application's: it must outlive the store, be used by one thread at
 * a time, speak UTF-8, and have nothing in flight when a batch comes. What is set on it for a batch
 * is put back. `names` is the schema of the tables ("holdfast" when NULL), which must have been
 * installed; flags must be 0. */
HF_API HF_MUST_USE hf_status hf_postgres_wrap(struct pg_conn *connection, const char *names,
                                              unsigned flags, hf_store **out, hf_error *err);

HF_END_DECLS

#endif
