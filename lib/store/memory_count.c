/* SPDX-License-Identifier: MIT */
/* The memory store: counting what lives. */
#include "base/seams.h"
#include "store/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct tally {
    const mem_type *type;
    size_t locks;
} tally;

static int memory_count_by_name(const void *a, const void *b)
{
    return strcmp(((const tally *)a)->type->name, ((const tally *)b)->type->name);
}

static int memory_count_by_place(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const tally *)a)->type, y = (uintptr_t)((const tally *)b)->type;
    return x < y ? -1 : x > y;
}

static bool memory_count_session_lives(const mem_session *s, int64_t now_us)
{
    return s->ended_us == 0 && s->expires_us > now_us;
}

static bool memory_count_opened_by(const mem_session *s, hf_slice token)
{
    return hf_slice_equal(mem_session_row(s).caller, token);
}

/* Those that the token opened, or all of them. */
static void memory_count_sessions(const mem_store *store, hf_op *op, int64_t now_us)
{
    hf_slice token = hf_slice_of(op->caller);
    for (size_t i = 0; i < store->sessions_size; i++)
        for (const mem_session *s = store->sessions[i]; s != NULL; s = s->chain)
            op->answer.total_sessions += memory_count_session_lives(s, now_us) &&
                                         (token.size == 0 || memory_count_opened_by(s, token));
}

static void memory_count_count_one_session(const mem_session *s, hf_op *op, int64_t now_us)
{
    if (s == NULL || !memory_count_session_lives(s, now_us))
        return;
    op->answer.total_sessions = 1;
    for (const mem_lock *lock = s->locks; lock != NULL; lock = lock->session_next)
        op->answer.total_locks += mem_lock_lives(lock, now_us);
}

/* `all` is in order of place in memory, where each anchor finds its type quickly. */
static void memory_count_locks(const mem_store *store, tally *all, size_t count, int64_t now_us)
{
    for (size_t i = 0; i < store->anchors_size; i++)
        for (const mem_anchor *anchor = store->anchors[i]; anchor != NULL; anchor = anchor->chain) {
            tally key = {anchor->type, 0};
            tally *of = anchor->locks == NULL
                            ? NULL
                            : bsearch(&key, all, count, sizeof *all, memory_count_by_place);
            for (const mem_lock *lock = anchor->locks; of != NULL && lock != NULL;
                 lock = lock->next)
                of->locks += mem_lock_lives(lock, now_us);
        }
}

static bool memory_count_answer_counts(hf_op *op, hf_arena *arena, tally *all, size_t count)
{
    size_t limit = op->limit == 0 ? HF_LIST_DEFAULT : op->limit, types = 0;
    qsort(all, count, sizeof *all, memory_count_by_name);
    for (size_t i = 0; i < count; i++) {
        types += all[i].locks > 0;
        op->answer.total_locks += all[i].locks;
    }
    op->answer.more = types > limit;
    types = op->answer.more ? limit : types;
    hf_count *counts = types == 0 ? NULL : hf_arena_alloc(arena, types * sizeof *counts);
    if (counts == NULL)
        return types == 0;
    op->answer.counts = counts;
    for (size_t i = 0; op->answer.counts_count < types; i++) {
        if (all[i].locks == 0)
            continue;
        hf_count *out = &counts[op->answer.counts_count++];
        memcpy(out->type, all[i].type->name, sizeof out->type);
        out->locks = all[i].locks;
    }
    return true;
}

static bool memory_count_all(const mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    size_t count = 0;
    for (const mem_type *type = store->types; type != NULL; type = type->next)
        count++;
    tally *all = hf_alloc((count + 1) * sizeof *all), *at = all;
    if (all == NULL)
        return false;
    for (const mem_type *type = store->types; type != NULL; type = type->next)
        at++->type = type;
    qsort(all, count, sizeof *all, memory_count_by_place);
    memory_count_sessions(store, op, now_us);
    memory_count_locks(store, all, count, now_us);
    bool ok = memory_count_answer_counts(op, arena, all, count);
    hf_free(all);
    return ok;
}

bool mem_do_count(mem_store *store, hf_op *op, hf_arena *arena, int64_t now_us)
{
    if (op->target != NULL)
        memory_count_count_one_session(mem_session_find(store, op->target), op, now_us);
    else if (hf_slice_of(op->caller).size > 0)
        memory_count_sessions(store, op, now_us);
    else
        return memory_count_all(store, op, arena, now_us);
    return true;
}
