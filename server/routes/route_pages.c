/* SPDX-License-Identifier: MIT */
/* What is not about locks: health, metrics, and the pages with the files they are made of. */
#include "base/error.h"
#include "base/json.h"
#include "server/routes/handlers.h"
#include "server/routes/route.h"

#include <assert.h>
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- health and metrics ---- */

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
static void route_pages_ready_json(hf_json *json, const service *s, const hf_grade *grade,
                                   bool more)
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
    route_pages_ready_json(&json, req->service, &grade, req->who.token != NULL);
    reply_json(req, grade.broken ? 503 : 200, hf_buffer_take(&json.out));
}

/* ---- /metrics ---- */

hf_status metrics_authorize(request *req, hf_error *err)
{
    hf_op op = {.kind = HF_OP_COUNT};
    return req->service->settings->metrics_public ? HF_OK : authorize_op(&req->who, &op, err);
}

static void route_pages_look(service *s, metrics_look *out)
{
    feed_stats events;
    feed_stats_read(s->feed, &events);
    committer_stats_read(s->committer, &out->committer);
    sweeper_stats_read(s->sweeper, &out->sweeper);
    committer_grade(s->committer, &out->grade);
    out->up = !outage_is(s->outage);
    out->connections = http_connections(s->http);
    out->requests = http_requests(s->http);
    out->certificate_ends_us = s->certificate_ends_us;
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
    route_pages_look(req->service, &now);
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

/* ---- pages ---- */

/* The pages and what they are made of: the files of web/, compiled in, and the page of the routes.
 * They change only with the program, so a browser asks with the ETag that it has and is told 304.
 * Nothing in a page is inline: the policy lets it run the server's own files alone. */

typedef struct embedded_file {
    const char *name, *hash;
    hf_slice plain, gzip;
} embedded_file;

#include "web/files.h"

/* What a page of ours may do: load what stands beside it, ask this server, and nothing else. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; "                                \
    "require-trusted-types-for 'script'; trusted-types lit-html"

/* Each path, the file that stands there, and its type. */
static const struct page {
    const char *path, *file, *type;
} pages[] = {
    {"/", "index.html", "text/html; charset=utf-8"},
    {"/dashboard.js", "dashboard.js", "text/javascript; charset=utf-8"},
    {"/style.css", "style.css", "text/css; charset=utf-8"},
    {"/icon.svg", "icon.svg", "image/svg+xml"},
    {"/edit-lock.js", "edit-lock.js", "text/javascript; charset=utf-8"},
};

static const struct page *page_at(const char *path)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(pages[i].path, path) == 0)
            return &pages[i];
    return NULL;
}

static const embedded_file *page_file(const struct page *page)
{
    for (size_t i = 0; page != NULL && i < sizeof web_files / sizeof web_files[0]; i++)
        if (strcmp(web_files[i].name, page->file) == 0)
            return &web_files[i];
    return NULL;
}

/* Does the client take gzip? It is named, and not with a weight of 0. */
static bool page_takes_gzip(request *req)
{
    const char *text = http_header(req->http, "accept-encoding");
    while (text != NULL && *text != '\0') {
        text += strspn(text, " \t,");
        size_t size = strcspn(text, ",");
        if (size >= 4 && strncasecmp(text, "gzip", 4) == 0 && strchr("; \t,", text[4]) != NULL) {
            const char *weight = memchr(text, '=', size);
            return weight == NULL || strspn(weight + 1, "0.") < strcspn(weight + 1, ", \t");
        }
        text += size;
    }
    return false;
}

/* Weak comparison, as RFC 9110 wants it here; one of a list will do. */
static bool page_is_known(const request *req, const char *etag)
{
    const char *known = req->in.if_none_match;
    return known != NULL && (strcmp(known, "*") == 0 || strstr(known, etag) != NULL);
}

static bool page_is_html(const char *type)
{
    return strncmp(type, "text/html", 9) == 0;
}

static void page_headers(request *req, const char *type)
{
    reply_header(req, "Cache-Control", "no-cache");
    if (page_is_html(type)) {
        reply_header(req, "Content-Security-Policy", PAGE_POLICY);
        reply_header(req, "Referrer-Policy", "no-referrer");
        reply_header(req, "Cross-Origin-Opener-Policy", "same-origin");
    }
}

void page_reply(request *req)
{
    const struct page *page = page_at(req->route->path);
    const embedded_file *file = page_file(page);
    assert(file != NULL);
    char etag[64];
    bool gzip = page_takes_gzip(req);
    snprintf(etag, sizeof etag, "\"%s%s\"", file->hash, gzip ? "-gzip" : "");
    reply_header(req, "ETag", etag);
    reply_header(req, "Vary", "Accept-Encoding");
    page_headers(req, page->type);
    if (page_is_known(req, etag)) {
        reply_send(req, 304, NULL, HF_NOTHING);
        return;
    }
    if (gzip)
        reply_header(req, "Content-Encoding", "gzip");
    reply_send(req, 200, page->type, gzip ? file->gzip : file->plain);
}

/* It names the server's own address, so it is made when the server starts. */
void api_reply(request *req)
{
    page_headers(req, "text/html");
    reply_send(req, 200, "text/html; charset=utf-8", hf_slice_of(req->service->api));
}
