/* SPDX-License-Identifier: MIT */
/* The VFS that loses power. Each file has the bytes that are safe and the list of changes since the
 * last sync; a cut applies some of those changes to the safe bytes. Names are changes of the
 * folder: until that is synced, a new file may not be there after a cut and a removed one may be
 * back. The real VFS syncs the folder with the first sync of a new journal or log, and with a
 * removal that asks for it. */
#include "faults/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR    512
#define FILES_MAX 64

typedef struct bytes {
    unsigned char *at;
    size_t size;
    size_t room;
} bytes;

typedef struct change {
    bool truncates; /* to `offset` bytes */
    size_t offset;
    size_t size;
    unsigned char *data;
} change;

typedef struct disk_file {
    char path[1024];
    bool exists;
    bool safe_exists; /* a cut finds a file of that name, with the bytes in `safe` */
    /* the folder does not know it yet: what has been synced of it is in `fresh` */
    bool is_new;
    bytes safe;
    bytes fresh;
    change *changes;
    size_t changes_count;
    size_t changes_room;
} disk_file;

typedef struct shim_file {
    sqlite3_file base;
    disk_file *on_disk; /* NULL: a temporary file, not looked after */
    bool syncs_folder;  /* with its next sync */
    sqlite3_file real[];
} shim_file;

shim_control shim;
static shim_counts counts;
static disk_file files[FILES_MAX];
static size_t files_count;
static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sqlite3_vfs vfs;

