/* SPDX-License-Identifier: MIT */
/* A small web application in which people look after customers, on libholdfast. README.md tells how
 * it is built. */
#include "front.h"
#include "samples.h"

#include <event2/event.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 7421, SWEEP_S = 5 };

typedef struct options {
    const char *store;
    hf_policy policy;
    unsigned port;
    int listen_fd;
    bool samples;
} options;

static const char usage[] =
    "Usage: customer --store FILE [option...]\n"
    "  --store FILE        the SQLite file, with the customers and the locks; a holdfast server "
    "may have it open too\n"
    "  --server URL        that server, as browsers reach it; without it pages work by plain "
    "forms\n"
    "  --port N            listen on 127.0.0.1, port N (7421; 0: any free one)\n"
    "  --listen-fd N       listen on this socket, which is open already\n"
    "  --policy NAME       policy of customers where none was set: optimistic, exclusive-write "
    "(when not given),\n"
    "                      exclusive-read, read-write\n"
    "  --person USER=NAME  who can sign in; may be given again (alice=Alice Chen, bob=Bob Smith "
    "when not given)\n"
    "  --supervisor USER   may take customers over (the first person when not given)\n"
    "  --idle DURATION     how long a page keeps its lock without a beat (5m)\n"
    "  --sign-in DURATION  how long a person stays signed in without a request (30m)\n"
    "  --samples           make some customers, if there are none\n"
    "  --demo              the first page shows two people, who are signed in without being "
    "asked\n";

/* ---- the command line ---- */

/* A user's name is a part of paths. */
static bool main_add_person(app *it, const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (it->people_count == PEOPLE_MAX || size == 0 || size > 32 || text[size] != '=' ||
        text[size + 1] == '\0' || strlen(text + size + 1) > HF_TEXT_MAX)
        return false;
    person *one = &it->people[it->people_count++];
    snprintf(one->user, sizeof one->user, "%.*s", (int)size, text);
    snprintf(one->name, sizeof one->name, "%s", text + size + 1);
    return true;
}

static bool main_set_supervisor(app *it, const char *user)
{
    bool found = false;
    for (size_t i = 0; i < it->people_count; i++) {
        bool is = user == NULL ? i == 0 : strcmp(it->people[i].user, user) == 0;
        it->people[i].may_take_over = is;
        found = found || is;
    }
    return found;
}

static bool main_set(app *it, options *o, int option, const char *value, const char **supervisor)
{
    int64_t duration_us;
    hf_error err;
    switch (option) {
    case 's':
        o->store = value;
        return true;
    case 'u':
        snprintf(it->server, sizeof it->server, "%s", value);
        return strpbrk(value, " ;,'\"<>") == NULL && strncmp(value, "http", 4) == 0;
    case 'p':
        o->port = (unsigned)strtoul(value, NULL, 10);
        return o->port < 65536;
    case 'f':
        o->listen_fd = (int)strtol(value, NULL, 10);
        return o->listen_fd > 2;
    case 'o':
        o->policy = hf_policy_from_name(value);
        return o->policy != HF_POLICY_COUNT;
    case 'n':
        return main_add_person(it, value);
    case 'v':
        *supervisor = value;
        return true;
    case 'i':
        return hf_duration_parse(value, &it->office.idle_us, &err) == HF_OK;
    case 't':
        if (hf_duration_parse(value, &duration_us, &err) != HF_OK)
            return false;
        it->sessions.idle_s = (int)(duration_us / 1000000);
        return true;
    case 'm':
        return o->samples = true;
    case 'd':
        return it->demo = true;
    default:
        return false;
    }
}

