/* SPDX-License-Identifier: MIT */
/* The table of routes as OpenAPI 3.1 and as a page. */
#include "server/routes/route.h"

#include "base/json.h"
#include "server/access/origin.h"
#include "web/api.h"
#include "web/schemas.h"

#include <ctype.h>
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <string.h>

static void openapi_yes(hf_json *json, const char *name)
{
    hf_json_put_bool(json, name, true);
}

static void openapi_reference(hf_json *json, const char *schema)
{
    char text[96] = "#/components/schemas/";
    strncat(text, schema, sizeof text - strlen(text) - 1);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "$ref", text);
    hf_json_end(json, '}');
}

/* Text that is JSON already. */
static void openapi_literal(hf_json *json, const char *name, const char *text)
{
    hf_json_name(json, name);
    hf_buffer_add(&json->out, text, strlen(text));
    json->comma = true;
}

/* ---- what goes in ---- */

#define AN_ID  "3f1b0c5de0a94b6c8d2e7f60718293a4"
#define A_KEY  "a91c62f07d3e4b58a91c62f07d3e4b58"
#define A_HASH "5ec4e7a91c62f07d3e4b58a91c62f07d3e4b58a91c62f07d3e4b58a91c62f07d"

/* As JSON. */
static const char *const input_examples[INPUT_COUNT] = {
    [INPUT_TYPE] = "\"policy\"",
    [INPUT_ID] = "\"12345\"",
    [INPUT_SESSION] = "\"" AN_ID "\"",
    [INPUT_TOKEN] = "\"" AN_ID "\"",
    [INPUT_LOGIN] = "\"" AN_ID "." A_KEY "\"",
    [INPUT_FENCE] = "1794739623123456",
    [INPUT_FENCE_FIELD] = "1794739623123456",
    [INPUT_REQUEST_ID] = "\"open-7c1d2f\"",
    [INPUT_LAST_EVENT] = "4711",
    [INPUT_USER] = "\"alice\"",
    [INPUT_NAME] = "\"Alice Chen\"",
    [INPUT_KEY] = "\"" A_KEY "\"",
    [INPUT_IDLE] = "300",
    [INPUT_REPLACES] = "\"" AN_ID "." A_KEY "\"",
    [INPUT_MODE] = "\"exclusive\"",
    [INPUT_TTL] = "3600",
    [INPUT_TTL_MAX] = "28800",
    [INPUT_PURPOSE] = "\"renewal\"",
    [INPUT_MESSAGE] = "\"when you can\"",
    [INPUT_REASON] = "\"left for the day\"",
    [INPUT_ACTOR] = "\"alice\"",
    [INPUT_POLICY] = "\"exclusive-write\"",
    [INPUT_ROLES] = "\"use observe:policy\"",
    [INPUT_USERS] = "\"kiosk-*\"",
    [INPUT_EXPIRES] = "31536000",
    [INPUT_SECRET] = "\"" A_HASH "\"",
    [INPUT_AFTER] = "\"policy/12345 " AN_ID "\"",
    [INPUT_AFTER_SEQ] = "4711",
    [INPUT_BEFORE_SEQ] = "4711",
    [INPUT_KIND] = "\"acquired\"",
    [INPUT_SINCE] = "\"2026-11-15T10:47:03Z\"",
    [INPUT_UNTIL] = "\"2026-11-16\"",
    [INPUT_SPAN] = "\"hour\"",
    [INPUT_LIMIT] = "100",
    [INPUT_RESOURCE] = "[\"policy/12345\"]",
    [INPUT_TICKET] = "\"" AN_ID "." A_HASH "\"",
    [INPUT_RESOURCES] = "[\"policy/12345\",\"customer/42\"]",
    [INPUT_IF_MATCH] = "\"\\\"7\\\"\"",
    [INPUT_IF_NONE_MATCH] = "\"*\"",
    [INPUT_SAVE] =
        "[{\"resource\":\"order/9\",\"version\":7},{\"resource\":\"order/10\",\"absent\":true}]",
    [INPUT_RELY] = "[{\"resource\":\"tax/DE\",\"version\":12}]",
    [INPUT_LOCKS] =
        "[{\"resource\":\"policy/12345\"},{\"resource\":\"customer/42\",\"mode\":\"shared\"}]",
};

/* A lock is made shared by PATCH, and exclusive by PUT alone. */
static bool openapi_only_shared(const route *r)
{
    return r->method == HTTP_PATCH;
}

