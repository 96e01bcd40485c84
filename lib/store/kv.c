/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: executing batches. What it is stands at the head of kv.h. */
#include "store/kv.h"
#include "base/error.h"
#include "base/seams.h"
#include "db/db.h"

#include <stdlib.h>
#include <time.h>

enum {
    GROUPS_AT_ONCE = 1, /* a server that syncs answers nobody else: two would share less */
    LONG_US = 100000,
    LOST_TRIES = 2,        /* connections that may be lost before anything was sent */
    LOADING_US = 10000000, /* a server that is not ready is waited for so long, when opened */
    CONNS_MAX = 32
};

#define KV_BUSY "Others are in the middle of changes of the same records; try again."

void kv_fail_memory(kv_work *work)
{
    if (work->status == HF_OK)
        work->status = hf_fail_memory(work->err);
}

void kv_fail_foreign(kv_work *work, hf_slice key)
{
    if (work->status == HF_OK)
        work->status = hf_fail(
            work->err, HF_UNAVAILABLE,
            "The key %s:%.*s on %s has a value that is not holdfast's. Give holdfast a namespace "
            "of its own (namespace=NAME), or remove that key.",
            work->store->names, (int)(key.size < 300 ? key.size : 300), key.at,
            work->store->driver->path(work->conn));
}

void *kv_alloc(kv_work *work, hf_arena *arena, size_t size)
{
    void *out = work->status == HF_OK ? hf_arena_alloc(arena, size) : NULL;
    if (out == NULL)
        kv_fail_memory(work);
    return out;
}

void *kv_grow(kv_work *work, hf_arena *arena, void *all, size_t count, size_t size)
{
    enum { FIRST = 4 };
    if (count > 0 && (count < FIRST || (count & (count - 1)) != 0))
        return work->status == HF_OK ? all : NULL;
    void *more = kv_alloc(work, arena, (count == 0 ? FIRST : 2 * count) * size);
    if (more != NULL && count > 0)
        memcpy(more, all, count * size);
    return more;
}

/* ---- connections ---- */

hf_status kv_take(kv_store *store, kv_conn **out, hf_error *err)
{
    hf_status status = HF_OK;
    pthread_mutex_lock(&store->mutex);
    while (store->idle == NULL && store->open >= CONNS_MAX)
        pthread_cond_wait(&store->freed, &store->mutex);
    kv_conn *conn = store->idle;
    if (conn != NULL)
        store->idle = conn->next;
    else
        store->open++;
    pthread_mutex_unlock(&store->mutex);
    if (conn != NULL) {
        status = store->driver->check(store, conn, err);
        conn->owed |= status != HF_OK;
    } else if ((status = store->driver->connect(store, &conn, err)) == HF_OK) {
        conn->rows.drops_free = conn->rows.counts_beats = true;
        if (!hf_seam.random(&conn->rows.seed, sizeof conn->rows.seed))
            status = hf_fail(err, HF_INTERNAL, "Reading random bytes failed.");
        conn->owed |= status != HF_OK;
    }
    if (status != HF_OK) {
        kv_give(store, conn);
        conn = NULL;
    }
    *out = conn;
    return status;
}

static void kv_conn_free(kv_store *store, kv_conn *conn)
{
    hf_rows_done(&conn->rows);
    hf_arena_done(&conn->fresh);
    hf_buffer_done(&conn->text);
    store->driver->disconnect(conn);
}

/* Where one is lost, those that are idle are not trusted either. Accepts NULL. */
void kv_give(kv_store *store, kv_conn *conn)
{
    bool good = conn != NULL && !conn->owed && store->driver->alive(conn);
    pthread_mutex_lock(&store->mutex);
    if (conn != NULL) {
        conn->next = store->idle;
        store->idle = conn;
    } else
        store->open--;
    kv_conn *dropped = good ? NULL : store->idle;
    if (!good)
        store->idle = NULL;
    for (const kv_conn *it = dropped; it != NULL; it = it->next)
        store->open--;
    pthread_cond_broadcast(&store->freed);
    pthread_mutex_unlock(&store->mutex);
    while ((conn = dropped) != NULL) {
        dropped = conn->next;
        kv_conn_free(store, conn);
    }
}

