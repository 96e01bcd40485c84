/* SPDX-License-Identifier: MIT */
/* Records of an application's own tables, saved so that nobody's work is lost.
 *
 * A table is described once, with what the database can't know: its version column, who and when,
 * its policy, its parent. Columns, types and keys are read from the database. What one piece of
 * work reads, changes, adds and removes is a unit. It is committed in one transaction or not at
 * all: in this request or, by a token, in a later one and in another process.
 *
 *     static const hf_table tables[] = {
 *         {.name = "customer", .version = "version", .by = "changed_by", .at = "changed_at"},
 *         {.name = "address", .parent = "customer", .link = "customer_id"}};
 *     hf_tables_open("sqlite:office.db", tables, 2, NULL, &db, &err);
 *     hf_unit_open(db, &(hf_unit_options){.user = "alice"}, &unit, &err);
 *     hf_unit_find(unit, "customer/42", &customer, &err);
 *     hf_record_set(customer, "city", HF_TEXT("Bern"), &err);
 *     hf_unit_commit(unit, &report, &err);
 *
 * A record is named as a lock is: "customer/42". A key of several columns is "line/17,3"; in it a
 * comma or a percent sign of a value is written %2C or %25. Bytes are written in hex (after \x on
 * PostgreSQL), timestamps as the database writes them: "2026-11-18 14:02:07", with +00 behind it
 * where PostgreSQL's column has a time zone; truth is true or false on PostgreSQL, else 1 or 0. A
 * record is found by the spelling of values, too.
 *
 * Tables that a guard watches (docs/guards.md) are saved like others: a commit writes the version
 * that was read, or the fence of the root's lock or save, into the column `holdfast`, which is none
 * of the record's columns.
 *
 * Everything a unit hands out lives as long as the unit. A unit is used by one thread at a time;
 * tables are shared by threads. */
#ifndef HOLDFAST_RECORD_H
#define HOLDFAST_RECORD_H

#include <holdfast/session.h>

HF_BEGIN_DECLS

/* ---- values ---- */

/* The value of a column. Truth is a whole number. Text is UTF-8, has no NUL inside and one behind
 * it, and holds what has no kind of its own, spelled the same on every database:
 *     decimal    "12.50"
 *     date       "2026-11-18"
 *     time       "14:02:07.25"            no zeros at the end of the fraction
 *     timestamp  "2026-11-18T14:02:07"    with a "Z" where the column has a time zone: in UTC
 *     uuid       in lower case
 *     JSON       without white space between its parts */
typedef enum hf_field_kind {
    HF_FIELD_NULL,
    HF_FIELD_INT,
    HF_FIELD_REAL,
    HF_FIELD_TEXT,
    HF_FIELD_BYTES
} hf_field_kind;

typedef struct hf_field {
    hf_field_kind kind;
    int64_t number;
    double real;
    const char *text; /* of text and bytes */
    size_t size;      /* of them; SIZE_MAX in a text that is passed in: up to its NUL */
} hf_field;

#define HF_NULL        ((hf_field){.kind = HF_FIELD_NULL})
#define HF_NUMBER(n)   ((hf_field){.kind = HF_FIELD_INT, .number = (n)})
#define HF_REAL(r)     ((hf_field){.kind = HF_FIELD_REAL, .real = (r)})
#define HF_TEXT(s)     ((hf_field){.kind = HF_FIELD_TEXT, .text = (s), .size = SIZE_MAX})
#define HF_BYTES(p, n) ((hf_field){.kind = HF_FIELD_BYTES, .text = (p), .size = (n)})

/* ---- tables ---- */

/* How it is found out that others have changed a record. */
typedef enum hf_compare {
    /* By its version: the version column; without one, the version of the resource in holdfast's
     * own table (version.h). A member has its root's. */
    HF_COMPARE_VERSION,
    HF_COMPARE_ALL,    /* every column still is as it was read, byte by byte */
    HF_COMPARE_CHANGED /* the same of the columns that the unit sets; others may change the rest */
} hf_compare;

/* What a merge makes of a column that others have changed too (hf_unit_merge). */
typedef enum hf_merge_rule {
    HF_MERGE_NEVER, /* a person decides */
    HF_MERGE_MINE,
    HF_MERGE_THEIRS,
    HF_MERGE_MAX,
    HF_MERGE_MIN,
    HF_MERGE_SUM,   /* theirs, plus what mine has added to the base; numbers */
    HF_MERGE_UNION, /* words joined by commas: what either has added, less what either removed */
    HF_MERGE_CALL   /* the column's function decides, also where both have set the same */
} hf_merge_rule;

