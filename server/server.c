/* SPDX-License-Identifier: MIT */
/* From the settings to a server that runs, and back: each step of `server_start` has its
 * counterpart in `server_finish`. The loop belongs to this thread; signals, the watchdog and a
 * store that broke come to it as events. */
#include "server/server.h"

#include "base/error.h"
#include "base/redact.h"
#include "base/seams.h"
#include "server/commit/committer.h"
#include "server/log.h"
#include "server/opening.h"
#include "server/service.h"
#include "server/systemd.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SPARE_FILES = 256, /* besides connections: the store's, the log's ... */
    PINGS = 3,         /* in the time the watchdog allows */
    LEAST_PING_US = 10000,
    DAY_S = 86400,
    SHARED_WRITERS = 4,
    SHARED_READERS = 2,
    IDLE_LOOK_US = 2000, /* how often it looks whether it can end, once it stops */
};

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

typedef struct server {
    const settings *s;
    log_sink log;
    listeners listening;
    size_t connections_max;
    opening *opening;
    hf_store *store;
    hf_grade grade;
    bootstrap_token token;
    committer *committer;
    service *service;
    struct event_base *base;
    struct event *signals[SIGNALS];
    struct event *watchdog, *deadline, *broken, *idle, *day;
    systemd_progress progress;
    int64_t watchdog_us;
    bool stopping, cut, told;
    hf_error fatal; /* written by the committer's thread before `broken` is set off */
} server;

/* ---- stopping ---- */

