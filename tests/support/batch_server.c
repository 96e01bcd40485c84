/* SPDX-License-Identifier: MIT */
/* The server of a test; see batch_server.h. One thread accepts connections, each connection has a
 * blocking thread. Bodies come and go with Content-Length only. */
#include <arpa/inet.h>
#include <base/json.h>
#include <errno.h>
#include <holdfast/json.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/batch_server.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <wire/wire.h>

enum { HEAD_MAX = 16384 };

typedef struct connection {
    batch_server *of;
    struct connection *next;
    pthread_t thread;
    int fd;
    bool ended;
    SSL *tls;
} connection;

struct batch_server {
    hf_store *store;
    SSL_CTX *tls;
    int listener, port;
    pthread_t thread;
    pthread_rwlock_t clock; /* read: a batch is in the store */
    pthread_mutex_t mutex;  /* guards what follows */
    bool stopping;
    connection *first;
    batch_server_fault whim;
    const char *token;
    const char *metrics; /* a file */
    size_t batches, connections;
    char last[HEAD_MAX];
};

/* One request. */
typedef struct exchange {
    char head[HEAD_MAX];
    char *body;
    size_t size;
    bool post;
    bool metrics;
    batch_server_fault whim; /* times > 0: it is to be treated so */
} exchange;

/* In whatever thread: there is no way back into the test. */
static void batch_server_give_up(const char *what)
{
    fprintf(stderr, "The server of a test can't %s: %s.\n", what, strerror(errno));
    abort();
}

/* ---- bytes ---- */

static ssize_t batch_server_get(connection *c, char *out, size_t size)
{
    return c->tls ? SSL_read(c->tls, out, (int)size) : recv(c->fd, out, size, 0);
}

