/* SPDX-License-Identifier: MIT */
/* GET /v1/events: a stream of what happens. It is begun when the feed knows where its listener starts, so nothing after the head of the
 * answer is missed. It ends when the client leaves, when its token no longer counts, or when the server stops. */
#include "base/error.h"
#include "server/handlers.h"

#include <string.h>

typedef struct stream stream;
struct stream {
    exchange *x;
    stream *next, *before;   /* of those that are open */
    feed_listener *listener; /* NULL: gone */
    hf_resource resource;    /* the filter's */
    bool begun;
};

hf_status ask_events(exchange *x, hf_error *err)
{
    stream *own = exchange_alloc(x, sizeof *own, err);
    if (own == NULL)
        return HF_NO_MEMORY;
    own->x = x;
    x->own = own;
    if (x->in.last_event < 0 && x->in.after_seq >= 0)
        x->in.last_event = x->in.after_seq;
    if (x->in.resource == NULL)
        return HF_OK;
    if (x->in.type != NULL)
        return hf_fail(err, HF_INVALID, "Either give \"type\" or \"resource\", which names its type.");
    return hf_resource_parse(x->in.resource, &own->resource, err);
}

/* Who may not see all types must say which. */
hf_status judge_events(exchange *x, hf_error *err)
{
    stream *own = x->own;
    const char *type = own->resource.type[0] != '\0' ? own->resource.type : x->in.type;
    hf_op op = {.kind = HF_OP_LIST, .type = type};
    return caller_judge(&x->who, &op, err);
}

static bool may_see(void *context, const hf_event *event)
{
    const exchange *x = context;
    return caller_may_see(&x->who, event);
}

/* ---- the stream ---- */

static void enlist(stream *s)
{
    s->next = s->x->service->streams;
    if (s->next != NULL)
        s->next->before = s;
    s->x->service->streams = s;
}

static void delist(stream *s)
{
    if (s->next != NULL)
        s->next->before = s->before;
    if (s->before != NULL)
        s->before->next = s->next;
    else
        s->x->service->streams = s->next;
}

static void end(stream *s)
{
    exchange *x = s->x;
    hf_error err = {0};
    s->listener = NULL;
    delist(s);
    if (s->begun) {
        exchange_end(x);
        http_stream_end(x->request);
        return;
    }
    hf_error_set(&err, HF_UNAVAILABLE, "The events can't be read at the moment; try again.");
    exchange_problem(x, 0, HF_UNAVAILABLE, &err);
}

static void sink_write(void *context, const char *bytes, size_t size)
{
    stream *s = context;
    if (!s->begun) {
        s->begun = true;
        exchange_header(s->x, "X-Accel-Buffering", "no"); /* nginx would collect it */
        exchange_stream(s->x, "text/event-stream");
    }
    http_stream_write(s->x->request, bytes, size);
}

static size_t sink_waiting(void *context)
{
    const stream *s = context;
    return s->begun ? http_stream_waiting(s->x->request) : 0;
}

static void sink_end(void *context)
{
    end(context);
}

static void leave(stream *s)
{
    if (s->listener != NULL)
        feed_leave(s->listener);
    end(s);
}

static void left(http_request *request)
{
    exchange *x = request->context;
    leave(x->own);
}

void streams_check(service *all)
{
    for (stream *s = all->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->x->who.token == NULL || !callers_token_lives(all->callers, s->x->who.token->id))
            leave(s);
    }
}

static void drained(http_request *request)
{
    exchange *x = request->context;
    stream *s = x->own;
    if (s->listener != NULL)
        feed_drained(s->listener);
}

void tell_events(exchange *x)
{
    stream *s = x->own;
    hf_error err = {0};
    const char *id = s->resource.id[0] != '\0' ? s->resource.id : NULL;
    feed_filter filter = {.type = id != NULL ? s->resource.type : x->in.type,
                          .id = id,
                          .user = x->in.user,
                          .may_see = may_see,
                          .context = x};
    feed_sink sink = {sink_write, sink_waiting, sink_end, s};
    x->request->left = left;
    x->request->drained = drained;
    enlist(s);
    hf_status status = feed_listen(x->service->feed, &filter, x->in.last_event, &sink, &s->listener, &err);
    if (status != HF_OK) {
        x->request->left = NULL;
        delist(s);
        exchange_problem(x, 0, status, &err);
    }
}
