/* SPDX-License-Identifier: MIT */
/* From values to structs, by the tables; and the sentences that all readers share. */
#ifndef HF_WIRE_READ_H
#define HF_WIRE_READ_H

#include "base/json_parse.h"
#include "wire/fields.h"

/* Where a reader is, for sentences: `op 3: `, `answer 3, locks 12: `. */
typedef struct wire_reader {
    hf_arena *arena;
    hf_error *err;
    bool lenient;     /* passes over fields it does not know */
    const char *noun; /* "op"; NULL: nowhere in particular */
    size_t index;
    const char *list; /* the field inside, or NULL */
    size_t item;
    hf_slice login_text; /* the last that was read: the ops of a batch are often one session's */
    const hf_credentials *login;
} wire_reader;

/* Sets err: where, and what is wrong there. A macro for the same reason as hf_fail. */
#define wire_fail(reader, ...) (wire_error((reader), __VA_ARGS__), hf_same_status(HF_INVALID))
void wire_error(const wire_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The usual sentences. */
hf_status wire_fail_type(const wire_reader *reader, const char *name, const char *wanted);
hf_status wire_fail_missing(const wire_reader *reader, const char *name);
/* takes: the names that are known, as a list. */
hf_status wire_fail_unknown(const wire_reader *reader, hf_slice name, const char *who,
                            const char *takes);

/* A fence that stands there is 1 or more. 0 is what it is when it is left out: taken as given, it
 * would mean all grants where one was meant. */
hf_status wire_fence_read(const wire_reader *reader, const char *name, const hf_json_value *value,
                          int64_t *out);

/* Seconds as JSON writes a number, in microseconds: to the nearest, but 0 for 0 alone. INT64_MAX or
 * INT64_MIN: there are too many. */
int64_t wire_us_of(hf_slice text);

/* Adds ", name" (the first without the comma), as far as there is room. */
void wire_list_add(char *list, size_t size, const char *name);

/* The name as it may stand in a sentence: 1 to 31 plain characters (a key is longer). */
bool wire_name_is_plain(hf_slice name);

/* Fills the struct from an object, by the rows that ops of the set `of` take. `but`: a field that
 * is read elsewhere, or NULL. `who`: what takes the fields, for the sentence. */
hf_status wire_struct_read(wire_reader *reader, const hf_json_value *object,
                           const wire_table *table, uint64_t of, const char *but, const char *who,
                           void *out);

#endif