static struct timeval server_interval(int64_t us)
{
    return (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
}

/* Is anything left that was accepted and not answered? */
static bool server_busy(const server *run)
{
    return run->service != NULL && !service_idle(run->service);
}

/* While it stops: has the last been answered? */
static void server_on_idle(evutil_socket_t fd, short what, void *context)
{
    server *run = context;
    (void)fd;
    (void)what;
    if (!server_busy(run))
        event_base_loopbreak(run->base);
}

static void server_stop(server *run)
{
    struct timeval patience = server_interval(run->s->stop_timeout_us);
    if (run->stopping)
        return;
    run->stopping = true;
    systemd_stopping();
    if (run->service == NULL) { /* it still waits for the store */
        event_base_loopbreak(run->base);
        return;
    }
    log_line(&run->log, LOG_LEVEL_INFO,
             "Stopping: nothing new is taken, what was accepted is answered.");
    service_stop(run->service);
    event_add(run->deadline, &patience);
    event_add(run->idle, &(struct timeval){.tv_usec = IDLE_LOOK_US});
}

static void server_on_deadline(evutil_socket_t fd, short what, void *context)
{
    server *run = context;
    (void)fd;
    (void)what;
    run->cut = true;
    log_line(&run->log, LOG_LEVEL_WARNING,
             "Stopping took longer than stop-timeout; who is left is cut off.");
    event_base_loopbreak(run->base);
}

static void server_warn(void *context, const char *sentence)
{
    server *run = context;
    log_line(&run->log, LOG_LEVEL_WARNING, sentence);
}

/* After the files were read, and once a day: then they may be newer than what was read. */
static void server_check_certificate(server *run, bool read)
{
    if (run->s->tls_certificate == NULL || run->s->tls_key == NULL)
        return;
    int64_t ends_us =
        http_tls_check(&(http_tls){run->s->tls_certificate, run->s->tls_key}, server_warn, run);
    if (read)
        run->service->certificate_ends_us = ends_us;
    else if (ends_us != run->service->certificate_ends_us)
        log_line(&run->log, LOG_LEVEL_WARNING,
                 "The certificate has changed since it was read; SIGHUP makes the server read it.",
                 LOG_TEXT("file", run->s->tls_certificate));
}

static void server_on_day(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    server_check_certificate(context, false);
}

static void server_reload(server *run)
{
    hf_error err = {0};
    systemd_reloading();
    if (service_reload(run->service, &err) == HF_OK) {
        server_check_certificate(run, true);
        log_line(&run->log, LOG_LEVEL_INFO,
                 "Reloaded: certificates were read again; other settings need a restart.");
    } else
        log_line(&run->log, LOG_LEVEL_ERROR,
                 "The certificates could not be read again; the old ones stay.",
                 LOG_TEXT("why", err.message));
    systemd_ready("Serving.");
}

static void server_on_signal(evutil_socket_t number, short what, void *context)
{
    server *run = context;
    (void)what;
    if (number == SIGHUP) {
        if (run->service != NULL) /* else the certificates will be read yet */
            server_reload(run);
    } else if (!run->stopping) {
        server_stop(run);
    } else {
        run->cut = true;
        log_line(&run->log, LOG_LEVEL_WARNING, "Told to stop again: who is left is cut off.");
        event_base_loopbreak(run->base);
    }
}

static void server_on_broken(evutil_socket_t fd, short what, void *context)
{
    server *run = context;
    (void)fd;
    (void)what;
    log_line(
        &run->log, LOG_LEVEL_ERROR,
        "The store is broken; the server ends, so that it can begin anew from what is on disk.",
        LOG_TEXT("why", run->fatal.message));
    server_stop(run);
}

/* On a thread of the committer. */
static void server_on_fatal(void *context, const hf_error *why)
{
    server *run = context;
    run->fatal = *why;
    event_active(run->broken, EV_TIMEOUT, 0);
}

/* ---- the watchdog ---- */

/* That this runs shows that the loop does. The committer does if batches end, or nothing waits for
 * one. */
static void server_on_watchdog(evutil_socket_t fd, short what, void *context)
{
    server *run = context;
    committer_stats stats;
    (void)fd;
    (void)what;
    if (run->committer == NULL) {
        systemd_alive();
        return;
    }
    committer_stats_read(run->committer, &stats);
    bool waits = false;
    for (int lane = 0; lane < COMMITTER_LANES; lane++)
        waits = waits || stats.waiting[lane] > 0;
    if (systemd_progresses(&run->progress, stats.writes.batches + stats.reads.batches, waits,
                           hf_seam.boot_us(), run->watchdog_us))
        systemd_alive();
}

/* ---- starting ---- */

/* Connections leave files for all else: a store that has lost its connection needs one to come
 * back. */
static void server_raise_files(server *run)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)run->s->connections_max + SPARE_FILES;
    run->connections_max = (size_t)run->s->connections_max;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    size_t allowed = (size_t)limit.rlim_cur;
    /* Of few files a third; another may be taken by those that are told that there is no more. */
    size_t most = allowed > 2 * SPARE_FILES ? allowed - SPARE_FILES : allowed / 3;
    run->connections_max = most < run->connections_max ? most : run->connections_max;
    log_line(&run->log, LOG_LEVEL_WARNING,
             "The system allows fewer open files than connections-max needs, so the server takes "
             "fewer connections; raise the limit of open files.",
             LOG_NUMBER("connections", (int64_t)run->connections_max),
             LOG_NUMBER("allowed", (int64_t)allowed), LOG_NUMBER("needed", (int64_t)wanted));
}

static void server_tell_listening(server *run)
{
    for (size_t i = 0; i < run->listening.count && !run->told; i++) {
        const listener *one = &run->listening.all[i];
        log_line(&run->log, one->moved ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                 one->moved ? "The port was taken; listening on another." : "Listening.",
                 LOG_TEXT("address", one->name), LOG_TEXT("tls", one->tls ? "yes" : "no"));
    }
    run->told = true;
}

/* For systemd it is ready, as it is when the store goes away later: so a boot does not wait for the
 * database, and no start times out. */
static void server_on_waits(void *context)
{
    server *run = context;
    server_tell_listening(run);
    systemd_ready("Waiting for the store, which does not answer.");
}

