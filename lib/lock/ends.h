/* SPDX-License-Identifier: MIT */
/* The last ends that a session asked for with a request id, kept in its row by stores that drop the
 * row of a free resource: so that asking again finds what was done, and ends no newer hold.
 *
 * They are text, newest first, HF_ENDS_SIZE characters each: the fence (its lowest 48 bits) and a
 * hash of 60 bits, both in digits of base 64. The hash is of the request id (with a space and its
 * scope where the op has one), the type and the id; the last two are empty for release-all, and for
 * a linked run with several ends, whose request is a name of all of them (hf_run_name). They are so
 * short because every release writes them: the less the rows of sessions take, the fewer pages a
 * batch changes. Request ids are their clients' own: who makes two of them collide is answered that
 * the second was done before. */
#ifndef HF_LOCK_ENDS_H
#define HF_LOCK_ENDS_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HF_ENDS_MAX = 16,
    HF_ENDS_SIZE = 18,
    HF_ENDS_TEXT_MAX = HF_ENDS_MAX * HF_ENDS_SIZE,
};

typedef struct hf_end {
    hf_slice request;
    hf_slice type, id;
    int64_t fence; /* of the grant that ended; in a question 0: whichever it was */
} hf_end;

/* The text as it was loaded, and what this batch adds to it. */
typedef struct hf_ends {
    hf_slice text;
    hf_end *added; /* a ring of HF_ENDS_MAX, or NULL; borrows what the ends name */
    size_t count;  /* how many were added; the last HF_ENDS_MAX are in the ring */
} hf_ends;

bool hf_ends_have(const hf_ends *ends, const hf_end *end);

/* Adds one, in memory of the arena. False: out of memory. */
bool hf_ends_add(hf_arena *arena, hf_ends *ends, const hf_end *end);

/* Writes what was added in front of the text; the oldest go when there are more than HF_ENDS_MAX.
 * False: out of memory. */
bool hf_ends_write(hf_arena *arena, hf_ends *ends);

#endif
