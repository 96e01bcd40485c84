/* SPDX-License-Identifier: MIT */
/* Bare Redis: what its own documents say for a lock on one server. Every change must be synced
 * before it is answered, as ours is. */
#include "rivals.h"

#include "redis_release.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "$5\r\nvalue\r\n" */
static char *put_text(char *out, const char *text, size_t size)
{
    *out++ = '$';
    if (size >= 10)
        *out++ = (char)('0' + size / 10);
    *out++ = (char)('0' + size % 10);
    out = talk_say(out, "\r\n");
    return talk_say(talk_put(out, text, size), "\r\n");
}

static char *put_key(char *out, const bench_pick *pick)
{
    char key[sizeof BENCH_TYPE + BENCH_ID_SIZE];
    char *end = talk_put(talk_say(key, BENCH_TYPE "/"), pick->id, pick->id_size);
    return put_text(out, key, (size_t)(end - key));
}

static size_t redis_ask(void *context, size_t connection, size_t step, char *out)
{
    rival *r = context;
    const bench_pick *pick = talk_names_at(&r->names, connection, step);
    char *end = out;
    if (step == 0) {
        end = put_key(talk_say(end, "*4\r\n$3\r\nSET\r\n"), pick);
        end = put_text(end, pick->request, BENCH_REQUEST_SIZE - 1);
        end = talk_say(end, "$2\r\nNX\r\n");
    } else {
        end = put_text(talk_say(end, "*5\r\n$7\r\nEVALSHA\r\n"), r->script, sizeof r->script - 1);
        end = put_key(talk_say(end, "$1\r\n1\r\n"), pick);
        end = put_text(end, pick->request, BENCH_REQUEST_SIZE - 1);
    }
    return (size_t)(end - out);
}

static load_heard bench_redis_hear(void *context, size_t connection, size_t step,
                                   const char *answer, size_t size)
{
    (void)context;
    (void)connection;
    if (size < 2 || answer[size - 1] != '\n')
        return LOAD_MORE;
    return strcmp(answer, step == 0 ? "+OK\r\n" : ":1\r\n") == 0 ? LOAD_GOOD : LOAD_BAD;
}

/* Asks and waits for an answer that fits in one piece. */
static void call(const rival *r, const char *request, char *answer, size_t size)
{
    int fd = load_connect(r->address);
    ssize_t got = -1;
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        got = recv(fd, answer, size - 1, 0);
    if (got <= 0)
        bench_die("Redis does not answer: %s", strerror(errno));
    answer[got] = '\0';
    close(fd);
}

static void load_script(rival *r)
{
    char request[1024], answer[256];
    snprintf(request, sizeof request, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
             strlen(redis_release), redis_release);
    call(r, request, answer, sizeof answer);
    if (sscanf(answer, "$40 %40[0-9a-f]", r->script) != 1)
        bench_die("Redis does not take the script: %s", answer);
}

/* A Redis that answers before it has synced would be measured at something else. */
static void insist_on_durability(const rival *r)
{
    static const char *const wanted[] = {"appendonly\r\n$3\r\nyes", "appendfsync\r\n$6\r\nalways"};
    char answer[4096];
    call(r, "*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$7\r\nappend*\r\n", answer, sizeof answer);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strstr(answer, wanted[i]) == NULL)
            bench_die("this Redis does not sync every change; it needs appendonly yes and "
                      "appendfsync always");
}

/* Its process, as long as it is on this machine: nobody names one elsewhere by the loopback. */
static void find_process(rival *r)
{
    char answer[8192];
    call(r, "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n", answer, sizeof answer);
    const char *at = strstr(answer, "process_id:");
    if (at == NULL)
        bench_die("Redis does not tell its process id");
    r->server = (pid_t)strtol(at + strlen("process_id:"), NULL, 10);
}

rival *rival_redis(const bench *b, const char *url)
{
    static const load_talk talk = {.steps = 2, .ask = redis_ask, .hear = bench_redis_hear};
    rival *r = rival_new(b, url, "redis://", "redis+unix://");
    insist_on_durability(r);
    load_script(r);
    find_process(r);
    rival_connect(r, "Redis", &talk);
    return r;
}

/* ---- reads ---- */

/* About what is told of a version. */
#define REDIS_VALUE                                                                                \
    "{\"version\":1,\"fence\":1794739623123456,\"saved_us\":1794739623123456,\"user\":\"bench\"}"
enum { REDIS_AT_ONCE = 500 };

static char *redis_put_version_key(char *out, const bench_pick *pick)
{
    char key[sizeof "version/" + BENCH_ID_SIZE];
    char *end = talk_put(talk_say(key, "version/"), pick->id, pick->id_size);
    return put_text(out, key, (size_t)(end - key));
}

static size_t redis_ask_get(void *context, size_t connection, size_t step, char *out)
{
    rival *r = context;
    const bench_pick *pick = talk_names_at(&r->names, connection, step);
    return (size_t)(redis_put_version_key(talk_say(out, "*2\r\n$3\r\nGET\r\n"), pick) - out);
}

static load_heard redis_hear_get(void *context, size_t connection, size_t step, const char *answer,
                                 size_t size)
{
    (void)context;
    (void)connection;
    (void)step;
    size_t head = strcspn(answer, "\n") + 1;
    if (size < head + sizeof REDIS_VALUE - 1 + 2)
        return answer[0] == '$' && answer[1] != '-' ? LOAD_MORE : LOAD_BAD;
    return memcmp(answer + head, REDIS_VALUE, sizeof REDIS_VALUE - 1) == 0 ? LOAD_GOOD : LOAD_BAD;
}

/* Sets the values of all working names, or removes them. */
static void redis_fill(const rival *r, bool set)
{
    static char request[LOAD_ROOM];
    char answer[256];
    uint32_t working = r->names.pickers[0]->all;
    bench_picker *picker = bench_picker_new(1, working);
    for (uint32_t first = 0; first < working && !bench_stopped(); first += REDIS_AT_ONCE) {
        uint32_t count = working - first < REDIS_AT_ONCE ? working - first : REDIS_AT_ONCE;
        int head = snprintf(request, sizeof request,
                            set ? "*%u\r\n$4\r\nMSET\r\n" : "*%u\r\n$3\r\nDEL\r\n",
                            1 + (set ? 2 : 1) * count);
        char *end = request + head;
        for (uint32_t i = 0; i < count; i++) {
            bench_pick pick;
            bench_picker_run(picker, &pick, first + i, 1);
            end = redis_put_version_key(end, &pick);
            if (set)
                end = put_text(end, REDIS_VALUE, sizeof REDIS_VALUE - 1);
        }
        *end = '\0';
        call(r, request, answer, sizeof answer);
        if (answer[0] == '-')
            bench_die("Redis does not take the values: %s", answer);
    }
    free(picker);
}

static void redis_remove(rival *r)
{
    redis_fill(r, false);
}

rival *rival_redis_get(const bench *b, const char *url)
{
    static const load_talk talk = {.steps = 1, .ask = redis_ask_get, .hear = redis_hear_get};
    rival *r = rival_new(b, url, "redis://", "redis+unix://");
    redis_fill(r, true);
    r->undo = redis_remove;
    rival_connect(r, "Redis", &talk);
    return r;
}
