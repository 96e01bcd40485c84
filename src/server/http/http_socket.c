/* SPDX-License-Identifier: MIT */
/* Reading and writing of a socket that is edge-triggered: `more` remembers what the loop said once.
 * A short read means that all was read; whatever comes later makes the loop speak again. */
#include "server/http/http_socket.h"

#include "server/http/http_tls.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

bool io_open(http_io *io, int fd, struct ssl_ctx_st *context)
{
    *io = (http_io){.fd = fd};
    return context == NULL || tls_open(io, context);
}

void io_close(http_io *io)
{
    if (io->tls != NULL)
        tls_close(io);
    close(io->fd);
    io->fd = -1;
}

io_end io_handshake(http_io *io)
{
    return tls_handshake(io);
}

static io_end http_io_received(http_io *io, ssize_t got, size_t room, size_t *out)
{
    if (got < 0 && errno == EINTR)
        return IO_LATER;
    io->more = got > 0 && ((size_t)got == room || io->closed);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? IO_LATER : IO_BROKEN;
    *out = (size_t)got;
    return got == 0 ? IO_EOF : IO_OK;
}

io_end io_read(http_io *io, void *out, size_t room, size_t *got)
{
    io->waits_for_write = false;
    if (io->tls != NULL)
        return tls_read(io, out, room, got);
    return http_io_received(io, recv(io->fd, out, room, 0), room, got);
}

io_end io_write(http_io *io, const void *from, size_t size, size_t *taken)
{
    *taken = 0;
    if (io->tls != NULL)
        return tls_write(io, from, size, taken);
    ssize_t sent = send(io->fd, from, size, MSG_NOSIGNAL);
    if (sent >= 0) {
        *taken = (size_t)sent;
        return IO_OK;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_LATER : IO_BROKEN;
}

void io_finish(http_io *io)
{
    if (io->tls != NULL)
        tls_finish(io);
    shutdown(io->fd, SHUT_WR);
}

io_end io_drain(http_io *io, void *scratch, size_t room, size_t *got)
{
    return http_io_received(io, recv(io->fd, scratch, room, 0), room, got);
}

bool io_left(const http_io *io, bool half)
{
    struct pollfd it = {.fd = io->fd, .events = half ? POLLRDHUP : 0};
    return poll(&it, 1, 0) == 1 && (it.revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP)) != 0;
}
