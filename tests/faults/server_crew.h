/* SPDX-License-Identifier: MIT */
/* Clients that work on a store while its server is treated badly. Each keeps what it was told, and
 * whenever a fault is over it looks whether all of that is so, and settles what was unsure. There
 * are three kinds: processes with a ledger each (random ops on resources of their own); threads
 * with a ledger each that share one store, where they go together; and threads that share one store
 * and fight for the same resources in batches of 256. */
#ifndef TESTS_FAULTS_SERVER_CREW_H
#define TESTS_FAULTS_SERVER_CREW_H

#include <holdfast/holdfast.h>
#include <stdatomic.h>

enum { CREW_MAX = 8 };

typedef enum crew_kind { CREW_PROCESSES, CREW_TOGETHER, CREW_THREADS } crew_kind;

/* What one of them has to tell. */
typedef struct crew_post {
    atomic_uint through; /* the last fault it has come through */
    atomic_bool failed, ended;
    char problem[1024]; /* when failed */
    atomic_size_t done, refused, busy, unavailable, unsure;
    atomic_size_t done_unheard;     /* unsure ones that had been done */
    atomic_size_t late;             /* calls that failed although the fault was over */
    atomic_int_fast64_t slowest_us; /* of its calls */
    atomic_int_fast64_t healed_us;  /* the longest it took from the end of a fault to an answer */
} crew_post;

/* Shared with processes too. */
typedef struct crew_board {
    char url[HF_URL_MAX];
    unsigned count, seed;
    bool loses_beats;  /* a crash may take the last beats */
    bool slow_to_heal; /* the first calls after a fault may fail */
    atomic_uint fault; /* odd: one is under way */
    atomic_bool ends;
    crew_post posts[CREW_MAX];
} crew_board;

typedef struct crew {
    crew_board *board;
    crew_kind kind;
    void *workers; /* the kind's own */
} crew;

typedef struct crew_options {
    crew_kind kind;
    unsigned count;
    bool loses_beats, slow_to_heal;
} crew_options;

/* They work until crew_end. What one of them finds wrong fails the test in the next call. */
crew crew_start(const char *url, const crew_options *options);

/* A fault begins; it is over, and they have come through: all of them have looked and settled. */
void crew_fault(crew *c);
void crew_calm(crew *c);

/* Waits until they have done so much more together. */
void crew_work(crew *c, size_t more);

/* Lets them end, looks for the last time, and prints a line of what they did; *sum (may be NULL) is
 * all of it. */
void crew_end(crew *c, crew_post *sum);

/* ---- for the kinds ---- */

/* The life of a worker; it returns when the board says so or when something is wrong, which it has
 * told then. */
/* shared NULL: it opens a store of its own. */
void crew_ledger_main(crew_board *board, unsigned me, hf_store *shared);
void crew_batches_main(crew_board *board, unsigned me, hf_store *shared);

void crew_wrong(crew_post *post, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Executes a batch, and notes how long that took. */
hf_status crew_execute(crew_post *post, hf_store *store, hf_batch *batch, hf_error *err);
void crew_note_time(crew_post *post, int64_t began_us);
/* Asks something harmless until it is answered. False: it never was. */
bool crew_heal(crew_board *board, crew_post *post, hf_store *store);

#endif
