/* SPDX-License-Identifier: MIT */
/* The other side on a database server: acquire and release written by hand, on tables that a store
 * has made, one connection each. What differs between servers is a hand_kind; hand.sql has the
 * statements. */
#ifndef HF_BENCH_HAND_H
#define HF_BENCH_HAND_H

#include "bench.h"
#include "names.h"

typedef struct hand_link hand_link; /* a kind's own connection */

/* A statement of hand.sql and its parameters: words; NULL is null. */
enum { HAND_PARAMS_MAX = 7, HAND_STEPS_MAX = 4, HAND_COLUMNS_MAX = 5, HAND_LAST_SIZE = 24 };
typedef struct hand_step {
    int which;
    const char *params[HAND_PARAMS_MAX];
    long rows;                          /* how many it gave, or found */
    long long column[HAND_COLUMNS_MAX]; /* of the first row, where they are numbers */
    char last[HAND_LAST_SIZE];          /* its last column, as text */
} hand_step;

/* Everything dies on failure. */
typedef struct hand_kind {
    const char *name; /* its figures' names begin so */
    hand_link *(*connect)(const char *url, const char *names);
    void (*close)(hand_link *link);
    /* Statements in one round trip. */
    void (*fly)(hand_link *link, hand_step *steps, size_t count);
    /* Any SQL of hand.sql that stands alone; the number it gives, if it does. Passed over where the
     * kind has no such statement. */
    double (*run)(hand_link *link, int which, const char *const *params, int count);
    /* Parameters of the URL: the unix socket, or its folder where the file's name is made of a
     * port. */
    const char *socket_key, *port_key;
} hand_kind;

extern const hand_kind hand_kind_postgres;
extern const hand_kind hand_kind_mariadb;

typedef struct hand {
    const hand_kind *kind;
    hand_link *link;
    bench_picker *picker;
    char session[33];
    long long clock; /* serves for times and for fences */
} hand;

/* Connects to the tables that `names` stands for; `session` is the id of a session in them. */
hand *hand_open(const bench *b, const hand_kind *kind, const char *url, const char *names,
                const char *session);
void hand_close(hand *h);

/* bench_work: pairs per second, over the rows that ours reads and writes; and with one inserted and
 * deleted row each. */
double hand_pairs(void *context, double seconds);
double hand_one_row(void *context, double seconds);
/* The same of saves, where all working names were saved once. */
double hand_saves(void *context, double seconds);

#endif
