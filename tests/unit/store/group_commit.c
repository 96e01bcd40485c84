/* SPDX-License-Identifier: MIT */
/* Threads that share a store's transactions: who goes with whom, and what each is told. T1 to T7
 * stand in store/group_commit.h. Made for the thread sanitizer too. */
#include "faults/shim.h"

#include <base/seams.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <store/group_commit.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <time.h>

enum { CROWD = 40, BATCHES_MAX = 200 };

/* A store that writes down how many ops each batch had. It can be shut, and fail. It answers an
 * acquire with a lock whose fence is the op's own, or with what its id asks for. */
static struct {
    hf_store base;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool shut;
    size_t inside, batches, ops[BATCHES_MAX];
    hf_status fails;       /* what a batch of several comes to */
    bool several_are_busy; /* a run with the id "busy" is, as long as it has company */
    int64_t since_us;      /* of the last that was alone after that */
    atomic_bool no_memory;
    bool runs_out_at_first, runs_out_at_several;
} desk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *(*plain_realloc)(void *, size_t);

static void *realloc_or_not(void *block, size_t size)
{
    return desk.no_memory ? NULL : plain_realloc(block, size);
}

static bool is_a(const hf_op *op, const char *kind)
{
    return strncmp(op->id, kind, strlen(kind)) == 0;
}

static void group_commit_answer(hf_op *op, hf_batch *batch)
{
    if (is_a(op, "taken")) {
        hf_lock *locks = hf_arena_alloc(&batch->arena, 2 * sizeof *locks);
        snprintf(locks[1].user, sizeof locks[1].user, "bob");
        op->answer =
            (hf_answer){.status = HF_LOCKED,
                        .message = hf_arena_text(&batch->arena, hf_slice_of("Bob has it.")),
                        .locks = locks,
                        .locks_count = 2};
        return;
    }
    hf_lock *lock = hf_arena_alloc(&batch->arena, sizeof *lock);
    hf_request *requests = hf_arena_alloc(&batch->arena, sizeof *requests);
    hf_lost *lost = hf_arena_alloc(&batch->arena, sizeof *lost);
    lock->fence = op->fence;
    requests->at_us = op->fence + 1;
    lost->at_us = op->fence + 2;
    op->answer = (hf_answer){.status = HF_OK,
                             .outcome = HF_GRANTED,
                             .locks = lock,
                             .locks_count = 1,
                             .requests = requests,
                             .requests_count = 1,
                             .lost = lost,
                             .lost_count = 1,
                             .now_us = 77};
}

static hf_status group_commit_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    assert_ptr_equal(store, &desk.base);
    pthread_mutex_lock(&desk.mutex);
    desk.inside++;
    desk.ops[desk.batches++ % BATCHES_MAX] = batch->count;
    pthread_cond_broadcast(&desk.changed);
    while (desk.shut)
        pthread_cond_wait(&desk.changed, &desk.mutex);
    desk.inside--;
    hf_status fails = batch->grouped ? desk.fails : HF_OK;
    desk.no_memory = false;
    for (size_t i = 0; i < batch->count; i++) {
        group_commit_answer(&batch->ops[i], batch);
        if (is_a(&batch->ops[i], "busy") && batch->grouped && desk.several_are_busy)
            batch->ops[i].answer = (hf_answer){.status = HF_BUSY, .message = "Busy."};
        if (is_a(&batch->ops[i], "busy") && !batch->grouped)
            desk.since_us = batch->since_us;
    }
    desk.no_memory = batch->grouped ? desk.runs_out_at_several : desk.runs_out_at_first;
    desk.runs_out_at_first = false;
    pthread_mutex_unlock(&desk.mutex);
    *err = (hf_error){.status = fails};
    if (fails != HF_OK)
        snprintf(err->message, sizeof err->message, "It came to %s.", hf_status_wire(fails));
    return fails;
}

static void shut(bool closed)
{
    pthread_mutex_lock(&desk.mutex);
    desk.shut = closed;
    pthread_cond_broadcast(&desk.changed);
    pthread_mutex_unlock(&desk.mutex);
}

