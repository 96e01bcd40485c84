/* SPDX-License-Identifier: MIT */
/* Filling templates, escaped. */
#include "page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void page_escape(struct evbuffer *out, const char *text)
{
    for (;; text++) {
        size_t plain = strcspn(text, "&<>\"'");
        evbuffer_add(out, text, plain);
        text += plain;
        if (*text == '\0')
            return;
        evbuffer_add_printf(out, "&#%d;", *text);
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
        bool html = open[2] == '{';
        const char *name = open + (html ? 3 : 2);
        const slot *it = page_slot(slots, name, (size_t)(close - name));
        evbuffer_add(out, template, (size_t)(open - template));
        if (it != NULL && html && it->html != NULL)
            evbuffer_add_buffer(out, it->html);
        else if (it != NULL && !html && it->text != NULL)
            page_escape(out, it->text);
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
