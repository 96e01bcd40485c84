/* SPDX-License-Identifier: MIT */
/* Connections kept open between uses, for as many threads as there are: the one used last is taken
 * first, at most `max` exist, and whoever finds none waits in line. */
#ifndef HF_DB_POOL_H
#define HF_DB_POOL_H

#include "db/db.h"

#include <stddef.h>

typedef struct hf_pool hf_pool;

typedef struct hf_pooled {
    hf_db *db;
    void *extra;      /* the taker's own, kept with the connection: its statements */
    int64_t since_us; /* the pool's, as all that follows: idle since */
    int64_t opened_us;
    unsigned generation;
    struct hf_pooled *older;
} hf_pooled;

/* Opens nothing yet. url and the strings of the options are copied. `drop` (or NULL) frees what is
 * in `extra`, where it is not NULL, before its connection is closed; it may be called by any thread
 * that takes or gives. */
hf_status hf_pool_new(const hf_db_driver *driver, const char *url, const hf_db_options *options,
                      size_t max, void (*drop)(void *extra), hf_pool **out, hf_error *err);

/* From now on no connection is taken that is so old or older: what a name leads to may change, and
 * which server takes writes. Before anything is taken. */
void hf_pool_age(hf_pool *pool, int64_t max_us);

/* A connection for the caller alone, until it is given back; a new one when none is idle. A failure
 * to connect is the caller's; the next take tries again. HF_BUSY: all were in use for wait_us. */
hf_status hf_pool_take(hf_pool *pool, int64_t wait_us, hf_pooled **out, hf_error *err);

/* Gives it back. One that is lost is closed; an open transaction is rolled back. */
void hf_pool_give(hf_pool *pool, hf_pooled *it);

/* None of the connections there are is given to anyone any more: another server has taken the place
 * of the one they lead to. */
void hf_pool_renew(hf_pool *pool);

/* A connection like those of the pool and none of it: the caller's own, to be closed. */
hf_status hf_pool_connect(const hf_pool *pool, hf_db **out, hf_error *err);

/* All must have been given back, and nobody be waiting. Accepts NULL. */
void hf_pool_close(hf_pool *pool);

#endif
