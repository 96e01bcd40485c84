/* SPDX-License-Identifier: MIT */
/* Session handles: opening, beating, closing, and the calls that take and give locks. Each is a
 * batch; afterwards the handle notes what it may believe. */
#include "base/cleanup.h"
#include "base/error.h"
#include "manager/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- handles ---- */

void hf_fifo_mutex_init(hf_fifo_mutex *turns)
{
    pthread_mutex_init(&turns->mutex, NULL);
    pthread_cond_init(&turns->moved, NULL);
    turns->now = 1;
}

void hf_fifo_mutex_done(hf_fifo_mutex *turns)
{
    pthread_mutex_destroy(&turns->mutex);
    pthread_cond_destroy(&turns->moved);
}

void hf_fifo_mutex_lock(hf_fifo_mutex *turns)
{
    pthread_mutex_lock(&turns->mutex);
    uint64_t mine = ++turns->drawn;
    while (turns->now != mine)
        pthread_cond_wait(&turns->moved, &turns->mutex);
    pthread_mutex_unlock(&turns->mutex);
}

bool hf_fifo_mutex_trylock(hf_fifo_mutex *turns)
{
    pthread_mutex_lock(&turns->mutex);
    bool free = turns->now == turns->drawn + 1;
    turns->drawn += free;
    pthread_mutex_unlock(&turns->mutex);
    return free;
}

void hf_fifo_mutex_unlock(hf_fifo_mutex *turns)
{
    pthread_mutex_lock(&turns->mutex);
    turns->now++;
    pthread_cond_broadcast(&turns->moved);
    pthread_mutex_unlock(&turns->mutex);
}

static hf_status session_handle_new(hf_manager *manager, hf_session **out, hf_error *err)
{
    hf_session *session = hf_alloc(sizeof *session);
    if (session == NULL)
        return hf_fail_memory(err);
    if (!hf_draw_request(session->request_prefix)) {
        hf_free(session);
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    }
    session->manager = manager;
    hf_fifo_mutex_init(&session->work);
    pthread_mutex_init(&session->mutex, NULL);
    *out = session;
    return HF_OK;
}

/* A forked child has copies of locks that threads of the parent may be waiting at: destroying one
 * would wait for them. */
static void session_handle_free(hf_session *session)
{
    hf_credentials_clear(&session->credentials);
    hf_held_locks_clear(&session->held);
    hf_free(session->heard);
    hf_free(session->told);
    if (session->manager->pid == getpid()) {
        hf_fifo_mutex_done(&session->work);
        pthread_mutex_destroy(&session->mutex);
    }
    hf_free(session);
}

/* From now on the manager's poll looks after it, and listeners hear of it. */
static void session_handle_link(hf_session *session)
{
    hf_manager *manager = session->manager;
    pthread_mutex_lock(&manager->mutex);
    session->linked = true;
    LIST_INSERT_HEAD(&manager->sessions, session, of_manager);
    pthread_mutex_unlock(&manager->mutex);
    hf_keeper_wake(manager);
}

void hf_session_free(hf_session *session)
{
    if (session == NULL)
        return;
    hf_manager *manager = session->manager;
    /* in a forked child the list is a copy nobody walks, its mutex perhaps taken for ever */
    if (manager->pid == getpid()) {
        pthread_mutex_lock(&manager->mutex);
        while (session->pins > 0)
            pthread_cond_wait(&manager->unpinned, &manager->mutex);
        LIST_REMOVE(session, of_manager);
        pthread_mutex_unlock(&manager->mutex);
    }
    session_handle_free(session);
}

const char *hf_session_id(const hf_session *session)
{
    return session->credentials.id;
}

const hf_credentials *hf_session_credentials(const hf_session *session)
{
    return &session->credentials;
}

/* In a forked child the mutex may be a copy of one in use; nobody else changes the handle there. */
void hf_session_describe(hf_session *session, hf_session_info *out)
{
    bool own = session->manager->pid == getpid();
    if (own)
        pthread_mutex_lock(&session->mutex);
    *out = session->info;
    if (own)
        pthread_mutex_unlock(&session->mutex);
}

/* ---- what the handle believes ---- */

