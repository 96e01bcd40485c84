/* SPDX-License-Identifier: MIT */
/* What an application sees: hf_session_acquire and hf_session_release, each a call, each synced,
 * beside batches of one on the same store. The difference is the price of the easy calls. */
#include "bench.h"
#include "ours.h"

#include <holdfast/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct easy {
    hf_manager *manager;
    hf_session *session;
    bench_picker *picker;
} easy;

static void open_easy(const bench *b, const char *url, easy *out)
{
    hf_error err;
    if (hf_manager_open(url, &out->manager, &err) != HF_OK)
        bench_die("%s can't be opened: %s", url, err.message);
    hf_session_options options = {.user = "bench", .name = "Bench Mark"};
    if (hf_session_open(out->manager, &options, &out->session, &err) != HF_OK)
        bench_die("no session: %s", err.message);
    out->picker = bench_picker_new(3, b->working);
}

static void close_easy(easy *e)
{
    hf_session_free(e->session);
    hf_manager_close(e->manager);
    free(e->picker);
}

static void call_pair(easy *e)
{
    bench_pick pick;
    hf_error err;
    hf_lock lock;
    hf_resource resource = {.type = BENCH_TYPE};
    hf_acquire_options options = {.purpose = BENCH_PURPOSE};
    bench_picker_fill(e->picker, &pick, 1);
    memcpy(resource.id, pick.id, pick.id_size);
    if (hf_session_acquire(e->session, &resource, &options, &lock, &err) != HF_OK ||
        hf_session_release(e->session, &resource, lock.fence, &err) != HF_OK)
        bench_die("an easy call failed: %s", err.message);
}

static double easy_pairs(void *context, double seconds)
{
    size_t pairs = 0;
    double start = bench_now();
    double end;
    do {
        call_pair(context);
        pairs++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}

/* On SQLite and in memory: beside a sync the calls cost nothing, beside nothing they show. */
static void calls_measure(bench *b, const char *name, const char *url)
{
    if (!bench_wants(b, name))
        return;
    easy e;
    open_easy(b, url, &e);
    ours *batches = ours_on(b, hf_manager_store(e.manager));
    ours_visit_all(batches);
    bench_side sides[] = {{easy_pairs, &e}, {ours_pairs, batches}};
    bench_series series[2];
    bench_interleave(b, sides, 2, series);
    bench_figure figure = {.unit = "pairs/s", .against = "batches of one, same store"};
    snprintf(figure.name, sizeof figure.name, "%s", name);
    bench_report(b, &figure, &series[0], &series[1]);
    ours_close(batches);
    close_easy(&e);
}

void bench_calls(bench *b)
{
    char url[BENCH_PATH_SIZE + 48];
    snprintf(url, sizeof url, "sqlite:%s/calls.db", b->dir);
    calls_measure(b, "call/sqlite", url);
    calls_measure(b, "call/memory", "memory:");
}
