/* SPDX-License-Identifier: MIT */
/* Any text at all as what a request says: a line with method and target, then the body. Route,
 * path, query, headers and body are read as the table of routes has them, or refused with a
 * sentence that names no secret; what is read is clean, and the same when read again. For
 * libFuzzer: tools/fuzz inputs 60. The first byte chooses a route whose body the rest is read as,
 * besides the one of its target. */
#include <base/text.h>
#include <ctype.h>
#include <jansson.h>
#include <server/routes/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void inputs_must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

/* Keys and secrets are 32 hex digits or more. */
static bool has_secret(const char *text)
{
    size_t run = 0;
    for (; *text != '\0' && run < 32; text++)
        run = isxdigit((unsigned char)*text) ? run + 1 : 0;
    return run >= 32;
}

static void inputs_refused_well(hf_status status, const hf_error *err)
{
    inputs_must(status == HF_INVALID || status == HF_TOO_LARGE || status == HF_NOT_FOUND ||
                    status == HF_DENIED,
                "a refusal is the sender's fault");
    inputs_must(err->status == status && err->message[0] != '\0', "a refusal has a sentence");
    inputs_must(hf_text_is_clean(err->message, strlen(err->message)), "a sentence is clean text");
    inputs_must(!has_secret(err->message), "a sentence repeats nothing that may be a secret");
}

static void is_clean(const inputs *in, input_set read)
{
    for (unsigned i = 0; i < INPUT_COUNT; i++) {
        const void *member = (const char *)in + input_table[i].at;
        const char *text = *(const char *const *)member;
        if (!(read >> i & 1))
            continue;
        if (input_table[i].form == FORM_SECONDS)
            inputs_must(*(const int64_t *)member == 0 ||
                            (*(const int64_t *)member >= HF_DURATION_MIN_US &&
                             *(const int64_t *)member <= HF_DURATION_MAX_US),
                        "a duration is in bounds");
        else if (input_table[i].form == FORM_TEXT)
            inputs_must(text == NULL || hf_text_is_utf8(text, strlen(text)), "a text is UTF-8");
    }
    for (size_t i = 0; i < in->resources.count; i++)
        inputs_must(hf_text_is_utf8(in->resources.items[i], strlen(in->resources.items[i])),
                    "texts are, too");
}

static hf_status fuzz_inputs_read_body(const route *r, hf_slice body, inputs *in, hf_arena *arena,
                                       hf_error *err)
{
    *in = (inputs){0};
    return inputs_read_body(in, body, r->takes, r->needs, arena, err);
}

