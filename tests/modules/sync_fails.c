/* SPDX-License-Identifier: MIT */
/* Preloaded into a program (LD_PRELOAD), it makes syncs of a SQLite file and its log fail for as long as the file is there that
 * HF_TEST_SYNC_FAILS names. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int sync_file(int fd, long call)
{
    const char *when = getenv("HF_TEST_SYNC_FAILS");
    if (when != NULL && access(when, F_OK) == 0 && is_of_a_store(fd)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(call, fd);
}

__attribute__((visibility("default"))) int fsync(int fd);
__attribute__((visibility("default"))) int fdatasync(int fd);

int fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}
