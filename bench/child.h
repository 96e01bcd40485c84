/* SPDX-License-Identifier: MIT */
/* Programs that are measured: started for the run, ended with it, and watched by their process id.
 * */
#ifndef HF_BENCH_CHILD_H
#define HF_BENCH_CHILD_H

#include <stddef.h>
#include <sys/types.h>

enum { CHILD_ADDRESS_SIZE = 128, CHILD_SAID = 8192 };

typedef struct child {
    pid_t pid;
    int says;                         /* its standard input: ends when we end */
    int hears;                        /* what it writes */
    char address[CHILD_ADDRESS_SIZE]; /* where it listens */
    char name[32];
    char said[CHILD_SAID]; /* the beginning of what it wrote */
} child;

/* Starts a program of the build directory, and waits until it has said where it listens: a line
 * that is a port, or JSON with "address":"...". `words` ends with NULL; the first is the program's
 * path below the build directory. Dies on failure, with what the program said. */
child *child_start(const char *name, const char *const *words);
/* SIGTERM, and waits. */
void child_stop(child *c);

/* Seconds that all threads of a process have worked. */
double child_cpu(pid_t pid);
/* Bytes that it keeps in memory now. */
double child_memory(pid_t pid);

#endif
