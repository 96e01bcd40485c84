/* SPDX-License-Identifier: MIT */
/* The messages of sd_notify(3), by libsystemd where it was there when this was built. */
#include "server/systemd.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#ifdef HF_WITH_SYSTEMD
#include <systemd/sd-daemon.h>
#else
static int sd_notify(int unset, const char *state)
{
    (void)unset;
    (void)state;
    return 0;
}
static int sd_watchdog_enabled(int unset, uint64_t *us)
{
    (void)unset;
    (void)us;
    return 0;
}
static int sd_listen_fds(int unset)
{
    (void)unset;
    return 0;
}
#define SD_LISTEN_FDS_START 3
#endif

void systemd_ready(const char *status)
{
    char text[512];
    snprintf(text, sizeof text, "READY=1\nSTATUS=%s", status);
    sd_notify(0, text);
}

void systemd_reloading(void)
{
    char text[64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    sd_notify(0, text);
}

void systemd_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=Stopping.");
}

int64_t systemd_watchdog_us(void)
{
    uint64_t us = 0;
    return sd_watchdog_enabled(0, &us) > 0 ? (int64_t)us : 0;
}

void systemd_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

size_t systemd_sockets(int *first)
{
    int count = sd_listen_fds(1);
    *first = SD_LISTEN_FDS_START;
    return count > 0 ? (size_t)count : 0;
}

bool systemd_progresses(systemd_progress *p, uint64_t done, bool waits, int64_t now_us,
                        int64_t patience_us)
{
    if (!waits || done != p->done || p->since_us == 0)
        p->since_us = now_us;
    p->done = done;
    return now_us - p->since_us < patience_us;
}