void hf_note_alive(hf_session *session, const hf_answer *answer, int64_t sent_boot_us)
{
    pthread_mutex_lock(&session->mutex);
    /* A beat gives the whole idle bound from when it was sent; a repeated open only what is left of
     * it. */
    int64_t left_us = answer->sessions[0].expires_us - answer->now_us,
            idle_us = answer->sessions[0].idle_us;
    session->info = answer->sessions[0];
    session->closing = false;
    session->sent_boot_us = sent_boot_us - (left_us < idle_us ? idle_us - left_us : 0);
    session->due_boot_us = session->sent_boot_us + idle_us / 3;
    pthread_mutex_unlock(&session->mutex);
}

/* The bound is counted from when the call was sent: the store can't have started it earlier. */
void hf_note_lock(hf_session *session, const hf_answer *answer, int64_t sent_boot_us)
{
    const hf_lock *lock = &answer->locks[0];
    int64_t until_us = lock->ends_us == 0 ? 0 : sent_boot_us + (lock->ends_us - answer->now_us);
    if (answer->pending) /* it counts when the caller commits, which the handle can't see */
        return;
    pthread_mutex_lock(&session->mutex);
    hf_held_locks_note(&session->held, &lock->resource, lock->fence, until_us);
    pthread_mutex_unlock(&session->mutex);
    if (until_us != 0)
        hf_keeper_wake(session->manager);
}

void hf_forget_grant(hf_session *session, const hf_resource *resource, int64_t fence)
{
    pthread_mutex_lock(&session->mutex);
    const hf_held_lock *held = hf_held_locks_find(&session->held, resource);
    if (held != NULL && (fence == 0 || held->fence == fence))
        hf_held_locks_drop(&session->held, resource);
    pthread_mutex_unlock(&session->mutex);
}

void hf_forget_lock(hf_session *session, const hf_resource *resource)
{
    hf_forget_grant(session, resource, 0);
}

void hf_note_shorter(hf_session *session, const hf_resource *resource, int64_t until_boot_us)
{
    if (until_boot_us == 0) {
        hf_forget_lock(session, resource);
        return;
    }
    pthread_mutex_lock(&session->mutex);
    hf_held_lock *held = hf_held_locks_find(&session->held, resource);
    if (held != NULL && (held->until_boot_us == 0 || held->until_boot_us > until_boot_us)) {
        held->until_boot_us = until_boot_us;
        held->perhaps = true;
    }
    pthread_mutex_unlock(&session->mutex);
    hf_keeper_wake(session->manager);
}

void hf_forget_all(hf_session *session)
{
    pthread_mutex_lock(&session->mutex);
    hf_held_locks_clear(&session->held);
    pthread_mutex_unlock(&session->mutex);
}

bool hf_is_over(hf_status status, const hf_answer *answer)
{
    return (status == HF_EXPIRED || status == HF_NOT_FOUND) && !answer->pending;
}

void hf_note_over(hf_session *session, bool closed)
{
    pthread_mutex_lock(&session->mutex);
    session->closed |= (closed || session->closing) && !session->ended;
    session->ended = true;
    hf_held_locks_clear(&session->held);
    pthread_mutex_unlock(&session->mutex);
}

bool hf_session_is_held(hf_session *session, const hf_resource *resource)
{
    if (session->manager->pid != getpid())
        return false;
    int64_t now_us = hf_seam.boot_us();
    pthread_mutex_lock(&session->mutex);
    const hf_held_lock *held = hf_held_locks_find(&session->held, resource);
    bool lives = held != NULL && !session->ended &&
                 now_us < session->sent_boot_us + session->info.idle_us &&
                 (held->until_boot_us == 0 || now_us < held->until_boot_us);
    pthread_mutex_unlock(&session->mutex);
    return lives;
}

/* ---- one op for a session ---- */

hf_status hf_call_begin(hf_call *c, hf_session *session, hf_op_kind kind,
                        const hf_resource *resource, hf_error *err)
{
    hf_status status = hf_batch_new(1, &c->batch, err);
    if (status != HF_OK)
        return status;
    c->session = session;
    c->number = 0;
    c->op = hf_batch_add(c->batch, kind);
    c->op->session = &session->credentials;
    hf_op_set_resource(c->op, resource);
    return HF_OK;
}

