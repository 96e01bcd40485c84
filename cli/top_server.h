/* SPDX-License-Identifier: MIT */
/* What a server tells of itself, read from its metrics: totals since it started, and what they come
 * to between two looks. */
#ifndef HF_CLI_TOP_SERVER_H
#define HF_CLI_TOP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

enum { TOP_BUCKETS_MAX = 64 };

/* As it was told. What a server does not tell is 0. */
typedef struct top_told {
    double requests;    /* answered */
    double connections; /* now, and so on: */
    double followers, lag_seconds, waiting;
    double batches, ops; /* of writes */
    double bounds[TOP_BUCKETS_MAX],
        below[TOP_BUCKETS_MAX]; /* their times, cumulative; without the last, +Inf */
    size_t buckets;
    double started; /* process_start_time_seconds */
} top_told;

/* Between two looks; of the first look, since the server started. */
typedef struct top_server {
    bool known;
    double requests_per_second; /* below 0: not known, it is the first look */
    double connections, followers, lag_seconds, waiting;
    /* ops that shared a batch, in the mean; 0: there were none */
    double batch_ops;
    double commit_median, commit_99th; /* seconds; 0: there were none */
} top_server;

void top_told_read(const char *text, top_told *out);

/* `before` may be NULL; one from before the server started anew counts as none. */
void top_server_judge(const top_told *before, const top_told *now, double passed_seconds,
                      top_server *out);

#endif
