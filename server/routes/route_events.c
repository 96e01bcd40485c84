/* SPDX-License-Identifier: MIT */
/* GET and POST /v1/events: a stream of what happens. It is begun when the feed knows where its
 * follower starts, so nothing after the head of the answer is missed. It ends when the client
 * leaves, when its token or its session no longer counts, or when the server stops.
 *
 * With a token: who asks for a type, or for some of its records, may observe that type; who asks
 * for all may observe all. With a session and no token: who names records may look at who holds
 * them; a ticket stands for such a session. So whatever passes the filter may be seen. A stream
 * lives long, and there may be thousands: the request is over when it begins, and what is left
 * is small.
 *
 * That a session was closed is an event, which ends its streams in the feed. That it has expired
 * leaves an event only when someone comes across it: so the session is looked up when it would
 * expire if it had not beaten since the last look. */
#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "base/seams.h"
#include "server/feed/ticket.h"
#include "server/routes/handlers.h"

#include <string.h>

enum {
    EVENTS_QUERY_MAX = 100,         /* records named in a query */
    EVENTS_BODY_MAX = 1000,         /* ... in a body */
    STREAM_LOOKS_MAX = 64,          /* under way at a time */
    STREAM_LOOK_AGAIN_US = 1000000, /* when the store did not answer */
};

