/* SPDX-License-Identifier: MIT */
/* SQL database stores: a batch is one transaction of two round trips.
 *
 *   D1  The anchors of a batch are locked together, in canonical order, then the sessions that will
 *       be written, by id. No lock is waited for: an op that needs a row which another transaction
 *       has locked is deferred to the next transaction, with the ops that depend on it. An anchor
 *       that does not exist yet is locked by its name (PostgreSQL) or by inserting it (MySQL).
 *   D2  What the law decides by is read after that, and the time last of all.
 *   D3  A session that looks dead and blocks an op is locked and read again, with the time then: it
 *       may just have beaten.
 *   D4  Every change of a resource's locks writes its anchor, so a transaction with an older
 *       snapshot fails and gives no second grant.
 *   D5  A deferred op is busy half a second after the batch came (a second or two on MySQL where it
 *       waits for a row that another transaction is inserting: its lock waits are counted in whole
 *       seconds), and so are the ops that depend on it. All other ops are carried out, once,
 *       however late, as far as it can be told which they are.
 *   D6  Deadlocks, serialization failures and duplicate inserts are run again, after a short random
 *       pause, within that time. In an application's own transaction the application must do that.
 *   D7  If the connection is lost before the commit is sent, another one is used; after that the
 *       answer is HF_UNSURE. */
#include "store/database.h"

#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert((int)SQL_DO_COUNT <= (int)SQL_STMTS_MAX,
               "a connection has room for every statement");

#define STEP_OPS                                                                                   \
    512 /* ops in one transaction: PostgreSQL has a table of locks with room for some thousands */
#define LOST_TRIES 3

#define SENTENCE_BUSY "Someone else is in the middle of a change of what this needs; try again."

/* ---- connections ---- */

static hf_status database_take_connection(database_work *work, hf_error *err)
{
    database_store *store = work->store;
    int64_t left_us = work->until_us - hf_seam.boot_us();
    left_us = left_us > HF_DB_BUSY_US ? HF_DB_BUSY_US : left_us;
    hf_status status =
        hf_pool_take(work->reads ? store->readers : store->writers, left_us, &work->pooled, err);
    if (status != HF_OK)
        return status;
    if (work->pooled->extra == NULL)
        work->pooled->extra = database_conn_new(store, work->pooled->db);
    work->conn = work->pooled->extra;
    if (work->conn == NULL) {
        hf_pool_give(work->reads ? store->readers : store->writers, work->pooled);
        return hf_fail_memory(err);
    }
    return HF_OK;
}

/* A database that refuses writes has been replaced by another one in a failover: it is not read
 * from any more either. */
static void database_give_back(const database_work *work)
{
    database_store *store = work->store;
    bool demoted = hf_db_failure(work->pooled->db) == HF_FAILURE_READ_ONLY;
    hf_pool_give(work->reads ? store->readers : store->writers, work->pooled);
    if (demoted) {
        hf_pool_renew(store->writers);
        hf_pool_renew(store->readers);
    }
}

static void database_leave(database_work *work)
{
    database_store *store = work->store;
    if (store->kind->leave != NULL && hf_db_alive(work->conn->db))
        store->kind->leave(work);
    if (store->own != NULL)
        pthread_mutex_unlock(&work->conn->mutex);
    else
        database_give_back(work);
    work->conn = NULL;
}

static hf_status database_enter(database_work *work, hf_error *err)
{
    database_store *store = work->store;
    if (store->own == NULL) {
        hf_status status = database_take_connection(work, err);
        if (status != HF_OK)
            return status;
    } else {
        work->conn = store->own;
        pthread_mutex_lock(&work->conn->mutex);
        work->nested = hf_db_in_transaction(work->conn->db);
        if (hf_db_transaction_failed(work->conn->db)) {
            pthread_mutex_unlock(&work->conn->mutex);
            return hf_fail(err, HF_INVALID,
                           "The transaction has failed before; roll it back first.");
        }
    }
    sql_use(work->conn, err);
    if (store->kind->enter != NULL)
        store->kind->enter(work);
    hf_status status = work->conn->status;
    if (status != HF_OK)
        database_leave(work);
    return status;
}

