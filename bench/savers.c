/* SPDX-License-Identifier: MIT */
/* Saves, looks at versions, and acquires without releases: single requests, not pairs. */
#include "savers.h"

#include <stdio.h>

#define SAVERS_OK   "\"status\":\"ok\""
#define SAVERS_PATH "/v1/versions/" BENCH_TYPE "/"
#define SAVERS_BODY "{\"reason\":\"" BENCH_PURPOSE "\"}"

_Static_assert(sizeof SAVERS_BODY - 1 == 17, "Content-Length below");

/* ---- acquires ---- */

static size_t savers_ask_acquire(void *context, size_t connection, size_t step, char *out)
{
    savers *s = context;
    bench_picker *picker = s->clients->names.pickers[connection];
    bench_pick *pick = &s->clients->names.picks[connection];
    (void)step;
    if (s->taken[connection] == picker->working)
        bench_die("a connection has acquired all of its %u names", picker->working);
    bench_picker_run(picker, pick, s->taken[connection]++, 1);
    return lockers_put_acquire(s->clients, connection, pick, out);
}

static load_heard savers_hear_acquire(void *context, size_t connection, size_t step,
                                      const char *answer, size_t size)
{
    const savers *s = context;
    return lockers_pair.hear(s->clients, connection, step, answer, size);
}

const load_talk savers_acquire = {
    .steps = 1, .ask = savers_ask_acquire, .hear = savers_hear_acquire};

void savers_give_back(savers *s, const char *address)
{
    char body[LOCKERS_SESSION_SIZE + 64], answer[1024];
    for (size_t i = 0; i < LOAD_CONNECTIONS; i++) {
        if (s->taken[i] == 0)
            continue;
        snprintf(body, sizeof body, "{\"ops\":[{\"op\":\"release-all\",\"session\":\"%s\"}]}",
                 s->clients->sessions[i]);
        talk_http_call(address, "POST /v1/batch HTTP/1.1\r\nContent-Type: application/json\r\n",
                       body, 200, answer, sizeof answer);
        if (strstr(answer, SAVERS_OK) == NULL)
            bench_die("what was acquired is not given back: %s", answer);
        s->taken[i] = 0;
    }
}

/* ---- versions ---- */

static load_heard savers_hear(const char *answer, size_t size)
{
    talk_http heard;
    load_heard complete = talk_http_read(answer, size, &heard);
    return complete == LOAD_GOOD && heard.status != 200 ? LOAD_BAD : complete;
}

static size_t savers_ask_save(void *context, size_t connection, size_t step, char *out)
{
    savers *s = context;
    const bench_pick *pick = talk_names_at(&s->clients->names, connection, step);
    char match[32];
    int size = snprintf(match, sizeof match, "\r\nIf-Match: \"%lld\"", (long long)pick->version);
    char *end = talk_put(talk_say(out, "PUT " SAVERS_PATH), pick->id, pick->id_size);
    end = talk_put(lockers_put_headers(end, s->clients, connection, pick), match, (size_t)size);
    end = talk_say(end,
                   "\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n" SAVERS_BODY);
    return (size_t)(end - out);
}

static load_heard savers_hear_save(void *context, size_t connection, size_t step,
                                   const char *answer, size_t size)
{
    const savers *s = context;
    talk_names *names = &s->clients->names;
    (void)step;
    load_heard heard = savers_hear(answer, size);
    if (heard == LOAD_GOOD)
        bench_picker_saved(names->pickers[connection], &names->picks[connection], 1);
    return heard;
}

const load_talk savers_save = {.steps = 1, .ask = savers_ask_save, .hear = savers_hear_save};

static size_t savers_ask_version(void *context, size_t connection, size_t step, char *out)
{
    savers *s = context;
    const bench_pick *pick = talk_names_at(&s->clients->names, connection, step);
    char *end = talk_put(talk_say(out, "GET " SAVERS_PATH), pick->id, pick->id_size);
    end = talk_say(end, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ");
    end = talk_say(talk_put(end, s->token, strlen(s->token)), "\r\n\r\n");
    return (size_t)(end - out);
}

static load_heard savers_hear_version(void *context, size_t connection, size_t step,
                                      const char *answer, size_t size)
{
    (void)context;
    (void)connection;
    (void)step;
    return savers_hear(answer, size);
}

const load_talk savers_version = {
    .steps = 1, .ask = savers_ask_version, .hear = savers_hear_version};
