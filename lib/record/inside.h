/* SPDX-License-Identifier: MIT */
/* What the files of records share: a table as the catalog tells it, a connection with its
 * statements, a record, a unit, a commit on its way. */
#ifndef HF_RECORD_INSIDE_H
#define HF_RECORD_INSIDE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"
#include "db/pool.h"
#include "db/url.h"

#include <holdfast/record.h>
#include <holdfast/store.h>

/* ---- tables ---- */

/* What a column holds, by its type in the catalog. */
typedef enum rec_class {
    REC_ANY, /* SQLite: a column without a type takes everything */
    REC_INT,
    REC_BOOL,
    REC_REAL,
    REC_DECIMAL,
    REC_TEXT,
    REC_BYTES,
    REC_DATE,
    REC_TIME,
    REC_STAMP,   /* a timestamp without a time zone */
    REC_INSTANT, /* with one: in UTC */
    REC_UUID,
    REC_JSON,
    REC_OTHER /* as the database writes it */
} rec_class;

typedef enum rec_dialect { REC_SQLITE, REC_POSTGRES, REC_MYSQL } rec_dialect;

typedef struct rec_column {
    const char *name;
    const char *quoted; /* as an identifier */
    const char *read;   /* the expression that reads it in one spelling */
    const char *type;   /* its name in the catalog */
    rec_class holds;
    int64_t least, most; /* of whole numbers */
    size_t chars_max;    /* of text; 0: no limit that is known */
    bool null_ok;
    bool made;      /* the database makes the value when none is given */
    bool generated; /* it always does */
    /* What is stored may differ from what was sent: rounded, padded, spelled otherwise. */
    bool lossy;
    bool quiet;
    const hf_column *rule; /* NULL: none */
} rec_column;

enum { REC_KEY_MAX = 8, REC_COLUMNS_MAX = 1000 };

/* What the guard of a table wants a statement to carry (docs/guards.md). */
typedef enum rec_guard {
    REC_OPEN,
    REC_GUARD_HIDDEN,  /* this account may not read which: settled by the description */
    REC_GUARD_VERSION, /* the version that was read; each write moves it */
    REC_GUARD_LOCK,    /* the fence of an exclusive lock on the root */
    REC_GUARD_SAVE     /* the fence of the root's save in this transaction */
} rec_guard;

typedef struct rec_table {
    const hf_table *as;
    rec_dialect dialect; /* of its database */
    const char *name;   /* without a schema, as the catalog spells it */
    const char *schema; /* "": none was given */
    const char *quoted;
    char type[HF_TYPE_SIZE];
    rec_column *columns;
    size_t count;
    size_t key[REC_KEY_MAX];
    size_t key_count;
    int version, by, at, made_by, made_at; /* columns; -1: none */
    struct rec_table *parent;              /* NULL: a root */
    struct rec_table *root;                /* itself where it is one */
    size_t link[REC_KEY_MAX];              /* columns with the parent's key */
    int rank;                              /* after all that its foreign keys name */
    /* For its catalog: names of tables that its foreign keys name. */
    const char **names;
    size_t names_count;
    /* SELECT of all columns, without a condition; the condition on its key, from $1 on. */
    const char *select, *by_key;
    const char *one[3]; /* both, by rec_lock */
    bool stored;        /* its versions stand in holdfast's own table */
    bool set;           /* there is no table: see set.c */
    /* Its guard, the column for the carried number (which is none of `columns`), the type that it
     * guards ("": not known), and the version column that it counts in. */
    rec_guard guard;
    const char *carried, *guard_type;
    size_t carries;
    bool lockable;      /* PostgreSQL: this role may lock the whole table to write it */
} rec_table;

