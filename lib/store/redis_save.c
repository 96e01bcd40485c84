/* SPDX-License-Identifier: MIT */
/* The store on Redis: saving what changed. The rows that were read, the events and the commands
 * that write rows and indexes are the arguments of one script, which compares, then writes it all.
 */
#include "base/error.h"
#include "sql/redis_store_commit.h"
#include "store/redis.h"

#include <stdio.h>
#include <string.h>

enum {
    COMMAND_WORDS = 4000, /* of one command; Lua has room for 7,999 */
    WAIT_MS = 1000        /* for replicas */
};

/* ---- commands ---- */

void redis_command(redis_work *work, const char *name, const char *kind, hf_slice rest)
{
    hf_redis_words *to = &work->conn->command;
    hf_redis_words_clear(to);
    hf_redis_word(to, hf_slice_of(name));
    if (kind != NULL)
        redis_key_word(work, to, kind, rest);
}

static void redis_save_give(redis_work *work, const hf_redis_words *command)
{
    hf_redis_number(&work->conn->commands, (int64_t)command->count);
    hf_redis_append(&work->conn->commands, command);
}

void redis_command_end(redis_work *work)
{
    redis_save_give(work, &work->conn->command);
}

/* Commands that are written once for all rows. */
static const struct {
    const char *name, *key;
} redis_save_indexes[REDIS_INDEXES] = {
    [REDIS_SET] = {"MSET", NULL},
    [REDIS_DEL] = {"DEL", NULL},
    [REDIS_SESSIONS_ADD] = {"ZADD", "sessions"},
    [REDIS_SESSIONS_REM] = {"ZREM", "sessions"},
    [REDIS_EXPIRY_ADD] = {"ZADD", "expiry"},
    [REDIS_EXPIRY_REM] = {"ZREM", "expiry"},
    [REDIS_ENDED_ADD] = {"ZADD", "ended"},
    [REDIS_ENDED_REM] = {"ZREM", "ended"},
    [REDIS_LOCKS_ADD] = {"ZADD", "locks"},
    [REDIS_LOCKS_REM] = {"ZREM", "locks"},
    [REDIS_BOUNDS_ADD] = {"ZADD", "bounds"},
    [REDIS_BOUNDS_REM] = {"ZREM", "bounds"},
    [REDIS_KEPT_ADD] = {"ZADD", "kept"},
    [REDIS_KEPT_REM] = {"ZREM", "kept"},
    [REDIS_ASKED_ADD] = {"SADD", "asked"},
    [REDIS_ASKED_REM] = {"SREM", "asked"},
    [REDIS_COVERED_ADD] = {"ZADD", "covered"},
};

/* To where the words of the next row are added. One that is long enough is begun again. */
static hf_redis_words *redis_save_to(redis_work *work, redis_index index)
{
    hf_redis_words *to = &work->conn->indexes[index];
    if (to->count >= COMMAND_WORDS) {
        redis_save_give(work, to);
        hf_redis_words_clear(to);
    }
    if (to->count == 0) {
        hf_redis_word(to, hf_slice_of(redis_save_indexes[index].name));
        if (redis_save_indexes[index].key != NULL)
            redis_key_word(work, to, redis_save_indexes[index].key, HF_NOTHING);
    }
    return to;
}

static void redis_save_member(hf_redis_words *to, const hf_resource_row *row, hf_slice more)
{
    hf_slice parts[] = {row->type, {"\1", 1}, row->id, {"\1", more.size > 0}, more};
    hf_redis_joined(to, parts, 5);
}

static void redis_save_resource_key(const redis_work *work, hf_redis_words *to, const char *kind,
                                    const hf_resource_row *row)
{
    hf_slice parts[] = {
        hf_slice_of(work->store->prefix), hf_slice_of(kind), row->type, {"/", 1}, row->id};
    hf_redis_joined(to, parts, 5);
}

static void redis_save_text(redis_work *work, hf_redis_words *to)
{
    to->bytes.failed |= work->conn->text.failed;
    hf_redis_word(to, (hf_slice){work->conn->text.text, work->conn->text.size});
}

static hf_slice redis_save_id(const hf_session_row *row)
{
    return (hf_slice){row->id, HF_SESSION_ID_MAX};
}

static void redis_save_in(redis_work *work, redis_index index, int64_t score,
                          const hf_session_row *row)
{
    hf_redis_words *to = redis_save_to(work, index);
    hf_redis_number(to, score);
    hf_redis_word(to, redis_save_id(row));
}

static void redis_save_out(redis_work *work, redis_index index, const hf_session_row *row)
{
    hf_redis_word(redis_save_to(work, index), redis_save_id(row));
}

