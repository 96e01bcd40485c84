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

/* Adds the name and the key to an empty command. */
void redis_command(redis_work *work, const char *name, const char *kind, hf_slice rest)
{
    hf_redis_words *to = &work->conn->command;
    hf_redis_words_clear(to);
    hf_redis_word(to, hf_slice_of(name));
    if (kind != NULL)
        redis_key_word(work, to, kind, rest);
    work->command_least = to->count;
}

/* Gives it to the script, unless it has only a name and a key. */
void redis_command_end(redis_work *work)
{
    hf_redis_words *to = &work->conn->command;
    if (to->count == work->command_least)
        return;
    hf_redis_number(&work->conn->commands, (int64_t)to->count);
    hf_redis_append(&work->conn->commands, to);
}

/* Before more words are added: a command that is long enough is ended, and begun again. */
static void redis_save_split(redis_work *work, const char *name, const char *kind, hf_slice rest)
{
    if (work->conn->command.count < COMMAND_WORDS)
        return;
    redis_command_end(work);
    redis_command(work, name, kind, rest);
}

static void redis_save_member(redis_work *work, const hf_resource_row *row, hf_slice more)
{
    hf_slice parts[] = {row->type, {"\1", 1}, row->id, {"\1", more.size > 0}, more};
    hf_redis_joined(&work->conn->command, parts, 5);
}

static hf_slice redis_save_text(redis_work *work)
{
    work->conn->command.bytes.failed |= work->conn->text.failed;
    return (hf_slice){work->conn->text.text, work->conn->text.size};
}

static void redis_save_key(redis_work *work, const char *kind, hf_slice rest)
{
    redis_key_word(work, &work->conn->command, kind, rest);
}

static void redis_save_resource_key(redis_work *work, const char *kind, const hf_resource_row *row)
{
    hf_slice parts[] = {
        hf_slice_of(work->store->prefix), hf_slice_of(kind), row->type, {"/", 1}, row->id};
    hf_redis_joined(&work->conn->command, parts, 5);
}

static hf_slice redis_save_id(const hf_session_row *row)
{
    return (hf_slice){row->id, HF_SESSION_ID_MAX};
}

/* ---- which rows ---- */

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

/* ---- strings ---- */

static void redis_save_sets(redis_work *work)
{
    hf_buffer *text = &work->conn->text;
    redis_command(work, "MSET", NULL, HF_NOTHING);
    for (hf_session_row *row = work->rows->sessions; row != NULL; row = row->next) {
        if (!row->changed || !row->present)
            continue;
        text->size = 0;
        redis_write_session(text, row);
        redis_save_split(work, "MSET", NULL, HF_NOTHING);
        redis_save_key(work, "s:", redis_save_id(row));
        hf_redis_word(&work->conn->command, redis_save_text(work));
        if (row->ends_changed) {
            redis_save_key(work, "e:", redis_save_id(row));
            hf_redis_word(&work->conn->command, row->ends.text);
        }
        if (!row->stored && row->request.size > 0) {
            redis_save_key(work, "o:", row->request);
            hf_redis_word(&work->conn->command, redis_save_id(row));
        }
    }
    for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next) {
        if (!redis_save_changes(row) || !row->present)
            continue;
        text->size = 0;
        redis_save_move(row, work->now_us);
        redis_write_resource(text, row);
        redis_save_split(work, "MSET", NULL, HF_NOTHING);
        redis_save_resource_key(work, "r:", row);
        hf_redis_word(&work->conn->command, redis_save_text(work));
    }
    redis_command_end(work);
}

static void redis_save_dels(redis_work *work)
{
    redis_command(work, "DEL", NULL, HF_NOTHING);
    for (hf_session_row *row = work->rows->sessions; row != NULL; row = row->next) {
        if (row->present || !row->stored || !row->changed)
            continue;
        static const char *const kinds[] = {"s:", "e:", "l:", "h:", "q:"};
        redis_save_split(work, "DEL", NULL, HF_NOTHING);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            redis_save_key(work, kinds[i], redis_save_id(row));
        if (row->request.size > 0)
            redis_save_key(work, "o:", row->request);
    }
    for (hf_resource_row *row = work->rows->resources; row != NULL; row = row->next) {
        if (row->present || !row->stored || !row->changed)
            continue;
        redis_save_split(work, "DEL", NULL, HF_NOTHING);
        redis_save_resource_key(work, "r:", row);
        if (row->version != 0)
            redis_save_resource_key(work, "p:", row);
    }
    redis_command_end(work);
}

/* ---- indexes of sessions ---- */

/* What becomes of a session in an index of those that have not ended. */
typedef enum redis_change { STAYS, ENTERS, MOVES, LEAVES } redis_change;

