/* SPDX-License-Identifier: MIT */
/* What goes on while people work, on SQLite: beats, which write one row however many locks the
 * session holds, and reads (who holds it, do I hold it). Beside each the same rows by sqlite3
 * alone. */
#include "bare.h"
#include "bench.h"
#include "ours.h"

#include <stdio.h>
#include <string.h>

enum { MANY_LOCKS = 1000, LOOKUP = 256 };

/* A store whose session holds the first names, and the bare loop on a copy of it. */
typedef struct pair {
    ours *ours;
    bare *bare;
} pair;

static void open_pair(const bench *b, const char *name, uint32_t held, pair *out)
{
    char path[BENCH_PATH_SIZE + 32];
    char copy[BENCH_PATH_SIZE + 32];
    char url[BENCH_PATH_SIZE + 48];
    snprintf(path, sizeof path, "%s/%s.db", b->dir, name);
    snprintf(copy, sizeof copy, "%s/%s-bare.db", b->dir, name);
    snprintf(url, sizeof url, "sqlite:%s", path);
    out->ours = ours_open(b, url);
    ours_keep(out->ours, 0, held);
    hf_credentials holder = out->ours->session;
    ours_close(out->ours);
    bare_copy(path, copy);
    out->bare = bare_open(b, copy, holder.id);
    bare_held(out->bare, held);
    out->ours = ours_open(b, url);
    out->ours->session = holder;
    out->ours->held = held;
}

static void close_pair(pair *p)
{
    ours_close(p->ours);
    bare_close(p->bare);
}

/* What a beat costs, and what a thousand locks add to it: they are counted, and it tells what was
 * lost and who waits. */
void bench_beats(bench *b)
{
    if (!bench_wants(b, "beat/"))
        return;
    pair one;
    pair many;
    open_pair(b, "beat-one", 1, &one);
    open_pair(b, "beat-many", MANY_LOCKS, &many);
    bench_side sides[] = {
        {ours_beats, one.ours}, {bare_beats, one.bare}, {ours_beats, many.ours}};
    bench_series series[3];
    bench_interleave(b, sides, 3, series);
    bench_figure figure = {
        .name = "beat/1-lock", .unit = "beats/s", .against = "bare update of one row"};
    bench_report(b, &figure, &series[0], &series[1]);

    bench_series cost[2] = {bench_cost_us(&series[2]), bench_cost_us(&series[0])};
    figure = (bench_figure){.name = "beat/1000-locks",
                            .unit = "us/beat",
                            .against = "a session with 1 lock",
                            .judge = BENCH_RATIO_AT_MOST,
                            .target = 5};
    bench_report(b, &figure, &cost[0], &cost[1]);
    close_pair(&one);
    close_pair(&many);
}

/* Reads in batches of p->ours->batch_size. */
static double our_reads(pair *p, hf_op_kind kind, double seconds)
{
    static char ids[LOOKUP][BENCH_ID_SIZE];
    size_t reads = 0;
    double start = bench_now();
    double end;
    do {
        hf_batch_clear(p->ours->batch);
        for (size_t i = 0; i < p->ours->batch_size; i++) {
            hf_op *op = hf_batch_add(p->ours->batch, kind);
            bench_name(bench_picker_below(p->ours->picker, p->ours->held), ids[i]);
            op->session = kind == HF_OP_HOLDS ? &p->ours->session : NULL;
            op->type = BENCH_TYPE;
            op->id = ids[i];
        }
        ours_execute(p->ours);
        for (size_t i = 0; i < p->ours->batch_size; i++)
            if (hf_batch_op(p->ours->batch, i)->answer.locks_count != 1)
                bench_die("a read misses the lock on %s", ids[i]);
        reads += p->ours->batch_size;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)reads / (end - start);
}

static double our_who(void *context, double seconds)
{
    return our_reads(context, HF_OP_WHO, seconds);
}

static double our_holds(void *context, double seconds)
{
    return our_reads(context, HF_OP_HOLDS, seconds);
}

static void measure_reads(bench *b, pair *p, const char *name, size_t batch_size, bool holds)
{
    if (!bench_wants(b, name))
        return;
    p->ours->batch_size = batch_size;
    bare_batch_size(p->bare, batch_size);
    bench_side sides[] = {{holds ? our_holds : our_who, p},
                          {holds ? bare_holds : bare_who, p->bare}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_figure figure = {.unit = "reads/s", .against = "bare SELECT of the same rows"};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    bench_report(b, &figure, &series[0], &series[1]);
}

void bench_reads(bench *b)
{
    if (!bench_wants(b, "read/"))
        return;
    pair p;
    open_pair(b, "reads", MANY_LOCKS, &p);
    measure_reads(b, &p, "read/who", 1, false);
    measure_reads(b, &p, "read/holds", 1, true);
    measure_reads(b, &p, "read/lookup-256", LOOKUP, false);
    close_pair(&p);
}
