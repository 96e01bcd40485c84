/* SPDX-License-Identifier: MIT */
/* SQL database stores from inside: what PostgreSQL, MariaDB and MySQL have in common. Private
 * to database*.c, postgres*.c and mysql*.c. The invariants stand at the head of database.c. */
#ifndef HF_STORE_DATABASE_H
#define HF_STORE_DATABASE_H

#include "db/pool.h"
#include "db/url.h"
#include "sql/database_statements.h"
#include "store/group_commit.h"
#include "store/sql_rows.h"
#include "store/store.h"
#include "store/sweep.h"

typedef struct database_store database_store;
typedef struct database_work database_work;

/* What differs between databases besides their SQL. */
typedef struct database_kind {
    const hf_store_ops *ops;
    const hf_db_driver *driver;
    const char *const *sql;
    const char *backup_with; /* the database's own tool */
    bool poolers;            /* pooler=transaction is understood */
    /* Looks at the database through a connection of its own before the pools are made: refuses what
     * can't be used, installs the tables, fills the store's grade and words, and the options. */
    hf_status (*look)(database_store *store, const hf_url *url, hf_db_options *options,
                      hf_error *err);
    /* The same for a store on an application's connection, on which nothing is installed. `wrap`
     * makes the hf_db; `own_words` (NULL: nothing to do) sets the words before it is used. */
    hf_status (*wrap)(void *handle, hf_db **out, hf_error *err);
    void (*own_words)(database_store *store, const hf_db *db);
    hf_status (*look_wrapped)(database_store *store, hf_db *db, hf_error *err);
    /* A connection is about to be used, and has been: settings that are made for a batch, and put
     * back. NULL: nothing to do. */
    void (*enter)(database_work *work);
    void (*leave)(database_work *work);
    /* Whether the application's transaction keeps locked what it only reads; *known: for certain.
     * NULL: never. */
    bool (*reads_lock)(database_work *work, bool *known);
} database_kind;

struct database_store {
    hf_store base;
    const database_kind *kind;
    char names[SQL_NAMES_SIZE];
    hf_pool *writers, *readers;    /* unused when wrapped */
    hf_group_commit *group_commit; /* of threads that share the store; NULL when wrapped */
    sql_conn *own;                 /* the application's own connection, when wrapped */
    sql_words words;               /* for its statements */
    size_t list_rows;    /* how many rows of a list go into one statement; 0: any number */
    bool pooler;         /* a pooler in transaction mode stands between */
    int64_t patience_us; /* how long an op may be tried before it is busy */
    hf_grade grade;
};

/* Which ops of a batch the next transaction tries. "Blocked": it failed because another transaction
 * had a row of one of its runs.
 *
 *   TRY_ALL --- an op was deferred, or too many for one transaction ---> TRY_PENDING <--+
 *      |                                                                      |         |
 *      +--- blocked ---------------+------------------------------- blocked --+         |
 *                                  |                                                    |
 *             the run is known:    +--> TRY_UNBLOCKED --- committed --------------------+
 *                                  |         |
 *             it is not:           |         +--- blocked ---+
 *                                  |                         v
 *                                  +--------------------> TRY_RUNS, until all is settled */
typedef enum database_scope {
    TRY_ALL,       /* the whole batch */
    TRY_PENDING,   /* what is not settled */
    TRY_UNBLOCKED, /* ... without the runs whose anchor another transaction is just inserting */
    TRY_RUNS       /* a few runs at a time, in turn */
} database_scope;

/* How the anchor of the only resource is looked up.
 *
 *   LOOKUP_ANY ---> LOOKUP_QUICK ---> LOOKUP_MISSED ---> LOOKUP_FULL, for the rest of the work
 *       ^                |  found            |
 *       +----------------+-------------------+  the next attempt */
typedef enum database_lookup {
    LOOKUP_ANY,    /* the quick statement may be used; it only finds an anchor that is free */
    LOOKUP_QUICK,  /* it was sent */
    LOOKUP_MISSED, /* it found nothing */
    LOOKUP_FULL    /* only the full statement, which tells whether the anchor is there */
} database_lookup;

