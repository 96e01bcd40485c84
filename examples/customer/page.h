/* SPDX-License-Identifier: MIT */
/* HTML from templates (pages/). A template has slots: {{name}} is a text to be read, {{=name}} one
 * that a form sends back, both escaped; {{{name}}} is HTML that was made from another template.
 * Nothing else gets into a page. */
#ifndef PAGE_H
#define PAGE_H

#include <event2/buffer.h>
#include <stdint.h>

typedef struct slot {
    const char *name;
    const char *text;      /* NULL: none */
    struct evbuffer *html; /* for {{{name}}}; it is emptied. NULL: none */
} slot;

#define SLOTS(...) ((const slot[]){__VA_ARGS__, {0}})

/* Appends the template with its slots filled to `out`. */
void page_fill(struct evbuffer *out, const char *template, const slot *slots);

/* "14:02 UTC", with the day when it is not today. out holds PAGE_TIME_SIZE bytes. */
enum { PAGE_TIME_SIZE = 64 };
void page_time(int64_t time_us, char *out);

/* Appends a JSON string, quotes included. */
void page_json(struct evbuffer *out, const char *text);

#endif