typedef struct hf_column {
    const char *name; /* NULL ends the list */
    hf_merge_rule merge;
    bool quiet; /* setting this column alone moves no version and is never a conflict */
    /* HF_MERGE_CALL: true when *out is the merged value; its text is copied. */
    bool (*call)(const hf_field *base, const hf_field *mine, const hf_field *theirs, hf_field *out);
} hf_column;

typedef struct hf_table {
    /* "customer", "sales.customer". NULL, with a type: a set without a table, whose members name it
     * by their links. It has the columns of the first member's link, and is there as long as it has
     * a member; its version is stored in holdfast's own table, and ends with the last one. */
    const char *name;
    const char *type; /* of its resources; the name without a schema when NULL */
    /* Of the type; registered when the tables are opened. Of a member, its root's counts.
     * HF_POLICY_NONE: without locks, and nothing is registered. */
    hf_policy policy;
    hf_compare compare;
    const char *version; /* a column of whole numbers, not null; NULL: there is none */
    /* Columns: who saved it last, and when (a timestamp, text, or microseconds since 1970); who
     * made it, and when. NULL: not kept. */
    const char *by, *at, *made_by, *made_at;
    /* A member of the aggregate of that table, or of the set of that type, whose key stands in the
     * column `link` (several: "a,b"). NULL: it is a root. */
    const char *parent, *link;
    const hf_column *columns; /* those with rules of their own; NULL: none */
} hf_table;

typedef struct hf_tables hf_tables;

/* Opens the database and looks every table up. The URL is that of a store; holdfast's own tables
 * are needed there only for policies, and for versions without a version column (SQLite: they are
 * made then). keys: the file with the secrets for tokens (hf_unit_export); NULL: there are none.
 * The array is borrowed until hf_tables_close. HF_INVALID names the table or column that is not
 * there or does not fit. */
HF_API HF_MUST_USE hf_status hf_tables_open(const char *url, const hf_table *tables, size_t count,
                                            const char *keys, hf_tables **out, hf_error *err);

/* Connects, and writes the ALTER TABLE statements that the description still lacks in the database
 * (version, who, when) piece by piece to the sink, for an administrator to read and run. */
HF_API HF_MUST_USE hf_status hf_tables_sql(const char *url, const hf_table *tables, size_t count,
                                           void (*sink)(void *context, const char *text),
                                           void *context, hf_error *err);

/* Its units must have been freed. Accepts NULL. */
HF_API void hf_tables_close(hf_tables *tables);

/* ---- units ---- */

typedef struct hf_unit hf_unit;
typedef struct hf_record hf_record;
typedef struct hf_report hf_report;

typedef struct hf_unit_options {
    /* Whose locks count, and whose user saves; opened in the same database. Borrowed until the unit
     * is freed. NULL: tables with a policy of locks can't be used where they need one. */
    hf_session *session;
    const char *user; /* who saves, without a session */
    /* What its locks are for, for whoever is refused; NULL: not said. Borrowed as the session. */
    const char *purpose;
    /* An older session of the same person, for the same record: a page that was opened again. Where
     * this unit acquires a lock, that session ends in the same transaction, so that nobody is in
     * their own way and nobody gets in between. NULL: none. Borrowed as the session. */
    hf_session *replaces;
} hf_unit_options;

HF_API HF_MUST_USE hf_status hf_unit_open(hf_tables *tables, const hf_unit_options *options,
                                          hf_unit **out, hf_error *err);

/* Accepts NULL. */
HF_API void hf_unit_free(hf_unit *unit);

/* The record, loaded once: the first read wins, and a second find answers the same record as it was
 * first read. Where its policy wants a lock to read, that is acquired first. Finding a member loads
 * its root too. HF_NOT_FOUND: there is no such row; where versions are stored in holdfast's own
 * table, the sentence says who deleted it. HF_LOCKED: someone else holds it. HF_STALE: its
 * aggregate has moved since the unit read another part of it. */
HF_API HF_MUST_USE hf_status hf_unit_find(hf_unit *unit, const char *resource, hf_record **out,
                                          hf_error *err);

/* The same, to be edited: where its policy wants a lock to edit, its root is locked exclusively and
 * then loaded, in one transaction. HF_STALE: the unit has read it before, and it has changed since;
 * open another unit. */
HF_API HF_MUST_USE hf_status hf_unit_edit(hf_unit *unit, const char *resource, hf_record **out,
                                          hf_error *err);

