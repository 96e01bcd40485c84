/* SPDX-License-Identifier: MIT */
/* The committer: who shares a batch, in which order, and what each is told, whatever happens to the
 * batch. Made for the thread sanitizer too. C1 to C7 stand in server/commit/committer.h. */
#include "faults/shim.h"
#include "unit/server/gated_store.h"

#include <base/seams.h>
#include <event2/event.h>
#include <limits.h>
#include <lock/batch.h>
#include <pthread.h>
#include <server/commit/batch_pool.h>
#include <server/commit/committer.h>
#include <server/commit/jobs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <unistd.h>

/* ---- a desk where jobs are asked and waited for ---- */

typedef struct desk {
    hf_store *store;
    gate *gate;
    committer *committer;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t done;
    atomic_int fatal;
    char url[HF_URL_MAX];
} desk;

typedef struct ask {
    committer_job job;
    desk *desk;
    hf_op ops[6];
    char request[HF_REQUEST_ID_SIZE];
    size_t place;   /* among those done; 0: not yet */
    size_t batches; /* that the gate had seen when it was done */
} ask;

static void note_done(committer_job *job)
{
    ask *a = job->context;
    desk *d = a->desk;
    size_t batches = d->gate == NULL ? 0 : gate_batches(d->gate);
    pthread_mutex_lock(&d->mutex);
    a->place = ++d->done;
    a->batches = batches;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->mutex);
}

static void note_fatal(void *context, const hf_error *why)
{
    desk *d = context;
    atomic_fetch_add(&d->fatal, why->message[0] != '\0' ? 1 : 100);
}

static void desk_on(desk *d, hf_store *store, committer_settings settings)
{
    hf_error err = {0};
    d->store = store;
    d->done = 0;
    atomic_init(&d->fatal, 0);
    pthread_mutex_init(&d->mutex, NULL);
    pthread_cond_init(&d->changed, NULL);
    settings.store = store;
    settings.fatal = note_fatal;
    settings.context = d;
    expect(HF_OK, committer_new(&settings, &d->committer, &err), err);
}

static hf_store *committer_open_store(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

static void desk_open_at(desk *d, const char *url, committer_settings settings)
{
    hf_store *store = gate_open(committer_open_store(url));
    d->gate = gate_of(store);
    desk_on(d, store, settings);
}

static void committer_desk_open(desk *d, committer_settings settings)
{
    desk_open_at(d, "memory:", settings);
}

static void committer_desk_close(desk *d)
{
    committer_free(d->committer);
    hf_store_close(d->store);
    pthread_mutex_destroy(&d->mutex);
    pthread_cond_destroy(&d->changed);
}

static ask *ask_new(desk *d, size_t count)
{
    ask *a = calloc(1, sizeof *a);
    expect_true(a != NULL && count <= 6);
    a->desk = d;
    a->job = (committer_job){.ops = a->ops, .count = count, .done = note_done, .context = a};
    return a;
}

static ask *submit(ask *a)
{
    hf_error err = {0};
    expect(HF_OK, committer_submit(a->desk->committer, &a->job, &err), err);
    return a;
}

/* Asks for one thing: ask_for(d, ACQUIRE, .session = &alice, .type = "t", .id = "1"). */
#define ask_for(d, op, ...) submit(committer_ask_op((d), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}))

/* As the server asks who its callers are. */
static bool is_look(hf_op_kind kind)
{
    return kind == HF_OP_SESSION_FIND || kind == HF_OP_TOKEN_FIND;
}

static ask *committer_ask_op(desk *d, const hf_op *op)
{
    ask *a = ask_new(d, 1);
    a->ops[0] = *op;
    a->job.look = is_look(op->kind);
    return a;
}

static void committer_wait_for(ask *a)
{
    pthread_mutex_lock(&a->desk->mutex);
    while (a->place == 0)
        pthread_cond_wait(&a->desk->changed, &a->desk->mutex);
    pthread_mutex_unlock(&a->desk->mutex);
}

static void ask_free(ask *a)
{
    committer_release(a->desk->committer, &a->job);
    free(a);
}

/* Waits, demands that status of every op, and frees it. */
static void came_to(ask *a, hf_status status)
{
    committer_wait_for(a);
    for (size_t i = 0; i < a->job.count; i++)
        expect_status(status, a->job.ops[i].answer.status, a->job.ops[i].answer.message);
    ask_free(a);
}

static hf_credentials committer_person(desk *d)
{
    hf_credentials out;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_new(NULL, &out, &err), err);
    came_to(ask_for(d, SESSION_OPEN, .session = &out, .user = "alice"), HF_OK);
    return out;
}

#define ON(id_) .type = "policy", .id = (id_)

/* ---- what everyone gets ---- */

static void take_and_give(const char *url)
{
    desk d = {0};
    desk_on(&d, committer_open_store(url), (committer_settings){0});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    ask *a = ask_for(&d, ACQUIRE, .session = &alice, ON("1"), .purpose = "renewal");
    committer_wait_for(a);
    expect_int(a->job.status, HF_OK);
    expect_int(a->ops[0].answer.status, HF_OK);
    expect_text(a->ops[0].answer.locks[0].purpose, "renewal");
    ask *no = ask_for(&d, ACQUIRE, .session = &bob, ON("1"));
    committer_wait_for(no);
    expect_int(no->job.status, HF_OK);
    expect_int(no->ops[0].answer.status, HF_LOCKED);
    ask_free(no);
    came_to(ask_for(&d, HOLDS, .session = &alice, ON("1")), HF_OK);
    came_to(ask_for(&d, RELEASE, .session = &alice, ON("1")), HF_OK);
    came_to(ask_for(&d, ACQUIRE, .session = &bob, ON("1")), HF_OK);
    ask *list = ask_for(&d, LIST, .limit = 10);
    committer_wait_for(list);
    expect_int(list->ops[0].answer.locks_count, 1);
    ask_free(list);
    expect_text(a->ops[0].answer.locks[0].purpose, "renewal"); /* until it is released */
    ask_free(a);
    committer_desk_close(&d);
}

static void jobs_are_answered_on_every_store(void **state)
{
    (void)state;
    size_t count;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++) {
        char url[HF_URL_MAX];
        test_store_url(&all[i], url);
        take_and_give(url);
        test_store_discard(&all[i], url);
    }
}

static void answers_stay_until_their_job_is_released(void **state)
{
    (void)state;
    enum { JOBS = 40 };
    desk d = {0};
    ask *kept[JOBS];
    char ids[JOBS][16];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    for (int i = 0; i < JOBS; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        kept[i] = ask_for(&d, ACQUIRE, .session = &alice, ON(ids[i]), .purpose = ids[i]);
    }
    for (int i = 0; i < 100; i++)
        came_to(ask_for(&d, BEAT, .session = &alice), HF_OK);
    for (int i = 0; i < JOBS; i++) {
        committer_wait_for(kept[i]);
        expect_text(kept[i]->ops[0].answer.locks[0].purpose, ids[i]);
        ask_free(kept[i]);
    }
    committer_desk_close(&d);
}

