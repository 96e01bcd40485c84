/* SPDX-License-Identifier: MIT */
/* Writing JSON: commas, quoting and numbers. */
#include "base/json.h"

#include "base/text.h"
#include "base/time.h"

#include <inttypes.h>
#include <string.h>

static void json_before_value(hf_json *json)
{
    if (json->comma)
        hf_buffer_add(&json->out, ",", 1);
    json->comma = true;
}

void hf_json_begin(hf_json *json, char bracket)
{
    json_before_value(json);
    hf_buffer_add(&json->out, &bracket, 1);
    json->comma = false;
}

void hf_json_end(hf_json *json, char bracket)
{
    hf_buffer_add(&json->out, &bracket, 1);
    json->comma = true;
}

/* What can't stand in a text as it is, or may not: NUL ends it, and DEL and C1 (U+0080 to U+009F)
 * could move the cursor of a terminal. Bytes beyond ASCII are looked at as characters. */
static const bool json_special[256] = {
    [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x7f ... 0xff] = true};

/* The character that begins there with a byte beyond ASCII: its size; 0: it is no UTF-8. */
static size_t json_character(const char *text, uint32_t *out)
{
    return hf_utf8_decode(text, strnlen(text, 4), out);
}

static size_t json_plain(const char *text)
{
    size_t size = 0;
    for (;;) {
        while (!json_special[(unsigned char)text[size]])
            size++;
        uint32_t character;
        size_t more =
            (unsigned char)text[size] < 0x80 ? 0 : json_character(text + size, &character);
        if (more == 0 || character < 0xa0)
            return size;
        size += more;
    }
}

/* How many bytes of the text that took. */
static size_t json_escape(hf_json *json, const char *text)
{
    uint32_t c = (unsigned char)text[0];
    size_t size = c < 0x80 ? 1 : json_character(text, &c);
    if (size == 0)
        hf_buffer_add(&json->out, "?", 1);
    else if (c == '"' || c == '\\')
        hf_buffer_add(&json->out, c == '"' ? "\\\"" : "\\\\", 2);
    else
        hf_buffer_print(&json->out, "\\u%04x", (unsigned)c);
    return size == 0 ? 1 : size;
}

/* A comma if one is due, a quote, the text, `end`. What needs no escape is added in one go. */
static void json_quoted(hf_json *json, const char *text, hf_slice end)
{
    size_t plain = json_plain(text);
    char *at = hf_buffer_extend(&json->out, json->comma + 1 + plain);
    if (at == NULL)
        return;
    if (json->comma)
        *at++ = ',';
    *at++ = '"';
    memcpy(at, text, plain);
    for (text += plain; *text != '\0'; text += plain) {
        text += json_escape(json, text);
        plain = json_plain(text);
        hf_buffer_add(&json->out, text, plain);
    }
    hf_buffer_add(&json->out, end.at, end.size);
}

void hf_json_name(hf_json *json, const char *name)
{
    json_quoted(json, name, (hf_slice){"\":", 2});
    json->comma = false;
}

void hf_json_text(hf_json *json, const char *text)
{
    if (text == NULL) {
        json_before_value(json);
        hf_buffer_add(&json->out, "null", 4);
        return;
    }
    json_quoted(json, text, (hf_slice){"\"", 1});
    json->comma = true;
}

void hf_json_int(hf_json *json, int64_t value)
{
    json_before_value(json);
    hf_buffer_number(&json->out, value);
}

void hf_json_number(hf_json *json, double value)
{
    json_before_value(json);
    if (value - value != 0) /* infinite, or not a number */
        hf_buffer_add(&json->out, "null", 4);
    else if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
        hf_buffer_print(&json->out, "%" PRId64, (int64_t)value);
    else
        hf_buffer_print(&json->out, "%.6g", value);
}

void hf_json_bool(hf_json *json, bool value)
{
    json_before_value(json);
    hf_buffer_add(&json->out, value ? "true" : "false", value ? 4 : 5);
}

void hf_json_seconds(hf_json *json, int64_t us)
{
    json_before_value(json);
    hf_buffer_print(&json->out, "%s%" PRId64, us < 0 && us > -1000000 ? "-" : "", us / 1000000);
    if (us % 1000000 == 0)
        return;
    char fraction[8];
    int digits = hf_time_fraction(us % 1000000, fraction);
    hf_buffer_print(&json->out, ".%.*s", digits, fraction);
}

void hf_json_time(hf_json *json, int64_t us)
{
    char text[HF_TIME_TEXT];
    hf_time_write(us, text);
    hf_json_text(json, us == 0 ? NULL : text);
}

void hf_json_put_text(hf_json *json, const char *name, const char *text)
{
    hf_json_name(json, name);
    hf_json_text(json, text);
}

void hf_json_put_int(hf_json *json, const char *name, int64_t value)
{
    hf_json_name(json, name);
    hf_json_int(json, value);
}

void hf_json_put_bool(hf_json *json, const char *name, bool value)
{
    hf_json_name(json, name);
    hf_json_bool(json, value);
}

void hf_json_put_time(hf_json *json, const char *name, int64_t us)
{
    hf_json_name(json, name);
    hf_json_time(json, us);
}
