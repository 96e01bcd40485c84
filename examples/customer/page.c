/* SPDX-License-Identifier: MIT */
/* Filling templates, escaped. */
#include "page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A character that turns the direction of text: it is shown as its number, for not even <bdi> keeps
 * one that is never closed from turning what follows. 0: it is none; else how long it is. */
static size_t page_turns(const char *at, unsigned *code)
{
    const unsigned char *it = (const unsigned char *)at;
    if (it[0] == 0xd8 && it[1] == 0x9c) {
        *code = 0x61c;
        return 2;
    }
    if (it[0] != 0xe2 || (it[1] != 0x80 && it[1] != 0x81))
        return 0;
    *code = 0x2000u + (it[1] - 0x80u) * 64 + (it[2] & 0x3fu);
    bool turns = *code == 0x200e || *code == 0x200f || (*code >= 0x202a && *code <= 0x202e) ||
                 (*code >= 0x2066 && *code <= 0x2069);
    return turns ? 3 : 0;
}

/* as_is: what a form sends back must be what was there. */
static void page_escape(struct evbuffer *out, const char *text, bool as_is)
{
    unsigned code = 0;
    size_t size = 0;
    for (; *text != '\0'; text += size > 0 ? size : 1) {
        size = as_is ? 0 : page_turns(text, &code);
        if (size > 0)
            evbuffer_add_printf(out, "\\u%04x", code);
        else if (strchr("&<>\"'", *text) != NULL)
            evbuffer_add_printf(out, "&#%d;", *text);
        else
            evbuffer_add(out, text, 1);
    }
}

static const slot *page_slot(const slot *slots, const char *name, size_t size)
{
    for (; slots->name != NULL; slots++)
        if (strlen(slots->name) == size && memcmp(slots->name, name, size) == 0)
            return slots;
    fprintf(stderr, "customer: a template has a slot '%.*s' that nobody fills.\n", (int)size, name);
    return NULL;
}

void page_fill(struct evbuffer *out, const char *template, const slot *slots)
{
    const char *open, *close;
    while ((open = strstr(template, "{{")) != NULL && (close = strstr(open, "}}")) != NULL) {
        bool html = open[2] == '{', as_is = open[2] == '=';
        const char *name = open + (html || as_is ? 3 : 2);
        const slot *it = page_slot(slots, name, (size_t)(close - name));
        evbuffer_add(out, template, (size_t)(open - template));
        if (it != NULL && html && it->html != NULL)
            evbuffer_add_buffer(out, it->html);
        else if (it != NULL && !html && it->text != NULL)
            page_escape(out, it->text, as_is);
        template = close + (html ? 3 : 2);
    }
    evbuffer_add(out, template, strlen(template));
}

void page_time(int64_t time_us, char *out)
{
    time_t then = (time_t)(time_us / 1000000), now = time(NULL);
    struct tm at, today;
    gmtime_r(&then, &at);
    gmtime_r(&now, &today);
    bool same = at.tm_year == today.tm_year && at.tm_yday == today.tm_yday;
    strftime(out, PAGE_TIME_SIZE, same ? "%H:%M UTC" : "%e %b %Y, %H:%M UTC", &at);
}

void page_json(struct evbuffer *out, const char *text)
{
    evbuffer_add(out, "\"", 1);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            evbuffer_add_printf(out, "\\%c", c);
        else if (c < ' ')
            evbuffer_add_printf(out, "\\u%04x", c);
        else
            evbuffer_add(out, text, 1);
    }
    evbuffer_add(out, "\"", 1);
}
