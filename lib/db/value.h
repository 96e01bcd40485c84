/* SPDX-License-Identifier: MIT */
/* Values on their way into a statement: one, or a table of them that becomes arrays or rows of
 * literals. */
#ifndef HF_DB_VALUE_H
#define HF_DB_VALUE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum hf_value_kind {
    HF_VALUE_INT,
    HF_VALUE_TEXT, /* of holdfast's own tables, where text compares as bytes */
    HF_VALUE_BYTES,
    HF_VALUE_LIST,
    HF_VALUE_REAL,
    /* of an application's tables: MySQL is told that it is UTF-8, and PostgreSQL takes it for what
     * its place wants: a number, a date, a uuid, text */
    HF_VALUE_UTF8
} hf_value_kind;

typedef struct hf_value {
    bool null;
    int64_t number;
    double real;
    hf_slice bytes; /* text and bytes; borrowed */
} hf_value;

enum { HF_LIST_COLUMNS_MAX = 64 };

/* Rows of values, all with the same columns. Begin with hf_list_init; a failed hf_list_add sticks
 * in `failed`. */
typedef struct hf_list {
    const char *kinds; /* a letter a column: 'i' int, 't' text, 'b' bytes, 'r' real, 'u' UTF-8 */
    size_t columns;
    size_t count; /* rows */
    size_t room;
    hf_value *values; /* row after row */
    hf_arena *arena;
    bool failed; /* memory was out: rows are missing */
} hf_list;

void hf_list_init(hf_list *list, const char *kinds, hf_arena *arena);

/* A new row of nulls, to be filled; NULL when memory is out. */
hf_value *hf_list_add(hf_list *list);

static inline void hf_set_int(hf_value *value, int64_t number)
{
    value->null = false;
    value->number = number;
}

static inline void hf_set_int_or_null(hf_value *value, int64_t number)
{
    value->null = number == 0;
    value->number = number;
}

/* An empty slice is null. */
static inline void hf_set_text(hf_value *value, hf_slice text)
{
    value->null = text.size == 0;
    value->bytes = text;
}

static inline hf_value_kind hf_kind_of_letter(char letter)
{
    switch (letter) {
    case 'i':
        return HF_VALUE_INT;
    case 't':
        return HF_VALUE_TEXT;
    case 'r':
        return HF_VALUE_REAL;
    case 'u':
        return HF_VALUE_UTF8;
    default:
        return HF_VALUE_BYTES;
    }
}

#endif
