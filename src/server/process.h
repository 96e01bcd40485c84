/* SPDX-License-Identifier: MIT */
/* What the system says of this process. */
#ifndef HF_SERVER_PROCESS_H
#define HF_SERVER_PROCESS_H

#include <stdint.h>

/* What is not known is 0. */
typedef struct process_look {
    uint64_t open_fds;
    uint64_t max_fds;
    uint64_t resident_bytes;
    int64_t cpu_us;
} process_look;

void process_read(process_look *out);

#endif
