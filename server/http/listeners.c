/* SPDX-License-Identifier: MIT */
/* Addresses, and the sockets that listen there: binding them, taking them over from systemd, who
 * may reach them, whether a URL leads to them, and removing the files of Unix sockets. */
#include "server/http/listeners.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/routes/inputs.h"
#include "server/systemd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ---- */

/* A port is digits alone; an IPv6 address stands in brackets. */

/* ---- text ---- */

static bool listeners_read_number(const char *text, unsigned max, unsigned *out)
{
    unsigned value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    for (; *text != '\0'; text++)
        value = value * 10 + (unsigned)(*text - '0');
    *out = value;
    return value <= max;
}

static bool listeners_read_unix(const char *path, address *out)
{
    struct sockaddr_un *at = (struct sockaddr_un *)&out->at;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof at->sun_path)
        return false;
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path, path, length + 1);
    out->size = (socklen_t)sizeof *at;
    return true;
}

static bool listeners_read_ip(const char *host, bool six, address *out)
{
    struct sockaddr_in *four_at = (struct sockaddr_in *)&out->at;
    struct sockaddr_in6 *six_at = (struct sockaddr_in6 *)&out->at;
    out->at.ss_family = six ? AF_INET6 : AF_INET;
    out->size = (socklen_t)(six ? sizeof *six_at : sizeof *four_at);
    if (!six && strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    return inet_pton(out->at.ss_family, host,
                     six ? (void *)&six_at->sin6_addr : (void *)&four_at->sin_addr) == 1;
}

static void address_set_port(address *a, unsigned port)
{
    if (a->at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&a->at)->sin6_port = htons((uint16_t)port);
    else if (a->at.ss_family == AF_INET)
        ((struct sockaddr_in *)&a->at)->sin_port = htons((uint16_t)port);
}

bool address_read(const char *text, address *out)
{
    char host[INET6_ADDRSTRLEN + 2];
    unsigned port = 0;
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0)
        return listeners_read_unix(text + 5, out);
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host ||
        !listeners_read_number(colon + 1, UINT16_MAX, &port))
        return false;
    size_t length = (size_t)(colon - text);
    bool six = length > 2 && text[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(six ? length - 2 : length), six ? text + 1 : text);
    if (!listeners_read_ip(host, six, out))
        return false;
    address_set_port(out, port);
    return true;
}

void address_write(const address *a, char out[ADDRESS_NAME_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *four = (const struct sockaddr_in *)&a->at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->at;
    if (address_is_unix(a)) {
        const char *path = address_path(a);
        snprintf(out, ADDRESS_NAME_SIZE, *path == '\0' ? "unix:@%s" : "unix:%s",
                 *path == '\0' ? path + 1 : path);
    } else if (a->at.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(out, ADDRESS_NAME_SIZE, "[%s]:%u", host, address_port(a));
    } else {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(out, ADDRESS_NAME_SIZE, "%s:%u", host, address_port(a));
    }
}

bool address_is_unix(const address *a)
{
    return a->at.ss_family == AF_UNIX;
}

const char *address_path(const address *a)
{
    return address_is_unix(a) ? ((const struct sockaddr_un *)&a->at)->sun_path : "";
}

bool address_is_local(const address *a)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->at;
    if (a->at.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&a->at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (a->at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        return six->sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
    return a->at.ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) : address_is_unix(a);
}

unsigned address_port(const address *a)
{
    if (a->at.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&a->at)->sin6_port);
    return a->at.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&a->at)->sin_port) : 0;
}

bool address_is_network(const char *text)
{
    unsigned char bytes[16];
    char host[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    int family = memchr(text, ':', length) != NULL ? AF_INET6 : AF_INET;
    unsigned size = family == AF_INET6 ? 128 : 32, bits = size;
    if (length >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)length, text);
    if (inet_pton(family, host, bytes) != 1 ||
        (text[length] == '/' && !listeners_read_number(text + length + 1, size, &bits)))
        return false;
    for (unsigned bit = bits; bit < size; bit++)
        if (bytes[bit / 8] & (0x80 >> bit % 8))
            return false;
    return true;
}

/* ---- sockets ---- */

/* Removes the file of a socket that nobody listens on. Anything else stays, and is in the way of
 * bind. */
