/* SPDX-License-Identifier: MIT */
/* GET and POST /v1/events: a stream of what happens. It is begun when the feed knows where its
 * follower starts, so nothing after the head of the answer is missed. It ends when the client
 * leaves, when its token or its session no longer counts, or when the server stops.
 *
 * With a token: who asks for a type, or for some of its records, may observe that type; who asks
 * for all may observe all. With a session and no token: who names records may look at who holds
 * them; a ticket stands for such a session. So whatever passes the filter may be seen. A stream
 * lives long, and there may be thousands: the exchange is over when it begins, and what is left
 * is small.
 *
 * That a session was closed is an event, which ends its streams in the feed. That it has expired
 * leaves an event only when someone comes across it: so the session is looked up when it would
 * expire if it had not beaten since the last look. */
#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"
#include "server/handlers.h"
#include "server/ticket.h"

#include <string.h>

enum {
    EVENTS_QUERY_MAX = 100,         /* records named in a query */
    EVENTS_BODY_MAX = 1000,         /* ... in a body */
    STREAM_LOOKS_MAX = 64,          /* under way at a time */
    STREAM_LOOK_AGAIN_US = 1000000, /* when the store did not answer */
};

typedef struct stream stream;

/* A look at a stream's session. */
typedef struct stream_look {
    loop_job job;
    hf_op op;
    hf_credentials session; /* copies: the stream may end meanwhile */
    caller_proof proof;
    service *service;
    stream *of; /* NULL: it has ended */
} stream_look;

struct stream {
    service *service;
    http_request *request;
    exchange *x;           /* until it has begun */
    stream *next, *before; /* of those that are open */
    feed_follower *follower;
    char token[HF_TOKEN_ID_SIZE]; /* that was presented, or that opened the session */
    hf_credentials session;       /* id "": it is not a session's */
    bool proved;                  /* by a ticket: the key is not known */
    caller_proof proof;
    int64_t look_us;   /* when the session is looked up again */
    stream_look *look; /* under way */
};

/* What is asked for. */
typedef struct events_wanted {
    hf_resource *resources;
    size_t count;
    bool by_session;
    ticket *ticket; /* that opens it; NULL: none */
} events_wanted;

static hf_status events_read_names(exchange *x, events_wanted *wanted, hf_error *err)
{
    const wire_texts *names = &x->in.resources;
    bool in_body = x->request->method == HTTP_POST || wanted->ticket != NULL;
    size_t most = in_body ? EVENTS_BODY_MAX : EVENTS_QUERY_MAX;
    hf_status status = HF_OK;
    if (names->count > most)
        return hf_fail(err, HF_TOO_LARGE, "Up to %zu records can be followed this way, not %zu.%s",
                       most, names->count,
                       in_body ? " Open a second stream for the others."
                               : " POST /v1/events takes more of them.");
    wanted->resources = exchange_alloc(x, names->count * sizeof *wanted->resources, err);
    if (wanted->resources == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < names->count && status == HF_OK; i++)
        status = hf_resource_parse(names->items[i], &wanted->resources[i], err);
    wanted->count = names->count;
    return status;
}

/* A session that was named counts more than a cookie that came along. The session is looked up
 * also when it is known: it has to be known until when it lives. */
static hf_status events_ask_session(exchange *x, hf_error *err)
{
    const events_wanted *wanted = x->own;
    if (wanted->count == 0)
        return hf_fail(err, HF_INVALID,
                       "A session follows the records that it names, each as resource=TYPE/ID; for "
                       "all of a type, or all there are, present a token that may observe them.");
    if (x->cookie)
        x->who.bearer = NULL;
    x->who.proof = wanted->ticket == NULL ? NULL : &wanted->ticket->proof;
    hf_status status = exchange_room(x, 1, err);
    if (status == HF_OK)
        *exchange_add(x, HF_OP_SESSION_FIND) = caller_find_session(x->in.login, x->who.proof);
    return status;
}

/* It stands for the session and the records that it names. */
static hf_status events_read_ticket(exchange *x, events_wanted *wanted, hf_error *err)
{
    bool bearer = x->who.bearer != NULL && !x->cookie;
    if (x->in.login != NULL || bearer || x->in.resources.count > 0 || x->in.type != NULL)
        return hf_fail(err, HF_INVALID,
                       "A ticket names its session and its records; give neither these nor a token "
                       "beside it.");
    wanted->ticket = exchange_alloc(x, sizeof *wanted->ticket, err);
    if (wanted->ticket == NULL)
        return HF_NO_MEMORY;
    hf_status status = ticket_read(x->in.ticket, &x->request->arena, wanted->ticket, err);
    x->in.login = &wanted->ticket->session;
    x->in.resources = wanted->ticket->names;
    return status;
}

static hf_status events_read(exchange *x, hf_error *err)
{
    events_wanted *wanted = exchange_alloc(x, sizeof *wanted, err);
    if (wanted == NULL)
        return HF_NO_MEMORY;
    x->own = wanted;
    if (x->in.last_event < 0)
        x->in.last_event = x->in.after_seq;
    if (x->in.resources.count > 0 && x->in.type != NULL)
        return hf_fail(err, HF_INVALID,
                       "Either give \"type\" or \"resource\", which names its type.");
    hf_status status = x->in.ticket == NULL ? HF_OK : events_read_ticket(x, wanted, err);
    if (status != HF_OK || x->in.resources.count == 0)
        return status;
    return events_read_names(x, wanted, err);
}