/* ---- sessions ---- */

static void redis_save_session(redis_work *work, const hf_session_row *row)
{
    hf_redis_words *to = redis_save_to(work, REDIS_SET);
    work->conn->text.size = 0;
    redis_text_write(REDIS_TEXT_SESSION, row, &work->conn->text);
    redis_key_word(work, to, "s:", redis_save_id(row));
    redis_save_text(work, to);
    if (row->ends_changed) {
        redis_key_word(work, to, "e:", redis_save_id(row));
        hf_redis_word(to, row->ends.text);
    }
    if (!row->stored && row->request.size > 0) {
        redis_key_word(work, to, "o:", row->request);
        hf_redis_word(to, redis_save_id(row));
    }
}

static void redis_save_drop_session(redis_work *work, const hf_session_row *row)
{
    static const char *const kinds[] = {"s:", "e:", "l:", "h:", "q:"};
    hf_redis_words *to = redis_save_to(work, REDIS_DEL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        redis_key_word(work, to, kinds[i], redis_save_id(row));
    if (row->request.size > 0)
        redis_key_word(work, to, "o:", row->request);
    redis_save_out(work, REDIS_ENDED_REM, row);
}

/* The indexes of sessions that have not ended. */
static void redis_save_live_session(redis_work *work, const hf_session_row *row)
{
    const redis_was *was = row->origin;
    bool enters = was == NULL, leaves = !row->present || row->ended_us != 0;
    if (enters && leaves)
        return;
    if (leaves) {
        redis_save_out(work, REDIS_SESSIONS_REM, row);
        redis_save_out(work, REDIS_EXPIRY_REM, row);
    } else if (enters) {
        redis_save_in(work, REDIS_SESSIONS_ADD, 0, row);
    }
    if (enters || leaves) {
        redis_command(work, enters ? "SADD" : "SREM", "u:", row->user);
        hf_redis_word(&work->conn->command, redis_save_id(row));
        redis_command_end(work);
    }
    if (!leaves && !enters && was->expires_us == row->expires_us)
        return;
    if (!leaves)
        redis_save_in(work, REDIS_EXPIRY_ADD, row->expires_us, row);
    if (row->caller.size == 0)
        return;
    redis_command(work, leaves ? "ZREM" : "ZADD", "c:", row->caller);
    if (!leaves)
        hf_redis_number(&work->conn->command, row->expires_us);
    hf_redis_word(&work->conn->command, redis_save_id(row));
    redis_command_end(work);
}

/* What a session holds, by the bound of each. */
static void redis_save_holds(redis_work *work, const hf_session_row *row, bool adds)
{
    hf_redis_words *to = &work->conn->command;
    to->count = 0;
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->session_next) {
        if (!lock->changed || lock->present != adds || (!adds && !lock->stored))
            continue;
        if (to->count >= COMMAND_WORDS)
            redis_command_end(work);
        if (to->count == 0 || to->count >= COMMAND_WORDS)
            redis_command(work, adds ? "ZADD" : "ZREM", "h:", redis_save_id(row));
        if (adds && lock->ends_us == 0)
            hf_redis_word(to, hf_slice_of("+inf"));
        else if (adds)
            hf_redis_number(to, lock->ends_us);
        redis_save_member(to, lock->resource, HF_NOTHING);
    }
    if (to->count > 0)
        redis_command_end(work);
}

static void redis_save_losses(redis_work *work, const hf_session_row *row)
{
    hf_redis_words *to = &work->conn->command;
    for (const hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next) {
        if (!lost->changed || (!lost->present && !lost->stored))
            continue;
        redis_command(work, lost->present ? "HSET" : "HDEL", "l:", redis_save_id(row));
        hf_redis_joined(to, (hf_slice[]){lost->type, {"\1", 1}, lost->id}, 3);
        work->conn->text.size = 0;
        redis_text_write(REDIS_TEXT_LOST, lost, &work->conn->text);
        if (lost->present)
            redis_save_text(work, to);
        redis_command_end(work);
    }
}

static void redis_save_one_session(redis_work *work, const hf_session_row *row)
{
    if (row->changed && row->present)
        redis_save_session(work, row);
    if (row->changed && !row->present && row->stored)
        redis_save_drop_session(work, row);
    if (row->changed)
        redis_save_live_session(work, row);
    if (row->changed && row->present && row->ended_us != 0)
        redis_save_in(work, REDIS_ENDED_ADD, row->ended_us, row);
    redis_save_holds(work, row, true);
    redis_save_holds(work, row, false);
    redis_save_losses(work, row);
}

/* ---- resources ---- */

