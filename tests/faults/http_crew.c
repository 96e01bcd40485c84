/* SPDX-License-Identifier: MIT */
/* Clients of plain HTTP; see http_crew.h. */
#include "faults/http_crew.h"

#include <holdfast/limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/asker.h>
#include <support/calm.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 64,
    RESOURCES = 5,
    ROOM = 400000,
    PAUSE_US = 2000,
    IDLE_S = 600,
    WORK_MAX_S = 60
};

/* A server that stops closes who has sent nothing for 200 ms. */
enum { LATE_US = 100000 };

typedef struct client {
    http_crew *crew;
    pthread_t thread;
    uint32_t number;
    unsigned seed, keys;
    asker asker;
    asker_answer answer;
    char login[256];      /* the header line of its session */
    char id[64];          /* of the session */
    uint32_t session;     /* its number in the history */
    bool held[RESOURCES]; /* as far as it knows */
    check_record *records;
    size_t count;
    http_tally tally;
    char problem[512];
} client;

struct http_crew {
    client clients[CLIENTS_MAX];
    size_t count;
    char token[160];
    int64_t name; /* of its resources and keys: another crew may come to the same server */
    atomic_bool ends, wrong;
    atomic_size_t done;
    atomic_uint sessions;
};

/* ---- asking until there is an answer ---- */

static void http_crew_count(client *c, asker_end end)
{
    http_tally *t = &c->tally;
    bool late = (end == ASKER_CLOSED || end == ASKER_RESET) && c->asker.gap_us > LATE_US;
    size_t *of = end == ASKER_ANSWERED  ? &t->requests
                 : end == ASKER_REFUSED ? &t->refused
                 : late                 ? &t->late
                 : end == ASKER_CLOSED  ? &t->closed
                 : end == ASKER_RESET   ? &t->reset
                                        : &t->cut;
    ++*of;
    t->unavailable += end == ASKER_ANSWERED && c->answer.status == 503;
    t->unsure += end == ASKER_ANSWERED && c->answer.status == 504;
}

/* The status; 0: the crew ends while nobody answers. *again: it may have been done before. */
static int http_crew_ask(client *c, const char *method, const char *path, const char *who,
                         const char *body, bool *again)
{
    char headers[512];
    snprintf(headers, sizeof headers, "%sIdempotency-Key: %lld-%u-%u\r\n", who,
             (long long)c->crew->name, c->number, c->keys++);
    *again = false;
    for (;;) {
        c->tally.connections += c->asker.fd < 0;
        asker_end end = asker_ask(&c->asker, method, path, headers, body, &c->answer);
        bool told = end == ASKER_ANSWERED && c->answer.status != 503 && c->answer.status != 504;
        http_crew_count(c, end);
        if (told) {
            atomic_fetch_add(&c->crew->done, 1);
            return c->answer.status;
        }
        *again |= end == ASKER_CLOSED || end == ASKER_RESET || end == ASKER_CUT ||
                  (end == ASKER_ANSWERED && c->answer.status == 504);
        if (atomic_load(&c->crew->ends) && end == ASKER_REFUSED)
            return 0;
        usleep(PAUSE_US);
    }
}

/* ---- writing it down ---- */

static check_record *http_crew_begin(client *c, check_op op, uint32_t resource)
{
    check_record *r = &c->records[c->count++];
    *r = (check_record){.client = c->number,
                        .session = c->session,
                        .resource = resource,
                        .op = (uint8_t)op,
                        .result = CHECK_UNKNOWN,
                        .return_us = CHECK_NEVER,
                        .invoke_us = calm_now_us()};
    return r;
}

static void http_crew_wrong(client *c, const char *what)
{
    atomic_store(&c->crew->wrong, true);
    if (c->problem[0] == '\0')
        snprintf(c->problem, sizeof c->problem, "%s was answered %.400s", what, c->answer.text);
}

/* A refusal of what was asked again says nothing of the first time. */
static bool faults_http_crew_end(check_record *r, int status, bool again, check_result refused)
{
    r->return_us = status == 0 ? CHECK_NEVER : calm_now_us();
    bool good = status == 200 || status == 201 || status == 204;
    r->result = (uint8_t)(good ? CHECK_OK : status == 0 || again ? CHECK_UNKNOWN : refused);
    return good;
}

/* ---- what it does ---- */

static bool http_crew_open_session(client *c)
{
    char key[160], body[128];
    bool again;
    c->session = atomic_fetch_add(&c->crew->sessions, 1);
    check_record *r = http_crew_begin(c, CHECK_OPEN, 0);
    r->idle_us = IDLE_S * INT64_C(1000000);
    snprintf(body, sizeof body, "{\"user\":\"client-%u\",\"idle_seconds\":%d}", c->number, IDLE_S);
    if (!faults_http_crew_end(
            r, http_crew_ask(c, "POST", "/v1/sessions", c->crew->token, body, &again), again,
            CHECK_NOTHING) ||
        !asker_text(&c->answer, "id", c->id, sizeof c->id) ||
        !asker_text(&c->answer, "key", key, sizeof key)) {
        if (!atomic_load(&c->crew->ends))
            http_crew_wrong(c, "opening a session");
        return false;
    }
    snprintf(c->login, sizeof c->login, "Holdfast-Session: %.63s.%.159s\r\n", c->id, key);
    memset(c->held, 0, sizeof c->held);
    return true;
}

