/* SPDX-License-Identifier: MIT */
/* The file of remembered sessions. It is replaced as a whole: a new file is written beside it,
 * synced and renamed over it, under a lock on a file of its own, so that two commands at once lose
 * nothing and a crash leaves the old or the new one. The newest line comes first; past
 * REMEMBERED_MAX the oldest are dropped. */
#include "cli/remember.h"

#include "base/error.h"
#include "cli/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMEMBERED_MAX = 1000 };

#define FILE_NAME_SIZE (PATH_MAX + 32)

typedef struct memory_file {
    char folder[PATH_MAX];
    char path[FILE_NAME_SIZE];
    FILE *old; /* NULL when there is none yet */
    int lock;
} memory_file;

static hf_status check_private(const memory_file *memory, hf_error *err)
{
    struct stat file;
    if (fstat(fileno(memory->old), &file) != 0 || !S_ISREG(file.st_mode))
        return hf_fail(err, HF_UNAVAILABLE, "%s should be a plain file; move it away.",
                       memory->path);
    if (file.st_uid != geteuid())
        return hf_fail(
            err, HF_DENIED,
            "%s belongs to another user, so the sessions in it are not used; move it away.",
            memory->path);
    if ((file.st_mode & 077) != 0)
        return hf_fail(err, HF_DENIED,
                       "%s can be read by others (mode %04o), so the sessions in it are not used; "
                       "run 'chmod 600 "
                       "%s', or give the session in HOLDFAST_SESSION.",
                       memory->path, file.st_mode & 07777, memory->path);
    return HF_OK;
}

static hf_status open_old(memory_file *memory, hf_error *err)
{
    int fd = open(memory->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return HF_OK;
    memory->old = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (memory->old == NULL) {
        int cause = errno;
        if (fd >= 0)
            close(fd);
        return hf_fail(err, HF_UNAVAILABLE, "%s could not be read: %s.", memory->path,
                       strerror(cause));
    }
    return check_private(memory, err);
}

static hf_status remember_open_memory(memory_file *memory, bool make, hf_error *err)
{
    hf_status status = cli_folder_path(CLI_STATE, make, memory->folder, err);
    if (status != HF_OK)
        return status;
    snprintf(memory->path, sizeof memory->path, "%s/sessions", memory->folder);
    return HF_OK;
}

/* Whoever holds the lock is the only one who replaces the file. */
static hf_status lock_memory(memory_file *memory, hf_error *err)
{
    char path[FILE_NAME_SIZE];
    snprintf(path, sizeof path, "%s/sessions.lock", memory->folder);
    memory->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (memory->lock < 0 || flock(memory->lock, LOCK_EX) != 0)
        return hf_fail(err, HF_UNAVAILABLE, "%s could not be locked: %s.", path, strerror(errno));
    return HF_OK;
}

static void remember_close_memory(memory_file *memory)
{
    if (memory->old != NULL)
        fclose(memory->old);
    if (memory->lock >= 0)
        close(memory->lock);
}

/* The session in a line of that store, or NULL. */
static const char *remember_session_of(const char *line, const char *store)
{
    size_t length = strlen(store);
    return strncmp(line, store, length) == 0 && line[length] == '\t' ? line + length + 1 : NULL;
}

static bool has_id(const char *session, const char *id)
{
    size_t length = strlen(id);
    return strncmp(session, id, length) == 0 && session[length] == '.';
}

hf_status cli_remembered(const char *store, char out[CLI_SESSION_SIZE], hf_error *err)
{
    memory_file memory = {.lock = -1};
    char *line = NULL;
    size_t room = 0;
    hf_status status = remember_open_memory(&memory, false, err);
    if (status == HF_OK)
        status = open_old(&memory, err);
    const char *session = NULL;
    while (status == HF_OK && session == NULL && memory.old != NULL &&
           getline(&line, &room, memory.old) > 0) {
        line[strcspn(line, "\n")] = '\0';
        session = remember_session_of(line, store);
    }
    if (status == HF_OK && session == NULL)
        status = HF_NOT_FOUND;
    else if (status == HF_OK)
        snprintf(out, CLI_SESSION_SIZE, "%s", session);
    if (line != NULL)
        explicit_bzero(line, room);
    free(line);
    remember_close_memory(&memory);
    return status;
}

/* Copies the old lines but the store's own: that one goes, unless only the session with `id` is to
 * go. */
static void copy_others(const memory_file *memory, FILE *to, const char *store, const char *id)
{
    char *line = NULL;
    size_t room = 0;
    for (int i = 1;
         memory->old != NULL && i < REMEMBERED_MAX && getline(&line, &room, memory->old) > 0; i++) {
        const char *session = remember_session_of(line, store);
        if (session == NULL || (id != NULL && !has_id(session, id)))
            fputs(line, to);
    }
    if (line != NULL)
        explicit_bzero(line, room);
    free(line);
}

static bool remember_sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return synced;
}

/* A new file beside the old one, mode 0600; `path` gets its name. */
static FILE *create_new(const memory_file *memory, char path[FILE_NAME_SIZE])
{
    snprintf(path, FILE_NAME_SIZE, "%s/sessions.XXXXXX", memory->folder);
    int fd = mkostemp(path, O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        close(fd);
        unlink(path);
    }
    return file;
}

/* Writes the new file and puts it in the old one's place. */
static hf_status remember_replace(const memory_file *memory, const char *store, const char *session,
                                  const char *id, hf_error *err)
{
    char path[FILE_NAME_SIZE];
    FILE *file = create_new(memory, path);
    if (file == NULL)
        return hf_fail(err, HF_UNAVAILABLE, "No file could be written in %s: %s.", memory->folder,
                       strerror(errno));
    if (session != NULL)
        fprintf(file, "%s\t%s\n", store, session);
    copy_others(memory, file, store, id);
    bool written = fflush(file) == 0 && ferror(file) == 0 && fsync(fileno(file)) == 0;
    written = fclose(file) == 0 && written;
    if (!written || rename(path, memory->path) != 0 || !remember_sync_folder(memory->folder)) {
        int cause = errno;
        unlink(path);
        return hf_fail(err, HF_UNAVAILABLE, "%s could not be written: %s.", memory->path,
                       strerror(cause));
    }
    return HF_OK;
}

static hf_status remember_change(const char *store, const char *session, const char *id,
                                 hf_error *err)
{
    memory_file memory = {.lock = -1};
    if (store[strcspn(store, "\t\r\n")] != '\0')
        return hf_fail(err, HF_INVALID, "The store's name holds a tab or a line break.");
    hf_status status = remember_open_memory(&memory, true, err);
    if (status == HF_OK)
        status = lock_memory(&memory, err);
    if (status == HF_OK)
        status = open_old(&memory, err);
    if (status == HF_OK)
        status = remember_replace(&memory, store, session, id, err);
    remember_close_memory(&memory);
    return status;
}

hf_status cli_remember(const char *store, const char *session, hf_error *err)
{
    return remember_change(store, session, NULL, err);
}

hf_status cli_forget(const char *store, const char *id, hf_error *err)
{
    char session[CLI_SESSION_SIZE];
    hf_status status = cli_remembered(store, session, err);
    bool remembered = status == HF_OK && has_id(session, id);
    explicit_bzero(session, sizeof session);
    if (status == HF_OK && remembered)
        return remember_change(store, NULL, id, err);
    return status == HF_NOT_FOUND ? HF_OK : status;
}
