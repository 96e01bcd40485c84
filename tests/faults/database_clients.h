/* SPDX-License-Identifier: MIT */
/* Clients that work on a store while its server is treated badly. Each keeps what it was told, and
 * whenever a fault is over it looks whether all of that is so, and settles what was unsure. There
 * are three kinds: processes with a ledger each (random ops on resources of their own); threads
 * with a ledger each that share one store, where they go together; and threads that share one store
 * and fight for the same resources in batches of 256. */
#ifndef HF_TESTS_FAULTS_DATABASE_CLIENTS_H
#define HF_TESTS_FAULTS_DATABASE_CLIENTS_H

#include <holdfast/holdfast.h>
#include <stdatomic.h>

enum { CLIENTS_MAX = 8 };

typedef enum clients_kind { CLIENTS_PROCESSES, CLIENTS_TOGETHER, CLIENTS_THREADS } clients_kind;

/* What one of them has to tell. */
typedef struct clients_post {
    atomic_uint through; /* the last fault it has come through */
    atomic_bool failed, ended;
    char problem[1024]; /* when failed */
    atomic_size_t done, refused, busy, unavailable, unsure;
    atomic_size_t done_unheard;     /* unsure ones that had been done */
    atomic_size_t late;             /* calls that failed although the fault was over */
    atomic_int_fast64_t slowest_us; /* of its calls */
    atomic_int_fast64_t healed_us;  /* the longest it took from the end of a fault to an answer */
} clients_post;

/* Shared with processes too. */
typedef struct clients_board {
    char url[HF_URL_MAX];
    unsigned count, seed;
    bool loses_beats;  /* a crash may take the last beats */
    bool slow_to_heal; /* the first calls after a fault may fail */
    atomic_uint fault; /* odd: one is under way */
    atomic_bool ends;
    clients_post posts[CLIENTS_MAX];
} clients_board;

typedef struct clients {
    clients_board *board;
    clients_kind kind;
    void *workers; /* the kind's own */
} clients;

typedef struct clients_options {
    clients_kind kind;
    unsigned count;
    bool loses_beats, slow_to_heal;
} clients_options;

/* Each of them has done something when it returns, so that no fault meets one that only opens its
 * store or session. They work until clients_end. What one of them finds wrong fails the test in the
 * next call. */
clients clients_start(const char *url, const clients_options *options);

/* A fault begins; it is over, and they have come through: all of them have looked and settled. */
void clients_fault(clients *c);
void clients_calm(clients *c);

/* Waits until they have done so much more together. */
void clients_work(clients *c, size_t more);

/* Lets them end, looks for the last time, and prints a line of what they did; *sum (may be NULL) is
 * all of it. */
void clients_end(clients *c, clients_post *sum);

/* ---- for the kinds ---- */

/* The life of a worker; it returns when the board says so or when something is wrong, which it has
 * told then. */
/* shared NULL: it opens a store of its own. */
void clients_ledger_main(clients_board *board, unsigned me, hf_store *shared);
void clients_batches_main(clients_board *board, unsigned me, hf_store *shared);

void clients_wrong(clients_post *post, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Executes a batch, and notes how long that took. */
hf_status clients_execute(clients_post *post, hf_store *store, hf_batch *batch, hf_error *err);
void clients_note_time(clients_post *post, int64_t began_us);
/* Asks something harmless until it is answered. False: it never was. */
bool clients_heal(clients_board *board, clients_post *post, hf_store *store);

#endif
