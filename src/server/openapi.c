/* SPDX-License-Identifier: MIT */
/* The table of routes as OpenAPI 3.1 and as a page. */
#include "server/openapi.h"

#include "base/json.h"
#include "server/route.h"
#include "web/front.h"
#include "web/schemas.h"

#include <ctype.h>
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <string.h>

static void field(hf_json *json, const char *name, const char *text)
{
    hf_json_name(json, name);
    hf_json_text(json, text);
}

static void yes(hf_json *json, const char *name)
{
    hf_json_name(json, name);
    hf_json_bool(json, true);
}

static void reference(hf_json *json, const char *schema)
{
    char text[96] = "#/components/schemas/";
    strncat(text, schema, sizeof text - strlen(text) - 1);
    hf_json_begin(json, '{');
    field(json, "$ref", text);
    hf_json_end(json, '}');
}

/* ---- what goes in ---- */

static void schema_of(hf_json *json, const input *row)
{
    static const char *const types[] = {
        [FORM_TEXT] = "string", [FORM_WHOLE] = "integer", [FORM_FENCE] = "integer", [FORM_SECONDS] = "number",
        [FORM_TEXTS] = "array", [FORM_OBJECTS] = "array", [FORM_LOGIN] = "string",
    };
    hf_json_begin(json, '{');
    field(json, "type", types[row->form]);
    if (row->form == FORM_WHOLE || row->form == FORM_FENCE)
        field(json, "format", "int64");
    if (row->form == FORM_FENCE) {
        hf_json_name(json, "minimum");
        hf_json_int(json, 1);
    }
    if (row->form == FORM_OBJECTS) {
        hf_json_name(json, "items");
        reference(json, "Wanted");
    }
    if (row->form == FORM_TEXTS) {
        hf_json_name(json, "items");
        hf_json_begin(json, '{');
        field(json, "type", "string");
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void parameter(hf_json *json, const input *row, const char *where)
{
    hf_json_begin(json, '{');
    field(json, "name", row->name);
    field(json, "in", where);
    if (strcmp(where, "path") == 0)
        yes(json, "required");
    field(json, "description", row->about);
    hf_json_name(json, "schema");
    schema_of(json, row);
    hf_json_end(json, '}');
}

static bool in_path(const route *r, const char *name)
{
    const char *brace = strchr(r->path, '{');
    size_t size = strlen(name);
    while (brace != NULL && !(strncmp(brace + 1, name, size) == 0 && brace[1 + size] == '}'))
        brace = strchr(brace + 1, '{');
    return brace != NULL;
}

static void parameters(hf_json *json, const route *r)
{
    hf_json_name(json, "parameters");
    hf_json_begin(json, '[');
    for (unsigned i = INPUT_TYPE; i <= INPUT_TOKEN; i++)
        if (in_path(r, input_table[i].name))
            parameter(json, &input_table[i], "path");
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (r->query >> i & 1)
            parameter(json, &input_table[i], "query");
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if ((r->headers & ~INPUT(LOGIN)) >> i & 1) /* the session is security, below */
            parameter(json, &input_table[i], "header");
    hf_json_end(json, ']');
}

static void body_schema(hf_json *json, const route *r)
{
    if (r->raw) {
        reference(json, "Ops");
        return;
    }
    hf_json_begin(json, '{');
    field(json, "type", "object");
    hf_json_name(json, "additionalProperties");
    hf_json_bool(json, false);
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
        field(json, "description", input_table[i].about);
        hf_json_name(json, "allOf");
        hf_json_begin(json, '[');
        schema_of(json, &input_table[i]);
        hf_json_end(json, ']');
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

static void request_body(hf_json *json, const route *r)
{
    if (r->takes == 0 && !r->raw)
        return;
    hf_json_name(json, "requestBody");
    hf_json_begin(json, '{');
    hf_json_name(json, "required");
    hf_json_bool(json, r->raw || r->needs != 0);
    hf_json_name(json, "content");
    hf_json_begin(json, '{');
    hf_json_name(json, "application/json");
    hf_json_begin(json, '{');
    hf_json_name(json, "schema");
    body_schema(json, r);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

/* ---- what comes out ---- */

static void content(hf_json *json, const char *type, const char *schema)
{
    hf_json_name(json, "content");
    hf_json_begin(json, '{');
    hf_json_name(json, type);
    hf_json_begin(json, '{');
    hf_json_name(json, "schema");
    reference(json, schema);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

static void responses(hf_json *json, const route *r)
{
    hf_json_name(json, "responses");
    hf_json_begin(json, '{');
    for (size_t i = 0; i < ROUTE_REPLIES_MAX && r->replies[i].status != 0; i++) {
        char code[16];
        hf_json_name(json, (snprintf(code, sizeof code, "%d", r->replies[i].status), code));
        hf_json_begin(json, '{');
        field(json, "description", r->replies[i].about);
        if (r->replies[i].schema != NULL)
            content(json, "application/json", r->replies[i].schema);
        hf_json_end(json, '}');
    }
    hf_json_name(json, "default");
    hf_json_begin(json, '{');
    field(json, "description", "Refused, or failed: the code says which.");
    content(json, "application/problem+json", "Problem");
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

static void requirement(hf_json *json, const char *name)
{
    hf_json_begin(json, '{');
    if (name != NULL) {
        hf_json_name(json, name);
        hf_json_begin(json, '[');
        hf_json_end(json, ']');
    }
    hf_json_end(json, '}');
}

static void security(hf_json *json, const route *r)
{
    hf_json_name(json, "security");
    hf_json_begin(json, '[');
    if (r->access == ROUTE_SESSION && (r->headers & INPUT(LOGIN)))
        requirement(json, "session");
    if (r->access == ROUTE_EITHER)
        requirement(json, "session");
    if (r->access == ROUTE_TOKEN || r->access == ROUTE_EITHER || r->access == ROUTE_NEARBY ||
        r->access == ROUTE_MORE)
        requirement(json, "token");
    if (r->access == ROUTE_NEARBY || r->access == ROUTE_MORE)
        requirement(json, NULL);
    hf_json_end(json, ']');
}

static void description(hf_json *json, const route *r)
{
    hf_buffer text = {0};
    if (r->about != NULL)
        hf_buffer_print(&text, "%s", r->about);
    if (r->role != NULL)
        hf_buffer_print(&text, "%sRole: %s.", r->about != NULL ? " " : "", r->role);
    if (text.size > 0)
        field(json, "description", text.text);
    json->out.failed |= text.failed;
    hf_buffer_done(&text);
}

static void operation(hf_json *json, const route *r)
{
    char method[16] = "";
    const char *name = http_method_name(r->method);
    for (size_t i = 0; name[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)name[i]);
    hf_json_name(json, method);
    hf_json_begin(json, '{');
    field(json, "operationId", r->name);
    field(json, "summary", r->summary);
    description(json, r);
    parameters(json, r);
    request_body(json, r);
    responses(json, r);
    security(json, r);
    hf_json_end(json, '}');
}

static bool is_first_of_path(const route *r)
{
    for (const route *before = routes; before < r; before++)
        if (strcmp(before->path, r->path) == 0)
            return false;
    return true;
}

static void paths(hf_json *json)
{
    hf_json_name(json, "paths");
    hf_json_begin(json, '{');
    for (const route *r = routes; r < routes + routes_count; r++) {
        if (!is_first_of_path(r))
            continue;
        hf_json_name(json, r->path);
        hf_json_begin(json, '{');
        for (const route *same = r; same < routes + routes_count; same++)
            if (strcmp(same->path, r->path) == 0)
                operation(json, same);
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void schemes(hf_json *json)
{
    hf_json_name(json, "securitySchemes");
    hf_json_begin(json, '{');
    hf_json_name(json, "token");
    hf_json_begin(json, '{');
    field(json, "type", "http");
    field(json, "scheme", "bearer");
    field(json, "description", "A caller's token, made by 'holdfast token create'.");
    hf_json_end(json, '}');
    hf_json_name(json, "session");
    hf_json_begin(json, '{');
    field(json, "type", "apiKey");
    field(json, "in", "header");
    field(json, "name", input_table[INPUT_LOGIN].name);
    field(json, "description", input_table[INPUT_LOGIN].about);
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

char *openapi_json(void)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    field(&json, "openapi", "3.1.0");
    hf_json_name(&json, "info");
    hf_json_begin(&json, '{');
    field(&json, "title", "holdfast");
    field(&json, "version", hf_version());
    field(&json, "summary", "Locks for work that takes longer than a database transaction.");
    hf_json_name(&json, "license");
    hf_json_begin(&json, '{');
    field(&json, "name", "MIT");
    field(&json, "identifier", "MIT");
    hf_json_end(&json, '}');
    hf_json_end(&json, '}');
    hf_json_name(&json, "servers");
    hf_json_begin(&json, '[');
    hf_json_begin(&json, '{');
    field(&json, "url", "/");
    hf_json_end(&json, '}');
    hf_json_end(&json, ']');
    paths(&json);
    hf_json_name(&json, "components");
    hf_json_begin(&json, '{');
    schemes(&json);
    hf_buffer_print(&json.out, ",\"schemas\":%s", web_schemas);
    hf_json_end(&json, '}');
    hf_json_end(&json, '}');
    return hf_buffer_take(&json.out);
}

/* ---- for people ---- */

static void page_rows(hf_buffer *out)
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
char *front_html(const char *base)
{
    hf_buffer out = {0};
    const char *text = web_front;
    while (*text != '\0') {
        size_t plain = strcspn(text, "@");
        hf_buffer_add(&out, text, plain);
        text += plain;
        if (strncmp(text, "@BASE@", 6) == 0) {
            hf_buffer_add(&out, base, strlen(base));
            text += 6;
        } else if (strncmp(text, "@ROUTES@", 8) == 0) {
            page_rows(&out);
            text += 8;
        } else if (*text == '@') {
            hf_buffer_add(&out, text++, 1);
        }
    }
    return hf_buffer_take(&out);
}