/* Those that fit a condition, "city = ?1 AND name > ?2 ORDER BY name" (NULL: all); at most
 * HF_LIST_MAX (HF_TOO_LARGE). The condition is SQL of the program's own: never put what a person
 * wrote into it but by args. *out, of *found records, lives as long as the unit. */
HF_API HF_MUST_USE hf_status hf_unit_select(hf_unit *unit, const char *table, const char *where,
                                            const hf_field *args, size_t count, hf_record ***out,
                                            size_t *found, hf_error *err);

/* A new record of that table; a member's parent must be given, others' must be NULL. A key that is
 * not set is for the database to make; it is there after the commit. */
HF_API HF_MUST_USE hf_status hf_unit_add(hf_unit *unit, const char *table, hf_record *parent,
                                         hf_record **out, hf_error *err);

/* To be deleted when the unit is committed; what it is the parent of goes with it. */
HF_API HF_MUST_USE hf_status hf_unit_remove(hf_unit *unit, hf_record *record, hf_error *err);

/* ---- records ---- */

/* The value as the unit has it; borrowed until the record is next set or committed. NULL: there is
 * no such column. */
HF_API const hf_field *hf_record_get(const hf_record *record, const char *column);

/* Sets a column, in the unit only. HF_INVALID: no such column, a value that does not fit it, or a
 * column that holdfast or the database keeps. */
HF_API HF_MUST_USE hf_status hf_record_set(hf_record *record, const char *column, hf_field value,
                                           hf_error *err);

typedef struct hf_record_info {
    char resource[HF_RESOURCE_SIZE]; /* "": new, and the database is to make its key */
    int64_t version;       /* that was read, of a member its root's; 0: new, or there is none */
    int64_t at_us;         /* when it was last saved; 0: not known */
    char by[HF_TEXT_SIZE]; /* by whom, as people read it; "": not known */
    bool added, changed, removed; /* in this unit, and not committed */
} hf_record_info;

HF_API void hf_record_describe(const hf_record *record, hf_record_info *out);

/* ---- premises ---- */

typedef enum hf_rely_kind {
    HF_RELY_UNCHANGED, /* the record stays as the unit has read it; a member: its aggregate */
    HF_RELY_PRESENT,   /* the row is there */
    HF_RELY_ABSENT,    /* it is not */
    HF_RELY_WHERE,     /* the row is there and fits the condition */
    /* Of a table, the rows that fit the condition stay the same: as hf_unit_select has found them
     * by that condition in this unit, else as they are now. */
    HF_RELY_RESULT
} hf_rely_kind;

typedef struct hf_reliance {
    hf_rely_kind kind;
    const char *resource; /* "tax/DE"; HF_RELY_RESULT: the table's name */
    const char *where;    /* HF_RELY_WHERE, HF_RELY_RESULT; as in hf_unit_select, without ORDER */
    const hf_field *args;
    size_t count;
    const char *why; /* said when it no longer holds: "The tax rate has changed."; may be NULL */
} hf_reliance;

/* What the unit writes relies on this. It is compared in the transaction that commits, and kept as
 * it is until that has ended: rows by locking reads; ABSENT and RESULT by gap locks (MariaDB,
 * MySQL), by locking the table against writers (PostgreSQL), by being the only writer (SQLite). */
HF_API HF_MUST_USE hf_status hf_unit_rely(hf_unit *unit, const hf_reliance *on, hf_error *err);

/* ---- what came of it ---- */

/* Would a commit go through now? HF_STALE: no, and *out (may be NULL) says why. Locks nothing and
 * promises nothing. */
HF_API HF_MUST_USE hf_status hf_unit_check(hf_unit *unit, hf_report **out, hf_error *err);

/* Saves all of it, or nothing. HF_STALE: others were faster, and *out (may be NULL) says what,
 * who, when, column by column. HF_NOT_HELD: the lock that the policy wants to edit is missing: it
 * should have been hf_unit_edit, or it was lost. HF_RETRY, HF_BUSY: commit again. HF_UNSURE: it is
 * not known whether it was done; commit again, which finds out from what stands in the database,
 * or stays HF_UNSURE; until then the unit can't be changed. Without a column `by`, the very same
 * values saved by someone else count as this unit's. HF_INVALID: the database refuses a value.
 * After a refusal the unit is as it was; after HF_OK it stands at what was saved, without
 * premises, and the work may go on. */
HF_API HF_MUST_USE hf_status hf_unit_commit(hf_unit *unit, hf_report **out, hf_error *err);

