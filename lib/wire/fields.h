/* SPDX-License-Identifier: MIT */
/* Which field of the JSON is which member of which struct. Reading, writing and docs/wire.md all go
 * by these tables, so that they can't differ. A new member is a new row. */
#ifndef HF_WIRE_FIELDS_H
#define HF_WIRE_FIELDS_H

#include "lock/fields.h"

typedef enum wire_kind {
    WIRE_STRING, /* const char *; NULL: left out */
    WIRE_CHARS,  /* char[size]; "" */
    WIRE_INT,    /* int64_t; 0 */
    WIRE_TIME,   /* int64_t, as RFC 3339; 0 */
    WIRE_SPAN,   /* int64_t, as a number of seconds; 0 */
    WIRE_FENCE,  /* int64_t, 1 or more where it stands; 0 */
    WIRE_SIZE,   /* size_t; 0 */
    WIRE_FLAG,   /* bool; false */
    WIRE_NAME,   /* an enum, by `names`; 0 */
    WIRE_LOGIN,  /* const hf_credentials *, as "ID.KEY"; NULL */
    WIRE_DIGEST, /* const unsigned char *, of 32 bytes, as 64 hex digits; NULL */
    WIRE_PLACE,  /* hf_resource of a row, as "type/id" or a type alone */
    WIRE_NAMED,  /* the same in two const char *, the id `beside`; NULL: no type, no id */
    WIRE_CURSOR, /* const hf_cursor *, as a text; NULL, or all zero */
    WIRE_LIST,   /* pointer to structs of `rows` or `table`, their number `beside`; none */
    /* size_t: the number of a list that isn't told (its pointer, at `beside`, is NULL); 0 */
    WIRE_COUNT,
} wire_kind;

/* The names of an enum. */
typedef struct wire_names {
    const char *(*name)(int value);
    int first; /* of those that can be told; what is below is left out */
    int count;
} wire_names;

typedef struct wire_table wire_table;

/* `needs` and `takes` are sets of kinds of ops: those that must have the field, and those that may.
 * For the structs of answers a set is all or nothing. What isn't needed is left out when it is
 * zero. */
typedef struct wire_field {
    const char *name;
    wire_kind kind;
    size_t at; /* offset of the member */
    uint64_t needs;
    uint64_t takes;
    size_t size;   /* WIRE_CHARS */
    size_t beside; /* WIRE_LIST, WIRE_COUNT: offset of the other */
    const wire_names *names;
    const hf_row_fields *rows;
    const wire_table *table; /* of a list that is of no row */
    const char *about;       /* for docs/wire.md; NULL: the name says it */
} wire_field;

struct wire_table {
    const char *noun; /* "lock" */
    const wire_field *fields;
    size_t count;
    size_t size; /* of the struct */
};

extern const wire_table wire_op_table;
extern const wire_table wire_answer_table;

/* A member of a row's public struct, as JSON has it. */
wire_field wire_field_of(const hf_shown *shown);

/* The set of one kind of op. */
static inline uint64_t wire_set_of(hf_op_kind kind)
{
    return UINT64_C(1) << kind;
}

#endif
