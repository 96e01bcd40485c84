/* SPDX-License-Identifier: MIT */
/* Host, Origin, cookies and CORS. */
#include "server/access/origin.h"

#include "base/digest.h"
#include "base/error.h"
#include "server/http/proxies.h"
#include "server/reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Host ---- */

/* The name without its port and brackets. */
static hf_slice host_name(const char *host)
{
    if (host[0] == '[') {
        const char *end = strchr(host, ']');
        return end == NULL ? hf_slice_of(host) : (hf_slice){host + 1, (size_t)(end - host - 1)};
    }
    const char *colon = strchr(host, ':');
    return colon == NULL ? hf_slice_of(host) : (hf_slice){host, (size_t)(colon - host)};
}

static bool same_name(hf_slice a, const char *b)
{
    return a.size == strlen(b) && strncasecmp(a.at, b, a.size) == 0;
}

static bool is_loopback_name(hf_slice name)
{
    return same_name(name, "localhost") || same_name(name, "::1") ||
           (name.size >= 7 && memcmp(name.at, "127.", 4) == 0 &&
            strspn(name.at, "0123456789.") >= name.size);
}

/* Names in any case; addresses however they are written. */
static bool same_host(hf_slice a, hf_slice b)
{
    net_address one, other;
    if (a.size == b.size && strncasecmp(a.at, b.at, a.size) == 0)
        return true;
    return net_address_parse(a.at, a.size, &one) && net_address_parse(b.at, b.size, &other) &&
           net_address_same(&one, &other);
}

/* A name that someone else's DNS points at a loopback address must not get in (rebinding). Beyond
 * loopback the names are the administrator's to say; until they are said, any will do. */
bool origin_host_is_ours(const char *host, const char *const *hosts, bool beyond_loopback)
{
    hf_slice name = host_name(host);
    bool named = hosts != NULL && hosts[0] != NULL;
    if (name.size == 0)
        return false;
    for (size_t i = 0; named && hosts[i] != NULL; i++)
        if (same_host(name, host_name(hosts[i])))
            return true;
    return is_loopback_name(name) || (beyond_loopback && !named);
}

/* The address that the client has connected to is ours without being named: no DNS stands behind a
 * number, so a page can't make it mean another machine, and one that another port of this machine
 * has sent is told apart by its Origin. Other numbers can't be rebound either, but are no names of
 * ours: by 0.0.0.0 browsers have let pages of anyone's get at loopback. (Where something passes the
 * port on, clients use a number that we don't see; then --host has it.) */
static bool is_for_us(request *req, const char *host)
{
    return origin_host_is_ours(host, req->service->settings->host, req->service->beyond_loopback) ||
           http_reached_at(req->http, host_name(host));
}

/* No page comes straight to a Unix socket, and programs that do put anything into Host. What a
 * proxy brings by one may be a page's. */
static bool by_own_socket(const request *req)
{
    return req->http->local && strcmp(req->http->peer, "unix") == 0;
}

/* A load balancer's check, by HTTP/1.0 without a Host at all: no browser sends that, so nobody's
 * page gets in by it, and what it is told is no secret. */
static bool origin_is_hostless_check(const request *req)
{
    hf_slice path = req->http->path;
    return http_header(req->http, "host") == NULL &&
           (req->http->method == HTTP_OPTIONS || hf_slice_equal(path, hf_slice_of("/healthz")) ||
            hf_slice_equal(path, hf_slice_of("/readyz")));
}

/* ---- Origin ---- */

static bool is_own_origin(const request *req, const char *origin, const char *host)
{
    const char *scheme = req->http->secure ? "https://" : "http://";
    size_t size = strlen(scheme);
    return strncmp(origin, scheme, size) == 0 && strcasecmp(origin + size, host) == 0;
}

static bool is_allowed_origin(const request *req, const char *origin)
{
    const char *const *allowed = req->service->settings->allow_origin;
    for (size_t i = 0; allowed[i] != NULL; i++)
        if (strcmp(allowed[i], origin) == 0)
            return true;
    return false;
}

