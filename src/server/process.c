/* SPDX-License-Identifier: MIT */
/* Looking at oneself: /proc on Linux, and the calls every Unix has. */
#include "server/process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t count_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count - 1; /* the folder's own */
}

static uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t in_us(struct timeval time)
{
    return time.tv_sec * INT64_C(1000000) + time.tv_usec;
}

void process_read(process_look *out)
{
    struct rlimit limit = {0};
    struct rusage usage = {0};
    *out = (process_look){.open_fds = count_fds(), .resident_bytes = resident_bytes()};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        out->max_fds = limit.rlim_cur;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_us = in_us(usage.ru_utime) + in_us(usage.ru_stime);
}
