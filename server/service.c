/* SPDX-License-Identifier: MIT */
/* Builds the parts and takes them apart; counts and logs for all of them. */
#include "server/service.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/access/origin.h"
#include "server/routes/handlers.h"
#include "server/routes/route.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

/* ---- counting ---- */

void service_refused(service *s, int code)
{
    if (code == 401)
        metrics_refused(s->metrics, METRICS_UNAUTHENTICATED);
    if (code == 403)
        metrics_refused(s->metrics, METRICS_DENIED);
    if (code == 429)
        metrics_refused(s->metrics, METRICS_RATE_LIMITED);
}

void service_replied(request *req, int status)
{
    const service *s = req->service;
    const http_request *r = req->http;
    int64_t took_us = hf_seam.boot_us() - r->began_us;
    metrics_http(s->metrics,
                 req->route != NULL ? (size_t)(req->route - routes) : METRICS_ROUTE_NONE,
                 http_method_name(r->method), status, took_us);
    service_refused(req->service, status);
    if (log_wants(s->log, LOG_LEVEL_DEBUG))
        log_line(s->log, LOG_LEVEL_DEBUG, "Answered.",
                 LOG_TEXT("route", req->route != NULL ? req->route->name : "unknown"),
                 LOG_TEXT("method", http_method_name(r->method)), LOG_NUMBER("status", status),
                 LOG_NUMBER("us", took_us), LOG_TEXT("peer", r->peer),
                 LOG_TEXT("token", req->who.token != NULL ? req->who.token->id : ""));
}

enum { ACCEPT_TOLD_US = 60000000 };

static void service_count_incident(void *context, const char *what)
{
    service *s = context;
    metrics_incident(s->metrics, what);
    if (strcmp(what, "accept_failed") != 0)
        return;
    int64_t now_us = hf_seam.boot_us();
    if (s->accept_told_us != 0 && now_us - s->accept_told_us < ACCEPT_TOLD_US)
        return;
    s->accept_told_us = now_us;
    log_line(s->log, LOG_LEVEL_ERROR,
             "New connections wait: there are no open files or no memory left for them. Raise the "
             "limit of open files, or lower connections-max.");
}

static void service_sweep_failed(void *context, const char *sentence)
{
    service *s = context;
    log_line(s->log, LOG_LEVEL_WARNING, "The background sweep failed; it is tried again.",
             LOG_TEXT("why", sentence));
}

/* What any job came to. Outages are told by service_outage_changed. */
static void service_look_at_job(void *context, const committer_job *job)
{
    service *s = context;
    outage_look(s->outage, job);
    if (job->status == HF_INTERNAL)
        log_line(s->log, LOG_LEVEL_ERROR, "The store failed.",
                 LOG_TEXT("why", job->ops[0].answer.message));
}

static void service_outage_changed(void *context, bool down, const char *why, int64_t lasted_us)
{
    service *s = context;
    if (down)
        log_line(s->log, LOG_LEVEL_ERROR, "The store can't be used.", LOG_TEXT("why", why));
    else
        log_line(s->log, LOG_LEVEL_WARNING, "The store can be used again.",
                 LOG_NUMBER("after_ms", lasted_us / 1000));
}

/* ---- http ---- */

static hf_status service_status_of(int code)
{
    return code == 413   ? HF_TOO_LARGE
           : code == 408 ? HF_TIMEOUT
           : code == 429 ? HF_TOO_MANY
           : code == 500 ? HF_INTERNAL
           : code == 503 ? HF_UNAVAILABLE
                         : HF_INVALID;
}

const char *service_problem(void *context, int code, const char *sentence, hf_buffer *body)
{
    char *json = hf_problem_json(
        code, &(hf_refusal){.status = service_status_of(code), .message = sentence});
    (void)context;
    if (json != NULL)
        hf_buffer_add(body, json, strlen(json));
    hf_json_free(json);
    return "application/problem+json";
}

enum { STRANGERS_BODY_MAX = 256 << 10 };

/* A caller who shows no credentials has little to send. Those that are shown are not checked yet:
 * the share of each address bounds what comes with wrong ones. */
static size_t service_body_max(void *context, http_request *r)
{
    const char *cookies = http_header(r, "cookie");
    (void)context;
    bool shown = http_header(r, "authorization") != NULL ||
                 http_header(r, "holdfast-session") != NULL ||
                 (cookies != NULL && strstr(cookies, ORIGIN_PLAIN_COOKIE "=") != NULL);
    return shown ? SIZE_MAX : STRANGERS_BODY_MAX;
}

