/* SPDX-License-Identifier: MIT */
/* The committer has executors: threads that fill a batch from their lanes, execute it, answer its
 * jobs, and start again.
 *
 * Jobs are spread over the executors by resource, so that executors rarely meet in the store; a job
 * of a session with unanswered jobs goes where those are (session_order.h). One mutex guards lanes,
 * order and counts; it is not held while the store works or `done` is called. Answers point into
 * the batch's memory, so a batch is kept until all its jobs were released (batch_pool.h). */
#include "server/commit/committer.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/commit/batch_pool.h"
#include "server/commit/session_order.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    FIRST_SHARE = HF_BATCH_OPS_MAX / 2, /* of a batch, for the lane that goes first */
    KEYS = 2 * HF_BATCH_OPS_MAX,
    ISOLATE_US = 1000000, /* how long the jobs of a failed batch are tried one by one */
};

#define SENTENCE_MEMORY "Out of memory; nothing was done."
#define SENTENCE_BROKEN                                                                            \
    "Writing to the store has failed; the server ends and begins anew. Nothing was done."

typedef struct executor {
    committer *of;
    pthread_t thread;
    pthread_cond_t work;
    bool started, idle, reads;
    job_list lanes[COMMITTER_LANES];
    /* the next job of the lane that does not go first found no room: it begins the next batch */
    bool owed;

    /* The batch that fills, and then runs. */
    job_list jobs;
    size_t ops;
    bool closed;             /* nothing more fits */
    bool keyed;              /* there are keys */
    uint64_t keys[KEYS];     /* C6: hashes of its sessions and request ids; 0: free */
    committer_counts counts; /* not yet added to those of the committer */
    bool tells;              /* it is the one who found the store broken ... */
    hf_error why;            /* ... by this */
} executor;

struct committer {
    committer_settings settings;
    pthread_mutex_t mutex;
    session_order session_order;
    executor *executors; /* writers, then readers */
    unsigned count;
    unsigned next;     /* whose turn it is among executors for jobs that could go to any */
    size_t unanswered; /* jobs */
    bool stopping;
    atomic_bool broken;
    committer_stats stats;
    hf_grade grade;
    _Atomic int64_t graded_us; /* when that was asked for */

    batch_pool batch_pool;
};

void committer_release(committer *c, committer_job *job)
{
    pooled_batch *slot = job->slot;
    job->slot = NULL;
    pooled_batch_unpin(&c->batch_pool, slot);
}

/* ---- filling a batch; under the mutex ---- */

static void committer_enqueue(committer *c, job_list *ready, bool wakes)
{
    for (committer_job *job; (job = job_list_take(ready)) != NULL;) {
        executor *e = &c->executors[job->executor];
        job_list_add(&e->lanes[job->lane], job);
        if (wakes && e->idle)
            pthread_cond_signal(&e->work);
    }
}

/* Where the key of an op is among those of the batch, or where it would be; NULL: the op has none.
 * */
static uint64_t *committer_find_key(executor *e, const hf_op *op, uint64_t *key)
{
    if (op->request_id == NULL || op->request_id[0] == '\0' || op->session == NULL)
        return NULL;
    *key = session_order_hash(e->of->session_order.seed, op->session->id, sizeof op->session->id);
    *key = session_order_hash(*key, op->request_id, HF_REQUEST_ID_SIZE) | 1;
    size_t at = *key / 2 % KEYS;
    while (e->keys[at] != 0 && e->keys[at] != *key)
        at = (at + 1) % KEYS;
    return &e->keys[at];
}

/* C6. */
static bool committer_repeats(executor *e, const committer_job *job)
{
    uint64_t key;
    for (size_t i = 0; i < job->count; i++) {
        const uint64_t *at = committer_find_key(e, &job->ops[i], &key);
        if (at != NULL && *at == key)
            return true;
    }
    return false;
}

static void committer_take(executor *e, committer_job *job)
{
    job_list ready = {NULL, NULL};
    uint64_t key;
    for (size_t i = 0; i < job->count; i++) {
        uint64_t *at = committer_find_key(e, &job->ops[i], &key);
        if (at == NULL)
            continue;
        *at = key;
        e->keyed = true;
    }
    job_list_add(&e->jobs, job);
    e->ops += job->count;
    e->closed |= job->alone;
    e->of->stats.waiting[job->lane] -= job->count;
    session_order_taken(job, &ready);
    committer_enqueue(e->of, &ready, true);
}

