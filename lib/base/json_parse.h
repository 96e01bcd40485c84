/* SPDX-License-Identifier: MIT */
/* JSON as it was received, checked and taken apart into values. All of RFC 8259 and nothing
 * else: UTF-8, no duplicate fields, no NUL in a text, whole numbers of 64 bits, and a bound on
 * size, depth and count. Memory comes from one arena only. */
#ifndef HF_BASE_JSON_PARSE_H
#define HF_BASE_JSON_PARSE_H

#include "base/arena.h"

#include <holdfast/status.h>

#define HF_JSON_DEPTH_MAX  8  /* objects and arrays inside each other */
#define HF_JSON_FIELDS_MAX 64 /* of one object */

typedef enum hf_json_type {
    HF_JSON_NULL,
    HF_JSON_BOOL,
    HF_JSON_WHOLE, /* a number without a fraction or an exponent */
    HF_JSON_FRACTION,
    HF_JSON_TEXT,
    HF_JSON_ARRAY,
    HF_JSON_OBJECT
} hf_json_type;

typedef struct hf_json_value hf_json_value;
struct hf_json_value {
    hf_json_type type;
    bool yes;              /* of a bool */
    int64_t whole;         /* of a whole number */
    hf_slice name;         /* of a field; ends in NUL */
    hf_slice text;         /* of a text: ends in NUL; of a number: as it was written, no NUL */
    hf_json_value *inside; /* the first in an array or object */
    hf_json_value *next;
    size_t count; /* of those inside */
};

/* What is taken apart, and how much of it is accepted. */
typedef struct hf_json_source {
    const char *what; /* begins a sentence: "The batch" */
    const char *text; /* needs no NUL at its end */
    size_t size;
    size_t size_max;
    size_t values_max;
} hf_json_source;

/* HF_INVALID says what is wrong in which line and column, never what stands there, since that
 * may be a secret; HF_TOO_LARGE says which limit. All of *out lives in the arena, as does a copy
 * of the text. */
hf_status hf_json_parse(const hf_json_source *source, hf_arena *arena, hf_json_value **out,
                        hf_error *err);

/* The same with another bound on the depth, at most 32. */
hf_status hf_json_parse_deep(const hf_json_source *source, int depth_max, hf_arena *arena,
                             hf_json_value **out, hf_error *err);

/* The field of that name, or NULL. */
const hf_json_value *hf_json_field(const hf_json_value *object, const char *name);

#endif
