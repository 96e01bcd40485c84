/* SPDX-License-Identifier: MIT */
/* Looking after session handles: beating those that are due and judging their bounds; by hand with
 * hf_manager_poll, or in a thread that does nothing else. */
#include "base/error.h"
#include "base/seams.h"
#include "lock/batch.h"
#include "manager/manager.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- polling ---- */

/* One round over all handles. */
typedef struct polling {
    uint64_t number;
    int64_t next_us; /* until the next */
    bool away;       /* the store could not be used, with several beats at once nor with one */
} polling;

static void keeper_come_back_in(polling *it, int64_t us)
{
    if (us < it->next_us)
        it->next_us = us < 1000 ? 1000 : us;
}

/* How a session stands. */
typedef struct outlook {
    int64_t due_us;   /* until it is to beat */
    int64_t left_us;  /* until its idle bound has come */
    bool ended;       /* that is known already */
    uint64_t in_vain; /* as in the handle */
} outlook;

static outlook keeper_look_at(hf_session *session, int64_t now_us)
{
    pthread_mutex_lock(&session->mutex);
    outlook seen = {session->due_boot_us - now_us, INT64_MAX, session->ended, session->in_vain};
    if (session->sent_boot_us != 0)
        seen.left_us = session->sent_boot_us + session->info.idle_us - now_us;
    pthread_mutex_unlock(&session->mutex);
    return seen;
}

/* Of busy and too large the neighbours in a batch may be the cause; of these they are not, and the
 * next session would hear the same. */
static bool keeper_is_for_all(hf_status status)
{
    return status == HF_UNAVAILABLE || status == HF_UNSURE || status == HF_TOO_MANY ||
           status == HF_UNAUTHENTICATED;
}

/* Where a batch of beats came to nothing each is tried by itself, until one of them shows that the
 * others were not in its way: a store that is away, or a proxy before it that says so, is not asked
 * by a thousand sessions in a row. Those that were in no batch beat in any case. */
static void keeper_beat_alone(hf_session *session, polling *it, bool in_vain)
{
    if (in_vain && it->away) {
        hf_note_missed(session);
        return;
    }
    hf_result *result = NULL;
    /* a store out of reach: the bound decides */
    hf_status status = hf_session_beat(session, &result, NULL);
    it->away |= in_vain && keeper_is_for_all(status);
    if (status == HF_OK && hf_result_answer(result)->pending)
        hf_note_soon(session);
    hf_result_free(result);
}

static void keeper_look_after(hf_session *session, polling *it)
{
    int64_t now_us = hf_seam.boot_us();
    outlook seen = keeper_look_at(session, now_us);
    if (!seen.ended && seen.due_us <= 0) {
        keeper_beat_alone(session, it, seen.in_vain == it->number);
        now_us = hf_seam.boot_us();
        seen = keeper_look_at(session, now_us);
    }
    if (seen.ended || seen.left_us <= 0) { /* perhaps found out by another call; told once */
        hf_notify_ended(session);
        return;
    }
    hf_notify_spent(session, now_us, &it->next_us);
    keeper_come_back_in(it, seen.due_us);
    keeper_come_back_in(it, seen.left_us);
}

/* The handle after `last` (NULL: the first), kept from being freed. Those opened meanwhile may be
 * missed until next time. */
static hf_session *keeper_pin_next(hf_manager *manager, hf_session *last)
{
    pthread_mutex_lock(&manager->mutex);
    hf_session *session =
        last == NULL ? LIST_FIRST(&manager->sessions) : LIST_NEXT(last, of_manager);
    if (session != NULL)
        session->pins++;
    if (last != NULL && --last->pins == 0)
        pthread_cond_broadcast(&manager->unpinned);
    pthread_mutex_unlock(&manager->mutex);
    return session;
}

/* ---- beating many at once ---- */

/* One by one, the beats of a thousand sessions would take a thousand times as long as the store is
 * away. Those that are due and whose handle nobody is using go in batches. */

enum { BEATS_AT_ONCE = 64 };
#define AWAY_US 1000000 /* a store that takes longer to fail is away */

/* What is known of a beat, when its handle may have been freed. */
typedef struct beating {
    hf_session *session;
    char prefix[sizeof((hf_session *)NULL)
                    ->request_prefix]; /* drawn for each handle: tells it from every other */
    char request[HF_REQUEST_ID_SIZE];
    uint64_t call;
    hf_status status;
} beating;

static void keeper_unpin(hf_session *session)
{
    hf_manager *manager = session->manager;
    pthread_mutex_lock(&manager->mutex);
    if (--session->pins == 0)
        pthread_cond_broadcast(&manager->unpinned);
    pthread_mutex_unlock(&manager->mutex);
}

/* Pins it, if it is still there. Another may have come to its place in memory, perhaps one on the
 * same session. */