/* Takes jobs of a lane until the batch has so many ops, or the next one does not fit. */
static void committer_take_from(executor *e, committer_lane lane, size_t until)
{
    job_list aside = {NULL, NULL}, *from = &e->lanes[lane];
    while (e->ops < until && !e->closed && from->first != NULL) {
        committer_job *job = from->first;
        if (job->count > HF_BATCH_OPS_MAX - e->ops || (job->alone && e->ops > 0))
            break;
        job_list_take(from);
        if (committer_repeats(e, job))
            /* one for each session at most, since those behind it wait for it */
            job_list_add(&aside, job);
        else
            committer_take(e, job);
    }
    job_list_prepend(from, &aside);
}

/* C4, C7: the lane that goes first, up to its share; then the other; what room is left is the first
 * one's again. Every second batch at most begins with a job of the other that found no room. False:
 * there is nothing to do. */
static bool committer_fill(executor *e)
{
    committer_lane first = e->reads ? COMMITTER_LOOKS : COMMITTER_RESERVE;
    committer_lane other = e->reads ? COMMITTER_READS : COMMITTER_ORDINARY;
    const committer_job *next = e->lanes[other].first;
    size_t before;
    if (e->keyed)
        memset(e->keys, 0, sizeof e->keys);
    e->keyed = false;
    e->ops = 0;
    e->closed = false;
    if (e->owed)
        committer_take_from(e, other, 1);
    do { /* jobs that were taken let others of their sessions go */
        before = e->ops;
        committer_take_from(e, first, FIRST_SHARE);
        committer_take_from(e, other, HF_BATCH_OPS_MAX);
        committer_take_from(e, first, HF_BATCH_OPS_MAX);
    } while (e->ops > before && !e->closed);
    e->owed = next != NULL && e->lanes[other].first == next;
    return e->ops > 0;
}

/* ---- running it ---- */

static unsigned committer_log2_below(uint64_t value, unsigned buckets)
{
    unsigned at = value < 2 ? 0 : 63 - (unsigned)__builtin_clzll(value);
    return at < buckets ? at : buckets - 1;
}

/* Runs that job, or all from it on, as one batch. */
static hf_status committer_execute(executor *e, pooled_batch *slot, const committer_job *job,
                                   bool single)
{
    hf_batch_clear(slot->batch);
    for (; job != NULL; job = single ? NULL : job->next)
        for (size_t i = 0; i < job->count; i++) {
            hf_op *op = hf_batch_add(slot->batch, job->ops[i].kind);
            assert(op != NULL);
            *op = job->ops[i];
        }
    size_t ops = hf_batch_count(slot->batch);
    int64_t began_us = hf_seam.boot_us();
    hf_status status = hf_store_execute(e->of->settings.store, slot->batch, &slot->err);
    uint64_t took_us = (uint64_t)(hf_seam.boot_us() - began_us);
    e->counts.times[committer_log2_below(took_us, COMMITTER_TIMES)]++;
    e->counts.busy_us += took_us;
    e->counts.sizes[committer_log2_below(ops, COMMITTER_SIZES)]++;
    e->counts.batches++;
    e->counts.ops += ops;
    return status;
}

/* Gives a job what it came to. HF_OK: its answers stand in the slot from `at` on. */
static void committer_answer(committer_job *job, pooled_batch *slot, hf_status status,
                             const char *message, size_t at)
{
    job->status = status;
    for (size_t i = 0; i < job->count; i++)
        job->ops[i].answer = status == HF_OK ? hf_batch_op(slot->batch, at + i)->answer
                                             : (hf_answer){.status = status, .message = message};
    job->slot = slot;
    if (slot != NULL)
        atomic_fetch_add(&slot->pins, 1);
}

/* All jobs from `job` on. */
static void committer_answer_all(committer_job *job, pooled_batch *slot, hf_status status,
                                 const char *message)
{
    for (size_t at = 0; job != NULL; job = job->next) {
        committer_answer(job, slot, status, message, at);
        at += job->count;
    }
}

static void committer_look_up_grade(committer *c, hf_grade *out)
{
    hf_store_grade(c->settings.store, out);
    pthread_mutex_lock(&c->mutex);
    c->grade = *out;
    pthread_mutex_unlock(&c->mutex);
    c->graded_us = hf_seam.boot_us();
}

