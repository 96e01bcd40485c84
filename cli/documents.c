/* SPDX-License-Identifier: MIT */
/* Documents in files. A path that someone names to be written may be anything, and stays what it
 * is:
 *
 * - A regular file is replaced whole: a new one is written beside it and renamed over it, so that a
 *   reader sees the old one or the new one. Owner and permissions stay. Where that can't be done
 *   (the folder can't be written to, the file has other names or another owner, or is a mount of
 *   its own) it is written in place.
 * - A symbolic link is kept: the file that it names is replaced, or created.
 * - A device, a pipe or a socket is opened and written to. So is what lies in /proc, for that is
 *   where /dev/stdout and the shell's >(COMMAND) lead, and what they name may be a file to which
 *   others are appending: a descriptor of our own is used as it is. */
#include "cli/documents.h"

#include "base/error.h"
#include "base/seams.h"
#include "cli/call.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static hf_status document_fill(int fd, const char *path, hf_buffer *out, hf_error *err)
{
    char piece[16384];
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hf_fail(err, HF_UNAVAILABLE, "%s can't be read: %s.", path, strerror(errno));
        if (out->size + (size_t)got > CLI_DOCUMENT_MAX)
            return hf_fail(err, HF_TOO_LARGE,
                           "%s is larger than %zu bytes; it is not such a document.", path,
                           CLI_DOCUMENT_MAX);
        hf_buffer_add(out, piece, (size_t)got);
    }
    return out->failed ? hf_fail_memory(err) : HF_OK;
}

hf_status cli_document_read(const char *path, char **out, size_t *size, hf_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    hf_buffer text = {0};
    if (fd < 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be read: %s.", path, strerror(errno));
    hf_buffer_add(&text, "", 0);
    hf_status status = document_fill(fd, standard ? "Standard input" : path, &text, err);
    if (!standard)
        close(fd);
    *size = text.size;
    if (status == HF_OK && (*out = hf_buffer_take(&text)) == NULL)
        status = hf_fail_memory(err);
    hf_buffer_done(&text);
    return status;
}

hf_status cli_document_format(const cli_call *call, bool *json, hf_error *err)
{
    const char *format = cli_value(&call->arguments, "format");
    *json = call->json || (format != NULL && strcmp(format, "json") == 0);
    if (format != NULL && strcmp(format, "json") != 0 && strcmp(format, "markdown") != 0)
        return hf_fail(err, HF_INVALID, "--format is markdown or json.");
    if (format != NULL && call->json && strcmp(format, "json") != 0)
        return hf_fail(err, HF_INVALID,
                       "--json and --format markdown contradict each other; leave one out.");
    return HF_OK;
}

static bool document_put(int fd, const hf_buffer *text)
{
    size_t done = 0;
    while (done < text->size) {
        ssize_t put = write(fd, text->text + done, text->size - done);
        if (put < 0 && errno != EINTR)
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
}

/* Writes into what is there already. */
static int document_write_through(int fd, const hf_buffer *text)
{
    int why = fd >= 0 && document_put(fd, text) ? 0 : errno;
    if (fd >= 0 && close(fd) != 0 && why == 0)
        why = errno;
    return why;
}

/* Puts a new file in the place of `path`; `old` is what is there, or NULL. 0, or why not. */
static int document_replace(const char *path, const struct stat *old, const hf_buffer *text)
{
    char beside[PATH_MAX];
    if (snprintf(beside, sizeof beside, "%s.%ld~", path, (long)getpid()) >= (int)sizeof beside)
        return ENAMETOOLONG;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old == NULL ? 0666 : 0600);
    if (fd < 0)
        return errno;
    bool alike = old == NULL || (fchown(fd, old->st_uid, old->st_gid) == 0 &&
                                 fchmod(fd, old->st_mode & 07777) == 0);
    bool good = alike && document_put(fd, text);
    int why = good ? 0 : errno;
    if (close(fd) != 0 && why == 0)
        why = errno;
    if (why == 0 && rename(beside, path) != 0)
        why = errno;
    if (why != 0)
        unlink(beside);
    return why;
}

static bool document_for_want_of_room(int why)
{
    return why == ENOSPC || why == EDQUOT || why == EFBIG || why == EIO;
}

static int document_save_regular(const char *path, const struct stat *old, const hf_buffer *text)
{
    int there = open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (there < 0)
        return errno;
    int why = old->st_nlink > 1 ? EMLINK : document_replace(path, old, text);
    if (why == 0 || document_for_want_of_room(why)) {
        close(there);
        return why;
    }
    if (ftruncate(there, 0) != 0) {
        why = errno;
        close(there);
        return why;
    }
    return document_write_through(there, text);
}

/* Is the file in a folder of /proc, as /proc/self/fd/1 is? *fd: the number, if it is one of this
 * process. */
static bool document_is_descriptor(const char *path, int *fd)
{
    char folder[PATH_MAX], real[PATH_MAX], own[64];
    struct statfs kind;
    const char *name = strrchr(path, '/');
    *fd = -1;
    if (name == NULL)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(name + 1 - path), path);
    if (statfs(folder, &kind) != 0 || kind.f_type != PROC_SUPER_MAGIC)
        return false;
    snprintf(own, sizeof own, "/proc/%ld/fd", (long)getpid());
    if (realpath(folder, real) != NULL && strcmp(real, own) == 0 && name[1] != '\0' &&
        strspn(name + 1, "0123456789") == strlen(name + 1))
        *fd = (int)strtol(name + 1, NULL, 10);
    return true;
}