static bool batch_server_put(connection *c, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t part = size > 65536 ? 65536 : size;
        ssize_t sent =
            c->tls ? SSL_write(c->tls, bytes, (int)part) : send(c->fd, bytes, part, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Reads a head and its body; false: the client has left. */
static bool get_request(connection *c, exchange *x)
{
    size_t used = 0;
    char *end = NULL;
    while (!(end = memmem(x->head, used, "\r\n\r\n", 4))) {
        ssize_t got = used + 1 < sizeof x->head
                          ? batch_server_get(c, x->head + used, sizeof x->head - 1 - used)
                          : 0;
        if (got <= 0)
            return false;
        used += (size_t)got;
        if (x->head[0] < 'A' || x->head[0] > 'Z')
            return false; /* that is no HTTP */
    }
    size_t head = (size_t)(end - x->head) + 4, had = used - head;
    char *line = memmem(x->head, head, "\r\nContent-Length: ", 18);
    x->size = line ? strtoul(line + 18, NULL, 10) : 0;
    x->body = malloc(x->size + 1);
    if (had > x->size)
        batch_server_give_up("take two requests at once");
    memcpy(x->body, x->head + head, had);
    while (had < x->size) {
        ssize_t got = batch_server_get(c, x->body + had, x->size - had);
        if (got <= 0)
            return false;
        had += (size_t)got;
    }
    x->head[head] = '\0';
    return true;
}

/* ---- answers ---- */

static const char *reason_of(int http)
{
    return http == 200 ? "OK" : http == 503 ? "Service Unavailable" : "No";
}

static void batch_server_answer(hf_buffer *out, int http, const char *type, const hf_buffer *body)
{
    hf_buffer_print(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", http,
                    reason_of(http), type, body->size);
    hf_buffer_add(out, body->text, body->size);
}

static void answer_problem(hf_buffer *out, hf_status status, const char *message)
{
    char *json = hf_problem_json(0, &(hf_refusal){.status = status, .message = message});
    hf_buffer body = {0};
    hf_buffer_print(&body, "%s", json);
    batch_server_answer(out, hf_status_http(status), "application/problem+json", &body);
    hf_buffer_done(&body);
    hf_json_free(json);
}

static void answer_ready(batch_server *d, hf_buffer *out)
{
    hf_json json = {0};
    hf_grade grade;
    hf_store_grade(d->store, &grade);
    hf_json_begin(&json, '{');
    hf_json_name(&json, "grade");
    hf_json_text(&json, hf_grade_level_name(grade.level));
    hf_json_name(&json, "text");
    hf_json_text(&json, grade.text);
    hf_json_name(&json, "broken");
    hf_json_bool(&json, grade.broken);
    hf_json_end(&json, '}');
    batch_server_answer(out, grade.broken ? 503 : 200, "application/json", &json.out);
    hf_buffer_done(&json.out);
}

static void answer_metrics(batch_server *d, hf_buffer *out)
{
    char block[4096];
    hf_buffer text = {0};
    size_t size;
    FILE *file = d->metrics ? fopen(d->metrics, "r") : NULL;
    if (!file) {
        answer_problem(out, HF_NOT_FOUND, "This server counts nothing.");
        return;
    }
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        hf_buffer_add(&text, block, size);
    fclose(file);
    batch_server_answer(out, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
    hf_buffer_done(&text);
}

static hf_status batch_server_carry_out(batch_server *d, const exchange *x, hf_buffer *body,
                                        hf_error *err)
{
    wire_ops ops = {0};
    hf_batch *batch = NULL;
    hf_status status = wire_ops_read(&ops, x->body, x->size, err);
    if (status == HF_OK)
        status = hf_batch_new(ops.count, &batch, err);
    for (size_t i = 0; status == HF_OK && i < ops.count; i++)
        *hf_batch_add(batch, ops.items[i].kind) = ops.items[i];
    pthread_rwlock_rdlock(&d->clock);
    if (status == HF_OK)
        status = hf_store_execute(d->store, batch, err);
    pthread_rwlock_unlock(&d->clock);
    if (status == HF_OK)
        status = wire_answers_write(hf_batch_op(batch, 0), hf_batch_count(batch), body, err);
    hf_batch_free(batch);
    wire_ops_done(&ops);
    return status;
}

static bool has_token(batch_server *d, const exchange *x)
{
    char line[2048];
    pthread_mutex_lock(&d->mutex);
    bool open = !d->token;
    snprintf(line, sizeof line, "\r\nAuthorization: Bearer %s\r\n", d->token ? d->token : "");
    pthread_mutex_unlock(&d->mutex);
    return open || strstr(x->head, line);
}

static void treat(batch_server *d, const exchange *x, hf_buffer *out)
{
    hf_buffer body = {0};
    hf_error err = {0};
    if (!has_token(d, x))
        answer_problem(out, HF_UNAUTHENTICATED, "This token is not known here.");
    else if (x->metrics)
        answer_metrics(d, out);
    else if (!x->post)
        answer_ready(d, out);
    else if (batch_server_carry_out(d, x, &body, &err) == HF_OK)
        batch_server_answer(out, 200, "application/json", &body);
    else
        answer_problem(out, err.status, err.message);
    hf_buffer_done(&body);
}

/* ---- connections ---- */

/* Takes note of the request, and of how it is to be treated. */
static bool batch_server_note(batch_server *d, exchange *x)
{
    char path[256] = "", method[16] = "";
    sscanf(x->head, "%15s %255s", method, path);
    x->post = strcmp(method, "POST") == 0;
    x->metrics = !x->post && strstr(path, "/metrics");
    const char *known = x->post ? "/v1/batch" : x->metrics ? "/metrics" : "/readyz";
    size_t size = strlen(path), tail = strlen(known);
    pthread_mutex_lock(&d->mutex);
    d->batches += x->post;
    snprintf(d->last, sizeof d->last, "%s", x->head);
    if (d->whim.times > 0 && d->whim.after > 0) {
        d->whim.after--;
    } else if (d->whim.times > 0) {
        x->whim = d->whim;
        d->whim.times--;
        if (d->whim.times == 0 && d->whim.next != NULL)
            d->whim = *d->whim.next;
    }
    pthread_mutex_unlock(&d->mutex);
    return size >= tail && strcmp(path + size - tail, known) == 0;
}

static void batch_server_reset(connection *c)
{
    struct linger now = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void hang(connection *c)
{
    char bytes[256];
    while (recv(c->fd, bytes, sizeof bytes, 0) > 0)
        continue;
}

static bool put_whim(connection *c, const exchange *x, const hf_buffer *truth)
{
    const batch_server_fault *whim = &x->whim;
    bool ok = true;
    if (whim->half)
        ok = batch_server_put(c, truth->text, truth->size / 2);
    if (whim->reply)
        ok = batch_server_put(c, whim->reply, strlen(whim->reply));
    static const char spaces[4096] = {[0 ... 4095] = ' '};
    for (size_t left = whim->spaces; ok && left > 0;
         left -= left < sizeof spaces ? left : sizeof spaces)
        ok = batch_server_put(c, spaces, left < sizeof spaces ? left : sizeof spaces);
    if (whim->then == BATCH_SERVER_RESETS)
        batch_server_reset(c);
    if (whim->then == BATCH_SERVER_HANGS)
        hang(c);
    return ok && whim->then == BATCH_SERVER_KEEPS;
}

/* False: the connection is over. */
static bool serve_one(connection *c)
{
    exchange *x = calloc(1, sizeof *x);
    hf_buffer out = {0};
    bool goes_on = get_request(c, x);
    if (goes_on && !batch_server_note(c->of, x)) {
        char nothing[] = "<p>There is nothing here.</p>";
        batch_server_answer(&out, 404, "text/html",
                            &(hf_buffer){.text = nothing, .size = strlen(nothing)});
        goes_on = batch_server_put(c, out.text, out.size);
    } else if (goes_on) {
        if (x->whim.times == 0 || x->whim.execute || x->whim.half)
            treat(c->of, x, &out);
        goes_on =
            x->whim.times > 0 ? put_whim(c, x, &out) : batch_server_put(c, out.text, out.size);
    }
    hf_buffer_done(&out);
    free(x->body);
    free(x);
    return goes_on;
}

static void *connection_main(void *argument)
{
    connection *c = argument;
    bool ok = !c->tls || SSL_accept(c->tls) == 1;
    while (ok && serve_one(c))
        continue;
    pthread_mutex_lock(&c->of->mutex);
    if (c->tls)
        SSL_free(c->tls);
    close(c->fd);
    c->ended = true;
    pthread_mutex_unlock(&c->of->mutex);
    return NULL;
}

/* Joins the connections that have ended; the mutex is held. */
static void reap(batch_server *d)
{
    for (connection **at = &d->first; *at;) {
        connection *c = *at;
        if (!c->ended) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        pthread_join(c->thread, NULL); /* it has unlocked the mutex, and does nothing more */
        free(c);
    }
}

static void batch_server_take(batch_server *d, int fd)
{
    connection *c = calloc(1, sizeof *c);
    int on = 1;
    c->of = d;
    c->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (d->tls) {
        c->tls = SSL_new(d->tls);
        SSL_set_fd(c->tls, fd);
    }
    pthread_mutex_lock(&d->mutex);
    reap(d);
    d->connections++;
    c->next = d->first;
    d->first = c;
    if (pthread_create(&c->thread, NULL, connection_main, c) != 0)
        batch_server_give_up("start a thread");
    pthread_mutex_unlock(&d->mutex);
}

static void *listener_main(void *argument)
{
    batch_server *d = argument;
    for (;;) {
        int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_mutex_lock(&d->mutex);
        bool stopping = d->stopping;
        pthread_mutex_unlock(&d->mutex);
        if (stopping) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        if (fd >= 0)
            batch_server_take(d, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            batch_server_give_up("take a connection");
    }
}

/* ---- starting and stopping ---- */

static void batch_server_listen_on(batch_server *d, const char *path)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr *address = path ? (struct sockaddr *)&local : (struct sockaddr *)&loopback;
    socklen_t size = path ? sizeof local : sizeof loopback;
    if (path)
        snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
    d->listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (d->listener < 0 || bind(d->listener, address, size) != 0 || listen(d->listener, 128) != 0)
        batch_server_give_up("listen");
    if (!path && getsockname(d->listener, address, &size) == 0)
        d->port = ntohs(loopback.sin_port);
}

batch_server *batch_server_start(hf_store *store, const char *socket_path,
                                 const batch_server_tls *tls)
{
    batch_server *d = calloc(1, sizeof *d);
    d->store = store;
    pthread_rwlock_init(&d->clock, NULL);
    pthread_mutex_init(&d->mutex, NULL);
    signal(SIGPIPE, SIG_IGN); /* of TLS */
    if (tls) {
        d->tls = SSL_CTX_new(TLS_server_method());
        if (SSL_CTX_use_certificate_chain_file(d->tls, tls->certificate) != 1 ||
            SSL_CTX_use_PrivateKey_file(d->tls, tls->key, SSL_FILETYPE_PEM) != 1)
            batch_server_give_up("use its certificate");
    }
    batch_server_listen_on(d, socket_path);
    if (pthread_create(&d->thread, NULL, listener_main, d) != 0)
        batch_server_give_up("start a thread");
    return d;
}

void batch_server_cut(batch_server *d)
{
    pthread_mutex_lock(&d->mutex);
    for (connection *c = d->first; c; c = c->next)
        if (!c->ended)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&d->mutex);
}

void batch_server_stop(batch_server *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->mutex);
    d->stopping = true;
    pthread_mutex_unlock(&d->mutex);
    shutdown(d->listener, SHUT_RDWR);
    pthread_join(d->thread, NULL);
    close(d->listener);
    batch_server_cut(d);
    for (connection *c = d->first; c;) {
        connection *next = c->next;
        pthread_join(c->thread, NULL);
        free(c);
        c = next;
    }
    SSL_CTX_free(d->tls);
    pthread_rwlock_destroy(&d->clock);
    pthread_mutex_destroy(&d->mutex);
    free(d);
}

/* ---- asking and telling it ---- */

int batch_server_port(const batch_server *d)
{
    return d->port;
}

void batch_server_url(const batch_server *d, char *url)
{
    snprintf(url, HF_URL_MAX, "http%s://127.0.0.1:%d", d->tls ? "s" : "", d->port);
}

hf_store *batch_server_store(batch_server *d)
{
    return d->store;
}

void batch_server_clock(batch_server *d, int64_t now_us)
{
    pthread_rwlock_wrlock(&d->clock);
    hf_store_clock_freeze(d->store, now_us);
    pthread_rwlock_unlock(&d->clock);
}

void batch_server_metrics(batch_server *d, const char *path)
{
    d->metrics = path;
}

void batch_server_token(batch_server *d, const char *token)
{
    pthread_mutex_lock(&d->mutex);
    d->token = token;
    pthread_mutex_unlock(&d->mutex);
}

void batch_server_fail(batch_server *d, const batch_server_fault *whim)
{
    pthread_mutex_lock(&d->mutex);
    d->whim = *whim;
    pthread_mutex_unlock(&d->mutex);
}

static size_t batch_server_read_count(batch_server *d, const size_t *count)
{
    pthread_mutex_lock(&d->mutex);
    size_t out = *count;
    pthread_mutex_unlock(&d->mutex);
    return out;
}

size_t batch_server_batches(batch_server *d)
{
    return batch_server_read_count(d, &d->batches);
}

size_t batch_server_connections(batch_server *d)
{
    return batch_server_read_count(d, &d->connections);
}

void batch_server_last(batch_server *d, char *out, size_t size)
{
    pthread_mutex_lock(&d->mutex);
    snprintf(out, size, "%s", d->last);
    pthread_mutex_unlock(&d->mutex);
}
