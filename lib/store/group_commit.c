/* SPDX-License-Identifier: MIT */
/* If a slot is free and nobody uses the same resources, a thread executes its batch at once. Else
 * it queues. When a slot becomes free, the first thread in the queue that may run becomes a leader:
 * it takes the others that may run with it off the queue, executes the ops of all as one batch,
 * copies each answer into the batch it belongs to, and wakes the threads. */
#include "store/group_commit.h"

#include "base/error.h"
#include "base/seams.h"
#include "lock/rows.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

enum {
    RUN_MAX = 16,    /* ops of one caller */
    GROUP_MAX = 128, /* ops of a batch */
    GATHER_PART = 3, /* of the time that the last group took */
};

/*   WAITS ---> LEADS ---+---> DONE
 *     |                 |
 *     +--- follows -----+---> ALONE: executes its batch again, by itself */
typedef enum place { WAITS, LEADS, DONE, ALONE } place;

/* A thread with its batch, on its stack. Whoever follows is told by its semaphore and leaves
 * without the mutex: if all of a group took it, they would wait for each other once more. */
typedef struct member {
    hf_batch *batch;
    hf_error *err;
    _Atomic place place;        /* set with the mutex; DONE and ALONE of a follower without it */
    place comes_to;             /* DONE or ALONE: what the leader found */
    bool taken;                 /* by its leader: it is not queued any more */
    bool tried;                 /* it was executed with nobody else */
    uint64_t names[RUN_MAX];    /* hashes of the resources */
    hf_status status;           /* when DONE */
    TAILQ_ENTRY(member) queued; /* while it waits */
    LIST_ENTRY(member) running; /* of a leader */
    struct member *next;        /* in the group of a leader, which is the first */
    sem_t moved;                /* posted after each change of place, and by a nudge */
    unsigned nudges;            /* with the mutex; none once it is taken */
} member;

struct hf_group_commit {
    hf_group_commit_rule rule;
    pthread_mutex_t mutex;
    unsigned under_way;          /* how many are running */
    size_t waiting;              /* how many are queued */
    size_t expected;             /* T7: so many are likely to come next */
    int64_t gather_until_us;     /* ... and are waited for so long */
    TAILQ_HEAD(, member) queue;  /* threads that wait, in the order they came */
    LIST_HEAD(, member) running; /* leaders */
};

hf_status hf_group_commit_new(const hf_group_commit_rule *rule, hf_group_commit **out,
                              hf_error *err)
{
    hf_group_commit *all = hf_alloc(sizeof *all);
    *out = all;
    if (all == NULL)
        return hf_fail_memory(err);
    assert(!rule->gathers || !rule->in_turn);
    pthread_mutex_init(&all->mutex, NULL);
    all->rule = *rule;
    TAILQ_INIT(&all->queue);
    return HF_OK;
}

void hf_group_commit_free(hf_group_commit *all)
{
    if (all == NULL)
        return;
    assert(TAILQ_EMPTY(&all->queue) && LIST_EMPTY(&all->running) && all->under_way == 0);
    pthread_mutex_destroy(&all->mutex);
    hf_free(all);
}

/* T1. */
bool hf_group_commit_may(const hf_batch *batch)
{
    if (batch->count > RUN_MAX)
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        hf_op_kind kind = batch->ops[i].kind;
        if (kind != HF_OP_ACQUIRE && kind != HF_OP_RELEASE && kind != HF_OP_RENEW &&
            kind != HF_OP_DOWNGRADE && kind != HF_OP_SAVE)
            return false;
        if (batch->ops[i].linked != (i + 1 < batch->count))
            return false;
    }
    return true;
}

static void group_commit_note_names(member *m)
{
    for (size_t i = 0; i < m->batch->count; i++) {
        hf_slice type = hf_slice_of(m->batch->ops[i].type), id = hf_slice_of(m->batch->ops[i].id);
        m->names[i] = hf_resource_hash(0, type, id);
    }
}

/* ---- the queue; with the mutex ---- */

static bool group_commit_share_a_name(const member *a, const member *b)
{
    for (size_t i = 0; i < a->batch->count; i++)
        for (size_t j = 0; j < b->batch->count; j++)
            if (a->names[i] == b->names[j])
                return true;
    return false;
}

/* T6: whether someone of another group than that one is at its resources. */
static bool group_commit_is_under_way(const hf_group_commit *all, const member *m,
                                      const member *leader)
{
    for (const member *of = LIST_FIRST(&all->running); of != NULL; of = LIST_NEXT(of, running))
        for (const member *it = of; of != leader && it != NULL; it = it->next)
            if (group_commit_share_a_name(m, it))
                return true;
    return false;
}