static void kv_pause(unsigned times)
{
    unsigned most_us = 50u << (times < 10 ? times : 10), drawn = 0;
    hf_seam.random(&drawn, sizeof drawn);
    nanosleep(&(struct timespec){.tv_nsec = (long)(drawn % most_us) * 1000}, NULL);
}

/* A connection to a server that is ready. One that is not yet is waited for. */
static hf_status take_ready(kv_work *work, int64_t until_us)
{
    hf_status status;
    while ((status = kv_take(work->store, &work->conn, work->err)) == HF_BUSY &&
           hf_seam.boot_us() < until_us)
        kv_pause(10);
    if (status == HF_BUSY && work->err != NULL)
        work->err->status = HF_UNAVAILABLE;
    work->rows = status == HF_OK ? &work->conn->rows : NULL;
    work->fresh_count = 0;
    return status == HF_BUSY ? HF_UNAVAILABLE : status;
}

/* ---- a batch ---- */

static void kv_attempt(kv_work *work)
{
    hf_rows *rows = work->rows;
    work->status = HF_OK;
    work->sent = work->conflict = work->unready = false;
    work->now_us = 0;
    work->floor = 0;
    kv_reset(work);
    hf_batch_unanswer(work->batch);
    if (!hf_rows_reset(rows, work->batch->count) || !hf_rows_want(rows, work->batch)) {
        kv_fail_memory(work);
        return;
    }
    rows->no_growth = work->full ? work->store->driver->full : NULL;
    if (hf_op_alone(work->batch->ops[0].kind)) {
        if (work->batch->ops[0].answer.status == HF_OK)
            kv_alone(work);
        return;
    }
    kv_load(work);
    if (work->conflict) /* nothing has answered the rows as they are now */
        work->fresh_count = 0;
    if (work->status != HF_OK || work->conflict)
        return;
    work->commit.deadline_us = kv_deadline(work);
    if (hf_rows_apply(rows, work->batch, work->now_us))
        kv_save(work);
    else
        kv_fail_memory(work);
}

/* Tries until it is done, refused or too late. */
static hf_status kv_try(kv_work *work)
{
    unsigned lost = 0;
    for (unsigned times = 0;; times++) {
        bool was_full = work->full;
        kv_attempt(work);
        bool late = hf_seam.boot_us() >= work->until_us;
        if (work->status == HF_OK && !work->conflict)
            return HF_OK;
        if (work->status == HF_OK) {
            if (late)
                return hf_fail(work->err, HF_BUSY, KV_BUSY);
            if (times > 0)
                kv_pause(times < 7 ? times : 7);
            continue;
        }
        work->fresh_count = 0;
        if (work->full && !was_full)
            continue;
        if (!work->unready || late) {
            if (work->store->driver->alive(work->conn))
                return work->status;
            if (work->sent)
                return hf_fail(work->err, HF_UNSURE,
                               "The connection to %s was lost while it wrote: it is not known "
                               "whether that was done. Ask again with the same request id.",
                               work->store->driver->path(work->conn));
            if (++lost > LOST_TRIES || work->status == HF_NO_MEMORY)
                return work->status;
        } else
            kv_pause(10);
        /* another connection: on this one further answers may be on their way */
        kv_give(work->store, work->conn);
        hf_status status = take_ready(work, work->until_us);
        if (status != HF_OK)
            return status;
    }
}

