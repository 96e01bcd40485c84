/* SPDX-License-Identifier: MIT */
/* Edits in memory, for edits.c, which gathers them, and replay.c, which measures and plays them:
 * four numbers each, in pieces that never move; records by name in a hash table; open edits by
 * record and person in another, which forgets those that can't be saved any more. */
#ifndef HF_ADVISE_REPLAY_INSIDE_H
#define HF_ADVISE_REPLAY_INSIDE_H

#include "advise/replay.h"

enum {
    REPLAY_PIECE = 1 << 16,       /* edits allocated, and played, at a time */
    REPLAY_NAMES = 1 << 18,       /* bytes of names allocated at a time */
    REPLAY_HOURS_MAX = 24 * 3660, /* ten years */
};
#define REPLAY_EDITS_MAX ((size_t)1 << 31)

/* Seconds count from `base`. */
typedef struct replay_edit {
    uint32_t record;
    uint32_t person;
    uint32_t open;
    uint32_t end; /* 0: not saved */
} replay_edit;

typedef struct replay_record {
    uint32_t name; /* where it is: number of the piece and offset in it */
    uint32_t edits;
} replay_record;

/* Open addressing; a slot holds an index plus one. */
typedef struct replay_table {
    uint32_t *slots;
    size_t size; /* a power of 2 */
    size_t used;
} replay_table;

struct advise_edits {
    replay_edit **pieces;
    size_t pieces_count, pieces_room;
    size_t count;
    replay_record *records;
    size_t records_count, records_room;
    char **names;
    size_t names_count, names_room, names_used;
    replay_table by_name, open, people;
    int64_t base;
    uint32_t last; /* the latest time seen */
    double unopened;
};

static inline replay_edit *replay_at(const advise_edits *edits, size_t index)
{
    return &edits->pieces[index / REPLAY_PIECE][index % REPLAY_PIECE];
}

/* In a piece a name stands behind its size, in two bytes. */
static inline hf_slice replay_name(const advise_edits *edits, const replay_record *record)
{
    const char *at = edits->names[record->name / REPLAY_NAMES] + record->name % REPLAY_NAMES;
    return (hf_slice){at + 2, (size_t)(unsigned char)at[0] << 8 | (unsigned char)at[1]};
}

#endif
