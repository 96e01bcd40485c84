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

/* Takes apart HOST or HOST:PORT, where HOST is a name, or an address, that of IPv6 in brackets;
 * `name` is without them. False: it is neither. No name: it is empty. */
static bool origin_read_host(const char *host, hf_slice *name)
{
    static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-._~%!$&'()*+,;=";
    net_address parsed;
    bool v6 = host[0] == '[';
    const char *at = v6 ? host + 1 : host;
    const char *end = at + (v6 ? strcspn(at, "]") : strspn(at, of_names));
    *name = (hf_slice){at, (size_t)(end - at)};
    if (v6 && (*end != ']' || memchr(at, ':', name->size) == NULL ||
               !net_address_parse(host, name->size + 2, &parsed)))
        return false;
    end += v6 ? 1 : 0;
    return *end == '\0' || (*end == ':' && end[1 + strspn(end + 1, "0123456789")] == '\0');
}

static bool origin_is_loopback_name(hf_slice name)
{
    bool localhost = name.size == 9 && strncasecmp(name.at, "localhost", 9) == 0;
    bool v6 = name.size == 3 && memcmp(name.at, "::1", 3) == 0;
    return localhost || v6 ||
           (name.size >= 7 && memcmp(name.at, "127.", 4) == 0 &&
            strspn(name.at, "0123456789.") >= name.size);
}

/* Names are compared without case, addresses by value. */
static bool origin_same_host(hf_slice a, hf_slice b)
{
    net_address one, other;
    if (a.size == b.size && strncasecmp(a.at, b.at, a.size) == 0)
        return true;
    return net_address_parse(a.at, a.size, &one) && net_address_parse(b.at, b.size, &other) &&
           net_address_same(&one, &other);
}

/* A foreign name that resolves to a loopback address is refused (DNS rebinding). If the server can
 * be reached from other machines, any name is taken until the administrator has set --host. */
static bool origin_host_is_ours(hf_slice name, const char *const *hosts, bool beyond_loopback)
{
    hf_slice ours;
    bool named = hosts != NULL && hosts[0] != NULL;
    if (name.size == 0)
        return false;
    for (size_t i = 0; named && hosts[i] != NULL; i++)
        if (origin_read_host(hosts[i], &ours) && origin_same_host(name, ours))
            return true;
    return origin_is_loopback_name(name) || (beyond_loopback && !named);
}

/* Whether the request is meant for this server. */
static hf_status origin_host_check(request *req, const char *host, hf_error *err)
{
    hf_slice name;
    hf_slice path = req->http->path;
    /* No page connects to a Unix socket, and programs that do send any Host. A proxy that connects
     * to one may forward a page's request: then `local` is false. */
    if (req->http->local && strcmp(req->http->peer, "unix") == 0)
        return HF_OK;
    /* The health check of a load balancer, by HTTP/1.0 without Host. No browser sends that, and the
     * answer is no secret. */
    if (host == NULL &&
        (req->http->method == HTTP_OPTIONS || hf_slice_equal(path, hf_slice_of("/healthz")) ||
         hf_slice_equal(path, hf_slice_of("/readyz"))))
        return HF_OK;
    if (!origin_read_host(host == NULL ? "" : host, &name))
        return hf_fail(err, HF_INVALID,
                       "The Host header must be a name or an address, with a port or without.");
    /* The address that the client connected to is ours, named or not: DNS can't rebind a number.
     * Other numbers are not: browsers have let pages reach loopback by 0.0.0.0. (Behind port
     * forwarding clients use an address that we don't see; then --host names it.) */
    if (origin_host_is_ours(name, req->service->settings->host, req->service->beyond_loopback) ||
        http_reached_at(req->http, name))
        return HF_OK;
    return hf_fail(err, HF_DENIED,
                   "The Host header names a server that this one does not answer for; name it "
                   "with --host.");
}

/* ---- Origin ---- */

static bool origin_is_own(const request *req, const char *origin, const char *host)
{
    const char *scheme = req->http->secure ? "https://" : "http://";
    size_t size = strlen(scheme);
    return strncmp(origin, scheme, size) == 0 &&
           strcasecmp(origin + size, host == NULL ? "" : host) == 0;
}

