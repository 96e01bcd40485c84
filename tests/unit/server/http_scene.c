/* SPDX-License-Identifier: MIT */
/* The scene: see http_scene.h. */
#include "unit/server/http_scene.h"

#include <arpa/inet.h>
#include <base/seams.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the server ---- */

int64_t scene_now_us(void)
{
    return hf_seam.boot_us();
}

static void answer_text(http_request *r, int status, const char *text)
{
    http_answer(r,
                &(http_reply){.status = status, .type = "text/plain", .body = hf_slice_of(text)});
}

static void echo(http_request *r)
{
    static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                          "PATCH", "DELETE", "OPTIONS", "OTHER"};
    hf_buffer text = {0};
    hf_buffer_print(&text, "%s\n%.*s\n%.*s\n%.*s\n%s\n%s\n%s\n", methods[r->method],
                    (int)r->path.size, r->path.at, (int)r->query.size, r->query.at,
                    (int)r->body.size, r->body.at, r->peer, r->local ? "local" : "remote",
                    r->secure ? "secure" : "clear");
    http_answer(r,
                &(http_reply){.status = 200, .type = "text/plain", .body = {text.text, text.size}});
    hf_buffer_done(&text);
}

static void on_left(http_request *r)
{
    scene *s = r->context;
    s->left++;
    expect_true(r->gone);
    if (s->answers_when_left == r)
        answer_text(r, 200, "nobody reads this");
}

static void on_drained(http_request *r)
{
    ((scene *)r->context)->drained++;
}

static void park_it(scene *s, http_request *r)
{
    expect_true(s->parked_count < SCENE_PARKED_MAX);
    r->context = s;
    r->left = on_left;
    s->parked[s->parked_count++] = r;
}

static void answer_big(http_request *r, size_t size)
{
    char *text = malloc(size + 1);
    expect_true(text != NULL);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 26);
    http_answer(r, &(http_reply){.status = 200, .type = "text/plain", .body = {text, size}});
    free(text);
}

/* names: "a,b"; what was said of a is looked at when b has been asked for too. */
static void answer_two_headers(http_request *r, char *names)
{
    char *comma = strchr(names, ','), text[256];
    expect_true(comma != NULL);
    *comma = '\0';
    const char *first = http_header(r, names), *second = http_header(r, comma + 1);
    snprintf(text, sizeof text, "%s|%s", first == NULL ? "" : first, second == NULL ? "" : second);
    answer_text(r, 200, text);
}

static bool http_scene_is(hf_slice path, const char *text)
{
    return hf_slice_equal(path, hf_slice_of(text));
}

static void http_scene_on_request(void *context, http_request *r)
{
    scene *s = context;
    char query[64] = "";
    s->handled++;
    snprintf(query, sizeof query, "%.*s", (int)r->query.size, r->query.size > 0 ? r->query.at : "");
    if (http_scene_is(r->path, "/echo")) {
        echo(r);
    } else if (http_scene_is(r->path, "/park")) {
        park_it(s, r);
    } else if (http_scene_is(r->path, "/stream")) {
        park_it(s, r);
        r->drained = on_drained;
        http_stream_begin(r, &(http_reply){.status = 200, .type = "text/event-stream"});
        expect_true(http_header(r, "host") == NULL && r->path.size == 0);
    } else if (http_scene_is(r->path, "/header")) {
        const char *value = http_header(r, query);
        answer_text(r, value == NULL ? 404 : 200, value == NULL ? "" : value);
    } else if (http_scene_is(r->path, "/two-headers")) {
        answer_two_headers(r, query);
    } else if (http_scene_is(r->path, "/reached")) {
        answer_text(r, http_reached_at(r, hf_slice_of(query)) ? 200 : 404, "");
    } else if (http_scene_is(r->path, "/big")) {
        answer_big(r, strtoul(query, NULL, 10));
    } else if (http_scene_is(r->path, "/status")) {
        answer_text(r, (int)strtol(query, NULL, 10), "four");
    } else if (http_scene_is(r->path, "/close")) {
        http_answer(r, &(http_reply){.status = 200, .close = true});
    } else if (http_scene_is(r->path, "/bad")) {
        http_answer(r, &(http_reply){.status = 200,
                                     .headers = (const http_field[]){
                                         {"X-Name", "a\r\nSet-Cookie: b"}, {NULL, NULL}}});
    } else if (http_scene_is(r->path, "/cached")) {
        http_answer(r, &(http_reply){.status = 200,
                                     .headers = (const http_field[]){
                                         {"Cache-Control", "max-age=60"}, {NULL, NULL}}});
    } else {
        answer_text(r, 404, "no");
    }
}

static const char *http_scene_problem(void *context, int status, const char *sentence,
                                      hf_buffer *body)
{
    (void)context;
    hf_buffer_print(body, "%d: %s", status, sentence);
    return "text/plain";
}

