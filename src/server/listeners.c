/* SPDX-License-Identifier: MIT */
/* Binding. A file of a Unix socket that nobody listens on any more is replaced; one that somebody does is a taken port. */
#include "server/listeners.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORTS_TRIED = 100 }; /* with any-port */

/* ---- may we? ---- */

static hf_status check_reach(const settings *s, const address *a, hf_error *err)
{
    char name[ADDRESS_NAME_SIZE];
    address_write(a, name);
    if (address_is_local(a) || s->tls_certificate != NULL || s->allow_plain)
        return HF_OK;
    return hf_fail(err, HF_INVALID,
                   "%s can be reached from other machines, and without TLS tokens and keys could be read on "
                   "the way; set "
                   "tls-certificate and tls-key, or --allow-plain if something else protects it.",
                   name);
}

/* ---- Unix sockets ---- */

static const char *path_of(const address *a)
{
    return ((const struct sockaddr_un *)&a->at)->sun_path;
}

/* Removes the file of a socket that nobody listens on. */
static void remove_stale(const address *a)
{
    struct stat file;
    if (lstat(path_of(a), &file) != 0 || !S_ISSOCK(file.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&a->at, a->size) != 0 && errno == ECONNREFUSED)
        unlink(path_of(a));
    close(fd);
}

/* The file is made with mode 0660, so that nobody else slips in between. */
static int bind_unix(int fd, const address *a)
{
    remove_stale(a);
    mode_t old = umask(0117);
    int result = bind(fd, (const struct sockaddr *)&a->at, a->size);
    int why = errno;
    umask(old);
    errno = why;
    return result;
}

static void remember_file(const address *a, listener *out)
{
    struct stat file;
    if (!address_is_unix(a) || stat(path_of(a), &file) != 0)
        return;
    snprintf(out->path, sizeof out->path, "%s", path_of(a));
    out->device = file.st_dev;
    out->inode = file.st_ino;
}

/* ---- one of them ---- */

static int open_socket(const address *a)
{
    int on = 1;
    int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (!address_is_unix(a))
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->at.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    int bound = address_is_unix(a) ? bind_unix(fd, a) : bind(fd, (const struct sockaddr *)&a->at, a->size);
    if (bound == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* The same, or with any-port on one of the ports behind it. */
static int open_near(const settings *s, address *a)
{
    unsigned port = address_port(a);
    int fd = open_socket(a);
    for (unsigned i = 1; fd < 0 && errno == EADDRINUSE && s->any_port && port != 0 && i <= PORTS_TRIED; i++) {
        if (port + i > UINT16_MAX)
            break;
        address_set_port(a, port + i);
        fd = open_socket(a);
    }
    return fd;
}

static hf_status tell_why(const char *text, const address *a, hf_error *err)
{
    int why = errno;
    struct stat file;
    if (why == EADDRINUSE && address_is_unix(a) && lstat(path_of(a), &file) == 0 && !S_ISSOCK(file.st_mode))
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is in the way: it is no socket. Choose another path with --listen.", path_of(a));
    if (why == EADDRINUSE)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is taken: another program listens there. Stop that one, or choose another address "
                       "with --listen "
                       "(port 0 is any free one).",
                       text);
    if (why == EADDRNOTAVAIL)
        return hf_fail(err, HF_UNAVAILABLE, "%s is not an address of this machine; choose one with --listen.",
                       text);
    if (why == EACCES)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s may not be used by this user; choose another address with --listen.", text);
    return hf_fail(err, HF_UNAVAILABLE, "Listening on %s failed: %s.", text, strerror(why));
}

/* What came of it: the address, with the port that the system has chosen. */
static void describe(const settings *s, listener *out)
{
    address a = {.size = sizeof a.at};
    if (getsockname(out->fd, (struct sockaddr *)&a.at, &a.size) != 0)
        return;
    address_write(&a, out->name);
    out->local = address_is_local(&a);
    out->tls = s->tls_certificate != NULL && !address_is_unix(&a);
}

static hf_status open_one(const settings *s, const char *text, listener *out, hf_error *err)
{
    address a;
    out->fd = -1;
    if (!address_read(text, &a))
        return hf_fail(err, HF_INVALID, "'%s' is no address to listen on.", text);
    unsigned port = address_port(&a);
    hf_status status = check_reach(s, &a, err);
    if (status != HF_OK)
        return status;
    out->fd = open_near(s, &a);
    if (out->fd < 0)
        return tell_why(text, &a, err);
    out->moved = address_port(&a) != port;
    remember_file(&a, out);
    describe(s, out);
    return HF_OK;
}

static hf_status inherit_one(const settings *s, int fd, listener *out, hf_error *err)
{
    address a = {.size = sizeof a.at};
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    out->fd = fd;
    if (getsockname(fd, (struct sockaddr *)&a.at, &a.size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
        return hf_fail(
            err, HF_INVALID,
            "File %d, handed over by systemd, is no listening stream socket; see ListenStream= in its unit.",
            fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    describe(s, out);
    return check_reach(s, &a, err);
}

/* ---- all of them ---- */

hf_status listeners_open(const settings *s, listeners *out, hf_error *err)
{
    int first = 0;
    size_t given = notify_sockets(&first), count = given;
    hf_status status = HF_OK;
    *out = (listeners){.inherited = given > 0};
    for (size_t i = 0; given == 0 && s->listen[i] != NULL; i++)
        count++;
    out->all = hf_alloc(count * sizeof *out->all);
    if (out->all == NULL)
        return hf_fail_memory(err);
    for (; out->count < count && status == HF_OK; out->count++)
        status = given > 0 ? inherit_one(s, first + (int)out->count, &out->all[out->count], err)
                           : open_one(s, s->listen[out->count], &out->all[out->count], err);
    if (status != HF_OK)
        listeners_close(out);
    return status;
}

void listeners_close(listeners *l)
{
    struct stat file;
    for (size_t i = 0; i < l->count; i++) {
        const listener *one = &l->all[i];
        if (one->fd >= 0)
            close(one->fd);
        if (one->path[0] != '\0' && lstat(one->path, &file) == 0 && file.st_dev == one->device &&
            file.st_ino == one->inode)
            unlink(one->path);
    }
    hf_free(l->all);
    *l = (listeners){0};
}