/* T7: whether more are waited for, when so many are there. */
static bool group_commit_gathers(const hf_group_commit *all, size_t there)
{
    return all->rule.gathers && there < all->expected && hf_seam.boot_us() < all->gather_until_us;
}

static void group_commit_take_off(hf_group_commit *all, member *m)
{
    TAILQ_REMOVE(&all->queue, m, queued);
    all->waiting--;
    m->taken = true;
}

static void group_commit_set_off(hf_group_commit *all, member *m)
{
    all->under_way++;
    LIST_INSERT_HEAD(&all->running, m, running);
}

static void group_commit_move(member *m, place to)
{
    atomic_store(&m->place, to);
    sem_post(&m->moved);
}

/* Free slots go to the first threads in the queue that may run. */
static void group_commit_pass_on(hf_group_commit *all)
{
    if (group_commit_gathers(all, all->waiting)) {
        if (!TAILQ_EMPTY(&all->queue)) { /* it sees to it that this ends */
            TAILQ_FIRST(&all->queue)->nudges++;
            sem_post(&TAILQ_FIRST(&all->queue)->moved);
        }
        return;
    }
    for (member *m = TAILQ_FIRST(&all->queue), *next;
         m != NULL && all->under_way < all->rule.at_once; m = next) {
        next = TAILQ_NEXT(m, queued);
        if (group_commit_is_under_way(all, m, NULL))
            continue;
        group_commit_take_off(all, m);
        group_commit_set_off(all, m);
        group_commit_move(m, LEADS);
    }
}

/* So many come back from a group that began then. */
static void group_commit_come_back(hf_group_commit *all, member *leader, size_t members,
                                   int64_t since_us)
{
    int64_t now_us = hf_seam.boot_us(), took_us = now_us - since_us;
    LIST_REMOVE(leader, running);
    all->under_way--;
    all->expected = members + all->waiting < GROUP_MAX ? members + all->waiting : GROUP_MAX;
    all->gather_until_us =
        now_us + (took_us < all->rule.long_us ? took_us : all->rule.long_us) / GATHER_PART;
}

/* Sleeps without the mutex until something has moved; at most until then, unless it is 0. Answers
 * how many posts it has taken. */
static unsigned group_commit_sleep(member *me, int64_t until_us)
{
    struct timespec at;
    int64_t us = until_us == 0 ? 0 : until_us - hf_seam.boot_us();
    int code;
    clock_gettime(CLOCK_MONOTONIC, &at);
    us = (us > 0 ? us : 0) + at.tv_nsec / 1000;
    at.tv_sec += us / 1000000;
    at.tv_nsec = us % 1000000 * 1000;
    do
        code =
            until_us == 0 ? sem_wait(&me->moved) : sem_clockwait(&me->moved, CLOCK_MONOTONIC, &at);
    while (code != 0 && errno == EINTR);
    return code == 0;
}

/* Whether it has followed. Nobody may touch it any more then, so all posts must have come. */
static bool group_commit_has_followed(member *me, unsigned posts)
{
    place now = atomic_load(&me->place);
    if (now != DONE && now != ALONE)
        return false;
    while (posts < me->nudges + 1)
        posts += group_commit_sleep(me, 0);
    return true;
}

/* Until it leads (then with the mutex again) or has followed (without). T5: after a while the first
 * in the queue leads without a slot. */
static void group_commit_wait_in_line(hf_group_commit *all, member *me)
{
    int64_t long_us = hf_seam.boot_us() + all->rule.long_us;
    unsigned posts = 0;
    TAILQ_INSERT_TAIL(&all->queue, me, queued);
    all->waiting++;
    if (all->rule.gathers && !group_commit_gathers(all, all->waiting))
        group_commit_pass_on(all); /* it was the last that was waited for */
    while (atomic_load(&me->place) != LEADS) {
        bool idle = all->rule.gathers && all->under_way < all->rule.at_once && !me->taken &&
                    TAILQ_FIRST(&all->queue) == me;
        bool gathers = idle && group_commit_gathers(all, all->waiting);
        if (idle && !gathers)
            group_commit_pass_on(all);
        if (atomic_load(&me->place) == LEADS)
            break;
        int64_t until_us = all->rule.in_turn || me->taken ? 0
                           : gathers                      ? all->gather_until_us
                                                          : long_us;
        pthread_mutex_unlock(&all->mutex);
        posts += group_commit_sleep(me, until_us);
        if (group_commit_has_followed(me, posts))
            return;
        pthread_mutex_lock(&all->mutex);
        if (atomic_load(&me->place) != WAITS || me->taken)
            continue;
        if (all->rule.in_turn || hf_seam.boot_us() < long_us)
            continue;
        if (atomic_load(&me->place) == WAITS && TAILQ_FIRST(&all->queue) == me) {
            group_commit_take_off(all, me);
            group_commit_set_off(all, me);
            atomic_store(&me->place, LEADS);
        }
        long_us += all->rule.long_us;
    }
}