struct hf_tables {
    hf_arena arena;
    hf_url url;
    hf_pool *pool;
    hf_db *checkpointer; /* SQLite: see conn.c; NULL on others */
    hf_db_kind kind;
    rec_dialect dialect;
    int version; /* of the database */
    rec_table *tables;
    size_t count;
    bool locks;     /* holdfast's own tables are needed */
    char *path;     /* where it is, for a sentence */
    char *place;    /* which database it is, for tokens */
    char *keys;     /* the file with secrets; NULL */
    char places[3]; /* how a parameter begins: "?" or "$" */
};

rec_table *rec_table_named(hf_tables *tables, const char *name);
rec_table *rec_table_typed(hf_tables *tables, const char *type);
/* -1: there is none. */
int rec_column_named(const rec_table *table, const char *name);
bool rec_is_key(const rec_table *table, size_t column);
/* Whether a policy wants a lock: of the table's root. */
bool rec_locks_to_edit(const rec_table *table);
/* Whether every write moves the version, also of columns that are quiet: the guard sees to it. */
bool rec_guard_moves(const rec_table *table);
bool rec_locks_to_read(const rec_table *table, hf_mode *mode);

/* catalog.c: reads what the database says of a table. HF_INVALID: it does not fit. */
hf_status rec_catalog_read(hf_tables *tables, hf_db *db, rec_table *table, hf_error *err);
/* describe.c: what the description says, checked against the catalog. With a sink what is missing
 * is written there as ALTER statements and is no error. */
typedef struct rec_missing {
    void (*sink)(void *context, const char *text);
    void *context;
} rec_missing;
hf_status rec_describe(hf_tables *tables, hf_db *db, const hf_table *as, size_t count,
                       const rec_missing *missing, hf_error *err);

/* set.c: a set without a table. Its key is that of its members' links: each joins with `count`
 * columns. */
hf_status rec_set_describe(rec_table *table, hf_error *err);
hf_status rec_set_join(hf_tables *tables, rec_table *set, const rec_table *member, size_t count,
                       hf_error *err);

/* Quotes an identifier; in the arena. */
char *rec_quote(hf_tables *tables, hf_arena *arena, const char *name);

/* ---- connections ---- */

typedef struct rec_statement rec_statement;

enum { REC_STATEMENTS = 64 }; /* buckets */

/* The last UPDATE: the next one is mostly the same, and need not be written again. */
typedef struct rec_last_update {
    const rec_table *table; /* NULL: none */
    uint64_t set;           /* its columns, of up to 64 */
    bool moves;
    hf_stmt *stmt;
} rec_last_update;

typedef struct rec_conn {
    hf_tables *tables;
    hf_pooled *pooled;
    hf_db *db;
    rec_statement *statements[REC_STATEMENTS];
    size_t statements_count;
    rec_last_update last_update;
    hf_store *store; /* holdfast on this connection; made when first needed */
    hf_batch *batch;
    int tidy_at; /* SQLite: pages of the log at which it is copied next */
} rec_conn;

hf_status rec_conn_take(hf_tables *tables, rec_conn **out, hf_error *err);
/* Rolls back what is open. Accepts NULL. */
void rec_conn_give(rec_conn *conn);
void rec_conn_drop(void *conn); /* of the pool */
/* The statement with that text, ready to be bound; it belongs to the connection. */
hf_status rec_conn_statement(rec_conn *conn, const char *sql, hf_stmt **out, hf_error *err);
hf_status rec_conn_store(rec_conn *conn, hf_error *err);
/* Begins a transaction, by the first statement that is stepped where the database can. Until then
 * there is none: this is for those who use neither the store nor SQL as text in it, and who roll
 * back whatever fails, so that no BEGIN stays queued. */
hf_status rec_conn_begin(rec_conn *conn, hf_isolation level, hf_error *err);
/* SQLite: after a commit, copies a long log into the file. */
void rec_conn_tidy(rec_conn *conn);

/* ---- values ---- */