/* After a read that went well: what does not answer is not asked for its grade too. */
static void committer_keep_grade_fresh(committer *c)
{
    hf_grade grade;
    if (hf_seam.boot_us() - c->graded_us >= COMMITTER_GRADE_US)
        committer_look_up_grade(c, &grade);
}

void committer_grade(committer *c, hf_grade *out)
{
    pthread_mutex_lock(&c->mutex);
    *out = c->grade;
    pthread_mutex_unlock(&c->mutex);
}

/* Whether the store has told, with a failure, that it is broken for good. */
static void committer_look_if_broken(executor *e, hf_status status, const hf_error *why)
{
    hf_grade grade;
    if (status != HF_UNSURE && status != HF_UNAVAILABLE)
        return;
    committer_look_up_grade(e->of, &grade);
    if (!grade.broken || atomic_exchange(&e->of->broken, true))
        return;
    e->tells = true;
    e->why = *why;
}

/* C3: the batch as a whole came to `status`, nothing of it was done. Each job is tried alone; when
 * that takes too long or the store is away, the rest get what the batch came to. */
static void committer_isolate(executor *e, pooled_batch *failed, hf_status status)
{
    int64_t began_us = hf_seam.boot_us();
    committer_job *job = e->jobs.first;
    e->counts.isolated++;
    for (; job != NULL && hf_seam.boot_us() - began_us < ISOLATE_US; job = job->next) {
        pooled_batch *slot = pooled_batch_new(&e->of->batch_pool, job->count);
        if (slot == NULL) {
            committer_answer(job, NULL, HF_NO_MEMORY, SENTENCE_MEMORY, 0);
            continue;
        }
        hf_status own = committer_execute(e, slot, job, true);
        committer_answer(job, slot, own, slot->err.message, 0);
        pooled_batch_unpin(&e->of->batch_pool, slot);
        committer_look_if_broken(e, own, &slot->err);
        if (own == HF_UNAVAILABLE || e->of->broken) {
            committer_answer_all(job->next, slot, HF_UNAVAILABLE,
                                 e->of->broken ? SENTENCE_BROKEN : slot->err.message);
            return;
        }
    }
    committer_answer_all(job, failed, status, failed->err.message);
}

/* Answers every job of the batch. */
static void committer_run(executor *e)
{
    committer *c = e->of;
    if (c->broken) {
        committer_answer_all(e->jobs.first, NULL, HF_UNAVAILABLE, SENTENCE_BROKEN);
        return;
    }
    pooled_batch *slot = pooled_batch_take(&c->batch_pool);
    if (slot == NULL) {
        committer_answer_all(e->jobs.first, NULL, HF_NO_MEMORY, SENTENCE_MEMORY);
        return;
    }
    hf_status status = committer_execute(e, slot, e->jobs.first, false);
    committer_look_if_broken(e, status, &slot->err);
    if (e->reads && status == HF_OK)
        committer_keep_grade_fresh(c);
    bool known = status == HF_OK || status == HF_UNSURE || status == HF_UNAVAILABLE;
    if (known || e->jobs.first->next == NULL)
        committer_answer_all(e->jobs.first, slot, status, slot->err.message);
    else
        committer_isolate(e, slot, status);
    pooled_batch_unpin(&c->batch_pool, slot);
}

static void committer_add_counts(committer_counts *to, committer_counts *from)
{
    to->batches += from->batches;
    to->ops += from->ops;
    to->isolated += from->isolated;
    to->busy_us += from->busy_us;
    for (size_t i = 0; i < COMMITTER_SIZES; i++)
        to->sizes[i] += from->sizes[i];
    for (size_t i = 0; i < COMMITTER_TIMES; i++)
        to->times[i] += from->times[i];
    memset(from, 0, sizeof *from);
}

/* Lets those go that waited, then hands the jobs back. */
static void committer_finish(executor *e)
{
    committer *c = e->of;
    job_list ready = {NULL, NULL};
    pthread_mutex_lock(&c->mutex);
    for (committer_job *job = e->jobs.first; job != NULL; job = job->next) {
        session_order_answered(&c->session_order, job, &ready);
        c->unanswered--;
    }
    committer_enqueue(c, &ready, true);
    committer_add_counts(e->reads ? &c->stats.reads : &c->stats.writes, &e->counts);
    for (unsigned i = 0; c->stopping && c->unanswered == 0 && i < c->count; i++)
        pthread_cond_signal(&c->executors[i].work);
    pthread_mutex_unlock(&c->mutex);
    for (committer_job *job; (job = job_list_take(&e->jobs)) != NULL;)
        job->done(job);
}

