/* SPDX-License-Identifier: MIT */
/* Looking sessions up: those who ask, by their keys, and those who get a lock, by their public ids.
 * */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "server/access/authenticate_inside.h"

#include <string.h>

/* Sessions that the store is being asked for, by one caller. */
typedef struct session_look {
    loop_job job;
    caller *who;
    int64_t asked_us;
    size_t count;
    hf_op ops[];
} session_look;

/* ---- looking sessions up ---- */

static void authenticate_fill_session(caller_session *out, const char *user, const char *opener)
{
    bool sign_in = strncmp(opener, HF_SIGN_IN, sizeof HF_SIGN_IN - 1) == 0;
    out->status = sign_in ? HF_DENIED : HF_OK;
    out->message = sign_in ? "That is the sign-in of a page, no editing session." : NULL;
    if (sign_in)
        return;
    hf_slice_copy(out->user, sizeof out->user, hf_slice_of(user));
    hf_slice_copy(out->opener, sizeof out->opener, hf_slice_of(opener));
}

static void authenticate_read_session(authenticator *all, session_look *it, const hf_op *op,
                                      caller_session *out)
{
    const hf_answer *answer = &op->answer;
    if (answer->status == HF_OK && answer->sessions_count == 1) {
        authenticate_fill_session(out, answer->sessions[0].user, answer->sessions[0].token);
        if (op->session != NULL) /* by a proof its key is not known */
            auth_cache_session_keep(&all->known, op->session, &answer->sessions[0], it->asked_us);
        return;
    }
    out->status = answer->status == HF_OK ? HF_INTERNAL : answer->status;
    out->message = answer->message == NULL
                       ? NULL
                       : hf_arena_text(it->who->arena, hf_slice_of(answer->message));
}

static void authenticate_session_look_finish(loop_job *job)
{
    session_look *it = WHOLE(session_look, job, job);
    caller *who = it->who;
    if (job->job.status != HF_OK)
        caller_fail(who, job->job.status, jobs_told(job->job.status));
    size_t at = 0;
    for (size_t i = 0; i < it->count && job->job.status == HF_OK; i++) {
        while (who->known[at].status == HF_OK) /* known before */
            at++;
        authenticate_read_session(who->of, it, &it->ops[i], &who->known[at++]);
    }
    jobs_release(job);
    hf_free(it);
    caller_settle(who);
}

/* Whether that is the hash of the key that was presented, or proved. */
static bool authenticate_key_fits(const caller *who, const hf_credentials *session,
                                  const unsigned char key_sha256[32])
{
    unsigned char proof[32];
    if (who->proof == NULL)
        return hf_secret_equal(key_sha256, session->key_sha256, 32);
    bool fits = hf_hmac_sha256(key_sha256, 32, who->proof->text, strlen(who->proof->text), proof) &&
                hf_secret_equal(proof, who->proof->sha256, sizeof proof);
    hf_secret_wipe(proof, sizeof proof);
    return fits;
}

/* True: it is known, and who asks has its key. *strange: it is not, or they do not. */
static bool authenticate_recall_session(authenticator *all, const caller *who,
                                        const hf_credentials *session, caller_session *out,
                                        bool *strange)
{
    const auth_cache_session *known = auth_cache_find(&all->known.sessions, 0, session->id);
    *strange = known == NULL || !authenticate_key_fits(who, session, known->key_sha256);
    if (*strange || hf_seam.boot_us() - known->asked_us >= AUTHENTICATOR_SESSION_US)
        return false;
    all->stats.hits++;
    authenticate_fill_session(out, known->user, known->opener);
    return true;
}

static void authenticate_ask_store_for_sessions(authenticator *all, caller *who, size_t count)
{
    hf_error err;
    session_look *it = hf_alloc(sizeof *it + count * sizeof it->ops[0]);
    if (it == NULL) {
        caller_fail(who, HF_NO_MEMORY, NULL);
        return;
    }
    it->who = who;
    it->asked_us = hf_seam.boot_us();
    it->job = (loop_job){.job = {.ops = it->ops, .count = count, .look = true},
                         .finish = authenticate_session_look_finish};
    for (size_t i = 0; i < who->sessions_count; i++)
        if (who->known[i].status != HF_OK)
            it->ops[it->count++] = caller_find_session(who->sessions[i], who->proof);
    if (jobs_submit(all->jobs, &it->job, &err) != HF_OK) {
        hf_free(it);
        caller_fail(who, err.status, err.message);
        return;
    }
    all->stats.looks += count;
    who->waits++;
}