static hf_status kv_execute_one(hf_store *base, hf_batch *batch, hf_error *err)
{
    kv_store *store = (kv_store *)base;
    hf_error own;
    kv_work work = {
        .store = store, .batch = batch, .names = &batch->arena, .err = err != NULL ? err : &own};
    for (size_t i = 0; i < batch->count; i++) {
        work.looks |= batch->ops[i].kind == HF_OP_WHO;
        work.changes |= !hf_op_reads(batch->ops[i].kind);
        work.forces |= batch->ops[i].kind == HF_OP_FORCE_RELEASE;
    }
    work.until_us = (batch->since_us != 0 ? batch->since_us : hf_seam.boot_us()) + HF_DB_BUSY_US;
    if (batch->tried && hf_seam.boot_us() >= work.until_us)
        return hf_fail(err, HF_BUSY, KV_BUSY);
    hf_status status = take_ready(&work, work.until_us);
    if (status != HF_OK)
        return status;
    status = kv_try(&work);
    if (status == HF_OK)
        status = store->driver->confirm(&work);
    if (work.conn != NULL)
        kv_give(store, work.conn);
    if (status == HF_OK) /* what was tried in vain before is over */
        hf_error_none(work.err);
    return status;
}

hf_status kv_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    return hf_group_commit_execute(((kv_store *)base)->group_commit, base, batch, err);
}

/* ---- opening and closing ---- */

/* Says whose keys these are, unless someone has: then it looks whether they are ours. */
static hf_status kv_begin(kv_store *store, bool make, hf_error *err)
{
    hf_error own;
    hf_arena names = {0};
    kv_work work = {.store = store, .names = &names, .err = err != NULL ? err : &own};
    int64_t until_us = hf_seam.boot_us() + LOADING_US;
    bool forgets = store->forgets;
    hf_status status = take_ready(&work, until_us);
    if (status != HF_OK)
        return status;
    store->forgets = true; /* there may be none yet */
    do {
        kv_reset(&work);
        if (!hf_rows_reset(work.rows, 1))
            kv_fail_memory(&work);
        kv_want(&work, KV_WHOSE, NULL, hf_slice_of("schema"));
        kv_load_rest(&work);
        bool none = work.status == HF_OK && work.gets->value.at == NULL;
        if (none && make)
            kv_commit_now(&work, true);
        else if (none)
            work.status =
                hf_fail(work.err, HF_NOT_FOUND, "There is no store of the namespace %s on %s.",
                        store->names, store->driver->path(work.conn));
    } while (work.status == HF_OK && work.conflict && hf_seam.boot_us() < until_us);
    store->forgets = forgets;
    kv_give(store, work.conn);
    hf_arena_done(&names);
    return work.status;
}

void kv_init(kv_store *store, const hf_store_ops *ops, const kv_driver *driver)
{
    hf_store_init(&store->base, ops);
    store->driver = driver;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_cond_init(&store->freed, NULL);
}

hf_status kv_open(kv_store *store, bool make, hf_error *err)
{
    hf_status status = hf_group_commit_new(&(hf_group_commit_rule){.execute = kv_execute_one,
                                                                   .at_once = GROUPS_AT_ONCE,
                                                                   .long_us = LONG_US,
                                                                   .gathers = true},
                                           &store->group_commit, err);
    return status == HF_OK ? kv_begin(store, make, err) : status;
}

void kv_close(kv_store *store)
{
    hf_group_commit_free(store->group_commit);
    for (kv_conn *conn = store->idle, *next; conn != NULL; conn = next) {
        next = conn->next;
        kv_conn_free(store, conn);
    }
    pthread_cond_destroy(&store->freed);
    pthread_mutex_destroy(&store->mutex);
}

hf_status kv_refuse_held(kv_store *store, hf_error *err)
{
    hf_batch *batch = NULL;
    hf_status status = hf_batch_new(1, &batch, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(batch, HF_OP_LIST);
    op->limit = 1;
    status = kv_execute_one(&store->base, batch, err);
    if (status == HF_OK && op->answer.locks_count > 0)
        status = hf_fail(err, HF_LOCKED,
                         "%s/%s is held by %s, and perhaps more is; release it first, or say that "
                         "it is to be removed all the same.",
                         op->answer.locks[0].resource.type, op->answer.locks[0].resource.id,
                         op->answer.locks[0].name);
    hf_batch_free(batch);
    return status;
}