/* A look-up of many records with many readers, after which all slots are spare. */
static void slots_that_had_large_answers_keep_little(void **state)
{
    (void)state;
    batch_pool all;
    pooled_batch *taken[BATCH_POOL_SPARE];
    batch_pool_init(&all);
    for (int i = 0; i < BATCH_POOL_SPARE; i++) {
        taken[i] = pooled_batch_take(&all);
        expect_true(taken[i] != NULL);
        for (int piece = 0; piece < 80; piece++)
            expect_true(hf_arena_alloc(&taken[i]->batch->arena, 100000) != NULL);
    }
    for (int i = 0; i < BATCH_POOL_SPARE; i++)
        pooled_batch_unpin(&all, taken[i]);
    expect_int(all.spare_count, BATCH_POOL_SPARE);
    for (const pooled_batch *slot = all.spare; slot != NULL; slot = slot->next)
        expect_true(slot->batch->arena.total <= HF_ARENA_KEPT);
    batch_pool_done(&all);
}

static void what_comes_while_the_store_works_shares_the_next_batch(void **state)
{
    (void)state;
    enum { JOBS = 300 };
    desk d = {0};
    ask *asks[JOBS];
    char ids[JOBS][16];
    committer_stats stats;
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    size_t before = gate_batches(d.gate);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        asks[i] = ask_for(&d, ACQUIRE, .session = &alice, ON(ids[i]));
    }
    committer_stats_read(d.committer, &stats);
    expect_int(stats.waiting[COMMITTER_ORDINARY], JOBS);
    expect_int(first->place, 0); /* nothing is answered before its batch has been carried out */
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < JOBS; i++)
        came_to(asks[i], HF_OK);
    expect_int(gate_batches(d.gate), before + 2);
    committer_stats_read(d.committer, &stats);
    expect_int(stats.waiting[COMMITTER_ORDINARY], 0);
    expect_int(stats.writes.batches, 3);
    expect_int(stats.writes.ops, JOBS + 2);
    expect_int(stats.writes.sizes[0], 2);
    expect_int(stats.writes.sizes[8], 1);
    expect_int(stats.writes.isolated, 0);
    uint64_t timed = 0;
    for (int i = 0; i < COMMITTER_TIMES; i++)
        timed += stats.writes.times[i];
    expect_int(timed, 3);
    committer_desk_close(&d);
}

static void a_batch_has_its_limit(void **state)
{
    (void)state;
    enum { JOBS = 400, OPS = 6 };
    desk d = {0};
    ask *asks[JOBS];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++) {
        asks[i] = ask_new(&d, OPS);
        for (int k = 0; k < OPS; k++)
            asks[i]->ops[k] = (hf_op){.kind = HF_OP_BEAT, .session = &alice};
        submit(asks[i]);
    }
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < JOBS; i++)
        came_to(asks[i], HF_OK);
    committer_stats stats;
    committer_stats_read(d.committer, &stats);
    expect_int(stats.writes.batches, 2 + 3); /* 170 jobs of 6 fit into 1,024 */
    committer_desk_close(&d);
}

static void what_stands_alone_gets_a_batch_of_its_own(void **state)
{
    (void)state;
    desk d = {0};
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    gate_shut(d.gate);
    ask *asks[] = {
        ask_for(&d, BEAT, .session = &alice),
        ask_for(&d, BEAT, .session = &alice),
        ask_for(&d, TYPE_SET, .type = "a", .policy = HF_POLICY_EXCLUSIVE_WRITE),
        ask_for(&d, SWEEP, .limit = 10),
        ask_for(&d, BEAT, .session = &alice),
        ask_for(&d, LIST, .limit = 10),
        ask_for(&d, TYPES),
        ask_for(&d, WHO, ON("1")),
    };
    gate_let(d.gate);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        came_to(asks[i], HF_OK);
    size_t count;
    const gate_entry *log = gate_log(d.gate, &count);
    for (size_t i = 0; i + 1 < count; i++)
        if (hf_op_alone(log[i].kind) || hf_op_alone(log[i + 1].kind))
            expect_true(log[i].batch != log[i + 1].batch);
    committer_stats stats;
    committer_stats_read(d.committer, &stats);
    expect_int(stats.writes.isolated + stats.reads.isolated, 0);
    committer_desk_close(&d);
}

static void a_job_that_makes_no_sense_is_refused_at_the_door(void **state)
{
    (void)state;
    static hf_op many[HF_BATCH_OPS_MAX + 1];
    desk d = {0};
    hf_error err = {0};
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    ask *a = ask_new(&d, 1);
    a->ops[0] = (hf_op){.kind = HF_OP_BEAT, .session = &alice, .linked = true};
    expect(HF_INVALID, committer_submit(d.committer, &a->job, &err), err);
    a->job.count = 0;
    expect(HF_INVALID, committer_submit(d.committer, &a->job, &err), err);
    a->job.ops = many;
    a->job.count = HF_BATCH_OPS_MAX + 1;
    expect(HF_TOO_LARGE, committer_submit(d.committer, &a->job, &err), err);
    a->job.ops = a->ops;
    a->job.count = 1;
    a->ops[0] = (hf_op){.kind = (hf_op_kind)99};
    came_to(submit(a), HF_INVALID);
    ask *mixed = ask_new(&d, 2); /* a list and a beat: not one batch */
    mixed->ops[0] = (hf_op){.kind = HF_OP_LIST};
    mixed->ops[1] = (hf_op){.kind = HF_OP_BEAT, .session = &alice};
    came_to(submit(mixed), HF_INVALID);
    committer_desk_close(&d);
}

/* ---- C1, C2: order ---- */

static void a_release_does_not_overtake_the_acquire_before_it(void **state)
{
    (void)state;
    enum { FLOOD = 3000 };
    desk d = {0};
    ask *flood[FLOOD];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &bob);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < FLOOD; i++)
        flood[i] = ask_for(&d, ACQUIRE, .session = &bob, ON("bobs"));
    /* Each fits only what stands before it. */
    ask *asks[] = {
        ask_for(&d, ACQUIRE, .session = &alice, ON("1")),
        ask_for(&d, RELEASE, .session = &alice, ON("1")),
        ask_for(&d, ACQUIRE, .session = &alice, ON("1"), .mode = HF_SHARED),
        ask_for(&d, HOLDS, .session = &alice, ON("1")),
        ask_for(&d, RENEW, .session = &alice, ON("1")),
        ask_for(&d, RELEASE, .session = &alice, ON("1")),
    };
    ask *gone = ask_for(&d, HOLDS, .session = &alice, ON("1"));
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        came_to(asks[i], HF_OK);
    came_to(gone, HF_NOT_HELD);
    for (int i = 0; i < FLOOD; i++)
        came_to(flood[i], HF_OK);
    committer_desk_close(&d);
}