/* Queued statements that were not read to their end are dropped, in their order. */
void database_undo(database_work *work)
{
    sql_conn *conn = work->conn;
    hf_status status = conn->status;
    hf_error *err = conn->err;
    for (int i = 0; i < work->queued_count; i++)
        hf_stmt_reset(conn->stmts[work->queued[i]]);
    work->queued_count = 0;
    hf_failure failure = hf_db_failure(conn->db);
    if (hf_db_alive(conn->db) && work->nested) {
        sql_use(conn, NULL);
        if (work->begun)
            sql_do(conn, SQL_DO_SAVEPOINT_ROLLBACK);
        if (work->begun)
            sql_do(conn, SQL_DO_SAVEPOINT_RELEASE);
    } else if (hf_db_alive(conn->db)) {
        (void)hf_db_rollback(conn->db, NULL);
    }
    work->begun = false;
    work->failure = failure;
    conn->status = status;
    conn->err = err;
}

/* Sleeps for a random time below 1 ms at 0 times, 2 ms at 1 and so on up to times_max. */
static void database_rest(unsigned times, unsigned times_max)
{
    unsigned most_us = 1000U << (times < times_max ? times : times_max), part = 0;
    if (!hf_seam.random(&part, sizeof part))
        part = (unsigned)hf_seam.boot_us();
    nanosleep(&(struct timespec){0, (long)(part % most_us) * 1000}, NULL);
}

/* Longer with every try. */
void database_pause(unsigned times)
{
    enum { TIMES_MAX = 4 };
    nanosleep(&(struct timespec){0, 500000}, NULL);
    database_rest(times, TIMES_MAX);
}

/* ---- one transaction ---- */

static hf_status database_attempt(database_work *work, hf_error *err)
{
    sql_conn *conn = work->conn;
    hf_rows *rows = &conn->rows;
    bool loaded = database_load(work, err);
    if (loaded && work->lookup == LOOKUP_MISSED && conn->status == HF_OK) {
        database_undo(work);
        work->lookup = LOOKUP_FULL;
        loaded = database_load(work, err);
    }
    if (!loaded)
        return hf_fail_memory(err);
    if (conn->status == HF_OK && database_locks(work))
        database_defer(work);
    if (conn->status == HF_OK && !hf_rows_apply(rows, &work->part, work->now_us))
        sql_out_of_memory(conn);
    for (size_t i = 0; work->nested && i < work->part.count; i++)
        work->part.ops[i].answer.pending = true;
    if (database_locks(work))
        database_save(work);
    if (conn->status != HF_OK)
        database_undo(work);
    work->batch->arena = work->part.arena;
    return conn->status;
}

/* ---- the parts of a batch ---- */

static void database_forget_inserting(database_work *work)
{
    hf_free(work->inserting);
    work->inserting = NULL;
}

static void database_part_done(database_work *work)
{
    if (work->scope != TRY_ALL)
        hf_free(work->part.ops);
    hf_free(work->index);
    hf_free(work->pending);
    database_forget_inserting(work);
}

