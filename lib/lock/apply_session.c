/* SPDX-License-Identifier: MIT */
/* Carrying out what is asked for a session as a whole: open, find, beat, close, release all. */
#include "base/digest.h"
#include "lock/step.h"

#include "base/time.h"

#include <stdlib.h>
#include <string.h>

/* The name and the idle bound of the new session, also where the op gives none. */
static hf_slice session_open_name(const hf_op *op)
{
    return hf_slice_of(op->name != NULL && op->name[0] != '\0' ? op->name : op->user);
}

static int64_t session_open_idle(const hf_op *op)
{
    return op->idle_us == 0 ? HF_IDLE_DEFAULT_US : op->idle_us;
}

/* How the session that this request id opened before differs from what is asked for now; NULL: it
 * does not. `replaces` is not kept, but the first try would have ended that session. */
static const char *session_open_difference(const hf_step *step, const hf_session_row *before)
{
    const hf_session_row *old = step->of->replaces;
    if (!hf_slice_equal(before->user, hf_slice_of(step->op->user)))
        return "for another user";
    if (!hf_slice_equal(before->name, session_open_name(step->op)))
        return "with another name";
    if (before->idle_us != session_open_idle(step->op))
        return "with another idle bound";
    if (old != NULL && old != before && old->present && old->ended_us == 0)
        return "without replacing another";
    return NULL;
}

/* A repeated open answers the session the first one made, to whoever has its key. True: it has been
 * answered. */
static bool repeated_open(hf_step *step)
{
    hf_session_row *before = step->of->open == NULL ? NULL : step->of->open->session;
    if (before == NULL || !before->present)
        return false;
    const char *difference = session_open_difference(step, before);
    if (!hf_key_matches(step->op->session, before))
        hf_refuse(step, HF_DENIED,
                  "This request id has opened session %s with another key; repeat it with that "
                  "key, or open "
                  "with a new request id.",
                  before->id);
    else if (difference != NULL) {
        hf_answer_session(step, before);
        hf_refuse(step, HF_INVALID,
                  "This request id has opened session %s %s; open with a new request id.",
                  before->id, difference);
    } else if (!hf_session_lives(before, step->now_us))
        hf_refuse(step, HF_EXPIRED, "Your editing session has expired; reload the record.");
    else
        hf_answer_session(step, before);
    return true;
}

static bool replace_session(hf_step *step)
{
    hf_session_row *old = step->of->replaces;
    if (old == NULL || !old->present)
        return true;
    if (!hf_key_matches(step->op->replaces, old))
        return hf_refuse(step, HF_DENIED,
                         "The key is not that of session %s, which was to be replaced.", old->id);
    if (old->ended_us == 0)
        hf_end_session(step, old, "replaced");
    return true;
}

void hf_do_session_open(hf_step *step)
{
    const hf_op *op = step->op;
    hf_session_row *row = step->of->session;
    int64_t idle_us = session_open_idle(op), expires_us;
    if (repeated_open(step))
        return;
    if (row->present) {
        hf_refuse(step, HF_INVALID, "Session id %s is taken; open with another.", row->id);
        return;
    }
    if (!hf_time_add(step->now_us, idle_us, &expires_us)) {
        hf_refuse(step, HF_INVALID,
                  "The idle bound reaches beyond the end of time; give a shorter one.");
        return;
    }
    if (!replace_session(step))
        return;
    hf_touch(step->rows, row);
    row->present = true;
    row->rev = 1;
    memcpy(row->key_sha256, op->session->key_sha256, sizeof row->key_sha256);
    row->user = hf_slice_of(op->user);
    row->name = session_open_name(op);
    row->caller = hf_slice_of(op->caller);
    row->request = step->of->open == NULL ? HF_NOTHING : step->of->open->request;
    row->idle_us = idle_us;
    row->opened_us = step->now_us;
    row->expires_us = expires_us;
    row->ended_us = 0;
    if (step->of->open != NULL)
        step->of->open->session = row;
    hf_session_event(step, HF_EVENT_SESSION_OPENED, row, NULL);
    hf_answer_session(step, row);
}