/* Takes over what others have saved, three ways by column: what only they have changed is theirs,
 * what only the unit has set stays, what both have is decided by the column's rule. Only if every
 * premise holds and no record that was merely read has changed. HF_STALE: a person must decide, and
 * *out (may be NULL) says what on; the unit is as it was. Saves nothing: commit does. */
HF_API HF_MUST_USE hf_status hf_unit_merge(hf_unit *unit, hf_report **out, hf_error *err);

/* Opens a unit, lets `work` read and set in it, and commits. On HF_RETRY and HF_BUSY, of either,
 * all of it is done again with a new unit; on HF_UNSURE the same unit is committed again, to find
 * out. At most `tries` times (up to 100) in all. Any other status is passed on: HF_STALE is for a
 * person. */
typedef hf_status hf_work(hf_unit *unit, void *context, hf_error *err);
HF_API HF_MUST_USE hf_status hf_unit_run(hf_tables *tables, const hf_unit_options *options,
                                         hf_work *work, void *context, unsigned tries,
                                         hf_error *err);

/* The unit as text for a form, good for ttl_us: sealed by AES-256-GCM, for hidden columns must not
 * reach a browser, and bound to its user and its database. Freed with hf_json_free. The first line
 * of the file of keys has one or several keys of 64 hex digits, with spaces between them: the first
 * seals, all open, so a new one is put before the old. The file is its owner's alone (chmod 600).
 * HF_TOO_LARGE: over 1 MiB. */
HF_API HF_MUST_USE hf_status hf_unit_export(hf_unit *unit, int64_t ttl_us, char **out,
                                            hf_error *err);

/* The unit of a token, in a later request, in any process with the same keys. HF_INVALID: altered,
 * or of another database. HF_EXPIRED. HF_DENIED: of another user. */
HF_API HF_MUST_USE hf_status hf_unit_import(hf_tables *tables, const hf_unit_options *options,
                                            const char *text, hf_unit **out, hf_error *err);

typedef enum hf_clash_kind {
    HF_CLASH_CHANGED,
    HF_CLASH_DELETED,
    HF_CLASH_THERE,  /* a record that the unit adds is there already */
    HF_CLASH_PREMISE /* what the unit relies on is so no longer */
} hf_clash_kind;

typedef struct hf_difference {
    /* the record: of an aggregate, the member; its type alone while it has no key */
    char resource[HF_RESOURCE_SIZE];
    const char *column;
    hf_field base, mine, theirs; /* as it was read, as the unit has it, as it is now */
} hf_difference;

typedef struct hf_clash {
    hf_clash_kind kind;
    /* of an aggregate, its root; of a member that others have deleted, the member */
    char resource[HF_RESOURCE_SIZE];
    int64_t expected, actual;      /* versions; 0: there is none */
    int64_t at_us;                 /* when others saved it; 0: not known */
    char by[HF_TEXT_SIZE];         /* who; "": not known */
    char message[HF_MESSAGE_SIZE]; /* one sentence */
    const hf_difference *columns;  /* what others changed, and what the unit sets */
    size_t columns_count;
} hf_clash;

HF_API size_t hf_report_count(const hf_report *report);
HF_API const hf_clash *hf_report_at(const hf_report *report, size_t index);

/* {"conflicts":[{"resource":"customer/42","what":"changed","message":...,"columns":[...]}]}, for a
 * page. Freed with hf_json_free; NULL: out of memory. */
HF_API char *hf_report_json(const hf_report *report);

/* Accepts NULL. */
HF_API void hf_report_free(hf_report *report);

/* ---- many at once ---- */

/* Sets columns of many records, each if its version is still the one that was read. */
typedef struct hf_bulk {
    /* a root with a version column and without a policy of locks, not guarded by locks or saves */
    const char *table;
    const char *const *columns; /* to be set */
    size_t columns_count;
    const char *const *keys; /* "42": what stands after the type in a record's name */
    const int64_t *versions; /* that were read */
    const hf_field *values;  /* row after row */
    size_t rows;
    bool skip; /* leave out what others have changed; else nothing is saved then */
} hf_bulk;

/* One statement a thousand records, all in one transaction. HF_OK: *saved (may be NULL) were saved,
 * and with `skip` *out (may be NULL) says which were not. HF_STALE: nothing was saved; *out says
 * all whose version has moved, with who and when. A record that is named twice is HF_INVALID. */
HF_API HF_MUST_USE hf_status hf_tables_bulk(hf_tables *tables, const hf_unit_options *options,
                                            const hf_bulk *bulk, size_t *saved, hf_report **out,
                                            hf_error *err);

HF_END_DECLS

#endif
