/* SPDX-License-Identifier: MIT */
/* Answers and streams: put together in one place, written at once. */
#include "base/digest.h"
#include "base/seams.h"
#include "server/http/http_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { OUTPUT_KEPT = 256 << 10 };

static void http_reply_put(hf_buffer *out, const char *text)
{
    hf_buffer_add(out, text, strlen(text));
}

static void http_reply_put_number(hf_buffer *out, size_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    hf_buffer_add(out, digits + at, sizeof digits - at);
}

static void http_reply_put_field(hf_buffer *out, const char *name, const char *value)
{
    http_reply_put(out, name);
    hf_buffer_add(out, ": ", 2);
    http_reply_put(out, value);
    hf_buffer_add(out, "\r\n", 2);
}

static const char *http_reply_status_line(int status)
{
    static const struct {
        int status;
        const char *line;
    } lines[] = {
        {200, "HTTP/1.1 200 OK\r\n"},
        {201, "HTTP/1.1 201 Created\r\n"},
        {423, "HTTP/1.1 423 Locked\r\n"},
        {204, "HTTP/1.1 204 No Content\r\n"},
        {304, "HTTP/1.1 304 Not Modified\r\n"},
        {400, "HTTP/1.1 400 Bad Request\r\n"},
        {401, "HTTP/1.1 401 Unauthorized\r\n"},
        {403, "HTTP/1.1 403 Forbidden\r\n"},
        {404, "HTTP/1.1 404 Not Found\r\n"},
        {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
        {408, "HTTP/1.1 408 Request Timeout\r\n"},
        {409, "HTTP/1.1 409 Conflict\r\n"},
        {410, "HTTP/1.1 410 Gone\r\n"},
        {412, "HTTP/1.1 412 Precondition Failed\r\n"},
        {413, "HTTP/1.1 413 Content Too Large\r\n"},
        {414, "HTTP/1.1 414 URI Too Long\r\n"},
        {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
        {417, "HTTP/1.1 417 Expectation Failed\r\n"},
        {421, "HTTP/1.1 421 Misdirected Request\r\n"},
        {422, "HTTP/1.1 422 Unprocessable Content\r\n"},
        {428, "HTTP/1.1 428 Precondition Required\r\n"},
        {429, "HTTP/1.1 429 Too Many Requests\r\n"},
        {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
        {500, "HTTP/1.1 500 Internal Server Error\r\n"},
        {501, "HTTP/1.1 501 Not Implemented\r\n"},
        {503, "HTTP/1.1 503 Service Unavailable\r\n"},
        {504, "HTTP/1.1 504 Gateway Timeout\r\n"},
        {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].status == status)
            return lines[i].line;
    return NULL;
}

static void http_reply_put_status(hf_buffer *out, int status)
{
    const char *line = http_reply_status_line(status);
    if (line != NULL) {
        http_reply_put(out, line);
        return;
    }
    http_reply_put(out, "HTTP/1.1 ");
    http_reply_put_number(out, (size_t)status, 10);
    http_reply_put(out, " \r\n");
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", made once a second. */
static const char *http_reply_date(http *h)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = (time_t)(hf_seam.wall_us() / 1000000);
    struct tm t;
    if (now == h->date_second || gmtime_r(&now, &t) == NULL)
        return h->date;
    h->date_second = now;
    snprintf(h->date, sizeof h->date, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday],
             t.tm_mday, months[t.tm_mon], (t.tm_year + 1900) % 10000, t.tm_hour, t.tm_min,
             t.tm_sec);
    return h->date;
}

/* ---- headers that may not get out ---- */

static bool http_reply_is_name(const char *text)
{
    return *text != '\0' &&
           text[strspn(text, "!#$%&'*+-.^_`|~0123456789"
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static bool http_reply_is_value(const char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static bool http_reply_all_good(const http_reply *reply)
{
    for (const http_field *f = reply->headers; f != NULL && f->name != NULL; f++)
        if (!http_reply_is_name(f->name) || !http_reply_is_value(f->value))
            return false;
    return reply->type == NULL || http_reply_is_value(reply->type);
}

static bool http_reply_has(const http_reply *reply, const char *name)
{
    for (const http_field *f = reply->headers; f != NULL && f->name != NULL; f++)
        if (strcasecmp(f->name, name) == 0)
            return true;
    return false;
}

/* ---- putting together ---- */

static void http_reply_put_length(hf_buffer *out, const http_held *r, const http_reply *reply,
                                  bool stream)
{
    if (reply->status == 204 || reply->status == 304)
        return;
    if (stream) {
        if (r->chunked)
            http_reply_put(out, "Transfer-Encoding: chunked\r\n");
        return;
    }
    http_reply_put(out, "Content-Length: ");
    http_reply_put_number(out, reply->type == NULL ? 0 : reply->body.size, 10);
    http_reply_put(out, "\r\n");
}

void answer_compose(http *h, const http_held *r, const http_reply *reply, bool stream, bool close)
{
    hf_buffer *out = &h->output;
    http_reply_put_status(out, reply->status);
    http_reply_put_field(out, "Date", http_reply_date(h));
    if (reply->type != NULL)
        http_reply_put_field(out, "Content-Type", reply->type);
    http_reply_put_length(out, r, reply, stream);
    if (close)
        http_reply_put(out, "Connection: close\r\n");
    else if (r != NULL && r->head.http_1_0)
        http_reply_put(out, "Connection: keep-alive\r\n");
    http_reply_put(out, "X-Content-Type-Options: nosniff\r\n");
    if (!http_reply_has(reply, "Cache-Control"))
        http_reply_put(out, "Cache-Control: no-store\r\n");
    for (const http_field *f = reply->headers; f != NULL && f->name != NULL; f++)
        http_reply_put_field(out, f->name, f->value);
    http_reply_put(out, "\r\n");
    bool bodiless =
        (r != NULL && r->head.method == HTTP_HEAD) || reply->status == 204 || reply->status == 304;
    if (!stream && !bodiless && reply->type != NULL)
        hf_buffer_add(out, reply->body.at, reply->body.size);
}

void answer_wipe(http *h)
{
    hf_buffer *out = &h->output;
    if (out->text != NULL)
        hf_secret_wipe(out->text, out->size);
    out->size = 0;
    if (out->failed || out->room > OUTPUT_KEPT)
        hf_buffer_done(out);
}

static void http_reply_send_output(http_conn *c)
{
    http *h = c->http;
    if (h->output.failed)
        conn_break(c);
    else
        conn_send(c, h->output.text, h->output.size);
    answer_wipe(h);
}

static bool http_reply_must_close(const http_held *r, const http_reply *reply)
{
    return reply->close || !r->head.keep_alive || r->http->stopping;
}

/* What goes out instead of an answer that can't; its body is in `body`. */
static http_reply http_reply_unsendable(http *h, hf_buffer *body)
{
    http_reply reply = {.status = 500};
    reply.type = h->settings.problem(h->settings.context, 500,
                                     "The server made an answer that can't be sent.", body);
    reply.body = (hf_slice){body->text, body->failed ? 0 : body->size};
    return reply;
}

/* It has a header that is none. */
static void http_reply_answer_bad_header(http_held *r)
{
    hf_buffer body = {0};
    http_count(r->http, "bad_header");
    http_reply reply = http_reply_unsendable(r->http, &body);
    http_answer(&r->request, &reply);
    hf_buffer_done(&body);
}

/* It is too large, or memory is out; nothing of it has been sent. */
static void http_reply_compose_unsendable(http_held *r)
{
    hf_buffer body = {0};
    http_count(r->http, "answer_failed");
    answer_wipe(r->http);
    http_reply reply = http_reply_unsendable(r->http, &body);
    r->conn->closing = true;
    answer_compose(r->http, r, &reply, false, true);
    hf_buffer_done(&body);
}

/* The request is over. */
static void http_reply_let_go(http_held *r)
{
    http_conn *c = r->conn;
    r->http->requests_count--;
    held_give_back(r);
    if (c != NULL)
        conn_answered(c);
}

void http_answer(http_request *request, const http_reply *reply)
{
    http_held *r = held_of(request);
    http_conn *c = r->conn;
    assert(reply->status >= 200 && reply->status < 1000 && (c == NULL || c->phase == HANDLING));
    if (!http_reply_all_good(reply)) {
        http_reply_answer_bad_header(r);
        return;
    }
    if (c != NULL && !c->broken) {
        c->closing = http_reply_must_close(r, reply);
        answer_compose(r->http, r, reply, false, c->closing);
        if (r->http->output.failed)
            http_reply_compose_unsendable(r);
        http_reply_send_output(c);
    }
    http_reply_let_go(r);
}

/* ---- streams ---- */

static void http_reply_put_piece(http_held *r, const char *from, size_t size)
{
    hf_buffer *out = &r->http->output;
    if (size == 0 || r->bodiless)
        return;
    if (r->chunked) {
        http_reply_put_number(out, size, 16);
        hf_buffer_add(out, "\r\n", 2);
    }
    hf_buffer_add(out, from, size);
    if (r->chunked)
        hf_buffer_add(out, "\r\n", 2);
}

/* What was asked is no longer needed. */
static void http_reply_forget_text(http_held *r)
{
    held_forget(r, 0);
    r->request.path = r->request.query = r->request.body = HF_NOTHING;
}

void http_stream_begin(http_request *request, const http_reply *reply)
{
    static const http_reply bad = {.status = 500};
    http_held *r = held_of(request);
    http_conn *c = r->conn;
    assert(c == NULL || c->phase == HANDLING);
    bool good = http_reply_all_good(reply);
    if (!good)
        http_count(r->http, "bad_header");
    r->bodiless = !good || r->head.method == HTTP_HEAD;
    r->chunked = !r->head.http_1_0;
    if (c != NULL && !c->broken) {
        c->closing = !good || http_reply_must_close(r, reply) || !r->chunked;
        answer_compose(r->http, r, good ? reply : &bad, true, c->closing);
        http_reply_put_piece(r, reply->body.at, reply->body.size);
        c->phase = STREAMING;
        http_reply_send_output(c);
        conn_streams(c);
    }
    http_reply_forget_text(r);
}

void http_stream_write(http_request *request, const char *from, size_t size)
{
    http_held *r = held_of(request);
    http_conn *c = r->conn;
    assert(c == NULL || c->broken || c->phase == STREAMING);
    if (c == NULL || c->broken || size == 0 || r->bodiless)
        return;
    http_reply_put_piece(r, from, size);
    http_reply_send_output(c);
    if (bytes_left(&c->out) > HTTP_STREAM_WAITING_MAX)
        conn_break(c);
}

size_t http_stream_waiting(const http_request *request)
{
    const http_conn *c = ((const http_held *)(const void *)request)->conn;
    return c == NULL ? 0 : bytes_left(&c->out);
}

void http_stream_end(http_request *request)
{
    http_held *r = held_of(request);
    http_conn *c = r->conn;
    if (c != NULL && !c->broken && r->chunked && !r->bodiless)
        conn_send(c, "0\r\n\r\n", 5);
    http_reply_let_go(r);
}