/* The values there are, of the texts that are one of a few. */
static void openapi_choices(hf_json *json, const route *r, const input *row)
{
    bool mode = row == &input_table[INPUT_MODE], policy = row == &input_table[INPUT_POLICY];
    if (!mode && !policy)
        return;
    hf_json_name(json, "enum");
    hf_json_begin(json, '[');
    for (int i = openapi_only_shared(r) ? HF_SHARED : 0; mode && i < HF_MODE_COUNT; i++)
        hf_json_text(json, hf_mode_name((hf_mode)i));
    for (int i = HF_POLICY_NONE + 1; policy && i < HF_POLICY_COUNT; i++)
        hf_json_text(json, hf_policy_name((hf_policy)i));
    hf_json_end(json, ']');
}

static void openapi_schema_of(hf_json *json, const route *r, const input *row)
{
    static const char *const types[] = {
        [FORM_TEXT] = "string",    [FORM_WHOLE] = "integer", [FORM_FENCE] = "integer",
        [FORM_SECONDS] = "number", [FORM_TEXTS] = "array",   [FORM_OBJECTS] = "array",
        [FORM_LOGIN] = "string",
    };
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", types[row->form]);
    if (row->form == FORM_WHOLE || row->form == FORM_FENCE)
        hf_json_put_text(json, "format", "int64");
    if (row->form == FORM_FENCE) {
        hf_json_put_int(json, "minimum", 1);
    }
    openapi_choices(json, r, row);
    if (row->form == FORM_OBJECTS) {
        hf_json_name(json, "items");
        openapi_reference(json, row == &input_table[INPUT_SAVE]   ? "Save"
                                : row == &input_table[INPUT_RELY] ? "Premise"
                                                                  : "Wanted");
    }
    if (row->form == FORM_TEXTS) {
        hf_json_name(json, "items");
        hf_json_begin(json, '{');
        hf_json_put_text(json, "type", "string");
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void openapi_parameter(hf_json *json, const route *r, const input *row, const char *where)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "name", row->name);
    hf_json_put_text(json, "in", where);
    if (strcmp(where, "path") == 0)
        openapi_yes(json, "required");
    hf_json_put_text(json, "description", row->about);
    hf_json_name(json, "schema");
    openapi_schema_of(json, r, row);
    openapi_literal(json, "example", input_examples[row - input_table]);
    hf_json_end(json, '}');
}

static bool openapi_in_path(const route *r, const char *name)
{
    const char *brace = strchr(r->path, '{');
    size_t size = strlen(name);
    while (brace != NULL && !(strncmp(brace + 1, name, size) == 0 && brace[1 + size] == '}'))
        brace = strchr(brace + 1, '{');
    return brace != NULL;
}

static void openapi_parameters(hf_json *json, const route *r)
{
    hf_json_name(json, "parameters");
    hf_json_begin(json, '[');
    for (unsigned i = INPUT_TYPE; i <= INPUT_TOKEN; i++)
        if (openapi_in_path(r, input_table[i].name))
            openapi_parameter(json, r, &input_table[i], "path");
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (r->query >> i & 1)
            openapi_parameter(json, r, &input_table[i], "query");
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if ((r->headers & ~INPUT(LOGIN)) >> i & 1) /* the session is security, below */
            openapi_parameter(json, r, &input_table[i], "header");
    hf_json_end(json, ']');
}