static redis_change redis_save_change(const hf_session_row *row)
{
    const redis_was *was = row->origin;
    if (!row->changed)
        return STAYS;
    if (!row->present || row->ended_us != 0)
        return LEAVES;
    if (was == NULL)
        return ENTERS;
    return was->expires_us != row->expires_us ? MOVES : STAYS;
}

static void redis_save_scored(redis_work *work, int64_t score, hf_slice member)
{
    hf_redis_number(&work->conn->command, score);
    hf_redis_word(&work->conn->command, member);
}

/* One command on an index of all sessions. */
static void redis_save_session_index(redis_work *work, const char *name, const char *key,
                                     bool (*takes)(const hf_session_row *row),
                                     int64_t (*score)(const hf_session_row *row))
{
    redis_command(work, name, key, HF_NOTHING);
    for (const hf_session_row *row = work->rows->sessions; row != NULL; row = row->next) {
        if (!row->changed || !takes(row))
            continue;
        redis_save_split(work, name, key, HF_NOTHING);
        if (score != NULL)
            hf_redis_number(&work->conn->command, score(row));
        hf_redis_word(&work->conn->command, redis_save_id(row));
    }
    redis_command_end(work);
}

static bool redis_save_enters(const hf_session_row *row)
{
    return redis_save_change(row) == ENTERS;
}

static bool redis_save_moves(const hf_session_row *row)
{
    return redis_save_change(row) == ENTERS || redis_save_change(row) == MOVES;
}

static bool redis_save_leaves(const hf_session_row *row)
{
    return redis_save_change(row) == LEAVES && row->stored;
}

static bool redis_save_ends(const hf_session_row *row)
{
    return row->present && row->ended_us != 0;
}

static bool redis_save_goes(const hf_session_row *row)
{
    return !row->present && row->stored;
}

static int64_t redis_save_zero(const hf_session_row *row)
{
    (void)row;
    return 0;
}

static int64_t redis_save_expires(const hf_session_row *row)
{
    return row->expires_us;
}

static int64_t redis_save_ended(const hf_session_row *row)
{
    return row->ended_us;
}

/* Of its user, and of the token that opened it. */
static void redis_save_owners(redis_work *work, const hf_session_row *row)
{
    redis_change change = redis_save_change(row);
    if (change == ENTERS || (change == LEAVES && row->stored)) {
        redis_command(work, change == ENTERS ? "SADD" : "SREM", "u:", row->user);
        hf_redis_word(&work->conn->command, redis_save_id(row));
        redis_command_end(work);
    }
    if (row->caller.size == 0 || change == STAYS)
        return;
    redis_command(work, change == LEAVES ? "ZREM" : "ZADD", "c:", row->caller);
    if (change == LEAVES)
        hf_redis_word(&work->conn->command, redis_save_id(row));
    else
        redis_save_scored(work, row->expires_us, redis_save_id(row));
    redis_command_end(work);
}

/* ---- locks ---- */

static bool redis_save_lock_new(const hf_lock_row *lock)
{
    return lock->changed && lock->present;
}

static bool redis_save_lock_gone(const hf_lock_row *lock)
{
    return lock->changed && !lock->present && lock->stored;
}

/* What a session holds, by the bound of each. */
static void redis_save_holds(redis_work *work, const hf_session_row *row)
{
    redis_command(work, "ZADD", "h:", redis_save_id(row));
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->session_next) {
        if (!redis_save_lock_new(lock))
            continue;
        redis_save_split(work, "ZADD", "h:", redis_save_id(row));
        if (lock->ends_us == 0)
            hf_redis_word(&work->conn->command, hf_slice_of("+inf"));
        else
            hf_redis_number(&work->conn->command, lock->ends_us);
        redis_save_member(work, lock->resource, HF_NOTHING);
    }
    redis_command_end(work);
    redis_command(work, "ZREM", "h:", redis_save_id(row));
    for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->session_next) {
        if (!redis_save_lock_gone(lock))
            continue;
        redis_save_split(work, "ZREM", "h:", redis_save_id(row));
        redis_save_member(work, lock->resource, HF_NOTHING);
    }
    redis_command_end(work);
}

/* A command on an index of all locks: `takes` says which it is about. */
static void redis_save_lock_index(redis_work *work, const char *name, const char *key, bool by_end,
                                  bool (*takes)(const hf_lock_row *lock))
{
    bool adds = strcmp(name, "ZADD") == 0;
    redis_command(work, name, key, HF_NOTHING);
    for (const hf_resource_row *row = work->rows->resources; row != NULL; row = row->next)
        for (const hf_lock_row *lock = row->locks; lock != NULL; lock = lock->next) {
            if (!takes(lock))
                continue;
            redis_save_split(work, name, key, HF_NOTHING);
            if (adds)
                hf_redis_number(&work->conn->command, by_end ? lock->ends_us : 0);
            redis_save_member(work, row, redis_save_id(lock->session));
        }
    redis_command_end(work);
}