static void *committer_work(void *context)
{
    executor *e = context;
    committer *c = e->of;
    for (;;) {
        pthread_mutex_lock(&c->mutex);
        bool more;
        while (!(more = committer_fill(e)) && !(c->stopping && c->unanswered == 0)) {
            e->idle = true;
            pthread_cond_wait(&e->work, &c->mutex);
            e->idle = false;
        }
        pthread_mutex_unlock(&c->mutex);
        if (!more)
            return NULL;
        committer_run(e);
        committer_finish(e);
        if (e->tells && c->settings.fatal != NULL)
            c->settings.fatal(c->settings.context, &e->why);
        e->tells = false;
    }
}

/* ---- submitting ---- */

static hf_status committer_check(const committer_job *job, hf_error *err)
{
    if (job->count == 0)
        return hf_fail(err, HF_INVALID, "Nothing was asked for: name at least one operation.");
    if (job->count > HF_BATCH_OPS_MAX)
        return hf_fail(err, HF_TOO_LARGE,
                       "At most %d operations can be asked for at once, not %zu.", HF_BATCH_OPS_MAX,
                       job->count);
    if (job->ops[job->count - 1].linked)
        return hf_fail(err, HF_INVALID, "The last operation can't be linked: nothing follows it.");
    return HF_OK;
}

static void committer_classify(committer_job *job)
{
    bool reads = true, grows = false;
    job->alone = job->taken = false;
    for (size_t i = 0; i < job->count; i++) {
        hf_op_kind kind = job->ops[i].kind;
        job->alone |= hf_op_alone(kind) || (unsigned)kind >= HF_OP_KINDS;
        reads &= hf_op_reads(kind);
        grows |= hf_op_grows(kind);
    }
    job->lane = job->look && reads    ? COMMITTER_LOOKS
                : reads               ? COMMITTER_READS
                : grows || job->alone ? COMMITTER_ORDINARY
                                      : COMMITTER_RESERVE;
}

/* Where the session's unanswered jobs are, or the resource's part; what names none goes to any. */
static unsigned committer_choose(committer *c, const committer_job *job)
{
    bool reads = job->lane == COMMITTER_LOOKS || job->lane == COMMITTER_READS;
    unsigned first = reads ? c->settings.writers : 0, before;
    unsigned count = reads ? c->settings.readers : c->settings.writers;
    if (session_order_before(&c->session_order, job, &before) && before >= first &&
        before < first + count)
        return before;
    const hf_op *op = &job->ops[0];
    if (reads || op->type == NULL || op->id == NULL)
        return first + c->next++ % count;
    uint64_t hash = session_order_hash(c->session_order.seed, op->type, HF_TYPE_SIZE);
    return first + (unsigned)(session_order_hash(hash, op->id, HF_ID_SIZE) % count);
}

static hf_status committer_admit(committer *c, const committer_job *job, hf_error *err)
{
    const size_t most[COMMITTER_LANES] = {c->settings.reserve_max, c->settings.ordinary_max,
                                          c->settings.looks_max, c->settings.reads_max};
    if (c->broken)
        return hf_fail(err, HF_UNAVAILABLE, SENTENCE_BROKEN);
    if (c->stopping)
        return hf_fail(err, HF_UNAVAILABLE, "The server is being stopped; nothing was done.");
    if (job->count > most[job->lane] ||
        c->stats.waiting[job->lane] > most[job->lane] - job->count) {
        c->stats.refused[job->lane]++;
        return hf_fail(err, HF_TOO_MANY,
                       "%zu operations wait for the store already, and %zu is the most; try again "
                       "in a moment.",
                       c->stats.waiting[job->lane], most[job->lane]);
    }
    return HF_OK;
}

hf_status committer_queue(committer *c, committer_job *job, hf_error *err)
{
    hf_status status = committer_check(job, err);
    if (status != HF_OK)
        return status;
    committer_classify(job);
    job->slot = NULL;
    if (!session_order_prepare(&c->session_order, job))
        return hf_fail_memory(err);
    pthread_mutex_lock(&c->mutex);
    status = committer_admit(c, job, err);
    if (status == HF_OK) {
        job_list ready = {NULL, NULL};
        job->executor = committer_choose(c, job);
        c->stats.waiting[job->lane] += job->count;
        c->unanswered++;
        if (session_order_enter(&c->session_order, job))
            job_list_add(&ready, job);
        committer_enqueue(c, &ready, false);
    }
    pthread_mutex_unlock(&c->mutex);
    if (status != HF_OK)
        session_order_forget(job);
    return status;
}

