/* SPDX-License-Identifier: MIT */
/* Requests put together from pieces: what is said here is paid for by both sides of a comparison.
 * */
#include "lockers.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_SECONDS "86400"
#define PURPOSE_BODY "{\"purpose\":\"" BENCH_PURPOSE "\"}"
#define OK_ANSWER    "\"status\":\"ok\""

_Static_assert(sizeof PURPOSE_BODY - 1 == 18, "Content-Length below");

/* ---- pairs ---- */

char *lockers_put_headers(char *out, const lockers *all, size_t connection, const bench_pick *pick)
{
    const char *session = all->sessions[connection];
    out = talk_say(out, " HTTP/1.1\r\nHost: localhost\r\nHoldfast-Session: ");
    out = talk_put(out, session, strlen(session));
    out = talk_say(out, "\r\nIdempotency-Key: ");
    return talk_put(out, pick->request, BENCH_REQUEST_SIZE - 1);
}

size_t lockers_put_acquire(const lockers *all, size_t connection, const bench_pick *pick, char *out)
{
    char *end = talk_put(talk_say(out, "PUT /v1/locks/" BENCH_TYPE "/"), pick->id, pick->id_size);
    end = lockers_put_headers(end, all, connection, pick);
    end = talk_say(end,
                   "\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n" PURPOSE_BODY);
    return (size_t)(end - out);
}

static size_t ask_pair(void *context, size_t connection, size_t step, char *out)
{
    lockers *all = context;
    const bench_pick *pick = talk_names_at(&all->names, connection, step);
    if (step == 0)
        return lockers_put_acquire(all, connection, pick, out);
    char *end =
        talk_put(talk_say(out, "DELETE /v1/locks/" BENCH_TYPE "/"), pick->id, pick->id_size);
    end = talk_say(lockers_put_headers(end, all, connection, pick), "\r\n\r\n");
    return (size_t)(end - out);
}

static load_heard hear_pair(void *context, size_t connection, size_t step, const char *answer,
                            size_t size)
{
    (void)context;
    (void)connection;
    talk_http heard;
    load_heard complete = talk_http_read(answer, size, &heard);
    if (complete != LOAD_GOOD)
        return complete;
    bool done = step == 0 ? heard.status == 201 : heard.status == 200 || heard.status == 204;
    return done ? LOAD_GOOD : LOAD_BAD;
}

const load_talk lockers_pair = {.steps = 2, .ask = ask_pair, .hear = hear_pair};

static load_heard hear_parked(void *context, size_t connection, size_t step, const char *answer,
                              size_t size)
{
    (void)context;
    (void)connection;
    (void)step;
    talk_http heard;
    load_heard complete = talk_http_read(answer, size, &heard);
    return complete == LOAD_GOOD && heard.status != 200 ? LOAD_BAD : complete;
}

const load_talk lockers_parked = {.steps = 2, .ask = ask_pair, .hear = hear_parked};

/* ---- batches ---- */

static char *put_op(char *out, const lockers *all, size_t connection, size_t step,
                    const bench_pick *pick)
{
    const char *session = all->sessions[connection];
    out = step == 0 ? talk_say(out, "{\"op\":\"acquire\",\"purpose\":\"" BENCH_PURPOSE
                                    "\",\"session\":\"")
                    : talk_say(out, "{\"op\":\"release\",\"session\":\"");
    out = talk_put(out, session, strlen(session));
    out = talk_put(talk_say(out, "\",\"resource\":\"" BENCH_TYPE "/"), pick->id, pick->id_size);
    out = talk_put(talk_say(out, "\",\"request_id\":\""), pick->request, BENCH_REQUEST_SIZE - 1);
    return talk_say(out, "\"}");
}

/* The length of the body is filled in afterwards. */
static size_t lockers_ask_batch(void *context, size_t connection, size_t step, char *out)
{
    static const char head[] =
        "POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: ";
    enum { DIGITS = 5 };
    lockers *all = context;
    if (step == 0)
        bench_picker_fill(all->names.pickers[connection], all->picks[connection], LOCKERS_BATCH);
    char *length = talk_say(out, head);
    char *body = talk_say(length + DIGITS, "\r\n\r\n");
    char *end = talk_say(body, "{\"ops\":[");
    for (size_t i = 0; i < LOCKERS_BATCH; i++) {
        if (i > 0)
            *end++ = ',';
        end = put_op(end, all, connection, step, &all->picks[connection][i]);
    }
    end = talk_say(end, "]}");
    size_t left = (size_t)(end - body);
    for (int i = DIGITS; i-- > 0; left /= 10)
        length[i] = (char)('0' + left % 10);
    return (size_t)(end - out);
}

static load_heard hear_batch(void *context, size_t connection, size_t step, const char *answer,
                             size_t size)
{
    (void)context;
    (void)connection;
    (void)step;
    talk_http heard;
    load_heard complete = talk_http_read(answer, size, &heard);
    if (complete != LOAD_GOOD)
        return complete;
    size_t good = 0;
    const char *end = heard.body + heard.body_size;
    for (const char *at = heard.body;
         (at = memmem(at, (size_t)(end - at), OK_ANSWER, sizeof OK_ANSWER - 1)) != NULL; at++)
        good++;
    return heard.status == 200 && good == LOCKERS_BATCH ? LOAD_GOOD : LOAD_BAD;
}

const load_talk lockers_batch = {.steps = 2, .ask = lockers_ask_batch, .hear = hear_batch};

/* ---- sessions ---- */

lockers *lockers_new(const bench *b)
{
    lockers *all = calloc(1, sizeof *all);
    if (all == NULL)
        bench_die("out of memory");
    talk_names_open(&all->names, b);
    for (size_t i = 0; i < LOAD_CONNECTIONS; i++)
        snprintf(all->sessions[i], sizeof all->sessions[i], "%032zx.%064zx", i, i);
    return all;
}

void lockers_free(lockers *all)
{
    if (all == NULL)
        return;
    talk_names_close(&all->names);
    explicit_bzero(all->sessions, sizeof all->sessions);
    free(all);
}

/* The text of a member of a JSON object that has no such name deeper inside. */
static void member(const char *json, const char *name, char *out, size_t size)
{
    char word[32];
    snprintf(word, sizeof word, "\"%s\":\"", name);
    const char *at = strstr(json, word);
    if (at == NULL)
        bench_die("the answer to POST /v1/sessions has no %s", name);
    at += strlen(word);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

void lockers_open_sessions(lockers *all, const char *address, const char *token)
{
    char head[512], answer[4096], id[64], key[80];
    snprintf(head, sizeof head,
             "POST /v1/sessions HTTP/1.1\r\nAuthorization: Bearer %s\r\nContent-Type: "
             "application/json\r\n",
             token);
    for (size_t i = 0; i < LOAD_CONNECTIONS; i++) {
        talk_http_call(address, head,
                       "{\"user\":\"bench\",\"name\":\"Bench Mark\",\"idle_seconds\":" IDLE_SECONDS
                       "}",
                       201, answer, sizeof answer);
        member(answer, "id", id, sizeof id);
        member(answer, "key", key, sizeof key);
        snprintf(all->sessions[i], sizeof all->sessions[i], "%s.%s", id, key);
    }
}