static void mutex_init(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void lock(void)
{
    pthread_once(&once, mutex_init);
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void *shim_need(void *block)
{
    if (!block)
        abort();
    return block;
}

/* ---- bytes and changes ---- */

static void bytes_resize(bytes *b, size_t size)
{
    if (size > b->room) {
        b->room = size * 2;
        b->at = shim_need(realloc(b->at, b->room));
    }
    if (size > b->size)
        memset(b->at + b->size, 0, size - b->size);
    b->size = size;
}

static void bytes_write(bytes *b, size_t offset, const unsigned char *data, size_t size)
{
    if (offset + size > b->size)
        bytes_resize(b, offset + size);
    if (size)
        memcpy(b->at + offset, data, size);
}

static void change_apply(bytes *b, const change *c)
{
    if (c->truncates)
        bytes_resize(b, c->offset);
    else
        bytes_write(b, c->offset, c->data, c->size);
}

/* Each sector of it by itself, with that chance in 100. */
static void change_apply_some(bytes *b, const change *c, unsigned chance, unsigned *seed)
{
    if (c->truncates) {
        if ((unsigned)rand_r(seed) % 100 < chance)
            bytes_resize(b, c->offset);
        return;
    }
    for (size_t done = 0; done < c->size;) {
        size_t here = SECTOR - (c->offset + done) % SECTOR;
        here = here < c->size - done ? here : c->size - done;
        if ((unsigned)rand_r(seed) % 100 < chance)
            bytes_write(b, c->offset + done, c->data + done, here);
        done += here;
    }
}

static void changes_forget(disk_file *f)
{
    for (size_t i = 0; i < f->changes_count; i++)
        free(f->changes[i].data);
    f->changes_count = 0;
}

static void change_add(disk_file *f, bool truncates, size_t offset, const void *data, size_t size)
{
    if (f->changes_count == f->changes_room) {
        f->changes_room = f->changes_room ? f->changes_room * 2 : 64;
        f->changes = shim_need(realloc(f->changes, f->changes_room * sizeof *f->changes));
    }
    change *c = &f->changes[f->changes_count++];
    *c = (change){.truncates = truncates, .offset = offset, .size = size};
    if (size) {
        c->data = shim_need(malloc(size));
        memcpy(c->data, data, size);
    }
}

/* ---- files ---- */

static disk_file *file_find(const char *path)
{
    for (size_t i = 0; i < files_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

/* What is there when it is first seen is taken to be safe. */
static void file_read(disk_file *f)
{
    struct stat info;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        abort();
    bytes_resize(&f->safe, (size_t)info.st_size);
    if (pread(fd, f->safe.at, f->safe.size, 0) != (ssize_t)f->safe.size)
        abort();
    close(fd);
    f->safe_exists = true;
}

static disk_file *file_opened(const char *path, bool existed)
{
    disk_file *f = file_find(path);
    if (!f) {
        if (files_count == FILES_MAX)
            abort();
        f = &files[files_count++];
        snprintf(f->path, sizeof f->path, "%s", path);
        if (existed)
            file_read(f);
        f->is_new = !existed;
    } else if (!f->exists) {
        f->is_new = true;
        f->fresh.size = 0;
    }
    f->exists = true;
    return f;
}

static void file_sync(disk_file *f)
{
    for (size_t i = 0; i < f->changes_count; i++)
        change_apply(f->is_new ? &f->fresh : &f->safe, &f->changes[i]);
    changes_forget(f);
}

/* All files of a test are in one folder. */
static void folder_sync(void)
{
    for (size_t i = 0; i < files_count; i++) {
        disk_file *f = &files[i];
        if (f->exists && f->is_new) {
            bytes before = f->safe;
            f->safe = f->fresh;
            f->fresh = before;
        }
        f->safe_exists = f->exists;
        f->is_new = false;
    }
}

static int64_t shim_size_of(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 ? info.st_size : 0;
}

bool shim_has_room(int64_t more)
{
    lock();
    int64_t used = shim_size_of(shim.beside) + more;
    for (size_t i = 0; i < files_count; i++)
        used += files[i].exists ? shim_size_of(files[i].path) : 0;
    bool fits = shim.capacity == 0 || used <= shim.capacity;
    unlock();
    return fits;
}

/* Does it fit if that file grows to `size`? */
static bool may_grow(const disk_file *f, int64_t size)
{
    int64_t own = shim_size_of(f->path);
    return size <= own || shim_has_room(size - own);
}

static void event(shim_event kind, const char *path)
{
    counts.events++;
    if (shim.on_event)
        shim.on_event(shim.context, kind, path);
}

/* ---- the calls that matter ---- */

static int write_now(shim_file *file, const void *data, int size, sqlite3_int64 offset)
{
    int rc = file->real->pMethods->xWrite(file->real, data, size, offset);
    if (rc == SQLITE_OK)
        change_add(file->on_disk, false, (size_t)offset, data, (size_t)size);
    return rc;
}

static int shim_write_locked(shim_file *file, const void *data, int size, sqlite3_int64 offset)
{
    event(SHIM_WRITE, file->on_disk->path);
    counts.writes++;
    if (!may_grow(file->on_disk, offset + size)) {
        counts.full++;
        return SQLITE_FULL;
    }
    if (counts.writes == shim.fail_write_at) {
        counts.failed++;
        if (shim.failure == SHIM_FAIL_SHORT)
            write_now(file, data, size / 2, offset);
        return SQLITE_IOERR_WRITE;
    }
    return write_now(file, data, size, offset);
}

static int shim_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    shim_file *file = (shim_file *)base;
    if (!file->on_disk)
        return file->real->pMethods->xWrite(file->real, data, size, offset);
    lock();
    int rc = shim_write_locked(file, data, size, offset);
    unlock();
    return rc;
}

static int shim_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    shim_file *file = (shim_file *)base;
    if (!file->on_disk)
        return file->real->pMethods->xTruncate(file->real, size);
    lock();
    event(SHIM_TRUNCATE, file->on_disk->path);
    int rc = file->real->pMethods->xTruncate(file->real, size);
    if (rc == SQLITE_OK)
        change_add(file->on_disk, true, (size_t)size, NULL, 0);
    unlock();
    return rc;
}

/* The real sync is left out: the disk is this file's own idea, and the tests are so much faster. */
static int shim_sync(sqlite3_file *base, int flags)
{
    shim_file *file = (shim_file *)base;
    if (!file->on_disk)
        return file->real->pMethods->xSync(file->real, flags);
    int rc = SQLITE_OK;
    lock();
    event(SHIM_SYNC, file->on_disk->path);
    counts.syncs++;
    if (counts.syncs == shim.fail_sync_at) {
        counts.failed++;
        changes_forget(file->on_disk); /* the kernel calls the pages clean and will not try again */
        rc = SQLITE_IOERR_FSYNC;
    } else if (!shim.lies) {
        file_sync(file->on_disk);
        if (file->syncs_folder)
            folder_sync();
        file->syncs_folder = false;
    }
    unlock();
    return rc;
}

static int shim_delete(sqlite3_vfs *self, const char *path, int sync_folder)
{
    sqlite3_vfs *real = self->pAppData;
    lock();
    disk_file *f = file_find(path);
    if (f)
        event(SHIM_DELETE, path);
    int rc = real->xDelete(real, path, 0);
    if (f && (rc == SQLITE_OK || rc == SQLITE_IOERR_DELETE_NOENT)) {
        changes_forget(f);
        f->exists = false;
        if (sync_folder && !shim.lies)
            folder_sync();
    }
    unlock();
    return rc;
}

/* ---- the calls that are passed on ---- */

static sqlite3_file *real_of(sqlite3_file *base)
{
    return ((shim_file *)base)->real;
}

static int shim_close(sqlite3_file *base)
{
    return real_of(base)->pMethods->xClose(real_of(base));
}

static int shim_read(sqlite3_file *base, void *data, int size, sqlite3_int64 offset)
{
    return real_of(base)->pMethods->xRead(real_of(base), data, size, offset);
}

static int shim_file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    return real_of(base)->pMethods->xFileSize(real_of(base), size);
}

static int shim_lock(sqlite3_file *base, int level)
{
    return real_of(base)->pMethods->xLock(real_of(base), level);
}

static int shim_unlock(sqlite3_file *base, int level)
{
    return real_of(base)->pMethods->xUnlock(real_of(base), level);
}

static int shim_check_reserved(sqlite3_file *base, int *out)
{
    return real_of(base)->pMethods->xCheckReservedLock(real_of(base), out);
}

static int shim_control_file(sqlite3_file *base, int op, void *argument)
{
    return real_of(base)->pMethods->xFileControl(real_of(base), op, argument);
}

static int shim_sector_size(sqlite3_file *base)
{
    return real_of(base)->pMethods->xSectorSize(real_of(base));
}

static int shim_characteristics(sqlite3_file *base)
{
    return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base));
}