/* spell.c: a value that a program gives, checked and spelled as this column is; in the arena. */
hf_status rec_spell(const hf_tables *tables, const rec_table *table, const rec_column *column,
                    hf_field value, hf_arena *arena, hf_field *out, hf_error *err);
/* The same from the text of a key. */
hf_status rec_spell_text(const hf_tables *tables, const rec_table *table, const rec_column *column,
                         hf_slice text, hf_arena *arena, hf_field *out, hf_error *err);
/* A column of the row that a statement is at; in the arena. */
hf_status rec_read_field(const hf_tables *tables, const rec_table *table, const rec_column *column,
                         hf_stmt *stmt, int at, hf_arena *arena, hf_field *out, hf_error *err);
/* Binds it as the column's type wants; column NULL: as it is. Text that has to be spelled for this
 * database is put into the arena. */
bool rec_bind(const hf_tables *tables, const rec_column *column, hf_stmt *stmt, int at,
              const hf_field *value, hf_arena *arena);
/* A timestamp as this database wants it; other values stay. False: out of memory. */
bool rec_spell_stamp(const hf_tables *tables, const rec_column *column, hf_slice *text,
                     hf_arena *arena);
bool rec_same(const hf_field *a, const hf_field *b);
/* Microseconds of a timestamp in our spelling, or of a number; 0: it is none. */
int64_t rec_time_of(const hf_field *value);
/* For a key, and for people; false: out of memory. */
bool rec_field_print(hf_buffer *out, const hf_field *value);

/* ---- records ---- */

struct hf_record {
    hf_unit *unit;
    rec_table *table;
    char id[HF_ID_SIZE]; /* "": not known yet */
    hf_field *base;      /* as it was first read; all null of a new one */
    hf_field *now;       /* as the unit has it */
    bool *set;           /* which were set */
    bool added, removed;
    bool gone;          /* it was removed, and that is committed */
    bool seen;          /* the program asked for it; it is not only the root of something */
    int64_t version;    /* that was read; stored ones too */
    hf_record *parent;  /* of a member */
    hf_record *next;    /* in the unit, in the order in which they came */
    hf_record *in_hash; /* same bucket */
    size_t place;       /* in the unit, counted by a commit */
    /* What a commit on its way makes of it; counts when that has ended well. */
    hf_field *coming;
    int64_t coming_version;
    const char *coming_id;
    bool moves; /* its version moves: a root of what is changed, or changed itself */
    /* A root: which guards of its aggregate want a fence, as bits of 1 << rec_guard; and that. */
    unsigned guards;
    int64_t fences[REC_GUARD_SAVE + 1];
    int64_t saved_before; /* of a root with a version of its own: the one in holdfast's tables */
    bool ends;  /* a set whose last member goes */
    bool read;  /* in this commit: `theirs` is what stands in the database */
    bool there;
    hf_field *theirs;
    int64_t theirs_version;
    /* Stored versions: who and when, as read, as saved now, as others have saved; NULL: none. */
    hf_version *saved, *coming_saved, *theirs_saved;
};

typedef struct rec_reliance {
    hf_rely_kind kind;
    rec_table *table;
    char id[HF_ID_SIZE];
    hf_field key[REC_KEY_MAX];
    hf_record *record; /* UNCHANGED: as it was read */
    const char *where, *why;
    hf_field *args;
    size_t count;
    unsigned char digest[32]; /* RESULT: of the rows */
    struct rec_reliance *next;
} rec_reliance;

/* What a select has shown: a premise on its result means these rows. */
typedef struct rec_selection {
    const rec_table *table;
    const char *where; /* "": all */
    const hf_field *args;
    size_t count;
    hf_record **records;
    size_t found;
    struct rec_selection *next;
} rec_selection;

enum { REC_BUCKETS = 64 };

