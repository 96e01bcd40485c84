/* SPDX-License-Identifier: MIT */
/* From structs to JSON, by the tables. */
#ifndef HF_WIRE_WRITE_H
#define HF_WIRE_WRITE_H

#include "base/json.h"
#include "wire/fields.h"

/* Writes the fields of a struct that ops of the set `of` take, without the braces. Answers NULL, or
 * the field that can't be told, with what is wrong with it in *flaw. */
const wire_field *wire_struct_write(hf_json *json, const wire_table *table, uint64_t of,
                                    const void *from, const char **flaw);

/* After the last write: what it came to. *out is emptied when that isn't HF_OK. */
hf_status wire_written(hf_buffer *out, const char *what, hf_error *err);

#endif