static void a_session_is_replaced_after_what_it_asked_before(void **state)
{
    (void)state;
    desk d = {0};
    committer_desk_open(&d, (committer_settings){.writers = 4});
    hf_credentials old = committer_person(&d), new;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_new(NULL, &new, &err), err);
    gate_shut(d.gate);
    ask *before = ask_for(&d, ACQUIRE, .session = &old, ON("1"));
    ask *open = ask_for(&d, SESSION_OPEN, .session = &new, .replaces = &old, .user = "alice");
    ask *after = ask_for(&d, ACQUIRE, .session = &new, ON("1"));
    ask *late = ask_for(&d, ACQUIRE, .session = &old, ON("2"));
    gate_let(d.gate);
    came_to(before, HF_OK);
    came_to(open, HF_OK);
    came_to(after, HF_OK);
    came_to(late, HF_EXPIRED);
    committer_desk_close(&d);
}

/* Threads that submit without waiting, each for a few sessions of its own; every op carries the
 * number of its job in its request id. */
enum { CREW = 4, CREW_SESSIONS = 3, CREW_JOBS_MAX = 600 };

static int committer_crew_jobs(void)
{
    return getenv("HF_TEST_LONG") ? CREW_JOBS_MAX : 150;
}

typedef struct crew {
    desk *desk;
    hf_credentials sessions[CREW_SESSIONS];
    ask *asks[CREW_JOBS_MAX];
    unsigned seed;
} crew;

static void fill_job(crew *c, ask *a)
{
    static const hf_op_kind kinds[] = {HF_OP_ACQUIRE, HF_OP_RELEASE, HF_OP_BEAT, HF_OP_HOLDS,
                                       HF_OP_ACQUIRE};
    static const char *const ids[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    for (size_t i = 0; i < a->job.count; i++)
        a->ops[i] = (hf_op){
            .kind = kinds[(size_t)rand_r(&c->seed) % 5],
            .session = &c->sessions[(size_t)rand_r(&c->seed) % CREW_SESSIONS],
            ON(ids[(size_t)rand_r(&c->seed) % 8]),
            .request_id = a->request,
            .linked = i + 1 < a->job.count && rand_r(&c->seed) % 2 == 0,
        };
}

static void *committer_crew_work(void *context)
{
    crew *c = context;
    for (int i = 0; i < committer_crew_jobs(); i++) {
        bool single = rand_r(&c->seed) % 4 != 0;
        ask *a = c->asks[i] = ask_new(c->desk, single ? 1 : 2 + (size_t)rand_r(&c->seed) % 5);
        snprintf(a->request, sizeof a->request, "%d", i);
        fill_job(c, a);
        if (committer_submit(c->desk->committer, &a->job, NULL) != HF_OK)
            abort();
        if (rand_r(&c->seed) % 50 == 0)
            committer_wait_for(a);
    }
    return NULL;
}

static void check_order(const crew *c, const gate_entry *log, size_t count)
{
    for (int s = 0; s < CREW_SESSIONS; s++) {
        int last = -1;
        for (size_t i = 0; i < count; i++) {
            if (strcmp(log[i].session, c->sessions[s].id) != 0 || log[i].kind == HF_OP_SESSION_OPEN)
                continue;
            int number = (int)strtol(log[i].request, NULL, 10);
            if (number < last)
                check_failed(__FILE__, __LINE__, "job %d of a session came after job %d", number,
                             last);
            last = number;
        }
    }
}

static void check_sessions_keep_their_order(const char *url, committer_settings settings)
{
    desk d = {0};
    crew crews[CREW];
    pthread_t threads[CREW];
    desk_open_at(&d, url, settings);
    gate_slow(d.gate, 200);
    for (int i = 0; i < CREW; i++) {
        crews[i] = (crew){.desk = &d, .seed = (unsigned)i + 1};
        for (int s = 0; s < CREW_SESSIONS; s++)
            crews[i].sessions[s] = committer_person(&d);
    }
    for (int i = 0; i < CREW; i++)
        expect_int(pthread_create(&threads[i], NULL, committer_crew_work, &crews[i]), 0);
    for (int i = 0; i < CREW; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CREW; i++)
        for (int k = 0; k < committer_crew_jobs(); k++) {
            committer_wait_for(crews[i].asks[k]);
            expect_int(crews[i].asks[k]->job.status, HF_OK);
            ask_free(crews[i].asks[k]);
        }
    committer_stop(d.committer);
    size_t count;
    const gate_entry *log = gate_log(d.gate, &count);
    for (int i = 0; i < CREW; i++)
        check_order(&crews[i], log, count);
    expect_int(gate_meetings(d.gate), 0);
    committer_desk_close(&d);
}

static void sessions_keep_their_order_with_one_writer(void **state)
{
    (void)state;
    check_sessions_keep_their_order("memory:", (committer_settings){0});
}

static void sessions_keep_their_order_with_many_threads(void **state)
{
    (void)state;
    check_sessions_keep_their_order("memory:", (committer_settings){.writers = 5, .readers = 3});
}

/* The stores of this run: one writer on a file, several on a database server. */
static void sessions_keep_their_order_on_every_store(void **state)
{
    (void)state;
    size_t count;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++) {
        char url[HF_URL_MAX];
        bool server = strncmp(all[i].url, "memory:", 7) != 0 && !all[i].own_file;
        test_store_url(&all[i], url);
        check_sessions_keep_their_order(
            url, (committer_settings){.writers = server ? 4 : 1, .readers = 2});
        test_store_discard(&all[i], url);
    }
}

static void several_writers_work_at_once(void **state)
{
    (void)state;
    enum { JOBS = 64 };
    desk d = {0};
    ask *asks[JOBS];
    hf_credentials people[JOBS];
    char ids[JOBS][16];
    committer_desk_open(&d, (committer_settings){.writers = 4});
    for (int i = 0; i < JOBS; i++)
        people[i] = committer_person(&d);
    gate_shut(d.gate);
    for (int i = 0; i < JOBS; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        asks[i] = ask_for(&d, ACQUIRE, .session = &people[i], ON(ids[i]));
    }
    gate_wait_inside(d.gate, 4); /* else this never ends */
    gate_let(d.gate);
    for (int i = 0; i < JOBS; i++)
        came_to(asks[i], HF_OK);
    committer_desk_close(&d);
}