static int newest_first(const void *a, const void *b)
{
    const hf_lost_row *x = *(hf_lost_row *const *)a, *y = *(hf_lost_row *const *)b;
    if (x->at_us != y->at_us)
        return x->at_us > y->at_us ? -1 : 1;
    int order = hf_slice_compare(x->type, y->type);
    return order != 0 ? order : hf_slice_compare(x->id, y->id);
}

/* Of what it lost and never gave back only the newest are kept: a session may live for ever. */
static void forget_oldest_lost(hf_step *step)
{
    size_t count = 0, at = 0;
    for (const hf_lost_row *row = step->of->session->lost; row != NULL; row = row->next)
        count += row->present;
    if (count <= HF_SESSION_LOST_MAX)
        return;
    hf_lost_row **all = hf_arena_alloc(&step->rows->arena, count * sizeof *all);
    if (all == NULL) {
        step->rows->failed = true;
        return;
    }
    for (hf_lost_row *row = step->of->session->lost; row != NULL; row = row->next)
        if (row->present)
            all[at++] = row;
    qsort(all, count, sizeof *all, newest_first);
    for (at = HF_SESSION_LOST_MAX; at < count; at++) {
        hf_touch(step->rows, all[at]);
        all[at]->present = false;
    }
}

void hf_do_beat(hf_step *step)
{
    hf_session_row *row = step->of->session;
    int64_t expires_us;
    if (!hf_step_session(step))
        return;
    if (!hf_time_add(step->now_us, row->idle_us, &expires_us)) {
        hf_refuse(step, HF_INVALID, "The idle bound reaches beyond the end of time.");
        return;
    }
    hf_touch(step->rows, row);
    row->rev++;
    if (expires_us > row->expires_us)
        row->expires_us = expires_us;
    size_t count, live = 0;
    hf_lock_row **locks = hf_session_locks(step->rows, row, &count);
    for (size_t i = 0; i < count; i++)
        if (hf_lock_lives(locks[i], step->now_us))
            locks[live++] = locks[i];
    hf_answer_session(step, row);
    forget_oldest_lost(step);
    hf_answer_lost(step);
    hf_answer_requests(step, locks, live);
    step->op->answer.locks_count = row->counts_locks ? row->live_locks : live;
}

/* By its key, or by a proof of it. */
static bool session_is_proved(hf_step *step)
{
    hf_session_row *row = step->of->target;
    hf_slice text = hf_slice_of(step->op->text);
    unsigned char proof[32];
    if (step->op->session != NULL)
        return hf_step_session(step);
    step->of->session = row;
    if (!row->present)
        return hf_step_key(step);
    if (!hf_hmac_sha256(row->key_sha256, sizeof row->key_sha256, text.at, text.size, proof)) {
        step->rows->failed = true;
        return false;
    }
    bool same = hf_secret_equal(proof, step->op->sha256, sizeof proof);
    hf_secret_wipe(proof, sizeof proof);
    if (!same)
        return hf_refuse(step, HF_DENIED, "That does not prove the key of session %s.", row->id);
    return hf_session_lives(row, step->now_us) || hf_step_expired(step);
}

void hf_do_session_find(hf_step *step)
{
    if (session_is_proved(step))
        hf_answer_session(step, step->of->session);
}

void hf_do_close(hf_step *step)
{
    if (hf_step_key(step) && step->of->session->ended_us == 0)
        step->op->answer.locks_count = hf_end_session(step, step->of->session, NULL);
}

/* What is gone already counts as given back too: it isn't told on beats any more. */
void hf_do_release_all(hf_step *step)
{
    if (!hf_step_session(step) || hf_released_all_before(step))
        return;
    hf_note_end(step, NULL);
    step->op->answer.locks_count = hf_end_locks(step, step->of->session, NULL);
    for (hf_lost_row *lost = step->of->session->lost; lost != NULL; lost = lost->next) {
        hf_touch(step->rows, lost);
        lost->present = false;
    }
}
