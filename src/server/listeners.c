/* SPDX-License-Identifier: MIT */
/* Which sockets they are, who may reach them, and whose file is removed in the end. address.c binds. */
#include "server/listeners.h"

#include "base/error.h"
#include "base/seams.h"
#include "server/notify.h"

#include <fcntl.h>
#include <stdio.h>
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
    return hf_fail(err, HF_INVALID,
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
    if (fstat(one->file, &ours) == 0 && lstat(one->path, &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        unlink(one->path);
    close(one->file);
}

static void describe(const settings *s, const address *a, listener *out)
{
    address_write(a, out->name);
    out->local = address_is_local(a);
    out->tls = s->tls_certificate != NULL && !address_is_unix(a);
}

static hf_status open_one(const settings *s, const char *text, listener *out, hf_error *err)
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
    describe(s, &a, out);
    return HF_OK;
}

static hf_status inherit_one(const settings *s, int fd, listener *out, hf_error *err)
{
    address a;
    out->fd = fd;
    if (!address_of_socket(fd, &a))
        return hf_fail(
            err, HF_INVALID,
            "File %d, handed over by systemd, is no listening stream socket; see ListenStream= in its unit.",
            fd);
    describe(s, &a, out);
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
    for (size_t i = 0; i < l->count; i++) {
        if (l->all[i].fd >= 0)
            close(l->all[i].fd);
        remove_file(&l->all[i]);
    }
    hf_free(l->all);
    *l = (listeners){0};
}