static void reads_do_not_wait_for_writes(void **state)
{
    (void)state;
    desk d = {0};
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    gate_shut(d.gate);
    ask *write = ask_for(&d, ACQUIRE, .session = &alice, ON("1"));
    gate_wait_inside(d.gate, 1);
    came_to(ask_for(&d, WHO, ON("1")), HF_OK);
    came_to(ask_for(&d, LIST, .limit = 1), HF_OK);
    came_to(ask_for(&d, HOLDS, .session = &bob, ON("1")), HF_NOT_HELD);
    /* but for those of the same session */
    ask *own = ask_for(&d, HOLDS, .session = &alice, ON("1"));
    expect_int(write->place, 0);
    gate_let(d.gate);
    came_to(write, HF_OK);
    came_to(own, HF_OK);
    committer_desk_close(&d);
}

/* ---- C6 ---- */

/* X takes a and gives b back in one step; Y takes b and gives it back, which covers the trace of
 * X's release; X asks again. */
static void what_is_asked_again_gets_a_batch_later(void **state)
{
    (void)state;
    desk d = {0};
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials x = committer_person(&d), y = committer_person(&d);
    came_to(ask_for(&d, ACQUIRE, .session = &x, ON("b")), HF_OK);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &y);
    gate_wait_inside(d.gate, 1);
    ask *runs[2], *between[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        runs[i] = ask_new(&d, 2);
        runs[i]->ops[0] = (hf_op){
            .kind = HF_OP_ACQUIRE, .session = &x, ON("a"), .request_id = "r", .linked = true};
        runs[i]->ops[1] = (hf_op){.kind = HF_OP_RELEASE, .session = &x, ON("b"), .request_id = "r"};
        submit(runs[i]);
        if (i == 0) {
            between[0] = ask_for(&d, ACQUIRE, .session = &y, ON("b"), .request_id = "r");
            between[1] = ask_for(&d, RELEASE, .session = &y, ON("b"), .request_id = "s");
        }
    }
    size_t before = gate_batches(d.gate);
    gate_let(d.gate);
    came_to(first, HF_OK);
    came_to(runs[0], HF_OK);
    came_to(between[0], HF_OK);
    came_to(between[1], HF_OK);
    came_to(runs[1], HF_OK);
    expect_int(gate_batches(d.gate), before + 3);
    committer_desk_close(&d);
}

/* ---- C3: failures ---- */

static void check_isolated(hf_status status)
{
    enum { JOBS = 20, BAD = 7 };
    desk d = {0};
    ask *asks[JOBS];
    char ids[JOBS][16];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    gate_poison(d.gate, status);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++) {
        snprintf(ids[i], sizeof ids[i], i == BAD ? "poison" : "%d", i);
        asks[i] = ask_for(&d, ACQUIRE, .session = &alice, ON(ids[i]), .purpose = ids[i]);
    }
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < JOBS; i++) {
        committer_wait_for(asks[i]);
        expect_int(asks[i]->job.status, i == BAD ? status : HF_OK);
        if (i == BAD)
            expect_text(asks[i]->ops[0].answer.message, "The batch is poisoned.");
        else
            expect_text(asks[i]->ops[0].answer.locks[0].purpose, ids[i]);
        came_to(asks[i], i == BAD ? status : HF_OK);
    }
    committer_stats stats;
    committer_stats_read(d.committer, &stats);
    expect_int(stats.writes.isolated, 1);
    committer_desk_close(&d);
}

static void one_bad_job_does_not_fail_its_neighbours(void **state)
{
    (void)state;
    static const hf_status statuses[] = {HF_INVALID, HF_TOO_LARGE, HF_NO_MEMORY,
                                         HF_RETRY,   HF_BUSY,      HF_INTERNAL};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        check_isolated(statuses[i]);
}

/* Trying one by one has an end: who is left gets what the batch came to, and nothing was done for
 * it. */
static void isolating_a_slow_store_ends_in_time(void **state)
{
    (void)state;
    enum { JOBS = 20 };
    desk d = {0};
    ask *asks[JOBS];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    gate_poison(d.gate, HF_BUSY);
    gate_slow(d.gate, 150000);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++)
        asks[i] = ask_for(&d, ACQUIRE, .session = &alice, ON("poison"));
    size_t before = gate_batches(d.gate);
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < JOBS; i++)
        came_to(asks[i], HF_BUSY);
    expect_true(gate_batches(d.gate) - before < 2 + 9);
    committer_desk_close(&d);
}

static void open_faulty(desk *d, hf_store **fault)
{
    hf_error err = {0};
    expect(HF_OK, hf_fault_open(committer_open_store("memory:"), fault, &err), err);
    hf_store *store = gate_open(*fault);
    d->gate = gate_of(store);
    desk_on(d, store, (committer_settings){0});
}

/* A batch of several jobs that fails; what each of them got. */
static void check_failed_batch(bool after_commit, hf_status status)
{
    enum { JOBS = 10 };
    desk d = {0};
    hf_store *fault = NULL;
    ask *asks[JOBS];
    char ids[JOBS][16];
    open_faulty(&d, &fault);
    hf_credentials alice = committer_person(&d);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        asks[i] = ask_for(&d, ACQUIRE, .session = &alice, ON(ids[i]), .request_id = ids[i]);
    }
    hf_fault_arm(fault, 2, after_commit);
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < JOBS; i++) {
        committer_wait_for(asks[i]);
        expect_int(asks[i]->job.status, status);
        expect_contains(asks[i]->ops[0].answer.message, "a fault was asked for");
        came_to(asks[i], status);
    }
    for (int i = 0; i < JOBS; i++) { /* it goes on, and asking again settles it */
        ask *again = ask_for(&d, ACQUIRE, .session = &alice, ON(ids[i]), .request_id = ids[i]);
        committer_wait_for(again);
        expect_int(again->ops[0].answer.outcome, after_commit ? HF_ALREADY_YOURS : HF_GRANTED);
        came_to(again, HF_OK);
    }
    expect_int(atomic_load(&d.fatal), 0);
    committer_desk_close(&d);
}

static void an_unsure_batch_is_unsure_for_all_its_jobs(void **state)
{
    (void)state;
    check_failed_batch(true, HF_UNSURE);
}

static void when_the_store_is_away_all_are_told(void **state)
{
    (void)state;
    check_failed_batch(false, HF_UNAVAILABLE);
}

static void open_shim(desk *d)
{
    char path[HF_URL_MAX];
    expect_true(shim_register());
    shim_reset();
    hf_seam.sqlite_vfs = SHIM_VFS;
    scratch_path(".db", path);
    snprintf(d->url, sizeof d->url, "sqlite:%.4000s", path);
    hf_store *store = gate_open(committer_open_store(d->url));
    hf_seam.sqlite_vfs = NULL;
    d->gate = gate_of(store);
    desk_on(d, store, (committer_settings){0});
}

/* C5: the batch whose sync failed is unsure; what waits behind it was not done and is not tried;
 * nothing new is taken. */
