/* SPDX-License-Identifier: MIT */
/* What only SQLite has: a file, its write-ahead log, copying it. */
#ifndef HF_DB_SQLITE_H
#define HF_DB_SQLITE_H

#include "db/db.h"

struct sqlite3;

enum {
    HF_DB_READ_ONLY = 1, /* changes nothing, not even a leftover of another program */
    /* with it: takes no locks and leaves no log beside the file, which must have none */
    HF_DB_NO_TRACE = 2,
};

/* For hf_db_connect and pools: the URL is the path, without "sqlite:". */
extern const hf_db_driver hf_db_sqlite;

/* How a column of the row is stored, whatever the table declares: 'i' int, 'r' real, 'u' text, 'b'
 * bytes, 'n' null. */
char hf_db_sqlite_stored(hf_stmt *stmt, int at);

/* SQLite stops counting the memory it uses, in the whole process. False: it is in use already. */
bool hf_db_sqlite_uncounted(void);

/* Opens a database file. The file must exist unless it may be created empty (not HF_DB_READ_ONLY).
 * */
hf_status hf_db_open(const char *path, unsigned flags, hf_db **out, hf_error *err);

/* Borrows an application's own handle: nothing about it is changed, and closing leaves it open. */
hf_status hf_db_wrap(struct sqlite3 *handle, hf_db **out, hf_error *err);

/* Of the last failure: it was for want of room on the disk; reading or writing failed; a sync
 * failed, after which nothing the operating system said about earlier writes can be believed. */
bool hf_db_disk_full(hf_db *db);
bool hf_db_io_failed(hf_db *db);
bool hf_db_sync_failed(hf_db *db);

/* Pages in the write-ahead log after the last commit of this connection. */
int hf_db_log_pages(hf_db *db);

/* A number that changes when this connection commits, or finds at BEGIN that another has. As long
 * as it stays the same nobody has changed anything. Ask inside a transaction to hear of others. */
uint32_t hf_db_data_version(hf_db *db);

/* Whether the pages of a transaction may be put together before they are written to the log. Only
 * for transactions that sync (sqlite_log.h), and not of a borrowed handle. Between transactions. */
void hf_db_gather(hf_db *db, bool on);

/* Copies what the log holds into the database file without waiting for anyone. */
hf_status hf_db_checkpoint(hf_db *db, hf_error *err);

/* A consistent copy of the whole database into the open, empty database `to`. */
hf_status hf_db_copy(hf_db *from, hf_db *to, hf_error *err);

#endif