/* HF_OK and no store: it was told to stop meanwhile. */
static hf_status server_open_store(server *run, hf_error *err)
{
    char name[HF_URL_MAX + 1];
    hf_url_redact(run->s->store, name, sizeof name);
    if (listeners_are_at(&run->listening, run->s->store))
        return hf_fail(err, HF_INVALID,
                       "%.512s is this server itself, so it can't be its store; name the one that "
                       "the locks live in "
                       "('holdfast serve --print-config' says where this came from).",
                       name);
    opening_settings wanted = {
        .settings = run->s,
        .base = run->base,
        .log = &run->log,
        .listening = &run->listening,
        .connections_max = run->connections_max,
        .waits = server_on_waits,
        .context = run,
    };
    hf_status status = opening_run(&wanted, &run->opening, &run->store, &run->token, err);
    if (status != HF_OK || run->store == NULL)
        return status;
    if (opening_end(run->opening))
        run->opening = NULL;
    hf_store_grade(run->store, &run->grade);
    log_line(&run->log, run->grade.level == HF_GRADE_DISK ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
             "The store is open.", LOG_TEXT("store", name), LOG_TEXT("grade", run->grade.text));
    if (run->token.outcome == FIRST_MADE)
        log_line(&run->log, LOG_LEVEL_INFO,
                 "The store had no tokens; an admin token was made, and this file has it.",
                 LOG_TEXT("file", run->token.path));
    else if (run->token.outcome == FIRST_USELESS)
        log_line(&run->log, LOG_LEVEL_WARNING, run->token.why);
    return HF_OK;
}

/* A database server has several connections' worth of work to do at a time: while one writer waits
 * for its sync, others prepare theirs. The other stores have one writer at a time anyway. */
static bool server_shares_work(const char *store)
{
    return strncmp(store, "postgres", 8) == 0 || strncmp(store, "mysql:", 6) == 0;
}

static hf_status server_start_committer(server *run, hf_error *err)
{
    bool shared = server_shares_work(run->s->store);
    committer_settings wanted = {
        .store = run->store,
        .writers = run->s->writers != 0 ? (unsigned)run->s->writers
                   : shared             ? SHARED_WRITERS
                                        : 1,
        .readers = run->s->readers != 0 ? (unsigned)run->s->readers
                   : shared             ? SHARED_READERS
                                        : 1,
        .fatal = server_on_fatal,
        .context = run,
    };
    return committer_new(&wanted, &run->committer, err);
}

static hf_status server_start_service(server *run, hf_error *err)
{
    service_settings wanted = {
        .settings = run->s,
        .base = run->base,
        .store = run->store,
        .committer = run->committer,
        .log = &run->log,
        .listening = &run->listening,
        .connections_max = run->connections_max,
    };
    return service_new(&wanted, &run->service, err);
}