hf_status origin_check(request *req, hf_error *err)
{
    const char *host = http_header(req->http, "host");
    const char *origin = http_header(req->http, "origin");
    if (host == NULL)
        host = "";
    if (!by_own_socket(req) && !origin_is_hostless_check(req) && !is_for_us(req, host))
        return hf_fail(err, HF_DENIED,
                       "The Host header names a server that this one does not answer for; name it "
                       "with --host.");
    if (origin == NULL || is_own_origin(req, origin, host))
        return HF_OK;
    if (req->route != NULL && req->route->public)
        return HF_OK;
    if (!is_allowed_origin(req, origin))
        return hf_fail(
            err, HF_DENIED,
            "Pages of that origin may not ask here; --allow-origin lists those that may.");
    req->origin = origin;
    return HF_OK;
}

/* ---- tokens ---- */

static hf_slice cookie_value(const char *cookies, const char *name)
{
    size_t size = strlen(name);
    while (cookies != NULL && *cookies != '\0') {
        cookies += strspn(cookies, " ;");
        size_t length = strcspn(cookies, ";");
        if (length > size && memcmp(cookies, name, size) == 0 && cookies[size] == '=')
            return (hf_slice){cookies + size + 1, length - size - 1};
        cookies += length;
    }
    return HF_NOTHING;
}

static bool is_safe(http_method method)
{
    return method == HTTP_GET || method == HTTP_HEAD || method == HTTP_OPTIONS;
}

/* The cookie of a visitor comes along with whatever a page of the same site sends, also where it is
 * not needed: with a beacon, which can't have a header of its own, and with a new login. Not
 * looking at it there gives nobody a right: who knows the key in the body may close the session,
 * and who knows the secret may have its cookie. That a page of someone else's logs a visitor in as
 * itself is prevented by its Origin, here as without an old cookie. */
static hf_slice cookie_of(request *req)
{
    return req->route->proved ? HF_NOTHING
                              : cookie_value(http_header(req->http, "cookie"), ORIGIN_COOKIE);
}

hf_status origin_token(request *req, const char **out, hf_error *err)
{
    const char *text = http_header(req->http, "authorization");
    if (text != NULL) {
        if (strncasecmp(text, "Bearer ", 7) != 0)
            return hf_fail(err, HF_UNAUTHENTICATED,
                           "The Authorization header must be 'Bearer TOKEN'.");
        *out = text + 7 + strspn(text + 7, " ");
        return HF_OK;
    }
    hf_slice cookie = cookie_of(req);
    if (cookie.size == 0)
        return HF_OK;
    req->cookie = true;
    if (!is_safe(req->http->method) && http_header(req->http, ORIGIN_CSRF_HEADER) == NULL)
        return hf_fail(err, HF_DENIED,
                       "A change that is authorised by a cookie needs the header Holdfast-CSRF.");
    *out = hf_arena_text(&req->http->arena, cookie);
    return *out == NULL ? hf_fail_memory(err) : HF_OK;
}

/* ---- headers ---- */

void origin_headers(request *req)
{
    if (req->route != NULL && req->route->public) {
        reply_header(req, "Access-Control-Allow-Origin", "*");
        reply_header(req, "Cross-Origin-Resource-Policy", "cross-origin");
        return;
    }
    if (req->service->settings->allow_origin[0] != NULL)
        reply_header(req, "Vary", "Origin");
    if (req->origin == NULL)
        return;
    reply_header(req, "Access-Control-Allow-Origin", req->origin);
    reply_header(req, "Access-Control-Expose-Headers",
                 "ETag, Holdfast-Fence, Retry-After, WWW-Authenticate");
}

void origin_preflight(request *req, const char *allow)
{
    reply_header(req, "Allow", allow);
    if (req->origin != NULL) {
        reply_header(req, "Access-Control-Allow-Methods", allow);
        reply_header(req, "Access-Control-Allow-Headers",
                     "Authorization, Content-Type, Holdfast-Session, Holdfast-Fence, "
                     "Idempotency-Key, If-Match, "
                     "If-None-Match, Last-Event-ID");
        reply_header(req, "Access-Control-Max-Age", "600");
    }
    reply_send(req, 204, NULL, HF_NOTHING);
}

void origin_set_cookie(request *req, const char *secret)
{
    char text[sizeof ORIGIN_COOKIE + HF_TOKEN_SECRET_SIZE + 96];
    snprintf(text, sizeof text, ORIGIN_COOKIE "=%s; Path=/; Secure; HttpOnly; SameSite=Strict%s",
             secret == NULL ? "" : secret, secret == NULL ? "; Max-Age=0" : "");
    reply_header(req, "Set-Cookie", text);
    reply_send(req, 204, NULL, HF_NOTHING);
    hf_secret_wipe(text, sizeof text);
}