static void on_count(void *context, const char *what)
{
    scene *s = context;
    size_t i = 0;
    while (i < SCENE_COUNTS && s->counts[i].what != NULL && strcmp(s->counts[i].what, what) != 0)
        i++;
    expect_true(i < SCENE_COUNTS);
    s->counts[i].what = what;
    s->counts[i].count++;
}

size_t scene_counted(const scene *s, const char *what)
{
    for (size_t i = 0; i < SCENE_COUNTS && s->counts[i].what != NULL; i++)
        if (strcmp(s->counts[i].what, what) == 0)
            return s->counts[i].count;
    return 0;
}

void scene_init(scene *s)
{
    memset(s, 0, sizeof *s);
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
    s->base = event_base_new_with_config(config);
    event_config_free(config);
    s->settings = (http_settings){
        .base = s->base,
        .limits = &framing_usual,
        .handle = http_scene_on_request,
        .problem = http_scene_problem,
        .count = on_count,
        .context = s,
        .connections_max = 20000,
        .head_timeout_us = 60000000,
        .body_timeout_us = 60000000,
        .idle_timeout_us = 60000000,
        .write_timeout_us = 60000000,
    };
}

int scene_socket(const char *where, char name[ADDRESS_NAME_SIZE])
{
    address a;
    hf_error err;
    int fd = -1;
    expect_true(address_read(where, &a));
    expect(HF_OK, address_listen(&a, 0, &fd, &err), err);
    address_write(&a, name);
    return fd;
}

void scene_listen(scene *s, const char *where, const http_tls *tls)
{
    hf_error err;
    expect(HF_OK, http_listen(s->h, scene_socket(where, s->name), tls, &err), err);
}

void scene_start(scene *s)
{
    hf_error err;
    expect(HF_OK, http_new(&s->settings, &s->h, &err), err);
    scene_listen(s, "127.0.0.1:0", NULL);
}

void scene_end(scene *s)
{
    while (s->parked_count > 0) {
        http_request *r = s->parked[--s->parked_count];
        if (r->drained != NULL) /* a stream */
            http_stream_end(r);
        else
            answer_text(r, 200, "late");
    }
    expect_int(http_requests(s->h), 0);
    http_free(s->h);
    event_base_free(s->base);
}

int scene_begin(void **state)
{
    scene_init(*state);
    scene_start(*state);
    return 0;
}

int scene_finish(void **state)
{
    scene_end(*state);
    return 0;
}

void scene_turn(scene *s)
{
    struct timeval span = {.tv_usec = 2000};
    event_base_loopexit(s->base, &span);
    event_base_loop(s->base, EVLOOP_ONCE);
}

/* ---- clients ---- */

static client client_of(scene *s, int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return (client){.scene = s, .fd = fd};
}