static bool listeners_remove_stale(const address *a)
{
    struct stat file;
    if (lstat(address_path(a), &file) != 0 || !S_ISSOCK(file.st_mode))
        return true;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool stale =
        connect(fd, (const struct sockaddr *)&a->at, a->size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return !stale || unlink(address_path(a)) == 0 || errno == ENOENT;
}

/* Nobody else slips in between: the mode of the socket and the umask limit what bind makes, and the
 * umask of the process, which is for all its threads, is left alone. What the umask has taken is
 * then given back. */
static bool listeners_listen_unix(int fd, const address *a)
{
    const char *path = address_path(a);
    if (!listeners_remove_stale(a) || fchmod(fd, 0660) != 0 ||
        bind(fd, (const struct sockaddr *)&a->at, a->size) != 0)
        return false;
    if (fchmodat(AT_FDCWD, path, 0660, AT_SYMLINK_NOFOLLOW) == 0 && listen(fd, SOMAXCONN) == 0)
        return true;
    int why = errno;
    unlink(path);
    errno = why;
    return false;
}

static bool listeners_listen_tcp(int fd, const address *a)
{
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->at.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return bind(fd, (const struct sockaddr *)&a->at, a->size) == 0 && listen(fd, SOMAXCONN) == 0;
}

/* -1 and errno when it can't be. */
static int address_open_socket(const address *a)
{
    int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (address_is_unix(a) ? listeners_listen_unix(fd, a) : listeners_listen_tcp(fd, a)))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static hf_status listeners_tell_why(const address *a, int why, hf_error *err)
{
    char name[ADDRESS_NAME_SIZE];
    struct stat file;
    address_write(a, name);
    if (why == EADDRINUSE && address_is_unix(a) && lstat(address_path(a), &file) == 0 &&
        !S_ISSOCK(file.st_mode))
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is in the way: it is no socket. Choose another path with --listen.",
                       address_path(a));
    if (why == EADDRINUSE)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "%s is taken: another program listens there. Stop that one, or choose another address "
            "with --listen "
            "(port 0 is any free one).",
            name);
    if (why == EADDRNOTAVAIL)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is not an address of this machine; choose one with --listen.", name);
    if (why == EACCES || why == EPERM)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s may not be used by this user; choose another address with --listen.",
                       name);
    return hf_fail(err, HF_UNAVAILABLE, "Listening on %s failed: %s.", name, strerror(why));
}

hf_status address_listen(address *a, unsigned ports, int *out_fd, hf_error *err)
{
    address near = *a;
    unsigned port = address_port(a);
    int fd = address_open_socket(a);
    for (unsigned i = 1;
         fd < 0 && errno == EADDRINUSE && port != 0 && i <= ports && port + i <= UINT16_MAX; i++) {
        address_set_port(&near, port + i);
        fd = address_open_socket(&near);
    }
    if (fd < 0)
        return listeners_tell_why(a, errno, err);
    near.size = sizeof near.at;
    if (getsockname(fd, (struct sockaddr *)&near.at, &near.size) == 0)
        *a = near;
    *out_fd = fd;
    return HF_OK;
}