static bool redis_save_changes(const hf_resource_row *row)
{
    bool changed = row->changed;
    for (const hf_lock_row *lock = row->locks; lock != NULL && !changed; lock = lock->next)
        changed = lock->changed;
    for (const hf_request_row *it = row->requests; it != NULL && !changed; it = it->next)
        changed = it->changed;
    return changed && (row->present || row->stored);
}

/* Every change of a row moves its rev. */
static void redis_save_move(hf_resource_row *row, int64_t now_us)
{
    const redis_was *was = row->origin;
    if (was != NULL && row->rev <= was->rev)
        row->rev = was->rev + 1;
    if (was == NULL && row->rev <= 0)
        row->rev = row->fence > 0 ? row->fence : now_us;
}

static void redis_save_resource(redis_work *work, hf_resource_row *row)
{
    hf_redis_words *to = redis_save_to(work, row->present ? REDIS_SET : REDIS_DEL);
    redis_save_resource_key(work, to, "r:", row);
    if (row->present) {
        work->conn->text.size = 0;
        redis_save_move(row, work->now_us);
        redis_write_resource(&work->conn->text, row);
        redis_save_text(work, to);
    } else if (row->version != 0) {
        redis_save_resource_key(work, to, "p:", row);
    }
}

static void redis_save_lock(redis_work *work, const hf_lock_row *lock)
{
    hf_slice session = redis_save_id(lock->session);
    bool goes = !lock->present && lock->stored;
    if (!lock->changed || (!lock->present && !lock->stored))
        return;
    if (goes) {
        redis_save_member(redis_save_to(work, REDIS_LOCKS_REM), lock->resource, session);
    } else if (!lock->stored) {
        hf_redis_words *to = redis_save_to(work, REDIS_LOCKS_ADD);
        hf_redis_number(to, 0);
        redis_save_member(to, lock->resource, session);
    }
    if (!goes && lock->ends_us != 0) {
        hf_redis_words *to = redis_save_to(work, REDIS_BOUNDS_ADD);
        hf_redis_number(to, lock->ends_us);
        redis_save_member(to, lock->resource, session);
    } else if (lock->stored) {
        redis_save_member(redis_save_to(work, REDIS_BOUNDS_REM), lock->resource, session);
    }
}

/* What was saved or asked for is in an index. */
static void redis_save_marks(redis_work *work, const hf_resource_row *row)
{
    const redis_was none = {0}, *was = row->origin == NULL ? &none : row->origin;
    bool kept = row->present && redis_is_kept(row), asked = false;
    for (const hf_request_row *it = row->requests; it != NULL; it = it->next) {
        asked |= it->present && row->present;
        if (!it->changed || it->present == it->stored || !it->session->present)
            continue;
        redis_command(work, it->present ? "SADD" : "SREM", "q:", redis_save_id(it->session));
        redis_save_member(&work->conn->command, row, HF_NOTHING);
        redis_command_end(work);
    }
    if (kept != was->kept) {
        hf_redis_words *to = redis_save_to(work, kept ? REDIS_KEPT_ADD : REDIS_KEPT_REM);
        if (kept)
            hf_redis_number(to, 0);
        redis_save_member(to, row, HF_NOTHING);
    }
    if (asked != was->asked)
        redis_save_member(redis_save_to(work, asked ? REDIS_ASKED_ADD : REDIS_ASKED_REM), row,
                          HF_NOTHING);
}

static void redis_save_past(redis_work *work, const hf_resource_row *row, const hf_save_row *past)
{
    if (!past->changed || !past->present)
        return;
    work->conn->text.size = 0;
    redis_text_write(REDIS_TEXT_PAST, past, &work->conn->text);
    redis_command(work, "HSET", NULL, HF_NOTHING);
    redis_save_resource_key(work, &work->conn->command, "p:", row);
    hf_redis_word(&work->conn->command, past->request);
    redis_save_text(work, &work->conn->command);
    redis_command_end(work);
    hf_redis_words *to = redis_save_to(work, REDIS_COVERED_ADD);
    hf_redis_number(to, past->covered_us);
    redis_save_member(to, row, past->request);
}

static void redis_save_one_resource(redis_work *work, hf_resource_row *row)
{
    if (!redis_save_changes(row))
        return;
    redis_save_resource(work, row);
    redis_save_marks(work, row);
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
        redis_save_lock(work, lock);
    for (const hf_save_row *past = row->past; past != NULL; past = past->next)
        redis_save_past(work, row, past);
}

