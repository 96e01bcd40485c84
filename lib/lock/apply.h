/* SPDX-License-Identifier: MIT */
/* Carrying out a batch on a loaded working set. Pure, like the law it asks: the time is handed in.
 * */
#ifndef HF_LOCK_APPLY_H
#define HF_LOCK_APPLY_H

#include "lock/rows.h"

/* What an op that needs room is told when there is none. */
#define HF_DISK_FULL                                                                               \
    "The disk is full: nothing new can be taken until there is room. Releasing and beating still " \
    "work."

/* Runs the ops in order and answers each. The set must hold, loaded, what hf_rows_want put there.
 * False when memory is out: then nothing of the set may be saved. */
bool hf_rows_apply(hf_rows *rows, hf_batch *batch, int64_t now_us);

/* After a page: what comes next begins after that resource (NULL: none) and session. False: out of
 * memory. */
bool hf_answer_more(hf_op *op, hf_arena *arena, const hf_resource *resource, const char *session);

/* Rows as the values that callers get. */
void hf_fill_lock(const hf_lock_row *row, hf_lock *out);
void hf_fill_session(const hf_session_row *row, hf_session_info *out);
void hf_fill_event(const hf_event_row *row, int64_t seq, hf_event *out);

/* Sweeping, for the stores: ends a dead session and its locks (which must be loaded, with their
 * anchors), at most `budget` rows; true when it is all done. */
bool hf_sweep_session(hf_rows *rows, hf_session_row *session, int64_t now_us, size_t budget,
                      size_t *swept);

/* Ends a lock of a live session whose own bound has come. */
void hf_sweep_lock(hf_rows *rows, hf_lock_row *lock, int64_t now_us);

/* Sets a type: what stands alone, decided here. `present` is what is registered (policy none:
 * nothing). */
void hf_apply_type_set(hf_rows *rows, hf_op *op, hf_arena *arena, const hf_type *present,
                       bool live_locks);
/* What it sets. */
hf_type hf_type_of_op(const hf_op *op);

#endif