hf_status ask_events(exchange *x, hf_error *err)
{
    hf_status status = events_read(x, err);
    events_wanted *wanted = x->own;
    if (status != HF_OK)
        return status;
    wanted->by_session =
        wanted->ticket != NULL || (x->in.login != NULL && (x->who.bearer == NULL || x->cookie));
    if (!wanted->by_session && wanted->count == 0 && x->request->method == HTTP_POST)
        return hf_fail(err, HF_INVALID, "\"resources\" must have 1 to %d texts.", EVENTS_BODY_MAX);
    return wanted->by_session ? events_ask_session(x, err) : HF_OK;
}

/* What a session follows it may look at by itself: a token that came along gives it nothing,
 * though a wrong one is not passed over. */
hf_status judge_events(exchange *x, hf_error *err)
{
    const events_wanted *wanted = x->own;
    caller who = x->who;
    if (wanted->by_session)
        who.token = NULL;
    hf_op op = {.kind = wanted->by_session ? HF_OP_WHO : HF_OP_LIST, .type = x->in.type};
    if (wanted->count == 0)
        return caller_judge(&who, &op, err);
    hf_status status = HF_OK;
    for (size_t i = 0; i < wanted->count && status == HF_OK; i++) {
        op.type = wanted->resources[i].type;
        status = caller_judge(&who, &op, err);
    }
    return status;
}

/* ---- which there are ---- */

static void route_events_enlist(stream *s)
{
    s->next = s->service->streams;
    if (s->next != NULL)
        s->next->before = s;
    s->service->streams = s;
}

static void route_events_delist(stream *s)
{
    if (s->next != NULL)
        s->next->before = s->before;
    if (s->before != NULL)
        s->before->next = s->next;
    else
        s->service->streams = s->next;
}

/* ---- one of them ---- */

static void stream_free(stream *s)
{
    route_events_delist(s);
    if (s->look != NULL)
        s->look->of = NULL;
    hf_credentials_clear(&s->session);
    hf_secret_wipe(&s->proof, sizeof s->proof);
    hf_free(s);
}

/* It is over; the feed knows. */
static void route_events_end(stream *s)
{
    hf_error err = {0};
    s->request->left = NULL;
    if (s->x == NULL) {
        limits_leave(s->service->limits, LIMITS_TOKEN, s->token, LIMITS_STREAM);
        if (s->session.id[0] != '\0')
            limits_leave(s->service->limits, LIMITS_SESSION, s->session.id, LIMITS_STREAM);
        http_stream_end(s->request);
    } else {
        hf_error_set(&err, HF_UNAVAILABLE, "The events can't be read at the moment; try again.");
        exchange_problem(s->x, 0, HF_UNAVAILABLE, &err);
    }
    stream_free(s);
}

static void route_events_leave(stream *s)
{
    feed_leave(s->follower);
    route_events_end(s);
}

/* The head is sent, and the exchange is over: its memory is given back. */
static void route_events_begin(stream *s)
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
        route_events_begin(s);
    http_stream_write(s->request, bytes, size);
}

static size_t sink_waiting(void *context)
{
    const stream *s = context;
    return s->x == NULL ? http_stream_waiting(s->request) : 0;
}

static void sink_end(void *context)
{
    route_events_end(context);
}

static stream *stream_of(http_request *request)
{
    return request->context;
}

static void route_events_left(http_request *request)
{
    route_events_leave(stream_of(request));
}

static void route_events_drained(http_request *request)
{
    feed_drained(stream_of(request)->follower);
}

/* ---- whether they still count ---- */

/* The session lives, by that answer; it is looked up again when it would have expired. */
static void stream_note_session(stream *s, const hf_answer *answer)
{
    s->look_us = hf_seam.boot_us() + answer->sessions[0].expires_us - answer->now_us;
}

static void stream_look_free(stream_look *it)
{
    hf_credentials_clear(&it->session);
    hf_secret_wipe(&it->proof, sizeof it->proof);
    hf_free(it);
}

static void stream_look_finish(loop_job *job)
{
    stream_look *it = (stream_look *)(void *)((char *)job - offsetof(stream_look, job));
    const hf_answer *answer = &it->op.answer;
    hf_status status = job->job.status != HF_OK ? job->job.status : answer->status;
    stream *s = it->of;
    it->service->streams_looks--;
    if (s != NULL)
        s->look = NULL;
    if (s != NULL && status == HF_OK && answer->sessions_count == 1)
        stream_note_session(s, answer);
    else if (s != NULL && (status == HF_EXPIRED || status == HF_NOT_FOUND || status == HF_DENIED))
        route_events_leave(s);
    else if (s != NULL)
        s->look_us = hf_seam.boot_us() + STREAM_LOOK_AGAIN_US;
    jobs_release(job);
    stream_look_free(it);
}

