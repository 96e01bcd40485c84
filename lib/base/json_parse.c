/* SPDX-License-Identifier: MIT */
/* Taking JSON apart: one pass over a copy of the text, in which texts are decoded in place (they
 * only get shorter). The depth is bounded, so functions may call each other. Failures stick: the
 * first one is told. */
#include "base/json_parse.h"

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct parser {
    const hf_json_source *source;
    hf_arena *arena;
    char *text; /* the copy, with a NUL at its end */
    char *at;
    char *end;
    size_t values;
    int depth, depth_max;
    hf_status status;
    hf_error *err;
} parser;

/* Where `at` is, for people. */
static void json_parse_place(const parser *p, const char *at, size_t *line, size_t *column)
{
    *line = *column = 1;
    const char *start = p->source->text;
    for (const char *c = start; c < start + (at - p->text); c++) {
        *column = *c == '\n' ? 1 : *column + 1;
        *line += *c == '\n';
    }
}

static void json_parse_flaw(parser *p, const char *at, const char *what)
{
    if (p->status != HF_OK)
        return;
    size_t line, column;
    json_parse_place(p, at, &line, &column);
    p->status = hf_fail(p->err, HF_INVALID, "%s is not good JSON: line %zu, column %zu: %s.",
                        p->source->what, line, column, what);
}

static bool json_parse_in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

static void json_parse_space(parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')
        p->at++;
}

static hf_json_value *json_parse_value_new(parser *p, hf_json_type type)
{
    if (p->values++ >= p->source->values_max) {
        if (p->status == HF_OK)
            p->status = hf_fail(p->err, HF_TOO_LARGE, "%s holds more than %zu values. Split it.",
                                p->source->what, p->source->values_max);
        return NULL;
    }
    hf_json_value *value = hf_arena_alloc(p->arena, sizeof *value);
    if (value == NULL && p->status == HF_OK)
        p->status = hf_fail_memory(p->err);
    if (value != NULL)
        value->type = type;
    return value;
}

/* ---- texts ---- */

static bool json_parse_hex4(const char *at, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hf_hex_digit(at[i]);
        if (digit < 0) /* the NUL at the end as well */
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static char *json_parse_put_utf8(char *out, uint32_t value)
{
    if (value < 0x80) {
        *out++ = (char)value;
    } else if (value < 0x800) {
        *out++ = (char)(0xc0 | value >> 6);
        *out++ = (char)(0x80 | (value & 0x3f));
    } else if (value < 0x10000) {
        *out++ = (char)(0xe0 | value >> 12);
        *out++ = (char)(0x80 | (value >> 6 & 0x3f));
        *out++ = (char)(0x80 | (value & 0x3f));
    } else {
        *out++ = (char)(0xf0 | value >> 18);
        *out++ = (char)(0x80 | (value >> 12 & 0x3f));
        *out++ = (char)(0x80 | (value >> 6 & 0x3f));
        *out++ = (char)(0x80 | (value & 0x3f));
    }
    return out;
}

/* p->at is behind "\u". Answers what is wrong, or NULL. */
static const char *json_parse_code(parser *p, uint32_t *value)
{
    uint32_t low;
    if (!json_parse_hex4(p->at, value))
        return "\\u wants four hex digits";
    p->at += 4;
    if (*value == 0)
        return "a text can't hold \\u0000";
    if (*value < 0xd800 || *value > 0xdfff)
        return NULL;
    if (*value > 0xdbff || p->at[0] != '\\' || p->at[1] != 'u' ||
        !json_parse_hex4(p->at + 2, &low) || low < 0xdc00 || low > 0xdfff)
        return "half of a surrogate pair";
    p->at += 6;
    *value = 0x10000 + ((*value - 0xd800) << 10) + (low - 0xdc00);
    return NULL;
}

/* p->at is at the backslash. */
static bool json_parse_escape(parser *p, char **out)
{
    static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *start = p->at++;
    const char *found = *p->at == '\0' ? NULL : strchr(written, *p->at);
    if (found != NULL) {
        *(*out)++ = meant[found - written];
        p->at++;
        return true;
    }
    uint32_t value;
    const char *wrong = *p->at++ == 'u' ? json_parse_code(p, &value) : "no such escape";
    if (wrong != NULL)
        json_parse_flaw(p, start, wrong);
    else
        *out = json_parse_put_utf8(*out, value);
    return wrong == NULL;
}

/* p->at is at the opening quote. */
static bool json_parse_text(parser *p, hf_slice *out)
{
    char *start = p->at, *to = ++p->at;
    while (*p->at != '"') {
        unsigned char c = (unsigned char)*p->at;
        uint32_t value;
        size_t size = 1;
        if (p->at == p->end) {
            json_parse_flaw(p, start, "the text that begins here does not end");
            return false;
        }
        if (c == '\\') {
            if (!json_parse_escape(p, &to))
                return false;
            continue;
        }
        if (c < 0x20) {
            json_parse_flaw(p, p->at, "a control character in a text must be escaped");
            return false;
        }
        if (c >= 0x80 && (size = hf_utf8_decode(p->at, (size_t)(p->end - p->at), &value)) == 0) {
            json_parse_flaw(p, p->at, "not UTF-8");
            return false;
        }
        memmove(to, p->at, size);
        to += size;
        p->at += size;
    }
    *out = (hf_slice){start + 1, (size_t)(to - start - 1)};
    *to = '\0'; /* at the latest where the closing quote was */
    p->at++;
    return true;
}

/* ---- numbers ---- */

static size_t json_parse_digits(parser *p)
{
    char *start = p->at;
    while (*p->at >= '0' && *p->at <= '9')
        p->at++;
    return (size_t)(p->at - start);
}

static bool json_parse_whole(hf_slice text, int64_t *out)
{
    bool minus = text.at[0] == '-';
    int64_t value = 0; /* counted downwards: there is one more below zero */
    for (size_t i = minus; i < text.size; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, text.at[i] - '0', &value))
            return false;
    if (!minus && value == INT64_MIN)
        return false;
    *out = minus ? value : -value;
    return true;
}

