/* SPDX-License-Identifier: MIT */
/* What the files of the HTTP layer share; private to them.
 *
 * The phases of a connection:
 *
 *   HANDSHAKE -> IDLE -> READING -> HANDLING -> WRITING -> IDLE ...
 *                           |           `-> STREAMING -^ `-> LINGERING -> closed
 *                           `-- refused ---------------^
 *
 * IDLE: nothing of a request has arrived. READING: its bytes arrive. HANDLING, STREAMING: it
 * belongs to its handler. WRITING: answered, but the socket has not taken all. LINGERING: we have
 * shut down our side and discard what the client still sends, so that it can read our last reply
 * before a reset destroys it. */
#ifndef HF_SERVER_HTTP_HTTP_INSIDE_H
#define HF_SERVER_HTTP_HTTP_INSIDE_H

#include "base/hash.h"
#include "base/text.h"
#include "server/http/http.h"
#include "server/http/http_socket.h"
#include "server/http/proxies.h"

#include <event2/event.h>
#include <event2/event_struct.h>

/* A queue of bytes: what was read of a request, what a socket has not taken yet. They may hold
 * secrets, so they are wiped before memory is freed. All zero is empty; the bytes from `from` to
 * `size` are there. */
typedef struct bytes {
    char *at;
    size_t from, size, room;
} bytes;

static inline size_t bytes_left(const bytes *b)
{
    return b->size - b->from;
}

/* The room that it has with so many more bytes. */
size_t bytes_room(const bytes *b, size_t more);

/* Adds bytes at the end, with an uncounted NUL behind. False: out of memory, nothing was added. */
bool bytes_add(bytes *b, const void *more, size_t size);

/* The first `count` have been used. The memory is kept. */
void bytes_drop(bytes *b, size_t count);

/* Wipes all; keeps the memory if it is at most `most` bytes. */
void bytes_clear(bytes *b, size_t most);

/* A head that framing.c has accepted, split in place: offsets in its text, which may move. */
typedef struct http_head {
    http_method method;
    bool http_1_0;
    bool keep_alive; /* the client would like to go on afterwards */
    bool expects;    /* Expect: 100-continue */
    bool demands;    /* Expect: something else */
    bool forwarded;  /* someone says that they passed it on */
    bool has_host;   /* the target has, NUL-terminated: that counts instead of the header */
    size_t target, path, path_size;
    size_t query, query_size;
    size_t fields, fields_end; /* name, NUL, value, NUL ...; names in lower case */
    uint64_t names;            /* http_head_bit of each */
} http_head;

typedef struct http_conn http_conn;
typedef struct http_held http_held;
typedef struct http_listener http_listener;

/* What comes from one address, by net_address_network; see http_sources.c. */
typedef struct http_source {
    hf_hash_entry entry; /* first */
    net_address network;
    size_t users;            /* what refers to it */
    size_t connections;
    size_t handshakes;       /* that have begun */
    size_t reading;          /* memory for bodies */
    http_conn *first, *last; /* that wait for their turn */
    struct http_source *next;
    bool in_ring; /* of those that have such */
} http_source;

typedef enum http_phase {
    HANDSHAKE,
    IDLE,
    READING,
    HANDLING,
    STREAMING,
    WRITING,
    LINGERING
} http_phase;

/* What a connection waits for, at most so long. */
typedef enum http_wait {
    WAIT_NOTHING,
    WAIT_HELLO,
    WAIT_HANDSHAKE,
    WAIT_IDLE,
    WAIT_HEAD,
    WAIT_BODY,
    WAIT_WRITE,
    WAIT_LINGER,
    WAITS
} http_wait;

/* A request with what is ours. */
struct http_held {
    http_request request; /* first */
    http *http;
    http_conn *conn; /* NULL: the client has left */
    http_held *next; /* among the spare ones */
    bytes text;      /* the head, then the body */
    http_head head;
    size_t head_size;
    http_source *source; /* that its body counts for; NULL: none */
    size_t charged;      /* memory that counts for it */
    size_t body_max;
    bool chunked;  /* a stream in chunks */
    bool bodiless; /* HEAD: what is written goes nowhere */
};

static inline http_held *held_of(http_request *request)
{
    return (http_held *)(void *)request;
}

