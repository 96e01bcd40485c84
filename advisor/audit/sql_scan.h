/* SPDX-License-Identifier: MIT */
/* SQL as words: of PostgreSQL, MySQL and MariaDB, SQLite, SQL Server, and of what programs put
 * into their strings (placeholders of every kind, holes). Nothing is an error here. */
#ifndef HF_AUDIT_SQL_SCAN_H
#define HF_AUDIT_SQL_SCAN_H

#include "audit/fact.h"

typedef enum sql_kind {
    SQL_WORD,   /* a name or a keyword */
    SQL_QUOTED, /* a name in quotes, without them */
    SQL_TEXT,   /* a literal text */
    SQL_NUMBER,
    SQL_PARAM, /* ?, :name, $1, @name, %s, %(name)s, #{name}, {name}, or a hole */
    SQL_PUNCT, /* one character, or <> <= >= != :: || := */
    SQL_BODY,  /* what stands between $$ and $$ */
    SQL_END
} sql_kind;

typedef struct sql_token {
    sql_kind kind;
    bool hole;  /* a parameter that is a hole: nothing is known, not even that it is a value */
    bool glued; /* no blank before it */
    hf_slice text;
    uint32_t line; /* from 0, within the text */
} sql_token;

typedef struct sql_tokens {
    sql_token *items; /* ended by SQL_END; in the arena */
    size_t count;
} sql_tokens;

enum { SQL_TOKENS_MAX = 200000 }; /* of one text; what comes after is left out */

/* False: memory is out. */
bool audit_sql_scan(hf_arena *arena, hf_slice text, sql_tokens *out);

/* Whether a text can be a statement at all: its first word is one that begins one. */
bool audit_sql_looks_like(hf_slice text);

#endif