static hf_json_value *json_parse_number(parser *p)
{
    char *start = p->at;
    bool whole = true, good;
    if (*p->at == '-')
        p->at++;
    char first = *p->at;
    size_t digits = json_parse_digits(p);
    good = digits == 1 || (digits > 1 && first != '0');
    if (*p->at == '.') {
        p->at++;
        whole = false;
        good = json_parse_digits(p) > 0 && good;
    }
    if (*p->at == 'e' || *p->at == 'E') {
        p->at++;
        whole = false;
        if (*p->at == '+' || *p->at == '-')
            p->at++;
        good = json_parse_digits(p) > 0 && good;
    }
    if (!good || json_parse_in_number(*p->at)) {
        json_parse_flaw(p, start, "not a number as JSON writes it");
        return NULL;
    }
    hf_json_value *value = json_parse_value_new(p, whole ? HF_JSON_WHOLE : HF_JSON_FRACTION);
    if (value == NULL)
        return NULL;
    value->text = (hf_slice){start, (size_t)(p->at - start)};
    if (whole && !json_parse_whole(value->text, &value->whole)) {
        json_parse_flaw(p, start, "a whole number that does not fit into 64 bits");
        return NULL;
    }
    return value;
}

/* ---- values ---- */

static hf_json_value *json_parse_value(parser *p);

static hf_json_value *json_parse_word(parser *p, const char *word, hf_json_type type, bool yes)
{
    size_t size = strlen(word);
    if (strncmp(p->at, word, size) != 0) {
        json_parse_flaw(p, p->at, "expected a value");
        return NULL;
    }
    p->at += size;
    hf_json_value *value = json_parse_value_new(p, type);
    if (value != NULL)
        value->yes = yes;
    return value;
}

/* "name": value */
static hf_json_value *json_parse_field(parser *p, const hf_json_value *object)
{
    char *start = p->at;
    hf_slice name;
    if (*p->at != '"') {
        json_parse_flaw(p, p->at, "expected the name of a field in quotes");
        return NULL;
    }
    if (!json_parse_text(p, &name))
        return NULL;
    for (const hf_json_value *other = object->inside; other != NULL; other = other->next)
        if (hf_slice_equal(other->name, name)) {
            json_parse_flaw(p, start, "a field of this name stands there already");
            return NULL;
        }
    if (object->count == HF_JSON_FIELDS_MAX) {
        json_parse_flaw(p, start, "an object can't hold more than 64 fields");
        return NULL;
    }
    json_parse_space(p);
    if (*p->at != ':') {
        json_parse_flaw(p, p->at, "expected a colon");
        return NULL;
    }
    p->at++;
    hf_json_value *value = json_parse_value(p);
    if (value != NULL)
        value->name = name;
    return value;
}