/* What a load reads: LOAD_NAMES first, where needed, then one of the others. */
typedef enum database_loading {
    LOAD_ROWS,   /* all tables in one statement */
    LOAD_TABLES, /* a statement for each table: too many resources for one */
    LOAD_LOCKS,  /* the locks of one resource, with their sessions, and nothing else */
    LOAD_NAMES   /* the resources that sessions hold, so that their anchors can be locked */
} database_loading;

/* Rows that the main statement did not bring, and that are loaded after it. */
typedef enum database_more {
    MORE_SESSIONS = 1,
    MORE_REQUESTS = 2,
    MORE_PAST = 4, /* past saves */
    MORE_LOST = 8
} database_more;

/* Whether an application's transaction may wait for others. */
typedef enum database_waiting {
    WAITING_UNKNOWN,
    WAITING_HELPS,
    WAITING_IS_VAIN /* what it has read stays locked, so the others can't get done */
} database_waiting;

/* One execution of a batch. */
struct database_work {
    database_store *store;
    sql_conn *conn;
    hf_pooled *pooled;
    hf_batch *batch;
    int64_t until_us; /* on the clock of boot_us */

    bool reads;  /* changes nothing */
    bool nested; /* in the application's open transaction */

    /* the ops that are tried */
    database_scope scope;
    hf_batch part;   /* with TRY_ALL the batch itself, else copies */
    size_t *index;   /* not with TRY_ALL: of each op of the part, where it is in the batch */
    bool *pending;   /* not with TRY_ALL: of each op of the batch, whether it is not settled */
    bool *inserting; /* of each op of the batch: its anchor is being inserted; NULL: not known */
    size_t next;     /* TRY_RUNS: the first run of the next part */
    size_t chunk;    /* TRY_RUNS: runs in a part */
    size_t turns;    /* TRY_RUNS: runs that are still to be tried in this round */
    database_waiting waiting;

    /* one transaction */
    bool begun; /* a transaction or savepoint of ours is open */
    database_lookup lookup;
    database_loading loading;
    unsigned more;      /* database_more */
    bool types_busy;    /* the policies are being changed */
    bool stale;         /* the application's snapshot is older than an anchor */
    bool snapshot;      /* the application sees only what was there when it began (PostgreSQL) */
    int64_t now_us;     /* the store's time */
    int64_t rows_count; /* rows that a probe inserted, or a sweep deleted */
    hf_failure failure; /* of the last attempt */
    int queued[32];     /* statements to be sent together, in order */
    int queued_count;

    /* numbering events */
    hf_list *unnumbered; /* committed events without a number */
    int64_t numbered_to; /* the last number that was given */
    bool numbering;      /* this transaction may number */

    char saved_setup[256]; /* restores the settings of the application's connection */
};

/* Whether rows are locked: also a read is, in the application's transaction. */
static inline bool database_locks(const database_work *work)
{
    return !work->reads || work->nested;
}

/* database.c: with group commit, for threads that share the store; and without. */
hf_status database_execute(hf_store *base, hf_batch *batch, hf_error *err);
hf_status database_execute_one(hf_store *base, hf_batch *batch, hf_error *err);
/* Ends the transaction, or what was done of it in the application's own, after a failure. */
void database_undo(database_work *work);
void database_pause(unsigned times);
/* After a failed attempt: HF_OK: it may be run again, perhaps on another connection. */
hf_status database_recover(database_work *work, hf_status status, unsigned *lost, hf_error *err);

/* database_defer.c: answers "busy" to the ops of the part that can't be carried out now, and to
 * those that depend on them. */
void database_defer(database_work *work);
void database_refuse_busy(hf_op *op, hf_arena *arena);
/* In an application's transaction on MySQL: the n-th session (of at most DATABASE_RELIED_ON) that
 * an op of the part needs alive, and of which no anchor tells whether it was closed since the
 * snapshot. NULL: none. */
enum { DATABASE_RELIED_ON = 2 };
hf_session_row *database_relied_on(const database_work *work, size_t i, int n);
/* The last op of the linked run that begins there. */
size_t database_run_end(const hf_batch *batch, size_t from);

/* database_open.c: ops->open and the module's wrap, for every kind. */
hf_status database_store_open(const database_kind *kind, const char *rest, hf_store **out,
                              hf_error *err);