static void http_crew_acquire(client *c, unsigned resource)
{
    char path[64];
    bool again;
    snprintf(path, sizeof path, "/v1/locks/http/%lld-%u", (long long)c->crew->name, resource);
    check_record *r = http_crew_begin(c, CHECK_ACQUIRE, resource);
    int status = http_crew_ask(c, "PUT", path, c->login, NULL, &again);
    if (faults_http_crew_end(r, status, again, CHECK_LOCKED)) {
        r->fence = asker_number(&c->answer, "fence");
        c->held[resource] = true;
        if (status == 200 && !again)
            http_crew_wrong(c, "taking what it did not hold");
    } else if (status != 0 && status != 423) {
        http_crew_wrong(c, "taking a lock");
    }
}

static void http_crew_release(client *c, unsigned resource)
{
    char path[64];
    bool again;
    snprintf(path, sizeof path, "/v1/locks/http/%lld-%u", (long long)c->crew->name, resource);
    check_record *r = http_crew_begin(c, CHECK_RELEASE, resource);
    int status = http_crew_ask(c, "DELETE", path, c->login, NULL, &again);
    /* asked again it is 204 */
    if (!faults_http_crew_end(r, status, again, CHECK_NOT_HELD) && status != 0)
        http_crew_wrong(c, "giving back what it held");
    c->held[resource] = false;
}

static void http_crew_beat(client *c)
{
    char path[128];
    bool again;
    snprintf(path, sizeof path, "/v1/sessions/%s/beat", c->id);
    check_record *r = http_crew_begin(c, CHECK_BEAT, 0);
    r->idle_us = IDLE_S * INT64_C(1000000);
    int status = http_crew_ask(c, "POST", path, c->login, NULL, &again);
    if (!faults_http_crew_end(r, status, again, CHECK_EXPIRED) && status != 0)
        http_crew_wrong(c, "a beat");
}

static bool close_session(client *c)
{
    char path[128];
    bool again;
    snprintf(path, sizeof path, "/v1/sessions/%s", c->id);
    check_record *r = http_crew_begin(c, CHECK_CLOSE, 0);
    int status = http_crew_ask(c, "DELETE", path, c->login, NULL, &again);
    if (!faults_http_crew_end(r, status, again, CHECK_EXPIRED) && status != 0)
        http_crew_wrong(c, "closing its session");
    return http_crew_open_session(c);
}

static void *faults_http_crew_work(void *context)
{
    client *c = context;
    bool open = http_crew_open_session(c);
    while (open && !atomic_load(&c->crew->ends) && c->problem[0] == '\0' && c->count + 4 < ROOM) {
        unsigned chance = (unsigned)rand_r(&c->seed) % 100,
                 resource = (unsigned)rand_r(&c->seed) % RESOURCES;
        if (chance < 10)
            http_crew_beat(c);
        else if (chance < 11)
            open = close_session(c);
        else if (c->held[resource])
            http_crew_release(c, resource);
        else
            http_crew_acquire(c, resource);
    }
    asker_close(&c->asker);
    return NULL;
}

/* ---- all together ---- */

http_crew *http_crew_start(int port, const char *secret, size_t clients)
{
    http_crew *crew = calloc(1, sizeof *crew);
    expect_true(crew != NULL && clients <= CLIENTS_MAX);
    crew->count = clients;
    crew->name = calm_now_us();
    snprintf(crew->token, sizeof crew->token, "Authorization: Bearer %s\r\n", secret);
    for (size_t i = 0; i < clients; i++) {
        client *c = &crew->clients[i];
        *c = (client){.crew = crew,
                      .number = (uint32_t)i,
                      .seed = (unsigned)calm_now_us() + (unsigned)i,
                      .asker = {.port = port, .fd = -1}};
        c->records = calloc(ROOM, sizeof *c->records);
        expect_true(c->records != NULL &&
                    pthread_create(&c->thread, NULL, faults_http_crew_work, c) == 0);
    }
    return crew;
}

void http_crew_work(http_crew *crew, size_t more)
{
    size_t enough = atomic_load(&crew->done) + more;
    int64_t until_us = calm_now_us() + WORK_MAX_S * INT64_C(1000000);
    while (atomic_load(&crew->done) < enough && !atomic_load(&crew->wrong) &&
           calm_now_us() < until_us)
        usleep(PAUSE_US);
}

static void http_crew_add_tally(http_tally *to, const http_tally *more)
{
    to->requests += more->requests;
    to->refused += more->refused;
    to->closed += more->closed;
    to->reset += more->reset;
    to->cut += more->cut;
    to->late += more->late;
    to->unavailable += more->unavailable;
    to->unsure += more->unsure;
    to->connections += more->connections;
}

void http_crew_end(http_crew *crew, http_tally *sum, check_report *report)
{
    size_t count = 0;
    char problem[512] = "";
    atomic_store(&crew->ends, true);
    *sum = (http_tally){0};
    for (size_t i = 0; i < crew->count; i++) {
        client *c = &crew->clients[i];
        pthread_join(c->thread, NULL);
        http_crew_add_tally(sum, &c->tally);
        count += c->count;
        if (c->problem[0])
            memcpy(problem, c->problem, sizeof problem);
    }
    check_record *all = calloc(count + 1, sizeof *all);
    expect_true(all != NULL);
    for (size_t i = 0, at = 0; i < crew->count; at += crew->clients[i].count, i++) {
        memcpy(all + at, crew->clients[i].records, crew->clients[i].count * sizeof *all);
        free(crew->clients[i].records);
    }
    check_history(all, count, 1000000, report);
    free(all);
    free(crew);
    check_print(report, stdout);
    printf("# over %zu connections %zu answers; %zu refused connections, %zu requests closed, %zu "
           "reset, %zu "
           "cut, %zu late, %zu unavailable, %zu unsure\n",
           sum->connections, sum->requests, sum->refused, sum->closed, sum->reset, sum->cut,
           sum->late, sum->unavailable, sum->unsure);
    expect_text(problem, "");
    expect_int(report->faults, 0);
}