static void after_a_failed_sync_nothing_more_is_answered_as_done(void **state)
{
    (void)state;
    desk d = {0};
    hf_error err = {0};
    hf_grade grade;
    open_shim(&d);
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    gate_shut(d.gate);
    committer_grade(d.committer, &grade);
    expect_true(!grade.broken);
    ask *unsure = ask_for(&d, ACQUIRE, .session = &alice, ON("1"));
    gate_wait_inside(d.gate, 1);
    ask *waiting = ask_for(&d, ACQUIRE, .session = &bob, ON("2"));
    shim.fail_sync_at = shim_count().syncs + 1;
    size_t before = gate_batches(d.gate);
    gate_let(d.gate);
    came_to(unsure, HF_UNSURE);
    committer_grade(d.committer, &grade);
    expect_true(grade.broken);
    came_to(waiting, HF_UNAVAILABLE);
    expect_int(gate_batches(d.gate), before + 1); /* the store was not asked any more */
    ask *late = committer_ask_op(&d, &(hf_op){.kind = HF_OP_BEAT, .session = &alice});
    expect(HF_UNAVAILABLE, committer_submit(d.committer, &late->job, &err), err);
    free(late);
    committer_stop(d.committer);
    expect_int(atomic_load(&d.fatal), 1);
    committer_desk_close(&d);
}

static atomic_int plenty = INT_MAX; /* allocations that succeed before all fail */

static void *committer_scarce_realloc(void *block, size_t size)
{
    return atomic_load(&plenty) == INT_MAX || atomic_fetch_sub(&plenty, 1) > 0
               ? realloc(block, size)
               : NULL;
}

static void without_memory_jobs_are_told_and_the_next_are_served(void **state)
{
    (void)state;
    enum { JOBS = 5 };
    desk d = {0};
    ask *asks[JOBS];
    hf_error err = {0};
    void *(*before)(void *, size_t) = hf_seam.realloc;
    hf_seam.realloc = committer_scarce_realloc;
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials people[3] = {committer_person(&d), committer_person(&d), committer_person(&d)};
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &people[0]); /* has the only slot */
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < JOBS; i++)
        asks[i] = ask_for(&d, ACQUIRE, .session = &people[0], ON("1"));
    atomic_store(&plenty, 0);
    ask *many = ask_new(&d, 3); /* more sessions than a job has room for */
    for (int i = 0; i < 3; i++)
        many->ops[i] = (hf_op){.kind = HF_OP_BEAT, .session = &people[i]};
    expect(HF_NO_MEMORY, committer_submit(d.committer, &many->job, &err), err);
    gate_let(d.gate);
    for (int i = 0; i < JOBS; i++)
        came_to(asks[i], HF_NO_MEMORY);
    committer_wait_for(first);
    ask_free(first);
    atomic_store(&plenty, INT_MAX);
    came_to(submit(many), HF_OK);
    came_to(ask_for(&d, ACQUIRE, .session = &people[0], ON("1")), HF_OK);
    committer_desk_close(&d);
    hf_seam.realloc = before;
}

static void a_committer_that_can_not_be_made_leaves_nothing(void **state)
{
    (void)state;
    hf_error err = {0};
    committer *c = NULL;
    void *(*before)(void *, size_t) = hf_seam.realloc;
    hf_seam.realloc = committer_scarce_realloc;
    for (int i = 0; i < 2; i++) {
        atomic_store(&plenty, i);
        expect(HF_NO_MEMORY, committer_new(&(committer_settings){0}, &c, &err), err);
        expect_true(c == NULL);
    }
    atomic_store(&plenty, INT_MAX);
    hf_seam.realloc = before;
}

/* ---- C4: the reserve ---- */

static void a_flood_of_acquires_is_refused_and_beats_are_not(void **state)
{
    (void)state;
    enum { MOST = 50 };
    desk d = {0};
    ask *acquires[MOST], *beats[MOST];
    hf_error err = {0};
    committer_desk_open(&d, (committer_settings){.ordinary_max = MOST, .reads_max = 1});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < MOST; i++)
        acquires[i] = ask_for(&d, ACQUIRE, .session = &alice, ON("1"));
    ask *over = committer_ask_op(&d, &(hf_op){.kind = HF_OP_ACQUIRE, .session = &alice, ON("1")});
    expect(HF_TOO_MANY, committer_submit(d.committer, &over->job, &err), err);
    expect_contains(err.message, "50 operations wait");
    for (int i = 0; i < MOST; i++)
        beats[i] = ask_for(&d, BEAT, .session = &bob);
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < MOST; i++) {
        committer_wait_for(beats[i]);
        committer_wait_for(acquires[i]);
        expect_true(beats[i]->place < acquires[0]->place);
    }
    for (int i = 0; i < MOST; i++) {
        came_to(beats[i], HF_OK);
        came_to(acquires[i], HF_OK);
    }
    committer_stats stats;
    committer_stats_read(d.committer, &stats);
    expect_int(stats.refused[COMMITTER_ORDINARY], 1);
    expect_int(stats.refused[COMMITTER_RESERVE], 0);
    came_to(submit(over), HF_OK); /* there is room again */
    committer_desk_close(&d);
}

/* While threads keep one lane full, what goes by the other of that executor waits for the batch in
 * the store, perhaps one more, and its own: three batches at most. */
typedef struct flood {
    desk *desk;
    hf_credentials session;
    hf_op_kind kind;
    atomic_bool stop;
} flood;

static void free_ask(committer_job *job)
{
    ask_free(job->context);
}

static void *flood_work(void *context)
{
    flood *f = context;
    while (!atomic_load(&f->stop)) {
        ask *a = ask_new(f->desk, hf_op_alone(f->kind) ? 1 : 6);
        for (size_t i = 0; i < a->job.count; i++)
            a->ops[i] = (hf_op){.kind = f->kind, .session = &f->session, ON("1"), .limit = 1};
        a->job.look = is_look(f->kind);
        a->job.done = free_ask;
        if (committer_submit(f->desk->committer, &a->job, NULL) != HF_OK) {
            free(a);
            sched_yield();
        }
    }
    return NULL;
}