/* What can't be done now is done the next time. */
static void stream_look_for_session(stream *s)
{
    service *all = s->service;
    stream_look *it = all->streams_looks < STREAM_LOOKS_MAX ? hf_alloc(sizeof *it) : NULL;
    if (it == NULL)
        return;
    it->service = all;
    it->of = s;
    it->session = s->session;
    it->proof = s->proof;
    it->op = caller_find_session(&it->session, s->proved ? &it->proof : NULL);
    it->job.job = (committer_job){.ops = &it->op, .count = 1, .look = true};
    it->job.finish = stream_look_finish;
    if (jobs_submit(all->jobs, &it->job, NULL) != HF_OK) {
        stream_look_free(it);
        return;
    }
    all->streams_looks++;
    s->look = it;
}

void streams_check(service *all)
{
    int64_t now_us = hf_seam.boot_us();
    for (stream *s = all->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (!callers_token_lives(all->callers, s->token))
            route_events_leave(s);
        else if (s->session.id[0] != '\0' && s->look == NULL && s->look_us <= now_us)
            stream_look_for_session(s);
    }
}

/* ---- beginning ---- */

/* Who was refused, and by which token, is for those who may observe. */
static bool stream_session_may_see(void *context, const hf_event *event)
{
    (void)context;
    return event->kind != HF_EVENT_DENIED && event->kind != HF_EVENT_UNAUTHENTICATED;
}

static void stream_of_session(stream *s, const exchange *x)
{
    s->session = *x->in.login;
    s->proved = x->who.proof != NULL;
    if (s->proved)
        s->proof = *x->who.proof;
    memcpy(s->token, exchange_session(x)->token->id, sizeof s->token);
    stream_note_session(s, &x->ops[0].answer);
}

static stream *stream_new(exchange *x)
{
    stream *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->service = x->service;
    s->request = x->request;
    s->x = x;
    if (((const events_wanted *)x->own)->by_session)
        stream_of_session(s, x);
    else
        memcpy(s->token, x->who.token->id, sizeof s->token);
    x->request->context = s;
    x->request->left = route_events_left;
    x->request->drained = route_events_drained;
    route_events_enlist(s);
    return s;
}

/* By the store's clock; one that lasts longer than any of ours was not made by a server. */
static hf_status stream_check_ticket(const exchange *x, hf_error *err)
{
    const ticket *it = ((const events_wanted *)x->own)->ticket;
    int64_t left_us = it == NULL ? 1 : it->expires_us - x->ops[0].answer.now_us;
    return left_us > 0 && left_us <= TICKET_LIFE_US
               ? HF_OK
               : hf_fail(err, HF_EXPIRED, "The ticket has expired; ask for a new one.");
}

void tell_events(exchange *x)
{
    hf_error err = {0};
    const events_wanted *wanted = x->own;
    hf_status status = stream_check_ticket(x, &err);
    if (status != HF_OK) {
        exchange_problem(x, 0, status, &err);
        return;
    }
    feed_filter filter = {.type = x->in.type,
                          .resources = wanted->resources,
                          .resources_count = wanted->count,
                          .user = x->in.user,
                          .session = wanted->by_session ? x->in.login->id : NULL,
                          .recent = wanted->by_session,
                          .may_see = wanted->by_session ? stream_session_may_see : NULL};
    /* A stream without a body would never end. Nor would one whose client left while it was looked
     * up who asks: `route_events_left` was not set then, and is not called again. */
    if (x->request->method == HTTP_HEAD || x->request->gone) {
        exchange_reply(x, 200, "text/event-stream", HF_NOTHING);
        return;
    }
    stream *s = stream_new(x);
    if (s == NULL) {
        exchange_json(x, 500, NULL);
        return;
    }
    exchange_release(x);
    feed_sink sink = {sink_write, sink_waiting, sink_end, s};
    status = feed_follow(x->service->feed, &filter, x->in.last_event, &sink, &s->follower, &err);
    if (status != HF_OK) {
        x->request->left = NULL;
        stream_free(s);
        exchange_problem(x, 0, status, &err);
    }
}

/* ---- tickets ---- */

hf_status ask_ticket(exchange *x, hf_error *err)
{
    hf_status status = events_read(x, err);
    events_wanted *wanted = x->own;
    if (status != HF_OK)
        return status;
    wanted->by_session = true;
    if (x->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say whose ticket it is: present the session as 'Holdfast-Session: "
                       "ID.KEY'.");
    return events_ask_session(x, err);
}

void tell_ticket(exchange *x)
{
    hf_error err = {0};
    hf_json json = {0};
    const char *text = NULL;
    int64_t expires_us = x->ops[0].answer.now_us + TICKET_LIFE_US;
    hf_status status =
        ticket_write(x->in.login, expires_us, &x->in.resources, &x->request->arena, &text, &err);
    if (status != HF_OK) {
        exchange_problem(x, 0, status, &err);
        return;
    }
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "ticket", text);
    hf_json_put_time(&json, "expires", expires_us);
    hf_json_end(&json, '}');
    exchange_json(x, 201, hf_buffer_take(&json.out));
}
