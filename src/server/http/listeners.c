/* SPDX-License-Identifier: MIT */
/* Which sockets they are, who may reach them, whether a URL leads to them, and whose file is
 * removed in the end. address.c binds. */
#include "server/http/listeners.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/routes/inputs.h"
#include "server/systemd.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORTS_TRIED = 100 }; /* with any-port */

/* ---- may we? ---- */

static hf_status check_reach(const settings *s, const address *a, hf_error *err)
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

static void hold_file(const address *a, listener *out)
{
    const char *path = address_path(a);
    if (*path != '\0' && (out->file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)) >= 0)
        snprintf(out->path, sizeof out->path, "%s", path);
}

/* Unless another server has put its own in its place meanwhile. */
static void remove_file(const listener *one)
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
    hf_status status = check_reach(s, &a, err);
    if (status == HF_OK)
        status = address_listen(&a, s->any_port ? PORTS_TRIED : 0, &out->fd, err);
    if (status != HF_OK)
        return status;
    out->moved = port != 0 && address_port(&a) != port;
    hold_file(&a, out);
    listeners_describe(s, &a, out);
    return HF_OK;
}

static hf_status inherit_one(const settings *s, int fd, listener *out, hf_error *err)
{
    address a;
    out->fd = fd;
    if (!address_of_socket(fd, &a))
        return hf_fail(err, HF_INVALID,
                       "File %d, handed over by systemd, is no listening stream socket; see "
                       "ListenStream= in its unit.",
                       fd);
    listeners_describe(s, &a, out);
    return check_reach(s, &a, err);
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
                     ? inherit_one(s, first + (int)out->count, &out->all[out->count], err)
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
        remove_file(&l->all[i]);
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

static bool has_socket(const listeners *l, const char *path)
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
static bool is_of_this_machine(const address *a)
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
static bool leads_to(const struct addrinfo *there, const listener *one)
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
           is_of_this_machine(&to);
}

static bool any_is_at(const listeners *l, const char *host, const char *port)
{
    struct addrinfo *found = NULL,
                    wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    bool ours = false;
    if (getaddrinfo(host, port, &wanted, &found) != 0)
        return false;
    for (const struct addrinfo *there = found; there != NULL; there = there->ai_next)
        for (size_t i = 0; i < l->count; i++)
            ours = ours || leads_to(there, &l->all[i]);
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
    bool ours = path != NULL ? has_socket(l, path) : any_is_at(l, host, port);
    hf_arena_done(&arena);
    return ours;
}
