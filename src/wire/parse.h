/* SPDX-License-Identifier: MIT */
/* JSON as it was received, checked and taken apart into values. All of RFC 8259 and nothing else: UTF-8, no
 * duplicate fields, no NUL in a text, whole numbers of 64 bits, and a bound on size, depth and count. Memory comes
 * from one arena only. */
#ifndef HF_WIRE_PARSE_H
#define HF_WIRE_PARSE_H

#include "base/arena.h"

#include <holdfast/status.h>

#define WIRE_DEPTH_MAX  8  /* objects and arrays inside each other */
#define WIRE_FIELDS_MAX 64 /* of one object */

typedef enum wire_type {
    WIRE_IS_NULL,
    WIRE_IS_BOOL,
    WIRE_IS_WHOLE, /* a number without a fraction or an exponent */
    WIRE_IS_FRACTION,
    WIRE_IS_TEXT,
    WIRE_IS_ARRAY,
    WIRE_IS_OBJECT
} wire_type;

typedef struct wire_value wire_value;
struct wire_value {
    wire_type type;
    bool yes;           /* of a bool */
    int64_t whole;      /* of a whole number */
    hf_slice name;      /* of a field; ends in NUL */
    hf_slice text;      /* of a text: ends in NUL; of a number: as it was written, no NUL */
    wire_value *inside; /* the first in an array or object */
    wire_value *next;
    size_t count; /* of those inside */
};

/* What is taken apart, and how much of it is accepted. */
typedef struct wire_source {
    const char *what; /* begins a sentence: "The batch" */
    const char *text; /* needs no NUL at its end */
    size_t size;
    size_t size_max;
    size_t values_max;
} wire_source;

/* HF_INVALID says what is wrong in which line and column, never what stands there, since that may be a secret;
 * HF_TOO_LARGE says which limit. All of *out lives in the arena, as does a copy of the text. */
hf_status wire_parse(const wire_source *source, hf_arena *arena, wire_value **out, hf_error *err);

/* The field of that name, or NULL. */
const wire_value *wire_field_of(const wire_value *object, const char *name);

#endif