static bool inputs_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void try_body(const route *r, hf_slice body)
{
    hf_arena arena = {0};
    inputs in, again;
    hf_error err = {0};
    hf_status status = fuzz_inputs_read_body(r, body, &in, &arena, &err);
    if (status != HF_OK) {
        inputs_refused_well(status, &err);
        hf_arena_done(&arena);
        return;
    }
    is_clean(&in, r->takes);
    inputs_must(fuzz_inputs_read_body(r, body, &again, &arena, &err) == HF_OK,
                "what was read is read again");
    inputs_must(inputs_same_text(in.user, again.user) && inputs_same_text(in.name, again.name) &&
                    in.ttl_us == again.ttl_us && in.fence == again.fence &&
                    in.locks.count == again.locks.count,
                "and is the same");
    if (body.size > 0) {
        json_t *json =
            json_loadb(body.at, body.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        inputs_must(json_is_object(json), "jansson reads it, too");
        json_decref(json);
    }
    hf_arena_done(&arena);
}

static void try_query(const route *r, hf_slice query)
{
    hf_arena arena = {0};
    inputs in = {0};
    hf_error err = {0};
    hf_status status = inputs_read_query(&in, query, r->query, &arena, &err);
    if (status != HF_OK)
        inputs_refused_well(status, &err);
    inputs_must(in.limit >= 0 && in.after_seq >= 0, "numbers are not negative");
    hf_arena_done(&arena);
}

static void try_headers(const route *r, hf_slice text)
{
    hf_arena arena = {0};
    inputs in = {0};
    const char *value = hf_arena_text(&arena, text);
    inputs_must(value != NULL, "there is memory");
    for (unsigned i = 0; i < INPUT_COUNT; i++) {
        hf_error err = {0};
        hf_status status =
            r->headers >> i & 1 ? inputs_read_header(&in, i, value, &arena, &err) : HF_OK;
        if (status != HF_OK)
            inputs_refused_well(status, &err);
        else if (r->headers >> i & 1 && input_table[i].form == FORM_LOGIN)
            inputs_must(strlen(in.login->id) == HF_SESSION_ID_MAX, "a login has an id");
    }
    hf_arena_done(&arena);
}

/* What is written with a percent sign for every byte comes back as it was. */
static void try_decoding(hf_slice text)
{
    static const char digits[] = "0123456789abcdef";
    hf_arena arena = {0};
    char *coded = hf_arena_alloc(&arena, text.size * 3 + 1);
    for (size_t i = 0; i < text.size; i++) {
        coded[3 * i] = '%';
        coded[3 * i + 1] = digits[(unsigned char)text.at[i] >> 4];
        coded[3 * i + 2] = digits[(unsigned char)text.at[i] & 15];
    }
    const char *back = url_decode((hf_slice){coded, text.size * 3}, false, &arena);
    bool whole = memchr(text.at, '\0', text.size) == NULL;
    inputs_must(whole ? back != NULL && strlen(back) == text.size &&
                            memcmp(back, text.at, text.size) == 0
                      : back == NULL,
                "what was encoded is decoded");
    hf_arena_done(&arena);
}

/* "PUT /v1/..." as far as it is one. */
static http_method inputs_method_of(hf_slice *line)
{
    for (int m = HTTP_GET; m < HTTP_OTHER; m++) {
        size_t size = strlen(http_method_name((http_method)m));
        if (line->size > size && memcmp(line->at, http_method_name((http_method)m), size) == 0) {
            *line = (hf_slice){line->at + size + 1, line->size - size - 1};
            return (http_method)m;
        }
    }
    return HTTP_OTHER;
}

static const route *try_target(hf_slice line)
{
    hf_arena arena = {0};
    inputs in = {0};
    const route *found = NULL;
    const char *allow = NULL;
    hf_error err = {0};
    http_method method = inputs_method_of(&line);
    const char *mark = line.size == 0 ? NULL : memchr(line.at, '?', line.size);
    hf_slice path = {line.at, mark == NULL ? line.size : (size_t)(mark - line.at)};
    if (path.size == 0 || path.at[0] != '/')
        return NULL; /* the HTTP layer refuses it */
    hf_status status = route_find(method, path, &arena, &in, &found, &allow, &err);
    if (status != HF_OK)
        inputs_refused_well(status, &err);
    inputs_must((status == HF_DENIED) == (found == NULL && allow != NULL),
                "405 says what is allowed");
    inputs_must(status != HF_OK || found != NULL, "a route is found or refused");
    if (found != NULL && mark != NULL)
        try_query(found, (hf_slice){mark + 1, line.size - path.size - 1});
    hf_arena_done(&arena);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2)
        return 0;
    const char *text = (const char *)bytes + 1;
    const char *end = memchr(text, '\n', size - 1);
    hf_slice line = {text, end == NULL ? size - 1 : (size_t)(end - text)};
    hf_slice body = end == NULL ? HF_NOTHING : (hf_slice){end + 1, size - 2 - line.size};
    const route *other = &routes[bytes[0] % routes_count], *found = try_target(line);
    try_body(other, body);
    try_query(other, line);
    try_headers(other, line);
    if (found != NULL && found != other)
        try_body(found, body);
    try_decoding(line);
    return 0;
}
