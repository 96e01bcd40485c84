/* SPDX-License-Identifier: MIT */
/* Facts: what was read in a file or a database, before anything is judged. Parsers make them in
 * processes of their own and send them packed; rules never see source text, only facts. */
#ifndef HF_AUDIT_FACT_H
#define HF_AUDIT_FACT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/text.h"

#include <stdint.h>

/* What stands in a statement's text where the program puts something that is not known here. */
#define AUDIT_HOLE '\x01'

typedef enum audit_fact_kind {
    AUDIT_SQL,   /* text[0]: the statement, with holes */
    AUDIT_CLASS, /* text[0] its name, [1] what it extends, [2] annotations, decorators, comment */
    AUDIT_FIELD, /* text[0] its class, [1] name, [2] type, [3] annotations ..., [4] its value */
    /* text[0] what it is called on, [1] name, [2] arguments, [3] the variable that is given its
     * result. Named "=": a variable that held such a result is given something else. */
    AUDIT_CALL,
    AUDIT_COMPARE, /* text[0] and [1] are compared in a condition, as they are written */
    AUDIT_WORKERS, /* several processes: text[0] what says so, [1] folder below, [2] language */
    AUDIT_FORM,    /* text[0]: a name in a form or template; empty: there is a form */
    AUDIT_SKIPPED, /* text[0]: why the file, or a part of it, was not read */
    AUDIT_KINDS
} audit_fact_kind;

enum {
    AUDIT_EXECUTED = 1,   /* the statement is handed to a call; the call's result is ... */
    AUDIT_DISCARDED = 2,  /* ... not used */
    AUDIT_COUNTED = 4,    /* the function speaks of a number of rows */
    AUDIT_LOOPED = 8,     /* inside a loop */
    AUDIT_SHARED = 16,    /* a field or variable of the class, module or program */
    AUDIT_MEASURED = 32,  /* the database executed it */
    AUDIT_GUARDED = 64,   /* inside a condition */
    AUDIT_ASSIGNED = 128, /* its result is given to something */
    AUDIT_EACH = 256,     /* inside a loop over a collection */
    AUDIT_SORTED = 512,   /* the function speaks of an order */
    AUDIT_REFUSES = 1024, /* inside a condition that leads to a refusal */
    AUDIT_GIVEN = 2048,   /* the function is given a version */
};

enum { AUDIT_TEXTS = 5 };

typedef struct audit_fact {
    audit_fact_kind kind;
    uint32_t file;  /* in the list of files */
    uint32_t line;  /* from 1 */
    uint32_t scope; /* the function it is in: where it starts in the file; 0: in none */
    uint32_t flags;
    hf_slice text[AUDIT_TEXTS];
} audit_fact;

typedef struct audit_facts {
    hf_arena arena; /* holds them and their texts */
    audit_fact *items;
    size_t count, room;
    bool failed; /* memory was out */
} audit_facts;

/* Adds one with copies of its texts. Errors stick. */
void audit_fact_add(audit_facts *facts, const audit_fact *fact);
void audit_facts_done(audit_facts *facts);

/* One after another as bytes; unpacking stops at the first that is not whole: false. */
void audit_fact_pack(hf_buffer *out, const audit_fact *fact);
bool audit_facts_unpack(audit_facts *facts, const char *bytes, size_t size);

#endif
