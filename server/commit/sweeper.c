/* SPDX-License-Identifier: MIT */
/* The sweeper: a timer and a job that take turns.
 *
 *      waiting --timer--> asking --answered, more--> waiting for the pause
 *         ^                  |---answered, done----> waiting for the interval
 *         |                  `---failed------------> waiting for longer each time
 *         `------------------------------------------------' */
#include "server/commit/sweeper.h"

#include "base/error.h"
#include "base/seams.h"

#include <assert.h>
#include <event2/event.h>

#define SECOND_US INT64_C(1000000)

struct sweeper {
    loop_job job; /* first: what finishes is the sweeper */
    hf_op op;
    sweeper_settings settings;
    struct event *timer;
    bool asking;
    bool stopped;
    int64_t patience_us; /* after a failure; 0: the last turn went well */
    sweeper_stats stats;
};

/* Somewhere from three quarters of it to five quarters, so that servers that started together do
 * not stay together. */
static int64_t sweeper_jittered(int64_t us)
{
    uint16_t drawn = 0;
    if (!hf_seam.random(&drawn, sizeof drawn))
        return us;
    return us - us / 4 + us / 2 / UINT16_MAX * drawn;
}

static void sweeper_wait_for(sweeper *s, int64_t us)
{
    struct timeval time = {.tv_sec = us / SECOND_US, .tv_usec = us % SECOND_US};
    if (!s->stopped)
        event_add(s->timer, &time);
}

/* After so many pauses (a second), twice that, four times ... but an interval at most. */
enum { FIRST_PAUSES = 50 };

static void sweeper_wait_longer(sweeper *s)
{
    int64_t next_us =
        s->patience_us == 0 ? FIRST_PAUSES * s->settings.pause_us : 2 * s->patience_us;
    s->patience_us = next_us < s->settings.interval_us ? next_us : s->settings.interval_us;
    sweeper_wait_for(s, sweeper_jittered(s->patience_us));
}

static void sweeper_note_failure(sweeper *s, const char *sentence)
{
    s->stats.failures++;
    if (s->patience_us == 0 && s->settings.failed != NULL)
        s->settings.failed(s->settings.context, sentence);
    sweeper_wait_longer(s);
}

static void sweeper_note_success(sweeper *s, const hf_answer *answer)
{
    s->patience_us = 0;
    s->stats.rows += answer->swept;
    s->stats.behind = answer->more;
    if (answer->more) {
        sweeper_wait_for(s, s->settings.pause_us);
        return;
    }
    s->stats.sweeps++;
    s->stats.last_us = hf_seam.wall_us();
    sweeper_wait_for(s, sweeper_jittered(s->settings.interval_us));
}

static void sweeper_answered(loop_job *job)
{
    sweeper *s = (sweeper *)job;
    const hf_answer *answer = &s->op.answer;
    s->asking = false;
    s->stats.turns++;
    if (answer->status == HF_OK)
        sweeper_note_success(s, answer);
    else
        sweeper_note_failure(s, answer->message != NULL ? answer->message
                                                        : hf_status_sentence(answer->status));
    jobs_release(job);
}

/* Begins a turn. The committer refuses when it is full or stops: then it is not the moment for a
 * sweep. */
static void sweeper_ask(evutil_socket_t fd, short what, void *context)
{
    sweeper *s = context;
    hf_error err = {0};
    (void)fd, (void)what;
    s->op = (hf_op){
        .kind = HF_OP_SWEEP,
        .limit = s->settings.limit,
        .keep_events_us = s->settings.keep_events_us,
        .keep_forced_us = s->settings.keep_forced_us,
    };
    s->job = (loop_job){.job = {.ops = &s->op, .count = 1}, .finish = sweeper_answered};
    s->asking = jobs_submit(s->settings.jobs, &s->job, &err) == HF_OK;
    if (!s->asking)
        sweeper_wait_longer(s);
}

hf_status sweeper_new(const sweeper_settings *settings, sweeper **out, hf_error *err)
{
    assert(settings->interval_us > 0);
    if (settings->keep_events_us < 0 || settings->keep_forced_us < 0 ||
        (settings->keep_forced_us != 0 &&
         (settings->keep_events_us == 0 || settings->keep_forced_us < settings->keep_events_us)))
        return hf_fail(err, HF_INVALID,
                       "Forced acts can't be kept for a shorter time than other events; make it "
                       "longer, or 0 to "
                       "keep them for ever.");
    sweeper *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return hf_fail_memory(err);
    s->settings = *settings;
    s->settings.pause_us = settings->pause_us == 0 ? SWEEPER_PAUSE_US : settings->pause_us;
    s->settings.limit = settings->limit == 0 ? SWEEPER_LIMIT : settings->limit;
    s->timer = evtimer_new(settings->base, sweeper_ask, s);
    if (s->timer == NULL) {
        hf_free(s);
        return hf_fail_memory(err);
    }
    sweeper_wait_for(s, sweeper_jittered(s->settings.interval_us) / 2);
    *out = s;
    return HF_OK;
}

void sweeper_stats_read(const sweeper *s, sweeper_stats *out)
{
    *out = s->stats;
}

void sweeper_stop(sweeper *s)
{
    s->stopped = true;
    event_del(s->timer);
}

bool sweeper_idle(const sweeper *s)
{
    return !s->asking;
}

void sweeper_free(sweeper *s)
{
    if (s == NULL)
        return;
    event_free(s->timer);
    hf_free(s);
}
