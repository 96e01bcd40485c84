/* SPDX-License-Identifier: MIT */
/* Talking to systemd, where there is one: ready, reloading, stopping, alive, and the sockets it
 * hands over. Without libsystemd, or when nobody listens, all of it does nothing. */
#ifndef HF_SERVER_SYSTEMD_H
#define HF_SERVER_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `status` is what systemctl status shows. */
void systemd_ready(const char *status);
void systemd_reloading(void); /* until systemd_ready */
void systemd_stopping(void);

/* How long it may be silent before systemd kills it; 0: as long as it likes. */
int64_t systemd_watchdog_us(void);
void systemd_alive(void);

/* How many sockets were handed over, and the number of the first; the others follow. To be asked
 * once. */
size_t systemd_sockets(int *first);

/* Is work getting done? Something was done since the last look, or nothing waits; and if not, for
 * less than patience_us. */
typedef struct systemd_progress {
    uint64_t done;
    int64_t since_us; /* of the last look at which there was progress; 0: none yet */
} systemd_progress;

bool systemd_progresses(systemd_progress *p, uint64_t done, bool waits, int64_t now_us,
                        int64_t patience_us);

#endif
