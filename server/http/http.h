/* SPDX-License-Identifier: MIT */
/* HTTP/1.1 on one libevent loop: connections, requests, replies, streams, TLS. framing.c alone
 * decides where a request begins and ends; what it refuses is answered with its sentence, and the
 * connection is closed. Nothing here knows of locks.
 *
 *   H1  Everything runs on the loop's thread, all callbacks too. `handle`, `left` and `drained` are
 *       called by the loop, never from inside http_answer or http_stream_...: one who answers many
 *       requests in a row is not called in between.
 *   H2  A request belongs to its handler from `handle` until http_answer or http_stream_end; it
 *       outlives its connection. If the client leaves meanwhile, `gone` becomes true; answering is
 *       then harmless and frees the memory.
 *   H3  Requests of one connection are handled one after the other, in order; the next is read when
 *       the last was answered.
 *   H4  Every wait has a timeout: handshake, head, body, idle connection, a client that does not
 *       read.
 *   H5  Nothing of a request (body, headers: they hold secrets) stays in memory after it was
 *       answered: it is wiped.
 *   H6  A client that closes its sending side still gets the answer to its request. A reset, or a
 *       Unix socket closed at the other end, means that the client has left. The client of a stream
 *       has left when it closes either side. */
#ifndef HF_SERVER_HTTP_HTTP_H
#define HF_SERVER_HTTP_HTTP_H

#include "base/arena.h"
#include "base/buffer.h"
#include "server/http/framing.h"

#include <holdfast/status.h>

struct event_base;

typedef struct http http;
typedef struct http_request http_request;

typedef enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER
} http_method;

enum { HTTP_PEER_SIZE = 48 };

struct http_request {
    http_method method;
    /* As it was sent, not decoded; begins with '/'. Of a target such as http://HOST/PATH it is the
     * path, and the host stands in place of the header "host". Other targets were refused with 400.
     */
    hf_slice path;
    hf_slice query; /* after the '?'; may be empty */
    hf_slice body;
    /* The client's address, taken from the headers of trusted proxies if there are any. "unix" for
     * a Unix socket. */
    char peer[HTTP_PEER_SIZE];
    /* The same as limits count it: "10.0.0.5", "2001:db8:0:7::/64", "unix" (proxies.h). */
    char network[HTTP_PEER_SIZE];
    /* It came from loopback or a Unix socket, and not through a proxy that is trusted or has added
     * a proxy's header. (Another proxy can't be told from a local client.) */
    bool local;
    bool secure;      /* by TLS, or a trusted proxy says so */
    bool gone;        /* the client has left; nobody will read the answer */
    int64_t began_us; /* hf_seam.boot_us when its first byte was read */
    hf_arena arena;   /* for its handler; wiped when it is answered */
    void *context;    /* the handler's */
    /* Set by the handler, may be NULL: called once if the client leaves before the answer is
     * complete. The handler must still answer or end the stream, then or later. */
    void (*left)(http_request *request);
    /* Set by the handler of a stream, may be NULL: the socket has taken all; write more. */
    void (*drained)(http_request *request);
};

/* The value of a header, NUL-terminated, valid as long as the request or until http_stream_begin;
 * names in any case: "authorization". NULL: not there. Given more than once, the values are
 * joined by ", " as RFC 9110 says. */
const char *http_header(http_request *request, const char *name);

/* Is that the address (10.0.0.5, fd00::3) of ours that the client, or the proxy before it, has
 * connected to? Not for a Unix socket, nor when the client has left. */
bool http_reached_at(http_request *request, hf_slice address);

typedef struct http_field {
    const char *name, *value;
} http_field;

typedef struct http_reply {
    int status;                /* 200 or more */
    const char *type;          /* content type; NULL: no body */
    hf_slice body;             /* copied */
    const http_field *headers; /* more of them; ends with a name of NULL; NULL: none */
    bool close;                /* close the connection afterwards */
} http_reply;

/* Answers; the request is gone afterwards. A HEAD is answered without the body. Adds Date,
 * Content-Length, Connection where needed, X-Content-Type-Options: nosniff, and Cache-Control:
 * no-store unless `headers` has one. A header that is no header (a control character in its value,
 * a name that is none) never gets out: the answer is 500 instead, and "bad_header" is counted. So
 * it is when head and body come to HF_BUFFER_MAX, or memory is out; then "answer_failed" is
 * counted, and the connection closed. */
void http_answer(http_request *request, const http_reply *reply);

