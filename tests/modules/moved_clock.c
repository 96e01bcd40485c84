/* SPDX-License-Identifier: MIT */
/* Preloaded into a program (LD_PRELOAD), it moves the clock of the day: by as many microseconds as
 * the number in the file that HF_TEST_CLOCK names, which may change at any time. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* 0: there is no such file. */
static int64_t moved_clock_by(void)
{
    const char *path = getenv("HF_TEST_CLOCK");
    char text[32] = "";
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 ? strtoll(text, NULL, 10) : 0;
}

static int64_t moved_clock_us(void)
{
    struct timespec now = {0};
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + moved_clock_by();
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *out, void *zone);
__attribute__((visibility("default"))) time_t time(time_t *out);

int gettimeofday(struct timeval *out, void *zone)
{
    int64_t now_us = moved_clock_us();
    (void)zone;
    out->tv_sec = now_us / 1000000;
    out->tv_usec = now_us % 1000000;
    return 0;
}

time_t time(time_t *out)
{
    time_t now = moved_clock_us() / 1000000;
    if (out != NULL)
        *out = now;
    return now;
}
