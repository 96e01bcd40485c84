/* SPDX-License-Identifier: MIT */
/* Calling a server with libcurl. Each call has a handle of its own, and a handle keeps its
 * connection, so the handles that are idle are the connections that are kept.
 *
 * When a kept connection dies before anything came back, libcurl sends the request again on a new
 * one, by itself and whatever the request does. remote_call_before_sending is asked
 * each time, and refuses where the request would be carried out twice (N3). */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "store/remote.h"
#include "wire/wire.h"

#include <holdfast/api.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    IDLE_MAX = 16,         /* connections that are kept */
    IDLE_SECONDS = 20,     /* ... for so long: less than a server waits */
    PROBLEM_MAX = 1 << 16, /* bytes of an answer that is not 200 */
    KEEP_ROOM = 1 << 18,   /* bytes of a buffer that are kept with a connection */
    BEGUN_MAX = 2,         /* a request is sent at most so often */
};

/* ---- libcurl's own needs ---- */

static void *remote_call_curl_malloc(size_t size)
{
    return hf_realloc(NULL, size == 0 ? 1 : size);
}

static void *remote_call_curl_calloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    return hf_alloc(count * size == 0 ? 1 : count * size);
}

static void *remote_call_curl_realloc(void *block, size_t size)
{
    return hf_realloc(block, size == 0 ? 1 : size);
}

static char *remote_call_curl_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hf_realloc(NULL, size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* Where the application uses libcurl too and was first, its memory functions stay. */
hf_status remote_start(hf_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static bool started;
    pthread_mutex_lock(&mutex);
    if (!started)
        started = curl_global_init_mem(CURL_GLOBAL_DEFAULT, remote_call_curl_malloc, hf_free,
                                       remote_call_curl_realloc, remote_call_curl_strdup,
                                       remote_call_curl_calloc) == CURLE_OK;
    bool ok = started;
    pthread_mutex_unlock(&mutex);
    return ok ? HF_OK
              : hf_fail(err, HF_UNAVAILABLE, "libcurl could not be started; nothing was done.");
}

/* A process that is started by this one inherits no connection. */
static curl_socket_t remote_call_open_socket(void *context, curlsocktype purpose,
                                             struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int remote_call_before_sending(void *context, char *to, char *from, int to_port,
                                      int from_port)
{
    remote_call *call = context;
    (void)to, (void)from, (void)to_port, (void)from_port;
    if (call->begun > 0 && (!call->may_repeat || call->begun == BEGUN_MAX))
        return CURL_PREREQFUNC_ABORT;
    call->begun++;
    return CURL_PREREQFUNC_OK;
}

static size_t remote_call_take_answer(char *bytes, size_t one, size_t count, void *context)
{
    remote_call *call = context;
    size_t size = one * count;
    curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &call->http);
    size_t max = call->http == 200 ? WIRE_ANSWERS_SIZE_MAX - 1 : PROBLEM_MAX;
    call->too_large = size > max - call->answer.size;
    if (call->too_large)
        return 0;
    hf_buffer_add(&call->answer, bytes, size);
    call->no_memory = call->answer.failed;
    return call->no_memory ? 0 : size;
}

/* ---- handles ---- */

static bool remote_call_set_transport(CURL *curl, const remote_target *target)
{
    bool ok =
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
        /* nor those of the environment */
        curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 1L) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, (long)IDLE_SECONDS) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, target->timeout_ms) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, target->connect_ms) == CURLE_OK &&
        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
    if (ok && target->socket != NULL)
        ok = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, target->socket) == CURLE_OK;
    if (ok && target->ca_file != NULL) /* that authority, and no other */
        ok = curl_easy_setopt(curl, CURLOPT_CAINFO, target->ca_file) == CURLE_OK &&
             curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK;
    return ok;
}

static bool remote_call_set(CURL *curl, remote_call *call, const remote_calls *calls)
{
    return curl_easy_setopt(curl, CURLOPT_USERAGENT, "holdfast/" HF_VERSION) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, calls->headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->why) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, remote_call_open_socket) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, remote_call_before_sending) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQDATA, call) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, remote_call_take_answer) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, call) == CURLE_OK;
}

static void remote_call_free(remote_call *call)
{
    if (call == NULL)
        return;
    curl_easy_cleanup(call->curl);
    hf_buffer_done(&call->asked);
    hf_buffer_done(&call->answer);
    hf_free(call);
}

static hf_status remote_call_new(const remote_calls *calls, remote_call **out, hf_error *err)
{
    remote_call *call = hf_alloc(sizeof *call);
    if (call == NULL)
        return hf_fail_memory(err);
    call->curl = curl_easy_init();
    if (call->curl == NULL || !remote_call_set_transport(call->curl, calls->target) ||
        !remote_call_set(call->curl, call, calls)) {
        remote_call_free(call);
        return hf_fail_memory(err);
    }
    *out = call;
    return HF_OK;
}

/* ---- the headers ---- */