/* Leaves TRY_ALL: room for copies of ops. False: out of memory. */
static bool database_part_init(database_work *work)
{
    size_t count = work->batch->count;
    if (work->scope != TRY_ALL)
        return true;
    hf_op *ops = hf_alloc(count * sizeof *ops);
    size_t *index = hf_alloc(count * sizeof *index);
    bool *pending = hf_alloc(count * sizeof *pending);
    if (ops == NULL || index == NULL || pending == NULL) {
        hf_free(ops);
        hf_free(index);
        hf_free(pending);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        pending[i] = true;
    work->part.ops = ops;
    work->part.capacity = count;
    work->index = index;
    work->pending = pending;
    work->scope = TRY_PENDING;
    return true;
}

/* TRY_RUNS: each run that is not settled is tried once in a round. */
static void database_next_turn(database_work *work)
{
    if (work->turns > 1) {
        work->turns--;
        return;
    }
    work->turns = 0;
    for (size_t i = 0; i < work->batch->count; i = database_run_end(work->batch, i) + 1)
        work->turns += work->pending[i];
}

/* The next part: what is not settled, in order, up to STEP_OPS ops; with TRY_RUNS `chunk` runs. */
static void database_gather(database_work *work)
{
    hf_batch *batch = work->batch, *part = &work->part;
    bool by_run = work->scope == TRY_RUNS;
    size_t count = batch->count, at = by_run ? work->next : 0, looked = 0, runs = 0;
    part->count = 0;
    part->arena = batch->arena;
    if (by_run)
        database_next_turn(work);
    while (looked < count) {
        size_t end = database_run_end(batch, at);
        bool full = (by_run && runs >= work->chunk) || part->count + (end + 1 - at) > STEP_OPS;
        if (part->count > 0 && (full || at == 0))
            break;
        runs += work->pending[at];
        for (size_t i = at; work->pending[at] && i <= end; i++) {
            work->index[part->count] = i;
            part->ops[part->count++] = batch->ops[i];
        }
        looked += end + 1 - at;
        at = end + 1 == count ? 0 : end + 1;
    }
    work->next = at;
}

/* A run is settled unless one of its ops was deferred and there is time to try it again. Returns
 * how many are not settled. */
static size_t database_settle(database_work *work)
{
    size_t left = 0;
    hf_batch *part = &work->part;
    bool late = hf_seam.boot_us() >= work->until_us;
    database_forget_inserting(work);
    if (work->scope == TRY_UNBLOCKED)
        work->scope = TRY_PENDING;
    for (size_t at = 0, end; at < part->count; at = end + 1) {
        bool held = false;
        end = database_run_end(part, at);
        for (size_t i = at; i <= end; i++)
            held |= part->ops[i].answer.status == HF_BUSY;
        held &= !late;
        left += held;
        for (size_t i = at; work->scope != TRY_ALL && i <= end; i++) {
            work->batch->ops[work->index[i]].answer = part->ops[i].answer;
            work->pending[work->index[i]] = held;
        }
    }
    return left;
}

static bool database_any_pending(const database_work *work)
{
    for (size_t i = 0; i < work->batch->count; i++)
        if (work->pending[i])
            return true;
    return false;
}

static bool database_all_pending(const database_work *work)
{
    for (size_t i = 0; i < work->batch->count; i++)
        if (!work->pending[i])
            return false;
    return true;
}

/* Answers the ops that are not settled: part of the batch is committed, or done in the
 * application's transaction, so the batch as a whole has not failed. */
static void database_answer_rest(database_work *work, hf_status status, const hf_error *err)
{
    for (size_t i = 0; i < work->batch->count; i++) {
        hf_op *op = &work->batch->ops[i];
        if (!work->pending[i])
            continue;
        if (status == HF_BUSY) {
            if (op->answer.status != HF_BUSY && op->answer.status != HF_NOT_APPLIED)
                database_refuse_busy(op, &work->batch->arena);
            continue;
        }
        const char *message =
            err == NULL ? NULL : hf_arena_text(&work->batch->arena, hf_slice_of(err->message));
        op->answer = (hf_answer){
            .status = status,
            .message = message != NULL ? message : "The store failed before it came to this."};
    }
}

/* TRY_RUNS: of many runs a sixteenth at a time, and when that fails too, a sixteenth of those; so
 * that the others are done soon. */
static bool database_split(database_work *work)
{
    size_t first = work->scope != TRY_ALL ? work->index[0] : 0, runs = 0;
    for (size_t i = 0; i < work->part.count; i = database_run_end(&work->part, i) + 1)
        runs++;
    work->chunk = runs > 128 ? runs / 16 : 1;
    work->next = first;
    if (!database_part_init(work))
        return false;
    work->scope = TRY_RUNS;
    return true;
}

/* TRY_UNBLOCKED, if it can be found out which runs are blocked. Once until something is settled. */
static bool database_leave_out(database_work *work)
{
    bool all = work->scope == TRY_ALL;
    size_t size = work->batch->count * sizeof *work->inserting;
    if (work->scope == TRY_UNBLOCKED || work->scope == TRY_RUNS || !database_find_inserting(work))
        return false;
    work->inserting = hf_alloc(size);
    if (work->inserting == NULL || !database_part_init(work)) {
        database_forget_inserting(work);
        return false;
    }
    work->scope = TRY_UNBLOCKED;
    memset(work->inserting, 0, size);
    for (size_t i = 0; i < work->part.count; i++) {
        const hf_resource_row *resource = work->conn->rows.of_op[i].resource;
        work->inserting[all ? i : work->index[i]] = resource != NULL && resource->busy;
    }
    return true;
}

static bool database_may_run_again(const database_work *work, hf_status status)
{
    if ((status != HF_RETRY && status != HF_BUSY) || work->stale)
        return false;
    if (work->failure == HF_FAILURE_BUSY || work->failure == HF_FAILURE_DUPLICATE)
        return true;
    return work->failure == HF_FAILURE_CONFLICT && !work->nested;
}

/* Another transaction is in the way. Where the application's transaction keeps locked what it has
 * read, the others can't get done while it waits: it ends at once, and the application rolls back.
 * */
static void database_lose_patience(database_work *work)
{
    bool (*reads_lock)(database_work *, bool *) = work->store->kind->reads_lock;
    bool known = false;
    if (!work->nested || work->waiting != WAITING_UNKNOWN || reads_lock == NULL ||
        !hf_db_alive(work->conn->db))
        return;
    if (reads_lock(work, &known)) {
        work->waiting = WAITING_IS_VAIN;
        work->until_us = hf_seam.boot_us();
    } else if (known)
        work->waiting = WAITING_HELPS;
}

/* Applications whose transactions failed because of each other, and which run them again at
 * once, collide again: at SERIALIZABLE on MySQL all that have read block all that write. So each
 * waits for a random time before it reads anything, longer every time. */
static void database_keep_apart(const database_work *work)
{
    enum { TIMES_MAX = 7 };
    if (work->nested && work->conn->crowded > 0)
        database_rest(work->conn->crowded, TIMES_MAX);
}

hf_status database_recover(database_work *work, hf_status status, unsigned *lost, hf_error *err)
{
    database_forget_inserting(work);
    if (status == HF_UNSURE || status == HF_NO_MEMORY)
        return status;
    if (work->failure == HF_FAILURE_BUSY)
        database_lose_patience(work);
    bool late = hf_seam.boot_us() >= work->until_us, alive = hf_db_alive(work->conn->db);
    if (!alive) {
        if (work->store->own != NULL || late || ++*lost > LOST_TRIES)
            /* a database that did not answer for so long is not asked again */
            return status;
        /* a lock wait that took too long ended the connection: no new time limit */
        bool busy = work->failure == HF_FAILURE_BUSY;
        database_leave(work);
        if (!busy)
            work->until_us = hf_seam.boot_us() + work->store->patience_us;
        hf_status entered = database_enter(work, err);
        if (entered != HF_OK || !busy)
            return entered;
    }
    if (!database_may_run_again(work, status))
        return status;
    if (work->batch->grouped && work->failure != HF_FAILURE_CONFLICT)
        return status; /* nothing was done; group commit runs each caller's ops alone */
    if (late && work->nested && work->failure != HF_FAILURE_BUSY)
        return status;
    bool several = work->failure != HF_FAILURE_CONFLICT &&
                   database_run_end(&work->part, 0) + 1 < work->part.count;
    if (several && alive && database_leave_out(work))
        return HF_OK;
    if (late)
        return hf_fail(err, HF_BUSY, SENTENCE_BUSY);
    if (several)
        return database_split(work) ? HF_OK : hf_fail_memory(err);
    return HF_OK;
}

/* Tries until all is settled or the time is over. HF_BUSY: it is over. */
static hf_status database_try_all(database_work *work, hf_error *err)
{
    unsigned lost = 0;
    for (unsigned times = 0;; times++) {
        if (work->scope != TRY_ALL)
            database_gather(work);
        hf_status status = database_attempt(work, err);
        if (status == HF_OK) {
            size_t left = database_settle(work);
            if (work->batch->grouped) { /* what is left is busy; its caller tries it alone */
                assert(work->scope == TRY_ALL);
                return HF_OK;
            }
            if (left > 0)
                database_lose_patience(work);
            if (left > 0 && work->scope == TRY_ALL) {
                if (!database_part_init(work))
                    return HF_OK; /* they stay busy */
                for (size_t i = 0, end; i < work->batch->count; i = end + 1) {
                    bool held = false;
                    end = database_run_end(work->batch, i);
                    for (size_t j = i; j <= end; j++)
                        held |= work->batch->ops[j].answer.status == HF_BUSY;
                    for (size_t j = i; j <= end; j++)
                        work->pending[j] = held;
                }
            }
            if (work->scope == TRY_ALL || !database_any_pending(work))
                return HF_OK;
            if (work->scope == TRY_RUNS && left == 0 && work->chunk < STEP_OPS)
                work->chunk *= 2;
            if (left == 0 && (work->scope != TRY_RUNS || hf_seam.boot_us() < work->until_us))
                continue;
        } else {
            status = database_recover(work, status, &lost, err);
            if (status != HF_OK)
                return status;
            if (work->inserting != NULL) /* the others are tried, however late */
                continue;
        }
        if (hf_seam.boot_us() >= work->until_us)
            return HF_BUSY;
        if (work->turns < 2) /* the next run may not be blocked */
            database_pause(times);
    }
}

/* The database rolled the application's transaction back, or the connection is lost: what was
 * answered before is undone too. */
static bool database_all_is_gone(const database_work *work)
{
    return work->nested &&
           (!hf_db_alive(work->conn->db) || hf_db_transaction_failed(work->conn->db));
}

static hf_status database_execute_ops(database_work *work, hf_error *err)
{
    work->part = *work->batch;
    if (work->batch->count > STEP_OPS && !work->reads && !database_part_init(work))
        return hf_fail_memory(err);
    hf_status status = database_try_all(work, err);
    if (status != HF_OK && work->scope != TRY_ALL &&
        (status == HF_BUSY || !database_all_pending(work)) && !database_all_is_gone(work)) {
        database_answer_rest(work, status, err);
        status = HF_OK;
    }
    database_part_done(work);
    return status;
}

hf_status database_execute_one(hf_store *base, hf_batch *batch, hf_error *err)
{
    database_work work = {.store = (database_store *)base, .batch = batch, .reads = true};
    for (size_t i = 0; i < batch->count; i++)
        work.reads &= hf_op_reads(batch->ops[i].kind);
    work.until_us =
        (batch->since_us != 0 ? batch->since_us : hf_seam.boot_us()) + work.store->patience_us;
    if (batch->tried && hf_seam.boot_us() >= work.until_us)
        return hf_fail(err, HF_BUSY, SENTENCE_BUSY);
    hf_status status = database_enter(&work, err);
    if (status != HF_OK)
        return status;
    database_keep_apart(&work);
    if (hf_op_alone(batch->ops[0].kind))
        status = database_alone(&work, err);
    else
        status = database_execute_ops(&work, err);
    bool in_vain = work.waiting == WAITING_IS_VAIN || (work.nested && status == HF_RETRY);
    if (work.conn != NULL)
        work.conn->crowded = in_vain ? work.conn->crowded + 1 : 0;
    if (work.conn != NULL)
        database_leave(&work);
    if (batch->grouped && status == HF_UNAVAILABLE && work.failure == HF_FAILURE_LIMIT)
        return HF_RETRY;                /* fewer at once may fit */
    if (status == HF_OK && err != NULL) /* what was tried in vain before is over */
        *err = (hf_error){.status = HF_OK};
    return status;
}

hf_status database_execute(hf_store *base, hf_batch *batch, hf_error *err)
{
    hf_group_commit *group_commit = ((database_store *)base)->group_commit;
    return group_commit != NULL ? hf_group_commit_execute(group_commit, base, batch, err)
                                : database_execute_one(base, batch, err);
}
