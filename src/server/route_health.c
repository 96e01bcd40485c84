/* SPDX-License-Identifier: MIT */
/* How the server is, what it counts, and what it is. */
#include "base/error.h"
#include "base/json.h"
#include "server/handlers.h"
#include "server/openapi.h"

#include <holdfast/holdfast.h>
#include <string.h>

void tell_health(exchange *x)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "status", "ok");
    hf_json_end(&json, '}');
    exchange_json(x, 200, hf_buffer_take(&json.out));
}

/* ---- /readyz ---- */

/* A cheap look at the store: who holds what nobody has. During an outage its own probe looks. */
hf_status ask_ready(exchange *x, hf_error *err)
{
    if (x->service->stopping)
        return hf_fail(err, HF_UNAVAILABLE, "The server is stopping; ask another.");
    if (outage_is(x->service->outage))
        return hf_fail(err, HF_UNAVAILABLE, "The store can't be used; the server's log says why.");
    hf_status status = exchange_room(x, 1, err);
    if (status == HF_OK) {
        hf_op *op = exchange_add(x, HF_OP_WHO);
        op->type = "holdfast.ready";
        op->id = "?";
    }
    return status;
}

/* A token that isn't good is none: whoever checks the server is not to learn of that here. */
hf_status judge_ready(exchange *x, hf_error *err)
{
    (void)x, (void)err;
    return HF_OK;
}

/* What the store is and where is told only to those with a token. */
static void ready_json(hf_json *json, const service *s, const hf_grade *grade, bool more)
{
    hf_json_begin(json, '{');
    hf_json_put_bool(json, "ready", !grade->broken);
    hf_json_put_text(json, "version", hf_library_version());
    hf_json_put_text(json, "grade", hf_grade_level_name(grade->level));
    if (more) {
        hf_json_put_text(json, "text", grade->text);
        hf_json_put_text(json, "store", metrics_store(s->metrics));
        hf_json_put_time(json, "started", metrics_started_us(s->metrics));
    }
    hf_json_put_bool(json, "broken", grade->broken);
    hf_json_end(json, '}');
}

void tell_ready(exchange *x)
{
    hf_json json = {0};
    hf_grade grade = {0};
    committer_grade(x->service->committer, &grade);
    ready_json(&json, x->service, &grade, x->who.token != NULL);
    exchange_json(x, grade.broken ? 503 : 200, hf_buffer_take(&json.out));
}

/* ---- /metrics ---- */

hf_status judge_metrics(exchange *x, hf_error *err)
{
    hf_op op = {.kind = HF_OP_COUNT};
    return x->service->settings->metrics_public ? HF_OK : caller_judge(&x->who, &op, err);
}

static void route_health_look(service *s, metrics_look *out)
{
    feed_stats events;
    feed_stats_read(s->feed, &events);
    committer_stats_read(s->committer, &out->committer);
    sweeper_stats_read(s->sweeper, &out->sweeper);
    committer_grade(s->committer, &out->grade);
    out->up = !outage_is(s->outage);
    out->connections = http_connections(s->http);
    out->requests = http_requests(s->http);
    out->events_newest = events.newest;
    out->events_delivered = events.delivered;
    out->events_lag_us = events.lag_us;
    out->events_silent_us = events.silent_us;
    out->events_failures = events.failures;
    out->followers = events.followers;
    out->resyncs = events.resyncs;
}

void tell_metrics(exchange *x)
{
    metrics_look now = {0};
    hf_buffer out = {0};
    hf_error err = {0};
    route_health_look(x->service, &now);
    census_wanted(x->service->census);
    hf_status status = metrics_write(x->service->metrics, &now, &out, &err);
    if (status != HF_OK)
        exchange_problem(x, 0, status, &err);
    else
        exchange_reply(x, 200, METRICS_CONTENT_TYPE, (hf_slice){out.text, out.size});
    hf_buffer_done(&out);
}

/* ---- /v1/history ---- */

hf_status ask_history(exchange *x, hf_error *err)
{
    const char *span = x->in.span;
    if (span == NULL || strcmp(span, "hour") == 0 || strcmp(span, "day") == 0)
        return HF_OK;
    return hf_fail(err, HF_INVALID, "\"span\" must be hour or day.");
}

void tell_history(exchange *x)
{
    hf_buffer out = {0};
    bool day = x->in.span != NULL && strcmp(x->in.span, "day") == 0;
    census_wanted(x->service->census);
    history_write(x->service->history, day ? HISTORY_DAY : HISTORY_HOUR, &out);
    exchange_json(x, 200, hf_buffer_take(&out));
}

/* ---- documents ---- */

void tell_openapi(exchange *x)
{
    exchange_reply(x, 200, "application/json", hf_slice_of(x->service->openapi));
}