void authenticate_ask_sessions(authenticator *all, caller *who)
{
    size_t missing = 0, strangers = 0;
    who->known = who->sessions_count == 0
                     ? NULL
                     : hf_arena_alloc(who->arena, who->sessions_count * sizeof *who->known);
    if (who->sessions_count > 0 && who->known == NULL) {
        caller_fail(who, HF_NO_MEMORY, NULL);
        who->sessions_count = 0;
        return;
    }
    for (size_t i = 0; i < who->sessions_count; i++) {
        memcpy(who->known[i].id, who->sessions[i]->id, sizeof who->known[i].id);
        who->known[i].status = HF_UNAVAILABLE; /* until it is known */
        bool strange;
        missing +=
            !authenticate_recall_session(all, who, who->sessions[i], &who->known[i], &strange);
        strangers += strange;
    }
    bool free = strangers == 0 && missing == 1;
    if (missing > 0 && (free || authenticate_may_look(who, missing)))
        authenticate_ask_store_for_sessions(all, who, missing);
}

/* ---- looking up who gets a lock ---- */

/* Of these only the public id is known, so they are found in the list of sessions: the first behind
 * the id before. */
typedef struct target_look {
    loop_job job;
    hf_op op;
    hf_cursor before; /* just before it in the list of sessions */
    caller *who;
    caller_session *out;
} target_look;

static void authenticate_target_finish(loop_job *job)
{
    target_look *it = WHOLE(target_look, job, job);
    caller *who = it->who;
    const hf_answer *answer = &it->op.answer;
    hf_status status = job->job.status != HF_OK ? job->job.status : answer->status;
    /* a server behind us */
    bool left_to_store = status == HF_DENIED || status == HF_UNAUTHENTICATED;
    if (status != HF_OK && !left_to_store)
        caller_fail(who, status, jobs_told(status));
    else if (status == HF_OK && answer->sessions_count == 1 &&
             strcmp(answer->sessions[0].id, it->out->id) == 0)
        authenticate_fill_session(it->out, answer->sessions[0].user, answer->sessions[0].token);
    jobs_release(job);
    hf_free(it);
    caller_settle(who);
}

/* The largest id below that one, in hex; of the lowest, "": from the start. */
static void authenticate_id_before(const char *id, char out[HF_SESSION_ID_SIZE])
{
    size_t at = HF_SESSION_ID_MAX;
    memcpy(out, id, HF_SESSION_ID_SIZE);
    while (at > 0 && out[at - 1] == '0')
        out[--at] = 'f';
    if (at == 0)
        out[0] = '\0';
    else
        out[at - 1] = (char)(out[at - 1] == 'a' ? '9' : out[at - 1] - 1);
}

static void authenticate_look_for_target(authenticator *all, caller *who, caller_session *out)
{
    hf_error err;
    target_look *it = hf_alloc(sizeof *it);
    if (it == NULL) {
        caller_fail(who, HF_NO_MEMORY, NULL);
        return;
    }
    it->who = who;
    it->out = out;
    it->op = (hf_op){.kind = HF_OP_SESSIONS, .limit = 1, .after = &it->before};
    authenticate_id_before(out->id, it->before.session);
    it->job = (loop_job){.job = {.ops = &it->op, .count = 1, .look = true},
                         .finish = authenticate_target_finish};
    if (jobs_submit(all->jobs, &it->job, &err) != HF_OK) {
        hf_free(it);
        caller_fail(who, err.status, err.message);
        return;
    }
    all->stats.looks++;
    who->waits++;
}

/* Whether anybody is known who could give: for strangers nothing is looked up. */
static bool authenticate_is_known(const caller *who)
{
    bool known = who->token != NULL;
    for (size_t i = 0; i < who->sessions_count && !known; i++)
        known = who->known[i].status == HF_OK;
    return known && who->status == HF_OK;
}

void authenticate_ask_targets(authenticator *all, caller *who)
{
    size_t missing = 0;
    who->receivers = who->targets_count == 0
                         ? NULL
                         : hf_arena_alloc(who->arena, who->targets_count * sizeof *who->receivers);
    if (who->receivers == NULL) {
        if (who->targets_count > 0)
            caller_fail(who, HF_NO_MEMORY, NULL);
        who->targets_count = 0;
        return;
    }
    for (size_t i = 0; i < who->targets_count; i++) {
        caller_session *out = &who->receivers[i];
        const auth_cache_session *known = auth_cache_find(&all->known.sessions, 0, who->targets[i]);
        memcpy(out->id, who->targets[i], sizeof out->id);
        out->status = HF_NOT_FOUND;
        missing += known == NULL;
        if (known != NULL) /* who opened it does not change */
            authenticate_fill_session(out, known->user, known->opener);
    }
    bool looks = missing > 0 && authenticate_is_known(who) &&
                 (missing == 1 || authenticate_may_look(who, missing));
    for (size_t i = 0; i < who->targets_count && looks; i++)
        if (who->receivers[i].status != HF_OK && hf_is_hex(who->receivers[i].id, HF_SESSION_ID_MAX))
            authenticate_look_for_target(all, who, &who->receivers[i]);
}