static void wait_inside(size_t count)
{
    pthread_mutex_lock(&desk.mutex);
    while (desk.inside < count)
        pthread_cond_wait(&desk.changed, &desk.mutex);
    pthread_mutex_unlock(&desk.mutex);
}

/* ---- callers ---- */

typedef struct caller {
    hf_group_commit *all;
    hf_batch *batch;
    hf_credentials session;
    char request[HF_REQUEST_ID_SIZE];
    char id[32];
    hf_status status;
    hf_error err;
    pthread_t thread;
} caller;

#define NEVER_US INT64_C(1000000000) /* who stands in line stays there */
#define SOON_US  INT64_C(10000)

static hf_group_commit *open_by(hf_group_commit_rule rule)
{
    hf_group_commit *all = NULL;
    hf_error err = {0};
    rule.execute = group_commit_execute;
    desk.batches = 0;
    desk.fails = HF_OK;
    desk.several_are_busy = desk.shut = false;
    expect(HF_OK, hf_group_commit_new(&rule, &all, &err), err);
    return all;
}

static hf_group_commit *open_together(unsigned at_once, bool in_turn, int64_t long_us)
{
    return open_by(
        (hf_group_commit_rule){.at_once = at_once, .in_turn = in_turn, .long_us = long_us});
}

/* A run of so many acquires; the fence tells them apart. */
static void group_commit_fill(caller *c, hf_group_commit *all, int number, size_t count,
                              const char *id)
{
    c->all = all;
    assert_int_equal(hf_batch_new(count, &c->batch, &c->err), HF_OK);
    snprintf(c->session.id, sizeof c->session.id, "%032x", number);
    snprintf(c->request, sizeof c->request, "request-%d", number);
    snprintf(c->id, sizeof c->id, "%s-%d", id, number);
    for (size_t i = 0; i < count; i++) {
        hf_op *op = hf_batch_add(c->batch, HF_OP_ACQUIRE);
        op->session = &c->session;
        op->request_id = c->request;
        op->type = "policy";
        op->id = c->id;
        op->fence = number * 100 + (int)i;
        op->linked = i + 1 < count;
    }
}

static void *group_commit_caller_main(void *context)
{
    caller *c = context;
    c->status = hf_group_commit_execute(c->all, &desk.base, c->batch, &c->err);
    return NULL;
}

static void group_commit_begin(caller *c)
{
    expect_int(pthread_create(&c->thread, NULL, group_commit_caller_main, c), 0);
}

/* Begins it and waits until it stands in line, as the so-manieth. */
static void line_up(caller *c, size_t number)
{
    group_commit_begin(c);
    while (hf_group_commit_waiting(c->all) < number)
        sched_yield();
}

static void group_commit_finish(caller *c, hf_status status)
{
    expect_int(pthread_join(c->thread, NULL), 0);
    check_status(status, c->status, c->err.message, "the batch", __FILE__, __LINE__);
    for (size_t i = 0; i < c->batch->count && status == HF_OK; i++) {
        const hf_op *op = &c->batch->ops[i];
        if (is_a(op, "taken")) {
            expect_status(HF_LOCKED, op->answer.status, op->answer.message);
            expect_text(op->answer.message, "Bob has it.");
            expect_int(op->answer.locks_count, 2);
            expect_text(op->answer.locks[1].user, "bob");
            continue;
        }
        expect_status(HF_OK, op->answer.status, op->answer.message);
        expect_int(op->answer.outcome, HF_GRANTED);
        expect_int(op->answer.locks[0].fence, op->fence);
        expect_int(op->answer.requests[0].at_us, op->fence + 1);
        expect_int(op->answer.lost[0].at_us, op->fence + 2);
        expect_int(op->answer.now_us, 77);
    }
    hf_batch_free(c->batch);
}

/* One who holds the only place, inside a shut store, and so many in line behind, each a run of
 * `ops`. */
typedef struct scene {
    hf_group_commit *all;
    caller first, others[CROWD];
    size_t count;
} scene;

