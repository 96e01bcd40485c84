/* SPDX-License-Identifier: MIT */
/* A race of real processes: the program starts itself again for each client; some are stopped for a
 * while and some killed in the middle of what they do; the histories of all are judged together. */
#ifndef HF_TESTS_RACES_PROCESSES_H
#define HF_TESTS_RACES_PROCESSES_H

#include "races/verdict.h"

/* Opens what a client works with: worker->manager, and worker->turns if its calls are in
 * transactions of its own. */
typedef hf_status race_open_client(race_worker *worker, const char *url, const char *how,
                                   hf_error *err);

/* The main of a client; -1: the arguments are not a client's. What was opened is closed by `close`
 * after the manager (NULL: nothing more to close). */
int race_client_main(int argc, char **argv, race_open_client *open,
                     void (*close)(race_worker *worker));

typedef struct race_order {
    const char *url;
    const char *judged; /* the same store; NULL: by url */
    const char *how;    /* handed to race_open_client */
    size_t clients;
    int seconds;
    race_bounds bounds;
    /* Done between looks; for the last time when the time is over, while clients still work.
     * Answers how often it has struck so far, see bounds.meddled. NULL: nothing. */
    size_t (*meddle)(void *context, bool over);
    void *context;
} race_order;

/* Runs and judges it; what is wrong fails the running test. */
race_sum race_run(const race_order *order);

#endif
