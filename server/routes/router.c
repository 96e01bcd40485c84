/* SPDX-License-Identifier: MIT */
/* Finding the route of a request. A path is split at its slashes before anything is decoded, so
 * that %2F is part of an id. */
#include "base/error.h"
#include "server/routes/route.h"

#include <string.h>

static const char *const method_names[] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    [HTTP_OPTIONS] = "OPTIONS", [HTTP_OTHER] = "?",
};

const char *http_method_name(http_method method)
{
    return method_names[method];
}

/* The part up to the next slash; both begin with one. */
static hf_slice router_take_part(hf_slice *path)
{
    hf_slice rest = {path->at + 1, path->size - 1};
    const char *slash = memchr(rest.at, '/', rest.size);
    hf_slice part = {rest.at, slash == NULL ? rest.size : (size_t)(slash - rest.at)};
    *path = (hf_slice){part.at + part.size, rest.size - part.size};
    return part;
}

static bool router_fits(const char *pattern, hf_slice path)
{
    hf_slice wanted = hf_slice_of(pattern);
    while (wanted.size > 0 && path.size > 0) {
        hf_slice want = router_take_part(&wanted), part = router_take_part(&path);
        if (want.size > 0 && want.at[0] == '{' ? part.size == 0 : !hf_slice_equal(want, part))
            return false;
    }
    return wanted.size == 0 && path.size == 0;
}

static hf_status router_read_part(hf_slice want, hf_slice part, hf_arena *arena, inputs *in,
                                  hf_error *err)
{
    hf_slice name = {want.at + 1, want.size - 2};
    const char *text = url_decode(part, false, arena);
    if (text == NULL)
        return hf_fail(
            err, HF_INVALID,
            "The %.*s in the path can't be decoded: a percent sign is followed by two hex digits, "
            "which are not 00.",
            (int)name.size, name.at);
    for (unsigned i = INPUT_TYPE; i <= INPUT_TOKEN; i++)
        if (hf_slice_equal(hf_slice_of(input_table[i].name), name))
            *(const char **)((char *)in + input_table[i].at) = text;
    return HF_OK;
}

static hf_status router_read_path(const route *r, hf_slice path, hf_arena *arena, inputs *in,
                                  hf_error *err)
{
    hf_slice wanted = hf_slice_of(r->path);
    hf_status status = HF_OK;
    while (wanted.size > 0 && status == HF_OK) {
        hf_slice want = router_take_part(&wanted), part = router_take_part(&path);
        if (want.size > 0 && want.at[0] == '{')
            status = router_read_part(want, part, arena, in, err);
    }
    return status;
}

static const char *router_allowed(hf_slice path, hf_arena *arena)
{
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < routes_count; i++) {
        if (!router_fits(routes[i].path, path))
            continue;
        const char *name = http_method_name(routes[i].method);
        const char *also = routes[i].method == HTTP_GET ? ", HEAD" : "";
        size_t size = strlen(name) + strlen(also) + 2;
        if (used + size < sizeof list) {
            used += (size_t)(stpcpy(stpcpy(stpcpy(list + used, used > 0 ? ", " : ""), name), also) -
                             (list + used));
        }
    }
    return used == 0 ? NULL : hf_arena_text(arena, hf_slice_of(list));
}

static hf_status router_no_such_path(hf_slice path, hf_error *err)
{
    bool names = (path.size > 10 && memcmp(path.at, "/v1/locks/", 10) == 0) ||
                 (path.size > 13 && memcmp(path.at, "/v1/versions/", 13) == 0);
    return hf_fail(err, HF_NOT_FOUND,
                   "There is nothing at this path; /openapi.json lists what there is.%s",
                   names ? " A slash in an id is written %2F." : "");
}

hf_status route_find(http_method method, hf_slice path, hf_arena *arena, inputs *in,
                     const route **out, const char **allow, hf_error *err)
{
    http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    for (size_t i = 0; i < routes_count; i++) {
        if (routes[i].method == wanted && router_fits(routes[i].path, path)) {
            *out = &routes[i];
            return router_read_path(&routes[i], path, arena, in, err);
        }
    }
    *allow = router_allowed(path, arena);
    if (*allow == NULL)
        return router_no_such_path(path, err);
    return hf_fail(err, HF_DENIED, "This path takes %s.", *allow);
}