struct http_conn {
    http *http;
    http_conn *next, *before; /* among all */
    http_io io;
    struct event reading; /* edge-triggered, for as long as the connection lives */
    struct event writing; /* only while something waits to be written */
    framing framing;
    http_held *held; /* what is being read, handled or streamed */
    bytes in;        /* what was read beyond the end of a request */
    bytes out;       /* what the socket has not taken yet */
    size_t drained;  /* bytes thrown away while lingering */
    http_phase phase;
    bool running; /* the loop is at work on it: others leave the rest to the loop */
    bool broken;  /* to be closed, by the loop */
    bool closing; /* after what is being written */
    bool trusted; /* the peer is a proxy whose word counts */
    bool shaking;    /* its handshake has begun */
    bool waits_turn; /* ... or goes on when it is its turn */
    http_conn *turn_next, *turn_before; /* of the same source */
    http_source *source;
    net_address address;
    char peer[NET_ADDRESS_TEXT], network[NET_ADDRESS_TEXT];
    http_wait wait;
    int64_t wait_until_us;
    http_conn *wait_next, *wait_before;  /* among those that wait for the same */
    http_conn *later_next, **later_link; /* among those that are scheduled; NULL: it is not */
};

struct http_listener {
    http *http;
    http_listener *next;
    int fd;
    struct event accepting;
    struct event resuming;      /* after accept has failed */
    struct ssl_ctx_st *context; /* NULL: in the clear */
    struct ssl_ctx_st *fresh;   /* while certificates are read again */
    char *certificate, *key;
};

/* Connections that wait for the same thing wait for the same time: the first of a list is the first
 * to be due. */
typedef struct http_waits {
    http_conn *first[WAITS], *last[WAITS];
    int64_t spans_us[WAITS];
    struct event timer;
    int64_t armed_us; /* when it will ring; INT64_MAX: not */
} http_waits;

enum { HTTP_INPUT_SIZE = 64 * 1024, HTTP_DATE_SIZE = 32 };

struct http {
    http_settings settings;
    proxies *proxies;
    http_listener *listeners;
    http_conn *connections;
    size_t connections_count, requests_count;
    http_held *spare;
    size_t spare_count;
    size_t reading; /* memory for bodies */
    size_t small;   /* the room for a head: with so much, a body does not count */
    size_t share;   /* how much of `reading` one client may have */
    hf_hash sources;
    uint64_t seed;
    http_source *turns, *turns_last; /* those whose connections wait for their turn */
    struct event turns_timer;
    size_t handshakes; /* that have begun */
    http_waits waits;
    http_conn *later; /* to be run in the loop's next turn */
    struct event later_timer;
    hf_buffer output; /* where answers are put together */
    bool stopping;
    int64_t date_second;
    char date[HTTP_DATE_SIZE];
    char input[HTTP_INPUT_SIZE]; /* what has just been read */
};

static inline void http_count(const http *h, const char *what)
{
    if (h->settings.count != NULL)
        h->settings.count(h->settings.context, what);
}

/* ---- http.c ---- */

/* Starts a timeout, in place of the one before; WAIT_NOTHING: none. */
void wait_for(http_conn *c, http_wait what);

/* ---- http_connection.c ---- */

void conns_init(http *h);
void conns_done(http *h);
void conn_open(http *h, http_listener *from, int fd, const struct sockaddr *peer);
void conn_free(http_conn *c);
/* The time for what it waited for is over. */
void conn_overdue(http_conn *c);
/* It is its turn: the next step of its handshake. */
void conn_shake_hands(http_conn *c);
/* Writes at once what the socket takes, keeps the rest. */
void conn_send(http_conn *c, const char *from, size_t size);
/* Its request has been answered in full. */
void conn_answered(http_conn *c);
/* Its request has become a stream. */
void conn_streams(http_conn *c);
/* It can't go on: the loop will tell whoever has its request, and close it. */
void conn_break(http_conn *c);

/* ---- http_sources.c ---- */

bool sources_init(http *h); /* false: no random bytes */
void sources_done(http *h);
/* The source of that address, to be given back by source_leave. NULL: out of memory. */
http_source *source_enter(http *h, const net_address *address);
void source_leave(http *h, http_source *s); /* accepts NULL */

/* The connection's handshake can go on: conn_shake_hands is called when it is its turn. */
void turn_wait(http_conn *c);
void turn_leave(http_conn *c);
/* False: out of memory. */
bool handshake_begin(http_conn *c);
void handshake_end(http_conn *c);

/* ---- http_request.c ---- */

/* Feeds bytes until they are used up or a request is with its handler; how many were used. */
size_t conn_feed(http_conn *c, const char *from, size_t size);
void conn_refuse(http_conn *c, int status, const char *sentence);

void held_give_back(http_held *r);
/* Forgets what was read; keeps the memory if it is at most `most` bytes. */
void held_forget(http_held *r, size_t most);
void held_free_spare(http *h);

/* ---- http_reply.c ---- */

/* Builds a reply in h->output. held NULL: to what was refused before it was a request. */
void answer_compose(http *h, const http_held *r, const http_reply *reply, bool stream, bool close);
void answer_wipe(http *h);

#endif
