/* SPDX-License-Identifier: MIT */
/* Files are replaced whole: a reader sees the old one or the new one. */
#include "cli/documents.h"

#include "base/error.h"
#include "base/seams.h"
#include "cli/call.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
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

hf_status cli_document_save(const char *path, const hf_buffer *text, hf_error *err)
{
    char beside[PATH_MAX];
    int size = snprintf(beside, sizeof beside, "%s.%ld~", path, (long)getpid());
    if (text->failed)
        return hf_fail_memory(err);
    if (path[0] == '\0' || size < 0 || (size_t)size >= sizeof beside)
        return hf_fail(err, HF_INVALID, "The name of the file to write is empty or too long.");
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be written: %s.", path, strerror(errno));
    bool good = document_put(fd, text);
    good = close(fd) == 0 && good;
    good = good && rename(beside, path) == 0;
    if (good)
        return HF_OK;
    int why = errno;
    unlink(beside);
    return hf_fail(err, HF_UNAVAILABLE, "%s can't be written: %s.", path, strerror(why));
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