struct hf_unit {
    hf_tables *tables;
    hf_session *session, *replaces;
    const char *purpose;
    char user[HF_TEXT_SIZE];
    hf_arena arena;
    hf_record *first, **last;
    hf_record *hash[REC_BUCKETS];
    rec_reliance *reliances;
    rec_selection *selections; /* since the last commit or merge, the newest first */
    bool unsure;               /* the last commit's end is not known */
};

/* records.c */
hf_record *rec_record_new(hf_unit *unit, rec_table *table, hf_error *err);
void rec_record_enter(hf_record *record); /* into the identity map, by its id */
hf_record *rec_record_lookup(hf_unit *unit, const rec_table *table, const char *id);
bool rec_record_changed(const hf_record *record);
/* Whether it is changed in a column that counts. */
bool rec_record_counts(const hf_record *record);
hf_record *rec_record_root(hf_record *record);
void rec_record_name(const hf_record *record, char out[HF_RESOURCE_SIZE]);
/* "customer/42" as a table and its key's values; the id in its one spelling. */
hf_status rec_key_parse(hf_tables *tables, const char *resource, hf_arena *arena, rec_table **table,
                        hf_field key[REC_KEY_MAX], char id[HF_ID_SIZE], hf_error *err);
/* The id of a row. HF_TOO_LARGE: it is too long. */
hf_status rec_key_format(const rec_table *table, const hf_field *values, char id[HF_ID_SIZE],
                         hf_error *err);

/* ---- reading ---- */

/* select.c */
typedef enum rec_lock { REC_PLAIN, REC_SHARE, REC_UPDATE } rec_lock;
const char *rec_lock_words(const hf_tables *tables, rec_lock lock);
/* One row by its key, all columns; *there is false when there is none. */
hf_status rec_select_one(rec_conn *conn, const rec_table *table, const hf_field *key, rec_lock lock,
                         hf_arena *arena, hf_field **out, bool *there, hf_error *err);
/* The same of a set: *out is its key as its members have it; *there is false when it has none. */
hf_status rec_set_find(rec_conn *conn, const rec_table *set, const hf_field *key, hf_arena *arena,
                       hf_field **out, bool *there, hf_error *err);
/* The rows that fit a condition: row after row. HF_TOO_LARGE: more than `max`. */
hf_status rec_select_many(rec_conn *conn, const rec_table *table, const char *where,
                          const hf_field *args, size_t count, rec_lock lock, size_t max,
                          hf_arena *arena, hf_field ***out, size_t *found, hf_error *err);
/* The key of a row, in the order of the key. */
void rec_key_of(const rec_table *table, const hf_field *values, hf_field key[REC_KEY_MAX]);
/* The condition with its ?1, ?2 as this database wants them, after `from` other parameters. */
bool rec_where(const hf_tables *tables, hf_buffer *sql, const char *where, size_t from);

/* load.c */
/* Loads a record, its root first, acquiring what `edit` and the policy want. */
hf_status rec_load(rec_conn *conn, hf_unit *unit, rec_table *table, const hf_field *key,
                   const char *id, bool edit, hf_record **out, hf_error *err);

/* ---- holdfast on the connection (lock.c) ---- */

hf_status rec_lock_acquire(rec_conn *conn, hf_unit *unit, const rec_table *table, const char *id,
                           hf_mode mode, hf_error *err);
/* The version that the resource has; 0: never saved, or gone. */
hf_status rec_lock_version(rec_conn *conn, const rec_table *table, const char *id, hf_version *out,
                           hf_error *err);
/* Who saved it, as people read it. */
const char *rec_version_who(const hf_version *version);
/* A copy of it in the arena; NULL of one that was never saved. */
hf_status rec_version_keep(hf_arena *arena, const hf_version *version, hf_version **out,
                           hf_error *err);
/* Registers the policies of the tables. */
hf_status rec_lock_register(rec_conn *conn, hf_error *err);

/* ---- committing ---- */

