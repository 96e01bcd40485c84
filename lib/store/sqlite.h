/* SPDX-License-Identifier: MIT */
/* The SQLite store from inside. Private to sqlite*.c. */
#ifndef HF_STORE_SQLITE_H
#define HF_STORE_SQLITE_H

#include "db/sqlite.h"
#include "sql/sqlite_statements.h"
#include "store/group_commit.h"
#include "store/sql_conn.h"
#include "store/store.h"
#include "store/sweep.h"

#include <limits.h>
#include <stdatomic.h>

#define SQLITE_NAMES_MAX 32
/* All of a session but its key: what {cols session MRE} is. */
#define SQLITE_SESSION_COLUMNS (HF_MOVES | HF_REST | HF_WITH_ENDS)
#define SQLITE_SHORT_LOG       1000 /* pages */
#define SQLITE_RESERVE_LEAST   ((int64_t)2 << 20)
#define SQLITE_RESERVE_MOST    ((int64_t)16 << 20)

typedef struct sqlite_session sqlite_session;

/* Rows of sessions that the writer remembers (sqlite_sessions.c). */
typedef struct sqlite_sessions {
    sqlite_session **slots; /* NULL until there is a row */
    uint32_t version;       /* of the data that they are rows of */
    uint64_t age;           /* counts how often they were forgotten */
} sqlite_sessions;

typedef struct sqlite_store {
    hf_store base;
    char path[PATH_MAX];
    char names[SQLITE_NAMES_MAX];
    sql_conn writer;
    sql_conn reader;           /* unused when wrapped */
    sqlite_sessions sessions;  /* none when wrapped */
    hf_group_commit *together; /* of threads that share it; NULL when wrapped */
    bool wrapped;              /* the application's own handle */
    atomic_bool broken; /* a sync failed: nothing more is acknowledged until it is opened anew */
    /* the disk is full and the reserve given up: what needs room is refused */
    bool low;
    int synced;   /* the writer's sync level: 1 normal, 2 full, 0 not set yet */
    int log_most; /* pages that the log may have */
    /* pages at which the next checkpoint is due: more, when a reader stood in the way */
    int checkpoint_at;
    uint64_t commits; /* batches that changed something, by this store */
    int64_t reserve;  /* bytes laid in for when the disk is full */
    int64_t page_size;
    int64_t pages; /* of the database, when it was last asked ... */
    int pages_log; /* ... and of the log then */
    /* of the file, without what is only in the log, when it was last looked at */
    int64_t file_size;
} sqlite_store;

/* sqlite.c: ending a transaction. A commit that failed in the middle is HF_UNSURE, and breaks the
 * store. */
void sqlite_commit(sqlite_store *store, sql_conn *conn, bool nested);
void sqlite_undo(sql_conn *conn, bool nested);
hf_status sqlite_refuse_broken(const sqlite_store *store, hf_error *err);

void sqlite_begin(sql_conn *conn, bool nested, bool reads);

/* sqlite_checkpoint.c, S3: copying the log into the file. If another process is writing, it will
 * do that, so we do not wait; with `waits` (the disk is full) we wait as long as the batch still
 * may. */
void sqlite_checkpoint_now(sqlite_store *store, bool waits);
/* After a commit: if it is time. */
void sqlite_checkpoint(sqlite_store *store);
/* Where room is short, the log is not to take it: from now on it is kept short. */
void sqlite_keep_log_short(sqlite_store *store);

/* What ends a transaction must not fail for want of memory, so it is made ready beforehand. */
hf_status sqlite_conn_ready(sql_conn *conn, hf_error *err);

/* sqlite_rows.c: moving rows between the tables and a working set. */
void sqlite_load(sql_conn *conn, hf_rows *rows, int64_t now_us);
void sqlite_save(sql_conn *conn, hf_rows *rows, int64_t now_us);
/* No fence up to this one is given again, whatever becomes of anchors and clocks. */
void sqlite_raise_floor(sql_conn *conn, int64_t floor);
hf_session_row *sqlite_load_session(sql_conn *conn, hf_rows *rows, const char *id);
void sqlite_load_session_locks(sql_conn *conn, hf_rows *rows, hf_session_row *row, size_t limit);

/* Whether the time a session lives has changed since it was loaded. */
static inline bool sqlite_session_moved(const hf_session_row *row)
{
    return row->expires_us != row->loaded_expires_us || row->ended_us != row->loaded_ended_us;
}

/* sqlite_sessions.c. In a transaction of the writer, before loading: fills the rows that are
 * remembered; their `origin` is not NULL. After its commit: remembers the rows of the batch. */
void sqlite_sessions_recall(sqlite_sessions *all, hf_db *db, hf_rows *rows);
void sqlite_sessions_remember(sqlite_sessions *all, hf_db *db, const hf_rows *rows);
void sqlite_sessions_done(sqlite_sessions *all);

/* sqlite_query.c: what stands alone. */
void sqlite_do_alone(sqlite_store *store, sql_conn *conn, hf_batch *batch, int64_t now_us);

/* sqlite_file.c: what may be opened, and the reserve that is given up when the disk is full. */
hf_status sqlite_file_check(const char *path, bool *exists, hf_error *err);
int64_t sqlite_file_size(const char *path);
/* How many bytes the reserve makes good for, after it was made to hold `want` of them (at least
 * SQLITE_RESERVE_LEAST) if that could be had. 0: there is no room even for the least. Where it
 * can't be had for another reason, it counts as the least. */
int64_t sqlite_reserve(const char *path, int64_t want);
void sqlite_reserve_give_up(const char *path);

/* sqlite_schema.c: tables, their form, backups. ours: false: there are none. */
hf_status sqlite_schema_check(hf_db *db, const char *path, const char *names, bool *ours,
                              hf_error *err);
/* An application's database, whatever else is in it. HF_UNAVAILABLE: it has none of this form. */
hf_status sqlite_schema_check_wrapped(hf_db *db, const char *path, const char *names,
                                      hf_error *err);
hf_status sqlite_schema_install(hf_db *db, const char *names, hf_error *err);
hf_status sqlite_backup(hf_store *store, const char *path, hf_error *err);
hf_status sqlite_restore(hf_store *store, const char *path, bool replace, hf_error *err);
hf_status sqlite_install(const char *rest, const hf_install_order *order, hf_error *err);

#endif
