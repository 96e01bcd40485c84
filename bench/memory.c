/* SPDX-License-Identifier: MIT */
/* The memory store: what a held lock takes (all that malloc has given out, so anchors, sessions and
 * kept events count too), and how fast pairs go at batch 64, beside the plainest table that could
 * hold locks in memory: one mutex around an open-addressing hash table, name to session and fence,
 * without rules, events or answers. */
#include "bench.h"
#include "ours.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 1000000, HELD_QUICK = 100000, BATCH = 64, SLOTS = 1 << 18 };

static double malloced(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

static void measure_bytes(bench *b)
{
    if (!bench_wants(b, "memory/bytes-per-lock"))
        return;
    ours *o = ours_open(b, "memory:");
    size_t held = b->quick ? HELD_QUICK : HELD;
    bench_series bytes = {.count = 1};
    double before = malloced();
    ours_hold(o, held);
    bytes.value[0] = (malloced() - before) / (double)held;
    bench_figure figure = {.name = "memory/bytes-per-lock",
                           .unit = "bytes",
                           .against = b->quick ? "100,000 held" : "1,000,000 held",
                           .judge = b->quick ? BENCH_PRINT_ONLY : BENCH_OURS_AT_MOST,
                           .target = 400};
    bench_report(b, &figure, &bytes, NULL);
    ours_close(o);
}

/* The plainest table. Linear probing; a deletion moves later ones up, so there are no tombstones.
 * */

typedef struct slot {
    uint64_t hash; /* 0: free */
    char name[24];
    char session[40];
    int64_t fence;
} slot;

typedef struct table {
    pthread_mutex_t mutex;
    bench_picker *picker;
    int64_t fence;
    bench_pick picks[BATCH];
    slot slots[SLOTS];
} table;

/* FNV-1a. */
static uint64_t memory_hash_of(const char *name, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    return hash | 1;
}

static size_t home_of(uint64_t hash)
{
    return (size_t)(hash >> 40) % SLOTS;
}

/* The slot that has the name, or the free one where it belongs. */
static size_t memory_find(const table *t, uint64_t hash, const char *name, size_t size)
{
    size_t at = home_of(hash);
    while (t->slots[at].hash != 0 &&
           (t->slots[at].hash != hash || memcmp(t->slots[at].name, name, size + 1) != 0))
        at = (at + 1) % SLOTS;
    return at;
}

static bool table_acquire(table *t, bench_pick *pick, const char *session)
{
    uint64_t hash = memory_hash_of(pick->id, pick->id_size);
    pthread_mutex_lock(&t->mutex);
    slot *s = &t->slots[memory_find(t, hash, pick->id, pick->id_size)];
    bool free_before = s->hash == 0;
    if (free_before) {
        s->hash = hash;
        memcpy(s->name, pick->id, pick->id_size + 1);
        memcpy(s->session, session, 32);
        s->fence = pick->fence = ++t->fence;
    }
    pthread_mutex_unlock(&t->mutex);
    return free_before;
}

static void close_gap(table *t, size_t gap)
{
    for (size_t at = (gap + 1) % SLOTS; t->slots[at].hash != 0; at = (at + 1) % SLOTS) {
        size_t home = home_of(t->slots[at].hash);
        if ((at - home) % SLOTS >= (at - gap) % SLOTS) {
            t->slots[gap] = t->slots[at];
            gap = at;
        }
    }
    t->slots[gap].hash = 0;
}

static bool table_release(table *t, const bench_pick *pick, const char *session)
{
    uint64_t hash = memory_hash_of(pick->id, pick->id_size);
    pthread_mutex_lock(&t->mutex);
    size_t at = memory_find(t, hash, pick->id, pick->id_size);
    const slot *s = &t->slots[at];
    bool held = s->hash != 0 && s->fence == pick->fence && memcmp(s->session, session, 32) == 0;
    if (held)
        close_gap(t, at);
    pthread_mutex_unlock(&t->mutex);
    return held;
}

static double table_pairs(void *context, double seconds)
{
    static const char session[] = "0123456789abcdef0123456789abcdef";
    table *t = context;
    size_t pairs = 0;
    size_t failed = 0;
    double start = bench_now();
    double end;
    do {
        bench_picker_fill(t->picker, t->picks, BATCH);
        for (size_t i = 0; i < BATCH; i++)
            failed += !table_acquire(t, &t->picks[i], session);
        for (size_t i = 0; i < BATCH; i++)
            failed += !table_release(t, &t->picks[i], session);
        pairs += BATCH;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    if (failed > 0)
        bench_die("the plain table lost a lock");
    return (double)pairs / (end - start);
}

static void memory_measure_pairs(bench *b)
{
    if (!bench_wants(b, "memory/pairs/64"))
        return;
    table *t = calloc(1, sizeof *t);
    if (t == NULL)
        bench_die("out of memory");
    pthread_mutex_init(&t->mutex, NULL);
    t->picker = bench_picker_new(4, b->working);
    ours *o = ours_open(b, "memory:");
    ours_visit_all(o);
    o->batch_size = BATCH;
    bench_side sides[] = {{ours_pairs, o}, {table_pairs, t}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_figure figure = {.name = "memory/pairs/64",
                           .unit = "pairs/s",
                           .against = "a hash table under a mutex",
                           .judge = BENCH_OURS_AT_LEAST,
                           .target = 1e6};
    bench_report(b, &figure, &series[0], &series[1]);
    ours_close(o);
    pthread_mutex_destroy(&t->mutex);
    free(t->picker);
    free(t);
}

void bench_memory(bench *b)
{
    measure_bytes(b);
    memory_measure_pairs(b);
}