static void openapi_body_schema(hf_json *json, const route *r)
{
    if (r->raw) {
        openapi_reference(json, "Ops");
        return;
    }
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", "object");
    hf_json_put_bool(json, "additionalProperties", false);
    hf_json_name(json, "required");
    hf_json_begin(json, '[');
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (r->needs >> i & 1)
            hf_json_text(json, input_table[i].name);
    hf_json_end(json, ']');
    hf_json_name(json, "properties");
    hf_json_begin(json, '{');
    for (unsigned i = 0; i < INPUT_COUNT; i++) {
        if (!(r->takes >> i & 1))
            continue;
        hf_json_name(json, input_table[i].name);
        hf_json_begin(json, '{');
        hf_json_put_text(json, "description", input_table[i].about);
        hf_json_name(json, "allOf");
        hf_json_begin(json, '[');
        openapi_schema_of(json, r, &input_table[i]);
        hf_json_end(json, ']');
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

/* Everything it takes; to make a lock shared nothing else may be said. */
static void openapi_body_example(hf_json *json, const route *r)
{
    if (r->raw) {
        openapi_literal(json, "example",
                        "{\"ops\":[{\"op\":\"who\",\"resource\":\"policy/12345\"}]}");
        return;
    }
    hf_json_name(json, "example");
    hf_json_begin(json, '{');
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if ((r->takes >> i & 1) && !(i == INPUT_MODE && openapi_only_shared(r)))
            openapi_literal(json, input_table[i].name, input_examples[i]);
    hf_json_end(json, '}');
}

/* navigator.sendBeacon sends a text as text/plain. */
static void openapi_beacon(hf_json *json, const route *r)
{
    hf_json_name(json, "text/plain");
    hf_json_begin(json, '{');
    hf_json_name(json, "schema");
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", "string");
    hf_json_put_text(json, "contentMediaType", "application/json");
    hf_json_name(json, "contentSchema");
    openapi_body_schema(json, r);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

static void openapi_request_body(hf_json *json, const route *r)
{
    if (r->takes == 0 && !r->raw)
        return;
    hf_json_name(json, "requestBody");
    hf_json_begin(json, '{');
    hf_json_put_bool(json, "required", r->raw || r->needs != 0);
    hf_json_name(json, "content");
    hf_json_begin(json, '{');
    hf_json_name(json, "application/json");
    hf_json_begin(json, '{');
    hf_json_name(json, "schema");
    openapi_body_schema(json, r);
    openapi_body_example(json, r);
    hf_json_end(json, '}');
    if (r->beacon)
        openapi_beacon(json, r);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

/* ---- what comes out ---- */

/* Every status that is not 2xx. */
static const struct {
    int status;
    const char *about;
} refusals[] = {
    {400, "The request makes no sense as it stands: invalid."},
    {401, "No token, or one that is unknown, revoked or past its end: unauthenticated."},
    {403,
     "The key is wrong, the right is missing, or Host or Origin are not this server's: denied."},
    {404, "The session, the record's type or the token is not known here: not_found."},
    {408, "The request took too long to come: timeout."},
    {409, "The session does not hold it: not_held."},
    {410, "The session has ended (expired), or the record was deleted (not_found)."},
    {412, "It is not as it was read: stale. `present` or `conflicts` say what it is now, by whom "
          "and since when."},
    {413, "Request or answer are over a limit: too_large."},
    {414, "The request's target is too long: invalid."},
    {415, "The body is not sent as application/json: invalid."},
    {417, "An expectation other than 100-continue: invalid."},
    {422, "The Idempotency-Key has made something else: invalid."},
    {423,
     "Someone else holds it (locked), or is in the middle of a change (busy, with Retry-After)."},
    {428, "Nothing says what was read: send If-Match or If-None-Match. invalid."},
    {429, "Asked too often, too much waits, or as much is held as may be: too_many."},
    {431, "The request's headers are too long or too many: invalid."},
    {500, "The server itself failed: internal or no_memory."},
    {501, "A method or a Transfer-Encoding that is not known: invalid."},
    {503, "The store can't be used (unavailable), or another transaction got in between (retry)."},
    {504,
     "The store did not say whether it was done: unsure. Ask again with the same Idempotency-Key."},
    {505, "A version of HTTP other than 1.0 and 1.1: invalid."},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

/* Whether a route may be refused with that. */
static bool openapi_may_refuse(const route *r, int status)
{
    switch (status) {
    case 401:
        return r->access != ROUTE_OPEN && r->access != ROUTE_MORE;
    case 404:
        return r->refuses & ROUTE_NOT_FOUND;
    case 409:
        return r->refuses & ROUTE_NOT_HELD;
    case 410:
        return r->refuses & ROUTE_EXPIRED;
    case 415:
        return !r->beacon;
    case 412:
        return r->refuses & ROUTE_STALE;
    case 422:
        return r->refuses & ROUTE_REUSED;
    case 428:
        return r->refuses & ROUTE_BLIND;
    case 423:
    case 429:
    case 504:
        return r->access != ROUTE_OPEN;
    default:
        return true;
    }
}

static bool openapi_says_when(int status)
{
    return status == 423 || status == 429 || status == 503 || status == 504;
}

static void openapi_content(hf_json *json, const char *type, const char *schema)
{
    hf_json_name(json, "content");
    hf_json_begin(json, '{');
    hf_json_name(json, type);
    hf_json_begin(json, '{');
    hf_json_name(json, "schema");
    openapi_reference(json, schema);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

static void openapi_responses(hf_json *json, const route *r)
{
    hf_json_name(json, "responses");
    hf_json_begin(json, '{');
    for (size_t i = 0; i < ROUTE_REPLIES_MAX && r->replies[i].status != 0; i++) {
        char code[16];
        hf_json_name(json, (snprintf(code, sizeof code, "%d", r->replies[i].status), code));
        hf_json_begin(json, '{');
        hf_json_put_text(json, "description", r->replies[i].about);
        if (r->replies[i].schema != NULL)
            openapi_content(json, "application/json", r->replies[i].schema);
        hf_json_end(json, '}');
    }
    for (size_t i = 0; i < REFUSALS; i++) {
        char code[16], at[64];
        if (!openapi_may_refuse(r, refusals[i].status))
            continue;
        hf_json_name(json, (snprintf(code, sizeof code, "%d", refusals[i].status), code));
        hf_json_begin(json, '{');
        hf_json_put_text(json, "$ref",
                         (snprintf(at, sizeof at, "#/components/responses/Status%s", code), at));
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

/* The refusals, once for all routes. */
static void openapi_refusals(hf_json *json)
{
    hf_json_name(json, "responses");
    hf_json_begin(json, '{');
    for (size_t i = 0; i < REFUSALS; i++) {
        char name[32];
        hf_json_name(json, (snprintf(name, sizeof name, "Status%d", refusals[i].status), name));
        hf_json_begin(json, '{');
        hf_json_put_text(json, "description", refusals[i].about);
        if (openapi_says_when(refusals[i].status))
            openapi_literal(
                json, "headers",
                "{\"Retry-After\":{\"description\":\"Seconds, where trying again makes sense.\","
                "\"schema\":{\"type\":\"integer\"}}}");
        openapi_content(json, "application/problem+json", "Problem");
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void openapi_scheme_wanted(hf_json *json, const char *name)
{
    hf_json_name(json, name);
    hf_json_begin(json, '[');
    hf_json_end(json, ']');
}

/* Both together; NULL: none. */
static void openapi_requirement(hf_json *json, const char *name, const char *other)
{
    hf_json_begin(json, '{');
    if (name != NULL)
        openapi_scheme_wanted(json, name);
    if (other != NULL)
        openapi_scheme_wanted(json, other);
    hf_json_end(json, '}');
}

/* One of these is enough. Where the body proves who asks (a beacon, a login) none is needed. */
static void openapi_security(hf_json *json, const route *r)
{
    bool token = r->access == ROUTE_TOKEN || r->access == ROUTE_EITHER ||
                 r->access == ROUTE_NEARBY || r->access == ROUTE_MORE;
    hf_json_name(json, "security");
    hf_json_begin(json, '[');
    if (!r->proved && (r->access == ROUTE_SESSION || r->access == ROUTE_EITHER))
        openapi_requirement(json, "session", NULL);
    if (!r->proved && token) {
        openapi_requirement(json, "token", NULL);
        openapi_requirement(json, "cookie", r->method == HTTP_GET ? NULL : "csrf");
    }
    if (r->access == ROUTE_NEARBY || r->access == ROUTE_MORE)
        openapi_requirement(json, NULL, NULL);
    hf_json_end(json, ']');
}

static void openapi_description(hf_json *json, const route *r)
{
    hf_buffer text = {0};
    if (r->about != NULL)
        hf_buffer_print(&text, "%s", r->about);
    if (r->role != NULL)
        hf_buffer_print(&text, "%sRole: %s.", r->about != NULL ? " " : "", r->role);
    if (text.size > 0)
        hf_json_put_text(json, "description", text.text);
    json->out.failed |= text.failed;
    hf_buffer_done(&text);
}

static void openapi_operation(hf_json *json, const route *r)
{
    char method[16] = "";
    const char *name = http_method_name(r->method);
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)name[i]);
    hf_json_name(json, method);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "operationId", r->name);
    hf_json_put_text(json, "summary", r->summary);
    openapi_description(json, r);
    openapi_parameters(json, r);
    openapi_request_body(json, r);
    openapi_responses(json, r);
    openapi_security(json, r);
    hf_json_end(json, '}');
}

static bool openapi_is_first_of_path(const route *r)
{
    for (const route *before = routes; before < r; before++)
        if (strcmp(before->path, r->path) == 0)
            return false;
    return true;
}

static void openapi_paths(hf_json *json)
{
    hf_json_name(json, "paths");
    hf_json_begin(json, '{');
    for (const route *r = routes; r < routes + routes_count; r++) {
        if (!openapi_is_first_of_path(r))
            continue;
        hf_json_name(json, r->path);
        hf_json_begin(json, '{');
        for (const route *same = r; same < routes + routes_count; same++)
            if (strcmp(same->path, r->path) == 0)
                openapi_operation(json, same);
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void openapi_api_key(hf_json *json, const char *scheme, const char *in, const char *name,
                            const char *about)
{
    hf_json_name(json, scheme);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", "apiKey");
    hf_json_put_text(json, "in", in);
    hf_json_put_text(json, "name", name);
    hf_json_put_text(json, "description", about);
    hf_json_end(json, '}');
}

static void openapi_schemes(hf_json *json)
{
    hf_json_name(json, "securitySchemes");
    hf_json_begin(json, '{');
    hf_json_name(json, "token");
    hf_json_begin(json, '{');
    hf_json_put_text(json, "type", "http");
    hf_json_put_text(json, "scheme", "bearer");
    hf_json_put_text(json, "description", "A caller's token, made by 'holdfast token create'.");
    hf_json_end(json, '}');
    openapi_api_key(json, "session", "header", input_table[INPUT_LOGIN].name,
                    input_table[INPUT_LOGIN].about);
    openapi_api_key(json, "cookie", "cookie", ORIGIN_COOKIE,
                    "A page's sign-in, which stands for a token; set by POST /v1/login.");
    openapi_api_key(json, "csrf", "header", "Holdfast-CSRF",
                    "Any value: a change that is authorised by the cookie needs it.");
    hf_json_end(json, '}');
}

char *openapi_json(void)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "openapi", "3.1.0");
    hf_json_name(&json, "info");
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "title", "holdfast");
    hf_json_put_text(&json, "version", hf_library_version());
    hf_json_put_text(&json, "summary",
                     "Locks for work that takes longer than a database transaction.");
    hf_json_name(&json, "license");
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "name", "MIT");
    hf_json_put_text(&json, "identifier", "MIT");
    hf_json_end(&json, '}');
    hf_json_end(&json, '}');
    hf_json_name(&json, "servers");
    hf_json_begin(&json, '[');
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "url", "/");
    hf_json_end(&json, '}');
    hf_json_end(&json, ']');
    openapi_paths(&json);
    hf_json_name(&json, "components");
    hf_json_begin(&json, '{');
    openapi_schemes(&json);
    openapi_refusals(&json);
    hf_buffer_print(&json.out, ",\"schemas\":%s", web_schemas);
    hf_json_end(&json, '}');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

/* ---- for people ---- */

static void openapi_page_rows(hf_buffer *out)
{
    static const char *const needs[] = {
        [ROUTE_OPEN] = "",
        [ROUTE_SESSION] = "session",
        [ROUTE_TOKEN] = "token",
        [ROUTE_EITHER] = "token or session",
        [ROUTE_NEARBY] = "token, from elsewhere",
        [ROUTE_MORE] = "",
    };
    for (const route *r = routes; r < routes + routes_count; r++)
        hf_buffer_print(out, "<tr><td class=method><code>%s %s</code><td>%s%s%s<td>%s\n",
                        http_method_name(r->method), r->path, needs[r->access],
                        r->role != NULL && r->access == ROUTE_TOKEN ? ": " : "",
                        r->role != NULL && r->access == ROUTE_TOKEN ? r->role : "", r->summary);
}

/* Puts what stands for each @NAME@ in its place. */
char *api_html(const char *base)
{
    hf_buffer out = {0};
    const char *text = web_api;
    while (*text != '\0') {
        size_t plain = strcspn(text, "@");
        hf_buffer_add(&out, text, plain);
        text += plain;
        if (strncmp(text, "@BASE@", 6) == 0) {
            hf_buffer_add(&out, base, strlen(base));
            text += 6;
        } else if (strncmp(text, "@ROUTES@", 8) == 0) {
            openapi_page_rows(&out);
            text += 8;
        } else if (*text == '@') {
            hf_buffer_add(&out, text++, 1);
        }
    }
    return hf_buffer_take(&out);
}
