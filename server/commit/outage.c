/* SPDX-License-Identifier: MIT */
/* The outage: what jobs come to begins it, a timer and a probe take turns until it is over. */
#include "server/commit/outage.h"

#include "base/error.h"
#include "base/seams.h"

#include <event2/event.h>

#define SECOND_US INT64_C(1000000)
#define LEAST_US  INT64_C(50000)  /* between two probes, ... */
#define MOST_US   INT64_C(500000) /* ... more each time, up to this */
#define SETTLED_US                                                                                 \
    (10 * SECOND_US)             /* an outage that begins sooner after the last is the same one */
#define FLAPS_US (5 * SECOND_US) /* ... and then this is the most before its first probe */

struct outage {
    loop_job job; /* first: what finishes is the outage */
    hf_op op;
    hf_credentials nobody;
    outage_settings settings;
    struct event *timer;
    bool down, asking, stopped;
    int64_t since_us;    /* when it began */
    int64_t ended_us;    /* when the last one ended; 0: there was none */
    int64_t patience_us; /* before the next probe */
    int64_t flap_us;     /* before the first probe of this outage */
};

static void outage_wait(outage *o, int64_t us)
{
    struct timeval time = {.tv_sec = us / SECOND_US, .tv_usec = us % SECOND_US};
    if (!o->stopped)
        event_add(o->timer, &time);
}

static int64_t outage_double(int64_t us, int64_t most_us)
{
    int64_t next_us = us == 0 ? LEAST_US : 2 * us;
    return next_us < most_us ? next_us : most_us;
}

/* ---- what jobs come to ---- */

static bool outage_is_away(hf_status status)
{
    return status == HF_UNAVAILABLE || status == HF_UNSURE;
}

/* The sentence of a job that found the store away; NULL: it did not. */
static const char *outage_reason(const committer_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const hf_answer *answer = &job->ops[i].answer;
        if (outage_is_away(answer->status))
            return answer->message != NULL ? answer->message : hf_status_sentence(answer->status);
    }
    return NULL;
}

/* Only what needs room on disk shows that there is some. */
static bool outage_is_disproved(const committer_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (hf_op_grows(job->ops[i].kind) && job->ops[i].answer.status == HF_OK)
            return true;
    return false;
}

static void outage_begin(outage *o, const char *why)
{
    int64_t now_us = hf_seam.boot_us();
    bool again = o->ended_us != 0 && now_us - o->ended_us < SETTLED_US;
    o->down = true;
    o->since_us = now_us;
    o->flap_us = again ? outage_double(o->flap_us, FLAPS_US) : 0;
    o->patience_us = 0;
    if (o->settings.changed != NULL)
        o->settings.changed(o->settings.context, true, why, 0);
    outage_wait(o, o->flap_us);
}

static void outage_end(outage *o)
{
    o->down = false;
    o->ended_us = hf_seam.boot_us();
    event_del(o->timer);
    if (o->settings.changed != NULL)
        o->settings.changed(o->settings.context, false, NULL, o->ended_us - o->since_us);
}

void outage_look(void *context, const committer_job *job)
{
    outage *o = context;
    const char *why = outage_reason(job);
    if (!o->down && why != NULL)
        outage_begin(o, why);
    else if (o->down && why == NULL && outage_is_disproved(job))
        outage_end(o);
}

/* ---- the probe ---- */

/* Any answer that is the law's own says that the store could be written. Someone who stands in the
 * way (busy, retry) says nothing. */
static void outage_answered(loop_job *job)
{
    outage *o = (outage *)job;
    hf_status status = o->op.answer.status;
    o->asking = false;
    if (o->down && !outage_is_away(status) && status != HF_BUSY && status != HF_RETRY)
        outage_end(o);
    jobs_release(job);
    if (!o->down)
        return;
    o->patience_us = outage_double(o->patience_us, MOST_US);
    outage_wait(o, o->patience_us);
}

static void outage_probe(evutil_socket_t fd, short what, void *context)
{
    outage *o = context;
    hf_error err = {0};
    (void)fd, (void)what;
    if (o->asking)
        return; /* of the outage before this one; its answer decides */
    o->op =
        (hf_op){.kind = HF_OP_ACQUIRE, .session = &o->nobody, .type = "holdfast.ready", .id = "?"};
    o->job = (loop_job){.job = {.ops = &o->op, .count = 1}, .finish = outage_answered};
    o->asking = jobs_submit(o->settings.jobs, &o->job, &err) == HF_OK;
    if (!o->asking)
        outage_wait(o, MOST_US);
}

/* ---- from new to free ---- */

hf_status outage_new(const outage_settings *settings, outage **out, hf_error *err)
{
    outage *o = hf_alloc(sizeof *o);
    if (o == NULL)
        return hf_fail_memory(err);
    o->settings = *settings;
    hf_status status = hf_credentials_new(NULL, &o->nobody, err);
    if (status == HF_OK && (o->timer = evtimer_new(settings->base, outage_probe, o)) == NULL)
        status = hf_fail_memory(err);
    if (status == HF_OK)
        *out = o;
    else
        hf_free(o);
    return status;
}

bool outage_is(const outage *o)
{
    return o->down;
}

void outage_stop(outage *o)
{
    o->stopped = true;
    event_del(o->timer);
}

void outage_free(outage *o)
{
    if (o == NULL)
        return;
    event_free(o->timer);
    hf_free(o);
}