static void check_in_a_flood(hf_op_kind kind, committer_lane lane, const hf_op *probe)
{
    enum { FLOODS = 4, PROBES = 100 };
    desk d = {0};
    flood floods[FLOODS];
    pthread_t threads[FLOODS];
    committer_desk_open(&d, (committer_settings){.looks_max = 8192, .reads_max = 512});
    hf_credentials alice = committer_person(&d);
    gate_slow(d.gate, 200); /* so that threads can fill a lane */
    for (int i = 0; i < FLOODS; i++) {
        floods[i].desk = &d;
        floods[i].kind = kind;
        floods[i].session = committer_person(&d);
        atomic_init(&floods[i].stop, false);
        expect_int(pthread_create(&threads[i], NULL, flood_work, &floods[i]), 0);
    }
    committer_stats stats;
    do
        committer_stats_read(d.committer, &stats);
    while (stats.refused[lane] == 0);
    for (int i = 0; i < PROBES; i++) {
        ask *one = committer_ask_op(&d, probe);
        one->ops[0].session = probe->kind == HF_OP_LIST ? NULL : &alice;
        submit(one);
        size_t before = gate_batches(d.gate);
        committer_wait_for(one);
        size_t waited = one->batches > before ? one->batches - before : 0;
        if (waited > 3)
            check_failed(__FILE__, __LINE__, "a %s waited for %zu batches",
                         hf_op_kind_name(probe->kind), waited);
        came_to(one, HF_OK);
    }
    for (int i = 0; i < FLOODS; i++)
        atomic_store(&floods[i].stop, true);
    for (int i = 0; i < FLOODS; i++)
        pthread_join(threads[i], NULL);
    committer_desk_close(&d);
}

static void a_beat_in_a_flood_waits_for_three_batches_at_most(void **state)
{
    (void)state;
    check_in_a_flood(HF_OP_ACQUIRE, COMMITTER_ORDINARY, &(hf_op){.kind = HF_OP_BEAT});
}

/* Jobs nearly as large as a batch find no room beside the reserve; nobody waits for ever. */
static void large_jobs_and_beats_take_turns(void **state)
{
    (void)state;
    enum { LARGE = 6, OPS = 1000, BEATS = 3000 };
    static hf_op ops[LARGE][OPS];
    static ask *beats[BEATS];
    desk d = {0};
    ask *large[LARGE];
    hf_credentials people[LARGE];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    for (int i = 0; i < LARGE; i++)
        people[i] = committer_person(&d);
    gate_shut(d.gate);
    ask *first = ask_for(&d, BEAT, .session = &alice);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < LARGE; i++) {
        large[i] = ask_new(&d, 1);
        for (int k = 0; k < OPS; k++)
            ops[i][k] =
                (hf_op){.kind = HF_OP_ACQUIRE, .session = &people[i], ON("1"), .mode = HF_SHARED};
        large[i]->job.ops = ops[i];
        large[i]->job.count = OPS;
        submit(large[i]);
    }
    for (int i = 0; i < BEATS; i++)
        beats[i] = ask_for(&d, BEAT, .session = &alice);
    gate_let(d.gate);
    came_to(first, HF_OK);
    committer_wait_for(large[0]);
    committer_wait_for(beats[BEATS - 1]);
    expect_true(beats[0]->place < large[0]->place);         /* the reserve first */
    expect_true(large[0]->place < beats[BEATS - 1]->place); /* but not for ever */
    committer_wait_for(large[LARGE - 1]);
    expect_true(beats[BEATS - 1]->place < large[LARGE - 1]->place);
    for (int i = 0; i < BEATS; i++)
        came_to(beats[i], HF_OK);
    for (int i = 0; i < LARGE; i++)
        came_to(large[i], HF_OK);
    committer_desk_close(&d);
}

/* Jobs as large as a batch leave no room at all. */
static void check_full_jobs(hf_op_kind kind, const hf_op *other)
{
    enum { FULL = 8 };
    static hf_op ops[FULL][HF_BATCH_OPS_MAX];
    desk d = {0};
    ask *full[FULL];
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    gate_shut_for_all(d.gate);
    ask *first = committer_ask_op(&d, other);
    first->ops[0].session = &bob;
    submit(first);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < FULL; i++) {
        full[i] = ask_new(&d, 1);
        for (int k = 0; k < HF_BATCH_OPS_MAX; k++)
            ops[i][k] = (hf_op){.kind = kind, .session = &alice};
        full[i]->job.ops = ops[i];
        full[i]->job.count = HF_BATCH_OPS_MAX;
        full[i]->job.look = is_look(kind);
        submit(full[i]);
    }
    ask *late = committer_ask_op(&d, other);
    late->ops[0].session = &bob;
    submit(late);
    gate_let(d.gate);
    came_to(first, HF_OK);
    committer_wait_for(late);
    committer_wait_for(full[FULL - 1]);
    expect_true(full[0]->place < late->place && late->place < full[2]->place);
    came_to(late, HF_OK);
    for (int i = 0; i < FULL; i++)
        came_to(full[i], HF_OK);
    committer_desk_close(&d);
}

static void jobs_as_large_as_a_batch_do_not_starve_others(void **state)
{
    (void)state;
    check_full_jobs(HF_OP_BEAT, &(hf_op){.kind = HF_OP_ACQUIRE, ON("1")});
    check_full_jobs(HF_OP_BEAT, &(hf_op){.kind = HF_OP_SWEEP, .limit = 1});
    check_full_jobs(HF_OP_SESSION_FIND, &(hf_op){.kind = HF_OP_WHO, ON("1")});
    check_full_jobs(HF_OP_SESSION_FIND, &(hf_op){.kind = HF_OP_LIST, .limit = 1});
}

/* ---- C7: looks ---- */

#define NO_TOKEN "0123456789abcdef0123456789abcdef"

/* The first op of each batch from `from` on. */
static void check_batches(desk *d, size_t from, const hf_op_kind *kinds, size_t count)
{
    size_t entries, at = 0, batch = from;
    const gate_entry *log = gate_log(d->gate, &entries);
    for (size_t i = 0; i < entries; i++) {
        if (log[i].batch <= batch)
            continue;
        batch = log[i].batch;
        expect_true(at < count);
        expect_text(hf_op_kind_name(log[i].kind), hf_op_kind_name(kinds[at++]));
    }
    expect_int(at, count);
}

/* What stands alone closes its batch on both sides: a list waits for the looks before it, a
 * token-find for the list that is owed. */
