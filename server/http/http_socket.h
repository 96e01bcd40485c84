/* SPDX-License-Identifier: MIT */
/* One connection's socket, in the clear or by TLS, behind one face. Never blocks. Sockets are read
 * and written directly, without libevent's bufferevents: in the clear a request costs one recv and
 * one send, and an idle connection has no buffers. */
#ifndef HF_SERVER_HTTP_HTTP_SOCKET_H
#define HF_SERVER_HTTP_HTTP_SOCKET_H

#include "server/http/http.h"

struct ssl_st;
struct ssl_ctx_st;

typedef struct http_io {
    int fd;
    struct ssl_st *tls;          /* NULL: in the clear, or not begun */
    struct ssl_ctx_st *context;  /* not begun: what it begins with */
    /* there may be something to read: to be set when the loop says so, cleared when all was read */
    bool more;
    /* the other side sends no more, says the loop; the end is still to be read */
    bool closed;
    bool established; /* the handshake is over */
    unsigned extras;  /* of TLS, besides what is said: new keys, alerts */
    bool waits_for_write; /* what came to IO_LATER goes on when the socket can be written to */
} http_io;

typedef enum io_end {
    IO_OK,
    IO_LATER,
    IO_EOF, /* the other side sends no more */
    IO_BROKEN
} io_end;

/* A context for the files; HF_INVALID: what is wrong with them. */
hf_status tls_context_new(const http_tls *files, struct ssl_ctx_st **out, hf_error *err);
void tls_context_free(struct ssl_ctx_st *context); /* accepts NULL */

/* Owns the socket. context NULL: in the clear. */
void io_open(http_io *io, int fd, struct ssl_ctx_st *context);
/* Before the first io_handshake: takes the memory for TLS. False: out of memory. `io` must not move
 * from now on. */
bool io_begin(http_io *io);
void io_close(http_io *io);

io_end io_handshake(http_io *io);
io_end io_read(http_io *io, void *out, size_t room, size_t *got);
io_end io_write(http_io *io, const void *from, size_t size, size_t *taken);

/* Says that no more will be written. What still comes is then read by io_drain, which throws it
 * away. */
void io_finish(http_io *io);
io_end io_drain(http_io *io, void *scratch, size_t room, size_t *got);

/* Without reading: has the other side gone away altogether (or, with `half`, closed its sending
 * side)? */
bool io_left(const http_io *io, bool half);

#endif
