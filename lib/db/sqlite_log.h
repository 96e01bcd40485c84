/* SPDX-License-Identifier: MIT */
/* Gathering what SQLite writes to its write-ahead log.
 *
 * SQLite writes every page of a transaction in two pieces, a head of 24 bytes and the page, each
 * with a call of the operating system, which costs more than the copying. Here they are put
 * together, and written before the log is synced, read, measured or closed.
 *
 *   G1  Whoever can see a page of the log finds it in the file. A commit is shown to others after
 *       its sync, and the sync writes first; so gathering is only for transactions that sync
 *       (`on`), on files whose last page can't be torn (otherwise SQLite pads after the sync).
 *   G2  A write that fails does so in the sync, and is reported as the failed write it is: not as a
 *       failed sync.
 *   G3  Whatever can't be gathered is written at once, as if this file were not there.
 *   G4  Nothing that was gathered outlives its transaction: pages are written in the commit only,
 *       never before (cache_spill is off), and a commit ends by its sync or by the write that
 *       failed. What a rolled back transaction left would be written over what others commit.
 *   G5  A sync takes twice as long when the file has grown, since its length must reach the disk
 *       too. So a log of some size grows by half a megabyte of zeros at a time. SQLite reads a log
 *       up to the first page without the log's own numbers; a writer's last page is the last that
 *       counts, so nothing stands behind it. */
#ifndef HF_DB_SQLITE_LOG_H
#define HF_DB_SQLITE_LOG_H

#include <stdbool.h>

struct sqlite3;

/* Whether what the connection writes from now on may be gathered. It must be in no transaction. The
 * first time, this takes its place between the connection and its log, until that is closed; when
 * there is no log yet, or memory is out, nothing is gathered. While it is on, all changed pages of
 * a transaction stay in memory. */
void hf_sqlite_log_gather(struct sqlite3 *handle, bool on);

#endif
