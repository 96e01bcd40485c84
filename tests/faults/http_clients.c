/* SPDX-License-Identifier: MIT */
/* Clients of plain HTTP; see http_clients.h. */
#include "faults/http_clients.h"

#include <holdfast/limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http_client.h>
#include <support/timing.h>
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
    http_clients *group;
    pthread_t thread;
    uint32_t number;
    unsigned seed, keys;
    http_client http;
    http_client_answer answer;
    char login[256];      /* the header line of its session */
    char id[64];          /* of the session */
    uint32_t session;     /* its number in the history */
    bool held[RESOURCES]; /* as far as it knows */
    check_record *records;
    size_t count;
    http_tally tally;
    char problem[512];
} client;

struct http_clients {
    client clients[CLIENTS_MAX];
    size_t count;
    char token[160];
    int64_t name; /* of its resources and keys: another group may come to the same server */
    atomic_bool ends, wrong;
    atomic_size_t done;
    atomic_uint sessions;
};

/* ---- asking until there is an answer ---- */

static void http_clients_count(client *c, http_client_end end)
{
    http_tally *t = &c->tally;
    bool late = (end == HTTP_CLIENT_CLOSED || end == HTTP_CLIENT_RESET) && c->http.gap_us > LATE_US;
    size_t *of = end == HTTP_CLIENT_ANSWERED  ? &t->requests
                 : end == HTTP_CLIENT_REFUSED ? &t->refused
                 : late                       ? &t->late
                 : end == HTTP_CLIENT_CLOSED  ? &t->closed
                 : end == HTTP_CLIENT_RESET   ? &t->reset
                                              : &t->cut;
    ++*of;
    t->unavailable += end == HTTP_CLIENT_ANSWERED && c->answer.status == 503;
    t->unsure += end == HTTP_CLIENT_ANSWERED && c->answer.status == 504;
}

/* The status; 0: the group ends while nobody answers. *again: it may have been done before. */
static int http_clients_ask(client *c, const char *method, const char *path, const char *who,
                            const char *body, bool *again)
{
    char headers[512];
    snprintf(headers, sizeof headers, "%sIdempotency-Key: %lld-%u-%u\r\n", who,
             (long long)c->group->name, c->number, c->keys++);
    *again = false;
    for (;;) {
        c->tally.connections += c->http.fd < 0;
        http_client_end end = http_client_ask(&c->http, method, path, headers, body, &c->answer);
        bool told =
            end == HTTP_CLIENT_ANSWERED && c->answer.status != 503 && c->answer.status != 504;
        http_clients_count(c, end);
        if (told) {
            atomic_fetch_add(&c->group->done, 1);
            return c->answer.status;
        }
        *again |= end == HTTP_CLIENT_CLOSED || end == HTTP_CLIENT_RESET || end == HTTP_CLIENT_CUT ||
                  (end == HTTP_CLIENT_ANSWERED && c->answer.status == 504);
        if (atomic_load(&c->group->ends) && end == HTTP_CLIENT_REFUSED)
            return 0;
        usleep(PAUSE_US);
    }
}

/* ---- writing it down ---- */

static check_record *http_clients_begin(client *c, check_op op, uint32_t resource)
{
    check_record *r = &c->records[c->count++];
    *r = (check_record){.client = c->number,
                        .session = c->session,
                        .resource = resource,
                        .op = (uint8_t)op,
                        .result = CHECK_UNKNOWN,
                        .return_us = CHECK_NEVER,
                        .invoke_us = timing_now_us()};
    return r;
}

static void http_clients_wrong(client *c, const char *what)
{
    atomic_store(&c->group->wrong, true);
    if (c->problem[0] == '\0')
        snprintf(c->problem, sizeof c->problem, "%s was answered %.400s", what, c->answer.text);
}

/* A refusal of what was asked again says nothing of the first time. */
static bool faults_http_clients_end(check_record *r, int status, bool again, check_result refused)
{
    r->return_us = status == 0 ? CHECK_NEVER : timing_now_us();
    bool good = status == 200 || status == 201 || status == 204;
    r->result = (uint8_t)(good ? CHECK_OK : status == 0 || again ? CHECK_UNKNOWN : refused);
    return good;
}

/* ---- what it does ---- */

static bool http_clients_open_session(client *c)
{
    char key[160], body[128];
    bool again;
    c->session = atomic_fetch_add(&c->group->sessions, 1);
    check_record *r = http_clients_begin(c, CHECK_OPEN, 0);
    r->idle_us = IDLE_S * INT64_C(1000000);
    snprintf(body, sizeof body, "{\"user\":\"client-%u\",\"idle_seconds\":%d}", c->number, IDLE_S);
    if (!faults_http_clients_end(
            r, http_clients_ask(c, "POST", "/v1/sessions", c->group->token, body, &again), again,
            CHECK_NOTHING) ||
        !http_client_text(&c->answer, "id", c->id, sizeof c->id) ||
        !http_client_text(&c->answer, "key", key, sizeof key)) {
        if (!atomic_load(&c->group->ends))
            http_clients_wrong(c, "opening a session");
        return false;
    }
    snprintf(c->login, sizeof c->login, "Holdfast-Session: %.63s.%.159s\r\n", c->id, key);
    memset(c->held, 0, sizeof c->held);
    return true;
}

