/* SPDX-License-Identifier: MIT */
/* One client in a race: does random things to a few hot resources with a few short-lived sessions,
 * and writes down what it asked and what it was answered. Processes and threads run the same
 * worker. */
#ifndef HF_TESTS_RACES_WORKER_H
#define HF_TESTS_RACES_WORKER_H

#include "races/check.h"
#include "races/retrying.h"

#include <holdfast/holdfast.h>
#include <stdatomic.h>

#define RACE_RESOURCES      6
#define RACE_SET            3 /* resources of one acquire_all */
#define RACE_SESSIONS_MAX   100000
#define RACE_COMMON_IDLE_US INT64_C(5000000)

/* What all clients of a race see, in shared memory. */
typedef struct race_board {
    int64_t offset_us;         /* the store's clock minus CLOCK_MONOTONIC, when the race began */
    int64_t began_us;          /* CLOCK_MONOTONIC */
    int64_t until_us;          /* it lasts at least until then */
    _Atomic bool over;         /* said by who judges it; until then clients work */
    size_t meddled;            /* how often someone meddled with it */
    _Atomic uint32_t sessions; /* numbers given out */
    struct {
        _Atomic bool open; /* the id can be read */
        char id[HF_SESSION_ID_SIZE];
    } session[RACE_SESSIONS_MAX];
} race_board;

/* What one client did. In shared memory, and a call stands in it before it is made: a client that
 * is killed leaves it as unknown. */
typedef struct race_log {
    _Atomic size_t count;
    _Atomic size_t settled; /* so many of them are answered and never change */
    size_t room;
    size_t busy;
    size_t retries;             /* transactions of the client's own that had to be run again */
    retrying_tally asked_again; /* by a client that asks again what was unsure */
    size_t reads;
    _Atomic size_t deaths; /* sessions that were found dead */
    _Atomic size_t grants; /* acquires that were answered with a lock */
    int64_t longest_us;    /* the longest call */
    int64_t last_seq;      /* of events, by the client that reads them */
    size_t events;         /* and how many it read */
    size_t surprises;      /* answers that should not be */
    char surprise[HF_MESSAGE_SIZE + 64];   /* the first */
    check_record records[];
} race_log;

/* How a client has its calls in transactions of its own: what is done before and after each.
 * `leave` gets what the call came to and gives what it comes to: HF_RETRY when the transaction was
 * rolled back. */
typedef struct race_turns {
    void (*enter)(void *context, unsigned *seed);
    hf_status (*leave)(void *context, unsigned *seed, hf_status status);
    void *context;
} race_turns;

typedef struct race_worker {
    hf_manager *manager;
    const race_turns *turns; /* NULL: calls stand alone */
    race_board *board;
    race_log *log;
    uint32_t client;
    unsigned seed;
    bool reads_events; /* one client does */
    bool late;         /* what is unsure may still be on its way to a server */
    /* a session that several threads use at once, or NULL; never closed by the worker */
    hf_session *common;
    uint32_t common_number;
} race_worker;

size_t race_log_size(size_t room);
void race_log_init(race_log *log, size_t room);

int64_t race_now_us(void);

/* The store's clock minus CLOCK_MONOTONIC now. */
int64_t race_offset_us(void);

hf_resource race_resource(uint32_t number);

/* Works until the race is over. */
void race_work(race_worker *worker);

/* Opens a session, on the record. NULL: refused. */
hf_session *race_open(race_worker *worker, int64_t idle_us, uint32_t *number);

#endif