static void crowd_for(scene *s, bool in_turn, size_t count, size_t ops, int64_t long_us)
{
    s->all = open_together(1, in_turn, long_us);
    s->count = count;
    shut(true);
    group_commit_fill(&s->first, s->all, 99, 1, "free");
    group_commit_begin(&s->first);
    wait_inside(1);
    for (size_t i = 0; i < count; i++)
        group_commit_fill(&s->others[i], s->all, (int)i + 1, ops, i % 5 == 4 ? "taken" : "free");
}

static void group_commit_crowd(scene *s, bool in_turn, size_t count, size_t ops)
{
    crowd_for(s, in_turn, count, ops, NEVER_US);
}

static void line_up_all(scene *s)
{
    for (size_t i = 0; i < s->count; i++)
        line_up(&s->others[i], i + 1);
}

static void open_and_finish(scene *s, hf_status status)
{
    shut(false);
    group_commit_finish(&s->first, HF_OK);
    for (size_t i = 0; i < s->count; i++)
        group_commit_finish(&s->others[i], status);
    hf_group_commit_free(s->all);
}

/* ---- tests ---- */

static void who_is_alone_goes_at_once_as_it_is(void **state)
{
    (void)state;
    caller c = {0};
    hf_group_commit *all = open_together(1, false, NEVER_US);
    for (int i = 0; i < 3; i++) {
        group_commit_fill(&c, all, i, 2, "free");
        group_commit_begin(&c);
        group_commit_finish(&c, HF_OK);
    }
    expect_int(desk.batches, 3);
    hf_group_commit_free(all);
}

static void who_waits_goes_as_one_batch_and_gets_its_own_answer(void **state)
{
    (void)state;
    static scene s;
    group_commit_crowd(&s, true, 12, 2);
    line_up_all(&s);
    open_and_finish(&s, HF_OK);
    expect_int(desk.batches, 2);
    expect_int(desk.ops[1], 24);
}

static void more_than_go_together_go_in_several(void **state)
{
    (void)state;
    static scene s;
    size_t ops = 0;
    group_commit_crowd(&s, true, CROWD, 16);
    line_up_all(&s);
    open_and_finish(&s, HF_OK);
    expect_int(desk.batches, 6);
    for (size_t i = 1; i < 6; i++) {
        expect_int(desk.ops[i], 128);
        ops += desk.ops[i];
    }
    expect_int(ops, CROWD * 16);
}

static void as_many_as_there_are_places_go_at_the_same_time(void **state)
{
    (void)state;
    caller c[4] = {0};
    hf_group_commit *all = open_together(3, true, NEVER_US);
    shut(true);
    for (int i = 0; i < 4; i++)
        group_commit_fill(&c[i], all, i, 1, "free");
    for (int i = 0; i < 3; i++)
        group_commit_begin(&c[i]);
    wait_inside(3);
    line_up(&c[3], 1);
    shut(false);
    for (int i = 0; i < 4; i++)
        group_commit_finish(&c[i], HF_OK);
    expect_int(desk.batches, 4);
    hf_group_commit_free(all);
}

/* T1. */
static void only_a_short_run_of_simple_changes_goes_with_others(void **state)
{
    (void)state;
    static const hf_op_kind all[] = {HF_OP_ACQUIRE, HF_OP_RELEASE, HF_OP_RENEW, HF_OP_DOWNGRADE,
                                     HF_OP_SAVE};
    caller c = {0};
    for (hf_op_kind kind = 0; kind < HF_OP_KINDS; kind++) {
        bool simple = false;
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            simple |= all[i] == kind;
        group_commit_fill(&c, NULL, 1, 1, "free");
        c.batch->ops[0].kind = kind;
        expect_int(hf_group_commit_may(c.batch), simple);
        hf_batch_free(c.batch);
    }
    group_commit_fill(&c, NULL, 1, 3, "free");
    expect_true(hf_group_commit_may(c.batch));
    c.batch->ops[1].linked = false; /* two runs */
    expect_true(!hf_group_commit_may(c.batch));
    c.batch->ops[1].linked = true;
    c.batch->ops[1].kind = HF_OP_BEAT;
    expect_true(!hf_group_commit_may(c.batch));
    hf_batch_free(c.batch);
    group_commit_fill(&c, NULL, 1, 17, "free");
    expect_true(!hf_group_commit_may(c.batch));
    hf_batch_free(c.batch);
}

