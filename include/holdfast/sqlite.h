/* SPDX-License-Identifier: MIT */
/* holdfast on an application's own SQLite handle: take the lock in the same transaction that loads
 * the record. */
#ifndef HOLDFAST_SQLITE_H
#define HOLDFAST_SQLITE_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

struct sqlite3;

enum {
    HF_SQLITE_INSTALL = 1 /* create holdfast's tables in this database */
};

/* A store on the application's handle. Inside an open transaction a batch joins it: a grant takes
 * effect when the application commits, and a failure undoes only the batch. SQLite may roll back
 * the whole transaction when the disk is full, I/O fails, memory runs out or a statement is
 * interrupted: the message says so, and sqlite3_get_autocommit tells. Outside a transaction each
 * batch is a transaction of its own. The application keeps the handle. It must outlive the store,
 * and calls follow its threading rules. `names` is the prefix of the tables ("holdfast" when NULL).
 * What survives a crash depends on the application's own settings; the store's grade says so. */
HF_API HF_MUST_USE hf_status hf_sqlite_wrap(struct sqlite3 *db, const char *names, unsigned flags,
                                            hf_store **out, hf_error *err);

/* For a program in which nobody asks SQLite how much memory it uses (sqlite3_memory_used,
 * sqlite3_status, heap limits): SQLite then stops counting it, which saves a mutex on every
 * allocation and about a tenth of the work of a batch. Call it before anything else of SQLite or
 * holdfast; it holds for the whole process. False: SQLite is in use already; nothing changed. */
HF_API bool hf_sqlite_uncounted(void);

HF_END_DECLS

#endif