static void looks_go_first_and_other_reads_take_turns_with_them(void **state)
{
    (void)state;
    enum { MANY = 20 };
    static const hf_op_kind in_order[] = {HF_OP_SESSION_FIND, HF_OP_LIST,       HF_OP_TOKEN_FIND,
                                          HF_OP_LIST,         HF_OP_TOKEN_FIND, HF_OP_WHO,
                                          HF_OP_TOKEN_FIND};
    desk d = {0};
    ask *lists[2], *whos[MANY], *finds[MANY], *tokens[3];
    hf_credentials people[MANY];
    committer_desk_open(&d, (committer_settings){0});
    for (int i = 0; i < MANY; i++)
        people[i] = committer_person(&d);
    gate_shut_for_all(d.gate);
    ask *first = ask_for(&d, TYPES);
    gate_wait_inside(d.gate, 1);
    size_t before = gate_batches(d.gate) + 1;
    for (int i = 0; i < 2; i++)
        lists[i] = ask_for(&d, LIST, .limit = 1);
    for (int i = 0; i < MANY; i++)
        whos[i] = ask_for(&d, WHO, ON("1"));
    for (int i = 0; i < MANY; i++)
        finds[i] = ask_for(&d, SESSION_FIND, .session = &people[i]);
    for (int i = 0; i < 3; i++)
        tokens[i] = ask_for(&d, TOKEN_FIND, .token = NO_TOKEN);
    gate_let(d.gate);
    came_to(first, HF_OK);
    for (int i = 0; i < 2; i++)
        came_to(lists[i], HF_OK);
    for (int i = 0; i < MANY; i++) {
        came_to(whos[i], HF_OK);
        came_to(finds[i], HF_OK);
    }
    for (int i = 0; i < 3; i++)
        came_to(tokens[i], HF_NOT_FOUND);
    committer_stop(d.committer);
    check_batches(&d, before, in_order, sizeof in_order / sizeof *in_order);
    committer_desk_close(&d);
}

static void neither_looks_nor_other_reads_starve_in_a_flood_of_the_other(void **state)
{
    (void)state;
    check_in_a_flood(HF_OP_SESSION_FIND, COMMITTER_LOOKS, &(hf_op){.kind = HF_OP_LIST, .limit = 1});
    check_in_a_flood(HF_OP_SESSION_FIND, COMMITTER_LOOKS, &(hf_op){.kind = HF_OP_WHO, ON("1")});
    check_in_a_flood(HF_OP_LIST, COMMITTER_READS, &(hf_op){.kind = HF_OP_SESSION_FIND});
    check_in_a_flood(HF_OP_WHO, COMMITTER_READS, &(hf_op){.kind = HF_OP_SESSION_FIND});
}

static void committer_refused(desk *d, const hf_op *op)
{
    hf_error err = {0};
    ask *over = committer_ask_op(d, op);
    expect(HF_TOO_MANY, committer_submit(d->committer, &over->job, &err), err);
    expect_contains(err.message, "5 operations wait");
    free(over);
}

static void looks_and_other_reads_have_limits_of_their_own(void **state)
{
    (void)state;
    enum { MOST = 5 };
    desk d = {0};
    ask *finds[MOST], *whos[MOST - 2];
    committer_stats stats;
    committer_desk_open(&d, (committer_settings){.looks_max = MOST, .reads_max = MOST});
    hf_credentials alice = committer_person(&d), bob = committer_person(&d);
    const hf_op find = {.kind = HF_OP_SESSION_FIND, .session = &alice},
                who = {.kind = HF_OP_WHO, ON("1")};
    gate_shut_for_all(d.gate);
    ask *first = ask_for(&d, TYPES);
    gate_wait_inside(d.gate, 1);
    for (int i = 0; i < MOST; i++)
        finds[i] = submit(committer_ask_op(&d, &find));
    committer_refused(&d, &find);
    committer_refused(&d, &(hf_op){.kind = HF_OP_TOKEN_FIND, .token = NO_TOKEN});
    ask *asked = ask_new(&d, 2); /* a caller's own are no looks */
    asked->ops[0] = (hf_op){.kind = HF_OP_SESSION_FIND, .session = &bob};
    asked->ops[1] = asked->ops[0];
    submit(asked);
    for (int i = 0; i < MOST - 2; i++)
        whos[i] = submit(committer_ask_op(&d, &who));
    committer_refused(&d, &who);
    ask *beat = ask_for(&d, BEAT, .session = &bob);
    committer_stats_read(d.committer, &stats);
    expect_int(stats.waiting[COMMITTER_LOOKS], MOST);
    expect_int(stats.waiting[COMMITTER_READS], MOST);
    expect_int(stats.refused[COMMITTER_LOOKS], 2);
    expect_int(stats.refused[COMMITTER_READS], 1);
    gate_let(d.gate);
    came_to(first, HF_OK);
    came_to(asked, HF_OK);
    came_to(beat, HF_OK);
    for (int i = 0; i < MOST; i++)
        came_to(finds[i], HF_OK);
    for (int i = 0; i < MOST - 2; i++)
        came_to(whos[i], HF_OK);
    came_to(submit(committer_ask_op(&d, &find)), HF_OK); /* there is room again */
    came_to(submit(committer_ask_op(&d, &who)), HF_OK);
    committer_desk_close(&d);
}

/* ---- stopping ---- */

typedef struct stopper {
    desk *desk;
    hf_credentials session;
    atomic_size_t accepted;
    bool refused_well;
} stopper;

static void count_and_free(committer_job *job)
{
    ask *a = job->context;
    pthread_mutex_lock(&a->desk->mutex);
    a->desk->done++;
    pthread_mutex_unlock(&a->desk->mutex);
    ask_free(a);
}

static void *submit_until_refused(void *context)
{
    stopper *s = context;
    for (;;) {
        hf_error err = {0};
        ask *a = committer_ask_op(s->desk, &(hf_op){.kind = HF_OP_BEAT, .session = &s->session});
        a->job.done = count_and_free;
        hf_status status = committer_submit(s->desk->committer, &a->job, &err);
        if (status == HF_OK) {
            atomic_fetch_add(&s->accepted, 1);
            continue;
        }
        free(a);
        if (status == HF_TOO_MANY)
            continue;
        s->refused_well = status == HF_UNAVAILABLE && err.message[0] != '\0';
        return NULL;
    }
}

