/* SPDX-License-Identifier: MIT */
/* The store on Redis: the rows that a conflict answered (V3), for the next try. */
#include "store/redis.h"

#include <stdlib.h>

const redis_fresh *redis_conflict_answered(redis_work *work, hf_slice key)
{
    for (size_t i = 0; i < work->fresh_count; i++) {
        size_t at = (work->fresh_at + i) % work->fresh_count;
        if (hf_slice_equal(work->fresh[at].key, key)) {
            work->fresh_at = at + 1;
            return &work->fresh[at];
        }
    }
    return NULL;
}

int64_t redis_conflict_time(const hf_redis_reply *list, size_t at)
{
    hf_redis_reply seconds, micros;
    hf_redis_at(list, at, &seconds);
    hf_redis_at(list, at + 1, &micros);
    return strtoll(seconds.text.at, NULL, 10) * 1000000 + strtoll(micros.text.at, NULL, 10);
}

void redis_conflict_keep(redis_work *work, const hf_redis_reply *answer)
{
    enum { FLOOR = 3, BEFORE }; /* seconds, microseconds, hidden, the floor */
    hf_arena *arena = &work->conn->fresh;
    hf_redis_reply part;
    size_t count = 0, at = BEFORE;
    work->fresh = NULL;
    work->fresh_count = work->fresh_at = 0;
    hf_arena_reset(arena);
    if (!work->only_rows || work->hidden || answer->count <= BEFORE)
        return;
    redis_fresh *all = hf_arena_alloc(arena, (answer->count - FLOOR) * sizeof *all);
    bool good = all != NULL;
    for (const redis_row *read = work->reads; good && read != NULL; read = read->next) {
        bool floor = read->kind == REDIS_FLOOR;
        if (read->not_compared && !floor)
            continue;
        if (!floor && at == answer->count) /* not what was sent */
            return;
        hf_redis_at(answer, floor ? FLOOR : at++, &part);
        redis_fresh *it = &all[count++];
        it->there = part.kind == HF_REDIS_TEXT;
        good = hf_arena_copy(arena, read->key, &it->key) &&
               hf_arena_copy(arena, it->there ? part.text : hf_slice_of(" "), &it->value);
    }
    if (!good || at != answer->count)
        return;
    work->fresh = all;
    work->fresh_count = count;
    work->fresh_us = redis_conflict_time(answer, 0);
}