static void remote_call_wipe_headers(struct curl_slist *headers)
{
    for (struct curl_slist *it = headers; it != NULL; it = it->next)
        hf_secret_wipe(it->data, strlen(it->data));
    curl_slist_free_all(headers);
}

static bool remote_call_add_header(struct curl_slist **headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer != NULL)
        *headers = longer;
    return longer != NULL;
}

static hf_status remote_call_make_headers(const remote_target *target, struct curl_slist **out,
                                          hf_error *err)
{
    hf_buffer token = {0};
    bool ok = remote_call_add_header(out, "Content-Type: application/json") &&
              remote_call_add_header(out, "Accept: application/json, application/problem+json") &&
              remote_call_add_header(out, "Expect:"); /* no waiting for a 100 before a long body */
    if (ok && target->token != NULL) {
        hf_buffer_print(&token, "Authorization: Bearer %s", target->token);
        ok = !token.failed && remote_call_add_header(out, token.text);
        hf_secret_wipe(token.text, token.size);
        hf_buffer_done(&token);
    }
    return ok ? HF_OK : hf_fail_memory(err);
}

/* ---- those of a store ---- */

hf_status remote_calls_init(remote_calls *calls, const remote_target *target, hf_error *err)
{
    *calls = (remote_calls){.target = target};
    pthread_mutex_init(&calls->mutex, NULL);
    return remote_call_make_headers(target, &calls->headers, err);
}

void remote_calls_done(remote_calls *calls)
{
    if (calls->target == NULL)
        return;
    while (calls->idle != NULL) {
        remote_call *call = calls->idle;
        calls->idle = call->next;
        remote_call_free(call);
    }
    remote_call_wipe_headers(calls->headers);
    pthread_mutex_destroy(&calls->mutex);
}

hf_status remote_take(remote_calls *calls, remote_call **out, hf_error *err)
{
    pthread_mutex_lock(&calls->mutex);
    remote_call *call = calls->idle;
    if (call != NULL) {
        calls->idle = call->next;
        calls->idle_count--;
    }
    pthread_mutex_unlock(&calls->mutex);
    *out = call;
    return call != NULL ? HF_OK : remote_call_new(calls, out, err);
}

/* Empties a buffer; its memory is kept unless it is a lot. */
static void remote_call_empty(hf_buffer *buffer)
{
    if (buffer->text != NULL)
        hf_secret_wipe(buffer->text, buffer->size);
    if (buffer->room > KEEP_ROOM || buffer->failed)
        hf_buffer_done(buffer);
    buffer->size = 0;
}

void remote_give(remote_calls *calls, remote_call *call)
{
    remote_call_empty(&call->asked);
    remote_call_empty(&call->answer);
    pthread_mutex_lock(&calls->mutex);
    bool keep = calls->idle_count < IDLE_MAX;
    if (keep) {
        call->next = calls->idle;
        calls->idle = call;
        calls->idle_count++;
    }
    pthread_mutex_unlock(&calls->mutex);
    if (!keep)
        remote_call_free(call);
}

/* ---- one call ---- */

static CURLcode remote_call_prepare(const remote_target *target, remote_call *call,
                                    const char *path, bool post)
{
    hf_buffer url = {0};
    hf_buffer_print(&url, "%s%s", target->base, path);
    CURLcode code =
        url.failed ? CURLE_OUT_OF_MEMORY : curl_easy_setopt(call->curl, CURLOPT_URL, url.text);
    hf_buffer_done(&url);
    if (code == CURLE_OK && !post)
        return curl_easy_setopt(call->curl, CURLOPT_HTTPGET, 1L);
    if (code == CURLE_OK)
        code =
            curl_easy_setopt(call->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->asked.size);
    return code != CURLE_OK ? code
                            : curl_easy_setopt(call->curl, CURLOPT_POSTFIELDS, call->asked.text);
}

/* An application that does not ignore SIGPIPE must not be ended by a server that goes away in the
 * middle of a TLS record. */
static CURLcode remote_call_perform_quietly(CURL *curl)
{
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    CURLcode code = curl_easy_perform(curl);
    if (!was_pending)
        while (sigtimedwait(&pipe_only, NULL, &(struct timespec){0}) > 0)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

void remote_perform(remote_calls *calls, remote_call *call, const char *path, bool post)
{
    call->http = call->os_errno = 0;
    call->begun = 0;
    call->too_large = call->no_memory = false;
    call->why[0] = '\0';
    call->code = remote_call_prepare(calls->target, call, path, post);
    if (call->code == CURLE_OK)
        call->code = remote_call_perform_quietly(call->curl);
    curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &call->http);
    if (call->code == CURLE_COULDNT_CONNECT)
        curl_easy_getinfo(call->curl, CURLINFO_OS_ERRNO, &call->os_errno);
    if (call->why[0] == '\0')
        hf_slice_copy(call->why, sizeof call->why, hf_slice_of(curl_easy_strerror(call->code)));
    call->no_memory |= call->code == CURLE_OUT_OF_MEMORY;
}
