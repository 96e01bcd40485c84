/* SPDX-License-Identifier: MIT */
/* Writing JSON into a buffer. The writer puts the commas: begin, name, value, end. */
#ifndef HF_BASE_JSON_H
#define HF_BASE_JSON_H

#include "base/buffer.h"

#include <stdint.h>

/* All zero is an empty writer. */
typedef struct hf_json {
    hf_buffer out;
    bool comma; /* something stands before the next value */
} hf_json;

void hf_json_begin(hf_json *json, char bracket); /* '{' or '[' */
void hf_json_end(hf_json *json, char bracket);   /* '}' or ']' */
void hf_json_name(hf_json *json, const char *name);
/* NULL writes null. A byte that is not UTF-8 becomes a question mark: what is written is JSON. */
void hf_json_text(hf_json *json, const char *text);
void hf_json_int(hf_json *json, int64_t value);
void hf_json_number(hf_json *json, double value); /* to 6 digits; what is not finite writes null */
void hf_json_bool(hf_json *json, bool value);
void hf_json_seconds(hf_json *json, int64_t us); /* 1.5 for 1,500,000 */
void hf_json_time(hf_json *json, int64_t us);    /* RFC 3339; 0 writes null */

/* A name and its value. */
void hf_json_put_text(hf_json *json, const char *name, const char *text);
void hf_json_put_int(hf_json *json, const char *name, int64_t value);
void hf_json_put_bool(hf_json *json, const char *name, bool value);
void hf_json_put_time(hf_json *json, const char *name, int64_t us);

#endif