static int shim_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **out)
{
    return real_of(base)->pMethods->xShmMap(real_of(base), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *base, int offset, int n, int flags)
{
    int rc = real_of(base)->pMethods->xShmLock(real_of(base), offset, n, flags);
    bool wrote = offset == 0 && n == 1 && flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    if (wrote && shim.on_unlock)
        shim.on_unlock(shim.context);
    return rc;
}

static void shim_shm_barrier(sqlite3_file *base)
{
    real_of(base)->pMethods->xShmBarrier(real_of(base));
}

static int shim_shm_unmap(sqlite3_file *base, int remove)
{
    return real_of(base)->pMethods->xShmUnmap(real_of(base), remove);
}

static int shim_fetch(sqlite3_file *base, sqlite3_int64 offset, int size, void **out)
{
    return real_of(base)->pMethods->xFetch(real_of(base), offset, size, out);
}

static int shim_unfetch(sqlite3_file *base, sqlite3_int64 offset, void *page)
{
    return real_of(base)->pMethods->xUnfetch(real_of(base), offset, page);
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved,
    .xFileControl = shim_control_file,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
    .xFetch = shim_fetch,
    .xUnfetch = shim_unfetch,
};

static int shim_open(sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags,
                     int *out_flags)
{
    sqlite3_vfs *real = self->pAppData;
    shim_file *file = (shim_file *)base;
    bool lasting =
        path && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL);
    bool existed = lasting && access(path, F_OK) == 0;
    lock();
    file->on_disk = NULL;
    file->base.pMethods = NULL;
    int rc = real->xOpen(real, path, file->real, flags, out_flags);
    if (rc == SQLITE_OK) {
        file->base.pMethods = &methods;
        file->on_disk = lasting ? file_opened(path, existed) : NULL;
        file->syncs_folder =
            flags & SQLITE_OPEN_CREATE && flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL);
    }
    unlock();
    return rc;
}