/* p->at is at the opening bracket. */
static hf_json_value *json_parse_inside(parser *p, hf_json_type type, char closing)
{
    if (p->depth == p->depth_max) {
        char what[48];
        snprintf(what, sizeof what, "nested deeper than %d", p->depth_max);
        json_parse_flaw(p, p->at, what);
        return NULL;
    }
    hf_json_value *value = json_parse_value_new(p, type), *item,
                  **last = value == NULL ? NULL : &value->inside;
    if (value == NULL)
        return NULL;
    p->depth++;
    p->at++;
    json_parse_space(p);
    while (*p->at != closing) {
        item = type == HF_JSON_OBJECT ? json_parse_field(p, value) : json_parse_value(p);
        if (item == NULL)
            return NULL;
        *last = item;
        last = &item->next;
        value->count++;
        json_parse_space(p);
        if (*p->at == closing)
            break;
        if (*p->at != ',') {
            json_parse_flaw(p, p->at,
                            type == HF_JSON_OBJECT ? "expected , or }" : "expected , or ]");
            return NULL;
        }
        p->at++;
        json_parse_space(p);
        if (*p->at == closing) {
            json_parse_flaw(p, p->at, "a comma with nothing after it");
            return NULL;
        }
    }
    p->at++;
    p->depth--;
    return value;
}

static hf_json_value *json_parse_value(parser *p)
{
    json_parse_space(p);
    switch (*p->at) {
    case '{':
        return json_parse_inside(p, HF_JSON_OBJECT, '}');
    case '[':
        return json_parse_inside(p, HF_JSON_ARRAY, ']');
    case '"': {
        hf_json_value *value = json_parse_value_new(p, HF_JSON_TEXT);
        return value != NULL && json_parse_text(p, &value->text) ? value : NULL;
    }
    case 't':
        return json_parse_word(p, "true", HF_JSON_BOOL, true);
    case 'f':
        return json_parse_word(p, "false", HF_JSON_BOOL, false);
    case 'n':
        return json_parse_word(p, "null", HF_JSON_NULL, false);
    default:
        if (*p->at == '-' || (*p->at >= '0' && *p->at <= '9'))
            return json_parse_number(p);
        json_parse_flaw(p, p->at, p->at == p->end ? "it ends too early" : "expected a value");
        return NULL;
    }
}

hf_status hf_json_parse(const hf_json_source *source, hf_arena *arena, hf_json_value **out,
                        hf_error *err)
{
    return hf_json_parse_deep(source, HF_JSON_DEPTH_MAX, arena, out, err);
}

hf_status hf_json_parse_deep(const hf_json_source *source, int depth_max, hf_arena *arena,
                             hf_json_value **out, hf_error *err)
{
    if (source->size > source->size_max)
        return hf_fail(err, HF_TOO_LARGE, "%s is %zu bytes long; the most is %zu. Split it.",
                       source->what, source->size, source->size_max);
    char *text = hf_arena_text(arena, (hf_slice){source->text, source->size});
    if (text == NULL)
        return hf_fail_memory(err);
    parser p = {.source = source,
                .arena = arena,
                .text = text,
                .at = text,
                .end = text + source->size,
                .depth_max = depth_max,
                .err = err};
    hf_json_value *value = json_parse_value(&p);
    if (value != NULL) {
        json_parse_space(&p);
        if (p.at != p.end)
            json_parse_flaw(&p, p.at, "something follows the end");
    }
    if (p.status == HF_OK)
        *out = value;
    return p.status;
}

const hf_json_value *hf_json_field(const hf_json_value *object, const char *name)
{
    hf_slice wanted = hf_slice_of(name);
    for (const hf_json_value *field = object->inside; field != NULL; field = field->next)
        if (hf_slice_equal(field->name, wanted))
            return field;
    return NULL;
}