/* T4. */
static bool group_commit_repeats(const member *group, const hf_batch *batch)
{
    for (; group != NULL; group = group->next)
        for (size_t i = 0; i < group->batch->count; i++)
            for (size_t j = 0; j < batch->count; j++) {
                const hf_op *a = &group->batch->ops[i], *b = &batch->ops[j];
                if (a->request_id != NULL && b->request_id != NULL && a->session != NULL &&
                    b->session != NULL && strcmp(a->request_id, b->request_id) == 0 &&
                    memcmp(a->session->id, b->session->id, sizeof a->session->id) == 0)
                    return true;
            }
    return false;
}

/* Takes those that may run with the leader off the queue. Answers how many ops all of them have. */
static size_t group_commit_take_group(hf_group_commit *all, member *leader)
{
    size_t ops = leader->batch->count;
    member *last = leader;
    for (member *m = TAILQ_FIRST(&all->queue), *next; m != NULL && ops < GROUP_MAX; m = next) {
        next = TAILQ_NEXT(m, queued);
        if (ops + m->batch->count > GROUP_MAX || group_commit_is_under_way(all, m, leader) ||
            group_commit_repeats(leader, m->batch))
            continue;
        group_commit_take_off(all, m);
        last->next = m;
        last = m;
        ops += m->batch->count;
    }
    return ops;
}

/* ---- a group ---- */

static bool group_commit_copy_rows(hf_arena *arena, const void **rows, size_t count, size_t size)
{
    if (count == 0)
        return true;
    void *copy = hf_arena_alloc(arena, count * size);
    if (copy != NULL)
        memcpy(copy, *rows, count * size);
    *rows = copy;
    return copy != NULL;
}

/* The ops of T1 answer locks, requests, losses and versions, which are plain values. */
static bool group_commit_copy_answer(hf_arena *arena, const hf_answer *from, hf_answer *to)
{
    const void *locks = from->locks, *requests = from->requests, *lost = from->lost,
               *versions = from->versions;
    *to = *from;
    if (!group_commit_copy_rows(arena, &locks, from->locks_count, sizeof *from->locks) ||
        !group_commit_copy_rows(arena, &requests, from->requests_count, sizeof *from->requests) ||
        !group_commit_copy_rows(arena, &lost, from->lost_count, sizeof *from->lost) ||
        !group_commit_copy_rows(arena, &versions, from->versions_count, sizeof *from->versions))
        return false;
    if (from->message != NULL &&
        (to->message = hf_arena_text(arena, hf_slice_of(from->message))) == NULL)
        return false;
    to->locks = locks;
    to->requests = requests;
    to->lost = lost;
    to->versions = versions;
    return true;
}

/* T2: a run that is busy is not settled. */
static place group_commit_judge(const hf_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].answer.status == HF_BUSY)
            return ALONE;
    return DONE;
}

/* T3. */
static bool group_commit_is_for_all(hf_status status)
{
    return status == HF_UNSURE || status == HF_UNAVAILABLE;
}

static void group_commit_take_answers(member *m, const hf_op *ops)
{
    m->comes_to = group_commit_judge(ops, m->batch->count);
    m->status = HF_OK;
    for (size_t i = 0; i < m->batch->count && m->comes_to == DONE && m->status == HF_OK; i++)
        if (!group_commit_copy_answer(&m->batch->arena, &ops[i].answer, &m->batch->ops[i].answer))
            m->status = hf_fail(m->err, HF_UNSURE,
                                "Out of memory: it was done, but the answer is lost; ask again.");
}

/* Everyone of the group gets what it came to. Their threads sleep until it is told them. */
static void group_commit_share_out(member *group, const hf_op *ops, hf_status status,
                                   const hf_error *err)
{
    for (member *m = group; m != NULL; m = m->next) {
        if (status == HF_OK) {
            group_commit_take_answers(m, ops);
            ops += m->batch->count;
        } else if (group_commit_is_for_all(status)) {
            m->comes_to = DONE;
            m->status = status;
            if (m->err != NULL)
                *m->err = *err;
        } else {
            m->comes_to = ALONE;
        }
    }
}

