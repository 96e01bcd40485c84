/* SPDX-License-Identifier: MIT */
/* Statements that read and write rows, as far as the rules need them: which table, which columns
 * are written with what, which are looked at in WHERE. Tolerant: what it does not understand it
 * passes over, and what it can't know it says (unknown_...). */
#ifndef HF_AUDIT_SQL_READ_H
#define HF_AUDIT_SQL_READ_H

#include "audit/sql_scan.h"

typedef enum sql_verb { SQL_SELECT, SQL_INSERT, SQL_UPDATE, SQL_DELETE } sql_verb;

typedef enum sql_value {
    SQL_BOUND,   /* a parameter, a hole, or something made of one */
    SQL_MOVED,   /* made of the column itself: version + 1 */
    SQL_LITERAL, /* a number or a text */
    SQL_OTHER    /* other columns, functions, selects */
} sql_value;

/* A column that is written, or looked at in WHERE. */
typedef struct sql_use {
    hf_slice column;
    sql_value value;
    bool equal; /* in WHERE: `column = value`, joined to the rest by AND */
    bool many;  /* ... or IN a list */
} sql_use;

enum { SQL_USES_MAX = 32 };

typedef struct sql_statement {
    sql_verb verb;
    hf_slice table; /* empty: not known */
    uint32_t line;  /* from 0, within the text */
    sql_use writes[SQL_USES_MAX];
    sql_use wheres[SQL_USES_MAX];
    size_t writes_count, wheres_count;
    bool has_where;
    bool unknown_set;   /* the list of columns has a hole */
    bool unknown_where; /* a condition is a hole */
    bool unknown_name;  /* a column's name has a hole */
    bool prefixed;      /* the table's name has a part before it that is put in */
    bool joined;        /* more tables than one */
    bool locks;         /* FOR UPDATE and the like */
    bool bounded;       /* ... NOWAIT, SKIP LOCKED, WAIT n */
    bool ordered;       /* ORDER BY */
    bool upsert;        /* ON CONFLICT, ON DUPLICATE KEY, IGNORE, WHERE NOT EXISTS */
    bool returning;     /* answers the rows it wrote */
    bool params;        /* has parameters at all */
} sql_statement;

typedef void (*sql_statement_fn)(void *context, const sql_statement *statement);

/* Calls `each` for every statement, those inside others too. */
void audit_sql_read(hf_arena *arena, const sql_tokens *tokens, sql_statement_fn each,
                    void *context);

/* Steps for readers of tokens. A name may have a schema before it, quotes, or a hole as its
 * prefix; the last part counts. Each moves *at past what it took. */
bool audit_sql_word(const sql_tokens *tokens, size_t at, const char *word);
bool audit_sql_punct(const sql_tokens *tokens, size_t at, char c);
bool audit_sql_accept(const sql_tokens *tokens, size_t *at, const char *word);
hf_slice audit_sql_name(const sql_tokens *tokens, size_t *at);
/* The token after the ')' that closes the '(' at `at`, or the end. */
size_t audit_sql_past(const sql_tokens *tokens, size_t at);

#endif