static bool keeper_pin_again(hf_manager *manager, const beating *it)
{
    pthread_mutex_lock(&manager->mutex);
    hf_session *session = LIST_FIRST(&manager->sessions);
    while (session != NULL &&
           (session != it->session || strcmp(session->request_prefix, it->prefix) != 0))
        session = LIST_NEXT(session, of_manager);
    if (session != NULL)
        session->pins++;
    pthread_mutex_unlock(&manager->mutex);
    return session != NULL;
}

/* Takes up to BEATS_AT_ONCE sessions that are due and not in use, each with a pin and its `work`.
 * Each is looked at once in a poll: one whose bound is shorter than a batch takes would be due for
 * ever. */
static size_t keeper_take_due(hf_manager *manager, uint64_t poll, beating *out)
{
    size_t count = 0;
    int64_t now_us = hf_seam.boot_us();
    pthread_mutex_lock(&manager->mutex);
    for (hf_session *session = LIST_FIRST(&manager->sessions);
         session != NULL && count < BEATS_AT_ONCE; session = LIST_NEXT(session, of_manager)) {
        if (session->polled >= poll)
            continue;
        session->polled = poll;
        outlook seen = keeper_look_at(session, now_us);
        if (seen.due_us > 0 || seen.ended || !hf_fifo_mutex_trylock(&session->work))
            continue;
        session->pins++;
        out[count] = (beating){.session = session};
        memcpy(out[count++].prefix, session->request_prefix, sizeof out->prefix);
    }
    pthread_mutex_unlock(&manager->mutex);
    return count;
}

/* Once more when the answer was lost: a beat that is sent twice does no harm. */
static hf_status keeper_ask_for_beats(hf_manager *manager, hf_batch *batch, int64_t *sent_boot_us)
{
    *sent_boot_us = hf_seam.boot_us();
    hf_status status = hf_store_execute(manager->store, batch, NULL);
    return status == HF_UNSURE && hf_seam.boot_us() - *sent_boot_us < AWAY_US
               ? hf_store_execute(manager->store, batch, NULL)
               : status;
}

static void keeper_note_in_vain(hf_session *session, uint64_t poll)
{
    pthread_mutex_lock(&session->mutex);
    session->in_vain = poll;
    pthread_mutex_unlock(&session->mutex);
}

/* What could not be beaten stays due, and beats by itself: perhaps its neighbours were in the way,
 * or all of them were too much at once. But not when the store is away, where one after the other
 * would wait for it. */
static void keeper_send_beats(hf_manager *manager, polling *it, hf_batch *batch, beating *all,
                              size_t count)
{
    int64_t sent_boot_us;
    batch->grouped = count > 1; /* for one that is busy the others are not kept waiting */
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(batch, HF_OP_BEAT);
        all[i].call = hf_number_request(all[i].session, all[i].request);
        op->session = &all[i].session->credentials;
        op->request_id = all[i].request;
    }
    hf_status status = keeper_ask_for_beats(manager, batch, &sent_boot_us);
    bool away = status != HF_OK && hf_seam.boot_us() - sent_boot_us >= AWAY_US;
    it->away |= away;
    for (size_t i = 0; i < count; i++) {
        const hf_answer *answer = &hf_batch_op(batch, i)->answer;
        all[i].status = status != HF_OK ? status : answer->status;
        if (all[i].status == HF_OK && !answer->pending)
            hf_note_alive(all[i].session, answer, sent_boot_us);
        else if (all[i].status == HF_OK)
            hf_note_soon(all[i].session);
        else if (away || count == 1)
            hf_note_missed(all[i].session);
        if (status != HF_OK || all[i].status == HF_UNAVAILABLE || all[i].status == HF_UNSURE)
            keeper_note_in_vain(all[i].session, it->number);
        if (hf_is_over(all[i].status, answer))
            hf_note_over(all[i].session, false);
    }
}

/* The listeners are called when no handle is kept but the one it is about: they may free the
 * others. */
static void keeper_beat_all(hf_manager *manager, polling *it, beating *all, size_t count)
{
    hf_batch *batch = NULL;
    if (hf_batch_new(count, &batch, NULL) == HF_OK)
        keeper_send_beats(manager, it, batch, all, count);
    for (size_t i = 0; i < count; i++) {
        hf_fifo_mutex_unlock(&all[i].session->work);
        keeper_unpin(all[i].session);
    }
    for (size_t i = 0; batch != NULL && i < count; i++)
        if (keeper_pin_again(manager, &all[i])) {
            hf_notify_beat(all[i].session, all[i].status, &hf_batch_op(batch, i)->answer,
                           all[i].call);
            keeper_unpin(all[i].session);
        }
    hf_batch_free(batch);
}

/* Those that are left beat by themselves: those that someone is using, and those with which the
 * batch did not come to anything. */