/* T2: also who had no company gives its place up while it is busy. */
static void who_is_busy_without_company_keeps_no_place(void **state)
{
    (void)state;
    caller busy = {0}, other = {0};
    hf_group_commit *all = open_together(1, false, NEVER_US);
    desk.several_are_busy = true;
    group_commit_fill(&busy, all, 1, 2, "busy");
    group_commit_fill(&other, all, 2, 1, "free");
    group_commit_begin(&busy);
    group_commit_finish(&busy, HF_OK);
    expect_int(desk.batches, 2); /* one try in company of those who may come, one by itself */
    group_commit_begin(&other);
    group_commit_finish(&other, HF_OK);
    expect_int(desk.batches, 3);
    hf_group_commit_free(all);
}

/* T2. */
static void a_busy_run_goes_on_alone_and_its_time_counts_from_when_it_came(void **state)
{
    (void)state;
    static scene s;
    group_commit_crowd(&s, false, 6, 2);
    s.others[3].batch->ops[1].id = "busy";
    desk.several_are_busy = true;
    int64_t before_us = hf_seam.boot_us();
    line_up_all(&s);
    int64_t after_us = hf_seam.boot_us();
    open_and_finish(&s, HF_OK);
    expect_true(desk.since_us >= before_us && desk.since_us <= after_us);
    expect_true(desk.batches >= 3);
    expect_int(desk.ops[desk.batches - 1], 2);
}

/* T3. */
static void what_nobody_can_better_alone_is_for_all(void **state)
{
    (void)state;
    static scene s;
    static const hf_status statuses[] = {HF_UNSURE, HF_UNAVAILABLE};
    for (size_t i = 0; i < 2; i++) {
        group_commit_crowd(&s, true, 5, 1);
        desk.fails = statuses[i];
        line_up_all(&s);
        shut(false);
        group_commit_finish(&s.first, HF_OK);
        for (size_t j = 0; j < s.count; j++) {
            group_commit_finish(&s.others[j], statuses[i]);
            expect_contains(s.others[j].err.message, "It came to");
        }
        expect_int(desk.batches, 2);
        hf_group_commit_free(s.all);
    }
}

static void what_may_be_the_fault_of_one_is_tried_alone(void **state)
{
    (void)state;
    static scene s;
    static const struct {
        hf_status status;
        bool in_turn;
    } cases[] = {{HF_BUSY, false},
                 {HF_BUSY, true},
                 {HF_RETRY, true},
                 {HF_NO_MEMORY, true},
                 {HF_TOO_LARGE, true}};
    for (size_t i = 0; i < 5; i++) {
        group_commit_crowd(&s, cases[i].in_turn, 5, 1);
        desk.fails = cases[i].status;
        line_up_all(&s);
        open_and_finish(&s, HF_OK);
        expect_true(desk.batches >= 1 + 1 + 5);
    }
}

/* T4. */
static void the_same_request_asked_twice_is_not_in_one_batch(void **state)
{
    (void)state;
    static scene s;
    group_commit_crowd(&s, true, 4, 1);
    s.others[2].session = s.others[1].session;
    memcpy(s.others[2].request, s.others[1].request, sizeof s.others[2].request);
    /* another session's */
    memcpy(s.others[3].request, s.others[0].request, sizeof s.others[3].request);
    line_up_all(&s);
    open_and_finish(&s, HF_OK);
    expect_int(desk.batches, 3);
    expect_int(desk.ops[1], 3);
    expect_int(desk.ops[2], 1);
}

static void get_inside_a_shut_store(scene *s, bool same)
{
    crowd_for(s, false, 3, 1, SOON_US);
    for (size_t i = 0; i < s->count && same; i++)
        s->others[i].batch->ops[0].id = s->first.id;
    for (size_t i = 0; i < s->count; i++)
        group_commit_begin(&s->others[i]);
    pthread_mutex_lock(&desk.mutex);
    size_t arrived = 0;
    while (arrived < 4) { /* while the first is still inside */
        arrived = 0;
        for (size_t i = 0; i < desk.batches; i++)
            arrived += desk.ops[i];
        if (arrived < 4)
            pthread_cond_wait(&desk.changed, &desk.mutex);
    }
    pthread_mutex_unlock(&desk.mutex);
    open_and_finish(s, HF_OK);
}

