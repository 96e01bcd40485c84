/* SPDX-License-Identifier: MIT */
/* Two rings of samples and a timer. What is counted since the start is kept as it was at the
 * last sample, so that a sample has what came since. */
#include "server/history.h"

#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"

#include <event2/event.h>

#define SECOND_US INT64_C(1000000)

typedef struct history_sample {
    int64_t at_us;
    metrics_totals now; /* gauges as they are, counts since the sample before */
} history_sample;

typedef struct history_ring {
    history_sample samples[HISTORY_SAMPLES];
    size_t count, next, most;
} history_ring;

struct history {
    history_settings settings;
    struct event *timer;
    metrics_totals last;   /* of the counters, at the last sample */
    history_sample minute; /* the one that is being gathered */
    unsigned gathered;
    history_ring rings[HISTORY_SPANS];
};

static void history_add(history_ring *ring, const history_sample *sample)
{
    ring->samples[ring->next] = *sample;
    ring->next = (ring->next + 1) % ring->most;
    ring->count += ring->count < ring->most;
}

static void history_add_counts(metrics_totals *to, const metrics_totals *more)
{
    to->counted = more->counted;
    to->locks = more->locks;
    to->sessions = more->sessions;
    to->granted += more->granted;
    to->refused += more->refused;
    to->requested += more->requested;
    to->saved += more->saved;
}

static void history_take(history *h)
{
    history_sample sample = {.at_us = hf_seam.wall_us()};
    metrics_totals now = metrics_totals_read(h->settings.metrics);
    sample.now = now;
    sample.now.granted -= h->last.granted;
    sample.now.refused -= h->last.refused;
    sample.now.requested -= h->last.requested;
    sample.now.saved -= h->last.saved;
    h->last = now;
    history_add(&h->rings[HISTORY_HOUR], &sample);
    history_add_counts(&h->minute.now, &sample.now);
    if (++h->gathered < HISTORY_PER_MINUTE)
        return;
    h->minute.at_us = sample.at_us;
    history_add(&h->rings[HISTORY_DAY], &h->minute);
    h->minute = (history_sample){0};
    h->gathered = 0;
    live_counts_count(h->settings.live_counts);
}

static void history_tick(evutil_socket_t fd, short what, void *context)
{
    (void)fd, (void)what;
    history_take(context);
}

hf_status history_new(const history_settings *settings, history **out, hf_error *err)
{
    history *h = hf_alloc(sizeof *h);
    if (h == NULL)
        return hf_fail_memory(err);
    h->settings = *settings;
    h->settings.interval_us =
        settings->interval_us == 0 ? HISTORY_INTERVAL_US : settings->interval_us;
    h->rings[HISTORY_HOUR].most = 60 * HISTORY_PER_MINUTE;
    h->rings[HISTORY_DAY].most = HISTORY_SAMPLES;
    h->timer = event_new(settings->base, -1, EV_PERSIST, history_tick, h);
    struct timeval every = {.tv_sec = h->settings.interval_us / SECOND_US,
                            .tv_usec = h->settings.interval_us % SECOND_US};
    *out = h;
    return h->timer != NULL && event_add(h->timer, &every) == 0 ? HF_OK : hf_fail_memory(err);
}

void history_stop(history *h)
{
    if (h->timer != NULL)
        event_del(h->timer);
}

void history_free(history *h)
{
    if (h != NULL && h->timer != NULL)
        event_free(h->timer);
    hf_free(h);
}

/* ---- telling ---- */

typedef int64_t history_column(const history_sample *sample);

static int64_t history_at(const history_sample *s)
{
    return s->at_us / SECOND_US;
}

static int64_t history_locks(const history_sample *s)
{
    return s->now.counted ? (int64_t)s->now.locks : -1;
}

static int64_t history_sessions(const history_sample *s)
{
    return s->now.counted ? (int64_t)s->now.sessions : -1;
}

static int64_t history_granted(const history_sample *s)
{
    return (int64_t)s->now.granted;
}

static int64_t history_refused(const history_sample *s)
{
    return (int64_t)s->now.refused;
}

static int64_t history_requested(const history_sample *s)
{
    return (int64_t)s->now.requested;
}

static int64_t history_saved(const history_sample *s)
{
    return (int64_t)s->now.saved;
}

/* -1, not counted yet, is written as null. */
static void history_write_column(hf_json *json, const history_ring *ring, const char *name,
                                 history_column *value)
{
    hf_json_name(json, name);
    hf_json_begin(json, '[');
    for (size_t i = 0; i < ring->count; i++) {
        int64_t it =
            value(&ring->samples[(ring->next + ring->most - ring->count + i) % ring->most]);
        if (it < 0)
            hf_json_text(json, NULL);
        else
            hf_json_int(json, it);
    }
    hf_json_end(json, ']');
}

void history_write(const history *h, history_span span, hf_buffer *out)
{
    hf_json json = {0};
    const history_ring *ring = &h->rings[span];
    hf_json_begin(&json, '{');
    hf_json_name(&json, "step_seconds");
    hf_json_seconds(&json,
                    h->settings.interval_us * (span == HISTORY_DAY ? HISTORY_PER_MINUTE : 1));
    history_write_column(&json, ring, "at", history_at);
    history_write_column(&json, ring, "locks", history_locks);
    history_write_column(&json, ring, "sessions", history_sessions);
    history_write_column(&json, ring, "granted", history_granted);
    history_write_column(&json, ring, "refused", history_refused);
    history_write_column(&json, ring, "requested", history_requested);
    history_write_column(&json, ring, "saved", history_saved);
    hf_json_end(&json, '}');
    *out = json.out;
}
