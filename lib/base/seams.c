/* SPDX-License-Identifier: MIT */
/* The seams as they are in life: the C library's memory, the kernel's randomness and clocks, the
 * real files. */
#include "base/seams.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <time.h>

static bool seams_system_random(void *out, size_t size)
{
    char *at = out;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static int64_t seams_read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t seams_system_wall_us(void)
{
    return seams_read_clock(CLOCK_REALTIME);
}
static int64_t seams_system_boot_us(void)
{
    return seams_read_clock(CLOCK_BOOTTIME);
}

/* The file may not be there yet: then its folder is asked. */
static int64_t seams_system_fs_kind(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) == 0)
        return (int64_t)fs.f_type;
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (size >= sizeof folder)
        return -1;
    memcpy(folder, slash == NULL ? "." : path, size);
    folder[size] = '\0';
    return statfs(folder, &fs) == 0 ? (int64_t)fs.f_type : -1;
}

hf_seams hf_seam = {
    .realloc = realloc,
    .free = free,
    .random = seams_system_random,
    .wall_us = seams_system_wall_us,
    .boot_us = seams_system_boot_us,
    .sqlite_vfs = NULL,
    .sqlite_log_pages = 32000, /* 128 MiB: see docs/decisions/0002 */
    .fs_kind = seams_system_fs_kind,
};

void *hf_realloc(void *block, size_t size)
{
    return hf_seam.realloc(block, size);
}

void *hf_alloc(size_t size)
{
    void *block = hf_realloc(NULL, size);
    if (block != NULL)
        memset(block, 0, size);
    return block;
}

void hf_free(void *block)
{
    hf_seam.free(block);
}