hf_status database_wrap(const database_kind *kind, void *handle, const char *names, hf_store **out,
                        hf_error *err);
void database_store_close(hf_store *base);
void database_grade(hf_store *base, hf_grade *out);
/* A connection of the caller's own, outside the pools; HF_NOT_FOUND: not on an application's
 * connection, nor through a pooler. */
hf_status database_connect_own(database_store *store, hf_db **out, hf_error *err);
hf_status database_backup(hf_store *base, const char *path,
                          hf_error *err);                            /* and restore: refused */
sql_conn *database_conn_new(const database_store *store, hf_db *db); /* NULL: out of memory */

/* database_pipeline.c: statements are queued, then sent together in one round trip. The list may
 * be NULL; an empty one is skipped; a long one is split over several statements, sent with all that
 * was queued before. The rows that come back are read into the working set. */
void database_queue(database_work *work, int which, const hf_list *list);
bool database_is_long(const database_work *work, const hf_list *list);
/* So many rows of a list, from *from on, as go into one statement; *from becomes where the next
 * begin. NULL: out of memory. */
const hf_list *database_part(database_work *work, const hf_list *list, size_t *from);
void database_queue_begin(database_work *work);
void database_queue_end(database_work *work);
void database_send(database_work *work);
/* The application's snapshot shows an outdated anchor: HF_RETRY. */
void database_stale(database_work *work, const hf_resource_row *row);
/* A list in the arena of the working set; one for rows of a table of fields. */
hf_list *database_list(database_work *work, const char *kinds);
hf_list *database_rows_list(database_work *work, const hf_row_fields *of, unsigned mask);
/* Lists of what the working set names: resources (type, id) in canonical order, sessions (id) by
 * id. NULL: out of memory. */
hf_list *database_list_names(database_work *work, bool requests);
typedef enum database_need {
    NEED_ROW,
    NEED_ROW_LOCK,
    NEED_LOCKS,
    NEED_LOCKS_COUNTED,
    NEED_ANCHORS,
    NEED_REQUESTS,
    NEED_LOST
} database_need;
hf_list *database_list_sessions(database_work *work, database_need need);
hf_list *database_list_losses(database_work *work);
hf_list *database_list_past_saves(database_work *work);
hf_list *database_list_versions(database_work *work);
hf_list *database_list_opens(database_work *work);
hf_list *database_list_types(database_work *work);
void database_list_add_id(hf_list *list, const char *id);
void database_list_sort_ids(hf_list *list);

/* database_rows.c: reads the row that a statement is at into the working set. */
void database_read_row(database_work *work, int which, hf_stmt *stmt);

/* database_load.c: begins, locks what is to be changed, loads what the part names, reads the time.
 * False: out of memory. */
bool database_load(database_work *work, hf_error *err);
/* database_snapshot.c: after a failed attempt: marks as busy the resources of the working set
 * whose anchor another transaction is inserting. False: it can't be told. */
bool database_find_inserting(database_work *work);
/* For ops that stand alone: reads the time. */
void database_read_clock(database_work *work);
/* After statements that ask for the time: if it did not come, not all rows have come, and that
 * is a failure. */
void database_expect_time(database_work *work);
/* Puts a name on a list of (type, id). */
void database_add_name(hf_list *list, hf_slice type, hf_slice id);
/* After the statements for the anchors: those that did not come back and are not busy are ours
 * to insert. */
void database_judge_anchors(database_work *work, const hf_list *names);
void database_queue_anchors(database_work *work, const hf_list *names);

/* database_snapshot.c: in an application's transaction: HF_RETRY if what was loaded is outdated. */
void database_check_snapshot(database_work *work);

/* database_save.c: saves what changed, and commits. */
void database_save(database_work *work);

/* postgres_watch.c */
hf_status postgres_watch(hf_store *base, hf_watch **out, hf_error *err);

/* database_query.c: what stands alone. */
hf_status database_alone(database_work *work, hf_error *err);
/* Gives committed events their numbers. If another transaction is numbering it is waited for,
 * but not for long. */
void database_number_events(database_work *work);
/* database_sweep.c */
void database_do_sweep(database_work *work, hf_op *op);

#endif
