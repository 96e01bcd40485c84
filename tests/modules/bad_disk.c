/* SPDX-License-Identifier: MIT */
/* Preloaded into a program (LD_PRELOAD), it makes the disk under a SQLite file bad: its syncs fail
 * for as long as the file is there that HF_TEST_SYNC_FAILS names; while that of HF_TEST_DISK_FULL
 * is there, neither the file nor its log nor its reserve can grow. */
#undef _FILE_OFFSET_BITS /* with it pwrite is another name of pwrite64; here both are wanted */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_of_a_store(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0)
        return false;
    path[size] = '\0';
    return strstr(path, ".db") != NULL;
}

static bool is_bad(const char *variable, int fd)
{
    const char *when = getenv(variable);
    return when != NULL && access(when, F_OK) == 0 && is_of_a_store(fd);
}

/* ---- syncs ---- */

static int bad_disk_sync_file(int fd, long call)
{
    if (is_bad("HF_TEST_SYNC_FAILS", fd)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(call, fd);
}

__attribute__((visibility("default"))) int fsync(int fd);
__attribute__((visibility("default"))) int fdatasync(int fd);

int fsync(int fd)
{
    return bad_disk_sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return bad_disk_sync_file(fd, SYS_fdatasync);
}

/* ---- room ---- */

static bool has_no_room(int fd, off_t end)
{
    struct stat info;
    return is_bad("HF_TEST_DISK_FULL", fd) && fstat(fd, &info) == 0 && end > info.st_size;
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *bytes, size_t size,
                                                        off_t at);
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *bytes, size_t size,
                                                      off_t at);
__attribute__((visibility("default"))) int posix_fallocate64(int fd, off_t at, off_t size);
__attribute__((visibility("default"))) int posix_fallocate(int fd, off_t at, off_t size);

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
    if (has_no_room(fd, at + (off_t)size)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite64(fd, bytes, size, at);
}

int posix_fallocate64(int fd, off_t at, off_t size)
{
    if (has_no_room(fd, at + size))
        return ENOSPC;
    return syscall(SYS_fallocate, fd, 0, at, size) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    return posix_fallocate64(fd, at, size);
}