static void group_commit_carry_out(hf_group_commit *all, hf_store *store, member *group,
                                   size_t count)
{
    hf_batch *batch;
    hf_error err = {.status = HF_OK};
    if (hf_batch_new(count, &batch, NULL) != HF_OK) {
        group_commit_share_out(group, NULL, HF_NO_MEMORY, &err);
        return;
    }
    batch->since_us = group->batch->since_us;
    for (const member *m = group; m != NULL; m = m->next) {
        memcpy(&batch->ops[batch->count], m->batch->ops, m->batch->count * sizeof *batch->ops);
        batch->count += m->batch->count;
        if (m->batch->since_us < batch->since_us)
            batch->since_us = m->batch->since_us;
    }
    batch->grouped = true;
    hf_status status = all->rule.execute(store, batch, &err);
    group_commit_share_out(group, batch->ops, status, &err);
    hf_batch_free(batch);
}

/* Who goes alone does not keep its place while it is busy either. */
static void group_commit_carry_out_one(hf_group_commit *all, hf_store *store, member *me)
{
    me->batch->grouped = !all->rule.in_turn;
    me->status = all->rule.execute(store, me->batch, me->err);
    me->comes_to = DONE;
    if (me->batch->grouped && me->status == HF_OK)
        me->comes_to = group_commit_judge(me->batch->ops, me->batch->count);
    else if (me->batch->grouped && !group_commit_is_for_all(me->status))
        me->comes_to = ALONE;
    me->batch->grouped = false;
    me->tried = me->comes_to == ALONE && (me->status == HF_OK || me->status == HF_BUSY);
}

/* Wakes those who followed. Each is gone as soon as it has been posted. */
static void group_commit_dismiss(member *group)
{
    for (member *next; group != NULL; group = next) {
        next = group->next;
        group_commit_move(group, group->comes_to);
    }
}

/* With the mutex, which is given up. */
static void group_commit_lead(hf_group_commit *all, hf_store *store, member *me)
{
    size_t ops = group_commit_take_group(all, me), members = 0;
    int64_t since_us = hf_seam.boot_us();
    for (const member *m = me; m != NULL; m = m->next)
        members++;
    pthread_mutex_unlock(&all->mutex);
    if (members == 1)
        group_commit_carry_out_one(all, store, me);
    else
        group_commit_carry_out(all, store, me, ops);
    pthread_mutex_lock(&all->mutex);
    group_commit_come_back(all, me, members, since_us);
    group_commit_pass_on(all);
    pthread_mutex_unlock(&all->mutex);
    group_commit_dismiss(me->next);
    atomic_store(&me->place, me->comes_to);
}

/* The same, without a place in the queue. */
static void group_commit_go_at_once(hf_group_commit *all, hf_store *store, member *me)
{
    int64_t since_us = hf_seam.boot_us();
    group_commit_set_off(all, me);
    pthread_mutex_unlock(&all->mutex);
    group_commit_carry_out_one(all, store, me);
    pthread_mutex_lock(&all->mutex);
    group_commit_come_back(all, me, 1, since_us);
    group_commit_pass_on(all);
    pthread_mutex_unlock(&all->mutex);
    atomic_store(&me->place, me->comes_to);
}

static void group_commit_go_with_others(hf_group_commit *all, hf_store *store, member *me)
{
    sem_init(&me->moved, 0, 0);
    group_commit_wait_in_line(all, me);
    if (atomic_load(&me->place) == LEADS)
        group_commit_lead(all, store, me);
    sem_destroy(&me->moved);
}

/* With the mutex. */
static bool group_commit_may_go_at_once(const hf_group_commit *all, const member *me)
{
    bool first = !all->rule.gathers || all->waiting == 0;
    return all->under_way < all->rule.at_once && first && !group_commit_gathers(all, 1) &&
           !group_commit_is_under_way(all, me, NULL);
}

hf_status hf_group_commit_execute(hf_group_commit *all, hf_store *store, hf_batch *batch,
                                  hf_error *err)
{
    member me = {.batch = batch, .err = err};
    if (!hf_group_commit_may(batch))
        return all->rule.execute(store, batch, err);
    batch->since_us = hf_seam.boot_us();
    group_commit_note_names(&me);
    pthread_mutex_lock(&all->mutex);
    if (group_commit_may_go_at_once(all, &me))
        group_commit_go_at_once(all, store, &me);
    else
        group_commit_go_with_others(all, store, &me);
    if (atomic_load(&me.place) == ALONE) {
        hf_batch_unanswer(batch);
        batch->tried = me.tried;
        me.status = all->rule.execute(store, batch, err);
    }
    batch->since_us = 0;
    batch->tried = false;
    return me.status;
}

size_t hf_group_commit_waiting(hf_group_commit *all)
{
    pthread_mutex_lock(&all->mutex);
    size_t count = all->waiting;
    pthread_mutex_unlock(&all->mutex);
    return count;
}
