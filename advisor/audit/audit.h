/* SPDX-License-Identifier: MIT */
/* An audit: facts from files and a database, joined by rules into findings. */
#ifndef HF_AUDIT_AUDIT_H
#define HF_AUDIT_AUDIT_H

#include "audit/files.h"
#include "audit/schema.h"
#include "audit/sql_read.h"

typedef enum audit_level { AUDIT_LOW, AUDIT_MEDIUM, AUDIT_HIGH } audit_level;

const char *audit_level_name(audit_level level);
/* False: there is no such level. */
bool audit_level_find(const char *name, audit_level *out);

/* A statement as it is executed, with where it stands. */
typedef struct audit_statement {
    const audit_fact *fact;
    audit_place place;
    audit_table *table; /* NULL: not declared */
    sql_statement sql;
    const char *seen; /* the database ran it: how often, since when; NULL: from a file */
} audit_statement;

typedef struct audit_run audit_run;
typedef struct audit_rule audit_rule;

/* One rule: a file in rules/, with its samples in tests/audit/samples/NAME. */
struct audit_rule {
    const char *name;
    audit_level severity;
    audit_level confidence; /* at most */
    const char *sentence;   /* what is wrong, whatever the place */
    const char *why;        /* what it leads to */
    const char *holdfast;   /* how to mend it with holdfast */
    const char *without;    /* ... and without */
    void (*judge)(audit_run *run, const audit_rule *rule);
};

/* All of them, ended by NULL. */
extern const audit_rule *const audit_rules[];

typedef struct audit_finding {
    const audit_rule *rule;
    audit_level severity, confidence;
    audit_place place;
    audit_place declared; /* what it is held against; line 0: nothing */
    hf_slice table;
    const char *text;      /* what is wrong here, in a sentence */
    const char *statement; /* where it is in no file: what the database ran; may be NULL */
    const char *reason;    /* it is suppressed, because of this; NULL: it is not */
    bool known;            /* in the baseline */
    char fingerprint[33];
} audit_finding;

/* Something to ask, because code seldom shows it (questions.c). */
typedef struct audit_question {
    const char *name;  /* which of them */
    const char *text;  /* the question */
    audit_place place; /* what suggests it */
} audit_question;

enum { AUDIT_QUESTIONS_MAX = 32 };

/* Facts, or statements, of one file: from, up to and without end. */
typedef struct audit_span {
    size_t from, end;
} audit_span;

struct audit_run {
    hf_arena arena;
    audit_files files;
    audit_facts facts;
    audit_schema schema;
    audit_statement *statements;
    size_t statements_count, statements_room;
    audit_finding *findings;
    size_t findings_count, findings_room;
    audit_span *facts_of, *statements_of; /* of each file */
    audit_question questions[AUDIT_QUESTIONS_MAX];
    size_t questions_count;
    const char *database; /* where --db was, for sentences; NULL: none */
    const char **notes;   /* what could not be looked at, and why */
    size_t notes_count;
    bool failed; /* memory was out */
};

typedef struct audit_options {
    char *const *paths;
    int paths_count;
    const char *db;       /* URL; NULL: none */
    int64_t idle_us;      /* transactions that sit idle for longer are told */
    const char *baseline; /* its text; NULL: none */
    void (*progress)(size_t done, size_t of);
} audit_options;

enum { AUDIT_NOTES_MAX = 64 };

/* Fills *out, which is all zero before. HF_UNAVAILABLE: the database can't be reached. Whatever it
 * came to, audit_run_done may be called. */
hf_status audit_run_all(const audit_options *options, audit_run *out, hf_error *err);
void audit_run_done(audit_run *run);

/* A note about what was not looked at. */
void audit_note(audit_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- for rules ---- */

/* Adds a finding: rule's levels, unless `confidence` is lower. */
void audit_found(audit_run *run, const audit_rule *rule, const audit_finding *at,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A use of the column in the list; NULL: none. */
const sql_use *audit_use_of(const sql_use *uses, size_t count, hf_slice column);

/* Whether the statement picks one row by its key: `id = ?`. */
bool audit_by_key(const audit_statement *statement);

/* The first column it sets to a value from outside; empty: none. */
hf_slice audit_bound_write(const audit_statement *statement);

/* Whether some other statement of the same function makes `test` true. */
bool audit_beside(const audit_run *run, const audit_statement *statement,
                  bool (*test)(const audit_statement *other, const audit_statement *one));

/* ---- locks that a program takes (locking.c) ---- */

/* Whether the fact takes a lock of a record: a call with the record's key, a row in a table of
 * locks, an advisory lock. Not a mutex of threads. */
bool audit_takes_lock(const audit_run *run, const audit_fact *fact);

/* Whether it gives one back. */
bool audit_gives_lock_back(const audit_fact *fact);

/* Whether the call begins or ends a transaction. */
bool audit_bounds_transaction(const audit_fact *fact);

/* Whether the lock ends with a block: `with`, a callback, a resource of `try`; or its result is
 * kept, and may be given back by it. */
bool audit_lock_is_scoped(const audit_fact *fact);

/* Whether a lock is taken (or, given back) in the function of `in` between two facts of it; NULL
 * for `from`: since it began. */
bool audit_locked_between(const audit_run *run, const audit_fact *in, const audit_fact *from,
                          const audit_fact *to, bool back);

/* Whether the call loads a record; whether it saves one. */
bool audit_loads(const audit_fact *fact);
bool audit_saves(const audit_fact *fact);

/* The statement that the fact is; NULL: none, or it is not judged. */
const audit_statement *audit_statement_of(const audit_run *run, const audit_fact *fact);

/* UPDATE of one row, by one column that is compared with a value, and nothing else looked at. */
bool audit_writes_blindly(const audit_statement *statement);

/* Whether the SELECT answers a column that the UPDATE writes with a value from outside. */
bool audit_reads_written(const audit_statement *select, const audit_statement *update);

/* Whether two facts are in one function. */
bool audit_same_function(const audit_fact *one, const audit_fact *other);

/* Questions (questions.c). */
void audit_ask(audit_run *run);

/* ---- for mappings ---- */

/* What a framework's classes and calls declare goes into the schema (mapping_*.c). */
void audit_map_classes(audit_run *run);

/* ---- the database ---- */

/* Schema, executed statements, idle transactions (live.c). */
hf_status audit_live(audit_run *run, const audit_options *options, hf_error *err);

/* Adds what a text of SQL declares and executes. */
void audit_add_sql(audit_run *run, const audit_fact *fact, const char *seen);

#endif