/* T5. */
static void nobody_waits_behind_a_batch_that_takes_long(void **state)
{
    (void)state;
    static scene s;
    for (int same = 0; same < 2; same++) /* also if all name one resource (T6) */
        get_inside_a_shut_store(&s, same);
}

/* Memory is out from the end of the first batch on, or from that of the one of several; whoever
 * goes alone has some again. */
static void run_out(scene *s, bool of_first, hf_status status)
{
    plain_realloc = hf_seam.realloc;
    hf_seam.realloc = realloc_or_not;
    group_commit_crowd(s, true, 3, 1);
    desk.runs_out_at_first = of_first;
    desk.runs_out_at_several = !of_first;
    line_up_all(s);
    open_and_finish(s, status);
    hf_seam.realloc = plain_realloc;
    desk.no_memory = desk.runs_out_at_first = desk.runs_out_at_several = false;
}

static void without_memory_for_a_batch_of_all_each_goes_alone(void **state)
{
    (void)state;
    static scene s;
    run_out(&s, true, HF_OK);
    expect_int(desk.batches, 4);
}

/* T6. */
static void what_names_a_resource_under_way_waits_though_there_is_a_place(void **state)
{
    (void)state;
    caller c[5] = {0};
    hf_group_commit *all = open_together(3, true, NEVER_US);
    shut(true);
    for (int i = 0; i < 5; i++)
        group_commit_fill(&c[i], all, i, 2, "free");
    c[1].batch->ops[1].id = c[2].batch->ops[0].id = c[0].id;
    group_commit_begin(&c[0]);
    wait_inside(1);
    line_up(&c[1], 1);
    line_up(&c[2], 2);
    group_commit_begin(&c[3]); /* another resource: it passes them */
    wait_inside(2);
    c[4].batch->ops[0].id = c[3].id;
    line_up(&c[4], 3);
    shut(false);
    for (int i = 0; i < 5; i++)
        group_commit_finish(&c[i], HF_OK);
    hf_group_commit_free(all);
}

/* ---- T7 ---- */

static int64_t (*plain_boot_us)(void);
static _Atomic int64_t passed_us; /* in the eyes of a group */

static _Atomic int64_t jump_us; /* that pass after so many more looks at the clock */
static _Atomic int looks_left;

static int64_t later_boot_us(void)
{
    int64_t now_us = plain_boot_us() + passed_us;
    if (looks_left > 0 && --looks_left == 0)
        passed_us += jump_us;
    return now_us;
}

enum { GATHERED = 4 };

/* One is inside, the others wait; then the first comes back, after so long. looks: jump_us pass
 * after so many more looks at the clock. */
static hf_group_commit *come_back_after(caller *callers, int64_t took_us, int looks)
{
    hf_group_commit *all =
        open_by((hf_group_commit_rule){.at_once = 1, .long_us = NEVER_US, .gathers = true});
    plain_boot_us = hf_seam.boot_us;
    hf_seam.boot_us = later_boot_us;
    shut(true);
    for (size_t i = 0; i < GATHERED; i++)
        group_commit_fill(&callers[i], all, (int)i, 1, "free");
    group_commit_begin(&callers[0]);
    wait_inside(1);
    for (size_t i = 1; i < GATHERED; i++)
        line_up(&callers[i], i);
    passed_us += took_us;
    looks_left = looks;
    shut(false);
    group_commit_finish(&callers[0], HF_OK);
    return all;
}

static void end_gathering(hf_group_commit *all)
{
    hf_seam.boot_us = plain_boot_us;
    hf_group_commit_free(all);
}

static void who_has_come_back_is_waited_for(void **state)
{
    (void)state;
    caller callers[GATHERED] = {0};
    hf_group_commit *all = come_back_after(callers, NEVER_US / 2, 0);
    expect_int(hf_group_commit_waiting(all), GATHERED - 1);
    group_commit_fill(&callers[0], all, 0, 1, "free");
    group_commit_begin(&callers[0]);
    for (int i = 0; i < GATHERED; i++)
        group_commit_finish(&callers[i], HF_OK);
    expect_int(desk.batches, 2);
    expect_int(desk.ops[1], GATHERED);
    end_gathering(all);
}