/* A request id that this session has not used: what is asked once more with it is not done twice.
 * */
uint64_t hf_number_request(hf_session *session, char *out)
{
    snprintf(out, HF_REQUEST_ID_SIZE, "%s-%llu", session->request_prefix,
             (unsigned long long)++session->calls);
    return session->calls;
}

/* Goes to the store. A session that is over there is over here. `work` is held from here to
 * call_end. */
hf_status hf_call_run(hf_call *c, hf_error *err)
{
    hf_manager *manager = c->session->manager;
    if (manager->pid != getpid()) /* the mutex may be a copy of one in use */
        return hf_fail(
            err, HF_INVALID,
            "This session was opened before fork(); open a new manager in the child process.");
    hf_fifo_mutex_lock(&c->session->work);
    c->number = hf_number_request(c->session, c->request);
    if (c->op->request_id == NULL)
        c->op->request_id = c->request;
    c->sent_boot_us = hf_seam.boot_us();
    hf_status status = hf_execute(manager, c->batch, err);
    status = hf_settle(status, c->op, err);
    /* These may be about the other session. */
    bool names_another = c->op->kind == HF_OP_HAND_OVER || c->op->kind == HF_OP_DECLINE;
    if (hf_is_over(status, &c->op->answer) && !names_another)
        hf_note_over(c->session, false);
    return status;
}

void hf_call_end(hf_call *c)
{
    if (c->session->manager->pid == getpid())
        hf_fifo_mutex_unlock(&c->session->work);
    hf_batch_free(c->batch);
}

/* ---- open, attach, beat, close ---- */

static void session_fill_open(hf_op *op, const hf_session_options *options,
                              const hf_credentials *replaces)
{
    op->user = options->user;
    op->name = options->name;
    op->idle_us = options->idle_us;
    op->request_id = options->request_id;
    op->replaces = options->replaces == NULL ? NULL : replaces;
}

static hf_status session_open_in_store(hf_session *session, const hf_session_options *options,
                                       hf_error *err)
{
    hf_credentials replaces;
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_SESSION_OPEN, NULL, err);
    if (status != HF_OK)
        return status;
    status =
        options->replaces == NULL ? HF_OK : hf_credentials_parse(options->replaces, &replaces, err);
    if (status != HF_OK) {
        hf_batch_free(c.batch);
        return status;
    }
    session_fill_open(c.op, options, &replaces);
    status = hf_call_run(&c, err);
    if (status == HF_OK) {
        hf_note_alive(session, &c.op->answer, c.sent_boot_us);
        /* A repeated open answers the session made first: its id, with the key that was shown to be
         * its. */
        memcpy(session->credentials.id, c.op->answer.sessions[0].id,
               sizeof session->credentials.id);
    }
    hf_call_end(&c);
    if (options->replaces != NULL)
        hf_credentials_clear(&replaces);
    return status;
}

hf_status hf_session_open(hf_manager *manager, const hf_session_options *options, hf_session **out,
                          hf_error *err)
{
    hf_session *session = NULL;
    if (options == NULL)
        return hf_fail(err, HF_INVALID, "No options were given: a session needs a user.");
    hf_status status = session_handle_new(manager, &session, err);
    if (status != HF_OK)
        return status;
    status = hf_credentials_new(options->key, &session->credentials, err);
    if (status == HF_OK)
        status = session_open_in_store(session, options, err);
    if (status != HF_OK) {
        session_handle_free(session);
        return status;
    }
    session_handle_link(session);
    *out = session;
    return HF_OK;
}

hf_status hf_session_attach(hf_manager *manager, const char *id_and_key, hf_session **out,
                            hf_error *err)
{
    hf_session *session = NULL;
    hf_status status = session_handle_new(manager, &session, err);
    if (status != HF_OK)
        return status;
    status = hf_credentials_parse(id_and_key, &session->credentials, err);
    if (status == HF_OK)
        status = hf_session_beat(session, NULL, err);
    if (status != HF_OK) {
        session_handle_free(session);
        return status;
    }
    session_handle_link(session);
    *out = session;
    return HF_OK;
}

