/* SPDX-License-Identifier: MIT */
/* A try is a thread: clients of databases block, for ten seconds and more where a name has to be
 * looked up. `tried` brings what came of it to the loop, which logs, answers and begins the next.
 */
#include "server/opening.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/service.h"

#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SAY_US = 60000000,
    ANSWER_US = 1500000, /* so long requests may still come in part when the store is open */
    LEAVE_MS = 200 /* so long a try may still take when it is no longer wanted */
};

/* Between tries; and how long a try may take before the sockets answer. */
static const struct timeval opening_again = {.tv_sec = 1}, opening_slow = {.tv_sec = 5},
                            opening_soon = {.tv_usec = 5000};

struct opening {
    opening_settings settings;
    framing_limits framing;
    struct event *tried, *again;
    http *http; /* from the first failure on */
    int64_t since_us, said_us, leave_us;
    bool reasoned; /* a reason that a try gave was said */
    hf_status status; /* of the start as a whole */
    hf_error *err;
    pthread_t thread;
    bool running;
    struct { /* written by the thread, read when it was joined */
        hf_status status;
        hf_error err;
        hf_store *store;
        bootstrap_token token;
    } now;
};

/* ---- one try ---- */

static void *opening_work(void *context)
{
    opening *it = context;
    const settings *s = it->settings.settings;
    it->now.store = NULL;
    it->now.err = (hf_error){0};
    it->now.status = hf_store_open(s->store, &it->now.store, &it->now.err);
    if (it->now.status == HF_OK)
        it->now.status =
            bootstrap_token_ready(it->now.store, s->data, &it->now.token, &it->now.err);
    if (it->now.status != HF_OK) {
        hf_store_close(it->now.store);
        it->now.store = NULL;
    }
    event_active(it->tried, EV_TIMEOUT, 0);
    return NULL;
}

static void opening_fail(opening *it, hf_status status)
{
    it->status = status;
    event_base_loopbreak(it->settings.base);
}

static void opening_try(opening *it)
{
    it->running = pthread_create(&it->thread, NULL, opening_work, it) == 0;
    if (!it->running)
        opening_fail(it, hf_fail(it->err, HF_INTERNAL, "The system gives no further thread."));
}

/* ---- while it waits ---- */

static void opening_handle(void *context, http_request *from)
{
    static const char health[] = "{\"status\":\"ok\"}";
    static const http_field later[] = {{"Retry-After", "2"}, {NULL, NULL}};
    hf_buffer body = {0};
    (void)context;
    bool alive = hf_slice_equal(from->path, hf_slice_of("/healthz")) &&
                 (from->method == HTTP_GET || from->method == HTTP_HEAD);
    const char *type = service_problem(
        NULL, 503, "The server waits for its store, which does not answer yet; try again.", &body);
    http_reply reply = {.status = 503,
                        .type = type,
                        .body = {body.text, body.size},
                        .headers = later,
                        .close = true}; /* the next one is answered by the service */
    if (alive)
        reply = (http_reply){.status = 200,
                             .type = "application/json",
                             .body = hf_slice_of(health),
                             .close = true};
    http_answer(from, &reply);
    hf_buffer_done(&body);
}

/* On copies of the sockets: the service gets the same ones, and nobody who connects is refused.
 * Connections that were accepted here are answered here (opening_leave). */
static hf_status opening_listen(opening *it, hf_error *err)
{
    const settings *s = it->settings.settings;
    http_settings wanted = service_http_settings(
        s, it->settings.base, it->settings.connections_max, &it->framing);
    wanted.handle = opening_handle;
    hf_status status = http_new(&wanted, &it->http, err);
    for (size_t i = 0; i < it->settings.listening->count && status == HF_OK; i++) {
        const listener *l = &it->settings.listening->all[i];
        http_tls tls = {s->tls_certificate, s->tls_key};
        int copy = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
        status = copy < 0 ? hf_fail(err, HF_INTERNAL, "The system gives no further file.")
                          : http_listen(it->http, copy, l->tls ? &tls : NULL, err);
        if (status != HF_OK && copy >= 0)
            close(copy);
    }
    return status;
}

