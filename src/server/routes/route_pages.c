/* SPDX-License-Identifier: MIT */
/* The pages and what they are made of: the files of web/, compiled in, and the page of the routes.
 * They change only with the program, so a browser asks with the ETag that it has and is told 304.
 * Nothing in a page is inline: the policy lets it run the server's own files alone. */
#include "server/routes/handlers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
