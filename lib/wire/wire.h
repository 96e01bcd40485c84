/* SPDX-License-Identifier: MIT */
/* The JSON of POST /v1/batch in both directions, and of the bodies of the other routes. A server
 * reads ops and writes answers, a remote store writes ops and reads answers; what goes in at one
 * end comes out at the other, bit for bit. docs/wire.md describes it for those who speak it
 * themselves.
 *
 * Rows are written as everywhere (hf_show_json): times as RFC 3339 with microseconds, durations as
 * numbers of seconds, a resource as "type/id".
 *
 * The shape is judged here: fields, types of values, sizes. The values are judged by the store,
 * which answers for each op, as it does for an op that never was on the wire. Only credentials are
 * judged here as well, since a store sees no more than the hash of a key. */
#ifndef HF_WIRE_WIRE_H
#define HF_WIRE_WIRE_H

#include "base/arena.h"
#include "base/buffer.h"

#include <holdfast/batch.h>
#include <inttypes.h>

#define WIRE_OPS_SIZE_MAX     ((size_t)16 << 20) /* bytes of a batch of ops */
#define WIRE_ANSWERS_SIZE_MAX HF_BUFFER_MAX      /* bytes of a batch of answers */
#define WIRE_OBJECT_SIZE_MAX  ((size_t)1 << 20)  /* bytes of the body of another route */

/* ---- ops ---- */

/* Ops that were read, with all that they borrow. All zero is empty. They may be copied into any
 * batch (*hf_batch_add(...) = items[i]) that is executed before this is read into again or done. */
typedef struct wire_ops {
    hf_op *items;
    size_t count;
    hf_arena arena;
} wire_ops;

/* Reads {"ops":[...]}, forgetting what was read before and keeping its memory. HF_INVALID,
 * HF_TOO_LARGE: the sentence says which op and which field, and repeats no value; *ops is empty
 * then. */
HF_MUST_USE hf_status wire_ops_read(wire_ops *ops, const char *text, size_t size, hf_error *err);

/* Wipes keys and frees. */
void wire_ops_done(wire_ops *ops);

/* Adds {"ops":[...]} to *out. HF_INVALID: an op can't be told, since a field that its kind needs is
 * missing, a name is of no known mode or policy, or a text isn't UTF-8; *out is emptied then.
 * Members that the kind doesn't read are left out. The text holds keys. */
HF_MUST_USE hf_status wire_ops_write(hf_batch *batch, hf_buffer *out, hf_error *err);

/* ---- answers ---- */

/* Adds {"answers":[...]} to *out: those of `count` ops. HF_TOO_LARGE: over WIRE_ANSWERS_SIZE_MAX;
 * *out is emptied then. */
HF_MUST_USE hf_status wire_answers_write(const hf_op *ops, size_t count, hf_buffer *out,
                                         hf_error *err);

/* Reads {"answers":[...]}, one for each op of the batch, into their `answer`; arrays and messages
 * are in the arena. Fields that aren't known are passed over: a newer server may say more.
 * Otherwise HF_INVALID or HF_TOO_LARGE, and no answer is changed. */
HF_MUST_USE hf_status wire_answers_read(hf_batch *batch, const char *text, size_t size,
                                        hf_arena *arena, hf_error *err);

/* ---- bodies of other routes ---- */

typedef struct wire_texts {
    const char *const *items;
    size_t count;
} wire_texts;

typedef struct hf_json_value hf_json_value;

/* Objects in an array, for wire_object_at. */
typedef struct wire_objects {
    const hf_json_value *const *items;
    size_t count;
} wire_objects;

typedef enum wire_form {
    WIRE_A_TEXT,  /* const char * */
    WIRE_A_WHOLE, /* int64_t */
    WIRE_A_FENCE, /* int64_t, 1 or more */
    /* int64_t, microseconds: a number with or without a fraction, to the nearest microsecond,
     * within HF_DURATION_MIN_US and HF_DURATION_MAX_US */
    WIRE_SECONDS,
    WIRE_YES_NO,  /* bool */
    WIRE_TEXTS,   /* wire_texts */
    WIRE_OBJECTS, /* wire_objects */
} wire_form;

/* What is said of a fence below 1: the fence, and where it stands. */
#define WIRE_NO_FENCE                                                                              \
    "No grant has the fence %" PRId64 "; leave \"%s\" out where any grant is meant."
/* The same of a version. */
#define WIRE_NO_VERSION                                                                            \
    "There is no version %" PRId64                                                                 \
    ": they count from 1; \"absent\" says that a record was not there."

/* A field that a body may have. `out` is left as it is when the field isn't there, or is null. */
typedef struct wire_member {
    const char *name;
    wire_form form;
    void *out;
    bool needed;
} wire_member;

/* Reads a body that is one object with these fields and no other; an empty body counts as {}. What
 * is read is in the arena, with a copy of the text: hf_arena_wipe it where a body may hold a key.
 * HF_INVALID names the field, as for ops. */
HF_MUST_USE hf_status wire_object_read(const char *text, size_t size, const wire_member *members,
                                       size_t count, hf_arena *arena, hf_error *err);

/* The same for the object `index` of those in field `name`. */
HF_MUST_USE hf_status wire_object_at(const wire_objects *objects, size_t index, const char *name,
                                     const wire_member *members, size_t count, hf_arena *arena,
                                     hf_error *err);

#endif