static void who_does_not_come_is_waited_for_a_third_of_the_time(void **state)
{
    (void)state;
    caller callers[GATHERED] = {0};
    hf_group_commit *all = come_back_after(callers, 3 * SOON_US, 0);
    for (int i = 1; i < GATHERED; i++)
        group_commit_finish(&callers[i], HF_OK);
    expect_int(desk.batches, 2);
    expect_int(desk.ops[1], GATHERED - 1);
    /* now three are expected; when one comes in their place, it does not stay either */
    group_commit_fill(&callers[0], all, 0, 1, "free");
    group_commit_begin(&callers[0]);
    group_commit_finish(&callers[0], HF_OK);
    /* and who was alone is waited for by nobody */
    passed_us += NEVER_US;
    for (int i = 0; i < 2; i++) {
        shut(true);
        group_commit_fill(&callers[0], all, 0, 1, "free");
        group_commit_begin(&callers[0]);
        wait_inside(1);
        passed_us += NEVER_US;
        shut(false);
        group_commit_finish(&callers[0], HF_OK);
    }
    expect_int(desk.batches, 5);
    end_gathering(all);
}

/* Whoever is first in the queue is told that others are waited for, and by the time it looks that
 * is over: then it goes, and doesn't wait for someone to come. */
static void who_hears_too_late_that_others_are_waited_for_goes_at_once(void **state)
{
    (void)state;
    caller callers[GATHERED] = {0};
    jump_us = 2 * SOON_US;
    hf_group_commit *all = come_back_after(callers, 3 * SOON_US, 2);
    for (int i = 1; i < GATHERED; i++)
        group_commit_finish(&callers[i], HF_OK);
    expect_int(desk.batches, 2);
    expect_int(desk.ops[1], GATHERED - 1);
    end_gathering(all);
}

static void an_answer_there_is_no_memory_for_is_unsure(void **state)
{
    (void)state;
    static scene s;
    run_out(&s, false, HF_UNSURE);
    expect_int(desk.batches, 2);
    expect_contains(s.others[1].err.message, "ask again");
}

static void *group_commit_visitor_main(void *context)
{
    caller *c = context;
    for (int i = 0; i < 200 && c->status == HF_OK; i++) {
        hf_batch_unanswer(c->batch);
        c->status = hf_group_commit_execute(c->all, &desk.base, c->batch, &c->err);
        for (size_t j = 0; j < c->batch->count; j++)
            if (c->batch->ops[j].answer.status != HF_OK ||
                c->batch->ops[j].answer.locks[0].fence != c->batch->ops[j].fence)
                c->status = HF_INVALID;
    }
    return NULL;
}

static void a_crowd_comes_and_goes(void **state)
{
    (void)state;
    static caller c[CROWD];
    for (unsigned at_once = 1; at_once <= 3; at_once++) {
        hf_group_commit *all = open_together(at_once, at_once == 1, SOON_US);
        desk.several_are_busy = true;
        for (int i = 0; i < CROWD; i++) {
            group_commit_fill(&c[i], all, i, 1 + (size_t)i % 3, i % 7 == 0 ? "busy" : "free");
            c[i].status = HF_OK;
            expect_int(pthread_create(&c[i].thread, NULL, group_commit_visitor_main, &c[i]), 0);
        }
        for (int i = 0; i < CROWD; i++)
            group_commit_finish(&c[i], HF_OK);
        printf("# %zu batches of %d runs, %u at once\n", desk.batches, 200 * CROWD, at_once);
        hf_group_commit_free(all);
    }
}

/* ---- on a real disk ---- */

enum { CLERKS = 16, PAIRS = 30 };

typedef struct clerk {
    hf_store *store;
    hf_credentials session;
    char id[16];
    hf_status status;
    hf_error err;
    pthread_t thread;
} clerk;

