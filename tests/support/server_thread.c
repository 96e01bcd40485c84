/* SPDX-License-Identifier: MIT */
/* The real server in a thread of the test's own process. */
#include <support/server_thread.h>

#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <server/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

struct server_thread {
    /* the second has the tokens, so that the first is as the test left it */
    hf_store *store, *access;
    settings *settings;
    listeners listening;
    struct event_base *base;
    struct event *stop, *idle;
    committer *committer, *tokens;
    service *service;
    log_sink log;
    pthread_t thread;
    char address[HF_URL_MAX], token_file[HF_URL_MAX];
    hf_token_key token;
};

static void host_must(hf_status status, const hf_error *err)
{
    if (status == HF_OK)
        return;
    fprintf(stderr, "No server for the test: %s\n", err->message);
    exit(2);
}

static const char *host_no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void server_thread_read_settings(server_thread *h, hf_error *err)
{
    static const settings_flag flags[] = {{"listen", "127.0.0.1:0"},
                                          {"body-max", "16M"},
                                          {"rate-session", "0"},
                                          {"rate-address", "0"},
                                          /* tests hold as many as they like */
                                          {"locks-session", "0"},
                                          {"log-level", "error"}};
    static const char *const no_files[] = {NULL};
    settings_sources from = {.flags = flags,
                             .flags_count = sizeof flags / sizeof *flags,
                             .variable = host_no_variable,
                             .files = no_files,
                             .data = scratch_folder()};
    host_must(settings_read(&from, &h->settings, err), err);
}

static void server_thread_make_token(server_thread *h, hf_error *err)
{
    hf_batch *batch = NULL;
    host_must(hf_token_new(&h->token, err), err);
    host_must(hf_batch_new(1, &batch, err), err);
    hf_op *op = hf_batch_add(batch, HF_OP_TOKEN_CREATE);
    op->token = h->token.id;
    op->sha256 = h->token.sha256;
    op->name = "test";
    op->roles = "use observe manage admin";
    op->actor = "test";
    host_must(hf_store_open("memory:", &h->access, err), err);
    host_must(hf_store_execute(h->access, batch, err), err);
    host_must(op->answer.status, err);
    hf_batch_free(batch);
    scratch_path(".token", h->token_file);
    mode_t mask = umask(077);
    FILE *file = fopen(h->token_file, "w");
    umask(mask);
    if (file == NULL || fprintf(file, "%s\n", h->token.secret) < 0 || fclose(file) != 0)
        exit(2);
}

static void host_on_idle(evutil_socket_t fd, short what, void *context)
{
    server_thread *h = context;
    (void)fd, (void)what;
    if (service_idle(h->service))
        event_base_loopbreak(h->base);
}

static void on_stop(evutil_socket_t fd, short what, void *context)
{
    server_thread *h = context;
    (void)fd, (void)what;
    service_stop(h->service);
    event_add(h->idle, &(struct timeval){.tv_usec = 1000});
}

static void *host_serve(void *context)
{
    server_thread *h = context;
    event_base_loop(h->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

server_thread *server_thread_start(hf_store *store)
{
    hf_error err = {0};
    server_thread *h = calloc(1, sizeof *h);
    if (h == NULL)
        exit(2);
    h->store = store;
    server_thread_read_settings(h, &err);
    server_thread_make_token(h, &err);
    log_init(&h->log, STDERR_FILENO, false, LOG_LEVEL_ERROR, NULL);
    evthread_use_pthreads();
    h->base = event_base_new();
    h->stop = event_new(h->base, -1, 0, on_stop, h);
    h->idle = event_new(h->base, -1, EV_PERSIST, host_on_idle, h);
    host_must(listeners_open(h->settings, &h->listening, &err), &err);
    snprintf(h->address, sizeof h->address, "http://%s", h->listening.all[0].name);
    host_must(committer_new(&(committer_settings){.store = store}, &h->committer, &err), &err);
    host_must(committer_new(&(committer_settings){.store = h->access}, &h->tokens, &err), &err);
    host_must(service_new(&(service_settings){h->settings, h->base, store, h->committer, &h->log,
                                              &h->listening, 0, h->tokens},
                          &h->service, &err),
              &err);
    if (pthread_create(&h->thread, NULL, host_serve, h) != 0)
        exit(2);
    return h;
}

void server_thread_stop(server_thread *h)
{
    if (h == NULL)
        return;
    event_active(h->stop, EV_TIMEOUT, 0);
    pthread_join(h->thread, NULL);
    committer_stop(h->tokens);
    committer_stop(h->committer);
    service_free(h->service);
    committer_free(h->tokens);
    committer_free(h->committer);
    hf_store_close(h->access);
    event_free(h->stop);
    event_free(h->idle);
    event_base_free(h->base);
    listeners_close(&h->listening);
    settings_free(h->settings);
    log_done(&h->log);
    unlink(h->token_file);
    hf_token_clear(&h->token);
    free(h);
}

void server_thread_url(const server_thread *h, char *url)
{
    snprintf(url, HF_URL_MAX, "%.512s?token_file=%.2048s", h->address, h->token_file);
}

void server_thread_address(const server_thread *h, char *url)
{
    snprintf(url, HF_URL_MAX, "%s", h->address);
}

const char *server_thread_secret(const server_thread *h)
{
    return h->token.secret;
}

hf_store *server_thread_store(server_thread *h)
{
    return h->store;
}