void redis_save_rows(redis_work *work)
{
    for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
        redis_save_one_resource(work, row);
    for (hf_session_row *row = work->rows->sessions; row != NULL; row = row->next)
        redis_save_one_session(work, row);
    for (int i = 0; i < REDIS_INDEXES; i++) {
        if (work->conn->indexes[i].count > 0)
            redis_save_give(work, &work->conn->indexes[i]);
        hf_redis_words_clear(&work->conn->indexes[i]);
    }
}

/* ---- the script ---- */

static void redis_save_bound(int64_t *least, int64_t bound_us, int64_t now_us)
{
    if (bound_us > now_us && (*least == 0 || bound_us < *least))
        *least = bound_us;
}

int64_t redis_deadline(const redis_work *work)
{
    int64_t least = 0;
    if (work->store->base.clock_frozen)
        return 0;
    for (const hf_session_row *row = work->rows->sessions; row != NULL; row = row->next)
        if (row->stored && row->ended_us == 0)
            redis_save_bound(&least, row->expires_us, work->now_us);
    for (const hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
        for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next)
            if (lock->stored && lock->ends_us != 0)
                redis_save_bound(&least, lock->ends_us, work->now_us);
    return least == 0 ? 0 : least - work->store->base.clock_us;
}

void redis_save_begin(redis_work *work)
{
    hf_redis_words_clear(&work->conn->commands);
}

/* The lowest fence that a row can have got which was not there: the next after the floor that was
 * read, or the time. */
static int64_t redis_save_lowest(const redis_work *work)
{
    bool any = false;
    for (const hf_resource_row *row = work->rows->resources; row != NULL && !any; row = row->next)
        any = row->changed && !row->stored;
    if (!any)
        return 0;
    return work->floor > work->now_us - 1 ? work->floor + 1 : work->now_us;
}

static void redis_save_head(redis_work *work, bool grows)
{
    hf_redis_words *head = &work->conn->head;
    size_t count = 0;
    for (const redis_row *read = work->reads; read != NULL; read = read->next)
        count += !read->not_compared;
    hf_redis_words_clear(head);
    hf_redis_word(head, hf_slice_of("0")); /* keys; they are among the arguments */
    hf_redis_word(head, hf_slice_of(work->store->prefix));
    hf_redis_word(head, hf_slice_of(work->store->self));
    hf_redis_number(head, work->deadline_us);
    hf_redis_number(head, grows);
    hf_redis_number(head, work->rows->floor_raised ? work->rows->fence_floor : 0);
    hf_redis_number(head, redis_save_lowest(work));
    hf_redis_number(head, (int64_t)count);
    for (const redis_row *read = work->reads; read != NULL; read = read->next) {
        if (read->not_compared)
            continue;
        hf_redis_word(head, read->key);
        hf_redis_word(head, read->value);
    }
    hf_redis_number(head, (int64_t)work->rows->events_count);
    for (size_t i = 0; i < work->rows->events_count; i++) {
        work->conn->text.size = 0;
        redis_write_event(&work->conn->text, &work->rows->events[i], work->now_us);
        redis_save_text(work, head);
    }
}

/* WAIT covers what its own connection has written, and all that was written before that. */
static void redis_save_queue_wait(redis_work *work)
{
    char replicas[12], wait[12];
    snprintf(replicas, sizeof replicas, "%u", work->store->url.replicas);
    snprintf(wait, sizeof wait, "%d", WAIT_MS);
    hf_redis_queue(work->conn->redis, "WAIT", replicas, wait, NULL);
}

/* The answer to WAIT: `failure` when too few replicas have acknowledged. */
static hf_status redis_save_read_wait(redis_work *work, hf_status failure, hf_error *err)
{
    hf_redis_reply reply;
    hf_status status = hf_redis_read(work->conn->redis, &reply, err);
    if (status != HF_OK ||
        (reply.kind == HF_REDIS_NUMBER && reply.number >= work->store->url.replicas))
        return status;
    return hf_fail(err, failure, "%lld of %u replicas have acknowledged in time; ask again.",
                   reply.kind == HF_REDIS_NUMBER ? (long long)reply.number : 0,
                   work->store->url.replicas);
}

/* Sends the script by its name, or in full. */
static bool redis_save_send(redis_work *work, bool in_full)
{
    hf_redis_words *command = &work->conn->command;
    hf_redis_words_clear(command);
    hf_redis_word(command, hf_slice_of(in_full ? "EVAL" : "EVALSHA"));
    hf_redis_word(command, hf_slice_of(in_full ? redis_store_commit : work->conn->script));
    hf_redis_append(command, &work->conn->head);
    hf_redis_append(command, &work->conn->commands);
    hf_redis_queue_words(work->conn->redis, command);
    if (work->store->url.replicas > 0)
        redis_save_queue_wait(work);
    work->sent = true;
    return redis_flush(work);
}