static bool origin_is_allowed(const request *req, const char *origin)
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
    hf_status status = origin_host_check(req, host, err);
    if (status != HF_OK)
        return status;
    if (origin == NULL || origin_is_own(req, origin, host) ||
        (req->route != NULL && req->route->public))
        return HF_OK;
    if (!origin_is_allowed(req, origin))
        return hf_fail(err, HF_DENIED,
                       "Pages of this origin may not call the server; see --allow-origin.");
    req->origin = origin;
    return HF_OK;
}

/* ---- tokens ---- */

/* A browser on this machine speaks plain HTTP to it by a name of this machine. */
static bool origin_is_nearby(request *req)
{
    const char *host = http_header(req->http, "host");
    hf_slice name;
    return req->http->local && !req->http->secure && host != NULL &&
           origin_read_host(host, &name) && origin_is_loopback_name(name);
}

static hf_slice origin_cookie_value(const char *cookies, const char *name)
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
    /* A browser adds the cookie to every request of the site, also to a beacon (which can't have
     * the CSRF header) and to a new login. Such a route is `proved`: its body holds the secret that
     * counts, and the cookie is ignored. */
    if (req->route->proved)
        return HF_OK;
    const char *cookies = http_header(req->http, "cookie");
    hf_slice cookie = HF_NOTHING;
    if (origin_is_nearby(req)) /* the other may be of another server of this machine */
        cookie = origin_cookie_value(cookies, ORIGIN_PLAIN_COOKIE);
    if (cookie.size == 0)
        cookie = origin_cookie_value(cookies, ORIGIN_COOKIE);
    if (cookie.size == 0)
        return HF_OK;
    req->cookie = req->who.cookie = true;
    http_method method = req->http->method;
    bool safe = method == HTTP_GET || method == HTTP_HEAD || method == HTTP_OPTIONS;
    if (!safe && http_header(req->http, ORIGIN_CSRF_HEADER) == NULL)
        return hf_fail(err, HF_DENIED,
                       "A change that is authorised by a cookie needs the header Holdfast-CSRF.");
    *out = hf_arena_text(&req->http->arena, cookie);
    return *out == NULL ? hf_fail_memory(err) : HF_OK;
}

/* ---- headers ---- */

void origin_headers(request *req)
{
    if (req->http->secure && req->service->hsts[0] != '\0')
        reply_header(req, "Strict-Transport-Security", req->service->hsts);
    if (req->route != NULL && req->route->public) {
        reply_header(req, "Access-Control-Allow-Origin", "*");
        reply_header(req, "Cross-Origin-Resource-Policy", "cross-origin");
        return;
    }
    reply_header(req, "Cross-Origin-Resource-Policy", "same-origin");
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

/* Two names, one for each way: __Host- makes a browser take the cookie over TLS alone, and from
 * nobody else on the way. Where nothing is on the way it must do without: WebKit keeps no Secure
 * cookie on plain HTTP, not even of this machine. */
static void origin_add_cookie(request *req, bool plain, const char *secret)
{
    size_t size = sizeof ORIGIN_COOKIE + HF_SESSION_ID_SIZE + HF_KEY_SIZE + 96;
    char *text = hf_arena_alloc(&req->http->arena, size);
    if (text == NULL)
        return;
    snprintf(text, size, "%s=%s; Path=/; %sHttpOnly; SameSite=Strict%s",
             plain ? ORIGIN_PLAIN_COOKIE : ORIGIN_COOKIE, secret == NULL ? "" : secret,
             plain ? "" : "Secure; ", secret == NULL ? "; Max-Age=0" : "");
    reply_header(req, "Set-Cookie", text);
}

void origin_set_cookie(request *req, const char *secret)
{
    bool plain = origin_is_nearby(req);
    if (secret == NULL && plain)
        origin_add_cookie(req, false, NULL);
    origin_add_cookie(req, plain, secret);
    reply_send(req, 204, NULL, HF_NOTHING);
}