/* Replaces a link by what it names, until it is none. True: it led into /proc. */
static bool document_follow(char path[PATH_MAX], int *fd)
{
    char to[PATH_MAX], next[2 * PATH_MAX];
    ssize_t size;
    while (!document_is_descriptor(path, fd) && (size = readlink(path, to, sizeof to - 1)) > 0) {
        const char *slash = to[0] == '/' ? NULL : strrchr(path, '/');
        to[size] = '\0';
        int length = snprintf(next, sizeof next, "%.*s%s",
                              slash == NULL ? 0 : (int)(slash + 1 - path), path, to);
        snprintf(path, PATH_MAX, "%.*s", length < PATH_MAX ? length : 0, next);
    }
    return document_is_descriptor(path, fd);
}

static int document_save(const char *named, const hf_buffer *text)
{
    char path[PATH_MAX];
    struct stat there;
    int fd = -1;
    bool exists = stat(named, &there) == 0;
    if (!exists && errno != ENOENT)
        return errno;
    if (snprintf(path, sizeof path, "%s", named) >= (int)sizeof path)
        return ENAMETOOLONG;
    bool through = document_follow(path, &fd);
    if (!exists && !through)
        return document_replace(path, NULL, text);
    if (exists && !through && S_ISREG(there.st_mode))
        return document_save_regular(path, &there, text);
    fflush(stdout); /* it may be that */
    return document_write_through(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
                                          : open(named, O_WRONLY | O_NOCTTY | O_CLOEXEC),
                                  text);
}

hf_status cli_document_save(const char *path, const hf_buffer *text, hf_error *err)
{
    struct stat there;
    if (text->failed)
        return hf_fail_memory(err);
    if (path[0] == '\0')
        return hf_fail(err, HF_INVALID, "The name of the file to write is empty.");
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return hf_fail(err, HF_INVALID, "%s is a directory; name a file in it.", path);
    int why = document_save(path, text);
    return why == 0 ? HF_OK
                    : hf_fail(err, HF_UNAVAILABLE, "%s can't be written: %s.", path, strerror(why));
}

hf_status cli_document_write(const char *path, const char *what, hf_buffer *text, hf_error *err)
{
    hf_status status = HF_OK;
    if (path != NULL) {
        status = cli_document_save(path, text, err);
        if (status == HF_OK)
            cli_say("Wrote the %s to %s.", what, path);
    } else if (text->failed) {
        status = hf_fail_memory(err);
    } else {
        fwrite(text->text, 1, text->size, stdout);
        if (text->size > 0 && text->text[text->size - 1] != '\n')
            putchar('\n');
    }
    hf_buffer_done(text);
    return status;
}