static hf_status do_one(clerk *c, hf_op_kind kind)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, &c->err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, kind);
    op->session = &c->session;
    op->user = kind == HF_OP_SESSION_OPEN ? "clerk" : NULL;
    op->type = kind == HF_OP_SESSION_OPEN ? NULL : "policy";
    op->id = kind == HF_OP_SESSION_OPEN ? NULL : c->id;
    status = hf_store_execute(c->store, batch, &c->err);
    status = status == HF_OK ? op->answer.status : status;
    hf_batch_free(batch);
    return status;
}

static void *group_commit_clerk_main(void *context)
{
    clerk *c = context;
    for (int i = 0; i < PAIRS && c->status == HF_OK; i++) {
        c->status = do_one(c, HF_OP_ACQUIRE);
        if (c->status == HF_OK)
            c->status = do_one(c, HF_OP_RELEASE);
    }
    return NULL;
}

/* As on a disk that turns. */
static void group_commit_slow_down(void *context, shim_event event, const char *path)
{
    (void)context, (void)path;
    if (event == SHIM_SYNC)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void threads_on_one_file_share_their_syncs(void **state)
{
    (void)state;
    static clerk clerks[CLERKS];
    char path[HF_URL_MAX], url[sizeof path + 8];
    hf_store *store = NULL;
    hf_error err = {0};
    expect_true(shim_register());
    shim_reset();
    shim.on_event = group_commit_slow_down;
    scratch_path(".db", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    hf_seam.sqlite_vfs = SHIM_VFS;
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    hf_seam.sqlite_vfs = NULL;
    for (int i = 0; i < CLERKS; i++) {
        clerks[i].store = store;
        snprintf(clerks[i].id, sizeof clerks[i].id, "%d", i);
        expect(HF_OK, hf_credentials_new(NULL, &clerks[i].session, &err), err);
        expect_status(HF_OK, do_one(&clerks[i], HF_OP_SESSION_OPEN), clerks[i].err.message);
    }
    uint64_t before = shim_count().syncs;
    for (int i = 0; i < CLERKS; i++)
        expect_int(pthread_create(&clerks[i].thread, NULL, group_commit_clerk_main, &clerks[i]), 0);
    for (int i = 0; i < CLERKS; i++) {
        expect_int(pthread_join(clerks[i].thread, NULL), 0);
        expect_status(HF_OK, clerks[i].status, clerks[i].err.message);
    }
    uint64_t syncs = shim_count().syncs - before;
    printf("# %d changes by %d threads: %ju syncs\n", 2 * CLERKS * PAIRS, CLERKS, (uintmax_t)syncs);
    expect_true(syncs < (uint64_t)CLERKS * PAIRS);
    hf_store_close(store);
    shim_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_alone_goes_at_once_as_it_is),
        cmocka_unit_test(who_waits_goes_as_one_batch_and_gets_its_own_answer),
        cmocka_unit_test(more_than_go_together_go_in_several),
        cmocka_unit_test(as_many_as_there_are_places_go_at_the_same_time),
        cmocka_unit_test(only_a_short_run_of_simple_changes_goes_with_others),
        cmocka_unit_test(who_is_busy_without_company_keeps_no_place),
        cmocka_unit_test(a_busy_run_goes_on_alone_and_its_time_counts_from_when_it_came),
        cmocka_unit_test(what_nobody_can_better_alone_is_for_all),
        cmocka_unit_test(what_may_be_the_fault_of_one_is_tried_alone),
        cmocka_unit_test(the_same_request_asked_twice_is_not_in_one_batch),
        cmocka_unit_test(nobody_waits_behind_a_batch_that_takes_long),
        cmocka_unit_test(what_names_a_resource_under_way_waits_though_there_is_a_place),
        cmocka_unit_test(without_memory_for_a_batch_of_all_each_goes_alone),
        cmocka_unit_test(an_answer_there_is_no_memory_for_is_unsure),
        cmocka_unit_test(who_has_come_back_is_waited_for),
        cmocka_unit_test(who_does_not_come_is_waited_for_a_third_of_the_time),
        cmocka_unit_test(who_hears_too_late_that_others_are_waited_for_goes_at_once),
        cmocka_unit_test(a_crowd_comes_and_goes),
        cmocka_unit_test(threads_on_one_file_share_their_syncs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