static int shim_access(sqlite3_vfs *self, const char *path, int flags, int *out)
{
    sqlite3_vfs *real = self->pAppData;
    return real->xAccess(real, path, flags, out);
}

static int shim_full_pathname(sqlite3_vfs *self, const char *path, int size, char *out)
{
    sqlite3_vfs *real = self->pAppData;
    return real->xFullPathname(real, path, size, out);
}

static int shim_last_error(sqlite3_vfs *self, int size, char *out)
{
    (void)self, (void)size, (void)out;
    return shim.failure_errno ? shim.failure_errno : EIO;
}

bool shim_register(void)
{
    if (vfs.zName)
        return true;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (!real)
        return false;
    vfs = *real;
    vfs.iVersion = real->iVersion < 2 ? real->iVersion : 2;
    vfs.szOsFile = (int)sizeof(shim_file) + real->szOsFile;
    vfs.pNext = NULL;
    vfs.zName = SHIM_VFS;
    vfs.pAppData = real;
    vfs.xOpen = shim_open;
    vfs.xDelete = shim_delete;
    vfs.xAccess = shim_access;
    vfs.xFullPathname = shim_full_pathname;
    vfs.xGetLastError = shim_last_error;
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

void shim_reset(void)
{
    lock();
    for (size_t i = 0; i < files_count; i++) {
        changes_forget(&files[i]);
        free(files[i].changes);
        free(files[i].safe.at);
        free(files[i].fresh.at);
    }
    memset(files, 0, sizeof files);
    files_count = 0;
    counts = (shim_counts){0};
    shim = (shim_control){0};
    unlock();
}

shim_counts shim_count(void)
{
    lock();
    shim_counts copy = counts;
    unlock();
    return copy;
}

/* ---- the cut ---- */

static void tear_last(bytes *image, const disk_file *f, unsigned *seed)
{
    for (size_t i = 0; i + 1 < f->changes_count; i++)
        change_apply(image, &f->changes[i]);
    const change *last = &f->changes[f->changes_count - 1];
    if (last->truncates)
        return;
    bytes_write(image, last->offset, last->data,
                (unsigned)rand_r(seed) % (last->size ? last->size : 1));
}

/* What a cut leaves of a file; false: no such file. */
static bool file_after(const disk_file *f, shim_loss loss, unsigned *seed, bytes *image)
{
    bool folder_safe = loss == SHIM_TEAR_LAST || loss == SHIM_KEEP_ALL ||
                       (loss == SHIM_DROP_SOME && rand_r(seed) % 2);
    if (folder_safe ? !f->exists : !f->safe_exists)
        return false;
    const bytes *base = folder_safe && f->is_new ? &f->fresh : &f->safe;
    bytes_write(image, 0, base->at, base->size);
    if (!f->exists || (f->is_new && !folder_safe))
        return true;
    if (loss == SHIM_DROP_SOME) {
        static const unsigned chances[] = {10, 50, 90};
        unsigned chance = chances[rand_r(seed) % 3];
        for (size_t i = 0; i < f->changes_count; i++)
            change_apply_some(image, &f->changes[i], chance, seed);
    } else if (loss == SHIM_TEAR_LAST && f->changes_count) {
        tear_last(image, f, seed);
    } else if (loss == SHIM_KEEP_ALL) {
        for (size_t i = 0; i < f->changes_count; i++)
            change_apply(image, &f->changes[i]);
    }
    return true;
}

static bool image_save(const char *folder, const char *path, const bytes *image)
{
    char name[2048];
    const char *last = strrchr(path, '/');
    snprintf(name, sizeof name, "%s/%s", folder, last ? last + 1 : path);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool good = image->size == 0 || write(fd, image->at, image->size) == (ssize_t)image->size;
    return close(fd) == 0 && good;
}

bool shim_cut(shim_loss loss, unsigned seed, const char *folder)
{
    bool good = true;
    lock();
    for (size_t i = 0; i < files_count && good; i++) {
        bytes image = {0};
        if (file_after(&files[i], loss, &seed, &image))
            good = image_save(folder, files[i].path, &image);
        free(image.at);
    }
    unlock();
    return good;
}