/* The loop and what comes to it from outside. */
static hf_status server_start_loop(server *run, hf_error *err)
{
    struct event_config *config = event_config_new();
    if (config != NULL && evthread_use_pthreads() == 0 &&
        event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
        run->base = event_base_new_with_config(config);
    if (config != NULL)
        event_config_free(config);
    if (run->base == NULL)
        return hf_fail(err, HF_INTERNAL, "The event loop could not be made.");
    for (int i = 0; i < SIGNALS; i++) {
        run->signals[i] = evsignal_new(run->base, signals[i], server_on_signal, run);
        if (run->signals[i] == NULL || event_add(run->signals[i], NULL) != 0)
            return hf_fail_memory(err);
    }
    run->deadline = evtimer_new(run->base, server_on_deadline, run);
    run->broken = event_new(run->base, -1, 0, server_on_broken, run);
    run->watchdog = event_new(run->base, -1, EV_PERSIST, server_on_watchdog, run);
    run->idle = event_new(run->base, -1, EV_PERSIST, server_on_idle, run);
    run->day = event_new(run->base, -1, EV_PERSIST, server_on_day, run);
    bool made =
        run->day != NULL && event_add(run->day, &(struct timeval){.tv_sec = DAY_S}) == 0 &&
        run->deadline != NULL && run->broken != NULL && run->watchdog != NULL && run->idle != NULL;
    return made ? HF_OK : hf_fail_memory(err);
}

static hf_status server_start_watchdog(server *run, hf_error *err)
{
    run->watchdog_us = systemd_watchdog_us();
    int64_t often_us = run->watchdog_us / PINGS;
    struct timeval often = server_interval(often_us < LEAST_PING_US ? LEAST_PING_US : often_us);
    if (run->watchdog_us > 0 && event_add(run->watchdog, &often) != 0)
        return hf_fail_memory(err);
    return HF_OK;
}

static hf_status server_start(server *run, hf_error *err)
{
    server_raise_files(run);
    hf_status status = bootstrap_folder(run->s->data, err);
    if (status == HF_OK)
        status = server_start_loop(run, err);
    if (status == HF_OK)
        status = listeners_open(run->s, &run->listening, err);
    if (status == HF_OK)
        status = server_start_watchdog(run, err);
    if (status == HF_OK)
        status = server_open_store(run, err);
    if (status != HF_OK || run->store == NULL || run->stopping)
        return status;
    status = server_start_committer(run, err);
    if (status == HF_OK)
        status = server_start_service(run, err);
    if (status == HF_OK)
        server_check_certificate(run, true);
    return status;
}

/* ---- serving ---- */

static void server_tell_ready(server *run, const server_hooks *hooks)
{
    char status[ADDRESS_NAME_SIZE + 64] = "Serving.";
    server_tell_listening(run);
    if (run->listening.count > 0)
        snprintf(status, sizeof status, "Serving on %s%s.", run->listening.all[0].name,
                 run->listening.count > 1 ? " and others" : "");
    systemd_ready(status);
    if (hooks != NULL && hooks->ready != NULL)
        hooks->ready(hooks->context, &(server_ready){&run->listening, &run->token, &run->grade});
}

static void server_free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

static void server_finish(server *run)
{
    while (!opening_end(run->opening)) {
        if (!run->stopping)
            continue;
        listeners_close(&run->listening);
        log_line(&run->log, LOG_LEVEL_INFO, "Stopped.");
        _exit(0); /* a thread is with the store still, inside a library */
    }
    if (run->service != NULL)
        service_stop(run->service);
    if (run->committer != NULL)
        committer_stop(run->committer);
    service_free(run->service);
    committer_free(run->committer);
    listeners_close(&run->listening);
    hf_store_close(run->store);
    for (int i = 0; i < SIGNALS; i++)
        server_free_event(run->signals[i]);
    server_free_event(run->watchdog);
    server_free_event(run->deadline);
    server_free_event(run->broken);
    server_free_event(run->idle);
    server_free_event(run->day);
    if (run->base != NULL)
        event_base_free(run->base);
}

static hf_status server_outcome(const server *run, hf_error *err)
{
    if (run->fatal.message[0] != '\0')
        return hf_fail(err, HF_UNAVAILABLE, "The store is broken, so the server has ended: %.1024s",
                       run->fatal.message);
    if (run->cut && server_busy(run))
        return hf_fail(err, HF_TIMEOUT, "Some requests were cut off before they were answered.");
    return HF_OK;
}

hf_status server_main(const settings *s, const server_hooks *hooks, hf_error *err)
{
    server run = {.s = s};
    log_init(&run.log, STDERR_FILENO, s->log == SETTINGS_LOG_JSON, (log_level)s->log_level,
             getenv("JOURNAL_STREAM"));
    hf_status status = server_start(&run, err);
    if (status == HF_OK && run.service != NULL) {
        server_tell_ready(&run, hooks);
        event_base_dispatch(run.base);
        status = server_outcome(&run, err);
    }
    server_finish(&run);
    if (status == HF_OK)
        log_line(&run.log, LOG_LEVEL_INFO, "Stopped.");
    log_done(&run.log);
    return status;
}