bool address_of_socket(int fd, address *out)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    *out = (address){.size = sizeof out->at};
    if (getsockname(fd, (struct sockaddr *)&out->at, &out->size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
        return false;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

/* ---- listeners ---- */

enum { PORTS_TRIED = 100 }; /* with any-port */

/* ---- may we? ---- */

static hf_status listeners_check_reach(const settings *s, const address *a, hf_error *err)
{
    char name[ADDRESS_NAME_SIZE];
    address_write(a, name);
    if (address_is_local(a) || s->tls_certificate != NULL || s->allow_plain)
        return HF_OK;
    return hf_fail(
        err, HF_INVALID,
        "%s can be reached from other machines, and without TLS tokens and keys could be read on "
        "the way; set "
        "tls-certificate and tls-key, or --allow-plain if something else protects it.",
        name);
}

/* ---- one of them ---- */

static void listeners_hold_file(const address *a, listener *out)
{
    const char *path = address_path(a);
    if (*path != '\0' && (out->file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        snprintf(out->path, sizeof out->path, "%s", path);
}

/* Unless another server has put its own in its place meanwhile. */
static void listeners_remove_file(const listener *one)
{
    struct stat ours, there;
    if (one->path[0] == '\0')
        return;
    if (fstat(one->file, &ours) == 0 && lstat(one->path, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        unlink(one->path);
    close(one->file);
}

static void listeners_describe(const settings *s, const address *a, listener *out)
{
    address_write(a, out->name);
    out->local = address_is_local(a);
    out->tls = s->tls_certificate != NULL && !address_is_unix(a);
}

static hf_status listeners_open_one(const settings *s, const char *text, listener *out,
                                    hf_error *err)
{
    address a;
    out->fd = -1;
    if (!address_read(text, &a))
        return hf_fail(err, HF_INVALID, "'%s' is no address to listen on.", text);
    unsigned port = address_port(&a);
    hf_status status = listeners_check_reach(s, &a, err);
    if (status == HF_OK)
        status = address_listen(&a, s->any_port ? PORTS_TRIED : 0, &out->fd, err);
    if (status != HF_OK)
        return status;
    out->moved = port != 0 && address_port(&a) != port;
    listeners_hold_file(&a, out);
    listeners_describe(s, &a, out);
    return HF_OK;
}

static hf_status listeners_inherit_one(const settings *s, int fd, listener *out, hf_error *err)
{
    address a;
    out->fd = fd;
    if (!address_of_socket(fd, &a))
        return hf_fail(err, HF_INVALID,
                       "File %d, handed over by systemd, is no listening stream socket; see "
                       "ListenStream= in its unit.",
                       fd);
    listeners_describe(s, &a, out);
    return listeners_check_reach(s, &a, err);
}

/* ---- all of them ---- */

hf_status listeners_open(const settings *s, listeners *out, hf_error *err)
{
    int first = 0;
    size_t given = systemd_sockets(&first), count = given;
    hf_status status = HF_OK;
    *out = (listeners){.inherited = given > 0};
    for (size_t i = 0; given == 0 && s->listen[i] != NULL; i++)
        count++;
    out->all = hf_alloc(count * sizeof *out->all);
    if (out->all == NULL)
        return hf_fail_memory(err);
    for (; out->count < count && status == HF_OK; out->count++)
        status = given > 0
                     ? listeners_inherit_one(s, first + (int)out->count, &out->all[out->count], err)
                     : listeners_open_one(s, s->listen[out->count], &out->all[out->count], err);
    if (status != HF_OK)
        listeners_close(out);
    return status;
}

void listeners_close(listeners *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->all[i].fd >= 0)
            close(l->all[i].fd);
        listeners_remove_file(&l->all[i]);
    }
    hf_free(l->all);
    *l = (listeners){0};
}

/* ---- is it us? ---- */

/* What follows "socket=" in the URL of a server; NULL: it is none, or has none. */
static char *listeners_socket_of(const char *url, hf_arena *arena)
{
    for (const char *at = strchr(url, '?'); at != NULL; at = strchr(at, '&')) {
        size_t size = strcspn(++at, "&");
        if (size > 7 && strncmp(at, "socket=", 7) == 0)
            return url_decode((hf_slice){at + 7, size - 7}, false, arena);
    }
    return NULL;
}

static bool listeners_has_socket(const listeners *l, const char *path)
{
    struct stat named, own;
    if (stat(path, &named) != 0)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const char *name = l->all[i].name;
        if (strncmp(name, "unix:", 5) == 0 && stat(name + 5, &own) == 0 &&
            own.st_dev == named.st_dev && own.st_ino == named.st_ino)
            return true;
    }
    return false;
}

/* "http://HOST:PORT..." in its parts. */
static bool listeners_split(const char *url, char host[HF_URL_MAX], char port[16])
{
    bool tls = strncmp(url, "https://", 8) == 0;
    if (!tls && strncmp(url, "http://", 7) != 0)
        return false;
    const char *at = url + (tls ? 8 : 7);
    size_t size = strcspn(at, "/?#"), name = size;
    while (name > 0 && at[name] != ':' && at[name - 1] != ']')
        name--;
    if (name == 0 || at[name] != ':')
        name = size;
    snprintf(port, 16, "%.*s", name < size ? (int)(size - name - 1) : 3,
             name < size ? at + name + 1
             : tls       ? "443"
                         : "80");
    bool brackets = name > 2 && at[0] == '[' && at[name - 1] == ']';
    snprintf(host, HF_URL_MAX, "%.*s", (int)(brackets ? name - 2 : name), brackets ? at + 1 : at);
    return true;
}

/* Is it an address of this machine's? Then who connects there comes from the same one. */
static bool listeners_is_of_this_machine(const address *a)
{
    address from = {.size = sizeof from.at};
    char there[ADDRESS_NAME_SIZE], here[ADDRESS_NAME_SIZE];
    int fd = socket(a->at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && connect(fd, (const struct sockaddr *)&a->at, a->size) == 0 &&
                 getsockname(fd, (struct sockaddr *)&from.at, &from.size) == 0;
    if (fd >= 0)
        close(fd);
    if (!known)
        return false;
    address to = *a;
    address_set_port(&to, 0);
    address_set_port(&from, 0);
    address_write(&to, there);
    address_write(&from, here);
    return strcmp(there, here) == 0;
}

/* Does who connects there come to this listener? */
static bool listeners_leads_to(const struct addrinfo *there, const listener *one)
{
    address to = {.size = there->ai_addrlen};
    char name[ADDRESS_NAME_SIZE];
    memcpy(&to.at, there->ai_addr, there->ai_addrlen);
    address_write(&to, name);
    if (strcmp(name, one->name) == 0)
        return true;
    bool everywhere = there->ai_family == AF_INET6 ? strncmp(one->name, "[::]:", 5) == 0
                                                   : strncmp(one->name, "0.0.0.0:", 8) == 0;
    return everywhere && strcmp(strrchr(name, ':'), strrchr(one->name, ':')) == 0 &&
           listeners_is_of_this_machine(&to);
}

static bool listeners_any_is_at(const listeners *l, const char *host, const char *port)
{
    struct addrinfo *found = NULL,
                    wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    bool ours = false;
    if (getaddrinfo(host, port, &wanted, &found) != 0)
        return false;
    for (const struct addrinfo *there = found; there != NULL; there = there->ai_next)
        for (size_t i = 0; i < l->count; i++)
            ours = ours || listeners_leads_to(there, &l->all[i]);
    freeaddrinfo(found);
    return ours;
}

bool listeners_are_at(const listeners *l, const char *url)
{
    hf_arena arena = {0};
    char host[HF_URL_MAX], port[16];
    if (!listeners_split(url, host, port))
        return false;
    const char *path = listeners_socket_of(url, &arena);
    bool ours = path != NULL ? listeners_has_socket(l, path) : listeners_any_is_at(l, host, port);
    hf_arena_done(&arena);
    return ours;
}