static int dial_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect_int(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static int dial_tcp(const char *name, const char *from)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const char *colon = strrchr(name, ':');
    in_port_t port = htons((in_port_t)strtoul(colon + 1, NULL, 10));
    bool is_v6 = name[0] == '[';
    char host[64];
    snprintf(host, sizeof host, "%.*s", (int)(colon - name - (is_v6 ? 2 : 0)),
             name + (is_v6 ? 1 : 0));
    v4.sin_port = v6.sin6_port = port;
    expect_int(is_v6 ? inet_pton(AF_INET6, host, &v6.sin6_addr)
                     : inet_pton(AF_INET, host, &v4.sin_addr),
               1);
    int yes = 1, fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET};
    if (from != NULL)
        expect_true(inet_pton(AF_INET, from, &own.sin_addr) == 1 &&
                    bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
    expect_int(is_v6 ? connect(fd, (struct sockaddr *)&v6, sizeof v6)
                     : connect(fd, (struct sockaddr *)&v4, sizeof v4),
               0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

client dial_name(scene *s, const char *name)
{
    bool local = strncmp(name, "unix:", 5) == 0;
    return client_of(s, local ? dial_unix(name + 5) : dial_tcp(name, NULL));
}

client dial_from(scene *s, const char *from)
{
    return client_of(s, dial_tcp(s->name, from));
}

client dial(scene *s)
{
    return dial_name(s, s->name);
}

client dial_hello(scene *s, SSL_CTX *context)
{
    return dial_hello_from(s, context, NULL);
}

client dial_hello_from(scene *s, SSL_CTX *context, const char *from)
{
    client c = dial_from(s, from);
    c.tls = SSL_new(context);
    SSL_set_fd(c.tls, c.fd);
    SSL_set_connect_state(c.tls);
    expect_int(SSL_get_error(c.tls, SSL_do_handshake(c.tls)), SSL_ERROR_WANT_READ);
    return c;
}

bool shake_hands(client *c)
{
    for (;;) {
        int result = SSL_do_handshake(c->tls), error = SSL_get_error(c->tls, result);
        if (result == 1)
            return true;
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return false;
        scene_turn(c->scene);
    }
}

bool dial_tls(scene *s, SSL_CTX *context, client *out)
{
    *out = dial_hello(s, context);
    return shake_hands(out);
}

void hang_up(client *c)
{
    SSL_free(c->tls);
    close(c->fd);
    free(c->text);
    *c = (client){.fd = -1};
}

void hang_up_hard(client *c)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    hang_up(c);
}

void stop_sending(client *c)
{
    shutdown(c->fd, SHUT_WR);
}

static ssize_t put_some(client *c, const char *from, size_t size)
{
    if (c->tls == NULL)
        return send(c->fd, from, size, MSG_NOSIGNAL);
    int sent = SSL_write(c->tls, from, (int)size);
    errno = EAGAIN;
    return sent > 0 ? sent : -1;
}

void say_bytes(client *c, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t sent = put_some(c, from, size);
        if (sent < 0 && errno != EAGAIN)
            return; /* the server has closed; the answer says why */
        if (sent < 0)
            scene_turn(c->scene);
        from += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
}

void say(client *c, const char *text)
{
    say_bytes(c, text, strlen(text));
}

static ssize_t get_some(client *c, char *out, size_t room)
{
    if (c->tls == NULL)
        return recv(c->fd, out, room, 0);
    int got = SSL_read(c->tls, out, (int)room);
    if (got > 0)
        return got;
    int error = SSL_get_error(c->tls, got);
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

void listen_to(client *c)
{
    for (;;) {
        if (c->room - c->size < 65536) {
            c->room = c->room * 2 + 131072;
            c->text = realloc(c->text, c->room);
            expect_true(c->text != NULL);
        }
        ssize_t got =
            c->eof || c->reset ? -1 : get_some(c, c->text + c->size, c->room - c->size - 1);
        c->eof |= got == 0;
        c->reset |= got < 0 && errno != EAGAIN;
        c->size += got > 0 ? (size_t)got : 0;
        c->text[c->size] = '\0';
        if (got <= 0)
            return;
    }
}

static void http_scene_take(client *c, size_t size)
{
    memmove(c->text, c->text + size, c->size - size + 1);
    c->size -= size;
}

static bool has_head(client *c)
{
    listen_to(c);
    return strstr(c->text, "\r\n\r\n") != NULL || c->eof || c->reset;
}

static bool has_bytes(client *c, size_t size)
{
    listen_to(c);
    return c->size >= size || c->eof || c->reset;
}

answer hear_head(client *c)
{
    answer a = {0};
    scene_until(c->scene, has_head(c));
    const char *end = strstr(c->text, "\r\n\r\n");
    if (end == NULL)
        check_failed(__FILE__, __LINE__, "no answer came, but: '%s'", c->text);
    size_t size = (size_t)(end + 4 - c->text);
    expect_true(size < sizeof a.head);
    memcpy(a.head, c->text, size);
    expect_int(sscanf(a.head, "HTTP/1.1 %d ", &a.status), 1);
    http_scene_take(c, size);
    return a;
}

answer hear(client *c)
{
    answer a = hear_head(c);
    const char *length = strcasestr(a.head, "\r\nContent-Length: ");
    a.body_size = length == NULL ? 0 : strtoul(length + 18, NULL, 10);
    scene_until(c->scene, has_bytes(c, a.body_size));
    expect_true(c->size >= a.body_size);
    a.body = malloc(a.body_size + 1);
    expect_true(a.body != NULL);
    memcpy(a.body, c->text, a.body_size);
    a.body[a.body_size] = '\0';
    http_scene_take(c, a.body_size);
    return a;
}

void answer_done(answer *a)
{
    free(a->body);
    a->body = NULL;
}

void expect_answer(client *c, int status, const char *body)
{
    answer a = hear(c);
    expect_int(a.status, status);
    if (body != NULL)
        expect_text(a.body, body);
    answer_done(&a);
}

static bool has_closed(client *c)
{
    listen_to(c);
    return c->eof || c->reset;
}

void expect_closed(client *c)
{
    scene_until(c->scene, has_closed(c));
    expect_text(c->text, "");
}

/* ---- certificates ---- */

static void write_pem(const char *folder, const char *name, const char *suffix, X509 *certificate,
                      EVP_PKEY *key)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    FILE *file = fopen(path, "w");
    expect_true(file != NULL);
    if (certificate != NULL)
        expect_int(PEM_write_X509(file, certificate), 1);
    else
        expect_int(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

void make_certificate(const char *folder, const char *name)
{
    make_certificate_of(EVP_EC_gen("P-256"), -3600, 86400, folder, name);
}

void make_certificate_of(EVP_PKEY *key, long from_s, long to_s, const char *folder,
                         const char *name)
{
    X509 *certificate = X509_new();
    expect_true(key != NULL && certificate != NULL);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), (long)scene_now_us());
    X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
    X509_set_pubkey(certificate, key);
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    expect_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    write_pem(folder, name, "crt", certificate, NULL);
    write_pem(folder, name, "key", NULL, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
}