/* A body that can be sent, whatever its head. */
#define HTTP_BODY_MAX (HF_BUFFER_MAX - ((size_t)64 << 10))

enum { HTTP_STREAM_WAITING_MAX = 4 << 20, HTTP_READING_MAX = 256 << 20 };

/* A stream: chunked, or until the connection closes for HTTP/1.0; reply's body is its first piece.
 * Path, query, body and headers of the request are gone with http_stream_begin (a stream lives
 * long, and is to cost little); its arena stays. Writes are copied; http_stream_waiting says how
 * many bytes the client has not taken yet. A client that takes nothing for write_timeout_us, or
 * lets more than HTTP_STREAM_WAITING_MAX wait, is cut off (`left`). */
void http_stream_begin(http_request *request, const http_reply *reply);
void http_stream_write(http_request *request, const char *bytes, size_t size);
size_t http_stream_waiting(const http_request *request);
/* the request is gone afterwards; fine after `left` too */
void http_stream_end(http_request *request);

typedef struct http_settings {
    struct event_base *base; /* of an epoll loop; borrowed, as is all else */
    const framing_limits *limits;
    void (*handle)(void *context, http_request *request);
    /* A sentence of the layer itself (refused framing, timeouts, too many connections), to be
     * written as the application writes errors: fills body and returns its content type, which
     * lives forever. */
    const char *(*problem)(void *context, int status, const char *sentence, hf_buffer *body);
    /* Metrics, may be NULL. what: connections, requests, left, refused_connections,
     * refused_framing, refused_body, refused_memory, gave_way, bad_header, answer_failed,
     * timeout_handshake, timeout_head, timeout_body, timeout_idle, timeout_write, tls_failed,
     * accept_failed. */
    void (*count)(void *context, const char *what);
    void *context;
    /* More are answered 503 and closed; over TLS only closed. But one that has been idle for a
     * while gives way. */
    size_t connections_max;
    /* The same for one address (net_address_network), except for trusted proxies and Unix sockets;
     * 0: no limit. */
    size_t connections_address;
    /* Memory for bodies of all requests together; more are answered 503; 0: HTTP_READING_MAX. One
     * client may have an eighth of it, or one body of the largest size; then 429. A trusted proxy
     * may have all of it. Heads don't count, nor do bodies that are as small. */
    size_t reading_max;
    /* How large the body may be of a request of which only the head is there. More is answered 413.
     * NULL: as `limits` say. */
    size_t (*body_max)(void *context, http_request *request);
    /* from the first byte of a request to the end of its head; of a TLS handshake */
    int64_t head_timeout_us;
    int64_t body_timeout_us;    /* from there to its end */
    int64_t idle_timeout_us;    /* between requests */
    int64_t write_timeout_us;   /* a client that takes nothing */
    const char *const *proxies; /* see proxies.h; ends with NULL; may be NULL */
} http_settings;

/* PEM files; the certificate may have its chain behind it. */
typedef struct http_tls {
    const char *certificate, *key;
} http_tls;

/* Tells what is questionable about such files, though they can be used: a certificate that has
 * expired, or soon will, or is not good yet; a key that everyone may read. A sentence each. When
 * the first of the certificates expires; 0: the file can't be read. */
int64_t http_tls_check(const http_tls *files, void (*tell)(void *context, const char *sentence),
                       void *context);

/* HF_INVALID: a timeout is not positive, a proxy is no address, the loop is not epoll's. */
hf_status http_new(const http_settings *settings, http **out, hf_error *err);

/* Accepts on a stream socket that listens and does not block (address_listen); it belongs to `h`
 * when that went well. tls NULL: in the clear. May be called more than once. HF_INVALID: the
 * certificate or the key is no good. */
hf_status http_listen(http *h, int fd, const http_tls *tls, hf_error *err);

/* Reads the certificates again, for connections to come; on failure the old ones stay, all of them.
 * */
hf_status http_reload(http *h, hf_error *err);

/* Stops listening; connections close after the answer to their request, and idle ones when none has
 * come for a moment. A handshake that is under way has a second; so have the rest of a head and of
 * a body, and then the client is told 503. A client that takes nothing of
 * its answer for five seconds is cut off; one that goes on reading it is not. */
void http_stop(http *h);
size_t http_connections(const http *h);
size_t http_requests(const http *h); /* handed out and not answered yet, streams too */

/* Cuts off whoever is left. Every request must have been answered. Accepts NULL. */
void http_free(http *h);

#endif