/* The answer to the script, and to WAIT. */
static void redis_save_answer(redis_work *work, bool *unknown)
{
    hf_redis_reply reply, part;
    *unknown = false;
    work->status = hf_redis_read(work->conn->redis, &reply, work->err);
    if (work->status != HF_OK)
        return;
    if (reply.kind == HF_REDIS_ERROR) {
        work->sent = false; /* nothing was written */
        *unknown = reply.text.size >= 8 && memcmp(reply.text.at, "NOSCRIPT", 8) == 0;
        if (!*unknown)
            redis_fail_reply(work, reply.text);
    } else if (reply.kind == HF_REDIS_LIST) {
        work->sent = false;
        work->conflict = true;
        hf_redis_at(&reply, 2, &part);
        work->hidden = part.number != 0;
        redis_conflict_keep(work, &reply);
    }
    if (work->store->url.replicas == 0)
        return;
    hf_status status = redis_save_read_wait(work, HF_UNSURE, work->sent ? work->err : NULL);
    if (work->sent)
        work->status = status;
}

void redis_save_commit(redis_work *work, bool grows)
{
    bool unknown = false;
    work->conflict = work->hidden = false;
    if (work->status != HF_OK)
        return;
    if (work->reads != NULL && work->reads->kind == REDIS_SCHEMA_ROW &&
        work->reads->value.size == 0) { /* durability=relaxed, and all was forgotten */
        redis_command(work, "SET", "schema", HF_NOTHING);
        hf_redis_word(&work->conn->command, hf_slice_of(REDIS_SCHEMA));
        redis_command_end(work);
    }
    redis_save_head(work, grows);
    if (!redis_save_send(work, false))
        return;
    redis_save_answer(work, &unknown);
    if (unknown && redis_save_send(work, true))
        redis_save_answer(work, &unknown);
    redis_all_taken(work);
}

static bool redis_save_needed(const hf_rows *rows)
{
    bool needed = rows->events_count > 0 || rows->floor_raised;
    for (const hf_session_row *row = rows->sessions; row != NULL && !needed; row = row->next) {
        needed = row->changed;
        for (const hf_lost_row *lost = row->lost; lost != NULL && !needed; lost = lost->next)
            needed = lost->changed;
    }
    for (const hf_resource_row *row = rows->resources; row != NULL && !needed; row = row->next)
        needed = redis_save_changes(row);
    return needed;
}

void redis_save(redis_work *work)
{
    bool grows = false;
    work->conflict = false;
    if (work->status != HF_OK || !redis_save_needed(work->rows))
        return;
    for (size_t i = 0; i < work->batch->count; i++)
        grows |=
            hf_op_grows(work->batch->ops[i].kind) && work->batch->ops[i].answer.status == HF_OK;
    redis_save_begin(work);
    redis_save_rows(work);
    redis_save_commit(work, grows);
}

/* ---- what was written before ---- */

/* Whether the caller may rely on an answer: a change that is done, or was done by an earlier try, a
 * lock that is held, a version that was read. A refusal promises nothing; who and lists only look.
 */
static bool redis_save_is_relied_on(const hf_op *op)
{
    return op->answer.status == HF_OK && op->kind != HF_OP_SWEEP &&
           (!hf_op_reads(op->kind) || op->kind == HF_OP_HOLDS || op->kind == HF_OP_VERSION);
}

hf_status redis_save_confirm(redis_work *work)
{
    bool relied_on = false, changes = false;
    char channel[sizeof work->store->prefix + 16];
    hf_redis_reply published;
    for (size_t i = 0; i < work->batch->count; i++) {
        const hf_op *op = &work->batch->ops[i];
        relied_on |= redis_save_is_relied_on(op);
        changes |= !hf_op_reads(op->kind);
    }
    if (work->store->url.replicas == 0 || work->sent || !relied_on)
        return HF_OK;
    hf_status failure = changes ? HF_UNSURE : HF_UNAVAILABLE;
    snprintf(channel, sizeof channel, "%sreplicas", work->store->prefix);
    hf_redis_queue(work->conn->redis, "PUBLISH", channel, "", NULL);
    redis_save_queue_wait(work);
    if (redis_flush(work) && redis_reply(work, &published))
        work->status = redis_save_read_wait(work, failure, work->err);
    redis_all_taken(work);
    if (work->status != HF_OK && work->status != failure)
        work->status =
            hf_fail(work->err, failure, "%s did not tell whether replicas have it; ask again.",
                    hf_redis_path(work->conn->redis));
    return work->status;
}