static void http_clients_acquire(client *c, unsigned resource)
{
    char path[64];
    bool again;
    snprintf(path, sizeof path, "/v1/locks/http/%lld-%u", (long long)c->group->name, resource);
    check_record *r = http_clients_begin(c, CHECK_ACQUIRE, resource);
    int status = http_clients_ask(c, "PUT", path, c->login, NULL, &again);
    if (faults_http_clients_end(r, status, again, CHECK_LOCKED)) {
        r->fence = http_client_number(&c->answer, "fence");
        c->held[resource] = true;
        if (status == 200 && !again)
            http_clients_wrong(c, "taking what it did not hold");
    } else if (status != 0 && status != 423) {
        http_clients_wrong(c, "taking a lock");
    }
}

static void http_clients_release(client *c, unsigned resource)
{
    char path[64];
    bool again;
    snprintf(path, sizeof path, "/v1/locks/http/%lld-%u", (long long)c->group->name, resource);
    check_record *r = http_clients_begin(c, CHECK_RELEASE, resource);
    int status = http_clients_ask(c, "DELETE", path, c->login, NULL, &again);
    /* asked again it is 204 */
    if (!faults_http_clients_end(r, status, again, CHECK_NOT_HELD) && status != 0)
        http_clients_wrong(c, "giving back what it held");
    c->held[resource] = false;
}

static void http_clients_beat(client *c)
{
    char path[128];
    bool again;
    snprintf(path, sizeof path, "/v1/sessions/%s/beat", c->id);
    check_record *r = http_clients_begin(c, CHECK_BEAT, 0);
    r->idle_us = IDLE_S * INT64_C(1000000);
    int status = http_clients_ask(c, "POST", path, c->login, NULL, &again);
    if (!faults_http_clients_end(r, status, again, CHECK_EXPIRED) && status != 0)
        http_clients_wrong(c, "a beat");
}

static bool close_session(client *c)
{
    char path[128];
    bool again;
    snprintf(path, sizeof path, "/v1/sessions/%s", c->id);
    check_record *r = http_clients_begin(c, CHECK_CLOSE, 0);
    int status = http_clients_ask(c, "DELETE", path, c->login, NULL, &again);
    if (!faults_http_clients_end(r, status, again, CHECK_EXPIRED) && status != 0)
        http_clients_wrong(c, "closing its session");
    return http_clients_open_session(c);
}

static void *faults_http_clients_work(void *context)
{
    client *c = context;
    bool open = http_clients_open_session(c);
    while (open && !atomic_load(&c->group->ends) && c->problem[0] == '\0' && c->count + 4 < ROOM) {
        unsigned chance = (unsigned)rand_r(&c->seed) % 100,
                 resource = (unsigned)rand_r(&c->seed) % RESOURCES;
        if (chance < 10)
            http_clients_beat(c);
        else if (chance < 11)
            open = close_session(c);
        else if (c->held[resource])
            http_clients_release(c, resource);
        else
            http_clients_acquire(c, resource);
    }
    http_client_close(&c->http);
    return NULL;
}

/* ---- all together ---- */

http_clients *http_clients_start(int port, const char *secret, size_t clients)
{
    http_clients *group = calloc(1, sizeof *group);
    expect_true(group != NULL && clients <= CLIENTS_MAX);
    group->count = clients;
    group->name = timing_now_us();
    snprintf(group->token, sizeof group->token, "Authorization: Bearer %s\r\n", secret);
    for (size_t i = 0; i < clients; i++) {
        client *c = &group->clients[i];
        *c = (client){.group = group,
                      .number = (uint32_t)i,
                      .seed = (unsigned)timing_now_us() + (unsigned)i,
                      .http = {.port = port, .fd = -1}};
        c->records = calloc(ROOM, sizeof *c->records);
        expect_true(c->records != NULL &&
                    pthread_create(&c->thread, NULL, faults_http_clients_work, c) == 0);
    }
    return group;
}

void http_clients_work(http_clients *group, size_t more)
{
    size_t enough = atomic_load(&group->done) + more;
    int64_t until_us = timing_now_us() + WORK_MAX_S * INT64_C(1000000);
    while (atomic_load(&group->done) < enough && !atomic_load(&group->wrong) &&
           timing_now_us() < until_us)
        usleep(PAUSE_US);
}

static void http_clients_add_tally(http_tally *to, const http_tally *more)
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

void http_clients_end(http_clients *group, http_tally *sum, check_report *report)
{
    size_t count = 0;
    char problem[512] = "";
    atomic_store(&group->ends, true);
    *sum = (http_tally){0};
    for (size_t i = 0; i < group->count; i++) {
        client *c = &group->clients[i];
        pthread_join(c->thread, NULL);
        http_clients_add_tally(sum, &c->tally);
        count += c->count;
        if (c->problem[0])
            memcpy(problem, c->problem, sizeof problem);
    }
    check_record *all = calloc(count + 1, sizeof *all);
    expect_true(all != NULL);
    for (size_t i = 0, at = 0; i < group->count; at += group->clients[i].count, i++) {
        memcpy(all + at, group->clients[i].records, group->clients[i].count * sizeof *all);
        free(group->clients[i].records);
    }
    check_history(all, count, 1000000, report);
    free(all);
    free(group);
    check_print(report, stdout);
    printf("# over %zu connections %zu answers; %zu refused connections, %zu requests closed, %zu "
           "reset, %zu "
           "cut, %zu late, %zu unavailable, %zu unsure\n",
           sum->connections, sum->requests, sum->refused, sum->closed, sum->reset, sum->cut,
           sum->late, sum->unavailable, sum->unsure);
    expect_text(problem, "");
    expect_int(report->faults, 0);
}