static void stopping_answers_all_that_was_accepted(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    desk d = {0};
    stopper stoppers[THREADS];
    pthread_t threads[THREADS];
    committer_desk_open(&d, (committer_settings){.writers = 2, .reserve_max = 500});
    for (int i = 0; i < THREADS; i++) {
        stoppers[i] = (stopper){.desk = &d, .session = committer_person(&d)};
        expect_int(pthread_create(&threads[i], NULL, submit_until_refused, &stoppers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        while (atomic_load(&stoppers[i].accepted) < 200)
            sched_yield();
    committer_stop(d.committer);
    size_t accepted = THREADS; /* the sessions */
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        expect_true(stoppers[i].refused_well);
        accepted += atomic_load(&stoppers[i].accepted);
    }
    expect_int(d.done, accepted);
    committer_stop(d.committer); /* again is harmless */
    committer_desk_close(&d);
}

static void *committer_stop_it(void *context)
{
    committer_stop(context);
    return NULL;
}

/* The reader has nothing to do when it is told to stop, but will have. */
static void stopping_waits_for_jobs_that_wait_for_others(void **state)
{
    (void)state;
    desk d = {0};
    pthread_t thread;
    hf_status status;
    committer_desk_open(&d, (committer_settings){0});
    hf_credentials alice = committer_person(&d);
    gate_shut(d.gate);
    ask *write = ask_for(&d, ACQUIRE, .session = &alice, ON("1"));
    gate_wait_inside(d.gate, 1);
    ask *read = ask_for(&d, HOLDS, .session = &alice, ON("1"));
    expect_int(pthread_create(&thread, NULL, committer_stop_it, d.committer), 0);
    ask *late = NULL;
    do {
        free(late);
        late = committer_ask_op(&d, &(hf_op){.kind = HF_OP_WHO, ON("1")});
        late->job.done = free_ask;
        status = committer_submit(d.committer, &late->job, NULL);
        late = status == HF_OK ? NULL : late;
    } while (status != HF_UNAVAILABLE);
    free(late);
    usleep(20000); /* for a reader that ends too early to do so */
    gate_let(d.gate);
    pthread_join(thread, NULL);
    expect_true(write->place != 0 && read->place != 0);
    came_to(write, HF_OK);
    came_to(read, HF_OK);
    committer_desk_close(&d);
}

static void nothing_is_left_of_a_committer_that_was_never_used(void **state)
{
    (void)state;
    desk d = {0};
    committer_desk_open(&d, (committer_settings){.writers = 3, .readers = 3});
    committer_desk_close(&d);
    committer_free(NULL);
}

/* ---- completions ---- */

static void count_wake(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void a_loop_is_woken_once_for_all_that_is_there(void **state)
{
    (void)state;
    atomic_int wakes = 0;
    completions queue;
    committer_job done[4] = {0};
    completions_init(&queue, count_wake, &wakes);
    expect_true(completions_take(&queue) == NULL);
    for (int i = 0; i < 3; i++)
        completions_add(&queue, &done[i]);
    expect_int(atomic_load(&wakes), 1);
    committer_job *first = completions_take(&queue);
    expect_true(first == &done[0] && first->next == &done[1] && done[1].next == &done[2] &&
                !done[2].next);
    expect_true(completions_take(&queue) == NULL);
    completions_add(&queue, &done[3]);
    expect_int(atomic_load(&wakes), 2);
    expect_true(completions_take(&queue) == &done[3]);
    completions_done(&queue);
}

/* ---- jobs of the loop ---- */

enum { TURN_JOBS = 5 };

typedef struct turn {
    jobs *jobs;
    hf_op ops[TURN_JOBS];
    loop_job asked[TURN_JOBS];
} turn;

/* Slowly: a thread that was woken for the first would have taken it before the last comes. */
static void submit_in_one_turn(evutil_socket_t fd, short what, void *context)
{
    turn *t = context;
    hf_error err = {0};
    (void)fd, (void)what;
    for (int i = 0; i < TURN_JOBS; i++) {
        usleep(2000);
        t->ops[i] = (hf_op){.kind = HF_OP_NOTE, .event = HF_EVENT_DENIED, .text = "no"};
        t->asked[i] = (loop_job){.job = {.ops = &t->ops[i], .count = 1}, .finish = jobs_release};
        expect(HF_OK, jobs_submit(t->jobs, &t->asked[i], &err), err);
    }
}

static void jobs_of_one_turn_of_the_loop_share_a_batch(void **state)
{
    (void)state;
    desk d = {0};
    turn t = {0};
    hf_error err = {0};
    bool shared = false;
    committer_desk_open(&d, (committer_settings){0});
    struct event_base *base = event_base_new();
    expect(HF_OK, jobs_new(base, d.committer, &t.jobs, &err), err);
    /* The thread may not have gone to sleep when the first comes, so there are several tries. */
    for (int i = 0; i < 20 && !shared; i++) {
        size_t before = gate_batches(d.gate);
        expect_int(event_base_once(base, -1, EV_TIMEOUT, submit_in_one_turn, &t, NULL), 0);
        do
            event_base_loop(base, EVLOOP_ONCE);
        while (jobs_under_way(t.jobs) > 0);
        shared = gate_batches(d.gate) == before + 1;
        for (int j = 0; j < TURN_JOBS; j++)
            expect_int(t.ops[j].answer.status, HF_OK);
    }
    expect_true(shared);
    committer_stop(d.committer);
    jobs_free(t.jobs);
    event_base_free(base);
    committer_desk_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_answered_on_every_store),
        cmocka_unit_test(answers_stay_until_their_job_is_released),
        cmocka_unit_test(slots_that_had_large_answers_keep_little),
        cmocka_unit_test(what_comes_while_the_store_works_shares_the_next_batch),
        cmocka_unit_test(a_batch_has_its_limit),
        cmocka_unit_test(what_stands_alone_gets_a_batch_of_its_own),
        cmocka_unit_test(a_job_that_makes_no_sense_is_refused_at_the_door),
        cmocka_unit_test(a_release_does_not_overtake_the_acquire_before_it),
        cmocka_unit_test(a_session_is_replaced_after_what_it_asked_before),
        cmocka_unit_test(sessions_keep_their_order_with_one_writer),
        cmocka_unit_test(sessions_keep_their_order_with_many_threads),
        cmocka_unit_test(sessions_keep_their_order_on_every_store),
        cmocka_unit_test(several_writers_work_at_once),
        cmocka_unit_test(reads_do_not_wait_for_writes),
        cmocka_unit_test(what_is_asked_again_gets_a_batch_later),
        cmocka_unit_test(one_bad_job_does_not_fail_its_neighbours),
        cmocka_unit_test(isolating_a_slow_store_ends_in_time),
        cmocka_unit_test(an_unsure_batch_is_unsure_for_all_its_jobs),
        cmocka_unit_test(when_the_store_is_away_all_are_told),
        cmocka_unit_test(after_a_failed_sync_nothing_more_is_answered_as_done),
        cmocka_unit_test(without_memory_jobs_are_told_and_the_next_are_served),
        cmocka_unit_test(a_committer_that_can_not_be_made_leaves_nothing),
        cmocka_unit_test(a_flood_of_acquires_is_refused_and_beats_are_not),
        cmocka_unit_test(a_beat_in_a_flood_waits_for_three_batches_at_most),
        cmocka_unit_test(large_jobs_and_beats_take_turns),
        cmocka_unit_test(jobs_as_large_as_a_batch_do_not_starve_others),
        cmocka_unit_test(looks_go_first_and_other_reads_take_turns_with_them),
        cmocka_unit_test(neither_looks_nor_other_reads_starve_in_a_flood_of_the_other),
        cmocka_unit_test(looks_and_other_reads_have_limits_of_their_own),
        cmocka_unit_test(stopping_answers_all_that_was_accepted),
        cmocka_unit_test(stopping_waits_for_jobs_that_wait_for_others),
        cmocka_unit_test(nothing_is_left_of_a_committer_that_was_never_used),
        cmocka_unit_test(a_loop_is_woken_once_for_all_that_is_there),
        cmocka_unit_test(jobs_of_one_turn_of_the_loop_share_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