static hf_status service_listen_all(service *s, listeners *from, hf_error *err)
{
    http_tls tls = {s->settings->tls_certificate, s->settings->tls_key};
    hf_status status = HF_OK;
    for (size_t i = 0; i < from->count && status == HF_OK; i++) {
        listener *l = &from->all[i];
        status = http_listen(s->http, l->fd, l->tls ? &tls : NULL, err);
        if (status == HF_OK)
            l->fd = -1;
        s->beyond_loopback = s->beyond_loopback || !l->local;
    }
    return status;
}

http_settings service_http_settings(const settings *set, struct event_base *base,
                                    size_t connections_max, framing_limits *limits)
{
    size_t own = (size_t)set->connections_address, half = (connections_max + 1) / 2;
    *limits = framing_usual;
    limits->body_max = (uint64_t)set->body_max;
    return (http_settings){
        .base = base,
        .limits = limits,
        .problem = service_problem,
        .body_max = service_body_max,
        .connections_max = connections_max,
        .connections_address = own < half ? own : half,
        .head_timeout_us = set->head_timeout_us,
        .body_timeout_us = set->body_timeout_us,
        .idle_timeout_us = set->idle_timeout_us,
        .write_timeout_us = set->write_timeout_us,
        .proxies = set->trust_proxy,
    };
}

static hf_status service_new_http(service *s, hf_error *err)
{
    http_settings wanted =
        service_http_settings(s->settings, s->base, s->connections_max, &s->framing);
    wanted.handle = request_begin;
    wanted.count = service_count_incident;
    wanted.context = s;
    return http_new(&wanted, &s->http, err);
}

/* ---- the other rooms ---- */

static rate_limits_rule service_rule(int64_t rate, int64_t burst, int64_t requests, int64_t streams)
{
    return (rate_limits_rule){
        .every_us = rate == 0 ? 0 : 1000000 / rate,
        .burst = (unsigned)burst,
        .at_once = {
            [RATE_LIMITS_REQUEST] = (unsigned)requests, [RATE_LIMITS_STREAM] = (unsigned)streams}};
}

static hf_status service_new_limits(service *s, hf_error *err)
{
    const settings *set = s->settings;
    rate_limits_rule rules[RATE_LIMITS_KINDS] = {
        [RATE_LIMITS_TOKEN] = service_rule(set->rate_token, set->burst_token, set->requests_token,
                                           set->streams_token),
        [RATE_LIMITS_SESSION] =
            service_rule(set->rate_session, set->burst_session, 0, set->streams_session),
        [RATE_LIMITS_PEER] = service_rule(set->rate_address, set->burst_address, 0, 0),
    };
    s->limits = rate_limits_new(rules, 0);
    return s->limits == NULL ? hf_fail_memory(err) : HF_OK;
}

static hf_status service_new_quotas(service *s, hf_error *err)
{
    const settings *set = s->settings;
    quotas_settings wanted = {.jobs = s->jobs};
    if (strncmp(set->store, "http:", 5) != 0 && strncmp(set->store, "https:", 6) != 0) {
        wanted.limits[QUOTAS_LOCKS] = (size_t)set->locks_session;
        wanted.limits[QUOTAS_SESSIONS] = (size_t)set->sessions_token;
    } /* else the server behind has its own */
    return quotas_new(&wanted, &s->quotas, err);
}

static hf_status service_new_metrics(service *s, hf_error *err)
{
    char scheme[32] = "";
    s->route_names = hf_alloc((routes_count + 1) * sizeof *s->route_names);
    if (s->route_names == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < routes_count; i++)
        s->route_names[i] = routes[i].name;
    snprintf(scheme, sizeof scheme, "%.*s", (int)strcspn(s->settings->store, ":"),
             s->settings->store);
    return metrics_new(&(metrics_settings){.routes = s->route_names, .store = scheme}, &s->metrics,
                       err);
}

static hf_status service_new_documents(service *s, const listeners *listening, hf_error *err)
{
    char base[ADDRESS_NAME_SIZE + 16];
    const listener *first = &listening->all[0];
    snprintf(base, sizeof base, "%s://%s", first->tls ? "https" : "http", first->name);
    s->openapi = openapi_json();
    s->api = api_html(base);
    return s->openapi == NULL || s->api == NULL ? hf_fail_memory(err) : HF_OK;
}

enum { STREAMS_LOOK_US = 250000 };

static void service_on_streams(evutil_socket_t fd, short what, void *context)
{
    (void)fd, (void)what;
    streams_check(context);
}

static hf_status service_new_streams(service *s, hf_error *err)
{
    struct timeval often = {.tv_usec = STREAMS_LOOK_US};
    s->streams_timer = event_new(s->base, -1, EV_PERSIST, service_on_streams, s);
    return s->streams_timer != NULL && event_add(s->streams_timer, &often) == 0
               ? HF_OK
               : hf_fail_memory(err);
}