static bool redis_save_lock_comes(const hf_lock_row *lock)
{
    return redis_save_lock_new(lock) && !lock->stored;
}

static bool redis_save_lock_bound(const hf_lock_row *lock)
{
    return redis_save_lock_new(lock) && lock->ends_us != 0;
}

static bool redis_save_lock_unbound(const hf_lock_row *lock)
{
    return redis_save_lock_gone(lock) ||
           (redis_save_lock_new(lock) && lock->stored && lock->ends_us == 0);
}

/* ---- resources ---- */

static bool redis_save_asked(const hf_resource_row *row)
{
    bool asked = false;
    for (const hf_request_row *it = row->requests; it != NULL && !asked; it = it->next)
        asked = it->present;
    return asked && row->present;
}

/* Adds to a set, or takes from it, the resources that come to `to`. */
static void redis_save_resource_index(redis_work *work, const char *name, const char *key,
                                      bool kept, bool to)
{
    redis_command(work, name, key, HF_NOTHING);
    for (const hf_resource_row *row = work->rows->resources; row != NULL; row = row->next) {
        const redis_was *was = row->origin;
        bool before = was != NULL && (kept ? was->kept : was->asked);
        bool now = kept ? row->present && redis_is_kept(row) : redis_save_asked(row);
        if (now == before || now != to || !redis_save_changes(row))
            continue;
        redis_save_split(work, name, key, HF_NOTHING);
        if (kept && to)
            hf_redis_number(&work->conn->command, 0);
        redis_save_member(work, row, HF_NOTHING);
    }
    redis_command_end(work);
}

/* What each session has asked for. */
static void redis_save_requests(redis_work *work, const hf_resource_row *row)
{
    for (const hf_request_row *it = row->requests; it != NULL; it = it->next) {
        if (!it->changed || it->present == it->stored || !it->session->present)
            continue;
        redis_command(work, it->present ? "SADD" : "SREM", "q:", redis_save_id(it->session));
        redis_save_member(work, row, HF_NOTHING);
        redis_command_end(work);
    }
}

static void redis_save_past(redis_work *work, const hf_resource_row *row)
{
    for (const hf_past_row *past = row->past; past != NULL; past = past->next) {
        if (!past->changed || !past->present)
            continue;
        hf_buffer *text = &work->conn->text;
        text->size = 0;
        redis_write_past(text, past);
        hf_redis_words *to = &work->conn->command;
        redis_command(work, "HSET", NULL, HF_NOTHING);
        redis_save_resource_key(work, "p:", row);
        hf_redis_word(to, past->request);
        hf_redis_word(to, redis_save_text(work));
        redis_command_end(work);
        redis_command(work, "ZADD", "covered", HF_NOTHING);
        hf_redis_number(to, past->covered_us);
        redis_save_member(work, row, past->request);
        redis_command_end(work);
    }
}

static void redis_save_lost(redis_work *work, const hf_session_row *row)
{
    hf_redis_words *to = &work->conn->command;
    for (int adds = 0; adds <= 1 && row->lost != NULL; adds++) {
        const char *name = adds ? "HSET" : "HDEL";
        redis_command(work, name, "l:", redis_save_id(row));
        for (const hf_lost_row *lost = row->lost; lost != NULL; lost = lost->next) {
            if (!lost->changed || lost->present != (bool)adds || (!adds && !lost->stored))
                continue;
            redis_save_split(work, name, "l:", redis_save_id(row));
            hf_redis_joined(to, (hf_slice[]){lost->type, {"\1", 1}, lost->id}, 3);
            if (!adds)
                continue;
            work->conn->text.size = 0;
            redis_write_lost(&work->conn->text, lost);
            hf_redis_word(to, redis_save_text(work));
        }
        redis_command_end(work);
    }
}

/* ---- the script ---- */

void redis_save_begin(redis_work *work)
{
    hf_redis_words_clear(&work->conn->commands);
}

