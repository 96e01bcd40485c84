/* SPDX-License-Identifier: MIT */
/* How the server is, what it counts, and what it is. */
#include "base/error.h"
#include "base/json.h"
#include "server/routes/handlers.h"
#include "server/routes/openapi.h"

#include <holdfast/holdfast.h>
#include <string.h>

void health_reply(request *req)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "status", "ok");
    hf_json_end(&json, '}');
    reply_json(req, 200, hf_buffer_take(&json.out));
}

/* ---- /readyz ---- */

/* A cheap look at the store: who holds what nobody has. During an outage its own probe looks. */
hf_status ready_parse(request *req, hf_error *err)
{
    if (req->service->stopping)
        return hf_fail(err, HF_UNAVAILABLE, "The server is stopping; ask another.");
    if (outage_is(req->service->outage))
        return hf_fail(err, HF_UNAVAILABLE, "The store can't be used; the server's log says why.");
    hf_status status = request_room(req, 1, err);
    if (status == HF_OK) {
        hf_op *op = request_add(req, HF_OP_WHO);
        op->type = "holdfast.ready";
        op->id = "?";
    }
    return status;
}

/* A token that isn't good is none: whoever checks the server is not to learn of that here. */
hf_status ready_authorize(request *req, hf_error *err)
{
    (void)req, (void)err;
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

void ready_reply(request *req)
{
    hf_json json = {0};
    hf_grade grade = {0};
    committer_grade(req->service->committer, &grade);
    ready_json(&json, req->service, &grade, req->who.token != NULL);
    reply_json(req, grade.broken ? 503 : 200, hf_buffer_take(&json.out));
}

/* ---- /metrics ---- */

hf_status metrics_authorize(request *req, hf_error *err)
{
    hf_op op = {.kind = HF_OP_COUNT};
    return req->service->settings->metrics_public ? HF_OK : authorize_op(&req->who, &op, err);
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

void metrics_reply(request *req)
{
    metrics_look now = {0};
    hf_buffer out = {0};
    hf_error err = {0};
    route_health_look(req->service, &now);
    live_counts_wanted(req->service->live_counts);
    hf_status status = metrics_write(req->service->metrics, &now, &out, &err);
    if (status != HF_OK)
        reply_problem(req, 0, status, &err);
    else
        reply_send(req, 200, METRICS_CONTENT_TYPE, (hf_slice){out.text, out.size});
    hf_buffer_done(&out);
}

/* ---- /v1/history ---- */

hf_status history_parse(request *req, hf_error *err)
{
    const char *span = req->in.span;
    if (span == NULL || strcmp(span, "hour") == 0 || strcmp(span, "day") == 0)
        return HF_OK;
    return hf_fail(err, HF_INVALID, "\"span\" must be hour or day.");
}

void history_reply(request *req)
{
    hf_buffer out = {0};
    bool day = req->in.span != NULL && strcmp(req->in.span, "day") == 0;
    live_counts_wanted(req->service->live_counts);
    history_write(req->service->history, day ? HISTORY_DAY : HISTORY_HOUR, &out);
    reply_json(req, 200, hf_buffer_take(&out));
}

/* ---- documents ---- */

void openapi_reply(request *req)
{
    reply_send(req, 200, "application/json", hf_slice_of(req->service->openapi));
}