void committer_wake(committer *c)
{
    pthread_mutex_lock(&c->mutex);
    for (unsigned i = 0; i < c->count; i++) {
        executor *e = &c->executors[i];
        bool work = false;
        for (size_t lane = 0; lane < COMMITTER_LANES; lane++)
            work |= e->lanes[lane].first != NULL;
        if (work && e->idle)
            pthread_cond_signal(&e->work);
    }
    pthread_mutex_unlock(&c->mutex);
}

hf_status committer_submit(committer *c, committer_job *job, hf_error *err)
{
    hf_status status = committer_queue(c, job, err);
    if (status == HF_OK)
        committer_wake(c);
    return status;
}

void committer_stats_read(committer *c, committer_stats *out)
{
    pthread_mutex_lock(&c->mutex);
    *out = c->stats;
    pthread_mutex_unlock(&c->mutex);
}

/* ---- beginning and ending ---- */

static unsigned committer_threads_of(unsigned asked)
{
    return asked == 0 ? 1 : asked < COMMITTER_THREADS_MAX ? asked : COMMITTER_THREADS_MAX;
}

static size_t committer_limit_of(size_t asked, size_t otherwise)
{
    return asked == 0 ? otherwise : asked;
}

hf_status committer_new(const committer_settings *settings, committer **out, hf_error *err)
{
    committer *c = hf_alloc(sizeof *c);
    if (c == NULL)
        return hf_fail_memory(err);
    pthread_mutex_init(&c->mutex, NULL);
    batch_pool_init(&c->batch_pool);
    c->settings = *settings;
    c->settings.writers = committer_threads_of(settings->writers);
    c->settings.readers = committer_threads_of(settings->readers);
    c->settings.ordinary_max = committer_limit_of(settings->ordinary_max, COMMITTER_ORDINARY_MAX);
    c->settings.reserve_max = committer_limit_of(settings->reserve_max, COMMITTER_RESERVE_MAX);
    c->settings.looks_max = committer_limit_of(settings->looks_max, COMMITTER_LOOKS_MAX);
    c->settings.reads_max = committer_limit_of(settings->reads_max, COMMITTER_READS_MAX);
    c->count = c->settings.writers + c->settings.readers;
    bool random = hf_seam.random(&c->session_order.seed, sizeof c->session_order.seed);
    c->executors = hf_alloc(c->count * sizeof *c->executors);
    for (unsigned i = 0; c->executors != NULL && i < c->count; i++) {
        executor *e = &c->executors[i];
        e->of = c;
        e->reads = i >= c->settings.writers;
        pthread_cond_init(&e->work, NULL);
    }
    bool started = random && c->executors != NULL;
    if (started)
        hf_store_grade(c->settings.store, &c->grade);
    c->graded_us = hf_seam.boot_us();
    for (unsigned i = 0; started && i < c->count; i++)
        started = c->executors[i].started =
            pthread_create(&c->executors[i].thread, NULL, committer_work, &c->executors[i]) == 0;
    if (started) {
        *out = c;
        return HF_OK;
    }
    bool memory = c->executors != NULL;
    committer_free(c);
    return !memory   ? hf_fail_memory(err)
           : !random ? hf_fail(err, HF_UNAVAILABLE, "Reading random bytes failed.")
                     : hf_fail(err, HF_UNAVAILABLE, "The system can't start another thread.");
}

void committer_stop(committer *c)
{
    pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    for (unsigned i = 0; c->executors != NULL && i < c->count; i++)
        pthread_cond_signal(&c->executors[i].work);
    pthread_mutex_unlock(&c->mutex);
    for (unsigned i = 0; c->executors != NULL && i < c->count; i++) {
        if (c->executors[i].started)
            pthread_join(c->executors[i].thread, NULL);
        c->executors[i].started = false;
    }
}

void committer_free(committer *c)
{
    if (c == NULL)
        return;
    committer_stop(c);
    batch_pool_done(&c->batch_pool);
    for (unsigned i = 0; c->executors != NULL && i < c->count; i++)
        pthread_cond_destroy(&c->executors[i].work);
    hf_free(c->executors);
    pthread_mutex_destroy(&c->mutex);
    hf_free(c);
}