void redis_save_rows(redis_work *work)
{
    hf_rows *rows = work->rows;
    redis_save_sets(work);
    redis_save_dels(work);
    redis_save_session_index(work, "ZADD", "sessions", redis_save_enters, redis_save_zero);
    redis_save_session_index(work, "ZADD", "expiry", redis_save_moves, redis_save_expires);
    redis_save_session_index(work, "ZREM", "sessions", redis_save_leaves, NULL);
    redis_save_session_index(work, "ZREM", "expiry", redis_save_leaves, NULL);
    redis_save_session_index(work, "ZADD", "ended", redis_save_ends, redis_save_ended);
    redis_save_session_index(work, "ZREM", "ended", redis_save_goes, NULL);
    for (const hf_session_row *row = rows->sessions; row != NULL; row = row->next) {
        redis_save_owners(work, row);
        if (row->present || row->stored)
            redis_save_holds(work, row);
        redis_save_lost(work, row);
    }
    redis_save_lock_index(work, "ZADD", "locks", false, redis_save_lock_comes);
    redis_save_lock_index(work, "ZREM", "locks", false, redis_save_lock_gone);
    redis_save_lock_index(work, "ZADD", "bounds", true, redis_save_lock_bound);
    redis_save_lock_index(work, "ZREM", "bounds", true, redis_save_lock_unbound);
    redis_save_resource_index(work, "ZADD", "kept", true, true);
    redis_save_resource_index(work, "ZREM", "kept", true, false);
    redis_save_resource_index(work, "SADD", "asked", false, true);
    redis_save_resource_index(work, "SREM", "asked", false, false);
    for (const hf_resource_row *row = rows->resources; row != NULL; row = row->next) {
        redis_save_requests(work, row);
        redis_save_past(work, row);
    }
}

static void redis_save_head(redis_work *work, bool grows)
{
    hf_redis_words *head = &work->conn->head;
    size_t count = 0;
    for (const redis_read *read = work->reads; read != NULL; read = read->next)
        count += !read->not_compared;
    hf_redis_word(head, hf_slice_of("0")); /* keys; they are among the arguments */
    hf_redis_word(head, hf_slice_of(work->store->prefix));
    hf_redis_word(head, hf_slice_of(work->store->self));
    hf_redis_number(head, work->deadline_us);
    hf_redis_number(head, grows);
    hf_redis_number(head, work->rows->floor_raised ? work->rows->fence_floor : 0);
    hf_redis_number(head, (int64_t)count);
    for (const redis_read *read = work->reads; read != NULL; read = read->next) {
        if (read->not_compared)
            continue;
        hf_redis_word(head, read->key);
        hf_redis_word(head, read->value);
    }
    hf_redis_number(head, (int64_t)work->rows->events_count);
    for (size_t i = 0; i < work->rows->events_count; i++) {
        work->conn->text.size = 0;
        redis_write_event(&work->conn->text, &work->rows->events[i], work->now_us);
        hf_redis_word(head, redis_save_text(work));
    }
}

/* Sends the script by its name, or in full. */
static bool redis_save_send(redis_work *work, bool in_full)
{
    hf_redis_words *head = &work->conn->head, *command = &work->conn->command;
    hf_redis_words_clear(command);
    hf_redis_word(command, hf_slice_of(in_full ? "EVAL" : "EVALSHA"));
    hf_redis_word(command, hf_slice_of(in_full ? redis_store_commit : work->store->script));
    hf_redis_append(command, head);
    hf_redis_append(command, &work->conn->commands);
    hf_redis_queue_words(work->conn->redis, command);
    if (work->store->url.replicas > 0) {
        char replicas[12], wait[12];
        snprintf(replicas, sizeof replicas, "%u", work->store->url.replicas);
        snprintf(wait, sizeof wait, "%d", WAIT_MS);
        hf_redis_queue(work->conn->redis, "WAIT", replicas, wait, NULL);
    }
    work->sent = true;
    return redis_flush(work);
}

/* The answer to the script, and to WAIT. */
static void redis_save_answer(redis_work *work, bool *unknown)
{
    hf_redis_reply reply, part;
    hf_status status = hf_redis_read(work->conn->redis, &reply, work->err);
    *unknown = false;
    if (status != HF_OK) {
        work->status = status;
        return;
    }
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
        redis_load_keep(work, &reply);
    }
    bool written = work->sent;
    if (work->store->url.replicas == 0)
        return;
    status = hf_redis_read(work->conn->redis, &reply, written ? work->err : NULL);
    if (!written)
        return;
    if (status != HF_OK)
        work->status = status;
    else if (reply.kind != HF_REDIS_NUMBER || reply.number < work->store->url.replicas)
        work->status = hf_fail(work->err, HF_UNSURE,
                               "%lld of %u replicas have acknowledged in time; ask again.",
                               (long long)reply.number, work->store->url.replicas);
}

void redis_save_commit(redis_work *work, bool grows)
{
    bool unknown = false;
    work->conflict = work->hidden = false;
    if (work->status != HF_OK)
        return;
    hf_redis_words_clear(&work->conn->head);
    redis_save_head(work, grows);
    if (!redis_save_send(work, false))
        return;
    redis_save_answer(work, &unknown);
    if (unknown && redis_save_send(work, true))
        redis_save_answer(work, &unknown);
    if (work->status == HF_OK || !work->sent)
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
    hf_redis_words_clear(&work->conn->commands);
    redis_save_rows(work);
    redis_save_commit(work, grows);
}