static int64_t session_note_tried(hf_session *session)
{
    if (session->manager->pid != getpid())
        return 0;
    pthread_mutex_lock(&session->mutex);
    int64_t before_us = session->due_boot_us;
    session->due_boot_us = hf_seam.boot_us() + session->info.idle_us / 3;
    pthread_mutex_unlock(&session->mutex);
    return before_us;
}

static void session_note_due(hf_session *session, int64_t due_boot_us)
{
    pthread_mutex_lock(&session->mutex);
    session->due_boot_us = due_boot_us;
    pthread_mutex_unlock(&session->mutex);
}

/* The least between two tries, where the idle bound is not shorter than three of them. */
#define AGAIN_US 1000000

/* It is tried again while there is time: after a quarter of what is left, so that a short
 * disturbance costs nothing, and a store that is away for long is asked seldom at first and more
 * often as the bound comes near. */
void hf_note_missed(hf_session *session)
{
    if (session->manager->pid != getpid())
        return;
    int64_t now_us = hf_seam.boot_us();
    pthread_mutex_lock(&session->mutex);
    int64_t idle_us = session->info.idle_us;
    int64_t left_us =
        session->sent_boot_us == 0 ? idle_us : session->sent_boot_us + idle_us - now_us;
    int64_t wait_us = left_us / 4 < AGAIN_US ? AGAIN_US : left_us / 4;
    session->due_boot_us = now_us + (wait_us < idle_us / 3 ? wait_us : idle_us / 3);
    pthread_mutex_unlock(&session->mutex);
}

void hf_note_soon(hf_session *session)
{
    int64_t now_us = hf_seam.boot_us();
    pthread_mutex_lock(&session->mutex);
    int64_t third_us = session->info.idle_us / 3;
    session->due_boot_us = now_us + (third_us < AGAIN_US ? third_us : AGAIN_US);
    pthread_mutex_unlock(&session->mutex);
}

/* What a beat in the caller's transaction says of the session may be undone with it: the bound is
 * not moved, and poll's own beat is due when it was. But an attached handle knows nothing else. */
static void session_note_beat(hf_session *session, const hf_answer *answer, int64_t sent_boot_us,
                              int64_t due_boot_us)
{
    if (!answer->pending) {
        hf_note_alive(session, answer, sent_boot_us);
        return;
    }
    session_note_due(session, due_boot_us);
    pthread_mutex_lock(&session->mutex);
    if (session->sent_boot_us == 0)
        session->info = answer->sessions[0];
    pthread_mutex_unlock(&session->mutex);
}

hf_status hf_session_beat(hf_session *session, hf_result **out, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_BEAT, NULL, err);
    if (status != HF_OK)
        return status;
    hf_result *result = hf_result_new(c.batch, err);
    if (result == NULL)
        return HF_NO_MEMORY;
    int64_t due_boot_us = session_note_tried(session);
    status = hf_call_run(&c, err);
    if (status == HF_OK)
        session_note_beat(session, &c.op->answer, c.sent_boot_us, due_boot_us);
    else
        hf_note_missed(session);
    c.batch = NULL;
    hf_call_end(&c);
    hf_notify_beat(session, status, hf_result_answer(result), c.number);
    if (status == HF_OK && out != NULL)
        *out = hf_take(result);
    hf_result_free(result);
    return status;
}

hf_status hf_session_close(hf_session *session, hf_error *err)
{
    hf_call c;
    hf_status status = hf_call_begin(&c, session, HF_OP_CLOSE, NULL, err);
    if (status != HF_OK)
        return status;
    status = hf_call_run(&c, err);
    bool pending = status == HF_OK && c.op->answer.pending;
    if (status == HF_OK && !pending)
        hf_note_over(session, true);
    else if (status == HF_OK || status == HF_UNSURE)
        hf_forget_all(session);
    if (pending) {
        pthread_mutex_lock(&session->mutex);
        session->closing = true;
        pthread_mutex_unlock(&session->mutex);
    }
    hf_call_end(&c);
    if (status == HF_OK && !pending)
        hf_notify_ended(session);
    return status;
}
