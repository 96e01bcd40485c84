/* SPDX-License-Identifier: MIT */
/* A batch from inside: its ops, and the arena its answers live in. */
#ifndef HF_LOCK_BATCH_H
#define HF_LOCK_BATCH_H

#include "base/arena.h"

#include <holdfast/batch.h>

struct hf_batch {
    hf_op *ops;
    size_t count;
    size_t capacity;
    hf_arena arena; /* of the answers */
    /* A group commit (store/group_commit.h): what is busy at the first try is answered busy at
     * once, because others wait for this batch. */
    bool grouped;
    int64_t since_us; /* when it came, by boot_us: its time counts from then; 0: just now */
    bool tried;       /* by itself, and it was busy: if its time is over there is no other try */
};

/* Checks every op at the door: names, durations, modes, what each kind needs, standing alone. An op
 * with a flaw is answered HF_INVALID by apply, so only what concerns the batch as a whole fails
 * here. */
hf_status hf_batch_check(hf_batch *batch, hf_error *err);

/* The flaw of a single op as a sentence in the arena: NULL when it has none. *ok is false when
 * memory is out. `checked` is the session of an op before, found good (or NULL): the ops of a batch
 * are often one session's. */
const char *hf_op_flaw(const hf_op *op, const hf_credentials *checked, hf_arena *arena, bool *ok);

/* Whether the op ends a hold of its session, or declines a request; and whether it does so with a
 * request id, by which it can be asked again. */
bool hf_op_ends(hf_op_kind kind);
bool hf_op_leaves_end(const hf_op *op);

/* Forgets the answers before a batch is (re-)run. */
void hf_batch_unanswer(hf_batch *batch);

#endif
