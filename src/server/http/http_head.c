/* SPDX-License-Identifier: MIT */
/* Splitting a head. The form is known: METHOD SP TARGET SP HTTP/1.x CR LF, then NAME ":" VALUE CR
 * LF each, then CR LF; so every search ends within the text. */
#include "server/http/http_head.h"

#include <string.h>
#include <strings.h>

static http_method http_head_method_of(const char *text, size_t size)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS",
    };
    for (unsigned i = 0; i < HTTP_OTHER; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            return (http_method)i;
    return HTTP_OTHER;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool http_list_has(const char *list, const char *word)
{
    size_t size = strlen(word);
    while (*list != '\0') {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, ","), trimmed = item;
        while (trimmed > 0 && is_blank(list[trimmed - 1]))
            trimmed--;
        if (trimmed == size && strncasecmp(list, word, size) == 0)
            return true;
        list += item;
    }
    return false;
}

/* Only proxies have reason to send these. Not all do: a bare proxy_pass of nginx adds none. */
static bool is_of_proxies(const char *name)
{
    return strcmp(name, "forwarded") == 0 || strncmp(name, "x-forwarded-", 12) == 0 ||
           strcmp(name, "x-real-ip") == 0 || strcmp(name, "via") == 0;
}

/* What the layer itself wants to know. */
static void http_head_note(http_head *head, const char *name, const char *value)
{
    if (strcmp(name, "connection") == 0) {
        if (http_list_has(value, "close"))
            head->keep_alive = false;
        else if (head->http_1_0 && http_list_has(value, "keep-alive"))
            head->keep_alive = true;
    } else if (strcmp(name, "expect") == 0) {
        head->expects |= strcasecmp(value, "100-continue") == 0;
        head->demands |= strcasecmp(value, "100-continue") != 0;
    } else if (is_of_proxies(name)) {
        head->forwarded = true;
    }
}

/* Copies a line's name and value to `to`, which is not behind it; where the value is. */
static char *pack_line(http_head *head, char *to, char *line, char *end)
{
    char *name = to, *value;
    for (; *line != ':'; line++)
        *to++ = (char)(*line >= 'A' && *line <= 'Z' ? *line | 0x20 : *line);
    *to++ = '\0';
    for (line++; line < end && is_blank(*line); line++)
        ;
    while (end > line && is_blank(end[-1]))
        end--;
    value = to;
    memmove(value, line, (size_t)(end - line));
    value[end - line] = '\0';
    http_head_note(head, name, value);
    return value;
}

static void http_head_reverse(char *from, char *to)
{
    for (; to - from > 1; from++, to--) {
        char c = *from;
        *from = to[-1];
        to[-1] = c;
    }
}

/* Moves a later value of the same name behind the first one: [first][NUL, what is between][name NUL
 * value NUL] becomes [first][", " value][NUL, what is between], which is never longer, since a name
 * has at least a byte. Where that ends. */
static char *http_head_join(char *first_end, char *name, const char *value)
{
    size_t size = strlen(value);
    /* Behind it comes the NUL of what is between.
     * NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memmove(name + 2, value, size);
    name[0] = ',';
    name[1] = ' ';
    char *end = name + 2 + size;
    http_head_reverse(first_end, name);
    http_head_reverse(name, end);
    http_head_reverse(first_end, end);
    return end;
}

/* The value of that name among the headers in [at, end). */
static const char *server_http_head_find(const char *at, const char *end, const char *name)
{
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

const char *http_head_find(const char *text, const http_head *head, const char *name)
{
    return server_http_head_find(text + head->fields, text + head->fields_end, name);
}

/* Takes a header in; behind it the next goes. */
static char *http_head_take_line(http_head *head, char *fields, char *to, char *line, char *end)
{
    char *value = pack_line(head, to, line, end);
    const char *first = server_http_head_find(fields, to, to);
    return first == NULL ? value + strlen(value) + 1
                         : http_head_join(fields + (first - fields) + strlen(first), to, value);
}

static void split_target(const char *text, size_t target, size_t size, http_head *out)
{
    const char *question = memchr(text + target, '?', size);
    out->path = target;
    out->path_size = question == NULL ? size : (size_t)(question - (text + target));
    out->query = question == NULL ? target + size : target + out->path_size + 1;
    out->query_size = target + size - out->query;
}

bool http_head_split(char *text, size_t size, http_head *out)
{
    char *line_end = memchr(text, '\r', size), *space = memchr(text, ' ', size);
    size_t target = (size_t)(space + 1 - text);
    char *version = memchr(space + 1, ' ', size - target);
    bool http_1_0 = line_end[-1] == '0';
    *out = (http_head){.method = http_head_method_of(text, (size_t)(space - text)),
                       .http_1_0 = http_1_0,
                       .keep_alive = !http_1_0};
    split_target(text, target, (size_t)(version - space - 1), out);
    char *to = line_end, *line = line_end + 2;
    out->fields = (size_t)(to - text);
    while (*line != '\r') {
        char *end = memchr(line, '\r', size - (size_t)(line - text));
        to = http_head_take_line(out, line_end, to, line, end);
        line = end + 2;
    }
    out->fields_end = (size_t)(to - text);
    return text[target] == '/';
}
