/* SPDX-License-Identifier: MIT */
/* holdfast on an application's own PostgreSQL connection: take the lock in the same transaction
 * that loads the record. */
#ifndef HOLDFAST_POSTGRES_H
#define HOLDFAST_POSTGRES_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

struct pg_conn; /* a PGconn is one */

/* A store on the application's connection. The module for PostgreSQL must be installed.
 *
 * Inside an open transaction a batch joins it: a grant takes effect when the application commits,
 * and no refusal or failure of a batch ends the transaction. Under REPEATABLE READ and SERIALIZABLE
 * the snapshot may be too old for a correct answer: then the answer is HF_RETRY; roll back and run
 * the transaction again. HF_OP_RELEASE_ALL and HF_OP_TYPE_SET are refused there (HF_INVALID),
 * because the snapshot does not show what is held. A sweep is refused in every transaction. Outside
 * a transaction each batch is a transaction of its own.
 *
 * The application keeps the connection. It must outlive the store, be used by one thread at a time,
 * use UTF-8, and have no query in progress when a batch is run. Settings that a batch changes are
 * restored. `names` is the schema of the tables ("holdfast" when NULL), which must be installed;
 * flags must be 0. */
HF_API HF_MUST_USE hf_status hf_postgres_wrap(struct pg_conn *connection, const char *names,
                                              unsigned flags, hf_store **out, hf_error *err);

HF_END_DECLS

#endif