enum {
    NAME_COST = 18,   /* of a name that is followed, beside its text: see feed_names */
    NAMES_TOKENS = 4, /* all streams may follow as much as those of so many tokens */
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
    http_request *http;
    request *req;          /* until it has begun */
    stream *next, *before; /* of those that are open */
    feed_follower *follower;
    char token[HF_TOKEN_ID_SIZE]; /* that was presented, or that opened the session */
    hf_credentials session;       /* id "": it is not a session's */
    hf_credentials cookie;        /* id "": no page's cookie has opened it */
    size_t names_size;            /* of the records that it follows, in memory */
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

static hf_status events_read_names(request *req, events_wanted *wanted, hf_error *err)
{
    const wire_texts *names = &req->in.resources;
    bool in_body = req->http->method == HTTP_POST || wanted->ticket != NULL;
    size_t most = in_body ? EVENTS_BODY_MAX : EVENTS_QUERY_MAX;
    hf_status status = HF_OK;
    if (names->count > most)
        return hf_fail(err, HF_TOO_LARGE, "Up to %zu records can be followed this way, not %zu.%s",
                       most, names->count,
                       in_body ? " Open a second stream for the others."
                               : " POST /v1/events takes more of them.");
    wanted->resources = request_alloc(req, names->count * sizeof *wanted->resources, err);
    if (wanted->resources == NULL)
        return HF_NO_MEMORY;
    for (size_t i = 0; i < names->count && status == HF_OK; i++)
        status = hf_resource_parse(names->items[i], &wanted->resources[i], err);
    wanted->count = names->count;
    return status;
}

/* A session that was named counts more than a cookie that came along. The session is looked up
 * also when it is known: it has to be known until when it lives. */
static hf_status events_ask_session(request *req, hf_error *err)
{
    const events_wanted *wanted = req->own;
    if (wanted->count == 0)
        return hf_fail(err, HF_INVALID,
                       "A session follows the records that it names, each as resource=TYPE/ID; for "
                       "all of a type, or all there are, present a token that may observe them.");
    if (req->cookie)
        req->who.bearer = NULL;
    req->who.proof = wanted->ticket == NULL ? NULL : &wanted->ticket->proof;
    hf_status status = request_room(req, 1, err);
    if (status == HF_OK)
        *request_add(req, HF_OP_SESSION_FIND) = caller_find_session(req->in.login, req->who.proof);
    return status;
}

/* It stands for the session and the records that it names. */
static hf_status events_read_ticket(request *req, events_wanted *wanted, hf_error *err)
{
    bool bearer = req->who.bearer != NULL && !req->cookie;
    if (req->in.login != NULL || bearer || req->in.resources.count > 0 || req->in.type != NULL)
        return hf_fail(err, HF_INVALID,
                       "A ticket names its session and its records; give neither these nor a token "
                       "beside it.");
    wanted->ticket = request_alloc(req, sizeof *wanted->ticket, err);
    if (wanted->ticket == NULL)
        return HF_NO_MEMORY;
    hf_status status = ticket_read(req->in.ticket, &req->http->arena, wanted->ticket, err);
    req->in.login = &wanted->ticket->session;
    req->in.resources = wanted->ticket->names;
    return status;
}

static hf_status events_read(request *req, hf_error *err)
{
    events_wanted *wanted = request_alloc(req, sizeof *wanted, err);
    if (wanted == NULL)
        return HF_NO_MEMORY;
    req->own = wanted;
    if (req->in.last_event < 0)
        req->in.last_event = req->in.after_seq;
    if (req->in.resources.count > 0 && req->in.type != NULL)
        return hf_fail(err, HF_INVALID,
                       "Either give \"type\" or \"resource\", which names its type.");
    hf_status status = req->in.ticket == NULL ? HF_OK : events_read_ticket(req, wanted, err);
    if (status != HF_OK || req->in.resources.count == 0)
        return status;
    return events_read_names(req, wanted, err);
}

hf_status events_parse(request *req, hf_error *err)
{
    hf_status status = events_read(req, err);
    events_wanted *wanted = req->own;
    if (status != HF_OK)
        return status;
    wanted->by_session = wanted->ticket != NULL ||
                         (req->in.login != NULL && (req->who.bearer == NULL || req->cookie));
    if (!wanted->by_session && wanted->count == 0 && req->http->method == HTTP_POST)
        return hf_fail(err, HF_INVALID, "\"resources\" must have 1 to %d texts.", EVENTS_BODY_MAX);
    return wanted->by_session ? events_ask_session(req, err) : HF_OK;
}

/* What a session follows it may look at by itself: a token that came along gives it nothing,
 * though a wrong one is not passed over. */
hf_status events_authorize(request *req, hf_error *err)
{
    const events_wanted *wanted = req->own;
    caller who = req->who;
    if (wanted->by_session)
        who.token = NULL;
    hf_op op = {.kind = wanted->by_session ? HF_OP_WHO : HF_OP_LIST, .type = req->in.type};
    if (wanted->count == 0)
        return authorize_op(&who, &op, err);
    hf_status status = HF_OK;
    for (size_t i = 0; i < wanted->count && status == HF_OK; i++) {
        op.type = wanted->resources[i].type;
        status = authorize_op(&who, &op, err);
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
    hf_credentials_clear(&s->cookie);
    s->service->streams_names -= s->names_size;
    hf_secret_wipe(&s->proof, sizeof s->proof);
    hf_free(s);
}

/* It is over; the feed knows. */
static void route_events_end(stream *s)
{
    hf_error err = {0};
    s->http->left = NULL;
    if (s->req == NULL) {
        rate_limits_leave(s->service->limits, RATE_LIMITS_TOKEN, s->token, RATE_LIMITS_STREAM);
        if (s->session.id[0] != '\0')
            rate_limits_leave(s->service->limits, RATE_LIMITS_SESSION, s->session.id,
                              RATE_LIMITS_STREAM);
        http_stream_end(s->http);
    } else {
        hf_error_set(&err, HF_UNAVAILABLE, "The events can't be read at the moment; try again.");
        reply_problem(s->req, 0, HF_UNAVAILABLE, &err);
    }
    stream_free(s);
}

static void route_events_leave(stream *s)
{
    feed_leave(s->follower);
    route_events_end(s);
}

/* The head is sent, and the request is over: its memory is given back. */
static void route_events_begin(stream *s)
{
    request *req = s->req;
    s->req = NULL;
    reply_header(req, "X-Accel-Buffering", "no"); /* nginx would collect it */
    reply_stream(req, "text/event-stream");
    s->http->context = s;
    hf_arena_done(&s->http->arena);
}

static void sink_write(void *context, const char *bytes, size_t size)
{
    stream *s = context;
    if (s->req != NULL)
        route_events_begin(s);
    http_stream_write(s->http, bytes, size);
}

static size_t sink_waiting(void *context)
{
    const stream *s = context;
    return s->req == NULL ? http_stream_waiting(s->http) : 0;
}

static void sink_end(void *context)
{
    route_events_end(context);
}

static stream *stream_of(http_request *r)
{
    return r->context;
}

static void route_events_left(http_request *r)
{
    route_events_leave(stream_of(r));
}

static void route_events_drained(http_request *r)
{
    feed_drained(stream_of(r)->follower);
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
        if (!(s->cookie.id[0] != '\0' ? authenticator_cookie_lives(all->authenticator, &s->cookie)
                                       : authenticator_token_lives(all->authenticator, s->token)))
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

static void stream_of_session(stream *s, const request *req)
{
    s->session = *req->in.login;
    s->proved = req->who.proof != NULL;
    if (s->proved)
        s->proof = *req->who.proof;
    memcpy(s->token, request_session(req)->token->id, sizeof s->token);
    stream_note_session(s, &req->ops[0].answer);
}

static stream *stream_new(request *req)
{
    stream *s = hf_alloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->service = req->service;
    s->http = req->http;
    s->req = req;
    if (((const events_wanted *)req->own)->by_session)
        stream_of_session(s, req);
    else {
        memcpy(s->token, req->who.token->id, sizeof s->token);
        if (req->cookie && hf_credentials_parse(req->who.bearer, &s->cookie, NULL) != HF_OK)
            s->cookie.id[0] = '\0'; /* it was read before */
    }
    req->http->context = s;
    req->http->left = route_events_left;
    req->http->drained = route_events_drained;
    route_events_enlist(s);
    return s;
}

/* By the store's clock; one that lasts longer than any of ours was not made by a server. */
static hf_status stream_check_ticket(const request *req, hf_error *err)
{
    const ticket *it = ((const events_wanted *)req->own)->ticket;
    int64_t left_us = it == NULL ? 1 : it->expires_us - req->ops[0].answer.now_us;
    return left_us > 0 && left_us <= TICKET_LIFE_US
               ? HF_OK
               : hf_fail(err, HF_EXPIRED, "The ticket has expired; ask for a new one.");
}

static size_t events_names_size(const events_wanted *wanted)
{
    size_t size = 0;
    for (size_t i = 0; i < wanted->count; i++)
        size += strlen(wanted->resources[i].type) + strlen(wanted->resources[i].id) + NAME_COST;
    return size;
}

/* What streams follow stays in memory as long as they live, so it is bounded together. */
static hf_status stream_check_names(const request *req, size_t size, hf_error *err)
{
    const service *all = req->service;
    const events_wanted *wanted = req->own;
    const char *token =
        wanted->by_session ? request_session(req)->token->id : req->who.token->id;
    size_t most = (size_t)all->settings->names_token, own = size;
    if (most == 0 || all->streams_names + size <= most)
        return HF_OK;
    for (const stream *s = all->streams; s != NULL; s = s->next)
        own += strcmp(s->token, token) == 0 ? s->names_size : 0;
    if (own > most)
        return hf_fail(err, HF_TOO_MANY,
                       "The streams of this token and of its sessions would follow more names of "
                       "records than the %zu bytes that they may together (names-token): close "
                       "some, or follow fewer records.",
                       most);
    if (all->streams_names + size > NAMES_TOKENS * most)
        return hf_fail(err, HF_TOO_MANY,
                       "All streams together follow as many names of records as they may on this "
                       "server (%d times names-token); try again later.",
                       NAMES_TOKENS);
    return HF_OK;
}

void events_reply(request *req)
{
    hf_error err = {0};
    const events_wanted *wanted = req->own;
    hf_status status = stream_check_ticket(req, &err);
    if (status != HF_OK) {
        reply_problem(req, 0, status, &err);
        return;
    }
    feed_filter filter = {.type = req->in.type,
                          .resources = wanted->resources,
                          .resources_count = wanted->count,
                          .user = req->in.user,
                          .session = wanted->by_session ? req->in.login->id : NULL,
                          .newest_only = wanted->by_session,
                          .may_see = wanted->by_session ? stream_session_may_see : NULL};
    /* A stream without a body would never end. Nor would one whose client left while it was looked
     * up who asks: `route_events_left` was not set then, and is not called again. */
    if (req->http->method == HTTP_HEAD || req->http->gone) {
        reply_send(req, 200, "text/event-stream", HF_NOTHING);
        return;
    }
    size_t names_size = events_names_size(wanted);
    status = stream_check_names(req, names_size, &err);
    if (status != HF_OK) {
        reply_problem(req, 0, status, &err);
        return;
    }
    stream *s = stream_new(req);
    if (s == NULL) {
        reply_json(req, 500, NULL);
        return;
    }
    s->names_size = names_size;
    req->service->streams_names += names_size;
    request_release(req);
    feed_sink sink = {sink_write, sink_waiting, sink_end, s};
    status =
        feed_follow(req->service->feed, &filter, req->in.last_event, &sink, &s->follower, &err);
    if (status != HF_OK) {
        req->http->left = NULL;
        stream_free(s);
        reply_problem(req, 0, status, &err);
    }
}

/* ---- tickets ---- */

hf_status ticket_parse(request *req, hf_error *err)
{
    hf_status status = events_read(req, err);
    events_wanted *wanted = req->own;
    if (status != HF_OK)
        return status;
    wanted->by_session = true;
    if (req->in.login == NULL)
        return hf_fail(err, HF_UNAUTHENTICATED,
                       "Say whose ticket it is: present the session as 'Holdfast-Session: "
                       "ID.KEY'.");
    return events_ask_session(req, err);
}

void ticket_reply(request *req)
{
    hf_error err = {0};
    hf_json json = {0};
    const char *text = NULL;
    int64_t expires_us = req->ops[0].answer.now_us + TICKET_LIFE_US;
    hf_status status =
        ticket_write(req->in.login, expires_us, &req->in.resources, &req->http->arena, &text, &err);
    if (status != HF_OK) {
        reply_problem(req, 0, status, &err);
        return;
    }
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "ticket", text);
    hf_json_put_time(&json, "expires", expires_us);
    hf_json_end(&json, '}');
    reply_json(req, 201, hf_buffer_take(&json.out));
}