/* why NULL: a try takes long. The first reason is said at once. */
static void opening_say(opening *it, const char *why)
{
    int64_t now_us = hf_seam.boot_us();
    bool first = it->said_us == 0 || (why != NULL && !it->reasoned);
    if (!first && now_us - it->said_us < SAY_US)
        return;
    it->said_us = now_us;
    it->reasoned |= why != NULL;
    log_line(it->settings.log, LOG_LEVEL_WARNING,
             "The store does not answer; the server waits for it.",
             LOG_TEXT("why", why != NULL ? why : "No answer yet."),
             LOG_NUMBER("after_ms", (now_us - it->since_us) / 1000));
}

static void opening_wait(opening *it, const char *why)
{
    if (it->http == NULL) {
        hf_status status = opening_listen(it, it->err);
        if (status != HF_OK) {
            opening_fail(it, status);
            return;
        }
        it->settings.waits(it->settings.context);
    }
    opening_say(it, why);
}

/* The store is open. Connections that were accepted here may have a request on its way. */
static void opening_leave(opening *it)
{
    int64_t now_us = hf_seam.boot_us();
    if (it->leave_us == 0) {
        it->leave_us = now_us + ANSWER_US;
        http_stop(it->http);
    }
    if (http_connections(it->http) == 0 || now_us >= it->leave_us)
        opening_fail(it, HF_OK);
    else
        event_add(it->again, &opening_soon);
}

/* Either the next try is due, or the one under way takes long. */
static void opening_on_again(evutil_socket_t fd, short what, void *context)
{
    opening *it = context;
    (void)fd, (void)what;
    if (it->leave_us != 0) {
        opening_leave(it);
        return;
    }
    if (it->running)
        opening_wait(it, NULL);
    else
        opening_try(it);
    event_add(it->again, &opening_again);
}

static void opening_on_tried(evutil_socket_t fd, short what, void *context)
{
    opening *it = context;
    (void)fd, (void)what;
    pthread_join(it->thread, NULL);
    it->running = false;
    if (it->now.status != HF_OK && it->now.err.away) {
        opening_wait(it, it->now.err.message);
        event_add(it->again, &opening_again);
        return;
    }
    if (it->now.status != HF_OK && it->err != NULL)
        *it->err = it->now.err;
    if (it->now.status != HF_OK || it->http == NULL) {
        opening_fail(it, it->now.status);
        return;
    }
    log_line(it->settings.log, LOG_LEVEL_INFO, "The store answers now.",
             LOG_NUMBER("after_ms", (hf_seam.boot_us() - it->since_us) / 1000));
    opening_leave(it);
}

/* ---- all of it ---- */

hf_status opening_run(const opening_settings *wanted, opening **out, hf_store **store,
                      bootstrap_token *token, hf_error *err)
{
    opening *it = *out = hf_alloc(sizeof *it);
    if (it == NULL)
        return hf_fail_memory(err);
    it->settings = *wanted;
    it->err = err;
    it->since_us = hf_seam.boot_us();
    it->tried = event_new(wanted->base, -1, 0, opening_on_tried, it);
    it->again = evtimer_new(wanted->base, opening_on_again, it);
    if (it->tried == NULL || it->again == NULL)
        return hf_fail_memory(err);
    opening_try(it);
    event_add(it->again, &opening_slow);
    if (it->running)
        event_base_loop(wanted->base, EVLOOP_NO_EXIT_ON_EMPTY);
    if (it->status == HF_OK && !it->running) {
        *store = it->now.store;
        *token = it->now.token;
        it->now.store = NULL;
    }
    return it->status;
}

bool opening_end(opening *it)
{
    struct timespec until;
    if (it == NULL)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LEAVE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (it->running && pthread_timedjoin_np(it->thread, NULL, &until) != 0)
        return false;
    hf_store_close(it->now.store);
    http_free(it->http);
    if (it->tried != NULL)
        event_free(it->tried);
    if (it->again != NULL)
        event_free(it->again);
    hf_free(it);
    return true;
}