static bool main_read(app *it, options *o, int argc, char **argv)
{
    static const struct option all[] = {
        {"store", 1, NULL, 's'},      {"server", 1, NULL, 'u'}, {"port", 1, NULL, 'p'},
        {"listen-fd", 1, NULL, 'f'},  {"policy", 1, NULL, 'o'}, {"person", 1, NULL, 'n'},
        {"supervisor", 1, NULL, 'v'}, {"idle", 1, NULL, 'i'},   {"sign-in", 1, NULL, 't'},
        {"samples", 0, NULL, 'm'},    {"demo", 0, NULL, 'd'},   {NULL, 0, NULL, 0},
    };
    int option;
    const char *supervisor = NULL;
    while ((option = getopt_long(argc, argv, "", all, NULL)) != -1)
        if (!main_set(it, o, option, optarg, &supervisor))
            return false;
    if (it->people_count == 0)
        (void)(main_add_person(it, "alice=Alice Chen") && main_add_person(it, "bob=Bob Smith"));
    return main_set_supervisor(it, supervisor) && o->store != NULL && optind == argc;
}

/* ---- opening ---- */

static hf_status main_open(app *it, const options *o, hf_error *err)
{
    hf_status status = records_open(&it->records, o->store, o->policy, err);
    it->office.manager = it->records.manager;
    it->sessions.office = &it->office;
    if (status == HF_OK)
        status = office_open(&it->office, err);
    if (status == HF_OK && o->samples)
        status = samples_add(&it->records, err);
    if (status == HF_OK && !secret_new(it->csrf))
        status = fail(err, HF_INTERNAL, "Reading random bytes failed.");
    return status;
}

static bool main_listen(app *it, struct evhttp *http, const options *o)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (o->listen_fd >= 0 && evutil_make_socket_nonblocking(o->listen_fd) != 0)
        return false;
    struct evhttp_bound_socket *bound =
        o->listen_fd >= 0 ? evhttp_accept_socket_with_handle(http, o->listen_fd)
                          : evhttp_bind_socket_with_handle(http, "127.0.0.1", (ev_uint16_t)o->port);
    if (bound == NULL ||
        getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size) != 0)
        return false;
    it->port = ntohs(address.sin_port);
    return true;
}

/* ---- running ---- */

static void main_stop(evutil_socket_t signal_number, short what, void *base)
{
    (void)signal_number;
    (void)what;
    event_base_loopexit(base, NULL);
}

static void main_sweep(evutil_socket_t fd, short what, void *sessions)
{
    (void)fd;
    (void)what;
    session_expire(sessions);
}

/* Until SIGINT or SIGTERM; then all works end, so that nobody waits for people who can't save any
 * more. */
static int main_serve(app *it, const options *o)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = base != NULL ? evhttp_new(base) : NULL;
    if (http == NULL || !main_listen(it, http, o))
        return fprintf(stderr, "customer: can't listen on port %u.\n", o->port), 6;
    struct event *events[] = {evsignal_new(base, SIGINT, main_stop, base),
                              evsignal_new(base, SIGTERM, main_stop, base),
                              event_new(base, -1, EV_PERSIST, main_sweep, &it->sessions)};
    event_add(events[0], NULL);
    event_add(events[1], NULL);
    event_add(events[2], &(struct timeval){.tv_sec = SWEEP_S});
    front_open(it, http);
    printf("customer serves on http://127.0.0.1:%u\n", it->port);
    fflush(stdout);
    event_base_dispatch(base);
    evhttp_free(http);
    session_end_all(&it->sessions);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        event_free(events[i]);
    event_base_free(base);
    return 0;
}

int main(int argc, char **argv)
{
    static app it = {.office = {.idle_us = HF_IDLE_DEFAULT_US}, .sessions = {.idle_s = 1800}};
    options o = {.policy = HF_POLICY_EXCLUSIVE_WRITE, .port = PORT, .listen_fd = -1};
    hf_error err;
    if (!main_read(&it, &o, argc, argv))
        return fputs(usage, stderr), 2;
    signal(SIGPIPE, SIG_IGN);
    hf_status status = main_open(&it, &o, &err);
    int code = status == HF_OK ? main_serve(&it, &o) : hf_status_exit(status);
    if (status != HF_OK)
        fprintf(stderr, "customer: %s\n", err.message);
    records_close(&it.records);
    return code;
}
