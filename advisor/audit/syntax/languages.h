/* SPDX-License-Identifier: MIT */
/* What the nodes of each grammar are to us. */
#ifndef HF_AUDIT_SYNTAX_LANGUAGES_H
#define HF_AUDIT_SYNTAX_LANGUAGES_H

#include "audit/module.h"

#include <tree_sitter/api.h>

typedef enum syntax_kind {
    SYNTAX_PLAIN, /* nothing of interest; what is inside may be */
    SYNTAX_FUNCTION,
    SYNTAX_CLASS,
    SYNTAX_FIELD,  /* a member of a class, with a type or annotations */
    SYNTAX_STRING, /* fragments and escapes are its text, all else in it is a hole */
    SYNTAX_FRAGMENT,
    SYNTAX_ESCAPE,
    SYNTAX_HEREDOC, /* Ruby: its text stands elsewhere */
    SYNTAX_CONCAT,  /* two operands */
    SYNTAX_JOIN,    /* texts side by side */
    SYNTAX_LIST,
    SYNTAX_ASSIGN,
    SYNTAX_APPEND, /* x += y */
    SYNTAX_CALL,
    SYNTAX_NAME,
    SYNTAX_MEMBER,    /* a.b: its last name counts */
    SYNTAX_PAREN,     /* means what is inside */
    SYNTAX_STATEMENT, /* the value of what is inside is not used */
    SYNTAX_COMPARE,   /* Python: operands and operators side by side */
    SYNTAX_LOOP,
    SYNTAX_EACH, /* a loop over a collection */
    SYNTAX_IF,
    SYNTAX_COMMENT
} syntax_kind;

enum { SYNTAX_SYMBOLS_MAX = 2048 };

const TSLanguage *syntax_grammar(audit_language language);

/* The operator that joins texts. */
char syntax_concat(audit_language language);

/* What each symbol of the grammar is. False: the grammar has too many. */
bool syntax_kinds_fill(audit_language language, uint8_t kinds[SYNTAX_SYMBOLS_MAX]);

#endif