static hf_status service_new_outage(service *s, hf_error *err)
{
    outage_settings wanted = {
        .base = s->base, .jobs = s->jobs, .changed = service_outage_changed, .context = s};
    hf_status status = outage_new(&wanted, &s->outage, err);
    if (status == HF_OK)
        jobs_observe(s->jobs, service_look_at_job, s);
    return status;
}

static hf_status service_new_rooms(service *s, committer *access, hf_error *err)
{
    const settings *set = s->settings;
    hf_status status = jobs_new(s->base, s->committer, &s->jobs, err);
    if (status == HF_OK && access != NULL)
        status = jobs_new(s->base, access, &s->access, err);
    if (status == HF_OK)
        status = service_new_outage(s, err);
    if (status == HF_OK)
        status = service_new_metrics(s, err);
    if (status == HF_OK)
        status = authenticator_new(
            &(authenticator_settings){.jobs = s->jobs,
                                      .tokens_jobs = s->access,
                                      .streams_max = s->connections_max},
            &s->authenticator, err);
    if (status == HF_OK)
        status = service_new_limits(s, err);
    if (status == HF_OK)
        status = service_new_quotas(s, err);
    if (status == HF_OK)
        status = denials_new(s->access != NULL ? s->access : s->jobs, &s->denials, err);
    if (status == HF_OK)
        status = feed_new(&(feed_settings){.base = s->base, .store = s->store}, &s->feed, err);
    if (status == HF_OK)
        status = service_new_streams(s, err);
    if (status == HF_OK)
        status = live_counts_new(
            &(live_counts_settings){.base = s->base, .jobs = s->jobs, .metrics = s->metrics},
            &s->live_counts, err);
    if (status == HF_OK)
        status = history_new(&(history_settings){.base = s->base,
                                                 .metrics = s->metrics,
                                                 .live_counts = s->live_counts},
                             &s->history, err);
    if (status == HF_OK)
        status = sweeper_new(&(sweeper_settings){.base = s->base,
                                                 .jobs = s->jobs,
                                                 .interval_us = set->sweep_interval_us,
                                                 .keep_events_us = set->keep_events_us,
                                                 .keep_forced_us = set->keep_forced_us,
                                                 .failed = service_sweep_failed,
                                                 .context = s},
                             &s->sweeper, err);
    return status;
}

/* ---- from new to free ---- */

hf_status service_new(const service_settings *from, service **out, hf_error *err)
{
    service *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return hf_fail_memory(err);
    s->settings = from->settings;
    s->base = from->base;
    s->store = from->store;
    s->committer = from->committer;
    s->log = from->log;
    if (from->settings->hsts_us > 0)
        snprintf(s->hsts, sizeof s->hsts, "max-age=%lld",
                 (long long)(from->settings->hsts_us / 1000000));
    s->connections_max = from->connections_max > 0 ? from->connections_max
                                                   : (size_t)from->settings->connections_max;
    hf_status status = service_new_rooms(s, from->access, err);
    if (status == HF_OK)
        status = service_new_http(s, err);
    if (status == HF_OK)
        status = service_listen_all(s, from->listening, err);
    if (status == HF_OK)
        status = service_new_documents(s, from->listening, err);
    *out = s;
    return status;
}

hf_status service_reload(service *s, hf_error *err)
{
    return http_reload(s->http, err);
}

void service_stop(service *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    if (s->http != NULL)
        http_stop(s->http);
    if (s->feed != NULL)
        feed_stop(s->feed);
    if (s->history != NULL)
        history_stop(s->history);
    if (s->live_counts != NULL)
        live_counts_stop(s->live_counts);
    if (s->sweeper != NULL)
        sweeper_stop(s->sweeper);
    if (s->outage != NULL)
        outage_stop(s->outage);
}

bool service_idle(const service *s)
{
    return http_requests(s->http) == 0 && http_connections(s->http) == 0 &&
           jobs_under_way(s->jobs) == 0 && (s->access == NULL || jobs_under_way(s->access) == 0);
}

void service_free(service *s)
{
    if (s == NULL)
        return;
    if (s->access != NULL)
        jobs_drain(s->access);
    if (s->jobs != NULL)
        jobs_drain(s->jobs);
    if (s->streams_timer != NULL)
        event_free(s->streams_timer);
    http_free(s->http);
    sweeper_free(s->sweeper);
    history_free(s->history);
    live_counts_free(s->live_counts);
    outage_free(s->outage);
    feed_free(s->feed);
    denials_free(s->denials);
    quotas_free(s->quotas);
    rate_limits_free(s->limits);
    authenticator_free(s->authenticator);
    metrics_free(s->metrics);
    jobs_free(s->access);
    jobs_free(s->jobs);
    hf_free(s->route_names);
    hf_json_free(s->openapi);
    hf_json_free(s->api);
    hf_free(s);
}
