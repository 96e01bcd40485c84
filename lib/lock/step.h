/* SPDX-License-Identifier: MIT */
/* What the files that carry out ops share: one op at work, its refusals, its answers. Private to
 * this folder. */
#ifndef HF_LOCK_STEP_H
#define HF_LOCK_STEP_H

#include "lock/apply.h"
#include "lock/rules.h"

/* One op at work. */
typedef struct hf_step {
    hf_rows *rows;
    hf_arena *arena; /* of the answers */
    hf_op *op;
    hf_op_rows *of;
    int64_t now_us;
    hf_slice request; /* the op's request id, as it is kept in the rows it changes */
    hf_batch *batch;
    /* Of an end: who forced it, to whom it was handed or declined; at is NULL: it has none. */
    hf_slice scope;
} hf_step;

/* Refuses the op with a sentence; returns false so that checks chain. */
bool hf_refuse(hf_step *step, hf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The session that asks: known, with the right key; and alive. False: the op has been refused. */
bool hf_step_key(hf_step *step);
bool hf_step_session(hf_step *step);
/* Refuses it, since it is not alive; false. */
bool hf_step_expired(hf_step *step);

/* Whether its key is that of the row, in constant time. */
bool hf_key_matches(const hf_credentials *credentials, const hf_session_row *row);
bool hf_session_lives(const hf_session_row *row, int64_t now_us);
bool hf_lock_lives(const hf_lock_row *row, int64_t now_us);

/* How the op's resource looks to the session that asks; to whoever has none, all locks are others'.
 * */
typedef struct hf_sight {
    hf_view view;
    hf_lock_row *mine; /* live, or NULL */
    size_t others;
    bool dead; /* there are locks whose time is over */
} hf_sight;
hf_sight hf_step_look(const hf_step *step);

/* Whoever takes or saves a resource clears away the locks whose time is over. taker: NULL: a user
 * without a session. */
void hf_clear_dead(hf_step *step, const hf_session_row *taker);

/* Whether this very request ended the last hold: same id, same scope, and the grant that it names.
 * The trace is in the anchor. */
bool hf_asked_before(const hf_step *step);
/* The same for a session's release-all, which only its own row can tell. */
bool hf_released_all_before(hf_step *step);
bool hf_run_done(const hf_step *step);
/* What the session's row remembers a linked run by: all of its ends there, several of them. Empty:
 * the op is in no such run. */
hf_slice hf_run_name(hf_step *step);

/* Changing rows, each with its event. */
void hf_lock_event(hf_step *step, hf_event_kind kind, const hf_lock_row *lock, hf_slice actor,
                   hf_slice reason);
void hf_session_event(hf_step *step, hf_event_kind kind, const hf_session_row *session,
                      const char *reason);
/* Writes into the anchor that this request did something to that hold, so that asking again is
 * known. */
void hf_trace_request(hf_step *step, const hf_lock_row *lock);
/* Where the anchor may go: notes in the session that this request ended that hold; NULL: all it
 * had. A linked run leaves one note for each session. */
void hf_note_end(hf_step *step, const hf_lock_row *lock);
/* The request id of the step with its scope, as it is kept. */
hf_slice hf_step_request(hf_step *step);
void hf_end_lock(hf_step *step, hf_lock_row *lock, hf_event_kind kind, hf_slice actor,
                 hf_slice reason);
void hf_expire_lock(hf_step *step, hf_lock_row *lock, const hf_session_row *taken_by);
size_t hf_end_locks(hf_step *step, hf_session_row *session, const char *reason);
size_t hf_end_session(hf_step *step, hf_session_row *session, const char *reason);

/* Lock rows of a session or resource in an array of the set's arena, in canonical order; NULL when
 * there are none. */
hf_lock_row **hf_session_locks(hf_rows *rows, const hf_session_row *session, size_t *count);

/* The ops, by kind. Each answers op->answer; refused ops have changed nothing. */
void hf_do_session_open(hf_step *step);
void hf_do_beat(hf_step *step);
void hf_do_close(hf_step *step);
void hf_do_release_all(hf_step *step);
void hf_do_acquire(hf_step *step);
void hf_do_renew(hf_step *step);
void hf_do_downgrade(hf_step *step);
void hf_do_release(hf_step *step);
void hf_do_holds(hf_step *step);
void hf_do_who(hf_step *step);
void hf_do_request(hf_step *step);
void hf_do_hand_over(hf_step *step);
void hf_do_decline(hf_step *step);
void hf_do_force_release(hf_step *step);
void hf_do_type_get(hf_step *step);
void hf_do_note(hf_step *step);
void hf_do_session_find(hf_step *step);
void hf_do_version(hf_step *step);
void hf_do_save(hf_step *step);

/* Answers. A failure of memory sticks in the set. */
void hf_answer_lock(hf_step *step, const hf_lock_row *lock);
/* The version of the op's resource, if it was ever saved. */
void hf_answer_version(hf_step *step);
/* All live locks of the op's resource but those of `but` (may be NULL), in order of grant; how
 * many. */
size_t hf_answer_holders(hf_step *step, const hf_session_row *but);
void hf_answer_requests(hf_step *step, hf_lock_row *const *locks, size_t count);
void hf_answer_resource_requests(hf_step *step);
void hf_answer_lost(hf_step *step);
void hf_answer_session(hf_step *step, const hf_session_row *session);

/* Refusals that say who stands in the way. The holders have been answered. */
void hf_refuse_locked(hf_step *step);
bool hf_refuse_not_held(hf_step *step, const hf_lock_row *mine);

/* Says what it is instead of what was expected, by whom and since when; the version has been
 * answered. */
void hf_refuse_stale(hf_step *step);

#endif
