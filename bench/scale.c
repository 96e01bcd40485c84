/* SPDX-License-Identifier: MIT */
/* Does a lock get dearer when many are held? Pairs on SQLite with 1,000,000 locks held against
 * 1,000, by 10,000 a session, on other ids of the same space, so that every row lands in a random
 * place. Beside it what sqlite3 alone makes of copies of the two files: whatever that loses, the
 * page cache and the write-ahead log lose. */
#include "bare.h"
#include "bench.h"
#include "ours.h"

#include <stdio.h>
#include <string.h>

enum { FEW = 1000, MANY = 1000000, MANY_QUICK = 50000 };

typedef struct filled {
    ours *ours;
    bare *bare;
} filled;

static void open_filled(const bench *b, const char *name, size_t held, filled *out)
{
    char path[BENCH_PATH_SIZE + 32];
    char copy[BENCH_PATH_SIZE + 32];
    char url[BENCH_PATH_SIZE + 48];
    char session[HF_SESSION_ID_SIZE];
    snprintf(path, sizeof path, "%s/%s.db", b->dir, name);
    snprintf(copy, sizeof copy, "%s/%s-bare.db", b->dir, name);
    snprintf(url, sizeof url, "sqlite:%s", path);
    out->ours = ours_open(b, url);
    ours_hold(out->ours, held);
    ours_visit_all(out->ours);
    memcpy(session, out->ours->session.id, sizeof session);
    ours_close(out->ours);
    bare_copy(path, copy);
    out->bare = bare_open(b, copy, session);
    out->ours = ours_open(b, url);
}

static void scale_measure(bench *b, filled *many, filled *few, size_t batch_size, double target)
{
    bench_figure figure = {.unit = "us/pair", .judge = BENCH_RATIO_AT_MOST, .target = target};
    snprintf(figure.name, sizeof figure.name, "scale/%zu", batch_size);
    if (!bench_wants(b, figure.name))
        return;
    figure.against =
        b->quick ? "50,000 held against 1,000 held" : "1,000,000 held against 1,000 held";
    if (b->quick)
        figure.judge = BENCH_PRINT_ONLY; /* the target is about a million */
    many->ours->batch_size = few->ours->batch_size = batch_size;
    bare_batch_size(many->bare, batch_size);
    bare_batch_size(few->bare, batch_size);

    bench_series rate[2];
    bench_side our_sides[] = {{ours_pairs, many->ours}, {ours_pairs, few->ours}};
    bench_interleave(b, our_sides, 2, rate);
    bench_series cost[2] = {bench_cost_us(&rate[0]), bench_cost_us(&rate[1])};
    bench_report(b, &figure, &cost[0], &cost[1]);

    bench_side bare_sides[] = {{bare_pairs, many->bare}, {bare_pairs, few->bare}};
    bench_interleave(b, bare_sides, 2, rate);
    bench_series bare_cost[2] = {bench_cost_us(&rate[0]), bench_cost_us(&rate[1])};
    snprintf(figure.name, sizeof figure.name, "scale/%zu/bare", batch_size);
    figure.judge = BENCH_PRINT_ONLY;
    figure.against = "the same for the bare loop";
    bench_report(b, &figure, &bare_cost[0], &bare_cost[1]);
}

void bench_scale(bench *b)
{
    if (!bench_wants(b, "scale/"))
        return;
    filled few;
    filled many;
    open_filled(b, "few", FEW, &few);
    open_filled(b, "many", b->quick ? MANY_QUICK : MANY, &many);
    scale_measure(b, &many, &few, 1, 1.3);
    scale_measure(b, &many, &few, 256, 2.5);
    ours_close(many.ours);
    ours_close(few.ours);
    bare_close(many.bare);
    bare_close(few.bare);
}