static void keeper_beat_those_due(hf_manager *manager, polling *it)
{
    beating all[BEATS_AT_ONCE];
    pthread_mutex_lock(&manager->mutex);
    it->number = ++manager->polls;
    pthread_mutex_unlock(&manager->mutex);
    for (size_t count; (count = keeper_take_due(manager, it->number, all)) > 0;)
        keeper_beat_all(manager, it, all, count);
}

hf_status hf_manager_poll(hf_manager *manager, int64_t *next_us, hf_error *err)
{
    polling it = {.next_us = 60 * INT64_C(1000000)};
    if (manager->pid != getpid())
        return hf_fail(
            err, HF_INVALID,
            "This manager was opened before fork(); open a new one in the child process.");
    keeper_beat_those_due(manager, &it);
    for (hf_session *session = keeper_pin_next(manager, NULL); session != NULL;
         session = keeper_pin_next(manager, session))
        keeper_look_after(session, &it);
    if (next_us != NULL)
        *next_us = it.next_us;
    return HF_OK;
}

/* ---- the keeper ---- */

/* Each keeper has a turn; it ends when the manager's has moved on. So one that is still in a slow
 * call when it is stopped ends after it, whoever has started another meanwhile. */
typedef struct keeper {
    hf_manager *manager;
    uint64_t turn;
} keeper;

/* It sleeps by a clock that stands still while the machine is suspended, and beats by one that does
 * not: so it never sleeps for long. */
#define NAP_US 3000000

static struct timespec keeper_after(int64_t us)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)(us / 1000000);
    time.tv_nsec += (long)(us % 1000000) * 1000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void *keeper_keep(void *context)
{
    keeper self = *(keeper *)context;
    hf_manager *manager = self.manager;
    hf_free(context);
    pthread_mutex_lock(&manager->mutex);
    while (manager->keeper_turn == self.turn) {
        int64_t next_us = 1000000;
        pthread_mutex_unlock(&manager->mutex);
        hf_status polled = hf_manager_poll(manager, &next_us, NULL);
        (void)polled;
        struct timespec until = keeper_after(next_us < NAP_US ? next_us : NAP_US);
        pthread_mutex_lock(&manager->mutex);
        while (manager->keeper_turn == self.turn && !manager->keeper_woken &&
               pthread_cond_timedwait(&manager->keeper_wakes, &manager->mutex, &until) == 0)
            continue;
        manager->keeper_woken = false;
    }
    manager->keepers--;
    pthread_cond_broadcast(&manager->unpinned);
    pthread_mutex_unlock(&manager->mutex);
    return NULL;
}

void hf_keeper_wake(hf_manager *manager)
{
    pthread_mutex_lock(&manager->mutex);
    manager->keeper_woken = true;
    pthread_cond_broadcast(&manager->keeper_wakes);
    pthread_mutex_unlock(&manager->mutex);
}

/* With all signals blocked: they are the application's. */
static int keeper_start_thread(hf_manager *manager, keeper *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&manager->keeper, NULL, keeper_keep, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

hf_status hf_manager_keeper_start(hf_manager *manager, hf_error *err)
{
    int failed = 0;
    if (manager->pid != getpid())
        return hf_fail(
            err, HF_INVALID,
            "This manager was opened before fork(); open a new one in the child process.");
    keeper *self = hf_alloc(sizeof *self);
    if (self == NULL)
        return hf_fail_memory(err);
    pthread_mutex_lock(&manager->mutex);
    if (!manager->keeper_runs) {
        *self = (keeper){manager, ++manager->keeper_turn};
        failed = keeper_start_thread(manager, self);
        manager->keeper_runs = failed == 0;
        manager->keepers += failed == 0;
        if (failed == 0)
            self = NULL; /* the thread's now */
    }
    pthread_mutex_unlock(&manager->mutex);
    hf_free(self);
    if (failed == 0)
        return HF_OK;
    return hf_fail(err, HF_NO_MEMORY, "The keeper's thread can't be started: %s.",
                   strerror(failed));
}

/* A listener may stop the keeper it is called from: that thread then ends by itself, and closing
 * waits for it. */
void hf_manager_keeper_stop(hf_manager *manager)
{
    if (manager->pid != getpid())
        return;
    pthread_mutex_lock(&manager->mutex);
    bool runs = manager->keeper_runs;
    pthread_t thread = manager->keeper;
    if (runs)
        manager->keeper_turn++;
    manager->keeper_runs = false;
    pthread_cond_broadcast(&manager->keeper_wakes);
    pthread_mutex_unlock(&manager->mutex);
    if (runs && pthread_equal(thread, pthread_self()))
        pthread_detach(thread);
    else if (runs)
        pthread_join(thread, NULL);
}

void hf_keepers_leave(hf_manager *manager)
{
    pthread_mutex_lock(&manager->mutex);
    while (manager->keepers > 0)
        pthread_cond_wait(&manager->unpinned, &manager->mutex);
    pthread_mutex_unlock(&manager->mutex);
}
