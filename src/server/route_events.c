/* SPDX-License-Identifier: MIT */
/* GET /v1/events: a stream of what happens. It is begun when the feed knows where its follower starts, so nothing after the head of the
 * answer is missed. It ends when the client leaves, when its token no longer counts, or when the server stops.
 *
 * Who asks for a type, or for one of its records, may observe that type; who asks for all may observe all: so whatever passes the filter
 * may be seen. A stream lives long, and there may be thousands: the exchange is over when it begins, and what is left is small. */
#include "base/error.h"
#include "base/seams.h"
#include "server/handlers.h"

#include <string.h>

typedef struct stream stream;
struct stream {
    service *service;
    http_request *request;
    exchange *x;           /* until it has begun */
    stream *next, *before; /* of those that are open */
    feed_follower *follower;
    char token[HF_TOKEN_ID_SIZE];
};

hf_status ask_events(exchange *x, hf_error *err)
{
    hf_resource *resource = exchange_alloc(x, sizeof *resource, err);
    if (resource == NULL)
        return HF_NO_MEMORY;
    x->own = resource;
    if (x->in.last_event < 0)
        x->in.last_event = x->in.after_seq;
    if (x->in.resource == NULL)
        return HF_OK;
    if (x->in.type != NULL)
        return hf_fail(err, HF_INVALID, "Either give \"type\" or \"resource\", which names its type.");
    hf_status status = hf_resource_parse(x->in.resource, resource, err);
    x->in.type = resource->type;
    return status;
}

hf_status judge_events(exchange *x, hf_error *err)
{
    hf_op op = {.kind = HF_OP_LIST, .type = x->in.type};
    return caller_judge(&x->who, &op, err);
}

/* ---- which there are ---- */

static void enlist(stream *s)
{
    s->next = s->service->streams;
    if (s->next != NULL)
        s->next->before = s;
    s->service->streams = s;
}

static void delist(stream *s)
{
    if (s->next != NULL)
        s->next->before = s->before;
    if (s->before != NULL)
        s->before->next = s->next;
    else
        s->service->streams = s->next;
}

/* ---- one of them ---- */

/* It is over; the feed knows. */
static void end(stream *s)
{
    hf_error err = {0};
    delist(s);
    s->request->left = NULL;
    if (s->x == NULL) {
        limits_leave(s->service->limits, LIMITS_TOKEN, s->token, LIMITS_STREAM);
        http_stream_end(s->request);
    } else {
        hf_error_set(&err, HF_UNAVAILABLE, "The events can't be read at the moment; try again.");
        exchange_problem(s->x, 0, HF_UNAVAILABLE, &err);
    }
    hf_free(s);
}

static void leave(stream *s)
{
    feed_leave(s->follower);
    end(s);
}

/* The head is sent, and the exchange is over: its memory is given back. */
static void begin(stream *s)
{
    exchange *x = s->x;
    s->x = NULL;
    exchange_header(x, "X-Accel-Buffering", "no"); /* nginx would collect it */
    exchange_stream(x, "text/event-stream");
    s->request->context = s;
    hf_arena_done(&s->request->arena);
}

static void sink_write(void *context, const char *bytes, size_t size)
{
    stream *s = context;
    if (s->x != NULL)
        begin(s);
    http_stream_write(s->request, bytes, size);
}

static size_t sink_waiting(void *context)
{
    const stream *s = context;
    return s->x == NULL ? http_stream_waiting(s->request) : 0;
}

static void sink_end(void *context)
{
    end(context);
}

static stream *stream_of(http_request *request)
{
    return request->context;
}

static void left(http_request *request)
{
    leave(stream_of(request));
}

static void drained(http_request *request)
{
    feed_drained(stream_of(request)->follower);
}

void streams_check(service *all)
{
    for (stream *s = all->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (!callers_token_lives(all->callers, s->token))
            leave(s);
    }
}

static stream *stream_new(exchange *x)
{
    stream *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->service = x->service;
    s->request = x->request;
    s->x = x;
    memcpy(s->token, x->who.token->id, sizeof s->token);
    x->request->context = s;
    x->request->left = left;
    x->request->drained = drained;
    enlist(s);
    return s;
}

void tell_events(exchange *x)
{
    hf_error err = {0};
    const hf_resource *resource = x->own;
    feed_filter filter = {
        .type = x->in.type, .id = resource->id[0] != '\0' ? resource->id : NULL, .user = x->in.user};
    /* A stream without a body would never end. Nor would one whose client left while it was looked up who asks: `left` was not set then,
     * and is not called again. */
    if (x->request->method == HTTP_HEAD || x->request->gone) {
        exchange_reply(x, 200, "text/event-stream", HF_NOTHING);
        return;
    }
    stream *s = stream_new(x);
    if (s == NULL) {
        exchange_json(x, 500, NULL);
        return;
    }
    feed_sink sink = {sink_write, sink_waiting, sink_end, s};
    hf_status status = feed_follow(x->service->feed, &filter, x->in.last_event, &sink, &s->follower, &err);
    if (status != HF_OK) {
        delist(s);
        x->request->left = NULL;
        hf_free(s);
        exchange_problem(x, 0, status, &err);
    }
}