typedef struct rec_work {
    hf_unit *unit;
    rec_conn *conn;
    hf_report *report;
    hf_arena *arena;     /* of the report */
    hf_record **targets; /* rows that are there and change, in canonical order */
    size_t targets_count;
    hf_record **writes; /* in the order in which they are written */
    size_t writes_count;
} rec_work;

/* lock.c: verifies the locks of what is changed, moves stored versions, and gets the fences that
 * guards want. `only`: of that record, just added, whose members wait for it; NULL: of all roots
 * that are added, or all that are not. */
hf_status rec_lock_save(rec_work *work, bool added, const hf_record *only, hf_error *err);

/* check.c: compares targets and premises with what stands in the database, by locking reads or
 * plain ones; conflicts go into the report. */
hf_status rec_check(rec_work *work, bool locking, hf_error *err);
/* The same of one record that a write did not find. */
hf_status rec_check_record(rec_work *work, hf_record *record, rec_lock lock, hf_error *err);

/* Reads the row as it is now into `theirs`; whether that is as it was read: by its version, or by
 * all columns or those that are set; versions, who and when; reports a record that is not. */
hf_status rec_check_read(rec_work *work, hf_record *record, rec_lock lock, hf_error *err);
bool rec_check_same(const hf_record *record, bool all);
void rec_check_who(const hf_record *record, hf_clash *conflict);
hf_status rec_check_report(rec_work *work, hf_record *record, hf_error *err);

/* commit.c: plans a commit, runs that with a connection, and hands the report out. */
hf_status rec_commit_call(hf_unit *unit, hf_status (*run)(rec_work *work, hf_error *err),
                          hf_report **out, hf_error *err);
/* HF_UNSURE of a unit that is to be committed again before anything else is made of it. */
hf_status rec_unit_is_sure(const hf_unit *unit, hf_error *err);
/* HF_STALE with the first sentence, if there is a conflict. */
hf_status rec_commit_stale(rec_work *work, hf_error *err);

/* premise.c */
/* Before anything is read. With `queued` what it has to say goes with the first statement. */
hf_status rec_premise_begin(rec_work *work, bool queued, hf_error *err);
hf_status rec_premise_check(rec_work *work, rec_reliance *on, bool locking, hf_error *err);
bool rec_premises_need_gaps(const hf_unit *unit);
/* Keeps what a select has found. */
hf_status rec_premise_remember(hf_unit *unit, const rec_selection *from, hf_error *err);

/* settle.c: after an unsure commit. *done: it was done, and the `coming` fields say so. HF_UNSURE:
 * nobody can tell. */
hf_status rec_settle(rec_work *work, bool *done, hf_error *err);

/* set.c: finds out which sets lose their last member; makes a new set. */
hf_status rec_set_ends(rec_work *work, hf_error *err);
hf_status rec_set_begin(rec_work *work, hf_record *record, hf_error *err);

/* write.c */
hf_status rec_write(rec_work *work, hf_record *record, hf_error *err);

/* report.c */
struct hf_report {
    hf_arena arena;
    hf_clash **conflicts;
    size_t count, room;
};
hf_report *rec_report_new(void);
/* A record that is there already: HF_STALE. The id is NULL where it is not known. */
hf_status rec_report_there(rec_work *work, const char *type, const char *id, hf_error *err);
hf_clash *rec_report_add(hf_report *report, hf_clash_kind kind, const char *resource);
/* Copies a value into the report; false: out of memory. */
bool rec_report_copy(hf_arena *arena, const hf_field *from, hf_field *out);
/* The record's differences, at the end of a conflict's list. */
bool rec_report_differences(hf_report *report, hf_clash *conflict, const hf_record *record);
/* Its sentence; `why` of one that has a sentence of its own. */
void rec_report_sentence(hf_clash *conflict, const char *why);
/* "was changed by Alice at 14:02 UTC (you read version 1, it is now 2)" */
void rec_report_what(const hf_clash *conflict, hf_clash_kind kind, char *out, size_t size);

#endif
