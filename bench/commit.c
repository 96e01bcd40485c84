/* SPDX-License-Identifier: MIT */
/* What group commit is worth: 64 callers on one loop, each with a session of its own, acquire and
 * release by the committer, every change synced; beside one client that executes batches of one on
 * the same SQLite store. The callers are what connections are to a server, without the network. */
#include "bench.h"
#include "ours.h"

#include <server/commit/committer.h>
#include <server/commit/jobs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CALLERS = 64 };

typedef struct loop loop;

typedef struct caller {
    committer_job job;
    hf_op op;
    hf_credentials session;
    bench_picker *picker;
    bench_pick pick;
    loop *on;
} caller;

struct loop {
    committer *committer;
    completions completions;
    int wake;
    caller callers[CALLERS];
};

static void commit_pass_on(committer_job *job)
{
    completions_add(&((caller *)job->context)->on->completions, job);
}

static void wake_loop(void *context)
{
    if (eventfd_write(((loop *)context)->wake, 1) != 0)
        bench_die("the loop can't be woken");
}

static void commit_ask(caller *c, hf_op_kind kind)
{
    hf_error err;
    c->op = (hf_op){.kind = kind, .session = &c->session, .type = BENCH_TYPE, .id = c->pick.id};
    c->op.request_id = c->pick.request;
    if (kind == HF_OP_RELEASE)
        c->op.fence = c->pick.fence;
    else
        c->op.purpose = BENCH_PURPOSE;
    c->job = (committer_job){.ops = &c->op, .count = 1, .done = commit_pass_on, .context = c};
    if (committer_submit(c->on->committer, &c->job, &err) != HF_OK)
        bench_die("a job was refused: %s", err.message);
}

static void begin_pair(caller *c)
{
    bench_picker_fill(c->picker, &c->pick, 1);
    commit_ask(c, HF_OP_ACQUIRE);
}

/* True: a pair is complete. */
static bool commit_go_on(caller *c)
{
    hf_op_kind kind = c->op.kind;
    if (c->op.answer.status != HF_OK)
        bench_die("%s was refused: %s", hf_op_kind_name(kind), c->op.answer.message);
    if (kind == HF_OP_ACQUIRE)
        c->pick.fence = c->op.answer.locks[0].fence;
    committer_release(c->on->committer, &c->job);
    if (kind == HF_OP_ACQUIRE)
        commit_ask(c, HF_OP_RELEASE);
    return kind == HF_OP_RELEASE;
}

static double commit_pairs(void *context, double seconds)
{
    loop *l = context;
    size_t pairs = 0, busy = CALLERS;
    double start = bench_now();
    for (size_t i = 0; i < CALLERS; i++)
        begin_pair(&l->callers[i]);
    while (busy > 0) {
        eventfd_t count;
        if (eventfd_read(l->wake, &count) != 0)
            continue; /* a signal */
        for (committer_job *job = completions_take(&l->completions), *next; job != NULL;
             job = next) {
            next = job->next;
            if (!commit_go_on(job->context))
                continue;
            pairs++;
            if (bench_now() - start < seconds && !bench_stopped())
                begin_pair(job->context);
            else
                busy--;
        }
    }
    return (double)pairs / (bench_now() - start);
}

static loop *open_loop(const bench *b, ours *one)
{
    hf_error err;
    loop *l = calloc(1, sizeof *l);
    if (l == NULL || (l->wake = eventfd(0, EFD_CLOEXEC)) < 0)
        bench_die("no loop can be made");
    completions_init(&l->completions, wake_loop, l);
    if (committer_new(&(committer_settings){.store = one->store}, &l->committer, &err) != HF_OK)
        bench_die("no committer: %s", err.message);
    for (uint32_t i = 0; i < CALLERS; i++) {
        caller *c = &l->callers[i];
        c->on = l;
        c->picker = bench_picker_new(100 + i, b->working);
        bench_picker_share(c->picker, i, CALLERS);
        ours_session(one, &c->session);
    }
    return l;
}

static void close_loop(loop *l)
{
    committer_stats stats;
    committer_stats_read(l->committer, &stats);
    printf("  %-24s %.1f ops a batch\n", "",
           (double)stats.writes.ops / (double)stats.writes.batches);
    committer_free(l->committer);
    completions_done(&l->completions);
    close(l->wake);
    for (size_t i = 0; i < CALLERS; i++)
        free(l->callers[i].picker);
    free(l);
}

void bench_commit(bench *b)
{
    char url[BENCH_PATH_SIZE + 48];
    if (!bench_wants(b, "commit/64"))
        return;
    snprintf(url, sizeof url, "sqlite:%s/commit.db", b->dir);
    ours *one = ours_open(b, url);
    ours_visit_all(one);
    loop *l = open_loop(b, one);
    bench_side sides[] = {{commit_pairs, l}, {ours_pairs, one}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_figure figure = {.name = "commit/64",
                           .unit = "pairs/s",
                           .against = "one client, batches of one",
                           .judge = BENCH_RATIO_AT_LEAST,
                           .target = 4};
    bench_report(b, &figure, &series[0], &series[1]);
    close_loop(l);
    ours_close(one);
}
