/* SPDX-License-Identifier: MIT */
/* Acquire-and-release pairs on SQLite: N acquires of N distinct random resources in one batch, then
 * N releases in another, both synced to disk. Beside it, on copies of the same file, (i) sqlite3
 * alone writing the same rows and (ii) sqlite3 inserting and deleting one row. (i) says what the
 * rules, the answers and the looking-before-writing cost; (ii) what sessions, fences and the
 * audit log cost on top. */
#include "bare.h"
#include "bench.h"
#include "ours.h"

#include <stdio.h>
#include <string.h>

static const struct {
    size_t size;
    bench_judge judge;
    double target;
    bench_judge one_row_judge;
    double one_row_target;
} batches[] = {
    {1, BENCH_RATIO_AT_LEAST, 0.8, BENCH_PRINT_ONLY, 0},
    {16, BENCH_PRINT_ONLY, 0, BENCH_PRINT_ONLY, 0},
    {64, BENCH_PRINT_ONLY, 0, BENCH_RATIO_AT_LEAST, 0.4},
    {256, BENCH_RATIO_AT_LEAST, 0.6, BENCH_RATIO_AT_LEAST, 0.22},
};

/* The three sides, each with a file of its own and the same start. */
typedef struct trio {
    ours *ours;
    bare *same_rows;
    bare *one_row;
} trio;

static void open_trio(const bench *b, trio *out)
{
    char path[BENCH_PATH_SIZE + 32];
    char copy[BENCH_PATH_SIZE + 32];
    char url[BENCH_PATH_SIZE + 48];
    snprintf(path, sizeof path, "%s/pairs.db", b->dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    out->ours = ours_open(b, url);
    ours_visit_all(out->ours);
    char session[HF_SESSION_ID_SIZE];
    memcpy(session, out->ours->session.id, sizeof session);
    ours_close(out->ours); /* so that the file is whole */
    snprintf(copy, sizeof copy, "%s/pairs-same-rows.db", b->dir);
    bare_copy(path, copy);
    out->same_rows = bare_open(b, copy, session);
    snprintf(copy, sizeof copy, "%s/pairs-one-row.db", b->dir);
    bare_copy(path, copy);
    out->one_row = bare_open(b, copy, session);
    out->ours = ours_open(b, url);
    /* Its log has its full length then. One that still grows, as that of the bare loops did for its
     * first megabytes, makes the sync of a small commit take twice as long. */
    ours_visit_all(out->ours);
}

static void close_trio(trio *t)
{
    ours_close(t->ours);
    bare_close(t->same_rows);
    bare_close(t->one_row);
}

static void pairs_measure(bench *b, trio *t, size_t at)
{
    size_t size = batches[at].size;
    bench_figure figure = {
        .unit = "pairs/s", .judge = batches[at].judge, .target = batches[at].target};
    snprintf(figure.name, sizeof figure.name, "pairs/%zu", size);
    if (!bench_wants(b, figure.name))
        return;
    t->ours->batch_size = size;
    bare_batch_size(t->same_rows, size);
    bare_batch_size(t->one_row, size);
    bench_side sides[] = {
        {ours_pairs, t->ours}, {bare_pairs, t->same_rows}, {bare_one_row, t->one_row}};
    bench_series series[3];
    bench_interleave(b, sides, 3, series);
    figure.against = "bare loop, same rows";
    bench_report(b, &figure, &series[0], &series[1]);

    snprintf(figure.name, sizeof figure.name, "pairs/%zu/one-row", size);
    figure.judge = batches[at].one_row_judge;
    figure.target = batches[at].one_row_target;
    figure.against = "bare loop, one row";
    bench_report(b, &figure, &series[0], &series[2]);
}

void bench_pairs(bench *b)
{
    if (!bench_wants(b, "pairs/"))
        return;
    trio t;
    open_trio(b, &t);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        pairs_measure(b, &t, i);
    close_trio(&t);
}
