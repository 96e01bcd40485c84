/* SPDX-License-Identifier: MIT */
/* A timer and a job that take turns, for as long as someone is interested. */
#include "server/live_counts.h"

#include "base/error.h"
#include "base/seams.h"

#include <event2/event.h>

#define SECOND_US INT64_C(1000000)

struct live_counts {
    loop_job job; /* first */
    hf_op op;
    live_counts_settings settings;
    struct event *timer;
    int64_t wanted_us; /* when someone last looked */
    bool asking;
    bool stopped;
};

/* The next count, if anyone is still interested. */
static void live_counts_wait_for(live_counts *c, int64_t us)
{
    struct timeval time = {.tv_sec = us / SECOND_US, .tv_usec = us % SECOND_US};
    if (!c->stopped && hf_seam.boot_us() - c->wanted_us < LIVE_COUNTS_WANTED_US)
        event_add(c->timer, &time);
}

static void live_counts_answered(loop_job *job)
{
    live_counts *c = (live_counts *)job;
    c->asking = false;
    if (c->op.answer.status == HF_OK)
        metrics_count(c->settings.metrics, &c->op.answer);
    jobs_release(job);
    live_counts_wait_for(c, c->settings.interval_us);
}

/* A count that is refused or fails is tried again when the next is due: until then the last one
 * stands, with its time. */
static void live_counts_ask(evutil_socket_t fd, short what, void *context)
{
    live_counts *c = context;
    hf_error err = {0};
    (void)fd, (void)what;
    c->op = (hf_op){.kind = HF_OP_COUNT, .limit = HF_LIST_MAX};
    c->job = (loop_job){.job = {.ops = &c->op, .count = 1}, .finish = live_counts_answered};
    c->asking = jobs_submit(c->settings.jobs, &c->job, &err) == HF_OK;
    if (!c->asking)
        live_counts_wait_for(c, c->settings.interval_us);
}

hf_status live_counts_new(const live_counts_settings *settings, live_counts **out, hf_error *err)
{
    live_counts *c = hf_alloc(sizeof *c);
    if (c == NULL)
        return hf_fail_memory(err);
    c->settings = *settings;
    c->settings.interval_us =
        settings->interval_us == 0 ? LIVE_COUNTS_INTERVAL_US : settings->interval_us;
    c->wanted_us = hf_seam.boot_us();
    c->timer = evtimer_new(settings->base, live_counts_ask, c);
    if (c->timer == NULL) {
        hf_free(c);
        return hf_fail_memory(err);
    }
    live_counts_wait_for(c, 0);
    *out = c;
    return HF_OK;
}

void live_counts_wanted(live_counts *c)
{
    c->wanted_us = hf_seam.boot_us();
    if (!c->asking && !evtimer_pending(c->timer, NULL)) /* it had gone to sleep */
        live_counts_wait_for(c, 0);
}

void live_counts_count(live_counts *c)
{
    if (!c->stopped && !c->asking && !evtimer_pending(c->timer, NULL))
        event_active(c->timer, EV_TIMEOUT, 1);
}

void live_counts_stop(live_counts *c)
{
    c->stopped = true;
    event_del(c->timer);
}

bool live_counts_idle(const live_counts *c)
{
    return !c->asking;
}

void live_counts_free(live_counts *c)
{
    if (c == NULL)
        return;
    event_free(c->timer);
    hf_free(c);
}
