/* SPDX-License-Identifier: MIT */
/* TLS of a connection by OpenSSL, for http_io.c alone. */
#ifndef HF_SERVER_HTTP_TLS_H
#define HF_SERVER_HTTP_TLS_H

#include "server/http/http_socket.h"

bool tls_open(http_io *io, struct ssl_ctx_st *context); /* false: memory is out */
void tls_close(http_io *io);
io_end tls_handshake(http_io *io);
io_end tls_read(http_io *io, void *out, size_t room, size_t *got);
io_end tls_write(http_io *io, const void *from, size_t size, size_t *taken);
void tls_finish(http_io *io);

#endif
